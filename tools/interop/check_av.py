#!/usr/bin/env python3
"""check_av.py: PyAV, torchcodec and mldf in one process, imported in every order, and each decodes. Three FFmpegs then live in one process: PyAV brings its own,
torchcodec takes the system's, mldf opens its module. Needs ffmpeg, av, torch 2.13, torchcodec 0.13 and mldf; not part of `make test`."""

import itertools
import pathlib
import subprocess
import sys
import tempfile

NAMES = ("av", "torchcodec", "mldf")
WHO = {"av": "PyAV", "torchcodec": "torchcodec", "mldf": "mldf"}
FRAMES = [0, 7, 30, 59]

ONE = """
import sys
import numpy as np
order, film, packed = sys.argv[1].split(","), sys.argv[2], sys.argv[3]
numbers = [int(n) for n in sys.argv[4].split(",")]
for name in order:
    if name == "torchcodec":
        from torchcodec.decoders import VideoDecoder
    else:
        globals()[name] = __import__(name)

def by_av():
    with av.open(film) as container:
        every = [f.to_ndarray(format="rgb24") for f in container.decode(video=0)]
    return np.stack([every[n] for n in numbers])

def by_torchcodec():
    return VideoDecoder(film, dimension_order="NHWC").get_frames_at(numbers).data.numpy()

def by_mldf():
    with mldf.open(packed) as ds:
        return ds[0].video.frames(numbers)

ways = {"av": by_av, "torchcodec": by_torchcodec, "mldf": by_mldf}
for _ in range(3):  # in the order of the imports, and again after each has decoded
    made = {name: ways[name]().astype(int) for name in order}
    for name in order:
        assert made[name].shape == made["mldf"].shape, name
        assert np.abs(made[name] - made["mldf"]).max() <= 3, (name, np.abs(made[name] - made["mldf"]).max())
print("ok")
"""


def main():
    import mldf

    with tempfile.TemporaryDirectory() as folder:
        film, packed = pathlib.Path(folder) / "film.mp4", pathlib.Path(folder) / "film.mldf"
        source = ("-f", "lavfi", "-i", "testsrc2=size=128x96:rate=30:duration=2")
        subprocess.run(
            ["ffmpeg", "-v", "error", *source, "-c:v", "libx264", "-pix_fmt", "yuv444p", "-g", "12", "-bf", "2", film],
            check=True,
        )
        mldf.pack(film, packed)
        for order in itertools.permutations(NAMES):
            words = [",".join(order), film, packed, ",".join(map(str, FRAMES))]
            subprocess.run([sys.executable, "-c", ONE, *words], check=True, timeout=120)
            print("imported in the order", ", ".join(WHO[name] for name in order))


if __name__ == "__main__":
    main()
