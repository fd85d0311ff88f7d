"""Calls that fail: the n-th malloc, open, read ... of each command, one at a time; and kills in place of a call."""

import errno
import json
import os
import shutil

from command import Case, check_end, check_folder, remove, snapshot
from corpus import write_tables, write_tar

FAULTS, KILLS = "failing calls", "kills at a call"
WAYS = {
    "malloc": ["ENOMEM"],
    "open": ["EIO", "ENOSPC", "EINTR"],
    "read": ["EIO", "EINTR", "short"],
    "write": ["ENOSPC", "EIO", "EINTR", "short"],
    "fsync": ["EIO"],
    "rename": ["EIO", "ENOSPC"],
    "ftruncate": ["EIO", "EINTR"],
    "mmap": ["ENOMEM"],
    "close": ["EIO", "EINTR"],
    "unlink": ["EIO"],
}


def cases():
    """All commands on small inputs (see lay_out)."""
    j = ["-j", "1"]
    new = lambda name, *args, out="out.mldf": Case(name, [*args, "-o", out], [out])  # noqa: E731
    yield new("pack jsonl", "pack", *j, "rows.jsonl")
    yield new("pack csv, skip", "pack", *j, "rows.csv", "--on-error=skip")
    yield new("pack folder, skip", "pack", *j, "images", "--on-error=skip")
    yield new("pack tar.gz", "pack", *j, "in.tar.gz")
    yield new("pack encoded", "pack", *j, "images", "--max-resolution", "16", "--encode", "jpeg", "--on-error=skip")
    yield new("pack dictionary", "pack", *j, "rows.jsonl", "--compress", "name", "--dictionary")
    yield Case("pack -f", ["pack", *j, "-f", "rows.jsonl", "-o", "old.mldf"], ["old.mldf"])
    yield Case("append", ["append", *j, "in.mldf", "tail.jsonl", "--key-column", "id"], changes=["in.mldf"])
    yield Case("add-field", ["add-field", *j, "in.mldf", "extra=extra.csv"], changes=["in.mldf"])
    yield Case("repack in place", ["repack", *j, "in.mldf"], changes=["in.mldf"])
    yield new("repack", "repack", *j, "in.mldf", "--compress", "name")
    yield Case("repair", ["repair", *j, "torn.mldf"], changes=["torn.mldf"])
    yield new("repair -o", "repair", *j, "torn.mldf")
    yield new("convert tar", "convert", *j, "images.mldf", out="out.tar")
    yield new("convert tar.gz", "convert", *j, "images.mldf", out="out.tar.gz")
    yield new("convert tbl", "convert", *j, "images.mldf", "--drop-fields", out="out.tbl")
    yield new("convert beton", "convert", *j, "images.mldf", out="out.beton")
    yield new("convert from tar", "convert", *j, "in.tar")
    yield new("convert from tar.gz", "convert", *j, "in.tar.gz")
    yield Case("merge", ["merge", *j, "in.mldf", "in2.mldf", "-o", "out.mldf"], ["out.mldf"])
    yield Case(
        "split", ["split", *j, "in.mldf", "-o", "part{}.mldf", "--fractions", "0.5,0.5"], ["part0.mldf", "part1.mldf"]
    )
    yield new("select", "select", *j, "in.mldf", "--where", "label == 1")
    yield new("extract", "extract", "images.mldf", out="dir")
    yield Case("info", ["info", "--json", "in.mldf"])
    yield Case("cat", ["cat", "--full", "--json", "in.mldf"])
    yield Case("cat images", ["cat", "--json", "images.mldf"])
    yield Case("cat tar.gz", ["cat", "--json", "in.tar.gz"])
    yield Case("cat some", ["cat", "--samples", "0,2", "--fields", "name,xy", "in.mldf"])
    yield Case("cat keys", ["cat", "--keys", "k000001,k000003", "in.mldf"])
    yield Case("cat structs", ["cat", "--full", "structs.mldf"])
    yield Case("cat structs, JSON", ["cat", "--full", "--json", "structs.mldf"])
    yield Case("cat long", ["cat", "--full", "--json", "long.mldf"])
    yield Case("info, text", ["info", "images.mldf"])
    yield Case("stats --svg", ["stats", "in.mldf", "--svg", "out.svg"], ["out.svg"])
    yield new("convert fields", "convert", *j, "in.mldf", "--fields", "label,name")
    yield new("select fields", "select", *j, "in.mldf", "--fields", "label,name", "--samples", "0,2:4")
    yield new("pack files", "pack", *j, "files.csv", "--files", "image")
    yield Case("diff, differs", ["diff", "in.mldf", "in2.mldf"], code=1)
    yield Case("verify, damaged", ["verify", *j, "damaged.mldf"], code=1)
    yield Case("verify", ["verify", *j, "--deep", "--json", "in.mldf"])
    yield Case("verify images", ["verify", *j, "--deep", "--json", "images.mldf"])
    yield Case("verify webp", ["verify", *j, "--deep", "--json", "webp.mldf"])
    yield Case("verify key", ["verify", *j, "--deep", "--key", "key", "--json", "secret.mldf"])
    yield Case("diff", ["diff", "in.mldf", "same.mldf"])
    yield Case("stats", ["stats", "--json", "in.mldf"])
    yield Case(
        "bench",
        [
            "bench",
            *j,
            "--epochs",
            "1",
            "--batch-size",
            "2",
            "--hash",
            "--json",
            "--on-error=skip",
            "-p",
            "image: decode | resize([8, 8]) | chw(f32)",
            "images.mldf",
        ],
    )


def lay_out(folder, corpus, tool):
    """Inputs of all cases, made once and copied for each run."""
    write_tables(folder, 6)
    shutil.copy(corpus.folder / "tail.jsonl", folder)
    shutil.copy(corpus.key, folder / "key")
    shutil.copy(corpus.root / "docs/spec/vectors/valid/inline.mldf", folder / "structs.mldf")
    (folder / "long.jsonl").write_text(json.dumps({"text": "long " * 2000, "list": list(range(900))}) + "\n")
    (folder / "files.csv").write_text("image,label\nimages/0-rgb.jpg,1\nimages/1-rgb.png,2\n")
    lines = [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]
    (folder / "extra.csv").write_text("extra\n" + "".join(f"{i}\n" for i in range(len(lines))))
    images = corpus.root / "tests/data/images"
    (folder / "images").mkdir()
    for i, name in enumerate(("rgb.jpg", "rgb.png", "rgb.tif", "rgb.bmp")):
        shutil.copy(images / name, folder / "images" / f"{i}-{name}")
    (folder / "webp").mkdir()
    shutil.copy(images / "lossless.webp", folder / "webp")
    jpegs = [(images / "gray.jpg").read_bytes()]
    write_tar(folder / "in.tar", "w", jpegs, 2)
    write_tar(folder / "in.tar.gz", "w:gz", jpegs, 2)
    for args in (
        ["pack", "rows.jsonl", "-o", "in.mldf", "--key-column", "id"],
        ["pack", "tail.jsonl", "-o", "in2.mldf", "--key-column", "id"],
        ["repack", "in.mldf", "-o", "same.mldf"],
        ["pack", "rows.csv", "-o", "old.mldf"],
        ["pack", "long.jsonl", "-o", "long.mldf"],
        ["pack", "images", "-o", "images.mldf"],
        ["pack", "webp", "-o", "webp.mldf"],
        ["pack", "rows.jsonl", "-o", "secret.mldf", "--encrypt", "key"],
    ):
        done = tool.run(args, folder)
        if done.code:
            raise SystemExit(f"attack: mldf {' '.join(args)}: {done.stderr.decode()}")
    damaged = bytearray((folder / "in.mldf").read_bytes())
    damaged[4100] ^= 1  # a payload
    (folder / "damaged.mldf").write_bytes(damaged)
    torn = bytearray((folder / "in.mldf").read_bytes())
    torn[9 + 32 : 9 + 64] = bytes(32)  # the pointers of the front header: the footer has them
    (folder / "torn.mldf").write_bytes(torn)


def in_place(stderr):
    """Does the message say that the result is there, and that what failed came after it?"""
    return b"is in place" in stderr or b"cannot write to standard output" in stderr


def inputs_of(case):
    """The names that a case needs, besides what it makes."""
    names = [a.partition("=")[2] if a.startswith("extra=") else a for a in case.args[1:]]
    return [*names, "images"] if "files.csv" in names else names


class Faults:
    """One case, its counts and its right results, and its runs with a fault."""

    def __init__(self, attack, template, case):
        self.attack, self.template, self.case = attack, template, case
        folder = self.folder()
        self.before = snapshot(folder)
        self.result = attack.tool.run(case.args, folder, {"ATTACK_COUNT": str(folder / "counts")})
        if self.result.code != case.code:
            raise SystemExit(f"attack: {case.name}: {' '.join(case.args)}: {self.result.stderr.decode()}")
        self.counts = {k: int(n) for k, n in map(str.split, (folder / "counts").read_text().splitlines())}
        self.after = snapshot(folder)
        remove(folder)

    def folder(self):
        folder = self.attack.tool.folder()
        for name in {*inputs_of(self.case)} | {"old.mldf"} if "-f" in self.case.args else {*inputs_of(self.case)}:
            source = self.template / name
            if source.is_dir():
                shutil.copytree(source, folder / name)
            elif source.is_file():
                shutil.copy(source, folder / name)
        return folder

    def runs(self):
        """Every (call, number, way)."""
        for call, ways in WAYS.items():
            for n in range(1, self.counts[call] + 1):
                for way in ways:
                    yield call, n, way

    def run(self, call, n, way):
        code = str(getattr(errno, way)) if hasattr(errno, way) else way
        folder, case = self.folder(), self.case
        env = {"ATTACK_FAIL": f"{call}:{n}:{code}", "ATTACK_FAIL_LOG": str(folder / "fired")}
        result = self.attack.tool.run(case.args, folder, env)
        after = snapshot(folder)
        again = f"ATTACK_FAIL={call}:{n}:{code} LD_PRELOAD=fail.so mldf {' '.join(case.args)}"
        if way == "kill":
            self.check_kill(folder, after, again)
        else:
            self.check(call, way, result, after, again)
        remove(folder)

    def check(self, call, way, result, after, again):
        report, case = self.attack.report, self.case
        report.ran(FAULTS)
        if "fired" not in after and result.code == case.code:
            return
        label = Case(case.name, [case.args[0], f"({case.name})", f"{call} {way}"], case.outputs, case.changes)
        if result.code == -11 and call == "malloc" and "webp.mldf" in case.args:
            report.note("crashes inside libwebp after a failing malloc (its own fault: it frees what it never got)")
            return
        if not check_end(report, FAULTS, label, result, again, (case.code, 3)):
            return
        after.pop("fired", None)
        if call == "malloc" and b"corrupt" in result.stderr + result.stdout:
            report.found(FAULTS, "exit", f"{case.name}: no memory is called corrupt: {result.stderr[-200:]!r}", again)
        if result.code == case.code:
            self.check_success(call, way, result, after, again)
        elif call != "unlink" and not (in_place(result.stderr) and self.is_complete(after)):
            check_folder(report, FAULTS, label, self.before, after, True, again)
        if way == "EINTR" and call in ("read", "write") and result.code != case.code:
            report.found(
                FAULTS, "exit", f"{case.name}: {call} EINTR is not tried again: {result.stderr[-120:]!r}", again
            )

    def is_complete(self, after):
        return after == {k: v for k, v in self.after.items() if k != "counts"}

    def check_success(self, call, way, result, after, again):
        report, case = self.attack.report, self.case
        wanted = {k: v for k, v in self.after.items() if k != "counts"}
        if call in ("open", "read") and b": skipped " in result.stderr and "--on-error=skip" in case.args:
            report.note("files that could not be read, skipped and listed as --on-error=skip asks")
            return
        if call == "unlink":
            after = {k: v for k, v in after.items() if k in wanted}
        if after != wanted:
            names = [k for k in {*after, *wanted} if after.get(k) != wanted.get(k)]
            report.found(
                FAULTS, "silent", f"{case.name}: {call} {way}: the usual exit code and {names} are other files", again
            )
        if case.args[0] not in ("bench", "pack") and not case.outputs and result.stdout != self.result.stdout:
            report.found(FAULTS, "silent", f"{case.name}: {call} {way}: the usual exit code and another output", again)
        if case.args[0] == "bench":
            hashes = [json.loads(r.stdout).get("batch_hashes") for r in (result, self.result)]
            if hashes[0] != hashes[1]:
                report.found(
                    FAULTS, "silent", f"{case.name}: {call} {way}: the usual exit code and other batches", again
                )

    def check_kill(self, folder, after, again):
        """Every name holds the old or the complete new file; changed files open with the old or the new samples."""
        report, case, attack = self.attack.report, self.case, self.attack
        report.ran(KILLS)
        after.pop("fired", None)
        for name in case.outputs:
            if after.get(name) not in (self.before.get(name), self.after.get(name)):
                report.found(KILLS, "output", f"{case.name}: {name} is neither the old nor the new file", again)
        there = [after.get(name) != self.before.get(name) for name in case.outputs]
        if any(there) and not all(there):
            report.found(KILLS, "output", f"{case.name}: some outputs are there, and some are not", again)
        for name in case.changes:
            self.check_changed(folder, name, again)
        known = {*self.before, *case.outputs}
        left = [name for name in after if name not in known]
        if left:
            report.note("kills at a call that left a temporary file (allowed)")
        if attack.has_clean:
            done = attack.tool.run(["clean", "."], folder)
            left = [name for name in snapshot(folder) if name not in known | {"fired"}]
            if done.code not in (0, 1) or left:
                report.found(KILLS, "leftover", f"{case.name}: clean ended with {done.code} and left {left}", again)

    def check_changed(self, folder, name, again):
        report, case, tool = self.attack.report, self.case, self.attack.tool
        shown = tool.run(["cat", "--json", "--full", name], folder)
        if (shown.code, shown.stdout) not in self.texts(name):
            words = f"{case.name}: {name} opens with neither the old nor the new samples: {shown.stderr[-200:]!r}"
            report.found(KILLS, "output", words, again)
            return
        tool.run(["repair", name], folder)
        done = tool.run(["verify", "--deep", name], folder)
        if done.code:
            words = f"{case.name}: {name} does not verify after a repair: {done.stdout[-200:]!r}"
            report.found(KILLS, "output", words, again)

    def texts(self, name):
        """What cat says of the file before and after, without a fault."""
        if not hasattr(self, "shown"):
            folder, tool = self.folder(), self.attack.tool
            old = tool.run(["cat", "--json", "--full", name], folder)
            tool.run(self.case.args, folder)
            new = tool.run(["cat", "--json", "--full", name], folder)
            self.shown = [(r.code, r.stdout) for r in (old, new)]
            remove(folder)
        return self.shown


def all_faults(attack):
    """A Faults for each case that this build can run."""
    template = attack.scratch / "template"
    template.mkdir()
    lay_out(template, attack.corpus, attack.tool)
    chosen = os.environ.get("ATTACK_CASE")
    return [Faults(attack, template, case) for case in cases() if not chosen or case.name == chosen]
