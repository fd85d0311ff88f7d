"""Every command that writes, on every valid file: it is refused, or what it wrote verifies and has all samples."""

from command import Case, check_end, check_folder, remove, snapshot

PART = "writing x valid files"
EQUAL = ("repack", "convert", "repair -o", "select all", "merge one", "repack in place", "repair")


def cases(name, copy):
    yield Case("repack", ["repack", name, "-o", "out.mldf"], ["out.mldf"])
    yield Case("convert", ["convert", name, "-o", "out.mldf"], ["out.mldf"])
    yield Case("repair -o", ["repair", name, "-o", "out.mldf"], ["out.mldf"])
    yield Case("select all", ["select", name, "--samples", ":", "-o", "out.mldf"], ["out.mldf"])
    yield Case("merge one", ["merge", name, "-o", "out.mldf"], ["out.mldf"])
    yield Case("merge two", ["merge", name, name, "-o", "out.mldf"], ["out.mldf"])
    for end in ("tar", "tar.gz", "tar.zst", "tbl", "beton"):
        out = f"out.{end}"
        yield Case(f"convert {end}", ["convert", name, "-o", out], [out])
        yield Case(f"convert {end}, drop", ["convert", "--drop-fields", name, "-o", out], [out])
    yield Case("extract", ["extract", name, "-o", "dir"], ["dir"])
    yield Case("split", ["split", name, "-o", "part{}.mldf", "--fractions", "0.5,0.5"], ["part0.mldf", "part1.mldf"])
    yield Case("repack compressed", ["repack", name, "-o", "out.mldf", "--page-size", "65536"], ["out.mldf"])
    yield Case("append itself", ["append", copy, name], changes=[copy])
    yield Case("append itself, keys", ["append", "--number-keys", copy, name], changes=[copy])
    yield Case("repack in place", ["repack", copy], changes=[copy])
    yield Case("repair", ["repair", copy], changes=[copy])


def secret_of(folder, secret):
    if secret.startswith("key:"):
        (folder / "key").write_bytes(bytes.fromhex(secret[4:]))
        return ["--key", "key"]
    if secret:
        (folder / "words").write_text(secret.removeprefix("passphrase:"))
        return ["--passphrase-file", "words"]
    return []


def run_file(attack, path, secret):
    """All cases on one file."""
    tool, report = attack.tool, attack.report
    name, copy = "m" + path.suffix, "copy" + path.suffix
    for case in cases(name, copy):
        folder = tool.folder()
        (folder / name).write_bytes(path.read_bytes())
        (folder / copy).write_bytes(path.read_bytes())
        key = secret_of(folder, secret)
        case.args[1:1] = key
        good = tool.run(["verify", "--deep", *key, name], folder).code == 0
        before = snapshot(folder)
        result = tool.run(case.args, folder)
        again = f"{path.name}: mldf {' '.join(case.args)}"
        report.ran(PART)
        if check_end(report, PART, case, result, again):
            saved = case.name == "repair -o" and result.code == 1 and b"lost:" in result.stdout
            check_folder(report, PART, case, before, snapshot(folder), result.code != 0 and not saved, again)
            if result.code == 0:
                check_result(attack, case, folder, key, good, name, again)
            elif good and case.name in EQUAL and path.suffix == ".mldf":
                report.note(
                    f"refused on a valid file: {case.name} {path.name}: {result.stderr[-160:].decode().strip()}"
                )
        remove(folder)


def check_result(attack, case, folder, key, good, name, again):
    tool, report = attack.tool, attack.report
    for out in [*case.outputs, *case.changes]:
        if out == "dir" or out.endswith((".gz", ".zst")) or not (folder / out).exists():
            continue
        done = tool.run(["verify", "--deep", *key, out], folder)
        if done.code == 3 and key:
            done = tool.run(["verify", "--deep", out], folder)  # a plain result of an encrypted file
        if b"holds no samples" in done.stdout:
            report.note("a tar made of a file without samples cannot be opened")
        elif done.code and good and name == "m.mldf" and b"not an image" in done.stdout:
            report.note("a 1.0 file calls bytes an image that are none, and so does what was made of it")
        elif done.code and good:
            report.found(PART, "output", f"{case.name}: {out} does not verify: {done.stdout[-200:]!r}", again)
        if case.name in EQUAL and good:
            done = tool.run(["diff", *key, name, out], folder)
            if done.code:
                words = f"{case.name}: {out} differs: {done.stdout[-200:]!r} {done.stderr[-200:]!r}"
                report.found(PART, "silent", words, again)
