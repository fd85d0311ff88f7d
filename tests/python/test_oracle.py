"""Two implementations, one specification: the C library and command against docs/spec/reference_reader.py.

Random damage must give the same status and byte from both readers; random data packed by the command must come out of the
reference reader as they went in. MLDF names the command, MLDF_LIB the library; what is not named is skipped. The seed is
printed by pytest in the test's name; MLDF_ORACLE_ROUNDS (default 150) says how many mutations each file gets.
"""

import base64
import hashlib
import json
import os
import random
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
SPEC = ROOT / "docs" / "spec"
VALID, INVALID = SPEC / "vectors" / "valid", SPEC / "vectors" / "invalid"
sys.path[:0] = [str(SPEC), str(ROOT / "tools"), str(Path(__file__).resolve().parent)]
import clib  # noqa: E402
import reference_fast_jpeg as fast_jpeg  # noqa: E402
import reference_reader as reader  # noqa: E402
from vectors_invalid import Editor  # noqa: E402

LIBRARY, COMMAND = clib.library_path(), os.environ.get("MLDF")
needs_library = pytest.mark.skipif(LIBRARY is None, reason="neither MLDF_LIB nor MLDF names a build of the C library")
needs_command = pytest.mark.skipif(not COMMAND, reason="MLDF does not name the command mldf")
ROUNDS = int(os.environ.get("MLDF_ORACLE_ROUNDS", "150"))
KEYS = {e["file"]: e for e in json.loads((VALID / "manifest.json").read_text())}
FILES = ["hello", "int", "inline", "nulls", "keys_wrap", "card", "long_arguments", "unknown_types", "zstd_dictionary", "zstd",
         "encrypted_key", "encrypted_chunks", "encrypted_all", "no_checksums", "appended", "streamed", "torn_header", "unknown_sections", "ndarray_shapes", "row_gaps", "images", "recordings", "packets", "videos", "video_packets", "tokens", "hierarchical", "features", "flow", "multimodal", "multimodal_videos",
         "pack_plans"]


@pytest.fixture(scope="module")
def library():
    return clib.Library(LIBRARY)


def secrets(name):
    entry = KEYS.get(name + ".mldf", {})
    return {"key": bytes.fromhex(entry["key"]) if entry.get("key") else None, "passphrase": entry.get("passphrase")}


def outcome(call):
    try:
        return call()
    except (reader.SpecError, clib.CError) as why:
        return (why.status, why.offset)


def by_reference(f, i, field):
    stored = f.stored(i, field.name)
    if stored is None:
        return None
    if field.known and field.type_id in reader.TOKEN_TYPES:
        wrong = reader.token_fault(field, stored.record, stored.data, deep=False)
        if wrong:
            where = struct.unpack_from("<Q", stored.record)[0] if wrong[1] is None else f._record(i, field) + wrong[1]
            raise reader.SpecError(wrong[0], where, wrong[2])
        return stored.record, reader.token_parts(field, stored)[0].tobytes()  # the ids, without the table behind them
    if field.known and field.type_id in reader.GRIDS:
        wrong = reader.grid_fault(field, stored.record, stored.data, deep=False)
        if wrong:
            raise reader.SpecError("corrupt", f._record(i, field) + wrong[0], wrong[1])
        return stored.record, stored.data
    if field.known and field.type_id == reader.FLOW:
        return stored.record, one_nan(f.value(i, field.name).tobytes())
    if field.known and field.type_id not in (reader.JSON, reader.TEXT, reader.INLINE):
        f.value(i, field.name)  # the text of JSON and TEXT is a matter of a deep verify
    elif field.known and field.type_id == reader.JSON and not stored.data:
        return f.value(i, field.name)  # an error, or null in a 1.0 file
    elif field.known and field.type_id == reader.TEXT and stored.record[14]:
        f.value(i, field.name)
    return stored.record, stored.data


def one_nan(data):
    """Which NaN a NaN becomes is left open."""
    floats = np.frombuffer(data, "<f4")
    return np.where(np.isnan(floats), np.float32(np.nan), floats).tobytes()


def by_library(c, i, field):
    kind, number, data, dims, record = c.get(i, field.name, stored=not field.known)
    if kind == 0:
        return None
    if field.known and field.type_id == reader.FLOW:
        data = one_nan(data)
    return record, data if field.form else b""


def same(library, data, secret):
    """Opens data with both readers; compares error or every value, key and card."""
    mine = outcome(lambda: reader.File(data, **secret))
    theirs = outcome(lambda: library.open(data, **secret))
    if isinstance(mine, tuple) or isinstance(theirs, tuple):
        if not isinstance(theirs, tuple):
            theirs.close()
        assert mine == theirs
        return mine
    with theirs:
        assert theirs.num_samples == mine.num_samples
        assert theirs.names == [f.name for f in mine.fields]
        for i in range(min(mine.num_samples, 20)):
            for f in mine.fields:
                assert outcome(lambda: by_reference(mine, i, f)) == outcome(lambda: by_library(theirs, i, f)), (i, f.name)
            if mine.has_keys:
                assert outcome(lambda: mine.key_bytes(i)) == outcome(lambda: theirs.key(i)), i
        if mine.has_keys:
            for key in ("key1", "key5", "absent", ""):
                assert outcome(lambda: mine.find(key)) == outcome(lambda: theirs.find(key)), key
        card = outcome(lambda: mine.card)
        other = outcome(theirs.card)
        assert card == (json.loads(other) if isinstance(other, bytes) else other)
    return None


@needs_library
@pytest.mark.parametrize("name", FILES)
def test_cut_files_give_the_same_error(library, name):
    data = (VALID / (name + ".mldf")).read_bytes()
    for size in [*range(0, 200), *range(200, len(data), 7), *range(max(200, len(data) - 700), len(data))]:
        same(library, data[:size], secrets(name))


@needs_library
@pytest.mark.parametrize("name", FILES)
def test_flipped_bits_give_the_same_outcome(library, name):
    rng, data = random.Random(name), bytearray((VALID / (name + ".mldf")).read_bytes())
    for _ in range(ROUNDS):
        at, bit = rng.randrange(len(data)), 1 << rng.randrange(8)
        data[at] ^= bit
        try:
            same(library, bytes(data), secrets(name))
        except AssertionError as why:
            raise AssertionError(f"{name}: bit {bit} of byte {at}: {why}") from why
        data[at] ^= bit


INTERESTING = [0, 1, 2, 7, 8, 15, 16, 63, 64, 72, 73, 127, 128, 255, 256, 4095, 4096, 65535, 65536, 2**24, 2**31, 2**32 - 1,
               2**32, 2**40, 2**56, 2**63 - 1, 2**63, 2**64 - 8, 2**64 - 1]


@needs_library
@pytest.mark.parametrize("name", [n for n in FILES if n not in ("streamed", "torn_header", "encrypted_all")])
def test_hostile_numbers_behind_right_checksums_give_the_same_outcome(library, name):
    """A number somewhere in header, tables, sections or directory is replaced and every checksum made right again."""
    rng, good = random.Random(name), (VALID / (name + ".mldf")).read_bytes()
    reached = 0
    for data, what in hostile(rng, good, ROUNDS):
        try:
            reached += same(library, data, secrets(name)) is None
        except AssertionError as why:
            raise AssertionError(f"{name}: {what}: {why}") from why
    assert reached or secrets(name)["key"]


def hostile(rng, good, rounds):
    """Files whose checksums are right and one of whose numbers is not, with a word on what was changed."""
    e = Editor(good)
    t = e.ptr(1)
    spans = [(9, 73), *[(e.get("Q", t + 24 * k), e.get("Q", t + 24 * k) + e.get("Q", t + 24 * k + 8)) for k in range(3)],
             *[(e.get("Q", x + 8), e.get("Q", x + 8) + e.get("Q", x + 16)) for x in range(e.directory + 16, e.footer, 40)],
             (e.directory, e.footer)]
    spans = [s for s in spans if s[1] > s[0]]
    for _ in range(rounds):
        e = Editor(good)
        begin, end = rng.choice(spans)
        at, code = rng.randrange(begin, end), rng.choice("BHIQ")
        at -= (at - begin) % struct.calcsize(code) if rng.random() < 0.8 else 0
        if at + struct.calcsize(code) > end:
            continue
        value = rng.choice(INTERESTING) if rng.random() < 0.7 else e.get(code, at) + rng.randint(-9, 9)
        e.put(code, at, value % 2**(8 * struct.calcsize(code)))
        try:
            yield e.fix(), f"{code} {value} at byte {at}"
        except (struct.error, IndexError, OverflowError):
            continue


@needs_library
@pytest.mark.parametrize("name", [*(n for n in FILES if n not in ("streamed", "torn_header", "images", "encrypted_all")), "fast_jpeg", "fast_jpeg_samplings"])
def test_verify_finds_the_same_problems(library, tmp_path, name):
    """All of them, not the first alone. Images are left out: the reference reader does not decode them."""
    rng, good, path = random.Random("verify " + name), (VALID / (name + ".mldf")).read_bytes(), tmp_path / "a.mldf"
    found = 0
    for data, what in hostile(rng, good, ROUNDS // 3):
        path.write_bytes(data)
        for deep in (False, True):
            mine = outcome(lambda: [(p.status, p.offset) for p in reader.File(data, without_key=True).verify(deep)])
            theirs = library.verify(path, deep)
            found += len(theirs)
            assert sorted(theirs, key=str) == sorted([mine] if isinstance(mine, tuple) else mine, key=str), (name, what, deep)
    assert found


@needs_library
def test_plans_of_fields_without_documents_and_of_odd_rules(library, tmp_path):
    """A plan's header may name any field and any rule; alignments need not be powers of two."""
    mldf_package = pytest.importorskip("mldf")
    path = tmp_path / "a.mldf"
    mldf_package.write(path, [{"n": i, "t": list(range(i % 9))} for i in range(40)], {"n": int, "t": mldf_package.Tokens(50)})
    mldf_package.plan_tokens(path, 12, align=3)
    good = path.read_bytes()
    assert library.verify(path, True) == [] == reader.File(good).verify(True)
    header = reader.File(good).by_kind[reader.PACK_PLANS].ptr + 8
    for at, code, value in ((96, "H", 0), (96, "H", 1), (76, "I", 0), (76, "I", 5), (72, "I", 0), (72, "I", 2**31), (98, "B", 0),
                            (98, "B", 3), (98, "B", 9), (100, "B", 3), (88, "I", 7), (104, "Q", 1), (84, "I", 0), (99, "B", 2)):
        e = Editor(good)
        e.put(code, header + at, value)
        path.write_bytes(e.fix())
        mine = [(p.status, p.offset) for p in reader.File(path.read_bytes()).verify(True)]
        assert library.verify(path, True) == mine, (at, value)


DRAFT = ROOT / "tests" / "golden" / "draft"


@needs_library
@pytest.mark.parametrize("name", sorted(p.stem for p in DRAFT.glob("*.mldf")))
def test_damaged_draft_files_give_the_same_outcome(library, name):
    rng, good = random.Random(name), (DRAFT / (name + ".mldf")).read_bytes()
    for size in range(0, len(good), 5):
        same(library, good[:size], {})
    used = [at for at in range(9, len(good)) if good[at] or at < 73]
    for _ in range(ROUNDS):
        data, code = bytearray(good), rng.choice("BHIQ")
        at = min(rng.choice(used), len(good) - 8)
        value = (rng.choice(INTERESTING) if rng.random() < 0.5 else data[at] ^ 1 << rng.randrange(8)) % 2**(8 * struct.calcsize(code))
        struct.pack_into("<" + code, data, at, value)
        try:
            same(library, bytes(data), {})
        except AssertionError as why:
            raise AssertionError(f"{name}: {code} {value} at byte {at}: {why}") from why


# ---- The command ----------------------------------------------------------------------------------------------------


def mldf(*arguments, expect=0, **options):
    run = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, **options)
    assert run.returncode == expect, (arguments, run.returncode, run.stderr.decode("utf-8", "replace"))
    return run.stdout


WORDS = ["", "a", "zwei", "три", "四\n", "five \"quoted\"", "six\t", "\U0001F600", "x" * 700]
NUMBER_DTYPES = ["|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8"]


def random_field(rng, index):
    kind = rng.choice(["int", "float", "bool", "text", "bytes", "json", "ndarray", "inline"])
    field = {"name": f"f{index}_{kind}", "type": "int" if kind == "bool" else kind}
    if kind == "int" and rng.random() < 0.7:
        field["dtype"] = rng.choice(NUMBER_DTYPES[:8])
    if kind == "bool":
        field["dtype"] = "|b1"
    if kind == "ndarray":
        field["dtype"] = rng.choice(NUMBER_DTYPES)
        field["shape"] = [rng.choice([None, rng.randrange(1, 5)]) for _ in range(rng.randrange(1, 4))]
    if kind == "inline":
        field["descr"] = [["a", rng.choice(NUMBER_DTYPES)], ["b", "<f4", [rng.randrange(1, 4)]]]
    if rng.random() < 0.4:
        field["nullable"] = True
    if kind in ("text", "bytes", "json", "ndarray") and rng.random() < 0.3:
        field["compress"] = rng.choice([True, 1, 19])
    return field


def random_number(rng, dtype):
    if dtype[1] == "f":
        return rng.randint(-1000, 1000) / 8
    info = np.iinfo(dtype)
    return rng.choice([int(info.min), int(info.max), rng.randint(0, 100)])


def random_array(rng, dtype, shape):
    if not shape:
        return random_number(rng, dtype)
    return [random_array(rng, dtype, shape[1:]) for _ in range(shape[0])]


def random_json(rng, depth=0):
    choice = rng.randrange(7 if depth < 3 else 5)
    if choice == 5:
        return [random_json(rng, depth + 1) for _ in range(rng.randrange(4))]
    if choice == 6:
        return {rng.choice(WORDS[1:]) + str(k): random_json(rng, depth + 1) for k in range(rng.randrange(4))}
    return [True, rng.randint(-10**9, 10**9), rng.choice(WORDS), rng.randint(-99, 99) / 4, {}][choice]


def random_value(rng, field):
    """(value in JSON lines, what the reference reader gives)."""
    kind = field["type"]
    if field.get("nullable") and rng.random() < 0.3:
        return None, None
    if field.get("dtype") == "|b1":
        v = rng.random() < 0.5
        return v, v
    if kind == "int":
        v = random_number(rng, field.get("dtype", "<i8"))
        return v, v
    if kind == "float":
        v = rng.choice([0.0, -1.5, 0.1, 1e300, rng.random()])
        return v, v
    if kind == "text":
        v = rng.choice(WORDS)
        return v, v
    if kind == "bytes":
        v = rng.randbytes(rng.choice([0, 1, 100, 3000]))
        return {"base64": base64.b64encode(v).decode()}, v
    if kind == "json":
        v = random_json(rng)
        return v, v
    if kind == "ndarray":
        shape = [rng.randrange(1, 40) if n is None else n for n in field["shape"]]
        v = random_array(rng, field["dtype"], shape)
        return v, np.array(v, field["dtype"])
    a, b = random_number(rng, field["descr"][0][1]), [rng.randint(-9, 9) / 2 for _ in range(field["descr"][1][2][0])]
    return {"a": a, "b": b}, {"a": a, "b": b}


def equal(a, b):
    if isinstance(b, np.ndarray):
        return isinstance(a, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return type(a) is type(b) and a == b if isinstance(b, bool) else a == b


@needs_command
@pytest.mark.parametrize("seed", range(12))
def test_packed_rows_come_back(tmp_path, seed):
    rng = random.Random(seed)
    schema = {"fields": [random_field(rng, k) for k in range(rng.randrange(1, 9))]}
    rows = [[random_value(rng, f) for f in schema["fields"]] for _ in range(rng.choice([0, 1, 7, 65, 300]))]
    lines = [json.dumps({f["name"]: v[0] for f, v in zip(schema["fields"], row)}, ensure_ascii=rng.random() < 0.5) for row in rows]
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    cut = len(lines) if seed % 3 else len(lines) // 2
    (tmp_path / "first.jsonl").write_text("".join(x + "\n" for x in lines[:cut]))
    (tmp_path / "rest.jsonl").write_text("".join(x + "\n" for x in lines[cut:]))
    out, options, secret = tmp_path / "out.mldf", [], []
    if seed % 4 == 1:
        options.append("--no-checksums")
    if seed % 4 == 2:
        (tmp_path / "key").write_bytes(bytes(range(32)))
        options += ["--encrypt", tmp_path / "key"]
        secret = ["--key", tmp_path / "key"]
    if seed % 5 == 0:
        (tmp_path / "card.json").write_text('{"title": "oracle", "seed": %d}' % seed)
        options += ["--card", tmp_path / "card.json"]
    mldf("pack", tmp_path / "first.jsonl", "-o", out, "--schema", tmp_path / "schema.json", "-j", seed % 3, *options)
    if cut < len(lines):
        mldf("append", out, tmp_path / "rest.jsonl", *secret)
    mldf("verify", "--deep", out, *secret)
    f = reader.read(out, bytes(range(32)) if secret else None)
    assert f.num_samples == len(rows)
    assert [str(p) for p in f.verify(deep=True)] == []
    assert f.card == ({"title": "oracle", "seed": seed} if seed % 5 == 0 else None)
    for i, row in enumerate(rows):
        for field, (_, expected) in zip(schema["fields"], row):
            assert equal(f.value(i, field["name"]), expected), (i, field, f.value(i, field["name"]), expected)


INVALID_CASES = json.loads((INVALID / "manifest.json").read_text())
# The others are a matter of access or of the key, not of verify.
VERIFIED = [e for e in INVALID_CASES if e["when"] != "access" and e["status"] not in ("key_missing", "key_wrong")]


def test_every_invalid_vector_is_given_to_the_command_or_to_the_library():
    import test_c_vectors

    given = [e["file"] for e in VERIFIED] + [e["file"] for e in test_c_vectors.ACCESSED]
    assert set(given) == {e["file"] for e in INVALID_CASES} == {p.name for p in INVALID.glob("*.mldf")}


@needs_command
@pytest.mark.parametrize("entry", VERIFIED, ids=lambda e: e["file"])
def test_command_verify_reports_the_vector(tmp_path, entry):
    options = ["--deep"] if entry.get("deep") else []
    if entry.get("key"):
        (tmp_path / "key").write_bytes(bytes.fromhex(entry["key"]))
        options += ["--key", tmp_path / "key"]
    if entry.get("passphrase"):
        (tmp_path / "pass").write_text(entry["passphrase"])
        options += ["--passphrase-file", tmp_path / "pass"]
    result = json.loads(mldf("verify", "--json", *options, INVALID / entry["file"], expect=1))
    assert result["ok"] is False
    first = result["problems"][0]
    assert (first["status"], first["offset"]) == (entry["status"], entry["offset"]), first
    if entry["when"] == "verify" and entry["field"]:
        assert (first["sample"], first["field"]) == (entry["sample"], entry["field"])


@needs_command
@pytest.mark.parametrize("entry", list(KEYS.values()), ids=lambda e: e["file"])
def test_command_verifies_valid_vectors(tmp_path, entry):
    options = []
    if entry.get("key"):
        (tmp_path / "key").write_bytes(bytes.fromhex(entry["key"]))
        options += ["--key", tmp_path / "key"]
    if entry.get("passphrase"):
        (tmp_path / "pass").write_text(entry["passphrase"])
        options += ["--passphrase-file", tmp_path / "pass"]
    result = json.loads(mldf("verify", "--deep", "--json", *options, VALID / entry["file"], expect=1 if entry["verify"] else 0))
    assert [{"status": p["status"], "offset": p["offset"]} for p in result["problems"]] == entry["verify"]


def printed(x):
    """A decoded value as `mldf cat --json` shows it; `|S` members as text, `|V` members in hex."""
    if isinstance(x, dict):
        return {k: printed(v) for k, v in x.items()}
    if isinstance(x, list):
        return [printed(v) for v in x]
    return x if isinstance(x, bytes) else reader.plain(x)


def agrees(shown, value):
    if isinstance(value, bytes):
        return shown in (value.decode("utf-8", "replace"), value.hex())
    if isinstance(value, dict):
        return shown.keys() == value.keys() and all(agrees(shown[k], v) for k, v in value.items())
    if isinstance(value, list):
        return len(shown) == len(value) and all(map(agrees, shown, value))
    return shown == value


def shown_tokens(field, value):
    """Tokens as `mldf cat --json` shows them: all ids up to 64; ends and first positions up to 64 documents."""
    ids, ends, firsts = reader.token_parts(field, value)
    digest = hashlib.sha256(ids.tobytes()).hexdigest()
    if ends is None and field.type_id != 43:
        return ids.tolist() if len(ids) <= 64 else {"dtype": ids.dtype.str, "shape": [len(ids)], "sha256": digest}
    known = {"tokens": ids.tolist()} if len(ids) <= 64 else {
        "bytes": ids.nbytes, "sha256": digest, "dtype": ids.dtype.str, "tokens": len(ids)}
    if field.type_id == 43:  # paragraphs and sentences: their ends, or how many there are
        levels = zip(("paragraphs", "sentences"), reader.token_levels(field, value))
        return known | {name: level if len(level) <= 64 else len(level) for name, level in levels}
    known["documents"] = len(ends)
    if len(ends) <= 64:
        known |= {"ends": ends} | ({} if firsts is None else {"from": firsts})
    return known


@needs_command
@pytest.mark.parametrize("entry", list(KEYS.values()), ids=lambda e: e["file"])
def test_command_shows_the_samples_of_the_vector(tmp_path, entry):
    options = []
    if entry.get("key"):
        (tmp_path / "key").write_bytes(bytes.fromhex(entry["key"]))
        options += ["--key", tmp_path / "key"]
    if entry.get("passphrase"):
        (tmp_path / "pass").write_text(entry["passphrase"])
        options += ["--passphrase-file", tmp_path / "pass"]
    f = reader.read(VALID / entry["file"], **secrets(Path(entry["file"]).stem))
    lines = mldf("cat", "--json", *options, VALID / entry["file"]).splitlines()
    assert len(lines) == f.num_samples
    for i, line in enumerate(map(json.loads, lines)):
        assert (line["index"], line["key"]) == (i, f.key(i))
        assert list(line["fields"]) == [x.name for x in f.fields]
        for field in f.fields:
            shown, where = line["fields"][field.name], (i, field.name)
            if field.known and field.type_id == reader.INLINE:
                value = f.value(i, field.name)
                assert shown is None if value is None else agrees(shown, printed(value)), where
                continue
            expected = reader.value_json(f, i, field)
            if expected and field.known and field.type_id in reader.TOKEN_TYPES and field.arguments:  # the draft's are shown as stored
                assert shown == shown_tokens(field, f.value(i, field.name)), where
                continue
            if isinstance(expected, dict) and "data" in expected and not isinstance(shown, dict):
                expected = expected["data"]
            elif isinstance(expected, dict) and isinstance(shown, dict) and field.type_id == reader.NDARRAY:
                expected.pop("data", None)
            elif expected and field.type_id in reader.IMAGES:
                height, width, channels, mode, bits, _, orientation = struct.unpack_from("<HHBBBBB", bytes.fromhex(expected.pop("record")), 12)
                if mode == 7:  # shown as the JPEG that was packed
                    expected = reader.plain(fast_jpeg.file(fast_jpeg.read(f.value(i, field.name).data))) | {"mode": "jpeg"}
                expected |= {"height": height, "width": width, "channels": channels, "bits": bits or 8, "orientation": orientation}
                shown = {name: shown[name] for name in expected}
            elif expected and field.known and field.type_id == reader.FRAMES:
                frames, height, width, *fps = struct.unpack_from("<IHHII", bytes.fromhex(expected.pop("record")), 16)
                expected |= {"frames": frames, "height": height, "width": width, "channels": field.arguments.get("channels", 3), "fps": fps}
            elif expected and field.known and field.type_id in (reader.WAVEFORM, reader.PACKETS):
                samples, rate, channels, bits, codec = struct.unpack_from("<QIHBB", bytes.fromhex(expected.pop("record")), 16)
                expected |= {"samples": samples, "rate": rate, "channels": channels, "bits": bits,
                             "codec": {0: "pcm", 1: "flac", 16: "float", 17: "alaw", 18: "mulaw"}[codec]}
            elif expected and field.known and field.type_id == reader.FRAMES:
                frames, height, width, num, den = struct.unpack_from("<IHHII", bytes.fromhex(expected.pop("record")), 16)
                expected |= {"frames": frames, "height": height, "width": width, "channels": field.arguments.get("channels", 3), "fps": [num, den]}
            elif expected and field.known and field.type_id == reader.VIDEO:
                record = bytes.fromhex(expected.pop("record"))
                frames, keys, width, height, num, den, _, _, _, duration = struct.unpack_from("<IIHHIIBBHQ", record, 16)
                samples, _, rate, channels, _, _ = struct.unpack_from("<QQIHBB", record, 48)
                expected |= {"frames": frames, "keys": keys, "height": height, "width": width, "fps": [num, den], "seconds": duration / 1e6, "codec": "mjpeg"}
                expected |= {"sound": {"samples": samples, "rate": rate, "channels": channels, "codec": "flac"}} if rate else {}
            elif expected and field.known and field.type_id == reader.MULTIMODAL:
                parts = reader.multimodal_parts(field, f.value(i, field.name))
                names = ("tokens", "images", "pixels", "samples", "milliseconds")
                expected = dict(zip(names, reader.part_totals(parts, reader.part_kinds(field.arguments))[1:])) | {"bytes": expected["bytes"], "count": len(parts)}
                assert [(p["role"], p.get("group", 0), p.get("begin", 0), p["value"] is None) for p in shown.pop("parts", [])] == [
                    (kind.name, group, begin, value is None) for kind, group, begin, value in parts], where
            assert shown == expected, where


@needs_command
def test_types_of_columns_are_found(tmp_path):
    rng = random.Random(7)
    rows = [{"i": rng.randint(-2**40, 2**40), "f": rng.randint(-99, 99) / 8, "t": rng.choice(WORDS), "b": rng.random() < 0.5,
             "j": {"k": [i]}, "a": [i, i + 1, i + 2]} for i in range(50)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    mldf("pack", tmp_path / "in.jsonl", "-o", tmp_path / "out.mldf")
    f = reader.read(tmp_path / "out.mldf")
    assert f.verify(deep=True) == []
    assert {x.name: x.type_id for x in f.fields if x.name != "a"} == {"i": 1, "f": 2, "t": 40, "b": 1, "j": 5}
    for i, row in enumerate(rows):
        got = {x.name: f.value(i, x.name) for x in f.fields}
        got["a"] = got["a"].tolist() if isinstance(got["a"], np.ndarray) else got["a"]
        assert got == row


@needs_command
def test_a_field_that_was_added_reads_as_any_other(tmp_path):
    """add-field, an append behind it, and another add-field: the reference reader finds every value and no fault."""
    def run(*arguments):
        subprocess.run([COMMAND, *map(str, arguments), "-q"], check=True)

    def rows(name, items):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in items))
        return tmp_path / name

    path = tmp_path / "added.mldf"
    texts = ["x" * (i * 37 % 3000) for i in range(300)]
    run("pack", rows("a.jsonl", [{"n": i, "t": t} for i, t in enumerate(texts[:200])]), "-o", path)
    run("add-field", path, f"u={rows('u.jsonl', [{'u': t[::-1] + 'u'} for t in texts[:200]])}", "--compress", 3)
    run("append", path, rows("b.jsonl", [{"n": 200 + i, "t": t, "u": t + "u"} for i, t in enumerate(texts[200:])]))
    run("add-field", path, f"w={rows('w.jsonl', [{'w': None if i % 3 == 0 else i / 2} for i in range(300)])}")
    f = reader.read(str(path))
    assert [x.name for x in f.fields] == ["n", "t", "u", "w"] and f.header.num_samples == 300
    for i, t in enumerate(texts):
        assert (f.value(i, "n"), f.value(i, "t"), f.value(i, "w")) == (i, t, None if i % 3 == 0 else i / 2)
        assert f.value(i, "u") == (t[::-1] if i < 200 else t) + "u"
    assert not list(f.verify(deep=True))
