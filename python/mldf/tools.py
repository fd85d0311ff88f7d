"""Everything that the command does, as functions. All take ``progress``: True for a bar on stderr, or a function that
is told how far things are (see :class:`mldf.Progress`). Ctrl-C ends them quickly, and nothing is left behind.

>>> import mldf, os, pathlib, tempfile
>>> folder = tempfile.mkdtemp()
>>> rows = pathlib.Path(folder, "rows.csv")
>>> _ = rows.write_text("label,name\\n1,one\\n2,two\\n3,three\\n")
>>> out = os.path.join(folder, "rows.mldf")
>>> mldf.pack(rows, out).written
3
>>> mldf.verify(out).ok
True
>>> mldf.select(out, os.path.join(folder, "big.mldf"), where="label > 1").written
2
>>> mldf.append(out, rows).written
3
>>> _ = rows.write_text("score\\n0.1\\n0.2\\n0.3\\n0.4\\n0.5\\n0.6\\n")
>>> mldf.add_field(out, "score", rows, column="score").written
6
>>> parts = mldf.split(out, os.path.join(folder, "part-{}.mldf"), count=4).parts
>>> [p.samples for p in parts]
[4, 2]
>>> mldf.merge([p.path for p in parts], os.path.join(folder, "again.mldf")).written
6
>>> mldf.convert(out, os.path.join(folder, "rows.tar")).written
6
>>> mldf.extract(out, os.path.join(folder, "files")).written
6
>>> mldf.repack(out, compress=["name"]).written
6
>>> mldf.repair(out).action
'nothing was wrong'
>>> mldf.clean(folder)
[]

All of them raise :class:`mldf.Error`: of the files, of their contents, of the arguments.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack

from . import _mldf
from .audio import CompressedAudio
from .dataset import Dataset
from .errors import ArgumentError, WrongTypeError, warnings_since
from .fields import Image, registered_types, schema_json
from .limits import decoded_limit, flag, skips, text, thread_count, whole, whole_or_none
from .look import opened, secret_of
from .paths import Path, Paths, encode
from .paths import encode as path_bytes
from .progress import ProgressArgument, Reporting
from .results import Leftover, Part, Result, Skip
from .secret import Key, Passphrase, secret
from .suggest import choice
from .tokens import token_file_options
from .tool_options import (
    OutputOptions,
    compressed,
    keep_encrypted,
    name_list,
    output_options,
    pack_options,
    peek,
    ranges,
    recoded,
    source_files,
    table_format,
    tokenize_options,
    whole_files,
)
from .video import frame_rate

__all__ = ["add_field", "append", "clean", "convert", "extract", "merge", "pack", "repack", "repair", "select", "split"]


def _result(began: float, answer: tuple[int, int, int, list[tuple[Any, ...]]]) -> Result:
    written, _, size, reports = answer

    def of(kind: str) -> list[Skip]:
        return [Skip(str(r[1]), r[2]) for r in reports if r[0] == kind]

    return Result(
        written,
        size,
        time.monotonic() - began,
        of("skipped") + of("lost"),
        of("warning") + [Skip("", message) for message in warnings_since(began)],
        of("left_out"),
        [Part(*r[1:]) for r in reports if r[0] == "part"],
        *next((r[1:] for r in reports if r[0] == "action"), (None,) * 5),
    )


def pack(
    sources: Paths,
    out: Path,
    *,
    fields: Any = None,
    format: str | None = None,
    layout: str | None = None,
    key_column: str | None = None,
    files: Sequence[str] | str | None = None,
    root: Path | None = None,
    allow_outside: bool = False,
    delimiter: str | None = None,
    image: Mapping[str, Any] | Image | None = None,
    audio: Mapping[str, Any] | CompressedAudio | None = None,
    cut: bool = False,
    rate: int | None = None,
    mono: bool = False,
    fps: Any = None,
    on_error: str = "raise",
    check: bool = False,
    compress: Any = None,
    resume: bool = False,
    max_decoded_bytes: int | None = None,
    max_unpacked: int | None = None,
    text: str | None = None,
    tokenizer: str | None = None,
    eos: bool | int = False,
    bos: bool | int = False,
    utf8: str = "refuse",
    tokenizer_timeout: int | None = None,
    tokenizer_processes: int | None = None,
    progress: ProgressArgument = None,
    **output: Unpack[OutputOptions],
) -> Result:
    """Packs folders of images or recordings, speech corpora, tables (CSV, TSV, JSON lines, JSON arrays of objects) or
    tar archives into a new file.

    Parameters
    ----------
    sources
        A path, a list of them, a glob, or a range ``{000..009}``.
    out
        The new file.
    fields
        The schema; None: from the data.
    format
        Of a table: "csv", "tsv", "jsonl"; also "tar" or "folder"; None: by the file's name and bytes.
    layout
        Of a folder: "flat", "classes" (sub-folders are classes), "frames" (each folder of images is a video, in a field
        of type video_frames), None: by what is there.
    key_column, files, root, allow_outside
        Of tables: which column has the keys, and which name files.
    delimiter
        Of CSV: one character; None: tab, comma, semicolon or vertical bar, by the first two lines.
    image
        How images are stored: ``{"encode": "jpeg", "max_resolution": 512}``, or an :class:`mldf.Image`.
    audio
        How recordings are stored: ``{"encode": "flac"}``, ``{"encode": "pcm"}``, ``{"keep_file": True}``, or an
        :class:`mldf.CompressedAudio`.
    cut
        Of speech corpora whose utterances are parts of recordings: a sample for each utterance, cut out; otherwise a
        sample is a recording with segments.
    rate, mono
        Recordings are resampled, and mixed to one channel; they are stored as PCM.
    fps
        Layout "frames": frames a second, a number or a fraction; None: 1.
    on_error
        "raise", or "skip": leave out what does not fit, and list it in the result.
    check
        Decode every image while packing.
    compress
        ``["text"]`` or ``{"text": 9}``.
    resume
        Keep OUT.partial when interrupted, and go on from it.
    max_decoded_bytes
        As for :func:`mldf.open`: of one member of a compressed archive, None: 4 GiB.
    max_unpacked
        Refuse a compressed tar that unpacks to more bytes than these; None: 2**40.
    text
        Make tokens of this column or extension, "FIELD" or "FIELD=NAME"; of a folder every file is a document.
    tokenizer
        With text: "bytes", "sp:MODEL" or "exec:COMMAND"; objects: :class:`mldf.Tokens` and a Writer.
    eos, bos
        End every document with the tokenizer's eos, begin it with its bos; a number: with this id.
    utf8
        "refuse" text that is not UTF-8, or "replace" the broken bytes with U+FFFD.
    tokenizer_timeout, tokenizer_processes
        Seconds for one answer of its program (None: 300), programs side by side.
    progress
        True: a bar on stderr; or a function that is called (:class:`mldf.Progress`).
    **output
        Of the file that is written (:class:`mldf.OutputOptions`): overwrite, threads, checksums, dictionary, page_size,
        card, encrypt_key, encrypt_passphrase, encrypt_all.
    """
    began = time.monotonic()
    options = {
        **output_options(output),
        **tokenize_options(text, tokenizer, eos, bos, utf8, tokenizer_timeout, tokenizer_processes),
        **decoded_limit(max_decoded_bytes),
        "check_values": flag("check", check),
        "resume": flag("resume", resume),
        "max_unpacked": whole_or_none("max_unpacked", max_unpacked, 1),
        "cut": flag("cut", cut),
        "audio_rate": whole_or_none("rate", rate, 1, 2**31 - 1),
        "audio_mono": flag("mono", mono),
        **dict(zip(("fps_num", "fps_den"), (0, 0) if fps is None else frame_rate(fps))),
        **pack_options(
            format, fields, key_column, compress, on_error, layout, image, files, root, allow_outside, delimiter, audio
        ),
    }
    with Reporting("pack", progress) as hook:
        return _result(began, _mldf.pack(source_files(sources), encode(out), options, registered_types(), hook))


def append(
    path: Path,
    sources: Paths,
    *,
    format: str | None = None,
    layout: str | None = None,
    key_column: str | None = None,
    files: Sequence[str] | str | None = None,
    root: Path | None = None,
    allow_outside: bool = False,
    delimiter: str | None = None,
    number_keys: bool = False,
    text: str | None = None,
    tokenizer: str | None = None,
    eos: bool | int = False,
    bos: bool | int = False,
    utf8: str = "refuse",
    tokenizer_timeout: int | None = None,
    tokenizer_processes: int | None = None,
    on_error: str = "raise",
    threads: int | None = None,
    key: Key = None,
    passphrase: Passphrase = None,
    max_decoded_bytes: int | None = None,
    max_unpacked: int | None = None,
    progress: ProgressArgument = None,
) -> Result:
    """Adds tables, folders of images, tar archives or MLDF files of the same fields to an existing file. Until it
    succeeds the file is what it was.

    Samples from Python: ``mldf.Writer.existing(path)``.

    Parameters
    ----------
    path
        The file that is changed.
    sources
        A path, a list of them, a glob, or a range ``{000..009}``.
    format
        Of a table: "csv", "tsv", "jsonl"; also "tar" or "folder"; None: by the file's name and bytes.
    layout
        Of a folder: "flat" or "classes"; None: by what is there.
    key_column
        The column of a table that has the samples' keys.
    files
        Columns of a table that hold names of files.
    root
        Where those names begin; None: at the table.
    allow_outside
        Names of files may lead out of root.
    delimiter
        Of CSV: one character; None: by the first two lines.
    number_keys
        Samples of files without keys get "NAME/NUMBER" as theirs, if the file has keys.
    text, tokenizer, eos, bos, utf8, tokenizer_timeout, tokenizer_processes
        Make tokens of a column of tables, as :func:`pack` does; what differs from what the file states of its tokens is
        refused.
    on_error
        "raise", or "skip": leave out what does not fit, and list it in the result.
    threads
        None: the CPUs that this process may use.
    key
        The sample's name; all samples have one or none.
    passphrase
        Of an encrypted file.
    max_decoded_bytes
        What one compressed value may become, as for :func:`mldf.open`.
    max_unpacked
        Refuse a compressed tar that unpacks to more bytes than these; None: 2**40.
    progress
        True: a bar on stderr; or a function that is called (:class:`mldf.Progress`).
    """
    began = time.monotonic()
    options = {
        **output_options({"threads": threads, "encrypt_key": key, "encrypt_passphrase": passphrase}),
        **pack_options(format, None, key_column, None, on_error, layout, None, files, root, allow_outside, delimiter),
        **decoded_limit(max_decoded_bytes),
        **tokenize_options(text, tokenizer, eos, bos, utf8, tokenizer_timeout, tokenizer_processes),
        "number_keys": flag("number_keys", number_keys),
        "max_unpacked": whole_or_none("max_unpacked", max_unpacked, 1),
    }
    with Reporting("append", progress) as hook:
        return _result(began, _mldf.append(source_files(sources), encode(path), options, registered_types(), hook))


def convert(
    sources: Paths | Dataset,
    out: Path,
    *,
    to: str | None = None,
    fields: Sequence[str] | None = None,
    compress: Any = None,
    source_format: str | None = None,
    dtype: str | None = None,
    eos: int | None = None,
    eos_at: str | None = None,
    vocabulary: int | None = None,
    drop_fields: bool = False,
    on_error: str = "raise",
    lz4: bool = False,
    dataset_version: int | None = None,
    created: int | None = None,
    encode: str | None = None,
    fast_limit: float | None = None,
    key: Key = None,
    passphrase: Passphrase = None,
    decrypt: bool = False,
    max_decoded_bytes: int | None = None,
    max_unpacked: int | None = None,
    progress: ProgressArgument = None,
    **output: Unpack[OutputOptions],
) -> Result:
    """Samples of files of any format into one new file of any format.

    Parameters
    ----------
    sources
        A path, a list of them, a glob, or a range ``{000..009}``.
    out
        The new file.
    to
        "mldf", "tbl" (the same as "tbl2"), "tbl1", "tbl2", "beton", "tar", "tar.gz", "tar.zst", "megatron" (X.idx,
        X.bin), "nanogpt", "datatrove" (X.ds); None: by out's ending.
    fields
        These fields alone, in this order.
    compress
        With zstd: ``["text"]``, or with the level ``{"text": 9}``.
    source_format, dtype, eos, eos_at, vocabulary
        Of files of token ids, as ``format`` and so on of :func:`mldf.open`.
    drop_fields
        Leave out what the format has no place for.
    on_error
        "raise", or "skip": leave out samples that cannot be read or that the format cannot hold, and list them in the
        result.
    lz4, dataset_version, created
        Of TBL files.
    encode, fast_limit
        As for :func:`repack`; of an MLDF file.
    key
        Of an encrypted file: 32 bytes.
    passphrase
        Of an encrypted file.
    decrypt
        Write an encrypted file's samples in the clear.
    max_decoded_bytes
        What one compressed value may become, as for :func:`mldf.open`.
    max_unpacked
        Refuse a compressed tar that unpacks to more bytes than these; None: 2**40.
    progress
        True: a bar on stderr; or a function that is called (:class:`mldf.Progress`).
    **output
        As for :func:`pack`; of an MLDF file.
    """
    began = time.monotonic()
    paths = whole_files(sources)
    key, passphrase = secret_of(sources, key, passphrase)
    options = {
        **output_options(output),
        **secret(key, passphrase),
        **decoded_limit(max_decoded_bytes),
        "format": text("to", to),
        **token_file_options(source_format, dtype, eos, eos_at, vocabulary),
        "fields": name_list("fields", fields),
        "compress": compressed(compress),
        "keep_secret": not flag("decrypt", decrypt),
        "drop_fields": flag("drop_fields", drop_fields),
        "skip_unfit": skips(on_error),
        "lz4": flag("lz4", lz4),
        "max_unpacked": whole_or_none("max_unpacked", max_unpacked, 1),
        "dataset_version": whole_or_none("dataset_version", dataset_version),
        "created": whole_or_none("created", created),
        **recoded(encode, fast_limit),
    }
    with Reporting("convert", progress) as hook:
        return _result(
            began, _mldf.convert([path_bytes(p) for p in paths], path_bytes(out), options, registered_types(), hook)
        )


def merge(
    sources: Paths | Dataset,
    out: Path,
    *,
    compress: Any = None,
    key: Key = None,
    passphrase: Passphrase = None,
    decrypt: bool = False,
    max_decoded_bytes: int | None = None,
    progress: ProgressArgument = None,
    **output: Unpack[OutputOptions],
) -> Result:
    """All samples of files with the same fields, undecoded, into one new MLDF file.

    Parameters
    ----------
    sources
        A path, a list of them, a glob, or a range ``{000..009}``.
    out
        The new file.
    compress
        With zstd: ``["text"]``, or with the level ``{"text": 9}``.
    key
        Of an encrypted file: 32 bytes.
    passphrase
        Of an encrypted file.
    decrypt
        Write an encrypted file's samples in the clear.
    max_decoded_bytes
        What one compressed value may become, as for :func:`mldf.open`.
    progress
        True: a bar on stderr; or a function that is called (:class:`mldf.Progress`).
    **output
        Of the file that is written: overwrite, threads, checksums, dictionary, page_size, card, encrypt_key,
        encrypt_passphrase, encrypt_all.
    """
    began = time.monotonic()
    paths = whole_files(sources)
    key, passphrase = secret_of(sources, key, passphrase)
    options = {
        **output_options(output),
        **secret(key, passphrase),
        **decoded_limit(max_decoded_bytes),
        "compress": compressed(compress),
    }
    keep_encrypted(options, peek(paths, key, passphrase), key, passphrase, decrypt)
    with Reporting("merge", progress) as hook:
        return _result(began, _mldf.merge([encode(p) for p in paths], encode(out), options, registered_types(), hook))


def select(
    source: Path | Dataset,
    out: Path,
    *,
    fields: Sequence[str] | None = None,
    samples: Any = None,
    keys: Iterable[str] | str | None = None,
    where: str | None = None,
    compress: Any = None,
    key: Key = None,
    passphrase: Passphrase = None,
    decrypt: bool = False,
    progress: ProgressArgument = None,
    **output: Unpack[OutputOptions],
) -> Result:
    """Some fields and samples of a file, undecoded, into a new MLDF file.

    What was encrypted stays so, with the same secret, unless decrypt says otherwise.

    Parameters
    ----------
    source
        A path, or a dataset of one whole file.
    out
        The new file.
    fields
        These fields alone, in this order.
    samples
        Numbers in the order that the result will have, a slice, or a mask.
    keys
        The samples' names, instead of their numbers.
    where
        Of those, an expression over the fields, as docs/guides/select.md has it: ``"label in [1, 2] and score > 0.5"``.
    compress
        With zstd: ``["text"]``, or with the level ``{"text": 9}``.
    key
        Of an encrypted file: 32 bytes.
    passphrase
        Of an encrypted file.
    decrypt
        Write an encrypted file's samples in the clear.
    progress
        True: a bar on stderr; or a function that is called (:class:`mldf.Progress`).
    **output
        Of the file that is written: overwrite, threads, checksums, dictionary, page_size, card, encrypt_key,
        encrypt_passphrase, encrypt_all.
    """
    began = time.monotonic()
    if samples is not None and keys is not None:
        raise ArgumentError("samples and keys: give one of them")
    if keys is not None and not isinstance(keys, Iterable):
        raise WrongTypeError(f"keys={keys!r}: a list of names is needed")
    options = {
        **output_options(output),
        "fields": name_list("fields", fields),
        "where": text("where", where),
        "compress": compressed(compress),
    }
    with opened(source, key, passphrase) as reader, Reporting("select", progress) as hook:
        keep_encrypted(options, [reader], *secret_of(source, key, passphrase), decrypt)
        if keys is not None:
            samples = [reader.find_key(k) for k in ([keys] if isinstance(keys, (str, bytes)) else keys)]
        options["ranges"] = ranges(samples, reader.info()["num_samples"])
        return _result(began, _mldf.select(reader, encode(out), options, registered_types(), hook))


def split(
    source: Path | Dataset,
    pattern: Path,
    *,
    count: int | None = None,
    bytes: int | None = None,
    fractions: Mapping[str, float] | Sequence[float] | None = None,
    by: str | None = None,
    shuffle: bool = False,
    seed: int = 0,
    compress: Any = None,
    key: Key = None,
    passphrase: Passphrase = None,
    decrypt: bool = False,
    progress: ProgressArgument = None,
    **output: Unpack[OutputOptions],
) -> Result:
    """Every sample into exactly one of several new files: ``mldf.split("all.mldf", "{}.mldf", fractions={"train":
    0.9, "val": 0.1})``.

    Exactly one of count, bytes and fractions is given. Either all parts appear or none. Parts of an encrypted file are
    encrypted with its secret, unless decrypt says otherwise.

    Parameters
    ----------
    source
        A path, or a dataset of one whole file.
    pattern
        Of the parts' names: one {} or {:03d} stands for the part's number, or its name when fractions is a dict.
    count
        Samples of each part.
    bytes
        Of each file.
    fractions
        That add up to 1, or a dict of name to fraction.
    by
        A field: each part has its values in the proportion of the whole.
    shuffle
        Samples go to parts at random, else in runs.
    seed
        Of shuffle.
    compress
        With zstd: ``["text"]``, or with the level ``{"text": 9}``.
    key
        Of an encrypted file: 32 bytes.
    passphrase
        Of an encrypted file.
    decrypt
        Write an encrypted file's samples in the clear.
    progress
        True: a bar on stderr; or a function that is called (:class:`mldf.Progress`).
    **output
        Of the file that is written: overwrite, threads, checksums, dictionary, page_size, card, encrypt_key,
        encrypt_passphrase, encrypt_all.
    """
    began = time.monotonic()
    if sum(way is not None for way in (count, bytes, fractions)) != 1:
        raise ArgumentError("exactly one of count, bytes and fractions is needed")
    names = list(fractions) if isinstance(fractions, Mapping) else None
    given = fractions.values() if isinstance(fractions, Mapping) else fractions
    try:
        shares = None if given is None else [float(f) for f in given]
    except (TypeError, ValueError):
        raise ArgumentError(f"fractions={fractions!r}: numbers that add up to 1, or a dict of name to number") from None
    options = {
        **output_options(output),
        "count": whole_or_none("count", count),
        "bytes": whole_or_none("bytes", bytes),
        "fractions": shares,
        "names": name_list("fractions", names),
        "by": text("by", by),
        "shuffle": flag("shuffle", shuffle),
        "seed": whole("seed", seed),
        "compress": compressed(compress),
    }
    with opened(source, key, passphrase) as reader, Reporting("split", progress) as hook:
        keep_encrypted(options, [reader], *secret_of(source, key, passphrase), decrypt)
        return _result(began, _mldf.split(reader, encode(pattern), options, registered_types(), hook))


def extract(
    source: Path | Dataset,
    folder: Path,
    *,
    fields: Sequence[str] | None = None,
    videos: str = "file",
    frames: slice | None = None,
    overwrite: bool = False,
    key: Key = None,
    passphrase: Passphrase = None,
    progress: ProgressArgument = None,
) -> Result:
    """Each sample's payloads as files in a folder, with a manifest.jsonl.

    Parameters
    ----------
    source
        A path, or a dataset of one whole file.
    folder
        Its name; it appears whole or not at all.
    fields
        These fields alone, in this order.
    overwrite
        Replace what exists.
    videos
        Of packets: "file", a video file of the same packets; "frames", a folder of PNG images; "sound", WAV.
    frames
        Of each video these: slice(0, 300, 30); as files a clip without sound, whose packets are copied.
    key
        Of an encrypted file: 32 bytes.
    passphrase
        Of an encrypted file.
    progress
        True: a bar on stderr; or a function that is called (:class:`mldf.Progress`).
    """
    began = time.monotonic()
    first, end, step = (frames.start or 0, frames.stop or 0, frames.step or 0) if frames is not None else (0, 0, 0)
    options = {
        "overwrite": flag("overwrite", overwrite),
        "fields": name_list("fields", fields),
        "video": choice("videos", videos, ("file", "frames", "sound")),
        "first": whole("frames", first, 0, 2**32),
        "end": whole("frames", end, 0, 2**32),
        "step": whole("frames", step, 0, 2**32),
    }
    with opened(source, key, passphrase) as reader, Reporting("extract", progress) as hook:
        return _result(began, _mldf.extract(reader, encode(folder), options, registered_types(), hook))


def add_field(
    path: Path,
    name: str,
    source: Path,
    *,
    field: Any = None,
    format: str | None = None,
    column: str | None = None,
    key_column: str | None = None,
    compress: int | None = None,
    threads: int | None = None,
    key: Key = None,
    passphrase: Passphrase = None,
    max_decoded_bytes: int | None = None,
    progress: ProgressArgument = None,
) -> Result:
    """A new field for the samples of an existing file, in place, from a column of a CSV, TSV or JSON-lines file.

    Parameters
    ----------
    path
        The file that is changed.
    name
        Of the new field.
    source
        The table.
    field
        Its type (``mldf.Float()``); None: from the data.
    format
        Of a table: "csv", "tsv", "jsonl"; also "tar" or "folder"; None: by the file's name and bytes.
    column
        Of the table; None: the one of the field's name.
    key_column
        Rows are matched by the samples' keys, which are in this column.
    compress
        The level of zstd.
    threads
        None: the CPUs that this process may use.
    key
        Of an encrypted file: 32 bytes.
    passphrase
        Of an encrypted file.
    max_decoded_bytes
        What one compressed value may become, as for :func:`mldf.open`.
    progress
        True: a bar on stderr; or a function that is called (:class:`mldf.Progress`).
    """
    began = time.monotonic()
    if text("name", name) is None:
        raise WrongTypeError("name=None: text is needed")
    options = {
        "threads": thread_count(threads),
        "format": table_format(format),
        "column": text("column", column),
        "schema": None if field is None else schema_json({name: field}),
        "key_column": text("key_column", key_column),
        "compress_level": whole_or_none("compress", compress, 0, 22),
        **secret(key, passphrase),
        **decoded_limit(max_decoded_bytes),
    }
    with Reporting("add_field", progress) as hook:
        return _result(began, _mldf.add_field(encode(path), name, encode(source), options, registered_types(), hook))


def repack(
    path: Path,
    out: Path | None = None,
    *,
    compress: Any = None,
    decompress: bool = False,
    encode: str | None = None,
    fast_limit: float | None = None,
    key: Key = None,
    passphrase: Passphrase = None,
    decrypt: bool = False,
    max_decoded_bytes: int | None = None,
    progress: ProgressArgument = None,
    **output: Unpack[OutputOptions],
) -> Result:
    """Writes the samples again, in order, without what appends left unused; out None: in place, atomically.

    Parameters
    ----------
    path
        The file that is changed.
    out
        The new file.
    compress
        With zstd: ``["text"]``, or with the level ``{"text": 9}``.
    decompress
        Nothing is compressed.
    encode
        "fast-jpeg": JPEGs become fast JPEGs where they can, without loss; "jpeg-original": fast JPEGs become the JPEGs
        that they were made of. Images of other kinds are copied. None: all are copied.
    fast_limit
        Of "fast-jpeg": a result of more than so many times the JPEG's bytes stays a JPEG; None: 1.03.
    key
        Of an encrypted file: 32 bytes.
    passphrase
        Of an encrypted file.
    decrypt
        Write an encrypted file's samples in the clear.
    max_decoded_bytes
        What one compressed value may become, as for :func:`mldf.open`.
    progress
        True: a bar on stderr; or a function that is called (:class:`mldf.Progress`).
    **output
        Of the file that is written: overwrite, threads, checksums, dictionary, page_size, card, encrypt_key,
        encrypt_passphrase, encrypt_all.
    """
    began = time.monotonic()
    options = {
        **output_options(output),
        **secret(key, passphrase),
        **decoded_limit(max_decoded_bytes),
        "compress": compressed(compress),
        "decompress": flag("decompress", decompress),
        **recoded(encode, fast_limit),
    }
    keep_encrypted(options, peek([os.fsdecode(path_bytes(path))], key, passphrase), key, passphrase, decrypt)
    with Reporting("repack", progress) as hook:
        target = b"" if out is None else path_bytes(out)
        return _result(began, _mldf.repack(path_bytes(path), target, options, registered_types(), hook))


def clean(folder: Path, *, dry_run: bool = False, other_hosts: bool = False) -> list[Leftover]:
    """Removes the temporary files in a folder whose process was killed, and finishes a split that was killed between
    the names of its parts. Files that are being written are locked and stay; so does ``OUT.partial``, from which a pack
    can go on.

    Parameters
    ----------
    folder
        Where to look, not below it.
    dry_run
        Only list.
    other_hosts
        Files of other hosts too; only while none of them writes there.
    """
    found = _mldf.clean(encode(folder), flag("dry_run", dry_run), flag("other_hosts", other_hosts))
    return [Leftover(*each) for each in found]


def repair(
    path: Path,
    out: Path | None = None,
    *,
    overwrite: bool = False,
    threads: int | None = None,
    key: Key = None,
    passphrase: Passphrase = None,
    max_decoded_bytes: int | None = None,
    progress: ProgressArgument = None,
) -> Result:
    """out None: puts back a torn header or footer, in place, and never drops a sample; then verifies the file, and
    ``problems`` counts what cannot be mended in place, ``skipped`` lists it. Else every whole sample goes into a new
    file: each value has its checksum and decodes, and the key is whole. ``skipped`` lists the others, and ``lost`` says
    what else is not in the new file.

    Parameters
    ----------
    path
        The file that is changed.
    out
        The new file.
    overwrite
        Replace what exists.
    threads
        None: the CPUs that this process may use.
    key
        Of an encrypted file: 32 bytes.
    passphrase
        Of an encrypted file.
    max_decoded_bytes
        What one compressed value may become, as for :func:`mldf.open`.
    progress
        True: a bar on stderr; or a function that is called (:class:`mldf.Progress`).
    """
    began = time.monotonic()
    options = {
        "overwrite": flag("overwrite", overwrite),
        "threads": thread_count(threads),
        **secret(key, passphrase),
        **decoded_limit(max_decoded_bytes),
    }
    with Reporting("repair", progress) as hook:
        target = b"" if out is None else encode(out)
        return _result(began, _mldf.repair(encode(path), target, options, registered_types(), hook))
