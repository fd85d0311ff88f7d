"""A field type of one's own, in Python: key points of any number, stored as 16-bit fractions of the image's size.

    python own_type.py OUT.mldf

writes a small file, loads it, and prints each batch's shape and the error that rounding made. `encode` and `decode` are
for one sample. `decode_batch` makes one array of a whole batch, with NumPy, many times faster than sample by sample. The
Loader calls it in next(), while its own threads already read the batches that follow.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import mldf
import numpy as np


@mldf.register_field
@dataclass(frozen=True)
class KeyPoints(mldf.CustomField):
    """Points (x, y) in [0, size): n x 2 numbers of f4. A batch is samples x most x 2, with NaN where a sample has fewer."""

    type_name = "org.example.key-points"
    size: float = 1.0
    most: int = 8

    def arguments(self) -> Mapping[str, Any]:
        return {"size": self.size, "most": self.most}

    def encode(self, value: Any) -> bytes:
        points = np.asarray(value, np.float64)
        if points.ndim != 2 or points.shape[1] != 2 or len(points) > self.most:
            raise ValueError(f"at most {self.most} points of x, y are needed, not an array of shape {points.shape}")
        if len(points) and not (points.min() >= 0 and points.max() < self.size):
            raise ValueError(f"a point outside 0 to {self.size:g}")
        return np.minimum(np.round(points * (65536 / self.size)), 65535).astype("<u2").tobytes()

    def decode(self, data: bytes) -> np.ndarray:
        return self.decode_batch([data])[0]

    def decode_batch(self, records: list[bytes]) -> np.ndarray:
        counts = np.array([len(record) for record in records]) // 4
        if any(len(record) % 4 for record in records) or (len(counts) and counts.max() > self.most):
            raise ValueError("bytes that encode did not make")
        out = np.full((len(records), self.most, 2), np.nan, np.float32)
        filled = np.arange(self.most) < counts[:, None]
        out[filled] = np.frombuffer(b"".join(records), "<u2").reshape(-1, 2) * np.float32(self.size / 65536)
        return out


def main() -> None:
    """The example."""
    path = sys.argv[1]
    rng = np.random.default_rng(0)
    points = [rng.uniform(0, 639, (i % 9, 2)) for i in range(100)]
    samples = [{"points": p, "label": i} for i, p in enumerate(points)]
    mldf.write(path, samples, {"points": KeyPoints(size=640.0), "label": mldf.Int()}, overwrite=True)
    for batch in mldf.Loader(path, 40, order="random", seed=1):
        error = 0.0
        for got, label in zip(batch.points, batch.label):
            want = points[label]
            assert np.isnan(got[len(want) :]).all()
            error = max(error, float(np.abs(got[: len(want)] - want).max(initial=0)))
        print(f"{batch.points.dtype} {batch.points.shape}, error at most {error:.4f} pixels")


if __name__ == "__main__":
    main()
