"""Videos: the field type, what a Writer takes for it, and what reading gives.

>>> import mldf, numpy as np, os, tempfile
>>> path = os.path.join(tempfile.mkdtemp(), "v.mldf")
>>> with mldf.Writer(path, {"video": mldf.VideoFrames(mode="raw", fps=30)}) as w:
...     w.append({"video": np.zeros((90, 64, 64, 3), np.uint8)})
>>> video = mldf.open(path)[0].video
>>> len(video), video.seconds, video.frames([0, 5, -1]).shape
(90, 3.0, (3, 64, 64, 3))
>>> with mldf.Writer(path, {"video": mldf.VideoFrames(mode="image", pts=True)}, overwrite=True) as w:
...     w.append({"video": mldf.Frames([np.zeros((8, 8, 3), np.uint8)] * 3, fps=1000, pts=[0, 40, 85])})
>>> isinstance(mldf.open(path)[0].video, mldf.Video)
True
"""

from __future__ import annotations

import fractions
import json
import os
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from . import _mldf
from .arrays import to_dtype
from .errors import ArgumentError, RangeError
from .fields import Field, dtype_text
from .foreign import from_tensor, is_gone, is_tensor, missing, read_file, unmasked, wrong
from .schema import VIDEO_COMPRESSED, FieldInfo

__all__ = ["Frames", "OpticalFlow", "Video", "VideoFrames"]

PACKED = 80  # bytes in front of the payload of a video that is packed already
IMAGES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff")


@dataclass(frozen=True)
class VideoFrames(Field):
    """A video, stored frame by frame: any of its frames can be read alone.

    A Writer takes an array (frames, height, width, channels), the path of a folder of image files, a list of paths,
    bytes or arrays, and :class:`Frames`, which says the times too. Reading gives a :class:`Video`.

    Parameters
    ----------
    mode
        "jpeg" (None): JPEG files; "image": files of any image format; "raw": pixels.
    channels
        Of a frame as it is decoded: 1, 3 (None) or 4.
    bits
        Of a channel: 8 (None) or 16.
    pts
        Frames have times of their own; otherwise they are 1/fps seconds apart.
    fps
        Frames a second of arrays, which do not say theirs: a number or a fraction.
    encode
        "keep" (None): files stay what they are; "jpeg": frames become JPEG; "fast-jpeg": JPEGs that decode faster.
    quality
        Of JPEGs that are made, 1 to 100.
    nullable
        A sample may lack the video.
    compress
        Without effect: frames stay as they are, so that each can be read alone.
    """

    type_name: ClassVar[str] = "video_frames"
    mode: str | None = None
    channels: int | None = None
    bits: int | None = None
    pts: bool | None = None
    fps: float | fractions.Fraction | None = None
    encode: str | None = None
    quality: int | None = None

    def arguments(self) -> dict[str, Any]:
        """Those that were given."""
        names = ("mode", "channels", "bits", "pts", "encode", "quality")
        out = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        if self.fps is not None:
            out["fps"] = list(frame_rate(self.fps))
        return out


@dataclass(frozen=True)
class CompressedVideo(Field):
    """A video, stored as the packets of its codec (H.264, HEVC, VP9, AV1 and others), with its sound.

    A Writer takes the path or the bytes of a video file (MP4, MKV, WebM, MOV, AVI, MPEG-TS ...), and decodes it once
    to find its frames; nothing is encoded again. A :class:`Video` of packets is taken as it is. Reading gives
    a :class:`Video`. docs/guides/video.md has more.

    Parameters
    ----------
    audio
        False: sound is left out.
    nullable
        A sample may lack the video.
    compress
        Without effect: frames stay as they are, so that each can be read alone.

    Examples
    --------
    >>> CompressedVideo(audio=False).arguments()
    {'audio': False}
    """

    type_name: ClassVar[str] = "video_compressed"
    audio: bool | None = None

    def arguments(self) -> dict[str, Any]:
        """Those that were given."""
        return {} if self.audio is None else {"audio": self.audio}


@dataclass(frozen=True)
class OpticalFlow(Field):
    """How far each pixel of each frame moves: (dx, dy) in pixels.

    A Writer takes float32 arrays (frames, height, width, 2) or (height, width, 2), and the path or the bytes of a .flo
    file. NaN is kept: there the motion is not known. Reading gives float32 (frames, height, width, 2).

    Parameters
    ----------
    dtype
        How it is stored: "float16", or "int8" times a scale of each value's own (its largest number / 127).
    nullable
        A sample may lack the video.
    compress
        Without effect: frames stay as they are, so that each can be read alone.

    Examples
    --------
    >>> OpticalFlow("int8").arguments()
    {'dtype': '|i1'}
    """

    type_name: ClassVar[str] = "video_optical_flow"
    dtype: Any = "float16"

    def arguments(self) -> dict[str, Any]:
        """The dtype, as files say it."""
        return {"dtype": dtype_text(self.dtype)}


def frame_rate(fps: Any) -> tuple[int, int]:
    """Frames a second as a fraction of 32-bit numbers; 29.97 and the like are the 30000/1001 that they stand for."""
    try:
        value = fractions.Fraction(fps) if not isinstance(fps, (tuple, list)) else fractions.Fraction(fps[0], fps[1])
    except (TypeError, ValueError, ZeroDivisionError, OverflowError, IndexError):
        raise ArgumentError(
            f"fps={fps!r}: a number above 0, a fraction or (numerator, denominator) is needed"
        ) from None
    near = fractions.Fraction(round(value * 1001 / 1000) * 1000, 1001)
    if value.denominator != 1 and abs(near - value) < fractions.Fraction(1, 500):
        value = near
    value = value.limit_denominator(1_000_000)
    if not 0 < value.numerator < 2**32:
        raise ArgumentError(f"fps={fps!r}: it must be above 0 and below 2**32")
    return value.numerator, value.denominator


@dataclass(frozen=True)
class Frames:
    """Frames for a Writer, with their times.

    Parameters
    ----------
    frames
        Files (paths or bytes) or arrays (height, width, channels), one for each frame.
    fps
        frames a second; with pts: ticks a second.
    pts
        The tick that each frame is shown from, ascending; None: frame i is at tick i.
    """

    frames: Sequence[Any]
    fps: float | fractions.Fraction | tuple[int, int] = 1
    pts: Sequence[int] | None = None


class Video(Sequence[Any]):
    """A stored video: its frames are decoded when they are asked for.

    ``video[i]`` is frame i, ``video[2:10:2]`` some of them, ``np.asarray(video)`` all. Datasets make these objects.

    Parameters
    ----------
    field
        Of the dataset.
    payload
        The stored bytes.
    record
        The field's part of the row.
    """

    def __init__(self, field: FieldInfo, payload: npt.NDArray[np.uint8], record: bytes) -> None:
        self._load((field.type_id, json.dumps(field.arguments), record, payload))

    def _load(self, value: tuple[int, str, bytes, Any]) -> None:
        self._value = value
        info = _mldf.video_info(self._value)
        self._count, self.height, self.width, self.channels, self.bits = info[:5]
        self.tick = fractions.Fraction(info[5], info[6])
        """How long a tick lasts, in seconds."""
        self._timed = info[7]

    @classmethod
    def _packed(cls, arguments: str, made: tuple[bytes, bytes]) -> Video:
        video = cls.__new__(cls)
        video._load((VIDEO_COMPRESSED, arguments, made[0], memoryview(made[1])[PACKED:]))
        return video

    @classmethod
    def pack(cls, file: str | os.PathLike[str] | bytes, *, audio: bool = True) -> Video:
        """A video file (MP4, MKV ...) as it would be stored in a field :class:`mldf.CompressedVideo`, in memory.

        It is decoded once, to find its frames; a Writer takes the result as it is.

        Parameters
        ----------
        file
            Its path or its bytes.
        audio
            False: without its sound.
        """
        if not isinstance(file, bytes):
            with open(file, "rb") as f:
                file = f.read()
        arguments = "{}" if audio else '{"audio":false}'
        return cls._packed(arguments, _mldf.video_pack(arguments, file))

    def cut(self, first: int, end: int) -> Video:
        """Frames [first, end) as a video, without sound; nothing is decoded.

        Its packets begin with the key frame that the first frame needs. Videos in fields :class:`mldf.CompressedVideo`
        can be cut.

        Parameters
        ----------
        first
            The first frame.
        end
            The frame after the last.
        """
        if self._value[0] != VIDEO_COMPRESSED:
            raise ArgumentError("cut: the video is stored frame by frame, and not as packets")
        if not 0 <= first < end <= len(self):
            raise RangeError(f"cut: frames {first} to {end} of a video that has {len(self)}")
        return self._packed(self._value[1], _mldf.video_cut(self._value, first, end - first))

    def __len__(self) -> int:
        return int(self._count)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """(frames, height, width, channels)"""
        return len(self), self.height, self.width, self.channels

    @property
    def dtype(self) -> np.dtype[Any]:
        """uint8 or uint16."""
        return np.dtype(np.uint16 if self.bits == 16 else np.uint8)

    @property
    def ticks(self) -> npt.NDArray[np.int64]:
        """The tick that each frame is shown from."""
        return np.frombuffer(_mldf.video_times(self._value), np.int64)

    @property
    def pts(self) -> npt.NDArray[np.float64]:
        """The second that each frame is shown from."""
        ticks, tick = self.ticks, self.tick
        most = max(abs(int(ticks.min())), abs(int(ticks.max()))) if len(ticks) else 0
        if max(most * tick.numerator, tick.denominator) < 2**53:  # exact, so the quotient is the nearest number
            return np.asarray(ticks * tick.numerator / tick.denominator, np.float64)
        return np.asarray([float(int(t) * tick) for t in ticks], np.float64)

    @property
    def fps(self) -> fractions.Fraction | None:
        """Frames a second; None where frames have times of their own."""
        return None if self._timed else 1 / self.tick

    @property
    def seconds(self) -> float:
        """From the first frame to the end of the last, which lasts as long as the one before it where the file does not
        say it."""
        if self._value[0] == VIDEO_COMPRESSED:
            return float(struct.unpack_from("<Q", self._value[2], 40)[0] / 1e6)
        ticks = self.ticks
        if len(ticks) == 0:
            return 0.0
        last = int(ticks[-1] - ticks[-2]) if len(ticks) > 1 else 1
        return float((int(ticks[-1] - ticks[0]) + last) * self.tick)

    def frames(self, numbers: Iterable[int]) -> npt.NDArray[Any]:
        """Some frames, as an array (count, height, width, channels).

        Parameters
        ----------
        numbers
            Which; negative ones count from the end.
        """
        wanted = [int(number) for number in numbers]
        for number in wanted:
            if not -len(self) <= number < len(self):
                raise RangeError(f"no frame {number}: the video has {len(self)}")
        at = np.asarray([number % len(self) for number in wanted], np.uint64)
        return _mldf.video_decode(self._value, at.tobytes())

    def at(self, seconds: Iterable[float]) -> npt.NDArray[Any]:
        """The frames that are shown at some times: each the last one that does not begin later.

        Parameters
        ----------
        seconds
            The times.
        """
        return self.frames(_mldf.video_find(self._value, float(second)) for second in seconds)

    def file(self, number: int) -> bytes:
        """The stored bytes of a frame: an image file, or pixels.

        Parameters
        ----------
        number
            Which; a negative one counts from the end.
        """
        if not -len(self) <= number < len(self):
            raise RangeError(f"no frame {number}: the video has {len(self)}")
        return _mldf.video_frame(self._value, number % len(self))

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return self.frames(range(*key.indices(len(self))))
        if not -len(self) <= key < len(self):
            raise IndexError(f"no frame {key}: the video has {len(self)}")
        return self.frames([key])[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.asarray(self.frames(range(len(self))), dtype)

    def __repr__(self) -> str:
        rate = f", fps={self.fps}" if self.fps is not None else ""
        return f"Video(shape={self.shape}{rate})"


def video_decoder(field: FieldInfo) -> Callable[[Any, bytes], Video]:
    """What makes an object of a stored value."""
    return lambda payload, record: Video(field, payload, record)


# ---- writing ----


def _folder(field: FieldInfo, path: Any) -> list[str]:
    names = sorted(name for name in os.listdir(path) if name.lower().endswith(IMAGES))
    if not names:
        raise ArgumentError(f"field {field.name!r}: the folder {os.fspath(path)!r} holds no images")
    return [os.path.join(path, name) for name in names]


def _frame(field: FieldInfo, value: Any) -> bytes:
    """One frame as an image file."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, (str, os.PathLike)):
        return read_file(field, value)
    if is_tensor(value):
        value = from_tensor(field, value).transpose(1, 2, 0)
    if isinstance(value, np.ndarray):
        return _mldf.encode_image(np.ascontiguousarray(value), True, {})
    raise wrong(field, value, "a frame (an image file's bytes or path, or an array)")


def _list(field: FieldInfo, frames: Frames) -> bytes:
    """What mldf_video_list makes."""
    files = [_frame(field, value) for value in frames.frames]
    num, den = frame_rate(frames.fps)
    out = [b"mldfvfr1" + struct.pack("<IIII", len(files), frames.pts is not None, num, den)]
    out.append(np.cumsum([len(data) for data in files], dtype=np.uint64).tobytes())
    if frames.pts is not None:
        ticks = np.asarray(frames.pts, np.int64)
        if ticks.shape != (len(files),):
            raise RangeError(f"field {field.name!r}: {ticks.size} times for {len(files)} frames", field=field.name)
        out.append(ticks.tobytes())
    return b"".join(out + files)


def video_file_converter(field: FieldInfo) -> Callable[[Any], Any]:
    """Of a field that holds packets: files, and videos that are packed already."""

    def convert(value: Any) -> Any:
        if value is None or is_gone(value):
            return missing(field)
        if isinstance(value, Video) and value._value[0] == VIDEO_COMPRESSED:
            return b"mldfvpk1" + value._value[2] + bytes(value._value[3])
        if isinstance(value, (str, os.PathLike)):
            return read_file(field, value)
        if isinstance(value, (bytes, bytearray, memoryview)):
            return bytes(value)
        raise wrong(field, value, "a video (the path or the bytes of a file, or a Video that holds packets)")

    return convert


def video_converter(field: FieldInfo) -> Callable[[Any], Any]:
    rate = tuple(field.arguments.get("fps", (1, 1)))

    def convert(value: Any) -> Any:
        if value is None:
            return missing(field)
        if isinstance(value, Frames):
            return _list(field, value)
        if isinstance(value, Video):
            ticks = value.ticks if value.fps is None else None
            files: Sequence[Any] = [value.file(i) for i in range(len(value))]
            if field.arguments.get("mode") == "raw":
                files = value
            return _list(field, Frames(files, 1 / value.tick, None if ticks is None else ticks.tolist()))
        if isinstance(value, (str, os.PathLike)):
            return _list(field, Frames(_folder(field, value), rate))
        if is_tensor(value):  # (frames, channels, height, width)
            value = from_tensor(field, value).transpose(0, 2, 3, 1)
        if isinstance(value, np.ndarray):
            value = unmasked(field, value)
            return None if value is None else np.ascontiguousarray(value, value.dtype.newbyteorder("="))
        if isinstance(value, (list, tuple)):
            return _list(field, Frames(value, rate))
        if is_gone(value):
            return missing(field)
        raise wrong(field, value, "a video (an array, a folder, a list of frames or Frames)")

    return convert


def flow_converter(field: FieldInfo) -> Callable[[Any], Any]:
    """Of optical flow: .flo files, and arrays, whose shape the library looks at."""

    def convert(value: Any) -> Any:
        if value is None or is_gone(value):
            return missing(field)
        if isinstance(value, (str, os.PathLike)):
            return read_file(field, value)
        if isinstance(value, (bytes, bytearray, memoryview)):
            return bytes(value)
        return to_dtype(field, value, np.dtype(np.float32))

    return convert
