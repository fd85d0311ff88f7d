"""FFCV's ``transforms.common``: Squeeze."""

from __future__ import annotations

from typing import Any

from ..host import Context, Host, is_tensor

__all__ = ["Squeeze"]


class Squeeze(Host):
    """Dimensions of length 1 go: (B, 1) becomes (B,). The batch's own dimension stays, whatever its length."""

    def __init__(self, *dims: int) -> None:
        self.dims = dims

    def host(self, value: Any, context: Context) -> Any:
        """By shape: a view."""
        del context
        ndim = len(value.shape)
        wanted = {d % ndim for d in self.dims} if self.dims else set(range(1, ndim))
        shape = [n for i, n in enumerate(value.shape) if i not in wanted or n != 1]
        return value.view(shape) if is_tensor(value) and value.is_contiguous() else value.reshape(shape)
