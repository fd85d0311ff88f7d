"""Interleaved documents packed into sequences of one length: every part once, images as runs of placeholders.

The sequences are samples of another file, which a Loader shuffles, splits between ranks and resumes as any other.
A Loader needs no such file: ``view="packed(doc, 4096, image_id=9, pad=0)"`` makes the same sequences while it loads
(docs/guides/multimodal.md). This writes what that view gives, for programs that want it in a file of its own.

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

import os
from typing import Any

import numpy as np

from .dataset import Dataset
from .dataset import open as open_dataset
from .errors import ArgumentError
from .fields import Image, NDArray
from .limits import whole
from .multimodal import Multimodal
from .schema import MULTIMODAL
from .writer import Writer, WriteResult

__all__ = ["pack_documents"]

COLUMNS = ("tokens", "labels", "positions", "segment_ids")
"""Of one number for each token of a sequence."""


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


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
    if field not in ds.schema or ds.schema[field].type_id != MULTIMODAL:
        raise ArgumentError(f"field={field!r}: a multimodal field of the file is needed")
    rule = f"image_tokens={whole('image_tokens', image_tokens)}" if patch is None else f"patch={whole('patch', patch)}"
    ids = f"image_id={whole('image_id', image_id)}, pad={whole('pad_id', pad_id)}"
    view = ds.as_view(
        f"packed({_quoted(field)}, {whole('length', length)}, {ids}, {rule}, image={_quoted(image)}, dtype=i32)"
    )
    numbers = NDArray("int32", (length,))
    fields = {
        **dict.fromkeys(COLUMNS, numbers),
        "cu_seqlens": NDArray("int32", (None,)),
        "documents": NDArray("int64", (None,)),
        "images": Multimodal({image: Image()}),
    }
    with Writer(path, fields, overwrite=overwrite) as writer:
        for i in range(len(view)):
            sample = {name: view[i, name] for name in COLUMNS}
            documents = view[i, "documents"]
            sample["documents"] = documents[documents >= 0]
            cu = view[i, "cu_seqlens"]
            sample["cu_seqlens"] = cu[: int(np.searchsorted(cu, length)) + 1]
            writer.append({**sample, "images": view[i, field]})
    assert writer.result is not None
    return writer.result
