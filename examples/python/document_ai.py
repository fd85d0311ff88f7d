#!/usr/bin/env python3
"""document_ai.py FOLDER: a small network reads forms: a page image, boxes of words, and what each word is.

Pages are drawn here: words are boxes, framed, underlined or shaded, and that says whether a word is a name, a date or a
sum. A sample has a page, the boxes of its words, their tokens and their labels as parts. Boxes move with the page when it
is flipped and resized.

    python document_ai.py /tmp/forms
"""

import argparse
import pathlib

import mldf
import numpy as np
import torch
from torch import nn

LABELS = ["name", "date", "sum"]


def draw(rng):
    """A page of 96 x 128, boxes (x1, y1, x2, y2) of its words, tokens (one for each word), and labels."""
    page = np.full((96, 128), 250, np.int64)
    boxes, labels = [], []
    for top in range(6, 84, 18):
        for left in (6, 70):
            if rng.random() < 0.35:
                continue
            x, y, w, h = left + int(rng.integers(8)), top + int(rng.integers(4)), int(rng.integers(28, 44)), 11
            label = int(rng.integers(3))
            page[y + 3 : y + 8 : 2, x + 3 : x + w - 3] = 120  # letters
            if label == 0:  # framed
                page[y, x : x + w] = page[y + h - 1, x : x + w] = page[y : y + h, x] = page[y : y + h, x + w - 1] = 0
            elif label == 1:  # underlined
                page[y + h - 2 : y + h, x : x + w] = 0
            else:  # shaded
                page[y : y + h, x : x + w] -= 70
            boxes.append([x, y, x + w, y + h])
            labels.append(label)
    noisy = np.clip(page + rng.integers(-5, 6, page.shape), 0, 255).astype(np.uint8)
    return np.stack([noisy] * 3, -1), np.array(boxes, np.float32).reshape(-1, 4), np.array(labels, np.uint8)


def write(path, count, seed):
    """Pages with their words as parts of one field."""
    rng = np.random.default_rng(seed)
    kinds = {
        "page": mldf.Image(),
        "boxes": mldf.NDArray("float32", (None, 4)),
        "words": mldf.Tokens(1000),
        "labels": mldf.NDArray("uint8", (None,)),
    }
    with mldf.Writer(path, {"form": mldf.Multimodal(kinds)}, overwrite=True) as w:
        for _ in range(count):
            page, boxes, labels = draw(rng)
            words = rng.integers(0, 1000, len(labels)).tolist()
            w.append({"form": [("page", page), ("boxes", boxes), ("words", words), ("labels", labels)]})


def load(path, train):
    """Pages of one size, boxes that moved with them, one after the other."""
    moves = [mldf.HorizontalFlip(0.5 if train else 0), mldf.Resize((72, 96))]
    return mldf.Loader(
        path,
        16,
        shuffle=train,
        seed=1,
        output="torch",
        pipelines={
            "form.page, form.boxes as boxes": moves,
            "form.page": [mldf.Scale(1 / 255), mldf.CHW("f32")],
            "form.words": [mldf.Cast("i64")],
            "form.labels": [mldf.Cast("i64")],
        },
        fields=["form.page", "form.boxes", "form.words", "form.labels", "form.boxes_offset"],
    )


class Network(nn.Module):
    """What is in a box of the page, and the word."""

    def __init__(self, width=32):
        super().__init__()
        self.eye = nn.Sequential(nn.Conv2d(3, width, 3, 1, 1), nn.ReLU(), nn.Conv2d(width, width, 3, 1, 1), nn.ReLU())
        self.words = nn.Embedding(1000, 8)
        self.name = nn.Linear(width * 8 + 8, len(LABELS))

    def forward(self, pages, boxes, offset, words):
        """Scores of each word's label."""
        of = torch.repeat_interleave(torch.arange(len(pages)), torch.diff(offset))
        seen = self.eye(pages)
        height, width = pages.shape[2:]
        u = torch.linspace(0, 1, 12)
        x = (boxes[:, None, 0] + (boxes[:, 2] - boxes[:, 0])[:, None] * u) / width * 2 - 1
        y = (boxes[:, None, 1] + (boxes[:, 3] - boxes[:, 1])[:, None] * u) / height * 2 - 1
        grid = torch.stack([x[:, None, :].expand(-1, 12, -1), y[:, :, None].expand(-1, -1, 12)], -1)
        cut = nn.functional.grid_sample(seen[of], grid, align_corners=False)
        rows = nn.functional.adaptive_avg_pool2d(cut, (8, 1)).flatten(1)
        return self.name(torch.cat([rows, self.words(words)], 1))


def run(model, b):
    """Scores and labels of all words of a batch."""
    offset = torch.as_tensor(b["form.boxes_offset"])
    counts = torch.diff(offset)
    assert int(counts.sum()) == len(b["form.boxes"]) == len(b["form.words"]) == len(b["form.labels"])
    return model(b["form.page"], b["form.boxes"], offset, b["form.words"]), b["form.labels"]


def accuracy(model, loader):
    """Share of the words whose label is right."""
    right = total = 0
    with torch.inference_mode():
        for b in loader:
            scores, labels = run(model, b)
            right += int((scores.argmax(1) == labels).sum())
            total += len(labels)
    return right / total


def main():
    """Trains, and prints one line an epoch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--epochs", type=int, default=2)
    options = parser.parse_args()
    options.folder.mkdir(exist_ok=True)
    train, test = options.folder / "train.mldf", options.folder / "test.mldf"
    write(train, 160, 1)
    write(test, 40, 2)
    torch.manual_seed(0)
    model = Network()
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    batches, checks = load(train, True), load(test, False)
    for epoch in range(options.epochs):
        batches.set_epoch(epoch)
        for b in batches:
            scores, labels = run(model, b)
            loss = nn.functional.cross_entropy(scores, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.3f}, right {accuracy(model, checks):.3f}")


if __name__ == "__main__":
    main()
