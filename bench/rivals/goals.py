#!/usr/bin/env python3
"""The goals of the fast JPEG store, all measured in one run: goal, measured, met or missed.

    goals.py BUILD WORKDIR LARGE [--photos N] [--large N] [--without-rivals] [--json]

BUILD is a release build. WORKDIR is the one of compare.py: photos of 500 x 375 in data/photos, and the rivals. LARGE is a folder of photos of about 2000 x 1500.
Ratios of times are of CPU time on one thread, the least of nine rounds of each image, all ways in turn (bench_fast_jpeg); those against the rivals are of
samples a second through Python, one round of each (compare.py, which takes more for docs/benchmarks.md). About four minutes on an idle machine. docs/performance.md
says where the time goes, and what was tried for what is missed.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def files(folder):
    found = sorted(p for p in folder.rglob("*") if p.suffix.lower() in (".jpg", ".jpeg"))
    if not found:
        sys.exit(f"goals: no JPEG file in {folder}")
    return found


def spread(found, count):
    """`count` of them, from all over the list."""
    return found[:: max(1, len(found) // count)][:count]


def bench(build, found, *options):
    done = subprocess.run([build / "bench" / "bench_fast_jpeg", *options, *found], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"goals: bench_fast_jpeg: {done.stderr}")
    return done.stdout


def number(text, pattern):
    found = re.search(pattern, text)
    if not found:
        sys.exit(f"goals: bench_fast_jpeg printed nothing like {pattern!r}:\n{text}")
    return float(found[1])


def own_rows(options):
    photos, large = files(options.workdir / "data" / "photos"), files(options.large_photos)
    for name, found, exact, fused in (
        ("500 x 375", spread(photos, options.photos), 1.9, 2.4),
        ("2000 x 1500", spread(large, options.large), 2.5, 5.0),
    ):
        text = bench(options.build, found)
        differ = number(text, r"exact: (\d+) results differ") + number(text, r"fused: (\d+);")
        yield f"{name}: results of JPEG and fast JPEG that differ", differ, "<=", 0
        yield f"{name} -> RRC 224 f32, exact, against JPEG", number(text, r"crop.* fast jpeg  .* ratio ([\d.]+)"), ">=", exact
        yield f"{name} -> RRC 224 f32, fused, against JPEG", number(text, r"crop.* fast jpeg, fused .* ratio ([\d.]+)"), ">=", fused
        yield f"{name}: fused against exact, mean dB", number(text, r"exact: ([\d.]+) dB"), ">=", 55 if exact < 2 else 44
        yield f"{name}: fused against exact, least dB", number(text, r"least ([\d.]+)"), ">=", 44
        if exact < 2:
            yield f"{name}: packing with its proofs, ms", number(text, r"packing: ([\d.]+) ms"), "<=", 2.5
    for name, found, most in ((f"{len(photos)} photos", photos, 0.99), (f"{len(large)} large photos", large, 1.02)):
        text = bench(options.build, found, "-s")
        yield f"size of {name} against JPEG, mean", number(text, r"mean ratio ([\d.]+)"), "<=", most


def rival_rows(options):
    command = [sys.executable, HERE / "compare.py", options.build, options.workdir, "--only", "jpeg", "--rounds", "1", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"goals: compare.py: {done.stderr}")
    rate = {name: row["rate"] for name, row in json.loads(done.stdout)["jpeg"].items()}
    rivals = {name: r for name, r in rate.items() if not name.startswith("mldf") and "alone" not in name}
    if not rivals:
        sys.exit(f"goals: no rival is installed in {options.workdir}; run bench/rivals/setup.sh, or give --without-rivals")
    best = max(rivals, key=rivals.get)
    for name, goal in (("mldf_fast", 6.0), ("mldf_fused", 7.5)):
        if name in rate:
            yield f"{name} through Python against the fastest rival, {best}", rate[name] / rivals[best], ">=", goal


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("workdir", type=pathlib.Path)
    parser.add_argument("large_photos", type=pathlib.Path)
    parser.add_argument("--photos", type=int, default=100, help="of 500 x 375, for times")
    parser.add_argument("--large", type=int, default=10, help="of 2000 x 1500, for times")
    parser.add_argument("--without-rivals", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = []
    for source in (own_rows, *(() if options.without_rivals else (rival_rows,))):
        for name, value, how, goal in source(options):
            met = value >= goal if how == ">=" else value <= goal
            rows.append({"name": name, "goal": goal, "how": how, "measured": value, "met": met})
            if not options.json:
                print(f"{name:70} {how} {goal:<6g} {value:9.3f}  {'met' if met else 'MISSED'}", flush=True)
    if options.json:
        json.dump(rows, sys.stdout, indent=1)
    return 0 if all(row["met"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
