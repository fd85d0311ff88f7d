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
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Union

import numpy as np

from . import _mldf
from .errors import ArgumentError, SyntaxMistakeError, WrongTypeError

__all__ = ["CFunction", "CSource", "Operation", "Pipeline", "Pipelines", "Step", "canonical"]

Step = Union["Operation", str, Callable[[Any], Any]]
"""An operation, its text, or (last in the list) a callable on the whole batch's array."""
Pipeline = Union[Sequence[Union[Step, Sequence[Step]]], Step, None]
Key = Union[str, tuple[str, ...]]
Pipelines = Union[Mapping[Any, Pipeline], Sequence[tuple[Key, Pipeline]], str]
"""Statements by output, or by a tuple of outputs that share every random draw; as a list of pairs an output may come
again and go on; or the text itself.
"""

_WORDS = {"float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "bf16", "half": "f16", "double": "f64"}
_WORDS.update({f"{kind}int{bits}": f"{kind or 'i'}{bits}" for kind in ("", "u") for bits in (8, 16, 32, 64)})
_WORDS |= {"float": "f32", "long": "i64", "int": "i64"}  # as torch and Python name them
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
    if hasattr(value, "__index__") and not isinstance(value, type):
        return repr(value.__index__())
    if isinstance(value, Sequence):
        return "[" + ", ".join(literal(v, kind) for v in value) + "]"
    raise WrongTypeError(f"a number, a list of numbers or text is needed, not {type(value).__name__}")


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

    def __new__(cls, *values: Any, **named: Any) -> Any:
        """Refuses CenterCrop(10, 10): the second number would be another parameter."""
        ours = (
            cls.__module__ == f"{__package__}.ops" and len(cls.parameters) > 1
        )  # subclasses have signatures of their own
        if ours and cls.parameters[0][:2] == ("size", "ints") and len(values) > 1:
            numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values[:2])
            name, kind, _ = cls.parameters[1]
            if numbers and (kind in ("floats", "choice") or (kind == "ints" and values[1] >= values[0])):
                also = f"; or name it: {name}={values[1]}" if name in ("fill", "padding") else ""
                size = f"({values[0]}, {values[1]})"
                raise ArgumentError(
                    f"{cls.__name__}{size}: height and width are one argument: {cls.__name__}({size}){also}"
                )
        return super().__new__(cls)

    def __init__(self, *values: Any) -> None:
        self._values = values
        self.text: str = self._write()
        """The step as the pipeline's text has it."""
        try:
            _mldf.check_pipeline("x: " + self.text)
        except (ArgumentError, SyntaxMistakeError) as error:
            raise type(error)(f"{self!r}: {error.message}") from None

    def _given(self) -> list[tuple[int, str, str, Any]]:
        """(place, name, type, value) of those that are not the default."""
        out = []
        for i, ((name, kind, default), value) in enumerate(zip(self.parameters, self._values)):
            if default is ... or (value is not default and not _same(value, default)):
                out.append((i, name, kind, value))
        return out

    def _by_place(self, i: int, before: list[str]) -> bool:
        """What must be given has no name."""
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
        """With one more `step` after it: ``Resize(224) | HorizontalFlip()`` is the list of both.

        Parameters
        ----------
        step
            An operation, its text, a callable, or a list of them.
        """
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
        raise WrongTypeError(f"dtype={dtype!r}: it is not an element type") from None


class CSource(OwnOperation):
    """An operation as C source, compiled once and kept in the cache. It defines::

        int mldf_run(const void *in, void *out, const unsigned long long *dims, const double *arguments,
                     const unsigned long long *random);

    dims are the input's, four random numbers depend on (seed, epoch, position, operation) alone; 0 is success, anything
    else a bad sample. It is called from several threads at once.

    Parameters
    ----------
    source
        The text; no headers are included.
    *arguments
        Numbers for `arguments`.
    dtype
        Element type of the result; None: as the input's.
    shape
        Of the result; None: as the input's.

    Examples
    --------
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

    With Numba::

        @numba.cfunc("int32(CPointer(uint8), CPointer(float32), CPointer(uint64), CPointer(float64), CPointer(uint64))")
        def mean(inp, out, dims, arguments, random): ...

    It must not need the interpreter: no objects, no printing, no exceptions.

    Parameters
    ----------
    function
        A Numba ``cfunc``, a ctypes function, or an address; the object is kept as long as the operation.
    *arguments
        Numbers for `arguments`.
    dtype
        Element type of the result; None: as the input's.
    shape
        Of the result; None: as the input's.
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
