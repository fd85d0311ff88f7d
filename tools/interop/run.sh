#!/bin/bash
# tools/interop/run.sh BUILD FOLDER: our files before the real TurboLoader and the real FFCV.
#
# BUILD has the program interop_files; FOLDER (build/interop) gets the two environments, FFCV's own files, and ours.
set -euo pipefail

cd "$(dirname "$0")/../.."
build=$1 folder=$2
tools/interop/venvs.sh "$folder"
mkdir -p "$folder/golden" "$folder/ours"
for packed in tests/golden/beton/*.beton.zst; do
    zstd -q -f -d "$packed" -o "$folder/golden/$(basename "$packed" .zst)"
done
"$build/tests/interop_files" "$folder/ours" "$folder"/golden/*.beton
"$folder/turboloader/bin/python" tools/interop/check_turboloader.py "$folder/ours"
"$folder/ffcv/bin/python" tools/interop/check_ffcv.py "$folder/golden" "$folder/ours"
