"""Packed sequences: mldf's view against a packed dataset in NumPy behind torch's DataLoader, in one run.

    python bench/bench_packed.py [--documents 200000] [--length 2048] [--batch 16] [--rounds 5] [--folder DIR]

Documents of log-normal lengths (mean about 600 tokens), u16. A batch is tokens, labels, positions (int64 [16, 2048]) and cu_seqlens. The rivals take
turns; the numbers are medians over the rounds.

    numpy    the idea of OLMo-core's NumpyPackedFSLDataset restated: a best-fit plan made before, __getitem__ that takes each document from a
             memmap that each worker opens once, widens it, makes labels, positions and cu_seqlens; DataLoader(num_workers=2, batch_size=16),
             collated by torch
    mldf     Loader(view="packed(tokens, 2048)"), random order, 2 threads, torch tensors; the plan is made at opening
    padding  places that hold no token
"""

import argparse
import os
import statistics
import tempfile
import time

import mldf
import numpy as np
import torch


def make(folder, documents):
    rng = np.random.default_rng(1)
    lengths = np.clip(rng.lognormal(5.9, 1.0, documents), 1, 50_000).astype(np.int64)
    ends = np.cumsum(lengths)
    ids = rng.integers(0, 50257, ends[-1], dtype=np.uint16)
    raw, packed = os.path.join(folder, "tokens.bin"), os.path.join(folder, "tokens.mldf")
    ids.tofile(raw)
    with mldf.Writer(packed, {"tokens": mldf.Tokens(50304, eos=50256)}) as w:
        w.extend({"tokens": ids[end - n : end]} for n, end in zip(lengths.tolist(), ends.tolist()))
    return raw, packed, lengths


class Packed(torch.utils.data.Dataset):
    def __init__(self, raw, plan, starts, length):
        self.raw, self.plan, self.starts, self.length = raw, plan, starts, length
        self.most = max(map(len, plan))
        self.data = None  # each worker's own, opened once

    def __len__(self):
        return len(self.plan)

    def __getitem__(self, index):
        if self.data is None:
            self.data = np.memmap(self.raw, np.uint16, mode="r")
        data = self.data
        tokens = np.full(self.length, 50256, np.int64)
        labels = np.full(self.length, -100, np.int64)
        positions = np.zeros(self.length, np.int64)
        cu = np.full(self.most + 2, self.length, np.int32)
        at = 0
        for k, (document, start, n) in enumerate(self.plan[index]):
            begin = self.starts[document] + start
            piece = data[begin : begin + n].astype(np.int64)
            tokens[at : at + n] = piece
            labels[at : at + n - 1] = piece[1:]
            positions[at : at + n] = np.arange(n)
            cu[k] = at
            at += n
        return torch.from_numpy(tokens), torch.from_numpy(labels), torch.from_numpy(positions), torch.from_numpy(cu)


def rate(batches, most, tokens):
    """Tokens a second, without the first batch: starting workers is not counted."""
    batches = iter(batches)
    next(batches)
    began, count = time.perf_counter(), 0
    for _, _ in zip(range(most), batches):
        count += 1
    return count * tokens / (time.perf_counter() - began)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--length", type=int, default=2048)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--batches", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        raw, path, lengths = make(folder, given.documents)
        began = time.perf_counter()
        view = mldf.open(path).as_view(f"packed(tokens, {given.length})")
        opened = time.perf_counter() - began
        plan = [[(p.row, p.start, p.length) for p in view.locate(i)] for i in range(len(view))]
        padding = 1 - lengths.sum() / (len(view) * given.length)
        print(
            f"{given.documents:,} documents, {lengths.sum():,} tokens; opened in {opened:.3f} s; padding {padding:.4%}"
        )
        rival = Packed(raw, plan, np.cumsum(lengths) - lengths, given.length)
        fields = ["tokens", "labels", "positions", "cu_seqlens"]
        rates = {"numpy": [], "mldf": []}
        for _ in range(given.rounds):
            other = torch.utils.data.DataLoader(rival, given.batch, shuffle=True, num_workers=2)
            rates["numpy"].append(rate(other, given.batches // 10, given.batch * given.length))
            with mldf.Loader(view, given.batch, shuffle=True, threads=2, output="torch", fields=fields) as loader:
                rates["mldf"].append(rate(loader, given.batches, given.batch * given.length))
        for name, found in rates.items():
            print(f"{name:8} {statistics.median(found) / 1e6:9.1f} M tokens/s")
        print(f"ratio    {statistics.median(a / b for a, b in zip(rates['mldf'], rates['numpy'])):9.1f}")


if __name__ == "__main__":
    main()
