"""Views: what a sample is. Windows of a token stream, ten-second pieces of an hour of sound: items that are places in
stored rows; nothing is copied.

>>> import mldf, numpy as np, os, tempfile
>>> path = os.path.join(tempfile.mkdtemp(), "demo.mldf")
>>> with mldf.Writer(path, {"x": mldf.NDArray("uint16", (None,)), "name": "text"}) as w:
...     w.append({"x": np.arange(10, dtype=np.uint16), "name": "a"})
...     w.append({"x": np.arange(100, 107, dtype=np.uint16), "name": "b"})
>>> view = mldf.open(path).as_view("windows(x, 4, stride=3)")
>>> len(view), view[2].x, view[3]
(5, array([6, 7, 8, 9], dtype=uint16), Sample(x=uint16[4], name='b'))
>>> view.locate(4)
[Piece(file=0, row=1, start=3, length=4)]
>>> [batch.x.shape for batch in mldf.Loader(view, 4, fields=["x"])]
[(4, 4), (1, 4)]
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _mldf
from .audio import Recording
from .errors import ArgumentError, NoSampleError, WrongTypeError
from .multimodal import multimodal_decoder
from .packed import chooses_rows
from .sample import Sample, sample_type
from .schema import MULTIMODAL, Schema
from .video import Video

if TYPE_CHECKING:
    from .dataset import Dataset

__all__ = ["ItemView", "Piece", "items_of"]

Numbers = npt.NDArray[np.uint64]


class Piece(NamedTuple):
    """Where a part of an item is stored."""

    file: int
    """Which of the dataset's files."""
    row: int
    """The sample of that file."""
    start: int
    """The first element; of a recording, the first of its samples."""
    length: int
    """Elements that are there; what an item lacks at its end is zeros."""


def items_of(core: _mldf.View, rows: Numbers) -> tuple[Numbers, Numbers]:
    """The first item of each of these rows, and how many there are."""
    pairs = np.frombuffer(core.items(np.ascontiguousarray(rows, np.uint64)), np.uint64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def spread(first: Numbers, count: Numbers) -> Numbers:
    """All items of these rows, row after row."""
    ends = np.cumsum(count, dtype=np.uint64)
    within = np.arange(int(ends[-1]) if len(ends) else 0, dtype=np.uint64)
    out: Numbers = within + np.repeat(first - (ends - count), count.astype(np.int64))
    return out


class ItemView(Sequence[Sample]):
    """The items of a dataset, by number. :meth:`mldf.Dataset.as_view` makes one; ``Loader(view, ...)`` loads batches of
    them.

    ``view[i]`` is a sample whose cut field is the item's piece: a window of a file's mapping where it is stored in one
    piece. Other fields are those of the row that the item begins in; of ``segments``, and of fields along it, the item
    has its own entry; of ``steps``, numbers and arrays with a window are stacked, videos are those of the row. A random
    window is shown as its row's first.

    Parameters
    ----------
    dataset
        Whose rows it is made of.
    text
        As ``"windows(tokens, 1025)"``.
    """

    def __init__(self, dataset: Dataset, text: str) -> None:
        if not isinstance(text, str):
            raise WrongTypeError(f"a view's text is needed, as 'windows(x, 1025)', not {type(text).__name__}")
        self.dataset = dataset
        """Whose rows they are."""
        rows = None
        if chooses_rows(text) and dataset._index is not None:  # a plan of these documents alone
            rows = np.unique(dataset._numbers(None))
            if len(rows) != len(dataset):
                raise ArgumentError(
                    "a packed or pow2 view of a subset that has rows several times: each document is there once"
                )
        self._core = _mldf.new_view(tuple(dataset._view.files.readers), text, rows)
        described = self._core.describe()
        self.text: str = described[0]
        """The text with every parameter by name."""
        self.field: str = described[1]
        """The field that is cut; "" of rows."""
        self.digest: bytes = described[2]
        """By which a loader's state knows the view."""
        self._all, self._length, self._counts = described[3:6]
        self.rows_without_items: int = described[7]
        """Rows, of all files, that are too short or empty."""
        self.rows_unmeasured: int = described[8]
        """Rows, of all files, that are null or cannot be read: each is an item, which is null or a bad sample."""
        made = self._core.fields()
        self.schema: Schema = dataset._view.files.schema if made is None else Schema.from_reader(made[0])
        """The fields of an item: those of the rows, or of packed sequences tokens, labels and the others."""
        self.packed = made is not None
        """Are the fields of an item its own?"""
        self.defaults = [] if made is None else [n for n, default in zip(self.schema, made[1]) if default]
        """Of packed sequences, those that a batch has without being asked for."""
        self._along: str = described[9]
        schema = dataset._view.files.schema
        own = {n for n in schema if self._along in (n, schema[n].arguments.get("along"))}
        self._entries = own if self._along else set()
        found = re.match(r'steps\(.*?windows="(.*?)"[,)]', self.text)
        names = [part.split("=")[0] for part in found[1].split(";")] if found else []
        self._stacked = {n for n in names if schema[n].dtype is not None}
        self._numbers: Numbers | None = None
        self.chooses_rows = chooses_rows(self.text)
        """Is it made of the rows of a subset, and not chosen by them?"""
        if dataset._index is not None and not self.chooses_rows:
            self._numbers = spread(*items_of(self._core, dataset._numbers(None)))

    def __len__(self) -> int:
        return self._all if self._numbers is None else len(self._numbers)

    def _number(self, index: Any) -> int:
        if not hasattr(index, "__index__"):
            raise WrongTypeError(f"items are chosen by a number, not by {index!r}")
        count, i = len(self), index.__index__()
        if not -count <= i < count:
            raise NoSampleError(f"no item {i}: the view has {count}")
        i %= count
        return i if self._numbers is None else int(self._numbers[i])

    def locate(self, i: int) -> list[Piece]:
        """The pieces that item `i` is made of, in order.

        Parameters
        ----------
        i
            The item's number.
        """
        return [Piece(*piece) for piece in self._core.locate(self._number(i), 0)]

    def find(self, row: int) -> list[int]:
        """The items that have a piece of a row.

        Parameters
        ----------
        row
            Its number in the dataset.
        """
        numbers = self.dataset._numbers(None)
        if not hasattr(row, "__index__") or not -len(numbers) <= row < len(numbers):
            raise NoSampleError(f"no row {row!r}: the dataset has {len(numbers)}")
        items = self._core.find(int(numbers[row]))
        if self._numbers is None:
            return items
        return [int(i) for i in np.flatnonzero(np.isin(self._numbers, items))]

    def _made(self, item: int, name: str | None) -> Any:
        """The fields of a packed sequence, or one of them."""
        names = [name] if name is not None else [n for n in self.schema if len(self.schema[n].shape or ()) < 2]
        numbers = {n: i for i, n in enumerate(self.schema)}
        values: list[Any] = []
        for n in names:
            field = self.schema[n]  # raises, and names the nearest
            stored, record = self._core.get(item, 0, numbers[n])
            if field.type_id == MULTIMODAL:
                values.append(multimodal_decoder(field, self.dataset._view.decode)(stored, record))
                continue
            data = np.frombuffer(stored, field.dtype)
            values.append(data.reshape(field.dims) if field.shape else data[0])
        if name is not None:
            return values[0]
        return sample_type(tuple(names))._make(values)

    def __getitem__(self, index: Any) -> Any:
        """A sample; with a field's name, ``view[i, "x"]``, one value of it.

        Parameters
        ----------
        index
            The item's number; or that and a field's name.
        """
        name = None
        if isinstance(index, tuple) and len(index) == 2 and isinstance(index[1], str):
            index, name = index
        if self.packed:
            return self._made(self._number(index), name)
        pieces = self.locate(index)
        whole = self.dataset._whole_files()
        starts = self.dataset._view.files.starts
        row = starts[pieces[0].file] + pieces[0].row
        if name is not None:
            if name in self._stacked:
                return self._stack(index, name)
            value = whole[row, name]
            return self._cut(whole, pieces, value) if name == self.field else self._entry(index, row, name, value)
        sample = whole[row]
        changed = {n: self._entry(index, row, n, sample[n]) for n in sample.names if n in self._entries}
        changed |= {n: self._stack(index, n) for n in sample.names if n in self._stacked}
        if self.field in sample.names:
            changed[self.field] = self._cut(whole, pieces, sample[self.field])
        return sample._replace(**changed) if changed else sample

    def _stack(self, index: Any, name: str) -> Any:
        """Of steps: a field's values in the rows of its window; None where one of them is null."""
        field = self.schema[name]
        data, _ = self._core.get(self._number(index), 0, list(self.schema).index(name))
        return np.frombuffer(data, field.dtype).reshape((-1, *(field.shape or ()))) if data else None

    def _entry(self, index: Any, row: int, name: str, value: Any) -> Any:
        """Of a field that has one for each item of the row."""
        if name not in self._entries or value is None:
            return value
        first, _ = items_of(self._core, np.array([row], np.uint64))
        return value[self._number(index) - int(first[0])]

    def _cut(self, whole: Dataset, pieces: list[Piece], value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, Recording):
            value = value.numbers
        if not isinstance(value, (np.ndarray, Video)):
            raise ArgumentError(f"field {self.field!r}: its samples are bytes, and cannot be shown as an item")
        starts = self.dataset._view.files.starts
        parts = [value[pieces[0].start : pieces[0].start + pieces[0].length]]
        parts += [whole[starts[p.file] + p.row, self.field][p.start : p.start + p.length] for p in pieces[1:]]
        rest = self._steps(pieces[0]) - sum(p.length for p in pieces)
        if rest > 0:
            parts.append(np.zeros((rest, *value.shape[1:]), value.dtype))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _steps(self, piece: Piece) -> int:
        return self._length or piece.length

    def __repr__(self) -> str:
        return f"ItemView({self.text}: {len(self):,} items of {len(self.dataset):,} rows)"
