#!/bin/sh
# tools/wheel.sh: a self-contained wheel in dist/, and a trial of it in an empty virtual environment.
#
# pip builds the package (CMake, Release), auditwheel puts the codec libraries inside and says which systems the result suits,
# tools/wheel_check.py looks at what it loads and uses it. Nothing of the -dev packages is needed after that.
#
# TIFF comes from a libtiff of our own making (tools/wheel_tiff.sh): Debian's brings JBIG-KIT, whose licence (GPL) would be the
# wheel's. If it cannot be made, the wheel is made without TIFF and the end says so; WHEEL_TIFF=OFF asks for that. Video, AAC and ALAC come
# from decoders of FFmpeg that are made here too (tools/wheel_ffmpeg.sh), under the LGPL; the same goes for them, and for WHEEL_FFMPEG=OFF.
set -eu

cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
tools=build/wheel-venv trial=build/wheel-trial raw=build/wheel-raw tiff=build/wheel-tiff ffmpeg=build/wheel-ffmpeg

[ -x $tools/bin/python ] || "$python" -m venv $tools
tools/venv.sh $tools tools/wheel-requirements.txt

with_tiff=${WHEEL_TIFF:-ON}
if [ "$with_tiff" = ON ]; then
    tools/wheel_tiff.sh $tiff || with_tiff=MISSING
fi
with_ffmpeg=${WHEEL_FFMPEG:-ON}
if [ "$with_ffmpeg" = ON ]; then
    tools/wheel_ffmpeg.sh $ffmpeg || with_ffmpeg=MISSING
fi
licences=
wanted="sodium webp lz4 flac mp3 opus vorbis bzip2 xz"
case $with_tiff in
ON) set -- --config-settings=cmake.define.MLDF_WITH_TIFF=ON && licences=libtiff=$tiff/LICENSE.md && wanted="$wanted tiff" ;;
*) set -- --config-settings=cmake.define.MLDF_WITH_TIFF=OFF ;;
esac
case $with_ffmpeg in
ON)
    set -- "$@" --config-settings=cmake.define.MLDF_WITH_FFMPEG=ON --config-settings=cmake.define.MLDF_FFMPEG_SUFFIX=-mldf
    licences="$licences ffmpeg=$ffmpeg/LICENSE.txt"
    wanted="$wanted ffmpeg"
    ;;
*) set -- "$@" --config-settings=cmake.define.MLDF_WITH_FFMPEG=OFF ;;
esac

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
made=build/wheel-tiff-$with_tiff-ffmpeg-$with_ffmpeg
case $PWD in
*[[:space:]]*) # CMake takes what pkg-config says apart at the spaces, and remembers it
    ln -s "$PWD/$tiff" "$folder/tiff"
    ln -s "$PWD/$ffmpeg" "$folder/ffmpeg"
    found=$folder/tiff/lib/pkgconfig:$folder/ffmpeg/lib/pkgconfig
    rm -rf "$made"
    ;;
*) found=$PWD/$tiff/lib/pkgconfig:$PWD/$ffmpeg/lib/pkgconfig ;;
esac

rm -rf $raw $trial dist
# A build folder for each answer: CMake remembers where it found the libraries.
PATH="$PWD/$tools/bin:$PATH" PKG_CONFIG_PATH="$found:${PKG_CONFIG_PATH:-}" \
    $tools/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation \
    --config-settings=build-dir="$made" "$@" -w $raw .
PATH="$PWD/$tools/bin:$PATH" LD_LIBRARY_PATH="$PWD/$ffmpeg/lib" $tools/bin/auditwheel repair -w dist $raw/*.whl
# shellcheck disable=SC2086 # a list of words
$tools/bin/python tools/wheel_licences.py dist/*.whl $licences
$tools/bin/auditwheel show dist/*.whl

"$python" -m venv $trial
$trial/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
# In another folder and with no environment but PATH, so that nothing of this tree can be found.
mkdir "$folder/empty"
here=$PWD
# shellcheck disable=SC2086 # a list of words
(cd "$folder/empty" && env -i PATH=/usr/bin:/bin "$here/$trial/bin/python" -I "$here/tools/wheel_check.py" $wanted)
ls -l dist
if [ "$with_tiff" = MISSING ]; then
    echo "make wheel: libtiff could not be made (see above), so this wheel has NO TIFF" >&2
fi
if [ "$with_ffmpeg" = MISSING ]; then
    echo "make wheel: FFmpeg's decoders could not be made (see above), so this wheel has NO VIDEO, AAC and ALAC" >&2
fi
