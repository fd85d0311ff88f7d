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
import itertools
import json
import os
import sys
import threading
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypedDict, Unpack

from . import _mldf
from .dataset import Dataset
from .errors import ArgumentError, CancelledError, Error, SampleKeyError, StateError, WrongTypeError
from .fields import registered_types, schema_json
from .infer import infer_source
from .limits import flag, skips, thread_count, whole_or_none
from .live import Live
from .paths import Path, encode
from .progress import ProgressArgument, Reporting
from .schema import Schema, no_field
from .secret import Key, Passphrase, secret
from .sources import columns_of, named, samples_from, with_keys
from .tokenizing import Tokenizing, tokenizing
from .values import converter, plain

__all__ = ["WriteResult", "Writer", "WriterOptions", "write"]

CHECKPOINT_SECONDS = 30.0  # of write(resume=True)


@dataclass(frozen=True)
class WriteResult:
    """What was written.

    Parameters
    ----------
    samples
        In the file.
    bytes
        Of the file.
    skipped
        With on_error="skip": (number of the append call, why).
    fields
        Of the file.
    """

    samples: int
    bytes: int
    skipped: list[tuple[int, str]]
    fields: Schema


def writer_options(
    *,
    overwrite: bool,
    threads: int | None,
    checksums: bool,
    dictionary: bool,
    page_size: int | None,
    card: Mapping[str, Any] | None,
    key: Key,
    passphrase: Passphrase,
    encrypt_all: bool = False,
) -> dict[str, Any]:
    """The options that everything has that writes a file."""
    return {
        "overwrite": flag("overwrite", overwrite),
        "threads": thread_count(threads),
        "no_checksums": not flag("checksums", checksums),
        "dictionary": flag("dictionary", dictionary),
        "page_size": whole_or_none("page_size", page_size),
        "card": _card(card),
        **secret(key, passphrase, "encrypt_"),
        "encrypt_all": flag("encrypt_all", encrypt_all),
    }


def _card(card: Mapping[str, Any] | None) -> str | None:
    if card is None:
        return None
    if not isinstance(card, Mapping):
        raise WrongTypeError(f"card is a dict that describes the dataset, not a {type(card).__name__}")
    try:
        return json.dumps(dict(card), allow_nan=False, default=plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise WrongTypeError(f"card takes what JSON can hold: {error}") from None


class WriterOptions(TypedDict, total=False):
    """The options of a :class:`Writer`, which explains them, and of what writes with one: :func:`write`.

    >>> import mldf
    >>> how: mldf.WriterOptions = {"overwrite": True, "on_error": "skip"}
    """

    overwrite: bool
    """Replace an existing file."""
    threads: int | None
    """That encode; None: the CPUs this process may use; 0: none."""
    card: Mapping[str, Any] | None
    """A dict that describes the dataset."""
    checksums: bool
    """Of every payload and table (True)."""
    dictionary: bool
    """Train one zstd dictionary for the compressed fields."""
    page_size: int | None
    """A power of two; None: the library's choice."""
    key: Key
    """Encrypt with it: 32 bytes."""
    passphrase: Passphrase
    """Instead of a key."""
    on_error: str
    """ "raise", or "skip": leave out samples that cannot be encoded."""
    check: bool
    """Decode every image after it was encoded."""
    resume: bool
    """Keep PATH.partial when interrupted, and go on from it."""
    encrypt_all: bool
    """Encrypt names of fields, numbers, keys and card too."""


class Writer:
    """Writes a dataset, sample by sample; threads encode while Python goes on.

    Use it in a ``with`` block: its end completes the file, an exception inside it leaves nothing behind. Without
    ``with``, call :meth:`close`: a writer that is never closed writes no file, and says so on stderr.

    A value that its field cannot hold is refused at once, and the writer may go on; what only shows when an image is
    encoded may be raised by a later append or at the end, because threads encode, and ends the writer. Both name
    sample and field. Several threads may append; their samples come in the order in which they do.

    Parameters
    ----------
    path
        The new file; it appears under this name only when it is complete and on disk.
    fields
        ``{"image": mldf.Image(), "label": mldf.Int()}``; also names of types, dicts, or the schema of another dataset.
    overwrite
        Replace an existing file.
    threads
        That encode; None: the CPUs this process may use; 0: none.
    card
        A dict that describes the dataset.
    checksums
        Of every payload and table.
    dictionary
        Train one zstd dictionary for the compressed fields.
    page_size
        Of the file, a power of two; None: the library's choice.
    key, passphrase
        Encrypt with them.
    on_error
        "raise", or "skip": leave out samples that cannot be encoded.
    check
        Decode every image after it was encoded.
    resume
        The file grows as PATH.partial, which outlives an interruption: see :meth:`checkpoint`.
    progress
        True: a bar on stderr; or a function that is called (:class:`mldf.Progress`).
    encrypt_all
        Encrypt names of fields, numbers, keys and card too; opening needs the key, and reads all tables.
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
        key: Key = None,
        passphrase: Passphrase = None,
        on_error: str = "raise",
        check: bool = False,
        resume: bool = False,
        progress: ProgressArgument = None,
        encrypt_all: bool = False,
    ) -> None:
        skip = skips(on_error)
        options = writer_options(
            overwrite=overwrite,
            threads=threads,
            checksums=checksums,
            dictionary=dictionary,
            page_size=page_size,
            card=card,
            key=key,
            passphrase=passphrase,
            encrypt_all=encrypt_all,
        )
        options |= {"skip_bad_samples": skip, "check_values": flag("check", check), "resume": flag("resume", resume)}
        self._open(path, schema_json(fields), options, progress, tokenizing(fields))

    @classmethod
    def existing(
        cls,
        path: Path,
        *,
        threads: int | None = None,
        key: Key = None,
        passphrase: Passphrase = None,
        on_error: str = "raise",
        progress: ProgressArgument = None,
    ) -> Writer:
        """Appends samples to an existing MLDF file, with its schema. Until the end succeeds the file is what it was.

        Parameters
        ----------
        path
            The file.
        threads
            That encode; None: the CPUs this process may use; 0: none.
        key, passphrase
            Of an encrypted file.
        on_error
            "raise", or "skip": leave out samples that cannot be encoded.
        progress
            True: a bar on stderr; or a function that is called.
        """
        self = cls.__new__(cls)
        options = {
            "threads": thread_count(threads),
            "skip_bad_samples": skips(on_error),
            **secret(key, passphrase, "encrypt_"),
        }
        self._open(path, None, options, progress)
        return self

    def _open(
        self,
        path: Path,
        schema: str | None,
        options: dict[str, Any],
        progress: ProgressArgument,
        waiting: Tokenizing | None = None,
    ) -> None:
        name = encode(path)
        self.path = os.fsdecode(name)
        self.result: WriteResult | None = None
        self._reporting = Reporting("write", progress)
        self._lock = threading.RLock()
        self._writer = _mldf.open_writer(name, schema, options, registered_types(), self._reporting.__enter__())
        try:
            self._schema = Schema.from_reader(self._writer.fields())
            self._names = self._schema.names
            self._known = frozenset(self._names)
            self._converters = [converter(field) for field in self._schema.values()]
            # The number of the first sample to come: in messages.
            self._first = self._writer.sample_count() if schema is not None else _sample_count(name)
        except BaseException:  # of a user-defined field's class, say
            self._writer.abort()
            raise
        self._calls = 0
        resumed = schema is not None and self._first > 0  # with b"" the library has no position
        self.position: bytes | None = self._writer.position() or (b"" if resumed else None)
        """With resume: what :meth:`checkpoint` was given before the interruption; None: nothing was interrupted."""
        self._skip = bool(options["skip_bad_samples"])
        self._resumes = bool(options.get("resume"))
        self._refused: list[tuple[int, str]] = []  # here, before they reached the library
        self._waiting = waiting
        self._process = os.getpid()
        self._ended = False
        _live.add(self)

    @property
    def schema(self) -> Schema:
        """The fields that a sample has."""
        return self._schema

    def __len__(self) -> int:
        """Samples appended by this writer."""
        return self._calls - len(self._refused) + (len(self._waiting.held) if self._waiting else 0)

    def append(self, sample: Mapping[str, Any] | Sequence[Any], key: str | bytes | None = None) -> None:
        """One sample.

        Values may be numbers, str, bytes, NumPy arrays, lists, PIL images, torch tensors (images: channels first),
        and paths of files for images and bytes. Text for a field with a tokenizer waits until there is about 1 MB of
        it.

        Parameters
        ----------
        sample
            A dict of name to value, or a sequence of values in the fields' order. What a dict lacks is a null.
        key
            The sample's name; all samples have one or none.
        """
        if self._waiting is not None:
            self._wait(sample, key)
        else:
            self._append(sample, key)

    def _wait(self, sample: Any, key: Any) -> None:
        """A sample whose text is to be tokenized waits for others; so does one that comes after it."""
        assert self._waiting is not None
        with self._lock:
            values = sample if isinstance(sample, Mapping) else dict(zip(self._names, self._ordered(sample)))
            if not self._waiting.wants(values):
                self._append(values, key)
            elif self._waiting.hold(values, key):
                self._tokenize()

    def _tokenize(self) -> None:
        """Samples that wait go through their tokenizer. An error ends the writer: those after it would be lost."""
        if self._waiting is None or not self._waiting.held:
            return
        with self._lock:
            try:
                for sample, key in self._waiting.take():
                    self._append(sample, key)
            except BaseException:
                self._give_up()
                raise

    def _append(self, sample: Any, key: Any) -> None:
        try:
            if type(key) is not bytes and key is not None:
                key = _key(key)
            values = tuple([convert(value) for convert, value in zip(self._converters, self._ordered(sample))])
        except Error as error:
            if not self._skip:
                _name_sample(error, self._first + self._calls)
                raise
            with self._lock:
                self._refused.append((self._calls, str(error)))
                self._calls += 1
            return
        with self._lock:
            self._writer.append(values, key)
            self._calls += 1

    def _ordered(self, sample: Any) -> Sequence[Any]:
        if type(sample) is dict or isinstance(sample, Mapping):
            if not self._known.issuperset(sample):
                raise no_field(next(name for name in sample if name not in self._known), self._names)
            return [sample.get(name) for name in self._names]
        if type(sample) is not tuple and type(sample) is not list:
            values = named(sample)
            if values is not None and (values.keys() == self._known or not isinstance(sample, tuple)):
                return self._ordered(values)
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
        """Many samples.

        Parameters
        ----------
        samples
            Anything to iterate over.
        keys
            As many names.
        """
        if keys is None:
            for sample in samples:
                self.append(sample)
            return
        for sample, key in with_keys(samples, keys):
            self.append(sample, key)

    def checkpoint(self, position: bytes = b"") -> bool:
        """With resume=True: makes all samples so far durable. After an interruption, a writer of the same path, fields
        and options goes on behind them, and its `position` is what was given here: where the caller is in its source.
        False: nothing could be saved yet, because a dictionary is still being learnt.

        Parameters
        ----------
        position
            Where the caller is in its source: a writer that goes on has it as its `position`.
        """
        with self._lock:
            self._tokenize()
            return self._writer.checkpoint(position)

    def close(self) -> None:
        """Completes the file, as :meth:`finish` does; does nothing when the writer has ended already."""
        if not self._ended:
            self.finish()

    def finish(self) -> WriteResult:
        """Completes the file, durably, and says what was written. ``with`` does it."""
        self._tokenize()
        self._ended = True
        try:
            with self._lock:
                samples, _, size = self._writer.finish()
        finally:
            self._reporting.__exit__()
        self.result = WriteResult(samples, size, self._skipped(), self._schema)
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
        """Gives up: nothing remains. An append of another thread is waited for."""
        with self._lock:
            self._give_up()

    def _give_up(self) -> None:
        self._writer.abort()
        self._ended = True
        self._reporting.__exit__()

    def _lost(self) -> str:
        kept = f"{self.path}.partial keeps what was saved by checkpoint()" if self._resumes else "nothing was written"
        lost = "1 sample is" if len(self) == 1 else f"{len(self):,} samples are"
        return (
            f"the Writer of {self.path} was never closed: {lost} lost, {kept}; "
            "use `with mldf.Writer(...)`, or call close()"
        )

    def __del__(self) -> None:
        if not getattr(self, "_ended", True) and self._process == os.getpid():
            with contextlib.suppress(Error):
                self.abort()
            # A ResourceWarning is not shown unless Python is asked to; lost samples always are.
            category = UserWarning if self._calls else ResourceWarning
            warnings.warn(self._lost(), category, source=self, stacklevel=2)

    def __reduce__(self) -> Any:
        # Two writers of one file: the first that is forgotten would end both.
        raise WrongTypeError("a Writer cannot be copied or pickled")

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


def _name_sample(error: Error, sample: int) -> None:
    """The sample at the head of the text, for those who see nothing but that.

    What names a field in an error names it in the text too; an OSError without a field is about no sample's value.
    """
    if error.sample is not None:  # the library knew it, and has said so
        return
    error.sample = sample
    if error.field is not None or not isinstance(error, OSError):
        error.args = (f"sample {sample}: {error}",)


def _sample_count(path: bytes) -> int:
    reader = _mldf.open_reader(path, {"without_key": True}, registered_types())
    count = int(reader.info()["num_samples"])
    reader.close()
    return count


def _key(key: Any) -> bytes:
    if isinstance(key, (bytearray, memoryview)):
        return bytes(key)
    if hasattr(key, "as_py"):  # of a column of pyarrow
        key = key.as_py()
    if not isinstance(key, str):
        raise WrongTypeError(f"a sample's key is a str, not a {type(key).__name__}")
    try:
        return key.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise SampleKeyError(f"the key {key!r} cannot be written as UTF-8") from None


_live: Live[Writer] = Live()


def _unlock_all() -> None:
    """In a forked child, where the thread that held a lock is not: its writers say that they are the parent's."""
    for writer in _live:
        writer._lock = threading.RLock()


os.register_at_fork(after_in_child=_unlock_all)


@atexit.register
def _abort_all() -> None:
    """A program that ends with writers open leaves no temporary files, daemon threads or not, and says what is lost."""
    for writer in _live:
        if not writer._ended:
            if writer._calls and sys.stderr is not None:
                print(f"mldf: {writer._lost()}", file=sys.stderr)
            with contextlib.suppress(StateError):  # another thread is inside, and may never leave
                writer._give_up()


def write(
    path: Path,
    dataset: Any,
    fields: Any = None,
    *,
    keys: Iterable[str] | None = None,
    decrypt: bool = False,
    progress: ProgressArgument = None,
    **options: Unpack[WriterOptions],
) -> WriteResult:
    """Writes anything that can be indexed or iterated: a torch dataset, a list of dicts, a generator, a dict of
    columns, a DataFrame, a pyarrow table, a structured array, another mldf dataset.

    Without fields, an mldf dataset keeps its own: images stay as they are stored, and keys go along. Of anything else
    the fields are found from the values, whole columns or the first 100 samples: numbers, text, bytes, images (uint8
    arrays of height, width and 1, 3 or 4 channels; PIL images; files' bytes or paths), recordings, arrays, lists of
    numbers (arrays), anything else that JSON holds. Values of tuples are named by what they are: image, label, text, x.
    A pandas index that has a name is a field too.
    resume=True saves a checkpoint every now and then; the same call after an interruption goes on from there, if the
    samples come in the same order.

    Parameters
    ----------
    path
        The new file.
    dataset
        What is written.
    fields
        As for :class:`Writer`; None: found from the values, and named in the result.
    keys
        A name for each sample.
    decrypt
        What comes of an encrypted dataset is not encrypted with its secret.
    progress
        True: a bar on stderr; or a function that is called.
    **options
        Those of :class:`Writer`: :class:`mldf.WriterOptions`.

    Examples
    --------
    >>> import mldf, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "t.mldf")
    >>> mldf.write(path, [("one", 1), ("two", 2)], {"name": "text", "n": "int"}).samples
    2
    >>> mldf.write(path, {"name": ["one", "two"], "n": [1, 2]}, overwrite=True).fields
    Schema(name: text, n: int)
    """
    given: dict[str, Any] = {**options}
    source, decrypt = columns_of(dataset, fields), flag("decrypt", decrypt)
    if isinstance(dataset, Dataset):
        source = dataset.with_options(decode=False) if fields is None else dataset
        keys = dataset.keys if keys is None and fields is None and dataset.has_keys else keys
        fields = dataset.schema if fields is None else fields
        given.setdefault("card", dataset.card or None)
        if not decrypt:
            other = given.get("key") or given.get("passphrase")
            given |= {name: v for name, v in dataset._secret().items() if name == "encrypt_all" or not other}
    if fields is None:
        fields, source = infer_source(source)
    with Reporting("write", progress) as hook, Writer(path, fields, **given) as writer:
        told, saved = 0.0, time.monotonic()
        done = _place(writer)
        samples, total = samples_from(source, done)
        names = None if keys is None else itertools.islice(keys, done, None)
        pairs = ((sample, None) for sample in samples) if names is None else with_keys(samples, names)
        for i, (sample, key) in enumerate(pairs, done):
            writer.append(sample, key)
            if given.get("resume") and time.monotonic() - saved > CHECKPOINT_SECONDS:
                writer.checkpoint(str(i + 1).encode())
                saved = time.monotonic()
            if hook is not None and (time.monotonic() - told > 0.05 or i + 1 == total):
                told = time.monotonic()
                if hook("write", i + 1, total, 0, None, 0) is False:
                    raise CancelledError("the progress callback asked to stop")
        result = writer.finish()
    return result


def _place(writer: Writer) -> int:
    """How many samples of its source an interrupted write() had saved."""
    if writer.position is None:
        return 0
    if not writer.position.isdigit():
        raise StateError(
            f"{writer.path}.partial was begun by a Writer, whose checkpoint says {writer.position!r} and no number of "
            "samples: go on with a Writer, or remove it"
        )
    return int(writer.position)
