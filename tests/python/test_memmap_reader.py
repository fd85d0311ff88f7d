"""docs/spec/memmap_reader.py, the smallest reader, against the library: numbers, payloads, files of the specification's vectors."""

import sys

import mldf
import numpy as np
import pkg
import pytest

SPEC = pkg.ROOT / "docs" / "spec"
sys.path.insert(0, str(SPEC))
import memmap_reader  # noqa: E402


def test_rows_and_payloads_of_a_new_file(tmp_path):
    path = tmp_path / "x.mldf"
    texts = ["", "one", "zwei", "trois " * 100]
    rows = [{"n": i * 1000, "x": i / 4, "text": t, "a": np.arange(i + 1, dtype="<f4")} for i, t in enumerate(texts)]
    mldf.write(path, rows, {"n": int, "x": float, "text": str, "a": mldf.NDArray("<f4", [None])})
    got = memmap_reader.read(path)
    assert list(got) == ["n", "x", "text", "a"]
    assert np.ascontiguousarray(got["n"][1]).view("<i8")[:, 0].tolist() == [0, 1000, 2000, 3000]
    assert np.ascontiguousarray(got["x"][1]).view("<f8")[:, 0].tolist() == [0, 0.25, 0.5, 0.75]
    assert [bytes(got["text"][2](i)).decode() for i in range(4)] == texts
    assert [got["a"][2](i).view("<f4").tolist() for i in range(4)] == [list(range(i + 1)) for i in range(4)]


@pytest.mark.parametrize("name", ["hello", "bytes", "text", "images", "row_gaps", "unaligned_tables", "tables_first", "page_65536"])
def test_payloads_of_the_vectors(name):
    path = SPEC / "vectors" / "valid" / f"{name}.mldf"
    ds, got = mldf.open(path), memmap_reader.read(path)
    assert tuple(got) == ds.fields
    for field, (number, _, payload) in got.items():
        assert number == ds.schema[field].type_id
        for i in range(len(ds)) if payload else ():
            raw = ds.raw(i, field)
            assert raw is None or bytes(payload(i)) == raw.tobytes()
