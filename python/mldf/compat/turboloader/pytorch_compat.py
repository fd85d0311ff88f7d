"""Under TurboLoader's path ``turboloader.pytorch_compat``: labels from the names of samples."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

__all__ = [
    "CallableLabelExtractor",
    "FilenamePatternExtractor",
    "FolderLabelExtractor",
    "JSONSidecarExtractor",
    "LabelExtractor",
    "MetadataLabelExtractor",
]


class LabelExtractor(ABC):
    """A label of a sample's file name and metadata."""

    @abstractmethod
    def extract(self, filename: str, metadata: dict[str, Any]) -> int:
        """The label."""

    def get_num_classes(self) -> int | None:
        """If that is known."""
        return None

    def get_class_names(self) -> list[str] | None:
        """If they are known, by label."""
        return None


class FolderLabelExtractor(LabelExtractor):
    """Of the first folder: the number that `class_to_idx` has for it, or the next free one."""

    def __init__(self, class_to_idx: dict[str, int] | None = None) -> None:
        self._numbers = dict(class_to_idx or {})

    def extract(self, filename: str, metadata: dict[str, Any]) -> int:
        """The label; "unknown" is the folder of a name without one."""
        folder, slash, _ = filename.replace("\\", "/").partition("/")
        name = folder if slash else "unknown"
        return self._numbers.setdefault(name, max(self._numbers.values(), default=-1) + 1)

    def get_num_classes(self) -> int:
        """Of those that were seen or given."""
        return len(self._numbers)

    def get_class_names(self) -> list[str]:
        """By label."""
        return sorted(self._numbers, key=self._numbers.__getitem__)

    @property
    def class_to_idx(self) -> dict[str, int]:
        """Name to label."""
        return dict(self._numbers)


class FilenamePatternExtractor(LabelExtractor):
    """The number that a `group` of a regular expression finds in the name; 0 where it finds nothing."""

    def __init__(self, pattern: str, group: int = 1) -> None:
        self._pattern, self._group = re.compile(pattern), group

    def extract(self, filename: str, metadata: dict[str, Any]) -> int:
        """The label."""
        found = self._pattern.search(filename)
        return int(found.group(self._group)) if found else 0


class MetadataLabelExtractor(LabelExtractor):
    """A member of the metadata."""

    def __init__(self, key: str = "label", default: int = 0) -> None:
        self._key, self._default = key, default

    def extract(self, filename: str, metadata: dict[str, Any]) -> int:
        """The label."""
        label: int = metadata.get(self._key, self._default)
        return label


class JSONSidecarExtractor(LabelExtractor):
    """A member of the JSON beside the image, which is ``metadata["json_data"]``; 0 without it."""

    def __init__(self, label_key: str = "label", cache: bool = True) -> None:
        self._key = label_key
        self._known: dict[str, int] | None = {} if cache else None

    def extract(self, filename: str, metadata: dict[str, Any]) -> int:
        """The label."""
        if self._known is not None and filename in self._known:
            return self._known[filename]
        label: int = metadata.get("json_data", {}).get(self._key, 0)
        if self._known is not None:
            self._known[filename] = label
        return label


class CallableLabelExtractor(LabelExtractor):
    """What a function of (filename, metadata) says."""

    def __init__(self, func: Callable[[str, dict[str, Any]], int]) -> None:
        self._func = func

    def extract(self, filename: str, metadata: dict[str, Any]) -> int:
        """The label."""
        return self._func(filename, metadata)
