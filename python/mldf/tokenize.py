"""``python3 -m mldf.tokenize FILE``: a tokenizer as the program that ``mldf pack --tokenizer exec:…`` talks to.

FILE is a ``tokenizer.json`` of Hugging Face tokenizers, a ``.model`` of SentencePiece (PyPI), or the name of a tiktoken
encoding or model ("gpt2", "cl100k_base"). Where gigatoken is installed it encodes in place of Hugging Face tokenizers:
the ids are the same. Post-processors are off: no special token is added. Strings of special tokens inside documents are
text, unless ``--specials parse``.

``--bos``, ``--eos``, ``--pad`` name tokens or ids; without them well-known names are looked for, in the vocabulary and
in a ``tokenizer_config.json`` beside the file. docs/tokenizers.md has the protocol; a program of your own that speaks
it works as well.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import struct
import sys
from array import array
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO

__all__ = ["main", "serve"]

HEAD = struct.Struct("<IIQ")
ENCODE, REFUSAL, DECODE = 0, 1, 2
KNOWN = {
    "bos": ("<s>", "<|begin_of_text|>", "<bos>", "<|startoftext|>", "[CLS]"),
    "eos": ("<|endoftext|>", "</s>", "<|end_of_text|>", "<eos>", "<|im_end|>", "[SEP]"),
    "pad": ("<pad>", "<|pad|>", "[PAD]", "<|finetune_right_pad_id|>"),
}


class Model:
    """What the protocol needs of a tokenizer."""

    def __init__(self, name: str, sha256: str | None, vocabulary: int, encode: Any, decode: Any, find: Any) -> None:
        self.name, self.sha256, self.vocabulary = name, sha256, vocabulary
        self.encode: Callable[[list[str]], Sequence[Sequence[int]]] = encode
        self.decode: Callable[[list[int]], str] = decode
        self.find: Callable[[str], int | None] = find
        self.bos: int | None = None
        self.eos: int | None = None
        self.pad: int | None = None
        self.specials = "text"

    def hello(self) -> bytes:
        names = ("name", "sha256", "vocabulary", "bos", "eos", "pad", "specials")
        text = {"mldf_tokenizer": 1, **{name: getattr(self, name) for name in names}, "decode": True}
        return json.dumps(text).encode() + b"\n"


def _tiktoken(name: str, parse: bool) -> Model:
    import tiktoken

    try:
        encoding = tiktoken.get_encoding(name)
    except ValueError:
        encoding = tiktoken.encoding_for_model(name)

    def encode(texts: list[str]) -> list[list[int]]:
        if parse:
            return list(encoding.encode_batch(texts, allowed_special="all"))
        return list(encoding.encode_ordinary_batch(texts))

    find = encoding._special_tokens.get
    model = Model(encoding.name, None, encoding.n_vocab, encode, encoding.decode, find)
    model.eos = find("<|endoftext|>")
    return model


def _sentencepiece(path: str, parse: bool) -> Model:
    import sentencepiece

    if parse:
        raise SystemExit("a SentencePiece model has no special strings to parse: define them as user symbols")
    processor = sentencepiece.SentencePieceProcessor(model_file=path)

    def find(name: str) -> int | None:
        found = int(processor.piece_to_id(name))
        return None if found == processor.unk_id() else found

    size = processor.get_piece_size()
    model = Model(os.path.basename(path), _sha256(path), size, processor.encode, processor.decode, find)
    for word in ("bos", "eos", "pad"):
        found = getattr(processor, f"{word}_id")()
        setattr(model, word, None if found < 0 else found)
    return model


def _hugging_face(path: str, parse: bool) -> Model:
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(path)
    tokenizer.no_padding()
    tokenizer.no_truncation()
    encode_special(tokenizer, parse)
    batch = getattr(tokenizer, "encode_batch_fast", tokenizer.encode_batch)

    def encode(texts: list[str]) -> list[list[int]]:
        return [e.ids for e in batch(texts, add_special_tokens=False)]

    def decode(ids: list[int]) -> str:
        return str(tokenizer.decode(ids, skip_special_tokens=False))

    fast = None if parse else _gigatoken(path, tokenizer, encode)
    top = max(tokenizer.get_vocab(with_added_tokens=True).values(), default=0) + 1
    return Model(os.path.basename(path), _sha256(path), top, fast or encode, decode, tokenizer.token_to_id)


def encode_special(tokenizer: Any, parse: bool) -> None:
    """Whether special strings in documents become their ids."""
    if hasattr(type(tokenizer), "encode_special_tokens"):
        tokenizer.encode_special_tokens = not parse
    elif not parse:
        raise SystemExit("this version of tokenizers cannot leave special tokens as text: install 0.19 or later")


def _gigatoken(path: str, tokenizer: Any, slow: Callable[[list[str]], list[list[int]]]) -> Any:
    """gigatoken's encoder for the same file, or None. It turns special strings into their ids, so documents that
    contain one go through the other."""
    try:
        import gigatoken
    except ImportError:
        return None
    added = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
    special = re.compile("|".join(map(re.escape, added))) if added else None
    trial = ["The quick brown fox, 1234.\n\n  x = y;\t\u00e4\u4e2d", " ", "", "\U0001f600 don't"]
    try:
        fast = gigatoken.Tokenizer(path)
        if fast.encode_batch_list(trial) != slow(trial):
            return None
    except Exception:  # a kind of tokenizer that it does not have
        return None

    def encode(texts: list[str]) -> list[list[int]]:
        if special is None:
            return list(fast.encode_batch_list(texts))
        odd = [i for i, text in enumerate(texts) if special.search(text)]
        out = list(fast.encode_batch_list(texts))
        for i, ids in zip(odd, slow([texts[i] for i in odd])):
            out[i] = ids
        return out

    return encode


def _sha256(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def _beside(path: str) -> dict[str, Any]:
    """What tokenizer_config.json says."""
    try:
        with open(os.path.join(os.path.dirname(path), "tokenizer_config.json"), encoding="utf-8") as file:
            loaded = json.load(file)
    except (OSError, ValueError):
        return {}
    return loaded if isinstance(loaded, dict) else {}


def load(path: str, *, specials: str = "text", **ids: str | None) -> Model:
    """The tokenizer of a file, or a tiktoken encoding by its name."""
    parse = specials == "parse"
    if path.endswith(".model"):
        model = _sentencepiece(path, parse)
    elif os.path.exists(path) or path.endswith(".json"):
        model = _hugging_face(path, parse)
    else:
        model = _tiktoken(path, parse)
    model.specials = specials
    config = _beside(path)
    for word in ("bos", "eos", "pad"):
        given = ids.get(word)
        if given is not None:
            setattr(model, word, _id(model, word, given))
            continue
        if getattr(model, word) is not None:
            continue
        stated = config.get(f"{word}_token")
        stated = stated.get("content") if isinstance(stated, dict) else stated
        names = ([stated] if isinstance(stated, str) else []) + list(KNOWN[word])
        setattr(model, word, next((i for i in map(model.find, names) if i is not None), None))
    return model


def _id(model: Model, word: str, given: str) -> int:
    found = model.find(given)
    if found is None and given.isdigit() and int(given) < model.vocabulary:
        found = int(given)
    if found is None:
        raise SystemExit(f"--{word} {given}: no such token in {model.name}")
    return found


def _read(stream: BinaryIO, count: int) -> bytes:
    """Exactly so many bytes; b"" at the end of the input."""
    parts: list[bytes] = []
    left = count
    while left:
        part = stream.read(left)
        if not part:
            if left == count:
                return b""
            raise SystemExit("the input ended inside a request")
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _encode(model: Model, lengths: Sequence[int], data: bytes) -> tuple[array[int], array[int]]:
    texts, at = [], 0
    for length in lengths:
        texts.append(data[at : at + length].decode("utf-8"))
        at += length
    ids = model.encode(texts)
    flat: array[int] = array("I")
    for one in ids:
        flat.extend(one)
    return array("I", [len(one) for one in ids]), flat


def _answer(model: Model, kind: int, sizes: array[int], data: bytes) -> bytes:
    if kind == ENCODE:
        counts, ids = _encode(model, sizes, data)
        return HEAD.pack(len(counts), ENCODE, len(ids)) + counts.tobytes() + ids.tobytes()
    flat, at, texts = array("I", data), 0, []
    for count in sizes:
        texts.append(model.decode(flat[at : at + count].tolist()).encode("utf-8", "replace"))
        at += count
    text = b"".join(texts)
    return HEAD.pack(len(texts), DECODE, len(text)) + array("I", [len(t) for t in texts]).tobytes() + text


def serve(model: Model, source: BinaryIO, target: BinaryIO) -> None:
    """Answers requests until the input ends."""
    target.write(model.hello())
    target.flush()
    while head := _read(source, HEAD.size):
        n, kind, total = HEAD.unpack(head)
        if kind not in (ENCODE, DECODE):
            raise SystemExit(f"a request of kind {kind}")
        sizes = array("I", _read(source, 4 * n))
        data = _read(source, total if kind == ENCODE else 4 * total)
        try:
            answer = _answer(model, kind, sizes, data)
        except Exception as error:
            if n == 1:
                text = f"{type(error).__name__}: {error}".encode()[:1000]
                answer = HEAD.pack(0, REFUSAL, len(text)) + text
            else:
                answer = _refused(model, kind, sizes, data, error)
        target.write(answer)
        target.flush()


def _refused(model: Model, kind: int, sizes: array[int], data: bytes, error: Exception) -> bytes:
    """The first document that fails alone; when none does, the batch's error."""
    at = 0
    for i, size in enumerate(sizes):
        part = size if kind == ENCODE else 4 * size
        try:
            _answer(model, kind, array("I", [size]), data[at : at + part])
        except Exception as alone:
            text = f"{type(alone).__name__}: {alone}".encode()[:1000]
            return HEAD.pack(i, REFUSAL, len(text)) + text
        at += part
    raise error


def main(arguments: list[str] | None = None) -> None:
    """The program."""
    parser = argparse.ArgumentParser(prog="python3 -m mldf.tokenize", description="a tokenizer for mldf pack")
    parser.add_argument("file", help="tokenizer.json, a SentencePiece .model, or the name of a tiktoken encoding")
    parser.add_argument("--specials", choices=("text", "parse"), default="text", help="special strings in documents")
    for word in ("bos", "eos", "pad"):
        parser.add_argument(f"--{word}", help="a token or an id")
    given = parser.parse_args(arguments)
    try:
        model = load(given.file, specials=given.specials, bos=given.bos, eos=given.eos, pad=given.pad)
    except ImportError as error:
        raise SystemExit(f"{error.name} is not installed: pip install {error.name}") from None
    serve(model, sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main()
