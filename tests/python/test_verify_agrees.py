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
import re
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
ROUNDS = int(os.environ.get("MLDF_AGREE_ROUNDS", "4"))
INTERESTING = [0, 1, 2, 7, 8, 16, 63, 64, 127, 128, 255, 256, 4096, 65535, 65536, 2**31, 2**32 - 1, 2**40, 2**63, 2**64 - 1]
BETON = ["scalars", "custom255", "fixed48_jpg", "shuffled"]
LARGEST = 40000


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
                           for ending, data in ((ending, image(form)), ("cls", b"%d" % k), ("txt", f"né{k}".encode()),
                                                ("json", b'{"k":[%d,null]}' % k))))
    images = folder / "images"
    images.mkdir()
    for k, form in enumerate(("JPEG", "PNG", "BMP", "WEBP", "TIFF")):
        (images / f"{k}.{form.lower()}").write_bytes(image(form))
    (folder / "t.jsonl").write_text('{"a":1,"t":"x","j":{"k":[1]},"n":null}\n{"a":null,"t":"ü","j":null,"n":2.5}\n')
    for arguments in (["pack", images, "-o", folder / "photos.mldf", "--no-checksums"],
                      ["pack", folder / "t.jsonl", "-o", folder / "table.mldf", "--no-checksums"],
                      ["convert", folder / "photos.mldf", "-o", folder / "photos.tbl", "--drop-fields", "--fields", "image"],
                      ["convert", folder / "photos.mldf", "-o", folder / "photos.beton", "--fields", "image"]):
        done = run(*arguments, "-q")
        assert done.returncode == 0, (arguments, done.stderr)
    return {p.name: p.read_bytes() for p in (tar, *(folder / n for n in ("photos.mldf", "table.mldf", "photos.tbl", "photos.beton")))}


def seeds(folder):
    """name -> bytes, and name -> options that open it."""
    files, options = made(folder), {}
    for entry in json.loads((VALID / "manifest.json").read_text()):
        name = entry["file"]
        if len(data := (VALID / name).read_bytes()) > LARGEST:
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
    if native and name not in ("streamed.mldf", "torn_header.mldf", "old_header.mldf", "trailing_garbage.mldf") and "encrypted_all" not in name:
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

# What verify looks at and the others do not, or copy and show as it is.
MORE = re.compile("|".join((
    "page map", "allocation", "padding bit", "not UTF-8", "not JSON", "record says", "does not decode", "front header", "statistics",
    "history", "key slot", "key of sample", "record of a null", "has CRC", "are damaged|is damaged", "character", "is an image",
    "its key leads", "needs arguments", "do not authenticate|does not authenticate", "metadata block", "is not one of version", "RAW_U8",
    "frame [0-9]|last frame", "(paragraph|sentence) [0-9]", "of the value: ", "pixels|IDAT|JPEG|PNG|WebP|BMP|TIFF")))


def commands(path, out, name):
    """The first one writes what is then verified itself."""
    if name.endswith(".mldf"):
        yield "repack", ["repack", path, "-o", out, "-f", "-q", "-j", 0]
    yield "convert", ["convert", path, "-o", out, "--to", "mldf", "-f", "-q", "-j", 0]
    yield "cat", ["cat", "--full", "--json", path]
    yield "diff", ["diff", path, path]
    yield "stats", ["stats", "--json", path]


def compare(path, out, name, opening):
    """"good", "bad", "more" (verify alone finds fault, as it should), or what does not agree."""
    judged = run("verify", "--deep", "--json", "-j", 0, path, *opening)
    assert 0 <= judged.returncode <= 3, judged
    out.unlink(missing_ok=True)
    refused, good = {}, judged.returncode == 0
    for command, arguments in commands(path, out, name):
        done = run(*arguments, *opening)
        assert 0 <= done.returncode <= 3, (arguments, done.returncode, done.stderr)
        if done.returncode:
            refused[command] = (done.stderr + done.stdout).decode(errors="replace").strip().splitlines()[0]
    if good and refused:
        return f"verify says ok, and {refused}"
    if good:
        again = run("verify", "--deep", "-j", 0, out, *opening)
        return "good" if again.returncode == 0 else f"verify says ok, and not of what was written anew: {again.stdout!r}"
    if refused:
        return "bad"
    why = (judged.stdout + judged.stderr).decode(errors="replace")
    return "more" if MORE.search(why) else f"verify alone finds fault: {why}"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("seeds")
    return folder, *seeds(folder)


NAMES = ["made.tar", "photos.mldf", "table.mldf", "photos.tbl", "photos.beton",
         *(e["file"] for e in json.loads((VALID / "manifest.json").read_text()) if (VALID / e["file"]).stat().st_size <= LARGEST),
         *sorted(p.name for p in (*(GOLDEN / "draft").glob("*.mldf"), *(GOLDEN / "tbl").glob("*.tbl"))),
         *(name + ".beton" for name in BETON)]


def mutate_and_compare(folder, name, data, opening, rounds, seed):
    """Yields the outcome of each mutation and what it was."""
    path, out, rng = folder / ("x" + Path(name).suffix), folder / "out.mldf", random.Random(f"{seed} {name}")
    for b, what in mutations(rng, name, data, rounds):
        path.write_bytes(b)
        yield compare(path, out, name, opening), what


@pytest.mark.parametrize("name", NAMES)
def test_what_verify_calls_good_every_command_reads(prepared, tmp_path, name):
    _, files, options = prepared
    for outcome, what in mutate_and_compare(tmp_path, name, files[name], options.get(name, []), ROUNDS, "ci"):
        assert outcome in ("good", "bad", "more"), f"{name}: {what}: {outcome}"


def test_an_image_whose_signature_is_damaged_is_found(prepared, tmp_path):
    _, files, _ = prepared
    for name, signature in (("photos.mldf", b"\xff\xd8\xff"), ("photos.mldf", b"\x89PNG"), ("made.tar", b"\x89PNG"),
                            ("photos.tbl", b"\xff\xd8\xff"), ("photos.beton", b"\xff\xd8\xff")):
        data = bytearray(files[name])
        data[data.index(signature)] ^= 1
        path = tmp_path / name
        path.write_bytes(data)
        done = run("verify", "--deep", "--json", path)
        assert done.returncode == 1 and not json.loads(done.stdout)["ok"], (name, done)
        if name == "photos.tbl":  # its checksum speaks too: mended, the index still says JPEG
            assert any("checksum" == p["status"] for p in json.loads(done.stdout)["problems"])


def test_a_tbl_sample_that_is_no_image_is_found(tmp_path):
    done = run("verify", "--deep", "--json", GOLDEN / "tbl" / "v1_4samples.tbl")
    problems = json.loads(done.stdout)["problems"]
    assert done.returncode == 1 and [p["sample"] for p in problems] == [0, 1, 3]
    assert run("verify", GOLDEN / "tbl" / "v1_4samples.tbl").returncode == 0  # made-up bytes, rightly stored


def test_a_key_of_an_archive_that_is_no_text_is_found(tmp_path):
    data = tar_of([("aXb.txt", b"one"), ("c.txt", b"two")]).replace(b"aXb.txt", b"a\xffb.txt")
    header = bytearray(data[:512])
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    path = tmp_path / "a.tar"
    path.write_bytes(bytes(header) + data[512:])
    done = run("verify", "--json", path)
    found = json.loads(done.stdout)
    assert done.returncode == 1 and found["good_samples"] == 1 and "UTF-8" in found["problems"][0]["message"]


@pytest.mark.parametrize("name, type_id, record, status", [("scalars_204", 2, 7, "corrupt"), ("scalars_208", 2, 16, "corrupt"), ("scalars_208", 4, 16, "feature")])
def test_a_field_of_a_1_0_file_that_is_not_its_types_is_found(tmp_path, name, type_id, record, status):
    """A FLOAT of 7 bytes, an array without arguments: read as unknown, and nothing can write them anew."""
    data = bytearray((GOLDEN / "draft" / (name + ".mldf")).read_bytes())
    f = reader.File(bytes(data))
    at = next(x.at for x in f.fields if x.type_id == reader.FLOAT)
    struct.pack_into("<H", data, at + 64, type_id)
    struct.pack_into("<I", data, at + 68, record)
    struct.pack_into("<Q", data, 17, 0)  # no rows, so that they fit
    path = tmp_path / "a.mldf"
    path.write_bytes(data)
    mine = [(p.status, p.offset) for p in reader.File(bytes(data)).verify()]
    done = run("verify", "--json", path)
    theirs = [(p["status"], p["offset"]) for p in json.loads(done.stdout)["problems"]]
    assert (status, at + (64 if status == "feature" else 68)) in mine and sorted(mine) == sorted(theirs)
    assert run("repack", path, "-o", tmp_path / "b.mldf").returncode == 1


def main(rounds, seed):
    seen = collections.Counter()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        files, options = seeds(folder)
        for name, data in files.items():
            for outcome, what in mutate_and_compare(folder, name, data, options.get(name, []), rounds, seed):
                seen[outcome if outcome in ("good", "bad", "more") else "WRONG"] += 1
                if outcome not in ("good", "bad", "more"):
                    print(f"{name}: {what}: {outcome}", flush=True)
            print(f"{name}: so far {dict(seen)}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "0")
