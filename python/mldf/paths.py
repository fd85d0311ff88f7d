"""Names of files: what a user may give, and the bytes that the library takes."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Mapping
from typing import Union

from .errors import ArgumentError, NotFoundError, WrongTypeError

__all__ = ["Path", "Paths", "encode", "expand", "named"]

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
Paths = Union[Path, Iterable[Path]]

_MOST = 1_000_000  # names of files that braces stand for
_BRACES = re.compile(r"\{([0-9]+)\.\.([0-9]+)\}|\{([^{}]*,[^{}]*)\}")


def encode(path: Path) -> bytes:
    """The path as the system has it."""
    try:
        out = os.fsencode(path)
    except TypeError:
        raise WrongTypeError(f"a path is needed here, not a {type(path).__name__}") from None
    except UnicodeEncodeError:
        raise ArgumentError(f"the path {path!r} has half a character in it") from None
    if b"\0" in out:
        raise ArgumentError(f"the path {os.fsdecode(out)!r} has a NUL in it")
    return out


def named(paths: list[str]) -> str:
    """Some files in a line that can be printed: bytes of a name that are no text are shown as \\xff.

    >>> named(["data/a-0.mldf", "data/a-1.mldf"])
    'a-0.mldf and 1 more'
    """
    first = os.fsencode(os.path.basename(paths[0])).decode("utf-8", "backslashreplace")
    return first + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")


def braces(path: str) -> list[str]:
    """A range of numbers in braces, or words, as shells and WebDataset write them.

    >>> braces("shard-{08..11}.tar")
    ['shard-08.tar', 'shard-09.tar', 'shard-10.tar', 'shard-11.tar']
    >>> braces("{train,val}.tar")
    ['train.tar', 'val.tar']
    """
    out, end = [""], 0
    for found in _BRACES.finditer(path):
        if found[3] is not None:
            words = found[3].split(",")
            if len(words) * len(out) > _MOST:
                raise ArgumentError(f"{path}: {found[0]} makes too many names")
            out = [before + path[end : found.start()] + word for before in out for word in words]
            end = found.end()
            continue
        first, last = found[1], found[2]
        count = int(last) - int(first) + 1 if len(first) < 19 and len(last) < 19 else _MOST + 1
        if not 0 < count * len(out) <= _MOST:
            raise ArgumentError(f"{path}: the range {found[0]} is empty or too long")
        width = len(first) if first.startswith("0") or len(first) == len(last) else 0
        numbers = [str(n).zfill(width) for n in range(int(first), int(last) + 1)]
        out = [before + path[end : found.start()] + number for before in out for number in numbers]
        end = found.end()
    return [before + path[end:] for before in out]


def expand(paths: Paths) -> list[str]:
    """Files, in order: a path, a list of them; each may be a glob (``data/*.mldf``, sorted), have a range
    (``{000..009}``) or words (``{train,val}.tar``), or be several, as WebDataset joins them (``a.tar::b.tar``).
    """
    given: Iterable[Path]
    if isinstance(paths, (str, bytes, os.PathLike)):
        given = [paths]
    elif (
        isinstance(paths, Iterable)
        and not isinstance(paths, Mapping)
        and not hasattr(paths, "read")
        and not hasattr(paths, "__getitems__")
    ):
        given = paths
    else:  # an open file and a dataset, too
        raise WrongTypeError(f"a path, or a list of them, is needed here, not a {type(paths).__name__}")
    out: list[str] = []
    for path in given:
        text = os.fsdecode(encode(path))
        if not text:
            raise ArgumentError("an empty file name")
        joined = [text] if os.path.exists(text) else [part for part in text.split("::") if part] or [text]
        for one in [name for part in joined for name in ([part] if os.path.exists(part) else braces(part))]:
            if os.path.exists(one) or not glob.has_magic(one):
                out.append(one)
                continue
            matches = sorted(glob.glob(one, recursive=True))
            if not matches:
                raise NotFoundError(f"{one}: no file has such a name")
            out += matches
    if not out:
        raise ArgumentError("an empty list of files")
    return out
