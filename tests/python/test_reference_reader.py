"""The parts of docs/spec/reference_reader.py, and what it says of the draft's files and of the document itself."""

import hashlib
import json
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPEC = ROOT / "docs" / "spec"
DRAFT = ROOT / "tests" / "golden" / "draft"
sys.path.insert(0, str(SPEC))
import reference_reader as reader  # noqa: E402


def as_json(file):
    return json.loads(json.dumps(reader.to_json(file)))


def test_crc32c_known_answers():
    assert reader.crc32c(b"") == 0
    assert reader.crc32c(b"123456789") == 0xE3069283
    assert reader.crc32c(bytes(32)) == 0x8A9136AA
    assert reader.crc32c(b"\xff" * 32) == 0x62A8AB43
    assert reader.crc32c(bytes(range(32))) == 0x46DD794E


@pytest.mark.parametrize("size", [4095, 4096, 4097, 65535, 65536, 100003])
def test_crc32c_lanes_agree_with_bytes(size):
    data = hashlib.shake_256(str(size).encode()).digest(size)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = reader.CRC_LIST[(crc ^ byte) & 255] ^ crc >> 8
    assert reader.crc32c(data) == crc ^ 0xFFFFFFFF


def test_characters_of_utf32_up_to_the_last_are_values():
    """Halves of pairs too: the specification and NumPy take them; what lies above 0x10FFFF is no character."""
    for number in (0xD800, 0xDFFF, 0x10FFFF):
        assert reader.decode_leaf("<U1", struct.pack("<I", number)) == chr(number)
    with pytest.raises(UnicodeDecodeError):
        reader.decode_leaf("<U1", struct.pack("<I", 0x110000))


def test_xxh64_known_answers():
    assert reader.xxh64(b"") == 0xEF46DB3751D8E999
    assert reader.xxh64(b"a") == 0xD24EC4F1A98C6E5B
    assert reader.xxh64(b"abc") == 0x44BC2CF5AD770999


def test_json_is_strict():
    for text in (b"NaN", b"[1,]", b'{"a":1,"a":2}', b"\xff", b"", b"'a'", b"[Infinity]"):
        with pytest.raises(ValueError):
            reader.parse_json(text)
    assert reader.parse_json(b' {"a": [1, 2.5, null, "\\u00e9"]} ') == {"a": [1, 2.5, None, "é"]}


DRAFT_FILES = sorted(p.stem for p in DRAFT.glob("*.mldf"))


@pytest.mark.parametrize("name", DRAFT_FILES)
def test_draft_file_reads_to_its_json(name):
    file = reader.read(DRAFT / (name + ".mldf"))
    assert as_json(file) == json.loads((DRAFT / (name + ".json")).read_text())
    assert [str(p) for p in file.verify(deep=True)] == []
    if name.endswith(("204", "208")):
        assert file.stride == int(name[-3:])


def test_draft_files_are_what_their_script_makes(tmp_path):
    subprocess.run([sys.executable, DRAFT / "make_draft.py", tmp_path], check=True)
    made = sorted(p.name for p in tmp_path.iterdir())
    assert made == sorted(p.name for p in DRAFT.iterdir() if p.suffix in (".mldf", ".json"))
    for name in made:
        assert (tmp_path / name).read_bytes() == (DRAFT / name).read_bytes(), name


@pytest.mark.parametrize("name", ["media_204", "missing_208", "scalars_204", "empty_208", "private_204"])
def test_cut_draft_file_is_an_error_or_the_same(name):
    data = (DRAFT / (name + ".mldf")).read_bytes()
    whole = as_json(reader.File(data))
    for size in range(len(data)):
        try:
            got = as_json(reader.File(data[:size]))
        except reader.SpecError:
            continue
        assert got == whole, size


# ---- The document --------------------------------------------------------------------------------------------------


def hex_dump(data):
    """As `hexdump -C` prints it: runs of equal lines as one star."""
    lines, before = [], None
    for at in range(0, len(data), 16):
        chunk = data[at:at + 16]
        if chunk == before and at + 16 < len(data):
            if lines[-1] != "*":
                lines.append("*")
            continue
        before = chunk
        halves = " ".join(f"{b:02x}" for b in chunk[:8]), " ".join(f"{b:02x}" for b in chunk[8:])
        text = "".join(chr(b) if 32 <= b < 127 else "." for b in chunk)
        lines.append(f"{at:08x}  {halves[0]:<23}  {halves[1]:<23}  |{text}|")
    return lines + [f"{len(data):08x}"]


def test_hex_dump_in_the_document_is_the_vector():
    text = (SPEC / "format.md").read_text()
    shown = re.findall(r"^([0-9a-f]{8}(?:  [0-9a-f ]+\|.*\|)?|\*)$", text, re.M)
    assert shown == hex_dump((SPEC / "vectors" / "valid" / "hello.mldf").read_bytes())


def test_every_rule_of_the_document_is_in_the_reader():
    rules = set(re.findall(r"\*\*([OZAV]\d+)\*\*", (SPEC / "format.md").read_text()))
    assert len(rules) > 60
    code = (SPEC / "reference_reader.py").read_text()
    named = set(re.findall(r"\b([OZAV]\d+)\b", code))
    assert rules - named == {"A4"}  # checks on access are an option of the C reader; here they are verify()
    assert named - rules == set()


def test_statuses_in_the_registry_are_those_of_the_header():
    header = (ROOT / "include" / "mldf" / "base.h").read_text()
    codes = {name.lower(): int(number) for name, number in re.findall(r"MLDF_E_(\w+) = (-\d+)", header)}
    rows = re.findall(r"^\| (-\d+) \| `(\w+)` \|", (SPEC / "registry.md").read_text(), re.M)
    assert {name: int(number) for number, name in rows} == codes


def test_command_prints_json_and_problems(tmp_path):
    script, hello = SPEC / "reference_reader.py", SPEC / "vectors" / "valid" / "hello.mldf"
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    run = subprocess.run([sys.executable, script, hello], capture_output=True, env=env, check=True)
    assert json.loads(run.stdout) == json.loads(hello.with_suffix(".json").read_text())
    assert subprocess.run([sys.executable, script, "--verify", hello], env=env).returncode == 0
    data = bytearray(hello.read_bytes())
    data[4096] ^= 1
    bad = tmp_path / "bad.mldf"
    bad.write_bytes(data)
    run = subprocess.run([sys.executable, script, "--verify", bad], capture_output=True, env=env)
    assert run.returncode == 1
    problem = json.loads(run.stdout)
    assert (problem["status"], problem["offset"], problem["sample"], problem["field"]) == ("checksum", 4096, 0, "name")


def test_statistics_of_a_vector():
    stats = reader.read(SPEC / "vectors" / "valid" / "int.mldf").statistics
    assert stats["plain"]["min"] == -2**63 and stats["plain"]["max"] == 2**63 - 1
    assert stats["u8"]["max"] == 2**64 - 1 and stats["b1"]["present"] == 2
    stats = reader.read(SPEC / "vectors" / "valid" / "float.mldf").statistics
    assert stats["x"]["nonfinite"] == 3 and stats["x"]["min"] == -0.0
    assert struct.pack("<d", stats["x"]["max"]) == struct.pack("<d", 1.7976931348623157e308)


def test_limit_is_checked_before_memory_is_taken():
    data = (SPEC / "vectors" / "valid" / "zstd.mldf").read_bytes()
    file = reader.File(data, limit=2109)
    with pytest.raises(reader.SpecError) as why:
        file.value(0, "b")
    assert (why.value.status, why.value.offset) == ("limit", file.location(0, "b")[0])
    assert len(reader.File(data, limit=2110).value(0, "b")) == 2110


def test_encrypted_file_opens_for_its_structure_alone():
    file = reader.read(SPEC / "vectors" / "valid" / "encrypted_key.mldf", without_key=True)
    assert file.value(1, "label") == 10 and file.verify(deep=True) == []
    with pytest.raises(reader.SpecError) as why:
        file.value(1, "name")
    assert why.value.status == "key_missing"
