"""The names of a dataset's samples."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from .errors import NoSampleError, WrongTypeError

if TYPE_CHECKING:
    from .dataset import Dataset

__all__ = ["Keys"]


class Keys(Sequence[str]):
    """The names of a dataset's samples. ``keys[i]`` is the name of sample i, ``keys.index(name)`` the sample of a
    name (quick), and ``name in keys`` asks. Of files without keys it is empty.
    """

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    def __len__(self) -> int:
        return len(self._dataset) if self._dataset.has_keys else 0

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice | Sequence[int] | npt.NDArray[Any]) -> list[str]: ...

    def __getitem__(self, index: Any) -> str | list[str]:
        if not self._dataset.has_keys:
            if isinstance(index, slice):
                return []
            raise NoSampleError("no keys: these files have none")
        if not hasattr(index, "__index__") or getattr(index, "ndim", 0) > 0:
            return list(Keys(self._dataset.subset(index)))
        files = self._dataset._view.files
        n = self._dataset._locate(index)
        part = bisect.bisect_right(files.starts, n) - 1
        return files.readers[part].key(n - files.starts[part])

    def index(self, key: str | bytes, start: int = 0, stop: int | None = None) -> int:
        """The number of the sample whose name is `key`, between `start` and `stop`.

        Parameters
        ----------
        key
            The sample's name.
        start
            The first number that is looked at.
        stop
            The number after the last one; None: all.
        """
        files = self._dataset._view.files
        if isinstance(key, bytes):
            key = key.decode("utf-8", "surrogateescape")
        if not isinstance(key, str):
            raise WrongTypeError(f"a sample's key is a str, not a {type(key).__name__}")
        start, stop, _ = slice(start, stop).indices(len(self))
        for reader, first, info in zip(files.readers, files.starts, files.infos):
            if not info["has_keys"]:  # it has no samples either
                continue
            try:
                n = first + reader.find_key(key)
            except NoSampleError:
                continue
            place = self._place(n, start)
            if place is not None and start <= place < stop:
                return place
        raise NoSampleError(f"no sample has the key {key!r}")

    def _place(self, n: int, start: int) -> int | None:
        """Where the subset has sample n of the files; numbers may be there twice, so: from `start` on."""
        index = self._dataset._index
        if index is None:
            return n
        if isinstance(index, range):
            return index.index(n) if n in index else None
        order = self._dataset._by_number
        if order is None:
            order = self._dataset._by_number = np.argsort(index, kind="stable")
        first, end = (int(np.searchsorted(index, np.uint64(n), side, order)) for side in ("left", "right"))
        first += int(np.searchsorted(order[first:end], start))
        return int(order[first]) if first < end else None

    def __contains__(self, key: object) -> bool:
        try:
            return isinstance(key, (str, bytes)) and self.index(key) >= 0
        except NoSampleError:
            return False

    def __repr__(self) -> str:
        shown = ", ".join(repr(self[i]) for i in range(min(3, len(self))))
        return f"Keys([{shown}{', ...' if len(self) > 3 else ''}], {len(self)} in all)"
