"""What a loader gives for what it was asked: callables and groups, fields= and companions, flags, other libraries."""

import ctypes
import functools
import sys
import warnings

import mldf
import numpy as np
import pkg
import pytest
from mldf.compat import torchvision as tv

A, T = mldf.errors.ArgumentError, mldf.errors.WrongTypeError


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return str(pkg.make(tmp_path_factory.mktemp("outputs") / "a.mldf", count=20))


def first(path, pipelines, **options):
    return next(iter(mldf.Loader(path, 4, pipelines=pipelines, threads=0, **options)))


def double(values):
    return values.astype(np.float64) * 2


def minus(values):
    return values - 1


# ---- callables ----


def test_a_callable_behind_a_group_gets_each_of_its_outputs(path):
    plain = first(path, {"image, label": ["cast(f32)"]}, fields=["image", "label"])
    batch = first(path, {"image, label": ["cast(f32)", double]}, fields=["image", "label"])
    assert (batch.image == plain.image * 2).all() and (batch.label == plain.label * 2).all()
    assert batch.image.dtype == batch.label.dtype == np.float64
    batch = first(path, {"a = label, b = fixed": ["cast(f32)", double]}, fields=["b", "a"])
    assert batch.a.tolist() == [0, 2, 4, 6] and batch.b[1].tolist() == [2, -2, 14]


def test_the_order_in_a_group_is_free(tmp_path):
    """A role in the middle of a key is not the end of it."""
    where = tmp_path / "g.mldf"
    rows = [{"image": pkg.image(i), "seg": pkg.image(i, channels=1)} for i in range(4)]
    mldf.write(where, rows, {"image": mldf.Image(), "seg": mldf.Image()})
    keys = ("seg as mask, image", "image, seg as mask", ("seg as mask", "image"), ("image", "seg as mask"))
    for fields in (None, ["image", "seg"]):
        found = [first(where, {key: ["resize([6, 8])", "hflip", double]}, fields=fields, seed=3) for key in keys]
        for batch, other in zip(found, found[2:] + found[:2]):  # as a text, and as a tuple
            assert batch.image.dtype == batch.seg.dtype == np.float64
            assert (batch.image == other.image).all() and (batch.seg == other.seg).all()


def test_callables_of_an_output_that_comes_again_add_up(path):
    batch = first(path, [("label", [double]), ("label", [minus])], fields=["label"])
    assert batch.label.tolist() == [-1, 1, 3, 5]
    with pytest.raises(A, match="'label' has Python callables before; they come last"):
        first(path, [("label", [double]), ("label", [mldf.Cast("f32")])])
    assert first(path, [["label", [double]]], fields=["label"]).label.tolist() == [0, 2, 4, 6]  # as JSON has pairs


def test_callables_of_outputs_whose_names_are_no_words(path):
    batch = first(path, {"`two words` = label": [double], "`a,b` = label": [mldf.Cast("f32"), minus]})
    assert batch["two words"].tolist() == [0, 2, 4, 6] and batch["a,b"].tolist() == [-1, 0, 1, 2]
    group = "`two words`, label"
    batch = first(path, {"`two words` = label": [mldf.Cast("f32")], group: [double]}, fields=["label", "two words"])
    assert batch["two words"].tolist() == batch.label.tolist() == [0, 2, 4, 6]


# ---- fields ----


def test_a_field_comes_beside_its_views_where_it_is_named(path):
    view = {"half = label": [mldf.Cast("f16")], "small = image": [mldf.Resize((4, 4))]}
    assert "label" not in first(path, view, fields=["half", "small"]).names
    batch = first(path, {**view, "label": [double], "image": []})
    assert batch.label.tolist() == [0, 2, 4, 6] and batch.half.tolist() == [0, 1, 2, 3]
    assert batch.image.shape == (4, 12, 16, 3) and batch.small.shape == (4, 4, 4, 3)
    for pipelines in (view, "half = label: cast(f16); small = image: resize([4, 4])"):
        batch = first(path, pipelines, fields=["label", "half", "image"])
        assert batch.names == ("label", "half", "image") and batch.label.dtype == np.uint8
    some = mldf.open(path, fields=["fixed", "label"])  # what it has besides does not come, nor is it asked for
    assert mldf.Loader(some, 4, pipelines={"half = label": [mldf.Cast("f16")]}).outputs == ("fixed", "half")


def test_fields_are_all_that_comes_out(path):
    pipelines = {
        "small = image": [mldf.Resize((4, 4))],
        "tiny = image": [mldf.Resize((2, 2))],
        "x": [mldf.Pad(mask=True)],
    }
    for fields in (["label"], ["tiny", "label"], ["label", "small"]):
        assert mldf.Loader(path, 4, pipelines=pipelines, fields=fields).outputs == tuple(fields)
    whole = mldf.Loader(mldf.open(path, fields=["label"]), 4, pipelines={"small = image": [mldf.Resize((4, 4))]})
    assert whole.outputs == ("label", "small")  # the dataset's fields do not forbid views


def test_companions_may_be_named_in_fields(path):
    def outputs(*fields):
        return mldf.Loader(path, 4, pipelines={"x": [mldf.Pad(mask=True)]}, fields=fields).outputs

    assert outputs("label", "x") == ("label", "x", "x_length", "x_mask")
    assert outputs("x_length", "x", "label") == ("x_length", "x", "label")
    assert outputs("x", "label", "x_mask") == ("x", "label", "x_mask")
    assert outputs("x_length") == ("x_length",)
    with pytest.raises(mldf.errors.NoFieldError, match="no field or output 'x_offset'"):
        outputs("x", "x_offset")
    batch = next(iter(mldf.Loader(path, 4, pipelines={"x": [mldf.Pad()]}, fields=["x_length", "label", "x"])))
    assert (
        batch.x_length.tolist() == [0, 1, 2, 3] and batch.x.shape == (4, 3, 2) and batch.label.tolist() == [0, 1, 2, 3]
    )


def test_fields_with_names_of_roles(tmp_path):
    """A role in a statement says nothing of a field of that name."""
    path = tmp_path / "roles.mldf"
    image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    rows = [{"image": image, "seg": image[..., 0], "mask": image[..., 1], "as": i, "points": None} for i in range(4)]
    types = {"image": mldf.Image(), "seg": mldf.Image(), "mask": mldf.Image(), "as": mldf.Int()}
    mldf.write(path, rows, types | {"points": mldf.Int(nullable=True)})
    for pipelines in ({"image, seg as mask": ["hflip(1)"]}, "image, seg as mask: hflip(1)"):
        batch = next(iter(mldf.Loader(path, 4, pipelines=pipelines, fields=["seg", "mask", "as"])))
        assert (batch.seg[0, ..., 0] == image[:, ::-1, 0]).all() and (batch.mask[0, ..., 0] == image[..., 1]).all()
        assert batch["as"].tolist() == [0, 1, 2, 3]
    batch = next(iter(mldf.Loader(path, 4, pipelines={"xy = [as, as]": ["stack"], "p = image as mask": []})))
    assert batch.names == ("xy", "p")
    moved = "image, p = xy as points: hflip(1)"
    batch = next(iter(mldf.Loader(path, 4, pipelines=f"xy = [as, as]: stack | cast(f32)\n{moved}\nxy: drop")))
    assert batch.names == ("image", "p")  # points, which is null, is not asked for
    assert batch.p[:, 0].tolist() == [4, 3, 2, 1]


def test_fields_with_names_of_the_loaders_own(tmp_path):
    path = tmp_path / "own.mldf"
    rows = [{"index": 10 * i, "valid": i % 2, "key": -i, "y": i} for i in range(6)]
    mldf.write(path, rows, {"index": "int", "valid": "int", "key": "int", "y": "int"}, keys=[f"k{i}" for i in range(6)])
    load = functools.partial(mldf.Loader, path, 6)
    assert load(fields=["y"]).outputs == load(pipelines={"key": None}).outputs == ("y",)
    with pytest.warns(UserWarning, match=r"index, valid, key \(a name of the loader's own: {'my_index = index': \[\]}"):
        assert load().outputs == ("y",)
    batch = next(iter(load(pipelines={"i = index": [], "k = key": ["cast(f32)"]}, index=True, key=True)))
    assert batch.names == ("y", "i", "k", "index", "key")
    assert batch.i.tolist() == [0, 10, 20, 30, 40, 50] and batch.index.tolist() == list(range(6))
    assert batch.k.tolist() == [0, -1, -2, -3, -4, -5] and batch.key == [f"k{i}" for i in range(6)]
    for ask in ({"fields": ["y", "index"]}, {"pipelines": {"index": []}}):
        with pytest.raises(A, match=r"'index' is an output of the loader's own, by index=True; .*'my_index = index'"):
            load(**ask)


def test_the_loaders_own_outputs_may_be_named_in_fields(path):
    with pytest.raises(A, match="'index' is an output of the loader's own, by index=True$"):
        mldf.Loader(path, 4, fields=["label", "index"])
    for extra in ({"index": True}, {"valid": True}, {"key": True}, {"index": True, "valid": True, "key": True}):
        loader = mldf.Loader(path, 4, fields=[*extra, "label"], **extra)
        assert loader.outputs == ("label", *extra) == next(iter(loader)).names


# ---- arguments ----


@pytest.mark.parametrize(
    "name",
    ["shuffle", "drop_last", "pin_memory", "non_blocking", "copy", "index", "valid", "key", "prefetch", "forget_behind"]
    + ["direct", "exact", "reference"],
)
def test_words_and_numbers_are_no_flags(path, name):
    for wrong in ("no", "", 2, -1, 1.5, [], np.array([1, 2])):
        with pytest.raises(T, match=f"{name}=.*: True or False is needed"):
            mldf.Loader(path, 4, fields=["label"], **{name: wrong})
    for right in (True, False, np.True_, 0):
        mldf.Loader(path, 4, fields=["label"], **{name: right}).close()


@pytest.mark.parametrize(
    "kind, options, words",
    [
        (TypeError, {"suffle": True}, "unexpected keyword argument 'suffle'; did you mean 'shuffle'"),
        (TypeError, {"batchsize": 4}, "'batchsize'; did you mean 'batch_size'"),
        (TypeError, {"xyzzy": 4}, "'xyzzy'$"),
        (TypeError, {"dataset": "a.mldf"}, "'dataset'; here it is source, the first argument"),
        (T, {"fields": 3}, "fields=3: a list of names is needed"),
        (A, {"bucket_window": 100}, "bucket_window goes with bucket"),
        (T, {"bucket_window": "x"}, "bucket_window='x': a whole number"),
        (A, {"bucket": "a\0b"}, "bucket='a.*a NUL"),
        (A, {"compiler": "\ud800"}, "compiler=.*half a character"),
        (A, {"pipelines": {"": []}}, "pipelines: '' names no output"),
        (A, {"pipelines": {" = image": []}}, "pipelines: ' = image' names no output"),
        (A, {"balance": "image"}, "balance='image': a field of type image"),
    ],
)
def test_mistakes_name_the_argument(path, kind, options, words):
    with pytest.raises(kind, match=words):
        mldf.Loader(path, **options)


def test_what_is_no_path_is_refused(path):
    with pytest.raises(T, match="not a dict"):
        mldf.Loader({"train": path})
    with open(path, "rb") as file, pytest.raises(T, match="not a BufferedReader"):
        mldf.Loader(file)


def test_functions_of_another_signature_are_refused():
    pointer = ctypes.c_void_p
    typed = [np.ctypeslib.ndpointer(np.uint8), ctypes.POINTER(ctypes.c_float), pointer, pointer, ctypes.c_char_p]
    for types in ([pointer] * 5, typed):
        assert mldf.CFunction(ctypes.CFUNCTYPE(ctypes.c_int, *types)(lambda *a: 0)).address
    for form in (
        ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double),
        ctypes.CFUNCTYPE(ctypes.c_int, *[pointer] * 4),
        ctypes.CFUNCTYPE(None, *[pointer] * 5),
        ctypes.CFUNCTYPE(ctypes.c_int, *[pointer] * 4, ctypes.c_int),
    ):
        with pytest.raises(A, match="five pointers .* and an int are needed"):
            mldf.CFunction(form(lambda *a: 0))


def test_numba_functions_of_another_signature_are_refused(monkeypatch):
    monkeypatch.setattr(sys, "path", [p for p in sys.path if not p.endswith("/tools")])  # as in test_pkg_loader_own.py
    numba = pytest.importorskip("numba", reason="Numba is not installed (make torch)")
    right = numba.cfunc("int32(CPointer(u1), CPointer(f4), CPointer(u8), CPointer(f8), CPointer(u8))")(
        lambda a, b, c, d, e: 0
    )
    assert mldf.CFunction(right).address
    with pytest.raises(A, match="five pointers"):
        mldf.CFunction(numba.cfunc("float64(float64)")(lambda x: x))


# ---- other libraries ----


def test_torchs_subsets_are_taken(path):
    data = pytest.importorskip("torch.utils.data", reason="PyTorch is not installed (make torch)")
    ds = mldf.open(path)
    subset = data.Subset(data.Subset(ds, range(10, 20)), [3, 0, 7])
    assert [b.index.tolist() for b in mldf.Loader(subset, 2, fields=["label"], index=True)] == [[13, 10], [17]]
    train, rest = data.random_split(ds, [15, 5])
    found = [pkg.indices(mldf.Loader(part, 4, shuffle=True, fields=["label"], index=True)) for part in (train, rest)]
    assert sorted(found[0]) == sorted(train.indices) and sorted(sum(found, [])) == list(range(20))
    with pytest.raises(T, match="not a Subset"):
        mldf.Loader(data.Subset([1, 2, 3], [0]), 2)


def test_torchvisions_values_between_floats_and_a_resize_are_not_taken_for_bytes(path):
    for step in (tv.RandomSolarize(0.5), tv.RandomAffine(10, fill=1.0), tv.RandomErasing(value=(0, 0.5, 0))):
        with pytest.raises(mldf.errors.UnsupportedError, match="comes between floats and Resize.*: put it first"):
            tv.Compose([tv.ToTensor(), step, tv.Resize((8, 8))])
        assert step in tv.Compose([tv.Resize((8, 8)), tv.ToTensor(), step])
        assert step in tv.Compose([step, tv.ToTensor(), tv.Resize((8, 8))])
    assert tv.Compose([tv.ToTensor(), tv.RandomAffine(10), tv.Resize((8, 8))])[0] == mldf.Affine(10)


# ---- states ----


@pytest.mark.parametrize("window, batches", [(16, 2), (9, 2), (12, 1), (20, 2)])
def test_a_state_behind_the_last_batch_of_buckets_that_drop_is_the_next_epoch(path, window, batches):
    def loader():
        return mldf.Loader(
            path,
            7,
            subset=range(18),
            fields=["x"],
            pipelines={"x": [mldf.Pad()]},
            bucket="x",
            bucket_window=window,
            last="drop",
        )

    steps = iter(run := loader())
    places = []
    for _ in steps:
        state = run.state_dict()
        (resumed := loader()).load_state_dict(state)
        left = len(list(resumed)) if state["epoch"] == 0 else 0
        places.append((state["epoch"], left))
    assert len(places) == batches == len(run) and places == [(0, batches - 1 - i) for i in range(batches - 1)] + [
        (1, 0)
    ]


def test_the_length_with_a_budget_is_of_the_pipelines_that_come_next(path):
    def steps(multiple):
        return {"x": [mldf.Pad(multiple=multiple)]}

    with mldf.Loader(path, fields=["x"], bucket="x", budget=16, pipelines=steps(1)) as loader:
        few = len(loader)
        assert len(list(loader)) == few
        loader.set_pipelines(steps(8))
        many = len(loader)
        assert many == 17 > few and len(list(loader)) == many  # one sample fills a batch, the four empty ones none
        batches = iter(loader)
        next(batches)
        loader.set_pipelines(steps(1))
        assert len(loader) == many == 1 + len(list(batches))  # of the epoch that runs
        assert len(loader) == few == len(list(loader))


def test_fields_that_a_pipeline_leaves_out_are_reported(tmp_path):
    mldf.write(tmp_path / "a.mldf", [{"text": "ab", "blob": b"x", "n": 1}, {"text": "c", "blob": b"yz", "n": 2}])
    with pytest.warns(UserWarning, match=r"left out of the batches: blob \(samples differ"):
        mldf.Loader(tmp_path / "a.mldf", batch_size=2, pipelines={"text": [mldf.Pad()]})
    with pytest.warns(UserWarning, match=r"left out of the batches: text, blob "):
        mldf.Loader(tmp_path / "a.mldf", batch_size=2, pipelines="n: cast(f32)")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # who names a field, or says which fields, knows
        mldf.Loader(tmp_path / "a.mldf", batch_size=2, pipelines={"text": [mldf.Pad()], "blob": None})
        mldf.Loader(tmp_path / "a.mldf", batch_size=2, pipelines="n: cast(f32); text: drop; blob: drop")
        mldf.Loader(tmp_path / "a.mldf", batch_size=2, pipelines={"text": [mldf.Pad()]}, fields=["text", "n"])
