#!/usr/bin/env python3
"""Archives and images for tests/cli/cases, into the present folder: samples.tar, mixed.tar, pairs.tar, notes.tar,
shard-0.tar, shard-1.tar.

Nothing but the standard library, so that the cases run anywhere. An image is a small PNG."""
import io
import json
import struct
import tarfile
import zlib


def png(width, height, seed):
    rows = b"".join(
        b"\0" + bytes((seed * 7 + x * 3 + y * 5 + c) & 255 for x in range(width) for c in range(3))
        for y in range(height))

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def archive(name, members):
    with tarfile.open(name, "w") as tar:
        for member, data in members:
            info = tarfile.TarInfo(member)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


def sample(key, i):
    return [(f"{key}.png", png(3 + i, 4, i)), (f"{key}.cls", str(i * 3).encode()),
            (f"{key}.json", json.dumps({"a": i, "b": [i, "x"]}).encode()), (f"{key}.txt", f"caption {i}".encode())]


archive("samples.tar", [part for i in range(5) for part in sample(f"set/{i:04}", i)])
archive("mixed.tar", [("a.png", png(2, 2, 1)), ("b.jpg", b"no image"), ("b.cls", b"4")])
archive("pairs.tar", [("a.png", png(2, 2, 1)), ("a.seg.png", png(2, 2, 2))])
archive("shard-0.tar", sample("s0", 0))
archive("shard-1.tar", sample("s1", 1) + [("s2.jpg", b"another")])
archive("notes.tar", [("README.txt", b"read me"), ("a.png", png(2, 2, 1)), ("a.txt", b"a")])
