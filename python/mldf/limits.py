"""Arguments that many functions have, checked before they reach the library."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .errors import ArgumentError, WrongTypeError
from .suggest import choice

__all__ = ["decoded_limit", "flag", "flag_or_none", "skips", "text", "thread_count", "whole", "whole_or_none"]


def flag(name: str, value: Any) -> bool:
    """True or False or 1 or 0, NumPy's too: a word such as "no" would count as True."""
    if not isinstance(value, (int, np.bool_, np.integer)) or value not in (0, 1):
        raise WrongTypeError(f"{name}={value!r}: True or False is needed")
    return bool(value)


def flag_or_none(name: str, value: Any) -> bool | None:
    """The same for an argument that may be left out."""
    return None if value is None else flag(name, value)


def decoded_limit(value: Any) -> dict[str, int]:
    """max_decoded_bytes of everything that reads a file, as an option; 0: the library's own rule.

    >>> decoded_limit(None), decoded_limit(1 << 20)
    ({'max_decoded_bytes': 0}, {'max_decoded_bytes': 1048576})
    """
    return {"max_decoded_bytes": whole_or_none("max_decoded_bytes", value, 1) or 0}


def text(name: str, value: Any) -> str | None:
    """Text or nothing."""
    if value is not None and not isinstance(value, str):
        raise WrongTypeError(f"{name}={value!r}: text is needed")
    try:
        odd = value is not None and b"\0" in value.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        odd = True
    if odd:
        raise ArgumentError(f"{name}={value!r}: it has a NUL or half a character in it")
    return value


def whole(name: str, value: Any, least: int = 0, most: int = 2**64 - 1) -> int:
    """A whole number, Python's or NumPy's, between these.

    >>> whole("seed", 2**64 - 1)
    18446744073709551615
    """
    try:
        if type(value).__name__ in ("bool", "bool_"):  # Python's, NumPy's
            raise TypeError
        found = operator.index(value)
    except TypeError:
        raise WrongTypeError(f"{name}={value!r}: a whole number is needed") from None
    if found < least:
        raise ArgumentError(f"{name}={found}: it is at least {least}")
    if found > most:
        raise ArgumentError(f"{name}={found}: it is at most {most}")
    return found


def whole_or_none(name: str, value: Any, least: int = 0, most: int = 2**64 - 1) -> int | None:
    """The same for an argument that may be left out."""
    return None if value is None else whole(name, value, least, most)


def thread_count(threads: int | None, num_workers: int | None = None) -> int:
    """As the library has it: -1 for as many as there are CPUs. num_workers is another name of it."""
    if threads is not None and num_workers is not None and threads != num_workers:
        raise ArgumentError(f"threads={threads} and num_workers={num_workers}: they are two names of one thing")
    name, found = ("num_workers", num_workers) if threads is None else ("threads", threads)
    return -1 if found is None else whole(name, found, -1, 2**31 - 1)


def skips(on_error: str) -> bool:
    """What on_error says of bad samples."""
    return choice("on_error", on_error, ("raise", "skip")) == 1
