"""Videos of every kind that FFmpeg makes, 64 x 48 pixels and short: each frame that is asked for is FFmpeg's own, plane for plane.

tests/unit/field/video_planes.c gives the planes as they are decoded. FFmpeg's decoding of the whole file, from its beginning, is the measure.
"""

import os
import pathlib
import subprocess
import sys

import mldf
import numpy as np
import pytest
from codec_files import OUTSIDE, run

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "docs" / "spec"))
import reference_reader  # noqa: E402

SOURCE = ("-f", "lavfi", "-i", "testsrc2=size=64x48:rate=30:duration=2")
X265 = "log-level=none:pools=none:frame-threads=1"

X265_OPEN = X265 + ":keyint=15:open-gop=1:bframes=4"
LAYERS = "ts_number_layers=3:ts_target_bitrate=40,70,100:ts_rate_decimator=4,2,1:ts_periodicity=4:ts_layer_id=0,2,1,2"
VP9_LAYERS = ("-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-lag-in-frames", "0", "-b:v", "100k")


def without_list(data):
    """MP4 without its list of key frames: every frame is said to be one."""
    return data.replace(b"stss", b"free", 1)


def with_first_key(data):
    """MP4 whose list of key frames names the first alone."""
    at = data.index(b"stss") + 8
    assert int.from_bytes(data[at : at + 4], "big") > 2
    return data[:at] + (1).to_bytes(4, "big") + data[at + 4 :]


def with_a_key_that_lies(data):
    """MP4 whose list of key frames names 0, 20 and 21: 20 is an image by itself, 21 is not, and needs what is before 20."""
    at = data.index(b"stss") + 8
    assert int.from_bytes(data[at : at + 4], "big") == 3
    return data[: at + 4] + b"".join(n.to_bytes(4, "big") for n in (1, 21, 22)) + data[at + 16 :]


# What is done to the bytes of a file of the zoo.
EDITS = {
    "h264_takeover": with_a_key_that_lies,
    "h264_all_keys": without_list,
    "h264_one_key": with_first_key,
    "h264_open_all_keys": without_list,
    "hevc_open_all_keys": without_list,
    "mpeg4_all_keys": without_list,
}
# Files that ffmpeg does not make: tests/data/make_av1_layers.c; x264 --qpfile TYPES --ref 4 --bframes 0 --no-scenecut of testsrc2 with every second
# frame negated, where TYPES is "0 I -1", "20 i -1" (an I frame that is no IDR), "40 I -1", "50 I -1": each frame needs the one before the last.
DATA = pathlib.Path(__file__).parents[1] / "data" / "video"
INPUTS = {"av1_l1t3": ("-i", DATA / "av1_l1t3.ivf"), "h264_takeover": ("-i", DATA / "h264_i_frame.mp4")}
SIZES = {"av1_svt": (64, 64)}

# name: (file ending, pixel format of the planes, options of ffmpeg)
ZOO = {
    "h264_b": ("mp4", "yuv420p", ("-c:v", "libx264", "-g", "12", "-bf", "3", "-b_strategy", "0")),
    "h264_pyramid": (
        "mkv",
        "yuv420p",
        ("-c:v", "libx264", "-x264-params", "keyint=30:bframes=5:b-pyramid=normal:ref=4"),
    ),
    "h264_open": ("mkv", "yuv420p", ("-c:v", "libx264", "-x264-params", "keyint=12:bframes=3:open-gop=1:scenecut=0")),
    "h264_no_b": ("mp4", "yuv420p", ("-c:v", "libx264", "-bf", "0", "-g", "250")),
    "h264_ten": ("mkv", "yuv420p10le", ("-c:v", "libx264", "-pix_fmt", "yuv420p10le")),
    "h264_422": ("mp4", "yuv422p", ("-c:v", "libx264", "-pix_fmt", "yuv422p")),
    "h264_444": ("mp4", "yuv444p", ("-c:v", "libx264", "-pix_fmt", "yuv444p")),
    "h264_refresh": ("mkv", "yuv420p", ("-c:v", "libx264", "-x264-params", "keyint=20:intra-refresh=1:bframes=0")),
    "h264_interlaced": ("mp4", "yuv420p", ("-c:v", "libx264", "-flags", "+ildct+ilme", "-x264-params", "tff=1")),
    "h264_ts": ("m2ts", "yuv420p", ("-c:v", "libx264", "-g", "15", "-bf", "2")),
    "h264_vfr": (
        "mp4",
        "yuv420p",
        ("-vf", "select='not(mod(n,7)*mod(n,5))',setpts=PTS", "-fps_mode", "vfr", "-c:v", "libx264"),
    ),
    "hevc": ("mp4", "yuv420p", ("-c:v", "libx265", "-x265-params", X265 + ":keyint=20")),
    "hevc_open": ("mkv", "yuv420p", ("-c:v", "libx265", "-x265-params", X265 + ":keyint=15:open-gop=1:bframes=4")),
    "hevc_ten": ("mp4", "yuv420p10le", ("-c:v", "libx265", "-pix_fmt", "yuv420p10le", "-x265-params", X265)),
    "vp8": ("webm", "yuv420p", ("-c:v", "libvpx", "-g", "20", "-auto-alt-ref", "1", "-lag-in-frames", "10")),
    "vp9": ("webm", "yuv420p", ("-c:v", "libvpx-vp9", "-g", "20", "-auto-alt-ref", "1", "-lag-in-frames", "16")),
    "av1": ("mkv", "yuv420p", ("-c:v", "libaom-av1", "-cpu-used", "8", "-g", "20", "-lag-in-frames", "10")),
    "av1_mp4": ("mp4", "yuv420p10le", ("-c:v", "libaom-av1", "-cpu-used", "8", "-g", "250", "-pix_fmt", "yuv420p10le")),
    "vp9_layers": ("webm", "yuv420p", (*VP9_LAYERS, "-error-resilient", "1", "-ts-parameters", LAYERS)),
    "av1_pyramid": ("mkv", "yuv420p", ("-c:v", "libaom-av1", "-cpu-used", "8", "-g", "30", "-lag-in-frames", "25")),
    "av1_svt": ("mp4", "yuv420p", ("-s", "64x64", "-c:v", "libsvtav1", "-preset", "10", "-g", "32")),
    "av1_l1t3": ("mkv", "yuv420p", ("-c", "copy")),
    "h264_takeover": ("mp4", "yuv420p", ("-c", "copy")),
    "h264_all_keys": ("mp4", "yuv420p", ("-c:v", "libx264", "-g", "12", "-bf", "2")),
    "h264_one_key": ("mp4", "yuv420p", ("-c:v", "libx264", "-g", "12", "-bf", "2")),
    "h264_open_all_keys": ("mp4", "yuv420p", ("-c:v", "libx264", "-x264-params", "keyint=12:bframes=3:open-gop=1")),
    "hevc_open_all_keys": ("mp4", "yuv420p", ("-c:v", "libx265", "-x265-params", X265_OPEN)),
    "mpeg4_all_keys": ("mp4", "yuv420p", ("-c:v", "mpeg4", "-bf", "2", "-g", "12", "-q:v", "3")),
    "mpeg4_avi": ("avi", "yuv420p", ("-c:v", "mpeg4", "-bf", "2", "-g", "12", "-q:v", "3")),
    "mpeg4_mp4": ("mp4", "yuv420p", ("-c:v", "mpeg4", "-bf", "2", "-g", "12", "-q:v", "3")),
    "mpeg2_mpg": ("mpg", "yuv420p", ("-c:v", "mpeg2video", "-bf", "2", "-g", "12", "-q:v", "3")),
    "mjpeg": ("avi", "yuvj420p", ("-c:v", "mjpeg", "-q:v", "3", "-pix_fmt", "yuvj420p")),
    "ffv1": ("mkv", "yuv444p", ("-c:v", "ffv1", "-pix_fmt", "yuv444p", "-g", "5")),
}


def planes_by_ffmpeg(path, pixels, size=(64, 48)):
    """Every frame of the file, as FFmpeg shows them: an array of uint8, one row a frame."""
    command = [
        "ffmpeg",
        "-v",
        "error",
        "-noautorotate",
        "-bitexact",
        "-threads",
        "1",
        "-i",
        str(path),
        "-fps_mode",
        "passthrough",
    ]
    command += ["-map", "0:v:0", "-f", "rawvideo", "-pix_fmt", pixels, "-"]
    raw = subprocess.run(command, check=True, capture_output=True, env=OUTSIDE).stdout
    samples = {"420": 3 / 2, "422": 2, "444": 3}[pixels.replace("j", "")[3:6]] * size[0] * size[1]
    return np.frombuffer(raw, np.uint8).reshape(-1, int(samples) * (2 if "10" in pixels else 1))


def planes(path, mode, numbers, width):
    program = pathlib.Path(os.environ["MLDF_BUILD_DIR"]) / "tests" / "video_planes"
    command = [str(program), str(path), "0", mode, *map(str, numbers)]
    raw = subprocess.run(command, check=True, capture_output=True).stdout
    return np.frombuffer(raw, np.uint8).reshape(-1, width)


@pytest.fixture(scope="module")
def zoo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("zoo")

    def make(name):
        ending, pixels, options = ZOO[name]
        path, target = folder / f"{name}.{ending}", folder / f"{name}.mldf"
        if not target.exists():
            run("ffmpeg", "-v", "error", "-y", *INPUTS.get(name, SOURCE), *options, path)
            if name in EDITS:
                path.write_bytes(EDITS[name](path.read_bytes()))
            mldf.pack(path, target)
        return path, target, pixels

    return make


@pytest.mark.parametrize("name", ZOO)
def test_every_frame_is_ffmpegs(zoo, name):
    path, target, pixels = zoo(name)
    want = planes_by_ffmpeg(path, pixels, SIZES.get(name, (64, 48)))
    with mldf.open(target) as ds:
        assert ds.schema["video"].type == "video_compressed" and ds.rows["video"][0]["num_frames"] == len(want)
    assert len(want) > 15
    width = want.shape[1]
    assert np.array_equal(planes(target, "one", range(len(want)), width), want)
    rng = np.random.default_rng(len(want))
    some = [len(want) - 1, 0, *rng.integers(0, len(want), 25).tolist()]
    assert np.array_equal(planes(target, "each", some, width), want[some]), "with decoders that are flushed"
    few = some[:6]
    assert np.array_equal(planes(target, "new", few, width), want[few]), "with new decoders"
    clip = sorted(set(rng.integers(0, len(want), 8).tolist()))
    assert np.array_equal(planes(target, "one", clip, width), want[clip])
    assert np.array_equal(planes(target, "one+", clip, width), want[clip]), "with the packets that are not needed"
    assert np.array_equal(planes(target, "each+", few, width), want[few])


def test_every_file_verifies(zoo, tmp_path):
    targets = [zoo(name)[1] for name in ZOO]
    for target in targets:
        assert mldf.verify(target, deep=True).ok


def test_kept_decoders_are_as_good_as_new_ones(zoo):
    """Every ordered pair of files, one after the other with a thread's decoders."""
    program = pathlib.Path(os.environ["MLDF_BUILD_DIR"]) / "tests" / "video_pairs"
    command = [str(program), *(str(zoo(name)[1]) for name in ZOO)]
    told = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert told.returncode == 0 and told.stdout == f"{len(ZOO) ** 2} pairs\n", told.stdout


DAMAGED = ("h264_b", "hevc_open", "vp9", "av1", "mpeg4_avi", "h264_ts", "mjpeg", "mpeg2_mpg")


@pytest.mark.parametrize("name", DAMAGED)
def test_cut_and_damaged_files_end_in_time(zoo, tmp_path, name):
    """Files that are cut or changed, and packed ones whose packets are: an error, a skipped sample or frames; never a hang."""
    path, target, _ = zoo(name)
    rng = np.random.default_rng(len(name))
    data, packed = path.read_bytes(), target.read_bytes()
    row = mldf.open(target).rows["video"][0]
    folder = tmp_path / "in"
    folder.mkdir()
    for i in range(6):
        bad = bytearray(data[: int(rng.integers(len(data) // 4, len(data)))] if i % 2 else data)
        for at in rng.integers(0, len(bad), 1 + 4 * (i // 2)):
            bad[at] = int(rng.integers(0, 256))
        (folder / f"{i}{path.suffix}").write_bytes(bytes(bad))
        command = [
            os.environ["MLDF"],
            "pack",
            str(folder / f"{i}{path.suffix}"),
            "-o",
            str(tmp_path / f"{i}.mldf"),
            "-q",
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode >= 0 and (done.returncode == 0 or done.stderr.count("\n") >= 1), done
        if done.returncode == 0:
            assert mldf.verify(tmp_path / f"{i}.mldf", deep=True).ok
        changed = bytearray(packed)
        for at in rng.integers(row["ptr"] + row["size"] // 2, row["ptr"] + row["size"], 1 + 8 * i):
            changed[at] ^= 1 << int(rng.integers(0, 8))
        (tmp_path / "changed.mldf").write_bytes(bytes(changed))
        command = [os.environ["MLDF"], "bench", str(tmp_path / "changed.mldf"), "--pipeline"]
        command += ["video: clip(frames=4)", "--epochs", "2", "--on-error", "skip"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode >= 0, done


def test_memory_is_flat_over_epochs(zoo):
    """Decoders are kept, and no more of them than before: what a process needs does not grow."""
    with mldf.open(zoo("h264_pyramid")[1]) as ds:
        loader = mldf.Loader(ds, 1, pipelines="video: clip(frames=8)", threads=2, shuffle=True, seed=1)

        def resident():
            return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        sizes = []
        for epoch in range(300):
            for batch in loader:
                assert batch[0].shape[1] == 8
            if epoch in (100, 299):
                sizes.append(resident())
        loader.close()
    assert sizes[1] - sizes[0] < 4 << 20, sizes


def test_packets_that_no_other_needs(zoo):
    """B-frames of H.264 and HEVC, and frames of AV1 that are not kept, are left out where they are not wanted; other codecs are never touched."""
    marked = {}
    for name in (
        "h264_b",
        "h264_pyramid",
        "h264_no_b",
        "h264_ts",
        "hevc",
        "hevc_open",
        "vp8",
        "vp9",
        "vp9_layers",
        "av1",
        "av1_pyramid",
        "av1_svt",
        "av1_l1t3",
    ):
        file = reference_reader.read(zoo(name)[1])
        packets = reference_reader.video_tables(file.stored(0, "video"))["packets"]
        marked[name] = sum(flags >> 2 & 1 for _, _, _, flags, _ in packets) / len(packets)
    assert marked["h264_b"] > 0.4 and marked["h264_pyramid"] > 0.3 and marked["h264_ts"] > 0.3 and marked["hevc"] > 0.3
    assert marked["av1_svt"] > 0.2 and 0.45 < marked["av1_l1t3"] <= 0.5  # layer 2, and nothing of layers 0 and 1
    assert marked["h264_no_b"] == marked["vp8"] == marked["vp9"] == marked["vp9_layers"] == 0


def test_keys_that_a_container_forgets_or_invents(zoo):
    """IDR images are keys whatever a container says; other images are not, because a container says so."""

    def keys(name):
        return mldf.open(zoo(name)[1]).rows["video"][0]["num_keyframes"]

    assert keys("h264_one_key") == keys("h264_all_keys") == 5
    assert keys("h264_open_all_keys") < 10 and keys("hevc_open_all_keys") < 10 and keys("mpeg4_all_keys") < 10


def test_an_i_frame_is_no_key_because_a_container_says_so(zoo):
    """The list names 20, an I frame that later frames look behind, and 21, which needs others: all start at 0, and are right (above)."""
    file = reference_reader.read(zoo("h264_takeover")[1])
    tables = reference_reader.video_tables(file.stored(0, "video"))
    keys = [i for i, (_, _, _, flags, _) in enumerate(tables["packets"]) if flags & 1]
    assert keys == [0, 40, 50], keys
    assert [start for _, _, _, start in tables["frames"]][20:40] == [0] * 20


def test_a_recording_that_begins_in_the_middle(zoo, tmp_path):
    """What stands before the first key frame is not decodable: all that follows is there and right."""
    path, _, pixels = zoo("h264_ts")
    data = path.read_bytes()
    want = planes_by_ffmpeg(path, pixels)
    for part in (5, 3, 2):
        cut = tmp_path / f"cut{part}.m2ts"
        cut.write_bytes(data[len(data) // part // 192 * 192 :])
        mldf.pack(cut, tmp_path / f"cut{part}.mldf")
        count = int(mldf.open(tmp_path / f"cut{part}.mldf").rows["video"][0]["num_frames"])
        assert 15 <= count < len(want)
        got = planes(tmp_path / f"cut{part}.mldf", "one", range(count), want.shape[1])
        assert np.array_equal(got, want[-count:])
        assert mldf.verify(tmp_path / f"cut{part}.mldf", deep=True).ok
