#!/usr/bin/env python3
"""Attacks mldf and prints a table of what was found.

Damaged and tampered files, failing calls, kills, and every writing command on every valid file:

    tools/attack/attack.py --asan build/asan --release build/release [--runs 100000] [--seed N] [--self-test]

`make attack` builds what it needs and runs the self-test first. The same seed and the same sources make the same
mutants. Exit code: 0 when nothing was found, 1 when something was.

    corpus.py    the files that are attacked
    mutants.py   mutants, in process (attack_runner) and through the command line
    faults.py    calls that fail (fail.c), and kills in place of a call
    signals.py   SIGINT and SIGKILL at random times
    writing.py   every writing command on every valid file
    selftest.py  planted faults that must be found
"""

import argparse
import os
import random
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import faults
import mutants
import signals
import writing
from command import Tool, remove
from corpus import Corpus
from report import Report

BATCH = 500  # runs of one attack_runner
COMMANDS_OF_A_MUTANT = 7
ASAN_EVERY = 12  # of the mutants on the command line, one in so many goes through the command with sanitizers
SHARES = {"command": 0.06, "tampered": 0.10, "faults": 0.09, "kills": 0.02, "signals": 0.004}


class Attack:
    """What all parts share: programs, seed, report, folders."""

    def __init__(self, args, root):
        self.seed, self.runs, self.root = args.seed, args.runs, root
        asan, release = Path(args.asan).resolve(), Path(args.release).resolve()
        self.runner, self.runner_env = asan / "attack/attack_runner", {}
        place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.scratch = Path(tempfile.mkdtemp(prefix="mldf-attack-", dir=place))
        self.logs = Path(args.logs).resolve()
        self.logs.mkdir(parents=True, exist_ok=True)
        self.report = Report()
        self.tool = Tool(release / "bin/mldf", release / "attack/attack_fail.so", self.scratch)
        self.asan_tool = Tool(asan / "bin/mldf", None, self.scratch, mutants.SANITIZERS)
        self.corpus = Corpus(root, self.scratch / "corpus", self.tool.mldf)
        self.has_clean = self.tool.run(["help", "clean"], self.scratch).code == 0

    def random(self, *what):
        return random.Random(f"{self.seed} {what}")

    def share(self, name):
        return max(1, int(self.runs * SHARES[name]))


def sample(attack, name, items, count):
    """At most `count` of the items, chosen by the seed, in their order."""
    if len(items) <= count:
        return items
    chosen = sorted(attack.random(name).sample(range(len(items)), count))
    return [items[i] for i in chosen]


def jobs_of(attack, parts):
    """Functions to call, the long ones first."""
    if "faults" in parts or "kills" in parts:
        cases = faults.all_faults(attack)
        if "faults" in parts:
            every = [(f, run) for f in cases for run in f.runs()]
            attack.report.note("failing calls that there are", len(every))
            for f, run in sample(attack, "faults", every, attack.share("faults")):
                yield lambda f=f, run=run: f.run(*run)
        if "kills" in parts:
            every = [(f, n) for f in cases if f.case.outputs or f.case.changes for n in range(1, f.counts["any"] + 1)]
            attack.report.note("calls to be killed at that there are", len(every))
            for f, n in sample(attack, "kills", every, attack.share("kills")):
                yield lambda f=f, n=n: f.run("any", n, "kill")
    if "signals" in parts:
        long = signals.all_signals(attack)
        for i in range(attack.share("signals") if long else 0):
            yield lambda s=long[i % len(long)], i=i: s.run(i)
    if "writing" in parts:
        done = set()
        for kind, path, secret in attack.corpus.files:
            if kind in mutants.WHOLE_FILES.split(",") and path not in done:
                done.add(path)
                yield lambda path=path, secret=secret: writing.run_file(attack, path, secret)
    if "command" in parts:
        for i in range(attack.share("command") // COMMANDS_OF_A_MUTANT):
            tool = attack.asan_tool if i % ASAN_EVERY == 0 else attack.tool
            yield lambda i=i, tool=tool: mutants.run_by_command(attack, 10**9 + i, tool, COMMANDS_OF_A_MUTANT)
    if "tampered" in parts:
        for first in range(0, attack.share("tampered"), BATCH):
            yield lambda first=first: mutants.run_in_process(attack, mutants.TAMPERED, "crypt", first, BATCH)
    if "mutants" in parts:
        others = sum(attack.share(name) for name in SHARES if name in parts)
        for first in range(0, max(BATCH, attack.runs - others), BATCH):
            yield lambda first=first: mutants.run_in_process(attack, mutants.IN_PROCESS, mutants.KINDS, first, BATCH)


def run_all(attack, parts, workers):
    """Runs the jobs of the parts on some threads, with a line of progress now and then."""
    begin = last = time.monotonic()
    with ThreadPoolExecutor(workers) as pool:
        waiting = [pool.submit(job) for job in jobs_of(attack, parts)]
        try:
            for i, future in enumerate(waiting):
                future.result()
                if time.monotonic() - last > 30:
                    last = time.monotonic()
                    runs, found = sum(attack.report.runs.values()), attack.report.total()
                    words = f"{last - begin:.0f} s, {runs} runs, {i + 1}/{len(waiting)} jobs, {found} found"
                    print(f"attack: {words}", file=sys.stderr)
        except KeyboardInterrupt:
            print("attack: interrupted; the table is of what was run so far", file=sys.stderr)
            pool.shutdown(cancel_futures=True)
    return time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--asan", default="build/asan")
    parser.add_argument("--release", default="build/release")
    parser.add_argument("--logs", default="build/attack", help="folder for what the sanitizers say")
    parser.add_argument("--runs", type=int, default=100000)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--parts", default="faults,kills,signals,writing,command,tampered,mutants")
    parser.add_argument("--self-test", action="store_true", help="plant faults; each must be found")
    args = parser.parse_args()
    if args.seed is None:
        args.seed = random.SystemRandom().randrange(2**32)
    root = Path(__file__).resolve().parents[2]
    if args.self_test:
        import selftest

        return selftest.run(args, root)
    print(f"attack: seed {args.seed} (ATTACK_SEED={args.seed} repeats it), {args.runs} runs, {args.workers} at a time")
    attack = Attack(args, root)
    try:
        seconds = run_all(attack, args.parts.split(","), args.workers)
    finally:
        remove(attack.scratch)
    attack.report.print(sys.stdout)
    print(f"\nattack: {sum(attack.report.runs.values())} runs in {seconds:.0f} s, {attack.report.total()} findings")
    return 1 if attack.report.total() else 0


if __name__ == "__main__":
    sys.exit(main())
