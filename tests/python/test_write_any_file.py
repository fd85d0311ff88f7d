"""Every command that writes, on every valid file that there is: the vectors of the specification and files of version 1.0.

A command either makes a file that is whole (`verify --deep`, and the reference reader's own verify), in which the old samples are the old
ones and the new ones are there; or it refuses, as REFUSED says, and the file that it was given keeps every byte. The second half does the
same for files whose descriptors another writer spelled in its own way."""

import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from ctypes.util import find_library
from pathlib import Path

import numpy as np
import pytest

from other_writer import SPELLINGS, Parts, descriptors, respelled, with_other_keys

ROOT = Path(os.environ.get("MLDF_SOURCE_DIR") or Path(__file__).resolve().parents[2])
MLDF = os.environ.get("MLDF") or str(ROOT / "build" / "dev" / "bin" / "mldf")
VALID = ROOT / "docs" / "spec" / "vectors" / "valid"
sys.path.insert(0, str(ROOT / "docs" / "spec"))
import reference_fast_jpeg as fast_jpeg  # noqa: E402
import reference_reader as reader  # noqa: E402

# Files whose tables are encrypted are not changed in place: tests/cli/cases/encrypt_all.sh.
CASES = {Path(c["file"]).stem: c | {"path": VALID / c["file"]} for c in json.loads((VALID / "manifest.json").read_text())
         if not c["file"].startswith("encrypted_all")}
DRAFTS = {f"draft/{p.stem}": {"path": p, "key": None, "passphrase": None}
          for p in sorted((ROOT / "tests" / "golden" / "draft").glob("*.mldf"))}
CASES |= DRAFTS
ENCRYPTED = [name for name, case in CASES.items() if case["key"] or case["passphrase"]]

# What each command refuses, and a piece of what it says; the exit code is 1. All else must succeed.
OLD, NEW = "a version 1.0 file cannot be appended to", "is newer than this version"
UNKNOWN = "which is not known here"
NO_PLACE = "so it has no place in a .beton file"
REFUSED = {
    "append": {"newer_minor": NEW} | dict.fromkeys(DRAFTS, OLD),
    "add-field": {"newer_minor": NEW} | dict.fromkeys(DRAFTS, OLD),
    "convert tar": dict.fromkeys(["unknown_types", *DRAFTS], UNKNOWN),
    "convert beton": {
        "images": "a .beton file has no nulls", "zstd": "a .beton file has no nulls", "encrypted_zstd": NO_PLACE,
        "int": "does not fit FFCV's signed integers", "inline": NO_PLACE, "inline_blocks": NO_PLACE, "long_arguments": NO_PLACE,
        "ndarray_dtypes": NO_PLACE, "ndarray_shapes": NO_PLACE, "nulls": NO_PLACE, "unknown_types": NO_PLACE,
        } | dict.fromkeys(DRAFTS, NO_PLACE),
    "convert tbl": dict.fromkeys(CASES, "no field holds images or bytes") | {
        "images": "these fields could be it", "zstd": "these fields could be it",
        "encrypted_zstd": "has no place in a TBL file", "nulls": "has no place in a TBL file"} | dict.fromkeys(DRAFTS, "has no place in a TBL file"),
}
for name in ("draft/scalars_204", "draft/scalars_208", "draft/one_field"):
    del REFUSED["convert tar"][name], REFUSED["convert beton"][name]
for name in ("draft/scalars_204", "draft/scalars_208", "draft/private_204", "draft/private_208", "draft/counts_204", "draft/counts_208"):
    REFUSED["convert tbl"][name] = "no field holds images or bytes"
for name in ("bytes", "fast_jpeg", "fast_jpeg_samplings", "unaligned_tables", "draft/one_field"):
    del REFUSED["convert tbl"][name]
for name in ("recordings", "packets", "tokens", "hierarchical", "videos", "video_packets", "flow"):  # each has a field in the form of the draft
    REFUSED["convert tar"][name] = UNKNOWN
    REFUSED["convert beton"][name] = NO_PLACE
for name in ("multimodal", "multimodal_videos"):
    REFUSED["convert tar"][name] = "is multimodal, and a value is one member of a tar archive"
    REFUSED["convert beton"][name] = NO_PLACE
REFUSED["convert tar"]["pack_plans"] = "sample 2: every value is null: the sample would have no member in the archive"
REFUSED["convert beton"]["pack_plans"] = NO_PLACE
REFUSED["convert beton"]["features"] = REFUSED["convert beton"]["encrypted_chunks"] = NO_PLACE
REFUSED["select one field"] = {"tokens": 'field "spans" goes along "stream", which is not there'}
REFUSED["convert tar.gz"] = REFUSED["convert tar"]


class Work:
    """A folder with a copy of one file in it, and the command with the file's secret."""

    def __init__(self, folder, name, data=None):
        self.folder, self.name, self.case = folder, name, CASES[name]
        self.secret = []
        if self.case["key"]:
            (folder / "secret").write_text(self.case["key"])
            self.secret = ["--key", "secret"]
        if self.case["passphrase"]:
            (folder / "secret").write_text(self.case["passphrase"])
            self.secret = ["--passphrase-file", "secret"]
        self.data = data or self.case["path"].read_bytes()
        self.path = folder / "a.mldf"
        self.path.write_bytes(self.data)
        self.old = self.read("a.mldf")

    def read(self, name):
        key = bytes.fromhex(self.case["key"]) if self.case["key"] else None
        return reader.read(self.folder / name, key, self.case["passphrase"])

    def run(self, command, *arguments, secret=True):
        return subprocess.run([MLDF, command, "-q", *arguments, *(self.secret if secret else [])], cwd=self.folder,
                              capture_output=True, text=True, timeout=120)

    def write(self, command, *arguments, what=None):
        """Runs a command that may be refused. True when it wrote."""
        done = self.run(command, *arguments)
        piece = self.refused(what or command)
        if piece is None:
            assert done.returncode == 0, (command, arguments, done.stderr)
            return True
        assert done.returncode == 1 and piece in done.stderr, (command, arguments, done.returncode, done.stderr)
        assert done.stderr.startswith(f"mldf {command}: a.mldf: "), done.stderr
        assert self.path.read_bytes() == self.data
        return False

    def refused(self, command):
        return REFUSED.get(command, {}).get(self.name)

    def whole(self, name):
        """A file on which nobody finds a problem."""
        done = self.run("verify", "--deep", name)
        assert done.returncode == 0, (done.stdout, done.stderr)
        file = self.read(name)
        assert file.verify(deep=True) == []
        return file

    def same(self, name, other="a.mldf"):
        done = self.run("diff", other, name)
        assert done.returncode == 0, (done.stdout, done.stderr)


def samples(file, fields=None):
    """Values as the reference reader shows them; records without pointer and (compressed: another) size."""
    names = fields or [f.name for f in file.fields]
    result = []
    for i in range(file.num_samples):
        row = {f.name: reader.value_json(file, i, f) for f in file.fields if f.name in names}
        for f in file.fields:
            if f.form and isinstance(row.get(f.name), dict) and "record" in row[f.name]:
                row[f.name]["record"] = row[f.name]["record"][24:]
        result.append((file.key(i) if file.has_keys else None, row))
    return result


@pytest.fixture
def folder():
    """In memory where that is possible: what is written is synced at every turn."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if os.access(shared, os.W_OK) else None) as path:
        yield Path(path)


@pytest.fixture(params=CASES, ids=str)
def work(request, folder):
    if request.param in ENCRYPTED and not find_library("sodium"):
        pytest.skip("libsodium is not installed")
    return Work(folder, request.param)


def append_itself(work):
    """The file's samples once more, under other keys."""
    source = work.folder / "more.mldf"
    source.write_bytes(work.data if work.name in DRAFTS else with_other_keys(work.data))
    old, more = samples(work.old), samples(work.read("more.mldf"))
    if not work.write("append", "a.mldf", "more.mldf"):
        return
    new = work.whole("a.mldf")
    assert samples(new) == old + more
    assert new.card == work.old.card


def add_fields(work, names=("extra", "words", "table")):
    """A number, a text and a field whose arguments are long, one after the other."""
    n = work.old.num_samples
    rows = [{"extra": i * 3, "words": f"word {i}", "table": {f"member {k:02d}": k + i for k in range(20)}} for i in range(n)]
    (work.folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    descr = [[f"member {k:02d}", "<i4"] for k in range(20)]
    (work.folder / "schema.json").write_text(json.dumps({"fields": [
        {"name": "extra", "type": "int"}, {"name": "words", "type": "text"},
        {"name": "table", "type": "inline", "descr": descr}]}))
    old = samples(work.old)
    for name in names:
        if not work.write("add-field", "a.mldf", f"{name}=rows.jsonl", "--column", name, "--schema", "schema.json"):
            return
        work.whole("a.mldf")
    new = work.read("a.mldf")
    assert samples(new, [f.name for f in work.old.fields]) == old
    assert [row for _, row in samples(new, names)] == [{name: row[name] for name in names} for row in rows]
    assert new.card == work.old.card


def test_append(work):
    append_itself(work)


def test_add_field(work):
    add_fields(work)


def test_append_to_a_file_with_a_new_field(work):
    """Both, one after the other: the descriptors stand elsewhere then."""
    (work.folder / "rows.csv").write_text("extra\n" + "7\n" * work.old.num_samples)
    if not work.write("add-field", "a.mldf", "extra=rows.csv") or work.refused("append"):
        return
    (work.folder / "more.mldf").write_bytes(with_other_keys(work.path.read_bytes()))
    old, more = samples(work.read("a.mldf")), samples(work.read("more.mldf"))
    assert work.write("append", "a.mldf", "more.mldf")
    assert samples(work.whole("a.mldf")) == old + more


def test_repack(work):
    if work.write("repack", "a.mldf", "-o", "b.mldf"):
        work.whole("b.mldf")
        work.same("b.mldf")
        assert work.path.read_bytes() == work.data
        assert work.write("repack", "a.mldf")
        work.whole("a.mldf")
        work.same("a.mldf", "b.mldf")


def test_merge(work):
    (work.folder / "more.mldf").write_bytes(work.data if work.name in DRAFTS else with_other_keys(work.data))
    if work.write("merge", "a.mldf", "more.mldf", "-o", "b.mldf"):
        n, new = work.old.num_samples, work.whole("b.mldf")
        assert new.num_samples == 2 * n
        assert work.write("select", "b.mldf", "-o", "first.mldf", "--samples", f":{n}", what="merge")
        assert work.write("select", "b.mldf", "-o", "second.mldf", "--samples", f"{n}:", what="merge")
        work.same("first.mldf")
        work.same("second.mldf", "more.mldf")
    assert work.path.read_bytes() == work.data


def test_split(work):
    if work.write("split", "a.mldf", "-o", "part-{}.mldf", "--fractions", "0.5,0.5"):
        parts = [work.whole(f"part-{i}.mldf") for i in range(2)]
        assert sum(part.num_samples for part in parts) == work.old.num_samples
        assert work.write("merge", "part-0.mldf", "part-1.mldf", "-o", "b.mldf", what="split")
        work.same("b.mldf")
    assert work.path.read_bytes() == work.data


def test_select(work):
    """All samples, and the last field of the last one."""
    if work.write("select", "a.mldf", "-o", "b.mldf", "--samples", ":"):
        work.whole("b.mldf")
        work.same("b.mldf")
    last = work.old.fields[-1].name
    if work.old.num_samples and work.write("select", "a.mldf", "-o", "c.mldf", "--samples", "-1", "--fields", last, what="select one field"):
        assert samples(work.whole("c.mldf"))[0][1] == samples(work.old, [last])[-1][1]
    assert work.path.read_bytes() == work.data


@pytest.mark.parametrize("to", ["mldf", "tar", "tar.gz", "beton", "tbl"])
def test_convert(work, to):
    what = f"convert {to}"
    if work.write("convert", "a.mldf", "-o", f"b.{to}", what=what):
        checked = work.run("verify", "--deep", f"b.{to}", secret=to == "mldf")
        assert checked.returncode == 0, checked.stdout
        if to == "mldf":
            work.same("b.mldf")
        else:
            assert work.run("convert", f"b.{to}", "-o", "c.mldf", secret=False).returncode == 0
            assert reader.read(work.folder / "c.mldf").verify(deep=True) == []
            # Without samples an archive has no fields either; a file has one at least.
            if work.old.num_samples or not to.startswith("tar"):
                assert work.run("diff", f"b.{to}", "c.mldf", secret=False).returncode == 0
    assert work.path.read_bytes() == work.data


def test_repair(work):
    if work.write("repair", "a.mldf"):
        assert samples(work.whole("a.mldf")) == samples(work.old)


def test_repair_into(work):
    if work.name == "unknown_sections":  # what nobody here understands cannot be carried over, and that is said
        done = work.run("repair", "a.mldf", "-o", "b.mldf")
        assert done.returncode == 1 and "lost: 4 unknown sections" in done.stdout
        work.same("b.mldf")
    elif work.write("repair", "a.mldf", "-o", "b.mldf", what="repair -o"):
        work.whole("b.mldf")
        work.same("b.mldf")
    assert work.path.read_bytes() == work.data


def test_extract(work):
    if work.write("extract", "a.mldf", "-o", "out"):
        lines = (work.folder / "out" / "manifest.jsonl").read_text().splitlines()
        assert len(lines) == work.old.num_samples
    assert work.path.read_bytes() == work.data


# ---- What the matrix refuses, with the part that stood in the way left out -----------------------------------------------


def members(path):
    with tarfile.open(path) as archive:
        return {m.name: archive.extractfile(m).read() for m in archive if not m.name.startswith("__mldf_")}


def test_a_side_column_is_selected_with_its_tokens(folder):
    work = Work(folder, "tokens")
    for kept in (["stream", "spans"], ["doc", "mask"]):
        out = "-".join(kept) + ".mldf"
        assert work.write("select", "a.mldf", "-o", out, "--samples", "1:", "--fields", ",".join(kept))
        assert samples(work.whole(out)) == samples(work.old, kept)[1:]


def test_tokens_in_a_tar_are_all_there(folder):
    """Documents as arrays; packed sequences and streams as JSON, because an array alone would lose their documents."""
    work = Work(folder, "tokens")
    names = [f.name for f in work.old.fields if f.known]
    assert names == ["doc", "bytes", "packed", "stream", "draft", "mask", "spans"]
    done = subprocess.run([MLDF, "convert", "a.mldf", "-o", "dropped.tar", "--drop-fields"], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "field old is left out: its type is not known here" in done.stderr
    assert work.run("convert", "a.mldf", "-o", "chosen.tar", "--fields", ",".join(names)).returncode == 0
    found = members(folder / "chosen.tar")
    assert found == members(folder / "dropped.tar")
    wanted = 0
    for i in range(work.old.num_samples):
        for f in work.old.fields:
            value = work.old.value(i, f.name)
            if value is None or not f.known:
                continue
            wanted, where = wanted + 1, f"{i:09d}.{f.name}"
            ids, ends, firsts = reader.token_parts(f, value) if f.type_id in reader.TOKEN_TYPES else (value, None, None)
            if ends is None:
                array = np.load(io.BytesIO(found[where + ".npy"]))
                assert array.dtype == ids.dtype and array.shape == ids.shape and np.array_equal(array, ids), where
            else:
                whole = {"tokens": ids.tolist(), "ends": ends} | ({} if firsts is None else {"from": firsts})
                assert json.loads(found[where + ".json"]) == whole, where
    assert len(found) == wanted


def test_a_tar_of_the_samples_that_have_a_value(folder):
    """--on-error skip leaves out, and lists, the sample that is null alone."""
    work = Work(folder, "pack_plans")
    done = work.run("convert", "a.mldf", "-o", "b.tar", "--on-error", "skip", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["written"] == work.old.num_samples - 1, said
    assert [x["source"] for x in said["skipped"]] == ["a.mldf: sample 2"], said
    assert ["3 pack plans" in x["message"] for x in said["warnings"]] == [True], said
    found = [np.load(io.BytesIO(data)).tolist() for data in members(folder / "b.tar").values()]
    values = [work.old.value(i, "t") for i in range(work.old.num_samples)]
    assert found == [reader.token_parts(work.old.fields[0], v)[0].tolist() for v in values if v is not None]


@pytest.mark.parametrize("to", ["tar", "beton", "tbl"])
def test_fast_jpegs_go_to_other_formats_as_their_files(folder, to):
    work = Work(folder, "fast_jpeg")
    wanted = [fast_jpeg.file(fast_jpeg.read(work.old.value(i, "image").data)) for i in range(work.old.num_samples)]
    assert work.run("convert", "a.mldf", "-o", f"b.{to}").returncode == 0
    assert work.run("convert", f"b.{to}", "-o", "c.tar").returncode == 0
    found = members(folder / "c.tar")
    assert [data for name, data in found.items() if data[:2] == b"\xff\xd8"] == wanted, found.keys()


# ---- Descriptors in another writer's spelling ----------------------------------------------------------------------------

SPELLED = ["hello", "int", "ndarray_shapes", "inline", "nulls", "keys", "card", "long_arguments", "unknown_types", "images",
           "zstd_dictionary", "encrypted_key", "encrypted_passphrase", "encrypted_zstd", "encrypted_chunks", "no_checksums", "zero_samples", "appended",
           "streamed", "torn_header", "tables_first"]


@pytest.fixture(params=[(name, how) for name in SPELLED for how in SPELLINGS], ids="-".join)
def foreign(request, folder):
    name, how = request.param
    if name in ENCRYPTED and not find_library("sodium"):
        pytest.skip("libsodium is not installed")
    work = Work(folder, name, respelled(CASES[name]["path"].read_bytes(), how))
    assert work.old.verify(deep=True) == []
    return work


def test_append_keeps_the_descriptors(foreign):
    append_itself(foreign)
    assert descriptors(foreign.path.read_bytes()) == descriptors(foreign.data)


def test_add_field_keeps_the_descriptors(foreign):
    add_fields(foreign, ["table"])
    assert descriptors(foreign.path.read_bytes())[:-208] == descriptors(foreign.data)


@pytest.mark.parametrize("name, how", [*((name, how) for name in ("nulls", "encrypted_zstd") for how in ("blanks", "braces", "reversed", "tail")),
                                       ("long_arguments", "tail"), ("tables_first", "braces"), ("appended", "tail")])
@pytest.mark.parametrize("into", [False, True], ids=["in-place", "into"])
def test_repair_mends_a_checksum_of_another_spelling(folder, name, how, into):
    """As appends of early versions left files of other writers: descriptors as they stood, with the checksum of our own spelling."""
    work = Work(folder, name)
    append_itself(work)
    want, good = samples(work.read("a.mldf")), work.path.read_bytes()
    place = Parts(good).header[7]
    foreign = descriptors(respelled(good, how))
    assert foreign != descriptors(good)
    damaged = good[:place] + foreign + good[place + len(foreign):]
    work.path.write_bytes(damaged)
    assert work.run("verify", "a.mldf").returncode == 1
    if not into:
        done = work.run("repair", "a.mldf", "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["action"] == "wrote the field descriptors in the spelling of their checksum"
        assert work.path.read_bytes() == good
    elif work.secret:  # the MAC too is that of our spelling: in place first
        assert work.run("repair", "a.mldf", "-o", "b.mldf").returncode != 0
    else:
        assert work.run("repair", "a.mldf", "-o", "b.mldf").returncode == 0
        assert samples(work.whole("b.mldf")) == want
    # A descriptor that is really damaged is not taken for one.
    work.path.write_bytes(damaged[:place] + b"Z" + damaged[place + 1:])
    assert work.run("repair", "a.mldf").returncode == 1
    assert work.path.read_bytes() == damaged[:place] + b"Z" + damaged[place + 1:]


@pytest.mark.parametrize("name", ["hello", "appended", "tables_first"])
def test_a_page_map_that_is_not_there_is_made(folder, name):
    """Section 7 may be left out; after an append it is there, for the old payloads too."""
    parts = Parts(CASES[name]["path"].read_bytes())
    parts.sections = [s for s in parts.sections if s[0] != 7]
    work = Work(folder, name, parts.file())
    assert work.old.verify(deep=True) == []
    append_itself(work)
    assert Parts(work.path.read_bytes()).section(7)  # verify has compared it with the rows
    work.path.write_bytes(parts.file())
    add_fields(work, ["words"])


def test_a_file_that_was_appended_to_as_often_as_can_be_counted(folder):
    parts = Parts(CASES["hello"]["path"].read_bytes())
    parts.generation = 2**32 - 1
    work = Work(folder, "hello", parts.file())
    done = work.run("append", "a.mldf", "a.mldf")
    assert done.returncode == 1 and "repack first" in done.stderr
    assert work.path.read_bytes() == work.data


def test_a_front_that_no_writer_here_makes_survives_a_refused_append(folder):
    """Reserved bytes of the header are another writer's business: a refused append leaves them."""
    parts = Parts(CASES["hello"]["path"].read_bytes())
    parts.header[5] = 7
    work = Work(folder, "hello", parts.file()[:9] + bytes(64) + parts.file()[73:])  # and the footer's copy counts
    (folder / "bad.csv").write_text("label,name\n1,one\nx,two\n")
    assert work.run("append", "a.mldf", "bad.csv").returncode == 1
    assert work.path.read_bytes() == parts.file()  # the header is the footer's again, byte for byte
    (folder / "good.csv").write_text("label,name\n1,one\n")
    assert work.run("append", "a.mldf", "good.csv").returncode == 0
    assert work.whole("a.mldf").num_samples == 3
