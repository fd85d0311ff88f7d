#!/usr/bin/env python3
"""Makes tests/data/audio/: small WAV files of the programs that people use, and what each holds as float32 (NAME.f32, channels
interleaved) as libsndfile reads it. Run once; needs ffmpeg, sox, NumPy, SciPy and soundfile (python -m pip install soundfile scipy).

    python tests/data/make_audio.py

tests/unit/field/test_audio_data.c compares. The files are kept because other versions of these programs write other headers.
"""
import pathlib
import struct
import subprocess
import wave

import numpy as np
import scipy.io.wavfile
import soundfile

OUT = pathlib.Path(__file__).parent / "audio"
OUT.mkdir(exist_ok=True)
FRAMES = 37  # odd, so that 8 and 24 bits mono need padding


def signal(channels):
    """Noise over the whole range, with both ends and zero."""
    values = np.random.default_rng(channels).uniform(-1, 1, (FRAMES, channels))
    values[0], values[1], values[2] = -1, 1 - 2**-31, 0
    return values


def run(*command, **more):
    return subprocess.run(command, check=True, stderr=subprocess.PIPE, **more).stdout


def ffmpeg(name, channels, rate, codec, *options):
    raw = signal(channels).astype("<f8").tobytes()
    run("ffmpeg", "-y", "-f", "f64le", "-ar", str(rate), "-ac", str(channels), "-i", "-", "-c:a", codec, *options, OUT / name, input=raw)


def sox(name, channels, rate, *options, pipe=False):
    raw = signal(channels).astype("<f8").tobytes()
    target = ["-t", "wav", *options, "-"] if pipe else [*options, str(OUT / name)]
    data = run("sox", "-D", "-t", "f64", "-r", str(rate), "-c", str(channels), "-", *target, input=raw, stdout=subprocess.PIPE)
    if pipe:
        (OUT / name).write_bytes(data)


ffmpeg("ffmpeg_u8.wav", 1, 8000, "pcm_u8")
ffmpeg("ffmpeg_s16.wav", 2, 44100, "pcm_s16le")
ffmpeg("ffmpeg_s24.wav", 1, 48000, "pcm_s24le")
ffmpeg("ffmpeg_s32.wav", 2, 96000, "pcm_s32le")
ffmpeg("ffmpeg_f32.wav", 2, 16000, "pcm_f32le")
ffmpeg("ffmpeg_f64.wav", 1, 16000, "pcm_f64le")
ffmpeg("ffmpeg_alaw.wav", 1, 8000, "pcm_alaw")
ffmpeg("ffmpeg_mulaw.wav", 2, 8000, "pcm_mulaw")
ffmpeg("ffmpeg_surround.wav", 6, 48000, "pcm_s16le")
ffmpeg("ffmpeg_rf64.wav", 1, 22050, "pcm_s16le", "-rf64", "always")
ffmpeg("ffmpeg_w64.w64", 2, 22050, "pcm_s24le")
raw = signal(1).astype("<f8").tobytes()
(OUT / "ffmpeg_pipe.wav").write_bytes(run("ffmpeg", "-f", "f64le", "-ar", "16000", "-ac", "1", "-i", "-", "-f", "wav", "-", input=raw,
                                          stdout=subprocess.PIPE))
sox("sox_s16.wav", 1, 16000, "-b", "16")
sox("sox_s24.wav", 2, 16000, "-b", "24")
sox("sox_mulaw.wav", 1, 8000, "-e", "mu-law")
sox("sox_pipe.wav", 6, 16000, "-b", "16", pipe=True)
with wave.open(str(OUT / "python_s16.wav"), "wb") as w:
    w.setparams((2, 2, 11025, FRAMES, "NONE", ""))
    w.writeframes((signal(2) * 32767).astype("<i2").tobytes())
scipy.io.wavfile.write(OUT / "scipy_f32.wav", 16000, signal(2).astype("<f4"))
scipy.io.wavfile.write(OUT / "scipy_i32.wav", 16000, (signal(1)[:, 0] * 2147483647).astype("<i4"))
for name, channels, form, subtype, endian in (
        ("sndfile_rifx_s16.wav", 2, "WAV", "PCM_16", "BIG"), ("sndfile_rifx_s24.wav", 1, "WAV", "PCM_24", "BIG"),
        ("sndfile_rifx_f32.wav", 1, "WAV", "FLOAT", "BIG"), ("sndfile_rifx_f64.wav", 1, "WAV", "DOUBLE", "BIG"),
        ("sndfile_wavex.wav", 4, "WAVEX", "PCM_24", "FILE"), ("sndfile_rf64.wav", 2, "RF64", "FLOAT", "FILE"),
        ("sndfile_w64.w64", 1, "W64", "PCM_U8", "FILE")):
    soundfile.write(OUT / name, signal(channels), 12345, subtype=subtype, endian=endian, format=form)

for name, tag in (("codes_alaw.wav", 6), ("codes_mulaw.wav", 7)):  # every code of G.711
    header = struct.pack("<4sI4s4sIHHIIHHH4sI", b"RIFF", 294, b"WAVE", b"fmt ", 18, tag, 1, 8000, 8000, 1, 8, 0, b"data", 256)
    (OUT / name).write_bytes(header + bytes(range(256)))

for path in sorted(OUT.glob("*.w*[v4]")):
    data, rate = soundfile.read(path, dtype="float32", always_2d=True)
    path.with_name(path.name + ".f32").write_bytes(data.astype("<f4").tobytes())
    print(path.name, rate, *data.shape, soundfile.info(path).subtype)
