/* Buffered appending to a file that is given or made when needed (see staging.h). tbl_write.c and beton_write.c use it. */
#include "interop/staging.h"

#include <stdlib.h>
#include <string.h>

#include "os/file_copy.h"
#include "util/buffer.h"
#include "util/error.h"

void mldfi_stage_into(struct stage *stage, struct os_file *file, uint64_t base) {
    *stage = (struct stage)STAGE_NONE;
    stage->file = file;
    stage->base = base;
}

void mldfi_stage_beside(struct stage *stage, const char *target) {
    *stage = (struct stage)STAGE_NONE;
    stage->target = target;
}

void mldfi_stage_free(struct stage *stage) {
    mldfi_file_close(&stage->own);
    mldf_buffer_free(&stage->tail);
    *stage = (struct stage)STAGE_NONE;
}

/* Straight to the file, after everything that was flushed. */
static mldf_status put(struct stage *stage, const void *data, size_t bytes, mldf_error *err) {
    if (!stage->file) {
        mldf_status status = mldfi_file_create_unlinked(&stage->own, stage->target, err);
        if (status < 0)
            return status;
        stage->file = &stage->own;
    }
    uint64_t place = stage->base + stage->flushed;
    mldf_status status = mldfi_file_write(stage->file, place, data, bytes, err);
    if (status < 0)
        return status;
    stage->flushed += bytes;
    if (stage->file != &stage->own)
        mldfi_file_start_writeback(stage->file, place, bytes);
    return MLDF_OK;
}

mldf_status mldfi_stage_flush(struct stage *stage, mldf_error *err) {
    if (stage->tail.size == 0)
        return MLDF_OK;
    mldf_status status = put(stage, stage->tail.data, stage->tail.size, err);
    if (status >= 0)
        stage->tail.size = 0;
    return status;
}

mldf_status mldfi_stage_push(struct stage *stage, const void *data, uint64_t bytes, mldf_error *err) {
    if (bytes > STAGE_BUFFER - stage->tail.size) {
        TRY(mldfi_stage_flush(stage, err));
    }
    return bytes >= STAGE_BUFFER ? put(stage, data, (size_t)bytes, err)
                                 : mldf_buffer_append(&stage->tail, data, (size_t)bytes, err);
}

mldf_status mldfi_stage_skip(struct stage *stage, uint64_t bytes, mldf_error *err) {
    static const uint8_t zeros[4096];
    mldf_status status = MLDF_OK;
    if (bytes > 16 * sizeof zeros) {
        /* The last byte is written, so that the hole lies inside the file. */
        status = mldfi_stage_flush(stage, err);
        if (status < 0)
            return status;
        stage->flushed += bytes - 1;
        status = put(stage, zeros, 1, err);
        return status;
    }
    for (; status >= 0 && bytes > 0;) {
        uint64_t now = bytes < sizeof zeros ? bytes : sizeof zeros;
        status = mldfi_stage_push(stage, zeros, now, err);
        bytes -= now;
    }
    return status;
}

mldf_status mldfi_stage_read(const struct stage *stage, uint64_t offset, void *dst, size_t bytes, mldf_error *err) {
    size_t in_file = 0;
    if (offset < stage->flushed) {
        in_file = bytes < stage->flushed - offset ? bytes : (size_t)(stage->flushed - offset);
        TRY(mldfi_file_read(stage->file, stage->base + offset, dst, in_file, err));
    }
    if (in_file < bytes)
        memcpy((uint8_t *)dst + in_file, stage->tail.data + (offset + in_file - stage->flushed), bytes - in_file);
    return MLDF_OK;
}

mldf_status mldfi_stage_patch(struct stage *stage, uint64_t offset, const void *data, size_t bytes, mldf_error *err) {
    size_t in_file = 0;
    if (offset < stage->flushed) {
        in_file = bytes < stage->flushed - offset ? bytes : (size_t)(stage->flushed - offset);
        TRY(mldfi_file_write(stage->file, stage->base + offset, data, in_file, err));
    }
    if (in_file < bytes)
        memcpy(stage->tail.data + (offset + in_file - stage->flushed), (const uint8_t *)data + in_file,
               bytes - in_file);
    return MLDF_OK;
}

mldf_status mldfi_stage_copy(const struct stage *stage, const struct os_file *to, uint64_t offset, mldf_error *err) {
    mldf_status status = MLDF_OK;
    if (stage->flushed > 0)
        status = mldfi_file_copy(stage->file, stage->base, to, offset, stage->flushed, err);
    if (status >= 0 && stage->tail.size > 0)
        status = mldfi_file_write(to, offset + stage->flushed, stage->tail.data, stage->tail.size, err);
    return status;
}

enum { MOVE_BYTES = 256 << 10 };

mldf_status mldfi_stage_move(const struct stage *stage, const struct os_file *to, uint64_t offset, size_t record_bytes,
                             stage_change change, const void *user, mldf_error *err) {
    size_t piece = record_bytes < MOVE_BYTES ? MOVE_BYTES / record_bytes * record_bytes : record_bytes;
    uint8_t *memory = mldfi_alloc(piece, err);
    mldf_status status = memory ? MLDF_OK : MLDF_E_MEMORY;
    uint64_t total = mldfi_stage_bytes(stage);
    for (uint64_t at = 0; status >= 0 && at < total; at += piece) {
        size_t now = total - at < piece ? (size_t)(total - at) : piece;
        status = mldfi_stage_read(stage, at, memory, now, err);
        for (size_t i = 0; status >= 0 && i < now; i += record_bytes)
            change(user, memory + i);
        if (status >= 0)
            status = mldfi_file_write(to, offset + at, memory, now, err);
    }
    free(memory);
    return status;
}

/* ---- The ending ---------------------------------------------------------------------------------------------------------- */

mldf_status mldfi_stage_check_count(uint64_t announced, uint64_t came, mldf_error *err) {
    if (announced == MLDF_NONE || announced == came)
        return MLDF_OK;
    return mldfi_fail(err, MLDF_E_STATE, "%llu samples were announced, %llu came", (unsigned long long)announced,
                      (unsigned long long)came);
}

mldf_status mldfi_stage_publish(struct os_file *file, uint64_t bytes, const char *path, bool overwrite,
                                mldf_error *err) {
    mldf_status status = mldfi_file_truncate(file, bytes, err);
    if (status >= 0)
        status = mldfi_file_sync(file, err);
    return status < 0 ? status : mldfi_file_publish(file, path, overwrite, err);
}

mldf_status mldfi_stage_check_state(bool failed, bool finished, mldf_error *err) {
    if (failed || finished)
        return mldfi_fail(err, MLDF_E_STATE, "the writer has %s", failed ? "failed before" : "finished");
    return MLDF_OK;
}
