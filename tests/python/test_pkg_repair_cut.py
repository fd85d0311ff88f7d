"""repair of files that were cut before their rows: values that show where they end are saved, and nothing else."""

import io

import mldf
import numpy as np
import pytest
from PIL import Image


def image_file(i, form):
    rng = np.random.default_rng(i)
    pixels = np.kron(rng.integers(0, 255, (3 + i % 5, 4 + i % 3, 3)), np.ones((6, 6, 1))).astype(np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, form, **({"progressive": bool(i % 2)} if form == "JPEG" else {}))
    return out.getvalue()


FORMS = ["JPEG", "PNG", "WEBP", "BMP"]


def sample(i):
    return {
        "image": image_file(i, FORMS[i % 4]),
        "label": i,
        "small": np.full((3,), i, np.int16),
        "large": np.full((20, 20), i / 2, np.float32),
        "meta": {"n": i, "text": "word " * (i % 40)},
    }


FIELDS = {
    "image": mldf.Image(),
    "label": mldf.Int(),
    "small": mldf.NDArray("int16", (3,)),
    "large": mldf.NDArray("float32", (20, 20)),
    "meta": mldf.Json(compress=3),
}


def cut(path, out, size):
    out.write_bytes(path.read_bytes()[:size])
    return out


def rows_of(path):
    """The byte where the rows begin."""
    return int.from_bytes(path.read_bytes()[9 + 32 : 9 + 40], "little")


@pytest.mark.parametrize("page_size", [4096, 65536])
def test_every_whole_sample_of_a_cut_file_is_saved(tmp_path, page_size):
    whole = tmp_path / "whole.mldf"
    with mldf.Writer(whole, FIELDS, page_size=page_size) as w:
        for i in range(40):
            w.append(sample(i), key=f"k{i}")
    rows = rows_of(whole)
    before = -1
    for part in (0.2, 0.5, 0.77, 0.93, 0.99, 1):
        hurt = cut(whole, tmp_path / "cut.mldf", int(rows * part))
        with pytest.raises(mldf.Error, match="cut before its rows"):
            mldf.open(hurt)
        if int(rows * part) < page_size + 2000:
            with pytest.raises(mldf.Error, match="nothing can be saved: the rows are cut off"):
                mldf.repair(hurt, tmp_path / "none.mldf")
            assert not (tmp_path / "none.mldf").exists()
            continue
        result = mldf.repair(hurt, tmp_path / "saved.mldf", overwrite=True)
        saved = result.written
        assert saved > before
        before = saved
        assert result.lost["samples"] == 40 - saved and result.lost["values"] == saved
        assert "label" in result.action
        with mldf.open(tmp_path / "saved.mldf") as ds:
            assert list(ds.fields) == ["image", "small", "large", "meta"] and len(ds) == saved
            for i in range(saved):
                want = sample(i)
                assert bytes(ds.raw(i, "image")) == want["image"]
                assert (ds[i]["small"] == want["small"]).all() and (ds[i]["large"] == want["large"]).all()
                assert ds[i]["meta"] == want["meta"]
    assert before == 40


def test_a_field_that_shows_no_end_is_named(tmp_path):
    whole = tmp_path / "whole.mldf"
    with mldf.Writer(whole, {"image": mldf.Image(), "caption": mldf.Text()}) as w:
        for i in range(5):
            w.append({"image": image_file(i, "PNG"), "caption": f"number {i}"})
    hurt = cut(whole, tmp_path / "cut.mldf", rows_of(whole) - 8)
    with pytest.raises(
        mldf.Error, match="nothing can be saved: .*nothing shows where the values of field caption begin"
    ):
        mldf.repair(hurt, tmp_path / "saved.mldf")
    assert not (tmp_path / "saved.mldf").exists()


def test_bytes_that_are_damaged_are_not_taken_for_a_sample(tmp_path):
    whole = tmp_path / "whole.mldf"
    with mldf.Writer(whole, {"image": mldf.Image()}) as w:
        for i in range(12):
            w.append({"image": image_file(i, "PNG")})
    data = bytearray(cut(whole, tmp_path / "cut.mldf", rows_of(whole) - 8).read_bytes())
    sixth = data.index(image_file(6, "PNG"))
    data[sixth + 8 : sixth + 12] = b"\xff\xff\xff\xff"  # the length of its first chunk
    (tmp_path / "cut.mldf").write_bytes(data)
    result = mldf.repair(tmp_path / "cut.mldf", tmp_path / "saved.mldf")
    assert result.written == 6 and result.lost["samples"] == 6
    assert "samples 6 to 11: no whole values follow byte" in result.skipped[-1].message
