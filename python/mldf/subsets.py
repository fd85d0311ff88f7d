"""Some of a dataset's samples or fields, as a dataset: nothing is copied."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from .columns import Columns, Index
from .errors import ArgumentError
from .files import View
from .limits import flag, whole
from .order import shuffled, stratified
from .schema import BYTES, FLOAT, INT, JSON, TEXT

if TYPE_CHECKING:
    from .dataset import Dataset

__all__ = ["Subsets"]


class Subsets(Columns):
    """The part of a Dataset that makes others of it."""

    def _other(self, view: View, index: Index | range | None) -> Dataset:
        raise NotImplementedError

    def subset(self, which: Any) -> Dataset:
        """The dataset of these samples: a slice, numbers in any order, or a mask of booleans.

        Parameters
        ----------
        which
            A slice, a mask, or numbers of samples.
        """
        if isinstance(which, slice):
            r = range(self._count)[which]
            if self._index is None:
                return self._other(self._view, r)
            if isinstance(self._index, range):
                return self._other(self._view, self._index[which])
            return self._other(self._view, np.ascontiguousarray(self._index[which]))
        numbers = self._given(which)
        if numbers.dtype == np.bool_:
            if numbers.shape != (self._count,):
                raise ArgumentError(f"a mask of shape {numbers.shape} for {self._count} samples")
            numbers = np.flatnonzero(numbers)
        return self._other(self._view, self._numbers(numbers))

    def _given(self, which: Any) -> npt.NDArray[Any]:
        """Numbers or a mask; for what else people put in brackets, the error says what to use."""
        try:
            numbers = np.asarray(which)
        except ValueError:  # ragged
            numbers = np.empty(1, object)
        if numbers.dtype.kind in "biu" or numbers.size == 0:
            return numbers
        hint = ""
        texts = which[-1] if isinstance(which, tuple) and which else which
        if isinstance(texts, (list, tuple)) and texts and all(isinstance(name, str) for name in texts):
            hint = f"; several fields: ds.with_fields({', '.join(map(repr, texts))})"
        raise ArgumentError(
            f"samples are chosen by a number, a slice, an array of integers or a mask, not by {which!r}{hint}"
        )

    def with_fields(self, *names: str | Sequence[str]) -> Dataset:
        """The same samples with these fields alone, in this order.

        Parameters
        ----------
        *names
            The fields, in this order.
        """
        chosen: Any = names[0] if len(names) == 1 and not isinstance(names[0], str) else names
        v = self._view
        return self._other(View(v.files, chosen, v.decode, v.channels, v.orient), self._index)

    def with_options(
        self, *, decode: bool | None = None, channels: int | None = None, orient: bool | None = None
    ) -> Dataset:
        """The same samples, images decoded otherwise; what is not given stays.

        Parameters
        ----------
        decode
            False: the bytes of the images' files.
        channels
            1 gray, 3 RGB, 4 RGB + alpha, 0 as stored.
        orient
            Turn images as their EXIF orientation says.
        """
        v = self._view
        view = View(
            v.files,
            v.fields,
            v.decode if decode is None else decode,
            v.channels if channels is None else channels,
            v.orient if orient is None else orient,
        )
        return self._other(view, self._index)

    def shard(self, index: int, count: int, *, contiguous: bool = False) -> Dataset:
        """Part `index` of `count`: every count-th sample. All parts together are the dataset.

        Parameters
        ----------
        index
            Which part, from 0.
        count
            How many parts.
        contiguous
            True: a run of neighbours; False: every count-th sample.
        """
        index, count = whole("index", index, -(2**63)), whole("count", count)
        if count < 1 or not 0 <= index < count:
            raise ArgumentError(f"shard {index} of {count}: there are {count}, from 0 on")
        if flag("contiguous", contiguous):
            return self.subset(slice(self._count * index // count, self._count * (index + 1) // count))
        return self.subset(slice(index, None, count))

    @overload
    def split(
        self, *fractions: float, shuffle: bool = True, seed: int = 0, by: str | None = None
    ) -> tuple[Dataset, ...]: ...
    @overload
    def split(
        self, fractions: Mapping[str, float], /, *, shuffle: bool = True, seed: int = 0, by: str | None = None
    ) -> dict[str, Dataset]: ...

    def split(self, *fractions: Any, shuffle: bool = True, seed: int = 0, by: str | None = None) -> Any:
        """Datasets of these shares: ``train, test = ds.split(0.9, 0.1)``; a list works too, and a dict of shares gives
        a dict. Numbers of samples that add up to all of them are shares as well: ``ds.split(50_000, 10_000)``.

        Which sample goes where depends on the seed and the number of samples alone. Inside a part the order
        stays.

        Parameters
        ----------
        *fractions
            That add up to 1, or a dict of name to fraction.
        shuffle
            False: the first samples go to the first part.
        seed
            Of shuffle.
        by
            A field: each part has its values in the proportion of the whole; where a value is too rare for that, the
            parts still have their sizes.
        """
        given = fractions[0] if len(fractions) == 1 and isinstance(fractions[0], (Mapping, list, tuple)) else fractions
        names = list(given) if isinstance(given, Mapping) else None
        shares = self._shares(list(given.values() if isinstance(given, Mapping) else given))
        order = shuffled(self._count, seed) if flag("shuffle", shuffle) else np.arange(self._count)
        classes = None if by is None else self._classes("by", by)
        parts = [self.subset(places) for places in stratified(order, shares, classes)]
        return tuple(parts) if names is None else dict(zip(names, parts))

    def _shares(self, given: list[Any]) -> list[float]:
        try:
            shares = [float(share) for share in given]
        except (TypeError, ValueError):
            raise ArgumentError(f"split({', '.join(map(repr, given))}): shares are numbers") from None
        whole = self._count if all(hasattr(share, "__index__") for share in given) and sum(given) != 1 else 1
        if not shares or not min(shares) >= 0 or not abs(sum(shares) - whole) <= 1e-6 or sum(shares) == 0:
            raise ArgumentError(
                f"split({', '.join(map(repr, given))}): shares add up to 1, and numbers of samples to {self._count}"
            )
        return shares

    def _classes(self, argument: str, name: str) -> npt.NDArray[np.intp]:
        field = self._view.schema[name]
        if field.type_id not in (INT, FLOAT, TEXT, JSON, BYTES):
            raise ArgumentError(f"{argument}={name!r}: a field of type {field.type} says nothing of classes")
        values = self.column(name)
        if isinstance(values, np.ma.MaskedArray):
            values = values.tolist()
        if isinstance(values, np.ndarray):
            return np.unique(values, return_inverse=True)[1].reshape(-1)
        numbers: dict[Any, int] = {}
        texts = ([json.dumps(v, sort_keys=True) for v in values]) if field.type_id == JSON else values
        return np.asarray([numbers.setdefault(v, len(numbers)) for v in texts], np.intp)
