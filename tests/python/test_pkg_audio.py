"""Recordings through the package and the command: arrays and WAV files in, the same numbers out."""

import io
import json
import os
import pathlib
import shutil
import subprocess
import wave

import mldf
import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data" / "audio"
COMMAND = os.environ.get("MLDF")
needs_command = pytest.mark.skipif(not COMMAND, reason="MLDF does not name the command mldf")


def run(*arguments, expect=0):
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == expect, done.stderr
    return done.stdout


def written(path, field, values):
    with mldf.Writer(path, {"a": field}) as w:
        for value in values:
            w.append({"a": value})
    return mldf.open(path)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "float32", "float64"])
def test_arrays_come_back(tmp_path, dtype):
    rng = np.random.default_rng(1)
    arrays = [
        (rng.uniform(-1, 1, shape) * (100 if np.dtype(dtype).kind != "f" else 1)).astype(dtype)
        for shape in ((1000,), (7, 2), (0,), (0, 3), (1, 1), (300, 6))
    ]
    ds = written(tmp_path / "x.mldf", mldf.Audio(rate=16000), arrays)
    for i, array in enumerate(arrays):
        got = ds[i].a
        assert got.dtype == np.dtype(dtype)
        assert np.array_equal(got, array if array.ndim == 2 else array[:, None])
    assert ds[0].a.base is not None  # in place
    assert mldf.verify(tmp_path / "x.mldf", deep=True).ok


def test_rows_tell_rate_and_length_without_the_samples(tmp_path):
    ds = written(tmp_path / "x.mldf", mldf.Audio(), [DATA / "ffmpeg_surround.wav", DATA / "codes_alaw.wav"])
    rows = ds.rows["a"]
    assert rows["num_samples"].tolist() == [37, 256] and rows["sample_rate"].tolist() == [48000, 8000]
    assert (
        rows["channels"].tolist() == [6, 1]
        and rows["bit_depth"].tolist() == [16, 8]
        and rows["codec"].tolist() == [0, 17]
    )


def test_strides_and_byte_orders_are_put_right(tmp_path):
    planar = np.arange(12, dtype=np.int16).reshape(2, 6)
    ds = written(tmp_path / "x.mldf", mldf.Audio(rate=8000), [planar.T, planar.T.astype(">i2"), planar[0, ::2]])
    assert np.array_equal(ds[0].a, planar.T) and np.array_equal(ds[1].a, planar.T)
    assert np.array_equal(ds[2].a[:, 0], [0, 2, 4])


def test_wav_files_by_path_and_bytes(tmp_path):
    path = DATA / "python_s16.wav"
    with wave.open(str(path)) as w:
        want = np.frombuffer(w.readframes(w.getnframes()), "<i2").reshape(-1, w.getnchannels())
    field = mldf.Audio()
    values = [
        path,
        str(path),
        path.read_bytes(),
        bytearray(path.read_bytes()),
        {"bytes": path.read_bytes(), "path": None},
        {"bytes": None, "path": str(path)},
    ]
    ds = written(tmp_path / "x.mldf", field, values)
    for i in range(len(values)):
        assert np.array_equal(ds[i].a, want)
    ds = written(tmp_path / "y.mldf", field, [DATA / "sndfile_rifx_s16.wav", DATA / "ffmpeg_s24.wav"])
    assert np.array_equal(ds[0].a / 2.0**15, np.fromfile(DATA / "sndfile_rifx_s16.wav.f32", "<f4").reshape(-1, 2))
    want = np.fromfile(DATA / "ffmpeg_s24.wav.f32", np.float32)  # NumPy has no 24 bits: floats, as of libsndfile
    assert ds[1].a.dtype == np.float32 and ds[1].a.shape == (37, 1) and np.array_equal(ds[1].a[:, 0], want)
    stored = ds.with_options(decode=False)[1].a
    assert isinstance(stored, bytes) and len(stored) == 3 * 37


def test_what_does_not_fit_is_told(tmp_path):
    def refused(field, value, kind, part):
        with pytest.raises(kind, match=part):
            written(tmp_path / "x.mldf", field, [value])
        assert not (tmp_path / "x.mldf").exists()

    refused(mldf.Audio(), np.zeros(3, np.int16), mldf.errors.WrongTypeError, "rate")
    refused(mldf.Audio(rate=8000), np.zeros(3, np.int64), mldf.errors.WrongTypeError, "int64")
    refused(mldf.Audio(rate=8000), np.zeros((1, 2, 3), np.int16), mldf.errors.WrongTypeError, r"\(t, channels\)")
    refused(mldf.Audio(rate=8000), 7, mldf.errors.WrongTypeError, "a recording")
    refused(mldf.Audio(rate=8000), DATA / "ffmpeg_s16.wav", mldf.errors.RangeError, "44100 samples a second")
    refused(mldf.Audio(channels=1), DATA / "ffmpeg_s16.wav", mldf.errors.RangeError, "2 channels")
    refused(
        mldf.Audio(rate=8000),
        {"array": np.zeros(3, np.float32), "sampling_rate": 16000},
        mldf.errors.RangeError,
        "16000",
    )
    refused(mldf.Audio(), (DATA / "ffmpeg_s16.wav").read_bytes()[:-1], mldf.errors.Error, "cut short")
    refused(mldf.Audio(), b"nothing and so on", mldf.errors.WrongTypeError, "not a WAV file")
    with pytest.raises(mldf.errors.SchemaError, match="rate"):
        mldf.Writer(tmp_path / "x.mldf", {"a": mldf.Audio(rate=0)})


def test_tensors_are_channels_first(tmp_path):
    torch = pytest.importorskip("torch")
    tensor = torch.arange(12, dtype=torch.float32).reshape(2, 6)
    ds = written(tmp_path / "x.mldf", mldf.Audio(rate=8000), [tensor, tensor[0]])
    assert np.array_equal(ds[0].a, tensor.numpy().T) and np.array_equal(ds[1].a[:, 0], tensor[0].numpy())


def test_nulls_compression_and_encryption(tmp_path):
    array = np.zeros((5000, 2), np.int16)
    with mldf.Writer(tmp_path / "x.mldf", {"a": mldf.Audio(rate=16000, nullable=True, compress=True)}) as w:
        w.append({"a": array})
        w.append({})
    ds = mldf.open(tmp_path / "x.mldf")
    assert np.array_equal(ds[0].a, array) and ds[1].a is None
    assert os.path.getsize(tmp_path / "x.mldf") < 10000
    if "sodium" in mldf.features:
        with mldf.Writer(tmp_path / "e.mldf", {"a": mldf.Audio(rate=16000)}, key=bytes(32)) as w:
            w.append({"a": array})
        assert np.array_equal(mldf.open(tmp_path / "e.mldf", key=bytes(32))[0].a, array)


# ---- the command ----

SCHEMA = {"fields": [{"name": "audio", "type": "audio_waveform", "source": "file"}, {"name": "n", "type": "int"}]}


@pytest.fixture
def packed(tmp_path):
    (tmp_path / "s.json").write_text(json.dumps(SCHEMA))
    names = sorted(p for p in DATA.iterdir() if p.suffix in (".wav", ".w64"))
    (tmp_path / "t.csv").write_text("audio,n\n" + "".join(f"{p},{i}\n" for i, p in enumerate(names)))
    run("pack", tmp_path / "t.csv", "-o", tmp_path / "t.mldf", "--allow-outside", "--schema", tmp_path / "s.json", "-q")
    return tmp_path / "t.mldf", names


@needs_command
def test_tables_name_wav_files(packed, tmp_path):
    path, names = packed
    lines = [json.loads(line)["fields"]["audio"] for line in run("cat", "--json", path).splitlines()]
    assert len(lines) == len(names)
    assert (
        lines[[p.name for p in names].index("ffmpeg_surround.wav")].items()
        >= {"bytes": 444, "samples": 37, "rate": 48000, "channels": 6, "bits": 16, "codec": "pcm"}.items()
    )
    assert {line["codec"] for line in lines} == {"pcm", "float", "alaw", "mulaw"}
    (tmp_path / "t.jsonl").write_text(
        "".join(json.dumps({"audio": str(p), "n": i}) + "\n" for i, p in enumerate(names))
    )
    run(
        "pack",
        tmp_path / "t.jsonl",
        "-o",
        tmp_path / "u.mldf",
        "--allow-outside",
        "--schema",
        tmp_path / "s.json",
        "-q",
    )
    assert (tmp_path / "u.mldf").read_bytes() == path.read_bytes()


@needs_command
def test_the_numbers_are_those_of_libsndfile(packed):
    import sys

    sys.path.insert(0, str(ROOT / "docs" / "spec"))
    import reference_reader

    path, names = packed
    f = reference_reader.read(path)
    for i, name in enumerate(names):
        floats = reference_reader.audio_floats(f.value(i, "audio"))
        assert floats.tobytes() == pathlib.Path(f"{name}.f32").read_bytes(), name


@needs_command
def test_whole_files(packed, tmp_path):
    path, names = packed
    assert "ok" in run("verify", "--deep", path)
    run("repack", path, "-o", tmp_path / "r.mldf", "-q")
    run("diff", path, tmp_path / "r.mldf")
    run("merge", path, tmp_path / "r.mldf", "-o", tmp_path / "m.mldf", "-q")
    assert mldf.open(tmp_path / "m.mldf").schema["audio"].type == "audio_waveform"
    assert len(mldf.open(tmp_path / "m.mldf")) == 2 * len(names)
    field = json.loads(run("info", "--json", path))["fields"][0]
    assert (field["statistics"]["min"], field["statistics"]["max"], field["statistics"]["dims_max"]) == (
        8000,
        96000,
        [256, 6],
    )
    stats = json.loads(run("stats", "--json", path))["fields"]["audio"]
    assert (stats["count"], stats["nulls"]) == (len(names), 0)
    run("select", path, "--where", "n < 3", "-o", tmp_path / "s.mldf", "-q")
    assert len(mldf.open(tmp_path / "s.mldf")) == 3
    run("plan", "--samples", 3, "--schema", tmp_path / "s.json", "--payload-bytes", "audio=32000")


@needs_command
def test_diff_sees_another_rate_and_coding(tmp_path):
    array = np.arange(6, dtype=np.int16)
    for rate in (8000, 16000):
        field = io.BytesIO()
        with wave.open(field, "wb") as w:
            w.setparams((1, 2, rate, 6, "NONE", ""))
            w.writeframes(array.tobytes())
        written(tmp_path / f"{rate}.mldf", mldf.Audio(), [field.getvalue()])
    assert "sample 0" in run("diff", tmp_path / "8000.mldf", tmp_path / "16000.mldf", expect=1)
    for law in ("alaw", "mulaw"):
        written(tmp_path / f"{law}.mldf", mldf.Audio(), [DATA / f"codes_{law}.wav"])
    run("diff", tmp_path / "alaw.mldf", tmp_path / "mulaw.mldf", expect=1)


@needs_command
def test_draft_records_survive_copies(tmp_path):
    """Type 20 of a 1.0 file is copied as it is, and a copy of the copy too."""
    draft = ROOT / "tests" / "golden" / "draft" / "media_208.mldf"
    run("repack", draft, "-o", tmp_path / "a.mldf", "-q")
    run("repack", tmp_path / "a.mldf", "-o", tmp_path / "b.mldf", "-q")
    run("append", tmp_path / "b.mldf", tmp_path / "a.mldf", "-q")
    assert "ok" in run("verify", "--deep", tmp_path / "b.mldf")
    first = [json.loads(line)["fields"]["sound"]["sha256"] for line in run("cat", "--json", draft).splitlines()]
    both = [
        json.loads(line)["fields"]["sound"]["sha256"] for line in run("cat", "--json", tmp_path / "b.mldf").splitlines()
    ]
    assert both == first + first


def test_folders_of_wav_files(tmp_path):
    for name, source in ("no/1.wav", "sox_s16.wav"), ("yes/1.wav", "ffmpeg_s24.wav"), ("yes/2.wav", "ffmpeg_f32.wav"):
        (tmp_path / "words" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(DATA / source, tmp_path / "words" / name)
    assert mldf.pack(tmp_path / "words", tmp_path / "words.mldf").written == 3
    ds = mldf.open(tmp_path / "words.mldf")
    assert ds.card == {"classes": ["no", "yes"]} and [s.label for s in ds] == [0, 1, 1]
    assert [(s.audio.dtype.name, s.audio.ndim) for s in ds] == [("int16", 2), ("float32", 2), ("float32", 2)]
    for i, source in enumerate(("sox_s16.wav", "ffmpeg_s24.wav", "ffmpeg_f32.wav")):
        want = np.fromfile(DATA / f"{source}.f32", np.float32)
        got = ds[i].audio.ravel()
        assert np.array_equal(got / np.float32(32768) if got.dtype == np.int16 else got, want)
    mldf.extract(tmp_path / "words.mldf", tmp_path / "out")
    with wave.open(str(tmp_path / "out" / "no" / "1.wav")) as w:  # Python's own reader
        assert w.readframes(w.getnframes()) == ds[0].audio.tobytes()
        assert w.getframerate() == ds.rows["audio"]["sample_rate"][0]
    (tmp_path / "words" / "yes" / "3.wav").write_bytes((DATA / "sox_s16.wav").read_bytes()[:-1])
    with pytest.raises(mldf.errors.Error, match=r"yes/3\.wav: byte \d+: the WAV file is cut short"):
        mldf.pack(tmp_path / "words", tmp_path / "x.mldf")
    result = mldf.pack(tmp_path / "words", tmp_path / "x.mldf", on_error="skip")
    assert result.written == 3 and len(result.skipped) == 1
