#!/bin/sh
# The shared library exports mldf_* functions and nothing else, exactly those that the public headers declare.
set -eu
export LC_ALL=C # one order for sort, comm and diff

cd "${MLDF_SOURCE_DIR:-$(dirname "$0")/../..}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

nm -D --defined-only "$MLDF_SHARED" | awk '{print $NF}' | sed 's/@.*//' | sort -u >"$work/exported"
if grep -vE '^mldf_[a-z0-9_]+$' "$work/exported"; then
    echo "symbols: the names above are exported and do not begin with mldf_" >&2
    exit 1
fi
# Every declaration begins a line with MLDF_API.
cat include/mldf/*.h | grep '^MLDF_API' | sed -E 's/^MLDF_API [^(]*[ *](mldf_[a-z0-9_]+)\(.*/\1/' | sort -u >"$work/declared"
if ! diff "$work/declared" "$work/exported" >"$work/diff"; then
    cat "$work/diff"
    echo "symbols: < declared in include/mldf but not exported, > exported but not declared" >&2
    exit 1
fi
soname=$(readelf -d "$MLDF_SHARED" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
case $soname in
libmldf.so.*) ;;
*)
    echo "symbols: soname is '$soname'" >&2
    exit 1
    ;;
esac
echo "$(wc -l <"$work/exported") functions exported, soname $soname"
