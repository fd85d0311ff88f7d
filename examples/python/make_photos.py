#!/usr/bin/env python3
"""make_photos.py SOURCE OUT [COUNT]: a small dataset of images in two classes, cut from those of SOURCE.

SOURCE is a folder of photos, or any file that mldf opens (.mldf, .beton, .tbl, .tar). Each image gives crops with a shade from
top to bottom; class 1 is upside down. So there is something to learn, and nothing to download.
"""

import os
import pathlib
import sys

import mldf
import numpy as np


def images(source):
    """All images of the source, as arrays (height, width, 3)."""
    if os.path.isdir(source):
        for path in sorted(pathlib.Path(source).rglob("*")):
            if path.suffix.lower() in (".jpg", ".jpeg", ".png"):
                yield mldf.images.decode(path.read_bytes(), channels=3)
        return
    with mldf.open(source, channels=3) as ds:
        name = next(name for name, field in ds.schema.items() if field.is_image)
        for i in range(len(ds)):
            yield np.array(ds[i, name])


def crops(source, count, size=40):
    """(image, label), `count` of them."""
    rng = np.random.default_rng(0)
    photos = [p for p in images(source) if min(p.shape[:2]) > size]
    if not photos:
        sys.exit(f"{source}: no images of more than {size} x {size} pixels")
    shade = np.linspace(60, -60, size, dtype=np.int16)[:, None, None]  # as the sky gives
    for i in range(count):
        photo = photos[i % len(photos)]
        y, x = (int(rng.integers(0, n - size)) for n in photo.shape[:2])
        image = np.clip(photo[y : y + size, x : x + size].astype(np.int16) + shade, 0, 255).astype(np.uint8)
        label = int(rng.integers(0, 2))
        yield (image[::-1].copy() if label else image), label


if __name__ == "__main__":
    source, out = sys.argv[1:3]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 400
    fields = {"image": mldf.Image(encode="jpeg", quality=90), "label": mldf.Int()}
    mldf.write(out, crops(source, count), fields, overwrite=True)
    print(mldf.open(out))
