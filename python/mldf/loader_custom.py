"""User-defined fields in batches. Threads of the library bring the stored bytes of a batch's samples end to end; here,
when next() hands the batch over, they become objects: decode for each sample, or decode_batch for all.

A sample that decode refuses is bad like one that the library cannot decode, and the loader's on_error says what becomes
of it: the row is left out of all arrays, or filled from another one of the batch. loader_outputs.py asks.
"""

from __future__ import annotations

import bisect
import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _mldf
from .arguments import POLICIES
from .batch import Batch
from .errors import Error, WrongTypeError
from .fields import CustomField
from .files import Files
from .foreign import is_tensor, kind

__all__ = ["Decoded", "Decoder", "Rows"]

_RAISE, _SKIP = POLICIES.index("raise"), POLICIES.index("skip")
_KEPT = 1000  # bad samples, as many as the library keeps
Failure = tuple[int, str, Exception]
"""Row, field, what decode raised."""
Rows = npt.NDArray[np.int64]


class Mistake(WrongTypeError):
    """What decode_batch gave is not what it should give."""


@dataclass(frozen=True)
class Decoded:
    """An output that is decoded in Python."""

    name: str
    field: str
    """Where the bytes are from."""
    custom: CustomField
    nullable: bool
    """NAME_valid is among the library's outputs: nulls become None."""
    wants_valid: bool
    """And among the user's."""

    @property
    def hidden(self) -> list[str]:
        """The library's outputs that a batch does not show."""
        return [f"{self.name}_offset"] + [f"{self.name}_valid"] * (self.nullable and not self.wants_valid)


class Decoder:
    """What decodes the batches of a loader; keeps account of time and of bad samples."""

    def __init__(
        self,
        core: _mldf.Loader,
        files: Files,
        outputs: Sequence[Decoded],
        ragged: frozenset[str],
        policy: int,
        number: str = "index",
    ) -> None:
        self._number = number  # of a sample in the files
        self._core, self._files, self.outputs = core, files, outputs
        self._ragged, self._policy = ragged, policy
        self._bad: deque[dict[str, Any]] = deque(maxlen=_KEPT)
        self._noted: tuple[int, int] | None = None  # the place whose bad samples are the last `_latest` of the list
        self._latest = 0
        self.bad_count = 0
        self.seconds = {f"{d.name}: {type(d.custom).__name__}.decode": 0.0 for d in outputs}

    def bad(self) -> list[dict[str, Any]]:
        """As the library lists its own."""
        return list(self._bad)

    def __call__(self, raw: Batch) -> tuple[dict[str, Any], Rows | None]:
        """The decoded outputs by name; and which rows of all the other arrays the batch has, None: all."""
        failures: list[Failure] = []
        values: dict[str, Any] = {}
        for output, label in zip(self.outputs, self.seconds):
            started = time.perf_counter()
            values[output.name] = _decode(output, raw, failures)
            self.seconds[label] += time.perf_counter() - started
        rows = None
        if failures:
            rows = self._settle(np.asarray(raw[self._number]), failures)
            values = {name: [v[row] for row in rows.tolist()] for name, v in values.items()}
        return {output.name: _collate(output, values[output.name]) for output in self.outputs}, rows

    def take(self, name: str, array: Any, raw: Batch, rows: Rows) -> Any:
        """These rows of an array of the batch; samples of a ragged output lie end to end."""
        if name == "valid" and self._policy != _SKIP:
            return array  # of the row, whoever stands in
        owner = name if name in self._ragged else name.removesuffix("_offset")
        if owner not in self._ragged:
            return array[rows]
        ends = np.asarray(raw[f"{owner}_offset"])
        if name == owner:
            return array[np.concatenate([np.zeros(0, np.int64), *(np.arange(ends[r], ends[r + 1]) for r in rows)])]
        # Offsets begin with 0, and so does what is left of them.
        return array[:1] if len(rows) == 0 else _like(array, np.concatenate([[0], np.cumsum(np.diff(ends)[rows])]))

    # ---- bad samples ----

    def _settle(self, index: Any, failures: list[Failure]) -> Rows:
        """By the policy: the rows that are left. Of several failures the first sample's is reported."""
        failures.sort(key=lambda f: f[0])
        bad = {row for row, _, _ in failures}
        rows = [row for row in range(len(index)) if row not in bad]
        if self._policy == _RAISE or (self._policy != _SKIP and not rows):
            self._note(failures, index, {})
            row, field, error = failures[0]
            raise self._placed(error, field, int(index[row]))
        instead: dict[int, int] = {}
        if self._policy != _SKIP:  # the next good one of the batch
            instead = {row: rows[bisect.bisect(rows, row) % len(rows)] for row in bad}
            rows = [instead.get(row, row) for row in range(len(index))]
        self._note(failures, index, instead)
        return np.array(rows, np.int64)

    def _place(self, number: int) -> tuple[int, int]:
        """(file, sample of it)."""
        part = bisect.bisect_right(self._files.starts, number) - 1
        return part, number - self._files.starts[part]

    def _placed(self, error: Exception, field: str, number: int) -> Exception:
        part, sample = self._place(number)
        if isinstance(error, Error):
            error.sample, error.field = sample, field
        error.add_note(f"in field {field!r} of sample {sample} of {self._files.paths[part]}")
        return error

    def _note(self, failures: list[Failure], index: Any, instead: dict[int, int]) -> None:
        """A batch that comes again after Ctrl-C brings its bad samples again: they replace those."""
        place = self._core.place
        if self._noted == place:
            self.bad_count -= self._latest
            for _ in range(min(self._latest, len(self._bad))):
                self._bad.pop()
        told: set[int] = set()
        for row, field, error in failures:
            if row in told:
                continue
            told.add(row)
            part, sample = self._place(int(index[row]))
            self._bad.append(
                {
                    "file": part,
                    "sample": sample,
                    "epoch": place[0],
                    "position": None,  # in the epoch: not known here
                    "substitute": int(index[instead[row]]) if row in instead else None,
                    "status": "corrupt",
                    "field": field,
                    "message": f"sample {sample}, field {field}: {type(error).__name__}: {error}",
                    "offset": None,
                }
            )
        self._noted, self._latest = place, len(told)
        self.bad_count += len(told)


def _like(array: Any, numbers: Any) -> Any:
    """Numbers as an array of the library and device of another one."""
    if isinstance(array, np.ndarray):
        return numbers.astype(array.dtype)
    if is_tensor(array):
        return array.new_tensor(numbers.tolist())
    return sys.modules["jax"].numpy.asarray(numbers, array.dtype)


def _collate(output: Decoded, values: Any) -> Any:
    if not isinstance(values, list) or not values:  # decode_batch's array, or nothing
        return values
    try:
        return output.custom.collate(values)
    except Exception as error:
        error.add_note(f"in {type(output.custom).__name__}.collate, for output {output.name!r}")
        raise


def _decode(output: Decoded, raw: Batch, failures: list[Failure]) -> Any:
    """An object for each row; None for nulls, and for rows that are added to `failures`."""
    data = np.asarray(raw[output.name])
    ends = np.asarray(raw[f"{output.name}_offset"]).tolist()
    rows: Sequence[int] = range(len(ends) - 1)
    if output.nullable:
        valid = np.asarray(raw[f"{output.name}_valid"]).tolist()
        rows = [row for row in rows if valid[row]]
    items = [data[ends[row] : ends[row + 1]].tobytes() for row in rows]
    trouble = None
    if _batch_method(output.custom) and items:
        try:
            found = _many(output, items)
        except Mistake:
            raise
        except Exception as error:  # one by one, to find whose fault it is
            error.add_note(f"in {_batch_name(output.custom)}, for field {output.field!r}")
            trouble = error
        else:
            whole = len(items) == len(ends) - 1 and not _overrides(output.custom, "collate")
            return found if whole and hasattr(found, "dtype") else _spread(found, rows, len(ends) - 1)
    before = len(failures)
    values: list[Any] = [None] * len(items)
    for i, (row, item) in enumerate(zip(rows, items)):
        try:
            values[i] = output.custom.decode(item)
        except MemoryError:
            raise
        except Exception as error:
            failures.append((row, output.field, error))
    if trouble is not None and len(failures) == before:  # no sample's: the method's own
        raise trouble
    return _spread(values, rows, len(ends) - 1)


def _many(output: Decoded, items: list[bytes]) -> Any:
    name = _batch_name(output.custom)
    found = getattr(output.custom, _batch_method(output.custom))(items)
    if not hasattr(found, "__len__"):
        raise Mistake(f"field {output.field!r}: {name} gave {kind(found)}, not a list or an array", field=output.field)
    if len(found) != len(items):
        raise Mistake(
            f"field {output.field!r}: {name} gave {len(found)} values for {len(items)} samples", field=output.field
        )
    return found


def _batch_method(custom: CustomField) -> str:
    """The name of the class's own method for a whole batch; decode_many is what decode_batch was called before."""
    if _overrides(custom, "decode_batch"):
        return "decode_batch"
    return "decode_many" if hasattr(custom, "decode_many") else ""


def _batch_name(custom: CustomField) -> str:
    return f"{type(custom).__name__}.{_batch_method(custom)}"


def _overrides(custom: CustomField, method: str) -> bool:
    return getattr(type(custom), method) is not getattr(CustomField, method)


def _spread(found: Any, rows: Sequence[int], count: int) -> list[Any]:
    """A value for every row; None where there is none."""
    values: list[Any] = [None] * count
    for row, value in zip(rows, found):
        values[row] = value
    return values
