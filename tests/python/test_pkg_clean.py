"""mldf.clean: what killed runs left."""

import os
import pathlib
import signal
import subprocess
import sys

import mldf
import pytest


def test_a_killed_writer_leaves_a_file_that_clean_removes(tmp_path):
    script = (
        "import mldf, sys\n"
        "w = mldf.Writer(sys.argv[1], {'x': mldf.Int()})\n"
        "w.append({'x': 1})\n"
        "print('open', flush=True)\n"
        "sys.stdin.read()\n"
    )
    target = tmp_path / "k.mldf"
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(target)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "open\n"
    (live,) = mldf.clean(tmp_path)
    assert (live.state, live.action) == ("live", "kept")
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdin.close()
    child.stdout.close()
    (dead,) = mldf.clean(tmp_path, dry_run=True)
    assert (dead.state, dead.action, os.path.exists(dead.path)) == ("dead", "removed", True)
    assert mldf.clean(tmp_path) == [dead]
    assert list(pathlib.Path(tmp_path).iterdir()) == []
    assert mldf.clean(tmp_path) == []


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(mldf.errors.NotFoundError):
        mldf.clean(tmp_path / "none")


def test_a_shortened_file_is_reported_where_it_ends(tmp_path):
    path = tmp_path / "a.mldf"
    mldf.write(path, ({"t": "x" * 5000} for _ in range(200)), fields={"t": mldf.Text()})
    data = mldf.open(path, backend="read")
    os.truncate(path, 5000)
    with pytest.raises(mldf.errors.ChangedError) as caught:
        data[199]
    assert caught.value.offset == 5000
    assert caught.value.sample == 199
    assert "ends at byte 5000" in str(caught.value)
