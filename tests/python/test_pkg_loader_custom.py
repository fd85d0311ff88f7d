"""User-defined fields in a Loader: decoded in next(), stacked where they are alike, bad ones by on_error."""

import json
import os
import pickle
import signal
import warnings

import mldf
import numpy as np
import pytest

COUNT = 23
BAD = 13


@mldf.register_field
class Vector(mldf.CustomField):
    type_name = "org.example.loader-vector"

    def encode(self, value):
        return np.asarray(value, "<f4").tobytes()

    def decode(self, data):
        return np.frombuffer(data, "<f4")


@mldf.register_field
class Note(mldf.CustomField):
    type_name = "org.example.loader-note"

    def encode(self, value):
        return json.dumps(value).encode()

    def decode(self, data):
        return json.loads(data)


@mldf.register_field
class Picky(Note):
    """Refuses one sample."""

    type_name = "org.example.loader-picky"

    def decode(self, data):
        value = json.loads(data)
        if value["n"] == BAD:
            raise ValueError("unlucky")
        return np.float64(value["n"])


FIELDS = {
    "vec": Vector(compress=3),
    "note": Note(),
    "maybe": Vector(nullable=True),
    "text": mldf.Text(),
    "label": mldf.Int(),
}


def sample(i):
    return {
        "vec": [i, i / 2, -i],
        "note": {"n": i, "words": ["a"] * (i % 3)},
        "maybe": None if i % 4 == 1 else [i] * (i % 3 + 1),
        "text": "t" * (i % 5),
        "label": i,
    }


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    where = str(tmp_path_factory.mktemp("custom") / "c.mldf")
    with mldf.Writer(where, FIELDS) as w:
        for i in range(COUNT):
            w.append(sample(i), key=f"k{i}")
    return where


@pytest.fixture(scope="module")
def picky(tmp_path_factory):
    where = str(tmp_path_factory.mktemp("picky") / "p.mldf")
    rows = [{"p": {"n": i}, "text": "t" * (i % 5), "words": list(range(i % 4)), "y": i} for i in range(COUNT)]
    fields = {"p": Picky(), "text": mldf.Text(), "words": mldf.NDArray("int32", (None,)), "y": mldf.Int()}
    mldf.write(where, rows, fields, keys=[f"k{i}" for i in range(COUNT)])
    return where


def test_fields_are_decoded_without_being_asked_for(path):
    with pytest.warns(UserWarning, match=r"left out of the batches: text .*; maybe \(may be null"):
        loader = mldf.Loader(path, 5)
    assert loader.outputs == ("vec", "note", "label")
    for batch in loader:
        rows = batch.label.tolist()
        assert batch.vec.dtype == np.float32
        assert batch.vec.tolist() == [[i, i / 2, -i] for i in rows]
        assert batch.note == [sample(i)["note"] for i in rows]
    assert "vec    of Vector.decode, in Python" in repr(loader)


@pytest.mark.parametrize("order", ["random", "quasi-random"])
@pytest.mark.parametrize("threads", [0, 3])
def test_every_order_on_any_threads(path, order, threads):
    loader = mldf.Loader(path, 4, order=order, threads=threads, fields=["note", "label"], index=True, key=True, seed=3)
    for _ in range(2):
        seen = []
        for batch in loader:
            assert [n["n"] for n in batch.note] == batch.label.tolist() == batch.index.tolist()
            assert batch.key == [f"k{i}" for i in batch.label]
            seen += batch.label.tolist()
        assert sorted(seen) == list(range(COUNT)) != seen


def test_nulls_are_none_with_fill_and_else_an_error(path):
    loader = mldf.Loader(path, COUNT, pipelines={"maybe": [mldf.Fill()]}, fields=["maybe", "label"])
    (batch,) = loader
    assert loader.outputs == batch.names == ("maybe", "label")
    for i, value in enumerate(batch.maybe):
        assert value is None if i % 4 == 1 else value.tolist() == [i] * (i % 3 + 1)
    both = mldf.Loader(path, 4, pipelines={"maybe": "fill(valid=true)"}, fields=["maybe"])
    assert both.outputs == ("maybe", "maybe_valid")
    assert [b.maybe_valid.tolist() == [v is not None for v in b.maybe] for b in both] == [True] * 6
    with pytest.raises(mldf.errors.NullError, match="sample 1, field maybe") as caught:
        next(iter(mldf.Loader(path, 4, fields=["maybe"])))
    assert caught.value.field == "maybe"
    skip = mldf.Loader(path, COUNT, fields=["maybe", "label"], on_error="skip")
    assert next(iter(skip)).label.tolist() == [i for i in range(COUNT) if i % 4 != 1]
    with pytest.raises(mldf.errors.ArgumentError, match="leave the number out"):
        mldf.Loader(path, 4, pipelines={"maybe": [mldf.Fill(7)]})


def test_steps_see_the_bytes_and_callables_the_batch(path):
    loader = mldf.Loader(
        path,
        6,
        pipelines={
            "vec": [lambda v: v.sum(axis=1)],
            "raw = vec": [mldf.Pad()],
            "again = vec": [],
            "note": None,
            "size = note": [mldf.Ragged()],
        },
        fields=["vec", "label", "again", "raw", "size"],
    )
    for batch in loader:
        assert batch.names[:2] == ("vec", "label") and "note" not in batch.names
        want = np.array([sample(i)["vec"] for i in batch.label], np.float32)
        assert np.array_equal(batch.vec, want.sum(axis=1)) and np.array_equal(batch["again"], want)
        assert np.array_equal(batch["raw"].view("<f4"), want) and (batch["raw_length"] == 12).all()
        ends = batch["size_offset"]
        texts = [bytes(batch["size"][a:b]) for a, b in zip(ends, ends[1:])]
        assert [json.loads(t) for t in texts] == [sample(i)["note"] for i in batch.label]


def test_buckets_go_by_the_stored_bytes(path):
    loader = mldf.Loader(path, 4, fields=["note", "label"], bucket="note", bucket_window=COUNT, shuffle=True)
    found = [[len(json.dumps(n)) for n in batch.note] for batch in loader]
    assert sum(map(len, found)) == COUNT
    spans = sorted((min(f), max(f)) for f in found)
    assert all(a[1] <= b[0] for a, b in zip(spans, spans[1:]))


def test_batches_of_like_values_are_stacked_and_others_are_lists(tmp_path):
    @mldf.register_field
    class Any_(Note):
        type_name = "org.example.loader-any"

        def decode(self, data):
            kind, n = json.loads(data)
            made = {"int": int(n), "big": 2**70, "float": n / 2, "bool": n > 2, "text": str(n), "complex": n * 1j}
            made |= {"generic": np.int16(n), "scalar": np.float32(n), "array": np.arange(n), "none": None}
            return made[kind]

    def batch_of(kind, numbers):
        where = str(tmp_path / f"{kind}-{len(os.listdir(tmp_path))}.mldf")
        mldf.write(where, [{"v": (kind, n)} for n in numbers], {"v": Any_()})
        return next(iter(mldf.Loader(where, 9))).v

    for kind, dtype in {
        "int": "i8",
        "float": "f8",
        "bool": "?",
        "complex": "c16",
        "generic": "i2",
        "scalar": "f4",
    }.items():
        got = batch_of(kind, [1, 2, 3])
        assert got.dtype == np.dtype(dtype) and got.shape == (3,), kind
    assert batch_of("array", [4, 4]).shape == (2, 4)
    assert [a.tolist() for a in batch_of("array", [1, 2])] == [[0], [0, 1]]
    assert batch_of("text", [1, 2]) == ["1", "2"]
    assert batch_of("big", [1, 2]) == [2**70, 2**70]
    assert batch_of("none", [1, 2]) == [None, None]


def test_decode_many_is_still_taken(tmp_path):
    @mldf.register_field
    class Old(Vector):
        type_name = "org.example.loader-old"
        calls = []

        def decode_many(self, data):
            self.calls.append(len(data))
            return [self.decode(item) for item in data]

    where = str(tmp_path / "o.mldf")
    mldf.write(where, [([i, i],) for i in range(6)], {"v": Old()})
    assert [batch.v.tolist() for batch in mldf.Loader(where, 4)] == [[[i, i] for i in range(4)], [[4, 4], [5, 5]]]
    assert Old.calls == [4, 2]


def test_decode_batch_and_collate(tmp_path):
    @mldf.register_field
    class Fast(mldf.CustomField):
        type_name = "org.example.loader-fast"
        calls = []

        def encode(self, value):
            return np.asarray(value, "<i4").tobytes()

        def decode(self, data):
            self.calls.append(1)
            if len(data) != 8:
                raise ValueError("two numbers")
            return np.frombuffer(data, "<i4")

        def decode_batch(self, data):
            self.calls.append(len(data))
            return np.frombuffer(b"".join(data), "<i4").reshape(len(data), 2)

    @mldf.register_field
    class Padded(Vector):
        type_name = "org.example.loader-padded"

        def collate(self, values):
            out = np.zeros((len(values), 4), np.float32)
            for row, value in zip(out, values):
                row[: len(value)] = value
            return out

    where = str(tmp_path / "f.mldf")
    mldf.write(
        where,
        [{"f": [i, -i], "p": [i] * (i % 4), "y": i} for i in range(10)],
        {"f": Fast(), "p": Padded(), "y": mldf.Int()},
    )
    for batch in mldf.Loader(where, 4):
        assert batch.f.tolist() == [[i, -i] for i in batch.y]
        assert batch.p.tolist() == [[i] * (i % 4) + [0] * (4 - i % 4) for i in batch.y]
    assert Fast.calls == [4, 4, 2]
    # One that does not fit the others: found by decode, and left out.
    bad = str(tmp_path / "b.mldf")
    mldf.write(bad, [{"f": [i, i] if i != 2 else [i], "y": i} for i in range(5)], {"f": Fast(), "y": mldf.Int()})
    skip = mldf.Loader(bad, 5, on_error="skip")
    (batch,) = skip
    assert batch.f.tolist() == [[0, 0], [1, 1], [3, 3], [4, 4]] and batch.y.tolist() == [0, 1, 3, 4]
    assert [b["sample"] for b in skip.bad_samples()] == [2]

    class Short(Fast):
        def decode_batch(self, data):
            return [1]

    class Broken(Fast):
        def decode_batch(self, data):
            raise RuntimeError("of its own")

    for cls, error, text in (
        (Short, mldf.errors.WrongTypeError, "1 values for 4 samples"),
        (Broken, RuntimeError, "own"),
    ):
        mldf.register_field(cls)
        with pytest.raises(error, match=text) as caught:
            next(iter(mldf.Loader(where, 4, fields=["f"])))
        assert cls is Short or "Broken.decode_batch, for field 'f'" in caught.value.__notes__[0]
        mldf.register_field(Fast)


# ---- bad samples ----


def test_what_decode_raises_names_sample_and_field(picky):
    loader = mldf.Loader(picky, 5, fields=["p", "y"])
    it = iter(loader)
    assert [next(it).y.tolist() for _ in range(2)] == [list(range(5)), list(range(5, 10))]
    with pytest.raises(ValueError, match="unlucky") as caught:
        next(it)
    assert caught.value.__notes__ == [f"in field 'p' of sample {BAD} of {picky}"]
    assert next(it).y.tolist() == list(range(15, 20))  # as after any bad sample
    (bad,) = loader.bad_samples()
    assert (bad["file"], bad["sample"], bad["field"], bad["epoch"]) == (0, BAD, "p", 0)
    assert bad["message"] == f"sample {BAD}, field p: ValueError: unlucky" and bad["substitute"] is None
    assert loader.stats().bad_samples == 1 and "p: Picky.decode" in loader.stats().steps


PIPELINES = {"text": [mldf.Ragged()], "words": [mldf.Pad(value=-1)]}


def check_rows(batch, rows):
    assert batch.y.tolist() == batch.index.tolist() == rows
    assert batch.p.tolist() == [float(i) for i in rows]
    assert batch.key == [f"k{i}" for i in rows]
    ends = np.asarray(batch.text_offset).tolist()
    assert ends[0] == 0 and np.diff(ends).tolist() == [i % 5 for i in rows]
    assert bytes(np.asarray(batch.text)) == b"t" * sum(i % 5 for i in rows)
    for i, (words, length) in enumerate(zip(batch.words.tolist(), batch.words_length.tolist())):
        assert words[:length] == list(range(rows[i] % 4)) and length == rows[i] % 4


@pytest.mark.parametrize("output", ["numpy", "torch", "jax"])
def test_skip_closes_up_all_arrays(picky, output):
    if output != "numpy":
        pytest.importorskip(output)
    loader = mldf.Loader(picky, 5, pipelines=PIPELINES, on_error="skip", index=True, key=True, output=output, threads=2)
    batches = list(loader)
    for n, batch in enumerate(batches):
        check_rows(batch, [i for i in range(5 * n, min(5 * n + 5, COUNT)) if i != BAD])
    assert [b["sample"] for b in loader.bad_samples()] == [BAD]
    alone = mldf.Loader(picky, 1, pipelines=PIPELINES, on_error="skip", index=True, output=output)
    empty = list(alone)[BAD]
    assert len(empty.p) == 0 and empty.y.shape == (0,) and np.asarray(empty.text_offset).tolist() == [0]


@pytest.mark.parametrize("output", ["numpy", "torch", "jax"])
def test_substitute_takes_the_next_of_the_batch(picky, output):
    if output != "numpy":
        pytest.importorskip(output)
    loader = mldf.Loader(picky, 5, pipelines=PIPELINES, on_error="substitute", index=True, key=True, output=output)
    for n, batch in enumerate(loader):
        check_rows(batch, [BAD + 1 if i == BAD else i for i in range(5 * n, min(5 * n + 5, COUNT))])
    assert [(b["sample"], b["substitute"]) for b in loader.bad_samples()] == [(BAD, BAD + 1)]
    with pytest.raises(ValueError, match="unlucky"):
        list(mldf.Loader(picky, 1, fields=["p"], on_error="substitute"))


# ---- torch and JAX ----


def test_torch_gets_tensors(path):
    torch = pytest.importorskip("torch")
    loader = mldf.Loader(path, 5, pipelines={"maybe": [mldf.Fill()]}, fields=["vec", "note", "maybe"], output="torch")
    batch = next(iter(loader))
    assert batch.vec.dtype is torch.float32 and batch.vec.shape == (5, 3)
    assert batch.note == [sample(i)["note"] for i in range(5)]
    assert batch.maybe[1] is None and isinstance(batch.maybe[2], torch.Tensor)
    assert batch.maybe[2].tolist() == [2.0, 2.0, 2.0]


def test_decode_may_give_tensors_dicts_and_what_torch_has_not(tmp_path):
    torch = pytest.importorskip("torch")

    @mldf.register_field
    class Many(Note):
        type_name = "org.example.loader-many"

        def decode(self, data):
            kind, n = json.loads(data)
            if kind == "tensor":
                return torch.full((2,), n)
            if kind == "dict":
                return {"box": np.ones((n, 4), ">f4"), "names": ("a", np.array(["x"])), "n": np.uint64(n)}
            return np.array(["x", "y"])

    def batch_of(kind, **options):
        where = str(tmp_path / f"{kind}-{len(os.listdir(tmp_path))}.mldf")
        mldf.write(where, [{"v": (kind, n)} for n in (1, 2)], {"v": Many()})
        return next(iter(mldf.Loader(where, 2, **options))).v

    for output in ("numpy", "torch"):
        assert torch.equal(batch_of("tensor", output=output), torch.tensor([[1, 1], [2, 2]]))
    two = batch_of("dict", output="torch")[1]
    assert two["box"].dtype is torch.float32 and two["box"].shape == (2, 4)
    assert two["names"][0] == "a" and two["names"][1].tolist() == ["x"] and two["n"].item() == 2
    assert [v.tolist() for v in batch_of("text", output="torch")] == [["x", "y"]] * 2


def test_jax_gets_arrays(path):
    jax = pytest.importorskip("jax")
    batch = next(iter(mldf.Loader(path, 5, fields=["vec", "note"], output="jax")))
    assert isinstance(batch.vec, jax.Array) and batch.vec.shape == (5, 3)
    assert batch.note[2] == sample(2)["note"]


# ---- what a loader can do otherwise ----


def test_states_and_copies(path):
    loader = mldf.Loader(path, 4, shuffle=True, seed=2, fields=["note", "label"])
    it = iter(loader)
    next(it), next(it)
    state = loader.state_dict()
    rest = [b.note for b in it]
    again = pickle.loads(pickle.dumps(loader))
    again.load_state_dict(json.loads(json.dumps(state)))
    assert [b.note for b in again] == rest and len(rest) == 4


def test_interrupted_decode_loses_nothing(tmp_path):
    @mldf.register_field
    class Slow(Note):
        type_name = "org.example.loader-slow"
        interrupts = [3, 1]

        def decode(self, data):
            n = json.loads(data)
            if n in self.interrupts:
                self.interrupts.remove(n)
                signal.raise_signal(signal.SIGINT)
            if n == 0:
                raise ValueError("bad")
            return n

    where = str(tmp_path / "s.mldf")
    mldf.write(where, [{"v": i} for i in range(6)], {"v": Slow()})
    loader = mldf.Loader(where, 4, on_error="skip")
    it = iter(loader)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            next(it)
    assert [b.v.tolist() for b in it] == [[1, 2, 3], [4, 5]]
    assert [b["sample"] for b in loader.bad_samples()] == [0] and loader.stats().bad_samples == 1


def test_bad_samples_of_a_batch_that_comes_again_are_told_once(picky):
    calls = []

    def interrupted(batch):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return batch

    loader = mldf.Loader(picky, 5, fields=["p", "y"], on_error="skip", transform=interrupted)
    it = iter(loader)
    next(it), next(it)
    with pytest.raises(KeyboardInterrupt):
        next(it)
    assert next(it).y.tolist() == [10, 11, 12, 14]
    assert len(loader.bad_samples()) == loader.stats().bad_samples == 1


def test_several_files_name_the_file(picky, tmp_path):
    other = str(tmp_path / "q.mldf")
    mldf.write(other, [{"p": {"n": 50}, "y": 1}], {"p": Picky(), "y": mldf.Int()})
    first = str(tmp_path / "r.mldf")
    mldf.select(picky, first, fields=["p", "y"])
    loader = mldf.Loader([other, first], 30, fields=["p"])
    with pytest.raises(ValueError, match="unlucky") as caught:
        next(iter(loader))
    assert caught.value.__notes__ == [f"in field 'p' of sample {BAD} of {first}"]
    assert [(b["file"], b["sample"]) for b in loader.bad_samples()] == [(1, BAD)]


def test_a_type_that_nobody_registered_is_left_out(tmp_path):
    @mldf.register_field
    class Gone(Note):
        type_name = "org.example.loader-gone"

    where = str(tmp_path / "g.mldf")
    fields = {"v": Gone(), "n": Gone(nullable=True), "_offset": mldf.Int(), "y": mldf.Int()}
    mldf.write(where, [{"v": 1, "n": None, "_offset": 2, "y": 3}], fields)
    mldf.fields._registry.pop(Gone.number())
    with pytest.warns(UserWarning, match=r"v, n \(of a type that is not registered: mldf.register_field\)"):
        assert mldf.Loader(where).outputs == ("_offset", "y")
    with pytest.raises(mldf.errors.ArgumentError, match="its type is not registered"):
        mldf.Loader(where, fields=["v"])
    assert mldf.Loader(where, pipelines={"v": None, ("n", "y"): None}).outputs == ("_offset",)


def test_a_field_named_as_the_offsets_of_another(tmp_path):
    where = str(tmp_path / "o.mldf")
    mldf.write(where, [{"v": [1], "v_offset": 2}], {"v": Vector(), "v_offset": mldf.Int()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert mldf.Loader(where).outputs == ("v_offset",)
    assert next(iter(mldf.Loader(where, pipelines={"w = v": []}))).w.tolist() == [[1.0]]


def test_ffcv_names_register_classes(path):
    pytest.importorskip("torch")  # fields without a pipeline become tensors
    from mldf.compat import ffcv

    mldf.fields._registry.pop(Vector.number())
    with pytest.warns(UserWarning, match="left out of the batches: maybe"):
        loader = ffcv.Loader(
            path, 5, custom_fields={"vec": Vector}, pipelines={"vec": [ffcv.NDArrayDecoder()], "label": None}
        )
    assert next(iter(loader)).vec.shape == (5, 3)
    with pytest.raises(mldf.errors.UnsupportedError, match="'vec': a class of mldf.CustomField"):
        ffcv.Loader(path, 5, custom_fields={"vec": dict})
