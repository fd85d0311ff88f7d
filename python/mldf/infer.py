"""Which fields a dataset has, found from its values: what :func:`mldf.write` does where no fields are given.

Columns (a dict of arrays, a DataFrame, a pyarrow table) are looked at whole; of samples that come one by one, the
first :data:`LOOK` are. Whatever does not fit later is refused by the writer, which names sample and field.

>>> import numpy as np
>>> fields = infer([{"image": np.zeros((8, 8, 3), np.uint8), "label": 3, "x": [0.5, 1.5]}])
>>> [type(field).__name__ for field in fields.values()], fields["x"].shape
(['Image', 'Int', 'NDArray'], (2,))
"""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .audio import Audio, CompressedAudio
from .errors import SchemaError
from .fields import Bytes, Field, Float, Image, Int, Json, NDArray, Struct, Text
from .foreign import is_gone, is_na, is_pil, is_tensor
from .sources import by_position, named, samples_from

__all__ = ["infer", "infer_source"]

LOOK = 100
"""Samples that are looked at."""

_IMAGES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff")
_MAGIC = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"BM", b"II*\0", b"MM\0*")
_INT64 = range(-(2**63), 2**63)


def infer_source(source: Any) -> tuple[dict[str, Field], Any]:
    """The fields of what :func:`mldf.write` is given, and the source to write from: an iterator's first samples were
    taken out to be looked at.
    """
    if isinstance(source, Mapping):
        if not source:
            raise SchemaError("a dataset without columns has no fields: give fields={'label': mldf.Int(), ...}")
        return {str(name): _of_column(str(name), column) for name, column in source.items()}, source
    if hasattr(source, "__len__") and hasattr(source, "__getitem__"):
        at = by_position(source)
        return infer([at(i) for i in range(min(len(source), LOOK))]), source
    if isinstance(source, (str, bytes, os.PathLike)) or not hasattr(source, "__iter__"):
        samples_from(source, 0)  # refuses it, and says why
    rest = iter(source)
    first = list(itertools.islice(rest, LOOK))
    return infer(first), itertools.chain(first, rest)


def _of_column(name: str, column: Any) -> Field:
    dtype = getattr(column, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf" and getattr(column, "ndim", 1) == 1:
        return Float() if dtype.kind == "f" else Int("bool" if dtype.kind == "b" else dtype.name)
    at = by_position(column)
    same = isinstance(column, np.ndarray) and dtype is not None and dtype.kind in "biuf"  # all rows are like the first
    return of_values(name, [at(i) for i in range(min(len(column), 1) if same else len(column))])


def infer(samples: Sequence[Any]) -> dict[str, Field]:
    """The fields of these samples: dicts, records, or tuples, whose fields get names from what they hold."""
    if not samples:
        raise SchemaError("no samples, so fields cannot be found from them: give fields={'label': mldf.Int(), ...}")
    rows: list[Any] = [named(sample) or sample for sample in samples]
    if not isinstance(rows[0], Mapping):
        rows = [tuple(row) if isinstance(row, (tuple, list)) else (row,) for row in rows]
        kinds = [of_values(str(i), [row[i] if i < len(row) else None for row in rows]) for i in range(len(rows[0]))]
        return dict(zip(names_of(kinds), kinds))
    names = dict.fromkeys(str(name) for row in rows if isinstance(row, Mapping) for name in row)
    return {name: of_values(name, [row.get(name) for row in rows]) for name in names}


def names_of(kinds: Sequence[Field]) -> list[str]:
    """Names for values that have none: "image", "label" and so on; a second one is "label_2"."""
    plain = {
        Image: "image",
        Int: "label",
        Text: "text",
        Float: "value",
        Bytes: "data",
        Json: "meta",
        Audio: "audio",
        CompressedAudio: "audio",
    }
    out: list[str] = []
    for kind in kinds:
        stem = plain.get(type(kind), "x")
        count = sum(name == stem or name.startswith(stem + "_") for name in out)
        out.append(f"{stem}_{count + 1}" if count else stem)
    return out


def of_values(name: str, values: Iterable[Any]) -> Field:
    """The field that holds all of these values."""
    every = list(values)
    present = [value for value in every if value is not None and value is not np.ma.masked and not is_na(value)]
    if not all(_is_float(value) for value in present):  # among other things NaN is pandas' null
        present = [value for value in present if not is_gone(value)]
    nullable = len(present) < len(every)
    if not present:
        raise SchemaError(
            f"field {name!r}: no value in the first {len(every)} samples, so its type is unknown: give fields="
        )
    field = _of_present(name, present)
    return dataclasses.replace(field, nullable=True) if nullable else field


def _of_present(name: str, values: list[Any]) -> Field:
    found = ", ".join(sorted({type(value).__name__ for value in values})[:4])
    # First: NumPy calls a timedelta64 an integer.
    if all(hasattr(value, "isoformat") or isinstance(value, (np.datetime64, np.timedelta64)) for value in values):
        raise SchemaError(
            f"field {name!r}: there is no field type for dates and times ({found}): store them as text (str(value)), "
            "or as integers (nanoseconds since 1970: a NumPy array's or pandas column's .astype('int64'))"
        )
    for test, make in _KINDS:
        if all(test(value) for value in values):
            return make(name, values)
    raise SchemaError(f"field {name!r}: no field type holds all of its values ({found}): convert them, or give fields=")


# ---- numbers and text ----


def _is_bool(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_))


def _is_int(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not _is_bool(value)


def _is_float(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not _is_bool(value)


def _int(name: str, values: list[Any]) -> Field:
    dtypes = {value.dtype for value in values if isinstance(value, np.integer)}
    if len(dtypes) == 1 and all(isinstance(value, np.integer) for value in values):
        return Int(dtypes.pop().name)
    if all(int(value) in _INT64 for value in values):
        return Int()
    if all(0 <= int(value) < 2**64 for value in values):
        return Int("uint64")
    raise SchemaError(f"field {name!r}: an integer of more than 64 bits; store such numbers as text")


# ---- images, audio, files ----


def _array(value: Any) -> Any:
    """What has a shape and a dtype; None: nothing."""
    return value if (isinstance(value, np.ndarray) and value.dtype.names is None) or is_tensor(value) else None


def _is_image(value: Any) -> bool:
    array = _array(value)
    if array is not None:
        channels = array.shape[0 if is_tensor(array) else -1] if array.ndim == 3 else 0  # torch's are channels first
        return str(array.dtype).endswith("uint8") and channels in (1, 3, 4)
    if isinstance(value, Mapping):
        return "bytes" in value and "path" in value and _is_image(value["bytes"] or os.fspath(value["path"] or ""))
    if isinstance(value, os.PathLike):
        return os.fsdecode(value).lower().endswith(_IMAGES)
    if isinstance(value, bytes):
        return value.startswith(_MAGIC) or (value[:4] == b"RIFF" and value[8:12] == b"WEBP")
    return is_pil(value)


def _is_audio(value: Any) -> bool:
    if isinstance(value, Mapping):  # Hugging Face's
        return ("array" in value and "sampling_rate" in value) or (
            "bytes" in value and "path" in value and _is_audio(value["bytes"] or os.fspath(value["path"] or ""))
        )
    if isinstance(value, os.PathLike):
        return os.fsdecode(value).lower().endswith((".wav", *_PACKETS))
    return isinstance(value, bytes) and ((value[:4] == b"RIFF" and value[8:12] == b"WAVE") or _is_compressed(value))


_PACKETS = (".flac", ".mp3", ".ogg", ".oga", ".opus")


def _is_compressed(value: Any) -> bool:
    """Packets, as audio_compressed has them, of what _is_audio takes."""
    if isinstance(value, Mapping):
        return value.get("array") is None and _is_compressed(value["bytes"] or os.fspath(value["path"] or ""))
    if isinstance(value, (str, os.PathLike)):
        return os.fsdecode(value).lower().endswith(_PACKETS)
    return bool(value[:4] in (b"fLaC", b"OggS") or value[:3] == b"ID3")


def _audio(name: str, values: list[Any]) -> Field:
    rates = {value["sampling_rate"] for value in values if isinstance(value, Mapping) and "sampling_rate" in value}
    if len(rates) > 1:
        raise SchemaError(
            f"field {name!r}: recordings of {min(rates)} to {max(rates)} Hz; resample them to one rate first"
        )
    kind = CompressedAudio if any(_is_compressed(value) for value in values) else Audio
    return kind(rate=int(rates.pop())) if rates else kind()


# ---- arrays ----


def _numbers(value: Any) -> Any:
    """A list of numbers, or of such lists, as an array; None: it is something else."""
    if not isinstance(value, (list, tuple)):
        return None
    try:
        array = np.asarray(value)
    except ValueError:  # lists of different lengths
        return None
    return array if array.dtype.kind in "biuf" and array.size else None


def _dims(shapes: set[tuple[int, ...]]) -> tuple[int | None, ...]:
    """What all have in common; None where they differ."""
    return tuple(dims[0] if len(set(dims)) == 1 else None for dims in zip(*shapes))


def _ndarray(name: str, values: list[Any]) -> Field:
    shapes = {tuple(int(side) for side in value.shape) for value in values}
    dtypes = {str(value.dtype).removeprefix("torch.") for value in values}
    if len({len(shape) for shape in shapes}) > 1:
        raise SchemaError(f"field {name!r}: arrays of different numbers of dimensions: {sorted(shapes)[:3]}")
    if len(dtypes) > 1:
        raise SchemaError(f"field {name!r}: arrays of different dtypes: {', '.join(sorted(dtypes))}")
    dtype, dims = dtypes.pop(), _dims(shapes)
    if dims:
        return NDArray(dtype, dims)
    return Float() if "float" in dtype else Int(dtype)


def _list(name: str, values: list[Any]) -> Field:
    arrays = [_numbers(value) for value in values if len(value)]
    if any(array is None for array in arrays) or len({array.ndim for array in arrays}) != 1:
        return Json()
    dtype = np.result_type(*arrays)
    dims = _dims({array.shape for array in arrays})
    return NDArray(dtype, (None, *dims[1:]) if any(len(value) == 0 for value in values) else dims)


def _is_record(value: Any) -> bool:
    return isinstance(value, np.void) and value.dtype.names is not None


_KINDS: list[tuple[Callable[[Any], bool], Callable[[str, list[Any]], Field]]] = [
    (_is_bool, lambda name, values: Int("bool")),
    (_is_int, _int),
    (_is_float, lambda name, values: Float()),
    (lambda value: isinstance(value, str), lambda name, values: Text()),
    (_is_image, lambda name, values: Image()),
    (_is_audio, _audio),
    (lambda value: _array(value) is not None, _ndarray),
    (_is_record, lambda name, values: Struct(values[0].dtype)),
    (lambda value: isinstance(value, (list, tuple)), _list),
    (lambda value: isinstance(value, (bytes, bytearray, memoryview, os.PathLike)), lambda name, values: Bytes()),
    (lambda value: isinstance(value, (Mapping, list, tuple, str, int, float)), lambda name, values: Json()),
]
"""The first test that every value passes decides."""
