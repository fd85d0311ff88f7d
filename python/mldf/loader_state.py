"""Where a loader's run is, as a small dict: how it is taken, checked, and moved on to the next epoch at an end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from . import _mldf
from .arguments import LASTS
from .errors import ArgumentError, Error, WrongTypeError
from .files import Files
from .limits import whole
from .signature import check

__all__ = ["Place", "checked", "following", "snapshot"]


def following(epoch: int) -> int:
    """The epoch after this one: numbers of 64 bits, which begin again at 0, as in the library."""
    return (epoch + 1) % 2**64


def _is_end(state: Mapping[str, Any], options: Mapping[str, Any]) -> bool:
    """Nothing of an epoch that was begun is left?"""
    rest = state["count"] - state["consumed"]
    all_ranks = options["global_batch_size"] or options["batch_size"] * options["world_size"]
    drops = options["last"] == LASTS.index("drop")
    if options["bucket_window"]:  # a window that was begun is finished as it was planned; each drops what is left of it
        begun = state.get("bucket")
        end = begun.get("end") if isinstance(begun, Mapping) else None
        budgeted = options["budget"] or options["budget_seconds"]
        drops = drops and not budgeted and (end is None or end == state["consumed"])
        rest = min(rest, options["bucket_window"])
    return bool(state["consumed"] and (rest == 0 or (drops and 0 < rest < all_ranks)))


class Place(NamedTuple):
    """Where a sample comes: in `batch` of `epoch`, counted from its beginning, in `slot` of the batch of `rank`."""

    epoch: int
    batch: int
    slot: int
    rank: int


def snapshot(core: _mldf.Loader, options: Mapping[str, Any], next_epoch: int | None) -> dict[str, Any]:
    """The state of what was taken from the iterator. next_epoch: none is running, this one comes next."""
    state: dict[str, Any] = json.loads(core.state())
    if next_epoch is not None:
        state["epoch"], state["consumed"] = next_epoch, 0
    else:
        state["epoch"], state["consumed"] = core.place  # without a batch that next() has not handed over
        if _is_end(state, options):
            state["epoch"], state["consumed"] = following(state["epoch"]), 0
    if state["consumed"] == 0:
        state.pop("bucket", None)
    return state


def checked(state: Any, options: Mapping[str, Any], files: Files) -> dict[str, Any]:
    """A state from outside; the end of an epoch is the beginning of the next."""
    if not isinstance(state, Mapping):
        raise WrongTypeError(f"load_state_dict: the dict of state_dict() is needed, not {type(state).__name__}")
    wanted = dict(state)
    for name in ("epoch", "consumed", "count"):
        try:
            wanted[name] = whole(name, wanted.get(name))
        except Error as error:
            raise ArgumentError(f"load_state_dict: the state has no whole number {name!r}: {error}") from None
    check(wanted, files)
    if _is_end(wanted, options):
        wanted["epoch"], wanted["consumed"] = following(wanted["epoch"]), 0
        wanted.pop("bucket", None)
    return wanted
