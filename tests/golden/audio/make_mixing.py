"""Makes mixing.npz, the reference values of tests/python/test_audio_mixing.py, from the real librosa and torchaudio. Run once; never by the tests.
The packages are those of make.py.

    python tests/golden/audio/make_mixing.py

"in/NAME": float32 at 16 kHz, (t) or (channels, t). "trim/NAME/TOP_DB/FRAME/HOP": [begin, end) that librosa.effects.trim keeps. "noise/SNR":
torchaudio.functional.add_noise of voice and noise. "reverb/ROOM": torchaudio.functional.fftconvolve of voice and room, whole.
"""

from pathlib import Path

import librosa
import numpy as np
import torch
import torchaudio.functional as F

RATE = 16000


def waves():
    rng = np.random.default_rng(5)
    t = np.arange(12000) / RATE
    voice = 0.3 * np.sin(2 * np.pi * 170 * t) * np.clip(np.sin(2 * np.pi * 1.1 * t), 0, 1) + 1e-4 * rng.standard_normal(len(t))
    voice[:3000] *= 1e-3
    voice[-2500:] *= 1e-2
    both = np.stack([voice, np.roll(voice, 1500) * 0.1])
    late = np.zeros(12000)
    late[11000:] = 0.5
    room = rng.standard_normal(5000) * np.exp(-np.arange(5000) / 700)
    room[60] = 9
    return {
        "voice": voice,
        "both": both,
        "late": late,
        "zeros": np.zeros(4000),
        "short": voice[4000:4300],
        "noise": 0.2 * rng.standard_normal(12000),
        "room": room,
        "click": np.eye(1, 100, 3)[0],
        "hall": rng.standard_normal(40000) * np.exp(-np.arange(40000) / 9000),
    }


def main():
    out = {}
    wave = {name: x.astype(np.float32) for name, x in waves().items()}
    for name in ("noise", "room", "hall"):  # fewer bytes in the file
        wave[name] = (np.round(wave[name] * 64) / 64).astype(np.float32)
    for name, x in wave.items():
        out[f"in/{name}"] = x
    for name in ("voice", "both", "late", "zeros", "short"):
        for top_db, frame, hop in ((60, 2048, 512), (30, 2048, 512), (20, 400, 160), (10, 512, 200), (20, 401, 100), (30, 1023, 250)):
            _, kept = librosa.effects.trim(wave[name], top_db=top_db, frame_length=frame, hop_length=hop)
            out[f"trim/{name}/{top_db}/{frame}/{hop}"] = np.asarray(kept, np.int64)
    voice, noise = torch.from_numpy(wave["voice"]), torch.from_numpy(wave["noise"])
    for snr in (-5, 0, 12.5):
        out[f"noise/{snr}"] = F.add_noise(voice, noise, torch.tensor(snr)).numpy()
    for name in ("room", "click", "hall"):
        out[f"reverb/{name}"] = F.fftconvolve(voice.double(), torch.from_numpy(wave[name]).double()).float().numpy()[: 12000 + 100]
    np.savez_compressed(Path(__file__).with_name("mixing.npz"), **out)


if __name__ == "__main__":
    main()
