#!/usr/bin/env python3
"""Photos for the comparison with other loaders: crops of Debian's wallpapers, 500x375 or 375x500, quality 88 to 95, 4:2:0.

    photos.py FOLDER [COUNT]      writes FOLDER/<class>/<number>.jpg; the same files on every run with the same wallpapers
"""
import pathlib
import random
import sys

from PIL import Image

CLASSES = 10


def sources():
    found = []
    for folder in ("/usr/share/backgrounds", "/usr/share/wallpapers", "/usr/share/lomiri-wallpapers"):
        found += [p for p in sorted(pathlib.Path(folder).rglob("*.jpg")) if p.is_file() and not p.is_symlink()]
    large = []
    for path in found:
        with Image.open(path) as image:
            if min(image.size) >= 1000 and image.mode == "RGB":
                large.append(path)
    if len(large) < 5:
        sys.exit("photos.py: too few wallpapers; apt-get install plasma-workspace-wallpapers gnome-backgrounds")
    return large


def main(folder, count):
    folder = pathlib.Path(folder)
    paths = sources()
    chance = random.Random(1)
    per_source = -(-count // len(paths))
    number = 0
    for path in paths:
        with Image.open(path) as image:
            image.load()
            for _ in range(per_source):
                if number == count:
                    return
                width, height = (500, 375) if chance.random() < 0.7 else (375, 500)
                # The wallpapers are sharper than what people photograph: half the crops are taken at a reduced size.
                reduce = chance.choice((1, 2)) if min(image.size) >= 2 * 520 else 1
                x = chance.randrange(image.width - width * reduce + 1)
                y = chance.randrange(image.height - height * reduce + 1)
                crop = image.crop((x, y, x + width * reduce, y + height * reduce))
                if reduce > 1:
                    crop = crop.resize((width, height), Image.Resampling.LANCZOS)
                target = folder / f"class{number % CLASSES}" / f"{number:06d}.jpg"
                target.parent.mkdir(parents=True, exist_ok=True)
                crop.save(target, quality=chance.randrange(88, 96), subsampling="4:2:0")
                number += 1


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3000)
