"""A Python function for each sample of a batch, as the last step of an output.

>>> import numpy as np
>>> PerSample(lambda image: image.mean(axis=(0, 1)))(np.zeros((2, 4, 5, 3))).shape
(2, 3)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .collate import stacked
from .errors import WrongTypeError

__all__ = ["PerSample"]


class PerSample:
    """Calls a function with each sample's value, where a plain callable gets the whole batch.

    Results of one shape and dtype are stacked; others stay a list.

    It is slow: the calls run in ``next()``, in Python, one after the other. Operations of :mod:`mldf.ops`,
    :class:`CSource` and :class:`CFunction` run on the loader's threads; a callable on the whole batch is one call.

    Parameters
    ----------
    function
        Takes an array (a tensor with output="torch") and returns one, or anything else.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        if not callable(function):
            raise WrongTypeError(f"PerSample: a function is needed, not {type(function).__name__}")
        self.function = function

    def __call__(self, batch: Any) -> Any:
        """What the function returns for each value.

        Parameters
        ----------
        batch
            The output's values of all samples.
        """
        return stacked([self.function(value) for value in batch])

    def __repr__(self) -> str:
        return f"PerSample({getattr(self.function, '__name__', self.function)!s})"
