#!/bin/sh
# tools/lint_man.sh: every man page is sound mdoc, and every command of the program has one.
set -eu

cd "$(dirname "$0")/.."
mandoc -T lint -W warning man/*.1
for source in cli/cmd_*.c; do
    name=$(basename "$source" .c | sed 's/^cmd_//; s/_/-/g')
    if [ ! -f "man/mldf-$name.1" ]; then
        echo "lint_man: the command $name has no page man/mldf-$name.1" >&2
        exit 1
    fi
done
