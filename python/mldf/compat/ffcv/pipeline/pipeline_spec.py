"""One more output of a field: FFCV's way to have two views of an image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["PipelineSpec"]


class PipelineSpec:
    """The field (`source`), its decoder (None: the field's own) and the transforms after it."""

    def __init__(self, source: str, decoder: Any = None, transforms: Sequence[Any] = ()) -> None:
        self.source, self.decoder, self.transforms = source, decoder, list(transforms)

    def __repr__(self) -> str:
        return f"PipelineSpec({self.source!r}, {self.decoder!r}, {self.transforms!r})"

    def steps(self) -> list[Any]:
        """As a list of steps."""
        return ([] if self.decoder is None else [self.decoder]) + self.transforms
