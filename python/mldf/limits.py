"""Arguments that many functions have, checked before they reach the library."""

from __future__ import annotations

import operator
from typing import Any

from .errors import ArgumentError

__all__ = ["skips", "thread_count", "whole"]


def whole(name: str, value: Any) -> int | None:
    """An integer from 0 to 2^64 - 1, or None.

    >>> whole("count", 3)
    3
    """
    if value is None:
        return None
    number = operator.index(value) if hasattr(value, "__index__") else -1
    if not 0 <= number < 2**64:
        raise ArgumentError(f"{name}={value!r}: it is an integer from 0 on")
    return number


def thread_count(threads: int | None) -> int:
    """As the library has it: -1 for as many as there are CPUs."""
    count = whole("threads", threads)
    return -1 if count is None else min(count, 2**31 - 1)


def skips(on_error: str) -> bool:
    """What on_error says of bad samples."""
    if on_error not in ("raise", "skip"):
        raise ArgumentError(f"on_error={on_error!r}: it is 'raise' or 'skip'")
    return on_error == "skip"
