"""run_suite.py PEER SOURCES FOLDER [pytest's arguments]: a peer's own test suite, with its imports changed.

PEER is ffcv or turboloader; SOURCES is its unpacked source distribution; FOLDER gets a copy of its tests in which
``ffcv`` has become ``mldf.compat.ffcv`` and nothing else has changed. Data sets that the tests download are made up
(suite_conftest.py). suite_PEER.txt has the tests that do not pass, each with the reason; the run fails when another
one does, and when one of those does pass.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as tree
from pathlib import Path

HERE = Path(__file__).resolve().parent


def changed(text: str, peer: str) -> str:
    """The program with other imports."""
    text = text.replace("init_process_group('nccl'", "init_process_group('gloo'")  # processes without graphics cards
    text = re.sub(rf"\bfrom {peer}\b", f"from mldf.compat.{peer}", text)
    text = re.sub(rf"^(\s*)import {peer}(?=\s*(#|$))", rf"\1import mldf.compat.{peer} as {peer}", text, flags=re.M)
    text = re.sub(rf"^(\s*)import {peer}\.(\w+) as ", rf"\1import mldf.compat.{peer}.\2 as ", text, flags=re.M)
    text = re.sub(rf"^(\s*)import {peer} as ", rf"\1import mldf.compat.{peer} as ", text, flags=re.M)
    text = re.sub(rf"import_module\((['\"]){peer}\b", rf"import_module(\1mldf.compat.{peer}", text)
    return re.sub(rf"importorskip\((['\"]){peer}\b", rf"importorskip(\1mldf.compat.{peer}", text)


def expected(peer: str) -> dict[str, str]:
    """Test to reason; a name may end in *."""
    lines = (HERE / f"suite_{peer}.txt").read_text().splitlines()
    found = (line.split(None, 1) for line in lines if line.strip() and not line.startswith("#"))
    return dict(found)


def matching(test: str, names: dict[str, str]) -> str | None:
    """The line of the table that is about a test."""
    for name in names:
        if test == name or (name.endswith("*") and test.startswith(name[:-1])):
            return name
    return None


def main() -> int:
    """The exit code."""
    peer, sources, folder, more = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in sorted((sources / "tests").glob("*.py")):
        (folder / path.name).write_text(changed(path.read_text(), peer))
    shutil.copy(HERE / "suite_conftest.py", folder / "conftest.py")
    report = folder / "report.xml"
    options = ["-q", "-p", "no:cacheprovider", "--continue-on-collection-errors", f"--junitxml={report}", *more]
    command = [sys.executable, "-m", "pytest", *options]
    subprocess.run(command, cwd=folder, check=False)
    if not report.exists():
        return 2
    names, used, counts, wrong = expected(peer), set(), {"passed": 0, "failed": 0, "skipped": 0}, []
    for case in tree.parse(report).iter("testcase"):
        test = f"{case.get('classname')}::{case.get('name')}"
        bad = case.find("failure") is not None or case.find("error") is not None
        kind = "failed" if bad else "skipped" if case.find("skipped") is not None else "passed"
        counts[kind] += 1
        line = matching(test, names)
        if bad and line is None:
            wrong.append(f"fails: {test}")
        elif kind == "passed" and line is not None and not line.endswith("*"):
            wrong.append(f"passes, and suite_{peer}.txt says it does not: {test}")
        elif bad and line is not None:
            used.add(line)
    if not more:
        unused = [n for n in names if n not in used and "depends on the machine" not in names[n]]
        wrong += [f"no test failed by this line of suite_{peer}.txt: {n}" for n in unused]
    print(f"{peer}: {counts['passed']} passed, {counts['failed']} failed as suite_{peer}.txt says or below,"
          f" {counts['skipped']} skipped")
    print("\n".join(wrong) if wrong else f"{peer}: as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
