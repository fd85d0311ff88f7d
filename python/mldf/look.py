"""Whole-file operations that only read: info, verify, diff, stats, plan. tools.py has those that write.

>>> import mldf, os, tempfile
>>> path = os.path.join(tempfile.mkdtemp(), "n.mldf")
>>> mldf.write(path, [(i,) for i in range(5)], {"n": "int"}).samples
5
>>> mldf.info(path)["num_samples"], mldf.stats(path)["n"]["mean"]
(5, 2.0)
>>> mldf.verify(path, deep=True).ok, mldf.diff(path, path).equal
(True, True)
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from . import _mldf
from .dataset import TAR_INDEX, Dataset
from .dataset import open as open_dataset
from .errors import ArgumentError
from .fields import registered_types, schema_json
from .limits import decoded_limit, flag, text, thread_count, whole, whole_or_none
from .paths import Path, encode
from .progress import ProgressArgument, Reporting
from .results import Difference, DiffResult, Info, Problem, Stats, VerifyResult, class_names
from .schema import Schema, rows_dtype
from .secret import Key, Passphrase, secret

__all__ = ["diff", "info", "plan", "plan_tokens", "stats", "verify"]


def is_whole(dataset: Dataset) -> bool:
    """All samples and fields of its files, in their order?"""
    view = dataset._view
    return dataset._index is None and view.files.only is None and view.fields == list(view.files.schema)


@contextmanager
def opened(source: Path | Dataset, key: Key, passphrase: Passphrase) -> Iterator[_mldf.Reader]:
    """The one reader of a path or of a dataset of one whole file."""
    if isinstance(source, Dataset):
        if len(source._view.files.readers) > 1 or not is_whole(source):
            raise ArgumentError(
                "a path, or a dataset of one whole file with all its fields, is needed here; use mldf.write for parts "
                "of datasets"
            )
        yield source._view.files.readers[0]
        return
    with open_dataset([source], key=key, passphrase=passphrase, verify=True) as dataset:
        yield dataset._view.files.readers[0]


def secret_of(source: Any, key: Key, passphrase: Passphrase) -> tuple[Key, Passphrase]:
    """What opens the source: as given, or what a dataset was opened with."""
    if isinstance(source, Dataset) and key is None and passphrase is None:
        options = source._view.files.options
        return options["key"], options["passphrase"]
    return key, passphrase


_PREFIX_BYTES = 73  # the magic and the header
_OTHER_LAYOUT = dict.fromkeys(("padding_bytes", "page_size", "pages", "fill_ratio", "header"))
_FLAGS = ("little_endian", "compressed", "checksummed", "encrypted", "encrypted_tables")
_DICTIONARIES = {"dictionary": "plain", "encrypted_dictionary": "encrypted"}


def info(
    path: Path,
    *,
    key: Key = None,
    passphrase: Passphrase = None,
    keep_index: bool = False,
    max_unpacked: int | None = None,
) -> Info:
    """What is in a file, as ``mldf info --json`` says it. An encrypted file needs no key.

    Parameters
    ----------
    path
        The file.
    key
        Of an encrypted file: 32 bytes.
    passphrase
        Of an encrypted file.
    keep_index
        Of a plain tar: keep its index in FILE.mldfidx, so that it opens at once the next time.
    max_unpacked
        Refuse a compressed tar that unpacks to more bytes than these; None: 2**40.
    """
    options = {
        "sequential": True,  # no value is read: a compressed tar is not unpacked
        "max_unpacked": whole_or_none("max_unpacked", max_unpacked, 1),
        "without_key": not (key or passphrase),
        "tar_index": TAR_INDEX.index("keep" if flag("keep_index", keep_index) else "use"),
        **secret(key, passphrase),
    }
    reader = _mldf.open_reader(encode(path), options, registered_types())
    about = reader.info()
    fields = []
    for i, raw in enumerate(reader.fields()):
        keep = ("name", "type", "type_id", "nullable", "compressed", "record_bytes", "row_offset")
        fields.append(
            {**{k: raw[k] for k in keep}, "arguments": json.loads(raw["arguments"]), "statistics": reader.statistics(i)}
        )
    data_bytes = _data_bytes(reader, about, fields)
    card = reader.card() if not about["flags"] & 8 or about["authenticated"] else None
    foreign = about["format"] != "mldf"
    plans = [] if foreign else [_filled(plan) for plan in reader.token_plans()]
    reader.close()
    major, minor = about["version_major"], about["version_minor"]
    about_all = {
        "format": about["format"],
        "version": (str(major) if major else None) if foreign else f"{major}.{minor}",
        "num_samples": about["num_samples"],
        "file_bytes": about["file_bytes"],
        "data_bytes": data_bytes,
        **(_OTHER_LAYOUT | {"page_size": about["page_size"] or None} if foreign else _layout(about, data_bytes)),
        "flags": [] if foreign else [name for bit, name in enumerate(_FLAGS) if about["flags"] >> bit & 1],
        "fields": fields,
        "sections": about["sections"],
        "card": json.loads(card) if card else None,
        "dictionary": next((_DICTIONARIES[s["name"]] for s in about["sections"] if s["name"] in _DICTIONARIES), None),
        **{k: about[k] for k in ("has_keys", "generation", "authenticated", "ignored_bytes", "header_recovered")},
        **({"token_plans": plans} if plans else {}),
    }
    return Info(about_all)


def _filled(plan: dict[str, Any]) -> dict[str, Any]:
    """A pack plan as the command shows it."""
    slots = plan["bins"] * plan["length"]
    return {
        **{name: value for name, value in plan.items() if name != "seed" or value},
        "max_pieces": plan["max_pieces"] or None,
        "slots": slots,
        "fill": plan["tokens"] / slots if slots else 0.0,
    }


def plan_tokens(
    path: Path,
    length: int,
    *,
    field: str | None = None,
    algorithm: str = "best-fit",
    align: int = 1,
    long: str = "cut",
    max_pieces: int | None = None,
    bos: int | None = None,
    eos: int | None = None,
    seed: int = 0,
    key: Key = None,
    passphrase: Passphrase = None,
) -> dict[str, Any]:
    """Plans how the documents of a token field are packed into sequences of ``length`` tokens, and keeps the plan in
    the file, atomically as append does; one with the same options is replaced. Gives what ``mldf plan-tokens --json``
    says: bins, pieces, fill, cut_documents ...

    Parameters
    ----------
    path
        The file.
    length
        Tokens of a sequence.
    field
        The token field; None: the only one of type text_tokenized.
    algorithm
        "best-fit", "next-fit", or "concat", which is only reckoned: it needs no plan.
    align
        Documents begin at multiples of it.
    long
        Documents longer than a sequence: "cut", "truncate" or "drop".
    max_pieces
        At most so many pieces in a sequence.
    bos, eos
        Count these ids before and after each document.
    seed
        Best-fit: documents that take equal places come in a random order; 0: by their numbers.
    key
        Of an encrypted file: 32 bytes.
    passphrase
        Of an encrypted file.

    Examples
    --------
    >>> import mldf, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "t.mldf")
    >>> _ = mldf.write(path, [{"tokens": range(n)} for n in (3, 9, 5, 4)], {"tokens": mldf.Tokens(100)})
    >>> plan = mldf.plan_tokens(path, 7)
    >>> plan["bins"], plan["pieces"], plan["cut_documents"], plan["fill"]
    (3, 5, 1, 1.0)
    """
    options = {
        "field": field,
        "length": whole("length", length, 1, 2**32 - 1),
        "algorithm": text("algorithm", algorithm),
        "align": whole("align", align, 1, 2**32 - 1),
        "long": text("long", long),
        "max_pieces": whole_or_none("max_pieces", max_pieces, 1, 2**32 - 1),
        "bos": whole_or_none("bos", bos, 0, 2**31 - 1),
        "eos": whole_or_none("eos", eos, 0, 2**31 - 1),
        "seed": whole("seed", seed, 0, 2**64 - 1),
        **secret(key, passphrase),
    }
    plan = _filled(_mldf.plan_tokens(encode(path), options))
    del plan["field"]
    return plan


def _data_bytes(reader: _mldf.Reader, about: dict[str, Any], fields: list[dict[str, Any]]) -> int | None:
    """Stored bytes of all payloads: from the statistics, the other format's index, or the rows."""
    if about["format"] != "mldf":
        return reader.payload_bytes()
    if all(f["statistics"] is not None for f in fields):
        return sum(int(f["statistics"]["stored_bytes"]) for f in fields)
    if not about["is_mapped"]:
        return None
    schema = Schema.from_reader(reader.fields())
    rows: np.ndarray[Any, Any] = np.ndarray(about["num_samples"], rows_dtype(schema, about["row_bytes"]), reader.rows())
    with_payload = [name for name in schema if "size" in (rows.dtype[name].names or ()) and not schema[name].in_row]
    return sum(int(rows[name]["size"].sum(dtype=np.uint64)) for name in with_payload)


def _layout(about: dict[str, Any], data_bytes: int | None) -> dict[str, Any]:
    """Padding of the data region, with the gap in front of its first page; its pages; the header's pointers."""
    begin, page = about["data_ptr"], about["page_size"]
    tables = [(about[f"{k}_ptr"], about[f"{k}_bytes"]) for k in ("metadata", "allocation", "descriptor")]
    others = tables + [(s["ptr"], s["bytes"]) for s in about["sections"]]
    after = [ptr for ptr, _ in others] + [about["directory_ptr"], about["file_bytes"]]
    inside = begin < about["file_bytes"]
    region = min(p for p in after if p >= begin) - begin if inside else 0
    front = max([_PREFIX_BYTES, *(ptr + size for ptr, size in others if ptr < begin)])
    gap = begin - min(begin, front) if inside else 0
    padding = region - data_bytes + gap if data_bytes is not None and region >= data_bytes else None
    whole = None if data_bytes is None or padding is None else data_bytes + padding
    names = ("descriptor_ptr", "metadata_ptr", "data_ptr", "allocation_ptr", "directory_ptr")
    return {
        "padding_bytes": padding,
        "page_size": page or None,
        "pages": -(-region // page) if page else None,
        "fill_ratio": data_bytes / whole if data_bytes is not None and whole else None,
        "header": {name: about[name] for name in names},
    }


def verify(
    path: Path,
    *,
    deep: bool = False,
    threads: int | None = None,
    key: Key = None,
    passphrase: Passphrase = None,
    max_decoded_bytes: int | None = None,
    max_unpacked: int | None = None,
    progress: ProgressArgument = None,
) -> VerifyResult:
    """Checks structure and checksums of a file of any format; deep decodes every value too.

    Parameters
    ----------
    path
        The file.
    deep
        Decode every value too; what is wrong with the data is in the result, not raised.
    threads
        None: the CPUs that this process may use.
    key
        Of an encrypted file: 32 bytes.
    passphrase
        Of an encrypted file.
    max_decoded_bytes
        As for :func:`mldf.open`; a value beyond it is a problem of status "limit".
    max_unpacked
        Of a compressed tar, the bytes after which one that unpacks to more is refused; None: 2**40.
    progress
        True: a bar on stderr; or a function that is called (:class:`mldf.Progress`).
    """
    options = {
        "deep": flag("deep", deep),
        "threads": thread_count(threads),
        "max_unpacked": whole_or_none("max_unpacked", max_unpacked, 1),
        **secret(key, passphrase),
        **decoded_limit(max_decoded_bytes),
    }
    with Reporting("verify", progress) as hook:
        found = _mldf.verify(encode(path), options, registered_types(), hook)
    problems = [
        Problem(status, offset, sample, name or None, message)
        for status, offset, sample, name, message in found["problems"]
    ]
    return VerifyResult(
        found["num_samples"],
        found["good_samples"],
        problems,
        found["checksummed"],
        found["encrypted"],
        found["authenticated"],
    )


def diff(
    a: Path | Dataset,
    b: Path | Dataset,
    *,
    limit: int = 1000,
    key: Key = None,
    passphrase: Passphrase = None,
    progress: ProgressArgument = None,
) -> DiffResult:
    """Compares two files by content, whatever their layout or format.

    Parameters
    ----------
    a, b
        Paths, or datasets of one whole file.
    limit
        Stop after so many differences.
    key
        Of an encrypted file: 32 bytes.
    passphrase
        Of an encrypted file.
    progress
        True: a bar on stderr; or a function that is called (:class:`mldf.Progress`).
    """
    with opened(a, key, passphrase) as left, opened(b, key, passphrase) as right, Reporting("diff", progress) as hook:
        found = _mldf.diff(left, right, whole("limit", limit, 1, 2**63 - 1), hook)
    return DiffResult([Difference(sample, name or None, what, message) for sample, name, what, message in found])


def stats(
    source: Path | Dataset, *, key: Key = None, passphrase: Passphrase = None, progress: ProgressArgument = None
) -> Stats:
    """How the values of each field are distributed: a dict for each field, with the keys of ``mldf stats --json``. The
    members of a struct that are numbers follow it as "pose.x".

    Parameters
    ----------
    source
        A path, or a dataset of one whole file.
    key
        Of an encrypted file: 32 bytes.
    passphrase
        Of an encrypted file.
    progress
        True: a bar on stderr; or a function that is called (:class:`mldf.Progress`).
    """
    with opened(source, key, passphrase) as reader, Reporting("stats", progress) as hook:
        found = _mldf.stats(reader, hook)
        names = class_names(reader.card(), [(f["name"], f["type"]) for f in reader.fields()])
    for field in found:
        for one in field["classes"] or ():
            label, known = one["value"], names.get(field["name"], ())
            if isinstance(label, int) and 0 <= label < len(known):
                one["class_name"] = known[label]
    return Stats({one["name"]: _summary(one) for field in found for one in (field, *field["members"])})


def _summary(one: dict[str, Any]) -> dict[str, Any]:
    """Of a field, or of a member of a struct."""
    names = ("mean", "std", "p50", "p90", "p99", "percentiles", "histogram")
    values = one["values"] or dict.fromkeys(names) | {"histogram": []}
    classes = one["classes"]
    return {
        **{k: one[k] for k in ("type", "count", "nulls", "nonfinite", "elements", "min", "max")},
        **{k: values[k] for k in names},
        **{k: one[k] for k in ("lengths", "bytes", "dims")},
        **({"measures": one["measures"]} if one["measures"] else {}),
        "distinct": None if classes is None else len(classes),
        "classes": classes,
    }


def plan(
    fields: Any,
    samples: int,
    *,
    payload_bytes: Mapping[str, int] | None = None,
    page_size: int | None = None,
    checksums: bool = True,
) -> list[dict[str, Any]]:
    """The byte ranges that a file will have, before anything is written.

    Parameters
    ----------
    fields
        As for :class:`mldf.Writer`.
    samples
        How many there will be.
    payload_bytes
        The size of one sample's payload, by field, where it is not fixed.
    page_size, checksums
        As for the Writer.

    Examples
    --------
    >>> plan({"label": "int"}, 1000)[0]
    {'name': 'magic', 'begin': 0, 'end': 9}
    """
    text = schema_json(fields)
    given = dict(payload_bytes or {})
    sizes = [whole_or_none(f["name"], given.pop(f["name"], None)) for f in json.loads(text)["fields"]]
    if given:
        raise ArgumentError(f"payload_bytes: there is no field {next(iter(given))!r}")
    options = {
        "schema": text,
        "samples": whole("samples", samples),
        "page_size": whole_or_none("page_size", page_size),
        "no_checksums": not flag("checksums", checksums),
    }
    return [
        {"name": name, "begin": begin, "end": end}
        for name, begin, end in _mldf.plan_file(sizes, options, registered_types())
    ]
