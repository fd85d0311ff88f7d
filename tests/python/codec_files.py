"""Audio files made by the real encoders, and what the real decoders make of them: for tests of compressed recordings."""

import os
import subprocess
import wave

import numpy as np

RATE = 16000


def speech(rate, channels, seconds, seed=0):
    """Numbers from -1 to 1, (t, channels): tones that move, noise and silence, so that no window is like another."""
    rng = np.random.default_rng(seed)
    t = np.arange(int(rate * seconds)) / rate
    out = []
    for c in range(channels):
        pitch = 120 + 60 * np.sin(2 * np.pi * 0.7 * t + c)
        tone = sum(np.sin(2 * np.pi * np.cumsum(pitch * k) / rate) / k for k in range(1, 12))
        loud = np.clip(np.sin(2 * np.pi * 1.3 * t + seed), 0, 1)
        out.append(0.15 * tone * loud + 0.02 * rng.standard_normal(len(t)))
    return np.clip(np.stack(out, 1), -0.99, 0.99)


def write_wav(path, numbers, rate, bits=16):
    whole = np.round(numbers * (2 ** (bits - 1) - 1)).astype("<i4")
    with wave.open(str(path), "wb") as w:
        w.setparams((numbers.shape[1], bits // 8, rate, 0, "NONE", ""))
        raw = whole.view("u1").reshape(*whole.shape, 4)[..., : bits // 8] if bits > 8 else (whole + 128).astype("u1")
        w.writeframes(np.ascontiguousarray(raw).tobytes())
    return whole


# Other people's programs run without what tools/asan_python.sh puts in front of ours: they leak at their end, and fail for it.
OUTSIDE = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}


def run(*command):
    subprocess.run([str(word) for word in command], check=True, capture_output=True, env=OUTSIDE)


def ffmpeg(path, decoder=()):
    """What FFmpeg makes of a file: f32 (t, channels)."""
    probe = [
        "ffprobe",
        "-v",
        "error",
        "-select_streams",
        "a:0",
        "-show_entries",
        "stream=channels",
        "-of",
        "csv=p=0",
        str(path),
    ]
    channels = int(subprocess.run(probe, check=True, capture_output=True, text=True, env=OUTSIDE).stdout.split()[0].strip(","))
    command = ["ffmpeg", "-v", "error", *decoder, "-i", str(path), "-f", "f32le", "-acodec", "pcm_f32le", "-"]
    raw = subprocess.run(command, check=True, capture_output=True, env=OUTSIDE).stdout
    return np.frombuffer(raw, "<f4").reshape(-1, channels)


def flac(folder, name, rate=RATE, channels=1, bits=16, seconds=3.0, options=(), seed=0):
    """A FLAC file, and its integers."""
    source, out = folder / f"{name}.source.wav", folder / f"{name}.flac"
    whole = write_wav(source, speech(rate, channels, seconds, seed), rate, bits)
    run("flac", "-s", "-f", *options, source, "-o", out)
    source.unlink()
    return out, whole


def sox(path, channels):
    """What sox makes of an MP3 file, by libmad: f32 (t, channels), a frame shorter at its end."""
    raw = subprocess.run(["sox", str(path), "-t", "f32", "-"], check=True, capture_output=True, env=OUTSIDE).stdout
    return np.frombuffer(raw, "<f4").reshape(-1, channels)


ENCODERS = {
    "lame": ("mp3", lambda source, out, options: ("lame", "--quiet", *options, source, out)),
    "opusenc": ("opus", lambda source, out, options: ("opusenc", "--quiet", *options, source, out)),
    "oggenc": ("ogg", lambda source, out, options: ("oggenc", "-Q", *options, source, "-o", out)),
    "ffmpeg-mp3": ("mp3", lambda source, out, options: ("ffmpeg", "-v", "error", "-i", source, *options, out)),
    "ffmpeg-opus": (
        "opus",
        lambda source, out, options: ("ffmpeg", "-v", "error", "-i", source, "-c:a", "libopus", *options, out),
    ),
    "ffmpeg-vorbis": (
        "ogg",
        lambda source, out, options: ("ffmpeg", "-v", "error", "-i", source, "-c:a", "libvorbis", *options, out),
    ),
}


def encoded(folder, name, encoder, rate=RATE, channels=1, seconds=3.0, options=(), seed=0):
    """The path of a file that the encoder made."""
    ending, command = ENCODERS[encoder]
    source, out = folder / f"{name}.source.wav", folder / f"{name}.{ending}"
    write_wav(source, speech(rate, channels, seconds, seed), rate)
    run(*command(source, out, options))
    source.unlink()
    return out
