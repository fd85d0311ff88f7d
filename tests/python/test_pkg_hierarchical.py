"""Hierarchical text: paragraphs and sentences written and read, levels in batches and as items, and the commands."""

import itertools
import json
import os
import subprocess

import mldf
import numpy as np
import pytest

MLDF = os.environ.get("MLDF", "mldf")
BACKENDS = ["map", "read"]


def command(*arguments, code=0):
    done = subprocess.run([MLDF, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == code, done.stderr + done.stdout
    return done


def nested(rng, most=6):
    """Paragraphs of sentences of ids; sometimes nothing."""
    return [
        [rng.integers(0, 1000, rng.integers(1, 20)).tolist() for _ in range(rng.integers(1, most))]
        for _ in range(rng.integers(0, most))
    ]


def flat(document):
    return [token for paragraph in document for sentence in paragraph for token in sentence]


def ends(document):
    sentences = np.cumsum([len(sentence) for paragraph in document for sentence in paragraph], dtype=int).tolist()
    paragraphs = np.cumsum([sum(map(len, paragraph)) for paragraph in document], dtype=int).tolist()
    return paragraphs, sentences


def spans(values):
    return [list(pair) for pair in zip([0, *values], values)]


@pytest.fixture
def corpus(tmp_path):
    rng = np.random.default_rng(7)
    documents = [nested(rng) for _ in range(40)] + [[], [[[5]]]]
    path = tmp_path / "a.mldf"
    fields = {"doc": mldf.HierarchicalTokens(1000, eos=7), "n": mldf.Int()}
    mldf.write(path, [{"doc": document, "n": i} for i, document in enumerate(documents)], fields)
    return path, documents


@pytest.mark.parametrize("backend", BACKENDS)
def test_paragraphs_and_sentences_come_back(corpus, backend):
    path, documents = corpus
    ds = mldf.open(path, backend=backend)
    for i, document in enumerate(documents):
        paragraphs, sentences = ends(document)
        assert ds[i].doc.tolist() == flat(document) and ds[i].doc.dtype == np.uint16
        assert ds.documents(i, "doc").tolist() == [[0, len(flat(document))]]
        assert ds.documents(i, "doc", level="paragraphs").tolist() == spans(paragraphs)
        assert ds.documents(i, "doc", level="sentences").tolist() == spans(sentences)
    assert mldf.verify(path, deep=True).ok
    about = mldf.info(path)["fields"][0]["statistics"]
    assert about["tokens"] == sum(len(flat(d)) for d in documents) and about["max"] <= 999


def test_three_forms_are_the_same_bytes(tmp_path):
    document = [[[1, 2], [3]], [[4, 5, 6]]]
    forms = [
        document,
        {"tokens": np.arange(1, 7), "paragraphs": [3, 6], "sentences": [2, 3, 6]},
        [[np.array([1, 2], np.int8), (3,)], (np.array([4, 5, 6], np.uint64),)],
    ]
    for i, form in enumerate(forms):
        mldf.write(tmp_path / f"{i}.mldf", [{"d": form}], {"d": mldf.HierarchicalTokens(9)})
    assert len({(tmp_path / f"{i}.mldf").read_bytes() for i in range(3)}) == 1
    mldf.write(tmp_path / "flat.mldf", [{"d": [1, 2, 3]}, {"d": []}], {"d": mldf.HierarchicalTokens(9)})
    ds = mldf.open(tmp_path / "flat.mldf")
    assert ds.documents(0, "d", level="sentences").tolist() == [[0, 3]]
    assert ds.documents(1, "d", level="paragraphs").tolist() == []


@pytest.mark.parametrize(
    "value, error",
    [
        ({"tokens": [1, 2, 3], "paragraphs": [3], "sentences": [2]}, "RangeError"),
        ({"tokens": [1, 2, 3], "paragraphs": [2, 3], "sentences": [1, 3]}, "RangeError"),
        ({"tokens": [1, 2, 3], "paragraphs": [-1], "sentences": [3]}, "RangeError"),
        ({"tokens": [1, 2, 3], "paragraphs": [3], "sentences": [3], "ends": [3]}, "WrongTypeError"),
        ({"tokens": [1, 2, 3]}, "WrongTypeError"),
        ([[[1], []]], "RangeError"),
        ([[[1]], []], "RangeError"),
        ([[1, 2], [3]], "WrongTypeError"),
        ([[[1]], 2], "WrongTypeError"),
        ([[["a"]]], "WrongTypeError"),
    ],
)
def test_what_has_no_levels_is_refused(tmp_path, value, error):
    with (
        pytest.raises(getattr(mldf.errors, error)),
        mldf.Writer(tmp_path / "a.mldf", {"d": mldf.HierarchicalTokens(9)}) as w,
    ):
        w.append({"d": value})
    assert not (tmp_path / "a.mldf").exists()


def test_an_id_outside_the_vocabulary_names_token_and_sentence(tmp_path):
    with (
        pytest.raises(mldf.errors.RangeError, match=r"token 3 \(sentence 2\) is 300.*0 to 299") as caught,
        mldf.Writer(tmp_path / "a.mldf", {"d": mldf.HierarchicalTokens(300)}) as w,
    ):
        w.append({"d": [[[1]]]})
        w.append({"d": [[[1], [2, 3]], [[300]]]})
    assert caught.value.sample == 1 and caught.value.field == "d"


def test_other_types_have_no_levels(tmp_path):
    mldf.write(tmp_path / "a.mldf", [{"t": [1]}], {"t": mldf.Tokens(9)})
    with pytest.raises(mldf.errors.WrongTypeError, match="text_tokenized"):
        mldf.open(tmp_path / "a.mldf").documents(0, "t", level="sentences")


# ---- In batches ----


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("threads", [0, 2])
@pytest.mark.parametrize("compress", [None, 3])
def test_levels_are_parts_of_a_batch(tmp_path, backend, threads, compress):
    rng = np.random.default_rng(9)
    documents = [nested(rng) for _ in range(33)]
    path = tmp_path / "a.mldf"
    mldf.write(path, [{"doc": d} for d in documents], {"doc": mldf.HierarchicalTokens(1000, compress=compress)})
    steps = "doc: ragged; doc.paragraphs: pad; doc.sentences: ragged"
    ds = mldf.open(path, backend=backend)
    seen = 0
    with mldf.Loader(ds, 8, pipelines=steps, shuffle=True, seed=2, index=True, num_workers=threads) as loader:
        for batch in loader:
            chosen = [documents[i] for i in batch.index.tolist()]
            assert batch["doc"].tolist() == [t for d in chosen for t in flat(d)]
            assert batch["doc.sentences"].tolist() == [e for d in chosen for e in ends(d)[1]]
            assert batch["doc.sentences"].dtype == np.int64
            for row, d in zip(batch["doc.paragraphs"].tolist(), chosen):
                assert row[: len(d)] == ends(d)[0] and not any(row[len(d) :])
            seen += len(chosen)
    assert seen == len(documents)


def test_a_level_is_read_without_the_ids(tmp_path):
    """Of a document of 2 MB the ends alone are fetched."""
    path = tmp_path / "a.mldf"
    ids = np.zeros(1_000_000, np.uint16)
    value = {"tokens": ids, "paragraphs": [500_000, 1_000_000], "sentences": [500_000, 900_000, 1_000_000]}
    mldf.write(path, [{"doc": value}] * 4, {"doc": mldf.HierarchicalTokens(1000)})
    ds = mldf.open(path, backend="read")
    with mldf.Loader(ds, 4, pipelines="doc.sentences: ragged") as loader:
        batch = next(iter(loader))
        assert batch["doc.sentences"].tolist() == [500_000, 900_000, 1_000_000] * 4
        assert loader.stats().bytes_read < 100_000


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("level", ["paragraphs", "sentences"])
def test_each_entry_of_a_level_is_an_item(corpus, backend, level):
    path, documents = corpus
    want = []
    for i, document in enumerate(documents):
        tokens = flat(document)
        want += [(i, tokens[a:b]) for a, b in spans(ends(document)[level == "sentences"])]
    ds = mldf.open(path, backend=backend)
    with mldf.Loader(ds, 7, view=f"segments(doc, by={level})", pipelines="doc: ragged; n: cast(i32)") as loader:
        rows, tokens = [], []
        for batch in loader:
            rows += batch.n.tolist()
            tokens += [batch.doc[a:b].tolist() for a, b in itertools.pairwise(batch.doc_offset.tolist())]
    assert list(zip(rows, tokens)) == want
    assert len(ds.as_view(f"segments(doc, by={level})")) == len(want)


def test_packed_and_windows_take_hierarchical_documents(corpus):
    path, documents = corpus
    with mldf.Loader(path, 4, view="packed(doc, 64)", fields=["doc"]) as loader:
        total = sum(int((batch["doc"] != 7).sum()) for batch in loader)
    assert total == sum(1 for d in documents for t in flat(d) if t != 7)


# ---- Commands ----


def test_through_every_copying_command(corpus, tmp_path):
    path, documents = corpus
    key = bytes(range(32))
    for name, how in (
        ("repack", lambda o: mldf.repack(path, o)),
        ("select", lambda o: mldf.select(path, o, fields=["doc"])),
        ("convert", lambda o: mldf.convert(path, o)),
        ("merge", lambda o: mldf.merge([path], o)),
    ):
        out = tmp_path / f"{name}.mldf"
        how(out)
        ds = mldf.open(out)
        assert [ds.documents(i, "doc", level="sentences").tolist() for i in range(len(ds))] == [
            spans(ends(d)[1]) for d in documents
        ]
        assert mldf.verify(out, deep=True).ok
    mldf.append(path, [tmp_path / "convert.mldf"])
    assert len(mldf.open(path)) == 2 * len(documents) and mldf.verify(path, deep=True).ok
    mldf.repack(path, tmp_path / "sealed.mldf", key=key)
    ds = mldf.open(tmp_path / "sealed.mldf", key=key)
    assert ds[3].doc.tolist() == flat(documents[3])
    assert ds.documents(3, "doc", level="paragraphs").tolist() == spans(ends(documents[3])[0])
    other = documents[0] + [[[1]]]
    rows = [{"doc": d, "n": i} for i, d in enumerate([other, *documents[1:]])]
    mldf.write(tmp_path / "other.mldf", rows, {"doc": mldf.HierarchicalTokens(1000, eos=7), "n": mldf.Int()})
    assert "sample 0" in command("diff", tmp_path / "convert.mldf", tmp_path / "other.mldf", code=1).stdout


def test_diff_sees_another_sentence(tmp_path):
    fields = {"d": mldf.HierarchicalTokens(9)}
    mldf.write(tmp_path / "a.mldf", [{"d": [[[1, 2], [3]]]}], fields)
    mldf.write(tmp_path / "b.mldf", [{"d": [[[1], [2, 3]]]}], fields)
    assert "d: value" in command("diff", tmp_path / "a.mldf", tmp_path / "b.mldf", code=1).stdout


def test_cat_head_stats_and_extract_show_levels(tmp_path):
    path = tmp_path / "a.mldf"
    rows = [{"d": [[[104, 105], [33]], [[111, 107]]]}, {"d": [[[97] * 100]]}]
    mldf.write(path, rows, {"d": mldf.HierarchicalTokens(256, tokenizer="bytes")})
    lines = [json.loads(line) for line in command("cat", path, "--json").stdout.splitlines()]
    assert lines[0]["fields"]["d"] == {"tokens": [104, 105, 33, 111, 107], "paragraphs": [3, 5], "sentences": [2, 3, 5]}
    assert lines[1]["fields"]["d"]["tokens"] == 100 and lines[1]["fields"]["d"]["sentences"] == [100]
    assert "hi!ok" in command("head", path).stdout
    stats = json.loads(command("stats", path, "--json").stdout)
    assert "105" in json.dumps(stats)
    mldf.extract(path, tmp_path / "files")
    found = [json.loads(p.read_text()) for p in (tmp_path / "files").rglob("*.json") if "sentences" in p.read_text()]
    assert {"tokens": [104, 105, 33, 111, 107], "paragraphs": [3, 5], "sentences": [2, 3, 5]} in found


def test_from_json_lines(tmp_path):
    schema = tmp_path / "schema.json"
    schema.write_text('{"fields":[{"name":"d","type":"text_hierarchical","vocabulary":300}]}')
    rows = tmp_path / "rows.jsonl"
    rows.write_text(
        '{"d":[[[1,2],[299]],[[4]]]}\n{"d":[]}\n{"d":[7,8]}\n'
        '{"d":{"tokens":[1,2,3],"paragraphs":[3],"sentences":[1,3]}}\n'
    )
    command("pack", rows, "-o", tmp_path / "a.mldf", "--schema", schema)
    ds = mldf.open(tmp_path / "a.mldf")
    assert [s.d.tolist() for s in ds] == [[1, 2, 299, 4], [], [7, 8], [1, 2, 3]]
    assert [ds.documents(i, "d", level="sentences")[:, 1].tolist() for i in range(4)] == [[2, 3, 4], [], [2], [1, 3]]
    for text, why in (
        ('{"d":[[1,2]]}', "a sentence is not a list"),
        ('{"d":[[[1],[]]]}', "2 sentences of 1 tokens"),
        ('{"d":{"tokens":[1]}}', "without"),
        ('{"d":[[[300]]]}', "outside the vocabulary"),
    ):
        rows.write_text(text + "\n")
        assert why in command("pack", rows, "-o", tmp_path / "b.mldf", "--schema", schema, code=1).stderr


def test_a_side_column_goes_along(tmp_path):
    fields = {"d": mldf.HierarchicalTokens(9), "mask": mldf.NDArray("uint8", [None], along="d")}
    with pytest.raises(mldf.errors.Error, match="2 entries for the 3"), mldf.Writer(tmp_path / "a.mldf", fields) as w:
        w.append({"d": [[[1, 2], [3]]], "mask": [1, 0, 1]})
        w.append({"d": [[[1, 2], [3]]], "mask": [1, 0]})


def test_a_view_that_cuts_the_tokens_has_no_levels(corpus):
    path, _ = corpus
    with pytest.raises(mldf.errors.Error, match=r"doc\.sentences"):
        mldf.Loader(path, 2, view="windows(doc, 5)", pipelines="doc: cast(i64); doc.sentences: ragged")


def test_a_piece_shows_no_levels(corpus, tmp_path):
    """The record and the tables are the whole value's: a piece that kept them would show, and read, what is not its."""
    path, documents = corpus
    shown = command(
        "head", "--json", "-n", 1000, "--view", "segments(doc, by=sentences)", "--fields", "doc", path
    ).stdout
    sentences = [sentence for document in documents for paragraph in document for sentence in paragraph]
    assert [json.loads(line)["fields"]["doc"] for line in shown.splitlines()] == sentences
    fields = {"stream": mldf.TokenStream(100), "packed": mldf.PackedTokens(100)}
    value = {"tokens": [1, 2, 3, 4, 5, 6], "ends": [3, 6]}
    mldf.write(tmp_path / "s.mldf", [{"stream": value, "packed": value}], fields)
    for name in fields:
        view = ("--view", f"windows({name}, 2)")
        lines = command("head", "--json", "-n", 9, *view, "--fields", name, tmp_path / "s.mldf").stdout.splitlines()
        assert [json.loads(line)["fields"][name] for line in lines] == [[1, 2], [3, 4], [5, 6]]


VECTORS = os.path.join(os.environ.get("MLDF_SOURCE_DIR", "."), "docs", "spec", "vectors", "invalid")


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_last_end_of_a_level_is_the_end(backend):
    """Also where the level alone is read."""
    path = os.path.join(VECTORS, "A7_levels_last_paragraph.mldf")
    made = command("bench", "--backend", backend, "-p", "t.paragraphs: pad", path, code=1)
    assert "the last of 2 paragraphs ends at 4, and there are 5 tokens" in made.stderr


def test_ends_that_do_not_ascend_are_not_shown(tmp_path):
    path = tmp_path / "a.mldf"
    mldf.write(path, [{"d": [[[1, 2], [3]], [[4, 5, 6]]]}], {"d": mldf.HierarchicalTokens(9)}, checksums=False)
    data = path.read_bytes()
    good = np.array([3, 6, 2, 3, 6], "<u4").tobytes()
    assert data.count(good) == 1
    for wrong in ([3, 6, 3, 3, 6], [3, 6, 7, 3, 6], [3, 6, 2, 9, 6], [0, 6, 2, 3, 6]):
        path.write_bytes(data.replace(good, np.array(wrong, "<u4").tobytes()))
        made = command("cat", path, code=1)
        assert "ends at token" in made.stderr
