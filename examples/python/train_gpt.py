#!/usr/bin/env python3
"""train_gpt.py CHECKPOINT TEXT...: trains a tiny GPT on packed documents; killed at any step, it goes on when it is run again.

The texts are packed once, with a byte tokenizer, into CHECKPOINT.mldf. Every sequence holds pieces of several documents; a
token sees those of its own piece alone (segment_ids), and each piece begins at position 0. Model, optimizer and the loader's state are
one file, replaced as a whole after every step. --log writes a line for each step, its loss in all digits.
"""

import argparse
import os
import signal

import mldf
import torch
import torch.nn.functional as F
from torch import nn

LENGTH, WIDTH, HEADS = 64, 32, 2


class Block(nn.Module):
    """Attention inside each document, and a small network."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.net = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x, mask):
        """x: [batch, length, width]; mask: who may look at whom."""
        b, t, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.out(seen.transpose(1, 2).reshape(b, t, WIDTH))
        return x + self.net(self.norm2(x))


class Gpt(nn.Module):
    """Two blocks between an embedding and its transpose."""

    def __init__(self, vocabulary):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks, self.norm = nn.ModuleList([Block(), Block()]), nn.LayerNorm(WIDTH)

    def forward(self, tokens, positions, segments):
        """Scores of the next token."""
        causal = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
        mask = (segments[:, :, None] == segments[:, None, :]) & causal
        x = self.tokens(tokens) + self.places(positions)
        for block in self.blocks:
            x = block(x, mask[:, None])
        return self.norm(x) @ self.tokens.weight.T


def main():
    """Packs when need be, then trains from the checkpoint on."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint")
    parser.add_argument("texts", nargs="+")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--log", help="append the loss of each step to this file")
    parser.add_argument("--kill-after", type=int, help="kill this process by SIGKILL after so many steps")
    parser.add_argument("--threads", type=int)
    options = parser.parse_args()

    corpus = options.checkpoint + ".mldf"
    if not os.path.exists(corpus):
        mldf.pack(options.texts, corpus, text="tokens", tokenizer="bytes", format="text")
    loader = mldf.Loader(
        corpus,
        8,
        shuffle=True,
        seed=1,
        output="torch",
        threads=options.threads,
        view=f"packed(tokens, {LENGTH}, pad=0)",
        fields=["tokens", "labels", "positions", "segment_ids"],
    )
    torch.manual_seed(0)
    torch.set_num_threads(1)  # sums in one order: a run that goes on gives the same digits
    model = Gpt(256)
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
    step = 0
    if os.path.exists(options.checkpoint):
        saved = torch.load(options.checkpoint, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        loader.load_state_dict(saved["data"])
        step = saved["step"]
        print(f"going on at step {step}, epoch {loader.epoch}")
    done = 0
    while step < options.steps:
        for b in loader:
            scores = model(b.tokens, b.positions, b.segment_ids)
            loss = F.cross_entropy(scores.flatten(0, 1), b.labels.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step, done = step + 1, done + 1
            saved = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(saved | {"data": loader.state_dict(), "step": step}, options.checkpoint + ".new")
            os.replace(options.checkpoint + ".new", options.checkpoint)
            if options.log:
                with open(options.log, "a", encoding="utf-8") as log:
                    log.write(f"{step} {loss.item()!r}\n")
            if done == options.kill_after:
                os.kill(os.getpid(), signal.SIGKILL)
            if step == options.steps:
                break
    print(f"finished: loss {loss.item():.3f} after {step} steps")


if __name__ == "__main__":
    main()
