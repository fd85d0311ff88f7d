"""The tables of a file as FFCV's Reader shows them: a row of records for each sample (``metadata``), and where each
payload lies (``alloc_table``). Of .beton files they are FFCV's own; of MLDF files, records have FFCV's names where it
has them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dataset import Dataset
from ...errors import UnsupportedError

__all__ = ["ALLOCATIONS", "allocations", "metadata"]

ALLOCATIONS = np.dtype([("sample_id", "<u8"), ("ptr", "<u8"), ("size", "<u8")])
Table = Any

# Of .beton files, by the type's number.
_IMAGE = np.dtype([("mode", "<u1"), ("width", "<u2"), ("height", "<u2"), ("data_ptr", "<u8")])
_BYTES = np.dtype([("ptr", "<u8"), ("size", "<u8")])
_RECORDS = {
    0: np.dtype("<f8"),
    1: np.dtype("<i8"),
    2: _IMAGE,
    3: _BYTES,
    4: np.dtype("<u8"),
    5: _BYTES,
    6: np.dtype("<u8"),
}
_BETON = np.dtype([("version", "<u2"), ("fields", "<u2"), ("page", "<u4"), ("samples", "<u8"), ("table", "<u8")])
_BETON_FIELD = np.dtype([("type", "<u1"), ("name", "u1", 16), ("arguments", "u1", 1024)])

# Of MLDF files: docs/spec/format.md, field descriptors.
_FIELD = np.dtype(
    {
        "names": ["type", "flags", "record_bytes", "row_offset"],
        "formats": ["<u2", "<u2", "<u4", "<u4"],
        "offsets": [64, 66, 68, 72],
        "itemsize": 208,
    }
)
_SHORT, _LONG = 4, 8  # flags: a record begins with ptr and a size of 4 or of 8 bytes
_IMAGES = (10, 11, 12, 13)


def metadata(dataset: Dataset) -> Table:
    """A structured array: ``f0`` the records of the first field, and so on. It cannot be written."""
    info = _only(dataset)
    path = dataset.paths[0]
    if info["format"] == "beton":
        header = np.fromfile(path, _BETON, 1)[0]
        fields = np.fromfile(path, _BETON_FIELD, int(header["fields"]), offset=_BETON.itemsize)
        unknown = [int(f["type"]) for f in fields if int(f["type"]) not in _RECORDS]
        if unknown:
            raise UnsupportedError(f"{path}: records of a field of type {unknown[0]} have no known form")
        record = np.dtype([("", _RECORDS[int(f["type"])]) for f in fields], align=True)
        out = np.fromfile(path, record, int(header["samples"]), offset=_BETON.itemsize + fields.nbytes)
    else:
        fields = _fields(path, info)
        record = np.dtype(
            {
                "names": [f"f{i}" for i in range(len(fields))],
                "formats": [_form(f) for f in fields],
                "offsets": [int(f["row_offset"]) for f in fields],
                "itemsize": info["row_bytes"],
            }
        )
        out = np.fromfile(path, record, len(dataset), offset=info["metadata_ptr"])
    out.setflags(write=False)
    return out


def allocations(dataset: Dataset) -> Table:
    """(sample_id, ptr, size) of each payload that is not empty; of MLDF files sample by sample. Not to be written."""
    info = _only(dataset)
    path = dataset.paths[0]
    if info["format"] == "beton":
        out = np.fromfile(path, ALLOCATIONS, offset=int(np.fromfile(path, _BETON, 1)[0]["table"]))
    else:
        rows = metadata(dataset)
        stored = [i for i, f in enumerate(_fields(path, info)) if int(f["flags"]) & (_SHORT | _LONG)]
        out = np.zeros((len(rows), len(stored)), ALLOCATIONS)
        for k, i in enumerate(stored):
            records = rows[f"f{i}"]
            out[:, k]["sample_id"] = np.arange(len(rows))
            out[:, k]["ptr"] = records["data_ptr" if "data_ptr" in records.dtype.names else "ptr"]
            out[:, k]["size"] = records["size"]
        out = out.reshape(-1)
        out = out[out["size"] > 0]
    out.setflags(write=False)
    return out


def _only(dataset: Dataset) -> Any:
    """What is known of the one file, whose rows are all samples."""
    infos = dataset._view.files.infos
    if len(infos) != 1 or infos[0]["format"] not in ("mldf", "beton") or len(dataset) != infos[0]["num_samples"]:
        raise UnsupportedError("metadata and alloc_table are those of one whole MLDF or .beton file")
    return infos[0]


def _fields(path: str, info: Any) -> Any:
    return np.fromfile(path, _FIELD, info["descriptor_bytes"] // _FIELD.itemsize, offset=info["descriptor_ptr"])


def _form(field: Any) -> Any:
    """The dtype of a record."""
    size, kind = int(field["record_bytes"]), int(field["type"])
    if int(field["flags"]) & (_SHORT | _LONG):
        length = "<u4" if int(field["flags"]) & _SHORT else "<u8"
        if kind in _IMAGES and size == 24:
            return np.dtype(
                {
                    "names": ["data_ptr", "size", "width", "height", "mode"],
                    "formats": ["<u8", length, "<u2", "<u2", "<u1"],
                    "offsets": [0, 8, 14, 12, 17],
                    "itemsize": size,
                }
            )
        return np.dtype({"names": ["ptr", "size"], "formats": ["<u8", length], "offsets": [0, 8], "itemsize": size})
    numbers = {1: "<i8", 2: "<f8"}
    return np.dtype(numbers[kind]) if kind in numbers and size == 8 else np.dtype(("u1", size))
