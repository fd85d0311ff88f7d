"""Compressed recordings: files of the real encoders packed, loaded by windows, verified and extracted."""

import shutil

import codec_files as files
import mldf
import numpy as np
import pytest

VARIANTS = [
    {"threads": 0, "backend": "map"},
    {"threads": 1, "backend": "read"},
    {"threads": 3, "backend": "map", "isa": "portable"},
    {"threads": 0, "backend": "read", "reference": True},
]

FLACS = {
    "plain": {},
    "stereo": {"channels": 2, "rate": 44100},
    "surround": {"channels": 6, "rate": 48000, "seconds": 1, "options": ("--channel-map=none",)},
    "deep": {"bits": 24, "rate": 96000, "seconds": 1},
    "bytes": {"bits": 8, "rate": 8000},
    "odd_blocks": {"options": ("-b", "1000", "--lax")},
    "no_seek_table": {"options": ("--no-seektable",)},
    "tags": {"options": ("-T", "TITLE=one", "--padding=9000")},
    "large_head": {"options": ("--padding=90000",)},
    "fast": {"options": ("-0",)},
    "short": {"seconds": 0.01},
}


@pytest.fixture(scope="module")
def flacs(tmp_path_factory):
    """A dict of name: (path of the FLAC file, floats (t, channels), the dataset)."""
    folder = tmp_path_factory.mktemp("flac")
    out = {}
    for i, (name, how) in enumerate(FLACS.items()):
        path, whole = files.flac(folder, name, seed=i, **how)
        target = folder / f"{name}.mldf"
        mldf.pack(path, target)
        want = whole.astype(np.float32) / np.float32(2.0 ** (how.get("bits", 16) - 1))
        out[name] = path, want, target
    return out


def starts(samples, length, seed=1):
    """Where windows begin: the ends, and anywhere."""
    last = samples - length
    return sorted({0, min(1, last), last, *np.random.default_rng(seed).integers(0, last + 1, 6).tolist()})


def load(path, text, backend="map", **options):
    with mldf.open(path, backend=backend) as ds, mldf.Loader(ds, 1, pipelines=text, **options) as loader:
        batch = next(iter(loader))
        return {name: np.array(value) for name, value in zip(batch._fields, batch)}


def window(path, start, length, rest="", **options):
    """The loader's window, (channels, t)."""
    out = load(path, f"audio: window(samples={length}, start={start}){rest}", **options)["audio"][0]
    return out.reshape(-1, out.shape[-1]).copy()


@pytest.mark.parametrize("name", FLACS)
def test_a_flac_file_is_its_integers(flacs, name):
    path, want, target = flacs[name]
    with mldf.open(target) as ds:
        assert ds.schema["audio"].type == "audio_compressed" and ds.keys[0] == path.name
        got = ds[0].audio
        assert got.dtype == np.float32 and np.array_equal(got, want)
        row = ds.rows["audio"][0]
        assert (row["num_samples"], row["channels"], row["codec"]) == (len(want), want.shape[1], 1)
    assert mldf.verify(target, deep=True).ok


@pytest.mark.parametrize("name", FLACS)
def test_windows_of_flac_are_slices_bit_for_bit(flacs, name):
    _, want, target = flacs[name]
    length = min(5000, len(want))
    for start in starts(len(want), length):
        for variant in VARIANTS:
            got = window(target, start, length, **variant)
            assert np.array_equal(got, want[start : start + length].T), (start, variant)
    mixed = want[:, 0].copy()
    for c in range(1, want.shape[1]):
        mixed += want[:, c]
    mono = load(target, f"audio: decode_audio(mono=true) | window(samples={length})")["audio"][0]
    assert np.array_equal(mono, (mixed / np.float32(want.shape[1]))[:length])


def test_after_resampling_and_mel_windows_of_flac_are_those_of_pcm(flacs, tmp_path):
    path, _, target = flacs["stereo"]
    plain = tmp_path / "pcm.mldf"
    mldf.pack(path, plain, audio={"encode": "pcm"})
    with mldf.open(plain) as ds:
        assert ds.schema["audio"].type == "audio_waveform" and ds[0].audio.dtype == np.int16
    for text in (
        "audio: decode_audio(rate=16000, mono=true) | window(1.1, start=0.3) | mel(whisper)",
        "audio: decode_audio(rate=8000) | window(samples=4000, start=12001)",
        "audio: window(0.5, start=0.9) | resample(16000)",
        "audio: mono | mel(torchaudio) | window(samples=50, start=21)",
    ):
        want, got = load(plain, text)["audio"], load(target, text)["audio"]
        assert want.shape == got.shape and np.array_equal(want, got), text


@pytest.mark.parametrize("name", FLACS)
def test_extract_gives_the_same_flac_file(flacs, name, tmp_path):
    path, want, target = flacs[name]
    if name == "large_head":  # more than 64 KiB in front of the first frame
        mldf.extract(target, tmp_path / "small")
        assert (tmp_path / "small" / path.name).stat().st_size < path.stat().st_size - 80000
        assert np.array_equal(files.ffmpeg(tmp_path / "small" / path.name), want)
        mldf.pack(path, tmp_path / "kept.mldf", audio={"keep_file": True})
        target = tmp_path / "kept.mldf"
    mldf.extract(target, tmp_path / "out")
    assert (tmp_path / "out" / path.name).read_bytes() == path.read_bytes()


def test_a_folder_of_wav_and_flac_is_one_field(flacs, tmp_path):
    path, want, _ = flacs["plain"]
    (tmp_path / "in").mkdir()
    shutil.copy(path, tmp_path / "in" / "b.flac")
    whole = files.write_wav(tmp_path / "in" / "a.wav", files.speech(16000, 1, 0.3), 16000)
    mldf.pack(tmp_path / "in", tmp_path / "x.mldf")
    with mldf.open(tmp_path / "x.mldf") as ds:
        assert [ds.keys[i] for i in range(2)] == ["a.wav", "b.flac"]
        assert ds[0].audio.dtype == np.int16 and np.array_equal(ds[0].audio, whole.astype(np.int16))
        assert np.array_equal(ds[1].audio, want)
    batch = load(tmp_path / "x.mldf", "audio: window(samples=4000, short=pad)")
    assert np.array_equal(batch["audio"][0], whole[:4000, 0].astype(np.float32) / 2**15)
    mldf.extract(tmp_path / "x.mldf", tmp_path / "out")
    for name in ("a.wav", "b.flac"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "in" / name).read_bytes()


def test_encode_flac_loses_nothing_and_is_smaller(tmp_path):
    whole = files.write_wav(tmp_path / "a.wav", files.speech(22050, 2, 2), 22050, 24)
    mldf.pack(tmp_path / "a.wav", tmp_path / "x.mldf", audio={"encode": "flac"})
    with mldf.open(tmp_path / "x.mldf") as ds:
        assert np.array_equal(ds[0].audio, whole.astype(np.float32) / 2**23)
        assert ds.rows["audio"]["size"][0] < 0.9 * whole.size * 3
    rng = np.random.default_rng(1)
    numbers = rng.integers(-3000, 3000, (5000, 2)).astype(np.int16)
    with mldf.Writer(tmp_path / "y.mldf", {"a": mldf.CompressedAudio(rate=16000, encode="flac")}) as w:
        w.append({"a": numbers})
    with mldf.open(tmp_path / "y.mldf") as ds:
        assert np.array_equal(ds[0].a, numbers.astype(np.float32) / 2**15)


def test_an_audio_field_of_pcm_takes_flac_and_decodes_it(flacs, tmp_path):
    path, want, _ = flacs["deep"]
    with mldf.Writer(tmp_path / "x.mldf", {"a": mldf.Audio()}) as w:
        w.append({"a": path})
    with mldf.open(tmp_path / "x.mldf") as ds:
        assert ds.rows["a"]["bit_depth"][0] == 24 and np.array_equal(ds[0].a, want)


# ---- damaged files ----


def damaged(data):
    """(name, bytes) of files that no decoder takes."""
    yield "cut", data[: len(data) * 2 // 3]
    flipped = bytearray(data)
    flipped[len(data) // 2] ^= 0x10
    yield "flipped", bytes(flipped)
    yield "head", data[:30]
    wrong = bytearray(data)
    wrong[8 + 18] ^= 1  # of the MD5
    yield "md5", bytes(wrong)


def test_packing_a_damaged_flac_file_names_it_and_the_byte(flacs, tmp_path):
    path, _, _ = flacs["plain"]
    for name, data in damaged(path.read_bytes()):
        bad = tmp_path / f"{name}.flac"
        bad.write_bytes(data)
        with pytest.raises(mldf.Error, match=f"{name}.flac") as caught:
            mldf.pack(bad, tmp_path / "x.mldf")
        assert "FLAC" in str(caught.value), caught.value
        assert name == "md5" or "byte" in str(caught.value) or "sample" in str(caught.value), caught.value
    mldf.pack(tmp_path / "md5.flac", tmp_path / "x.mldf", audio={"decode": False})
    assert not mldf.verify(tmp_path / "x.mldf", deep=True).ok


def test_a_damaged_packet_is_an_error_that_names_it_or_a_substitute(flacs, tmp_path):
    path, want, _ = flacs["plain"]
    (tmp_path / "in").mkdir()
    for i in range(3):
        shutil.copy(path, tmp_path / "in" / f"{i}.flac")
    out = tmp_path / "x.mldf"
    mldf.pack(tmp_path / "in", out, checksums=False)
    with mldf.open(out) as ds:
        at = int(ds.rows["audio"]["ptr"][1] + ds.rows["audio"]["size"][1] // 2)
    data = bytearray(out.read_bytes())
    data[at] ^= 0x55
    out.write_bytes(data)
    with pytest.raises(mldf.Error, match=r"packet \d+ \(sample \d+, byte \d+ of the value\): FLAC") as caught:
        list(mldf.Loader(out, 3, pipelines="audio: window(2)"))
    assert "x.mldf" in str(caught.value) and caught.value.sample == 1 and caught.value.field == "audio"
    loader = mldf.Loader(out, 3, pipelines="audio: window(2)", on_error="substitute")
    batch = next(iter(loader))["audio"]
    assert batch.shape[0] == 3 and (batch == want[: batch.shape[1], 0]).all()
    problems = mldf.verify(out, deep=True)
    assert not problems.ok


def test_one_decoder_serves_files_of_a_kind(tmp_path):
    """Short files first, with other titles: STREAMINFO and comments differ; numbers are those of each file alone."""
    for ending, options in (("flac", ("-T", "TITLE=")), ("ogg", ("-t", ""))):
        folder = tmp_path / ending
        folder.mkdir()
        lengths = (0.2, 1.5, 0.7, 3.0)
        for i, seconds in enumerate(lengths):
            files.write_wav(tmp_path / "x.wav", files.speech(16000, 1, seconds, i), 16000)
            title = (*options[:1], options[1] + "x" * (1 + 50 * i))
            encoder = ("flac", "-s", "-f") if ending == "flac" else ("oggenc", "-Q")
            files.run(*encoder, *title, tmp_path / "x.wav", "-o", folder / f"{i}.{ending}")
        mldf.pack(folder, tmp_path / f"{ending}.mldf")
        with mldf.open(tmp_path / f"{ending}.mldf") as ds:
            (batch,) = mldf.Loader(ds, 4, pipelines="audio: pad", threads=0)
            for i in range(4):
                want = files.ffmpeg(folder / f"{i}.{ending}")[
                    :, 0
                ]  # which does not cut the end of a Vorbis file of one page
                got = batch.audio[i, : batch.audio_length[i]]
                assert len(got) == round(16000 * lengths[i]) <= len(want)
                assert np.abs(got - want[: len(got)]).max() <= (0 if ending == "flac" else 1e-5)
