"""Mistakes in pipelines and batches: each is told where it was made, in the user's own words, and with a way out."""

import enum

import mldf
import numpy as np
import pkg
import pytest

A, T = mldf.errors.ArgumentError, mldf.errors.WrongTypeError
S = mldf.errors.SyntaxMistakeError


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return str(pkg.make(tmp_path_factory.mktemp("mistakes") / "a.mldf", count=20))


def first(path, steps, fields=("image",), **options):
    return next(iter(mldf.Loader(path, 4, pipelines={"image": steps}, fields=list(fields), threads=0, **options)))


# ---- steps as text ----


@pytest.mark.parametrize(
    "kind, steps, words",
    [
        (S, ["resize([8, 8"], r"pipelines\['image'\], step 1, 'resize\(\[8, 8': expected ',' or '\]', found the end"),
        (S, ["resize(8)", "chw("], r"step 2, 'chw\(': expected a value, found the end"),
        (S, [""], "step 1, '': expected an operation, found the end"),
        (A, ["hflip; label: drop"], "step 1, 'hflip; label: drop': steps joined by"),
        (A, ["hflip\nlabel: drop"], "steps joined by"),
        (A, ["resiz(8)"], "there is no operation resiz; did you mean resize"),
        (A, ["HorizontalFlip(0.5)"], "no operation HorizontalFlip; mldf.HorizontalFlip is hflip in text"),
        (A, ["ToTensor"], "no operation ToTensor; mldf.compat.torchvision has ToTensor"),
        (A, ["random_horizontal_flip"], "mldf.compat.torchvision has RandomHorizontalFlip"),
        (A, ["resize(8, interpolation=bilinear)"], "no parameter interpolation; it has size, filter, antialias"),
    ],
)
def test_a_step_of_text_is_checked_by_itself(path, kind, steps, words):
    with pytest.raises(kind, match=words) as caught:
        first(path, steps)
    assert "column" not in str(caught.value)


def test_a_comment_ends_with_its_step(path):
    assert first(path, ["resize([8, 6])  # small", mldf.CHW()]).image.shape == (4, 3, 8, 6)


# ---- values ----


class Filter(enum.StrEnum):
    BICUBIC = "bicubic"


class Resampling(enum.IntEnum):
    BICUBIC = 3


def test_enums_and_numpys_type_names(path):
    for filter in (Filter.BICUBIC, Resampling.BICUBIC):
        assert mldf.Resize((8, 8), filter=filter).text == "resize([8, 8], filter=bicubic)"
    assert mldf.Cast("<f4").text == "cast(f32)" and mldf.Cast("|u1").text == "cast(u8)"


@pytest.mark.parametrize(
    "kind, make, words",
    [
        (T, lambda: mldf.CSource(3), "text, not int"),
        (T, lambda: mldf.CSource("mldf_run", "x"), "arguments are numbers"),
        (T, lambda: mldf.CFunction(5, shape="x"), "shape is whole numbers"),
        (A, lambda: mldf.CFunction(5, shape=(-1,)), "at least 1"),
    ],
)
def test_operations_of_ones_own(kind, make, words):
    with pytest.raises(kind, match=words):
        make()


@pytest.mark.parametrize(
    "name, words",
    [
        ("RandomResizeCrop", "did you mean 'RandomResizedCrop'"),
        ("ToTensor", "mldf.compat.torchvision has ToTensor"),
        ("xyzzy", "no attribute 'xyzzy'$"),
    ],
)
def test_names_that_mldf_has_not(name, words):
    with pytest.raises(AttributeError, match=words):
        getattr(mldf, name)


# ---- fields ----


def test_structs_come_by_their_members(path):
    with pytest.raises(A, match=r"'box' is a struct.*'x = box.x': \[\], 'y = box.y'"):
        mldf.Loader(path, 4, fields=["box"])
    batch = next(iter(mldf.Loader(path, 4, pipelines={"x = box.x": [], "y = box.y": []}, fields=["x", "y"])))
    left_out = mldf.Loader(path, 4, pipelines={"box": None, "image": None, "score": None})
    assert left_out.outputs == ("label", "fixed", "pos")
    assert batch.x.tolist() == [0, 1, 2, 3] and batch.y.tolist() == [0, 0.5, 1, 1.5] and batch.x.dtype == np.float32


def test_fields_that_contradict_their_pipelines(path):
    with pytest.raises(A, match="'image': its pipeline drops it, and fields= wants it"):
        first(path, None, fields=["image", "label"])
    with pytest.raises(A, match="one field at least"):
        first(path, ["resize([8, 8])"], fields=[])


# ---- batches ----


def test_a_batch_beyond_all_memory_is_refused_when_the_loader_is_made(path):
    with pytest.raises(mldf.errors.LimitError, match="a batch of 1000000000 samples takes .* MB at least"):
        mldf.Loader(path, 10**9, last="pad", fields=["label", "pos"])
    assert next(iter(mldf.Loader(path, 10**9, fields=["label"]))).label.shape == (20,)  # all there are
    assert list(mldf.Loader(path, 10**9, fields=["label"], drop_last=True)) == []


def test_arrays_change_in_place_and_others_do_not_notice(path):
    loader = mldf.Loader(path, 4, fields=["label", "pos"], threads=2)
    before = [np.array(b.pos) for b in loader]
    for batch, want in zip(loader, before):
        assert (batch.pos == want).all()
        batch.pos /= 2
        batch["pos"] += 1
        assert (batch.pos == want / 2 + 1).all()
    with pytest.raises(AttributeError, match="a batch is a tuple: write into batch.pos"):
        batch.pos = 3
    with pytest.raises(TypeError, match="a batch is a tuple"):
        batch["pos"] = 3


def test_direct_reads_open_the_files_for_them(path):
    loader = mldf.Loader(path, 4, fields=["label"], direct=True)  # a warning would be an error here
    assert [b.label.tolist() for b in loader][0] == [0, 1, 2, 3]
