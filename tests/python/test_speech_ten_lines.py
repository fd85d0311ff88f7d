"""What a speech engineer writes, from a folder of FLAC files to a step of training, and features that are stored beside the recordings."""

import os
import subprocess

import mldf
import numpy as np
import pytest

MLDF = os.environ.get("MLDF", "mldf")
WORDS = ["zero", "one two", "three four five", "six", "seven eight nine", "ten"]


@pytest.fixture(scope="module")
def libri(tmp_path_factory):
    """LibriSpeech as it is: speaker/chapter/speaker-chapter-number.flac, spoken by espeak-ng."""
    root = tmp_path_factory.mktemp("libri") / "train-clean-100"
    for i in range(12):
        speaker, chapter = 10 + i % 2, 100 + i % 3
        folder = root / str(speaker) / str(chapter)
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{speaker}-{chapter}-{i:04}"
        spoken = subprocess.run(["espeak-ng", "-s", str(140 + 9 * i), "--stdout", WORDS[i % 6]], check=True, capture_output=True)
        to = ["-r", "16000", "-t", "wav", "-"]
        wav = subprocess.run(["sox", "-D", "-t", "wav", "-", *to], input=spoken.stdout, check=True, capture_output=True)
        flac = ["flac", "-s", "-f", "--ignore-chunk-sizes", "-o", str(folder / f"{name}.flac"), "-"]
        subprocess.run(flac, input=wav.stdout, check=True)
        with open(folder / f"{speaker}-{chapter}.trans.txt", "a") as f:
            f.write(f"{name} {WORDS[i % 6].upper()}\n")
    return root


@pytest.fixture(scope="module")
def train(libri):
    out = libri.parent / "train.mldf"
    mldf.pack(libri, out)
    return out


def test_the_ten_lines(train):
    torch = pytest.importorskip("torch")
    ds = mldf.open(train)
    assert list(ds.schema) == ["audio", "text", "speaker", "chapter"]
    assert ds.schema["audio"].type == "audio_compressed"  # FLAC's frames, nothing re-encoded
    speech = [mldf.DecodeAudio(rate=16000, mono=True), mldf.Speed([0.9, 1.0, 1.1])]
    speech += [mldf.Fbank("kaldi", bins=80), mldf.SpecAugment(), mldf.Pad()]
    letters = {c: i + 1 for i, c in enumerate(" ABCDEFGHIJKLMNOPQRSTUVWXYZ")}
    model = torch.nn.Linear(80, 28)
    pipelines = {"audio": speech, "text": [mldf.Strings()]}
    with mldf.Loader(ds, bucket="audio", budget="6s", shuffle=True, seed=1, output="torch", pipelines=pipelines) as loader:
        seen = []
        for batch in loader:
            n, frames, bins = batch.audio.shape
            assert bins == 80
            assert n * frames <= 600 or n == 1
            assert frames == int(batch.audio_length.max())
            targets = [torch.tensor([letters[c] for c in text]) for text in batch.text]
            loss = torch.nn.functional.ctc_loss(
                model(batch.audio).log_softmax(2).transpose(0, 1),
                torch.cat(targets),
                batch.audio_length,
                torch.tensor([len(t) for t in targets]),
                zero_infinity=True,
            )
            assert torch.isfinite(loss)
            seen += batch.text
    assert sorted(seen) == sorted(w.upper() for w in WORDS * 2)


def test_pieces_for_whisper(train):
    steps = "decode_audio(rate=16000, mono=true) | mel(whisper)"
    with mldf.Loader(train, 8, view="expand(audio, every=30, length=30)", pipelines={"audio": steps}) as loader:
        assert [b.audio.shape for b in loader] == [(8, 80, 3000), (4, 80, 3000)]


@pytest.mark.parametrize("features", ["fbank(kaldi, bins=40)", "mel(torchaudio, bins=40) | log", "fbank | cast(f16)"])
def test_stored_features_equal_computed_ones(train, tmp_path, features):
    steps = f"decode_audio(rate=16000, mono=true) | {features}"
    path = tmp_path / "hybrid.mldf"
    path.write_bytes(train.read_bytes())
    subprocess.run([MLDF, "add-field", str(path), "feature=audio", "--pipeline", steps], check=True, capture_output=True)
    ds = mldf.open(path)
    field = ds.schema["feature"]
    assert field.type == "audio_spectrogram"
    assert field.arguments["pipeline"].startswith("decode_audio(")
    assert field.arguments["rate"] == 16000
    with (
        mldf.Loader(path, 5, pipelines={"audio": [steps, mldf.Pad()], "feature": None}) as computed,
        mldf.Loader(path, 5, pipelines={"feature": [mldf.Pad()], "audio": None}) as stored,
    ):
        for a, b in zip(computed, stored):
            assert np.array_equal(a.audio, b.feature)
            assert np.array_equal(a.audio_length, b.feature_length)
    assert mldf.verify(path).ok
    with mldf.Loader(path, bucket="feature", budget="6s", pipelines={"feature": [mldf.Pad()], "audio": None}) as loader:
        assert sum(len(b.feature) for b in loader) == 12
