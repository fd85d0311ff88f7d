"""torchvision.transforms' names, those of v2 too, for mldf's operations (torchvision 0.28).

>>> from mldf.compat import torchvision as T
>>> T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize((0.5,) * 3, (0.5,) * 3)])
[RandomResizedCrop(224), HorizontalFlip(), Normalize((0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5)), CHW()]

The lists go into ``Loader(pipelines={"image": [...]})``. The work is done for each sample in C, before the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np

from .. import ops
from ..errors import UnsupportedError
from ..ops import CenterCrop, RandomGrayscale
from ..pipeline import Operation, Step, dtype_word

__all__ = [
    "AutoAugment",
    "AutoAugmentPolicy",
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "ConvertImageDtype",
    "CutMix",
    "GaussianBlur",
    "Grayscale",
    "Identity",
    "InterpolationMode",
    "Lambda",
    "MixUp",
    "Normalize",
    "PILToTensor",
    "Pad",
    "RGB",
    "RandAugment",
    "RandomAdjustSharpness",
    "RandomAffine",
    "RandomApply",
    "RandomAutocontrast",
    "RandomCrop",
    "RandomEqualize",
    "RandomErasing",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomInvert",
    "RandomPerspective",
    "RandomPhotometricDistort",
    "RandomPosterize",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomSolarize",
    "RandomVerticalFlip",
    "Resize",
    "ToDtype",
    "ToImage",
    "ToPureTensor",
    "ToTensor",
    "TrivialAugmentWide",
]

Many = list[Operation]
Fill = Any


class InterpolationMode(Enum):
    """How pixels are weighed."""

    NEAREST = "nearest"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    LANCZOS = "lanczos"


_PIL = ("nearest", "lanczos", "bilinear", "bicubic", "box")


def _filter(mode: Any) -> str:
    """Of ours, torchvision's own enum, a word, or Pillow's number."""
    value = getattr(mode, "value", mode)
    return _PIL[value] if isinstance(value, int) and 0 <= value < len(_PIL) else str(value)


_SIZED = (ops.Resize, ops.RandomResizedCrop)  # before floats, in C


def Compose(transforms: Sequence[Step | Sequence[Step]]) -> list[Step]:
    """A list, in the order that suits the loader.

    Images have their channels last until the end: what ToTensor, ToImage and PILToTensor say of them is done behind
    all operations. Resizing comes before floats. A ToTensor before Normalize is left to Normalize, which does its work.
    """
    flat: list[Any] = []
    for transform in transforms:
        flat += transform if isinstance(transform, (list, tuple)) else [transform]
    end = next((i for i, step in enumerate(flat) if not isinstance(step, Operation)), len(flat))  # callables
    steps = [step for step in flat[:end] if step != ops.CHW()]
    planar = [ops.CHW()] * (len(steps) < end)
    sized = max((i for i, step in enumerate(steps) if isinstance(step, _SIZED)), default=-1)
    early = [step for step in steps[: max(sized, 0)] if isinstance(step, ops.ToFloat)]
    if early:
        _check_between(steps[steps.index(early[0]) : sized], steps[sized])
    steps = [s for s in steps[: sized + 1] if s not in early] + early[:1] + steps[sized + 1 :]
    out: list[Step] = []
    for step in steps:
        if isinstance(step, ops.Normalize) and out and isinstance(out[-1], ops.ToFloat):
            out.pop()  # the same values: u8 / 255 is part of normalize
        out.append(step)
    return [*out, *planar, *flat[end:]]


def _check_between(steps: list[Any], sized: Operation) -> None:
    """Steps that will work on bytes, not on floats from 0 to 1: values of pixels would mean something else."""
    for step in steps:
        for (name, _, _), value in zip(step.parameters, step._values):
            if name in ("threshold", "fill", "value") and np.any(np.asarray(value) != 0):
                raise UnsupportedError(
                    f"{step!r} comes between floats and {sized!r}, but resizing comes before floats here: put it first"
                )


def RandomResizedCrop(
    size: Any,
    scale: Any = (0.08, 1.0),
    ratio: Any = (3 / 4, 4 / 3),
    interpolation: Any = "bilinear",
    antialias: bool = True,
) -> Operation:
    """The same."""
    return ops.RandomResizedCrop(size, scale, ratio, _filter(interpolation), antialias)


def Resize(
    size: Any, interpolation: Any = "bilinear", max_size: int | None = None, antialias: bool = True
) -> Operation:
    """One number: the shorter side."""
    return ops.Resize(size, _filter(interpolation), antialias, max_size or 0)


def Pad(padding: Any, fill: Fill = 0, padding_mode: str = "constant") -> Operation:
    """mldf.Border."""
    return ops.Border(padding, padding_mode, fill)


def RandomCrop(
    size: Any, padding: Any = None, pad_if_needed: bool = False, fill: Fill = 0, padding_mode: str = "constant"
) -> Operation | Many:
    """mldf.RandomCrop; of a padding other than "constant", mldf.Border in front of it."""
    if padding_mode == "constant":
        return ops.RandomCrop(size, 0 if padding is None else padding, pad_if_needed, fill)
    if pad_if_needed:
        raise UnsupportedError(
            f"RandomCrop(pad_if_needed=True, padding_mode={padding_mode!r}): only 'constant' is there"
        )
    return [ops.Border(0 if padding is None else padding, padding_mode), ops.RandomCrop(size)]


def RandomHorizontalFlip(p: float = 0.5) -> Operation:
    """mldf.HorizontalFlip."""
    return ops.HorizontalFlip(p)


def RandomVerticalFlip(p: float = 0.5) -> Operation:
    """mldf.VerticalFlip."""
    return ops.VerticalFlip(p)


def Grayscale(num_output_channels: int = 1) -> Operation:
    """The same."""
    return ops.Grayscale(num_output_channels)


def ColorJitter(brightness: Any = 0, contrast: Any = 0, saturation: Any = 0, hue: Any = 0) -> Operation:
    """The same."""
    return ops.ColorJitter(brightness, contrast, saturation, hue)


def GaussianBlur(kernel_size: Any, sigma: Any = (0.1, 2.0)) -> Operation:
    """The same."""
    return ops.GaussianBlur(kernel_size, sigma)


def RandomRotation(
    degrees: Any, interpolation: Any = "nearest", expand: bool = False, center: Any = None, fill: Fill = 0
) -> Operation:
    """mldf.Rotate."""
    return ops.Rotate(degrees, _filter(interpolation), expand, "middle" if center is None else center, fill)


def RandomAffine(
    degrees: Any,
    translate: Any = None,
    scale: Any = None,
    shear: Any = None,
    interpolation: Any = "nearest",
    fill: Fill = 0,
    center: Any = None,
) -> Operation:
    """mldf.Affine."""
    return ops.Affine(
        degrees,
        0 if translate is None else translate,
        (1, 1) if scale is None else scale,
        0 if shear is None else shear,
        _filter(interpolation),
        "middle" if center is None else center,
        fill,
    )


def RandomPhotometricDistort(
    brightness: Any = (0.875, 1.125),
    contrast: Any = (0.5, 1.5),
    saturation: Any = (0.5, 1.5),
    hue: Any = (-0.05, 0.05),
    p: float = 0.5,
) -> Many:
    """Each with its own draw, in this order; contrast never comes last, and channels are never permuted."""
    return [
        ops.ColorJitter(brightness=brightness, p=p),
        ops.ColorJitter(contrast=contrast, p=p),
        ops.ColorJitter(saturation=saturation, p=p),
        ops.ColorJitter(hue=hue, p=p),
    ]


def RandomPerspective(
    distortion_scale: float = 0.5, p: float = 0.5, interpolation: Any = "bilinear", fill: Fill = 0
) -> Operation:
    """mldf.Perspective."""
    return ops.Perspective(distortion_scale, p, _filter(interpolation), fill)


def RandomErasing(
    p: float = 0.5, scale: Any = (0.02, 0.33), ratio: Any = (0.3, 3.3), value: Any = 0, inplace: bool = False
) -> Operation:
    """mldf.Erasing."""
    del inplace
    return ops.Erasing(p, scale, ratio, value)


def RandomInvert(p: float = 0.5) -> Operation:
    """The same."""
    return ops.RandomInvert(p)


def RandomPosterize(bits: int, p: float = 0.5) -> Operation:
    """mldf.Posterize."""
    return ops.Posterize(bits, p)


def RandomSolarize(threshold: float, p: float = 0.5) -> Operation:
    """mldf.Solarize."""
    return ops.Solarize(threshold, p)


def RandomAdjustSharpness(sharpness_factor: float, p: float = 0.5) -> Operation:
    """mldf.Sharpness."""
    return ops.Sharpness(sharpness_factor, p)


def RandomAutocontrast(p: float = 0.5) -> Operation:
    """mldf.AutoContrast."""
    return ops.AutoContrast(p)


def RandomEqualize(p: float = 0.5) -> Operation:
    """mldf.Equalize."""
    return ops.Equalize(p)


class AutoAugmentPolicy(Enum):
    """The dataset that a policy was found for."""

    IMAGENET = "imagenet"
    CIFAR10 = "cifar10"
    SVHN = "svhn"


def AutoAugment(
    policy: Any = AutoAugmentPolicy.IMAGENET, interpolation: Any = "nearest", fill: Any = None
) -> Operation:
    """The same; the policy is ours, torchvision's or a word."""
    word = getattr(policy, "value", policy)
    return ops.AutoAugment(str(word), _filter(interpolation), 0 if fill is None else fill)


def RandAugment(
    num_ops: int = 2, magnitude: int = 9, num_magnitude_bins: int = 31, interpolation: Any = "nearest", fill: Any = None
) -> Operation:
    """The same."""
    return ops.RandAugment(num_ops, magnitude, num_magnitude_bins, _filter(interpolation), 0 if fill is None else fill)


def TrivialAugmentWide(num_magnitude_bins: int = 31, interpolation: Any = "nearest", fill: Any = None) -> Operation:
    """mldf.TrivialAugment."""
    return ops.TrivialAugment(num_magnitude_bins, _filter(interpolation), 0 if fill is None else fill)


def ToTensor() -> Many:
    """Channels first, floats from 0 to 1."""
    return [ops.ToFloat(), ops.CHW()]


def PILToTensor() -> Operation:
    """Channels first."""
    return ops.CHW()


ToImage = PILToTensor


def RGB() -> Operation:
    """mldf.Decode(channels=3), the first step."""
    return ops.Decode(channels=3)


def Identity() -> Many:
    """No step at all."""
    return []


ToPureTensor = Identity


def Lambda(lambd: Any, *types: Any) -> Any:
    """The function itself, last in the list: it gets a batch, not an image."""
    del types
    return lambd


def RandomApply(transforms: Any, p: float = 0.5) -> Operation:
    """Of one operation that has a probability: ColorJitter, GaussianBlur ..."""
    found = Compose(transforms if isinstance(transforms, (list, tuple)) else [transforms])
    step = found[0] if len(found) == 1 else None
    if not isinstance(step, Operation) or "p" not in (names := [name for name, _, _ in step.parameters]):
        raise UnsupportedError(
            "RandomApply takes one operation that has a probability; several would each have a draw of their own"
        )
    values = list(step._values)
    values[names.index("p")] *= p
    return type(step)(*values)


def ConvertImageDtype(dtype: Any = "float32") -> Many:
    """Floats are from 0 to 1."""
    return ToDtype(dtype, scale=True)


def ToDtype(dtype: Any, scale: bool = False) -> Many:
    """With scale, integers become floats from 0 to 1."""
    word = dtype_word(dtype)
    if not scale:
        return [ops.Cast(word)]
    if word not in ("f16", "bf16", "f32"):
        raise UnsupportedError(f"ToDtype({dtype!r}, scale=True): only floats are there")
    return [ops.ToFloat()] if word == "f32" else [ops.ToFloat(), ops.Cast(word)]


def Normalize(mean: Any, std: Any, inplace: bool = False) -> Operation:
    """Of u8 as well: it is taken from 0 to 1 first."""
    del inplace
    return ops.Normalize(mean, std)


def MixUp(*, alpha: float = 1.0, num_classes: int | None = None, labels_getter: Any = "default") -> Operation:
    """For ``{"image, label": [MixUp(...)]}``, after ``{"label": [mldf.OneHot(classes)]}``."""
    del num_classes, labels_getter  # OneHot's; the statement's
    return ops.MixUp(alpha)


def CutMix(*, alpha: float = 1.0, num_classes: int | None = None, labels_getter: Any = "default") -> Operation:
    """As MixUp."""
    del num_classes, labels_getter
    return ops.CutMix(alpha)
