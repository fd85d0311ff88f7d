"""Recordings: the field type, and what a Writer takes for it.

>>> import mldf, numpy as np, os, tempfile
>>> path = os.path.join(tempfile.mkdtemp(), "a.mldf")
>>> with mldf.Writer(path, {"audio": mldf.Audio(rate=16000), "text": "text"}) as w:
...     w.append({"audio": np.zeros(16000, np.int16), "text": "a second of silence"})
>>> mldf.open(path)[0].audio.shape
(16000, 1)
>>> with mldf.Writer(path, {"audio": mldf.CompressedAudio(rate=16000, encode="flac")}, overwrite=True) as w:
...     w.append({"audio": np.zeros(16000, np.int16)})
>>> int(mldf.open(path).rows["audio"]["size"][0]) < 1000
True

nullable  a sample may lack the recording
compress  zstd: True, or a level from 1 to 22
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .errors import RangeError
from .fields import Field
from .foreign import from_tensor, is_gone, is_tensor, missing, read_file, unmasked, wrong
from .schema import FieldInfo

__all__ = ["Audio", "CompressedAudio"]

DTYPES = ("uint8", "int16", "int32", "float32", "float64")


@dataclass(frozen=True)
class Audio(Field):
    """A recording, stored as PCM: any window of it can be read alone.

    rate      samples a second of every recording; arrays need it, since they do not say theirs
    channels  of every recording
    mask      which loudspeaker each channel is for, as WAV files count them

    A Writer takes the path or bytes of a WAV file (PCM of 8 to 32 bits, float, A-law, mu-law) or of a compressed file,
    which it decodes, and arrays (t) or (t, channels) of int16, int32, float32, float64 or uint8; torch tensors are
    (channels, t). Reading gives an array (t, channels) of the stored dtype, and float32 where NumPy has none: 24 bits,
    A-law, mu-law. docs/guides/audio.md has more.
    """

    type_name: ClassVar[str] = "audio_waveform"
    rate: int | None = None
    channels: int | None = None
    mask: int | None = None

    def arguments(self) -> dict[str, Any]:
        """Those that were given."""
        return {name: getattr(self, name) for name in ("rate", "channels", "mask") if getattr(self, name) is not None}


@dataclass(frozen=True)
class CompressedAudio(Field):
    """A recording, stored as packets (FLAC, MP3, Opus, Vorbis) or PCM: any window can be read alone.

    rate, channels, mask    as of :class:`Audio`
    encode     "keep" (None): files stay what they are; "flac": PCM becomes FLAC; "opus": all becomes Opus
    bitrate    of Opus, in bits a second
    decode     False: samples are counted from headers, and nothing is decoded when writing
    keep_file  store the whole file where its packets do not give it back

    A Writer takes what it takes for :class:`Audio`, and stores compressed files without encoding them again. Reading
    gives an array (t, channels) of float32; rows of PCM as :class:`Audio` does.
    """

    type_name: ClassVar[str] = "audio_compressed"
    rate: int | None = None
    channels: int | None = None
    mask: int | None = None
    encode: str | None = None
    bitrate: int | None = None
    decode: bool | None = None
    keep_file: bool | None = None

    def arguments(self) -> dict[str, Any]:
        """Those that were given."""
        names = ("rate", "channels", "mask", "encode", "bitrate", "decode", "keep_file")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


def _samples(field: FieldInfo, value: Any) -> Any:
    if value.dtype.name not in DTYPES:
        raise wrong(field, value, f"samples of {', '.join(DTYPES)}")
    if value.ndim not in (1, 2) or (value.ndim == 2 and value.shape[1] == 0):
        raise wrong(field, value, "recordings as (t) or (t, channels)")
    if "rate" not in field.arguments:
        raise wrong(
            field,
            value,
            "the bytes or path of an audio file",
            ": an array does not say its rate; give it to the field, as Audio(rate=16000)",
        )
    return np.ascontiguousarray(value, value.dtype.newbyteorder("="))


def _from_mapping(field: FieldInfo, value: Mapping[str, Any]) -> Any:
    """Hugging Face's: {"array", "sampling_rate"} when decoded, {"bytes", "path"} when not."""
    if value.get("array") is not None:
        rate = value.get("sampling_rate")
        if rate is not None and rate != field.arguments.get("rate", rate):
            raise RangeError(
                f"field {field.name!r}: a recording of {rate} samples a second, and the field's rate is "
                f"{field.arguments['rate']}",
                field=field.name,
            )
        return np.asarray(value["array"])
    found = value.get("bytes")
    return value.get("path") if found is None else found


def audio_converter(field: FieldInfo) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        if type(value) is bytes:
            return value
        if value is None:
            return missing(field)
        if isinstance(value, (str, os.PathLike)):
            return read_file(field, value)
        if is_tensor(value):  # torchaudio's order: channels first
            return _samples(field, from_tensor(field, value).T)
        if isinstance(value, np.ndarray):
            value = unmasked(field, value)
            return None if value is None else _samples(field, value)
        if isinstance(value, (bytearray, memoryview)):
            return bytes(value)
        if isinstance(value, Mapping) and not {"array", "bytes", "path"}.isdisjoint(value):
            return convert(_from_mapping(field, value))
        if is_gone(value):
            return missing(field)
        raise wrong(field, value, "a recording (an audio file's bytes or path, or an array (t) or (t, channels))")

    return convert
