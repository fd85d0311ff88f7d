/* libjpeg without its exit() and its stderr: an error manager that longjmps back with the reason. Used by image_jpeg.c and
 * image_jpeg_write.c. */
#ifndef MLDF_CODEC_JPEG_ERROR_H
#define MLDF_CODEC_JPEG_ERROR_H

#include <setjmp.h>
#include <stdio.h> /* jpeglib.h wants FILE */

#include <jpeglib.h>

#include "mldf/base.h"

#ifndef LIBJPEG_TURBO_VERSION
#error "mldf needs libjpeg-turbo: other libjpegs cannot decode a region"
#endif

struct jpeg_trap {
    struct jpeg_error_mgr manager; /* first: libjpeg's pointer to it is ours */
    jmp_buf back;
    mldf_status status;
    bool tolerant; /* damaged data is a warning */
    char text[JMSG_LENGTH_MAX];
};
/* Fills the manager; the caller does setjmp(trap->back) before the first call of libjpeg. */
struct jpeg_error_mgr *mldfi_jpeg_trap(struct jpeg_trap *trap, bool tolerant);
/* Ends the present call with this reason. */
_Noreturn void mldfi_jpeg_throw(j_common_ptr cinfo, mldf_status status, const char *text);

/* A source of bytes in memory that reports its end instead of inventing an EOI. */
struct jpeg_memory {
    struct jpeg_source_mgr manager;
    const uint8_t *data;
    size_t bytes;
    bool tolerant;
};
void mldfi_jpeg_source(j_decompress_ptr cinfo, struct jpeg_memory *memory, const void *data, size_t bytes,
                       bool tolerant);
/* Fails with the trap's reason and the place in the source. */
mldf_status mldfi_jpeg_failed(const struct jpeg_trap *trap, const struct jpeg_memory *memory, mldf_error *err);

#endif
