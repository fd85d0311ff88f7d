"""Under TurboLoader's path ``turboloader.sequence``: loaders of what is not images: streams of tokens, arrays, and
datasets of Python. They are NumPy; :class:`mldf.Loader` loads files by C threads.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from ...errors import ArgumentError, UnsupportedError

__all__ = ["ArrayDataLoader", "MapDataLoader", "TokenDataLoader", "default_collate"]


class _Epochs:
    """What all of them have: a seed, and an epoch that changes the order."""

    def __init__(self, batch_size: int, shuffle: bool, seed: int) -> None:
        self.batch_size, self.shuffle, self.seed = int(batch_size), bool(shuffle), int(seed)
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """The order of the next iteration is that of `epoch`."""
        self._epoch = int(epoch)

    def _order(self, count: int) -> np.ndarray[Any, Any]:
        draws = np.random.default_rng(self.seed + self._epoch)  # TurboLoader's numbers
        return draws.permutation(count) if self.shuffle else np.arange(count)


class TokenDataLoader(_Epochs):
    """(inputs, targets) of a stream of tokens, int64 (batch_size, seq_len); targets are one token on.

    source            a file of tokens of `dtype`, or an array
    shuffle           windows begin at random places; otherwise one follows the other
    steps_per_epoch   batches; None: as many as the stream fills once
    return_targets    False: inputs alone
    world_rank, world_size   the windows of one of several processes
    pin_memory, device       are not here: ``mldf.Loader(view="windows(...)")`` has them
    """

    def __init__(
        self,
        source: Any,
        seq_len: int,
        batch_size: int = 32,
        *,
        dtype: Any = "uint16",
        shuffle: bool = True,
        seed: int = 42,
        steps_per_epoch: int | None = None,
        return_targets: bool = True,
        pin_memory: bool = False,
        device: Any = None,
        ring: int = 4,
        world_rank: int = 0,
        world_size: int = 1,
    ) -> None:
        super().__init__(batch_size, shuffle, seed)
        del ring
        if pin_memory or device is not None:
            raise UnsupportedError("TokenDataLoader(pin_memory=, device=): use mldf.Loader(device=...)")
        if not 0 <= world_rank < world_size:
            raise ArgumentError(f"TokenDataLoader: world_rank {world_rank} of world_size {world_size}")
        if isinstance(source, (str, bytes, os.PathLike)):
            source = np.memmap(os.fspath(source), np.dtype(dtype), "r")
        self._tokens: Any = np.asarray(source).reshape(-1) if not isinstance(source, np.memmap) else source.reshape(-1)
        self.seq_len, self.return_targets = int(seq_len), bool(return_targets)
        self.world_rank, self.world_size = int(world_rank), int(world_size)
        self._starts = len(self._tokens) - self.seq_len - int(self.return_targets)
        if self._starts <= 0:
            raise ArgumentError(f"{len(self._tokens)} tokens are too short for seq_len={seq_len}")
        whole = max(self._starts // (self.batch_size * self.seq_len), 1)
        self.steps_per_epoch = int(whole if steps_per_epoch is None else steps_per_epoch)
        self._served = self._resume = 0

    def __len__(self) -> int:
        return self.steps_per_epoch

    def __iter__(self) -> Iterator[Any]:
        """An epoch, or what is left of one."""
        count = self.steps_per_epoch * self.batch_size
        if self.shuffle:
            draws = np.random.default_rng(self.seed + self._epoch)
            starts = draws.integers(0, self._starts, count * self.world_size, dtype=np.int64)
        else:
            starts = np.arange(count * self.world_size, dtype=np.int64) * self.seq_len % self._starts
        starts = starts[self.world_rank :: self.world_size].reshape(self.steps_per_epoch, self.batch_size)
        self._served, self._resume = self._resume, 0
        for batch in starts[self._served :]:
            self._served += 1
            window = self._tokens[batch[:, None] + np.arange(self.seq_len + int(self.return_targets))].astype(np.int64)
            yield (window[:, :-1].copy(), window[:, 1:].copy()) if self.return_targets else window

    def state_dict(self) -> dict[str, int]:
        """Where the run is."""
        return {"version": 1, "epoch": self._epoch, "batches_served": self._served}

    def load_state_dict(self, sd: dict[str, int]) -> None:
        """The next iteration goes on there."""
        self._epoch, self._resume = int(sd["epoch"]), int(sd["batches_served"])


class ArrayDataLoader(_Epochs):
    """Batches of one array, or tuples of batches of several that are equally long."""

    def __init__(
        self, *arrays: Any, batch_size: int = 32, shuffle: bool = False, seed: int = 42, drop_last: bool = False
    ) -> None:
        super().__init__(batch_size, shuffle, seed)
        if not arrays:
            raise ArgumentError("ArrayDataLoader: at least one array is needed")
        self.arrays = [a if isinstance(a, np.memmap) else np.asarray(a) for a in arrays]
        counts = [len(a) for a in self.arrays]
        if len(set(counts)) != 1:
            raise ArgumentError(f"ArrayDataLoader: the first dimension of the arrays differs: {counts}")
        self.drop_last = bool(drop_last)

    def __len__(self) -> int:
        return _batches(len(self.arrays[0]), self.batch_size, self.drop_last)

    def __iter__(self) -> Iterator[Any]:
        """An epoch."""
        order = self._order(len(self.arrays[0]))
        for i in range(len(self)):
            chosen = order[i * self.batch_size :][: self.batch_size]
            found = tuple(np.ascontiguousarray(a[chosen]) for a in self.arrays)
            yield found if len(found) > 1 else found[0]


class MapDataLoader(_Epochs):
    """Batches of any dataset of Python that has ``__len__`` and ``__getitem__``, which runs in threads."""

    def __init__(
        self,
        dataset: Any,
        batch_size: int = 32,
        *,
        shuffle: bool = False,
        num_workers: int = 4,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        seed: int = 42,
        drop_last: bool = False,
        prefetch_batches: int = 2,
    ) -> None:
        super().__init__(batch_size, shuffle, seed)
        for name in ("__getitem__", "__len__"):
            if not hasattr(dataset, name):
                raise TypeError(f"MapDataLoader: the dataset, a {type(dataset).__name__}, has no {name}")
        self.dataset, self.drop_last = dataset, bool(drop_last)
        self.num_workers, self.prefetch_batches = max(int(num_workers), 1), max(int(prefetch_batches), 1)
        self.collate_fn = default_collate if collate_fn is None else collate_fn

    def __len__(self) -> int:
        return _batches(len(self.dataset), self.batch_size, self.drop_last)

    def __iter__(self) -> Iterator[Any]:
        """An epoch; samples are fetched ahead, and come in order."""
        order = self._order(len(self.dataset))[: len(self) * self.batch_size].tolist()
        batches = [order[i : i + self.batch_size] for i in range(0, len(order), self.batch_size)]
        with ThreadPoolExecutor(self.num_workers) as threads:
            ahead: deque[list[Future[Any]]] = deque()
            for batch in batches:
                ahead.append([threads.submit(self.dataset.__getitem__, i) for i in batch])
                if len(ahead) > self.prefetch_batches:
                    yield self.collate_fn([f.result() for f in ahead.popleft()])
            while ahead:
                yield self.collate_fn([f.result() for f in ahead.popleft()])


def _batches(count: int, size: int, drop_last: bool) -> int:
    return count // size if drop_last else -(-count // size)


def default_collate(samples: Sequence[Any]) -> Any:
    """Tuples, lists and dicts member by member; arrays stacked; numbers as an array.

    >>> default_collate([(1, {"a": 2}), (3, {"a": 4})])
    (array([1, 3]), {'a': array([2, 4])})
    """
    first = samples[0]
    if isinstance(first, (tuple, list)):
        found = [default_collate([s[i] for s in samples]) for i in range(len(first))]
        return tuple(found) if isinstance(first, tuple) else found
    if isinstance(first, dict):
        return {name: default_collate([s[name] for s in samples]) for name in first}
    return np.stack(list(samples)) if isinstance(first, np.ndarray) else np.asarray(samples)
