"""A recogniser of spoken digits: espeak-ng speaks them, flac packs them, mldf loads them, a small network learns them.

    python digits.py [FOLDER]

Twelve voices at several speeds and pitches speak ten words; the last three voices are kept for the test. The recordings are FLAC files in one
folder for each word, packed as they are; their features are made while the network trains, at changing speeds.
"""

import pathlib
import subprocess
import sys
import tempfile

import mldf
import torch

WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
VOICES = ["en", "en-us", "en-gb-scotland", "en-gb-x-rp", "en-029", "en+f2", "en+m3", "en-us+f4", "en+m7", "en+f1", "en-us+m2", "en+m5"]
TEST = 3  # of the voices


def speak(folder, voices):
    """FOLDER/WORD/NAME.flac for every word, voice and manner."""
    for v, voice in enumerate(voices):
        for k, (speed, pitch) in enumerate([(140, 50), (175, 35), (200, 60)]):
            for word in WORDS:
                (folder / word).mkdir(parents=True, exist_ok=True)
                said = ["espeak-ng", "-v", voice, "-s", str(speed), "-p", str(pitch), "--stdout", word]
                wav = subprocess.run(said, check=True, capture_output=True).stdout
                out = folder / word / f"{v:02}-{k}.flac"
                subprocess.run(["flac", "--totally-silent", "-f", "--ignore-chunk-sizes", "-o", str(out), "-"], input=wav, check=True)


def batches(path, train):
    steps = "decode_audio(rate=16000, mono=true)"
    if train:
        steps += " | speed([0.9, 1.0, 1.1])"
    steps += " | window(1.2, short=pad) | fbank(kaldi, bins=40) | cmvn"
    return mldf.Loader(path, 32, shuffle=train, seed=1, output="torch", pipelines={"audio": steps})


def network():
    def block(inner, outer):
        return [torch.nn.Conv1d(inner, outer, 5, padding=2), torch.nn.BatchNorm1d(outer), torch.nn.ReLU(), torch.nn.MaxPool1d(2)]

    return torch.nn.Sequential(
        *block(40, 64), *block(64, 64), *block(64, 96), torch.nn.AdaptiveAvgPool1d(1), torch.nn.Flatten(), torch.nn.Linear(96, 10)
    )


def main(folder):
    for name, voices in (("train", VOICES[:-TEST]), ("test", VOICES[-TEST:])):
        speak(folder / name, voices)
        mldf.pack(folder / name, folder / f"{name}.mldf", overwrite=True)
    torch.manual_seed(0)
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
    with batches(folder / "train.mldf", True) as loader:
        for _ in range(12):
            model.train()
            for batch in loader:
                loss = torch.nn.functional.cross_entropy(model(batch.audio.transpose(1, 2)), batch.label)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    model.eval()
    right = count = 0
    with torch.no_grad(), batches(folder / "test.mldf", False) as loader:
        for batch in loader:
            right += int((model(batch.audio.transpose(1, 2)).argmax(1) == batch.label).sum())
            count += len(batch.label)
    print(f"{right} of {count} digits of voices that were not heard before: {right / count:.0%}")
    return right / count


if __name__ == "__main__":
    if len(sys.argv) > 1:
        accuracy = main(pathlib.Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as made:
            accuracy = main(pathlib.Path(made))
    sys.exit(0 if accuracy > 0.8 else 1)
