"""The neighbours' files as our readers see them (tests/interop/interop_dump.c), against other programs: Python's tarfile with
WebDataset's rule for names, and the manifests that came with the files of the real TurboLoader and the real FFCV."""

import gzip
import hashlib
import io
import json
import os
import random
import re
import struct
import subprocess
import tarfile
import zlib
from pathlib import Path

import pytest

SOURCE = Path(os.environ.get("MLDF_SOURCE_DIR", Path(__file__).resolve().parents[2]))
PROGRAMS = Path(os.environ.get("MLDF_BUILD_DIR", SOURCE / "build" / "dev")) / "tests"
pytestmark = pytest.mark.skipif(not (PROGRAMS / "interop_dump").exists(), reason="interop_dump is not built")


def dump(path=None, data=None):
    argument, where = ("-", {"input": data}) if path is None else (str(path), {})
    done = subprocess.run([PROGRAMS / "interop_dump", argument], stdout=subprocess.PIPE, check=True, **where)
    return json.loads(done.stdout)


def blob(data):
    return [len(data), hashlib.sha1(data).hexdigest()]


# ---- tar -----------------------------------------------------------------------------------------------------------

# The rule of webdataset.tariterators, in its own words: what is before the first dot of the last part is the key.
NAME = re.compile(r"^((?:.*/|)[^.]+)[.]([^/]*)$", re.S)


def grouped(members):
    samples = []
    for name, content in members:
        match = NAME.match(name)
        if not match or (name.startswith("__") and name.endswith("__") and "/" not in name):
            continue
        key, extension = match.groups()
        if not extension:  # WebDataset has a field without a name then; no other format has
            continue
        if not samples or samples[-1][0] != key.encode().hex():
            samples.append([key.encode().hex()])
        samples[-1].append([extension.lower().encode().hex(), blob(content)])
    return samples


def archive(members, form, pax_headers=None):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form, pax_headers=pax_headers or {}) as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            info.mtime = 1234567890.25 if form == tarfile.PAX_FORMAT else 1234567890
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def random_members(seed, longest):
    rng = random.Random(seed)
    members, used = [], set()
    for i in range(60):
        stem = f"{i:04d}" + "".join(rng.choice("abcXYZ-_ü") for _ in range(rng.randrange(0, longest)))
        folders = [f"d.{rng.randrange(3)}" * rng.randrange(1, 5) for _ in range(rng.randrange(0, 3))]
        key = "/".join(folders + [stem])
        if key in used:
            continue
        used.add(key)
        for extension in rng.sample(["jpg", "CLS", "json", "seg.png", "txt", ""], rng.randrange(1, 4)):
            members.append((f"{key}.{extension}", rng.randbytes(rng.choice([0, 1, 511, 512, 513, 5000]))))
        if rng.random() < 0.2:
            members.append((f"README{i}", b"no part of a sample"))
    return members


@pytest.mark.parametrize("form,longest", [(tarfile.USTAR_FORMAT, 40), (tarfile.GNU_FORMAT, 250), (tarfile.PAX_FORMAT, 250)])
def test_archives_of_tarfile_are_grouped_as_webdataset_does(tmp_path, form, longest):
    for seed in range(8):
        members = random_members(seed, longest)
        data = archive(members, form, {"comment": "a global header"})
        path = tmp_path / "a.tar"
        path.write_bytes(data)
        want = grouped(members)
        for got in (dump(path), dump(data=data), dump(data=gzip.compress(data))):
            assert got["status"] == "end", bytes.fromhex(got["message"])
            assert got["samples"] == want


def test_every_cut_of_an_archive_is_an_error_or_the_whole(tmp_path):
    members = random_members(1, 20)[:6]
    data = archive(members, tarfile.PAX_FORMAT)
    want = grouped(members)
    end = len(data.rstrip(b"\0"))
    for cut in list(range(0, end, 199)) + list(range(0, end + 1, 512)):
        got = dump(data=data[:cut])
        if got["status"] == "end":  # between two members: nothing is missing but the end mark
            assert got["samples"][:-1] == want[:len(got["samples"]) - 1]
            continue
        assert got["status"] == "truncated"
        assert "last whole sample" in bytes.fromhex(got["message"]).decode()
        assert got["samples"] == want[:len(got["samples"])]


def test_python_reads_the_names_that_we_write(tmp_path):
    subprocess.run([PROGRAMS / "interop_files", tmp_path], check=True)
    with tarfile.open(tmp_path / "names.tar") as tar:
        members = [(m.name, tar.extractfile(m).read()) for m in tar if m.isreg()]
        assert all(m.mtime == 0 and m.uid == 0 and m.mode == 0o644 for m in tar.getmembers())
    assert len(members) == 800
    assert {len(name.rsplit(".", 1)[0].rstrip("0123456789ä")) for name, _ in members} == set(range(1, 401))
    got = dump(tmp_path / "names.tar")
    assert got["status"] == "end" and got["samples"] == grouped(members)


# ---- TBL -----------------------------------------------------------------------------------------------------------

def test_tbl_golden_files():
    folder = SOURCE / "tests" / "golden" / "tbl"
    label, x = b'{"label":7}'.hex(), b'{"x":1}'.hex()
    assert dump(folder / "v1_4samples.tbl")["samples"] == [
        ["jpeg", 0, 0, blob(b"hello-jpeg")], ["png", 0, 0, blob(b"png!")], ["unknown", 0, 0, blob(b"")],
        ["tiff", 0, 0, blob(b"tiff-data")]]
    assert dump(folder / "v2_comp_meta.tbl")["samples"] == [
        ["jpeg", 640, 480, blob(b"A" * 100), 1, label], ["png", 0, 0, blob(b"png!")],
        ["unknown", 0, 0, blob(b""), 1, x]]


def test_tbl_header_of_ours_has_zlibs_crc(tmp_path):
    subprocess.run([PROGRAMS / "interop_files", tmp_path], check=True)
    data = (tmp_path / "plain.tbl").read_bytes()
    stored, = struct.unpack_from("<I", data, 44)
    assert stored == zlib.crc32(data[:44] + bytes(4) + data[48:64])
    assert len(dump(tmp_path / "plain.tbl")["samples"]) == 300


# ---- .beton --------------------------------------------------------------------------------------------------------

def test_beton_golden_files_that_need_no_unpacking(tmp_path):
    """Those with blobs are compared with the same manifest by tests/interop/test_beton.c."""
    folder = SOURCE / "tests" / "golden" / "beton"
    expected = json.loads((folder / "expected.json").read_text())
    for name in ("scalars", "shuffled"):
        path = tmp_path / f"{name}.beton"
        packed = folder / f"{name}.beton.zst"
        try:
            subprocess.run(["zstd", "-q", "-d", packed, "-o", path], check=True)
        except FileNotFoundError:
            pytest.skip("no zstd command")
        got, want = dump(path), expected[f"{name}.beton"]
        assert got["fields"] == [field["name"] for field in want["fields"]]
        assert got["samples"] == want["rows"]
