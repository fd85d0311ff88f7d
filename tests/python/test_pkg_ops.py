"""Operations as classes: one for each of the library's, with its parameters; pipelines made of them."""

import inspect
import pathlib
import pickle
import sys

import mldf
import numpy as np
import pkg
import pytest
from mldf import _mldf, ops, pipeline

sys.path.insert(0, str(pathlib.Path(pkg.ROOT) / "tools"))
import make_operations

OPERATIONS = _mldf.operations()
SAMPLES = {"int": 3, "float": 0.25, "bool": True, "ints": (3, 4), "floats": (0.25, 0.5), "dtype": "f32", "text": "x"}

EITHER = {"replace_label": {"from": 3, "to": 4}}  # no parameter must be given, but one set of them


def cls(name):
    return getattr(ops, make_operations.class_name(name))


def test_there_is_a_class_for_every_operation_and_no_other():
    """Run tools/make_operations.py when this fails."""
    assert sorted(ops.__all__) == sorted(make_operations.class_name(o[0]) for o in OPERATIONS)
    assert all(getattr(mldf, name) is getattr(ops, name) for name in ops.__all__)
    top = set(ops.__all__) & set(mldf.__all__)  # the well-known ones; the others are not listed there
    assert {"RandomResizedCrop", "Normalize", "Pad", "Mel"} <= top < set(ops.__all__)
    assert not {"Poison", "GridMask"} & set(dir(mldf))


@pytest.mark.parametrize("operation", OPERATIONS, ids=[o[0] for o in OPERATIONS])
def test_classes_say_what_the_library_says(operation):
    """Run tools/make_operations.py when this fails."""
    name, help_text, _, parameters = operation
    kind = cls(name)
    assert kind.name == name and issubclass(kind, mldf.Operation)
    doc = " ".join((kind.__doc__ or "").split())
    assert " ".join(help_text.split()).rstrip(".").lower() in doc.lower()
    signature = list(inspect.signature(kind).parameters.values())
    assert [p.name.rstrip("_") for p in signature] == [p[0] for p in parameters]
    for (_, _, fallback, text, _), found in zip(parameters, signature):
        assert (fallback is None) == (found.default is inspect.Parameter.empty)
        assert " ".join(text.split()).lower() in doc.lower()


@pytest.mark.parametrize("operation", OPERATIONS, ids=[o[0] for o in OPERATIONS])
def test_defaults_are_the_librarys(operation):
    """With all defaults given explicitly the canonical text is the same as with none given."""
    name, _, _, parameters = operation
    required = [p for p in parameters if p[2] is None]
    for candidates in ((3, 0.25, (3, 4), (0.25, 0.5), "f32", "imagenet", "a"),):
        values = {}
        for parameter, kind, _, _, _ in required:
            for value in (SAMPLES.get(kind), *candidates):
                try:
                    _mldf.check_pipeline(f"x: {name}({parameter}={pipeline.literal(value, kind)})")
                except mldf.Error as error:
                    if f"{parameter}: wants" in str(error) or "is not between" in str(error) or "below" in str(error):
                        continue
                values[parameter] = value
                break
    values.update(EITHER.get(name, {}))
    given = {make_operations.KEYWORDS.get(k, k): v for k, v in values.items()}
    op = cls(name)(**given)
    every = [f"{p}={pipeline.literal(v, k)}" for (p, k, _), v in zip(op.parameters, op._values) if v not in ((), None)]
    full = f"{name}({', '.join(every)})" if every else name
    assert pipeline.canonical("x: " + full) == pipeline.canonical("x: " + op.text)


def test_text_and_repr():
    op = mldf.RandomResizedCrop(224, ratio=[1, 1], filter="bicubic")
    assert op.text == "random_resized_crop(224, ratio=[1, 1], filter=bicubic)"
    assert repr(op) == "RandomResizedCrop(224, ratio=[1, 1], filter='bicubic')"
    assert mldf.HorizontalFlip().text == "hflip" and repr(mldf.HorizontalFlip()) == "HorizontalFlip()"
    assert mldf.HorizontalFlip(0.5) == mldf.HorizontalFlip() != mldf.HorizontalFlip(1)
    assert len({mldf.Resize(8), mldf.Resize(8), mldf.Resize(9)}) == 2
    assert pickle.loads(pickle.dumps(op)) == op
    assert mldf.Resize(np.int64(7)).text == "resize(7)" and mldf.Resize(np.array([7, 8])).text == "resize([7, 8])"
    assert mldf.Resize(8, antialias=False).text == "resize(8, antialias=false)"
    assert mldf.ReplaceLabel(3, to=4).text == "replace_label(from=3, to=4)"
    assert mldf.ReplaceLabel(indices=np.array([7, 2]), label=0).text == "replace_label(indices=[7, 2], label=0)"
    assert mldf.Poison(7, 3, (9, 8, 7), y=2).text == "poison(7, 3, [9, 8, 7], y=2)"


@pytest.mark.parametrize(
    ("dtype", "word"),
    [
        (np.float32, "f32"),
        ("float16", "f16"),
        (np.dtype("u1"), "u8"),
        ("bfloat16", "bf16"),
        (bool, "bool"),
        (int, "i64"),
    ],
)
def test_element_types(dtype, word):
    assert mldf.Cast(dtype).text == f"cast({word})"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: mldf.ReplaceLabel(), "from and to must be given, or indices and label"),
        (lambda: mldf.ReplaceLabel(3, label=4), "to must be given with from"),
        (lambda: mldf.RandomResizedCrop("large"), r"RandomResizedCrop\('large'\): size: wants a number"),
        (lambda: mldf.Resize((1, 2, 3)), r"Resize\(\(1, 2, 3\)\): size: wants 1 to 2 numbers"),
        (lambda: mldf.HorizontalFlip(2), r"HorizontalFlip\(p=2\): p: 2 is not between 0 and 1"),
        (lambda: mldf.Resize(8, "bilinaer"), "did you mean bilinear"),
        (lambda: mldf.Cast("flaot32"), "dtype: wants an element type"),
        (lambda: mldf.Resize(None), "size: a number, a list of numbers or text is needed, not NoneType"),
    ],
)
def test_wrong_parameters_fail_when_the_operation_is_made(make, words):
    with pytest.raises((mldf.errors.ArgumentError, mldf.errors.WrongTypeError), match=words):
        make()


def test_text_cannot_be_smuggled_in():
    with pytest.raises(mldf.Error):
        mldf.Resize(8, "bilinear) | chw(f32")
