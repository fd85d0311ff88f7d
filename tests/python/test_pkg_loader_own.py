"""Operations of one's own: expressions, C source, compiled functions."""

import ctypes
import pickle
import shutil
import subprocess
import sys

import mldf
import numpy as np
import pkg
import pytest

COUNT = 30
compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler (cc) here")

SUM = """
int mldf_run(const void *in, void *out, const unsigned long long *dims, const double *arguments,
             const unsigned long long *random) {
    const short *x = in;
    float *y = out;
    double sum = 0;
    for (unsigned long long i = 0; i < dims[0]; i++)
        sum += x[i];
    y[0] = (float)(sum * arguments[0]);
    y[1] = (float)(random[0] >> 40);
    return sum > 7 * arguments[1];
}
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return str(pkg.make(tmp_path_factory.mktemp("own") / "a.mldf", count=COUNT))


def load(path, steps, tmp_path, **options):
    return mldf.Loader(path, 10, fields=["fixed"], pipelines={"fixed": steps}, cache_dir=tmp_path / "cache", **options)


def test_expressions(path, tmp_path):
    ds = mldf.open(path)
    steps = [mldf.Cast("f32"), mldf.Expr("x < p0 ? -1 : x * 2 + p1", p=[3, 0.5])]
    got = np.concatenate([b.fixed for b in load(path, steps, tmp_path)])
    x = ds.column("fixed").astype(np.float32)
    assert np.array_equal(got, np.where(x < 3, np.float32(-1), x * 2 + np.float32(0.5)))
    with pytest.raises(mldf.Error, match="Expr"):
        mldf.Expr("x +* 2")


@compiler
def test_c_source(path, tmp_path):
    steps = [mldf.CSource(SUM, 2, 1000, dtype=np.float32, shape=(2,))]
    loaders = [load(path, steps, tmp_path, shuffle=True, seed=1, index=True, threads=t) for t in (0, 2)]
    first, second = ([(b.fixed.copy(), b["index"].tolist()) for b in loader] for loader in loaders)
    for (a, index), (b, _) in zip(first, second):
        assert a.shape == (len(index), 2) and a.dtype == np.float32
        assert a[:, 0].tolist() == [14.0] * len(index)  # i - i + 7, twice
        assert np.array_equal(a, b)  # random numbers too
    assert len({x for a, _ in first for x in a[:, 1].tolist()}) > COUNT // 2
    assert any((tmp_path / "cache").iterdir())


@compiler
def test_c_source_that_fails_is_a_bad_sample_and_mistakes_are_reported_early(path, tmp_path):
    with pytest.raises(mldf.errors.RangeError) as caught:
        list(load(path, [mldf.CSource(SUM, 1, 0, dtype="f32", shape=(2,))], tmp_path))
    assert caught.value.sample == 0
    with pytest.raises(mldf.Error):
        load(path, [mldf.CSource("int mldf_run(void) { return }")], tmp_path)
    with pytest.raises(mldf.errors.ArgumentError, match="does not define mldf_run"):
        mldf.CSource("int run(void) { return 0; }")
    with pytest.raises(mldf.errors.UnsupportedError, match="no C compiler"):
        load(path, [mldf.CSource(SUM, 1, 1, dtype="f32", shape=(2,))], tmp_path, compiler=None)


@compiler
def test_compiled_functions_by_ctypes(path, tmp_path):
    source = tmp_path / "sum.c"
    source.write_text(SUM)
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", tmp_path / "sum.so", source], check=True, env=pkg.PLAIN)
    library = ctypes.CDLL(str(tmp_path / "sum.so"))
    op = mldf.CFunction(library.mldf_run, 2, 1000, dtype="float32", shape=(2,))
    want = [b.fixed.copy() for b in load(path, [mldf.CSource(SUM, 2, 1000, dtype="f32", shape=(2,))], tmp_path)]
    for given in (op, mldf.CFunction(op.address, 2, 1000, dtype="float32", shape=(2,))):
        got = [b.fixed.copy() for b in load(path, [given], tmp_path)]
        assert all(np.array_equal(a[:, 0], b[:, 0]) for a, b in zip(got, want))
    with pytest.raises(mldf.errors.RangeError, match="returned 1"):
        list(load(path, [mldf.CFunction(library.mldf_run, 1, 0, dtype="f32", shape=(2,))], tmp_path))
    with pytest.raises(mldf.errors.WrongTypeError, match="cannot be pickled"):
        pickle.dumps(op)
    with pytest.raises(mldf.errors.WrongTypeError, match="no Numba cfunc"):
        mldf.CFunction(lambda x: x)
    with pytest.raises(mldf.errors.ArgumentError, match="address is 0"):
        mldf.CFunction(0)


def test_numba_cfunc(path, tmp_path, monkeypatch):
    # Other tests import from tools/, and Numba would take tools/coverage.py for the package of that name.
    monkeypatch.setattr(sys, "path", [p for p in sys.path if not p.endswith("/tools")])
    numba = pytest.importorskip("numba", reason="Numba is not installed (make torch)")

    def make():
        @numba.cfunc("int32(CPointer(int16), CPointer(int16), CPointer(uint64), CPointer(float64), CPointer(uint64))")
        def twice(inp, out, dims, arguments, random):
            for i in range(dims[0]):
                out[i] = inp[i] * 2
            return 0

        return mldf.CFunction(twice)

    loader = load(path, [make()], tmp_path)  # nobody else keeps the function
    got = np.concatenate([b.fixed for b in loader])
    assert np.array_equal(got, mldf.open(path).column("fixed") * 2)


def test_a_function_for_each_sample(tmp_path):
    path = tmp_path / "x.mldf"
    rng = np.random.default_rng(2)
    images = rng.integers(0, 256, (6, 8, 9, 3), np.uint8)
    mldf.write(path, {"image": images, "n": np.arange(6)}, {"image": mldf.Image(encode="raw"), "n": mldf.Int()})
    seen = []

    def mean(image):
        seen.append(image.shape)
        return image.mean(axis=(0, 1))

    steps = {"image": [mldf.Decode(), mldf.PerSample(mean)], "n": [mldf.PerSample(lambda n: "x" * int(n))]}
    batches = list(mldf.Loader(path, 4, pipelines=steps))
    assert seen == [(8, 9, 3)] * 6
    assert np.allclose(np.concatenate([b.image for b in batches]), images.mean(axis=(1, 2)))
    assert [t for b in batches for t in b.n] == ["", "x", "xx", "xxx", "xxxx", "xxxxx"]
    assert repr(mldf.PerSample(mean)) == "PerSample(mean)"
    ragged = mldf.PerSample(lambda image: image[: image[0, 0, 0] % 3 + 1])(images)
    assert isinstance(ragged, list) and len(ragged) == 6
    with pytest.raises(mldf.errors.WrongTypeError, match="a function is needed, not int"):
        mldf.PerSample(3)
