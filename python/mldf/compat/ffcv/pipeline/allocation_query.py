"""The memory that an own operation asks for: its `destination`."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["AllocationQuery"]


class AllocationQuery(NamedTuple):
    """The shape of a sample, the dtype, and torch's device. Every batch gets new memory."""

    shape: tuple[int, ...]
    dtype: Any
    device: Any = None
