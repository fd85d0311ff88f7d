"""Options of the loader's engine: in engine=, or by name; and those of new files. Typed, and mistakes are named."""

import pickle
import typing

import mldf
import numpy as np
import pytest
from mldf.engine import ENGINE


@pytest.fixture
def path(tmp_path):
    where = tmp_path / "a.mldf"
    mldf.write(where, ({"x": np.arange(3, dtype="f4") + i} for i in range(20)), {"x": mldf.NDArray("float32", (3,))})
    return where


def batches(loader):
    with loader:
        return [b["x"].copy() for b in loader]


def test_engine_and_names_mean_the_same(path):
    by_name = batches(mldf.Loader(path, 4, order="quasi-random", block=2, window=3, codegen="off"))
    in_engine = batches(mldf.Loader(path, 4, order="quasi-random", engine={"block": 2, "window": 3, "codegen": "off"}))
    others = batches(mldf.Loader(path, 4, order="quasi-random"))
    assert all(np.array_equal(a, b) for a, b in zip(by_name, in_engine))
    assert not all(np.array_equal(a, b) for a, b in zip(by_name, others))


def test_a_pickled_loader_keeps_its_engine(path):
    loader = mldf.Loader(path, 4, order="quasi-random", block=2, engine={"window": 3})
    again = pickle.loads(pickle.dumps(loader))
    assert all(np.array_equal(a, b) for a, b in zip(batches(loader), batches(again)))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"engine": {"blok": 2}},
            mldf.errors.ArgumentError,
            "engine={'blok': ...}: there is no such option; did you mean 'block'",
        ),
        ({"engine": {"block": 2}, "block": 3}, mldf.errors.ArgumentError, "block is given twice"),
        ({"engine": "exact"}, mldf.errors.WrongTypeError, "engine= is a dict of options, not a str"),
        ({"engine": {"exact": 3}}, mldf.errors.Error, "exact"),
        ({"blok": 2}, TypeError, "unexpected keyword argument 'blok'; did you mean 'block'"),
        ({"prefetch_factor": 2}, TypeError, "batches_ahead="),
    ],
)
def test_mistakes_are_named(path, options, error, message):
    with pytest.raises(error) as caught:
        mldf.Loader(path, **options)
    assert message in str(caught.value)


def test_the_types_say_what_there_is():
    assert set(ENGINE) == set(mldf.Engine.__annotations__) == set(typing.get_type_hints(mldf.Engine))
    assert len(mldf.Loader.__doc__.splitlines()) < 100  # what people use, on a screen or two


def test_keys_are_empty_where_there_are_none(path):
    ds = mldf.open(path)
    assert not ds.has_keys and len(ds.keys) == 0 and list(ds.keys) == [] and "x" not in ds.keys
    with pytest.raises(mldf.errors.NoSampleError, match="these files have none"):
        ds.keys[0]
