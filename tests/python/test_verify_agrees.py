"""`verify --deep` against every other command: a file that it calls good is one that they all read.

Valid vectors, the golden files of every format and a few made here are mutated, byte by byte and number by number, the
checksums of MLDF files made right again, and given to verify --deep, cat, repack (convert for other formats), diff and stats.
MLDF_AGREE_ROUNDS says how many mutations each file gets. By hand, for long:

    MLDF=build/dev/bin/mldf python tests/python/test_verify_agrees.py ROUNDS [SEED]
"""

import collections
import io
import json
import os
import random
import struct
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
SPEC, GOLDEN = ROOT / "docs" / "spec", ROOT / "tests" / "golden"
VALID = SPEC / "vectors" / "valid"
sys.path[:0] = [str(SPEC), str(ROOT / "tools")]
import reference_reader as reader  # noqa: E402
from vectors_invalid import Editor  # noqa: E402

COMMAND = os.environ.get("MLDF")
pytestmark = pytest.mark.skipif(not COMMAND, reason="MLDF does not name the command mldf")
ROUNDS = int(os.environ.get("MLDF_AGREE_ROUNDS", "8"))
INTERESTING = [0, 1, 2, 7, 8, 16, 63, 64, 127, 128, 255, 256, 4096, 65535, 65536, 2**31, 2**32 - 1, 2**40, 2**63, 2**64 - 1]
BETON = ["scalars", "custom255", "fixed48_jpg", "shuffled"]


# ---- Files to begin with --------------------------------------------------------------------------------------------


def image(form, side=12):
    out = io.BytesIO()
    Image.radial_gradient("L").resize((side, side)).convert("RGB").save(out, form)
    return out.getvalue()


def run(*arguments, **more):
    return subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, timeout=120, **more)


def tar_of(members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def made(folder):
    """One of each format with images, text, JSON, keys and nulls, without checksums where the format can do without."""
    tar = folder / "made.tar"
    tar.write_bytes(tar_of((f"a/{k}.{ending}", data) for k, form, ending in
                           ((0, "JPEG", "jpg"), (1, "PNG", "png"), (2, "WEBP", "webp"))
                           for ending, data in ((ending, image(form)), ("cls", b"%d" % k), ("txt", "né%d".encode() % k if False else f"né{k}".encode()),
                                                ("json", b'{"k":[%d,null]}' % k))))
    images = folder / "images"
    images.mkdir()
    for k, form in enumerate(("JPEG", "PNG", "BMP", "WEBP", "TIFF")):
        (images / f"{k}.{form.lower()}").write_bytes(image(form))
    (folder / "t.jsonl").write_text('{"a":1,"t":"x","j":{"k":[1]},"n":null}\n{"a":null,"t":"ü","j":null,"n":2.5}\n')
    for arguments in (["pack", images, "-o", folder / "images.mldf", "--no-checksums"],
                      ["pack", folder / "t.jsonl", "-o", folder / "table.mldf", "--no-checksums"],
                      ["convert", folder / "images.mldf", "-o", folder / "images.tbl", "--drop-fields", "--fields", "image"],
                      ["convert", folder / "images.mldf", "-o", folder / "images.beton", "--fields", "image"]):
        done = run(*arguments, "-q")
        assert done.returncode == 0, (arguments, done.stderr)
    return {p.name: p.read_bytes() for p in (tar, *(folder / n for n in ("images.mldf", "table.mldf", "images.tbl", "images.beton")))}


def seeds(folder):
    """name -> bytes, and name -> options that open it."""
    files, options = made(folder), {}
    for entry in json.loads((VALID / "manifest.json").read_text()):
        name = entry["file"]
        if len(data := (VALID / name).read_bytes()) > 40000:
            continue
        files[name] = data
        if entry["key"]:
            (folder / (name + ".key")).write_bytes(bytes.fromhex(entry["key"]))
            options[name] = ["--key", folder / (name + ".key")]
        elif entry["passphrase"]:
            (folder / (name + ".pass")).write_text(entry["passphrase"] + "\n")
            options[name] = ["--passphrase-file", folder / (name + ".pass")]
    for path in (*sorted((GOLDEN / "draft").glob("*.mldf")), *sorted((GOLDEN / "tbl").glob("*.tbl"))):
        files[path.name] = path.read_bytes()
    for name in BETON:
        packed = (GOLDEN / "beton" / f"{name}.beton.zst").read_bytes()
        files[name + ".beton"] = reader.zstd_decompress(packed, reader.zstd_content_size(packed), None)
    return files, options


# ---- Mutations ------------------------------------------------------------------------------------------------------


def spans(data):
    """Header, tables, sections, directory and payloads of an MLDF 1.1 file: where its bytes mean something."""
    e = Editor(data)
    t = e.ptr(1)
    found = [(9, 73), (e.directory, e.footer)]
    found += [(e.get("Q", t + 24 * k), e.get("Q", t + 24 * k) + e.get("Q", t + 24 * k + 8)) for k in range(3)]
    found += [(e.get("Q", x + 8), e.get("Q", x + 8) + e.get("Q", x + 16)) for x in range(e.directory + 16, e.footer, 40)]
    allocations, size = e.get("Q", t + 48), e.get("Q", t + 56)
    payloads = [struct.unpack_from("<QQ", data, allocations + at) for at in range(0, size, 16)]
    return [s for s in found + 2 * [(p, p + n) for p, n in payloads] if s[1] > s[0]]


def change(rng, data, begin, end):
    b, kind = bytearray(data), rng.randrange(6)
    at = rng.randrange(begin, end)
    if kind < 2:
        b[at] ^= 1 << rng.randrange(8)
        return b, f"a bit of byte {at}"
    if kind == 2:
        b[at] = rng.randrange(256)
        return b, f"byte {at} = {b[at]}"
    code = rng.choice("BHIQ")
    size = struct.calcsize(code)
    at = max(0, min(at - (at - begin) % size, len(b) - size))
    old = struct.unpack_from("<" + code, b, at)[0]
    value = (rng.choice(INTERESTING) if kind < 5 else old + rng.randint(-9, 9)) % 2**(8 * size)
    struct.pack_into("<" + code, b, at, value)
    return b, f"{code} {value} at byte {at}"


def mend_payload_checks(e):
    """Section 2 anew, from the rows as they stand."""
    try:
        f = reader.File(bytes(e.b), without_key=True)
    except reader.SpecError:
        return
    s = f.by_kind.get(reader.CHECKS)
    for sample in range(f.num_samples if s else 0):
        for k, field in enumerate(f.payload_fields):
            try:
                ptr, size = (0, 0) if f.is_null(sample, field.name) else f.location(sample, field.name)
            except reader.SpecError:
                continue
            e.put("I", s.ptr + 4 * (sample * len(f.payload_fields) + k), reader.crc32c(f.data[ptr:ptr + size]) if size else 0)
    e.fix()


def mutations(rng, name, data, rounds):
    native = name.endswith(".mldf") and data[11] == 1
    where = None
    if native and name not in ("streamed.mldf", "torn_header.mldf", "old_header.mldf", "trailing_garbage.mldf"):
        where = spans(data)
    used = [k for k in range(len(data)) if data[k]]
    for _ in range(rounds):
        if where:
            b, what = change(rng, data, *rng.choice(where))
            try:
                e = Editor(b)
                e.fix()
                mend_payload_checks(e)
                b = e.b
            except (struct.error, IndexError, OverflowError, KeyError, MemoryError):
                pass
        elif rng.random() < 0.04:
            b, what = data[:rng.randrange(len(data))], "cut"
        else:
            at = rng.choice(used)
            b, what = change(rng, data, max(0, at - 8), min(len(data), at + 9))
        yield bytes(b), what


# ---- The comparison -------------------------------------------------------------------------------------------------


def commands(path, out, name):
    other = not name.endswith(".mldf")
    yield "cat", ["cat", "--full", "--json", path]
    yield "repack", ["convert", path, "-o", out, "--to", "mldf", "-f", "-q"] if other else ["repack", path, "-o", out, "-f", "-q"]
    yield "convert", ["convert", path, "-o", out, "--to", "mldf", "-f", "-q"]
    yield "diff", ["diff", path, path]
    yield "stats", ["stats", "--json", path]


def compare(path, out, name, opening):
    """None, or what does not agree. The second result says which of the commands refused."""
    judged = run("verify", "--deep", "--json", "-j", 0, path, *opening)
    assert 0 <= judged.returncode <= 3, judged
    refused = {}
    for command, arguments in commands(path, out, name):
        done = run(*arguments, *opening)
        assert 0 <= done.returncode <= 3, (arguments, done.returncode, done.stderr)
        if done.returncode:
            refused[command] = (done.stderr + done.stdout).decode(errors="replace").strip().splitlines()[0]
    if judged.returncode == 0 and refused:
        return f"verify says ok, and {refused}", refused
    if judged.returncode and not refused:
        return "MORE " + (judged.stdout + judged.stderr).decode(errors="replace")[:400], refused
    return None, refused


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    return seeds(tmp_path_factory.mktemp("seeds"))


def main(rounds, seed):
    seen = collections.Counter()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        files, options = seeds(folder)
        only = os.environ.get("ONLY")
        for name, data in files.items():
            if only and only not in name:
                continue
            path, out, rng = folder / ("x" + Path(name).suffix), folder / "out.mldf", random.Random(f"{seed} {name}")
            for b, what in mutations(rng, name, data, rounds):
                path.write_bytes(b)
                problem, refused = compare(path, out, name, options.get(name, []))
                seen["good" if not refused and not problem else "bad"] += 1
                if problem:
                    seen["MORE" if problem.startswith("MORE") else "LESS"] += 1
                    print(f"{name}: {what}: {problem}", flush=True)
    print(dict(seen))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "0")
