"""mldf's operations on arrays that are in memory already: ``transform.apply(image)`` of TurboLoader, and steps of an
FFCV pipeline that follow one written in Python.

The arrays become a file without a name for the time of the call, and a loader reads it: the results are those of a
loader with the same seed, at the price of some milliseconds a call.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..fields import NDArray
from ..loader import Loader
from ..writer import Writer

__all__ = ["apply"]


def apply(steps: Sequence[Any], arrays: np.ndarray[Any, Any], seed: int = 0) -> Any:
    """Of a batch (N, ...) of images or other arrays, what the steps make of it: (N, ...)."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        path = Path(folder) / "x.mldf"
        with Writer(path, {"x": NDArray(arrays.dtype.name, arrays.shape[1:])}, page_size=1 << 16) as writer:
            for array in arrays:
                writer.append({"x": np.ascontiguousarray(array)})
        key = "x as image" if arrays.ndim == 4 else "x"
        with Loader(path, len(arrays), pipelines={key: list(steps)}, threads=0, seed=seed, codegen="off") as loader:
            return next(iter(loader))[0]
