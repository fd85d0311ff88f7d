#!/bin/sh
# tools/interop/venvs.sh FOLDER: the real TurboLoader and the real FFCV, each in a virtual environment of its own below FOLDER; one without them, to
# run their test suites on mldf.compat; and their source distributions, in FOLDER/sources, which have those suites.
#
# Made once: a stamp says that an environment is complete, and then no network is asked. FFCV compiles a small library
# against OpenCV and libturbojpeg (set interop of tools/packages.txt).
set -eu

here=$(cd "$(dirname "$0")" && pwd)
folder=$1
python=${PYTHON:-python3}
mkdir -p "$folder"

environment() { # name stamp-text package...
    name=$1 stamp=$2
    shift 2
    if [ -f "$folder/$name/stamp" ] && [ "$(cat "$folder/$name/stamp")" = "$stamp" ]; then
        return 0
    fi
    echo "interop: installing $stamp into $folder/$name"
    test -x "$folder/$name/bin/python" || "$python" -m venv "$folder/$name"
    for package in "$@"; do
        "$folder/$name/bin/python" -m pip install --quiet --disable-pip-version-check -c "$here/constraints.txt" "$package"
    done
    echo "$stamp" >"$folder/$name/stamp"
}

environment turboloader "turboloader 2.39.0" numpy turboloader==2.39.0
environment ffcv "ffcv 1.0.2" setuptools wheel torch==2.13.0 numpy pillow ffcv==1.0.2
environment suites "suites 1" torch==2.13.0 torchvision numpy pillow pytest assertpy psutil tqdm webdataset

sources() { # name version
    [ ! -d "$folder/sources/$1-$2/tests" ] || return 0
    echo "interop: fetching the sources of $1 $2"
    mkdir -p "$folder/sources"
    "$folder/suites/bin/python" -m pip download --quiet --disable-pip-version-check --no-deps --no-binary "$1" -d "$folder/sources" "$1==$2"
    tar -xzf "$folder/sources/$1-$2.tar.gz" -C "$folder/sources"
}

sources turboloader 2.39.0
sources ffcv 1.0.2
