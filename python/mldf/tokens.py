"""Tokens: the field types, and what a Writer takes for them.

>>> import mldf, os, tempfile
>>> path = os.path.join(tempfile.mkdtemp(), "t.mldf")
>>> with mldf.Writer(path, {"tokens": mldf.Tokens(50257, eos=50256)}) as w:
...     w.append({"tokens": [464, 3290, 318, 50256]})
>>> mldf.open(path)[0].tokens
array([  464,  3290,   318, 50256], dtype=uint16)
>>> with mldf.Writer(path, {"stream": mldf.TokenStream(9), "packed": mldf.PackedTokens(9)}, overwrite=True) as w:
...     w.append({"stream": {"tokens": [1, 2, 3], "ends": [2, 3]}, "packed": {"tokens": [4, 5, 0], "ends": [2]}})
>>> mldf.open(path).documents(0, "stream").tolist()
[[0, 2], [2, 3]]
>>> with mldf.Writer(path, {"doc": mldf.HierarchicalTokens(9)}, overwrite=True) as w:
...     w.append({"doc": [[[1, 2], [3]], [[4, 5, 6]]]})  # two paragraphs, of two sentences and of one
>>> mldf.open(path)[0].doc, mldf.open(path).documents(0, "doc", level="sentences").tolist()
(array([1, 2, 3, 4, 5, 6], dtype=uint8), [[0, 2], [2, 3], [3, 6]])
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .errors import RangeError, SchemaError, WrongTypeError
from .fields import Field, dtype_text
from .foreign import Array, from_tensor, is_gone, is_tensor, missing, unmasked, wrong
from .limits import text, whole_or_none
from .schema import FieldInfo
from .suggest import choice
from .tokenizing import describe_tokenizer, is_tokenizer

__all__ = ["HierarchicalTokens", "PackedTokens", "TokenStream", "Tokens"]

PACKED, HIERARCHICAL, STREAM = 42, 43, 44
LEVELS = ("document", "paragraphs", "sentences")
FORMATS = ("nanogpt", "olmo", "datatrove", "megatron", "llmc")
HEAD = 24  # the bytes form of mldf_tokens_value: count, documents, dtype, 0
DTYPES = {"i1": 2, "u1": 3, "i2": 4, "u2": 5, "i4": 6, "u4": 7, "i8": 8, "u8": 9}  # enum mldf_dtype
NAMES = ("vocabulary", "bos", "eos", "pad", "eos_inside", "tokenizer", "tokenizer_sha256", "specials")
PIECE = np.dtype([("end", "<u4"), ("from", "<u4")])


@dataclass(frozen=True)
class Tokens(Field):
    """The ids of one document, an array of one dimension of uint8, uint16 or int32.

    tokenizer may be a Tokenizer of Hugging Face tokenizers, a fast one of transformers, an Encoding of tiktoken, a
    SentencePieceProcessor, or any callable from a list of str to a list of ids (or of {"tokens": ids, "loss_mask":
    mask}, whose other members are values of the fields of their names). It is called with about 1 MB of text at a time.
    Post-processors are off; vocabulary comes from the tokenizer where it says so; bos and eos may be the text of a
    token, and are put before and after every document (eos_inside=False: eos is only stored), except of those that come
    as a dict.

    A Writer takes lists, arrays and tensors of any integer dtype. docs/guides/text.md has more.

    Parameters
    ----------
    vocabulary
        The number of ids: an id outside 0 … vocabulary - 1 is refused when it is written.
    dtype
        "uint8", "uint16" or "int32"; chosen by the vocabulary unless given.
    bos, eos, pad
        Ids with these meanings.
    eos_inside
        True: documents end with their eos, stored; False: they do not.
    tokenizer
        Its name; or the tokenizer itself: then a Writer takes str, see below.
    tokenizer_sha256
        Of its file, 64 hexadecimal digits in lower case.
    specials
        "text" or "parse": how strings of special tokens inside documents were treated.
    nullable
        A sample may lack the value.
    compress
        Zstd: True, or a level from 1 to 22 (not of a TokenStream).
    """

    type_name: ClassVar[str] = "text_tokenized"
    """As a schema file has it."""
    vocabulary: int | None = None
    dtype: Any = None
    bos: int | str | None = None
    eos: int | str | None = None
    pad: int | str | None = None
    eos_inside: bool | None = None
    tokenizer: Any = None
    tokenizer_sha256: str | None = None
    specials: str | None = None

    def arguments(self) -> dict[str, Any]:
        """Those that were given."""
        out = {name: getattr(self, name) for name in NAMES if getattr(self, name) is not None}
        if self.dtype is not None:
            out["dtype"] = dtype_text(self.dtype)
            if out["dtype"] not in ("|u1", "<u2", "<i4"):
                raise SchemaError(f"dtype={self.dtype!r}: tokens are uint8, uint16 or int32")
        if not is_tokenizer(self.tokenizer):
            return out
        if type(self) is not Tokens:
            raise SchemaError(f"{type(self).__name__} has no tokenizer: documents of text are mldf.Tokens")
        return describe_tokenizer(self.tokenizer, out)


@dataclass(frozen=True)
class TokenStream(Tokens):
    """One long run of ids, and where its documents end: any window of it is read alone.

    A Writer takes an array (one document), or {"tokens": array, "ends": ends of the documents, ascending}. Reading
    gives the ids; ``Dataset.documents`` the ends. Arguments as of :class:`Tokens`.

    Parameters
    ----------
    nullable
        A sample may lack the value.
    compress
        Zstd: True, or a level from 1 to 22 (not of a TokenStream).
    vocabulary
        The number of ids: an id outside 0 … vocabulary - 1 is refused when it is written.
    dtype
        "uint8", "uint16" or "int32"; chosen by the vocabulary unless given.
    bos, eos, pad
        Ids with these meanings.
    eos_inside
        True: documents end with their eos, stored; False: they do not.
    tokenizer
        Its name.
    tokenizer_sha256
        Of its file, 64 hexadecimal digits in lower case.
    specials
        "text" or "parse": how strings of special tokens inside documents were treated.
    """

    type_name: ClassVar[str] = "token_stream"
    """As a schema file has it."""


@dataclass(frozen=True)
class PackedTokens(Tokens):
    """A sequence that holds pieces of several documents, packed before.

    A Writer takes an array (one piece), or {"tokens": array, "ends": ends of the pieces, "from": position of each
    piece's first token in its document}; "from" may be left out. Tokens after the last end are padding. Arguments as of

    Parameters
    ----------
    nullable
        A sample may lack the value.
    compress
        Zstd: True, or a level from 1 to 22 (not of a TokenStream).
    vocabulary
        The number of ids: an id outside 0 … vocabulary - 1 is refused when it is written.
    dtype
        "uint8", "uint16" or "int32"; chosen by the vocabulary unless given.
    bos, eos, pad
        Ids with these meanings.
    eos_inside
        True: documents end with their eos, stored; False: they do not.
    tokenizer
        Its name.
    tokenizer_sha256
        Of its file, 64 hexadecimal digits in lower case.
    specials
        "text" or "parse": how strings of special tokens inside documents were treated.
    """

    type_name: ClassVar[str] = "text_packed"
    """As a schema file has it."""


@dataclass(frozen=True)
class HierarchicalTokens(Tokens):
    """A document of paragraphs, which are made of sentences; either level is read alone.

    A Writer takes a list of paragraphs, each a list of sentences, each a list or array of ids; or {"tokens": array,
    "paragraphs": ends, "sentences": ends}, positions in the tokens: both lists ascend, end with the number of tokens,
    and a paragraph ends where a sentence does; or an array (one sentence). Nothing is empty but the whole document.
    Reading gives the ids; ``Dataset.documents`` with level= the paragraphs or sentences; a Loader ``FIELD.paragraphs``
    and ``FIELD.sentences``, and ``view="segments(FIELD, by=sentences)"`` one item for each.

    Parameters
    ----------
    nullable
        A sample may lack the value.
    compress
        Zstd: True, or a level from 1 to 22 (not of a TokenStream).
    vocabulary
        The number of ids: an id outside 0 … vocabulary - 1 is refused when it is written.
    dtype
        "uint8", "uint16" or "int32"; chosen by the vocabulary unless given.
    bos, eos, pad
        Ids with these meanings.
    eos_inside
        True: documents end with their eos, stored; False: they do not.
    tokenizer
        Its name; or the tokenizer itself: then a Writer takes str, see below.
    tokenizer_sha256
        Of its file, 64 hexadecimal digits in lower case.
    specials
        "text" or "parse": how strings of special tokens inside documents were treated.
    """

    type_name: ClassVar[str] = "text_hierarchical"
    """As a schema file has it."""


def token_file_options(
    format: str | None, dtype: str | None, eos: int | None, eos_at: str | None, vocabulary: int | None
) -> dict[str, Any]:
    """What files of token ids do not say themselves, for the extension module."""
    return {
        "token_format": None if format is None else FORMATS[choice("format", format, FORMATS)],
        "token_dtype": text("dtype", None if dtype is None else str(dtype)),
        "token_eos": whole_or_none("eos", eos, 0, 2**31 - 1),
        "token_eos_at": None if eos_at is None else choice("eos_at", eos_at, ("start", "end")),
        "token_vocabulary": whole_or_none("vocabulary", vocabulary, 1, 2**31),
    }


def _ids(field: FieldInfo, value: Any) -> Array:
    if is_tensor(value):
        value = from_tensor(field, value)
    if not isinstance(value, np.ndarray):
        if isinstance(value, (str, bytes, bytearray, Mapping)):
            raise wrong(field, value, "token ids: a list or an array of integers")
        try:
            value = np.asarray(value)
        except (TypeError, ValueError, OverflowError):
            raise wrong(field, value, "token ids: a list or an array of integers") from None
        if value.size == 0:
            value = np.zeros(0, np.uint8)
    if value.dtype == object:
        raise RangeError(f"field {field.name!r}: ids that no 64-bit integer holds", field=field.name)
    if value.dtype.kind not in "iu":
        raise wrong(field, value, "token ids: integers")
    if value.ndim != 1:
        raise wrong(field, value, "token ids in one dimension")
    return np.ascontiguousarray(value, value.dtype.newbyteorder("<"))


def _table(field: FieldInfo, value: Mapping[str, Any], count: int) -> Array:
    """The table of documents or pieces, as a payload has it."""
    ends = np.asarray(value["ends"])
    if ends.size == 0:
        ends = ends.astype(np.int64)
    if ends.dtype.kind not in "iu" or ends.ndim != 1:
        raise wrong(field, ends, "ends of documents: integers in one dimension")
    if ends.size and (int(ends.min()) < 0 or int(ends.max()) > count):
        raise RangeError(f"field {field.name!r}: a document ends outside the {count} tokens", field=field.name)
    if field.type_id == STREAM:
        return ends.astype("<u8")
    out = np.zeros(len(ends), PIECE)
    out["end"] = ends
    if value.get("from") is not None:
        begins = np.asarray(value["from"])
        if begins.shape != ends.shape or (begins.size and not 0 <= int(begins.min()) <= int(begins.max()) < 2**32):
            raise RangeError(f'field {field.name!r}: "from" is not a position for each piece', field=field.name)
        out["from"] = begins
    return out


def _with_table(field: FieldInfo, value: Mapping[str, Any]) -> bytes:
    if unknown := set(value) - {"tokens", "ends", "from"}:
        raise wrong(field, value, '{"tokens", "ends"}', f" with {sorted(unknown)}")
    ids = _ids(field, value["tokens"])
    table = _table(field, value, len(ids))
    head = struct.pack("<QQII", len(ids), len(table), DTYPES[ids.dtype.str[1:]], 0)
    data = ids.tobytes()
    return b"".join((head, data, bytes(-len(data) % 8), table.tobytes()))


def _ends(field: FieldInfo, name: str, value: Any) -> Array:
    ends: Array = np.asarray(value)
    if ends.size == 0:
        ends = ends.astype(np.int64)
    if ends.dtype.kind not in "iu" or ends.ndim != 1:
        raise wrong(field, ends, f"ends of {name}: integers in one dimension")
    if ends.size and not 0 <= int(ends.min()) <= int(ends.max()) < 2**32:
        raise RangeError(f"field {field.name!r}: {name} end outside 0 to 2^32 - 1", field=field.name)
    return ends.astype("<u4")


def _with_levels(field: FieldInfo, value: Mapping[str, Any]) -> bytes:
    if unknown := set(value) - {"tokens", "paragraphs", "sentences"}:
        raise wrong(field, value, '{"tokens", "paragraphs", "sentences"}', f" with {sorted(unknown)}")
    ids = _ids(field, value["tokens"])
    paragraphs, sentences = (_ends(field, name, value[name]) for name in LEVELS[1:])
    head = struct.pack("<QIIII", len(ids), len(paragraphs), len(sentences), DTYPES[ids.dtype.str[1:]], 0)
    data = ids.tobytes()
    return b"".join((head, data, bytes(-len(data) % 8), paragraphs.tobytes(), sentences.tobytes()))


def _is_nested(value: Any) -> bool:
    """A list of lists of sentences, which are lists or arrays of ids."""
    return isinstance(value, (list, tuple)) and any(isinstance(paragraph, (list, tuple)) for paragraph in value)


def _from_nested(field: FieldInfo, value: Any) -> bytes:
    what = "paragraphs: a list of lists of sentences, each a list of ids"
    if not all(isinstance(paragraph, (list, tuple)) for paragraph in value):
        raise wrong(field, value, what)
    if any(isinstance(sentence, (str, bytes, int)) for paragraph in value for sentence in paragraph):
        raise wrong(field, value, what)
    sentences = [_ids(field, sentence) for paragraph in value for sentence in paragraph]
    lengths = np.cumsum([0, *map(len, sentences)])
    ends = lengths[np.cumsum([len(paragraph) for paragraph in value], dtype=np.int64)]
    ids = np.concatenate(sentences) if sentences else np.zeros(0, np.uint8)
    if ids.dtype.kind == "f":  # uint64 beside a signed dtype
        ids = np.concatenate([sentence.astype("<i8") for sentence in sentences])
    return _with_levels(field, {"tokens": ids, "paragraphs": ends, "sentences": lengths[1:]})


def tokens_converter(field: FieldInfo) -> Callable[[Any], Any]:
    tables, levels = field.type_id in (PACKED, STREAM), field.type_id == HIERARCHICAL

    def convert(value: Any) -> Any:
        if value is None:
            return missing(field)
        if tables and isinstance(value, Mapping) and {"tokens", "ends"} <= set(value):
            return _with_table(field, value)
        if levels and isinstance(value, Mapping) and {"tokens", "paragraphs", "sentences"} <= set(value):
            return _with_levels(field, value)
        if levels and _is_nested(value):
            return _from_nested(field, value)
        if isinstance(value, np.ma.MaskedArray):
            value = unmasked(field, value)
            if value is None:
                return None
        if is_gone(value):
            return missing(field)
        return _ids(field, value)

    return convert


def _level_ends(table: bytes, tokens: int, level: int) -> Array:
    """Of the paragraphs and sentences: the first list ends where the first entry is the number of tokens."""
    both = np.frombuffer(table, "<u4").astype("<u8")
    first = int(np.flatnonzero(both == tokens)[0]) + 1 if len(both) else 0
    return both[:first] if level == 1 else both[first:]


def documents(field: FieldInfo, ids: Array, raw: Array, level: str = "document") -> Array:
    """Begin and end of each document, or entry of a level, in a value, from its ids and its stored bytes."""
    chosen = choice("level", level, LEVELS)
    if chosen and field.type_id != HIERARCHICAL:
        raise WrongTypeError(f"level={level!r}: field {field.name!r} is of type {field.type}", field=field.name)
    if field.type_id not in (PACKED, STREAM) and not chosen:
        return np.array([[0, len(ids)]], np.uint64)
    table = raw[-(-ids.nbytes // 8) * 8 :].tobytes()
    if chosen:
        ends = _level_ends(table, len(ids), chosen)
    elif field.type_id == STREAM:
        ends = np.frombuffer(table, "<u8")
    else:
        ends = np.frombuffer(table, PIECE)["end"].astype("<u8")
    out = np.zeros((len(ends), 2), np.uint64)
    out[1:, 0] = ends[:-1]
    out[:, 1] = ends
    return out
