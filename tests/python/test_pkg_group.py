"""Loader(group=): with tensor parallelism, processes of one data-parallel rank get equal batches."""

import json
import subprocess
import sys

import mldf
import numpy as np
import pytest

torch = pytest.importorskip("torch")

RUN = """
import json, sys
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
import mldf

rank, store, path, out = int(sys.argv[1]), *sys.argv[2:]
dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=4)
mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
found = {}
for name, group in (("mesh", mesh["dp"]), ("group", mesh["dp"].get_group()), ("world", None)):
    view = "packed(tokens, 32)"
    with mldf.Loader(path, 4, shuffle=True, seed=3, view=view, fields=["tokens"], group=group) as loader:
        found[name] = [b.tokens.tolist() for b in loader]
        found[name + "_rank"] = [loader.rank, loader.world_size]
try:
    mldf.Loader(path, 4, group=mesh)
except mldf.errors.ArgumentError as error:
    found["error"] = str(error)
found["tp"] = mesh["tp"].get_local_rank()
open(out + str(rank), "w").write(json.dumps(found))
dist.barrier()
dist.destroy_process_group()
"""


def test_four_processes_of_which_two_share_the_data(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "a.mldf"
    with mldf.Writer(path, {"tokens": mldf.Tokens(1000, pad=0)}) as w:
        w.extend({"tokens": rng.integers(1, 1000, n)} for n in rng.integers(1, 40, 100))
    arguments = [str(tmp_path / "store"), str(path), str(tmp_path / "out")]
    runs = [subprocess.Popen([sys.executable, "-c", RUN, str(r), *arguments], stderr=subprocess.PIPE) for r in range(4)]
    for run in runs:
        errors = run.communicate(timeout=120)[1].decode()
        assert run.returncode == 0, errors
    found = [json.loads((tmp_path / f"out{r}").read_text()) for r in range(4)]
    assert [f["mesh_rank"] for f in found] == [[0, 2], [0, 2], [1, 2], [1, 2]] and [f["tp"] for f in found] == [
        0,
        1,
    ] * 2
    assert [f["world_rank"] for f in found] == [[r, 4] for r in range(4)]
    for f in found:
        assert f["mesh"] == f["group"] and "one dimension" in f["error"]
    assert found[0]["mesh"] == found[1]["mesh"] != found[2]["mesh"] == found[3]["mesh"]
    with mldf.Loader(path, 8, view="packed(tokens, 32)", fields=["tokens"], rank=0, world_size=1) as loader:
        whole = sorted(row for b in loader for row in b.tokens.tolist())
    assert sorted(row for r in (0, 2) for b in found[r]["mesh"] for row in b) == whole


def test_what_is_no_group_is_refused(tmp_path):
    path = tmp_path / "a.mldf"
    mldf.write(path, [{"x": 1}])
    with pytest.raises(mldf.errors.WrongTypeError, match="ProcessGroup"):
        mldf.Loader(path, 1, group=3)
    with pytest.raises(mldf.errors.ArgumentError, match="one of them"):
        mldf.Loader(path, 1, group=3, rank=0, world_size=1)


def test_shares_of_mixtures(tmp_path):
    files = []
    for k in range(3):
        files.append(tmp_path / f"{k}.mldf")
        mldf.write(files[-1], [{"x": k}] * 50)
    with mldf.Loader(files, 100, ratios=[0.5, 0.3, 0.2], samples_per_epoch=10_000) as loader:
        drawn = np.concatenate([b.x for b in loader])
    assert np.bincount(drawn).tolist() == [5000, 3000, 2000]
    with mldf.Loader(files, 100, ratios=[1 / 3] * 3, samples_per_epoch=10_000) as loader:
        assert np.bincount(np.concatenate([b.x for b in loader])).tolist() == [3334, 3333, 3333]
    for ratios, error, words in (
        ([0.5, 0.5, -0.1], mldf.errors.ArgumentError, "above 0"),
        ([1.0, 1.0, float("nan")], mldf.errors.ArgumentError, "above 0"),
        ([1.0, 1.0, 1e-6], mldf.errors.ArgumentError, "below 0.0001"),
        ([1.0, "a", 1], mldf.errors.WrongTypeError, "numbers are needed"),
    ):
        with pytest.raises(error, match=words):
            mldf.Loader(files, 4, ratios=ratios)
