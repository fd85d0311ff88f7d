"""Operations that choose, move, mix and reshape, against NumPy: randaugment, trivialaugment, mixup, cutmix, labels, arrays, lengths."""

import collections
import struct

import numpy as np
import pytest

import run_op
from test_ops_reference import (F, WHITE, autocontrast, brightness, contrast, equalize, noise, posterize, saturation, sharpness,
                                smooth, solarize)

pytestmark = pytest.mark.skipif(run_op.program() is None, reason="no run_op: set MLDF or MLDF_RUN_OP")


# ---- randaugment, trivialaugment ------------------------------------------------------------------------------------------------------

KINDS = ["identity", "shear_x", "shear_y", "translate_x", "translate_y", "rotate", "brightness", "color", "contrast", "sharpness",
         "posterize", "solarize", "autocontrast", "equalize"]


def warp(image, matrix, bilinear, fill):
    """Output pixel centres through the matrix; outside is fill."""
    height, width, channels = image.shape
    y, x = np.mgrid[0:height, 0:width] + 0.5
    m = matrix
    u = m[0] * x + (m[1] * y + m[2])
    v = m[3] * x + (m[4] * y + m[5])
    if not bilinear:
        inside = (u >= 0) & (u < width) & (v >= 0) & (v < height)
        out = np.empty_like(image)
        out[:] = np.asarray(fill).astype(image.dtype)
        out[inside] = image[np.floor(v[inside]).astype(int), np.floor(u[inside]).astype(int)]
        return out
    u, v = u - 0.5, v - 0.5
    left, top = np.floor(u), np.floor(v)
    fx, fy = (u - left).astype(F)[:, :, None], (v - top).astype(F)[:, :, None]
    framed = np.empty((height + 2, width + 2, channels), F)
    framed[:] = np.asarray(fill, F)
    framed[1:-1, 1:-1] = image

    def tap(dy, dx):
        return framed[np.clip(top.astype(int) + dy, -1, height) + 1, np.clip(left.astype(int) + dx, -1, width) + 1]

    above, below = tap(0, 0) + (tap(0, 1) - tap(0, 0)) * fx, tap(1, 0) + (tap(1, 1) - tap(1, 0)) * fx
    out = above + (below - above) * fy
    return out if image.dtype == np.float32 else np.rint(out).astype(image.dtype)


def rotation(degrees, width, height):
    a, x, y = np.deg2rad(degrees), width / 2, height / 2
    c, s = np.cos(a), np.sin(a)
    return [c, -s, x - c * x + s * y, s, c, y - s * x - c * y]


def change(image, kind, value, bilinear, fill):
    height, width = image.shape[:2]
    name = KINDS[kind]
    moves = {"shear_x": [1, value, 0, 0, 1, 0], "shear_y": [1, 0, 0, value, 1, 0],
             "translate_x": [1, 0, -int(value), 0, 1, 0], "translate_y": [1, 0, 0, 0, 1, -int(value)],
             "rotate": rotation(value, width, height)}
    if name in moves:
        return warp(image, moves[name], bilinear, fill)
    if name == "identity":
        return image
    if name in ("autocontrast", "equalize"):
        return {"autocontrast": autocontrast, "equalize": equalize}[name](image)
    if name == "posterize":
        return posterize(image, int(value))
    if name == "solarize":
        return solarize(image, value * WHITE[image.dtype]) if image.dtype == np.float32 else \
            np.where(image >= F(value * WHITE[image.dtype]), WHITE[image.dtype] - image, image)
    return {"brightness": brightness, "color": saturation, "contrast": contrast, "sharpness": sharpness}[name](image, 1 + value)


def items_of(draw):
    count = struct.unpack_from("<I", draw)[0]
    return [struct.unpack_from("<dI", draw, 8 + 16 * i)[::-1] for i in range(count)]


def check_augmented(text, image, seed, bilinear, fill):
    got, [draw] = run_op.run(text, image, seed=seed, draws=True)
    want = image
    items = items_of(draw)
    for kind, value in items:
        want = change(want, kind, value, bilinear, fill)
    # The sine of one of them may differ in its last bit, and with it the side of a pixel's edge that a coordinate falls on.
    if any(KINDS[kind] == "rotate" for kind, _ in items) and not np.array_equal(want, got):
        assert np.mean(want != got) < 0.01, (text, seed, items)
    else:
        np.testing.assert_array_equal(want, got, err_msg=f"{text} seed {seed} {items}")
    return items


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_augmentations_are_the_changes_that_were_drawn(dtype):
    seen = collections.Counter()
    for seed in range(60):
        image = (noise if seed % 2 else smooth)(17 + seed % 5, 20 + seed % 3, 3, dtype)
        bilinear = seed % 3 == 0
        way = ", interpolation=bilinear" if bilinear else ""
        fill = [0.25, 0.5, 0.75] if dtype == np.float32 else [3, 100, 200]
        for text in (f"randaugment(2, 11{way}, fill={fill})", f"trivialaugment(fill={fill}{way})"):
            for kind, _ in check_augmented(text, image, seed, bilinear, fill):
                seen[KINDS[kind]] += 1
    assert set(seen) == set(KINDS)


def test_magnitudes_are_the_published_ones():
    image, sign = noise(20, 40, 3), collections.defaultdict(set)
    rand = {"shear_x": 0.3, "shear_y": 0.3, "translate_x": 150 / 331 * 40, "translate_y": 150 / 331 * 20, "rotate": 30,
            "brightness": 0.9, "color": 0.9, "contrast": 0.9, "sharpness": 0.9}
    for seed in range(120):
        _, [draw] = run_op.run("randaugment(3, magnitude=6, bins=31)", image, seed=seed, draws=True)
        assert len(items_of(draw)) == 3
        for kind, value in items_of(draw):
            name = KINDS[kind]
            if name in rand:
                assert abs(value) == pytest.approx(rand[name] * 6 / 30)
                sign[name].add(value > 0)
            elif name in ("posterize", "solarize"):
                assert value == pytest.approx({"posterize": round(8 - 4 * 6 / 30), "solarize": 1 - 6 / 30}[name])
    assert all(len(both) == 2 for both in sign.values()) and set(sign) == set(rand)
    wide = {"shear_x": 0.99, "shear_y": 0.99, "translate_x": 32, "translate_y": 32, "rotate": 135, "brightness": 0.99,
            "color": 0.99, "contrast": 0.99, "sharpness": 0.99}
    bins = set()
    for seed in range(300):
        _, [draw] = run_op.run("trivialaugment", image, seed=seed, draws=True)
        [(kind, value)] = items_of(draw)
        if KINDS[kind] in wide:
            part = abs(value) / wide[KINDS[kind]] * 30
            assert part == pytest.approx(round(part))
            bins.add(round(part))
        elif KINDS[kind] == "posterize":
            assert value in range(2, 9)
    assert len(bins) == 31


def test_a_rotation_by_a_right_angle_is_one():
    """Through the warp alone: what turns against the clock by 90 degrees is np.rot90."""
    image = noise(8, 8, 3)
    np.testing.assert_array_equal(np.rot90(image), warp(image, rotation(90, 8, 8), False, [0, 0, 0]))


def test_augmentations_refuse_masks():
    with pytest.raises(run_op.Refused, match="masks"):
        run_op.run("randaugment", noise(8, 8, 1), role="mask")
    with pytest.raises(run_op.Refused, match="not below bins"):
        run_op.run("randaugment(magnitude=31)", noise(8, 8, 3))


# ---- mixup, cutmix ------------------------------------------------------------------------------------------------------------------------


def lambdas(draws):
    return [struct.unpack_from("<d", draw)[0] for draw in draws]


def mix(a, b, of_a, kind):
    real = np.float64 if kind == np.float64 else F
    out = a.astype(real) * real(of_a) + b.astype(real) * real(1 - of_a)
    return np.rint(out).astype(kind) if np.dtype(kind).kind == "u" else out.astype(kind)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float16, np.float32])
def test_mixup_mixes_both_sides_of_what_they_were(dtype):
    rng = np.random.default_rng(3)
    for seed in range(10):
        a, b = ((rng.random((5, 7, 3)) * 255).astype(dtype) for _ in range(2))
        (x, y), draws = run_op.run("mixup(0.3)", [a, b], pair=True, seed=seed, position=8, draws=True)
        of_a, of_b = lambdas(draws)
        assert 0 <= of_a <= 1 and of_a != of_b
        np.testing.assert_array_equal(mix(a, b, of_a, dtype), x)
        np.testing.assert_array_equal(mix(b, a, of_b, dtype), y)


def test_both_sides_see_the_same_draws_from_either_side():
    a, b = noise(5, 7, 3), noise(5, 7, 3, seed=9)
    x, y = run_op.run("mixup(0.3)", [a, b], pair=True, position=4)
    v, u = run_op.run("mixup(0.3)", [b, a], pair=True, position=5)
    np.testing.assert_array_equal(x, u)
    np.testing.assert_array_equal(y, v)


def test_a_shared_draw_is_that_of_the_even_position():
    a, b = noise(9, 7, 3), noise(9, 7, 3, seed=9)
    for seed in range(5):
        (x, y), draws = run_op.run("mixup(0.3, shared=true)", [a, b], pair=True, seed=seed, position=4, draws=True)
        np.testing.assert_array_equal(mix(a, b, lambdas(draws)[0], np.uint8), x)
        np.testing.assert_array_equal(mix(b, a, lambdas(draws)[0], np.uint8), y)
        (x, y), draws = run_op.run("label_mixup(0.3, shared=true)", [np.int64(5), np.int64(9)], pair=True, seed=seed, draws=True)
        np.testing.assert_array_equal(x, np.array([5, 9, lambdas(draws)[0]], F))
        np.testing.assert_array_equal(y, np.array([9, 5, lambdas(draws)[0]], F))
        (x, y), draws = run_op.run("cutmix(1, shared=true)", [a, b], pair=True, seed=seed, draws=True)
        x0, y0, x1, y1 = struct.unpack_from("<4I", draws[0], 16)
        inside = np.zeros((9, 7, 1), bool)
        inside[y0:y1, x0:x1] = True
        np.testing.assert_array_equal(x, np.where(inside, b, a))
        np.testing.assert_array_equal(y, np.where(inside, a, b))


def test_labels_of_mixup():
    one, two = np.eye(4, dtype=np.float32)[[1, 3]]
    (x, y), draws = run_op.run("mixup(0.4)", [one, two], pair=True, draws=True)
    of_a, of_b = map(F, lambdas(draws))
    np.testing.assert_array_equal(x, [0, of_a, 0, F(1 - lambdas(draws)[0])])
    np.testing.assert_array_equal(y, [0, F(1 - lambdas(draws)[1]), 0, of_b])
    for text in ("label_mixup(0.4)", "mixup(0.4, labels=triple)"):
        (x, y), draws = run_op.run(text, [np.int64(5), np.int64(900)], pair=True, draws=True)
        np.testing.assert_array_equal(x, np.array([5, 900, lambdas(draws)[0]], F))
        np.testing.assert_array_equal(y, np.array([900, 5, lambdas(draws)[1]], F))
    np.testing.assert_array_equal(run_op.run("label_mixup(0.4)", np.int32(7)), [7, 7, 1])
    for text in ("mixup(0.2)", "cutmix(1)"):
        with pytest.raises(run_op.Refused, match="one_hot.*label_mixup"):
            run_op.run(text, np.int64(3))
    with pytest.raises(run_op.Refused, match="alpha"):
        run_op.run("mixup(0)", one)
    with pytest.raises(run_op.Refused, match="images and labels"):
        run_op.run("mixup(1)", noise(4, 4, 1), role="mask")


def test_lambda_is_beta_distributed():
    """Beta(1, 1) is uniform: mean 1/2, variance 1/12; Beta(0.2, 0.2) has the variance 1 / (4 * 1.4)."""
    one = np.ones(1, np.float32)
    for alpha, variance in ((1, 1 / 12), (0.2, 1 / 5.6)):
        drawn = np.array([lambdas(run_op.run(f"mixup({alpha})", [one, one], pair=True, seed=seed, draws=True)[1])
                          for seed in range(150)]).ravel()
        assert abs(drawn.mean() - 0.5) < 0.1
        assert abs(drawn.var() - variance) < 0.04


@pytest.mark.parametrize("planar", [False, True])
def test_cutmix_swaps_boxes_and_counts_their_pixels(planar):
    areas = set()
    for seed in range(25):
        a, b = noise(13, 18, 3), noise(13, 18, 3, seed=4)
        if planar:
            a, b = (np.ascontiguousarray(v.transpose(2, 0, 1)) for v in (a, b))
        (x, y), draws = run_op.run("cutmix(1)", [a, b], pair=True, seed=seed, planar=planar, draws=True)
        for mine, other, got, draw in ((a, b, x, draws[0]), (b, a, y, draws[1])):
            share, width, height, x0, y0, x1, y1 = struct.unpack_from("<dIIIIII", draw)
            assert (width, height) == (18, 13) and 0 <= x0 <= x1 <= 18 and 0 <= y0 <= y1 <= 13
            want = mine.copy()
            if planar:
                want[:, y0:y1, x0:x1] = other[:, y0:y1, x0:x1]
            else:
                want[y0:y1, x0:x1] = other[y0:y1, x0:x1]
            np.testing.assert_array_equal(want, got)
            assert share == 1 - (x1 - x0) * (y1 - y0) / (13 * 18)
            areas.add(share)
    assert len(areas) > 20
    one, two = np.eye(2, dtype=np.float32)
    (x, _), draws = run_op.run("cutmix(1)", [one, two], pair=True, frame=(18, 13), draws=True)
    np.testing.assert_array_equal(x, mix(one, two, lambdas(draws)[0], F))
    mask, other = noise(6, 6, 1), noise(6, 6, 1, seed=3)
    x, _ = run_op.run("cutmix(1)", [mask, other], pair=True, role="mask")
    assert np.all((x == mask) | (x == other))


# ---- Labels --------------------------------------------------------------------------------------------------------------------------------


def test_one_hot():
    for dtype in (np.int64, np.int32, np.uint8):
        np.testing.assert_array_equal(run_op.run("one_hot(5)", dtype(3)), np.eye(5, dtype=np.float32)[3])
    labels = np.array([[0, 4], [2, 2]], np.int16)
    np.testing.assert_array_equal(run_op.run("one_hot(5)", labels), np.eye(5, dtype=np.float32)[labels])
    for wrong in (5, -1):
        with pytest.raises(run_op.Refused, match=f"label {wrong} is not one of 5 classes"):
            run_op.run("one_hot(5)", np.int64(wrong))
    with pytest.raises(run_op.Refused, match="whole number"):
        run_op.run("one_hot(5)", np.float32(1))


def test_label_smoothing():
    got = run_op.run("label_smoothing(0.1, classes=4)", np.int64(2))
    keep, share = F(0.9), F(0.1 / 4)
    np.testing.assert_array_equal(got, [share, share, keep + share, share])
    np.testing.assert_array_equal(run_op.run("one_hot(4) | label_smoothing(0.1)", np.int64(2)), got)
    assert got.sum() == pytest.approx(1)
    with pytest.raises(run_op.Refused, match="classes must be given"):
        run_op.run("label_smoothing(0.1)", np.int64(2))


def test_replace_label():
    labels = np.array([0, 1, 2, 255, 1], np.uint8)
    np.testing.assert_array_equal(run_op.run("replace_label(255, 0)", labels), [0, 1, 2, 0, 1])
    np.testing.assert_array_equal(run_op.run("replace_label([1, 2], 7)", labels), [0, 7, 7, 255, 7])
    assert run_op.run("replace_label(-1, 4)", np.int64(-1)) == 4
    with pytest.raises(run_op.Refused, match="does not fit"):
        run_op.run("replace_label(1, 300)", labels)


def test_replace_label_of_listed_samples():
    listed = list(np.random.default_rng(8).permutation(9000)[:4096])
    text = f"replace_label(indices=[{', '.join(map(str, listed))}], label=-3)"
    for sample in [*listed[:5], *listed[-5:]]:
        assert run_op.run(text, np.int64(5), sample=sample, position=1) == -3
        np.testing.assert_array_equal(run_op.run(text, np.arange(6, dtype=np.int16), sample=sample), [-3] * 6)
    for sample in [s for s in range(9003) if s not in set(listed)][::500]:
        assert run_op.run(text, np.int64(5), sample=sample, position=listed[0]) == 5
    with pytest.raises(run_op.Refused, match="from and to must be given, or indices and label"):
        run_op.run("replace_label", np.int64(5))
    with pytest.raises(run_op.Refused, match="4096"):
        run_op.run(f"replace_label(indices=[{', '.join(map(str, range(4097)))}], label=1)", np.int64(5))


# ---- poison -------------------------------------------------------------------------------------------------------------------------------


def ffcv_poison(image, mask, alpha, clamp):
    """What FFCV's Poison says, but for its last step: it cuts off fractions, this rounds."""
    out = np.clip(image.astype(np.float64) * (1 - alpha[:, :, None]) + mask * alpha[:, :, None], *clamp)
    return np.rint(out).astype(image.dtype) if image.dtype.kind == "u" else out.astype(image.dtype)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float16, np.float32])
@pytest.mark.parametrize("planar", [False, True])
def test_poison(dtype, planar):
    rng = np.random.default_rng(6)
    for x, y, h, w, alpha in [(0, 0, 4, 9, 1), (3, 2, 5, 1, 0.3), (10, 6, 300, 300, 0.75), (12, 10, 1, 1, 0), (2, 1, 3, 3, 0.5)]:
        image = (rng.random((11, 13, 3)) * 255).astype(dtype)
        mask, opacity = np.zeros((11, 13, 3)), np.zeros((11, 13))
        mask[:] = [200, 0, 31]
        opacity[y:y + h, x:x + w] = alpha
        given = np.ascontiguousarray(image.transpose(2, 0, 1)) if planar else image
        text = f"poison(indices=[8, 5], x={x}, y={y}, size=[{h}, {w}], color=[200, 0, 31], alpha={alpha}"
        for clamp in [None, (40, 180)]:
            want = ffcv_poison(image, mask, opacity, clamp or (-np.inf, np.inf))
            want[opacity == 0] = image[opacity == 0]  # what lies outside the rectangle is not clamped
            if clamp and alpha == 0:
                want[y:y + h, x:x + w] = np.clip(image[y:y + h, x:x + w], *clamp)
            step = text + (f", clamp=[{clamp[0]}, {clamp[1]}])" if clamp else ")")
            got = run_op.run(step, given, planar=planar, sample=5)
            np.testing.assert_array_equal(want, got.transpose(1, 2, 0) if planar else got)
            for sample in (4, 6, 7, 9):
                np.testing.assert_array_equal(given, run_op.run(step, given, planar=planar, sample=sample, position=5))


def test_poison_leaves_masks_boxes_and_points():
    mask = noise(5, 6, 1)
    np.testing.assert_array_equal(mask, run_op.run("poison(3, 4, 9)", mask, role="mask", sample=3))
    boxes = np.arange(8, dtype=np.float32).reshape(2, 4)
    np.testing.assert_array_equal(boxes, run_op.run("poison(3, 4, 9)", boxes, role="boxes", sample=3))
    with pytest.raises(run_op.Refused, match="an image of at most four channels"):
        run_op.run("poison(3, 4, 9)", np.int64(4), sample=3)


# ---- Arrays -----------------------------------------------------------------------------------------------------------------------------------


def test_gather_reshape_flatten_squeeze():
    array = np.arange(24, dtype=np.int32).reshape(4, 1, 6)
    run = run_op.run
    np.testing.assert_array_equal(run("gather([3, 0, 0])", array, array=True), array[[3, 0, 0]])
    np.testing.assert_array_equal(run("reshape([2, -1, 3])", array, array=True), array.reshape(2, -1, 3))
    np.testing.assert_array_equal(run("flatten", array, array=True), array.ravel())
    np.testing.assert_array_equal(run("squeeze", array, array=True), array[:, 0])
    np.testing.assert_array_equal(run("reshape([1, 1])", np.float64(3)), [[3.0]])
    assert run("squeeze", np.ones((1, 1), np.float32)).shape == ()
    for text, message in (("gather(4)", "no index 4"), ("reshape([5, -1])", "as many elements"), ("reshape([-1, -1])", "only one")):
        with pytest.raises(run_op.Refused, match=message):
            run(text, array, array=True)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 4)])
def test_stack_and_concat(shape):
    rng = np.random.default_rng(1)
    values = [rng.integers(0, 99, shape, dtype=np.int16) if shape else np.int16(k) for k in range(3)]
    for axis in range(-len(shape) - 1, len(shape) + 1):
        np.testing.assert_array_equal(run_op.run(f"stack({axis})", values, array=True), np.stack(values, axis))
    for axis in range(-max(len(shape), 1), max(len(shape), 1)):
        want = np.concatenate([np.atleast_1d(v) for v in values], axis)
        np.testing.assert_array_equal(run_op.run(f"concat({axis})", values, array=True), want)
    with pytest.raises(run_op.Refused, match="no axis"):
        run_op.run(f"stack({len(shape) + 1})", values, array=True)


def test_truncate_and_pad():
    array = np.arange(10, dtype=np.float32).reshape(5, 2)
    np.testing.assert_array_equal(run_op.run("truncate(3)", array), array[:3])
    np.testing.assert_array_equal(run_op.run("truncate(3, side=left)", array), array[-3:])
    np.testing.assert_array_equal(run_op.run("truncate(9)", array), array)
    assert run_op.run("truncate(0)", array).shape == (0, 2)
    np.testing.assert_array_equal(run_op.run("pad(9, value=-1, mask=true)", array), array)  # only says what the batch does
    for text, value, message in (("pad(4)", array, "more than 4"), ("pad(value=-100)", np.zeros(3, np.uint8), "does not fit"),
                                 ("pad(value=0.5)", np.zeros(3, np.int64), "does not fit"), ("ragged", np.float32(1), "at least one")):
        with pytest.raises(run_op.Refused, match=message):
            run_op.run(text, value)


def test_fill():
    """A value passes; a null is the constant in the shape that the steps in front of it make, and those behind it see it."""
    for word, kind in run_op.WORDS.items():
        shape, number = (3, 2), 1 if word == "bool" else 7
        stored = np.zeros(shape, kind)
        if word == "bf16":
            want = np.full(shape, 0x40E0, np.uint16)
        else:
            want = np.full(shape, number, kind)
        np.testing.assert_array_equal(run_op.run(f"fill({number})", stored, dtype=word), stored)
        got = run_op.run(f"fill({number})", stored, dtype=word, null=True)
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)
    number = np.float64(3)
    assert np.isnan(run_op.run("fill(nan)", number, null=True)) and run_op.run("fill(nan)", number) == 3
    label = np.int64(2)
    np.testing.assert_array_equal(run_op.run("one_hot(4) | fill(0.25)", label, null=True), np.full(4, 0.25, F))
    np.testing.assert_array_equal(run_op.run("one_hot(4) | fill(0.25)", label), np.eye(4, dtype=F)[2])
    np.testing.assert_array_equal(run_op.run("fill(3) | one_hot(4)", label, null=True), np.eye(4, dtype=F)[3])


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.float32])
def test_fill_of_images(kind):
    image = noise(6, 8, 3, kind)
    colour = np.broadcast_to(np.array([10, 20, 30], kind), (5, 4, 3))
    np.testing.assert_array_equal(run_op.run("center_crop([5, 4]) | fill([10, 20, 30])", image, null=True), colour)
    np.testing.assert_array_equal(run_op.run("center_crop([5, 4]) | chw | fill([10, 20, 30])", image, null=True),
                                  colour.transpose(2, 0, 1))
    np.testing.assert_array_equal(run_op.run("center_crop([5, 4]) | fill([10, 20, 30]) | chw", image, null=True),
                                  colour.transpose(2, 0, 1))
    np.testing.assert_array_equal(run_op.run("fill(9)", image, null=True), np.full_like(image, 9))
    for text, value, message in (("fill(256)", image.astype(np.uint8), "does not fit"), ("fill([1, 2])", image, "one is enough"),
                                 ("fill(nan)", np.int32(1), "does not fit"), ("fill([1, 2])", np.zeros(2, F), "one is enough")):
        with pytest.raises(run_op.Refused, match=message):
            run_op.run(text, value)
