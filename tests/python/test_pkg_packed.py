"""Packed sequences: every output against a construction token by token, for all algorithms and policies; that each
token is there once; and the life of plans and states: stored or made, several files, subsets, mixtures, ranks.
"""

import json
import os
import pathlib
import subprocess
import sys

import mldf
import numpy as np
import pytest
from test_plan_tokens import MLDF, RULES, documents, expected

ROOT = pathlib.Path(os.environ["MLDF_SOURCE_DIR"])
sys.path[:0] = [str(ROOT / "docs/spec"), str(ROOT / "tools")]
from vectors_invalid import Editor  # noqa: E402

BACKENDS = ["map", "read"]
BOS, EOS, PAD, NONE = 1, 2, 3, -100
RULE_NAMES = {"ids": lambda r: "-".join(f"{k}={v}" for k, v in r.items()) or "default"}


def texts_of(lengths, seed=0, vocabulary=60000):
    rng = np.random.default_rng(seed)
    return [None if n is None else rng.integers(4, vocabulary, n).astype(np.uint16) for n in lengths]


def corpus(path, texts, vocabulary=60000, columns=None, **options):
    fields = {"tokens": mldf.Tokens(vocabulary, bos=BOS, eos=EOS, pad=PAD, nullable=any(t is None for t in texts))}
    fields |= {name: field for name, (field, _) in (columns or {}).items()}
    values = {name: of for name, (_, of) in (columns or {}).items()}
    with mldf.Writer(path, fields, **options) as w:
        for i, t in enumerate(texts):
            w.append({"tokens": t} | {name: of(i) for name, of in values.items()})
    return path


def view_text(length, rule, **more):
    given = {k: {"bos": BOS, "eos": EOS}.get(k, v) for k, v in rule.items()} | more
    return f"packed(tokens, {length}" + "".join(f", {k}={v}" for k, v in given.items()) + ")"


# ---- The same, token by token ----


class Token:
    """One place of a sequence: which token of which document it is; None: padding."""

    def __init__(self, document, place, value, piece, first):
        self.document, self.place, self.value, self.piece, self.first = document, place, value, piece, first


def spelled(texts, rule):
    """Documents with their added ends."""
    lead, tail = [BOS] * bool(rule.get("bos")), [EOS] * bool(rule.get("eos"))
    return [[] if t is None or not len(t) else [*lead, *t.tolist(), *tail] for t in texts]


def sequences(texts, length, rule):
    """Each a list of `length` Tokens or Nones, from the specification's plan; concat from the run of all documents."""
    whole, lead, align = spelled(texts, rule), bool(rule.get("bos")), rule.get("align", 1)
    if rule.get("algorithm") == "concat":
        run = [(d, i, v) for d, words in enumerate(whole) for i, v in enumerate(words)]
        out = []
        for at in range(0, len(run), length):
            piece, row, last = -1, [], None
            for d, i, v in run[at : at + length]:
                piece += d != last
                row.append(Token(d, i, v, piece, d != last))
                last = d
            out.append(row + [None] * (length - len(row)))
        return out
    plan = expected([None if t is None else len(t) for t in texts], length, **rule)
    out = []
    for pieces in plan:
        row = []
        for k, (d, start, n) in enumerate(pieces):
            row += [None] * (-len(row) % align)
            begin = 0 if start == 0 else start + lead
            end = start + lead + n
            if start + n == len(texts[d]):
                end = len(whole[d])
            row += [Token(d, i, whole[d][i], k, i == begin) for i in range(begin, end)]
        out.append(row + [None] * (length - len(row)))
    return out


def outputs(texts, length, rule, ends="mask", positions="piece", base=1, concat_next=True):
    """Every output of every sequence, one token at a time."""
    whole, rows = spelled(texts, rule), sequences(texts, length, rule)
    concat = rule.get("algorithm") == "concat"
    out = []
    for r, row in enumerate(rows):
        tokens = [PAD if t is None else t.value for t in row]
        labels, unshifted, place, segments, pads = [], [], [], [], 0
        following = next((t for t in rows[r + 1] if t), None) if concat and r + 1 < len(rows) else None
        for i, t in enumerate(row):
            if t is None:
                labels.append(NONE), unshifted.append(NONE), segments.append(base - 1), place.append(pads)
                pads += 1
                continue
            pads = 0
            after = next((u for u in row[i + 1 :] if u is not None), following)
            last = t.place + 1 == len(whole[t.document])
            inside = i + 1 < length and row[i + 1] is not None and row[i + 1].document == t.document
            if not last and (inside or concat or rule.get("long", "cut") == "cut"):
                labels.append(whole[t.document][t.place + 1])
            elif last and ends == "next" and after is not None:
                labels.append(after.value)
            else:
                labels.append(NONE)
            unshifted.append(NONE if t.first else t.value)
            segments.append(base + t.piece)
            begin = next(u.place for u in row if u is not None and u.piece == t.piece)
            place.append(t.place if positions == "document" else t.place - begin)
        count = 1 + max(t.piece for t in row if t)
        lengths = [sum(t is not None and t.piece == k for t in row) for k in range(count)]
        starts = [next(i for i, t in enumerate(row) if t is not None and t.piece == k) for k in range(count)]
        who = [next(t.document for t in row if t is not None and t.piece == k) for k in range(count)]
        mask = np.zeros((length, length), bool)
        kinds, run = [], 0  # runs of paddings are segments of their own
        for i, t in enumerate(row):
            run += t is None and i > 0 and row[i - 1] is not None
            kinds.append(("pad", run) if t is None else ("piece", t.piece))
        for i in range(length):
            for j in range(i + 1):
                mask[i, j] = kinds[i] == kinds[j]
        out.append(
            {
                "tokens": tokens,
                "labels": labels,
                "unshifted": unshifted,
                "positions": place,
                "segment_ids": segments,
                "lengths": lengths,
                "starts": starts,
                "documents": who,
                "mask": mask,
                "row": row,
            }
        )
    return out


def check(batches, want, length, rule, most, unshifted=False):
    align = rule.get("align", 1)
    got = [{n: np.asarray(b[n])[i] for n in b._fields} for b in batches for i in range(len(b.tokens))]
    assert len(got) == len(want)
    for g, w in zip(got, want):
        for name in ("tokens", "positions", "segment_ids"):
            assert g[name].tolist() == w[name], name
        assert g["labels"].tolist() == w["unshifted" if unshifted else "labels"]
        assert g["documents"].tolist() == w["documents"] + [-1] * (most - len(w["documents"]))
        assert np.array_equal(g["mask"], w["mask"])
        assert g["loss_mask"].tolist() == [v != NONE for v in (w["unshifted"] if unshifted else w["labels"])]
        sums = [0, *np.cumsum(w["lengths"]).tolist()]
        fill = sums[-1] if align > 1 else length
        assert g["cu_seqlens"].tolist() == sums + [fill] * (most + 2 - len(sums)) and g["cu_seqlens"].dtype == np.int32
        if align > 1:
            end = -(-(w["starts"][-1] + w["lengths"][-1]) // align) * align
            places = [*w["starts"], end]
            assert g["cu_seqlens_padded"].tolist() == places + [length] * (most + 2 - len(places))
            assert g["max_seqlen"] == max(-(-n // align) * align for n in w["lengths"])
        else:
            assert g["max_seqlen"] == max(*w["lengths"], length - sums[-1])


ALL = ["tokens", "labels", "positions", "segment_ids", "cu_seqlens", "max_seqlen", "documents", "loss_mask", "mask"]
CONCAT = [
    {"algorithm": "concat"},
    {"algorithm": "concat", "eos": True},
    {"algorithm": "concat", "bos": True, "eos": True},
]


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
    for (m, f, y), w in zip(got, want):
        row = w["row"]
        for i, t in enumerate(row):
            if shown.get("target") == "false":
                u = t
            elif shown.get("shift") == "false":
                u = None if t is None or t.first else t
            elif t is None or y[i] == NONE:
                u = None
            elif t.place + 1 < len(whole[t.document]):
                u = Token(t.document, t.place + 1, 0, 0, False)
            else:  # ends=next: the next piece's; what is behind the sequence has no entry
                u = next((v for v in row[i + 1 :] if v is not None), None)
            assert m[i] == entry(u, "mask") and f[i] == np.float32(entry(u, "weight"))


def test_rows_that_claim_more_tokens_than_they_can_hold(tmp_path):
    """Nothing is planned for them: 4 billion tokens of 20 bytes would be 2 million pieces."""
    path = str(tmp_path / "t.mldf")
    with mldf.Writer(path, {"tokens": mldf.Tokens(vocabulary=60000, eos=0)}, checksums=False) as w:
        for n in (10, 7, 10):
            w.append({"tokens": np.arange(1, n + 1)})
    data = pathlib.Path(path).read_bytes()
    record = (14).to_bytes(4, "little") + (7).to_bytes(4, "little")
    assert data.count(record) == 1
    pathlib.Path(path).write_bytes(data.replace(record, (14).to_bytes(4, "little") + b"\xf0\xff\xff\xff"))
    view = mldf.open(path).as_view("packed(tokens, 10, pad=0)")
    assert len(view) == 2 and sorted(view[0].tokens.tolist()) == list(range(1, 11))


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


# ---- Plans that are stored and made, several files, subsets, mixtures ----


def digest(path, text):
    return mldf.open(path).as_view(text).digest


@pytest.mark.parametrize(
    "rule", [{}, {"algorithm": "next-fit", "eos": True}, {"align": 8, "long": "drop"}], **RULE_NAMES
)
def test_a_stored_plan_is_the_one_that_would_be_made(tmp_path, rule, recwarn):
    texts = texts_of(documents(5, 100))
    made, stored = corpus(tmp_path / "a.mldf", texts), corpus(tmp_path / "b.mldf", texts)
    mldf.plan_tokens(stored, 32, **{k: EOS if k == "eos" else v for k, v in rule.items()})
    text = view_text(32, rule)
    assert digest(made, text) == digest(stored, text) != digest(stored, view_text(16, rule))
    assert digest(made, view_text(32, rule, ends="next", base=0, pad=9)) == digest(made, text)
    runs = []
    for path in (made, stored):
        with mldf.Loader(path, 4, shuffle=True, seed=5, view=text, fields=ALL) as loader:
            runs.append([[np.asarray(a) for a in b] for b in loader])
            state = loader.state_dict()
    assert all(np.array_equal(x, y) for a, b in zip(*runs) for x, y in zip(a, b))
    with mldf.Loader(made, 4, shuffle=True, seed=5, view=text) as loader:
        loader.load_state_dict(state)
    assert not recwarn.list
    with mldf.Writer.existing(stored) as w:
        w.append({"tokens": texts_of([9])[0]})
    with pytest.warns(UserWarning, match="plan-tokens"):
        view = mldf.open(stored).as_view(text)
    assert view.find(len(texts)) != []


def test_the_stored_plan_is_used(tmp_path):
    """Of a plan that is not the one that would be made, a piece that its row does not have is an error of that item."""
    texts = texts_of([20] * 12)
    path = corpus(tmp_path / "a.mldf", texts)
    mldf.plan_tokens(path, 32)
    data = bytearray(path.read_bytes())
    view = mldf.open(path).as_view("packed(tokens, 32)")
    assert view.locate(0)[0][1:] == (0, 0, 20)
    at = data.find(b"".join(int(v).to_bytes(4, "little") for v in (0, 0, 20, 1, 0, 20)))
    assert at > 0
    data[at + 8 : at + 12] = (12).to_bytes(4, "little")
    data[at + 20 : at + 24] = (24).to_bytes(4, "little")
    broken = tmp_path / "b.mldf"
    editor = Editor(data)
    editor.fix()
    broken.write_bytes(editor.b)
    view = mldf.open(broken).as_view("packed(tokens, 32)")
    assert view.locate(0)[0][1:] == (0, 0, 12)
    with pytest.raises(mldf.Error, match="row 1, field tokens has 20 tokens, and the plan has a piece from 0 to 24"):
        view[1]
    with mldf.Loader(broken, 4, view="packed(tokens, 32)", on_error="skip", fields=["tokens"]) as loader:
        assert sum(len(b.tokens) for b in loader) == 11


def test_several_files(tmp_path):
    texts = texts_of(documents(6, 90))
    parts = [texts[:30], texts[30:31], texts[31:]]
    nullable = [*texts, None]
    files = []
    for i, part in enumerate(parts):
        files.append(tmp_path / f"{i}.mldf")
        with mldf.Writer(
            files[-1], {"tokens": mldf.Tokens(60000, pad=PAD, nullable=any(t is None for t in nullable))}
        ) as w:
            w.extend({"tokens": t} for t in part)
    for rule in ({}, {"algorithm": "concat", "eos": True}):
        want = outputs(texts, 32, rule)
        most = max(len(w["lengths"]) for w in want)
        with mldf.Loader(files, 4, view=view_text(32, rule), fields=ALL) as loader:
            check(list(loader), want, 32, rule, most)
    separate = [w for part in parts for w in shifted(outputs(part, 32, {}), texts, part, parts)]
    most = max(len(w["lengths"]) for w in separate)
    text = view_text(32, {}, per_file="true")
    made = mldf.open(files).as_view(text)
    with mldf.Loader(made, 4, fields=ALL) as loader:
        check(list(loader), separate, 32, {}, most)
    for file in files[:2]:
        mldf.plan_tokens(file, 32)
    assert mldf.open(files).as_view("packed(tokens, 32)").digest != made.digest  # one has none: one plan of all
    mldf.plan_tokens(files[2], 32)
    stored = mldf.open(files).as_view("packed(tokens, 32)")
    assert stored.digest == made.digest and stored.text == made.text
    with mldf.Loader(stored, 4, fields=ALL) as loader:
        check(list(loader), separate, 32, {}, most)


def shifted(rows, texts, part, parts):
    """Outputs of one file's documents, numbered among those of all."""
    before = sum(len(p) for p in parts[: next(i for i, p in enumerate(parts) if p is part)])
    return [w | {"documents": [d + before for d in w["documents"]]} for w in rows]


def test_subsets_never_use_a_stored_plan(tmp_path):
    texts = texts_of(documents(8, 100))
    path = corpus(tmp_path / "a.mldf", texts)
    mldf.plan_tokens(path, 32)
    chosen = [i for i in range(len(texts)) if i % 3 != 1]
    kept = [t if i in set(chosen) else None for i, t in enumerate(texts)]
    want = outputs(kept, 32, {})
    most = max(len(w["lengths"]) for w in want)
    with mldf.Loader(path, 4, subset=chosen, view="packed(tokens, 32)", fields=ALL) as loader:
        check(list(loader), want, 32, {}, most)
        state = loader.state_dict()
    with (
        mldf.Loader(path, 4, view="packed(tokens, 32)") as loader,
        pytest.raises(mldf.errors.StateError, match="other rows|view"),
    ):
        loader.load_state_dict(state)
    for given in ({"weights": np.ones(len(texts))}, {"balance": "tokens"}):
        with pytest.raises(mldf.errors.ArgumentError, match="ratios="):
            mldf.Loader(path, 4, view="packed(tokens, 32)", **given)


def test_mixtures_of_files(tmp_path):
    files, parts = [], []
    for k in range(2):
        parts.append(texts_of([5 + k] * 30, k))
        files.append(corpus(tmp_path / f"{k}.mldf", parts[-1]))
    with mldf.Loader(
        files,
        5,
        shuffle=True,
        ratios=[3, 2],
        samples_per_epoch=50,
        view="packed(tokens, 16)",
        fields=["tokens", "documents"],
        index=True,
    ) as loader:
        batches = list(loader)
    of = np.concatenate([b.documents[:, 0] for b in batches]) // 30
    assert len(of) == 50 and (of == 0).sum() == 30
    for b in batches:
        for tokens, who in zip(b.tokens, b.documents):
            assert len({d // 30 for d in who if d >= 0}) == 1
            assert tokens[: len(parts[who[0] // 30][0])].tolist() == parts[who[0] // 30][who[0] % 30].tolist()
    with pytest.raises(mldf.errors.ArgumentError, match="per_file"):
        mldf.Loader(files, 5, ratios=[3, 2], view="packed(tokens, 16, per_file=false)")


# ---- Resuming ----


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

    def run(loaders, count=None):
        """Rows of all ranks in the order of the epoch, as bytes."""
        rows = []
        for k, batches in enumerate(zip(*loaders)):
            rows += [b"".join(np.asarray(a[i]).tobytes() for a in b) for b in batches for i in range(len(b[0]))]
            if k + 1 == count:
                break
        return rows

    with mldf.Loader(path, 12, **options) as loader:
        whole = run([loader])
        steps = len(loader)
    for at in range(1, steps):
        with mldf.Loader(path, 12, **options) as loader:
            first = run([loader], at)
            state = json.loads(json.dumps(loader.state_dict()))
        with mldf.Loader(path, 12, **options) as loader:
            loader.load_state_dict(state)
            assert first + run([loader]) == whole
    rows, state = [], None
    for world in (1, 2, 4, 3):
        loaders = [mldf.Loader(path, global_batch_size=12, rank=r, world_size=world, **options) for r in range(world)]
        for loader in loaders:
            if state:
                loader.load_state_dict(state)
        rows += run([iter(x) for x in loaders], None if world == 3 else 1)
        state = loaders[0].state_dict()
        for loader in loaders:
            loader.close()
    assert sorted(rows) == sorted(whole) and len(set(rows)) > 10


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


# ---- Compressed, encrypted, checked; the command ----


@pytest.mark.parametrize("how", ["compress", "encrypt", "verify"])
def test_other_ways_of_storing(tmp_path, how):
    texts = texts_of([n or 0 for n in documents(13, 60)])
    path = tmp_path / "a.mldf"
    options, reading = {}, {}
    field = mldf.Tokens(60000, pad=PAD, compress=how == "compress")
    if how == "encrypt":
        options["key"] = reading["key"] = bytes(range(32))
    if how == "verify":
        reading["verify"] = True
    with mldf.Writer(path, {"tokens": field}, **options) as w:
        w.extend({"tokens": t} for t in texts)
    want = outputs(texts, 32, {})
    for backend in BACKENDS:
        with mldf.Loader(
            mldf.open(path, backend=backend, **reading), 4, view="packed(tokens, 32)", fields=ALL
        ) as loader:
            check(list(loader), want, 32, {}, max(len(w["lengths"]) for w in want))


def test_the_command_knows_packed_sequences(tmp_path):
    texts = texts_of([n or 0 for n in documents(14, 60)])
    path = corpus(tmp_path / "a.mldf", texts)
    text = "packed(tokens, 32, eos=own)"
    want = outputs(texts, 32, {"eos": True})

    def run(*arguments):
        done = subprocess.run([MLDF, *map(str, arguments)], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    info = json.loads(run("info", "--json", path, "--view", text))
    assert info["samples" if "samples" in info else "num_samples"] == len(want)
    lines = run("cat", "--json", path, "--view", text, "--full").splitlines()
    assert len(lines) == len(want)
    shown = [json.loads(line)["fields"] for line in lines]
    assert [s["tokens"] for s in shown] == [w["tokens"] for w in want]
    assert [s["labels"] for s in shown] == [w["labels"] for w in want]
    bench = json.loads(run("bench", "--json", path, "--view", text, "--batch-size", 4))
    assert bench["samples"] == len(want)
