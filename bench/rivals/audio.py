#!/usr/bin/env python3
"""Log-mel features of recordings, mldf against torchaudio on one thread each, in the same run.

    cmake --build build/release --target mldf_python && cmake --install build/release --component python --prefix /tmp/mldf-release
    PYTHONPATH=/tmp/mldf-release python bench/rivals/audio.py [rounds]

Needs torch and torchaudio (tests/golden/audio/make.py says how they are installed together). Both begin with the same 16-bit samples in memory: torchaudio
with tensors, mldf with a file in the page cache, read by a loader without threads. The two alternate; CPU time, medians of the rounds, and the median
of the rounds' ratios.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

import mldf
import numpy as np
import torch
import torchaudio

RATE, SECONDS, COUNT = 16000, 10, 64


def rival(name, waves):
    if name == "log-mel 80":
        mel = torchaudio.transforms.MelSpectrogram(RATE, n_fft=400, hop_length=160, n_mels=80)
        return lambda: [torch.log(torch.clamp(mel(w.float() / 32768), min=1e-10)) for w in waves]
    if name == "fbank 80":
        return lambda: [torchaudio.compliance.kaldi.fbank(w.float()[None], num_mel_bins=80) for w in waves]
    change = torchaudio.transforms.Resample(44100, RATE)
    return lambda: [change(w.float() / 32768) for w in waves]


OURS = {
    "log-mel 80": (RATE, "mel(torchaudio, bins=80, hop=160) | log"),
    "fbank 80": (RATE, "fbank(kaldi)"),
    "resample 44.1 to 16 kHz": (44100, "resample(16000)"),
}


def ours(path, text):
    loader = mldf.Loader(path, 1, pipelines={"a": text}, threads=0)

    def run():
        for b in loader:
            np.asarray(b.a)

    return run


def timed(work):
    start = time.process_time()
    work()
    return (time.process_time() - start) * 1000 / COUNT


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    torch.set_num_threads(1)
    rng = np.random.default_rng(1)
    print(f"{'':24}   torchaudio        mldf   times   (CPU ms for {SECONDS} s, medians of {rounds})")
    with tempfile.TemporaryDirectory() as folder:
        for name, (rate, text) in OURS.items():
            waves = [(rng.normal(0, 0.1, rate * SECONDS) * 32768).astype(np.int16) for _ in range(COUNT)]
            path = Path(folder) / "x.mldf"
            with mldf.Writer(path, {"a": mldf.Audio(rate=rate)}, overwrite=True) as w:
                for x in waves:
                    w.append({"a": x})
            other, own = rival(name, [torch.from_numpy(x) for x in waves]), ours(path, text)
            timed(other), timed(own)
            pairs = [(timed(other), timed(own)) for _ in range(rounds)]
            a, b = (statistics.median(p[i] for p in pairs) for i in (0, 1))
            ratio = statistics.median(x / y for x, y in pairs)
            print(f"{name:24} {a:12.3f} {b:11.3f} {ratio:7.2f}")


if __name__ == "__main__":
    main()
