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
>>> ds.schema["x"].shape, ds.format, ds.has_keys
((2,), 'mldf', False)
"""

from __future__ import annotations

import bisect
import contextlib
import itertools
import json
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from .columns import Index
from .errors import (
    CorruptError,
    Error,
    IoError,
    RangeError,
    StateError,
    TruncatedError,
    UnsupportedError,
    WrongTypeError,
)
from .fields import CustomField, register_field
from .files import Files, View, field_list
from .keys import Keys
from .limits import decoded_limit, flag, whole_or_none
from .paths import Paths, expand, named
from .results import class_names
from .sample import Sample, Unreadable, partial_sample
from .schema import Schema
from .secret import Key, Passphrase, secret
from .subsets import Subsets
from .suggest import choice
from .tokens import documents, token_file_options
from .views import ItemView

__all__ = ["Dataset", "open"]

TAR_INDEX = ("use", "keep", "ignore")
BACKENDS = ("map", "read")


def unwrapped(source: Any) -> Any:
    """Of torch's Subset (random_split makes some) of a dataset: the dataset's own subset. All else as it is."""
    if isinstance(source, Dataset) or not hasattr(source, "indices"):
        return source
    inner = unwrapped(getattr(source, "dataset", None))
    return inner.subset(source.indices) if isinstance(inner, Dataset) else source


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
    max_decoded_bytes: int | None = None,
    max_unpacked: int | None = None,
    format: str | None = None,
    dtype: str | None = None,
    eos: int | None = None,
    eos_at: str | None = None,
    vocabulary: int | None = None,
) -> Dataset:
    """Opens a dataset: an MLDF, TBL, .beton or tar file, recognised by its bytes; a list of them; a glob; a range
    ``{000..009}``.

    Opening takes the same time for ten samples and for ten million. A dataset may be used by any number of threads,
    after fork, and be pickled (by path and options; key and passphrase included).

    Raises :class:`mldf.errors.NotFoundError` and the like for the file, :class:`mldf.errors.FileError` for what is in
    it, :class:`mldf.errors.NoFieldError` for a name in fields.

    Parameters
    ----------
    paths
        A path, a list of them, a glob, or a range ``{000..009}``.
    fields
        These alone, in this order; of several files only these need to be alike.
    decode
        Images as NumPy arrays (height, width, channels); False: as the bytes of their files.
    channels
        Of decoded images: 1 gray, 3 RGB, 4 RGB + alpha; None: as stored.
    orient
        Turn images as their EXIF orientation says.
    verify
        Check the checksums of all that is read.
    backend
        "map": views of the mapped file; "read": copies by positional reads, for files that others may cut short.
    key, passphrase
        Of encrypted files.
    tar_index
        Of a plain tar, FILE.mldfidx beside it: "use" it if it is there, "keep": make it for the next time, "ignore".
    max_decoded_bytes
        The most bytes that one compressed value, or one decoded image, may become: more is a
        :class:`mldf.errors.LimitError`; None: 1 GiB, or 256 times the stored bytes where that is more.
    max_unpacked
        Of a compressed tar, which is unpacked into a file without a name in the folder that the environment variable
        TMPDIR names (else /tmp): refuse more bytes than these; None: 2**40.
    format
        Of files of token ids that do not say it: "nanogpt", "olmo", "datatrove"; Megatron's .idx and llm.c's .bin do.
    dtype
        Of such ids: "u8", "u16", "u32", "u64"; nanogpt: "u16" unless given.
    eos
        The id that ends documents, which are the samples then.
    eos_at
        "end", or "start": eos begins documents; None: the format's own.
    vocabulary
        The number of ids.
    """
    options = {
        "tar_index": choice("tar_index", tar_index, TAR_INDEX),
        "backend": choice("backend", backend, BACKENDS),
        "verify": flag("verify", verify),
        **decoded_limit(max_decoded_bytes),
        "max_unpacked": whole_or_none("max_unpacked", max_unpacked, 1),
        **token_file_options(format, dtype, eos, eos_at, vocabulary),
        **secret(key, passphrase),
    }
    fields = field_list(fields)
    names = expand(paths)
    for name in names:
        if os.path.isdir(name):
            raise IoError(
                f"{name} is a folder, not a file: mldf.pack makes a dataset of images; a glob opens files in it"
            )
    # An address (s3://...) stays as it is: the library says what to do about it.
    files = Files([p if "://" in p else os.path.abspath(p) for p in names], options, fields)
    return Dataset(View(files, fields, decode, channels, orient), None)


# ---- the dataset ----


# Faults of one value; others (a checksum, a closed dataset, no key, no memory) are faults of the file or of the call.
UNREADABLE = (CorruptError, RangeError, TruncatedError, UnsupportedError)


class Dataset(Subsets, Sequence[Sample]):
    """Samples by number. Made by :func:`mldf.open`; subsets of it are datasets too, and cost nothing.

    ``ds[i]``             a sample: a named tuple (see :class:`mldf.Sample`)
    ``ds[i, "image"]``    one field of it; no other field's bytes are touched
    ``ds[2:8]``, ``ds[array]``, ``ds[mask]``   a dataset of those samples
    ``ds[2:8, "label"]``  their values: an array where they have one size, else a list
    ``ds["label"]``       the same as ``ds.column("label")``

    Numbers, texts and JSON come as Python objects, bytes as bytes, arrays as NumPy arrays, structs as NumPy records,
    images as arrays (height, width, channels), nulls as None. An array that is stored raw is a read-only view of
    the mapped file: no copy, valid for as long as it is kept, also after ``close``. ``__getitems__``, which torch's
    DataLoader calls, gives copies that may be written, since torch has no read-only tensors.
    """

    def __init__(self, view: View, index: Index | range | None = None) -> None:
        if not isinstance(view, View):
            raise WrongTypeError("mldf.open(path) makes a dataset")
        super().__init__(view, index)
        self._plan = view.plans[0]
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

    def _other(self, view: View, index: Index | range | None) -> Dataset:
        return Dataset(view, index)

    # ---- samples ----

    def __len__(self) -> int:
        return self._count

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
            try:
                return self._sample(self._plan, index)
            except UNREADABLE as error:
                return self._partly(error, index)
        if isinstance(index, tuple) and len(index) == 2 and isinstance(index[1], str):
            rows, name = index
            if type(rows) is int and 0 <= rows < self._whole:
                return self._field(self._plan, self._view.slot(name), rows)
            return self._values(rows, name)
        if hasattr(index, "__index__") and getattr(index, "ndim", 0) == 0:
            n = self._locate(index)
            part = 0 if self._starts is None else bisect.bisect_right(self._starts, n) - 1
            begin = self._starts[part] if self._starts is not None else 0
            try:
                return self._view.files.readers[part].sample(self._view.plans[part], n - begin)
            except UNREADABLE as error:
                return self._partly(error, int(index))
        if isinstance(index, str):
            return self.column(index)
        return self.subset(index)

    def _partly(self, error: Error, i: int) -> Sample:
        """Sample i with one value or more that cannot be read: they raise when touched. Raises now if none can be."""
        readable: dict[str, Any] = {}
        values: list[Any] = []
        for name in self.fields:
            try:
                readable[name] = value = self[i, name]
                values.append(value)
            except UNREADABLE as why:
                values.append(Unreadable(why))
        bad = [v.error for v in values if isinstance(v, Unreadable)]
        if not bad or not readable:
            raise error
        for one in bad:
            one.readable = readable
            one.args = (f"{one}; the other fields can be read: ds[{i}, {next(iter(readable))!r}]", *one.args[1:])
        return partial_sample(tuple(self.fields), values)

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

        Parameters
        ----------
        indices
            The numbers of the samples.
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

    def raw(self, i: int, name: str, *, stored: bool = False) -> npt.NDArray[np.uint8] | None:
        """The bytes of a value, undecoded (a JPEG file's, say), as a read-only view of the file where possible. None
        for a null.

        Parameters
        ----------
        i
            The sample's number.
        name
            The field.
        stored
            The payload as it is stored: of a fast JPEG its record, which otherwise becomes the JPEG again.
        """
        n = self._locate(i)
        part = 0 if self._starts is None else bisect.bisect_right(self._starts, n) - 1
        self._view.slot(name)
        files = self._view.files
        names = files.schemas[part].names
        if name not in names:
            return None
        found = files.readers[part].raw(names.index(name), n - files.starts[part], bool(stored))
        return None if found is None else np.asarray(found)

    def as_view(self, text: str) -> ItemView:
        """What a sample is: the items that a view makes of the rows, as ``ds.as_view("windows(tokens, 1025)")`` or
        ``ds.as_view("expand(audio, every=10, length=10)")``. docs/guides/views.md says what there is.

        Parameters
        ----------
        text
            The view.
        """
        return ItemView(self, text)

    def _whole_files(self) -> Dataset:
        """All rows of the files, with the fields of this dataset."""
        return self if self._index is None else Dataset(self._view, None)

    def documents(self, i: int, name: str, level: str = "document") -> npt.NDArray[np.uint64] | None:
        """Where the documents of a token value begin and end: an array (documents, 2) of positions in it. A
        :class:`mldf.Tokens` value is one document; of a :class:`mldf.PackedTokens` value these are the pieces. None for
        a null.

        Parameters
        ----------
        i
            The sample's number.
        name
            The field.
        level
            Of a :class:`mldf.HierarchicalTokens` value: "paragraphs" or "sentences".
        """
        field = self.schema[name]
        if not field.is_tokens:
            raise WrongTypeError(f"field {name!r} is of type {field.type}, not of tokens", field=name)
        raw = self.raw(i, name)
        return None if raw is None else documents(field, self[i, name], raw, level)

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
    def keys(self) -> Keys:
        """The samples' names; empty where the files have none (``has_keys``)."""
        return Keys(self)

    @property
    def has_keys(self) -> bool:
        """Whether the samples have names."""
        return self._view.files.has_keys

    def _title(self) -> str:
        files = self._view.files
        return (
            f"Dataset({named(files.paths)}: {self._count:,} samples, {self.format}{', closed' if files.closed else ''})"
        )

    def __repr__(self) -> str:
        width = max((len(n) for n in self.schema), default=0)
        known: dict[str, list[str]] = {}
        if not self._view.files.closed:
            with contextlib.suppress(Error):  # a damaged card hides no dataset
                known = class_names(self._reader.card(), [(n, f.type) for n, f in self.schema.items()])
        shown = {n: f"  {len(c)} classes: {', '.join(c[:5])}{', ...' if len(c) > 5 else ''}" for n, c in known.items()}
        lines = [f"  {name:{width}}  {field}{shown.get(name, '')}" for name, field in self.schema.items()]
        return "\n".join([self._title(), *lines])

    def _repr_html_(self) -> str:
        from .notebook import dataset_html

        return dataset_html(self, self._title(), self._view.files.closed)

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
        """Key and passphrase, when they were needed, and whether tables are encrypted too."""
        files = self._view.files
        flags = [i["flags"] for i in files.infos if i["format"] == "mldf"]
        if not any(f & 8 for f in flags):
            return {}
        secret = {name: files.options[name] for name in ("key", "passphrase")}
        return {**secret, "encrypt_all": True} if any(f & 16 for f in flags) else secret

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
    """A pickled dataset again: opens the files again."""
    for cls in custom:
        register_field(cls)
    files = Files(paths, options, only)
    if files.count != count:
        raise StateError(f"{paths[0]}: the dataset had {count} samples when it was pickled, and now has {files.count}")
    if isinstance(index, np.ndarray):
        index = index.astype(np.uint64)
    return Dataset(View(files, fields, decode, channels, orient), index)
