#!/usr/bin/env python3
"""Makes docs/spec/vectors/: valid files with their content as JSON, and invalid files with the error that each must give.

An independent writer: it shares no code with the C library and none with reference_reader.py, so a misreading of the
specification has to be made twice to go unnoticed. The output is a pure function of this file: zstd frames are stored
below as bytes, nonces and keys are constants. Encrypted vectors need libsodium.

    python tools/make_vectors.py [DIRECTORY]      (docs/spec/vectors by default)

Read next: tools/vectors_invalid.py, which damages the files made here one rule at a time.
"""

import ctypes
import ctypes.util
import hashlib
import json
import math
import os
import struct
import sys

from vectors_audio import flac
from vectors_fast_jpeg import PAYLOADS as FAST_JPEGS, SAMPLINGS as FAST_SAMPLINGS
from vectors_video import IMAGES as VIDEO_IMAGES, payload as video_payload

MAGIC = b"\x89MLDF\r\n\x1a\n"
NULLABLE, PREFIX, SIZE32, SIZE64, CHUNKED = 1, 2, 4, 8, 32
NONE = 2**64 - 1

# ---- Arithmetic ----------------------------------------------------------------------------------------------------


def _table():
    result = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
        result.append(i)
    return result


_CRC = _table()


def crc(data):
    c = 0xFFFFFFFF
    for b in data:
        c = _CRC[(c ^ b) & 255] ^ c >> 8
    return c ^ 0xFFFFFFFF


def up(x, a):
    return (x + a - 1) // a * a


def hash64(data):
    """XXH64, seed 0."""
    a, b, c, d, e = (11400714785074694791, 14029467366897019727, 1609587929392839161, 9650029242287828579,
                     2870177450012600261)

    def rot(v, n):
        v &= NONE
        return (v << n | v >> 64 - n) & NONE

    def rnd(acc, lane):
        return rot(acc + lane * b, 31) * a & NONE

    pos, left = 0, len(data)
    if left < 32:
        h = e
    else:
        acc = [a + b & NONE, b, 0, -a & NONE]
        while left - pos >= 32:
            for k in range(4):
                acc[k] = rnd(acc[k], int.from_bytes(data[pos:pos + 8], "little"))
                pos += 8
        h = sum(rot(v, n) for v, n in zip(acc, (1, 7, 12, 18))) & NONE
        for v in acc:
            h = (h ^ rnd(0, v)) * a + d & NONE
    h = h + left & NONE
    for width in (8, 4, 1):
        while left - pos >= width and (width == 8 or left - pos < 2 * width or width == 1):
            lane = int.from_bytes(data[pos:pos + width], "little")
            pos += width
            if width == 8:
                h = rot(h ^ rnd(0, lane), 27) * a + d & NONE
            elif width == 4:
                h = rot(h ^ lane * a, 23) * b + c & NONE
            else:
                h = rot(h ^ lane * e, 11) * a & NONE
    h = (h ^ h >> 33) * b & NONE
    h = (h ^ h >> 29) * c & NONE
    return h ^ h >> 32


def canonical(x):
    """Canonical JSON: sorted keys, no spaces, the shortest of %.15g, %.16g and %.17g that reads back equal."""
    if isinstance(x, dict):
        return "{" + ",".join(canonical(k) + ":" + canonical(x[k]) for k in sorted(x, key=str.encode)) + "}"
    if isinstance(x, (list, tuple)):
        return "[" + ",".join(map(canonical, x)) + "]"
    if isinstance(x, float):
        shortest = next(s for s in (f"{x:.{n}g}" for n in (15, 16, 17)) if float(s) == x)
        return shortest if set(shortest) & set(".e") else shortest + ".0"
    return json.dumps(x, ensure_ascii=False)


# ---- libsodium -----------------------------------------------------------------------------------------------------


def sodium():
    path = ctypes.util.find_library("sodium")
    if not path:
        raise SystemExit("make_vectors.py needs libsodium for the encrypted vectors")
    lib = ctypes.CDLL(path)
    lib.sodium_init()
    return lib


def seal(plain, associated, nonce, key):
    out, size = ctypes.create_string_buffer(len(plain) + 16), ctypes.c_ulonglong()
    sodium().crypto_aead_xchacha20poly1305_ietf_encrypt(
        out, ctypes.byref(size), plain, ctypes.c_ulonglong(len(plain)), associated,
        ctypes.c_ulonglong(len(associated)), None, nonce, key)
    return out.raw


def derive(key, number):
    out = ctypes.create_string_buffer(32)
    sodium().crypto_kdf_derive_from_key(out, ctypes.c_size_t(32), ctypes.c_uint64(number), b"MLDFkeys", key)
    return out.raw


def keyed_hash(data, key):
    out = ctypes.create_string_buffer(32)
    sodium().crypto_generichash(out, ctypes.c_size_t(32), data, ctypes.c_ulonglong(len(data)), key, ctypes.c_size_t(32))
    return out.raw


def stretch(passphrase, salt, opslimit, memlimit):
    out = ctypes.create_string_buffer(32)
    if sodium().crypto_pwhash(out, ctypes.c_ulonglong(32), passphrase, ctypes.c_ulonglong(len(passphrase)), salt,
                              ctypes.c_ulonglong(opslimit), ctypes.c_size_t(memlimit), 2):
        raise SystemExit("Argon2id failed")
    return out.raw


# ---- zstd frames, made once with libzstd 1.5.4 and kept here, because other versions give other bytes ----------------

FOX = b"".join(b"line %d: the quick brown fox jumps over the lazy dog\n" % i for i in range(40))  # level 3
FOX_FRAME = bytes.fromhex(
    "28b52ffd603e076d05005245131a604f731fd98036ed0b2604790000a03f68b496521b480047a52bffffffbf6ddbb6ddb66ddb812000789cbb8c"
    "e210b45c0a8aa1c931f27034062b97e0a21c33b071480d42b49090d010ada402292070338b0f4412e7e564794acecb93e5943c2f27cb53725e9e"
    "2ca7e47939599e92f3f26439259f970a9d2c143a25133a2f123a5922744a20745e1e74b238e89434e80431781e4e06a7e03c3c194ec1f370323c"
    "0571ee0d3916977e02")
RAMP = struct.pack("<512f", *[i % 16 for i in range(512)])  # level 3
RAMP_FRAME = bytes.fromhex(
    "28b52ffd600007550200d4030000803f0000004000004040000080400000a0400000c0400000e0400000004100001041000020410000304100004"
    "041000050410000604100007041000300b70fe1830502038005")
DICTIONARY = b"the quick brown fox jumps over the lazy dog; pack my box with five dozen liquor jugs; "
JUGS = b"five dozen quick jugs jump over the lazy brown box with my fox; pack my box with five dozen liquor jugs!"
JUGS_FRAME = bytes.fromhex(  # level 19, with DICTIONARY
    "28b52ffd206805010060666a7567736d7920666f78210700d8803545013c64f024d8501088336c31af")
def run_frame(byte, count):
    """A frame of one RLE block, by hand: magic, single segment with a 4-byte content size, block header, the byte."""
    return b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", count) + (count << 3 | 1 << 1 | 1).to_bytes(3, "little") + byte


# A PNG file of one white pixel, RGB of 8 bits.
PIXEL = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8cfc0000003010100c9fe92ef"
                      "0000000049454e44ae426082")

# What a compressed field stores with codec 1; every other value is stored with codec 0.
FRAMES = {FOX: FOX_FRAME, RAMP: RAMP_FRAME, JUGS: JUGS_FRAME, bytes(2048): run_frame(b"\0", 2048)}


# ---- Fields --------------------------------------------------------------------------------------------------------

ITEM = {"|b1": 1, "|i1": 1, "|u1": 1, "<i2": 2, "<u2": 2, "<i4": 4, "<u4": 4, "<i8": 8, "<u8": 8, "<f2": 2, "<f4": 4,
        "<f8": 8, "<c8": 8, "<c16": 16, "bfloat16": 2}
ALIGN = {**ITEM, "<c8": 4, "<c16": 8}


class Field:
    def __init__(self, name, type_id, arguments=None, flags=0, record=8, align=8):
        self.name, self.type_id, self.arguments, self.flags = name, type_id, arguments or {}, flags
        self.record, self.align, self.row_offset = record, align, None

    @property
    def form(self):
        return self.flags & (SIZE32 | SIZE64)


def integer(name, dtype=None, flags=0):
    return Field(name, 1, {"dtype": dtype} if dtype else {}, flags)


def floating(name, flags=0):
    return Field(name, 2, {}, flags)


def blob(name, flags=0):
    return Field(name, 3, {}, flags | SIZE64, 16)


def ndarray(name, dtype, shape, flags=0):
    record = up(16 + 4 * len(shape), 8) if None in shape else 16
    return Field(name, 4, {"dtype": dtype, "shape": shape}, flags | SIZE64, record)


def js(name, flags=0):
    return Field(name, 5, {}, flags | SIZE64, 16)


def text(name, flags=0):
    return Field(name, 40, {}, flags | SIZE32, 16)


def image_field(name, type_id=13, arguments=None, flags=0):
    return Field(name, type_id, arguments, flags | SIZE32, 24)


def image(height, width, channels, mode, data, bits=8, color=0, orientation=1):
    """A value of an image field: what its record has behind ptr and size, and the payload."""
    return Raw(struct.pack("<HHBBBBB", height, width, channels, mode, bits, color, orientation) + bytes(3), data)


def sound_field(name, arguments=None, flags=0):
    return Field(name, 20, arguments, flags | SIZE64, 32)


def packets_field(name, arguments=None, flags=0):
    return Field(name, 21, arguments, flags | SIZE64, 32)


def flac_sound(rate, channels, frames, **how):
    samples, data = flac(crc, rate, channels, frames, **how)
    return sound(samples, rate, channels, 16, 1, data)


def sound(samples, rate, channels, bits, codec, data):
    """A value of a recording: what its record has behind ptr and size, and the payload."""
    return Raw(struct.pack("<QIHBB", samples, rate, channels, bits, codec), data)


def video_field(name, arguments=None, flags=0):
    return Field(name, 30, arguments, flags | SIZE64, 32)


def video(height, width, frames, fps=(30, 1), pts=None):
    """A value of a video that is stored frame by frame."""
    table = 8 * (len(frames) + 1) + (8 * len(frames) if pts is not None else 0)
    offsets = [table + sum(map(len, frames[:i])) for i in range(len(frames) + 1)]
    data = struct.pack(f"<{len(offsets)}Q", *offsets) + (struct.pack(f"<{len(frames)}q", *pts) if pts is not None else b"")
    return Raw(struct.pack("<IHHII", len(frames), height, width, *fps), data + b"".join(frames))


def video_packets_field(name, arguments=None, flags=0):
    return Field(name, 31, arguments, flags | SIZE64, 72)


def video_packets(images, sound=None, **how):
    """A value of a video that is stored as packets."""
    return Raw(*video_payload(crc, images, sound and (sound.record, sound.data), **how))


TOKENS, PACKED, HIERARCHICAL, STREAM = 41, 42, 43, 44


def token_field(name, type_id, arguments, flags=0):
    return Field(name, type_id, arguments, flags | (SIZE32 if type_id == TOKENS else SIZE64), {41: 16, 42: 24, 43: 32, 44: 32}[type_id])


SPECTROGRAM, CODEC_TOKENS = 22, 23
FLOW = 32


def grid_field(name, type_id, arguments, flags=0):
    return Field(name, type_id, arguments, flags | SIZE64, 24)


def flow_field(name, arguments, flags=0):
    return Field(name, FLOW, arguments, flags | SIZE64, 32)


MULTIMODAL = 50


def multimodal_field(name, kinds, flags=0):
    """kinds: role -> (name of the type, Field)."""
    parts = [{"role": role, "type": kind, **({"arguments": field.arguments} if field.arguments else {})} for role, (kind, field) in kinds.items()]
    field = Field(name, MULTIMODAL, {"parts": parts}, flags | SIZE64, 56)
    field.kinds = kinds
    return field


def inline(name, descr, flags=0):
    def walk(members, base):
        """End of the members laid out at base, largest alignment, whether all are aligned."""
        largest, good = 1, True
        for name_, kind, *rest in members:
            count = math.prod(rest[0]) if rest else 1
            if isinstance(kind, str):
                size = ITEM.get(kind) or int(kind[2:]) * (4 if kind[1] == "U" else 1)
                own = ALIGN.get(kind, 4 if kind[1] == "U" else 1)
                fine = base % own == 0 and (size % own == 0 or count == 1)
            else:
                size, own, fine = walk(kind, 0)
                fine = fine and base % own == 0 and (size % own == 0 or count == 1)
            largest, good = max(largest, own), good and fine
            base += size * count
        return base, largest, good

    size, largest, good = walk(descr, 0)
    return Field(name, 6, {"descr": descr}, flags, size, largest if good and size % largest == 0 else 1)


class Array:
    """An NDARRAY value: its bytes, and its dimensions where they vary."""

    def __init__(self, data, dims=()):
        self.data, self.dims = data, dims


class Raw:
    """A value given as the tail of its record (after ptr and size, or all of it) and its payload."""

    def __init__(self, record, data=b""):
        self.record, self.data = record, data


class Ids(Raw):
    """A value of a token field: ids, and the pairs (end, from) or the ends of its documents; of hierarchical text the ends of its paragraphs and of its
    sentences."""

    def __init__(self, field, ids, table=()):
        code = {"|u1": "B", "<u2": "H", "<i4": "i"}[field.arguments["dtype"]]
        data = struct.pack(f"<{len(ids)}{code}", *ids)
        if field.type_id == TOKENS:
            record = struct.pack("<I", len(ids))
        elif field.type_id == PACKED:
            record = struct.pack("<II", len(ids), len(table))
            data = data.ljust(up(len(data), 8), b"\0") + b"".join(struct.pack("<II", *piece) for piece in table)
        elif field.type_id == HIERARCHICAL:
            paragraphs, sentences = table or ((), ())
            record = struct.pack("<IIII", len(ids), len(paragraphs), len(sentences), 0)
            data = data.ljust(up(len(data), 8), b"\0") + struct.pack(f"<{len(paragraphs) + len(sentences)}I", *paragraphs, *sentences)
        else:
            record = struct.pack("<QQ", len(ids), len(table))
            data = data.ljust(up(len(data), 8), b"\0") + struct.pack(f"<{len(table)}Q", *table)
        super().__init__(record, data)
        self.ids = ids


class Grid(Raw):
    """A value of a spectrogram or of codec tokens: numbers, in the order in which they are stored, of two dimensions."""

    def __init__(self, field, dims, numbers):
        a = field.arguments
        self.dims = dims
        if field.type_id == SPECTROGRAM:
            self.dtype, kind, frames_first = a["dtype"], 1 if a["dtype"] == "<f2" else 2, a.get("layout", "tf") == "tf"
        else:
            self.dtype = "|u1" if a["vocabulary"] <= 256 else "<u2" if a["vocabulary"] <= 65536 else "<i4"
            kind, frames_first = {"|u1": 1, "<u2": 2, "<i4": 4}[self.dtype], False
        frames, across = dims if frames_first else dims[::-1]
        code = {"<f2": "e", "<f4": "f", "|u1": "B", "<u2": "H", "<i4": "i"}[self.dtype]
        super().__init__(struct.pack("<IHBB", frames, across, kind, 0), struct.pack(f"<{len(numbers)}{code}", *numbers))


class Flow(Raw):
    """Optical flow: stored numbers, with the scale of int8."""

    def __init__(self, field, frames, height, width, numbers, scale=1.0):
        int8 = field.arguments["dtype"] == "|i1"
        self.dtype, self.dims = "<f4", [frames, height, width, 2]
        exact = struct.unpack("<f", struct.pack("<f", scale))[0]
        self.floats = struct.pack(f"<{len(numbers)}f", *(math.nan if int8 and n == -128 else n * exact for n in numbers))
        super().__init__(struct.pack("<IHHfHBB", frames, height, width, scale, 0, 1 if int8 else 2, 0),
                         struct.pack(f"<{len(numbers)}{'b' if int8 else 'e'}", *numbers))


class Parts(Raw):
    """A multimodal sample: (role, value or None, group, begin) of each part, and the totals of its record."""

    def __init__(self, field, parts, tokens=0, images=0, pixels=0, samples=0, milliseconds=0):
        room = 80 if any(kind.record > 48 for _, kind in field.kinds.values()) else 48
        roles, mask, at, table, rest = list(field.kinds), 0, (16 + room) * len(parts), b"", b""
        for role, value, group, begin in parts:
            kind, record, data = field.kinds[role][1], b"", b""
            if value is not None:
                mask |= 1 << roles.index(role)
                record, data = encode(kind, value)
            if kind.form and value is not None:
                pad = -(at + len(rest)) % (64 if kind.type_id in (4, 10, 13, 41, 42, 43) else 8) if data else 0
                rest += bytes(pad)
                ptr = at + len(rest) if data else 0
                head = struct.pack("<QI" if kind.form == SIZE32 else "<QQ", ptr, len(data))
                record, rest = head + record[len(head):], rest + data
            table += struct.pack(f"<HHIq{room}s", roles.index(role), value is None, group, begin, record)
        self.dims, self.tokens = [len(parts), images], tokens
        super().__init__(struct.pack("<IIIIQQQ", mask, len(parts), tokens, images, pixels, samples, milliseconds), table + rest)


def encode(field, value):
    """(record with zeros for ptr and size, value bytes)."""
    if isinstance(value, Raw):
        head = {SIZE32: 12, SIZE64: 16}.get(field.form, 0)
        record, payload = bytes(head) + value.record, value.data
    elif field.type_id == 1:
        record, payload = (value & NONE).to_bytes(8, "little"), b""
    elif field.type_id == 2:
        record, payload = struct.pack("<d", value), b""
    elif field.type_id == 4:
        dims = struct.pack(f"<{len(value.dims)}I", *value.dims) if None in field.arguments["shape"] else b""
        record, payload = bytes(16) + dims, value.data
    elif field.type_id == 5:
        record, payload = bytes(16), value.encode()
    elif field.type_id == 6:
        record, payload = value, b""
    elif field.type_id == 40:
        record, payload = bytes(16), value.encode() if isinstance(value, str) else value
    else:
        record, payload = bytes(16), value
    return record.ljust(field.record, b"\0"), payload


# ---- The writer ----------------------------------------------------------------------------------------------------


def constant_bytes(label, size):
    return hashlib.shake_256(label.encode()).digest(size)


class Writer:
    """generations: lists of samples, the first written, the others appended. A sample is {field name: value}."""

    def __init__(self, fields, generations, keys=None, card=None, page_size=4096, checksums=True, dictionary=None,
                 key=None, passphrase=None, minor=1, sections=(), stream=False, statistics=True, row_gap=0, skew=0,
                 plain_dictionary=False):
        self.fields, self.generations, self.keys, self.card = fields, generations, keys, card
        self.page, self.checksums, self.dictionary, self.minor = page_size, checksums, dictionary, minor
        self.key, self.passphrase, self.extra, self.stream = key, passphrase, list(sections), stream
        self.statistics, self.skew, self.plain_dictionary = statistics, skew, plain_dictionary
        self.encrypted = key is not None or passphrase is not None
        at, largest = 0, 1
        for k, f in enumerate(fields):
            at = up(at + (row_gap if k else 0), f.align)
            f.row_offset = at
            at, largest = at + f.record, max(largest, f.align)
        self.row_bytes = up(at, largest)
        self.out, self.rows, self.records, self.entries, self.checks = bytearray(), [], [], [], []
        self.stats = [dict(present=0, nulls=0, stored=0, stored_max=0, value_max=0, bad=0, numbers=[], dims=[], units=[])
                      for _ in fields]
        if self.encrypted:
            self.file_id = constant_bytes("file id", 16)
            self.file_key = constant_bytes("file key", 32)
            self.payload_key = derive(self.file_key, 1)

    def pad(self, to):
        self.out += bytes(to - len(self.out))

    def pack(self, field, raw, sample, index, array):
        """Stored bytes, and the bytes before an address that must be a multiple of 64, None if it need not be."""
        stored, codec, lead = raw, 0, 0
        if field.flags & PREFIX:
            frame = FRAMES.get(raw)
            codec = int(frame is not None)
            stored = len(raw).to_bytes(7, "little") + bytes([codec]) + (frame if codec else raw)
            lead = 8
        if self.encrypted:
            nonce = constant_bytes(f"nonce {sample} {index}", 24)
        if self.encrypted and field.flags & CHUNKED:
            stored = self.in_chunks(stored, sample, index, nonce)
        elif self.encrypted:
            stored = nonce + seal(stored, self.file_id + struct.pack("<QH", sample, index), nonce, self.payload_key)
        viewable = array and not self.encrypted and not codec and len(raw) >= 1024
        return stored, lead if viewable else None, len(raw)

    def in_chunks(self, raw, sample, index, nonce):
        pieces, out, tail = [raw[at:at + 65536] for at in range(0, len(raw), 65536)], nonce, struct.unpack("<Q", nonce[16:])[0]
        for i, piece in enumerate(pieces):
            associated = self.file_id + struct.pack("<QHQQ", sample, index, i, len(pieces))
            out += seal(piece, associated, nonce[:16] + struct.pack("<Q", (tail + i) % 2**64), self.payload_key)
        return out

    def place(self, cursor, payloads):
        places = []
        for stored, lead, _ in payloads:
            cursor = up(cursor, 8) if lead is None else up(cursor + lead, 64) - lead
            places.append(cursor)
            cursor += len(stored)
        return places

    def add(self, sample, values):
        row, payloads, owners = bytearray(self.row_bytes), [], []
        valid = []
        for index, f in enumerate(self.fields):
            s, value = self.stats[index], values.get(f.name)
            if value is None:
                s["nulls"] += 1
                valid.append(False)
                continue
            valid.append(True)
            s["present"] += 1
            record, payload = encode(f, value)
            row[f.row_offset:f.row_offset + f.record] = record
            if f.type_id in (1, 2):
                s["numbers"].append(value)
            if f.type_id == 4:
                dims = value.dims if None in f.arguments["shape"] else f.arguments["shape"]
                s["dims"] = [max(p) for p in zip(dims, s["dims"])] if s["dims"] else list(dims)
            if f.type_id in range(10, 14):
                dims = struct.unpack_from("<HHB", record, 12)
                s["dims"] = [max(p) for p in zip(dims, s["dims"])] if s["dims"] else list(dims)
            if f.type_id == 20 and f.form == SIZE64:
                samples, rate, channels = struct.unpack_from("<QIH", record, 16)
                s["numbers"].append(rate)
                dims = min(samples, 2**32 - 1), channels
                s["dims"] = [max(p) for p in zip(dims, s["dims"])] if s["dims"] else list(dims)
            if f.type_id in (SPECTROGRAM, CODEC_TOKENS) or f.type_id == FLOW and f.arguments:
                s["dims"] = [max(p) for p in zip(value.dims, s["dims"])] if s["dims"] else list(value.dims)
            if f.type_id == MULTIMODAL and f.form == SIZE64:
                s["dims"] = [max(p) for p in zip(value.dims, s["dims"])] if s["dims"] else list(value.dims)
                s["units"].append(value.tokens)
            if f.type_id in (TOKENS, PACKED, HIERARCHICAL, STREAM) and f.arguments:
                s["numbers"] += value.ids
                s["units"].append(len(value.ids))
                s["dims"] = [max([len(value.ids), *s["dims"]])]
            if f.form and payload:
                pixels = f.type_id in (10, 13) and record[17] == 0
                viewable = f.type_id == MULTIMODAL and f.form == SIZE64 or f.type_id in (4, SPECTROGRAM, CODEC_TOKENS, TOKENS, PACKED, STREAM) or f.type_id == HIERARCHICAL and f.form == SIZE64 or f.type_id == 20 and f.form == SIZE64
                payloads.append(self.pack(f, payload, sample, index, viewable or pixels))
                owners.append(index)
        places = self.place(len(self.out) + self.skew, payloads)
        if payloads:
            end = places[-1] + len(payloads[-1][0])
            at_page = self.place(self.page, payloads)
            span = at_page[-1] + len(payloads[-1][0]) - at_page[0]
            if span < self.page // 8 and places[0] // self.page != (end - 1) // self.page:
                places = self.place(up(len(self.out), self.page), payloads)
        checks = {}
        for index, ptr, (stored, _, raw) in zip(owners, places, payloads):
            f, s = self.fields[index], self.stats[index]
            self.pad(ptr)
            self.out += stored
            struct.pack_into("<QQ" if f.form == SIZE64 else "<QI", row, f.row_offset, ptr, len(stored))
            self.entries.append((ptr, len(stored)))
            checks[index] = crc(stored)
            s["stored"] += len(stored)
            s["stored_max"], s["value_max"] = max(s["stored_max"], len(stored)), max(s["value_max"], raw)
        self.rows.append(bytes(row))
        self.records.append(valid)
        self.checks += [checks.get(i, 0) for i, f in enumerate(self.fields) if f.form]
        self.spans.append([(p, len(x[0])) for p, x in zip(places, payloads)])

    def descriptors(self):
        result, self.long = b"", []
        for i, f in enumerate(self.fields):
            arguments = canonical(f.arguments).encode() if f.arguments else b""
            size = len(arguments)
            if size > 128:
                self.long.append((i, arguments))
                arguments, size = b"", 65535
            result += struct.pack("<64sHHII128sHH", f.name.encode(), f.type_id, f.flags, f.record, f.row_offset,
                                  arguments, f.align, size)
        return result

    def section_2_to_12(self, n, history):
        """(kind, flags, bytes, param) in the order in which they are written."""
        payload_fields = [f for f in self.fields if f.form]
        result = []
        if self.checksums and payload_fields:
            result.append((2, 0, struct.pack(f"<{len(self.checks)}I", *self.checks), len(payload_fields)))
        nullable = [i for i, f in enumerate(self.fields) if f.flags & NULLABLE]
        if nullable:
            bits = b""
            for i in nullable:
                number = sum(1 << k for k, valid in enumerate(self.records) if valid[i])
                bits += number.to_bytes(up(n, 64) // 8, "little")
            result.append((5, 0, bits, len(nullable)))
        if self.keys is not None:
            result.append((6, 0, *self.key_section(n)))
        if payload_fields:
            pages = [NONE] * (max(0, self.metadata_ptr - self.data_ptr + self.page - 1) // self.page)
            for sample, spans in enumerate(self.spans):
                for ptr, size in spans:
                    for page in range((ptr - self.data_ptr) // self.page, (ptr + size - 1 - self.data_ptr) // self.page + 1):
                        if page < len(pages):
                            pages[page] = min(pages[page], sample)
            result.append((7, 0, struct.pack(f"<{len(pages)}Q", *pages), self.page))
        if self.dictionary and self.encrypted and not self.plain_dictionary:
            nonce = constant_bytes(f"dictionary nonce {len(self.rows)}", 24)
            sealed = seal(self.dictionary, self.file_id + struct.pack("<I", 15), nonce, derive(self.file_key, 3))
            result.append((15, 1, nonce + sealed, 0))
        elif self.dictionary:
            result.append((8, 1, self.dictionary, 0))
        if self.long:
            head, texts = b"", b""
            for i, arguments in self.long:
                head += struct.pack("<IIQQ", i, 0, 8 + 24 * len(self.long) + len(texts), len(arguments))
                texts += arguments
            result.append((10, 1, struct.pack("<II", len(self.long), 0) + head + texts, 0))
        if history:
            result.append((12, 0, b"".join(struct.pack("<IIQQ", *h) for h in history), 0))
        if self.statistics:
            result.append((4, 0, b"".join(map(self.statistics_record, self.fields, self.stats)), 128))
        if self.card is not None:
            result.append((3, 0, canonical(self.card).encode(), 0))
        return result

    def key_section(self, n):
        keys = [k.encode() for k in self.keys[:n]]
        power = 0
        while 2 * (1 << power) < 3 * n:
            power += 1
        offsets, at = [8 * (n + 1)], 8 * (n + 1)
        for k in keys:
            at += len(k)
            offsets.append(at)
        slots = [0] * (1 << power)
        for i, k in enumerate(keys):
            at = hash64(k) % len(slots)
            while slots[at]:
                at = (at + 1) % len(slots)
            slots[at] = i + 1
        body = struct.pack(f"<{n + 1}Q", *offsets) + b"".join(keys)
        return body.ljust(up(len(body), 8), b"\0") + struct.pack(f"<{len(slots)}Q", *slots), power

    @staticmethod
    def statistics_record(f, s):
        numbers = [v for v in s["numbers"] if isinstance(v, int) or math.isfinite(v)]
        bad = len(s["numbers"]) - len(numbers)
        kind, code = (3, "<2d") if f.type_id == 2 else (2, "<2Q") if f.type_id in (20, TOKENS, PACKED, STREAM) or f.arguments.get("dtype") == "<u8" else (1, "<2q")
        extremes, mean = bytes(16), 0.0
        if numbers:
            total = math.fsum(numbers) if f.type_id == 2 else float(sum(numbers))
            mean, extremes = 0.0 if s["units"] else total / len(numbers), struct.pack(code, min(numbers), max(numbers))
        dims = (s["dims"] + [0] * 8)[:8]
        return struct.pack("<6Q", s["present"], s["nulls"], s["stored"], s["stored_max"], s["value_max"], bad) + extremes \
            + struct.pack("<dII8I2Q", mean, kind if numbers else 0, len(s["dims"]), *dims, sum(s["units"]), max(s["units"], default=0))

    def tables(self, generation, history, front=True):
        """Tables, sections, directory and footer at the end of self.out; then the front header."""
        n, descriptors = len(self.rows), self.descriptors()
        self.pad(up(len(self.out), 64) + self.skew)
        self.metadata_ptr = len(self.out)
        metadata = b"".join(self.rows)
        self.out += metadata
        self.pad(up(len(self.out), 64) + self.skew)
        alloc_ptr = len(self.out)
        self.entries.sort()
        alloc = b"".join(struct.pack("<QQ", *entry) for entry in self.entries)
        self.out += alloc
        spans = ((128, descriptors, len(self.fields)), (self.metadata_ptr, metadata, n), (alloc_ptr, alloc, len(self.entries)))
        head = b"".join(struct.pack("<QQQ", ptr, len(data), count) for ptr, data, count in spans)
        blocks = b""
        if self.checksums:
            for _, data, _ in spans:
                blocks += b"".join(struct.pack("<I", crc(data[at:at + 65536])) for at in range(0, len(data), 65536))
        sections = [(1, 0, head + blocks, crc(head))] + self.section_2_to_12(n, history) + self.extra
        flags = 1 | (2 if any(f.flags & PREFIX for f in self.fields) else 0) | (4 if self.checksums else 0) \
            | (8 if self.encrypted else 0)
        end = len(self.out)
        for _, _, data, _ in sections:
            end = up(end, 8) + len(data)
        directory_ptr = up(end, 8) + (160 if self.encrypted else 0)
        header = struct.pack("<HHIQHHIQQQQQ", 1, self.minor, flags, n, len(self.fields), 0, self.page, 128,
                             self.metadata_ptr, self.data_ptr, alloc_ptr, directory_ptr)
        if self.encrypted:
            sections.append((9, 1, self.encryption(header + descriptors + metadata + alloc, sections), 0))
        directory = b""
        for kind, entry_flags, data, param in sections:
            self.pad(up(len(self.out), 8))
            directory += struct.pack("<IIQQIIQ", kind, entry_flags, len(self.out), len(data), crc(data), 0, param)
            self.out += data
        self.pad(up(len(self.out), 8))
        assert len(self.out) == directory_ptr
        self.out += b"MLDFDIR\0" + struct.pack("<II", len(sections), crc(directory)) + directory
        footer = header + struct.pack("<QI", len(self.out) + 96, generation)
        self.out += footer + struct.pack("<I", crc(footer)) + MAGIC + bytes(7)
        if front:
            self.out[9:73] = header

    def encryption(self, authenticated, sections):
        salt, wrap_nonce = constant_bytes("salt", 16), constant_bytes("wrap nonce", 24)
        kdf, ops, mem, kek = 0, 0, 0, self.key
        if self.passphrase is not None:
            kdf, ops, mem = 1, 1, 8192
            kek = stretch(self.passphrase.encode(), salt, ops, mem)
        else:
            salt = bytes(16)
        for kind, flags, data, param in sections:
            authenticated += struct.pack("<IIQQ", kind, flags, len(data), param) + data
        mac = keyed_hash(authenticated, derive(self.file_key, 2))
        return struct.pack("<II", 1, kdf) + self.file_id + salt + struct.pack("<QQ", ops, mem) + wrap_nonce \
            + seal(self.file_key, self.file_id, wrap_nonce, kek) + mac

    def write(self):
        self.spans, history = [], []
        self.data_ptr = up(128 + 208 * len(self.fields), self.page)
        self.out += MAGIC + bytes(119) + self.descriptors()
        if self.stream:
            flags = 1 | (4 if self.checksums else 0)
            self.out[9:73] = struct.pack("<HHIQHHIQQQQQ", 1, self.minor, flags, 0, len(self.fields), 0, self.page, 0, 0, 0, 0, 0)
        self.pad(self.data_ptr)
        for generation, samples in enumerate(self.generations):
            if generation:
                self.pad(up(len(self.out), 64))
                history.append((generation, 0, len(self.rows), len(samples)))
            for values in samples:
                self.add(len(self.rows), values)
            self.tables(generation, history, not self.stream)
        return bytes(self.out)


def sealed(data, key=None, passphrase=None):
    """An encrypted file with its tables encrypted too."""
    fields, page, data_ptr, tail, directory = (struct.unpack_from(c, data, at)[0] for c, at in (
        ("<H", 25), ("<I", 29), ("<Q", 49), ("<Q", 41), ("<Q", 65)))
    entries = struct.unpack_from("<I", data, directory + 8)[0]
    section = next(ptr for kind, ptr in (struct.unpack_from("<I4xQ", data, directory + 16 + 40 * i) for i in range(entries))
                   if kind == 9)
    prefix, run = 128 + 208 * fields, data[tail:] + data[:128 + 208 * fields]
    nonce, file_id, table_key = constant_bytes("table nonce", 24), data[section + 8:section + 24], derive(constant_bytes("file key", 32), 4)
    stored, tags = b"", b""
    for k in range(-(-len(run) // (1 << 20))):
        number = (int.from_bytes(nonce[16:], "little") + k) % 2**64
        box = seal(run[k << 20:(k + 1) << 20], file_id + struct.pack("<QQQ", k, len(data) - tail, prefix),
                   nonce[:16] + number.to_bytes(8, "little"), table_key)
        stored, tags = stored + box[:-16], tags + box[-16:]
    out = bytes(prefix) + data[prefix:tail] + stored + tags
    out += bytes(up(len(out), 8) - len(out))
    header = struct.pack("<HHIQHHIQQQQQ", 1, 1, 1 | 8 | 16, 0, 0, 0, page, 0, 0, data_ptr, 0, len(out))
    envelope = b"MLDFENV\0" + struct.pack("<QQQ", tail, len(data) - tail, prefix) + nonce + data[section:section + 128] + bytes(32 + 12)
    return MAGIC + header + out[73:] + envelope + struct.pack("<I", crc(envelope))


def small(n, fields=None, **options):
    """A plain little file: label and name."""
    fields = fields or [integer("label"), text("name")]
    names = ["zero", "one", "two", "three", "", "five", "six", "sieben 七", "eight"]
    return Writer(fields, [[{"label": 10 * i, "name": names[i % 9]} for i in range(n)]], **options)


# ---- Expected values -----------------------------------------------------------------------------------------------


def digest(data):
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def number(v):
    if isinstance(v, float) and not math.isfinite(v):
        return "NaN" if math.isnan(v) else "Infinity" if v > 0 else "-Infinity"
    return v


def nested(flat, shape):
    if not shape:
        return flat[0]
    step = math.prod(shape[1:])
    return [nested(flat[i * step:(i + 1) * step], shape[1:]) for i in range(shape[0])]


def scalars(dtype, data):
    """The elements of an array as JSON values, with struct alone."""
    if dtype == "bfloat16":
        return [number(struct.unpack("<f", b"\0\0" + data[i:i + 2])[0]) for i in range(0, len(data), 2)]
    code = {"|b1": "?", "|i1": "b", "|u1": "B", "<i2": "h", "<u2": "H", "<i4": "i", "<u4": "I", "<i8": "q", "<u8": "Q",
            "<f2": "e", "<f4": "f", "<f8": "d", "<c8": "f", "<c16": "d"}[dtype]
    flat = [number(v[0]) for v in struct.iter_unpack("<" + code, data)]
    return [flat[i:i + 2] for i in range(0, len(flat), 2)] if dtype[1] == "c" else flat


class Shown:
    """An INLINE value: its record and what a reader shows."""

    def __init__(self, record, shown):
        self.record, self.shown = record, shown


def expected_value(f, v):
    if v is None:
        return None
    if isinstance(v, Shown):
        return v.shown
    if isinstance(v, (Grid, Flow)):
        data = v.floats if isinstance(v, Flow) else v.data
        result = {"dtype": v.dtype, "shape": list(v.dims), "sha256": hashlib.sha256(data).hexdigest()}
        if math.prod(v.dims) <= 64:
            result["data"] = nested(scalars(v.dtype, data), v.dims)
        return result
    if isinstance(v, Raw):
        return {"record": None, **digest(v.data)}
    if f.type_id == 1:
        return bool(v) if f.arguments.get("dtype") == "|b1" else v
    if f.type_id == 2:
        return number(v)
    if f.type_id == 4:
        dtype = f.arguments["dtype"]
        dims = list(v.dims) if None in f.arguments["shape"] else f.arguments["shape"]
        result = {"dtype": dtype, "shape": dims, "sha256": hashlib.sha256(v.data).hexdigest()}
        if math.prod(dims) <= 64:
            result["data"] = nested(scalars(dtype, v.data), dims)
        return result
    if f.type_id == 5:
        return json.loads(v)
    return v if f.type_id == 40 else digest(v)


def expected(w):
    samples, flat = [], [v for generation in w.generations for v in generation]
    for i, values in enumerate(flat):
        sample = {}
        for f in w.fields:
            v = values.get(f.name)
            sample[f.name] = expected_value(f, v)
            if isinstance(v, Raw) and not isinstance(v, (Grid, Flow)):
                sample[f.name]["record"] = w.rows[i][f.row_offset:f.row_offset + f.record].hex()
        samples.append(sample)
    flags = 1 | (2 if any(f.flags & PREFIX for f in w.fields) else 0) | (4 if w.checksums else 0) | (8 if w.encrypted else 0)
    return {"version": f"1.{w.minor}", "flags": flags, "page_size": w.page, "num_samples": len(flat),
            "fields": [{"name": f.name, "type_id": f.type_id, "nullable": bool(f.flags & NULLABLE),
                        "record_bytes": f.record, "row_offset": f.row_offset, "arguments": f.arguments} for f in w.fields],
            "card": w.card, "keys": w.keys[:len(flat)] if w.keys is not None else None, "samples": samples}


# ---- The valid files -----------------------------------------------------------------------------------------------


def pack_plan(rows, lengths, bins, length, algorithm=1, long=0, field=0, bos=0, eos=0, align=1, max_pieces=0, placed=None, cut=0, wide=False):
    """Header (without offsets) and tables of a plan whose bins are lists of (document, from, length)."""
    total = sum(n for n in lengths if n is not None)
    placed = total if placed is None else placed
    digest_ = hash64(struct.pack(f"<{len(lengths)}Q", *(NONE if n is None else n for n in lengths)))
    firsts, pieces = [0], []
    for b in bins:
        pieces += b
        firsts.append(len(pieces))
    table = b"".join(struct.pack("<QII" if wide else "<III", *p) for p in pieces)
    head = struct.pack("<7Q6IH4B26x", len(bins), len(pieces), rows, placed, total - placed, cut, digest_, length, align, max_pieces,
                       max(map(len, bins), default=0), bos, eos, field, algorithm, 1, long, int(wide))
    return head, struct.pack(f"<{len(firsts)}Q", *firsts), table


def plan_section(plans):
    head, body, at = b"", b"", 8 + 128 * len(plans)
    for header, firsts, table in plans:
        head += struct.pack("<QQ", at, at + len(firsts)) + header
        tables = firsts + table
        tables += bytes(-len(tables) % 8)
        body, at = body + tables, at + len(tables)
    return struct.pack("<II", 1, len(plans)) + head + body


def planned():
    """Documents of 3, 0, null, 5, 12, 2, 4 tokens in bins of 5: what the library plans, too."""
    field = token_field("t", TOKENS, {"dtype": "|u1"}, NULLABLE)
    lengths = [3, 0, None, 5, 12, 2, 4]
    rows = [{"t": None if n is None else Ids(field, list(range(n)))} for n in lengths]
    plans = [pack_plan(7, lengths, [[(3, 0, 5)], [(4, 0, 5)], [(4, 5, 5)], [(6, 0, 4)], [(0, 0, 3), (4, 10, 2)], [(5, 0, 2)]], 5, cut=1),
             pack_plan(7, lengths, [[(0, 0, 3)], [(3, 0, 5)], [(5, 0, 2)], [(6, 0, 4)]], 5, algorithm=2, long=2, placed=14),
             pack_plan(5, lengths[:5], [[(0, 0, 3)], [(3, 0, 5)], [(4, 0, 7)]], 8, algorithm=2, long=1, eos=8, placed=15, cut=1, wide=True)]
    return Writer([field], [rows], sections=[(11, 0, plan_section(plans), len(plans))]), plans


def inline_values(fields, *values):
    """INLINE values are given as Shown; the encoder wants records."""
    return dict(zip((f.name for f in fields), values))


def valid_files():
    """Yields (name, Writer, how to change the bytes or None, extra facts for the manifest)."""
    yield "hello", small(2), None, {}

    dtypes = {"|b1": (0, 1), "|i1": (-128, 127), "|u1": (0, 255), "<i2": (-2**15, 2**15 - 1), "<u2": (0, 2**16 - 1),
              "<i4": (-2**31, 2**31 - 1), "<u4": (0, 2**32 - 1), "<u8": (0, 2**64 - 1)}
    fields = [integer("plain")] + [integer(d[1:], d) for d in dtypes]
    rows = [{"plain": (-2**63, 2**63 - 1)[k], **{d[1:]: v[k] for d, v in dtypes.items()}} for k in (0, 1)]
    yield "int", Writer(fields, [rows]), None, {}

    numbers = [0.0, -0.0, 1.5, math.pi, 5e-324, 1.7976931348623157e308, math.nan, math.inf, -math.inf, 1e20, 0.1]
    yield "float", Writer([floating("x")], [[{"x": v} for v in numbers]]), None, {}

    sizes = [0, 1, 7, 8, 9, 400, 500, 511, 512, 513, 100, 3000, 4096, 5000, 0, 30, 490, 490, 490]
    yield "bytes", Writer([blob("b")], [[{"b": constant_bytes(f"bytes {i}", n)} for i, n in enumerate(sizes)]]), None, {}

    fields = [ndarray(d.strip("|<"), d, [2, 3]) for d in ITEM]
    rows = []
    for k in range(2):
        row = {}
        for d, size in ITEM.items():
            data = bytes(i & 1 for i in range(6)) if d == "|b1" else constant_bytes(f"{d} {k}", 6 * size)
            if d in ("<f2", "<f4", "<f8", "<c8", "<c16"):
                code = {"<f2": "e", "<f4": "f", "<f8": "d", "<c8": "f", "<c16": "d"}[d]
                count = 6 * size // struct.calcsize(code)
                data = struct.pack(f"<{count}{code}", *[(i - 3) * 0.75 + k for i in range(count - 1)], math.inf)
            if d == "bfloat16":
                data = struct.pack("<6H", 0x3F80, 0xBF80, 0x4049, 0x0001, 0x7F80, 0x7F00 + k)
            row[d.strip("|<")] = Array(data)
        rows.append(row)
    yield "ndarray_dtypes", Writer(fields, [rows]), None, {}

    fields = [ndarray("line", "<i4", [None]), ndarray("box", "<u2", [None, 3, None]), ndarray("scalar", "<f8", []),
              ndarray("empty", "<f4", [0, 3]), ndarray("eight", "|u1", [1, 2, 1, 2, 1, 2, 1, None]),
              ndarray("wide", "<f4", [16, 20])]

    def shapes(k):
        line, a, b, last = (0, 3, 300)[k], (1, 0, 4)[k], (2, 5, 40)[k], (1, 3, 0)[k]
        return {"line": Array(struct.pack(f"<{line}i", *range(line)), [line]),
                "box": Array(struct.pack(f"<{a * 3 * b}H", *range(a * 3 * b)), [a, 3, b]),
                "scalar": Array(struct.pack("<d", k + 0.5)), "empty": Array(b""),
                "eight": Array(bytes(range(8 * last)), [1, 2, 1, 2, 1, 2, 1, last]),
                "wide": Array(struct.pack("<320f", *range(320)))}
    yield "ndarray_shapes", Writer(fields, [[shapes(k) for k in range(3)]]), None, {}

    texts = ['null', '0', '-1.5e3', '"ü\\n\\u00e9"', '[]', '{}', '[1,[2,{"a":null}],true]', ' {"b": 1, "a": [1.25]} ',
             '{"unicode":"\U0001F600"}']
    yield "json", Writer([js("j")], [[{"j": t} for t in texts]]), None, {}

    strings = ["", "a", "grüße", "日本語", "\U0001F600\n\t\"quoted\"", "x" * 600]
    yield "text", Writer([text("t")], [[{"t": t} for t in strings]]), None, {}
    yield "inline", *inline_file()
    yield "inline_blocks", *inline_blocks()

    fields = [integer("i", None, NULLABLE), floating("f", NULLABLE), blob("b", NULLABLE), js("j", NULLABLE),
              ndarray("a", "<i2", [None], NULLABLE), inline("p", [["x", "<f4"], ["y", "<f4"]], NULLABLE),
              text("t", NULLABLE), integer("always")]
    rows = []
    for k in range(70):
        full = {"i": k, "f": k / 4, "b": b"b" * (k % 5), "j": str(k), "a": Array(bytes(2 * (k % 4)), [k % 4]),
                "p": Shown(struct.pack("<ff", k, -k), {"x": float(k), "y": float(-k)}), "t": f"t{k}" * (k % 3)}
        rows.append({name: v for n, (name, v) in enumerate(full.items()) if (k >> n % 3) % 2} | {"always": k})
    yield "nulls", Writer(fields, [rows]), None, {}

    crowd = [k for k in (f"key{i}" for i in range(200)) if hash64(k.encode()) % 8 in (6, 7)][:4] + ["ä/ö.jpg"]
    yield "keys_wrap", small(5, keys=crowd), None, {}
    yield "keys", small(100, keys=[f"class {i % 7}/{'long name ' * (i % 9)}{i}" for i in range(100)]), None, {}
    yield "keys_one", small(1, keys=["k" * 3000]), None, {}

    card = {"title": "Kleine Probe", "licence": "CC0-1.0", "classes": ["cat", "dog", "鳥"], "mean": [0.485, 1e20, 1.0, -2.5e-7],
            "nested": {"z": None, "a": [True, False], "tab": "a\tb\x01\"\\"}, "count": 12345678901234}
    yield "card", small(1, card=card), None, {}
    yield "card_empty", small(1, card={}), None, {}

    descr = [[f"feature_number_{i}", "<f4", [2]] for i in range(12)]
    long_field, other = inline("stats", descr), inline("more", [[f"m{i}", "|i1"] for i in range(20)])
    row = {"stats": Shown(struct.pack("<24f", *range(24)), {f"feature_number_{i}": [2.0 * i, 2.0 * i + 1] for i in range(12)}),
           "id": 7, "more": Shown(bytes(range(20)), {f"m{i}": i for i in range(20)})}
    yield "long_arguments", Writer([long_field, integer("id"), other], [[row]]), None, {}

    fields = [Field("sound", 0x8001, {"rate": 16000, "type": "org.example.sound"}, SIZE64, 24),
              Field("future", 7777, {"anything": [1, {"x": None}]}, SIZE32, 24),
              Field("odd", 9, {}, 0, 3, 1), Field("wide", 0x9000, {"type": "org.example.wide"}, NULLABLE, 32, 32)]
    rows = [{"sound": Raw(b"\1\2\3\4", b"sound" * 30), "future": Raw(bytes(range(12)), b"future"), "odd": Raw(b"abc"),
             "wide": Raw(bytes(range(32)))},
            {"sound": Raw(b""), "future": Raw(b"", b"x"), "odd": Raw(b"\0\0\0"), "wide": None}]
    yield "unknown_types", Writer(fields, [rows]), None, {}

    fields = [image_field("any", 13, {"encode": "smart", "icc": "card", "max_resolution": 512, "smart_threshold": 4096}, NULLABLE),
              image_field("pixels", 10), image_field("png", 12, None, NULLABLE)]
    rows = [{"any": image(2, 3, 3, 0, bytes(range(18))), "pixels": image(20, 30, 2, 0, constant_bytes("deep", 2400), 16),
             "png": image(1, 1, 3, 2, PIXEL, 8, 0, 0)},
            {"any": image(1, 1, 3, 2, PIXEL), "pixels": image(3, 5, 3, 6, constant_bytes("yuv", 15 + 2 * 6)), "png": None},
            {"any": image(0, 0, 0, 255, b"GIF89a and more", 8, 0, 0), "pixels": image(1, 1, 1, 0, b"x", 0, 0, 8), "png": None},
            {"any": image(40, 10, 3, 0, constant_bytes("rgb", 1200)), "pixels": image(0, 0, 0, 0, b"", 0, 0, 0), "png": None},
            {"any": None, "pixels": image(32, 32, 1, 0, bytes(1024)), "png": None}]
    yield "images", Writer(fields, [rows]), None, {}
    for name, payloads in (("fast_jpeg", FAST_JPEGS), ("fast_jpeg_samplings", FAST_SAMPLINGS)):
        rows = [{"image": image(height, width, channels, 7, payload)} for height, width, channels, payload in payloads.values()]
        yield name, Writer([image_field("image", 13, {"encode": "fast-jpeg", "fast_limit": 100})], [rows]), None, {}

    fields = [sound_field("any", None, NULLABLE), sound_field("fixed", {"channels": 2, "mask": 3, "rate": 16000}),
              sound_field("packed", None, PREFIX), Field("draft", 20, {}, SIZE32, 24)]
    draft = Raw(struct.pack("<IIHBB", 3, 8000, 1, 16, 0), b"sixsix")
    rows = [{"any": sound(300, 44100, 2, 16, 0, constant_bytes("stereo", 1200)), "fixed": sound(2, 16000, 2, 16, 0, bytes(range(8))),
             "packed": sound(512, 16000, 1, 32, 16, RAMP), "draft": draft},
            {"any": sound(5, 48000, 1, 24, 0, bytes(range(15))), "fixed": sound(0, 16000, 2, 32, 16, b""),
             "packed": sound(3, 8000, 1, 8, 18, b"\0\x7f\xff"), "draft": Raw(b"")},
            {"any": None, "fixed": sound(1, 16000, 2, 64, 16, struct.pack("<dd", 0.1, math.inf)),
             "packed": sound(0, 2**32 - 1, 65535, 8, 0, b""), "draft": Raw(b"")},
            {"any": sound(3, 1, 3, 32, 0, struct.pack("<9i", *range(-2**31, 2**31, 2**29 + 2**21), 1)[:36]),
             "fixed": sound(4, 16000, 2, 8, 0, bytes(range(124, 132))), "packed": sound(2048, 22050, 1, 8, 17, bytes(2048)), "draft": Raw(b"")}]
    yield "recordings", Writer(fields, [rows]), None, {}

    def frames(sizes, channels, step):
        return [[tuple((1000 * c + step * (k + 17 * i)) % 65536 - 32768 for c in range(channels)) for k in range(size)]
                for i, size in enumerate(sizes)]

    fields = [packets_field("any", None, NULLABLE), packets_field("fixed", {"channels": 2, "encode": "flac", "rate": 16000}),
              Field("draft", 21, {}, SIZE32, 24)]
    rows = [{"any": flac_sound(44100, 1, frames([200, 200, 7], 1, 311)), "fixed": flac_sound(16000, 2, frames([64] * 3, 2, 5)),
             "draft": Raw(struct.pack("<IIHBB", 3, 8000, 1, 16, 1), b"sixsix")},
            {"any": flac_sound(8000, 3, frames([33, 16, 20], 3, 77), tail=b"TAG"), "fixed": sound(2, 16000, 2, 16, 0, bytes(range(8))),
             "draft": Raw(b"")},
            {"any": None, "fixed": flac_sound(16000, 2, frames([16], 2, 999), whole=False, kept=True), "draft": Raw(b"")},
            {"any": sound(300, 44100, 2, 16, 0, constant_bytes("stereo", 1200)),
             "fixed": flac_sound(16000, 2, frames([30, 40, 50], 2, 1), wide=True), "draft": Raw(b"")},
            {"any": flac_sound(44100, 1, []), "fixed": sound(0, 16000, 2, 32, 16, b""), "draft": Raw(b"")}]
    yield "packets", Writer(fields, [rows]), None, {}

    fields = [video_field("raw", {"mode": "raw"}, NULLABLE), video_field("files", {"mode": "image", "pts": True}),
              video_field("deep", {"bits": 16, "channels": 1, "fps": [25, 1], "mode": "raw"}), Field("draft", 30, {}, SIZE32, 32)]
    rows = [{"raw": video(2, 3, [bytes(range(k, k + 18)) for k in range(5)]), "files": video(1, 1, [PIXEL] * 3, (90000, 1), [-7, 0, 2**40]),
             "deep": video(20, 30, [constant_bytes(f"deep {k}", 1200) for k in range(2)], (25, 1)), "draft": Raw(bytes(range(20)), b"sixsix")},
            {"raw": None, "files": video(1, 1, [PIXEL], (1, 1), [5]), "deep": video(1, 1, [b"xy"], (2**32 - 1, 2**32 - 1)), "draft": Raw(b"")},
            {"raw": video(40, 9, [constant_bytes("clip", 1080)], (30000, 1001)), "files": video(0, 0, [], (1, 1), []),
             "deep": video(0, 0, [], (25, 1)), "draft": Raw(b"")}]
    yield "videos", Writer(fields, [rows]), None, {}

    fields = [video_packets_field("clip", None, NULLABLE), video_packets_field("silent", {"audio": False}), Field("draft", 31, {}, SIZE32, 48)]
    heard = flac_sound(16000, 1, [[(100 * i + k,) for k in range(32)] for i in range(3)])
    rows = [{"clip": video_packets(VIDEO_IMAGES * 2, heard, start=(-1, 48)), "silent": video_packets(VIDEO_IMAGES), "draft": Raw(bytes(range(36)), b"sixsix")},
            {"clip": None, "silent": video_packets(VIDEO_IMAGES[1:], turn=1), "draft": Raw(b"")}]
    yield "video_packets", Writer(fields, [rows]), None, {}

    fields = [token_field("doc", TOKENS, {"dtype": "<u2", "eos": 50256, "tokenizer": "gpt2", "vocabulary": 50257}, NULLABLE),
              token_field("bytes", TOKENS, {"dtype": "|u1"}, PREFIX), token_field("packed", PACKED, {"dtype": "<i4", "pad": 7, "vocabulary": 100000}),
              token_field("stream", STREAM, {"dtype": "<u2"}), Field("draft", TOKENS, {}, SIZE32, 16),
              Field("old", PACKED, {}, SIZE32, 16)]
    mask = ndarray("mask", "|u1", [None], NULLABLE)
    mask.arguments |= {"along": "doc", "form": "dense"}
    spans = ndarray("spans", "<u4", [None, 2])
    spans.arguments |= {"along": "stream", "form": "spans"}
    doc, packed_bytes, packed, stream = fields[:4]
    fields += [mask, spans]
    old = Raw(b"", b"old")
    rows = [{"doc": Ids(doc, list(range(600))), "bytes": Ids(packed_bytes, list(b"caf\xc3\xa9")),
             "packed": Ids(packed, [5, 99999, 0, 7, 7], [(1, 3), (3, 0)]), "stream": Ids(stream, [1, 2, 3, 65535, 5], [3, 3, 5]),
             "draft": Raw(struct.pack("<HBB", 2, 1, 0), struct.pack("<2i", 3, 70000)), "old": old,
             "mask": Array(bytes(600), [600]), "spans": Array(struct.pack("<4I", 0, 2, 2, 5), [2, 2])},
            {"doc": Ids(doc, []), "bytes": Ids(packed_bytes, []), "packed": Ids(packed, [7, 7], []), "stream": Ids(stream, [], []),
             "draft": Raw(struct.pack("<HBB", 3, 3, 0), b"abc"), "old": Raw(b""), "mask": None, "spans": Array(b"", [0, 2])},
            {"doc": None, "bytes": Ids(packed_bytes, [255]), "packed": Ids(packed, [], []), "stream": Ids(stream, [], [0, 0]),
             "draft": Raw(b""), "old": Raw(b""), "mask": Array(b"", [0]), "spans": Array(struct.pack("<2I", 0, 0), [1, 2])}]
    yield "tokens", Writer(fields, [rows]), None, {}

    fields = [token_field("doc", HIERARCHICAL, {"dtype": "<u2", "vocabulary": 50257}, NULLABLE), token_field("small", HIERARCHICAL, {"dtype": "|u1"}, PREFIX),
              Field("draft", HIERARCHICAL, {}, SIZE32, 16)]
    doc, tiny = fields[:2]
    rows = [{"doc": Ids(doc, [50256, 1, 2, 3, 4, 5, 6], ((3, 7), (2, 3, 4, 7))), "small": Ids(tiny, list(range(200)), ((200,), (7, 200))), "draft": Raw(b"", b"old")},
            {"doc": None, "small": Ids(tiny, [9], ((1,), (1,))), "draft": Raw(b"")},
            {"doc": Ids(doc, []), "small": Ids(tiny, []), "draft": Raw(b"")}]
    yield "hierarchical", Writer(fields, [rows]), None, {}

    fields = [grid_field("mel", SPECTROGRAM, {"bins": 3, "dtype": "<f2", "hop": 160, "pipeline": "decode_audio | mel(preset=whisper)", "rate": 16000}, NULLABLE),
              grid_field("power", SPECTROGRAM, {"dtype": "<f4", "layout": "ft"}, PREFIX),
              grid_field("codes", CODEC_TOKENS, {"codebooks": 2, "rate": [75, 1], "vocabulary": 256}),
              grid_field("more", CODEC_TOKENS, {"vocabulary": 1024}), grid_field("most", CODEC_TOKENS, {"rate": [25, 2], "vocabulary": 2**31})]
    mel, power, codes, more, most = fields
    rows = [{"mel": Grid(mel, [4, 3], [0.5 * i - 3 for i in range(12)]), "power": Grid(power, [5, 30], [i / 7 for i in range(150)]),
             "codes": Grid(codes, [2, 3], [0, 255, 1, 2, 3, 4]), "more": Grid(more, [1, 4], [1023, 0, 5, 6]),
             "most": Grid(most, [3, 1], [2**31 - 1, 0, 70000])},
            {"mel": None, "power": Grid(power, [0, 0], []), "codes": Grid(codes, [2, 0], []), "more": Grid(more, [8, 100], [i % 1024 for i in range(800)]),
             "most": Grid(most, [0, 7], [])},
            {"mel": Grid(mel, [0, 3], []), "power": Grid(power, [1, 2], [1.5, -2.25]), "codes": Grid(codes, [2, 1], [9, 9]),
             "more": Grid(more, [0, 0], []), "most": Grid(most, [1, 2], [1, 2])}]
    yield "features", Writer(fields, [rows]), None, {}

    fields = [flow_field("half", {"dtype": "<f2"}, NULLABLE), flow_field("bytes", {"dtype": "|i1"}), flow_field("small", {"dtype": "|i1"}, PREFIX), flow_field("draft", {})]
    half, byte = fields[0], fields[1]
    rows = [{"half": Flow(half, 1, 2, 3, [0.5, -1, 2.25, 65504, -65504, math.nan, 0, 1, 2, 3, 4, 5]), "bytes": Flow(byte, 2, 1, 2, [127, -127, 0, -128, 1, 2, 3, 4], 0.1),
             "small": Flow(byte, 3, 20, 30, [i % 5 for i in range(3600)], 2.0**-100), "draft": Raw(bytes(16), b"of the draft")},
            {"half": None, "bytes": Flow(byte, 0, 7, 9, []), "small": Flow(byte, 1, 1, 1, [-1, 1], 2.0**100), "draft": Raw(b"")}]
    yield "flow", Writer(fields, [rows]), None, {}

    kinds = {"text": ("text", text("text")), "tokens": ("text_tokenized", token_field("tokens", TOKENS, {"dtype": "<u2", "vocabulary": 1000})),
             "image": ("image", image_field("image")), "boxes": ("ndarray", ndarray("boxes", "<f4", [None, 4])), "label": ("int", integer("label")),
             "data": ("bytes", blob("data")), "sound": ("audio_waveform", sound_field("sound"))}
    fields = [multimodal_field("doc", kinds, NULLABLE), Field("draft", MULTIMODAL, {}, SIZE32, 24), integer("n")]
    ids = kinds["tokens"][1]
    rows = [{"doc": Parts(fields[0], [("text", "a c\u00e9t", 0, 0), ("image", image(2, 3, 3, 0, bytes(range(18))), 1, 0), ("boxes", Array(struct.pack("<8f", *range(8)), [2, 4]), 1, 0),
                                      ("image", None, 2, 0), ("tokens", Ids(ids, [5, 999, 0]), 0, -7), ("label", -3, 0, 2**40), ("text", "", 0, 0),
                                      ("sound", sound(1600, 16000, 1, 16, 0, constant_bytes("doc", 3200)), 0, 0), ("tokens", Ids(ids, []), 0, 0)],
                          3, 1, 6, 1600, 100), "draft": Raw(bytes(12), b"of the draft"), "n": 0},
            {"doc": None, "draft": Raw(b""), "n": 1},
            {"doc": Parts(fields[0], []), "draft": Raw(b""), "n": 2},
            {"doc": Parts(fields[0], [("data", constant_bytes("part", 1500), 2**32 - 1, -2**63), ("label", 7, 0, 2**63 - 1)]), "draft": Raw(b""), "n": 3}]
    yield "multimodal", Writer(fields, [rows]), None, {}

    kinds = {"clip": ("video_compressed", video_packets_field("clip")), "text": ("text", text("text"))}  # a record that needs wider entries
    fields = [multimodal_field("doc", kinds, NULLABLE), integer("n")]
    first, second = video_packets(VIDEO_IMAGES * 2, heard, start=(-1, 48)), video_packets(VIDEO_IMAGES[1:], turn=1)
    shown = sum(struct.unpack_from("<Q", clip.record, 24)[0] // 1000 for clip in (first, second))
    rows = [{"doc": Parts(fields[0], [("text", "before", 0, 0), ("clip", first, 1, -5), ("clip", None, 0, 0), ("text", "", 0, 0), ("clip", second, 2, 7)], milliseconds=shown), "n": 0},
            {"doc": None, "n": 1}, {"doc": Parts(fields[0], [("text", "alone", 0, 0)]), "n": 2}]
    yield "multimodal_videos", Writer(fields, [rows]), None, {}

    w, plans = planned()
    yield "pack_plans", w, None, {}

    fields = [blob("b", PREFIX), ndarray("a", "<f4", [512], PREFIX), text("t", PREFIX | NULLABLE), blob("raw")]
    rows = [{"b": FOX, "a": Array(RAMP), "t": "stored as it is", "raw": FOX},
            {"b": b"", "a": Array(bytes(2048)), "t": None, "raw": b""},
            {"b": b"short", "a": Array(constant_bytes("noise", 2048)), "t": "", "raw": b"r"}]
    yield "zstd", Writer(fields, [rows]), None, {}
    yield "zstd_dictionary", Writer([text("t", PREFIX), integer("i")], [[{"t": JUGS.decode(), "i": 1}, {"t": "jugs", "i": 2}]],
                                    dictionary=DICTIONARY), None, {}

    key = constant_bytes("user key", 32)
    secret = dict(key=key)
    yield "encrypted_key", small(3, **secret), None, {"key": key.hex()}
    yield "encrypted_passphrase", small(2, passphrase="correct horse ⚡", keys=["a", "b"], card={"title": "not hidden"}), None, \
        {"passphrase": "correct horse ⚡"}
    fields = [blob("b", PREFIX), ndarray("a", "<f4", [None], NULLABLE | PREFIX), js("j", NULLABLE)]
    rows = [{"b": FOX, "a": Array(RAMP, [512]), "j": "[1]"}, {"b": b""}, {"b": b"tiny", "a": Array(b"", [0]), "j": "null"}]
    yield "encrypted_zstd", Writer(fields, [rows[:2], rows[2:]], key=key, dictionary=None), None, {"key": key.hex()}
    fields, rows = [text("t", PREFIX), integer("i")], [{"t": JUGS.decode(), "i": 1}, {"t": "jugs", "i": 2}, {"t": JUGS.decode(), "i": 3}]
    yield "encrypted_dictionary", Writer(fields, [rows[:2], rows[2:]], key=key, dictionary=DICTIONARY), None, {"key": key.hex()}
    yield "encrypted_plain_dictionary", Writer(fields, [rows], passphrase="an old file", dictionary=DICTIONARY,
                                               plain_dictionary=True), None, {"passphrase": "an old file"}

    yield "encrypted_all", small(3, key=key, keys=["a", "b", "c"], card={"title": "hidden"}), sealed, {"key": key.hex()}
    fields = [inline("v", [["data", "|V4096"]]), text("t")]
    rows = [{"v": Shown(constant_bytes(f"block {k}", 4096), {"data": digest(constant_bytes(f"block {k}", 4096))}), "t": "x" * k}
            for k in range(9)]
    yield "encrypted_all_passphrase", Writer(fields, [rows], passphrase="open sesame"), sealed, {"passphrase": "open sesame"}
    # Sealed in chunks, beside a field as earlier versions sealed it. 65536 bytes are one chunk, 65537 are two.
    rng = [constant_bytes(f"chunk {i}", n) for i, n in enumerate((65537, 1, 65536))]
    fields = [sound_field("a", {"rate": 8000}, CHUNKED | NULLABLE), sound_field("old", {"rate": 8000}),
              packets_field("p", None, CHUNKED)]
    rows = [{"a": sound(len(x), 8000, 1, 8, 0, x), "old": sound(5, 8000, 1, 8, 0, x[:5].ljust(5, b"!")),
             "p": flac_sound(16000, 1, [[(100 * i + k,) for k in range(32)] for i in range(2)])} for x in rng]
    rows += [{"a": None, "old": sound(0, 8000, 1, 8, 0, b""), "p": flac_sound(16000, 1, [])},
             {"a": sound(0, 8000, 1, 8, 0, b""), "old": sound(1, 8000, 1, 8, 0, b"x"), "p": flac_sound(16000, 1, [[(7,)] * 32])}]
    yield "encrypted_chunks", Writer(fields, [rows[:3], rows[3:]], key=key), None, {"key": key.hex()}

    yield "no_checksums", small(3, checksums=False, card={"a": 1}), None, {}
    yield "zero_samples", small(0, [integer("label", None, NULLABLE), text("name")], keys=[], card={}), None, {}
    yield "zero_samples_scalar", Writer([integer("i")], [[]]), None, {}
    yield "scalars_only", Writer([integer("i"), floating("f")], [[{"i": k, "f": k * 0.5} for k in range(10)]]), None, {}
    yield "no_statistics", small(2, statistics=False), None, {}

    rows = [{"label": i, "name": f"sample {i} " * (i % 4)} for i in range(9)]

    def grown(**options):
        return Writer([integer("label"), text("name", NULLABLE)], [rows[:4], rows[4:7], rows[7:]], **options)
    yield "appended", grown(keys=[f"k{i}" for i in range(9)], card={"title": "grown"}), None, {}
    yield "streamed", small(3, stream=True), None, {"recovered": True}
    two = Writer([integer("label"), text("name", NULLABLE)], [rows[:4], rows[4:]])
    first = Writer([integer("label"), text("name", NULLABLE)], [rows[:4]])
    first.write()
    yield "torn_header", two, lambda b: b[:9] + first_header(first, b, 37) + b[73:], {"recovered": True, "torn": True}
    yield "old_header", Writer([integer("label"), text("name", NULLABLE)], [rows[:4], rows[4:]]), \
        lambda b: b[:9] + first_header(first, b, 64) + b[73:], {"logical": len(first.out), "samples": 4}
    yield "trailing_garbage", small(2), lambda b: b + constant_bytes("garbage", 333), {"ignored": 333}
    fields = [Field("n", 1, {"dtype": "<u2", "later": [1, 2]}), text("t")]
    yield "newer_minor", Writer(fields, [[{"n": 9, "t": "from the future"}]], minor=7), None, {}
    yield "unknown_sections", small(2, sections=[(200, 0, b"optional", 5), (0x8001, 0, b"private", 0), (0xFFFFFFFF, 0, b"", 0),
                                                 (13, 0, bytes(32), 0)]), None, {}
    yield "page_65536", small(3, page_size=65536), None, {}
    yield "row_gaps", Writer([integer("a"), Field("b", 1, {"dtype": "|u1"}), floating("c")],
                             [[{"a": 1, "b": 2, "c": 3.0}, {"a": -1, "b": 255, "c": -3.0}]], row_gap=5), None, {}
    yield "unaligned_tables", Writer([integer("a"), blob("b")], [[{"a": k, "b": b"x" * k} for k in range(4)]], skew=3), None, {}
    yield "tables_first", *tables_first()


def first_header(first, later, count):
    """The first `count` bytes of the later file's front header, the rest from the same file before its append."""
    old, new = bytes(first.out[9:73]), later[9:73]
    return new[:64 - count] + old[64 - count:]


def inline_file():
    nested_descr = [["id", "<u4"], ["", "|V4"], ["pose", [["x", "<f8"], ["q", "<f4", [2, 2]]], [2]], ["tag", "|S4"], ["", "|V4"]]
    fields = [inline("one", [["", "<f4", [3]]]), inline("scalar", [["", "bfloat16"]]), inline("nested", nested_descr),
              inline("packed", [["a", "|u1"], ["b", "<i4"], ["c", "<c8"]]),
              inline("strings", [["s", "|S5"], ["u", "<U3"], ["v", "|V3"]]),
              inline("boxes", [["", [["x", "<i2"], ["ok", "|b1"], ["", "|V1"]], [2]]])]

    def row(k):
        pose = [{"x": k + 0.5 * j, "q": [[1.0, 2.0 + j], [3.0, float(k)]]} for j in range(2)]
        packed_pose = b"".join(struct.pack("<d4f", p["x"], *p["q"][0], *p["q"][1]) for p in pose)
        tag = (b"ab", b"wxyz")[k]
        word = ("hé", "日本\U0001F600")[k]
        void = constant_bytes(f"void {k}", 3)
        values = [Shown(struct.pack("<3f", k, k + 1, math.inf), [float(k), k + 1.0, "Infinity"]),
                  Shown(struct.pack("<H", 0x3FC0 + k), [1.5, 1.5078125][k]),
                  Shown(struct.pack("<I4x", 7 + k) + packed_pose + tag.ljust(4, b"\0") + bytes(4),
                        {"id": 7 + k, "pose": pose, "tag": digest(tag)}),
                  Shown(struct.pack("<Biff", 200 + k, -5, 1.0, -k), {"a": 200 + k, "b": -5, "c": [1.0, float(-k)]}),
                  Shown(b"five!"[:5 - k].ljust(5, b"\0") + word.encode("utf-32-le").ljust(12, b"\0") + void,
                        {"s": digest(b"five!"[:5 - k]), "u": word, "v": digest(void)}),
                  Shown(struct.pack("<h?xh?x", 1, True, -k, False), [{"x": 1, "ok": True}, {"x": -k, "ok": False}])]
        return inline_values(fields, *values)
    return Writer(fields, [[row(0), row(1)]]), None, {}


def inline_blocks():
    """Rows of 4104 bytes: the metadata table has two 64 KiB blocks."""
    fields = [inline("v", [["data", "|V4096"]]), integer("i")]
    rows = []
    for k in range(17):
        data = constant_bytes(f"block {k}", 4096)
        rows.append({"v": Shown(data, {"data": digest(data)}), "i": k})
    return Writer(fields, [rows]), None, {}


def tables_first():
    """Descriptors at 4096 and rows before the data: everything is found by pointer."""
    w = small(3)

    def move(b):
        b = bytearray(b)
        h = list(struct.unpack_from("<HHIQHHIQQQQQ", b, 9))
        descriptors = bytes(b[128:128 + 416])
        rows = bytes(b[h[8]:h[8] + 3 * 24])
        b[128:128 + 416] = bytes(416)
        b[136:136 + 416] = descriptors
        b[600:600 + 72] = rows
        b[h[8]:h[8] + 72] = bytes(72)
        h[7], h[8] = 136, 600
        struct.pack_into("<HHIQHHIQQQQQ", b, 9, *h)
        from vectors_invalid import Editor
        editor = Editor(b)
        tables = editor.ptr(1)
        editor.put("Q", tables, 136)
        editor.put("Q", tables + 24, 600)
        editor.put("Q", editor.entry(7) + 16, 0)
        return editor.fix()
    return w, move, {}


def finish_values(w):
    """INLINE values carry what a reader shows; the writer gets their records."""
    for generation in w.generations:
        for i, values in enumerate(generation):
            for name, v in values.items():
                if isinstance(v, Shown):
                    values[name] = v.record


def build(w, change=None):
    """(bytes, expected JSON)."""
    keep = [[dict(values) for values in generation] for generation in w.generations]
    finish_values(w)
    data = w.write()
    w.generations = keep
    shown = expected(w)
    shown["flags"] |= 16 if change is sealed else 0
    return (change(data) if change else data), shown


def dump(value):
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, here)
    target = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "..", "docs", "spec", "vectors")
    manifest = []
    for folder in ("valid", "invalid"):
        os.makedirs(os.path.join(target, folder), exist_ok=True)
    for name, w, change, facts in valid_files():
        data, content = build(w, change)
        if "logical" in facts:
            content["num_samples"] = facts["samples"]
            content["samples"] = content["samples"][:facts["samples"]]
            facts["ignored"] = len(data) - facts["logical"]
        with open(os.path.join(target, "valid", name + ".mldf"), "wb") as file:
            file.write(data)
        with open(os.path.join(target, "valid", name + ".json"), "w", encoding="utf-8") as file:
            file.write(dump(content))
        manifest.append({"file": name + ".mldf", "json": name + ".json", "key": facts.get("key"),
                         "passphrase": facts.get("passphrase"), "header_recovered": facts.get("recovered", False),
                         "ignored_bytes": facts.get("ignored", 0), "verify": []})
        if facts.get("torn"):  # it reads well, but verify finds the front header
            differs = next(i for i in range(64) if data[9 + i] != data[len(data) - 96 + i])
            manifest[-1]["verify"] = [{"status": "corrupt", "offset": 9 + differs}]
    with open(os.path.join(target, "valid", "manifest.json"), "w", encoding="utf-8") as file:
        file.write(dump(manifest))
    import vectors_invalid
    vectors_invalid.main(os.path.join(target, "invalid"))


if __name__ == "__main__":
    main()
