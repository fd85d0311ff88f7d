#!/usr/bin/env python3
"""Files as a writer of the 1.0 draft makes them, and their content as JSON.

The draft's writer is simple: magic, 64 bytes of header, the descriptors right behind (byte 73), rows from the next
multiple of 64, payloads one after the other from the next multiple of the page size, then the allocation table wherever
that is. Its descriptor is 204 bytes as declared and 208 as asserted, so both exist. Payloads are not aligned, nothing
says how many allocations there are, and a file without payloads ends before data_ptr and alloc_table_ptr.

This script writes such files with NumPy's structured types. The files are kept for ever and never made anew; the tests
check that they still are what this script makes.

    python tests/golden/draft/make_draft.py [DIRECTORY]
"""

import hashlib
import json
import os
import struct
import sys

import numpy as np

MAGIC = b"\x89MLDF\r\n\x1a\n"
PAGE = 4096

HEADER = np.dtype([("major", "<u2"), ("minor", "<u2"), ("flags", "<u4"), ("num_samples", "<u8"), ("num_fields", "<u2"),
                   ("pad", "<u2"), ("page_size", "<u4"), ("field_desc_ptr", "<u8"), ("metadata_ptr", "<u8"),
                   ("data_ptr", "<u8"), ("alloc_table_ptr", "<u8"), ("reserved", "<u8")])
DESCRIPTOR = np.dtype([("name", "S64"), ("type_id", "<u2"), ("flags", "<u2"), ("metadata_size", "<u4"), ("pad", "<u4"),
                       ("arguments", "u1", 128)])
assert HEADER.itemsize == 64 and DESCRIPTOR.itemsize == 204

# The records of the draft. The first two members of a payload's record are filled in by the writer.
SCALAR_INT = np.dtype([("value", "<i8")])
SCALAR_FLOAT = np.dtype([("value", "<f8")])
BYTES = np.dtype([("ptr", "<u8"), ("size", "<u4"), ("pad", "<u4")])
IMAGE = np.dtype([("ptr", "<u8"), ("size", "<u4"), ("height", "<u2"), ("width", "<u2"), ("channels", "u1"), ("mode", "u1"),
                  ("pad", "<u2"), ("tail", "V4")])
AUDIO = np.dtype([("ptr", "<u8"), ("size", "<u4"), ("num_samples", "<u4"), ("sample_rate", "<u4"), ("channels", "<u2"),
                  ("bit_depth", "u1"), ("codec", "u1")])
TEXT = np.dtype([("ptr", "<u8"), ("size", "<u4"), ("num_tokens", "<u2"), ("encoding", "u1"), ("pad", "u1")])
# Other writers put a count where the size is.
SOUND = np.dtype([("ptr", "<u8"), ("count", "<u4"), ("sample_rate", "<u4"), ("channels", "<u2"), ("pad", "V6")])
MEL = np.dtype([("ptr", "<u8"), ("count", "<u4"), ("num_mels", "<u4")])
SHORT_INT = np.dtype([("value", "<i4")])
TINY_INT = np.dtype([("value", "i1")])
OWN = np.dtype([("a", "<u2"), ("b", "u1", 4)])
TYPES = {"int": (1, SCALAR_INT), "float": (2, SCALAR_FLOAT), "bytes": (3, BYTES), "json": (5, BYTES), "image": (11, IMAGE),
         "audio": (20, AUDIO), "text": (40, TEXT), "tokens": (41, TEXT), "own": (0x8005, OWN), "sound": (20, SOUND),
         "mel": (22, MEL), "int4": (1, SHORT_INT), "int1": (1, TINY_INT)}
assert [t.itemsize for _, t in TYPES.values()] == [8, 8, 16, 16, 24, 24, 16, 16, 6, 24, 16, 4, 1]
ALIGN = {"own": 2, "int4": 4, "int1": 1}


def up(x, a):
    return -(-x // a) * a


def row_layout(fields):
    """Offsets of the records and the size of a row, as C would lay them out."""
    offsets, at, largest = [], 0, 1
    for _, kind in fields:
        align = ALIGN.get(kind, 8)
        at = up(at, align)
        offsets.append(at)
        at, largest = at + TYPES[kind][1].itemsize, max(largest, align)
    return offsets, up(at, largest)


def draft(fields, samples, stride, arguments=b""):
    """fields: [(name, kind)]; samples: [{name: (record members after ptr and size, payload)}]; a missing one stays zero."""
    out = bytearray(MAGIC + bytes(64))
    for name, kind in fields:
        d = np.zeros(1, DESCRIPTOR)
        d["name"], d["type_id"], d["metadata_size"] = name.encode(), TYPES[kind][0], TYPES[kind][1].itemsize
        d["arguments"][0][:len(arguments)] = np.frombuffer(arguments, "u1")
        out += d.tobytes() + bytes(stride - 204)
    offsets, row_bytes = row_layout(fields)
    metadata_ptr = up(len(out), 64)
    rows = bytearray(row_bytes * len(samples))
    if rows:
        out += bytes(metadata_ptr - len(out)) + rows
    position = data_ptr = up(metadata_ptr + len(rows), PAGE)
    payloads, allocations = b"", []
    for i, sample in enumerate(samples):
        for (name, kind), offset in zip(fields, offsets):
            if name not in sample:
                continue
            members, payload = sample[name]
            record = np.zeros(1, TYPES[kind][1])
            for member, value in members.items():
                record[member] = value
            if "ptr" in record.dtype.names and payload:
                record["ptr"] = position
                if "size" in record.dtype.names:
                    record["size"] = len(payload)
                allocations.append((position, len(payload)))
                payloads += payload
                position += len(payload)
            at = i * row_bytes + offset
            rows[at:at + record.itemsize] = record.tobytes()
    out[metadata_ptr:metadata_ptr + len(rows)] = rows
    if payloads:
        out += bytes(data_ptr - len(out)) + payloads + b"".join(struct.pack("<QI4x", *a) for a in allocations)
    h = np.zeros(1, HEADER)
    h["major"], h["flags"], h["num_samples"], h["num_fields"], h["page_size"] = 1, 1, len(samples), len(fields), PAGE
    h["field_desc_ptr"], h["metadata_ptr"], h["data_ptr"], h["alloc_table_ptr"] = 73, metadata_ptr, data_ptr, position
    out[9:73] = h.tobytes()
    return bytes(out), rows, offsets, row_bytes


def shown(kind, raw, payload):
    """A value as the reference reader prints it: scalars, text and JSON decoded, the rest as record and payload."""
    if kind in ("int", "float", "int4", "int1"):
        return raw.view(TYPES[kind][1])["value"][0].item()
    if kind == "text":
        return payload.decode()
    if kind == "json":
        return json.loads(payload) if payload else None
    digest = {"bytes": len(payload), "sha256": hashlib.sha256(payload).hexdigest()}
    return digest if kind == "bytes" else {"record": raw.tobytes().hex(), **digest}


def content(fields, samples, rows, offsets, row_bytes):
    result = []
    for i, sample in enumerate(samples):
        values = {}
        for (name, kind), offset in zip(fields, offsets):
            size = TYPES[kind][1].itemsize
            raw = np.frombuffer(bytes(rows[i * row_bytes + offset:i * row_bytes + offset + size]), "u1")
            values[name] = shown(kind, raw, sample.get(name, ({}, b""))[1])
        result.append(values)
    return {"version": "1.0", "flags": 1, "page_size": PAGE, "num_samples": len(samples),
            "fields": [{"name": name, "type_id": TYPES[kind][0], "nullable": False,
                        "record_bytes": TYPES[kind][1].itemsize, "row_offset": offset,
                        "arguments": {"int4": {"dtype": "<i4"}, "int1": {"dtype": "|i1"}}.get(kind, {})}
                       for (name, kind), offset in zip(fields, offsets)],
            "card": None, "keys": None, "samples": result}


def noise(label, size):
    return hashlib.shake_256(label.encode()).digest(size)


def files():
    """Yields (name, fields, samples, stride, arguments)."""
    media = [("image", "image"), ("label", "int"), ("sound", "audio"), ("caption", "text"), ("weight", "float"),
             ("raw", "bytes"), ("info", "json"), ("ids", "tokens")]
    samples = []
    for i in range(5):
        caption = ("a cat", "", "zwei Hunde", "鳥", "the end")[i]
        samples.append({
            "image": ({"height": 4 + i, "width": 5, "channels": 3, "mode": 1}, noise(f"image {i}", 61 + i)),
            "label": ({"value": i - 2}, b""),
            "sound": ({"num_samples": 10 * i, "sample_rate": 16000, "channels": 1, "bit_depth": 16}, noise(f"sound {i}", 20 * i)),
            "caption": ({"encoding": 0}, caption.encode()),
            "weight": ({"value": i / 8}, b""),
            "raw": ({}, noise(f"raw {i}", 7 * i)),
            "info": ({}, json.dumps({"index": i}).encode()),
            "ids": ({"num_tokens": i, "encoding": 2}, struct.pack(f"<{i}H", *range(i)))})
    yield "media_204", media, samples, 204, b"quality=90"
    yield "media_208", media, samples, 208, b"quality=90"
    missing = [{k: v for k, v in s.items() if (hash_bit(k) + i) % 3} for i, s in enumerate(samples)]
    yield "missing_204", media, missing, 204, b""
    yield "missing_208", media, missing, 208, b""
    scalars = [("x", "int"), ("y", "float")]
    numbers = [{"x": ({"value": 3 * i - 4}, b""), "y": ({"value": 0.5 * i}, b"")} for i in range(6)]
    yield "scalars_204", scalars, numbers, 204, b""
    yield "scalars_208", scalars, numbers, 208, b""
    yield "empty_204", media, [], 204, b""
    yield "empty_208", media, [], 208, b""
    yield "one_field", [("blob", "bytes")], [{"blob": ({}, b"payload")}, {"blob": ({}, b"")}], 204, b"\xff" * 128
    own = [("first", "own"), ("n", "int"), ("second", "own"), ("t", "text")]
    odd = [{"first": ({"a": 1, "b": [2, 3, 4, 5]}, b""), "n": ({"value": -7}, b""), "second": ({"a": 6}, b""),
            "t": ({}, b"odd")}]
    yield "private_204", own, odd, 204, b""
    yield "private_208", own, odd, 208, b""
    counts = [("sound", "sound"), ("label", "int4"), ("flag", "int1"), ("mel", "mel")]
    samples = [{"sound": ({"count": 10 * i, "sample_rate": 16000, "channels": 1}, noise(f"samples {i}", 20 * i)),
                "label": ({"value": i - 2}, b""), "flag": ({"value": -i}, b""),
                "mel": ({"count": i + 1, "num_mels": 8}, noise(f"frames {i}", 32 * (i + 1)))} for i in range(4)]
    yield "counts_204", counts, samples, 204, b""
    yield "counts_208", counts, samples, 208, b""


def hash_bit(name):
    return hashlib.sha256(name.encode()).digest()[0]


def main():
    target = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    for name, fields, samples, stride, arguments in files():
        data, rows, offsets, row_bytes = draft(fields, samples, stride, arguments)
        with open(os.path.join(target, name + ".mldf"), "wb") as file:
            file.write(data)
        with open(os.path.join(target, name + ".json"), "w", encoding="utf-8") as file:
            file.write(json.dumps(content(fields, samples, rows, offsets, row_bytes), indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
