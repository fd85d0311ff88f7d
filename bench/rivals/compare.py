#!/usr/bin/env python3
"""mldf's loader beside the others, same data, same threads, same output, in interleaved rounds; medians and ratios.

    compare.py BUILD WORKDIR [--rounds N] [--threads N] [--only WORK,WORK] [--rivals NAME,NAME] [--json]

BUILD is a release build of mldf. WORKDIR keeps the data and an environment for each rival (made when missing: bench/rivals/setup.sh).
A figure above 1 in the last column means that mldf is that many times as fast.
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


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"compare: {' '.join(map(str, command))}\n{done.stderr[-2000:]}", file=sys.stderr)
        return None
    return json.loads(done.stdout.strip().splitlines()[-1])


def measure(options, work):
    name, pipeline, batch, own_epochs, epochs, rivals, goal = WORKS[work]
    data = options.workdir / "data"
    program = options.build / "bench" / "bench_loader"
    own = [program, data / f"{name}.mldf", pipeline, options.threads, batch, own_epochs]
    jobs = {"mldf": own + ["sum"], "mldf, not summed": own + ["touch"]}
    if work == "jpeg":
        jobs["libjpeg-turbo alone"] = own + ["floor"]
        jobs["mldf, 1 thread"] = own[:3] + [1] + own[4:] + ["sum"]
    else:
        jobs["memcpy"] = own + ["copy"]
    for rival in rivals:
        if options.rivals and rival not in options.rivals:
            continue
        python = options.workdir / f"venv_{rival}" / "bin" / "python"
        if python.exists():
            jobs[rival] = [python, HERE / "rivals.py", rival, work, data, options.threads, epochs]
        else:
            print(f"compare: {rival} is not installed; run bench/rivals/setup.sh {options.workdir}", file=sys.stderr)
    results = {job: [] for job in jobs}
    for number in range(options.rounds):
        for job, command in jobs.items():
            print(f"\r{work}, round {number + 1} of {options.rounds}: {job:24}", end="", file=sys.stderr, flush=True)
            result = run([str(c) for c in command])
            if result:
                results[job].append(result)
    print("\r" + " " * 70 + "\r", end="", file=sys.stderr)
    return results, goal, rivals


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("workdir", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", type=lambda t: t.split(","), default=list(WORKS))
    parser.add_argument("--rivals", type=lambda t: t.split(","), default=None)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    document = {}
    for work in options.only:
        results, goal, rivals = measure(options, work)
        rates = {job: statistics.median(r["rate"] for r in rows) for job, rows in results.items() if rows}
        cpu = {job: statistics.median(r["cpu_rate"] or 0 for r in rows) for job, rows in results.items() if rows}
        document[work] = {job: {"rate": rates[job], "cpu_rate": cpu[job] or None,
                                "rounds": [r["rate"] for r in results[job]]} for job in rates}
        if options.json:
            continue
        print(f"\n{work}: {options.threads} threads, medians of {options.rounds} interleaved rounds")
        print(f"  {'':24}{'samples/s':>12}{'per CPU-s':>12}{'mldf is x':>12}")
        for job, rate in rates.items():
            base = rates["mldf, not summed"] if job in ("libjpeg-turbo alone", "memcpy") else rates["mldf"]
            print(f"  {job:24}{rate:12.0f}{cpu[job]:12.0f}{base / rate:12.2f}")
        best = max((rates[r] for r in rivals if r in rates), default=None)
        if best:
            ratio = rates["mldf"] / best
            print(f"  against the fastest: {ratio:.2f} (goal {goal}: {'reached' if ratio >= goal else 'missed'})")
    if options.json:
        json.dump(document, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
