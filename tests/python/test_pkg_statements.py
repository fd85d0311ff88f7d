"""Keys and texts of pipelines= as the library parses them: names of every kind, statements, what is refused."""

import json

import mldf
import numpy as np
import pytest
from mldf import _mldf, statements

A, S = mldf.errors.ArgumentError, mldf.errors.SyntaxMistakeError


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("statements") / "a.mldf"
    fields = {n: mldf.NDArray("float32", (4, 5, 3)) for n in ("image", "my image", "odd`: \\name", "a, b")}
    with mldf.Writer(path, {**fields, "label": mldf.Int()}) as w:
        for i in range(6):
            w.append({**{n: np.full((4, 5, 3), 10 * k + i, np.float32) for k, n in enumerate(fields)}, "label": i})
    return str(path)


def batch(path, pipelines, **options):
    return next(iter(mldf.Loader(path, 6, pipelines=pipelines, threads=0, shuffle=False, **options)))


def test_statements_are_the_library_s():
    found = statements.parse("a, `b c` = [d, e.f] as mask: fill(2) | strings  # words\nx")
    assert [[o["name"] for o in s["outputs"]] for s in found] == [["a", "b c"], ["x"]]
    assert found[0]["outputs"][1] == {"name": "b c", "inputs": ["d", "e.f"], "list": True, "role": "mask"}
    assert found[0]["steps"][0] == {
        "name": "fill",
        "arguments": {"value": 2.0, "valid": False},
        "text": "fill(value=2.0, valid=false)",
    }
    assert found[1]["steps"] == []


def test_steps_have_every_parameter():
    seen = 0
    for name, _, _, parameters in _mldf.operations():
        try:
            steps = json.loads(_mldf.parse_pipeline(f"x: {name}"))[0]["steps"]
        except mldf.Error:  # it needs arguments
            continue
        assert list(steps[0]["arguments"]) == [p[0] for p in parameters], name
        assert _mldf.check_pipeline(f"x: {steps[0]['text']}") == f"x: {steps[0]['text']}"
        seen += 1
    assert seen > 40


def test_fields_of_any_name_are_keys(path):
    names = ("my image", "odd`: \\name", "a, b")
    got = batch(path, {n: [mldf.Cast("float64")] for n in names}, fields=[*names])
    assert got.names == names
    assert [got[n][2, 0, 0, 0] for n in names] == [12, 22, 32]
    assert got["a, b"].dtype == np.float64


def test_new_names_may_be_quoted(path):
    got = batch(path, {"`new: one` = image, small = label": [mldf.Cast("float64")]})
    assert got["new: one"].dtype == got.small.dtype == np.float64


def test_names_without_steps_are_fields_as_they_are(path):
    for key in ("image, label", "`image`, label", ("image", "label"), "image,label"):
        got = batch(path, {key: []}, fields=["image", "label"])
        assert got._fields == ("image", "label")
        assert got.image.dtype == np.float32
    doubled = batch(path, {"image, label": [lambda a: a * 2]}, fields=["image", "label"])
    assert doubled.label.tolist() == [0, 2, 4, 6, 8, 10]
    dropped = batch(path, {"image, `my image`": None})
    assert "image" not in dropped._fields
    assert "my image" not in dropped._fields


@pytest.mark.parametrize("key", ["", "  ", "= image", "123", ": image", "[image]"])
def test_a_key_names_an_output(path, key):
    with pytest.raises(A, match="names no output"):
        batch(path, {key: [mldf.Cast("float64")]})


@pytest.mark.parametrize(
    "key, kind, words",
    [
        ("one two", S, "expected ':' and steps, found"),
        ("new =", S, "expected a field, found ':'"),
        ("new = [image", S, "expected ',' or ']', found"),
        ("image: hflip", S, "expected '|' or the end of the statement, found ':'"),
        ("image as picture", S, "expected image, mask, boxes, points or flow, found"),
        ("x, x", A, "x is named twice in one statement"),
        ("new = image; label", A, "the left side of one statement is needed"),
        ("new = image # copy", A, "the left side of one statement is needed, without a comment"),
        ("index, label", A, "index is the name of an output of the loader's own"),
    ],
)
def test_other_keys_are_refused_in_the_library_s_words(path, key, kind, words):
    with pytest.raises(kind) as caught:
        batch(path, {key: [mldf.Cast("float64")]})
    assert words in str(caught.value)
    assert "column" not in str(caught.value)


def test_strings_after_own_operations_and_in_text(tmp_path):
    path = str(tmp_path / "t.mldf")
    with mldf.Writer(path, {"t": mldf.Text(), "n": mldf.NDArray("float32", (2,))}) as w:
        for i in range(3):
            w.append({"t": f"text {i}", "n": [i, 1]})
    twice = mldf.CSource(
        "int mldf_run(const float *in, float *out, const unsigned long long *dims, const double *arguments,"
        " const unsigned long long *random) { out[0] = 2 * in[0]; out[1] = 2 * in[1]; return 0; }"
    )
    words = [f"text {i}" for i in range(3)]
    got = next(iter(mldf.Loader(path, 3, pipelines={"t": [mldf.Strings()], "n": [twice]}, shuffle=False)))
    assert got.t == words
    assert got.n.tolist() == [[0, 2], [2, 2], [4, 2]]
    assert next(iter(mldf.Loader(path, 3, pipelines="t: strings # all", shuffle=False))).t == words
    again = mldf.Loader(path, 3, pipelines={"s = t": "strings"}, fields=["s"], shuffle=False)
    assert next(iter(again)).s == words
