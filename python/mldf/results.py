"""What the whole-file operations give back."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["DiffResult", "Difference", "Part", "Problem", "Result", "Skip", "VerifyResult"]


@dataclass(frozen=True)
class Skip:
    """A row, picture or file that was left out or is odd, and why."""

    source: str
    message: str


@dataclass(frozen=True)
class Part:
    """One file that split wrote."""

    path: str
    samples: int
    bytes: int


@dataclass(frozen=True)
class Result:
    """What an operation wrote."""

    written: int
    """Samples."""
    bytes: int
    seconds: float
    skipped: list[Skip] = field(default_factory=list)
    warnings: list[Skip] = field(default_factory=list)
    left_out: list[Skip] = field(default_factory=list)
    """Files of a folder that are no samples by their name or kind."""
    parts: list[Part] = field(default_factory=list)
    action: str | None = None
    """Of repair: what was done."""
    changed: bool | None = None
    """Of repair: False when nothing was wrong."""
    unchecked: bool | None = None
    """Of repair: True when checksums were lost with the damage, so that what was saved may itself be damaged."""


@dataclass(frozen=True)
class Problem:
    """A defect that verify found."""

    status: str
    offset: int | None
    sample: int | None
    field: str | None
    message: str


@dataclass(frozen=True)
class VerifyResult:
    """What verify found."""

    num_samples: int
    good_samples: int
    problems: list[Problem]
    checksummed: bool
    """False: the file has no checksums, so only its structure was checked."""
    encrypted: bool
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
    field: str | None
    what: str
    message: str


@dataclass(frozen=True)
class DiffResult:
    """What diff found; true when the two are equal."""

    differences: list[Difference]

    @property
    def equal(self) -> bool:
        """No difference."""
        return not self.differences

    def __bool__(self) -> bool:
        return self.equal
