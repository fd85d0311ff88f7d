"""Makes features.npz, the reference values of tests/python/test_audio_features.py, from the real libraries. Run once; never by the tests.

    pip install --no-deps torchaudio==2.11.0 && rm -f .../torchaudio/lib/*.so     (its CUDA library does not load beside torch 2.13.0 for CPUs)
    pip install torch==2.13.0 librosa==0.11.0 kaldi-native-fbank==1.22.4 lhotse==1.33.0; apt-get install espeak-ng
    python tests/golden/audio/make.py

Inputs are "in/NAME" (i16, 16 kHz, divided by 32768), results "FEATURE/NAME". Whisper's own package is not needed: its definition
(whisper/audio.py, log_mel_spectrogram) is the ten lines of `whisper` below.
"""

import io
import subprocess
import warnings
from pathlib import Path

import kaldi_native_fbank as knf
import librosa
import lhotse
import numpy as np
import scipy.io.wavfile
import torch
import torchaudio
import torchaudio.functional as F
import torchaudio.transforms as T

RATE = 16000
COUNT = 3200


def speech():
    said = subprocess.run(["espeak-ng", "-v", "en", "-s", "180", "--stdout", "seven"], capture_output=True, check=True)
    rate, wave = scipy.io.wavfile.read(io.BytesIO(said.stdout))
    wave = F.resample(torch.from_numpy(wave / 32768.0), rate, RATE).numpy()
    start = int(np.argmax(np.abs(wave) > 0.02))
    return wave[start : start + COUNT]


def signals():
    t = np.arange(COUNT) / RATE
    click = np.zeros(COUNT)
    click[COUNT // 3] = 1
    waves = {
        "speech": speech(),
        "noise": np.random.default_rng(17).normal(0, 0.1, COUNT),
        "chirp": 0.5 * np.sin(2 * np.pi * (100 * t + 12000 * t * t)),
        "silence": np.zeros(COUNT),
        "click": click,
    }
    return {name: np.clip(np.rint(w * 32768), -32768, 32767).astype(np.int16) for name, w in waves.items()}


def whisper(x, bands):
    filters = torch.from_numpy(librosa.filters.mel(sr=16000, n_fft=400, n_mels=bands))
    stft = torch.stft(x, 400, 160, window=torch.hann_window(400), return_complex=True)
    magnitudes = stft[..., :-1].abs() ** 2
    log = torch.clamp(filters @ magnitudes, min=1e-10).log10()
    log = torch.maximum(log, log.max() - 8.0)
    return (log + 4.0) / 4.0


def kaldi(x, what, **options):
    config = knf.FbankOptions() if what == "fbank" else knf.MfccOptions()
    config.frame_opts.dither = 0
    config.frame_opts.samp_freq = RATE
    for key, value in options.items():
        if key == "bands":
            config.mel_opts.num_bins = value
        elif key == "snip":
            config.frame_opts.snip_edges = value
        else:
            setattr(config, key, value)
    computer = knf.OnlineFbank(config) if what == "fbank" else knf.OnlineMfcc(config)
    computer.accept_waveform(RATE, (x * 32768).tolist())
    computer.input_finished()
    return np.stack([computer.get_frame(i) for i in range(computer.num_frames_ready)])


def features(x):
    t = torch.from_numpy(x)
    mel = T.MelSpectrogram(RATE)(t)
    # Of 128 bands the filters are off by 1e-5: torch.linspace adds its float steps in an order that depends on the vector size.
    mel80 = T.MelSpectrogram(RATE, n_fft=400, hop_length=160, n_mels=80)(t)
    slaney = librosa.feature.melspectrogram(y=x, sr=RATE, n_fft=512, hop_length=256)
    yield "stft", torch.stft(t, 400, 200, window=torch.hann_window(400), return_complex=True)
    yield "spectrogram", T.Spectrogram(n_fft=400, win_length=320, hop_length=160, power=1)(t)
    yield "mel_torchaudio", mel
    yield "mel_torchaudio_80", mel80
    yield "mel_librosa", librosa.feature.melspectrogram(y=x, sr=RATE)
    yield "whisper", whisper(t, 80)
    yield "whisper_large_v3", whisper(t, 128)
    yield "fbank_kaldi", kaldi(x, "fbank", bands=80)
    yield "fbank_kaldi_23", kaldi(x, "fbank", bands=23, snip=False)
    yield "fbank_torchaudio", torchaudio.compliance.kaldi.fbank(t[None] * 32768, num_mel_bins=40)
    yield "fbank_lhotse", lhotse.Fbank().extract(x, RATE)
    yield "db_torchaudio", T.AmplitudeToDB("power", top_db=80)(mel80)
    yield "db_librosa", librosa.power_to_db(slaney, ref=np.max)
    yield "mfcc_torchaudio", T.MFCC(RATE, melkwargs={"n_fft": 400, "hop_length": 160, "n_mels": 80})(t)
    yield "mfcc_librosa", librosa.feature.mfcc(y=x, sr=RATE, n_fft=512, hop_length=256)
    yield "mfcc_kaldi", kaldi(x, "mfcc", use_energy=False)
    yield "delta_torchaudio", F.compute_deltas(T.AmplitudeToDB()(mel80))
    yield "delta_librosa", librosa.feature.delta(librosa.power_to_db(slaney))
    yield "preemphasis", F.preemphasis(t)
    # The transform computes its filter in double; functional.resample does it in float and is off by 1e-5.
    for new in (8000, 44100, 22050, 11025, 48000):
        yield f"resample_{new}", T.Resample(RATE, new)(t)[:2000]
    yield "resample_from_44100", T.Resample(44100, RATE)(t)


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    out = {}
    for name, wave in signals().items():
        out[f"in/{name}"] = wave
        for feature, value in features(wave.astype(np.float32) / 32768):
            value = np.asarray(value)
            out[f"{feature}/{name}"] = value.astype(np.complex64 if np.iscomplexobj(value) else np.float32)
    np.savez_compressed(Path(__file__).with_name("features.npz"), **out)


if __name__ == "__main__":
    main()
