#!/usr/bin/env python3
"""The fast JPEG store (image mode 7) in plain Python and NumPy: docs/spec/fast-jpeg.md step by step, slow and simple. It decodes to coefficients, checks the rules of the payload,
and makes the file's own bytes again.

    image = read(payload)
    image.width, image.height, image.quantisers
    image.planes[c]            # int16 [rows of blocks, columns of blocks, 8, 8]: component c, whole MCUs, not multiplied by quantisers
    file(image)                # bytes: the JPEG file that was packed

A violation raises Fault(status, byte of the payload, message).
"""

import struct
import sys
from pathlib import Path

import numpy as np

SCAN = [int(x) for x in """
 0  1  8 16  9  2  3 10 17 24 25 18 11 19 26 27  32  4  5 12 33 40 41 34 13  6  7 14 35 42 43 15
48 20 21 28 49 56 57 50 29 22 23 30 51 58 59 31  36 37 44 52 45 38 39 46 53 60 61 54 47 55 62 63""".split()]
FACTORS = [(1, 1), (1, 1), (2, 1), (2, 2), (1, 2), (4, 1)]  # by sampling: blocks of the first component in an MCU, across and down
SKIP, ENDS = 80, {81: 1, 82: 4, 83: 16}


class Fault(Exception):
    def __init__(self, status, at, message):
        super().__init__(f"{status} at byte {at}: {message}")
        self.status, self.at, self.message = status, at, message


def code_of(lengths):
    """{(length, word with its first bit highest): symbol}"""
    words, word = {}, 0
    for length in range(1, 13):
        for symbol, own in enumerate(lengths):
            if own == length:
                words[length, word] = symbol
                word += 1
        word *= 2
    return words


def set_1():
    lines = (Path(__file__).parent / "fast-jpeg-set-1.txt").read_text().split()
    return [[[int(x, 16) for x in line] for line in lines[16 * stream : 16 * stream + 16]] for stream in range(6)]


class Bits:
    def __init__(self, data, at=0):
        self.bits, self.at = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little").tolist(), at

    def take(self, count):
        value = sum(bit << i for i, bit in enumerate(self.bits[self.at : self.at + count]))
        self.at += count
        return value

    def symbol(self, code):
        word = 0
        for length in range(1, 13):
            if self.at >= len(self.bits):
                raise Fault("corrupt", 0, "the bits end inside a word")
            word = word << 1 | self.bits[self.at]
            self.at += 1
            if (length, word) in code:
                return code[length, word]
        raise AssertionError("the codes of a set are complete")

    def value(self, size):
        bits = self.take(size)
        return bits if size == 0 or bits >> (size - 1) else bits - (1 << size) + 1


class Image:
    pass


def fixed_part(data):
    def need(good, status, at, message):
        if not good:
            raise Fault(status, at, message)

    need(len(data) >= 48, "truncated", len(data), "less than the fixed part")
    image = Image()
    version, table_set, image.sampling, image.colour, segment, flags = data[:6]
    need(version == 1, "feature", 0, f"version {version}")
    need(table_set == 1, "feature", 1, f"table set {table_set}")
    need(image.sampling < len(FACTORS), "feature", 2, f"sampling {image.sampling}")
    need(image.colour < 3, "feature", 3, f"colour {image.colour}")
    need(flags < 4, "feature", 5, f"flags {flags}")
    image.codes, image.entry_bits = data[6:12], data[12:18]
    image.width, image.height, header, tail, index, image.bits = struct.unpack_from("<HHIIIQ", data, 18)
    of = data[42:45]
    gray = image.sampling == 0
    need((image.colour == 2) == gray, "corrupt", 3, "colour and sampling")
    need(segment <= 6, "corrupt", 4, f"segments of 2^{segment} MCUs")
    need(image.width and image.height, "corrupt", 18, "no pixels")
    image.h, image.v = FACTORS[image.sampling]
    image.columns, image.rows = -(-image.width // (8 * image.h)), -(-image.height // (8 * image.v))
    image.segment, image.segments = 1 << segment, -(-image.columns // (1 << segment))
    image.classes, image.components = (1, 1) if gray else (2, 3)
    entries = [0 if gray and s % 2 else image.rows if s < 2 else image.rows * image.segments for s in range(6)]
    for s in range(6):
        need(image.codes[s] < 16 and (entries[s] or not image.codes[s]), "corrupt", 6 + s, "code number")
        need(image.entry_bits[s] <= 32 and bool(image.entry_bits[s]) == bool(entries[s]), "corrupt", 12 + s, "width of entries")
    known = 0
    for c in range(3):
        need(of[c] <= known and (c < image.components or of[c] == 0), "corrupt", 42 + c, "quantiser of a component")
        known += of[c] == known and c < image.components
    need(data[45:48] == b"\0\0\0", "corrupt", 45, "bytes that must be zero")
    check = 8 * image.rows * 2 * image.classes if image.rows * image.segments > 4096 else 0
    need(-(-sum(n * w for n, w in zip(entries, image.entry_bits)) // 8) == index, "corrupt", 30, "size of the index")
    need(header >= 64, "corrupt", 22, "a header of less than 64 bytes")
    at = 48 + 64 * known
    need(at + check + index + (image.bits + 7) // 8 + header + tail == len(data), "corrupt", 22, "sizes")
    image.tables = [np.frombuffer(data, np.uint8, 64, 48 + 64 * k) for k in range(known)]
    image.quantisers = [image.tables[of[c]] for c in range(image.components)]
    image.checkpoints = struct.unpack_from(f"<{check // 8}Q", data, at)
    image.index, at = data[at + check : at + check + index], at + check + index
    image.stream, at = data[at : at + (image.bits + 7) // 8], at + (image.bits + 7) // 8
    image.header, image.tail = data[at : at + header], data[at + header :]
    image.entries = entries
    return image


def positions(image):
    """For each stream the first bits of its entries, and where the last one ends."""
    bits, at, result = Bits(image.index), 0, []
    for s in range(6):
        starts = [at]
        for _ in range(image.entries[s]):
            starts.append(starts[-1] + bits.take(image.entry_bits[s]))
        at = starts[-1]
        result.append(starts)
    if at != image.bits:
        raise Fault("corrupt", 34, f"the index counts {at} bits, not {image.bits}")
    if any(bits.bits[bits.at :]):
        raise Fault("corrupt", 48, "pad bits of the index")
    rows = [p for s in range(2, 6) if image.entries[s] for p in result[s][:-1 : image.segments]]
    if image.checkpoints and list(image.checkpoints) != rows:
        raise Fault("corrupt", 48, "checkpoints")
    return result


def read_dc(bits, code, blocks, lag):
    for i in range(len(blocks)):
        before = int(blocks[i - lag, 0]) if i >= lag else 0
        now = before + bits.value(bits.symbol(code))
        if not -32768 <= now <= 32767:
            raise Fault("corrupt", 0, "a DC beyond 16 bits")
        blocks[i, 0] = now


def read_band(bits, code, blocks, first, last):
    block, place = 0, first
    while block < len(blocks):
        symbol = bits.symbol(code)
        if symbol in ENDS:
            block, place = block + ENDS[symbol], first
            if block > len(blocks):
                raise Fault("corrupt", 0, "more ends of blocks than blocks")
        elif symbol == SKIP:
            place += 8
        else:
            place += symbol // 10
            if place > last:
                raise Fault("corrupt", 0, "a block of too many coefficients")
            blocks[block, place] = bits.value(symbol % 10 + 1)
            place += 1
        if place > last + 1:
            raise Fault("corrupt", 0, "a block of too many coefficients")


def read(data):
    image = fixed_part(data)
    starts, bits = positions(image), Bits(image.stream)
    if any(bits.bits[image.bits :]):
        raise Fault("corrupt", 48, "pad bits of the streams")
    codes = [code_of(lengths[number]) for lengths, number in zip(set_1(), image.codes)]
    per = [image.h * image.v, 2]
    image.planes = [np.zeros((image.rows * (1 if c else image.v), image.columns * (1 if c else image.h), 8, 8), np.int16)
                    for c in range(image.components)]
    for row in range(image.rows):
        for k in range(image.classes):
            blocks = np.zeros((image.columns * per[k], 64), np.int16)
            entries = [(k, row, 0, len(blocks))]
            for stream in (2 + k, 4 + k):
                for s in range(image.segments):
                    part = slice(s * image.segment * per[k], min((s + 1) * image.segment, image.columns) * per[k])
                    entries.append((stream, row * image.segments + s, part.start, part.stop))
            for stream, entry, start, stop in entries:
                bits.at = starts[stream][entry]
                if stream < 2:
                    read_dc(bits, codes[stream], blocks, 2 if k else image.v)
                else:
                    read_band(bits, codes[stream], blocks[start:stop], *((1, 15) if stream < 4 else (16, 63)))
                if bits.at != starts[stream][entry + 1]:
                    raise Fault("corrupt", 0, f"stream {stream}, entry {entry} ends at bit {bits.at}, not {starts[stream][entry + 1]}")
            natural = np.zeros_like(blocks)
            natural[:, SCAN] = blocks
            natural = natural.reshape(image.columns, per[k], 8, 8)
            for i in range(per[k]):
                if k:
                    image.planes[1 + i][row] = natural[:, i]
                else:
                    x, y = divmod(i, image.v)
                    image.planes[0][row * image.v + y, x :: image.h] = natural[:, i]
    return image


# ---- Making the file -----------------------------------------------------------------------------------------------

ZIGZAG = sorted(range(64), key=lambda i: (i // 8 + i % 8, i // 8 if (i // 8 + i % 8) % 2 else i % 8))


def huffman_words(body):
    """{table class << 4 | number: {symbol: its word as text of 0 and 1}} of a DHT segment."""
    tables, at = {}, 0
    while at < len(body):
        word, symbols, words = 0, iter(body[at + 17 :]), {}
        for length, count in enumerate(body[at + 1 : at + 17], 1):
            for _ in range(count):
                words[next(symbols)] = f"{word:0{length}b}"
                word += 1
            word *= 2
        tables[body[at]] = words
        at += 17 + len(words)
    return tables


def whole_header(image):
    """The header with its quantisers; its Huffman tables, its restart interval and the numbers of each component's two tables."""
    header, out, at, tables, interval = image.header, bytearray(image.header[:2]), 2, {}, 0
    while at < len(header):
        if header[at + 1] == 0xFF:  # a fill byte
            out.append(0xFF)
            at += 1
            continue
        marker, length = header[at + 1], int.from_bytes(header[at + 2 : at + 4], "big")
        out += header[at : at + 4]
        at += 4
        if marker != 0xDB:
            body = header[at : at + length - 2]
            out += body
            at += length - 2
        left = length - 2 if marker == 0xDB else 0
        while left > 0:
            number, size = header[at], 128 if header[at] >> 4 == 1 else 64
            left_out = number & 0x80
            out.append(number & 15 if left_out else number)
            out += bytes(image.tables[number >> 4 & 7]) if left_out else header[at + 1 : at + 1 + size]
            at += 1 if left_out else 1 + size
            left -= 1 + size
        if marker == 0xC4:
            tables |= huffman_words(body)
        elif marker == 0xDD:
            interval = int.from_bytes(body, "big")
        elif marker == 0xDA:
            used = [divmod(body[2 + 2 * c], 16) for c in range(body[0])]
    return bytes(out), tables, interval, used


def coded(value):
    """Size and bits of a value, T.81 F.1.2.1 and F.1.2.2."""
    size = abs(value).bit_length()
    return size, f"{value if value > 0 else value + (1 << size) - 1:0{size}b}" if size else ""


def block_bits(block, before, dc, ac):
    size, bits = coded(block[0] - before)
    out, run = [dc[size], bits], 0
    for value in (block[i] for i in ZIGZAG[1:]):
        if value == 0:
            run += 1
            continue
        size, bits = coded(value)
        out += [ac[0xF0] for _ in range(run // 16)] + [ac[run % 16 << 4 | size], bits]
        run = 0
    return "".join(out) + (ac[0] if run else "")


def file(image):
    """The bytes of the file: header, scan, tail."""
    out, tables, interval, used = whole_header(image)
    scan, bits, before = bytearray(), [], [0] * 3

    def flush():
        text = "".join(bits)
        text += "1" * (-len(text) % 8)
        scan.extend(int(text, 2).to_bytes(len(text) // 8, "big").replace(b"\xff", b"\xff\0") if text else b"")
        bits.clear()

    for mcu in range(image.rows * image.columns):
        if interval and mcu and mcu % interval == 0:
            flush()
            scan.extend((0xFF, 0xD0 + (mcu // interval - 1) % 8))
            before = [0] * 3
        row, column = divmod(mcu, image.columns)
        for c, plane in enumerate(image.planes):
            h, v = (1, 1) if c else (image.h, image.v)
            for i in range(h * v):
                block = plane[row * v + i // h, column * h + i % h].reshape(64).tolist()
                bits.append(block_bits(block, before[c], tables[used[c][0]], tables[16 + used[c][1]]))
                before[c] = block[0]
    flush()
    return out + bytes(scan) + image.tail


if __name__ == "__main__":
    found = read(Path(sys.argv[1]).read_bytes())
    print(f"{found.width} x {found.height}, sampling {found.sampling}, {found.bits} bits")
