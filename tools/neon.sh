#!/bin/bash
# tools/neon.sh: the tests of the kernels, compiled for aarch64 and run by an emulator: NEON gives the bytes of the portable loops.
#
# Only src/kernel and what it needs is built, so that no library of the other processor is needed.
set -euo pipefail

cd "$(dirname "$0")/.."
build=build/neon
mkdir -p $build
compile=(aarch64-linux-gnu-gcc -O2 -g -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -ffp-contract=off -march=armv8-a+crc
    '-DMLDF_VERSION_STRING="neon"' -Iinclude -Isrc -Itests -Itests/support)

objects=()
for source in src/kernel/*.c src/util/*.c src/field/dtype.c; do
    object=$build/${source//\//_}.o
    objects+=("$object")
    if [ ! "$object" -nt "$source" ] || [ -n "$(find src include -name '*.h' -newer "$object")" ]; then
        "${compile[@]}" -c "$source" -o "$object"
    fi
done
status=0
for source in tests/unit/kernel/test_*.c; do
    test=$build/$(basename "$source" .c)
    "${compile[@]}" "$source" "${objects[@]}" -static -lm -o "$test"
    echo "== $(basename "$test")"
    qemu-aarch64 "$test" || status=1
done
exit $status
