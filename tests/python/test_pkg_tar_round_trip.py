"""What an archive that mldf wrote brings back: names and types of fields, class names, card, arrays.

And arrays in archives of others.
"""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
import warnings

import mldf
import numpy as np
import pkg
import pytest
from test_pkg_tar import tar

SCHEMA, CARD = "__mldf_schema__", "__mldf_card__"
CLASSES = {"classes": {"label": ["cat", "dog"]}, "licence": "CC0 ä"}
FIELDS = {
    **pkg.FIELDS,
    "Upper": mldf.Int("uint64"),
    "flag": mldf.Int("bool"),
    "brain": mldf.NDArray("bfloat16", (None, 2)),
    "tokens": mldf.Tokens(1000),
    "wave": mldf.Audio(rate=16000),
}


def sample(i):
    wave = (np.sin(np.arange(400 + i) / 5) * 9000).astype(np.int16)
    return {
        **pkg.sample(i),
        "score": [None, float("nan"), float("-inf"), 0.1][i % 4],
        "Upper": 2**64 - 1 - i,
        "flag": i % 2 == 0,
        "brain": np.arange(2 * (i % 3), dtype=np.uint16).reshape(-1, 2),
        "tokens": np.arange(i % 7) * 9,
        "wave": wave,
    }


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("tar") / "a.mldf"
    with mldf.Writer(path, FIELDS, card=CLASSES) as w:
        for i in range(12):
            w.append(sample(i), key=f"s{i:02d}")
    return path


def same(a, b, lossless=("image",)):
    """Values of two files, field by field; raw pixels are PNG in a tar."""
    with mldf.open(a) as x, mldf.open(b) as y:
        assert x.fields == y.fields
        assert len(x) == len(y)
        for f, g in zip(mldf.info(a)["fields"], mldf.info(b)["fields"], strict=True):
            if f["name"] not in lossless:
                assert (f["type"], f["arguments"], f["nullable"]) == (g["type"], g["arguments"], g["nullable"])
        for i in range(len(x)):
            for name in lossless:
                np.testing.assert_array_equal(x[i, name], y[i, name])
        assert x.card == y.card
        assert list(x.keys) == list(y.keys)
    assert {d.field for d in mldf.diff(a, b).differences} <= set(lossless)


@pytest.mark.parametrize("ending", ["tar", "tar.gz", "tar.zst"])
@pytest.mark.parametrize("way", ["convert", "pack"])
def test_names_types_card_and_arrays_come_back(tmp_path, source, ending, way):
    there = tmp_path / f"x.{ending}"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mldf.convert(source, there)
        getattr(mldf, way)(there, tmp_path / "back.mldf")
    same(source, tmp_path / "back.mldf")
    same(source, there)


def test_the_archive_says_it_in_two_members_that_webdataset_passes_over(tmp_path, source):
    there = tmp_path / "x.tar"
    mldf.convert(source, there)
    with tarfile.open(there) as archive:
        names = archive.getnames()
    assert names[:2] == [SCHEMA, CARD]
    wds = pytest.importorskip("webdataset")
    read = list(wds.WebDataset(str(there), shardshuffle=False))
    assert [s["__key__"] for s in read] == [f"s{i:02d}" for i in range(12)]
    np.testing.assert_array_equal(np.load(io.BytesIO(read[4]["x.npy"])), sample(4)["x"])


def test_an_archive_through_a_pipe_and_a_kept_index(tmp_path, source):
    there, out = tmp_path / "x.tar", tmp_path / "back.mldf"
    mldf.convert(source, there)
    subprocess.run(
        [os.environ["MLDF"], "pack", "--format", "tar", "-", "-o", out],
        stdin=there.open("rb"),
        check=True,
        capture_output=True,
    )
    same(source, out)
    subprocess.run([os.environ["MLDF"], "info", "--keep-index", there], check=True, capture_output=True)
    assert there.with_name("x.tar.mldfidx").exists()
    same(source, there)


def test_shards_with_one_schema_and_with_two(tmp_path, source):
    a, b, out = tmp_path / "a.tar", tmp_path / "b.tar", tmp_path / "out.mldf"
    mldf.select(source, tmp_path / "1.mldf", samples=range(6))
    mldf.select(source, tmp_path / "2.mldf", samples=range(6, 12))
    mldf.convert(tmp_path / "1.mldf", a)
    mldf.convert(tmp_path / "2.mldf", b)
    mldf.pack([a, b], out)
    same(source, out)
    mldf.convert(tmp_path / "2.mldf", b, fields=["label", "x"], overwrite=True)
    packed = mldf.pack([a, b], tmp_path / "two.mldf")
    assert "different schemas" in packed.warnings[0].message
    with mldf.open(tmp_path / "two.mldf") as ds:
        assert "label.cls" in ds.fields


def test_an_archive_that_needs_no_schema_has_none(tmp_path):
    x = io.BytesIO()
    np.save(x, np.arange(6, dtype=np.float32).reshape(2, 3))
    first = tar(tmp_path / "a.tar", [("0.cls", b"1"), ("0.npy", x.getvalue()), ("0.txt", b"hi"), ("0.json", b"{}")])
    mldf.convert(first, tmp_path / "a.mldf")
    mldf.convert(tmp_path / "a.mldf", tmp_path / "b.tar")
    with tarfile.open(tmp_path / "b.tar") as archive:
        assert archive.getnames() == ["0.cls", "0.npy", "0.txt", "0.json"]
        assert archive.extractfile("0.npy").read() == x.getvalue()


def npy(array, **how):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, **how)
    return out.getvalue()


ARRAYS = [
    np.arange(24, dtype=np.float32).reshape(2, 3, 4),
    np.asfortranarray(np.arange(24, dtype=np.int16).reshape(2, 3, 4)),
    np.array(7, dtype=np.complex128),
    np.zeros((0, 5), dtype=np.uint8),
    np.arange(5, dtype=np.float16),
    np.array([True, False]),
]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.dtype}{a.shape}")
@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_npy_members_are_arrays(tmp_path, array, packed, version):
    path = tar(tmp_path / "a.tar", [(f"{i}.npy", npy(array, version=version)) for i in range(3)], packed)
    mldf.pack(path, tmp_path / "p.mldf")
    mldf.convert(path, tmp_path / "c.mldf")
    for out in path, tmp_path / "p.mldf", tmp_path / "c.mldf":
        with mldf.open(out) as ds:
            assert mldf.info(out)["fields"][0]["type"] == "ndarray"
            for i in range(3):
                assert ds[i, "npy"].dtype == array.dtype
                np.testing.assert_array_equal(ds[i, "npy"], array)


def test_npy_members_of_several_shapes(tmp_path):
    arrays = [np.full((2, n), n, np.int32) for n in (3, 1, 4)]
    path = tar(tmp_path / "a.tar", [(f"{i}.npy", npy(a)) for i, a in enumerate(arrays)])
    with mldf.open(path) as ds:
        assert mldf.info(path)["fields"][0]["arguments"] == {"dtype": "<i4", "shape": [2, None]}
        for i, a in enumerate(arrays):
            np.testing.assert_array_equal(ds[i, "npy"], a)


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (npy(np.arange(3.0)), "1 dimensions of <f8, and others have 2 of <i4"),
        (npy(np.arange(3, dtype=">i4")), "dtype '>i4', which no field holds"),
        (npy(np.zeros(2, dtype=[("a", "i4")])), "a NumPy array of structs"),
        (npy(np.array(["a"])), "dtype '<U1'"),
        (b"\x93NUMPY\x01\x00\x10\x00{'descr': '<f4', ", "not one that NumPy writes"),
        (b"no array at all", "not a NumPy file"),
    ],
    ids=range(6),
)
def test_npy_members_that_are_not_one_field_stay_bytes(tmp_path, other, why):
    first = npy(np.ones((2, 2), np.int32))
    path = tar(tmp_path / "a.tar", [("0.npy", first), ("1.npy", other)])
    with pytest.warns(UserWarning, match=f"npy is read as bytes, not as arrays: 1: .*{why}"), mldf.open(path) as ds:
        assert [bytes(ds[i, "npy"]) for i in range(2)] == [first, other]
    packed = mldf.pack(path, tmp_path / "p.mldf")
    assert "npy is read as bytes, not as arrays: 1: " in packed.warnings[0].message
    with mldf.open(tmp_path / "p.mldf") as ds:
        assert [bytes(ds[i, "npy"]) for i in range(2)] == [first, other]


def test_a_npy_member_that_is_cut_is_a_bad_sample(tmp_path):
    whole = npy(np.ones((2, 2), np.int32))
    path = tar(tmp_path / "a.tar", [("0.npy", whole), ("1.npy", whole[:-1])])
    with mldf.open(path) as ds:
        with pytest.raises(mldf.Error, match="15 bytes of elements; its shape and dtype need 16"):
            ds[1, "npy"]
        np.testing.assert_array_equal(ds[0, "npy"], np.ones((2, 2)))


@pytest.mark.parametrize(
    ("member", "text", "why"),
    [
        (SCHEMA, b"{", "is not used"),
        (SCHEMA, b'{"fields":[{"name":"x","type":"no such type"}]}', "is not used.*no such type"),
        (CARD, b"[1]", "is not used: not a JSON object"),
    ],
)
def test_members_that_make_no_sense_are_warned_about(tmp_path, member, text, why):
    path = tar(tmp_path / "a.tar", [(member, text), ("0.cls", b"1")])
    with pytest.warns(UserWarning, match=f"{member} {why}"), mldf.open(path) as ds:
        assert ds[0, "cls"] == 1 and not ds.card
    late = tar(tmp_path / "b.tar", [("0.cls", b"1"), (member, text)])
    with pytest.warns(UserWarning, match=f"{member} is not used: it must come before the first sample"):
        mldf.open(late).close()


def test_a_schema_that_the_members_do_not_keep_to(tmp_path):
    schema = b'{"fields":[{"name":"n","type":"int","dtype":"|u1"},{"name":"gone","type":"text"}]}'
    path = tar(tmp_path / "a.tar", [(SCHEMA, schema), ("0.n.cls", b"7"), ("0.new.txt", b"x"), ("1.n.cls", b"300")])
    with mldf.open(path) as ds:
        assert list(ds.fields) == ["n", "gone", "new.txt"]
        assert ds[0, "n"] == 7 and ds[0, "gone"] is None and ds[0, "new.txt"] == "x"
        with pytest.raises(mldf.Error, match="300"):
            ds[1, "n"]


def test_types_that_only_mldf_holds_are_warned_about(tmp_path):
    with mldf.Writer(tmp_path / "a.mldf", {"t": mldf.PackedTokens(10)}) as w:
        w.append({"t": [1, 2, 3]})
    with pytest.warns(UserWarning, match="field t: values of type text_packed are read back from a tar as JSON"):
        mldf.convert(tmp_path / "a.mldf", tmp_path / "a.tar")
    with mldf.open(tmp_path / "a.tar") as ds:
        assert ds[0, "t"]["tokens"] == [1, 2, 3]
