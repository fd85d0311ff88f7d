"""Colour profiles: found in every format, kept when an image is made anew, or put into the card; Pillow is the judge."""

import base64
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from PIL import Image, ImageCms

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs" / "spec"))
import clib  # noqa: E402
import images  # noqa: E402

PATH, COMMAND = clib.library_path(), os.environ.get("MLDF")
pytestmark = pytest.mark.skipif(PATH is None, reason="no library: set MLDF or MLDF_LIB")
SRGB = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
LONG = SRGB[:4] + SRGB[4:] + bytes(200_000)  # several parts of a JPEG
LONG = len(LONG).to_bytes(4, "big") + LONG[4:]
OTHER = SRGB[:100] + b"another one." + SRGB[112:]
FORMS = {"jpg": {}, "png": {}, "webp": {"lossless": True}, "tiff": {}}


@pytest.fixture(scope="module")
def lib():
    return images.Images(clib.Library(PATH))


def image(form, profile=None, mode="RGB", size=(40, 30)):
    out = io.BytesIO()
    Image.linear_gradient("L").resize(size).convert(mode).save(out, {"jpg": "jpeg"}.get(form, form), icc_profile=profile,
                                                               **FORMS[form])
    return out.getvalue()


def profile_of(data):
    return Image.open(io.BytesIO(data)).info.get("icc_profile", b"")


@pytest.mark.parametrize("profile", [b"", SRGB, LONG], ids=["none", "srgb", "long"])
@pytest.mark.parametrize("form", FORMS)
def test_profile_is_what_pillow_wrote(lib, form, profile):
    data = image(form, profile or None)
    assert profile_of(data) == profile
    assert lib.icc(data) == profile


def test_damaged_profiles_count_as_none(lib):
    data = image("jpg", LONG)
    second = data.index(b"ICC_PROFILE\0\x02")
    assert lib.icc(data[:second + 12] + b"\x07" + data[second + 13:]) == b""  # a part is missing
    assert lib.icc(data[:second + 12] + b"\x01" + data[second + 13:]) == b""  # a part is there twice
    assert lib.icc(image("jpg", SRGB[:36] + b"xxxx" + SRGB[40:])) == b""    # no signature
    png = image("png", SRGB)
    at = png.index(b"iCCP") + 12
    assert lib.icc(png[:at] + bytes(20) + png[at + 20:]) == b""


@pytest.mark.parametrize("arguments,kept", [
    ({"encode": "jpeg"}, True), ({"max_resolution": 20}, True), ({"encode": "smart", "smart_threshold": 1}, True),
    ({"encode": "jpeg", "icc": "drop"}, False), ({"max_resolution": 20, "icc": "drop"}, False), ({"icc": "card"}, False),
])
@pytest.mark.parametrize("form", ["jpg", "png"])
def test_images_made_anew(lib, tmp_path, form, arguments, kept):
    for profile in (SRGB, LONG):
        lib.lib.write(tmp_path / "a.mldf", [("image", 13, json.dumps(arguments), 0)],
                      [[clib.value(4, data=image(form, profile))]], overwrite=True)
        with lib.lib.open(tmp_path / "a.mldf") as reader:
            data = reader.get(0, "image")[2]
        assert profile_of(data) == (profile if kept else b"")
        Image.open(io.BytesIO(data)).load()


def test_a_profile_for_other_channels_is_left_out(lib, tmp_path):
    for mode, space in (("CMYK", b"CMYK"), ("L", b"RGB "), ("RGB", b"GRAY")):
        data = image("jpg", SRGB[:16] + space + SRGB[20:], mode)
        lib.lib.write(tmp_path / "a.mldf", [("image", 13, '{"max_resolution":20}', 0)], [[clib.value(4, data=data)]],
                      overwrite=True)
        with lib.lib.open(tmp_path / "a.mldf") as reader:
            assert profile_of(reader.get(0, "image")[2]) == b""


# ---- The card ---------------------------------------------------------------------------------------------------------------


def mldf(*arguments, code=0):
    run = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True)
    assert run.returncode == code, run.stderr
    return run.stderr if code else run.stdout


def lines(path, *fields):
    return [json.loads(line)["fields"] for line in mldf("cat", path, "--json").splitlines()]


def card(path):
    return json.loads(mldf("info", path, "--json"))["card"]


def name(profile):
    return hashlib.sha256(profile).hexdigest()


def folder(path, profiles):
    path.mkdir()
    for i, (form, profile) in enumerate(profiles):
        (path / f"{i}.{form}").write_bytes(image(form, profile))
    return path


needs_command = pytest.mark.skipif(COMMAND is None, reason="no command: set MLDF")


@needs_command
@pytest.mark.parametrize("encode", ["keep", "raw", "yuv420", "jpeg"])
def test_card(tmp_path, encode):
    source = folder(tmp_path / "d", [("jpg", SRGB), ("png", OTHER), ("jpg", None), ("png", SRGB), ("webp", OTHER)])
    for threads in (0, 3):
        mldf("pack", source, "-o", tmp_path / f"{threads}.mldf", "--icc", "card", "--encode", encode, "-j", threads)
    assert (tmp_path / "0.mldf").read_bytes() == (tmp_path / "3.mldf").read_bytes()
    assert [f["image_icc"] for f in lines(tmp_path / "0.mldf")] == [name(SRGB), name(OTHER), None, name(SRGB), name(OTHER)]
    assert {k: base64.b64decode(v, validate=True) for k, v in card(tmp_path / "0.mldf")["icc"].items()} == {
        name(SRGB): SRGB, name(OTHER): OTHER}
    mldf("verify", "--deep", tmp_path / "0.mldf")


@needs_command
def test_append_and_merge_bring_profiles_along(tmp_path):
    for one, profile in (("a", SRGB), ("b", OTHER)):
        folder(tmp_path / one, [("jpg", profile)])
        (tmp_path / f"{one}.csv").write_text(f"k,image\n{one},{one}/0.jpg\n")
        mldf("pack", tmp_path / f"{one}.csv", "-o", tmp_path / f"{one}.mldf", "--icc", "card", "--key-column", "k", "--files", "image")
    both = {name(SRGB), name(OTHER)}
    mldf("merge", tmp_path / "a.mldf", tmp_path / "b.mldf", "-o", tmp_path / "m.mldf")
    assert set(card(tmp_path / "m.mldf")["icc"]) == both
    assert [f["image_icc"] for f in lines(tmp_path / "m.mldf")] == [name(SRGB), name(OTHER)]
    for more in ("b.mldf", "b.csv"):
        (tmp_path / "x.mldf").write_bytes((tmp_path / "a.mldf").read_bytes())
        keys = ["--key-column", "k"] if more == "b.csv" else []
        mldf("append", tmp_path / "x.mldf", tmp_path / more, *keys)
        assert set(card(tmp_path / "x.mldf")["icc"]) == both
        assert [f["image_icc"] for f in lines(tmp_path / "x.mldf")] == [name(SRGB), name(OTHER)]
        mldf("verify", "--deep", tmp_path / "x.mldf")


def samples(path):
    return {d["key"]: d["fields"] for d in map(json.loads, mldf("cat", path, "--json").splitlines())}


def stored(path, key):
    return subprocess.run([COMMAND, "cat", "--raw", "image", "--keys", key, path], capture_output=True, check=True).stdout


@needs_command
@pytest.mark.parametrize("encode", ["keep", "jpeg"])
def test_append_folders(tmp_path, encode):
    folder(tmp_path / "d", [("jpg", SRGB), ("png", None)])
    more = folder(tmp_path / "more", [("jpg", OTHER), ("png", SRGB), ("webp", LONG), ("jpg", None)])
    for i in range(4):
        one = next(more.glob(f"{i}.*"))
        one.rename(more / f"m{one.name}")
    mldf("pack", tmp_path / "d", "-o", tmp_path / "a.mldf", "--icc", "card", "--encode", encode)
    before = (tmp_path / "a.mldf").read_bytes()
    for threads in (0, 1, 7):
        (tmp_path / f"{threads}.mldf").write_bytes(before)
        mldf("append", tmp_path / f"{threads}.mldf", more, "-j", threads)
        assert (tmp_path / "0.mldf").read_bytes() == (tmp_path / f"{threads}.mldf").read_bytes()
    assert {k: f["image_icc"] for k, f in samples(tmp_path / "0.mldf").items()} == {
        "0.jpg": name(SRGB), "1.png": None, "m0.jpg": name(OTHER), "m1.png": name(SRGB), "m2.webp": name(LONG), "m3.jpg": None}
    assert {k: base64.b64decode(v, validate=True) for k, v in card(tmp_path / "0.mldf")["icc"].items()} == {
        name(p): p for p in (SRGB, OTHER, LONG)}
    if encode == "jpeg":
        assert all(profile_of(stored(tmp_path / "0.mldf", k)) == b"" for k in ("m0.jpg", "m1.png", "m2.webp"))
    mldf("verify", "--deep", tmp_path / "0.mldf")


@needs_command
def test_append_class_folders(tmp_path):
    for i, (where, profile) in enumerate([("d/cat", SRGB), ("d/dog", None), ("more/dog", OTHER), ("more/cat", SRGB)]):
        (tmp_path / where).mkdir(parents=True)
        (tmp_path / where / f"{i}.jpg").write_bytes(image("jpg", profile))
    mldf("pack", tmp_path / "d", "-o", tmp_path / "a.mldf", "--icc", "card")
    mldf("append", tmp_path / "a.mldf", tmp_path / "more")
    assert {k: (f["label"], f["image_icc"]) for k, f in samples(tmp_path / "a.mldf").items()} == {
        "cat/0.jpg": (0, name(SRGB)), "dog/1.jpg": (1, None), "cat/3.jpg": (0, name(SRGB)), "dog/2.jpg": (1, name(OTHER))}
    assert card(tmp_path / "a.mldf")["classes"] == ["cat", "dog"]
    assert set(card(tmp_path / "a.mldf")["icc"]) == {name(SRGB), name(OTHER)}
    # Profiles that cannot be put there leave the file as it was.
    before = (tmp_path / "a.mldf").read_bytes()
    (tmp_path / "more" / "cat" / "4.jpg").write_bytes(b"")
    mldf("append", tmp_path / "a.mldf", tmp_path / "more", code=1)
    assert (tmp_path / "a.mldf").read_bytes() == before


@needs_command
def test_append_mixes_files_and_images(tmp_path):
    """Samples of a file keep the names that they have, whatever comes before or after them."""
    for one, profile in (("a", SRGB), ("b", OTHER), ("c", LONG)):
        folder(tmp_path / one, [("jpg", profile)])
        (tmp_path / one / "0.jpg").rename(tmp_path / one / f"{one}.jpg")
        mldf("pack", tmp_path / one, "-o", tmp_path / f"{one}.mldf", "--icc", "card", "--encode", "jpeg")
    for sources in (["b", "c.mldf"], ["c.mldf", "b"]):
        (tmp_path / "x.mldf").write_bytes((tmp_path / "a.mldf").read_bytes())
        mldf("append", tmp_path / "x.mldf", *(tmp_path / s for s in sources))
        assert {k: f["image_icc"] for k, f in samples(tmp_path / "x.mldf").items()} == {
            "a.jpg": name(SRGB), "b.jpg": name(OTHER), "c.jpg": name(LONG)}
        assert set(card(tmp_path / "x.mldf")["icc"]) == {name(SRGB), name(OTHER), name(LONG)}
        mldf("verify", "--deep", tmp_path / "x.mldf")


@needs_command
def test_append_archives(tmp_path):
    for one, profile in (("a", SRGB), ("b", OTHER)):
        with tarfile.open(tmp_path / f"{one}.tar", "w") as tar:
            for part, data in (("jpg", image("jpg", profile)), ("cls", b"3")):
                info = tarfile.TarInfo(f"{one}.{part}")
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    mldf("pack", tmp_path / "a.tar", "-o", tmp_path / "a.mldf", "--icc", "card")
    mldf("append", tmp_path / "a.mldf", tmp_path / "b.tar")
    assert {k: f["jpg_icc"] for k, f in samples(tmp_path / "a.mldf").items()} == {"a": name(SRGB), "b": name(OTHER)}
    assert set(card(tmp_path / "a.mldf")["icc"]) == {name(SRGB), name(OTHER)}


@needs_command
def test_convert_brings_profiles_along(tmp_path):
    for one, form, profile in (("a", "jpg", SRGB), ("b", "png", OTHER)):
        mldf("pack", folder(tmp_path / one, [(form, profile)]), "-o", tmp_path / f"{one}.mldf", "--icc", "card")
    own = tmp_path / "card.json"
    own.write_text('{"title": "t"}')
    for more in ([], ["--card", own]):
        mldf("convert", tmp_path / "a.mldf", tmp_path / "b.mldf", "-o", tmp_path / "x.mldf", "-f", *more)
        got = card(tmp_path / "x.mldf")
        assert got.get("title") == ("t" if more else None)
        assert {k: base64.b64decode(v, validate=True) for k, v in got["icc"].items()} == {name(SRGB): SRGB, name(OTHER): OTHER}
        assert [f["image_icc"] for f in lines(tmp_path / "x.mldf")] == [name(SRGB), name(OTHER)]


@needs_command
def test_card_of_the_user_and_refusals(tmp_path):
    source = folder(tmp_path / "d", [("jpg", SRGB)])
    own = tmp_path / "card.json"
    own.write_text(json.dumps({"title": "t", "icc": {"0" * 64: "AAAA"}}))
    mldf("pack", source, "-o", tmp_path / "a.mldf", "--icc", "card", "--card", own)
    assert card(tmp_path / "a.mldf")["title"] == "t" and set(card(tmp_path / "a.mldf")["icc"]) == {"0" * 64, name(SRGB)}
    own.write_text('{"icc": 7}')
    assert "not an object" in mldf("pack", source, "-o", tmp_path / "b.mldf", "--icc", "card", "--card", own, code=2)
    assert not (tmp_path / "b.mldf").exists()
    assert "cannot be resumed" in mldf("pack", source, "-o", tmp_path / "c.mldf", "--icc", "card", "--resume", code=2)
    (tmp_path / "t.csv").write_text("image,image_icc\nd/0.jpg,abc\n")
    assert "nullable text" in mldf("pack", tmp_path / "t.csv", "-o", tmp_path / "e.mldf", "--icc", "card", "--files", "image", code=1)


@needs_command
def test_too_many_profiles(tmp_path):
    source = folder(tmp_path / "d", [])
    jpeg = image("jpg", SRGB, size=(8, 8))
    at = jpeg.index(SRGB) + 100
    for i in range(4097):
        (source / f"{i:04}.jpg").write_bytes(jpeg[:at] + i.to_bytes(12, "big") + jpeg[at + 12:])
    assert "more than 4096 colour profiles" in mldf("pack", source, "-o", tmp_path / "a.mldf", "--icc", "card", code=1)
    assert sorted(os.listdir(tmp_path)) == ["d"]
