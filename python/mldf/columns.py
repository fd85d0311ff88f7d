"""The values of a dataset's samples by field, and the numbers that its samples have in its files."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import ArgumentError, NoSampleError, UnsupportedError
from .files import View
from .schema import INT, FieldInfo, rows_dtype

__all__ = ["Columns", "Index"]

Index = npt.NDArray[np.uint64]
_CHUNK = 1024  # samples of one call where a column is long: between two calls Ctrl-C is heard


class Columns:
    """The part of a Dataset that gives whole columns."""

    def __init__(self, view: View, index: Index | range | None) -> None:
        files = view.files
        self._view = view
        self._index = index  # the samples' numbers among those of all files; None: all of them
        self._by_number: npt.NDArray[np.intp] | None = None  # the order of such numbers, for look-ups of keys
        self._count = files.count if index is None else len(index)
        self._starts = files.starts if len(files.readers) > 1 else None
        self._reader = files.readers[0]

    def column(self, name: str) -> Any:
        """All values of a field.

        Numbers and structs of one mapped file: a read-only strided view of its table of rows, no copy. Arrays of
        fixed shape: one array, gathered in one call. Everything else: a list. A nullable field gives a masked array
        (zeros under the mask), or None in the list.

        Parameters
        ----------
        name
            Which field.
        """
        field = self._view.schema[name]
        if not field.is_fixed or field.dtype is None:
            return self._list(name)
        out = self._row_view(field)
        if out is None:
            out = self._gather(field)
        if field.nullable:
            mask = np.broadcast_to(~self.valid(name).reshape((-1,) + (1,) * (out.ndim - 1)), out.shape)
            with np.errstate(over="ignore"):  # its fill value for halves in records is 1e20
                return np.ma.MaskedArray(out, mask=mask)  # type: ignore[no-untyped-call]
        return out

    def valid(self, name: str) -> npt.NDArray[np.bool_]:
        """For each sample, whether it has a value of this field.

        Parameters
        ----------
        name
            Which field.
        """
        field = self._view.schema[name]
        out = np.ones(self._count, np.bool_)
        if not field.nullable:
            return out
        for part, places, local in self._by_part(self._numbers(None)):
            names = self._view.files.schemas[part].names
            if name in names:
                found = self._view.files.readers[part].valid(names.index(name), local)
                out[places] = np.frombuffer(found, np.uint8) != 0
            else:
                out[places] = False
        return out

    def _row_view(self, field: FieldInfo) -> npt.NDArray[Any] | None:
        files = self._view.files
        info = files.infos[0]
        if len(files.readers) > 1 or not field.in_row or info["format"] != "mldf" or not info["is_mapped"]:
            return None
        if files.options["verify"] or field.dtype is None or not files.count:
            return None  # what is gathered is checked on the way
        # Little-endian: a narrow integer is the first bytes of its 8-byte record.
        strides = (info["row_bytes"], *np.empty(field.dims, field.dtype).strides)
        whole: npt.NDArray[Any] = np.ndarray(
            (files.count, *field.dims), field.dtype, self._reader.rows(), field.row_offset, strides
        )
        return self._pick(whole)

    def _pick(self, whole: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if self._index is None:
            return whole
        if isinstance(self._index, range):
            r = self._index
            return whole[slice(r.start, r.stop if r.stop >= 0 else None, r.step)] if len(r) else whole[:0]
        out: npt.NDArray[Any] = whole[self._index]
        return out

    def _gather(self, field: FieldInfo) -> npt.NDArray[Any]:
        shape, dtype = field.dims, field.dtype
        assert dtype is not None
        stored = np.dtype("<u8" if dtype.str == "<u8" else "<i8") if field.type_id == INT else dtype
        out = np.zeros((self._count, *shape), dtype)
        item = stored.itemsize * int(np.prod(shape, dtype=np.int64))
        for part, places, local in self._by_part(self._numbers(None)):
            names = self._view.files.schemas[part].names
            if field.name in names:
                found = self._view.files.readers[part].gather(names.index(field.name), local, item)
                values = np.frombuffer(found, stored) if item else np.zeros(0, stored)
                out[places] = values.reshape((len(local), *shape)).astype(dtype, copy=False)
        return out

    def _list(self, name: str) -> list[Any]:
        slot = self._view.slot(name)
        out: list[Any] = [None] * self._count
        for part, places, local in self._by_part(self._numbers(None)):
            reader, plan = self._view.files.readers[part], self._view.plans[part]
            where = range(self._count) if isinstance(places, slice) else places
            for first in range(0, len(local), _CHUNK):
                found = reader.field_many(plan, slot, local[first : first + _CHUNK])
                for place, value in zip(where[first : first + _CHUNK], found):
                    out[place] = value
        return out

    @property
    def rows(self) -> npt.NDArray[Any]:
        """The whole metadata table as one structured array: numbers and structs as themselves, the rest as records
        with ptr and size.

        A read-only view of the mapped file; a copy for a subset by numbers, and of several files, where each ptr
        counts in its own file (see `parts`). MLDF files only; nulls are zeros.
        """
        files = self._view.files
        dtypes = [rows_dtype(schema, info["row_bytes"]) for schema, info in zip(files.schemas, files.infos)]
        if any(dtype != dtypes[0] for dtype in dtypes):
            raise UnsupportedError("rows: the files of this dataset have rows of different layout; see `parts`")
        tables: list[npt.NDArray[Any]] = [
            np.ndarray((info["num_samples"],), dtypes[0], reader.rows())
            for reader, info in zip(files.readers, files.infos)
        ]
        return self._pick(tables[0] if len(tables) == 1 else np.concatenate(tables))

    # ---- numbers of samples ----

    def _locate(self, i: Any) -> int:
        """The number among all samples of the files."""
        n = operator.index(i)
        if n < 0:
            n += self._count
        if not 0 <= n < self._count:
            raise NoSampleError(f"no sample {i}: there are {self._count}")
        return n if self._index is None else int(self._index[n])

    def _numbers(self, indices: npt.NDArray[Any] | None) -> Index:
        """Checked numbers among all samples of the files; None: of all samples of this dataset."""
        if indices is None:
            if self._index is None:
                return np.arange(self._count, dtype=np.uint64)
            r = self._index
            return np.arange(r.start, r.stop, r.step, dtype=np.int64).astype(np.uint64) if isinstance(r, range) else r
        if indices.size == 0:
            return np.zeros(0, np.uint64)
        if indices.dtype.kind not in "iu" or indices.ndim != 1:
            raise ArgumentError(
                f"sample numbers are integers in one dimension, not {indices.dtype} of shape {indices.shape}"
            )
        low, high = int(indices.min()), int(indices.max())
        if low < -self._count or high >= self._count:
            raise NoSampleError(f"no sample {high if high >= self._count else low}: there are {self._count}")
        if low < 0:
            indices = indices.astype(np.int64)
            indices = np.where(indices < 0, indices + self._count, indices)
        if isinstance(self._index, range):
            return (self._index.start + indices.astype(np.int64) * self._index.step).astype(np.uint64)
        if self._index is not None:
            picked: Index = self._index[indices]
            return picked
        return np.ascontiguousarray(indices, dtype=np.uint64)

    def _by_part(self, numbers: Index) -> Iterator[tuple[int, Any, Index]]:
        """(file, places in the result, numbers in that file)."""
        if self._starts is None:
            yield 0, slice(None), numbers
            return
        part_of = np.searchsorted(np.asarray(self._starts, np.uint64), numbers, side="right") - 1
        order = np.argsort(part_of, kind="stable")  # once, however many files there are
        parts, first = np.unique(part_of[order], return_index=True)
        for part, places in zip(parts.tolist(), np.split(order, first[1:])):
            yield part, places, numbers[places] - np.uint64(self._starts[part])
