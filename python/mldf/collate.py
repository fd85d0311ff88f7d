"""Values of samples as one array, where they are alike: what a batch of a user-defined field is made of."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .foreign import is_tensor

__all__ = ["is_jax", "mapped", "stacked"]

_NUMBERS: dict[type, Any] = {bool: np.bool_, int: np.int64, float: np.float64, complex: np.complex128}


def is_jax(value: Any) -> bool:
    """A JAX array? JAX is not imported for the question."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, jax.Array)


def _looks(value: Any) -> tuple[Any, ...] | None:
    """What must be equal for values to be stacked; None: such values are not."""
    if type(value) in _NUMBERS:
        return (type(value),)
    if type(value) is np.ndarray or isinstance(value, np.generic):
        return None if value.dtype.kind in "OSU" else (np.ndarray, value.shape, value.dtype)
    if is_tensor(value):
        return ("torch", tuple(value.shape), value.dtype, value.device, value.layout)
    if is_jax(value):
        return ("jax", tuple(value.shape), value.dtype)
    return None


def stacked(values: Sequence[Any]) -> Any:
    """One array where all are arrays, tensors or numbers of one shape and element type; else the list of them.

    >>> stacked([np.zeros(2), np.ones(2)]).shape, stacked([1, 2]).dtype, stacked([np.zeros(2), np.ones(3)])
    ((2, 2), dtype('int64'), [array([0., 0.]), array([1., 1., 1.])])
    """
    out = list(values)
    looks = _looks(out[0]) if out else None
    if looks is None or any(_looks(v) != looks for v in out):
        return out
    if looks[0] in _NUMBERS:
        try:
            return np.array(out, _NUMBERS[looks[0]])
        except OverflowError:  # an int that int64 does not hold
            return out
    if looks[0] == "torch":
        return sys.modules["torch"].stack(out)
    if looks[0] == "jax":
        return sys.modules["jax"].numpy.stack(out)
    return np.stack(out)


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """With every array and tensor in it, also in lists, tuples and dicts, as the function makes it.

    >>> mapped(lambda a: a.shape, [{"a": np.zeros(2)}, (np.ones(3), "text")])
    [{'a': (2,)}, ((3,), 'text')]
    """
    if isinstance(value, (np.ndarray, np.generic)) or is_tensor(value) or is_jax(value):
        return function(value)
    if type(value) is dict:
        return {k: mapped(function, v) for k, v in value.items()}
    if type(value) in (list, tuple):
        return type(value)(mapped(function, v) for v in value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):  # a named tuple
        return type(value)(*(mapped(function, v) for v in value))
    return value
