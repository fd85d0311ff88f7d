"""Multimodal samples: writing, reading and batches, against NumPy and fields of the same kinds."""

import json
import os
import struct
import subprocess

import mldf
import numpy as np
import pytest
from codec_files import run as run_program

COMMAND = os.environ.get("MLDF")
needs_command = pytest.mark.skipif(not COMMAND, reason="MLDF does not name the command")
KINDS = {
    "text": mldf.Text(),
    "image": mldf.Image(),
    "tokens": mldf.Tokens(1000),
    "boxes": mldf.NDArray("f4", (None, 4)),
    "label": mldf.Int(),
    "meta": mldf.Json(),
    "sound": mldf.Audio(rate=16000),
}


def picture(rng, height, width):
    return rng.integers(0, 255, (height, width, 3), dtype=np.uint8)


def documents(count=12, seed=3):
    """Documents of i % 4 images with as many boxes, token lists of different lengths, a null here and there."""
    rng = np.random.default_rng(seed)
    out = []
    for i in range(count):
        parts = [("text", f"doc {i} é")]
        for k in range(i % 4):
            parts.append(mldf.SamplePart("image", picture(rng, 16 + k, 20 + i), k, 7 * k))
            parts.append(mldf.SamplePart("boxes", np.array([[1, 2, 5, 6 + k]] * (k + 1), np.float32), k))
            parts.append({"tokens": rng.integers(0, 1000, 3 * k + i % 2)})
        parts += [("label", i), ("meta", {"i": [i]})]
        if i % 3 == 0:
            parts.append(("image", None))
        out.append(parts)
    return out


def as_part(part):
    if isinstance(part, dict):
        part = next(iter(part.items()))
    return mldf.SamplePart(*part)


def write(path, docs, kinds=KINDS, **options):
    with mldf.Writer(path, {"doc": mldf.Multimodal(kinds), "n": mldf.Int()}, overwrite=True, **options) as w:
        for i, doc in enumerate(docs):
            w.append({"doc": doc, "n": i})
    return path


def values(docs, role):
    """For each document the values of a role that are not null."""
    return [[p.value for p in map(as_part, doc) if p.role == role and p.value is not None] for doc in docs]


def resized(folder, image, height, width):
    """What a field of images gives for the same image."""
    path = folder / "one.mldf"
    with mldf.Writer(path, {"image": mldf.Image()}, overwrite=True) as w:
        w.append({"image": np.asarray(image)})
    return np.copy(next(iter(mldf.Loader(path, 1, pipelines={"image": [mldf.Resize((height, width))]})))["image"][0])


def run(*arguments, fails=False):
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert (done.returncode != 0) == fails, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("backend", ["map", "read"])
def test_what_is_written_is_read(tmp_path, backend):
    docs = documents()
    sound = np.arange(160, dtype=np.int16).reshape(-1, 1)
    docs[1].append(("sound", sound))
    with mldf.open(write(tmp_path / "a.mldf", docs), backend=backend) as ds:
        for i, doc in enumerate(docs):
            got = ds[i].doc
            assert isinstance(got, list) and len(got) == len(doc)
            for part, given in zip(got, map(as_part, doc)):
                assert (part.role, part.group, part.begin) == (given.role, given.group, given.begin)
                if given.role == "sound":
                    wave, rate = part.value
                    assert rate == 16000 and np.array_equal(np.asarray(part.value), sound) and wave.shape == (1, 160)
                elif isinstance(part.value, np.ndarray):
                    assert np.array_equal(part.value, np.asarray(given.value))
                else:
                    assert part.value == given.value
        if backend == "read":
            return
        rows = ds.rows["doc"]
        assert rows["parts"].tolist() == [len(doc) for doc in docs]
        assert rows["images"].tolist() == [len(v) for v in values(docs, "image")]
        assert rows["tokens"].tolist() == [sum(map(len, v)) for v in values(docs, "tokens")]
        assert rows["pixels"].tolist() == [sum(x.shape[0] * x.shape[1] for x in v) for v in values(docs, "image")]
        assert rows["samples"].tolist() == [160 if i == 1 else 0 for i in range(len(docs))]
        assert rows["milliseconds"].tolist() == [10 if i == 1 else 0 for i in range(len(docs))]


def test_the_same_bytes_whatever_the_threads(tmp_path):
    files = [write(tmp_path / f"{n}.mldf", documents(40), threads=n).read_bytes() for n in (0, 1, 3)]
    assert files[0] == files[1] == files[2]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([("imag", None)], "part 0: no role 'imag'.*did you mean 'image'"),
        ([("text", "a"), ("tokens", [5, 1000])], "part 1 .tokens.*1000"),
        ([("text", 7)], "text"),
        ([("image", b"no image")], "part 0 .image."),
        ("text", "a list of parts"),
        ([7], "a part .number 0."),
        ([mldf.SamplePart("text", "a", 2**32)], "group"),
    ],
)
def test_wrong_parts_are_refused_by_number(tmp_path, parts, message):
    with (
        pytest.raises((mldf.Error, TypeError), match=message) as caught,
        mldf.Writer(tmp_path / "a.mldf", {"doc": mldf.Multimodal(KINDS)}) as w,
    ):
        w.append({"doc": parts})
    assert not isinstance(caught.value, TypeError) or "doc" in str(caught.value)


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ({}, "1 to 32"),
        ({"a.b": mldf.Text()}, "one of"),
        ({"kinds": mldf.Text()}, "reserved"),
        ({"a": mldf.Struct([("x", "f4")])}, "inline"),
        ({"a": mldf.Multimodal({"b": mldf.Text()})}, "multimodal"),
        ({"a": mldf.Text(nullable=True)}, "nullable"),
        ({"a": 5}, "not a field"),
        ({f"a{i}": mldf.Int() for i in range(33)}, "1 to 32"),
    ],
)
def test_wrong_kinds_are_refused(tmp_path, kinds, message):
    with pytest.raises(mldf.Error, match=message):
        mldf.Writer(tmp_path / "a.mldf", {"doc": mldf.Multimodal(kinds)})


# ---- batches ----


def batches(path, pipelines, **options):
    loader = mldf.Loader(path, 5, pipelines=pipelines, **options)
    return [
        {name: np.copy(b[name]) if isinstance(b[name], np.ndarray) else b[name] for name in dict(b)} for b in loader
    ]


def test_all_parts_of_a_role_lie_flat(tmp_path):
    docs = documents()
    path = write(tmp_path / "a.mldf", docs)
    steps = {
        "doc.image": [mldf.Resize((8, 6)), mldf.CHW("f32")],
        "doc.tokens": [mldf.Cast("i64")],
        "doc.boxes": [],
        "doc.label": [],
        "doc.text": [mldf.Strings()],
        "doc.kinds": [],
        "doc.groups": [],
        "doc.begins": [],
        "doc.lengths": [],
    }
    roles = list(KINDS)
    at = 0
    for batch in batches(path, steps):
        some = docs[at : at + 5]
        at += 5
        images = [np.asarray(x) for v in values(some, "image") for x in v]
        assert batch["doc.image_offset"].tolist() == np.cumsum([0] + [len(v) for v in values(some, "image")]).tolist()
        assert batch["doc.image"].shape == (len(images), 3, 8, 6)
        for got, image in zip(batch["doc.image"], images):
            want = resized(tmp_path, image, 8, 6).transpose(2, 0, 1).astype(np.float32)
            assert np.array_equal(got, want)
        tokens = [np.concatenate([np.empty(0, int), *v]) for v in values(some, "tokens")]
        assert np.array_equal(batch["doc.tokens"], np.concatenate(tokens))
        assert batch["doc.tokens_offset"].tolist() == np.cumsum([0] + [len(v) for v in tokens]).tolist()
        assert np.array_equal(
            batch["doc.boxes"], np.concatenate([b for v in values(some, "boxes") for b in v] or [np.empty((0, 4))])
        )
        assert batch["doc.label"].tolist() == [v[0] for v in values(some, "label")]
        assert batch["doc.text"] == [v[0] for v in values(some, "text")]
        parts = [as_part(p) for doc in some for p in doc]
        assert batch["doc.kinds"].tolist() == [-1 if p.value is None else roles.index(p.role) for p in parts]
        assert batch["doc.groups"].tolist() == [p.group for p in parts]
        assert batch["doc.begins"].tolist() == [p.begin for p in parts]
        counted = [
            0 if p.value is None else len(p.value) if p.role in ("tokens", "boxes") else 1
            for p in parts
            if p.role not in ("text", "meta")
        ]
        lengths = [n for n, p in zip(batch["doc.lengths"].tolist(), parts) if p.role not in ("text", "meta")]
        assert lengths == counted


def test_one_part_and_a_mask_where_it_is_missing(tmp_path):
    docs = documents()
    path = write(tmp_path / "a.mldf", docs)
    steps = {f"doc.image[{k}]": [mldf.Resize((8, 6)), mldf.Fill(9, valid=True)] for k in (0, 2)}
    at = 0
    for batch in batches(path, steps):
        some = values(docs[at : at + 5], "image")
        for k in (0, 2):
            present = []
            for doc, got in zip(docs[at : at + 5], batch[f"doc.image[{k}]"]):
                given = [p.value for p in map(as_part, doc) if p.role == "image"]  # nulls count: the k-th may be one
                there = k < len(given) and given[k] is not None
                present.append(there)
                want = resized(tmp_path, given[k], 8, 6) if there else np.full((8, 6, 3), 9, np.uint8)
                assert np.array_equal(got, want)
            assert batch[f"doc.image[{k}]_valid"].tolist() == present
        assert len(some) == len(batch["n"])
        at += 5
    with pytest.raises(mldf.Error, match="null"):
        batches(path, {"doc.image[0]": [mldf.Resize((8, 6))]})


def test_lists_of_parts_can_be_padded(tmp_path):
    docs = documents()
    path = write(tmp_path / "a.mldf", docs)
    steps = {"doc.image": [mldf.Resize((4, 4)), mldf.Pad(4, mask=True)], "doc.tokens": [mldf.Pad(32, value=7)]}
    at = 0
    for batch in batches(path, steps):
        for i, (images, tokens) in enumerate(zip(values(docs[at:], "image"), values(docs[at:], "tokens"))):
            if i == len(batch["n"]):
                break
            assert batch["doc.image"].shape[1:] == (4, 4, 4, 3)
            assert batch["doc.image_length"][i] == len(images) == batch["doc.image_mask"][i].sum()
            for k, image in enumerate(images):
                assert np.array_equal(batch["doc.image"][i, k], resized(tmp_path, image, 4, 4))
            assert not batch["doc.image"][i, len(images) :].any()
            flat = np.concatenate([np.empty(0, int), *tokens])
            assert np.array_equal(batch["doc.tokens"][i], np.pad(flat, (0, 32 - len(flat)), constant_values=7))
        at += 5


RANDOM = {
    "doc.image, doc.boxes as boxes": [mldf.RandomResizedCrop((8, 8)), mldf.HorizontalFlip(0.5)],
    "doc.image": [mldf.Brightness(0.5), mldf.CHW("f32")],
}


def test_each_part_draws_for_itself_and_nothing_changes_the_draws(tmp_path):
    docs = documents(17)
    path = write(tmp_path / "a.mldf", docs)
    want = batches(path, RANDOM, seed=5)
    for options in (
        {"num_workers": 0},
        {"num_workers": 3},
        {"engine": {"reference": True}},
        {"engine": {"isa": "portable"}},
    ):
        again = batches(path, RANDOM, seed=5, **options)
        for a, b in zip(want, again):
            assert a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)
    with mldf.open(path, backend="read") as ds:
        for a, b in zip(want, batches(ds, RANDOM, seed=5)):
            assert all(np.array_equal(a[name], b[name]) for name in a)
    # The same image twice in a document: two draws.
    same = picture(np.random.default_rng(1), 32, 32)
    twice = write(tmp_path / "b.mldf", [[("image", same), ("image", same)]] * 5, {"image": mldf.Image()})
    batch = batches(twice, {"doc.image": [mldf.RandomResizedCrop((8, 8))]}, seed=1)[0]["doc.image"]
    assert all(not np.array_equal(batch[2 * i], batch[2 * i + 1]) for i in range(5))


def test_boxes_move_with_their_image(tmp_path):
    """A white rectangle on black: after crop and flip its box is where it is white."""
    rng = np.random.default_rng(2)
    docs = []
    for _ in range(20):
        doc = []
        for _ in range(int(rng.integers(0, 4))):
            image = np.zeros((64, 64, 3), np.uint8)
            y, x = rng.integers(4, 36, 2)
            image[y : y + 20, x : x + 20] = 255
            doc += [("image", image), ("boxes", np.array([[x, y, x + 20, y + 20]], np.float32))]
        docs.append(doc)
    path = write(tmp_path / "a.mldf", docs, {"image": mldf.Image(), "boxes": mldf.NDArray("f4", (None, 4))})
    steps = {
        "doc.image, doc.boxes as boxes": [mldf.HorizontalFlip(0.5), mldf.RandomCrop((48, 48)), mldf.Resize((96, 96))]
    }
    seen = 0
    for batch in batches(path, steps, seed=3):
        assert np.array_equal(batch["doc.image_offset"], batch["doc.boxes_offset"])
        for image, box in zip(batch["doc.image"], batch["doc.boxes"]):
            rows, columns = np.nonzero(image[..., 0] > 127)
            x0, y0, x1, y1 = np.clip(box, 0, 96)
            if len(rows):
                want = columns.min(), rows.min(), columns.max() + 1, rows.max() + 1
                assert np.abs(np.array([x0, y0, x1, y1]) - want).max() <= 1
                seen += 1
    assert seen > 20


def test_more_boxes_than_images_is_an_error(tmp_path):
    docs = [[("image", picture(np.random.default_rng(0), 20, 20)), *[("boxes", np.zeros((1, 4), np.float32))] * 2]]
    path = write(tmp_path / "a.mldf", docs)
    with pytest.raises(mldf.Error, match=r"boxes\[1\].*no counterpart"):
        batches(path, {"doc.image, doc.boxes as boxes": [mldf.RandomCrop((8, 8))]})


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ({"doc.image": [mldf.CHW()]}, "shapes of its parts differ"),
        ({"doc.imag": [mldf.CHW()]}, "did you mean doc.image"),
        ({"x = doc.image": [mldf.Resize((4, 4))], "y = x": [mldf.CHW()]}, r"name one of them here: doc.image\[0\]"),
        ({"doc.image": [mldf.Resize((4, 4)), mldf.MixUp()]}, r"doc.image\[0\]"),
        ({"doc.image, doc.image[0]": [mldf.RandomCrop((4, 4))]}, "cannot share a draw"),
        ({"doc": [mldf.Cast("i32")]}, "multimodal"),
        ("doc.sound: clip(samples=10)", r"name one of them here: doc.sound\[0\]"),
        ("doc.film: clip(2)", r"name one of them here: doc.film\[0\]"),
        ("doc.film: clip(1)", r"name one of them here: doc.film\[0\]"),
    ],
)
def test_what_cannot_be_a_batch_is_said(tmp_path, steps, message):
    docs = [*documents(4), [("film", np.zeros((4, 8, 8, 3), np.uint8)), ("sound", np.zeros((40, 1), np.int16))]]
    path = write(tmp_path / "a.mldf", docs, {**KINDS, "film": mldf.VideoFrames()})
    with pytest.raises(mldf.Error, match=message):
        mldf.Loader(path, 2, pipelines=steps)


def test_states_resume_in_the_middle(tmp_path):
    path = write(tmp_path / "a.mldf", documents(17))
    loader = mldf.Loader(path, 4, pipelines=RANDOM, seed=5, shuffle=True)
    it = iter(loader)
    next(it)
    state = loader.state_dict()
    rest = [np.copy(b["doc.image"]) for b in it]
    other = mldf.Loader(path, 4, pipelines=RANDOM, seed=5, shuffle=True, num_workers=0)
    other.load_state_dict(state)
    assert all(np.array_equal(a, b["doc.image"]) for a, b in zip(rest, other, strict=True))


# ---- the command ----


@needs_command
def test_the_command_shows_filters_and_copies(tmp_path):
    docs = documents()
    path = write(tmp_path / "a.mldf", docs)
    shown = json.loads(run("cat", "--json", path).splitlines()[2])
    parts = shown["fields"]["doc"]["parts"] if "fields" in shown else shown["doc"]["parts"]
    assert [p["role"] for p in parts] == [as_part(p).role for p in docs[2]]
    assert parts[0]["value"] == "doc 2 é" and parts[1]["value"]["width"] == 22
    assert "ok" in run("verify", "--deep", path)
    run("select", path, "-o", tmp_path / "b.mldf", "--where", "doc.images >= 2 and doc.tokens > 0")
    with mldf.open(tmp_path / "b.mldf") as ds:
        kept = [i for i, doc in enumerate(docs) if len(values([doc], "image")[0]) >= 2]
        assert [s.n for s in ds] == kept
        assert [len(s.doc) for s in ds] == [len(docs[i]) for i in kept]
    run("merge", path, tmp_path / "b.mldf", "-o", tmp_path / "c.mldf")
    run("repack", tmp_path / "c.mldf", "-o", tmp_path / "d.mldf")
    assert "ok" in run("verify", "--deep", tmp_path / "d.mldf")
    run("diff", tmp_path / "c.mldf", tmp_path / "d.mldf")
    with mldf.open(tmp_path / "d.mldf") as ds:
        assert len(ds) == len(docs) + len(kept)
        assert np.array_equal(ds[len(docs)].doc[1].value, np.asarray(as_part(docs[kept[0]][1]).value))


def test_damaged_tables_are_errors(tmp_path):
    """Every byte of a table and of the record, changed once: an error or another value, never a crash."""
    path = write(tmp_path / "a.mldf", documents(4)[3:], checksums=False)
    good = path.read_bytes()
    with mldf.open(path) as ds:
        row = ds.rows["doc"][0]
        ptr, parts = int(row["ptr"]), int(row["parts"])
        at = good.index(row.tobytes())
    bad = tmp_path / "bad.mldf"
    failed = 0
    for place in [*range(at + 16, at + 56), *range(ptr, ptr + 64 * min(parts, 6))]:
        data = bytearray(good)
        data[place] ^= 0xFF
        bad.write_bytes(data)
        try:
            with mldf.open(bad) as ds:
                ds[0]
            batches(bad, {"doc.image": [mldf.Resize((4, 4))], "doc.tokens": [], "doc.lengths": []})
        except mldf.Error:
            failed += 1
    assert failed > 50


def test_parts_in_fast_jpeg_are_images_and_damage_is_found(tmp_path):
    rng = np.random.default_rng(5)
    pixels = np.kron(picture(rng, 8, 8), np.ones((16, 16, 1), np.uint8))
    jpeg = bytes(mldf.images.encode(pixels, "jpeg"))
    kinds = {"text": mldf.Text(), "image": mldf.Image(encode="fast-jpeg", fast_limit=100)}
    docs = [[("text", "a"), ("image", jpeg), ("image", jpeg)]]
    path = write(tmp_path / "a.mldf", docs, kinds)
    plain = write(tmp_path / "b.mldf", docs, {**kinds, "image": mldf.Image()})
    with mldf.open(path) as fast, mldf.open(plain) as ds:
        row = fast.rows["doc"][0]
        assert path.read_bytes()[int(row["ptr"]) :].find(jpeg) < 0
        assert all(np.array_equal(a.value, b.value) for a, b in zip(fast[0].doc, ds[0].doc))
    steps = {"doc.image": [mldf.Resize((8, 8))]}
    (want,) = batches(plain, steps)
    (got,) = batches(path, steps)
    assert np.array_equal(got["doc.image"], want["doc.image"])
    good, bad = path.read_bytes(), tmp_path / "bad.mldf"
    ptr, end = int(row["ptr"]), int(row["ptr"] + row["size"])
    for place in (ptr, *range(ptr + 3 * 64 + 200, end, (end - ptr) // 7)):
        bad.write_bytes(good[:place] + bytes([good[place] ^ 0x10]) + good[place + 1 :])
        for backend in ("map", "read"):
            with mldf.open(bad, backend=backend) as ds:
                with pytest.raises((mldf.errors.ChecksumError, mldf.errors.CorruptError)):
                    batches(ds, steps)
                with pytest.raises(mldf.Error):
                    ds[0].doc  # noqa: B018


def test_samples_of_all_sounds_are_their_sum(tmp_path):
    sounds = [[1000, 300], [], [500]]
    docs = [[("text", "x"), *(("sound", np.zeros((n, 1), np.int16)) for n in lengths)] for lengths in sounds]
    path = write(tmp_path / "a.mldf", docs)
    for steps, want in (
        ("doc.sound: ragged", [1300, 0, 500]),
        ("doc.sound: gain(1)", [1300, 0, 500]),
        ("doc.sound: window(samples=200, short=pad)", [400, 0, 200]),
    ):
        for threads in (0, 2):
            with mldf.Loader(path, 3, pipelines=steps, samples=True, threads=threads) as loader:
                assert next(iter(loader))["doc.sound_samples"].tolist() == want


@needs_command
def test_videos_as_packets_are_parts(tmp_path):
    """A record of 72 bytes needs wider entries: read back by value, by clips and by the command."""
    film = tmp_path / "film.mp4"
    source = ("-f", "lavfi", "-i", "testsrc2=size=64x48:rate=30:duration=2", "-f", "lavfi", "-i", "sine=duration=2")
    run_program("ffmpeg", "-v", "error", "-y", *source, "-c:v", "libx264", "-g", "15", "-bf", "2", "-c:a", "aac", film)
    kinds = mldf.Multimodal({"text": mldf.Tokens(100), "clip": mldf.CompressedVideo(), "image": mldf.Image()})
    image = np.full((8, 8, 3), 9, np.uint8)
    path = tmp_path / "v.mldf"
    with mldf.Writer(path, {"doc": kinds, "film": mldf.CompressedVideo()}) as w:
        for i in range(3):
            doc = [("text", [1, 2, 3]), ("clip", film), ("image", image), ("clip", None), *[("clip", film)] * i]
            w.append({"doc": doc, "film": film})
    with mldf.open(path) as ds:
        assert ds.rows["doc"]["milliseconds"].tolist() == [2000, 4000, 6000]
        doc, alone = ds[2].doc, ds[2].film
        assert [p.role for p in doc] == ["text", "clip", "image", "clip", "clip", "clip"] and doc[3].value is None
        for k in (1, 4, 5):
            assert np.array_equal(doc[k].value.frames([0, 17, -1]), alone.frames([0, 17, -1]))
        assert np.array_equal(doc[2].value, image) and doc[0].value.tolist() == [1, 2, 3]
    clip = [mldf.Clip(frames=4, stride=3, start="center"), mldf.Resize((16, 16))]
    for backend in ("map", "read"):
        for threads in (0, 2):
            with mldf.Loader(
                mldf.open(path, backend=backend), 3, pipelines={"doc.clip[0]": clip, "film": clip}, threads=threads
            ) as loader:
                (b,) = loader
                assert b["doc.clip[0]"].shape == (3, 4, 16, 16, 3)
                assert np.array_equal(b["doc.clip[0]"], b["film"])
    packed = "packed(doc, 16, image_id=99, pad=0, image_tokens=4)"
    assert mldf.open(path).as_view(packed)[0].tokens.tolist() == [
        1,
        2,
        3,
        99,
        99,
        99,
        99,
        1,
        2,
        3,
        99,
        99,
        99,
        99,
        0,
        0,
    ]
    run("verify", "--deep", "-q", path)
    run("merge", path, path, "-o", tmp_path / "m.mldf")
    with mldf.open(tmp_path / "m.mldf") as ds:
        assert np.array_equal(ds[5].doc[4].value.frames([3]), alone.frames([3]))


@pytest.mark.parametrize("said", [1, 2, 9])
def test_a_record_that_counts_other_tokens_is_damage(tmp_path, said):
    """Batches are planned by the record: one that lies would make them larger than the budget."""
    path = tmp_path / "a.mldf"
    with mldf.Writer(path, {"doc": mldf.Multimodal({"ids": mldf.Tokens(1000)})}, checksums=False) as w:
        for _ in range(4):
            w.append({"doc": [("ids", [1, 2]), ("ids", [3])]})
    row = mldf.open(path).rows["doc"][2]
    data = bytearray(path.read_bytes())
    at = data.index(struct.pack("<QQ", int(row["ptr"]), int(row["size"])))
    options = {"pipelines": {"doc.ids": [mldf.Ragged()]}, "fields": ["doc.ids"], "bucket": "doc.ids", "budget": 6}
    with mldf.Loader(path, 1, **options) as loader:
        assert sum(len(b["doc.ids"]) for b in loader) == 12
    struct.pack_into("<I", data, at + 24, said)
    path.write_bytes(data)
    message = f"sample 2, field doc.*the record says {said}, and the parts have 3"
    for more in (options, {"pipelines": {"doc.ids": [mldf.Pad()]}, "fields": ["doc.ids"]}):
        with (
            mldf.Loader(mldf.open(path, verify=False), 1, **more) as loader,
            pytest.raises(mldf.errors.CorruptError, match=message),
        ):
            list(loader)


def test_a_tar_refuses_parts(tmp_path):
    path = write(tmp_path / "a.mldf", [[("text", "x")]])
    with pytest.raises(mldf.Error, match="field doc is multimodal, and a value is one member of a tar"):
        mldf.convert(path, tmp_path / "a.tar")
    assert not (tmp_path / "a.tar").exists()


@pytest.mark.parametrize("backend", ["map", "read"])
@pytest.mark.parametrize("name", ["doc.ids", "doc.image"])
def test_buckets_and_budgets_come_from_the_record(tmp_path, name, backend):
    """Lengths as the rows have them, with the parts themselves out of reach: their tables are destroyed."""
    rng = np.random.default_rng(4)
    path = tmp_path / "a.mldf"
    kinds = {"ids": mldf.Tokens(1000), "image": mldf.Image(), "note": mldf.Text()}
    with mldf.Writer(path, {"doc": mldf.Multimodal(kinds, nullable=True)}, checksums=False) as w:
        for i in range(60):
            doc = [("ids", rng.integers(0, 900, int(n)).tolist()) for n in rng.integers(0, 40, int(rng.integers(0, 4)))]
            doc += [
                ("image", picture(rng, 8, 8) if rng.random() < 0.8 else None) for _ in range(int(rng.integers(0, 5)))
            ]
            doc += [("note", "x"), ("ids", None)]
            w.append({"doc": None if i % 13 == 5 else doc})
    steps = {"doc.ids": [mldf.Cast("i64"), mldf.Ragged()], "doc.image": [mldf.RandomResizedCrop(4)]}
    column = "tokens" if name == "doc.ids" else "images"
    inner = 1 if name == "doc.ids" else 4 * 4 * 3
    budget = 150 if name == "doc.ids" else 20 * inner
    rows = mldf.open(path).rows["doc"]
    nulls = np.arange(60) % 13 == 5
    length = np.where(nulls, 0, rows[column]).astype(int)
    options = {
        "pipelines": {name: steps[name]},
        "fields": [name],
        "index": True,
        "bucket": name,
        "seed": 2,
        "shuffle": True,
    }
    with mldf.Loader(mldf.open(path, backend=backend), 1, budget=budget, **options) as loader:
        count = len(loader)
        seen = []
        for b in loader:
            index, offset = b["index"].tolist(), b[f"{name}_offset"]
            assert np.diff(offset).tolist() == length[index].tolist()
            assert len(index) == 1 or length[index].max() * len(index) * inner <= budget
            seen += index
        assert sorted(seen) == list(range(60)) and count < 60
    data = bytearray(path.read_bytes())
    for row, null in zip(rows, nulls):
        if not null:
            begin = int(row["ptr"])
            data[begin : begin + 64 * int(row["parts"])] = b"\xff" * (64 * int(row["parts"]))
    path.write_bytes(data)
    with mldf.Loader(mldf.open(path, backend=backend, verify=False), 1, budget=budget, **options) as loader:
        assert len(loader) == count
        with pytest.raises(mldf.Error, match="field doc"):
            list(loader)
