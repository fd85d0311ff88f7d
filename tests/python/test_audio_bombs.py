"""Audio that asks for more than it is worth: a little file that would become gigabytes is refused in words, before memory is taken."""

import base64
import gzip
import json
import resource
import struct
import subprocess
import sys
import wave

import codec_files as files
import mldf
import numpy as np
import pytest

LIMIT = r"need \d+ bytes of memory, and the limit for \d+ stored bytes is \d+: max_decoded_bytes"


def crc(data, polynomial, bits):
    value, top, mask = 0, 1 << (bits - 1), (1 << bits) - 1
    for byte in data:
        value ^= byte << (bits - 8)
        for _ in range(8):
            value = (value << 1 ^ (polynomial if value & top else 0)) & mask
    return value


def utf8(number):
    return bytes([number]) if number < 128 else chr(number).encode()


def flac_bomb(frames, channels=8, block=65535):
    """FLAC of silence: each frame says of each channel that it is one number, 65535 times."""
    info = struct.pack(">HH", block, block) + bytes(6)
    packed = 48000 << 44 | (channels - 1) << 41 | 15 << 36 | frames * block
    out = bytearray(b"fLaC\x80\0\0\x22" + info + packed.to_bytes(8, "big") + bytes(16))
    for i in range(frames):
        head = b"\xff\xf8\x70" + bytes([(channels - 1) << 4]) + utf8(i) + struct.pack(">H", block - 1)
        frame = head + bytes([crc(head, 0x07, 8)]) + bytes(3 * channels)
        out += frame + struct.pack(">H", crc(frame, 0x8005, 16))
    return bytes(out)


@pytest.fixture(scope="module")
def bomb(tmp_path_factory):
    path = tmp_path_factory.mktemp("bomb") / "bomb.flac"
    path.write_bytes(flac_bomb(2200))  # 2.3 GB as int16, of 80 KB
    return path


def test_the_bomb_is_flac(tmp_path):
    path = tmp_path / "small.flac"
    path.write_bytes(flac_bomb(3, channels=2))
    assert files.ffmpeg(path).shape == (3 * 65535, 2)
    mldf.pack(path, tmp_path / "x.mldf")
    assert mldf.verify(tmp_path / "x.mldf", deep=True).ok


def test_flac_that_becomes_gigabytes_is_not_made_pcm(bomb, tmp_path):
    with pytest.raises(mldf.Error, match=LIMIT):
        mldf.pack(bomb, tmp_path / "x.mldf", audio={"encode": "pcm"})
    (tmp_path / "nemo.jsonl").write_text(
        json.dumps({"audio_filepath": str(bomb), "text": "x", "offset": 0, "duration": 1}) + "\n"
    )
    with pytest.raises(mldf.Error, match=LIMIT):
        mldf.pack(tmp_path / "nemo.jsonl", tmp_path / "x.mldf", cut=True, allow_outside=True)


def test_a_loader_refuses_it_and_its_windows_cost_little(bomb, tmp_path):
    out = tmp_path / "x.mldf"
    mldf.pack(bomb, out, audio={"decode": False})
    with pytest.raises(mldf.Error, match=LIMIT) as caught:
        list(mldf.Loader(out, 1, pipelines="audio: decode_audio(mono=false) | pad"))
    assert caught.value.sample == 0 and caught.value.field == "audio"
    (batch,) = mldf.Loader(out, 1, pipelines="audio: window(samples=1000, start=70000)")
    assert batch.audio.shape == (1, 8, 1000) and not batch.audio.any()


def test_a_limit_that_is_set_counts_and_can_allow_more(tmp_path):
    path, out = tmp_path / "a.flac", tmp_path / "x.mldf"
    path.write_bytes(flac_bomb(4, channels=2))  # 2 MB as float32
    mldf.pack(path, out)
    with mldf.open(out, max_decoded_bytes=1 << 20) as ds, pytest.raises(mldf.Error, match=LIMIT):
        list(mldf.Loader(ds, 1, pipelines="audio: decode_audio(mono=false) | pad"))
    with mldf.open(out, max_decoded_bytes=1 << 22) as ds:
        assert next(iter(mldf.Loader(ds, 1, pipelines="audio: decode_audio(mono=false) | pad"))).audio.shape[-1] == 4 * 65535


def slow_wav(path, samples=20000):
    with wave.open(str(path), "wb") as w:
        w.setparams((1, 2, 1, 0, "NONE", ""))  # 1 Hz
        w.writeframes(bytes(2 * samples))


def test_a_recording_of_1_hz_is_not_resampled_to_gigabytes(tmp_path):
    path, out = tmp_path / "slow.wav", tmp_path / "x.mldf"
    slow_wav(path)  # 40 KB; at 48 kHz 3.8 GB
    mldf.pack(path, out)
    with pytest.raises(mldf.Error, match=LIMIT):
        list(mldf.Loader(out, 1, pipelines="audio: decode_audio(rate=48000) | pad"))
    (tmp_path / "nemo.jsonl").write_text(json.dumps({"audio_filepath": "slow.wav", "text": "x"}) + "\n")
    with pytest.raises(mldf.Error, match=LIMIT):
        mldf.pack(tmp_path / "nemo.jsonl", tmp_path / "y.mldf", rate=48000)


def test_a_manifest_of_gzip_is_not_unpacked_to_gigabytes(tmp_path):
    path = tmp_path / "cuts.jsonl.gz"
    line = json.dumps({"id": "a", "start": 0, "duration": 1, "type": "MonoCut", "recording": {"id": "r", "sources": []}})
    with gzip.open(path, "wb", compresslevel=9) as f:
        f.write(line.encode() + b"\n")
        for _ in range(100):
            f.write(b" " * (1 << 20))
    assert path.stat().st_size < 200_000
    with pytest.raises(mldf.Error, match=r"cuts\.jsonl\.gz: .*(limit|more than)"):
        mldf.pack(path, tmp_path / "x.mldf")


def test_segments_of_shared_payloads_have_a_limit(tmp_path):
    """Every row's segments are the same 1.6 MB: 1.6 GB of segments in a file of a few megabytes."""
    out = tmp_path / "x.mldf"
    many = np.tile(np.array([[0, 10]]), (100_000, 1))
    schema = {"audio": mldf.Audio(rate=8000), "segments": mldf.NDArray("int64", (None, 2))}
    with mldf.Writer(out, schema, checksums=False) as w:
        w.append({"audio": np.zeros(100, "<i2"), "segments": many})
        for _ in range(999):
            w.append({"audio": np.zeros(100, "<i2"), "segments": many[:1]})
    with mldf.open(out) as ds:
        first = ds.rows["segments"][0].tobytes()
        places = [row.tobytes() for row in ds.rows["segments"]]
    data = bytearray(out.read_bytes())
    at = 0
    for place in places:  # rows in order
        at = data.index(place, at)
        data[at : at + len(first)] = first
        at += len(first)
    out.write_bytes(data)
    program = f"""
import mldf
try:
    mldf.Loader({str(out)!r}, 1, view="segments(audio)", pipelines="audio: pad")
except mldf.Error as error:
    print(error)
"""

    def limited():
        resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))

    got = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, preexec_fn=limited)
    assert "more than 67108864 segments" in got.stdout, got


# ---- files that are right, or nearly ----


def test_vorbis_with_cover_art_of_megabytes_is_taken(tmp_path):
    files.write_wav(tmp_path / "a.wav", files.speech(16000, 1, 1), 16000)
    files.run("oggenc", "-Q", tmp_path / "a.wav", "-o", tmp_path / "plain.ogg")
    picture = struct.pack(">IIIIIIII", 3, 0, 0, 0, 0, 0, 0, 1 << 21) + bytes(1 << 21)
    tags = tmp_path / "tags.txt"
    tags.write_text("METADATA_BLOCK_PICTURE=" + base64.b64encode(picture).decode() + "\nTITLE=one\n")
    files.run("vorbiscomment", "-w", "-c", tags, tmp_path / "plain.ogg", tmp_path / "art.ogg")
    assert (tmp_path / "art.ogg").stat().st_size > 2 << 20
    got = {}
    for name in ("plain", "art"):
        mldf.pack(tmp_path / f"{name}.ogg", tmp_path / f"{name}.mldf")
        (got[name],) = mldf.Loader(tmp_path / f"{name}.mldf", 1, pipelines="audio: window(0.5)")
    assert np.array_equal(got["plain"].audio, got["art"].audio)
    with mldf.open(tmp_path / "art.mldf") as ds:
        assert ds.rows["audio"]["size"][0] < 100_000


def test_mp3_with_too_much_between_its_frames_is_refused(tmp_path):
    files.write_wav(tmp_path / "a.wav", files.speech(16000, 1, 1), 16000)
    files.run("lame", "--quiet", tmp_path / "a.wav", tmp_path / "a.mp3")
    data = (tmp_path / "a.mp3").read_bytes()
    middle = data.index(b"\xff\xf3", len(data) // 2)
    (tmp_path / "b.mp3").write_bytes(data[:middle] + bytes(70 << 20) + data[middle:])
    with pytest.raises(mldf.Error, match=r"b\.mp3.*byte \d+: packet \d+ of the stream has \d+ bytes, and 67108864 are the most"):
        mldf.pack(tmp_path / "b.mp3", tmp_path / "x.mldf")


def ogg_crc(page):
    value = 0
    for byte in page:
        value ^= byte << 24
        for _ in range(8):
            value = (value << 1 ^ (0x04C11DB7 if value & 0x80000000 else 0)) & 0xFFFFFFFF
    return value


@pytest.mark.parametrize("granule", [2**32 + 5, 2**62, 2**64 - 2])
def test_ogg_positions_beyond_the_packets_are_not_believed(tmp_path, granule):
    files.write_wav(tmp_path / "a.wav", files.speech(48000, 1, 1), 48000)
    files.run("opusenc", "--quiet", tmp_path / "a.wav", tmp_path / "a.opus")
    data = bytearray((tmp_path / "a.opus").read_bytes())
    at = data.rindex(b"OggS")
    struct.pack_into("<Q", data, at + 6, granule)
    struct.pack_into("<I", data, at + 22, 0)
    struct.pack_into("<I", data, at + 22, ogg_crc(data[at:]))
    (tmp_path / "b.opus").write_bytes(data)
    mldf.pack(tmp_path / "b.opus", tmp_path / "x.mldf")
    with mldf.open(tmp_path / "x.mldf") as ds:
        assert ds.rows["audio"]["num_samples"][0] <= 50 * 960 + 960 * 3


# ---- the search for the end of a FLAC frame ----


def flac_frames(path):
    """Bytes of a FLAC file with and without the number of samples in its header."""
    data = bytearray(path.read_bytes())
    open_ended = bytearray(data)
    open_ended[8 + 13] &= 0xF0
    open_ended[8 + 14 : 8 + 18] = bytes(4)
    open_ended[8 + 18 : 8 + 34] = bytes(16)
    return bytes(data), bytes(open_ended)


@pytest.mark.parametrize("stated", [True, False])
def test_a_damaged_frame_is_found_wherever_it_is(tmp_path, stated):
    path, _ = files.flac(tmp_path, "a", seconds=20.0, rate=48000, options=("-b", "1152"))
    data = flac_frames(path)[not stated]
    mldf_file = tmp_path / "x.mldf"
    (tmp_path / "b.flac").write_bytes(data)
    mldf.pack(tmp_path / "b.flac", mldf_file, audio={"decode": False})
    with mldf.open(mldf_file) as ds:
        whole = int(ds.rows["audio"]["num_samples"][0])
    assert whole == 960000
    for at in range(len(data) // 8, len(data) - 4000, len(data) // 25):
        broken = bytearray(data)
        broken[at] ^= 0xFF
        (tmp_path / "b.flac").write_bytes(broken)
        with pytest.raises(mldf.Error, match=r"byte \d+: FLAC: the frame with sample \d+ is damaged") as caught:
            mldf.pack(tmp_path / "b.flac", mldf_file, audio={"decode": False}, overwrite=True)
        sample = int(str(caught.value).split("frame with sample ")[1].split(" ")[0])
        assert abs(sample / 960000 - at / len(data)) < 0.15


def test_tags_behind_flac_are_not_its_last_frame(tmp_path):
    path, want = files.flac(tmp_path, "a", seconds=1.0)
    rng = np.random.default_rng(3)
    for name, tail in {
        "id3v1": b"TAG" + bytes(125),
        "ape": b"APETAGEX" + rng.integers(0, 256, 60000, "u1").tobytes(),
    }.items():
        data = path.read_bytes() + tail
        (tmp_path / f"{name}.flac").write_bytes(data)
        mldf.pack(tmp_path / f"{name}.flac", tmp_path / f"{name}.mldf")
        with mldf.open(tmp_path / f"{name}.mldf") as ds:
            assert ds.rows["audio"]["num_samples"][0] == len(want)
        mldf.extract(tmp_path / f"{name}.mldf", tmp_path / name)
        (made,) = (tmp_path / name).rglob("*.flac")
        assert made.read_bytes() == data
