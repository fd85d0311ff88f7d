/* See tar_stream.h. tar_input.c decompresses. */
#include "interop/tar_stream.h"

#include <stdlib.h>

#include "util/buffer.h"
#include "util/error.h"

#define ULL(v) ((unsigned long long)(v))

enum { BYTES_KEEP = 64 << 20 }; /* a larger buffer goes back before the next sample */

static mldf_status pull(void *user, void *dst, size_t room, size_t *got, mldf_error *err) {
    struct tar_stream *s = user;
    uint64_t left = s->file_bytes - s->at;
    *got = room < left ? room : (size_t)left;
    mldf_status status = *got ? mldfi_file_read(s->file, s->at, dst, *got, err) : MLDF_OK;
    s->at += *got;
    return status;
}

/* From the first byte. */
static mldf_status begin(struct tar_stream *s, mldf_error *err) {
    mldfi_tar_input_free(s->input);
    s->input = NULL;
    s->at = 0;
    mldf_status status = mldfi_tar_input_pull(&s->input, pull, s, err);
    if (status >= 0)
        mldfi_tar_input_limit(s->input, s->unpacked_max);
    return status;
}

mldf_status mldfi_tar_stream_new(struct tar_stream **out, const struct os_file *file, uint64_t file_bytes,
                                 uint64_t unpacked_max, mldf_error *err) {
    *out = NULL;
    struct tar_stream *s = mldfi_alloc_zero(1, sizeof *s, err);
    if (!s)
        return MLDF_E_MEMORY;
    if (pthread_mutex_init(&s->lock, NULL) != 0) {
        free(s);
        return mldfi_fail_memory(err, sizeof s->lock);
    }
    s->file = file;
    s->file_bytes = file_bytes;
    s->unpacked_max = unpacked_max;
    s->sample = MLDF_NONE;
    *out = s;
    return MLDF_OK;
}

void mldfi_tar_stream_free(struct tar_stream *s) {
    if (!s)
        return;
    mldfi_tar_input_free(s->input);
    mldf_buffer_free(&s->bytes);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

mldf_status mldfi_tar_stream_index(struct tar_stream *s, struct tar_index *index, tar_warning_fn warn, void *user,
                                   mldf_error *err) {
    mldf_status status = begin(s, err);
    return status < 0 ? status : mldfi_tar_index_read(index, s->input, warn, user, err);
}

static mldf_status ends_early(const struct tar_stream *s, mldf_error *err) {
    return mldfi_fail_at(err, MLDF_E_CHANGED, s->at,
                         "the archive ends at byte %llu when it is unpacked again: the file was changed meanwhile",
                         ULL(mldfi_tar_input_position(s->input)));
}

/* Memory grows with what comes, not with what a header says. */
static mldf_status read_part(struct tar_stream *s, const struct tar_index_part *part, mldf_error *err) {
    uint64_t skip = part->offset - mldfi_tar_input_position(s->input), left = part->bytes, done;
    mldf_status status = mldfi_tar_input_skip(s->input, skip, &done, err);
    if (status >= 0 && done < skip)
        return ends_early(s, err);
    for (size_t step = 1 << 16, got; status >= 0 && left > 0; left -= got, step *= 2) {
        size_t now = left < step ? (size_t)left : step;
        uint8_t *where;
        status = mldfi_buffer_extend(&s->bytes, now, &where, err);
        if (status >= 0)
            status = mldfi_tar_input_read(s->input, where, now, &got, err);
        if (status >= 0 && got < now)
            return ends_early(s, err);
        if (status < 0)
            break;
    }
    return status;
}

mldf_status mldfi_tar_stream_load(struct tar_stream *s, const struct tar_index *index, uint64_t sample,
                                  mldf_error *err) {
    const struct tar_index_sample *entry = &index->samples[sample];
    if (s->broken)
        return mldfi_fail(err, MLDF_E_CHANGED, "the archive could not be read on, at a sample before");
    if (sample == s->sample)
        return MLDF_OK;
    if (s->sample != MLDF_NONE && sample < s->sample)
        return mldfi_fail(
            err, MLDF_E_STATE,
            "sample %llu is asked for after sample %llu: this compressed archive was opened to be read in "
            "order",
            ULL(sample), ULL(s->sample));
    for (uint32_t i = 0; i < entry->part_count; i++) {
        const struct tar_index_part *part = &index->parts[entry->first_part + i];
        if (part->bytes > TAR_STREAMED_MEMBER_MAX)
            return mldfi_tar_member_too_large((const char *)index->keys.data + entry->key_at, part->bytes,
                                              part->offset - TAR_BLOCK, err);
    }
    mldf_status status = s->sample == MLDF_NONE ? begin(s, err) : MLDF_OK;
    if (s->bytes.capacity > BYTES_KEEP)
        mldf_buffer_free(&s->bytes);
    s->bytes.size = 0;
    for (uint32_t i = 0; i < entry->part_count && status >= 0; i++)
        status = read_part(s, &index->parts[entry->first_part + i], err);
    s->sample = sample;
    s->broken = status < 0; /* the stream stands somewhere behind */
    return status;
}
