"""What :func:`mldf.write` takes its samples from: anything that is indexed or iterated, or a dict of columns."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from .errors import ArgumentError, SampleKeyError, WrongTypeError
from .sample import Sample

__all__ = ["by_position", "columns_of", "named", "samples_from", "with_keys"]

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


def named(sample: Any) -> Mapping[str, Any] | None:
    """Values by name: of samples, named tuples, dataclasses and records of NumPy's structured arrays."""
    if isinstance(sample, Sample):
        return sample.asdict()
    if isinstance(sample, tuple) and hasattr(sample, "_fields"):
        return dict(zip(sample._fields, sample))
    if isinstance(sample, np.void) and sample.dtype.names is not None:
        return {name: sample[name] for name in sample.dtype.names}
    if dataclasses.is_dataclass(sample) and not isinstance(sample, type):
        return {member.name: getattr(sample, member.name) for member in dataclasses.fields(sample)}
    return None


def columns_of(source: Any, fields: Any = None) -> Any:
    """The columns of a table (pandas, polars, pyarrow), by name; anything else as it is. A pandas index that has a name
    is a column too, the first one, unless the fields are chosen and do not name it.
    """
    index: list[tuple[str, Any]] = []
    if hasattr(source, "column_names") and hasattr(source, "column"):  # pyarrow
        names, column = list(source.column_names), source.column
    elif hasattr(source, "__dataframe__") or (hasattr(source, "__arrow_c_stream__") and hasattr(source, "columns")):
        names, column = list(source.columns), source.__getitem__
        levels = [name for name in getattr(getattr(source, "index", None), "names", ()) if name is not None]
        wanted = [name for name in levels if fields is None or (isinstance(fields, Mapping) and name in fields)]
        index = [(str(name), source.index.get_level_values(name)) for name in wanted]
    else:
        return source
    texts = [name for name, _ in index] + [str(name) for name in names]
    for name in texts:
        if texts.count(name) > 1:
            raise ArgumentError(f"the table has two columns named {name!r}")
    return dict(zip(texts, itertools.chain((level for _, level in index), map(column, names))))


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
    total = None
    if hasattr(source, "__len__"):
        with contextlib.suppress(TypeError):  # torch's IterableDataset without a length
            total = len(source)
    if total is not None and hasattr(source, "__getitem__"):
        at = by_position(source)
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
    places = {name: by_position(column) for name, column in columns.items()}
    return ({name: at(i) for name, at in places.items()} for i in range(first, total)), total


def by_position(column: Any) -> Callable[[int], Any]:
    """The i-th value. pandas' Series take labels in brackets, which a sort or a filter leaves in another order;
    pyarrow's columns give scalars of their own, polars' columns of lists give columns.
    """
    if hasattr(column, "iloc"):
        column = column.iloc
    elif hasattr(column, "to_pylist"):
        return lambda i: column[i].as_py()
    at: Callable[[int], Any] = column.__getitem__
    if hasattr(column, "to_arrow") and hasattr(column, "to_list"):
        return lambda i: value.to_list() if isinstance(value := at(i), type(column)) else value
    return at
