#!/usr/bin/env python3
"""bench/python_access.py: what one access costs in Python, file in the page cache: best of many runs, in nanoseconds.

Run it with a Python that has a release build of mldf (`pip install .` or the wheel), not the debug build of .venv.
"""

import os
import tempfile
import timeit

import mldf
import numpy as np

SAMPLES = 1000


def make(path):
    fields = {"a": "int", "b": "float", "x": mldf.NDArray("float32", (16,)), "t": "text", "image": mldf.Image(encode="jpeg")}
    image = np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)
    with mldf.Writer(path, fields) as w:
        for i in range(SAMPLES):
            w.append((i, i / 2, np.zeros(16, np.float32), "some text", image))


def measure(name, statement, scope, number):
    best = min(timeit.repeat(statement, globals=scope, number=number, repeat=9)) / number
    print(f"{best * 1e9:12,.0f}  {name}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.mldf")
        make(path)
        ds = mldf.open(path)
        scope = {"np": np, "mldf": mldf, "path": path, "ds": ds, "two": ds.with_fields("a", "b"), "four": ds.with_fields("a", "b", "x", "t"),
                 "many": np.random.default_rng(1).permutation(SAMPLES)[:256]}
        print("nanoseconds")
        measure("mldf.open(path)", "mldf.open(path)", scope, 100)
        measure("ds[i]: an int and a float", "two[7]", scope, 20000)
        measure("ds[i]: int, float, array of 16 floats, text", "four[7]", scope, 20000)
        measure("ds[i, 'a']: an int", "ds[7, 'a']", scope, 20000)
        measure("ds[i, 'x']: an array, no copy", "ds[7, 'x']", scope, 20000)
        measure("ds[i, 't']: text", "ds[7, 't']", scope, 20000)
        measure("ds[i, 'image']: a JPEG of 64 x 64, decoded", "ds[7, 'image']", scope, 500)
        measure("__getitems__ of 256 samples: int and float", "two.__getitems__(many)", scope, 100)
        measure("ds.column('a'): 1,000 ints, no copy", "ds.column('a')", scope, 2000)
        measure("ds[many, 'x']: 256 arrays gathered", "ds[many, 'x']", scope, 500)
        measure("for comparison: np.zeros(16, np.float32)", "np.zeros(16, np.float32)", scope, 20000)
        print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs, mldf {mldf.__version__}, NumPy {np.__version__}")


if __name__ == "__main__":
    main()
