"""Videos that are stored frame by frame, and clips of them: which frames come, by brute force in NumPy, and what
becomes of each, against the single image."""

import fractions
import json
import os
import shutil
import warnings

import mldf
import numpy as np
import pytest
from mldf import images

LENGTHS = (30, 17, 5, 1, 64)
FPS = fractions.Fraction(30000, 1001)
VARIANTS = [
    {"threads": threads, "backend": backend, **plan}
    for threads in (0, 2)
    for backend in ("map", "read")
    for plan in ({}, {"reference": True}, {"isa": "portable"})
]


def pixels(n, seed, height=24, width=32):
    """Smooth frames, so that JPEG likes them; frame i of a video is known by its corner."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    base = rng.integers(20, 200, (n, 1, 1, 3))
    return np.clip(base + (y[None, :, :, None] + 2 * x[None, :, :, None]) // 2, 0, 255).astype(np.uint8)


def ticks(n, seed):
    """Times of a camera that stutters."""
    return np.cumsum(np.random.default_rng(seed).integers(900, 6000, n)) - 700


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    path = tmp_path_factory.mktemp("video") / "raw.mldf"
    videos = [pixels(n, i) for i, n in enumerate(LENGTHS)]
    with mldf.Writer(path, {"v": mldf.VideoFrames(mode="raw", fps=FPS), "label": mldf.Int()}) as w:
        for i, video in enumerate(videos):
            w.append({"v": video, "label": i})
    return path, videos


@pytest.fixture(scope="module")
def timed(tmp_path_factory):
    path = tmp_path_factory.mktemp("video") / "timed.mldf"
    videos = [pixels(n, i) for i, n in enumerate(LENGTHS)]
    with mldf.Writer(path, {"v": mldf.VideoFrames(mode="image", pts=True)}) as w:
        for i, video in enumerate(videos):
            w.append({"v": mldf.Frames(list(video), fps=90000, pts=ticks(len(video), i).tolist())})
    return path, videos


def batches(path, text, backend="map", epochs=1, batch_size=2, **options):
    out = []
    with mldf.open(path, backend=backend) as ds, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with mldf.Loader(
            ds, batch_size=batch_size, pipelines=text, index=True, seed=5, last="keep", **options
        ) as loader:
            for _ in range(epochs):
                out += [{n: np.array(v) for n, v in zip(b.names, b)} for b in loader]
    return out


def rows(found):
    for batch in found:
        for i, index in enumerate(batch["index"]):
            yield int(index), {name: value[i] for name, value in batch.items()}


def same(one, other):
    assert len(one) == len(other)
    for x, y in zip(one, other):
        assert x.keys() == y.keys()
        for name in x:
            assert x[name].shape == y[name].shape and x[name].tobytes() == y[name].tobytes(), name


# ---- brute force ----


def by_stride(n, start, frames, stride, short):
    numbers = [start + k * stride for k in range(frames)]
    valid = [number < n for number in numbers]
    filled = {"repeat_last": lambda i: min(i, n - 1), "wrap": lambda i: i % n, "zero": lambda i: i if i < n else None}
    return [filled[short](number) for number in numbers], valid


def by_time(times, end, start, frames, fps, short):
    """times, end: fractions; the frame shown at t is the last whose time is not later."""
    numbers, valid = [], []
    for k in range(frames):
        t = times[start] + k / fps
        valid.append(t < end)
        if t >= end and short == "wrap":
            t = times[0] + (t - times[0]) % (end - times[0])
        shown = max(i for i, time in enumerate(times) if time <= t)
        numbers.append(None if t >= end and short == "zero" else shown)
    return numbers, valid


def expect(video, numbers):
    zero = np.zeros_like(video[0])
    return np.stack([zero if i is None else video[i] for i in numbers])


def test_what_is_written_is_read(raw, timed):
    for path, videos in (raw, timed):
        with mldf.open(path) as ds:
            for i, video in enumerate(videos):
                found = ds[i].v
                assert found.shape == video.shape and len(found) == len(video)
                np.testing.assert_array_equal(np.asarray(found), video)
                pick = [0, -1, len(video) // 2, 0]
                np.testing.assert_array_equal(found.frames(pick), video[pick])
                np.testing.assert_array_equal(found[::-2], video[::-2])
        assert mldf.verify(path, deep=True)
    with mldf.open(raw[0]) as ds:
        assert ds[0].v.fps == FPS and ds[0].v.seconds == float(30 / FPS)
        for k in range(30):  # k / fps in floating point lies below the exact time about every other time
            for t in (k / float(FPS), float(np.float32(k / float(FPS)))):
                np.testing.assert_array_equal(ds[0].v.at([t])[0], raw[1][0][k])
    with mldf.open(timed[0]) as ds:
        assert ds[0].v.fps is None
        np.testing.assert_array_equal(ds[0].v.ticks, ticks(30, 0))
        with pytest.raises(mldf.errors.RangeError, match="no frame 30: the video has 30"):
            ds[0].v.frames([30])


@pytest.mark.parametrize("rate", [10, fractions.Fraction(24000, 1001), 24, 25, fractions.Fraction(30000, 1001), 30, 60])
def test_every_time_finds_its_frame(tmp_path, rate):
    """As video.md's table asks: f64 and f32 times of 6,000 frames."""
    with mldf.Writer(tmp_path / "x.mldf", {"v": mldf.VideoFrames(mode="raw", channels=1, fps=rate)}) as w:
        w.append({"v": np.zeros((6000, 1, 1, 1), np.uint8)})
    video = mldf.open(tmp_path / "x.mldf")[0].v
    value = video._value
    for k in range(6000):
        t = float(k / fractions.Fraction(rate))
        assert mldf._mldf.video_find(value, t) == k
        assert mldf._mldf.video_find(value, float(np.float32(t))) == k
    assert mldf._mldf.video_find(value, float(1.5 / fractions.Fraction(rate))) == 1


@pytest.mark.parametrize("short", ["repeat_last", "wrap", "zero"])
@pytest.mark.parametrize(("frames", "stride"), [(1, 1), (8, 1), (6, 3), (20, 2)])
def test_clips_by_number(raw, frames, stride, short):
    path, videos = raw
    span = (frames - 1) * stride + 1
    for start in ("center", "centre", "fixed", "uniform"):
        text = f"v: clip({frames}, stride={stride}, start={start}, short={short})"
        first = batches(path, text)
        for i, row in rows(first):
            n = len(videos[i])
            fit = max(n - span + 1, 1)
            numbers, valid = by_stride(n, 0 if start == "fixed" else (fit - 1) // 2, frames, stride, short)
            np.testing.assert_array_equal(row["v"], expect(videos[i], numbers))
            np.testing.assert_array_equal(row["v_valid"], valid)
            times = [np.nan if k is None else float(k / FPS) for k in numbers]
            np.testing.assert_array_equal(row["v.pts"], times)
    for variant in VARIANTS:
        same(first, batches(path, text, **variant))


@pytest.mark.parametrize("short", ["repeat_last", "wrap", "zero"])
@pytest.mark.parametrize(("frames", "fps"), [(4, 5), (16, 8), (7, 12.5), (5, 29.97)])
def test_clips_by_time(raw, timed, frames, fps, short):
    exact = fractions.Fraction(str(fps))
    for (path, videos), uniform in ((raw, True), (timed, False)):
        for start in ("center", "random"):
            text = f"v: clip({frames}, fps={fps}, start={start}, short={short})"
            first = batches(path, text, epochs=2)
            for i, row in rows(first):
                n = len(videos[i])
                tick = 1 / FPS if uniform else fractions.Fraction(1, 90000)
                at = np.arange(n) if uniform else ticks(n, i)
                times = [int(t) * tick for t in at]
                end = times[-1] + (times[-1] - times[-2] if n > 1 else tick)
                fit = max(sum(t + (frames - 1) / exact < end for t in times), 1)
                begin = (fit - 1) // 2
                if start == "random":  # the batch says where it began; it must be a possible place
                    begin = [float(t) for t in times].index(row["v.start"])
                    assert begin < fit
                numbers, valid = by_time(times, end, begin, frames, exact, short)
                np.testing.assert_array_equal(row["v"], expect(videos[i], numbers))
                np.testing.assert_array_equal(row["v_valid"], valid)
                pts = [np.nan if k is None else float(times[k]) for k in numbers]
                np.testing.assert_array_equal(row["v.pts"], pts)
                assert row["v.end"] == pytest.approx(float(times[begin] + frames / exact), abs=1e-12)
            for variant in VARIANTS:
                same(first, batches(path, text, epochs=2, **variant))


def test_random_starts_go_everywhere(raw):
    path, videos = raw
    starts = {i: set() for i in range(len(videos))}
    for i, row in rows(batches(path, "v: clip(8, stride=2)", epochs=150)):
        starts[i].add(round(row["v.start"] * FPS))
    assert starts[0] == set(range(30 - 15 + 1)) and starts[1] == set(range(3)) and starts[2] == {0}
    assert starts[4] <= set(range(50)) and len(starts[4]) > 40


def test_several_clips_add_an_axis(raw):
    path, videos = raw
    text = "v: clip(4, stride=3, start=uniform, count=5) | resize([12, 16]) | normalize(imagenet) | chw"
    single = "v: clip(64, start=fixed) | resize([12, 16]) | normalize(imagenet) | chw"
    first = batches(path, text)
    whole = dict(rows(batches(path, single)))
    for i, row in rows(first):
        n = len(videos[i])
        assert row["v"].shape == (5, 4, 3, 12, 16) and row["v.pts"].shape == (5, 4) and row["v.start"].shape == (5,)
        spare = max(n - 10, 0)
        for c in range(5):
            numbers, valid = by_stride(n, spare * c // 4, 4, 3, "repeat_last")
            np.testing.assert_array_equal(row["v"][c], whole[i]["v"][numbers])
            np.testing.assert_array_equal(row["v_valid"][c], valid)
            assert row["v.start"][c] == float((spare * c // 4) / FPS)
    for variant in VARIANTS:
        same(first, batches(path, text, **variant))
    random = [row["v.start"] for _, row in rows(batches(path, "v: clip(4, count=3)", epochs=3))]
    assert len({tuple(row) for row in random}) > 5 and any(len(set(row)) == 3 for row in random)


def test_short_videos(raw):
    path, videos = raw
    with pytest.raises(mldf.errors.RangeError, match="too few for a clip of 20"):
        batches(path, "v: clip(20, short=error)")
    with mldf.open(path) as ds, mldf.Loader(ds, 5, pipelines="v: clip(20, short=error)", on_error="skip") as loader:
        assert sorted(int(n) for b in loader for n in b.label) == [0, 4]
    for i, row in rows(batches(path, "v: clip(20, start=fixed, short=drop) | pad")):
        n = min(len(videos[i]), 20)
        assert row["v_length"].tolist()[0] == n and "v_valid" not in row
        np.testing.assert_array_equal(row["v"][:n], videos[i][:n])
    for text, words in {
        "v: clip(4, stride=2, fps=3)": "either stride or fps",
        "v: clip(4, count=2, short=drop)": "count must be 1",
        "v: clip(4, first=3)": "first needs start=fixed",
        "v: clip(4, count=2) | time_reverse": "one clip, not several",
        "v: time_reverse | clip(4, fps=3)": "the times of a video's frames",
        "v: clip(4, count=2) | pad": "must have one size",
        "label: clip(4)": "a video, a clip of images, a recording, or an array",
    }.items():
        with pytest.raises(mldf.Error, match=words):
            batches(path, text)


def test_steps_along_time(raw):
    path, videos = raw
    base = "v: clip(12, start=fixed)"
    for i, row in rows(batches(path, f"{base} | time_reverse(p=1)")):
        numbers, valid = by_stride(len(videos[i]), 0, 12, 1, "repeat_last")
        np.testing.assert_array_equal(row["v"], expect(videos[i], numbers[::-1]))
        np.testing.assert_array_equal(row["v_valid"], valid[::-1])
        np.testing.assert_array_equal(row["v.pts"], [float(k / FPS) for k in numbers[::-1]])
    for i, row in rows(batches(path, f"{base} | time_subsample(5)")):
        numbers, valid = by_stride(len(videos[i]), 0, 12, 1, "repeat_last")
        np.testing.assert_array_equal(row["v"], expect(videos[i], numbers[::5]))
        np.testing.assert_array_equal(row["v_valid"], valid[::5])
    for i, row in rows(batches(path, f"{base} | window(samples=4, start=3)")):
        numbers, _ = by_stride(len(videos[i]), 0, 12, 1, "repeat_last")
        np.testing.assert_array_equal(row["v"], expect(videos[i], numbers[3:7]))
    moved = set()
    for i, row in rows(batches(path, "v: clip(30, start=fixed) | time_jitter(2)", epochs=4)):
        if i == 4:
            shift = np.rint(row["v.pts"] * float(FPS)).astype(int) - np.arange(30)
            np.testing.assert_array_equal(row["v"], videos[4][np.arange(30) + shift])
            moved |= set(shift.tolist())
    assert moved == {-2, -1, 0, 1, 2}
    text = "v: resize([12, 16]) | clip(10, stride=2) | time_subsample(2, random=true) | hflip | time_reverse"
    first = batches(path, text, epochs=2)
    for variant in VARIANTS:
        same(first, batches(path, text, epochs=2, **variant))


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """The same two videos as JPEG, fast JPEG, PNG and pixels; and their frames as images, a file for each number."""
    folder = tmp_path_factory.mktemp("stored")
    videos = [[images.encode(frame, format="jpeg") for frame in pixels(9, i, 72, 96)] for i in range(2)]
    for name, options in {"jpeg": {}, "fast": {"encode": "fast-jpeg"}, "image": {"mode": "image"}}.items():
        with mldf.Writer(folder / f"{name}.mldf", {"v": mldf.VideoFrames(**options)}) as w:
            for video in videos:
                w.append({"v": mldf.Frames(video, fps=25)})
    decoded = [np.stack([images.decode(frame) for frame in video]) for video in videos]
    with mldf.Writer(folder / "png.mldf", {"v": mldf.VideoFrames(mode="image", fps=25)}) as w:
        for video in decoded:
            w.append({"v": video})
    for k in range(9):
        with mldf.Writer(folder / f"{k}.mldf", {"v": mldf.Image()}) as w:
            for video in videos:
                w.append({"v": video[k]})
    return folder, videos, decoded


STEPS = [
    "random_resized_crop(32) | hflip | normalize(imagenet) | chw",
    "resize([16, 20]) | color_jitter(0.4, 0.4, 0.4, 0.1)",
    "center_crop([40, 50]) | cast(f32)",
    "random_crop([30, 31]) | vflip | cutout(8)",
    "resize([9, 12]) | rotate([-30, 30]) | brightness(0.3) | chw",
    "rotate([-30, 30]) | resize([20, 20])",
]


@pytest.mark.parametrize("steps", STEPS)
def test_each_frame_is_the_image_with_that_draw(stored, steps):
    folder, _, _ = stored
    for name in ("jpeg", "fast"):
        clip = batches(folder / f"{name}.mldf", f"v: clip(5, start=center, stride=2) | {steps}")
        for k, number in enumerate(range(0, 9, 2)):
            single = batches(folder / f"{number}.mldf", f"v: {steps}")
            np.testing.assert_array_equal(clip[0]["v"][:, k], single[0]["v"])
        for variant in VARIANTS:
            same(clip, batches(folder / f"{name}.mldf", f"v: clip(5, start=center, stride=2) | {steps}", **variant))


def test_stores_agree(stored):
    folder, videos, decoded = stored
    for name in ("jpeg", "fast", "image", "png"):
        with mldf.open(folder / f"{name}.mldf") as ds:
            for i in range(2):
                np.testing.assert_array_equal(np.asarray(ds[i].v), decoded[i])
                if name != "png":
                    assert [ds[i].v.file(k) for k in range(9)] == videos[i]
        assert mldf.verify(folder / f"{name}.mldf", deep=True)


def test_a_group_shares_frames_and_draws(tmp_path):
    videos, masks = [pixels(n, n) for n in (20, 9)], [pixels(n, n + 50)[..., :1] for n in (20, 9)]
    fields = {"v": mldf.VideoFrames(mode="raw", fps=10), "m": mldf.VideoFrames(mode="raw", channels=1, fps=10)}
    fields["a"] = mldf.NDArray("int32", (None, 2))
    with mldf.Writer(tmp_path / "x.mldf", fields) as w:
        for video, mask in zip(videos, masks):
            w.append({"v": video, "m": mask, "a": np.arange(2 * len(video), dtype=np.int32).reshape(-1, 2)})
    text = "v, m as mask, a: clip(6, stride=2)\nv, m: random_crop([10, 12]) | hflip"
    for backend in ("map", "read"):
        for i, row in rows(batches(tmp_path / "x.mldf", text, backend=backend, epochs=3)):
            start = round(row["v.start"] * 10)
            numbers, valid = by_stride(len(videos[i]), start, 6, 2, "repeat_last")
            np.testing.assert_array_equal(row["a"][:, 0], 2 * np.asarray(numbers))
            np.testing.assert_array_equal(row["m.pts"], row["v.pts"])
            np.testing.assert_array_equal(row["a_valid"], valid)
            found = [
                (y, x, flip)
                for y in range(24 - 10 + 1)
                for x in range(32 - 12 + 1)
                for flip in (1, -1)
                if (videos[i][numbers][:, y : y + 10, x : x + 12][:, :, ::flip] == row["v"]).all()
            ]
            assert any(
                (masks[i][numbers][:, y : y + 10, x : x + 12][:, :, ::flip] == row["m"]).all() for y, x, flip in found
            )


def test_pieces_of_a_long_video(raw, timed):
    for path, videos in (raw, timed):
        with mldf.open(path) as ds:
            assert len(ds.as_view("windows(v, 8)")) == sum(len(v) // 8 for v in videos)
        for backend in ("map", "read"):
            found = batches(path, "v: resize([12, 16])", view="expand(v, every=6, length=8)", backend=backend)
            whole = dict(rows(batches(path, "v: clip(64, start=fixed, short=zero) | resize([12, 16])")))
            pieces = [(i, at) for i, v in enumerate(videos) for at in range(0, len(v), 6)]
            for item, row in rows(found):
                i, at = pieces[item]
                want = np.zeros((8, 12, 16, 3), np.uint8)
                have = min(len(videos[i]) - at, 8)
                want[:have] = whole[i]["v"][at : at + have]
                np.testing.assert_array_equal(row["v"], want)
            found = batches(path, "v: clip(3, stride=2, start=fixed)", view="windows(v, 8)", backend=backend)
            pieces = [(i, at) for i, v in enumerate(videos) for at in range(0, len(v) - 7, 8)]
            with mldf.open(path) as ds:
                for item, row in rows(found):
                    i, at = pieces[item]
                    np.testing.assert_array_equal(row["v"], videos[i][[at, at + 2, at + 4]])
                    np.testing.assert_array_equal(row["v.pts"], ds[i].v.pts[[at, at + 2, at + 4]])


def test_nulls_and_resuming(tmp_path):
    videos = [pixels(n, n) for n in (9, 4, 12, 7, 8)]
    with mldf.Writer(tmp_path / "x.mldf", {"v": mldf.VideoFrames(mode="raw", fps=10, nullable=True)}) as w:
        for i, video in enumerate(videos):
            w.append({"v": None if i == 1 else video})
    text = "v: clip(3, fps=4) | fill(0)"
    first = batches(tmp_path / "x.mldf", text)
    for i, row in rows(first):
        assert row["v_valid"].all() == (i != 1) and np.isnan(row["v.pts"]).all() == (i == 1)
        assert row["v"].any() == (i != 1)
    options = {"pipelines": "v: clip(3, fps=4) | fill(0)", "batch_size": 1, "shuffle": True, "seed": 3}
    with (
        mldf.open(tmp_path / "x.mldf") as ds,
        mldf.Loader(ds, **options) as loader,
        mldf.Loader(ds, **options) as other,
    ):
        it = iter(loader)
        next(it), next(it)
        other.load_state_dict(loader.state_dict())
        for a, b in zip(it, other):
            np.testing.assert_array_equal(a.v, b.v)


def test_what_a_writer_takes_and_refuses(tmp_path):
    video = pixels(4, 1)
    files = [images.encode(frame, format="jpeg") for frame in video]
    folder = tmp_path / "frames"
    folder.mkdir()
    for i, data in enumerate(files):
        (folder / f"{i:03}.jpg").write_bytes(data)
    with mldf.Writer(tmp_path / "x.mldf", {"v": mldf.VideoFrames(fps=12)}) as w:
        for value in (folder, files, [folder / f"{i:03}.jpg" for i in range(4)], mldf.Frames(files, fps=12)):
            w.append({"v": value})
    with mldf.open(tmp_path / "x.mldf") as ds:
        assert all([ds[i].v.file(k) for k in range(4)] == files and ds[i].v.fps == 12 for i in range(4))
        with mldf.Writer(tmp_path / "y.mldf", {"v": mldf.VideoFrames()}) as w:
            w.append({"v": ds[0].v})
    assert [mldf.open(tmp_path / "y.mldf")[0].v.file(k) for k in range(4)] == files
    png = images.encode(video[0], format="png")
    wrong = {
        "a png file, and the field's frames are JPEG": (mldf.VideoFrames(), [png]),
        "64 x 48 pixels, and the first frame has 32 x 24": (
            mldf.VideoFrames(),
            [files[0], images.encode(pixels(1, 1, 48, 64)[0], format="jpeg")],
        ),
        "times of their own, and the field has no": (mldf.VideoFrames(), mldf.Frames(files, pts=range(4))),
        "the frames come without times": (mldf.VideoFrames(pts=True), files),
        "its time is not after that": (mldf.VideoFrames(pts=True), mldf.Frames(files, pts=[0, 2, 2, 3])),
        "3 times for 4 frames": (mldf.VideoFrames(pts=True), mldf.Frames(files, pts=[0, 2, 3])),
        "another number of channels": (mldf.VideoFrames(mode="raw"), video[..., :1]),
        "holds no images": (mldf.VideoFrames(), tmp_path),
    }
    for words, (field, value) in wrong.items():
        with pytest.raises(mldf.Error, match=words):
            with mldf.Writer(tmp_path / "z.mldf", {"v": field}, overwrite=True) as w:
                w.append({"v": value})


def damaged(path, out, at, data):
    raw_bytes = bytearray(path.read_bytes())
    raw_bytes[at : at + len(data)] = data
    out.write_bytes(raw_bytes)
    return out


def test_damage_is_found(stored, timed, tmp_path):
    path = stored[0] / "jpeg.mldf"
    with mldf.open(path) as ds:
        place = int(ds.rows["v"]["ptr"][0])
        size = int(ds.rows["v"]["size"][0])
    word = lambda n: int(n).to_bytes(8, "little")  # noqa: E731
    for at, value in ((8, 2**63), (8, 0), (8, size + 1), (16, 2**64 - 1), (40, 81)):
        bad = damaged(path, tmp_path / "bad.mldf", place + at, word(value))
        for backend in ("map", "read"):
            with pytest.raises(mldf.errors.CorruptError, match="frame"):
                batches(bad, "v: clip(9, start=fixed)", backend=backend)
        assert not mldf.verify(bad, deep=True)
    bad = damaged(path, tmp_path / "bad.mldf", place + 80 + 30, b"\0" * 500)
    assert not mldf.verify(bad, deep=True)
    with pytest.raises(mldf.Error, match="frame 0"):
        batches(bad, "v: clip(9, start=fixed)")
    # Times that do not ascend give frames of the video, never another memory.
    with mldf.open(timed[0]) as ds:
        place = int(ds.rows["v"]["ptr"][4])
    bad = damaged(timed[0], tmp_path / "bad.mldf", place + 8 * 65 + 8 * 20, word(2**63 - 1) + word(2**63) + word(0))
    for fps in (0.001, 7, 1000):
        for _, row in rows(batches(bad, f"v: clip(16, fps={fps})", epochs=3)):
            assert row["v"].shape == (16, 24, 32, 3)
    assert not mldf.verify(bad, deep=True)


def test_command(stored, tmp_path):
    path = stored[0] / "jpeg.mldf"
    if not os.environ.get("MLDF"):
        pytest.skip("MLDF does not name the command mldf")
    import subprocess

    def run(*words):
        return subprocess.run([os.environ["MLDF"], *map(str, words)], capture_output=True, text=True, check=True).stdout

    shown = json.loads(run("cat", path, "--json", "-n", "1").splitlines()[0])
    text = json.dumps(shown)
    assert '"frames": 9' in text and '"fps": [25, 1]' in text
    assert "video_frames" in run("info", path)
    run("verify", "--deep", path)
    run("stats", path)
    merged = tmp_path / "merged.mldf"
    run("merge", path, path, "-o", merged)
    run("diff", path, path)
    with mldf.open(merged) as ds:
        np.testing.assert_array_equal(np.asarray(ds[3].v), stored[2][1])
    shutil.rmtree(tmp_path, ignore_errors=True)


def test_files_of_other_arguments_do_not_match(raw, timed, stored):
    with mldf.open([raw[0], raw[0]]) as ds:
        assert len(ds) == 10
    with pytest.raises(mldf.Error, match="video_frames"):
        with mldf.Loader([stored[0] / "jpeg.mldf", stored[0] / "image.mldf"], 2, pipelines="v: clip(2)") as loader:
            list(loader)
