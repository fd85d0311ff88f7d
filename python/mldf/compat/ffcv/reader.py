"""Under FFCV's path ``ffcv.reader``: what a file says about itself."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from ...dataset import Dataset
from ...dataset import open as open_dataset
from .fields import BytesField, FloatField, IntField, JSONField, NDArrayField, RGBImageField
from .tables import allocations, metadata

__all__ = ["Reader"]


class Reader:
    """num_samples, num_fields, page_size, field_names and handlers (name to field) of a file; ``dataset`` is mldf's."""

    def __init__(self, fname: Any, custom_fields: Mapping[str, Any] | None = None) -> None:
        self.dataset: Dataset = fname if isinstance(fname, Dataset) else open_dataset(fname)
        self.file_name = self.dataset.paths[0]
        info = self.dataset._view.files.infos[0]
        self.num_samples = len(self.dataset)
        self.num_fields = len(self.dataset.schema)
        self.page_size = info["page_size"]
        self.field_names = list(self.dataset.schema)
        custom = dict(custom_fields or {})
        self.handlers = {n: _handler(f, custom.get(n)) for n, f in self.dataset.schema.items()}

    @cached_property
    def metadata(self) -> Any:
        """A structured array: ``f0`` the records of the first field, and so on (tables.py)."""
        return metadata(self.dataset)

    @cached_property
    def alloc_table(self) -> Any:
        """Where payloads lie: an array of (sample_id, ptr, size)."""
        return allocations(self.dataset)


def _handler(info: Any, custom: Any) -> Any:
    """The field as FFCV has it; mldf's own description of what it has not."""
    if custom is not None:
        return custom() if isinstance(custom, type) else custom
    if info.is_image:
        return RGBImageField()
    simple = {"int": IntField, "float": FloatField, "bytes": BytesField, "json": JSONField}.get(info.type)
    if simple is not None:
        return simple()
    if info.type == "ndarray" and info.is_fixed:
        return NDArrayField(np.dtype(info.dtype), info.dims)
    return info
