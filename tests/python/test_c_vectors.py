"""docs/spec/vectors/ and the draft's files against the C library: the same values, the same status, the same byte."""

import json
import os
import struct
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPEC = ROOT / "docs" / "spec"
DRAFT = ROOT / "tests" / "golden" / "draft"
sys.path[:0] = [str(SPEC), str(Path(__file__).resolve().parent)]
import clib  # noqa: E402
import reference_fast_jpeg as fast_jpeg  # noqa: E402
import reference_reader as reader  # noqa: E402

PATH = clib.library_path()
pytestmark = pytest.mark.skipif(PATH is None, reason="neither MLDF_LIB nor MLDF names a build of the C library")
VALID, INVALID = SPEC / "vectors" / "valid", SPEC / "vectors" / "invalid"
VALID_CASES = json.loads((VALID / "manifest.json").read_text())
INVALID_CASES = json.loads((INVALID / "manifest.json").read_text())
ACCESSED = [c for c in INVALID_CASES if c["when"] != "verify"]  # test_oracle.py gives the others to the command
BACKENDS = [0, 1]


@pytest.fixture(scope="module")
def library():
    return clib.Library(PATH)


def secrets(entry):
    return {"key": bytes.fromhex(entry["key"]) if entry.get("key") else None, "passphrase": entry.get("passphrase")}


def compare(expected, got):
    """Every field of every sample, by kind and bytes."""
    assert got.num_samples == expected.num_samples
    assert got.names == [f.name for f in expected.fields]
    for f, c in zip(expected.fields, got.fields):
        assert (c.type_id, c.record_bytes, c.row_offset, c.known) == (f.type_id, f.record_bytes, f.row_offset, f.known), f.name
        assert json.loads(c.arguments) == f.arguments
    for i in range(expected.num_samples):
        for f in expected.fields:
            stored, where = expected.stored(i, f.name), (i, f.name)
            if not f.known:
                kind, _, data, _, record = got.get(i, f.name, stored=True)
                assert (record, data) == stored if stored else kind == 0, where
                continue
            kind, number, data, dims, record = got.get(i, f.name)
            value = expected.value(i, f.name)
            if value is None and f.type_id != reader.JSON:
                assert kind == 0, where
            elif f.type_id == reader.INT:
                assert kind in (1, 2) and number == int(value) & 2**64 - 1, where
            elif f.type_id == reader.FLOAT:
                assert kind == 3 and struct.pack("<Q", number) == stored.record, where
            elif f.type_id == reader.FLOW:
                assert kind == 6 and dims == list(value.shape) and data == value.tobytes(), where
                assert got.get(i, f.name, stored=True)[2] == stored.data, where
            elif f.type_id in (reader.NDARRAY, *reader.GRIDS):
                assert kind == 6 and dims == list(value.shape) and data == stored.data, where
            elif f.type_id == reader.INLINE:
                assert data == stored.record, where
            elif stored is None:
                assert kind == 0, where
            elif f.type_id in reader.IMAGES and stored.record[17] == 7:  # a fast JPEG is given as the JPEG
                assert data == fast_jpeg.file(fast_jpeg.read(stored.data)) and record[17] == 1, where
                assert got.get(i, f.name, stored=True)[2] == stored.data, where
            elif f.type_id in reader.TOKEN_TYPES:  # the ids are given as an array; the table of documents is behind them
                ids, ends, _ = reader.token_parts(f, value)
                assert kind == 6 and dims == [len(ids)] and data == ids.tobytes(), where
                assert got.get(i, f.name, stored=True)[2] == stored.data, where
                assert got.documents(i, f.name) == ([len(ids)] if ends is None else ends), where
            else:
                assert data == stored.data, where
        if expected.has_keys:
            assert got.key(i) == expected.key_bytes(i)
            assert got.find(got.key(i)) == i
    card = got.card()
    assert (json.loads(card) if card is not None else None) == expected.card


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("entry", VALID_CASES, ids=lambda e: e["file"])
def test_valid(library, entry, backend):
    path = VALID / entry["file"]
    with library.open(path, **secrets(entry), backend=backend, verify=True) as got:
        compare(reader.read(path, **secrets(entry)), got)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("path", sorted(DRAFT.glob("*.mldf")), ids=lambda p: p.stem)
def test_draft(library, path, backend):
    with library.open(path, backend=backend) as got:
        compare(reader.read(path), got)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("entry", ACCESSED, ids=lambda e: e["file"])
def test_invalid(library, entry, backend):
    expected, path = (entry["status"], entry["offset"]), INVALID / entry["file"]
    if entry["when"] == "open":
        with pytest.raises(clib.CError) as why:
            library.open(path, **secrets(entry), backend=backend).close()
    else:
        with library.open(path, **secrets(entry), backend=backend) as got, pytest.raises(clib.CError) as why:
            call = entry.get("call", "value")
            if call == "value":
                got.get(entry["sample"], entry["field"])
            elif call == "key":
                got.key(entry["sample"])
            elif call == "find":
                got.find(entry["find"])
            else:
                got.card()
    assert (why.value.status, why.value.offset) == expected, why.value


# ---- The writer: the same samples give the bytes of the vector ------------------------------------------------------

WRITTEN = ["hello", "int", "float", "bytes", "ndarray_dtypes", "ndarray_shapes", "json", "text", "inline", "inline_blocks", "nulls",
           "keys_wrap", "keys", "keys_one", "card", "card_empty", "long_arguments", "no_checksums", "zero_samples_scalar",
           "scalars_only", "appended", "streamed", "page_65536"]


def writer_value(file, i, f):
    stored, v = file.stored(i, f.name), file.value(i, f.name)
    if stored is None:
        return None
    if f.type_id == reader.INT:
        return clib.value(2 if f.arguments.get("dtype") == "<u8" else 1, int(v))
    if f.type_id == reader.FLOAT:
        return clib.value(3, struct.unpack("<Q", stored.record)[0])
    if f.type_id == reader.NDARRAY:
        return clib.value(6, 0, stored.data, v.shape)
    if f.type_id == reader.INLINE:
        return clib.value(7, 0, stored.record)
    return clib.value(4 if f.type_id == reader.BYTES else 5, 0, stored.data)


@pytest.mark.parametrize("threads", [0, 3])
@pytest.mark.parametrize("name", WRITTEN)
def test_written_file_equals_the_vector(library, tmp_path, name, threads):
    path, out = VALID / (name + ".mldf"), tmp_path / "out.mldf"
    file = reader.read(path)
    fields = [(f.name, f.type_id, json.dumps(f.arguments), f.flags & 3) for f in file.fields]
    samples = [[writer_value(file, i, f) for f in file.fields] for i in range(file.num_samples)]
    keys = [file.key_bytes(i) for i in range(file.num_samples)] if file.has_keys else None
    card = json.dumps(file.card).encode() if file.card is not None else None
    history = file.by_kind.get(reader.HISTORY)
    starts = [file.u64(history.ptr + 24 * k + 8) for k in range(history.size // 24)] if history else []
    bounds = [0, *starts, file.num_samples]
    options = {"no_checksums": not file.header.flags & 4, "card": card, "card_bytes": len(card or b""), "threads": threads,
               "page_size": file.header.page_size if name.startswith("page") else 0}
    if name == "streamed":
        descriptor = os.open(out, os.O_CREAT | os.O_WRONLY)
        library.write(out, fields, samples, keys, stream=descriptor, **options)
        os.close(descriptor)
    else:
        library.write(out, fields, samples[:bounds[1]], keys and keys[:bounds[1]], **options)
    for a, b in zip(bounds[1:], bounds[2:]):
        library.append(out, samples[a:b], keys and keys[a:b], threads)
    got, want = out.read_bytes(), path.read_bytes()
    differs = next((at for at, (x, y) in enumerate(zip(got, want)) if x != y), None)
    assert (len(got), differs) == (len(want), None), f"first difference at byte {differs}"
