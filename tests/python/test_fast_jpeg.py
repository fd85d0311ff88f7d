"""The fast JPEG store (image mode 7) through the command and the package: bytes come back, batches equal those of the JPEG, the reference reader finds the
coefficients that a second, plain Huffman decoder finds in the file, and what cannot be packed is counted."""

import functools
import io
import os
import subprocess
import sys
import tarfile
import warnings
from pathlib import Path

import mldf
import net_cases
import net_data
import net_run
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "docs" / "spec"), str(ROOT / "tools")]
import reference_fast_jpeg  # noqa: E402
import reference_reader  # noqa: E402
import vectors_fast_jpeg  # noqa: E402

Image = pytest.importorskip("PIL.Image")
MLDF = os.environ.get("MLDF", "mldf")
ZIGZAG = [int(x) for x in """0 1 8 16 9 2 3 10 17 24 32 25 18 11 4 5 12 19 26 33 40 48 41 34 27 20 13 6 7 14 21 28 35 42 49 56 57 50 43 36 29 22 15 23
    30 37 44 51 58 59 52 45 38 31 39 46 53 60 61 54 47 55 62 63""".split()]


def photo(width, height, seed=0):
    """Something between a gradient and noise, with edges."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    base = np.stack([x * 200 / width + y * 40 / height, y * 220 / height, 255 - x * 180 / width], -1)
    base += 60 * ((x // 17 + y // 13) % 2)[..., None] + rng.normal(0, 12, (height, width, 3))
    return Image.fromarray(np.clip(base, 0, 255).astype(np.uint8))


def jpeg(image, **options):
    out = io.BytesIO()
    image.save(out, "JPEG", **options)
    return out.getvalue()


def files():
    rgb, gray = photo(200, 150), photo(61, 33).convert("L")
    exif = Image.Exif()
    exif[0x0112], exif[0x010E] = 6, "x" * 60000
    result = {f"s{s}q{q}": jpeg(photo(199, 133, q), quality=q, subsampling=s, optimize=q > 80) for s in range(3) for q in (30, 75, 95)}
    result |= {"gray": jpeg(gray, quality=80), "one": jpeg(photo(1, 1)), "thin": jpeg(photo(300, 3)), "tall": jpeg(photo(2, 200)),
               "exif": jpeg(rgb, exif=exif), "icc": jpeg(rgb, icc_profile=b"icc profile " * 9000), "large": jpeg(photo(1100, 700))}
    result["trailing"] = result["s2q75"] + b"trailing bytes \xff\xd8 and more"
    result["restart"] = jpeg(rgb, quality=80, restart_marker_blocks=3)
    for name, (_, _, _, payload) in vectors_fast_jpeg.SAMPLINGS.items():  # files of cjpeg: Pillow writes no such samplings
        result[name] = reference_fast_jpeg.file(reference_fast_jpeg.read(payload))
    return result


@pytest.fixture(scope="module")
def photos():
    return files()


@pytest.fixture(scope="module")
def pair(photos, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fast")
    for name, options in (("jpeg", {}), ("fast", {"encode": "fast-jpeg", "fast_limit": 100})):
        with mldf.Writer(folder / f"{name}.mldf", {"image": mldf.Image(**options)}) as writer:
            for data in photos.values():
                writer.append({"image": data})
    return folder / "jpeg.mldf", folder / "fast.mldf"


def stored(path):
    f = reference_reader.read(path)
    return [f.value(i, "image") for i in range(f.num_samples)]


def run(*arguments, code=0):
    found = subprocess.run([MLDF, *map(str, arguments)], capture_output=True, check=False)
    assert found.returncode == code, found.stderr.decode()
    return found


def test_every_file_is_packed_and_comes_back(photos, pair):
    assert [s.record[17] for s in stored(pair[1])] == [7] * len(photos)
    with mldf.open(pair[1]) as ds:
        for i, (name, data) in enumerate(photos.items()):
            assert bytes(ds.raw(i, "image")) == data, name


def test_extract_tar_and_back(photos, pair, tmp_path):
    run("extract", pair[1], "-o", tmp_path / "out")
    found = sorted((tmp_path / "out").rglob("*.jpg"))
    assert sorted(p.read_bytes() for p in found) == sorted(photos.values())
    run("convert", pair[1], "-o", tmp_path / "x.tar")
    run("convert", pair[0], "-o", tmp_path / "y.tar")
    members = []
    for name in "x.tar", "y.tar":
        with tarfile.open(tmp_path / name) as tar:
            members.append({m.name: tar.extractfile(m).read() for m in tar})
    assert members[0].pop("__mldf_schema__") != members[1].pop("__mldf_schema__")  # the arguments
    assert members[0] == members[1]
    run("convert", pair[1], "-o", tmp_path / "x.tbl")
    run("verify", "--deep", tmp_path / "x.tbl")


def test_diff_and_verify(pair):
    found = run("diff", pair[0], pair[1], code=1).stdout.decode()
    assert found.count("\n") == 1 and "fast-jpeg" in found  # the arguments alone
    run("verify", "--deep", pair[1])


# ---- files that are written again ----


@pytest.fixture(scope="module")
def mixed(photos, tmp_path_factory):
    """JPEGs of all kinds, some that stay as they are, other images, a null, keys, and a field beside."""
    path = tmp_path_factory.mktemp("mixed") / "mixed.mldf"
    png = io.BytesIO()
    photo(40, 30).save(png, "PNG")
    rgb = photo(90, 60)
    values = [*photos.values(), jpeg(rgb, progressive=True), jpeg(rgb.convert("CMYK")), png.getvalue(), np.asarray(rgb), None]
    schema = {"image": mldf.Image(nullable=True, max_resolution=65535), "label": mldf.Int()}
    with mldf.Writer(path, schema) as writer:
        for i, value in enumerate(values):
            writer.append({"image": value, "label": i}, key=f"k{i}")
    return path


def modes(path):
    return [None if v is None else v.record[17] for v in stored(path)]


@pytest.mark.filterwarnings("ignore:field image. 2 of")  # progressive and CMYK
@pytest.mark.parametrize("way", ["repack", "convert", "mldf repack", "mldf convert"])
def test_written_again_and_back(mixed, photos, tmp_path, way):
    fast, back = tmp_path / "fast.mldf", tmp_path / "back.mldf"
    tool = {"repack": mldf.repack, "convert": mldf.convert}.get(way)
    for source, out, how in ((mixed, fast, "fast-jpeg"), (fast, back, "jpeg-original")):
        limit = 100 if how == "fast-jpeg" else None
        if tool:
            tool(source, out, encode=how, fast_limit=limit)
        else:
            run(way.split()[1], source, "-o", out, "--encode", how, *(["--fast-limit", limit] if limit else []), "-j", 2)
    before = modes(mixed)
    wanted = [7] * len(photos) + before[len(photos) :]
    assert modes(fast) == wanted and modes(back) == before and 7 not in before
    assert [v and v.data for v in stored(back)] == [v and v.data for v in stored(mixed)]
    run("verify", "--deep", fast)
    with mldf.open(mixed) as a, mldf.open(fast) as b, mldf.open(back) as c:
        assert list(a.keys) == list(b.keys) == list(c.keys) and [b[i, "label"] for i in range(len(b))] == list(range(len(b)))
        for i in range(len(photos)):
            assert bytes(a.raw(i, "image")) == bytes(b.raw(i, "image")) == bytes(c.raw(i, "image"))
            assert bytes(b.raw(i, "image", stored=True)) == stored(fast)[i].data != bytes(a.raw(i, "image", stored=True))
        assert b.schema["image"].arguments["encode"] == "fast-jpeg"
        assert "max_resolution" not in b.schema["image"].arguments and "encode" not in c.schema["image"].arguments


def test_written_again_in_place_and_refused(photos, tmp_path):
    path = tmp_path / "a.mldf"
    with mldf.Writer(path, {"image": mldf.Image(icc="card"), "other": mldf.Image(stored="png", nullable=True)}) as writer:
        writer.append({"image": photos["s2q75"], "other": None})
    run("repack", path, "--encode", "fast-jpeg")
    assert modes(path) == [7]
    with mldf.open(path) as ds:
        assert ds.schema["image"].arguments == {"encode": "fast-jpeg", "icc": "card"} and not ds.schema["other"].arguments
    run("repack", path, "--encode", "jpeg-original")
    assert modes(path) == [1] and stored(path)[0].data == photos["s2q75"]
    for arguments in (["--encode", "jpeg"], ["--fast-limit", "2"], ["--encode", "jpeg-original", "--fast-limit", "2"],
                      ["--encode", "fast-jpeg", "--fast-limit", "0"]):
        run("repack", path, *arguments, code=2)
    run("convert", path, "-o", tmp_path / "a.tar", "--fields", "image", "--encode", "fast-jpeg", code=2)
    with pytest.raises(mldf.Error, match="neither fast-jpeg nor jpeg-original"):
        mldf.repack(path, encode="raw")
    with pytest.raises(mldf.Error, match="fast_limit"):
        mldf.repack(path, fast_limit=2)


def test_orientation_that_only_the_record_knows_is_kept(tmp_path):
    """A JPEG that is made smaller when it is packed has no EXIF any more."""
    exif = Image.Exif()
    exif[0x0112] = 6
    photo(64, 48).save(tmp_path / "turned.jpg", exif=exif)
    with mldf.Writer(tmp_path / "a.mldf", {"image": mldf.Image(max_resolution=32)}) as writer:
        writer.append({"image": tmp_path / "turned.jpg"})
    assert mldf.open(tmp_path / "a.mldf", orient=True)[0].image.shape == (32, 24, 3)
    for encode in ("fast-jpeg", "jpeg-original"):
        mldf.repack(tmp_path / "a.mldf", tmp_path / f"{encode}.mldf", encode=encode)
        assert mldf.open(tmp_path / f"{encode}.mldf", orient=True)[0].image.shape == (32, 24, 3)


def test_a_tar_becomes_fast(photos, tmp_path):
    with mldf.Writer(tmp_path / "a.mldf", {"image": mldf.Image()}) as writer:
        for data in photos.values():
            writer.append({"image": data})
    run("convert", tmp_path / "a.mldf", "-o", tmp_path / "a.tar")
    run("convert", tmp_path / "a.tar", "-o", tmp_path / "b.mldf", "--encode", "fast-jpeg", "--fast-limit", 100)
    f = reference_reader.read(tmp_path / "b.mldf")
    with mldf.open(tmp_path / "b.mldf") as ds:
        name = next(n for n in ds.schema if ds.schema[n].type.startswith("image"))
    assert all(f.value(i, name).record[17] == 7 for i in range(f.num_samples))
    run("convert", tmp_path / "b.mldf", "-o", tmp_path / "b.tar")
    found = []
    for archive in ("a.tar", "b.tar"):
        with tarfile.open(tmp_path / archive) as tar:
            found.append([tar.extractfile(m).read() for m in tar if m.name.endswith((".jpg", ".jpeg"))])
    assert found[0] == found[1] == list(photos.values())


# ---- batches ----


class FastFolder(net_data.Folder):
    """The datasets of the net with their JPEG files packed."""

    def path(self, name):
        plain = mldf.Image
        mldf.Image = functools.partial(plain, encode="fast-jpeg", fast_limit=100)
        try:
            return super().path(name)
        finally:
            mldf.Image = plain


@pytest.fixture(scope="module")
def nets(tmp_path_factory):
    return net_data.Folder(tmp_path_factory.mktemp("plain")), FastFolder(tmp_path_factory.mktemp("packed"))


VARIANTS = [{}, {"reference": True, "threads": 0}, {"isa": "portable", "threads": 2}, {"backend": "read", "threads": 2, "batches_ahead": 1}]


@pytest.mark.filterwarnings(r"ignore:field image. 2 of \d+ JPEG files are stored as they are")  # progressive and CMYK ones
@pytest.mark.parametrize("case", [c for c in net_cases.CODECS if c.name.startswith("jpeg")], ids=lambda c: c.name)
def test_batches_of_the_net_are_those_of_the_jpeg(nets, case):
    wanted = net_run.record(case, nets[0])
    for variant in VARIANTS:
        assert net_run.record(case, nets[1], **variant) == wanted
    assert {7} <= {v.record[17] for v in stored(nets[1].path("jpegs"))}


@pytest.mark.parametrize(
    "text",
    [
        "image: random_resized_crop(224) | normalize(imagenet) | chw",
        "image: resize(64) | center_crop(48)",
        "image: decode(exact=true) | random_resized_crop(40) | hflip",
        "image: decode(channels=1) | resize([100, 90])",
        "image: resize([20, 20])\nb = image: decode(channels=4) | resize([33, 47])",
    ],
)
def test_batches_are_those_of_the_jpeg(pair, text):
    batches = []
    for path in pair:
        with mldf.open(path) as ds, mldf.Loader(ds, 5, pipelines=text, seed=3) as loader:
            batches.append(net_run.run(loader, ""))
    assert batches[0] == batches[1] and batches[0]


# ---- chroma=fused ----


FUSED = [
    "image: decode(chroma=fused) | random_resized_crop(56) | hflip | normalize(imagenet) | chw",
    "image: decode(chroma=fused) | resize(64) | center_crop(48)",
    "image: decode(chroma=fused, exact=true) | random_resized_crop(40) | hflip",
    "image: decode(chroma=fused, channels=4) | resize([33, 47])",
    "image: decode(chroma=fused) | resize([30, 40]) | invert | chw",
    "image: decode(chroma=fused, channels=1) | resize([100, 90])",
    "image: decode(chroma=fused, orient=true) | resize([50, 60])",
]


def batches(path, text, **options):
    with mldf.open(path) as ds, mldf.Loader(ds, 5, pipelines=text, seed=3, **options) as loader:
        return net_run.run(loader, "")


@pytest.mark.parametrize("text", FUSED)
def test_fused_is_the_same_for_the_same_jpeg(pair, text):
    wanted = batches(pair[0], text, threads=0)
    assert wanted
    for path in pair:
        for variant in VARIANTS:
            assert batches(path, text, **{k: v for k, v in variant.items() if k != "backend"}) == wanted


def fused_and_exact(path, step):
    found = []
    for chroma in ("exact", "fused"):
        with mldf.open(path) as ds, mldf.Loader(ds, 1, pipelines=f"image: decode(chroma={chroma}) | {step}", threads=0) as loader:
            found.append([batch.image[0].astype(np.float64) for batch in loader])
    return found


def psnr(a, b):
    error = np.mean((a - b) ** 2)
    return 99.0 if error == 0 else 10 * np.log10(255**2 / error)


def test_fused_is_near_exact(photos, pair):
    exact, fused = fused_and_exact(pair[1], "resize([60, 75])")
    found = {name: psnr(a, b) for name, a, b in zip(photos, exact, fused, strict=True)}
    assert found.pop("gray") == 99.0  # no chroma, nothing to fuse
    found.pop("large")  # at 1/8: another transform
    assert min(found.values()) >= 38 and np.mean(list(found.values())) >= 44, found  # hard checkerboards in colour; photos: 44 and 55
    assert any(v < 99 for v in found.values())


def test_fused_needs_a_resize_with_planes(tmp_path):
    rgb = photo(120, 90)
    png = io.BytesIO()
    rgb.save(png, "PNG")
    data = [jpeg(rgb, subsampling=2), jpeg(rgb.convert("CMYK")), png.getvalue(), jpeg(rgb, progressive=True, subsampling=1)]
    with mldf.Writer(tmp_path / "a.mldf", {"image": mldf.Image()}) as writer:
        for value in data:
            writer.append({"image": value})
    for step, differ in (("center_crop(50)", [False] * 4), ("resize([40, 50], filter=bicubic)", [False] * 4), ("resize([40, 50])", [True, False, False, True])):
        exact, fused = fused_and_exact(tmp_path / "a.mldf", step)
        assert [not np.array_equal(a, b) for a, b in zip(exact, fused, strict=True)] == differ, step


def test_fused_yuv(tmp_path):
    """Raw planes: the very samples, each for its four pixels, as the exact way takes them."""
    with mldf.Writer(tmp_path / "a.mldf", {"image": mldf.Image(encode="yuv420")}) as writer:
        for size in ((120, 90), (61, 47), (1, 1), (2, 5)):
            writer.append({"image": jpeg(photo(*size), quality=95)})
    text = "image: decode(chroma=fused) | random_resized_crop(40)"
    wanted = batches(tmp_path / "a.mldf", text, threads=0)
    for variant in VARIANTS[:3]:
        assert batches(tmp_path / "a.mldf", text, **variant) == wanted
    exact, fused = fused_and_exact(tmp_path / "a.mldf", "resize([40, 50])")
    assert min(psnr(a, b) for a, b in zip(exact, fused, strict=True)) >= 44


def test_fused_is_written_where_it_is_chosen(pair):
    with mldf.open(pair[0]) as ds:
        for chroma, shown in (("exact", False), ("fused", True)):
            with mldf.Loader(ds, 4, pipelines=f"image: decode(chroma={chroma}) | resize([8, 8])", threads=0) as loader:
                assert ("chroma=fused" in loader.explain()) is shown


# ---- a plain decoder of baseline files, as oracle for coefficients ----


def huffman(body):
    tables, at = {}, 0
    while at < len(body):
        counts, at_symbol, word, table = body[at + 1 : at + 17], at + 17, 0, {}
        for length, n in enumerate(counts, 1):
            for _ in range(n):
                table[length, word] = body[at_symbol]
                at_symbol, word = at_symbol + 1, word + 1
            word *= 2
        tables[body[at]] = table
        at = at_symbol
    return tables


def plain_coefficients(data):
    """Per component an array [block rows, block columns, 64] in natural order, whole MCUs."""
    at, tables, interval = 2, {}, 0
    while True:
        marker, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big")
        body = data[at + 4 : at + 2 + length]
        at += 2 + length
        if marker == 0xC4:
            tables |= huffman(body)
        elif marker == 0xDD:
            interval = int.from_bytes(body, "big")
        elif marker in (0xC0, 0xC1):
            height, width = int.from_bytes(body[1:3], "big"), int.from_bytes(body[3:5], "big")
            factors = [divmod(body[7 + 3 * i], 16) for i in range(body[5])]
        elif marker == 0xDA:
            ids = [divmod(body[2 + 2 * i], 16) for i in range(body[0])]
            break
    factors = [(1, 1)] if len(factors) == 1 else factors
    h, v = factors[0]
    columns, rows = -(-width // (8 * h)), -(-height // (8 * v))
    planes = [np.zeros((rows * fv, columns * fh, 64), np.int64) for fh, fv in factors]
    bits, place = [], at

    def more():
        nonlocal place
        byte = data[place]
        place += 2 if byte == 0xFF else 1
        bits.extend(byte >> i & 1 for i in range(7, -1, -1))

    def take(n):
        while len(bits) < n:
            more()
        value = int("".join(map(str, bits[:n])) or "0", 2)
        del bits[:n]
        return value

    def symbol(table):
        word = 0
        for length in range(1, 17):
            word = word << 1 | take(1)
            if (length, word) in table:
                return table[length, word]
        raise AssertionError

    def value(size):
        x = take(size)
        return x if size == 0 or x >> (size - 1) else x - (1 << size) + 1

    last = [0] * 3
    for n in range(rows * columns):
        if interval and n and n % interval == 0:
            bits.clear()
            place += 2
            last = [0] * 3
        y, x = divmod(n, columns)
        for c, (fh, fv) in enumerate(factors):
            for i in range(fh * fv):
                block = planes[c][y * fv + i // fh, x * fh + i % fh]
                last[c] += value(symbol(tables[ids[c][0]]))
                block[0], k = last[c], 1
                while k < 64:
                    run_size = symbol(tables[16 + ids[c][1]])
                    if run_size == 0:
                        break
                    k += run_size >> 4
                    if run_size != 0xF0:
                        block[ZIGZAG[k]] = value(run_size & 15)
                    k += 1
    return planes


@pytest.mark.parametrize("name", ["s0q75", "s1q30", "s2q75", "gray", "one", "restart", "thin", "s440", "s411", "wide"])
def test_reference_reader_finds_the_coefficients(photos, pair, name):
    image = reference_fast_jpeg.read(stored(pair[1])[list(photos).index(name)].data)
    for got, want in zip(image.planes, plain_coefficients(photos[name]), strict=True):
        assert np.array_equal(got.reshape(want.shape), want)


def test_reference_reader_makes_the_files(photos, pair):
    for (name, data), value in zip(photos.items(), stored(pair[1]), strict=True):
        if name != "large":  # plain Python: seconds for nothing new
            assert reference_fast_jpeg.file(reference_fast_jpeg.read(value.data)) == data, name


def test_what_is_kept_is_counted(tmp_path):
    rgb = photo(120, 90)
    kept = {"progressive": jpeg(rgb, progressive=True), "cmyk": jpeg(rgb.convert("CMYK")), "damaged": jpeg(rgb)[:-700], "larger": jpeg(rgb, optimize=True)}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with mldf.Writer(tmp_path / "a.mldf", {"image": mldf.Image(encode="fast-jpeg", fast_limit=0.2)}) as writer:
            for data in [*kept.values(), np.zeros((4, 5, 3), np.uint8)]:
                writer.append({"image": data})
    text = " ".join(str(w.message) for w in said)
    assert "4 of 4 JPEG files are stored as they are" in text
    assert all(f"1 {reason}" in text for reason in kept)
    assert [s.record[17] for s in stored(tmp_path / "a.mldf")] == [1, 1, 1, 1, 0]
    with mldf.open(tmp_path / "a.mldf") as ds:
        assert [bytes(ds.raw(i, "image")) for i in range(4)] == list(kept.values())


def test_baseline_and_quality(tmp_path):
    rgb = photo(120, 90)
    options = {"encode": "fast-jpeg", "fast_limit": 100, "baseline": True, "quality": 90}
    with mldf.Writer(tmp_path / "a.mldf", {"image": mldf.Image(**options)}) as writer:
        writer.append({"image": jpeg(rgb, progressive=True)})
        writer.append({"image": np.asarray(rgb)})
    found = stored(tmp_path / "a.mldf")
    assert [s.record[17] for s in found] == [7, 7]
    assert [s.data[5] & 2 for s in found] == [2, 0]
    run("verify", "--deep", tmp_path / "a.mldf")


def test_one_flipped_bit_is_found(pair, tmp_path):
    """Payload CRCs see any; a deep verify without them sees what the bytes or pixels depend on."""
    data = bytearray(pair[1].read_bytes())
    f = reference_reader.read(pair[1])
    ptr, size = int.from_bytes(f.value(2, "image").record[:8], "little"), len(f.value(2, "image").data)
    rng = np.random.default_rng(5)
    for at in rng.integers(0, size, 12):
        damaged = data.copy()
        damaged[ptr + at] ^= 1 << rng.integers(0, 8)
        (tmp_path / "d.mldf").write_bytes(damaged)
        run("verify", tmp_path / "d.mldf", code=1)
        with mldf.open(tmp_path / "d.mldf") as ds, pytest.raises(mldf.Error, match="CRC"):
            ds.raw(2, "image")
        with mldf.open(tmp_path / "d.mldf") as ds, pytest.raises(mldf.Error, match="CRC"):
            list(mldf.Loader(ds, 3, pipelines="image: resize([8, 8])"))


def test_every_single_flipped_bit_is_found(photos, tmp_path):
    """All bits of a small payload, by the reader's default settings."""
    path = tmp_path / "a.mldf"
    with mldf.Writer(path, {"image": mldf.Image(encode="fast-jpeg", fast_limit=100)}) as writer:
        writer.append({"image": photos["one"]})
    value = reference_reader.read(path).value(0, "image")
    assert value.record[17] == 7
    ptr, missed = int.from_bytes(value.record[:8], "little"), []
    with path.open("r+b", buffering=0) as f:
        for at, byte in enumerate(value.data):
            for bit in range(8):
                os.pwrite(f.fileno(), bytes([byte ^ 1 << bit]), ptr + at)
                with mldf.open(path) as ds:
                    try:
                        ds.raw(0, "image")
                        missed.append((at, bit))
                    except mldf.Error as e:
                        assert "CRC" in str(e)
            os.pwrite(f.fileno(), bytes([byte]), ptr + at)
    assert missed == []
    with mldf.open(path) as ds:
        assert bytes(ds.raw(0, "image")) == photos["one"]
