/* A stage takes bytes one after the other: into a file of the caller's from some byte on, or into memory and, when that is
 * not enough, into an unlinked temporary file, to be copied to their place when it is known. Memory is bounded in both cases.
 * The writers of TBL and .beton put their tables and payloads through stages: with the number of samples known everything goes
 * straight to its place, without it the same code writes aside. */
#ifndef MLDF_INTEROP_STAGING_H
#define MLDF_INTEROP_STAGING_H

#include "os/file.h"

enum { STAGE_BUFFER = 1 << 20 };

struct stage {
    struct os_file *file; /* the caller's, or &own */
    struct os_file own;
    const char *target; /* own is made beside it; borrowed */
    uint64_t base;      /* place of byte 0 in the file */
    uint64_t flushed;   /* bytes in the file */
    mldf_buffer tail;   /* the bytes after them */
};
#define STAGE_NONE \
    { NULL, OS_FILE_NONE, NULL, 0, 0, MLDF_BUFFER_INIT }

void mldfi_stage_into(struct stage *stage, struct os_file *file, uint64_t base);
void mldfi_stage_beside(struct stage *stage, const char *target);
void mldfi_stage_free(struct stage *stage);

static inline uint64_t mldfi_stage_bytes(const struct stage *stage) {
    return stage->flushed + stage->tail.size;
}
mldf_status mldfi_stage_push(struct stage *stage, const void *data, uint64_t bytes, mldf_error *err);
/* Zero bytes; many of them become a hole in the file. */
mldf_status mldfi_stage_skip(struct stage *stage, uint64_t bytes, mldf_error *err);
/* [offset, offset + bytes) must have been pushed. */
mldf_status mldfi_stage_read(const struct stage *stage, uint64_t offset, void *dst, size_t bytes, mldf_error *err);
mldf_status mldfi_stage_patch(struct stage *stage, uint64_t offset, const void *data, size_t bytes, mldf_error *err);
mldf_status mldfi_stage_flush(struct stage *stage, mldf_error *err);
/* The whole content to another file. */
mldf_status mldfi_stage_copy(const struct stage *stage, const struct os_file *to, uint64_t offset, mldf_error *err);
/* The same for a table of records, each of which is changed on the way: pointers become absolute. */
typedef void (*stage_change)(const void *user, uint8_t *record);
mldf_status mldfi_stage_move(const struct stage *stage, const struct os_file *to, uint64_t offset, size_t record_bytes,
                             stage_change change, const void *user, mldf_error *err);

/* ---- The ending of a file that is made of stages --------------------------------------------------------------------------- */

/* Were as many samples written as were announced? announced MLDF_NONE: nothing was. */
mldf_status mldfi_stage_check_count(uint64_t announced, uint64_t came, mldf_error *err);
/* Everything is written: the file gets its length and its name. */
mldf_status mldfi_stage_publish(struct os_file *file, uint64_t bytes, const char *path, bool overwrite,
                                mldf_error *err);
/* Is the writer still to be used? */
mldf_status mldfi_stage_check_state(bool failed, bool finished, mldf_error *err);

#endif
