"""TurboLoader's crop_resize_normalize_u8_gather, and the crops that its loader of raw images draws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import _mldf
from ...errors import ArgumentError

__all__ = ["crop_resize_normalize_u8_gather", "pick_crop"]


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
    if not len(chosen):
        return
    if 0 in (height, width, *images.shape[1:3]):
        raise ArgumentError(f"images of {images.shape[1:3]} and an output of {(height, width)}: a side has no pixels")
    direct = output.dtype == np.float32 and output.flags.c_contiguous and output.flags.writeable
    out = output if direct else np.empty(output.shape, np.float32)
    statistics = None if mean is None else (_three(mean), _three(std))
    _mldf.crop_gather(
        np.ascontiguousarray(images),
        images.shape[:3],
        np.ascontiguousarray(chosen, np.int64),
        np.ascontiguousarray(parts),
        np.ascontiguousarray(mirrored != 0, np.uint8),
        out,
        (height, width),
        planar,
        statistics,
    )
    if not direct:
        output[...] = out


def _three(values: Any) -> tuple[float, ...]:
    return tuple(float(v) for v in np.broadcast_to(values, 3))
