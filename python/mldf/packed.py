"""Packed sequences: how a loader's arguments become the text of a packed view. The view itself is the library's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .errors import ArgumentError

__all__ = ["chooses_rows", "is_packed", "one_number", "with_fields", "with_parameter"]

_CALL = re.compile(r"\s*([^\s(]+)\s*\((.*)\)\s*", re.DOTALL)
_WORDS = ("positions", "cu_seqlens", "max_seqlen")
"""Outputs whose parameter has their name: cu_seqlens(flat) is cu_seqlens=flat of the view."""


def is_packed(view: Any) -> bool:
    """A view's text of packed sequences?"""
    return isinstance(view, str) and view.lstrip().startswith("packed")


def chooses_rows(view: Any) -> bool:
    """A view's text whose items are made of the rows of a subset, not chosen by them?"""
    return is_packed(view) or (isinstance(view, str) and view.lstrip().startswith("pow2"))


def with_parameter(view: str, name: str, value: str) -> str:
    """The view with one more parameter, unless it is given."""
    if re.search(rf"[(,]\s*{re.escape(name)}\s*(=|[,)])", view):
        return view
    return f"{view.rstrip().removesuffix(')')}, {name}={value})"


def _parameters(output: str, text: str) -> list[tuple[str, str]]:
    """Of ``labels(shift=false)``: [("shift", "false")]."""
    out = []
    own = next((word for word in _WORDS if output.endswith(word)), None)
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals and own is not None:
            name, value = own, name
        elif not equals:
            raise ArgumentError(f"fields: {output}({text}): NAME=VALUE is needed")
        out.append((name, value))
    return out


def with_fields(view: str, fields: Sequence[str] | None) -> tuple[str, Sequence[str] | None]:
    """The view with the parameters of ``fields=["labels(shift=false)", ...]``, and the names alone."""
    if fields is None or isinstance(fields, str):
        return view, fields
    names: list[str] = []
    for field in fields:
        call = _CALL.fullmatch(field) if isinstance(field, str) else None
        if call is None:
            names.append(field)
            continue
        names.append(call[1])
        for name, value in _parameters(call[1], call[2]) if call[2].strip() else []:
            given = with_parameter(view, name, value)
            if given == view:
                raise ArgumentError(f"fields: {field}: the view gives {name} already, {view}")
            view = given
    return view, names


def one_number(values: Any) -> int:
    """max_seqlen of a batch that is one sequence: what kernels take is a Python number."""
    return int(values.max()) if len(values) else 0
