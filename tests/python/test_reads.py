"""Which bytes of a file the loader reads and asks for in advance, as strace sees it: of a window its own bytes, and no
payload while lengths are measured."""

import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import wave

import mldf
import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = os.environ.get("MLDF")
RATE, HOUR = 8000, 3600 * 8000
CALLS = "pread64,preadv,preadv2,read,readv,fadvise64,readahead,madvise,mmap"


def traced(tmp_path, path, text, *words):
    """[(call, offset, bytes)] of `mldf bench`: reads of the file and hints. Its pages are put out of memory first."""
    if not COMMAND:
        pytest.skip("MLDF does not name the command mldf")
    if not shutil.which("strace"):
        pytest.skip("strace is not installed: apt-get install strace")
    if subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True).returncode:
        pytest.skip("ptrace is not permitted here, so strace cannot work")
    with open(path, "rb+") as f:
        os.fsync(f.fileno())
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    log = tmp_path / "trace"
    command = [COMMAND, "bench", path, "-p", text, "--order", "random", "--codegen", "off", "-q", *words]
    subprocess.run(["strace", "-f", "-y", "-qq", "-e", f"trace={CALLS}", "-o", log, *command], check=True)
    file, out, maps = re.escape(f"<{path}>"), [], []
    for line in log.read_text().splitlines():
        if m := re.search(rf"(pread64)\(\d+{file}, .*, \d+, (\d+)\) += (\d+)$", line):
            out.append((m[1], int(m[2]), int(m[3])))
        elif m := re.search(rf"(fadvise64|readahead)\(\d+{file}, (\d+), (\d+)(, POSIX_FADV_WILLNEED)?\)", line):
            out.append(("want", int(m[2]), int(m[3])))
        elif m := re.search(rf"mmap\(NULL, (\d+), .*{file}, 0\) += 0x([0-9a-f]+)$", line):
            maps.append((int(m[2], 16), int(m[1])))
        elif m := re.search(r"madvise\(0x([0-9a-f]+), (\d+), MADV_(WILLNEED|POPULATE_READ)\)", line):
            at = int(m[1], 16)
            out += [("want", at - begin, int(m[2])) for begin, size in maps if begin <= at < begin + size]
        else:
            assert not re.search(rf"(preadv2?|readv|read)\(\d+{file}", line) or "read(" in line, line
    return out


@pytest.fixture(scope="module")
def hours(tmp_path_factory):
    """Two recordings of an hour, and one that is shorter than the window."""
    path = tmp_path_factory.mktemp("hours") / "hours.mldf"
    rng = np.random.default_rng(3)
    with mldf.Writer(path, {"a": mldf.Audio(rate=RATE)}) as w:
        for n in (HOUR, HOUR, 5000):
            w.append({"a": rng.integers(0, 256, n, dtype=np.uint8)})
    return path


def test_two_seconds_of_an_hour_are_two_seconds_of_bytes(tmp_path, hours):
    calls = traced(
        tmp_path,
        hours,
        "a: window(2, random) | pad",
        "--backend",
        "read",
        "--batch-size",
        "2",
        "--epochs",
        "4",
        "-j",
        "1",
    )
    with mldf.open(hours) as ds:
        first = int(ds.rows["a"]["ptr"].min())
        ends = [int(p + s) for p, s in zip(ds.rows["a"]["ptr"], ds.rows["a"]["size"])]
    read = [(at, n) for call, at, n in calls if call == "pread64" and first <= at < max(ends)]
    whole = 4 * (2 * 2 * RATE + 5000)
    assert whole <= sum(n for _, n in read) <= whole * 1.02 + 4096, read
    wanted = [n for call, _, n in calls if call == "want"]
    assert wanted and max(wanted) <= 2 * RATE + 2 * 4096, wanted  # hints are of windows, not of hours
    assert sum(n for call, _, n in calls if call == "pread64") < whole + (1 << 20)


# The most memory that a command had, in bytes. A small process starts it, because a fork counts its parent's memory.
MOST = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
"""


def test_memory_does_not_grow_with_recordings_and_epochs(hours):
    if not COMMAND:
        pytest.skip("MLDF does not name the command mldf")
    words = [
        "-p",
        "a: window(2, random) | pad",
        "--backend",
        "read",
        "--batch-size",
        "2",
        "-j",
        "2",
        "--codegen",
        "off",
    ]
    most = [
        int(
            subprocess.check_output(
                [sys.executable, "-S", "-c", MOST, COMMAND, "bench", hours, *words, "--epochs", epochs]
            )
        )
        for epochs in ("2", "200")
    ]
    assert max(most) < HOUR and most[1] - most[0] < 4 << 20, most


def test_hints_for_mapped_files_are_of_windows(tmp_path, hours):
    calls = traced(tmp_path, hours, "a: window(20, random) | pad", "--batch-size", "1", "--epochs", "3", "-j", "1")
    wanted = [n for call, _, n in calls if call == "want"]
    assert all(n <= 20 * RATE + 2 * 4096 for n in wanted), wanted
    with mldf.open(hours) as ds:
        resident = not wanted and is_resident(hours, int(ds.rows["a"]["ptr"][0]))
    if resident:
        pytest.skip("this file system keeps its pages in memory, so that no hints are given")
    assert wanted


def is_resident(path, offset):
    """Files of tmpfs cannot be put out of memory."""
    kind = subprocess.run(["stat", "-f", "-c", "%T", path], capture_output=True, text=True).stdout.strip()
    return kind in ("tmpfs", "ramfs")


def test_compressed_payloads_are_read_whole(tmp_path):
    path = tmp_path / "x.mldf"
    with mldf.Writer(path, {"a": mldf.Audio(rate=RATE, compress=True)}) as w:
        for n in (40_000, 60_000):
            w.append({"a": np.random.default_rng(n).integers(0, 16, n, dtype=np.uint8)})
    calls = traced(tmp_path, path, "a: window(1, random, pad)", "--backend", "read", "--batch-size", "1", "-j", "0")
    with mldf.open(path) as ds:
        sizes = {int(p): int(s) for p, s in zip(ds.rows["a"]["ptr"], ds.rows["a"]["size"])}
    assert {(at, n) for call, at, n in calls if call == "pread64" and at in sizes} == set(sizes.items())


def wav(n):
    out = io.BytesIO()
    with wave.open(out, "wb") as w:
        w.setparams((1, 2, RATE, 0, "NONE", ""))
        w.writeframes(np.random.default_rng(n).integers(0, 256, 2 * n, dtype=np.uint8).tobytes())
    return out.getvalue()


@pytest.mark.parametrize("more", [(), ("--bucket-window", "64")])
@pytest.mark.parametrize("kind", ["jpeg", "wav"])
def test_measuring_reads_no_payload(tmp_path, kind, more):
    path = tmp_path / "x.mldf"
    with mldf.Writer(path, {"a": mldf.Image() if kind == "jpeg" else mldf.Audio()}) as w:
        for i in range(40):
            photo = ROOT / "tests/data/images" / ("rgb.jpg", "gray.jpg", "progressive.jpg")[i % 3]
            w.append({"a": photo.read_bytes() if kind == "jpeg" else wav(500 + i * 7919 % 900)})
    text = "a: decode(channels=3) | pad" if kind == "jpeg" else "a: pad"
    calls = traced(tmp_path, path, text, "--backend", "read", "--batch-size", "4", "-j", "1", *more)
    with mldf.open(path) as ds:
        rows = ds.rows["a"]
        payloads = sorted(zip(rows["ptr"].tolist(), rows["size"].tolist()))
    ends = payloads[-1][0] + payloads[-1][1]
    read = sorted((at, n) for call, at, n in calls if call == "pread64" and payloads[0][0] <= at < ends)
    assert read == payloads  # each once: when the sample is run


def test_sizes_that_rows_do_not_tell_are_found_in_the_first_bytes(tmp_path):
    """TBL version 1 has no sizes. One of the files has 120 KB of comments in front of its own."""
    small = (ROOT / "tests/data/images/rgb.jpg").read_bytes()
    comment = b"\xff\xfe\xea\x62" + bytes(0xEA60)
    photos = [small, (ROOT / "tests/data/images/progressive.jpg").read_bytes(), small[:2] + 2 * comment + small[2:]]
    with mldf.Writer(tmp_path / "x.mldf", {"image": mldf.Image(), "label": mldf.Int()}) as w:
        for i in range(9):
            w.append({"image": photos[i % 3], "label": i})
    with pytest.warns(UserWarning, match="label"):
        mldf.convert(tmp_path / "x.mldf", tmp_path / "x.tbl", to="tbl1", drop_fields=True)
    found = []
    for name in ("x.mldf", "x.tbl"):
        for backend in ("map", "read"):
            with mldf.open(tmp_path / name, backend=backend) as ds:
                text = "image: decode(channels=3) | pad" + ("\nformat: drop" if name == "x.tbl" else "\nlabel: drop")
                with mldf.Loader(ds, 4, pipelines=text, threads=1) as loader:
                    found.append([(b.image.shape, b.image.tobytes(), b.image_length.tolist()) for b in loader])
    assert found[0] == found[1] == found[2] == found[3] and len(found[0]) == 3


def test_two_seconds_of_an_hour_of_flac_are_about_two_seconds_of_bytes(tmp_path):
    """The table is not read as a whole: its head, the entries of the window, the packets."""
    path = tmp_path / "hour.mldf"
    rng = np.random.default_rng(3)
    with mldf.Writer(path, {"a": mldf.CompressedAudio(rate=RATE, encode="flac", decode=False)}) as w:
        w.append({"a": rng.integers(96, 160, HOUR, dtype=np.uint8)})
    with mldf.open(path) as ds:
        first, size = int(ds.rows["a"]["ptr"][0]), int(ds.rows["a"]["size"][0])
    words = ("--backend", "read", "--batch-size", "1", "--epochs", "5", "-j", "1")
    calls = traced(tmp_path, path, "a: window(2, random)", *words)
    reads = [n for call, at, n in calls if call == "pread64" and first <= at < first + size]
    share = 2 * size / 3600
    block = 4096 * size / HOUR  # a frame: one may be cut at each end
    assert 5 * share < sum(reads) < 5 * (share + 2 * block + 512 + 64), (reads, share)
    assert max(reads) < share + 2 * block


SEALED = {  # a field, a value, the view, the pipeline, bytes of a window, chunks of tables that are read for it
    "pcm": lambda rng: (mldf.Audio(rate=RATE), rng.integers(96, 160, HOUR // 4, dtype=np.uint8), "rows", "a: window(2, random)", 2 * RATE, 0),
    "flac": lambda rng: (
        mldf.CompressedAudio(rate=RATE, encode="flac", decode=False),
        rng.integers(96, 160, HOUR // 4, dtype=np.uint8),
        *("rows", "a: window(2, random)", 2 * RATE, 3),
    ),
    "frames": lambda rng: (
        mldf.VideoFrames(mode="raw", fps=30),
        rng.integers(0, 256, (1000, 64, 64, 3), dtype=np.uint8),
        *("rows", "a: clip(8)", 8 * 64 * 64 * 3, 2),
    ),
    "tokens": lambda rng: (mldf.TokenStream(vocabulary=50000), rng.integers(0, 50000, 2_000_000), "windows(a, 4096)", "a: cast(i64)", 8192, 0),
}


@pytest.mark.parametrize("kind", SEALED)
def test_parts_of_encrypted_payloads_are_read_in_chunks(tmp_path, kind):
    """Sealed in chunks of 64 KiB: a window costs those that it touches, and those of the table, and is what it is in a plain file."""
    if "sodium" not in mldf.features:
        pytest.skip("this build has no libsodium")
    key, made = bytes(range(32)), {}
    (tmp_path / "key").write_bytes(key)
    field, value, view, text, window, tables = SEALED[kind](np.random.default_rng(3))
    for name, secret in (("plain", {}), ("sealed", {"key": key})):
        path = tmp_path / f"{name}.mldf"
        with mldf.Writer(path, {"a": field}, **secret) as w:
            w.append({"a": value})
        for backend in ("map", "read"):
            with mldf.open(path, backend=backend, **secret) as ds:
                loader = mldf.Loader(ds, 1, pipelines=text, view=view, shuffle=True, seed=5, threads=1)
                made[name, backend] = [b.a.tobytes() for _ in range(3) for b in loader]
    with mldf.open(path, key=key) as ds:
        row = ds.rows["a"][0]
    assert len(set(map(tuple, made.values()))) == 1
    words = ("--view", view, "--backend", "read", "--batch-size", "1", "--epochs", "3", "-j", "1", "--key", tmp_path / "key")
    calls = traced(tmp_path, path, text, *words)
    first, size, count = int(row["ptr"]), int(row["size"]), len(made["plain", "map"])
    reads = [n for call, at, n in calls if call == "pread64" and first <= at < first + size]
    wanted = [n for call, at, n in calls if call == "want" and first <= at < first + size]
    assert count * window / 2 < sum(reads) <= count * (window + (2 + tables) * (65552 + 24)), (reads, size)
    assert sum(wanted) <= count * (window + (2 + tables) * 65552 + 4 * 32768), wanted
    assert max(reads) <= window + 2 * 65552 and size > 10 * max(reads)


FFMPEG = ("ffmpeg", "-v", "error", "-y", "-i")
LOSSY = {
    "mp3": ("lame", "--quiet", "-b", "32"),
    "opus": ("opusenc", "--quiet", "--bitrate", "24"),
    "ogg": ("oggenc", "-Q"),
    "aac.m4a": ("-c:a", "aac", "-aac_pns", "0", "-b:a", "24k"),
    "noise.m4a": ("-c:a", "aac", "-b:a", "24k"),
    "alac.m4a": ("-c:a", "alac"),
}


@pytest.mark.parametrize("kind", LOSSY)
def test_two_seconds_of_an_hour_of_lossy_codecs_are_about_two_seconds_of_bytes(tmp_path, kind):
    """An hour, made of a minute's packets again and again where the codec lets them stand alone: encoding an hour takes too long."""
    minutes = 60 if kind == "mp3" else 6
    rng = np.random.default_rng(3)
    source, made, path = tmp_path / "a.wav", tmp_path / f"a.{kind}", tmp_path / "x.mldf"
    with wave.open(str(source), "wb") as w:
        w.setparams((1, 2, 16000, 0, "NONE", ""))
        w.writeframes((3000 * rng.standard_normal(16000 * 60 * (1 if kind == "mp3" else minutes))).astype("<i2").tobytes())
    command, *options = LOSSY[kind]
    order = (source, "-o", made) if kind == "ogg" else (source, made)
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    line = [command, *options, *map(str, order)]
    if kind.endswith("m4a"):
        line = [*FFMPEG, str(source), *LOSSY[kind], str(made)]
    subprocess.run(line, check=True, capture_output=True, env=environment)
    if kind == "mp3":  # frames of one minute, an hour long; the tag's frame in front of them goes with the first
        made.write_bytes(made.read_bytes() * minutes)
    mldf.pack(made, path, audio={"decode": False})
    with mldf.open(path) as ds:
        row = ds.rows["audio"][0]
    first, size, seconds = int(row["ptr"]), int(row["size"]), int(row["num_samples"]) / int(row["sample_rate"])
    assert seconds > 59 * minutes
    words = ("--backend", "read", "--batch-size", "1", "--epochs", "5", "-j", "1")
    calls = traced(tmp_path, path, "audio: window(2, random)", *words)
    reads = [n for call, at, n in calls if call == "pread64" and first <= at < first + size]
    share = 2 * size / seconds
    before = {"mp3": 0.5, "opus": 1.4, "ogg": 0.2, "aac.m4a": 0.2, "noise.m4a": 4.2, "alac.m4a": 0.5}[kind]  # seconds that the decoder must see before, and an anchor at whole ones
    head = 16384 if kind == "ogg" else 2048  # its setup; entries of the table that a search looks at
    assert 5 * share < sum(reads) < 5 * (share * (1 + before / 2) * 1.1 + head), (reads, share)

@pytest.fixture(scope="module")
def frames(tmp_path_factory):
    """A video of 2,000 frames of noise, 3 KiB each, with times of their own, and the same without."""
    path = tmp_path_factory.mktemp("frames") / "frames.mldf"
    files = [np.random.default_rng(i).integers(0, 256, (32, 32, 3), dtype=np.uint8) for i in range(2000)]
    with mldf.Writer(path, {"v": mldf.VideoFrames(mode="raw", fps=30), "j": mldf.VideoFrames(mode="image")}) as w:
        w.append({"v": np.stack(files), "j": mldf.Frames(files, fps=30)})
    return path


@pytest.mark.parametrize(("field", "text"), [("v", "clip(16)"), ("j", "clip(16)"), ("v", "clip(16, stride=100)"), ("j", "clip(16, stride=100)")])
def test_a_clip_reads_its_own_frames(tmp_path, frames, field, text):
    words = ["--backend", "read", "--batch-size", "1", "--epochs", "1", "-j", "1"]
    other = "j" if field == "v" else "v"
    calls = traced(tmp_path, frames, f"{other}: drop\n{field}: {text}", *words)
    with mldf.open(frames) as ds:
        ptr, size = int(ds.rows[field]["ptr"][0]), int(ds.rows[field]["size"][0])
        each = size // 2000
    inside = [(at, n) for call, at, n in calls if call == "pread64" and ptr <= at < ptr + size]
    total = sum(n for _, n in inside)
    # 16 frames and their entries of the table: of consecutive frames one read each, of others one for each frame
    assert 16 * each * 0.8 <= total <= 16 * each * 1.3 + 17 * 16 + (1600 * 8 if "stride" in text and field == "j" else 0)
    most = (16 if "stride" in text else 1) + (1 if field == "j" else 0)
    assert len(inside) <= most, inside
