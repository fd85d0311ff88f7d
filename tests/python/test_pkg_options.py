"""Every option of the command is an argument of the Python package, or in a list of those that make no sense there."""

import inspect
import json
import os
import re
import subprocess

import mldf
import numpy as np
import pkg
import pytest
from mldf import writer as writer_module
from PIL import ImageCms

COMMAND = os.environ.get("MLDF") or str(pkg.ROOT / "build/dev/bin/mldf")

# ---- the table ----

OUTPUT = set(mldf.OutputOptions.__annotations__)
IMAGE = "image"  # pack(image={...}): the arguments of mldf.Image
AUDIO = "audio"  # pack(audio={...}): the arguments of mldf.CompressedAudio
NAMES = {  # option: argument, where they differ
    "-o": "out",
    "-f": "overwrite",
    "-j": "threads",
    "--workers": "threads",
    "--force": "overwrite",
    "--schema": "fields",
    "--encrypt": "encrypt_key",
    "--no-checksums": "checksums",
    "--passphrase-file": "passphrase",
    "--max": "limit",
    "--max-decoded": "max_decoded_bytes",
    "--encode": IMAGE,
    "--quality": IMAGE,
    "--max-resolution": IMAGE,
    "--min-resolution": IMAGE,
    "--smart-threshold": IMAGE,
    "--compress-probability": IMAGE,
    "--baseline": IMAGE,
    "--icc": IMAGE,
    "--orientation": IMAGE,
    "--fast-limit": IMAGE,
    "--bitrate": AUDIO,
    "--no-decode": AUDIO,
    "--keep-file": AUDIO,
    "--names": "fractions",  # a dict
}
OF_COMMAND = {
    ("split", "-o"): "pattern",
    ("extract", "-o"): "folder",
    ("add-field", "--schema"): "field",
    ("pack", "--key"): "encrypt_key",
    ("pack", "--passphrase-file"): "encrypt_passphrase",
    ("convert", "--from"): "source_format",
    **{(c, "--encode"): "encode" for c in ("convert", "repack")},
    **{(c, "--fast-limit"): "fast_limit" for c in ("convert", "repack")},
    ("bench", "-p"): "pipelines",
    ("bench", "--pipeline"): "pipelines",
    ("bench", "--in-flight"): "batches_ahead",
    ("bench", "--no-prefetch"): "prefetch",
}
DATASETS = ("diff", "stats", "select", "split", "extract", "bench")  # what these take besides paths
NOT_HERE = {
    ("add-field", "--pipeline"): "the command and mldf_derive_field alone compute a field",
    "--json": "what is given back has structure already",
    "-q": "progress=None is the default",
    "-v": "the result lists what was left out",
    "--help": "help()",
    **{(c, "--max-unpacked"): "a dataset: mldf.open(path, max_unpacked=...)" for c in DATASETS},
    **{(c, "--max-unpacked"): "no archive is read" for c in ("plan", "plan-tokens", "add-field", "repack", "repair")},
    ("merge", "--max-unpacked"): "mldf.convert joins archives, and has it",
    ("stats", "--svg"): "the histograms are in the result, and Python has libraries that draw",
    ("stats", "-f"): "of --svg",
    ("diff", "--layout"): "mldf.info of both has the same",
    ("info", "--view"): "ds.as_view(text) has len() and what the command shows",
    ("plan", "--to"): "layouts that the package does not write",
    ("plan", "--key"): "nothing is opened",
    ("plan", "--passphrase-file"): "nothing is opened",
    ("clean", "--max-decoded"): "nothing is opened",
    ("clean", "--max-unpacked"): "nothing is opened",
    ("clean", "--key"): "nothing is opened",
    ("clean", "--passphrase-file"): "nothing is opened",
    ("bench", "--epochs"): "a loop over the loader",
    ("bench", "--hash"): "the batches are at hand",
    ("bench", "--explain"): "Loader.explain()",
    ("bench", "--key"): "Loader(mldf.open(path, key=...))",
    ("bench", "--passphrase-file"): "Loader(mldf.open(path, passphrase=...))",
    ("bench", "--max-decoded"): "Loader(mldf.open(path, max_decoded_bytes=...))",
    ("info", "--max-decoded"): "no payload is decompressed",
    ("plan", "--max-decoded"): "nothing is opened",
    ("plan-tokens", "--max-decoded"): "no payload is decompressed",
    ("select", "--max-decoded"): "select(mldf.open(path, max_decoded_bytes=...))",
    ("split", "--max-decoded"): "split(mldf.open(path, max_decoded_bytes=...))",
    ("extract", "--max-decoded"): "extract(mldf.open(path, max_decoded_bytes=...))",
    ("stats", "--max-decoded"): "stats(mldf.open(path, max_decoded_bytes=...))",
    ("diff", "--max-decoded"): "diff(mldf.open(path, max_decoded_bytes=...))",
    ("bench", "--backend"): "Loader(mldf.open(path, backend=...))",
    ("bench", "--bucket-window"): "bucket names the output, bucket_window is its size",
}
FUNCTIONS = {"add-field": mldf.add_field, "plan-tokens": mldf.plan_tokens, "bench": mldf.Loader.__init__}
LOOKING = (
    "head",
    "cat",
    "keygen",
)  # keygen: secrets.token_bytes(32); a dataset: ds[:10], ds[5:7, "label"], ds.keys.index(...), ds.raw(i, name)


def commands():
    text = subprocess.run([COMMAND, "--help"], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^  ([a-z-]+) +", text[text.index("Commands:") :], re.M)
    return [name for name in found if name != "mldf"]


def options(command):
    text = subprocess.run([COMMAND, command, "--help"], capture_output=True, text=True, check=True).stdout
    block = text[text.index("Options:") : text.index("Examples:")]
    lines = re.findall(r"^  (-\S.*)$", block, re.M)
    return [w.rstrip(",") for line in lines for w in re.split(r"  +", line)[0].split() if re.match(r"-{1,2}[a-z]", w)]


def test_every_option_of_the_command_is_an_argument_or_says_why_not():
    assert len(commands()) == 21
    missing, used = [], set()
    for command in commands():
        if command in LOOKING:
            continue
        function = FUNCTIONS.get(command) or getattr(mldf, command)
        arguments = set(inspect.signature(function).parameters)
        if "engine" in arguments:
            arguments |= set(mldf.Engine.__annotations__)
        if "output" in arguments:
            arguments |= OUTPUT
        assert options(command), command
        for option in options(command):
            if option in NOT_HERE or (command, option) in NOT_HERE:
                used |= {option, (command, option)}
                continue
            name = OF_COMMAND.get((command, option)) or NAMES.get(option) or option.strip("-").replace("-", "_")
            if name not in arguments:
                missing.append(f"{command} {option}: {function.__qualname__}() has no {name}")
    assert not missing, missing
    assert set(NOT_HERE) <= used, set(NOT_HERE) - used  # and the list has nothing that is not there


# ---- those that the table found missing ----


def test_the_index_of_a_tar_is_kept_used_and_ignored(tmp_path):
    pkg.make(tmp_path / "a.mldf", 9)
    tar, index = tmp_path / "a.tar", tmp_path / "a.tar.mldfidx"
    mldf.convert(tmp_path / "a.mldf", tar, fields=["image", "text"])
    assert len(mldf.open(tar)) == 9 and not index.exists()
    mldf.open(tar, tar_index="keep")
    assert index.exists()
    want = [s.text for s in mldf.open(tar)]
    saved = index.read_bytes()
    index.write_bytes(saved[:-8] + bytes(8))
    with pytest.warns(UserWarning, match="mldfidx"):
        assert [s.text for s in mldf.open(tar)] == want
    assert [s.text for s in mldf.open(tar, tar_index="ignore")] == want  # no warning
    index.unlink()
    assert mldf.info(tar, keep_index=True)["num_samples"] == 9 and index.read_bytes() == saved
    with pytest.raises(mldf.errors.ArgumentError):
        mldf.open(tmp_path / "a.mldf", tar_index="keep")
    with pytest.raises(mldf.errors.ArgumentError, match="did you mean 'keep'"):
        mldf.open(tar, tar_index="keeep")


def test_a_compressed_value_has_a_limit(tmp_path):
    path, out = tmp_path / "a.mldf", tmp_path / "out.mldf"
    zeros = np.zeros((1 << 20, 3), "u1")
    with mldf.Writer(path, {"x": mldf.NDArray("u1", (None, 3), compress=3), "n": mldf.Int()}) as w:
        w.append({"x": zeros[:1], "n": 0})
        w.append({"x": zeros, "n": 1})
    assert path.stat().st_size < 100_000
    assert mldf.open(path)[1].x.shape == mldf.open(path, max_decoded_bytes=3 << 20)[1].x.shape == zeros.shape
    ds = mldf.open(path, max_decoded_bytes=1 << 20)
    assert ds[0].x.shape == (1, 3) and ds[1, "n"] == 1
    with pytest.raises(mldf.errors.LimitError, match="limit is 1048576: max_decoded_bytes"):
        ds[1]
    small = {"max_decoded_bytes": 1 << 20}
    assert mldf.convert(path, out, on_error="skip", **small).skipped[0].message
    out.unlink()
    for call in (mldf.convert, mldf.merge, mldf.repack, mldf.repair):
        with pytest.raises(mldf.errors.LimitError, match="1048576"):
            call(path, out, **small)
        assert not out.exists()
        call(path, out, max_decoded_bytes=3 << 20)
        out.unlink()
    assert [p.status for p in mldf.verify(path, deep=True, **small).problems] == ["limit"]
    assert mldf.verify(path, deep=True).problems == []
    for wrong in (0, -1, 1.5, "1G", True):
        with pytest.raises((mldf.errors.ArgumentError, mldf.errors.WrongTypeError), match="max_decoded_bytes"):
            mldf.open(path, max_decoded_bytes=wrong)


def test_a_decoded_image_has_the_limit_of_its_dataset(tmp_path):
    with mldf.Writer(tmp_path / "a.mldf", {"image": mldf.Image(encode="jpeg")}) as w:
        w.append({"image": np.zeros((64, 64, 3), "u1")})
    size = 64 * 64 * 3
    assert mldf.open(tmp_path / "a.mldf", max_decoded_bytes=size)[0].image.shape == (64, 64, 3)
    ds = mldf.open(tmp_path / "a.mldf", max_decoded_bytes=size - 1)
    with pytest.raises(mldf.errors.LimitError, match="limit"):
        ds[0]
    with pytest.raises(mldf.errors.LimitError, match="limit"):
        list(mldf.Loader(ds, batch_size=1, pipelines="image: chw(u8)"))
    fits = mldf.open(tmp_path / "a.mldf", max_decoded_bytes=size)
    assert len(list(mldf.Loader(fits, batch_size=1, pipelines="image: chw(u8)"))) == 1


def test_convert_leaves_out_what_does_not_fit(tmp_path):
    with mldf.Writer(tmp_path / "a.mldf", {"x": mldf.Int(nullable=True)}) as w:
        w.extend([0, None, 2, None])
    with pytest.raises(mldf.Error, match="null"):
        mldf.convert(tmp_path / "a.mldf", tmp_path / "a.beton")
    result = mldf.convert(tmp_path / "a.mldf", tmp_path / "a.beton", on_error="skip")
    assert (
        result.written == 2
        and len(result.skipped) == 2
        and mldf.open(tmp_path / "a.beton").column("x").tolist() == [0, 2]
    )
    with pytest.raises(mldf.errors.ArgumentError, match="'raise' or 'skip'"):
        mldf.convert(tmp_path / "a.mldf", tmp_path / "b.beton", on_error="ignore")


def test_append_to_class_folders_and_select_by_keys(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder / "cat").mkdir(parents=True)
        (tmp_path / folder / "cat" / f"{folder}.png").write_bytes(mldf.images.encode(pkg.image(1, 8, 8), "png"))
    mldf.pack(tmp_path / "one", tmp_path / "a.mldf")
    mldf.append(tmp_path / "a.mldf", tmp_path / "two", layout="classes")
    assert list(mldf.open(tmp_path / "a.mldf").keys) == ["cat/one.png", "cat/two.png"]
    mldf.select(tmp_path / "a.mldf", tmp_path / "b.mldf", keys=["cat/two.png", "cat/one.png"])
    assert list(mldf.open(tmp_path / "b.mldf").keys) == ["cat/two.png", "cat/one.png"]
    with pytest.raises(mldf.errors.NoSampleError):
        mldf.select(tmp_path / "a.mldf", tmp_path / "c.mldf", keys=["dog"])
    with pytest.raises(mldf.errors.ArgumentError, match="one of them"):
        mldf.select(tmp_path / "a.mldf", tmp_path / "c.mldf", keys=["dog"], samples=[1])


def test_append_of_files_without_keys(tmp_path):
    fields = {"x": "int"}
    mldf.write(tmp_path / "a.mldf", [(1,)], fields, keys=["first"])
    mldf.write(tmp_path / "b.mldf", [(2,), (3,)], fields)
    with pytest.raises(mldf.errors.SampleKeyError, match="number-keys"):
        mldf.append(tmp_path / "a.mldf", tmp_path / "b.mldf")
    mldf.append(tmp_path / "a.mldf", tmp_path / "b.mldf", number_keys=True)
    ds = mldf.open(tmp_path / "a.mldf")
    assert list(ds.keys) == ["first", "b.mldf/0", "b.mldf/1"] and ds.column("x").tolist() == [1, 2, 3]


@pytest.mark.parametrize("opened", [False, True])
def test_parts_of_an_encrypted_file_are_encrypted_unless_asked(tmp_path, opened):
    path = pkg.make(tmp_path / "a.mldf", 4, passphrase="x")
    source = mldf.open(path, passphrase="x") if opened else path
    given = {} if opened else {"passphrase": "x"}
    for decrypt in (False, True):
        mldf.select(source, tmp_path / "s.mldf", samples=[1], decrypt=decrypt, overwrite=True, **given)
        mldf.split(source, tmp_path / "p{}.mldf", count=2, decrypt=decrypt, overwrite=True, **given)
        for name in ("s.mldf", "p0.mldf", "p1.mldf"):
            assert ("encrypted" in mldf.info(tmp_path / name)["flags"]) is not decrypt


def test_stats_of_members_and_elements(tmp_path):
    path = pkg.make(tmp_path / "a.mldf", 20)
    stats = mldf.stats(path)
    assert stats["x"]["elements"] == sum(s.x.size for s in mldf.open(path)) and stats["label"]["elements"] is None
    assert list(stats)[list(stats).index("box") :][:3] == ["box", "box.x", "box.y"]
    assert stats["box.y"]["type"] == "<f4" and stats["box.y"]["max"] == 9.5 and stats["box.y"]["count"] == 20


def test_repair_says_what_it_did(tmp_path):
    path = pkg.make(tmp_path / "a.mldf", 3)
    assert mldf.repair(path).changed is False
    data = bytearray(path.read_bytes())
    data[12:40] = bytes(28)  # the front header
    path.write_bytes(data)
    result = mldf.repair(path)
    assert result.changed is True and result.unchecked is False and result.action
    assert mldf.verify(path).ok and mldf.repack(path, overwrite=True).changed is None


def test_images(tmp_path):
    pixels = pkg.image(3, 64, 80)
    deep = pixels.astype(np.uint16) * 257
    png16 = mldf.images.encode(deep, "png")
    assert mldf.images.decode(png16).dtype == np.uint16 and np.array_equal(mldf.images.decode(png16, bits=8), pixels)
    png = mldf.images.encode(pixels, "png", level=0)
    assert np.array_equal(mldf.images.decode(png, bits=16), deep) and len(png) > pixels.nbytes
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    plain = mldf.images.encode(pixels)
    marked = mldf.images.encode(pixels, icc=profile, progressive=True, optimize=True)
    assert mldf.images.icc(marked) == profile and mldf.images.icc(plain) is None
    assert mldf.images.probe(marked)["progressive"] and len(mldf.images.encode(pixels, optimize=True)) < len(plain)
    fast = mldf.images.decode(plain, fast_dct=True).astype(int)
    assert np.abs(fast - mldf.images.decode(plain)).max() <= 8
    with pytest.raises(mldf.errors.LimitError):
        mldf.images.decode(plain, max_pixels=1000)
    for wrong in ({"subsampling": 411}, {"format": "png", "icc": b"x"}):
        with pytest.raises(mldf.errors.ArgumentError):
            mldf.images.encode(pixels, **wrong)


def test_a_writer_goes_on_after_an_interruption(tmp_path):
    fields = {"x": mldf.Int(), "text": mldf.Text()}
    rows = [{"x": i, "text": "t" * i} for i in range(40)]
    mldf.write(tmp_path / "whole.mldf", rows, fields)
    path = tmp_path / "a.mldf"
    with pytest.raises(KeyboardInterrupt), mldf.Writer(path, fields, resume=True) as w:
        assert w.position is None
        w.extend(rows[:25])
        assert w.checkpoint(b"25 rows")
        w.extend(rows[25:30])
        raise KeyboardInterrupt
    assert not path.exists() and (tmp_path / "a.mldf.partial").exists()
    with mldf.Writer(path, fields, resume=True) as w:
        assert w.position == b"25 rows"
        w.extend(rows[25:])
    assert path.read_bytes() == (tmp_path / "whole.mldf").read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.mldf", "whole.mldf"]


@pytest.mark.parametrize("lazy", [False, True])
def test_write_goes_on_after_an_interruption(tmp_path, monkeypatch, lazy):
    monkeypatch.setattr(writer_module, "CHECKPOINT_SECONDS", -1.0)
    path, fields = tmp_path / "a.mldf", {"x": mldf.Int()}
    asked = []

    class Source:
        def __init__(self, stop):
            self.stop = stop

        def __getitem__(self, i):
            asked.append(i)
            if i == self.stop:
                raise KeyboardInterrupt
            return {"x": i * i}

        def __len__(self):
            return 12

    def source(stop):
        s = Source(stop)
        return (s[i] for i in range(12)) if lazy else s

    keys = [f"k{i}" for i in range(12)]
    with pytest.raises(KeyboardInterrupt):
        mldf.write(path, source(7), fields, keys=keys, resume=True)
    asked.clear()
    mldf.write(path, source(-1), fields, keys=keys, resume=True)
    assert asked == list(range(0 if lazy else 7, 12))
    ds = mldf.open(path)
    assert ds.column("x").tolist() == [i * i for i in range(12)] and list(ds.keys) == keys


def test_cards_are_texts_of_json(tmp_path):
    pkg.make(tmp_path / "a.mldf", 2)
    mldf.repack(tmp_path / "a.mldf", tmp_path / "b.mldf", card={"title": "ä"}, page_size=1 << 16, compress={"text": 9})
    info = mldf.info(tmp_path / "b.mldf")
    assert info["card"] == {"title": "ä"} and info["page_size"] == 1 << 16
    assert json.loads(json.dumps(info)) == info
