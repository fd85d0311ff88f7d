#!/usr/bin/env python3
"""tokenize_text.py MLDF FOLDER [MEGABYTES]: text into tokens, `mldf pack` against datatrove's way of doing it.

FOLDER has texts (/usr/share/common-licenses). A byte-level BPE of 1000 ids is trained on them; the texts, repeated up
to MEGABYTES (100), are JSON lines. Both sides use the same tokenizer.json and leave special strings as text. The loop
is that of datatrove's tokenizer step, restated: .ds and .ds.index. The ids are compared. With gigatoken installed,
`python3 -m mldf.tokenize` uses it.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

import mldf
import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers


def train(texts, path):
    """A small vocabulary of our own: no network."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer, bpe.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=1000, special_tokens=["<|endoftext|>"], initial_alphabet=alphabet, show_progress=False
    )
    bpe.train_from_iterator(texts, trainer)
    bpe.save(str(path))


def loop(source, tokenizer, out):
    """Batches of 1000 documents, ids as u16 one after the other, ends as u64."""
    bpe = Tokenizer.from_file(str(tokenizer))
    bpe.encode_special_tokens = True
    ends, total = [], 0
    with open(out, "wb") as target, open(source, encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
        for at in range(0, len(texts), 1000):
            for encoding in bpe.encode_batch(texts[at : at + 1000], add_special_tokens=False):
                ids = [*encoding.ids, 0]
                target.write(np.array(ids, np.uint16).tobytes())
                total += len(ids)
                ends.append(total)
    np.array(ends, np.uint64).tofile(f"{out}.index")


def main():
    """Both, once each, in turns."""
    command, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    most = int(sys.argv[3] if len(sys.argv) > 3 else 100) * 1_000_000
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.iterdir()) if path.is_file()]
    parts = [text[i : i + 6000] for text in texts for i in range(0, len(text), 6000)]
    with tempfile.TemporaryDirectory() as place:
        source, tokenizer, out = (pathlib.Path(place) / name for name in ("t.jsonl", "tokenizer.json", "t.mldf"))
        train(texts, tokenizer)
        written = 0
        with open(source, "w", encoding="utf-8") as target:
            while written < most:
                target.writelines(json.dumps({"text": part}) + "\n" for part in parts)
                written += sum(map(len, parts))
        program = f"exec:'{sys.executable}' -m mldf.tokenize {tokenizer}"
        words = [command, "pack", str(source), "--text", "text=tokens", "--tokenizer", program, "--eos", "-o", str(out)]
        began = time.monotonic()
        subprocess.run([*words, "-q", "-j", "2"], check=True)
        ours = time.monotonic() - began
        began = time.monotonic()
        loop(source, tokenizer, f"{place}/t.ds")
        theirs = time.monotonic() - began
        ids = np.concatenate([sample.tokens for sample in mldf.open(out)])
        same = np.array_equal(ids, np.fromfile(f"{place}/t.ds", np.uint16))
        print(
            f"{written / 1e6:.0f} MB: mldf pack {ours:.2f} s, loop {theirs:.2f} s: {theirs / ours:.2f}x; same ids: {same}"
        )


if __name__ == "__main__":
    main()
