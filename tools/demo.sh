#!/bin/bash
# tools/demo.sh MLDF: a tour of the command with data that every Debian machine has: licence and copyright texts, and the
# table of installed packages. Works in a temporary folder, asks nothing of the network, checks what it shows.
set -euo pipefail

mldf=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/mldf-demo-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"

say() { printf '\n\033[1m# %s\033[0m\n' "$*"; }
run() {
    printf '$ mldf %s\n' "$*"
    "$mldf" "$@" 2>&1
}
fail() {
    echo "demo: $*" >&2
    exit 1
}
bytes() { stat -c %s "$1"; }

say "The source: $(python3 "$here/demo_data.py" .)"

say "JSON lines in, one self-describing file out; the text column is compressed"
run pack first.jsonl -o docs.mldf --schema schema.json --card card.json --compress text=9
run info docs.mldf

say "Any sample, any field, at once"
run head -n 2 --fields name,lines,mean_line,extra docs.mldf
echo '$ mldf cat --samples 0 --raw text docs.mldf > text.out'
"$mldf" cat --samples 0 --raw text docs.mldf >text.out
cmp text.out first_text.txt || fail "sample 0's text is not the text it came from"
echo "sample 0's text equals the file it came from, byte for byte"

say "The same input gives the same bytes, whatever the number of threads"
for threads in 0 1 2; do
    "$mldf" pack -q -j $threads first.jsonl -o "threads$threads.mldf" --schema schema.json --card card.json --compress text=9
    cmp docs.mldf "threads$threads.mldf" || fail "$threads threads gave other bytes"
    echo "$threads threads: identical"
done

say "Append, then compare with a file packed in one go"
run append docs.mldf second.jsonl
"$mldf" pack -q first.jsonl second.jsonl -o whole.mldf --schema schema.json --card card.json --compress text=9
run diff docs.mldf whole.mldf
echo "no difference"
run verify --deep docs.mldf

say "Repack reclaims what appending left behind"
run repack docs.mldf -o packed.mldf --compress text=9
run diff docs.mldf packed.mldf
echo "no difference"

say "Damage is found, and named"
cp packed.mldf damaged.mldf
python3 "$here/demo_data.py" --flip damaged.mldf
status=0
run verify damaged.mldf || status=$?
[ "$status" -eq 1 ] || fail "verify exits with $status on a damaged file, not with 1"

say "CSV: the columns' types come from the data"
run pack packages.csv -o packages.mldf
run head -n 3 packages.mldf
run verify packages.mldf

say "What it came to"
printf '%-14s %10s %12s %12s %8s\n' file samples "source bytes" "file bytes" ratio
row() { # file, sources...
    local file=$1 source=0 samples
    shift
    for name in "$@"; do source=$((source + $(bytes "$name"))); done
    samples=$("$mldf" info --json "$file" | python3 -c 'import json, sys; print(json.load(sys.stdin)["num_samples"])')
    printf '%-14s %10s %12s %12s %8s\n' "$file" "$samples" "$source" "$(bytes "$file")" \
        "$(awk -v a="$(bytes "$file")" -v b="$source" 'BEGIN { printf "%.2f", a / b }')"
}
row docs.mldf first.jsonl second.jsonl
row packed.mldf first.jsonl second.jsonl
row packages.mldf packages.csv
