/* A compressed archive that is read from front to back: one pass makes the index, a second gives the samples in ascending order. Nothing
 * is unpacked to a disk; in memory are one sample and what the decoder needs. foreign_tar.c makes values of it. */
#ifndef MLDF_INTEROP_TAR_STREAM_H
#define MLDF_INTEROP_TAR_STREAM_H

#include "interop/tar.h"
#include "os/file.h"

struct tar_stream {
    const struct os_file *file;
    uint64_t file_bytes;
    uint64_t at;           /* of the file: next byte to read */
    uint64_t unpacked_max; /* see mldfi_tar_input_limit */
    struct tar_input *input;
    uint64_t sample; /* the one in memory; MLDF_NONE: none yet */
    bool broken;
    mldf_buffer bytes;    /* its parts, one after the other */
    pthread_mutex_t lock; /* of everything above; the caller takes it */
};

/* The file must outlive the stream. */
mldf_status mldfi_tar_stream_new(struct tar_stream **out, const struct os_file *file, uint64_t file_bytes,
                                 uint64_t unpacked_max, mldf_error *err);
void mldfi_tar_stream_free(struct tar_stream *stream);
/* The first pass, once, before the first sample. */
mldf_status mldfi_tar_stream_index(struct tar_stream *stream, struct tar_index *index, tar_warning_fn warn, void *user,
                                   mldf_error *err);
/* The sample's bytes into memory, with the lock held; a sample before the one in memory is MLDF_E_STATE. */
mldf_status mldfi_tar_stream_load(struct tar_stream *stream, const struct tar_index *index, uint64_t sample,
                                  mldf_error *err);

#endif
