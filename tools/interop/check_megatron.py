#!/usr/bin/env python3
"""check_megatron.py: the real megatron-core (0.16.1) reads the .bin and .idx that mldf writes. Needs megatron-core, torch and mldf; not part
of `make test`, whose files megatron-core made once (tests/data/make_tokens.py)."""

import pathlib
import tempfile

import mldf
import numpy as np
from megatron.core.datasets.indexed_dataset import IndexedDataset


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
    print("megatron-core reads what mldf writes")


if __name__ == "__main__":
    main()
