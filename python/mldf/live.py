"""The objects that are still there: what must be closed before the interpreter ends."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Generic, TypeVar

__all__ = ["Live"]

T = TypeVar("T")


class Live(Generic[T]):
    """A set of objects that does not keep them.

    Not a WeakSet, which runs Python when an object goes: a Ctrl-C at that moment would be lost.
    """

    def __init__(self) -> None:
        self._references: set[weakref.ref[T]] = set()

    def add(self, thing: T) -> None:
        """Until it goes."""
        self._references.add(weakref.ref(thing, self._references.discard))

    def __iter__(self) -> Iterator[T]:
        """Those that are there now."""
        things = [reference() for reference in list(self._references)]
        return iter([thing for thing in things if thing is not None])
