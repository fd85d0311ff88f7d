#!/bin/bash
# tools/fuzz.sh BUILD SECONDS [NAME...]: run the fuzz targets of BUILD, two at a time, for SECONDS each.
#
# Starts from fuzz/corpus/<name>/; new inputs go to BUILD/corpus/<name>/, crashes to BUILD/crashes/, output to BUILD/log/.
# Exits with 1 when a target found something.
set -euo pipefail

cd "$(dirname "$0")/.."
build=$1 seconds=$2
shift 2
names=("$@")
if [ ${#names[@]} -eq 0 ]; then
    for program in "$build"/fuzz/fuzz_*; do
        [ -x "$program" ] && names+=("$(basename "$program" | sed 's/^fuzz_//')")
    done
fi
if [ ${#names[@]} -eq 0 ]; then
    echo "fuzz: no fuzz targets in $build/fuzz" >&2
    exit 2
fi
mkdir -p "$build/corpus" "$build/crashes" "$build/log"

run_one() {
    local name=$1 log=$build/log/$1.log folders=("$build/corpus/$1")
    mkdir -p "$build/corpus/$name"
    [ -d "fuzz/corpus/$name" ] && folders+=("fuzz/corpus/$name")
    local dictionary=()
    [ -f "fuzz/$name.dict" ] && dictionary=("-dict=fuzz/$name.dict")
    local options=(-max_total_time="$seconds" -timeout=25 -rss_limit_mb=2560 -print_final_stats=1)
    if "$build/fuzz/fuzz_$name" "${options[@]}" "${dictionary[@]}" -artifact_prefix="$build/crashes/$name-" \
        "${folders[@]}" >"$log" 2>&1; then
        printf 'ok    %-20s %s runs, %s\n' "$name" \
            "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" \
            "$(grep -oE 'cov: [0-9]+' "$log" | tail -1)"
    else
        printf 'CRASH %-20s see %s; the end of it:\n' "$name" "$log"
        tail -n 30 "$log"
        return 1
    fi
}

echo "fuzz: ${#names[@]} targets, $seconds s each, two at a time"
export ASAN_OPTIONS=allocator_may_return_null=1:detect_stack_use_after_return=1
failed=0
for ((i = 0; i < ${#names[@]}; i += 2)); do
    run_one "${names[i]}" &
    first=$!
    second=
    if ((i + 1 < ${#names[@]})); then
        run_one "${names[i + 1]}" &
        second=$!
    fi
    wait "$first" || failed=1
    if [ -n "$second" ]; then
        wait "$second" || failed=1
    fi
done
exit $failed
