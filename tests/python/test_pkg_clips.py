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
    "autoaugment": ["autoaugment", "autoaugment(svhn)"],
    "border": ["border(3)", "border(2, reflect) | random_crop(12)"],
    "grid_mask": ["grid_mask(0.4)"],
    "vflip": ["vflip"],
}
# Not for images, or not for one value: nothing to map.
OTHERS = {
    *(
        "concat",
        "decode",
        "decode_audio",
        "decode_video",
        "clip",
        "drop",
        "fill",
        "flatten",
        "gather",
        "label_mixup",
        "label_smoothing",
        "one_hot",
        "pad",
    ),
    *("ragged", "replace_label", "reshape", "squeeze", "stack", "strings", "truncate", "window"),
    *("time_jitter", "time_reverse", "time_subsample"),
    # of recordings and their spectra
    *("add_noise", "channels", "cmvn", "db", "delta", "dither", "fbank", "gain", "log", "mel", "mfcc", "mix_sample"),
    *("mono", "noise"),
    *("normalize_wave", "preemphasis", "resample", "reverb", "spec_augment", "spectrogram", "speed", "stft", "trim"),
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


def open_clips(tmp_path, sizes):
    rng = np.random.default_rng(9)
    values = [rng.integers(1, 256, (*s, 3), dtype=np.uint8) for s in sizes]
    path = tmp_path / "open.mldf"
    mldf.write(path, [(v,) for v in values], {"x": mldf.NDArray("uint8", (None, None, None, 3))})
    return path, values


@pytest.mark.parametrize("planar", [False, True])
@pytest.mark.parametrize(("length", "room"), [("", (4, 9, 8)), ("5", (5, 9, 8)), ("[0, 10, 12]", (4, 10, 12))])
def test_padded_clips_have_three_lengths(tmp_path, planar, length, room):
    sizes = [(2, 9, 5), (4, 3, 8), (1, 1, 1), (4, 9, 8)]
    path, values = open_clips(tmp_path, sizes)
    steps = ("chw | " if planar else "") + f"pad({length + ', ' if length else ''}value=7, mask=true)"
    batch = next(iter(mldf.Loader(path, 4, pipelines=f"x as image: {steps}", threads=0)))
    assert batch.x_length.tolist() == [list(s) for s in sizes]
    got = batch.x.transpose(0, 1, 3, 4, 2) if planar else batch.x
    assert got.shape == (4, *room, 3) and batch.x_mask.shape == (4, *room)
    for i, ((t, h, w), value) in enumerate(zip(sizes, values, strict=True)):
        want, mask = np.full((*room, 3), 7, np.uint8), np.zeros(room, bool)
        want[:t, :h, :w], mask[:t, :h, :w] = value, True
        np.testing.assert_array_equal(got[i], want)
        np.testing.assert_array_equal(batch.x_mask[i], mask)


def test_lengths_are_decided_by_the_letters_not_the_data(files):
    batch = next(iter(mldf.Loader(files / "clips.mldf", COUNT, pipelines="x as image: pad", threads=0)))
    assert batch.x_length.tolist() == [[FRAMES, HEIGHT, WIDTH]] * COUNT
    batch = next(iter(mldf.Loader(files / "0.mldf", COUNT, pipelines="x as image: pad", threads=0)))
    assert batch.x_length.tolist() == [[HEIGHT, WIDTH]] * COUNT


def test_clips_are_bucketed_by_frames_then_height_then_width(tmp_path):
    sizes = [(3, 2, 2), (1, 9, 9), (3, 1, 5), (1, 9, 2), (2, 4, 4), (1, 2, 9)]
    path, _ = open_clips(tmp_path, sizes)
    loader = mldf.Loader(path, 2, pipelines="x as image: pad", bucket="x", bucket_window=6, threads=0)
    pairs = {tuple(map(tuple, batch.x_length.tolist())) for batch in loader}
    ordered = sorted(sizes)
    assert pairs == {tuple(ordered[i : i + 2]) for i in (0, 2, 4)}


def test_a_clip_that_is_too_large_is_refused(tmp_path):
    path, _ = open_clips(tmp_path, [(4, 3, 3)])
    with pytest.raises(mldf.Error, match="a clip of 4 x 3 x 3 x 3 is larger than pad's 2 x 3 x 3"):
        next(iter(mldf.Loader(path, 1, pipelines="x as image: pad([2, 3, 3])", threads=0)))
    with pytest.raises(mldf.Error, match=r"a clip has three lengths: \[t, h, w\]"):
        mldf.Loader(path, 1, pipelines="x as image: pad([2, 3])", threads=0)
