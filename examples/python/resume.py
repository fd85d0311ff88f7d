#!/usr/bin/env python3
"""resume.py FILE CHECKPOINT: trains for two epochs and may be killed at any step; run it again and it goes on.

With --log every step writes the numbers of its samples, so that one can see that nothing was lost or repeated: a step counts
when its checkpoint is there. Model, optimizer and the loader's state go into one file, which is replaced as a whole.
"""

import argparse
import os
import signal

import mldf
import torch
from torch import nn


def main():
    """Trains from the checkpoint on."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("checkpoint")
    parser.add_argument("--log", help="append the samples of each step to this file")
    parser.add_argument("--kill-after", type=int, help="kill this process by SIGKILL after so many steps")
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--threads", type=int)
    options = parser.parse_args()

    steps = {"image": [mldf.RandomResizedCrop(16), mldf.Normalize("imagenet"), mldf.CHW()]}
    loader = mldf.Loader(
        options.file,
        options.batch_size,
        shuffle=True,
        seed=3,
        output="torch",
        pipelines=steps,
        index=True,
        threads=options.threads,
    )
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(3 * 16 * 16, 2))
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    if os.path.exists(options.checkpoint):
        saved = torch.load(options.checkpoint, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        loader.load_state_dict(saved["loader"])
        print(f"going on in epoch {loader.epoch}")

    done = 0
    while loader.epoch < 2:
        for images, labels, index in loader:
            loss = nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            saved = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "loader": loader.state_dict()}
            torch.save(saved, options.checkpoint + ".new")
            os.replace(options.checkpoint + ".new", options.checkpoint)
            if options.log:
                with open(options.log, "a") as log:
                    log.write(" ".join(map(str, index.tolist())) + "\n")
            done += 1
            if done == options.kill_after:
                os.kill(os.getpid(), signal.SIGKILL)
    print(f"finished; weights sum to {sum(float(p.sum()) for p in model.parameters()):.6f}")


if __name__ == "__main__":
    main()
