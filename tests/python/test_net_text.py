"""The net, part three: the canonical text of every operation, and the parameters that it has, are those that tests/net/text.json says."""

import net_groups
import net_operations
import net_run
import pytest
from mldf import _mldf

TEXTS, OPERATIONS = (net_run.stored("text.json").get(name, {}) for name in ("canonical", "operations"))

GRAMMAR = [
    "image",
    "a = image; b = a: hflip  # comment",
    "image, seg as mask, box as boxes, pts as points: hflip(0.25)\n  | vflip",
    "xy = [x, `y z`]: stack(-1)",
    '`odd "näme" \\` \\\\`: expr("x + p0 * \\t 2", p=[1, 2.5e-3, -0])',
    "x = pose.in.b",
    "image as image: random_resized_crop(size=[1, 2], ratio=[1, 1])",
    "label: drop\nlabel2 = label: one_hot(3)",
    "x: scale(1e300) | scale(0.1) | scale(1e-7, 123456789) | scale(3.0000000000000004)",
    "image: pad([1, 2]) ; seg: pad(mask=true, length=3)",
]


def inputs():
    for name, (_, _, _, steps) in net_operations.STEPS.items():
        for step in steps:
            yield f"{'x = [a, b]' if name in ('concat', 'stack') else 'x'}: {step}"
    yield from (case.pipeline for case in net_groups.GROUPS)
    yield from GRAMMAR


def operation(entry):
    """Without the words that explain it."""
    name, _, random, parameters = entry
    return name, [f"random={random}", *(f"{p[0]} {p[1]} default={p[2]} choices={','.join(p[4])}" for p in parameters)]


def current(_):
    """What tests/net/write.py writes."""
    for text in inputs():
        yield "text.json", ["canonical", text], _mldf.check_pipeline(text)
    for entry in _mldf.operations():
        name, value = operation(entry)
        yield "text.json", ["operations", name], value


@pytest.mark.parametrize("text", dict.fromkeys(inputs()), ids=lambda t: t.replace("\n", "; ")[:60])
def test_canonical_text(text):
    got = _mldf.check_pipeline(text)
    assert got == TEXTS[text]
    assert _mldf.check_pipeline(got) == got


def test_parameters_of_operations():
    assert dict(map(operation, _mldf.operations())) == OPERATIONS


def test_no_text_is_lost():
    assert set(TEXTS) == set(inputs())
