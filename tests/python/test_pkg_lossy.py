"""MP3, Opus and Vorbis: files of the real encoders, against other decoders; windows against slices."""

import codec_files as files
import mldf
import numpy as np
import pytest
from test_pkg_codecs import VARIANTS, load, starts, window

FILES = {
    "mp3_cbr": ("lame", {"rate": 44100, "channels": 2, "options": ("-b", "128")}),
    "mp3_vbr": ("lame", {"rate": 44100, "channels": 2, "options": ("-V", "2")}),
    "mp3_tags": ("lame", {"rate": 48000, "options": ("-b", "64", "--tt", "title", "--add-id3v2", "--id3v1-only")}),
    "mp3_id3v2": (
        "lame",
        {"rate": 32000, "options": ("-b", "64", "--tt", "title", "--id3v2-only", "--pad-id3v2-size", "5000")},
    ),
    "mp3_crc": ("lame", {"rate": 44100, "options": ("-b", "64", "-p")}),
    "mp3_mpeg2": ("lame", {"rate": 16000, "options": ("-b", "32", "-m", "m")}),
    "mp3_mpeg2_stereo": ("lame", {"rate": 24000, "channels": 2, "options": ("-b", "64", "-t")}),
    "mp3_mpeg25": ("lame", {"rate": 8000, "options": ("-b", "16", "-m", "m")}),
    "mp3_ffmpeg": ("ffmpeg-mp3", {"rate": 48000, "channels": 2, "options": ("-b:a", "96k")}),
    "opus": ("opusenc", {"rate": 48000, "channels": 2}),
    "opus_low": ("opusenc", {"rate": 16000, "options": ("--bitrate", "16")}),
    "opus_60ms": ("opusenc", {"rate": 16000, "options": ("--framesize", "60")}),
    "opus_surround": ("opusenc", {"rate": 48000, "channels": 6, "seconds": 2}),
    "opus_ffmpeg": ("ffmpeg-opus", {"rate": 48000, "options": ("-vbr", "off", "-page_duration", "3000000")}),
    "vorbis": ("oggenc", {"rate": 44100, "channels": 2}),
    "vorbis_mono": ("oggenc", {"rate": 16000, "options": ("-q", "8")}),
    "vorbis_surround": ("oggenc", {"rate": 48000, "channels": 6, "seconds": 1}),
    "vorbis_ffmpeg": ("ffmpeg-vorbis", {"rate": 22050, "channels": 2}),
}
CODECS = {"mp3": 3, "opus": 4, "vorbis": 5}
SLICE = {"mp3": 2.0**-20, "opus": 2.0**-10, "vorbis": 0}  # docs/spec/fields.md


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """A dict of name: (path of the file, the dataset, floats (t, channels))."""
    folder = tmp_path_factory.mktemp("lossy")
    out = {}
    for i, (name, (encoder, how)) in enumerate(FILES.items()):
        path = files.encoded(folder, name, encoder, seed=i, **how)
        mldf.pack(path, folder / f"{name}.mldf")
        with mldf.open(folder / f"{name}.mldf") as ds:
            out[name] = path, folder / f"{name}.mldf", ds[0].audio.copy()
    return out


@pytest.mark.parametrize("name", FILES)
def test_lengths_and_numbers_are_those_of_other_decoders(packed, name):
    path, target, whole = packed[name]
    codec = name.split("_")[0]
    with mldf.open(target) as ds:
        row = ds.rows["audio"][0]
        assert row["codec"] == CODECS[codec] and row["num_samples"] == len(whole) and row["bit_depth"] == 0
    other = files.ffmpeg(path, ("-c:a", "libopus") if codec == "opus" else ())
    assert other.shape == whole.shape
    if name == "mp3_mpeg2_stereo":  # FFmpeg's joint stereo of MPEG-2 is not that of libmad and libmpg123
        other = files.sox(path, 2)
        whole = whole[: len(other)]
    assert np.abs(other - whole).max() < (2e-5 if codec == "opus" else 2e-6)  # that decoder gives 16 bits
    assert mldf.verify(target, deep=True).ok


@pytest.mark.parametrize("name", FILES)
def test_windows_are_the_same_everywhere_and_near_the_slice(packed, name):
    _, target, whole = packed[name]
    length = 7000
    for start in starts(len(whole), length):
        first = window(target, start, length, **VARIANTS[0])
        assert np.abs(first - whole[start : start + length].T).max() <= SLICE[name.split("_")[0]], start
        for variant in VARIANTS[1:]:
            if not variant.get("reference"):
                assert np.array_equal(window(target, start, length, **variant), first), (start, variant)
        assert np.array_equal(window(target, start, length), first)
    batch = load(target, "audio: decode_audio(rate=16000, mono=true) | window(0.5, start=0.4) | mel(whisper)")["audio"]
    assert batch.shape == (1, 80, 50) and np.isfinite(batch).all()


@pytest.mark.parametrize("name", FILES)
def test_extract_gives_the_file_or_one_with_the_same_packets(packed, name, tmp_path):
    path, target, whole = packed[name]
    mldf.extract(target, tmp_path / "out")
    made = tmp_path / "out" / path.name
    if name.startswith("mp3"):
        assert made.read_bytes() == path.read_bytes()
        return
    mldf.pack(made, tmp_path / "again.mldf")
    with mldf.open(tmp_path / "again.mldf") as ds:
        assert np.array_equal(ds[0].audio, whole)
    assert np.array_equal(files.ffmpeg(made), files.ffmpeg(path))
    mldf.pack(path, tmp_path / "kept.mldf", audio={"keep_file": True})
    mldf.extract(tmp_path / "kept.mldf", tmp_path / "kept")
    assert (tmp_path / "kept" / path.name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", ["mp3_cbr", "mp3_mpeg2", "opus", "vorbis"])
def test_what_is_cut_short_ends_where_other_decoders_end(packed, name, tmp_path):
    path, _, whole = packed[name]
    data = path.read_bytes()
    cut = tmp_path / f"cut{path.suffix}"
    cut.write_bytes(data[: len(data) * 3 // 5])
    mldf.pack(cut, tmp_path / "x.mldf")
    with mldf.open(tmp_path / "x.mldf") as ds:
        got = ds[0].audio
    assert 0.3 * len(whole) < len(got) < len(whole) and abs(len(got) - len(files.ffmpeg(cut))) <= 2400
    assert np.array_equal(got[: len(got) - 2400], whole[: len(got) - 2400])


@pytest.mark.parametrize("name", ["opus", "vorbis"])
def test_a_damaged_page_is_an_error_with_its_byte(packed, name, tmp_path):
    path, _, _ = packed[name]
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 8
    (tmp_path / path.name).write_bytes(data)
    with pytest.raises(mldf.Error, match=r"byte \d+: Ogg: the CRC of the page"):
        mldf.pack(tmp_path / path.name, tmp_path / "x.mldf")


def test_junk_between_frames_of_mp3_is_kept_and_skipped(packed, tmp_path):
    path, _, whole = packed["mp3_cbr"]
    data = path.read_bytes()
    with mldf.open(packed["mp3_cbr"][1]) as ds:
        assert ds.rows["audio"]["size"][0] > len(data)
    middle = data.index(b"\xff\xfb", len(data) // 2)
    junk = data[:middle] + bytes(777) + data[middle:]
    (tmp_path / "junk.mp3").write_bytes(junk)
    mldf.pack(tmp_path / "junk.mp3", tmp_path / "x.mldf")
    with mldf.open(tmp_path / "x.mldf") as ds:
        assert np.array_equal(ds[0].audio, whole)
    mldf.extract(tmp_path / "x.mldf", tmp_path / "out")
    assert (tmp_path / "out" / "junk.mp3").read_bytes() == junk


def test_free_format_and_other_files_are_refused_in_words(tmp_path):
    source = tmp_path / "a.wav"
    files.write_wav(source, files.speech(44100, 1, 1), 44100)
    files.run("lame", "--quiet", "--freeformat", "-b", "400", source, tmp_path / "free.mp3")
    with pytest.raises(mldf.Error, match="free format"):
        mldf.pack(tmp_path / "free.mp3", tmp_path / "x.mldf")


def test_encode_opus_makes_opus_of_everything(packed, tmp_path):
    numbers = files.speech(16000, 1, 2)
    files.write_wav(tmp_path / "a.wav", numbers, 16000)
    mldf.pack(tmp_path / "a.wav", tmp_path / "x.mldf", audio={"encode": "opus", "bitrate": 64000})
    with mldf.open(tmp_path / "x.mldf") as ds:
        assert ds.rows["audio"]["codec"][0] == 4 and ds[0].audio.shape == (96000, 1)
        assert ds.rows["audio"]["size"][0] < 25000
    near = load(tmp_path / "x.mldf", "audio: decode_audio(rate=16000)")["audio"][0]
    assert np.corrcoef(near, numbers[:, 0])[0, 1] > 0.9
    mldf.extract(tmp_path / "x.mldf", tmp_path / "out")
    assert (
        len(
            files.ffmpeg(
                tmp_path / "out" / "a.wav.opus"
                if (tmp_path / "out" / "a.wav.opus").exists()
                else tmp_path / "out" / "a.opus"
            )
        )
        == 96000
    )
    with pytest.raises(mldf.Error, match="resample"):
        mldf.pack(packed["vorbis"][0], tmp_path / "y.mldf", audio={"encode": "opus"})
