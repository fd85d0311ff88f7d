"""Under FFCV's path ``ffcv.libffcv``: the functions of its C library that programs call themselves."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ...errors import ArgumentError

__all__ = ["memcpy", "read"]

Array = np.ndarray[Any, Any]


def memcpy(source: Array, dest: Array) -> None:
    """The bytes of `source` into `dest`, which has as many and whose memory is contiguous."""
    if source.nbytes != dest.nbytes:
        raise ArgumentError(f"memcpy: {source.nbytes} bytes do not fill an array of {dest.nbytes}")
    if not dest.flags.c_contiguous:
        raise ArgumentError("memcpy: the destination is not contiguous")
    dest.reshape(-1).view(np.uint8)[:] = np.ascontiguousarray(source).reshape(-1).view(np.uint8)


def read(fileno: int, destination: Array, offset: int) -> int:
    """Fills `destination` with bytes of an open file, from `offset` on; gives their number."""
    target: Any = destination.reshape(-1).view(np.uint8)
    return os.preadv(fileno, [target], offset)
