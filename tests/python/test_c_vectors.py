"""docs/spec/vectors/ and the draft's files against the C library: the same values, the same status, the same byte."""

import json
import struct
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPEC = ROOT / "docs" / "spec"
DRAFT = ROOT / "tests" / "golden" / "draft"
sys.path[:0] = [str(SPEC), str(Path(__file__).resolve().parent)]
import clib  # noqa: E402
import reference_reader as reader  # noqa: E402

PATH = clib.library_path()
pytestmark = pytest.mark.skipif(PATH is None, reason="neither MLDF_LIB nor MLDF names a build of the C library")
VALID, INVALID = SPEC / "vectors" / "valid", SPEC / "vectors" / "invalid"
VALID_CASES = json.loads((VALID / "manifest.json").read_text())
INVALID_CASES = json.loads((INVALID / "manifest.json").read_text())
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
            elif f.type_id == reader.NDARRAY:
                assert kind == 6 and dims == list(value.shape) and data == stored.data, where
            elif f.type_id == reader.INLINE:
                assert data == stored.record, where
            elif stored is None:
                assert kind == 0, where
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
@pytest.mark.parametrize("entry", [c for c in INVALID_CASES if c["when"] != "verify"], ids=lambda e: e["file"])
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
