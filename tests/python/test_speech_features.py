"""Spectrograms and codec tokens as fields: what is written is read, by the library and by the reference reader, and what is wrong is refused."""

import importlib.util
import struct
import sys
from pathlib import Path

import mldf
import numpy as np
import pytest

SPEC = Path(__file__).parents[2] / "docs" / "spec" / "reference_reader.py"


@pytest.fixture(scope="module")
def reference():
    spec = importlib.util.spec_from_file_location("reference_reader_of_features", SPEC)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


FIELDS = {
    "mel": mldf.AudioSpectrogram("float16", 40, "ft", rate=16000, hop=160, pipeline="mel(whisper)"),
    "fbank": mldf.AudioSpectrogram("float32", layout="tf"),
    "small": mldf.CodecTokens(256, 4, rate=(75, 1)),
    "codes": mldf.CodecTokens(1024, 8, rate=12.5),
    "large": mldf.CodecTokens(100_000),
}


def rows(count=5):
    rng = np.random.default_rng(1)
    for i in range(count):
        frames = 3 * i
        yield {
            "mel": rng.normal(size=(40, frames)).astype("f2"),
            "fbank": rng.normal(size=(frames, 7 + i)).astype("f4"),
            "small": rng.integers(0, 256, (4, frames)).astype("u1"),
            "codes": rng.integers(0, 1024, (8, frames)).astype("u2"),
            "large": rng.integers(0, 100_000, (2, frames)).astype("i4"),
        }


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    out = tmp_path_factory.mktemp("features") / "f.mldf"
    with mldf.Writer(out, FIELDS) as w:
        w.extend(rows())
    return out


def test_what_is_written_is_read(path, reference):
    ds, oracle = mldf.open(path), reference.File(path.read_bytes())
    for i, row in enumerate(rows()):
        for name, value in row.items():
            got = ds[i][name]
            assert got.dtype == value.dtype
            assert np.array_equal(got, value)
            if oracle is not None:
                assert np.array_equal(oracle.value(i, name), value)
    assert ds.rows["mel"]["frames"].tolist() == [0, 3, 6, 9, 12]
    assert mldf.verify(path).ok


def test_batches(path):
    pipelines = {"mel": [mldf.Cast("float32"), mldf.Pad()], "codes": [mldf.Pad()], "fbank": None, "small": None, "large": None}
    with mldf.Loader(path, 5, pipelines=pipelines, bucket="mel", budget=10**6) as loader:
        (batch,) = loader
    assert batch.mel.shape == (5, 40, 12)
    assert batch.codes.shape == (5, 8, 12)
    assert sorted(batch.mel_length.tolist()) == [0, 3, 6, 9, 12]
    with mldf.Loader(path, bucket="mel", budget="0.2s", pipelines=pipelines) as loader:
        assert all(b.mel.shape[0] * b.mel.shape[2] <= 20 for b in loader)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        (mldf.CodecTokens(100), np.array([[1, 100]], "u1"), "codebook 0, frame 1: token 100, and the vocabulary has 100"),
        (mldf.CodecTokens(100_000), np.array([[1, -1]], "i4"), "token 4294967295"),
        (mldf.CodecTokens(100, 2), np.zeros((3, 1), "u1"), r"\[2, any\]"),
        (mldf.AudioSpectrogram("float32", 40), np.zeros((3, 41), "f4"), "4[01]"),
        (mldf.AudioSpectrogram("float16", 40), np.zeros((3, 40), "f4"), "float"),
    ],
)
def test_values_that_are_refused(tmp_path, field, value, message):
    with pytest.raises(mldf.errors.Error, match=message), mldf.Writer(tmp_path / "a.mldf", {"x": field}) as w:
        w.append({"x": value})


@pytest.mark.parametrize(
    "arguments",
    [{"dtype": "<f8"}, {"dtype": "<f4", "layout": "x"}, {"dtype": "<f4", "bins": 0}, {"dtype": "<f4", "pipeline": 3}, {}],
)
def test_arguments_that_are_refused(tmp_path, arguments):
    text = {"fields": [{"name": "x", "type": "audio_spectrogram", **arguments}]}
    with pytest.raises(mldf.errors.SchemaError):
        mldf.Writer(tmp_path / "a.mldf", text)


@pytest.mark.parametrize(("at", "value"), [(16, b"\x08"), (20, b"\x09"), (22, b"\x07"), (23, b"\x01"), (8, b"\x01")])
def test_records_that_contradict_their_payloads(path, tmp_path, at, value, reference):
    data = bytearray(path.read_bytes())
    ds = mldf.open(path)
    record = ds.rows["codes"][3]
    wanted = struct.pack("<QQIHBB", *(int(record[n]) for n in record.dtype.names))
    place = data.index(wanted)
    data[place + at] = value[0]
    bad = tmp_path / "bad.mldf"
    bad.write_bytes(data)
    with pytest.raises(mldf.errors.Error) as caught:
        mldf.open(bad)[3, "codes"]
    assert caught.value.sample == 3
    assert not mldf.verify(bad).ok
