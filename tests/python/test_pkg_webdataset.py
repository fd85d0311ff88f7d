"""Archives as WebDataset's users have them: lists of names, arrays, archives without an end mark."""

import bz2
import gzip
import io
import lzma
import os
import subprocess
import tarfile
import zipfile
import zlib

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


PACKERS = {"bz2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("kind", PACKERS)
def test_archives_compressed_with_bzip2_and_xz(tmp_path, kind):
    plain = archive(tmp_path / "a.tar", range(40)).read_bytes()
    half = len(plain) // 1024 * 512
    packed = tmp_path / f"a.tar.{kind}"
    # Two streams, as pbzip2 and `xz --threads` with padding make them.
    packed.write_bytes(PACKERS[kind](plain[:half]) + bytes(8 if kind == "xz" else 0) + PACKERS[kind](plain[half:]))
    whole = mldf.open(tmp_path / "a.tar")
    with mldf.open(packed) as dataset:
        assert len(dataset) == 40 and dataset["cls"].tolist() == list(range(40))
        assert all((dataset[i].npy == whole[i].npy).all() for i in range(40))
    assert mldf.pack(packed, tmp_path / "a.mldf").written == 40
    with mldf.open(tmp_path / "a.mldf") as dataset:
        assert (dataset[39].npy == whole[39].npy).all()


@pytest.mark.parametrize("kind", PACKERS)
def test_damage_of_such_archives_is_named_by_byte(tmp_path, kind):
    rng = np.random.default_rng(1)
    plain = archive(tmp_path / "a.tar", range(60)).read_bytes() + rng.integers(0, 256, 90_000, np.uint8).tobytes()
    packed = PACKERS[kind](plain)
    path = tmp_path / f"cut.tar.{kind}"
    name = {"bz2": "bzip2", "xz": "xz"}[kind]
    for at in (12, len(packed) // 4, len(packed) // 2):
        path.write_bytes(packed[:at])
        with pytest.raises(mldf.errors.TruncatedError, match=rf"cut.tar.{kind}: .*{name} stream ends at byte {at}\b"):
            mldf.open(path)
    hurt = bytearray(packed)
    for at in range(len(hurt) // 3, len(hurt) // 3 + 40):
        hurt[at] ^= 0x55
    path.write_bytes(hurt)
    with pytest.raises(mldf.Error, match=rf"cut.tar.{kind}: .*{name} stream is damaged near byte \d+"):
        mldf.open(path)


@pytest.mark.parametrize("kind", PACKERS)
def test_such_an_archive_that_unpacks_to_more_than_the_limit_is_refused(tmp_path, kind):
    member = tarfile.TarInfo("a.bin")
    member.size = 32 << 20
    path = tmp_path / f"bomb.tar.{kind}"
    path.write_bytes(PACKERS[kind](member.tobuf() + bytes(member.size + 1024)))
    assert path.stat().st_size < 1 << 14
    command = [os.environ["MLDF"], "info", "--max-unpacked", "1M", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and f"bomb.tar.{kind}: " in done.stderr
    assert "unpacks to more than 1048576 bytes, which is the limit" in done.stderr


def test_an_xz_stream_that_needs_much_memory_is_refused(tmp_path):
    path = tmp_path / "wide.tar.xz"
    packer = lzma.LZMACompressor(lzma.FORMAT_XZ, filters=[{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 22}])
    data = bytearray(packer.compress(archive(tmp_path / "a.tar", range(3)).read_bytes()) + packer.flush())
    size = (data[12] + 1) * 4  # the block header is patched: making such a stream would take 10 GiB
    where = 12 + data[12 : 12 + size].index(b"\x21\x01") + 2
    data[where] = 36  # 1 GiB
    data[12 + size - 4 : 12 + size] = zlib.crc32(data[12 : 12 + size - 4]).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(mldf.errors.LimitError, match="wide.tar.xz: .*needs 1[0-9]{3} MiB of memory"):
        mldf.open(path)


def npz_archive(path, samples, save, mode="w"):
    with tarfile.open(path, mode) as tar:
        for i in samples:
            data = io.BytesIO()
            save(data, x=np.full((2, 3), i, np.float32), Mask=np.asfortranarray(np.arange(12).reshape(3, 4) + i))
            label = str(i).encode()
            for name, content in ((f"{i:03}.npz", data.getvalue()), (f"{i:03}.cls", label)):
                member = tarfile.TarInfo(name)
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    return path


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
def test_each_array_of_an_npz_is_a_field(tmp_path, save, mode):
    path = npz_archive(tmp_path / "a.tar", range(5), save, mode)
    mldf.pack(path, tmp_path / "a.mldf")
    for source in (path, tmp_path / "a.mldf"):
        with mldf.open(source) as dataset:
            assert list(dataset.fields) == ["x.npz", "Mask.npz", "cls"]
            for i in (4, 0, 2):
                assert dataset[i]["x.npz"].dtype == np.float32 and (dataset[i]["x.npz"] == i).all()
                assert (dataset[i]["Mask.npz"] == np.arange(12).reshape(3, 4) + i).all()
                assert dataset[i]["cls"] == i
        batch = next(iter(mldf.Loader(source, 5)))
        assert batch["x.npz"].shape == (5, 2, 3) and batch["Mask.npz"][3, 0, 0] == 3
    mldf.convert(tmp_path / "a.mldf", tmp_path / "back.tar")  # an .npy for each array
    with mldf.open(tmp_path / "back.tar") as dataset:
        assert (dataset[3]["Mask.npz"] == np.arange(12).reshape(3, 4) + 3).all()


def test_an_npz_of_something_else_stays_bytes_with_a_warning(tmp_path):
    def pickled(out, **_):
        np.savez(out, thing=np.array([{"a": 1}], dtype=object))

    def broken(out, **_):
        out.write(b"PK\x03\x04 but no zip")

    for save, name in ((pickled, "thing.npz"), (broken, "npz")):
        path = npz_archive(tmp_path / "a.tar", range(2), save)
        with pytest.warns(UserWarning, match=f"field {name} is read as bytes, not as arrays"):
            dataset = mldf.open(path)
        assert isinstance(dataset[1][name], bytes) and dataset[1]["cls"] == 1
        if name == "thing.npz":
            assert dataset[1][name][:6] == b"\x93NUMPY"
        dataset.close()


def test_a_damaged_array_of_an_npz_is_named(tmp_path):
    for save, at in ((np.savez, b"\0\0\x80?"), (np.savez_compressed, None)):
        path = npz_archive(tmp_path / "a.tar", range(2), save)
        data = bytearray(path.read_bytes())
        place = data.index(at, 1024) if at else data.index(b"PK\x03\x04", data.index(b"x.npy") + 20) - 8
        data[place + 1] ^= 0x10
        path.write_bytes(data)
        with mldf.open(path) as dataset, pytest.raises(mldf.Error, match=r"a.tar: sample \d, field x.npz: .*array"):
            for i in range(2):
                _ = dataset[i]["x.npz"]


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("mode", ["w", "w:bz2"])
@pytest.mark.parametrize("kind", ["folder", "name", "text", "cut"])
def test_an_npz_that_cannot_be_split_keeps_every_byte(tmp_path, save, mode, kind):
    written = []

    def odd(out, x, **_):
        inner = io.BytesIO()
        save(inner, x=x, **{{"folder": "g/y", "name": "y" * 60}.get(kind, "y"): x})
        if kind == "text":
            with zipfile.ZipFile(inner, "a") as archive:
                archive.writestr("notes.txt", "hello")
        written.append(inner.getvalue()[: -8 if kind == "cut" else None])
        out.write(written[-1])

    path = npz_archive(tmp_path / "a.tar", range(2), odd, mode)
    result = mldf.pack(path, tmp_path / "a.mldf")
    assert any("field npz" in str(w) and "bytes" in str(w) for w in result.warnings), result.warnings
    with pytest.warns(UserWarning, match="field npz is read as bytes, not as arrays"):
        dataset = mldf.open(path)
    with dataset, mldf.open(tmp_path / "a.mldf") as packed:
        assert list(dataset.fields) == list(packed.fields) == ["npz", "cls"]
        assert [dataset[i]["npz"] for i in range(2)] == [packed[i]["npz"] for i in range(2)] == written


class Pipe(io.RawIOBase):
    """A file that cannot seek: sizes and CRC-32 of each entry follow its data."""

    def __init__(self, out):
        self.out = out

    def writable(self):
        return True

    def write(self, data):
        return self.out.write(data)


@pytest.mark.parametrize("zip64", [False, True])
@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_arrays_whose_sizes_follow_them_are_read_and_checked(tmp_path, method, zip64):
    def streamed(out, **arrays):
        with zipfile.ZipFile(Pipe(out), "w", method) as archive:
            for name, array in arrays.items():
                with archive.open(name + ".npy", "w", force_zip64=zip64) as entry:
                    np.lib.format.write_array(entry, np.asarray(array))

    path = npz_archive(tmp_path / "a.tar", range(2), streamed)
    with mldf.open(path) as dataset:
        assert list(dataset.fields) == ["x.npz", "Mask.npz", "cls"]
        assert (dataset[1]["x.npz"] == 1).all() and (dataset[1]["Mask.npz"] == np.arange(12).reshape(3, 4) + 1).all()
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x07\x08") + 4] ^= 1  # the CRC-32 of the first array
    path.write_bytes(data)
    with mldf.open(path) as dataset, pytest.raises(mldf.Error, match="sample 0, field x.npz: the array's CRC-32 is"):
        _ = dataset[0]["x.npz"]


def test_a_deflated_array_that_is_too_large_is_refused(tmp_path):
    def bomb(out, **_):
        np.savez_compressed(out, x=np.zeros(4 << 20, np.uint8))

    path = npz_archive(tmp_path / "a.tar", range(1), bomb)
    with (
        mldf.open(path, max_decoded_bytes=1 << 20) as dataset,
        pytest.raises(
            mldf.errors.LimitError, match="field x.npz: .*deflated bytes become 4194432, and the limit is 104"
        ),
    ):
        _ = dataset[0]["x.npz"]


def test_an_npz_that_unpacks_to_too_much_is_refused_when_it_is_packed(tmp_path):
    def bomb(out, **_):
        out.write(bytes(8 << 20))

    path = npz_archive(tmp_path / "a.tar.gz", range(1), bomb, "w:gz")
    with pytest.raises(mldf.errors.LimitError, match="000.npz has 8388608 bytes, and the limit .* is 1048576"):
        mldf.pack(path, tmp_path / "a.mldf", max_decoded_bytes=1 << 20)
    assert not (tmp_path / "a.mldf").exists()


@pytest.mark.parametrize(
    ("pack", "kind", "least"), [(bz2.compress, "bzip2", 10), (lzma.compress, "xz", 6), (gzip.compress, "gzip", 2)]
)
def test_a_second_stream_that_is_cut_in_its_first_bytes_is_an_error(tmp_path, pack, kind, least):
    plain = archive(tmp_path / "a.tar", range(2)).read_bytes()
    half = len(plain) // 1024 * 512
    first, second = pack(plain[:half]), pack(plain[half:])
    path = tmp_path / "two.tar.packed"
    path.write_bytes(first + second)
    with mldf.open(path) as dataset:
        assert len(dataset) == 2
    for kept in range(1, least + 1):
        path.write_bytes(first + second[:kept])
        with pytest.raises(mldf.Error, match=f"the {kind} stream ends at byte {len(first)}|{kind}.*in the middle"):
            mldf.open(path)
    path.write_bytes(first + second + b"other bytes")
    with mldf.open(path) as dataset:
        assert len(dataset) == 2
