/* What a saved state records of the decoders: the promise of equal batches holds for one version of them. */
#include "codec/versions.h"

#include <stdio.h>

#include <jpeglib.h>
#if defined(MLDF_HAVE_WEBP)
#include <webp/decode.h>
#endif

void mldfi_codec_versions(char *out, size_t room) {
    /* libjpeg has no call for its version: the one that was compiled against. */
#if defined(LIBJPEG_TURBO_VERSION_NUMBER)
    unsigned jpeg = LIBJPEG_TURBO_VERSION_NUMBER;
    int used = snprintf(out, room, "libjpeg-turbo %u.%u.%u", jpeg / 1000000, jpeg / 1000 % 1000, jpeg % 1000);
#else
    int used = snprintf(out, room, "libjpeg %d", JPEG_LIB_VERSION);
#endif
#if defined(MLDF_HAVE_WEBP)
    unsigned webp = (unsigned)WebPGetDecoderVersion();
    if (used > 0 && (size_t)used < room)
        snprintf(out + used, room - (size_t)used, ", libwebp %u.%u.%u", webp >> 16, webp >> 8 & 255, webp & 255);
#else
    (void)used;
#endif
}
