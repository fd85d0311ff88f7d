"""The base class of FFCV's operations: of the package's own, which become steps of mldf's pipelines, and of the user's,
which run on whole batches in next(). ../host.py calls those.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .allocation_query import AllocationQuery  # programs import it from here, too
from .state import State

__all__ = ["AllocationQuery", "Operation", "State"]


class Operation:
    """To be subclassed: ``declare_state_and_memory`` and ``generate_code`` as in FFCV.

    The code gets (batch, destination), and the numbers of the samples as a third argument if it has the attribute
    ``with_indices``. The batch is NumPy's before ToTensor and torch's after it.
    """

    metadata: Any = None
    memory_read: Any = None
    field: Any = None

    def accept_field(self, field: Any) -> None:
        """The field that the pipeline is of."""
        self.field = field

    def accept_globals(self, metadata: Any, memory_read: Any) -> None:
        """What decoders read from."""
        self.metadata, self.memory_read = metadata, memory_read

    def generate_code(self) -> Callable[..., Any]:
        """The function that is called for each batch."""
        raise NotImplementedError(f"{type(self).__name__} does not define generate_code")

    def declare_state_and_memory(self, previous_state: Any) -> tuple[Any, Any]:
        """The state after the operation, and an AllocationQuery, several, or None."""
        return previous_state, None


def ours(method: Callable[..., Any]) -> Callable[..., Any]:
    """A generate_code of the package: not the user's own."""
    method.ours = True  # type: ignore[attr-defined]
    return method


def overrides(step: Any) -> bool:
    """Does the class of this operation bring the user's own code?"""
    method = type(step).generate_code
    return method is not Operation.generate_code and not hasattr(method, "ours")
