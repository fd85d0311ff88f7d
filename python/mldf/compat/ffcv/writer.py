"""Under FFCV's path ``ffcv.writer``: DatasetWriter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...errors import ArgumentError
from ...order import shuffled
from ...writer import WriteResult, write
from .own_fields import as_stored, writing

__all__ = ["DatasetWriter"]


class DatasetWriter:
    """Writes an MLDF file from anything that can be indexed, or from WebDataset's shards."""

    def __init__(
        self, fname: Any, fields: Mapping[str, Any], page_size: int | None = None, num_workers: int = -1
    ) -> None:
        self.fname, self.fields, self.num_workers = fname, dict(fields), num_workers
        self.page_size = page_size

    def from_indexed_dataset(
        self, dataset: Any, indices: Sequence[int] | None = None, chunksize: int = 100, shuffle_indices: bool = False
    ) -> WriteResult:
        """All samples, or those of `indices`."""
        del chunksize
        order = list(range(len(dataset)) if indices is None else indices)
        if shuffle_indices:
            order = [order[i] for i in shuffled(len(order), 0).tolist()]
        return self._write(dataset[i] for i in order)

    def from_webdataset(self, shards: Sequence[str], pipeline: Callable[[Any], Iterable[Any]]) -> WriteResult:
        """All samples of the shards, in their order: `pipeline` makes of WebDataset's dataset one of tuples.

        The package webdataset is needed. :func:`mldf.pack` reads shards without it.
        """
        try:
            import webdataset
        except ImportError:
            raise ArgumentError(
                "from_webdataset: the package webdataset is not installed; mldf.pack(shards, path) needs none"
            ) from None

        def samples() -> Iterator[Any]:
            for shard in shards:
                yield from pipeline(webdataset.WebDataset(shard, shardshuffle=False))

        return self._write(samples())

    def _write(self, samples: Iterable[Any]) -> WriteResult:
        fields = {name: as_stored(field) for name, field in self.fields.items()}
        ways = [writing(field) for field in self.fields.values()]
        if any(ways):
            samples = (
                tuple(way(value, n) if way else value for way, value in zip(ways, sample, strict=True))
                for n, sample in enumerate(samples)
            )
        threads = None if self.num_workers < 0 else self.num_workers
        return write(self.fname, samples, fields, overwrite=True, threads=threads, page_size=self.page_size)
