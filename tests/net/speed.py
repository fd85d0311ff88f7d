#!/usr/bin/env python3
"""Is a build as fast as an older one? Two `mldf` commands of release builds do the same work, in turn, and the medians of the ratios are
printed. No test: how busy the machine is changes the numbers, CPU time less than time.

    .venv/bin/python tests/net/speed.py OLD/mldf build/release/bin/mldf [--rounds 11] [--only TEXT] [--rows 10000000] [--photos DIR]

A ratio is the new build's speed over the old one's, of the two runs that stand side by side: the median of all, the quartiles, and beside it the
ratio of the best runs, which a busy machine disturbs least. 0.98 is the goal. Before a row is timed, both builds must give the same batches. The datasets are made once, below --data, by the Python package and the old command.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))
import mldf  # noqa: E402
import net_data  # noqa: E402
import numpy as np  # noqa: E402

GOAL = 0.98

# ---- Datasets ---------------------------------------------------------------------------------------------------------------------------


def write(path, fields, rows):
    with mldf.Writer(path, fields) as writer:
        for row in rows:
            writer.append(row)


def big_photo(i):
    """About as hard for a decoder as a photograph: 20 different ones, moved."""
    return np.roll(net_data.photo(i % 20, 375, 500), i * 13, axis=1)


def photos(path, given):
    """JPEG of about 500 x 375, or the files of a folder."""
    if given:
        files = sorted(p for p in pathlib.Path(given).rglob("*") if p.suffix.lower() in (".jpg", ".jpeg"))
        write(
            path, {"image": mldf.Image(), "label": mldf.Int()}, ({"image": p, "label": i} for i, p in enumerate(files))
        )
    else:
        rows = ({"image": big_photo(i), "label": i} for i in range(400))
        write(path, {"image": mldf.Image(encode="jpeg", quality=85), "label": mldf.Int()}, rows)


def raw(path, count, side):
    images = [net_data.photo(i, side, side) for i in range(50)]
    rows = ({"image": images[i % 50], "label": i % 10} for i in range(count))
    write(path, {"image": mldf.Image(encode="raw"), "label": mldf.Int()}, rows)


def arrays(path):
    value = net_data.small_floats(1, 64, 32)
    rows = ({"x": value + i, "label": i} for i in range(20_000))
    write(path, {"x": mldf.NDArray("float32", (64, 32)), "label": mldf.Int()}, rows)


def lists(path):
    rows = ({"tokens": np.arange(1 + i * 7919 % 300, dtype=np.int32), "label": i} for i in range(60_000))
    write(path, {"tokens": mldf.NDArray("int32", (None,)), "label": mldf.Int()}, rows)


def folder(path):
    """PNG files for pack."""
    scratch = path.with_name(path.name + ".made")
    scratch.mkdir()
    for i in range(60):
        (scratch / f"{i:03}.png").write_bytes(net_data.png(big_photo(i)))
    scratch.rename(path)


def long_file(path, rows, old):
    """Images of one size in so many rows, and a null in the first: the first batch is an error, which ends the command."""
    part = path.with_name("part.mldf")
    fields = {"image": mldf.Image(encode="raw"), "label": mldf.Int(nullable=True)}
    write(
        part, fields, ({"image": np.full((1, 1, 1), i % 256, np.uint8), "label": i or None} for i in range(rows // 100))
    )
    for _ in range(2):
        whole = path.with_name("whole.mldf")
        subprocess.run([old, "merge", "-q", *[part] * 10, "-o", whole], check=True)
        part.unlink()
        whole.rename(part)
    part.rename(path)


# ---- Rows -----------------------------------------------------------------------------------------------------------------------------------
# BENCH: (dataset, options, epochs), by samples in a second; COMMANDS: by the time of the whole command.

RRC = "image: random_resized_crop(224) | hflip | normalize(imagenet) | chw(f32)"
BENCH = {
    "JPEG RRC": ("photos.mldf", ["-p", RRC, "--order", "random"], 1),
    "JPEG resize, center": ("photos.mldf", ["-p", "image: resize(256) | center_crop(224) | normalize(imagenet) | chw(f32)"], 1),
    "raw 160": ("raw160.mldf", ["-p", "image: hflip | normalize(imagenet) | chw(f32)", "--order", "random"], 2),
    "raw 256 RRC": ("raw256.mldf", ["-p", RRC, "--order", "random"], 1),
    "CIFAR": ("cifar.mldf", ["-p", "image: random_crop(32, padding=4) | hflip | cutout(8) | normalize(cifar10) | chw(f32)",
                             "--order", "random", "--batch-size", "256"], 4),
    "ndarray": ("arrays.mldf", ["--order", "random", "--batch-size", "256"], 4),
    "buckets": ("lists.mldf", ["-p", "tokens: pad", "--order", "random", "--bucket-window", "4096"], 4),
    "budget": ("lists.mldf", ["-p", "tokens: pad", "--order", "random", "--bucket-window", "4096", "--budget", "8192"], 4),
    "image buckets": ("photos.mldf", ["-p", "image: resize(64) | pad", "--bucket-window", "100", "--order", "random"], 1),
}  # fmt: skip
COMMANDS = {
    "pack --encode jpeg": ["pack", "png", "-o", "OUT", "-f", "--encode", "jpeg", "-q"],
    "verify --deep of JPEG": ["verify", "--deep", "photos.mldf", "-q"],
    "first batch of a long file": ["bench", "long.mldf", "-p", "image: hflip", "-q"],
}
ENDS = {"first batch of a long file": 1}


def make(data, given):
    data.mkdir(parents=True, exist_ok=True)
    makers = {
        "photos.mldf": lambda p: photos(p, given.photos),
        "raw160.mldf": lambda p: raw(p, 3000, 160),
        "raw256.mldf": lambda p: raw(p, 1500, 256),
        "cifar.mldf": lambda p: raw(p, 20_000, 32),
        "arrays.mldf": arrays,
        "lists.mldf": lists,
        "png": folder,
        "long.mldf": lambda p: long_file(p, given.rows, given.old),
    }
    for name, maker in makers.items():
        if not (data / name).exists():
            print(f"making {name}", file=sys.stderr)
            maker(data / name)


# ---- Running ----------------------------------------------------------------------------------------------------------------------------------


def timed(words, cwd, status=0):
    """Seconds, seconds of CPU, and what was printed."""
    began = time.perf_counter()
    with subprocess.Popen(words, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        out, err = process.stdout.read(), process.stderr.read()
        _, code, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(code)
    if process.returncode != status:
        sys.exit(f"speed.py: {' '.join(map(str, words))} ended with {process.returncode}: {err}")
    return time.perf_counter() - began, usage.ru_utime + usage.ru_stime, out


def bench_words(mldf_command, name, threads, *more):
    data, words, epochs = BENCH[name]
    return [
        mldf_command,
        "bench",
        data,
        *words,
        "--codegen",
        "off",
        "-j",
        str(threads),
        "--epochs",
        str(epochs),
        "--json",
        "-q",
        *more,
    ]


def once(mldf_command, name, given):
    """Speed by time, and by CPU time."""
    if name in BENCH:
        _, cpu, out = timed(bench_words(mldf_command, name, given.threads), given.data)
        return json.loads(out)["samples_per_second"], 1 / cpu
    words = [w.replace("OUT", "out.mldf") for w in COMMANDS[name]]
    seconds, cpu, _ = timed([mldf_command, *words], given.data, ENDS.get(name, 0))
    return 1 / seconds, 1 / cpu


def check_batches(name, given):
    hashes = [
        json.loads(timed(bench_words(m, name, given.threads, "--hash"), given.data)[2])["batch_hashes"]
        for m in (given.old, given.new)
    ]
    if hashes[0] != hashes[1]:
        first = next((i for i, (a, b) in enumerate(zip(*hashes)) if a != b), min(map(len, hashes)))
        sys.exit(f"speed.py: {name}: the builds give different batches, from batch {first} on")


def row(name, given):
    """Pairs of (old, new), each with its two speeds."""
    if name in BENCH:
        check_batches(name, given)
    pairs = []
    for n in range(given.rounds):
        turns = ("old", "new") if n % 2 == 0 else ("new", "old")
        found = {which: once(getattr(given, which), name, given) for which in turns}
        pairs.append((found["old"], found["new"]))
    return pairs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("new", type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--only", default="", help="rows whose name has this in it")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rows", type=int, default=10_000_000, help="of the long file")
    parser.add_argument("--photos", help="a folder of JPEG files, instead of made ones")
    parser.add_argument("--data", type=pathlib.Path, default=HERE.parents[1] / "build" / "net_speed")
    given = parser.parse_args()
    if given.rounds < 2:
        parser.error("--rounds: at least 2")
    make(given.data, given)
    print(f"{'':28} {'old':>12} {'new / old by time':>38} {'new / old by CPU time':>38}")
    slow = []
    for name in [*BENCH, *COMMANDS]:
        if given.only not in name:
            continue
        pairs = row(name, given)
        medians, shown = [], []
        for kind in (0, 1):
            low, middle, high = statistics.quantiles([new[kind] / old[kind] for old, new in pairs], n=4)
            best = max(new[kind] for _, new in pairs) / max(old[kind] for old, _ in pairs)
            shown.append(f"{middle:.3f} ({low:.3f} to {high:.3f}), best {best:.3f}")
            medians.append(middle)
        speed = statistics.median(old[0] for old, _ in pairs)
        print(f"{name:28} {speed:>10.1f}/s {shown[0]:>38} {shown[1]:>38}", flush=True)
        if max(medians) < GOAL:
            slow.append(name)
    (given.data / "out.mldf").unlink(missing_ok=True)
    print(f"slower than {GOAL} by both: {', '.join(slow) or 'none'}")


main()
