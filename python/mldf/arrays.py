"""Arrays and records for the writer: from lists, arrays of other dtypes, tensors, dicts and tuples to C-contiguous
memory of exactly the field's dtype. What a cast would change is refused.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .errors import RangeError, WrongTypeError
from .foreign import Array, from_tensor, is_tensor, missing, unmasked, wrong
from .schema import FieldInfo

__all__ = ["array_converter", "struct_converter"]

Converter = Callable[[Any], Any]


# ---- dtypes ----


def is_bfloat16(field: FieldInfo) -> bool:
    """Kept as bits, since NumPy alone has no such dtype."""
    return field.arguments.get("dtype") == "bfloat16"


def _dtype_name(field: FieldInfo, dtype: np.dtype[Any]) -> str:
    return "bfloat16" if is_bfloat16(field) else str(dtype)


def _not_held(field: FieldInfo, dtype: np.dtype[Any]) -> RangeError:
    return RangeError(
        f"field {field.name!r}: numbers that do not fit into {_dtype_name(field, dtype)}", field=field.name
    )


def to_dtype(field: FieldInfo, value: Any, dtype: np.dtype[Any]) -> Array:
    """Exactly or by a cast that loses nothing; lists and Python numbers take the field's dtype."""
    if is_tensor(value):
        value = from_tensor(field, value)
    if not isinstance(value, (np.ndarray, np.generic)):
        if not (hasattr(value, "__array__") or hasattr(value, "__array_interface__")):
            return _from_list(field, value, dtype)
        value = np.asarray(value)
    if isinstance(value, np.ma.MaskedArray):
        if np.ma.is_masked(value):
            raise wrong(field, value, "arrays without masked values", "; fill them first: .filled()")
        value = value.data
    if value.dtype == dtype or value.size == 0 or np.can_cast(value.dtype, dtype, "safe"):
        out = np.ascontiguousarray(value, dtype=dtype).reshape(value.shape)
        if value.dtype.kind in "iu" and value.dtype.itemsize == 8 and out.dtype.kind in "fc":
            _exact(field, value, out)
        return out
    raise wrong(
        field,
        np.asarray(value),
        f"arrays of {_dtype_name(field, dtype)}",
        ": the cast would lose something; use .astype() if that is fine",
    )


def _exact(field: FieldInfo, given: Array, out: Array) -> None:
    """NumPy calls the cast of 64-bit integers to 64-bit floats safe; it is, up to 2**53."""
    if not given.size or (given.max() <= 2**53 and given.min() >= -(2**53)):
        return
    for number, real in zip(given.reshape(-1).tolist(), out.real.reshape(-1).tolist()):
        if number != real:
            raise RangeError(
                f"field {field.name!r}: the integer {number} is not exact as {out.dtype}; "
                "use .astype() if that is fine",
                field=field.name,
            )


def _from_list(field: FieldInfo, value: Any, dtype: np.dtype[Any]) -> Array:
    name = _dtype_name(field, dtype)
    if isinstance(value, (str, bytes, bytearray, Mapping)):
        raise wrong(field, value, f"an array of {name}")
    try:
        given = np.asarray(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise WrongTypeError(f"field {field.name!r} takes an array of {name}: {error}", field=field.name) from None
    given = _whole_numbers(field, value, given, dtype)
    kinds = {"b": "biuf", "i": "biuf", "u": "biuf", "f": "biuf", "c": "biufc"}[dtype.kind]
    if given.dtype.kind not in kinds and given.size:
        if given.dtype == object and _all_integers(given):
            raise _not_held(field, dtype)
        odd = next((v for v in given.reshape(-1).tolist() if not isinstance(v, (int, float))), None)
        raise wrong(field, value, f"an array of {name}", f" with values such as {odd!r:.40}")
    with np.errstate(all="ignore"):
        out = np.ascontiguousarray(given, dtype=dtype).reshape(given.shape)
    if not _kept(given, out):
        raise _not_held(field, dtype)
    return out


def _whole_numbers(field: FieldInfo, value: Any, given: Array, dtype: np.dtype[Any]) -> Array:
    """NumPy makes floats of integers when some are above 2**63 or beside a float, and rounds them: not so here."""
    if given.dtype == object and dtype.kind in "fc" and given.size and _all_integers(given):
        with contextlib.suppress(OverflowError):
            return given.astype(np.float64)
    if dtype.kind not in "iu" or not (_all_numbers(given) if given.dtype == object else _rounded(given)):
        return given
    exact = np.asarray(value, dtype=object).reshape(-1).tolist()
    with contextlib.suppress(OverflowError, ValueError):  # of what is not finite, too
        whole = [int(number) for number in exact]
        limits = np.iinfo(dtype)  # which NumPy 1 does not look at
        if exact == whole and limits.min <= min(whole) and max(whole) <= limits.max:
            return np.array(whole, dtype=dtype).reshape(given.shape)
    raise _not_held(field, dtype)


def _rounded(given: Array) -> bool:
    """May these floats have been other integers before?"""
    return given.dtype.kind == "f" and bool(np.any(np.abs(given) >= 2**53))


def _all_numbers(given: Array) -> bool:
    return given.size > 0 and all(isinstance(v, (int, float, np.number)) for v in given.reshape(-1).tolist())


def _all_integers(given: Array) -> bool:
    return all(isinstance(v, int) for v in given.reshape(-1).tolist())


def _kept(given: Array, out: Array) -> bool:
    """Are integers equal, and floats no less finite? Rounding is what a float field is for."""
    if out.dtype.kind in "biu":
        if given.dtype.kind == "f" and out.dtype.kind != "b":
            limits = np.iinfo(out.dtype)
            if not np.all((given >= float(limits.min)) & (given < float(limits.max) + 1)):
                return False  # a cast of those gives whatever the processor does
        return bool(np.array_equal(given, out))
    return given.dtype.kind not in "fc" or bool(np.array_equal(np.isfinite(given), np.isfinite(out)))


def _bfloat16_bits(field: FieldInfo, value: Any) -> Array:
    """uint16 arrays are bits, as they are read; tensors and ml_dtypes' arrays are exact; lists are rounded."""
    if is_tensor(value) and str(value.dtype) == "torch.bfloat16":
        return from_tensor(field, value, bits=True)
    if isinstance(value, (np.ndarray, np.generic)):
        if value.dtype == np.uint16 or value.dtype.name == "bfloat16":
            return np.ascontiguousarray(value).reshape(value.shape).view(np.uint16)
        raise wrong(field, np.asarray(value), "arrays of bfloat16 (or of uint16: their bits)")
    if is_tensor(value):
        raise wrong(field, value, "tensors of bfloat16", "; use .bfloat16() if rounding is fine")
    floats = _from_list(field, value, np.dtype(np.float32))
    word = floats.view(np.uint32)
    rounded = (word + np.uint32(0x7FFF) + ((word >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    quiet = (word >> np.uint32(16)) | np.uint32(0x40)
    out = np.where(np.isnan(floats), quiet, rounded).astype(np.uint16)
    if np.any(np.isfinite(floats) & ((out & 0x7F80) == 0x7F80)):
        raise _not_held(field, np.dtype(np.uint16))
    return out


# ---- arrays ----


def _fit(field: FieldInfo, out: Array) -> Array:
    """The array, when it has the field's shape; [] means no rows of any width."""
    shape = field.shape or ()
    if out.shape == (0,) and len(shape) > 1 and shape[0] in (None, 0):
        return out.reshape([0, *(d or 0 for d in shape[1:])])
    if len(shape) == len(out.shape) and all(want is None or want == have for want, have in zip(shape, out.shape)):
        return out
    text = "[" + ", ".join("any" if d is None else str(d) for d in shape) + "]"
    raise WrongTypeError(f"field {field.name!r}: an array of shape {list(out.shape)}, not {text}", field=field.name)


def array_converter(field: FieldInfo) -> Converter:
    """For fields of type ndarray."""
    dtype = field.dtype
    assert dtype is not None
    bits = is_bfloat16(field)
    fixed = None if field.shape is None or None in field.shape else tuple(field.shape)

    def convert(value: Any) -> Any:
        if value is not None and type(value) is not np.ndarray:
            value = unmasked(field, value)
        if value is None:
            return missing(field)
        if type(value) is not np.ndarray or value.dtype != dtype or not value.flags.c_contiguous or bits:
            value = _bfloat16_bits(field, value) if bits else to_dtype(field, value, dtype)
        return value if value.shape == fixed else _fit(field, value)

    return convert


# ---- records ----


def struct_converter(field: FieldInfo) -> Converter:
    """For fields of type inline: bytes of a record, or of a small array."""
    dtype, shape = field.dtype, field.dims
    assert dtype is not None
    check = _member(field, field.name, np.dtype((dtype, shape)) if shape else dtype)

    def convert(value: Any) -> Any:
        if value is None:
            return missing(field)
        if type(value) is np.void and value.dtype == dtype:
            return value.tobytes()
        value = unmasked(field, value)
        if value is None:
            return None
        if isinstance(value, np.ndarray) and value.dtype == dtype and value.shape == shape:
            return value.tobytes()
        out = np.array(check(value), dtype=dtype)
        if out.shape != shape:
            raise wrong(field, out, f"an array of shape {shape}" if shape else "one record")
        return out.tobytes()

    return convert


def _member(field: FieldInfo, name: str, dtype: np.dtype[Any]) -> Converter:
    """What makes a member's value ready for np.array, and refuses what that would cut or round away."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return _sub_array(field, name, base, shape)
    if dtype.names is not None:
        return _record(field, name, dtype)
    if dtype.kind in "SUV":
        return _letters(field, name, dtype)
    return _number(field, dtype)


def _number(field: FieldInfo, dtype: np.dtype[Any]) -> Converter:
    low: float = 1
    high: float = 0
    if dtype.kind in "iu":
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    elif dtype.kind == "f":  # Python's floats: a comparison with NumPy's would cast the other side
        low, high = float(np.finfo(dtype).min), float(np.finfo(dtype).max)
    quick = (int,) if dtype.kind in "iu" else (int, float)

    def convert(value: Any) -> Any:
        if type(value) in quick and low <= value <= high:
            return value
        if isinstance(value, np.generic):  # by its value, like a number of Python's
            if value.dtype == dtype:
                return value  # with the bits that it has
            value = value.item()
        out = to_dtype(field, value, dtype)
        if out.ndim:
            raise wrong(field, out, f"one {dtype} in its place")
        return out[()]  # of an array np.array would take the value, not the bits

    return convert


def _letters(field: FieldInfo, name: str, dtype: np.dtype[Any]) -> Converter:
    room = dtype.itemsize // 4 if dtype.kind == "U" else dtype.itemsize
    types = str if dtype.kind == "U" else (str, bytes) if dtype.kind == "S" else (bytes, np.void)

    def convert(value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value[()]
        if not isinstance(value, types):
            raise wrong(field, value, "a str" if dtype.kind == "U" else "bytes", f" in {name!r}")
        if isinstance(value, np.void):
            value = value.tobytes()
        if dtype.kind == "S" and isinstance(value, str) and not value.isascii():
            raise RangeError(f"field {field.name!r}: {name!r} holds bytes; encode {value!r}", field=field.name)
        if len(value) > room:
            raise RangeError(f"field {field.name!r}: {value!r} is longer than {name!r}, {room}", field=field.name)
        return value

    return convert


def _sub_array(field: FieldInfo, name: str, base: np.dtype[Any], shape: tuple[int, ...]) -> Converter:
    one = _member(field, name, base)

    def convert(value: Any) -> Any:
        if base.names is None and base.kind not in "SUV":
            out = to_dtype(field, value, base)
        elif type(value) is np.ndarray and value.dtype == base:
            out = value
        else:
            given = value if isinstance(value, np.ndarray) else np.array(value, dtype=object)
            flat = [one(v) for v in (given.reshape(-1) if given.dtype == object else given.reshape(-1).tolist())]
            out = np.array(flat, dtype=base).reshape(given.shape)
        if out.shape != shape:
            raise wrong(field, out, f"an array of shape {shape}", "" if name == field.name else f" in {name!r}")
        return out

    return convert


def _record(field: FieldInfo, name: str, dtype: np.dtype[Any]) -> Converter:
    names = dtype.names or ()
    members = [_member(field, member, dtype[member]) for member in names]

    def ordered(value: Any) -> Any:
        """The values in the members' order: dicts and records by name, the rest by place."""
        if isinstance(value, (np.void, np.ndarray)) and value.dtype.names is not None:
            if value.shape != ():
                raise wrong(field, value, "one record")
            value = {member: value[member] for member in value.dtype.names}
        if isinstance(value, Mapping):
            odd = [k for k in value if k not in names] or [k for k in names if k not in value]
            if odd:
                raise WrongTypeError(
                    f"field {field.name!r} takes a record of {', '.join(names)}: "
                    f"{'no value for' if odd[0] in names else 'there is no member'} {odd[0]!r}",
                    field=field.name,
                )
            return [value[member] for member in names]
        if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
            raise wrong(field, value, f"a record of {', '.join(names)}")
        return list(value)

    def convert(value: Any) -> Any:
        values = ordered(value)
        if len(values) != len(members):
            raise WrongTypeError(
                f"field {field.name!r} takes a record of {', '.join(names)}: {len(values)} values", field=field.name
            )
        return tuple([member(v) for member, v in zip(members, values)])

    return convert
