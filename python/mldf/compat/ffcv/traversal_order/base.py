"""Own orders: a class with ``sample_order``, given to the Loader as ``order=``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["TraversalOrder"]


class TraversalOrder:
    """To be subclassed. The loader makes one of itself, and asks it at the beginning of each epoch."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader
        self.indices, self.seed, self.distributed = loader.indices, loader.seed, loader.distributed

    def sample_order(self, epoch: int) -> Sequence[int]:
        """The numbers of the samples, in the order of the epoch; of this rank, when there are several."""
        raise NotImplementedError(f"{type(self).__name__} does not define sample_order")
