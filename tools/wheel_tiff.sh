#!/bin/sh
# tools/wheel_tiff.sh FOLDER: a static libtiff without JBIG in FOLDER, for the wheel; made once, then kept.
#
# Debian's own libtiff brings JBIG-KIT, whose licence (GPL) would be the wheel's. Debian's source (debian_source.sh) is built with the codecs
# that the wheel has anyway: deflate, JPEG, WebP, zstd, and what libtiff does itself (LZW, PackBits, CCITT ...). No LZMA, LERC, libdeflate.
# Exit 4: it could not be had, and a line on stderr says why (docs/decisions/11-wheel-tiff.md).
set -eu

mkdir -p "$1"
folder=$(cd "$1" && pwd)
[ ! -e "$folder/stamp" ] || exit 0

# shellcheck source=tools/wheel_functions.sh
. "$(dirname "$0")/wheel_functions.sh"

rm -rf "$folder/build"
source=$("$(dirname "$0")/debian_source.sh" tiff "$folder") || exit 4
set -- "$source"
[ -e "$1/LICENSE.md" ] || give_up "libtiff's source has no LICENSE.md"

quietly cmake.log cmake -G Ninja -S "$1" -B "$folder/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$folder" \
    -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_SHARED_LIBS=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_C_VISIBILITY_PRESET=hidden \
    -Djbig=OFF -Dlzma=OFF -Dlerc=OFF -Dlibdeflate=OFF -Dzlib=ON -Djpeg=ON -Dwebp=ON -Dzstd=ON -Dcxx=OFF \
    -Dtiff-tools=OFF -Dtiff-tests=OFF -Dtiff-contrib=OFF -Dtiff-docs=OFF || give_up "libtiff could not be configured"
quietly build.log cmake --build "$folder/build" || give_up "libtiff could not be built"
quietly install.log cmake --install "$folder/build" || give_up "libtiff could not be installed into $folder"
# Relative to itself: the folder may move, and whoever uses it may give it another name (wheel.sh does, for a path with spaces).
# shellcheck disable=SC2016 # pkg-config fills it in
sed -i -e 's|^prefix=.*|prefix=${pcfiledir}/../..|' -e 's|^exec_prefix=.*|exec_prefix=${prefix}|' \
    -e 's|^libdir=.*|libdir=${prefix}/lib|' -e 's|^includedir=.*|includedir=${prefix}/include|' "$folder/lib/pkgconfig/libtiff-4.pc"
cp "$1/LICENSE.md" "$folder/LICENSE.md"
basename "$1" >"$folder/stamp"
rm -rf "$folder/source" "$folder/build"
echo "wheel_tiff: $(cat "$folder/stamp"), without JBIG"
