/* bzip2 and xz streams on their way in, for tar_input.c: each is there when its library was found at build time. */
#ifndef MLDF_INTEROP_TAR_UNPACK_H
#define MLDF_INTEROP_TAR_UNPACK_H

#include <stdbool.h>

#include "mldf/base.h"

typedef enum tar_packing { TAR_NOT_PACKED, TAR_BZIP2, TAR_XZ } tar_packing;
enum { TAR_PACKING_MAGIC = 10 }; /* bytes that say which; fewer, of a short stream, may do */

/* What a stream that begins with these bytes is packed with. */
tar_packing mldfi_tar_packing(const void *data, uint64_t bytes);
/* Are these bytes, the last ones of a file, the beginning of such a stream and too few to say so? */
bool mldfi_tar_packing_cut(tar_packing packing, const void *data, uint64_t bytes);
/* Can this build undo it? */
bool mldfi_tar_can_unpack(tar_packing packing);

struct tar_unpack;
/* MLDF_E_UNSUPPORTED where the build lacks the library. */
mldf_status mldfi_tar_unpack_new(struct tar_unpack **out, tar_packing packing, mldf_error *err);
void mldfi_tar_unpack_free(struct tar_unpack *unpack);
/* Undoes what the bytes and the room allow, in one stream. *ended: the stream is over, and the next call begins another. An error's offset
 * counts from `at`, the place of `data` in the file. */
mldf_status mldfi_tar_unpack_step(struct tar_unpack *unpack, uint64_t at, const uint8_t *data, size_t bytes,
                                  size_t *used, uint8_t *dst, size_t room, size_t *got, bool *ended, mldf_error *err);

#endif
