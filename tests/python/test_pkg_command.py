"""The command inside the package: `python -m mldf`, and what the console scripts call."""

import subprocess
import sys

import mldf
import numpy as np

SCRIPT = "import sys; from mldf_command import main; sys.argv[0] = '/some/bin/{}'; main()"


def run(*argv):
    return subprocess.run([sys.executable, *argv], capture_output=True, text=True, check=False)


def test_python_m_mldf_is_the_command(tmp_path):
    assert run("-m", "mldf", "--version").stdout.startswith(f"mldf {mldf.__version__} ")
    mldf.write(tmp_path / "a.mldf", range(3))
    done = run("-m", "mldf", "cat", "--json", tmp_path / "a.mldf")
    assert done.returncode == 0 and done.stdout.count("\n") == 3
    assert run("-m", "mldf", "info", tmp_path / "b.mldf").returncode == 3


def test_the_scripts_become_the_program_of_their_name():
    assert "Usage: mldf COMMAND" in run("-c", SCRIPT.format("mldf"), "--help").stdout
    assert "tar_to_tbl" in run("-c", SCRIPT.format("tar_to_tbl"), "--help").stdout.splitlines()[0]
    assert run("-c", SCRIPT.format("mldf")).returncode == 2


def test_the_scripts_do_not_import_numpy():
    look = "import mldf_command, sys; print('mldf' in sys.modules, 'numpy' in sys.modules)"
    assert run("-c", look).stdout == "False False\n"


def test_a_package_without_the_program_says_so(tmp_path):
    (tmp_path / "mldf").mkdir()
    (tmp_path / "mldf" / "__init__.py").touch()
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); " + SCRIPT.format("mldf").removeprefix(
        "import sys; "
    )
    done = run("-c", program, "--help")
    assert done.returncode == 3 and f"cannot run {tmp_path}/mldf/bin/mldf: No such file" in done.stderr


def test_a_derived_field_takes_any_name(tmp_path):
    """Names stand in the pipeline that computes the field: quotes and escapes in them are theirs."""
    path, odd, other = tmp_path / "a.mldf", "a`b\\c", "`: drop; x"
    values = [{odd: np.arange(3, dtype="f4") + i, other: i} for i in range(4)]
    mldf.write(path, values, {odd: mldf.NDArray("float32", (3,)), other: mldf.Int()})
    done = run("-m", "mldf", "add-field", path, f"y={odd}", "--pipeline", "cast(f64)")
    assert done.returncode == 0, done.stderr
    ds = mldf.open(path)
    assert ds.schema["y"].dtype == np.float64 and np.array_equal(ds[2]["y"], np.arange(3) + 2.0)
