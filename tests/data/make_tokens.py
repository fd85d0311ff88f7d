#!/usr/bin/env python3
"""Files of token ids as the programs that use them write them, small, for tests/python/test_token_files.py.

Run with megatron-core 0.16.1 (and torch, NumPy) at hand:

    python tests/data/make_tokens.py [DIRECTORY]

megatron_u16, megatron_i32: IndexedDatasetBuilder, documents of one and of several sequences, one document empty.
megatron_modes: the same with modes. Everything else of the test is small enough to be written by the test itself.
"""

import os
import sys

import numpy as np
import torch
from megatron.core.datasets.indexed_dataset import IndexedDatasetBuilder

DOCUMENTS = [[[5, 6, 7]], [[1], [2, 3], [4, 4, 4, 4]], [[9]], [[60000, 8]], [[0, 1, 2], [3]]]


def build(prefix, dtype, multimodal=False):
    builder = IndexedDatasetBuilder(prefix + ".bin", dtype=dtype, multimodal=multimodal)
    for document in DOCUMENTS:
        for k, sequence in enumerate(document):
            builder.add_item(torch.tensor(sequence), mode=k) if multimodal else builder.add_item(torch.tensor(sequence))
        builder.end_document()
    builder.finalize(prefix + ".idx")


def main():
    target = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "tokens")
    os.makedirs(target, exist_ok=True)
    build(os.path.join(target, "megatron_u16"), np.uint16)
    build(os.path.join(target, "megatron_i32"), np.int32)
    build(os.path.join(target, "megatron_modes"), np.int64, multimodal=True)


if __name__ == "__main__":
    main()
