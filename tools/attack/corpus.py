"""The files that are attacked: the specification's vectors, golden files, images, and small files made here."""

import io
import json
import random
import subprocess
import tarfile
from pathlib import Path

KEY = "6d5fc64f02338b63779cfaf7c88ec777bc63efa42e07839ccbb0de9a93bf7bdb"

STATES = [
    '{"algorithm":1,"consumed":64,"count":1000,"digest":"00112233445566778899aabbccddeeff","epoch":3}',
    '{"algorithm":1,"consumed":0,"count":0,"digest":"ffffffffffffffffffffffffffffffff","epoch":0,"more":[1,{"a":null}]}',
]
SCHEMAS = [
    {"fields": [{"name": "label", "type": "int"}, {"name": "x", "type": "float", "nullable": True}]},
    {"fields": [{"name": "a", "type": "ndarray", "arguments": {"dtype": "<f4", "shape": [2, None]}}]},
    {"fields": [{"name": "t", "type": "text"}, {"name": "j", "type": "json"}, {"name": "b", "type": "bytes"}]},
]
CARDS = [{"title": "flowers", "classes": ["a", "b"], "mean": [0.1, 0.2]}, {"licence": "CC0", "n": {"deep": [[[1]]]}}]


def rows(count, seed=1):
    """Rows of a table with every easy type; the same for a seed."""
    r = random.Random(seed)
    for i in range(count):
        yield {
            "id": f"k{i:06d}",
            "label": i % 5,
            "value": r.random() if i % 7 else None,
            "name": "".join(r.choice("abcdefgh ") for _ in range(r.randrange(1, 40))),
            "xy": [r.randrange(100) / 4, r.randrange(100) / 4],
            "more": {"n": i, "list": [1, "two", None]},
        }


def write_jsonl(path, count, seed=1):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows(count, seed)))


def write_tables(folder, count=12):
    write_jsonl(folder / "rows.jsonl", count)
    lines = ["id,label,value,name"]
    for row in rows(count):
        value = "" if row["value"] is None else row["value"]
        lines.append(f'{row["id"]},{row["label"]},{value},"{row["name"]}"')
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")


def write_tar(path, mode, images, count=5):
    with tarfile.open(path, mode) as tar:
        for i in range(count):
            for name, data in (
                (f"s{i:03d}.cls", str(i).encode()),
                (f"s{i:03d}.json", json.dumps({"i": i}).encode()),
                (f"s{i:03d}.jpg", images[i % len(images)]),
            ):
                info = tarfile.TarInfo(name)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))


class Corpus:
    """Files below a folder, with their kinds and secrets."""

    def __init__(self, root, folder, mldf):
        self.root, self.folder, self.mldf = root, folder, mldf
        self.files = []  # (kind, path, secret)
        folder.mkdir(parents=True)
        self.key = folder / "key"
        self.key.write_bytes(bytes.fromhex(KEY))
        self.vectors()
        self.golden()
        self.made()
        self.texts()

    def add(self, kind, path, secret=""):
        self.files.append((kind, Path(path), secret))

    def run(self, *args):
        done = subprocess.run([self.mldf, *args], capture_output=True, cwd=self.folder)
        if done.returncode:
            raise SystemExit(f"attack: mldf {' '.join(args)}: {done.stderr.decode()}")

    def vectors(self):
        valid = self.root / "docs/spec/vectors/valid"
        for entry in json.loads((valid / "manifest.json").read_text()):
            secret = f"key:{entry['key']}" if entry["key"] else ""
            secret = f"passphrase:{entry['passphrase']}" if entry["passphrase"] else secret
            for _ in range(3 if entry["key"] else 1):
                self.add("crypt" if secret else "mldf", valid / entry["file"], secret)

    def golden(self):
        for path in sorted((self.root / "tests/golden/draft").glob("*.mldf")):
            self.add("mldf", path)
        for golden in (self.root / "tests/golden", self.root.parent / "shared/golden"):
            for path in sorted(golden.glob("tbl/*.tbl")):
                self.add("tbl", path)
            for path in sorted(golden.glob("beton/*.beton*")):
                target = self.folder / path.name.removesuffix(".zst")
                if target.exists() or path.suffix not in (".zst", ".beton"):
                    continue
                if path.suffix == ".zst":
                    with target.open("wb") as out:
                        subprocess.run(["zstd", "-dc", path], check=True, stdout=out)
                else:
                    target.write_bytes(path.read_bytes())
                if target.stat().st_size < 200_000:
                    self.add("beton", target)

    def made(self):
        images = self.root / "tests/data/images"
        for path in sorted(images.iterdir()):
            if path.stat().st_size:
                self.add("image", path)
        jpegs = [p.read_bytes() for p in (images / "gray.jpg", images / "rgb.jpg")]
        write_tables(self.folder)
        self.add("csv", self.folder / "rows.csv")
        self.add("jsonl", self.folder / "rows.jsonl")
        write_tar(self.folder / "plain.tar", "w", jpegs)
        write_tar(self.folder / "packed.tar.gz", "w:gz", jpegs)
        self.run("convert", "plain.tar", "-o", "packed.tar.zst")
        for name in ("plain.tar", "packed.tar.gz", "packed.tar.zst"):
            self.add("tar", self.folder / name)
        self.run("pack", "rows.jsonl", "-o", "keyed.mldf", "--key-column", "id")
        self.run("pack", "rows.jsonl", "-o", "zstd.mldf", "--compress", "name", "--compress", "more")
        self.run("pack", "plain.tar", "-o", "tar.mldf")
        self.run(
            "pack", "rows.jsonl", "-o", "secret.mldf", "--key-column", "id", "--encrypt", "key", "--compress", "name"
        )
        text = "".join(json.dumps({**row, "id": row["id"] + "x"}) + "\n" for row in rows(5, 2))
        (self.folder / "tail.jsonl").write_text(text)
        self.run("append", "keyed.mldf", "tail.jsonl", "--key-column", "id")
        for name in ("keyed.mldf", "zstd.mldf", "tar.mldf"):
            self.add("mldf", self.folder / name)
        for _ in range(4):
            self.add("crypt", self.folder / "secret.mldf", f"key:{KEY}")

    def texts(self):
        for kind, texts in (("state", STATES), ("schema", map(json.dumps, SCHEMAS)), ("card", map(json.dumps, CARDS))):
            for i, text in enumerate(texts):
                path = self.folder / f"{kind}{i}.json"
                path.write_text(text)
                self.add(kind, path)
        for path in sorted((self.root / "fuzz/corpus/pipeline_parse").iterdir())[::20]:
            self.add("pipeline", path)

    def lines(self):
        return "".join(f"{kind}\t{path}\t{secret}\n" for kind, path, secret in self.files)
