"""TurboLoader's transforms that no operation of mldf's expresses: Pad, GridMask and Mosaic. They run in Python, image
by image, by ``apply`` and when a batch is handed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import ops
from ...errors import ArgumentError
from ..apply import apply as run
from .transforms import ComposedTransforms, PaddingMode

__all__ = ["GridMask", "InPython", "Mosaic", "Pad"]


class InPython:
    """A transform in Python: ``image`` does the work."""

    def image(self, img: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Of one image (height, width, channels)."""
        raise NotImplementedError

    def apply(self, img: Any) -> np.ndarray[Any, Any]:
        """Of one image (height, width, channels)."""
        return self.image(np.asarray(img))

    def __call__(self, img: Any) -> np.ndarray[Any, Any]:
        """The same as apply."""
        return self.apply(img)

    def is_deterministic(self) -> bool:
        """The same output for the same input?"""
        return isinstance(self, Pad)

    def __or__(self, step: Any) -> ComposedTransforms:
        """With one more `step` behind it."""
        return ComposedTransforms([self]).__or__(step)


class Pad(InPython):
    """`padding` pixels on all sides: a value, the edge, or a reflection."""

    def __init__(self, padding: int, mode: PaddingMode = PaddingMode.CONSTANT, value: int = 0) -> None:
        self.padding, self.mode, self.value = int(padding), mode, value

    def image(self, img: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """By NumPy."""
        sides = [(self.padding, self.padding)] * 2 + [(0, 0)]
        if self.mode is PaddingMode.CONSTANT:
            return np.pad(img, sides, "constant", constant_values=self.value)
        return np.pad(img, sides, "edge" if self.mode is PaddingMode.EDGE else "reflect")


class GridMask(InPython):
    """Squares on a grid become 0. d: the grid's step, of the shorter side; ratio: the square's side, of the step."""

    def __init__(self, d: float = 0.5, ratio: float = 0.6, p: float = 0.5, seed: int = 0) -> None:
        self.d, self.ratio, self.p = d, ratio, p
        self._random = np.random.RandomState(seed % 2**32)

    def image(self, img: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """A new image."""
        draw, at_y, at_x = self._random.random_sample(3)
        if draw >= self.p:
            return img
        step = max(int(min(img.shape[:2]) * self.d), 1)
        side = int(step * self.ratio)
        rows = (np.arange(img.shape[0]) + int(at_y * step)) % step < side
        columns = (np.arange(img.shape[1]) + int(at_x * step)) % step < side
        out = img.copy()
        out[rows[:, None] & columns] = 0
        return out


class Mosaic(InPython):
    """Four images, set by ``set_images``, around a point of a square image; what they leave free is gray (114)."""

    def __init__(self, output_size: int = 640, seed: int = 0) -> None:
        self.output_size = output_size
        self._random = np.random.RandomState(seed % 2**32)
        self._images: list[np.ndarray[Any, Any]] = []
        self._center = (output_size // 2, output_size // 2)

    def set_images(self, images: Sequence[Any]) -> None:
        """The four, (height, width, channels) each."""
        if len(images) != 4:
            raise ArgumentError(f"Mosaic: 4 images are needed, not {len(images)}")
        self._images = [np.asarray(i) for i in images]

    def get_center(self) -> tuple[int, int]:
        """(x, y), where the four meet."""
        return self._center

    def image(self, img: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The four; `img` is not looked at, as in TurboLoader, and is the answer if none were set."""
        if not self._images:
            return img
        size = self.output_size
        x, y = (int(v) for v in self._random.randint(size // 4, size - size // 4 + 1, 2))
        self._center = (x, y)
        out = np.full((size, size, 3), 114, np.uint8)
        for i, four in enumerate(self._images):
            top, left = (y if i // 2 else 0), (x if i % 2 else 0)
            height, width = (size - y if i // 2 else y), (size - x if i % 2 else x)
            scale = min(height / four.shape[0], width / four.shape[1])
            h, w = max(round(four.shape[0] * scale), 1), max(round(four.shape[1] * scale), 1)
            small = run([ops.Resize((h, w), antialias=False)], four[None])[0]
            at_y = top + (height - h if i // 2 == 0 else 0)  # towards the point
            at_x = left + (width - w if i % 2 == 0 else 0)
            out[at_y : at_y + h, at_x : at_x + w] = small[: size - at_y, : size - at_x]
        return out
