"""Own fields of FFCV programs: classes of Field with a record, an ``encode`` and a decoder.

A sample is stored as an mldf.CustomField: the pieces that ``malloc`` gave, each with its pointer and size, and the
record.

    u32 pieces | pieces x (u64 pointer, u64 size) | record | the pieces' bytes
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...errors import ArgumentError
from ...fields import CustomField, NDArray, register_field
from .fields.base import Field, Stored, Value
from .host import Context, Host, cpu, is_tensor, memory
from .pipeline.state import State

__all__ = ["Decoding", "Records", "as_stored", "own_field", "register_own", "writing"]

_known: dict[type[Field], type[CustomField]] = {}


class Records:
    """A batch of own records, on its way to the decoder."""

    def __init__(self, parts: list[tuple[bytes, dict[int, np.ndarray[Any, Any]]]]) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return len(self.parts)


def _split(data: bytes) -> tuple[bytes, dict[int, np.ndarray[Any, Any]]]:
    (count,) = struct.unpack_from("<I", data)
    table = [struct.unpack_from("<QQ", data, 4 + 16 * i) for i in range(count)]
    end = len(data)
    pieces: dict[int, np.ndarray[Any, Any]] = {}
    for pointer, size in reversed(table):
        pieces[pointer] = np.frombuffer(data, np.uint8, size, end - size)
        end -= size
    return data[4 + 16 * count : end], pieces


def _encoded(field: Field, value: Any, ordinal: int) -> bytes:
    pieces: list[tuple[int, np.ndarray[Any, Any]]] = []

    def malloc(size: Any) -> tuple[int, np.ndarray[Any, Any]]:
        pieces.append(((ordinal + 1) << 20 | len(pieces), np.zeros(int(size), np.uint8)))
        return pieces[-1]

    record = np.zeros(1, field.metadata_type)
    field.encode(record, value, malloc)
    table = b"".join(struct.pack("<QQ", pointer, len(piece)) for pointer, piece in pieces)
    return struct.pack("<I", len(pieces)) + table + record.tobytes() + b"".join(piece.tobytes() for _, piece in pieces)


def register_own(cls: type[Field]) -> type[CustomField]:
    """The mldf.CustomField that stores such a field."""
    if cls in _known:
        return _known[cls]

    @dataclass(frozen=True)
    class Own(CustomField):
        type_name: ClassVar[str] = f"ffcv.own.{cls.__name__.lower()}"
        binary: str = ""
        """The field's arguments, as FFCV keeps them, in hexadecimal digits without zeros at the end."""

        def arguments(self) -> dict[str, Any]:
            return {"binary": self.binary} if self.binary else {}

        def own(self) -> Field:
            """The field as FFCV would make it of the file."""
            if cls.from_binary is Field.from_binary:
                return cls()
            binary = bytes.fromhex(self.binary).ljust(1024, b"\0")
            made: Field = cls.from_binary(np.frombuffer(binary, np.uint8))
            return made

        def encode(self, value: Any) -> bytes:
            return bytes(value)

        def decode(self, data: bytes) -> Any:
            return _split(bytes(data))

        def collate(self, values: list[Any]) -> Any:
            return Records(values)

    Own.__name__ = Own.__qualname__ = cls.__name__
    _known[cls] = register_field(Own)
    return _known[cls]


def own_field(info: Any) -> Field | None:
    """Of a file's field, the FFCV field that it is of."""
    make = getattr(info.custom, "own", None)
    return make() if make is not None else None


def as_stored(field: Any) -> Any:
    """What mldf.write takes for a field: itself, if mldf has it."""
    if isinstance(field, Stored) or not isinstance(field, Field):
        return field
    binary = np.asarray(field.to_binary()).tobytes().rstrip(b"\0")
    return register_own(type(field))(binary=binary.hex())  # type: ignore[call-arg]


def _shaped(value: Any, shape: Any) -> Any:
    """As FFCV, which looks at the number of elements alone: a number is an array of shape (1,)."""
    if tuple(getattr(value, "shape", ())) == tuple(shape):
        return value
    array = value.cpu().numpy() if is_tensor(value) else np.asarray(value)
    return array.reshape(shape) if array.size == math.prod(shape) else value


def writing(field: Any) -> Any:
    """A function from (value, number of the sample) to what mldf.write takes; None: the value as it is."""
    if isinstance(field, Stored):
        if type(field).encode is Stored.encode:
            return (lambda value, ordinal: _shaped(value, field.shape)) if isinstance(field, NDArray) else None

        def changed(value: Any, ordinal: int) -> Any:
            del ordinal
            kept = Value()
            type(field).encode(field, kept, value, lambda size: (0, np.zeros(int(size), np.uint8)))
            return kept.value

        return changed
    if isinstance(field, Field):
        return lambda value, ordinal: _encoded(field, value, ordinal)
    return None


class Decoding(Host):
    """The decoder of an own field, called as FFCV calls it: (indices, destination, metadata, storage_state)."""

    def __init__(self, field: Field, decoder: Any) -> None:
        self.own, self.decoder = field, decoder

    def __repr__(self) -> str:
        return repr(self.decoder)

    def host(self, value: Any, context: Context) -> Any:
        """What the decoder makes of the records of a batch."""
        del context
        if not isinstance(value, Records):
            raise ArgumentError(
                f"{type(self.decoder).__name__}: the field's values are not those of {type(self.own).__name__}"
            )
        metadata = np.frombuffer(b"".join(record for record, _ in value.parts), self.own.metadata_type)
        pieces = {pointer: piece for _, found in value.parts for pointer, piece in found.items()}

        def read(pointer: Any, state: Any = None) -> np.ndarray[Any, Any]:
            del state
            return pieces[int(pointer)]

        self.decoder.accept_field(self.own)
        self.decoder.accept_globals(metadata, read)
        _, query = self.decoder.declare_state_and_memory(State(True, cpu(), (), np.dtype("<u8")))
        code = self.decoder.generate_code()
        return code(np.arange(len(value)), memory(query, len(value)), metadata, None)
