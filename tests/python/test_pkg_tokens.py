"""Tokens: written from lists, arrays and tensors, read as views, checked, copied, and as edges of a pipeline."""

import json
import os
import pathlib
import subprocess

import mldf
import numpy as np
import pytest

MLDF = os.environ.get("MLDF", "mldf")


def command(*arguments, code=0):
    done = subprocess.run([MLDF, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == code, done.stderr + done.stdout
    return done


def stream(ids, ends):
    return {"tokens": ids, "ends": ends}


@pytest.mark.parametrize("vocabulary, dtype", [(256, "uint8"), (257, "uint16"), (65536, "uint16"), (65537, "int32")])
@pytest.mark.parametrize("given", ["list", "int64", "uint64", "int32", "torch"])
def test_ids_of_any_dtype_are_stored_in_the_width_of_the_vocabulary(tmp_path, vocabulary, dtype, given):
    ids = [0, 1, vocabulary - 1, 7]
    if given == "torch":
        torch = pytest.importorskip("torch")
        value = torch.tensor(ids)
    else:
        value = ids if given == "list" else np.array(ids, given)
    path = tmp_path / "a.mldf"
    with mldf.Writer(path, {"t": mldf.Tokens(vocabulary)}) as w:
        w.append({"t": value})
        w.append({"t": []})
    ds = mldf.open(path)
    assert ds[0].t.dtype == np.dtype(dtype) and ds[0].t.tolist() == ids and ds[1].t.shape == (0,)
    statistics = mldf.info(path)["fields"][0]["statistics"]
    assert (statistics["min"], statistics["max"], statistics["tokens"], statistics["tokens_max"]) == (
        0,
        vocabulary - 1,
        4,
        4,
    )
    assert mldf.verify(path, deep=True).ok


@pytest.mark.parametrize("bad, shown", [(300, "300"), (-1, "-1"), (2**40, str(2**40))])
def test_an_id_outside_the_vocabulary_names_sample_and_position(tmp_path, bad, shown):
    with (
        pytest.raises(mldf.errors.RangeError, match=f"token 2 is {shown}, outside the vocabulary: 0 to 299") as why,
        mldf.Writer(tmp_path / "a.mldf", {"t": mldf.Tokens(300)}) as w,
    ):
        w.append({"t": [1, 2, 3]})
        w.append({"t": [1, 2, bad, 4]})
    assert (why.value.sample, why.value.field) == (1, "t")
    assert not (tmp_path / "a.mldf").exists()


def test_a_stream_names_the_document_too(tmp_path):
    with (
        pytest.raises(mldf.errors.RangeError, match=r"token 4 \(document 2\) is 256"),
        mldf.Writer(tmp_path / "a.mldf", {"t": mldf.TokenStream(256)}) as w,
    ):
        w.append({"t": stream([1, 2, 3, 4, 256], [2, 2, 5])})


@pytest.mark.parametrize("value", ["text", b"bytes", [1.5], [[1, 2]], np.zeros(3), {"tokens": [1]}, 5])
def test_what_is_not_ids_is_refused(tmp_path, value):
    w = mldf.Writer(tmp_path / "a.mldf", {"t": mldf.Tokens(300)})
    with pytest.raises(mldf.errors.WrongTypeError):
        w.append({"t": value})
    w.append({"t": [1]})
    w.finish()
    assert len(mldf.open(tmp_path / "a.mldf")) == 1


@pytest.mark.parametrize("ends", [[5, 4], [1, 2], [6], [-1, 5]])
def test_ends_that_make_no_documents_are_refused(tmp_path, ends):
    with pytest.raises(mldf.errors.RangeError), mldf.Writer(tmp_path / "a.mldf", {"t": mldf.TokenStream(256)}) as w:
        w.append({"t": stream([1, 2, 3, 4, 5], ends)})


def test_streams_and_packed_sequences_keep_their_documents(tmp_path):
    path = tmp_path / "a.mldf"
    fields = {"s": mldf.TokenStream(70000, nullable=True), "p": mldf.PackedTokens(300)}
    with mldf.Writer(path, fields) as w:
        w.append(
            {
                "s": stream(np.arange(10) + 69000, [0, 4, 4, 10]),
                "p": {"tokens": range(9), "ends": [2, 7], "from": [5, 0]},
            }
        )
        w.append({"s": None, "p": [1, 2, 3]})
        w.append({"s": np.arange(5), "p": []})
    ds = mldf.open(path)
    assert ds.documents(0, "s").tolist() == [[0, 0], [0, 4], [4, 4], [4, 10]]
    assert ds.documents(0, "p").tolist() == [[0, 2], [2, 7]] and ds[0].p.tolist() == list(range(9))
    assert ds.documents(1, "s") is None and ds.documents(1, "p").tolist() == [[0, 3]]
    assert ds.documents(2, "s").tolist() == [[0, 5]] and ds.documents(2, "p").tolist() == []
    assert mldf.verify(path, deep=True).ok
    with pytest.raises(mldf.errors.SchemaError, match="never compressed"):
        mldf.Writer(tmp_path / "b.mldf", {"s": mldf.TokenStream(300, compress=True)})
    line = json.loads(command("cat", path, "--samples", 0, "--json").stdout)
    assert line["fields"]["s"]["documents"] == 4 and line["fields"]["s"]["ends"] == [0, 4, 4, 10]


def test_large_values_are_views_on_multiples_of_64(tmp_path):
    path = tmp_path / "a.mldf"
    mldf.write(
        path,
        [{"x": b"odd", "t": np.arange(n), "s": np.arange(n)} for n in (700, 3, 5001)],
        {"x": mldf.Bytes(), "t": mldf.Tokens(65536), "s": mldf.TokenStream(65536)},
    )
    ds = mldf.open(path)
    for i in (0, 2):
        for name in ("t", "s"):
            assert ds[i, name].ctypes.data % 64 == 0 and not ds[i, name].flags.writeable


def test_side_columns_fit_their_tokens(tmp_path):
    fields = {
        "mask": mldf.NDArray("uint8", (None,), along="t"),
        "t": mldf.Tokens(300, nullable=True),
        "reward": mldf.NDArray("float16", (None, 2), along="t", nullable=True, compress=True),
        "spans": mldf.NDArray("int32", (None, 2), along="t", form="spans"),
    }
    path = tmp_path / "a.mldf"
    with mldf.Writer(path, fields) as w:
        w.append(
            {
                "t": range(5),
                "mask": np.ones(5, np.uint8),
                "reward": np.ones((5, 2), np.float16),
                "spans": [[0, 2], [2, 5]],
            }
        )
        w.append({"t": None, "mask": [], "reward": None, "spans": np.zeros((0, 2), np.int32)})
    assert mldf.verify(path, deep=True).ok
    good = {"t": range(3), "mask": [1, 1, 1], "reward": None, "spans": [[0, 3]]}
    for wrong, message in (
        ({"mask": [1, 1]}, '2 entries for the 3 of "t"'),
        ({"spans": [[0, 4]]}, "span 0 is tokens 0 to 4"),
        ({"spans": [[1, 2], [1, 3]]}, "span 1"),
        ({"spans": [[2, 1]]}, "span 0"),
        ({"t": None}, "3 entries for the 0"),
    ):
        with pytest.raises(mldf.errors.RangeError, match=message), mldf.Writer(tmp_path / "b.mldf", fields) as w:
            w.append(good | wrong)
    with pytest.raises(mldf.errors.SchemaError, match='goes along "t", which is not there'):
        mldf.select(path, tmp_path / "c.mldf", fields=["mask"])
    with pytest.raises(mldf.errors.SchemaError, match="which does not hold tokens"):
        mldf.Writer(tmp_path / "c.mldf", {"t": mldf.Text(), "m": mldf.NDArray("uint8", (None,), along="t")})
    assert mldf.select(path, tmp_path / "c.mldf", fields=["t", "mask"]).written == 2


@pytest.mark.parametrize(
    "arguments",
    [
        {"form": "dense"},
        {"along": "t", "form": "sparse"},
        {"along": ""},
        {"along": "t", "shape": [4]},
        {"along": "t", "form": "spans"},
    ],
)
def test_arguments_of_side_columns(arguments):
    with pytest.raises(mldf.errors.SchemaError):
        mldf.schema_json({"t": mldf.Tokens(5), "m": {"type": "ndarray", "dtype": "<f4", "shape": [None], **arguments}})


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"dtype": "<u4"},
        {"vocabulary": 0},
        {"vocabulary": 2**31 + 1},
        {"vocabulary": 300, "dtype": "|u1"},
        {"vocabulary": 10, "eos": 10},
        {"vocabulary": 10, "bos": -1},
        {"vocabulary": 9, "tokenizer": 3},
        {"vocabulary": 9, "tokenizer_sha256": "A" * 64},
        {"vocabulary": 9, "specials": "drop"},
        {"vocabulary": 9, "eos_inside": 1},
        {"vocabulary": 9, "bows": 1},
    ],
)
def test_arguments_of_tokens(tmp_path, arguments):
    with pytest.raises(mldf.errors.SchemaError):
        mldf.Writer(tmp_path / "a.mldf", {"t": {"type": "text_tokenized", **arguments}})


def test_a_side_column_is_added_and_checked(tmp_path):
    path = tmp_path / "a.mldf"
    mldf.write(path, [{"t": range(n)} for n in (2, 0, 3)], {"t": mldf.Tokens(300)})
    schema = tmp_path / "schema.json"
    schema.write_text('{"fields":[{"name":"m","type":"ndarray","dtype":"|u1","shape":[null],"along":"t"}]}')
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"m":[1,0]}\n{"m":[]}\n{"m":[1,1]}\n')
    done = command("add-field", path, f"m={rows}", "--schema", schema, code=1)
    assert '2 entries for the 3 of "t"' in done.stderr
    rows.write_text('{"m":[1,0]}\n{"m":[]}\n{"m":[1,1,0]}\n')
    command("add-field", path, f"m={rows}", "--schema", schema)
    assert mldf.open(path)[2].m.tolist() == [1, 1, 0] and mldf.verify(path, deep=True).ok


def test_tokens_through_every_copying_command(tmp_path):
    path = tmp_path / "a.mldf"
    fields = {
        "t": mldf.Tokens(50257, eos=50256),
        "s": mldf.TokenStream(300),
        "p": mldf.PackedTokens(300, compress=True),
    }
    rows = [
        {
            "t": np.arange(n) * 7,
            "s": stream(np.arange(n) % 300, [n // 2, n]),
            "p": {"tokens": np.arange(n) % 300, "ends": [n] if n else []},
        }
        for n in (0, 1, 1000, 6000)
    ]
    mldf.write(path, rows, fields)
    outs = []
    for name, how in (
        ("repack", lambda o: mldf.repack(path, o)),
        ("select", lambda o: mldf.select(path, o, fields=["t", "s", "p"])),
        ("convert", lambda o: mldf.convert(path, o)),
        ("merge", lambda o: mldf.merge([path], o)),
    ):
        out = tmp_path / f"{name}.mldf"
        how(out)
        outs.append(out)
        assert command("diff", path, out).returncode == 0
        assert [f["statistics"]["max"] for f in mldf.info(out)["fields"]] == [
            f["statistics"]["max"] for f in mldf.info(path)["fields"]
        ]
    mldf.append(path, outs[:1])
    about = mldf.info(path)["fields"][0]["statistics"]
    assert (about["tokens"], about["max"], about["tokens_max"]) == (2 * 7001, 5999 * 7, 6000)
    assert mldf.verify(path, deep=True).ok
    mldf.write(
        tmp_path / "other.mldf",
        [r | {"s": stream(np.arange(n) % 300, [n])} for r, n in zip(rows, (0, 1, 1000, 6000))],
        fields,
    )
    assert "s: value: the contents differ" in command("diff", outs[0], tmp_path / "other.mldf", code=1).stdout


def test_tokens_from_json_lines(tmp_path):
    schema = tmp_path / "schema.json"
    schema.write_text('{"fields":[{"name":"t","type":"text_tokenized","vocabulary":300}]}')
    (tmp_path / "rows.jsonl").write_text('{"t":[1,2,299]}\n{"t":[]}\n')
    command("pack", tmp_path / "rows.jsonl", "-o", tmp_path / "a.mldf", "--schema", schema)
    assert [s.t.tolist() for s in mldf.open(tmp_path / "a.mldf")] == [[1, 2, 299], []]
    (tmp_path / "rows.jsonl").write_text('{"t":[1,2]}\n{"t":[300]}\n')
    done = command("pack", tmp_path / "rows.jsonl", "-o", tmp_path / "b.mldf", "--schema", schema, code=1)
    assert "token 0 is 300, outside the vocabulary" in done.stderr


def test_an_encrypted_file_of_tokens(tmp_path):
    path, key = tmp_path / "a.mldf", bytes(range(32))
    with mldf.Writer(path, {"t": mldf.Tokens(300), "s": mldf.TokenStream(300)}, key=key) as w:
        w.append({"t": range(200), "s": stream(range(9), [3, 9])})
    ds = mldf.open(path, key=key)
    assert ds[0].t.tolist() == list(range(200)) and ds.documents(0, "s").tolist() == [[0, 3], [3, 9]]


@pytest.mark.parametrize("name", ["media_204", "media_208", "missing_208"])
def test_tokens_of_the_draft_are_read_and_copied(tmp_path, name):
    source = pathlib.Path(os.environ["MLDF_SOURCE_DIR"]) / "tests/golden/draft" / f"{name}.mldf"
    ids = [mldf.open(source)[i, "ids"] for i in range(5)]
    assert [len(x) for x in ids] == [0, 1, 2, 3, 4] or name == "missing_208"
    assert all(x.tolist() == list(range(len(x))) and x.dtype == np.uint16 for x in ids)
    mldf.repack(source, tmp_path / "a.mldf")
    again = mldf.open(tmp_path / "a.mldf")
    assert [again[i, "ids"].tolist() for i in range(5)] == [x.tolist() for x in ids]
    assert mldf.verify(tmp_path / "a.mldf").ok


# ---- In a pipeline ----


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.mldf"
    rng = np.random.default_rng(3)
    rows = [{"t": rng.integers(0, 50000, rng.integers(3, 90)), "label": i} for i in range(64)]
    mldf.write(path, rows, {"t": mldf.Tokens(50257), "label": mldf.Int()})
    return path, rows


def test_pad_ragged_and_windows(corpus):
    path, rows = corpus
    for batch in mldf.Loader(path, 16, pipelines="t: pad(mask=true)", index=True):
        for k, i in enumerate(batch.index.tolist()):
            n = len(rows[i]["t"])
            assert batch.t[k][:n].tolist() == rows[i]["t"].tolist() and not batch.t[k][n:].any()
            assert batch.t_mask[k].sum() == n
    batch = next(iter(mldf.Loader(path, 4, pipelines="t: ragged", order="sequential")))
    assert batch.t.tolist() == [x for r in rows[:4] for x in r["t"].tolist()]


def test_buckets_and_budget(corpus):
    path, rows = corpus
    seen = 0
    for batch in mldf.Loader(path, pipelines="t: cast(i64) | pad", bucket="t", bucket_window=32, budget=1000):
        assert batch.t.size <= 1000 and batch.t.dtype == np.int64
        seen += len(batch.t)
    assert seen == 64


def test_extract_and_tar_keep_documents(tmp_path):
    path = tmp_path / "a.mldf"
    mldf.write(
        path,
        [{"t": [1, 2], "s": stream([5, 6, 7], [1, 3]), "p": {"tokens": [1, 2, 3], "ends": [2], "from": [4]}}],
        {"t": mldf.Tokens(300), "s": mldf.TokenStream(300), "p": mldf.PackedTokens(300)},
    )
    mldf.extract(path, tmp_path / "files")
    files = {p.name: p for p in (tmp_path / "files").rglob("*") if p.is_file()}
    arrays = [p for p in files.values() if p.suffix == ".npy"]
    assert [np.load(p).tolist() for p in arrays] == [[1, 2]]
    found = [json.loads(p.read_text()) for p in files.values() if p.suffix == ".json" and "tokens" in p.read_text()]
    assert {"tokens": [5, 6, 7], "ends": [1, 3]} in found and {"tokens": [1, 2, 3], "ends": [2], "from": [4]} in found
    with pytest.warns(UserWarning, match="are read back from a tar as JSON"):
        assert mldf.convert(path, tmp_path / "a.tar").written == 1
