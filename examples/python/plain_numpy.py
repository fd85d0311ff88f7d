#!/usr/bin/env python3
"""plain_numpy.py FILE: samples, columns and batches with NumPy alone."""

import sys

import mldf
import numpy as np

ds = mldf.open(sys.argv[1])
print(ds)

sample = ds[0]
print("a sample:", sample)
print("one field:", ds[5, "image"].shape)

labels = ds.column("label")  # a view of the mapped file
values, counts = np.unique(labels, return_counts=True)
print("labels:", dict(zip(values.tolist(), counts.tolist())))

total, squares, pixels = np.zeros(3), np.zeros(3), 0
for images, _ in mldf.Loader(ds, 64, pipelines={"image": [mldf.Resize((32, 32)), mldf.ToFloat()]}):
    total += images.sum((0, 1, 2), dtype=np.float64)
    squares += np.square(images, dtype=np.float64).sum((0, 1, 2))
    pixels += images[..., 0].size
mean = total / pixels
print("mean", mean.round(3), "std", np.sqrt(squares / pixels - mean**2).round(3))
