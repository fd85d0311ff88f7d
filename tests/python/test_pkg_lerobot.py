"""LeRobot folders of both versions, made here, packed and loaded with windows: every value is the folder's."""

import json
import subprocess
import sys

import mldf
import numpy as np
import pytest
from codec_files import OUTSIDE
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
    with pytest.raises(mldf.errors.NotFoundError, match="file-000.mp4 is not there"):
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


# ---- MP4 files ----

EXACT = ("-c:v", "libx264rgb", "-qp", "0")  # lossless: frames are the arrays
CODECS = {
    "b": (*EXACT, "-g", "7", "-bf", "2"),  # keys do not fall on the episodes' first frames
    "g2": (*EXACT, "-g", "2", "-bf", "0"),
    "one_key": (*EXACT, "-g", "250", "-bf", "3"),
}


def encode(path, frames, options, fps=FPS):
    path.parent.mkdir(parents=True, exist_ok=True)
    height, width = frames.shape[1:3]
    command = [
        "ffmpeg",
        "-v",
        "error",
        "-y",
        "-f",
        "rawvideo",
        "-pix_fmt",
        "rgb24",
        "-s",
        f"{width}x{height}",
        "-r",
        str(fps),
    ]
    command += ["-i", "-", *options, "-r", str(fps), str(path)]
    subprocess.run(command, input=np.ascontiguousarray(frames).tobytes(), check=True, env=OUTSIDE)


def with_files(root, version, options):
    rows, videos = folder(root, version, "video")
    if version == "v3.0":
        encode(root / "videos/observation.images.top/chunk-000/file-000.mp4", np.concatenate(videos), options)
    else:
        for e, frames in enumerate(videos):
            encode(root / f"videos/chunk-000/observation.images.top/episode_{e:06d}.mp4", frames, options)
    return rows, videos


@pytest.mark.parametrize("version", ["v2.1", "v3.0"])
@pytest.mark.parametrize("codec", CODECS)
def test_episodes_are_cut_out_of_mp4_files(tmp_path, version, codec):
    """Every frame of every row and delta is the one that was encoded, bit for bit."""
    rows, videos = with_files(tmp_path / "x", version, CODECS[codec])
    made = mldf.from_lerobot(tmp_path / "x", tmp_path / "x.mldf")
    assert made.samples == len(rows) and made.fields["observation.images.top"].type == "video_compressed"
    starts = np.cumsum([0, *LENGTHS[:-1]])
    with mldf.open(tmp_path / "x.mldf") as ds:
        for first, frames in zip(starts.tolist(), videos):
            video = ds[first]["observation.images.top"]
            assert video.ticks[0] == 0 and len(video) == len(frames)
            np.testing.assert_array_equal(np.asarray(video), frames)
        assert all(ds[i]["observation.images.top"] is None for i in range(len(rows)) if i not in starts)
        assert mldf.verify(tmp_path / "x.mldf", deep=True).ok
    for shuffle, threads in ((False, 0), (True, 2)):
        loader = mldf.Loader(
            tmp_path / "x.mldf",
            4,
            shuffle=shuffle,
            threads=threads,
            group="episode_index",
            last="keep",
            row=True,
            delta_timestamps={"action": [0.0, 1 / FPS], "observation.images.top": [-2 / FPS, -1 / FPS, 0.0]},
            pipelines={"observation.images.top": [mldf.CHW("f32")]},
        )
        seen = []
        for b in loader:
            for i, index in enumerate(b["row"].tolist()):
                row = rows[index]
                at = [row["frame_index"] + k for k in (-2, -1, 0)]
                frames = videos[row["episode_index"]][np.maximum(at, 0)]
                np.testing.assert_array_equal(b["observation.images.top"][i], frames.transpose(0, 3, 1, 2))
                np.testing.assert_array_equal(b["observation.images.top_is_pad"][i], [t < 0 for t in at])
                seen.append(index)
        assert sorted(seen) == list(range(len(rows)))


def pusht(root, options):
    """Two episodes of 50 rows at 30 frames a second, in one file."""
    episodes, rng, rows = 2, np.random.default_rng(0), []
    for e in range(episodes):
        for t in range(50):
            row = {"observation.state": [t / 50.0, e * 1.0], "action": rng.normal(size=2).tolist(), "timestamp": t / 30}
            rows.append(row | {"frame_index": t, "episode_index": e, "index": len(rows), "task_index": 0})
    one, two = {"dtype": "int64", "shape": [1]}, {"dtype": "float32", "shape": [2]}
    camera = "observation.images.top"
    info = {"codebase_version": "v3.0", "fps": 30, "features": {
        "observation.state": two, "action": two, "timestamp": {"dtype": "float32", "shape": [1]},
        **dict.fromkeys(("frame_index", "episode_index", "index", "task_index"), one),
        camera: {"dtype": "video", "shape": [96, 128, 3]}},
        "video_path": "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"}  # fmt: skip
    about = [{"episode_index": e, "length": 50, f"videos/{camera}/chunk_index": 0, f"videos/{camera}/file_index": 0,
              f"videos/{camera}/from_timestamp": e * 50 / 30} for e in range(episodes)]  # fmt: skip
    for name in ("data/chunk-000", "meta/episodes/chunk-000", f"videos/{camera}/chunk-000"):
        (root / name).mkdir(parents=True)
    (root / "meta/info.json").write_text(json.dumps(info))
    parquet.write_table(pyarrow.Table.from_pylist(rows), root / "data/chunk-000/file-000.parquet")
    parquet.write_table(pyarrow.Table.from_pylist(about), root / "meta/episodes/chunk-000/file-000.parquet")
    path = root / "videos" / camera / "chunk-000/file-000.mp4"
    source = ("-f", "lavfi", "-i", "testsrc2=size=128x96:rate=30", "-frames:v", "100")
    subprocess.run(
        ["ffmpeg", "-v", "error", "-y", *source, "-pix_fmt", "yuv420p", *options, path], check=True, env=OUTSIDE
    )


@pytest.mark.parametrize("options", [("-c:v", "libsvtav1", "-g", "2", "-crf", "30"), ("-c:v", "libx264", "-g", "2")])
def test_the_lines_that_must_work(tmp_path, monkeypatch, options):
    pusht(tmp_path / "pusht_v3", options)
    monkeypatch.chdir(tmp_path)
    mldf.from_lerobot("pusht_v3/", "pusht.mldf")  # packets copied; stats and tasks into the card
    loader = mldf.Loader("pusht.mldf", 64, shuffle=True, group="episode_index", tolerance=1e-4, edge="clamp",
        windows={"action": range(0, 16), "observation.state": [-1, 0], "observation.images.top": [-1/30, 0.0]},
        pipelines={"observation.images.top": [mldf.Resize((96, 96)), mldf.CHW("f32")]})  # fmt: skip
    b = next(iter(loader))
    assert b["action"].shape[:2] == (64, 16) and b["action_is_pad"].dtype == np.bool_
    assert b["observation.images.top"].shape == (64, 2, 3, 96, 96)
    assert b["observation.images.top_is_pad"].shape == (64, 2)
    file = next((tmp_path / "pusht_v3/videos").glob("**/*.mp4"))
    whole = mldf.Video.pack(file)
    cut = mldf.open("pusht.mldf")[50]["observation.images.top"]
    np.testing.assert_array_equal(cut.frames([0, 49]), whole.frames([50, 99]))
    # packets are copied: of g=2, an episode that begins at a key is half of the file
    assert (tmp_path / "pusht.mldf").stat().st_size < 1.5 * file.stat().st_size + 65536


def test_times_are_made_once_for_a_file(tmp_path, monkeypatch):
    """A file of many episodes: work for all of its frames is done once, not for each episode."""
    with_files(tmp_path / "x", "v3.0", CODECS["g2"])
    asked = []
    pts = mldf.Video.pts
    monkeypatch.setattr(mldf.Video, "pts", property(lambda video: asked.append(len(video)) or pts.fget(video)))
    mldf.from_lerobot(tmp_path / "x", tmp_path / "x.mldf")
    assert asked == [sum(LENGTHS)]


def test_the_command(tmp_path):
    with_files(tmp_path / "x", "v3.0", CODECS["b"])
    command = [sys.executable, "-m", "mldf.lerobot", tmp_path / "x", "-o", tmp_path / "x.mldf"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and "19 rows" in done.stderr, done.stderr
    assert len(mldf.open(tmp_path / "x.mldf")[9]["observation.images.top"]) == LENGTHS[1]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 3 and "already exists" in done.stderr
    done = subprocess.run([*command, "-f", "--no-cameras"], capture_output=True, text=True)
    assert done.returncode == 0 and "observation.images.top" not in mldf.open(tmp_path / "x.mldf").schema
    done = subprocess.run([*command, "-f", "--camera", "left"], capture_output=True, text=True)
    assert done.returncode == 2 and "no camera 'left'" in done.stderr


def test_pack_names_the_command_for_it(tmp_path):
    with_files(tmp_path / "x", "v3.0", CODECS["b"])
    with pytest.raises(mldf.Error, match=r"x: this is a LeRobot dataset; python3 -m mldf.lerobot packs it"):
        mldf.pack(tmp_path / "x", tmp_path / "x.mldf")
    mldf.pack(tmp_path / "x/videos", tmp_path / "x.mldf")  # as a folder of videos


def test_rows_without_a_frame_are_named(tmp_path):
    rows, videos = folder(tmp_path / "x", "v3.0", "video")
    file = tmp_path / "x/videos/observation.images.top/chunk-000/file-000.mp4"
    encode(file, np.concatenate(videos)[:-2], CODECS["g2"])
    with pytest.raises(
        mldf.errors.CorruptError, match=r"episode 2, row 4: .*file-000.mp4 has no frame at 1.700000 s.*frame 16, is 0.1"
    ):
        mldf.from_lerobot(tmp_path / "x", tmp_path / "x.mldf")
    assert not (tmp_path / "x.mldf").exists()
    file.write_bytes(b"not a video")
    with pytest.raises(mldf.Error, match="file-000.mp4: not a video"):
        mldf.from_lerobot(tmp_path / "x", tmp_path / "x.mldf")


def test_cut_and_pack(tmp_path):
    frames = np.random.default_rng(3).integers(0, 255, (40, 24, 32, 3), np.uint8)
    encode(tmp_path / "a.mp4", frames, CODECS["b"])
    whole = mldf.Video.pack(tmp_path / "a.mp4")
    for first, end in ((0, 40), (0, 1), (39, 40), (5, 23), (13, 14), (7, 21)):
        part = whole.cut(first, end)
        np.testing.assert_array_equal(np.asarray(part), frames[first:end])
        assert part.ticks[0] == 0 and part.seconds == pytest.approx((end - first) / FPS)
        again = part.cut(len(part) // 2, len(part))  # a part of a part
        np.testing.assert_array_equal(np.asarray(again), frames[first + len(part) // 2 : end])
    for first, end in ((3, 3), (-1, 4), (0, 41)):
        with pytest.raises(mldf.errors.RangeError, match="of a video that has 40"):
            whole.cut(first, end)
    with mldf.Writer(tmp_path / "x.mldf", {"video": mldf.CompressedVideo()}) as w:
        w.append({"video": whole.cut(5, 23)})
        w.append({"video": whole})
        w.append({"video": tmp_path / "a.mp4"})
    with mldf.open(tmp_path / "x.mldf") as ds, mldf.Writer(tmp_path / "y.mldf", {"video": mldf.CompressedVideo()}) as w:
        np.testing.assert_array_equal(np.asarray(ds[0].video), frames[5:23])
        assert bytes(ds[1].video._value[3]) == bytes(ds[2].video._value[3])  # as the file itself
        for sample in ds:
            w.append({"video": sample.video})
    assert mldf.diff(tmp_path / "x.mldf", tmp_path / "y.mldf").equal
    bad = b"mldfvpk1" + whole._value[2] + bytes(whole._value[3])
    for value in (bad[:-1], bad[:80], bad[:100] + b"\xff" + bad[101:], bad[:24] + b"\x00" + bad[25:]):
        with (
            pytest.raises(mldf.errors.CorruptError),
            mldf.Writer(tmp_path / "z.mldf", {"v": mldf.CompressedVideo()}) as w,
        ):
            w.append({"v": value})


def test_damaged_sound_of_a_packed_value_is_refused(tmp_path):
    """What a Writer takes as it is was checked, and so is its sound; a field without sound leaves it out."""
    sources = ("-f", "lavfi", "-i", "testsrc2=size=32x32:rate=25:duration=1", "-f", "lavfi", "-i", "sine=duration=1")
    command = ["ffmpeg", "-v", "error", "-y", *sources, "-c:v", "mpeg4", "-c:a", "flac", str(tmp_path / "a.mkv")]
    subprocess.run(command, check=True, env=OUTSIDE)
    whole = mldf.Video.pack(tmp_path / "a.mkv")
    good = bytearray(b"mldfvpk1" + whole._value[2] + bytes(whole._value[3]))
    bad = good.copy()
    bad[-200] ^= 0x55  # the sound is last
    with mldf.Writer(tmp_path / "x.mldf", {"v": mldf.CompressedVideo()}) as w:
        w.append({"v": bytes(good)})
    with (
        pytest.raises(mldf.errors.CorruptError, match="sound"),
        mldf.Writer(tmp_path / "y.mldf", {"v": mldf.CompressedVideo()}) as w,
    ):
        w.append({"v": bytes(bad)})
    with mldf.Writer(tmp_path / "z.mldf", {"v": mldf.CompressedVideo(audio=False)}) as w:
        w.append({"v": bytes(bad)})
    assert mldf.verify(tmp_path / "z.mldf", deep=True).ok


def test_a_cut_video_is_extracted(tmp_path):
    """Packets in front of the first frame are in the file, and FFmpeg shows none of them."""
    frames = np.random.default_rng(3).integers(0, 255, (40, 24, 32, 3), np.uint8)
    encode(tmp_path / "a.mp4", frames, CODECS["g2"])
    with mldf.Writer(tmp_path / "x.mldf", {"video": mldf.CompressedVideo()}) as w:
        w.append({"video": mldf.Video.pack(tmp_path / "a.mp4").cut(5, 23)})
    mldf.extract(tmp_path / "x.mldf", tmp_path / "out")
    (file,) = (tmp_path / "out").glob("**/*.mp4")
    command = [
        "ffmpeg",
        "-v",
        "error",
        "-i",
        str(file),
        "-fps_mode",
        "passthrough",
        "-f",
        "rawvideo",
        "-pix_fmt",
        "rgb24",
        "-",
    ]
    got = np.frombuffer(subprocess.run(command, check=True, capture_output=True, env=OUTSIDE).stdout, np.uint8)
    np.testing.assert_array_equal(got.reshape(-1, 24, 32, 3), frames[5:23])
