"""Which sample goes where: shuffles and stratified parts that depend on their seed alone, not on NumPy's version."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .limits import whole

__all__ = ["shuffled", "stratified"]

Numbers = npt.NDArray[np.intp]


def mixed(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """A bijection of 64 bits that scatters neighbours (the finisher of splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def shuffled(count: int, seed: int) -> Numbers:
    """0 to count - 1 in an order that the seed decides.

    >>> shuffled(6, seed=1).tolist() == shuffled(6, seed=1).tolist() != shuffled(6, seed=2).tolist()
    True
    """
    start = mixed(np.array([(whole("seed", seed) + 0x9E3779B97F4A7C15) % 2**64], np.uint64))
    with np.errstate(over="ignore"):
        keys = mixed(start + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    return np.argsort(keys, kind="stable")


_UNITS = 1_000_000_000  # shares are counted in these, so that sums of them are exact


def _quotas(sizes: Sequence[int], shares: Sequence[float]) -> Iterator[list[int]]:
    """How many samples of each class go to each part.

    The whole numbers in every share first; what is left goes, one each, to the parts that lag most over all classes
    so far. So each class is within one sample of its share in each part, and the parts keep their sizes even when
    every sample is a class of its own.

    >>> list(_quotas([1, 1, 1, 1], [0.5, 0.5]))
    [[1, 0], [0, 1], [1, 0], [0, 1]]
    """
    whole = sum(shares)
    weights = [round(share / whole * _UNITS) for share in shares]
    total = sum(weights)
    lag = [0] * len(weights)
    for size in sizes:
        quota = [size * w // total for w in weights]
        rest = [size * w % total for w in weights]
        lag = [behind + r for behind, r in zip(lag, rest)]
        due = sorted((p for p in range(len(rest)) if rest[p]), key=lambda p: -lag[p])
        for part in due[: size - sum(quota)]:
            quota[part] += 1
            lag[part] -= total
        yield quota


def stratified(order: Numbers, shares: Sequence[float], classes: npt.NDArray[Any] | None) -> Iterator[Numbers]:
    """Cuts `order` into parts of these shares, each sorted; with classes, each class by itself.

    >>> [p.tolist() for p in stratified(np.arange(8), [0.5, 0.5], np.array([0, 0, 0, 0, 1, 1, 1, 1]))]
    [[0, 1, 4, 5], [2, 3, 6, 7]]
    """
    if classes is None:
        sizes = [len(order)]
    else:
        of = classes[order]
        order = order[np.argsort(of, kind="stable")]
        sizes = np.unique(of, return_counts=True)[1].tolist()
    parts = np.tile(np.arange(len(shares)), len(sizes))
    quotas = [q for quota in _quotas(sizes, shares) for q in quota]
    part_of = np.repeat(parts, np.asarray(quotas, np.intp))
    for part in range(len(shares)):
        yield np.sort(order[part_of == part])
