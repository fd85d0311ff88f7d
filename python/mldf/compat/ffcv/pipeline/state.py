"""What an own operation knows about the data in front of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["State"]


@dataclass
class State:
    """jit_mode is True for NumPy arrays and False for tensors; shape is that of a sample."""

    jit_mode: bool
    device: Any
    shape: tuple[int, ...]
    dtype: Any
