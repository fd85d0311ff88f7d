#!/bin/sh
# tools/wheel.sh: a self-contained wheel in dist/, and a trial of it in an empty virtual environment.
#
# pip builds the package (CMake, Release), auditwheel puts the codec libraries inside and says which systems the result suits,
# tools/wheel_check.py looks at what it loads and uses it. Nothing of the -dev packages is needed after that.
#
# Without TIFF: Debian's libtiff brings JBIG-KIT, whose licence (GPL) would be the wheel's. WHEEL_TIFF=ON puts it in, for use at
# home; `pip install .` links what is installed, TIFF too.
set -eu

cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
tools=build/wheel-venv trial=build/wheel-trial raw=build/wheel-raw

[ -x $tools/bin/python ] || "$python" -m venv $tools
tools/venv.sh $tools tools/wheel-requirements.txt

rm -rf $raw $trial dist
PATH="$PWD/$tools/bin:$PATH" $tools/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps \
    --no-build-isolation --config-settings=cmake.define.MLDF_WITH_TIFF="${WHEEL_TIFF:-OFF}" -w $raw .
PATH="$PWD/$tools/bin:$PATH" $tools/bin/auditwheel repair -w dist $raw/*.whl
$tools/bin/python tools/wheel_licences.py dist/*.whl
$tools/bin/auditwheel show dist/*.whl

"$python" -m venv $trial
$trial/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
# In another folder and with no environment but PATH, so that nothing of this tree can be found.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
here=$PWD
(cd "$folder" && env -i PATH=/usr/bin:/bin "$here/$trial/bin/python" -I "$here/tools/wheel_check.py")
ls -l dist
