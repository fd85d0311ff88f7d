#!/bin/sh
# Every public header compiles alone, as C99, C11 and C++, with every warning an error, and again without MLDF_STATIC.
set -eu

cd "${MLDF_SOURCE_DIR:-$(dirname "$0")/../..}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=0
for header in include/mldf/*.h; do
    name=${header#include/}
    printf '#include "%s"\n#include "%s"\ntypedef int mldf_header_test;\n' "$name" "$name" >"$work/t.c"
    cp "$work/t.c" "$work/t.cc"
    for std in c99 c11; do
        ${CC:-cc} -std=$std -Wall -Wextra -pedantic -Werror -Wstrict-prototypes -Wundef -Iinclude -fsyntax-only "$work/t.c"
    done
    ${CC:-cc} -std=c99 -DMLDF_STATIC -Wall -Wextra -pedantic -Werror -Iinclude -fsyntax-only "$work/t.c"
    if command -v "${CXX:-c++}" >/dev/null 2>&1; then
        for std in c++98 c++11 c++17; do
            # C++98 has no long long and no stdint.h of its own; the headers' types need both.
            ${CXX:-c++} -std=$std -Wall -Wextra -pedantic -Werror -Wno-long-long -Iinclude -fsyntax-only "$work/t.cc"
        done
    fi
    if grep -n '#include <' "$header" | grep -vE '<(stddef|stdint|stdbool)\.h>'; then
        echo "$header: includes more than stddef, stdint and stdbool" >&2
        exit 1
    fi
    count=$((count + 1))
done
echo "$count headers compile alone"
