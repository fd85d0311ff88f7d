"""What the package promises about itself: examples that run, a light import, types, one version."""

import doctest
import importlib
import inspect
import pathlib
import pkgutil
import subprocess
import sys
import tempfile

import mldf
import pkg
import pytest

MODULES = ["mldf"] + [f"mldf.{m.name}" for m in pkgutil.iter_modules(mldf.__path__) if m.name != "_mldf"]


@pytest.fixture(autouse=True)
def temporary_files_go_away(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    found = doctest.testmod(importlib.import_module(name), verbose=False)
    assert found.failed == 0


def test_there_are_examples():
    assert sum(doctest.testmod(importlib.import_module(n)).attempted for n in MODULES) > 40


def test_everything_public_is_documented():
    for name in mldf.__all__:
        thing = getattr(mldf, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert thing.__doc__, name
            for member, value in vars(thing).items() if inspect.isclass(thing) else ():
                if not member.startswith("_") and inspect.isfunction(value) and member not in ("arguments", "describe"):
                    assert value.__doc__, f"{name}.{member}"


def test_import_needs_numpy_alone_and_little_besides():
    """What makes an import slow, counted and not timed: modules that NumPy has not brought already."""
    program = "import sys, numpy; had = set(sys.modules); import mldf; print(*sorted(set(sys.modules) - had))"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    others = {name.partition(".")[0] for name in found} - {"mldf", "numpy"}
    assert others <= set(sys.stdlib_module_names) - {"asyncio"} and len(others) < 40, others
    assert not any(name.startswith("mldf.compat") for name in found)


def test_version_and_types():
    assert mldf.__version__ == (pkg.ROOT / "VERSION").read_text().strip()
    assert (pathlib.Path(mldf.__file__).parent / "py.typed").exists()
    assert {"zstd", "jpeg", "png"} <= set(mldf.features)


def test_the_extension_exports_its_own_entry_alone():
    done = subprocess.run(
        ["nm", "-D", "--defined-only", mldf._mldf.__file__], capture_output=True, text=True, check=True
    )
    assert [line.split()[-1] for line in done.stdout.splitlines()] == ["PyInit__mldf"]


def test_every_status_has_its_exception(tmp_path):
    header = (pkg.ROOT / "include/mldf/base.h").read_text()
    import re

    table = (pkg.ROOT / "python/_mldf/py_error.c").read_text()
    for status in re.findall(r"\b(MLDF_E_[A-Z_]+) = -", header):
        assert f"{{{status}, " in table, status
    names = {cls.status for cls in vars(mldf.errors).values() if inspect.isclass(cls) and issubclass(cls, mldf.Error)}
    assert {"checksum", "no_field", "not_found"} <= names


def test_errors_can_be_pickled(tmp_path):
    import pickle

    with pytest.raises(mldf.Error) as caught:
        mldf.open(tmp_path / "nothing")
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is type(caught.value) and str(again) == str(caught.value) and again.status == "not_found"
    assert caught.value.errno == 2
    missing = pkg.make(tmp_path / "a.mldf", 2)
    with pytest.raises(KeyError) as caught:
        mldf.open(missing)[0, "imgae"]
    assert str(caught.value) == "no field 'imgae'; did you mean 'image'?" and caught.value.field == "imgae"
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.field == "imgae"
    for call in (
        lambda: mldf.open(missing).column("scores"),
        lambda: mldf.open(missing, fields=["labels"]),
        lambda: mldf.open(missing)["labl"],
        lambda: mldf.open(missing).with_fields("txt"),
    ):
        with pytest.raises(KeyError, match="did you mean"):
            call()
