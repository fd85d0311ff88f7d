#!/usr/bin/env python3
"""mldf's loader beside the others, same data, same threads, same output, in interleaved rounds; medians and ratios.

    compare.py BUILD WORKDIR [--rounds N] [--threads N] [--only WORK,WORK] [--rivals NAME,NAME] [--json]

BUILD is a release build of mldf. WORKDIR keeps the data and an environment for each, mldf's package too (made by bench/rivals/setup.sh).
All run through Python; rows "in C" are mldf's loader without it. "fast" and "fused" have the photos as fast JPEGs, with chroma exact and fused. A figure above 1 in the last column means that mldf, through Python,
is that many times as fast; in the rows of libjpeg-turbo and memcpy, mldf in C. The part "first" is the time from before the
import to the first batch, in a new process, files in the page cache.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
RRC = "image: random_resized_crop(224) | hflip | normalize(imagenet) | chw(f32); label: drop"
WORKS = {
    # name: (file, pipeline, batch, epochs of mldf, epochs of rivals, rivals, goal against the fastest)
    "jpeg": ("photos", RRC, 64, 2, 1, ["dali", "turbo", "ffcv", "tf", "torch"], 3.0),
    "raw160": ("raw160", "image: normalize(imagenet) | chw(f32); label: drop", 64, 20, 5, ["turbo", "ffcv"], 1.5),
    "raw256": ("raw256", RRC, 64, 5, 3, ["turbo", "ffcv"], 3.0),
    "cifar": ("cifar", "image: hflip | random_translate(2) | cutout(8) | normalize(imagenet) | chw(f32); label: drop", 512, 10, 5,
              ["ffcv"], 3.0),
}
FIRST = ["mldf", "mldf_torch", "turbo", "dali", "torch", "tf", "ffcv"]


def run(command):
    command = [str(c) for c in command]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"compare: {' '.join(command)}\n{done.stderr[-2000:]}", file=sys.stderr)
        return None
    return json.loads(done.stdout.strip().splitlines()[-1])


def through_python(options, name, work, epochs):
    """The command, or None when it is not installed."""
    python = options.workdir / f"venv_{name.partition('_')[0]}" / "bin" / "python"
    if not python.exists():
        print(f"compare: {name} is not installed; run bench/rivals/setup.sh {options.workdir}", file=sys.stderr)
        return None
    return [python, HERE / "rivals.py", name, work, options.workdir / "data", options.threads, epochs]


def chosen(options, names):
    return [n for n in names if n.startswith("mldf") or not options.rivals or n in options.rivals]


def rounds(options, title, jobs):
    """Each job once a round, in turns: the results of each."""
    results = {job: [] for job, command in jobs.items() if command}
    for number in range(options.rounds):
        for job in results:
            print(f"\r{title}, round {number + 1} of {options.rounds}: {job:24}", end="", file=sys.stderr, flush=True)
            result = run(jobs[job])
            if result:
                results[job].append(result)
    print("\r" + " " * 70 + "\r", end="", file=sys.stderr)
    return {job: rows for job, rows in results.items() if rows}


def median(rows, what):
    return statistics.median(r[what] or 0 for r in rows)


def first(options):
    """From the import to the first batch."""
    results = rounds(options, "first batch", {n: through_python(options, n, "jpeg", 0) for n in chosen(options, FIRST)})
    if not options.json:
        print(f"\nfirst batch of the jpeg work: {options.threads} threads, medians of {options.rounds} new processes, seconds")
        print(f"  {'':24}{'import':>12}{'first batch':>12}{'mldf is x':>12}")
        for job, rows in results.items():
            print(f"  {job:24}{median(rows, 'import'):12.2f}{median(rows, 'first_batch'):12.2f}"
                  f"{median(rows, 'first_batch') / median(results['mldf'], 'first_batch'):12.2f}")
    return {job: {what: median(rows, what) for what in ("import", "first_batch")} for job, rows in results.items()}


def rates(options, work):
    """Samples a second."""
    name, pipeline, batch, own_epochs, epochs, rivals, goal = WORKS[work]
    program = options.build / "bench" / "bench_loader"
    own = [program, options.workdir / "data" / f"{name}.mldf", pipeline, options.threads, batch, own_epochs]
    jobs = {n: through_python(options, n, work, own_epochs) for n in ("mldf", "mldf_torch")}
    jobs |= {"mldf in C": [*own, "sum"], "mldf in C, not summed": [*own, "touch"]}
    floor = "libjpeg-turbo alone" if work == "jpeg" else "memcpy"
    jobs[floor] = [*own, "floor" if work == "jpeg" else "copy"]
    if work == "jpeg":
        jobs["mldf in C, 1 thread"] = [*own[:3], 1, *own[4:], "sum"]
        fast = options.workdir / "data" / f"{name}_fast.mldf"  # the same photos, repacked with --encode fast-jpeg
        fused = pipeline.replace("image: ", "image: decode(chroma=fused) | ")
        jobs |= {n: through_python(options, n, work, own_epochs) for n in ("mldf_fast", "mldf_fused")}
        jobs["mldf in C, fast JPEG"] = [program, fast, *own[2:], "sum"]
        jobs["mldf in C, fast JPEG, fused"] = [program, fast, fused, *own[3:], "sum"]
    jobs |= {n: through_python(options, n, work, epochs) for n in chosen(options, rivals)}
    results = rounds(options, work, jobs)
    rate = {job: median(rows, "rate") for job, rows in results.items()}
    cpu = {job: median(rows, "cpu_rate") for job, rows in results.items()}
    if not options.json:
        print(f"\n{work}: {options.threads} threads, medians of {options.rounds} interleaved rounds")
        print(f"  {'':24}{'samples/s':>12}{'per CPU-s':>12}{'mldf is x':>12}")
        for job in rate:
            base = rate["mldf in C, not summed"] if job == floor else rate["mldf"]
            print(f"  {job:24}{rate[job]:12.0f}{cpu[job]:12.0f}{base / rate[job]:12.2f}")
        best = max((rate[r] for r in rivals if r in rate), default=None)
        if best:
            ratio = rate["mldf"] / best
            print(f"  against the fastest: {ratio:.2f} (goal {goal}: {'reached' if ratio >= goal else 'missed'})")
            for job, goal in (("mldf_fast", 6.0), ("mldf_fused", 7.5)):  # the goals of the fast JPEG store; goals.py has the others
                if job in rate:
                    print(f"  {job} against the fastest: {rate[job] / best:.2f} (goal {goal}: {'reached' if rate[job] / best >= goal else 'missed'})")
    return {job: {"rate": rate[job], "cpu_rate": cpu[job] or None, "rounds": [r["rate"] for r in results[job]]} for job in rate}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("workdir", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", type=lambda t: t.split(","), default=["first", *WORKS])
    parser.add_argument("--rivals", type=lambda t: t.split(","), default=None)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    document = {work: first(options) if work == "first" else rates(options, work) for work in options.only}
    if options.json:
        json.dump(document, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
