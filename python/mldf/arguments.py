"""The loader's arguments: words, numbers and names as people type them, checked and brought into one form."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .dataset import Dataset
from .errors import ArgumentError, WrongTypeError
from .files import field_list
from .limits import flag_or_none, whole
from .schema import bfloat16
from .suggest import choice

ORDERS = ("sequential", "random", "quasi-random")
LASTS = ("keep", "drop", "pad")
POLICIES = ("raise", "skip", "substitute")
CODEGENS = ("auto", "off", "wait")
OUTPUTS = ("numpy", "torch", "jax")


def curriculum_of(order: str | None) -> tuple[int, int]:
    """Of an order that goes by length: its number in the library, and its cycles; (0, 0) of others.

    >>> curriculum_of("natural"), curriculum_of("grow-p2(4)"), curriculum_of("grow_p2"), curriculum_of("random")
    ((1, 0), (2, 4), (2, 8), (0, 0))
    """
    text = order.replace("_", "-").lower() if isinstance(order, str) else ""
    found = re.fullmatch(r"\s*(natural|grow-p2)\s*(?:\(\s*(?:cycles\s*=\s*)?(\d+)\s*\))?\s*", text)
    if found is None or (found[1] == "natural" and found[2]):
        return 0, 0
    if found[1] == "natural":
        return 1, 0
    return 2, whole("cycles", int(found[2] or 8), 1, 2**32 - 1)


def order_kind(order: str | None, shuffle: bool | None) -> int:
    """The place of the order among ORDERS; shuffle is another name for two of them."""
    shuffle = flag_or_none("shuffle", shuffle)
    if order is None:
        return ORDERS.index("random" if shuffle else "sequential")
    if curriculum_of(order)[0]:
        return ORDERS.index("sequential" if shuffle is False else "random")
    kind = choice("order", order.replace("_", "-").lower() if isinstance(order, str) else order, ORDERS)
    if shuffle is not None and shuffle != (kind != 0):
        raise ArgumentError(f"order={order!r} and shuffle={shuffle}: they contradict each other")
    return kind


def last_kind(last: str | None, drop_last: bool | None) -> int:
    """The place of the choice among LASTS."""
    drop_last = flag_or_none("drop_last", drop_last)
    if last is None:
        return LASTS.index("drop" if drop_last else "keep")
    kind = choice("last", last, LASTS)
    if drop_last is not None and drop_last != (last == "drop"):
        raise ArgumentError(f"last={last!r} and drop_last={drop_last}: they contradict each other")
    return kind


def budgets(budget: Any) -> tuple[int, float]:
    """Elements and seconds of a batch; one of them, or both, are 0.

    >>> budgets(4096), budgets("300s"), budgets("0.5 s")
    ((4096, 0.0), (0, 300.0), (0, 0.5))
    """
    if not isinstance(budget, str):
        return whole("budget", budget), 0.0
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*s\s*", budget)
    seconds = float(found[1]) if found else 0.0
    if not 0 < seconds < float("inf"):
        raise ArgumentError(f"budget={budget!r}: a number of elements, or seconds as '300s', are needed")
    return 0, seconds


def bucket_length(bucket: str | None, window: Any, budget: Any) -> int:
    """Samples that are looked at for like lengths; 0: no buckets."""
    length, budgeted = whole("bucket_window", window, 1), any(budgets(budget))
    if bucket is None and (budgeted or length != 4096):
        name = "budget" if budgeted else "bucket_window"
        raise ArgumentError(f"{name} goes with bucket, the output whose length counts")
    return 0 if bucket is None else length


def batch_length(name: str, value: Any) -> int:
    """A size of batches: a whole number above 0."""
    return whole(name, value, 1)


def batch_sizes(batch_size: Any, global_batch_size: Any) -> tuple[int, int]:
    """Of a rank and of all ranks together: one of them is 0."""
    if batch_size is not None and global_batch_size is not None:
        raise ArgumentError("batch_size and global_batch_size: give one of them")
    if global_batch_size is None:
        return batch_length("batch_size", 64 if batch_size is None else batch_size), 0
    return 0, batch_length("global_batch_size", global_batch_size)


def cache(folder: Any) -> str | None:
    """The same folder as the command's."""
    if folder is not None:
        if not isinstance(folder, (str, os.PathLike)):
            raise WrongTypeError(f"cache_dir={folder!r}: a path is needed")
        return str(os.path.abspath(folder))
    base = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):
        return os.path.join(base, "mldf")
    home = os.environ.get("HOME", "")
    return os.path.join(home, ".cache", "mldf") if os.path.isabs(home) else None


def field_names(dataset: Dataset, fields: Sequence[str] | None) -> list[str] | None:
    """The outputs that are wanted, in order; None: all that there are."""
    if fields is not None:
        return field_list(fields)
    view = dataset._view
    return None if list(view.fields) == list(view.files.schema) else list(view.fields)


def callables(transform: Any) -> list[Callable[[Any], Any]]:
    """One or several, as a list."""
    if transform is not None and not callable(transform) and not isinstance(transform, (list, tuple)):
        raise WrongTypeError(f"transform={transform!r}: a callable, or a list of them, is needed")
    found = [] if transform is None else [transform] if callable(transform) else list(transform)
    for f in found:
        if not callable(f):
            raise WrongTypeError(f"transform: {f!r} is not callable")
    return found


def numpy_dtype(kind: str) -> np.dtype[Any]:
    """NumPy's, of the library's name."""
    return bfloat16() if kind == "bfloat16" else np.dtype(kind)


def dtype_name(kind: str) -> str:
    """For people."""
    return kind if kind == "bfloat16" else str(np.dtype(kind).name)
