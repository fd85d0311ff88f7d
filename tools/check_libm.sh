#!/bin/sh
# The library takes from libm only what IEEE 754 defines to the last bit: sqrt, floor, ceil, rint, fabs (and their float forms). Anything else (exp, pow, fma ...)
# has other bits on other machines, and results must not. src/util/math.h has our own.
#
#     tools/check_libm.sh LIBRARY...      shared libraries, archives or object files
#
# Every undefined symbol of theirs that libm defines, and that is not one of the five, is printed; then the exit code is 1.
set -eu
export LC_ALL=C # one order for sort, comm and diff

[ $# -gt 0 ] || {
    echo "usage: tools/check_libm.sh LIBRARY..." >&2
    exit 2
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# libm as the linker finds it: a small program that calls it says where.
printf '#include <math.h>\nint main(int c, char **v) { (void)v; return (int)exp((double)c) + (int)pow(c, 0.5); }\n' >"$work/probe.c"
${CC:-cc} -O0 -fno-builtin "$work/probe.c" -lm -o "$work/probe"
libm=$(ldd "$work/probe" | sed -n 's/.*libm\.[^ ]* => \([^ ]*\).*/\1/p' | head -n 1)
if [ -z "$libm" ]; then
    echo "check_libm: this system has no libm of its own to compare with" >&2
    exit 77
fi
nm -D --defined-only "$libm" | awk '$2 ~ /^[TWi]$/ {print $3}' | sed 's/@.*//' | sort -u >"$work/libm"
grep -qx exp "$work/libm" || {
    echo "check_libm: $libm does not define exp; the list of its symbols cannot be right" >&2
    exit 3
}
undefined() { # of a shared library, or of archives and objects
    case $1 in
    *.so | *.so.*) nm -D --undefined-only "$1" ;;
    *) nm --undefined-only "$1" ;;
    esac | awk '$1 == "U" {print $2}' | sed 's/@.*//' | sort -u
}
# The check itself: the probe must be caught.
${CC:-cc} -O0 -fno-builtin -c "$work/probe.c" -o "$work/probe.o"
undefined "$work/probe.o" | comm -12 - "$work/libm" | grep -qx pow || {
    echo "check_libm: does not find pow in a program that calls it" >&2
    exit 3
}
status=0
for library in "$@"; do
    undefined "$library" | comm -12 - "$work/libm" >"$work/used"
    if grep -vxE '(sqrt|floor|ceil|rint|fabs)f?' "$work/used" >"$work/bad"; then
        sed "s|^|check_libm: $library uses |" "$work/bad" >&2
        status=1
    fi
    echo "check_libm: $library takes from libm: $(tr '\n' ' ' <"$work/used")"
done
exit $status
