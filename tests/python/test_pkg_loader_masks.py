"""Masks of every kind move alike: bytes, 16 bits and floats; fields, members of structs, and views of other outputs."""

import mldf
import numpy as np
import pytest

COUNT, HEIGHT, WIDTH = 5, 21, 16
GEOMETRY = [
    "resize([13, 29])",
    "resize(40) | center_crop(30)",
    "random_resized_crop(16) | hflip | vflip",
    "hflip | random_resized_crop([9, 31])",
    "center_resized_crop(12) | rotate(30)",
    "random_crop(40, pad_if_needed=true) | resize([11, 10]) | vflip(1)",
    "affine(20, scale=[0.8, 1.2]) | resize([20, 21])",
    "resize([1, 1])",
]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    rng = np.random.default_rng(3)
    masks = rng.integers(0, 256, (COUNT, HEIGHT, WIDTH), dtype=np.uint8)
    fields = {
        "image": mldf.Image(encode="raw"),
        "u8": mldf.NDArray("uint8", (HEIGHT, WIDTH)),
        "u16": mldf.NDArray("uint16", (HEIGHT, WIDTH)),
        "f32": mldf.NDArray("float32", (HEIGHT, WIDTH)),
        "f16": mldf.NDArray("float16", (HEIGHT, WIDTH, 2)),
        "i64": mldf.NDArray("int64", (HEIGHT, WIDTH)),
        "row": mldf.Struct([("grid", "u1", (HEIGHT, WIDTH))]),
    }
    path = tmp_path_factory.mktemp("masks") / "m.mldf"
    with mldf.Writer(path, fields) as w:
        for m in masks:
            kinds = {name: m.astype(name.replace("u", "uint").replace("f", "float")) for name in ("u8", "u16", "f32")}
            more = {"f16": np.dstack([m, m]).astype(np.float16), "i64": m.astype(np.int64), "row": (m,)}
            w.append({"image": rng.integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8), **kinds, **more})
    return path


def first(path, pipelines, **options):
    return next(iter(mldf.Loader(path, COUNT, pipelines=pipelines, threads=0, **options)))


@pytest.mark.parametrize("steps", GEOMETRY)
@pytest.mark.parametrize("reference", [False, True])
def test_masks_of_floats_move_as_those_of_bytes(path, steps, reference):
    members = "image, u8 as mask, u16 as mask, f32 as mask, f16 as mask, g = row.grid as mask"
    batch = first(path, f"{members}: {steps}", reference=reference, seed=2)
    assert batch.f32.dtype == np.float32 and batch.f16.shape == (*batch.u8.shape[:3], 2)
    for other in (batch.u16, batch.f32, batch.f16, batch.g):
        assert (other == batch.u8).all()


def test_a_mask_takes_the_pixel_under_the_middle_of_the_new_one(path):
    """The definition, in NumPy."""
    batch = first(path, "f32 as mask: resize([34, 7])", fields=["f32"])
    y = ((np.arange(34) + 0.5) * HEIGHT / 34).astype(int)
    x = ((np.arange(7) + 0.5) * WIDTH / 7).astype(int)
    stored = np.stack([s.f32 for s in mldf.open(path)])
    assert (batch.f32[..., 0] == stored[:, y[:, None], x]).all()


@pytest.mark.parametrize(
    "steps", ["hflip", "center_crop(9)", "random_crop(30, pad_if_needed=true)", "resize([9, 8])", "rotate(20)"]
)
def test_a_view_of_another_output_may_be_a_mask(path, steps):
    """An array of two dimensions has one channel, wherever it comes from."""
    batch = first(
        path, f"t = i64: cast(u8)\nimage, u8 as mask, a = t as mask, b = t as image: {steps}\nt: drop", seed=4
    )
    assert batch.a.shape == batch.u8.shape and batch.a.ndim == 4 and (batch.a == batch.u8).all()
    assert batch.b.shape == batch.a.shape
    with pytest.raises(mldf.errors.WrongTypeError, match=r"wants u8, .* \(x = y: cast.* gets i64 21x16 array"):
        first(path, "i64 as mask: hflip")
