#!/usr/bin/env python3
"""Makes the demo's input from what the system has.

    tools/demo_data.py FOLDER        writes first.jsonl, second.jsonl, pages/*.png, schema.json, card.json, first_text.txt, packages.csv
    tools/demo_data.py --load RUN FIRST WORDS  a line on a run of `mldf bench --json --hash`; exits with 1 when its batches are not FIRST's
    tools/demo_data.py --flip FILE   inverts one bit of a payload: the first compressed text after the middle of the data
"""
import csv
import glob
import json
import os
import string
import struct
import subprocess
import sys
import zlib

LIMIT = 400
PAPER, LETTER, DIGIT, MARK = b"\xff\xff\xff", b"\x30\x30\x70", b"\xc0\x20\x20", b"\x20\x90\x40"


def ink(character):
    if character.isspace():
        return PAPER
    return LETTER if character.isalpha() else DIGIT if character.isdigit() else MARK


def draw_page(path, lines):
    """The text's first page from afar, as PNG: a character is 2 x 3 pixels; pages are as high as their text is long."""
    rows = []
    for line in lines[:66]:
        dots = b"".join(ink(character) * 2 for character in line[:80].ljust(80))
        rows += [dots, dots, PAPER * 160]

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 160, len(rows), 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows))
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b""))


def documents(folder):
    seen = set()
    os.makedirs(os.path.join(folder, "pages"), exist_ok=True)
    for path in sorted(glob.glob("/usr/share/common-licenses/*")) + sorted(glob.glob("/usr/share/doc/*/copyright")):
        real = os.path.realpath(path)
        if real in seen or not os.path.isfile(real):
            continue
        seen.add(real)
        try:
            with open(real, encoding="utf-8", newline="") as file:
                text = file.read()
        except (UnicodeDecodeError, PermissionError):
            continue
        lines = text.splitlines()
        if not lines or "\0" in text:
            continue
        lower = text.lower()
        licence = path.startswith("/usr/share/common-licenses/")
        page = f"pages/{len(seen):04}.png"
        draw_page(os.path.join(folder, page), lines)
        yield {
            "page": {"path": page},
            "name": os.path.basename(path) if licence else path.split("/")[4],
            "lines": len(lines),
            "mean_line": sum(map(len, lines)) / len(lines),
            "letters": [lower.count(letter) for letter in string.ascii_lowercase],
            "extra": {"licence": True, "words": len(text.split())} if licence else None,
            "text": text,
        }
        if len(seen) >= LIMIT:
            return


def write_packages(path):
    table = subprocess.run(["dpkg-query", "-W", "-f", "${Package}\t${Version}\t${Installed-Size}\t${Priority}\n"],
                           capture_output=True, text=True, check=True).stdout
    rows = [line.split("\t") for line in table.splitlines()]
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["package", "version", "kilobytes", "essential", "share"])
        total = sum(int(row[2] or 0) for row in rows) or 1
        for name, version, size, priority in rows:
            size = int(size or 0)
            required = "true" if priority in ("required", "important") else "false"
            writer.writerow([name, version, size, required, f"{size / total:.6f}"])
    return len(rows)


def make(folder):
    samples = list(documents(folder))
    half = (len(samples) + 1) // 2
    for name, part in (("first.jsonl", samples[:half]), ("second.jsonl", samples[half:])):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            for sample in part:
                file.write(json.dumps(sample, ensure_ascii=False) + "\n")
    with open(os.path.join(folder, "first_text.txt"), "w", encoding="utf-8", newline="") as file:
        file.write(samples[0]["text"])
    schema = {"fields": [
        {"name": "page", "type": "image"},
        {"name": "name", "type": "text"},
        {"name": "lines", "type": "int"},
        {"name": "mean_line", "type": "float"},
        {"name": "letters", "type": "ndarray", "dtype": "<u4", "shape": [26]},
        {"name": "extra", "type": "json", "nullable": True},
        {"name": "text", "type": "text"},
    ]}
    card = {"title": "Licence and copyright texts of a Debian system, and their first pages", "source": "/usr/share", "licence": "as each text says"}
    for name, value in (("schema.json", schema), ("card.json", card)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            json.dump(value, file, indent=2)
    packages = write_packages(os.path.join(folder, "packages.csv"))
    print(f"{len(samples)} texts, each with an image of its first page and letter counts, and a table of {packages} packages")


def flip(path):
    with open(path, "r+b") as file:
        header = file.read(73)
        metadata_ptr, data_ptr = struct.unpack_from("<QQ", header, 9 + 32)
        place = (data_ptr + metadata_ptr) // 2
        while True:  # zeros are padding
            file.seek(place)
            byte = file.read(1)[0]
            if byte:
                break
            place += 1
        file.seek(place)
        file.write(bytes([byte ^ 1]))
    print(f"one bit of byte {place} is inverted")


def tell_load(path, first, words):
    runs = []
    for name in (path, first):
        with open(name, encoding="utf-8") as file:
            runs.append(json.load(file))
    run, other = runs
    if not run["batch_hashes"] or run["bad_samples"]:
        sys.exit(f"{path}: no batches, or bad samples")
    same = run["batch_hashes"] == other["batch_hashes"]
    print(f"{words:34} {run['samples']:8} {run['batches']:8} {run['samples_per_second']:12,.0f}   {'the same batches' if same else 'other batches'}")
    sys.exit(not same)


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "--flip":
        flip(sys.argv[2])
    elif len(sys.argv) == 5 and sys.argv[1] == "--load":
        tell_load(*sys.argv[2:])
    elif len(sys.argv) == 2:
        make(sys.argv[1])
    else:
        sys.exit(__doc__)
