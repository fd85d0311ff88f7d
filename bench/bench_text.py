#!/usr/bin/env python3
"""bench_text.py BUILD [--rivals DIR] [--install] [--quick]: every goal for text and tokens, measured in one run: goal, measured, met or missed.

BUILD     a release build (make release); its Python package is used
--rivals  packages of the rivals, beside those of this Python; default BUILD/rivals-text
--install fetches them once: megatron-core 0.16.1, datatrove, Grain, gigatoken, tokenizers (a rival that is not there is named, and its row is left out)
--quick   a tenth of the sizes

About five minutes on two idle CPUs. Each row is a script of its own, which says what it compares: bench_views.py (windows), bench_packed.py (packed
sequences), bench_plans.py (plans, Megatron), rivals/tokenize_text.py (tokenizing); Grain's packing is here. Ratios are of the same run. Exits with 0,
whatever is met: numbers of a busy machine are no test.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
PACKAGES = (
    "megatron-core==0.16.1 datatrove==0.10.1 gigatoken grain tokenizers absl-py array-record etils more-itertools portpicker protobuf psutil cloudpickle "
    "loguru fsspec dill humanize multiprocess pyyaml rich tqdm huggingface-hub"
)
GRAIN = """
import sys, time
import numpy as np
import grain
from grain._src.python.dataset.transformations import packing
rng = np.random.default_rng(1)
lengths = np.clip(np.exp(np.log(902.0) - 0.605 + 1.1 * rng.standard_normal(int(sys.argv[1]))), 1, 2048).astype(int)
documents = [np.ones(n, np.int32) for n in lengths]
data = grain.MapDataset.source(documents).map(lambda x: {"tokens": x}).to_iter_dataset()
rows = iter(packing.FirstFitPackIterDataset(data, length_struct={"tokens": 2048}, num_packing_bins=128))
began, count, used = time.perf_counter(), 0, 0
for row in rows:
    count += 2048
    used += int((row["tokens_segment_ids"] != 0).sum())
print(count / (time.perf_counter() - began), 1 - used / count)
"""


class Run:
    """Where things are, and the rows so far."""

    def __init__(self, given, folder):
        self.given, self.folder, self.rows = given, folder, []
        site = folder / "site"
        install = ["cmake", "--install", str(given.build), "--component", "python", "--prefix", str(site)]
        subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
        self.paths = [str(site), str(given.rivals)]

    def python(self, *words, rivals=True):
        """What a script printed, or None: it needs what is not installed, or failed."""
        paths = os.pathsep.join(self.paths if rivals else self.paths[:1])
        env = os.environ | {"PYTHONPATH": paths, "PYTHONWARNINGS": "ignore"}
        done = subprocess.run([sys.executable, *map(str, words)], env=env, capture_output=True, text=True, timeout=900)
        if done.returncode:
            print(f"  {words[0]}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
            return None
        return done.stdout

    def size(self, number):
        return number // 10 if self.given.quick else number

    def add(self, work, rival, goal, measured, unit="x", most=False):
        """One line of the table. most: the goal is not to be passed."""
        if measured is None:
            verdict, shown = "not measured", "-"
        else:
            verdict = "met" if (measured <= goal if most else measured >= goal) else "missed"
            shown = f"{measured:.4g} {unit}"
        self.rows.append((work, rival, f"{'<=' if most else '>='} {goal:g} {unit}", shown, verdict))
        print("{:44} {:44} {:>10} {:>12}  {}".format(*self.rows[-1]), flush=True)


def found(pattern, text):
    match = re.search(pattern, text or "")
    return float(match[1]) if match else None


def windows(run):
    text = run.python(
        HERE / "bench_views.py",
        "--tokens",
        run.size(100_000_000),
        "--rounds",
        5,
        "--batches",
        run.size(600),
        "--threads",
        0,
    )
    rates = json.loads(text.splitlines()[-1])["mldf numpy random, 0 threads (cpu)"] if text else {}
    run.add("windows 1025 x u16 to (x, y) i64", "nanoGPT's memmap idiom", 3, rates.get("times_nanogpt"))
    run.add("", "memcpy, bytes written", 0.8, rates.get("times_memcpy"))


def packed(run):
    text = run.python(
        HERE / "bench_packed.py", "--documents", run.size(100_000), "--rounds", 3, "--batches", run.size(600)
    )
    run.add("packed T 2048, batch 16", "OLMo-core's dataset in NumPy, 2 workers", 10, found(r"ratio +([0-9.]+)", text))
    ours = found(r"mldf +([0-9.]+) M tokens", text)
    other = run.python("-c", GRAIN, run.size(40_000))
    theirs, padding = map(float, other.split()) if other else (None, None)
    run.add("", "Grain first-fit, 128 bins", 10, ours * 1e6 / theirs if ours and theirs else None)
    if padding is not None:
        print(f"  Grain's padding {padding:.3%}")


def plans(run):
    sizes = [
        "--documents",
        run.size(10_000_000),
        "--tree",
        run.size(200_000),
        "--sequences",
        run.size(10_000_000),
        "--rounds",
        3,
    ]
    text = run.python(HERE / "bench_plans.py", *sizes, "--build", run.given.build, "--folder", run.folder)
    plan, _, megatron = (text or "").partition("megatron ")
    run.add("", "padding of the log-normal set", 0.05, found(r"padding ([0-9.]+) %", plan), "%", most=True)
    run.add(
        "plan of 10^7 documents, L 2048", "segment tree of TRL and OLMo in Python", 50, found(r"ratio +([0-9.]+)", plan)
    )
    run.add("", "as the design says", 40, found(r"([0-9.]+) M documents/s", plan), "M/s")
    run.add("Megatron files to the first batch", "megatron-core's GPTDataset", 20, found(r"ratio +([0-9.]+)", megatron))


def tokenizing(run):
    words = (
        HERE / "rivals" / "tokenize_text.py",
        run.given.build / "bin" / "mldf",
        "/usr/share/common-licenses",
        run.size(50),
    )
    for rivals, goal, name in ((False, 1, "the same tokenizer"), (True, 5, "gigatoken")):
        text = run.python(*words, rivals=rivals)
        run.add("tokenize and pack text, 2 threads", f"datatrove's loop, {name}", goal, found(r": ([0-9.]+)x", text))
        if text and "same ids: True" not in text:
            print("  THE IDS DIFFER")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rivals", type=pathlib.Path)
    parser.add_argument("--install", action="store_true")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    given.rivals = given.rivals or given.build / "rivals-text"
    if given.install and not given.rivals.exists():
        subprocess.run(
            [
                sys.executable,
                "-m",
                "pip",
                "install",
                "-q",
                "--no-deps",
                "--target",
                str(given.rivals),
                *PACKAGES.split(),
            ],
            check=False,
        )
    began = time.monotonic()
    with tempfile.TemporaryDirectory(dir=given.build, prefix="mldf-bench-text-") as folder:
        run = Run(given, pathlib.Path(folder))
        for part in (windows, packed, plans, tokenizing):
            part(run)
    print(f"{time.monotonic() - began:.0f} s, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")


if __name__ == "__main__":
    main()
