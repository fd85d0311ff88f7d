"""AAC and ALAC: files of FFmpeg's encoders packed, loaded by windows, extracted; FFmpeg is the measure."""

import os
import pathlib
import shutil
import subprocess
import sys

import codec_files as files
import mldf
import numpy as np
import pytest
from test_pkg_codecs import VARIANTS, load, starts, window

# name: (ending, options of ffmpeg's encoder, channels, rate, bits of the source)
KINDS = {
    "noise": ("m4a", ("-c:a", "aac", "-b:a", "64k"), 2, 44100, 16),  # perceptual noise, the encoder's default
    "plain": ("m4a", ("-c:a", "aac", "-aac_pns", "0", "-b:a", "128k"), 2, 44100, 16),
    "mono": ("m4a", ("-c:a", "aac", "-aac_pns", "0", "-aac_is", "0"), 1, 16000, 16),
    "adts": ("aac", ("-c:a", "aac", "-aac_pns", "0"), 1, 22050, 16),
    "surround": ("m4a", ("-c:a", "aac", "-aac_pns", "0", "-b:a", "384k"), 6, 48000, 16),
    "alac": ("m4a", ("-c:a", "alac"), 2, 44100, 16),
    "alac24": ("m4a", ("-c:a", "alac", "-sample_fmt", "s32p"), 1, 48000, 24),
}


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """A dict of name: (path of the file, what FFmpeg decodes (t, channels), the dataset)."""
    folder = tmp_path_factory.mktemp("aac")
    out = {}
    for i, (name, (ending, options, channels, rate, bits)) in enumerate(KINDS.items()):
        wav, path, target = folder / f"{name}.wav", folder / f"{name}.{ending}", folder / f"{name}.mldf"
        files.write_wav(wav, files.speech(rate, channels, 3, seed=i), rate, bits)
        files.run("ffmpeg", "-v", "error", "-y", "-i", wav, *options, path)
        mldf.pack(path, target)
        out[name] = path, files.ffmpeg(path), target
    return out


@pytest.mark.parametrize("name", KINDS)
def test_the_whole_recording_is_what_ffmpeg_decodes(packed, name):
    path, want, target = packed[name]
    with mldf.open(target) as ds:
        assert ds.schema["audio"].type == "audio_compressed"
        assert np.array_equal(ds[0].audio, want)
        row = ds.rows["audio"][0]
        assert (row["num_samples"], row["channels"]) == want.shape
        assert row["codec"] == (6 if name.startswith("alac") else 2)
    assert mldf.verify(target, deep=True).ok


@pytest.mark.parametrize("name", [n for n in KINDS if n != "noise"])
def test_windows_are_slices_bit_for_bit(packed, name):
    _, want, target = packed[name]
    for variant in VARIANTS:
        for start in starts(len(want), 5000)[::2]:
            assert np.array_equal(window(target, start, 5000, **variant), want[start : start + 5000].T), (
                start,
                variant,
            )


def test_windows_of_noise_are_the_same_on_every_way(packed):
    """Noise depends on the history: a window begins at a fixed packet, with a new decoder: the same bits each time."""
    _, want, target = packed["noise"]
    differs = 0
    for start in starts(len(want), 5000):
        first = window(target, start, 5000, threads=0)
        for variant in VARIANTS[:3]:
            assert np.array_equal(window(target, start, 5000, **variant), first), (start, variant)
        slice_ = want[start : start + 5000].T
        differs += not np.array_equal(first, slice_)
        assert np.sqrt(np.mean((first - slice_) ** 2)) < 0.03  # the noise of the recording is 0.02
    assert differs, "no window differs: this file has no noise, and tests nothing"


@pytest.mark.parametrize("name", KINDS)
def test_extracted_files_decode_to_the_same(packed, name, tmp_path):
    path, want, target = packed[name]
    mldf.extract(target, tmp_path / "out")
    (made,) = (p for p in (tmp_path / "out").rglob(f"*{path.suffix}"))
    if path.suffix == ".aac":
        assert made.read_bytes() == path.read_bytes()
    else:
        assert np.array_equal(files.ffmpeg(made), want)


def test_a_folder_of_them_and_resampling(packed, tmp_path):
    for name in ("plain", "mono", "adts", "alac"):
        shutil.copy(packed[name][0], tmp_path)
    mldf.pack(tmp_path, tmp_path / "all.mldf")
    got = load(tmp_path / "all.mldf", "audio: decode_audio(rate=16000, mono=true) | window(samples=16000, short=pad)")[
        "audio"
    ]
    assert got.shape == (1, 16000)


@pytest.mark.parametrize("name", ["plain", "adts", "alac"])
def test_damaged_and_cut_files_are_refused_or_decode(packed, name, tmp_path):
    data = packed[name][0].read_bytes()
    rng = np.random.default_rng(3)
    for i in range(20):
        bad = bytearray(data)
        if i % 2:
            bad = bad[: int(rng.integers(1, len(bad)))]
        for at in rng.integers(0, len(bad), 3):
            bad[at] = int(rng.integers(0, 256))
        path = tmp_path / f"{i}{packed[name][0].suffix}"
        path.write_bytes(bytes(bad))
        try:
            mldf.pack(path, tmp_path / f"{i}.mldf")
        except mldf.Error as error:
            assert str(error)
        else:
            assert mldf.verify(tmp_path / f"{i}.mldf", deep=True).ok


def test_a_stream_without_channels_is_refused_when_packing(tmp_path):
    """Found by fuzzing: a frame of ADTS that leaves its channels to an empty packet made a record nobody reads."""
    (tmp_path / "a.aac").write_bytes(bytes.fromhex("fff90000010000f6"))
    for field in (mldf.Audio(), mldf.CompressedAudio()):
        with (
            pytest.raises(mldf.Error, match="no packet can be decoded"),
            mldf.Writer(tmp_path / "x.mldf", {"a": field}) as w,
        ):
            w.append({"a": tmp_path / "a.aac"})


def test_without_the_module_one_line_says_what_is_missing(packed, tmp_path):
    package = pathlib.Path(mldf.__file__).parent
    copy = tmp_path / "site" / "mldf"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("lib", "bin"))
    program = "import mldf, numpy, sys\nnumpy.asarray(mldf.open(sys.argv[1])[0].audio)"
    done = subprocess.run(
        [sys.executable, "-c", program, packed["plain"][2]],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
    )
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode and "libmldf-av-" in last and "was not found" in last and "libavcodec-dev" in last
