"""The package's types, as a user's type checker sees them."""

import subprocess
import sys

import pkg
import pytest


def test_a_users_program_is_typed(tmp_path):
    """Nothing of the main interface is Any where more is known, and mistakes are found: unused ignores are errors."""
    pytest.importorskip("mypy", reason="mypy is not installed (make python)")
    program = tmp_path / "program.py"
    program.write_bytes((pkg.ROOT / "tests/python/typed_program.py").read_bytes())
    (tmp_path / "mypy.ini").write_text("[mypy]\nstrict = True\nwarn_unused_ignores = True\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--cache-dir", "cache", program.name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
