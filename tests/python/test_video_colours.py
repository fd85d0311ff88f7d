"""Colours of compressed videos beyond 8 bits and BT.601: bits=16 against the definition in float64, matrix=auto; the decoder in a state."""

import json
import subprocess
import warnings

import mldf
import numpy as np
import pytest
from codec_files import OUTSIDE, run

KR_KB = {"bt601": (0.299, 0.114), "bt709": (0.2126, 0.0722)}


def film(path, size, pixels, options=()):
    source = ("-f", "lavfi", "-i", f"testsrc2=size={size}:rate=2:duration=1")
    run("ffmpeg", "-v", "error", "-y", *source, "-c:v", "libx264", "-qp", "4", "-pix_fmt", pixels, *options, path)
    mldf.pack(path, path.with_suffix(".mldf"))
    return path.with_suffix(".mldf")


def planes(path, pixels, width, height):
    command = ["ffmpeg", "-v", "error", "-i", str(path), "-f", "rawvideo", "-pix_fmt", pixels, "-"]
    raw = subprocess.run(command, check=True, capture_output=True, env=OUTSIDE).stdout
    return np.frombuffer(raw, np.uint8 if pixels == "yuv444p" else "<u2").reshape(-1, 3, height, width).astype(float)


def rgb(yuv, bits, matrix):
    """4:4:4, limited range, by the definition: numbers from 0 to 1."""
    kr, kb = KR_KB[matrix]
    scale = 2 ** (bits - 8)
    y = (yuv[:, 0] - 16 * scale) / (219 * scale)
    cb, cr = ((yuv[:, c] - 128 * scale) / (224 * scale) for c in (1, 2))
    r, b = y + 2 * (1 - kr) * cr, y + 2 * (1 - kb) * cb
    g = (y - kr * r - kb * b) / (1 - kr - kb)
    return np.clip(np.stack([r, g, b], -1), 0, 1)


def load(path, text):
    with mldf.Loader(path, 1, pipelines=text) as loader:
        return next(iter(loader))["video"][0]


@pytest.mark.parametrize(("pixels", "bits"), [("yuv444p10le", 10), ("yuv444p", 8)])
def test_sixteen_bits(pixels, bits, tmp_path):
    ours = film(tmp_path / "x.mkv", "66x50", pixels)
    want = rgb(planes(tmp_path / "x.mkv", pixels, 66, 50), bits, "bt601")
    got = load(ours, "video: decode_video(bits=16)")
    assert got.dtype == np.uint16 and got.shape == want.shape
    assert np.abs(got - want * 65535).max() <= 1
    assert len(np.unique(got)) > 256  # not eight bits, stretched
    eight = load(ours, "video")
    assert eight.dtype == np.uint8 and np.abs(eight - want * 255).max() <= 0.51
    half = load(ours, "video: decode_video(bits=16) | clip(1, start=fixed) | resize([25, 33])")
    assert half.dtype == np.uint16 and abs(half.mean() - got[0].mean()) < 600
    grey = load(ours, "video: decode_video(bits=16, channels=1)")
    assert grey.shape == (2, 50, 66, 1) and abs(grey.mean() / 65535 - (want @ [0.299, 0.587, 0.114]).mean()) < 1e-3


@pytest.mark.parametrize(("height", "matrix"), [(718, "bt601"), (720, "bt709")])
def test_matrix_by_lines(height, matrix, tmp_path):
    ours = film(tmp_path / "x.mkv", f"96x{height}", "yuv444p")
    yuv = planes(tmp_path / "x.mkv", "yuv444p", 96, height)
    for words, want in {"": "bt601", "(matrix=auto)": matrix, "(matrix=bt709)": "bt709"}.items():
        assert np.abs(load(ours, f"video: decode_video{words}") - 255 * rgb(yuv, 8, want)).max() <= 0.51


def test_a_video_that_says_its_matrix_keeps_it(tmp_path):
    ours = film(tmp_path / "x.mkv", "64x48", "yuv444p", ("-colorspace", "bt709"))
    want = 255 * rgb(planes(tmp_path / "x.mkv", "yuv444p", 64, 48), 8, "bt709")
    for matrix in ("bt601", "auto"):
        assert np.abs(load(ours, f"video: decode_video(matrix={matrix})") - want).max() <= 0.51


def test_the_state_names_the_decoder(tmp_path):
    ours = film(tmp_path / "x.mkv", "64x48", "yuv420p")
    with mldf.Loader(ours, 1, pipelines="video: clip(1)") as loader:
        state = loader.state_dict()
        assert state["decoder"].startswith("libavcodec ")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            loader.load_state_dict(state)
            loader.load_state_dict({k: v for k, v in state.items() if k != "decoder"})  # one from before
        with pytest.warns(UserWarning, match=r"taken with libavcodec 1\.2\.3, this is libavcodec .* frames of videos"):
            loader.load_state_dict({**state, "decoder": "libavcodec 1.2.3"})
        assert json.dumps(state)
    with mldf.Writer(tmp_path / "n.mldf", {"x": mldf.Int()}) as w:
        w.append({"x": 1})
    with mldf.Loader(tmp_path / "n.mldf", 1) as loader:
        assert "decoder" not in loader.state_dict()
