"""TurboLoader's crop_resize_normalize_u8_gather, and the crops that its loader of raw images draws.

The positions of pixels are shared by all rows and columns of an image, so NumPy does each image in a few passes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...errors import ArgumentError

__all__ = ["crop_resize_normalize_u8_gather", "pick_crop"]

Array = np.ndarray[Any, Any]


def pick_crop(
    w: int, h: int, rng: Any, scale: Any = (0.08, 1.0), ratio: Any = (3 / 4, 4 / 3)
) -> tuple[float, float, float, float]:
    """(x, y, width, height) of a random part, as torchvision's RandomResizedCrop draws it; `rng`: NumPy's Generator."""
    low, high = math.log(ratio[0]), math.log(ratio[1])
    for _ in range(10):
        area = float(w) * float(h) * rng.uniform(scale[0], scale[1])
        shape = math.exp(rng.uniform(low, high))
        width, height = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
        if 0 < width <= w and 0 < height <= h:
            x, y = int(rng.integers(0, w - width + 1)), int(rng.integers(0, h - height + 1))
            return float(x), float(y), float(width), float(height)
    width, height = w, h
    if w / h < ratio[0]:
        height = min(h, round(w / ratio[0]))
    elif w / h > ratio[1]:
        width = min(w, round(h * ratio[1]))
    return float((w - width) // 2), float((h - height) // 2), float(width), float(height)


def crop_resize_normalize_u8_gather(
    dataset: Any, indices: Any, crops: Any, flips: Any, output: Any, mean: Any = None, std: Any = None
) -> None:
    """Of each chosen image (H, W, 3) of uint8, a part, resized bilinearly, mirrored where asked, as floats, normalised.

    crops: (B, 4) of x, y, width, height in pixels. output: (B, 3, height, width) or (B, height, width, 3), float32 or
    float16, filled here.
    """
    images, chosen = np.asanyarray(dataset), np.asarray(indices)
    parts, mirrored = np.asarray(crops, np.float32), np.asarray(flips)
    if images.ndim != 4 or images.shape[3] != 3 or images.dtype != np.uint8:
        raise ArgumentError(f"dataset must be uint8 (N, H, W, 3), not {images.dtype} {images.shape}")
    if parts.shape != (len(chosen), 4) or mirrored.shape != (len(chosen),):
        raise ArgumentError(f"crops must be (B, 4) and flips (B,), not {parts.shape} and {mirrored.shape}")
    if len(chosen) and not (chosen.min() >= 0 and chosen.max() < len(images)):
        raise ArgumentError(f"indices out of range: {chosen.min()} to {chosen.max()} of {len(images)} images")
    if output.dtype not in (np.float32, np.float16):
        raise ArgumentError(f"output must be float32 or float16, not {output.dtype}")
    if output.ndim != 4 or len(output) != len(chosen) or 3 not in (output.shape[1], output.shape[3]):
        raise ArgumentError(f"output must be (B, 3, height, width) or (B, height, width, 3), not {output.shape}")
    if (mean is None) != (std is None):
        raise ArgumentError("pass both mean and std, or neither")
    planar = output.shape[1] == 3
    height, width = output.shape[2:] if planar else output.shape[1:3]
    for k, number in enumerate(chosen):
        x, y, w, h = (float(v) for v in parts[k])
        rows, columns = _places(y, h, height, images.shape[1]), _places(x, w, width, images.shape[2])
        if mirrored[k]:
            columns = tuple(c[::-1] for c in columns)  # type: ignore[assignment]
        found = _sampled(images[number], rows, columns) / np.float32(255)
        if mean is not None:
            found = (found - np.asarray(mean, np.float32)) / np.asarray(std, np.float32)
        output[k] = found.transpose(2, 0, 1) if planar else found


def _places(start: float, length: float, count: int, size: int) -> tuple[Array, Array, Array]:
    """Of each output pixel along a side: the two it lies between, and the second one's weight."""
    at = np.clip(start + (np.arange(count) + 0.5) / count * length - 0.5, 0, size - 1)
    first = at.astype(np.int64)
    return first, np.minimum(first + 1, size - 1), (at - first).astype(np.float32)


def _sampled(image: Array, rows: tuple[Array, Array, Array], columns: tuple[Array, Array, Array]) -> Array:
    above, below, down = rows
    left, right, across = columns
    share = across[None, :, None]

    def line(of: Array) -> Array:
        taken = image[of]
        out: Array = taken[:, left] * (1 - share) + taken[:, right] * share
        return out

    weight = down[:, None, None]
    out: Array = line(above) * (1 - weight) + line(below) * weight
    return out
