"""Pack plans and first batches: mldf against a segment tree in Python and against megatron-core's GPTDataset, in one run.

python bench/bench_plans.py [--documents 10000000] [--tree 200000] [--sequences 10000000] [--length 2048] [--rounds 3] [--build BUILD] [--folder DIR]

plan      best-fit-decreasing of log-normal lengths (mean about 902 tokens, sigma 1.1). mldf: bench/bench_packing.c on --documents documents, without
          reading or writing a file. The rival is the segment tree of TRL and OLMo-core restated in Python, on --tree documents. Documents a second of
          processor time are compared, the best of the rounds on both sides
megatron  .bin and .idx of --sequences documents (mean 20 tokens) to the first batch of 16 x (length + 1) tokens, nothing cached on either side. mldf: open,
          packed(tokens, length, algorithm=concat, ends=next), one batch of a random order. The rival: megatron-core's IndexedDataset, GPTDataset (its
          C++ helper builds the sample index) and 16 items. Processor time, all threads. Left out, with a word, where megatron-core is not installed
"""

import argparse
import os
import re
import shutil
import statistics
import struct
import subprocess
import tempfile
import time

import mldf
import numpy as np


class SegmentTree:
    """Largest remaining space at or above a need: as TRL's `_SegmentTree` for bfd packing."""

    def __init__(self, most):
        self.most = most
        self.size = 1 << (most - 1).bit_length()
        self.tree = [0] * (2 * self.size)

    def add(self, value):
        at = self.size + value - 1
        self.tree[at] = value
        while at > 1:
            at >>= 1
            left, right = self.tree[at << 1], self.tree[(at << 1) + 1]
            self.tree[at] = left if left >= right else right

    def remove(self, value):
        at = self.size + value - 1
        self.tree[at] = 0
        while at > 1:
            at >>= 1
            left, right = self.tree[at << 1], self.tree[(at << 1) + 1]
            self.tree[at] = left if left >= right else right

    def search(self, value):
        at = 1
        while at < self.size:
            at = at << 1 if self.tree[at << 1] >= value else (at << 1) + 1
        return self.tree[at]


def tree_plan(lengths, most):
    """Best-fit-decreasing: bins as lists of (document, length)."""
    tree, spaces, bins = SegmentTree(most), {}, []
    tree.add(most)
    pieces = [(i, min(most, n - at)) for i, n in enumerate(lengths) for at in range(0, n, most)]
    pieces.sort(key=lambda p: -p[1])
    for document, n in pieces:
        space = tree.search(n)
        if space < most:
            chosen = spaces[space].pop()
            if not spaces[space]:
                tree.remove(space)
        else:
            chosen = []
            bins.append(chosen)
        chosen.append((document, n))
        left = space - n
        if left > 0:
            if not spaces.get(left):
                spaces[left] = []
                tree.add(left)
            spaces[left].append(chosen)
    return bins


def log_normal(documents):
    rng = np.random.default_rng(1)
    return np.maximum(np.exp(np.log(902.0) - 0.605 + 1.1 * rng.standard_normal(documents)), 1).astype(np.int64)


def plan_row(given):
    done = subprocess.run(
        [f"{given.build}/bench/bench_packing", str(given.documents), str(given.length)],
        capture_output=True,
        text=True,
        check=True,
    )
    line = done.stdout.splitlines()[0]
    ours = float(re.search(r"([0-9.]+) M documents/s", line)[1]) * 1e6
    some = log_normal(given.tree).tolist()
    rates = []
    for _ in range(given.rounds):
        began = time.process_time()
        bins = tree_plan(some, given.length)
        rates.append(given.tree / (time.process_time() - began))
    theirs = max(rates)
    print(f"plan       {line}")
    print(f"  tree     {given.tree:,} documents: {theirs / 1e6:.3f} M documents/s, {len(bins):,} sequences")
    print(f"  ratio    {ours / theirs:.0f}  (goal 50)")


def write_megatron(prefix, sequences):
    rng = np.random.default_rng(2)
    lengths = rng.integers(1, 40, sequences).astype("<i4")
    total = int(lengths.sum(dtype=np.int64))
    with open(prefix + ".bin", "wb") as out:
        for at in range(0, total, 1 << 24):
            out.write(rng.integers(0, 50000, min(1 << 24, total - at), dtype=np.uint16).tobytes())
    pointers = np.zeros(sequences, "<i8")
    np.cumsum(lengths[:-1], out=pointers[1:], dtype=np.int64)
    with open(prefix + ".idx", "wb") as out:
        out.write(b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, sequences, sequences + 1))
        out.write(lengths.tobytes() + (2 * pointers).tobytes() + np.arange(sequences + 1, dtype="<i8").tobytes())
    return total


def megatron_first(prefix, total, given):
    """Seconds to 16 samples of GPTDataset."""
    from megatron.core.datasets.gpt_dataset import GPTDataset, GPTDatasetConfig
    from megatron.core.datasets.indexed_dataset import IndexedDataset
    from megatron.core.datasets.utils import Split

    class Tokenizer:
        """What GPTDataset asks of one."""

        eod, pad, unique_identifiers, vocab_size = 0, 0, {"class": "bench"}, 50257

    shutil.rmtree(f"{prefix}/cache", ignore_errors=True)  # of the round before
    began = time.process_time()
    config = GPTDatasetConfig(
        random_seed=1,
        sequence_length=given.length,
        split="1,0,0",
        reset_position_ids=False,
        reset_attention_mask=False,
        eod_mask_loss=False,
        tokenizer=Tokenizer(),
        create_attention_mask=False,
        blend=([prefix], None),
        mid_level_dataset_surplus=0.005,
    )
    data = IndexedDataset(prefix, mmap=True)
    indices = np.arange(len(data), dtype=np.int32)
    samples = total // given.length
    dataset = GPTDataset(data, prefix, indices, samples, Split.train, config)
    for i in range(16):
        dataset[i]
    return time.process_time() - began


def megatron_row(given, folder):
    prefix = os.path.join(folder, "megatron")
    total = write_megatron(prefix, given.sequences)
    ours, theirs = [], []
    text = f"packed(tokens, {given.length}, algorithm=concat, ends=next)"
    for _ in range(given.rounds):
        began = time.process_time()
        with mldf.Loader(
            mldf.open(prefix + ".idx"), 16, shuffle=True, view=text, fields=["tokens", "labels"]
        ) as loader:
            next(iter(loader))
        ours.append(time.process_time() - began)
        try:
            theirs.append(megatron_first(prefix, total, given))
        except ImportError as error:
            print(f"  megatron-core is not installed: {error}")
    print(f"megatron   {given.sequences:,} sequences, first batch: {statistics.median(ours):.3f} s")
    if theirs:
        print(f"  GPTDataset {statistics.median(theirs):.3f} s")
        print(f"  ratio    {statistics.median(theirs) / statistics.median(ours):.1f}  (goal 20)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=10_000_000)
    parser.add_argument("--tree", type=int, default=200_000)
    parser.add_argument("--sequences", type=int, default=10_000_000)
    parser.add_argument("--length", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=["plan", "megatron"])
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--folder")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        if given.only != "megatron":
            plan_row(given)
        if given.only != "plan":
            megatron_row(given, folder)


if __name__ == "__main__":
    main()
