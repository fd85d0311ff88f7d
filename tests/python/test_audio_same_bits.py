"""The same recording gives the same bits wherever and whenever it is decoded: AAC with noise, portable Opus by FFmpeg, loaders of both kinds at once."""

import shutil
import struct
import threading
import time

import codec_files as files
import mldf
import numpy as np
import pytest


def copies(folder, path, count):
    """A dataset of the same file, again and again."""
    (folder / "many").mkdir()
    for i in range(count):
        shutil.copy(path, folder / "many" / f"{i}{path.suffix}")
    mldf.pack(folder / "many", folder / "many.mldf")
    return folder / "many.mldf"


def epoch(path, text, **options):
    with mldf.Loader(path, 1, pipelines=text, **options) as loader:
        return [batch["audio"][0].copy() for batch in loader]


@pytest.mark.parametrize("ending", ["aac", "m4a"])
def test_noise_in_a_short_aac_recording_does_not_depend_on_what_was_decoded_before(tmp_path, ending):
    """Noise in the first piece alone, which the packer once did not see."""
    rng = np.random.default_rng(0)
    t = np.arange(3 * 16000) / 16000
    wave = 0.2 * np.sin(2 * np.pi * 440 * t) + 0.05 * rng.standard_normal(len(t))
    files.write_wav(tmp_path / "a.wav", (wave * 32767).astype("i2")[:, None], 16000)
    path = tmp_path / f"a.{ending}"
    files.run("ffmpeg", "-v", "error", "-i", tmp_path / "a.wav", "-c:a", "aac", path)
    target = copies(tmp_path, path, 3)
    want = files.ffmpeg(path)[:, 0]
    for threads in (0, 4):
        for got in epoch(target, "audio: decode_audio | pad", threads=threads):
            assert np.array_equal(got, want)
        windows = epoch(target, "audio: decode_audio | window(samples=9000, start=20000)", threads=threads)
        assert all(np.array_equal(windows[0], x) for x in windows)
    (first,) = [epoch(target, "audio: decode_audio | window(samples=9000, start=20000)", threads=0)[0]]
    assert np.array_equal(first, windows[0])


@pytest.fixture(scope="module")
def silk(tmp_path_factory):
    folder = tmp_path_factory.mktemp("silk")
    path = files.encoded(folder, "a", "opusenc", rate=16000, options=("--bitrate", "16"))
    return path, copies(folder, path, 3)


def test_portable_opus_by_ffmpeg_uses_no_code_for_the_cpu(silk):
    path, target = silk
    want = files.ffmpeg(path, ("-cpuflags", "0"))[:, 0]
    for threads in (0, 3):
        for got in epoch(target, "audio: decode_audio(opus=ffmpeg, portable=true) | pad", threads=threads):
            assert np.array_equal(got, want)


def test_portable_loaders_do_not_change_what_others_beside_them_decode(silk):
    _, target = silk
    text = "audio: decode_audio(opus=ffmpeg{}) | window(samples=2000, start=30000)"
    usual = epoch(target, text.format(""), threads=0)[0]
    plain = epoch(target, text.format(", portable=true"), threads=0)[0]
    done, wrong = threading.Event(), []

    def beside():
        while not done.is_set():
            wrong.extend(
                x for x in epoch(target, text.format(", portable=true"), threads=0) if not np.array_equal(x, plain)
            )

    threads = [threading.Thread(target=beside) for _ in range(2)]
    for t in threads:
        t.start()
    until, count = time.monotonic() + 4, 0
    while time.monotonic() < until:
        got = epoch(target, text.format(""), threads=0)
        count += len(got)
        wrong.extend(x for x in got if not np.array_equal(x, usual))
    done.set()
    for t in threads:
        t.join()
    assert count and not wrong, (count, len(wrong))


def ogg_crc(page):
    crc = 0
    for byte in page:
        crc ^= byte << 24
        for _ in range(8):
            crc = (crc << 1 ^ (0x04C11DB7 if crc & 0x80000000 else 0)) & 0xFFFFFFFF
    return crc


def test_a_long_opus_head_loses_no_samples(tmp_path):
    """OpusHead may grow; FFmpeg must not cut the pre-skip off that the table has already."""
    path = files.encoded(tmp_path, "a", "opusenc", rate=16000, seconds=1.0)
    data = path.read_bytes()
    head = data[28 : 28 + data[27]]
    assert data[26] == 1 and head.startswith(b"OpusHead")
    longer = head + bytes(400 - len(head))
    page = bytearray(data[:26] + bytes([2, 255, 400 - 255]) + longer)
    page[22:26] = bytes(4)
    page[22:26] = struct.pack("<I", ogg_crc(page))
    (tmp_path / "b.opus").write_bytes(bytes(page) + data[28 + len(head) :])
    got = []
    for name in ("a", "b"):
        mldf.pack(tmp_path / f"{name}.opus", tmp_path / f"{name}.mldf")
        got.append(epoch(tmp_path / f"{name}.mldf", "audio: decode_audio(opus=ffmpeg) | pad", threads=0)[0])
    assert np.array_equal(got[0], got[1])
