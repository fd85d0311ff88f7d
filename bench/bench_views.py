"""Windows of a token stream: mldf's view against nanoGPT's memmap idiom and against memcpy, in one run.

    python bench/bench_views.py [--tokens 100000000] [--batch 64] [--rounds 11] [--threads 0,1,2] [--folder DIR]

The stream is one row of u16. A batch is --batch windows of 1,025 tokens as int64: (x, y) of nanoGPT are two views of it. The rivals take turns, a
round each; the numbers are medians over the rounds, and ratios are medians of the ratios of a round. All of it twice: by the clock, and by the
processor time of the process, all threads together, which other programs on the machine change less.

    nanogpt   np.memmap, random starts, torch.stack(torch.from_numpy(slice.astype(int64))) for x and for y (train.py of nanoGPT)
    mldf      Loader(view="windows(x, 1025)"), random order, cast(i64) into the batch, torch tensors or NumPy arrays (making a tensor and
              two views of it costs torch 8 us a batch, a third of the memcpy)
              threads 0: the caller's own thread does it all, which is what one thread's memcpy compares with by processor time
    memcpy    one thread's copy of a batch's bytes, from places all over 256 MiB to a batch that is used again: bytes written a second
"""

import argparse
import itertools
import json
import os
import statistics
import tempfile
import time

import mldf
import numpy as np
import torch

WINDOW = 1025


def make(folder, tokens):
    rng = np.random.default_rng(1)
    data = rng.integers(0, 50257, tokens, dtype=np.uint16)
    raw, packed = os.path.join(folder, "train.bin"), os.path.join(folder, "train.mldf")
    data.tofile(raw)
    with mldf.Writer(packed, {"x": mldf.NDArray("uint16", (None,))}) as w:
        w.append({"x": data})
    return raw, packed


class Watch:
    def __init__(self, batches):
        self.batches, self.clock, self.cpu = batches, time.perf_counter(), time.process_time()

    def rates(self):
        """Batches a second: by the clock, and of processor time."""
        return (
            self.batches / (time.perf_counter() - self.clock),
            self.batches / (time.process_time() - self.cpu),
        )


def nanogpt(path, size, batches):
    block = WINDOW - 1
    watch = Watch(batches)
    for _ in range(batches):
        data = np.memmap(path, dtype=np.uint16, mode="r")
        ix = torch.randint(len(data) - block, (size,))
        x = torch.stack([torch.from_numpy((data[i : i + block]).astype(np.int64)) for i in ix])
        y = torch.stack([torch.from_numpy((data[i + 1 : i + 1 + block]).astype(np.int64)) for i in ix])
        assert x.shape == y.shape
    return watch.rates()


class Ours:
    def __init__(self, path, size, threads, text, order, output):
        self.loader = mldf.Loader(
            path, size, view=text, pipelines="x: cast(i64)", order=order, seed=1, output=output, threads=threads,
            drop_last=True, codegen="wait",
        )  # fmt: skip

    def __call__(self, batches):
        done, watch = 0, Watch(batches)
        while done < batches:
            for batch in self.loader:
                x, y = batch.x[:, :-1], batch.x[:, 1:]
                assert x.shape == y.shape
                done += 1
                if done == batches:
                    break
        return watch.rates()


def memcpy(size, batches):
    each = size * WINDOW * 8
    source = np.ones(256 << 20, np.uint8)
    target = np.empty(each, np.uint8)
    places = np.random.default_rng(2).integers(0, len(source) - each, batches).tolist()
    np.copyto(target, source[:each])
    watch = Watch(batches)
    for place in places:
        np.copyto(target, source[place : place + each])
    return watch.rates()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokens", type=int, default=100_000_000)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--batches", type=int, default=1500)
    parser.add_argument("--threads", default="0,1,2")
    parser.add_argument("--folder")
    args = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        raw, packed = make(folder, args.tokens)
        each, batches = args.batch * WINDOW * 8, max(args.batches * 64 // args.batch, 8)
        runs = {
            "nanogpt": lambda: nanogpt(raw, args.batch, max(batches // 8, 1)),
            "memcpy": lambda: memcpy(args.batch, batches),
        }
        plain, anywhere = f"windows(x, {WINDOW})", f"windows(x, {WINDOW}, random)"
        for n, output in itertools.product(map(int, args.threads.split(",")), ("torch", "numpy")):
            for name, text, order in (
                ("in order", plain, "sequential"),
                ("shuffled", plain, "random"),
                ("random", anywhere, "random"),
            ):
                ours = Ours(packed, args.batch, n, text, order, output)
                runs[f"mldf {output} {name}, {n} thread{'s' * (n != 1)}"] = lambda ours=ours: ours(batches)
        found = {name: [] for name in runs}
        for run in runs.values():
            run()  # pages are in memory, code is compiled
        for _ in range(args.rounds):
            for name, run in runs.items():
                found[name].append(run())
    out = {}
    for kind, by in enumerate(("clock", "cpu")):
        print(f"by the {by}")
        for name, rates in found.items():
            rate = statistics.median(r[kind] for r in rates)
            to = {r: statistics.median(a[kind] / b[kind] for a, b in zip(rates, found[r])) for r in ("nanogpt", "memcpy")}
            written = rate * each / 1e9
            out[f"{name} ({by})"] = {"batches_per_second": round(rate), "gb_written_per_second": round(written, 2)}
            out[f"{name} ({by})"] |= {f"times_{r}": round(ratio, 2) for r, ratio in to.items()}
            print(f"  {name:31} {rate:8.0f} batches/s  {written:6.2f} GB/s written  "
                  f"{to['nanogpt']:6.2f} x nanoGPT  {to['memcpy']:5.2f} x memcpy")  # fmt: skip
    print(json.dumps(out))


main()
