"""Pipelines: what is done with each sample on its way into the batch.

A pipeline is text (``docs/python-loader.md`` says how it reads), the same in C, on the command line and here. Operation
objects write it:

>>> import mldf
>>> op = mldf.RandomResizedCrop(224, scale=(0.35, 1))
>>> op, op.text
(RandomResizedCrop(224, scale=(0.35, 1)), 'random_resized_crop(224, scale=[0.35, 1])')
>>> mldf.RandomResizedCrop("large")
Traceback (most recent call last):
mldf.errors.ArgumentError: RandomResizedCrop('large'): size: wants a number or a [list]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, Union

from . import _mldf
from .errors import ArgumentError, SyntaxMistakeError, WrongTypeError

__all__ = ["Operation", "Pipeline", "Pipelines", "Step", "canonical"]

Step = Union["Operation", str, Callable[[Any], Any]]
"""An operation, its text, or (last in the list) a callable on the whole batch's array."""
Pipeline = Union[Sequence[Step], "Operation", str, None]
Pipelines = Union[Mapping[str, Pipeline], str]

_WORDS = {"float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "bf16", "half": "f16", "double": "f64"}
_WORDS.update({f"{kind}int{bits}": f"{kind or 'i'}{bits}" for kind in ("", "u") for bits in (8, 16, 32, 64)})
_WORDS["float"] = "f32"
_PLACE = re.compile(r"^line \d+, column \d+: ")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def dtype_word(value: Any) -> str:
    """The language's name of an element type: of NumPy's, torch's, or a name.

    >>> import numpy as np
    >>> dtype_word(np.float16), dtype_word("uint8"), dtype_word("f32")
    ('f16', 'u8', 'f32')
    """
    if isinstance(value, type) and value in (bool, int, float):
        return {bool: "bool", int: "i64", float: "f32"}[value]
    name = value if isinstance(value, str) else str(getattr(value, "__name__", value))
    name = name.removeprefix("torch.")
    return _WORDS.get(name, name)


def literal(value: Any, kind: str) -> str:
    """A parameter's value as text."""
    if kind == "dtype":
        return dtype_word(value)
    if isinstance(value, bool) or type(value).__name__ == "bool_":
        return "true" if value else "false"
    if isinstance(value, str):
        if kind != "text" and _WORD.fullmatch(value):
            return value
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if hasattr(value, "tolist"):  # NumPy's and torch's numbers and arrays
        value = value.tolist()
    if isinstance(value, (int, float)):
        return repr(value)
    if hasattr(value, "__index__"):
        return repr(value.__index__())
    if isinstance(value, Sequence):
        return "[" + ", ".join(literal(v, kind) for v in value) + "]"
    if hasattr(value, "value") and isinstance(value.value, str):  # an enum, such as torchvision's InterpolationMode
        return literal(value.value, kind)
    raise WrongTypeError(f"a number, a list of numbers or text is needed, not {type(value).__name__}")


def without_place(message: str) -> str:
    """Without the line and column of a text that the user never saw."""
    return _PLACE.sub("", message)


class Operation:
    """One step of a pipeline. :mod:`mldf.ops` has a class for every operation of the library."""

    name: ClassVar[str] = ""
    """As the pipeline's text has it."""
    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = ()
    """(name, type, default) of each, in order; a default of `...` must be given."""

    def __init__(self, *values: Any) -> None:
        self._values = values
        self.text: str = self._write()
        """The step as the pipeline's text has it."""
        try:
            _mldf.check_pipeline("x: " + self.text)
        except (ArgumentError, SyntaxMistakeError) as error:
            message = without_place(str(error)).removeprefix(f"{self.name}, ")
            raise type(error)(f"{self!r}: {message}") from None

    def _given(self) -> list[tuple[int, str, str, Any]]:
        """(place, name, type, value) of those that are not the default."""
        out = []
        for i, ((name, kind, default), value) in enumerate(zip(self.parameters, self._values)):
            if default is ... or (value is not default and not _same(value, default)):
                out.append((i, name, kind, value))
        return out

    def _write(self) -> str:
        parts: list[str] = []
        for i, name, kind, value in self._given():
            try:
                text = literal(value, kind)
            except WrongTypeError as error:
                raise WrongTypeError(f"{self!r}: {name}: {error}") from None
            parts.append(text if i == len(parts) else f"{name}={text}")
        return f"{self.name}({', '.join(parts)})" if parts else self.name

    def __repr__(self) -> str:
        parts: list[str] = []
        for i, name, _, value in self._given():
            parts.append(repr(value) if i == len(parts) else f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(parts)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Operation) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


def _same(value: Any, default: Any) -> bool:
    if isinstance(value, (list, tuple)) and isinstance(default, (list, tuple)):
        return list(value) == list(default)
    return isinstance(value, (int, float, str)) and type(value) is type(default) and bool(value == default)


def canonical(text: str) -> str:
    """A pipeline's text in one form: every parameter by name, without comments.

    >>> canonical("image: hflip")
    'image: hflip(p=0.5)\\n'
    """
    return _mldf.check_pipeline(text)


# ---- from the loader's argument to text and callables ----


def _steps(output: str, pipeline: Pipeline) -> tuple[list[str], list[Callable[[Any], Any]]]:
    items: Sequence[Any] = (
        [pipeline] if isinstance(pipeline, (Operation, str)) or callable(pipeline) else pipeline or []
    )
    if not isinstance(items, Sequence):
        raise WrongTypeError(f"pipelines[{output!r}]: a list of steps is needed, not {type(items).__name__}")
    texts: list[str] = []
    calls: list[Callable[[Any], Any]] = []
    for i, step in enumerate(items):
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
            texts.append(step.text if isinstance(step, Operation) else step)
        elif callable(step):
            calls.append(step)
        else:
            raise WrongTypeError(
                f"pipelines[{output!r}], step {i + 1}: {step!r} is no operation of mldf, no text and no callable"
            )
    return texts, calls


_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*")
_NAMES = re.compile(r"`((?:[^`\\]|\\.)*)`|([A-Za-z_][A-Za-z0-9_.]*)")


def quoted(name: str) -> str:
    """A field's name as the language has it: in backquotes where it is no plain word."""
    return name if _BARE.fullmatch(name) else "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


def mentioned(text: str) -> set[str]:
    """All names in front of the colons of a pipeline's text.

    >>> sorted(mentioned("small = image: resize(8) | hflip; x: drop"))
    ['image', 'small', 'x']
    """
    out: set[str] = set()
    for line in canonical(text).splitlines():
        left = re.split(r":(?=(?:[^`]*`[^`]*`)*[^`]*$)", line, maxsplit=1)[0]
        out |= {a or b for a, b in _NAMES.findall(left)}
    return out


def output_names(key: str) -> list[str]:
    """The outputs that the left side of a statement names.

    >>> output_names("image"), output_names("small = image"), output_names("image, seg as mask")
    (['image'], ['small'], ['image', 'seg'])
    """
    left = key.split("=", 1)[0]
    return [part.split(" as ")[0].strip() for part in left.split(",")]


def compile_pipelines(
    pipelines: Pipelines | None, fields: Collection[str]
) -> tuple[list[str], dict[str, list[Callable[[Any], Any]]], list[str]]:
    """Statements of the text, callables by output, and fields that are wanted as they are."""
    if pipelines is None:
        return [], {}, []
    if isinstance(pipelines, str):
        return [pipelines], {}, []
    if not isinstance(pipelines, Mapping):
        raise WrongTypeError(
            f"pipelines: a dict of output to steps, or the pipeline's text, is needed, not {type(pipelines).__name__}"
        )
    statements: list[str] = []
    calls: dict[str, list[Callable[[Any], Any]]] = {}
    plain: list[str] = []
    for key, pipeline in pipelines.items():
        if not isinstance(key, str):
            raise WrongTypeError(f"pipelines: {key!r}: names of outputs are text")
        names = [key] if key in fields else output_names(key)
        left = quoted(key) if key in fields else key
        if pipeline is None:
            statements.append(f"{left}: drop")
            continue
        texts, callables = _steps(key, pipeline)
        if texts:
            statements.append(f"{left}: {' | '.join(texts)}")
        elif key == names[0]:
            plain.append(key)
        else:
            raise ArgumentError(f"pipelines[{key!r}]: it has no steps")
        if callables:
            calls[names[0]] = callables
    return statements, calls, plain
