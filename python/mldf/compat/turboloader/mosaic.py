"""TurboLoader's Mosaic, which gets its images from the program, not from the files: it runs by ``apply`` and
when a batch is handed over; the pixels are made in C.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import _mldf
from ...errors import ArgumentError
from .transforms import ComposedTransforms

__all__ = ["InPython", "Mosaic"]


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
        return False

    def __or__(self, step: Any) -> ComposedTransforms:
        """With one more `step` after it."""
        return ComposedTransforms([self]).__or__(step)


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
        arrays = [np.ascontiguousarray(i, np.uint8) for i in images]
        for i in arrays:
            if i.ndim != 3 or i.shape[2] != 3 or 0 in i.shape:
                raise ArgumentError(f"Mosaic: images are (height, width, 3), not {i.shape}")
        self._images = arrays

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
            if not height or not width:
                continue
            scale = min(height / four.shape[0], width / four.shape[1])
            h, w = max(round(four.shape[0] * scale), 1), max(round(four.shape[1] * scale), 1)
            h, w = min(h, height), min(w, width)
            at_y = top + (height - h if i // 2 == 0 else 0)  # towards the point
            at_x = left + (width - w if i % 2 == 0 else 0)
            _mldf.resize_into(four, four.shape[:2], out, size, (at_y, at_x, h, w))
        return out
