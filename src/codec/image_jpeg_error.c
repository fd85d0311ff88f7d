/* libjpeg's error manager and source manager for bytes in memory: nothing is printed, nothing exits, nothing is invented. */
#include <string.h>

#include "codec/jpeg_error.h"
#include "util/error.h"

/* From libjpeg's private jerror.h, which installs and has been the same since version 6b. */
#include <jerror.h>

void mldfi_jpeg_throw(j_common_ptr cinfo, mldf_status status, const char *text) {
    struct jpeg_trap *trap = (struct jpeg_trap *)(void *)cinfo->err;
    trap->status = status;
    snprintf(trap->text, sizeof trap->text, "%s", text);
    longjmp(trap->back, 1);
}

static void throw_error(j_common_ptr cinfo) {
    char text[JMSG_LENGTH_MAX];
    int code = cinfo->err->msg_code;
    cinfo->err->format_message(cinfo, text);
    mldf_status status = code == JERR_OUT_OF_MEMORY      ? MLDF_E_MEMORY
                         : code == JERR_NO_BACKING_STORE ? MLDF_E_LIMIT /* what max_memory_to_use leads to */
                                                         : MLDF_E_CORRUPT;
    mldfi_jpeg_throw(cinfo, status, text);
}

/* Warnings of libjpeg that cost pixels are errors here; those that cost none are left alone. */
static void judge_message(j_common_ptr cinfo, int level) {
    const struct jpeg_trap *trap = (const struct jpeg_trap *)(void *)cinfo->err;
    if (level >= 0 || trap->tolerant)
        return;
    switch (cinfo->err->msg_code) {
    case JWRN_ADOBE_XFORM:
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_JFIF_MAJOR:
    case JWRN_BOGUS_PROGRESSION:
        return;
    default:
        throw_error(cinfo);
    }
}

static void print_nothing(j_common_ptr cinfo) {
    (void)cinfo;
}

struct jpeg_error_mgr *mldfi_jpeg_trap(struct jpeg_trap *trap, bool tolerant) {
    memset(trap, 0, sizeof *trap);
    jpeg_std_error(&trap->manager);
    trap->manager.error_exit = throw_error;
    trap->manager.emit_message = judge_message;
    trap->manager.output_message = print_nothing;
    trap->tolerant = tolerant;
    return &trap->manager;
}

/* ---- Source ---------------------------------------------------------------------------------------------------------- */

static void source_nothing(j_decompress_ptr cinfo) {
    (void)cinfo;
}

static boolean source_fill(j_decompress_ptr cinfo) {
    static const JOCTET end[2] = {0xff, JPEG_EOI};
    const struct jpeg_memory *memory = (const struct jpeg_memory *)(const void *)cinfo->src;
    if (!memory->tolerant)
        mldfi_jpeg_throw((j_common_ptr)cinfo, MLDF_E_TRUNCATED, "the JPEG ends inside its pixels");
    cinfo->src->next_input_byte = end;
    cinfo->src->bytes_in_buffer = 2;
    return TRUE;
}

static void source_skip(j_decompress_ptr cinfo, long bytes) {
    struct jpeg_source_mgr *source = cinfo->src;
    if (bytes <= 0)
        return;
    if ((unsigned long)bytes > source->bytes_in_buffer) {
        (void)source_fill(cinfo);
        return;
    }
    source->next_input_byte += bytes;
    source->bytes_in_buffer -= (size_t)bytes;
}

void mldfi_jpeg_source(j_decompress_ptr cinfo, struct jpeg_memory *memory, const void *data, size_t bytes,
                       bool tolerant) {
    memory->data = data;
    memory->bytes = bytes;
    memory->tolerant = tolerant;
    memory->manager.init_source = source_nothing;
    memory->manager.fill_input_buffer = source_fill;
    memory->manager.skip_input_data = source_skip;
    memory->manager.resync_to_restart = jpeg_resync_to_restart;
    memory->manager.term_source = source_nothing;
    memory->manager.next_input_byte = data;
    memory->manager.bytes_in_buffer = bytes;
    cinfo->src = &memory->manager;
}

mldf_status mldfi_jpeg_failed(const struct jpeg_trap *trap, const struct jpeg_memory *memory, mldf_error *err) {
    size_t left = memory->manager.bytes_in_buffer;
    uint64_t place = trap->status == MLDF_E_TRUNCATED ? memory->bytes
                     : left <= memory->bytes          ? memory->bytes - left
                                                      : 0;
    if (trap->status == MLDF_E_LIMIT || trap->status == MLDF_E_MEMORY)
        return mldfi_fail(err, trap->status, "the JPEG does not decode: %s", trap->text);
    return mldfi_fail_at(err, trap->status, place, "the JPEG does not decode: %s (near byte %llu of %zu)", trap->text,
                         (unsigned long long)place, memory->bytes);
}
