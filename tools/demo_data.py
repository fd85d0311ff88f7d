#!/usr/bin/env python3
"""Makes the demo's input from what the system has.

    tools/demo_data.py FOLDER        writes first.jsonl, second.jsonl, schema.json, card.json, first_text.txt, packages.csv
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

LIMIT = 400


def documents():
    seen = set()
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
        yield {
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
    samples = list(documents())
    half = (len(samples) + 1) // 2
    for name, part in (("first.jsonl", samples[:half]), ("second.jsonl", samples[half:])):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            for sample in part:
                file.write(json.dumps(sample, ensure_ascii=False) + "\n")
    with open(os.path.join(folder, "first_text.txt"), "w", encoding="utf-8", newline="") as file:
        file.write(samples[0]["text"])
    schema = {"fields": [
        {"name": "name", "type": "text"},
        {"name": "lines", "type": "int"},
        {"name": "mean_line", "type": "float"},
        {"name": "letters", "type": "ndarray", "dtype": "<u4", "shape": [26]},
        {"name": "extra", "type": "json", "nullable": True},
        {"name": "text", "type": "text"},
    ]}
    card = {"title": "Licence and copyright texts of a Debian system", "source": "/usr/share", "licence": "as each text says"}
    for name, value in (("schema.json", schema), ("card.json", card)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            json.dump(value, file, indent=2)
    packages = write_packages(os.path.join(folder, "packages.csv"))
    print(f"{len(samples)} texts with letter counts, and a table of {packages} packages")


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


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "--flip":
        flip(sys.argv[2])
    elif len(sys.argv) == 2:
        make(sys.argv[1])
    else:
        sys.exit(__doc__)
