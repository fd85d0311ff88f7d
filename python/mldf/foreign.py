"""Objects of other libraries, and files, as what the writer takes: torch tensors, PIL images, paths, open files."""

from __future__ import annotations

import math
import os
import sys
from typing import Any

import numpy as np

from .errors import IoError, NotAllowedError, NotFoundError, NullError, WrongTypeError
from .schema import FieldInfo

__all__ = [
    "from_pil",
    "from_tensor",
    "is_gone",
    "is_na",
    "is_pil",
    "is_tensor",
    "kind",
    "missing",
    "read_file",
    "unmasked",
    "wrong",
]

Array = np.ndarray[Any, Any]


def kind(value: Any) -> str:
    """A value's type in a message."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} and shape {value.shape}"
    if is_tensor(value):
        return f"a tensor of {str(value.dtype).removeprefix('torch.')} and shape {tuple(value.shape)}"
    return f"a {type(value).__module__}.{type(value).__qualname__}".replace("builtins.", "")


def wrong(field: FieldInfo, value: Any, wanted: str, hint: str = "") -> WrongTypeError:
    """The error for a value of a kind that its field does not take."""
    return WrongTypeError(f"field {field.name!r} takes {wanted}, not {kind(value)}{hint}", field=field.name)


def missing(field: FieldInfo) -> None:
    """None, where the field may have none."""
    if not field.nullable:
        raise NullError(f"field {field.name!r}: the value is missing and the field is not nullable", field=field.name)


def is_na(value: Any) -> bool:
    """What pandas has for a missing value? pandas is not imported for the question."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and (value is getattr(pandas, "NA", pandas) or value is getattr(pandas, "NaT", pandas))


def is_gone(value: Any) -> bool:
    """The same where no number is expected: NaN is what pandas has in columns of texts and other objects."""
    return is_na(value) or (type(value) is float and math.isnan(value) and "pandas" in sys.modules)


def unmasked(field: FieldInfo, value: Any) -> Any:
    """A masked array without its mask. Masked as a whole, as columns have nulls, it is None; in part, it is refused.
    What pandas calls missing is None too.
    """
    if not isinstance(value, np.ma.MaskedArray):
        return missing(field) if is_na(value) else value
    found: Array = np.ma.getmaskarray(value)  # type: ignore[no-untyped-call]
    mask = found.reshape(-1).view(np.bool_)  # that of a record has members of its own
    if not mask.any():
        return value.data
    if mask.all():
        return missing(field)
    raise wrong(field, value, "arrays without masked values", "; fill them first: .filled()")


# ---- torch ----


def is_tensor(value: Any) -> bool:
    """A torch tensor? torch is not imported for the question."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def from_tensor(field: FieldInfo, value: Any, bits: bool = False) -> Array:
    """A tensor of any device as an array. NumPy has no bfloat16: such a tensor comes as float32, or as its bits."""
    try:
        return _dense(value, bits)
    except (RuntimeError, TypeError) as error:  # sparse, without memory, of a dtype of torch's own
        why = str(error).partition("\n")[0]
        raise WrongTypeError(
            f"field {field.name!r} takes tensors that NumPy can hold (.to_dense(), .float() ...): {why}",
            field=field.name,
        ) from None


def _dense(value: Any, bits: bool) -> Array:
    value = value.detach().cpu().resolve_conj().resolve_neg().contiguous()
    if str(value.dtype) == "torch.bfloat16":
        import torch

        if not bits:
            value = value.to(torch.float32)
        else:
            out: Array = value.view(torch.int16).numpy().view(np.uint16)
            return out
    out = value.numpy()
    return out


# ---- PIL ----


def is_pil(value: Any) -> bool:
    """A PIL image? PIL is not imported for the question."""
    image = sys.modules.get("PIL.Image")
    return image is not None and isinstance(value, image.Image)


def from_pil(field: FieldInfo, value: Any) -> Array:
    """The pixels of a PIL image: palettes and rare modes made RGB or gray, nothing of them lost."""
    try:
        value.load()
    except (OSError, SyntaxError, ValueError) as error:
        raise WrongTypeError(f"field {field.name!r}: the PIL image does not load: {error}", field=field.name) from None
    mode = value.mode
    if mode in ("1", "L", "RGB") and "transparency" in value.info:  # one colour of a PNG file
        value = value.convert("RGBA" if mode == "RGB" else "LA")
    elif mode == "1":
        value = value.convert("L")
    elif mode in ("P", "PA"):
        value = value.convert("RGBA" if mode == "PA" or "transparency" in value.info else "RGB")
    elif mode in ("La", "RGBa"):  # alpha multiplied in
        value = value.convert("LA" if mode == "La" else "RGBA")
    elif mode in ("I", "F"):
        return _from_wide(field, value)
    elif mode not in ("L", "LA", "RGB", "RGBA") and not mode.startswith("I;16"):
        value = value.convert("RGB")
    pixels = np.asarray(value)
    return np.ascontiguousarray(pixels, np.uint16 if pixels.dtype.itemsize == 2 else np.uint8)


def _from_wide(field: FieldInfo, value: Any) -> Array:
    """PIL has files of 16 bits as 32-bit integers, too."""
    pixels = np.asarray(value)
    if value.mode == "F" or pixels.size == 0 or pixels.min() < 0 or pixels.max() > 65535:
        raise WrongTypeError(
            f"field {field.name!r}: a PIL image of mode {value.mode} whose values do not fit into 16 bits; scale it, "
            "and convert it to L, I;16 or RGB",
            field=field.name,
        )
    return pixels.astype(np.uint16)


# ---- files ----


def read_file(field: FieldInfo, path: Any) -> bytes:
    """All bytes of a file; what the system says against it, with the field's name."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        classes = {FileNotFoundError: NotFoundError, PermissionError: NotAllowedError}
        cls = next((ours for theirs, ours in classes.items() if isinstance(error, theirs)), IoError)
        found = cls(f"field {field.name!r}: {os.fsdecode(path)} cannot be read: {error.strerror}", field=field.name)
        found.errno, found.strerror, found.filename = error.errno, error.strerror, os.fsdecode(path)
        raise found from None
    except ValueError as error:  # a NUL in the name
        raise WrongTypeError(f"field {field.name!r}: the path {path!r}: {error}", field=field.name) from None
