"""Images without a dataset: what a file's bytes say, decoding, encoding, resizing. All of it runs without the GIL.

>>> import numpy as np
>>> png = encode(np.zeros((2, 3, 3), np.uint8), "png")
>>> probe(png)["width"], decode(png).shape
(3, (2, 3, 3))
>>> resize(decode(png), 6, 4).shape
(4, 6, 3)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from . import _mldf
from .errors import ArgumentError, WrongTypeError
from .limits import flag, whole, whole_or_none
from .suggest import choice

__all__ = ["decode", "encode", "icc", "probe", "resize"]

_FORMATS = ("jpeg", "png")
_FILTERS = ("box", "bilinear", "bicubic", "lanczos", "area")


def _bytes(data: Any) -> Any:
    """A file's bytes in one piece."""
    if isinstance(data, bytes):
        return data
    try:
        view = memoryview(data)
    except TypeError:
        raise WrongTypeError(f"an image file's bytes are needed, not a {type(data).__name__}") from None
    return view if view.c_contiguous else view.tobytes()


def _pixels(pixels: Any) -> npt.NDArray[Any]:
    given = pixels if isinstance(pixels, np.ndarray) else None
    shaped = given is not None and (given.ndim == 2 or (given.ndim == 3 and 1 <= given.shape[2] <= 4))
    if given is None or not shaped or given.dtype.kind != "u" or given.dtype.itemsize > 2:
        kind = type(pixels).__name__ if given is None else f"{given.dtype} of shape {given.shape}"
        raise WrongTypeError(
            f"pixels are an array of uint8 or uint16, (height, width) or (height, width, 1 to 4), not {kind}"
        )
    return np.ascontiguousarray(given, given.dtype.newbyteorder("="))


def probe(data: Any) -> dict[str, Any]:
    """What the bytes of an image file say of it, nothing decoded: format, width, height, channels, bits,
    orientation, frames ...

    Parameters
    ----------
    data
        The bytes of an image file.
    """
    return _mldf.probe_image(_bytes(data))


def decode(
    data: Any,
    *,
    channels: int | None = None,
    bits: int | None = None,
    scale: int = 1,
    orient: bool = False,
    tolerant: bool = False,
    region: tuple[int, int, int, int] | None = None,
    fast_dct: bool = False,
    max_pixels: int | None = None,
    eighths: int | None = None,
) -> npt.NDArray[Any]:
    """The pixels of an image file's bytes: (height, width, channels), uint8 or uint16.

    Parameters
    ----------
    data
        The bytes of an image file.
    channels
        1 gray, 3 RGB, 4 RGB + alpha; None: as stored.
    bits
        8 or 16; None: as stored.
    scale
        2, 4 or 8 makes a JPEG's half, quarter or eighth.
    orient
        Turn the image as its EXIF orientation says.
    tolerant
        Damaged files give what can be had.
    region
        (x, y, width, height) of the result.
    fast_dct
        Quicker for JPEG, and a level or two off.
    max_pixels
        Larger images are refused; None: 2**28.
    eighths
        1 to 16, of a JPEG: sides of so many eighths, rounded up, while it is decoded.
    """
    if region is not None:
        numbers = tuple(region) if hasattr(region, "__iter__") else ()
        if len(numbers) != 4 or not all(hasattr(n, "__index__") and 0 <= n < 2**32 for n in numbers):
            raise ArgumentError(f"region={region!r}: it is (x, y, width, height), none of them negative")
        region = numbers
    options = {
        "channels": whole_or_none("channels", channels, 0, 4),
        "bits": whole_or_none("bits", bits, 0, 16),
        "scale": whole("scale", scale, 1, 8),
        "orient": flag("orient", orient),
        "tolerant": flag("tolerant", tolerant),
        "fast_dct": flag("fast_dct", fast_dct),
        "max_pixels": whole_or_none("max_pixels", max_pixels),
        "eighths": whole_or_none("eighths", eighths, 0, 16),
    }
    return _mldf.decode_image(_bytes(data), options, region)


def encode(
    pixels: npt.NDArray[Any],
    format: str = "jpeg",
    *,
    quality: int = 90,
    subsampling: int | str = 420,
    optimize: bool = False,
    progressive: bool = False,
    icc: bytes | None = None,
    level: int | None = None,
) -> bytes:
    """Pixels as the bytes of a "jpeg" or "png" file.

    Parameters
    ----------
    pixels
        (height, width, channels) or (height, width), uint8 or uint16.
    format
        "jpeg" or "png".
    quality
        JPEG: 1 to 100.
    subsampling
        JPEG: 420, 422 or 444.
    optimize
        JPEG: smaller and slower.
    progressive
        JPEG: coarse first.
    icc
        JPEG: a colour profile to embed.
    level
        PNG: zlib's 0 to 9.
    """
    kind = choice("format", format, _FORMATS)
    if str(subsampling) not in ("420", "422", "444"):
        raise ArgumentError(f"subsampling={subsampling!r}: it is 420, 422 or 444")
    if kind == 1 and icc is not None:
        raise ArgumentError("icc: only JPEG files get a colour profile")
    options = {
        "quality": whole("quality", quality, 1, 100),
        "subsampling": int(subsampling),
        "optimize": flag("optimize", optimize),
        "progressive": flag("progressive", progressive),
        "icc": icc,
        "png_level": whole_or_none("level", level, -1, 9),
    }
    return _mldf.encode_image(_pixels(pixels), kind == 1, options)


def icc(data: Any) -> bytes | None:
    """The colour profile in an image file's bytes, or None.

    Parameters
    ----------
    data
        The bytes of an image file.

    Examples
    --------
    >>> import mldf, numpy as np
    >>> mldf.images.icc(mldf.images.encode(np.zeros((2, 2, 3), np.uint8))) is None
    True
    """
    return _mldf.image_icc(_bytes(data))


def resize(pixels: npt.NDArray[Any], width: int, height: int, *, filter: str = "bilinear") -> npt.NDArray[Any]:
    """Antialiased, as Pillow resizes.

    Parameters
    ----------
    pixels
        (height, width, channels) or (height, width), uint8.
    width, height
        Of the result.
    filter
        "box", "bilinear", "bicubic", "lanczos" or "area".
    """
    kind = choice("filter", filter, _FILTERS)
    for name, side in (("width", width), ("height", height)):
        if not hasattr(side, "__index__") or not 1 <= side <= 0xFFFFFF:
            raise ArgumentError(f"{name}={side!r}: it is 1 to {0xFFFFFF}")
    return _mldf.resize_image(_pixels(pixels), width, height, kind)
