"""What a speech recogniser needs of a batch: text as a list of str, lengths in frames and in samples, batches of so many padded seconds."""

import io
import wave

import mldf
import numpy as np
import pytest
from mldf.arguments import budgets

RATES = (16000, 22050, 8000)
FEATURES = "decode_audio(rate=16000, mono=true) | speed([0.9, 1.0, 1.1]) | fbank(kaldi, bins=80) | spec_augment | pad"


def wav(numbers, rate):
    out = io.BytesIO()
    with wave.open(out, "wb") as w:
        w.setparams((1, 2, rate, 0, "NONE", ""))
        w.writeframes(numbers.tobytes())
    return out.getvalue()


@pytest.fixture(scope="module")
def speech(tmp_path_factory):
    path = tmp_path_factory.mktemp("speech") / "speech.mldf"
    rng = np.random.default_rng(0)
    with mldf.Writer(path, {"audio": mldf.Audio(), "text": mldf.Text(), "n": mldf.Int()}) as w:
        for i in range(50):
            rate = RATES[i % 3]
            samples = int(rate * rng.uniform(0.5, 4))
            numbers = rng.integers(-3000, 3000, samples).astype("<i2")
            w.append({"audio": wav(numbers, rate), "text": f"sentence {i} mit Ümlaut" * (i % 3), "n": i})
    return path


@pytest.mark.parametrize("threads", [0, 2])
def test_strings_are_a_list_of_str(speech, threads):
    want = list(mldf.open(speech)["text"])
    got = []
    with mldf.Loader(speech, 7, threads=threads, pipelines={"text": [mldf.Strings()], "audio": None}) as loader:
        for batch in loader:
            assert batch._fields == ("text", "n")
            assert isinstance(batch.text, list)
            assert [want[n] for n in batch.n] == batch.text
            got += batch.text
    assert got == want


def test_strings_beside_torch_callables_and_keys(speech):
    torch = pytest.importorskip("torch")
    upper = [mldf.Strings(), lambda texts: [t.upper() for t in texts]]
    with mldf.Loader(speech, 8, output="torch", pipelines={"text": upper, "audio": None}) as loader:
        batch = next(iter(loader))
    assert isinstance(batch.n, torch.Tensor)
    assert batch.text == [t.upper() for t in list(mldf.open(speech)["text"])[:8]]


def test_strings_of_a_pipeline_text(speech):
    pipelines = "audio: drop\n`my text` = text: truncate(8) | strings"
    with mldf.Loader(speech, 8, pipelines=pipelines) as loader:
        batch = next(iter(loader))
    assert batch["my text"] == [t[:8] for t in list(mldf.open(speech)["text"])[:8]]


def test_strings_that_are_cut_inside_a_character_are_bad_samples(tmp_path):
    with mldf.Writer(tmp_path / "a.mldf", {"text": mldf.Text()}) as w:
        for text in ("abc", "aä", "öbc"):
            w.append({"text": text})
    pipelines = {"text": [mldf.Truncate(2), mldf.Strings()]}
    with mldf.Loader(tmp_path / "a.mldf", 3, pipelines=pipelines, on_error="skip") as loader:
        assert [b.text for b in loader] == [["ab", "ö"]]
        (bad,) = loader.bad_samples()
    assert bad["sample"] == 1
    assert "byte 1 of 2 is not UTF-8 (0xc3)" in bad["message"]
    with mldf.Loader(tmp_path / "a.mldf", 3, pipelines=pipelines) as loader, pytest.raises(mldf.errors.CorruptError):
        next(iter(loader))


def test_strings_of_nulls_are_empty(tmp_path):
    with mldf.Writer(tmp_path / "a.mldf", {"text": mldf.Text(nullable=True)}) as w:
        for text in ("abc", None, "d"):
            w.append({"text": text})
    with mldf.Loader(tmp_path / "a.mldf", 3, pipelines={"text": [mldf.Fill(valid=True), mldf.Strings()]}) as loader:
        batch = next(iter(loader))
    assert batch.text == ["abc", "", "d"]
    assert batch.text_valid.tolist() == [True, False, True]


def test_strings_need_text(speech):
    with pytest.raises(mldf.errors.WrongTypeError, match="text, JSON or bytes"):
        mldf.Loader(speech, 2, pipelines={"n": [mldf.Strings()]})


def test_strings_with_samples_that_python_refuses(tmp_path):
    class Odd(mldf.CustomField):
        type_name = "org.example.speech.odd"

        def encode(self, value):
            return bytes([value])

        def decode(self, data):
            if data[0] == 2:
                raise ValueError("two")
            return data[0]

    mldf.register_field(Odd)
    with mldf.Writer(tmp_path / "a.mldf", {"text": mldf.Text(), "odd": Odd()}) as w:
        for i in range(4):
            w.append({"text": f"t{i}", "odd": i})
    with mldf.Loader(tmp_path / "a.mldf", 4, pipelines={"text": [mldf.Strings()]}, on_error="skip") as loader:
        batch = next(iter(loader))
    assert batch.text == ["t0", "t1", "t3"]


@pytest.mark.parametrize("reference", [False, True])
def test_lengths_in_frames_and_in_samples(speech, reference):
    options = {"samples": True, "pipelines": f"audio: {FEATURES}", "reference": reference}
    waves = f"audio: {FEATURES.split('| fbank')[0]} | pad"
    with mldf.Loader(speech, 5, **options) as loader, mldf.Loader(speech, 5, pipelines=waves) as plain:
        for features, wave_ in zip(loader, plain):
            assert (features.audio_samples == wave_.audio_length).all()  # the same draws: the same waves
            assert (features.audio_length == 1 + (features.audio_samples - 400) // 160).all()


def test_samples_are_not_there_without_a_recording(tmp_path):
    with mldf.Writer(tmp_path / "a.mldf", {"x": mldf.NDArray("float32", (None,))}) as w:
        w.append({"x": np.zeros(3, "f4")})
    with mldf.Loader(tmp_path / "a.mldf", 1, samples=True, pipelines="x: pad") as loader:
        assert next(iter(loader))._fields == ("x", "x_length")


@pytest.mark.parametrize("output", ["fbank(kaldi, bins=80) | pad", "pad", "mel(whisper) | pad(multiple=8)"])
def test_a_budget_in_seconds_counts_padded_seconds(speech, output):
    steps = "decode_audio(rate=16000, mono=true) | speed([0.9, 1.0, 1.1])"
    with mldf.Loader(speech, bucket="audio", budget="20s", shuffle=True, pipelines=f"audio: {steps} | {output}") as loader:
        seen, count, largest = [], 0, 0
        assert "at most 20 seconds of audio" in repr(loader)
        expected = len(loader)
        for batch in loader:
            steps_of = batch.audio.shape[2 if "mel" in output else 1]
            seconds = len(batch.n) * steps_of / (16000 if output == "pad" else 100)
            assert seconds <= 20 or len(batch.n) == 1
            largest, count = max(largest, seconds), count + 1
            seen += batch.n.tolist()
    assert sorted(seen) == list(range(50))
    assert count == expected
    assert largest > 16


def test_a_budget_in_seconds_is_the_budget_in_elements(speech):
    pipelines = "audio: decode_audio(rate=16000, mono=true) | fbank(bins=80) | pad"
    with (
        mldf.Loader(speech, bucket="audio", budget="12.5s", shuffle=True, pipelines=pipelines) as a,
        mldf.Loader(speech, bucket="audio", budget=1250 * 80, shuffle=True, pipelines=pipelines) as b,
    ):
        batches = [(x.n.tolist(), y.n.tolist()) for x, y in zip(a, b)]
        assert all(x == y for x, y in batches)
        taken = iter(a)
        first = [next(taken).n.tolist() for _ in range(3)]
        state = a.state_dict()
        rest = [batch.n.tolist() for batch in taken]
    with mldf.Loader(speech, bucket="audio", budget="12.5s", shuffle=True, pipelines=pipelines, threads=0) as again:
        again.load_state_dict(state)
        assert [batch.n.tolist() for batch in again] == rest
    assert len(first) + len(rest) > 3


@pytest.mark.parametrize("bad", ["", "s", "-1s", "0s", "300", "1e999s", "5m", "nan s", 1.5, True])
def test_what_a_budget_is_not(bad):
    with pytest.raises((mldf.errors.ArgumentError, mldf.errors.WrongTypeError)):
        budgets(bad)


def test_a_budget_in_seconds_needs_a_rate(speech, tmp_path):
    with mldf.Writer(tmp_path / "a.mldf", {"x": mldf.NDArray("float32", (None,))}) as w:
        w.append({"x": np.zeros(3, "f4")})
    with pytest.raises(mldf.errors.ArgumentError, match="no time axis of a known rate"):
        mldf.Loader(tmp_path / "a.mldf", bucket="x", budget="3s", pipelines="x: pad")
    with pytest.raises(mldf.errors.ArgumentError, match="goes with bucket"):
        mldf.Loader(speech, budget="3s", pipelines="audio: decode_audio(rate=16000) | pad")
