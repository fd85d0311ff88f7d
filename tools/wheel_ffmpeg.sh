#!/bin/sh
# tools/wheel_ffmpeg.sh FOLDER: FFmpeg's decoders and demuxers as shared libraries in FOLDER, for the wheel; made once, then kept.
#
# Debian's own FFmpeg is under the GPL, which would be the wheel's, and loads 96 libraries. Debian's source (debian_source.sh) is built
# without what is GPL: decoders, parsers and demuxers of what mldf reads, no network, no devices, no encoders, no programs. AV1 is read
# by dav1d (BSD). The libraries are called libavcodec-mldf.so.59, so that they never meet those of another package in the same process.
# Exit 4: it could not be had, and a line on stderr says why (docs/decisions/19-wheel-ffmpeg.md).
set -eu

mkdir -p "$1"
folder=$(cd "$1" && pwd)
[ ! -e "$folder/stamp" ] || exit 0

# shellcheck source=tools/wheel_functions.sh
. "$(dirname "$0")/wheel_functions.sh"

decoders=h264,hevc,vp8,vp9,libdav1d,mpeg4,mpeg2video,mpeg1video,mjpeg,ffv1,h263,aac,aac_latm,alac,mp3float,mp2float,opus,vorbis,flac,ac3,eac3
decoders=$decoders,wmav2,wavpack,pcm_u8,pcm_s16le,pcm_s16be,pcm_s24le,pcm_s24be,pcm_s32le,pcm_s32be,pcm_f32le,pcm_f32be,pcm_f64le,pcm_alaw,pcm_mulaw
parsers=h264,hevc,vp8,vp9,av1,mpeg4video,mpegvideo,mjpeg,h263,aac,aac_latm,mpegaudio,opus,vorbis,flac,ac3
demuxers=mov,matroska,avi,mpegts,mpegps,ogg,mp3,aac,flac,wav,w64,aiff,caf,asf,flv,ivf,h264,hevc,mjpeg,m4v
filters=h264_mp4toannexb,hevc_mp4toannexb,aac_adtstoasc,extract_extradata,vp9_superframe_split,av1_frame_split,mpeg4_unpack_bframes

# What the decoders need and a machine may not have; tools/packages.txt names the packages.
command -v nasm >/dev/null 2>&1 || give_up "no nasm here, without which the decoders are several times slower (apt-get install nasm)"
pkg-config --exists dav1d || give_up "no libdav1d here to read AV1 with (apt-get install libdav1d-dev)"

source=$("$(dirname "$0")/debian_source.sh" ffmpeg "$folder") || exit 4
[ -e "$source/COPYING.LGPLv2.1" ] || give_up "FFmpeg's source has no COPYING.LGPLv2.1"
rm -rf "$folder/build"
mkdir "$folder/build"
cd "$folder/build"
# By a relative path, and installed from elsewhere below: the libraries keep how they were configured, and no folder of this machine may show.
quietly configure.log "../source/$(basename "$source")/configure" --prefix=/usr --libdir=/usr/lib --build-suffix=-mldf \
    --disable-everything --disable-autodetect --disable-network --disable-programs --disable-doc --disable-debug --disable-static \
    --enable-shared --disable-avdevice --disable-avfilter --disable-swscale --disable-swresample --disable-postproc \
    --enable-libdav1d --enable-zlib --enable-protocol=file,pipe --enable-decoder="$decoders" --enable-parser="$parsers" \
    --enable-demuxer="$demuxers" --enable-bsf="$filters" ||
    give_up "FFmpeg could not be configured"
grep -q '^License: LGPL version 2.1 or later' "$folder/configure.log" || give_up "FFmpeg's build would not be LGPL 2.1: see $folder/configure.log"
quietly build.log make -j "${JOBS:-2}" || give_up "FFmpeg could not be built"
quietly install.log make DESTDIR="$folder/build/root" install-libs install-headers || give_up "FFmpeg could not be installed into $folder"
cd "$folder"
rm -rf lib include
mv build/root/usr/lib build/root/usr/include .
for file in lib/pkgconfig/*.pc; do
    # Relative to itself, as tools/wheel_tiff.sh does it.
    # shellcheck disable=SC2016 # pkg-config fills it in
    sed -i -e 's|^prefix=.*|prefix=${pcfiledir}/../..|' -e 's|^exec_prefix=.*|exec_prefix=${prefix}|' \
        -e 's|^libdir=.*|libdir=${prefix}/lib|' -e 's|^includedir=.*|includedir=${prefix}/include|' "$file"
done
name=$(basename "$source")
{
    echo "FFmpeg, $name with the patches of Debian, is in this wheel as shared libraries under the licence below (LGPL 2.1 or later)."
    echo "Its source is Debian's source package ffmpeg, $(sed -n '1s/.*(\(.*\)).*/version \1/p' "$source/debian/changelog"), which anyone can get with"
    echo "\`apt-get source ffmpeg\` or from the archive of Debian; on request, the makers of this wheel send it. It was configured with:"
    sed -n 's/^#define FFMPEG_CONFIGURATION "\(.*\)"/  \1/p' "$folder/build/config.h"
    echo "A library of the same name that you build yourself may replace each of them."
    echo
    cat "$source/COPYING.LGPLv2.1"
} >"$folder/LICENSE.txt"
echo "$name" >"$folder/stamp"
rm -rf "$folder/source" "$folder/build"
echo "wheel_ffmpeg: $name, LGPL"
