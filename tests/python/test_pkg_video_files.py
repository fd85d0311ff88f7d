"""Videos into and out of files: folders of frames, tables and archives with videos; extract makes files, clips, frames
and sound of them. FFmpeg is the measure."""

import io
import json
import os
import subprocess
import tarfile

import mldf
import numpy as np
import pytest
from codec_files import OUTSIDE, ffmpeg
from mldf import images

MLDF = os.environ.get("MLDF")
LOSSLESS = ("-c:v", "libx264rgb", "-qp", "0", "-g", "6", "-bf", "2")


def noise(count, seed=0, height=24, width=32):
    return np.random.default_rng(seed).integers(0, 255, (count, height, width, 3), np.uint8)


def encode(path, frames, options=LOSSLESS, more=()):
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
        "32x24",
        "-r",
        "10",
        "-i",
        "-",
    ]
    subprocess.run([*command, *more, *options, str(path)], input=frames.tobytes(), check=True, env=OUTSIDE)


def decode(path):
    command = [
        "ffmpeg",
        "-v",
        "error",
        "-i",
        str(path),
        "-fps_mode",
        "passthrough",
        "-f",
        "rawvideo",
        "-pix_fmt",
        "rgb24",
        "-",
    ]
    out = subprocess.run(command, check=True, capture_output=True, env=OUTSIDE).stdout
    return np.frombuffer(out, np.uint8).reshape(-1, 24, 32, 3)


def command(*words):
    return subprocess.run([MLDF, *map(str, words)], capture_output=True, text=True)


# ---- In ----


def folders(root, names, ending="png"):
    made = {}
    for k, name in enumerate(names):
        (root / name).mkdir(parents=True)
        made[name] = noise(12, k)
        for i, frame in enumerate(made[name]):
            (root / name / f"{i}.{ending}").write_bytes(images.encode(frame, format=ending))
    return made


def test_folders_of_frames(tmp_path):
    """Classes, keys, and the order of numbers: 10.png comes after 9.png."""
    made = folders(tmp_path / "in", ["run/a", "run/b", "walk/c"])
    (tmp_path / "in/run/a/notes.txt").write_text("left out")
    mldf.pack(tmp_path / "in", tmp_path / "x.mldf", layout="frames", fps=29.97)
    with mldf.open(tmp_path / "x.mldf") as ds:
        assert ds.schema["video"].type == "video_frames" and ds.card["classes"] == ["run", "walk"]
        assert list(ds.keys) == list(made) and [s.label for s in ds] == [0, 0, 1]
        for key, sample in zip(made, ds):
            np.testing.assert_array_equal(np.asarray(sample.video), made[key])
            assert float(sample.video.fps) == pytest.approx(30000 / 1001)
    done = command(
        "pack", tmp_path / "in", "-o", tmp_path / "y.mldf", "--layout", "frames", "--fps", "30000/1001", "-q"
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "x.mldf").read_bytes() == (tmp_path / "y.mldf").read_bytes()


def test_folders_of_frames_without_classes_and_as_jpeg(tmp_path):
    folders(tmp_path / "in", ["a", "b"], "jpeg")
    mldf.pack(tmp_path / "in", tmp_path / "x.mldf", layout="frames")
    with mldf.open(tmp_path / "x.mldf") as ds:
        assert ds.schema["video"].arguments["mode"] == "jpeg" and "label" not in ds.schema
        for name, sample in zip("ab", ds):
            for i in range(12):
                assert sample.video.file(i) == (tmp_path / f"in/{name}/{i}.jpeg").read_bytes()


def test_mistakes_of_folders_of_frames(tmp_path):
    folders(tmp_path / "in", ["a"])
    with pytest.raises(mldf.Error, match="frames a second are for folders of frames"):
        mldf.pack(tmp_path / "in", tmp_path / "x.mldf", fps=30)
    (tmp_path / "in/a/5.png").write_bytes(b"no image")
    with pytest.raises(mldf.Error, match=r"in/a: frame 5 \(5.png\)"):
        mldf.pack(tmp_path / "in", tmp_path / "x.mldf", layout="frames")
    (tmp_path / "in/beside.png").write_bytes(images.encode(noise(1)[0], format="png"))
    with pytest.raises(mldf.Error, match=r"beside.png.*lies beside the folders of frames"):
        mldf.pack(tmp_path / "in", tmp_path / "x.mldf", layout="frames")
    for wrong in ("fast", "29.97/1", "1e3/1", "0x1e", "30/", "0", "-30"):
        done = command("pack", tmp_path / "in", "-o", tmp_path / "x.mldf", "--layout", "frames", "--fps", wrong)
        assert done.returncode == 2 and f"--fps: '{wrong}'" in done.stderr, wrong
    assert not (tmp_path / "x.mldf").exists()


def test_tables_and_archives_with_videos(tmp_path):
    frames = [noise(8, k) for k in range(2)]
    for k in range(2):
        encode(tmp_path / f"{k}.mp4", frames[k])
    (tmp_path / "t.csv").write_text("film,caption\n0.mp4,one\n1.mp4,two\n")
    (tmp_path / "t.jsonl").write_text(
        "".join(json.dumps({"film": f"{k}.mp4", "caption": c}) + "\n" for k, c in enumerate(["one", "two"]))
    )
    with tarfile.open(tmp_path / "t.tar", "w") as tar:
        for k, caption in enumerate(["one", "two"]):
            for name, data in ((f"{k}.mp4", (tmp_path / f"{k}.mp4").read_bytes()), (f"{k}.txt", caption.encode())):
                member = tarfile.TarInfo(name)
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
    for source, video, text in (("t.csv", "film", "caption"), ("t.jsonl", "film", "caption"), ("t.tar", "mp4", "txt")):
        more = [] if source == "t.tar" else ["--files", "film"]
        done = command("pack", tmp_path / source, "-o", tmp_path / "x.mldf", "-f", "-q", *more)
        assert done.returncode == 0, done.stderr
        with mldf.open(tmp_path / "x.mldf") as ds:
            for k, caption in enumerate(["one", "two"]):
                np.testing.assert_array_equal(np.asarray(ds[k][video]), frames[k])
                assert ds[k][text] == caption


# ---- Out ----


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    root = tmp_path_factory.mktemp("film")
    (root / "in").mkdir()
    frames = noise(40)
    encode(
        root / "in/a.mp4",
        frames,
        (*LOSSLESS, "-c:a", "aac"),
        ("-f", "lavfi", "-i", "sine=440:sample_rate=48000:duration=4"),
    )
    encode(root / "in/b.mp4", frames[:20])  # without sound
    mldf.pack(root / "in", root / "x.mldf")
    return root, frames


def test_frames_of_packets_become_images(film, tmp_path):
    root, frames = film
    done = command("extract", root / "x.mldf", "-o", tmp_path / "out", "--videos", "frames", "--frames", "3:20:4", "-q")
    assert done.returncode == 0, done.stderr
    for name in ("a.mp4", "b.mp4"):
        files = sorted((tmp_path / "out" / name).iterdir())
        assert [f.name for f in files] == [f"{i:06d}.png" for i in range(3, 20, 4)]
        for file, i in zip(files, range(3, 20, 4)):
            np.testing.assert_array_equal(images.decode(file.read_bytes()), frames[i])
    line = json.loads((tmp_path / "out/manifest.jsonl").read_text().splitlines()[0])
    assert line["video"]["folder"] == "a.mp4" and line["video"]["frames"] == 5
    mldf.extract(root / "x.mldf", tmp_path / "all", videos="frames")
    assert len(list((tmp_path / "all/a.mp4").iterdir())) == 40


def test_a_clip_has_these_frames_alone(film, tmp_path):
    root, frames = film
    for first, end in ((0, 5), (7, 20), (19, 20), (6, 12)):
        mldf.extract(root / "x.mldf", tmp_path / "out", frames=slice(first, end), overwrite=True)
        for name in ("a.mp4", "b.mp4"):
            got = decode(tmp_path / "out" / name)
            np.testing.assert_array_equal(got, frames[first:end])
    with pytest.raises(mldf.errors.RangeError, match="frames 10 to 30 of a video that has 20"):
        mldf.extract(root / "x.mldf", tmp_path / "bad", frames=slice(10, 30))
    assert not (tmp_path / "bad").exists()


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("a.webm", ("-c:v", "libvpx", "-g", "5", "-auto-alt-ref", "0")),
        ("a.mp4", ("-c:v", "libx264", "-bf", "2", "-b_strategy", "0", "-sc_threshold", "0", "-g", "20")),
    ],
)
def test_a_clip_that_would_show_other_frames_is_an_error(tmp_path, name, options):
    (tmp_path / "in").mkdir()
    encode(tmp_path / "in" / name, noise(20), options)
    mldf.pack(tmp_path / "in", tmp_path / "x.mldf")
    refused = 0
    for first, end in ((0, 5), (3, 8), (0, 2), (0, 3), (0, 20)):
        try:
            mldf.extract(tmp_path / "x.mldf", tmp_path / "out", frames=slice(first, end), overwrite=True)
        except mldf.Error as e:
            assert f"a file of these {end - first} frames would show" in str(e)
            refused += 1
            continue
        (file,) = (f for f in (tmp_path / "out").iterdir() if f.suffix in (".mp4", ".mkv"))
        assert len(decode(file)) == end - first
    assert 0 < refused < 5


def test_sound_becomes_wav(film, tmp_path):
    root, _ = film
    done = command("extract", root / "x.mldf", "-o", tmp_path / "out", "--videos", "sound", "-q")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in (tmp_path / "out/manifest.jsonl").read_text().splitlines()]
    assert lines[0]["video"].endswith(".wav") and lines[1]["video"] is None
    np.testing.assert_allclose(ffmpeg(tmp_path / "out" / lines[0]["video"]), ffmpeg(root / "in/a.mp4"), atol=1e-6)


def test_stored_frames_come_out_as_they_went_in(tmp_path):
    made = folders(tmp_path / "in", ["run/a", "walk/b"])
    mldf.pack(tmp_path / "in", tmp_path / "x.mldf", layout="frames", fps=25)
    mldf.extract(tmp_path / "x.mldf", tmp_path / "out")
    for name in made:
        for i in range(12):
            assert (tmp_path / f"out/{name}/{i:06d}.png").read_bytes() == (tmp_path / f"in/{name}/{i}.png").read_bytes()
    line = json.loads((tmp_path / "out/manifest.jsonl").read_text().splitlines()[0])
    assert line["video"] == {"folder": "run/a", "frames": 12, "fps": [25, 1]}
    mldf.pack(tmp_path / "out", tmp_path / "y.mldf", layout="frames", fps=25)
    assert mldf.diff(tmp_path / "x.mldf", tmp_path / "y.mldf").equal
    with mldf.Writer(tmp_path / "raw.mldf", {"v": mldf.VideoFrames(mode="raw", fps=5)}) as w:
        w.append({"v": made["run/a"]})
    mldf.extract(tmp_path / "raw.mldf", tmp_path / "raw")
    np.testing.assert_array_equal(images.decode((tmp_path / "raw/0/000011.png").read_bytes()), made["run/a"][11])


@pytest.mark.parametrize(
    "words",
    [
        ("--videos", "film"),
        ("--frames", "3:2"),
        ("--frames", "a"),
        ("--frames", "0:3:18446744073709551615"),
        ("--videos", "sound", "--frames", "0:1"),
    ],
)
def test_mistakes_of_extract(film, tmp_path, words):
    done = command("extract", film[0] / "x.mldf", "-o", tmp_path / "out", *words)
    assert done.returncode == 2 and words[-2] in done.stderr
    assert not (tmp_path / "out").exists()
