"""CRC-16/MODBUS by NumPy: the checksum of a sample of a TBL file.

The data is cut into rows, whose checksums advance side by side, column by column; a table of what a row's length of
zeros does to a checksum joins them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["crc16"]


def _table() -> np.ndarray[Any, Any]:
    values = np.arange(256, dtype=np.uint16)
    for _ in range(8):
        values = np.where(values & 1, values >> 1 ^ 0xA001, values >> 1).astype(np.uint16)
    return values


TABLE = _table()


def crc16(data: Any) -> int:
    """
    >>> hex(crc16(b"123456789")), hex(crc16(b""))
    ('0x4b37', '0xffff')
    """
    found = np.frombuffer(data, np.uint8)
    if len(found) < 2:
        crc = 0xFFFF
        for byte in found.tolist():
            crc = crc >> 8 ^ int(TABLE[(crc ^ byte) & 255])
        return crc
    length = max(int(len(found) ** 0.5) // 2, 1)
    count = -(-len(found) // length)
    rows = np.zeros(count * length, np.uint8)  # zeros in front change nothing, with a start of 0
    rows[-len(found) :] = found
    rows[len(rows) - len(found) :][:2] ^= 0xFF  # which is the start of 0xFFFF
    grid = np.zeros((count + 16, length), np.uint8)
    grid[:count] = rows.reshape(count, length)
    state = np.zeros(count + 16, np.uint16)
    state[count:] = 1 << np.arange(16)
    for column in grid.T:
        state = state >> 8 ^ TABLE[(state ^ column) & 255]
    shift = [int(v) for v in state[count:]]
    low = [_combined(shift[:8], i) for i in range(256)]
    high = [_combined(shift[8:], i) for i in range(256)]
    crc = 0
    for row in state[:count].tolist():
        crc = low[crc & 255] ^ high[crc >> 8] ^ row
    return crc


def _combined(parts: list[int], bits: int) -> int:
    out = 0
    for i, part in enumerate(parts):
        out ^= part if bits >> i & 1 else 0
    return out
