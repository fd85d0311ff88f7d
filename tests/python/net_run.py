"""The net's machinery: runs a case, writes down what came out, says where it differs from what stands in tests/net.

Each array of each batch has a hash of its own, so that a difference names the pipeline, the batch, the output and both hashes.
"""

import hashlib
import json
import warnings
from dataclasses import dataclass, field
from typing import Any

import mldf
import numpy as np
import pkg
import pytest
from mldf import _mldf

STORED = pkg.ROOT / "tests" / "net"


@dataclass(frozen=True)
class Case:
    """A loader to run. name: for ever, since the expected values stand under it."""

    name: str
    data: str
    """Names of net_data.py, joined by + where several files are one dataset."""
    pipeline: Any = None
    batch: int = 5
    epochs: tuple[int, ...] = (0,)
    worlds: tuple[int, ...] = (1,)
    """All ranks of each number of ranks are run."""
    options: dict[str, Any] = field(default_factory=dict)
    """Of mldf.Loader."""
    open: dict[str, Any] = field(default_factory=dict)
    """Of mldf.open."""

    def loader(self, folder, rank=0, world=1, backend="map", **variant):
        dataset = folder.open(self.data, backend=backend, **self.open)
        valid = self.worlds != (1,) or world > 1 or self.options.get("last") == "pad"  # else it is always true
        given = {"threads": 1, "codegen": "off", "index": True, "valid": valid, **self.options, **variant}
        if "global_batch_size" not in given:
            given["batch_size"] = self.batch
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # fields that are left out
            return mldf.Loader(dataset, pipelines=self.pipeline, rank=rank, world_size=world, **given)


def described(batch, kinds):
    """ "image uint8[5,20,28,3] 0123456789" for each array; what is no array (keys, user-defined fields) is written out."""
    out = []
    for name, array in zip(batch._fields, batch):
        if isinstance(array, np.ndarray):
            # In NumPy bfloat16 is that of ml_dtypes, or its bits where that is missing: the bytes are the same.
            kind = "bfloat16" if kinds.get(name) == "bfloat16" else array.dtype.name
            shape = ",".join(map(str, array.shape))
            out.append(f"{name} {kind}[{shape}] {digest(np.ascontiguousarray(array).tobytes())}")
        else:
            data = json.dumps([v.tolist() if isinstance(v, np.ndarray) else v for v in array]).encode()
            out.append(f"{name} {type(array).__name__}[{len(array)}] {digest(data)}")
    return out


def need(*names):
    """Skips where the library was built without a codec."""
    missing = set(names) - set(_mldf.features.split())
    if missing:
        pytest.skip(f"libmldf was built without {', '.join(sorted(missing))}")


CODECS_OF = {"zstd": ["zstd"], "dictionary": ["zstd"], "secret": ["sodium"], "webps": ["webp"], "every_codec": ["webp"]}


def need_codecs(case):
    for name in case.data.split("+"):
        need(*CODECS_OF.get(name, ()))


def digest(data):
    return hashlib.blake2b(data, digest_size=5).hexdigest()


def outputs(loader):
    """What the library says of its outputs before the first batch: name, element type, dims with ? where they vary."""
    return [
        f"{name} {kind}[{','.join('?' if d is None else str(d) for d in dims)}]"
        for name, kind, dims in loader._made.core.outputs()
    ]


def ledger(loader):
    """The bad samples without their messages, whose words may change."""
    wanted = ("file", "sample", "epoch", "position", "substitute", "status", "field")
    return [" ".join(f"{name}={bad[name]}" for name in wanted) for bad in loader.bad_samples()]


def record(case, folder, **variant):
    """All that a case gives: outputs, batches of every rank and epoch, bad samples."""
    out = {"outputs": None, "batches": {}}
    for world in case.worlds:
        for rank in range(world):
            with case.loader(folder, rank, world, **variant) as loader:
                out["outputs"] = outputs(loader)
                out["batches"] |= run_epochs(case, loader, f"rank {rank}/{world}")
                # When an error is raised, how many more of its batch the threads had met is chance.
                bad = ledger(loader) if case.options.get("on_error") else []
                if bad:
                    out.setdefault("bad", {})[f"rank {rank}/{world}"] = bad
    return out


def run_epochs(case, loader, label):
    out = {}
    for epoch in case.epochs:
        loader.set_epoch(epoch)
        count, found = len(loader), run(loader, f"{label} epoch {epoch}")
        assert count == len(found), f"{case.name}: the loader counted {count} batches, and gave {len(found)}"
        out |= found
    return out


def run(loader, label, most=None):
    """The batches of what is left of an epoch, at most so many."""
    out, iterator, kinds = {}, iter(loader), {name: kind for name, kind, _ in loader._made.core.outputs()}
    while most is None or len(out) < most:
        where = f"{label} batch {len(out)}"
        try:
            out[where] = described(next(iterator), kinds)
        except StopIteration:
            break
        except mldf.Error as error:  # on_error="raise": the batch behind comes next
            out[where] = [f"{type(error).__name__} sample={error.sample} field={error.field}"]
    return out


def differences(name, expected, got):
    """Lines, each with the place, what stands in tests/net and what came out; none: they are equal."""
    lines = []

    def compare(where, a, b):
        if a == b:
            return
        if isinstance(a, dict) and isinstance(b, dict):
            for key in dict.fromkeys([*a, *b]):
                compare(f"{where}, {key}", a.get(key), b.get(key))
        elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
            for i, (x, y) in enumerate(zip(a, b)):
                compare(f"{where}, {i}", x, y)
        else:
            lines.append(f"{where}\n    expected {a}\n    got      {b}")

    compare(name, expected, got)
    return lines


def check(case, expected, got, variant=""):
    """Fails with the first differences."""
    lines = differences(f"{case.name}{variant}", expected, got)
    if lines:
        shown = "\n".join(lines[:6])
        raise AssertionError(f"{len(lines)} differences\npipeline: {case.pipeline}\noptions: {case.options}\n{shown}")


def stored(name):
    path = STORED / name
    return json.loads(path.read_text()) if path.exists() else {}


def dump(name, value):
    """One line for each batch, so that a change can be read."""

    def text(item, depth):
        if not isinstance(item, dict) or not item:
            return json.dumps(item, ensure_ascii=False)
        inner = ",\n".join(
            f"{' ' * depth}{json.dumps(k, ensure_ascii=False)}: {text(v, depth + 1)}" for k, v in item.items()
        )
        return "{\n" + inner + "\n" + " " * (depth - 1) + "}"

    (STORED / name).write_text(text(value, 1) + "\n")
