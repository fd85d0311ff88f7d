"""TurboLoader's transforms that mldf's operations express: they run for each sample in C threads, and on one image by
``apply``. mosaic.py has the one that runs in Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np

from ... import ops
from ...errors import ArgumentError
from ...pipeline import Operation, Steps
from ..apply import apply as run

__all__ = [
    "AutoAugment",
    "AutoAugmentPolicy",
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "ComposedTransforms",
    "CutMix",
    "GaussianBlur",
    "Grayscale",
    "GridMask",
    "ImageNetNormalize",
    "InterpolationMode",
    "MixUp",
    "Normalize",
    "Pad",
    "PaddingMode",
    "RandAugment",
    "RandomAffine",
    "RandomCrop",
    "RandomErasing",
    "RandomHorizontalFlip",
    "RandomPerspective",
    "RandomPosterize",
    "RandomRotation",
    "RandomSolarize",
    "RandomVerticalFlip",
    "Resize",
    "TensorFormat",
    "ToTensor",
]


class InterpolationMode(Enum):
    """How pixels are weighed."""

    NEAREST = "nearest"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    LANCZOS = "lanczos"


class TensorFormat(Enum):
    """Of ToTensor."""

    NONE = 0
    PYTORCH_CHW = 1
    TENSORFLOW_HWC = 2


class PaddingMode(Enum):
    """What lies outside an image: a value, the outermost pixels, or the image mirrored."""

    CONSTANT = 0
    EDGE = 1
    REFLECT = 2


class _Name(str):
    """The operation's name in pipelines; called, as TurboLoader's ``transform.name()``, the class's."""

    shown = ""

    def __call__(self) -> str:
        return self.shown


class Transform(Operation):
    """What all of them have besides mldf's Operation."""

    _calls = 0

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        name = _Name(cls.name)
        name.shown = cls.__name__
        cls.name = name

    def apply(self, img: Any) -> np.ndarray[Any, Any]:
        """The transform of one image (height, width, channels). Each call of a random one draws again."""
        return applied([self], img, self)

    def is_deterministic(self) -> bool:
        """The same output for the same input?"""
        return not (type(self).__name__.startswith("Random") or type(self).__name__ in RANDOM)

    def __or__(self, step: Any) -> ComposedTransforms:
        """With one more `step` after it."""
        return ComposedTransforms([self]).__or__(step)


RANDOM = ("AutoAugment", "ColorJitter", "RandAugment", "MixUp", "CutMix", "GridMask", "Mosaic")


class ComposedTransforms(Steps):
    """A list of transforms that grows by ``|``, and works on one image by ``apply``."""

    _calls = 0

    def __or__(self, step: Any) -> ComposedTransforms:
        return ComposedTransforms(super().__or__(step))

    def apply(self, img: Any) -> np.ndarray[Any, Any]:
        """All of them on one image (height, width, channels)."""
        return applied(self, img, self)

    __call__ = apply

    def get_transforms(self) -> list[Any]:
        """The transforms."""
        return list(self)


def applied(steps: Sequence[Any], img: Any, owner: Any) -> np.ndarray[Any, Any]:
    """Steps on one image; what runs in Python has an ``image`` method."""
    array: np.ndarray[Any, Any] = np.asarray(img)
    if array.ndim != 3:
        raise ArgumentError(f"apply: an image of (height, width, channels) is needed, not an array of {array.shape}")
    owner._calls += 1  # a new draw for each call, and the same ones in the next run
    waiting: list[Any] = []
    for step in steps:
        if isinstance(step, Operation) and not hasattr(step, "image"):
            waiting.append(step)
            continue
        array = run(waiting, array[None], owner._calls)[0] if waiting else array
        waiting, array = [], step.image(array) if hasattr(step, "image") else step(array)
    return run(waiting, array[None], owner._calls)[0] if waiting else array


class Compose(ComposedTransforms):
    """A list, as ``|`` makes one."""

    def __init__(self, transforms: Sequence[Any] = ()) -> None:
        out = Steps()
        for transform in transforms:
            out = out | transform
        super().__init__(out)


class Resize(ops.Resize, Transform):
    """Width first, as in TurboLoader; not antialiased, unless the DataLoader asks for it."""

    def __init__(self, width: int, height: int, interpolation: InterpolationMode = InterpolationMode.BILINEAR) -> None:
        super().__init__((height, width), interpolation.value, False)


class CenterCrop(ops.CenterCrop, Transform):
    """Width first."""

    def __init__(self, width: int, height: int) -> None:
        super().__init__((height, width))


class Pad(ops.Border, Transform):
    """mldf.Border: `padding` pixels on all sides."""

    def __init__(self, padding: int, mode: PaddingMode = PaddingMode.CONSTANT, value: int = 0) -> None:
        super().__init__(padding, mode.name.lower(), value)


class RandomCrop(ops.RandomCrop, Transform):
    """Width first. With a pad_mode other than CONSTANT, a Pad and a RandomCrop."""

    def __new__(
        cls, width: int, height: int, padding: int = 0, pad_mode: Any = None, pad_value: int = 0, seed: int = 0
    ) -> Any:
        """One transform, or two."""
        if pad_mode in (None, PaddingMode.CONSTANT) or not padding:
            return super().__new__(cls)
        return ComposedTransforms([Pad(padding, pad_mode), RandomCrop(width, height, seed=seed)])

    def __init__(
        self, width: int, height: int, padding: int = 0, pad_mode: Any = None, pad_value: int = 0, seed: int = 0
    ) -> None:
        del seed, pad_mode
        super().__init__((height, width), padding, fill=pad_value)


class Unchanged(ops.Cast, Transform):
    """Normalize(to_float=False): TurboLoader normalises, undoes it and stores bytes, which are those of the image; some
    are one less there, through rounding.
    """

    def __init__(self, mean: Any, std: Any) -> None:
        super().__init__("uint8")
        self.mean, self.std = list(mean), list(std)


class Normalize(ops.Normalize, Transform):
    """The same. With to_float=False the image stays as it is, as in TurboLoader."""

    def __new__(cls, mean: Any, std: Any, to_float: bool = True) -> Any:
        """Floats, or bytes."""
        return super().__new__(cls) if to_float else Unchanged(mean, std)

    def __init__(self, mean: Any, std: Any, to_float: bool = True) -> None:
        del to_float
        super().__init__(mean, std)
        self.mean, self.std = list(mean), list(std)


class ImageNetNormalize(ops.Normalize, Transform):
    """mldf.Normalize("imagenet"). With to_float=False the image stays as it is, as in TurboLoader."""

    MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)

    def __new__(cls, to_float: bool = True) -> Any:
        """Floats, or bytes."""
        return super().__new__(cls) if to_float else Unchanged(cls.MEAN, cls.STD)

    def __init__(self, to_float: bool = True) -> None:
        del to_float
        super().__init__("imagenet")
        self.mean, self.std = list(self.MEAN), list(self.STD)


class ToTensor(ComposedTransforms):
    """Floats from 0 to 1, channels first or last."""

    def __init__(self, format: TensorFormat = TensorFormat.PYTORCH_CHW, normalize: bool = True) -> None:
        layout = [ops.HWC()] if format is TensorFormat.TENSORFLOW_HWC else [ops.CHW()]

        super().__init__([*([ops.ToFloat()] if normalize else []), *layout])


class Grayscale(ops.Grayscale, Transform):
    """mldf.Grayscale."""

    def __init__(self, num_output_channels: int = 1) -> None:
        super().__init__(num_output_channels)


class MixUp(ops.MixUp, Transform):
    """For ``{"image, label": [MixUp()]}`` of mldf.Loader, after ``{"label": [mldf.OneHot(classes)]}``."""

    def __init__(self, alpha: float = 0.4, seed: int = 0) -> None:
        del seed
        super().__init__(alpha)


class CutMix(ops.CutMix, Transform):
    """As MixUp."""

    def __init__(self, alpha: float = 1.0, seed: int = 0) -> None:
        del seed
        super().__init__(alpha)


class RandomHorizontalFlip(ops.HorizontalFlip, Transform):
    """mldf.HorizontalFlip."""

    def __init__(self, p: float = 0.5, seed: int = 0) -> None:
        del seed
        super().__init__(p)


class RandomVerticalFlip(ops.VerticalFlip, Transform):
    """mldf.VerticalFlip."""

    def __init__(self, p: float = 0.5, seed: int = 0) -> None:
        del seed
        super().__init__(p)


class ColorJitter(ops.ColorJitter, Transform):
    """The same."""

    def __init__(
        self, brightness: float = 0, contrast: float = 0, saturation: float = 0, hue: float = 0, seed: int = 0
    ) -> None:
        del seed
        super().__init__(brightness, contrast, saturation, hue)


class GaussianBlur(ops.GaussianBlur, Transform):
    """sigma 0: from the kernel's size, as OpenCV does."""

    def __init__(self, kernel_size: int, sigma: float = 0.0) -> None:
        super().__init__(kernel_size, sigma or 0.3 * ((kernel_size - 1) * 0.5 - 1) + 0.8)


class RandomErasing(ops.Erasing, Transform):
    """mldf.Erasing."""

    def __init__(
        self,
        p: float = 0.5,
        scale_min: float = 0.02,
        scale_max: float = 0.33,
        ratio_min: float = 0.3,
        ratio_max: float = 3.3,
        value: int = 0,
        seed: int = 0,
    ) -> None:
        del seed
        super().__init__(p, (scale_min, scale_max), (ratio_min, ratio_max), value)


class RandomRotation(ops.Rotate, Transform):
    """mldf.Rotate."""

    def __init__(self, degrees: float, expand: bool = False, fill: int = 0, seed: int = 0) -> None:
        del seed
        super().__init__(degrees, expand=expand, fill=fill)


class RandomAffine(ops.Affine, Transform):
    """mldf.Affine."""

    def __init__(
        self,
        degrees: float = 0.0,
        translate_x: float = 0.0,
        translate_y: float = 0.0,
        scale_min: float = 1.0,
        scale_max: float = 1.0,
        shear: float = 0.0,
        fill: int = 0,
        seed: int = 0,
    ) -> None:
        del seed
        super().__init__(degrees, (translate_x, translate_y), (scale_min, scale_max), shear, fill=fill)


class RandomPerspective(ops.Perspective, Transform):
    """mldf.Perspective."""

    def __init__(self, distortion_scale: float, p: float = 0.5, fill: int = 0, seed: int = 0) -> None:
        del seed
        super().__init__(distortion_scale, p, fill=fill)


class RandomPosterize(ops.Posterize, Transform):
    """mldf.Posterize; p is 1 here."""

    def __init__(self, bits: int, p: float = 1.0, seed: int = 0) -> None:
        del seed
        super().__init__(bits, p)


class RandomSolarize(ops.Solarize, Transform):
    """mldf.Solarize of what is above the threshold; p is 1 here."""

    def __init__(self, threshold: int, p: float = 1.0, seed: int = 0) -> None:
        del seed
        super().__init__(min(threshold + 1, 255), p if threshold < 255 else 0)


class RandAugment(ops.RandAugment, Transform):
    """The same."""

    def __init__(self, num_ops: int = 2, magnitude: int = 9, seed: int = 0) -> None:
        del seed
        super().__init__(num_ops, magnitude)


class AutoAugmentPolicy(Enum):
    """The dataset that a policy was found for."""

    IMAGENET = 0
    CIFAR10 = 1
    SVHN = 2


class AutoAugment(ops.AutoAugment, Transform):
    """mldf.AutoAugment, which has all 25 pairs of a policy."""

    def __init__(self, policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET, seed: int = 0) -> None:
        del seed
        super().__init__(policy.name.lower())


class GridMask(ops.GridMask, Transform):
    """mldf.GridMask. d: the grid's step, of the shorter side; ratio: a square's side, of the step."""

    def __init__(self, d: float = 0.5, ratio: float = 0.6, p: float = 0.5, seed: int = 0) -> None:
        del seed
        super().__init__(d, ratio, p)
