"""What the whole-file operations give back."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["DiffResult", "Difference", "Leftover", "Part", "Problem", "Result", "Skip", "VerifyResult"]


@dataclass(frozen=True)
class Skip:
    """A row, image or file that was left out or is odd, and why."""

    source: str
    """The file, and the row in it."""
    message: str
    """Why."""


@dataclass(frozen=True)
class Leftover:
    """A temporary file that clean found."""

    path: str
    """The file."""
    bytes: int
    """Its size; 0 for a folder."""
    state: str
    """"dead", "live", "other-host" or "unknown" (it cannot be opened or locked here)."""
    action: str
    """"kept", "removed", or "finished": the parts of a split that had no names yet have them now."""


@dataclass(frozen=True)
class Part:
    """One file that split wrote."""

    path: str
    """The file."""
    samples: int
    """In it."""
    bytes: int
    """Its size."""


@dataclass(frozen=True)
class Result:
    """What an operation wrote."""

    written: int
    """Samples."""
    bytes: int
    """The size of what was written."""
    seconds: float
    """That it took."""
    skipped: list[Skip] = field(default_factory=list)
    """What was left out because it does not fit (on_error="skip"), was lost, or is still wrong in place (repair)."""
    warnings: list[Skip] = field(default_factory=list)
    """What is odd but was taken."""
    left_out: list[Skip] = field(default_factory=list)
    """Files of a folder that are no samples by their name or kind."""
    parts: list[Part] = field(default_factory=list)
    """Of split: the files."""
    action: str | None = None
    """Of repair: what was done, and what was lost."""
    changed: bool | None = None
    """Of repair: False when nothing was wrong."""
    unchecked: bool | None = None
    """Of repair: True when checksums were lost with the damage, so that what was saved may itself be damaged."""
    lost: dict[str, int | bool] | None = None
    """Of repair: what the file had and the new one has not: ``samples``, ``keys``, ``values`` (null or zero, which
    nobody knows; null now), ``sections`` as numbers, ``directory``, ``card``, ``dictionary``, ``history`` as bool.
    """
    problems: int | None = None
    """Of repair in place: how many problems verify finds afterwards, which only repair into a new file gets rid of."""


@dataclass(frozen=True)
class Problem:
    """A defect that verify found."""

    status: str
    """The name of the fault, as in :class:`mldf.Error`."""
    offset: int | None
    """The byte of the file."""
    sample: int | None
    """Its number."""
    field: str | None
    """Its name."""
    message: str
    """In words."""


@dataclass(frozen=True)
class VerifyResult:
    """What verify found; true when nothing is wrong."""

    num_samples: int
    """In the file."""
    good_samples: int
    """Without a problem."""
    problems: list[Problem]
    """What is wrong."""
    checksummed: bool
    """False: the file has no checksums, so only its structure was checked."""
    encrypted: bool
    """The file is."""
    authenticated: bool
    """Encrypted, and its key was given."""

    @property
    def ok(self) -> bool:
        """Nothing was found."""
        return not self.problems

    def __bool__(self) -> bool:
        return self.ok


@dataclass(frozen=True)
class Difference:
    """One difference of two datasets."""

    sample: int | None
    """Its number; None: a difference of the whole."""
    field: str | None
    """Its name; None: of all fields."""
    what: str
    """"num_samples", "fields", "type", "value", "key", "card" or "null"."""
    message: str
    """In words."""


@dataclass(frozen=True)
class DiffResult:
    """What diff found; true when the two are equal."""

    differences: list[Difference]
    """At most `limit`."""

    @property
    def equal(self) -> bool:
        """No difference."""
        return not self.differences

    def __bool__(self) -> bool:
        return self.equal
