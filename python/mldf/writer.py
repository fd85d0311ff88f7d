"""Writing datasets from Python.

>>> import mldf, numpy as np, os, tempfile
>>> path = os.path.join(tempfile.mkdtemp(), "w.mldf")
>>> with mldf.Writer(path, {"image": mldf.Image(encode="jpeg"), "label": mldf.Int()}) as w:
...     for i in range(3):
...         w.append({"image": np.full((8, 8, 3), i, np.uint8), "label": i}, key=f"sample-{i}")
>>> mldf.open(path).keys.index("sample-2")
2
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import time
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from . import _mldf
from .dataset import Dataset
from .errors import ArgumentError, CancelledError, Error, StateError, WrongTypeError
from .fields import registered_types, schema_json
from .paths import Path, encode
from .progress import ProgressArgument, Reporting
from .sample import Sample
from .schema import Schema, no_field
from .values import converter

__all__ = ["WriteResult", "Writer", "write"]


@dataclass(frozen=True)
class WriteResult:
    """What was written."""

    samples: int
    """In the file."""
    bytes: int
    """Of the file."""
    skipped: list[tuple[int, str]]
    """With on_error="skip": (number of the append call, why)."""


def secret(key: bytes | None, passphrase: str | bytes | None) -> dict[str, Any]:
    """Options of a writer that encrypts."""
    return {
        "encrypt_key": key,
        "encrypt_passphrase": passphrase.encode() if isinstance(passphrase, str) else passphrase,
    }


def writer_options(
    *,
    overwrite: bool,
    threads: int | None,
    checksums: bool,
    dictionary: bool,
    page_size: int | None,
    card: Mapping[str, Any] | None,
    key: bytes | None,
    passphrase: str | bytes | None,
) -> dict[str, Any]:
    """The options that everything has that writes a file."""
    return {
        "overwrite": overwrite,
        "threads": -1 if threads is None else threads,
        "no_checksums": not checksums,
        "dictionary": dictionary,
        "page_size": page_size,
        "card": None if card is None else json.dumps(dict(card)),
        **secret(key, passphrase),
    }


class Writer:
    """Writes a dataset, sample by sample; threads encode while Python goes on.

    path        the new file; it appears under this name only when it is complete and on disk
    fields      ``{"image": mldf.Image(), "label": mldf.Int()}``; also names of types, dicts, or the schema of another
                dataset
    overwrite   replace an existing file
    threads     that encode; None: the CPUs this process may use; 0: none
    card        a dict that describes the dataset
    checksums   of every payload and table
    dictionary  train one zstd dictionary for the compressed fields
    page_size   of the file, a power of two; None: the library's choice
    progress    True: a bar on stderr; or a function that is told (:class:`mldf.Progress`)
    key, passphrase   encrypt with them
    on_error    "raise", or "skip": leave out samples that cannot be encoded
    check       decode every picture after it was encoded

    Used in a ``with`` block: an exception inside it leaves nothing behind. An error in a value may show at a later
    append or at the end, because threads encode; it names sample and field. A writer is one thread's at a time.
    """

    def __init__(
        self,
        path: Path,
        fields: Any,
        *,
        overwrite: bool = False,
        threads: int | None = None,
        card: Mapping[str, Any] | None = None,
        checksums: bool = True,
        dictionary: bool = False,
        page_size: int | None = None,
        key: bytes | None = None,
        passphrase: str | bytes | None = None,
        on_error: str = "raise",
        check: bool = False,
        progress: ProgressArgument = None,
    ) -> None:
        if on_error not in ("raise", "skip"):
            raise ArgumentError(f"on_error={on_error!r}: it is 'raise' or 'skip'")
        options = writer_options(
            overwrite=overwrite,
            threads=threads,
            checksums=checksums,
            dictionary=dictionary,
            page_size=page_size,
            card=card,
            key=key,
            passphrase=passphrase,
        )
        options |= {"skip_bad_samples": on_error == "skip", "check_values": check}
        self._open(path, schema_json(fields), options, progress)

    @classmethod
    def existing(
        cls,
        path: Path,
        *,
        threads: int | None = None,
        key: bytes | None = None,
        passphrase: str | bytes | None = None,
        on_error: str = "raise",
        progress: ProgressArgument = None,
    ) -> Writer:
        """Appends samples to an existing MLDF file, with its schema. Until the end succeeds the file is what it was.

        path             the file
        threads          that encode; None: the CPUs this process may use; 0: none
        key, passphrase  of an encrypted file
        on_error         "raise", or "skip": leave out samples that cannot be encoded
        progress         True: a bar on stderr; or a function that is told
        """
        self = cls.__new__(cls)
        options = {
            "threads": -1 if threads is None else threads,
            "skip_bad_samples": on_error == "skip",
            **secret(key, passphrase),
        }
        self._open(path, None, options, progress)
        return self

    def _open(self, path: Path, schema: str | None, options: dict[str, Any], progress: ProgressArgument) -> None:
        self.path = os.fspath(path)
        self.result: WriteResult | None = None
        self._reporting = Reporting("write", progress)
        self._writer = _mldf.open_writer(encode(path), schema, options, registered_types(), self._reporting.__enter__())
        self._schema = Schema.from_reader(self._writer.fields())
        self._names = self._schema.names
        self._known = frozenset(self._names)
        self._converters = [converter(field) for field in self._schema.values()]
        self._calls = 0
        self._skip = bool(options["skip_bad_samples"])
        self._refused: list[tuple[int, str]] = []  # here, before they reached the library
        _live.add(self)

    @property
    def schema(self) -> Schema:
        """The fields that a sample has."""
        return self._schema

    def __len__(self) -> int:
        """Samples appended by this writer."""
        return self._calls - len(self._refused)

    def append(self, sample: Mapping[str, Any] | Sequence[Any], key: str | bytes | None = None) -> None:
        """One sample: a dict of name to value, or a sequence of values in the fields' order.

        Values may be numbers, str, bytes, NumPy arrays, lists, PIL images, torch tensors (pictures: channels first),
        and paths of files for pictures and bytes. What a dict lacks is a null. key: the sample's name; all samples
        have one or none.
        """
        try:
            values = tuple([convert(value) for convert, value in zip(self._converters, self._ordered(sample))])
        except (Error, OSError) as error:
            if not self._skip:
                raise
            self._refused.append((self._calls, str(error)))
        else:
            self._writer.append(values, key.encode("utf-8", "surrogateescape") if isinstance(key, str) else key)
        self._calls += 1

    def _ordered(self, sample: Any) -> Sequence[Any]:
        if isinstance(sample, Mapping):
            if not self._known.issuperset(sample):
                raise no_field(next(name for name in sample if name not in self._known), self._names)
            return [sample.get(name) for name in self._names]
        if isinstance(sample, Sample) and sample.names != self._names:
            return self._ordered(sample.asdict())
        if isinstance(sample, (tuple, list)):
            if len(sample) != len(self._names):
                raise ArgumentError(
                    f"a sample of {len(sample)} values, and there are {len(self._names)} fields: "
                    f"{', '.join(self._names)}"
                )
            return sample
        if len(self._names) == 1:
            return [sample]
        raise WrongTypeError(
            f"a sample is a dict or a tuple of {len(self._names)} values, not a {type(sample).__name__}"
        )

    def extend(self, samples: Iterable[Any], keys: Iterable[str] | None = None) -> None:
        """Many samples. samples: anything to iterate over; keys: as many names."""
        if keys is None:
            for sample in samples:
                self.append(sample)
            return
        for sample, key in zip(samples, keys, strict=True):
            self.append(sample, key)

    def finish(self) -> WriteResult:
        """Completes the file, durably. ``with`` does it."""
        samples, _, size = self._writer.finish()
        self._reporting.__exit__()
        self.result = WriteResult(samples, size, self._skipped())
        return self.result

    def _skipped(self) -> list[tuple[int, str]]:
        """What was left out here and by the library, which counts only the samples that it was given."""
        out, refused = list(self._refused), [n for n, _ in self._refused]
        before = 0
        for submitted, message, _ in self._writer.skipped():
            while before < len(refused) and refused[before] <= submitted + before:
                before += 1
            out.append((submitted + before, message))
        return sorted(out)

    def abort(self) -> None:
        """Gives up: nothing is left behind."""
        self._writer.abort()
        self._reporting.__exit__()

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.abort()
        elif self.result is None:
            self.finish()

    def __repr__(self) -> str:
        state = "finished" if self.result else f"{len(self):,} samples so far"
        return f"Writer({self.path!r}, {state}, {self._schema!r})"


_live: weakref.WeakSet[Writer] = weakref.WeakSet()


@atexit.register
def _abort_all() -> None:
    """A program that ends with writers open leaves no temporary files, daemon threads or not."""
    for writer in list(_live):
        if writer.result is None:
            with contextlib.suppress(StateError):  # another thread is inside
                writer.abort()


def write(
    path: Path,
    dataset: Any,
    fields: Any = None,
    *,
    keys: Iterable[str] | None = None,
    progress: ProgressArgument = None,
    **options: Any,
) -> WriteResult:
    """Writes anything that can be indexed or iterated: a torch dataset, a list of dicts, a generator, another mldf
    dataset.

    path      the new file
    dataset   what is written
    fields    as for :class:`Writer`
    keys      a name for each sample
    progress  True: a bar on stderr; or a function that is told
    options   those of :class:`Writer`

    fields may be left out for an mldf dataset: pictures are then kept as they are stored, and keys go along. Options
    are those of :class:`Writer`.

    >>> import mldf, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "t.mldf")
    >>> mldf.write(path, [("one", 1), ("two", 2)], {"name": "text", "n": "int"}).samples
    2
    """
    source = dataset
    if isinstance(dataset, Dataset):
        source = dataset.with_options(decode=False) if fields is None else dataset
        keys = dataset.keys if keys is None and fields is None else keys
        fields = dataset.schema if fields is None else fields
        options.setdefault("card", dataset.card or None)
    if fields is None:
        raise ArgumentError("fields are needed: {'image': mldf.Image(), 'label': mldf.Int()}, say")
    total = len(source) if hasattr(source, "__len__") else None
    names = None if keys is None else iter(keys)
    with Reporting("write", progress) as hook, Writer(path, fields, **options) as writer:
        told = 0.0
        for i, sample in enumerate(_samples(source, total)):
            try:
                writer.append(sample, None if names is None else next(names))
            except Error as error:
                if error.sample is None and not isinstance(error, StateError):
                    error.sample = i
                raise
            if hook is not None and (time.monotonic() - told > 0.05 or i + 1 == total):
                told = time.monotonic()
                if hook("write", i + 1, total, 0, None) is False:
                    raise CancelledError("the progress callback asked to stop")
        result = writer.finish()
    return result


def _samples(source: Any, total: int | None) -> Iterable[Any]:
    """Indexing first: a torch dataset has no end to its iteration but its length."""
    if total is not None and hasattr(source, "__getitem__") and not isinstance(source, Mapping):
        return (source[i] for i in range(total))
    samples: Iterable[Any] = source
    return samples
