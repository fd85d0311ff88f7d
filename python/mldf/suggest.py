"""Near misses: what somebody who mistyped a name most likely meant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .errors import ArgumentError

__all__ = ["choice", "near", "nearest"]


def near(name: str, names: Iterable[str]) -> str:
    """ "; did you mean ...?", or what there is.

    >>> near("iamge", ["image", "label"])
    "; did you mean 'image'?"
    """
    import difflib  # only when something went wrong

    known = list(dict.fromkeys(names))
    found = difflib.get_close_matches(name, known, 1)
    if found:
        return f"; did you mean {found[0]!r}?"
    return f"; there is {', '.join(map(repr, known[:20]))}" if known else ""


def nearest(name: str, names: Iterable[str]) -> str:
    """ "; did you mean ...?" of the closest one; where nothing is close, of names that other libraries have.

    >>> nearest("RandomResizeCrop", ["RandomResizedCrop", "Resize"])
    "; did you mean 'RandomResizedCrop'?"
    >>> nearest("ToTensor", [])
    '; mldf.compat.torchvision has ToTensor'
    """
    import importlib

    for module in ("torchvision", "ffcv", "turboloader"):
        if name in importlib.import_module(f"mldf.compat.{module}").__all__:
            return f"; mldf.compat.{module} has {name}"
    hint = near(name, names)
    return hint if "did you mean" in hint else ""


def choice(argument: str, value: Any, choices: tuple[str, ...]) -> int:
    """The place of a word among the choices; what else is given is reported."""
    if isinstance(value, str) and value in choices:
        return choices.index(value)
    hint = near(value, choices) if isinstance(value, str) else ""
    hint = hint if "did you mean" in hint else ""
    shown = ", ".join(map(repr, choices[:-1])) + f" or {choices[-1]!r}"
    raise ArgumentError(f"{argument}={value!r}: it is {shown}{hint}")
