"""The attack's own test: faults are planted, and each must be found; without a fault nothing must be."""

import argparse
import stat
import sys

import faults
import mutants
import writing
from attack import Attack
from command import Case, Tool, check_end, check_folder, remove, snapshot
from report import Report

# name, what the false command does, the kind of finding that must come of it
FALSE_COMMANDS = [
    ("ends with a signal", "kill -SEGV $$", "crash"),
    ("ends with 139", "exit 139", "crash"),
    ("ends with another code", "echo no >&2; exit 7", "exit"),
    ("fails without a word", "exit 3", "exit"),
    ("leaves a temporary file", "echo x > .out.mldf.tmp", "leftover"),
    ("fails and leaves its output", "echo x > out.mldf; echo no >&2; exit 3", "leftover"),
    ("changes what it reads", "echo x >> in.mldf", "changed"),
    ("reports a sanitizer", "echo 'SUMMARY: AddressSanitizer: bad' >&2; exit 99", "sanitizer"),
]
PLANTS = {
    "crash": "crash",
    "overflow": "sanitizer",
    "hang": "time-out",
    "leak": "sanitizer",
    "silent": "silent",
    "leftover": "leftover",
}


class Failure(Exception):
    """A planted fault was not found, or one was found where there is none."""


def expect(name, report, kind):
    found = {k for _, k in report.counts}
    if kind and kind not in found:
        raise Failure(f"{name}: a planted fault of the kind '{kind}' was not found (found: {sorted(found)})")
    if not kind and found:
        raise Failure(f"{name}: found without a planted fault: {[g[1] for g in report.groups.values()]}")
    print(f"attack: self-test: {name}: {kind or 'nothing'} found, as it must be")


def false_command(attack, text):
    path = attack.scratch / "false-mldf"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return Tool(path, None, attack.scratch)


def check_commands(attack):
    for name, text, kind in [("does nothing wrong", "echo x > out.mldf", None), *FALSE_COMMANDS]:
        tool, report = false_command(attack, text), Report()
        folder = tool.folder()
        (folder / "in.mldf").write_text("in")
        case = Case("repack", ["repack", "in.mldf", "-o", "out.mldf"], ["out.mldf"])
        before = snapshot(folder)
        result = tool.run(case.args, folder)
        check_end(report, "self-test", case, result, "")
        check_folder(report, "self-test", case, before, snapshot(folder), result.code != 0, "")
        remove(folder)
        expect(f"a command that {name}", report, kind)


def check_faults(attack):
    """A command that hides a failure: exit code 0 and half an output; and one that calls no memory corrupt."""
    template = attack.scratch / "template"
    template.mkdir()
    faults.lay_out(template, attack.corpus, attack.tool)
    case = next(c for c in faults.cases() if c.name == "repack")
    true_tool = attack.tool
    whole = faults.Faults(attack, template, case)
    for name, text, kind in (
        ("hides a failure", "touch fired; echo half > out.mldf", "silent"),
        ("calls no memory corrupt", 'touch fired; echo "the file is corrupt" >&2; exit 3', "exit"),
        ("leaves half a file", "touch fired; echo half > out.mldf; echo no >&2; exit 3", "leftover"),
    ):
        attack.tool, attack.report = false_command(attack, text), Report()
        whole.run("malloc", 1, "ENOMEM")
        expect(f"a failing call in a command that {name}", attack.report, kind)
    attack.tool, attack.report = false_command(attack, "echo half > out.mldf; kill -KILL $$"), Report()
    whole.run("any", 1, "kill")
    attack.tool = true_tool
    expect("a kill that leaves half a file", attack.report, "output")
    attack.report = Report()
    whole.run("any", whole.counts["any"], "kill")
    expect("a kill of the command itself", attack.report, None)


def check_writing(attack):
    """A command that writes other samples than those it was given."""
    true_tool, other = attack.tool, attack.corpus.folder / "tar.mldf"
    text = f'case $1 in repack) cp {other} out.mldf ;; *) exec {true_tool.mldf} "$@" ;; esac'
    attack.tool, attack.report = false_command(attack, text), Report()
    path = next(p for k, p, _ in attack.corpus.files if p.name == "hello.mldf")
    writing.run_file(attack, path, "")
    attack.tool = true_tool
    expect("a command that writes other samples", attack.report, "silent")


def check_runner(attack):
    for plant, kind in PLANTS.items():
        attack.report, attack.runner_env = Report(), {"ATTACK_PLANT": plant}
        count = {"hang": 10, "silent": 600}.get(plant, 60)
        kinds = "mldf" if plant == "silent" else mutants.KINDS
        mutants.run_in_process(attack, mutants.IN_PROCESS, kinds, 0, count)
        expect(f"a planted {plant} in the runner", attack.report, kind)


def run(args, root):
    attack = Attack(argparse.Namespace(**{**vars(args), "seed": 1, "runs": 100}), root)
    try:
        check_commands(attack)
        check_faults(attack)
        check_writing(attack)
        check_runner(attack)
    except Failure as failure:
        print(f"attack: self-test: {failure}", file=sys.stderr)
        return 1
    finally:
        remove(attack.scratch)
    return 0
