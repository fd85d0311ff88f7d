#!/usr/bin/env python3
"""Keeps the arrows of docs/architecture.md: who may include whom, and what a library may never call.

    tools/check_layers.py [ROOT]      checks the tree; prints file:line for every breach; exits with 1 when there is one
    tools/check_layers.py --self-test checks the checker

A layer is a folder of src/. `#include "layer/name.h"` must name a layer that ALLOWED lists for the includer's own. The
command (cli/), the examples and the extension module (python/) see include/mldf alone.
"""
import pathlib
import re
import sys
import tempfile

BASE = {"util"}
FIELD = BASE | {"format", "codec", "kernel", "field"}
READER = FIELD | {"os", "reader"}
WRITER = READER | {"writer", "tokenizer"}
TOOL = WRITER | {"tool"}
ITEMS = READER | {"items", "order"}
ORDER = BASE | {"order"}
PIPELINE = FIELD | {"os", "order", "pipeline"}

ALLOWED = {
    "util": BASE,
    "os": BASE | {"os"},
    "format": BASE | {"format"},
    "codec": BASE | {"os", "codec"},  # av.c opens modules
    "kernel": BASE | {"kernel"},
    "tokenizer": BASE | {"os", "tokenizer"},
    "field": FIELD,
    "reader": READER,
    "writer": WRITER,  # append reads the old file
    "interop": WRITER | {"interop"},
    "tool": TOOL | {"interop"},
    "items": ITEMS,
    "order": ORDER,
    "pipeline": PIPELINE,
    "loader": TOOL | {"interop", "items", "order", "pipeline", "loader"},
}

# Not the library's business: output, ending the process, the environment.
FORBIDDEN = ("printf fprintf vprintf vfprintf dprintf puts fputs putchar fputc perror exit _exit _Exit quick_exit abort "
             "getenv secure_getenv setenv").split()
CALL = re.compile(r"(?<![\w.>])(%s)\s*\(" % "|".join(FORBIDDEN))
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^">]+)[">]', re.M)
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def blank(match):
    """The same number of lines, nothing on them."""
    return re.sub(r"[^\n]", " ", match.group())


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def check_file(root, path):
    relative = path.relative_to(root)
    text = path.read_text(encoding="utf-8")
    top = relative.parts[0]
    layer = relative.parts[1] if top == "src" and len(relative.parts) > 2 else None
    # Comments go away for the includes, strings as well for the calls.
    no_comments = re.sub(r"//[^\n]*|/\*.*?\*/", blank, text, flags=re.S)
    for match in INCLUDE.finditer(no_comments):
        name = match.group(2)
        where = f"{relative}:{line_of(text, match.start())}"
        if name.startswith("mldf/"):
            if not (root / "include" / name).is_file():
                yield f"{where}: <{name}> is no public header"
            continue
        if match.group(1) == "<":
            continue
        folder, _, _ = name.partition("/") if "/" in name else ("", "", "")
        if ".." in name.split("/"):
            yield f'{where}: "{name}" climbs out of its folder'
        elif top == "src":
            target = folder or layer
            if target not in ALLOWED:
                yield f'{where}: "{name}" names no layer of src/'
            elif target not in ALLOWED[layer]:
                yield f'{where}: {layer} may not include {target} ("{name}")'
        elif top == "include":
            if folder:
                yield f'{where}: a public header includes "{name}"'
        elif folder in ALLOWED:
            yield f'{where}: {top} may include only mldf/*.h ("{name}")'
    if top == "src":
        for match in CALL.finditer(NOISE.sub(blank, text)):
            yield f"{relative}:{line_of(text, match.start())}: the library calls {match.group(1)}"


def check(root):
    files, problems = 0, []
    layers = [p.name for p in sorted((root / "src").iterdir()) if p.is_dir()] if (root / "src").is_dir() else []
    for name in layers:
        if name not in ALLOWED:
            problems.append(f"src/{name}: not a layer that tools/check_layers.py knows")
    for top in ("src", "cli", "include", "examples", "python"):
        for path in sorted((root / top).rglob("*.[ch]")):
            parts = path.relative_to(root).parts
            if top == "src" and (len(parts) < 3 or parts[1] not in ALLOWED):
                if len(parts) < 3:
                    problems.append(f"{path.relative_to(root)}: stands in no layer")
                continue
            files += 1
            problems.extend(check_file(root, path))
    return files, problems


def self_test():
    cases = [
        ("src/util/a.c", '#include "util/b.h"\n#include <stdio.h>\n', []),
        ("src/util/a.c", '#include "os/file.h"\n', ["src/util/a.c:1: util may not include os"]),
        ("src/format/a.c", '\n# include "os/file.h"\n', ["src/format/a.c:2: format may not include os"]),
        ("src/reader/a.c", '#include "writer/w.h"\n', ["reader may not include writer"]),
        ("src/writer/a.c", '#include "reader/r.h"\n#include "own.h"\n', []),
        ("src/tool/a.c", '#include "loader/l.h"\n', ["tool may not include loader"]),
        ("src/order/a.c", '#include "field/f.h"\n', ["order may not include field"]),
        ("src/util/a.c", '/* #include "os/file.h" */\n', []),
        ("src/util/a.c", '#include "../os/file.h"\n', ["climbs out"]),
        ("src/odd/a.c", "int x;\n", ["src/odd: not a layer"]),
        ("cli/main.c", '#include "mldf/mldf.h"\n#include "args.h"\nint f(void) { puts("x"); }\n', []),
        ("cli/main.c", '#include "util/bytes.h"\n', ["cli may include only"]),
        ("cli/main.c", '#include "mldf/none.h"\n', ["no public header"]),
        ("include/mldf/x.h", '#include "util/bytes.h"\n', ["a public header includes"]),
        ("src/util/a.c", 'void f(void) { /* exit(1) */ g("abort()"); }\n', []),
        ("src/util/a.c", "void f(void) {\n    abort();\n}\n", ["src/util/a.c:2: the library calls abort"]),
        ("src/util/a.c", "void f(void) { h->exit(1); snprintf(a, 1, b); my_puts(1); }\n", []),
        ("src/util/a.c", 'char *s(void) { return getenv("X"); }\n', ["the library calls getenv"]),
    ]
    failed = 0
    for path, text, expected in cases:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name in (path, "include/mldf/mldf.h"):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text if name == path else "")
            _, got = check(root)
        if len(got) != len(expected) or any(e not in g for e, g in zip(expected, got)):
            failed += 1
            print(f"self-test: {path} {text!r}: expected {expected}, got {got}")
    print(f"check_layers: {len(cases)} cases, {failed} failed")
    return 1 if failed else 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    if len(arguments) > 1 or (arguments and arguments[0].startswith("-")):
        print(__doc__, file=sys.stderr)
        return 2
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).resolve().parent.parent
    files, problems = check(root)
    for problem in problems:
        print(problem)
    print(f"check_layers: {files} files, {len(problems)} breaches")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
