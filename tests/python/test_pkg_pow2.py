"""The view pow2 and its orders: documents cut into powers of two, batches of one length, against plain Python."""

import json

import mldf
import numpy as np
import pytest
from packed_reference import corpus, texts_of
from test_plan_tokens import documents

PAD = {"tokens": [mldf.Pad()]}

# ---- Items ----


def pieces(length, least, most):
    """(from, length) of a document's pieces, in its order."""
    out, at = [], 0
    while length - at >= most:
        out.append((at, most))
        at += most
    size = most // 2
    while size >= least:
        if length - at >= size:
            out.append((at, size))
            at += size
        size //= 2
    return out


def wanted(lengths, least, most):
    """(document, from, length) of all items, by length and document."""
    found = [(n, d, at) for d, length in enumerate(lengths) for at, n in pieces(length or 0, least, most)]
    return [(d, at, n) for n, d, at in sorted(found)]


LENGTHS = [0, 1, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, None, 129]


@pytest.mark.parametrize(("least", "most"), [(1, 1), (1, 16), (4, 16), (4, 4), (8, 64), (2, 1024)])
@pytest.mark.parametrize("kind", ["rows", "stream", "array", "files"])
def test_items_are_the_documents_in_powers_of_two(tmp_path, least, most, kind):
    lengths = [*LENGTHS, *documents(41, 40)]
    texts, path = texts_of(lengths), tmp_path / "a.mldf"
    paths = [path]
    if kind == "stream":
        texts = [t for t in texts if t is not None]
        with mldf.Writer(path, {"tokens": mldf.TokenStream(60000)}) as w:
            for part in (texts[:7], texts[7:]):
                ends = np.cumsum([len(t) for t in part])
                w.append({"tokens": {"tokens": np.concatenate(part), "ends": ends}})
    elif kind == "array":
        texts = [t for t in texts if t is not None]
        mldf.write(path, [{"tokens": t.astype(np.int32)} for t in texts], {"tokens": mldf.NDArray("int32", (None,))})
    elif kind == "files":
        paths = [corpus(tmp_path / f"{k}.mldf", part) for k, part in enumerate((texts[:9], texts[9:30], texts[30:]))]
    else:
        corpus(path, texts)
    view = mldf.open(paths).as_view(f"pow2(tokens, {least}, {most})")
    want = wanted([None if t is None else len(t) for t in texts], least, most)
    assert len(view) == len(want)
    for i, (d, at, n) in enumerate(want):
        assert np.array_equal(view[i].tokens, texts[d][at : at + n]), (i, d)
    if kind in ("rows", "array"):
        for d in range(len(texts)):
            assert view.find(d) == [i for i, w in enumerate(want) if w[0] == d]
    if kind == "rows":
        chosen = [3, 12, 16, 30, 40]
        part = mldf.open(path).subset(chosen).as_view(f"pow2(tokens, {least}, {most})")
        some = wanted(
            [len(t) if d in chosen else 0 for d, t in enumerate(t if t is not None else [] for t in texts)], least, most
        )
        assert [part[i].tokens.tolist() for i in range(len(part))] == [texts[d][a : a + n].tolist() for d, a, n in some]


def test_what_cannot_be_is_said(tmp_path):
    path = corpus(tmp_path / "a.mldf", texts_of(documents(1, 20)))
    for text, match in {
        "pow2(tokens, 3, 8)": "least is a power of two",
        "pow2(tokens, 4, 12)": "most is a power of two",
        "pow2(tokens, 16, 8)": "above most",
        "pow2(tokens, 16)": "most is not given",
    }.items():
        with pytest.raises(mldf.errors.ArgumentError, match=match):
            mldf.open(path).as_view(text)
    for options, match in (
        ({"view": "pow2(tokens, 4, 16)"}, "budget"),
        ({"view": "pow2(tokens, 4, 16)", "budget": 15}, "longest item's 16"),
        ({"view": "windows(tokens, 4)", "budget": 64}, "view pow2"),
        ({"view": "pow2(tokens, 4, 16)", "budget": 64, "weights": np.ones(20)}, "not chosen by rows"),
    ):
        with pytest.raises(mldf.errors.ArgumentError, match=match):
            mldf.Loader(path, order="natural", pipelines=PAD, **options)
    with pytest.raises(mldf.errors.ArgumentError, match="order"):
        mldf.Loader(path, order="natural(3)", view="pow2(tokens, 4, 16)", budget=64)


# ---- Batches ----


def run(loaders):
    """[(length, items of all ranks)] of the batches."""
    out = []
    for batches in zip(*loaders):
        lengths = {b.tokens.shape[1] for b in batches}
        assert len(lengths) == 1
        index = [i for b in batches for i in b.index[b.valid].tolist()]
        out.append((lengths.pop(), index))
    return out


@pytest.mark.parametrize("order", ["natural", "grow-p2(1)", "grow-p2(3)", "grow_p2"])
@pytest.mark.parametrize("last", ["keep", "drop"])
def test_batches_have_one_length_and_all_tokens(tmp_path, order, last):
    lengths = documents(43, 150)
    texts = texts_of(lengths)
    path = corpus(tmp_path / "a.mldf", texts)
    want = wanted(lengths, 4, 32)
    options = {
        "view": "pow2(tokens, 4, 32)",
        "order": order,
        "budget": 64,
        "pipelines": PAD,
        "index": True,
        "valid": True,
        "last": last,
    }
    orders = []
    with mldf.Loader(path, seed=3, **options) as loader:
        for _ in range(2):
            batches = run([loader])
            assert len(batches) == len(loader)
            by_length = {}
            for n, index in batches:
                assert {want[i][2] for i in index} == {n}
                by_length.setdefault(n, []).append(len(index))
            for n, sizes in by_length.items():
                count = sum(1 for w in want if w[2] == n)
                full = [64 // n] * (count // (64 // n))
                rest = [count % (64 // n)] if last == "keep" and count % (64 // n) else []
                assert sizes == full + rest  # the smaller one last
            seen = [i for _, index in batches for i in index]
            assert len(set(seen)) == len(seen) and (last == "drop" or sorted(seen) == list(range(len(want))))
            orders.append(seen)
            got = [n for n, _ in batches]
            if order != "natural":
                cycles = {"grow-p2(1)": 1, "grow-p2(3)": 3, "grow_p2": 8}[order]
                falls = sum(b < a for a, b in zip(got, got[1:]))
                assert falls == cycles - 1
                for n in set(got):  # every cycle has its part of each length
                    parts, cycle = [0] * cycles, 0
                    for k, m in enumerate(got):
                        cycle += k > 0 and m < got[k - 1]
                        parts[cycle] += m == n
                    assert max(parts) - min(parts) <= 2
            else:
                assert got != sorted(got)
    assert orders[0] != orders[1]
    with mldf.Loader(path, seed=3, threads=0, **options) as loader:
        assert [i for _, index in run([loader]) for i in index] == orders[0]
        loader.set_epoch(1)
        for b in loader:
            for row, i in zip(b.tokens, b.index):
                d, at, n = want[int(i)]
                assert np.array_equal(row, texts[d][at : at + n])


@pytest.mark.parametrize("order", ["natural", "grow-p2(3)"])
def test_resume_at_every_batch_and_on_other_ranks(tmp_path, order):
    lengths = documents(44, 150)
    path = corpus(tmp_path / "a.mldf", texts_of(lengths))
    options = {"view": "pow2(tokens, 4, 32)", "order": order, "pipelines": PAD, "index": True, "valid": True, "seed": 9}
    with mldf.Loader(path, budget=384, **options) as loader:
        whole = run([loader])
    for at in range(1, len(whole)):
        with mldf.Loader(path, budget=384, **options) as loader:
            it = iter(loader)
            for _ in range(at):
                next(it)
            state = json.loads(json.dumps(loader.state_dict()))
        with mldf.Loader(path, budget=384, **options) as loader:
            loader.load_state_dict(state)
            assert run([loader]) == whole[at:]
    state, got = None, []
    for world in (1, 2, 4, 3):  # the batch of all ranks stays, also where another budget is asked for
        loaders = [mldf.Loader(path, budget=384 // world, rank=r, world_size=world, **options) for r in range(world)]
        for loader in loaders:
            if state:
                loader.load_state_dict(state)
        its = [iter(x) for x in loaders]
        got += run(its) if world == 3 else run([[next(it)] for it in its])
        state = json.loads(json.dumps(loaders[0].state_dict()))
        if world == 4:
            assert state["bucket"]["curriculum"] == order
            other = {**options, "order": "grow-p2(2)"}
            with pytest.raises(mldf.Error, match="another order"), mldf.Loader(path, budget=96, **other) as loader:
                loader.load_state_dict(state)
            with pytest.raises(mldf.Error), mldf.Loader(path, 4, **{**options, "order": "random"}) as loader:
                loader.load_state_dict(state)
        for loader in loaders:
            loader.close()
    assert [(n, sorted(i)) for n, i in got] == [(n, sorted(i)) for n, i in whole]
    with mldf.Loader(path, 4, **{**options, "order": "random"}) as loader:
        it = iter(loader)
        next(it)
        state = loader.state_dict()
    with pytest.raises(mldf.Error, match="another order"), mldf.Loader(path, budget=96, **options) as loader:
        loader.load_state_dict(state)


def test_budget_batches_without_a_curriculum(tmp_path):
    """The view alone with buckets: every item once, and no batch above its budget."""
    lengths = documents(45, 150)
    path = corpus(tmp_path / "a.mldf", texts_of(lengths))
    with mldf.Loader(
        path, view="pow2(tokens, 4, 32)", bucket="tokens", budget=64, shuffle=True, index=True, pipelines=PAD
    ) as loader:
        seen = []
        for b in loader:
            assert b.tokens.size <= 64
            seen += b.index.tolist()
    assert sorted(seen) == list(range(len(wanted(lengths, 4, 32))))


def test_lengths_that_fill_no_batch_give_none(tmp_path):
    path = corpus(tmp_path / "a.mldf", texts_of([3, 4, 9, 17, 0, 1]))
    options = {"view": "pow2(tokens, 1, 8)", "budget": 64, "pipelines": PAD, "last": "drop"}
    for order in ("natural", "grow-p2(2)"):
        with mldf.Loader(path, order=order, **options) as loader:
            assert len(loader) == 0 and list(loader) == [] and list(loader) == []


def test_more_cycles_than_batches_are_the_batches(tmp_path):
    path = corpus(tmp_path / "a.mldf", texts_of([3, 4, 9, 17, 0, 1, 64]))
    options = {"view": "pow2(tokens, 1, 8)", "budget": 8, "pipelines": PAD, "index": True, "valid": True}
    with mldf.Loader(path, order="grow-p2(4000000000)", **options) as many:
        batches = run([many])
        assert len(batches) == len(many) and sum(len(i) for _, i in batches) == len(
            wanted([3, 4, 9, 17, 0, 1, 64], 1, 8)
        )


@pytest.mark.parametrize("member, value", [("budget", 8), ("budget", 0), ("end", 3)])
def test_an_edited_state_is_refused(tmp_path, member, value):
    path = corpus(tmp_path / "a.mldf", texts_of([64] * 6))
    with mldf.Loader(path, view="pow2(tokens, 16, 64)", order="natural", budget=128, pipelines=PAD) as loader:
        next(iter(loader))
        state = json.loads(json.dumps(loader.state_dict()))
        text = json.dumps(state)
        assert '"bucket"' in text or "bucket" in text

        def edit(node):
            if isinstance(node, dict):
                return {k: {**v, member: value} if k == "bucket" else edit(v) for k, v in node.items()}
            return json.dumps(edit(json.loads(node))) if isinstance(node, str) and node.startswith("{") else node

        with pytest.raises(mldf.Error, match="state"):
            loader.load_state_dict(edit(state))
