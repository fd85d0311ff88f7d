#!/bin/bash
# bench/rivals/setup.sh WORKDIR BUILD: the other loaders, each in an environment of its own, and the data for all of them. What is there already
# is kept. Debian packages: the wallpapers, and what FFCV is built with.
set -euo pipefail
work=${1:?usage: setup.sh WORKDIR BUILD}
build=${2:?usage: setup.sh WORKDIR BUILD}
here=$(cd "$(dirname "$0")" && pwd)
mldf=$build/bin/mldf
mkdir -p "$work/data"
work=$(cd "$work" && pwd)
missing=()
for package in libopencv-dev libturbojpeg0-dev pkg-config plasma-workspace-wallpapers gnome-backgrounds mate-backgrounds \
    lomiri-wallpapers-16.04 lomiri-wallpapers-20.04 ukui-wallpapers; do
    dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
    echo "rivals: installing ${missing[*]}" >&2
    apt-get install -y -qq "${missing[@]}" >/dev/null
fi

echo "torch==2.13.0" >"$work/constraints.txt"
environment() { # NAME PACKAGES...: a failure is said and goes on: what does not install is not compared
    local name=$1 venv=$work/venv_$1
    shift
    [ ! -e "$venv/done" ] || return 0
    echo "rivals: $name" >&2
    python3 -m venv "$venv"
    if "$venv/bin/pip" install -q -c "$work/constraints.txt" "$@" >"$work/$name.log" 2>&1; then
        touch "$venv/done"
    else
        echo "rivals: $name does not install; see $work/$name.log" >&2
    fi
}
environment mldf torch==2.13.0 numpy
site=$("$work/venv_mldf/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
rm -rf "$site/mldf"
cmake --install "$build" --component python --prefix "$site" >/dev/null # each time: it is what is measured
"$work/venv_mldf/bin/python" -m compileall -q "$site/mldf"                # as pip does
environment turbo turboloader numpy
environment dali nvidia-dali-cuda120 numpy
environment torch torch==2.13.0 numpy pillow simplejpeg opencv-python-headless
environment tf tensorflow-cpu numpy
environment ffcv torch==2.13.0 numpy pillow
[ -e "$work/venv_ffcv/lib" ] && "$work/venv_ffcv/bin/python" -c 'import importlib.util as u; exit(u.find_spec("ffcv") is None)' ||
    "$work/venv_ffcv/bin/pip" install -q -c "$work/constraints.txt" ffcv >>"$work/ffcv.log" 2>&1 ||
    echo "rivals: ffcv does not install; see $work/ffcv.log" >&2

data=$work/data
[ -d "$data/photos" ] || "$work/venv_torch/bin/python" "$here/photos.py" "$data/photos" 3000
pack() { # NAME OPTIONS...: one file in all the formats that the others read
    local name=$1
    shift
    [ -e "$data/$name.mldf" ] || "$mldf" pack "$data/photos" -o "$data/$name.mldf" -q "$@"
}
pack photos
[ -e "$data/photos_fast.mldf" ] || "$mldf" repack "$data/photos.mldf" -o "$data/photos_fast.mldf" --encode fast-jpeg -q
[ -e "$data/photos.tar" ] || (cd "$data/photos" && tar cf "$data/photos.tar" --sort=name .)
[ -e "$data/photos.beton" ] || "$mldf" convert "$data/photos.mldf" -o "$data/photos.beton" -q
for side in 160 256 32; do
    name=raw$side
    [ $side != 32 ] || name=cifar
    [ -d "$data/$name" ] || "$work/venv_torch/bin/python" "$here/squares.py" "$data/photos" "$data/$name" $side
    [ -e "$data/$name.mldf" ] || "$mldf" pack "$data/$name" -o "$data/$name.mldf" -q --encode raw
    [ -e "$data/$name.beton" ] || "$mldf" convert "$data/$name.mldf" -o "$data/$name.beton" -q
    [ -e "$data/$name.tbl" ] || "$mldf" convert "$data/$name.mldf" -o "$data/$name.tbl" -q
done
