"""The sound of videos: raw, AC-3 and E-AC-3, gaps and overlaps, streams that begin apart. FFmpeg is the measure."""

import os
import subprocess

import mldf
import numpy as np
import pytest
from codec_files import ffmpeg, run, speech, write_wav

IMAGES = ("-f", "lavfi", "-i", "testsrc2=size=32x32:rate=25:duration=3")


@pytest.fixture(scope="module")
def voice(tmp_path_factory):
    """Three seconds of sound that repeats nowhere."""
    path = tmp_path_factory.mktemp("voice") / "voice.wav"
    write_wav(path, speech(48000, 2, 3), 48000)
    return path


def sound_of(target, start=0, samples=None):
    row = mldf.open(target).rows["video"][0]
    samples = int(row["sound_samples"]) - start if samples is None else samples
    with mldf.Loader(target, 1, pipelines=f"video.audio: window(samples={samples}, start={start})") as loader:
        return np.asarray(next(iter(loader))[0])[0].T


RAW = {
    "pcm_s16le": ("mov", 0, 16),
    "pcm_s16be": ("mov", 0, 16),
    "pcm_s24be": ("mov", 0, 24),
    "pcm_s32le": ("mov", 0, 32),
    "pcm_s8": ("mov", 0, 8),
    "pcm_u8": ("avi", 0, 8),
    "pcm_f32le": ("mkv", 16, 32),
    "pcm_f64le": ("mkv", 16, 64),
    "pcm_alaw": ("mkv", 17, 8),
    "pcm_mulaw": ("avi", 18, 8),
}


@pytest.mark.parametrize("name", RAW)
def test_raw_sound_is_itself(voice, tmp_path, name):
    ending, codec, bits = RAW[name]
    path, target = tmp_path / f"x.{ending}", tmp_path / "x.mldf"
    run("ffmpeg", "-v", "error", "-y", *IMAGES, "-i", voice, "-c:v", "mpeg4", "-c:a", name, path)
    mldf.pack(path, target)
    row = mldf.open(target).rows["video"][0]
    assert (row["sound_codec"], row["sound_bits"], row["sound_rate"], row["sound_channels"]) == (codec, bits, 48000, 2)
    want = ffmpeg(path)
    assert np.array_equal(sound_of(target), want)
    assert np.array_equal(sound_of(target, 12345, 777), want[12345:13122])
    assert mldf.verify(target, deep=True).ok
    mldf.extract(target, tmp_path / "out")
    (made,) = (p for p in (tmp_path / "out").rglob("*.m*") if p.suffix in (".mkv", ".mp4"))
    assert np.array_equal(ffmpeg(made), want)


@pytest.mark.parametrize(("codec", "number"), [("ac3", 8), ("eac3", 9)])
def test_ac3(voice, tmp_path, codec, number):
    path, target = tmp_path / "x.mkv", tmp_path / "x.mldf"
    run("ffmpeg", "-v", "error", "-y", *IMAGES, "-i", voice, "-c:v", "mpeg4", "-c:a", codec, path)
    mldf.pack(path, target)
    assert mldf.open(target).rows["video"][0]["sound_codec"] == number
    noise = ("-cons_noisegen", "1")  # that of a packet depends on the packet alone
    want = ffmpeg(path, noise)
    got = sound_of(target)
    assert len(want) <= len(got) < len(want) + 1536, "FFmpeg cuts where the container says that the file ends"
    assert np.array_equal(got[: len(want)], want)
    assert np.array_equal(sound_of(target, 100000, 9000), want[100000:109000])
    assert mldf.verify(target, deep=True).ok
    mldf.extract(target, tmp_path / "out")
    (made,) = (p for p in (tmp_path / "out").rglob("*.m*") if p.suffix in (".mkv", ".mp4"))
    again = ffmpeg(made, noise)  # MP4 leaves out what is heard before the first image
    assert len(want) - 512 <= len(again) and np.array_equal(again, want[-len(again) :])


def elements(data, at, end):
    """(id, place of its content, its end) of the elements of Matroska between two places."""
    while at < end:
        size = 9 - data[at].bit_length()
        name, at = int.from_bytes(data[at : at + size], "big"), at + size
        width = 9 - data[at].bit_length()
        length = int.from_bytes(data[at : at + width], "big") & ((1 << 7 * width) - 1)
        at += width
        stop = end if length == (1 << 7 * width) - 1 else at + length
        yield name, at, stop
        at = stop


def with_jumps(path):
    """Times of the sound's packets (track 2), in place: 0.5 s later from 1 s on, 0.25 s later from 2 s on."""
    data = bytearray(path.read_bytes())
    (segment,) = ((at, end) for name, at, end in elements(data, 0, len(data)) if name == 0x18538067)
    for name, at, end in elements(data, *segment):
        if name != 0x1F43B675:
            continue
        base = 0
        for part, start, stop in elements(data, at, end):
            if part == 0xE7:
                base = int.from_bytes(data[start:stop], "big")
            if part == 0xA3 and data[start] == 0x82:
                when = int.from_bytes(data[start + 1 : start + 3], "big", signed=True)
                when += 0 if base + when < 1000 else 500 if base + when < 2000 else 250
                data[start + 1 : start + 3] = when.to_bytes(2, "big", signed=True)
    made = path.with_name("jumps.mkv")
    made.write_bytes(data)
    return made


def packet_times(path):
    """(pts in seconds, of the sound's packets)."""
    command = ["ffprobe", "-v", "error", "-select_streams", "a:0", "-show_entries", "packet=pts_time", "-of", "csv=p=0"]
    out = subprocess.run([*command, str(path)], check=True, capture_output=True, text=True).stdout
    return [float(word.strip(",")) for word in out.split()]


@pytest.mark.parametrize("codec", ["flac", "pcm_s16le", "pcm_u8", "aac"])
def test_gaps_are_silence_and_overlaps_are_cut(voice, tmp_path, codec):
    plain = tmp_path / "plain.mkv"
    run(
        "ffmpeg",
        "-v",
        "error",
        "-y",
        *IMAGES,
        "-i",
        voice,
        "-c:v",
        "mpeg4",
        "-c:a",
        codec,
        *(["-aac_pns", "0"] if codec == "aac" else []),
        plain,
    )
    path = with_jumps(plain)
    mldf.pack(plain, tmp_path / "plain.mldf")
    mldf.pack(path, tmp_path / "x.mldf")
    whole, got = sound_of(tmp_path / "plain.mldf"), sound_of(tmp_path / "x.mldf")
    times = packet_times(path)
    steps = [b - a for a, b in zip(times, times[1:])]
    ahead = int(np.argmax(steps))
    back = int(np.argmin(steps))
    assert steps[ahead] > 0.4 and steps[back] < -0.1
    begin = round(48000 * (times[ahead + 1] - times[0]))  # of the second run, in the result
    third = round(48000 * (times[back + 1] - times[0]))
    assert not got[begin - 20000 : begin - 100].any() and got[40000:44000].any()
    edge = 3000 if codec == "aac" else 100  # AAC begins again after silence; Matroska rounds to milliseconds
    assert np.array_equal(got[: 48000 - 2048], whole[: 48000 - 2048])
    for place, shift in ((begin + edge, 24000), (third + edge, 12000)):
        piece = got[place : place + 4000]
        found = [
            s for s in range(shift - 200, shift + 200) if np.array_equal(piece, whole[place - s : place - s + 4000])
        ]
        assert len(found) == 1, (codec, place)
    assert mldf.verify(tmp_path / "x.mldf", deep=True).ok
    for start, samples in ((47000, 3000), (begin - 100, 5000), (third - 3000, 6000), (len(got) - 500, 500)):
        assert np.array_equal(sound_of(tmp_path / "x.mldf", start, samples), got[start : start + samples]), start
    mldf.extract(tmp_path / "x.mldf", tmp_path / "out")


def test_streams_that_begin_apart_are_warned_of(voice, tmp_path):
    path = tmp_path / "late.mkv"
    run("ffmpeg", "-v", "error", "-y", *IMAGES, "-itsoffset", "0.4", "-i", voice, "-c:v", "mpeg4", "-c:a", "flac", path)
    command = [os.environ["MLDF"], "pack", str(path), "-o", str(tmp_path / "x.mldf")]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    assert "the sound begins 0.400 s after the images" in told
    run("ffmpeg", "-v", "error", "-y", *IMAGES, "-i", voice, "-c:v", "mpeg4", "-c:a", "flac", tmp_path / "together.mkv")
    command = [os.environ["MLDF"], "pack", str(tmp_path / "together.mkv"), "-o", str(tmp_path / "y.mldf")]
    assert "begins" not in subprocess.run(command, check=True, capture_output=True, text=True).stderr


def element(name, content):
    return name + (len(content) | 1 << 56).to_bytes(8, "big") + content


def with_packets_at(plain, path, times):
    """A film whose sound has its first packet at 0 again and again, at other times in milliseconds."""
    data = plain.read_bytes()
    ((segment, end),) = ((at, end) for name, at, end in elements(data, 0, len(data)) if name == 0x18538067)
    at, stop = next((at, stop) for name, at, stop in elements(data, segment, end) if name == 0x1F43B675)
    blocks = [data[a:b] for name, a, b in elements(data, at, stop) if name == 0xA3 and data[a] == 0x82]
    made = data[segment:stop]
    for when in times:
        block = element(b"\xa3", blocks[0][:1] + b"\0\0" + blocks[0][3:])
        made += element(b"\x1f\x43\xb6\x75", element(b"\xe7", when.to_bytes(8, "big")) + block)
    path.write_bytes(data[: segment - 12] + element(b"\x18\x53\x80\x67", made))
    return len(blocks)


def test_silence_is_bounded_and_packets_may_go_back_far(voice, tmp_path):
    plain, path = tmp_path / "plain.mkv", tmp_path / "x.mkv"
    run("ffmpeg", "-v", "error", "-y", *IMAGES, "-i", voice, "-c:v", "mpeg4", "-c:a", "pcm_s16le", plain)
    hour = 3600 * 1000
    with_packets_at(plain, path, [10 * hour, 20 * hour, 30 * hour])
    with pytest.raises(mldf.Error, match="the sound is silent for 10.... s"):
        mldf.pack(path, tmp_path / "x.mldf")
    times = [20000 - 3 * i for i in range(2000)]
    with_packets_at(plain, path, times)
    mldf.pack(path, tmp_path / "x.mldf")
    steps = np.diff(packet_times(plain))[0]
    assert abs(len(sound_of(tmp_path / "x.mldf")) / 48000 - times[-1] / 1000 - steps) < 0.01
