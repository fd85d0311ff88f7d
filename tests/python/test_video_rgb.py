"""The RGB of 4:4:4 video against libswscale's accurate conversion, for each matrix, range and depth."""

import subprocess

import mldf
import numpy as np
import pytest
from codec_files import OUTSIDE, run

WIDTH, HEIGHT, FRAMES = 70, 46, 3
MATRICES = ("bt709", "fcc", "smpte170m", "smpte240m", "bt2020nc")


def swscale(path, matrix, full):
    """RGB of the planes in the file by libswscale, with the matrix and range given by us and not guessed by it."""
    flags = "accurate_rnd+full_chroma_int+full_chroma_inp+bitexact"
    matrix = {"bt2020nc": "bt2020"}.get(matrix, matrix)
    scale = f"scale=in_color_matrix={matrix}:in_range={'full' if full else 'limited'}:out_range=full:flags={flags}"
    command = ["ffmpeg", "-v", "error", "-i", str(path), "-vf", scale, "-f", "rawvideo", "-pix_fmt", "gbrp", "-"]
    done = subprocess.run(command, check=True, capture_output=True, env=OUTSIDE)
    planes = np.frombuffer(done.stdout, np.uint8).reshape(FRAMES, 3, HEIGHT, WIDTH)
    return planes[:, [2, 0, 1]].transpose(0, 2, 3, 1)


@pytest.mark.parametrize("bits", [8, 10])
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("matrix", MATRICES)
def test_444_is_swscales_within_two(matrix, full, bits, tmp_path):
    path = tmp_path / "x.mkv"
    pixels = "yuv444p" if bits == 8 else "yuv444p10le"
    source = ("-f", "lavfi", "-i", f"testsrc2=size={WIDTH}x{HEIGHT}:rate={FRAMES}:duration=1")
    tags = ("-colorspace", matrix, "-color_range", "pc" if full else "tv")
    run("ffmpeg", "-v", "error", "-y", *source, "-c:v", "ffv1", "-pix_fmt", pixels, *tags, path)
    mldf.pack(path, tmp_path / "x.mldf")
    with mldf.open(tmp_path / "x.mldf") as ds:
        got = ds[0].video.frames(range(FRAMES)).astype(int)
    want = swscale(path, matrix, full)
    assert got.shape == want.shape and want.std() > 30
    assert np.abs(got - want).max() <= 2
    other = swscale(path, matrix, not full)
    assert np.abs(got - other).max() > 4, "the other range is told apart"
