"""Views: every item equals a slice that NumPy makes of the rows, whatever the files, the order, the ranks, the place
where a run goes on. The reference below is the definition in docs/guides/views.md, written once more.
"""

import itertools
import json
import os
import subprocess

import mldf
import numpy as np
import pytest
from mldf.errors import (
    ArgumentError,
    CorruptError,
    NoFieldError,
    NoSampleError,
    NullError,
    StateError,
    SyntaxMistakeError,
)

COMMAND = os.environ.get("MLDF")
needs_command = pytest.mark.skipif(not COMMAND, reason="MLDF does not name the command mldf")
LENGTHS = [(10, 0, 3, 27), (), (64, 8, 1), (5, 5, 5, 129, 2)]  # of the rows of four files


def write(path, rows, field=None, keys=False, extra=None, **options):
    schema = {"x": field or mldf.NDArray("uint16", (None,)), "label": mldf.Int()}
    with mldf.Writer(path, schema, **options) as w:
        for i, row in enumerate(rows):
            sample = {"x": row, "label": i % 3 if extra is None else extra[i]}
            w.append(sample, **({"key": f"{path.stem}-{i}"} if keys else {}))
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("views")
    rng = np.random.default_rng(7)
    rows = [[rng.integers(0, 60000, n).astype(np.uint16) for n in lengths] for lengths in LENGTHS]
    paths = [write(folder / f"f{i}.mldf", part, keys=True) for i, part in enumerate(rows)]
    return paths, rows


def flat(rows):
    return [row for part in rows for row in part]


# ---- the definition ----


def windows(rows, length, stride=None, across=False):
    """(row, value) of every item, file after file."""
    stride = stride or length
    out, first = [], 0
    for part in rows:
        if across:
            stream = np.concatenate([*part, np.zeros(0, np.uint16)])
            owner = np.repeat(np.arange(len(part)), [len(r) for r in part]) if part else []
            starts = range(0, len(stream) - length + 1, stride)
            out += [(first + int(owner[s]), stream[s : s + length]) for s in starts]
        else:
            for i, row in enumerate(part):
                out += [(first + i, row[s : s + length]) for s in range(0, len(row) - length + 1, stride)]
        first += len(part)
    return out


def expand(rows, every, length=None, last="pad"):
    length = length or every
    out = []
    for i, row in enumerate(flat(rows)):
        for start in range(0, len(row), every):
            piece = row[start : start + length]
            if len(piece) < length and last == "drop":
                continue
            if last == "pad":
                piece = np.concatenate([piece, np.zeros(length - len(piece), row.dtype)])
            out.append((i, piece))
    return out


CASES = [
    ("windows(x, 4)", lambda r: windows(r, 4)),
    ("windows(x, 4, stride=3)", lambda r: windows(r, 4, 3)),
    ("windows(x, length=1)", lambda r: windows(r, 1)),
    ("windows(x, 5, stride=11)", lambda r: windows(r, 5, 11)),
    ("windows(x, 200)", lambda r: windows(r, 200)),
    ("windows(x, 4, across)", lambda r: windows(r, 4, across=True)),
    ("windows(x, 40, stride=7, across=true)", lambda r: windows(r, 40, 7, True)),
    ("windows(x, 6, stride=1, across)", lambda r: windows(r, 6, 1, True)),
    ("expand(x, every=4)", lambda r: expand(r, 4)),
    ("expand(x, every=3, length=7)", lambda r: expand(r, 3, 7)),
    ("expand(x, every=7, length=3, last=pad)", lambda r: expand(r, 7, 3)),
    ("expand(x, 4, 6, last=drop)", lambda r: expand(r, 4, 6, "drop")),
    ("expand(x, length=300)", lambda r: expand(r, 300)),
]
KEPT = ("expand(x, every=4, length=6, last=keep)", lambda r: expand(r, 4, 6, "keep"))


def rows_of(batches):
    """The items that a loader gave, by their number: (row, value)."""
    out = {}
    for batch in batches:
        for i, number in enumerate(batch.index.tolist()):
            assert number not in out
            out[number] = (int(batch.row[i]), batch.x[i])
    return out


def same(got, wanted):
    assert len(got) == len(wanted)
    for i, (row, value) in enumerate(wanted):
        assert got[i][0] == row
        assert np.array_equal(got[i][1], value), i


# ---- items are slices ----


@pytest.mark.parametrize(("text", "reference"), [*CASES, KEPT], ids=[c[0] for c in [*CASES, KEPT]])
def test_items_are_slices(files, text, reference):
    paths, rows = files
    wanted = reference(rows)
    view = mldf.open(paths).as_view(text)
    assert len(view) == len(wanted)
    starts = np.cumsum([0] + [len(r) for r in rows])
    for i, (row, value) in enumerate(wanted):
        piece = view.locate(i)[0]
        assert starts[piece.file] + piece.row == row
        assert np.array_equal(view[i].x, value)
        assert np.array_equal(view[i, "x"], value) and view[i].label == view[i, "label"]
    with pytest.raises(NoSampleError, match=f"no item {len(wanted)}: the view has {len(wanted)}"):
        view[len(wanted)]


@pytest.mark.parametrize("backend", ["map", "read"])
@pytest.mark.parametrize("order", ["sequential", "random", "quasi-random"])
@pytest.mark.parametrize(("text", "reference"), CASES, ids=[c[0] for c in CASES])
def test_loader_gives_every_item_once(files, text, reference, order, backend):
    paths, rows = files
    ds = mldf.open(paths, backend=backend)
    wanted = reference(rows)
    if not wanted:
        return
    loader = mldf.Loader(ds, 7, view=text, order=order, seed=5, index=True, row=True, key=True, block=3, window=2)
    names = [f"{p.stem}-{i}" for p, part in zip(paths, rows) for i in range(len(part))]
    got = {}
    for batch in loader:
        for i, number in enumerate(batch.index.tolist()):
            got[number] = (int(batch.row[i]), batch.x[i].copy())
            assert batch.key[i] == names[int(batch.row[i])]
    same(got, wanted)
    assert loader.stats().bad_samples == 0


@pytest.mark.parametrize("threads", [0, 3])
def test_pieces_of_different_lengths(files, threads):
    paths, rows = files
    wanted = KEPT[1](rows)
    for pipeline in ("x: pad", "x: ragged"):
        loader = mldf.Loader(paths, 7, view=KEPT[0], pipelines=pipeline, index=True, row=True, threads=threads)
        got = {}
        for batch in loader:
            for i, number in enumerate(batch.index.tolist()):
                if "ragged" in pipeline:
                    value = batch.x[batch.x_offset[i] : batch.x_offset[i + 1]]
                else:
                    value = batch.x[i, : batch.x_length[i]]
                got[number] = (int(batch.row[i]), value.copy())
        same(got, wanted)


@pytest.mark.parametrize("budget", [0, 20])
def test_buckets_and_budgets(files, budget):
    paths, rows = files
    wanted = KEPT[1](rows)
    loader = mldf.Loader(
        paths, 5, view=KEPT[0], pipelines="x: pad", bucket="x", bucket_window=16, budget=budget, index=True, row=True,
        shuffle=True, seed=2,
    )  # fmt: skip
    got, padding, unsorted = {}, 0, 0
    for batch in mldf.Loader(paths, 5, view=KEPT[0], pipelines="x: pad", shuffle=True, seed=2):
        unsorted += batch.x.size - int(batch.x_length.sum())
    for batch in loader:
        if budget:
            assert batch.x.size <= budget or len(batch.x) == 1
        padding += batch.x.size - int(batch.x_length.sum())
        for i, number in enumerate(batch.index.tolist()):
            got[number] = (int(batch.row[i]), batch.x[i, : batch.x_length[i]].copy())
    same(got, wanted)
    assert padding < unsorted


def test_other_dtypes_and_dimensions(tmp_path):
    rng = np.random.default_rng(1)
    rows = [rng.normal(size=(n, 3, 2)).astype(np.float32) for n in (7, 0, 12)]
    write(tmp_path / "a.mldf", rows, mldf.NDArray("float32", (None, 3, 2)))
    write(tmp_path / "b.mldf", [r[:5] for r in rows if len(r) > 4], mldf.NDArray("float32", (5, 3, 2)))
    got = rows_of(mldf.Loader(tmp_path / "a.mldf", 4, view="windows(x, 4, stride=2)", index=True, row=True))
    same(got, windows([rows], 4, 2))
    got = rows_of(mldf.Loader(tmp_path / "b.mldf", 4, view="expand(x, every=2, length=3)", index=True, row=True))
    assert [np.array_equal(got[i][1][:2], rows[0][2 * i : 2 * i + 2]) for i in (0, 1)] == [True, True]
    assert len(got) == 6 and not got[2][1][1:].any()


@pytest.mark.parametrize("how", ["compress", "encrypt", "verify"])
def test_stored_otherwise(tmp_path, how):
    rng = np.random.default_rng(2)
    rows = [rng.integers(0, 9, n).astype(np.uint16) for n in (5000, 17, 300)]
    secret = {"passphrase": "open sesame"} if how == "encrypt" else {}
    write(
        tmp_path / "a.mldf", rows, mldf.NDArray("uint16", (None,), compress=how == "compress"),
        **({"passphrase": "open sesame"} if secret else {}),
    )  # fmt: skip
    for backend in ("map", "read"):
        ds = mldf.open(tmp_path / "a.mldf", backend=backend, verify=how == "verify", **secret)
        for text, wanted in (
            ("windows(x, 100, stride=70)", windows([rows], 100, 70)),
            ("windows(x, 100, across)", windows([rows], 100, across=True)),
            ("expand(x, every=99)", expand([rows], 99)),
        ):
            same(rows_of(mldf.Loader(ds, 8, view=text, index=True, row=True, shuffle=True)), wanted)


def test_pipelines_run_on_the_item(files):
    paths, rows = files
    wanted = windows(rows, 6, 2)
    for reference in (False, True):
        loader = mldf.Loader(
            paths, 8, view="windows(x, 6, stride=2)", pipelines="x: window(samples=3, start=2) | cast(i64)",
            index=True, row=True, reference=reference,
        )  # fmt: skip
        same(rows_of(loader), [(row, value[2:5].astype(np.int64)) for row, value in wanted])


# ---- random windows ----


def test_random_windows(tmp_path):
    rows = [np.arange(1000, 1040), np.arange(2000, 2003), np.arange(3000, 3500)]
    write(tmp_path / "a.mldf", [r.astype(np.uint16) for r in rows])
    loader = mldf.Loader(tmp_path / "a.mldf", 16, view="windows(x, 8, random)", index=True, row=True, seed=3)
    plain = mldf.open(tmp_path / "a.mldf").as_view("windows(x, 8)")
    starts, epochs = [], []
    for _ in range(60):
        got = rows_of(loader)
        assert len(got) == len(plain) == 5 + 62
        epochs.append([int(got[i][1][0]) for i in range(len(got))])
        for row, value in got.values():
            assert np.array_equal(value, np.arange(value[0], value[0] + 8)) and rows[row][0] <= value[0]
            assert value[-1] <= rows[row][-1]
            if row == 0:
                starts.append(int(value[0]) - 1000)
    assert epochs[0] != epochs[1]
    assert set(starts) == set(range(33))  # anywhere, both ends included
    again = mldf.Loader(tmp_path / "a.mldf", 16, view="windows(x, 8, random)", index=True, row=True, seed=3, threads=0)
    assert [int(rows_of([b])[i][1][0]) for b in again for i in b.index.tolist()] == epochs[0]
    other = mldf.Loader(tmp_path / "a.mldf", 16, view="windows(x, 8, random)", index=True, row=True, seed=4)
    assert [int(rows_of([b])[i][1][0]) for b in other for i in b.index.tolist()] != epochs[0]


def test_random_windows_across(tmp_path):
    write(tmp_path / "a.mldf", [np.arange(s, s + 10, dtype=np.uint16) for s in range(0, 100, 10)])
    seen = set()
    loader = mldf.Loader(tmp_path / "a.mldf", 4, view="windows(x, 25, random, across)", row=True, index=True, seed=1)
    for _ in range(200):
        for row, value in rows_of(loader).values():
            assert np.array_equal(value, np.arange(value[0], value[0] + 25)) and row == value[0] // 10
            seen.add(int(value[0]))
    assert seen == set(range(76))


# ---- which items an epoch has: by rows ----


def test_subsets_are_of_rows(files):
    paths, rows = files
    chosen = [6, 3, 11]
    wanted = [item for r in chosen for item in enumerate(windows(rows, 4, 3)) if item[1][0] == r]
    ds = mldf.open(paths)
    for loader in (
        mldf.Loader(ds, 4, view="windows(x, 4, stride=3)", subset=chosen, index=True, row=True),
        mldf.Loader(ds.subset(chosen).as_view("windows(x, 4, stride=3)"), 4, index=True, row=True),
        mldf.Loader(ds.subset(chosen), 4, view=ds.as_view("windows(x, 4, stride=3)"), index=True, row=True),
    ):
        numbers = [n for b in loader for n in b.index.tolist()]
        assert numbers == [n for n, _ in wanted]  # in the order of the list
        for batch in loader:
            for i, n in enumerate(batch.index.tolist()):
                assert np.array_equal(batch.x[i], dict(wanted)[n][1])
    view = ds.subset(chosen).as_view("windows(x, 4, stride=3)")
    assert len(view) == len(wanted) and np.array_equal(view[5].x, wanted[5][1][1])


def test_weights_and_balance_are_of_rows(files):
    paths, rows = files
    weights = np.zeros(len(flat(rows)))
    weights[[3, 4]] = [1, 3]
    items = windows(rows, 4, 3)
    counts = {r: sum(row == r for row, _ in items) for r in (3, 4)}
    loader = mldf.Loader(
        paths, 50, view="windows(x, 4, stride=3)", weights=weights, samples_per_epoch=20000, row=True, index=True
    )
    drawn = np.concatenate([b.row for b in loader])
    share = 3 * counts[4] / (3 * counts[4] + counts[3])
    assert set(drawn.tolist()) == {3, 4} and abs((drawn == 4).mean() - share) < 0.02
    for batch in itertools.islice(loader, 3):
        for i, n in enumerate(batch.index.tolist()):
            assert np.array_equal(batch.x[i], items[n][1]) and batch.row[i] == items[n][0]
    assert len(mldf.Loader(paths, 1, view="windows(x, 4, stride=3)", weights=np.ones(len(weights)))) == len(items)
    one = mldf.Loader(paths[3], 6, view="windows(x, 2)", balance="label", shuffle=True)
    labels = np.concatenate([b.label for b in one])
    assert len(set(np.bincount(labels).tolist())) == 1 and len(np.bincount(labels)) == 3


def test_mixtures_are_by_file(files):
    paths, rows = files
    paths, rows = [paths[0], paths[3]], [rows[0], rows[3]]
    for text, items in (
        ("windows(x, 4, stride=3)", windows(rows, 4, 3)),
        ("windows(x, 9, across)", windows(rows, 9, across=True)),
        ("expand(x, every=5)", expand(rows, 5)),
    ):
        loader = mldf.Loader(paths, 10, view=text, ratios=[3, 1], shuffle=True, index=True, row=True)
        for batch in loader:
            assert len(batch.row) < 10 or (batch.row < 4).sum() in (7, 8)
            for i, n in enumerate(batch.index.tolist()):
                assert np.array_equal(batch.x[i], items[n][1]) and batch.row[i] == items[n][0]


# ---- going on ----


@pytest.mark.parametrize("text", ["windows(x, 4, stride=3)", "windows(x, 4, random)", "expand(x, every=3, length=7)"])
@pytest.mark.parametrize("bucket", [False, True])
def test_a_run_goes_on_at_every_batch(files, text, bucket):
    paths, _ = files
    options = {"view": text, "shuffle": True, "seed": 9, "index": True, "row": True}
    if bucket:
        options |= {"pipelines": "x: pad", "bucket": "x", "bucket_window": 30}

    def hashes(batches):
        return [[a.tobytes() for a in batch] for batch in batches]

    whole = hashes(mldf.Loader(paths, 6, **options))
    for stop in range(len(whole) + 1):
        loader = mldf.Loader(paths, 6, **options)
        it = iter(loader)
        for _ in range(stop):
            next(it)
        state = json.loads(json.dumps(loader.state_dict()))
        assert len(json.dumps(state)) < 1000
        later = mldf.Loader(paths, 6, threads=0, **options)
        later.load_state_dict(state)
        if stop < len(whole):
            assert hashes(later) == whole[stop:]
        else:
            assert later.epoch == 1


@pytest.mark.parametrize("text", ["windows(x, 4, stride=3)", "windows(x, 8, stride=2, across)", "expand(x, every=4)"])
def test_ranks_come_and_go(files, text):
    paths, _ = files
    state, seen = None, []
    everything = mldf.Loader(paths, 4, view=text, shuffle=True, seed=1, index=True)
    wanted = [n for b in everything for n in b.index.tolist()]
    for ranks, batches in ((1, 2), (2, 3), (4, 2), (3, None)):
        states = []
        for rank in range(ranks):
            loader = mldf.Loader(
                paths, 4, view=text, shuffle=True, seed=1, index=True, valid=True, rank=rank, world_size=ranks
            )
            if state is not None:
                loader.load_state_dict(state)
            for batch in itertools.islice(loader, batches):
                seen += batch.index[batch.valid].tolist()
            states.append(json.dumps(loader.state_dict(), sort_keys=True))
        assert len(set(states)) == 1
        state = json.loads(states[0])
    assert sorted(seen) == sorted(wanted)


def test_a_state_knows_its_view(files, tmp_path):
    paths, rows = files
    loader = mldf.Loader(paths, 4, view="windows(x, 4)", seed=1)
    next(iter(loader))
    state = loader.state_dict()
    assert state["view"]["text"] == "windows(x, length=4, stride=4, random=false, across=false, unit=steps)"
    assert state["view"]["digest"] == loader.view.digest.hex()
    with pytest.raises(
        StateError, match=r"of the view windows\(x, length=4, .*, and this loader's is windows\(x, length=5"
    ):
        mldf.Loader(paths, 4, view="windows(x, 5)", seed=1).load_state_dict(state)
    plain = mldf.Loader(paths, 4, pipelines={"x": None}, seed=1)
    with pytest.raises(StateError, match=r"of the view windows\(.*, and this loader's is rows"):
        plain.load_state_dict(state)
    next(iter(plain))
    assert "view" not in plain.state_dict()
    with pytest.raises(StateError, match="of the view rows, and this loader's is windows"):
        loader.load_state_dict(plain.state_dict())
    mldf.Loader(paths, 4, pipelines={"x": None}, view="rows", seed=1).load_state_dict(plain.state_dict())
    # The same view of rows that are otherwise divided into files is the same; of other lengths it is not.
    write(tmp_path / "all.mldf", flat(rows), extra=[i % 3 for part in rows for i in range(len(part))])
    joined = mldf.Loader(tmp_path / "all.mldf", 4, view="windows(x, 4)", seed=1)
    del state["keys"]
    joined.load_state_dict(state)
    write(tmp_path / "other.mldf", [r[: len(r) // 2 * 2] for r in flat(rows)])
    with pytest.raises(StateError, match="of the same view, windows.*, of other rows"):
        mldf.Loader(tmp_path / "other.mldf", 4, view="windows(x, 4)", seed=1).load_state_dict(state)


# ---- bad and null rows ----


@pytest.fixture
def holes(tmp_path):
    """Row 1 is null."""
    rows = [np.arange(8), None, np.arange(100, 110)]
    with mldf.Writer(tmp_path / "holes.mldf", {"x": mldf.NDArray("uint16", (None,), nullable=True)}) as w:
        for row in rows:
            w.append({"x": None if row is None else row.astype(np.uint16)})
    return tmp_path / "holes.mldf"


def test_a_null_row_is_one_item(holes):
    view = mldf.open(holes).as_view("windows(x, 4)")
    assert len(view) == 5 and view.rows_unmeasured == 1 and view[2].x is None
    loader = mldf.Loader(view, 5, pipelines="x: fill(7, valid=true) | pad", index=True)
    (batch,) = loader
    assert batch.x_valid.tolist() == [True, True, False, True, True] and batch.x[3].tolist() == [100, 101, 102, 103]
    with pytest.raises(NullError, match="sample 1, field x: item 2: the value is null"):
        list(mldf.Loader(view, 5, fields=["x"]))
    loader = mldf.Loader(view, 5, fields=["x"], on_error="skip", index=True)
    (batch,) = loader
    assert batch.index.tolist() == [0, 1, 3, 4]
    (bad,) = loader.bad_samples()
    assert (bad["item"], bad["sample"], bad["position"]) == (2, 1, 2)
    across = mldf.open(holes).as_view("windows(x, 6, across)")
    assert [across[i].x.tolist() for i in range(3)] == [
        [0, 1, 2, 3, 4, 5],
        [6, 7, 100, 101, 102, 103],
        [104, 105, 106, 107, 108, 109],
    ]


def spoil(path, what):
    """Flips a byte of a row's payload, or of its dimensions."""
    data = bytearray(path.read_bytes())
    at = data.index(what)
    data[at] ^= 0x40
    path.write_bytes(data)


def test_a_bad_piece_is_a_bad_sample(tmp_path):
    rows = [np.arange(s, s + 12).astype(np.uint16) for s in (100, 2000, 30000)]
    path = write(tmp_path / "a.mldf", rows)
    spoil(path, rows[1][:8].tobytes())
    ds = mldf.open(path, verify=True)
    for text, broken in (
        ("windows(x, 4)", {3, 4, 5}),
        ("windows(x, 9, across)", {1, 2}),
        ("expand(x, every=5)", {3, 4, 5}),
    ):
        good = set(range(len(ds.as_view(text)))) - broken
        loader = mldf.Loader(ds, 4, view=text, fields=["x"], on_error="skip", index=True, row=True)
        assert {n for b in loader for n in b.index.tolist()} == good
        assert {b["item"] for b in loader.bad_samples()} == broken
        assert all(b["sample"] in (0, 1) and b["status"] == "checksum" for b in loader.bad_samples())
        loader = mldf.Loader(ds, 4, view=text, fields=["x"], on_error="substitute", index=True, row=True, seed=3)
        numbers = [n for b in loader for n in b.index.tolist()]
        assert len(numbers) == len(good) + len(broken) and set(numbers) <= good
        assert [b["substitute"] for b in loader.bad_samples() if b["item"] not in good][-1] is not None
        with pytest.raises(mldf.Error, match="sample 1, field x: item [0-9]+: "):
            list(mldf.Loader(ds, 4, view=text, fields=["x"]))


def test_a_bad_record_is_one_bad_item(tmp_path):
    rows = [np.arange(n).astype(np.uint16) for n in (12, 777, 12)]
    path = write(tmp_path / "a.mldf", rows)
    spoil(path, (777).to_bytes(4, "little"))  # the dimension in the row
    view = mldf.open(path).as_view("windows(x, 4)")
    assert len(view) == 3 + 1 + 3 and view.rows_unmeasured == 1
    loader = mldf.Loader(view, 4, fields=["x"], on_error="skip", index=True)
    assert [n for b in loader for n in b.index.tolist()] == [0, 1, 2, 4, 5, 6]
    assert [(b["item"], b["sample"], b["status"]) for b in loader.bad_samples()] == [(3, 1, "corrupt")]
    with pytest.raises(CorruptError, match="item 3: "):
        list(mldf.Loader(view, 4, fields=["x"]))


@needs_command
def test_rows_of_another_width_are_not_joined(tmp_path):
    rows = [np.zeros((3, 2), np.uint16), np.zeros((3, 4), np.uint16), np.ones((6, 4), np.uint16)]
    write(tmp_path / "a.mldf", rows, mldf.NDArray("uint16", (None, None)))
    wrong = run("cat", "--view", "windows(x, 4, across)", tmp_path / "a.mldf", expect=1)
    assert "sample 1, field x: its elements are not those of the row that the item begins in" in wrong
    fine = run(
        "cat", "--json", "--view", "windows(x, 4, across)", "--range", "1:", "--fields", "x", tmp_path / "a.mldf"
    )
    assert [json.loads(line)["fields"]["x"] for line in fine.splitlines()] == [
        [[0] * 4] * 2 + [[1] * 4] * 2,
        [[1] * 4] * 4,
    ]


# ---- recordings ----


@pytest.fixture
def speech(tmp_path):
    rng = np.random.default_rng(5)
    clips = [rng.integers(-9000, 9000, (n, 2)).astype(np.int16) for n in (16000, 100, 41000, 8000)]
    with mldf.Writer(tmp_path / "s.mldf", {"audio": mldf.Audio(rate=16000), "text": "text"}) as w:
        for i, clip in enumerate(clips):
            w.append({"audio": clip, "text": f"clip {i}"})
    return tmp_path / "s.mldf", clips


def seconds(clips, every, length, last="pad", rate=16000):
    out = []
    for i, clip in enumerate(clips):
        for k in itertools.count():
            start, n = int(k * every * rate + 0.5), int(length * rate + 0.5)
            if start >= len(clip):
                break
            piece = clip[start : start + n]
            if last == "pad":
                piece = np.concatenate([piece, np.zeros((n - len(piece), clip.shape[1]), clip.dtype)])
            if len(piece) == n or last == "keep":
                out.append((i, piece))
    return out


@pytest.mark.parametrize("backend", ["map", "read"])
@pytest.mark.parametrize("reference", [False, True])
def test_recordings_are_cut_by_seconds(speech, backend, reference):
    path, clips = speech
    ds = mldf.open(path, backend=backend)
    for text, wanted in (
        ("expand(audio, every=0.25, length=0.25)", seconds(clips, 0.25, 0.25)),
        ("expand(audio, every=0.33333, length=0.5)", seconds(clips, 0.33333, 0.5)),
        ("expand(audio, every=0.5, last=drop)", seconds(clips, 0.5, 0.5, "drop")),
        ("expand(audio, every=4000, unit=steps)", seconds(clips, 0.25, 0.25)),
        ("windows(audio, 0.1, stride=0.07)", None),
    ):
        loader = mldf.Loader(
            ds, 4, view=text, pipelines="audio: decode_audio", index=True, row=True, shuffle=True, reference=reference
        )
        view = loader.view
        if wanted is None:
            wanted = [
                (i, c[s : s + 1600]) for i, c in enumerate(clips) for s in range(0, len(c) - 1600 + 1, 1120)
            ]  # fmt: skip
        assert len(view) == len(wanted)
        got = {n: (int(b.row[i]), b.audio[i].copy()) for b in loader for i, n in enumerate(b.index.tolist())}
        for i, (row, piece) in enumerate(wanted):
            assert got[i][0] == row
            assert np.array_equal(got[i][1], piece.T.astype(np.float32) / 32768)
            assert np.array_equal(view[i].audio, piece) and view[i].text == f"clip {row}"


def test_recordings_with_windows_and_short_ends(speech):
    path, clips = speech
    wanted = seconds(clips, 0.5, 0.75, "keep")
    for pipeline, change in (
        ("audio: decode_audio(mono=true) | pad", lambda a: a),
        ("audio: decode_audio(mono=true) | window(samples=5000, start=1000, short=pad) | pad", lambda a: a[1000:6000]),
    ):
        loader = mldf.Loader(
            path, 3, view="expand(audio, every=0.5, length=0.75, last=keep)", pipelines=pipeline, index=True, row=True
        )
        for batch in loader:
            for i, n in enumerate(batch.index.tolist()):
                mono = change(wanted[n][1].astype(np.float32) / 32768).mean(axis=1)
                assert np.allclose(batch.audio[i, : len(mono)], mono, atol=1e-7)
                assert not batch.audio[i, len(mono) : batch.audio_length[i]].any()


def test_only_the_piece_is_read(tmp_path):
    clip = np.zeros((16000 * 600, 1), np.int16)
    with mldf.Writer(tmp_path / "long.mldf", {"audio": mldf.Audio(rate=16000)}) as w:
        w.append({"audio": clip})
    x = np.zeros(4_000_000, np.uint16)
    write(tmp_path / "x.mldf", [x])
    loader = mldf.Loader(
        mldf.open(tmp_path / "long.mldf", backend="read"), 1, view="expand(audio, every=10)",
        pipelines="audio: decode_audio", subset=[0],
    )  # fmt: skip
    for _ in loader:
        pass
    assert loader.stats().bytes_read == 2 * len(clip)  # every sample once, though each item is of the same payload
    loader = mldf.Loader(mldf.open(tmp_path / "x.mldf", backend="read"), 1, view="windows(x, 1000, stride=400000)")
    list(loader)
    assert loader.stats().bytes_read < 11 * 2100


# ---- what is refused, and what is told ----


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("windows(y, 4)", NoFieldError, "no field .y"),
        (
            "window(x, 4)",
            ArgumentError,
            "no view window; there are rows, windows, expand, segments, packed, pow2 and steps",
        ),
        ("windows(x)", ArgumentError, "length is not given"),
        ("windows(x, 0)", ArgumentError, "length is 0; a whole number of elements from 1 to"),
        ("windows(x, 1.5)", ArgumentError, "length is 1.5"),
        ("windows(x, 4, stride=-1)", ArgumentError, "stride is -1"),
        ("windows(x, 4, strid=1)", ArgumentError, "no parameter strid; did you mean stride"),
        ("windows(x, 4, stride=1, stride=2)", ArgumentError, "stride is given twice"),
        ("windows(x, 4, unit=seconds)", ArgumentError, "field x has no rate"),
        ("windows(x, four)", ArgumentError, "length is a number, not four"),
        ("windows(x, 4", SyntaxMistakeError, "byte 12 of .* is expected"),
        ("windows(x 4)", SyntaxMistakeError, "byte 10"),
        ("windows(x, 4) more", SyntaxMistakeError, "the end is expected"),
        ("windows", SyntaxMistakeError, "FIELD"),
        ("", SyntaxMistakeError, "a name or a number is expected"),
        ('windows("x, 4)', SyntaxMistakeError, "a closing quote is expected"),
        ("expand(x)", ArgumentError, "neither every nor length"),
        ("expand(x, every=4, last=cut)", ArgumentError, "last is one of pad, keep, drop, not cut"),
        ("windows(label, 4)", mldf.Error, "field label is int .*; arrays of one dimension or more and recordings"),
        ("windows(x, 1e300)", ArgumentError, "length is 1e"),
        ("windows(x, nan)", ArgumentError, "length is a number, not nan"),
        ("rows(x)", ArgumentError, "too many values"),
        ("windows(" + "x" * 70000 + ", 4)", mldf.Error, "text of 70012 bytes; 65536 are the most"),
    ],
)
def test_mistakes(files, text, error, message):
    with pytest.raises(error, match=message):
        mldf.open(files[0]).as_view(text)


def test_mistakes_of_the_loader(files):
    paths, _ = files
    ds = mldf.open(paths)
    with pytest.raises(ArgumentError, match="already"):
        mldf.Loader(ds.as_view("windows(x, 4)"), 4, view="windows(x, 5)")
    with pytest.raises(ArgumentError, match="of other files"):
        mldf.Loader(paths[0], 4, view=ds.as_view("windows(x, 4)"))
    with pytest.raises(mldf.Error, match="view's text is needed"):
        mldf.Loader(ds, 4, view=4)
    loader = mldf.Loader(ds, 4, view="windows(x, 4)")
    assert "view windows(x, length=4" in repr(loader) and "view: windows(x, length=4" in loader.explain()
    assert "61 items of 12 rows; 4 rows give none, 0 are null or cannot be read" in loader.explain()


def test_odd_names(tmp_path):
    with mldf.Writer(tmp_path / "a.mldf", {'a "b", c': mldf.NDArray("uint8", (None,))}) as w:
        w.append({'a "b", c': np.arange(9, dtype=np.uint8)})
    view = mldf.open(tmp_path / "a.mldf").as_view('windows("a ""b"", c", 4)')
    assert view.field == 'a "b", c' and len(view) == 2 and view[1][0].tolist() == [4, 5, 6, 7]
    assert mldf.open(tmp_path / "a.mldf").as_view(view.text).digest == view.digest


def test_nothing_is_fine_too(tmp_path):
    write(tmp_path / "none.mldf", [])
    write(tmp_path / "short.mldf", [np.zeros(2, np.uint16)])
    for name in ("none", "short"):
        view = mldf.open(tmp_path / f"{name}.mldf").as_view("windows(x, 4)")
        assert len(view) == 0 and list(mldf.Loader(view, 4)) == []


# ---- the command ----


def run(*arguments, expect=0):
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == expect, done.stderr
    return done.stdout if expect == 0 else done.stderr


@needs_command
def test_the_command(files, holes):
    paths, rows = files
    wanted = windows(rows[:1], 4, 3)
    info = json.loads(run("info", "--json", "--view", "windows(x, 4, stride=3)", paths[0]))
    assert info["num_samples"] == len(wanted)
    assert info["view"]["rows"] == 4 and info["view"]["rows_without_items"] == 2
    assert f"samples    {len(wanted)}, with keys" in run("info", "--view", "windows(x, 4, stride=3)", paths[0])
    lines = [json.loads(s) for s in run("cat", "--json", "--view", "windows(x, 4, stride=3)", paths[0]).splitlines()]
    assert [s["fields"]["x"] for s in lines] == [value.tolist() for _, value in wanted]
    assert [(s["index"], s["row"], s["key"]) for s in lines] == [(i, r, f"f0-{r}") for i, (r, _) in enumerate(wanted)]
    assert "sample 3, row 3" in run("head", "--view", "windows(x, 4, stride=3)", "--samples", "3", paths[0])
    bench = ["bench", "--json", "--view", "windows(x, 4, stride=3)", "--hash", "--order", "random"]
    done = json.loads(run(*bench, *paths))
    assert done["samples"] == len(windows(rows, 4, 3))
    assert done["batch_hashes"] == json.loads(run(*bench, "-j", "0", "--backend", "read", *paths))["batch_hashes"]
    done = json.loads(
        run("bench", "--json", "--view", "windows(x, 4)", "-p", "x: cast(i64)", "--on-error", "skip", holes)
    )
    assert [(b["item"], b["sample"]) for b in done["bad"]] == [(2, 1)]
    for text, message in (("windows(z, 4)", 'no field "z"'), ("windos(x)", "no view windos")):
        for command in ("info", "cat", "bench"):
            assert message in run(command, "--view", text, paths[0], expect=2)
    assert "a key is of a row" in run("cat", "--view", "windows(x, 4)", "--keys", "f0-1", paths[0], expect=2)
