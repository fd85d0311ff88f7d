"""What notebooks show of a dataset and of a loader's statistics: HTML, for Jupyter and its like.

All text that comes from files is escaped. Nothing here raises because of what is in a file: a sample that cannot be
read shows its error.
"""

from __future__ import annotations

import base64
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import images
from .errors import Error
from .sample import brief

if TYPE_CHECKING:
    from .dataset import Dataset
    from .loader_stats import LoaderStats

SAMPLES = 5
FIELDS = 16
SIDE = 64  # pixels of a thumbnail's longer side
_LEFT = ' style="text-align: left"'


def table(head: list[str], body: list[list[str]]) -> str:
    """Of cells that are HTML already."""
    top = "".join(f"<th{_LEFT}>{cell}</th>" for cell in head)
    rows = "".join("<tr>" + "".join(f"<td{_LEFT}>{cell}</td>" for cell in row) + "</tr>" for row in body)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{rows}</tbody></table>"


def dataset_html(dataset: Dataset, title: str, closed: bool) -> str:
    """The fields, and the first samples with small images."""
    schema = list(dataset.schema.items())
    shown = schema[:FIELDS]
    more = ["…"] * (len(schema) > FIELDS)
    head = ["", *(f"{escape(name)}<br><small>{escape(str(field))}</small>" for name, field in shown), *more]
    count = 0 if closed else min(SAMPLES, len(dataset))
    body = [[str(i), *(value_html(dataset, i, name) for name, _ in shown), *more] for i in range(count)]
    if len(dataset) > count > 0:
        body.append(["…"] + [""] * (len(head) - 1))
    return f"<div><code>{escape(title)}</code>{table(head, body)}</div>"


def value_html(dataset: Dataset, i: int, name: str) -> str:
    """One value: a thumbnail of an image, else a few characters."""
    try:
        if dataset.schema[name].is_image:
            return image_html(dataset, i, name)
        return f"<code>{escape(brief(dataset[i, name]))}</code>"
    except Exception as error:  # of a user's own field, too
        return f"<i>{escape(type(error).__name__)}: {escape(str(error)[:80])}</i>"


def image_html(dataset: Dataset, i: int, name: str) -> str:
    """A thumbnail and the image's size."""
    data = dataset.raw(i, name)
    if data is None:
        return "<code>None</code>"
    try:
        about = images.probe(data)
    except Error:  # stored raw
        pixels = dataset.with_options(decode=True, channels=0)[i, name]
        if isinstance(pixels, bytes):  # a file of a kind that is not known here
            return f"<code>{escape(brief(pixels))}</code>"
        height, width = pixels.shape[:2]
    else:
        height, width = about["height"], about["width"]
        scale = next((s for s in (8, 4, 2) if max(height, width) >= 2 * s * SIDE), 1)
        pixels = images.decode(data, scale=scale if about["format"] == "jpeg" else 1)
    uri = base64.b64encode(thumbnail(pixels)).decode()
    return f'<img src="data:image/png;base64,{uri}"><br><small>{height} × {width}</small>'


def thumbnail(pixels: npt.NDArray[Any]) -> bytes:
    """A small PNG."""
    if pixels.dtype == np.uint16:
        pixels = (pixels >> 8).astype(np.uint8)
    height, width = pixels.shape[:2]
    ratio = min(1.0, SIDE / max(height, width))
    size = max(1, round(width * ratio)), max(1, round(height * ratio))
    return images.encode(images.resize(pixels, *size), "png")


def stats_html(stats: LoaderStats) -> str:
    """The verdict, and the steps as bars."""
    work = sum(stats.steps.values())
    body = []
    for name, seconds in stats.steps.items():
        share = 100 * seconds / work if work else 0.0
        bar = f'<div style="background: #69c; height: 0.8em; width: {1.5 * share:.0f}px"></div>'
        body.append([escape(name), f"{seconds:.3f} s", f"{share:.1f} %", bar])
    lines = str(stats).splitlines()
    first, last = escape(lines[0]), escape(lines[-1].strip())
    bad = f"<br>{stats.bad_samples} bad samples" if stats.bad_samples else ""
    steps = table(["step", "all threads", "share", ""], body)
    return f"<div>{first}<br><b>{escape(stats.verdict)}</b>{bad}{steps}<small>{last}</small></div>"
