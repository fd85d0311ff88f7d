"""Under FFCV's path ``ffcv.memory_managers``: payloads by their address, for programs that read them themselves.

Loaders do not use it: the library maps and reads files by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["MemoryContext", "MemoryManager", "OSCacheManager", "ProcessCacheManager"]


class MemoryContext:
    """What is open during an epoch: ``state`` goes to what compile_reader gave."""

    def __init__(self, manager: MemoryManager) -> None:
        self.manager = manager
        self._file: Any = None

    @property
    def state(self) -> tuple[Any, Any, Any]:
        """The file's bytes, the addresses of payloads in ascending order, and their sizes."""
        return self._file, self.manager.ptrs, self.manager.sizes

    def __enter__(self) -> MemoryContext:
        if self._file is None:
            self._file = np.memmap(self.manager.reader.file_name, np.uint8, "r")
        return self

    def __exit__(self, *_: object) -> None:
        pass


class MemoryManager:
    """Of an FFCV Reader's file."""

    def __init__(self, reader: Any) -> None:
        self.reader = reader
        table = np.sort(reader.alloc_table, order="ptr")
        self.ptrs, self.sizes = table["ptr"].copy(), table["size"].copy()
        self.context = MemoryContext(self)

    def schedule_epoch(self, schedule: Any) -> MemoryContext:
        """For ``with``."""
        del schedule
        return self.context

    def compile_reader(self) -> Callable[..., Any]:
        """A function of (address, state) that gives the payload's bytes."""

        def read(address: int, mem_state: Any) -> Any:
            at = int(np.searchsorted(mem_state[1], np.uint64(address)))
            if at == len(mem_state[1]) or int(mem_state[1][at]) != int(address):
                raise KeyError(f"no payload begins at byte {int(address)} of {self.reader.file_name}")
            return mem_state[0][int(address) : int(address) + int(mem_state[2][at])]

        return read


class OSCacheManager(MemoryManager):
    """The same: the operating system's cache keeps what was read."""


class ProcessCacheManager(MemoryManager):
    """The same, where FFCV reads pages itself."""
