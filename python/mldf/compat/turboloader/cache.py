"""TurboLoader's ``cache_decoded``: all images of a DataLoader are decoded once and kept in memory, and its states.

The first epoch fills one array, later ones take batches from it, in TurboLoader's order. A file of raw images and the
page cache (``mldf pack --encode raw``) do the same for data that does not fit into memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

__all__ = ["DecodedCache", "resumed"]


class DecodedCache:
    """The decoded images of a loader, by the numbers of its samples."""

    def __init__(self, owner: Any) -> None:
        self._owner = owner
        self.images: np.ndarray[Any, Any] | None = None
        self._numbers: np.ndarray[Any, Any] = np.zeros(0, np.int64)
        self._names: list[str] | None = None
        self.served = self.resume = 0

    def _fill(self) -> np.ndarray[Any, Any]:
        pieces, numbers, names = [], [], []
        for images, meta in self._owner._decoded():
            pieces.append(np.array(images))
            numbers += list(meta["indices"])
            names += meta.get("filenames", [])
        order = np.argsort(np.array(numbers, np.int64), kind="stable")
        self._numbers = np.array(numbers, np.int64)[order]
        self._names = [names[i] for i in order] if names else None
        return np.concatenate(pieces)[order] if pieces else np.zeros((0, 0, 0, 3), np.float32)

    def batches(self, epoch: int) -> Iterator[Any]:
        """An epoch, or what is left of one; its order is NumPy's permutation of seed + epoch."""
        owner = self._owner
        if self.images is None:
            self.images = self._fill()
        images, count, size = self.images, len(self.images), owner.batch_size
        order = np.random.default_rng(owner.seed + epoch).permutation(count) if owner.shuffle else np.arange(count)
        self.served, self.resume = self.resume, 0
        for i in range(self.served, count // size if owner.drop_last else -(-count // size)):
            chosen = order[i * size : (i + 1) * size]
            self.served += 1
            found = images[chosen]
            height, width, channels = (*found.shape[2:], found.shape[1]) if owner._planar else found.shape[1:]
            meta = {"indices": self._numbers[chosen].tolist(), "batch_size": len(chosen), "decode_failures": 0}
            if self._names is not None:
                meta["filenames"] = [self._names[k] for k in chosen]
            yield found, {**meta, "height": height, "width": width, "channels": channels}
        owner._finished = True


def resumed(loader: Any, state: Mapping[str, Any]) -> dict[str, Any]:
    """A state for mldf's loader: of its own, or of the two numbers that TurboLoader keeps."""
    given = dict(state)
    served = given.pop("batches_served", None)
    if "consumed" in given or served is None:
        return given
    fresh = dict(loader.state_dict())
    consumed = min(int(served) * loader.batch_size * loader.world_size, fresh["count"])
    return {**fresh, "epoch": int(given["epoch"]), "consumed": consumed}
