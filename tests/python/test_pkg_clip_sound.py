"""Clips of a video with their sound, in one statement: files that FFmpeg makes, exact numbers by Python's fractions."""

import json
import math
import os
import re
import struct
import subprocess
from fractions import Fraction

import mldf
import numpy as np
import pytest
from codec_files import OUTSIDE, ffmpeg, run, speech, write_wav

RATE = 48000


def make(path, seconds, fps="30", size="64x48", sound=None, rate=RATE, video=(), audio=(), before=(), offset=()):
    """A film of `seconds`; sound: numbers (t, channels). before: options in front of the film; offset: of the sound."""
    command = ["ffmpeg", "-v", "error", "-y", *before]
    command += ["-f", "lavfi", "-i", f"testsrc2=size={size}:rate={fps}:duration={seconds}"]
    if sound is not None:
        write_wav(path.with_suffix(".wav"), sound, rate)
        command += [*offset, "-i", path.with_suffix(".wav"), "-map", "0:v", "-map", "1:a", *audio]
    run(*command, *(video or ("-c:v", "libx264", "-g", "15", "-bf", "2", "-preset", "ultrafast")), path)
    return path


def packed(path):
    out = path.with_suffix(".mldf")
    mldf.pack(path, out, overwrite=True)
    return out


def load(path, text, samples=1, **options):
    with mldf.Loader(path, samples, pipelines=text, **options) as loader:
        return next(iter(loader))


def probe(path, stream, entries):
    command = ["ffprobe", "-v", "error", "-select_streams", stream, "-show_entries", entries, "-of", "json", str(path)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, env=OUTSIDE).stdout)


def start_of_sound(path):
    """Of a lossless sound: seconds after the first frame, by what FFprobe reads of the file."""
    found = []
    for stream in ("v:0", "a:0"):
        s = probe(path, stream, "stream=time_base,start_pts")["streams"][0]
        found.append(Fraction(s["start_pts"]) * Fraction(s["time_base"]))
    return found[1] - found[0]


def frame_times(path):
    """Of each frame after the first one, exactly; and when the last one ends."""
    base = Fraction(probe(path, "v:0", "stream=time_base")["streams"][0]["time_base"])
    frames = probe(path, "v:0", "frame=pts,pkt_duration")["frames"]
    times = [(f["pts"] - frames[0]["pts"]) * base for f in frames]
    return times, times[-1] + int(frames[-1]["pkt_duration"]) * base


def cut(whole, start, rate, begin, end):
    """The samples of [begin, end) by the definition, and how many of them there are."""
    a, b = (math.ceil((t - start) * rate) for t in (begin, end))
    out = np.zeros((b - a, *whole.shape[1:]), whole.dtype)
    low, high = min(max(a, 0), len(whole)), min(max(b, 0), len(whole))
    out[low - a : high - a] = whole[low:high]
    return out, max(high - low, 0)


# ---- The lines of the design ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("videos") / "videos"
    kinds = {
        "cats": ("mp4", "30", ("-c:v", "libx264", "-preset", "ultrafast"), ("-c:a", "aac")),
        "dogs": ("mkv", "25", ("-c:v", "libx264", "-preset", "ultrafast"), ("-c:a", "libvorbis")),
        "fish": ("webm", "24", ("-c:v", "libvpx", "-deadline", "realtime"), ("-c:a", "libopus")),
    }
    for name, (ending, fps, video, audio) in kinds.items():
        (folder / name).mkdir(parents=True)
        for i in range(2):
            path = folder / name / f"{i}.{ending}"
            make(path, 3 + i, fps, "96x64", speech(RATE, 2, 3 + i, i), RATE, video, audio)
            path.with_suffix(".wav").unlink()
    return folder


def test_the_lines_that_must_work(videos, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.symlink(videos, "videos")
    mldf.pack("videos/", "v.mldf")  # mp4, mkv, webm; class folders
    loader = mldf.Loader(
        "v.mldf",
        8,
        shuffle=True,
        seed=1,
        pipelines={
            "video.video, video.audio": [mldf.Clip(frames=16, fps=8, start="random", count=2, short="repeat_last")],
            "video.video": [
                mldf.RandomResizedCrop(224),
                mldf.HorizontalFlip(),
                mldf.Normalize("imagenet"),
                mldf.CHW("f32"),
            ],
            "video.audio": [mldf.Resample(16000), mldf.Mono(), mldf.Mel("whisper")],
        },
    )
    count = 0
    for b in loader:
        assert b["video.video"].shape[1:] == (2, 16, 3, 224, 224) and b["video.pts"].shape[1:] == (2, 16)
        assert (b["video.end"] - b["video.start"]).max() <= 2.0 + 1e-6 and b["video.audio_valid"].shape[1:] == (2,)
        assert b["video.audio"].shape[1:] == (2, 80, 200) and b["label"].shape == (len(b["label"]),)
        assert (b["video.audio_valid"] == 2 * RATE).all() and b["video.audio_valid"].dtype == np.int64
        assert np.isfinite(b["video.audio"]).all() and b["video.audio"].std() > 0.1
        count += len(b["label"])
    assert count == 6


@pytest.mark.parametrize("lossless", [False, True])
def test_the_command_runs_it_and_every_way_gives_the_same(videos, film, lossless, tmp_path):
    """The reference decodes whole recordings: of Opus a window is not the same bits."""
    ours = film[1] if lossless else tmp_path / "v.mldf"
    if not lossless:
        mldf.pack(videos, ours)
    ways = ["-j 0", "-j 2", "-j 1 --backend read", "--isa portable"] + ["-j 2 --reference"] * lossless
    text = (
        "video.video, video.audio: clip(frames=6, fps=8, count=2)\nvideo.video: resize([32, 32])\n"
        "video.audio: resample(16000) | mono | mel(bins=40)"
    )
    hashes = set()
    for options in ways:
        command = [os.environ["MLDF"], "bench", str(ours), "-p", text, *options.split()]
        command += ["--batch-size", "2", "--hash", "--json", "--seed", "3", "--order", "random"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        hashes.add(tuple(json.loads(result.stdout)["batch_hashes"]))
    assert len(hashes) == 1


# ---- To the sample -------------------------------------------------------------------------------------------------


def flash_and_beep(path, fps, seconds, audio):
    """A white frame and a tone of 100 samples whenever a second begins; black and silent between."""
    frames = np.zeros((fps * seconds, 32, 32, 3), np.uint8)
    frames[::fps] = 255
    sound = np.zeros((RATE * seconds, 1))
    for s in range(seconds):
        sound[s * RATE : s * RATE + 100, 0] = 0.5
    write_wav(path.with_suffix(".wav"), sound, RATE)
    command = ["ffmpeg", "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", "32x32", "-r", str(fps)]
    command += ["-i", "-", "-i", str(path.with_suffix(".wav")), "-c:v", "libx264", "-g", "12", "-pix_fmt", "yuv420p"]
    subprocess.run([*command, *audio, str(path)], check=True, input=frames.tobytes(), env=OUTSIDE)
    return packed(path)


@pytest.mark.parametrize(("ending", "audio"), [("mkv", ("-c:a", "flac")), ("mp4", ("-c:a", "alac"))])
@pytest.mark.parametrize("fps", [30, 24])
def test_a_flash_and_its_beep_agree_to_the_sample(ending, audio, fps, tmp_path):
    path = flash_and_beep(tmp_path / f"x.{ending}", fps, 4, audio)
    before = 5  # frames in front of the flash
    for second in (1, 2, 3):
        first = second * fps - before
        b = load(path, f"video, video.audio: clip(frames=12, start=fixed, first={first})\nvideo.audio: pad")
        frames, sound = b["video"][0], b["video.audio"][0]
        bright = np.flatnonzero(frames.mean((1, 2, 3)) > 128)
        heard = np.flatnonzero(sound)
        assert list(bright) == [before] and len(heard) == 100
        exact = before * RATE / fps  # the flash is shown so many samples after the clip begins
        if ending == "mkv" and RATE / fps * before % 48:  # milliseconds: the file itself says so much
            assert abs(heard[0] - exact) <= RATE / 1000
            exact = math.ceil(second * RATE - Fraction(b["video.start"][0]).limit_denominator(1000) * RATE)
        assert heard[0] == exact and heard[-1] == exact + 99


@pytest.mark.parametrize("way", ["fixed", "view", "fps"])
def test_sounds_of_clips_that_follow_each_other_are_the_whole(way, tmp_path):
    whole = speech(44100, 1 if way == "view" else 2, 3.2, 5)
    path = make(tmp_path / "x.mkv", 3, "24000/1001", sound=whole, rate=44100, audio=("-c:a", "flac"))
    ours, want, start = packed(path), ffmpeg(path), start_of_sound(path)
    assert start == 0
    times, end = frame_times(path)
    pieces = []
    if way == "view":
        text = "video, video.audio: clip(frames=7, start=fixed, short=zero)\nvideo.audio: ragged\nvideo: resize([8, 8])"
        with mldf.Loader(ours, 3, view="expand(video, every=7, length=7, last=pad)", pipelines=text) as loader:
            for b in loader:
                places = b["video.audio_offset"]
                pieces += [b["video.audio"][a:z] for a, z in zip(places, places[1:])]
    elif way == "fixed":
        for first in range(0, len(times), 7):
            b = load(ours, f"video, video.audio: clip(frames=7, start=fixed, first={first})\nvideo.audio: pad")
            pieces.append(b["video.audio"][0])
    else:
        pieces += [load(ours, "video, video.audio: clip(frames=1, fps=0.3, start=fixed)")["video.audio"][0]]
    got = np.concatenate(pieces, -1).reshape(want.shape[1], -1).T
    covered = math.ceil(min(end, Fraction(len(want), 44100)) * 44100) if way != "fps" else len(want)
    np.testing.assert_array_equal(got[:covered], want[:covered])
    if way != "fps":
        assert len(got) >= math.ceil(end * 44100)


@pytest.mark.parametrize("ending", ["mkv", "mp4"])
@pytest.mark.parametrize("offset", [0.35, -0.24, 1.2345])
def test_streams_that_start_apart(offset, ending, tmp_path):
    """Frames before the sound begins have zeros; a sound that begins before the first frame is cut there."""
    whole = speech(RATE, 1, 3, 2)
    late = ("-itsoffset", str(abs(offset)))
    codec = ("-c:a", "flac" if ending == "mkv" else "alac")
    apart = {"offset": late} if offset > 0 else {"before": late}
    path = make(tmp_path / f"x.{ending}", 2, "25", sound=whole, audio=(*codec, "-fps_mode", "passthrough"), **apart)
    start = start_of_sound(path)
    assert abs(start - Fraction(offset)) < Fraction(1, 500)
    ours, want = packed(path), ffmpeg(path)
    if ending == "mp4" or offset > 0:
        want = want[-len(whole) :]  # FFmpeg puts silence in front of it
    for first in (0, 3, 20, 31):
        b = load(ours, f"v = video, a = video.audio: clip(frames=10, fps=25, start=fixed, first={first / 25})")
        begin = Fraction(first, 25)
        sound, valid = cut(want[:, 0], start, RATE, begin, begin + Fraction(10, 25))
        np.testing.assert_array_equal(b["a"][0], sound)
        assert b["a_valid"][0] == valid and abs(b["v.start"][0] - first / 25) < 1e-9
    before = load(ours, "v = video, a = video.audio: clip(frames=2, fps=25, start=fixed)")
    assert before["a_valid"][0] == (0 if offset > 0 else 3840)


LOSSY = {
    "aac": ("mp4", (), ("-c:a", "aac")),
    "mp3": ("mov", (), ("-c:a", "libmp3lame")),
    "vorbis": ("mkv", (), ("-c:a", "libvorbis")),
    "opus": ("webm", ("-c:v", "libvpx", "-deadline", "realtime"), ("-c:a", "libopus")),
}


@pytest.mark.parametrize("name", LOSSY)
def test_lossy_sound_is_where_the_file_has_it(name, tmp_path):
    """The original fits best where FFprobe's first decoded frames say: what encoders put in front is taken off."""
    ending, video, audio = LOSSY[name]
    whole = speech(RATE, 1, 2, 4)
    path = make(tmp_path / f"x.{ending}", 2, "25", sound=whole, video=video, audio=audio)
    times = [float(probe(path, s, "frame=pts_time")["frames"][0]["pts_time"]) for s in ("v:0", "a:0")]
    b = load(packed(path), "video, video.audio: clip(frames=10, fps=25, start=fixed, first=0.8)")
    sound = b["video.audio"][0].astype(float)
    at = round((0.8 - (times[1] - times[0])) * RATE)
    lags = range(-600, 601)
    fit = [float(sound @ whole[at + k : at + k + len(sound), 0]) for k in lags]
    assert abs(lags[int(np.argmax(fit))]) <= (1 if ending in ("mp4", "mov") else 48), "Matroska has milliseconds"


# ---- Lengths, channels, rates --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    path = make(tmp_path_factory.mktemp("film") / "x.mkv", 2, "25", sound=speech(RATE, 2, 2, 1), audio=("-c:a", "flac"))
    return path, packed(path), ffmpeg(path)


def test_samples_are_exact_and_padded(film):
    _, ours, want = film
    text = "video, video.audio: clip(frames=4, stride=3, start=uniform, count=3, samples=40000)"
    b = load(ours, text)
    assert b["video.audio"].shape == (1, 3, 2, 40000) and b["video.start"].shape == (1, 3)
    for i, begin in enumerate(b["video.start"][0]):
        a = round(begin * RATE)
        have = max(0, min(len(want), a + 40000) - a)
        assert b["video.audio_valid"][0, i] == have
        np.testing.assert_array_equal(b["video.audio"][0, i, :, :have].T, want[a : a + have])
        assert not b["video.audio"][0, i, :, have:].any()
    assert b["video.audio_valid"][0, 2] < 40000


def test_steps_see_each_clip_by_itself(film):
    """resample, mono and mel of several clips are those of each; one draw for all."""
    _, ours, _ = film
    clip = "clip(frames=8, fps=10, start={}, {})"
    steps = " | resample(16000) | mono | mel(bins=32)"
    three = load(ours, "video, video.audio: " + clip.format("uniform", "count=3") + "\nvideo.audio:" + steps[2:])
    for i in range(3):
        first = f"first={float(three['video.start'][0, i])}"
        one = load(ours, f"video, video.audio: {clip.format('fixed', first)}\nvideo.audio: {steps[3:]}")
        np.testing.assert_array_equal(three["video.audio"][0, i], one["video.audio"][0])
    loud = load(ours, "video, video.audio: " + clip.format("uniform", "count=3") + "\nvideo.audio: gain([-6, 6])")
    plain = load(ours, "video, video.audio: " + clip.format("uniform", "count=3"))
    ratio = np.abs(loud["video.audio"]).max((0, 2, 3)) / np.abs(plain["video.audio"]).max((0, 2, 3))
    assert np.ptp(ratio) < 1e-5 and abs(ratio[0] - 1) > 1e-3


def test_resampled_before_the_clip(film):
    """decode_audio(rate=) and resample in front of the clip keep the sound's place in time."""
    _, ours, _ = film
    group = "video, video.audio: clip(frames=10, fps=25, start=fixed, first=0.4)"
    whole = load(ours, "a = video.audio: resample(16000) | pad")["a"][0]
    one = load(ours, f"video.audio: resample(16000)\n{group}")["video.audio"][0]
    two = load(ours, f"video.audio: decode_audio(rate=16000)\n{group}")["video.audio"][0]
    np.testing.assert_array_equal(one, whole[:, 6400:12800])
    np.testing.assert_array_equal(two, one)


def test_the_video_leads_whatever_comes_first(film):
    _, ours, _ = film
    a = load(ours, "video, video.audio: clip(frames=5, fps=12.5)", seed=4)
    b = load(ours, "video.audio, video: clip(frames=5, fps=12.5)", seed=4)
    for x in (a, b):
        assert x["video.audio"].shape == (1, 2, 19200) and x["video"].shape[1] == 5
        begin = Fraction(x["video.start"][0]).limit_denominator(1000)
        sound, valid = cut(film[2], 0, RATE, begin, begin + Fraction(2, 5))
        np.testing.assert_array_equal(x["video.audio"][0].T, sound)
        assert x["video.audio_valid"][0] == valid


def test_lengths_that_differ_need_pad_or_samples(film):
    _, ours, _ = film
    with pytest.raises(mldf.Error, match=r"differs from sample to sample.*pad"):
        load(ours, "video, video.audio: clip(frames=5)")
    with pytest.raises(mldf.Error, match=r"equally long.*samples=n"):
        load(ours, "video, video.audio: clip(frames=5, count=2)")
    with pytest.raises(mldf.Error, match="equally long"):
        load(ours, "video, video.audio: clip(frames=5, fps=29.97, count=2)")
    with pytest.raises(mldf.Error, match="clip comes first"):
        load(ours, "video.audio: window(seconds=1)\nvideo, video.audio: clip(frames=5, fps=25)")
    with pytest.raises(mldf.Error, match="one clip, not several"):
        load(ours, "video, video.audio: clip(frames=5, fps=25, count=2)\nvideo.audio: clip(samples=10)")
    with pytest.raises(mldf.Error, match="a video needs frames"):
        load(ours, "video: clip(samples=100)")
    with pytest.raises(mldf.Error, match="frames must be given"):
        load(ours, "video: clip()")
    b = load(ours, "video, video.audio: clip(frames=5, fps=29.97, start=fixed)\nvideo.audio: pad")
    assert b["video.audio"].shape[2] == math.ceil(Fraction(5 * RATE * 100, 2997))


def test_a_recording_by_itself(film):
    _, ours, want = film
    b = load(ours, "video.audio: clip(samples=1000, start=uniform, count=3)")
    spare = len(want) - 1000
    for i in range(3):
        np.testing.assert_array_equal(b["video.audio"][0, i].T, want[i * spare // 2 : i * spare // 2 + 1000])
    b = load(ours, "video.audio: clip(samples=200000, start=center)")
    assert b["video.audio_valid"][0] == len(want) and not b["video.audio"][0, :, len(want) :].any()
    with pytest.raises(mldf.Error, match="too few for a clip of 200000"):
        load(ours, "video.audio: clip(samples=200000, short=error)")
    with pytest.raises(mldf.Error, match="cut by samples=n"):
        load(ours, "video.audio: clip(frames=10)")


def test_steps_that_pick_frames_take_recordings(film):
    """time_reverse and its like, which used to end the program on sound of one channel."""
    _, ours, _ = film
    text = "a = video.audio: decode_audio(mono=true) | {} | pad\nb = video.audio: decode_audio(mono=true) | pad"
    b = load(ours, text.format("time_reverse(p=1)"))
    np.testing.assert_array_equal(b["a"][0], b["b"][0][::-1])
    b = load(ours, text.format("time_subsample(3)"))
    np.testing.assert_array_equal(b["a"][0], b["b"][0][::3])


def test_a_view_without_a_clip_says_what_to_do(film):
    _, ours, _ = film
    with pytest.raises(mldf.Error, match=r"video, video\.audio: clip"):
        load(ours, "video.audio: window(samples=10)", view="expand(video, every=10, length=10)")


# ---- Without sound -------------------------------------------------------------------------------------------------


def test_a_video_without_sound_has_silent_clips(tmp_path):
    folder = tmp_path / "films"
    folder.mkdir()
    make(folder / "a.mp4", 2, "25", sound=speech(RATE, 1, 2, 3), audio=("-c:a", "aac"))
    (folder / "a.wav").unlink()
    make(folder / "b.mp4", 2, "25")
    mldf.pack(folder, tmp_path / "x.mldf")
    b = load(
        tmp_path / "x.mldf", "video, video.audio: clip(frames=5, fps=25, count=2)\nvideo.audio: resample(16000)", 2
    )
    assert list(b["video.audio_valid"][0]) == [9600, 9600] and list(b["video.audio_valid"][1]) == [0, 0]
    assert b["video.audio"][0].any() and not b["video.audio"][1].any() and b["video.audio"].shape == (2, 2, 3200)
    with mldf.Loader(tmp_path / "x.mldf", 2, pipelines="video.audio: window(samples=100, short=pad)") as loader:
        with pytest.raises(mldf.Error, match=r"sample 1.*no audio; the step fill"):
            next(iter(loader))
    b = load(tmp_path / "x.mldf", "video.audio: window(samples=100, short=pad) | fill(valid=true)", 2)
    assert list(b["video.audio_valid"]) == [True, False] and not b["video.audio"][1].any()


def test_no_video_has_sound(tmp_path):
    ours = packed(make(tmp_path / "x.mp4", 1, "25"))
    with pytest.raises(mldf.Error, match="none of the videos has sound"):
        load(ours, "video, video.audio: clip(frames=5, fps=25)")


@pytest.mark.parametrize(
    ("later", "error", "message"),
    [
        (2**57, mldf.errors.CorruptError, "no video is so long"),
        (2**26, mldf.errors.LimitError, "bytes of memory, and the limit"),
    ],
)
def test_a_frame_that_is_shown_for_years_has_no_sound(later, error, message, tmp_path):
    """2**57 ms are 2**62 samples, whose bytes are 0 in 64 bits."""
    sound = np.zeros((3 * 32000, 1), np.int16)
    film = make(tmp_path / "a.mkv", 3, "1", sound=sound, rate=32000, audio=("-c:a", "flac"), video=("-c:v", "ffv1"))
    path = packed(film)
    data = bytearray(path.read_bytes())
    with mldf.open(path) as ds:
        name = ds.schema.names[0]
        ptr = int(ds.rows[name][0]["ptr"])
    (at,) = [
        at
        for at in range(ptr, ptr + 4096)
        if [struct.unpack_from("<q", data, at + 24 * i)[0] for i in range(3)] == [0, 1000, 2000]
    ]
    struct.pack_into("<q", data, at + 24, later)
    struct.pack_into("<q", data, at + 48, later + 1)
    struct.pack_into("<qQ", data, ptr + 64 + 192 + 144, 1, 32000)
    path.write_bytes(data)
    clip = f"{name}.video, {name}.audio: clip(frames=1, start=fixed)"
    with pytest.raises(mldf.Error) as problem:
        load(path, f"{name}.video: clip(frames=1, start=fixed)", threads=0)
    struct.pack_into("<I", data, ptr + 56, int(re.search(r"table is (\d+)", str(problem.value))[1]))
    path.write_bytes(data)
    for steps in (f"{clip}\n{name}.audio: pad", f"{name}.audio: gain(1)\n{clip}\n{name}.audio: pad"):
        with pytest.raises(error, match=message):
            load(path, steps, threads=0)
