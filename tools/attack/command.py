"""One run of the command in a folder of its own, and the rules that hold for every command."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

TIME_OUT = 60
SAYS_ON_STDOUT = ("verify", "diff", "repair")


@dataclass
class Result:
    code: int  # negative: the signal
    stdout: bytes
    stderr: bytes
    timed_out: bool = False


@dataclass
class Case:
    """A command line, relative to its folder. Reading commands have neither outputs nor changes."""

    name: str
    args: list
    outputs: list = field(default_factory=list)  # new files or folders
    changes: list = field(default_factory=list)  # files that are changed in place
    code: int = 0  # what it ends with when nothing is wrong


def digest(path):
    """What stands under a name: a folder by its files, recursively; None: nothing."""
    if path.is_symlink() or not path.exists():
        return None
    if path.is_file():
        return hashlib.sha1(path.read_bytes()).hexdigest()
    return tuple((p.relative_to(path).as_posix(), digest(p)) for p in sorted(path.rglob("*")))


def snapshot(folder):
    return {p.name: digest(p) for p in folder.iterdir()}


class Tool:
    """How the command is started: which program, with which library in front of it."""

    def __init__(self, mldf, fail=None, scratch=None, env=None):
        self.mldf, self.fail, self.scratch, self.env = str(mldf), fail, scratch, env or {}

    def folder(self):
        return Path(tempfile.mkdtemp(prefix="box-", dir=self.scratch))

    def run(self, args, cwd, env=None):
        full = {
            **os.environ,
            "TMPDIR": str(cwd),
            "HOME": str(cwd),
            "XDG_CACHE_HOME": "/nowhere",
            **self.env,
            **(env or {}),
        }
        if self.fail:
            full["LD_PRELOAD"] = str(self.fail)
        try:
            done = subprocess.run(
                [self.mldf, *map(str, args)],
                cwd=cwd,
                env=full,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=TIME_OUT,
            )
        except subprocess.TimeoutExpired:
            return Result(-9, b"", b"", timed_out=True)
        return Result(done.returncode, done.stdout, done.stderr)


def check_end(report, part, case, result, again, codes=(0, 1, 2, 3)):
    """The rules of every end: no signal, a code of the list, words when it is not 0. True when they hold."""
    line = " ".join(map(str, case.args))
    if result.timed_out:
        report.found(part, "time-out", f"{line}: more than {TIME_OUT} s", again)
    elif result.code == 99 or b"Sanitizer" in result.stderr or b"runtime error:" in result.stderr:
        last = result.stderr.decode(errors="replace").strip().splitlines()
        report.found(part, "sanitizer", f"{line}: {next((s for s in last if 'SUMMARY' in s), last[-1:])}", again)
    elif result.code < 0 or result.code >= 126 and result.code != 130:
        report.found(part, "crash", f"{line}: exit code {result.code}", again)
    elif result.code not in codes:
        report.found(part, "exit", f"{line}: exit code {result.code}, {result.stderr[-200:]!r}", again)
    elif result.code and not (result.stderr.strip() or case.args[0] in SAYS_ON_STDOUT and result.stdout.strip()):
        report.found(part, "exit", f"{line}: exit code {result.code} without a message", again)
    else:
        return True
    return False


def check_folder(report, part, case, before, after, failed, again):
    """What a command may leave: outputs when it was fine, files that it was asked to change, and nothing else."""
    line = " ".join(map(str, case.args))
    for name in sorted(set(before) | set(after)):
        old, new = before.get(name), after.get(name)
        if old == new or name in ("fired", "counts"):
            continue
        if name in case.outputs:
            if failed:
                report.found(part, "leftover", f"{line} failed, and {name} is not what it was", again)
        elif name in case.changes:
            if failed and case.args[0] == "repair":
                report.note("repair in place mended the header or footer, then failed at a look at the rest")
            elif failed:
                report.found(part, "changed", f"{line} failed and changed {name}", again)
        elif old is None:
            report.found(part, "leftover", f"{line} left {name}", again)
        else:
            report.found(part, "changed", f"{line} changed {name}, which it only reads", again)


def remove(folder):
    shutil.rmtree(folder, ignore_errors=True)
