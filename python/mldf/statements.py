"""From a loader's pipelines= to the library's text: the names on the left sides of statements, the steps on their right
sides, and what the text cannot say (Python callables, fields that Python decodes). loader_outputs.py asks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .errors import ArgumentError, Error, WrongTypeError
from .pipeline import Key, Operation, OwnOperation, Pipeline, Pipelines, canonical
from .schema import MULTIMODAL, Schema
from .suggest import nearest

__all__ = ["LOADERS_OWN", "Compiled", "compile_pipelines", "quoted"]


@dataclass
class Compiled:
    """What a loader needs of its pipelines."""

    statements: list[str] = field(default_factory=list)
    named: set[str] = field(default_factory=set)
    """Fields and outputs that the statements name."""
    outputs: set[str] = field(default_factory=set)
    """Those of them that stand for themselves: of others, such as image in "small = image", something else is made."""
    calls: dict[str, list[Callable[[Any], Any]]] = field(default_factory=dict)
    """Python callables by output."""
    plain: list[str] = field(default_factory=list)
    """Fields that are wanted as they are."""
    dropped: set[str] = field(default_factory=set)
    """Fields that are no outputs."""
    own: dict[str, OwnOperation] = field(default_factory=dict)
    """The user's own operations by name."""
    decoded: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Outputs that are decoded in Python: their field, and the step fill for its nulls or ""."""

    def strings(self) -> set[str]:
        """Outputs that are lists of str: their last step is strings."""
        text = "\n".join(self.statements)
        lines = (text if self.own else canonical(text)).splitlines()  # canonical knows no operations of the user's own
        found = [line for line in lines if re.search(r"[:|] strings$", line)]
        return {name for line in found for name in output_names(_left_side(line))}

    def decode(self, left: str, output: str, source: str, fill: str = "") -> None:
        """One more of them: `source`, a user-defined field, as its bytes end to end."""
        known = fill.replace("valid=false", "valid=true")
        self.statements.append(f"{left}: {known} | ragged" if fill else f"{left}: ragged")
        self.named |= {output, source}
        self.outputs.add(output)
        self.decoded[output] = (source, fill)


def _flat(items: Sequence[Any]) -> Iterator[Any]:
    """Lists inside lists are as good as their elements."""
    for item in items:
        if isinstance(item, (list, tuple)):
            yield from _flat(item)
        else:
            yield item


def _checked(output: Key, i: int, text: str) -> str:
    """A step, or several, as the user wrote them; mistakes are reported as this step's."""
    where = f"pipelines[{output!r}], step {i + 1}, {text!r}"
    try:
        found = canonical(f"x: {text}\n")
    except Error as error:
        hint = _familiar(text)
        raise type(error)(f"{where}: {error.message if hint else error.inside}{hint}") from None
    if len(found.splitlines()) != 1 or found.startswith("x\n"):
        raise ArgumentError(f"{where}: steps joined by | are needed, not statements; those make up a text of their own")
    return text


def _familiar(text: str) -> str:
    """A hint for those who wrote a class's name, of ours or of another library's, where an operation belongs."""
    from . import ops

    known = {getattr(ops, name).name for name in ops.__all__}
    unknown = [word for word in re.findall(r"(?:^|\|)\s*(\w+)", text) if word not in known]
    name = unknown[0] if unknown else ""
    if name.islower():
        name = "".join(part.capitalize() for part in name.split("_"))
    if name in ops.__all__:
        return f"; mldf.{name} is {getattr(ops, name).name} in text"
    return nearest(name, ())


def _steps(
    output: Key, pipeline: Pipeline, own: dict[str, OwnOperation]
) -> tuple[list[str], list[Callable[[Any], Any]]]:
    items: Sequence[Any] = (
        [pipeline] if isinstance(pipeline, (Operation, str)) or callable(pipeline) else pipeline or []
    )
    if not isinstance(items, Sequence):
        raise WrongTypeError(f"pipelines[{output!r}]: a list of steps is needed, not {type(items).__name__}")
    texts: list[str] = []
    calls: list[Callable[[Any], Any]] = []
    for i, step in enumerate(_flat(items)):
        if isinstance(step, type) and issubclass(step, Operation):
            raise WrongTypeError(
                f"pipelines[{output!r}], step {i + 1}: the class {step.__name__}; write {step.__name__}(...)"
            )
        if isinstance(step, (Operation, str)):
            if calls:
                raise ArgumentError(
                    f"pipelines[{output!r}], step {i + 1}: {step!r} stands behind a Python callable; callables see the "
                    "whole batch when all else is done, so they come last"
                )
            texts.append(step.text if isinstance(step, Operation) else _checked(output, i, step))
            if isinstance(step, OwnOperation):
                own[step.own_name] = step
        elif callable(step):
            calls.append(step)
        else:
            raise WrongTypeError(
                f"pipelines[{output!r}], step {i + 1}: {step!r} is no operation of mldf, no text and no callable"
            )
    return texts, calls


LOADERS_OWN = ("index", "valid", "key")
"""Outputs of the loader itself; a field of such a name comes out under another."""

_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*(\[[0-9]{1,9}\])?")
_NAMES = re.compile(r"`((?:[^`\\]|\\.)*)`|([A-Za-z_][A-Za-z0-9_.]*(?:\[[0-9]{1,9}\])?)|([\[\],=])")


def quoted(name: str) -> str:
    """A field's name as the language has it: in backquotes where it is no plain word."""
    return name if _BARE.fullmatch(name) else "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


def _left_sides(text: str) -> list[str]:
    """What stands in front of the colons of a pipeline's text.

    >>> _left_sides("small = image: resize(8) | hflip; x: drop; y")
    ['small = image', 'x', 'y']
    """
    return [_left_side(line) for line in canonical(text).splitlines()]


def _left_side(line: str) -> str:
    return re.split(r":(?=(?:[^`]*`[^`]*`)*[^`]*$)", line, maxsplit=1)[0]


def left_names(left: str) -> set[str]:
    """All names in what stands in front of a colon, without roles.

    >>> sorted(left_names("image, seg as mask, `odd name`"))
    ['image', 'odd name', 'seg']
    """
    return {name for name, _ in _names(left)}


def _names(left: str) -> Iterator[tuple[str, str]]:
    """(name, what stands before it): "," where a binding begins, "=" or "[" of what it is made of. Not the roles."""
    before, depth = ",", 0
    for found in _NAMES.finditer(left):
        if found[3]:
            depth += {"[": 1, "]": -1}.get(found[3], 0)
            before = found[3] if found[3] in ",=" and not depth else ""
        elif before or depth:  # else it is "as", or the role behind it
            yield found[2] or re.sub(r"\\(.)", r"\1", found[1]), "[" if depth else before
            before = ""


def output_names(key: str) -> list[str]:
    """The outputs that the left side of a statement names.

    >>> output_names("image"), output_names("small = image"), output_names("image, seg as mask")
    (['image'], ['small'], ['image', 'seg'])
    >>> output_names("`my image` = image, xy = [x, y] as points")
    ['my image', 'xy']
    """
    return [name for name, before in _names(key) if before == ","]


def _source(key: str, fields: Schema) -> str:
    """The field that an output of one field is made of; "": something else is."""
    if key in fields:
        return key
    right = [name for name in left_names(key.split("=", 1)[1]) if name in fields] if "=" in key else []
    return right[0] if len(right) == 1 else ""


def _only_fill(texts: list[str]) -> str | None:
    """ "" when there is no step, the canonical text when fill is the only one; else None."""
    found = canonical("x: " + "\n| ".join(texts)).strip() if texts else ""
    return found.removeprefix("x: ") if not found or re.fullmatch(r"x: fill\([^|]*\)", found) else None


def compile_pipelines(pipelines: Pipelines | None, fields: Schema) -> Compiled:
    """The text of pipelines, and what it cannot say."""
    out = Compiled()
    if pipelines is None:
        return out
    if isinstance(pipelines, str):
        out.statements.append(pipelines)
        for left in _left_sides(pipelines):
            out.named |= left_names(left)
            out.outputs.update(output_names(left))
        return out
    pairs = list(pipelines.items()) if isinstance(pipelines, Mapping) else pipelines
    if not isinstance(pairs, (list, tuple)) or not all(isinstance(p, (tuple, list)) and len(p) == 2 for p in pairs):
        raise WrongTypeError(
            f"pipelines: a dict of output to steps, or the pipeline's text, is needed, not {type(pipelines).__name__}"
        )
    for key, pipeline in pairs:
        _add(out, key, pipeline, fields)
    return out


def _left(key: Any, fields: Schema) -> tuple[str, list[str], set[str]]:
    """What stands in front of the colon, its outputs, and all names in it."""
    if isinstance(key, tuple) and key and all(isinstance(name, str) for name in key):
        parts = [_left(name, fields) for name in key]
        return ", ".join(p[0] for p in parts), [n for p in parts for n in p[1]], set().union(*(p[2] for p in parts))
    if not isinstance(key, str):
        raise WrongTypeError(f"pipelines: {key!r}: names of outputs are text, or tuples of text")
    name, _, role = key.rpartition(" as ")
    if key in fields:
        return quoted(key), [key], {key}
    if name in fields and role.strip().isidentifier():  # else another output stands behind the role
        return f"{quoted(name)} as {role}", [name], {name}
    names = output_names(key)
    if not names or key.lstrip().startswith("="):
        raise ArgumentError(f"pipelines: {key!r} names no output")
    return key, names, left_names(key)


def _add(out: Compiled, key: Any, pipeline: Pipeline, fields: Schema) -> None:
    """One more entry of a dict of pipelines."""
    left, names, mentioned = _left(key, fields)
    texts, callables = _steps(key, pipeline, out.own) if pipeline is not None else ([], [])
    written = [name if name in fields else quoted(name) for name in names]
    parts = list(key) if isinstance(key, tuple) else written if mentioned == set(names) else []
    if not texts and (isinstance(key, tuple) or len(parts) > 1):  # nothing that they share
        for part in parts:
            _add(out, part, pipeline, fields)
        return
    if pipeline is None:
        odd = key in fields and (fields[key].is_struct or not fields[key].known or fields[key].type_id == MULTIMODAL)
        if not odd and key not in LOADERS_OWN:  # else it is no input of drop
            out.statements.append(f"{left}: drop")
        out.named |= {*names, key}
        out.outputs |= {*names, key}
        out.dropped |= {*names, key}
        return
    source = "" if isinstance(key, tuple) or len(names) > 1 else _source(key, fields)
    fill = _only_fill(texts) if source and fields[source].custom is not None else None
    if names[0] in out.decoded and not texts:
        pass  # more callables alone
    elif fill is not None:  # its decode says what the bytes mean; other steps see the bytes
        out.decode(left, names[0], source, fill)
    elif texts:
        steps = "\n| ".join(texts)  # a comment ends with its line
        out.statements.append(f"{left}: {steps}")
        out.named |= mentioned
        out.outputs.update(names)
    elif key == names[0]:
        out.plain.append(key)
    else:  # one more view, as it is stored
        out.statements.append(left)
        out.named |= mentioned
        out.outputs.update(names)
    for name in names:
        if texts and name in out.calls:
            raise ArgumentError(f"pipelines[{key!r}]: {name!r} has Python callables before; they come last")
        if callables:
            out.calls.setdefault(name, []).extend(callables)
