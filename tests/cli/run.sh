#!/bin/bash
# The command from the outside: every tests/cli/cases/*.sh runs in a folder of its own and compares exact output and exit codes.
#
#     expect CODE COMMAND... <<'END'      the here-document is what must come out:
#     standard output                     stdout, then, after a line "--- stderr", stderr
#     --- stderr
#     standard error
#     END
#
# `mldf` is the command under test. Set INPUT to give the command a standard input. `check` runs any test command; `skip` says aloud
# why a case cannot run here. What a slow command says of its progress is not compared (`drop_progress`). Run one case alone by naming it: tests/cli/run.sh pack_csv
set -u

here=$(cd "$(dirname "$0")" && pwd)
source_dir=${MLDF_SOURCE_DIR:-$(cd "$here/../.." && pwd)}
MLDF=${MLDF:-$source_dir/build/dev/bin/mldf}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C
export PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 # signals.py
export MLDF_UNDER_TEST=$MLDF
failed=0 passed=0 skipped=0

if [ ! -x "$MLDF" ]; then
    echo "cli: $MLDF is not there: build it first" >&2
    exit 1
fi

mldf() { "$MLDF" "$@"; }

complain() { # what
    echo "FAIL $case_name: $1" >&2
    touch "$work/failed" # a file, because this may run in the subshell of a pipeline
}

# What a command says on its way, every five seconds: how often that is, is a matter of the machine.
drop_progress() { # file
    sed -i -E '/^mldf [a-z -]+: [0-9,]+ samples, [0-9,.]+ samples\/s, /d' "$1"
}

expect() { # code command...   (expected output on stdin)
    local code=$1 got
    shift
    cat >"$work/want"
    awk -v out="$work/want.out" -v err="$work/want.err" '
        BEGIN { to = out; printf "" > out; printf "" > err }
        $0 == "--- stderr" { to = err; next }
        { print > to }' "$work/want"
    "$@" <"${INPUT:-/dev/null}" >"$work/got.out" 2>"$work/got.err"
    got=$?
    drop_progress "$work/got.err"
    [ $got -eq "$code" ] || complain "$*: exit code $got, expected $code"
    for stream in out err; do
        if ! diff -u "$work/want.$stream" "$work/got.$stream" >"$work/diff"; then
            complain "$*: std$stream differs (- expected, + got):"
            sed 's/^/    /' "$work/diff" >&2
        fi
    done
}

# Only the exit code counts, and a piece of what stands on stderr.
expect_error() { # code piece command...
    local code=$1 piece=$2 got
    shift 2
    "$@" <"${INPUT:-/dev/null}" >"$work/got.out" 2>"$work/got.err"
    got=$?
    [ $got -eq "$code" ] || complain "$*: exit code $got, expected $code"
    [ -z "$piece" ] || grep -qF -e "$piece" "$work/got.err" || complain "$*: stderr has no '$piece': $(cat "$work/got.err")"
}

check() { "$@" || complain "not true: $*"; }

# stdin is one JSON document, and the Python expression over it, called d, is true.
json() { # expression
    python3 -c 'import json, sys
d = json.load(sys.stdin)
sys.exit(0 if eval("(" + sys.argv[1] + ")") else "json: false: %s\n  with %s" % (sys.argv[1], json.dumps(d)[:600]))' "$1" ||
        complain "json: $1"
}

skip() { # why
    echo "SKIP $case_name: $1" >&2
    case_skipped=1
}

run_case() { # file
    case_name=$(basename "$1" .sh)
    case_skipped=0 INPUT=
    rm -f "$work/failed"
    mkdir -p "$work/cases/$case_name"
    cd "$work/cases/$case_name" || exit 1
    # shellcheck disable=SC1090
    . "$1"
    cd "$work" || exit 1
    rm -rf "$work/cases/$case_name"
    if [ -e "$work/failed" ]; then
        failed=$((failed + 1))
        echo "FAIL $case_name"
    elif [ $case_skipped -ne 0 ]; then
        skipped=$((skipped + 1))
    else
        passed=$((passed + 1))
        echo "ok $case_name"
    fi
}

for file in "$here"/cases/*.sh; do
    name=$(basename "$file" .sh)
    if [ $# -eq 0 ] || [[ " $* " == *" $name "* ]]; then
        run_case "$file"
    fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] && [ $((passed + skipped)) -gt 0 ]
