"""LeRobot datasets, versions 2.1 and 3, as one file: a row for each step, and cameras as videos in each episode's first
row.

Tables are read through pyarrow. Episodes are cut out of the dataset's MP4 files by packets: nothing is encoded again.
The card keeps info, stats, tasks and episodes. The same from a shell: ``python3 -m mldf.lerobot pusht/ -o pusht.mldf``.

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
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Unpack

import numpy as np

from .errors import ArgumentError, CorruptError, Error, NotFoundError, UnsupportedError
from .fields import Field, Float, Int, NDArray, Text
from .video import CompressedVideo, Frames, Video, VideoFrames
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


def _fields(info: dict[str, Any], cameras: Sequence[str], packets: bool) -> dict[str, Field]:
    fields: dict[str, Field] = {}
    for name, feature in info["features"].items():
        kind, shape = feature["dtype"], tuple(int(n) for n in feature.get("shape", ()))
        if kind in ("image", "video"):
            if name in cameras and kind == "video" and packets:
                fields[name] = CompressedVideo(audio=False, nullable=True)
            elif name in cameras:
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


def _opened(file: pathlib.Path) -> tuple[Video, Any]:
    """An MP4 file taken apart, and the seconds from its first frame on that its frames are shown at."""
    video = Video.pack(file, audio=False)
    pts = video.pts  # made for all frames each time that it is asked for
    return video, pts - pts[0]


class _Files:
    """MP4 files taken apart, each once while episodes follow each other: the file at hand and the next one of each
    camera, which another thread works on meanwhile.

    wanted  of each camera: its file for each episode, in order
    """

    def __init__(self, wanted: dict[str, list[pathlib.Path]]) -> None:
        self._wanted = wanted
        self._following = {camera: self._others(files) for camera, files in wanted.items()}
        import concurrent.futures  # the package is imported without it

        self._pool = concurrent.futures.ThreadPoolExecutor(max(1, min(4, os.cpu_count() or 1)))
        self._made: dict[tuple[str, pathlib.Path], concurrent.futures.Future[tuple[Video, Any]]] = {}

    @staticmethod
    def _others(files: list[pathlib.Path]) -> list[pathlib.Path]:
        """For each episode the first other file that a later one is in; its own where there is none."""
        out = list(files)
        for i in range(len(files) - 2, -1, -1):
            if files[i + 1] != files[i]:
                out[i] = files[i + 1]
            elif out[i + 1] != files[i + 1]:
                out[i] = out[i + 1]
        return out

    def get(self, camera: str, episode: int) -> tuple[Video, Any]:
        """The file of a camera's episode, counted from 0, and the second that each of its frames is shown at."""
        at_hand, following = self._wanted[camera][episode], self._following[camera][episode]
        kept = ((camera, at_hand), (camera, following))
        for key in [key for key in self._made if key[0] == camera and key not in kept]:
            del self._made[key]
        for key in kept:
            if key not in self._made:
                self._made[key] = self._pool.submit(_opened, key[1])
        try:
            return self._made[camera, at_hand].result()
        except FileNotFoundError:
            raise NotFoundError(f"camera {camera!r}: {os.fspath(at_hand)} is not there") from None
        except Error as e:
            raise type(e)(f"{os.fspath(at_hand)}: {e}") from e

    def close(self) -> None:
        """Ends the threads; what was begun is finished first, what was not is left."""
        self._pool.shutdown(cancel_futures=True)


def _episode(
    name: str, number: int, file: pathlib.Path, opened: tuple[Video, Any], times: Any, tolerance: float
) -> Video:
    """Of a file's video the frames of one episode, whose rows are shown at these seconds of the file."""
    video, shown = opened
    after = np.clip(np.searchsorted(shown, times), 1, max(len(shown) - 1, 1))
    before = after - 1
    after = np.minimum(after, len(shown) - 1)
    nearest = np.where(np.abs(shown[before] - times) <= np.abs(shown[after] - times), before, after)
    away = np.abs(shown[nearest] - times)
    if not (away <= tolerance).all():
        row = int(np.argmax(~(away <= tolerance)))
        raise CorruptError(
            f"camera {name!r}, episode {number}, row {row}: {os.fspath(file)} has no frame at {times[row]:.6f} s; the "
            f"nearest of {len(shown)}, frame {int(nearest[row])}, is {away[row]:.6f} s away"
        )
    return video.cut(int(nearest[0]), int(nearest[-1]) + 1)


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
    tolerance: float = 1e-4,
    **options: Unpack[WriterOptions],
) -> WriteResult:
    """Packs a LeRobot dataset: a row for each step, ready for ``Loader(group="episode_index", windows=...)``.

    Of MP4 files the packets of each episode are copied, from the key frame that its first frame needs on; columns of
    images are kept as they are.

    Parameters
    ----------
    source
        The dataset's folder.
    out
        The file that is written.
    cameras
        These alone; None: all.
    decode
        Stores cameras that are MP4 files frame by frame instead: called with the file, the second at which the episode
        begins, and how many frames it has; gives them, as an array or a list of image files.
    tolerance
        Seconds that a row's time and its frame's may differ by.
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
    paths = sorted((root / "data").glob("**/*.parquet"))
    if not paths:
        raise NotFoundError(f"{os.fspath(source)}: no tables in data/")
    table = _table(paths)
    if "index" in table.column_names:
        table = table.sort_by("index")
    fields = _fields(info, chosen, decode is None)
    described = _meta(root, "episodes")
    by_number = {int(e["episode_index"]): e for e in described or []}
    options["card"] = {
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
    numbers = np.asarray(table.column("episode_index").to_pylist(), np.int64).reshape(-1)
    episodes = list(_episodes(numbers))
    places: dict[str, list[tuple[pathlib.Path, float]]] = {}
    for name in (name for name in chosen if kinds[name] == "video"):
        found = (
            {"episode_index": int(numbers[first])} | by_number.get(int(numbers[first]), {}) for first, _ in episodes
        )
        places[name] = [_video_file(root, info, name, episode) for episode in found]
    files = _Files({name: [file for file, _ in found] for name, found in places.items()})

    def camera(name: str, k: int, part: Any) -> Any:
        number = int(numbers[episodes[k][0]])
        if name in places and decode is None:
            file, start = places[name][k]
            times = start + np.asarray(part.column("timestamp").to_pylist(), np.float64).reshape(-1)
            return _episode(name, number, file, files.get(name, k), times, tolerance)
        if name in places and decode is not None:
            frames: Any = list(decode(*places[name][k], len(part)))
        else:
            frames = _images(name, part.column(name).to_pylist(), root)
        if len(frames) != len(part):
            raise CorruptError(f"camera {name!r}, episode {number}: {len(frames)} frames for {len(part)} rows")
        return Frames(frames, fps=info["fps"])

    try:
        with Writer(out, fields, **options) as w:
            for k, (first, end) in enumerate(episodes):
                part = table.slice(first, end - first)
                columns = {name: part.column(name).to_pylist() for name in plain}
                videos = {name: camera(name, k, part) for name in chosen}
                for i in range(end - first):
                    row = {name: _value(kinds[name], columns[name][i], shapes[name]) for name in plain}
                    w.append(row | {name: video if i == 0 else None for name, video in videos.items()})
    finally:
        files.close()
    assert w.result is not None
    return w.result


def main(arguments: Sequence[str] | None = None) -> int:
    """``python3 -m mldf.lerobot FOLDER -o OUT``

    Parameters
    ----------
    arguments
        Of the command; None: the process's.
    """
    import argparse  # the package is imported without it

    parser = argparse.ArgumentParser(prog="python3 -m mldf.lerobot", description="Pack a LeRobot dataset (2.1 or 3).")
    parser.add_argument("folder", help="the dataset's folder, which has meta/info.json")
    parser.add_argument("-o", "--output", required=True, metavar="OUT", help="the file that is written")
    parser.add_argument("--camera", action="append", metavar="NAME", help="this camera alone; may be repeated")
    parser.add_argument("--no-cameras", action="store_true", help="the tables alone")
    parser.add_argument("--tolerance", type=float, default=1e-4, metavar="SECONDS", help="between a row and its frame")
    parser.add_argument("-f", "--force", action="store_true", help="overwrite OUT")
    given = parser.parse_args(arguments)
    cameras = [] if given.no_cameras else given.camera
    try:
        made = from_lerobot(
            given.folder, given.output, cameras=cameras, tolerance=given.tolerance, overwrite=given.force
        )
    except Error as e:
        print(f"mldf.lerobot: {e}", file=sys.stderr)
        return 1 if isinstance(e, CorruptError) else 2 if isinstance(e, ArgumentError) else 3
    print(f"{made.samples} rows, {made.bytes} bytes", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
