"""User-defined fields beside other outputs of a Loader: what fields= chooses of them, and what bad samples leave."""

import json

import mldf
import numpy as np
import pytest

COUNT = 11
BAD = (2, 10)


@mldf.register_field
class Fussy(mldf.CustomField):
    """Numbers, of which two are refused."""

    type_name = "org.example.rows-fussy"

    def encode(self, value):
        return json.dumps(value).encode()

    def decode(self, data):
        value = json.loads(data)
        if value in BAD:
            raise ValueError("unlucky")
        return value


@mldf.register_field
class First(Fussy):
    """The first of a list; decode forgets that there may be none."""

    type_name = "org.example.rows-first"

    def decode(self, data):
        return next(iter(json.loads(data)))


@mldf.register_field
class Masked(Fussy):
    type_name = "org.example.rows-masked"

    def decode(self, data):
        values = np.array(json.loads(data))
        return np.ma.MaskedArray(values, mask=values > 1)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    where = str(tmp_path_factory.mktemp("rows") / "r.mldf")
    fields = {"n": Fussy(nullable=True), "x": mldf.NDArray("int32", (None,)), "y": mldf.Int()}
    mldf.write(where, [{"n": i, "x": list(range(i % 4)), "y": i} for i in range(COUNT)], fields)
    return where


def batches(path, fields=None, output="numpy", **options):
    if output != "numpy":
        pytest.importorskip(output)
    pipelines = {"n": [], "x": [mldf.Fill(valid=True), mldf.Ragged()]}
    return list(mldf.Loader(path, 4, fields=fields, output=output, pipelines=pipelines, **options))


# ---- fields= ----


@pytest.mark.parametrize("output", ["numpy", "torch", "jax"])
def test_a_field_that_is_decoded_but_not_wanted_brings_nothing(path, output):
    for fields in (["y"], ["y", "x_offset"]):
        loader = mldf.Loader(path, 4, fields=fields, output="numpy", pipelines={"n": [], "x": [mldf.Ragged()]})
        assert loader.outputs == tuple(fields)
        first = batches(path, fields, output)[0]
        assert first.names == tuple(fields) and len(first) == len(fields)
    view = mldf.open(path, fields=["y"])
    assert next(iter(mldf.Loader(view, 4, pipelines={"n": []}))).names == ("y",)


def test_what_comes_with_the_bytes_is_no_output(path):
    for pipelines, name in (({"n": []}, "n_offset"), ({"n": [mldf.Fill()]}, "n_valid"), (None, "n_offset")):
        for fields in ([name, "y"], ["n", name]):
            with pytest.raises(mldf.errors.NoFieldError, match=f"no field or output '{name}'"):
                mldf.Loader(path, 4, fields=fields, pipelines=pipelines)
    loader = mldf.Loader(path, 2, fields=["n_valid", "n"], pipelines={"n": [mldf.Fill(valid=True)]})
    assert next(iter(loader)).n_valid.tolist() == [True, True]


def test_callables_may_come_in_a_pair_of_their_own(path):
    pairs = [("n", [mldf.Fill()]), ("n", [lambda values: values * 2]), ("n", [lambda values: values + 1])]
    assert next(iter(mldf.Loader(path, 2, fields=["n"], pipelines=pairs))).n.tolist() == [1, 3]


def test_a_group_without_steps_is_each_of_its_outputs(path):
    for key in ("n, y", ("n", "y")):
        batch = next(iter(mldf.Loader(path, 2, fields=["n", "y"], pipelines={key: [lambda values: values + 1]})))
        assert batch.n.tolist() == batch.y.tolist() == [1, 2]
        assert mldf.Loader(path, 2, pipelines={key: None, "x": [mldf.Pad()]}).outputs == ("x", "x_length")


# ---- bad samples ----


@pytest.mark.parametrize("output", ["numpy", "torch", "jax"])
@pytest.mark.parametrize("policy", ["skip", "substitute"])
def test_ragged_outputs_lose_the_rows_whatever_of_them_is_wanted(path, policy, output):
    whole = batches(path, ["n", "x", "x_offset", "x_valid", "y"], output, on_error=policy)
    for batch in whole:
        ends, x = batch.x_offset.tolist(), batch.x.tolist()
        assert [x[a:b] for a, b in zip(ends, ends[1:])] == [list(range(i % 4)) for i in batch.y.tolist()]
        assert batch.n.tolist() == batch.y.tolist() and not set(BAD) & set(batch.y.tolist())
    for fields in (["n", "x_offset"], ["x", "n", "x_valid"], ["n", "x"], ["x_valid", "n"]):
        some = batches(path, fields, output, on_error=policy)
        want = [*fields[:2], "x_offset", "x_valid"] if fields == ["n", "x"] else fields
        assert len(some) == len(whole)
        for batch, other in zip(some, whole):
            assert sorted(batch.names) == sorted(want)
            assert all(batch[name].tolist() == other[name].tolist() for name in want)


@pytest.mark.parametrize("output", ["numpy", "torch", "jax"])
def test_a_row_is_a_repeat_whoever_stands_in(path, output):
    last = batches(path, output=output, on_error="substitute", valid=True, last="pad")[-1]
    assert last.y.tolist() == [8, 9, 0, 0]  # 10 is bad, and the next good one is the repeat
    assert last.valid.tolist() == [True, True, True, False]
    last = batches(path, output=output, on_error="skip", valid=True, last="pad")[-1]
    assert last.y.tolist() == [8, 9, 0] and last.valid.tolist() == [True, True, False]
    seen = batches(path, output=output, on_error="substitute", valid=True, subset=[0, 1, 2], last="pad", shuffle=False)
    assert sum(int(np.asarray(batch.valid).sum()) for batch in seen) == 3


def test_stop_iteration_is_no_end_of_an_epoch(tmp_path):
    where = tmp_path / "f.mldf"
    mldf.write(where, [{"f": [i] * (i != 2)} for i in range(6)], {"f": First()})
    steps = iter(mldf.Loader(where, 2))
    assert next(steps).f.tolist() == [0, 1]
    with pytest.raises(RuntimeError, match="StopIteration from a decode") as caught:
        next(steps)
    assert "field 'f' of sample 2" in caught.value.__cause__.__notes__[0]
    assert next(steps).f.tolist() == [4, 5]
    assert next(steps, None) is None

    def nothing(_):
        return next(iter(()))

    for options in ({"transform": nothing}, {"pipelines": {"f": [nothing]}}):
        with pytest.raises(RuntimeError, match="StopIteration"):
            list(mldf.Loader(where, 2, on_error="skip", **options))


@pytest.mark.parametrize("output", ["numpy", "torch", "jax"])
def test_masks_are_not_lost(tmp_path, output):
    if output != "numpy":
        pytest.importorskip(output)
    mldf.write(tmp_path / "m.mldf", [{"m": list(range(i + 1))} for i in range(4)], {"m": Masked()})
    batch = next(iter(mldf.Loader(tmp_path / "m.mldf", 4, output=output)))
    assert [values.count() for values in batch.m] == [1, 2, 2, 2]
