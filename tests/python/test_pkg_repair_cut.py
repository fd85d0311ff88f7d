"""repair of files that were cut before or inside their rows: values that show where they end are saved."""

import io
import struct

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


HEADER = struct.Struct("<HHIQHHIQQQQQ")


def places(path):
    """(byte where the rows begin, bytes of a row, where the payloads of each sample end), by docs/spec/format.md."""
    data = path.read_bytes()
    _, _, _, samples, fields, _, _, descriptors, rows, *_ = HEADER.unpack_from(data, 9)
    found, align, end = [], 1, 0
    for f in range(fields):
        flags, size, offset = struct.unpack_from("<HII", data, descriptors + 208 * f + 66)
        (row_align,) = struct.unpack_from("<H", data, descriptors + 208 * f + 204)
        found.append((flags, offset))
        align, end = max(align, row_align), offset + size
    row = (end + align - 1) // align * align
    ends = []
    for i in range(samples):
        where = [
            struct.unpack_from("<QI" if flags & 4 else "<QQ", data, rows + i * row + offset)
            for flags, offset in found
            if flags & 12
        ]
        ends.append(max(ptr + size for ptr, size in where))
    return rows, row, ends


def check_saved(path, saved, with_rows):
    with mldf.open(path) as ds:
        assert len(ds) == saved
        for i in range(saved):
            want, got = sample(i), ds[i]
            assert bytes(ds.raw(i, "image")) == want["image"]
            assert (got["small"] == want["small"]).all() and (got["large"] == want["large"]).all()
            assert got["meta"] == want["meta"]
            if with_rows:
                assert got["label"] == (i if i < with_rows else None)


def test_a_cut_anywhere_saves_every_sample_whose_bytes_are_whole(tmp_path):
    whole, hurt, out = tmp_path / "whole.mldf", tmp_path / "cut.mldf", tmp_path / "saved.mldf"
    with mldf.Writer(whole, FIELDS) as w:
        for i in range(24):
            w.append(sample(i))
    rows, row, ends = places(whole)
    size = whole.stat().st_size
    cuts = set(range(ends[0], size, size // 40)) | {rows + i * row + d for i in range(25) for d in (-1, 0, 1)}
    cuts |= {end + d for end in ends[:6] for d in (-1, 0, 1)}
    for at in sorted(cuts):
        cut(whole, hurt, at)
        expected = sum(end <= at for end in ends)
        if expected == 0:
            continue
        with_rows = max(0, min(24, (at - rows) // row))
        result = mldf.repair(hurt, out, overwrite=True)
        assert result.written == expected, f"cut at {at} of {size}, rows from {rows}"
        assert result.lost["samples"] == 24 - expected
        check_saved(out, expected, with_rows)
        if with_rows == 24:
            assert result.lost["values"] == 0
        elif with_rows:
            assert result.lost["values"] == 24 - with_rows and "label" in result.action
            with pytest.raises(mldf.Error, match=f"with -o OUT, what is whole of 24 samples .* {24 - with_rows} are"):
                mldf.repair(hurt)


def test_a_cut_file_that_was_appended_to_saves_what_is_whole_of_both_parts(tmp_path):
    whole, hurt, out = tmp_path / "whole.mldf", tmp_path / "cut.mldf", tmp_path / "saved.mldf"
    with mldf.Writer(whole, FIELDS) as w:
        for i in range(9):
            w.append(sample(i))
    first = whole.stat().st_size
    with mldf.Writer(tmp_path / "more.mldf", FIELDS) as w:
        for i in range(9, 20):
            w.append(sample(i))
    mldf.append(whole, tmp_path / "more.mldf")
    rows, row, ends = places(whole)
    size = whole.stat().st_size
    for at in sorted(set(range(first + 64, size, size // 25)) | {rows + i * row + 1 for i in range(20)}):
        cut(whole, hurt, at)
        result = mldf.repair(hurt, out, overwrite=True)
        expected = sum(end <= at for end in ends)
        assert result.written == expected, f"cut at {at} of {size}, rows from {rows}"
        assert result.lost["samples"] == 20 - expected
        check_saved(out, expected, max(9, min(20, (at - rows) // row)))


def test_values_of_an_added_field_are_not_taken_for_samples(tmp_path):
    """What add_field wrote follows the first state of the file, as samples of an append would."""
    whole, hurt, table = tmp_path / "whole.mldf", tmp_path / "cut.mldf", tmp_path / "b.jsonl"
    with mldf.Writer(whole, {"a": mldf.NDArray("float32", (3,))}) as w:
        for i in range(6):
            w.append({"a": np.full(3, i, np.float32)})
    first = whole.stat().st_size
    table.write_text("".join(f'{{"b": [{i + 50}, 0, 0]}}\n' for i in range(6)))
    mldf.add_field(whole, "b", table, field=mldf.NDArray("float32", (3,)))
    rows, _, _ = places(whole)
    assert rows > first
    cut(whole, hurt, rows - 8)
    result = mldf.repair(hurt, tmp_path / "saved.mldf")
    assert result.written == 6
    with mldf.open(tmp_path / "saved.mldf") as ds:
        assert list(ds.fields) == ["a"] and [ds[i]["a"][0] for i in range(6)] == list(range(6))


ARRAYS = {"id": mldf.Int(), "x": mldf.NDArray("float32", (500,)), "y": mldf.NDArray("int32", (2,))}


def states_of_arrays(path, counts):
    """A file that was appended to; the size that it had after each time."""
    sizes, done = [], 0
    for count in counts:
        part = path if not sizes else path.with_name("more.mldf")
        with mldf.Writer(part, ARRAYS) as w:
            for i in range(done, done + count):
                w.append({"id": i, "x": np.full(500, i, np.float32), "y": [i, -i]})
        done += count
        if part != path:
            mldf.append(path, part)
            part.unlink()
        sizes.append(path.stat().st_size)
    return sizes


def damage(path, at, size=96):
    data = bytearray(path.read_bytes())
    data[at : at + size] = bytes(b ^ 0x5A for b in data[at : at + size])
    path.write_bytes(data)


def check_arrays(path, count):
    with mldf.open(path) as ds:
        assert len(ds) == count
        for i in range(count):
            assert (ds[i]["x"] == i).all() and ds[i]["y"].tolist() == [i, -i]


def test_tables_of_a_former_state_are_not_taken_for_samples(tmp_path):
    path, hurt, out = tmp_path / "a.mldf", tmp_path / "cut.mldf", tmp_path / "saved.mldf"
    sizes = states_of_arrays(path, (50, 70, 80))
    cut(path, hurt, sizes[1] + 100_000)
    damage(hurt, sizes[1] - 96)  # the second footer
    result = mldf.repair(hurt, out)
    assert (result.written, result.lost["samples"], result.unchecked) == (120, 80, True)
    check_arrays(out, 120)
    damage(hurt, sizes[0] - 96)  # and the first: no state is left
    result = mldf.repair(hurt, out, overwrite=True)
    assert (result.written, result.lost["samples"]) == (50, 150)
    check_arrays(out, 50)


def test_a_former_state_whose_rows_cannot_be_found_ends_what_is_saved(tmp_path):
    path, hurt, out = tmp_path / "a.mldf", tmp_path / "cut.mldf", tmp_path / "saved.mldf"
    sizes = states_of_arrays(path, (50, 70, 80))
    second = path.read_bytes()[sizes[1] - 96 : sizes[1]]
    rows = int.from_bytes(second[32:40], "little")  # the header is the footer's beginning
    assert sizes[0] < rows < sizes[1]
    cut(path, hurt, sizes[1] + 100_000)
    damage(hurt, sizes[1] - 96, 40)  # the footer, up to its magic
    damage(hurt, rows, 64)  # the first rows
    result = mldf.repair(hurt, out)
    assert (result.written, result.lost["samples"]) == (50, 150)
    check_arrays(out, 50)


def test_values_that_no_checksum_covers_are_called_unchecked(tmp_path):
    path, hurt, out = tmp_path / "a.mldf", tmp_path / "cut.mldf", tmp_path / "saved.mldf"
    states_of_arrays(path, (20, 30))
    rows, _, _ = places(path)
    result = mldf.repair(cut(path, hurt, rows - 8), out)
    assert result.written == 50 and result.unchecked and "unchecked" in result.action
    check_arrays(out, 50)
