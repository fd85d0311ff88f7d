#!/usr/bin/env python3
"""Made the JPEG and WebP files beside it, once, with Pillow. They are committed and never made again: another encoder gives other bytes.

.venv/bin/python tests/net/data/make.py
"""

import pathlib
import sys

from PIL import Image

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "python"))
import net_data  # noqa: E402


def image(seed, height, width, channels=3):
    return Image.fromarray(net_data.photo(seed, height, width, channels).squeeze())


def main():
    if (HERE / "wide.jpg").exists():
        sys.exit("make.py: the files are there, and stay as they are")
    image(1, 150, 220).save(HERE / "wide.jpg", quality=85, subsampling=2)
    image(2, 203, 131).save(HERE / "tall.jpg", quality=80, subsampling=1)
    image(3, 140, 170, 1).save(HERE / "gray_large.jpg", quality=80)
    image(4, 121, 97).save(HERE / "progressive.jpg", quality=75, progressive=True, subsampling=2)
    image(5, 90, 160).save(HERE / "444.jpg", quality=90, subsampling=0)
    image(6, 37, 45).save(HERE / "small.jpg", quality=80, subsampling=2)
    image(7, 80, 110).save(HERE / "lossy.webp", quality=70)
    image(8, 61, 40).save(HERE / "lossy2.webp", quality=90)


main()
