"""Steps of an FFCV pipeline that run in Python, on whole batches, when a batch is handed over.

plan.py divides a list of steps: what mldf can do for each sample in C threads comes first, what is here follows. A step
that is here has ``host(value, context)``; a user's own Operation is called as FFCV would call it; anything else is a
callable.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ArgumentError, WrongTypeError
from ...pipeline import Operation as Native
from ..apply import apply
from .pipeline.allocation_query import AllocationQuery
from .pipeline.operation import Operation, overrides
from .pipeline.state import State

__all__ = ["Context", "Host", "cpu", "is_tensor", "memory", "run"]


class Context:
    """The batch that a step works on: the numbers of its samples, the run's seed and the epoch."""

    def __init__(self, indices: np.ndarray[Any, Any], seed: int, epoch: int) -> None:
        self.indices, self.seed, self.epoch = indices, seed, epoch

    def random(self) -> np.random.RandomState:
        """The same for every step of the batch, so that an image's lambda is its label's."""
        last = int(self.indices[-1]) if len(self.indices) else 0
        parts = [self.seed, self.epoch, last]
        return np.random.RandomState([half for part in parts for half in (part % 2**32, part // 2**32 % 2**32)])


class Host(Operation):
    """A step with a method of ours for batches."""

    def host(self, value: Any, context: Context) -> Any:
        """What it makes of an array or a tensor."""
        raise NotImplementedError


def is_tensor(value: Any) -> bool:
    """torch's? It is not imported for the question."""
    return type(value).__module__.split(".")[0] == "torch"


def run(step: Any, value: Any, context: Context, made: dict[int, Any]) -> Any:
    """One step on a batch. made: the code of own operations, kept for the epochs to come."""
    if isinstance(step, Operation) and overrides(step):
        return _called(step, value, context, made)
    if isinstance(step, Host):
        return step.host(value, context)
    if isinstance(step, Native):
        return _native(step, value, context)
    if callable(step):
        out = step(value)
        if out is None:
            raise WrongTypeError(f"{step!r} gave None; a callable in a pipeline returns the batch")
        return out
    raise WrongTypeError(f"pipelines: {step!r} is not an Operation, a torch module or another callable")


def _native(step: Native, value: Any, context: Context) -> Any:
    """An operation of the library after one in Python: it runs on the batch as it is now."""
    tensor = is_tensor(value)
    array = value.cpu().numpy() if tensor else np.asarray(value)
    seed = int(context.random().randint(0, 2**31))
    out = apply([step], array, seed)
    if not tensor:
        return out
    import torch

    return torch.from_numpy(out).to(value.device)


# ---- own operations ----


def _called(step: Operation, value: Any, context: Context, made: dict[int, Any]) -> Any:
    state = _state(value)
    key = (state.jit_mode, str(state.device), state.shape, str(state.dtype))
    known = made.get(id(step))
    if known is None or known[0] != key:
        _, query = step.declare_state_and_memory(state)
        known = made[id(step)] = (key, query, step.generate_code())
    _, query, code = known
    arguments = [value, memory(query, len(value))]
    if getattr(code, "with_indices", False):
        arguments.append(context.indices)
    return code(*arguments)


def _state(value: Any) -> State:
    if is_tensor(value):
        return State(False, value.device, tuple(value.shape[1:]), value.dtype)
    return State(True, cpu(), tuple(value.shape[1:]), value.dtype)


def cpu() -> Any:
    """torch's device of memory, or its name where there is no torch."""
    try:
        import torch
    except ImportError:
        return "cpu"
    return torch.device("cpu")


def memory(query: Any, count: int) -> Any:
    """What was asked for, with a row for each sample of the batch, and new for every batch."""
    if query is None:
        return None
    if not isinstance(query, AllocationQuery) and isinstance(query, (list, tuple)):
        if len(query) in (2, 3) and not isinstance(query[0], (AllocationQuery, type(None), list)):
            query = AllocationQuery(*query)
        else:
            return tuple(memory(q, count) for q in query)
    if not isinstance(query, AllocationQuery):
        raise ArgumentError(f"declare_state_and_memory gave {query!r}, which is not an AllocationQuery")
    shape = (count, *query.shape)
    if type(query.dtype).__module__.split(".")[0] == "torch":
        import torch

        return torch.empty(shape, dtype=query.dtype, device=query.device)
    return np.empty(shape, query.dtype)
