"""From a loader's pipelines= to the library's text, and what the text cannot say (Python callables, fields that Python
decodes). The library parses every text; this file reads the statements that it found. loader_outputs.py asks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

from . import _mldf
from .errors import ArgumentError, Error, SyntaxMistakeError, WrongTypeError
from .pipeline import Key, Operation, OwnOperation, Pipeline, Pipelines
from .schema import MULTIMODAL, Schema
from .suggest import nearest

__all__ = ["LOADERS_OWN", "Compiled", "compile_pipelines", "itself", "parse", "quoted"]


class Binding(TypedDict):
    """An output of a statement, and what it is made of."""

    name: str
    inputs: list[str]
    list: bool
    role: str | None


class ParsedStep(TypedDict):
    """A step of a statement, with all its parameters."""

    name: str
    arguments: Any
    text: str


class Statement(TypedDict):
    """A statement, as mldf_pipeline_json gives it."""

    outputs: list[Binding]
    steps: list[ParsedStep]


def parse(text: str) -> list[Statement]:
    """The statements of a pipeline's text.

    >>> found = parse("small = image: resize(8) | hflip; x: drop")
    >>> [output["name"] for s in found for output in s["outputs"]], [step["name"] for step in found[0]["steps"]]
    (['small', 'x'], ['resize', 'hflip'])
    """
    found: list[Statement] = json.loads(_mldf.parse_pipeline(text))
    return found


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
    decoded: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    """Outputs that are decoded in Python: their field, and the arguments of the step fill for its nulls or {}."""
    strings: set[str] = field(default_factory=set)
    """Outputs that are lists of str: their last step is strings."""

    def name(self, left: Left, steps: Sequence[ParsedStep]) -> None:
        """Notes the names of a statement."""
        self.named |= left.named
        self.outputs.update(left.outputs)
        if steps and steps[-1]["name"] == "strings":
            self.strings.update(left.outputs)

    def decode(self, left: Left, source: str, fill: dict[str, Any] | None = None) -> None:
        """One more output of `source`, a user-defined field: its bytes end to end."""
        from .ops import Fill

        known = f"{Fill(fill['value'], valid=True).text} | " if fill else ""
        self.statements.append(f"{left.text}: {known}ragged")
        self.name(left, [])
        self.decoded[left.outputs[0]] = (source, fill or {})


def _flat(items: Sequence[Any]) -> Iterator[Any]:
    """Lists inside lists are as good as their elements."""
    for item in items:
        if isinstance(item, (list, tuple)):
            yield from _flat(item)
        else:
            yield item


def _checked(output: Key, i: int, text: str) -> list[ParsedStep]:
    """The steps of a text that the user wrote; mistakes are reported as this step's."""
    where = f"pipelines[{output!r}], step {i + 1}, {text!r}"
    try:
        found = parse(f"x: {text}\n")
    except Error as error:
        hint = _familiar(text)
        raise type(error)(f"{where}: {error.message if hint else error.inside}{hint}") from None
    if len(found) != 1:
        raise ArgumentError(f"{where}: steps joined by | are needed, not statements; those make up a text of their own")
    return found[0]["steps"]


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
) -> tuple[list[str], list[ParsedStep], list[Callable[[Any], Any]]]:
    """The texts of the steps, the steps in them, and the callables after them."""
    items: Sequence[Any] = (
        [pipeline] if isinstance(pipeline, (Operation, str)) or callable(pipeline) else pipeline or []
    )
    if not isinstance(items, Sequence):
        raise WrongTypeError(f"pipelines[{output!r}]: a list of steps is needed, not {type(items).__name__}")
    texts: list[str] = []
    steps: list[ParsedStep] = []
    calls: list[Callable[[Any], Any]] = []
    for i, step in enumerate(_flat(items)):
        if isinstance(step, type) and issubclass(step, Operation):
            raise WrongTypeError(
                f"pipelines[{output!r}], step {i + 1}: the class {step.__name__}; write {step.__name__}(...)"
            )
        if isinstance(step, (Operation, str)):
            if calls:
                raise ArgumentError(
                    f"pipelines[{output!r}], step {i + 1}: {step!r} follows a Python callable; callables see the "
                    "whole batch when all else is done, so they come last"
                )
            texts.append(step.text if isinstance(step, Operation) else step)
            if isinstance(step, OwnOperation):  # which the loader alone knows
                own[step.own_name] = step
                steps.append({"name": step.own_name, "arguments": step.arguments, "text": step.text})
            else:
                steps += _checked(output, i, texts[-1])
        elif callable(step):
            calls.append(step)
        else:
            raise WrongTypeError(
                f"pipelines[{output!r}], step {i + 1}: {step!r} is not an operation of mldf, text or a callable"
            )
    return texts, steps, calls


LOADERS_OWN = ("index", "valid", "key")
"""Outputs of the loader itself; a field of such a name comes out under another."""


def quoted(name: str) -> str:
    """A field's name as the language has it, whatever characters it has.

    >>> quoted("my `image`")
    '`my \\\\`image\\\\``'
    """
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


@dataclass
class Left:
    """What a key of pipelines= says: the left side of a statement."""

    text: str
    outputs: list[str]
    inputs: list[str]
    """What the outputs are made of; of an output that is a field, its own name."""
    plain: bool
    """It is nothing but the names of outputs."""

    @property
    def named(self) -> set[str]:
        """All names in it."""
        return {*self.outputs, *self.inputs}


def compile_pipelines(pipelines: Pipelines | None, fields: Schema) -> Compiled:
    """The text of pipelines, and what it cannot say."""
    out = Compiled()
    if pipelines is None:
        return out
    if isinstance(pipelines, str):
        for statement in parse(pipelines):
            out.name(_bindings(pipelines, statement["outputs"]), statement["steps"])
        out.statements.append(pipelines)
        return out
    pairs = list(pipelines.items()) if isinstance(pipelines, Mapping) else pipelines
    if not isinstance(pairs, (list, tuple)) or not all(isinstance(p, (tuple, list)) and len(p) == 2 for p in pairs):
        raise WrongTypeError(
            f"pipelines: a dict of output to steps, or the pipeline's text, is needed, not {type(pipelines).__name__}"
        )
    for key, pipeline in pairs:
        _add(out, key, pipeline, fields)
    return out


def _bindings(text: str, bindings: list[Binding]) -> Left:
    inputs = [name for b in bindings for name in b["inputs"]]
    plain = all(b["inputs"] == [b["name"]] and not b["list"] and b["role"] is None for b in bindings)
    return Left(text, [b["name"] for b in bindings], inputs, plain)


def itself(name: str) -> Left:
    """The field or output of this name."""
    return Left(quoted(name), [name], [name], True)


def _left(key: Any, fields: Schema) -> Left:
    if isinstance(key, tuple) and key and all(isinstance(name, str) for name in key):
        parts = [_left(name, fields) for name in key]
        outputs, inputs = [n for part in parts for n in part.outputs], [n for part in parts for n in part.inputs]
        return Left(", ".join(part.text for part in parts), outputs, inputs, False)
    if not isinstance(key, str):
        raise WrongTypeError(f"pipelines: {key!r}: names of outputs are text, or tuples of text")
    if key in fields or key in LOADERS_OWN:
        return itself(key)
    name, _, role = key.rpartition(" as ")
    if name in fields and role.strip().isidentifier():  # else another output follows the role
        return Left(f"{quoted(name)} as {role}", [name], [name], False)
    try:
        found = parse(f"{key}: drop")
    except SyntaxMistakeError as error:
        if not key[: error.offset].strip():
            raise ArgumentError(f"pipelines: {key!r} names no output") from None
        raise
    if len(found) != 1 or not found[0]["steps"]:
        raise ArgumentError(f"pipelines: {key!r}: the left side of one statement is needed, without a comment")
    return _bindings(key, found[0]["outputs"])


def _add(out: Compiled, key: Any, pipeline: Pipeline, fields: Schema) -> None:
    """One more entry of a dict of pipelines."""
    left = _left(key, fields)
    texts, steps, callables = _steps(key, pipeline, out.own) if pipeline is not None else ([], [], [])
    if not texts and isinstance(key, tuple):  # nothing that they share
        for part in key:
            _add(out, part, pipeline, fields)
        return
    alone = not texts and len(left.outputs) > 1 and left.named == set(left.outputs)
    for each in [itself(name) for name in left.outputs] if alone else [left]:
        if pipeline is None:
            _drop(out, each, fields)
        else:
            _make(out, each, texts, steps, fields)
    for name in left.outputs:
        if texts and name in out.calls:
            raise ArgumentError(f"pipelines[{key!r}]: {name!r} has Python callables before; they come last")
        if callables:
            out.calls.setdefault(name, []).extend(callables)


def _drop(out: Compiled, left: Left, fields: Schema) -> None:
    name = left.outputs[0]
    odd = name in fields and (fields[name].is_struct or not fields[name].known or fields[name].type_id == MULTIMODAL)
    if not left.plain or (not odd and name not in LOADERS_OWN):  # else it is not an input of drop
        out.statements.append(f"{left.text}: drop")
    out.named.update(left.outputs)
    out.outputs.update(left.outputs)
    out.dropped.update(left.outputs)


def _make(out: Compiled, left: Left, texts: list[str], steps: list[ParsedStep], fields: Schema) -> None:
    """The statement of an output, or of several that share their draws."""
    sources = [name for name in left.inputs if name in fields] if len(left.outputs) == 1 else []
    custom = len(sources) == 1 and fields[sources[0]].custom is not None
    only_fill = len(steps) == 1 and steps[0]["name"] == "fill"
    if left.outputs[0] in out.decoded and not texts:
        pass  # more callables alone
    elif custom and (not texts or only_fill):  # its decode says what the bytes mean; other steps see the bytes
        out.decode(left, sources[0], steps[0]["arguments"] if only_fill else None)
    elif texts or not left.plain:  # no steps: one more view, as it is stored
        joined = "\n| ".join(texts)  # a comment ends with its line
        out.statements.append(f"{left.text}: {joined}" if texts else left.text)
        out.name(left, steps)
    else:
        out.plain.append(left.outputs[0])
