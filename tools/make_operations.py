#!/usr/bin/env python3
"""Writes python/mldf/ops.py: a class for every operation that the library knows, with its parameters and their help.

    PYTHONPATH=... python3 tools/make_operations.py [OUT]

The package that is imported says what there is. tests/python/test_pkg_ops.py fails when the file is out of date.
"""

import ast
import pathlib
import sys
import textwrap

from mldf import _mldf

# Where the class is not the operation's name in CamelCase.
CLASSES = {
    "hflip": "HorizontalFlip",
    "vflip": "VerticalFlip",
    "chw": "CHW",
    "hwc": "HWC",
    "randaugment": "RandAugment",
    "trivialaugment": "TrivialAugment",
    "autoaugment": "AutoAugment",
    "cutmix": "CutMix",
    "mixup": "MixUp",
    "label_mixup": "LabelMixUp",
    "autocontrast": "AutoContrast",
    "stft": "STFT",
    "mfcc": "MFCC",
    "mlm": "MLM",
}
TYPES = {
    "int": "int",
    "float": "float",
    "bool": "bool",
    "choice": "str",
    "text": "str",
    "ints": "Ints",
    "floats": "Floats",
    "dtype": "Any",
}
# A loader's dataset says what these are unless the operation does: here not saying is something else than the default.
UNSAID = {("decode", "channels"), ("decode", "orient")}
KEYWORDS = {"from": "from_", "lambda": "lambda_", "is": "is_", "in": "in_"}

HEAD = '''"""Every operation of the library as a class. Written by tools/make_operations.py from what the library says of itself.

The well-known ones are also names of :mod:`mldf` itself: ``mldf.RandomResizedCrop(224)``. Mistakes in the parameters
are reported when the object is made; whether the operation fits the field, when the loader is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Union

from .pipeline import Operation

Ints = Union[int, Sequence[int]]
Floats = Union[float, str, Sequence[float]]

'''


def class_name(name):
    return CLASSES.get(name) or "".join(part.capitalize() for part in name.split("_"))


def default(text, kind):
    """The default of a parameter as Python writes it."""
    if text is None:
        return None
    if text == "" and kind in ("ints", "floats"):
        return "()"  # none given
    if text == "" and kind in ("int", "float"):
        return "None"
    if text in ("true", "false"):
        return text.capitalize()
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return repr(text).replace("'", '"')
    if kind in ("float", "floats") and isinstance(value, int):
        return repr(value)
    return repr(tuple(value) if isinstance(value, list) else value)


def unsaid(name, parameter):
    """With None as its default in Python, where there is another in the library."""
    word, kind, fallback, help_line, choices = parameter
    if (name, word) not in UNSAID:
        return parameter
    return word, kind, "None", f"{help_line}; None: as the dataset was opened", choices


def write_class(name, help_text, random, parameters):
    parameters = [unsaid(name, p) for p in parameters]
    title = help_text[:1].upper() + help_text[1:] + ("" if help_text.endswith(".") else ".")
    lines = [f"class {class_name(name)}(Operation):"]
    doc = textwrap.wrap(title, 112)
    doc[0] = '    """' + doc[0]
    doc[1:] = ["    " + line for line in doc[1:]]
    if parameters:
        doc += ["", "    Parameters", "    ----------"]
        for parameter, kind, _, help_line, choices in parameters:
            about = (help_line or kind) + (f" ({', '.join(choices)})" if choices else "")
            about = about[:1].upper() + about[1:] + ("" if about.endswith(".") else ".")
            doc.append(f"    {KEYWORDS.get(parameter, parameter)}")
            doc += textwrap.wrap(about, 116, initial_indent=" " * 8, subsequent_indent=" " * 8)
        doc.append('    """')
    else:
        doc[-1] += '"""'
    lines += [line.replace("\\", "\\\\") for line in doc]
    rows = ", ".join(f'("{p}", "{k}", {default(d, k) or "..."})' for p, k, d, _, _ in parameters)
    lines.append("")
    lines.append(f'    name: ClassVar[str] = "{name}"')
    if parameters:
        comma = "," if len(parameters) == 1 else ""
        lines.append(f"    parameters: ClassVar[tuple[tuple[str, str, Any], ...]] = ({rows}{comma})")
        arguments, passed = [], []
        for parameter, kind, fallback, _, _ in parameters:
            safe = KEYWORDS.get(parameter, parameter)
            value = default(fallback, kind)
            note = TYPES[kind]
            if value is not None and value[0] == '"' and kind in ("int", "float", "ints", "bool"):
                note += " | str"
            if value == "None":
                note += " | None"
            arguments.append(f"{safe}: {note}" + ("" if value is None else f" = {value}"))
            passed.append(safe)
        lines.append("")
        lines.append(f"    def __init__(self, {', '.join(arguments)}) -> None:")
        lines.append(f"        super().__init__({', '.join(passed)})")
    else:
        lines.append("")
        lines.append("    def __init__(self) -> None:")
        lines.append("        super().__init__()")
    return "\n".join(lines) + "\n"


def generate():
    operations = sorted(_mldf.operations(), key=lambda o: class_name(o[0]))
    names = [class_name(o[0]) for o in operations]
    listing = "__all__ = [\n" + "".join(f'    "{n}",\n' for n in names) + "]\n\n\n"
    return HEAD + listing + "\n\n".join(write_class(*o) for o in operations)


if __name__ == "__main__":
    root = pathlib.Path(__file__).resolve().parents[1]
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else root / "python" / "mldf" / "ops.py"
    out.write_text(generate())
