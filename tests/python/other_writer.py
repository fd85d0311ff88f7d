"""Files as another writer makes them: the content of a given file with its descriptors spelled in another way that the specification
allows, or with other keys, and every checksum (and the MAC) true again. The vectors' own writer, tools/make_vectors.py, lends its
arithmetic."""

import json
import struct
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import make_vectors as vectors  # noqa: E402

HEADER = struct.Struct("<HHIQHHIQQQQQ")
ENTRY = struct.Struct("<IIQQIIQ")
DESCRIPTOR = struct.Struct("<64sHHII128sHH")
LONG, LONG_BYTES, ROOM = 10, 65535, 128


def reverse(value):
    if isinstance(value, dict):
        return {key: reverse(value[key]) for key in reversed(sorted(value))}
    return value


# How a descriptor's arguments are written: text, bytes behind it in the 128 of the descriptor, whether it stands in section 10.
SPELLINGS = {
    "blanks": lambda value: (json.dumps(value) if value else "", b"", False),  # as Python writes JSON
    "braces": lambda value: (vectors.canonical(value), b"", False),  # {} is spelled out
    "reversed": lambda value: (json.dumps(reverse(value), separators=(",", ":")) if value else "", b"", False),
    "tail": lambda value: (vectors.canonical(value) if value else "", b"x", False),  # a byte behind the text
    "long": lambda value: (json.dumps(value, indent=2), b"not looked at", True),  # all in section 10, however short
}


class Parts:
    """A file in pieces: what stands before the directory, and the sections."""

    def __init__(self, data):
        for header in (bytes(data[9:73]), bytes(data[-96:-32])):  # the front's, or the footer's where that is not the state
            self.header = list(HEADER.unpack(header))
            at = self.header[-1]
            count = struct.unpack_from("<I", data, at + 8)[0] if at else 0
            footer = data[at + 16 + 40 * count:][:96]
            if footer[:64] == header:
                break
        self.generation = struct.unpack_from("<I", footer, 72)[0]
        self.sections = []
        for k in range(count):
            kind, flags, ptr, size, _, _, param = ENTRY.unpack_from(data, at + 16 + 40 * k)
            self.sections.append([kind, flags, bytes(data[ptr:ptr + size]), param])
        self.front = bytearray(data[:at])

    def section(self, kind):
        return next((s for s in self.sections if s[0] == kind), None)

    def arguments(self):
        """The arguments of each field, parsed."""
        long = self.section(LONG)
        texts = {}
        for k in range(struct.unpack_from("<I", long[2])[0] if long else 0):
            field, _, offset, size = struct.unpack_from("<IIQQ", long[2], 8 + 24 * k)
            texts[field] = long[2][offset:offset + size]
        result = []
        for i in range(self.header[4]):
            *_, text, _, size = DESCRIPTOR.unpack_from(self.front, self.header[7] + 208 * i)
            result.append(json.loads(texts[i] if size == LONG_BYTES else text[:size] or "{}"))
        return result

    def respell(self, how):
        long = []
        for i, value in enumerate(self.arguments()):
            at = self.header[7] + 208 * i
            *head, _, align, _ = DESCRIPTOR.unpack_from(self.front, at)
            text, behind, elsewhere = SPELLINGS[how](value)
            text = text.encode()
            if elsewhere or len(text) > ROOM:
                long.append((i, text))
                inside, size = behind, LONG_BYTES
            else:
                inside, size = (text + behind)[:ROOM], len(text)
            DESCRIPTOR.pack_into(self.front, at, *head, inside, align, size)
        self.sections = [s for s in self.sections if s[0] != LONG]
        if long:
            self.sections.insert(-1 if self.section(9) else len(self.sections), [LONG, 1, long_section(long), 0])

    def rekey(self, prefix):
        """Other keys, so that the samples can be added to the file they come from."""
        section = self.section(6)
        if section:
            n = self.header[3]
            offsets = struct.unpack_from(f"<{n + 1}Q", section[2])
            keys = [section[2][a:b].decode() for a, b in zip(offsets, offsets[1:])]
            writer = vectors.Writer([], [], keys=[prefix + key for key in keys])
            section[2], section[3] = writer.key_section(n)

    def file(self):
        """The whole file: sections, directory and footer anew, every sum with them."""
        header, tables = self.header, self.section(1)
        spans = [struct.unpack_from("<QQQ", tables[2], 24 * k) for k in range(3)]
        blocks = b""
        if header[2] & 4:
            for ptr, size, _ in spans:
                table = self.front[ptr:ptr + size]
                blocks += b"".join(struct.pack("<I", vectors.crc(table[b:b + 65536])) for b in range(0, size, 65536))
        tables[2] = tables[2][:72] + blocks
        out = bytearray(self.front)
        places = []
        for _, _, data, _ in self.sections:
            out += bytes(-len(out) % 8)
            places.append(len(out))
            out += data
        out += bytes(-len(out) % 8)
        header[-1] = len(out)
        packed = HEADER.pack(*header)
        secret = self.section(9)
        if secret:
            signed = packed + b"".join(self.front[ptr:ptr + size] for ptr, size, _ in spans)
            for kind, flags, data, param in self.sections:
                if kind != 9:
                    signed += struct.pack("<IIQQ", kind, flags, len(data), param) + data
            file_key = vectors.constant_bytes("file key", 32)
            secret[2] = secret[2][:128] + vectors.keyed_hash(signed, vectors.derive(file_key, 2))
        directory = b""
        for at, (kind, flags, data, param) in zip(places, self.sections):
            out[at:at + len(data)] = data
            directory += ENTRY.pack(kind, flags, at, len(data), vectors.crc(data), 0, param)
        out += b"MLDFDIR\0" + struct.pack("<II", len(self.sections), vectors.crc(directory)) + directory
        footer = packed + struct.pack("<QI", len(out) + 96, self.generation)
        out += footer + struct.pack("<I", vectors.crc(footer)) + vectors.MAGIC + bytes(7)
        out[9:73] = packed
        return bytes(out)


def long_section(texts):
    """Section 10 with its texts in the opposite order and a byte between them."""
    start = 8 + 24 * len(texts)
    body, places = b"", {}
    for i, text in reversed(texts):
        body += b" "
        places[i] = start + len(body)
        body += text
    entries = b"".join(struct.pack("<IIQQ", i, 0, places[i], len(text)) for i, text in texts)
    return struct.pack("<II", len(texts), 0) + entries + body


def respelled(data, how):
    parts = Parts(data)
    parts.respell(how)
    return parts.file()


def with_other_keys(data, prefix="more-"):
    parts = Parts(data)
    parts.rekey(prefix)
    return parts.file()


def descriptors(data):
    """The bytes of the descriptor table."""
    parts = Parts(data)
    return bytes(parts.front[parts.header[7]:][:208 * parts.header[4]])
