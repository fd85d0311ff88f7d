#!/usr/bin/env python3
"""Runs what README.md and the guides show, as it stands there.

    tests/readme/run.py [FILE.md...]      default: README.md, python/README.md, docs/quickstart.md and docs/guides/*.md

For each document, in an empty folder: its ```sh blocks, in order, in one shell that stops at the first failure, with the
command mldf on PATH; its ```json blocks that follow a line `<!-- file: NAME -->` are written to NAME first; its ```c
blocks are compiled (C99, warnings are errors, static library; and as C++, where there is a compiler for it) and run after the shell
blocks; its ```python blocks run then, as one
program, with the Python of MLDF_PYTHON or .venv (`make python`); without a package mldf there they are left out, and a line says
so. The shell blocks of README.md run twice in one folder. A block after a line that begins `<!-- not run` is left out; one after `<!-- torch` needs PyTorch. From the environment: MLDF
(the command), MLDF_SOURCE_DIR, MLDF_BUILD_DIR, CC, CXX, MLDF_PYTHON.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ.get("MLDF_SOURCE_DIR") or pathlib.Path(__file__).resolve().parents[2])
BLOCK = re.compile(r"(?:^<!-- (?P<mark>[^\n]*?) -->\n+)?^```(?P<language>\w+)\n(?P<body>.*?)^```$", re.M | re.S)


def blocks(text):
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("body")) + 1
        yield match["language"], match["mark"] or "", match["body"], line


def has_module(python, module):
    return os.access(python, os.X_OK) and subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0


def run_python(path, parts, folder, environment):
    """Returns the number of blocks that ran."""
    python = os.environ.get("MLDF_PYTHON") or str(ROOT / ".venv/bin/python")
    if not has_module(python, "mldf"):
        print(f"readme: {path.name}: {len(parts)} Python blocks SKIPPED: no package mldf in .venv (make python)")
        return 0
    if not has_module(python, "torch"):
        left = [part for part in parts if not part[2].startswith("torch")]
        if len(left) < len(parts):
            print(f"readme: {path.name}: {len(parts) - len(left)} Python blocks SKIPPED: no PyTorch in .venv (make torch)")
        parts = left
    # Each block where it stands in the document, so that an error shows its line there.
    program = ""
    for line, body, _ in parts:
        program += "\n" * (line - 1 - program.count("\n")) + body
    source = pathlib.Path(folder, path.stem + "_blocks.py")
    source.write_text(program, encoding="utf-8")
    print(f"--- {path.name}: {len(parts)} Python blocks", flush=True)
    # torch says so where there are fewer processors than a page asks for workers.
    workers = "ignore:This DataLoader will create:UserWarning"
    subprocess.run([python, "-W", "error", "-W", workers, str(source)], cwd=folder, env=environment, check=True)
    return len(parts)


def check_cxx(source):
    """The library says that it is for C++ too: so are its examples."""
    compiler = shutil.which(os.environ.get("CXX") or "c++")
    for standard in ("c++11", "c++17") if compiler else ():
        subprocess.run([compiler, f"-std={standard}", "-x", "c++", "-Wall", "-Wextra", "-pedantic", "-Werror", "-DMLDF_STATIC",
                        f"-I{ROOT}/include", "-fsyntax-only", str(source)], check=True)


def run_document(path, mldf, build, compiler):
    """Returns the number of blocks that ran; raises on failure."""
    shell, programs, scripts, count = [], [], [], 0
    with tempfile.TemporaryDirectory(prefix="mldf-readme-") as folder:
        for language, mark, body, line in blocks(path.read_text(encoding="utf-8")):
            if mark.startswith("not run"):
                continue
            if mark.startswith("file: "):
                pathlib.Path(folder, mark[6:].strip()).write_text(body, encoding="utf-8")
                count += 1
            elif language == "sh":
                shell.append(f"echo '--- {path.name}:{line}'\n{body}")
                count += 1
            elif language == "c":
                programs.append((line, body))
                count += 1
            elif language == "python":
                scripts.append((line, body, mark))
        environment = dict(os.environ, PATH=f"{pathlib.Path(mldf).parent}{os.pathsep}{os.environ['PATH']}")
        if shell:
            script = "set -euo pipefail\n" + "\n".join(shell)
            for _ in range(2 if path.name == "README.md" and path.parent == ROOT else 1):  # a reader tries again, in the same folder
                subprocess.run(["bash", "-c", script], cwd=folder, env=environment, check=True)
        for line, body in programs:
            source, program = pathlib.Path(folder, "example.c"), pathlib.Path(folder, "example")
            source.write_text(f'#line {line} "{path.name}"\n{body}', encoding="utf-8")
            libraries = subprocess.run(["pkg-config", "--libs", "libzstd", "libxxhash", "zlib", "libjpeg", "spng"],
                                       check=True, capture_output=True, text=True).stdout.split()
            for optional in ("libsodium", "liblz4", "libwebp", "libtiff-4", "flac", "libmpg123", "opus", "vorbis", "liblzma"):
                found = subprocess.run(["pkg-config", "--libs", optional], capture_output=True, text=True)
                libraries += found.stdout.split() if found.returncode == 0 else []
            if "-lbz2" in pathlib.Path(build, "mldf.pc").read_text(encoding="utf-8"):
                libraries.append("-lbz2")
            subprocess.run([*compiler.split(), "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-DMLDF_STATIC",
                            f"-I{ROOT}/include", str(source), f"{build}/lib/libmldf.a", *libraries, "-pthread", "-lm",
                            *os.environ.get("LDFLAGS", "").split(), "-o", str(program)], check=True)
            check_cxx(source)
            print(f"--- {path.name}:{line}", flush=True)
            subprocess.run([str(program)], cwd=folder, check=True)
        if scripts:
            count += run_python(path, scripts, folder, environment)
    return count


def main(arguments):
    mldf = os.environ.get("MLDF") or str(ROOT / "build/dev/bin/mldf")
    build = os.environ.get("MLDF_BUILD_DIR") or str(ROOT / "build/dev")
    paths = [pathlib.Path(a) for a in arguments] or [
        ROOT / "README.md", ROOT / "python/README.md", ROOT / "docs/quickstart.md", *sorted((ROOT / "docs/guides").glob("*.md"))]
    if not os.access(mldf, os.X_OK):
        print(f"readme: no command at {mldf}; build it first", file=sys.stderr)
        return 3
    total = 0
    for path in paths:
        sys.stdout.flush()
        try:
            total += run_document(path, os.path.abspath(mldf), os.path.abspath(build), os.environ.get("CC") or "cc")
        except subprocess.CalledProcessError as error:
            print(f"readme: {path}: a block failed with {error.returncode}", file=sys.stderr)
            return 1
    print(f"readme: {total} blocks of {len(paths)} documents ran")
    return 0 if total else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
