"""Archives as WebDataset's users have them: lists of names, arrays, archives without an end mark."""

import io
import tarfile

import mldf
import numpy as np
import pytest


def archive(path, samples):
    with tarfile.open(path, "w") as tar:
        for i in samples:
            array = io.BytesIO()
            np.save(array, np.arange(6, dtype="<f4").reshape(2, 3) + i)
            for ending, data in (("npy", array.getvalue()), ("cls", str(i).encode())):
                member = tarfile.TarInfo(f"{i:03}.{ending}")
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
    return path


@pytest.mark.parametrize("names", ["train.tar::val.tar", "{train,val}.tar", "{train,val}.tar::", "train.tar::v*.tar"])
def test_lists_of_archives(tmp_path, monkeypatch, names):
    archive(tmp_path / "train.tar", range(3))
    archive(tmp_path / "val.tar", range(3, 5))
    monkeypatch.chdir(tmp_path)
    assert mldf.open(names)["cls"].tolist() == [0, 1, 2, 3, 4]
    assert [b.cls.tolist() for b in mldf.Loader(names, 3)] == [[0, 1, 2], [3, 4]]


def test_a_file_with_colons_in_its_name_is_that_file(tmp_path):
    archive(tmp_path / "a::b.tar", range(2))
    assert len(mldf.open(tmp_path / "a::b.tar")) == 2
    with pytest.raises(mldf.errors.NotFoundError, match="cannot be opened"):
        mldf.open(f"{tmp_path}/a::b.tar::c.tar")


def test_an_archive_without_an_end_mark_is_read_with_a_warning(tmp_path):
    whole = archive(tmp_path / "a.tar", range(3)).read_bytes()
    end = -(-len(whole.rstrip(b"\0")) // 512) * 512
    (tmp_path / "cut.tar").write_bytes(whole[:end])
    with pytest.warns(UserWarning, match=r"002.cls: the archive ends after this member, without its end mark"):
        dataset = mldf.open(tmp_path / "cut.tar")
    assert dataset["cls"].tolist() == [0, 1, 2] and dataset[2].npy.tolist() == [[2, 3, 4], [5, 6, 7]]
    (tmp_path / "cut.tar").write_bytes(whole[: end - 700])  # inside the last member's header
    with pytest.raises(mldf.errors.TruncatedError, match="last whole sample is 001"):
        mldf.open(tmp_path / "cut.tar")
