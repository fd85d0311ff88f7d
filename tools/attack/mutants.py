"""Mutants: by the thousand in a process with sanitizers (attack_runner), and some through the command line."""

import re
import signal
import subprocess
import tempfile
from pathlib import Path

from command import Case, check_end, check_folder, remove, snapshot

IN_PROCESS, TAMPERED, BY_COMMAND = "mutants, in process", "encrypted, in process", "mutants, command line"
KINDS = "mldf,tar,tbl,beton,image,csv,jsonl,schema,card,pipeline,state"
WHOLE_FILES = "mldf,crypt,tar,tbl,beton"
SANITIZERS = {
    "ASAN_OPTIONS": "exitcode=99:allocator_may_return_null=1:max_allocation_size_mb=1024",
    "UBSAN_OPTIONS": "exitcode=99:print_stacktrace=1",
}


def run_in_process(attack, part, kinds, first, count):
    """Runs [first, first + count) of the runner; its findings go into the report."""
    folder = Path(tempfile.mkdtemp(prefix="mutants-", dir=attack.scratch))
    log = attack.logs / f"{kinds.split(',')[0]}-{first}.log"
    env = {**SANITIZERS, **attack.runner_env, "TMPDIR": str(folder)}
    args = [str(attack.runner), str(attack.seed), str(first), str(count), str(folder), kinds]
    with log.open("wb") as err:
        done = subprocess.run(args, input=attack.corpus.lines().encode(), stdout=subprocess.PIPE, stderr=err, env=env)
    text = log.read_text(errors="replace")
    if not text:
        log.unlink()
    if done.returncode == -signal.SIGINT:  # Ctrl-C goes to the runners, too
        return remove(folder)
    if done.returncode:
        report_words = text.strip().splitlines()[-1:] or [""]
        attack.report.found(part, "crash", f"the runner itself ended with {done.returncode}: {report_words[0]}")
    for line in done.stdout.decode(errors="replace").splitlines():
        run, kind, path, words = line.split("\t", 3)
        if kind == "note":
            attack.report.note(re.sub(r"/\S+/", "", words))
            continue
        again = f"attack_runner --make {attack.seed} {run} OUT {kinds} (corpus of this seed); log {log.name}"
        attack.report.found(part, kind, f"{words} [{Path(path).name}]", again)
    attack.report.ran(part, count)
    remove(folder)


def make_mutant(attack, run, out):
    """Writes the mutant of a run; (kind, path of its base, secret, mended)."""
    args = [str(attack.runner), "--make", str(attack.seed), str(run), str(out), WHOLE_FILES]
    done = subprocess.run(
        args,
        input=attack.corpus.lines().encode(),
        stdout=subprocess.PIPE,
        check=True,
        env=SANITIZERS,
    )
    kind, path, secret, mended, _ = done.stdout.decode().split("\t", 4)
    return kind, Path(path), secret, mended == "1"


def cases_of(name, base, secret):
    """Every command on one file; `copy` is for those that change it."""
    copy = f"copy-{name}"
    cases = [
        Case("info", ["info", name]),
        Case("head", ["head", "-n", "3", name]),
        Case("cat", ["cat", "--full", "--json", name]),
        Case("verify", ["verify", "--deep", name]),
        Case("diff", ["diff", name, base]),
        Case("stats", ["stats", name]),
        Case("bench", ["bench", "--epochs", "1", "--batch-size", "3", "-j", "1", name]),
        Case("repack", ["repack", name, "-o", "out.mldf"], ["out.mldf"]),
        Case("convert", ["convert", name, "-o", "out2.mldf"], ["out2.mldf"]),
        Case("convert tar", ["convert", name, "-o", "out.tar"], ["out.tar"]),
        Case("convert tar.gz", ["convert", name, "-o", "out.tar.gz"], ["out.tar.gz"]),
        Case("convert tbl", ["convert", name, "-o", "out.tbl"], ["out.tbl"]),
        Case("convert beton", ["convert", name, "-o", "out.beton"], ["out.beton"]),
        Case("extract", ["extract", name, "-o", "dir"], ["dir"]),
        Case("merge", ["merge", name, base, "-o", "merged.mldf"], ["merged.mldf"]),
        Case("split", ["split", name, "-o", "part{}.mldf", "--fractions", "0.5,0.5"], ["part0.mldf", "part1.mldf"]),
        Case("select", ["select", name, "-o", "some.mldf", "--samples", ":1"], ["some.mldf"]),
        Case("repair -o", ["repair", name, "-o", "mended.mldf"], ["mended.mldf"]),
        Case("repair", ["repair", copy], changes=[copy]),
        Case("append", ["append", copy, base], changes=[copy]),
        Case("repack in place", ["repack", copy], changes=[copy]),
    ]
    for case in cases:
        if secret:
            case.args[1:1] = ["--key", "key"] if secret.startswith("key:") else ["--passphrase-file", "words"]
    return cases


def lay_out(folder, name, base, secret):
    """A folder with the file, a copy of it, its base and its secret; the base's name in it."""
    (folder / f"copy-{name}").write_bytes((folder / name).read_bytes())
    base_name = f"base-{base.name}"
    (folder / base_name).write_bytes(base.read_bytes())
    if secret.startswith("key:"):
        (folder / "key").write_bytes(bytes.fromhex(secret[4:]))
    elif secret:
        (folder / "words").write_text(secret.removeprefix("passphrase:"))
    return base_name


def run_by_command(attack, run, tool, budget):
    """One mutant through `budget` commands, chosen by the run. Returns how many were run."""
    folder = tool.folder()
    kind, base, secret, _ = make_mutant(attack, run, folder / "raw")
    name = "m" + base.suffix
    (folder / "raw").rename(folder / name)
    base_name = lay_out(folder, name, base, secret)
    cases = attack.random(run).sample(cases_of(name, base_name, secret), budget)
    again = f"attack_runner --make {attack.seed} {run} OUT {WHOLE_FILES}"
    for case in cases:
        before = snapshot(folder)
        result = tool.run(case.args, folder)
        fine = check_end(attack.report, BY_COMMAND, case, result, again)
        after = snapshot(folder)
        failed = result.code not in (0, 1) if case.name == "repair -o" else result.code != 0
        check_folder(attack.report, BY_COMMAND, case, before, after, failed, again)
        if fine and not failed:
            for out in case.outputs:
                check_output(attack, tool, case, folder, out, secret, again)
        for out in case.outputs:
            target = folder / out
            remove(target) if target.is_dir() else target.unlink(missing_ok=True)
        for copy in case.changes:
            (folder / copy).write_bytes((folder / name).read_bytes())
    attack.report.ran(BY_COMMAND, len(cases))
    remove(folder)
    return len(cases)


def check_output(attack, tool, case, folder, out, secret, again):
    """A file that was written verifies."""
    if not out.endswith((".mldf", ".tar", ".tbl", ".beton")) or not (folder / out).exists():
        return
    args = ["verify", out]
    if secret:
        args[1:1] = ["--key", "key"] if secret.startswith("key:") else ["--passphrase-file", "words"]
    done = tool.run(args, folder)
    if b"holds no samples" in done.stdout:
        attack.report.note("a tar made of a file without samples cannot be opened")
    elif done.code:
        line = " ".join(case.args)
        attack.report.found(BY_COMMAND, "output", f"{line}: {out} does not verify: {done.stdout[-200:]!r}", again)
