"""FFCV's Compiler, which compiles nothing here: own operations run as the Python that they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Compiler"]


class Compiler:
    """What operations call in ``generate_code``."""

    is_enabled = False
    num_threads = 1

    @classmethod
    def set_enabled(cls, b: bool) -> None:
        """Nothing to do."""

    @classmethod
    def set_num_threads(cls, n: int) -> None:
        """Nothing to do: the loader has its threads."""

    @classmethod
    def compile(cls, code: Callable[..., Any], signature: Any = None) -> Callable[..., Any]:
        """The function itself."""
        del signature
        return code

    @classmethod
    def get_iterator(cls) -> type[range]:
        """Python's range, where FFCV has Numba's prange."""
        return range
