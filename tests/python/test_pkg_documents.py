"""Interleaved documents: the files of others, runs of placeholders, packed sequences, against plain Python."""

import io
import json
import tarfile

import mldf
import numpy as np
import pytest

RNG = np.random.default_rng(11)
IMAGE_ID, PAD = 999, 998


def png(height=8, width=8):
    return mldf.images.encode(RNG.integers(0, 255, (height, width, 3), dtype=np.uint8), "png")


class Letters:
    """A tokenizer: a letter is an id."""

    vocab_size = 1000

    def __call__(self, texts):
        return [[ord(c) for c in text] for text in texts]


def lines(path, records):
    path.write_text("\n".join(map(json.dumps, records)) + "\n")
    return path


def roles(sample):
    return [(p.role, p.value if isinstance(p.value, str) else p.value is not None) for p in sample.doc]


@pytest.fixture
def folder(tmp_path):
    for name in ("a.png", "b.png"):
        (tmp_path / name).write_bytes(png())
    return tmp_path


def test_obelics(folder):
    records = [
        {"images": [None, "a.png", None], "texts": ["one", None, "two"], "metadata": "x"},
        {"images": ["b.png", "a.png"], "texts": [None, None]},
    ]
    out = folder / "o.mldf"
    assert mldf.from_documents(lines(folder / "o.jsonl", records), out, format="obelics").samples == 2
    with mldf.open(out) as ds:
        assert roles(ds[0]) == [("text", "one"), ("image", True), ("text", "two")]
        assert roles(ds[1]) == [("image", True)] * 2
        assert ds[0].meta == {"metadata": "x"} and ds[1].meta is None
        assert np.array_equal(ds[1].doc[1].value, mldf.images.decode((folder / "a.png").read_bytes()))


def test_mmc4(folder):
    record = {
        "text_list": ["one", "two"],
        "image_info": [
            {"image_name": "a.png", "matched_text_index": 1, "matched_sim": 0.3},
            {"image_name": "b.png", "matched_text_index": 1},
        ],
    }
    source = lines(folder / "m.jsonl", [record])
    for place, want in (("before", "tiit"), ("after", "ttii")):
        mldf.from_documents(source, folder / "m.mldf", format="mmc4", place=place, overwrite=True)
        with mldf.open(folder / "m.mldf") as ds:
            assert "".join(p.role[0] for p in ds[0].doc) == want
            assert ds[0].meta["image_info"][0]["matched_sim"] == 0.3


def test_llava(folder):
    records = [
        {
            "id": "q1",
            "image": ["a.png", "b.png"],
            "conversations": [
                {"from": "human", "value": "<image>\nWhat is it, and <image>?"},
                {"from": "gpt", "value": "Noise."},
            ],
        }
    ]
    (folder / "l.json").write_text(json.dumps(records))
    mldf.from_documents(folder / "l.json", folder / "l.mldf", format="llava")
    with mldf.open(folder / "l.mldf") as ds:
        assert roles(ds[list(ds.keys).index("q1")]) == [
            ("image", True),
            ("user", "What is it, and "),
            ("image", True),
            ("user", "?"),
            ("assistant", "Noise."),
        ]


def test_webdataset(tmp_path):
    members = {
        "k1.0.png": png(),
        "k1.1.txt": b"one",
        "k1.10.png": png(),
        "k1.2.txt": b"two",
        "k1.json": b'{"u": 1}',
        "k2.0.txt": b"x",
        "k3.json": b'{"alone": true}',
    }
    with tarfile.open(tmp_path / "w.tar", "w") as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    mldf.from_documents(tmp_path / "w.tar", tmp_path / "w.mldf", format="webdataset")
    with mldf.open(tmp_path / "w.mldf") as ds:
        assert roles(ds[list(ds.keys).index("k1")]) == [
            ("image", True),
            ("text", "one"),
            ("text", "two"),
            ("image", True),
        ]
        assert ds[list(ds.keys).index("k1")].meta == {"u": 1} and roles(ds[list(ds.keys).index("k2")]) == [
            ("text", "x")
        ]
        assert ds[list(ds.keys).index("k3")].meta == {"alone": True} and ds[list(ds.keys).index("k3")].doc == []


@pytest.mark.parametrize(("name", "data", "message"), [("k.json", b"{", "not JSON"), ("k.0.txt", b"\xff", "not UTF-8")])
def test_a_member_that_cannot_be_read_is_named(tmp_path, name, data, message):
    with tarfile.open(tmp_path / "w.tar", "w") as tar:
        info = tarfile.TarInfo(name)
        info.size = len(data)
        tar.addfile(info, io.BytesIO(data))
    with pytest.raises(mldf.errors.CorruptError, match=f"{name}: {message}"):
        mldf.from_documents(tmp_path / "w.tar", tmp_path / "w.mldf", format="webdataset")


def test_lines_end_at_line_feeds_alone(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"texts": ["a\u2028b\u0085c"], "images": [null]}\n', encoding="utf-8")
    mldf.from_documents(tmp_path / "a.jsonl", tmp_path / "a.mldf", format="obelics")
    assert [p.value for p in mldf.open(tmp_path / "a.mldf")[0].doc] == ["a\u2028b\u0085c"]


@pytest.mark.parametrize(
    ("format", "record", "message"),
    [
        ("obelics", {"images": [None], "texts": [None]}, r"line 1: neither of images\[0\]"),
        ("obelics", {"images": ["a.png"], "texts": ["x"]}, r"line 1: both of images\[0\]"),
        ("obelics", {"images": ["a.png"], "texts": []}, "1 images and 0 texts"),
        ("obelics", {"images": ["no.png"], "texts": [None]}, "line 1: image 'no.png'"),
        ("obelics", {"images": ["../a.png"], "texts": [None]}, "outside"),
        ("obelics", {"images": [None], "texts": [5]}, "not a string"),
        ("obelics", [1], "no object"),
        (
            "mmc4",
            {"text_list": ["x"], "image_info": [{"image_name": "a.png", "matched_text_index": 1}]},
            r"image_info\[0\]",
        ),
        ("llava", {"image": "a.png", "conversations": [{"from": "human", "value": "no"}]}, "0 times"),
        ("llava", {"conversations": [{"from": "human", "value": "<image>"}]}, "more <image>"),
        ("llava", {"conversations": [{"from": "cat", "value": ""}]}, r"conversations\[0\]"),
    ],
)
def test_mistakes_name_the_line_and_the_image(folder, format, record, message):
    with pytest.raises(mldf.Error, match=message):
        mldf.from_documents(lines(folder / "x.jsonl", [record]), folder / "x.mldf", format=format)
    assert not (folder / "x.mldf").exists()


def test_a_broken_image_names_its_line(folder):
    (folder / "c.png").write_bytes(b"no image")
    with pytest.raises(mldf.Error, match=r"part 0 \(image\)"):
        mldf.from_documents(
            lines(folder / "x.jsonl", [{"images": ["c.png"], "texts": [None]}]), folder / "x.mldf", format="obelics"
        )


def test_missing_images_can_be_null(folder):
    source = lines(folder / "x.jsonl", [{"images": ["no.png", None], "texts": [None, "t"]}])
    mldf.from_documents(source, folder / "x.mldf", format="obelics", missing="null")
    with mldf.open(folder / "x.mldf") as ds:
        assert ds[0].doc[0].value is None and ds.rows["doc"]["images"].tolist() == [0]


@pytest.mark.parametrize("format", ["webdataset", "obelics"])
def test_documents_go_out_and_come_back(folder, format):
    jpeg = mldf.images.encode(np.full((16, 16, 3), 90, np.uint8), "jpeg")
    pixels = RNG.integers(0, 255, (5, 7, 3), dtype=np.uint8)
    kinds = {"text": mldf.Text(), "image": mldf.Image()}
    docs = [
        [("text", "one\u2028\n"), ("image", jpeg), ("image", pixels), ("text", "")],
        None,
        [("image", (folder / "a.png").read_bytes())],
        [],
    ]
    metas = [{"u": [1]}, None, None, {"v": None}]
    path, out, again = folder / "d.mldf", folder / "out", folder / "again.mldf"
    with mldf.Writer(path, {"doc": mldf.Multimodal(kinds, nullable=True), "meta": mldf.Json(nullable=True)}) as w:
        for k, (doc, meta) in enumerate(zip(docs, metas)):
            w.append({"doc": doc, "meta": meta}, key=f"a/k{k}")
    assert mldf.to_documents(path, out, format=format) == 3
    with pytest.raises(mldf.errors.ExistsError):
        mldf.to_documents(path, out, format=format)
    mldf.from_documents(out, again, format=format)
    with mldf.open(path) as a, mldf.open(again) as b:
        for k, row in enumerate((0, 2, 3)):
            assert [p.role for p in a[row].doc] == [p.role for p in b[k].doc]
            assert all(np.array_equal(x.value, y.value) for x, y in zip(a[row].doc, b[k].doc))
            assert (a[row].meta or None) == (b[k].meta or None)
        stored = [bytes(p.value) for p in mldf.open(again, decode=False)[0].doc if p.role == "image"]
        assert stored[0] == bytes(jpeg)  # as it was packed
        if format == "webdataset":
            assert list(b.keys) == ["a/k0", "a/k2", "a/k3"]


def test_what_documents_of_others_cannot_hold_is_refused(tmp_path):
    kinds = {"text": mldf.Text(), "image": mldf.Image(), "ids": mldf.Tokens(9)}
    for value, message in ((("image", None), r"part 1 \(image\) is missing"), (("ids", [1]), "are text and images")):
        with mldf.Writer(tmp_path / "d.mldf", {"doc": mldf.Multimodal(kinds)}, overwrite=True) as w:
            w.append({"doc": [("text", "x"), value]})
        with pytest.raises(mldf.Error, match=message):
            mldf.to_documents(tmp_path / "d.mldf", tmp_path / "out.tar", format="webdataset")
        assert sorted(p.name for p in tmp_path.iterdir()) == ["d.mldf"]
    for key, message in (("../../up", "would leave the archive"), ("a.b/c.0", "has a dot in it")):
        with mldf.Writer(tmp_path / "d.mldf", {"doc": mldf.Multimodal(kinds)}, overwrite=True) as w:
            w.append({"doc": [("text", "x")]}, key=key)
        with pytest.raises(mldf.Error, match=message):
            mldf.to_documents(tmp_path / "d.mldf", tmp_path / "out.tar", format="webdataset")


# ---- tokens in order ----


def corpus(path, count=60, most=90):
    """Documents of tokens and images of different sizes, some null; and the same as plain lists."""
    plain = []
    kinds = {"text": mldf.Tokens(1000), "image": mldf.Image(), "note": mldf.Text()}
    with mldf.Writer(path, {"doc": mldf.Multimodal(kinds)}, overwrite=True) as w:
        for i in range(count):
            doc = []
            for _ in range(int(RNG.integers(0, 6))):
                what = int(RNG.integers(0, 4))
                if what < 2:
                    doc.append(("text", RNG.integers(0, 900, int(RNG.integers(0, most))).tolist()))
                elif what == 2:
                    doc.append(("image", RNG.integers(0, 255, (*RNG.integers(8, 40, 2), 3), dtype=np.uint8)))
                else:
                    doc.append(("image", None) if i % 2 else ("note", "n"))
            w.append({"doc": doc})
            plain.append(doc)
    return plain


def run_of(value, patch):
    return 7 if patch is None else -(-value.shape[0] // patch) * -(-value.shape[1] // patch)


def flat(doc, patch):
    """(token, or None of an image; the image's number in the document)"""
    out, images = [], 0
    for role, value in doc:
        if role == "text":
            out += [(t, None) for t in value]
        elif role == "image" and value is not None:
            out += [(IMAGE_ID, images)] * run_of(value, patch)
            images += 1
    return out


@pytest.mark.parametrize("patch", [None, 14])
def test_interleave_equals_plain_python(tmp_path, patch):
    plain = corpus(tmp_path / "d.mldf")
    names = ("kinds", "lengths", "heights", "widths", "text")
    loader = mldf.Loader(
        tmp_path / "d.mldf", 8, pipelines={**{f"doc.{n}": [] for n in names}, "doc.image": [mldf.Resize((4, 4))]}
    )
    at = 0
    for batch in loader:
        docs = plain[at : at + 8]
        at += 8
        got = mldf.interleave(batch, kinds={"text": 0, "image": 1}, image_id=IMAGE_ID, image_tokens=7, patch=patch)
        want = [flat(doc, patch) for doc in docs]
        assert got.tokens.tolist() == [t for doc in want for t, _ in doc]
        assert got.positions.tolist() == [i for doc in want for i in range(len(doc))]
        assert got.cu_seqlens.tolist() == np.cumsum([0, *map(len, want)]).tolist()
        assert got.max_seqlen == max(map(len, want))
        begins = []
        for start, doc in zip(got.cu_seqlens, want):
            seen = [image for _, image in doc]
            begins += [int(start) + seen.index(k) for k in range(len({s for s in seen if s is not None}))]
        assert got.image_positions.tolist() == begins and len(begins) == len(batch["doc.image"])
        assert np.array_equal(got.kinds == 1, got.tokens == IMAGE_ID)


# ---- packed ----


@pytest.mark.parametrize("patch", [None, 14])
@pytest.mark.parametrize("length", [64, 4096])
def test_packed_sequences_hold_every_part_once(tmp_path, length, patch):
    plain = corpus(tmp_path / "d.mldf", 120)
    options = {"length": length, "image_id": IMAGE_ID, "pad_id": PAD, "image_tokens": 7, "patch": patch}
    mldf.pack_documents(tmp_path / "d.mldf", tmp_path / "p.mldf", **options)
    first = (tmp_path / "p.mldf").read_bytes()
    found = {}  # row -> segments in the order of their images and tokens
    images = {}
    with mldf.open(tmp_path / "p.mldf") as ds:
        for s in ds:
            cu = s.cu_seqlens.tolist()
            assert cu[0] == 0 and cu[-1] == length and s.tokens.shape == (length,)
            real = len(s.documents)
            end = cu[real]
            assert (s.tokens[end:] == PAD).all() and (s.labels[end:] == -100).all() and not s.segment_ids[end:].any()
            for k, row in enumerate(s.documents.tolist()):
                a, b = cu[k], cu[k + 1]
                assert (s.segment_ids[a:b] == k + 1).all() and s.positions[a:b].tolist() == list(range(b - a))
                found.setdefault(row, []).append((s.tokens[a:b].tolist(), s.labels[a:b].tolist()))
            for part in s.images:
                n = run_of(part.value, patch)
                assert (s.tokens[part.begin : part.begin + n] == IMAGE_ID).all()
                images.setdefault(part.group, []).append(part.value)
        assert len(ds) >= -(-sum(len(flat(d, patch)) for d in plain) // length)
    for row, doc in enumerate(plain):
        want = [t for t, _ in flat(doc, patch)]
        pieces = found.pop(row, [])
        if len(want) <= length:
            assert len(pieces) <= 1
        order = [p for p in pieces if p[0] != want[: len(p[0])]]
        joined = join(pieces, want)
        assert [t for tokens, _ in joined for t in tokens] == want, (row, len(order))
        labels = [t for _, given in joined for t in given]
        assert labels == [t if t != IMAGE_ID else -100 for t in want[1:]] + [-100] * bool(want)
        given = [v for role, v in doc if role == "image" and v is not None]
        assert len(images.get(row, [])) == len(given)
        for a in given:
            assert any(np.array_equal(a, b) for b in images[row])
    assert not found
    mldf.pack_documents(tmp_path / "d.mldf", tmp_path / "p.mldf", **options, overwrite=True)
    assert (tmp_path / "p.mldf").read_bytes() == first


def join(pieces, want):
    """The segments of a document in its order: those that fit one behind the other."""
    if not pieces:
        return []
    for i, piece in enumerate(pieces):
        if piece[0] == want[: len(piece[0])]:
            rest = join(pieces[:i] + pieces[i + 1 :], want[len(piece[0]) :])
            if sum(len(p[0]) for p in rest) == len(want) - len(piece[0]):
                return [piece, *rest]
    return pieces


def test_packed_sequences_load(tmp_path):
    corpus(tmp_path / "d.mldf", 40)
    mldf.pack_documents(
        tmp_path / "d.mldf", tmp_path / "p.mldf", length=256, image_id=IMAGE_ID, pad_id=PAD, image_tokens=7
    )
    loader = mldf.Loader(
        tmp_path / "p.mldf",
        2,
        shuffle=True,
        seed=1,
        pipelines={
            "images.image": [mldf.Resize((16, 16)), mldf.CHW("f32")],
            "images.begins": [],
            "images.groups": [],
            "cu_seqlens": [mldf.Ragged()],
        },
        fields=["tokens", "labels", "positions", "segment_ids", "cu_seqlens", "images.image", "images.begins"],
    )
    for b in loader:
        offset = b["images.image_offset"]
        assert b["tokens"].shape == (len(offset) - 1, 256) and b["images.image"].shape[1:] == (3, 16, 16)
        for i, (a, z) in enumerate(zip(offset[:-1], offset[1:])):
            for begin in b["images.begins"][a:z]:
                assert (b["tokens"][i, begin : begin + 7] == IMAGE_ID).all()
        assert (b["tokens"] == IMAGE_ID).sum() == 7 * len(b["images.image"])


def test_an_image_larger_than_a_sequence_is_an_error(tmp_path):
    with mldf.Writer(
        tmp_path / "d.mldf", {"doc": mldf.Multimodal({"text": mldf.Tokens(10), "image": mldf.Image()})}
    ) as w:
        w.append({"doc": [("text", [1]), ("image", np.zeros((8, 8, 3), np.uint8))]})
    options = {"length": 15, "image_id": 9, "pad_id": 0}
    with pytest.raises(mldf.Error, match=r"sample 0, field doc: part 1 \(image\) is an image of 16 tokens"):
        mldf.pack_documents(tmp_path / "d.mldf", tmp_path / "p.mldf", **options, patch=2)
    with pytest.raises(mldf.Error, match="image_tokens is 16; a whole number from 1 to 15"):
        mldf.pack_documents(tmp_path / "d.mldf", tmp_path / "p.mldf", **options, image_tokens=16)


def test_text_becomes_tokens(folder):
    source = lines(folder / "x.jsonl", [{"images": [None, "a.png", None], "texts": ["ab", None, "c"]}])
    mldf.from_documents(source, folder / "x.mldf", format="obelics", tokenizer=mldf.Tokens(1000, tokenizer=Letters()))
    with mldf.open(folder / "x.mldf") as ds:
        assert [p.value.tolist() for p in ds[0].doc if p.role == "text"] == [[97, 98], [99]]
        assert ds.rows["doc"]["tokens"].tolist() == [3]
