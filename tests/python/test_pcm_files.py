"""AIFF, AIFF-C, CAF and NIST SPHERE files, made by sox and ffmpeg, packed: the samples are those that ffmpeg has, and
a file that lies or ends early is refused with its byte."""

import struct
import subprocess

import mldf
import numpy as np
import pytest

RATE = 11025
BY_FFMPEG = {  # ending, encoder, bits that are stored
    "aiff-s8": ("aiff", "pcm_s8", 8),
    "aiff-16": ("aiff", "pcm_s16be", 16),
    "aiff-24": ("aiff", "pcm_s24be", 24),
    "aiff-32": ("aiff", "pcm_s32be", 32),
    "aifc-sowt": ("aiff", "pcm_s16le", 16),
    "aifc-f32": ("aiff", "pcm_f32be", 32),
    "aifc-f64": ("aiff", "pcm_f64be", 64),
    "aifc-alaw": ("aiff", "pcm_alaw", 8),
    "aifc-ulaw": ("aiff", "pcm_mulaw", 8),
    "caf-s8": ("caf", "pcm_s8", 8),
    "caf-16": ("caf", "pcm_s16le", 16),
    "caf-16be": ("caf", "pcm_s16be", 16),
    "caf-24": ("caf", "pcm_s24le", 24),
    "caf-32": ("caf", "pcm_s32be", 32),
    "caf-f32": ("caf", "pcm_f32le", 32),
    "caf-f64": ("caf", "pcm_f64be", 64),
    "caf-alaw": ("caf", "pcm_alaw", 8),
    "caf-ulaw": ("caf", "pcm_mulaw", 8),
}
BY_SOX = {  # ending, options of the output
    "aiff": ("aiff", ["-b", "16"]),
    "aiff-24": ("aiff", ["-b", "24"]),
    "aifc": ("aifc", ["-b", "16"]),
    "sph": ("sph", ["-b", "16"]),
    "sph-big": ("sph", ["-b", "16", "-B"]),
    "sph-8": ("sph", ["-b", "8", "-e", "signed"]),
    "sph-32": ("sph", ["-b", "32"]),
    "sph-ulaw": ("sph", ["-b", "8", "-e", "mu-law"]),
    "caf": ("caf", ["-b", "16"]),
    "caf-24": ("caf", ["-b", "24"]),
}


def run(*command):
    subprocess.run([str(c) for c in command], check=True, capture_output=True)


@pytest.fixture(scope="module")
def waves(tmp_path_factory):
    """float WAV files of one and three channels, an odd number of samples."""
    folder = tmp_path_factory.mktemp("waves")
    for channels in (1, 3):
        source = f"anoisesrc=d=0.31:r={RATE}:a=0.7:seed=5"
        options = ("-ac", channels, "-ar", RATE, "-c:a", "pcm_s32le", "-af", "asetnsamples=997")
        run("ffmpeg", "-f", "lavfi", "-i", source, *options, folder / f"{channels}.wav")
    return folder


def decoded(path, channels):
    """What ffmpeg makes of a file, as doubles (t, channels)."""
    out = subprocess.run(
        ["ffmpeg", "-v", "error", "-i", path, "-f", "f64le", "-c:a", "pcm_f64le", "-"], check=True, capture_output=True
    ).stdout
    return np.frombuffer(out, "<f8").reshape(-1, channels)


def check(path, tmp_path, channels, bits=None):
    out = tmp_path / "x.mldf"
    mldf.pack(path, out, overwrite=True)
    with mldf.open(out) as ds:
        recording = ds[0].audio
        want = decoded(path, channels)
        wave, rate = recording
        assert rate == RATE and recording.samples == len(want) > 3000 and recording.channels == channels
        assert np.array_equal(wave.T, want.astype("f4"))
        assert bits is None or ds.rows["audio"][0]["bit_depth"] == bits


@pytest.mark.parametrize(("name", "channels"), [(name, 1 + i % 2 * 2) for i, name in enumerate(BY_FFMPEG)])
def test_files_of_ffmpeg(waves, tmp_path, name, channels):
    ending, encoder, bits = BY_FFMPEG[name]
    path = tmp_path / f"x.{ending}"
    run("ffmpeg", "-i", waves / f"{channels}.wav", "-c:a", encoder, path)
    check(path, tmp_path, channels, bits)


@pytest.mark.parametrize(("name", "channels"), [(name, 1 + i % 2 * 2) for i, name in enumerate(BY_SOX)])
def test_files_of_sox(waves, tmp_path, name, channels):
    ending, options = BY_SOX[name]
    path = tmp_path / f"x.{ending}"
    run("sox", waves / f"{channels}.wav", *options, path)
    check(path, tmp_path, channels)


def test_bytes_decide_not_names(waves, tmp_path):
    """TIMIT's files are SPHERE and end in .WAV; a folder may hold all kinds."""
    folder = tmp_path / "speech"
    folder.mkdir()
    run("sox", "-D", waves / "1.wav", "-b", "16", tmp_path / "16.wav")  # of which nothing is rounded
    for name, made in (("a.WAV", "sph"), ("b.aiff", "aiff"), ("c.caf", "caf"), ("d.wav", "wav"), ("e.sph", "sph")):
        run("sox", "-D", tmp_path / "16.wav", "-t", made, folder / name)
    out = tmp_path / "x.mldf"
    mldf.pack(folder, out)
    with mldf.open(out) as ds:
        first = ds[0].audio[0]
        assert len(ds) == 5 and all(np.array_equal(ds[i].audio[0], first) for i in range(5))


def aiff(comm, sound, kind=b"AIFF"):
    chunks = b"COMM" + struct.pack(">I", len(comm)) + comm + b"SSND" + struct.pack(">III", len(sound) + 8, 0, 0) + sound
    return b"FORM" + struct.pack(">I", 4 + len(chunks)) + kind + chunks


RATE80 = bytes.fromhex("400bfa00000000000000")  # 8000
GOOD = aiff(struct.pack(">HIH", 1, 10, 16) + RATE80, bytes(range(20)))
LINES = (
    "NIST_1A\n   1024\nchannel_count -i 1\nsample_count -i 10\nsample_rate -i 8000\nsample_n_bytes -i 2\n"
    "sample_byte_format -s2 01\nsample_coding -s3 pcm\nend_head\n"
)
SPHERE = LINES.encode().ljust(1024) + bytes(range(20))
CAF = (
    b"caff\0\1\0\0desc"
    + struct.pack(">qd4sIIIII", 32, 8000.0, b"lpcm", 2, 2, 1, 1, 16)
    + b"data"
    + struct.pack(">qI", 24, 0)
    + bytes(range(20))
)
BAD = {
    "aiff-short": (GOOD[:-2], "cut short"),
    "aiff-rate": (GOOD.replace(RATE80, bytes(10)), "byte 28: AIFF: a rate that is not a whole number"),
    "aiff-channels": (GOOD.replace(b"\0\1\0\0\0\n", b"\0\0\0\0\0\n"), "0 channels"),
    "aiff-bits": (GOOD.replace(b"\0\n\0\x10", b"\0\n\0\x40"), "64 bits"),
    "aiff-no-comm": (GOOD.replace(b"COMM", b"JUNK"), "no chunk COMM"),
    "aifc-ima": (aiff(struct.pack(">HIH", 1, 10, 16) + RATE80 + b"ima4\0\0", bytes(20), b"AIFC"), 'coding "ima4"'),
    "sphere-shorten": (
        SPHERE.replace(b"-s3 pcm\nend_head\n".ljust(40), b"-s26 pcm,embedded-shorten-v2.00\nend_head\n"[:40]),
        "shorten",
    ),
    "sphere-wide-law": (
        SPHERE.replace(b"-s3 pcm\nend_head\n", b"-s4 ulaw\nend_head\n")[:1024].ljust(1024) + bytes(20),
        "16 bits a number",
    ),
    "sphere-order": (SPHERE.replace(b"-s2 01", b"-s2 xx"), "neither 01 nor 10"),
    "sphere-header": (SPHERE.replace(b"   1024", b"9999999"), "a header of 9999999 bytes"),
    "sphere-short": (SPHERE[:-4], "cut short"),
    "sphere-rate": (SPHERE.replace(b"sample_rate", b"sample_race"), "no sample_rate"),
    "caf-alac": (CAF.replace(b"lpcm", b"alac"), 'coding "alac"'),
    "caf-packets": (CAF.replace(struct.pack(">III", 2, 2, 1), struct.pack(">III", 2, 3, 1)), "bytes"),
    "caf-short": (CAF[:-6], "cut short"),
    "caf-desc": (CAF.replace(b"desc", b"desk"), "no chunk desc"),
}


@pytest.mark.parametrize("name", BAD)
def test_files_that_are_refused(tmp_path, name):
    data, message = BAD[name]
    with pytest.raises(mldf.Error, match=message), mldf.Writer(tmp_path / "x.mldf", {"a": mldf.Audio()}) as w:
        for value in (GOOD, SPHERE, CAF, data):
            w.append({"a": value})


def test_every_cut_is_an_error_or_whole(tmp_path):
    """No prefix of a file gives samples that are not its own."""
    for whole in (GOOD, SPHERE, CAF):
        for end in range(0, len(whole), 1 if len(whole) < 200 else 37):
            with pytest.raises(mldf.Error), mldf.Writer(tmp_path / "x.mldf", {"a": mldf.Audio()}) as w:
                w.append({"a": whole[:end]})


def test_a_length_that_was_left_open(tmp_path):
    """CAF of a program that wrote into a pipe: -1."""
    data = CAF.replace(struct.pack(">q", 24), struct.pack(">q", -1))
    with mldf.Writer(tmp_path / "x.mldf", {"a": mldf.Audio()}) as w:
        w.append({"a": data})
    with mldf.open(tmp_path / "x.mldf") as ds:
        assert ds[0].a.samples == 10 and ds[0].a.dtype == np.int16
