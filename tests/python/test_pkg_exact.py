"""What is written comes back bit by bit, or is refused: values that NumPy, JSON or tar would change on the way."""

import dataclasses
import decimal
import io
import json
import os
import subprocess
import sys
import tarfile
import textwrap
import types

import mldf
import numpy as np
import pkg
import pytest

sys.path.insert(0, str(pkg.ROOT / "docs" / "spec"))
import reference_reader  # noqa: E402

MASKED = np.ma.masked


def through(folder, field, value):
    """The value after a trip through a file."""
    path = folder / "trip.mldf"
    with mldf.Writer(path, {"x": field}, overwrite=True) as w:
        w.append({"x": value})
    return mldf.open(path)[0].x


# ---- masks ----


@pytest.mark.parametrize(
    "field",
    [
        mldf.Float(nullable=True),
        mldf.Int(nullable=True),
        mldf.Text(nullable=True),
        mldf.Bytes(nullable=True),
        mldf.Json(nullable=True),
        mldf.NDArray("float32", (2,), nullable=True),
        mldf.NDArray("bfloat16", (2,), nullable=True),
        mldf.Struct([("a", "f2"), ("b", "S3")], nullable=True),
        mldf.Image(nullable=True),
    ],
    ids=lambda f: f.type_name,
)
def test_masked_is_null(tmp_path, field):
    assert through(tmp_path, field, MASKED) is None
    if field.type_name == "json":  # holds null by itself
        return
    field = dataclasses.replace(field, nullable=False)
    with pytest.raises(mldf.errors.NullError, match="sample 0: field 'x': the value is missing"):
        through(tmp_path, field, MASKED)


@pytest.mark.parametrize(
    ("field", "dtype", "shape"),
    [
        (mldf.Bytes(), "u1", (2,)),
        (mldf.Image(), "u1", (2, 2)),
        (mldf.NDArray("uint16", (2,)), "u2", (2,)),
        (mldf.NDArray("bfloat16", (2,)), "u2", (2,)),
        (mldf.Struct(("f4", (2,))), "f4", (2,)),
    ],
)
def test_masked_in_part_is_refused(tmp_path, field, dtype, shape):
    mask = np.zeros(shape, bool)
    whole = np.ma.array(np.ones(shape, dtype), mask=mask)
    assert through(tmp_path, field, whole) is not None
    mask.flat[1] = True
    with pytest.raises(mldf.errors.WrongTypeError, match=r"'x' takes arrays without masked values.*\.filled\(\)"):
        through(tmp_path, field, np.ma.array(np.ones(shape, dtype), mask=mask))


def test_columns_with_nulls_are_written_back(tmp_path):
    fields = {
        "f": mldf.Float(nullable=True),
        "i": mldf.Int("int8", nullable=True),
        "x": mldf.NDArray("int16", (2, 3), nullable=True),
        "r": mldf.Struct([("a", "f2"), ("b", "i4", (2,)), ("c", [("d", "S2")])], nullable=True),
        "t": mldf.Text(nullable=True),
    }
    full = {"f": -0.0, "i": -3, "x": [[1, 2, 3], [4, 5, 6]], "r": (1.5, [2, 3], (b"d",)), "t": "t"}
    samples = [full, {}, dict(full, f=None), dict(full, r=None), {"i": 0}]
    mldf.write(tmp_path / "a.mldf", samples, fields)
    a = mldf.open(tmp_path / "a.mldf")
    with np.errstate(over="ignore"):  # NumPy's fill value for halves
        mldf.write(tmp_path / "b.mldf", {name: a.column(name) for name in fields}, fields)
    b = mldf.open(tmp_path / "b.mldf")
    assert [repr(s) for s in a] == [repr(s) for s in b]
    assert [[v is None for v in s] for s in b] == [[s.get(name) is None for name in fields] for s in samples]
    assert (tmp_path / "a.mldf").read_bytes() == (tmp_path / "b.mldf").read_bytes()


def test_columns_of_halves_in_records_warn_of_nothing(tmp_path, recwarn):
    path = tmp_path / "h.mldf"
    mldf.write(path, [((1,),), (None,)], {"x": mldf.Struct([("a", "f2")], nullable=True)})
    assert mldf.open(path).column("x").mask.tolist() == [(False,), (True,)]
    assert not recwarn.list


# ---- numbers ----


def test_integers_in_lists_are_not_rounded(tmp_path):
    big = 2**53 + 1
    for dtype, values in [
        ("uint64", [2**63 + 1, 1]),  # NumPy makes floats of these
        ("uint64", [2**64 - 1, 0]),
        ("int64", [big, 1.0]),
        ("int64", [-big, -0.0]),
        ("int64", [np.int64(big), np.float64(2)]),
        ("uint64", [np.uint64(2**63 + 3), np.int64(7)]),
    ]:
        for field in (mldf.NDArray(dtype, (2,)), mldf.Struct((dtype, (2,)))):
            assert through(tmp_path, field, values).tolist() == [int(v) for v in values]
    for dtype, values in [
        ("int64", [2**63, 1.0]),
        ("int64", [big, 0.5]),
        ("uint64", [2**63 + 1, -1]),
        ("uint64", [2**64, 1.0]),
        ("int64", [big, float("nan")]),
        ("int64", [big, float("inf")]),
    ]:
        with pytest.raises(mldf.errors.RangeError, match="field 'x': numbers that do not fit into"):
            through(tmp_path, mldf.NDArray(dtype, (2,)), values)
    assert through(tmp_path, mldf.NDArray("float64", (2,)), [2**70, 1]).tolist() == [2.0**70, 1.0]
    with pytest.raises(mldf.errors.RangeError):
        through(tmp_path, mldf.NDArray("float64", (1,)), [10**400])


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_integers_that_floats_do_not_hold_are_refused(tmp_path, dtype):
    field = mldf.NDArray(dtype, (None,))
    exact = np.array([2**53, -(2**53), 2**62, -(2**63)])
    assert through(tmp_path, field, exact).tolist() == exact.tolist()
    for wrong in (np.array([0, 2**53 + 1]), np.array([2**64 - 1], np.uint64), np.array([-(2**53) - 1])):
        with pytest.raises(mldf.errors.RangeError, match=rf"{int(wrong[-1])} is not exact as {dtype}; use .astype"):
            through(tmp_path, field, wrong)


def test_numbers_that_a_float_does_not_hold_are_refused(tmp_path):
    assert through(tmp_path, mldf.Float(), np.int64(2**53)) == 2.0**53
    for number in (np.int64(2**53 + 1), np.uint64(2**64 - 1), np.array(2**53 + 1)):
        with pytest.raises(mldf.errors.RangeError, match="is not exact as a 64-bit float"):
            through(tmp_path, mldf.Float(), number)
    assert through(tmp_path, mldf.Float(), decimal.Decimal("-Infinity")) == -np.inf
    for number in (decimal.Decimal("1e400"), np.longdouble("-1e400")):
        if not isinstance(number, np.longdouble) or np.isfinite(number):  # a long double may be a double
            with pytest.raises(mldf.errors.RangeError, match=r"1[eE]\+400 is beyond what a 64-bit float holds"):
                through(tmp_path, mldf.Float(), number)


def test_bits_of_numbers_that_are_none(tmp_path):
    """A signalling NaN is quiet after a trip through Python's float."""
    bits = np.array([0x7FA00001, 0xFFA00002, 0x80000000, 0x7F800000], np.uint32)
    inner = np.dtype([("a", "f4", (4,)), ("b", "f4"), ("c", [("d", "f4"), ("e", "u1")])], align=True)
    for field, value in [
        (mldf.NDArray("float32", (4,)), bits.view("f4")),
        (mldf.Struct(("f4", (4,))), bits.view("f4")),
        (mldf.Struct([("a", "f4", (4,))]), (bits.view("f4"),)),
    ]:
        for given in (value, value.astype(">f4")) if isinstance(value, np.ndarray) else (value,):
            assert through(tmp_path, field, given).tobytes() == bits.tobytes()
    record = np.zeros((), inner)
    record["a"], record["b"], record["c"]["d"] = bits.view("f4"), bits.view("f4")[0], bits.view("f4")[1]
    for given in (record, record[()], {name: record[name] for name in inner.names}, tuple(record[()])):
        assert through(tmp_path, mldf.Struct(inner), given).tobytes() == record.tobytes()
    many = np.zeros((2,), [("f", "f4")])
    many["f"] = bits.view("f4")[:2]
    assert through(tmp_path, mldf.Struct([("many", many.dtype, (2,))]), {"many": many}).tobytes() == many.tobytes()


def test_what_lies_between_the_members_of_a_record_stays_out_of_the_file(tmp_path):
    kind = np.dtype([("a", "u1"), ("b", "f8"), ("c", [("d", "u1"), ("e", "i4")], (2,))], align=True)
    given = np.frombuffer(b"\xaa" * kind.itemsize, kind)[0]
    want = np.zeros((), kind)
    for name in ("a", "b"):
        want[name] = given[name]
    for name in ("d", "e"):
        want["c"][name] = given["c"][name]
    for value in (given, np.asarray(given), {name: given[name] for name in kind.names}):
        assert through(tmp_path, mldf.Struct(kind), value).tobytes() == want.tobytes()


# ---- JSON ----


def test_json_keys_that_become_one_are_refused(tmp_path):
    for value in ({1: "a", "1": "b"}, [{"x": {None: 1, "null": 2}}], {True: 1, "true": 2}):
        with pytest.raises(mldf.errors.WrongTypeError, match="is there twice"):
            through(tmp_path, mldf.Json(), value)
    assert through(tmp_path, mldf.Json(), {1: "a", "2": "b"}) == {"1": "a", "2": "b"}
    assert through(tmp_path, mldf.Json(), {"b": {"a": 1}, "a": {"a": ":"}}) == {"b": {"a": 1}, "a": {"a": ":"}}
    with pytest.raises(mldf.errors.WrongTypeError, match="longdouble is not JSON"):
        through(tmp_path, mldf.Json(), np.longdouble(1))


def test_json_text_with_a_key_twice_is_no_value(tmp_path):
    (tmp_path / "0.json").write_text('{"a": 1, "b": {"c": 1, "c": 2}}')
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        tar.add(tmp_path / "0.json", "0.json")
    with pytest.raises(mldf.Error, match='the key "c" is there twice'):
        mldf.pack(tmp_path / "a.tar", tmp_path / "a.mldf")
    # A file of an older writer: the reference reader and the deep check agree.
    path = tmp_path / "old.mldf"
    with mldf.Writer(path, {"x": mldf.Json()}, checksums=False) as w:
        w.append(({"a": 1, "b": 2},))
    data = path.read_bytes()
    assert data.count(b'"b"') == 1
    path.write_bytes(data.replace(b'"b"', b'"a"'))
    assert [p.status for p in mldf.verify(path, deep=True).problems] == ["corrupt"]
    assert [p.status for p in reference_reader.read(path).verify(deep=True)] == ["corrupt"]


# ---- empty files ----


def test_every_column_of_an_empty_file_is_empty(tmp_path):
    path = tmp_path / "empty.mldf"
    mldf.write(path, [], pkg.FIELDS)
    for ds in (mldf.open(path), mldf.open(path)[::-1], mldf.open([path, path]), mldf.open(path, verify=True)):
        for name, field in ds.schema.items():
            column = ds.column(name)
            assert len(column) == 0
            if field.dtype is not None and field.is_fixed:
                assert column.dtype == field.dtype and column.shape == (0, *field.dims)
        assert ds.rows.shape == (0,)


# ---- tar ----


def test_large_numbers_survive_a_tar(tmp_path):
    numbers = [2**64 - 1, 2**63, 0]
    for name in ("y", "cls"):
        mldf.write(tmp_path / "a.mldf", [(n,) for n in numbers], {name: mldf.Int("uint64")}, overwrite=True)
        mldf.convert(tmp_path / "a.mldf", tmp_path / "a.tar", overwrite=True)
        assert list(mldf.open(tmp_path / "a.tar").column(name)) == numbers
        with tarfile.open(tmp_path / "a.tar") as tar:
            members = [member for member in tar if member.name != "__mldf_schema__"]
            assert [member.name for member in members] == [f"{i:09}.{name}.json" for i in range(3)]
            assert [json.load(tar.extractfile(member)) for member in members] == numbers


def test_fields_that_would_be_one_member_of_a_tar_are_refused(tmp_path):
    for fields in (
        {"y": mldf.Int(), "y.cls": mldf.Int()},
        {"A": mldf.Int(), "a": mldf.Int()},
        {"y": mldf.Int("uint64"), "y.json": mldf.Json()},
    ):
        mldf.write(tmp_path / "a.mldf", [(1, 2)], fields, overwrite=True)
        with pytest.raises(mldf.errors.SchemaError, match="two fields would be the member"):
            mldf.convert(tmp_path / "a.mldf", tmp_path / "a.tar")
        assert not (tmp_path / "a.tar").exists()
    mldf.write(tmp_path / "a.mldf", [(1, "x")], {"A": mldf.Int(), "a": mldf.Text()}, overwrite=True)
    with pytest.warns(UserWarning, match="two fields have the name a, but for capital letters"):
        mldf.convert(tmp_path / "a.mldf", tmp_path / "a.tar")
    assert tuple(mldf.open(tmp_path / "a.tar")[0]) == (1, "x")


# ---- what is said ----


def test_errors_of_the_writer_say_which_sample(tmp_path):
    path = tmp_path / "w.mldf"
    with pytest.raises(mldf.errors.WrongTypeError, match="^sample 2: field 'x' takes an integer, not a float$"):
        mldf.write(path, [(1,), (2,), (3.5,)], {"x": "int"})
    with pytest.raises(mldf.errors.WrongTypeError, match="^sample 1, field image: not an image"):
        mldf.write(path, [(np.zeros((2, 2), np.uint8),), (b"hello",)], {"image": "image"})
    assert os.listdir(tmp_path) == []


def test_a_full_disk_says_which_file(tmp_path):
    """A limit of the size of files stands for it."""
    mldf.write(tmp_path / "a.mldf", [(b"x" * 10000,)], {"b": "bytes"})
    code = """
        import mldf, resource, sys
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
        try:
            mldf.extract(sys.argv[1] + "/a.mldf", sys.argv[1] + "/out")
        except OSError as error:
            print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), tmp_path], capture_output=True, text=True, check=True
    )
    assert (
        done.stdout.startswith("0") and "cannot be written: File too large" in done.stdout and ".bin: " in done.stdout
    )
    assert os.listdir(tmp_path) == ["a.mldf"]


# ---- names ----


def test_paths_that_look_like_patterns_and_things_that_are_no_paths(tmp_path):
    for name in ("a{1..3}.mldf", "[1].mldf", "a*b.mldf"):
        mldf.write(tmp_path / name, [(1,)], {"x": "int"})
        assert len(mldf.open(tmp_path / name)) == 1
    with open(tmp_path / name, "rb") as file, pytest.raises(mldf.errors.WrongTypeError, match="not a BufferedReader"):
        mldf.open(file)
    with pytest.raises(mldf.errors.WrongTypeError, match="not a Dataset"):
        mldf.open(mldf.open(tmp_path / name))


def test_keys_that_no_sample_can_have(tmp_path):
    ds = mldf.open(pkg.make(tmp_path / "k.mldf", 3))
    assert "\ud800" not in ds.keys and "" not in ds.keys and "key-0\0" not in ds.keys
    with pytest.raises(mldf.errors.NoSampleError):
        ds.keys.index("\ud800")
    for key, error in (("\ud800", mldf.errors.NoSampleError), (3, mldf.errors.WrongTypeError)):
        with pytest.raises(error):
            mldf.select(tmp_path / "k.mldf", tmp_path / "s.mldf", keys=[key])
    mldf.select(tmp_path / "k.mldf", tmp_path / "s.mldf", keys=[b"key-2", "key-0"])
    assert list(mldf.open(tmp_path / "s.mldf").keys) == ["key-2", "key-0"]


def test_names_of_fields_in_any_iterable(tmp_path):
    paths = [pkg.make(tmp_path / f"{i}.mldf", 2, keys=False) for i in range(2)]
    for files in (paths[0], paths):
        assert mldf.open(files, fields=(n for n in ("label", "blob"))).fields == ("label", "blob")
        for take in (mldf.open, mldf.Loader):
            with pytest.raises(mldf.errors.WrongTypeError, match="fields=3: a list of names"):
                take(files, fields=3)
            with pytest.raises(mldf.errors.WrongTypeError, match="fields: 3 is not a name"):
                take(files, fields=["label", 3])
            with pytest.raises(mldf.errors.ArgumentError, match=r"fields='label': .* \['label'\]"):
                take(files, fields="label")
            with pytest.raises(mldf.errors.ArgumentError, match="fields: 'label' is there twice"):
                take(files, fields=["label", "fixed", "label"])
    with pytest.raises(mldf.errors.WrongTypeError, match="a whole number"):
        mldf.open(paths).shard(0.5, 2)


# ---- manifests ----


def test_bytes_of_records_survive_the_manifest_of_extract(tmp_path):
    kind = [("s", "S4"), ("t", "S3", (2,)), ("v", "V2"), ("u", "U2"), ("n", "u1")]
    fields = {"r": mldf.Struct(kind)}
    records = [
        (b"\xff\x80a", [b"ok", b"\xc3"], b"\x00\xff", "é", 1),
        (b"a\0b", [b"\xc3\xa9", b""], b"\xff\x00", "", 255),
        (b"\xed\xa0\x80", [b"\xf4\x90\x80", b"\x80"], b"\0\0", "\U0010ffff", 0),
    ]
    mldf.write(tmp_path / "a.mldf", [(r,) for r in records], fields)
    mldf.extract(tmp_path / "a.mldf", tmp_path / "out")
    manifest = tmp_path / "out" / "manifest.jsonl"
    lines = [json.loads(line)["r"] for line in manifest.read_text(encoding="utf-8").splitlines()]
    assert lines[0] == {"s": {"hex": "ff8061"}, "t": ["ok", {"hex": "c3"}], "v": "00ff", "u": "é", "n": 1}
    assert lines[1]["t"] == ["é", ""] and lines[1]["s"] == "a\0b"
    mldf.pack(manifest, tmp_path / "b.mldf", fields=fields)
    a, b = mldf.open(tmp_path / "a.mldf"), mldf.open(tmp_path / "b.mldf")
    assert [s.r.tobytes() for s in b] == [s.r.tobytes() for s in a]
    for wrong, why in (
        ('{"hex":"ff80ff80ff"}', "5 bytes, and the member has 4"),
        ('{"hex":"f"}', "hexadecimal"),
        ("{}", "belongs here"),
    ):
        manifest.write_text('{"r":{"s":' + wrong + ',"t":["",""],"v":"0000","u":"","n":0}}\n')
        with pytest.raises(mldf.Error, match=why):
            mldf.pack(manifest, tmp_path / "c.mldf", fields=fields)


def test_a_key_that_is_not_text_has_no_manifest(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.USTAR_FORMAT, encoding="latin-1") as tar:
        for name in ("ok.cls", "\xe4.cls"):
            info = tarfile.TarInfo(name)
            info.size = 1
            tar.addfile(info, io.BytesIO(b"1"))
    ds = mldf.open(tmp_path / "a.tar")
    assert [ds[i].cls for i in range(2)] == [1, 1] and ds.keys[0] == "ok"
    with pytest.raises(mldf.errors.SampleKeyError, match="of the member at byte 1024 is not UTF-8"):
        list(ds.keys)
    with pytest.raises(mldf.errors.SampleKeyError, match="of the member at byte 1024 is not UTF-8"):
        mldf.extract(tmp_path / "a.tar", tmp_path / "out")
    assert os.listdir(tmp_path) == ["a.tar"]


# ---- torch ----


def test_tensors_that_numpy_does_not_hold_are_refused_by_name(tmp_path):
    torch = pytest.importorskip("torch")
    for tensor in (torch.ones(2).to_sparse(), torch.ones(2, device="meta"), torch.ones(2).to(torch.float8_e4m3fn)):
        for field in (mldf.NDArray("float32", (2,)), mldf.Bytes(), mldf.Float(), mldf.Int()):
            with pytest.raises(
                mldf.errors.WrongTypeError, match="sample 0: field 'x' takes tensors that NumPy can hold"
            ):
                through(tmp_path, field, tensor)
    with pytest.raises(mldf.errors.WrongTypeError, match="sample 0: field 'x' takes what JSON can hold"):
        through(tmp_path, mldf.Json(), torch.ones(2, device="meta"))
    with mldf.Writer(tmp_path / "s.mldf", {"x": mldf.Float()}, on_error="skip") as w:
        w.extend([torch.ones(1), torch.ones(1, device="meta"), torch.tensor(2.5, dtype=torch.bfloat16)])
    assert mldf.open(tmp_path / "s.mldf").column("x").tolist() == [1.0, 2.5]
    assert [n for n, _ in w.result.skipped] == [1]
    for tensor in (torch.tensor(2**53 + 1), torch.tensor([2**53 + 1])):
        assert through(tmp_path, mldf.Int(), tensor) == 2**53 + 1
        with pytest.raises(mldf.errors.RangeError, match="is not exact"):
            through(tmp_path, mldf.Float(), tensor)


# ---- tables of other libraries ----


def test_paths_are_not_taken_for_rows(tmp_path):
    for path in ("a.mldf", b"a.mldf", tmp_path):
        with pytest.raises(mldf.errors.WrongTypeError, match=r"mldf\.open\(path\)"):
            mldf.write(tmp_path / "t.mldf", path, {"x": "text"})


class Series:
    """Like that of pandas, sorted by its values: brackets take labels, and only iloc places."""

    def __init__(self, values):
        self.iloc = list(values)

    def __len__(self):
        return len(self.iloc)

    def __iter__(self):
        return iter(self.iloc)

    def __getitem__(self, label):
        return self.iloc[len(self) - 1 - label]


def test_columns_are_taken_by_place_and_not_by_label(tmp_path):
    path = tmp_path / "s.mldf"
    columns = {"x": Series([10, 20, 30]), "y": np.array([1, 2, 3])}
    mldf.write(path, columns, {"x": "int", "y": "int"}, keys=Series("abc"))
    ds = mldf.open(path)
    assert [(*s, key) for s, key in zip(ds, ds.keys)] == [(10, 1, "a"), (20, 2, "b"), (30, 3, "c")]
    mldf.write(path, Series([10, 20, 30]), {"x": "int"}, overwrite=True)
    assert mldf.open(path).column("x").tolist() == [10, 20, 30]


def test_columns_of_arrow_are_values(tmp_path):
    class Scalar:
        def __init__(self, value):
            self.value = value

        def as_py(self):
            return self.value

    class Column(list):
        def to_pylist(self):
            return [scalar.as_py() for scalar in self]

    path = tmp_path / "a.mldf"
    names = Column(map(Scalar, ["k", "l"]))
    mldf.write(path, {"x": Column(map(Scalar, ["a", None]))}, {"x": mldf.Text(nullable=True)}, keys=names)
    assert [s.x for s in mldf.open(path)] == ["a", None] and list(mldf.open(path).keys) == ["k", "l"]


@pytest.mark.parametrize(
    "make",
    [mldf.Float, mldf.Int, mldf.Text, mldf.Bytes, mldf.Json, mldf.Image, lambda **o: mldf.NDArray("f4", (2,), **o)],
)
@pytest.mark.parametrize("name", ["NA", "NaT"])
def test_what_pandas_calls_missing_is_null(tmp_path, monkeypatch, make, name):
    pandas = types.ModuleType("pandas")
    pandas.NA, pandas.NaT = object(), object()
    monkeypatch.setitem(sys.modules, "pandas", pandas)
    assert through(tmp_path, make(nullable=True), getattr(pandas, name)) is None
    with pytest.raises(TypeError if make is mldf.Json else mldf.errors.NullError, match="field 'x'"):
        through(tmp_path, make(), getattr(pandas, name))
    with pytest.raises(mldf.errors.WrongTypeError):
        through(tmp_path, make(nullable=True), object())


def test_what_pandas_has_for_a_missing_text_is_null(tmp_path, monkeypatch):
    """NaN, in columns of texts and other objects; in columns of numbers it is a number."""
    nan = float("nan")
    for make in (mldf.Text, mldf.Bytes, mldf.Json, mldf.Image):
        with monkeypatch.context() as without:
            without.delitem(sys.modules, "pandas", raising=False)
            with pytest.raises(mldf.errors.WrongTypeError, match="field 'x'"):
                through(tmp_path, make(nullable=True), nan)
        with monkeypatch.context() as within:
            within.setitem(sys.modules, "pandas", types.ModuleType("pandas"))
            assert through(tmp_path, make(nullable=True), nan) is None
            with pytest.raises(TypeError if make is mldf.Json else mldf.errors.NullError, match="field 'x'"):
                through(tmp_path, make(), nan)
    monkeypatch.setitem(sys.modules, "pandas", types.ModuleType("pandas"))
    for field in (mldf.Float(nullable=True), mldf.NDArray("f4", (), nullable=True)):
        assert np.isnan(through(tmp_path, field, nan))


# ---- images ----


@pytest.mark.parametrize("mode", ["1", "L", "RGB", "P"])
def test_the_transparent_colour_of_a_pil_image_is_kept(tmp_path, mode):
    pil = pytest.importorskip("PIL.Image")
    pixels = np.repeat((np.arange(20, dtype=np.uint8).reshape(4, 5, 1) % 3 % 2) * 255, 3, axis=2)
    image = pil.fromarray(pixels if mode in ("RGB", "P") else pixels[:, :, 0].copy()).convert(mode)
    file = io.BytesIO()
    image.save(file, "PNG", transparency=(0, 0, 0) if mode == "RGB" else 0)
    opened = pil.open(io.BytesIO(file.getvalue()))
    got = through(tmp_path, mldf.Image(), opened)
    assert (
        np.array_equal(got[..., -1] == 0, np.asarray(opened.convert("RGBA"))[..., 3] == 0) and (got[..., -1] == 0).any()
    )
    want = mldf.images.decode(file.getvalue(), channels=4)
    assert np.array_equal(mldf.open(tmp_path / "trip.mldf", channels=4)[0].x, want)
