/* The index of a plain archive, kept in a file beside it, so that opening need not walk the archive: FILE.tar.mldfidx.
 *
 *     head 72 | parts 20 * P | samples 8 * S | extensions | keys | CRC-32C of all before it
 *
 * docs/guides/interop.md has the layout. The file is a cache and nothing more: what does not agree with the archive is not used.
 * tar_sidecar.c turns an index into bytes and back, tar_sidecar_file.c keeps and finds the file. */
#ifndef MLDF_INTEROP_TAR_SIDECAR_H
#define MLDF_INTEROP_TAR_SIDECAR_H

#include "interop/tar.h"
#include "os/target.h"

#define TAR_SIDECAR_SUFFIX ".mldfidx"

/* What an index belongs to: an archive of this size and time, whose probed headers have this checksum. */
struct tar_binding {
    struct os_stamp stamp;
    uint32_t probe;
};

/* CRC-32C of the archive's first block and of the header blocks before up to 8 parts, the first and the last among them. */
uint32_t mldfi_tar_sidecar_probe(const struct tar_index *index);

/* Do the bytes begin like a kept index? */
bool mldfi_tar_sidecar_is(const void *data, size_t bytes);
mldf_status mldfi_tar_sidecar_encode(const struct tar_index *index, const struct tar_binding *binding, mldf_buffer *out,
                                     mldf_error *err);
/* An index out of bytes that nobody vouches for. Every part is checked to lie inside an archive of `tar_bytes`; what they say they belong to
 * is *binding, for the caller to compare. The index finds keys by a table that the first search makes. */
mldf_status mldfi_tar_sidecar_decode(struct tar_index *index, const uint8_t *data, size_t bytes, const void *tar,
                                     uint64_t tar_bytes, struct tar_binding *binding, mldf_error *err);

/* The index that is kept beside the archive `path`, whose bytes are mapped. MLDF_END: there is no such file. An error says why it is not used. */
mldf_status mldfi_tar_sidecar_load(struct tar_index *index, const char *path, const struct os_file *file,
                                   const void *tar, uint64_t tar_bytes, mldf_error *err);
/* Makes one, in one step; `before` is the archive's stamp when the walk began. */
mldf_status mldfi_tar_sidecar_keep(const struct tar_index *index, const char *path, const struct os_file *file,
                                   const struct os_stamp *before, mldf_error *err);

#endif
