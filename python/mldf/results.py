"""What the whole-file operations give back."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

__all__ = ["DiffResult", "Difference", "Leftover", "Part", "Problem", "Result", "Skip", "VerifyResult"]


@dataclass(frozen=True)
class Skip:
    """A row, image or file that was left out or is odd, and why.

    Parameters
    ----------
    source
        The file, and the row in it.
    message
        Why.
    """

    source: str
    message: str


@dataclass(frozen=True)
class Leftover:
    """A temporary file that clean found.

    Parameters
    ----------
    path
        The file.
    bytes
        Its size; 0 for a folder.
    state
        "dead", "live", "other-host" or "unknown" (it cannot be opened or locked here).
    action
        "kept", "removed", or "finished": the parts of a split that had no names yet have them now.
    """

    path: str
    bytes: int
    state: str
    action: str


@dataclass(frozen=True)
class Part:
    """One file that split wrote.

    Parameters
    ----------
    path
        The file.
    samples
        In it.
    bytes
        Its size.
    """

    path: str
    samples: int
    bytes: int


@dataclass(frozen=True, repr=False)
class Result:
    """What an operation wrote.

    Parameters
    ----------
    written
        Samples.
    bytes
        The size of what was written.
    seconds
        That it took.
    skipped
        What was left out because it does not fit (on_error="skip"), was lost, or is still wrong in place (repair).
    warnings
        What is odd but was taken.
    left_out
        Files of a folder that are no samples by their name or kind.
    parts
        Of split: the files.
    action
        Of repair: what was done, and what was lost.
    changed
        Of repair: False when nothing was wrong.
    unchecked
        Of repair: True when checksums were lost with the damage, so that what was saved may itself be damaged.
    lost
        Of repair: what the file had and the new one has not: ``samples``, ``keys``, ``values`` (null or zero, which
        nobody knows; null now), ``sections`` as numbers, ``directory``, ``card``, ``dictionary``, ``history`` as bool.
    problems
        Of repair in place: how many problems verify finds afterwards, which only repair into a new file gets rid of.
    """

    written: int
    bytes: int
    seconds: float
    skipped: list[Skip] = field(default_factory=list)
    warnings: list[Skip] = field(default_factory=list)
    left_out: list[Skip] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    action: str | None = None
    changed: bool | None = None
    unchecked: bool | None = None
    lost: dict[str, int | bool] | None = None
    problems: int | None = None

    def __repr__(self) -> str:
        """One line, and a line for each of the first things that somebody should know."""
        lines = [f"Result({self.written:,} samples, {size_text(self.bytes)}, {self.seconds:.2f} s)"]
        if self.action:
            lines.append(f"  {self.action}")
        for what, notes in (("skipped", self.skipped), ("warning", self.warnings)):
            lines += [f"  {what}: {one.source}{': ' if one.source else ''}{one.message}" for one in notes[:5]]
            if len(notes) > 5:
                lines.append(f"  ... and {len(notes) - 5} more {what}{'' if what == 'skipped' else 's'}")
        if self.left_out:
            lines.append(f"  {len(self.left_out)} file{'s' if len(self.left_out) > 1 else ''} left out")
        lines += [f"  {part.path}: {part.samples:,} samples, {size_text(part.bytes)}" for part in self.parts[:20]]
        return "\n".join(lines)


@dataclass(frozen=True)
class Problem:
    """A defect that verify found.

    Parameters
    ----------
    status
        The name of the fault, as in :class:`mldf.Error`.
    offset
        The byte of the file.
    sample
        Its number.
    field
        Its name.
    message
        In words.
    """

    status: str
    offset: int | None
    sample: int | None
    field: str | None
    message: str


@dataclass(frozen=True, repr=False)
class VerifyResult:
    """What verify found; true when nothing is wrong.

    Parameters
    ----------
    num_samples
        In the file.
    good_samples
        Without a problem.
    problems
        What is wrong.
    checksummed
        False: the file has no checksums, so only its structure was checked.
    encrypted
        The file is.
    authenticated
        Encrypted, and its key was given.
    """

    num_samples: int
    good_samples: int
    problems: list[Problem]
    checksummed: bool
    encrypted: bool
    authenticated: bool

    @property
    def ok(self) -> bool:
        """Nothing was found."""
        return not self.problems

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        if self.ok:
            return f"VerifyResult(ok: {self.num_samples:,} samples)"
        lines = [
            f"VerifyResult({len(self.problems)} problems, {self.good_samples:,} of {self.num_samples:,} samples good)"
        ]
        lines += [f"  {p.status}: {p.message}" for p in self.problems[:10]]
        return "\n".join(lines + ["  ..."] * (len(self.problems) > 10))


@dataclass(frozen=True)
class Difference:
    """One difference of two datasets.

    Parameters
    ----------
    sample
        Its number; None: a difference of the whole.
    field
        Its name; None: of all fields.
    what
        "num_samples", "fields", "type", "value", "key", "card" or "null".
    message
        In words.
    """

    sample: int | None
    field: str | None
    what: str
    message: str


@dataclass(frozen=True, repr=False)
class DiffResult:
    """What diff found; true when the two are equal.

    Parameters
    ----------
    differences
        At most `limit`.
    """

    differences: list[Difference]

    @property
    def equal(self) -> bool:
        """No difference."""
        return not self.differences

    def __bool__(self) -> bool:
        return self.equal

    def __repr__(self) -> str:
        if self.equal:
            return "DiffResult(equal)"
        lines = [f"DiffResult({len(self.differences)} differences)"]
        for d in self.differences[:10]:
            place = "".join(
                f"{text}: " for text in (None if d.sample is None else f"sample {d.sample}", d.field) if text
            )
            lines.append(f"  {place}{d.what}: {d.message}")
        return "\n".join(lines + ["  ..."] * (len(self.differences) > 10))


def size_text(count: float) -> str:
    """Bytes for people.

    >>> size_text(2_200_000)
    '2.1 MiB'
    """
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024 or unit == "TiB":
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError


class Info(dict[str, Any]):
    """What :func:`mldf.info` gives: a dict with the keys of ``mldf info --json`` that prints as a table."""

    def __repr__(self) -> str:
        size = size_text(self["file_bytes"]) if self["file_bytes"] is not None else "unknown size"
        title = f"{self['format']} {self['version'] or ''}".strip()
        lines = [f"Info({title}: {self['num_samples']:,} samples, {size})"]
        width = max((len(f["name"]) for f in self["fields"]), default=0)
        for one in self["fields"]:
            arguments = " " + json.dumps(one["arguments"]) if one["arguments"] else ""
            flags = "".join(f" {name}" for name in ("nullable", "compressed") if one[name])
            lines.append(f"  {one['name']:{width}}  {one['type']}{arguments}{flags}")
        return "\n".join(lines)


class Stats(dict[str, dict[str, Any]]):
    """What :func:`mldf.stats` gives: a dict for each field, with the keys of ``mldf stats --json``. Prints a table."""

    def __repr__(self) -> str:
        rows: list[tuple[str, ...]] = [("", "count", "nulls", "min", "max", "mean", "p50", "p99")]
        for name, one in self.items():
            numbers = one["min"], one["max"], one["mean"], one["p50"], one["p99"]
            shown = [("", numbers)] if one["mean"] is not None else []
            others = {"length": one["lengths"], "bytes": one["bytes"], **one.get("measures", {})}
            for what, d in others.items():
                if d and d["count"]:
                    shown.append((f" {what}", (d["min"], d["max"], d["mean"], d["p50"], d["p99"])))
            for what, values in shown or [("", (None,) * 5)]:
                cells = ["-" if v is None else f"{v:.6g}" if isinstance(v, float) else str(v) for v in values]
                rows.append((name + what, str(one["count"]), str(one["nulls"]), *cells))
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        return "\n".join(
            f"{row[0]:{widths[0]}}  " + "  ".join(f"{c:>{w}}" for c, w in zip(row[1:], widths[1:])) for row in rows
        )


def class_names(card: str | None, fields: list[tuple[str, str]]) -> dict[str, list[str]]:
    """The names that a card gives the labels of fields: its "classes", as the command reads them.

    >>> class_names('{"classes": ["cat", "dog"]}', [("image", "image"), ("label", "int")])
    {'label': ['cat', 'dog']}
    """
    try:
        read = json.loads(card) if card else None
    except (ValueError, RecursionError):
        return {}
    found = read.get("classes") if isinstance(read, dict) else None
    integers = [name for name, kind in fields if kind == "int"]
    if isinstance(found, list):
        meant = "label" if "label" in integers else integers[0] if len(integers) == 1 else None
        found = {meant: found} if meant is not None else {}
    if not isinstance(found, dict):
        return {}
    return {
        name: names
        for name, names in found.items()
        if name in integers and isinstance(names, list) and all(isinstance(n, str) for n in names)
    }
