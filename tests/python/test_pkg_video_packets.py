"""Videos stored as packets: files that FFmpeg makes are packed, and read by frames and clips; FFmpeg is the measure."""

import pathlib
import shutil
import struct
import subprocess

import mldf
import numpy as np
import pytest
from codec_files import OUTSIDE, ffmpeg, run

SOURCE = ("-f", "lavfi", "-i", "testsrc2=size=64x48:rate=30:duration=2")
TONE = ("-f", "lavfi", "-i", "sine=440:sample_rate=48000:duration=2")


def frames_by_ffmpeg(path, pixels, extra=()):
    command = ["ffmpeg", "-v", "error", "-i", str(path), "-fps_mode", "passthrough", "-map", "0:v:0", *extra]
    command += ["-f", "rawvideo", "-pix_fmt", pixels, "-"]
    return np.frombuffer(subprocess.run(command, check=True, capture_output=True, env=OUTSIDE).stdout, np.uint8)


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    """H.264 with B-frames, and AAC."""
    folder = tmp_path_factory.mktemp("film")
    path = folder / "film.mp4"
    run("ffmpeg", "-v", "error", "-y", *SOURCE, *TONE, "-c:v", "libx264", "-g", "15", "-bf", "2", "-c:a", "aac", path)
    mldf.pack(path, folder / "film.mldf")
    return path, folder / "film.mldf"


def rgb(planes, height, width, shift, full, matrix, between):
    """RGB of planes by the definition, in float64: chroma interpolated between the centres of its samples."""
    kr, kb = {"bt709": (0.2126, 0.0722), "smpte170m": (0.299, 0.114), "bt2020nc": (0.2627, 0.0593)}[matrix]
    sx, sy = shift
    y, parts = planes[: height * width].reshape(height, width).astype(float), []
    at = height * width
    for _ in range(2):
        h, w = -(-height // (1 + sy)), -(-width // (1 + sx))
        c = planes[at : at + h * w].reshape(h, w).astype(float)
        at += h * w
        for axis, n, s, middle in ((0, height, sy, True), (1, width, sx, between)):
            if s:
                place = np.clip((np.arange(n) - (0.5 if middle else 0)) / 2, 0, c.shape[axis] - 1)
                low = np.floor(place).astype(int)
                high = np.minimum(low + 1, c.shape[axis] - 1)
                weight = (place - low)[:, None] if axis == 0 else (place - low)
                c = np.take(c, low, axis) * (1 - weight) + np.take(c, high, axis) * weight
        parts.append((c - 128) / (255 if full else 224))
    y = y / 255 if full else (y - 16) / 219
    cb, cr = parts
    r, b = y + 2 * (1 - kr) * cr, y + 2 * (1 - kb) * cb
    g = (y - kr * r - kb * b) / (1 - kr - kb)
    return np.clip(np.stack([r, g, b], -1) * 255, 0, 255)


COLOURS = {
    "420": ("yuv420p", (1, 1), False, "smpte170m", ()),
    "420_709": ("yuv420p", (1, 1), False, "bt709", ("-colorspace", "bt709")),
    "420_full": ("yuv420p", (1, 1), True, "smpte170m", ("-color_range", "pc")),
    "422_2020": ("yuv422p", (1, 0), False, "bt2020nc", ("-colorspace", "bt2020nc")),
    "444": ("yuv444p", (0, 0), False, "smpte170m", ()),
    "420_centre": ("yuv420p", (1, 1), False, "bt709", ("-colorspace", "bt709", "-chroma_sample_location", "center")),
}


@pytest.mark.parametrize("name", COLOURS)
def test_rgb_is_the_definitions_within_one(name, tmp_path):
    pixels, shift, full, matrix, options = COLOURS[name]
    path = tmp_path / "x.mp4"
    noise = ("-f", "lavfi", "-i", "testsrc2=size=50x38:rate=5:duration=1")
    run("ffmpeg", "-v", "error", "-y", *noise, "-c:v", "libx264", "-qp", "2", "-pix_fmt", pixels, *options, path)
    mldf.pack(path, tmp_path / "x.mldf")
    planes = frames_by_ffmpeg(path, pixels.replace("yuv", "yuvj") if full else pixels).reshape(5, -1)
    got = mldf.open(tmp_path / "x.mldf")[0].video.frames(range(5))
    for k in range(5):
        want = rgb(planes[k], 38, 50, shift, full, matrix, name == "420_centre")
        assert np.abs(got[k] - want).max() <= 1, name


def test_frames_numbers_and_times(film):
    path, target = film
    want = frames_by_ffmpeg(path, "yuv420p").reshape(60, -1)
    with mldf.open(target) as ds:
        video = ds[0].video
        assert video.shape == (60, 48, 64, 3) and len(want) == 60
        every = video.frames(range(60))
        assert np.array_equal(video.frames([0, 5, -1]), every[[0, 5, 59]])
        numbers = [59, 3, 3, 17, 0, 58]
        assert np.array_equal(video.frames(numbers), every[numbers])
        times = [k / 30 for k in range(60)]
        assert np.array_equal(video.at(times), every), "k / 30 in floating point is the k-th frame"
        assert np.array_equal(video.at(np.float32(times).tolist()), every)
        assert np.array_equal(ds[0, "video"].frames([7]), every[[7]])
        assert len({e.tobytes() for e in every}) > 30, "frames are told apart"


@pytest.mark.parametrize("threads", [0, 3])
@pytest.mark.parametrize("backend", ["map", "read"])
def test_clips_are_frames_on_every_way(film, threads, backend):
    every = mldf.open(film[1])[0].video.frames(range(60))
    with mldf.open(film[1], backend=backend) as ds:
        for text, numbers in (
            ("video: clip(frames=5, stride=3, start=fixed)", [0, 3, 6, 9, 12]),
            ("video: clip(frames=4, fps=10, start=fixed)", [0, 3, 6, 9]),
            ("video.video: clip(frames=4, start=center)", [28, 29, 30, 31]),
        ):
            with mldf.Loader(ds, 1, pipelines=text, threads=threads) as loader:
                assert np.array_equal(np.asarray(next(iter(loader))[0])[0], every[numbers]), text


def test_the_sound_is_a_recording(film):
    path, target = film
    want = ffmpeg(path)
    text = "video.audio: window(samples=4000, start=12345)"
    with mldf.Loader(target, 1, pipelines=text) as loader:
        got = np.asarray(next(iter(loader))[0])[0]
    assert np.array_equal(got.reshape(-1), want[12345:16345, 0])


def test_an_edit_list_hides_frames(film, tmp_path):
    """Cut without encoding: packets in front of the cut are there, for the decoder, and are never shown."""
    path = tmp_path / "cut.mp4"
    run("ffmpeg", "-v", "error", "-y", "-ss", "0.75", "-i", film[0], "-c", "copy", "-an", path)
    want = frames_by_ffmpeg(path, "yuv420p").reshape(-1, 64 * 48 * 3 // 2)
    mldf.pack(path, tmp_path / "cut.mldf")
    video = mldf.open(tmp_path / "cut.mldf")[0].video
    assert len(video) == len(want) < 60
    every = mldf.open(film[1])[0].video.frames(range(60))
    assert np.array_equal(video.frames(range(len(video))), every[60 - len(want) :])


MATRICES = [(a, b, c, d) for a, b, c, d in ((s, 0, 0, t) for s in (1, -1) for t in (1, -1))]
MATRICES += [(0, s, t, 0) for s in (1, -1) for t in (1, -1)]


def shown_by(matrix, image):
    """The image as a display matrix (a, b, c, d) shows it: pixel (x, y) is shown at (a x + c y, b x + d y)."""
    a, b, c, d = matrix
    image = image if a else image.swapaxes(0, 1)  # then one mirror for each axis
    image = image[:, ::-1] if (a or c) < 0 else image
    return image[::-1] if (d or b) < 0 else image


def with_matrix(path, matrix):
    """A copy of an MP4 file of one track with this display matrix."""
    data = bytearray(path.read_bytes())
    at = data.index(b"tkhd") + 4 + 40
    a, b, c, d = matrix
    data[at : at + 36] = struct.pack(">9i", *(n << 16 for n in (a, b, 0, c, d, 0, 0, 0)), 1 << 30)
    path = path.with_name("turned.mp4")
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("matrix", MATRICES)
def test_every_display_matrix_is_followed_and_extracted(film, matrix, tmp_path):
    """Turned and mirrored, as FFmpeg shows it; the extracted file says the same."""
    run("ffmpeg", "-v", "error", "-y", "-i", film[0], "-c", "copy", "-an", tmp_path / "plain.mp4")
    path = with_matrix(tmp_path / "plain.mp4", matrix)
    mldf.pack(path, tmp_path / "turned.mldf")
    want = shown_by(matrix, mldf.open(film[1])[0].video.frames([3])[0])
    video = mldf.open(tmp_path / "turned.mldf")[0].video
    assert np.array_equal(video.frames([3])[0], want)
    grey = frames_by_ffmpeg(path, "gray").reshape(60, *want.shape[:2])
    before = frames_by_ffmpeg(film[0], "gray").reshape(60, 48, 64)
    assert np.array_equal(grey[3], shown_by(matrix, before[3]))
    mldf.extract(tmp_path / "turned.mldf", tmp_path / "out")
    (made,) = (p for p in (tmp_path / "out").rglob("*.mp4"))
    mldf.pack(made, tmp_path / "again.mldf")
    assert np.array_equal(mldf.open(tmp_path / "again.mldf")[0].video.frames([3])[0], want)


def test_a_turn_is_never_lost_silently(tmp_path):
    """VP9 is extracted as Matroska, in which older FFmpegs write no turn: it is refused there."""
    path, out = tmp_path / "plain.mp4", tmp_path / "out"
    made = ("-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-frames:v", "5")
    run("ffmpeg", "-v", "error", "-y", *SOURCE, *made, path)
    mldf.pack(with_matrix(path, (0, 1, -1, 0)), tmp_path / "turned.mldf")
    want = mldf.open(tmp_path / "turned.mldf")[0].video.frames([2])
    assert want.shape == (1, 64, 48, 3)
    try:
        mldf.extract(tmp_path / "turned.mldf", out)
    except mldf.Error as error:
        assert "turned by" in str(error) and "FFmpeg does not write" in str(error)
    else:
        mldf.pack(next(p for p in out.rglob("*") if p.suffix in (".mp4", ".mkv")), tmp_path / "again.mldf")
        assert np.array_equal(mldf.open(tmp_path / "again.mldf")[0].video.frames([2]), want)


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_a_turned_video_is_upright(film, degrees, tmp_path):
    path = tmp_path / "turned.mp4"
    run("ffmpeg", "-v", "error", "-y", "-i", film[0], "-c", "copy", "-metadata:s:v", f"rotate={degrees}", path)
    mldf.pack(path, tmp_path / "turned.mldf")
    upright, plain = mldf.open(tmp_path / "turned.mldf")[0].video, mldf.open(film[1])[0].video
    height, width = upright.shape[1:3]
    shown = frames_by_ffmpeg(path, "gray").reshape(60, height, width)[3]
    before = frames_by_ffmpeg(film[0], "gray").reshape(60, 48, 64)[3]
    (turns,) = (k for k in range(4) if np.array_equal(np.rot90(before, k), shown))
    assert turns == (4 - degrees // 90) % 4 or turns == degrees // 90
    assert np.array_equal(upright.frames([3])[0], np.rot90(plain.frames([3])[0], turns))
    with mldf.Loader(
        tmp_path / "turned.mldf", 1, pipelines="video: clip(frames=1, start=fixed) | random_crop([10, 20])"
    ) as loader:
        got = np.asarray(next(iter(loader))[0])[0, 0]
    first = np.rot90(plain.frames([0])[0], turns)
    assert any(np.array_equal(got, first[y : y + 10, x : x + 20]) for y in range(60) for x in range(60))


def test_extracted_files_decode_to_the_same(film, tmp_path):
    mldf.extract(film[1], tmp_path / "out")
    (made,) = (p for p in (tmp_path / "out").rglob("*.mp4"))
    assert np.array_equal(frames_by_ffmpeg(made, "yuv420p"), frames_by_ffmpeg(film[0], "yuv420p"))
    assert np.array_equal(ffmpeg(made), ffmpeg(film[0]))
    mldf.pack(made, tmp_path / "again.mldf")
    assert len(mldf.open(tmp_path / "again.mldf")[0].video) == 60


def test_a_folder_with_classes_and_other_streams(film, tmp_path):
    for name in ("cats", "dogs"):
        (tmp_path / "in" / name).mkdir(parents=True)
        shutil.copy(film[0], tmp_path / "in" / name / "a.mp4")
    mldf.pack(tmp_path / "in", tmp_path / "x.mldf")
    with mldf.open(tmp_path / "x.mldf") as ds:
        assert [ds[i].label for i in range(2)] == [0, 1] and len(ds[1].video) == 60


def test_silent_fields_and_wrong_values(film, tmp_path):
    with mldf.Writer(tmp_path / "x.mldf", {"v": mldf.CompressedVideo(audio=False)}) as w:
        w.append({"v": film[0]})
        w.append({"v": pathlib.Path(film[0]).read_bytes()})
    for wrong in (b"", b"nothing that is a video", 7):
        with pytest.raises(mldf.Error), mldf.Writer(tmp_path / "w.mldf", {"v": mldf.CompressedVideo()}) as w:
            w.append({"v": wrong})
    rows = mldf.open(tmp_path / "x.mldf").rows["v"]
    assert rows["sound_rate"].tolist() == [0, 0] and rows["num_frames"].tolist() == [60, 60]
    with mldf.Loader(tmp_path / "x.mldf", 1, pipelines="v.audio: window(samples=10)", on_error="skip") as loader:
        assert sum(len(batch[0]) for batch in loader) == 0


def test_damaged_and_cut_files_are_refused_or_right(film, tmp_path):
    data = film[0].read_bytes()
    rng = np.random.default_rng(5)
    packed = 0
    for i in range(25):
        bad = bytearray(data[: int(rng.integers(100, len(data)))] if i % 3 == 0 else data)
        for at in rng.integers(0, len(bad), 1 + i % 4):
            bad[at] = int(rng.integers(0, 256))
        path = tmp_path / f"{i}.mp4"
        path.write_bytes(bytes(bad))
        try:
            mldf.pack(path, tmp_path / f"{i}.mldf")
        except mldf.Error as error:
            assert str(error)
        else:
            packed += 1
            assert mldf.verify(tmp_path / f"{i}.mldf", deep=True).ok
    assert packed < 25


def test_damaged_packets_are_bad_samples(film, tmp_path):
    """Bytes of packets that were changed in the file: an error that names the frame; never a crash."""
    data = bytearray(film[1].read_bytes())
    row = mldf.open(film[1]).rows["video"][0]
    rng = np.random.default_rng(6)
    for at in rng.integers(row["ptr"] + 5000, row["ptr"] + row["size"] - 100, 200):
        data[at] ^= 0x55
    (tmp_path / "bad.mldf").write_bytes(bytes(data))
    with mldf.open(tmp_path / "bad.mldf") as ds:
        with pytest.raises(mldf.Error):
            ds[0].video.frames(range(60))
    with mldf.Loader(tmp_path / "bad.mldf", 1, pipelines="video: clip(frames=16)", on_error="skip") as loader:
        assert sum(len(batch[0]) for batch in loader) <= 1
