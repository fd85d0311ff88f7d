#!/usr/bin/env python3
"""Has the binary interface of libmldf changed? Compares include/mldf with its dump, tools/libmldf.abi, by abidiff (Debian: abigail-tools).

    tools/check_abi.py               fails when programs that were compiled before would notice; `make lint` runs it
    tools/check_abi.py --refresh     writes the dump (`make abi`): after additions, and when VERSION has raised the soname
    tools/check_abi.py --self-test

What is compared is a library with the functions of the headers and empty bodies: it has the public types alone and needs no build. That the
real library exports these functions is the test package/symbols. Allowed are new functions and enumerators, and new members of structs that begin
with struct_bytes, behind all others and not in the padding at the end, which old programs have and never set (mldf/base.h states the rule).
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DUMP = ROOT / "tools" / "libmldf.abi"
QUIET = ["--type-id-style", "hash", "--no-show-locs", "--no-comp-dir-path", "--no-corpus-path", "--no-elf-needed", "--no-architecture"]


def dump(include: Path, soname: str, work: Path) -> Path:
    """The dump of the headers in a folder."""
    text = "".join(header.read_text() for header in sorted((include / "mldf").glob("*.h")))
    declared = re.findall(r"^MLDF_API[^;]*;", text, re.MULTILINE)
    stub, library, out = work / "stub.c", work / "libmldf.so", work / "now.abi"
    stub.write_text('#include "mldf/mldf.h"\n' + "".join(f"{d[:-1]} {{ __builtin_trap(); }}\n" for d in declared))
    compiler = os.environ.get("CC", "cc").split()
    subprocess.run([*compiler, "-std=c11", "-g", "-fPIC", "-shared", "-w", f"-I{include}", f"-Wl,-soname,{soname}", "-o", library, stub], check=True)
    text = subprocess.run(["abidw", *QUIET, library], check=True, capture_output=True, text=True).stdout
    out.write_text(text.replace(f"path='{work}/", "path='"))  # the dump names no folder of the machine that made it
    return out


def sized(include: Path) -> set[str]:
    """Structs that begin with struct_bytes."""
    text = "".join(header.read_text() for header in (include / "mldf").glob("*.h"))
    return set(re.findall(r"typedef struct (\w+) \{\s*size_t struct_bytes;", text))


def problems(report: str, may_grow: set[str]) -> list[str]:
    """What programs would notice, of the leaf changes that abidiff reports. [] also when nothing changed."""
    found = []
    for block in re.split(r"\n\n+", report.strip()):
        lines = [line for line in block.splitlines() if "summary:" not in line and line.strip()]
        if not lines or lines[0].startswith("ELF SONAME changed"):
            continue
        if grown := re.match(r"'struct (\w+)' changed:", lines[0]):
            size = re.search(r"type size changed from (\d+) to", lines[1])
            # Bytes called reserved fill the old padding, so that what follows them lies beyond it.
            inserted = [re.search(r"', at offset (\d+) \(in bits\)", line) for line in lines[3:] if not re.match(r"\s+'bool reserved\[\d+\]', at", line)]
            only = bool(re.match(r"\s+\d+ data member insertions?:", lines[2])) if len(lines) > 2 else False
            if grown[1] in may_grow and size and only and all(i and int(i[1]) >= int(size[1]) for i in inserted):
                continue
            if grown[1] in may_grow and size and only:
                lines.append("  a new member lies in the padding at the end, which old programs never set: put explicit bytes in front of it")
        elif re.match(r"'enum \w+' changed:", lines[0]) and re.match(r"\s+\d+ enumerator insertions?:", lines[2]):
            if not re.search(r"enumerator (changes?|deletions?)", block):
                continue
        found.append("\n".join(lines))
    return found


def compare(before: Path, now: Path, may_grow: set[str]) -> list[str]:
    run = subprocess.run(["abidiff", "--no-added-syms", "--leaf-changes-only", before, now], capture_output=True, text=True)
    if run.returncode & 3:
        raise SystemExit(f"abidiff: {run.stderr}")
    return problems(run.stdout, may_grow)


def self_test(work: Path) -> int:
    """Changes that must be found, and additions that must not."""
    include, wrong = work / "include", 0
    before = work / "before.abi"
    shutil.copy(dump(ROOT / "include", "libmldf.so.test", work), before)
    for harmless, name, old, new in (
        (True, "writer.h", "} mldf_write_result;", "    uint64_t more;\n} mldf_write_result;"),
        (True, "base.h", "    MLDF_E_SYNTAX = -57", "    MLDF_E_MORE = -58,\n    MLDF_E_SYNTAX = -57"),
        (False, "writer.h", "} mldf_writer_options;", "    bool more;\n} mldf_writer_options;"),
        (False, "base.h", "} mldf_error;", "    uint64_t more;\n} mldf_error;"),
        (False, "writer.h", "    uint64_t page_size;", "    uint32_t page_size;"),
        (False, "writer.h", "mldf_writer_cancel(mldf_writer *writer)", "mldf_writer_cancel(mldf_writer *writer, int how)"),
        (False, "writer.h", "mldf_writer_cancel(", "mldf_writer_end("),
        (False, "loader.h", "MLDF_BAD_SKIP = 1", "MLDF_BAD_SKIP = 4"),
    ):
        shutil.rmtree(include, ignore_errors=True)
        shutil.copytree(ROOT / "include", include)
        text = (include / "mldf" / name).read_text()
        assert old in text, old
        (include / "mldf" / name).write_text(text.replace(old, new, 1))
        found = compare(before, dump(include, "libmldf.so.test", work), sized(include))
        if bool(found) == harmless:
            wrong += 1
            print(f"check_abi.py --self-test: {new!r} in {name}: {found or 'not found'}")
    return wrong


def main() -> int:
    if not shutil.which("abidiff") or not shutil.which("abidw"):
        print("check_abi.py: no abidiff, so the binary interface was NOT checked (Debian: apt-get install abigail-tools)")
        return 0
    soname = "libmldf.so." + ".".join((ROOT / "VERSION").read_text().strip().split(".")[:2])
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        if "--self-test" in sys.argv:
            return 1 if self_test(work) else 0
        now = dump(ROOT / "include", soname, work)
        if "--refresh" in sys.argv:
            shutil.copy(now, DUMP)
            return 0
        found = compare(DUMP, now, sized(ROOT / "include"))
    for text in found:
        print(text, end="\n\n")
    if found:
        print(
            f"check_abi.py: the binary interface differs from {DUMP.relative_to(ROOT)}: programs that were compiled before would notice.\n"
            "Where it must be: raise VERSION, say in CHANGELOG.md what to write instead, then make abi."
        )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
