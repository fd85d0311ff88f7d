# tools/wheel_functions.sh: what the scripts that make libraries for the wheel share; they read it with `.`. $folder is where they work.
# shellcheck shell=sh disable=SC2154 # folder is theirs

give_up() { # why
    echo "$(basename "$0" .sh): $1" >&2
    exit 4
}
quietly() { # log command...: its output only if it fails
    log=$1
    shift
    "$@" >"$folder/$log" 2>&1 || {
        tail -n 5 "$folder/$log" >&2
        return 1
    }
}
