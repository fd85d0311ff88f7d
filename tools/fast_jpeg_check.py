"""Packs many JPEG files as fast JPEG and looks whether every one comes back byte for byte, or is kept with its reason counted.

    python tools/fast_jpeg_check.py FOLDER WORK [COUNT [WHOLE ...]]      (needs pillow, cjpeg, jpegtran; MLDF: the command)

FOLDER has photos, the larger the better (the Debian packages that fast_jpeg_photos.py names). COUNT files (3,000) are cut out of them: many sizes down to 1 x 1,
qualities, samplings, gray, RGB, standard and optimised codes, restart intervals, EXIF and ICC beyond 64 KiB, trailing bytes, progressive, arithmetic,
truncated. Every JPEG file in the folders WHOLE is taken as it is, too (COUNT may be 0 then); other files are named and
left out. Two packs, plain and fast, must extract to the same bytes, both must verify, and batches of both must be the same.
"""

import collections
import io
import os
import pathlib
import random
import subprocess
import sys

from PIL import Image

MLDF = os.environ.get("MLDF", "mldf")
SIDES = [1, 2, 7, 8, 9, 15, 16, 17, 33, 64, 100, 224, 333, 375, 500, 500, 500, 640, 1000]


def command(*arguments: object, data: bytes | None = None, code: int | None = 0) -> subprocess.CompletedProcess[bytes]:
    found = subprocess.run([str(a) for a in arguments], input=data, capture_output=True, check=False)
    if code is not None and found.returncode != code:
        sys.exit(f"{' '.join(map(str, arguments))}: {found.returncode}\n{found.stderr.decode()}")
    return found


def pillow(image: Image.Image, chance: random.Random) -> bytes:
    out = io.BytesIO()
    options: dict[str, object] = {}
    kind = chance.randrange(8)
    if kind == 0:
        options["icc_profile"] = bytes(chance.randrange(256) for _ in range(chance.choice([500, 70000])))
    elif kind == 1:
        exif = Image.Exif()
        exif[0x0112], exif[0x010E] = chance.randrange(1, 9), "x" * chance.choice([10, 60000])
        options["exif"] = exif
    elif kind == 2:
        options["restart_marker_blocks"] = chance.randrange(1, 20)
    elif kind == 3 and image.mode == "RGB":
        options["keep_rgb"] = True
    if "keep_rgb" not in options:
        options["subsampling"] = chance.choice([0, 1, 2, 2, 2])
    options |= {
        "quality": chance.randrange(20, 100),
        "optimize": chance.random() < 0.3,
        "progressive": chance.random() < 0.05,
    }
    try:
        image.save(out, "JPEG", **options)
    except OSError:  # Pillow's own buffer is too small for a tiny image with a large profile
        out = io.BytesIO()
        image.save(out, "JPEG")
    return out.getvalue()


def cjpeg(image: Image.Image, chance: random.Random) -> bytes:
    ppm = io.BytesIO()
    image.save(ppm, "PPM")
    options = [
        "-quality",
        str(chance.randrange(20, 101)),
        "-sample",
        chance.choice(["2x2", "2x2", "2x1", "1x1", "1x2", "4x1"]),
    ]
    options += chance.choice(
        [
            [],
            [],
            ["-optimize"],
            ["-restart", "1"],
            ["-restart", "3B"],
            ["-rgb"],
            ["-grayscale"],
            ["-progressive"],
            ["-arithmetic"],
        ]
    )
    found = command("cjpeg", *options, data=ppm.getvalue(), code=None)
    return found.stdout if found.returncode == 0 else pillow(image, chance)  # no RGB of gray images


def jpegtran(data: bytes, chance: random.Random) -> bytes:
    return (
        command(
            "jpegtran",
            "-copy",
            "all",
            *chance.choice([["-optimize"], ["-rotate", "90"], ["-flip", "horizontal"], ["-restart", "2B"]]),
            data=data,
            code=None,
        ).stdout
        or data
    )


def one(image: Image.Image, chance: random.Random) -> bytes:
    width, height = (min(chance.choice(SIDES), side) for side in image.size)
    x, y = chance.randrange(image.width - width + 1), chance.randrange(image.height - height + 1)
    part = image.crop((x, y, x + width, y + height))
    if chance.random() < 0.1:
        part = part.convert("L")
    data = (cjpeg if chance.random() < 0.4 else pillow)(part, chance)
    if chance.random() < 0.15:
        data = jpegtran(data, chance)
    if chance.random() < 0.03:
        data += bytes(chance.randrange(256) for _ in range(chance.randrange(1, 300)))
    if chance.random() < 0.02 and len(data) > 4000:
        data = data[: -chance.randrange(3, 6)]  # in the scan: a file that ends in its header is refused
    return data


def add_whole(folders: list[str], out: pathlib.Path) -> int:
    """Copies the JPEG files of the folders, each under a name that no other has; how many."""
    count = 0
    for folder in folders:
        for path in sorted(p for p in pathlib.Path(folder).rglob("*.jp*g") if p.is_file() and not p.is_symlink()):
            data = path.read_bytes()
            if not data.startswith(b"\xff\xd8"):
                print(f"{path.name}: not a JPEG, left out")
                continue
            (out / f"whole{count:05d}.jpg").write_bytes(data)
            count += 1
    return count


def main(folder: str, work: str, count: int, whole: list[str]) -> None:
    chance, out = random.Random(18), pathlib.Path(work)
    sources = [
        p
        for p in sorted(pathlib.Path(folder).rglob("*.jpg")) + sorted(pathlib.Path(folder).rglob("*.png"))
        if p.is_file() and not p.is_symlink()
    ]
    (out / "in").mkdir(parents=True, exist_ok=True)
    number = len(list((out / "in").glob("[0-9]*")))  # files that are there already are used
    while number < count:
        with Image.open(chance.choice(sources)) as image:
            image.draft("RGB", (2000, 2000))
            image = image.convert("RGB")
            for _ in range(50):
                if number < count:
                    (out / "in" / f"{number:05d}.jpg").write_bytes(one(image, chance))
                    number += 1
    count += add_whole(whole, out / "in")
    for name, options in (
        ("plain", []),
        ("fast", ["--encode", "fast-jpeg", "--fast-limit", os.environ.get("LIMIT", "100")]),
    ):
        found = command(MLDF, "pack", out / "in", "-f", "-o", out / f"{name}.mldf", *options)
        print(*(line for line in found.stderr.decode().splitlines() if "fast JPEG" in line), sep="\n")
        command(MLDF, "verify", out / f"{name}.mldf")
        command(MLDF, "extract", out / f"{name}.mldf", "-o", out / name)
    same = collections.Counter()
    for path in sorted((out / "in").iterdir()):
        wanted = path.read_bytes()
        got = [next((out / name).rglob(path.name)).read_bytes() for name in ("plain", "fast")]
        same[got[0] == wanted and got[1] == wanted] += 1
    print(f"{same[True]} of {count} files came back byte for byte, {same[False]} did not")
    for pipeline in (
        "image: random_resized_crop(64)",
        "image: decode(exact=true, channels=1) | resize([60, 60])",
        "image: decode(chroma=fused) | random_resized_crop(64)",
    ):
        hashes = [
            command(
                MLDF, "bench", out / f"{name}.mldf", "-p", pipeline, "--hash", "--json", "--on-error", "substitute"
            ).stdout
            for name in ("plain", "fast")
        ]
        lists = [h[h.index(b"batch_hashes") :].split(b"]")[0] for h in hashes]
        print(f"{pipeline}: {'the same batches' if lists[0] == lists[1] else 'OTHER BATCHES'}")
        same[False] += lists[0] != lists[1]
    sys.exit(1 if same[False] else 0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 3000, sys.argv[4:])
