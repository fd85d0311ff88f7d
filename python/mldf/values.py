"""From what a user appends to what the extension module takes: None, int, float, str, bytes or a C-contiguous NumPy
array.

One converter for each field, chosen when the writer opens. A value that does not fit is refused here, with the
field's name and what would fit, before it reaches a thread: the writer is as it was, and may go on.
"""

from __future__ import annotations

import json
import math
import operator
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .arrays import array_converter, struct_converter
from .audio import audio_converter
from .errors import Error, RangeError, WrongTypeError
from .foreign import from_pil, from_tensor, is_gone, is_na, is_pil, is_tensor, kind, missing, read_file, unmasked, wrong
from .multimodal import multimodal_converter
from .schema import (
    AUDIO,
    BYTES,
    CODEC_TOKENS,
    COMPRESSED_AUDIO,
    FLOAT,
    HIERARCHICAL,
    INLINE,
    INT,
    JSON,
    MULTIMODAL,
    NDARRAY,
    OPTICAL_FLOW,
    PACKED,
    SPECTROGRAM,
    STREAM,
    TEXT,
    TOKENS,
    VIDEO_COMPRESSED,
    VIDEO_FRAMES,
    FieldInfo,
)
from .tokens import tokens_converter
from .video import flow_converter, video_converter, video_file_converter

__all__ = ["converter", "plain"]

Converter = Callable[[Any], Any]


# ---- numbers ----


def _one(field: FieldInfo, value: Any) -> Any:
    """The number in an array or a tensor of one element, None for one that is missing; else the value itself."""
    if is_tensor(value):
        value = from_tensor(field, value)
    if isinstance(value, np.ndarray):
        value = unmasked(field, value)
        if value is not None and value.size == 1 and value.dtype.kind in "biuf":
            return value.item()
    return None if is_na(value) else value


def _int(field: FieldInfo) -> Converter:
    dtype = field.dtype or np.dtype(np.int64)
    low, high = (0, 1) if dtype.kind == "b" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))

    def convert(value: Any) -> Any:
        if type(value) is not int:
            number = _one(field, value)
            if number is None:
                return missing(field)
            if isinstance(number, np.bool_):
                number = bool(number)
            try:
                value = operator.index(number)
            except TypeError:
                raise wrong(field, value, "an integer") from None
        if low <= value <= high:
            return value
        raise RangeError(
            f"field {field.name!r}: {value} is outside {dtype}, which holds {low} to {high}", field=field.name
        )

    return convert


def _float(field: FieldInfo) -> Converter:
    def convert(value: Any) -> Any:
        if type(value) is float:
            return value
        number = _one(field, value)
        if number is None:
            return missing(field)
        if isinstance(number, (str, bytes, np.ndarray, np.complexfloating)):
            raise wrong(field, value, "a number")
        try:
            out = float(number)
        except OverflowError:
            raise RangeError(f"field {field.name!r}: an integer that no float holds", field=field.name) from None
        except (TypeError, ValueError, RuntimeError):
            raise wrong(field, value, "a number") from None
        if isinstance(number, (int, np.integer)) and int(number) != out:
            raise RangeError(
                f"field {field.name!r}: the integer {number} is not exact as a 64-bit float", field=field.name
            )
        if math.isinf(out) and number != out:  # a Decimal, a long double
            raise RangeError(f"field {field.name!r}: {number!s} is beyond what a 64-bit float holds", field=field.name)
        return out

    return convert


# ---- text, bytes, JSON ----


def _unicode(field: FieldInfo, text: str) -> str:
    """The text itself, when UTF-8 can hold it."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise RangeError(
                f"field {field.name!r}: the text has half of a surrogate pair at {error.start}, which UTF-8 does not "
                "hold",
                field=field.name,
            ) from None
    return text


def _text(field: FieldInfo) -> Converter:
    def convert(value: Any) -> Any:
        if value is None:
            return missing(field)
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = unmasked(field, value)
            if value is None:
                return None
            value = value[()]
        if not isinstance(value, str):
            if is_gone(value):
                return missing(field)
            raise wrong(field, value, "a str", "; decode the bytes first" if isinstance(value, bytes) else "")
        return _unicode(field, value)

    return convert


def _bytes(field: FieldInfo) -> Converter:
    def convert(value: Any) -> Any:
        if type(value) is bytes:
            return value
        if value is None:
            return missing(field)
        if isinstance(value, os.PathLike):
            return read_file(field, value)
        if is_tensor(value):
            value = from_tensor(field, value, bits=True)
        if isinstance(value, str):
            hint = ": text.encode() for its bytes, pathlib.Path(text) for a file's"
            raise wrong(field, value, "bytes; a str is ambiguous", hint)
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            value = unmasked(field, value)
            return None if value is None else value.tobytes()
        try:
            view = memoryview(value)
        except TypeError:
            view = None
        if is_gone(value):
            return missing(field)
        if view is None or isinstance(value, np.ndarray):
            raise wrong(field, value, "bytes, an array of numbers or a pathlib.Path")
        return view.tobytes()

    return convert


def _json(field: FieldInfo) -> Converter:
    def convert(value: Any) -> Any:
        if (value is None or value is np.ma.masked or is_gone(value)) and field.nullable:
            return None
        try:
            text = json.dumps(value, allow_nan=False, ensure_ascii=False, default=plain)
            if text.count('":') > 1:
                _keys_once(value, text)
            return _unicode(field, text)
        except (TypeError, ValueError, RuntimeError) as error:  # of recursion and of torch, too
            if isinstance(error, Error):
                raise
            raise WrongTypeError(f"field {field.name!r} takes what JSON can hold: {error}", field=field.name) from None

    return convert


def _keys_once(value: Any, text: str) -> None:
    """Refuses dicts of which two keys are the same in JSON, 1 and "1" say. Such keys are of types that do not sort."""
    try:
        json.dumps(value, sort_keys=True, default=plain)
    except TypeError:
        json.loads(text, object_pairs_hook=_once)


def _once(pairs: list[tuple[str, Any]]) -> None:
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"the key {name!r} is there twice, once as text and once as something else")


def plain(value: Any) -> Any:
    """NumPy's and torch's numbers and arrays in JSON."""
    if isinstance(value, np.generic) and not isinstance(value.item(), np.generic):  # a long double stays one
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if is_tensor(value):
        return value.detach().cpu().tolist()
    raise TypeError(f"{type(value).__name__} is not JSON")


# ---- images ----


def _image(field: FieldInfo) -> Converter:
    def convert(value: Any) -> Any:
        if type(value) is bytes:
            return value
        if value is None:
            return missing(field)
        if isinstance(value, np.ndarray):
            value = unmasked(field, value)
            return None if value is None else _pixels(field, value)
        if isinstance(value, (str, os.PathLike)):
            return read_file(field, value)
        if is_pil(value):
            return from_pil(field, value)
        if is_tensor(value):
            return _from_chw(field, value)
        if isinstance(value, (bytearray, memoryview)):
            return bytes(value)
        if isinstance(value, Mapping) and not {"bytes", "path"}.isdisjoint(value):  # Hugging Face's, undecoded
            found = value.get("bytes")
            return convert(value["path"] if found is None else found)
        if callable(getattr(value, "read", None)):
            return _from_open_file(field, value)
        if is_gone(value):
            return missing(field)
        raise wrong(
            field,
            value,
            "an image (a file's bytes or path, a PIL image, a uint8 or uint16 array (height, width, channels), or a "
            "torch tensor (channels, height, width))",
        )

    return convert


def _from_open_file(field: FieldInfo, file: Any) -> bytes:
    data = file.read()
    if not isinstance(data, bytes):
        raise wrong(field, data, "an image", " from a file; open it in binary mode")
    return data


def _pixels(field: FieldInfo, value: Any) -> Any:
    """(height, width[, channels]); in one dimension the bytes of a file, as ``Dataset.raw`` gives them."""
    if value.dtype.kind != "u" or value.dtype.itemsize > 2:
        hint = "; scale floats first" if value.dtype.kind == "f" else ""
        raise wrong(field, value, "pixels of uint8 or uint16", hint)
    if value.ndim == 1 and value.dtype == np.uint8:
        return value.tobytes()
    if value.ndim not in (2, 3) or (value.ndim == 3 and not 1 <= value.shape[2] <= 4) or 0 in value.shape:
        hint = "; move the channels last" if value.ndim == 3 and 1 <= value.shape[0] <= 4 else ""
        raise wrong(field, value, "images as (height, width) or (height, width, 1 to 4 channels)", hint)
    return np.ascontiguousarray(value, value.dtype.newbyteorder("="))


def _from_chw(field: FieldInfo, value: Any) -> Any:
    """torchvision's order: channels first."""
    if value.ndim not in (2, 3) or (value.ndim == 3 and not 1 <= value.shape[0] <= 4):
        raise wrong(field, value, "tensors (channels, height, width), with 1 to 4 channels")
    pixels = from_tensor(field, value)
    return _pixels(field, pixels if pixels.ndim == 2 else pixels.transpose(1, 2, 0))


# ---- choosing ----


def _custom(field: FieldInfo) -> Converter:
    custom = field.custom

    def convert(value: Any) -> Any:
        if value is None:
            return missing(field)
        if custom is None:
            raise wrong(field, value, "nothing: its type is not registered (mldf.register_field)")
        try:
            out = custom.encode(value)
        except Exception as error:
            error.add_note(f"in {type(custom).__name__}.encode, for field {field.name!r}")
            raise
        if isinstance(out, (bytearray, memoryview)):
            return bytes(out)
        if not isinstance(out, bytes):
            raise WrongTypeError(
                f"field {field.name!r}: {type(custom).__name__}.encode gave {kind(out)}, not bytes", field=field.name
            )
        return out

    return convert


def converter(field: FieldInfo) -> Converter:
    """The function that makes a field's values ready."""
    makers = {
        INT: _int,
        FLOAT: _float,
        TEXT: _text,
        BYTES: _bytes,
        JSON: _json,
        NDARRAY: array_converter,
        SPECTROGRAM: array_converter,
        CODEC_TOKENS: array_converter,
        INLINE: struct_converter,
        AUDIO: audio_converter,
        COMPRESSED_AUDIO: audio_converter,
        TOKENS: tokens_converter,
        PACKED: tokens_converter,
        HIERARCHICAL: tokens_converter,
        STREAM: tokens_converter,
        VIDEO_FRAMES: video_converter,
        VIDEO_COMPRESSED: video_file_converter,
        OPTICAL_FLOW: flow_converter,
    }
    if field.type_id == MULTIMODAL and field.known:
        return multimodal_converter(field, converter)
    return _image(field) if field.is_image else makers.get(field.type_id, _custom)(field)
