#!/bin/sh
# file(1) knows an MLDF file by share/mldf.magic: one that the command packs, and one that it streams to a pipe.
set -eu

cd "${MLDF_SOURCE_DIR:-$(dirname "$0")/../..}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

expect() { # file, expected description
    got=$(file -b -m share/mldf.magic "$1")
    if [ "$got" != "$2" ]; then
        echo "magic: expected '$2', got '$got'" >&2
        exit 1
    fi
    echo "ok $got"
}

printf 'label,note\n1,one\n2,two\n' >"$work/in.csv"
"${MLDF:?the command}" pack -q "$work/in.csv" -o "$work/out.mldf"
expect "$work/out.mldf" "MLDF dataset version 1.1, 2 samples, 2 fields"
"$MLDF" pack -q --compress note "$work/in.csv" -o "$work/zstd.mldf"
expect "$work/zstd.mldf" "MLDF dataset version 1.1, 2 samples, 2 fields, compressed"
"$MLDF" pack -q "$work/in.csv" -o - >"$work/streamed.mldf"
expect "$work/streamed.mldf" "MLDF dataset version 1.1, streamed, 2 fields"
if [ "$(file -b --mime-type -m share/mldf.magic "$work/out.mldf")" != application/x-mldf ]; then
    echo "magic: wrong MIME type" >&2
    exit 1
fi
