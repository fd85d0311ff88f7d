#!/bin/bash
# bench/run.sh BUILD [OPTIONS]: every number that docs/benchmarks.md quotes, from the release build in BUILD.
#
#   --quick        a tenth of most sizes (about a minute)
#   --json         JSON on standard output instead of a table
#   --dir FOLDER   measure the disk that holds FOLDER; default: BUILD
#   --only P,P     some parts; --mib N, --rounds N: see bench_container --help
#
# Needs 12 GiB of free disk (2 GiB with --quick) and removes everything that it wrote, also when it is interrupted.
set -euo pipefail

[ $# -ge 1 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
build=$1
shift
folder=$build
need_mib=$((12 * 1024))
options=()
while [ $# -gt 0 ]; do
    case $1 in
    --dir)
        folder=${2:?--dir needs a folder}
        shift
        ;;
    --quick)
        need_mib=$((2 * 1024))
        options+=("$1")
        ;;
    *) options+=("$1") ;;
    esac
    shift
done

program=$build/bench/bench_container
[ -x "$program" ] || { echo "bench: there is no $program; run 'make release' first" >&2; exit 1; }
free_mib=$(df -Pm "$folder" | awk 'NR == 2 { print $4 }')
if [ "$free_mib" -lt "$need_mib" ]; then
    echo "bench: $folder has $free_mib MiB free, $need_mib are needed; try --quick, or --dir on another disk" >&2
    exit 1
fi

work=$(mktemp -d "$folder/mldf-bench-XXXXXX")
pid=
# shellcheck disable=SC2317 # called by trap
clean() {
    [ -z "$pid" ] || kill "$pid" 2>/dev/null || true
    rm -rf "$work"
    [ -z "$pid" ] || rm -f "/dev/shm/mldf-bench-$pid" # the throughput part's source, when it was interrupted
}
trap clean EXIT
trap 'exit 130' INT TERM

"$program" --dir "$work" "${options[@]}" &
pid=$!
wait "$pid"
