#!/bin/sh
# tools/setup.sh SET...: see to it that the packages of these sets (tools/packages.txt) are installed.
#
# All there: says nothing, asks nothing of the network. Something missing: as root, or with sudo, installs it with
# apt-get; otherwise prints the command to run and exits with 3.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- build

installed() { # package command
    if [ "$2" != - ] && command -v "$2" >/dev/null 2>&1; then
        # A version manager's stub may be on PATH with nothing behind it; it then exits with 127.
        status=0
        "$2" --version >/dev/null 2>&1 </dev/null || status=$?
        [ "$status" -eq 127 ] || return 0
    fi
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null || true)" = installed ]
}

# python3-venv and python3-dev are Debian's splits: another python3 has the module and the headers built in.
module_there() { # package
    case $1 in
    python3-venv) python3 -c 'import venv, ensurepip' >/dev/null 2>&1 ;;
    python3-dev) python3 -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' >/dev/null 2>&1 ;;
    *) false ;;
    esac
}

# Without dpkg (another system) only the commands can be looked for; the build says what else it misses.
have_dpkg=yes
command -v dpkg-query >/dev/null 2>&1 || have_dpkg=no

missing=
for wanted in "$@"; do
    known=no
    while read -r set package command _; do
        case $set in '' | '#'*) continue ;; esac
        [ "$set" = "$wanted" ] || continue
        known=yes
        case $command in '#'*) command=- ;; esac
        if [ $have_dpkg = no ] && [ "$command" = - ]; then
            continue
        fi
        if ! installed "$package" "$command" && ! module_there "$package"; then
            missing="$missing $package"
        fi
    done <"$here/packages.txt"
    if [ $known = no ]; then
        echo "setup: no set '$wanted' in tools/packages.txt" >&2
        exit 2
    fi
done
[ -n "$missing" ] || exit 0

install="apt-get install -y --no-install-recommends$missing"
if ! command -v apt-get >/dev/null 2>&1; then
    echo "setup: missing (Debian's names):$missing" >&2
    echo "setup: this system has no apt-get; install them with its own package manager." >&2
    exit 3
fi

as_root=
if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null 2>&1 && { sudo -n true 2>/dev/null || { [ -t 0 ] && sudo -v; }; }; then
        as_root=sudo
    else
        echo "setup: missing packages:$missing" >&2
        echo "setup: ask someone who may install them to run:" >&2
        echo "    apt-get update && $install" >&2
        exit 3
    fi
fi

echo "setup: installing$missing"
$as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q
# shellcheck disable=SC2086 # $install is a list of words
$as_root env DEBIAN_FRONTEND=noninteractive $install
