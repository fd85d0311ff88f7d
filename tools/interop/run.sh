#!/bin/bash
# tools/interop/run.sh BUILD FOLDER: our files before the real TurboLoader and the real FFCV, and mldf.compat beside them.
#
# BUILD has the program interop_files and the Python package; FOLDER (build/interop) gets the two environments, FFCV's own files,
# and ours.
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

# The same again after a journey through MLDF.
journey=$folder/journey
rm -rf "$journey"
mkdir -p "$journey"
for file in "$folder"/golden/*.beton "$folder/ours/large.beton" "$folder"/ours/*.tbl; do
    name=$(basename "$file") options=()
    [ "$name" != lz4.tbl ] || options=(--lz4)
    "$build/bin/mldf" convert "$file" -o "$journey/$name.mldf" -q
    "$build/bin/mldf" convert "$journey/$name.mldf" -o "$journey/$name" "${options[@]}" -q
    "$build/bin/mldf" diff "$file" "$journey/$name"
done
echo "After mldf convert to MLDF and back:"
"$folder/turboloader/bin/python" tools/interop/check_turboloader.py "$journey"
"$folder/ffcv/bin/python" tools/interop/check_ffcv.py "$folder/golden" "$journey"

# The names that people know, and the pages for those who come from there: before and after, with the real library.
cmake --install "$build" --component python --prefix "$folder/package" >/dev/null
for peer in turboloader ffcv; do
    PYTHONPATH="$folder/package" "$folder/$peer/bin/python" tools/interop/check_pages.py "$peer" "$folder/pages-$peer"
done

# Their own test suites, with the imports changed: what does not pass is in suite_*.txt, with the reason.
PYTHONPATH="$PWD/$folder/package" "$folder/suites/bin/python" tools/interop/run_suite.py turboloader "$PWD/$folder/sources/turboloader-2.39.0" "$PWD/$folder/suite-turboloader"
PYTHONPATH="$PWD/$folder/package" "$folder/suites/bin/python" tools/interop/run_suite.py ffcv "$PWD/$folder/sources/ffcv-1.0.2" "$PWD/$folder/suite-ffcv"
