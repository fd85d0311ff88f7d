"""mldf.open and Dataset: every way to a sample."""

import pickle

import mldf
import numpy as np
import pkg
import pytest


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return pkg.make(tmp_path_factory.mktemp("dataset") / "a.mldf", 20, card={"title": "T", "classes": ["a", "b"]})


@pytest.fixture(scope="module")
def ds(path):
    return mldf.open(path)


@pytest.mark.parametrize("options", [{}, {"verify": True}, {"backend": "read"}, {"backend": "read", "verify": True}])
def test_every_value_comes_back(path, options):
    ds = mldf.open(path, **options)
    assert len(ds) == 20
    for i, s in enumerate(ds):
        pkg.check(s, i)


def test_samples_are_named_tuples(ds):
    s = ds[5]
    assert s.label == s["label"] == s[1] == 5
    image, label, *_ = s
    assert label == 5 and image is s.image
    assert s.asdict()["text"] == "sample 5 ä" and dict(s)["label"] == 5 and s._fields == ds.fields
    assert isinstance(s, mldf.Sample) and isinstance(s, tuple)
    again = pickle.loads(pickle.dumps(s))
    assert type(again) is type(s) and again.label == 5 and np.array_equal(again.image, s.image)
    assert "label=5" in repr(s) and "image=uint8[12, 16, 3]" in repr(s)
    with pytest.raises(KeyError, match="labl"):
        s["labl"]


def test_python_types(ds):
    s = ds[5]
    assert type(s.label) is int and type(s.score) is float and type(s.text) is str and type(s.blob) is bytes
    assert type(s.meta) is dict and isinstance(s.box, np.void) and s.box["y"] == 2.5
    assert ds[3].score is None and ds[3].meta is None


def test_one_field(ds):
    assert ds[7, "label"] == 7 and ds[-1, "text"] == "sample 19 ä"
    assert np.array_equal(ds[6, "image"], pkg.image(6))
    assert ds[np.int64(7), "label"] == 7


def test_numbers_of_samples(ds):
    assert ds[-1].label == 19 and ds[np.int32(3)].label == 3 and ds[np.array(4)].label == 4
    for bad in (20, -21, 10**30):
        with pytest.raises(IndexError):
            ds[bad]
    with pytest.raises((TypeError, ValueError)):
        ds[1.5]


def test_slices_arrays_and_masks_are_datasets(ds):
    assert [s.label for s in ds[2:8:2]] == [2, 4, 6]
    assert [s.label for s in ds[::-1][:3]] == [19, 18, 17]
    assert [s.label for s in ds[[5, 1, 1]]] == [5, 1, 1]
    assert [s.label for s in ds[np.array([-1, 0])]] == [19, 0]
    mask = np.arange(20) % 5 == 0
    assert [s.label for s in ds[mask]] == [0, 5, 10, 15]
    assert [s.label for s in ds[4:][mask[4:]][1:]] == [10, 15]
    assert len(ds[[]]) == 0 and len(ds[30:]) == 0
    for bad in ([20], [0, -21], np.ones(19, bool), ["a"], [1.5]):
        with pytest.raises((IndexError, ValueError)):
            ds[bad]


def test_values_of_many(ds):
    assert ds[2:5, "label"].tolist() == [2, 3, 4]
    assert ds[[9, 1], "text"] == ["sample 9 ä", "sample 1 ä"]
    assert ds[[9, 1], "fixed"].tolist() == [[9, -9, 7], [1, -1, 7]]


def test_getitems_gives_writable_copies(ds, path):
    got = ds.__getitems__([3, 0, 3])
    assert [s.label for s in got] == [3, 0, 3]
    for i, s in zip((3, 0, 3), got):
        pkg.check(s, i)
        assert s.image.flags.writeable and s.fixed.flags.writeable
        s.image[:] = 0
    pkg.check(mldf.open(path)[0], 0)  # the file is what it was
    assert ds[4:].__getitems__([0, -1])[1].label == 19


def test_views_of_the_file(ds):
    fixed, image = ds[4].fixed, ds[4].image
    assert not fixed.flags.writeable and not image.flags.writeable  # raw pixels
    assert ds[5].image.flags.writeable  # decoded: memory of its own
    assert fixed.ctypes.data % 8 == 0 and image.ctypes.data % 8 == 0 and ds[5].image.ctypes.data % 64 == 0
    with pytest.raises(ValueError):
        fixed[0] = 1


def test_column_is_a_view_of_the_rows(ds):
    labels = ds.column("label")
    assert labels.dtype == np.uint8 and labels.tolist() == list(range(20)) and not labels.flags.writeable
    assert np.shares_memory(labels, ds.column("label")) and labels.base is not None
    assert np.shares_memory(ds[3:9].column("label"), labels)
    assert ds[::-2].column("label").tolist() == list(range(19, -1, -2))
    assert ds["label"].tolist() == labels.tolist()
    assert ds.column("pos").shape == (20, 2, 2) and np.shares_memory(ds.column("pos"), ds.rows["pos"])
    assert ds.column("box")["id"][3] == b"b3"


@pytest.mark.parametrize("options", [{"verify": True}, {"backend": "read"}])
def test_column_without_a_view(path, ds, options):
    other = mldf.open(path, **options)
    for name in ("label", "fixed", "pos", "box"):
        assert np.array_equal(other.column(name), ds.column(name)) and other.column(name).dtype == ds.column(name).dtype
    assert np.ma.allequal(other.column("score"), ds.column("score"))


def test_columns_of_all_kinds(ds):
    assert ds.column("fixed").tolist() == [[i, -i, 7] for i in range(20)]
    assert ds.column("text")[4] == "sample 4 ä" and ds.column("meta")[0] is None and ds.column("meta")[1]["n"] == 1
    score = ds.column("score")
    assert isinstance(score, np.ma.MaskedArray) and score.mask.tolist() == [i % 4 == 3 for i in range(20)]
    assert score[2] == 0.25 and ds.valid("score").sum() == 15 and ds.valid("label").all()


def test_integers_of_all_widths(tmp_path):
    kinds = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
    path = tmp_path / "ints.mldf"
    low = [0 if k == "bool" else int(np.iinfo(k).min) for k in kinds]
    high = [1 if k == "bool" else int(np.iinfo(k).max) for k in kinds]
    with mldf.Writer(path, {k: mldf.Int(k) for k in kinds}) as w:
        w.append(low)
        w.append(high)
    for ds in (mldf.open(path), mldf.open(path, backend="read")):
        assert list(ds[0]) == low and list(ds[1]) == high and type(ds[1].bool) is bool
        for k, a, b in zip(kinds, low, high):
            assert ds.column(k).dtype == np.dtype(k) and ds.column(k).tolist() == [a, b]


def test_arrays_of_all_dtypes(tmp_path):
    kinds = [
        "bool",
        "int8",
        "uint8",
        "int16",
        "uint16",
        "int32",
        "uint32",
        "int64",
        "uint64",
        "float16",
        "float32",
        "float64",
        "complex64",
        "complex128",
    ]
    path = tmp_path / "arrays.mldf"
    values = {k: np.array([[0, 1], [1, 0]]).astype(k) for k in kinds}
    with mldf.Writer(
        path, {k: mldf.NDArray(k, (2, None)) for k in kinds} | {"half": mldf.NDArray("bfloat16", (1,))}
    ) as w:
        w.append(values | {"half": np.array([0x3F80], np.uint16)})
    s = mldf.open(path)[0]
    for k in kinds:
        assert s[k].dtype == np.dtype(k) and np.array_equal(s[k], values[k])
    assert s.half.view(np.uint16).tolist() == [0x3F80]


def test_empty_things(tmp_path):
    path = tmp_path / "e.mldf"
    with mldf.Writer(path, {"a": mldf.NDArray("f4", (None, 3)), "s": mldf.NDArray("f4", ()), "t": "text"}):
        pass
    ds = mldf.open(path)
    assert len(ds) == 0 and list(ds) == [] and ds.column("t") == [] and ds.rows.shape == (0,)
    with mldf.Writer(
        path, {"a": mldf.NDArray("f4", (None, 3)), "s": mldf.NDArray("f4", ()), "t": "text"}, overwrite=True
    ) as w:
        w.append({"a": np.zeros((0, 3), np.float32), "s": np.float32(2), "t": ""})
    s = mldf.open(path)[0]
    assert s.a.shape == (0, 3) and s.s.shape == () and s.s == 2 and s.t == ""


def test_rows_is_the_metadata_table(ds):
    rows = ds.rows
    assert rows.shape == (20,) and rows["label"].tolist() == list(range(20)) and not rows.flags.writeable
    assert rows["image"]["height"].tolist() == [12] * 20 and rows["image"]["mode"].tolist() == [0, 2] * 10
    assert rows["x"]["dims"].tolist() == [[i % 5, 2] for i in range(20)]
    assert (rows["blob"]["size"] == [i % 7 for i in range(20)]).all()
    assert ds[5:7].rows["label"].tolist() == [5, 6]


def test_raw_bytes(ds):
    png = ds.raw(5, "image")
    assert png.tobytes() == pkg.sample(5)["image"] and not png.flags.writeable and png.dtype == np.uint8
    assert ds.raw(2, "text").tobytes() == "sample 2 ä".encode() and ds.raw(3, "meta") is None
    assert ds.raw(0, "blob").size == 0


def test_images_as_asked_for(path):
    assert mldf.open(path, decode=False)[5].image == pkg.sample(5)["image"]
    assert np.array_equal(mldf.open(path, decode=False)[4].image, pkg.image(4))  # raw pixels are an array anyway
    assert mldf.open(path, channels=1)[5].image.shape == (12, 16, 1)
    four = mldf.open(path, channels=4)
    assert (four[4].image[..., 3] == 255).all() and np.array_equal(four[5].image[..., :3], pkg.image(5))
    assert mldf.open(path).with_options(decode=False)[5].image[:4] == b"\x89PNG"


def test_orientation(tmp_path):
    from PIL import Image

    exif = Image.Exif()
    exif[0x0112] = 6
    file = tmp_path / "o.jpg"
    Image.fromarray(pkg.image(1)).save(file, exif=exif)
    path = tmp_path / "o.mldf"
    with mldf.Writer(path, {"image": mldf.Image()}) as w:
        w.append({"image": file})
    assert mldf.open(path)[0].image.shape == (12, 16, 3)
    assert mldf.open(path, orient=True)[0].image.shape == (16, 12, 3)


def test_some_fields(path, ds):
    two = mldf.open(path, fields=["label", "text"])
    assert two.fields == ("label", "text") and tuple(two[3]) == (3, "sample 3 ä")
    assert ds[5:].with_fields("text")[0] == ("sample 5 ä",)
    assert list(two.schema) == ["label", "text"]


def test_keys(ds):
    keys = ds.keys
    assert len(keys) == 20 and keys[3] == "key-3" and keys[-1] == "key-19" and keys[1:3] == ["key-1", "key-2"]
    assert keys.index("key-11") == 11 and "key-4" in keys and "nothing" not in keys and 4 not in keys
    with pytest.raises(KeyError):
        keys.index("key-99")
    part = ds[::-1][:5]
    assert part.keys.index("key-18") == 1 and "key-3" not in part.keys and list(part.keys)[0] == "key-19"
    assert ds[[7, 3]].keys.index("key-3") == 1


def test_keys_of_numbers_are_found_without_a_walk(ds, monkeypatch):
    numbers = [7, 3, 19, 3, 0, 7, 3]
    some = ds[numbers]
    names = list(some.keys)
    sorts = []
    monkeypatch.setattr(np, "flatnonzero", None)
    monkeypatch.setattr(np, "argsort", lambda *a, f=np.argsort, **k: sorts.append(1) or f(*a, **k))
    for start in range(-8, 9):
        for stop in (None, 0, 3, 5, -1):
            for name in ("key-0", "key-3", "key-7", "key-19", "key-4"):
                within = range(len(names))[start:stop]
                want = next((i for i in within if names[i] == name), None)
                if want is None:
                    with pytest.raises(KeyError):
                        some.keys.index(name, start, stop)
                else:
                    assert some.keys.index(name, start, stop) == want
    assert len(sorts) == 1 and "key-4" not in some.keys and "key-0" not in ds[np.array([], int)].keys
    assert pickle.loads(pickle.dumps(some)).keys.index("key-19") == 2


def test_what_it_is(ds):
    assert ds.card["title"] == "T" and ds.format == "mldf" and len(ds.paths) == 1 and ds.fields[0] == "image"
    assert ds.schema["x"].dtype == np.float32 and ds.schema["x"].shape == (None, 2) and ds.schema["score"].nullable
    text = repr(ds)
    assert "20 samples" in text and "float32[?, 2]" in text and "nullable" in text
    assert "Keys(['key-0'" in repr(ds.keys)


def test_shards_are_the_whole(ds):
    for contiguous in (False, True):
        parts = [ds.shard(i, 3, contiguous=contiguous) for i in range(3)]
        assert sorted(s.label for p in parts for s in p) == list(range(20))
        assert max(map(len, parts)) - min(map(len, parts)) <= 1
    assert [s.label for s in ds.shard(1, 3)] == list(range(1, 20, 3))
    with pytest.raises(ValueError):
        ds.shard(3, 3)


def test_split(ds):
    train, test = ds.split(0.75, 0.25, seed=3)
    a, b = ([s.label for s in part] for part in (train, test))
    assert (len(a), len(b)) == (15, 5) and sorted(a + b) == list(range(20)) and a == sorted(a)
    assert [s.label for s in ds.split(0.75, 0.25, seed=3)[1]] == b != [s.label for s in ds.split(0.75, 0.25, seed=4)[1]]
    named = ds.split({"a": 0.5, "b": 0.5}, shuffle=False)
    assert [s.label for s in named["a"]] == list(range(10))
    for bad in ((), (0.5, 0.4), (1.5, -0.5)):
        with pytest.raises(ValueError):
            ds.split(*bad)


def test_split_keeps_proportions(tmp_path):
    path = tmp_path / "s.mldf"
    mldf.write(
        path,
        [{"c": i % 3 if i < 90 else 3, "t": "odd" if i % 2 else "even"} for i in range(100)],
        {"c": "int", "t": "text"},
    )
    ds = mldf.open(path)
    for part, share in zip(ds.split(0.8, 0.2, by="c"), (0.8, 0.2)):
        assert [int((part.column("c") == c).sum()) for c in range(4)] == [30 * share] * 3 + [10 * share]
    assert all(part.column("t").count("odd") == 25 for part in ds.split(0.5, 0.5, by="t"))


def test_the_order_of_a_split_never_changes():
    from mldf.order import shuffled

    assert shuffled(8, 0).tolist() == [5, 7, 2, 0, 3, 1, 6, 4]
    assert shuffled(5, 2**63).tolist() == [2, 1, 4, 0, 3]


# ---- several files ----


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    for i, count in enumerate((5, 0, 8, 7)):
        pkg.make(folder / f"s-{i:02}.mldf", count, first=(0, 5, 5, 13)[i])
    return folder


@pytest.mark.parametrize("how", ["glob", "list", "braces"])
def test_several_files_are_one_dataset(shards, how):
    given = {
        "glob": str(shards / "s-*.mldf"),
        "list": sorted(shards.iterdir()),
        "braces": str(shards / "s-{00..03}.mldf"),
    }[how]
    ds = mldf.open(given)
    assert len(ds) == 20 and len(ds.paths) == 4 and [len(p) for p in ds.parts] == [5, 0, 8, 7]
    for i in (0, 4, 5, 12, 13, 19, -1):
        pkg.check(ds[i], i % 20)
        assert ds[i, "text"] == f"sample {i % 20} ä"
    for i, s in zip((19, 0, 5, 5), ds.__getitems__([19, 0, 5, 5])):
        pkg.check(s, i)
    assert ds.column("label").tolist() == list(range(20)) and ds.column("text")[13] == "sample 13 ä"
    assert ds.column("score").mask.tolist() == [i % 4 == 3 for i in range(20)]
    assert ds[::-3].column("fixed")[:, 0].tolist() == list(range(19, -1, -3))
    assert ds.keys.index("key-14") == 14 and ds[10:].keys.index("key-14") == 4 and ds.raw(14, "blob").size == 0
    assert pickle.loads(pickle.dumps(ds[3:9]))[0].label == 3
    assert ds.rows["label"].tolist() == list(range(20)) and len(ds[::3].rows) == 7


def test_files_that_do_not_fit(tmp_path):
    for name, fields in (("a", {"x": "int"}), ("b", {"x": "float"}), ("c", {"x": "int", "y": "int"})):
        mldf.write(tmp_path / f"{name}.mldf", [], fields)
    with pytest.raises(mldf.errors.SchemaError, match="'x' is float"):
        mldf.open([tmp_path / "a.mldf", tmp_path / "b.mldf"])
    with pytest.raises(mldf.errors.SchemaError, match="'y'"):
        mldf.open([tmp_path / "a.mldf", tmp_path / "c.mldf"])
    with pytest.raises(mldf.errors.SchemaError, match="'y'"):
        mldf.open([tmp_path / "c.mldf", tmp_path / "a.mldf"])
    with pytest.raises(FileNotFoundError):
        mldf.open(tmp_path / "nothing-*.mldf")
    with pytest.raises(ValueError):
        mldf.open([])


# ---- the neighbours' formats ----


def test_tar_tbl_and_beton(tmp_path):
    path = tmp_path / "a.mldf"
    with mldf.Writer(path, {"image": mldf.Image(), "label": mldf.Int()}) as w:
        for i in range(6):
            w.append({"image": mldf.images.encode(pkg.image(i), "jpeg", quality=95), "label": i})
    want = [s.image for s in mldf.open(path)]
    for ending in ("tar", "beton"):
        mldf.convert(path, tmp_path / f"a.{ending}")
        ds = mldf.open(tmp_path / f"a.{ending}")
        assert ds.format == ending and len(ds) == 6
        image = next(name for name, field in ds.schema.items() if field.is_image)
        assert all(np.array_equal(ds[i, image], want[i]) for i in range(6))
        assert np.array_equal(ds.__getitems__([5])[0][image], want[5])
    beton = mldf.open(tmp_path / "a.beton")
    assert list(beton.column("label")) == list(range(6))
    mldf.convert(path, tmp_path / "a.tbl", fields=["image"])
    tbl = mldf.open(tmp_path / "a.tbl")
    assert (
        tbl.format == "tbl2"
        and np.array_equal(tbl[3].image, want[3])
        and not tbl.has_keys
        and list(tbl.keys) == []
        and tbl.keys[:3] == []
    )


def test_tar_shards_may_lack_fields(tmp_path):
    import io
    import tarfile

    for name, entries in (("0", {"a.txt": b"A", "a.cls": b"1"}), ("1", {"b.txt": b"B"})):
        with tarfile.open(tmp_path / f"s-{name}.tar", "w") as tar:
            for entry, data in entries.items():
                info = tarfile.TarInfo(entry)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    ds = mldf.open(tmp_path / "s-{0..1}.tar")
    assert len(ds) == 2 and ds[1]["cls"] is None and ds[0]["cls"] is not None and ds.schema["cls"].nullable
    assert list(ds.keys) == ["a", "b"] and ds.column("cls")[1] is np.ma.masked and ds.raw(1, "cls") is None


def test_encrypted(tmp_path):
    if "sodium" not in mldf.features:
        pytest.skip("this build has no encryption")
    path, key = tmp_path / "e.mldf", bytes(range(32))
    pkg.make(path, 4, key=key)
    with pytest.raises(mldf.errors.KeyMissingError):
        mldf.open(path)
    with pytest.raises(PermissionError):
        mldf.open(path, key=bytes(32))
    ds = mldf.open(path, key=key)
    pkg.check(ds[2], 2)
    pkg.check(pickle.loads(pickle.dumps(ds))[3], 3)
    assert ds.column("label").tolist() == [0, 1, 2, 3]
    assert mldf.info(path)["flags"][-1] == "encrypted"


def test_pickle_by_path(path, ds, tmp_path):
    for data in (ds, ds[3:9], ds[[4, 2]], ds.with_fields("label"), mldf.open(path, channels=1)):
        again = pickle.loads(pickle.dumps(data))
        assert len(again) == len(data) and again.fields == data.fields and again[1].label == data[1].label
    copy = tmp_path / "copy.mldf"
    copy.write_bytes(path.read_bytes())
    text = pickle.dumps(mldf.open(copy))
    assert len(text) < 1500
    mldf.write(copy, ds[:3], overwrite=True)
    with pytest.raises(mldf.errors.StateError, match="had 20 samples"):
        pickle.loads(text)


def test_an_address_is_told_from_a_file_that_is_missing(tmp_path):
    for call in (
        lambda: mldf.open("s3://bucket/a.mldf"),
        lambda: mldf.Loader("s3://bucket/a.mldf", batch_size=2),
        lambda: mldf.pack("s3://bucket/a", tmp_path / "x.mldf"),
    ):
        with pytest.raises(
            mldf.errors.NotFoundError, match="^s3://bucket/a[.mldf]*: .*only local files are read; copy it here"
        ):
            call()
