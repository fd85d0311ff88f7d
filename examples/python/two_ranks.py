#!/usr/bin/env python3
"""two_ranks.py FILE: one training on two processes, with torch.distributed (gloo).

    torchrun --standalone --local-addr localhost --nproc-per-node 2 two_ranks.py small.mldf

--local-addr: without it torchrun looks the machine's own name up, which not every machine can. The loader finds its
rank by itself. Gradients are averaged; with a global batch size the result is that of one process.
"""

import os
import sys

import mldf
import torch
import torch.distributed as dist
from torch import nn


def main():
    """Trains one epoch and says what this rank did."""
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    steps = {"image": [mldf.RandomResizedCrop(16), mldf.Normalize("imagenet"), mldf.CHW()]}
    loader = mldf.Loader(
        sys.argv[1], global_batch_size=16, shuffle=True, drop_last=True, output="torch", pipelines=steps
    )
    torch.manual_seed(0)
    model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Flatten(), nn.Linear(3 * 16 * 16, 2)))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    seen = 0
    for images, labels in loader:
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen += len(labels)
    total = sum(float(p.detach().double().sum()) for p in model.parameters())
    # One write, its end with it: the other rank writes to the same terminal.
    sys.stdout.write(f"rank {rank} of {world}: {len(loader)} steps, {seen} samples; weights sum to {total:.4f}\n")
    sys.stdout.flush()
    dist.destroy_process_group()
    # Not by the interpreter's own end: a thread of PyTorch's gloo (2.13) may still hold a tensor then, and would abort.
    os._exit(0)


if __name__ == "__main__":
    main()
