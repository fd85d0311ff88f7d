"""States of packed views: resuming at every batch, on other ranks, with other threads; where documents come."""

import json

import mldf
import numpy as np
import pytest
from packed_reference import ALL, RULE_NAMES, corpus, texts_of, view_text
from test_plan_tokens import documents

# ---- Resuming ----


def rows_of(loaders, count=None):
    """Rows of all ranks in the order of the epoch, as bytes; of `count` batches."""
    rows = []
    for k, batches in enumerate(zip(*loaders)):
        rows += [b"".join(np.asarray(a[i]).tobytes() for a in b) for b in batches for i in range(len(b[0]))]
        if k + 1 == count:
            break
    return rows


@pytest.mark.parametrize("rule", [{}, {"algorithm": "concat"}], **RULE_NAMES)
def test_resume_at_every_batch_and_on_other_ranks(tmp_path, rule):
    texts = texts_of(documents(10, 150))
    path = corpus(tmp_path / "a.mldf", texts)
    text = view_text(32, rule, objective="fim(0.5, 0.5, 59000, 59001, 59002)")
    options = {
        "shuffle": True,
        "seed": 11,
        "view": text,
        "fields": ["tokens", "labels", "positions", "documents"],
        "threads": 1,
    }

    with mldf.Loader(path, 12, **options) as loader:
        whole = rows_of([loader])
        steps = len(loader)
    for at in range(1, steps):
        with mldf.Loader(path, 12, **options) as loader:
            first = rows_of([loader], at)
            state = json.loads(json.dumps(loader.state_dict()))
        with mldf.Loader(path, 12, **options) as loader:
            loader.load_state_dict(state)
            assert first + rows_of([loader]) == whole
    rows, state = [], None
    for world in (1, 2, 4, 3):
        loaders = [mldf.Loader(path, global_batch_size=12, rank=r, world_size=world, **options) for r in range(world)]
        for loader in loaders:
            if state:
                loader.load_state_dict(state)
        rows += rows_of([iter(x) for x in loaders], None if world == 3 else 1)
        state = loaders[0].state_dict()
        for loader in loaders:
            loader.close()
    assert sorted(rows) == sorted(whole) and len(set(rows)) > 10


@pytest.mark.parametrize("view", ["windows(tokens, 8)", "windows(tokens, 8, random=true)", "packed(tokens, 16)"])
@pytest.mark.parametrize("mixed", [False, True])
def test_windows_and_mixtures_resume_at_every_batch_and_on_other_ranks(tmp_path, view, mixed):
    files = [corpus(tmp_path / f"{k}.mldf", texts_of([9 + k, 30, 17] * 20, k)) for k in range(2)]
    options = {"shuffle": True, "seed": 4, "view": view, "fields": ["tokens"], "threads": 1, "index": True}
    options |= {"ratios": [3, 2], "samples_per_epoch": 96} if mixed else {}
    with mldf.Loader(files, 12, **options) as loader:
        whole, steps = rows_of([loader]), len(loader)
    for at in range(1, steps):
        with mldf.Loader(files, 12, **options) as loader:
            first = rows_of([loader], at)
            state = json.loads(json.dumps(loader.state_dict()))
        with mldf.Loader(files, 12, **options) as loader:
            loader.load_state_dict(state)
            assert first + rows_of([loader]) == whole
    rows, state = [], None
    for world in (1, 2, 4, 3):
        loaders = [mldf.Loader(files, global_batch_size=12, rank=r, world_size=world, **options) for r in range(world)]
        for loader in loaders:
            if state:
                loader.load_state_dict(state)
        rows += rows_of([iter(x) for x in loaders], None if world == 3 else 1)
        state = loaders[0].state_dict()
        for loader in loaders:
            loader.close()
    assert sorted(rows) == sorted(whole) and len(set(rows)) > 40


def test_the_same_bytes_for_any_number_of_threads(tmp_path):
    texts = texts_of(documents(12, 200))
    path = corpus(tmp_path / "a.mldf", texts)
    runs = []
    for threads in (0, 1, 2, 5):
        for again in range(2):
            with mldf.Loader(
                path, 6, shuffle=True, seed=again, view="packed(tokens, 32)", threads=threads, fields=ALL
            ) as loader:
                runs.append([np.asarray(a).tobytes() for b in loader for a in b])
    assert all(run == runs[i % 2] for i, run in enumerate(runs))


# ---- Other documents together in every epoch ----


@pytest.mark.parametrize(
    "rule",
    [{}, {"eos": True}, {"bos": True, "eos": True, "align": 4}, {"align": 3}, {"max_pieces": 2}, {"long": "truncate"}],
    **RULE_NAMES,
)
def test_reseed_moves_documents_of_equal_length(tmp_path, rule):
    """Every epoch has each token once, in sequences as full as without it, and other documents share them."""
    length = 33 if rule.get("align") == 3 else 32
    lengths = [1, 0, 31, 32, 33, 65, 100, *documents(14, 90), *([7] * 30), *([5] * 20)]
    texts = texts_of(lengths)
    path = corpus(tmp_path / "a.mldf", texts)
    text = view_text(length, rule)
    fields = ["tokens", "labels", "positions", "segment_ids", "documents"]
    options = {"view": text[:-1] + ", reseed=epoch, seed=5)", "fields": fields, "shuffle": True, "seed": 4}

    def together(documents):
        return {tuple(d for d in row.tolist() if d >= 0) for row in documents}

    def take(loader):
        return [np.concatenate(parts) for parts in zip(*([np.array(a) for a in b] for b in loader))]

    with mldf.Loader(path, 7, **options | {"view": text}) as loader:
        plain = take(loader)
    seen = []
    with mldf.Loader(path, 7, **options) as loader:
        for epoch in range(3):
            loader.set_epoch(epoch)
            tokens, labels, _, segments, docs = take(loader)
            assert sorted((row > 0).sum() for row in segments) == sorted((row > 0).sum() for row in plain[3])
            for one, other in ((tokens[segments > 0], plain[0][plain[3] > 0]), (labels, plain[1])):
                assert np.array_equal(np.sort(one, axis=None), np.sort(other, axis=None))
            for row in range(len(tokens)):  # each piece is a run of its document
                for k, d in enumerate(d for d in docs[row].tolist() if d >= 0):
                    piece = tokens[row][segments[row] == k + 1].tolist()
                    own = [t for t in piece if t in set(texts[d].tolist())]
                    assert "".join(map(chr, own)) in "".join(map(chr, texts[d].tolist())) and len(own) >= len(piece) - 2
            came = {d: [] for d in range(len(texts))}
            loader.set_epoch(epoch)  # again
            for k, b in enumerate(loader):
                for slot, row in enumerate(b.documents):
                    for d in {int(d) for d in row if d >= 0}:
                        came[d].append((epoch, k, slot, 0))
            assert {d: loader.where(d, epoch) for d in came} == came
            seen.append(together(docs))
    assert seen[0] != seen[1] != seen[2] and together(plain[4]) not in seen
    rows, state = {}, None
    for threads in (0, 2):
        with mldf.Loader(path, 7, threads=threads, **options) as loader:
            loader.set_epoch(1)
            for k, b in enumerate(loader):
                rows.setdefault(k, set()).add(b"".join(np.asarray(a).tobytes() for a in b))
                if k == 2:
                    state = loader.state_dict()
    with mldf.Loader(path, 7, **options) as loader:
        loader.load_state_dict(json.loads(json.dumps(state)))
        for k, b in enumerate(loader, 3):
            rows[k].add(b"".join(np.asarray(a).tobytes() for a in b))
    assert all(len(v) == 1 for v in rows.values())
    with (
        pytest.raises(mldf.Error, match="another|the view"),
        mldf.Loader(path, 7, **options | {"view": text}) as loader,
    ):
        loader.load_state_dict(state)
    with pytest.raises(mldf.errors.ArgumentError, match="reseed is for best-fit"):
        mldf.open(path).as_view("packed(tokens, 32, algorithm=concat, reseed=epoch)")


# ---- Where documents come ----


def by_rank(places):
    """As positions of the epoch follow one another."""
    return sorted(places, key=lambda p: (p[0], p[1], p[3], p[2]))


def comes(loaders, documents, epoch):
    """{document: [(epoch, batch, slot, rank)]} of what comes, from the loaders of all ranks."""
    out = {d: [] for d in range(documents)}
    for rank, loader in enumerate(loaders):
        loader.set_epoch(epoch)
        for k, batch in enumerate(loader):
            for slot in np.flatnonzero(batch.valid) if hasattr(batch, "valid") else range(len(batch[0])):
                for d in {int(d) for d in np.atleast_1d(batch.documents[slot]) if d >= 0}:
                    out[d].append((epoch, k, int(slot), rank))
    return {d: by_rank(places) for d, places in out.items()}


WAYS = {
    "in order": {},
    "random": {"shuffle": True, "seed": 3},
    "quasi": {"order": "quasi-random", "seed": 3},
    "drop": {"shuffle": True, "last": "drop"},
    "pad": {"shuffle": True, "last": "pad"},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rule", [{}, {"algorithm": "concat", "eos": True}], **RULE_NAMES)
@pytest.mark.parametrize("world", [1, 3])
def test_where_documents_come(tmp_path, way, rule, world):
    texts = texts_of(documents(31, 90))
    path = corpus(tmp_path / "a.mldf", texts)
    options = WAYS[way] | {"view": view_text(32, rule), "fields": ["documents"], "valid": True}
    loaders = [mldf.Loader(path, global_batch_size=10, rank=r, world_size=world, **options) for r in range(world)]
    for epoch in (0, 2):
        came = comes(loaders, len(texts), epoch)
        for loader in loaders:
            assert {d: loader.where(d, epoch) for d in came} == came
    assert loaders[0].where(0) == loaders[0].where(0, 3) and all(isinstance(p, mldf.Place) for p in loaders[0].where(0))
    for bad in (-1, len(texts)):
        with pytest.raises((mldf.errors.NoSampleError, mldf.errors.ArgumentError)):
            loaders[0].where(bad)
    for loader in loaders:
        loader.close()


def test_where_in_mixtures_subsets_streams_and_rows(tmp_path):
    files, parts = [], []
    for k in range(2):
        parts.append(texts_of([5 + k] * (7 + 20 * k), k))
        files.append(corpus(tmp_path / f"{k}.mldf", parts[-1]))
    text, fields = "packed(tokens, 16)", ["documents"]
    with mldf.Loader(
        files, 5, shuffle=True, seed=1, ratios=[3, 2], samples_per_epoch=50, view=text, fields=fields
    ) as loader:
        for epoch in (0, 1):
            came = comes([loader], 34, epoch)
            assert {d: loader.where(d, epoch) for d in range(34)} == came
            assert max(map(len, came.values())) > 1  # the short file comes round again
    with mldf.Loader(files[1], 4, shuffle=True, subset=range(3, 20, 2), view=text, fields=fields) as loader:
        assert {d: loader.where(d, 0) for d in range(27)} == comes([loader], 27, 0)
        assert loader.where(4) == []
    stream = tmp_path / "s.mldf"
    with mldf.Writer(stream, {"tokens": mldf.TokenStream(60000, pad=3)}) as w:
        for part in parts:
            ends = np.cumsum([len(t) for t in part])
            w.append({"tokens": {"tokens": np.concatenate(part), "ends": ends}})
    with mldf.Loader(stream, 4, shuffle=True, view=text, fields=fields) as loader:
        assert {d: loader.where(d, 0) for d in range(34)} == comes([loader], 34, 0)
    rows = tmp_path / "r.mldf"
    mldf.write(rows, [{"documents": i} for i in range(23)])
    for options in ({"shuffle": True}, {"subset": [5, 3, 5, 9, 22, 0]}, {"shuffle": True, "subset": [5, 3, 5, 9]}):
        with mldf.Loader(rows, 4, **options) as loader:
            assert {d: loader.where(d, 0) for d in range(23)} == comes([loader], 23, 0)
    with mldf.Loader(rows, 4, weights=np.ones(23)) as loader:
        assert loader.where(3) is None
    with mldf.Loader(files[0], 4, view="windows(tokens, 2)", index=True, row=True) as loader:
        came = {d: [] for d in range(7)}
        for k, b in enumerate(loader):
            for slot, d in enumerate(b.row):
                came[int(d)].append((0, k, slot, 0))
        assert {d: loader.where(d, 0) for d in range(7)} == came


def test_where_after_resuming_with_other_ranks(tmp_path):
    texts = texts_of(documents(33, 120))
    path = corpus(tmp_path / "a.mldf", texts)
    options = {"shuffle": True, "seed": 5, "view": "packed(tokens, 32)", "fields": ["documents"], "valid": True}
    with mldf.Loader(path, 4, **options) as loader:
        for stop, _ in enumerate(loader):
            if stop == 3:
                break
        state = loader.state_dict()
    loaders = [mldf.Loader(path, global_batch_size=6, rank=r, world_size=2, **options) for r in range(2)]
    for loader in loaders:
        loader.load_state_dict(state)
    came = {d: [] for d in range(len(texts))}
    told = {d: loaders[1].where(d) for d in came}
    for rank, loader in enumerate(loaders):
        for k, b in enumerate(loader):
            for slot in np.flatnonzero(b.valid):
                for d in {int(d) for d in b.documents[slot] if d >= 0}:
                    came[d].append((0, 3 + k, int(slot), rank))  # 16 were consumed: two batches of 6 and a part
    later = {d: [p for p in places if p.batch >= 3] for d, places in told.items()}
    assert later == {d: by_rank(places) for d, places in came.items()}
    for loader in loaders:
        loader.close()


# ---- Batches that are left out ----


def numbered(loader):
    """The batches of an epoch, as bytes."""
    return [b"".join(np.asarray(a).tobytes() for a in b) for b in loader]


@pytest.mark.parametrize("threads", [0, 2])
def test_skipped_batches_do_not_come(tmp_path, threads):
    texts = texts_of(documents(35, 200))
    path = corpus(tmp_path / "a.mldf", texts)
    options = {"shuffle": True, "seed": 5, "view": "packed(tokens, 32)", "threads": threads}

    def make():
        return mldf.Loader(path, 4, **options)

    with make() as loader:
        whole = numbered(loader)
        second = numbered(loader)
    with make() as loader:
        loader.skip(3, 6)
        loader.skip(8, 9)
        assert len(loader) == len(whole) - 4
        assert numbered(loader) == whole[:3] + whole[6:8] + whole[9:]
        assert numbered(loader) == second
        assert loader.where(0, 0) == [p for p in loader.where(0, 0) if not 3 <= p.batch < 6 and p.batch != 8]
    for at in (0, 2, 7):  # in the middle, from a state of before, which then has it
        with make() as loader:
            it, got = iter(loader), []
            for _ in range(at):
                got.append(b"".join(np.asarray(a).tobytes() for a in next(it)))
            loader.skip(7, 10)
            state = json.loads(json.dumps(loader.state_dict()))
            assert got + [b"".join(np.asarray(a).tobytes() for a in b) for b in it] == whole[:7] + whole[10:]
            assert state["skip"] == [[0, 28, 40]]
        with make() as loader:
            loader.load_state_dict(state)
            assert numbered(loader) == (whole[:7] + whole[10:])[at:]
    with make() as loader:
        it = iter(loader)
        for _ in range(4):
            next(it)
        with pytest.raises(mldf.errors.ArgumentError, match="batch 3 of epoch 0 came already"):
            loader.skip(3, 5)
        with pytest.raises(mldf.errors.ArgumentError, match="there is none"):
            loader.skip(6, 6)
        with pytest.raises(mldf.errors.ArgumentError, match="no batch 999"):
            loader.skip(999, 1000)
        for i in range(16):
            loader.skip(2 * i, 2 * i + 1, epoch=3)
        with pytest.raises(mldf.errors.LimitError, match="16 ranges"):
            loader.skip(30, 31)
        state = loader.state_dict()
        state["skip"] = [[0, 9, 3]]
        with pytest.raises(mldf.Error, match="ascending ranges"):
            loader.load_state_dict(state)


@pytest.mark.parametrize("last", ["keep", "drop", "pad"])
def test_what_is_skipped_holds_for_other_batches_and_ranks(tmp_path, last):
    """Positions are skipped, so other batch sizes and ranks leave out the same samples, and where knows."""
    texts = texts_of(documents(36, 200))
    path = corpus(tmp_path / "a.mldf", texts)
    options = {"shuffle": True, "seed": 5, "view": "packed(tokens, 32)", "fields": ["documents"], "index": True}
    options |= {"last": last, "valid": True}
    with mldf.Loader(path, 4, **options | {"last": "keep"}) as loader:
        order = np.concatenate([b.index[b.valid] for b in loader]).tolist()
    with mldf.Loader(path, 4, **options) as loader:
        loader.skip(2, 4)
        loader.skip(9, 10)
        state = loader.state_dict()
    kept = [v for i, v in enumerate(order) if not 8 <= i < 16 and not 36 <= i < 40]
    for world in (1, 2, 3):
        loaders = [mldf.Loader(path, global_batch_size=7, rank=r, world_size=world, **options) for r in range(world)]
        for loader in loaders:
            loader.load_state_dict(state)
        told = {d: loaders[0].where(d) for d in range(len(texts))}
        rows, came = [], {d: [] for d in told}
        firsts = []
        for batches in zip(*loaders):
            rows += [v for b in batches for v in b.index[b.valid].tolist()]
            firsts.append(batches[0].index[0])
            number = order.index(firsts[-1]) // 7
            for rank, b in enumerate(batches):
                for slot in np.flatnonzero(b.valid):
                    for d in {int(d) for d in b.documents[slot] if d >= 0}:
                        came[d].append((0, number, int(slot), rank))
        want = kept[: len(kept) // 7 * 7] if last == "drop" else kept
        assert rows == want if world == 1 else sorted(rows) == sorted(want)
        assert told == {d: by_rank(places) for d, places in came.items()}
        for loader in loaders:
            loader.close()


@pytest.mark.parametrize("seed", range(6))
def test_what_is_skipped_survives_other_pipelines_and_batch_sizes(tmp_path, seed):
    """Random runs: states loaded with other batch sizes, skips by batch, set_pipelines, against a list of positions."""
    rng, path = np.random.default_rng(seed), tmp_path / "a.mldf"
    count = 60
    mldf.write(path, [{"x": i} for i in range(count)])
    order = {}
    with mldf.Loader(path, 1, shuffle=True, seed=3) as loader:
        for epoch in range(6):
            order[epoch] = [int(b.x[0]) for b in loader]
    epoch, position, left_out, state = 0, 0, set(), None
    for _ in range(8):
        size = int(rng.integers(2, 9))
        with mldf.Loader(path, size, shuffle=True, seed=3, threads=int(rng.integers(0, 3))) as loader:
            if rng.random() < 0.5:
                loader.set_pipelines({"x": [mldf.Cast("i32")]} if rng.random() < 0.5 else None)
            if state is not None:
                loader.load_state_dict(state)
            for _ in range(int(rng.integers(1, 3))):  # epochs, or the rest of one
                if epoch == len(order):
                    return
                begin = position
                first = -(-begin // size)
                if rng.random() < 0.7:  # before it begins
                    a = first + int(rng.integers(0, 3))
                    if begin + (a - first + 2) * size < count:  # something is left
                        loader.skip(a, a + 2, epoch)
                        left_out |= {(epoch, begin + (a - first) * size + k) for k in range(2 * size)}
                it = iter(loader)
                if rng.random() < 0.5:
                    loader.set_pipelines(None)
                if epoch + 1 in order and rng.random() < 0.6:
                    loader.skip(1, 2, epoch + 1)
                    left_out |= {(epoch + 1, size + k) for k in range(size)}
                if epoch + 1 in order and rng.random() < 0.3:
                    loader.set_pipelines(None)
                want = [p for p in range(begin, count) if (epoch, p) not in left_out]
                batches = [want[k : k + size] for k in range(0, len(want), size)]
                stop = int(rng.integers(1, len(batches) + 1)) if batches else 0
                for k in range(stop):
                    got = next(it).x.tolist()
                    assert got == [order[epoch][p] for p in batches[k]], (epoch, k)
                    position = batches[k][-1] + 1
                if stop < len(batches):
                    break
                assert next(it, None) is None
                epoch, position = epoch + 1, 0
            state = json.loads(json.dumps(loader.state_dict()))
