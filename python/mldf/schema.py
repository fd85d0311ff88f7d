"""The schema of a dataset that is read: which fields it has, and what is known of each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import NoFieldError
from .fields import CustomField, registered

__all__ = ["FieldInfo", "Schema"]

IMAGE_TYPES = range(10, 14)
INT, FLOAT, BYTES, NDARRAY, JSON, INLINE, TEXT, PRIVATE = 1, 2, 3, 4, 5, 6, 40, 0x8000
AUDIO, COMPRESSED_AUDIO = 20, 21
SPECTROGRAM, CODEC_TOKENS = 22, 23
TOKENS, PACKED, HIERARCHICAL, STREAM = 41, 42, 43, 44
VIDEO_FRAMES, VIDEO_COMPRESSED, OPTICAL_FLOW = 30, 31, 32
MULTIMODAL = 50
TOKEN_RECORDS = {
    TOKENS: [("ptr", "<u8"), ("size", "<u4"), ("num_tokens", "<u4")],
    PACKED: [("ptr", "<u8"), ("size", "<u8"), ("num_tokens", "<u4"), ("num_documents", "<u4")],
    HIERARCHICAL: [
        ("ptr", "<u8"),
        ("size", "<u8"),
        ("num_tokens", "<u4"),
        ("num_paragraphs", "<u4"),
        ("num_sentences", "<u4"),
        ("zero", "<u4"),
    ],
    STREAM: [("ptr", "<u8"), ("size", "<u8"), ("num_tokens", "<u8"), ("num_documents", "<u8")],
}
MULTIMODAL_RECORD = [
    ("ptr", "<u8"),
    ("size", "<u8"),
    ("mask", "<u4"),
    ("parts", "<u4"),
    ("tokens", "<u4"),
    ("images", "<u4"),
    ("pixels", "<u8"),
    ("samples", "<u8"),
    ("milliseconds", "<u8"),
]
VIDEO_RECORD = [
    ("ptr", "<u8"),
    ("size", "<u8"),
    ("num_frames", "<u4"),
    ("height", "<u2"),
    ("width", "<u2"),
    ("fps_num", "<u4"),
    ("fps_den", "<u4"),
]
FLOW_RECORD = [*VIDEO_RECORD[:5], ("scale", "<f4"), ("keyframe_interval", "<u2"), ("dtype", "u1"), ("zero", "u1")]
COMPRESSED_VIDEO_RECORD = [
    ("ptr", "<u8"),
    ("size", "<u8"),
    ("num_frames", "<u4"),
    ("num_keyframes", "<u4"),
    ("width", "<u2"),
    ("height", "<u2"),
    ("fps_num", "<u4"),
    ("fps_den", "<u4"),
    ("codec", "u1"),
    ("streams", "u1"),
    ("zero", "<u2"),
    ("duration_us", "<u8"),
    ("sound_samples", "<u8"),
    ("sound_bytes", "<u8"),
    ("sound_rate", "<u4"),
    ("sound_channels", "<u2"),
    ("sound_bits", "u1"),
    ("sound_codec", "u1"),
]
AUDIO_RECORD = [
    ("ptr", "<u8"),
    ("size", "<u8"),
    ("num_samples", "<u8"),
    ("sample_rate", "<u4"),
    ("channels", "<u2"),
    ("bit_depth", "u1"),
    ("codec", "u1"),
]


@dataclass(frozen=True)
class FieldInfo:
    """One field of a file.

    Parameters
    ----------
    name
        As samples have it.
    type
        "int", "image", "ndarray" ..., as a schema file has it.
    type_id
        The type's number in the file.
    nullable
        A sample may lack the value.
    compressed
        By zstd.
    known
        False: a type that nobody registered; its bytes can be had with ``raw``.
    arguments
        What the type was given: shape, dtype, how images are stored ...
    dtype
        Of the array that a value is, or of the number; None for text, bytes, images and the like.
    shape
        Of an array; None in it where it varies.
    record_bytes
        Of the field's part of a row.
    row_offset
        Where in a row that part begins.
    custom
        The object of a user-defined type.
    """

    name: str
    type: str
    type_id: int
    nullable: bool
    compressed: bool
    known: bool
    arguments: dict[str, Any]
    dtype: np.dtype[Any] | None
    shape: tuple[int | None, ...] | None
    record_bytes: int
    row_offset: int
    custom: CustomField | None = None

    @property
    def is_image(self) -> bool:
        """An image?"""
        return self.type_id in IMAGE_TYPES

    @property
    def is_tokens(self) -> bool:
        """Ids of a vocabulary?"""
        return self.type_id in TOKEN_RECORDS

    @property
    def is_struct(self) -> bool:
        """A record of named members? A small array, the other thing that :class:`mldf.Struct` makes, is none."""
        return self.dtype is not None and self.dtype.names is not None

    @property
    def dims(self) -> tuple[int, ...]:
        """The shape of a field of fixed size, () for a number."""
        return tuple(d or 0 for d in self.shape or ())

    @property
    def in_row(self) -> bool:
        """Kept in the row itself, so that the whole column is one strided array?"""
        return self.type_id in (INT, FLOAT, INLINE)

    @property
    def is_fixed(self) -> bool:
        """The same number of bytes in every sample?"""
        return self.in_row or (self.type_id == NDARRAY and self.shape is not None and None not in self.shape)

    def describe(self) -> dict[str, Any]:
        """The field as a schema file has it."""
        arguments = {k: v for k, v in self.arguments.items() if not (k == "type" and self.type_id >= PRIVATE)}
        out: dict[str, Any] = {"name": self.name, "type": self.type if self.known else self.type_id, **arguments}
        if self.nullable:
            out["nullable"] = True
        if self.compressed:
            out["compress"] = True
        return out

    def __str__(self) -> str:
        text = self.type
        if (self.type_id in (INT, NDARRAY) or self.is_tokens) and self.dtype is not None and str(self.dtype) != "int64":
            text += f" {self.dtype}"
        elif self.type_id == INLINE and self.dtype is not None:
            text += f" {self.dtype}" if self.dtype.names is None else f" ({', '.join(self.dtype.names)})"
        if self.shape:
            text += "[" + ", ".join("?" if d is None else str(d) for d in self.shape) + "]"
        return text + (" nullable" if self.nullable else "") + (" zstd" if self.compressed else "")


def bfloat16() -> np.dtype[Any]:
    """ml_dtypes' bfloat16 where that is installed, else uint16: the bits."""
    try:
        import ml_dtypes
    except ImportError:
        return np.dtype("<u2")
    found: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return found


def _tuples(descr: list[Any]) -> list[Any]:
    out = []
    for member in descr:
        kind = _tuples(member[1]) if isinstance(member[1], list) else member[1]
        shape = member[2] if len(member) > 2 else None
        out.append(
            (member[0], kind) if shape is None else (member[0], kind, shape if isinstance(shape, int) else tuple(shape))
        )
    return out


def _inline_dtype(descr: list[Any]) -> tuple[np.dtype[Any], tuple[int, ...]]:
    members = _tuples(descr)
    if len(members) == 1 and members[0][0] == "":
        kind = members[0][1]
        shape = members[0][2] if len(members[0]) > 2 else ()
        return np.dtype(kind), (shape,) if isinstance(shape, int) else shape
    return np.dtype(np.lib.format.descr_to_dtype(members)), ()  # type: ignore[no-untyped-call]


def _field_info(raw: Mapping[str, Any]) -> FieldInfo:
    arguments = json.loads(raw["arguments"])
    number = raw["type_id"]
    dtype: np.dtype[Any] | None = None
    shape = raw["shape"]
    custom = None
    if number == INLINE and raw["known"]:
        dtype, inner = _inline_dtype(arguments["descr"])
        shape = inner
    elif number == FLOAT:
        dtype = np.dtype("<f8")
    elif raw["dtype"] == "bfloat16":
        dtype = bfloat16()
    elif raw["dtype"]:
        dtype = np.dtype(raw["dtype"])
    cls = registered(number) if number >= PRIVATE else None
    if cls is not None and raw["known"]:
        try:
            custom = cls.from_arguments({k: v for k, v in arguments.items() if k != "type"})
        except Exception as error:
            error.add_note(f"in {cls.__name__}.from_arguments, for field {raw['name']!r}")
            raise
    return FieldInfo(
        raw["name"],
        raw["type"],
        number,
        raw["nullable"],
        raw["compressed"],
        raw["known"],
        arguments,
        dtype,
        shape,
        raw["record_bytes"],
        raw["row_offset"],
        custom,
    )


class Schema(Mapping[str, FieldInfo]):
    """The fields of a dataset in their order: a mapping from name to :class:`FieldInfo`."""

    def __init__(self, fields: list[FieldInfo]) -> None:
        self._fields = {field.name: field for field in fields}

    @classmethod
    def from_reader(cls, fields: list[dict[str, Any]]) -> Schema:
        """From what the extension module says."""
        return cls([_field_info(raw) for raw in fields])

    def __getitem__(self, name: str) -> FieldInfo:
        try:
            return self._fields[name]
        except (KeyError, TypeError):  # a list is no name either
            raise no_field(name, self._fields) from None

    def __contains__(self, name: object) -> bool:  # Mapping's own would make an error with a hint first, and drop it
        return isinstance(name, str) and name in self._fields

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    @property
    def names(self) -> tuple[str, ...]:
        """The fields' names in order."""
        return tuple(self._fields)

    def to_json(self) -> str:
        """As a schema file has it; ``Writer`` and ``mldf pack --schema`` take it."""
        return json.dumps({"fields": [field.describe() for field in self._fields.values()]})

    def __repr__(self) -> str:
        return "Schema(" + ", ".join(f"{name}: {field}" for name, field in self._fields.items()) + ")"

    def __str__(self) -> str:
        width = max((len(name) for name in self), default=0)
        return "\n".join(f"{name:{width}}  {field}" for name, field in self._fields.items())


def no_field(name: object, names: Mapping[str, Any] | tuple[str, ...]) -> NoFieldError:
    """The error for a name that no field has, with the nearest one that a field has."""
    import difflib

    near = difflib.get_close_matches(str(name), list(names), 1, 0.6)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(map(repr, names))}"
    return NoFieldError(f"no field {name!r}; {hint}", field=str(name))


def rows_dtype(schema: Schema, row_bytes: int) -> np.dtype[Any]:
    """The structured dtype of the table of rows. Fields with a payload show their records: ptr, size and what goes
    with them.
    """
    image = [
        ("ptr", "<u8"),
        ("size", "<u4"),
        ("height", "<u2"),
        ("width", "<u2"),
        ("channels", "u1"),
        ("mode", "u1"),
        ("bits", "u1"),
        ("color", "u1"),
        ("orientation", "u1"),
    ]
    formats: list[Any] = []
    for field in schema.values():
        kind: Any
        if field.in_row and field.dtype is not None:
            kind = (field.dtype, field.shape) if field.shape else field.dtype
        elif field.is_image:
            kind = _record(image, field.record_bytes)
        elif field.type_id in (AUDIO, COMPRESSED_AUDIO) and field.known:
            kind = np.dtype(AUDIO_RECORD)
        elif field.type_id == VIDEO_FRAMES and field.known:
            kind = np.dtype(VIDEO_RECORD)
        elif field.type_id == VIDEO_COMPRESSED and field.known:
            kind = np.dtype(COMPRESSED_VIDEO_RECORD)
        elif field.type_id == OPTICAL_FLOW and field.known:
            kind = np.dtype(FLOW_RECORD)
        elif field.type_id == MULTIMODAL and field.known:
            kind = np.dtype(MULTIMODAL_RECORD)
        elif field.type_id in (SPECTROGRAM, CODEC_TOKENS) and field.known:
            across = "bins" if field.type_id == SPECTROGRAM else "codebooks"
            kind = np.dtype(
                [("ptr", "<u8"), ("size", "<u8"), ("frames", "<u4"), (across, "<u2"), ("kind", "u1"), ("zero", "u1")]
            )
        elif field.type_id in TOKEN_RECORDS and field.known and field.dtype is not None:
            kind = np.dtype(TOKEN_RECORDS[field.type_id])
        elif field.type_id == TEXT:
            kind = _record(
                [("ptr", "<u8"), ("size", "<u4"), ("num_tokens", "<u2"), ("encoding", "u1")], field.record_bytes
            )
        elif field.type_id == NDARRAY and field.record_bytes > 16 and field.shape:
            kind = _record([("ptr", "<u8"), ("size", "<u8"), ("dims", "<u4", (len(field.shape),))], field.record_bytes)
        elif field.type_id in (BYTES, JSON, NDARRAY) or (field.type_id >= PRIVATE and field.custom is not None):
            kind = _record([("ptr", "<u8"), ("size", "<u8")], field.record_bytes)
        else:
            kind = f"V{field.record_bytes}"
        formats.append(kind)
    return np.dtype(
        {
            "names": list(schema),
            "formats": formats,
            "offsets": [f.row_offset for f in schema.values()],
            "itemsize": row_bytes,
        }
    )


def _record(members: list[Any], record_bytes: int) -> np.dtype[Any]:
    inner = np.dtype(members)
    if inner.names is None or inner.fields is None:
        return inner
    return np.dtype(
        {
            "names": list(inner.names),
            "formats": [inner.fields[n][0] for n in inner.names],
            "offsets": [inner.fields[n][1] for n in inner.names],
            "itemsize": record_bytes,
        }
    )
