"""Spectra and what is made from them against the real libraries' values (tests/golden/audio: librosa, torchaudio, Whisper's definition,
kaldi-native-fbank, lhotse), and operations on waves against their definitions in NumPy."""

import pathlib

import numpy as np
import pytest
import run_op

pytestmark = pytest.mark.skipif(not run_op.program(), reason="MLDF names no build with tests/run_op")
GOLDEN = np.load(pathlib.Path(__file__).resolve().parents[1] / "golden" / "audio" / "features.npz")
SIGNALS = ["speech", "noise", "chirp", "silence", "click"]
LIBROSA = "mel(librosa, n_fft=512, hop=256, rate=16000)"

# Powers and magnitudes: within 1e-5 of each frame's greatest. The last word: the axis of the bands.
POWERS = {
    "stft": ("stft", 0),
    "spectrogram": ("spectrogram(win=320, hop=160, power=1)", 0),
    "mel_torchaudio": ("mel(rate=16000)", 0),
    "mel_torchaudio_80": ("mel(bins=80, hop=160, rate=16000)", 0),
    "mel_librosa": ("mel(librosa, rate=16000)", 0),
}
# Logarithms of powers: name: (text, axis of the bands, what one unit of the logarithm is as a factor of the power).
LOGS = {
    "whisper": ("mel(whisper, rate=16000)", 0, 10**4),
    "whisper_large_v3": ("mel(whisper_large_v3, rate=16000)", 0, 10**4),
    "fbank_kaldi": ("fbank(rate=16000)", 1, np.e),
    "fbank_kaldi_23": ("fbank(bins=23, snip=no, rate=16000)", 1, np.e),
    "fbank_torchaudio": ("fbank(bins=40, rate=16000)", 1, np.e),
    "fbank_lhotse": ("fbank(lhotse, rate=16000)", 1, np.e),
    "db_torchaudio": ("mel(bins=80, hop=160, rate=16000) | db(80)", 0, 10**0.1),
    "db_librosa": (LIBROSA + " | db(80, ref=max)", 0, 10**0.1),
}
# What is linear in logarithms: within 1e-4 of the greatest. Between the bands of the chirp that are noise of rounding there is nothing to compare.
LINEAR = {
    "mfcc_torchaudio": ("mel(bins=80, hop=160, rate=16000) | db(80) | mfcc(40)", ["chirp"]),
    "mfcc_librosa": (LIBROSA + " | db(80) | mfcc(20)", []),
    "mfcc_kaldi": ("fbank(bins=23, rate=16000) | mfcc(13, lifter=22)", ["chirp"]),
    "delta_torchaudio": ("mel(bins=80, hop=160, rate=16000) | db | delta", ["chirp"]),
    "delta_librosa": (LIBROSA + " | db(80) | delta(9, interp)", []),
}


def wave(name):
    return GOLDEN[f"in/{name}"].astype(np.float32) / 32768


@pytest.mark.parametrize("signal", SIGNALS)
@pytest.mark.parametrize("name", POWERS)
def test_powers_are_the_libraries(name, signal):
    text, axis = POWERS[name]
    want, got = GOLDEN[f"{name}/{signal}"], run_op.run(text, wave(signal))
    assert got.shape == want.shape and got.dtype == want.dtype
    most = np.abs(want).max(axis, keepdims=True)
    assert (np.abs(got - want) <= 1e-5 * most).all()


@pytest.mark.parametrize("signal", SIGNALS)
@pytest.mark.parametrize("name", LOGS)
def test_logarithms_are_the_libraries(name, signal):
    text, axis, unit = LOGS[name]
    want, got = GOLDEN[f"{name}/{signal}"], run_op.run(text, wave(signal))
    assert got.shape == want.shape and got.dtype == want.dtype
    floored = (want == want.min()) & (np.sum(want == want.min()) > 1)
    heard = want >= want.max(axis, keepdims=True) + np.log(1e-6) / np.log(unit)
    assert heard.any() and (np.abs(got - want) <= 1e-4 * np.maximum(1, np.abs(want)))[heard | floored].all()


@pytest.mark.parametrize("signal", SIGNALS)
@pytest.mark.parametrize("name", LINEAR)
def test_cepstra_and_slopes_are_the_libraries(name, signal):
    text, without = LINEAR[name]
    want, got = GOLDEN[f"{name}/{signal}"], run_op.run(text, wave(signal))
    assert got.shape == want.shape
    if signal not in without:
        assert np.abs(got - want).max() <= 1e-4 * max(1, np.abs(want).max())


@pytest.mark.parametrize("signal", SIGNALS)
@pytest.mark.parametrize("new", [8000, 44100, 22050, 11025, 48000])
def test_resample_is_torchaudio_s(new, signal):
    x, want = wave(signal), GOLDEN[f"resample_{new}/{signal}"]
    got = run_op.run(f"resample({new}, from=16000)", x)
    assert len(got) == -(-len(x) * new // 16000)
    assert np.abs(got[: len(want)] - want).max() <= 2e-7


def test_resample_lengths_are_exact_and_the_same_rate_is_the_same():
    x = wave("noise")
    assert np.array_equal(run_op.run("resample(16000, from=16000)", x), x)
    for n in (0, 1, 2, 440, 441, 442, 883):
        assert len(run_op.run("resample(16000, from=44100)", x[:n])) == -(-n * 160 // 441)
    with pytest.raises(run_op.Refused, match="a filter of"):
        run_op.run("resample(999983, from=1000003)", x)


def test_preemphasis_is_torchaudio_s():
    for signal in SIGNALS:
        assert np.abs(run_op.run("preemphasis", wave(signal)) - GOLDEN[f"preemphasis/{signal}"]).max() <= 1e-7


def test_short_recordings():
    x = wave("noise")
    with pytest.raises(run_op.Refused, match="at least 201"):
        run_op.run("mel(rate=16000)", x[:200])
    assert run_op.run("mel(rate=16000)", x[:201]).shape == (128, 2)
    assert run_op.run("fbank(rate=16000)", x[:399]).shape == (0, 80)
    assert run_op.run("fbank(rate=16000)", x[:400]).shape == (1, 80)
    assert run_op.run("fbank(lhotse, rate=16000)", x[:81]).shape == (1, 80)
    assert run_op.run("mel(librosa, rate=16000)", x[:1]).shape == (128, 1)
    assert run_op.run("mel(whisper, rate=16000)", x[:319]).shape == (80, 1)


@pytest.mark.parametrize(
    "text, message",
    [
        ("mel", "no sampling rate"),
        ("mel(whisper, rate=8000)", "Whisper hears 16000 Hz"),
        ("mel(whisper, bins=40, rate=16000)", "fixes bins"),
        ("mel(n_fft=401, rate=16000)", "products of 2, 3 and 5"),
        ("mel(win=500, rate=16000)", "more than n_fft"),
        ("mel(high=9000, rate=16000)", "Hz at a rate of"),
        ("fbank(shift=0.01, rate=16000)", "one every"),
        ("mfcc", "spectrogram"),
        ("mel(rate=16000) | mfcc(200)", "200 coefficients of 128 bands"),
        ("mel(rate=16000) | delta(4)", "must be odd"),
        ("gain([3, 1])", "the first is the least"),
        ("channels([1])", "no channel 1"),
    ],
)
def test_mistakes_are_named(text, message):
    with pytest.raises(run_op.Refused, match=message):
        run_op.run(text, wave("noise"))


def test_spec_augment_masks_what_it_drew():
    x = np.random.default_rng(5).normal(3, 1, (300, 80)).astype(np.float32)
    widths, starts = [], []
    for seed in range(300):
        got = run_op.run("spec_augment(1, 100, 1, 27, value=zero)", x, seed=seed)
        times, freqs = (got == 0).all(1), (got == 0).all(0)
        assert np.array_equal(got, np.where(times[:, None] | freqs[None], 0, x))
        assert times.sum() < 100 and freqs.sum() < 27
        for mask in (times, freqs):
            assert np.abs(np.diff(mask.astype(int))).sum() <= 2  # one stretch
        widths.append(times.sum())
        starts.append(times.argmax() if times.any() else np.nan)
    assert 40 < np.mean(widths) < 59  # ⌊u · 100⌋
    assert 100 < np.nanmean(starts) < 150  # u · (300 - v)


def test_spec_augment_fills_with_the_mean_and_holds_its_part():
    x = np.random.default_rng(6).normal(3, 1, (50, 20)).astype(np.float32)
    for seed in range(50):
        got = run_op.run("spec_augment(2, 1000, 0, 0, p=0.1)", x, seed=seed)
        changed = (got != x).all(1)
        assert changed.sum() <= 2 * 4 and np.allclose(got[changed], x.mean(), atol=1e-5)
    assert np.array_equal(run_op.run("spec_augment(0, 9, 0, 9)", x), x)


def test_cmvn():
    x = np.random.default_rng(7).normal(3, 2, (50, 20)).astype(np.float32)
    want = x - x.mean(0)
    assert np.abs(run_op.run("cmvn(variance=false)", x) - want).max() < 1e-5
    assert np.abs(run_op.run("cmvn", x) - want / x.std(0)).max() < 1e-5
    assert np.array_equal(run_op.run("cmvn", np.ones((5, 3), np.float32)), np.zeros((5, 3), np.float32))


def test_log_bases():
    x = np.array([0, 1e-12, 0.5, 1, 2, 1000, 1e30], np.float32)
    for base, log in (("e", np.log), ("two", np.log2), ("ten", np.log10)):
        want = log(np.maximum(x, 1e-10).astype(np.float64))
        assert np.abs(run_op.run(f"log(base={base})", x) - want).max() < 1e-5


def test_levels():
    x = wave("speech")
    assert np.abs(run_op.run("normalize_wave", x)).max() == pytest.approx(1, abs=1e-6)
    got = run_op.run("normalize_wave(rms, db=-20)", x)
    assert np.sqrt((got.astype(np.float64) ** 2).mean()) == pytest.approx(0.1, rel=1e-5)
    want = (x - x.mean(dtype=np.float64)) / np.sqrt(x.var(dtype=np.float64) + 1e-7)
    assert np.abs(run_op.run("normalize_wave(standard)", x) - want).max() < 1e-5
    assert np.array_equal(run_op.run("normalize_wave", np.zeros(9, np.float32)), np.zeros(9, np.float32))
    assert np.allclose(run_op.run("gain(-20)", x), x * 0.1, atol=1e-7)
    factors = [(run_op.run("gain([-6, 6])", x, seed=s) / np.where(x == 0, 1, x))[np.abs(x).argmax()] for s in range(60)]
    assert 0.5 <= min(factors) < 0.6 and 1.7 < max(factors) <= 2


def test_noise_has_its_strength():
    x = wave("speech")
    for snr in (0, 20):
        added = run_op.run(f"noise({snr})", x, seed=1) - x
        ratio = 10 * np.log10((x.astype(np.float64) ** 2).mean() / (added.astype(np.float64) ** 2).mean())
        assert ratio == pytest.approx(snr, abs=0.3)
    assert np.array_equal(run_op.run("noise(0, p=0)", x), x)
    assert np.array_equal(run_op.run("noise(0)", x, seed=4), run_op.run("noise(0)", x, seed=4))
    assert run_op.run("dither(2)", np.zeros(4000, np.float32)).std() * 32768 == pytest.approx(2, rel=0.1)


def test_speed_is_resampling_from_another_rate():
    x = wave("speech")
    lengths = {len(run_op.run("speed(rate=16000)", x, seed=s)) for s in range(20)}
    assert lengths == {len(x), -(-len(x) * 10 // 9), -(-len(x) * 10 // 11)}
    assert np.array_equal(run_op.run("speed(0.5, rate=16000)", x), run_op.run("resample(16000, from=8000)", x))
