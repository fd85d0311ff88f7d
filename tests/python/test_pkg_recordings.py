"""Recordings of a dataset in Python: wave, rate and windows; and as arrays."""

import pickle
import struct

import codec_files as files
import mldf
import numpy as np
import pytest

KINDS = {"wav": 16, "deep": 24, "flac": 16}


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """name: (path of the dataset, integers (t, channels), bits)"""
    folder = tmp_path_factory.mktemp("recordings")
    out = {}
    for name, bits in KINDS.items():
        numbers = files.speech(16000, 2, 3, seed=bits)
        if name == "flac":
            path, whole = files.flac(folder, name, channels=2)
        else:
            path = folder / f"{name}.wav"
            whole = files.write_wav(path, numbers, 16000, bits)
        mldf.pack(path, folder / f"{name}.mldf")
        out[name] = folder / f"{name}.mldf", whole, bits
    return out


@pytest.mark.parametrize("backend", ["map", "read"])
@pytest.mark.parametrize("name", KINDS)
def test_wave_and_rate(recordings, name, backend):
    path, whole, bits = recordings[name]
    want = (whole.astype(np.float64) / 2 ** (bits - 1)).astype(np.float32).T
    with mldf.open(path, backend=backend) as ds:
        recording = ds[0].audio
    wave, rate = recording  # the file stays open for whoever needs it
    assert rate == 16000 and wave.dtype == np.float32 and np.array_equal(wave, want)
    assert (recording.samples, recording.channels, recording.seconds) == (want.shape[1], 2, want.shape[1] / 16000)
    assert np.array_equal(recording.window(0.5, 1.25), want[:, 8000:20000])
    assert np.array_equal(recording.window(2.5), want[:, 40000:])
    assert recording.window(1, 1).shape == (2, 0)
    for bad in ((-0.1, 1), (0, 99), (2, 1)):
        with pytest.raises(mldf.errors.RangeError, match="of a recording of 3 s"):
            recording.window(*bad)
    assert "3.00 s, 16000 Hz, 2 channels" in repr(recording)


def test_it_is_an_array_too(recordings):
    path, whole, _ = recordings["wav"]
    ds = mldf.open(path)
    recording = ds[0].audio
    assert (
        recording.shape == whole.shape
        and recording.dtype == np.int16
        and recording.ndim == 2
        and len(recording) == len(whole)
    )
    assert np.array_equal(recording, whole) and np.array_equal(recording[10:20, 1], whole[10:20, 1])
    assert np.array_equal(recording / 2.0, whole / 2.0) and recording.max() == whole.max()
    again = pickle.loads(pickle.dumps(recording))
    assert np.array_equal(again, whole) and again.rate == 16000 and np.array_equal(again.wave, recording.wave)
    assert np.array_equal(again.window(1, 2), recording.window(1, 2))
    for other in recordings:
        with mldf.open(recordings[other][0]) as ds:
            assert ds[0].audio.dtype == ds[0].audio.numbers.dtype


def test_recordings_go_into_another_file(recordings, tmp_path):
    path, whole, _ = recordings["wav"]
    with (
        mldf.open(path) as ds,
        mldf.Writer(tmp_path / "x.mldf", {"a": mldf.CompressedAudio(rate=16000, encode="flac")}) as w,
    ):
        w.append({"a": ds[0].audio})
    with mldf.open(tmp_path / "x.mldf") as ds:
        assert ds[0].a.codec == "flac" and np.array_equal(ds[0].a.wave, whole.T.astype("f4") / 32768)
    with mldf.open(path) as ds, mldf.Writer(tmp_path / "y.mldf", {"a": mldf.Audio(rate=8000)}) as w:
        with pytest.raises(mldf.errors.RangeError, match="16000 samples a second, and the field's rate is 8000"):
            w.append({"a": ds[0].audio})
        w.append({"a": np.zeros(1, "<i2")})


@pytest.mark.parametrize("backend", ["map", "read"])
def test_a_damaged_record_is_an_error(recordings, tmp_path, backend):
    path, whole, _ = recordings["flac"]
    with mldf.open(path) as ds:
        record = ds.rows["audio"][0].tobytes()
    data = bytearray(path.read_bytes())
    at = data.index(record)
    struct.pack_into("<Q", data, at + 16, len(whole) + 1)
    (tmp_path / "x.mldf").write_bytes(data)
    with mldf.open(tmp_path / "x.mldf", backend=backend) as ds:
        with pytest.raises(mldf.Error):
            ds[0].audio.wave  # noqa: B018
        with pytest.raises(mldf.Error):
            np.asarray(ds[0].audio)


def test_null_recordings_are_none(tmp_path):
    with mldf.Writer(tmp_path / "x.mldf", {"a": mldf.Audio(rate=8000, nullable=True)}) as w:
        w.append({"a": None})
    for backend in ("map", "read"):
        assert mldf.open(tmp_path / "x.mldf", backend=backend)[0].a is None
