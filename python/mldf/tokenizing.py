"""Documents that a Writer tokenizes: ``mldf.Tokens(tokenizer=…)``.

A Writer with such a field takes str for it. Samples wait until they have about 1 MB of text, go through the tokenizer
together, and are then appended; the library checks and narrows the ids on its threads meanwhile. tokenize.py is the
program that does the same for the command.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .errors import RangeError, SchemaError, WrongTypeError

__all__ = ["Tokenizing", "describe_tokenizer", "encoder", "is_tokenizer", "tokenizing"]

BATCH_CHARACTERS = 1 << 20
BATCH_SAMPLES = 4096

Encoder = Callable[[list[str]], Sequence[Any]]


def is_tokenizer(given: Any) -> bool:
    """Something that tokenizes, not the name of it."""
    return given is not None and not isinstance(given, str)


def _backend(given: Any) -> Any:
    """The Rust object of a fast tokenizer of transformers; anything else as it is."""
    return getattr(given, "backend_tokenizer", given)


def _find_id(given: Any, word: str, value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if not isinstance(value, str):
        raise SchemaError(f"{word}={value!r}: the id of a token, or its text")
    backend = _backend(given)
    special = getattr(backend, "_special_tokens", None)
    if hasattr(backend, "token_to_id"):
        found = backend.token_to_id(value)
    elif isinstance(special, Mapping):
        found = special.get(value)
    elif hasattr(backend, "piece_to_id"):
        found = backend.piece_to_id(value)
        found = None if found == backend.unk_id() else found
    else:
        raise SchemaError(f"{word}={value!r}: this tokenizer cannot say which id that is; give the id")
    if found is None:
        raise SchemaError(f"{word}={value!r}: no such token in the tokenizer's vocabulary")
    return int(found)


def _vocabulary(given: Any) -> int | None:
    backend = _backend(given)
    if hasattr(backend, "get_vocab_size") and hasattr(backend, "get_vocab"):
        return int(max(backend.get_vocab(with_added_tokens=True).values(), default=0)) + 1
    for name in ("n_vocab", "vocab_size"):
        value = getattr(backend, name, None)
        value = value() if callable(value) else value
        if isinstance(value, int):
            return value
    return None


def _name(given: Any) -> str:
    for name in ("name_or_path", "name"):
        value = getattr(given, name, None)
        if isinstance(value, str) and 0 < len(value.encode()) < 256:
            return value
    kind = type(given)
    return str(getattr(given, "__name__", kind.__name__))


def describe_tokenizer(given: Any, out: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a field whose tokenizer is an object."""
    out = dict(out)
    out["tokenizer"] = _name(given)
    out.setdefault("specials", "text")
    if "vocabulary" not in out and (size := _vocabulary(given)) is not None:
        out["vocabulary"] = size
    if "vocabulary" not in out:
        raise SchemaError("this tokenizer does not say how many ids it has: give vocabulary=")
    for word in ("bos", "eos", "pad"):
        if word in out:
            out[word] = _find_id(given, word, out[word])
    if "eos" in out:
        out.setdefault("eos_inside", True)
    return out


def _encoder(given: Any, parse: bool) -> Encoder:
    """list of str → list of ids, without special tokens added, with their strings taken as text or parsed."""
    backend = _backend(given)
    fast = getattr(backend, "encode_batch_fast", None) or (
        getattr(backend, "encode_batch", None) if hasattr(backend, "encode_special_tokens") else None
    )
    if fast is not None:

        def hugging_face(texts: list[str]) -> list[list[int]]:
            before = backend.encode_special_tokens
            backend.encode_special_tokens = not parse
            try:
                return [e.ids for e in fast(texts, add_special_tokens=False)]
            finally:
                backend.encode_special_tokens = before

        return hugging_face
    if hasattr(backend, "encode_ordinary_batch"):
        if parse:
            return lambda texts: backend.encode_batch(texts, allowed_special="all")
        return backend.encode_ordinary_batch  # type: ignore[no-any-return]
    if hasattr(backend, "piece_to_id") and hasattr(backend, "encode"):
        if parse:
            raise SchemaError("a SentencePiece model has no special strings to parse")
        return backend.encode  # type: ignore[no-any-return]
    if hasattr(backend, "encode_batch_list"):
        return backend.encode_batch_list  # type: ignore[no-any-return]
    if callable(backend):
        return backend  # type: ignore[no-any-return]
    raise SchemaError(f"tokenizer={given!r}: neither callable (list of str to list of ids) nor a tokenizer known here")


def encoder(field: Any) -> Encoder:
    """Of a mldf.Tokens with a tokenizer: list of str → list of ids."""
    return _encoder(field.tokenizer, field.specials == "parse")


class _Field:
    """One field that is tokenized."""

    def __init__(self, name: str, given: Any, arguments: Mapping[str, Any]) -> None:
        self.name = name
        self.encode = _encoder(given, arguments.get("specials") == "parse")
        inside = arguments.get("eos_inside", False)
        self.before = [arguments["bos"]] if "bos" in arguments else []
        self.after = [arguments["eos"]] if "eos" in arguments and inside else []

    def fill(self, samples: list[dict[str, Any]]) -> None:
        """Ids in place of text, in every sample that has text there."""
        chosen = [s for s in samples if isinstance(s.get(self.name), str)]
        if not chosen:
            return
        results = self.encode([s[self.name] for s in chosen])
        if len(results) != len(chosen):
            raise RangeError(
                f"field {self.name!r}: the tokenizer gave {len(results)} results for {len(chosen)} documents",
                field=self.name,
            )
        for sample, result in zip(chosen, results):
            if isinstance(result, Mapping):
                if "tokens" not in result:
                    raise WrongTypeError(f'field {self.name!r}: the tokenizer gave a dict without "tokens"')
                sample |= {k: v for k, v in result.items() if k != "tokens"}
                sample[self.name] = result["tokens"]
            elif self.before or self.after:
                sample[self.name] = [*self.before, *result, *self.after]
            else:
                sample[self.name] = result


class Tokenizing:
    """Samples that wait for their tokenizer."""

    def __init__(self, fields: list[_Field]) -> None:
        self.fields = fields
        self.names = frozenset(field.name for field in fields)
        self.held: list[tuple[dict[str, Any], Any]] = []
        self.characters = 0

    def wants(self, sample: Mapping[str, Any]) -> bool:
        """Has this sample text that is to be tokenized, or is one waiting before it?"""
        return bool(self.held) or any(isinstance(sample.get(name), str) for name in self.names)

    def hold(self, sample: Mapping[str, Any], key: Any) -> bool:
        """True: enough for the tokenizer."""
        self.held.append((dict(sample), key))
        self.characters += sum(len(v) for n in self.names if isinstance(v := sample.get(n), str))
        return self.characters >= BATCH_CHARACTERS or len(self.held) >= BATCH_SAMPLES

    def take(self) -> list[tuple[dict[str, Any], Any]]:
        """All that wait, tokenized. When the tokenizer fails they are gone: its error ends the writing."""
        held, self.held, self.characters = self.held, [], 0
        for field in self.fields:
            field.fill([sample for sample, _ in held])
        return held


def tokenizing(fields: Any) -> Tokenizing | None:
    """Of the fields that a Writer was given, those with a tokenizer."""
    if not isinstance(fields, Mapping):
        return None
    found = [
        _Field(str(name), given, field.arguments())
        for name, field in fields.items()
        if is_tokenizer(given := getattr(field, "tokenizer", None))
    ]
    return Tokenizing(found) if found else None
