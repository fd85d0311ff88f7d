"""Pack plans against a second, plain implementation, and their life in a file."""

import bisect
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import mldf
import numpy as np
import pytest

MLDF = os.environ.get("MLDF", "mldf")
SPEC = pathlib.Path(os.environ["MLDF_SOURCE_DIR"]) / "docs/spec/reference_reader.py"
_spec = importlib.util.spec_from_file_location("reference_reader", SPEC)
reference = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(reference)
KEY = bytes(range(32))
sys.path[:0] = [str(SPEC.parent), str(SPEC.parents[2] / "tools")]
from vectors_invalid import Editor  # noqa: E402


def corpus(path, lengths, **options):
    whole = np.zeros(max([n or 0 for n in lengths], default=0), np.uint8)
    with mldf.Writer(path, {"x": mldf.Int(), "t": mldf.Tokens(200, nullable=True)}, **options) as w:
        for i, n in enumerate(lengths):
            w.append({"x": i, "t": None if n is None else whole[:n]})
    return path


def stored(path, **options):
    return reference.read(path, **options).plans


def bins_of(plan):
    table = [tuple(map(int, p)) for p in plan["table"]]
    first = plan["first_piece"].tolist()
    return [table[a:b] for a, b in zip(first, first[1:])]


# ---- The specification, in Python ----


def divide(n, length, long, bos, eos):
    """[(from, length, places)] of a document, by the places that it takes."""
    if not n:
        return []
    places = [None] * bos + list(range(n)) + [None] * eos
    if len(places) > length and long == "drop":
        return []
    if len(places) > length and long == "truncate":
        kept = [p for p in places[:length] if p is not None]
        if eos and len(kept) == n:
            kept = kept[:-1]
        return [(0, len(kept), len(kept) + bos)]
    cuts = list(range(length, len(places), length))
    if eos and cuts and cuts[-1] == len(places) - 1:
        cuts[-1] -= 1
    out = []
    for a, b in zip([0, *cuts], [*cuts, len(places)]):
        real = [p for p in places[a:b] if p is not None]
        out.append((real[0], len(real), b - a))
    return out


def mix(x):
    """SplitMix64's last two lines."""
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
    return x ^ x >> 31


def expected(lengths, length, algorithm="best-fit", align=1, long="cut", max_pieces=None, bos=False, eos=False, seed=0):
    limit = max_pieces or 10**9
    pieces = [[(d, *p) for p in divide(n, length, long, bos, eos)] for d, n in enumerate(lengths)]
    if algorithm == "next-fit":
        bins, room = [], 0
        for d, a, n, places in (p for document in pieces for p in document):
            size = length if places >= length - 1 and len(pieces[d]) > 1 and (d, a, n, places) != pieces[d][-1] else -(-places // align) * align
            if size > room or len(bins[-1]) == limit:
                bins.append([])
                room = length
            bins[-1].append((d, a, n))
            room -= size
        return bins
    full = [[p[:3]] for document in pieces for k, p in enumerate(document) if p[3] == length or k + 1 < len(document)]
    rest = [p for document in pieces for k, p in enumerate(document) if not (p[3] == length or k + 1 < len(document))]
    if long == "truncate":  # one that was truncated has a bin of its own
        cut = {d for d, n in enumerate(lengths) if n and n + bos + eos > length}
        full = [[p[:3]] for document in pieces for p in document if p[3] == length or p[0] in cut]
        rest = [p for document in pieces for p in document if not (p[3] == length or p[0] in cut)]
    rest.sort(key=lambda p: (-p[3], mix((mix(seed) + p[0]) % 2**64) if seed else 0))
    bins, by_room, rooms = [], {}, []
    for d, a, n, places in rest:
        size = -(-places // align) * align
        at = bisect.bisect_left(rooms, size)
        if at == len(rooms):
            bins.append([])
            b, room = len(bins) - 1, length
        else:
            room = rooms[at]
            b = by_room[room].pop()
            if not by_room[room]:
                del by_room[room], rooms[at]
        bins[b].append((d, a, n))
        room -= size
        if room and len(bins[b]) < limit:
            if room not in by_room:
                bisect.insort(rooms, room)
                by_room[room] = []
            by_room[room].append(b)
    return full + bins


RULES = [{}, {"algorithm": "next-fit"}, {"align": 4}, {"algorithm": "next-fit", "align": 8}, {"long": "truncate"}, {"long": "drop"},
         {"max_pieces": 3}, {"eos": True}, {"bos": True, "eos": True}, {"bos": True, "long": "truncate"}, {"eos": True, "long": "truncate"},
         {"algorithm": "next-fit", "bos": True, "eos": True, "max_pieces": 2}, {"algorithm": "next-fit", "long": "drop", "eos": True},
         {"align": 8, "eos": True, "max_pieces": 4, "long": "drop"}, {"seed": 7}, {"seed": 2**40 + 1, "eos": True, "align": 2}]


def documents(seed, count=300):
    """Empty ones, nulls, of one token, exactly L, one more and one less, and longer than L."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 40, count).tolist() + [0, 1, 31, 32, 33, 63, 64, 65, 200, None] * 3
    rng.shuffle(lengths)
    return lengths


@pytest.mark.parametrize("rule", RULES, ids=lambda r: "-".join(f"{k}={v}" for k, v in r.items()) or "default")
@pytest.mark.parametrize("length", [32, 64])
def test_plans_are_those_of_the_specification(tmp_path, rule, length):
    lengths = documents(length)
    path = corpus(tmp_path / "a.mldf", lengths)
    given = rule | {k: 7 for k in ("bos", "eos") if k in rule}
    made = mldf.plan_tokens(path, length, **given)
    plan, = stored(path)
    want = expected(lengths, length, **rule)
    assert bins_of(plan) == want
    total = sum(n or 0 for n in lengths)
    placed = sum(p[2] for b in want for p in b)
    assert (plan["placed"], plan["left_out"], plan["rows"], plan["field"]) == (placed, total - placed, len(lengths), "t")
    assert plan["most_pieces"] == max(map(len, want)) and made["bins"] == len(want) and made["tokens"] == placed
    cut = {d for d in range(len(lengths)) if sum(p[0] == d for b in want for p in b) > 1}
    if rule.get("long") == "truncate":
        ends = sum(k in rule for k in ("bos", "eos"))
        cut = {d for d, n in enumerate(lengths) if n and n + ends > length}
    assert plan["cut"] == len(cut)
    packed = np.array([2**64 - 1 if n is None else n for n in lengths], "<u8").tobytes()
    assert plan["lengths_hash"] == reference.xxh64(packed)
    assert mldf.verify(path, deep=True).ok


@pytest.mark.parametrize("lengths", [[], [0], [None, None], [1], [32], [33], [1000], [0, 1, 0]])
@pytest.mark.parametrize("algorithm", ["best-fit", "next-fit"])
def test_small_sets(tmp_path, lengths, algorithm):
    path = corpus(tmp_path / "a.mldf", lengths)
    mldf.plan_tokens(path, 32, algorithm=algorithm)
    plan, = stored(path)
    assert bins_of(plan) == expected(lengths, 32, algorithm)


@pytest.mark.parametrize("eos", [False, True])
def test_every_token_is_in_one_piece(tmp_path, eos):
    lengths = documents(9, 2000)
    path = corpus(tmp_path / "a.mldf", lengths)
    mldf.plan_tokens(path, 48, eos=5 if eos else None)
    plan, = stored(path)
    seen = [np.zeros(n or 0, int) for n in lengths]
    for pieces in bins_of(plan):
        used = 0
        for d, a, n in pieces:
            assert n > 0
            seen[d][a:a + n] += 1
            used += n + (eos and a + n == lengths[d])
        assert used <= 48
    assert all((s == 1).all() for s in seen)


def test_the_log_normal_set(tmp_path):  # tests/unit/format/test_packing.c has a million
    rng = np.random.default_rng(1)
    lengths = np.maximum(1, np.exp(rng.normal(np.log(902) - 1.1**2 / 2, 1.1, 10**5)).astype(int)) // 8 + 1
    path = corpus(tmp_path / "a.mldf", lengths.tolist(), checksums=False)
    made = mldf.plan_tokens(path, 256)
    assert 1 - made["fill"] <= 0.0005
    assert bins_of(stored(path)[0]) == expected(lengths.tolist(), 256)


def test_concat_is_reckoned_and_not_stored(tmp_path):
    path = corpus(tmp_path / "a.mldf", [5, 0, None, 9, 4])
    before = path.read_bytes()
    made = mldf.plan_tokens(path, 6, algorithm="concat")
    assert (made["bins"], made["pieces"], made["cut_documents"], made["most_pieces"]) == (3, 5, 1, 2)
    assert path.read_bytes() == before


def test_a_plan_with_the_same_options_is_replaced(tmp_path):
    path = corpus(tmp_path / "a.mldf", [5, 6, 7])
    for length in (16, 32, 16, 8, 32):
        mldf.plan_tokens(path, length)
    assert [p["length"] for p in stored(path)] == [16, 32, 8]
    shown = mldf.info(path)["token_plans"]
    assert [(p["field"], p["length"], p["documents"]) for p in shown] == [("t", 16, 3), ("t", 32, 3), ("t", 8, 3)]
    info = json.loads(subprocess.run([MLDF, "info", path, "--json"], capture_output=True, check=True).stdout)
    assert info["token_plans"] == shown
    for length in range(100, 161):
        mldf.plan_tokens(path, length)
    with pytest.raises(mldf.errors.LimitError, match="64 pack plans"):
        mldf.plan_tokens(path, 1000)
    mldf.plan_tokens(path, 160)
    assert mldf.verify(path).ok


@pytest.mark.parametrize("options, message", [({"length": 10, "align": 4}, "does not divide"), ({"length": 3, "eos": 1}, "at least 4"),
                                              ({"length": 8, "eos": 200}, "outside the vocabulary"), ({"length": 8, "algorithm": "first-fit"}, "first-fit"),
                                              ({"length": 8, "long": "wrap"}, "wrap"), ({"length": 8, "field": "y"}, 'no field "y"'),
                                              ({"length": 8, "field": "x"}, "type int"), ({"length": 8, "algorithm": "concat", "align": 2}, "concat"),
                                              ({"length": 2**31}, "possible")])
def test_rules_that_make_no_sense_leave_the_file_alone(tmp_path, options, message):
    path = corpus(tmp_path / "a.mldf", [5, 6, 7])
    before = path.read_bytes()
    with pytest.raises(mldf.Error, match=message):
        mldf.plan_tokens(path, **options)
    assert path.read_bytes() == before


# ---- Their life ----


@pytest.fixture
def planned(tmp_path):
    path = corpus(tmp_path / "planned.mldf", documents(4, 50))
    mldf.plan_tokens(path, 64)
    mldf.plan_tokens(path, 32, algorithm="next-fit")
    return path


def tables(path, **options):
    return [(p["length"], p["rows"], p["field"], p["first_piece"].tobytes(), p["table"].tobytes()) for p in stored(path, **options)]


def test_append_and_add_field_keep_plans(planned, tmp_path):
    before = tables(planned)
    rows = tmp_path / "rows.csv"
    rows.write_text("score\n" + "1.5\n" * len(mldf.open(planned)))
    mldf.add_field(planned, "score", rows, column="score")
    assert tables(planned) == before
    other = corpus(tmp_path / "other.mldf", [3, 4])
    rows.write_text("score\n1.5\n2.5\n")
    mldf.add_field(other, "score", rows, column="score")
    count = len(mldf.open(planned))
    mldf.append(planned, other)
    assert tables(planned) == before and len(mldf.open(planned)) == count + 2
    assert "appended since" in subprocess.run([MLDF, "info", planned], capture_output=True, text=True).stdout
    mldf.plan_tokens(planned, 64)
    assert [p["rows"] for p in stored(planned)] == [count + 2, count]
    assert mldf.verify(planned, deep=True).ok


def test_repack_and_select_of_fields_keep_plans(planned, tmp_path):
    mldf.repack(planned, tmp_path / "a.mldf")
    assert tables(tmp_path / "a.mldf") == tables(planned)
    mldf.repack(planned, tmp_path / "b.mldf", encrypt_key=KEY)
    assert tables(tmp_path / "b.mldf", key=KEY) == tables(planned)
    mldf.select(planned, tmp_path / "c.mldf", fields=["t"])
    assert tables(tmp_path / "c.mldf") == tables(planned) and stored(tmp_path / "c.mldf")[0]["field"] == "t"
    mldf.select(planned, tmp_path / "d.mldf", fields=["x"])
    assert stored(tmp_path / "d.mldf") == []
    for name in "abcd":
        assert mldf.verify(tmp_path / f"{name}.mldf", deep=True, key=KEY if name == "b" else None).ok
    path = tmp_path / "b.mldf"
    mldf.plan_tokens(path, 16, key=KEY)
    assert len(stored(path, key=KEY)) == 3
    data = bytearray(path.read_bytes())
    section = next(s for s in mldf.info(path)["sections"] if s["name"] == "pack_plan")
    data[section["ptr"] + 8 + 128 * 3] ^= 1
    path.write_bytes(data)
    with pytest.raises(mldf.errors.TamperedError):
        mldf.open(path, key=KEY)


@pytest.mark.parametrize("how", ["merge", "split", "select", "convert"])
def test_what_chooses_samples_drops_plans_and_says_so(planned, tmp_path, how):
    out = tmp_path / "out.mldf"
    arguments = {"merge": [planned, "-o", out], "split": [planned, "-o", tmp_path / "part-{}.mldf", "--count", 30],
                 "select": [planned, "-o", out, "--samples", "0:20"], "convert": [planned, "-o", out]}[how]
    done = subprocess.run([MLDF, how, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("2 pack plans") == 1, done.stderr
    assert stored(tmp_path / "part-0.mldf" if how == "split" and not out.exists() else out) == [] if how != "split" else True


def test_a_plan_survives_no_damage(planned):
    data = bytearray(planned.read_bytes())
    section = next(s for s in mldf.info(planned)["sections"] if s["name"] == "pack_plan")
    data[section["ptr"] + section["bytes"] - 1] ^= 1
    planned.write_bytes(data)
    assert [p.status for p in mldf.verify(planned).problems] == ["checksum"]
    with pytest.raises(mldf.errors.ChecksumError):
        mldf.plan_tokens(planned, 128)
    assert planned.read_bytes() == data


@pytest.mark.parametrize(
    "what, words",
    [
        ("length", "has tokens 0 to 4000 of a document of"),
        ("document", "names a document that is null or not there"),
        ("placed", "its sequences have"),
        ("hash", "documents of other lengths"),
        ("more", "more tokens than a sequence holds"),
    ],
)
def test_a_plan_that_does_not_fit_its_rows_is_found_when_verified_deep(tmp_path, what, words):
    path = corpus(tmp_path / "a.mldf", [20, 10, 32, 12, None, 3])
    mldf.plan_tokens(path, 32)
    section = next(s for s in mldf.info(path)["sections"] if s["name"] == "pack_plan")
    editor = Editor(bytearray(path.read_bytes()))
    header = section["ptr"] + 8
    pieces = section["ptr"] + int.from_bytes(editor.b[header + 8 : header + 16], "little")
    first = [i for i in range(5) if int.from_bytes(editor.b[pieces + 12 * i + 8 : pieces + 12 * i + 12], "little") == 20][0]
    at = pieces + 12 * first
    change = {"length": (at + 8, 4000, 4), "document": (at, 77, 4), "placed": (header + 40, 5, 8), "hash": (header + 64, 5, 8),
              "more": (pieces + 12 * (first + 1), 2, 4)}
    place, value, size = change[what]
    editor.b[place : place + size] = value.to_bytes(size, "little")
    if what == "more":  # a whole document of 32 tokens beside one of 20
        editor.b[place + 8 : place + 12] = (32).to_bytes(4, "little")
    editor.fix()
    path.write_bytes(editor.b)
    assert mldf.verify(path).ok
    (problem,) = mldf.verify(path, deep=True).problems
    assert words in problem.message and problem.status == "corrupt"


def test_a_seed_changes_who_shares_a_sequence_and_nothing_else(tmp_path):
    lengths = documents(5, 400)
    path = corpus(tmp_path / "a.mldf", lengths)
    for seed in (0, 1, 2, 1):
        mldf.plan_tokens(path, 32, seed=seed)
    plans = stored(path)
    assert [p["seed"] for p in plans] == [0, 1, 2] and [p.get("seed") for p in mldf.info(path)["token_plans"]] == [None, 1, 2]
    shapes = [[[p[2] for p in b] for b in bins_of(plan)] for plan in plans]
    assert shapes[0] == shapes[1] == shapes[2] and len({str(bins_of(p)) for p in plans}) == 3
    done = subprocess.run([MLDF, "plan-tokens", str(path), "--length", "32", "--seed", "3", "--json"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["seed"] == 3
    with pytest.raises(mldf.errors.ArgumentError, match="a seed is for best-fit"):
        mldf.plan_tokens(path, 32, algorithm="next-fit", seed=1)
    assert mldf.verify(path, deep=True).ok
