"""The kernels of src/kernel against their definitions (src/kernel/resize.h, finish.h), written down once more in NumPy, and against
Pillow. build/<preset>/tests/kernel_run makes one call of them."""

import os
import platform
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

PROGRAM = Path(os.environ.get("MLDF_BUILD_DIR", "build/dev")) / "tests" / "kernel_run"
FILTERS = {"box": 0, "bilinear": 1, "bicubic": 2, "lanczos": 3, "area": 4, "nearest": 5}
TYPES = {"u8": ("|u1", np.uint8), "u16": ("<u2", np.uint16), "f32": ("<f4", np.float32), "f16": ("<f2", np.float16),
         "bf16": ("bfloat16", np.uint16)}
ISAS = ("portable", "sse4", "avx2", "avx512", "neon")

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason=f"{PROGRAM} is not built")


def run(isa, image, rest, dtype="u8", planar=False, affine=None):
    height, width, channels = image.shape
    name, kind = TYPES[dtype]
    maps = affine or [(1.0, 0.0)] * channels
    words = [isa, width, height, channels, image.itemsize * 8, name, int(planar), int(affine is not None)]
    words += [float(np.float32(v)).hex() for pair in maps for v in pair]
    done = subprocess.run([PROGRAM, *map(str, words + rest)], input=image.tobytes(), capture_output=True, check=False)
    if done.returncode == 77:
        return None
    assert done.returncode == 0, done.stderr.decode()
    return np.frombuffer(done.stdout, kind)


class Spec:
    """struct resize_spec; a box in eighths."""

    def __init__(self, image, size, name, box=None, part=None, mirror=(False, False), antialias=True):
        self.width, self.height = size
        self.box = box or (0, 0, image.shape[1] * 8, image.shape[0] * 8)
        self.part = part or (0, 0, *size)
        self.mirror, self.name, self.antialias = mirror, name, antialias

    def words(self):
        return ["resize", *self.box, self.width, self.height, *self.part, *map(int, self.mirror), FILTERS[self.name],
                int(self.antialias)]

    def cut(self, whole):
        x, y, width, height = self.part
        out = whole[y:y + height, x:x + width]
        return out[::-1 if self.mirror[1] else 1, ::-1 if self.mirror[0] else 1]


def resize(isa, image, spec):
    out = run(isa, image, spec.words(), "u16" if image.dtype == np.uint16 else "u8")
    return None if out is None else out.reshape(spec.part[3], spec.part[2], image.shape[2])


# ---- Definitions -----------------------------------------------------------------------------------------------------------


def bilinear_matrix(size, box_from, box_size, n, antialias):
    """[n][size] weights in 2^-14: a triangle in units of 1/(16 n) of a pixel, running sums rounded."""
    wide = max(16 * n, 2 * box_size) if antialias else 16 * n
    centres = 8.0 * n * (2 * np.arange(size) + 1)
    out = np.zeros((n, size), np.int64)
    for i in range(n):
        weights = np.maximum(0.0, wide - np.abs(centres - (2 * box_from * n + (2 * i + 1) * box_size)))
        runs = np.cumsum(weights)
        edges = np.floor(runs * (16384.0 / runs[-1]) + 0.5).astype(np.int64)
        out[i] = np.diff(edges, prepend=0)
    return out


def bilinear(image, spec):
    down = bilinear_matrix(image.shape[0], spec.box[1], spec.box[3], spec.height, spec.antialias)
    across = bilinear_matrix(image.shape[1], spec.box[0], spec.box[2], spec.width, spec.antialias)
    middle = (np.einsum("yr,rxc->yxc", down, image.astype(np.int64)) + 64) >> 7
    assert middle.max() <= 32767
    return spec.cut(np.clip((np.einsum("xq,yqc->yxc", across, middle) + (1 << 20)) >> 21, 0, 255).astype(np.uint8))


def cubic(x):
    x = np.abs(x)
    near, far = (1.5 * x - 2.5) * x * x + 1.0, (((x - 5.0) * x + 8.0) * x - 4.0) * -0.5
    return np.where(x < 1, near, np.where(x < 2, far, 0.0))


def wide_matrix(size, box_from, box_size, n, antialias, weigh, support):
    """[n][size] weights in 2^-22."""
    start, scale = box_from / 8.0, box_size / 8.0 / n
    wide = max(scale, 1.0) if antialias else 1.0
    out = np.zeros((n, size), np.int64)
    for i in range(n):
        centre = start + (i + 0.5) * scale
        first, end = max(0, int(centre - support * wide + 0.5)), min(size, int(centre + support * wide + 0.5))
        weights = weigh((np.arange(first, end) - centre + 0.5) / wide)
        weights = weights / sum(weights.tolist())
        out[i, first:end] = np.trunc(weights * (1 << 22) + np.where(weights < 0, -0.5, 0.5)).astype(np.int64)
    return out


def across_then_down(image, spec, weigh, support):
    top = np.iinfo(image.dtype).max
    across = wide_matrix(image.shape[1], spec.box[0], spec.box[2], spec.width, spec.antialias, weigh, support)
    down = wide_matrix(image.shape[0], spec.box[1], spec.box[3], spec.height, spec.antialias, weigh, support)
    middle = np.clip((np.einsum("xq,yqc->yxc", across, image.astype(np.int64)) + (1 << 21)) >> 22, 0, top)
    return spec.cut(np.clip((np.einsum("yr,rxc->yxc", down, middle) + (1 << 21)) >> 22, 0, top).astype(image.dtype))


def nearest(image, spec):
    x = ((2 * spec.box[0] * spec.width + (2 * np.arange(spec.width) + 1) * spec.box[2]) // (16 * spec.width))
    y = ((2 * spec.box[1] * spec.height + (2 * np.arange(spec.height) + 1) * spec.box[3]) // (16 * spec.height))
    return spec.cut(image[y][:, x])


def define(image, spec):
    if spec.name == "nearest":
        return nearest(image, spec)
    if spec.name == "bilinear" and image.dtype == np.uint8:
        return bilinear(image, spec)
    if spec.name == "bilinear":
        return across_then_down(image, spec, lambda x: np.maximum(0.0, 1.0 - np.abs(x)), 1.0)
    return across_then_down(image, spec, cubic, 2.0)


def random_case(rng, name, dtype=np.uint8):
    height, width, channels = int(rng.integers(1, 60)), int(rng.integers(1, 60)), int(rng.integers(1, 5))
    image = rng.integers(0, np.iinfo(dtype).max + 1, (height, width, channels)).astype(dtype)
    box_width, box_height = int(rng.integers(1, width * 8 + 1)), int(rng.integers(1, height * 8 + 1))
    box = (int(rng.integers(0, width * 8 - box_width + 1)), int(rng.integers(0, height * 8 - box_height + 1)), box_width,
           box_height)
    size = int(rng.integers(1, 70)), int(rng.integers(1, 70))
    part = [int(rng.integers(1, size[0] + 1)), int(rng.integers(1, size[1] + 1))]
    part = (int(rng.integers(0, size[0] - part[0] + 1)), int(rng.integers(0, size[1] - part[1] + 1)), *part)
    mirror = bool(rng.integers(0, 2)), bool(rng.integers(0, 2))
    return image, Spec(image, size, name, box, part, mirror, bool(rng.integers(0, 3)))


# ---- Tests ------------------------------------------------------------------------------------------------------------------


def here():
    """What this machine has."""
    pixel = np.zeros((1, 1, 1), np.uint8)
    return [isa for isa in ISAS if run(isa, pixel, ["finish", 0, 0], "f32", False, [(1.0, 0.0)]) is not None]


HERE = here() if PROGRAM.exists() else ["portable"]  # without the program all tests here are skipped


def test_the_instruction_sets_of_this_machine_are_tried():
    kind = {"x86_64": ("sse4", "avx2", "avx512"), "aarch64": ("neon",)}.get(platform.machine(), ())
    assert HERE[0] == "portable" and set(HERE) <= {"portable", *kind} and ("neon" in HERE or "aarch64" != platform.machine())
    flags = Path("/proc/cpuinfo").read_text() if platform.machine() == "x86_64" else ""
    assert ("avx2" in HERE) == bool(re.search(r"\bavx2\b", flags))


@pytest.mark.parametrize("isa", HERE)
@pytest.mark.parametrize("name", ["bilinear", "bicubic", "nearest"])
def test_resize_is_as_defined(isa, name):
    rng = np.random.default_rng(1)
    for _ in range(30):
        image, spec = random_case(rng, name)
        got = resize(isa, image, spec)
        np.testing.assert_array_equal(got, define(image, spec), str(spec.words()))


@pytest.mark.parametrize("name", ["bilinear", "bicubic", "nearest"])
def test_resize_of_16_bits_is_as_defined(name):
    rng = np.random.default_rng(2)
    for _ in range(20):
        image, spec = random_case(rng, name, np.uint16)
        np.testing.assert_array_equal(resize("portable", image, spec), define(image, spec), str(spec.words()))


def smooth(rng, width, height):
    """Something like a photo, with noise."""
    y, x = np.mgrid[0:height, 0:width]
    planes = [128 + 90 * np.sin(x / (7 + 5 * c) + y / (11 + 3 * c)) + rng.normal(0, 12, (height, width)) for c in range(3)]
    return np.clip(np.stack(planes, -1), 0, 255).astype(np.uint8)


@pytest.mark.parametrize("size", [(224, 224), (50, 40), (31, 90), (300, 211), (3, 2), (1, 1)])
def test_bilinear_is_within_one_level_of_pillow(size):
    rng = np.random.default_rng(3)
    images = [smooth(rng, 257, 193), rng.integers(0, 256, (193, 257, 3)).astype(np.uint8)]
    for image in images:
        for box in ((0, 0, 257, 193), (13, 20, 113, 180), (100, 50, 257, 51)):
            expected = np.asarray(Image.fromarray(image).resize(size, Image.Resampling.BILINEAR, box))
            spec = Spec(image, size, "bilinear", (box[0] * 8, box[1] * 8, (box[2] - box[0]) * 8, (box[3] - box[1]) * 8))
            got = resize("portable", image, spec)
            assert np.abs(got.astype(int) - expected).max() <= 1
            # Pillow rounds between its passes; against sums that are rounded once the result is half a level off at most
            down, across = (bilinear_matrix(*axis, True) / 16384.0 for axis in ((193, spec.box[1], spec.box[3], size[1]),
                                                                                (257, spec.box[0], spec.box[2], size[0])))
            exact = np.einsum("yr,xq,rqc->yxc", down, across, image.astype(float), optimize=True)
            assert np.abs(got - exact).max() <= 0.51


@pytest.mark.parametrize("name", ["bicubic", "lanczos", "box"])
def test_other_filters_equal_pillow_in_boxes(name):
    image = smooth(np.random.default_rng(4), 120, 99)
    for box in ((0, 0, 120, 99), (10, 9, 70, 80)):
        expected = np.asarray(Image.fromarray(image).resize((64, 48), getattr(Image.Resampling, name.upper()), box))
        spec = Spec(image, (64, 48), name, (box[0] * 8, box[1] * 8, (box[2] - box[0]) * 8, (box[3] - box[1]) * 8))
        np.testing.assert_array_equal(resize("portable", image, spec), expected)


def test_area_is_the_mean_of_what_is_covered():
    image = np.random.default_rng(5).integers(0, 256, (60, 80, 3)).astype(np.uint8)
    got = resize("portable", image, Spec(image, (20, 15), "area"))
    assert np.abs(got - image.reshape(15, 4, 20, 4, 3).mean((1, 3))).max() <= 1.0


def covered(size, target):
    """How much of each source pixel a target pixel covers, as shares of the target pixel: [target, size]."""
    edges = np.arange(target + 1) * size / target
    pixels = np.arange(size)
    return np.maximum(np.minimum(edges[1:, None], pixels + 1) - np.maximum(edges[:-1, None], pixels), 0) * target / size


@pytest.mark.parametrize("size", [(190, 130), (160, 120), (80, 61), (51, 130), (190, 37), (81, 60)])
def test_area_that_enlarges_is_still_the_mean_of_what_is_covered(size):
    """So does OpenCV's INTER_AREA where both sides grow (measured with 5.0.0: 1 level apart at most); it was bilinear, 109 levels off."""
    image = np.random.default_rng(7).integers(0, 256, (60, 80, 3)).astype(np.uint8)
    exact = np.einsum("yr,xq,rqc->yxc", covered(60, size[1]), covered(80, size[0]), image.astype(float))
    assert np.abs(resize("portable", image, Spec(image, size, "area")) - exact).max() <= 1.01


@pytest.mark.parametrize("name", ["bicubic", "lanczos"])
def test_the_order_of_the_passes_where_one_side_shrinks_and_one_grows(name):
    """Across first, as Pillow before 13. Pillow 13 goes down first where the height shrinks and the width grows: then values are clipped elsewhere."""
    image = np.random.default_rng(9).integers(0, 256, (60, 80, 3)).astype(np.uint8)
    how = getattr(Image.Resampling, name.upper())
    for size in (190, 37), (51, 130):
        across = Image.fromarray(image).resize((size[0], 60), how)
        expected = np.asarray(across.resize(size, how))
        np.testing.assert_array_equal(resize("portable", image, Spec(image, size, name)), expected)


def bf16(x):
    bits = x.view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


@pytest.mark.parametrize("isa", HERE)
@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_finish_is_as_defined(isa, dtype):
    rng = np.random.default_rng(6)
    for _ in range(12):
        bits = np.uint8 if rng.integers(0, 3) else np.uint16
        image = rng.integers(0, np.iinfo(bits).max + 1,
                             (int(rng.integers(1, 20)), int(rng.integers(1, 90)), int(rng.integers(1, 5)))).astype(bits)
        affine = [(float(np.float32(rng.normal(0, 0.02))), float(np.float32(rng.normal(0, 2)))) for _ in range(image.shape[2])]
        planar, mirror = bool(rng.integers(0, 2)), [int(v) for v in rng.integers(0, 2, 2)]
        got = run(isa, image, ["finish", *mirror], dtype, planar, affine)
        scale, shift = np.array(affine, np.float32).T
        expected = image.astype(np.float32) * scale + shift
        assert expected.dtype == np.float32
        expected = expected[::-1 if mirror[1] else 1, ::-1 if mirror[0] else 1]
        expected = np.ascontiguousarray(expected.transpose(2, 0, 1) if planar else expected).ravel()
        expected = bf16(expected) if dtype == "bf16" else expected.astype(np.float16) if dtype == "f16" else expected
        np.testing.assert_array_equal(got.view(np.uint8), expected.view(np.uint8))
