/* Compressing a stream on its way out: gzip or zstd, the other way round from tar_input.c. tar_write.c sends an archive through it. */
#ifndef MLDF_INTEROP_TAR_SQUEEZE_H
#define MLDF_INTEROP_TAR_SQUEEZE_H

#include "interop/tar.h"

struct tar_squeeze;
/* Where the compressed bytes go, in order. */
typedef mldf_status (*tar_push_fn)(void *user, const void *data, uint64_t bytes, mldf_error *err);

/* kind: TAR_GZIP or TAR_ZSTD. The same input gives the same bytes: neither a time nor a name is in them. */
mldf_status mldfi_tar_squeeze_new(struct tar_squeeze **out, tar_compression kind, tar_push_fn push, void *user,
                                  mldf_error *err);
mldf_status mldfi_tar_squeeze_write(struct tar_squeeze *squeeze, const void *data, uint64_t bytes, mldf_error *err);
/* The end of the stream. */
mldf_status mldfi_tar_squeeze_finish(struct tar_squeeze *squeeze, mldf_error *err);
void mldfi_tar_squeeze_free(struct tar_squeeze *squeeze);

#endif
