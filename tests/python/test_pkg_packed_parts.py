"""Interleaved documents in packed sequences while loading, packed(doc, ...) of a multimodal field: against NumPy."""

import json
import os
import struct
import subprocess

import mldf
import numpy as np
import pkg
import pytest

IMAGE_ID, PAD, BOS, EOS = 999, 998, 997, 996
RNG_SEED = 5


def corpus(path, count=60, seed=RNG_SEED, missing=True, most=60):
    """Documents of tokens, images of several sizes, notes, null parts; empty and null ones. Returned as lists."""
    rng = np.random.default_rng(seed)
    kinds = {"text": mldf.Tokens(1000), "image": mldf.Image(), "note": mldf.Text()}
    plain = []
    with mldf.Writer(path, {"doc": mldf.Multimodal(kinds, nullable=True), "n": "int"}) as w:
        for i in range(count):
            doc = []
            for _ in range(int(rng.integers(0, 7))):
                what = int(rng.integers(0, 5))
                if what < 2:
                    doc.append(("text", rng.integers(0, 900, int(rng.integers(0, most))).tolist()))
                elif what == 2:
                    doc.append(("image", rng.integers(0, 255, (*rng.integers(8, 40, 2), 3), dtype=np.uint8)))
                elif what == 3:
                    doc.append(("note", "n"))
                else:
                    doc.append(("image", None) if missing else ("text", None))
            doc = None if i % 17 == 11 else doc
            w.append({"doc": doc, "n": i})
            plain.append(doc)
    return plain


def stream(doc, tokens=7, patch=None, missing=0, bos=None, eos=None):
    """(token, number of the image or None, is it missing) of a whole document; and where each image begins."""
    out = []
    for number, (role, value) in enumerate(doc or []):
        if role == "text" and value is not None:
            out += [(t, None, False) for t in value]
        elif role == "image":
            n = missing if value is None else tokens
            if value is not None and patch:
                n = -(-value.shape[0] // patch) * -(-value.shape[1] // patch)
            out += [(IMAGE_ID, number, value is None)] * n
    if out and bos is not None:
        out.insert(0, (bos, None, False))
    if out and eos is not None:
        out.append((eos, None, False))
    return out


OUTPUTS = ["tokens", "labels", "positions", "segment_ids", "documents", "cu_seqlens", "loss_mask", "image_mask"]
PARTS = ["doc.begins", "doc.groups", "doc.heights", "doc.widths", "doc.kinds"]


def check_sequence(b, i, docs, options, length, seen, align):
    """One sequence, piece by piece; `seen` counts places of streams. Returns its images as (row, part, begin)."""
    tokens, labels = b["tokens"][i], b["labels"][i]
    segments, positions = b["segment_ids"][i], b["positions"][i]
    images = []
    rows = [d for d in b["documents"][i].tolist() if d >= 0]
    cu = b["cu_seqlens"][i]
    mask = np.zeros(length, bool)
    for k, row in enumerate(rows):
        places = np.flatnonzero(segments == k + 1)
        a, n = int(places[0]), len(places)
        assert places.tolist() == list(range(a, a + n)) and cu[k + 1] - cu[k] == n
        assert a % align == 0 if align > 1 else cu[k] == a
        start = int(positions[a])
        assert positions[a : a + n].tolist() == list(range(start, start + n))
        whole = stream(docs[row], **options)
        own = whole[start : start + n]
        assert tokens[a : a + n].tolist() == [t for t, _, _ in own]
        seen.setdefault(row, np.zeros(len(whole), int))[start : start + n] += 1
        after = whole[start + 1 : start + n + 1] + [(-100, 0, False)] * (start + n == len(whole))
        assert labels[a : a + n].tolist() == [t if image is None else -100 for t, image, _ in after]
        mask[a : a + n] = [image is not None and not null for _, image, null in own]
        for image in dict.fromkeys(image for _, image, _ in own if image is not None):
            inside = [at for at, (_, number, _) in enumerate(own) if number == image]
            assert len(inside) == sum(number == image for _, number, _ in whole)  # never cut
            images.append((row, image, a + inside[0]))
    padding = segments == 0
    assert (tokens[padding] == PAD).all() and (labels[padding] == -100).all()
    assert align > 1 or not padding[: int((~padding).sum())].any()
    assert np.array_equal(b["loss_mask"][i], labels != -100) and np.array_equal(b["image_mask"][i], mask)
    return images


def check_all(loader, docs, options, length, align=1):
    seen = {}
    for b in loader:
        offset = b["doc.begins_offset"]
        at = 0
        for i in range(len(b["tokens"])):
            images = check_sequence(b, i, docs, options, length, seen, align)
            own = slice(int(offset[i]), int(offset[i + 1]))
            assert b["doc.begins"][own].tolist() == [begin for _, _, begin in images]
            assert b["doc.groups"][own].tolist() == [row for row, _, _ in images]
            for k, (row, part, _) in zip(range(own.start, own.stop), images):
                value = docs[row][part][1]
                assert (b["doc.kinds"][k] < 0) == (value is None)
                if value is not None:
                    assert (b["doc.heights"][k], b["doc.widths"][k]) == value.shape[:2]
                    top, left = (round((side - 8) / 2) for side in value.shape[:2])
                    assert np.array_equal(b["doc.image"][at], value[top : top + 8, left : left + 8])
                    at += 1
        assert at == len(b["doc.image"])
    for row, doc in enumerate(docs):
        whole = stream(doc, **options)
        assert (seen.pop(row, np.zeros(0, int)) == 1).all() or not whole
        assert not whole or row not in seen
    assert not seen


CASES = [
    ({"tokens": 7}, ""),
    ({"patch": 14}, ", patch=14"),
    ({"tokens": 7, "bos": BOS, "eos": EOS}, f", bos={BOS}, eos={EOS}"),
    ({"tokens": 7, "missing": 5}, ", missing=5"),
    ({"patch": 9, "missing": 3, "eos": EOS}, f", patch=9, missing=3, eos={EOS}, algorithm=next-fit"),
    ({"tokens": 7}, ", seed=3, image=image, max_pieces=3"),
    ({"tokens": 7, "eos": EOS}, f", seed=3, reseed=epoch, eos={EOS}"),
    ({"tokens": 7}, ", align=4"),
]


@pytest.mark.parametrize("length", [32, 100, 4096])
@pytest.mark.parametrize(("options", "text"), CASES, ids=[t or "plain" for _, t in CASES])
def test_every_part_once_and_in_its_place(tmp_path, options, text, length):
    docs = corpus(tmp_path / "d.mldf")
    rule = "" if "patch" in options else ", image_tokens=7"
    view = f"packed(doc, {length}, image_id={IMAGE_ID}, pad={PAD}, positions=document{rule}{text})"
    pipelines = {"doc.image": [mldf.CenterCrop(8)]}
    pipelines |= {name: [] for name in PARTS}
    with mldf.Loader(
        tmp_path / "d.mldf", 4, view=view, pipelines=pipelines, fields=[*OUTPUTS, "doc.image", *PARTS], threads=2
    ) as loader:
        check_all(loader, docs, options, length, 4 if "align" in text else 1)


def small_view(length=64, more=""):
    return f"packed(doc, {length}, image_id={IMAGE_ID}, pad={PAD}, image_tokens=7{more})"


def test_a_missing_image_is_masked(tmp_path):
    """missing=N keeps the place of an image that is null: a constant and a mask instead of its pixels."""
    kinds = mldf.Multimodal({"text": mldf.Tokens(1000), "image": mldf.Image()})
    image = np.full((8, 8, 3), 200, np.uint8)
    with mldf.Writer(tmp_path / "d.mldf", {"doc": kinds}) as w:
        w.append({"doc": [("text", [1]), ("image", None), ("text", [2, 3]), ("image", image)]})
    loader = mldf.Loader(
        tmp_path / "d.mldf",
        1,
        view=small_view(20, ", missing=4"),
        pipelines={"doc.image": [mldf.CenterCrop(8), mldf.Fill(0)], "doc.kinds": []},
        fields=["tokens", "labels", "image_mask", "doc.image", "doc.kinds"],
    )
    (b,) = loader
    i = IMAGE_ID
    assert b["tokens"][0].tolist() == [1, i, i, i, i, 2, 3, *[i] * 7, *[PAD] * 6]
    assert b["labels"][0].tolist() == [-100] * 4 + [2, 3] + [-100] * 14
    assert np.flatnonzero(b["image_mask"][0]).tolist() == list(range(7, 14))
    assert b["doc.kinds"].tolist() == [-1, 0] and b["doc.image"].shape == (2, 8, 8, 3)
    assert not b["doc.image"][0].any() and (b["doc.image"][1] == 200).all()


def bytes_of(loaders, count=None):
    """Sequences of all ranks in the order of the epoch, each with its images."""
    rows = []
    for k, batches in enumerate(zip(*loaders)):
        for b in batches:
            offset = b["doc.image_offset"]
            for i in range(len(b["tokens"])):
                own = b["doc.image"][offset[i] : offset[i + 1]], b["doc.begins"][offset[i] : offset[i + 1]]
                rows.append(b"".join(a.tobytes() for a in (b["tokens"][i], b["labels"][i], *own)))
        if k + 1 == count:
            break
    return rows


def loading(seed=11, **more):
    return {
        "shuffle": True,
        "seed": seed,
        "view": small_view(),
        "pipelines": {"doc.image": [mldf.RandomResizedCrop(8)], "doc.begins": []},
        "fields": ["tokens", "labels", "doc.image", "doc.begins"],
        **more,
    }


def test_resume_at_every_batch_and_on_other_ranks(tmp_path):
    path = tmp_path / "d.mldf"
    corpus(path, 150)
    options = loading(threads=1)
    with mldf.Loader(path, 12, **options) as loader:
        whole = bytes_of([loader])
        steps = len(loader)
    assert steps > 5
    for at in range(1, steps):
        with mldf.Loader(path, 12, **options) as loader:
            first = bytes_of([loader], at)
            state = json.loads(json.dumps(loader.state_dict()))
        with mldf.Loader(path, 12, **options) as loader:
            loader.load_state_dict(state)
            assert first + bytes_of([loader]) == whole
    rows, state = [], None
    for world in (1, 2, 4, 3):
        loaders = [mldf.Loader(path, global_batch_size=12, rank=r, world_size=world, **options) for r in range(world)]
        for loader in loaders:
            if state:
                loader.load_state_dict(state)
        rows += bytes_of([iter(x) for x in loaders], None if world == 3 else 1)
        state = loaders[0].state_dict()
        for loader in loaders:
            loader.close()
    assert set(rows) == set(whole) and len(rows) - len(whole) == -len(whole) % 3  # the last batch of equal ranks
    with mldf.Loader(path, 12, **options | {"view": small_view(128)}) as other:
        with pytest.raises(mldf.Error, match="the state was taken of the view"):
            other.load_state_dict(state)


@pytest.mark.parametrize("backend", ["map", "read"])
def test_the_same_bytes_for_any_number_of_threads(tmp_path, backend):
    corpus(tmp_path / "d.mldf", 80)
    runs = []
    for threads in (0, 1, 2, 5):
        with mldf.Loader(mldf.open(tmp_path / "d.mldf", backend=backend), 6, **loading(threads=threads)) as loader:
            runs.append(bytes_of([loader]))
    assert all(run == runs[0] for run in runs)


@pytest.mark.parametrize(("rule", "kept"), [("truncate", "first"), ("drop", "none")])
def test_documents_longer_than_a_sequence(tmp_path, rule, kept):
    docs = corpus(tmp_path / "d.mldf", 40)
    view = small_view(32, f", long={rule}, positions=document")
    rows = {}
    for b in mldf.Loader(tmp_path / "d.mldf", 3, view=view, fields=["tokens", "labels", "segment_ids", "documents"]):
        for i, numbers in enumerate(b["documents"]):
            for k, row in enumerate(n for n in numbers.tolist() if n >= 0):
                own = b["segment_ids"][i] == k + 1
                rows[row] = b["tokens"][i][own].tolist(), b["labels"][i][own].tolist()
    assert any(len(stream(d)) > 32 for d in docs)
    for row, doc in enumerate(docs):
        whole = stream(doc)
        if not whole or (len(whole) > 32 and kept == "none"):
            assert row not in rows
            continue
        tokens, labels = rows[row]
        assert tokens == [t for t, _, _ in whole[: len(tokens)]] and labels[-1] == -100
        if len(whole) <= 32:
            assert len(tokens) == len(whole)
        else:  # as much as fits before an image that does not
            assert len(tokens) == 32 or whole[len(tokens)][1] is not None


def test_several_files_subsets_and_where(tmp_path):
    docs = corpus(tmp_path / "a.mldf", 30) + corpus(tmp_path / "b.mldf", 25, seed=9)
    paths = [tmp_path / "a.mldf", tmp_path / "b.mldf"]
    options = {
        "view": small_view(64, ", positions=document"),
        "pipelines": {"doc.image": [mldf.CenterCrop(8)], **{name: [] for name in PARTS}},
        "fields": [*OUTPUTS, "doc.image", *PARTS],
    }
    with mldf.Loader(mldf.open(paths), 5, **options) as loader:
        check_all(loader, docs, {"tokens": 7}, 64)
        long = next(i for i, d in enumerate(docs) if len(stream(d)) > 128)
        places = loader.where(long)
        assert len(places) >= 3
        batches = list(loader)
        for _, batch, slot, _ in places:
            assert long in batches[batch]["documents"][slot].tolist()
    chosen = [3, 8, 20, 41, 50]
    with mldf.Loader(mldf.open(paths)[chosen], 5, **options) as loader:
        check_all(loader, [d if i in chosen else None for i, d in enumerate(docs)], {"tokens": 7}, 64)


def test_items_by_number(tmp_path):
    docs = corpus(tmp_path / "d.mldf", 20)
    view = mldf.open(tmp_path / "d.mldf").as_view(small_view())
    found = 0
    for i in range(len(view)):
        sample = view[i]
        assert sample.tokens.shape == (64,)
        for part in view[i, "doc"]:
            value = [v for role, v in docs[part.group] if role == "image" and v is not None]
            assert any(np.array_equal(part.value, v) for v in value)
            assert (sample.tokens[part.begin : part.begin + 7] == IMAGE_ID).all()
            found += 1
    assert found == sum(v is not None for d in docs if d for role, v in d if role == "image")
    row = next(i for i, d in enumerate(docs) if len(stream(d)) > 64)
    assert all(row in view[i, "documents"].tolist() for i in view.find(row)) and len(view.find(row)) > 1


def run(*arguments):
    return subprocess.run([os.environ["MLDF"], *map(str, arguments)], capture_output=True, text=True, timeout=pkg.HANG)


@pytest.mark.skipif("MLDF" not in os.environ, reason="MLDF does not name the command")
def test_the_command_shows_and_measures_them(tmp_path):
    corpus(tmp_path / "d.mldf", 30)
    path, view = tmp_path / "d.mldf", small_view()
    count = len(mldf.open(path).as_view(view))
    assert json.loads(run("info", "--json", "--view", view, path).stdout)["num_samples"] == count
    lines = run("head", "--json", "-n", 3, "--view", view, "--fields", "tokens,doc,documents", "--full", path).stdout
    for i, line in enumerate(map(json.loads, lines.splitlines())):
        sample = mldf.open(path).as_view(view)[i]
        assert line["fields"]["tokens"] == sample.tokens.tolist()
        shown = line["fields"]["doc"].get("parts", [])
        assert [p.get("begin", 0) for p in shown] == [p.begin for p in sample.doc]
    pipeline = "doc.image: random_resized_crop(8)"
    hashes = []
    for threads in (1, 2):
        made = run(
            *("bench", "--json", "--hash", "--view", view, "--pipeline", pipeline, "--batch-size", 4),
            *("--threads", threads, "--order", "random", "--seed", 3, path),
        )
        assert made.returncode == 0, made.stderr
        hashes.append(json.loads(made.stdout)["batch_hashes"])
    assert hashes[0] == hashes[1] and len(hashes[0]) == -(-count // 4)


@pytest.mark.parametrize(
    ("view", "message"),
    [
        ("packed(doc, 64, pad=0)", "image_id"),
        ("packed(doc, 64, pad=0, image_id=1, image_tokens=65)", "from 1 to 64"),
        ("packed(doc, 64, pad=0, image_id=1)", "256 tokens and a sequence 64"),
        ("packed(doc, 64, pad=0, image_id=1, image_tokens=5, patch=3)", "not both"),
        ("packed(doc, 64, pad=0, image_id=1, patch=2)", r"sample 0.*image of \d+ tokens"),
        ("packed(doc, 64, image_id=1, image_tokens=5)", "no pad"),
        ("packed(doc, 64, pad=0, image_id=1, image_tokens=5, image=picture)", "no role picture"),
        ("packed(doc, 64, pad=0, image_id=1, image_tokens=5, algorithm=concat)", "concat"),
        ("packed(doc, 64, pad=0, image_id=1, image_tokens=5, ends=next)", "ends=next"),
        ("packed(doc, 64, pad=0, image_id=1, image_tokens=5, objective=mlm(mask=3))", "objective"),
        ("packed(doc, 64, pad=0, image_id=1.5, image_tokens=5)", "whole number"),
        ("packed(x, 64, pad=0, image_id=1)", "image_id is for multimodal fields"),
        ("windows(doc, 64)", "can be cut"),
    ],
)
def test_mistakes_are_named(tmp_path, view, message):
    kinds = {"text": mldf.Tokens(1000), "image": mldf.Image()}
    with mldf.Writer(tmp_path / "d.mldf", {"doc": mldf.Multimodal(kinds), "x": mldf.NDArray("int32", (None,))}) as w:
        w.append(
            {"doc": [("text", [1]), ("image", np.zeros((40, 40, 3), np.uint8))], "x": np.arange(3, dtype=np.int32)}
        )
    with pytest.raises(mldf.Error, match=message):
        mldf.open(tmp_path / "d.mldf").as_view(view)


def test_records_that_lie_are_bad_samples(tmp_path):
    """Totals, kinds, ranges and counts changed in the file, one after the other: an error, never a crash."""
    path = tmp_path / "d.mldf"
    kinds = {"text": mldf.Tokens(1000), "image": mldf.Image()}
    with mldf.Writer(path, {"doc": mldf.Multimodal(kinds)}, checksums=False) as w:
        for k in range(4):
            w.append({"doc": [("text", [500 + k] * 9), ("image", np.full((8, 8, 3), k, np.uint8)), ("text", [777])]})
    good = path.read_bytes()
    rng = np.random.default_rng(2)
    entry = good.index(np.full(9, 500, "<u2").tobytes()) - 64 * 3
    record = good.index((3).to_bytes(4, "little") + (10).to_bytes(4, "little") + (1).to_bytes(4, "little")) - 20
    wrong = 0
    for _ in range(300):
        data = bytearray(good)
        base, size = [(entry, 192), (record, 56)][int(rng.integers(2))]
        data[base + int(rng.integers(size))] ^= 1 << int(rng.integers(8))
        path.write_bytes(data)
        try:
            with mldf.Loader(
                mldf.open(path, verify=False),
                2,
                view="packed(doc, 24, image_id=999, pad=998, image_tokens=5, dtype=i32)",
                pipelines={"doc.image": [mldf.CenterCrop(8)]},
                fields=["tokens", "doc.image", "documents"],
            ) as loader:
                for b in loader:
                    assert b["tokens"].shape[1] == 24
        except mldf.Error as error:
            wrong += 1
            assert "doc" in str(error) or "row" in str(error) or "sample" in str(error)
    assert wrong > 50


@pytest.mark.skipif("MLDF" not in os.environ, reason="MLDF does not name the command")
def test_a_file_of_parts_after_one_of_tokens_is_refused(tmp_path):
    with mldf.Writer(tmp_path / "a.mldf", {"doc": mldf.Tokens(1000)}) as w:
        w.append({"doc": [1, 2, 3]})
    corpus(tmp_path / "b.mldf", 3)
    made = run("bench", "--view", "packed(doc, 64, pad=0)", tmp_path / "a.mldf", tmp_path / "b.mldf")
    assert made.returncode in (1, 2, 3) and "b.mldf: view packed: field doc is multimodal" in made.stderr
    made = run(
        *("bench", "--view", "packed(doc, 64, pad=0, image_id=1, image_tokens=5)"),
        *(tmp_path / "b.mldf", tmp_path / "a.mldf"),
    )
    assert made.returncode in (1, 2, 3) and "field doc is text_tokenized" in made.stderr


def lying(path, change, parts=None):
    """One document, with its record or its table changed: `change` gets the file's bytes, and where they are."""
    kinds = {"text": mldf.Tokens(1000), "image": mldf.Image()}
    parts = parts or [("text", [5, 6, 7]), ("image", np.zeros((8, 8, 3), np.uint8)), ("text", [8, 9, 10])]
    with mldf.Writer(path, {"doc": mldf.Multimodal(kinds)}, checksums=False, overwrite=True) as w:
        w.append({"doc": parts})
    row = mldf.open(path).rows["doc"][0]
    data = bytearray(path.read_bytes())
    change(data, data.index(struct.pack("<QQ", int(row["ptr"]), int(row["size"]))), int(row["ptr"]))
    path.write_bytes(data)


def packed_of(path, view):
    with mldf.Loader(mldf.open(path, verify=False), 1, view=view, fields=["tokens"], threads=0) as loader:
        return np.concatenate([np.asarray(b["tokens"]) for b in loader])


@pytest.mark.parametrize("rule", ["cut", "drop", "truncate"])
@pytest.mark.parametrize("tokens", [1, 4, 5, 7, 15])
def test_a_record_of_other_tokens_than_its_parts_is_damage(tmp_path, rule, tokens):
    """Tokens that the record does not count are not left out without a word."""

    def count(data, record, _):
        struct.pack_into("<I", data, record + 24, tokens)

    view = f"packed(doc, 24, image_id=999, pad=998, image_tokens=5, long={rule})"
    lying(tmp_path / "d.mldf", count)
    with pytest.raises(mldf.errors.CorruptError, match="record and parts do not agree"):
        packed_of(tmp_path / "d.mldf", view)
    lying(tmp_path / "d.mldf", lambda *_: None)
    assert (packed_of(tmp_path / "d.mldf", view) < 998).sum() == 6


def test_parts_that_share_bytes_are_damage(tmp_path):
    """A small file would make sequences of any length."""

    def share(data, _, payload):
        data[payload + 64 : payload + 128] = data[payload : payload + 64]

    same = {
        "text": [("text", [5, 6, 7]), ("text", [8, 9, 10])],
        "image": [("image", np.zeros((8, 8, 3), np.uint8)), ("image", np.ones((8, 8, 3), np.uint8))],
    }
    for parts in same.values():
        lying(tmp_path / "d.mldf", share, parts)
        with pytest.raises(mldf.errors.CorruptError, match="begins at byte .* and the one before ends at"):
            packed_of(tmp_path / "d.mldf", "packed(doc, 24, image_id=999, pad=998, image_tokens=5)")
        ds = mldf.open(tmp_path / "d.mldf", verify=False)
        assert len(ds.as_view("packed(doc, 24, image_id=999, pad=998, patch=4)")) == 0  # measured by its table


@pytest.mark.skipif(not os.path.exists("/proc/self/io"), reason="the system does not count what is read")
def test_a_long_document_is_read_once(tmp_path):
    """Its pieces follow each other, and share what was read."""
    tokens = np.arange(200_000) % 900
    lying(tmp_path / "d.mldf", lambda *_: None, [("text", part.tolist()) for part in np.split(tokens, 400)])

    def read():
        with open("/proc/self/io") as f:
            return int(f.readline().split()[1])

    ds = mldf.open(tmp_path / "d.mldf", backend="read")
    view = "packed(doc, 1024, image_id=999, pad=998, image_tokens=5)"
    with mldf.Loader(ds, 1, view=view, fields=["tokens"], threads=0) as loader:
        before = read()
        got = np.concatenate([np.asarray(b["tokens"])[0] for b in loader])
        assert read() - before < 8 * os.path.getsize(tmp_path / "d.mldf")
    assert sorted(got[got < 998].tolist()) == sorted(tokens.tolist())


def test_memory_is_flat_over_epochs(tmp_path):
    corpus(tmp_path / "d.mldf", 200)
    with mldf.Loader(tmp_path / "d.mldf", 6, **loading(threads=2)) as loader:
        for epoch in range(40):
            loader.set_epoch(epoch)
            for _ in loader:
                pass
            if epoch == 9:
                before = pkg.resident()
    assert pkg.resident() - before < 4 << 20
