"""Which samples an epoch has, and how often: subsets, weights, mixtures, for the loader's order. All of them speak of
rows; with a view each stands for the items that begin in it.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Any

import numpy as np
import numpy.typing as npt

from .dataset import Dataset
from .errors import ArgumentError, UnsupportedError, WrongTypeError
from .limits import whole
from .views import ItemView, items_of, spread

__all__ = ["describe"]

Numbers = npt.NDArray[np.uint64]


def _listed(numbers: Numbers, shuffled: bool) -> Numbers:
    """The subset as the library takes it: as it is when its order counts, sorted when a shuffle is to follow, so that
    the same samples are shuffled the same way however they were listed.
    """
    if shuffled and len(numbers) > 1 and not bool((numbers[1:] > numbers[:-1]).all()):
        return np.sort(numbers)
    return np.ascontiguousarray(numbers)


def _numbers(dataset: Dataset) -> Numbers | None:
    """Of a subset, among all samples of the files; None: all of them."""
    index = dataset._index
    if isinstance(index, range):
        return np.arange(index.start, index.stop, index.step, dtype=np.int64).astype(np.uint64)
    return index


def _items(view: ItemView | None, rows: Numbers) -> Numbers:
    """The items of these rows, in the order of the rows."""
    return rows if view is None else spread(*items_of(view._core, rows))


def _weighted(dataset: Dataset, weights: Any, draws: int | None, view: ItemView | None) -> tuple[Any, ...]:
    try:
        values = np.ascontiguousarray(weights, np.float64)
    except (TypeError, ValueError):
        raise WrongTypeError(f"weights: a number for each sample is needed, not {type(weights).__name__}") from None
    if values.shape != (len(dataset),):
        raise ArgumentError(f"weights: an array of shape {values.shape} for {len(dataset)} samples")
    numbers = _numbers(dataset)
    if numbers is not None:
        spread = np.zeros(dataset._view.files.count)
        np.add.at(spread, numbers, values)
        values = spread
    if view is not None:
        counts = items_of(view._core, np.arange(dataset._view.files.count, dtype=np.uint64))[1]
        values = np.repeat(values, counts.astype(np.int64))
    return ("weighted", values, len(dataset if view is None else view) if draws is None else draws)


def _balanced(dataset: Dataset, name: str, draws: int | None, view: ItemView | None) -> tuple[Any, ...]:
    if len(dataset.paths) > 1:
        raise UnsupportedError("balance: of one file alone; weights= does nearly the same for several")
    classes = dataset._classes("balance", name)
    numbers = dataset._numbers(None)
    order = np.lexsort((numbers, classes))  # once, however many classes there are
    first = np.unique(classes[order], return_index=True)[1]
    groups = np.split(numbers[order], first[1:]) if len(order) else []
    parts = [(part, 1) for part in (_items(view, group) for group in groups) if view is None or len(part)]
    return ("mixture", parts, draws or 0)


PARTS = 10_000


def _shares(ratios: Any) -> list[int]:
    """Whole numbers that sum up to 10,000, by the largest remainders; of equal ones the first."""
    try:
        values = [float(r) for r in ratios]
    except (TypeError, ValueError):
        raise WrongTypeError(f"ratios={list(ratios)}: numbers are needed") from None
    total = sum(values)
    if not all(np.isfinite(v) and v > 0 for v in values):
        raise ArgumentError(f"ratios={values}: numbers above 0 are needed")
    exact = [v * PARTS / total for v in values]
    parts = [int(e) for e in exact]
    order = sorted(range(len(parts)), key=lambda i: (parts[i] - exact[i], i))
    for i in order[: PARTS - sum(parts)]:
        parts[i] += 1
    if min(parts) == 0:
        raise ArgumentError(
            f"ratios={values}: a share below {1 / PARTS:g} of all is none; whole numbers say it exactly"
        )
    return parts


def _mixed(dataset: Dataset, ratios: Any, draws: int | None, view: ItemView | None) -> tuple[Any, ...]:
    infos = dataset._view.files.infos
    if dataset._index is not None:
        raise UnsupportedError("ratios: of whole files, not of a subset")
    if not isinstance(ratios, (Sequence, np.ndarray)) or len(ratios) != len(infos) or len(infos) < 2:
        given = len(ratios) if isinstance(ratios, Sized) else repr(ratios)
        raise ArgumentError(f"ratios: {given} of them for {len(infos)} files; one for each, two at least")
    if any(isinstance(r, (float, np.floating)) for r in ratios):
        ratios = _shares(ratios)
    if view is not None and view.chooses_rows and "per_file=true" not in view.text:
        raise ArgumentError(
            f"ratios: the view {view.text} has sequences of several files; per_file=true packs each alone"
        )
    shares = [whole("ratios", r, 1, 2**32) for r in ratios]
    counts = [i["num_samples"] for i in infos] if view is None else view._counts
    return ("mixture", list(zip(counts, shares)), draws or 0)


def describe(
    dataset: Dataset,
    shuffled: bool,
    weights: Any,
    balance: str | None,
    ratios: Any,
    draws: int | None,
    view: ItemView | None = None,
) -> tuple[Any, ...] | None:
    """What the extension module makes an order of; None: all samples, by the loader's own options."""
    chosen = [
        name for name, value in (("weights", weights), ("balance", balance), ("ratios", ratios)) if value is not None
    ]
    if draws is not None:
        draws = whole("samples_per_epoch", draws, 1)
    if len(chosen) > 1:
        raise ArgumentError(f"{' and '.join(chosen)}: one of them at a time")
    if view is not None and view.chooses_rows and (weights is not None or balance is not None):
        raise ArgumentError(
            f"{chosen[0]}: the view {view.text} is made of documents, not chosen by rows; ratios= mixes files, "
            "subset= leaves documents out"
        )
    if weights is not None:
        return _weighted(dataset, weights, draws, view)
    if balance is not None:
        return _balanced(dataset, balance, draws, view)
    if ratios is not None:
        return _mixed(dataset, ratios, draws, view)
    if draws is not None:
        raise ArgumentError("samples_per_epoch goes with weights, balance or ratios")
    numbers = None if view is not None and view.chooses_rows else _numbers(dataset)  # whose plan is of the subset
    return None if numbers is None else ("subset", _listed(_items(view, numbers), shuffled))
