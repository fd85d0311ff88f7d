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

import contextlib
import enum
import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Union

import numpy as np

from . import _mldf
from .errors import ArgumentError, Error, SyntaxMistakeError, WrongTypeError
from .suggest import nearest

__all__ = ["CFunction", "CSource", "Operation", "Pipeline", "Pipelines", "Step", "canonical"]

Step = Union["Operation", str, Callable[[Any], Any]]
"""An operation, its text, or (last in the list) a callable on the whole batch's array."""
Pipeline = Union[Sequence[Step], "Operation", str, None]
Key = Union[str, tuple[str, ...]]
Pipelines = Union[Mapping[str, Pipeline], Mapping[Key, Pipeline], Sequence[tuple[Key, Pipeline]], str]
"""Statements by output, or by a tuple of outputs that share every random draw; as a list of pairs an output may come
again and go on; or the text itself.
"""

_WORDS = {"float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "bf16", "half": "f16", "double": "f64"}
_WORDS.update({f"{kind}int{bits}": f"{kind or 'i'}{bits}" for kind in ("", "u") for bits in (8, 16, 32, 64)})
_WORDS |= {"float": "f32", "long": "i64", "int": "i64"}  # as torch and Python name them
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
    if name[:1] in ("<", ">", "=", "|"):  # NumPy's way to write them
        with contextlib.suppress(TypeError):
            name = np.dtype(name).name
    return _WORDS.get(name, name)


def literal(value: Any, kind: str) -> str:
    """A parameter's value as text."""
    if isinstance(value, enum.Enum):  # torchvision's InterpolationMode, Pillow's Resampling
        value = value.value if isinstance(value.value, str) or kind != "choice" else value.name.lower()
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
    raise WrongTypeError(f"a number, a list of numbers or text is needed, not {type(value).__name__}")


def without_place(message: str) -> str:
    """Without the line and column of a text that the user never saw."""
    return _PLACE.sub("", message)


class Operation:
    """One step of a pipeline. :mod:`mldf.ops` has a class for every operation of the library.

    >>> import mldf
    >>> mldf.Resize((32, 48)).text
    'resize([32, 48])'
    """

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

    def _by_place(self, i: int, before: list[str]) -> bool:
        """What must be given stands without its name."""
        return i == len(before) and self.parameters[i][2] is ...

    def _write(self) -> str:
        parts: list[str] = []
        for i, name, kind, value in self._given():
            try:
                text = literal(value, kind)
            except WrongTypeError as error:
                raise WrongTypeError(f"{self!r}: {name}: {error}") from None
            parts.append(text if self._by_place(i, parts) else f"{name}={text}")
        return f"{self.name}({', '.join(parts)})" if parts else self.name

    def __repr__(self) -> str:
        parts: list[str] = []
        for i, name, _, value in self._given():
            parts.append(repr(value) if self._by_place(i, parts) else f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(parts)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Operation) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __or__(self, step: Any) -> Steps:
        """With one more `step` behind it: ``Resize(224) | HorizontalFlip()`` is the list of both."""
        out: Steps = Steps([self]) | step
        return out


class Steps(list[Any]):
    """A list of steps that grows by ``|``."""

    def __or__(self, step: Any) -> Steps:
        if not isinstance(step, (list, tuple)) and not callable(step) and not isinstance(step, Operation):
            return NotImplemented
        return Steps([*self, *(step if isinstance(step, (list, tuple)) else [step])])


def _same(value: Any, default: Any) -> bool:
    if isinstance(value, (list, tuple)) and isinstance(default, (list, tuple)):
        return list(value) == list(default)
    return isinstance(value, (int, float, str)) and type(value) is type(default) and bool(value == default)


class OwnOperation(Operation):
    """An operation of one's own, which runs for each sample on the loader's threads: :class:`CSource`,
    :class:`CFunction`.
    """

    def __init__(self, what: Any, arguments: Sequence[float], dtype: Any, shape: Sequence[int] | None) -> None:
        self.dtype = None if dtype is None else _own_dtype(dtype)
        try:
            self.shape = None if shape is None else tuple(operator.index(d) for d in shape)
            self.arguments = tuple(float(a) for a in arguments)
        except (TypeError, ValueError):
            raise WrongTypeError(
                f"{type(self).__name__}: a shape is whole numbers and arguments are numbers, "
                f"not {shape!r} and {arguments!r}"
            ) from None
        if self.shape is not None and min(self.shape, default=1) < 1:
            raise ArgumentError(f"{type(self).__name__}: shape={self.shape}: its sides are at least 1")
        import hashlib

        identity = f"{what!r} {self.dtype} {self.shape}"
        self.own_name = f"{type(self).__name__.lower()}_{hashlib.sha256(identity.encode()).hexdigest()[:16]}"
        """As the pipeline's text has it."""
        self.text = self.own_name + (f"({', '.join(map(repr, self.arguments))})" if arguments else "")

    def describe(self) -> tuple[str, str | None, int, str | None, tuple[int, ...] | None]:
        """(name, C source, address, dtype, shape) for the extension module."""
        raise NotImplementedError

    def __repr__(self) -> str:
        more = [f"dtype={self.dtype!r}"] * (self.dtype is not None) + [f"shape={self.shape}"] * (self.shape is not None)
        return f"{type(self).__name__}({', '.join(['...', *map(repr, self.arguments), *more])})"


def _own_dtype(dtype: Any) -> str:
    word = dtype_word(dtype)
    if word == "bf16":
        return "bfloat16"
    names = {"f": "float", "i": "int", "u": "uint"}
    kind = f"{names[word[0]]}{word[1:]}" if word[:1] in names and word[1:].isdigit() else word
    try:
        return np.dtype(kind).str
    except TypeError:
        raise WrongTypeError(f"dtype={dtype!r}: it is no element type") from None


class CSource(OwnOperation):
    """An operation as C source, compiled once and kept in the cache. It defines::

        int mldf_run(const void *in, void *out, const unsigned long long *dims, const double *arguments,
                     const unsigned long long *random);

    source     the text; no headers are included
    arguments  numbers for `arguments`
    dtype      element type of the result; None: as the input's
    shape      of the result; None: as the input's

    dims are the input's, four random numbers depend on (seed, epoch, position, operation) alone; 0 is success, anything
    else a bad sample. It is called from several threads at once.

    >>> twice = CSource('''
    ...     int mldf_run(const float *in, float *out, const unsigned long long *dims, const double *arguments,
    ...                  const unsigned long long *random) {
    ...         for (unsigned long long i = 0; i < dims[0]; i++) out[i] = in[i] * (float)arguments[0];
    ...         return 0;
    ...     }''', 2)
    >>> twice
    CSource(..., 2.0)
    """

    def __init__(self, source: str, *arguments: float, dtype: Any = None, shape: Sequence[int] | None = None) -> None:
        if not isinstance(source, str):
            raise WrongTypeError(f"CSource: C source is text, not {type(source).__name__}")
        if "mldf_run" not in source:
            raise ArgumentError("CSource: the source does not define mldf_run")
        self.source = source
        super().__init__(source, arguments, dtype, shape)

    def describe(self) -> tuple[str, str | None, int, str | None, tuple[int, ...] | None]:
        """For the extension module."""
        return self.own_name, self.source, 0, self.dtype, self.shape


class CFunction(OwnOperation):
    """An operation as a compiled function, with the signature that :class:`CSource` has.

    function   a Numba ``cfunc``, a ctypes function, or an address; the object is kept as long as the operation
    arguments  numbers for `arguments`
    dtype      element type of the result; None: as the input's
    shape      of the result; None: as the input's

    With Numba::

        @numba.cfunc("int32(CPointer(uint8), CPointer(float32), CPointer(uint64), CPointer(float64), CPointer(uint64))")
        def mean(inp, out, dims, arguments, random): ...

    It must not need the interpreter: no objects, no printing, no exceptions.
    """

    def __init__(self, function: Any, *arguments: float, dtype: Any = None, shape: Sequence[int] | None = None) -> None:
        self.function = function
        self.address = _address(function)
        _check_signature(getattr(function, "ctypes", function))
        super().__init__(self.address, arguments, dtype, shape)

    def describe(self) -> tuple[str, str | None, int, str | None, tuple[int, ...] | None]:
        """For the extension module."""
        return self.own_name, None, self.address, self.dtype, self.shape

    def __reduce__(self) -> tuple[Any, ...]:
        raise WrongTypeError("a CFunction is an address of this process; it cannot be pickled")


def _address(function: Any) -> int:
    if isinstance(function, int) and not isinstance(function, bool):
        address = function
    elif isinstance(getattr(function, "address", None), int):  # Numba
        address = function.address
    else:
        import ctypes

        try:
            address = ctypes.cast(function, ctypes.c_void_p).value or 0
        except (ctypes.ArgumentError, TypeError):
            raise WrongTypeError(
                f"CFunction: {function!r} is no Numba cfunc, no ctypes function and no address; plain Python callables "
                "go last into the list by themselves"
            ) from None
    if address <= 0:
        raise ArgumentError("CFunction: the address is 0")
    return address


def _check_signature(function: Any) -> None:
    """A function that says what it takes (Numba's do, and ctypes' when told) takes what it will be given."""
    takes, gives = getattr(function, "argtypes", None), getattr(function, "restype", None)
    if takes is None:
        return
    import ctypes

    pointers = all(hasattr(t, "contents") or issubclass(t, (ctypes.c_void_p, ctypes.c_char_p)) for t in takes)
    number = gives is not None and getattr(gives, "_type_", "i") in tuple("iIlLqQ")
    if len(takes) != 5 or not pointers or not number:
        form = f"({', '.join(t.__name__ for t in takes)}) and gives {getattr(gives, '__name__', gives)}"
        raise ArgumentError(
            f"CFunction: it takes {form}; five pointers (in, out, dims, arguments, random) and an int are needed"
        )


def canonical(text: str) -> str:
    """A pipeline's text in one form: every parameter by name, without comments.

    >>> canonical("image: hflip")
    'image: hflip(p=0.5)'
    """
    return _mldf.check_pipeline(text)


# ---- from the loader's argument to text and callables ----


@dataclass
class Compiled:
    """What a loader needs of its pipelines."""

    statements: list[str] = field(default_factory=list)
    named: set[str] = field(default_factory=set)
    """Fields and outputs that the statements name."""
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

    def decode(self, left: str, output: str, source: str, fill: str = "") -> None:
        """One more of them: `source`, a user-defined field, as its bytes end to end."""
        known = fill.replace("valid=false", "valid=true")
        self.statements.append(f"{left}: {known} | ragged" if fill else f"{left}: ragged")
        self.named |= {output, source}
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
        message = without_place(str(error))
        raise type(error)(f"{where}: {message}{_familiar(message)}") from None
    if len(found.splitlines()) != 1 or found.startswith("x\n"):
        raise ArgumentError(f"{where}: steps joined by | are needed, not statements; those make up a text of their own")
    return text


def _familiar(message: str) -> str:
    """A hint for those who wrote a class's name, of ours or of another library's."""
    from . import ops

    found = re.fullmatch(r"there is no operation (\w+)", message)
    name = found[1] if found else ""
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

_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*")
_NAMES = re.compile(r"`((?:[^`\\]|\\.)*)`|([A-Za-z_][A-Za-z0-9_.]*)|([\[\],=])")


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
        out |= left_names(re.split(r":(?=(?:[^`]*`[^`]*`)*[^`]*$)", line, maxsplit=1)[0])
    return out


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


def _source(key: str, fields: Collection[str]) -> str:
    """The field that an output of one field is made of; "": something else is."""
    if key in fields:
        return key
    right = [name for name in left_names(key.split("=", 1)[1]) if name in fields] if "=" in key else []
    return right[0] if len(right) == 1 else ""


def _only_fill(texts: list[str]) -> str | None:
    """ "" when there is no step, the canonical text when fill is the only one; else None."""
    found = canonical("x: " + "\n| ".join(texts)).strip() if texts else ""
    return found.removeprefix("x: ") if not found or re.fullmatch(r"x: fill\([^|]*\)", found) else None


def _is_struct(fields: Collection[str], name: str) -> bool:
    dtype = getattr(fields[name], "dtype", None) if isinstance(fields, Mapping) and name in fields else None
    return dtype is not None and dtype.names is not None


def _is_known(fields: Collection[str], name: str) -> bool:
    return not isinstance(fields, Mapping) or name not in fields or getattr(fields[name], "known", True)


def _is_custom(fields: Collection[str], name: str) -> bool:
    return isinstance(fields, Mapping) and getattr(fields[name], "custom", None) is not None


def compile_pipelines(pipelines: Pipelines | None, fields: Collection[str]) -> Compiled:
    """The text of pipelines, and what it cannot say."""
    out = Compiled()
    if pipelines is None:
        return out
    if isinstance(pipelines, str):
        out.statements.append(pipelines)
        out.named = mentioned(pipelines)
        return out
    pairs = list(pipelines.items()) if isinstance(pipelines, Mapping) else pipelines
    if not isinstance(pairs, (list, tuple)) or not all(isinstance(p, (tuple, list)) and len(p) == 2 for p in pairs):
        raise WrongTypeError(
            f"pipelines: a dict of output to steps, or the pipeline's text, is needed, not {type(pipelines).__name__}"
        )
    for key, pipeline in pairs:
        _add(out, key, pipeline, fields)
    return out


def _left(key: Any, fields: Collection[str]) -> tuple[str, list[str], set[str]]:
    """What stands in front of the colon, its outputs, and all names in it."""
    if isinstance(key, tuple) and key and all(isinstance(name, str) for name in key):
        parts = [_left(name, fields) for name in key]
        return ", ".join(p[0] for p in parts), [n for p in parts for n in p[1]], set().union(*(p[2] for p in parts))
    if not isinstance(key, str):
        raise WrongTypeError(f"pipelines: {key!r}: names of outputs are text, or tuples of text")
    name, _, role = key.rpartition(" as ")
    if key in fields:
        return quoted(key), [key], {key}
    if name in fields:
        return f"{quoted(name)} as {role}", [name], {name}
    names = output_names(key)
    if not names or key.lstrip().startswith("="):
        raise ArgumentError(f"pipelines: {key!r} names no output")
    return key, names, left_names(key)


def _add(out: Compiled, key: Any, pipeline: Pipeline, fields: Collection[str]) -> None:
    """One more entry of a dict of pipelines."""
    left, names, mentioned = _left(key, fields)
    texts, callables = _steps(key, pipeline, out.own) if pipeline is not None else ([], [])
    if isinstance(key, tuple) and not texts:  # nothing that they share
        for name in key:
            _add(out, name, pipeline, fields)
        return
    if pipeline is None:
        if not _is_struct(fields, key) and _is_known(fields, key) and key not in LOADERS_OWN:  # no input of drop
            out.statements.append(f"{left}: drop")
        out.named |= {*names, key}
        out.dropped |= {*names, key}
        return
    source = "" if isinstance(key, tuple) else _source(key, fields)
    fill = _only_fill(texts) if source and _is_custom(fields, source) else None
    if fill is not None:  # its decode says what the bytes mean; other steps see the bytes
        out.decode(left, names[0], source, fill)
    elif texts:
        steps = "\n| ".join(texts)  # a comment ends with its line
        out.statements.append(f"{left}: {steps}")
        out.named |= mentioned
    elif key == names[0]:
        out.plain.append(key)
    else:  # one more view, as it is stored
        out.statements.append(left)
        out.named |= mentioned
    for name in names:
        if texts and name in out.calls:
            raise ArgumentError(f"pipelines[{key!r}]: {name!r} has Python callables before; they come last")
        if callables:
            out.calls.setdefault(name, []).extend(callables)
