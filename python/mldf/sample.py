"""Samples: named tuples that also take names in brackets.

>>> Sample = sample_type(("image", "label", "img.png"))
>>> s = Sample(b"...", 7, b"png")
>>> s.label, s["label"], s[1], s["img.png"]
(7, 7, 7, b'png')
>>> image, label, _ = s
"""

from __future__ import annotations

import functools
from collections import namedtuple
from typing import TYPE_CHECKING, Any

from .errors import NoFieldError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .errors import Error

__all__ = ["Sample", "sample_type"]


class Sample(tuple[Any, ...]):
    """One sample: a tuple of its values in the fields' order, with the fields' names.

    ``s.label``, ``s["label"]`` and ``s[1]`` are the same; ``image, label = s`` unpacks. A field whose name is no
    Python name is reached in brackets. Samples can be pickled, and torch's default_collate makes a batch of the same
    type of them.
    """

    __slots__ = ()
    names: tuple[str, ...] = ()
    """The fields' names, in order."""
    _fields: tuple[str, ...] = ()

    if TYPE_CHECKING:  # the fields are known to the file alone

        def __getattr__(self, name: str) -> Any: ...

    def __new__(cls, *values: Any) -> Sample:
        """From the values, in order."""
        if len(values) != len(cls.names):
            raise TypeError(f"a sample of {len(cls.names)} fields ({', '.join(cls.names)}), and {len(values)} values")
        return tuple.__new__(cls, values)

    @classmethod
    def _make(cls, values: Iterable[Any]) -> Sample:
        return cls(*values)

    def _replace(self, **changes: Any) -> Sample:
        unknown = [name for name in changes if name not in self.names]
        if unknown:
            raise ValueError(f"no field {unknown[0]!r} in this sample; it has {', '.join(self.names)}")
        values = {**self.asdict(), **changes}
        return type(self)(*(values[name] for name in self.names))

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            try:
                return tuple.__getitem__(self, self.names.index(key))
            except ValueError:
                raise NoFieldError(
                    f"no field {key!r} in this sample; it has {', '.join(self.names)}", field=key
                ) from None
        return tuple.__getitem__(self, key)

    def keys(self) -> tuple[str, ...]:
        """The fields' names; with ``s[name]`` this makes ``dict(s)`` work."""
        return self.names

    def asdict(self) -> dict[str, Any]:
        """The sample as a dict of name to value."""
        return dict(zip(self.names, self))

    _asdict = asdict

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.names, tuple(self))

    def __repr__(self) -> str:
        return "Sample(" + ", ".join(f"{n}={brief(v)}" for n, v in zip(self.names, self)) + ")"


class Unreadable:
    """What is in a sample where a value could not be read; the sample raises `error` when it is asked for."""

    __slots__ = ("error", "trace")

    def __init__(self, error: Error) -> None:
        self.error, self.trace = error, error.__traceback__

    def __repr__(self) -> str:
        return f"<{type(self.error).__name__}>"


class _Partial:
    """Comes before a sample's own type where some values could not be read: those raise when they are touched."""

    __slots__ = ()

    def __getitem__(self: Any, key: Any) -> Any:
        value = Sample.__getitem__(self, key)
        for one in value if isinstance(key, slice) else (value,):
            if isinstance(one, Unreadable):
                raise one.error.with_traceback(one.trace)  # without the places where it was raised before
        return value

    def __eq__(self: Any, other: Any) -> bool:
        """As tuples; what could not be read equals itself alone."""
        return tuple.__eq__(self, tuple.__getitem__(other, slice(None)) if isinstance(other, tuple) else other)

    def __ne__(self: Any, other: Any) -> bool:
        return not self == other

    def __hash__(self: Any) -> int:
        return tuple.__hash__(self)

    def __iter__(self: Any) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __reduce__(self: Any) -> tuple[Any, ...]:
        return _rebuild, (self.names, tuple(self))

    def __repr__(self: Any) -> str:
        return "Sample(" + ", ".join(f"{n}={brief(v)}" for n, v in zip(self.names, tuple.__iter__(self))) + ")"


def _touching(i: int) -> property:
    return property(lambda self: self[i])


def partial_sample(names: tuple[str, ...], values: Iterable[Any]) -> Sample:
    """A sample of which some values are :class:`Unreadable`."""
    kind = sample_type(names)
    members: dict[str, Any] = {"__slots__": (), "__doc__": kind.__doc__}
    for i, name in enumerate(names):
        if name in kind.__dict__ and not hasattr(Sample, name):  # the fields that are attributes
            members[name] = _touching(i)
    made: Any = type(kind.__name__, (_Partial, kind), members)
    sample: Sample = tuple.__new__(made, tuple(values))
    return sample


def brief(value: Any) -> str:
    """A value in a few characters: arrays by type and shape, long text cut."""
    if hasattr(value, "dtype") and hasattr(value, "shape") and len(value.shape) > 0:
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, bytes) and len(value) > 32:
        return f"<{len(value)} bytes>"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


@functools.lru_cache(maxsize=256)
def sample_type(names: tuple[str, ...]) -> type[Sample]:
    """The class of samples with these fields; the same class for the same names."""
    template: Any = namedtuple("Sample", list(names), rename=True)  # type: ignore[misc]  # for its rules of names and its quick getters
    members: dict[str, Any] = {"__slots__": (), "names": names, "_fields": template._fields, "__doc__": Sample.__doc__}
    actual: tuple[str, ...] = template._fields
    for given, name in zip(names, actual):
        if given == name and not hasattr(Sample, name):
            members[name] = getattr(template, name)
    return type("Sample", (Sample,), members)


def _rebuild(names: tuple[str, ...], values: tuple[Any, ...]) -> Sample:
    return sample_type(names)(*values)
