"""Files of token ids of other trainers: Megatron (made by megatron-core, tests/data/make_tokens.py), llm.c, nanoGPT, datatrove, OLMo."""

import json
import os
import pathlib
import pickle
import struct
import subprocess

import mldf
import numpy as np
import pytest

MLDF = os.environ.get("MLDF", "mldf")
DATA = pathlib.Path(os.environ["MLDF_SOURCE_DIR"]) / "tests/data/tokens"
DOCUMENTS = [[[5, 6, 7]], [[1], [2, 3], [4, 4, 4, 4]], [[9]], [[60000, 8]], [[0, 1, 2], [3]]]  # as in make_tokens.py
ROWS = [sum(document, []) for document in DOCUMENTS]


def command(*arguments, code=0):
    done = subprocess.run([MLDF, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == code, done.stderr + done.stdout
    return done


def rows_of(path, **how):
    return [s.tokens.tolist() for s in mldf.open(path, **how)]


# ---- Megatron ----


@pytest.mark.parametrize("name, dtype", [("megatron_u16", "uint16"), ("megatron_i32", "int32"), ("megatron_modes", "int32")])
def test_megatron_is_read_as_documents(name, dtype):
    ds = mldf.open(DATA / f"{name}.idx")
    assert ds.format == "megatron" and [s.tokens.tolist() for s in ds] == ROWS
    assert ds[0].tokens.dtype == np.dtype(dtype)
    assert [s.sequences.tolist() for s in ds] == [[len(s) for s in d] for d in DOCUMENTS]
    if name == "megatron_modes":
        assert [s.modes.tolist() for s in ds] == [list(range(len(d))) for d in DOCUMENTS]
    again = pickle.loads(pickle.dumps(ds))
    assert again[1].tokens.tolist() == ROWS[1]


def test_megatron_to_mldf_and_back(tmp_path):
    command("convert", DATA / "megatron_u16.idx", "-o", tmp_path / "a.mldf", "--vocabulary", 65000)
    assert rows_of(tmp_path / "a.mldf") == ROWS and mldf.verify(tmp_path / "a.mldf", deep=True).ok
    assert mldf.open(tmp_path / "a.mldf").schema["tokens"].arguments["vocabulary"] == 65000
    done = command("convert", tmp_path / "a.mldf", "-o", tmp_path / "b.idx", code=1)
    assert 'no place for field "sequences"' in done.stderr
    command("convert", tmp_path / "a.mldf", "-o", tmp_path / "b.idx", "--fields", "tokens")
    assert (tmp_path / "b.bin").read_bytes() == (DATA / "megatron_u16.bin").read_bytes()
    assert rows_of(tmp_path / "b.idx") == ROWS
    assert command("convert", tmp_path / "a.mldf", "-o", tmp_path / "b.idx", "--fields", "tokens", code=3)
    done = command("convert", DATA / "megatron_u16.idx", "-o", tmp_path / "c.mldf", "--vocabulary", 60000, code=1)
    assert "token 0 is 60000, outside the vocabulary: 0 to 59999" in done.stderr


def damaged(tmp_path, change):
    data = bytearray((DATA / "megatron_u16.idx").read_bytes())
    change(data)
    (tmp_path / "x.idx").write_bytes(data)
    (tmp_path / "x.bin").write_bytes((DATA / "megatron_u16.bin").read_bytes())
    return tmp_path / "x.idx"


@pytest.mark.parametrize("at, code, value, message", [(9, "Q", 2, "version 2"), (17, "B", 6, "dtype code 6"), (17, "B", 0, "dtype code 0"),
                                                      (18, "Q", 2**62, "sequences"), (26, "Q", 0, "documents|indices"), (26, "Q", 2**61, "documents"),
                                                      (-8, "Q", 3, "do not begin with")])
def test_a_megatron_index_that_lies_is_refused(tmp_path, at, code, value, message):
    def change(data):
        struct.pack_into("<" + code, data, at % len(data), value)
    with pytest.raises(mldf.errors.Error, match=message):
        mldf.open(damaged(tmp_path, change))


@pytest.mark.parametrize("at, code, value", [(34, "i", -1), (34, "i", 1000), (34 + 9 * 4, "q", -8), (34 + 9 * 4, "q", 33)])
def test_a_sequence_outside_the_bin_is_a_bad_sample(tmp_path, at, code, value):
    ds = mldf.open(damaged(tmp_path, lambda data: struct.pack_into("<" + code, data, at, value)))
    with pytest.raises(mldf.errors.FileError, match="sequence 0"):
        _ = ds[0].tokens
    assert ds[2].tokens.tolist() == [9]


def test_every_cut_of_an_index_is_an_error(tmp_path):
    whole = (DATA / "megatron_u16.idx").read_bytes()
    for size in range(9, len(whole)):
        with pytest.raises(mldf.errors.Error):
            mldf.open(damaged(tmp_path, lambda data, size=size: data.__delitem__(slice(size, None))))
    (tmp_path / "x.bin").unlink()
    (tmp_path / "x.idx").write_bytes(whole)
    with pytest.raises(mldf.errors.NotFoundError, match="x.bin"):
        mldf.open(tmp_path / "x.idx")


def test_pointers_count_not_the_sum_of_lengths(tmp_path):
    """Sequences that stand in another order in the .bin, as hand-written indices have them."""
    head = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, 3, 3)
    (tmp_path / "a.idx").write_bytes(head + struct.pack("<3i3q3q", 2, 2, 1, 4, 0, 2, 0, 2, 3))
    (tmp_path / "a.bin").write_bytes(np.array([10, 11, 12, 13], "<u2").tobytes())
    assert rows_of(tmp_path / "a.idx") == [[12, 13, 10, 11], [11]]


# ---- Bare files ----


def test_nanogpt(tmp_path):
    ids = np.array([1, 2, 50256, 50256, 3, 50256, 4], "<u2")
    ids.tofile(tmp_path / "train.bin")
    assert rows_of(tmp_path / "train.bin", format="nanogpt", eos=50256) == [[1, 2, 50256], [50256], [3, 50256], [4]]
    assert rows_of(tmp_path / "train.bin", format="nanogpt", dtype="u16") == [ids.tolist()]
    assert rows_of(tmp_path / "train.bin", format="nanogpt", eos=50256, eos_at="start") == [[1, 2], [50256], [50256, 3], [50256, 4]]
    view = mldf.open(tmp_path / "train.bin", format="nanogpt")[0].tokens
    assert not view.flags.owndata and not view.flags.writeable
    command("convert", tmp_path / "train.bin", "--from", "nanogpt", "--eos", 50256, "-o", tmp_path / "a.mldf")
    field = mldf.open(tmp_path / "a.mldf").schema["tokens"]
    assert field.arguments == {"dtype": "<u2", "eos": 50256, "eos_inside": True}
    command("convert", tmp_path / "a.mldf", "--to", "nanogpt", "-o", tmp_path / "again.bin")
    assert (tmp_path / "again.bin").read_bytes() == ids.tobytes()
    with pytest.raises(mldf.errors.Error):
        mldf.open(tmp_path / "train.bin")
    (tmp_path / "odd.bin").write_bytes(b"abc")
    with pytest.raises(mldf.errors.TruncatedError, match="whole ids"):
        mldf.open(tmp_path / "odd.bin", format="nanogpt")
    (tmp_path / "empty.bin").write_bytes(b"")
    assert rows_of(tmp_path / "empty.bin", format="nanogpt") == []


def test_nanogpt_out_adds_eos_and_refuses_large_ids(tmp_path):
    mldf.write(tmp_path / "a.mldf", [{"tokens": [1, 2]}, {"tokens": []}, {"tokens": [3]}], {"tokens": mldf.Tokens(300, eos=299)})
    mldf.convert(tmp_path / "a.mldf", tmp_path / "a.bin", to="nanogpt")
    assert np.fromfile(tmp_path / "a.bin", "<u2").tolist() == [1, 2, 299, 299, 3, 299]
    mldf.write(tmp_path / "b.mldf", [{"tokens": [1, 2]}, {"tokens": [5, 65536]}], {"tokens": mldf.Tokens(70000, eos=9)})
    with pytest.raises(mldf.errors.RangeError, match="token 1 is 65536") as why:
        mldf.convert(tmp_path / "b.mldf", tmp_path / "b.bin", to="nanogpt")
    assert why.value.sample in (1, None) and not (tmp_path / "b.bin").exists()
    mldf.write(tmp_path / "c.mldf", [{"tokens": [1]}], {"tokens": mldf.Tokens(300)})
    with pytest.raises(mldf.errors.SchemaError, match="no argument eos"):
        mldf.convert(tmp_path / "c.mldf", tmp_path / "c.bin", to="nanogpt")


def llmc(path, magic, version, ids, dtype, count=None):
    header = np.zeros(256, "<i4")
    header[:3] = magic, version, len(ids) if count is None else count
    path.write_bytes(header.tobytes() + np.array(ids, dtype).tobytes())
    return path


def test_llmc(tmp_path):
    ids = [50256, 1, 2, 50256, 3]
    path = llmc(tmp_path / "a.bin", 20240520, 1, ids, "<u2")
    assert mldf.open(path).format == "llmc" and rows_of(path) == [ids]
    assert rows_of(path, eos=50256) == [[50256, 1, 2], [50256, 3]]
    assert rows_of(path, eos=50256, eos_at="end") == [[50256], [1, 2, 50256], [3]]
    wide = llmc(tmp_path / "b.bin", 20240801, 7, [128000, 5], "<u4")
    assert rows_of(wide) == [[128000, 5]] and mldf.open(wide)[0].tokens.dtype == np.int32
    with pytest.raises(mldf.errors.TruncatedError):
        mldf.open(llmc(tmp_path / "c.bin", 20240520, 1, ids, "<u2", 6))
    with pytest.raises(mldf.errors.Error, match="version 3"):
        mldf.open(llmc(tmp_path / "d.bin", 20240520, 3, ids, "<u2"))
    large = llmc(tmp_path / "e.bin", 20240801, 7, [2**31], "<u4")
    done = command("convert", large, "-o", tmp_path / "e.mldf", code=1)
    assert "outside the vocabulary" in done.stderr


def test_datatrove(tmp_path):
    ids = np.array([1, 2, 3, 4, 5, 6], "<u4")
    ids.tofile(tmp_path / "x.ds")
    np.array([2, 2, 6], "<u8").tofile(tmp_path / "x.ds.index")
    (tmp_path / "x.ds.metadata").write_text("gpt2|4\n6\n6 tokens")
    assert rows_of(tmp_path / "x.ds", format="datatrove") == [[1, 2], [], [3, 4, 5, 6]]
    np.array([1, 0, 1, 1, 0, 0], bool).tofile(tmp_path / "x.ds.loss")
    ds = mldf.open(tmp_path / "x.ds", format="datatrove")
    assert [s.loss_mask.tolist() for s in ds] == [[True, False], [], [True, True, False, False]]
    mldf.convert(tmp_path / "x.ds", tmp_path / "a.mldf", source_format="datatrove", vocabulary=50257)
    assert mldf.open(tmp_path / "a.mldf").schema["loss_mask"].arguments["along"] == "tokens"
    assert mldf.verify(tmp_path / "a.mldf", deep=True).ok
    (tmp_path / "x.ds.metadata").unlink()
    with pytest.raises(mldf.errors.ArgumentError, match="give dtype"):
        mldf.open(tmp_path / "x.ds", format="datatrove")
    with pytest.raises(mldf.errors.Error, match="ends at 6, and there are 12"):
        mldf.open(tmp_path / "x.ds", format="datatrove", dtype="u16")
    np.array([2, 7, 6], "<u8").tofile(tmp_path / "x.ds.index")
    with pytest.raises(mldf.errors.CorruptError, match="document 1"):
        mldf.open(tmp_path / "x.ds", format="datatrove", dtype="u32")[1]


def test_olmo(tmp_path):
    for dtype in ("uint8", "uint16", "uint32", "uint64"):
        np.array([7, 8, 0, 9, 0], dtype).tofile(tmp_path / "part.npy")
        assert rows_of(tmp_path / "part.npy", format="olmo", dtype=dtype, eos=0) == [[7, 8, 0], [9, 0]]
    np.array([7, 2**40], "<u8").tofile(tmp_path / "part.npy")
    with pytest.raises(mldf.errors.RangeError, match="token 1"):
        rows_of(tmp_path / "part.npy", format="olmo", dtype="u64")
    with pytest.raises(mldf.errors.ArgumentError, match="give dtype"):
        mldf.open(tmp_path / "part.npy", format="olmo")
    with pytest.raises(mldf.errors.ArgumentError, match="format='olmoo'"):
        mldf.open(tmp_path / "part.npy", format="olmoo")


def test_commands_know_them():
    lines = [json.loads(x) for x in command("cat", DATA / "megatron_u16.idx", "--json").stdout.splitlines()]
    assert [x["fields"]["tokens"] for x in lines] == ROWS
    assert json.loads(command("info", DATA / "megatron_u16.idx", "--json").stdout)["format"] == "megatron"
    command("verify", DATA / "megatron_u16.idx")


def test_mutated_indices_never_do_harm(tmp_path):
    rng = np.random.default_rng(6)
    for _ in range(1500):
        def change(data):
            for _ in range(rng.integers(1, 4)):
                data[rng.integers(9, len(data))] = rng.integers(0, 256)
        try:
            for sample in mldf.open(damaged(tmp_path, change)):
                assert sample.tokens.size <= 2**20
        except mldf.errors.Error:
            pass


# ---- Packed sequences of them: lengths come from the index alone ----


@pytest.mark.parametrize("backend", ["map", "read"])
@pytest.mark.parametrize("algorithm", ["best-fit", "concat"])
@pytest.mark.parametrize("name", ["megatron_u16", "megatron_i32", "megatron_modes", "datatrove", "nanogpt"])
def test_packed_sequences_of_token_files(tmp_path, name, algorithm, backend):
    how = {}
    path = DATA / f"{name}.idx"
    rows = ROWS
    if name == "datatrove":
        path, how = tmp_path / "a.ds", {"format": "datatrove", "dtype": "u16"}
        np.array(sum(ROWS, []), "<u2").tofile(path)
        np.cumsum([len(r) for r in ROWS]).astype("<u8").tofile(tmp_path / "a.ds.index")
    if name == "nanogpt":
        path, how = tmp_path / "a.bin", {"format": "nanogpt", "eos": 9}
        np.array(sum(ROWS, []), "<u2").tofile(path)
        rows = rows_of(path, **how)
    same = tmp_path / "same.mldf"
    mldf.write(same, [{"tokens": r} for r in rows], {"tokens": mldf.Tokens(65000)})
    view = f"packed(tokens, 6, algorithm={algorithm}, pad=0, ends=next)"
    fields = ["tokens", "labels", "documents", "cu_seqlens"]
    with mldf.Loader(mldf.open(path, backend=backend, **how), 3, view=view, fields=fields) as loader:
        got = [[np.asarray(a).tolist() for a in b] for b in loader]
    with mldf.Loader(same, 3, view=view, fields=fields) as loader:
        assert got == [[np.asarray(a).tolist() for a in b] for b in loader]


def test_a_sequence_that_is_not_there_has_no_place_in_a_plan(tmp_path):
    path = damaged(tmp_path, lambda d: d.__setitem__(slice(34 + 4, 34 + 8), (10**6).to_bytes(4, "little")))
    view = mldf.open(path).as_view("packed(tokens, 6, pad=0)")
    assert view.find(1) == [] and view.find(0) != [] and view.find(4) != []


def megatron(prefix, documents, broken=()):
    """Lists of sequences, written here; `broken`: sequences that point outside."""
    sequences = [s for d in documents for s in d]
    lengths = np.array([len(s) for s in sequences], "<i4")
    pointers = 2 * (np.cumsum(lengths, dtype="<i8") - lengths)
    pointers[list(broken)] = 1 << 40
    indices = np.cumsum([0] + [len(d) for d in documents]).astype("<i8")
    np.concatenate([np.asarray(s, "<u2") for s in sequences]).tofile(f"{prefix}.bin")
    head = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, len(sequences), len(indices))
    pathlib.Path(f"{prefix}.idx").write_bytes(head + lengths.tobytes() + pointers.tobytes() + indices.tobytes())
    return f"{prefix}.idx"


@pytest.mark.parametrize("order", ["ascending", "shared"])
@pytest.mark.parametrize("ends", ["", ", bos=1, eos=2"])
def test_concat_of_a_large_index_is_that_of_its_documents(tmp_path, ends, order):
    """Thousands of documents, of several sequences, of none, empty, and some that cannot be read. The lengths come from the index; where its documents
    are not in order, they are measured."""
    rng = np.random.default_rng(5)
    documents = [
        [rng.integers(0, 60000, rng.integers(0, 9)).tolist() for _ in range(rng.choice([0, 1, 1, 1, 3]))]
        for _ in range(9001)
    ]
    count = sum(map(len, documents))
    broken = rng.integers(0, count, 20).tolist()
    path = megatron(tmp_path / "a", documents, broken)
    if order == "shared":  # document 5 goes back to sequence 0: the one before it ends before it begins
        data = bytearray(pathlib.Path(path).read_bytes())
        at = 34 + 12 * count + 8 * 5
        data[at : at + 8] = bytes(8)
        pathlib.Path(path).write_bytes(data)
    numbers = np.cumsum([0] + [len(d) for d in documents])
    if order == "shared":
        numbers[5] = 0
    whole, rows, left = [s for d in documents for s in d], [], count
    for first, last in zip(numbers, numbers[1:]):
        odd = first > last or last - first > left  # a file has no more sequences in documents than it has
        left -= 0 if odd else last - first
        odd = odd or any(first <= b < last for b in broken)
        rows.append(None if odd else [t for s in whole[first:last] for t in s])
    same = tmp_path / "same.mldf"
    mldf.write(same, [{"tokens": r} for r in rows], {"tokens": mldf.Tokens(65000, nullable=True)})
    text = f"packed(tokens, 64, algorithm=concat, pad=0, ends=next{ends})"
    one, two = mldf.open(path).as_view(text), mldf.open(same).as_view(text)
    assert len(one) == len(two) > 400 and one.digest == two.digest
    for row in [0, 4, 5, 63, 64, 65, 4095, 4096, 9000, *rng.integers(0, 9001, 40).tolist()]:
        assert one.find(row) == two.find(row)
    runs = []
    for source in (mldf.open(path), same):
        fields = ["tokens", "labels", "documents", "cu_seqlens"]
        with mldf.Loader(source, 16, shuffle=True, seed=3, view=text, fields=fields, threads=2) as loader:
            runs.append([np.asarray(a).tobytes() for b in loader for a in b])
    assert runs[0] == runs[1]


# ---- datatrove's files, written ----


@pytest.mark.parametrize("vocabulary, width", [(200, 2), (60000, 2), (100000, 4)])
@pytest.mark.parametrize("loss", [False, True])
def test_datatrove_is_written(tmp_path, vocabulary, width, loss):
    rng = np.random.default_rng(width)
    rows = [rng.integers(0, vocabulary, n) for n in (3, 40, 0, 500, 7)]
    fields = {"tokens": mldf.Tokens(vocabulary)} | ({"loss_mask": mldf.NDArray("bool", (None,), along="tokens")} if loss else {})
    masks = [rng.integers(0, 2, len(r)).astype(bool) for r in rows]
    mldf.write(tmp_path / "a.mldf", [{"tokens": r} | ({"loss_mask": m} if loss else {}) for r, m in zip(rows, masks)], fields)
    command("convert", tmp_path / "a.mldf", "-o", tmp_path / "a.ds")
    assert (tmp_path / "a.ds").read_bytes() == np.concatenate(rows).astype(f"<u{width}").tobytes()
    assert np.frombuffer((tmp_path / "a.ds.index").read_bytes(), "<u8").tolist() == np.cumsum([len(r) for r in rows]).tolist()
    assert (tmp_path / "a.ds.metadata").read_text() == f"Unknown Tokenizer|{width}\n550\n550 T"
    assert (tmp_path / "a.ds.loss").exists() == loss
    again = mldf.open(tmp_path / "a.ds", format="datatrove")
    assert [s.tokens.tolist() for s in again] == [r.tolist() for r in rows]
    if loss:
        assert [s.loss_mask.astype(bool).tolist() for s in again] == [m.tolist() for m in masks]
    done = command("convert", tmp_path / "a.mldf", "-o", tmp_path / "a.ds", code=3)
    assert "already exists" in done.stderr
    mldf.write(tmp_path / "b.mldf", [{"tokens": r, "n": 1} for r in rows], {"tokens": mldf.Tokens(vocabulary), "n": int})
    assert 'no place for field "n"' in command("convert", tmp_path / "b.mldf", "-o", tmp_path / "b.ds", code=1).stderr
    assert not list(tmp_path.glob("b.ds*"))


def test_a_refused_row_leaves_nothing_in_the_file(tmp_path):
    fields = {"tokens": mldf.Tokens(100), "loss_mask": mldf.NDArray("bool", (None,))}
    rows = [{"tokens": [1, 2, 3], "loss_mask": np.ones(3, bool)}, {"tokens": [4, 5, 6, 7], "loss_mask": np.ones(2, bool)},
            {"tokens": [8, 9], "loss_mask": np.zeros(2, bool)}]
    mldf.write(tmp_path / "a.mldf", rows, fields)
    command("convert", tmp_path / "a.mldf", "-o", tmp_path / "a.ds", "--on-error=skip")
    assert np.fromfile(tmp_path / "a.ds", "<u2").tolist() == [1, 2, 3, 8, 9]
    assert (tmp_path / "a.ds.loss").read_bytes() == b"\1\1\1\0\0"
    assert np.fromfile(tmp_path / "a.ds.index", "<u8").tolist() == [3, 5]


def test_losses_of_older_tokens_do_not_stay(tmp_path):
    fields = {"tokens": mldf.Tokens(100), "loss_mask": mldf.NDArray("bool", (None,))}
    mldf.write(tmp_path / "a.mldf", [{"tokens": [1, 2, 3], "loss_mask": np.ones(3, bool)}], fields)
    mldf.write(tmp_path / "b.mldf", [{"tokens": [4, 5, 6]}], {"tokens": mldf.Tokens(100)})
    command("convert", tmp_path / "a.mldf", "-o", tmp_path / "x.ds")
    command("convert", tmp_path / "b.mldf", "-o", tmp_path / "x.ds", "-f")
    assert not (tmp_path / "x.ds.loss").exists()
    (tmp_path / "y.ds.loss").write_bytes(b"mine")
    assert "already exists" in command("convert", tmp_path / "b.mldf", "-o", tmp_path / "y.ds", code=3).stderr
    assert [p.name for p in tmp_path.glob("y.ds*")] == ["y.ds.loss"]
