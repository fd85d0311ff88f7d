"""The arguments of the whole-file operations that write (tools.py), as options of the extension module."""

from __future__ import annotations

import json
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypedDict

import numpy as np

from . import _mldf
from .audio import CompressedAudio
from .dataset import Dataset
from .errors import ArgumentError, KeyMissingError, NoSampleError, WrongTypeError
from .fields import Image, registered_types, schema_json
from .habits import PACK
from .limits import flag, skips, text, whole_or_none
from .look import is_whole
from .paths import Path, Paths, encode, expand
from .secret import Key, Passphrase, secret
from .suggest import choice
from .writer import writer_options

__all__ = [
    "OutputOptions",
    "tokenize_options",
    "compressed",
    "keep_encrypted",
    "name_list",
    "output_options",
    "pack_options",
    "peek",
    "ranges",
    "source_files",
    "table_format",
    "whole_files",
]

# ---- of what is written ----


def compressed(compress: Mapping[str, int] | Sequence[str] | str | None) -> list[str] | None:
    """Names, or name to level, as "FIELD" and "FIELD=LEVEL"."""
    if compress is None:
        return None
    if isinstance(compress, str):
        return [compress]
    if not isinstance(compress, (Mapping, Sequence)):
        raise ArgumentError(f"compress={compress!r}: it is a list of fields, or a dict of field to level")
    names = name_list("compress", list(compress)) or []
    return [f"{n}={compress[n]}" for n in names] if isinstance(compress, Mapping) else names


def name_list(argument: str, names: Any) -> list[str] | None:
    """One name or several, as a list."""
    if names is None:
        return None
    if isinstance(names, bytes) or not isinstance(names, Iterable):
        raise WrongTypeError(f"{argument}={names!r}: a list of names is needed")
    out = [names] if isinstance(names, str) else list(names)
    for name in out:
        if text(argument, name) is None:
            raise WrongTypeError(f"{argument}: None is not a name")
    return out


class OutputOptions(TypedDict, total=False):
    """What can be said of a new file, the same for all that write one.

    >>> import mldf
    >>> how: mldf.OutputOptions = {"overwrite": True, "threads": 2}
    """

    overwrite: bool
    """Replace what exists."""
    threads: int | None
    """None: the CPUs that this process may use; 0: none."""
    checksums: bool
    """False: none are stored, so verify sees little."""
    dictionary: bool
    """Train one zstd dictionary for the compressed fields."""
    page_size: int | None
    """None: chosen by what is written."""
    card: Mapping[str, Any] | str | None
    """Anything that JSON holds, about the dataset."""
    encrypt_key: Key
    """32 bytes."""
    encrypt_passphrase: Passphrase
    """Instead of a key."""
    encrypt_all: bool
    """Encrypt names of fields, numbers, keys and card too; opening then reads all tables, and needs the key."""


_OUTPUT: OutputOptions = {
    "overwrite": False,
    "threads": None,
    "checksums": True,
    "dictionary": False,
    "page_size": None,
    "card": None,
    "encrypt_key": None,
    "encrypt_passphrase": None,
    "encrypt_all": False,
}


def output_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a file that an operation writes, from the keywords that all operations share."""
    unknown = [name for name in given if name not in _OUTPUT]
    if unknown:
        here = f"here it is {PACK[unknown[0]]}; " if unknown[0] in PACK else ""
        raise TypeError(
            f"unexpected keyword argument {unknown[0]!r}; {here}those of the output are {', '.join(_OUTPUT)}"
        )
    options: dict[str, Any] = {**_OUTPUT, **given}
    key, passphrase = options.pop("encrypt_key"), options.pop("encrypt_passphrase")
    return writer_options(**options, key=key, passphrase=passphrase)


def keep_encrypted(
    options: dict[str, Any], readers: Iterable[_mldf.Reader], key: Key, passphrase: Passphrase, decrypt: bool
) -> None:
    """What was encrypted stays so, its tables too, with the new secret or the one that opened it; decrypt ends it."""
    other = options["encrypt_key"] or options["encrypt_passphrase"]
    if flag("decrypt", decrypt) or not (other or key or passphrase):
        return
    for reader in readers:
        about = reader.info()
        if about["format"] == "mldf" and about["flags"] & 8:
            if not other:
                options |= secret(key, passphrase, "encrypt_")
            options["encrypt_all"] = options["encrypt_all"] or bool(about["flags"] & 16)


def peek(paths: Iterable[str], key: Key = None, passphrase: Passphrase = None) -> Iterator[_mldf.Reader]:
    """Readers that only see what is not encrypted; of a file whose tables are encrypted too, with the secret."""
    how = {"without_key": True, "sequential": True}
    for path in paths:
        try:
            reader = _mldf.open_reader(encode(path), how, registered_types())
        except KeyMissingError:
            reader = _mldf.open_reader(encode(path), {**how, **secret(key, passphrase)}, registered_types())
        yield reader
        reader.close()


# ---- of what is read ----

_FORMATS = ("auto", "csv", "tsv", "jsonl", "tar", "folder", "text")
_LAYOUTS = ("auto", "flat", "classes", "frames")


def table_format(format: str | None) -> int:
    """The library's number of a source's format."""
    return 0 if format is None else choice("format", format, _FORMATS)


def _delimiter(delimiter: str | None) -> int:
    if delimiter is None:
        return 0
    mark = text("delimiter", delimiter) or ""
    if len(mark) != 1 or ord(mark) >= 0x80 or mark in '"\r\n':
        raise ArgumentError(f"delimiter: {mark!r} is not one ASCII character, or is a quote or a line end")
    return ord(mark)


def _image(image: Mapping[str, Any] | Image) -> dict[str, Any]:
    if isinstance(image, Image):
        return {k: v for k, v in image.describe().items() if k != "type"}
    if not isinstance(image, Mapping):
        raise WrongTypeError(f"image: a dict or an mldf.Image is needed, not {type(image).__name__}")
    return dict(image)


def _audio(audio: Mapping[str, Any] | CompressedAudio) -> dict[str, Any]:
    if isinstance(audio, CompressedAudio):
        return audio.arguments()
    if not isinstance(audio, Mapping):
        raise WrongTypeError(f"audio: a dict or an mldf.CompressedAudio is needed, not {type(audio).__name__}")
    return dict(audio)


def pack_options(
    format: str | None,
    fields: Any,
    key_column: str | None,
    compress: Any,
    on_error: str,
    layout: str | None,
    image: Mapping[str, Any] | Image | None,
    files: Any,
    root: Path | None,
    allow_outside: bool,
    delimiter: str | None,
    audio: Mapping[str, Any] | CompressedAudio | None = None,
) -> dict[str, Any]:
    """What pack and append share."""
    return {
        "delimiter": _delimiter(delimiter),
        "format": table_format(format),
        "layout": 0 if layout is None else choice("layout", layout, _LAYOUTS),
        "schema": None if fields is None else schema_json(fields),
        "key_column": text("key_column", key_column),
        "compress": compressed(compress),
        "skip_bad_rows": skips(on_error),
        "image_arguments": None if image is None else json.dumps(_image(image)),
        "audio_arguments": None if audio is None else json.dumps(_audio(audio)),
        "file_columns": name_list("files", files),
        "file_root": None if root is None else encode(root),
        "allow_outside": flag("allow_outside", allow_outside),
    }


def whole_files(sources: Paths | Dataset) -> list[str]:
    """Paths; those of a dataset that is all of its files."""
    if isinstance(sources, Dataset):
        if not is_whole(sources):
            raise ArgumentError(
                "paths, or a dataset of whole files with all their fields, are needed here; use mldf.write for "
                "parts of them"
            )
        return sources.paths
    return expand(sources)


def source_files(paths: Paths) -> list[bytes]:
    """Paths as the system has them, globs and ranges written out."""
    return [encode(p) for p in expand(paths)]


def ranges(samples: Any, count: int) -> list[tuple[int, int]] | None:
    """Runs of neighbours among sample numbers: a slice's, a mask's or an iterable's."""
    if samples is None:
        return None
    if isinstance(samples, slice):
        samples = range(count)[samples]
    elif isinstance(samples, (str, bytes)) or not hasattr(samples, "__iter__"):
        raise ArgumentError(f"samples={samples!r}: it is a slice, a mask or an iterable of numbers")
    elif not isinstance(samples, range):
        samples = list(samples)
        if samples and all(isinstance(s, (bool, np.bool_)) for s in samples):
            if len(samples) != count:
                raise ArgumentError(f"samples: a mask of {len(samples)} for {count} samples")
            samples = np.flatnonzero(samples).tolist()
    out: list[tuple[int, int]] = []
    for number in samples:
        try:
            n = operator.index(number)
        except TypeError:
            raise WrongTypeError(f"samples: {number!r} is not a sample number") from None
        n += count if n < 0 else 0
        if not 0 <= n < count:
            raise NoSampleError(f"no sample {number}: there are {count}")
        if out and out[-1][1] == n:
            out[-1] = (out[-1][0], n + 1)
        else:
            out.append((n, n + 1))
    return out


def tokenize_options(
    field: str | None,
    tokenizer: str | None,
    eos: bool | int,
    bos: bool | int,
    utf8: str,
    timeout: int | None,
    processes: int | None,
) -> dict[str, Any]:
    """What makes tokens of text while packing."""
    ids = {
        name: whole_or_none(name, None if isinstance(given, bool) else given, 0, 2**31 - 1)
        for name, given in (("eos", eos), ("bos", bos))
    }
    return {
        "text": text("text", field),
        "tokenizer": text("tokenizer", tokenizer),
        "eos": eos is not False,
        "bos": bos is not False,
        "eos_id": ids["eos"],
        "bos_id": ids["bos"],
        "replace_utf8": choice("utf8", utf8, ("refuse", "replace")) == 1,
        "tokenizer_timeout": whole_or_none("tokenizer_timeout", timeout, 1, 1000000),
        "tokenizer_processes": whole_or_none("tokenizer_processes", processes, 1, 256),
    }


def recoded(encode: str | None, fast_limit: float | None) -> dict[str, Any]:
    """How JPEGs of a file that is written again are stored."""
    if fast_limit is not None and not 0 < fast_limit <= 100:
        raise ArgumentError(f"fast_limit={fast_limit!r}: it is a number above 0, up to 100")
    return {"encode": text("encode", encode), "fast_limit": None if fast_limit is None else float(fast_limit)}
