"""LeRobot folders of both versions, made here, packed and loaded with windows: every value is the folder's."""

import json

import mldf
import numpy as np
import pytest
from mldf import images

pyarrow = pytest.importorskip("pyarrow")
import pyarrow.parquet as parquet  # noqa: E402

LENGTHS, FPS = (9, 4, 6), 10


def folder(root, version, camera):
    """A dataset of three episodes; camera: "image" columns, or "video" files."""
    rng = np.random.default_rng(1)
    rows, videos = [], []
    for episode, n in enumerate(LENGTHS):
        videos.append(rng.integers(0, 255, (n, 12, 16, 3), np.uint8))
        for t in range(n):
            row = {
                "observation.state": rng.normal(size=3).astype(np.float32).tolist(),
                "action": rng.normal(size=2).astype(np.float32).tolist(),
                "timestamp": np.float32(t / FPS).item(),
                "frame_index": t,
                "episode_index": episode,
                "index": len(rows),
                "task_index": episode % 2,
                "next.done": t == n - 1,
            }
            if camera == "image":
                png = images.encode(videos[-1][t], format="png")
                row["observation.images.top"] = {"bytes": png, "path": None}
            rows.append(row)
    one = {"dtype": "int64", "shape": [1], "names": None}
    features = {
        "observation.state": {"dtype": "float32", "shape": [3], "names": None},
        "action": {"dtype": "float32", "shape": [2], "names": None},
        "timestamp": {"dtype": "float32", "shape": [1], "names": None},
        **dict.fromkeys(("frame_index", "episode_index", "index", "task_index"), one),
        "next.done": {"dtype": "bool", "shape": [1], "names": None},
        "observation.images.top": {"dtype": camera, "shape": [12, 16, 3], "names": ["height", "width", "channel"]},
    }
    info = {"codebase_version": version, "fps": FPS, "features": features, "total_episodes": len(LENGTHS)}
    (root / "meta").mkdir(parents=True)
    (root / "data" / "chunk-000").mkdir(parents=True)
    tasks = [{"task_index": 0, "task": "push"}, {"task_index": 1, "task": "pull"}]
    episodes = [{"episode_index": i, "length": n, "tasks": ["push"]} for i, n in enumerate(LENGTHS)]
    if version == "v3.0":
        info["video_path"] = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
        starts = np.cumsum([0, *LENGTHS[:-1]])
        for episode, start in zip(episodes, starts.tolist()):
            place = {"chunk_index": 0, "file_index": 0, "from_timestamp": start / FPS}
            episode |= {f"videos/observation.images.top/{key}": value for key, value in place.items()}
            episode["stats/action/mean"] = [0.0, 0.0]
        (root / "meta" / "episodes" / "chunk-000").mkdir(parents=True)
        parquet.write_table(pyarrow.Table.from_pylist(tasks), root / "meta" / "tasks.parquet")
        parquet.write_table(pyarrow.Table.from_pylist(episodes), root / "meta/episodes/chunk-000/file-000.parquet")
        half = len(rows) // 2  # files of version 3 cut episodes where they like
        for i, part in enumerate((rows[:half], rows[half:])):
            parquet.write_table(pyarrow.Table.from_pylist(part), root / f"data/chunk-000/file-{i:03d}.parquet")
    else:
        info["video_path"] = "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"
        for name, lines in (("tasks", tasks), ("episodes", episodes)):
            (root / "meta" / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
        for e in range(len(LENGTHS)):
            part = [row for row in rows if row["episode_index"] == e]
            parquet.write_table(pyarrow.Table.from_pylist(part), root / f"data/chunk-000/episode_{e:06d}.parquet")
    (root / "meta" / "info.json").write_text(json.dumps(info))
    (root / "meta" / "stats.json").write_text(json.dumps({"action": {"mean": [0.5, 0.25]}}))
    return rows, videos


@pytest.mark.parametrize("version", ["v2.1", "v3.0"])
@pytest.mark.parametrize("camera", ["image", "video"])
def test_a_folder_packs_and_loads(tmp_path, version, camera):
    rows, videos = folder(tmp_path / "pusht", version, camera)
    asked = []

    def decode(path, start, count):
        asked.append((str(path.relative_to(tmp_path / "pusht")), start, count))
        return videos[len(asked) - 1]

    result = mldf.from_lerobot(tmp_path / "pusht", tmp_path / "x.mldf", decode=decode)
    assert result.samples == len(rows)
    if camera == "video":
        names = [f"videos/chunk-000/observation.images.top/episode_{e:06d}.mp4" for e in range(3)]
        starts = [0.0] * 3
        if version == "v3.0":
            names = ["videos/observation.images.top/chunk-000/file-000.mp4"] * 3
            starts = [0.0, 0.9, 1.3]
        assert asked == list(zip(names, starts, LENGTHS))
    with mldf.open(tmp_path / "x.mldf") as ds:
        card = ds.card["lerobot"]
        assert card["stats"] == {"action": {"mean": [0.5, 0.25]}} and card["tasks"][1]["task"] == "pull"
        assert [e["length"] for e in card["episodes"]] == list(LENGTHS) and "stats/action/mean" not in card["episodes"][
            0
        ]
        for i, row in enumerate(rows):
            for name in ("observation.state", "action"):
                np.testing.assert_array_equal(ds[i][name], np.asarray(row[name], np.float32))
            assert ds[i]["next.done"] is row["next.done"] and ds[i]["timestamp"] == row["timestamp"]
            assert (ds[i]["observation.images.top"] is None) == (row["frame_index"] > 0)
    loader = mldf.Loader(
        tmp_path / "x.mldf",
        4,
        shuffle=True,
        group="episode_index",
        tolerance=1e-4,
        edge="clamp",
        last="keep",
        row=True,
        windows={"action": range(4), "observation.state": [-1, 0], "observation.images.top": [-1 / FPS, 0.0]},
        pipelines={"observation.images.top": [mldf.Resize((12, 16)), mldf.CHW("f32")]},
    )
    count = 0
    for b in loader:
        for i, index in enumerate(b["row"].tolist()):
            row, count = rows[index], count + 1
            first = index - row["frame_index"]
            last = first + LENGTHS[row["episode_index"]] - 1
            want = [rows[min(index + k, last)]["action"] for k in range(4)]
            np.testing.assert_array_equal(b["action"][i], np.asarray(want, np.float32))
            np.testing.assert_array_equal(b["action_is_pad"][i], [index + k > last for k in range(4)])
            frames = videos[row["episode_index"]][[max(row["frame_index"] - 1, 0), row["frame_index"]]]
            np.testing.assert_array_equal(b["observation.images.top"][i], frames.transpose(0, 3, 1, 2))
            np.testing.assert_array_equal(b["observation.images.top_is_pad"][i], [row["frame_index"] == 0, False])
    assert count == len(rows)


def test_mistakes(tmp_path):
    folder(tmp_path / "x", "v3.0", "video")
    with pytest.raises(mldf.errors.UnsupportedError, match="MP4 files: give decode="):
        mldf.from_lerobot(tmp_path / "x", tmp_path / "x.mldf")
    with pytest.raises(mldf.Error, match="no camera 'left'"):
        mldf.from_lerobot(tmp_path / "x", tmp_path / "x.mldf", cameras=["left"])
    with pytest.raises(mldf.errors.CorruptError, match="episode 0: 3 frames for 9 rows"):
        mldf.from_lerobot(tmp_path / "x", tmp_path / "x.mldf", decode=lambda *_: np.zeros((3, 4, 4, 3), np.uint8))
    assert not (tmp_path / "x.mldf").exists()
    mldf.from_lerobot(tmp_path / "x", tmp_path / "x.mldf", cameras=[])
    assert "observation.images.top" not in mldf.open(tmp_path / "x.mldf").schema


def test_options_are_a_writers_and_a_card_is_kept(tmp_path):
    folder(tmp_path / "x", "v3.0", "image")
    options: mldf.WriterOptions = {"card": {"title": "pushes"}, "overwrite": True, "threads": 0}
    for _ in range(2):
        mldf.from_lerobot(tmp_path / "x", tmp_path / "x.mldf", cameras=[], **options)
    card = mldf.open(tmp_path / "x.mldf").card
    assert card["title"] == "pushes"
    assert card["lerobot"]["info"]["fps"]
    assert options["card"] == {"title": "pushes"}
    with pytest.raises(TypeError, match="overwrites"):
        mldf.from_lerobot(tmp_path / "x", tmp_path / "x.mldf", overwrites=True)
