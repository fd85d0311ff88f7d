"""The code in docs/*.md: what runs, and whether "before" and "after" of the pages for people from elsewhere give the same.

A comment before a block of Python says what it is:

    <!-- before -->                     the other library's: makes `loader`, whose batches are random
    <!-- before, equal within 0.02 -->  the same without chance: the "after" blocks up to the next "before" give these values
    <!-- after -->                      ours: batches of the same number, shapes and dtypes; of a dict's entries only
                                        those that "before" has

Used by tests/python/test_pkg_compat.py, and by tools/interop/check_pages.py in the environments of the other libraries.
"""

import os
import pathlib
import re
from typing import NamedTuple

import numpy as np

ROOT = pathlib.Path(os.environ.get("MLDF_SOURCE_DIR") or pathlib.Path(__file__).resolve().parents[2])
COUNT, CLASSES = 32, 4


class Block(NamedTuple):
    page: str
    line: int
    code: str
    label: str

    def run(self, names):
        exec(compile("\n" * (self.line - 1) + self.code, self.page, "exec"), names)


def blocks(page):
    text = (ROOT / "docs" / page).read_text()
    for match in re.finditer(r"(?:<!-- ([^>]*?) -->\n)?```python\n(.*?)```", text, re.S):
        yield Block(page, text.count("\n", 0, match.start(2)) + 1, match.group(2), match.group(1) or "")


def photo(i, height, width):
    """Smooth, so that two ways to resize differ little."""
    y, x = np.mgrid[0:height, 0:width]
    planes = [128 + 90 * np.sin(x / (17 + 5 * c + i % 3) + y / (19 + 3 * c) + i) for c in range(3)]
    return np.stack(planes, -1).astype(np.uint8)


def make_data(folder):
    """In `folder`: photos/ with class folders, photos.mldf of it, train.mldf, train.beton (pixels), train.tar (JPEG)."""
    import mldf

    folder = pathlib.Path(folder)
    for i in range(COUNT):
        path = folder / "photos" / f"class{i % CLASSES}" / f"{i:03}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(mldf.images.encode(photo(i, 48 + i % 5, 64), "png"))
    mldf.pack(folder / "photos", folder / "photos.mldf")
    fields = {"image": mldf.Image(), "label": mldf.Int()}
    rows = [{"image": photo(i, 48 + i % 5, 64), "label": i % CLASSES} for i in range(COUNT)]
    mldf.write(folder / "train.mldf", rows, fields)
    mldf.convert(folder / "train.mldf", folder / "train.beton")
    jpegs = [(mldf.images.encode(row["image"], quality=95, subsampling=444), row["label"]) for row in rows]
    mldf.write(folder / "jpeg.mldf", jpegs, {"jpg": mldf.Image(), "cls": mldf.Int()})
    mldf.convert(folder / "jpeg.mldf", folder / "train.tar")


def batches(loader):
    """Of each batch a dict of name or place to a copy of the array."""
    out = []
    for batch in loader:
        found = {}
        for i, part in enumerate(batch):
            named = part.items() if isinstance(part, dict) else [(i, part)]
            found.update({name: np.array(getattr(value, "numpy", lambda v=value: v)()) for name, value in named})
        out.append(found)
    return out


def compare(block, before, after, tolerance):
    where = f"{block.page}:{block.line}"
    assert len(before) == len(after) > 0, f"{where}: {len(before)} batches before, {len(after)} after"
    for x, y in zip(before, after):
        for name, want in x.items():
            got = y[name]
            assert (got.shape, got.dtype) == (want.shape, want.dtype), f"{where}: {name}: {got.shape} {got.dtype}"
            if tolerance is not None:
                off = np.abs(got.astype(float) - want.astype(float)).max()
                limit = tolerance if want.dtype.kind == "f" else 0
                assert off <= limit, f"{where}: {name} is off by {off}"


def run(page, names):
    """All blocks, in the present folder; those before with the real library, which must be there."""
    before, tolerance, compared = None, None, 0
    for block in blocks(page):
        block.run(names)
        if block.label.startswith("before"):
            within = re.fullmatch(r"before, equal within ([0-9.]+)", block.label)
            tolerance = float(within.group(1)) if within else None
            before = batches(names["loader"])
        elif block.label == "after":
            compare(block, before, batches(names["loader"]), tolerance)
            compared += 1
    assert compared, page
    return compared
