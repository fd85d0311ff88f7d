"""LeRobot datasets, versions 2.1 and 3, as one file: a row for each step, and cameras as videos in each episode's first
row.

Tables are read through pyarrow. The card keeps info, stats, tasks and episodes.

>>> import mldf
>>> mldf.from_lerobot("no/such/folder", "out.mldf")
Traceback (most recent call last):
...
mldf.errors.NotFoundError: no/such/folder: no LeRobot dataset: meta/info.json is not there
"""

from __future__ import annotations

import json
import os
import pathlib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Unpack

import numpy as np

from .errors import ArgumentError, CorruptError, NotFoundError, UnsupportedError
from .fields import Field, Float, Int, NDArray, Text
from .video import Frames, VideoFrames
from .writer import Writer, WriteResult, WriterOptions

__all__ = ["from_lerobot"]

NUMBERS = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool")


def _table(paths: Sequence[pathlib.Path]) -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise UnsupportedError("from_lerobot reads Parquet files: pip install pyarrow") from None
    return pyarrow.concat_tables([pyarrow.parquet.read_table(path) for path in paths])


def _json(path: pathlib.Path) -> Any:
    return json.loads(path.read_text()) if path.exists() else None


def _lines(path: pathlib.Path) -> Any:
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()] if path.exists() else None


def _meta(root: pathlib.Path, name: str) -> Any:
    """Tasks or episodes: JSON lines in version 2.1, Parquet in 3; without columns of statistics, which are in stats."""
    found = _lines(root / "meta" / f"{name}.jsonl")
    if found is not None:
        return found
    paths = sorted((root / "meta" / name).glob("**/*.parquet")) or sorted((root / "meta").glob(f"{name}.parquet"))
    if not paths:
        return None
    table = _table(paths)
    return table.select([n for n in table.column_names if not n.startswith("stats/")]).to_pylist()


def _fields(info: dict[str, Any], cameras: Sequence[str]) -> dict[str, Field]:
    fields: dict[str, Field] = {}
    for name, feature in info["features"].items():
        kind, shape = feature["dtype"], tuple(int(n) for n in feature.get("shape", ()))
        if kind in ("image", "video"):
            if name in cameras:
                fields[name] = VideoFrames(mode="image", channels=3, nullable=True)
        elif kind == "string":
            fields[name] = Text()
        elif kind in NUMBERS and shape in ((), (1,)):
            fields[name] = Float() if kind.startswith("float") else Int(kind)
        elif kind in NUMBERS:
            fields[name] = NDArray(kind, shape)
        else:
            raise UnsupportedError(f"feature {name!r}: dtype {kind!r} has no field type")
    return fields


def _episodes(episodes: Any) -> Iterator[tuple[int, int]]:
    """The first row of each episode, and the row after its last."""
    ends = [*(np.flatnonzero(episodes[1:] != episodes[:-1]) + 1).tolist(), len(episodes)]
    return zip([0, *ends[:-1]], ends)


# What info.json may ask for in the name of a video; a width of many digits would ask for gigabytes.
_UNKNOWN_PLACE = re.compile(r"\{(?!(video_key|episode_chunk|episode_index|chunk_index|file_index)(:0?\d{1,2}d?)?\})")


def _inside(root: pathlib.Path, name: str) -> pathlib.Path:
    """A file of the dataset; its tables may not name files elsewhere."""
    if os.path.isabs(name) or os.path.normpath(name).startswith(".."):
        raise CorruptError(f"{name!r} lies outside the dataset")
    return root / name


def _images(name: str, cells: Sequence[Any], root: pathlib.Path) -> list[Any]:
    """Of a column of images: their files' bytes."""
    out = []
    for cell in cells:
        data = cell.get("bytes") if isinstance(cell, dict) else cell
        if data is None and isinstance(cell, dict) and cell.get("path"):
            data = _inside(root, cell["path"]).read_bytes()
        if not isinstance(data, bytes):
            raise CorruptError(f"camera {name!r}: a row holds no image")
        out.append(data)
    return out


def _video_file(root: pathlib.Path, info: dict[str, Any], name: str, episode: dict[str, Any]) -> tuple[Any, float]:
    """The episode's MP4 file, and at which second of it the episode begins."""
    number = int(episode["episode_index"])
    if f"videos/{name}/chunk_index" in episode:  # version 3: several episodes in one file
        places = {"chunk_index": "chunk_index", "file_index": "file_index"}
        found = {key: int(episode[f"videos/{name}/{column}"]) for key, column in places.items()}
        start = float(episode.get(f"videos/{name}/from_timestamp", 0.0))
    else:
        found = {"episode_chunk": number // int(info.get("chunks_size", 1000)), "episode_index": number}
        start = 0.0
    if _UNKNOWN_PLACE.search(info["video_path"]):
        raise CorruptError(
            f"meta/info.json: video_path {info['video_path']!r} names something else than the video's place"
        )
    return _inside(root, info["video_path"].format(video_key=name, **found)), start


def _value(kind: str, cell: Any, shape: tuple[int, ...]) -> Any:
    if kind == "string":
        return cell
    array = np.asarray(cell, kind)
    return array.reshape(-1)[0].item() if shape in ((), (1,)) else array.reshape(shape)


def from_lerobot(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    cameras: Sequence[str] | None = None,
    decode: Callable[[pathlib.Path, float, int], Any] | None = None,
    **options: Unpack[WriterOptions],
) -> WriteResult:
    """Packs a LeRobot dataset: a row for each step, ready for ``Loader(group="episode_index", windows=...)``.

    Parameters
    ----------
    source
        The dataset's folder.
    out
        The file that is written.
    cameras
        These alone; None: all. Columns of images need nothing more.
    decode
        Of cameras that are MP4 files: called with the file, the second at which the episode begins, and how many frames
        it has; gives them, as an array or a list of image files.
    **options
        Of the :class:`mldf.Writer`: :class:`mldf.WriterOptions`; a card gets the member "lerobot".
    """
    root = pathlib.Path(source)
    info = _json(root / "meta" / "info.json")
    if info is None:
        raise NotFoundError(f"{os.fspath(source)}: no LeRobot dataset: meta/info.json is not there")
    kinds = {name: feature["dtype"] for name, feature in info["features"].items()}
    all_cameras = [name for name, kind in kinds.items() if kind in ("image", "video")]
    chosen = all_cameras if cameras is None else list(cameras)
    for name in chosen:
        if name not in all_cameras:
            raise ArgumentError(f"cameras: no camera {name!r}; there are {all_cameras}")
        if kinds[name] == "video" and decode is None:
            raise UnsupportedError(
                f"camera {name!r} is stored as MP4 files: give decode=, or name other cameras (cameras=[] for none)"
            )
    paths = sorted((root / "data").glob("**/*.parquet"))
    if not paths:
        raise NotFoundError(f"{os.fspath(source)}: no tables in data/")
    table = _table(paths)
    if "index" in table.column_names:
        table = table.sort_by("index")
    fields = _fields(info, chosen)
    described = _meta(root, "episodes")
    by_number = {int(e["episode_index"]): e for e in described or []}
    card = {
        **(options.get("card") or {}),
        "lerobot": {
            "info": info,
            "stats": _json(root / "meta" / "stats.json"),
            "tasks": _meta(root, "tasks"),
            "episodes": described,
        },
    }
    plain = [name for name in fields if name not in chosen]
    shapes = {name: tuple(int(n) for n in info["features"][name].get("shape", ())) for name in plain}
    rate = info["fps"]
    numbers = np.asarray(table.column("episode_index").to_pylist(), np.int64).reshape(-1)
    options["card"] = card
    with Writer(out, fields, **options) as w:
        for first, end in _episodes(numbers):
            part = table.slice(first, end - first)
            columns = {name: part.column(name).to_pylist() for name in plain}
            videos = {}
            for name in chosen:
                if kinds[name] == "image":
                    frames: Any = _images(name, part.column(name).to_pylist(), root)
                else:
                    episode = by_number.get(int(numbers[first]), {"episode_index": int(numbers[first])})
                    file, start = _video_file(root, info, name, episode)
                    frames = list(decode(file, start, end - first)) if decode is not None else []
                if len(frames) != end - first:
                    raise CorruptError(
                        f"camera {name!r}, episode {int(numbers[first])}: {len(frames)} frames for {end - first} rows"
                    )
                videos[name] = Frames(frames, fps=rate)
            for i in range(end - first):
                row = {name: _value(kinds[name], columns[name][i], shapes[name]) for name in plain}
                row |= {name: video if i == 0 else None for name, video in videos.items()}
                w.append(row)
    assert w.result is not None
    return w.result
