"""mldf.write without fields: what is found from values of every kind, and what is refused."""

import collections
import dataclasses
import pathlib

import mldf
import numpy as np
import pkg
import pytest
from mldf.errors import SchemaError

IMAGE = pkg.image(1)


def written(tmp_path, source, **options):
    result = mldf.write(tmp_path / "a.mldf", source, overwrite=True, **options)
    ds = mldf.open(tmp_path / "a.mldf")
    assert result.fields.names == ds.schema.names
    return ds


def kinds(ds):
    return {name: (field.type, field.nullable) for name, field in ds.schema.items()}


def test_dicts_of_every_kind(tmp_path):
    file = tmp_path / "b.png"
    file.write_bytes(mldf.images.encode(IMAGE, "png"))
    rows = [
        {
            "image": IMAGE,
            "file": file,
            "label": i,
            "big": 2**63 + i,
            "small": np.uint8(i),
            "flag": i % 2 == 0,
            "score": 0.5 if i else 1,
            "text": f"t{i}",
            "blob": bytes([i]),
            "vector": np.arange(4, dtype=np.float32) + i,
            "ragged": list(range(i)),
            "meta": {"n": i},
            "words": ["a", "b"],
            "maybe": None if i == 1 else "there",
        }
        for i in range(3)
    ]
    ds = written(tmp_path, rows)
    assert {name: kind for name, (kind, _) in kinds(ds).items()} == {
        "image": "image",
        "file": "image",
        "label": "int",
        "big": "int",
        "small": "int",
        "flag": "int",
        "score": "float",
        "text": "text",
        "blob": "bytes",
        "vector": "ndarray",
        "ragged": "ndarray",
        "meta": "json",
        "words": "json",
        "maybe": "text",
    }
    assert [name for name, (_, nullable) in kinds(ds).items() if nullable] == ["maybe"]
    last = ds[2]
    assert np.array_equal(last.image, IMAGE) and np.array_equal(last.file, IMAGE)
    assert last.big == 2**63 + 2 and last.flag is True and ds.schema["small"].dtype == np.uint8
    assert last.vector.dtype == np.float32 and last.ragged.tolist() == [0, 1] and ds[0].ragged.tolist() == []
    assert last.meta == {"n": 2} and last.words == ["a", "b"] and ds[1].maybe is None


def test_columns_and_structured_arrays(tmp_path):
    columns = {
        "image": np.stack([pkg.image(i) for i in range(3)]),
        "x": np.arange(12, dtype=np.int16).reshape(3, 4),
        "label": np.array([1, 2, 3], np.uint8),
        "name": ["a", "b", None],
    }
    ds = written(tmp_path, columns)
    assert {name: kind for name, (kind, _) in kinds(ds).items()} == {
        "image": "image",
        "x": "ndarray",
        "label": "int",
        "name": "text",
    }
    assert np.array_equal(ds[2].image, pkg.image(2)) and ds[1].x.tolist() == [4, 5, 6, 7] and ds[2].name is None
    records = np.array([(1, 2.5), (3, 4.5)], [("a", "i4"), ("b", "f4")])
    assert [tuple(s) for s in written(tmp_path, records)] == [(1, 2.5), (3, 4.5)]


def test_values_without_names_get_them_from_what_they_are(tmp_path):
    assert written(tmp_path, [(IMAGE, 3), (IMAGE, 4)]).schema.names == ("image", "label")
    assert written(tmp_path, [(1, 2, "t", 0.5, [1.0, 2.0])]).schema.names == ("label", "label_2", "text", "value", "x")
    assert written(tmp_path, range(5)).column("label").tolist() == [0, 1, 2, 3, 4]
    Point = collections.namedtuple("Point", "x y")

    @dataclasses.dataclass
    class Pair:
        a: int
        b: str

    assert written(tmp_path, [Point(1, 2.5)]).schema.names == ("x", "y")
    assert [tuple(s) for s in written(tmp_path, [Pair(1, "one")])] == [(1, "one")]


def test_an_iterator_loses_none_of_its_samples(tmp_path):
    ds = written(tmp_path, ({"n": i} for i in range(250)))
    assert ds.column("n").tolist() == list(range(250))


def test_tensors_and_torch_datasets(tmp_path):
    torch = pytest.importorskip("torch")
    data = torch.utils.data.TensorDataset(torch.arange(12.0).reshape(3, 4), torch.tensor([5, 6, 7]))
    ds = written(tmp_path, data)
    assert (
        ds.schema.names == ("x", "label")
        and ds[1].x.tolist() == [4, 5, 6, 7]
        and ds.column("label").tolist() == [5, 6, 7]
    )
    ds = written(tmp_path, [(torch.full((3, 4, 5), i, dtype=torch.uint8), i) for i in range(2)])
    assert ds.schema.names == ("image", "label") and ds[1].image.shape == (4, 5, 3)


def test_records_as_hugging_face_has_them(tmp_path):
    wave = np.linspace(-1, 1, 50).astype(np.float32)
    rows = [
        {
            "image": {"bytes": mldf.images.encode(IMAGE, "png"), "path": None},
            "audio": {"array": wave, "sampling_rate": 8000, "path": "a.wav"},
        }
    ]
    ds = written(tmp_path, rows)
    assert np.array_equal(ds[0].image, IMAGE) and np.array_equal(ds[0].audio[:, 0], wave)
    assert ds.schema["audio"].arguments["rate"] == 8000
    other = [*rows, {**rows[0], "audio": {"array": wave, "sampling_rate": 16000, "path": "b.wav"}}]
    with pytest.raises(SchemaError, match="'audio': recordings of 8000 to 16000 Hz"):
        mldf.write(tmp_path / "b.mldf", other)


def test_data_frames(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "label": [3, 1, 2],
            "name": ["c", None, "b"],
            "score": [0.5, float("nan"), 1.5],
            "n": pandas.array([1, None, 3], dtype="Int64"),
        }
    ).sort_values("label")
    ds = written(tmp_path, frame)
    assert kinds(ds) == {"label": ("int", False), "name": ("text", True), "score": ("float", False), "n": ("int", True)}
    assert ds.column("label").tolist() == [1, 2, 3] and [s.name for s in ds] == [None, "b", "c"]
    assert [s.n for s in ds] == [None, 3, 1] and np.isnan(ds[0].score)
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"a": [1, 2], "b": ["x", None], "v": [[1.0, 2.0], [3.0, 4.0]]})
    ds = written(tmp_path, table)
    assert [(s.a, s.b, s.v.tolist()) for s in ds] == [(1, "x", [1, 2]), (2, None, [3, 4])]
    polars = pytest.importorskip("polars")
    ds = written(tmp_path, polars.DataFrame({"a": [1, None], "b": ["x", "y"], "v": [[1, 2], [3]]}))
    assert [(s.a, s.b, s.v.tolist()) for s in ds] == [(1, "x", [1, 2]), (None, "y", [3])]
    with pytest.raises(ValueError, match="two columns named 'a'"):
        mldf.write(tmp_path / "b.mldf", pandas.DataFrame([[1, 2]], columns=["a", "a"]))


def test_an_index_with_a_name_is_a_column_of_a_data_frame(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"name": ["x", "y", "z"], "part": [1, 1, 2], "n": [4, 5, 6]})
    ds = written(tmp_path, frame.set_index("name").sort_values("n", ascending=False))
    assert kinds(ds) == {"name": ("text", False), "part": ("int", False), "n": ("int", False)}
    assert [(s.name, s.n) for s in ds] == [("z", 6), ("y", 5), ("x", 4)]
    ds = written(tmp_path, frame.set_index(["name", "part"]))
    assert [(s.name, s.part, s.n) for s in ds] == [("x", 1, 4), ("y", 1, 5), ("z", 2, 6)]
    named = frame.set_index("name")
    mldf.write(tmp_path / "c.mldf", named, {"part": int, "n": int})  # chosen without it
    assert list(mldf.open(tmp_path / "c.mldf").schema) == ["part", "n"]
    mldf.write(tmp_path / "d.mldf", named, {"part": int, "n": int, "name": str})
    assert mldf.open(tmp_path / "d.mldf")[2].name == "z"
    named["name"] = 1
    with pytest.raises(ValueError, match="two columns named 'name'"):
        mldf.write(tmp_path / "b.mldf", named)


def test_dates_are_refused_with_what_to_do(tmp_path):
    pandas = pytest.importorskip("pandas")
    times = np.array(["2024-01-01", "2024-01-02"], "datetime64[ns]")
    for column in (times, pandas.Series(times), list(pandas.Series(times).dt.date), times - times[0]):
        with pytest.raises(
            mldf.errors.SchemaError, match=r"'when': there is no field type for dates and times .*str\(value\)"
        ):
            mldf.write(tmp_path / "t.mldf", {"when": column})
    ds = written(tmp_path, {"when": times.astype("int64")})
    assert ds.column("when").astype("datetime64[ns]").tolist() == times.tolist()


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ([], "no samples"),
        ({}, "without columns"),
        ([{"a": None}], "'a': no value in the first 1 samples"),
        ([{"a": 2**70}], "'a': an integer of more than 64 bits"),
        ([{"a": object()}], r"'a': no field type holds all of its values \(object\)"),
        ([{"a": np.zeros(2)}, {"a": np.zeros((2, 2))}], "'a': arrays of different numbers of dimensions"),
        ([{"a": np.zeros(2)}, {"a": np.zeros(2, int)}], "'a': arrays of different dtypes: float64, int64"),
    ],
)
def test_what_cannot_be_told_is_refused(tmp_path, source, words):
    with pytest.raises(SchemaError, match=words):
        mldf.write(tmp_path / "a.mldf", source)
    assert list(pathlib.Path(tmp_path).iterdir()) == []


def test_a_later_value_that_does_not_fit_names_its_sample(tmp_path):
    rows = [{"a": i} for i in range(150)] + [{"a": "text"}]
    with pytest.raises(mldf.errors.WrongTypeError, match="sample 150.*'a' takes an integer"):
        mldf.write(tmp_path / "a.mldf", rows)
    assert list(pathlib.Path(tmp_path).iterdir()) == []


@pytest.mark.parametrize("thing", [None, 3, "photos", b"bytes"])
def test_what_is_not_a_dataset_is_refused_by_its_type(tmp_path, thing):
    with pytest.raises(mldf.errors.WrongTypeError, match="a dataset to write is indexed or iterated"):
        mldf.write(tmp_path / "x.mldf", thing)
    assert not (tmp_path / "x.mldf").exists()
