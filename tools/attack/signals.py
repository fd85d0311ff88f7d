"""Signals at random times: SIGINT and SIGKILL while a command that takes a while is at work."""

import os
import signal
import subprocess
import time

from command import Case, remove, snapshot
from corpus import write_jsonl

PART = "signals at random times"
ROWS = 4000


def cases():
    yield Case("pack", ["pack", "big.jsonl", "-o", "out.mldf"], ["out.mldf"])
    yield Case("pack -f", ["pack", "-f", "big.jsonl", "-o", "big.mldf"], ["big.mldf"])
    yield Case("append", ["append", "big.mldf", "big.jsonl"], changes=["big.mldf"])
    yield Case("add-field", ["add-field", "big.mldf", "extra=extra.csv"], changes=["big.mldf"])
    yield Case("repack in place", ["repack", "big.mldf"], changes=["big.mldf"])
    yield Case("repack", ["repack", "big.mldf", "-o", "out.mldf"], ["out.mldf"])
    yield Case("convert", ["convert", "big.mldf", "-o", "out.tar"], ["out.tar"])
    yield Case("convert tar.gz", ["convert", "big.mldf", "-o", "out.tar.gz"], ["out.tar.gz"])
    yield Case(
        "split", ["split", "big.mldf", "-o", "part{}.mldf", "--fractions", "0.5,0.5"], ["part0.mldf", "part1.mldf"]
    )
    yield Case("merge", ["merge", "big.mldf", "big.mldf", "-o", "out.mldf"], ["out.mldf"])
    yield Case("repair -o", ["repair", "big.mldf", "-o", "out.mldf"], ["out.mldf"])
    yield Case("extract", ["extract", "big.mldf", "-o", "dir"], ["dir"])


class Signals:
    """One case: how long it takes, and runs that are ended early."""

    def __init__(self, attack, template, case):
        self.attack, self.template, self.case = attack, template, case
        folder = self.folder()
        begin = time.monotonic()
        done = attack.tool.run(case.args, folder)
        self.seconds = time.monotonic() - begin
        self.fine = done.code == 0
        if not self.fine:
            attack.report.note(f"{case.name} cannot be tried: {done.stderr[-100:]!r}")
        self.samples = {self.count(folder, name) for name in case.changes}
        remove(folder)

    def folder(self):
        folder = self.attack.tool.folder()
        for source in self.template.iterdir():
            if source.name == "big.mldf":
                (folder / source.name).write_bytes(source.read_bytes())
            else:
                os.link(source, folder / source.name)
        return folder

    def count(self, folder, name):
        done = self.attack.tool.run(["cat", "--json", "--fields", "label", name], folder)
        return (done.code, done.stdout.count(b"\n"))

    def run(self, number):
        random, case = self.attack.random(number), self.case
        with_kill, delay = random.random() < 0.5, random.random() * self.seconds * 1.1
        sent = signal.SIGKILL if with_kill else signal.SIGINT
        folder = self.folder()
        before = snapshot(folder)
        old = {self.count(folder, name) for name in case.changes}
        env = {**os.environ, "TMPDIR": str(folder), "LD_PRELOAD": str(self.attack.tool.fail)}
        args = [self.attack.tool.mldf, *case.args]
        process = subprocess.Popen(
            args, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        time.sleep(delay)
        process.send_signal(sent)
        err = process.communicate(timeout=120)[1]
        self.check(folder, before, old, process.returncode, with_kill, err, f"{sent.name} after {delay:.4f} s")
        remove(folder)

    def check(self, folder, before, old, code, killed, err, again):
        report, case, tool = self.attack.report, self.case, self.attack.tool
        report.ran(PART)
        again = f"mldf {' '.join(case.args)}, {again}"
        after = snapshot(folder)
        # 130: the handler; -SIGINT: before there was one
        if code not in (0, -signal.SIGKILL if killed else 130, -sent_early(killed)):
            report.found(PART, "exit", f"{case.name}: exit code {code}: {err[-150:]!r}", again)
        left = [n for n in after if n not in before and n not in case.outputs]
        if left and killed:
            report.note("SIGKILLs that left a temporary file (allowed)")
        elif left:
            report.found(PART, "leftover", f"{case.name}: SIGINT left {left}", again)
        if self.attack.has_clean and killed:
            tool.run(["clean", "."], folder)
            left = [n for n in snapshot(folder) if n not in before and n not in case.outputs]
            if left:
                report.found(PART, "leftover", f"{case.name}: clean left {left}", again)
        there = [n for n in case.outputs if n in after and after[n] != before.get(n)]
        if there and len(there) != len(case.outputs):
            report.found(PART, "output", f"{case.name}: some outputs are there, and some are not", again)
        for name in there:
            if name.endswith((".mldf", ".tar")) and tool.run(["verify", "--deep", name], folder).code:
                report.found(PART, "output", f"{case.name}: {name} is there and does not verify", again)
        for name in case.changes:
            now = self.count(folder, name)
            if now not in old | self.samples:
                report.found(PART, "output", f"{case.name}: {name} has neither the old nor the new samples", again)


def sent_early(killed):
    return signal.SIGKILL if killed else signal.SIGINT


def all_signals(attack):
    template = attack.scratch / "big"
    template.mkdir()
    write_jsonl(template / "big.jsonl", ROWS)
    (template / "extra.csv").write_text("extra\n" + "".join(f"{i}\n" for i in range(ROWS)))
    attack.tool.run(["pack", "big.jsonl", "-o", "big.mldf"], template)
    return [s for s in (Signals(attack, template, case) for case in cases()) if s.fine]
