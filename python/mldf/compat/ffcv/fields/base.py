"""The base class of FFCV's fields. Those of the package store what mldf's fields store; a user's own brings its record
(``metadata_type``), how a value gets into it (``encode``) and a decoder, and is stored by ../own_fields.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["ARG_TYPE", "Field", "Stored", "Value"]

ARG_TYPE = np.dtype([("", "<u1", 1024)])
"""What FFCV keeps of a field's arguments."""


class Field:
    """To be subclassed, as in FFCV."""

    __setattr__ = object.__setattr__  # mldf's fields are frozen; subclasses of FFCV's set what they like

    @property
    def metadata_type(self) -> np.dtype[Any]:
        """Of a sample's record."""
        raise NotImplementedError(f"{type(self).__name__} does not define metadata_type")

    @staticmethod
    def from_binary(binary: Any) -> Any:
        """The field of a file, from its arguments."""
        raise NotImplementedError("from_binary is not defined")

    def to_binary(self) -> Any:
        """The field's arguments for the file."""
        return np.zeros(1, dtype=ARG_TYPE)[0]

    def encode(self, destination: Any, field: Any, malloc: Callable[[int], Any]) -> None:
        """Writes the value `field` into the record `destination` and into memory from `malloc`."""
        raise NotImplementedError(f"{type(self).__name__} does not define encode")

    def get_decoder_class(self) -> type[Any]:
        """Of the operation that decodes it."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_decoder_class")


class Value:
    """The record of a field of the package: it keeps the value as it is."""

    def __init__(self) -> None:
        self.value: Any = None

    def __setitem__(self, key: Any, value: Any) -> None:
        self.value = value


class Stored(Field):
    """A field that mldf stores."""

    def encode(self, destination: Any, field: Any, malloc: Callable[[int], Any]) -> None:
        """Subclasses change `field` and pass it on."""
        del malloc
        if not isinstance(destination, Value):
            raise TypeError(
                f"{type(self).__name__}.encode writes into the record that it was called with, not into {destination!r}"
            )
        destination.value = field
