"""Recordings: the field type, and what a Writer takes for it.

>>> import mldf, numpy as np, os, tempfile
>>> path = os.path.join(tempfile.mkdtemp(), "a.mldf")
>>> with mldf.Writer(path, {"audio": mldf.Audio(rate=16000), "text": "text"}) as w:
...     w.append({"audio": np.zeros(16000, np.int16), "text": "a second of silence"})
>>> mldf.open(path)[0].audio.shape
(16000, 1)
>>> recording = mldf.open(path)[0].audio  # an mldf.Recording
>>> wave, rate = recording
>>> wave.shape, rate, recording.window(0.5, 0.75).shape
((1, 16000), 16000, (1, 4000))
>>> with mldf.Writer(path, {"audio": mldf.CompressedAudio(rate=16000, encode="flac")}, overwrite=True) as w:
...     w.append({"audio": np.zeros(16000, np.int16)})
>>> int(mldf.open(path).rows["audio"]["size"][0]) < 1000
True
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .errors import RangeError
from .fields import Field
from .foreign import from_tensor, is_gone, is_tensor, missing, read_file, unmasked, wrong
from .schema import FieldInfo

__all__ = ["Audio", "CompressedAudio", "Recording"]

DTYPES = ("uint8", "int16", "int32", "float32", "float64")


@dataclass(frozen=True)
class Audio(Field):
    """A recording, stored as PCM: any window of it can be read alone.

    A Writer takes the path or bytes of a WAV file (PCM of 8 to 32 bits, float, A-law, mu-law) or of a compressed file,
    which it decodes, and arrays (t) or (t, channels) of int16, int32, float32, float64 or uint8; torch tensors are
    (channels, t). Reading gives an array (t, channels) of the stored dtype, and float32 where NumPy has none: 24 bits,
    A-law, mu-law. docs/guides/audio.md has more.

    Parameters
    ----------
    rate
        Samples a second of every recording; arrays need it, since they do not say theirs.
    channels
        Of every recording.
    mask
        Which loudspeaker each channel is for, as WAV files count them.
    nullable
        A sample may lack the recording.
    compress
        Zstd: True, or a level from 1 to 22.
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

    A Writer takes what it takes for :class:`Audio`, and stores compressed files without encoding them again. Reading
    gives an array (t, channels) of float32; rows of PCM as :class:`Audio` does.

    Parameters
    ----------
    rate, channels, mask
        As of :class:`Audio`.
    encode
        "keep" (None): files stay what they are; "flac": PCM becomes FLAC; "opus": all becomes Opus.
    bitrate
        Of Opus, in bits a second.
    decode
        False: samples are counted from headers, and nothing is decoded when writing.
    keep_file
        Store the whole file where its packets do not give it back.
    nullable
        A sample may lack the recording.
    compress
        Zstd: True, or a level from 1 to 22.
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


class Recording(np.lib.mixins.NDArrayOperatorsMixin):
    """A recording of a dataset: ``wave, rate = ds[0].audio``. Nothing is decoded before it is asked for.

    ``wave`` is float32 of shape (channels, t), and ``rate`` samples a second. ``window(t0, t1)`` reads that part alone.
    It is an array too, of shape (t, channels): the stored numbers, or float32 where NumPy has none of that kind (24
    bits, A-law, mu-law, packets); ``len``, slices, arithmetic and NumPy's functions work on them.

    Parameters
    ----------
    reader, field, sample
        Where it is.
    samples, rate, channels, bits
        As its record says.
    codec
        Its name.
    array
        The samples, when no file is given.
    """

    __slots__ = ("_array", "_field", "_reader", "_sample", "bits", "channels", "codec", "rate", "samples")

    def __init__(
        self,
        reader: Any,
        field: int,
        sample: int,
        samples: int,
        rate: int,
        channels: int,
        bits: int,
        codec: str,
        array: npt.NDArray[Any] | None = None,
    ) -> None:
        self._reader, self._field, self._sample, self._array = reader, field, sample, array
        self.samples = samples
        """Instants; each has a number for each channel."""
        self.rate = rate
        """Samples a second."""
        self.channels = channels
        """Of every sample."""
        self.bits = bits
        """Of a number as it is stored; 0 of lossy codecs."""
        self.codec = codec
        """"pcm", "float", "flac", "mp3", "opus" ..."""

    @property
    def seconds(self) -> float:
        """How long it is."""
        return self.samples / self.rate

    @property
    def numbers(self) -> npt.NDArray[Any]:
        """All of it, (t, channels), decoded once: as stored, or as float32 where NumPy has no such numbers."""
        if self._array is None:
            self._array = self._reader.recording(self._field, self._sample)
        return self._array

    @property
    def wave(self) -> npt.NDArray[np.float32]:
        """All of it, float32 (channels, t), from -1 to 1."""
        return self._part(0, self.samples)

    def _part(self, begin: int, count: int) -> npt.NDArray[np.float32]:
        if self._reader is not None:
            return self._reader.window(self._field, self._sample, begin, count)  # type: ignore[no-any-return]
        part = self.numbers[begin : begin + count].T
        if part.dtype.kind in "iu":
            shift = 128 if part.dtype == np.uint8 else 0
            return (part.astype(np.float64) - shift).astype(np.float32) / np.float32(2.0 ** (8 * part.itemsize - 1))
        return np.ascontiguousarray(part, np.float32)

    def window(self, t0: float, t1: float | None = None) -> npt.NDArray[np.float32]:
        """Seconds from `t0` to `t1` (None: its end) as float32 (channels, n); only they are read and decoded.

        Parameters
        ----------
        t0, t1
            Rounded to samples; a part that is not in the recording is refused.
        """
        begin = math.floor(t0 * self.rate + 0.5)
        end = self.samples if t1 is None else math.floor(t1 * self.rate + 0.5)
        if not 0 <= begin <= end <= self.samples:
            raise RangeError(f"seconds {t0} to {t1} of a recording of {self.seconds:g} s")
        return self._part(begin, end - begin)

    # ---- as an array (t, channels) ----

    @property
    def shape(self) -> tuple[int, int]:
        """(t, channels)"""
        return self.samples, self.channels

    @property
    def ndim(self) -> int:
        """2"""
        return 2

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of :attr:`numbers`."""
        kinds = {("pcm", 8): "u1", ("pcm", 16): "<i2", ("pcm", 32): "<i4", ("float", 64): "<f8"}
        return np.dtype(kinds.get((self.codec, self.bits), "<f4"))

    def __iter__(self) -> Iterator[Any]:
        yield self.wave
        yield self.rate

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: Any) -> Any:
        return self.numbers[index]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.numbers, dtype) if copy else np.asarray(self.numbers, dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [x.numbers if isinstance(x, Recording) else x for x in inputs]
        return getattr(ufunc, method)(*plain, **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.numbers, name)

    def __reduce__(self) -> tuple[Any, ...]:
        known = (self.samples, self.rate, self.channels, self.bits, self.codec)
        return Recording, (None, 0, 0, *known, np.array(self.numbers))

    def __repr__(self) -> str:
        return f"Recording({self.seconds:.2f} s, {self.rate} Hz, {self.channels} channels, {self.codec})"


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


def _again(field: FieldInfo, value: Recording) -> Any:
    """A recording of another dataset: its numbers, at the rate that both must have."""
    if field.arguments.get("rate", value.rate) != value.rate:
        raise RangeError(
            f"field {field.name!r}: a recording of {value.rate} samples a second, and the field's rate is "
            f"{field.arguments['rate']}",
            field=field.name,
        )
    return _samples(field, value.numbers)


def audio_converter(field: FieldInfo) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        if isinstance(value, Recording):
            return _again(field, value)
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
