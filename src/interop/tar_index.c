/* An archive as an array of samples, so that any of them is found at once. Only headers are touched. */
#include <stdlib.h>
#include <string.h>

#include "interop/name_set.h"
#include "interop/tar.h"
#include "interop/tar_npz.h"
#include "util/buffer.h"
#include "util/error.h"

/* The number of an extension; a new one gets the next. */
static mldf_status extension_number(struct tar_index *index, const char *text, uint32_t *out, mldf_error *err) {
    uint64_t number = index->extension_count;
    mldf_status status = mldfi_name_set_add(index->by_extension, text, strlen(text), &number, err);
    *out = (uint32_t)number;
    if (status != MLDF_OK)
        return status == MLDF_END ? MLDF_OK : status;
    TRY(mldfi_array_reserve(&index->extensions, &index->extension_capacity, index->extension_count + 1,
                            sizeof *index->extensions, err));
    char *copy = mldfi_copy_text(text, strlen(text), err);
    if (!copy)
        return MLDF_E_MEMORY;
    index->extensions[index->extension_count++] = copy;
    return MLDF_OK;
}

static mldf_status keep(struct tar_index *index, const struct tar_sample *sample, mldf_error *err) {
    mldf_status status = mldfi_array_reserve(&index->samples, &index->sample_capacity, index->sample_count + 1,
                                             sizeof *index->samples, err);
    if (status >= 0)
        status = mldfi_array_reserve(&index->parts, &index->part_capacity, index->part_count + sample->part_count,
                                     sizeof *index->parts, err);
    if (status < 0)
        return status;
    struct tar_index_sample *entry = &index->samples[index->sample_count];
    *entry = (struct tar_index_sample){.first_part = index->part_count,
                                       .key_at = index->keys.size,
                                       .part_count = (uint32_t)sample->part_count,
                                       .key_bytes = (uint32_t)sample->key_bytes};
    for (size_t i = 0; status >= 0 && i < sample->part_count; i++) {
        struct tar_index_part *part = &index->parts[index->part_count++];
        part->offset = sample->parts[i].offset;
        part->bytes = sample->parts[i].bytes;
        status = extension_number(index, sample->parts[i].extension, &part->extension, err);
    }
    index->sample_count++;
    if (status >= 0)
        status = mldf_buffer_append(&index->keys, sample->key, sample->key_bytes + 1, err);
    return status < 0 ? status : MLDF_OK;
}

static const char *key_of(const struct tar_index *index, uint64_t sample) {
    return (const char *)index->keys.data + index->samples[sample].key_at;
}

/* One for each extension so far. */
static mldf_status reserve_arrays(struct tar_index *index, mldf_error *err) {
    size_t before = index->array_capacity;
    mldf_status status =
        mldfi_array_reserve(&index->arrays, &index->array_capacity, index->extension_count, sizeof *index->arrays, err);
    if (status >= 0 && index->array_capacity > before)
        memset(index->arrays + before, 0, (index->array_capacity - before) * sizeof *index->arrays);
    return status;
}

/* A stream's arrays are here now, and later only one after the other. */
static mldf_status look_at_arrays(struct tar_index *index, const struct tar_sample *sample, mldf_error *err) {
    const struct tar_index_sample *entry = &index->samples[index->sample_count - 1];
    mldf_status status = MLDF_OK;
    for (uint32_t i = 0; i < entry->part_count && status >= 0; i++)
        if (sample->parts[i].known_bytes && (status = reserve_arrays(index, err)) >= 0)
            mldfi_npz_look(&index->arrays[index->parts[entry->first_part + i].extension], sample->parts[i].data,
                           sample->parts[i].known_bytes, sample->key);
    return status;
}

static mldf_status keep_all(struct tar_index *index, struct tar_input *input, tar_warning_fn warn, void *user,
                            mldf_error *err) {
    struct tar_group_options options = {.headers_only = !index->data, .warn = warn, .user = user};
    struct tar_group *group = NULL;
    struct tar_sample sample;
    mldf_status status = mldfi_tar_group_new(&group, &options, err);
    if (status >= 0)
        status = mldfi_tar_group_begin(group, input, "the archive", err);
    while (status == MLDF_OK) {
        status = mldfi_tar_group_next(group, &sample, err);
        if (status == MLDF_OK)
            status = keep(index, &sample, err);
        if (status == MLDF_OK && !index->data && index->sample_count <= TAR_LOOKED)
            status = look_at_arrays(index, &sample, err);
    }
    index->passed_over = group ? mldfi_tar_group_passed_over(group) : 0;
    mldfi_tar_group_free(group);
    return status == MLDF_END ? MLDF_OK : status;
}

mldf_status mldfi_tar_index_arrays(struct tar_index *index, mldf_error *err) {
    mldf_status status = MLDF_OK;
    for (size_t i = 0; index->data && !index->arrays && i < index->extension_count && status >= 0; i++)
        if (mldfi_tar_type(index->extensions[i]) == MLDF_NDARRAY)
            status = reserve_arrays(index, err);
    if (status < 0 || !index->data || !index->arrays)
        return status;
    for (size_t i = 0; i < index->sample_count && i < TAR_LOOKED; i++) {
        const struct tar_index_part *parts = &index->parts[index->samples[i].first_part];
        for (uint32_t k = 0; k < index->samples[i].part_count; k++)
            if (mldfi_tar_type(index->extensions[parts[k].extension]) == MLDF_NDARRAY)
                mldfi_npz_look(&index->arrays[parts[k].extension], index->data + parts[k].offset, parts[k].bytes,
                               key_of(index, i));
    }
    return MLDF_OK;
}

void mldfi_tar_index_init(struct tar_index *index, const void *data) {
    memset(index, 0, sizeof *index);
    index->data = data;
    index->made = pthread_mutex_init(&index->lock, NULL) == 0;
}

mldf_status mldfi_tar_index_read(struct tar_index *index, struct tar_input *input, tar_warning_fn warn, void *user,
                                 mldf_error *err) {
    mldfi_tar_index_init(index, NULL);
    mldf_status status = mldfi_name_set_new(&index->by_extension, err);
    if (status >= 0)
        status = keep_all(index, input, warn, user, err);
    if (status < 0)
        mldfi_tar_index_free(index);
    return status;
}

mldf_status mldfi_tar_index_build(struct tar_index *index, const void *data, uint64_t bytes, tar_warning_fn warn,
                                  void *user, mldf_error *err) {
    mldfi_tar_index_init(index, data);
    struct tar_input *input = NULL;
    mldf_status status = mldfi_name_set_new(&index->by_extension, err);
    if (status >= 0)
        status = mldfi_tar_input_memory(&input, data, bytes, err);
    if (status >= 0 && strcmp(mldfi_tar_input_kind(input), "tar") != 0)
        status = mldfi_fail(err, MLDF_E_UNSUPPORTED, "a %s cannot be indexed: its samples can only be read in order",
                            mldfi_tar_input_kind(input));
    if (status >= 0)
        status = keep_all(index, input, warn, user, err);
    mldfi_tar_input_free(input);
    if (status < 0)
        mldfi_tar_index_free(index);
    return status;
}

void mldfi_tar_index_free(struct tar_index *index) {
    free(index->arrays);
    for (size_t i = 0; i < index->extension_count; i++)
        free(index->extensions[i]);
    free(index->extensions);
    free(index->samples);
    free(index->parts);
    mldf_buffer_free(&index->keys);
    mldfi_name_set_free(index->by_key);
    mldfi_name_set_free(index->by_extension);
    if (index->made)
        pthread_mutex_destroy(&index->lock);
    memset(index, 0, sizeof *index);
}

/* ---- Keys ------------------------------------------------------------------------------------------------------------------ */

static void make_table(struct tar_index *index) {
    struct name_set *set;
    mldf_status status = mldfi_name_set_new(&set, NULL);
    for (size_t i = 0; i < index->sample_count && status >= 0; i++) {
        uint64_t number = i;
        status = mldfi_name_set_add(set, key_of(index, i), index->samples[i].key_bytes, &number, NULL);
    }
    if (status < 0) {
        mldfi_name_set_free(set);
        set = NULL;
    }
    index->by_key = set;
}

static uint64_t search(const struct tar_index *index, const char *key, size_t bytes) {
    for (size_t i = 0; i < index->sample_count; i++)
        if (index->samples[i].key_bytes == bytes && memcmp(key_of(index, i), key, bytes) == 0)
            return i;
    return MLDF_NONE;
}

uint64_t mldfi_tar_index_find(struct tar_index *index, const char *key, size_t bytes) {
    if (!atomic_load_explicit(&index->keys_ready, memory_order_acquire)) {
        pthread_mutex_lock(&index->lock);
        if (!atomic_load_explicit(&index->keys_ready, memory_order_relaxed))
            make_table(index);
        atomic_store_explicit(&index->keys_ready, true, memory_order_release);
        pthread_mutex_unlock(&index->lock);
    }
    return index->by_key ? mldfi_name_set_find(index->by_key, key, bytes) : search(index, key, bytes);
}
