"""Which sample goes where: shuffles and stratified parts that depend on their seed alone, not on NumPy's version."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import ArgumentError, WrongTypeError

__all__ = ["seed_number", "shuffled", "stratified"]

Numbers = npt.NDArray[np.intp]


def mixed(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """A bijection of 64 bits that scatters neighbours (the finisher of splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def seed_number(seed: Any) -> int:
    """A seed: a whole number of 64 bits.

    >>> seed_number(2**64 - 1)
    18446744073709551615
    """
    if not hasattr(seed, "__index__"):
        raise WrongTypeError(f"seed={seed!r}: a whole number is needed")
    number = int(seed.__index__())
    if not 0 <= number < 2**64:
        raise ArgumentError(f"seed={number}: it is a whole number from 0 to 18446744073709551615 (2**64 - 1)")
    return number


def shuffled(count: int, seed: int) -> Numbers:
    """0 to count - 1 in an order that the seed decides.

    >>> shuffled(6, seed=1).tolist() == shuffled(6, seed=1).tolist() != shuffled(6, seed=2).tolist()
    True
    """
    start = mixed(np.array([(seed_number(seed) + 0x9E3779B97F4A7C15) % 2**64], np.uint64))
    with np.errstate(over="ignore"):
        keys = mixed(start + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    return np.argsort(keys, kind="stable")


def _cuts(count: int, shares: Sequence[float]) -> list[int]:
    """Where the parts end: each within one of its share."""
    sums = np.cumsum(np.asarray(shares, np.float64))
    return [int(c) for c in np.floor(sums / sums[-1] * count + 0.5)]


def _deal(order: Numbers, shares: Sequence[float]) -> list[Numbers]:
    ends = _cuts(len(order), shares)
    return [order[a:b] for a, b in zip([0, *ends], ends)]


def stratified(order: Numbers, shares: Sequence[float], classes: npt.NDArray[Any] | None) -> Iterator[Numbers]:
    """Cuts `order` into parts of these shares, each sorted; with classes, each class by itself.

    >>> [p.tolist() for p in stratified(np.arange(8), [0.5, 0.5], np.array([0, 0, 0, 0, 1, 1, 1, 1]))]
    [[0, 1, 4, 5], [2, 3, 6, 7]]
    """
    if classes is None:
        groups = [order]
    else:
        of = classes[order]
        groups = [order[of == c] for c in np.unique(of)]
    dealt = [_deal(group, shares) for group in groups]
    for part in range(len(shares)):
        yield np.sort(np.concatenate([d[part] for d in dealt]) if dealt else order[:0])
