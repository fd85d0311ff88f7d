"""Nullable fields in batches: mldf.Fill against the dataset's own values, in every order and in every kind of plan."""

import warnings

import mldf
import numpy as np
import pytest

COUNT = 61
FIELDS = {
    "image": mldf.Image(nullable=True),
    "age": mldf.Int("int16", nullable=True),
    "score": mldf.Float(nullable=True),
    "vec": mldf.NDArray("float32", (3,), nullable=True),
    "words": mldf.NDArray("int32", (None,), nullable=True),
    "text": mldf.Text(nullable=True),
    "pose": mldf.Struct([("x", "f4"), ("n", "i4")], nullable=True),
    "label": mldf.Int(),
}


def sample(i):
    rng = np.random.default_rng(i)
    full = {
        "image": rng.integers(0, 256, (9 + i % 5, 11 + i % 3, 3), np.uint8),
        "age": i - 20,
        "score": i / 3,
        "vec": rng.random(3, np.float32),
        "words": np.arange(i % 6, dtype=np.int32) + i,
        "text": "x" * (i % 7),
        "pose": (i / 2, i),
    }
    gone = {name for k, name in enumerate(full) if (i + k) % (k + 3) == 0}
    return {**{n: None if n in gone else v for n, v in full.items()}, "label": i}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    where = tmp_path_factory.mktemp("nulls") / "n.mldf"
    with mldf.Writer(where, FIELDS) as w:
        w.extend(sample(i) for i in range(COUNT))
    return str(where)


FILLED = {
    "image": [mldf.CenterCrop((8, 10)), mldf.Fill((1, 2, 3), valid=True)],
    "age": [mldf.Fill(-99, valid=True)],
    "score": [mldf.Fill(float("nan"))],
    "vec": [mldf.Fill(0.5, valid=True)],
    "words": [mldf.Fill(), mldf.Pad(value=-1)],
    "text": [mldf.Fill(valid=True), mldf.Ragged()],
    "n = pose.n": [mldf.Fill(7)],
}


def check(batch, ds):
    ends = batch["text_offset"]
    for row, i in enumerate(batch["index"].tolist()):
        s = ds[i]
        assert batch["image_valid"][row] == (s.image is not None)
        if s.image is None:
            assert (batch["image"][row] == [1, 2, 3]).all()
        assert batch["age"][row] == (-99 if s.age is None else s.age)
        assert batch["age_valid"][row] == (s.age is not None)
        assert np.isnan(batch["score"][row]) if s.score is None else batch["score"][row] == s.score
        assert (batch["vec"][row] == (0.5 if s.vec is None else s.vec)).all()
        assert batch["vec_valid"][row] == (s.vec is not None)
        words = [] if s.words is None else s.words.tolist()
        width = batch["words"].shape[1]
        assert batch["words"][row].tolist() == words + [-1] * (width - len(words))
        assert batch["words_length"][row] == len(words)
        assert bytes(batch["text"][ends[row] : ends[row + 1]]).decode() == (s.text or "")
        assert batch["text_valid"][row] == (s.text is not None)
        assert batch["n"][row] == (7 if s.pose is None else s.pose["n"])
        assert batch["label"][row] == i


@pytest.mark.parametrize("order", ["sequential", "random", "quasi-random"])
def test_nulls_have_the_constant_and_all_else_is_as_stored(path, order):
    ds = mldf.open(path)
    seen = []
    with mldf.Loader(path, 8, order=order, block=4, window=3, pipelines=FILLED, index=True) as loader:
        for batch in loader:
            check(batch, ds)
            seen += batch["index"].tolist()
    assert sorted(seen) == list(range(COUNT))


def test_every_plan_gives_the_same_bytes(path):
    steps = {
        "image": [
            mldf.RandomResizedCrop(6),
            mldf.HorizontalFlip(),
            mldf.Fill(9),
            mldf.Normalize("imagenet"),
            mldf.CHW(),
        ],
        "vec": [mldf.Expr("x * 3"), mldf.Fill(2), mldf.Expr("x + 1"), mldf.Cast("f16")],
        "age": [mldf.OneHot(60), mldf.Fill(0.25, valid=True)],
    }
    subset = [i for i in range(COUNT) if sample(i)["age"] is None or sample(i)["age"] >= 0]

    def run(**options):
        with mldf.Loader(path, 7, True, subset=subset, seed=4, pipelines=steps, **options) as loader:
            return [tuple(a.tobytes() for a in b) for b in loader]

    want = run(reference=True, threads=0)
    assert len(want) > 4
    assert run(codegen="off") == want
    assert run(codegen="wait", threads=3) == want


def test_a_row_without_value_is_the_one_hot_vector_of_nothing(path):
    with mldf.Loader(path, COUNT, pipelines={"label": [mldf.OneHot(COUNT)], "age": None}, fields=["label"]) as loader:
        assert next(iter(loader)).label.sum() == COUNT


def test_companions_stand_behind_their_output(path):
    with mldf.Loader(path, 4, pipelines={"age": [mldf.Fill(0, valid=True)]}, fields=["label", "age"]) as loader:
        assert loader.outputs == ("label", "age", "age_valid")
        batch = next(iter(loader))
        assert batch.age_valid.dtype == np.bool_ and batch.age.dtype == np.int16


def test_fields_of_such_names_are_their_own(tmp_path):
    where = tmp_path / "names.mldf"
    with mldf.Writer(where, {"x": mldf.Int(), "x_valid": mldf.Int(), "y": mldf.Int(nullable=True)}) as w:
        w.extend({"x": i, "x_valid": 100 + i, "y": i or None} for i in range(4))
    with mldf.Loader(where, 4, fields=["x"]) as loader:
        assert loader.outputs == ("x",)
    with mldf.Loader(where, 4, fields=["x_valid", "x"]) as loader:
        assert loader.outputs == ("x_valid", "x")
    with pytest.raises(mldf.errors.ArgumentError, match="x_valid.*x makes an output of this name itself"):
        mldf.Loader(where, 4, pipelines={"x": [mldf.Fill(valid=True)]})
    with mldf.Loader(where, 4, pipelines={"x": [mldf.Fill(valid=True)], "x_valid": None}) as loader:
        assert next(iter(loader)).x_valid.tolist() == [True] * 4


def test_what_is_left_out_says_how_to_keep_it(path):
    with pytest.warns(
        UserWarning,
        match=r"left out of the batches: .*image.*; age, score, vec \(may be null: "
        r"\{'age': \[mldf.Fill\(0\)\]\} gives nulls a value\)",
    ) as seen:
        loader = mldf.Loader(path, 8)
    assert seen[0].filename == __file__
    assert loader.outputs == ("label",)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mldf.Loader(path, 8, pipelines={"age": [mldf.Fill(0)]}, fields=["age", "label"])
    with pytest.warns(UserWarning, match=r"left out of the batches: .*image.*; score, vec \(may be null: "):
        mldf.Loader(path, 8, pipelines={"age": [mldf.Fill(0)]})


def test_a_null_without_it_is_an_error_that_names_it(path):
    with mldf.Loader(path, 8, fields=["age"]) as loader, pytest.raises(mldf.errors.NullError, match="fill"):
        list(loader)


def test_mistakes(path):
    for words, steps in [
        ("value 0.5 does not fit the element type i16", {"age": [mldf.Fill(0.5)]}),
        ("leave the number out", {"words": [mldf.Fill(3), mldf.Pad()]}),
        ("put it after resize", {"image": [mldf.Fill(0), mldf.Resize((4, 4))]}),
        ("filled already", {"age": [mldf.Fill(0), mldf.Fill(1)]}),
    ]:
        with pytest.raises((mldf.errors.ArgumentError, mldf.errors.WrongTypeError), match=words):
            mldf.Loader(path, 8, pipelines=steps)


def test_complex_numbers(tmp_path):
    where = tmp_path / "c.mldf"
    with mldf.Writer(where, {"z": mldf.NDArray("complex64", (None,), nullable=True)}) as w:
        w.extend([{"z": np.array([1 + 2j, 3], np.complex64)}, {"z": None}])
    with mldf.Loader(where, 2, pipelines={"z": [mldf.Fill(), mldf.Pad(3, value=7)]}) as loader:
        assert next(iter(loader)).z.tolist() == [[1 + 2j, 3, 7], [7, 7, 7]]
