"""Under FFCV's path ``ffcv.fields.decoders``. Decoding runs in C threads; a decoder says how."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .... import images, ops
from ....pipeline import Operation as Native
from ..host import Context, Host
from ..pipeline.operation import Operation, ours

__all__ = [
    "BytesDecoder",
    "CenterCropRGBImageDecoder",
    "FloatDecoder",
    "IntDecoder",
    "NDArrayDecoder",
    "RandomResizedCropRGBImageDecoder",
    "SimpleRGBImageDecoder",
]


class Plain(Host):
    """Values are decoded by their field."""

    def host(self, value: Any, context: Context) -> Any:
        """Nothing to do."""
        del context
        return value


class IntDecoder(Plain):
    """Nothing to do: values are decoded by their field."""


class FloatDecoder(Plain):
    """Nothing to do: values are decoded by their field."""


class NDArrayDecoder(Plain):
    """Nothing to do: values are decoded by their field."""


class BytesDecoder(ops.Pad, Operation):
    """Bytes of a batch as one array, filled up with zeros to the longest of the batch."""

    def __init__(self) -> None:
        super().__init__()


class SimpleRGBImageDecoder(ops.Decode, Operation):
    """Images that all have one size."""

    def __init__(self) -> None:
        super().__init__(channels=3)

    @ours
    def generate_code(self) -> Callable[..., Any]:
        """For programs that decode by themselves; a Loader decodes in C.

        A function of (numbers of samples, destination, records, state), as in FFCV: ``accept_globals`` was called
        with a Reader's records of the field and a memory manager's reader.
        """
        read = self.memory_read

        def decode(indices: Any, destination: Any, metadata: Any, storage_state: Any) -> Any:
            for out, record in zip(destination, metadata[np.asarray(indices)], strict=False):
                data = read(record["data_ptr"], storage_state)
                height, width = int(record["height"]), int(record["width"])
                raw = len(data) == height * width * 3 and bytes(data[:3]) != b"\xff\xd8\xff"
                out[:] = data.reshape(height, width, 3) if raw else images.decode(data, channels=3)
            return destination[: len(indices)]

        return decode


class _Sized(Operation):
    """A decoder whose output_size may be set between epochs: FFCV's way to train with growing images."""

    _values: tuple[Any, ...]

    @property
    def output_size(self) -> tuple[int, int]:
        """(height, width); the loader's next epoch has what is set here."""
        return self._values[0]  # type: ignore[no-any-return]

    @output_size.setter
    def output_size(self, size: Sequence[int]) -> None:
        before = self._values
        try:
            Native.__init__(self, tuple(size), *before[1:])  # type: ignore[arg-type]
        except Exception:
            Native.__init__(self, *before)  # type: ignore[arg-type]
            raise


class CenterCropRGBImageDecoder(_Sized, ops.CenterResizedCrop):
    """mldf.CenterResizedCrop with FFCV's filter: the mean of the area."""

    def __init__(self, output_size: Sequence[int], ratio: float) -> None:
        ops.CenterResizedCrop.__init__(self, tuple(output_size), ratio, "area")


class RandomResizedCropRGBImageDecoder(_Sized, ops.RandomResizedCrop):
    """mldf.RandomResizedCrop with FFCV's filter."""

    def __init__(self, output_size: Sequence[int], scale: Any = (0.08, 1.0), ratio: Any = (0.75, 4 / 3)) -> None:
        ops.RandomResizedCrop.__init__(self, tuple(output_size), scale, ratio, "area")


DECODERS = (Plain, BytesDecoder, SimpleRGBImageDecoder, CenterCropRGBImageDecoder, RandomResizedCropRGBImageDecoder)
