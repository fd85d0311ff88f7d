#!/usr/bin/env python3
"""Makes the odd pictures in tests/data/images. Run once with Pillow; the results are committed, so the tests need no Pillow.

    python3 tests/data/make_images.py [FOLDER]
"""
import pathlib
import struct
import sys
import zlib

from PIL import Image

OUT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "images")


def gradient(width, height):
    image = Image.new("RGB", (width, height))
    image.putdata([(x * 255 // width, y * 255 // height, (x ^ y) & 255) for y in range(height) for x in range(width)])
    return image


def png_16_bit(width, height):
    """Gray, 16 bits, written by hand: every sample has another low byte."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + b"".join(struct.pack(">H", (y * width + x) * 257 + x & 0xffff) for x in range(width))
                    for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 16, 0, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    picture = gradient(48, 32)
    picture.save(OUT / "rgb.jpg", quality=80)
    picture.convert("L").save(OUT / "gray.jpg", quality=80)
    picture.convert("CMYK").save(OUT / "cmyk.jpg", quality=80)
    picture.save(OUT / "progressive.jpg", quality=80, progressive=True)
    exif = Image.Exif()
    exif[0x0112] = 6
    picture.save(OUT / "rotated.jpg", quality=80, exif=exif)
    picture.save(OUT / "rgb.png", optimize=True)
    picture.save(OUT / "wrong_name.png", format="JPEG", quality=80)
    (OUT / "sixteen.png").write_bytes(png_16_bit(8, 8))
    Image.new("RGB", (1, 1), (255, 0, 0)).save(OUT / "one.png")
    picture.resize((12, 8)).save(OUT / "rgb.bmp")
    picture.resize((12, 8)).save(OUT / "rgb.tif")
    picture.save(OUT / "lossless.webp", lossless=True)
    frames = [Image.new("RGB", (16, 16), (40 * i, 0, 0)) for i in range(4)]
    frames[0].save(OUT / "animated.webp", save_all=True, append_images=frames[1:], duration=100, lossless=True)
    whole = (OUT / "rgb.jpg").read_bytes()
    (OUT / "truncated.jpg").write_bytes(whole[:-80])
    (OUT / "empty.jpg").write_bytes(b"")
    (OUT / "not_a_picture.jpg").write_bytes(b"this is no picture\n" * 4)


main()
