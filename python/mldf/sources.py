"""What :func:`mldf.write` takes its samples from: anything that is indexed or iterated, or a dict of columns."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .errors import ArgumentError, SampleKeyError, WrongTypeError

_NO_MORE: Any = object()


def with_keys(samples: Iterable[Any], keys: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """Each sample with its key; as many of one as of the other."""
    names = iter(keys)
    count = 0
    for sample in samples:
        key = next(names, _NO_MORE)
        if key is _NO_MORE:
            raise SampleKeyError(f"{count} keys, and more samples", sample=count)
        count += 1
        yield sample, key
    if next(names, _NO_MORE) is not _NO_MORE:
        raise SampleKeyError(f"{count} samples, and more keys")


def samples_from(source: Any, first: int) -> tuple[Iterable[Any], int | None]:
    """The samples from this one on, and how many there are in all when that is known. Indexed where that is possible:
    a torch dataset has no end to its iteration but its length.
    """
    if isinstance(source, Mapping):
        return _rows(source, first)
    if isinstance(source, (str, bytes, os.PathLike)):
        raise WrongTypeError(
            f"a dataset to write is indexed or iterated, not a {type(source).__name__}; mldf.open(path)?"
        )
    if hasattr(source, "__dataframe__") or (hasattr(source, "__arrow_c_stream__") and hasattr(source, "columns")):
        # indexed by column, or by label
        raise WrongTypeError(
            f"a {type(source).__name__} has columns: write a dict of them, {{'label': table['label'], ...}}"
        )
    total = None
    if hasattr(source, "__len__"):
        with contextlib.suppress(TypeError):  # torch's IterableDataset without a length
            total = len(source)
    if total is not None and hasattr(source, "__getitem__"):
        at = _by_position(source)
        return (at(i) for i in range(first, total)), total
    if not hasattr(source, "__iter__") and not hasattr(source, "__getitem__"):
        raise WrongTypeError(f"a dataset to write is indexed or iterated; a {type(source).__name__} is neither")
    return itertools.islice(source, first, None), total


def _rows(columns: Mapping[str, Any], first: int) -> tuple[Iterable[Any], int]:
    """Columns of equal length, by name, as samples."""
    sizes = {name: len(column) for name, column in columns.items()}
    total = max(sizes.values(), default=0)
    for name, size in sizes.items():
        if size != total:
            raise ArgumentError(f"column {name!r} has {size} values, and another has {total}")
    places = {name: _by_position(column) for name, column in columns.items()}
    return ({name: at(i) for name, at in places.items()} for i in range(first, total)), total


def _by_position(column: Any) -> Callable[[int], Any]:
    """The i-th value. pandas' Series take labels in brackets, which a sort or a filter leaves in another order;
    pyarrow's columns give scalars of their own.
    """
    if hasattr(column, "iloc"):
        column = column.iloc
    elif hasattr(column, "to_pylist"):
        return lambda i: column[i].as_py()
    at: Callable[[int], Any] = column.__getitem__
    return at
