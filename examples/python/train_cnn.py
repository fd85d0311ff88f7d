#!/usr/bin/env python3
"""train_cnn.py FILE: a small CNN on the images of FILE, end to end: loading, augmenting, training, testing.

    python make_photos.py photos/ small.mldf && python train_cnn.py small.mldf
"""

import argparse

import mldf
import torch
from torch import nn


def network():
    """Four layers for images of 32 x 32."""
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, 2, 1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, 2, 1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * 8 * 8, 2),
    )


def accuracy(model, loader):
    """Share of the images that the network gets right."""
    model.eval()
    right = total = 0
    with torch.inference_mode():
        for images, labels in loader:
            right += int((model(images).argmax(1) == labels).sum())
            total += len(labels)
    return right / total


def main():
    """Trains, and prints one line an epoch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=32)
    options = parser.parse_args()

    train, test = mldf.open(options.file).split(0.8, 0.2, seed=1, by="label")
    common = [mldf.Normalize("imagenet"), mldf.CHW()]
    augmented = {"image": [mldf.RandomResizedCrop(32, scale=(0.5, 1)), mldf.HorizontalFlip(), *common]}
    plain = {"image": [mldf.CenterResizedCrop(32, 1), *common]}
    batches = mldf.Loader(train, options.batch_size, shuffle=True, output="torch", pipelines=augmented, drop_last=True)
    checks = mldf.Loader(test, 100, output="torch", pipelines=plain)
    print(batches)

    torch.manual_seed(0)
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for epoch in range(options.epochs):
        model.train()
        loss = torch.zeros(())
        for images, labels in batches:
            loss = nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.3f}, accuracy {accuracy(model, checks):.3f}")
    print(batches.stats().verdict)


if __name__ == "__main__":
    main()
