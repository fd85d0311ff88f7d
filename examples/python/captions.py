#!/usr/bin/env python3
"""captions.py FOLDER: a small network learns to say what is in an image, from interleaved documents packed into sequences.

Documents are [image, "a red disc", image, "a blue cross"]: drawn here, written as tokens and images, packed into sequences
of 64 tokens while they are loaded, with 4 placeholders for each image. The network puts what it sees at the placeholders,
looks back inside the document alone, and guesses the next token.

    python captions.py /tmp/captions
"""

import argparse
import pathlib

import mldf
import numpy as np
import torch
from torch import nn

COLOURS = {"red": (220, 40, 40), "green": (40, 200, 60), "blue": (50, 70, 230), "grey": (130, 130, 130)}
SHAPES = ["disc", "square", "cross"]
WORDS = ["<pad>", "<image>", "a", *COLOURS, *SHAPES]
IDS = {word: i for i, word in enumerate(WORDS)}
LENGTH, SEEN = 64, 4


def draw(rng, colour, shape):
    """32 x 32 pixels with one thing in them, and noise."""
    y, x = np.mgrid[:32, :32]
    cy, cx, r = *rng.integers(10, 22, 2), int(rng.integers(5, 9))
    inside = {
        "disc": (y - cy) ** 2 + (x - cx) ** 2 <= r * r,
        "square": (abs(y - cy) <= r) & (abs(x - cx) <= r),
        "cross": ((abs(y - cy) <= 1) & (abs(x - cx) <= r)) | ((abs(x - cx) <= 1) & (abs(y - cy) <= r)),
    }[shape]
    image = rng.integers(0, 40, (32, 32, 3))
    image[inside] = COLOURS[colour]
    return image.astype(np.uint8)


def write(path, count, seed):
    """Documents of one to four images, each with its words."""
    rng = np.random.default_rng(seed)
    kinds = mldf.Multimodal({"text": mldf.Tokens(len(WORDS)), "image": mldf.Image()})
    with mldf.Writer(path, {"doc": kinds}, overwrite=True) as w:
        for _ in range(count):
            doc = []
            for _ in range(int(rng.integers(1, 5))):
                colour, shape = rng.choice(list(COLOURS)), rng.choice(SHAPES)
                doc.append(("image", draw(rng, colour, shape)))
                doc.append(("text", [IDS["a"], IDS[colour], IDS[shape]]))
            w.append({"doc": doc})


def load(path, shuffle):
    """Packed sequences, and the images that belong to their placeholders."""
    view = f"packed(doc, {LENGTH}, image_id={IDS['<image>']}, pad={IDS['<pad>']}, image_tokens={SEEN})"
    return mldf.Loader(
        path,
        8,
        shuffle=shuffle,
        seed=1,
        output="torch",
        view=view,
        pipelines={"doc.image": [mldf.Resize((32, 32)), mldf.Scale(1 / 255), mldf.CHW("f32")]},
        fields=["tokens", "labels", "positions", "mask", "image_mask", "doc.image"],
    )


class Network(nn.Module):
    """An image becomes 4 vectors; one layer of attention inside documents."""

    def __init__(self, width=64):
        super().__init__()
        self.words = nn.Embedding(len(WORDS), width)
        self.places = nn.Embedding(LENGTH, width)
        self.eye = nn.Sequential(
            nn.Conv2d(3, 32, 3, 2, 1), nn.ReLU(), nn.Conv2d(32, width, 3, 2, 1), nn.ReLU(), nn.AdaptiveMaxPool2d(2)
        )
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, 4, 128, dropout=0, batch_first=True) for _ in range(2)
        )
        self.say = nn.Linear(width, len(WORDS))

    def forward(self, b):
        """Scores of the next token at every place."""
        x = self.words(b["tokens"])
        x[b["image_mask"]] = self.eye(b["doc.image"]).flatten(2).transpose(1, 2).flatten(0, 1)
        x = x + self.places(b["positions"])
        hidden = ~b["mask"].repeat_interleave(4, 0)
        for layer in self.layers:
            x = layer(x, hidden)
        return self.say(x)


def accuracy(model, loader):
    """Share of the colours and shapes that are right."""
    right = total = 0
    with torch.inference_mode():
        for b in loader:
            asked = b["labels"] > IDS["a"]
            right += int((model(b).argmax(-1) == b["labels"])[asked].sum())
            total += int(asked.sum())
    return right / total


def main():
    """Trains, and prints one line an epoch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--epochs", type=int, default=10)
    options = parser.parse_args()
    options.folder.mkdir(exist_ok=True)
    train, test = options.folder / "train.mldf", options.folder / "test.mldf"
    write(train, 500, 1)
    write(test, 60, 2)
    torch.manual_seed(0)
    model = Network()
    optimizer = torch.optim.Adam(model.parameters(), 2e-3)
    batches, checks = load(train, True), load(test, False)
    for epoch in range(options.epochs):
        batches.set_epoch(epoch)
        for b in batches:
            loss = nn.functional.cross_entropy(model(b).flatten(0, 1), b["labels"].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.3f}, right {accuracy(model, checks):.3f}")


if __name__ == "__main__":
    main()
