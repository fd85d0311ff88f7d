"""The whole-file operations, as functions."""

import json
import os
import subprocess

import mldf
import numpy as np
import pkg
import pytest


@pytest.fixture
def path(tmp_path):
    return pkg.make(tmp_path / "a.mldf", 20)


def test_pack_tables_and_append(tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps({"id": f"k{i}", "x": i, "v": [i, 1.5]}) + "\n" for i in range(5)))
    out = tmp_path / "o.mldf"
    result = mldf.pack(rows, out, key_column="id", card={"title": "rows"})
    assert result.written == 5 and result.bytes == out.stat().st_size and result.seconds > 0
    ds = mldf.open(out)
    assert ds.keys[3] == "k3" and ds.card["title"] == "rows" and ds[2].v.tolist() == [2, 1.5]
    more = tmp_path / "more.jsonl"
    more.write_text('{"id": "k9", "x": 9, "v": [9, 9]}\n')
    assert mldf.append(out, more, key_column="id").written == 1
    assert mldf.open(out)[5].x == 9
    rows.write_text('{"x": 1}\n{"x": "text"}\n{"x": 3}\n')
    with pytest.raises(mldf.Error, match="rows.jsonl"):
        mldf.pack(rows, tmp_path / "p.mldf", fields={"x": "int"})
    result = mldf.pack(rows, tmp_path / "p.mldf", fields={"x": "int"}, on_error="skip")
    assert result.written == 2 and len(result.skipped) == 1 and "rows.jsonl:2" in result.skipped[0].source


def test_pack_a_folder_of_images(tmp_path):
    for label in ("cat", "dog"):
        (tmp_path / "photos" / label).mkdir(parents=True)
        for i in range(3):
            (tmp_path / "photos" / label / f"{i}.png").write_bytes(mldf.images.encode(pkg.image(i, 20, 30), "png"))
    (tmp_path / "photos" / "cat" / "notes.txt").write_text("no image")
    told = []
    result = mldf.pack(
        tmp_path / "photos", tmp_path / "p.mldf", image={"encode": "jpeg", "max_resolution": 15}, progress=told.append
    )
    ds = mldf.open(tmp_path / "p.mldf")
    assert result.written == 6 and "notes.txt" in result.left_out[0].source
    assert (
        ds.card["classes"] == ["cat", "dog"]
        and ds.column("label").tolist() == [0, 0, 0, 1, 1, 1]
        and ds[0].image.shape == (10, 15, 3)
    )
    assert told and all(isinstance(p, mldf.Progress) for p in told)
    (tmp_path / "photos" / "dog" / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\n broken")
    with pytest.raises(mldf.Error):
        mldf.pack(tmp_path / "photos", tmp_path / "q.mldf")
    assert "q.mldf" not in pkg.listing(tmp_path)


def test_convert_merge_diff(path, tmp_path):
    other = pkg.make(tmp_path / "b.mldf", 5, first=20)
    assert mldf.merge([path, other], tmp_path / "m.mldf").written == 25
    pkg.check(mldf.open(tmp_path / "m.mldf")[22], 22)
    assert not mldf.diff(path, tmp_path / "m.mldf").equal
    result = mldf.convert(path, tmp_path / "c.mldf", compress={"blob": 9})
    assert result.written == 20 and mldf.diff(path, tmp_path / "c.mldf").equal
    assert mldf.open(tmp_path / "c.mldf").schema["blob"].compressed
    found = mldf.diff(mldf.open(path), mldf.open(other), limit=3)
    assert not found and len(found.differences) == 3 and found.differences[0].what
    with pytest.warns(UserWarning, match="left out"):
        mldf.convert(path, tmp_path / "c.beton", drop_fields=True, fields=["label", "fixed"])
    with pytest.raises(TypeError, match="overwritten"):
        mldf.merge([path], tmp_path / "x.mldf", overwritten=True)


def test_select(path, tmp_path):
    result = mldf.select(path, tmp_path / "s.mldf", where="label >= 15 and score is not null", fields=["label", "text"])
    ds = mldf.open(tmp_path / "s.mldf")
    assert result.written == len(ds) and ds.fields == ("label", "text") and list(ds.column("label")) == [16, 17, 18]
    mldf.select(path, tmp_path / "t.mldf", samples=[3, 4, 5, 1])
    assert mldf.open(tmp_path / "t.mldf").column("label").tolist() == [3, 4, 5, 1]
    mldf.select(path, tmp_path / "u.mldf", samples=slice(2, 5))
    assert mldf.open(tmp_path / "u.mldf").column("label").tolist() == [2, 3, 4]
    with pytest.raises(KeyError, match="label") as caught:
        mldf.select(path, tmp_path / "v.mldf", where="labl == 1")
    assert caught.value.offset == 0
    with pytest.raises(ValueError):
        mldf.select(mldf.open(path)[3:], tmp_path / "v.mldf")


def test_split(path, tmp_path):
    result = mldf.split(path, tmp_path / "{}.mldf", fractions={"train": 0.8, "val": 0.2}, shuffle=True, seed=4)
    assert [(os.path.basename(p.path), p.samples) for p in result.parts] == [("train.mldf", 16), ("val.mldf", 4)]
    labels = [s.label for name in ("train", "val") for s in mldf.open(tmp_path / f"{name}.mldf")]
    assert sorted(labels) == list(range(20))
    assert len(mldf.split(path, tmp_path / "n-{:02d}.mldf", count=7).parts) == 3
    for bad in ({}, {"count": 2, "bytes": 3}, {"fractions": [0.5, 0.4]}):
        with pytest.raises(ValueError):
            mldf.split(path, tmp_path / "z-{}.mldf", **bad)


def test_extract_and_add_field(path, tmp_path):
    mldf.extract(path, tmp_path / "out", fields=["text", "label"])
    assert (tmp_path / "out" / "key-3.txt").read_text() == "sample 3 ä" and (
        tmp_path / "out" / "manifest.jsonl"
    ).exists()
    (tmp_path / "w.csv").write_text("key,weight\n" + "".join(f"key-{i},{i / 2}\n" for i in range(20)))
    mldf.add_field(path, "weight", tmp_path / "w.csv", field=mldf.Float(), key_column="key")
    assert mldf.open(path).column("weight").tolist() == [i / 2 for i in range(20)]
    pkg.check(mldf.open(path, fields=list(pkg.FIELDS))[7], 7)


def test_verify_and_repair(path, tmp_path):
    good = mldf.verify(path, deep=True)
    assert good.ok and good and good.num_samples == good.good_samples == 20 and good.checksummed and not good.encrypted
    data = bytearray(path.read_bytes())
    ptr = int(mldf.open(path).rows["text"]["ptr"][6])
    data[ptr] ^= 1
    bad = tmp_path / "bad.mldf"
    bad.write_bytes(data)
    found = mldf.verify(bad)
    assert not found and found.good_samples == 19
    problem = found.problems[0]
    assert problem.sample == 6 and problem.field == "text" and problem.status == "checksum" and problem.offset == ptr
    with pytest.raises(mldf.errors.ChecksumError) as caught:
        mldf.open(bad, verify=True)[6]
    assert caught.value.sample == 6 and caught.value.field == "text" and caught.value.offset == ptr
    result = mldf.repair(bad, tmp_path / "saved.mldf")
    assert (
        result.written == 19 and len(result.skipped) == 1 and mldf.verify(tmp_path / "saved.mldf").ok and result.action
    )
    assert result.lost["samples"] == 1 and not any(n for kind, n in result.lost.items() if kind != "samples")
    in_place = mldf.repair(bad)
    assert in_place.problems == 1 and in_place.skipped[0].source == "6" and "-o OUT" in in_place.action
    assert mldf.repair(path).problems == 0 and not any(mldf.repair(path, tmp_path / "copy.mldf").lost.values())


def test_stats_info_and_plan(path):
    stats = mldf.stats(path)
    fields = [name for name in stats if "." not in name]  # "box.x" is a member of a struct
    assert fields == list(pkg.FIELDS) and stats["label"]["max"] == 19 and stats["label"]["distinct"] == 20
    assert stats["score"]["nulls"] == 5 and stats["score"]["mean"] == pytest.approx(
        np.ma.mean(mldf.open(path).column("score"))
    )
    assert stats["x"]["dims"][0]["max"] == 4 and stats["label"]["histogram"] and stats["blob"]["bytes"]["count"] == 20
    info = mldf.info(path)
    assert info["format"] == "mldf" and info["num_samples"] == 20 and info["has_keys"] and info["card"] is None
    assert [f["name"] for f in info["fields"]] == list(pkg.FIELDS) and info["file_bytes"] == path.stat().st_size
    assert info["fields"][1]["statistics"]["max"] == 19 and "checksummed" in info["flags"]
    regions = {r["name"]: r for r in mldf.plan({"x": mldf.NDArray("f4", (4,))}, 100, payload_bytes={"x": 16})}
    assert regions["magic"]["begin"] == 0 and all(r["end"] is not None for r in regions.values())
    with pytest.raises(ValueError):
        mldf.plan({"x": "bytes"}, 100, payload_bytes={"y": 16})


@pytest.mark.parametrize("encode", ["keep", "raw", "smart", "jpeg", "yuv420"])
def test_a_plan_of_images_is_the_file_that_is_written(tmp_path, encode):
    """Pixels begin on multiples of 64, files do not: a plan must know which of them a field will hold."""
    pixels = np.random.default_rng(0).integers(0, 255, (23, 31, 3), np.uint8)
    fields = {"image": mldf.Image(encode=encode), "label": mldf.Int()}
    given = mldf.images.encode(pixels) if encode in ("keep", "jpeg") else pixels
    mldf.write(tmp_path / "a.mldf", [{"image": given, "label": i} for i in range(40)], fields)
    stored = mldf.open(tmp_path / "a.mldf").raw(0, "image").nbytes
    assert stored > 1024 and stored % 64
    assert mldf.plan(fields, 40, payload_bytes={"image": stored})[-1]["end"] == (tmp_path / "a.mldf").stat().st_size


@pytest.mark.filterwarnings("ignore:the sample keys are left out")
@pytest.mark.parametrize("name", ["a.mldf", "a.tar", "a.beton", "a.tbl", "empty.mldf", "encrypted.mldf", "draft"])
def test_info_is_what_the_command_prints(path, tmp_path, name):
    command = os.environ.get("MLDF") or str(pkg.ROOT / "build/dev/bin/mldf")
    file = tmp_path / name
    if name == "draft":
        file = next((pkg.ROOT / "tests/golden/draft").glob("**/*.mldf"))
    elif name == "empty.mldf":
        pkg.make(file, 0)
    elif name == "encrypted.mldf":
        pkg.make(file, 3, passphrase="x")
    elif name != "a.mldf":
        mldf.convert(path, file, fields=["image"] if name == "a.tbl" else ["image", "label"])
    done = subprocess.run([command, "info", "--json", file], capture_output=True, text=True, check=True)
    ours, printed = mldf.info(file), json.loads(done.stdout)
    assert ours == {key: printed[key] for key in ours}


@pytest.mark.parametrize("name", ["a.mldf", "a.tar"])
def test_stats_are_what_the_command_prints(path, tmp_path, name):
    command = os.environ.get("MLDF") or str(pkg.ROOT / "build/dev/bin/mldf")
    if name != "a.mldf":
        mldf.convert(path, tmp_path / name, fields=["image", "label", "text"])
    done = subprocess.run([command, "stats", "--json", tmp_path / name], capture_output=True, text=True, check=True)
    ours, printed = mldf.stats(tmp_path / name), json.loads(done.stdout)["fields"]
    assert ours == {field: {key: printed[field][key] for key in ours[field]} for field in ours}


def test_repack(path):
    with mldf.Writer.existing(path) as w:
        w.append(pkg.sample(20), key="key-20")
    before = path.stat().st_size
    mldf.repack(path, overwrite=True)
    assert path.stat().st_size < before and len(mldf.open(path)) == 21
    pkg.check(mldf.open(path)[20], 20)


def test_an_encrypted_file_stays_encrypted(tmp_path):
    if "sodium" not in mldf.features:
        pytest.skip("this build has no encryption")
    path = pkg.make(tmp_path / "e.mldf", 3, passphrase="open sesame")
    mldf.merge([path], tmp_path / "m.mldf", passphrase="open sesame")
    with pytest.raises(mldf.errors.KeyMissingError):
        mldf.open(tmp_path / "m.mldf")
    mldf.merge([path], tmp_path / "p.mldf", passphrase="open sesame", decrypt=True)
    pkg.check(mldf.open(tmp_path / "p.mldf")[1], 1)
    with pytest.raises(mldf.errors.KeyWrongError):
        mldf.verify(path, passphrase="wrong")


def test_convert_keeps_encryption_where_the_format_has_it(tmp_path):
    if "sodium" not in mldf.features:
        pytest.skip("this build has no encryption")
    path = pkg.make(tmp_path / "e.mldf", 3, passphrase="open sesame")
    for out in (tmp_path / "c.mldf", str(tmp_path / "d.MLDF").encode()):
        mldf.convert(path, out, passphrase="open sesame")
        with pytest.raises(mldf.errors.KeyMissingError):
            mldf.open(out)
    with pytest.warns(UserWarning, match="tar has no encryption: what was encrypted is written in the clear"):
        mldf.convert(path, tmp_path / "c.tar", passphrase="open sesame")
    assert len(mldf.open(tmp_path / "c.tar")) == 3
    with pytest.raises(ValueError, match="tar has no encryption"):
        mldf.convert(path, tmp_path / "x.tar", passphrase="open sesame", encrypt_passphrase="other")
    with pytest.raises(ValueError, match="beton has no card"):
        mldf.convert(path, tmp_path / "x.beton", passphrase="open sesame", card={"a": 1})
    assert not (tmp_path / "x.tar").exists()


def test_progress_bar(path, tmp_path, capfd):
    mldf.convert(path, tmp_path / "c.mldf", progress=True)
    err = capfd.readouterr().err
    assert "convert" in err and "20/20" in err and err.endswith("\n")
    mldf.convert(path, tmp_path / "d.mldf", progress=False)
    assert capfd.readouterr().err == ""
    with pytest.raises(TypeError):
        mldf.convert(path, tmp_path / "x.mldf", progress=5)


def test_progress_callbacks_can_stop_and_raise(tmp_path):
    rows = tmp_path / "r.csv"
    rows.write_text("x\n" + "".join(f"{i}\n" for i in range(200_000)))
    with pytest.raises(mldf.errors.CancelledError):
        mldf.pack(rows, tmp_path / "a.mldf", progress=lambda p: False)

    def angry(p):
        raise LookupError("from the callback")

    with pytest.raises(LookupError, match="from the callback"):
        mldf.pack(rows, tmp_path / "a.mldf", progress=angry)
    assert pkg.listing(tmp_path) == ["r.csv"]


def test_functions_for_images():
    pixels = pkg.image(5, 32, 48)
    png = mldf.images.encode(pixels, "png")
    assert mldf.images.probe(png)["format"] == "png" and mldf.images.probe(png)["height"] == 32
    assert np.array_equal(mldf.images.decode(png), pixels)
    assert np.array_equal(mldf.images.decode(png, region=(8, 4, 10, 6)), pixels[4:10, 8:18])
    jpeg = mldf.images.encode(pixels, quality=95)
    assert mldf.images.decode(jpeg, scale=2).shape == (16, 24, 3) and mldf.images.decode(jpeg, channels=1).shape == (
        32,
        48,
        1,
    )
    from PIL import Image

    for name, kind in (("bilinear", Image.BILINEAR), ("lanczos", Image.LANCZOS)):
        assert np.array_equal(
            mldf.images.resize(pixels, 20, 10, filter=name), np.asarray(Image.fromarray(pixels).resize((20, 10), kind))
        )
    with pytest.raises(mldf.Error):
        mldf.images.decode(b"no image at all")
    for call in (
        lambda: mldf.images.encode(pixels, "gif"),
        lambda: mldf.images.resize(pixels, 2, 2, filter="x"),
        lambda: mldf.images.encode(pixels.astype(np.float64), "png"),
    ):
        with pytest.raises((ValueError, TypeError)):
            call()


def test_numbers_of_32_bits_are_not_cut(tmp_path, monkeypatch):
    """What the extension is given by its own package is held against what C has room for, too."""
    (tmp_path / "a.txt").write_text("x")
    monkeypatch.setattr("mldf.tools.frame_rate", lambda _: (2**32 + 25, 1))
    with pytest.raises(OverflowError, match="fps_num: 4294967321"):
        mldf.pack(tmp_path / "a.txt", tmp_path / "a.mldf", fps=25)
