"""Optical flow: what a Writer takes, what reading, batches and extracted files give, against NumPy."""

import json
import os
import pathlib
import struct
import subprocess

import mldf
import numpy as np
import pytest

COMMAND = os.environ.get("MLDF")
needs_command = pytest.mark.skipif(not COMMAND, reason="MLDF does not name the command")
RNG = np.random.default_rng(7)


def flow(*shape, largest=20.0):
    return (RNG.normal(size=(*shape, 2)) * largest / 3).astype(np.float32)


def flo(array):
    """A file of Middlebury's."""
    height, width, _ = array.shape
    return struct.pack("<fii", 202021.25, width, height) + array.astype("<f4").tobytes()


def stored(array, dtype):
    """What is left of an array in a field."""
    if dtype == "float16":
        return array.astype(np.float16).astype(np.float32)
    largest = np.nanmax(np.abs(array)) if array.size else 0
    scale = np.float32(largest) / np.float32(127) if largest else np.float32(1)
    return np.rint(array / scale) * scale


def write(path, values, dtype="float16", **options):
    with mldf.Writer(path, {"flow": mldf.OpticalFlow(dtype, **options)}, overwrite=True) as w:
        for value in values:
            w.append({"flow": value})
    return path


def run(*arguments, fails=False):
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert (done.returncode != 0) == fails, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("backend", ["map", "read"])
@pytest.mark.parametrize("dtype", ["float16", "int8"])
def test_what_is_written_is_read(tmp_path, dtype, backend):
    unknown = flow(5, 7)
    unknown[1, 2] = np.nan
    values = [flow(3, 4, 6), flow(5, 7), unknown, flow(0, 4, 6), np.zeros((2, 3, 2), np.float32), flow(1, 1, 1)]
    want = [stored(v if v.ndim == 4 else v[None], dtype) for v in values]
    for compress in (False, True):
        path = write(tmp_path / "a.mldf", values, dtype, compress=compress)
        with mldf.open(path, backend=backend) as ds:
            for i, array in enumerate(want):
                got = ds[i].flow
                assert got.dtype == np.float32 and got.shape == array.shape
                np.testing.assert_array_equal(got, array)
        assert mldf.verify(path, deep=True).ok


def test_files(tmp_path):
    array = flow(4, 5)
    array[0, 0] = 1e10
    array[1, 1, 0] = -2e9
    want = np.clip(array, -100, 100).astype(np.float16).astype(np.float32)
    want[0, 0] = want[1, 1, 0] = np.nan
    (tmp_path / "x.flo").write_bytes(flo(array))
    values = [flo(array), tmp_path / "x.flo", str(tmp_path / "x.flo")]
    with mldf.open(write(tmp_path / "a.mldf", values)) as ds:
        for sample in ds:
            np.testing.assert_array_equal(sample.flow[0], want)


@pytest.mark.parametrize(
    "bad, words",
    [
        (b"", "12"),
        (b"PIEX" + bytes(8), "202021.25"),
        (struct.pack("<fii", 202021.25, -1, 3), "-1 x 3"),
        (struct.pack("<fii", 202021.25, 65536, 1), "65536 x 1"),
        (struct.pack("<fii", 202021.25, 65535, 65535), "65535 x 65535 pixels need"),
        (flo(np.zeros((2, 2, 2)))[:-1], "bytes"),
        (flo(np.zeros((2, 2, 2))) + b"x", "bytes"),
        (np.zeros((2, 2, 3), np.float32), "height, width, 2"),
        (np.zeros((2, 2), np.float32), "height, width, 2"),
        (np.zeros((1, 0, 2, 2), np.float32), "2 x 0 pixels"),
        (np.zeros((1, 65536, 2), np.float32), "more than a record"),
        (np.zeros((2, 2, 2)), "float32"),
        (np.full((2, 2, 2), 65536, np.float32), "frame 0, row 0, column 0"),
        (np.full((2, 2, 2), np.inf, np.float32), "inf"),
        (3, "dimensions"),
    ],
)
def test_refused(tmp_path, bad, words):
    with pytest.raises(mldf.Error, match=words), mldf.Writer(tmp_path / "a.mldf", {"flow": mldf.OpticalFlow()}) as w:
        w.append({"flow": bad})


def test_arguments(tmp_path):
    for dtype in ("float32", "uint8"):
        with pytest.raises(mldf.Error, match="dtype"):
            mldf.Writer(tmp_path / "a.mldf", {"flow": mldf.OpticalFlow(dtype)})
    with mldf.open(write(tmp_path / "a.mldf", [flow(2, 2)], "int8")) as ds:
        info = ds.schema["flow"]
        assert info.arguments == {"dtype": "|i1"} and info.dtype == np.float32 and info.shape == (None, None, None, 2)


@pytest.mark.parametrize("dtype", ["float16", "int8"])
def test_batches(tmp_path, dtype):
    values = [flow(3, 4, 6) for _ in range(5)]
    path = write(tmp_path / "a.mldf", values, dtype)
    want = np.stack([stored(v, dtype) for v in values])
    for text, expect in (
        ("flow: truncate(3)", want),
        ("flow: cast(f16)", want.astype(np.float16)),
        ("flow: truncate(2)", want[:, :2]),
    ):
        for backend in ("map", "read"):
            with mldf.open(path, backend=backend) as ds, mldf.Loader(ds, 2, pipelines=text, last="keep") as loader:
                got = np.concatenate([np.array(b["flow"]) for b in loader])
            assert got.dtype == expect.dtype
            np.testing.assert_array_equal(got, expect)


def test_values_that_differ(tmp_path):
    values = [flow(1, 4, 6), flow(3, 4, 6)]
    path = write(tmp_path / "a.mldf", values)
    with mldf.Loader(path, 2, pipelines="flow: pad") as loader:
        got = np.array(next(iter(loader))["flow"])
    assert got.shape == (2, 3, 4, 6, 2) and not got[0, 1:].any()
    np.testing.assert_array_equal(got[1], stored(values[1], "float16"))


@needs_command
def test_command(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    arrays = {}
    for name in ("a", "b"):
        arrays[name] = stored(flow(4, 5), "float16")
        (folder / f"{name}.flo").write_bytes(flo(arrays[name]))
    run("pack", folder, "-o", tmp_path / "a.mldf")
    with mldf.open(tmp_path / "a.mldf") as ds:
        assert ds.schema["flow"].type == "video_optical_flow" and len(ds) == 2
    assert "flow: [[[[" in run("head", tmp_path / "a.mldf")
    first = json.loads(run("cat", "--json", tmp_path / "a.mldf").splitlines()[0])
    np.testing.assert_array_equal(np.float32(first["fields"]["flow"]), arrays["a"][None])
    run("verify", "--deep", tmp_path / "a.mldf")
    run("extract", tmp_path / "a.mldf", "-o", tmp_path / "out")
    files = sorted((tmp_path / "out").rglob("*.flo"))
    assert [file.read_bytes() for file in files] == [flo(arrays[name]) for name in ("a", "b")]
    several = stored(flow(3, 4, 5), "float16")
    several[0, 0, 0] = np.nan
    one = several[:1]
    run("extract", write(tmp_path / "b.mldf", [several, one]), "-o", tmp_path / "more")
    np.testing.assert_array_equal(np.load(next((tmp_path / "more").rglob("*.npy"))), several)
    data = next((tmp_path / "more").rglob("*.flo")).read_bytes()
    assert data == flo(np.where(np.isnan(one[0]), np.float32(1e10), one[0]))
    (folder / "c.flo").write_bytes(b"PIEH" + struct.pack("<ii", 9, 9))
    assert "c.flo" in run("pack", folder, "-o", tmp_path / "c.mldf", fails=True)


@needs_command
def test_copies_and_damage(tmp_path):
    path = write(tmp_path / "a.mldf", [flow(1, 2, 2)])
    run("repack", path, "-o", tmp_path / "b.mldf")
    with mldf.open(path) as a, mldf.open(tmp_path / "b.mldf") as b:
        np.testing.assert_array_equal(a[0].flow, b[0].flow)
    vectors = pathlib.Path(os.environ["MLDF_SOURCE_DIR"]) / "docs/spec/vectors/invalid"
    for name, words in (
        ("byte_frames_huge", "frames"),
        ("byte_scale_nan", "scale of nan"),
        ("deep_infinite", "infinite"),
    ):
        assert words in run("verify", "--deep", vectors / f"A7_flow_{name}.mldf", fails=True)
