"""With this folder in PYTHONPATH, Python does not find the packages that MLDF_WITHOUT names, here and in the processes of the tests.

For tools/asan_python.sh: `make torch` has put them into .venv, and under the sanitizers they are slow and leak memory of their own.
"""

import importlib.machinery
import os
import sys

HIDDEN = set(os.environ.get("MLDF_WITHOUT", "").split())


class Finder(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        return None if fullname in HIDDEN else super().find_spec(fullname, path, target)


sys.meta_path[:] = [Finder if f is importlib.machinery.PathFinder else f for f in sys.meta_path]
