"""Samples of several parts in document order: interleaved text and images, questions with images, pages with boxes.

>>> import mldf, numpy as np, os, tempfile
>>> path = os.path.join(tempfile.mkdtemp(), "docs.mldf")
>>> kinds = mldf.Multimodal({"text": mldf.Text(), "image": mldf.Image()})
>>> with mldf.Writer(path, {"doc": kinds}) as w:
...     w.append({"doc": [("text", "a cat:"), ("image", np.zeros((8, 6, 3), np.uint8)), ("text", "and nothing else")]})
>>> doc = mldf.open(path)[0].doc
>>> [part.role for part in doc], doc[0].value, doc[1].value.shape
(['text', 'image', 'text'], 'a cat:', (8, 6, 3))
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from . import _mldf
from .audio import Recording
from .errors import ArgumentError, CorruptError, Error, RangeError, SchemaError
from .fields import Field
from .foreign import is_gone, missing, wrong
from .schema import AUDIO, COMPRESSED_AUDIO, JSON, MULTIMODAL, VIDEO_COMPRESSED, VIDEO_FRAMES, FieldInfo, Schema
from .suggest import near
from .video import Video

__all__ = ["Multimodal", "SamplePart"]

COLUMNS = ("kinds", "groups", "begins", "lengths", "heights", "widths")
"""Outputs that are made of the table of parts itself."""


@dataclass(frozen=True)
class Multimodal(Field):
    """Parts of several kinds, any number of each, in document order.

    A Writer takes a list of :class:`SamplePart`, of tuples (role, value) or (role, value, group, begin), or of dicts
    with one role; a value is what a field of that kind takes, and None is a part that is missing. Reading gives a list
    of SamplePart. A loader's pipelines name parts: ``doc.image`` is all images of all samples one after the other, with
    ``doc.image_offset``; ``doc.image[0]`` the first of each sample. docs/guides/multimodal.md has more.

    Parameters
    ----------
    parts
        Role → field: the kinds that parts may be of. 1 to 32; numbers, bytes, arrays, JSON, images, audio, video, text
        and tokens. A video is a part as frames (VideoFrames) or as packets (CompressedVideo).
    nullable
        A sample may lack the whole list.
    compress
        Without effect: parts stay as they are, so that each can be read alone.

    Examples
    --------
    >>> from mldf import Image, Text
    >>> Multimodal({"text": Text(), "image": Image(encode="jpeg")}).arguments()["parts"][1]
    {'role': 'image', 'type': 'image', 'arguments': {'encode': 'jpeg'}}
    """

    type_name: ClassVar[str] = "multimodal"
    """As a schema file has it."""
    parts: Mapping[str, Field] = dataclass_field(default_factory=dict)

    def arguments(self) -> dict[str, Any]:
        """The kinds, as files list them."""
        if not isinstance(self.parts, Mapping):
            raise SchemaError(f"Multimodal: parts are a dict of role to field, not a {type(self.parts).__name__}")
        kinds = []
        for role, kind in self.parts.items():
            if not isinstance(kind, Field):
                raise SchemaError(
                    f"Multimodal: role {role!r} is a {type(kind).__name__}, not a field like mldf.Image()"
                )
            if kind.nullable or kind.compress:
                raise SchemaError(
                    f"Multimodal: role {role!r} has nullable= or compress=; any part may be None, and parts are stored"
                    " as they are, so that each can be read alone"
                )
            described = kind.describe()
            entry: dict[str, Any] = {"role": role, "type": described.pop("type")}
            if described:
                entry["arguments"] = described
            kinds.append(entry)
        return {"parts": kinds}


class SamplePart(NamedTuple):
    """One part of a multimodal sample.

    >>> SamplePart("text", "a cat", group=1).role
    'text'
    """

    role: str
    """Which kind it is of."""
    value: Any
    """As a field of that kind has it; None: it is missing."""
    group: int = 0
    """Yours: parts that belong together have the same number. 0 to 2**32 - 1."""
    begin: int = 0
    """Yours: a time or a character where the part begins."""


def kinds_of(info: FieldInfo) -> Schema:
    """The kinds of a field, as fields of a schema of their own."""
    return Schema.from_reader(_mldf.parts_schema(json.dumps(info.arguments)))


def is_part(name: str, fields: Mapping[str, FieldInfo]) -> bool:
    """Is it ``doc.image`` or ``doc.image[0]``, of a multimodal field of these?"""
    for i, letter in enumerate(name):
        owner = name[:i]
        if letter == "." and owner in fields and fields[owner].type_id == MULTIMODAL and fields[owner].known:
            role = name[i + 1 :].partition("[")[0]
            return role in COLUMNS or any(kind["role"] == role for kind in fields[owner].arguments["parts"])
    return False


# ---- writing ----


def _as_part(info: FieldInfo, number: int, value: Any) -> SamplePart:
    if isinstance(value, SamplePart):
        return value
    if isinstance(value, tuple) and 2 <= len(value) <= 4 and isinstance(value[0], str):
        return SamplePart(*value)
    if isinstance(value, Mapping) and len(value) == 1:
        role, inner = next(iter(value.items()))
        return SamplePart(role, inner)
    raise wrong(info, value, f"a part (number {number}): mldf.SamplePart, (role, value) or {{role: value}}")


def multimodal_converter(
    info: FieldInfo, converter: Callable[[FieldInfo], Callable[[Any], Any]]
) -> Callable[[Any], Any]:
    """What makes a field's values ready; converter does it for the kinds."""
    kinds = kinds_of(info)
    numbers = {role: i for i, role in enumerate(kinds)}
    makers = {role: converter(replace(kind, name=f"{info.name}.{role}")) for role, kind in kinds.items()}
    arguments = json.dumps(info.arguments)

    def one(number: int, value: Any) -> tuple[int, int, int, Any]:
        part = _as_part(info, number, value)
        if part.role not in makers:
            hint = near(str(part.role), makers)
            raise ArgumentError(f"field {info.name!r}, part {number}: no role {part.role!r}{hint}", field=info.name)
        if not 0 <= int(part.group) < 2**32 or not -(2**63) <= int(part.begin) < 2**63:
            raise RangeError(
                f"field {info.name!r}, part {number}: group {part.group} or begin {part.begin} is out of range",
                field=info.name,
            )
        try:
            ready = None if part.value is None else makers[part.role](part.value)
        except Error as error:
            error.add_note(f"part {number} of field {info.name!r}")
            raise
        return numbers[part.role], int(part.group), int(part.begin), ready

    def convert(value: Any) -> Any:
        if value is None or is_gone(value):
            return missing(info)
        if isinstance(value, (str, bytes, Mapping)) or not hasattr(value, "__iter__"):
            raise wrong(info, value, "a list of parts")
        return _mldf.parts_list(arguments, tuple(one(i, part) for i, part in enumerate(value)))

    return convert


# ---- reading ----


def _object(kind: FieldInfo, value: Any, record: bytes) -> Any:
    """A part's value as a field of its kind has it."""
    if value is None:
        return None
    if kind.type_id == JSON:
        try:
            return json.loads(value)
        except (ValueError, RecursionError) as error:
            raise CorruptError(f"the text is no JSON that Python reads: {error}") from None
    if kind.type_id in (VIDEO_FRAMES, VIDEO_COMPRESSED):
        return Video(kind, np.frombuffer(value, np.uint8), record)
    if kind.type_id in (AUDIO, COMPRESSED_AUDIO):
        if isinstance(value, np.ndarray):
            stored = value
            _, samples, rate, channels, bits, codec = _mldf.parts_audio(record, np.ascontiguousarray(value))
        else:
            numbers, samples, rate, channels, bits, codec = _mldf.parts_audio(record, value)
            stored = np.frombuffer(numbers, np.float32).reshape(samples, channels)
        return Recording(None, 0, 0, samples, rate, channels, bits, codec, stored)
    return value


def multimodal_decoder(info: FieldInfo, decode: bool) -> Callable[[Any, bytes], list[SamplePart]]:
    """What makes a list of parts of a stored value."""
    kinds = list(kinds_of(info).values())
    arguments = json.dumps(info.arguments)

    def make(payload: Any, record: bytes) -> list[SamplePart]:
        out = []
        for number, group, begin, value, stored in _mldf.parts_get(arguments, record, payload, decode):
            out.append(SamplePart(kinds[number].name, _object(kinds[number], value, stored), group, begin))
        return out

    return make
