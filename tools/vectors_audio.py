"""Compressed recordings for the vectors: FLAC files of frames that hold their numbers as they are, and the payload of AUDIO_COMPRESSED from
packets. Shares no code with the library or the reference reader."""

import hashlib
import struct


def crc(data, polynomial, bits):
    value = 0
    for byte in data:
        value ^= byte << (bits - 8)
        for _ in range(8):
            value = (value << 1 ^ (polynomial if value >> (bits - 1) & 1 else 0)) & (2**bits - 1)
    return value


def streaminfo(rate, channels, frames):
    """Of 16 bits; frames: lists of tuples of numbers, one for each channel."""
    total = sum(len(frame) for frame in frames)
    sizes = [len(frame) for frame in frames] or [16]
    digest = hashlib.md5(b"".join(struct.pack("<h", v) for frame in frames for sample in frame for v in sample)).digest()
    middle = rate << 44 | (channels - 1) << 41 | 15 << 36 | total
    return struct.pack(">HH", max(16, min(sizes)), max(16, max(sizes))) + bytes(6) + middle.to_bytes(8, "big") + digest


def flac_frame(frame, number, channels, variable=False):
    """One frame of up to 256 samples of 16 bits, verbatim. number: of the frame, or of its first sample where `variable`; below 128."""
    head = bytes([0xFF, 0xF9 if variable else 0xF8, 0x60, (channels - 1) << 4 | 8, number, len(frame) - 1])
    head += bytes([crc(head, 0x07, 8)])
    body = b"".join(b"\x02" + b"".join(struct.pack(">h", sample[c]) for sample in frame) for c in range(channels))
    return head + body + struct.pack(">H", crc(head + body, 0x8005, 16))


def payload(checksum, info, packets, extra, *, duration=0, first_samples=None, wide=False, back=None, head=b"", tail=b"", file=b"", skip=0,
            trim=0, preroll=0, flags=0, version=1):
    """info: codec, rate, channels, bits. checksum: CRC-32C."""
    codec, rate, channels, bits = info
    flags |= (1 | (4 if first_samples else 0) if wide else 0) | (2 if first_samples else 0) | (8 if back else 0)
    stream = struct.pack("<HBBIIHHIIIIQQIIQ", 1, codec, 0, 0, rate, channels, bits, 0, 0, 1, rate, skip, trim, preroll, len(extra), 0)
    stream += extra + bytes(-len(extra) % 8)
    offsets = [sum(map(len, packets[:i])) for i in range(len(packets) + 1)]
    columns = b""
    for column in (offsets, first_samples):
        if column:
            columns += struct.pack(f"<{len(column)}{'Q' if wide else 'I'}", *column)
            columns += bytes(-len(columns) % 8)
    if back:
        columns += bytes(back) + bytes(-len(back) % 8)
    first = 64 + len(stream) + len(columns) + len(head)
    start = struct.pack("<IIQIIQQIIQ", version, flags, len(packets), duration, len(stream), first, offsets[-1], len(head), len(tail), len(file))
    return start + struct.pack("<II", checksum(start + stream), 0) + stream + columns + head + b"".join(packets) + tail + file


def flac(checksum, rate, channels, frames, **how):
    """(samples, payload) of a FLAC file; frames of the same length are of a constant duration."""
    sizes = [len(frame) for frame in frames]
    info = streaminfo(rate, channels, frames)
    constant = all(size == sizes[0] for size in sizes[:-1]) and (len(sizes) < 2 or sizes[-1] <= sizes[0])
    firsts = [sum(sizes[:i]) for i in range(len(sizes) + 1)]
    packets = [flac_frame(frame, first if not constant else i, channels, not constant)
               for i, (frame, first) in enumerate(zip(frames, firsts))]
    head = b"fLaC\x80\0\0\x22" + info
    if how.pop("whole", True):
        how |= {"head": head, "flags": 32}
    if how.pop("kept", False):
        how["file"] = head + b"".join(packets)
    return firsts[-1], payload(checksum, (1, rate, channels, 16), packets, info, duration=(sizes or [1])[0] if constant else 0,
                               first_samples=None if constant else firsts, **how)
