"""FFCV's transforms of images and labels, as mldf's operations: they run for each sample in C threads.

Each is a class that can be subclassed. After a step in Python they work on the batch (host.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .... import ops
from ....errors import ArgumentError, UnsupportedError
from ....pipeline import Operation as Native
from ....pipeline import Steps, dtype_word
from ..host import Context, Host, is_tensor
from ..pipeline.operation import Operation
from .ops import numpy_dtype, torch_dtype

__all__ = [
    "Cutout",
    "NormalizeImage",
    "Poison",
    "RandomBrightness",
    "RandomColorJitter",
    "RandomContrast",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "RandomSaturation",
    "RandomSolarization",
    "RandomTranslate",
    "ReplaceLabel",
]


class RandomResizedCrop(ops.RandomResizedCrop, Operation):
    """mldf.RandomResizedCrop with FFCV's filter."""

    def __init__(self, scale: Any, ratio: Any, size: Any) -> None:
        super().__init__(size, scale, ratio, "area")


class RandomHorizontalFlip(ops.HorizontalFlip, Operation):
    """mldf.HorizontalFlip."""

    def __init__(self, flip_prob: float = 0.5) -> None:
        self.flip_prob = flip_prob
        super().__init__(flip_prob)


class RandomTranslate(ops.RandomTranslate, Operation):
    """mldf.RandomTranslate."""

    def __init__(self, padding: int, fill: Any = (0, 0, 0)) -> None:
        self.padding, self.fill = padding, fill
        super().__init__(padding, fill)


class Cutout(ops.Cutout, Operation):
    """mldf.Cutout."""

    def __init__(self, crop_size: int, fill: Any = (0, 0, 0)) -> None:
        self.crop_size, self.fill = crop_size, fill
        super().__init__(crop_size, fill)


class RandomBrightness(ops.ColorJitter, Operation):
    """mldf.ColorJitter."""

    def __init__(self, magnitude: float, p: float = 0.5) -> None:
        super().__init__(brightness=magnitude, p=p)


class RandomContrast(ops.ColorJitter, Operation):
    """mldf.ColorJitter."""

    def __init__(self, magnitude: float, p: float = 0.5) -> None:
        super().__init__(contrast=magnitude, p=p)


class RandomSaturation(ops.ColorJitter, Operation):
    """mldf.ColorJitter."""

    def __init__(self, magnitude: float, p: float = 0.5) -> None:
        super().__init__(saturation=magnitude, p=p)


class RandomColorJitter(ops.ColorJitter, Operation):
    """mldf.ColorJitter."""

    def __init__(
        self,
        jitter_prob: float = 0.5,
        brightness: Any = 0.8,
        contrast: Any = 0.4,
        saturation: Any = 0.4,
        hue: Any = 0.2,
    ) -> None:
        super().__init__(brightness, contrast, saturation, hue, jitter_prob)


class RandomGrayscale(ops.RandomGrayscale, Operation):
    """mldf.RandomGrayscale."""

    def __init__(self, gray_prob: float = 0.2) -> None:
        super().__init__(gray_prob)


class RandomSolarization(ops.Solarize, Operation):
    """mldf.Solarize."""

    def __init__(self, solarization_prob: float = 0.5, threshold: float = 128) -> None:
        super().__init__(threshold, solarization_prob)


class NormalizeImage(Steps, Host):
    """Mean and standard deviation for white = 255, as FFCV has them."""

    def __init__(self, mean: Any, std: Any, type: Any) -> None:
        self.mean, self.std, self.dtype = np.asarray(mean, float), np.asarray(std, float), type
        first: Native = ops.Normalize(self.mean.tolist(), self.std.tolist(), 255)
        word = dtype_word(np.dtype(type).name)
        super().__init__([first] if word == "f32" else [first, ops.Cast(word)])

    def host(self, value: Any, context: Context) -> Any:
        """NumPy's batches have channels last, torch's have them first, as in FFCV."""
        del context
        if is_tensor(value):
            import torch

            at = [-1, 1, 1] if value.shape[1] == len(self.mean) else [-1]
            mean, std = (
                torch.tensor(v, dtype=torch.float32, device=value.device).view(at) for v in (self.mean, self.std)
            )
            return ((value.float() - mean) / std).to(torch_dtype(self.dtype))
        return ((value - self.mean.astype(np.float32)) / self.std.astype(np.float32)).astype(numpy_dtype(self.dtype))


class ReplaceLabel(ops.ReplaceLabel, Host):
    """mldf.ReplaceLabel of samples."""

    def __init__(self, indices: Any, new_label: int) -> None:
        self.indices, self.new_label = sorted(int(i) for i in indices), new_label
        super().__init__(indices=self.indices, label=new_label)

    def host(self, value: Any, context: Context) -> Any:
        """On the batch."""
        chosen = np.isin(context.indices, self.indices)
        value[chosen if not is_tensor(value) else chosen.tolist()] = self.new_label
        return value


RECTANGLES = 256
"""How many an mldf.Poison pipeline of a mask may have."""


class Poison(Steps, Host):
    """An mldf.Poison for each rectangle of one colour and opacity in the mask: triggers are small and have few.

    Integers are rounded to the nearest, where FFCV cuts. A mask of more than 256 such rectangles (a photo) is refused.
    """

    def __init__(self, mask: Any, alpha: Any, indices: Any, clamp: Any = (0, 255)) -> None:
        colours, opacity = np.asarray(mask, float), np.asarray(alpha, float)
        if colours.shape[:2] != opacity.shape or colours.shape[2:] != (3,):
            raise ArgumentError(f"Poison: a mask of shape {colours.shape} and an alpha of {opacity.shape}")
        self.mask, self.alpha, self.clamp = colours, opacity, [float(c) for c in clamp]
        self.indices = sorted(int(i) for i in indices)
        steps: list[Native] = []
        for y, x, height, width in _rectangles(np.dstack([colours, opacity]), opacity != 0):
            if len(steps) == RECTANGLES:
                raise UnsupportedError(f"Poison: the mask has more than {RECTANGLES} rectangles of one colour")
            colour = colours[y, x].tolist()
            steps.append(ops.Poison(self.indices, (height, width), colour, x, y, float(opacity[y, x]), self.clamp))
        super().__init__(steps)

    def host(self, value: Any, context: Context) -> Any:
        """On a NumPy batch, channels last."""
        if is_tensor(value):
            raise UnsupportedError("Poison works on NumPy batches: put it before ToTensor")
        share = self.alpha[:, :, None]
        for i in np.flatnonzero(np.isin(context.indices, self.indices)):
            mixed = np.clip(value[i] * (1 - share) + self.mask * share, self.clamp[0], self.clamp[1])
            mixed = np.rint(mixed) if value.dtype.kind in "iu" else mixed
            value[i] = np.where(share > 0, mixed, value[i])
        return value


def _rectangles(values: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any]) -> Iterator[tuple[int, int, int, int]]:
    """(y, x, height, width) of parts where all values are equal; together all that is wanted, each pixel once."""
    left = wanted.copy()
    while left.any():
        y, x = (int(v) for v in np.argwhere(left)[0])
        like = left & (values == values[y, x]).all(-1)
        width = int(np.argmin(np.append(like[y, x:], False)))
        height = int(np.argmin(np.append(like[y:, x : x + width].all(1), False)))
        left[y : y + height, x : x + width] = False
        yield y, x, height, width
