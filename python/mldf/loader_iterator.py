"""One epoch of a loader: what ``for batch in loader`` runs on. loader.py makes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import _mldf
from .batch import Batch, Convert
from .errors import StateError
from .loader_state import following

if TYPE_CHECKING:
    from .loader import Loader

__all__ = ["LoaderIterator"]


class LoaderIterator(Iterator[Batch]):
    """One epoch of a loader. A later iter() of the loader ends it."""

    __slots__ = ("_core", "_finish", "_generation", "_loader", "_may_skip")

    def __init__(self, loader: Loader, core: _mldf.Loader, finish: Convert | None, resumed: bool) -> None:
        self._loader, self._core, self._finish = loader, core, finish
        self._generation = loader._generation
        self._may_skip = resumed  # a state at the very end of an epoch

    def __next__(self) -> Any:
        """A batch. One that was interrupted on its way (Ctrl-C) comes again at the next call."""
        loader, core = self._loader, self._core
        if self._generation != loader._generation:
            if self._generation < 0:
                raise StopIteration
            raise StateError("a later iter() or load_state_dict() of this loader has taken over")
        raw = core.next()
        if raw is None:
            return self._end()
        self._may_skip = False
        if self._finish is None:
            core.pending = None
            return raw
        try:
            out = self._finish(raw)
        except StopIteration as error:  # of a decode or a transform: it would look like the epoch's end
            core.pending = None
            raise RuntimeError("StopIteration from a decode, a callable or a transform of this loader") from error
        except Exception:  # not KeyboardInterrupt
            core.pending = None
            raise
        core.pending = None  # a plain store, and nothing after it that looks for signals
        return out

    def _end(self) -> Any:
        if self._may_skip:
            self._may_skip = False
            self._core.begin(self._loader._next_epoch)
            self._loader._next_epoch = following(self._loader._next_epoch)
            return self.__next__()
        self._generation = -1
        raise StopIteration
