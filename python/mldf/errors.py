"""What can go wrong. Every exception of mldf is an :class:`Error`, and also what a Python programmer would catch
anyway:

>>> import mldf
>>> try:
...     mldf.open("no-such-file.mldf")
... except FileNotFoundError as error:
...     print(type(error).__name__, error.status)
NotFoundError not_found

``status`` is the library's own name of the fault, the same as the command prints with ``--json``. ``offset`` (byte in
the file), ``sample`` and ``field`` say where, or are None.
"""

from __future__ import annotations

import collections
import re
import sys
import threading
import time
import warnings
from typing import Any

__all__ = [
    "ArgumentError",
    "BusyError",
    "CancelledError",
    "ChangedError",
    "ChecksumError",
    "CorruptError",
    "DataError",
    "Error",
    "ExistsError",
    "FeatureError",
    "FileError",
    "IoError",
    "KeyMissingError",
    "KeyWrongError",
    "LimitError",
    "MagicError",
    "NoFieldError",
    "NoSampleError",
    "NoSpaceError",
    "NotAllowedError",
    "NotFoundError",
    "NullError",
    "OutOfMemoryError",
    "RangeError",
    "SampleKeyError",
    "SchemaError",
    "StateError",
    "SyntaxMistakeError",
    "TamperedError",
    "TruncatedError",
    "UnfinishedError",
    "UnsupportedError",
    "VersionError",
    "WrongTypeError",
]


class Error(Exception):
    """The base of all exceptions of mldf.

    Parameters
    ----------
    message
        What happened, in words.
    sample
        The sample's number, where one is to blame.
    field
        The field's name, where one is to blame.
    """

    status: str = "error"
    """The library's name of the fault, the same as the command prints with ``--json``."""
    offset: int | None = None
    """The byte of the file."""
    sample: int | None = None
    """Its number."""
    field: str | None = None
    """Its name."""
    readable: dict[str, Any] | None = None
    """When one value of ``ds[i]`` cannot be read: the values of the others."""
    path: str | None = None
    """The file, ``table.csv:17:3``, or the line and column of a text."""

    @property
    def message(self) -> str:
        """The sentence alone, without file, sample and field."""
        return str(self.__dict__.get("_message", self))

    @message.setter
    def message(self, text: str) -> None:
        self._message = text

    @property
    def inside(self) -> str:
        """The text without the file or place that it begins with."""
        return str(self.__dict__.get("_inside", self))

    @inside.setter
    def inside(self, text: str) -> None:
        self._inside = text

    def speak_python(self) -> None:
        """The command's options in the text become the arguments of the functions: --drop-fields is drop_fields=."""

        def spell(text: str) -> str:
            return re.sub(
                r"--(to|fields|drop-fields|compress|format)\b(?!-)", lambda m: m[1].replace("-", "_") + "=", text
            )

        if self.args and "--" in str(self.args[0]):
            self.args = (spell(str(self.args[0])), *self.args[1:])
        for name in ("_message", "_inside"):
            if name in self.__dict__:
                self.__dict__[name] = spell(self.__dict__[name])

    def __init__(self, message: str = "", *, sample: int | None = None, field: str | None = None) -> None:
        super().__init__(message)
        if sample is not None:
            self.sample = sample
        if field is not None:
            self.field = field

    def __str__(self) -> str:  # KeyError would show its repr
        return str(self.args[0]) if self.args else ""

    def __reduce__(self) -> tuple[Any, ...]:
        kept = {name: getattr(self, name) for name in ("errno", "strerror", "filename") if hasattr(self, name)}
        return _rebuild, (type(self), self.args, kept), self.__dict__ or None


def _rebuild(cls: type[Error], args: tuple[Any, ...], kept: dict[str, Any]) -> Error:
    """A pickled error again. What OSError keeps beside its arguments has to be put back by hand."""
    error = cls(*args)
    for name, value in kept.items():
        setattr(error, name, value)
    return error


# ---- the caller ----


class ArgumentError(Error, ValueError):
    """An argument makes no sense."""

    status = "argument"


class StateError(Error, RuntimeError):
    """A call in the wrong order, or on something that is closed or failed before."""

    status = "state"


class OutOfMemoryError(Error, MemoryError):
    """No memory."""

    status = "memory"


class CancelledError(Error):
    """A progress callback asked to stop."""

    status = "cancelled"


class LimitError(Error, ValueError):
    """Beyond a limit of the format or of the options."""

    status = "limit"


# ---- the environment ----


class IoError(Error, OSError):
    """The operating system refused; ``errno`` says why."""

    status = "io"


class NotFoundError(IoError, FileNotFoundError):
    """No such file."""

    status = "not_found"


class NotAllowedError(IoError, PermissionError):
    """Not allowed, or a read-only file system."""

    status = "permission"


class ExistsError(IoError, FileExistsError):
    """The target exists; ``overwrite=True`` replaces it."""

    status = "exists"


class NoSpaceError(IoError):
    """Disk or quota full."""

    status = "no_space"


class BusyError(IoError):
    """Another process holds the file's lock."""

    status = "busy"


class ChangedError(IoError):
    """The file changed or shrank while it was read."""

    status = "changed"


class UnsupportedError(Error, NotImplementedError):
    """This build lacks a codec or a library that is needed."""

    status = "unsupported"


class KeyMissingError(Error, PermissionError):
    """The file is encrypted and no key was given."""

    status = "key_missing"


class KeyWrongError(Error, PermissionError):
    """The key or passphrase does not open this file."""

    status = "key_wrong"


# ---- the file ----


class FileError(Error, ValueError):
    """The file is not what it should be; ``offset`` is the byte."""


class MagicError(FileError):
    """Not a file of a format that is known."""

    status = "magic"


class VersionError(FileError):
    """Another major version of the format."""

    status = "version"


class FeatureError(FileError):
    """The file needs something that this version does not know."""

    status = "feature"


class TruncatedError(FileError):
    """The file ends too early."""

    status = "truncated"


class CorruptError(FileError):
    """A structure contradicts the specification."""

    status = "corrupt"


class ChecksumError(FileError):
    """Stored and computed checksum differ."""

    status = "checksum"


class TamperedError(FileError):
    """Authentication failed: edited, swapped or damaged under encryption."""

    status = "tampered"


class UnfinishedError(FileError):
    """A file whose writing never finished."""

    status = "unfinished"


# ---- the data ----


class DataError(Error):
    """A value, a name or a description is wrong."""


class SchemaError(DataError, ValueError):
    """A field description is wrong."""

    status = "schema"


class WrongTypeError(DataError, TypeError):
    """A value of the wrong kind for its field."""

    status = "type"


class RangeError(DataError, ValueError):
    """A value that its field cannot hold."""

    status = "range"


class NullError(DataError, ValueError):
    """A value is missing and its field is not nullable."""

    status = "null"


class SampleKeyError(DataError, ValueError):
    """A sample key is missing, malformed or there twice."""

    status = "key"


class NoFieldError(DataError, KeyError):
    """No field of that name."""

    status = "no_field"


class NoSampleError(DataError, IndexError, KeyError):
    """No sample of that number or key."""

    status = "no_sample"


class SyntaxMistakeError(DataError, ValueError):
    """JSON, CSV or another text does not parse."""

    status = "syntax"


# ---- warnings ----


_recent = threading.local()  # .list: (time, message) of the last warnings of this thread


def warnings_since(began: float) -> list[str]:
    """What this thread was warned of since then, by time.monotonic(): for the results of whole-file operations."""
    return [message for at, message in getattr(_recent, "list", ()) if at >= began]


def warn(message: str) -> None:
    """A UserWarning about the line that called this package."""
    if not hasattr(_recent, "list"):
        _recent.list = collections.deque(maxlen=64)
    _recent.list.append((time.monotonic(), message))
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "mldf":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=level)
