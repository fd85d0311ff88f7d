#!/usr/bin/env python3
"""check_datatrove.py: mldf reads the .ds that the real datatrove (0.10) writes, and datatrove's own dataset gives the same windows of it; it writes the same bytes, index,
losses and metadata, and datatrove's dataset and merger take them. Needs datatrove, torch and
mldf; not part of `make test`."""

import pathlib
import tempfile

import mldf
import numpy as np
from datatrove.io import get_datafolder
from datatrove.pipeline.tokens.tokenizer import TokenizedFile
from datatrove.utils.dataset import DatatroveFileDataset


def check(folder, size, top, loss):
    rng = np.random.default_rng(size)
    texts = [rng.integers(0, top, n) for n in (3, 40, 1, 500, 7)]
    masks = [rng.integers(0, 2, len(t)).astype(bool) for t in texts]
    name = f"{size}_{loss}.ds"
    file = TokenizedFile(
        get_datafolder(str(folder)), name, save_loss_metadata=loss, tokenizer_name_or_path="gpt2", save_final_metadata=True, token_size=size
    )
    for text, mask in zip(texts, masks):
        file.write(text.tolist(), mask if loss else None)
    file.close()
    file.write_final_metadata()
    for backend in ("map", "read"):
        data = mldf.open(folder / name, backend=backend, format="datatrove", dtype=f"u{8 * size}")
        documents = data.documents(0, "tokens") if len(data) == 1 and len(texts) > 1 else [data[i].tokens for i in range(len(data))]
        assert [np.asarray(d).tolist() for d in documents] == [t.tolist() for t in texts]
        if loss:
            stored = np.concatenate([np.asarray(data[i].loss_mask) for i in range(len(data))])
            assert stored.astype(bool).tolist() == np.concatenate(masks).tolist()
    theirs = DatatroveFileDataset(str(folder / name), seq_len=15, token_size=size)
    with mldf.Loader(data, 1, view="packed(tokens, 16, algorithm=concat, pad=0)", fields=["tokens"]) as loader:
        ours = [b.tokens[0].tolist() for b in loader]
    their = [list(map(int, theirs[i]["input_ids"])) for i in range(len(theirs))]
    assert len(their) >= 30 and ours[: len(their)] == their, (ours[:2], their[:2])
    fields = {"tokens": mldf.Tokens(top, tokenizer="gpt2")} | ({"loss_mask": mldf.NDArray("bool", (None,), along="tokens")} if loss else {})
    mldf.write(folder / "a.mldf", [{"tokens": t} | ({"loss_mask": m} if loss else {}) for t, m in zip(texts, masks)], fields, overwrite=True)
    again = folder / f"again_{name}"
    mldf.convert(folder / "a.mldf", again)
    for ending in ("", ".index", ".metadata", *([".loss"] if loss else [])):
        want, got = ((path.parent / f"{path.name}{ending}").read_bytes() for path in (folder / name, again))
        assert want == got, (name, ending, want[:80], got[:80])
    own = DatatroveFileDataset(str(again), seq_len=15, token_size=size)
    assert [list(map(int, own[i]["input_ids"])) for i in range(len(own))] == their


def main():
    with tempfile.TemporaryDirectory() as name:
        for size, top in ((2, 60000), (4, 100000)):
            for loss in (False, True):
                check(pathlib.Path(name), size, top, loss)
    print("mldf reads what datatrove writes, gives the same sequences as its dataset, and writes the same files")


if __name__ == "__main__":
    main()
