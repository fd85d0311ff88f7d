"""Batches: named tuples of arrays, for NumPy, torch or JAX.

>>> Batch = batch_type(("image", "label"))
>>> b = Batch("images", "labels")
>>> b.image, b["label"], b[1]
('images', 'labels', 'labels')
>>> images, labels = b
"""

from __future__ import annotations

import functools
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _mldf
from .errors import ArgumentError, NoFieldError
from .sample import Sample, brief

__all__ = ["Batch", "batch_type"]


class Batch(Sample):
    """One batch: a tuple of arrays, the samples along the first dimension, with the outputs' names.

    ``b.label``, ``b["label"]`` and ``b[1]`` are the same; ``images, labels = b`` unpacks. The arrays are memory of
    their own that may be written, and stay valid for as long as they are kept, also when the loader is closed.
    """

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str) and key not in self.names:
            raise NoFieldError(f"no output {key!r} in this batch; it has {', '.join(self.names)}", field=key)
        return super().__getitem__(key)

    def __setattr__(self, name: str, value: Any) -> None:
        # `batch.image /= 2` works on the array and then stores the same array again.
        if name not in self.names or value is not self[name]:
            raise AttributeError(
                f"a batch is a tuple: write into batch.{name}[...], or make batch._replace({name}=...)"
            )

    def __setitem__(self, key: Any, value: Any) -> None:
        if value is not self[key]:
            raise TypeError(f"a batch is a tuple: write into batch[{key!r}][...]")

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.names, tuple(self))

    def __repr__(self) -> str:
        return "Batch(" + ", ".join(f"{n}={brief(v)}" for n, v in zip(self.names, self)) + ")"


@functools.lru_cache(maxsize=256)
def batch_type(names: tuple[str, ...]) -> type[Batch]:
    """The class of batches with these outputs; the same class for the same names."""
    template: Any = namedtuple("Batch", list(names), rename=True)  # type: ignore[misc]
    members: dict[str, Any] = {"__slots__": (), "names": names, "_fields": template._fields, "__doc__": Batch.__doc__}
    for name in names:
        # As in any named tuple, `index` and `count` go before the methods of that name.
        if name in template._fields and (name in ("index", "count") or not hasattr(Batch, name)):
            members[name] = getattr(template, name)
    return type("Batch", (Batch,), members)


def _rebuild(names: tuple[str, ...], values: tuple[Any, ...]) -> Batch:
    made: Any = batch_type(names)(*values)
    assert isinstance(made, Batch)
    return made


# ---- torch and JAX ----

Convert = Callable[[Any], Any]


def _numbers(array: Any) -> np.ndarray[Any, Any] | None:
    """An array that torch and JAX can look at; None for what they do not have (texts, dates, records, masks)."""
    if isinstance(array, np.ma.MaskedArray):
        return None
    out: np.ndarray[Any, Any] = np.asarray(array)
    if out.dtype.kind not in "biufc" or out.dtype.itemsize > (16 if out.dtype.kind == "c" else 8):
        return None
    kept = out.flags.writeable and out.dtype.isnative and all(s >= 0 for s in out.strides)
    return out if kept else np.array(out, out.dtype.newbyteorder("="))


def to_torch(device: Any, pin_memory: bool | None, non_blocking: bool) -> Convert:
    """From memory of the library to a tensor: no copy on the CPU.

    Pinned memory is torch's own, whose allocator knows when a copy to the device is done; memory of ours would be
    used again too early.
    """
    try:
        import torch
    except ImportError:
        raise ArgumentError("output='torch': PyTorch is not installed") from None
    try:
        where = torch.device("cpu" if device is None else device)
    except (RuntimeError, TypeError) as error:
        raise ArgumentError(f"device={device!r}: {str(error).splitlines()[0]}") from None
    cuda = torch.cuda.is_available()
    if where.type == "cuda" and not cuda:
        raise ArgumentError(f"device={device!r}: this PyTorch sees no CUDA device")
    pin = cuda and (where.type == "cuda" if pin_memory is None else pin_memory)
    alone = bool(pin and non_blocking)  # from our own memory a copy must be done before the memory is used again
    from_dlpack, uint64, int64 = torch.utils.dlpack.from_dlpack, torch.uint64, torch.int64
    own = _mldf.Array

    def convert(array: Any) -> Any:
        if type(array) is own:
            tensor = from_dlpack(array.__dlpack__())  # a capsule: torch need not ask which device it is on
        elif isinstance(array, torch.Tensor):  # what a user-defined field's decode gave, from here on
            tensor = array
        elif isinstance(array, (np.ndarray, np.generic)):
            numbers = _numbers(array)
            if numbers is None:
                return array
            tensor = torch.from_numpy(numbers)
        else:
            tensor = from_dlpack(array)
        if tensor.dtype is uint64:  # numbers of samples; torch can do nothing with uint64
            tensor = tensor.view(int64)
        if pin:
            tensor = tensor.pin_memory()
        return tensor if where.type == "cpu" else tensor.to(where, non_blocking=alone)

    return convert


def to_jax(device: Any, copy: bool | None) -> Convert:
    """From memory of the library to a JAX array: a copy, unless copy=False asks for the memory itself."""
    try:
        import jax
    except ImportError:
        raise ArgumentError("output='jax': JAX is not installed") from None

    def convert(array: Any) -> Any:
        numbers = _numbers(array) if isinstance(array, (np.ndarray, np.generic)) else array
        if numbers is None:
            return array
        out = jax.dlpack.from_dlpack(numbers)  # of the loader's memory, which JAX takes for immutable
        if copy is not False:
            out = jax.numpy.array(out, copy=True)
        return out if device is None else jax.device_put(out, device)

    return convert
