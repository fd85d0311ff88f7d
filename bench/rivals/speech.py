#!/usr/bin/env python3
"""The audio goals in one run: mldf against what people use, on the same recordings, alternating; medians of the rounds.

    make bench-audio            which is: bench/rivals/audio_setup.sh FOLDER build/release
    python bench/rivals/speech.py [--markdown] [rounds] [row ...]

Needs torch, torchaudio, soundfile, librosa, lhotse, and torchcodec with FFmpeg's libraries (audio_setup.sh installs them); flac, lame and opusenc make
the files. A rival that is not installed is left out, and the table says so. By the clock and by CPU time, children included; a ratio is the rival's time
divided by ours, the median of the rounds. librosa and torchcodec do an eighth of the windows on one thread, and their CPU time is counted eight times.
"""

import multiprocessing
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import mldf
import numpy as np
import torch

torch.set_num_threads(1)
RATE, MINUTES, FILES, WINDOW, WINDOWS, RAGGED = 16000, 10, 2, 10, 48, 1200


def have(name):
    try:
        return __import__(name)
    except Exception as error:  # a library of FFmpeg may be missing
        print(f"{name} is left out: {str(error).splitlines()[0][:90]}")
        return None


def speech(seconds, seed, rate=RATE):
    rng = np.random.default_rng(seed)
    t = np.arange(int(rate * seconds)) / rate
    tone = sum(np.sin(2 * np.pi * 130 * k * t + np.sin(2 * np.pi * 3 * t)) / k for k in range(1, 9))
    return np.clip(0.1 * tone * np.clip(np.sin(2 * np.pi * 0.8 * t + seed), 0, 1) + 0.01 * rng.standard_normal(len(t)), -1, 1).astype("f4")


def spent():
    own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    alive = 0
    for child in multiprocessing.active_children():  # workers that stay are in no sum before they end
        words = Path(f"/proc/{child.pid}/stat").read_text().rsplit(")", 1)[1].split()
        alive += (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime + alive


GOALS = []  # (work, rival, measure, goal, measured)
BOTH = {}  # (work, rival): ratios by the clock and by CPU


def goal(work, rival, measure, least, measured):
    GOALS.append((work, rival, measure, least, measured))
    print(f"  {rival:24} {measured:6.2f} x {measure:9} goal {least:<5} {'met' if measured >= least else 'MISSED'}", flush=True)


def compare(name, ours, rivals, rounds, work):
    """rivals: {name: (function, goal by the clock, goal by CPU, how often the work was done)}; work: what one call does, in words."""
    times = {who: ([], []) for who in ("mldf", *rivals)}
    everybody = {"mldf": ours, **{who: rival[0] for who, rival in rivals.items()}}
    for call in everybody.values():
        call()
    for _ in range(rounds):
        for who, call in everybody.items():
            cpu, clock = spent(), time.perf_counter()
            call()
            times[who][0].append(time.perf_counter() - clock)
            times[who][1].append(spent() - cpu)
    wall, cpu = (statistics.median(t) for t in times["mldf"])
    for who, (_, *_, share) in rivals.items():  # beside the goals: on a busy machine CPU time says more than the clock
        both = [statistics.median(r / o for r, o in zip(times[who][k], times["mldf"][k])) / share for k in (0, 1)]
        BOTH[name, who] = both
    print(f"\n{name}: {work}\n  mldf {wall * 1e3:9.1f} ms, CPU {cpu * 1e3:9.1f} ms")
    for who, (_, *goals, share) in rivals.items():
        for k, measure in enumerate(("the clock", "CPU")):
            if goals[k]:
                goal(name, who, measure, goals[k], statistics.median(r / o for r, o in zip(times[who][k], times["mldf"][k])) / share)


def drain(loader):
    for batch in loader:
        np.asarray(batch[0]).ravel()[:1].sum()


# ---- the rows ----


def row_pcm(folder, rounds):
    import torchaudio

    waves = [torch.from_numpy((speech(10, i) * 32767).astype(np.int16)) for i in range(32)]
    path = folder / "pcm.mldf"
    with mldf.Writer(path, {"a": mldf.Audio(rate=RATE)}, overwrite=True) as w:
        for x in waves:
            w.append({"a": x.numpy()})
    mel = torchaudio.transforms.MelSpectrogram(RATE, n_fft=400, hop_length=160, n_mels=80)
    loader = mldf.Loader(path, 1, pipelines="a: mel(torchaudio, bins=80, hop=160) | log", threads=0)
    rival = lambda: [torch.log(torch.clamp(mel(x.float() / 32768), min=1e-10)) for x in waves]  # noqa: E731
    compare("PCM to log-mel 80", lambda: drain(loader), {"torchaudio": (rival, 3, None, 1)}, rounds, "32 recordings of 10 s, 16 kHz, one thread")


def long_files(folder, kind):
    paths = []
    for i in range(FILES):
        source, out = folder / f"{i}.wav", folder / f"{i}.{kind}"
        if not out.exists():
            import soundfile

            rate = {"mp3": 44100, "opus": 48000}.get(kind, RATE)
            soundfile.write(source, speech(MINUTES * 60, i, rate), rate)
            made = {"flac": ["flac", "-s", "-f", source, "-o", out], "mp3": ["lame", "--quiet", "-b", "128", source, out],
                    "opus": ["opusenc", "--quiet", "--bitrate", "64", source, out]}[kind]
            subprocess.run([str(word) for word in made], check=True, capture_output=True)
            source.unlink()
        paths.append(out)
    target = folder / f"{kind}{FILES}.mldf"
    if not target.exists():
        (folder / f"{kind}{FILES}").mkdir(exist_ok=True)
        for p in paths:
            os.link(p, folder / f"{kind}{FILES}" / p.name)
        mldf.pack(folder / f"{kind}{FILES}", target, audio={"decode": False})
    return paths, target


class Windows(torch.utils.data.Dataset):
    """Random windows of 10 s by soundfile, and what follows."""

    def __init__(self, paths, after):
        self.paths, self.after = [str(p) for p in paths], after

    def __len__(self):
        return WINDOWS

    def __getitem__(self, i):
        import soundfile

        with soundfile.SoundFile(self.paths[i % FILES]) as f:
            f.seek(int(np.random.default_rng(i).integers(0, f.frames - WINDOW * f.samplerate)))
            x = f.read(WINDOW * f.samplerate, dtype="float32")
        return self.after(torch.from_numpy(x), f.samplerate)


def row_flac(folder, rounds):
    import torchaudio

    paths, target = long_files(folder, "flac")
    mel = torchaudio.transforms.MelSpectrogram(RATE, n_fft=400, hop_length=160, n_mels=80)
    after = lambda x, rate: torch.log(torch.clamp(mel(x), min=1e-10))  # noqa: E731
    workers = torch.utils.data.DataLoader(Windows(paths, after), batch_size=8, num_workers=2, persistent_workers=True)
    rivals = {"soundfile + torchaudio": (lambda: [b.sum() for b in workers], 3, 2.5, 1)}
    if librosa := have("librosa"):
        def by_librosa():
            for i in range(0, WINDOWS, 8):
                x, _ = librosa.load(str(paths[i % FILES]), sr=None, offset=float(i * 7 % 580), duration=WINDOW)
                librosa.power_to_db(librosa.feature.melspectrogram(y=x, sr=RATE, n_fft=400, hop_length=160, n_mels=80))
        rivals["librosa"] = (by_librosa, None, 8, 1 / 8)
    if have("torchcodec"):
        from torchcodec.decoders import AudioDecoder

        def by_torchcodec():
            for i in range(0, WINDOWS, 8):
                start = float(np.random.default_rng(i).integers(0, 590))
                x = AudioDecoder(str(paths[i % FILES])).get_samples_played_in_range(start, start + WINDOW).data[0]
                after(x, RATE)
        rivals["torchcodec"] = (by_torchcodec, None, 15, 1 / 8)
    with mldf.open([target] * (WINDOWS // FILES)) as ds:
        loader = mldf.Loader(ds, 8, pipelines="audio: window(10, random) | mel(torchaudio, bins=80, hop=160) | log", threads=2, seed=1)
        compare("FLAC windows to log-mel 80", lambda: drain(loader), rivals, rounds, f"{WINDOWS} windows of 10 s of 10-minute files, 2 workers")


def row_lossy(folder, rounds):
    import torchaudio

    for kind, steps, least in (("mp3", "", 5), ("opus", "", 1), ("opus", "decode_audio(opus=ffmpeg) | ", 3)):
        paths, target = long_files(folder, kind)
        changes = {}
        after = lambda x, rate: changes.setdefault(rate, torchaudio.transforms.Resample(rate, RATE))(x)  # noqa: E731
        data = Windows(paths, after)
        name = f"{kind} windows to 16 kHz" + (", by FFmpeg" if steps else "")
        with mldf.open([target] * (WINDOWS // FILES)) as ds:
            loader = mldf.Loader(ds, 8, pipelines=f"audio: {steps}window(10, random) | resample({RATE})", threads=0, seed=1)
            rivals = {"soundfile + torchaudio": (lambda: [data[i] for i in range(WINDOWS)], least, None, 1)}
            compare(name, lambda: drain(loader), rivals, rounds, f"{WINDOWS} windows of 10 s of 10-minute files, one thread")


def row_stored(folder, rounds):
    mels = [np.random.default_rng(i).standard_normal((1000, 80)).astype("f2") for i in range(256)]
    path = folder / "mel.mldf"
    with mldf.Writer(path, {"mel": mldf.AudioSpectrogram("float16", 80)}, overwrite=True) as w:
        for i, x in enumerate(mels):
            w.append({"mel": x})
            np.save(folder / f"{i}.npy", x)

    class Npy(torch.utils.data.Dataset):
        def __len__(self):
            return len(mels)

        def __getitem__(self, i):
            return torch.from_numpy(np.load(folder / f"{i}.npy").astype("f4"))

    workers = torch.utils.data.DataLoader(Npy(), batch_size=32, num_workers=2, persistent_workers=True)
    loader = mldf.Loader(path, 32, pipelines="mel: cast(f32) | pad", threads=2)
    whole, room = np.stack(mels).astype("f4"), np.empty((256, 1000, 80), "f4")
    compare("stored mel f16 to f32", lambda: drain(loader), {"DataLoader over .npy": (lambda: [b.sum() for b in workers], 10, None, 1),
            "memcpy of the f32": (lambda: np.copyto(room, whole), 0.8, None, 1)}, rounds, "256 x 1000 x 80, 2 workers")


def row_ragged(folder, rounds):
    lhotse = have("lhotse")
    if not lhotse:
        return
    import soundfile

    from lhotse import CutSet, Recording
    from lhotse.dataset import DynamicBucketingSampler

    rng = np.random.default_rng(0)
    (folder / "ragged").mkdir(exist_ok=True)
    cuts, voice = [], speech(MINUTES * 60, 0)
    for i in range(RAGGED):
        path = folder / "ragged" / f"{i:04d}.flac"
        if not path.exists():
            n = int(rng.uniform(2, 20) * RATE)
            start = int(rng.integers(0, len(voice) - n))
            soundfile.write(path, voice[start : start + n], RATE)
        cuts.append(Recording.from_file(path).to_cut())
    target = folder / "ragged.mldf"
    if not target.exists():
        mldf.pack(folder / "ragged", target, audio={"decode": False})
    cuts = CutSet.from_cuts(cuts)
    padding = {}

    def by_lhotse():
        have_, room = 0, 0
        for batch in DynamicBucketingSampler(cuts, max_duration=300, num_buckets=20, shuffle=True, seed=0):
            waves = [torch.from_numpy(soundfile.read(c.recording.sources[0].source, dtype="float32")[0]) for c in batch]
            torch.nn.utils.rnn.pad_sequence(waves, batch_first=True)
            have_ += sum(map(len, waves))
            room += max(map(len, waves)) * len(waves)
        padding["lhotse"] = 1 - have_ / room

    loader = mldf.Loader(target, bucket="audio", budget="300s", shuffle=True, seed=0, pipelines="audio: pad", threads=2)

    def by_us():
        have_, room = 0, 0
        for batch in loader:
            have_ += int(batch.audio_length.sum())
            room += batch.audio.size
        padding["mldf"] = 1 - have_ / room

    compare("ragged 2 to 20 s", by_us, {"lhotse + soundfile": (by_lhotse, 5, None, 1)}, rounds, f"{RAGGED} FLAC files, batches of 300 padded seconds, bucketed")
    print(f"  padding: mldf {100 * padding['mldf']:.2f} %, lhotse {100 * padding['lhotse']:.2f} %")
    goal("ragged 2 to 20 s", "lhotse + soundfile", "padding", 1, padding["lhotse"] / max(padding["mldf"], 1e-9))


ROWS = {"pcm": row_pcm, "flac": row_flac, "lossy": row_lossy, "stored": row_stored, "ragged": row_ragged}


def table(markdown):
    """Every goal, what was measured, and whether it was met."""
    print()
    line = "| {} | {} | {} | {} | {} | {} | {} |" if markdown else "{:34} {:24} {:10} {:>6} {:>9} {:>9}  {}"
    print(line.format("work", "rival", "by", "goal", "measured", "by CPU", ""))
    if markdown:
        print("|---|---|---|---|---|---|---|")
    for work, rival, measure, least, measured in GOALS:
        cpu = f"{BOTH[work, rival][1]:.2f}" if measure != "padding" else ""
        verdict = "met" if measured >= least else "**missed**" if markdown else "MISSED"
        print(line.format(work, rival, measure, least, f"{measured:.2f}", cpu, verdict))


def main():
    words = [word for word in sys.argv[1:] if word != "--markdown"]
    rounds = int(words[0]) if words else 5
    start = time.perf_counter()
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} CPUs, {rounds} rounds")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(os.environ.get("SPEECH_FOLDER", made))  # files that are there are taken again
        folder.mkdir(exist_ok=True)
        for name in words[1:] or ROWS:
            ROWS[name](folder, rounds)
    table("--markdown" in sys.argv)
    print(f"load {os.getloadavg()[0]:.1f}, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
