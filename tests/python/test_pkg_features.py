"""Features of recordings through the loader: pieces of what was resampled are pieces of the whole, lengths are known
without decoding, and every way of running a plan gives the same bits."""

import warnings

import mldf
import numpy as np
import pytest

LENGTHS = (24000, 8001, 16000, 4410, 40000, 12345)
PLANS = [{}, {"reference": True}, {"isa": "portable"}, {"threads": 0}, {"threads": 3}]
CHAINS = [
    "decode_audio(mono=true) | mel(torchaudio, bins=80, hop=160) | log | pad",
    "decode_audio | resample(16000) | window(0.4, random, pad) | mel(whisper_large_v3)",
    "decode_audio(mono=true) | speed | fbank(kaldi) | cmvn | spec_augment | pad",
    "window(0.3, random, short=pad) | resample(8000) | fbank(lhotse, bins=23) | mfcc(13, lifter=22) | delta | pad",
    "normalize_wave(rms) | gain([-6, 6]) | noise([5, 20]) | dither | preemphasis | spectrogram(512) | db(80) | pad",
    "resample(11025) | window(0.2, random, pad) | stft",
    "mel(librosa) | window(samples=20, at=random, short=pad) | db(80, ref=max)",
]


def made(path, rates=(22050,), channels=1, seed=1):
    rng = np.random.default_rng(seed)
    waves = [(rng.normal(0, 0.1, (n, channels)) * 32768).astype(np.int16) for n in LENGTHS]
    with mldf.Writer(path, {"a": mldf.Audio()}) as w:
        for i, x in enumerate(waves):
            w.append({"a": mldf_wav(x, rates[i % len(rates)])})
    return [(x.astype(np.float32) / 32768).T for x in waves]


def mldf_wav(x, rate):
    import io
    import wave

    out = io.BytesIO()
    with wave.open(out, "wb") as w:
        w.setparams((x.shape[1], 2, rate, 0, "NONE", ""))
        w.writeframes(x.tobytes())
    return out.getvalue()


def values(path, text, backend="map", batch_size=1, **options):
    out = []
    with mldf.open(path, backend=backend) as ds, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with mldf.Loader(ds, batch_size=batch_size, pipelines={"a": text}, seed=5, **options) as loader:
            for b in loader:
                out += [{n: np.array(v) for n, v in zip(b._fields, b)}]
    return out


def whole(path, text):
    """Samples as they come out, each by itself."""
    return [b["a"][0] for b in values(path, text + " | pad")]


@pytest.mark.parametrize(
    ("text", "channels"),
    [(text, n) for text in CHAINS for n in (1, 2) if n == 1 or "whisper" not in text],  # Whisper hears one channel
)
def test_every_plan_gives_the_same_bits(tmp_path, text, channels):
    path = tmp_path / "x.mldf"
    made(path, channels=channels)
    want = values(path, text, batch_size=4)
    assert len(want) == 2
    for plan in PLANS:
        for backend in ("map", "read"):
            got = values(path, text, backend, batch_size=4, **plan)
            for x, y in zip(want, got):
                assert x.keys() == y.keys()
                assert all(x[n].dtype == y[n].dtype and x[n].tobytes() == y[n].tobytes() for n in x), (plan, backend)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("rate", [16000, 48000, 7350, 22050])
@pytest.mark.parametrize("way", ["decode_audio | resample({})", "decode_audio(rate={})"])
def test_a_window_of_what_was_resampled_is_its_slice(tmp_path, way, rate, channels):
    path = tmp_path / "x.mldf"
    made(path, channels=channels)
    text = way.format(rate)
    every = whole(path, text)
    for n, x in zip(LENGTHS, every):
        assert x.shape[-1] == -(-n * rate // 22050)
    rng = np.random.default_rng(rate)
    for _ in range(6):
        start, count = int(rng.integers(0, 3000)), int(rng.integers(1, 900))
        got = values(path, f"{text} | window(samples={count}, start={start}, short=pad)")
        for x, b in zip(every, got):
            want = np.zeros((*x.shape[:-1], count), np.float32)
            part = x[..., start : start + count]
            want[..., : part.shape[-1]] = part
            assert np.array_equal(b["a"][0], want)


def test_a_window_of_what_was_resampled_reads_its_own_samples(tmp_path):
    path = tmp_path / "x.mldf"
    with mldf.Writer(path, {"a": mldf.Audio(rate=44100)}) as w:
        for _ in range(4):
            w.append({"a": np.zeros(44100 * 60, np.int16)})
    for text in ("decode_audio(rate=16000)", "resample(16000)", "resample(48000) | resample(16000) | speed([0.9])"):
        with mldf.open(path, backend="read") as ds:
            loader = mldf.Loader(ds, 2, pipelines={"a": f"{text} | window(2, random)"}, seed=1)
            assert all(b.a.shape == (2, 32000) for b in loader)
            assert 4 * 2 * 44100 * 1.7 < loader.stats().bytes_read < 4 * 2 * 44100 * 2.1


def test_a_window_in_front_cuts_first(tmp_path):
    path = tmp_path / "x.mldf"
    waves = made(path)
    cut = [np.ascontiguousarray(x[:, 700:3700]) for x in waves]
    other = tmp_path / "cut.mldf"
    with mldf.Writer(other, {"a": mldf.Audio(rate=22050)}) as w:
        for x in cut:
            w.append({"a": x.T})
    want = whole(other, "decode_audio | resample(16000) | fbank")
    got = whole(path, "window(samples=3000, start=700) | resample(16000) | fbank")
    assert all(np.array_equal(x, y) for x, y in zip(want, got))


def test_recordings_of_several_rates_become_one(tmp_path):
    path = tmp_path / "x.mldf"
    rates = (22050, 44100, 16000)
    made(path, rates=rates)
    with pytest.raises(mldf.Error, match="rate=n"):
        values(path, "decode_audio | pad")
    got = values(path, "decode_audio(rate=16000) | pad", batch_size=6)[0]
    assert got["a_length"].tolist() == [-(-n * 16000 // rates[i % 3]) for i, n in enumerate(LENGTHS)]
    for i, rate in enumerate(rates):
        alone = tmp_path / f"{rate}.mldf"
        made(alone, rates=(rate,))
        want = whole(alone, "decode_audio | resample(16000)")[i]
        assert np.array_equal(got["a"][i, : len(want)], want) and not got["a"][i, len(want) :].any()


def test_lengths_are_those_of_the_values(tmp_path):
    path = tmp_path / "x.mldf"
    made(path)
    for text in ("speed | fbank", "resample(16000) | mel(torchaudio)", "mel(librosa)"):
        every = values(path, f"{text} | pad")
        together = values(path, f"{text} | pad", batch_size=6)[0]
        axis = 0 if "fbank" in text else 1
        for i, b in enumerate(every):
            assert b["a"][0].shape[axis] == b["a_length"][0] == together["a_length"][i]
            got = np.take(together["a"][i], range(b["a_length"][0]), axis)
            assert np.array_equal(got, b["a"][0])


def test_buckets_and_budgets_count_frames(tmp_path):
    path = tmp_path / "x.mldf"
    made(path)
    with mldf.open(path) as ds:
        loader = mldf.Loader(ds, pipelines={"a": "fbank | pad"}, bucket="a", budget=400, shuffle=True, seed=3)
        seen = 0
        for b in loader:
            assert b.a.shape[2] == 80 and b.a.shape[0] * b.a.shape[1] <= 400
            seen += len(b.a)
    assert seen == len(LENGTHS)


def test_shapes_of_the_guide(tmp_path):
    path = tmp_path / "x.mldf"
    made(path, rates=(44100, 16000))
    long = values(path, "decode_audio(rate=16000, mono=true) | window(30, pad) | mel(whisper)", batch_size=2)
    assert long[0]["a"].shape == (2, 80, 3000) and long[0]["a"].dtype == np.float32
    with mldf.open(path) as ds:
        steps = [mldf.DecodeAudio(rate=16000, mono=True), mldf.Speed([0.9, 1.0, 1.1]), mldf.Fbank("kaldi", bins=80)]
        b = next(iter(mldf.Loader(ds, 3, pipelines={"a": [*steps, mldf.SpecAugment(), mldf.Pad()]})))
        assert b.a.shape[2] == 80 and b.a.shape[1] == max(b.a_length)


def test_short_recordings_are_bad_samples(tmp_path):
    path = tmp_path / "x.mldf"
    with mldf.Writer(path, {"a": mldf.Audio(rate=16000)}) as w:
        for n in (4000, 150, 3000):
            w.append({"a": np.ones(n, np.int16)})
    with pytest.raises(mldf.Error, match="at least 201 are needed"):
        values(path, "mel(torchaudio) | pad", batch_size=3)
    assert [len(b["a"]) for b in values(path, "mel(torchaudio) | pad", batch_size=3, on_error="skip")] == [2]
