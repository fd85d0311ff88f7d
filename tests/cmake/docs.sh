#!/bin/sh
# Help, man pages and completion agree: every option that `mldf COMMAND --help` lists is in the command's man page (or, being
# common, in mldf.1) and in both completions; and every option of the man page is in the help.
set -eu
export LC_ALL=C # one order for sort, comm and diff

cd "${MLDF_SOURCE_DIR:-$(dirname "$0")/../..}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

man_options() { # page: "Fl -deep" in mdoc is --deep
    grep -oE 'Fl -[a-z][a-z-]*' "$1" | sed 's/Fl -/--/' | sort -u
}

man_options man/mldf.1 >"$work/common"
for page in man/mldf-*.1; do
    command=$(basename "$page" .1 | sed 's/^mldf-//')
    if ! "${MLDF:?the command}" "$command" --help >"$work/help" 2>"$work/err"; then
        echo "docs: mldf $command --help fails" >&2
        failed=1
        continue
    fi
    grep -oE '(^|[^a-z-])--[a-z][a-z-]*' "$work/help" | grep -oE -e '--.*' | sort -u >"$work/help_options"
    man_options "$page" >"$work/page_options"
    sort -u "$work/common" "$work/page_options" >"$work/documented"
    for option in $(comm -23 "$work/help_options" "$work/documented"); do
        echo "docs: mldf $command --help has $option, $page has not" >&2
        failed=1
    done
    for option in $(comm -13 "$work/help_options" "$work/page_options"); do
        echo "docs: $page has $option, mldf $command --help has not" >&2
        failed=1
    done
    while read -r option; do
        for file in completions/mldf.bash completions/_mldf; do
            if ! grep -qe "$option" "$file"; then
                echo "docs: mldf $command --help has $option, $file has not" >&2
                failed=1
            fi
        done
    done <"$work/help_options"
done
for source in cli/cmd_*.c; do
    name=$(basename "$source" .c | sed 's/^cmd_//; s/_/-/g')
    [ -f "man/mldf-$name.1" ] || [ "$("$MLDF" "$name" --help >/dev/null 2>&1 && echo yes)" != yes ] || {
        echo "docs: the command $name has no man page" >&2
        failed=1
    }
done
[ $failed -eq 0 ] && echo "help, man pages and completion agree"
exit $failed
