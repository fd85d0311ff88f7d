"""autoaugment, border and grid_mask: draws and pixels against torchvision's tables, numpy.pad and a definition in NumPy."""

import collections
import struct

import numpy as np
import pytest

import peers
import run_op
from test_ops_reference import WHITE, noise, smooth
from test_ops_values import KINDS, change, items_of

pytestmark = pytest.mark.skipif(run_op.program() is None, reason="no run_op: set MLDF or MLDF_RUN_OP")

NAMES = {"AutoContrast": "autocontrast", "ShearX": "shear_x", "ShearY": "shear_y", "TranslateX": "translate_x",
         "TranslateY": "translate_y"}
ALL = [*KINDS, "invert"]


def published(policy):
    """torchvision's pairs, with our names: ((name, probability, magnitude's number), ...)."""
    pytest.importorskip("torch")
    autoaugment = peers.import_torchvision().transforms.autoaugment
    found = autoaugment.AutoAugment(autoaugment.AutoAugmentPolicy(policy))
    return [tuple((NAMES.get(n, n.lower()), p, m) for n, p, m in pair) for pair in found.policies]


def magnitude(name, number, width, height):
    part = (number or 0) / 9
    return {"shear_x": 0.3 * part, "shear_y": 0.3 * part, "translate_x": 150 / 331 * width * part,
            "translate_y": 150 / 331 * height * part, "rotate": 30 * part, "brightness": 0.9 * part, "color": 0.9 * part,
            "contrast": 0.9 * part, "sharpness": 0.9 * part, "posterize": 8 - round((number or 0) / (9 / 4)),
            "solarize": 1 - part}.get(name, 0)


def outcomes(pair, width, height):
    """What a pair can become: (name, |value|) of the changes that are made → their probability."""
    out = collections.Counter()
    for first in (True, False):
        for second in (True, False):
            chance, items = 1.0, []
            for done, (name, p, number) in zip((first, second), pair):
                chance *= p if done else 1 - p
                items += [(name, round(abs(magnitude(name, number, width, height)), 6))] if done else []
            if chance > 0:
                out[tuple(items)] += chance
    return out


@pytest.mark.parametrize("policy", ["imagenet", "cifar10", "svhn"])
def test_pairs_probabilities_and_magnitudes_are_the_published_ones(policy):
    image, runs = noise(20, 40, 3), 2400
    want = collections.Counter()
    for pair in published(policy):
        for items, chance in outcomes(pair, 40, 20).items():
            want[items] += chance / 25
    seen, signs = collections.Counter(), collections.defaultdict(set)
    text = " | ".join([f"autoaugment({policy})"] * 16)  # many draws for one start of the program
    draws = [d for seed in range(runs // 16) for d in run_op.run(text, image, seed=seed, draws=True)[1]]
    for draw in draws:
        items = items_of(draw)
        for kind, value in items:
            if value:
                signs[ALL[kind]].add(value > 0)
        seen[tuple((ALL[kind], round(abs(value), 6)) for kind, value in items)] += 1
    assert set(seen) <= set(want), set(seen) - set(want)
    for items, chance in want.items():
        deviation = (chance * (1 - chance) / runs) ** 0.5
        assert abs(seen[items] / runs - chance) < 5 * deviation + 1e-3, (items, seen[items] / runs, chance)
    both = {name for name, found in signs.items() if len(found) == 2}
    assert both == set(signs) & {"shear_x", "shear_y", "translate_x", "translate_y", "rotate", "brightness", "color",
                                 "contrast", "sharpness"}


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_autoaugment_makes_the_changes_that_were_drawn(dtype):
    seen = set()
    for seed in range(60):
        image = (noise if seed % 2 else smooth)(17 + seed % 5, 20 + seed % 3, 3, dtype)
        bilinear = seed % 3 == 0
        fill = [0.25, 0.5, 0.75] if dtype == np.float32 else [3, 100, 200]
        way = ", interpolation=bilinear" if bilinear else ""
        policy = ("imagenet", "cifar10", "svhn")[seed % 3]
        got, [draw] = run_op.run(f"autoaugment({policy}{way}, fill={fill})", image, seed=seed, draws=True)
        want, turned = image, False
        for kind, value in items_of(draw):
            seen.add(ALL[kind])
            turned |= ALL[kind] == "rotate"
            want = WHITE[want.dtype] - want if ALL[kind] == "invert" else change(want, kind, value, bilinear, fill)
        if turned and not np.array_equal(want, got):  # the last bit of a sine
            assert np.mean(want != got) < 0.01, (seed, items_of(draw))
        else:
            np.testing.assert_array_equal(want, got, err_msg=f"seed {seed} {items_of(draw)}")
    assert {"invert", "equalize", "autocontrast"} <= seen


# ---- border ------------------------------------------------------------------------------------------------------------------------------


def sides(padding):
    if isinstance(padding, int):
        return [padding] * 4
    return [*padding, *padding] if len(padding) == 2 else padding


@pytest.mark.parametrize("planar", [False, True])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric"])
def test_border_is_numpy_pad(mode, dtype, planar):
    for padding in (0, 3, [2, 5], [1, 0, 40, 7]):
        for height, width, channels in ((6, 9, 3), (1, 1, 1), (1, 5, 4), (17, 2, 3)):
            image = noise(height, width, channels, dtype)
            left, top, right, bottom = sides(padding)
            around = [(top, bottom), (left, right), (0, 0)]
            if mode == "constant":
                want = np.stack([np.pad(image[:, :, c], around[:2], constant_values=7 + c) for c in range(channels)], 2)
            else:
                want = np.pad(image, around, mode)
            fill = f", fill={[7, 8, 9, 10][:channels]}" if mode == "constant" else ""
            value = np.ascontiguousarray(image.transpose(2, 0, 1)) if planar else image
            got = run_op.run(f"border({padding}, {mode}{fill})", value, planar=planar)
            np.testing.assert_array_equal(want.transpose(2, 0, 1) if planar else want, got, err_msg=f"{padding} {mode}")


def test_border_moves_boxes_and_points_and_fills_masks():
    boxes = np.array([[1, 2, 5, 6]], np.float32)
    np.testing.assert_array_equal(run_op.run("border([3, 4, 5, 6])", boxes, role="boxes", frame=(9, 8)), boxes + [3, 4, 3, 4])
    points = np.array([[1, 2, 77]], np.float32)
    np.testing.assert_array_equal(run_op.run("border([3, 4])", points, role="points", frame=(9, 8)), points + [3, 4, 0])
    mask = noise(4, 5, 1)
    np.testing.assert_array_equal(run_op.run("border(2, fill=9, mask_fill=255)", mask, role="mask"),
                                  np.pad(mask, [(2, 2), (2, 2), (0, 0)], constant_values=255))


def test_border_refuses_what_it_does_not_know():
    for text, message in (("border([1, 2, 3])", "3 numbers"), ("border(-1)", "padding"), ("border(1, mirror)", "constant"),
                          ("border(1, fill=300)", "fill")):
        with pytest.raises(run_op.Refused, match=message):
            run_op.run(text, noise(4, 4, 3))


# ---- grid_mask ---------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_grid_mask_paints_squares_of_the_grid_that_was_drawn(dtype):
    places = set()
    for seed in range(40):
        height, width = 20 + seed % 7, 31 - seed % 5
        image = noise(height, width, 3, dtype)
        got, [draw] = run_op.run("grid_mask([0.2, 0.9], 0.4, p=0.8, fill=[1, 2, 3])", image, seed=seed, draws=True)
        on, step, side, x, y = struct.unpack_from("<?3xIIII", draw)
        assert int(min(height, width) * 0.2) <= step <= min(height, width) * 0.9 and side == int(step * 0.4)
        assert x < step and y < step
        rows, columns = (np.arange(height) + y) % step < side, (np.arange(width) + x) % step < side
        want = image.copy()
        if on:
            want[rows[:, None] & columns] = [1, 2, 3]
        np.testing.assert_array_equal(want, got, err_msg=f"seed {seed}")
        places.add((on, x, y))
    assert {on for on, *_ in places} == {False, True} and len(places) > 20


def test_grid_mask_leaves_masks_and_boxes():
    mask = noise(9, 9, 1)
    np.testing.assert_array_equal(run_op.run("grid_mask(p=1)", mask, role="mask"), mask)
    with pytest.raises(run_op.Refused, match="smaller"):
        run_op.run("grid_mask([0.5, 0.2])", noise(4, 4, 3))
