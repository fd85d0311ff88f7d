"""The files of a dataset, and which of their fields its samples have. dataset.py is what users see of it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from . import _mldf
from .audio import Recording
from .errors import ArgumentError, CorruptError, SchemaError, WrongTypeError
from .fields import registered_types
from .limits import flag, whole_or_none
from .multimodal import multimodal_decoder
from .paths import encode
from .sample import sample_type
from .schema import AUDIO, COMPRESSED_AUDIO, JSON, MULTIMODAL, VIDEO_COMPRESSED, VIDEO_FRAMES, FieldInfo, Schema
from .video import video_decoder

__all__ = ["Files", "View", "field_list"]


class Files:
    """The open files of a dataset and their common schema."""

    def __init__(self, paths: list[str], options: dict[str, Any], only: Sequence[str] | None = None) -> None:
        self.paths = paths
        self.options = options
        self.only = only if len(paths) > 1 else None  # the fields that must be alike; None: all
        types = registered_types()
        self.readers = [_mldf.open_reader(encode(p), options, types) for p in paths]
        self.schemas = [Schema.from_reader(r.fields()) for r in self.readers]
        self.infos = [r.info() for r in self.readers]
        self.schema = _common(self.schemas, self.infos, paths, self.only)
        self.starts = [0]
        for info in self.infos:
            self.starts.append(self.starts[-1] + info["num_samples"])
        self.count = self.starts.pop()
        self.has_keys = self.count > 0 and all(i["has_keys"] for i in self.infos if i["num_samples"])
        self.closed = False

    def close(self) -> None:
        """Views of the files stay valid."""
        self.closed = True
        for reader in self.readers:
            reader.close()


def _family(field: FieldInfo) -> tuple[Any, ...]:
    """What must be equal for two files to be one dataset: how images were encoded does not matter."""
    return ("image",) if field.is_image else (field.type_id, json.dumps(field.arguments, sort_keys=True))


def _common(schemas: list[Schema], infos: list[dict[str, Any]], paths: list[str], only: Sequence[str] | None) -> Schema:
    if len(schemas) == 1:
        return schemas[0]
    if only is not None:
        schemas = [Schema([field for name, field in s.items() if name in only]) for s in schemas]
    out = dict(schemas[0].items())
    archives = all(i["format"] == "tar" for i in infos)  # which may lack fields
    for schema, path in zip(schemas, paths):
        for name, field in schema.items():
            if name in out and _family(out[name]) != _family(field):
                raise SchemaError(f"{path}: field {name!r} is {field}, and in {paths[0]} it is {out[name]}", field=name)
            if name not in out and not archives:
                raise SchemaError(f"{path}: field {name!r} is not in {paths[0]}", field=name)
            out.setdefault(name, field)
        missing = [name for name in out if name not in schema]
        if missing and not archives:
            raise SchemaError(f"{path}: there is no field {missing[0]!r}, which {paths[0]} has", field=missing[0])
    # An empty archive has no fields, and lacks none.
    filled = [s for s, i in zip(schemas, infos) if i["num_samples"] or i["format"] != "tar"]
    return Schema([_nullable(field) if _lacks(filled, name) else field for name, field in out.items()])


def _lacks(schemas: list[Schema], name: str) -> bool:
    return any(name not in s or s[name].nullable for s in schemas)


def _nullable(field: FieldInfo) -> FieldInfo:
    return dataclasses.replace(field, nullable=True)


# ---- views ----


def field_list(fields: Any) -> list[str] | None:
    """Names of fields as a list; None: all."""
    if fields is None:
        return None
    if isinstance(fields, str):
        raise ArgumentError(f"fields={fields!r}: a list of names is needed, [{fields!r}]")
    if not isinstance(fields, Iterable):
        raise WrongTypeError(f"fields={fields!r}: a list of names is needed")
    out = list(fields)
    for i, name in enumerate(out):
        if not isinstance(name, str):
            raise WrongTypeError(f"fields: {name!r} is not a name")
        if name in out[:i]:
            raise ArgumentError(f"fields: {name!r} is there twice")
    return out


class View:
    """Which fields of the files a sample has, and how they are decoded."""

    def __init__(
        self, files: Files, fields: Sequence[str] | None, decode: bool, channels: int | None, orient: bool
    ) -> None:
        fields = field_list(fields)
        channels = whole_or_none("channels", channels)
        if channels not in (None, 0, 1, 3, 4):
            raise ArgumentError(f"channels={channels!r}: it is 1, 3, 4 or None")
        self.files = files
        self.fields = list(files.schema) if fields is None else list(fields)
        self.decode, self.channels, self.orient = flag("decode", decode), channels, flag("orient", orient)
        self.schema = Schema([files.schema[name] for name in self.fields])
        self.slots = {name: i for i, name in enumerate(self.fields)}
        self.sample_type = sample_type(tuple(self.fields))
        self.plans = [self._plan(reader, schema) for reader, schema in zip(files.readers, files.schemas)]

    def _plan(self, reader: _mldf.Reader, schema: Schema) -> _mldf.Plan:
        numbers = {name: i for i, name in enumerate(schema)}
        slots = [
            (numbers.get(f.name, -1), self.decode, f.dtype, _decoder(f, self.decode)) for f in self.schema.values()
        ]
        return _mldf.plan(reader, slots, self.sample_type, self.channels or 0, self.orient)

    def slot(self, name: str) -> int:
        """The place of a field in a sample."""
        try:
            return self.slots[name]
        except KeyError:
            self.schema[name]  # raises, and names the nearest
            raise


def _decoder(field: FieldInfo, decode: bool) -> Callable[..., Any] | None:
    if field.type_id == JSON:
        return _from_json
    if decode and field.type_id in (AUDIO, COMPRESSED_AUDIO) and field.known:
        return Recording
    if field.type_id in (VIDEO_FRAMES, VIDEO_COMPRESSED) and field.known:
        return video_decoder(field)
    if field.type_id == MULTIMODAL and field.known:
        return multimodal_decoder(field, decode)
    return field.custom.decode if field.custom is not None else None


def _from_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CorruptError(f"the text is no JSON that Python reads: {error}") from None
