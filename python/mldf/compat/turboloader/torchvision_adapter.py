"""TurboLoader's TransformAdapter: torchvision's transforms as TurboLoader's. mldf.compat.torchvision: as mldf's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, ClassVar

from . import transforms as here

__all__ = ["TransformAdapter"]


def _sides(size: Any) -> tuple[int, int]:
    """(width, height); torchvision has the height first."""
    if isinstance(size, int):
        return size, size
    values = list(size)
    return (values[0], values[0]) if len(values) == 1 else (values[1], values[0])


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, (list, tuple)) else value


def _amount(value: Any) -> float:
    """Of a range around 1, or around 0, its half; torchvision's ColorJitter keeps ranges."""
    if isinstance(value, (list, tuple)):
        low, high = value
        return float(high if low < 0 else high - 1)
    return float(value or 0)


def _normalize(mean: list[float], std: list[float]) -> Any:
    if mean == [0.485, 0.456, 0.406] and std == [0.229, 0.224, 0.225]:
        return here.ImageNetNormalize()
    return here.Normalize(mean, std)


class TransformAdapter:
    """torchvision's Compose as TurboLoader's transforms."""

    MADE: ClassVar[dict[str, Callable[[Any], Any]]] = {
        "Resize": lambda t: here.Resize(*_sides(t.size)),
        "CenterCrop": lambda t: here.CenterCrop(*_sides(t.size)),
        "RandomCrop": lambda t: here.RandomCrop(*_sides(t.size), _first(t.padding) or 0),
        "RandomHorizontalFlip": lambda t: here.RandomHorizontalFlip(t.p),
        "RandomVerticalFlip": lambda t: here.RandomVerticalFlip(t.p),
        "ColorJitter": lambda t: here.ColorJitter(
            _amount(t.brightness), _amount(t.contrast), _amount(t.saturation), _amount(t.hue)
        ),
        "Normalize": lambda t: _normalize(list(t.mean), list(t.std)),
        "ToTensor": lambda t: here.ToTensor(),
        "GaussianBlur": lambda t: here.GaussianBlur(_first(t.kernel_size), _first(t.sigma)),
        "Grayscale": lambda t: here.Grayscale(t.num_output_channels),
        "RandomRotation": lambda t: here.RandomRotation(max(abs(d) for d in t.degrees)),
        "Pad": lambda t: here.Pad(_first(t.padding)),
        "RandomErasing": lambda t: here.RandomErasing(t.p, *t.scale, *t.ratio),
        "RandomPerspective": lambda t: here.RandomPerspective(t.distortion_scale, t.p),
    }
    TRANSFORM_MAP: ClassVar[dict[str, str]] = {name: name for name in MADE}

    @classmethod
    def from_torchvision(cls, tv_transforms: Any) -> Any:
        """The same steps; one that TurboLoader has no transform for is left out with a warning. None: no step."""
        out: Any = None
        for step in tv_transforms.transforms:
            name = type(step).__name__
            if name == "ToPILImage":
                continue
            if name not in cls.MADE:
                warnings.warn(f"TransformAdapter: {name} is left out: TurboLoader has no such transform", stacklevel=2)
                continue
            made = cls.MADE[name](step)
            out = made if out is None else out | made
        return out

    @classmethod
    def imagenet_train(cls) -> Any:
        """256 x 256, a random 224 x 224, flips, colours, ImageNet's mean and standard deviation."""
        return (
            here.Resize(256, 256)
            | here.RandomCrop(224, 224)
            | here.RandomHorizontalFlip(0.5)
            | here.ColorJitter(0.4, 0.4, 0.4, 0.1)
            | here.ImageNetNormalize()
            | here.ToTensor()
        )

    @classmethod
    def imagenet_val(cls) -> Any:
        """256 x 256, the middle 224 x 224, ImageNet's mean and standard deviation."""
        return here.Resize(256, 256) | here.CenterCrop(224, 224) | here.ImageNetNormalize() | here.ToTensor()
