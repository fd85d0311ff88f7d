"""Writes descr_cases.h: what NumPy says of random structs, for test_inline.c. Run again only to change the cases:

    python3 tests/unit/field/make_descr_cases.py > tests/unit/field/descr_cases.h
"""
import json
import random

import numpy as np

PLAIN = ["|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16"]
rng = random.Random(20)


def plain():
    if rng.random() < 0.75:
        return rng.choice(PLAIN)
    return rng.choice(["|S%d", "<U%d", "|V%d"]) % rng.randint(1, 9)


def shape(most):
    return tuple(rng.randint(1, 3) for _ in range(rng.randint(0, most) if rng.random() < 0.4 else 0))


def struct(depth, dims):
    members = []
    for i in range(rng.randint(1, 4)):
        extent = shape(min(2, 8 - dims))
        kind = struct(depth + 1, dims + len(extent)) if depth < 4 and rng.random() < 0.25 else plain()
        members.append((rng.choice("abcxyz") + str(i), kind, extent))
    return np.dtype(members, align=rng.random() < 0.6)


def as_json(descr):
    """NumPy's tuples as lists; a member's type is a text or again a list."""
    out = []
    for name, kind, *extent in descr:
        out.append([name, as_json(kind) if isinstance(kind, list) else kind] + [list(e) for e in extent if e])
    return out


def leaves(view, base, path):
    if view.dtype.names is None:
        yield path, view.dtype, view.__array_interface__["data"][0] - base, view.shape, view.strides
        return
    for name in view.dtype.names:
        yield from leaves(view[name], base, f"{path}.{name}" if path else name)


def elements(offset, extent, strides):
    return [offset + int(np.dot(i, strides)) for i in np.ndindex(*extent)] if extent else [offset]


def case(dtype):
    array = np.zeros((), dtype)
    found = list(leaves(array, array.__array_interface__["data"][0], ""))
    largest = max(t.alignment for _, t, *_ in found)
    aligned = all(at % t.alignment == 0 for _, t, o, e, s in found for at in elements(o, e, s))
    align = largest if aligned and dtype.itemsize % largest == 0 else 1
    numbers = ",".join
    text = "".join(f"{p}:{t.str}:{o}:{t.itemsize}:{numbers(map(str, e))}:{numbers(map(str, s))};"
                   for p, t, o, e, s in found)
    return json.dumps(as_json(dtype.descr), separators=(",", ":")), dtype.itemsize, align, text


print("/* Made by make_descr_cases.py with NumPy: descr, itemsize, alignment by our rule, and the leaves as\n"
      " * path:type:offset:itemsize:dims:strides; one after the other. */\n"
      "#include <stdint.h>\n\n/* clang-format off */")
print("static const struct descr_case {\n    const char *descr;\n    uint32_t itemsize, align;\n    const char *leaves;\n"
      "} descr_cases[] = {")
made = 0
while made < 150:
    dtype = struct(1, 0)
    if dtype.itemsize <= 4096:
        descr, itemsize, align, text = case(dtype)
        if len(text) < 1500:
            print(f"    {{{json.dumps(descr)}, {itemsize}, {align},\n     {json.dumps(text)}}},")
            made += 1
print("};")
