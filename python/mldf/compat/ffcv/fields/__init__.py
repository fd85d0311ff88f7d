"""Under FFCV's path ``ffcv.fields``: fields as classes, which are mldf's fields too and can be subclassed."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....fields import Bytes, Float, Image, Int, Json, NDArray
from ....suggest import choice
from ..host import is_tensor
from . import decoders
from .base import ARG_TYPE, Field, Stored

__all__ = [
    "ARG_TYPE",
    "BytesField",
    "Field",
    "FloatField",
    "IntField",
    "JSONField",
    "NDArrayField",
    "RGBImageField",
    "TorchTensorField",
]


class IntField(Stored, Int):
    """mldf.Int."""

    def __init__(self) -> None:
        Int.__init__(self)

    def get_decoder_class(self) -> type[Any]:
        """IntDecoder."""
        return decoders.IntDecoder


class FloatField(Stored, Float):
    """mldf.Float."""

    def __init__(self) -> None:
        Float.__init__(self)

    def get_decoder_class(self) -> type[Any]:
        """FloatDecoder."""
        return decoders.FloatDecoder


class BytesField(Stored, Bytes):
    """mldf.Bytes. Arrays of uint8 are bytes, too."""

    def __init__(self) -> None:
        Bytes.__init__(self)

    def get_decoder_class(self) -> type[Any]:
        """BytesDecoder."""
        return decoders.BytesDecoder


class JSONField(Stored, Json):
    """mldf.Json."""

    def __init__(self) -> None:
        Json.__init__(self)

    def get_decoder_class(self) -> type[Any]:
        """BytesDecoder."""
        return decoders.BytesDecoder

    @staticmethod
    def unpack(batch: Any) -> Any:
        """From a batch of bytes, as a Loader gives them, to a list of what was stored; from one sample to that.

        >>> JSONField.unpack(np.frombuffer(b'{"a": 1}' + bytes(2), np.uint8))
        {'a': 1}
        """
        rows: np.ndarray[Any, Any] = batch.cpu().numpy() if is_tensor(batch) else np.asarray(batch)
        if rows.ndim == 1:
            return json.loads(rows.tobytes().split(b"\0", 1)[0])
        return [JSONField.unpack(row) for row in rows]


class NDArrayField(Stored, NDArray):
    """mldf.NDArray."""

    def __init__(self, dtype: Any, shape: Sequence[int]) -> None:
        NDArray.__init__(self, np.dtype(dtype).name, tuple(shape))

    def get_decoder_class(self) -> type[Any]:
        """NDArrayDecoder."""
        return decoders.NDArrayDecoder


class TorchTensorField(Stored, NDArray):
    """mldf.NDArray of torch's dtype."""

    def __init__(self, dtype: Any, shape: Sequence[int]) -> None:
        NDArray.__init__(self, str(dtype).removeprefix("torch."), tuple(shape))

    def get_decoder_class(self) -> type[Any]:
        """NDArrayDecoder."""
        return decoders.NDArrayDecoder


class RGBImageField(Stored, Image):  # type: ignore[misc]  # encode: how images are stored, and FFCV's method
    """mldf.Image with FFCV's ways to store images."""

    def __init__(
        self,
        write_mode: str = "raw",
        max_resolution: int | None = None,
        smart_threshold: int | None = None,
        jpeg_quality: int = 90,
        compress_probability: float = 0.5,
        min_resolution: int | None = None,
    ) -> None:
        choice("write_mode", write_mode, ("raw", "jpg", "smart", "proportion"))
        Image.__init__(
            self,
            encode="jpeg" if write_mode == "jpg" else write_mode,
            max_resolution=max_resolution,
            min_resolution=min_resolution,
            smart_threshold=smart_threshold if write_mode == "smart" else None,
            quality=None if write_mode == "raw" else jpeg_quality,
            compress_probability=compress_probability if write_mode == "proportion" else None,
        )

    def get_decoder_class(self) -> type[Any]:
        """SimpleRGBImageDecoder."""
        return decoders.SimpleRGBImageDecoder


# FFCV has a module for each kind, with the field and its decoders; programs import from them.
for _name in dir(decoders):
    if _name.endswith("Decoder"):
        setattr(sys.modules[__name__], _name, getattr(decoders, _name))
for _name in ("basics", "bytes", "json", "ndarray", "rgb_image"):
    sys.modules[f"{__name__}.{_name}"] = sys.modules[__name__]
