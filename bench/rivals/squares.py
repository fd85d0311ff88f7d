#!/usr/bin/env python3
"""squares.py PHOTOS FOLDER SIDE: square PNG images of one side, a central part of each photo; of 32 pixels, many from each."""
import pathlib
import sys

from PIL import Image

photos, folder, side = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])
for path in sorted(photos.rglob("*.jpg")):
    target = folder / path.parent.name
    target.mkdir(parents=True, exist_ok=True)
    with Image.open(path) as image:
        if side > 32:
            short = min(image.size)
            x, y = (image.width - short) // 2, (image.height - short) // 2
            image.resize((side, side), Image.Resampling.BILINEAR, (x, y, x + short, y + short)).save(
                target / f"{path.stem}.png", compress_level=1)
        else:
            small = image.resize((side * 4, side * 4), Image.Resampling.BILINEAR)
            for i in range(16):
                x, y = i % 4 * side, i // 4 * side
                small.crop((x, y, x + side, y + side)).save(target / f"{path.stem}_{i:02d}.png", compress_level=1)
