"""Windows over consecutive rows: what a Loader's windows= and delta_timestamps= mean as a view.

>>> from mldf.steps import steps_text
>>> steps_text("episode_index", {"action": range(0, 3), "cam": [-0.1, 0.0]}, None, "clamp", 1e-4, 0, None)
'steps(episode_index, windows="action=0,1,2;cam=-0.1s,0.0s", edge=clamp, tolerance=0.0001, drop_last=0)'
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .errors import ArgumentError, WrongTypeError

__all__ = ["steps_text"]


def _quoted(text: str) -> str:
    return text if text.isidentifier() else '"' + text.replace('"', '""') + '"'


def _offsets(name: str, offsets: Any, seconds: bool) -> str:
    """Whole numbers are rows, floats are seconds; one list has one kind."""
    if isinstance(offsets, (str, bytes)) or not isinstance(offsets, Iterable):
        raise WrongTypeError(f"windows: of {name!r} a list of offsets is needed, not {offsets!r}")
    given = list(offsets)
    if not given:
        raise ArgumentError(f"windows: {name!r} has no offsets")
    if seconds or any(isinstance(offset, (float, np.floating)) for offset in given):
        return ",".join(f"{float(offset)!r}s" for offset in given)
    try:
        return ",".join(str(operator.index(offset)) for offset in given)
    except TypeError:
        raise WrongTypeError(f"windows: offsets of {name!r} are rows (int) or seconds (float), not {given!r}") from None


def steps_text(
    group: Any,
    windows: Mapping[str, Any] | None,
    delta_timestamps: Mapping[str, Any] | None,
    edge: str,
    tolerance: float,
    drop_n_last: int,
    time: str | None,
) -> str:
    """The text of the view.

    group             the column whose runs of equal numbers are groups
    windows           for each field its offsets: whole numbers are rows, floats seconds
    delta_timestamps  the same, always in seconds
    edge              of rows outside the group
    tolerance         in seconds, of times
    drop_n_last       rows at the end of each group without an item
    time              the column of times; None: timestamp
    """
    if not isinstance(group, str):
        raise ArgumentError("windows: group= must name the column that tells one group from the next")
    given = {name: (offsets, False) for name, offsets in (windows or {}).items()}
    given |= {name: (offsets, True) for name, offsets in (delta_timestamps or {}).items()}
    for name in given:
        if any(mark in name for mark in '=;"'):
            raise ArgumentError(f"windows: the name {name!r} cannot be used in a view's text")
    spec = ";".join(f"{name}={_offsets(name, offsets, seconds)}" for name, (offsets, seconds) in given.items())
    said = f', time="{time}"' if time is not None else ""
    return (
        f'steps({_quoted(group)}, windows="{spec}"{said}, edge={edge}, tolerance={float(tolerance)!r}, '
        f"drop_last={int(drop_n_last)})"
    )
