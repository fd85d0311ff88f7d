"""From what a user appends to what the extension module takes: None, int, float, str, bytes or a C-contiguous NumPy
array.

One converter for each field, chosen when the writer opens. A value that does not fit is refused here, with the
field's name and what would fit, before it reaches a thread.
"""

from __future__ import annotations

import json
import operator
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .errors import WrongTypeError
from .schema import BYTES, FLOAT, INLINE, INT, JSON, NDARRAY, TEXT, FieldInfo

__all__ = ["converter"]

Converter = Callable[[Any], Any]


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} and shape {value.shape}"
    return f"a {type(value).__module__}.{type(value).__qualname__}".replace("builtins.", "")


def _wrong(field: FieldInfo, value: Any, wanted: str) -> WrongTypeError:
    return WrongTypeError(f"field {field.name!r} takes {wanted}, not {_kind(value)}", field=field.name)


def _is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _is_pil(value: Any) -> bool:
    image = sys.modules.get("PIL.Image")
    return image is not None and isinstance(value, image.Image)


def _from_tensor(value: Any) -> np.ndarray[Any, Any]:
    """A tensor of any device as an array; bfloat16 as its bits."""
    value = value.detach().cpu().contiguous()
    if str(value.dtype) == "torch.bfloat16":
        import torch

        value = value.view(torch.int16)
        out: np.ndarray[Any, Any] = value.numpy().view(np.uint16)
        return out
    out = value.numpy()
    return out


# ---- numbers, text, bytes ----


def _int(field: FieldInfo) -> Converter:
    def convert(value: Any) -> Any:
        if value is None or type(value) is int:
            return value
        if isinstance(value, np.bool_):
            return bool(value)
        try:
            return operator.index(value)
        except TypeError:
            if _is_tensor(value) and value.numel() == 1 and not value.is_floating_point():
                return int(value)
            raise _wrong(field, value, "an integer") from None

    return convert


def _float(field: FieldInfo) -> Converter:
    def convert(value: Any) -> Any:
        if value is None or type(value) is float or type(value) is int:
            return value
        if isinstance(value, (str, bytes)):
            raise _wrong(field, value, "a number")
        try:
            return float(value)
        except (TypeError, ValueError, RuntimeError):
            raise _wrong(field, value, "a number") from None

    return convert


def _text(field: FieldInfo) -> Converter:
    def convert(value: Any) -> Any:
        if value is None or isinstance(value, str):
            return value
        raise _wrong(field, value, "a str" + (" (decode the bytes first)" if isinstance(value, bytes) else ""))

    return convert


def _file(value: str | os.PathLike[Any]) -> bytes:
    with open(os.fsdecode(value), "rb") as file:
        return file.read()


def _bytes(field: FieldInfo) -> Converter:
    def convert(value: Any) -> Any:
        if value is None or type(value) is bytes:
            return value
        if isinstance(value, os.PathLike):
            return _file(value)
        if _is_tensor(value):
            value = _from_tensor(value)
        if isinstance(value, str):
            raise _wrong(
                field, value, "bytes; a str is ambiguous: text.encode() for its bytes, pathlib.Path(text) for a file's"
            )
        try:
            return bytes(memoryview(value).cast("B"))
        except TypeError:
            raise _wrong(field, value, "bytes, an array or a pathlib.Path") from None

    return convert


def _json(field: FieldInfo) -> Converter:
    def convert(value: Any) -> Any:
        if value is None and field.nullable:
            return None
        try:
            return json.dumps(value, allow_nan=False, ensure_ascii=False, default=_plain)
        except (TypeError, ValueError) as error:
            raise WrongTypeError(f"field {field.name!r} takes what JSON can hold: {error}", field=field.name) from None

    return convert


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays in JSON."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not JSON")


# ---- arrays ----


def _to_dtype(field: FieldInfo, value: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Exactly or by a cast that loses nothing; lists and Python numbers take the field's dtype."""
    if _is_tensor(value):
        if str(value.dtype) == "torch.bfloat16" and field.arguments.get("dtype") == "bfloat16":
            return _from_tensor(value)
        value = _from_tensor(value)
    if not isinstance(value, (np.ndarray, np.generic)):
        if hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
            value = np.asarray(value)
        else:
            return _from_list(field, value, dtype)
    if value.dtype == dtype or (value.dtype == np.uint16 and field.arguments.get("dtype") == "bfloat16"):
        return np.ascontiguousarray(value).reshape(value.shape)  # of bfloat16 also the bits, ml_dtypes or not
    if np.can_cast(value.dtype, dtype, "safe"):
        return np.ascontiguousarray(value, dtype=dtype).reshape(value.shape)
    raise _wrong(
        field,
        value,
        f"arrays of {_dtype_name(field)}, and the cast would lose something; use .astype() if that is fine;",
    )


def _dtype_name(field: FieldInfo) -> str:
    return "bfloat16" if field.arguments.get("dtype") == "bfloat16" else str(field.dtype)


def _from_list(field: FieldInfo, value: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    if isinstance(value, (str, bytes, Mapping)):
        raise _wrong(field, value, f"an array of {_dtype_name(field)}")
    try:
        given = np.asarray(value)
        out = np.ascontiguousarray(given, dtype=dtype).reshape(given.shape)
    except (TypeError, ValueError, OverflowError) as error:
        raise WrongTypeError(
            f"field {field.name!r} takes an array of {_dtype_name(field)}: {error}", field=field.name
        ) from None
    if given.dtype.kind in "iuf" and dtype.kind in "iu" and not np.array_equal(given, out):
        raise WrongTypeError(f"field {field.name!r}: numbers that {dtype} does not hold", field=field.name)
    return out


def _array(field: FieldInfo) -> Converter:
    dtype = field.dtype
    assert dtype is not None
    bits = field.arguments.get("dtype") == "bfloat16"

    def convert(value: Any) -> Any:
        if value is None:
            return None
        if type(value) is np.ndarray and value.dtype == dtype and value.flags.c_contiguous and not bits:
            return value
        out = _to_dtype(field, value, dtype)
        return out.view(np.uint16) if bits else out

    return convert


def _struct(field: FieldInfo) -> Converter:
    dtype, shape = field.dtype, field.dims
    assert dtype is not None

    def convert(value: Any) -> Any:
        if value is None:
            return None
        if dtype.names is None and dtype.kind not in "SUV":
            out = _to_dtype(field, value, dtype)
        else:
            try:
                out = np.array(_record(value, dtype), dtype=dtype)
            except (TypeError, ValueError, KeyError) as error:
                raise WrongTypeError(
                    f"field {field.name!r} takes a record of {dtype}: {error!r}", field=field.name
                ) from None
        if out.shape != shape:
            raise _wrong(field, out, f"an array of shape {shape}")
        return out.tobytes()

    return convert


def _record(value: Any, dtype: np.dtype[Any]) -> Any:
    """A dict, an object with attributes or a tuple as the tuple that NumPy takes."""
    if dtype.names is None or dtype.fields is None or isinstance(value, (np.void, np.ndarray)):
        return value
    if isinstance(value, Mapping):
        unknown = [k for k in value if k not in dtype.names]
        if unknown:
            raise ValueError(f"there is no member {unknown[0]!r}; the record has {', '.join(dtype.names)}")
        return tuple(_record(value[name], dtype.fields[name][0]) for name in dtype.names)
    return tuple(value)


# ---- pictures ----


def _image(field: FieldInfo) -> Converter:
    def convert(value: Any) -> Any:
        if value is None or type(value) is bytes:
            return value
        if isinstance(value, (str, os.PathLike)):
            return _file(value)
        if _is_pil(value):
            return _from_pil(value)
        if _is_tensor(value):
            return _from_chw(field, value)
        if isinstance(value, (bytearray, memoryview)):
            return bytes(value)
        if not isinstance(value, np.ndarray):
            raise _wrong(
                field,
                value,
                "a picture: a file's bytes or path, a PIL image, a uint8 or uint16 array (height, width, "
                "channels), or a torch tensor (channels, height, width)",
            )
        if value.dtype not in (np.uint8, np.uint16):
            raise _wrong(field, value, "pixels of uint8 or uint16 (scale floats first),")
        return np.ascontiguousarray(value)

    return convert


def _from_pil(value: Any) -> np.ndarray[Any, Any]:
    """The pixels of a PIL image, palettes and rare modes made RGB or gray."""
    if value.mode == "1":
        value = value.convert("L")
    elif value.mode in ("P", "PA"):
        value = value.convert("RGBA" if value.mode == "PA" or "transparency" in value.info else "RGB")
    elif value.mode not in ("L", "LA", "RGB", "RGBA", "I;16"):
        value = value.convert("RGB")
    return np.ascontiguousarray(np.asarray(value))


def _from_chw(field: FieldInfo, value: Any) -> np.ndarray[Any, Any]:
    """torchvision's order: channels first."""
    if value.ndim not in (2, 3) or (value.ndim == 3 and not 1 <= value.shape[0] <= 4):
        raise _wrong(field, value, f"tensors (channels, height, width); this one is {tuple(value.shape)};")
    pixels = _from_tensor(value)
    if pixels.dtype not in (np.uint8, np.uint16):
        raise _wrong(field, pixels, "pixels of uint8 or uint16 (scale floats first),")
    return np.ascontiguousarray(pixels if pixels.ndim == 2 else pixels.transpose(1, 2, 0))


# ---- choosing ----


def _custom(field: FieldInfo) -> Converter:
    custom = field.custom

    def convert(value: Any) -> Any:
        if value is None:
            return None
        if custom is None:
            raise _wrong(field, value, "nothing: its type is not registered (mldf.register_field)")
        out = custom.encode(value)
        if not isinstance(out, bytes):
            raise WrongTypeError(
                f"field {field.name!r}: {type(custom).__name__}.encode gave {_kind(out)}, not bytes", field=field.name
            )
        return out

    return convert


def converter(field: FieldInfo) -> Converter:
    """The function that makes a field's values ready."""
    makers = {INT: _int, FLOAT: _float, TEXT: _text, BYTES: _bytes, JSON: _json, NDARRAY: _array, INLINE: _struct}
    if field.is_image:
        return _image(field)
    return makers.get(field.type_id, _custom)(field)
