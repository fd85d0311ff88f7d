#!/bin/sh
# Installs the build into a temporary prefix, then builds and runs a user's program against it: through pkg-config (shared
# and static), as C99 and as C++, and through find_package. Also moves the prefix, since packages are moved.
set -eu

source=$(cd "${MLDF_SOURCE_DIR:-$(dirname "$0")/../..}" && pwd)
build=${MLDF_BUILD_DIR:?the build folder}
cmake=${CMAKE:-cmake}
cc=${CC:-cc}
libdir=${MLDF_LIBDIR:-lib}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

env -u DESTDIR "$cmake" --install "$build" --prefix "$work/first" >"$work/install.log"
mv "$work/first" "$work/moved"
prefix=$work/moved
for wanted in "include/mldf/mldf.h" "$libdir/libmldf.so" "$libdir/libmldf.a" "$libdir/pkgconfig/mldf.pc" \
    "$libdir/cmake/mldf/mldfConfig.cmake" bin/mldf bin/tar_to_tbl share/man/man1/mldf.1 share/bash-completion/completions/mldf \
    share/zsh/site-functions/_mldf share/mldf/mldf.magic; do
    if [ ! -e "$prefix/$wanted" ]; then
        echo "consumer: $wanted was not installed" >&2
        exit 1
    fi
done

export PKG_CONFIG_PATH="$prefix/$libdir/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
export LD_LIBRARY_PATH="$prefix/$libdir"
version=$(cat "$source/VERSION")
expected="mldf $version: 3 samples, label 2, text hello"
[ "$(pkg-config --modversion mldf)" = "$version" ]

run() { # name
    result=$("$work/$1" "$work/$1.mldf")
    if [ "$result" != "$expected" ]; then
        echo "consumer: $1 printed '$result', expected '$expected'" >&2
        exit 1
    fi
    echo "ok $1"
}

program=$source/tests/cmake/program.c
warn="-Wall -Wextra -pedantic -Werror"
# What pkg-config prints is for a shell to read: it escapes the spaces of a folder's name.
# shellcheck disable=SC2086 # flags are lists of words
{
    eval "set -- $(pkg-config --cflags --libs mldf)"
    $cc -std=c99 $warn "$program" -o "$work/pc_shared" "$@"
    run pc_shared
    eval "set -- $(pkg-config --cflags mldf) \"\$prefix/\$libdir/libmldf.a\" $(pkg-config --static --libs mldf | sed 's/-lmldf//')"
    $cc -std=c99 $warn -DMLDF_STATIC "$program" -o "$work/pc_static" "$@"
    LD_LIBRARY_PATH='' run pc_static
    if command -v "${CXX:-c++}" >/dev/null 2>&1; then
        cp "$program" "$work/program.cc"
        eval "set -- $(pkg-config --cflags --libs mldf)"
        ${CXX:-c++} $warn "$work/program.cc" -o "$work/pc_cxx" "$@"
        run pc_cxx
    fi
}
if readelf -d "$work/pc_static" | grep -q libmldf; then
    echo "consumer: the static program needs libmldf.so" >&2
    exit 1
fi

mkdir "$work/project"
cp "$source/tests/cmake/CMakeLists.txt" "$program" "$work/project/"
if ! { "$cmake" -S "$work/project" -B "$work/package" -DCMAKE_PREFIX_PATH="$prefix" &&
    "$cmake" --build "$work/package"; } >"$work/cmake.log" 2>&1; then
    cat "$work/cmake.log" >&2
    exit 1
fi
for name in shared_c static_c shared_cxx; do
    cp "$work/package/$name" "$work/$name"
    run $name
done
