"""Options of a loader's engine: how it works, not what comes out. Few need any of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, TypedDict

from .errors import ArgumentError, WrongTypeError
from .suggest import near

__all__ = ["ENGINE", "Engine", "engine_options"]


class Engine(TypedDict, total=False):
    """The options of ``Loader(..., engine={...})``. Each may also be given to :class:`Loader` by its name.

    >>> import mldf
    >>> how: mldf.Engine = {"batches_ahead": 2, "codegen": "off"}
    """

    block: int
    """order="quasi-random": samples of a block; 0: 2 MiB of them."""
    window: int
    """order="quasi-random": blocks of a window; 0: 128 MiB of them."""
    bucket_window: int
    """With bucket=: so many samples are sorted by length at a time (4096)."""
    batches_ahead: int
    """How many batches are worked on or wait; 0: 3, or more of small ones."""
    prefetch: bool
    """Tell the system which samples come next (True)."""
    forget_behind: bool
    """For files larger than memory: tell it which are done."""
    direct: bool
    """For those too: past the page cache. A dataset must be opened with backend="read"."""
    exact: bool
    """Never decode a JPEG at a reduced size."""
    reference: bool
    """For tests: no step is fused with another."""
    isa: str | None
    """For tests: "portable", "sse4", "avx2" ... instead of the best that the machine has."""
    codegen: str
    """"auto": fused steps are compiled in the background, once; "wait" for it; "off"."""
    compiler: str | None
    """The C compiler's name, for codegen ("cc")."""
    cache_dir: str | os.PathLike[str] | None
    """Where compiled steps are kept: $XDG_CACHE_HOME/mldf or ~/.cache/mldf."""
    non_blocking: bool
    """torch: copies from pinned memory do not wait for the device (True)."""
    copy: bool | None
    """JAX: False looks at the loader's own memory."""


ENGINE: Engine = {
    "block": 0,
    "window": 0,
    "bucket_window": 4096,
    "batches_ahead": 0,
    "prefetch": True,
    "forget_behind": False,
    "direct": False,
    "exact": False,
    "reference": False,
    "isa": None,
    "codegen": "auto",
    "compiler": "cc",
    "cache_dir": None,
    "non_blocking": True,
    "copy": None,
}
"""The defaults."""


def engine_options(engine: Any, given: Engine) -> Engine:
    """The options of engine= and those that were given by name, over the defaults."""
    if engine is not None and not isinstance(engine, Mapping):
        raise WrongTypeError(f"engine= is a dict of options, not a {type(engine).__name__}")
    for name in engine or ():
        if name not in ENGINE:
            raise ArgumentError(f"engine={{{name!r}: ...}}: there is no such option{near(str(name), list(ENGINE))}")
        if name in given:
            raise ArgumentError(f"{name} is given twice: in engine= and by its name")
    return {**ENGINE, **(engine or {}), **given}
