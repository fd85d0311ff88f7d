"""Packed sequences: every output against a construction token by token, for all algorithms and policies; that each
token is there once; side columns, objectives, names and mistakes.
"""

import mldf
import numpy as np
import pytest
from packed_reference import (
    ALL,
    BACKENDS,
    BOS,
    CONCAT,
    EOS,
    NONE,
    PAD,
    RULE_NAMES,
    Token,
    check,
    corpus,
    outputs,
    sequences,
    spelled,
    texts_of,
    view_text,
)
from test_plan_tokens import RULES, documents


@pytest.mark.parametrize("rule", RULES + CONCAT, **RULE_NAMES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_output_is_that_of_a_construction_token_by_token(tmp_path, rule, backend):
    length = 32
    lengths = documents(7, 120)
    texts = texts_of(lengths)
    path = corpus(tmp_path / "a.mldf", texts)
    fields = ALL + ["cu_seqlens_padded"] * (rule.get("align", 1) > 1)
    for shown in ({}, {"ends": "next", "positions": "document", "base": 0, "dtype": "i32"}, {"shift": "false"}):
        want = outputs(
            texts, length, rule, shown.get("ends", "mask"), shown.get("positions", "piece"), shown.get("base", 1)
        )
        most = max(len(w["lengths"]) for w in want)
        with mldf.Loader(
            mldf.open(path, backend=backend), 7, view=view_text(length, rule, **shown), fields=fields
        ) as loader:
            batches = list(loader)
        check(batches, want, length, rule, most, unshifted="shift" in shown)
        kind = np.int32 if "dtype" in shown else np.int64
        assert {batches[0][n].dtype for n in ("tokens", "labels", "positions")} == {np.dtype(kind)}


@pytest.mark.parametrize("rule", RULES + CONCAT, **RULE_NAMES)
@pytest.mark.parametrize("length", [5, 32, 100])
def test_each_token_is_once_an_input_and_each_but_the_first_once_a_label(tmp_path, rule, length):
    rule = {k: v for k, v in rule.items() if k != "align"}
    lengths = documents(length, 150)
    total = sum(n or 0 for n in lengths)
    at, texts = 10, []
    for n in lengths:  # each token is another
        texts.append(None if n is None else np.arange(at, at + n, dtype=np.int32))
        at += n or 0
    path = corpus(tmp_path / "a.mldf", texts, at + 1)
    with mldf.Loader(path, 8, view=view_text(length, rule), fields=["tokens", "labels"]) as loader:
        batches = list(loader)
    tokens = np.concatenate([b.tokens.ravel() for b in batches])
    labels = np.concatenate([b.labels.ravel() for b in batches])
    stored = tokens[tokens >= 10]
    assert len(np.unique(stored)) == len(stored)
    targets = labels[labels >= 10]
    assert len(np.unique(targets)) == len(targets)
    if rule.get("long", "cut") != "cut":
        assert set(targets) <= set(stored)
        return
    assert len(stored) == total
    firsts = {int(t[0]) for t in texts if t is not None and len(t)}
    assert set(targets.tolist()) == set(stored.tolist()) - (set() if rule.get("bos") else firsts)
    count = sum(bool(n) for n in lengths)
    assert (tokens == BOS).sum() == count * bool(rule.get("bos"))
    assert (tokens == EOS).sum() == count * bool(rule.get("eos")) == (labels == EOS).sum()


@pytest.mark.parametrize("lengths", [[], [0], [None], [1], [16], [17], [160]])
@pytest.mark.parametrize("algorithm", ["best-fit", "next-fit", "concat"])
def test_small_sets(tmp_path, lengths, algorithm):
    texts = texts_of(lengths)
    path = corpus(tmp_path / "a.mldf", texts)
    rule = {"algorithm": algorithm}
    want = outputs(texts, 16, rule)
    with mldf.Loader(path, 3, view=view_text(16, rule), fields=ALL) as loader:
        batches = list(loader)
    if want:
        check(batches, want, 16, rule, max(len(w["lengths"]) for w in want))
    assert sum(len(b.tokens) for b in batches) == len(want)


def test_a_million_documents(tmp_path):
    """Lengths of the log-normal set: what there is comes once, and almost nothing is padding."""
    rng = np.random.default_rng(1)
    lengths = np.minimum(rng.lognormal(3.5, 1.2, 1_000_000).astype(np.int64), 3000)
    path = tmp_path / "a.mldf"
    with mldf.Writer(path, {"tokens": mldf.TokenStream(256, pad=255)}) as w:
        ends = np.cumsum(lengths)
        w.append({"tokens": {"tokens": rng.integers(0, 250, ends[-1], np.uint8), "ends": ends}})
    seen = np.zeros(len(lengths), np.int64)
    with mldf.Loader(
        path, 256, shuffle=True, view="packed(tokens, 2048)", fields=["documents", "cu_seqlens", "tokens"]
    ) as loader:
        places = 0
        for b in loader:
            pieces = np.diff(b.cu_seqlens, axis=1)[:, :-1]
            there = b.documents >= 0
            np.add.at(seen, b.documents[there], pieces[there])
            places += b.tokens.size
    assert np.array_equal(seen, lengths)
    assert places - lengths.sum() <= 0.0005 * places


# ---- Forms of cu_seqlens ----


@pytest.mark.parametrize("rule", [{}, {"align": 8}, {"max_pieces": 2}, {"algorithm": "concat"}], **RULE_NAMES)
@pytest.mark.parametrize("batch", [1, 5])
def test_flat_and_ragged_runs(tmp_path, rule, batch):
    length = 32
    texts = texts_of(documents(3, 60))
    path = corpus(tmp_path / "a.mldf", texts)
    want, align = outputs(texts, length, rule), rule.get("align", 1)
    most = max(len(w["lengths"]) for w in want)
    names = ["cu_seqlens"] + ["cu_seqlens_padded"] * (align > 1)
    for form in ("flat", "ragged"):
        fields = [names[0] + f"({form})", *names[1:], "max_seqlen", "tokens"]
        with mldf.Loader(path, batch, view=view_text(length, rule), fields=fields) as loader:
            batches = list(loader)
        for k, b in enumerate(batches):
            rows = want[k * batch : k * batch + batch]
            cu, places = [0], []
            for i, w in enumerate(rows):
                for n, start in zip(w["lengths"], w["starts"]):
                    cu.append(cu[-1] + n)
                    places.append(i * length + start)
                if align == 1 and cu[-1] < (i + 1) * length:
                    cu.append((i + 1) * length)
            if form == "ragged":
                assert b.cu_seqlens.tolist() == cu
                if align > 1:
                    assert b.cu_seqlens_padded.tolist() == [*places, len(rows) * length]
            else:
                assert b.cu_seqlens.shape == (len(rows) * (most + 1) + 1,)
                assert b.cu_seqlens[0] == 0 and b.cu_seqlens[-1] == cu[-1] and set(b.cu_seqlens.tolist()) == set(cu)
                assert (np.diff(b.cu_seqlens) >= 0).all()
                if align > 1:
                    true, at = np.diff(b.cu_seqlens), b.cu_seqlens_padded
                    assert at[:-1][true > 0].tolist() == places and at[-1] == len(rows) * length
            assert b.cu_seqlens.dtype == np.int32
            assert isinstance(b.max_seqlen, int)
            segments = [n if align == 1 else -(-n // align) * align for w in rows for n in w["lengths"]]
            segments += [length - sum(w["lengths"]) for w in rows] if align == 1 else []
            assert b.max_seqlen == max(segments)


def test_a_flat_batch_of_more_than_i32_is_refused(tmp_path):
    path = corpus(tmp_path / "a.mldf", texts_of([5] * 10))
    text = f"packed(tokens, {1 << 29}, cu_seqlens=flat, algorithm=next-fit, max_pieces=1)"
    with pytest.raises(mldf.Error, match=r"2\^31"):
        mldf.Loader(path, 8, view=text, fields=["cu_seqlens"])
    with pytest.raises(mldf.errors.ArgumentError, match="no steps can follow"):
        mldf.Loader(
            path, 1, view="packed(tokens, 8, cu_seqlens=flat)", pipelines="cu_seqlens: cast(i64)", fields=["cu_seqlens"]
        )


def test_max_seqlen_of_compiled_graphs(tmp_path):
    path = corpus(tmp_path / "a.mldf", texts_of([5] * 10))
    for fields, want in ((["max_seqlen"], 5), (["max_seqlen(length)"], 11)):
        with mldf.Loader(path, 2, view="packed(tokens, 11)", fields=fields) as loader:
            assert next(iter(loader)).max_seqlen.tolist() == [want] * 2
    with pytest.raises(mldf.errors.ArgumentError, match="NAME=VALUE"):
        mldf.Loader(path, 2, view="packed(tokens, 11)", fields=["labels(shift)"])
    with pytest.raises(mldf.errors.ArgumentError, match="already"):
        mldf.Loader(path, 2, view="packed(tokens, 11, shift=false)", fields=["labels(shift=true)"])


# ---- Side columns ----


@pytest.mark.parametrize(
    "rule",
    [
        {},
        {"bos": True, "eos": True},
        {"algorithm": "concat"},
        {"algorithm": "concat", "eos": True},
        {"algorithm": "concat", "bos": True, "eos": True},
        {"long": "truncate"},
        {"align": 4},
    ],
    **RULE_NAMES,
)
@pytest.mark.parametrize("form", ["dense", "spans"])
@pytest.mark.parametrize("shown", [{}, {"target": "false"}, {"shift": "false"}, {"ends": "next"}], **RULE_NAMES)
def test_loss_masks_belong_to_labels(tmp_path, rule, form, shown):
    rng = np.random.default_rng(5)
    lengths = [n or 1 for n in documents(11, 80)]
    texts = texts_of(lengths)
    masks = [rng.integers(0, 2, n).astype(np.uint8) for n in lengths]

    def spans(i):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], masks[i], [0]])))
        return edges.reshape(-1, 2).astype(np.uint32)

    field = (
        mldf.NDArray("uint8", (None,), along="tokens")
        if form == "dense"
        else mldf.NDArray("uint32", (None, 2), along="tokens", form="spans")
    )
    columns = {"loss_mask": (field, (lambda i: masks[i]) if form == "dense" else spans)}
    columns["weight"] = (
        mldf.NDArray("float32", (None,), along="tokens"),
        lambda i: masks[i] * np.float32(0.5) + np.float32(i),
    )
    path = corpus(tmp_path / "a.mldf", texts, columns=columns)
    lead, length = bool(rule.get("bos")), 32

    def entry(t, of):
        """bos has none, eos what the last token has."""
        if t is None or (lead and t.place == 0):
            return 0
        at = min(t.place - lead, lengths[t.document] - 1)
        return int(masks[t.document][at]) if of == "mask" else float(masks[t.document][at]) / 2 + t.document

    want = outputs(texts, length, rule, shown.get("ends", "mask"))
    whole = spelled(texts, rule)
    with mldf.Loader(
        path, 5, view=view_text(length, rule, **shown), fields=["loss_mask", "weight", "labels"]
    ) as loader:
        got = [(m, f, y) for b in loader for m, f, y in zip(b.loss_mask, b.weight, b.labels)]
    for k, ((m, f, y), w) in enumerate(zip(got, want)):
        row = w["row"]
        following = next((t for t in want[k + 1]["row"] if t), None) if k + 1 < len(want) else None
        for i, t in enumerate(row):
            if shown.get("target") == "false":
                u = t
            elif shown.get("shift") == "false":
                u = None if t is None or t.first else t
            elif t is None or y[i] == NONE:
                u = None
            elif t.place + 1 < len(whole[t.document]):
                u = Token(t.document, t.place + 1, 0, 0, False)
            else:  # ends=next: the next piece's, with concat also the next sequence's
                u = next((v for v in row[i + 1 :] if v is not None), following)
            assert m[i] == entry(u, "mask") and f[i] == np.float32(entry(u, "weight"))


def test_a_null_mask_is_a_bad_sample(tmp_path):
    columns = {
        "loss_mask": (
            mldf.NDArray("uint8", (None,), along="tokens", nullable=True),
            lambda i: None if i == 3 else np.ones(5, np.uint8),
        )
    }
    path = corpus(tmp_path / "a.mldf", texts_of([5] * 8), columns=columns)
    with (
        mldf.Loader(path, 8, view="packed(tokens, 5)", fields=["tokens", "loss_mask"]) as loader,
        pytest.raises(mldf.Error, match="sample 3, field loss_mask: item 3: it is null"),
    ):
        list(loader)
    with mldf.Loader(path, 8, view="packed(tokens, 5)", fields=["tokens", "loss_mask"], on_error="skip") as loader:
        assert sum(len(b.tokens) for b in loader) == 7


# ---- Names, types, mistakes ----


def test_other_names_and_types(tmp_path):
    texts = texts_of(documents(2, 40))
    path = tmp_path / "a.mldf"
    with mldf.Writer(path, {"text": mldf.NDArray("int64", (None,), nullable=True), "x": mldf.Int()}) as w:
        w.extend({"text": t, "x": 0} for t in texts)
    view = mldf.open(path).as_view("packed(text, 32, pad=3)")
    assert list(view.schema)[:5] == ["text", "text_labels", "text_positions", "text_cu_seqlens", "text_max_seqlen"]
    with mldf.Loader(view, 4) as loader:
        assert loader.outputs == ("text", "text_labels", "text_positions", "text_cu_seqlens", "text_max_seqlen")
        got = list(loader)
    want = outputs(texts, 32, {})
    assert np.concatenate([b.text for b in got]).tolist() == [w["tokens"] for w in want]
    assert np.concatenate([b.text_labels for b in got]).tolist() == [w["labels"] for w in want]
    sample = view[1]
    assert sample.text.tolist() == want[1]["tokens"] and view[1, "text_mask"].shape == (32, 32)
    with pytest.raises(mldf.errors.WrongTypeError, match="larger than dtype=i32"):
        mldf.open(path).as_view("packed(text, 32, pad=3, dtype=i32)")
    columns = {"labels": (mldf.NDArray("int32", (None,), along="tokens"), lambda i: np.arange(5, dtype=np.int32))}
    path = corpus(tmp_path / "b.mldf", texts_of([5] * 4), columns=columns)
    names = list(mldf.open(path).as_view("packed(tokens, 10)").schema)
    assert "labels" in names and "tokens_labels" in names


@pytest.mark.parametrize("kind", ["stream", "streams"])
def test_documents_of_a_stream(tmp_path, kind):
    texts = texts_of([n or 0 for n in documents(4, 60)])
    path = tmp_path / "a.mldf"
    parts = [texts] if kind == "stream" else [texts[:20], [], texts[20:]]
    with mldf.Writer(path, {"tokens": mldf.TokenStream(60000, pad=PAD)}) as w:
        for part in parts:
            w.append(
                {
                    "tokens": {
                        "tokens": np.concatenate(part) if part else np.zeros(0, np.uint16),
                        "ends": np.cumsum([len(t) for t in part], dtype=np.int64),
                    }
                }
            )
    for rule in ({}, {"algorithm": "concat", "eos": True}):
        want = outputs(texts, 32, rule)
        for backend in BACKENDS:
            with mldf.Loader(mldf.open(path, backend=backend), 4, view=view_text(32, rule), fields=ALL) as loader:
                check(list(loader), want, 32, rule, max(len(w["lengths"]) for w in want))


@pytest.mark.parametrize(
    "text, error, words",
    [
        ("packed(tokens)", mldf.errors.ArgumentError, "length is not given"),
        ("packed(tokens, 0)", mldf.errors.ArgumentError, "length is 0"),
        ("packed(tokens, 2.5)", mldf.errors.ArgumentError, "whole number"),
        ("packed(tokens, 10, align=4)", mldf.errors.ArgumentError, "does not divide"),
        ("packed(tokens, 8, algorithm=concat, align=4)", mldf.errors.ArgumentError, "concat cuts"),
        ("packed(tokens, 8, algorithm=worst)", mldf.errors.ArgumentError, "best-fit, next-fit, concat"),
        ("packed(tokens, 8, eos=60000)", mldf.Error, "outside the vocabulary"),
        ("packed(tokens, 8, objective=mlm)", mldf.errors.ArgumentError, "needs mlm.mask"),
        ("packed(tokens, 8, fim.rate=0.5)", mldf.errors.ArgumentError, "does not go with"),
        ("packed(tokens, 8, objective=mlm(p=2, mask=4))", mldf.errors.ArgumentError, "from 0 to 1"),
        ("packed(tokens, 8, objective=mlm(p=0.1, mask=60000))", mldf.errors.RangeError, "mlm.mask is 60000, outside"),
        ("packed(tokens, 8, objective=fim(0.5, 0.5, 4, 60001, 5))", mldf.errors.RangeError, "fim.middle is 60001, out"),
        ("packed(tokens, 8, stride=4)", mldf.errors.ArgumentError, "no parameter stride"),
        ("packed(x, 8)", mldf.Error, "x is int"),
        ("packed(name, 8)", mldf.Error, "name"),
        ("packed(plain, 8)", mldf.errors.ArgumentError, "give pad=ID"),
    ],
)
def test_mistakes_are_named(tmp_path, text, error, words):
    path = tmp_path / "a.mldf"
    fields = {"tokens": mldf.Tokens(60000, pad=PAD), "x": mldf.Int(), "name": "text", "plain": mldf.Tokens(100)}
    mldf.write(path, [{"tokens": [5, 6], "x": 1, "name": "a", "plain": [1]}], fields)
    with pytest.raises(error, match=words):
        mldf.open(path).as_view(text)


# ---- Objectives ----


def test_fill_in_the_middle(tmp_path):
    texts = texts_of(documents(9, 200))
    path = corpus(tmp_path / "a.mldf", texts)
    text = (
        "packed(tokens, 32, bos=1, eos=2, objective=fim(rate=0.7, spm=0.4, prefix=59000, middle=59001, suffix=59002))"
    )
    plain = outputs(texts, 32, {"bos": True, "eos": True})
    runs = []
    for threads in (0, 2):
        with mldf.Loader(path, 5, view=text, seed=3, threads=threads, fields=["tokens", "labels"]) as loader:
            batches = list(loader)
        runs.append([np.concatenate([getattr(b, n) for b in batches]) for n in ("tokens", "labels")])
    assert all(np.array_equal(a, b) for a, b in zip(*runs))
    changed = orders = pieces = 0
    for row, y, w in zip(*runs[0], plain):
        at = 0
        for n in w["lengths"]:
            before, after, labels = w["tokens"][at : at + n], row[at : at + n].tolist(), y[at : at + n].tolist()
            at += n
            lead, tail = before[0] == BOS, before[-1] == EOS
            inner, made = before[lead : n - tail], after[lead : n - tail]
            assert (after[0] == BOS) == lead and (after[-1] == EOS) == tail
            if before == after:
                assert labels == w["labels"][at - n : at]
                pieces += len(inner) >= 8
                continue
            assert len(inner) >= 8
            changed += 1
            pieces += 1
            p, s, m = (made.index(k) for k in (59000, 59002, 59001))
            assert p == 0 and p < s < m
            if s == 1 and made[m + 1 :] + made[2:m] == inner[:-3]:
                orders += 1  # suffix first
            else:
                assert made[1:s] + made[m + 1 :] + made[s + 1 : m] == inner[:-3]
            assert labels[:-1] == after[1:] and labels[-1] == NONE
    assert 0.6 < changed / pieces < 0.8 and 0 < orders < changed
    with mldf.Loader(path, 5, view=text, seed=4, fields=["tokens"]) as loader:
        assert not np.array_equal(np.concatenate([b.tokens for b in loader]), runs[0][0])


@pytest.mark.parametrize("rule", [{}, {"eos": True}, {"algorithm": "concat"}, {"align": 8}], **RULE_NAMES)
def test_labels_before_moved_pieces_are_what_follows_them(tmp_path, rule):
    """With ends=next a document's last label is the first token that the next piece shows, moved or not."""
    texts = texts_of([n or 1 for n in documents(21, 150)])
    path = corpus(tmp_path / "a.mldf", texts)
    fim = "fim(rate=0.6, spm=0.5, prefix=59000, middle=59001, suffix=59002)"
    plain, before = outputs(texts, 32, rule, ends="next"), 0
    text = view_text(32, rule, ends="next", objective=fim)
    with mldf.Loader(path, 5, view=text, seed=3, fields=["tokens", "labels"]) as loader:
        got = [(t.tolist(), y.tolist()) for b in loader for t, y in zip(b.tokens, b.labels)]
    for (tokens, labels), w in zip(got, plain):
        for k, (start, n) in enumerate(zip(w["starts"], w["lengths"])):
            last = w["row"][start + n - 1]
            if last.place + 1 < len(spelled(texts, rule)[last.document]):
                continue  # the document goes on
            if k + 1 < len(w["starts"]):
                assert labels[start + n - 1] == tokens[w["starts"][k + 1]]
                before += tokens[w["starts"][k + 1]] == 59000
            else:  # which item follows, and whether it is moved, is not known
                assert labels[start + n - 1] in (NONE, w["labels"][start + n - 1])
    assert before > 5


def test_masked_tokens_with_columns(tmp_path):
    """Labels of masked tokens are at their own places, whatever `shift` says: so are the entries of columns."""
    lengths = [5, 9, 16, 3, 4]
    texts = texts_of(lengths)
    weight = mldf.NDArray("float32", (None,), along="tokens")
    columns = {"weight": (weight, lambda i: np.arange(1, lengths[i] + 1, dtype=np.float32))}
    path = corpus(tmp_path / "a.mldf", texts, columns=columns)
    rows = sequences(texts, 16, {})
    want = [[0.0 if t is None else t.place + 1.0 for t in row] for row in rows]
    for shift in ("true", "false"):
        text = f"packed(tokens, 16, shift={shift}, objective=mlm(0.3, 59999))"
        with mldf.Loader(path, 2, view=text, fields=["tokens", "weight", "labels"]) as loader:
            assert np.concatenate([b.weight for b in loader]).tolist() == want


def test_masked_tokens(tmp_path):
    texts = texts_of(documents(9, 400))
    path = corpus(tmp_path / "a.mldf", texts)
    plain = outputs(texts, 32, {"bos": True})
    with mldf.Loader(
        path, 5, view="packed(tokens, 32, bos=1, objective=mlm(0.3, 59999))", fields=["tokens", "labels", "mask"]
    ) as loader:
        batches = list(loader)
    tokens, labels = (np.concatenate([getattr(b, n) for b in batches]) for n in ("tokens", "labels"))
    before = np.array([w["tokens"] for w in plain])
    stored = np.array([[t is not None and t.value != BOS for t in w["row"]] for w in plain])
    chosen = labels != NONE
    assert not chosen[~stored].any() and np.array_equal(labels[chosen], before[chosen])
    assert np.array_equal(tokens[~chosen], before[~chosen])
    assert 0.28 < chosen[stored].mean() < 0.32
    hidden = tokens[chosen] == 59999
    kept = tokens[chosen] == before[chosen]
    assert 0.76 < hidden.mean() < 0.84 and 0.07 < kept.mean() < 0.13
    assert all(np.array_equal(m, w["mask"] | w["mask"].T) for b in batches[:3] for m, w in zip(batches[0].mask, plain))
