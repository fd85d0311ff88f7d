#!/bin/bash
# tools/demo.sh MLDF: a tour of the command with data that every Debian machine has: licence and copyright texts with images of
# their first pages, sound and films of some, and the table of installed packages. Packs, verifies, loads batches for training, prints a table. Works in a
# folder of its own, which it leaves for you to try more on (mldf-demo, or what MLDF_DEMO names), asks nothing of the network, checks what it shows.
set -euo pipefail

mldf=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
work=${MLDF_DEMO:-$here/../build/demo}
rm -rf "$work"
mkdir -p "$work"
work=$(realpath "$work")
cd "$work"
export XDG_CACHE_HOME="$work/cache" # where bench keeps compiled pipelines

bold='' plain=''
if [ -t 1 ]; then bold=$'\033[1m' plain=$'\033[0m'; fi # no escapes in a log
say() { printf '\n%s# %s%s\n' "$bold" "$*" "$plain"; }
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

say "JSON lines and images in, one self-describing file out; texts are compressed"
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

say "Batches for training: images cropped, flipped and normalized; counts as logarithms; texts padded to 512 bytes"
cat >train.pipeline <<'END'
page: random_resized_crop(64) | hflip | normalize(imagenet) | chw(f16)
letters: cast(f32) | expr("log(x + 1)")
text: truncate(512) | pad(512, mask=true)
END
cat train.pipeline
run bench packed.mldf -p @train.pipeline --order random --batch-size 32 --epochs 2

say "Another seed gives other batches; other threads, back ends or instruction sets never do"
load() { # name, options...
    local name=$1
    shift
    "$mldf" bench packed.mldf -p @train.pipeline --order random --batch-size 32 --hash --json "$@" >"load-$name.json"
    python3 "$here/demo_data.py" --load "load-$name.json" load-none.json "$*"
}
printf '%-34s %8s %8s %12s   %s\n' "loaded with" samples batches samples/s "compared with the first"
load none -j 0 || fail "a run differs from itself"
load one -j 1 || fail "one thread gave other batches"
load two -j 2 || fail "two threads gave other batches"
load read -j 2 --backend read || fail "the other back end gave other batches"
load portable -j 2 --isa portable || fail "another instruction set gave other batches"
load seed -j 2 --seed 1 && fail "another seed gave the same batches"

made=$(python3 "$here/demo_media.py" "$mldf" .)
say "Images, sound, video and text in one file: $made"
run pack media.jsonl -o media.mldf --files page --files voice --files film
run head -n 1 --fields voice,film media.mldf
cat >media.pipeline <<'END'
page: random_resized_crop(64) | hflip | normalize(imagenet) | chw(f32)
voice: window(seconds=1) | mel(whisper)
film: clip(frames=8, stride=2, start=random) | resize([64, 64]) | chw(f32)
text: truncate(512) | pad(512, mask=true)
END
cat media.pipeline
run bench media.mldf -p @media.pipeline --order random --batch-size 4 --epochs 4
run verify --deep media.mldf

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
row docs.mldf first.jsonl second.jsonl pages/*.png
row packed.mldf first.jsonl second.jsonl pages/*.png
row packages.mldf packages.csv
row media.mldf media.jsonl media/*

say "What to try next"
cat <<END
The files are in $work: packed.mldf, media.mldf, packages.mldf, damaged.mldf, train.pipeline, media.pipeline.

    cd $work && export PATH=$(dirname "$mldf"):\$PATH
    mldf stats packed.mldf --svg stats.svg                      # how the values are distributed, as a drawing
    mldf select packed.mldf -o long.mldf --where 'lines > 300'  # some samples
    mldf repair damaged.mldf -o saved.mldf                      # what is whole of a damaged file
    mldf pack ~/Pictures -o photos.mldf                         # your own images; sub-folders become classes
    mldf bench photos.mldf -p 'image: random_resized_crop(224) | hflip | chw(f32)' --order random
    mldf help pack                                              # every command has --help and a man page

Python: make python && .venv/bin/python -c 'import mldf; print(mldf.open("$work/packed.mldf"))'
Read: docs/quickstart.md (photos and PyTorch in ten minutes), docs/README.md (everything else)
END
