"""Values that a writer is given: what fits comes back equal, what does not is refused at once, with its field, and the
writer goes on. Nothing is ever cut, rounded away or taken for something else.
"""

import collections
import dataclasses
import io
import os
import pathlib
import warnings

import mldf
import numpy as np
import pytest
from mldf.errors import IoError, NotFoundError, NullError, RangeError, SampleKeyError, WrongTypeError

POINT = [("x", "f4"), ("y", "i2")]


@pytest.fixture
def one(tmp_path):
    """Writes one value of one field and reads it back; a warning is a fault."""

    def write(field, value):
        path = tmp_path / "one.mldf"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with mldf.Writer(path, {"v": field}, overwrite=True) as w:
                w.append({"v": value})
            return mldf.open(path)[0].v

    return write


class Indexed:
    def __index__(self):
        return 7


# ---- what fits ----


@pytest.mark.parametrize(
    ("field", "value", "want"),
    [
        (mldf.Int(), np.array([3]), 3),
        (mldf.Int(), Indexed(), 7),
        (mldf.Int("uint64"), np.uint64(2**64 - 1), 2**64 - 1),
        (mldf.Float(), np.array([2.5]), 2.5),
        (mldf.Float(), 2**64, 2.0**64),
        (mldf.Text(), np.array("a"), "a"),
        (mldf.Text(), "a\0ü🎉", "a\0ü🎉"),
        (mldf.Bytes(), memoryview(b"abcdef")[::2], b"ace"),
        (mldf.Bytes(), np.arange(6, dtype=np.uint8)[::2], b"\0\2\4"),
        (mldf.Bytes(), np.arange(4, dtype=np.uint8).reshape(2, 2).T, b"\0\2\1\3"),
        (
            mldf.Json(),
            {"a": np.float32(0.5), "b": np.arange(2), "c": np.bool_(True)},
            {"a": 0.5, "b": [0, 1], "c": True},
        ),
    ],
)
def test_scalars_come_back(one, field, value, want):
    assert one(field, value) == want


def test_arrays_come_back(one):
    boxes = mldf.NDArray("float32", (None, 4))
    assert one(boxes, []).shape == (0, 4) and one(boxes, np.array([])).shape == (0, 4)
    assert one(mldf.NDArray("float32", 3), [1, 2, 3]).tolist() == [1, 2, 3]
    assert one(mldf.NDArray("bfloat16", (4,)), [1, 1.5, float("inf"), -2]).view(np.uint16).tolist() == [
        0x3F80,
        0x3FC0,
        0x7F80,
        0xC000,
    ]
    assert one(mldf.NDArray("bfloat16", (1,)), np.array([0x3FC0], np.uint16)).view(np.uint16).tolist() == [0x3FC0]
    assert np.isnan(one(mldf.NDArray("float16", (1,)), [float("nan")])[0])


def test_records_come_back(one):
    by_name = np.array((2, 1), dtype=[("y", "i8"), ("x", "f2")])[()]
    for value in (
        (1, 2),
        [1, 2],
        {"y": 2, "x": 1},
        by_name,
        (np.float64(1), np.int64(2)),
        np.array((1, 2), dtype=POINT),
    ):
        assert one(mldf.Struct(POINT), value).item() == (1.0, 2)
    nested = mldf.Struct([("p", POINT), ("q", "u1", (2,)), ("s", "S3"), ("u", "U3")])
    got = one(nested, {"p": {"x": 1, "y": 2}, "q": [3, 4], "s": "abc", "u": "äöü"})
    assert got["p"].item() == (1.0, 2) and got["q"].tolist() == [3, 4] and got["s"] == b"abc" and got["u"] == "äöü"


def test_images_from_everything(one, tmp_path):
    pixels = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
    png = mldf.images.encode(pixels, "png")
    path = tmp_path / "p.png"
    path.write_bytes(png)
    undecoded = {"bytes": png, "path": None}, {"bytes": None, "path": str(path)}
    for value in (png, path, np.frombuffer(png, np.uint8), io.BytesIO(png), memoryview(png), *undecoded, pixels[:]):
        assert np.array_equal(one(mldf.Image(), value), pixels)
    assert np.array_equal(one(mldf.Image(), pixels[::-1, :, ::-1]), pixels[::-1, :, ::-1])
    assert one(mldf.Image(), np.full((2, 2), 258, ">u2")).ravel().tolist() == [258] * 4


def test_pil_images_of_all_modes(one):
    pillow = pytest.importorskip("PIL.Image")
    rgb = pillow.fromarray(np.arange(90, dtype=np.uint8).reshape(6, 5, 3))
    shapes = {"1": 1, "L": 1, "LA": 2, "P": 3, "RGB": 3, "RGBA": 4, "CMYK": 3, "YCbCr": 3, "HSV": 3}
    for mode, channels in shapes.items():
        assert one(mldf.Image(), rgb.convert(mode)).shape == (6, 5, channels), mode
    assert one(mldf.Image(), rgb.convert("RGBA").convert("RGBa")).shape == (6, 5, 4)
    deep = np.arange(30, dtype=np.uint16).reshape(6, 5) * 2000
    for image in (pillow.fromarray(deep), pillow.fromarray(deep.astype(np.int32))):
        assert np.array_equal(one(mldf.Image(), image)[:, :, 0], deep)
    for values in (np.array([[70000, 0]], np.int32), np.array([[-1, 0]], np.int32), np.array([[0.5]], np.float32)):
        with pytest.raises(WrongTypeError, match="do not fit into 16 bits"):
            one(mldf.Image(), pillow.fromarray(values))


# ---- what does not ----


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        (mldf.Int(), 2**64, RangeError),
        (mldf.Int(), -(2**63) - 1, RangeError),
        (mldf.Int("uint8"), 256, RangeError),
        (mldf.Int("bool"), 2, RangeError),
        (mldf.Int(), np.array([1.5]), WrongTypeError),
        (mldf.Int(), np.array([1, 2]), WrongTypeError),
        (mldf.Float(), 2**53 + 1, RangeError),
        (mldf.Float(), 10**400, RangeError),
        (mldf.Float(), np.complex64(1), WrongTypeError),
        (mldf.Text(), "\ud800", RangeError),
        (mldf.Bytes(), np.array([1], dtype=object), WrongTypeError),
        (mldf.Bytes(), pathlib.Path("/no/such"), NotFoundError),
        (mldf.Bytes(), pathlib.Path(), IoError),
        (mldf.Json(), "\ud800", RangeError),
        (mldf.Json(), {(1, 2): 3}, WrongTypeError),
        (mldf.NDArray("float32", (2,)), [1, None], WrongTypeError),
        (mldf.NDArray("float32", (2,)), ["1", "2"], WrongTypeError),
        (mldf.NDArray("float32", (2,)), [1j, 2], WrongTypeError),
        (mldf.NDArray("float32", (2,)), [1e300, 1], RangeError),
        (mldf.NDArray("float32", (2,)), [10**400, 1], RangeError),
        (mldf.NDArray("float32", (2,)), np.ma.array([1, 2], mask=[0, 1], dtype="f4"), WrongTypeError),
        (mldf.NDArray("float32", (2,)), [1, 2, 3], WrongTypeError),
        (mldf.NDArray("float32", (None, 2)), [[1, 2, 3]], WrongTypeError),
        (mldf.NDArray("int64", (1,)), [float("nan")], RangeError),
        (mldf.NDArray("int64", (1,)), [2.0**63], RangeError),
        (mldf.NDArray("uint64", (1,)), [-1], RangeError),
        (mldf.NDArray("bool", (2,)), [2, 0.5], RangeError),
        (mldf.NDArray("bfloat16", (1,)), np.zeros(1, np.float32), WrongTypeError),
        (mldf.NDArray("bfloat16", (1,)), [3.4e38], RangeError),
        (mldf.Struct(POINT), (1, 2.5), RangeError),
        (mldf.Struct(POINT), (1, 40000), RangeError),
        (mldf.Struct(POINT), (1e300, 2), RangeError),
        (mldf.Struct(POINT), (1,), WrongTypeError),
        (mldf.Struct(POINT), {"x": 1}, WrongTypeError),
        (mldf.Struct(POINT), np.array((1, 2), dtype=[("a", "f4"), ("b", "i2")]), WrongTypeError),
        (mldf.Struct(POINT), np.zeros(1, dtype=POINT), WrongTypeError),
        (mldf.Struct([("n", "U4")]), ("abcde",), RangeError),
        (mldf.Struct([("n", "S4")]), (b"abcde",), RangeError),
        (mldf.Struct([("n", "S4")]), ("ä",), RangeError),
        (mldf.Struct([("a", "f4", (2,))]), ([1, 2, 3],), WrongTypeError),
        (mldf.Image(), "/no/such.png", NotFoundError),
        (mldf.Image(), np.zeros((3, 40, 50), np.uint8), WrongTypeError),
        (mldf.Image(), np.zeros((4, 0, 3), np.uint8), WrongTypeError),
        (mldf.Image(), io.StringIO("text"), WrongTypeError),
        *[
            (f, None, NullError)
            for f in (mldf.Int(), mldf.Text(), mldf.Bytes(), mldf.Image(), mldf.NDArray("f4", (1,)))
        ],
    ],
)
def test_what_does_not_fit_is_refused_and_the_writer_goes_on(tmp_path, field, value, error):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        w = mldf.Writer(tmp_path / "v.mldf", {"v": field})
        with pytest.raises(error, match="'v'") as caught:
            w.append({"v": value})
        assert (caught.value.field, caught.value.sample, len(w)) == ("v", 0, 0)
        assert w.finish().samples == 0


def test_deep_json_is_refused(one):
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(WrongTypeError, match="JSON"):
        one(mldf.Json(), deep)


def test_tensors(one):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (make torch)")
    half = torch.tensor([1.5, 2], dtype=torch.bfloat16)
    assert one(mldf.NDArray("float32", (2,)), half).tolist() == [1.5, 2]  # not their bits
    assert one(mldf.NDArray("bfloat16", (2,)), half).view(np.uint16).tolist() == [0x3FC0, 0x4000]
    assert one(mldf.Float(), torch.tensor([2.5], requires_grad=True)) == 2.5
    assert one(mldf.NDArray("float32", (2, 2)), torch.arange(4.0).reshape(2, 2).T).tolist() == [[0, 2], [1, 3]]
    assert one(mldf.Json(), {"a": torch.tensor([1, 2])}) == {"a": [1, 2]}
    assert one(mldf.NDArray("complex64", (1,)), torch.tensor([1 + 2j]).conj()).tolist() == [1 - 2j]
    for field in (mldf.Int(), mldf.Float()):
        with pytest.raises(WrongTypeError, match="not a tensor of complex64"):
            one(field, torch.tensor(1 + 0j))
    for tensor in (half.reshape(1, 1, 2), torch.zeros(3, 4, 5), torch.zeros(2, 3, 4, 5, dtype=torch.uint8)):
        with pytest.raises(WrongTypeError, match="tensor|uint8 or uint16"):
            one(mldf.Image(), tensor)


# ---- samples, keys, schemas ----


def test_samples_by_name(tmp_path):
    backwards = collections.namedtuple("Pair", "b a")

    @dataclasses.dataclass
    class Data:
        b: int
        a: int

    record = np.array((2, 1), dtype=[("b", "i4"), ("a", "i4")])[()]
    path = tmp_path / "s.mldf"
    with mldf.Writer(path, {"a": mldf.Int(), "b": mldf.Int()}) as w:
        w.extend([backwards(2, 1), Data(2, 1), record, {"b": 2, "a": 1}, (1, 2), [1, 2]])
        with pytest.raises(KeyError, match="no field 'c'"):
            w.append({"a": 1, "c": 2})
    ds = mldf.open(path)
    assert ds.column("a").tolist() == [1] * 6 and ds.column("b").tolist() == [2] * 6


def test_columns_and_structured_arrays_are_datasets(tmp_path):
    fields = {"a": mldf.Int(), "b": mldf.NDArray("float32", (2,))}
    columns = {"a": np.arange(5), "b": np.ones((5, 2), np.float32)}
    assert mldf.write(tmp_path / "c.mldf", columns, fields).samples == 5
    assert mldf.open(tmp_path / "c.mldf").column("a").tolist() == [0, 1, 2, 3, 4]
    table = np.zeros(4, dtype=[("a", "i8"), ("b", "f4", (2,))])
    assert mldf.write(tmp_path / "t.mldf", table, fields).samples == 4
    with pytest.raises(ValueError, match="column 'a' has 4 values"):
        mldf.write(tmp_path / "d.mldf", {"a": [1] * 4, "b": columns["b"]}, fields)
    for nothing in (None, 5):
        with pytest.raises(WrongTypeError, match="indexed or iterated"):
            mldf.write(tmp_path / "d.mldf", nothing, fields)
    assert sorted(os.listdir(tmp_path)) == ["c.mldf", "t.mldf"]


@pytest.mark.parametrize("keys", [["a"], ["a", "b", "c"]])
def test_as_many_keys_as_samples(tmp_path, keys):
    with pytest.raises(SampleKeyError, match="and more"):
        mldf.write(tmp_path / "k.mldf", [1, 2], {"a": mldf.Int()}, keys=keys)
    with pytest.raises(SampleKeyError, match="and more"), mldf.Writer(tmp_path / "k.mldf", {"a": mldf.Int()}) as w:
        w.extend([(1,), (2,)], keys)
    assert os.listdir(tmp_path) == []


def test_keys_are_text(tmp_path):
    with mldf.Writer(tmp_path / "k.mldf", {"a": mldf.Int()}) as w:
        for key, error in ((1, WrongTypeError), (pathlib.Path("p"), WrongTypeError), ("\ud800", SampleKeyError)):
            with pytest.raises(error, match="key"):
                w.append({"a": 1}, key=key)
        w.append({"a": 1}, key=bytearray(b"x"))
    assert list(mldf.open(tmp_path / "k.mldf").keys) == ["x"]


def test_fields_as_people_write_them(tmp_path):
    python = {"i": int, "f": float, "b": bool, "s": str, "y": bytes}
    mldf.write(tmp_path / "p.mldf", [(1, 0.5, True, "x", b"y")], python)
    assert tuple(mldf.open(tmp_path / "p.mldf")[0]) == (1, 0.5, True, "x", b"y")
    assert mldf.schema_json([("a", mldf.Int()), ("b", "text")]) == mldf.schema_json({"a": mldf.Int(), "b": "text"})
    for fields, words in (
        ({"a": mldf.Int("zz")}, "'zz' is not a dtype"),
        ({"a": mldf.NDArray("f4", None)}, "shape=None"),
        ({"a": mldf.NDArray("f4", (2.5,))}, "tuple of integers"),
        ({"a": mldf.Struct({"names": ["a", "b"], "formats": ["u1", "f8"], "offsets": [8, 0]})}, "Struct"),
    ):
        with pytest.raises(mldf.errors.SchemaError, match=words) as caught:
            mldf.schema_json(fields)
        assert caught.value.field == "a"
    with pytest.raises(mldf.errors.SchemaError, match="dict of name to field"):
        mldf.schema_json(["a", "b"])
