"""Interleaved documents: reading the files that others keep them in, and putting a batch's tokens and images in order.

>>> import mldf, json, os, tempfile
>>> folder = tempfile.mkdtemp()
>>> lines = [{"texts": ["A cat.", None], "images": [None, "cat.png"]}]
>>> with open(os.path.join(folder, "cat.png"), "wb") as file:
...     _ = file.write(mldf.images.encode(__import__("numpy").zeros((8, 8, 3), "u1"), "png"))
>>> with open(os.path.join(folder, "docs.jsonl"), "w") as file:
...     _ = file.write("\\n".join(map(json.dumps, lines)))
>>> out = os.path.join(folder, "docs.mldf")
>>> mldf.from_documents(os.path.join(folder, "docs.jsonl"), out, format="obelics").samples
1
>>> [part.role for part in mldf.open(out)[0].doc]
['text', 'image']

docs/guides/multimodal.md has more.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import ArgumentError, CorruptError, Error, NotFoundError, RangeError
from .fields import Field, Image, Json, Text
from .multimodal import Multimodal, SamplePart
from .suggest import choice
from .tokenizing import encoder, is_tokenizer
from .tokens import Tokens
from .writer import Writer, WriteResult

__all__ = ["Interleaved", "from_documents", "interleave"]

_FORMATS = ("obelics", "mmc4", "llava", "webdataset")
_IMAGES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff")
_MEMBER = re.compile(r"(?P<key>.*?)\.(?P<number>\d+)\.(?P<ending>[^./]+)$")
_SPEAKERS = {"human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant", "system": "system"}


@dataclass
class _Document:
    where: str
    parts: list[tuple[str, Any]]  # ("image", a path or bytes), or a role of text
    meta: Any = None
    key: str | None = None


def _listed(value: Any, name: str, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise CorruptError(f"{where}: {name!r} is not a list")
    return value


def _obelics(record: Any, where: str) -> _Document:
    """Lists side by side: one of images[i] and texts[i] is there."""
    images = _listed(record.get("images"), "images", where)
    texts = _listed(record.get("texts"), "texts", where)
    if len(images) != len(texts):
        raise CorruptError(f"{where}: {len(images)} images and {len(texts)} texts; both lists have the same length")
    parts = []
    for i, (image, text) in enumerate(zip(images, texts)):
        if (image is None) == (text is None):
            raise CorruptError(f"{where}: {'neither' if image is None else 'both'} of images[{i}] and texts[{i}]")
        parts.append(("text", text) if image is None else ("image", image))
    return _Document(where, parts, {k: v for k, v in record.items() if k not in ("images", "texts")} or None)


def _mmc4(after: bool) -> Callable[[Any, str], _Document]:
    """Sentences, and images that each belong to one of them."""

    def take(record: Any, where: str) -> _Document:
        texts = _listed(record.get("text_list"), "text_list", where)
        images: dict[int, list[str]] = {}
        for i, info in enumerate(_listed(record.get("image_info"), "image_info", where)):
            at = info.get("matched_text_index") if isinstance(info, dict) else None
            if not isinstance(at, int) or not 0 <= at < len(texts) or not isinstance(info.get("image_name"), str):
                raise CorruptError(
                    f"{where}: image_info[{i}] needs image_name, and matched_text_index below {len(texts)}, not {at!r}"
                )
            images.setdefault(at, []).append(info["image_name"])
        parts: list[tuple[str, Any]] = []
        for i, text in enumerate(texts):
            own = [("image", name) for name in images.get(i, [])]
            parts += [("text", text), *own] if after else [*own, ("text", text)]
        return _Document(where, parts, {k: v for k, v in record.items() if k != "text_list"} or None)

    return take


def _llava(record: Any, where: str) -> _Document:
    """A conversation; <image> in its text is replaced by the next of its images."""
    given = record.get("image", record.get("images", []))
    images = [given] if isinstance(given, str) else _listed(given, "image", where)
    parts: list[tuple[str, Any]] = []
    used = 0
    for i, turn in enumerate(_listed(record.get("conversations"), "conversations", where)):
        speaker = _SPEAKERS.get(str(turn.get("from"))) if isinstance(turn, dict) else None
        if speaker is None or not isinstance(turn.get("value"), str):
            raise CorruptError(f"{where}: conversations[{i}] needs from (human, gpt, system) and value")
        for k, piece in enumerate(turn["value"].split("<image>")):
            if k:
                if used == len(images):
                    raise CorruptError(f"{where}: conversations[{i}] has more <image> than the {used} images there are")
                parts.append(("image", images[used]))
                used += 1
            if piece.strip():
                parts.append((speaker, piece.strip("\n")))
    if used < len(images):
        raise CorruptError(f"{where}: {len(images)} images, and the conversation has <image> {used} times")
    key = str(record["id"]) if "id" in record else None
    rest = {k: v for k, v in record.items() if k not in ("conversations", "image", "images", "id")}
    return _Document(where, parts, rest or None, key)


def _records(path: pathlib.Path) -> Iterator[tuple[Any, str]]:
    """The objects of a JSON Lines file, or of a file that is one list."""
    text = path.read_text(encoding="utf-8")
    if text.lstrip()[:1] == "[":
        try:
            found = json.loads(text)
        except ValueError as error:
            raise CorruptError(f"{path}: not JSON: {error}") from None
        for i, record in enumerate(found):
            yield record, f"{path}, entry {i}"
        return
    for i, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield json.loads(line), f"{path}, line {i}"
            except ValueError as error:
                raise CorruptError(f"{path}, line {i}: not JSON: {error}") from None


def _webdataset(path: pathlib.Path) -> Iterator[_Document]:
    """Members KEY.NUMBER.ENDING of a tar, in the order of the numbers; KEY.json is what else is known."""
    import tarfile  # an import of mldf alone does not need it

    with tarfile.open(path) as tar:
        found: dict[int, tuple[str, Any]] = {}
        meta, key = None, None

        def finish() -> _Document:
            return _Document(f"{path}, key {key}", [found[n] for n in sorted(found)], meta, key)

        for member in tar:
            if not member.isfile():
                continue
            match = _MEMBER.match(member.name)
            own = match["key"] if match else member.name.rpartition(".")[0]
            if own != key:
                if key is not None:
                    yield finish()
                found, meta, key = {}, None, own
            file = tar.extractfile(member)
            data = file.read() if file is not None else b""
            if match is None:
                if not member.name.endswith(".json"):
                    raise CorruptError(f"{path}, {member.name}: members are KEY.NUMBER.ENDING or KEY.json")
                try:
                    meta = json.loads(data)
                except ValueError as error:
                    raise CorruptError(f"{path}, {member.name}: not JSON: {error}") from None
            elif int(match["number"]) in found:
                raise CorruptError(f"{path}, {member.name}: number {match['number']} is there twice")
            elif match["ending"].lower() == "txt":
                try:
                    found[int(match["number"])] = ("text", data.decode("utf-8"))
                except UnicodeDecodeError as error:
                    raise CorruptError(f"{path}, {member.name}: not UTF-8: {error}") from None
            elif f".{match['ending'].lower()}" in _IMAGES:
                found[int(match["number"])] = ("image", data)
            else:
                raise CorruptError(f"{path}, {member.name}: neither an image nor .txt")
        if key is not None:
            yield finish()


def _documents(path: pathlib.Path, format: str, after: bool) -> Iterator[_Document]:
    if format == "webdataset":
        yield from _webdataset(path)
        return
    take = {"obelics": _obelics, "mmc4": _mmc4(after), "llava": _llava}[format]
    for record, where in _records(path):
        if not isinstance(record, Mapping):
            raise CorruptError(f"{where}: no object")
        yield take(record, where)


def _image(value: Any, folder: pathlib.Path, where: str, missing: str) -> Any:
    """The bytes of an image; None where it is missing and that is fine."""
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise CorruptError(f"{where}: an image is a file's name, not {value!r}")
    path = folder / value
    if not path.resolve().is_relative_to(folder.resolve()):
        raise ArgumentError(f"{where}: image {value!r} is outside of {folder}")
    try:
        return path.read_bytes()
    except OSError as error:
        if missing == "null":
            return None
        raise NotFoundError(f"{where}: image {value!r}: {error.strerror}; missing='null' packs it as a null") from None


def from_documents(
    source: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    format: str,
    images: str | os.PathLike[str] | None = None,
    image: Field | None = None,
    tokenizer: Any = None,
    missing: str = "error",
    place: str = "before",
    overwrite: bool = False,
) -> WriteResult:
    """Packs interleaved documents as samples of a multimodal field ``doc``, and what else is known of them as ``meta``.

    Errors name the line, or the key, and the image.

    Parameters
    ----------
    source
        A JSON Lines file, a file with one JSON list, or a tar.
    path
        The file to write.
    format
        "obelics": lists ``texts`` and ``images`` side by side, one of each pair null; "mmc4": ``text_list`` and
        ``image_info``; "llava": ``conversations`` with ``<image>``, whose roles are user, assistant and system;
        "webdataset": members KEY.0.jpg, KEY.1.txt, KEY.json.
    images
        The folder that names of images begin in; None: that of the source.
    image
        How images are stored; None: mldf.Image().
    tokenizer
        None: text is kept as it is; else a mldf.Tokens with a tokenizer: parts are its ids.
    missing
        "error", or "null": images that are not there become null parts.
    place
        Of "mmc4": images come "before" or "after" their sentence.
    overwrite
        An existing file is replaced.
    """
    choice("format", format, _FORMATS)
    choice("missing", missing, ("error", "null"))
    choice("place", place, ("before", "after"))
    if tokenizer is not None and not (isinstance(tokenizer, Tokens) and is_tokenizer(tokenizer.tokenizer)):
        raise ArgumentError("tokenizer: a mldf.Tokens(tokenizer=...) is needed")
    origin = pathlib.Path(source)
    if not origin.is_file():
        raise NotFoundError(f"{origin}: no such file")
    folder = pathlib.Path(images) if images is not None else origin.parent
    text: Field = Text()
    if tokenizer is not None:  # parts are pieces of documents: none ends with eos
        text = tokenizer if tokenizer.eos is None else replace(tokenizer, eos_inside=False)
    roles = ("user", "assistant", "system") if format == "llava" else ("text",)
    kinds: dict[str, Field] = dict.fromkeys(roles, text) | {"image": image if image is not None else Image()}
    ids = encoder(tokenizer) if tokenizer is not None else None
    fields = {"doc": Multimodal(kinds), "meta": Json(nullable=True)}
    with Writer(path, fields, overwrite=overwrite) as writer:
        for document in _documents(origin, format, place == "after"):
            parts = []
            texts = [value for role, value in document.parts if role != "image"]
            for value in texts:
                if not isinstance(value, str):
                    raise CorruptError(f"{document.where}: a text is not a string: {value!r}")
            made = iter(ids(texts) if ids is not None and texts else texts)
            for role, value in document.parts:
                if role == "image":
                    parts.append(SamplePart(role, _image(value, folder, document.where, missing)))
                else:
                    parts.append(SamplePart(role, next(made)))
            try:
                writer.append({"doc": parts, "meta": document.meta}, key=document.key)
            except Error as error:
                error.add_note(document.where)
                raise
    assert writer.result is not None
    return writer.result


# ---- batches ----


@dataclass(frozen=True)
class Interleaved:
    """The documents of a batch as one run of tokens, with placeholders where images are.

    Parameters
    ----------
    tokens
        All documents end to end.
    positions
        Counted from each document's beginning.
    cu_seqlens
        Where each document begins, and the end.
    max_seqlen
        The longest document.
    image_positions
        Where the placeholders of each image begin, in the order of ``doc.image``.
    image_lengths
        How many placeholders it has.
    kinds
        For each token, which kind of part it is of.
    """

    tokens: npt.NDArray[np.int64]
    positions: npt.NDArray[np.int64]
    cu_seqlens: npt.NDArray[np.int32]
    max_seqlen: int
    image_positions: npt.NDArray[np.int64]
    image_lengths: npt.NDArray[np.int64]
    kinds: npt.NDArray[np.int32]


def _image_lengths(batch: Any, field: str, image_tokens: Any, patch: int | None, found: Any) -> npt.NDArray[np.int64]:
    if patch is None:
        return np.full(len(found), int(image_tokens), np.int64)
    heights, widths = (np.asarray(batch[f"{field}.{name}"])[found] for name in ("heights", "widths"))
    return np.asarray(-(-heights // patch) * -(-widths // patch), np.int64)


def interleave(
    batch: Any,
    *,
    kinds: Mapping[str, int],
    image_id: int,
    field: str = "doc",
    image: str = "image",
    image_tokens: int = 256,
    patch: int | None = None,
) -> Interleaved:
    """The tokens of a batch of documents in document order, with a run of placeholders for each image.

    Parts of other roles, and null parts, have no tokens. The images themselves are ``doc.image``, in the same order.

    Parameters
    ----------
    batch
        With ``doc.kinds``, ``doc.lengths`` and one output of tokens for each role; with patch also ``doc.heights`` and
        ``doc.widths``.
    kinds
        Role → its number, as the field lists them: {"text": 0, "image": 1}.
    image_id
        The token that stands for an image.
    field, image
        The names of the field and of the role.
    image_tokens
        Placeholders of an image.
    patch
        Instead: ceil(height / patch) * ceil(width / patch) of them, by the image's size as it is stored.

    Examples
    --------
    >>> batch = {"doc.kinds": [0, 1, 0], "doc.kinds_offset": [0, 3], "doc.lengths": [2, 1, 1], "doc.text": [5, 6, 7]}
    >>> interleave(batch, kinds={"text": 0, "image": 1}, image_id=9, image_tokens=3).tokens.tolist()
    [5, 6, 9, 9, 9, 7]
    """
    numbers, offset = np.asarray(batch[f"{field}.kinds"]), np.asarray(batch[f"{field}.kinds_offset"])
    lengths = np.asarray(batch[f"{field}.lengths"]).copy()
    if image not in kinds:
        raise ArgumentError(f"kinds: no role {image!r}")
    roles = [role for role in kinds if role != image and f"{field}.{role}" in batch.keys()]  # noqa: SIM118
    found = np.nonzero(numbers == kinds[image])[0]
    lengths[found] = _image_lengths(batch, field, image_tokens, patch, found)
    lengths[~np.isin(numbers, [kinds[role] for role in [*roles, image]])] = 0
    ends = np.cumsum(lengths)
    begins = ends - lengths
    total = int(ends[-1]) if len(ends) else 0
    tokens = np.full(total, image_id, np.int64)
    of_part = np.repeat(np.arange(len(numbers)), lengths)
    token_kinds = numbers[of_part].astype(np.int32)
    for role in roles:
        stored = np.asarray(batch[f"{field}.{role}"])
        where = token_kinds == kinds[role]
        if int(where.sum()) != len(stored):
            raise RangeError(f"{field}.{role}: {len(stored)} tokens, and the table of parts has {int(where.sum())}")
        tokens[where] = stored
    starts = np.concatenate([[0], ends])[offset]
    sizes = np.diff(starts)
    if total >= 2**31:
        raise RangeError(f"{total} tokens in one batch; cu_seqlens are int32")
    return Interleaved(
        tokens,
        np.arange(total) - np.repeat(starts[:-1], sizes),
        starts.astype(np.int32),
        int(sizes.max(initial=0)),
        begins[found],
        lengths[found],
        token_kinds,
    )
