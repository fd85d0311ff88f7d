"""Which rank this process is, of how many."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

from .errors import ArgumentError, WrongTypeError
from .limits import whole

__all__ = ["find_rank"]


def _warn_of_workers(rank: int, world_size: int) -> None:
    """Each of torch's worker processes would give all samples of its rank, silently."""
    data = sys.modules.get("torch.utils.data")
    info = data.get_worker_info() if data is not None else None
    if info is not None and info.num_workers > 1:
        first, times = (f"{rank} * info.num_workers + ", f"{world_size} * ") if world_size > 1 else ("", "")
        warnings.warn(
            f"a Loader in worker {info.id} of torch's DataLoader: each of {info.num_workers} gives all samples; to "
            f"share them, rank={first}info.id and world_size={times}info.num_workers of "
            "torch.utils.data.get_worker_info()",
            stacklevel=5,  # the caller of Loader(...)
        )


def _of_group(group: Any) -> tuple[int, int, str]:
    """The place of this process in a torch ProcessGroup, or in a DeviceMesh of one dimension."""
    if hasattr(group, "get_local_rank") and hasattr(group, "mesh_dim_names"):
        if group.ndim != 1:
            names = ", ".join(group.mesh_dim_names or ()) or group.ndim
            raise ArgumentError(f"group: a device mesh of one dimension is needed, as mesh['dp'], not of {names}")
        return int(group.get_local_rank()), int(group.size()), "group"
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is None or not isinstance(group, getattr(distributed, "ProcessGroup", ())):
        raise WrongTypeError(f"group={group!r}: torch's ProcessGroup or a DeviceMesh of one dimension is needed")
    rank, world_size = int(distributed.get_rank(group)), int(distributed.get_world_size(group))
    if rank < 0:
        raise ArgumentError("group: this process is not in it")
    return rank, world_size, "group"


def find_rank(rank: int | None = None, world_size: int | None = None, group: Any = None) -> tuple[int, int, str]:
    """(rank, world_size, where it was found): what is given, the place in a group, torch.distributed, or RANK and
    WORLD_SIZE of the environment, as torchrun and its kin set them; else 0 of 1.

    >>> find_rank(1, 4)
    (1, 4, 'given')
    """
    if (rank is None) != (world_size is None):
        raise ArgumentError("rank and world_size are given together, or neither")
    if group is not None:
        if rank is not None:
            raise ArgumentError("group and rank: give one of them")
        return _of_group(group)
    if rank is not None and world_size is not None:
        rank, world_size = whole("rank", rank), whole("world_size", world_size, 1, 2**32 - 1)
        if not 0 <= rank < world_size:
            raise ArgumentError(f"rank={rank} of world_size={world_size}: it is 0 to {world_size - 1}")
        return rank, world_size, "given"
    found = _found()
    _warn_of_workers(*found[:2])
    return found


def _found() -> tuple[int, int, str]:
    distributed = getattr(sys.modules.get("torch"), "distributed", None)  # imported already, or not used at all
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank()), int(distributed.get_world_size()), "torch.distributed"
    if "RANK" in os.environ and "WORLD_SIZE" in os.environ:
        try:
            found = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        except ValueError:
            raise ArgumentError(
                f"RANK={os.environ['RANK']!r} and WORLD_SIZE={os.environ['WORLD_SIZE']!r} of the environment are no "
                "numbers; give rank and world_size"
            ) from None
        if not 0 <= found[0] < found[1]:
            raise ArgumentError(f"RANK={found[0]} of WORLD_SIZE={found[1]} in the environment makes no sense")
        return (*found, "environment")
    return 0, 1, "alone"
