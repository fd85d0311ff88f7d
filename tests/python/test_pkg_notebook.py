"""What notebooks show: tables with small images, and nothing that a file could smuggle in."""

import base64
import html.parser
import io
import pathlib
import re
import tarfile

import mldf
import numpy as np
import pkg
import pytest

HOSTILE = "<script>alert('&')</script>"


class Tags(html.parser.HTMLParser):
    """The tags of a text, which must nest."""

    def __init__(self, text):
        super().__init__()
        self.seen, self.open = [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        if tag not in ("br", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def images(text):
    return [mldf.images.decode(base64.b64decode(m)) for m in re.findall(r"base64,([^\"]+)", text)]


@pytest.mark.parametrize("encode", ["jpeg", "raw"])
def test_a_dataset_shows_its_first_samples(tmp_path, encode):
    path = tmp_path / "a.mldf"
    fields = {
        "image": mldf.Image(encode=encode, nullable=True),
        "caption": mldf.Text(),
        "x": mldf.NDArray("f4", (None,)),
    }
    with mldf.Writer(path, fields) as w:
        for i in range(7):
            image = None if i == 1 else np.full((300, 200 * (i + 1), 3), 40 * i, np.uint8)
            w.append({"image": image, "caption": f"{HOSTILE}{i}", "x": np.zeros(i, np.float32)})
    ds = mldf.open(path)
    text = ds._repr_html_()
    tags = Tags(text)
    assert "script" not in tags.seen and tags.seen.count("tr") == 1 + 5 + 1
    assert "&lt;script&gt;" in text and "float32[3]" in text and "7 samples" in text
    found = images(text)
    assert [p.shape for p in found] == [(64, 43, 3), (32, 64, 3), (24, 64, 3), (19, 64, 3)]
    assert abs(int(found[1].mean()) - 80) <= 2
    assert "300 × 200" in text and "<code>None</code>" in text
    assert len(images(mldf.open(path, decode=False)._repr_html_())) == 4  # however it is opened
    assert Tags(ds[5:]._repr_html_()).seen.count("tr") == 1 + 2
    ds.close()
    assert "closed" in ds._repr_html_() and images(ds._repr_html_()) == []


def test_deep_and_gray_images(tmp_path):
    path = tmp_path / "a.mldf"
    with mldf.Writer(path, {"image": mldf.Image()}) as w:
        w.append({"image": np.full((100, 50, 1), 40_000, np.uint16)})
        w.append({"image": np.full((1, 1000, 4), 9, np.uint8)})
    first, second = images(mldf.open(path)._repr_html_())
    assert first.shape == (64, 32, 1) and first.max() == 40_000 >> 8
    assert second.shape == (1, 64, 4)


def test_names_are_escaped(tmp_path):
    path = tmp_path / f"{HOSTILE.replace('/', '')}.mldf"
    mldf.write(path, [(1,), (2,)], {HOSTILE: "int"})
    text = mldf.open(path)._repr_html_()
    assert "script" not in Tags(text).seen and text.count("&lt;script&gt;") == 3


def test_what_cannot_be_read_shows_its_error(tmp_path):
    path = pkg.make(tmp_path / "a.mldf", 3)
    ds = mldf.open(path)
    row = ds.rows["image"][1]
    data = bytearray(pathlib.Path(path).read_bytes())
    begin, size = int(row["ptr"]), int(row["size"])
    data[begin : begin + size] = bytes(size)
    bad = tmp_path / "bad.mldf"
    bad.write_bytes(data)
    text = mldf.open(bad, verify=True)._repr_html_()
    assert "ChecksumError" in text and len(images(text)) == 2
    Tags(text)


def test_images_of_other_kinds_and_fields_that_raise(tmp_path):
    with tarfile.open(tmp_path / "g.tar", "w") as tar:
        info = tarfile.TarInfo("0.gif")
        info.size = 6
        tar.addfile(info, io.BytesIO(b"GIF89a"))
    ds = mldf.open(tmp_path / "g.tar")
    assert ds[0]["gif"] == b"GIF89a" and "GIF89a" in ds._repr_html_()

    class Picky(mldf.CustomField):
        type_name = "org.example.picky"

        def encode(self, value):
            return b"x"

        def decode(self, data):
            raise KeyError("no <value>")

    mldf.write(tmp_path / "p.mldf", [(1,)], {"x": Picky()})
    assert "KeyError: &#x27;no &lt;value&gt;&#x27;" in mldf.open(tmp_path / "p.mldf")._repr_html_()


def test_many_fields_are_cut(tmp_path):
    path = tmp_path / "a.mldf"
    mldf.write(path, [tuple(range(30))], {f"f{i}": "int" for i in range(30)})
    text = mldf.open(path)._repr_html_()
    assert Tags(text).seen.count("th") == 1 + 16 + 1 and "f15" in text and "f16" not in text


def test_empty(tmp_path):
    path = tmp_path / "a.mldf"
    mldf.write(path, [], {"a": "int"})
    assert Tags(mldf.open(path)._repr_html_()).seen.count("tr") == 1


def test_statistics():
    stats = mldf.LoaderStats(
        10, 2, 1, 100, 2.0, 0.1, 0.2, 2, f"bound by {HOSTILE}", {"read": 1.0, f"{HOSTILE}: decode": 3.0}
    )
    text = stats._repr_html_()
    assert "script" not in Tags(text).seen and text.count("&lt;script&gt;") == 2
    assert "75.0 %" in text and "25.0 %" in text and "1 bad samples" in text and "5 samples/s" in text
    assert repr(stats) == str(stats) and len(repr(stats).splitlines()) == 6
    Tags(mldf.LoaderStats(0, 0, 0, 0, 0.0, 0.0, 0.0, 0, "nothing was loaded yet")._repr_html_())


def test_plain_text_is_aligned(tmp_path):
    path = tmp_path / "a.mldf"
    mldf.write(path, [(1, "x")], {"n": "int", "caption": "text"})
    ds = mldf.open(path)
    assert repr(ds).splitlines()[1:] == ["  n        int", "  caption  text"]
    assert str(ds.schema) == "n        int\ncaption  text" and repr(ds.schema) == "Schema(n: int, caption: text)"
