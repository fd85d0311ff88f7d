"""Progress of long work: a bar on stderr, or a callback."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Union

from .errors import Error

__all__ = ["Progress", "ProgressArgument"]


@dataclass(frozen=True)
class Progress:
    """What a callback receives. It returns anything; False asks to stop, and an exception stops too.

    Parameters
    ----------
    phase
        What is being done.
    samples_done
        So far.
    samples_total
        None: not known.
    bytes_done
        So far; 0 where samples count.
    bytes_total
        None: not known.
    frames_done
        Frames of videos that were decoded while packing; 0 where there are none.
    """

    phase: str
    samples_done: int
    samples_total: int | None
    bytes_done: int
    bytes_total: int | None
    frames_done: int = 0

    @property
    def fraction(self) -> float | None:
        """0 to 1, or None when the end is not known."""
        if self.samples_total:
            return self.samples_done / self.samples_total
        return self.bytes_done / self.bytes_total if self.bytes_total else None


ProgressArgument = Union[bool, None, Callable[[Progress], Any]]
Hook = Callable[[str, int, Union[int, None], int, Union[int, None], int], Any]


class Bar:
    """A line on stderr, drawn ten times a second: what, how much, how quick, how long still."""

    def __init__(self, title: str, every: float = 0.1) -> None:
        self.title, self.every = title, every
        self.began = self.drawn = time.monotonic()
        self.width = 0
        self.held: Progress | None = None  # told, but not drawn

    def __call__(self, p: Progress) -> None:
        now = time.monotonic()
        last = p.samples_total is not None and p.samples_done == p.samples_total
        if now - self.drawn < self.every and not last:
            self.held = p
            return
        self.drawn, self.held = now, None
        self.write(self.line(p, max(now - self.began, 1e-9)))

    def line(self, p: Progress, seconds: float) -> str:
        """
        >>> Bar("pack").line(Progress("pack", 250, 1000, 0, None), 2.0)
        'pack  25% [#####               ] 250/1,000  125/s  6 s left'
        """
        rate = p.samples_done / seconds
        total = "" if p.samples_total is None else f"/{p.samples_total:,}"
        text = f"{p.samples_done:,}{total}  {rate:,.0f}/s"
        if p.frames_done:
            text += f"  {p.frames_done:,} frames"
        if p.fraction is None:
            return f"{self.title}  {text}"
        bar = "#" * int(p.fraction * 20)
        left = seconds / p.fraction - seconds if p.fraction > 0 else 0.0
        return f"{self.title}  {p.fraction:.0%} [{bar:20}] {text}  {left:.0f} s left"

    def write(self, line: str) -> None:
        """Over the line before."""
        sys.stderr.write("\r" + line.ljust(self.width))
        sys.stderr.flush()
        self.width = len(line)

    def end(self) -> None:
        """The last state, and the next output begins on a line of its own."""
        if self.held is not None and self.width:
            self.write(self.line(self.held, max(time.monotonic() - self.began, 1e-9)))
        if self.width:
            sys.stderr.write("\n")
            sys.stderr.flush()


class Reporting:
    """What `progress=` means, for the time of one call: ``with Reporting("pack", progress) as hook``."""

    def __init__(self, title: str, progress: ProgressArgument) -> None:
        self.bar = Bar(title) if progress is True else None
        self.tell: Callable[[Progress], Any] | None = None
        if self.bar is not None:
            self.tell = self.bar
        elif progress is not None and progress is not False:
            if not callable(progress):
                raise TypeError(f"progress is True, False or a function, not {progress!r}")
            self.tell = progress

    def __enter__(self) -> Hook | None:
        tell = self.tell
        return None if tell is None else lambda *told: tell(Progress(*told))

    def __exit__(self, _kind: object = None, error: object = None, _where: object = None) -> None:
        if self.bar is not None:
            self.bar.end()
        if isinstance(error, Error):
            error.speak_python()
