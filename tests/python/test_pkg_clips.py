"""Clips: an array T x H x W x C taken as images. Every operation on images is mapped over the frames with one draw.

Each frame equals the single image with that draw.
"""

import re
from pathlib import Path

import mldf
import numpy as np
import pytest

COUNT, FRAMES, HEIGHT, WIDTH = 4, 3, 21, 16
STEPS = {
    "affine": ["affine(20, scale=[0.8, 1.2])"],
    "autocontrast": ["autocontrast"],
    "brightness": ["brightness(1.4)"],
    "cast": ["cast(u16)", "cast(f32)"],
    "center_crop": ["center_crop(9)"],
    "center_resized_crop": ["center_resized_crop(12)"],
    "chw": ["chw", "chw(f16)", "hflip | chw(f32)"],
    "color_jitter": ["color_jitter(0.4, 0.4, 0.4, 0.1)"],
    "contrast": ["contrast(0.5)"],
    "cutmix": ["cutmix(1.0)"],
    "cutout": ["cutout(6)"],
    "equalize": ["equalize"],
    "erasing": ["erasing(1)"],
    "expr": ['expr("x * 2 + c")', 'to_float | expr("sqrt(x)") | scale(2)'],
    "gamma": ["gamma(1.8)"],
    "gaussian_blur": ["gaussian_blur(5)"],
    "grayscale": ["grayscale", "grayscale(3) | chw"],
    "hflip": ["hflip", "hflip(1)"],
    "hue": ["hue(0.2)"],
    "hwc": ["chw | hwc", "chw(f32) | hwc"],
    "invert": ["invert"],
    "mixup": ["mixup(0.4)", "to_float | mixup(0.4) | chw"],
    "normalize": [
        "normalize(imagenet)",
        "normalize(imagenet) | chw(f16)",
        "random_crop(9) | normalize([0.5], [0.2]) | chw",
    ],
    "perspective": ["perspective(0.5, p=1)"],
    "poison": ["poison([0, 2], 3, 255)"],
    "posterize": ["posterize(3)", "posterize(3) | solarize(99)"],
    "randaugment": ["randaugment"],
    "random_crop": ["random_crop(12)", "random_crop(12, padding=3)"],
    "random_grayscale": ["random_grayscale(0.5)"],
    "random_invert": ["random_invert(0.5)"],
    "random_resized_crop": ["random_resized_crop(10)", "random_resized_crop(10) | hflip | normalize(imagenet) | chw"],
    "random_translate": ["random_translate(4)"],
    "resize": ["resize([13, 29])", "resize(8) | center_crop(8)"],
    "rotate": ["rotate(30)"],
    "saturation": ["saturation(1.5)"],
    "scale": ["scale(0.5, 1)", "scale(0.25) | cast(f16)"],
    "sharpness": ["sharpness(2)"],
    "solarize": ["solarize(128)"],
    "to_float": ["to_float", "to_float | chw"],
    "trivialaugment": ["trivialaugment"],
    "vflip": ["vflip"],
}
# Not for images, or not for one value: nothing to map.
OTHERS = {
    *("concat", "decode", "drop", "fill", "flatten", "gather", "label_mixup", "label_smoothing", "one_hot", "pad"),
    *("ragged", "replace_label", "reshape", "squeeze", "stack", "truncate"),
}


@pytest.fixture(scope="module")
def clips():
    return np.random.default_rng(8).integers(0, 256, (COUNT, FRAMES, HEIGHT, WIDTH, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def files(tmp_path_factory, clips):
    """One file of clips, and one of single images for each frame, in a field of the same name."""
    folder = tmp_path_factory.mktemp("clips")
    mldf.write(folder / "clips.mldf", [(c,) for c in clips], {"x": mldf.NDArray("uint8", (FRAMES, HEIGHT, WIDTH, 3))})
    for k in range(FRAMES):
        mldf.write(folder / f"{k}.mldf", [(c[k],) for c in clips], {"x": mldf.NDArray("uint8", (HEIGHT, WIDTH, 3))})
    return folder


def batches(path, steps, **options):
    return [b.x.copy() for b in mldf.Loader(path, COUNT, pipelines=f"x as image: {steps}", seed=5, **options)]


def test_every_operation_is_here():
    page = Path(__file__).parents[2] / "docs" / "operations.md"
    assert set(STEPS) | OTHERS == set(re.findall(r"^## (\w+)$", page.read_text(), re.MULTILINE))


@pytest.mark.parametrize("steps", [s for steps in STEPS.values() for s in steps])
@pytest.mark.parametrize("reference", [False, True])
def test_each_frame_equals_the_single_image_with_that_draw(files, steps, reference):
    options = {"reference": reference, "threads": 0, "last": "keep"}
    whole = batches(files / "clips.mldf", steps, **options)[0]
    assert whole.shape[1] == FRAMES
    for k in range(FRAMES):
        single = batches(files / f"{k}.mldf", steps, **options)[0]
        assert whole.dtype == single.dtype and whole.shape[2:] == single.shape[1:]
        np.testing.assert_array_equal(whole[:, k], single)
