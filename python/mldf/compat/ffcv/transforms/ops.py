"""FFCV's ``transforms.ops``: tensors, devices, element types, layout."""

from __future__ import annotations

from typing import Any

import numpy as np

from .... import ops
from ....batch import to_torch
from ..host import Context, Host, is_tensor

__all__ = ["Convert", "ModuleWrapper", "ToDevice", "ToTensor", "ToTorchImage", "View"]


class ToTensor(Host):
    """From here on the field is a tensor."""

    def host(self, value: Any, context: Context) -> Any:
        """Without a copy where that is possible."""
        del context
        return value if is_tensor(value) else to_torch(None, False, True)(np.ascontiguousarray(value))


class ToDevice(Host):
    """The tensor goes to the device, through pinned memory if that is CUDA's."""

    def __init__(self, device: Any, non_blocking: bool = True) -> None:
        self.device, self.non_blocking = device, non_blocking
        self._convert: Any = None

    def host(self, value: Any, context: Context) -> Any:
        """By torch."""
        del context
        if self._convert is None:
            self._convert = to_torch(self.device, None, self.non_blocking)
        return self._convert(value)


class ToTorchImage(ops.CHW, Host):
    """Channels first. The tensor is contiguous, not a view of channels-last memory."""

    def __init__(self, channels_last: bool = True, convert_back_int16: bool = True) -> None:
        del channels_last, convert_back_int16
        super().__init__()

    def host(self, value: Any, context: Context) -> Any:
        """(B, H, W, C) to (B, C, H, W)."""
        del context
        return value.permute(0, 3, 1, 2).contiguous() if is_tensor(value) else value.transpose(0, 3, 1, 2).copy()


class Convert(ops.Cast, Host):
    """Another element type, of NumPy or torch: :class:`mldf.Cast`."""

    def __init__(self, target_dtype: Any) -> None:
        self.target_dtype = target_dtype
        super().__init__(target_dtype)

    def host(self, value: Any, context: Context) -> Any:
        """By NumPy or torch."""
        del context
        return (
            value.to(torch_dtype(self.target_dtype))
            if is_tensor(value)
            else value.astype(numpy_dtype(self.target_dtype))
        )


class View(Host):
    """The same bytes as another type."""

    def __init__(self, target_dtype: Any) -> None:
        self.target_dtype = target_dtype

    def host(self, value: Any, context: Context) -> Any:
        """No copy."""
        del context
        return value.view(torch_dtype(self.target_dtype) if is_tensor(value) else numpy_dtype(self.target_dtype))


class ModuleWrapper(Host):
    """A torch module; a module alone in a list does the same."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def host(self, value: Any, context: Context) -> Any:
        """Calls it."""
        del context
        return self.module(value)


def torch_dtype(dtype: Any) -> Any:
    """torch's element type of NumPy's or its own."""
    import torch

    if isinstance(dtype, torch.dtype):
        return dtype
    return getattr(torch, np.dtype(dtype).name)


def numpy_dtype(dtype: Any) -> np.dtype[Any]:
    """NumPy's element type of torch's or its own."""
    return np.dtype(str(dtype).removeprefix("torch.") if str(dtype).startswith("torch.") else dtype)
