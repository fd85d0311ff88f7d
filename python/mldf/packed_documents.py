"""Interleaved documents packed into sequences of one length: every part once, images as runs of placeholders.

The sequences are samples of another file, which a Loader shuffles, splits between ranks and resumes as any other.
Documents go longest first, each into the fullest sequence that takes it (docs/guides/packed-sequences.md, best-fit),
by what they cost: their tokens, and the placeholders of their images.

>>> import mldf, os, tempfile
>>> folder = tempfile.mkdtemp()
>>> docs, packed = os.path.join(folder, "docs.mldf"), os.path.join(folder, "packed.mldf")
>>> with mldf.Writer(docs, {"doc": mldf.Multimodal({"text": mldf.Tokens(10), "image": mldf.Image()})}) as w:
...     w.append({"doc": [("text", [1, 2]), ("image", np.zeros((4, 4, 3), np.uint8)), ("text", [3])]})
>>> mldf.pack_documents(docs, packed, length=8, image_id=9, pad_id=0, image_tokens=3).samples
1
>>> mldf.open(packed)[0].tokens.tolist()
[1, 2, 9, 9, 9, 3, 0, 0]
"""

from __future__ import annotations

import bisect
import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .dataset import Dataset
from .dataset import open as open_dataset
from .errors import ArgumentError, RangeError, WrongTypeError
from .fields import Image, NDArray
from .limits import whole
from .loader import Loader
from .multimodal import Multimodal, SamplePart
from .schema import MULTIMODAL, TOKENS
from .writer import Writer, WriteResult

__all__ = ["pack_documents"]

IGNORED = -100
"""The label of what no loss is computed of."""


@dataclass(frozen=True)
class _Piece:
    """Tokens [begin, begin + count) of a part, or all placeholders of an image."""

    part: int
    begin: int
    count: int


@dataclass(frozen=True)
class _Segment:
    row: int
    pieces: tuple[_Piece, ...]
    cost: int
    first: int
    """What the document's segments before this one cost."""


def _tables(ds: Dataset, field: str) -> Iterator[tuple[npt.NDArray[Any], ...]]:
    """Kinds, lengths, heights and widths of each document's parts."""
    names = [f"{field}.{name}" for name in ("kinds", "lengths", "heights", "widths")]
    columns: dict[str, Any] = {name: [] for name in names}
    columns.update({name: None for name in ds.schema if name != field})
    loader = Loader(ds, 1024, pipelines=columns, fields=names)
    for batch in loader:
        offset = np.asarray(batch[names[0] + "_offset"])
        arrays = [np.copy(batch[name]) for name in names]
        for a, b in itertools.pairwise(offset):
            yield tuple(array[a:b] for array in arrays)


def _segments(row: int, costs: Sequence[int], is_image: Sequence[bool], length: int) -> Iterator[_Segment]:
    """A document cut into pieces of sequences: text anywhere, an image nowhere."""
    pieces: list[_Piece] = []
    used = first = 0
    for part, (cost, image) in enumerate(zip(costs, is_image)):
        at = 0
        if image and cost > length:
            raise RangeError(f"sample {row}, part {part}: an image of {cost} tokens does not fit {length}")
        while at < cost:
            room = length - used
            if room == 0 or (image and cost > room):
                yield _Segment(row, tuple(pieces), used, first)
                first += used
                pieces, used = [], 0
                continue
            count = cost if image else min(cost - at, room)
            pieces.append(_Piece(part, at, count))
            at += count
            used += count
    if pieces:
        yield _Segment(row, tuple(pieces), used, first)


def best_fit(costs: Sequence[int], length: int) -> list[list[int]]:
    """Longest first, each into the fullest bin that takes it; equal ones in their order.

    >>> best_fit([3, 5, 2, 2], 7)
    [[1, 2], [0, 3]]
    """
    bins: list[list[int]] = []
    rooms: list[tuple[int, int]] = []  # (what is left, bin), ascending
    for number in sorted(range(len(costs)), key=lambda i: (-costs[i], i)):
        at = bisect.bisect_left(rooms, (costs[number], -1))
        if at == len(rooms):
            bins.append([])
            room, place = length, len(bins) - 1
        else:
            room, place = rooms.pop(at)
        bins[place].append(number)
        bisect.insort(rooms, (room - costs[number], place))
    return bins


class _Sequence:
    """One sequence while it is filled."""

    def __init__(self, length: int, pad_id: int) -> None:
        self.tokens = np.full(length, pad_id, np.int32)
        self.labels = np.full(length, IGNORED, np.int32)
        self.positions = np.zeros(length, np.int32)
        self.segment_ids = np.zeros(length, np.int32)
        self.ends = [0]
        self.rows: list[int] = []
        self.images: list[SamplePart] = []

    def add(self, segment: _Segment, parts: Sequence[Any], costs: Sequence[int], image: str, image_id: int) -> None:
        """A segment behind those that are here."""
        begin = at = self.ends[-1]
        for piece in segment.pieces:
            part = parts[piece.part]
            if part.role == image:
                self.tokens[at : at + piece.count] = image_id
                self.images.append(SamplePart(image, part.value, segment.row, at))
            else:
                ids = np.asarray(part.value)[piece.begin : piece.begin + piece.count]
                self.tokens[at : at + piece.count] = ids
                if at > begin:  # the token before it predicts the first one
                    self.labels[at - 1] = ids[0]
                self.labels[at : at + piece.count - 1] = ids[1:]
            at += piece.count
        last = segment.pieces[-1]
        following = (last.part, last.begin + last.count)
        if following[1] == costs[last.part]:
            following = next((k for k in range(last.part + 1, len(costs)) if costs[k]), -1), 0
        if following[0] >= 0 and parts[following[0]].role != image:
            self.labels[at - 1] = np.asarray(parts[following[0]].value)[following[1]]
        self.positions[begin:at] = np.arange(at - begin)
        self.segment_ids[begin:at] = len(self.ends)
        self.ends.append(at)
        self.rows.append(segment.row)

    def sample(self) -> dict[str, Any]:
        """As the file has it."""
        ends = self.ends if self.ends[-1] == len(self.tokens) else [*self.ends, len(self.tokens)]
        return {
            "tokens": self.tokens,
            "labels": self.labels,
            "positions": self.positions,
            "segment_ids": self.segment_ids,
            "cu_seqlens": np.asarray(ends, np.int32),
            "documents": np.asarray(self.rows, np.int64),
            "images": self.images,
        }


def pack_documents(
    source: Any,
    path: str | os.PathLike[str],
    *,
    length: int,
    image_id: int,
    pad_id: int,
    image_tokens: int = 256,
    patch: int | None = None,
    field: str = "doc",
    image: str = "image",
    overwrite: bool = False,
) -> WriteResult:
    """Packs the documents of a file into sequences of one length, samples of another file.

    A sample has ``tokens``, ``labels`` (the next token; -100 at padding, where an image follows and at a document's
    end), ``positions`` (from the piece's beginning), ``segment_ids`` (1 for the first piece, 0 for padding),
    ``cu_seqlens``, ``documents`` (rows of the source) and ``images``, whose parts have the row as group and the place
    of their first placeholder as begin. Documents longer than a sequence are cut, images never.

    Parameters
    ----------
    source
        A path or a dataset with a multimodal field of tokens and images.
    path
        The file to write.
    length
        Tokens of a sequence, placeholders of images among them.
    image_id
        The token that stands for an image.
    pad_id
        The token that fills a sequence after its last document.
    image_tokens
        Placeholders of an image.
    patch
        Instead: ceil(height / patch) * ceil(width / patch) of them.
    field, image
        The names of the field and of the role of images.
    overwrite
        An existing file is replaced.
    """
    ds = source if isinstance(source, Dataset) else open_dataset(source, decode=False)
    ds = ds if not ds._view.decode else open_dataset(ds.paths, decode=False)
    length = whole("length", length)
    if length < 1 or field not in ds.schema or ds.schema[field].type_id != MULTIMODAL:
        raise ArgumentError(f"length={length}: above 0, and field={field!r}: a multimodal field of the file are needed")
    kinds = ds.schema[field].arguments["parts"]
    roles = [kind["role"] for kind in kinds]
    if image not in roles:
        raise ArgumentError(f"field {field!r} has no role {image!r}; it has {', '.join(roles)}")
    texts = {i for i, kind in enumerate(kinds) if kind["type"] == "text_tokenized"}
    if not texts:
        raise WrongTypeError(f"field {field!r} has no parts of tokens (type {TOKENS}): pack it with a tokenizer")
    segments: list[_Segment] = []
    costs: list[list[int]] = []
    for row, (numbers, lengths, heights, widths) in enumerate(_tables(ds, field)):
        cost = np.where(np.isin(numbers, list(texts)), lengths, 0)
        images = numbers == roles.index(image)
        cost[images] = image_tokens if patch is None else (-(-heights // patch) * -(-widths // patch))[images]
        costs.append(cost.tolist())
        segments += _segments(row, costs[-1], images.tolist(), length)
    whole_numbers = NDArray("int32", (length,))
    fields = {
        **dict.fromkeys(("tokens", "labels", "positions", "segment_ids"), whole_numbers),
        "cu_seqlens": NDArray("int32", (None,)),
        "documents": NDArray("int64", (None,)),
        "images": Multimodal({image: Image()}),
    }
    with Writer(path, fields, overwrite=overwrite) as writer:
        for bin in best_fit([segment.cost for segment in segments], length):
            sequence = _Sequence(length, pad_id)
            for number in bin:
                row = segments[number].row
                sequence.add(segments[number], ds[row][field], costs[row], image, image_id)
            writer.append(sequence.sample())
    assert writer.result is not None
    return writer.result
