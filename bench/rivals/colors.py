"""Changes of colour and place at 224 x 224 x 3, uint8, one thread: libmldf's kernels against OpenCV and Pillow.

    python bench/rivals/colors.py [--build build/release] [--isa avx512] [--rounds 5] [--part hue]

Needs opencv-python-headless, numpy and pillow. The three are timed in turn, by CPU time of the thread, and the least time of each counts. OpenCV writes into
arrays that exist, with one thread; where it has no single call for an operation, the shortest known sequence of calls is used. Their results are not the
same as ours to the bit: OpenCV rounds where torchvision's definitions cut off, and turns hues by steps of two degrees.
"""

import argparse
import subprocess
import time

import cv2
import numpy as np
from PIL import Image, ImageEnhance, ImageFilter, ImageOps

SIDE = 224
cv2.setNumThreads(1)
rng = np.random.default_rng(1)
image = rng.integers(0, 256, (SIDE, SIDE, 3), np.uint8)
pillow = Image.fromarray(image)
out, other = np.empty_like(image), np.empty_like(image)
gray = np.empty((SIDE, SIDE), np.uint8)
planes = [np.empty((SIDE, SIDE), np.uint8) for _ in range(3)]
identity = np.arange(256, dtype=np.uint8)
turned = np.stack([((np.arange(256) + 9) % 180).astype(np.uint8), identity, identity], 1).reshape(1, 256, 3)
solar = np.where(identity >= 128, 255 - identity, identity).astype(np.uint8)
smooth = np.ones((3, 3), np.float32)
smooth[1, 1] = 5
smooth /= 13
rotation = cv2.getRotationMatrix2D((SIDE / 2, SIDE / 2), 17.2, 1)
perspective = np.vstack([rotation, [1e-3, 5e-4, 1]])
INVERSE = cv2.WARP_INVERSE_MAP


def brightness(a=image, b=out):
    cv2.convertScaleAbs(a, dst=b, alpha=1.2, beta=0)


def contrast(a=image, b=out):
    cv2.cvtColor(a, cv2.COLOR_RGB2GRAY, dst=gray)
    cv2.convertScaleAbs(a, dst=b, alpha=1.2, beta=-0.2 * cv2.mean(gray)[0])


def saturation(a=image, b=out):
    cv2.cvtColor(a, cv2.COLOR_RGB2GRAY, dst=gray)
    cv2.cvtColor(gray, cv2.COLOR_GRAY2RGB, dst=other)
    cv2.addWeighted(a, 1.2, other, -0.2, 0, dst=b)


def hue(a=image, b=out):
    cv2.cvtColor(a, cv2.COLOR_RGB2HSV, dst=other)
    cv2.LUT(other, turned, dst=other)
    cv2.cvtColor(other, cv2.COLOR_HSV2RGB, dst=b)


def color_jitter():
    brightness()
    contrast(out, out)
    saturation(out, out)
    hue(out, out)


def sharpness():
    cv2.filter2D(image, -1, smooth, dst=other)
    cv2.addWeighted(image, 1.5, other, -0.5, 0, dst=out)


def equalize():
    cv2.split(image, planes)
    for plane in planes:
        cv2.equalizeHist(plane, dst=plane)
    cv2.merge(planes, dst=out)


def autocontrast():
    cv2.split(image, planes)
    table = np.empty((1, 256, 3), np.uint8)
    for c, plane in enumerate(planes):
        low, high, _, _ = cv2.minMaxLoc(plane)
        table[0, :, c] = np.clip((np.arange(256) - low) * (255 / max(high - low, 1)), 0, 255)
    cv2.LUT(image, table, dst=out)


def warp(matrix, flag):
    function = cv2.warpAffine if len(matrix) == 2 else cv2.warpPerspective
    return lambda: function(image, matrix, (SIDE, SIDE), dst=out, flags=flag | INVERSE)


def pillow_warp(matrix, how):
    kind = Image.Transform.AFFINE if len(matrix) == 2 else Image.Transform.PERSPECTIVE
    data = list(matrix.reshape(-1)[: 6 if len(matrix) == 2 else 8])
    return lambda: pillow.transform((SIDE, SIDE), kind, data, how)


def pillow_jitter():
    v = ImageEnhance.Color(ImageEnhance.Contrast(ImageEnhance.Brightness(pillow).enhance(1.2)).enhance(0.9)).enhance(1.2)
    h, s, value = v.convert("HSV").split()
    return Image.merge("HSV", (h.point(lambda x: (x + 13) % 256), s, value)).convert("RGB")


def pillow_hue():
    h, s, v = pillow.convert("HSV").split()
    return Image.merge("HSV", (h.point(lambda x: (x + 13) % 256), s, v)).convert("RGB")


NEAREST, BILINEAR = Image.Resampling.NEAREST, Image.Resampling.BILINEAR
# the heading of bench_kernels, OpenCV, Pillow
CASES = [
    ("color_jitter", color_jitter, pillow_jitter),
    ("brightness", brightness, lambda: ImageEnhance.Brightness(pillow).enhance(1.2)),
    ("contrast", contrast, lambda: ImageEnhance.Contrast(pillow).enhance(1.2)),
    ("saturation", saturation, lambda: ImageEnhance.Color(pillow).enhance(1.2)),
    ("hue", hue, pillow_hue),
    ("gaussian_blur 9 x 9, sigma 2", lambda: cv2.GaussianBlur(image, (9, 9), 2, dst=out), lambda: pillow.filter(ImageFilter.GaussianBlur(2))),
    ("gaussian_blur 23 x 23, sigma 1", lambda: cv2.GaussianBlur(image, (23, 23), 1, dst=out), lambda: pillow.filter(ImageFilter.GaussianBlur(1))),
    ("rotate, nearest", warp(rotation, cv2.INTER_NEAREST), pillow_warp(rotation, NEAREST)),
    ("rotate, bilinear", warp(rotation, cv2.INTER_LINEAR), pillow_warp(rotation, BILINEAR)),
    ("perspective, nearest", warp(perspective, cv2.INTER_NEAREST), pillow_warp(perspective, NEAREST)),
    ("perspective, bilinear", warp(perspective, cv2.INTER_LINEAR), pillow_warp(perspective, BILINEAR)),
    ("sharpness", sharpness, lambda: ImageEnhance.Sharpness(pillow).enhance(1.5)),
    ("solarize", lambda: cv2.LUT(image, solar, dst=out), lambda: ImageOps.solarize(pillow)),
    ("autocontrast", autocontrast, lambda: ImageOps.autocontrast(pillow)),
    ("equalize", equalize, lambda: ImageOps.equalize(pillow)),
]


def least(function):
    best = float("inf")
    for _ in range(20):
        begin = time.thread_time()
        for _ in range(10):
            function()
        best = min(best, (time.thread_time() - begin) / 10)
    return best * 1e6


def ours(build, isa, case):
    heading = f"{case}, {SIDE} x {SIDE} x 3, uint8"
    command = [f"{build}/bench/bench_kernels", "--only", isa, "--case", heading]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    at = lines.index(heading)  # others may end like it; memcpy's line follows, then ours
    return float(lines[at + 2].split()[1]) / 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--isa", default="avx512")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--part", default="", help="only cases whose name has this text")
    options = parser.parse_args()
    print(f"OpenCV {cv2.__version__}, Pillow {Image.__version__}, {options.isa}; microseconds\n")
    print("| | mldf | OpenCV | Pillow | the faster of both / mldf |\n|---|---|---|---|---|")
    for name, by_opencv, by_pillow in CASES:
        if options.part not in name:
            continue
        times = [1e9, 1e9, 1e9]
        for _ in range(options.rounds):
            now = ours(options.build, options.isa, name), least(by_opencv), least(by_pillow)
            times = [min(a, b) for a, b in zip(times, now, strict=True)]
        print(f"| {name} | {times[0]:.1f} | {times[1]:.1f} | {times[2]:.1f} | {min(times[1:]) / times[0]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
