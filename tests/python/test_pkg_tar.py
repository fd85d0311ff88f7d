"""Compressed, empty and oddly named tar archives through the package."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import mldf
import numpy as np
import pytest
from mldf.errors import Error


def tar(path: Path, members: list[tuple[str, bytes]], packed: bool = False) -> Path:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT, encoding="latin-1") as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    path.write_bytes(gzip.compress(out.getvalue()) if packed else out.getvalue())
    return path


MEMBERS = [m for i in range(50) for m in ((f"{i:03d}.cls", b"%d" % i), (f"{i:03d}.bin", bytes([i]) * 1000))]


def test_a_compressed_tar_is_unpacked_where_tmpdir_says(tmp_path, monkeypatch):
    packed = tar(tmp_path / "a.tar.gz", MEMBERS, packed=True)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "none"))
    with pytest.raises(Error, match="the temporary folder .*none takes no file"):
        mldf.open(packed)
    # What goes from front to back needs no such folder.
    assert mldf.info(packed)["num_samples"] == 50
    assert mldf.verify(packed, deep=True).ok
    for operation in mldf.convert, mldf.pack:
        assert operation(packed, tmp_path / f"{operation.__name__}.mldf").written == 50
    (tmp_path / "here").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "here"))
    with mldf.open(packed) as ds:
        assert [ds[i, "cls"] for i in (49, 0, 7)] == [49, 0, 7]
        assert list((tmp_path / "here").iterdir()) == []


def test_the_limit_of_unpacked_bytes(tmp_path):
    packed = tar(tmp_path / "a.tar.gz", MEMBERS, packed=True)
    out = tmp_path / "out.mldf"
    words = r"a.tar.gz: the gzip archive unpacks to more than 20000 bytes.*--max-unpacked \(max_unpacked\)"
    with pytest.raises(Error, match=words):
        mldf.open(packed, max_unpacked=20000)
    with pytest.raises(Error, match=words):
        mldf.convert(packed, out, max_unpacked=20000)
    with pytest.raises(Error, match=words):
        mldf.pack(packed, out, max_unpacked=20000)
    assert not out.exists()
    assert [p.status for p in mldf.verify(packed, max_unpacked=20000).problems] == ["limit"]
    with pytest.raises(Error, match="max_unpacked=0: it is at least 1"):
        mldf.open(packed, max_unpacked=0)
    assert len(mldf.open(packed, max_unpacked=1 << 20)) == 50


def test_an_empty_tar_is_a_dataset_without_samples(tmp_path):
    for packed in False, True:
        empty = tar(tmp_path / "none.tar", [], packed)
        with mldf.open(empty) as ds:
            assert len(ds) == 0 and list(ds) == [] and list(ds.schema) == []
        assert mldf.verify(empty).ok
        full = tar(tmp_path / "some.tar", MEMBERS)
        for names in ([empty, full], [full, empty]):
            with mldf.open(names) as ds:
                assert len(ds) == 50 and not any(f.nullable for f in ds.schema.values())
                assert np.array_equal(ds["cls"], np.arange(50))
        mldf.convert(empty, tmp_path / "none.mldf", overwrite=True)
        mldf.convert(tmp_path / "none.mldf", tmp_path / "back.tar", overwrite=True)
        assert len(mldf.open(tmp_path / "back.tar")) == 0


def test_a_key_that_is_not_utf8_is_an_error_where_keys_are_needed(tmp_path):
    path = tar(tmp_path / "latin.tar", [("a.txt", b"1"), ("caf\xe9.txt", b"2"), ("c.txt", b"3")])
    words = "caf.xe9 of the member at byte 1024 is not UTF-8"
    with mldf.open(path) as ds:
        assert ds["txt"] == ["1", "2", "3"]
        with pytest.raises(Error, match=words):
            ds.keys[1]
    found = mldf.verify(path)
    assert [(p.status, p.sample) for p in found.problems] == [("key", 1)] and found.good_samples == 2
    with pytest.raises(Error, match=words):
        mldf.convert(path, tmp_path / "x.mldf")
    got = mldf.convert(path, tmp_path / "x.mldf", on_error="skip")
    assert got.written == 2 and len(got.skipped) == 1
