"""TurboLoader's TBL files, sample by sample: TblReaderV2, TblWriterV2, SampleFormat, and the conversion of archives.

:func:`mldf.open` and :func:`mldf.convert` do the same for whole files, many times faster.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from ...dataset import open as open_dataset
from ...errors import ArgumentError, StateError
from .crc16 import crc16

__all__ = [
    "MetadataType",
    "SampleFormat",
    "TblReaderV2",
    "TblWriterV2",
    "convert_tar_to_tbl",
    "extension_to_format",
    "format_to_extension",
]


class SampleFormat(IntEnum):
    """What a sample is."""

    UNKNOWN = 0
    JPEG = 1
    PNG = 2
    WEBP = 3
    BMP = 4
    TIFF = 5
    VIDEO_MP4 = 6
    VIDEO_AVI = 7
    RAW_U8 = 8


class MetadataType(IntEnum):
    """What a sample's metadata is."""

    NONE = 0
    JSON = 1
    PROTOBUF = 2
    MSGPACK = 3
    CUSTOM = 255


_ENDINGS = {
    "jpg": SampleFormat.JPEG,
    "jpeg": SampleFormat.JPEG,
    "png": SampleFormat.PNG,
    "webp": SampleFormat.WEBP,
    "bmp": SampleFormat.BMP,
    "tif": SampleFormat.TIFF,
    "tiff": SampleFormat.TIFF,
    "mp4": SampleFormat.VIDEO_MP4,
    "avi": SampleFormat.VIDEO_AVI,
}


def extension_to_format(extension: str) -> SampleFormat:
    """Of a file's ending, with its dot or without; UNKNOWN for others.

    >>> extension_to_format(".JPG").name, extension_to_format("txt").name
    ('JPEG', 'UNKNOWN')
    """
    return _ENDINGS.get(extension.lower().removeprefix("."), SampleFormat.UNKNOWN)


def format_to_extension(format: SampleFormat) -> str:
    """The ending of a format, with its dot.

    >>> format_to_extension(SampleFormat.JPEG)
    '.jpg'
    """
    return next((f".{ending}" for ending, known in _ENDINGS.items() if known == format), ".bin")


HEADER = np.dtype(
    [
        ("magic", "S4"),
        ("version", "<u4"),
        ("count", "<u8"),
        ("header_bytes", "<u4"),
        ("zero", "<u4"),
        ("metadata", "<u8"),
        ("metadata_bytes", "<u8"),
        ("flags", "<u4"),
        ("crc", "<u4"),
        ("free", "V16"),
    ]
)
ENTRY = np.dtype(
    [
        ("offset", "<u8"),
        ("size", "<u4"),
        ("uncompressed_size", "<u4"),
        ("width", "<u2"),
        ("height", "<u2"),
        ("format", "u1"),
        ("flags", "u1"),
        ("crc", "<u2"),
    ]
)


class TblReaderV2:
    """A TBL file of version 2. The library checks the file and reads samples; the index is read here."""

    def __init__(self, path: Any, verify_checksums: bool = True) -> None:
        self.dataset = open_dataset(path, verify=verify_checksums, decode=False)
        if self.dataset.format != "tbl2":
            raise ArgumentError(f"{os.fspath(path)}: a TBL file of version 2 is needed; this is {self.dataset.format}")
        self._path = os.fspath(path)
        self._header = np.fromfile(self._path, HEADER, 1)[0]
        count = len(self.dataset)
        empty = np.zeros(0, ENTRY)  # of which there is no memory to map
        self._index: Any = np.memmap(self._path, ENTRY, "r", HEADER.itemsize, (count,)) if count else empty
        self._blocks: dict[int, tuple[int, int, int]] | None = None

    def num_samples(self) -> int:
        """How many there are."""
        return len(self.dataset)

    def __len__(self) -> int:
        return len(self.dataset)

    def _entry(self, index: int) -> Any:
        if not 0 <= index < len(self.dataset):
            raise IndexError(f"sample {index} of {len(self.dataset)}")
        return self._index[index]

    def read_sample(self, index: int) -> bytes:
        """The sample's bytes, decompressed."""
        self._entry(index)
        found = self.dataset.raw(index, "image")
        return b"" if found is None else found.tobytes()

    def get_sample_info(self, index: int) -> dict[str, Any]:
        """What the index says of it."""
        entry = self._entry(index)
        about = {name: int(entry[name]) for name in ("offset", "size", "uncompressed_size", "width", "height")}
        known = int(entry["format"]) in SampleFormat._value2member_map_
        about["format"] = SampleFormat(int(entry["format"]) if known else 0)
        return {**about, "is_compressed": bool(entry["flags"] & 1), "has_metadata": bool(entry["flags"] & 2)}

    def has_metadata(self) -> bool:
        """Of any sample?"""
        return bool(self._header["flags"] & 2)

    def is_compressed(self) -> bool:
        """Was the file written with compression?"""
        return bool(self._header["flags"] & 1)

    def read_metadata(self, index: int) -> tuple[str, MetadataType]:
        """(text, type); ("", NONE) for a sample without any."""
        self._entry(index)
        if self._blocks is None:
            self._blocks = self._find_blocks()
        if index not in self._blocks:
            return "", MetadataType.NONE
        at, size, kind = self._blocks[index]
        with Path(self._path).open("rb") as file:
            file.seek(at)
            text = file.read(size).decode("utf-8", "surrogateescape")
        return text, MetadataType(kind) if kind in MetadataType._value2member_map_ else MetadataType.CUSTOM

    def _find_blocks(self) -> dict[int, tuple[int, int, int]]:
        out: dict[int, tuple[int, int, int]] = {}
        start, size = int(self._header["metadata"]), int(self._header["metadata_bytes"])
        if not self.has_metadata() or not start:
            return out
        with Path(self._path).open("rb") as file:
            file.seek(start)
            data = file.read(size)
        at = 0
        while at + 16 <= len(data):
            sample, length, kind, _ = struct.unpack_from("<QIHH", data, at)
            if at + 16 + length > len(data):
                break
            out.setdefault(sample, (start + at + 16, length, kind))
            at += 16 + length
        return out

    def filter_by_format(self, format: SampleFormat) -> list[int]:
        """The samples of a format."""
        return [int(i) for i in np.flatnonzero(self._index["format"] == int(format))] if len(self) else []

    def filter_by_dimensions(
        self, min_width: int = 0, min_height: int = 0, max_width: int = 0, max_height: int = 0
    ) -> list[int]:
        """The samples whose sides are within these; 0: no limit."""
        if not len(self):
            return []
        w, h = self._index["width"], self._index["height"]
        good = (w >= min_width) & (h >= min_height)
        good &= (w <= max_width) if max_width else True
        good &= (h <= max_height) if max_height else True
        return [int(i) for i in np.flatnonzero(good)]


class TblWriterV2:
    """Writes a TBL file of version 2 sample by sample. Samples are stored as they are: ``mldf.convert`` compresses.

    The samples wait in a file beside `path`, which appears when all is written (``finalize``).
    """

    def __init__(self, path: Any, enable_compression: bool = True) -> None:
        self._path, self._compression = os.fspath(path), enable_compression
        self._entries: list[tuple[int, ...]] = []
        self._metadata: list[tuple[int, bytes, int]] = []
        self._data: Any = Path(f"{self._path}.data.mldf.tmp").open("w+b")  # noqa: SIM115
        self._done = False

    def add_sample(self, data: Any, format: SampleFormat, width: int = 0, height: int = 0) -> int:
        """The sample's number."""
        self._open()
        content = bytes(data)
        if len(content) >= 2**32:
            raise ArgumentError(
                f"sample {len(self._entries)}: {len(content)} bytes; a TBL file holds less than 4 GiB a sample"
            )
        if not 0 <= width < 2**16 or not 0 <= height < 2**16:
            raise ArgumentError(f"sample {len(self._entries)}: {width} x {height}: a TBL file holds sides below 65,536")
        if format == SampleFormat.RAW_U8 and not (width and height):
            raise ArgumentError(
                f"sample {len(self._entries)}: RAW_U8 of {width} x {height}: raw pixels need a width and a height"
            )
        if format == SampleFormat.RAW_U8 and len(content) != width * height * 3:
            raise ArgumentError(f"sample {len(self._entries)}: RAW_U8 of {width} x {height} and {len(content)} bytes")
        self._entries.append(
            (self._data.tell(), len(content), len(content), width, height, int(format), 0, crc16(content))
        )
        self._data.write(content)
        return len(self._entries) - 1

    def add_metadata(self, sample_index: int, metadata: Any, type: MetadataType = MetadataType.JSON) -> None:
        """Of a sample that was added."""
        self._open()
        if not 0 <= sample_index < len(self._entries):
            raise ArgumentError(f"metadata of sample {sample_index}: there are {len(self._entries)}")
        content = metadata.encode("utf-8", "surrogateescape") if isinstance(metadata, str) else bytes(metadata)
        self._metadata.append((sample_index, content, int(type)))

    def num_samples(self) -> int:
        """How many were added."""
        return len(self._entries)

    def is_compression_enabled(self) -> bool:
        """As it was asked for."""
        return self._compression

    def _open(self) -> None:
        if self._done:
            raise StateError(f"{self._path}: the file is finished")

    def finalize(self) -> None:
        """Writes the file."""
        self._open()
        index = np.array(self._entries, ENTRY) if self._entries else np.zeros(0, ENTRY)
        start = HEADER.itemsize + index.nbytes
        index["offset"] += start
        for sample, _, _ in self._metadata:
            index["flags"][sample] |= 2
        blocks = b"".join(struct.pack("<QIHH", s, len(c), k, 0) + c for s, c, k in self._metadata)
        flags = (1 if self._compression else 0) | (2 if self._metadata else 0) | 4
        header = np.zeros(1, HEADER)
        end = start + self._data.tell()
        header[0] = (b"TBL\x02", 2, len(index), start % 2**32, 0, end if blocks else 0, len(blocks), flags, 0, b"")
        header["crc"] = zlib.crc32(header.tobytes())
        temporary = f"{self._path}.mldf.tmp"
        with Path(temporary).open("wb") as out:
            out.write(header.tobytes() + index.tobytes())
            self._data.seek(0)
            while piece := self._data.read(1 << 22):
                out.write(piece)
            out.write(blocks)
            out.flush()
            os.fsync(out.fileno())
        os.replace(temporary, self._path)
        self.close()

    def close(self) -> None:
        """Ends; without ``finalize`` there is no file."""
        self._done = True
        if not self._data.closed:
            self._data.close()
            os.unlink(self._data.name)

    def __del__(self) -> None:
        if hasattr(self, "_data"):
            self.close()

    def __enter__(self) -> TblWriterV2:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and not self._done:
            self.finalize()
        self.close()


def convert_tar_to_tbl(
    tar_path: Any, tbl_path: Any, progress_callback: Callable[[int, int], Any] | None = None, **options: Any
) -> int:
    """From an archive to a TBL file: :func:`mldf.convert`. progress_callback: is called with (samples done, samples).

    Gives the number of samples. options: those of mldf.convert.
    """
    from ...tools import convert

    def told(event: Any) -> None:
        assert progress_callback is not None
        progress_callback(event.samples_done, event.samples_total or event.samples_done)

    convert(tar_path, tbl_path, overwrite=True, progress=told if progress_callback is not None else None, **options)
    with open_dataset(tbl_path) as made:
        return len(made)
