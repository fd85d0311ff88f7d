"""Operations that move, paint and blur pixels, against NumPy and Pillow: images of every layout and type, masks, boxes and points.

What an operation draws is foretold from the same random numbers (random_numbers.py) by torchvision's and FFCV's published ways."""

import functools
import math

import numpy as np
import pytest
from PIL import Image, ImageOps

import run_op
from random_numbers import Rng

pytestmark = pytest.mark.skipif(run_op.program() is None, reason="no run_op: set MLDF or MLDF_RUN_OP")

F = np.float32
SIZES = [(1, 1), (1, 7), (6, 1), (2, 2), (16, 16), (15, 22), (31, 17)]
TYPES = [np.uint8, np.uint16, np.float32]


def noise(height, width, channels, dtype=np.uint8, seed=0):
    values = np.random.default_rng([seed, height, width, channels]).random((height, width, channels))
    return values.astype(F) if dtype == np.float32 else (values * (np.iinfo(dtype).max + 1)).astype(dtype)


def noise_f16(height, width, channels):
    return noise(height, width, channels, np.float32).astype(np.float16)


def images(channels=(1, 3, 4), dtypes=TYPES):
    for i, (height, width) in enumerate(SIZES):
        for dtype in dtypes:
            yield noise(height, width, channels[i % len(channels)], dtype)


def rng_of(name, seed, times=0, epoch=0, position=0):
    return Rng(seed, epoch, position, f"run_op/{name}/{times}/0")


def planar(image):
    return np.ascontiguousarray(image.transpose(2, 0, 1))


def both_layouts(text, image, **options):
    """The result of the interleaved image; that of the planar one is the same."""
    got = run_op.run(text, image, **options)
    other = run_op.run(text, planar(image), planar=True, **options)
    np.testing.assert_array_equal(planar(got), other, err_msg=f"{text} planar {options}")
    return got


def same(want, got, *about):
    assert want.dtype == got.dtype and want.shape == got.shape, (want.dtype, want.shape, got.dtype, got.shape, about)
    np.testing.assert_array_equal(want, got, err_msg=str(about))


# ---- Crops and mirrors ------------------------------------------------------------------------------------------------------------------


def padded_window(image, left, top, right, bottom, x, y, width, height, fill=0):
    wide = np.empty((image.shape[0] + top + bottom, image.shape[1] + left + right, image.shape[2]), image.dtype)
    wide[:] = np.asarray(fill).astype(image.dtype)
    wide[top:top + image.shape[0], left:left + image.shape[1]] = image
    return wide[y:y + height, x:x + width]


def moved(points, scale=(1, 1), shift=(0, 0), mirror=(None, None)):
    """[..., 2]: shifted, then scaled, then mirrored in an image of the given sides."""
    out = (np.asarray(points, np.float64) + shift) * scale
    for k in range(2):
        if mirror[k] is not None:
            out[..., k] = mirror[k] - out[..., k]
    return out


def hull(corners, width, height):
    """[n, k, 2] → boxes [n, 4], cut."""
    low, high = corners.min(axis=1), corners.max(axis=1)
    return np.clip(np.concatenate([low, high], axis=1), 0, [width, height, width, height])


def corners_of(boxes):
    x0, y0, x1, y1 = np.asarray(boxes, np.float64).T
    return np.stack([np.stack([x0, y0], 1), np.stack([x1, y0], 1), np.stack([x1, y1], 1), np.stack([x0, y1], 1)], 1)


def check_things(text, seed, frame, new, move):
    """Boxes and points of an image of frame (w, h) that becomes `new` (w, h); move: points [..., 2] → points."""
    w, h = frame
    rng = np.random.default_rng(seed)
    points = rng.uniform(-0.2, 1.2, (7, 2)) * [w, h]
    a, b = rng.uniform(0, 1, (9, 2)) * [w, h], rng.uniform(0, 1, (9, 2)) * [w, h]
    boxes = np.concatenate([np.minimum(a, b), np.maximum(a, b)], axis=1)
    with_more = np.concatenate([points, rng.random((7, 1)) * 9], axis=1)
    for dtype in (np.float32, np.float64, np.int32):
        mine, scale = with_more.astype(dtype), max(1.0, *new, *frame)
        got = run_op.run(text, mine, seed=seed, array=True, role="points", frame=frame)
        assert got.dtype == np.float32
        np.testing.assert_allclose(got[:, :2], move(mine[:, :2]), atol=4e-6 * scale, rtol=1e-5, err_msg=text)
        np.testing.assert_array_equal(got[:, 2], mine[:, 2].astype(F))
        mine = boxes.astype(dtype)
        got = run_op.run(text, mine, seed=seed, array=True, role="boxes", frame=frame)
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, hull(move(corners_of(mine)), *new), atol=4e-6 * scale, rtol=1e-5, err_msg=text)


@pytest.mark.parametrize("name", ["hflip", "vflip"])
def test_flips(name):
    flipped = 0
    for seed, image in enumerate(images()):
        on = rng_of(name, seed).chance(0.5)
        flipped += on
        want = (image[:, ::-1] if name == "hflip" else image[::-1]) if on else image
        same(want, both_layouts(name, image, seed=seed), name, seed)
        same(want, run_op.run(name, image, seed=seed, role="mask"), name, seed)
        height, width = image.shape[:2]
        mirror = ((width, None) if name == "hflip" else (None, height)) if on else (None, None)
        check_things(name, seed, (width, height), (width, height), lambda p, m=mirror: moved(p, mirror=m))
    assert 0 < flipped < 21
    image = noise(9, 14, 3)
    turn = ImageOps.mirror if name == "hflip" else ImageOps.flip
    same(np.asarray(turn(Image.fromarray(image))), run_op.run(f"{name}(p=1)", image))
    same(image, run_op.run(f"{name}(p=0)", image))
    same(noise_f16(5, 6, 3)[::-1 if name == "vflip" else 1, ::-1 if name == "hflip" else 1],
         run_op.run(f"{name}(p=1)", noise_f16(5, 6, 3)))


def test_center_crop_and_what_it_pads():
    for seed, image in enumerate(images()):
        height, width, channels = image.shape
        for h, w in [(1, 1), (4, 5), (15, 16), (16, 15), (33, 40)]:
            lack_x, lack_y = max(0, w - width), max(0, h - height)
            pads = lack_x // 2, lack_y // 2, lack_x - lack_x // 2, lack_y - lack_y // 2
            full_w, full_h = width + lack_x, height + lack_y
            x, y = int(round((full_w - w) / 2)), int(round((full_h - h) / 2))
            fill = [9, 8, 7, 6][:channels]
            text = f"center_crop([{h}, {w}], fill={fill}, mask_fill=3)"
            same(padded_window(image, *pads, x, y, w, h, fill), both_layouts(text, image), text, image.shape)
            same(padded_window(image, *pads, x, y, w, h, 3), run_op.run(text, image, role="mask"), text)
        text = "center_crop([4, 5])"
        pads = max(0, 5 - width) // 2, max(0, 4 - height) // 2
        shift = (pads[0] - round((max(width, 5) - 5) / 2), pads[1] - round((max(height, 4) - 4) / 2))
        check_things(text, seed, (width, height), (5, 4), lambda p, s=shift: moved(p, shift=s))


def test_random_crop_with_padding():
    for seed, image in enumerate(images()):
        height, width, _ = image.shape
        left, top, right, bottom = 4, 3, 2, 1
        h, w = 6, 7
        text = f"random_crop([{h}, {w}], padding=[4, 3, 2, 1], pad_if_needed=true, fill=200, mask_fill=1)"
        full_w, full_h = width + left + right, height + top + bottom
        lack_x, lack_y = max(0, w - full_w), max(0, h - full_h)
        pads = left + lack_x, top + lack_y, right + lack_x, bottom + lack_y
        full_w, full_h = full_w + 2 * lack_x, full_h + 2 * lack_y
        rng = rng_of("random_crop", seed)
        y, x = rng.below(full_h - h + 1), rng.below(full_w - w + 1)
        same(padded_window(image, *pads, x, y, w, h, 200), both_layouts(text, image, seed=seed), text, seed)
        same(padded_window(image, *pads, x, y, w, h, 1), run_op.run(text, image, seed=seed, role="mask"), text, seed)
        shift = pads[0] - x, pads[1] - y
        check_things(text, seed, (width, height), (w, h), lambda p, s=shift: moved(p, shift=s))
    image = noise(8, 8, 3)
    with pytest.raises(run_op.Refused, match="smaller than the crop"):
        run_op.run("random_crop(9)", image)
    for bad in ["random_crop(9, fill=256)", "random_crop(9, fill=0.5)", "random_crop(9, fill=[1, 2])",
                "random_crop(9, padding=[1, 2, 3])"]:
        with pytest.raises(run_op.Refused, match="fill|padding"):
            run_op.run(bad, image)


def nearest_of(image, height, width):
    rows = [(2 * i + 1) * image.shape[0] // (2 * height) for i in range(height)]
    columns = [(2 * i + 1) * image.shape[1] // (2 * width) for i in range(width)]
    return image[rows][:, columns]


def pil_resized(image, height, width, way):
    planes = [np.asarray(Image.fromarray(image[:, :, c]).resize((width, height), way)) for c in range(image.shape[2])]
    return np.stack(planes, -1)


def check_resized(text, name, image, window, height, width, seed):
    """window: x, y, w, h of the image."""
    x, y, w, h = window
    crop = image[y:y + h, x:x + w]
    near = text.replace(name + "(", name + "(filter=nearest, ", 1)
    same(nearest_of(crop, height, width), run_op.run(near, image, seed=seed), near, seed)
    same(nearest_of(crop, height, width), run_op.run(text, image, seed=seed, role="mask"), text, seed)
    if image.dtype == np.uint8:
        got = run_op.run(text, image, seed=seed)
        want = pil_resized(crop, height, width, Image.Resampling.BILINEAR)
        assert np.abs(got.astype(int) - want).max() <= 1, (text, seed, window)  # Pillow goes across first
    check_things(text, seed, image.shape[1::-1], (width, height),
                 lambda p: moved(p, shift=(-x, -y), scale=(width / w, height / h)))


def integer_images():
    return images(dtypes=[np.uint8, np.uint16])


def test_resize():
    for seed, image in enumerate(integer_images()):
        height, width = image.shape[:2]
        for h, w in [(1, 1), (5, 9), (40, 33)]:
            check_resized(f"resize(size=[{h}, {w}])", "resize", image, (0, 0, width, height), h, w, seed)
        short, long = min(width, height), max(width, height)
        longer = 8 * long // short
        h, w = (longer, 8) if width < height else (8, longer)
        check_resized("resize(size=8)", "resize", image, (0, 0, width, height), h, w, seed)
        if longer > 10:
            a, b = max(1, 8 * 10 // longer), 10
            h, w = (b, a) if width < height else (a, b)
            check_resized("resize(size=8, max_size=10)", "resize", image, (0, 0, width, height), h, w, seed)
    with pytest.raises(run_op.Refused, match="before normalize"):
        run_op.run("resize(8)", noise(5, 5, 3, np.float32))


def test_center_resized_crop():
    for seed, image in enumerate(integer_images()):
        height, width = image.shape[:2]
        side = max(1, int(0.875 * min(width, height)))
        window = (width - side) // 2, (height - side) // 2, side, side
        check_resized("center_resized_crop(size=[9, 12])", "center_resized_crop", image, window, 9, 12, seed)


def rrc_window(rng, width, height, scale, ratio):
    """torchvision's RandomResizedCrop.get_params."""
    area, logs = width * height, [math.log(r) for r in ratio]
    for _ in range(10):
        target = area * rng.uniform(*scale)
        aspect = math.exp(rng.uniform(*logs))
        w, h = round(math.sqrt(target * aspect)), round(math.sqrt(target / aspect))
        if 0 < w <= width and 0 < h <= height:
            y = rng.below(height - h + 1)
            return rng.below(width - w + 1), y, w, h
    w, h = width, height
    if width / height < ratio[0]:
        h = round(w / ratio[0])
    elif width / height > ratio[1]:
        w = round(h * ratio[1])
    return (width - w) // 2, (height - h) // 2, w, h


def test_random_resized_crop():
    for seed in range(4):
        for image in integer_images():
            height, width = image.shape[:2]
            for scale, ratio in [((0.08, 1.0), (3 / 4, 4 / 3)), ((0.5, 1.0), (0.9, 1.1))]:
                window = rrc_window(rng_of("random_resized_crop", seed), width, height, scale, ratio)
                text = f"random_resized_crop(size=[8, 11], scale=[{scale[0]}, {scale[1]}], ratio=[{ratio[0]!r}, {ratio[1]!r}])"
                check_resized(text, "random_resized_crop", image, window, 8, 11, seed)


# ---- Maps of the plane --------------------------------------------------------------------------------------------------------------------


def places(m, height, width):
    y, x = np.mgrid[0:height, 0:width] + 0.5
    w = m[6] * x + m[7] * y + m[8]
    with np.errstate(all="ignore"):
        u, v = (m[0] * x + m[1] * y + m[2]) / w, (m[3] * x + m[4] * y + m[5]) / w
    u[w <= 0] = v[w <= 0] = -8
    return u, v


def check_nearest(image, m, fill, got, about, tolerance=1e-7):
    u, v = places(m, *got.shape[:2])
    height, width = image.shape[:2]
    sure = (np.abs(u - np.rint(u)) > tolerance) & (np.abs(v - np.rint(v)) > tolerance)
    inside = (u >= 0) & (u < width) & (v >= 0) & (v < height)
    want = np.empty_like(got)
    want[:] = np.asarray(fill).astype(got.dtype)
    want[inside] = image[np.floor(v[inside]).astype(int), np.floor(u[inside]).astype(int)]
    same(want[sure], got[sure], *about)
    return sure.mean()


def check_bilinear(image, m, fill, got, about):
    u, v = places(m, *got.shape[:2])
    height, width, channels = image.shape
    framed = np.empty((height + 4, width + 4, channels))
    framed[:] = np.asarray(fill)
    framed[2:-2, 2:-2] = image
    u, v = np.clip(u - 0.5, -2, width), np.clip(v - 0.5, -2, height)
    i, j = np.floor(u).astype(int), np.floor(v).astype(int)
    fx, fy = (u - i)[:, :, None], (v - j)[:, :, None]

    def tap(dy, dx):
        return framed[j + 2 + dy, i + 2 + dx]

    want = (tap(0, 0) * (1 - fx) + tap(0, 1) * fx) * (1 - fy) + (tap(1, 0) * (1 - fx) + tap(1, 1) * fx) * fy
    white = 1 if image.dtype == np.float32 else np.iinfo(image.dtype).max
    slack = 2e-6 * white + (0 if image.dtype == np.float32 else 0.5)
    assert np.abs(got - want).max() <= slack, (about, np.abs(got - want).max())


def forward(m):
    inverse = np.linalg.inv(np.reshape(m, (3, 3)))

    def move(points):
        out = np.concatenate([points, np.ones((*points.shape[:-1], 1))], -1) @ inverse.T
        return out[..., :2] / out[..., 2:]
    return move


def rotation(degrees, x, y):
    c, s = (round(f(math.radians(degrees)), 15) for f in (math.cos, math.sin))
    return [c, -s, x - c * x + s * y, s, c, y - s * x - c * y, 0, 0, 1]


def fill_of(image):
    return [0.25, 0.5, 0.75, 1][:image.shape[2]] if image.dtype == np.float32 else [1, 20, 50, 255][:image.shape[2]]


def check_warped(text, name, image, m, new, seed):
    """text ends with ")"; new: the result's (width, height)."""
    fill, about = fill_of(image), (text, seed, image.shape, image.dtype)
    got = both_layouts(f"{text[:-1]}, filter=nearest, fill={fill})", image, seed=seed)
    assert got.shape == (new[1], new[0], image.shape[2]), (got.shape, about)
    sure = check_nearest(image, m, fill, got, about)
    check_bilinear(image, m, fill, both_layouts(f"{text[:-1]}, filter=bilinear, fill={fill})", image, seed=seed), about)
    mask = run_op.run(f"{text[:-1]}, filter=bilinear, fill={fill}, mask_fill=1)", image, seed=seed, role="mask")
    check_nearest(image, m, 1, mask, about)
    return sure


def test_rotate():
    sure = []
    for seed, image in enumerate(images()):
        height, width = image.shape[:2]
        degrees = rng_of("rotate", seed).uniform(-35, 35)
        m = rotation(degrees, width / 2, height / 2)
        sure.append(check_warped("rotate(35)", "rotate", image, m, (width, height), seed))
        check_things("rotate(35)", seed, (width, height), (width, height), forward(m))
        m = rotation(rng_of("rotate", seed).uniform(100, 170), 3.5, 2)
        sure.append(check_warped("rotate([100, 170], center=[3.5, 2])", "rotate", image, m, (width, height), seed))
        check_things("rotate([100, 170], center=[3.5, 2])", seed, (width, height), (width, height), forward(m))
    assert np.mean(sure) > 0.99  # few places lie on the edge of a pixel


def expanded(m, width, height):
    corners = [(m[0] * x + m[1] * y + m[2], m[3] * x + m[4] * y + m[5]) for x in (0, width) for y in (0, height)]
    xs, ys = zip(*corners)
    return math.ceil(max(xs)) - math.floor(min(xs)), math.ceil(max(ys)) - math.floor(min(ys))


def test_rotate_expands():
    for seed, image in enumerate(images()):
        height, width = image.shape[:2]
        m = rotation(rng_of("rotate", seed).uniform(10, 80), width / 2, height / 2)
        new = expanded(m, width, height)
        dx, dy = (new[0] - width) / 2, (new[1] - height) / 2
        m[2], m[5] = m[2] - m[0] * dx - m[1] * dy, m[5] - m[3] * dx - m[4] * dy
        check_warped("rotate([10, 80], expand=true)", "rotate", image, m, new, seed)
        check_things("rotate([10, 80], expand=true)", seed, (width, height), new, forward(m))
        if seed == 0:  # nothing of the image is lost
            got = run_op.run("rotate([10, 80], expand=true)", np.ones((40, 60, 1), np.uint8), seed=seed)
            assert abs(int(got.sum()) - 2400) < 60
    with pytest.raises(run_op.Refused, match="around the middle"):
        run_op.run("rotate(10, expand=true, center=[1, 1])", noise(4, 4, 3))


@pytest.mark.parametrize("way", ["nearest", "bilinear"])
def test_quarter_turns_are_exact(way):
    for image in images():
        for quarter in range(-2, 5):
            text = f"rotate([{90 * quarter}, {90 * quarter}], expand=true, filter={way})"
            same(np.rot90(image, quarter), both_layouts(text, image), text)


def affine_draw(rng, width, height, degrees, translate, scale, shear):
    angle = rng.uniform(*degrees)
    dx = round(rng.uniform(-translate[0] * width, translate[0] * width))
    dy = round(rng.uniform(-translate[1] * height, translate[1] * height))
    return angle, dx, dy, rng.uniform(*scale), rng.uniform(*shear[:2]), rng.uniform(*shear[2:])


def affine_map(angle, dx, dy, scale, shear_x, shear_y, x, y):
    """The product of matrices that torchvision documents: T C R(angle) S(scale) Shear C^-1, and its inverse."""
    r, sx, sy = math.radians(angle), math.radians(shear_x), math.radians(shear_y)
    move = np.array([[1, 0, x + dx], [0, 1, y + dy], [0, 0, 1]])
    turn = np.array([[math.cos(r), -math.sin(r), 0], [math.sin(r), math.cos(r), 0], [0, 0, 1]])
    shear_along_y = np.array([[1, 0, 0], [-math.tan(sy), 1, 0], [0, 0, 1]])
    shear_along_x = np.array([[1, -math.tan(sx), 0], [0, 1, 0], [0, 0, 1]])
    back = np.array([[1, 0, -x], [0, 1, -y], [0, 0, 1]])
    whole = move @ (np.diag([scale, scale, 1]) @ turn @ shear_along_y @ shear_along_x) @ back
    return np.linalg.inv(whole).ravel()


def test_affine():
    cases = [("affine(30)", ((-30, 30), (0, 0), (1, 1), (0, 0, 0, 0)), None),
             ("affine([5, 40], translate=[0.3, 0.1], scale=[0.5, 2])", ((5, 40), (0.3, 0.1), (0.5, 2), (0, 0, 0, 0)), None),
             ("affine(0, shear=20)", ((0, 0), (0, 0), (1, 1), (-20, 20, 0, 0)), None),
             ("affine(15, shear=[-10, 30, 5, 15], center=[2, 3.5])", ((-15, 15), (0, 0), (1, 1), (-10, 30, 5, 15)), (2, 3.5))]
    for seed, image in enumerate(images()):
        height, width = image.shape[:2]
        for text, ranges, center in cases:
            x, y = center or (width / 2, height / 2)
            m = affine_map(*affine_draw(rng_of("affine", seed), width, height, *ranges), x, y)
            m[np.abs(m) < 1e-13] = 0
            check_warped(text, "affine", image, m, (width, height), seed)
            check_things(text, seed, (width, height), (width, height), forward(m))


def perspective_map(start, end):
    """The eight coefficients that take `end` to `start`, by solving for them."""
    rows, right = [], []
    for (x, y), (u, v) in zip(end, start):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        right += [u, v]
    return [*np.linalg.solve(np.array(rows, float), np.array(right, float)), 1.0]


def perspective_corners(rng, width, height, distortion):
    far_x, far_y = int(distortion * (width // 2)), int(distortion * (height // 2))
    steps = [(rng.below(far_x + 1), rng.below(far_y + 1)) for _ in range(4)]
    (a, b), (c, d), (e, f), (g, h) = steps
    return [(a, b), (width - 1 - c, d), (width - 1 - e, height - 1 - f), (g, height - 1 - h)]


def test_perspective():
    tilted = 0
    for seed in range(12):
        for size in [(1, 1), (1, 9), (5, 6), (16, 16), (31, 17)]:
            image = noise(*size, 3, TYPES[seed % 3])
            height, width = size
            rng = rng_of("perspective", seed)
            on = rng.chance(0.5) and min(size) > 1
            m = [1, 0, 0, 0, 1, 0, 0, 0, 1]
            if on:
                start = [(0, 0), (width - 1, 0), (width - 1, height - 1), (0, height - 1)]
                m = perspective_map(start, perspective_corners(rng, width, height, 0.5))
            tilted += on
            check_warped("perspective(distortion_scale=0.5)", "perspective", image, m, (width, height), seed)
            check_things("perspective(distortion_scale=0.5)", seed, (width, height), (width, height), forward(m))
    assert 6 < tilted < 30


def test_pillow_shows_the_same_maps():
    """Pillow's affine transform steps in 16.16 fixed point: places near a pixel's edge are left out."""
    pixels = noise(37, 52, 3)
    image = Image.fromarray(pixels)
    for seed in range(6):
        degrees = rng_of("rotate", seed).uniform(-60, 60)
        got = run_op.run("rotate(60)", pixels, seed=seed)
        theirs = np.asarray(image.rotate(degrees, Image.Resampling.NEAREST))
        u, v = places(rotation(degrees, 26, 18.5), 37, 52)
        sure = (np.abs(u - np.rint(u)) > 4e-3) & (np.abs(v - np.rint(v)) > 4e-3)
        same(theirs[sure], got[sure], seed)
        assert sure.mean() > 0.95
        theirs = image.rotate(degrees, Image.Resampling.NEAREST, expand=True)
        assert run_op.run("rotate(60, expand=true)", pixels, seed=seed).shape[1::-1] == theirs.size
        rng = rng_of("perspective", seed)
        rng.chance(1)
        m = perspective_map([(0, 0), (51, 0), (51, 36), (0, 36)], perspective_corners(rng, 52, 37, 0.5))
        theirs = np.asarray(image.transform((52, 37), Image.Transform.PERSPECTIVE, m[:8], Image.Resampling.NEAREST))
        check_nearest(pixels, m, 0, theirs, (seed, "Pillow"))
        got = run_op.run("perspective(p=1, filter=nearest)", pixels, seed=seed)
        u, v = places(m, 37, 52)
        sure = (np.abs(u - np.rint(u)) > 1e-7) & (np.abs(v - np.rint(v)) > 1e-7)
        same(theirs[sure], got[sure], seed)


def test_warps_refuse():
    image = noise(6, 6, 3)
    for text, match in [("rotate([9, 3])", "smaller comes first"), ("rotate(-3)", "below 0"), ("affine(3, shear=[1, 2, 3])", "shear"),
                        ("affine(3, scale=[2, 1])", "scale"), ("affine(3, shear=[1, 2, 4, 3])", "smaller comes first"),
                        ("rotate(3, fill=[1, 2])", "channels"), ("rotate(3, fill=300)", "0 to 255")]:
        with pytest.raises(run_op.Refused, match=match):
            run_op.run(text, image)
    with pytest.raises(run_op.Refused, match="bilinear"):
        run_op.run("rotate(3, filter=bilinear)", noise_f16(6, 6, 3))
    same(np.rot90(noise_f16(6, 6, 3)), run_op.run("rotate([90, 90])", noise_f16(6, 6, 3)))


# ---- Painting -----------------------------------------------------------------------------------------------------------------------------


def test_random_translate():
    for seed, image in enumerate(images()):
        height, width = image.shape[:2]
        for padding in (0, 3, 40):
            rng = rng_of("random_translate", seed)
            y, x = rng.below(2 * padding + 1), rng.below(2 * padding + 1)
            fill = fill_of(image)
            text = f"random_translate({padding}, fill={fill}, mask_fill=1)"
            pads = (padding,) * 4
            same(padded_window(image, *pads, x, y, width, height, np.asarray(fill)), both_layouts(text, image, seed=seed), text)
            same(padded_window(image, *pads, x, y, width, height, 1), run_op.run(text, image, seed=seed, role="mask"), text)
            shift = padding - x, padding - y
            check_things(text, seed, (width, height), (width, height), lambda p, s=shift: moved(p, shift=s))


def carried(text, seed):
    for role, value in [("mask", noise(9, 8, 1)), ("boxes", np.arange(8, dtype=F).reshape(2, 4)), ("points", np.ones((3, 2)))]:
        same(value, run_op.run(text, value, seed=seed, role=role, array=role != "mask", frame=(8, 9)), text, role)


def test_cutout():
    for seed, image in enumerate(images()):
        height, width = image.shape[:2]
        for size in (1, 5, 16, 40):
            rng = rng_of("cutout", seed)
            w, h = min(size, width), min(size, height)
            y, x = rng.below(height - h + 1), rng.below(width - w + 1)
            want, fill = image.copy(), fill_of(image)
            want[y:y + h, x:x + w] = np.asarray(fill).astype(image.dtype)
            same(want, both_layouts(f"cutout({size}, fill={fill})", image, seed=seed), size, seed)
    carried("cutout(4)", 1)


def erasing_window(rng, width, height, p, scale, ratio):
    if not rng.chance(p):
        return None
    for _ in range(10):
        part = width * height * rng.uniform(*scale)
        aspect = math.exp(rng.uniform(math.log(ratio[0]), math.log(ratio[1])))
        h, w = round(math.sqrt(part * aspect)), round(math.sqrt(part / aspect))
        if h < height and w < width:
            y = rng.below(height - h + 1)
            return rng.below(width - w + 1), y, w, h
    return None


def test_erasing():
    erased = 0
    for seed in range(3):
        for image in images():
            height, width = image.shape[:2]
            rng = rng_of("erasing", seed)
            window = erasing_window(rng, width, height, 0.7, (0.02, 0.33), (0.3, 3.3))
            want, fill = image.copy(), fill_of(image)
            if window:
                x, y, w, h = window
                want[y:y + h, x:x + w] = np.asarray(fill).astype(image.dtype)
                erased += 1
            same(want, both_layouts(f"erasing(p=0.7, value={fill})", image, seed=seed), seed, image.shape)
            if not window:
                continue
            values = [rng.normal() if image.dtype == F else rng.u32() & np.iinfo(image.dtype).max
                      for _ in range(w * h * image.shape[2])]
            want[y:y + h, x:x + w] = np.array(values).reshape(image.shape[2], h, w).transpose(1, 2, 0).astype(image.dtype)
            got = both_layouts("erasing(p=0.7, value=random)", image, seed=seed)
            if image.dtype == F:
                np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)
            else:
                same(want, got, seed)
    assert erased > 20
    carried("erasing(p=1)", 1)
    for bad in ["erasing(scale=[0.5, 0.1])", "erasing(ratio=[3, 1])", "erasing(value=700)"]:
        with pytest.raises(run_op.Refused, match="smaller comes first|whole numbers"):
            run_op.run(bad, noise(5, 5, 3))


# ---- gaussian_blur ------------------------------------------------------------------------------------------------------------------------


def blur_weights(size, sigma):
    x = np.arange(size) - size // 2
    w = np.exp(-0.5 * (x / sigma) ** 2)
    return w / w.sum()


def mirrored(n, radius):
    """Indices -radius .. n - 1 + radius."""
    period = max(1, 2 * (n - 1))
    i = np.arange(-radius, n + radius) % period
    return np.where(i < n, i, period - i)


def convolved(values, weights, axis):
    radius, n = len(weights) // 2, values.shape[axis]
    wide = np.take(values, mirrored(n, radius), axis)
    return sum(w * np.take(wide, np.arange(k, k + n), axis) for k, w in enumerate(weights))


def whole_weights(size, sigma):
    w = np.rint(blur_weights(size, sigma) * 65536).astype(np.uint64)
    w[size // 2] = 65536 - (w.sum() - w[size // 2])
    return w


def test_gaussian_blur():
    for seed, image in enumerate(images()):
        for size, (across, down) in [("1", (1, 1)), ("5", (5, 5)), ("[3, 23]", (3, 23)), ("[101, 7]", (101, 7))]:
            rng = rng_of("gaussian_blur", seed)
            rng.chance(1)
            sigma = rng.uniform(0.1, 2.0) if seed % 2 else 30.0
            text = f"gaussian_blur({size}" + (")" if seed % 2 else ", sigma=30)")
            got = both_layouts(text, image, seed=seed)
            plain = convolved(convolved(image.astype(np.float64), blur_weights(across, sigma), 1), blur_weights(down, sigma), 0)
            white = 1 if image.dtype == F else np.iinfo(image.dtype).max
            if image.dtype == F:
                np.testing.assert_allclose(got, plain, atol=1e-6)
                continue
            assert np.abs(got - plain).max() <= 0.5 + 0.002 * white, (text, seed)
            wide = convolved(image.astype(np.uint64), whole_weights(across, sigma), 1)
            if image.dtype == np.uint8:
                wide = (wide + 128) >> 8
            total = convolved(wide, whole_weights(down, sigma), 0)
            bits = 24 if image.dtype == np.uint8 else 32
            same(((total + (1 << (bits - 1))) >> bits).astype(image.dtype), got, text, seed)
    carried("gaussian_blur(5)", 1)
    image = noise(9, 9, 3)
    same(image, run_op.run("gaussian_blur(5, p=0)", image))
    same(np.full((6, 6, 3), 255, np.uint8), run_op.run("gaussian_blur(255, sigma=1000)", np.full((6, 6, 3), 255, np.uint8)))
    same(np.full((6, 6, 3), 65535, np.uint16), run_op.run("gaussian_blur(255, sigma=77)", np.full((6, 6, 3), 65535, np.uint16)))
    for bad in ["gaussian_blur(4)", "gaussian_blur(3, sigma=[2, 1])"]:
        with pytest.raises(run_op.Refused, match="even|smaller comes first"):
            run_op.run(bad, image)


# ---- One draw -----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["random_resized_crop(9)", "random_crop(5, padding=2)", "hflip", "rotate(40)", "affine(20, shear=9)",
                                  "perspective(p=1)", "random_translate(4)", "cutout(4)", "erasing(p=1)"])
def test_the_draw_depends_on_seed_epoch_position_and_size_alone(text):
    image = noise(13, 17, 3)
    mine = {"seed": 5, "epoch": 2, "position": 77}
    run = functools.partial(run_op.run, draws=True, sample=0)
    _, [draw] = run(text, image, **mine)
    for other in [noise(13, 17, 1, np.uint16, seed=3), noise(13, 17, 4)]:
        assert run(text, other, **mine)[1] == [draw]
    assert run(text, image[:, :, :1].copy(), role="mask", **mine)[1] == [draw]
    assert run(text, np.zeros((2, 4), F), array=True, role="boxes", frame=(17, 13), **mine)[1] == [draw]
    changed = [run(text, image, **{**mine, key: mine[key] + k})[1] != [draw]
               for key in mine for k in range(1, 9)]
    for k in range(3):
        assert any(changed[8 * k:8 * k + 8]), text
