"""Datasets: files of any format, one or many, as one sequence of samples.

>>> import mldf, os, tempfile
>>> path = os.path.join(tempfile.mkdtemp(), "demo.mldf")
>>> with mldf.Writer(path, {"x": mldf.NDArray("float32", (2,)), "label": mldf.Int()}) as w:
...     w.extend({"x": [i, i / 2], "label": i % 3} for i in range(10))
>>> ds = mldf.open(path)
>>> len(ds), ds[4].label, ds[4, "x"]
(10, 1, array([4., 2.], dtype=float32))
>>> ds.column("label")
array([0, 1, 2, 0, 1, 2, 0, 1, 2, 0])
>>> train, test = ds.split(0.8, 0.2, seed=1)
>>> len(train), len(test)
(8, 2)
>>> ds[2:4].column("label"), [s.label for s in ds.shard(0, 5)], ds.with_fields("label")[3]
(array([2, 0]), [0, 2], Sample(label=0))
>>> ds.schema["x"].shape, ds.format, ds.keys is None
((2,), 'mldf', True)

What the arguments are:

paths        one path, a list of them, a glob, or a range in braces
which        a slice, numbers in any order, or a mask of booleans
names        of fields, in the order that is wanted
fractions    that add up to 1, or a dict of name to fraction
shuffle      False: the first samples go to the first part
seed         of shuffle
key          a sample's name
start, stop  only numbers between these
"""

from __future__ import annotations

import bisect
import itertools
import json
import operator
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from .errors import ArgumentError, IoError, NoSampleError, StateError, UnsupportedError, WrongTypeError
from .fields import CustomField, register_field
from .files import Files, View
from .keys import Keys
from .order import shuffled, stratified
from .paths import Paths, expand
from .sample import Sample
from .schema import BYTES, FLOAT, INT, JSON, TEXT, FieldInfo, Schema, rows_dtype
from .secret import Key, Passphrase, secret
from .suggest import choice

__all__ = ["Dataset", "open"]

Index = npt.NDArray[np.uint64]
TAR_INDEX = ("use", "keep", "ignore")
_CHUNK = 1024  # samples of one call where a column is long: between two calls Ctrl-C is heard


def open(
    paths: Paths,
    *,
    fields: Sequence[str] | None = None,
    decode: bool = True,
    channels: int | None = None,
    orient: bool = False,
    verify: bool = False,
    backend: str = "map",
    key: Key = None,
    passphrase: Passphrase = None,
    tar_index: str = "use",
) -> Dataset:
    """Opens a dataset: an MLDF, TBL, .beton or tar file, told by its bytes; a list of them; a glob; a range
    ``{000..009}``.

    fields      these alone, in this order; of several files only these need to be alike
    decode      pictures as NumPy arrays (height, width, channels); False: as the bytes of their files
    channels    of decoded pictures: 1 gray, 3 RGB, 4 RGB + alpha; None: as stored
    orient      turn pictures as their EXIF orientation says
    verify      check the checksums of all that is read
    backend     "map": views of the mapped file; "read": copies by positional reads, for files that others may cut short
    key, passphrase   of encrypted files
    tar_index   of a plain tar, FILE.mldfidx beside it: "use" it if it is there, "keep": make it for the next time,
                "ignore"

    Opening takes the same time for ten samples and for ten million. A dataset may be used by any number of threads,
    after fork, and be pickled (by path and options; key and passphrase included).

    Raises :class:`mldf.errors.NotFoundError` and the like for the file, :class:`mldf.errors.FileError` for what is in
    it, :class:`mldf.errors.NoFieldError` for a name in fields.
    """
    if backend not in ("map", "read"):
        raise ArgumentError(f"backend={backend!r}: it is 'map' or 'read'")
    options = {
        "tar_index": choice("tar_index", tar_index, TAR_INDEX),
        "backend": int(backend == "read"),
        "verify": verify,
        **secret(key, passphrase),
    }
    names = expand(paths)
    for name in names:
        if os.path.isdir(name):
            raise IoError(
                f"{name} is a folder, not a file: mldf.pack makes a dataset of pictures; a glob opens files in it"
            )
    files = Files([os.path.abspath(p) for p in names], options, fields)
    return Dataset(View(files, fields, decode, channels, orient), None)


# ---- the dataset ----


class Dataset(Sequence[Sample]):
    """Samples by number. Made by :func:`mldf.open`; subsets of it are datasets too, and cost nothing.

    ``ds[i]``             a sample: a named tuple (see :class:`mldf.Sample`)
    ``ds[i, "image"]``    one field of it; no other field's bytes are touched
    ``ds[2:8]``, ``ds[array]``, ``ds[mask]``   a dataset of those samples
    ``ds[2:8, "label"]``  their values: an array where they have one size, else a list
    ``ds["label"]``       the same as ``ds.column("label")``

    Numbers, texts and JSON come as Python objects, bytes as bytes, arrays as NumPy arrays, structs as NumPy records,
    pictures as arrays (height, width, channels), nulls as None. An array that is stored raw is a read-only view of
    the mapped file: no copy, valid for as long as it is kept, also after ``close``. ``__getitems__``, which torch's
    DataLoader calls, gives copies that may be written, since torch has no read-only tensors.
    """

    def __init__(self, view: View, index: Index | range | None = None) -> None:
        if not isinstance(view, View):
            raise WrongTypeError("mldf.open(path) makes a dataset")
        files = view.files
        self._view = view
        self._index = index
        self._count = files.count if index is None else len(index)
        self._starts = files.starts if len(files.readers) > 1 else None
        self._reader, self._plan = files.readers[0], view.plans[0]
        # The short way of ds[i] and ds[i, name], for a whole file.
        self._whole = self._count if index is None and self._starts is None else 0
        self._sample, self._field = self._reader.sample, self._reader.field

    if not TYPE_CHECKING:  # which would take every name for known

        def __getattr__(self, name: str) -> Any:
            """Only of names that there are not."""
            from .habits import DATASET

            hint = f"; here it is {DATASET[name]}" if name in DATASET else ""
            if not name.startswith("_") and name in self.fields:
                hint = f"; the field is ds[{name!r}], and that of a sample ds[i].{name}"
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}")

    # ---- samples ----

    def __len__(self) -> int:
        return self._count

    def _locate(self, i: Any) -> int:
        """The number among all samples of the files."""
        n = operator.index(i)
        if n < 0:
            n += self._count
        if not 0 <= n < self._count:
            raise NoSampleError(f"no sample {i}: there are {self._count}")
        return n if self._index is None else int(self._index[n])

    @overload
    def __getitem__(self, index: int) -> Sample: ...
    @overload
    def __getitem__(self, index: slice | Sequence[int] | npt.NDArray[Any]) -> Dataset: ...
    @overload
    def __getitem__(self, index: str) -> Any: ...
    @overload
    def __getitem__(self, index: tuple[Any, str]) -> Any: ...

    def __getitem__(self, index: Any) -> Any:
        if type(index) is int and 0 <= index < self._whole:
            return self._sample(self._plan, index)
        if isinstance(index, tuple) and len(index) == 2 and isinstance(index[1], str):
            rows, name = index
            if type(rows) is int and 0 <= rows < self._whole:
                return self._field(self._plan, self._view.slot(name), rows)
            return self._values(rows, name)
        if hasattr(index, "__index__") and getattr(index, "ndim", 0) == 0:
            n = self._locate(index)
            if self._starts is None:
                return self._sample(self._plan, n)
            part = bisect.bisect_right(self._starts, n) - 1
            return self._view.files.readers[part].sample(self._view.plans[part], n - self._starts[part])
        if isinstance(index, str):
            return self.column(index)
        return self.subset(index)

    def _values(self, rows: Any, name: str) -> Any:
        slot = self._view.slot(name)
        if hasattr(rows, "__index__") and getattr(rows, "ndim", 0) == 0:
            n = self._locate(rows)
            if self._starts is None:
                return self._reader.field(self._plan, slot, n)
            part = bisect.bisect_right(self._starts, n) - 1
            return self._view.files.readers[part].field(self._view.plans[part], slot, n - self._starts[part])
        return self.subset(rows).column(name)

    def __getitems__(self, indices: Sequence[int]) -> list[Sample]:
        """Many samples in one call, as copies that may be written. torch's DataLoader uses it.

        indices: their numbers.
        """
        numbers = self._numbers(np.asarray(indices))
        if self._starts is None:
            return self._reader.samples(self._plan, numbers, True)
        out: list[Any] = [None] * len(numbers)
        for part, places, local in self._by_part(numbers):
            found = self._view.files.readers[part].samples(self._view.plans[part], local, True)
            for place, sample in zip(places, found):
                out[place] = sample
        return out

    def __iter__(self) -> Iterator[Sample]:
        for i in range(self._count):
            yield self[i]

    def raw(self, i: int, name: str) -> npt.NDArray[np.uint8] | None:
        """The stored bytes of a value, undecoded (a JPEG file's, say), as a read-only view of the file where
        possible. None for a null.

        i     the sample's number
        name  the field
        """
        n = self._locate(i)
        part = 0 if self._starts is None else bisect.bisect_right(self._starts, n) - 1
        self._view.slot(name)
        files = self._view.files
        names = files.schemas[part].names
        if name not in names:
            return None
        found = files.readers[part].raw(names.index(name), n - files.starts[part])
        return None if found is None else np.asarray(found)

    # ---- columns ----

    def column(self, name: str) -> Any:
        """All values of a field. name: which.

        Numbers and structs of one mapped file: a read-only strided view of its table of rows, no copy. Arrays of
        fixed shape: one array, gathered in one call. Everything else: a list. A nullable field gives a masked array
        (zeros under the mask), or None in the list.
        """
        field = self._view.schema[name]
        if not field.is_fixed or field.dtype is None:
            return self._list(name)
        out = self._row_view(field)
        if out is None:
            out = self._gather(field)
        if field.nullable:
            mask = np.broadcast_to(~self.valid(name).reshape((-1,) + (1,) * (out.ndim - 1)), out.shape)
            return np.ma.MaskedArray(out, mask=mask)  # type: ignore[no-untyped-call]
        return out

    def valid(self, name: str) -> npt.NDArray[np.bool_]:
        """For each sample, whether it has a value of this field. name: which."""
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
        if files.options["verify"] or field.dtype is None:
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
        for part in np.unique(part_of):
            places = np.flatnonzero(part_of == part)
            yield int(part), places, numbers[places] - np.uint64(self._starts[part])

    # ---- what it is ----

    @property
    def schema(self) -> Schema:
        """The fields that a sample has: name to :class:`mldf.FieldInfo`."""
        return self._view.schema

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields that a sample has."""
        return self._view.schema.names

    @property
    def paths(self) -> list[str]:
        """The files, as absolute paths."""
        return list(self._view.files.paths)

    @property
    def format(self) -> str:
        """Of the (first) file: "mldf", "tbl1", "tbl2", "beton" or "tar"."""
        return str(self._view.files.infos[0]["format"])

    @property
    def parts(self) -> list[Dataset]:
        """A dataset for each file."""
        starts = [*self._view.files.starts, self._view.files.count]
        if len(starts) == 2:
            return [Dataset(self._view, None)]
        return [Dataset(self._view, range(a, b)) for a, b in itertools.pairwise(starts)]

    @property
    def card(self) -> dict[str, Any]:
        """What the (first) file says about the dataset: title, licence, classes ... ({} without a card)."""
        text = self._reader.card()
        found: dict[str, Any] = json.loads(text) if text else {}
        return found

    @property
    def keys(self) -> Keys | None:
        """The samples' names, or None when the files have none."""
        with_samples = [i for i in self._view.files.infos if i["num_samples"]]
        return Keys(self) if with_samples and all(i["has_keys"] for i in with_samples) else None

    def _title(self) -> str:
        files = self._view.files
        where = os.path.basename(files.paths[0]) + (f" and {len(files.paths) - 1} more" if len(files.paths) > 1 else "")
        return f"Dataset({where}: {self._count:,} samples, {self.format}{', closed' if files.closed else ''})"

    def __repr__(self) -> str:
        width = max((len(n) for n in self.schema), default=0)
        return "\n".join([self._title(), *(f"  {name:{width}}  {field}" for name, field in self.schema.items())])

    def _repr_html_(self) -> str:
        from .notebook import dataset_html

        return dataset_html(self, self._title(), self._view.files.closed)

    # ---- other views of the same files ----

    def subset(self, which: Any) -> Dataset:
        """The dataset of these samples: a slice, numbers in any order, or a mask of booleans."""
        if isinstance(which, slice):
            r = range(self._count)[which]
            if self._index is None:
                return Dataset(self._view, r)
            if isinstance(self._index, range):
                return Dataset(self._view, self._index[which])
            return Dataset(self._view, np.ascontiguousarray(self._index[which]))
        numbers = self._given(which)
        if numbers.dtype == np.bool_:
            if numbers.shape != (self._count,):
                raise ArgumentError(f"a mask of shape {numbers.shape} for {self._count} samples")
            numbers = np.flatnonzero(numbers)
        return Dataset(self._view, self._numbers(numbers))

    def _given(self, which: Any) -> npt.NDArray[Any]:
        """Numbers or a mask; what else people put in brackets is told what there is for it."""
        try:
            numbers = np.asarray(which)
        except ValueError:  # ragged
            numbers = np.empty(1, object)
        if numbers.dtype.kind in "biu" or numbers.size == 0:
            return numbers
        hint = ""
        texts = which[-1] if isinstance(which, tuple) and which else which
        if isinstance(texts, (list, tuple)) and texts and all(isinstance(name, str) for name in texts):
            hint = f"; several fields: ds.with_fields({', '.join(map(repr, texts))})"
        raise ArgumentError(
            f"samples are chosen by a number, a slice, an array of integers or a mask, not by {which!r}{hint}"
        )

    def with_fields(self, *names: str | Sequence[str]) -> Dataset:
        """The same samples with these fields alone, in this order."""
        chosen: Any = names[0] if len(names) == 1 and not isinstance(names[0], str) else names
        v = self._view
        return Dataset(View(v.files, chosen, v.decode, v.channels, v.orient), self._index)

    def with_options(
        self, *, decode: bool | None = None, channels: int | None = None, orient: bool | None = None
    ) -> Dataset:
        """The same samples, pictures decoded otherwise; what is not given stays.

        decode    False: the bytes of the pictures' files
        channels  1 gray, 3 RGB, 4 RGB + alpha, 0 as stored
        orient    turn pictures as their EXIF orientation says
        """
        v = self._view
        view = View(
            v.files,
            v.fields,
            v.decode if decode is None else decode,
            v.channels if channels is None else channels,
            v.orient if orient is None else orient,
        )
        return Dataset(view, self._index)

    def shard(self, index: int, count: int, *, contiguous: bool = False) -> Dataset:
        """Part `index` of `count`: every count-th sample. All parts together are the dataset. contiguous: a run of
        neighbours instead.
        """
        if count < 1 or not 0 <= index < count:
            raise ArgumentError(f"shard {index} of {count}: there are {count}, from 0 on")
        if contiguous:
            return self.subset(slice(self._count * index // count, self._count * (index + 1) // count))
        return self.subset(slice(index, None, count))

    @overload
    def split(
        self, *fractions: float, shuffle: bool = True, seed: int = 0, by: str | None = None
    ) -> tuple[Dataset, ...]: ...
    @overload
    def split(
        self, fractions: Mapping[str, float], /, *, shuffle: bool = True, seed: int = 0, by: str | None = None
    ) -> dict[str, Dataset]: ...

    def split(self, *fractions: Any, shuffle: bool = True, seed: int = 0, by: str | None = None) -> Any:
        """Datasets of these shares: ``train, test = ds.split(0.9, 0.1)``; a list works too, and a dict of shares gives
        a dict. Numbers of samples that add up to all of them are shares as well: ``ds.split(50_000, 10_000)``.

        Which sample goes where depends on the seed and the number of samples alone. by: each part has the values of
        this field in the proportion of the whole; where a value is too rare for that, the parts still have their
        sizes. Inside a part the order stays.
        """
        given = fractions[0] if len(fractions) == 1 and isinstance(fractions[0], (Mapping, list, tuple)) else fractions
        names = list(given) if isinstance(given, Mapping) else None
        shares = self._shares(list(given.values() if isinstance(given, Mapping) else given))
        order = shuffled(self._count, seed) if shuffle else np.arange(self._count)
        classes = None if by is None else self._classes(by)
        parts = [self.subset(places) for places in stratified(order, shares, classes)]
        return tuple(parts) if names is None else dict(zip(names, parts))

    def _shares(self, given: list[Any]) -> list[float]:
        try:
            shares = [float(share) for share in given]
        except (TypeError, ValueError):
            raise ArgumentError(f"split({', '.join(map(repr, given))}): shares are numbers") from None
        whole = self._count if all(hasattr(share, "__index__") for share in given) and sum(given) != 1 else 1
        if not shares or not min(shares) >= 0 or not abs(sum(shares) - whole) <= 1e-6 or sum(shares) == 0:
            raise ArgumentError(
                f"split({', '.join(map(repr, given))}): shares add up to 1, and numbers of samples to {self._count}"
            )
        return shares

    def _classes(self, name: str) -> npt.NDArray[np.intp]:
        field = self._view.schema[name]
        if field.type_id not in (INT, FLOAT, TEXT, JSON, BYTES):
            raise ArgumentError(f"by={name!r}: it is of type {field.type}; samples are not stratified on those")
        values = self.column(name)
        if isinstance(values, np.ma.MaskedArray):
            values = values.tolist()
        if isinstance(values, np.ndarray):
            return np.unique(values, return_inverse=True)[1].reshape(-1)
        numbers: dict[Any, int] = {}
        texts = ([json.dumps(v, sort_keys=True) for v in values]) if field.type_id == JSON else values
        return np.asarray([numbers.setdefault(v, len(numbers)) for v in texts], np.intp)

    # ---- life ----

    def close(self) -> None:
        """Forgets the files, for this dataset and all its subsets. Arrays that look into them stay valid."""
        self._view.files.close()

    def __enter__(self) -> Dataset:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        v = self._view
        if v.files.closed:
            raise StateError("this dataset is closed; it cannot be pickled")
        custom = [type(f.custom) for f in v.files.schema.values() if f.custom is not None]
        return _restore, (
            v.files.paths,
            v.files.options,
            v.files.count,
            custom,
            v.fields,
            v.decode,
            v.channels,
            v.orient,
            self._packed_index(),
            v.files.only,
        )

    def _secret(self) -> dict[str, Any]:
        """Key and passphrase, when they were needed."""
        files = self._view.files
        needed = any(i["format"] == "mldf" and i["flags"] & 8 for i in files.infos)
        return {name: files.options[name] for name in ("key", "passphrase")} if needed else {}

    def _packed_index(self) -> Any:
        """As few bytes as the numbers need."""
        if not isinstance(self._index, np.ndarray):
            return self._index
        return self._index.astype(np.min_scalar_type(max(self._view.files.count - 1, 0)))


def _restore(
    paths: list[str],
    options: dict[str, Any],
    count: int,
    custom: list[type[CustomField]],
    fields: list[str],
    decode: bool,
    channels: int | None,
    orient: bool,
    index: npt.NDArray[Any] | range | None,
    only: Sequence[str] | None = None,
) -> Dataset:
    """A pickled dataset again: opens the files anew."""
    for cls in custom:
        register_field(cls)
    files = Files(paths, options, only)
    if files.count != count:
        raise StateError(f"{paths[0]}: the dataset had {count} samples when it was pickled, and now has {files.count}")
    if isinstance(index, np.ndarray):
        index = index.astype(np.uint64)
    return Dataset(View(files, fields, decode, channels, orient), index)
