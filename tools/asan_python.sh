#!/bin/sh
# tools/asan_python.sh BUILD [PYTEST ARGUMENT...]: the Python package's tests with the extension module of a build that has the
# address and undefined-behaviour sanitizers; `make asan-python` makes that build and calls this.
#
# The interpreter is not instrumented, so the sanitizers come in by LD_PRELOAD, and Python must take its memory from malloc. Leaks are
# looked for at the end of every process, of the tests' children too; tests/python/lsan.supp names what Python and NumPy leave.
#
# PyTorch, torchvision, JAX and Numba are hidden, also when .venv has them: they are slow here and leak memory of their own.
# MLDF_WITHOUT="jax" hides JAX alone, MLDF_WITHOUT= nothing.
set -eu

cd "$(dirname "$0")/.."
build=$(cd "$1" && pwd)
shift
python=$PWD/.venv/bin/python
rm -rf "$build/site"
cmake --install "$build" --component python --prefix "$build/site" >/dev/null

# Left out because it asks about the ordinary build: which symbols the module exports.
leave_out="exports_its_own_entry"
# And those that fork a process with threads: the sanitizer's malloc has locks that nobody in the child gives back.
leave_out="$leave_out or fork or children_that_end_normally"

[ $# -gt 0 ] || set -- tests/python/test_pkg_*.py
# -P and PYTHONPATH: the module of this build, and not the one that `make python` has put into .venv.
MLDF="$build/bin/mldf" MLDF_SOURCE_DIR=$PWD MLDF_BUILD_DIR=$build PYTHONMALLOC=malloc \
    MLDF_WITHOUT="${MLDF_WITHOUT-torch torchvision jax numba}" \
    PYTHONPATH="$build/site:$PWD/tests/python:$PWD/tests/python/without" \
    LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)" \
    ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1 UBSAN_OPTIONS=print_stacktrace=1 \
    LSAN_OPTIONS="suppressions=$PWD/tests/python/lsan.supp:print_suppressions=0" \
    exec "$python" -P -m pytest -q -rs -n "${JOBS:-2}" --dist loadscope -p no:cacheprovider -k "not ($leave_out)" "$@"
