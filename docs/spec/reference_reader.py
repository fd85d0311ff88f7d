#!/usr/bin/env python3
"""A second, readable reader of MLDF files: Python 3.11 and NumPy, nothing of the C library.

It follows docs/spec/format.md step by step: the comments O1, Z3, A6, V8 ... are the numbers of the rules there, and a
violation raises SpecError with the status and the byte that the rule names. It is slow and simple on purpose; tests use
it as an oracle for the C reader.

    f = read("train.mldf")                 # key=32 bytes or passphrase="..." for encrypted files
    f.num_samples, [x.name for x in f.fields]
    f.value(0, "label"); f.key(0); f.find("cat/001"); f.card; f.statistics; f.verify(deep=True)

    python reference_reader.py FILE        # everything as JSON, the form of vectors/valid/*.json
    python reference_reader.py --verify FILE

Payloads compressed with zstd need compression.zstd, the zstandard package or libzstd; encrypted ones need libsodium.
"""

import argparse
import ctypes
import ctypes.util
import hashlib
import json
import math
import struct
import sys
from collections import namedtuple

import numpy as np

MAGIC = b"\x89MLDF\r\n\x1a\n"
DIRECTORY_MAGIC = b"MLDFDIR\0"
HEADER, HEADER_BYTES, FOOTER_BYTES, DESCRIPTOR_BYTES, ENTRY_BYTES = 9, 64, 96, 208, 40
BLOCK = 65536
NONE = 2**64 - 1
MIB = 1 << 20

LITTLE_ENDIAN, COMPRESSED, CHECKSUMMED, ENCRYPTED, SEALED = 1, 2, 4, 8, 16  # header flags
NULLABLE, PREFIX, SIZE32, SIZE64, CHUNKED = 1, 2, 4, 8, 32  # descriptor flags
CHUNK = 65536  # bytes of a value that are sealed together
TABLES, CHECKS, CARD, STATISTICS, VALIDITY, KEYS, PAGE_MAP, DICTIONARY, ENCRYPTION, LONG_ARGUMENTS = range(1, 11)
PACK_PLANS, HISTORY, SEALED_DICTIONARY = 11, 12, 15
KNOWN_KINDS = {*range(1, 13), SEALED_DICTIONARY}
INT, FLOAT, BYTES, NDARRAY, JSON, INLINE, TEXT = 1, 2, 3, 4, 5, 6, 40
IMAGES = (10, 11, 12, 13)  # RAW, JPEG, PNG, any
WAVEFORM, PACKETS = 20, 21
SPECTROGRAM, CODEC_TOKENS = GRIDS = (22, 23)
FRAMES, VIDEO, FLOW, MULTIMODAL = 30, 31, 32, 50
TOKENS, PACKED, HIERARCHICAL, STREAM = TOKEN_TYPES = (41, 42, 43, 44)
PRIVATE = 0x8000
REGISTERED = {*range(1, 7), *range(10, 14), *range(20, 24), *range(30, 33), *range(40, 45), 50}
FORM_1_0 = {**{t: SIZE64 for t in (3, 4, 5, 32, 44)},
            **{t: SIZE32 for t in (10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 40, 41, 42, 43, 50)}}
INT_DTYPES = {"|b1": (0, 1), "|i1": (-128, 127), "|u1": (0, 255), "<i2": (-2**15, 2**15 - 1), "<u2": (0, 2**16 - 1),
              "<i4": (-2**31, 2**31 - 1), "<u4": (0, 2**32 - 1), "<i8": (-2**63, 2**63 - 1), "<u8": (0, 2**64 - 1)}
ITEM_BYTES = {"|b1": 1, "|i1": 1, "|u1": 1, "<i2": 2, "<u2": 2, "<i4": 4, "<u4": 4, "<i8": 8, "<u8": 8, "<f2": 2,
              "<f4": 4, "<f8": 8, "<c8": 8, "<c16": 16, "bfloat16": 2}


class SpecError(Exception):
    """A violation: status is the short name of the library's status, offset a byte of the file or None."""

    def __init__(self, status, offset, message, sample=None, field=None):
        super().__init__(f"{status} at byte {offset}: {message}")
        self.status, self.offset, self.message, self.sample, self.field = status, offset, message, sample, field


class Unsupported(SpecError):
    def __init__(self, message):
        super().__init__("unsupported", None, message)


Header = namedtuple("Header", "version_major version_minor flags num_samples num_fields reserved page_size "
                              "field_desc_ptr metadata_ptr data_ptr alloc_table_ptr directory_ptr")
Section = namedtuple("Section", "kind flags ptr size crc reserved param entry")
Stored = namedtuple("Stored", "record data")  # a value that this reader does not decode


class Field:
    """One descriptor. form is 0, SIZE32 or SIZE64; text the arguments' bytes; arguments the parsed object."""

    def __init__(self, raw, at):
        self.at = at
        name, self.type_id, self.flags, self.record_bytes, self.row_offset = struct.unpack_from("<64sHHII", raw)
        self.inline_arguments = raw[76:204]
        self.row_align, self.arguments_bytes = struct.unpack_from("<HH", raw, 204) if len(raw) == 208 else (0, 0)
        self.raw_name, self.name = name, None
        self.form = self.flags & (SIZE32 | SIZE64)
        self.nullable = bool(self.flags & NULLABLE)
        self.arguments, self.known, self.index, self.validity = {}, False, 0, None

    def check_name(self, names):  # O26
        head, _, tail = self.raw_name.partition(b"\0")
        try:
            text = head.decode("utf-8")
        except UnicodeDecodeError:
            return False
        if len(head) in (0, 64) or tail.strip(b"\0") or text in names or any(ord(c) < 32 or ord(c) == 127 for c in text):
            return False
        self.name = text
        names.add(text)
        return True


# ---- Small algorithms ---------------------------------------------------------------------------------------------


def _crc_table():
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = (table >> 1) ^ np.where(table & 1, np.uint32(0x82F63B78), np.uint32(0))
    return table


CRC_TABLE = _crc_table()
CRC_LIST = CRC_TABLE.tolist()


def crc32c(data):
    """CRC-32C. Long input is cut into lanes that NumPy steps side by side; 32 more lanes, one for each bit of the
    register, step over zeros and so give the operator that joins the lanes."""
    data, crc = memoryview(data), 0xFFFFFFFF
    if len(data) >= 4096:
        lanes = min(4096, math.isqrt(len(data)))
        length = len(data) // lanes
        rows = np.ascontiguousarray(np.frombuffer(data[:lanes * length], np.uint8).reshape(lanes, length).T)
        state = np.zeros(lanes + 32, np.uint32)
        state[lanes:] = np.uint32(1) << np.arange(32, dtype=np.uint32)
        for row in rows:
            index = state & 255
            index[:lanes] ^= row
            state = CRC_TABLE[index] ^ (state >> 8)
        values = state.tolist()
        shift = values[lanes:]
        for value in values[:lanes]:
            for bit in range(32):
                if crc >> bit & 1:
                    value ^= shift[bit]
            crc = value
        data = data[lanes * length:]
    for byte in data:
        crc = CRC_LIST[(crc ^ byte) & 255] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def xxh64(data, seed=0):
    p1, p2, p3, p4, p5 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63,
                          0x27D4EB2F165667C5)
    mask = NONE

    def rotl(x, r):
        return (x << r | x >> (64 - r)) & mask

    def mix(acc, lane):
        return rotl((acc + lane * p2) & mask, 31) * p1 & mask

    n, i = len(data), 0
    if n >= 32:
        v = [(seed + p1 + p2) & mask, (seed + p2) & mask, seed, (seed - p1) & mask]
        while i <= n - 32:
            v = [mix(a, lane) for a, lane in zip(v, struct.unpack_from("<4Q", data, i))]
            i += 32
        h = (rotl(v[0], 1) + rotl(v[1], 7) + rotl(v[2], 12) + rotl(v[3], 18)) & mask
        for a in v:
            h = ((h ^ mix(0, a)) * p1 + p4) & mask
    else:
        h = (seed + p5) & mask
    h = (h + n) & mask
    while i + 8 <= n:
        h = (rotl(h ^ mix(0, struct.unpack_from("<Q", data, i)[0]), 27) * p1 + p4) & mask
        i += 8
    if i + 4 <= n:
        h = (rotl(h ^ struct.unpack_from("<I", data, i)[0] * p1 & mask, 23) * p2 + p3) & mask
        i += 4
    for byte in data[i:]:
        h = rotl(h ^ byte * p5 & mask, 11) * p1 & mask
    h = (h ^ h >> 33) * p2 & mask
    h = (h ^ h >> 29) * p3 & mask
    return h ^ h >> 32


def align_up(x, a):
    return -(-x // a) * a


def parse_json(raw):
    """RFC 8259 and no more: no NaN, no key twice, no half of a pair escaped alone, at most 128 deep. Raises ValueError."""
    def pairs(items):
        result = dict(items)
        for key in result:
            depth(key)
        if len(result) != len(items):
            raise ValueError("a key is there twice")
        return result

    def constant(name):
        raise ValueError(f"{name} is not JSON")

    def depth(x):
        if isinstance(x, str):
            x.encode("utf-8")  # a ValueError for half of a pair
        return 1 + max(map(depth, x.values() if isinstance(x, dict) else x), default=0) if isinstance(x, (dict, list)) else 0

    try:
        value = json.loads(bytes(raw).decode("utf-8"), object_pairs_hook=pairs, parse_constant=constant)
        if depth(value) <= 128:
            return value
    except RecursionError:
        pass
    raise ValueError("nested deeper than 128")


def _library(name):
    path = ctypes.util.find_library(name)
    if not path:
        raise Unsupported(f"lib{name} is not installed")
    return ctypes.CDLL(path)


def zstd_content_size(frame):
    """The content size in a zstd frame header, None when there is none or it is no frame (RFC 8878, 3.1.1.1)."""
    if len(frame) < 6 or bytes(frame[:4]) != b"\x28\xb5\x2f\xfd":
        return None
    what = frame[4]
    single = what >> 5 & 1
    size_bytes = (single, 2, 4, 8)[what >> 6]
    at = 5 + (not single) + (0, 1, 2, 4)[what & 3]
    if not size_bytes or len(frame) < at + size_bytes:
        return None
    return int.from_bytes(frame[at:at + size_bytes], "little") + (256 if size_bytes == 2 else 0)


def zstd_decompress(frame, raw_size, dictionary):
    """Exactly one frame of raw_size bytes, otherwise ValueError."""
    frame = bytes(frame)
    try:
        from compression import zstd  # Python 3.14
        one = zstd.ZstdDecompressor(zstd_dict=zstd.ZstdDict(dictionary) if dictionary else None)
        try:
            out = one.decompress(frame)
        except zstd.ZstdError as why:
            raise ValueError(str(why)) from None
        ok = one.eof and not one.unused_data
    except ImportError:
        try:
            lib = _library("zstd")
        except Unsupported:
            try:
                import zstandard
            except ImportError:
                raise Unsupported("no zstd: install libzstd or the zstandard package") from None
            one = zstandard.ZstdDecompressor(
                dict_data=zstandard.ZstdCompressionDict(dictionary) if dictionary else None).decompressobj()
            try:
                out = one.decompress(frame)
            except zstandard.ZstdError as why:
                raise ValueError(str(why)) from None
            ok = not one.unused_data
        else:
            size_t = ctypes.c_size_t
            for name in ("ZSTD_decompress_usingDict", "ZSTD_findFrameCompressedSize"):
                getattr(lib, name).restype = size_t
            lib.ZSTD_createDCtx.restype = ctypes.c_void_p
            context = ctypes.c_void_p(lib.ZSTD_createDCtx())
            buffer = ctypes.create_string_buffer(raw_size)
            got = lib.ZSTD_decompress_usingDict(context, buffer, size_t(raw_size), frame, size_t(len(frame)),
                                                dictionary or None, size_t(len(dictionary or b"")))
            lib.ZSTD_freeDCtx(context)
            used = lib.ZSTD_findFrameCompressedSize(frame, size_t(len(frame)))
            if lib.ZSTD_isError(size_t(got)) or used != len(frame):
                raise ValueError("the zstd frame is damaged")
            out, ok = buffer.raw[:got], True
    if not ok or len(out) != raw_size:
        raise ValueError(f"the frame gives {len(out)} bytes, not {raw_size}")
    return out


def aead_open(box, associated, nonce, key):
    """XChaCha20-Poly1305-IETF; None when the tag is wrong."""
    lib = _library("sodium")
    lib.sodium_init()
    out, got, u64 = ctypes.create_string_buffer(max(1, len(box))), ctypes.c_ulonglong(), ctypes.c_ulonglong
    bad = lib.crypto_aead_xchacha20poly1305_ietf_decrypt(out, ctypes.byref(got), None, bytes(box), u64(len(box)),
                                                         associated, u64(len(associated)), bytes(nonce), key)
    return None if bad else out.raw[:got.value]


def argon2id(passphrase, salt, opslimit, memlimit):
    lib = _library("sodium")
    lib.sodium_init()
    out = ctypes.create_string_buffer(32)
    if lib.crypto_pwhash(out, ctypes.c_ulonglong(32), passphrase, ctypes.c_ulonglong(len(passphrase)), bytes(salt),
                         ctypes.c_ulonglong(opslimit), ctypes.c_size_t(memlimit), 2):
        raise SpecError("memory", None, f"Argon2id needs {memlimit} bytes")
    return out.raw


def subkey(key, number):
    """libsodium's crypto_kdf_derive_from_key with the context MLDFkeys."""
    return hashlib.blake2b(key=key, salt=struct.pack("<QQ", number, 0), person=b"MLDFkeys" + bytes(8),
                           digest_size=32).digest()


# ---- INLINE --------------------------------------------------------------------------------------------------------


def leaf_bytes(kind):
    """Itemsize of a dtype string of an INLINE member; ValueError when it is none."""
    if kind in ITEM_BYTES:
        return ITEM_BYTES[kind]
    digits = kind[2:]
    if kind[:2] in ("|S", "<U", "|V") and digits.isascii() and digits.isdigit() and digits[0] != "0" and len(digits) < 5:
        return int(digits) * (4 if kind[1] == "U" else 1)
    raise ValueError(f"{kind!r} is not a type")


def check_image_arguments(type_id, a):
    """ValueError when the arguments of an image field are wrong; unknown ones are left alone. See fields.md."""
    def integer(name, least, most):
        if name in a and (type(a[name]) is not int or not least <= a[name] <= most):
            raise ValueError(name)

    for name, choices in (("encode", ("keep", "jpeg", "raw", "smart", "proportion", "yuv420", "fast-jpeg")), ("icc", ("keep", "drop", "card")),
                          ("subsampling", ("420", "444", "422")), ("orientation", ("record", "apply"))):
        if name in a and a[name] not in choices:
            raise ValueError(name)
    integer("quality", 1, 100)
    integer("max_resolution", 1, 65535)
    integer("min_resolution", 1, 65535)
    integer("smart_threshold", 0, 2**64 - 2)
    probability = a.get("compress_probability", 0)
    if type(probability) not in (int, float) or not 0 <= probability <= 1:
        raise ValueError("compress_probability")
    limit = a.get("fast_limit", 1)
    if type(limit) not in (int, float) or not 0 < limit <= 100:
        raise ValueError("fast_limit")
    if type(a.get("baseline", False)) is not bool:
        raise ValueError("baseline")
    allowed = {10: ("keep", "raw", "yuv420"), 11: ("keep", "jpeg", "fast-jpeg"), 12: ("keep",)}
    if type_id in allowed and a.get("encode", "keep") not in allowed[type_id]:
        raise ValueError("encode")


def image_fault(record, size):
    """(status, byte of the record, message) when an image record contradicts its payload of `size` bytes, else None."""
    height, width, channels, mode, bits, _, orientation = struct.unpack_from("<HHBBBBB", record, 12)
    if 7 < mode < 255:
        return "feature", 17, f"image mode {mode}"
    if orientation > 8:
        return "corrupt", 20, f"orientation {orientation}"
    need = width * height + 2 * ((width + 1) // 2) * ((height + 1) // 2) if mode == 6 else \
        width * height * channels * ((bits or 8) // 8)
    if mode not in (0, 6) or size == need == 0:
        return None
    if mode == 0 and not 1 <= channels <= 4:
        return "corrupt", 16, f"{channels} channels"
    if bits not in ((0, 8) if mode == 6 else (0, 8, 16)):
        return "corrupt", 18, f"{bits} bits"
    return ("corrupt", 8, f"{size} bytes of pixels, {need} are needed") if size != need else None


def check_audio_arguments(a):
    """ValueError when the arguments of a recording are wrong; then (rate, channels) that every value has, None where it may vary."""
    for name, most in (("rate", 2**32 - 1), ("channels", 65535), ("mask", 2**32 - 1)):
        if name in a and (type(a[name]) is not int or not 1 <= a[name] <= most):
            raise ValueError(name)
    named = a["mask"].bit_count() if "mask" in a else None
    if None not in (named, a.get("channels")) and named != a["channels"]:
        raise ValueError("mask")
    return a.get("rate"), named or a.get("channels")


AUDIO_BITS = {0: (8, 16, 24, 32), 16: (32, 64), 17: (8,), 18: (8,)}  # codec: bit depths


LOSSLESS, LOSSY = (1, 6), (2, 3, 4, 5, 8, 9)  # codecs whose values are packets


def audio_fault(arguments, record, size, compressed=False):
    """(status, byte of the record, message) when an audio record contradicts its payload of `size` bytes, else None."""
    samples, rate, channels, bits, codec = struct.unpack_from("<QIHBB", record, 16)
    fixed_rate, fixed_channels = check_audio_arguments(arguments)
    packets = compressed and codec in LOSSLESS + LOSSY
    if codec not in AUDIO_BITS and not packets:
        return "feature", 31, f"audio codec {codec}"
    if bits not in (AUDIO_BITS[codec] if not packets else range(4, 33) if codec in LOSSLESS else (0,)):
        return "corrupt", 30, f"codec {codec} of {bits} bits"
    if rate == 0 or fixed_rate not in (None, rate):
        return "corrupt", 24, f"rate {rate}"
    if channels == 0 or fixed_channels not in (None, channels):
        return "corrupt", 28, f"{channels} channels"
    need = samples * channels * bits // 8
    if packets:
        return ("corrupt", 8, f"{size} bytes, less than a table of packets has") if size < 128 else None
    return ("corrupt", 8, f"{size} bytes of samples, {need} are needed") if size != need else None


def check_packet_arguments(a):
    """ValueError when the arguments that tell how compressed recordings are written are wrong."""
    if a.get("encode", "keep") not in ("keep", "flac", "opus"):
        raise ValueError("encode")
    if "bitrate" in a and (type(a["bitrate"]) is not int or not 6000 <= a["bitrate"] <= 510000):
        raise ValueError("bitrate")
    for name in ("decode", "keep_file"):
        if not isinstance(a.get(name, True), bool):
            raise ValueError(name)


def audio_packets(stored):
    """A compressed recording's table: a dict of its members, with "packets", a list of (bytes, number of the first sample that it gives),
    "extra", "file", the file that it was made from, or None. Raises SpecError without an offset: `feature` or `corrupt`. Nothing is decoded."""
    data = stored.data
    samples, rate, channels, bits, codec = struct.unpack_from("<QIHBB", stored.record, 16)

    def require(good, message, status="corrupt"):
        if not good:
            raise SpecError(status, None, message)

    require(len(data) >= 128, f"{len(data)} bytes")
    version, flags, n, duration, stream_bytes, first, packet_bytes, head_bytes, tail_bytes, file_bytes, crc, zero = \
        struct.unpack_from("<IIQIIQQIIQII", data)
    require(version == 1, f"version {version}", "feature")
    require(flags < 256 and not flags & 64, f"flags {flags:#x}", "feature")
    require(not flags & 128 or flags & 2, f"flags {flags:#x}")
    require((duration == 0) == bool(flags & 2) and duration <= 65536, f"duration {duration}")
    require(64 <= stream_bytes <= 2**20 + 64 and stream_bytes % 8 == 0, f"stream_bytes {stream_bytes}")
    require(max(head_bytes, tail_bytes) <= 65536, f"head and tail of {head_bytes} and {tail_bytes} bytes")
    require(n <= len(data), f"{n} packets")
    at = 64 + stream_bytes
    places = []
    for there, width in ((True, 8 if flags & 1 else 4), (flags & 2, 8 if flags & 4 else 4)):
        places.append((at, width))
        at += align_up((n + 1) * width, 8) if there else 0
    back_at, at = at, at + (align_up(n, 8) if flags & 8 else 0)
    require(at + head_bytes <= first <= len(data), f"packets from byte {first} on")
    require(packet_bytes + tail_bytes + file_bytes <= len(data) - first, f"{packet_bytes} bytes of packets, {file_bytes} of a file")
    require(crc32c(data[:56] + data[64:64 + stream_bytes]) == crc, "the CRC of the table's head")
    kind, its_codec, _, _, its_rate, its_channels, its_bits, mask, _, _, _, skip, trim, preroll, extra_bytes = \
        struct.unpack_from("<HBBIIHHIIIIQQII", data, 64)
    require((kind, its_codec, its_rate, its_channels, its_bits) == (1, codec, rate, channels, bits), "the stream is not the record's")
    require(extra_bytes <= stream_bytes - 64, f"{extra_bytes} bytes for the decoder")
    decoded = samples + skip + trim
    require(decoded < 2**64, f"{skip} samples to skip")
    require(n > 0 or decoded == 0, "no packets")
    require(n == 0 or duration == 0 or (n - 1) * duration < decoded <= n * duration, f"{n} packets of {duration} samples")

    def column(place):
        at, width = place
        return np.frombuffer(data, f"<u{width}", n + 1, at).astype(object)

    offsets = column(places[0])
    firsts = column(places[1]) if flags & 2 else [min(i * duration, decoded) for i in range(n + 1)]
    for name, entries, last in (("offsets", offsets, packet_bytes), ("first samples", firsts, decoded)):
        require(last == 0 if n == 0 else entries[0] == 0 and entries[-1] == last and all(a <= b for a, b in zip(entries, entries[1:])), name)
    end = first + packet_bytes
    whole = bytes(data[len(data) - file_bytes:]) if file_bytes else bytes(data[first - head_bytes:end + tail_bytes]) if flags & 32 else None
    return {"flags": flags, "skip": skip, "trim": trim, "preroll": preroll, "mask": mask, "extra": bytes(data[128:128 + extra_bytes]),
            "back": list(data[back_at:back_at + n]) if flags & 8 else None, "file": whole,
            "packets": [(bytes(data[first + a:first + b]), s) for a, b, s in zip(offsets, offsets[1:], firsts)]}


def audio_floats(stored):
    """A recording as f32 (num_samples, channels)."""
    samples, _, channels, bits, codec = struct.unpack_from("<QIHBB", stored.record, 16)
    raw = np.frombuffer(stored.data, np.uint8)
    if codec == 16:
        values = np.frombuffer(stored.data, f"<f{bits // 8}").astype("<f4")
    elif codec in (17, 18):
        code = (raw ^ (0x55 if codec == 17 else 0xFF)).astype(int)
        segment, low = code >> 4 & 7, code & 15
        if codec == 17:
            size = np.where(segment > 0, (low * 16 + 264) << np.maximum(segment - 1, 0), low * 16 + 8)
        else:
            size = ((low * 8 + 132) << segment) - 132
        values = np.where((code >= 128) == (codec == 17), size, -size) / 2**15
    elif bits == 8:
        values = (raw.astype(int) - 128) / 2**7
    elif bits == 24:
        low, middle, high = raw.reshape(-1, 3).astype(int).T
        values = (low + (middle << 8) + (high << 16) - ((high >> 7) << 24)) / 2**23
    else:
        values = np.frombuffer(stored.data, f"<i{bits // 8}") / 2.0**(bits - 1)
    return np.asarray(values, "<f4").reshape(samples, channels)


TOKEN_LIMITS = {"|u1": 2**8, "<u2": 2**16, "<i4": 2**31}


def check_token_arguments(a):
    """ValueError when the arguments of tokens are wrong; then the number that every id is below."""
    dtype, vocabulary = a.get("dtype"), a.get("vocabulary")
    if not isinstance(a.get("dtype", ""), str) or "dtype" in a and dtype not in TOKEN_LIMITS:
        raise ValueError("dtype")
    if "vocabulary" in a and (type(vocabulary) is not int or not 1 <= vocabulary <= 2**31):
        raise ValueError("vocabulary")
    if dtype is None and vocabulary is None:
        raise ValueError("tokens need a dtype or a vocabulary")
    dtype = dtype or token_dtype(a)
    if vocabulary is not None and vocabulary > TOKEN_LIMITS[dtype]:
        raise ValueError("vocabulary")
    limit = vocabulary or TOKEN_LIMITS[dtype]
    for name in ("bos", "eos", "pad"):
        if name in a and (type(a[name]) is not int or not 0 <= a[name] < limit):
            raise ValueError(name)
    if not isinstance(a.get("tokenizer", ""), str):
        raise ValueError("tokenizer")
    digest = a.get("tokenizer_sha256", "0" * 64)
    if not isinstance(digest, str) or len(digest) != 64 or set(digest) - set("0123456789abcdef"):
        raise ValueError("tokenizer_sha256")
    if type(a.get("eos_inside", True)) is not bool:
        raise ValueError("eos_inside")
    if a.get("specials", "text") not in ("text", "parse"):
        raise ValueError("specials")
    return limit


def token_dtype(a):
    return a.get("dtype") or next(d for d, most in TOKEN_LIMITS.items() if a["vocabulary"] <= most)


def token_fault(f, record, data, deep=True):
    """(status, byte of the record or None for the payload, message) when a token value is wrong, else None. Not deep: without what a reader that
    hands out the ids may leave to a deep verify."""
    size = len(data)
    if f.type_id == TOKENS and not f.arguments:  # the draft's
        count, encoding = struct.unpack_from("<HB", record, 12)
        dtype = {1: "<i4", 2: "<u2", 3: "|u1", 0: None if size else "<u2"}.get(encoding)
        if dtype is None:
            return "feature", 14, f"token encoding {encoding}"
        width, limit = int(dtype[2]), TOKEN_LIMITS[dtype]
        if size % width:
            return "corrupt", 8, f"{size} bytes of ids of {width}"
        if size // width < 2**16 and count != size // width:
            return "corrupt", 12, f"{count} tokens, not {size // width}"
        count, documents, ends = size // width, 1, [size // width]
    else:
        dtype, limit = token_dtype(f.arguments), check_token_arguments(f.arguments)
        width = int(dtype[2])
        if f.type_id == TOKENS:
            count, documents = struct.unpack_from("<I", record, 12)[0], 1
            need = table = count * width
        elif f.type_id == HIERARCHICAL:
            count, paragraphs, sentences, zero = struct.unpack_from("<IIII", record, 16)
            table = align_up(count * width, 8)
            need = table + 4 * (paragraphs + sentences)
        else:
            count, documents = struct.unpack_from("<II" if f.type_id == PACKED else "<QQ", record, 16)
            table = align_up(count * width, 8)
            need = table + 8 * documents
        if need != size:
            return "corrupt", 8, f"{size} bytes, {need} are needed"
        if f.type_id == HIERARCHICAL:
            wrong = levels_fault(count, paragraphs, sentences, zero, data[table:], deep)
            if wrong:
                return wrong
            documents = 0
        if f.type_id == STREAM and count and not documents:
            return "corrupt", 24, "tokens without documents"
        ends = struct.unpack_from("<" + ("Q" if f.type_id == STREAM else "I4x") * documents, data, table) if need > table else ()
        if f.type_id == STREAM and documents and ends[-1] != count or f.type_id == PACKED and documents and ends[-1] > count:
            return "corrupt", None, f"the last document ends at {ends[-1]} of {count}"
        step = int(f.type_id == PACKED)
        if deep and any(not before + step <= end <= count for before, end in zip((0, *ends), ends)):
            return "corrupt", None, "ends that do not ascend"
    ids = np.frombuffer(data, dtype, count)
    if deep and count and (ids.min() < 0 or ids.max() >= limit):
        return "corrupt", None, f"an id outside 0 to {limit - 1}"
    return None


def levels_fault(count, paragraphs, sentences, zero, table, deep):
    """As token_fault, of the paragraphs and sentences of hierarchical text."""
    if zero:
        return "corrupt", 28, f"zero is {zero}"
    if not min(count, 1) <= paragraphs <= sentences:
        return "corrupt", 20, f"{paragraphs} paragraphs of {sentences} sentences, {count} tokens"
    if sentences > count:
        return "corrupt", 24, f"{sentences} sentences of {count} tokens"
    both = np.frombuffer(table, "<u4").astype(np.int64)
    for level in (both[:paragraphs], both[paragraphs:]):
        if count and level[-1] != count:
            return "corrupt", None, f"the last end is {level[-1]} of {count}"
    for level in (both[:paragraphs], both[paragraphs:]):
        if deep and (np.diff(level, prepend=0) <= 0).any():
            return "corrupt", None, "ends that do not ascend"
    if deep and not np.isin(both[:paragraphs], both[paragraphs:]).all():
        return "corrupt", None, "a paragraph ends inside a sentence"
    return None


def token_levels(f, value):
    """Of a value of hierarchical text that File.value gave: the ends of its paragraphs and of its sentences."""
    record, data = value
    count, paragraphs = struct.unpack_from("<II", record, 16)
    both = np.frombuffer(data, "<u4", offset=align_up(count * int(token_dtype(f.arguments)[2]), 8)).tolist() if count else []
    return both[:paragraphs], both[paragraphs:]


def token_parts(f, value):
    """Of a token value that File.value gave: its ids, the ends of its documents or pieces, and the first positions of its pieces. None where the type has
    none; token_levels has those of hierarchical text."""
    record, data = value
    if f.type_id == TOKENS:
        return np.frombuffer(data, token_dtype(f.arguments) if f.arguments else {1: "<i4", 3: "|u1"}.get(record[14], "<u2")), None, None
    if f.type_id == HIERARCHICAL:
        return np.frombuffer(data, token_dtype(f.arguments), struct.unpack_from("<I", record, 16)[0]), None, None
    count, documents = struct.unpack_from("<II" if f.type_id == PACKED else "<QQ", record, 16)
    ids = np.frombuffer(data, token_dtype(f.arguments), count)
    table = np.frombuffer(data, "<u8" if f.type_id == STREAM else "<u4", offset=align_up(ids.nbytes, 8)) if documents else np.zeros(0, "<u4")
    if f.type_id == STREAM:
        return ids, table.tolist(), None
    return ids, table[::2].tolist(), table[1::2].tolist()


def check_grid_arguments(type_id, a):
    """ValueError when the arguments of a spectrogram or of codec tokens are wrong."""
    def whole(name, most):
        if name in a and (type(a[name]) is not int or not 1 <= a[name] <= most):
            raise ValueError(name)

    if type_id == SPECTROGRAM:
        if a.get("dtype") not in ("<f2", "<f4") or a.get("layout", "tf") not in ("tf", "ft") or not isinstance(a.get("pipeline", ""), str):
            raise ValueError("dtype, layout or pipeline")
        for name, most in (("bins", 65535), ("rate", 2**32 - 1), ("hop", 2**32 - 1)):
            whole(name, most)
        return
    if "vocabulary" not in a:
        raise ValueError("vocabulary")
    whole("vocabulary", 2**31)
    whole("codebooks", 65535)
    rate = a.get("rate", [1, 1])
    if not isinstance(rate, list) or len(rate) != 2 or any(type(n) is not int or not 1 <= n < 2**32 for n in rate):
        raise ValueError("rate")


def grid_form(f):
    """(dtype, is time the first dimension?, element code, bins or codebooks of every value or None)"""
    a = f.arguments
    if f.type_id == SPECTROGRAM:
        return a["dtype"], a.get("layout", "tf") == "tf", 1 if a["dtype"] == "<f2" else 2, a.get("bins")
    dtype = "|u1" if a["vocabulary"] <= 256 else "<u2" if a["vocabulary"] <= 65536 else "<i4"
    return dtype, False, np.dtype(dtype).itemsize, a.get("codebooks")


def grid_fault(f, record, data, deep=True):
    """(byte of the record, or None for the payload; why), or None. Not deep: without what a reader that gives a value does not look at."""
    dtype, _, code, fixed = grid_form(f)
    frames, across, kind, zero = struct.unpack_from("<IHBB", record, 16)
    if kind != code:
        return 22, f"element code {kind}"
    if zero:
        return 23, f"a zero is {zero}"
    if fixed is not None and across != fixed:
        return 20, f"{across}, not {fixed}"
    if frames * across * np.dtype(dtype).itemsize != len(data):
        return 8, f"{len(data)} bytes"
    if deep and f.type_id == CODEC_TOKENS and data:
        ids = np.frombuffer(data, dtype)
        if int(ids.max()) >= f.arguments["vocabulary"] or int(ids.min()) < 0:
            return None, "an id outside the vocabulary"
    return None


def check_frames_arguments(a):
    """ValueError when the arguments of videos that are stored frame by frame are wrong."""
    for name, good in (("channels", (1, 3, 4)), ("bits", (8, 16)), ("quality", range(1, 101))):
        if name in a and (type(a[name]) is not int or a[name] not in good):
            raise ValueError(name)
    if a.get("mode", "jpeg") not in ("jpeg", "image", "raw") or not isinstance(a.get("pts", False), bool):
        raise ValueError("mode or pts")
    if a.get("encode", "keep") not in ("keep", "jpeg", "fast-jpeg") or (a.get("mode") == "raw" and "encode" in a):
        raise ValueError("encode")
    fps = a.get("fps", 1)
    if any(type(n) is not int or not 1 <= n < 2**32 for n in (fps if isinstance(fps, list) and len(fps) == 2 else [fps])):
        raise ValueError("fps")


def frames_fault(a, record, size):
    """(byte of the record, message), or None."""
    count, height, width, num, den = struct.unpack_from("<IHHII", record, 16)
    if num == 0:
        return 24, "fps_num 0"
    if den == 0:
        return 28, "fps_den 0"
    if count and not (height and width):
        return 20, f"frames of {width} x {height} pixels"
    need = 8 * (count + 1) + (8 * count if a.get("pts") else 0)
    if a.get("mode") == "raw":
        need += count * height * width * a.get("channels", 3) * a.get("bits", 8) // 8
    return (8, f"{size} bytes, {need} are needed") if size < need else None


def video_frames(arguments, stored):
    """(the bytes of each frame, the tick of each, seconds a tick lasts as a pair). SpecError: the tables contradict each other."""
    count, height, width, num, den = struct.unpack_from("<IHHII", stored.record, 16)
    offsets = struct.unpack_from(f"<{count + 1}Q", stored.data)
    table = 8 * (count + 1)
    ticks = list(range(count))
    if arguments.get("pts"):
        ticks = list(struct.unpack_from(f"<{count}q", stored.data, table))
        table += 8 * count
        if any(b <= a for a, b in zip(ticks, ticks[1:])):
            raise SpecError("corrupt", None, "times that do not ascend")
    if offsets[0] < table or offsets[-1] != len(stored.data) or any(b < a for a, b in zip(offsets, offsets[1:])):
        raise SpecError("corrupt", None, "offsets of frames")
    frames = [stored.data[a:b] for a, b in zip(offsets, offsets[1:])]
    if arguments.get("mode") == "raw":
        need = height * width * arguments.get("channels", 3) * arguments.get("bits", 8) // 8
        if any(len(frame) != need for frame in frames):
            raise SpecError("corrupt", None, "the size of a raw frame")
    return frames, ticks, (den, num)


def flow_fault(a, record, size):
    """(status, byte of the record, message), or None."""
    count, height, width, scale, keys, code, zero = struct.unpack_from("<IHHfHBB", record, 16)
    is_int8 = a["dtype"] == "|i1"
    if code != (1 if is_int8 else 2):
        return "corrupt", 30, f"element code {code}"
    if zero:
        return "corrupt", 31, f"a zero is {zero}"
    if keys:
        return "feature", 28, f"a key frame every {keys}"
    if not (2.0**-100 <= scale <= 2.0**100 if is_int8 else scale == 1):
        return "corrupt", 24, f"scale {scale}"
    if count and not (height and width):
        return "corrupt", 20, f"frames of {width} x {height} pixels"
    return ("corrupt", 8, f"{size} bytes") if count * height * width * (2 if is_int8 else 4) != size else None


COLUMNS = ("kinds", "groups", "begins", "lengths", "heights", "widths")
TYPE_IDS = {"int": 1, "float": 2, "bytes": 3, "ndarray": 4, "json": 5, "image_raw": 10, "image_jpeg": 11, "image_png": 12, "image": 13, "audio_waveform": 20,
            "audio_compressed": 21, "audio_spectrogram": 22, "audio_codec_tokens": 23, "video_frames": 30, "video_compressed": 31, "video_optical_flow": 32,
            "text": 40, "text_tokenized": 41, "text_packed": 42, "text_hierarchical": 43}


def part_kinds(a):
    """The kinds of a multimodal field's parts, as fields; ValueError when the arguments are wrong."""
    kinds = []
    if not isinstance(a.get("parts"), list) or not 1 <= len(a["parts"]) <= 32:
        raise ValueError("parts")
    for entry in a["parts"]:
        if not isinstance(entry, dict):
            raise ValueError("a kind of parts is not an object")
        role, name, arguments = entry.get("role"), entry.get("type"), entry.get("arguments", {})
        check_name(role)
        if set(role) & set(".[]`") or role in COLUMNS or role in [k.name for k in kinds]:
            raise ValueError(f"role {role!r}")
        if not isinstance(name, str) or name not in TYPE_IDS or not isinstance(arguments, dict):
            raise ValueError(f"role {role}: type {name!r}")
        f = Field(bytes(208), 0)
        f.name, f.type_id, f.arguments, f.known = role, TYPE_IDS[name], arguments, True
        if f.type_id in TOKEN_TYPES and not arguments:
            raise ValueError(f"role {role}: no arguments")
        f.form, f.record_bytes = File._type_layout(f)
        if f.record_bytes > 80:
            raise ValueError(f"role {role}: records of {f.record_bytes} bytes")
        kinds.append(f)
    return kinds


def part_entry(f):
    """Bytes of an entry of the table: more where a kind's record needs them."""
    return 96 if any(kind.record_bytes > 48 for kind in part_kinds(f.arguments)) else 64


def parts_fault(f, record, size):
    """(byte of the record, message), or None."""
    mask, parts, _, images = struct.unpack_from("<IIII", record, 16)
    if part_entry(f) * parts > size:
        return 20, f"{parts} parts in {size} bytes"
    if mask >> len(part_kinds(f.arguments)):
        return 16, f"mask {mask:#x}"
    return (28, f"{images} images in {parts} parts") if images > parts else None


def multimodal_parts(f, stored):
    """[(kind, group, begin, Stored or None for a null)] of a multimodal value. SpecError "corrupt" when an entry is wrong."""
    kinds, parts, out = part_kinds(f.arguments), struct.unpack_from("<I", stored.record, 20)[0], []
    each = part_entry(f)
    for i in range(parts):
        entry = stored.data[each * i:each * (i + 1)]
        number, flags, group, begin = struct.unpack_from("<HHIq", entry)
        if number >= len(kinds) or flags > 1:
            raise SpecError("corrupt", None, f"part {i}: kind {number}, flags {flags}")
        kind = kinds[number]
        record = entry[16:16 + (0 if flags else kind.record_bytes)]
        if any(entry[16 + len(record):]):
            raise SpecError("corrupt", None, f"part {i}: bytes after its record")
        ptr, size = struct.unpack_from("<QI" if kind.form == SIZE32 else "<QQ", record) if kind.form and not flags else (0, 0)
        if (ptr or size) and not (each * parts <= ptr <= len(stored.data) and size <= len(stored.data) - ptr):
            raise SpecError("corrupt", None, f"part {i}: {size} bytes at {ptr}")
        out.append((kind, group, begin, None if flags else Stored(record, stored.data[ptr:ptr + size])))
    return out


def part_totals(parts, kinds):
    """mask, tokens, images, pixels, samples, milliseconds, as the record has them."""
    mask = tokens = images = pixels = samples = milliseconds = 0
    for kind, _, _, s in parts:
        if s is None:
            continue
        mask |= 1 << [k.name for k in kinds].index(kind.name)
        if kind.type_id in IMAGES:
            height, width = struct.unpack_from("<HH", s.record, 12)
            images, pixels = images + 1, pixels + height * width
        elif kind.type_id in (WAVEFORM, PACKETS):
            count, rate = struct.unpack_from("<QI", s.record, 16)
            samples, milliseconds = samples + count, milliseconds + (count * 1000 // rate if rate else 0)
        elif kind.type_id == FRAMES:
            count, _, num, den = struct.unpack_from("<IIII", s.record, 16)
            milliseconds += count * 1000 * den // num if num else 0
        elif kind.type_id == VIDEO:
            milliseconds += struct.unpack_from("<Q", s.record, 40)[0] // 1000
        elif kind.type_id in TOKEN_TYPES:
            tokens += File.tokens(kind, s.record)
    return mask, tokens, images, pixels, samples, milliseconds


def flow_floats(a, record, data):
    """Optical flow as float32 (frames, height, width, 2), NaN where it is not known."""
    numbers = np.frombuffer(data, a["dtype"])
    floats = numbers.astype(np.float32)
    if a["dtype"] == "|i1":
        floats = np.where(numbers == -128, np.float32(np.nan), floats * np.float32(struct.unpack_from("<f", record, 24)[0]))
    return floats.reshape(*struct.unpack_from("<IHH", record, 16), 2)


def check_video_arguments(a):
    if not isinstance(a.get("audio", True), bool):
        raise ValueError("audio")


def video_fault(record, size):
    """(byte of the record, message), or None."""
    frames, keys, width, height, num, den, _, streams, zero, _ = struct.unpack_from("<IIHHIIBBHQ", record, 16)
    samples, sound_bytes, rate, channels, bits, codec = struct.unpack_from("<QQIHBB", record, 48)
    if size < 256 or frames > size // 24:
        return 8, f"{size} bytes for {frames} frames"
    for at, wrong in ((20, keys > size // 32), (24, width == 0), (26, height == 0), (28, (num == 0) != (den == 0)), (37, streams == 0), (38, zero != 0)):
        if wrong:
            return at, "a member of a video's record"
    if any((samples, sound_bytes, rate, channels, bits, codec)):
        for at, wrong in ((56, sound_bytes > size - 64), (64, rate == 0), (68, channels == 0)):
            if wrong:
                return at, "the sound of a video's record"
    return None


def video_tables(stored):
    """A video's tables: a dict with "stream", the members of the video's entry, "packets", a list of (bytes, pts, dts or None, flags, configuration),
    "frames", a list of (pts, number of its packet, last packet that it needs, start packet), "configurations", and "sound", None or (Stored of
    AUDIO_COMPRESSED, start as a pair). Raises SpecError without an offset. Nothing is decoded."""
    data, record = stored.data, stored.record

    def require(good, message, status="corrupt"):
        if not good:
            raise SpecError(status, None, message)

    def inside(at, size, end):
        return at <= end and size <= end - at

    version, streams, flags, table, data_at, data_bytes, total = struct.unpack_from("<HHIQQQQ", data)
    require(version == 1, f"version {version}", "feature")
    require(flags == 0, f"flags {flags:#x}", "feature")
    require(1 <= streams <= 64, f"{streams} streams")
    require(64 + 192 * streams <= table <= min(len(data), 2**24), f"a table up to byte {table}")
    require(data_at >= table and inside(data_at, data_bytes, len(data)), f"packets from byte {data_at} on")
    require(total == len(data), f"{total} bytes")
    require(crc32c(data[:56] + data[64:table]) == struct.unpack_from("<I", data, 56)[0], "the CRC of the table")
    video = sound = None
    for i in range(streams):
        at = 64 + 192 * i
        kind, codec = struct.unpack_from("<HB", data, at)
        require(kind <= 3, f"a stream of kind {kind}", "feature")
        if kind == 0 and video is None:
            names = "tick_num tick_den first end packets_at frames_at packets frames configs_at configs reorder turn width height".split()
            video = dict(zip(names, struct.unpack_from("<IIqqQQIIQHBBII", data, at + 16)), codec=codec)
            video.update(zip(("planes", "bits", "shift_x", "shift_y", "rgb"), data[at + 92:at + 97]))
        elif kind == 1 and sound is None:
            sound = (codec, *struct.unpack_from("<IHB", data, at + 104), struct.unpack_from("<Q", data, at + 112)[0], *struct.unpack_from("<qQQQ", data, at + 144))
    require(video is not None, "no video")
    v = video
    require(v["tick_num"] and v["tick_den"], "a time base of 0")
    require(v["packets"] and table <= v["packets_at"] and inside(v["packets_at"], 32 * v["packets"], data_at), "the index of packets")
    require(table <= v["frames_at"] and inside(v["frames_at"], 24 * v["frames"], data_at), "the table of frames")
    require(1 <= v["configs"] <= 1024 and inside(v["configs_at"], 16 * v["configs"], table), "configurations")
    require(v["turn"] < 8 and v["reorder"] <= 16 and 1 <= v["width"] <= 32768 and 1 <= v["height"] <= 32768, "turn, reorder or size")
    require(v["planes"] in (1, 3) and 8 <= v["bits"] <= 16 and v["shift_y"] <= v["shift_x"] <= 1 and v["rgb"] <= 1, "planes")
    require(v["first"] <= v["end"] < 2**63 + min(v["first"], 0), "times")
    n, _, width, height, _, _, codec = struct.unpack_from("<IIHHIIB", record, 16)
    size = (v["height"], v["width"]) if v["turn"] & 1 else (v["width"], v["height"])
    require(n == v["frames"] and codec == v["codec"] and (width, height) == size, "the record is not the stream's")
    heard = struct.unpack_from("<QQIHBB", record, 48)
    if sound:
        codec, rate, channels, bits, samples, num, den, at, size = sound
        require(den > 0 and at >= data_at and inside(at, size, len(data)), "sound")
        require(heard == (samples, size, rate, channels, bits, codec) and at + size == len(data), "the record's sound")
        whole = struct.pack("<QQQIHBB", 0, size, samples, rate, channels, bits, codec)
        sound = Stored(whole, data[at:]), (num, den)
    else:
        require(not any(heard), "the record's sound")
    configurations = []
    for i in range(v["configs"]):
        at, size = struct.unpack_from("<QI", data, v["configs_at"] + 16 * i)
        require(inside(at, size, table), f"configuration {i}")
        configurations.append(data[at:at + size])
    packets, frames, last, end = [], [], 0, 0
    for i in range(v["packets"]):
        pts, at, size, back, _, flags, config = struct.unpack_from("<qQIiIHH", data, v["packets_at"] + 32 * i)
        require(end <= at and inside(at, size, data_bytes) and flags < 16 and config < v["configs"], f"packet {i}")
        end = at + size
        none = back == -2**31 or pts == -2**63
        packets.append((data[data_at + at:data_at + at + size], pts, None if none else pts - back, flags, config))
    for i in range(v["frames"]):
        pts, packet, start, _, back, config = struct.unpack_from("<qIIIHH", data, v["frames_at"] + 24 * i)
        require(packet < v["packets"] and start <= packet and back <= packet - start and config < v["configs"], f"frame {i}")
        require(last <= pts <= v["end"] - v["first"] and (i or pts == 0), f"the time of frame {i}")
        frames.append((pts, packet - back, packet, start))
        last = pts
    return {"stream": v, "packets": packets, "frames": frames, "configurations": configurations, "sound": sound}


def check_name(name):
    """ValueError when it is not the name of a field."""
    if not isinstance(name, str) or not 1 <= len(name.encode()) <= 63 or any(ord(c) < 32 or ord(c) == 127 for c in name):
        raise ValueError("along")


def is_segments(f):
    return f.type_id == NDARRAY and f.known and f.arguments["dtype"] == "<i8" and f.arguments["shape"] == [None, 2]


def check_along(a):
    """ValueError when the arguments of a side column are wrong."""
    if "along" not in a:
        if "form" in a:
            raise ValueError("form")
        return
    name, form, shape = a["along"], a.get("form", "dense"), a["shape"]
    check_name(name)
    if form not in ("dense", "spans") or not shape or shape[0] is not None:
        raise ValueError("form")
    if form == "spans" and (shape != [None, 2] or a["dtype"][1] not in "iu" or a["dtype"] == "bfloat16"):
        raise ValueError("spans")


def parse_descr(descr, depth=1, dims=0, path=0, count=None):
    """(members, itemsize) with members [(name, type or nested members, item bytes, shape, offset)]; padding is left out."""
    count = [0] if count is None else count
    if not isinstance(descr, list) or not descr or depth > 8:
        raise ValueError("descr is not a list of members, or nested deeper than 8")
    members, offset, names = [], 0, set()
    for item in descr:
        if not isinstance(item, list) or len(item) not in (2, 3) or not isinstance(item[0], str):
            raise ValueError("a member is [name, type] or [name, type, shape]")
        name, kind, shape = item[0], item[1], item[2] if len(item) == 3 else []
        if not isinstance(shape, list) or any(type(n) is not int or n < 1 for n in shape) or len(shape) > 8:
            raise ValueError("a shape is at most 8 positive integers")
        count[0] += 1
        padding = name == "" and isinstance(kind, str) and kind.startswith("|V")
        bare = name == "" and not padding and depth == 1 and len(descr) == 1
        if count[0] > 256 or (not name and not padding and not bare) or (name and name in names):
            raise ValueError("more than 256 members, a member without a name, or a name that is there twice")
        names.add(name)
        length = path + len(name.encode("utf-8", "surrogatepass")) + (path > 0 and name != "")
        if any(ord(c) < 32 or ord(c) == 127 for c in name) or length > 255:
            raise ValueError("a control character in a name, or a path of more than 255 bytes")
        if isinstance(kind, str):
            inner, size = kind, leaf_bytes(kind)
            if not padding and dims + len(shape) > 8:
                raise ValueError("more than 8 dimensions, enclosing ones included")
        else:
            inner, size = parse_descr(kind, depth + 1, dims + len(shape), length, count)
        if not padding:
            members.append((name, inner, size, shape, offset))
        offset += size * math.prod(shape)
        if offset > 4096:
            raise ValueError("larger than 4096 bytes")
    return members, offset


def decode_leaf(kind, raw):
    if kind == "bfloat16":
        return float((np.frombuffer(raw, "<u2").astype(np.uint32) << 16).view(np.float32)[0])
    if kind[:2] == "|S":
        return raw.rstrip(b"\0")
    if kind[:2] == "|V":
        return raw
    if kind[:2] == "<U":
        return raw.decode("utf-32-le", "surrogatepass").rstrip("\0")
    return np.frombuffer(raw, kind)[0].item()


def decode_members(members, raw):
    def one(kind, part):
        return decode_leaf(kind, part) if isinstance(kind, str) else decode_members(kind, part)

    def many(kind, size, shape, part):
        if not shape:
            return one(kind, part)
        step = size * math.prod(shape[1:])
        return [many(kind, size, shape[1:], part[i * step:(i + 1) * step]) for i in range(shape[0])]

    values = {name: many(kind, size, shape, raw[offset:offset + size * math.prod(shape)])
              for name, kind, size, shape, offset in members}
    return values[""] if list(values) == [""] else values


# ---- The file ------------------------------------------------------------------------------------------------------


# ---- The envelope of a file whose tables are encrypted ---------------------------------------------------------------


def file_key_of(section, at, key, passphrase):
    """The file key that the bytes of section 9 wrap; `at` is where they are, for errors."""
    algorithm, kdf, file_id, salt, opslimit, memlimit, nonce, wrapped = struct.unpack_from("<II16s16sQQ24s48s", section)
    if algorithm != 1 or kdf > 1:
        raise SpecError("feature", at + (4 if algorithm == 1 else 0), "unknown encryption")
    if kdf and not 1 <= opslimit <= 16:
        raise SpecError("limit", at + 40, f"opslimit {opslimit}")
    if kdf and not 8192 <= memlimit <= 1 << 30:
        raise SpecError("limit", at + 48, f"memlimit {memlimit}")
    if key is None and passphrase is None:
        raise SpecError("key_missing", at, "the file is encrypted")
    if (passphrase is None) == bool(kdf):
        raise SpecError("key_wrong", at + 4, "the file takes a " + ("passphrase" if kdf else "key"))
    if kdf:
        key = argon2id(passphrase.encode() if isinstance(passphrase, str) else passphrase, salt, opslimit, memlimit)
    file_key = aead_open(wrapped, file_id, nonce, bytes(key)) if len(key) == 32 else None
    if file_key is None:
        raise SpecError("key_wrong", at + 80, "the key does not open this file")
    return file_key, file_id


def unsealed(data, key, passphrase):
    """The bytes of the file inside the envelope; those of any other file as they are."""
    size = len(data)
    if size < 73 or bytes(data[:9]) != MAGIC or data[9:11] != b"\1\0":
        return data
    flags, at = struct.unpack_from("<I", data, 13)[0], struct.unpack_from("<Q", data, 65)[0]
    if flags & 0xFFF0 != SEALED or not flags & ENCRYPTED:
        return data
    if at + 232 != size:  # S1
        raise SpecError("truncated", size, f"the envelope at byte {at} is cut")
    magic, tail, tail_bytes, prefix_bytes, nonce = struct.unpack_from("<8sQQQ24s", data, at)
    if magic != b"MLDFENV\0":  # S2
        raise SpecError("corrupt", at, "no envelope where the header says")
    if crc32c(data[at:at + 228]) != struct.unpack_from("<I", data, at + 228)[0]:
        raise SpecError("checksum", at + 228, "the envelope is damaged")
    total, piece = tail_bytes + prefix_bytes, 1 << 20
    tags = tail + total
    if (tail % 64 or not 336 <= prefix_bytes <= tail or tail_bytes < FOOTER_BYTES
            or (tags + 16 * -(-total // piece) + 7) // 8 * 8 != at):  # S3
        raise SpecError("corrupt", at + 8, "the numbers of the envelope do not fit the file")
    file_key, file_id = file_key_of(data[at + 56:at + 216], at + 56, key, passphrase)  # S4, S5
    table_key, plain = subkey(file_key, 4), b""
    for k, begin in enumerate(range(0, total, piece)):  # S6
        end = min(begin + piece, total)
        number = int.from_bytes(nonce[16:], "little") + k
        box = bytes(data[tail + begin:tail + end]) + bytes(data[tags + 16 * k:tags + 16 * k + 16])
        opened = aead_open(box, file_id + struct.pack("<QQQ", k, tail_bytes, prefix_bytes),
                           nonce[:16] + (number % 2**64).to_bytes(8, "little"), table_key)
        if opened is None:
            raise SpecError("tampered", tail + begin, "the tables are not what was written")
        plain += opened
    return plain[tail_bytes:] + bytes(data[prefix_bytes:tail]) + plain[:tail_bytes]



class File:
    def __init__(self, data, key=None, passphrase=None, without_key=False, limit=None):
        self.data, self.limit, self.warnings = memoryview(unsealed(data, key, passphrase)), limit, []
        self.sealed = 0 if self.data.obj is data else SEALED
        self.fields, self.sections, self.by_kind = [], [], {}
        self.generation, self.entry_count, self.payload_key, self.dictionary, self.row_bytes = 0, 0, None, None, 0
        self._find_header()
        self.num_samples = self.header.num_samples
        if self.legacy:
            self._open_1_0()
        else:
            self._check_header()
            self._read_directory()
            self._read_tables()
            self._read_descriptors()
            self._check_sections()
            self._read_arguments()
            if self.header.flags & ENCRYPTED and not without_key:
                self._unlock(key, passphrase)
        self.by_name = {f.name: f for f in self.fields}

    def u32(self, at):
        return struct.unpack_from("<I", self.data, at)[0]

    def u64(self, at):
        return struct.unpack_from("<Q", self.data, at)[0]

    def fits(self, ptr, size):
        return 73 <= ptr <= self.end and size <= self.end - ptr

    # -- Opening: prefix and state

    def _footer_is_valid(self, p):
        d = self.data
        return (p >= 73 and p + FOOTER_BYTES <= len(d) and d[p + 80:p + 96] == MAGIC + bytes(7)
                and crc32c(d[p:p + 76]) == self.u32(p + 76) and self.u64(p + 64) == p + FOOTER_BYTES)

    def _find_header(self):
        d, size = self.data, len(self.data)
        if size < 9 and d == MAGIC[:size]:
            raise SpecError("truncated", size, f"{size} bytes are too few for the magic")  # O1
        if d[:9] != MAGIC:
            raise SpecError("magic", 0, "not an MLDF file")  # O2
        if size < HEADER + HEADER_BYTES:
            raise SpecError("truncated", size, "the header is incomplete")  # O3
        front = bytes(d[HEADER:HEADER + HEADER_BYTES])
        h = Header(*struct.unpack("<HHIQHHIQQQQQ", front))
        if any(front):
            self._check_version(h, HEADER)  # O4, O5
        pointers = h[7:]
        self.legacy, self.base, self.end, self.header = False, HEADER, size, h
        p = self._implied_footer(h)
        if h.version_minor >= 1 and p is not None and self._footer_is_valid(p) and d[p:p + 64] == front:  # O6
            self.end = p + FOOTER_BYTES
            self.generation = self.u32(p + 72)
            if self.end < size:
                self.warnings.append(f"{size - self.end} bytes after the logical end are ignored")
            return
        last = size - FOOTER_BYTES
        last_is_valid = self._footer_is_valid(last)
        if last_is_valid and (not any(pointers) or max(pointers) < size):  # O7
            self.base = last
            self.header = Header(*struct.unpack_from("<HHIQHHIQQQQQ", d, last))
            self.generation = self.u32(last + 72)
            self.warnings.append("the front header is not the state; the footer's copy is used")
            return
        if not any(pointers):
            raise SpecError("unfinished", 33, "the header has no pointers and no footer ends the file")  # O8
        if h.version_minor == 0 and h.directory_ptr == 0 and not last_is_valid:
            self.legacy = True  # O9
            return
        if max(pointers) >= size:
            raise SpecError("truncated", size, f"a pointer in the header leads to byte {max(pointers)}")  # O10
        where = h.directory_ptr  # O11
        if where < 73 or where % 8:
            raise SpecError("corrupt", 65, f"directory_ptr {where}")
        if where + 16 > size:
            raise SpecError("truncated", size, "the directory is cut")
        if d[where:where + 8] != DIRECTORY_MAGIC:
            raise SpecError("corrupt", where, "no directory where the header says")
        if self.u32(where + 8) > 1024:
            raise SpecError("corrupt", where + 8, f"{self.u32(where + 8)} sections")
        p = where + 16 + ENTRY_BYTES * self.u32(where + 8)  # O12
        if p + FOOTER_BYTES > size:
            raise SpecError("truncated", size, f"the footer should end at byte {p + FOOTER_BYTES}")
        if d[p + 80:p + 96] != MAGIC + bytes(7):
            raise SpecError("corrupt", p + 80, "no footer after the directory")
        if crc32c(d[p:p + 76]) != self.u32(p + 76):
            raise SpecError("checksum", p + 76, "the footer is damaged")
        if self.u64(p + 64) != p + FOOTER_BYTES:
            raise SpecError("corrupt", p + 64, f"the footer says {self.u64(p + 64)} bytes and ends at {p + FOOTER_BYTES}")
        differs = next(i for i in range(64) if d[p + i] != front[i])
        raise SpecError("corrupt", HEADER + differs, "the front header differs from its footer")  # O13

    def _implied_footer(self, h):
        """Where the footer of this header stands, None when there is no directory that says so."""
        where = h.directory_ptr
        if where < 73 or where % 8 or where + 16 > len(self.data) or self.data[where:where + 8] != DIRECTORY_MAGIC:
            return None
        count = self.u32(where + 8)
        return where + 16 + ENTRY_BYTES * count if count <= 1024 else None

    @staticmethod
    def _check_version(h, base):
        if h.version_major != 1:
            raise SpecError("version", base, f"version {h.version_major}.{h.version_minor}: the "
                            + ("reader" if h.version_major > 1 else "file") + " is too old")
        if not h.flags & LITTLE_ENDIAN or h.flags & 0xFFF0:
            raise SpecError("feature", base + 4, f"flags {h.flags:#x}")

    # -- Opening: header, directory, tables

    def _check_header(self):
        h, base = self.header, self.base
        if base != HEADER:  # O14
            if h.version_major == 1 and h.version_minor == 0:
                raise SpecError("corrupt", base + 2, "a footer in a 1.0 file")
            self._check_version(h, base)
        if h.version_minor > 1:
            self.warnings.append(f"version 1.{h.version_minor} is newer than this reader")
        if h.num_fields == 0:
            raise SpecError("corrupt", base + 16, "no fields")  # O15
        if not 4096 <= h.page_size <= 2**31 or h.page_size & (h.page_size - 1):
            raise SpecError("corrupt", base + 20, f"page_size {h.page_size}")  # O16
        if not 73 <= h.data_ptr <= self.end:
            raise SpecError("corrupt", base + 40, f"data_ptr {h.data_ptr}")  # O17

    def _read_directory(self):
        d, where = self.data, self.header.directory_ptr
        if self.base != HEADER:  # O18
            if where < 73 or where % 8 or where + 16 > self.base:
                raise SpecError("corrupt", self.base + 56, f"directory_ptr {where}")
            if d[where:where + 8] != DIRECTORY_MAGIC:
                raise SpecError("corrupt", where, "no directory where the footer says")
            if self.u32(where + 8) > 1024 or where + 16 + ENTRY_BYTES * self.u32(where + 8) != self.base:
                raise SpecError("corrupt", where + 8, "the directory does not end at the footer")
        count, crc = struct.unpack_from("<II", d, where + 8)
        if crc32c(d[where + 16:where + 16 + ENTRY_BYTES * count]) != crc:
            raise SpecError("checksum", where + 12, "the directory is damaged")  # O19
        for i in range(count):  # O20
            e = where + 16 + ENTRY_BYTES * i
            s = Section(*struct.unpack_from("<IIQQIIQ", d, e), e)
            if s.kind == 0 or s.kind in self.by_kind:
                raise SpecError("corrupt", e, f"section kind {s.kind} is zero or there twice")
            if s.kind not in KNOWN_KINDS and s.flags & 1:
                raise SpecError("feature", e, f"section kind {s.kind} must be understood")
            if not self.fits(s.ptr, s.size):
                raise SpecError("corrupt", e, f"section {s.kind}: {s.ptr} + {s.size} passes the end at {self.end}")
            self.sections.append(s)
            self.by_kind[s.kind] = s
        if TABLES not in self.by_kind:
            raise SpecError("corrupt", where, "no section 1")  # O21

    def section_bytes(self, s):
        return self.data[s.ptr:s.ptr + s.size]

    def _read_tables(self):
        h, s, d = self.header, self.by_kind[TABLES], self.data
        if s.size < 72:
            raise SpecError("corrupt", s.entry, "section 1 is too small")  # O22
        if crc32c(d[s.ptr:s.ptr + 72]) != s.param:
            raise SpecError("checksum", s.ptr, "section 1 is damaged")
        wanted = ((h.field_desc_ptr, h.num_fields), (h.metadata_ptr, h.num_samples), (h.alloc_table_ptr, None))
        self.tables = []
        for k, (want_ptr, want_entries) in enumerate(wanted):  # O23
            at = s.ptr + 24 * k
            ptr, size, entries = struct.unpack_from("<QQQ", d, at)
            if ptr != want_ptr:
                raise SpecError("corrupt", at, f"table {k} at {ptr}, but the header says {want_ptr}")
            if want_entries is not None and entries != want_entries:
                raise SpecError("corrupt", at + 16, f"table {k} has {entries} entries, the header says {want_entries}")
            if k != 1 and size != entries * (DESCRIPTOR_BYTES if k == 0 else 16):
                raise SpecError("corrupt", at + 8, f"table {k}: {size} bytes for {entries} entries")
            if not self.fits(ptr, size):
                raise SpecError("corrupt", at, f"table {k}: {ptr} + {size} passes the end at {self.end}")
            self.tables.append((ptr, size))
            self.entry_count = entries
        blocks = sum(-(-size // BLOCK) for _, size in self.tables) if h.flags & CHECKSUMMED else 0
        if s.size != 72 + 4 * blocks:
            raise SpecError("corrupt", s.entry, f"section 1 has {s.size} bytes, {72 + 4 * blocks} expected")  # O24
        for at in self._bad_blocks(0):
            raise SpecError("checksum", at, "the descriptors are damaged")  # O25

    def _bad_blocks(self, table):
        """First bytes of the blocks of a table whose CRC differs."""
        if not self.header.flags & CHECKSUMMED:
            return
        crc_at = self.by_kind[TABLES].ptr + 72 + 4 * sum(-(-size // BLOCK) for _, size in self.tables[:table])
        ptr, size = self.tables[table]
        for b in range(-(-size // BLOCK)):
            at = ptr + b * BLOCK
            if crc32c(self.data[at:min(at + BLOCK, ptr + size)]) != self.u32(crc_at + 4 * b):
                yield at

    # -- Opening: descriptors, sections, arguments

    def _read_descriptors(self):
        h, names, row_end, row_align = self.header, set(), 0, 1
        for i in range(h.num_fields):
            d = h.field_desc_ptr + DESCRIPTOR_BYTES * i
            f = Field(bytes(self.data[d:d + DESCRIPTOR_BYTES]), d)
            f.index = i
            if not f.check_name(names):
                raise SpecError("corrupt", d, f"field {i}: name {f.raw_name!r}")  # O26
            if f.type_id == 0:
                raise SpecError("corrupt", d + 64, f"field {f.name}: type 0")  # O27
            if f.flags & 0xFFD0:
                raise SpecError("feature", d + 66, f"field {f.name}: flags {f.flags:#x}")  # O28
            if f.form == 12 or f.flags & PREFIX and not (f.form and h.flags & COMPRESSED):
                raise SpecError("corrupt", d + 66, f"field {f.name}: flags {f.flags}")
            if f.flags & CHUNKED and (not f.form or f.flags & PREFIX or not h.flags & ENCRYPTED):
                raise SpecError("corrupt", d + 66, f"field {f.name}: flags {f.flags}")
            if not max(1, {SIZE32: 12, SIZE64: 16}.get(f.form, 0)) <= f.record_bytes <= 65536:
                raise SpecError("corrupt", d + 68, f"field {f.name}: record of {f.record_bytes} bytes")  # O29
            if f.row_align not in (1, 2, 4, 8, 16, 32, 64) or f.form and f.row_align != 8:
                raise SpecError("corrupt", d + 204, f"field {f.name}: row_align {f.row_align}")  # O30
            if f.row_offset % f.row_align or f.row_offset < row_end or f.row_offset + f.record_bytes > 16 * MIB:
                raise SpecError("corrupt", d + 72, f"field {f.name}: row_offset {f.row_offset}")  # O31
            if f.arguments_bytes > 128 and f.arguments_bytes != 65535:
                raise SpecError("corrupt", d + 206, f"field {f.name}: arguments_bytes {f.arguments_bytes}")  # O32
            row_end, row_align = f.row_offset + f.record_bytes, max(row_align, f.row_align)
            self.fields.append(f)
        self.row_bytes = align_up(row_end, row_align)
        if self.tables[1][1] != self.row_bytes * h.num_samples:
            raise SpecError("corrupt", self.by_kind[TABLES].ptr + 32,
                            f"{self.tables[1][1]} bytes for {h.num_samples} rows of {self.row_bytes}")  # O33
        self.payload_fields = [f for f in self.fields if f.form]
        for k, f in enumerate([f for f in self.fields if f.nullable]):
            f.validity = k

    def _check_sections(self):
        h, n = self.header, self.num_samples
        nullable, payloads = sum(f.nullable for f in self.fields), len(self.payload_fields)
        pages = max(0, -(-(h.metadata_ptr - h.data_ptr) // h.page_size))
        for s in self.sections:  # O34
            slots = 1 << min(s.param, 41)
            good = {CHECKS: s.param == payloads and s.size == 4 * payloads * n,
                    CARD: s.size <= 64 * MIB,
                    STATISTICS: s.param == 128 and s.size == 128 * h.num_fields,
                    VALIDITY: s.param == nullable and s.size == 8 * nullable * -(-n // 64),
                    KEYS: s.param <= 40 and 2 * slots >= 3 * n and s.size >= 8 * (n + 1) + 8 * slots,
                    PAGE_MAP: s.param == h.page_size and s.size == 8 * pages,
                    DICTIONARY: 0 < s.size <= 16 * MIB,
                    ENCRYPTION: h.flags & ENCRYPTED and s.size == 160,
                    LONG_ARGUMENTS: s.size >= 8,
                    PACK_PLANS: s.size >= 8,
                    HISTORY: s.size % 24 == 0,
                    SEALED_DICTIONARY: h.flags & ENCRYPTED and DICTIONARY not in self.by_kind
                    and 41 <= s.size <= 16 * MIB + 40}.get(s.kind, True)
            if not good:
                raise SpecError("corrupt", s.entry, f"section {s.kind}: {s.size} bytes, param {s.param}")
            if s.kind in (STATISTICS, DICTIONARY, ENCRYPTION, LONG_ARGUMENTS, HISTORY, SEALED_DICTIONARY):
                if crc32c(self.section_bytes(s)) != s.crc:
                    raise SpecError("checksum", s.ptr, f"section {s.kind} is damaged")
            if s.kind == KEYS:
                last = self.u64(s.ptr + 8 * n)
                if self.u64(s.ptr) != 8 * (n + 1):
                    raise SpecError("corrupt", s.ptr, "the first key offset is wrong")
                if last < 8 * (n + 1) or align_up(last, 8) + 8 * slots != s.size:
                    raise SpecError("corrupt", s.ptr + 8 * n, "the last key offset is wrong")
            if s.kind == ENCRYPTION:
                algorithm, kdf = struct.unpack_from("<II", self.data, s.ptr)
                if algorithm != 1 or kdf > 1:
                    raise SpecError("feature", s.ptr if algorithm != 1 else s.ptr + 4, "unknown encryption")
                if kdf and not 1 <= self.u64(s.ptr + 40) <= 16:
                    raise SpecError("limit", s.ptr + 40, f"opslimit {self.u64(s.ptr + 40)}")
                if kdf and not 8192 <= self.u64(s.ptr + 48) <= 1 << 30:
                    raise SpecError("limit", s.ptr + 48, f"memlimit {self.u64(s.ptr + 48)}")
            if s.kind == PACK_PLANS:
                self._check_plans(s)
            if s.kind == DICTIONARY:
                self.dictionary = bytes(self.section_bytes(s))
            if s.kind == LONG_ARGUMENTS:
                self._check_long_arguments(s)
        for kind, needed in ((CHECKS, h.flags & CHECKSUMMED and payloads), (VALIDITY, nullable),
                             (ENCRYPTION, h.flags & ENCRYPTED)):  # O35
            if needed and kind not in self.by_kind:
                raise SpecError("corrupt", h.directory_ptr, f"section {kind} is missing")

    def _check_plans(self, s):
        if self.u32(s.ptr) != 1:
            return
        count = self.u32(s.ptr + 4)
        tables = 8 + 128 * count
        if count != s.param or count > 64 or tables > s.size:
            raise SpecError("corrupt", s.ptr, f"{count} pack plans")
        for k in range(count):
            h = s.ptr + 8 + 128 * k
            bins_at, pieces_at, bins, pieces, rows = struct.unpack_from("<5Q", self.data, h)
            form = self.data[h + 101]
            if bins_at % 8 or bins_at < tables or bins_at + 8 * (bins + 1) > s.size:
                raise SpecError("corrupt", h, f"pack plan {k}: {bins} bins")
            if form > 1:
                raise SpecError("corrupt", h + 101, f"pack plan {k}: form {form}")
            if pieces_at % 8 or pieces_at < tables or pieces_at + (12, 16)[form] * pieces > s.size:
                raise SpecError("corrupt", h + 8, f"pack plan {k}: {pieces} pieces")
            if rows > self.num_samples:
                raise SpecError("corrupt", h + 32, f"pack plan {k}: {rows} rows")
            if struct.unpack_from("<H", self.data, h + 96)[0] >= self.header.num_fields:
                raise SpecError("corrupt", h + 96, f"pack plan {k}: its field")

    @property
    def plans(self):
        """The pack plans: dicts with the members of their headers, first_piece and the pieces as a structured array."""
        s = self.by_kind.get(PACK_PLANS)
        result = []
        for k in range(s.param if s and self.u32(s.ptr) == 1 else 0):
            h = s.ptr + 8 + 128 * k
            names = "bins_offset pieces_offset bins pieces rows placed left_out cut lengths_hash length align max_pieces most_pieces " \
                "bos eos field algorithm algorithm_version long form"
            plan = dict(zip(names.split(), struct.unpack_from("<9Q6IH4B", self.data, h)))
            plan["seed"] = self.u64(h + 104)
            plan["field"] = self.fields[plan["field"]].name
            plan["first_piece"] = np.frombuffer(self.data, "<u8", plan["bins"] + 1, s.ptr + plan["bins_offset"])
            piece = np.dtype([("document", "<u8" if plan["form"] else "<u4"), ("from", "<u4"), ("length", "<u4")])
            plan["table"] = np.frombuffer(self.data, piece, plan["pieces"], s.ptr + plan["pieces_offset"])
            result.append(plan)
        return result

    def _check_long_arguments(self, s):
        count, before = self.u32(s.ptr), -1
        self.long_arguments = {}
        if count > self.header.num_fields or 8 + 24 * count > s.size:
            raise SpecError("corrupt", s.ptr, f"{count} long arguments")
        for k in range(count):
            at = s.ptr + 8 + 24 * k
            field, _, offset, size = struct.unpack_from("<IIQQ", self.data, at)
            if (not before < field < self.header.num_fields or self.fields[field].arguments_bytes != 65535
                    or offset < 8 + 24 * count or offset + size > s.size or size > MIB):
                raise SpecError("corrupt", at, f"long arguments of field {field}")
            self.long_arguments[field] = (s.ptr + offset, size)
            before = field

    def _read_arguments(self):
        for f in self.fields:  # O36
            at, size = f.at + 76, f.arguments_bytes
            if size == 65535:
                if LONG_ARGUMENTS not in self.by_kind or f.index not in self.long_arguments:
                    raise SpecError("corrupt", f.at + 206, f"field {f.name}: its arguments are missing")
                at, size = self.long_arguments[f.index]
            try:
                f.arguments = parse_json(self.data[at:at + size]) if size else {}
                if not isinstance(f.arguments, dict):
                    raise ValueError("not an object")
                layout = self._type_layout(f)
            except ValueError as why:
                raise SpecError("corrupt", at, f"field {f.name}: arguments: {why}") from None
            if layout:
                f.known = True
                if f.form != layout[0]:
                    raise SpecError("corrupt", f.at + 66, f"field {f.name}: payload flag {f.form}")
                if f.record_bytes != layout[1]:
                    raise SpecError("corrupt", f.at + 68, f"field {f.name}: record of {f.record_bytes} bytes")

    @staticmethod
    def _type_layout(f):
        """(payload flag, record bytes) of a known type, None of another; ValueError when the arguments are wrong."""
        a = f.arguments
        if f.type_id == INT:
            if not isinstance(a.get("dtype", "<i8"), str) or a.get("dtype", "<i8") not in INT_DTYPES:
                raise ValueError("dtype")
            return 0, 8
        if f.type_id == FLOAT:
            return 0, 8
        if f.type_id in (BYTES, JSON):
            if f.type_id == JSON and "along" in a:
                check_name(a["along"])
            return SIZE64, 16
        if f.type_id == TEXT:
            return SIZE32, 16
        if f.type_id == NDARRAY:
            dtype, shape = a.get("dtype"), a.get("shape")
            if not isinstance(dtype, str) or dtype not in ITEM_BYTES:
                raise ValueError("dtype")
            if not isinstance(shape, list) or len(shape) > 8:
                raise ValueError("shape")
            if any(n is not None and (type(n) is not int or not 0 <= n < 2**32) for n in shape):
                raise ValueError("shape")
            check_along(a)
            return SIZE64, align_up(16 + 4 * len(shape), 8) if None in shape else 16
        if f.type_id in IMAGES:
            check_image_arguments(f.type_id, a)
            return SIZE32, 24
        if f.type_id in (WAVEFORM, PACKETS) and f.form != SIZE32:  # with SIZE32 it is the draft's form
            check_audio_arguments(a)
            if f.type_id == PACKETS:
                check_packet_arguments(a)
            return SIZE64, 32
        if f.type_id == FRAMES and f.form != SIZE32:
            check_frames_arguments(a)
            return SIZE64, 32
        if f.type_id == VIDEO and f.form != SIZE32:
            check_video_arguments(a)
            return SIZE64, 72
        if f.type_id == FLOW and a:  # without arguments it is the draft's
            if a.get("dtype") not in ("|i1", "<f2"):
                raise ValueError("dtype")
            return SIZE64, 32
        if f.type_id == MULTIMODAL and f.form != SIZE32:
            part_kinds(a)
            return SIZE64, 56
        if f.type_id in GRIDS and f.form != SIZE32:
            check_grid_arguments(f.type_id, a)
            return SIZE64, 24
        if f.type_id in TOKEN_TYPES and not (f.type_id in (PACKED, HIERARCHICAL) and f.form == SIZE32):  # with SIZE32 it is the draft's form
            if f.type_id != TOKENS or a:  # without arguments 41 is the draft's
                check_token_arguments(a)
            return (SIZE32, 16) if f.type_id == TOKENS else (SIZE64, 24 if f.type_id == PACKED else 32)
        if f.type_id == INLINE:
            f.members, size = parse_descr(a.get("descr"))
            return 0, size
        if f.type_id >= PRIVATE and (not isinstance(a.get("type"), str) or not a["type"]):
            raise ValueError("a private type needs its name in \"type\"")
        return None

    # -- Opening: encryption

    def _unlock(self, key, passphrase):  # O37
        s = self.by_kind[ENCRYPTION]
        file_key, self.file_id = file_key_of(self.section_bytes(s), s.ptr, key, passphrase)
        mac = bytes(self.data[s.ptr + 128:s.ptr + 160])
        digest = hashlib.blake2b(key=subkey(file_key, 2), digest_size=32)
        digest.update(self.data[self.base:self.base + HEADER_BYTES])
        for ptr, size in self.tables:
            digest.update(self.data[ptr:ptr + size])
        for other in self.sections:
            if other.kind != ENCRYPTION:
                digest.update(struct.pack("<IIQQ", other.kind, other.flags, other.size, other.param))
                digest.update(self.section_bytes(other))
        if digest.digest() != mac:
            raise SpecError("tampered", s.ptr + 128, "the tables are not what was written")
        sealed = self.by_kind.get(SEALED_DICTIONARY)
        if sealed:
            data, associated = bytes(self.section_bytes(sealed)), self.file_id + struct.pack("<I", SEALED_DICTIONARY)
            self.dictionary = aead_open(data[24:], associated, data[:24], subkey(file_key, 3))
            if self.dictionary is None:
                raise SpecError("tampered", sealed.ptr, "the dictionary is not what was written")
        self.payload_key = subkey(file_key, 1)

    # -- Opening: 1.0

    def _open_1_0(self):
        h, size = self.header, len(self.data)
        if h.flags & (COMPRESSED | ENCRYPTED):
            raise SpecError("feature", 13, "1.0 has no layout for compression and encryption")  # Z1
        if h.num_fields == 0:
            raise SpecError("corrupt", 25, "no fields")  # Z2
        if h.field_desc_ptr < 73:
            raise SpecError("corrupt", 33, f"field_desc_ptr {h.field_desc_ptr}")

        def descriptors(stride):
            if h.field_desc_ptr + stride * h.num_fields > size:
                return None
            starts = [h.field_desc_ptr + stride * i for i in range(h.num_fields)]
            return [Field(bytes(self.data[d:d + 204]), d) for d in starts]

        self.stride, names = 208, set()
        fields = descriptors(208)  # Z3
        if fields is None or not all(f.check_name(names) and (f.type_id in REGISTERED or f.type_id >= PRIVATE)
                                     for f in fields):
            self.stride, fields = 204, descriptors(204)
        if fields is None:
            raise SpecError("truncated", size, "the descriptors are cut")
        names, row_align = set(), 1
        for i, f in enumerate(fields):
            f.index, f.flags, f.nullable, f.form = i, 0, False, FORM_1_0.get(f.type_id, 0)
            if not f.check_name(names):
                raise SpecError("corrupt", f.at, f"field {i}: name {f.raw_name!r}")  # Z4
            if f.type_id == 0:
                raise SpecError("corrupt", f.at + 64, f"field {f.name}: type 0")
            if not max(1, {SIZE32: 12, SIZE64: 16}.get(f.form, 0)) <= f.record_bytes <= 65536:
                raise SpecError("corrupt", f.at + 68, f"field {f.name}: record of {f.record_bytes} bytes")
            if f.form or f.type_id == FLOAT:  # Z5
                f.row_align = 8
            else:
                f.row_align = max(a for a in (1, 2, 4, 8) if f.record_bytes % a == 0)
            f.row_offset = align_up(self.row_bytes, f.row_align)
            self.row_bytes, row_align = f.row_offset + f.record_bytes, max(row_align, f.row_align)
            if f.type_id == INT and f.record_bytes in (1, 2, 4):
                f.arguments = {"dtype": {1: "|i1", 2: "<i2", 4: "<i4"}[f.record_bytes]}
            f.known = (f.type_id, f.record_bytes) in (*((INT, n) for n in (1, 2, 4, 8)), (FLOAT, 8), (BYTES, 16), (JSON, 16), (TEXT, 16), (TOKENS, 16),
                                                      *((t, 24) for t in IMAGES))
        self.row_bytes = align_up(self.row_bytes, row_align)
        if self.row_bytes > 16 * MIB:
            raise SpecError("corrupt", fields[-1].at + 68, f"a row has {self.row_bytes} bytes")
        if h.num_samples and h.metadata_ptr < 73:
            raise SpecError("corrupt", 41, f"metadata_ptr {h.metadata_ptr}")  # Z6
        if h.num_samples and h.metadata_ptr + h.num_samples * self.row_bytes > size:
            raise SpecError("truncated", size, "the metadata table is cut")
        if h.alloc_table_ptr < 73:
            raise SpecError("corrupt", 57, f"alloc_table_ptr {h.alloc_table_ptr}")  # Z7
        self.entry_count = max(0, size - h.alloc_table_ptr) // 16
        self.fields, self.payload_fields = fields, [f for f in fields if f.form]
        self.tables = [None, (h.metadata_ptr, h.num_samples * self.row_bytes), (h.alloc_table_ptr, 16 * self.entry_count)]

    # -- Access

    def _record(self, sample, f):
        return self.header.metadata_ptr + sample * self.row_bytes + f.row_offset

    def _field(self, sample, name):
        if not 0 <= sample < self.num_samples:
            raise SpecError("no_sample", None, f"sample {sample} of {self.num_samples}")  # A1
        if name not in self.by_name:
            raise SpecError("no_field", None, f"no field {name!r}")
        return self.by_name[name]

    def is_null(self, sample, name):  # A2
        f = self._field(sample, name)
        if not f.nullable:
            return False
        at = self.by_kind[VALIDITY].ptr + f.validity * 8 * -(-self.num_samples // 64) + sample // 8
        return not self.data[at] >> sample % 8 & 1

    def location(self, sample, name):
        """(ptr, size) of the stored payload; size 0 when empty."""
        f = self._field(sample, name)
        r = self._record(sample, f)
        ptr, size = struct.unpack_from("<QQ" if f.form == SIZE64 else "<QI", self.data, r)
        if size == 0 and self.legacy:
            return 0, 0
        if self.legacy and (not f.known or f.type_id == TOKENS):  # the record may hold a count; the allocation table has the size
            size = self._allocated(ptr)
            if size is None:
                raise SpecError("corrupt", r, f"row {sample}, field {name}: no allocation at {ptr}", sample, name)  # A3
        if size == 0 and ptr or size and not (self.header.data_ptr <= ptr <= self.end and size <= self.end - ptr):
            raise SpecError("corrupt", r, f"row {sample}, field {name}: ptr {ptr} + size {size} is outside of "
                            f"{self.header.data_ptr} to {self.end}", sample, name)  # A3
        return ptr, size

    def _allocated(self, ptr):
        """The size of the allocation at ptr, or None; the table is sorted."""
        low, high, at = 0, self.entry_count, self.header.alloc_table_ptr
        while low < high:
            middle = (low + high) // 2
            found = self.u64(at + 16 * middle)
            if found == ptr:
                return self.u64(at + 16 * middle + 8)
            low, high = (middle + 1, high) if found < ptr else (low, middle)
        return None

    def stored(self, sample, name):
        """Record and value bytes, decrypted and decompressed, not decoded. None for a null."""
        f = self._field(sample, name)
        if self.is_null(sample, name):
            return None
        r = self._record(sample, f)
        record = bytes(self.data[r:r + f.record_bytes])
        if not f.form:
            return Stored(record, b"")
        ptr, size = self.location(sample, name)
        if not size:
            return Stored(record, b"")

        def bad(status, at, message):
            return SpecError(status, at, f"row {sample}, field {name}: {message}", sample, name)

        data = self.data[ptr:ptr + size]
        if self.header.flags & ENCRYPTED and not self.legacy:  # A5
            if self.payload_key is None:
                raise bad("key_missing", ptr, "the file is encrypted")
            if not self._plain_bytes(f, size):
                raise bad("corrupt", r + 8, f"{size} bytes are too few for a nonce, a tag and a value")
            associated = self.file_id + struct.pack("<QH", sample, f.index)
            if f.flags & CHUNKED:
                data = self._open_chunks(data, associated, lambda at: bad("tampered", ptr + at, "the chunk is not what was written here"))
            else:
                data = aead_open(data[24:], associated, data[:24], self.payload_key)
            if data is None:
                raise bad("tampered", ptr, "the payload is not what was written here")
        if f.flags & PREFIX:  # A6
            if len(data) < 9:
                raise bad("corrupt", r + 8, f"{len(data)} bytes are too few for a compressed payload")
            raw_size, codec = int.from_bytes(data[:7], "little"), data[7]
            if codec > 1:
                raise bad("feature", ptr, f"codec {codec}")
            data = data[8:]
            if raw_size == 0 or codec == 0 and raw_size != len(data) or codec == 1 and zstd_content_size(data) != raw_size:
                raise bad("corrupt", ptr, f"raw size {raw_size} contradicts the payload")
            if codec == 1:
                limit = self.limit or max(1 << 30, 256 * len(data))
                if raw_size > limit:
                    raise bad("limit", ptr, f"{raw_size} bytes, more than the limit of {limit}")
                try:
                    data = zstd_decompress(data, raw_size, self.dictionary)
                except ValueError as why:
                    raise bad("corrupt", ptr, str(why)) from None
        return Stored(record, bytes(data))

    @staticmethod
    def _plain_bytes(f, size):
        """Bytes of the value in an encrypted payload of this size; 0 where it cannot be one."""
        if size < 41:
            return 0
        if not f.flags & CHUNKED:
            return size - 40
        count, last = divmod(size - 24 - 1, CHUNK + 16)
        return size - 24 - 16 * (count + 1) if last >= 16 else 0

    def _open_chunks(self, data, associated, tampered):
        out, step = [], CHUNK + 16
        nonce, tail = bytes(data[:16]), int.from_bytes(data[16:24], "little")
        places = range(24, len(data), step)
        for i, at in enumerate(places):
            own = nonce + ((tail + i) % 2**64).to_bytes(8, "little")
            out.append(aead_open(data[at:at + step], associated + struct.pack("<QQ", i, len(places)), own, self.payload_key))
            if out[-1] is None:
                raise tampered(at)
        return b"".join(out)

    def shape(self, f, record):
        if f.type_id in IMAGES:
            return list(struct.unpack_from("<HHB", record, 12))
        if f.type_id in (WAVEFORM, PACKETS) and f.known:
            samples, _, channels = struct.unpack_from("<QIH", record, 16)
            return [min(samples, 2**32 - 1), channels]
        if f.type_id == FRAMES and f.known:
            return list(struct.unpack_from("<IHH", record, 16))
        if f.type_id == FLOW and f.known:
            return [*struct.unpack_from("<IHH", record, 16), 2]
        if f.type_id == MULTIMODAL and f.known:
            return [*struct.unpack_from("<I4xI", record, 20)]
        if f.type_id == VIDEO and f.known:
            frames, _, width, height = struct.unpack_from("<IIHH", record, 16)
            return [frames, height, width]
        if f.type_id in GRIDS and f.known:
            frames, across = struct.unpack_from("<IH", record, 16)
            return [frames, across] if grid_form(f)[1] else [across, frames]
        if f.type_id in TOKEN_TYPES and f.arguments:
            return [min(self.tokens(f, record), 2**32 - 1)]
        if f.type_id != NDARRAY:
            return []
        shape = f.arguments["shape"]
        return list(struct.unpack_from(f"<{len(shape)}I", record, 16)) if None in shape else list(shape)

    @staticmethod
    def tokens(f, record):
        """The number of tokens that a record says."""
        return struct.unpack_from({TOKENS: "<I", PACKED: "<I", HIERARCHICAL: "<I", STREAM: "<Q"}[f.type_id], record, 12 if f.type_id == TOKENS else 16)[0]

    def value(self, sample, name):
        """int, float, bytes, str, NumPy array (bfloat16 as uint16 bits), a JSON value, nested dicts and lists for INLINE,
        Stored for images, videos (video_frames gives their frames, video_tables those of packets), recordings (audio_floats gives their numbers, audio_packets their packets), tokens (token_parts gives their ids) and for types that are not known here, None for a null."""
        f = self._field(sample, name)
        s = self.stored(sample, name)
        if s is None or not f.known:
            return s
        r = self._record(sample, f)

        def bad(status, at, message):
            return SpecError(status, at, f"row {sample}, field {name}: {message}", sample, name)

        return self._decode(f, s, r, bad)

    def _decode(self, f, s, r, bad):
        """The value of a record at byte r with its payload; bad makes the error."""
        if f.type_id == INT:  # A7
            dtype = f.arguments.get("dtype", "<i8")
            number = int.from_bytes(s.record, "little", signed=dtype != "<u8")
            low, high = INT_DTYPES[dtype]
            if not low <= number <= high:
                raise bad("corrupt", r, f"{number} is no {dtype}")
            return bool(number) if dtype == "|b1" else number
        if f.type_id == FLOAT:
            return struct.unpack("<d", s.record)[0]
        if f.type_id == NDARRAY:
            shape, dtype = self.shape(f, s.record), f.arguments["dtype"]
            for k, (stored, fixed) in enumerate(zip(shape, f.arguments["shape"])):
                if fixed is not None and stored != fixed:
                    raise bad("corrupt", r + 16 + 4 * k, f"dimension {k} is {stored}, not {fixed}")
            if math.prod(shape) * ITEM_BYTES[dtype] != len(s.data):
                raise bad("corrupt", r + 8, f"{len(s.data)} bytes for shape {shape}")
            return np.frombuffer(s.data, "<u2" if dtype == "bfloat16" else dtype).reshape(shape)
        if f.type_id in GRIDS:
            wrong = grid_fault(f, s.record, s.data)
            if wrong:
                raise bad("corrupt", r + wrong[0] if wrong[0] is not None else struct.unpack_from("<Q", s.record)[0], wrong[1])
            return np.frombuffer(s.data, grid_form(f)[0]).reshape(self.shape(f, s.record))
        if f.type_id == FLOW:
            wrong = flow_fault(f.arguments, s.record, len(s.data))
            if wrong:
                raise bad(wrong[0], r + wrong[1], wrong[2])
            return flow_floats(f.arguments, s.record, s.data)
        if f.type_id == FRAMES:
            wrong = frames_fault(f.arguments, s.record, len(s.data))
            if wrong:
                raise bad("corrupt", r + wrong[0], wrong[1])
            return s
        if f.type_id == MULTIMODAL:
            wrong = parts_fault(f, s.record, len(s.data))
            if wrong:
                raise bad("corrupt", r + wrong[0], wrong[1])
            return s
        if f.type_id == VIDEO:
            wrong = video_fault(s.record, len(s.data))
            if wrong:
                raise bad("corrupt", r + wrong[0], wrong[1])
            return s
        if f.type_id in IMAGES or f.type_id in (WAVEFORM, PACKETS):
            audio = f.type_id not in IMAGES
            wrong = audio_fault(f.arguments, s.record, len(s.data), f.type_id == PACKETS) if audio else image_fault(s.record, len(s.data))
            if wrong:
                raise bad(wrong[0], r + wrong[1], wrong[2])
            return s
        ptr = struct.unpack_from("<Q", s.record)[0] if f.form else r
        if f.type_id in TOKEN_TYPES:
            wrong = token_fault(f, s.record, s.data)
            if wrong:
                raise bad(wrong[0], ptr if wrong[1] is None else r + wrong[1], wrong[2])
            return s
        if f.type_id == JSON:
            if not s.data and self.legacy:
                return None
            if not s.data:
                raise bad("corrupt", r + 8, "empty JSON")
            try:
                return parse_json(s.data)
            except ValueError as why:
                raise bad("corrupt", ptr, str(why)) from None
        if f.type_id == TEXT and s.record[14] != 0:
            raise bad("feature", r + 14, f"encoding {s.record[14]}")
        try:
            if f.type_id == TEXT:
                return s.data.decode("utf-8")
            return s.data if f.type_id == BYTES else decode_members(f.members, s.record)
        except UnicodeDecodeError as why:
            raise bad("corrupt", ptr, str(why)) from None

    # -- Keys, card, statistics

    @property
    def has_keys(self):
        return KEYS in self.by_kind

    def key_bytes(self, sample):  # A8
        self._field(sample, self.fields[0].name)
        s, n = self.by_kind[KEYS], self.num_samples
        begin, end = struct.unpack_from("<QQ", self.data, s.ptr + 8 * sample)
        if begin < 8 * (n + 1) or end > s.size - (8 << s.param) or not 1 <= end - begin <= 65535:
            raise SpecError("corrupt", s.ptr + 8 * sample, f"key of sample {sample}: {begin} to {end}", sample)
        return bytes(self.data[s.ptr + begin:s.ptr + end])

    def key(self, sample):
        return self.key_bytes(sample).decode("utf-8", "replace") if self.has_keys else None

    def find(self, key):  # A9
        key = key.encode() if isinstance(key, str) else key
        if self.has_keys:
            s = self.by_kind[KEYS]
            slots, home = s.ptr + s.size - (8 << s.param), xxh64(key)
            for step in range(1 << s.param):
                at = slots + 8 * ((home + step) & ((1 << s.param) - 1))
                slot = self.u64(at)
                if slot > self.num_samples:
                    raise SpecError("corrupt", at, f"slot {slot} of {self.num_samples} samples")
                if slot == 0:
                    break
                if self.key_bytes(slot - 1) == key:
                    return slot - 1
        raise SpecError("no_sample", None, f"no key {key!r}")

    @property
    def card(self):  # A10
        s = self.by_kind.get(CARD)
        if s is None:
            return None
        if crc32c(self.section_bytes(s)) != s.crc:
            raise SpecError("checksum", s.ptr, "the card is damaged")
        try:
            card = parse_json(self.section_bytes(s))
            if not isinstance(card, dict):
                raise ValueError("not an object")
            return card
        except ValueError as why:
            raise SpecError("corrupt", s.ptr, f"card: {why}") from None

    @property
    def statistics(self):
        s = self.by_kind.get(STATISTICS)
        if s is None:
            return None
        result = {}
        for f in self.fields:
            at = s.ptr + 128 * f.index
            present, nulls, stored, stored_max, value_max, nonfinite = struct.unpack_from("<6Q", self.data, at)
            mean, kind, ndim = struct.unpack_from("<dII", self.data, at + 64)
            low, high = struct.unpack_from("<2" + "QqQd"[kind & 3], self.data, at + 48)
            result[f.name] = {"present": present, "nulls": nulls, "stored_bytes": stored, "stored_bytes_max": stored_max,
                              "value_bytes_max": value_max, "nonfinite": nonfinite,
                              "min": low if kind else None, "max": high if kind else None, "mean": mean if kind else None,
                              "dims_max": list(struct.unpack_from(f"<{ndim if ndim <= 8 else 0}I", self.data, at + 80)),
                              "units": self.u64(at + 112), "units_max": self.u64(at + 120)}
        return result

    # -- Verify

    def verify(self, deep=False):
        """Every problem, as a list of SpecError, V0 to V5 first."""
        problems, h = [], self.header

        def problem(status, at, message, sample=None, field=None):
            problems.append(SpecError(status, at, message, sample, field))

        front, state = bytearray(self.data[9:73]), bytearray(self.data[self.base:self.base + 64])
        if not any(front[24:]):  # streamed
            state[24:] = bytes(40)
            state[8:16] = state[8:16] if any(front[8:16]) else bytes(8)
        if any(front) and front != state:
            at = next(i for i in range(64) if front[i] != state[i])
            problem("corrupt", 9 + at, "the front header is not the state of the file")  # V0
        for f in self.fields if self.legacy else ():  # V13
            if not f.known and f.type_id in (NDARRAY, INLINE):
                problem("feature", f.at + 64, f"field {f.name}: type {f.type_id} without arguments")
            elif not f.known and f.type_id in (INT, FLOAT, BYTES, JSON, TEXT, *IMAGES):
                problem("corrupt", f.at + 68, f"field {f.name}: records of {f.record_bytes} bytes")
        bad_kinds = set()
        for s in self.sections:
            if crc32c(self.section_bytes(s)) != s.crc:
                bad_kinds.add(s.kind)
                problem("checksum", s.ptr, f"section {s.kind} is damaged")  # V1
        bad_rows = False
        for table in () if self.legacy or TABLES in bad_kinds else (1, 2):
            for at in self._bad_blocks(table):
                bad_rows |= table == 1
                problem("checksum", at, "a block of rows or allocations is damaged",
                        (at - h.metadata_ptr) // self.row_bytes if table == 1 else None)  # V2
        entries, before, bad_entries = set(), 0, False
        for k in range(self.entry_count):  # V3
            at = h.alloc_table_ptr + 16 * k
            ptr, size = struct.unpack_from("<QQ", self.data, at)
            inside = size > 0 and h.data_ptr <= ptr <= self.end and size <= self.end - ptr
            if not inside or ptr < before:
                bad_entries = True
                problem("corrupt", at, f"allocation {k}: {ptr} + {size}")
            entries.add((ptr, size))
            before = ptr + size if inside else 0
        self._verify_validity(problem, bad_kinds)
        self._verify_keys(problem, bad_kinds)
        payloads, lowest, largest = 0, {}, {f.name: (0, 0, []) for f in self.fields}
        longest = dict.fromkeys(largest, 0)
        later = []
        for sample in range(self.num_samples):  # V8
            for f in self.fields:
                try:
                    r = self._record(sample, f)
                    if VALIDITY not in bad_kinds and self.is_null(sample, f.name):
                        if any(self.data[r:r + f.record_bytes]):
                            raise SpecError("corrupt", r, "a null with a record", sample, f.name)
                        continue
                    if not f.form:
                        continue
                    ptr, size = self.location(sample, f.name)
                    payloads += size > 0
                    if size and PAGE_MAP in self.by_kind:
                        for page in range((ptr - h.data_ptr) // h.page_size, (ptr + size - 1 - h.data_ptr) // h.page_size + 1):
                            lowest[page] = min(lowest.get(page, NONE), sample)
                    checked = CHECKS in self.by_kind and CHECKS not in bad_kinds
                    if checked:
                        k = self.payload_fields.index(f)
                        want = self.u32(self.by_kind[CHECKS].ptr + 4 * (sample * len(self.payload_fields) + k))
                        if (crc32c(self.data[ptr:ptr + size]) if size else 0) != want:
                            raise SpecError("checksum", ptr if size else r, "a payload is damaged", sample, f.name)
                    if size and not bad_entries and (ptr, size) not in entries:
                        raise SpecError("corrupt", r, "no such allocation", sample, f.name)
                    dims = self.shape(f, self.data[r:r + f.record_bytes]) if f.known else []
                    if f.type_id == MULTIMODAL and f.known:
                        longest[f.name] = max(longest[f.name], self.u32(r + 24))
                    if f.type_id in TOKEN_TYPES and f.known and f.arguments:
                        longest[f.name] = max(longest[f.name], self.tokens(f, self.data[r:r + f.record_bytes]))
                    stored, value, most = largest[f.name]
                    largest[f.name] = (max(stored, size), max(value, self._value_bytes(f, ptr, size, checked)),
                                       [max(pair) for pair in zip(dims, most or dims)])
                except SpecError as why:
                    bad_rows |= why.offset == r
                    later.append(why)
        wrong_count = not self.legacy and not bad_rows and payloads != self.entry_count
        s = self.by_kind.get(PAGE_MAP)
        if s and PAGE_MAP not in bad_kinds and not (bad_rows or bad_entries or wrong_count):
            for k in range(s.size // 8):  # V6
                if self.u64(s.ptr + 8 * k) != lowest.get(k, NONE):
                    problem("corrupt", s.ptr + 8 * k, f"page map, page {k}")
        s = self.by_kind.get(HISTORY)
        for k in range(s.size // 24 if s else 0):  # V7
            generation, _, first, count = struct.unpack_from("<IIQQ", self.data, s.ptr + 24 * k)
            previous = self.u32(s.ptr + 24 * (k - 1)) if k else 0
            if not previous < generation <= self.generation or first + count > self.num_samples:
                problem("corrupt", s.ptr + 24 * k, f"history, record {k}")
        problems += later
        for f in self.fields if STATISTICS in self.by_kind and STATISTICS not in bad_kinds and not bad_rows else ():
            said, (stored, value, dims) = self.statistics[f.name], largest[f.name]
            if said["stored_bytes_max"] < stored or said["value_bytes_max"] < value or \
                    said["units_max"] < longest[f.name] or any(a < b for a, b in zip(said["dims_max"], dims)):
                problem("corrupt", self.by_kind[STATISTICS].ptr + 128 * f.index, f"statistics of {f.name}")  # V12
        if wrong_count:
            problem("corrupt", h.alloc_table_ptr, f"{self.entry_count} allocations, {payloads} payloads")  # V9
        try:
            if CARD not in bad_kinds:
                self.card  # V10
        except SpecError as why:
            problems.append(why)
        hidden = h.flags & ENCRYPTED and self.payload_key is None
        for sample in range(self.num_samples if deep else 0):  # V11
            for f in self.fields:
                if (sample, f.name) not in {(p.sample, p.field) for p in later} and not (hidden and f.form):
                    try:
                        value = self.value(sample, f.name)
                        self._check_fast_jpeg(sample, f, value)
                        self._check_packets(sample, f, value)
                        self._check_parts(sample, f, value)
                        self._check_along(sample, f, value)
                    except SpecError as why:
                        problems.append(why)
        if deep and not (bad_rows or bad_kinds & {PACK_PLANS, VALIDITY}):
            for k, plan in enumerate(self.plans):  # V15
                fault = self._plan_fault(plan) if plan["algorithm_version"] == 1 else None
                if fault:
                    problem("corrupt", None, f"pack plan {k}: {fault}")
        return problems

    def _plan_fault(self, plan):  # V15
        f, n, align = self.by_name[plan["field"]], plan["length"], plan["align"]
        if f.type_id != TOKENS or not f.known or not f.arguments:
            return "its field does not hold documents"
        ends = plan["bos"] or plan["eos"]
        if not 1 <= n <= 2**30 or align < 1 or n % align or ends and n < 4 or not 1 <= plan["algorithm"] <= 3 or plan["long"] > 2 or \
                plan["seed"] and plan["algorithm"] != 1 or plan["algorithm"] == 3 and (align != 1 or plan["max_pieces"] or plan["long"]):
            return "its rule"
        lengths = [self._document_tokens(i, f) for i in range(plan["rows"])]
        first, table, before, most = plan["first_piece"].tolist(), plan["table"].tolist(), 0, 0
        for begin, end in zip(first, first[1:]):
            if not before == begin < end <= len(table):
                return f"a sequence has pieces {begin} to {end}"
            before, most, at = end, max(most, end - begin), 0
            for document, start, length in table[begin:end]:
                tokens = lengths[document] if document < plan["rows"] else NONE
                if tokens == NONE or start + length > tokens:
                    return f"tokens {start} to {start + length} of document {document}"
                at = -(-at // align) * align + length + (plan["bos"] > 0 and start == 0) + (plan["eos"] > 0 and start + length == tokens)
                if at > n:
                    return f"a sequence of {at} tokens"
        if before != plan["pieces"] or sum(length for _, _, length in table) != plan["placed"] or most != plan["most_pieces"]:
            return "its numbers are not those of its pieces"
        if xxh64(struct.pack(f"<{len(lengths)}Q", *lengths)) != plan["lengths_hash"]:
            return "documents have other lengths"
        return None

    def _document_tokens(self, sample, f):
        """As plans count them: 2^64 - 1 of a null, and of a record that says more than its payload can hold."""
        r = self._record(sample, f)
        if self.is_null(sample, f.name):
            return NONE
        count, size = self.tokens(f, self.data[r:r + f.record_bytes]), self.location(sample, f.name)[1]
        return count if count <= ((size // 4 + 2) << 17 if f.flags & PREFIX else size) else NONE

    def _check_fast_jpeg(self, sample, f, value):
        """Image mode 7 to its coefficients."""
        if f.type_id not in IMAGES or not isinstance(value, Stored) or value.record[17] != 7:
            return
        import reference_fast_jpeg  # beside this file

        ptr = struct.unpack_from("<Q", value.record)[0]
        height, width, channels = struct.unpack_from("<HHB", value.record, 12)
        try:
            image = reference_fast_jpeg.read(value.data)
        except reference_fast_jpeg.Fault as why:
            raise SpecError(why.status, ptr, f"fast JPEG: {why.message}", sample, f.name) from None
        if (image.height, image.width, image.components) != (height, width, channels):
            raise SpecError("corrupt", ptr, "fast JPEG of another size", sample, f.name)

    def _check_packets(self, sample, f, value):
        """The tables of a compressed recording, and of a video's frames."""
        if f.type_id == FRAMES and f.known and isinstance(value, Stored):
            try:
                video_frames(f.arguments, value)
            except SpecError as why:
                raise SpecError(why.status, struct.unpack_from("<Q", value.record)[0], why.message, sample, f.name) from None
        if f.type_id == FLOW and f.known and value is not None and np.isinf(value).any():
            raise SpecError("corrupt", struct.unpack_from("<Q", self.stored(sample, f.name).record)[0], "an infinite motion", sample, f.name)
        if f.type_id == VIDEO and f.known and isinstance(value, Stored):
            try:
                heard = video_tables(value)["sound"]
                if heard and heard[0].record[31] in LOSSLESS + LOSSY:
                    audio_packets(heard[0])
            except SpecError as why:
                raise SpecError(why.status, struct.unpack_from("<Q", value.record)[0], why.message, sample, f.name) from None
        if f.type_id == PACKETS and f.known and isinstance(value, Stored) and value.record[31] in LOSSLESS + LOSSY:
            try:
                audio_packets(value)
            except SpecError as why:
                raise SpecError(why.status, struct.unpack_from("<Q", value.record)[0], why.message, sample, f.name) from None

    def _check_parts(self, sample, f, value):
        """Every part of a multimodal sample by its own type, and the record's totals."""
        if f.type_id != MULTIMODAL or not f.known or value is None:
            return
        ptr, r = struct.unpack_from("<Q", value.record)[0], self._record(sample, f)

        def bad(status, at, message):
            return SpecError(status, ptr, message, sample, f.name)

        try:
            parts, end = multimodal_parts(f, value), part_entry(f) * struct.unpack_from("<I", value.record, 20)[0]
        except SpecError as why:
            raise bad(why.status, None, why.message) from None
        for i, (kind, _, _, s) in enumerate(parts):
            if s is None:
                continue
            if s.data:
                at = struct.unpack_from("<Q", s.record)[0]
                if at < end:
                    raise bad("corrupt", None, f"part {i} begins before the end of the one before it")
                end = at + len(s.data)
            self._decode(kind, s, 0, bad)
            try:
                self._check_packets(sample, kind, s)
            except SpecError as why:
                raise bad(why.status, None, why.message) from None
        said = struct.unpack_from("<I4xIIQQQ", value.record, 16)
        for name, at, one, other in zip(("mask", "tokens", "images", "pixels", "samples", "milliseconds"), (16, 24, 28, 32, 40, 48),
                                        said, part_totals(parts, part_kinds(f.arguments))):
            if one != other:
                raise SpecError("corrupt", r + at, f"the record says {name} {one}, and the parts have {other}", sample, f.name)

    def _check_along(self, sample, f, value):  # V14
        other = self.by_name.get(f.arguments.get("along")) if f.type_id in (NDARRAY, JSON) and f.known and value is not None else None
        if other is None or not (is_segments(other) or (other.type_id in TOKEN_TYPES and other.known and other.arguments)):
            return
        r, count = self._record(sample, other), 0
        if not self.is_null(sample, other.name):
            count = self.u32(r + 16) if is_segments(other) else self.tokens(other, self.data[r:r + other.record_bytes])
        if f.type_id == JSON:
            found = json.loads(value) if isinstance(value, (str, bytes)) else value
            if not isinstance(found, list) or len(found) != count:
                raise SpecError("corrupt", self.u64(self._record(sample, f)), f"not a list of {count}", sample, f.name)
            return
        r = self._record(sample, f)
        if f.arguments.get("form") == "spans":
            edges = [int(x) for x in value.reshape(-1)]
            if any(a > b for a, b in zip((0, *edges), (*edges, count))):
                raise SpecError("corrupt", self.u64(r), f"spans of {f.name}", sample, f.name)
        elif len(value) != count:
            raise SpecError("corrupt", r + 16, f"{len(value)} entries for {count} tokens", sample, f.name)

    def _value_bytes(self, f, ptr, size, checked):  # V12
        encrypted = self.header.flags & ENCRYPTED
        if f.flags & PREFIX and size:
            return int.from_bytes(self.data[ptr:ptr + 7], "little") if checked and not encrypted and size >= 8 else 0
        return self._plain_bytes(f, size) if encrypted else size

    def _verify_validity(self, problem, bad_kinds):  # V4
        s = self.by_kind.get(VALIDITY)
        if s and s.param and VALIDITY not in bad_kinds:
            size, n = s.size // s.param, self.num_samples
            for at in range(s.ptr, s.ptr + s.size):
                used = max(0, min(8, n - 8 * ((at - s.ptr) % size)))
                if self.data[at] >> used:
                    problem("corrupt", at, "a padding bit of the validity is set")

    def _verify_keys(self, problem, bad_kinds):  # V5
        s = self.by_kind.get(KEYS)
        if not s or KEYS in bad_kinds:
            return
        for i in range(self.num_samples):
            try:
                key = self.key_bytes(i)
                try:
                    good = "\0" not in key.decode("utf-8")
                except UnicodeDecodeError:
                    good = False
                if not good:
                    raise SpecError("corrupt", s.ptr + self.u64(s.ptr + 8 * i), f"key of sample {i}: {key!r}", i)
                try:
                    found = self.find(key)
                except SpecError as why:
                    if why.sample not in (None, i):  # another's bad key on the way, which is told there
                        continue
                    if why.status != "no_sample":
                        raise
                    found = None
                if found != i:
                    raise SpecError("corrupt", s.ptr + 8 * i, f"key {key!r} of sample {i} leads to {found}", i)
            except SpecError as why:
                problem(why.status, why.offset, why.message, i)
        slots = np.frombuffer(self.data, "<u8", 1 << s.param, s.ptr + s.size - (8 << s.param))
        if np.count_nonzero(slots) != self.num_samples:
            problem("corrupt", s.ptr + s.size - (8 << s.param), f"{np.count_nonzero(slots)} slots are used")


def read(path, key=None, passphrase=None, without_key=False):
    with open(path, "rb") as file:
        return File(file.read(), key, passphrase, without_key)


# ---- As JSON -------------------------------------------------------------------------------------------------------


def plain(x):
    """A value as the expected JSON shows it."""
    if isinstance(x, bytes):
        return {"bytes": len(x), "sha256": hashlib.sha256(x).hexdigest()}
    if isinstance(x, float):
        return x if math.isfinite(x) else "NaN" if math.isnan(x) else "Infinity" if x > 0 else "-Infinity"
    if isinstance(x, complex):
        return [plain(x.real), plain(x.imag)]
    if isinstance(x, list):
        return [plain(item) for item in x]
    if isinstance(x, dict):
        return {name: plain(item) for name, item in x.items()}
    return x


def value_json(f, sample, field):
    x = f.value(sample, field.name)
    if isinstance(x, Stored):
        return {"record": x.record.hex(), **plain(x.data)}
    if not isinstance(x, np.ndarray):
        return x if field.type_id == JSON else plain(x)
    dtype = grid_form(field)[0] if field.type_id in GRIDS else "<f4" if field.type_id == FLOW else field.arguments["dtype"]
    result = {"dtype": dtype, "shape": list(x.shape), "sha256": hashlib.sha256(x.tobytes()).hexdigest()}
    if x.size <= 64:
        if dtype == "bfloat16":
            x = (x.astype(np.uint32) << 16).view(np.float32)
        result["data"] = plain(x.tolist())
    return result


def to_json(f):
    fields = []
    for x in f.fields:
        fields.append({"name": x.name, "type_id": x.type_id, "nullable": x.nullable, "record_bytes": x.record_bytes,
                       "row_offset": x.row_offset, "arguments": x.arguments})
    return {"version": f"{f.header.version_major}.{f.header.version_minor}", "flags": f.header.flags | f.sealed,
            "page_size": f.header.page_size, "num_samples": f.num_samples, "fields": fields, "card": f.card,
            "keys": [f.key(i) for i in range(f.num_samples)] if f.has_keys else None,
            "samples": [{x.name: value_json(f, i, x) for x in f.fields} for i in range(f.num_samples)]}


def main():
    parser = argparse.ArgumentParser(description="Read or verify an MLDF file by the letter of the specification.")
    parser.add_argument("file")
    parser.add_argument("--verify", action="store_true", help="list every problem instead of the content")
    parser.add_argument("--deep", action="store_true", help="with --verify: decode every value too")
    parser.add_argument("--key", metavar="FILE", help="file with the 32-byte key")
    parser.add_argument("--passphrase-file", metavar="FILE", help="file with the passphrase; one newline at its end is dropped")
    options = parser.parse_args()
    key = passphrase = None
    if options.key:
        with open(options.key, "rb") as file:
            key = file.read()
    if options.passphrase_file:
        with open(options.passphrase_file, "rb") as file:
            passphrase = file.read().removesuffix(b"\n")
    try:
        f = read(options.file, key, passphrase, without_key=options.verify and key is None and passphrase is None)
        problems = f.verify(options.deep) if options.verify else []
        if not options.verify:
            print(json.dumps(to_json(f), indent=1, ensure_ascii=False))
    except SpecError as why:
        if not options.verify:
            print(f"{options.file}: {why}", file=sys.stderr)
            return 1
        problems = [why]
    except OSError as why:
        print(f"{options.file}: {why}", file=sys.stderr)
        return 3
    for p in problems:
        print(json.dumps({"status": p.status, "offset": p.offset, "sample": p.sample, "field": p.field,
                          "message": p.message}))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
