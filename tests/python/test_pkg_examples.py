"""examples/python, run as a user runs them, on images that the real FFCV wrote."""

import importlib.util
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

import mldf
import pkg
import pytest

EXAMPLES = pathlib.Path(pkg.ROOT) / "examples" / "python"
COUNT = 200
torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed (make torch)")


def run(name, *arguments, status=0):
    env = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE")} | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=2 * pkg.HANG,
        env=env,
    )
    assert done.returncode == status, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    packed = pathlib.Path(pkg.ROOT) / "tests" / "golden" / "beton" / "img_label_raw.beton.zst"
    if shutil.which("zstd") is None:
        pytest.skip("no zstd command: the images stay packed")
    subprocess.run(["zstd", "-q", "-d", packed, "-o", folder / "photos.beton"], check=True)
    out = folder / "small.mldf"
    assert f"{COUNT} samples" in run("make_photos.py", folder / "photos.beton", out, COUNT)
    return out


def test_plain_numpy(photos):
    text = run("plain_numpy.py", photos)
    labels = mldf.open(photos).column("label")
    assert f"labels: {{0: {(labels == 0).sum()}, 1: {(labels == 1).sum()}}}" in text
    mean = [float(x) for x in re.search(r"mean \[(.*?)\]", text).group(1).split()]
    assert all(0.1 < m < 0.9 for m in mean)


@torch
def test_a_small_cnn_learns(photos):
    lines = run("train_cnn.py", photos, "--epochs", 6).splitlines()
    accuracies = [float(line.split()[-1]) for line in lines if line.startswith("epoch")]
    assert len(accuracies) == 6 and max(accuracies) > 0.8


@torch
def test_a_run_that_is_killed_goes_on_where_it_was(photos, tmp_path):
    whole = run("resume.py", photos, tmp_path / "whole.pt", "--log", tmp_path / "whole.log")
    part = tmp_path / "part.pt", "--log", tmp_path / "part.log"
    run("resume.py", photos, *part, "--kill-after", 5, status=-signal.SIGKILL)
    run("resume.py", photos, *part, "--kill-after", 9, "--threads", 1, status=-signal.SIGKILL)  # into the second epoch
    last = run("resume.py", photos, *part, "--threads", 0)
    assert "going on in epoch 1" in last
    assert (tmp_path / "part.log").read_text() == (tmp_path / "whole.log").read_text()
    assert last.splitlines()[-1] == whole.splitlines()[-1]  # the very same weights
    seen = [int(i) for i in (tmp_path / "whole.log").read_text().split()]
    assert sorted(seen[:COUNT]) == sorted(seen[COUNT:]) == list(range(COUNT))


@torch
@pytest.mark.skipif(not pkg.has_loopback(), reason="there is no network, not even of the machine with itself")
def test_a_tiny_gpt_learns_from_packed_text_and_survives_kills(tmp_path):
    licences = sorted(str(p) for p in pathlib.Path("/usr/share/common-licenses").iterdir())[:4]
    run("train_gpt.py", tmp_path / "whole.pt", *licences, "--log", tmp_path / "whole.log")
    part = (tmp_path / "part.pt", *licences, "--log", tmp_path / "part.log")
    run("train_gpt.py", *part, "--kill-after", 17, status=-signal.SIGKILL)
    run("train_gpt.py", *part, "--kill-after", 20, "--threads", 1, status=-signal.SIGKILL)
    run("train_gpt.py", *part, "--threads", 0)
    whole = (tmp_path / "whole.log").read_text()
    assert whole == (tmp_path / "part.log").read_text()  # every loss, in all digits
    losses = [float(line.split()[1]) for line in whole.splitlines()]
    assert len(losses) == 60 and sum(losses[-5:]) / 5 < 0.6 * losses[0]


@torch
def test_two_ranks_train_as_one(photos):
    def launch(count):
        line = r"rank (\d) of (\d): (\d+) steps, (\d+) samples; weights sum to (-?\d+\.\d{4})\n"
        return sorted(re.findall(line, run_torch(count, photos)))

    (one,), (first, second) = launch(1), launch(2)
    assert one[:4] == ("0", "1", "12", "192")
    assert (first[:4], second[:4]) == (("0", "2", "12", "96"), ("1", "2", "12", "96"))
    assert first[4] == second[4] and abs(float(one[4]) - float(first[4])) < 1e-3


def nameless():
    """What runs a command on a machine that cannot look its own name up, where users may make such namespaces."""
    command = [
        "unshare",
        "--user",
        "--map-root-user",
        "--uts",
        "sh",
        "-c",
        'hostname nowhere.invalid && exec "$@"',
        "sh",
    ]
    tried = shutil.which("unshare") and subprocess.run([*command, "true"], capture_output=True, check=False)
    return command if tried and tried.returncode == 0 else []


def run_torch(count, photos):
    env = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE")} | {"OMP_NUM_THREADS": "1"}
    text = (EXAMPLES / "two_ranks.py").read_text()
    how = re.search(r"torchrun (.*) --nproc-per-node 2 two_ranks.py", text).group(1).split()
    command = [sys.executable, "-m", "torch.distributed.run", *how, "--nproc-per-node", str(count)]
    done = subprocess.run(
        [*(nameless() if count > 1 else []), *command, str(EXAMPLES / "two_ranks.py"), str(photos)],
        capture_output=True,
        text=True,
        timeout=2 * pkg.HANG,
        env=env,
    )
    assert done.returncode == 0, done.stderr
    assert "UserWarning" not in done.stderr
    return done.stdout


@torch
@pytest.mark.parametrize(("name", "least"), [("captions.py", 0.6), ("document_ai.py", 0.9)])
def test_samples_of_several_parts_are_learnt(tmp_path, name, least):
    """Of captions a guess is right in 0.29 of the cases, of labels in 0.33."""
    lines = run(name, tmp_path / "work").splitlines()
    losses, right = zip(*((float(x) for x in re.findall(r"\d+\.\d+", line)) for line in lines))
    assert losses[-1] < 0.5 * losses[0] and right[-1] > least


def test_own_type(tmp_path):
    lines = run("own_type.py", tmp_path / "points.mldf").splitlines()
    assert [line.split(",")[0] for line in lines] == ["float32 (40", "float32 (40", "float32 (20"]
    errors = [float(line.split()[-2]) for line in lines]
    assert all(0 < error <= 640 / 65536 / 2 + 1e-4 for error in errors)


@torch
def test_spoken_digits_are_learnt(tmp_path):
    text = run("digits.py", tmp_path)
    right, count = (int(n) for n in re.search(r"(\d+) of (\d+) digits", text).groups())
    assert count == 90
    assert right / count > 0.8


@torch
def test_films_are_told_apart_by_sight_and_sound(tmp_path):
    text = run("clips.py", tmp_path)
    right, count = (int(n) for n in re.search(r"(\d+) of (\d+) films", text).groups())
    assert count == 12
    assert right / count > 0.8
