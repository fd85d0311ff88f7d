"""mldf.Writer, mldf.write, field types: what goes in, and what is refused."""

import dataclasses
import io
import pathlib
import re
import sys

import mldf
import numpy as np
import pkg
import pytest
from PIL import Image


def test_the_same_samples_give_the_same_bytes(tmp_path):
    files = [pkg.make(tmp_path / f"{n}.mldf", 60, threads=n).read_bytes() for n in (0, 1, 3)]
    assert files[0] == files[1] == files[2]


def test_exception_leaves_nothing_behind(tmp_path):
    path = tmp_path / "a.mldf"
    with pytest.raises(ZeroDivisionError):
        with mldf.Writer(path, pkg.FIELDS) as w:
            for i in range(2000):
                w.append(pkg.sample(i))
            raise ZeroDivisionError
    assert pkg.listing(tmp_path) == []
    pkg.make(path, 3)
    before = path.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        with mldf.Writer(path, pkg.FIELDS, overwrite=True) as w:
            w.append(pkg.sample(0))
            raise KeyboardInterrupt
    assert path.read_bytes() == before and pkg.listing(tmp_path) == ["a.mldf"]


def test_a_forgotten_writer_leaves_nothing_behind(tmp_path):
    w = mldf.Writer(tmp_path / "a.mldf", {"x": "int"})
    w.append({"x": 1})
    with pytest.warns(UserWarning, match="1 sample is lost"):
        del w
    assert pkg.listing(tmp_path) == []


def test_existing_file_is_refused(tmp_path):
    path = pkg.make(tmp_path / "a.mldf", 2)
    with pytest.raises(FileExistsError) as caught:
        mldf.Writer(path, pkg.FIELDS)
    assert caught.value.status == "exists" and isinstance(caught.value, mldf.Error)
    assert len(mldf.open(pkg.make(path, 5, overwrite=True))) == 5


def test_finish_result_and_state(tmp_path):
    w = mldf.Writer(tmp_path / "a.mldf", {"x": "int"})
    w.extend([{"x": 1}, (2,), [3], 4])
    assert len(w) == 4 and "4 samples so far" in repr(w)
    result = w.finish()
    assert result.samples == 4 and result.bytes == (tmp_path / "a.mldf").stat().st_size and result.skipped == []
    assert mldf.open(tmp_path / "a.mldf").column("x").tolist() == [1, 2, 3, 4] and "finished" in repr(w)
    for call in (w.finish, lambda: w.append({"x": 5})):
        with pytest.raises(mldf.errors.StateError):
            call()
    w.abort()


def test_existing_appends(tmp_path):
    path = pkg.make(tmp_path / "a.mldf", 5)
    with mldf.Writer.existing(path) as w:
        assert w.schema.names == tuple(pkg.FIELDS)
        for i in range(5, 9):
            w.append(pkg.sample(i), key=f"key-{i}")
    ds = mldf.open(path)
    for i in range(9):
        pkg.check(ds[i], i)
    before = path.read_bytes()
    with pytest.raises(RuntimeError):
        with mldf.Writer.existing(path) as w:
            w.append(pkg.sample(9), key="key-9")
            raise RuntimeError
    assert len(mldf.open(path)) == 9 and mldf.verify(path).ok and path.read_bytes()[: len(before)] == before


# ---- values ----


@pytest.fixture
def one(tmp_path):
    """Writes one value of one field and reads it back."""

    def write(field, value):
        path = tmp_path / "one.mldf"
        with mldf.Writer(path, {"v": field}, overwrite=True) as w:
            w.append({"v": value})
        return mldf.open(path)[0].v

    return write


def test_numbers_of_all_kinds(one):
    for value in (7, np.int8(7), np.uint64(7), True, np.bool_(True), np.array(7)):
        assert one(mldf.Int(), value) == int(value)
    for value in (0.5, np.float32(0.5), np.array(0.5)):
        assert one(mldf.Float(), value) == 0.5
    assert one(mldf.Float(), 3) == 3.0 and one(mldf.Int("uint64"), 2**64 - 1) == 2**64 - 1
    assert np.isnan(one(mldf.Float(), float("nan")))


def test_arrays_of_all_kinds(one):
    field = mldf.NDArray("float32", (None, None))
    base = np.arange(12, dtype=np.float32).reshape(3, 4)
    for value in (
        base,
        base.T,
        base[:, ::2],
        base.astype(np.float16),
        base.astype(np.int16),
        base.tolist(),
        base.astype(">f4"),
    ):
        assert np.array_equal(one(field, value), np.asarray(value)) and one(field, value).dtype == np.float32
    assert one(mldf.NDArray("bool", (2,)), [True, False]).tolist() == [True, False]


def test_structs_of_all_kinds(one):
    field = mldf.Struct([("x", "f4"), ("in", [("a", "i2", (2,))])])
    want = (1.5, ([3, 4],))
    for value in (
        want,
        {"x": 1.5, "in": {"a": [3, 4]}},
        np.array(want, dtype=[("x", "f4"), ("in", [("a", "i2", (2,))])]),
    ):
        got = one(field, value)
        assert got["x"] == 1.5 and got["in"]["a"].tolist() == [3, 4]
    aligned = np.dtype([("a", "u1"), ("b", "f8")], align=True)
    assert one(mldf.Struct(aligned), (1, 2.5))["b"] == 2.5


def test_images_of_all_kinds(one, tmp_path):
    rgb = pkg.image(3)
    file = tmp_path / "p.png"
    Image.fromarray(rgb).save(file)
    for value in (
        rgb,
        file,
        str(file),
        file.read_bytes(),
        bytearray(file.read_bytes()),
        Image.open(file),
        Image.fromarray(rgb),
        rgb[::-1][::-1],
    ):
        assert np.array_equal(one(mldf.Image(), value), rgb)
    gray = rgb[..., 0]
    assert np.array_equal(one(mldf.Image(), gray)[..., 0], gray)
    for mode, channels in (("1", 1), ("L", 1), ("LA", 2), ("P", 3), ("RGBA", 4), ("CMYK", 3), ("YCbCr", 3)):
        image = Image.fromarray(rgb).convert(mode)
        assert one(mldf.Image(), image).shape == (12, 16, channels)
    deep = np.arange(12, dtype=np.uint16).reshape(3, 4) * 5000
    assert np.array_equal(one(mldf.Image(), deep)[..., 0], deep)
    assert np.array_equal(one(mldf.Image(), Image.fromarray(deep))[..., 0], deep)


def test_images_are_encoded_as_the_field_says(one, tmp_path):
    rgb = pkg.image(1, 64, 48)
    got = one(mldf.Image(encode="jpeg", quality=80), rgb)
    buffer = io.BytesIO()
    Image.fromarray(rgb).save(buffer, "jpeg", quality=80)
    assert got.shape == rgb.shape and not np.array_equal(got, rgb)
    assert mldf.open(tmp_path / "one.mldf").raw(0, "v")[:2].tobytes() == b"\xff\xd8"
    assert one(mldf.Image(max_resolution=32), rgb).shape == (32, 24, 3)
    assert (
        one(mldf.Image(stored="png"), rgb).shape == rgb.shape
        and mldf.open(tmp_path / "one.mldf").schema["v"].type == "image_png"
    )


def test_bytes_and_files(one, tmp_path):
    file = tmp_path / "f.bin"
    file.write_bytes(b"content")
    assert one(mldf.Bytes(), file) == b"content" and one(mldf.Bytes(), bytearray(b"ab")) == b"ab"
    assert one(mldf.Bytes(), memoryview(b"ab")) == b"ab" and one(mldf.Bytes(), np.array([1, 2], "<u2")) == b"\1\0\2\0"


def test_json_of_all_kinds(one):
    for value in ({"a": [1, 2.5, None, "ü"]}, [], 5, "text", True, None):
        assert one(mldf.Json(), value) == value
    assert one(mldf.Json(), {"a": np.float32(0.5), "b": np.arange(2)}) == {"a": 0.5, "b": [0, 1]}


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        (mldf.Int(), 1.5, "takes an integer, not a float"),
        (mldf.Int(), "1", "takes an integer, not a str"),
        (mldf.Float(), "1.5", "takes a number"),
        (mldf.Float(), [1.0], "takes a number"),
        (mldf.Text(), b"x", "takes a str"),
        (mldf.Bytes(), "x", "pathlib.Path"),
        (mldf.Json(), {1, 2}, "JSON"),
        (mldf.Json(), float("nan"), "JSON"),
        (mldf.NDArray("float32", (2,)), np.zeros(2), "arrays of float32.*float64"),
        (mldf.NDArray("uint8", (2,)), np.zeros(2, np.int64), "uint8"),
        (mldf.NDArray("uint8", (2,)), [1, 300], "uint8"),
        (mldf.NDArray("int16", (2,)), [1, 2.5], "int16"),
        (mldf.NDArray("float32", (2,)), "ab", "float32"),
        (mldf.NDArray("float32", (None,)), [[1], [2, 3]], "float32"),
        (mldf.Struct([("x", "f4")]), {"y": 1}, "no member 'y'"),
        (mldf.Struct(("f4", (2,))), [1, 2, 3], "shape"),
        (mldf.Image(), np.zeros((4, 4, 3)), "uint8 or uint16"),
        (mldf.Image(), 5, "image"),
    ],
)
def test_a_wrong_value_is_refused_at_once(one, field, value, words):
    with pytest.raises((TypeError, ValueError), match=words) as caught:
        one(field, value)
    assert isinstance(caught.value, mldf.Error) and caught.value.field == "v"


def test_errors_of_the_threads_name_sample_and_field(tmp_path):
    for threads in (0, 2):
        with pytest.raises(mldf.errors.WrongTypeError) as caught:
            with mldf.Writer(tmp_path / "a.mldf", {"x": mldf.NDArray("f4", (2,))}, threads=threads) as w:
                for i in range(100):
                    w.append({"x": np.zeros(2 if i != 40 else 3, np.float32)})
        assert caught.value.sample == 40 and caught.value.field == "x" and caught.value.status == "type"
        assert pkg.listing(tmp_path) == []


def test_skipping_bad_samples(tmp_path):
    with mldf.Writer(tmp_path / "a.mldf", {"x": mldf.Int("uint8")}, on_error="skip") as w:
        w.extend([1, 300, 2])
    assert w.result.samples == 2 and w.result.skipped[0][0] == 1 and "300" in w.result.skipped[0][1]
    with mldf.Writer(tmp_path / "c.mldf", {"x": mldf.Int("uint8")}, on_error="skip") as w:
        w.extend(["no", 1, 300, "no", 301, 2, None, "no"])
    assert [n for n, _ in w.result.skipped] == [0, 2, 3, 4, 6, 7] and "integer" in w.result.skipped[0][1]
    assert mldf.open(tmp_path / "c.mldf").column("x").tolist() == [1, 2]
    with pytest.raises(ValueError):
        mldf.Writer(tmp_path / "b.mldf", {"x": "int"}, on_error="maybe")


def test_missing_unknown_and_too_many(tmp_path):
    w = mldf.Writer(
        tmp_path / "a.mldf", {"image": mldf.Image(), "label": mldf.Int(), "note": mldf.Text(nullable=True)}, threads=0
    )
    with pytest.raises(KeyError, match="did you mean 'label'"):
        w.append({"image": pkg.image(0), "lable": 1})
    with pytest.raises(ValueError, match="2 values"):
        w.append((1, 2))
    with pytest.raises(TypeError):
        w.append(5)
    w.append({"image": pkg.image(0), "label": 1})
    w.abort()
    with pytest.raises(mldf.errors.NullError) as caught:
        with mldf.Writer(tmp_path / "a.mldf", {"image": mldf.Image(), "label": mldf.Int()}) as w:
            w.append({"image": pkg.image(0)})
    assert caught.value.field == "label" and caught.value.sample == 0


def test_keys_of_samples(tmp_path):
    with pytest.raises(mldf.errors.SampleKeyError):
        with mldf.Writer(tmp_path / "a.mldf", {"x": "int"}) as w:
            w.append({"x": 1}, key="a")
            w.append({"x": 1}, key="a")
    with mldf.Writer(tmp_path / "a.mldf", {"x": "int"}) as w:
        w.extend([1, 2], keys=["ä", "b"])
    assert list(mldf.open(tmp_path / "a.mldf").keys) == ["ä", "b"]
    with pytest.raises(ValueError):
        with mldf.Writer(tmp_path / "b.mldf", {"x": "int"}) as w:
            w.extend([1, 2], keys=["a"])


# ---- schemas ----


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"x": "itn"}, "int"),
        ({"x": mldf.NDArray("f4", (1,) * 9)}, "x"),
        ({"x": 5}, "mldf.Int"),
        ({"x": {"type": "int", "dtyp": "<i4"}}, "dtype"),
        ({"": "int"}, "name"),
        (5, "dict"),
    ],
)
def test_wrong_schemas(tmp_path, fields, words):
    with pytest.raises(mldf.errors.SchemaError, match=words):
        mldf.Writer(tmp_path / "a.mldf", fields)
    assert pkg.listing(tmp_path) == []


def test_schemas_of_all_kinds(tmp_path):
    path = pkg.make(tmp_path / "a.mldf", 2)
    ds = mldf.open(path)
    want = mldf.schema_json(pkg.FIELDS)
    assert mldf.schema_json(want) == want and mldf.schema_json(__import__("json").loads(want)) == want
    assert mldf.schema_json({"a": mldf.Int, "b": {"type": "float", "nullable": True}}).count("name") == 2
    with mldf.Writer(tmp_path / "b.mldf", ds.schema) as w:
        w.append(pkg.sample(1))
    assert mldf.open(tmp_path / "b.mldf").schema.names == ds.schema.names
    assert mldf.Int(np.uint8).arguments() == mldf.Int("u1").arguments() == {"dtype": "|u1"}


# ---- user-defined fields ----


@dataclasses.dataclass(frozen=True)
class Graph(mldf.CustomField):
    type_name = "org.example.graph"
    directed: bool = False

    def arguments(self):
        return {"directed": self.directed}

    def encode(self, value):
        return repr((self.directed, sorted(value))).encode()

    def decode(self, data):
        directed, edges = eval(data)
        assert directed == self.directed
        return set(edges)


class Wrong(mldf.CustomField):
    type_name = "org.example.wrong"

    def encode(self, value):
        return value


def test_user_defined_fields(tmp_path):
    path = tmp_path / "g.mldf"
    with mldf.Writer(path, {"g": Graph(directed=True, nullable=True, compress=3), "n": "int"}) as w:
        w.extend([({(1, 2), (2, 3)}, 0), (None, 1), (set(), 2)])
    ds = mldf.open(path)
    assert ds[0].g == {(1, 2), (2, 3)} and ds[1].g is None and ds[2].g == set()
    assert ds.column("g") == [{(1, 2), (2, 3)}, None, set()] and ds.__getitems__([0])[0].g == ds[0].g
    assert ds.schema["g"].custom == Graph(directed=True) and ds.schema["g"].type == "org.example.graph"
    mldf.write(tmp_path / "h.mldf", ds)
    assert mldf.open(tmp_path / "h.mldf")[0].g == ds[0].g
    with pytest.raises(TypeError, match="Wrong.encode gave a int, not bytes"):
        mldf.write(tmp_path / "w.mldf", [(1,)], {"w": Wrong()})


def test_a_type_that_nobody_registered(tmp_path):
    from mldf import fields

    path = tmp_path / "g.mldf"
    mldf.write(path, [({(1, 2)},)], {"g": Graph()})
    saved = dict(fields._registry)
    fields._registry.clear()
    try:
        ds = mldf.open(path)
        assert not ds.schema["g"].known and b"(1, 2)" in ds.raw(0, "g").tobytes()
        with pytest.raises(NotImplementedError):
            ds[0]
    finally:
        fields._registry.update(saved)


def test_names_and_numbers_of_types():
    class NoDot(mldf.CustomField):
        type_name = "graph"

    class Same(mldf.CustomField):
        type_name = "org.example.same"
        type_id = Graph.number()

    mldf.register_field(Graph)
    for cls in (NoDot, Same):
        with pytest.raises(mldf.errors.SchemaError):
            mldf.register_field(cls)


# ---- write ----


def test_write_takes_anything(tmp_path):
    fields = {"a": "int", "b": "text"}
    want = [(0, "x0"), (1, "x1"), (2, "x2")]

    class Indexable:
        def __len__(self):
            return 3

        def __getitem__(self, i):
            return {"b": f"x{i}", "a": i}

    told = []
    for source in (want, Indexable(), iter(want), (dict(zip("ab", w)) for w in want)):
        mldf.write(tmp_path / "a.mldf", source, fields, overwrite=True, progress=told.append)
        assert [tuple(s) for s in mldf.open(tmp_path / "a.mldf")] == want
    assert any(p.samples_done == 3 and p.fraction == 1 for p in told)


def test_write_of_a_dataset_keeps_everything(tmp_path):
    a = mldf.open(pkg.make(tmp_path / "a.mldf", 12, card={"title": "T"}))
    mldf.write(tmp_path / "b.mldf", a)
    assert mldf.diff(tmp_path / "a.mldf", tmp_path / "b.mldf").equal
    mldf.write(tmp_path / "c.mldf", a[[7, 3]])
    c = mldf.open(tmp_path / "c.mldf")
    pkg.check(c[0], 7)
    assert list(c.keys) == ["key-7", "key-3"] and c.raw(0, "image").tobytes() == a.raw(7, "image").tobytes()


def test_write_can_be_cancelled(tmp_path):
    with pytest.raises(mldf.errors.CancelledError):
        mldf.write(
            tmp_path / "a.mldf", ((i,) for i in range(10**9)), {"x": "int"}, progress=lambda p: p.samples_done < 100
        )
    assert pkg.listing(tmp_path) == []


def test_encrypt_all_hides_tables_and_gives_the_same_dataset(tmp_path):
    if "sodium" not in mldf.features:
        pytest.skip("built without libsodium")
    path, key = tmp_path / "all.mldf", bytes(range(32))
    with mldf.Writer(path, {"label": "int", "caption": "text"}, card={"title": "x"}, key=key, encrypt_all=True) as w:
        for i in range(3000):
            w.append({"label": 7_000_000 + i, "caption": f"caption {i}"}, key=f"name-{i}")
    data = path.read_bytes()
    assert b"label" not in data and b"name-17" not in data and (7_000_017).to_bytes(8, "little") not in data
    with pytest.raises(mldf.errors.KeyMissingError, match="encrypted with all its tables"):
        mldf.open(path)
    with mldf.open(path, key=key) as ds:
        assert ds[17].label == 7_000_017 and ds[17].caption == "caption 17" and ds.keys[17] == "name-17"
        assert ds.card == {"title": "x"}
        loader = mldf.Loader(ds, batch_size=512, pipelines="label: cast(i64)")
        assert sum(int(batch.label.sum()) for batch in loader) == sum(range(7_000_000, 7_003_000))
        mldf.write(tmp_path / "copy.mldf", ds)
        mldf.write(tmp_path / "clear.mldf", ds, decrypt=True)
    with pytest.raises(mldf.errors.KeyMissingError):
        mldf.open(tmp_path / "copy.mldf")
    mldf.repack(path, tmp_path / "again.mldf", key=key)
    with pytest.raises(mldf.errors.KeyMissingError, match="encrypted with all its tables"):
        mldf.info(tmp_path / "again.mldf")
    assert mldf.diff(tmp_path / "clear.mldf", path, key=key).equal
    other = bytes(32)
    with mldf.open(path, key=key) as ds:
        mldf.write(tmp_path / "written.mldf", ds, key=other)
    mldf.repack(path, tmp_path / "repacked.mldf", key=key, encrypt_key=other)
    mldf.merge([path], tmp_path / "merged.mldf", key=key, encrypt_key=other)
    mldf.select(path, tmp_path / "selected.mldf", key=key, encrypt_key=other)
    mldf.convert(path, tmp_path / "converted.mldf", key=key, encrypt_key=other)
    for name in ("written", "repacked", "merged", "selected", "converted"):  # another key changes the key alone
        with pytest.raises(mldf.errors.KeyMissingError, match="encrypted with all its tables"):
            mldf.info(tmp_path / f"{name}.mldf")
        assert "encrypted_tables" in mldf.info(tmp_path / f"{name}.mldf", key=other)["flags"]
    mldf.repack(tmp_path / "clear.mldf", tmp_path / "half.mldf", encrypt_key=other)
    assert "encrypted_tables" not in mldf.info(tmp_path / "half.mldf")["flags"]
    with pytest.raises(mldf.Error, match="encrypt_all needs a key or a passphrase"):
        mldf.Writer(tmp_path / "x.mldf", {"a": "int"}, encrypt_all=True)


def _mappings(path):
    """Permissions, bytes and flags of the system of every mapping of a file into this process."""
    out, mine = [], False
    for line in pathlib.Path("/proc/self/smaps").read_text().splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            first, last = (int(x, 16) for x in line.split()[0].split("-"))
            mine = line.endswith(str(path))
            if mine:
                out.append([line.split()[1], last - first, []])
        elif mine and line.startswith("VmFlags:"):
            out[-1][2] = line.split()[1:]
    return out


@pytest.mark.skipif(sys.platform != "linux", reason="the system tells of mappings in /proc")
def test_a_file_with_encrypted_tables_takes_memory_for_its_tables_alone(tmp_path):
    if "sodium" not in mldf.features:
        pytest.skip("built without libsodium")
    path, key = tmp_path / "all.mldf", bytes(range(32))
    mldf.write(path, ((bytes([i]) * 2**20,) for i in range(16)), {"x": "bytes"}, key=key, encrypt_all=True)
    with mldf.open(path, key=key) as ds:
        maps = _mappings(path)
        assert sum(size for _, size, _ in maps) > 2**24  # all of it is seen
        assert {permissions for permissions, _, _ in maps} == {"r--p"}
        assert (
            0 < sum(size for _, size, flags in maps if "ac" in flags) < 2**18
        )  # what the system sets memory aside for
        assert bytes(ds[3].x[:4]) == bytes([3]) * 4


def test_a_recording_of_an_encrypted_file_is_decrypted_when_it_is_asked_for(tmp_path):
    if "sodium" not in mldf.features:
        pytest.skip("built without libsodium")
    path, key = tmp_path / "a.mldf", bytes(range(32))
    with mldf.Writer(path, {"a": mldf.Audio(rate=8000)}, key=key) as w:
        w.append({"a": np.arange(200_000, dtype=np.int16)})
    with mldf.open(path, key=key) as ds:
        row = ds.rows["a"][0]
    data = bytearray(path.read_bytes())
    data[int(row["ptr"]) + int(row["size"]) - 1] ^= 1  # in the last chunk
    path.write_bytes(data)
    with mldf.open(path, key=key, backend="map") as ds:
        recording = ds[0].a
        assert len(recording) == 200_000
        assert np.allclose(recording.window(0, 0.01).reshape(-1) * 32768, np.arange(80))
        with pytest.raises(mldf.errors.TamperedError):
            np.asarray(recording)


def test_the_typed_options_are_the_writers():
    import inspect

    named = [p for p in inspect.signature(mldf.Writer).parameters.values() if p.kind is p.KEYWORD_ONLY]
    assert {p.name for p in named} - {"progress"} == set(mldf.WriterOptions.__annotations__)
