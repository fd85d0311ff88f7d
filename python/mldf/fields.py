"""Field types: what a schema is made of when it is written in Python.

>>> import mldf
>>> fields = {"image": mldf.Image(max_resolution=512), "label": mldf.Int("uint8"),
...           "mel": mldf.NDArray("float32", (None, 80), compress=3), "meta": mldf.Json(nullable=True)}
>>> mldf.schema_json(fields)[:63]
'{"fields":[{"name":"image","type":"image","max_resolution":512}'

User-defined types derive from :class:`CustomField`:

>>> @mldf.register_field
... class Lines(mldf.CustomField):
...     type_name = "org.example.lines"
...     def encode(self, value): return "\\n".join(value).encode()
...     def decode(self, data): return data.decode().split("\\n")
"""

from __future__ import annotations

import json
import operator
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Union

import numpy as np

from . import _mldf
from .errors import SchemaError, WrongTypeError
from .limits import flag

__all__ = [
    "AudioSpectrogram",
    "Bytes",
    "CodecTokens",
    "CustomField",
    "Field",
    "Fields",
    "Float",
    "Image",
    "Int",
    "Json",
    "NDArray",
    "Struct",
    "Text",
    "register_field",
    "schema_json",
]


@dataclass(frozen=True, kw_only=True)
class Field:
    """What all fields have.

    Parameters
    ----------
    nullable
        A sample may lack the value.
    compress
        Zstd, where there is a payload: True, or a level from 1 to 22.
    """

    type_name: ClassVar[str] = ""
    """As a schema file has it."""
    nullable: bool = False
    compress: bool | int = False

    def describe(self) -> dict[str, Any]:
        """The field as a schema file has it, without its name."""
        out: dict[str, Any] = {"type": self.type_name, **self.arguments()}
        try:
            nullable = flag("nullable", self.nullable)
        except WrongTypeError as error:
            raise SchemaError(str(error)) from None
        if nullable:
            out["nullable"] = True
        if self.compress:
            out["compress"] = self.compress
        return out

    def arguments(self) -> dict[str, Any]:
        """What this type asks for beyond that."""
        return {}


def dtype_text(dtype: Any) -> str:
    """NumPy's text of a dtype, little-endian; also "bfloat16".

    >>> dtype_text("float32"), dtype_text(">i2"), dtype_text("bfloat16")
    ('<f4', '<i2', 'bfloat16')
    """
    if str(getattr(dtype, "name", getattr(dtype, "__name__", dtype))).removeprefix("torch.") == "bfloat16":
        return "bfloat16"
    text = str(dtype)
    try:
        kind = np.dtype(text.removeprefix("torch.") if text.startswith("torch.") else dtype)
    except TypeError:
        raise SchemaError(f"{dtype!r} is not a dtype") from None
    return kind.newbyteorder("<").str


@dataclass(frozen=True)
class Int(Field):
    """An integer.

    Parameters
    ----------
    dtype
        Which values are refused, those of int64 unless said otherwise; "bool" gives back bool.
    nullable
        A sample may lack the value.
    compress
        Zstd, where there is a payload: True, or a level from 1 to 22.
    """

    type_name: ClassVar[str] = "int"
    dtype: Any = "int64"

    def arguments(self) -> dict[str, Any]:
        text = dtype_text(self.dtype)
        return {} if text == "<i8" else {"dtype": text}


@dataclass(frozen=True)
class Float(Field):
    """A float of 64 bits.

    Parameters
    ----------
    nullable
        A sample may lack the value.
    compress
        Zstd, where there is a payload: True, or a level from 1 to 22.
    """

    type_name: ClassVar[str] = "float"


@dataclass(frozen=True)
class Bytes(Field):
    """Any bytes.

    Parameters
    ----------
    nullable
        A sample may lack the value.
    compress
        Zstd, where there is a payload: True, or a level from 1 to 22.
    """

    type_name: ClassVar[str] = "bytes"


@dataclass(frozen=True)
class Text(Field):
    """A str.

    Parameters
    ----------
    nullable
        A sample may lack the value.
    compress
        Zstd, where there is a payload: True, or a level from 1 to 22.
    """

    type_name: ClassVar[str] = "text"


@dataclass(frozen=True)
class Json(Field):
    """Whatever json can hold: dicts, lists, numbers, strings.

    Parameters
    ----------
    along
        A field of segments: values are lists with an element for each of them, as their transcripts.
    nullable
        A sample may lack the value.
    compress
        Zstd, where there is a payload: True, or a level from 1 to 22.
    """

    type_name: ClassVar[str] = "json"
    along: str | None = None

    def arguments(self) -> dict[str, Any]:
        return {} if self.along is None else {"along": self.along}


@dataclass(frozen=True)
class NDArray(Field):
    """A NumPy array.

    Parameters
    ----------
    dtype
        Of NumPy or torch, or its name; also "bfloat16".
    shape
        None in it stands for a dimension that varies from sample to sample.
    along
        A token field: this one has an entry for each of its tokens (a loss mask, rewards), or spans of them; or a field
        of segments (int64 of shape (None, 2)): an entry for each of them.
    form
        With along: "dense" (one entry for each token) or "spans" (integers of shape (None, 2): begin and end,
        ascending).
    nullable
        A sample may lack the value.
    compress
        Zstd, where there is a payload: True, or a level from 1 to 22.
    """

    type_name: ClassVar[str] = "ndarray"
    dtype: Any
    shape: Sequence[int | None] | int
    along: str | None = None
    form: str | None = None

    def arguments(self) -> dict[str, Any]:
        out = {"dtype": dtype_text(self.dtype), "shape": _dims(self.shape)}
        return out | {name: getattr(self, name) for name in ("along", "form") if getattr(self, name) is not None}


def _dims(shape: Any) -> list[int | None]:
    """A shape as a schema has it; one number is one dimension, as in NumPy."""
    try:
        dims = [None if d is None else operator.index(d) for d in ((shape,) if hasattr(shape, "__index__") else shape)]
    except TypeError:
        raise SchemaError(f"shape={shape!r}: it is a tuple of integers, with None where they vary") from None
    return [None if d is None or d < 0 else d for d in dims]


def _descr(dtype: np.dtype[Any]) -> list[Any]:
    """NumPy's descr with lists for tuples, as JSON has it."""
    if dtype.names is None:
        base, shape = dtype.subdtype if dtype.subdtype else (dtype, ())
        return [["", base.newbyteorder("<").str, list(shape)]]

    def members(descr: Any) -> list[Any]:
        return [
            [m[0], members(m[1]) if isinstance(m[1], list) else m[1], *([list(m[2])] if len(m) > 2 else [])]
            for m in descr
        ]

    return members(np.lib.format.dtype_to_descr(dtype.newbyteorder("<")))  # type: ignore[no-untyped-call]


@dataclass(frozen=True)
class Struct(Field):
    """A record of named members, or a small array of fixed shape, kept in the row itself (type "inline", at most 4
    KiB).

    Parameters
    ----------
    dtype
        Whatever np.dtype takes.
    nullable
        A sample may lack the value.
    compress
        Zstd, where there is a payload: True, or a level from 1 to 22.

    Examples
    --------
    >>> Struct([("x", "f4"), ("y", "f4")]).arguments()
    {'descr': [['x', '<f4'], ['y', '<f4']]}
    >>> Struct(("f4", (4,))).arguments()
    {'descr': [['', '<f4', [4]]]}
    """

    type_name: ClassVar[str] = "inline"
    dtype: Any

    def arguments(self) -> dict[str, Any]:
        try:
            return {"descr": _descr(np.dtype(self.dtype))}
        except (TypeError, ValueError) as error:
            raise SchemaError(f"Struct({self.dtype!r}): {error}") from None


@dataclass(frozen=True)
class AudioSpectrogram(Field):
    """Features of a recording: numbers for each frame and band, an array (frames, bins) or (bins, frames).

    Parameters
    ----------
    dtype
        "float16" or "float32".
    bins
        Bands of every value; None: they differ.
    layout
        "tf": (frames, bins), "ft": (bins, frames).
    rate
        Samples a second of the recordings that they were made from.
    hop
        Samples from one frame to the next.
    pipeline
        The steps that made them, as text, so that they can be made again.
    nullable
        A sample may lack the value.
    compress
        Zstd, where there is a payload: True, or a level from 1 to 22.

    Examples
    --------
    >>> AudioSpectrogram("float16", 80).arguments()
    {'dtype': '<f2', 'layout': 'tf', 'bins': 80}
    """

    type_name: ClassVar[str] = "audio_spectrogram"
    dtype: Any = "float32"
    bins: int | None = None
    layout: str = "tf"
    rate: int | None = None
    hop: int | None = None
    pipeline: str | None = None

    def arguments(self) -> dict[str, Any]:
        out: dict[str, Any] = {"dtype": dtype_text(self.dtype), "layout": self.layout}
        given = {name: getattr(self, name) for name in ("bins", "rate", "hop", "pipeline")}
        return out | {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class CodecTokens(Field):
    """The ids that a neural codec made of a recording, an array (codebooks, frames).

    Parameters
    ----------
    vocabulary
        How many ids there are: up to 256 are stored as uint8, up to 65536 as uint16, more as int32.
    codebooks
        Of every value; None: they differ.
    rate
        Frames a second: a number, or (n, d) for n / d.
    nullable
        A sample may lack the value.
    compress
        Zstd, where there is a payload: True, or a level from 1 to 22.

    Examples
    --------
    >>> CodecTokens(1024, 8, rate=12.5).arguments()
    {'vocabulary': 1024, 'codebooks': 8, 'rate': [25, 2]}
    """

    type_name: ClassVar[str] = "audio_codec_tokens"
    vocabulary: int
    codebooks: int | None = None
    rate: float | tuple[int, int] | None = None

    def arguments(self) -> dict[str, Any]:
        out: dict[str, Any] = {"vocabulary": self.vocabulary}
        if self.codebooks is not None:
            out["codebooks"] = self.codebooks
        if self.rate is not None:
            pair = self.rate if isinstance(self.rate, tuple) else Fraction(self.rate).limit_denominator(10**6)
            out["rate"] = list(pair) if isinstance(pair, tuple) else [pair.numerator, pair.denominator]
        return out


@dataclass(frozen=True)
class Image(Field):
    """An image. By default a file's bytes are kept as they are, and arrays are stored raw.

    docs/guides/images.md has each in full.

    Parameters
    ----------
    encode
        "keep", "jpeg", "raw", "yuv420", "smart", "proportion" or "fast-jpeg".
    quality
        Of JPEG, 1 to 100.
    subsampling
        Of JPEG: "420", "422" or "444".
    smart_threshold
        Of "smart": images of at most so many bytes of pixels are stored raw, others as JPEG.
    compress_probability
        Of "proportion": the share of images that become JPEG.
    fast_limit
        Of "fast-jpeg": a JPEG that would become larger than so many times its size stays as it is.
    max_resolution
        The longer side is at most this; larger images are made smaller.
    min_resolution
        The shorter side is at most this; with both, the smaller result counts.
    orientation
        "record" EXIF's, or "apply" it to the pixels.
    icc
        "keep", "card" or "drop": what becomes of colour profiles.
    baseline
        True: progressive JPEG becomes baseline, without loss: quicker to decode.
    stored
        "any", "jpeg", "png" or "raw": what the field may hold.
    nullable
        A sample may lack the value.
    compress
        Zstd, where there is a payload: True, or a level from 1 to 22.
    """

    type_name: ClassVar[str] = "image"
    encode: str | None = None
    quality: int | None = None
    subsampling: str | None = None
    smart_threshold: int | None = None
    compress_probability: float | None = None
    fast_limit: float | None = None
    max_resolution: int | None = None
    min_resolution: int | None = None
    orientation: str | None = None
    icc: str | None = None
    baseline: bool | None = None
    stored: str = "any"

    def describe(self) -> dict[str, Any]:
        out = super().describe()
        if self.stored not in ("any", "jpeg", "png", "raw"):
            raise SchemaError(f"Image(stored={self.stored!r}): it is one of 'any', 'jpeg', 'png', 'raw'")
        out["type"] = "image" if self.stored == "any" else f"image_{self.stored}"
        return out

    def arguments(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in IMAGE_ARGUMENTS if getattr(self, name) is not None}


IMAGE_ARGUMENTS = tuple(name for name in Image.__annotations__ if name not in ("type_name", "stored"))
"""How images are stored: what :class:`Image` takes, and pack's image=."""


# ---- user-defined fields ----

FIRST_PRIVATE = 0x8000


@dataclass(frozen=True)
class CustomField(Field):
    """A field type of your own: bytes in the file, any object in Python.

    Parameters
    ----------
    nullable
        A sample may lack the value.
    compress
        Zstd, where there is a payload: True, or a level from 1 to 22.

    Examples
    --------
    >>> import mldf, os, tempfile
    >>> class Complexes(mldf.CustomField):
    ...     type_name = "org.example.complexes"
    ...     def encode(self, value):
    ...         return np.asarray(value, "<c16").tobytes()
    ...     def decode(self, data):
    ...         return np.frombuffer(data, "<c16")
    >>> path = os.path.join(tempfile.mkdtemp(), "c.mldf")
    >>> with mldf.Writer(path, {"z": Complexes()}) as w:
    ...     w.append({"z": [1 + 2j, 3]})
    >>> mldf.open(path)[0].z
    array([1.+2.j, 3.+0.j])

    ``type_name`` is like a reversed domain name. ``type_id`` is the number in the file, 0x8000 to 0xffff; without one
    it is made from the name. encode runs when a sample is appended, decode when it is read, both in Python: no thread
    of the library calls them. In a :class:`mldf.Loader` threads read and decompress the bytes, and next() decodes them:
    decode for each sample, or decode_batch for all of them, then collate for the batch. A program that reads such a
    file registers the class first (:func:`register_field`); a Writer does it by itself. Arguments that a field has
    (dataclass members, say) go through ``arguments()`` into the file and come back to ``from_arguments``.
    """

    type_name: ClassVar[str] = ""
    type_id: ClassVar[int] = 0

    def encode(self, value: Any) -> bytes:
        """The bytes to store.

        Parameters
        ----------
        value
            What ``append`` was given.
        """
        raise NotImplementedError

    def decode(self, data: bytes) -> Any:
        """The value that was stored.

        Parameters
        ----------
        data
            The bytes that ``encode`` made.
        """
        raise NotImplementedError

    def decode_batch(self, records: list[bytes]) -> Any:
        """The values of a batch of a Loader. To be overridden where many at once are quicker than one by one; may give
        one array, the samples along its first dimension. Like decode it runs in next(), never on the library's threads.

        Parameters
        ----------
        records
            What ``encode`` made of each sample, nulls left out.
        """
        return [self.decode(item) for item in records]

    def collate(self, values: list[Any]) -> Any:
        """A Loader's batch: arrays, tensors and numbers that all have one shape and dtype are stacked, all else stays a
        list. Override it where batches should look alike whatever is in them.

        Parameters
        ----------
        values
            What was decoded, None for nulls.
        """
        from .collate import stacked

        return stacked(values)

    @classmethod
    def from_arguments(cls, arguments: Mapping[str, Any]) -> CustomField:
        """The field of a file that is read.

        Parameters
        ----------
        arguments
            What ``arguments()`` gave.
        """
        return cls(**arguments)

    @classmethod
    def number(cls) -> int:
        """The type's number in the file."""
        return cls.type_id or FIRST_PRIVATE + zlib.crc32(cls.type_name.encode()) % FIRST_PRIVATE


_registry: dict[int, type[CustomField]] = {}


def register_field(cls: type[CustomField]) -> type[CustomField]:
    """Makes a user-defined type known, so that files with it can be read. Also a class decorator.

    Parameters
    ----------
    cls
        A class derived from :class:`mldf.CustomField`.
    """
    name, number = cls.type_name, cls.number()
    if not isinstance(name, str) or "." not in name:
        raise SchemaError(f"{cls.__name__}.type_name is {name!r}; it is like 'org.example.name'")
    if not FIRST_PRIVATE <= number <= 0xFFFF:
        raise SchemaError(f"{cls.__name__}.type_id is {number:#x}; it is {FIRST_PRIVATE:#x} to 0xffff, or 0")
    for known, other in _registry.items():
        if known == number and other.type_name != name:
            raise SchemaError(f"{name} and {other.type_name} have the same number {number:#x}; give one a type_id")
        if known == number and other is not cls and not _same_class(other, cls):
            raise SchemaError(
                f"{name} is registered already, by {other.__module__}.{other.__qualname__}: "
                "another class cannot have its name"
            )
        if known != number and other.type_name == name:
            raise SchemaError(f"{name} is registered with the number {known:#x}, and here it has {number:#x}")
    others = [known for known in registered_types() if known[0] != number]
    _mldf.check_schema('{"fields":[{"name":"x","type":"int"}]}', [*others, (number, name)])  # or it would fail later
    _registry[number] = cls
    return cls


def _same_class(a: type, b: type) -> bool:
    """One class, defined twice (a module loaded again, a cell of a notebook that ran twice), or made from it."""
    related = issubclass(a, b) or issubclass(b, a)
    return related or (a.__module__, a.__qualname__) == (b.__module__, b.__qualname__)


def registered_types() -> list[tuple[int, str]]:
    """(id, name) of every registered type, for the library."""
    return [(number, cls.type_name) for number, cls in _registry.items()]


def registered(number: int) -> type[CustomField] | None:
    """The class of a type's number."""
    return _registry.get(number)


# ---- schemas ----

Fields = Union[Mapping[str, Union[Field, str, Mapping[str, Any]]], Sequence[Mapping[str, Any]], str]
"""What says which fields a dataset has: name to Field (or type name, or dict, or int, float, bool, str, bytes), a list
of such pairs, a list of dicts as in a schema file, or JSON text.
"""

_PYTHON: dict[Any, Field] = {bool: Int("bool"), int: Int(), float: Float(), str: Text(), bytes: Bytes()}


def _entry(name: str, field: Any) -> dict[str, Any]:
    if isinstance(field, type) and field in _PYTHON:
        field = _PYTHON[field]
    if isinstance(field, CustomField):
        register_field(type(field))
    if isinstance(field, Field):
        try:
            return {"name": name, **field.describe()}
        except SchemaError as error:
            error.field = error.field or name
            raise
    if isinstance(field, type) and issubclass(field, Field):
        return _entry(name, field())
    if isinstance(field, str):
        return {"name": name, "type": field}
    if isinstance(field, Mapping):
        return {"name": name, **field}
    raise SchemaError(
        f"field {name!r}: {field!r} is neither a field like mldf.Int() nor a type's name nor a dict", field=name
    )


def _shown(fields: Any) -> str:
    return repr(fields)[:60] if isinstance(fields, Sequence) else f"a {type(fields).__name__}"


def _number(value: Any) -> Any:
    """NumPy's numbers in JSON."""
    if isinstance(value, (np.bool_, np.integer, np.floating)):
        return value.item()
    raise SchemaError(f"a schema has no place for a {type(value).__name__}: {value!r:.60}")


def _dumped(schema: Any) -> str:
    try:
        return json.dumps(schema, default=_number)
    except (TypeError, ValueError, RecursionError) as error:
        raise SchemaError(f"the schema is no JSON: {error}") from None


def schema_json(fields: Any) -> str:
    """The JSON text of a schema, checked. Raises :class:`mldf.errors.SchemaError` where it makes no sense.

    Parameters
    ----------
    fields
        As :class:`mldf.Writer` takes them: a dict of name to field, a schema, or its JSON text.

    Examples
    --------
    >>> schema_json({"label": "int", "score": Float(nullable=True)})
    '{"fields":[{"name":"label","type":"int"},{"name":"score","type":"float","nullable":true}]}'
    """
    if hasattr(fields, "to_json"):
        text = str(fields.to_json())
    elif isinstance(fields, str):
        text = fields
    elif isinstance(fields, Mapping) and "fields" in fields and isinstance(fields["fields"], (list, tuple)):
        text = _dumped(fields)
    elif isinstance(fields, Mapping):
        text = _dumped({"fields": [_entry(str(name), field) for name, field in fields.items()]})
    elif isinstance(fields, Sequence) and all(isinstance(f, (tuple, list)) and len(f) == 2 for f in fields):
        text = _dumped({"fields": [_entry(str(name), field) for name, field in fields]})
    elif isinstance(fields, Sequence) and all(isinstance(f, Mapping) for f in fields):
        text = _dumped({"fields": [dict(field) for field in fields]})
    else:
        raise SchemaError(f"fields are a dict of name to field, not {_shown(fields)}")
    return _mldf.check_schema(text, registered_types())
