"""A file that is replaced, renamed or removed while it is changed in place: what was added would be in a file that nobody finds, so the
command ends with an error, and what has the name then keeps every byte."""

import os
import subprocess
import time
from pathlib import Path

import mldf
import pytest

ROOT = Path(os.environ.get("MLDF_SOURCE_DIR") or Path(__file__).resolve().parents[2])
MLDF = os.environ.get("MLDF") or str(ROOT / "build" / "dev" / "bin" / "mldf")
ROW = "x" * 1000 + "\n"


def replace(folder):
    os.rename(folder / "other.mldf", folder / "a.mldf")
    return "is another file now: it was replaced meanwhile"


def pack_over(folder):
    subprocess.run([MLDF, "pack", "-q", "-f", "other.csv", "-o", "a.mldf"], cwd=folder, check=True)
    return "is another file now: it was replaced meanwhile"


def rename(folder):
    os.rename(folder / "a.mldf", folder / "moved.mldf")
    return "is gone: it was removed or renamed meanwhile"


def remove(folder):
    os.unlink(folder / "a.mldf")
    return "is gone: it was removed or renamed meanwhile"


EVENTS = [replace, pack_over, rename, remove]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.csv").write_text("t\none\ntwo\n")
    (tmp_path / "other.csv").write_text("t\nother\n")
    for name in ("a", "other"):
        subprocess.run([MLDF, "pack", "-q", f"{name}.csv", "-o", f"{name}.mldf"], cwd=tmp_path, check=True)
    return tmp_path


def wait_until_it_grows(fd, before):
    """What is fed arrives in the file while the command runs."""
    end = time.monotonic() + 60
    while os.fstat(fd).st_size <= before:
        assert time.monotonic() < end, "nothing was written"
        time.sleep(0.01)


@pytest.mark.parametrize("event", EVENTS)
def test_append(folder, event):
    before = (folder / "a.mldf").read_bytes()
    with (folder / "a.mldf").open("rb") as same:
        command = subprocess.Popen([MLDF, "append", "-q", "a.mldf", "-", "--format", "csv"], cwd=folder, stdin=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        command.stdin.write("t\n" + ROW * 5000)
        command.stdin.flush()
        wait_until_it_grows(same.fileno(), len(before))
        said = event(folder)
        there = (folder / "a.mldf").read_bytes() if (folder / "a.mldf").exists() else None
        _, errors = command.communicate()
        assert command.returncode == 3 and errors == f"mldf append: a.mldf: {said}: nothing was added\n"
        assert (folder / "a.mldf").exists() == (there is not None)
        assert there is None or (folder / "a.mldf").read_bytes() == there
        assert same.read() == before  # the file itself, whatever its name


@pytest.mark.parametrize("event", EVENTS)
def test_add_field(folder, event):
    (folder / "long.csv").write_text("t\n" + "a\n" * 5000)
    subprocess.run([MLDF, "pack", "-q", "-f", "long.csv", "-o", "a.mldf"], cwd=folder, check=True)
    before = (folder / "a.mldf").read_bytes()
    os.mkfifo(folder / "pipe")
    with (folder / "a.mldf").open("rb") as same:
        command = subprocess.Popen([MLDF, "add-field", "-q", "a.mldf", "more=pipe", "--format", "csv", "--schema",
                                    '{"fields":[{"name":"more","type":"text"}]}'], cwd=folder, stderr=subprocess.PIPE, text=True)
        with (folder / "pipe").open("w") as pipe:
            pipe.write("more\n" + ROW * 4000)
            pipe.flush()
            wait_until_it_grows(same.fileno(), len(before))
            said = event(folder)
            pipe.write(ROW * 1000)
        _, errors = command.communicate()
        assert command.returncode == 3 and errors == f"mldf add-field: a.mldf: {said}: nothing was added\n"
        assert same.read() == before


@pytest.mark.parametrize("event", EVENTS)
def test_python(folder, event):
    writer = mldf.Writer.existing(folder / "a.mldf")
    writer.append({"t": "three"})
    said = event(folder)
    with pytest.raises(mldf.errors.ChangedError, match=said):
        writer.finish()


def test_a_change_of_folder_is_none_of_the_name(folder, monkeypatch):
    monkeypatch.chdir(folder)
    writer = mldf.Writer.existing("a.mldf")
    writer.append({"t": "three"})
    monkeypatch.chdir("/")
    writer.finish()
    assert len(mldf.open(folder / "a.mldf")) == 3


@pytest.mark.parametrize("event", EVENTS)
def test_repack(folder, event):
    """In place: what took the name meanwhile is not replaced by what the file was before."""
    said = []

    def happen(_):
        if not said:
            said.append(event(folder))
            said.append((folder / "a.mldf").read_bytes() if (folder / "a.mldf").exists() else None)

    with pytest.raises(mldf.errors.ChangedError, match="meanwhile: it stays as it is"):
        mldf.repack(folder / "a.mldf", progress=happen)
    assert ((folder / "a.mldf").read_bytes() if (folder / "a.mldf").exists() else None) == said[1]
    assert not [name for name in os.listdir(folder) if name.endswith(".tmp")]
