#!/usr/bin/env python3
"""check_megatron.py: the real megatron-core (0.16.1) reads the .bin and .idx that mldf writes, and mldf those that it builds. Needs megatron-core, torch and mldf; not part
of `make test`, whose files megatron-core made once (tests/data/make_tokens.py)."""

import pathlib
import tempfile

import mldf
import numpy as np
import torch
from megatron.core.datasets.indexed_dataset import IndexedDataset, IndexedDatasetBuilder


def main():
    rng = np.random.default_rng(2)
    rows = [rng.integers(0, 70000, n) for n in (3, 0, 500, 1)]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        mldf.write(folder / "a.mldf", [{"tokens": r} for r in rows], {"tokens": mldf.Tokens(70000)})
        mldf.convert(folder / "a.mldf", folder / "b.idx")
        data = IndexedDataset(str(folder / "b"))
        assert len(data) == 4 and data.document_indices.tolist() == [0, 1, 2, 3, 4]
        for i, row in enumerate(rows):
            assert data[i].tolist() == row.tolist(), i
        for dtype in (np.uint8, np.uint16, np.int32, np.int64):
            top = min(np.iinfo(dtype).max, 70000)
            texts = [rng.integers(0, top, n) for n in (5, 1, 300)]
            builder = IndexedDatasetBuilder(str(folder / "c.bin"), dtype=dtype)
            for text in texts:
                builder.add_item(torch.from_numpy(text))
                builder.end_document()
            builder.finalize(str(folder / "c.idx"))
            for backend in ("map", "read"):
                built = mldf.open(folder / "c.idx", backend=backend)
                assert [np.asarray(s.tokens).tolist() for s in built] == [t.tolist() for t in texts], dtype
    print("megatron-core reads what mldf writes, and mldf what megatron-core builds")


if __name__ == "__main__":
    main()
