"""The datasets of the net (test_net_*.py): small, of every kind of field, the same bytes on every machine.

Nothing here depends on a random generator, on floating point or on a codec library of this machine: pixels are whole-number
arithmetic, PNG is written without compression by hand, JPEG and WebP are files in tests/net/data.
"""

import io
import pathlib
import struct
import tarfile
import zlib

import mldf
import numpy as np
import pkg

FILES = pkg.ROOT / "tests" / "net" / "data"
IMAGES = pkg.ROOT / "tests" / "data" / "images"
SECRET = b"net " * 8


def noise(seed, *shape):
    """Bytes that look random: splitmix64 of a count."""
    x = np.arange(1, int(np.prod(shape)) + 1, dtype=np.uint64) + (np.uint64(seed) << np.uint64(32))
    x = x * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((x ^ (x >> np.uint64(31))) >> np.uint64(56)).astype(np.uint8).reshape(shape)


def photo(seed, height, width, channels=3):
    """Slopes and edges with a little noise: every operation changes it."""
    y, x, c = np.ogrid[0:height, 0:width, 0:channels]
    slope = (x * (3 + c) * 160 // width + y * (5 - c) * 96 // height + seed * 37 + c * 50) % 256
    edges = ((x // 5 + y // 7 + seed) % 3 == 0) * 60
    return ((slope * 3 // 4 + edges + noise(seed, height, width, channels) // 16) % 256).astype(np.uint8)


def wide(seed, *shape):
    """16 bits."""
    return noise(seed, *shape).astype(np.uint16) * 251 + noise(seed + 1, *shape)


def small_floats(seed, *shape):
    """Eighths from -16 to 15.875: exact in every float type but bf16, which has fewer of them."""
    return noise(seed, *shape).astype(np.float32) / 8 - 16


def png(pixels):
    """A PNG file whose bytes no zlib decides: stored blocks."""
    pixels = pixels.reshape(*pixels.shape[:2], -1)
    height, width, channels = pixels.shape
    rows = pixels.astype(pixels.dtype.newbyteorder(">")).reshape(height, -1).view(np.uint8)
    raw = np.concatenate([np.zeros((height, 1), np.uint8), rows], axis=1).tobytes()
    parts = [raw[i : i + 65535] for i in range(0, len(raw), 65535)]
    body = b"\x78\x01"
    for part in parts:
        body += struct.pack("<BHH", part is parts[-1], len(part), len(part) ^ 0xFFFF) + part
    body += struct.pack(">I", zlib.adler32(raw))
    colour = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    head = struct.pack(">IIBBBBB", width, height, 8 * pixels.dtype.itemsize, colour, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", body), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )


def sides(i, least=9):
    """Heights and widths that differ, with two alike among them."""
    return least + (i * 7) % 23, least + (i * 11 + 3) % 29


def boxes(i, height, width):
    count = i % 4
    at = noise(i + 900, count, 4).astype(np.int64)
    x, y = at[:, 0] % (width - 3), at[:, 1] % (height - 3)
    return np.stack([x, y, x + 1 + at[:, 2] % (width - x - 1), y + 1 + at[:, 3] % (height - y - 1)], 1).astype(
        np.float32
    )


def points(i, height, width):
    at = noise(i + 700, 1 + i % 3, 3).astype(np.float32)
    return at * np.float32([width / 256, height / 256, 1])


# ---- One function for each; the name is the file's ---------------------------------------------------------------------------------


def write(path, fields, rows, keys=None, **options):
    with mldf.Writer(path, fields, threads=0, **options) as writer:
        for i, row in enumerate(rows):
            writer.append(row, key=keys(i) if keys else None)


def fixed(path, count=13, first=0, keys=None):
    """Images of one size, with a label."""
    fields = {"image": mldf.Image(), "gray": mldf.Image(), "deep": mldf.Image(), "label": mldf.Int("uint8")}
    rows = (
        {"image": photo(i, 20, 28), "gray": photo(i + 50, 16, 16, 1), "deep": wide(i, 12, 10, 3), "label": i * 3 % 10}
        for i in range(first, first + count)
    )
    write(path, fields, rows, keys)


def sizes(path, count=13, least=9, alike=lambda i: False):
    """Images, masks of their size or of another, boxes and points."""
    fields = {
        "image": mldf.Image(),
        "seg": mldf.Image(),
        "box": mldf.NDArray("float32", (None, 4)),
        "pts": mldf.NDArray("float32", (None, 3)),
        "label": mldf.Int(),
    }

    def row(i):
        height, width = sides(i, least)
        low, narrow = (height, width) if alike(i) else sides(i + 5, least - 2)
        return {
            "image": photo(i, height, width),
            "seg": noise(i + 300, low, narrow, 1) % 5,
            "box": boxes(i, height, width),
            "pts": points(i, height, width),
            "label": i % 7,
        }

    write(path, fields, map(row, range(count)))


def ties(path, count=15):
    """Images among which heights, widths and both are often the same: what sorts buckets after the height."""
    sizes = [(8, 12), (8, 5), (11, 6), (11, 12), (8, 5), (14, 4)]
    rows = ({"image": photo(i, *sizes[i * 5 % 6]), "label": i} for i in range(count))
    write(path, {"image": mldf.Image(), "label": mldf.Int()}, rows)


def pngs(path, count=12):
    """PNG of one kind, of several kinds, with alpha, of 16 bits."""
    fields = {
        "image": mldf.Image(),
        "mixed": mldf.Image(),
        "alpha": mldf.Image(),
        "deep": mldf.Image(),
        "label": mldf.Int(),
    }

    def row(i):
        height, width = sides(i)
        return {
            "image": png(photo(i, height, width)),
            "mixed": png(photo(i, 18, 14, (1, 3, 4, 2)[i % 4]) if i % 5 else wide(i, 18, 14, 3)),
            "alpha": png(photo(i, 15, 17, 4)),
            "deep": png(wide(i, 11, 13, 1)),
            "label": i,
        }

    write(path, fields, map(row, range(count)))


def stored(path, count=10):
    """Other ways to store pixels that need no library: YUV, BMP, raw, side by side."""
    fields = {
        "yuv": mldf.Image(encode="yuv420"),
        "any": mldf.Image(),
        "raw": mldf.Image(stored="raw"),
        "label": mldf.Int(),
    }
    bitmap = (IMAGES / "rgb.bmp").read_bytes()

    def row(i):
        return {
            "yuv": photo(i, 24, 32),
            "any": (bitmap, photo(i, 9, 11), png(photo(i, 13, 8)))[i % 3],
            "raw": photo(i, 8, 9),
            "label": i,
        }

    write(path, fields, map(row, range(count)))


POSE = [("x", "f4"), ("y", "f8", (3,)), ("id", "S6"), ("name", "U4"), ("in", [("a", "i2"), ("b", "u1", (2, 2))])]
VALUES = {
    "u8": lambda: mldf.Int("uint8"),
    "i16": lambda: mldf.Int("int16"),
    "u32": lambda: mldf.Int("uint32"),
    "i64": lambda: mldf.Int(),
    "flag": lambda: mldf.Int("bool"),
    "real": lambda: mldf.Float(),
    "f32s": lambda: mldf.NDArray("float32", (3, 4)),
    "f16s": lambda: mldf.NDArray("float16", (5,)),
    "bf16s": lambda: mldf.NDArray("bfloat16", (4,)),
    "i32s": lambda: mldf.NDArray("int32", (2, 1, 3)),
    "bools": lambda: mldf.NDArray("bool", (6,)),
    "list": lambda: mldf.NDArray("int16", (None,)),
    "table": lambda: mldf.NDArray("float32", (None, 2)),
    "alike": lambda: mldf.NDArray("uint8", (None, None)),
    "open": lambda: mldf.NDArray("uint8", (None, None)),
    "text": lambda: mldf.Text(),
    "json": lambda: mldf.Json(),
    "blob": lambda: mldf.Bytes(),
    "pose": lambda: mldf.Struct(POSE),
    "grid": lambda: mldf.Struct(("i4", (2, 3))),
}


def value_row(i):
    return {
        "u8": i * 19 % 256,
        "i16": i * 331 - 1500,
        "u32": i * 300_000_007 % 2**32,
        "i64": (-1) ** i * i * 10**15,
        "flag": i % 3 == 0,
        "real": i / 8 - 1,
        "f32s": small_floats(i, 3, 4),
        "f16s": small_floats(i + 20, 5).astype(np.float16),
        "bf16s": (noise(i, 4).astype(np.uint16) << 7) & 0x3FFF,  # the bits
        "i32s": noise(i, 2, 1, 3).astype(np.int32) * 70001 - 9_000_000,
        "bools": noise(i, 6) > 127,
        "list": (noise(i, i * 5 % 8).astype(np.int16) * 99) - 9000,
        "table": small_floats(i + 40, (i * 3 + 1) % 6, 2),
        "alike": noise(i, 4, 3),
        "open": noise(i, 1 + i % 3, 2 + i % 2),
        "text": "täxt " * (i % 4) + str(i),
        "json": {"n": i, "s": "x" * (i % 5)},
        "blob": noise(i, i % 6).tobytes(),
        "pose": (i / 4, [i, -i, 0.5], f"id{i}".encode(), f"ä{i}", (-i, [[i, 1], [2, 3]])),
        "grid": [[i, -1, 2], [3, i * i, -5]],
    }


def values(path, count=14, keys=None, **options):
    compress = {"compress": 3} if options.pop("compress", False) else {}
    fields = {name: make() for name, make in VALUES.items()}
    for name in ("f32s", "list", "table", "text", "json", "blob") if compress else ():
        fields[name] = type(fields[name])(**{**fields[name].__dict__, **compress})
    write(path, fields, map(value_row, range(count)), keys, **options)


def nulls(path, count=12):
    fields = {
        "age": mldf.Int("int16", nullable=True),
        "real": mldf.Float(nullable=True),
        "vector": mldf.NDArray("float32", (3,), nullable=True),
        "list": mldf.NDArray("int32", (None,), nullable=True),
        "text": mldf.Text(nullable=True),
        "image": mldf.Image(nullable=True),
        "alike": mldf.Image(nullable=True),
        "pose": mldf.Struct([("x", "f4"), ("y", "i2", (2,))], nullable=True),
        "label": mldf.Int(),
    }

    def row(i):
        out = {
            "age": i * 7,
            "real": i / 4,
            "vector": small_floats(i, 3),
            "list": noise(i, i % 5).astype(np.int32),
            "text": "word " * (i % 3),
            "image": photo(i, *sides(i)),
            "alike": photo(i, 10, 12),
            "pose": (i / 2, [i, -i]),
            "label": i % 5,
        }
        names = [n for n in out if n != "label"]
        out[names[i % len(names)]] = None
        if i % 4 == 1:
            out["age"] = out["image"] = None
        return out

    write(path, fields, map(row, range(count)))


def rarely(path, count=20):
    """A field that is null for some samples, which no pipeline fills: bad samples without any damage."""
    fields = {"x": mldf.Int("int32", nullable=True), "image": mldf.Image(), "label": mldf.Int()}
    rows = ({"x": None if i % 6 == 2 else i, "image": photo(i, *sides(i)), "label": i % 4} for i in range(count))
    write(path, fields, rows)


def bad(path, count=20):
    """PNG files, some of them damaged in the place that every decoder looks at first; two stand side by side."""
    fields = {"image": mldf.Image(), "list": mldf.NDArray("uint8", (None,)), "label": mldf.Int()}
    images = [png(photo(i, *sides(i))) for i in range(count)]
    rows = ({"image": images[i], "list": noise(i, 1 + i % 5), "label": i % 4} for i in range(count))
    write(path, fields, rows)
    data = bytearray(path.read_bytes())
    for i in (0, 3, 9, 10, 18):
        at = data.find(images[i])
        assert at > 0 and data.find(images[i], at + 1) < 0
        start = at + images[i].index(b"IDAT")
        data[start : at + len(images[i]) - 12] = bytes(at + len(images[i]) - 12 - start)
    path.write_bytes(bytes(data))


def flipped(path, count=12):
    """Raw pixels with one bit flipped, which a checksum alone sees (open with verify)."""
    fields = {"image": mldf.Image(), "label": mldf.Int()}
    images = [photo(i, 10, 9) for i in range(count)]
    write(path, fields, ({"image": p, "label": i} for i, p in enumerate(images)))
    data = bytearray(path.read_bytes())
    for i in (4, 7):
        data[data.index(images[i].tobytes()) + 100] ^= 4
    path.write_bytes(bytes(data))


def arrays(path, count=11):
    """Arrays that are taken as images and masks."""
    fields = {
        "hw": mldf.NDArray("uint8", (14, 18)),
        "hwc": mldf.NDArray("uint8", (14, 18, 3)),
        "deep": mldf.NDArray("uint16", (9, 12, 2)),
        "half": mldf.NDArray("float16", (9, 12, 1)),
        "brain": mldf.NDArray("bfloat16", (9, 12)),
        "single": mldf.NDArray("float32", (9, 12, 3)),
        "ids": mldf.NDArray("int64", (14, 18)),
        "free": mldf.NDArray("uint8", (None, None, 3)),
    }

    def row(i):
        return {
            "hw": noise(i, 14, 18),
            "hwc": photo(i, 14, 18),
            "deep": wide(i, 9, 12, 2),
            "half": (noise(i, 9, 12, 1) / 256).astype(np.float16),
            "brain": noise(i, 9, 12).astype(np.uint16) + 0x3F00,
            "single": small_floats(i, 9, 12, 3) / 32 + 0.5,
            "ids": noise(i, 14, 18).astype(np.int64) % 9,
            "free": photo(i, *sides(i)),
        }

    write(path, fields, map(row, range(count)))


def videos(path, count=7):
    """Videos of pixels, of different lengths, some with times of their own."""
    fields = {
        "video": mldf.VideoFrames(mode="raw", fps=25),
        "timed": mldf.VideoFrames(mode="image", channels=1, pts=True),
    }

    def row(i):
        n = 3 + i * 7919 % 17
        frames = noise(i, n, 9 * 11 * 3).reshape(n, 9, 11, 3)
        ticks = np.cumsum(1 + noise(i + 30, n).astype(np.int64))
        return {"video": frames, "timed": mldf.Frames([f[..., :1] for f in frames], fps=1000, pts=ticks.tolist())}

    write(path, fields, map(row, range(count)))


def flows(path, count=7):
    """Photographs with their optical flow, some of it unknown; the sizes differ."""

    def row(i):
        height, width = sides(i)
        flow = small_floats(700 + i, 1 + i % 3, height, width, 2).astype(np.float16).astype(np.float32)
        flow[0, 1, 2] = np.nan
        return {"image": png(photo(700 + i, height, width)), "flow": flow}

    types = {"image": mldf.Image(), "flow": mldf.OpticalFlow()}
    write(path, types, [row(i) for i in range(count)])


def recordings(path, count=11):
    """Recordings of every kind of number, of two rates, and arrays that go with them."""
    kinds = {"u1": 1, "i2": 2, "i4": 1, "f4": 3, "f8": 1}
    fields = {name: mldf.Audio(rate=8000, channels=n) for name, n in kinds.items()}
    fields |= {
        "other": mldf.Audio(rate=11025),
        "rows": mldf.NDArray("int16", (None, 2)),
        "none": mldf.Audio(rate=8000, nullable=True),
    }

    def row(i):
        n = 90 + i * 7919 % 70
        out = {"other": noise(i + 90, n * 11025 // 8000 * 2).view("<i2"), "rows": noise(i, n, 4).view("<i2")}
        out["none"] = None if i % 4 == 1 else noise(i + 50, 2 * n).view("<i2")
        for name, channels in kinds.items():
            size = np.dtype(name).itemsize
            raw = noise(i + size, n, channels * size)
            whole = raw.view(f"<{name}") if name[0] != "f" else (raw[:, :channels] / 128 - 1).astype(name)
            out[name] = np.ascontiguousarray(whole)
        return out

    write(path, fields, map(row, range(count)))


class Pairs(mldf.CustomField):
    type_name = "net.example.pairs"

    def encode(self, value):
        return np.asarray(value, "<i4").tobytes()

    def decode(self, data):
        return np.frombuffer(data, "<i4")


def custom(path, count=9):
    write(path, {"p": Pairs(), "label": mldf.Int()}, ({"p": range(i % 4 + 1), "label": i} for i in range(count)))


def archive(path, count=10, first=0, classes=True):
    """A tar of PNG files, labels (or JSON) and texts; a text is missing here and there."""
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:

        def add(name, data):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))

        for i in range(first, first + count):
            add(f"{i:04}.png", png(photo(i, *sides(i))))
            if classes:
                add(f"{i:04}.cls", str(i % 3).encode())
            else:
                add(f"{i:04}.json", f'{{"i":{i}}}'.encode())
            if i % 4:
                add(f"{i:04}.txt", b"word " * (i % 3))


def many(path, count=211):
    """Numbers alone, enough for windows, blocks and ranks; lengths differ."""
    fields = {"i": mldf.Int("int32"), "list": mldf.NDArray("int16", (None,)), "label": mldf.Int("uint8")}
    rows = ({"i": i, "list": np.arange(i * 37 % 50, dtype=np.int16) + i, "label": i * i % 5} for i in range(count))
    write(path, fields, rows)


JPEGS = ["wide.jpg", "tall.jpg", "gray_large.jpg", "progressive.jpg", "444.jpg", "small.jpg"]
WEBPS = ["lossy.webp", "lossy2.webp"]


def _files(path, names, count):
    data = [(FILES / n).read_bytes() if (FILES / n).exists() else (IMAGES / n).read_bytes() for n in names]
    write(
        path,
        {"image": mldf.Image(), "label": mldf.Int()},
        ({"image": data[i % len(data)], "label": i} for i in range(count)),
    )


def jpegs(path):
    _files(path, JPEGS, 12)


def turned(path):
    """EXIF's orientation, CMYK, small ones."""
    _files(path, ["rotated.jpg", "rgb.jpg", "cmyk.jpg", "gray.jpg"], 8)


def webps(path):
    _files(path, [*WEBPS, "lossless.webp"], 6)


def every_codec(path):
    """JPEG, WebP, PNG, BMP and raw in one field."""
    data = [
        (FILES / "small.jpg").read_bytes(),
        (FILES / "lossy.webp").read_bytes(),
        png(photo(1, 40, 50)),
        (IMAGES / "rgb.bmp").read_bytes(),
        photo(2, 33, 21),
    ]
    write(path, {"image": mldf.Image(), "label": mldf.Int()}, ({"image": data[i % 5], "label": i} for i in range(10)))


def letters(path, count=9):
    """What a state knows of samples, by kind (src/loader/identity.c): floats, structs, texts, an image."""
    fields = {"real": mldf.Float(), "pose": mldf.Struct(POSE), "text": mldf.Text(), "image": mldf.Image()}
    rows = ({**{n: value_row(i)[n] for n in ("real", "pose", "text")}, "image": photo(i, 6, 7)} for i in range(count))
    write(path, fields, rows)


def payloads(path, count=9):
    fields = {"blob": mldf.Bytes(), "json": mldf.Json()}
    write(path, fields, ({n: value_row(i)[n] for n in fields} for i in range(count)))


def only_images(path, count=9):
    write(path, {"image": mldf.Image()}, ({"image": photo(i, *sides(i))} for i in range(count)))


def numbered(i):
    return f"sample/{i:05}"


MAKERS = {
    "fixed": fixed,
    "sizes": sizes,
    "large": lambda path: sizes(path, 11, 24, lambda i: True),
    "unequal": lambda path: sizes(path, 12, 24, lambda i: i % 5 != 2),
    "ties": ties,
    "pngs": pngs,
    "stored": stored,
    "values": values,
    "recordings": recordings,
    "videos": videos,
    "zstd": lambda path: values(path, compress=True),
    "dictionary": lambda path: values(path, compress=True, dictionary=True),
    "secret": lambda path: values(path, key=SECRET),
    "keyed": lambda path: values(path, keys=numbered),
    "nulls": nulls,
    "rarely": rarely,
    "bad": bad,
    "flipped": flipped,
    "arrays": arrays,
    "flows": flows,
    "custom": custom,
    "many": many,
    "some": lambda path: many(path, 83),
    "letters": letters,
    "payloads": payloads,
    "only_images": only_images,
    "part_a": lambda path: fixed(path, 7, 0),
    "part_b": lambda path: fixed(path, 4, 100),
    "part_c": lambda path: fixed(path, 9, 200),
    "key_a": lambda path: fixed(path, 6, 0, numbered),
    "key_b": lambda path: fixed(path, 5, 100, lambda i: numbered(i + 100)),
    "jpegs": jpegs,
    "turned": turned,
    "webps": webps,
    "every_codec": every_codec,
}


def bare_archive(source, out):
    """The samples as an archive whose extensions alone say what the fields are, as other programs write it."""
    whole = out.with_suffix(".whole")
    mldf.convert(source, whole, to="tar")
    with tarfile.open(whole) as old, tarfile.open(out, "w") as new:
        for member in old:
            if not member.name.startswith("__"):
                new.addfile(member, old.extractfile(member))
    whole.unlink()


class Folder:
    """Datasets, made when they are first asked for."""

    def __init__(self, root):
        self.root = pathlib.Path(root)

    def path(self, name):
        if name.startswith("vector:"):
            return pkg.ROOT / "docs" / "spec" / "vectors" / "valid" / f"{name[7:]}.mldf"
        if name.startswith("golden:"):
            return pkg.ROOT / "tests" / "golden" / name[7:]
        if name == "tar":
            path, make = self.root / "samples.tar", archive
        elif name == "tar2":
            path, make = self.root / "others.tar", lambda out: archive(out, 6, 50, False)
        elif name.endswith(".tar"):
            path, make = self.root / name, lambda out: bare_archive(self.path(name.split(".")[0]), out)
        elif "." in name:  # fixed.beton: another format of the same samples
            path, make = self.root / name, lambda out: mldf.convert(self.path(name.split(".")[0]), out)
        else:
            path, make = self.root / f"{name}.mldf", MAKERS[name]
        if not path.exists():
            make(path)
        return path

    def open(self, names, **options):
        if names == "secret":
            options["key"] = SECRET
        paths = [str(self.path(n)) for n in names.split("+")]
        return mldf.open(paths if len(paths) > 1 else paths[0], **options)
