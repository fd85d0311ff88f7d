"""The net, part four: what every command prints with --json on the specification's vectors and on files of other formats: keys and types of
values, as tests/net/command.json says. And the hashes of `mldf bench --hash`, which are the library's own.
"""

import json
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import net_data
import net_run
import pkg
import pytest

COMMAND = os.environ.get("MLDF")
pytestmark = pytest.mark.skipif(not COMMAND, reason="MLDF does not name the command mldf")
EXPECTED = net_run.stored("command.json")
SHAPES = EXPECTED.get("shapes", {})  # each once, under its hash; the commands that write have few
VALID = pkg.ROOT / "docs" / "spec" / "vectors" / "valid"
GOLDEN = pkg.ROOT / "tests" / "golden"
MANIFEST = {entry["file"]: entry for entry in json.loads((VALID / "manifest.json").read_text())}
MADE = [
    "fixed",
    "sizes",
    "pngs",
    "values",
    "nulls",
    "bad",
    "jpegs",
    "every_codec",
    "custom",
    "tar",
    "fixed.beton",
    "jpegs.tbl",
]

# {} is the file, OUT a new name in a folder of its own, COPY a copy of the file.
READ = {
    "info": "info {}",
    "head": "head {}",
    "cat": "cat {}",
    "cat some": "cat --samples 0 {}",
    "verify": "verify {}",
    "verify deep": "verify --deep {}",
    "diff": "diff {} {}",
    "stats": "stats {}",
    "bench": "bench --codegen off --hash --explain -j 1 --on-error skip {}",
    "repack": "repack {} -o OUT.mldf",
    "repair": "repair {} -o OUT.mldf",
    "repair in place": "repair COPY",
    "convert to mldf": "convert {} -o OUT.mldf --decrypt",
    "convert to tar": "convert {} -o OUT.tar",
    "convert to tbl": "convert {} -o OUT.tbl --drop-fields --on-error skip",
    "convert to beton": "convert {} -o OUT.beton --on-error skip",
    "merge": "merge {} -o OUT.mldf",
    "select": "select {} -o OUT.mldf --samples 0",
    "split": "split {} -o OUT-{{}}.mldf --count 2",
    "extract": "extract {} -o OUT",
    "append": "append COPY {}",
}
ALONE = {
    "plan": [
        "plan",
        "--samples",
        "10",
        "--schema",
        '{"fields":[{"name":"i","type":"int"},{"name":"b","type":"bytes"}]}',
    ],
    "plan, known": ["plan", "--samples", "10", "--payload-bytes", "b=7", "--schema", '[{"name":"b","type":"bytes"}]'],
    "pack table": ["pack", "table.jsonl", "-o", "out.mldf"],
    "pack table, skip": [
        "pack",
        "rows.csv",
        "-o",
        "out.mldf",
        "--on-error",
        "skip",
        "--schema",
        '[{"name":"n","type":"int"}]',
    ],
    "pack folder": ["pack", "photos", "-o", "out.mldf", "--on-error=skip"],
    "pack folder, encode": [
        "pack",
        "photos",
        "-o",
        "out.mldf",
        "--on-error=skip",
        "--encode",
        "jpeg",
        "--max-resolution",
        "16",
    ],
    "pack tar": ["pack", "samples.tar", "-o", "out.mldf"],
    "append table": ["append", "kept.mldf", "table.jsonl"],
    "append keys": ["append", "kept.mldf", "kept.mldf"],
    "add-field": ["add-field", "kept.mldf", "again=table.jsonl", "--column", "n"],
    "diff differs": ["diff", "kept.mldf", "samples.tar"],
    "tar_to_tbl": ["../tar_to_tbl", "samples.tar", "out.tbl"],
    "missing": ["info", "nowhere.mldf"],
    "no dataset": ["verify", "rows.csv"],
}
BENCH = {
    "default": ["fixed", "--batch-size", "4"],
    "random": [
        "fixed",
        "--batch-size",
        "4",
        "--order",
        "random",
        "--seed",
        "9",
        "--epochs",
        "2",
        "-p",
        "image: random_crop(9) | hflip",
    ],
    "quasi-random": ["many", "--batch-size", "16", "--order", "quasi-random", "--block", "5", "--window", "3"],
    "buckets": [
        "many",
        "--order",
        "random",
        "-p",
        "list: pad",
        "--batch-size",
        "8",
        "--bucket-window",
        "64",
        "--epochs",
        "2",
    ],
    "budget": ["many", "--order", "random", "-p", "list: pad(mask=true)", "--bucket-window", "64", "--budget", "200"],
    "ragged": ["values", "-p", "list: ragged\ntext: ragged", "--last", "pad", "--batch-size", "4"],
    "skip": ["bad", "-p", "image: pad", "--on-error", "skip", "--batch-size", "4"],
    "substitute": [
        "bad",
        "-p",
        "image: resize([8, 8])",
        "--on-error",
        "substitute",
        "--order",
        "random",
        "--batch-size",
        "4",
        "--last",
        "drop",
    ],
    "pairs": ["fixed", "-p", "image: mixup(0.3) | chw(f32)\nlabel: label_mixup", "--batch-size", "5"],
}


# Keys that --json has got since the net was written, by command: keys once shipped stay, new ones may come. They have tests of their own.
ADDED = {"info": {"header", "pages", "fill_ratio"}, "stats": {"measures", "class_name"}}


def without(value, keys):
    """The document without these keys, at any depth."""
    if isinstance(value, dict):
        return {key: without(item, keys) for key, item in value.items() if key not in keys}
    return [without(item, keys) for item in value] if isinstance(value, list) else value


def shape(value):
    """Keys and types; of a list, the different shapes of its items."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [json.loads(text) for text in sorted({json.dumps(shape(item)) for item in value})]
    return {bool: "bool", int: "int", float: "float", str: "text", type(None): "null"}[type(value)]


def as_text(done):
    """The exit status, and each different line's shape."""
    lines, added = [], ADDED.get(done.args[1], set())
    for line in done.stdout.splitlines():
        try:
            lines.append(
                json.dumps(shape(without(json.loads(line), added)), separators=(",", ":"), ensure_ascii=False).replace('"', "")
            )
        except ValueError:
            lines.append("not JSON")
    return [done.returncode, *dict.fromkeys(lines)]


def expanded(stored):
    """The shapes in place of their hashes."""
    return [stored[0], *(SHAPES[name] for name in stored[1:])]


def run(arguments, cwd):
    program = [COMMAND, *arguments]
    if arguments[0].startswith("../"):  # a program beside it
        program = [Path(COMMAND).with_name(arguments[0][3:]), *arguments[1:]]
    return subprocess.run([*program, "--json", "-q"], cwd=cwd, capture_output=True, text=True, timeout=pkg.HANG)


class Sources:
    """The files that the commands are given, by name."""

    def __init__(self, root):
        self.root = Path(root)
        self.folder = net_data.Folder(self.root)
        self.files = {f"vectors/{p.name}": p for p in sorted(VALID.glob("*.mldf"))}
        for p in sorted((GOLDEN / "draft").glob("*.mldf")) + sorted((GOLDEN / "tbl").glob("*.tbl")):
            self.files[f"{p.parent.name}/{p.name}"] = p
        for p in sorted((GOLDEN / "beton").glob("*.beton.zst")) if shutil.which("zstd") else []:
            if p.stat().st_size < 70_000:
                out = self.root / p.stem
                subprocess.run(["zstd", "-q", "-f", "-d", p, "-o", out], check=True)
                self.files[f"beton/{p.stem}"] = out
        for name in MADE:
            self.files[f"made/{name}"] = self.folder.path(name)

    def secret(self, path):
        entry = MANIFEST.get(path.name, {}) if path.parent == VALID else {}
        for kind, option in (("key", "--key"), ("passphrase", "--passphrase-file")):
            if entry.get(kind):
                file = self.root / f"{path.name}.{kind}"
                file.write_text(entry[kind] + "\n")
                return [option, str(file)]
        return []

    def of_file(self, name):
        """All commands on one file."""
        path, out = self.files[name], {}
        for command, text in READ.items():
            scratch = self.root / "out" / name.replace("/", "_") / command.replace(" ", "_")
            scratch.mkdir(parents=True)
            words = []
            for word in text.split():
                if word == "COPY":
                    words.append(shutil.copy(path, scratch / f"copy{path.suffix}"))
                else:
                    words.append(
                        word.replace("{{}}", "%d").replace("{}", str(path)).replace("OUT", str(scratch / "out"))
                    )
            out[command] = as_text(run([str(w) for w in words] + self.secret(path), scratch))
        shutil.rmtree(self.root / "out" / name.replace("/", "_"))
        return out

    def alone(self, name):
        scratch = self.root / "alone" / name.replace(" ", "_")
        (scratch / "photos" / "a").mkdir(parents=True)
        (scratch / "photos" / "b").mkdir()
        rows = [json.dumps({"n": i, "text": f"t{i}", "x": [i / 2, 1.5], "pose": {"x": i}}) for i in range(3)]
        (scratch / "table.jsonl").write_text("\n".join(rows) + "\n")
        (scratch / "rows.csv").write_text("n\n1\nword\n3\n")
        for i in range(2):
            (scratch / "photos" / "ab"[i] / f"{i}.png").write_bytes(net_data.png(net_data.photo(i, 20, 30)))
        (scratch / "photos" / "a" / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\nbroken")
        shutil.copy(self.folder.path("tar"), scratch / "samples.tar")
        run(["pack", "table.jsonl", "-o", "kept.mldf"], scratch)
        done = as_text(run(ALONE[name], scratch))
        shutil.rmtree(scratch)
        return done

    def bench(self, name, *more):
        data, *words = BENCH[name]
        done = run(["bench", "--hash", "--codegen", "off", str(self.folder.path(data)), *words, *more], self.root)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["batch_hashes"]


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    return Sources(tmp_path_factory.mktemp("command"))


def current(folder):
    """What tests/net/write.py writes."""
    sources = Sources(folder.root)
    found = {
        ("files", name, command): value for name in sources.files for command, value in sources.of_file(name).items()
    }
    found |= {("alone", name): sources.alone(name) for name in ALONE}
    for place, (status, *shapes) in found.items():
        names = {net_run.digest(text.encode()): text for text in shapes}
        yield "command.json", place, [status, *names]
        for name, text in names.items():
            yield "command.json", ("shapes", name), text
    for name in BENCH:
        yield "command.json", ["bench", name], sources.bench(name)


def test_json_of_every_command_on_every_file(sources):
    net_run.need("zstd", "sodium", "lz4", "webp", "tiff")
    if shutil.which("zstd") is None:
        pytest.skip("no zstd command")
    with ThreadPoolExecutor(2) as pool:
        got = dict(zip(sources.files, pool.map(sources.of_file, sources.files)))
    wanted = {name: {command: expanded(v) for command, v in file.items()} for name, file in EXPECTED["files"].items()}
    lines = net_run.differences("files", wanted, got)
    assert not lines, "\n".join(lines[:10])


@pytest.mark.parametrize("name", ALONE)
def test_json_of_commands(sources, name):
    assert sources.alone(name) == expanded(EXPECTED["alone"][name])


@pytest.mark.parametrize("name", BENCH)
def test_hashes_of_bench(sources, name):
    for more in ([], ["--reference", "-j", "0"], ["--isa", "portable", "-j", "3"], ["--backend", "read", "-j", "2"]):
        lines = net_run.differences(f"bench {name} {more}", EXPECTED["bench"][name], sources.bench(name, *more))
        assert not lines, "\n".join(lines)
