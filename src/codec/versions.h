/* The versions of the libraries whose results may differ from version to version: lossy decoders. */
#ifndef MLDF_CODEC_VERSIONS_H
#define MLDF_CODEC_VERSIONS_H

#include <stddef.h>

/* "libjpeg-turbo 2.1.5, libwebp 1.2.4"; cut to the room there is. */
void mldfi_codec_versions(char *out, size_t room);

#endif
