"""docs/spec/vectors/ against the reference reader: valid files give their JSON, invalid ones their status and byte."""

import json
import subprocess
import sys
from ctypes.util import find_library
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPEC = ROOT / "docs" / "spec"
VALID, INVALID = SPEC / "vectors" / "valid", SPEC / "vectors" / "invalid"
sys.path.insert(0, str(SPEC))
import reference_reader as reader  # noqa: E402

VALID_CASES = json.loads((VALID / "manifest.json").read_text())
INVALID_CASES = json.loads((INVALID / "manifest.json").read_text())
needs_sodium = pytest.mark.skipif(not find_library("sodium"), reason="libsodium is not installed")


def secrets(entry):
    return {"key": bytes.fromhex(entry["key"]) if entry.get("key") else None, "passphrase": entry.get("passphrase")}


def as_json(file):
    return json.loads(json.dumps(reader.to_json(file)))


def test_manifests_list_every_file():
    for folder, cases in ((VALID, VALID_CASES), (INVALID, INVALID_CASES)):
        assert sorted(p.name for p in folder.glob("*.mldf")) == sorted(c["file"] for c in cases)


@pytest.mark.parametrize("entry", VALID_CASES, ids=lambda e: e["file"])
def test_valid(entry):
    file = reader.read(VALID / entry["file"], **secrets(entry))
    assert as_json(file) == json.loads((VALID / entry["json"]).read_text())
    assert [{"status": p.status, "offset": p.offset} for p in file.verify(deep=True)] == entry["verify"]
    assert len(file.data) - file.end == entry["ignored_bytes"]
    assert (file.base != 9) == entry["header_recovered"]
    for i in range(file.num_samples if file.has_keys else 0):
        assert file.find(file.key(i)) == i
    if file.has_keys:
        with pytest.raises(reader.SpecError) as why:
            file.find("no such key")
        assert why.value.status == "no_sample"


@pytest.mark.parametrize("entry", INVALID_CASES, ids=lambda e: e["file"])
def test_invalid(entry):
    expected = entry["status"], entry["offset"]
    if entry["when"] == "open":
        with pytest.raises(reader.SpecError) as why:
            reader.read(INVALID / entry["file"], **secrets(entry))
        assert (why.value.status, why.value.offset) == expected, why.value
        return
    file = reader.read(INVALID / entry["file"], **secrets(entry))
    if entry["when"] == "verify":
        problems = [(p.status, p.offset, p.sample, p.field) for p in file.verify(entry.get("deep", False))]
        assert problems[:1] == [(*expected, entry["sample"], entry["field"])]
        return
    with pytest.raises(reader.SpecError) as why:
        call = entry.get("call", "value")
        if call == "value":
            file.value(entry["sample"], entry["field"])
        elif call == "key":
            file.key_bytes(entry["sample"])
        elif call == "find":
            file.find(entry["find"])
        else:
            file.card
    assert (why.value.status, why.value.offset) == expected, why.value


def test_every_rule_has_an_invalid_vector():
    import re
    rules = set(re.findall(r"\*\*([OZAV]\d+)\*\*", (SPEC / "format.md").read_text()))
    # O6, O7 and O9 choose a header, A2 finds a null; A4 is an option of access; a 16 MiB row needs a large file (Z5).
    assert rules - {c["rule"] for c in INVALID_CASES} == {"O6", "O7", "O9", "A2", "A4", "Z5"}


@needs_sodium
def test_regenerating_gives_the_same_bytes(tmp_path):
    subprocess.run([sys.executable, "-B", ROOT / "tools" / "make_vectors.py", tmp_path], check=True)
    for folder in ("valid", "invalid"):
        made = sorted(p.name for p in (tmp_path / folder).iterdir())
        assert made == sorted(p.name for p in (SPEC / "vectors" / folder).iterdir())
        for name in made:
            assert (tmp_path / folder / name).read_bytes() == (SPEC / "vectors" / folder / name).read_bytes(), name


@pytest.mark.parametrize("name", ["hello", "nulls", "keys_wrap", "zstd", "appended", "streamed", "trailing_garbage",
                                  "unknown_sections", "no_checksums", "zero_samples", "torn_header", "old_header"])
def test_cut_at_every_byte_is_an_error_or_the_same(name):
    data = (VALID / (name + ".mldf")).read_bytes()
    file = reader.File(data)
    good = [as_json(file)]
    if name == "torn_header":  # cut after the first generation, the front header still has a place to lead to
        good.append(json.loads((VALID / "old_header.json").read_text()))
    for size in range(len(data)):
        try:
            got = as_json(reader.File(data[:size]))
        except reader.SpecError as why:
            assert why.offset is None or why.offset <= size
            continue
        assert got in good, size


def test_flip_of_every_bit_is_an_error_or_found_or_harmless():
    """hello.mldf with checksums: outside of padding every flip is found; nowhere does it change a value unnoticed."""
    data = bytearray((VALID / "hello.mldf").read_bytes())
    whole = as_json(reader.File(bytes(data)))
    for at in range(len(data)):
        for bit in range(8) if data[at] or at < 600 or at > 4090 else (at % 8,):
            data[at] ^= 1 << bit
            try:
                file = reader.File(bytes(data))
                found = bool(file.verify(deep=True) or file.warnings)
                if not found:
                    assert as_json(file) == whole, (at, bit)
            except reader.SpecError:
                pass
            data[at] ^= 1 << bit
