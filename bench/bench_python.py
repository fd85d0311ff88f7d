#!/usr/bin/env python3
"""bench/bench_python.py [BENCH_LOADER]: what Python adds to the loader, on samples so tiny that nothing else counts.

BENCH_LOADER is the C program of a release build (build/release/bench/bench_loader): the same file, the same batches, no Python. Run
this with a Python that has a release build of mldf. Every number is the best of many runs; batches per second are of CPU time too, so
that a busy machine does not matter.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import timeit

import mldf
import numpy as np

SAMPLES, EPOCHS, ROUNDS = 32768, 4, 7


def make(path):
    """Samples of 16 floats and a number."""
    x = np.random.default_rng(0).standard_normal((SAMPLES, 16)).astype(np.float32)
    mldf.write(path, ((x[i], i) for i in range(SAMPLES)), {"x": mldf.NDArray("float32", (16,)), "label": "int"})


def python_rate(loader):
    """Batches per second, of the clock and of the CPUs."""
    best = [0.0, 0.0]
    for _ in range(ROUNDS):
        start, cpu, count = time.perf_counter(), time.process_time(), 0
        for _ in range(EPOCHS):
            for _ in loader:
                count += 1
        best[0] = max(best[0], count / (time.perf_counter() - start))
        best[1] = max(best[1], count / (time.process_time() - cpu))
    return best


def c_rate(program, path, threads, batch):
    """The same in C."""
    best = [0.0, 0.0]
    for _ in range(ROUNDS):
        command = [program, path, "x: cast(f32)", str(threads), str(batch), str(EPOCHS), "touch"]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        best[0] = max(best[0], found["rate"] / batch)
        best[1] = max(best[1], found["cpu_rate"] / batch)
    return best


def batches(path, program):
    """Batches per second, C beside Python."""
    outputs = ["numpy"]
    try:
        import torch  # noqa: F401

        outputs.append("torch")
    except ImportError:
        print("PyTorch is not installed: no numbers for it")
    print(f"{'batches/s (per CPU second)':34} {'C':>18} " + " ".join(f"{o:>18}" for o in outputs) + "   us a batch more")
    for threads in (0, 1):
        for batch in (8, 64, 512):
            rates = [c_rate(program, path, threads, batch)] if program else []
            for output in outputs:
                with mldf.Loader(
                    path, batch, shuffle=True, threads=threads, pipelines="x: cast(f32)", output=output
                ) as loader:
                    rates.append(python_rate(loader))
            more = [f"{(1 / r[1] - 1 / rates[0][1]) * 1e6:.1f}" for r in rates[1:]] if program else []
            shown = " ".join(f"{r[0]:9,.0f} ({r[1]:,.0f})".rjust(18) for r in rates)
            print(f"  threads {threads}, batches of {batch:<14} {shown}   {' / '.join(more)}")


def calls(path):
    """Microseconds of single calls."""
    loader = mldf.Loader(path, 64, shuffle=True, threads=0)
    next(iter(loader))
    scope = {"loader": loader, "mldf": mldf, "path": path}
    for name, statement, number in [
        ("Loader(...) and close, 0 threads", "mldf.Loader(path, 64, threads=0).close()", 50),
        ("Loader(...) and close, 2 threads", "mldf.Loader(path, 64, threads=2).close()", 50),
        ("iter(loader): a new epoch", "iter(loader)", 200),
        ("state_dict()", "loader.state_dict()", 2000),
        ("stats()", "loader.stats()", 2000),
        ("len(loader)", "len(loader)", 20000),
        ("mldf.RandomResizedCrop(224)", "mldf.RandomResizedCrop(224)", 2000),
    ]:
        best = min(timeit.repeat(statement, globals=scope, number=number, repeat=9)) / number
        print(f"{best * 1e6:12,.2f} us  {name}")


def start(path):
    """Milliseconds from nothing to the first batch, in a new process."""
    first = (
        "import time; t = time.perf_counter(); import numpy; a = time.perf_counter(); import mldf; b = time.perf_counter()\n"
        "import sys; next(iter(mldf.Loader(sys.argv[1], 64))); c = time.perf_counter()\n"
        "print(a - t, b - a, c - b)"
    )
    runs = []
    for _ in range(9):
        out = subprocess.run([sys.executable, "-c", first, path], check=True, capture_output=True, text=True).stdout
        runs.append([float(x) * 1e3 for x in out.split()])
    numpy_ms, mldf_ms, batch_ms = (min(column) for column in zip(*runs))
    print(f"{numpy_ms:12.1f} ms  import numpy")
    print(f"{mldf_ms:12.1f} ms  import mldf, behind it")
    print(f"{batch_ms:12.1f} ms  Loader(...) to the first batch of 64")


def main():
    """All of it."""
    program = sys.argv[1] if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "tiny.mldf")
        make(path)
        batches(path, program)
        calls(path)
        start(path)


if __name__ == "__main__":
    main()
