#!/bin/sh
# tools/neon.sh: the tests of the kernels, compiled for aarch64 and run by an emulator: NEON gives the bytes of the portable loops.
#
# Only src/kernel and what it stands on is built, so that no library of the other processor is needed.
set -eu

cd "$(dirname "$0")/.."
build=build/neon
mkdir -p $build
flags="-O2 -g -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -ffp-contract=off -march=armv8-a+crc -DMLDF_VERSION_STRING=\"neon\" -Iinclude -Isrc -Itests -Itests/support"

objects=
for source in src/kernel/*.c src/util/*.c src/field/dtype.c; do
    object=$build/$(echo "$source" | tr / _).o
    objects="$objects $object"
    [ "$object" -nt "$source" ] && [ -z "$(find src include -name '*.h' -newer "$object")" ] || aarch64-linux-gnu-gcc $flags -c "$source" -o "$object"
done
status=0
for source in tests/unit/kernel/test_*.c; do
    test=$build/$(basename "$source" .c)
    aarch64-linux-gnu-gcc $flags "$source" $objects -static -lm -o "$test"
    echo "== $(basename "$test")"
    qemu-aarch64 "$test" || status=1
done
exit $status
