"""Rows and payloads of an MLDF file with NumPy alone, through np.memmap: the smallest reader there is.

It trusts the file: no checksum, no nulls, no compression, no encryption, one state of the file. reference_reader.py does all of that.
tests/python/test_memmap_reader.py compares it with the library.
"""
import numpy as np

HEADER = np.dtype([("version", "<u2", 2), ("flags", "<u4"), ("num_samples", "<u8"), ("num_fields", "<u2"), ("zero", "<u2"),
                   ("page_size", "<u4"), ("descriptors", "<u8"), ("rows", "<u8"), ("data", "<u8"), ("allocations", "<u8"),
                   ("directory", "<u8")])  # fmt: skip
FIELD = np.dtype({"names": ["name", "type", "flags", "record_bytes", "row_offset", "row_align"], "formats": ["S64", "<u2", "<u2", "<u4", "<u4", "<u2"],
                  "offsets": [0, 64, 66, 68, 72, 204], "itemsize": 208})  # fmt: skip


def read(path):
    """{field: (type, records, payloads)}: records are the bytes of each row, payloads a function of the sample's number, or None."""
    file = np.memmap(path, np.uint8, "r")
    header = file[9:73].view(HEADER)[0]
    fields = file[int(header["descriptors"]) :][: 208 * int(header["num_fields"])].view(FIELD)
    last = max(fields, key=lambda f: f["row_offset"])
    align = int(max(fields["row_align"]))
    width = -(-int(last["row_offset"] + last["record_bytes"]) // align) * align
    rows = file[int(header["rows"]) :][: width * int(header["num_samples"])].reshape(-1, width)
    out = {}
    for f in fields:
        records = rows[:, f["row_offset"] :][:, : f["record_bytes"]]
        place = {4: [("ptr", "<u8"), ("size", "<u4")], 8: [("ptr", "<u8"), ("size", "<u8")]}.get(int(f["flags"]) & 12)
        pairs = np.ascontiguousarray(records[:, : np.dtype(place).itemsize]).view(place)[:, 0] if place else None
        payload = None if pairs is None else lambda i, pairs=pairs: file[int(pairs[i]["ptr"]) :][: int(pairs[i]["size"])]
        out[f["name"].decode()] = int(f["type"]), records, payload
    return out
