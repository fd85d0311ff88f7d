#!/usr/bin/env python3
"""Makes the recordings and videos of the demo, with nothing but Python and the command.

    tools/demo_media.py MLDF FOLDER   from FOLDER/first.jsonl: media/NAME.wav, in which the first letters of a text are sung (a tone with two
                                      formants for each), media/NAME.avi, in which its first page scrolls by, and media.jsonl, which names them

The frames are drawn as PNG; the command makes JPEG files of them, which an AVI file of Motion JPEG holds one after the other.
"""
import array
import json
import math
import os
import struct
import subprocess
import sys
import wave

from demo_data import draw_page

TEXTS, FRAMES, STEP, SHOWN = 8, 24, 2, 24
RATE, TONE = 16000, 0.06


def sing(path, text):
    """16 kHz, 16 bits: each letter is 60 ms of its own pitch; what is no letter is a pause."""
    sound = array.array("h")
    for letter in text.lower()[:50]:
        pitch = 110 * 2 ** ((ord(letter) - ord("a")) / 12) if "a" <= letter <= "z" else 0
        for i in range(int(RATE * TONE)):
            t = i / RATE
            loud = math.sin(math.pi * t / TONE)
            tone = math.sin(2 * math.pi * pitch * t) + 0.5 * math.sin(6 * math.pi * pitch * t) + 0.25 * math.sin(10 * math.pi * pitch * t)
            sound.append(int(9000 * loud * tone))
    if sys.byteorder == "big":
        sound.byteswap()
    with wave.open(path, "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", ""))
        file.writeframes(sound.tobytes())


def chunk(name, data):
    return name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)


def write_avi(path, jpegs, width, height, fps):
    """RIFF AVI with one stream of Motion JPEG."""
    most = max(map(len, jpegs))
    main = struct.pack("<14I", 1000000 // fps, most * fps, 0, 0x10, len(jpegs), 0, 1, most, width, height, 0, 0, 0, 0)
    stream = b"vidsMJPG" + struct.pack("<3I", 0, 0, 0) + struct.pack("<7I", 1, fps, 0, len(jpegs), most, 0xFFFFFFFF, 0) + struct.pack("<4H", 0, 0, width, height)
    form = struct.pack("<3I2H", 40, width, height, 1, 24) + b"MJPG" + struct.pack("<5I", width * height * 3, 0, 0, 0, 0)
    streams = chunk(b"LIST", b"strl" + chunk(b"strh", stream) + chunk(b"strf", form))
    at, index, movie = 4, b"", b"movi"
    for jpeg in jpegs:
        index += b"00dc" + struct.pack("<3I", 0x10, at, len(jpeg))
        movie += chunk(b"00dc", jpeg)
        at = len(movie)
    with open(path, "wb") as file:
        file.write(chunk(b"RIFF", b"AVI " + chunk(b"LIST", b"hdrl" + chunk(b"avih", main) + streams) + chunk(b"LIST", movie) + chunk(b"idx1", index)))


def film(mldf, folder, path, lines):
    """The page scrolls by, two lines a frame."""
    frames = os.path.join(folder, "frames")
    os.makedirs(frames)
    for k in range(FRAMES):
        shown = lines[k * STEP : k * STEP + SHOWN]
        draw_page(os.path.join(frames, f"{k:03}.png"), shown + [""] * (SHOWN - len(shown)))
    store = os.path.join(folder, "frames.mldf")
    subprocess.run([mldf, "pack", "-q", frames, "-o", store, "--encode", "jpeg"], check=True)
    subprocess.run([mldf, "extract", "-q", store, "-o", os.path.join(folder, "jpegs")], check=True)
    names = sorted(os.path.join(root, name) for root, _, files in os.walk(os.path.join(folder, "jpegs")) for name in files if name.endswith(".jpg"))
    write_avi(path, [open(name, "rb").read() for name in names], 160, SHOWN * 3, 12)
    subprocess.run(["rm", "-r", frames, store, os.path.join(folder, "jpegs")], check=True)


def main(mldf, folder):
    media = os.path.join(folder, "media")
    os.makedirs(media)
    with open(os.path.join(folder, "first.jsonl"), encoding="utf-8") as file:
        texts = [json.loads(line) for line, _ in zip(file, range(TEXTS))]
    with open(os.path.join(folder, "media.jsonl"), "w", encoding="utf-8") as file:
        for i, text in enumerate(texts):
            sing(os.path.join(media, f"{i}.wav"), text["name"] + " " + text["text"])
            film(mldf, folder, os.path.join(media, f"{i}.avi"), text["text"].splitlines())
            row = {"page": text["page"]["path"], "voice": f"media/{i}.wav", "film": f"media/{i}.avi", "text": text["text"]}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(f"{len(texts)} texts, each with the image of its first page, {TONE * 50:.0f} s of sound and a film of {FRAMES} frames")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
