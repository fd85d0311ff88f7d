"""Documents of several parts into the files of others: WebDataset's numbered members, OBELICS' parallel lists.

>>> import mldf, os, tarfile, tempfile
>>> folder = tempfile.mkdtemp()
>>> docs, tar = os.path.join(folder, "docs.mldf"), os.path.join(folder, "docs.tar")
>>> with mldf.Writer(docs, {"doc": mldf.Multimodal({"text": mldf.Text(), "image": mldf.Image()})}) as w:
...     w.append({"doc": [("text", "a cat"), ("image", np.zeros((4, 4, 3), np.uint8))]})
>>> mldf.to_documents(docs, tar, format="webdataset")
1
>>> tarfile.open(tar).getnames()
['00000000.0.txt', '00000000.1.png']
"""

from __future__ import annotations

import io
import json
import os
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np

from .dataset import Dataset
from .dataset import open as open_dataset
from .errors import ArgumentError, ExistsError, WrongTypeError
from .images import encode
from .schema import MULTIMODAL
from .suggest import choice

__all__ = ["to_documents"]

_BEGINNINGS = ((b"\xff\xd8\xff", "jpg"), (b"\x89PNG", "png"), (b"BM", "bmp"), (b"II*\0", "tif"), (b"MM\0*", "tif"))


def _image(value: Any, where: str) -> tuple[str, bytes]:
    """An ending and the bytes of a file: those that were packed, or PNG of bare pixels."""
    if isinstance(value, np.ndarray) and value.ndim == 3:
        return "png", bytes(encode(value, "png"))
    data = bytes(value)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "webp", data
    for begin, ending in _BEGINNINGS:
        if data.startswith(begin):
            return ending, data
    raise WrongTypeError(f"{where}: not an image of a kind that has an ending here")


def _parts(parts: Any, images: set[str], texts: set[str], where: str) -> list[tuple[str, bytes]]:
    """(ending, bytes) of each part: txt, or that of an image."""
    out = []
    for number, part in enumerate(parts):
        place = f"{where}, part {number} ({part.role})"
        if part.value is None:
            raise ArgumentError(f"{place} is missing, and such files have no sign for that")
        if part.role in images:
            out.append(_image(part.value, place))
        elif part.role in texts:
            out.append(("txt", part.value.encode()))
        else:
            raise WrongTypeError(f"{place}: documents are text and images")
    return out


def _key(ds: Dataset, i: int) -> str:
    key = str(ds.keys[i]) if ds.has_keys else f"{i:08d}"
    if key.startswith("/") or ".." in key.split("/"):
        raise ArgumentError(f"sample {i}: its key {key!r} would leave the archive's folder")
    if "." in key.rpartition("/")[2]:
        raise ArgumentError(
            f"sample {i}: its key {key!r} has a dot in it, and a key ends at the first one in such archives"
        )
    return key


def to_documents(
    source: Any,
    path: str | os.PathLike[str],
    *,
    format: str,
    field: str = "doc",
    meta: str = "meta",
    overwrite: bool = False,
) -> int:
    """Writes the documents of a file as others keep them, so that :func:`mldf.from_documents` reads them again.

    Images are written as they were packed, bare pixels as PNG. Parts that are missing, or of other kinds, are errors.

    Parameters
    ----------
    source
        A path or a dataset with a multimodal field of text and images.
    path
        The file to write.
    format
        "webdataset": a tar with members KEY.0.jpg, KEY.1.txt, and KEY.json where there is `meta`; "obelics": JSON Lines
        with the lists ``texts`` and ``images``, and the images in the folder PATH.images.
    field
        The multimodal field.
    meta
        A JSON field with what else is known of a document, if there is one.
    overwrite
        An existing file is replaced.

    Returns
    -------
    int
        How many documents were written. Null ones are left out.
    """
    choice("format", format, ("webdataset", "obelics"))
    ds = source if isinstance(source, Dataset) else open_dataset(source, decode=False)
    ds = ds if not ds._view.decode else open_dataset(ds.paths, decode=False)
    if field not in ds.schema or ds.schema[field].type_id != MULTIMODAL:
        raise ArgumentError(f"field={field!r}: a multimodal field of the file is needed")
    target = pathlib.Path(path)
    if target.exists() and not overwrite:
        raise ExistsError(f"{target}: already exists; give overwrite=True to overwrite it")
    partial = target.with_name(target.name + ".partial")
    write: Callable[..., int] = _write_tar if format == "webdataset" else _write_lines
    try:
        count = write(ds, partial, target, field, meta if meta in ds.schema else None)
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
    return count


def _documents(ds: Dataset, field: str, meta: str | None) -> Any:
    kinds = ds.schema[field].arguments["parts"]
    images = {kind["role"] for kind in kinds if kind["type"].startswith("image")}
    texts = {kind["role"] for kind in kinds if kind["type"] == "text"}
    for i in range(len(ds)):
        parts = ds[i, field]
        if parts is not None:
            yield i, _parts(parts, images, texts, f"sample {i}"), ds[i, meta] if meta is not None else None


def _write_tar(ds: Dataset, partial: pathlib.Path, target: pathlib.Path, field: str, meta: str | None) -> int:
    import tarfile  # an import of mldf alone does not need it

    def add(name: str, data: bytes) -> None:
        info = tarfile.TarInfo(name)
        info.size = len(data)
        tar.addfile(info, io.BytesIO(data))

    count = 0
    with tarfile.open(partial, "w") as tar:
        for i, parts, known in _documents(ds, field, meta):
            key = _key(ds, i)
            for number, (ending, data) in enumerate(parts):
                add(f"{key}.{number}.{ending}", data)
            if known is not None or not parts:
                add(f"{key}.json", json.dumps(known).encode())
            count += 1
    return count


def _write_lines(ds: Dataset, partial: pathlib.Path, target: pathlib.Path, field: str, meta: str | None) -> int:
    count, folder = 0, target.with_name(target.name + ".images")
    folder.mkdir(exist_ok=True)
    with partial.open("w", encoding="utf-8", newline="\n") as file:
        for i, parts, known in _documents(ds, field, meta):
            texts: list[str | None] = []
            images: list[str | None] = []
            for number, (ending, data) in enumerate(parts):
                name = f"{folder.name}/{i:08d}_{number}.{ending}" if ending != "txt" else None
                if name is not None:
                    (target.parent / name).write_bytes(data)
                texts.append(None if name is not None else data.decode())
                images.append(name)
            other = known if isinstance(known, dict) else {"metadata": known} if known is not None else {}
            file.write(json.dumps({**other, "texts": texts, "images": images}) + "\n")
            count += 1
    return count
