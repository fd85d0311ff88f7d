#!/bin/sh
# Programs compiled against the headers from before a member was appended, and from after, run with the library as it is.
set -eu

source=$(cd "${MLDF_SOURCE_DIR:-$(dirname "$0")/../..}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for kind in older newer; do
    mkdir "$work/$kind"
    python3 "$source/tests/cmake/older_headers.py" $kind "$source/include/mldf" "$work/$kind/mldf"
    define=
    [ $kind = newer ] && define=-DNEWER
    # shellcheck disable=SC2086
    ${CC:-cc} -std=c99 $define -Wall -Wextra -pedantic -Werror -g "-I$work/$kind" "$source/tests/cmake/older.c" \
        "${MLDF_SHARED:?the shared library}" "-Wl,-rpath,$(dirname "$MLDF_SHARED")" -o "$work/$kind/program"
    "$work/$kind/program" "$work/$kind/a.mldf" "$work/$kind/b.mldf"
done
