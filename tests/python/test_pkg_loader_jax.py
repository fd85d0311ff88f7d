"""The loader with JAX: arrays of its own or over the loader's memory, dtypes, devices, a jitted step."""

import os
import subprocess
import sys
import textwrap

import mldf
import numpy as np
import pkg
import pytest
from mldf.batch import to_jax

jax = pytest.importorskip("jax", reason="JAX is not installed (make torch)")
jnp = jax.numpy

COUNT = 50
STEPS = [mldf.CenterCrop((8, 8)), mldf.Normalize("imagenet")]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return str(pkg.make(tmp_path_factory.mktemp("jax") / "a.mldf", count=COUNT))


def load(path, dtype="same", **options):
    steps = {"image": [*STEPS, mldf.CHW(dtype)]}
    return mldf.Loader(path, 8, pipelines=steps, fields=["image", "label", "fixed"], **options)


@pytest.mark.parametrize("copy", [None, True, False])
def test_arrays_equal_numpys(path, copy):
    arrays = list(load(path, shuffle=True, index=True, valid=True))
    given = list(load(path, shuffle=True, index=True, valid=True, output="jax", copy=copy))
    assert len(given) == len(arrays) == 7 and given[0].names == ("image", "label", "fixed", "index", "valid")
    for a, b in zip(arrays, given):
        for x, y in zip(a, b):
            assert isinstance(y, jax.Array) and x.shape == y.shape and np.array_equal(x, np.asarray(y))
    # JAX has no 64-bit numbers unless jax_enable_x64 asks for them.
    assert [str(x.dtype) for x in given[0]] == ["float32", "uint8", "int16", "uint32", "bool"]


def test_sixty_four_bits_where_jax_is_told_to_have_them(path):
    with jax.enable_x64(True):
        batch = next(iter(load(path, dtype="f64", output="jax", index=True)))
        assert (batch.image.dtype, batch["index"].dtype) == (jnp.float64, jnp.uint64)
        assert np.array_equal(np.asarray(batch.image), next(iter(load(path, dtype="f64"))).image)


def test_copy_false_looks_at_the_loaders_memory(path):
    batch = next(iter(load(path)))
    places = [to_jax(None, copy)(batch.image).unsafe_buffer_pointer() for copy in (False, None, True)]
    assert places[0] == batch.image.ctypes.data and batch.image.ctypes.data not in places[1:]
    with load(path, output="jax", copy=False, threads=1, batches_ahead=3) as loader:
        found = {b.image.unsafe_buffer_pointer() for _ in range(4) for b in loader}
    assert len(found) <= 8 and all(p % 64 == 0 for p in found)  # 28 batches in the same few places


@pytest.mark.parametrize("copy", [None, False])
def test_kept_batches_are_never_written_again(path, copy):
    want = [b.image.copy() for b in load(path)]
    with load(path, output="jax", copy=copy, threads=2) as loader:
        kept = list(loader)
        list(loader)
    del loader
    assert all(np.array_equal(a, np.asarray(b.image)) for a, b in zip(want, kept))


def test_half_floats(path):
    import ml_dtypes

    plain = next(iter(load(path, output="jax"))).image
    for word, dtype in (("bf16", jnp.bfloat16), ("f16", jnp.float16)):
        got = next(iter(load(path, dtype=word, output="jax"))).image
        assert got.dtype == dtype and jnp.array_equal(plain.astype(dtype), got)
    array = next(iter(load(path, dtype="bf16"))).image
    assert array.dtype == np.dtype(ml_dtypes.bfloat16)
    assert np.array_equal(np.asarray(next(iter(load(path, dtype="bf16", output="jax"))).image), array)


def test_devices(path):
    device = jax.devices("cpu")[0]
    for copy in (None, False):
        batch = next(iter(load(path, output="jax", device=device, copy=copy)))
        assert batch.image.devices() == {device}
    code = """
        import sys, jax, mldf, numpy as np
        device = jax.devices()[1]
        want = list(mldf.Loader(sys.argv[1], 8, fields=["fixed"]))
        for a, b in zip(want, mldf.Loader(sys.argv[1], 8, fields=["fixed"], output="jax", device=device)):
            assert b.fixed.devices() == {device} and np.array_equal(a.fixed, np.asarray(b.fixed))
        print("fine")
    """
    env = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), path], env=env, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "fine", done.stderr


def test_a_jitted_step_over_a_loader(path):
    """Least squares by gradient steps: the same weights as in NumPy, and one compilation."""
    compiled = 0

    def gradient(weights, image, label):
        nonlocal compiled
        compiled += 1
        x = image.reshape(image.shape[0], -1)
        return x.T @ (x @ weights - label.astype(jnp.float32)) / x.shape[0]

    step = jax.jit(lambda weights, image, label: weights - 1e-3 * gradient(weights, image, label))
    weights, plain = jnp.zeros(192), np.zeros(192)
    theirs, ours = load(path, shuffle=True, drop_last=True, output="jax"), load(path, shuffle=True, drop_last=True)
    for _ in range(2):
        for b in theirs:
            weights = step(weights, b.image, b.label)
        for b in ours:
            x = b.image.reshape(8, -1).astype(np.float64)
            plain -= 1e-3 * (x.T @ (x @ plain - b.label)) / 8
    assert compiled == 1 and np.abs(plain).max() > 0.01 and np.allclose(np.asarray(weights), plain, atol=1e-4)
