"""Videos that are long, hostile or damaged: packing them is bounded, can be stopped, and ends in an error or in right frames."""

import os
import signal
import subprocess
import time

import mldf
import numpy as np
import pytest
from codec_files import OUTSIDE, run

MLDF = os.environ["MLDF"]
TINY = ("-f", "lavfi", "-i", "testsrc2=size=32x32:rate=30")


@pytest.fixture(scope="module")
def long_video(tmp_path_factory):
    """Packets of a short video, 400 times: about half a minute of decoding."""
    folder = tmp_path_factory.mktemp("long")
    source = ("-f", "lavfi", "-i", "testsrc2=size=640x360:rate=30:duration=4")
    sound = ("-f", "lavfi", "-i", "sine=440:duration=4")
    run("ffmpeg", "-v", "error", "-y", *source, *sound, "-c:v", "libx264", "-preset", "ultrafast", folder / "one.mp4")
    loop = ("-stream_loop", "400", "-i", folder / "one.mp4", "-c", "copy", "-t", "1500")
    run("ffmpeg", "-v", "error", "-y", *loop, folder / "long.mkv")
    return folder / "long.mkv"


@pytest.mark.parametrize("threads", ["0", "1"])
def test_ctrl_c_inside_a_video_stops_at_once(long_video, tmp_path, threads):
    command = [MLDF, "pack", str(long_video), "-o", str(tmp_path / "x.mldf"), "--workers", threads]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as child:
        time.sleep(1.5)
        assert child.poll() is None, "it is packing"
        child.send_signal(signal.SIGINT)
        began = time.monotonic()
        child.wait(timeout=60)
        took = time.monotonic() - began
    assert child.returncode in (130, -signal.SIGINT), child.returncode
    assert took < 10 and list(tmp_path.iterdir()) == [], "packing it takes more than half a minute"


def test_ctrl_c_with_resume_goes_on(tmp_path):
    """What was interrupted inside a video begins with that video again; the result is the same as without."""
    source = ("-f", "lavfi", "-i", "testsrc2=size=640x360:rate=30:duration=8")
    (tmp_path / "in").mkdir()
    run("ffmpeg", "-v", "error", "-y", *source, "-c:v", "libx264", "-preset", "ultrafast", tmp_path / "in/0.mp4")
    for i in range(1, 8):
        os.link(tmp_path / "in/0.mp4", tmp_path / f"in/{i}.mp4")
    command = [MLDF, "pack", str(tmp_path / "in"), "-o", str(tmp_path / "x.mldf"), "--workers", "1", "--resume", "-q"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as child:
        first = (tmp_path / "in/0.mp4").stat().st_size
        partial = tmp_path / "x.mldf.partial"
        while child.poll() is None and not (partial.exists() and partial.stat().st_size > first):
            time.sleep(0.02)
        assert child.poll() is None, "it is packing"
        child.send_signal(signal.SIGINT)
        child.wait(timeout=60)
    assert child.returncode in (130, -signal.SIGINT), child.returncode
    assert (tmp_path / "x.mldf.partial").exists() and not (tmp_path / "x.mldf").exists()
    subprocess.run(command, check=True, timeout=120)
    command = [*command[:4], str(tmp_path / "y.mldf"), "-q"]
    subprocess.run(command, check=True, timeout=120)
    assert (tmp_path / "x.mldf").read_bytes() == (tmp_path / "y.mldf").read_bytes()
    assert not (tmp_path / "x.mldf.partial").exists()


def test_progress_counts_frames(long_video, tmp_path):
    told = []

    def stop(p):
        told.append(p.frames_done)
        return p.frames_done < 500

    with pytest.raises(mldf.Error):
        mldf.pack(long_video, tmp_path / "x.mldf", progress=stop)
    assert 500 <= told[-1] < 30000 and list(tmp_path.iterdir()) == []


def test_keys_and_times_made_to_cost_much(tmp_path):
    """Each of 3,000 keys serves one frame that lies 3,000 packets after it: packing and reading stay linear."""
    path = tmp_path / "hostile.mp4"
    keys = ("-c:v", "mpeg4", "-g", "600", "-force_key_frames", "expr:lt(n,5999)")  # a list of keys, if not all are
    run("ffmpeg", "-v", "error", "-y", *TINY, "-frames:v", "6000", *keys, tmp_path / "plain.mp4")
    times = "setts=dts=N:pts='if(lt(N,3000),N*2+7000,(N-3000)*2+7001)'"
    run("ffmpeg", "-v", "error", "-y", "-i", tmp_path / "plain.mp4", "-c", "copy", "-bsf:v", times, path)
    data = path.read_bytes()
    at = data.index(b"stss") + 8
    assert int.from_bytes(data[at : at + 4], "big") == 5999
    path.write_bytes(data[:at] + (3000).to_bytes(4, "big") + data[at + 4 :])
    began = time.monotonic()
    mldf.pack(path, tmp_path / "x.mldf")
    video = mldf.open(tmp_path / "x.mldf")[0].video
    assert len(video) == 6000
    plain = subprocess.run(
        [
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
            "gray",
            "-",
        ],
        check=True,
        capture_output=True,
        env=OUTSIDE,
    ).stdout
    assert len(plain) == 6000 * 32 * 32
    assert np.asarray(video.frames([0, 1, 5999])).shape == (3, 32, 32, 3)
    assert mldf.verify(tmp_path / "x.mldf", deep=True).ok
    assert time.monotonic() - began < 60
