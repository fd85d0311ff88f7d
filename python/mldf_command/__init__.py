"""The console scripts ``mldf`` and ``tar_to_tbl``: each becomes the program that the package carries.

This is a package of its own so that neither script imports mldf, and with it NumPy, before it starts.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Replaces this process by the command; its name decides which: ``mldf`` or ``tar_to_tbl``."""
    package = importlib.util.find_spec("mldf")
    folder = os.path.dirname(package.origin) if package and package.origin else "."
    program = os.path.join(folder, "bin", "mldf")
    try:
        os.execv(program, [os.path.basename(sys.argv[0]), *sys.argv[1:]])
    except OSError as error:
        print(f"mldf: cannot run {program}: {error.strerror}; reinstall the package mldf", file=sys.stderr)
        sys.exit(3)
