"""The operations against their published definitions, stated once more in NumPy.

torchvision's definitions for tensors (transforms.v2.functional, uint8 and float) are restated here line for line in float32; Pillow itself
is asked where its operation is the definition. Everything is compared exactly unless a tolerance stands there with its reason.
"""

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageOps

import run_op

pytestmark = pytest.mark.skipif(run_op.program() is None, reason="no run_op: set MLDF or MLDF_RUN_OP")

F = np.float32
SIZES = [(1, 1), (2, 5), (3, 3), (16, 16), (17, 23), (40, 31)]
WHITE = {np.dtype(np.uint8): 255, np.dtype(np.uint16): 65535, np.dtype(np.float32): 1}


def noise(height, width, channels, dtype=np.uint8, seed=0):
    rng = np.random.default_rng(seed + height * 1000 + width * 10 + channels)
    if np.dtype(dtype) == np.float32:
        return rng.random((height, width, channels), dtype=np.float32)
    top = np.iinfo(dtype).max
    array = rng.integers(0, top, (height, width, channels), dtype=dtype, endpoint=True)
    array[0, 0] = top  # the ends are where rounding goes wrong
    array[-1, -1] = 0
    return array


def smooth(height, width, channels, dtype=np.uint8, seed=0):
    """With few values, so that histograms have something to spread."""
    y, x = np.mgrid[0:height, 0:width]
    planes = [60 + 40 * np.sin((x + 3 * c + seed) / 9) + 30 * np.cos(y / (5 + c)) for c in range(channels)]
    array = np.clip(np.stack(planes, -1), 0, 255)
    if np.dtype(dtype) == np.float32:
        return (array / 255).astype(np.float32)
    return (array * (257 if np.dtype(dtype) == np.uint16 else 1)).astype(dtype)


def images(channels=(1, 3), dtypes=(np.uint8, np.uint16, np.float32)):
    for dtype in dtypes:
        for size in SIZES:
            for count in channels:
                yield noise(*size, count, dtype)
        for count in channels:
            yield smooth(37, 41, count, dtype)


def colors(image):
    """How many channels are colours."""
    return 3 if image.shape[2] >= 3 else 1


def with_alpha(definition):
    """The definition on the colours; alpha as it was."""
    def both(image, *arguments):
        n = colors(image)
        return np.concatenate([definition(image[:, :, :n], *arguments), image[:, :, n:]], axis=2)
    return both


def back(values, dtype):
    """Held in 0..white; whole numbers are cut off."""
    held = np.clip(values, F(0), F(WHITE[np.dtype(dtype)]))
    return held if np.dtype(dtype) == np.float32 else held.astype(dtype)


# ---- torchvision's definitions ------------------------------------------------------------------------------------------------


def gray_of(image, whole):
    if image.shape[2] == 1:
        return image.astype(F)
    r, g, b = (image[:, :, c:c + 1].astype(F) for c in range(3))
    gray = r * F(0.2989) + g * F(0.587) + b * F(0.114)
    return np.floor(gray) if whole else gray


def blend(image, other, ratio):
    return back(image.astype(F) * F(ratio) + other * F(1.0 - ratio), image.dtype)


@with_alpha
def brightness(image, factor):
    return back(image.astype(F) * F(factor), image.dtype)


@with_alpha
def gamma(image, exponent):
    white = F(WHITE[image.dtype])
    power = np.power((image.astype(F) / white).astype(np.float64), float(F(exponent))).astype(F)
    if image.dtype == np.float32:
        return power
    return np.minimum(power * F(float(white) + 1 - 1e-3), white).astype(image.dtype)


@with_alpha
def contrast(image, factor):
    gray = gray_of(image, image.dtype != np.float32)
    mean = F(gray.astype(np.float64).sum() / gray.size)
    return blend(image, mean, factor)


@with_alpha
def saturation(image, factor):
    if image.shape[2] == 1:
        return image
    return blend(image, gray_of(image, image.dtype != np.float32), factor)


@with_alpha
def hue(image, turn):
    if image.shape[2] == 1:
        return image
    white = F(WHITE[image.dtype])
    x = image.astype(F) / white
    r, g, b = x[:, :, 0], x[:, :, 1], x[:, :, 2]
    most, least = x.max(2), x.min(2)
    flat, span = most == least, most - least
    s = span / np.where(flat, F(1), most)
    divisor = np.where(flat, F(1), span)
    rc, gc, bc = (most - r) / divisor, (most - g) / divisor, (most - b) / divisor
    is_r, is_g = most == r, most == g
    h = np.where(is_r, bc - gc, np.where(is_g, rc + F(2) - bc, gc + F(4) - rc))
    h = np.fmod(h * F(1 / 6) + F(1), F(1))
    h = np.mod(h + F(turn), F(1)).astype(F)
    h6 = h * F(6)
    i = np.floor(h6)
    f = h6 - i
    i = i.astype(int) % 6
    p = np.clip((F(1) - s) * most, 0, 1)
    q = np.clip((F(1) - s * f) * most, 0, 1)
    t = np.clip((s * f + (F(1) - s)) * most, 0, 1)
    v = most
    table = [(v, t, p), (q, v, p), (p, v, t), (p, q, v), (t, p, v), (v, p, q)]
    out = np.stack([np.choose(i, [row[c] for row in table]) for c in range(3)], -1).astype(F)
    if image.dtype == np.float32:
        return out
    return np.minimum(out * F(float(white) + 1 - 1e-3), white).astype(image.dtype)


@with_alpha
def sharpness(image, factor):
    height, width = image.shape[:2]
    if height <= 2 or width <= 2:
        return image
    x = image.astype(F)
    a, b = F(1 / 13), F(5 / 13)
    total = None
    for dy in range(3):
        for dx in range(3):
            part = x[dy:height - 2 + dy, dx:width - 2 + dx] * (b if dy == dx == 1 else a)
            total = part if total is None else total + part
    if image.dtype != np.float32:
        total = np.rint(total)
    middle = x[1:-1, 1:-1]
    out = x.copy()
    out[1:-1, 1:-1] = middle + (total - middle) * F(1.0 - factor)
    return back(out, image.dtype)


@with_alpha
def autocontrast(image):
    x = image.astype(F)
    least, most = x.min((0, 1)), x.max((0, 1))
    flat = least == most
    scale = np.where(flat, F(1), (most - least) * F(1 / WHITE[image.dtype]))
    return back((x - np.where(flat, F(0), least)) / scale, image.dtype)


@with_alpha
def equalize(image):
    if image.dtype == np.uint8:
        small = image
    elif image.dtype == np.uint16:
        small = (image >> 8).astype(np.uint8)
    else:
        small = np.clip(image * F(255.999), 0, 255).astype(np.uint8)
    out = image.copy()
    for c in range(image.shape[2]):
        plane = small[:, :, c]
        histogram = np.bincount(plane.ravel(), minlength=256)
        step = (plane.size - histogram[plane.max()]) // 255
        if step == 0:
            continue
        below = np.concatenate([[0], np.cumsum(histogram)[:-1]])
        table = np.clip((below + step // 2) // step, 0, 255).astype(np.uint8)
        result = table[plane]
        out[:, :, c] = (result if image.dtype == np.uint8 else
                        result.astype(np.uint16) * 257 if image.dtype == np.uint16 else result.astype(F) / F(255))
    return out


@with_alpha
def invert(image):
    return F(1) - image if image.dtype == np.float32 else np.iinfo(image.dtype).max - image


@with_alpha
def solarize(image, threshold):
    return np.where(image >= image.dtype.type(threshold), invert(image), image)


@with_alpha
def posterize(image, bits):
    if image.dtype == np.float32:
        levels = F(1 << bits)
        return np.clip(np.floor(image * levels), 0, levels - 1) * (F(1) / levels)
    of = image.dtype.itemsize * 8
    mask = ((1 << bits) - 1) << (of - bits) if bits < of else (1 << of) - 1
    return image & image.dtype.type(mask)


def check(text, definition, *arguments, channels=(1, 2, 3, 4), dtypes=(np.uint8, np.uint16, np.float32)):
    for image in images(channels, dtypes):
        want = definition(image, *arguments)
        got = run_op.run(text, image)
        np.testing.assert_array_equal(want, got, err_msg=f"{text} {image.dtype} {image.shape}")
        planar = np.ascontiguousarray(image.transpose(2, 0, 1))
        got = run_op.run(text, planar, planar=True)
        np.testing.assert_array_equal(want.transpose(2, 0, 1), got, err_msg=f"{text} planar {image.dtype} {image.shape}")


@pytest.mark.parametrize("factor", [0, 0.3, 1, 1.7])
def test_factors(factor):
    check(f"brightness({factor})", brightness, factor)
    check(f"contrast({factor})", contrast, factor)
    check(f"saturation({factor})", saturation, factor)


@pytest.mark.parametrize("exponent", [0, 0.5, 1, 2.2])
def test_gamma(exponent):
    check(f"gamma({exponent})", gamma, exponent)


@pytest.mark.parametrize("factor", [0, 0.5, 1, 2.5])
def test_sharpness(factor):
    check(f"sharpness({factor}, p=1)", sharpness, factor)


@pytest.mark.parametrize("turn", [-0.5, -0.13, 0, 0.25, 0.5])
def test_hue(turn):
    check(f"hue({turn})", hue, turn)


def test_a_hue_of_nothing_changes_no_8_bit_image_by_more_than_rounding():
    image = noise(64, 64, 3)
    assert np.abs(image.astype(int) - run_op.run("hue(0)", image)).max() <= 1


def test_tables():
    check("autocontrast(p=1)", autocontrast)
    check("equalize(p=1)", equalize)
    check("invert", invert)
    check("random_invert(p=1)", invert)
    for threshold in (0, 100, 255):
        check(f"solarize({threshold}, p=1)", solarize, threshold, dtypes=[np.uint8])
    check("solarize(40000, p=1)", solarize, 40000, dtypes=[np.uint16])
    check("solarize(p=1)", solarize, 32768, dtypes=[np.uint16])
    check("solarize(0.25, p=1)", solarize, 0.25, dtypes=[np.float32])
    for bits in (0, 1, 4, 7, 8):
        check(f"posterize({bits}, p=1)", posterize, bits)


def test_a_probability_of_nothing_changes_nothing():
    image = noise(17, 23, 3)
    for text in ("autocontrast(p=0)", "equalize(p=0)", "random_invert(p=0)", "solarize(0, p=0)", "posterize(1, p=0)",
                 "sharpness(0, p=0)", "random_grayscale(p=0)", "color_jitter(1, 1, 1, 0.5, p=0)"):
        np.testing.assert_array_equal(image, run_op.run(text, image), err_msg=text)


def test_grayscale():
    for image in images((1, 2, 3, 4)):
        n = colors(image)
        gray = gray_of(image[:, :, :n], False).astype(image.dtype)
        alpha = image[:, :, n:]
        np.testing.assert_array_equal(np.concatenate([gray, alpha], 2), run_op.run("grayscale", image))
        np.testing.assert_array_equal(np.concatenate([gray, gray, gray, alpha], 2), run_op.run("grayscale(3)", image))
        np.testing.assert_array_equal(np.concatenate([gray] * n + [alpha], 2), run_op.run("random_grayscale(p=1)", image))


# ---- Pillow -----------------------------------------------------------------------------------------------------------------------


def pil(image):
    return Image.fromarray(image[:, :, 0] if image.shape[2] == 1 else image)


def array(image):
    out = np.asarray(image)
    return out if out.ndim == 3 else out[:, :, None]


def test_pillow_agrees_exactly_where_it_computes_in_whole_numbers():
    for image in images(dtypes=[np.uint8]):
        for threshold in (1, 128, 255):
            np.testing.assert_array_equal(array(ImageOps.solarize(pil(image), threshold)),
                                          run_op.run(f"solarize({threshold}, p=1)", image))
        for bits in (1, 4, 8):
            np.testing.assert_array_equal(array(ImageOps.posterize(pil(image), bits)),
                                          run_op.run(f"posterize({bits}, p=1)", image))
        np.testing.assert_array_equal(array(ImageOps.invert(pil(image))), run_op.run("invert", image))
        np.testing.assert_array_equal(array(ImageOps.equalize(pil(image))), run_op.run("equalize(p=1)", image))


def test_pillow_is_a_level_away_where_it_rounds_in_another_place():
    """Gray by other constants, contrast around a rounded mean, autocontrast by a rounded scale."""
    for pixels in images(dtypes=[np.uint8]):
        image = pil(pixels)
        for factor in (0.4, 1.6):
            pairs = [("autocontrast(p=1)", ImageOps.autocontrast(image)),
                     (f"brightness({factor})", ImageEnhance.Brightness(image).enhance(factor)),
                     (f"contrast({factor})", ImageEnhance.Contrast(image).enhance(factor)),
                     (f"sharpness({factor}, p=1)", ImageEnhance.Sharpness(image).enhance(factor))]
            if pixels.shape[2] == 3:
                pairs.append((f"saturation({factor})", ImageEnhance.Color(image).enhance(factor)))
            for text, want in pairs:
                difference = np.abs(array(want).astype(int) - run_op.run(text, pixels).astype(int))
                assert difference.max() <= 1, (text, pixels.shape, difference.max())


# ---- Numbers ----------------------------------------------------------------------------------------------------------------------

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def affine(image, scale, shift):
    return image.astype(F) * np.asarray(scale, F) + np.asarray(shift, F)


def test_normalize():
    mean, std = np.array(MEAN), np.array(STD)
    for dtype, white in ((np.uint8, 255.0), (np.uint16, 65535.0), (np.float32, 1.0)):
        for size in SIZES:
            image = noise(*size, 3, dtype)
            want = affine(image, 1 / (white * std), -mean / std)
            np.testing.assert_array_equal(want, run_op.run("normalize(imagenet)", image))
            np.testing.assert_array_equal(want, run_op.run(f"normalize({MEAN}, {STD})", image))
            planar = np.ascontiguousarray(image.transpose(2, 0, 1))
            np.testing.assert_array_equal(want.transpose(2, 0, 1), run_op.run("normalize(imagenet)", planar, planar=True))
            np.testing.assert_array_equal(want.transpose(2, 0, 1), run_op.run("normalize(imagenet) | chw", image))
    image = noise(9, 7, 3)
    scaled = f"normalize({[m * 255 for m in MEAN]}, {[s * 255 for s in STD]}, unit=255)"
    np.testing.assert_allclose(run_op.run("normalize(imagenet)", image), run_op.run(scaled, image), rtol=0, atol=3e-7)
    np.testing.assert_array_equal(affine(image, 1 / (255 * 0.5), -1), run_op.run("normalize(half)", image))
    with pytest.raises(run_op.Refused, match="3 channels"):
        run_op.run("normalize(imagenet)", noise(4, 4, 1))
    with pytest.raises(run_op.Refused, match="std must be"):
        run_op.run("normalize([0.5], [0])", image)
    with pytest.raises(run_op.Refused, match="std must be given"):
        run_op.run("normalize(0.5)", image)


def test_to_float_and_scale():
    for dtype, factor in ((np.uint8, F(1) / F(255)), (np.uint16, F(1) / F(65535)), (np.float32, F(1))):
        image = noise(17, 5, 3, dtype)
        np.testing.assert_array_equal(image.astype(F) * factor, run_op.run("to_float", image))
        np.testing.assert_array_equal(image.astype(F) * F(0.1) + F(-3), run_op.run("scale(0.1, -3)", image))
    numbers = np.array([2**40 + 1, -7], np.int64)
    np.testing.assert_array_equal(numbers.astype(F) * F(0.5), run_op.run("scale(0.5)", numbers))


def bf16_of(values):
    """Round to nearest even of the upper half."""
    bits = np.asarray(values, F).view(np.uint32)
    rounded = ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(values), ((bits >> 16) | 0x40).astype(np.uint16), rounded)


def cast_of(values, dtype):
    """Saturating and rounding from floats, NumPy's rule otherwise."""
    if values.dtype.kind == "f" and np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        rounded = np.rint(values.astype(np.float64))
        out = np.zeros(values.shape, dtype)
        inside = (rounded > float(info.min)) & (rounded < float(info.max))
        out[inside] = rounded[inside].astype(dtype)
        out[rounded >= float(info.max)] = info.max
        out[rounded <= float(info.min)] = info.min
        return out
    with np.errstate(over="ignore"):
        return values.astype(F).astype(dtype) if np.dtype(dtype) == np.float16 and values.dtype != np.float16 else \
            values.astype(dtype)


@pytest.mark.filterwarnings("ignore:invalid value")
def test_cast_between_all_types():
    rng = np.random.default_rng(5)
    kinds = [word for word in run_op.WORDS if word not in ("bf16", "c64", "c128")]
    for source in kinds:
        kind = np.dtype(run_op.WORDS[source])
        if kind.kind == "f":
            values = np.concatenate([rng.normal(0, 10.0**e, 40) for e in range(-8, 22, 3)] +
                                    [[0.5, 1.5, 2.5, -0.5, 254.5, 255.5, np.inf, -np.inf, np.nan, -0.0]])
            with np.errstate(over="ignore"):
                values = values.astype(kind)
        elif kind.kind == "b":
            values = np.array([True, False, True])
        else:
            info = np.iinfo(kind)
            values = rng.integers(info.min, info.max, 300, dtype=kind, endpoint=True)
            values[:3] = info.min, info.max, 0
        for target in kinds:
            got = run_op.run(f"cast({target})", values)
            np.testing.assert_array_equal(cast_of(values, run_op.WORDS[target]), got, err_msg=f"{source} to {target}")
        if kind == np.float32:
            got = run_op.run("cast(bf16)", values)
            np.testing.assert_array_equal(bf16_of(values), got)
            wide = run_op.run("cast(f32)", got, dtype="bf16")
            np.testing.assert_array_equal((got.astype(np.uint32) << 16).view(F), wide)
    every = np.arange(65536, dtype=np.uint16).view(np.float16)
    np.testing.assert_array_equal(every.astype(F), run_op.run("cast(f32)", every))
    with pytest.raises(run_op.Refused, match="cannot become"):
        run_op.run("cast(f32)", np.ones(3, np.complex64))


def test_layouts():
    for dtype in (np.uint8, np.uint16, np.float32):
        for channels in (1, 2, 3, 4):
            image = noise(17, 6, channels, dtype)
            planar = np.ascontiguousarray(image.transpose(2, 0, 1))
            np.testing.assert_array_equal(planar, run_op.run("chw", image))
            np.testing.assert_array_equal(image, run_op.run("hwc", planar, planar=True))
            np.testing.assert_array_equal(planar.astype(F), run_op.run("chw(f32)", image))
            np.testing.assert_array_equal(image, run_op.run("hwc", image))
    np.testing.assert_array_equal(noise(5, 4, 3).transpose(2, 0, 1).astype(np.float16), run_op.run("chw(f16)", noise(5, 4, 3)))


# ---- color_jitter -----------------------------------------------------------------------------------------------------------------------


def test_color_jitter_is_its_parts_in_the_order_drawn():
    """Every order comes, and the result is that of the four operations with the numbers that were drawn."""
    image, seen = noise(17, 23, 3), set()
    changes = [brightness, contrast, saturation, hue]
    for seed in range(60):
        got, [draw] = run_op.run("color_jitter(0.4, [0.5, 1.2], 0.4, 0.1)", image, seed=seed, draws=True)
        order, values = tuple(draw[1:5]), np.frombuffer(draw[8:40])
        assert draw[0] == 1 and sorted(order) == [0, 1, 2, 3]
        assert 0.6 <= values[0] <= 1.4 and 0.5 <= values[1] <= 1.2 and 0.6 <= values[2] <= 1.4 and -0.1 <= values[3] <= 0.1
        want = image
        for k in order:
            want = changes[k](want, values[k])
        np.testing.assert_array_equal(want, got)
        seen.add(order)
    assert len(seen) > 15
    np.testing.assert_array_equal(image, run_op.run("color_jitter", image))


def test_color_leaves_masks_boxes_and_points_alone():
    mask = noise(8, 9, 1)
    boxes = np.arange(8, dtype=np.float32).reshape(2, 4)
    for text in ("color_jitter(0.9, 0.9, 0.9, 0.4)", "normalize(imagenet)", "solarize(0, p=1)", "grayscale(3)", "to_float"):
        np.testing.assert_array_equal(mask, run_op.run(text, mask, role="mask"))
        np.testing.assert_array_equal(boxes, run_op.run(text, boxes, role="boxes"))
        np.testing.assert_array_equal(boxes, run_op.run(text, boxes, role="points"))
