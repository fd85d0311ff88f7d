"""Which samples a state was taken of, as states of the first versions have it: those of now leave it to the library
(src/loader/identity.c), and these are read for ever.
"""

from __future__ import annotations

import bisect
import zlib
from collections.abc import Mapping
from typing import Any

from .errors import StateError
from .files import Files

__all__ = ["check", "signature"]


def signature(files: Files) -> str | None:
    """Of the first, the middle and the last sample's key; None where there are no keys.

    Files that were divided, joined or encoded anew have the same samples, and the same signature.
    """
    if not files.has_keys:
        return None
    total = 0
    for number in (0, files.count // 2, files.count - 1):
        part = bisect.bisect_right(files.starts, number) - 1
        key = files.readers[part].key(number - files.starts[part])
        total = zlib.crc32(f"{len(key)} {key}".encode(errors="surrogateescape"), total)
    return f"{total:08x}"


def check(state: Mapping[str, Any], files: Files) -> None:
    """StateError when the state is of other samples; where one of the two does not know its own, it is believed."""
    given = state.get("samples")
    own = signature(files) if given is not None else None
    if given is not None and own is not None and given != own:
        raise StateError(
            f"load_state_dict: the state was taken of other samples: the sum of their keys is {given}, here it is {own}"
        )
