"""Headers of another day: copies of include/mldf in which each struct that may grow has one member less, or one more.

    older_headers.py older|newer SOURCE TARGET

older: each struct that begins with struct_bytes has lost its last member, and its _INIT macro the value for it, as if the member had been
appended since. newer: each has got a member `tomorrow`. older.c is compiled against both and runs with the library as it is.
"""

import re
import shutil
import sys
from pathlib import Path

STRUCT = re.compile(r"typedef struct (\w+) \{\n    size_t struct_bytes;\n(.*?)\n\} \1;\n#define (\w+_INIT) ((?:[^\n]*\\\n)*[^\n]*\n)", re.DOTALL)
# Structs of hooks, which programs fill in: their first versions are a matter of their own (tests/unit/field/test_context.c).
HOOKS = {"mldf_type", "mldf_operation"}


def without_comments(text):
    return re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.DOTALL)


def values_of(macro):
    """The values of an _INIT macro, in order."""
    body = macro.replace("\\\n", " ").strip()
    values, depth, now = [], 0, ""
    for c in body[1:-1]:
        depth += (c == "{") - (c == "}")
        if c == "," and depth == 0:
            values.append(now.strip())
            now = ""
        else:
            now += c
    return [*values, now.strip()]


def change(match, newer):
    name, body, macro, values = match[1], match[2], match[3], values_of(match[4])
    if name in HOOKS:
        return match[0]
    if newer:
        body += "\n    uint64_t tomorrow;"
        values.append("0")
    else:
        members = without_comments(body).rstrip()
        assert members.endswith(";"), name
        begin = members.rfind(";", 0, -1) + 1
        comma = members.rfind(",")
        body = members[:comma] + ";" if comma > begin else members[:begin]
        values = values[:-1]
    return f"typedef struct {name} {{\n    size_t struct_bytes;\n{body}\n}} {name};\n#define {macro} {{ {', '.join(values)} }}\n"


def main():
    kind, source, target = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    shutil.copytree(source, target)
    changed = 0
    for header in target.glob("*.h"):
        text, count = STRUCT.subn(lambda m: change(m, kind == "newer"), header.read_text())
        header.write_text(text)
        changed += count
    if changed < 25:
        sys.exit(f"older_headers.py: only {changed} structs were found")
    print(f"{kind}: {changed} structs")


main()
