"""Times of frames in real files: k / fps, as double and as float32, is frame k; all clips of a long video.

tests/unit/field/test_frame_times.c has every k below 6,000 for each rate and time base; here are files, sampled.
"""

import subprocess
from fractions import Fraction

import mldf
import numpy as np
import pytest
from codec_files import OUTSIDE

# name: (frames a second, file ending, options of ffmpeg)
FILES = {
    "10_mkv": ("10", "mkv", ()),
    "23.976_mkv": ("24000/1001", "mkv", ()),
    "29.97_mkv": ("30000/1001", "mkv", ()),
    "60_mkv": ("60", "mkv", ()),
    "23.976_15360": ("24000/1001", "mp4", ("-video_track_timescale", "15360")),
    "25_90000": ("25", "mp4", ("-video_track_timescale", "90000")),
    "29.97_90000": ("30000/1001", "mp4", ("-video_track_timescale", "90000")),
}
LONG = 6000


def make(folder, fps, ending, options, frames):
    path = folder / f"x.{ending}"
    noise = np.random.default_rng(0).integers(0, 255, (frames, 16, 16, 3), np.uint8)
    command = ["ffmpeg", "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", "16x16"]
    command += ["-r", fps, "-i", "-", "-c:v", "mpeg4", "-q:v", "2", "-g", "12", *options, str(path)]
    subprocess.run(command, input=noise.tobytes(), check=True, env=OUTSIDE)
    out = folder / "x.mldf"
    mldf.pack(path, out)
    return out


@pytest.mark.parametrize("name", FILES)
def test_times_are_their_frames(name, tmp_path):
    fps, ending, options = FILES[name]
    rate = Fraction(fps)
    long = name == "10_mkv"  # ten minutes, where a float32 has no digits left for a tick
    count = LONG if long else 300
    with mldf.open(make(tmp_path, fps, ending, options, count)) as ds:
        video = ds[0].video
        assert video.shape[0] == count
        step = count // 30
        numbers = sorted({*range(0, count, step), *range(count - 12, count)})
        want = video.frames(numbers)
        assert len({frame.tobytes() for frame in want}) == len(numbers)
        for times in ([float(k / rate) for k in numbers], [k / float(rate) for k in numbers]):
            np.testing.assert_array_equal(video.at(times), want)
            np.testing.assert_array_equal(video.at(np.array(times, np.float32)), want)
        between = [float((k + Fraction(1, 2)) / rate) for k in numbers]
        np.testing.assert_array_equal(video.at(between), want)
    text = f"video: clip(1, fps=1, start=fixed, first={float(numbers[5] / rate)})"
    with mldf.Loader(tmp_path / "x.mldf", 1, pipelines=text) as loader:
        np.testing.assert_array_equal(next(iter(loader))["video"][0, 0], want[5])


@pytest.mark.parametrize(("every", "length"), [(16, 16), (10, 25)])
def test_all_clips_of_a_long_video(every, length, tmp_path):
    """The view `expand` against frames(), and times against the numbers of frames."""
    out = make(tmp_path, "24", "mp4", (), 400)
    with mldf.open(out) as ds:
        frames = ds[0].video.frames(range(400))
    starts = []
    with mldf.Loader(
        out,
        7,
        shuffle=True,
        seed=3,
        view=f"expand(video, every={every}, length={length})",
        index=True,
        pipelines=f"video: clip({length}, start=fixed)",
    ) as loader:
        for b in loader:
            for i, item in enumerate(b["index"]):
                first = int(item) * every
                have = min(length, 400 - first)
                np.testing.assert_array_equal(b["video"][i, :have], frames[first : first + have])
                assert not b["video"][i, have:].any() and np.isnan(b["video.pts"][i, have:]).all()
                np.testing.assert_allclose(b["video.pts"][i, :have], np.arange(first, first + have) / 24, atol=1e-12)
                assert b["video_valid"][i].sum() == have and abs(b["video.end"][i] - (first + length) / 24) < 1e-9
                starts.append(first)
    assert sorted(starts) == list(range(0, starts and max(starts) + 1, every)) and len(starts) == len(set(starts))
    assert max(starts) + every >= 400 - length
