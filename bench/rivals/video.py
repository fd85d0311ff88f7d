#!/usr/bin/env python3
"""Clips, single frames, windows and image-text pairs: mldf beside torchcodec, PyAV, decord, WebDataset and libavcodec alone, in one run.

    make release && cmake --install build/release --component python --prefix /tmp/mldf-release
    PYTHONPATH=/tmp/mldf-release python bench/rivals/video.py WORKDIR [--mldf build/release/bin/mldf] [--rounds 7] [--only ROW,ROW]
        [--decord VENV/bin/python]

Needs torch, torchaudio, torchcodec, av, webdataset, Pillow; decord in an environment of its own; ffmpeg, a C compiler and libavcodec's headers. WORKDIR keeps the videos: pans over
Debian's wallpapers (photos.py says where they are) with noise, 640 x 360, 300 frames each.

Every contender is a process of its own with one thread, which does the same work in each round; the rounds alternate, and the least CPU time counts (by the clock
where it says "cold"). A clip: 16 frames in a row from a random place, a random resized crop to 224 with one draw for all, flip, normalised float32, (16, 3, 224, 224). "libavcodec"
sends the packets that mldf sent, from memory, and drops the frames (video_bare.c).
"""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve()
CLIPS, SIDE, FRAMES = 4, 224, 16
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
PIPELINE = "random_resized_crop(224) | hflip | normalize(imagenet) | chw(f32)"
KINDS = {  # options of the encoder
    "g30": ["-c:v", "libx264", "-crf", "23", "-g", "30", "-keyint_min", "30"],
    "nob": ["-c:v", "libx264", "-crf", "23", "-g", "30", "-bf", "0"],
    "g250": ["-c:v", "libx264", "-crf", "23", "-g", "250"],
    "av1": ["-c:v", "libsvtav1", "-preset", "10", "-crf", "35", "-g", "30"],
}
ROWS = {  # name: (what, contenders, goal against the fastest of the others)
    "g30": ("16 frames, 360p H.264, key every 30", ["torchcodec", "pyav", "decord"], 1.8),
    "nob": ("the same without B-frames", ["torchcodec", "pyav", "decord"], 1.8),
    "av1": ("the same, AV1", ["torchcodec", "pyav", "decord"], 1.8),
    "g250": ("the same, H.264, key every 250", ["torchcodec", "pyav", "decord"], 1.6),
    "single": ("single frames, 2 cameras 480p, key every 2, batch 64", ["torchcodec"], 2.0),
    "hour": ("one frame of an hour, cold, by the clock", ["torchcodec"], 20.0),
    "sound": ("16 frames and their sound as mel, 360p H.264 and AAC", ["torchcodec"], 1.8),
    "table": ("windows of 16 actions and 2 states, batch 64", ["gather"], 50.0),
    "windows": ("the same with 2 frames of a camera", ["gather"], 2.0),
    "pairs": ("image-text pairs, JPEG to 224, batch 64", ["webdataset"], 3.0),
}


# ---- Data ------------------------------------------------------------------------------------------------------------------------------


def ffmpeg(*arguments):
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-y", *map(str, arguments)], check=True, stderr=subprocess.DEVNULL)


def wallpapers(count):
    sys.path.insert(0, str(HERE.parent))
    import photos

    found = photos.sources()
    return found[:: max(1, len(found) // count)][:count]


def make_videos(work):
    """work/KIND/N.mp4: seven videos of each kind."""
    pan = ("scale=1920:-2,crop=1600:900,zoompan=z='1.2+0.15*sin(on/40)':x='iw*0.1+iw*0.08*sin(on/25)':y='ih*0.1+ih*0.07*cos(on/31)'"
           ":d=300:s=640x360:fps=30,noise=alls=6:allf=t,format=yuv420p")
    for kind, options in KINDS.items():
        (work / kind).mkdir(parents=True, exist_ok=True)
        if len(list((work / kind).glob("*.mp4"))) < 7:
            for i, path in enumerate(wallpapers(7), 1):
                source = ["-i", path, "-vf", pan] if kind == "g30" else ["-i", work / "g30" / f"{i}.mp4"]
                ffmpeg(*source, "-frames:v", 300, *options, "-threads", 1, work / kind / f"{i}.mp4")


def make_sound(work):
    """work/sound/N.mp4: the videos of g30 with ten seconds of tones that move, AAC at 48 kHz."""
    (work / "sound").mkdir(exist_ok=True)
    for i in range(1, 8):
        path = work / "sound" / f"{i}.mp4"
        if not path.exists():
            tone = f"aevalsrc='0.4*sin(2*PI*(200+{i}*40)*t+40*sin(2*PI*3*t))+0.05*random(0)':s=48000:d=10"
            ffmpeg("-i", work / "g30" / f"{i}.mp4", "-f", "lavfi", "-i", tone, "-c:v", "copy", "-c:a", "aac", path)


def make_cameras(work):
    folder = work / "cameras"
    folder.mkdir(exist_ok=True)
    for episode in range(6):
        for camera in range(2):
            path = folder / f"{episode}_{camera}.mp4"
            if not path.exists():
                source = ["-i", work / "g30" / f"{episode + 1}.mp4", "-vf", f"scale=640:480{',hflip' if camera else ''}"]
                ffmpeg(*source, "-frames:v", 150, "-c:v", "libx264", "-crf", 28, "-g", 2, "-bf", 0, path)
    if not (work / "hour.mp4").exists():
        ffmpeg("-f", "lavfi", "-i", "testsrc2=size=320x180:rate=30:duration=10", "-c:v", "libx264", "-preset", "veryfast", "-g", 30, work / "ten.mp4")
        ffmpeg("-stream_loop", 359, "-i", work / "ten.mp4", "-c", "copy", work / "hour.mp4")
    (work / "stills").mkdir(exist_ok=True)
    if not any((work / "stills").iterdir()):
        for i in range(1, 8):
            ffmpeg("-i", work / "g30" / f"{i}.mp4", "-vf", "select='not(mod(n,6))',scale=500:-2", "-fps_mode", "vfr", "-q:v", 4, work / "stills" / f"{i}_%03d.jpg")
        for path in sorted((work / "stills").glob("*.jpg")):
            path.with_suffix(".txt").write_text(f"a caption of {path.stem}, in some words")
        subprocess.run(["tar", "cf", work / "pairs.tar", "--sort=name", "-C", work / "stills", "."], check=True)


def table_rows():
    import numpy as np

    rng = np.random.default_rng(1)
    for episode in range(6):
        for step in range(150):
            yield episode, step, rng.normal(size=14).astype(np.float32), rng.normal(size=14).astype(np.float32)


def pack(work, command):
    """The same for mldf. Called in a process that has it."""
    import mldf

    for name in [*KINDS, "sound"]:
        if not (work / f"{name}.mldf").exists():
            subprocess.run([command, "pack", work / name, "-o", work / f"{name}.mldf", "-q"], check=True)
    if not (work / "cameras.mldf").exists():
        with mldf.Writer(work / "cameras.mldf", {"a": mldf.CompressedVideo(), "b": mldf.CompressedVideo()}) as w:
            for e in range(6):
                w.append({c: work / "cameras" / f"{e}_{i}.mp4" for i, c in enumerate("ab")})
    if not (work / "robot.mldf").exists():
        fields = {"episode_index": mldf.Int(), "timestamp": mldf.Float(), "state": mldf.NDArray("float32", (14,)),
                  "action": mldf.NDArray("float32", (14,)), "camera": mldf.CompressedVideo(nullable=True)}
        with mldf.Writer(work / "robot.mldf", fields) as w:
            for episode, step, state, action in table_rows():
                w.append({"episode_index": episode, "timestamp": step / 30, "state": state, "action": action,
                          "camera": work / "cameras" / f"{episode}_0.mp4" if step == 0 else None})
    if not (work / "hour.mldf").exists():
        subprocess.run([command, "pack", work / "hour.mp4", "-o", work / "hour.mldf", "-q"], check=True)
    if not (work / "pairs.mldf").exists():
        subprocess.run([command, "convert", work / "pairs.tar", "-o", work / "pairs.mldf", "-q"], check=True)


# ---- What the others do with frames ------------------------------------------------------------------------------------------------


def box(height, width):
    """torchvision's RandomResizedCrop."""
    for _ in range(10):
        area = height * width * random.uniform(0.08, 1)
        ratio = 2.718281828 ** random.uniform(-0.2876820724, 0.2876820724)
        w, h = round((area * ratio) ** 0.5), round((area / ratio) ** 0.5)
        if 0 < w <= width and 0 < h <= height:
            return random.randint(0, height - h), random.randint(0, width - w), h, w
    return 0, 0, height, width


def finish(frames, crop=True, state={}):
    """u8 (n, 3, h, w) to normalised float32: what torchvision's functions do, with one draw for all."""
    import torch

    if not state:
        state.update(mean=torch.tensor(MEAN).view(3, 1, 1), std=torch.tensor(STD).view(3, 1, 1))
    if crop:
        y, x, h, w = box(*frames.shape[2:])
        frames = frames[:, :, y : y + h, x : x + w]
    frames = torch.nn.functional.interpolate(frames, (SIDE, SIDE), mode="bilinear", antialias=True)
    if crop and random.random() < 0.5:
        frames = frames.flip(-1)
    return (frames.float() / 255).sub_(state["mean"]).div_(state["std"])


def clips_torchcodec(path, start):
    from torchcodec.decoders import VideoDecoder

    return finish(VideoDecoder(path, num_ffmpeg_threads=1, seek_mode="approximate").get_frames_in_range(start, start + FRAMES).data)


def clips_pyav(path, start):
    import av
    import numpy as np
    import torch

    with av.open(path) as file:
        stream = file.streams.video[0]
        stream.thread_type, stream.thread_count = "NONE", 1
        first = round(start / 30 / stream.time_base)
        file.seek(first, stream=stream)
        frames = []
        for frame in file.decode(stream):
            if frame.pts >= first:
                frames.append(frame.to_ndarray(format="rgb24"))
                if len(frames) == FRAMES:
                    break
    return finish(torch.from_numpy(np.stack(frames)).permute(0, 3, 1, 2))


def clips_decord(path, start):
    import decord
    import torch

    video = decord.VideoReader(path, num_threads=1)
    return finish(torch.from_numpy(video.get_batch(range(start, start + FRAMES)).asnumpy()).permute(0, 3, 1, 2))


def clips_with_sound(path, start, state={}):
    """Frames as above; of the sound Whisper's mel: 16 kHz, one channel, 80 bands, logarithm of base 10, clamped and scaled."""
    import torch
    import torchaudio
    from torchcodec.decoders import AudioDecoder, VideoDecoder

    if not state:
        state.update(mel=torchaudio.transforms.MelSpectrogram(16000, 400, hop_length=160, n_mels=80, norm="slaney", mel_scale="slaney"))
    frames = VideoDecoder(path, num_ffmpeg_threads=1, seek_mode="approximate").get_frames_in_range(start, start + FRAMES)
    begin = float(frames.pts_seconds[0])
    sound = AudioDecoder(path, sample_rate=16000, num_channels=1).get_samples_played_in_range(begin, begin + FRAMES / 30).data
    mel = torch.clamp(state["mel"](sound), min=1e-10).log10()
    return finish(frames.data), (torch.maximum(mel, mel.max() - 8) + 4) / 4


# ---- A contender ---------------------------------------------------------------------------------------------------------------------


def rounds_of_mldf(work, row):
    import mldf
    import numpy as np

    if row in KINDS:
        text, batch, epochs = f"video: clip(frames={FRAMES}, start=random) | {PIPELINE}", 1, CLIPS
        loader = mldf.Loader(str(work / f"{row}.mldf"), batch, pipelines=text, threads=0, shuffle=True, seed=1)
    elif row == "sound":
        epochs = CLIPS
        text = (f"video, video.audio: clip(frames={FRAMES}, fps=30, start=random); video: {PIPELINE}; "
                "video.audio: resample(16000) | mono | mel(whisper)")
        loader = mldf.Loader(str(work / "sound.mldf"), 1, pipelines=text, threads=0, shuffle=True, seed=1)
    elif row == "single":
        epochs = 11
        end = "resize([224, 224]) | normalize(imagenet) | chw(f32)"
        text = "; ".join(f"{c}: clip(frames=1, start=random) | {end}" for c in "ab")
        loader = mldf.Loader(str(work / "cameras.mldf"), 6, pipelines=text, threads=0, shuffle=True, seed=1)
    elif row == "hour":
        def cold():
            number = random.randrange(100000)
            return mldf.open(work / "hour.mldf")[0].video.frames([number])

        return cold
    elif row in ("table", "windows"):
        epochs = 4 if row == "table" else 1
        windows = {"action": range(16), "state": [-1, 0]}
        pipelines = {"episode_index": "", "timestamp": ""}
        if row == "windows":
            windows["camera"] = [-1 / 30, 0.0]
            pipelines["camera"] = "resize([224, 224]) | normalize(imagenet) | chw(f32)"
        loader = mldf.Loader(str(work / "robot.mldf"), 64, group="episode_index", windows=windows, edge="clamp", tolerance=1e-3,
                             pipelines={k: v for k, v in pipelines.items() if v}, threads=0, shuffle=True, seed=1,
                             **({"fields": ["action", "state"]} if row == "table" else {}))
    else:
        epochs = 1
        loader = mldf.Loader(str(work / "pairs.mldf"), 64, pipelines={"jpg": PIPELINE, "txt": "pad"}, threads=0, shuffle=True, seed=1)

    def run():
        for _ in range(epochs):
            for b in loader:
                np.asarray(b[0]).ravel()[0]

    return run


def rounds_of_others(work, row, name):
    import torch

    torch.set_num_threads(1)
    if row in KINDS:
        paths = sorted(map(str, (work / row).glob("*.mp4")))
        one = {"torchcodec": clips_torchcodec, "pyav": clips_pyav, "decord": clips_decord}[name]
        return lambda: [one(p, random.randrange(300 - FRAMES + 1)) for _ in range(CLIPS) for p in paths]
    if row == "sound":
        paths = sorted(map(str, (work / "sound").glob("*.mp4")))
        return lambda: [clips_with_sound(p, random.randrange(300 - FRAMES + 1)) for _ in range(CLIPS) for p in paths]
    if row == "single":
        from torchcodec.decoders import VideoDecoder

        cache = {(e, c): VideoDecoder(str(work / "cameras" / f"{e}_{c}.mp4"), num_ffmpeg_threads=1) for e in range(6) for c in range(2)}

        def frames():
            for c in range(2):
                torch.stack([finish(cache[i % 6, c].get_frame_at(random.randrange(150)).data[None], False)[0] for i in range(66)])

        return frames
    if row == "hour":
        from torchcodec.decoders import VideoDecoder

        return lambda: VideoDecoder(str(work / "hour.mp4"), num_ffmpeg_threads=1, seek_mode="exact").get_frame_at(random.randrange(100000))
    if row in ("table", "windows"):
        return gather(work, row == "windows", torch)
    import webdataset as wds

    def tensor(image):
        import numpy as np

        return finish(torch.from_numpy(np.array(image)).permute(2, 0, 1)[None])[0]

    data = wds.WebDataset(str(work / "pairs.tar"), shardshuffle=False).shuffle(1000).decode("pil").to_tuple("jpg", "txt")
    data = data.map_tuple(tensor, str).batched(64, collation_fn=lambda rows: (torch.stack([r[0] for r in rows]), [r[1] for r in rows]))

    def run():
        for _ in data:
            pass

    return run


def gather(work, cameras, torch):
    """As LeRobot's dataset does it: an item is made of the rows at clamped indices, and items are stacked."""
    rows = list(table_rows())
    table = {"state": torch.tensor([r[2].tolist() for r in rows]), "action": torch.tensor([r[3].tolist() for r in rows])}
    offsets = {"action": range(16), "state": [-1, 0]}
    cache = {}
    if cameras:
        from torchcodec.decoders import VideoDecoder

        cache = {e: VideoDecoder(str(work / "cameras" / f"{e}_0.mp4"), num_ffmpeg_threads=1) for e in range(6)}

    def item(i):
        episode = i // 150
        first, last, out = episode * 150, episode * 150 + 149, {}
        for key, deltas in offsets.items():
            places = [max(first, min(last, i + d)) for d in deltas]
            out[key] = torch.stack([table[key][p] for p in places])
            out[key + "_is_pad"] = torch.tensor([not first <= i + d <= last for d in deltas])
        if cameras:
            step = i - first
            out["camera"] = finish(cache[episode].get_frames_at([max(0, step - 1), step]).data, False)
        return out

    def run():
        for _ in range(1 if cameras else 4):
            order = random.sample(range(900), 900)
            for at in range(0, 900, 64):
                torch.utils.data.default_collate([item(i) for i in order[at : at + 64]])

    return run


def evict(path):
    with open(path, "rb") as f:
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def contender(work, row, name):
    """Does a round for each line that it reads, and answers with its seconds."""
    random.seed(1)
    run = rounds_of_mldf(work, row) if name == "mldf" else rounds_of_others(work, row, name)
    if row != "hour":
        run()
    print("ready", flush=True)
    for _ in sys.stdin:
        if row == "hour":
            evict(work / ("hour.mldf" if name == "mldf" else "hour.mp4"))
        clock = time.perf_counter if row == "hour" else time.process_time
        start = clock()
        run()
        print(clock() - start, flush=True)


# ---- The comparison ------------------------------------------------------------------------------------------------------------------


def start(options, row, name):
    python = options.decord if name == "decord" else sys.executable
    if not python:
        return None
    command = [python, HERE, options.work, "--contender", row, name]
    child = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if child.stdout.readline().strip() != "ready":
        print(f"video: {name} does not run: {child.stderr.read()[-600:]}", file=sys.stderr)
        return None
    return child


def compare(options, row):
    what, others, goal = ROWS[row]
    children = {name: child for name in ["mldf", *others] if (child := start(options, row, name))}
    seconds = {name: [] for name in children}
    for _ in range(options.rounds):
        for name, child in children.items():
            child.stdin.write("\n")
            child.stdin.flush()
            seconds[name].append(float(child.stdout.readline()))
    for child in children.values():
        child.stdin.close()
        child.wait()
    least = {name: min(s) for name, s in seconds.items()}
    rival = min((n for n in least if n != "mldf"), key=least.get, default=None)
    ratio = least[rival] / least["mldf"] if rival else float("nan")
    shown = ", ".join(f"{n} {s * 1000:.1f}" for n, s in least.items())
    print(f"| {what} | {shown} | {ratio:.2f} × {rival} | {goal} | {'met' if ratio >= goal else 'missed'} |", flush=True)


def bare(options, kind):
    """mldf's command against its own packets through libavcodec alone: u8 and float32."""
    work, flags = options.work, subprocess.run(["pkg-config", "--cflags", "--libs", "libavcodec", "libavutil"], capture_output=True, text=True).stdout.split()
    source = HERE.parent / "video_bare.c"
    subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-shared", "-fPIC", "-DRECORD", source, "-o", work / "record.so", "-ldl"], check=True)
    subprocess.run(["cc", "-O2", source, "-o", work / "bare", *flags], check=True)
    # The file ten times, so that starting the process does not count.
    command = [options.mldf, "bench", work / f"{kind}.mldf", "-j", "0", "--epochs", "10", "--batch-size", "1", "--codegen", "off"]
    clip = f"video: clip(frames={FRAMES}, start=random) | "
    texts = {"u8": clip + "random_resized_crop(224) | hflip", "f32": clip + PIPELINE}
    environment = {**os.environ, "LD_PRELOAD": str(work / "record.so"), "VIDEO_LOG": str(work / "packets.log")}
    subprocess.run([*command, "-p", texts["f32"]], check=True, env=environment, capture_output=True)
    least = {}
    for _ in range(options.rounds):
        done = subprocess.run([work / "bare", work / "packets.log", "1"], check=True, capture_output=True, text=True)
        least["bare"] = min(least.get("bare", 1e9), float(done.stdout.split()[0]))
        for name, text in texts.items():
            before = os.times()
            subprocess.run([*command, "-p", text], check=True, capture_output=True)
            after = os.times()
            took = after.children_user + after.children_system - before.children_user - before.children_system
            least[name] = min(least.get(name, 1e9), took)
    for name, goal in (("u8", 0.85), ("f32", 0.78)):
        ratio = least["bare"] / least[name]
        shown = f"mldf {least[name] * 1000:.0f}, libavcodec {least['bare'] * 1000:.0f}"
        print(f"| {kind}: 70 clips as {name} | {shown} | {ratio:.2f} × libavcodec | {goal} | {'met' if ratio >= goal else 'missed'} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--mldf", default="build/release/bin/mldf")
    parser.add_argument("--decord")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", type=lambda t: t.split(","), default=[*ROWS, "bare"])
    parser.add_argument("--contender", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    if options.contender:
        contender(options.work, *options.contender)
        return
    make_videos(options.work)
    make_sound(options.work)
    make_cameras(options.work)
    pack(options.work, options.mldf)
    print(f"load of the machine: {json.dumps(os.getloadavg())}, {os.cpu_count()} CPUs, {options.rounds} rounds; ms of CPU time")
    print("| work | ms | mldf is | goal | |\n|---|---|---|---|---|")
    for row in options.only:
        if row == "bare":
            bare(options, "g30")
        else:
            compare(options, row)
    print(f"load at the end: {json.dumps(os.getloadavg())}")


if __name__ == "__main__":
    main()
