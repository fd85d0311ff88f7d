"""Makes JPEG files for training and testing the codes of the fast JPEG store, from a folder of photos (and drawings).

    python tools/fast_jpeg_photos.py FOLDER OUT     (needs pillow; opencv-python-headless, av and cjpeg where they are there)

Each source goes to training or to testing by the hash of its name, never to both. It is written at several sizes, qualities from 50 to 98, all
samplings, standard and optimised Huffman codes, by the encoders that are installed. The sources of table set 1 were the Debian 12 packages
plasma-workspace-wallpapers, gnome-backgrounds, mate-backgrounds, lxqt-themes, ukui-wallpapers, cinnamon-desktop-data and desktop-base.
"""

import hashlib
import io
import random
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

from PIL import Image

try:
    import cv2
    import numpy as np
except ImportError:
    cv2 = None
try:
    import av
except ImportError:
    av = None

SIZES = [96, 224, 333, 500, 500, 500, 800, 1600]
QUALITIES = [50, 60, 70, 75, 80, 85, 88, 90, 92, 95, 98]


def pillow(image: Image.Image, quality: int, sampling: int, optimize: bool) -> bytes:
    out = io.BytesIO()
    image.save(out, "JPEG", quality=quality, subsampling=sampling, optimize=optimize)
    return out.getvalue()


def cjpeg(image: Image.Image, quality: int, sampling: int, optimize: bool) -> bytes:
    pixels = io.BytesIO()
    image.save(pixels, "PPM")
    command = ["cjpeg", "-quality", str(quality), "-sample", ["1x1", "2x1", "2x2"][sampling]]
    return subprocess.run(command + ["-optimize"] * optimize, input=pixels.getvalue(), capture_output=True, check=True).stdout


def opencv(image: Image.Image, quality: int, sampling: int, optimize: bool) -> bytes:
    factors = [0x111111, 0x211111, 0x221111][sampling]
    options = [cv2.IMWRITE_JPEG_QUALITY, quality, cv2.IMWRITE_JPEG_SAMPLING_FACTOR, factors, cv2.IMWRITE_JPEG_OPTIMIZE, int(optimize)]
    return cv2.imencode(".jpg", np.asarray(image)[:, :, ::-1], options)[1].tobytes()


def ffmpeg(image: Image.Image, quality: int, sampling: int, optimize: bool) -> bytes:
    codec = av.CodecContext.create("mjpeg", "w")
    codec.width, codec.height = image.size
    codec.pix_fmt = ["yuvj444p", "yuvj422p", "yuvj420p"][sampling]
    codec.time_base = Fraction(1, 25)
    codec.qmin = codec.qmax = max(2, (100 - quality) // 3)
    codec.options = {"huffman": "optimal" if optimize else "default"}
    frame = av.VideoFrame.from_ndarray(np.asarray(image), format="rgb24").reformat(format=codec.pix_fmt)
    return b"".join(bytes(packet) for packet in codec.encode(frame) + codec.encode(None))


def main(folder: str, target: str, each: int = 10) -> None:
    encoders = [pillow, pillow] + [cjpeg] * bool(shutil.which("cjpeg")) + [opencv] * (cv2 is not None)
    encoders += [ffmpeg] * (av is not None)
    Image.MAX_IMAGE_PIXELS = None
    for path in sorted(p for p in Path(folder).rglob("*") if p.is_file() and p.suffix.lower() in {".jpg", ".jpeg", ".png"}):
        digest = hashlib.sha256(path.name.encode()).digest()
        rng = random.Random(digest)
        part = Path(target) / ("test" if digest[0] % 4 == 0 else "train")
        part.mkdir(parents=True, exist_ok=True)
        try:
            source = Image.open(path)
            if max(source.size) < 300:
                continue
            source.draft("RGB", (1600, 1600))
            source = source.convert("RGB")
        except OSError:
            continue
        for i in range(each):
            size = rng.choice(SIZES)
            image = source.copy()
            image.thumbnail((size, size))
            if rng.random() < 0.5 and min(image.size) > 64:  # a part: more detail than the whole
                whole = source.copy()
                whole.thumbnail((2 * size, 2 * size))
                x, y = rng.randrange(whole.width // 2), rng.randrange(whole.height // 2)
                image = whole.crop((x, y, min(x + size, whole.width), min(y + size, whole.height)))
            sampling = rng.choice([2, 2, 2, 2, 1, 0])
            encoder = rng.choice(encoders)
            data = encoder(image, rng.choice(QUALITIES), sampling, rng.random() < 0.5)
            (part / f"{path.stem}-{digest.hex()[:6]}-{i}.jpg").write_bytes(data)


if __name__ == "__main__":
    main(*sys.argv[1:3])
