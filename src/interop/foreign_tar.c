/* tar as a dataset: a sample for each key, a field for each extension, typed by the extension as WebDataset does. A plain archive is
 * indexed once and read in place; a compressed one is unpacked into an unlinked temporary file first. tar.h reads the bytes. */
#include <stdlib.h>
#include <string.h>

#include "interop/open_any.h"
#include "interop/sink.h"
#include "interop/tar.h"
#include "interop/tar_sidecar.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

struct tar_state {
    struct tar_index index;
    struct os_file unpacked; /* of a compressed archive */
    struct os_map map;
    const mldf_schema *schema;
};

static void tar_close(void *state) {
    struct tar_state *tar = state;
    mldfi_tar_index_free(&tar->index);
    mldfi_map_close(&tar->map);
    mldfi_file_close(&tar->unpacked);
    free(tar);
}

static const struct tar_index_part *find_part(const struct tar_index *index, uint64_t sample, size_t field) {
    const struct tar_index_sample *s = &index->samples[sample];
    for (uint32_t i = 0; i < s->part_count; i++)
        if (index->parts[s->first_part + i].extension == field)
            return &index->parts[s->first_part + i];
    return NULL;
}

static mldf_status get_integer(const uint8_t *data, uint64_t bytes, uint64_t offset, mldf_buffer *scratch,
                               mldf_value *out, mldf_error *err) {
    int64_t number;
    uint8_t record[8];
    mldf_status status = mldfi_tar_integer(data, bytes, &number, err);
    if (status < 0 && err)
        err->offset = offset;
    if (status < 0)
        return status;
    mldfi_store_u64(record, (uint64_t)number);
    return mldfi_foreign_value(scratch, record, sizeof record, NULL, 0, false, out, err);
}

static mldf_status tar_get(void *state, uint64_t sample, size_t field, bool verify, mldf_buffer *scratch,
                           mldf_value *out, mldf_error *err) {
    struct tar_state *tar = state;
    const struct tar_index_part *part = find_part(&tar->index, sample, field);
    uint16_t type = mldf_schema_field(tar->schema, field)->type_id;
    uint8_t record[IMAGE_RECORD_BYTES] = {0};
    (void)verify; /* only headers have a checksum, and that was checked */
    if (!part) {
        memset(out, 0, sizeof *out);
        return MLDF_OK;
    }
    const uint8_t *data = tar->index.data + part->offset;
    uint64_t ptr = part->bytes ? part->offset : 0;
    if (type == MLDF_INT)
        return get_integer(data, part->bytes, part->offset, scratch, out, err);
    if ((type == MLDF_IMAGE || type == MLDF_TEXT) && part->bytes > UINT32_MAX)
        return mldfi_fail_at(err, MLDF_E_LIMIT, part->offset, "a member of %llu bytes: at most 4 GiB for this kind",
                             (unsigned long long)part->bytes);
    if (type == MLDF_IMAGE) {
        mldfi_image_record_make(record, ptr, data, part->bytes);
        return mldfi_foreign_value(scratch, record, sizeof record, data, part->bytes, false, out, err);
    }
    mldfi_store_u64(record, ptr);
    mldfi_store_u64(record + 8, part->bytes); /* text has 4 bytes of size, then zeros: the same bytes */
    return mldfi_foreign_value(scratch, record, 16, data, part->bytes, false, out, err);
}

static mldf_status tar_key(void *state, uint64_t sample, const char **key, size_t *bytes, mldf_error *err) {
    const struct tar_index *index = &((struct tar_state *)state)->index;
    (void)err;
    *key = (const char *)index->keys.data + index->samples[sample].key_at;
    *bytes = index->samples[sample].key_bytes;
    return MLDF_OK;
}

static uint64_t tar_find_key(void *state, const char *key, size_t bytes) {
    return mldfi_tar_index_find(&((struct tar_state *)state)->index, key, bytes);
}

static mldf_status tar_payload_bytes(void *state, uint64_t *out, mldf_error *err) {
    const struct tar_index *index = &((struct tar_state *)state)->index;
    (void)err;
    *out = 0;
    for (size_t i = 0; i < index->part_count; i++)
        *out += index->parts[i].bytes;
    return MLDF_OK;
}

static bool tar_claims_image(void *state, uint64_t sample, size_t field) {
    (void)sample;
    return mldfi_tar_is_read_image(mldf_schema_field(((struct tar_state *)state)->schema, field)->name);
}

static const struct foreign_ops ops = {"tar", tar_close,         tar_get, tar_key, tar_find_key,
                                       NULL,  tar_payload_bytes, false,   NULL,    tar_claims_image};

/* ---- Opening ------------------------------------------------------------------------------------------------------------ */

/* A small archive cannot fill the disk: `most` bytes come out of it. */
static mldf_status unpack(struct tar_input *input, struct tar_state *tar, uint64_t most, mldf_error *err) {
    uint8_t chunk[65536];
    uint64_t at = 0;
    size_t got = 1;
    mldf_status status = mldfi_file_create_unlinked(&tar->unpacked, "/tmp/mldf-tar", err);
    while (status >= 0 && got > 0) {
        status = mldfi_tar_input_read(input, chunk, sizeof chunk, &got, err);
        if (status >= 0 && got > most - at)
            status = mldfi_fail(err, MLDF_E_LIMIT,
                                "the archive becomes more than %llu bytes, which is its limit: " DECODED_LIMIT_ADVICE,
                                (unsigned long long)most);
        if (status >= 0 && got)
            status = mldfi_file_write(&tar->unpacked, at, chunk, got, err);
        at += status >= 0 ? got : 0;
    }
    return status < 0 ? status : mldfi_map_open(&tar->map, &tar->unpacked, at, err);
}

static void on_warning(void *user, const char *message) {
    const mldf_reader *reader = user;
    mldfi_warn(reader->context, "%s: %s", reader->path, message);
}

/* A field that some sample lacks is nullable. */
static mldf_status make_schema(mldf_reader *reader, const struct tar_index *index, mldf_error *err) {
    uint64_t *counts = mldfi_alloc_zero(index->extension_count + 1, sizeof *counts, err);
    mldf_status status = counts ? mldf_schema_new(reader->context, &reader->schema, err) : MLDF_E_MEMORY;
    for (size_t i = 0; i < index->part_count && status >= 0; i++)
        counts[index->parts[i].extension]++;
    for (size_t i = 0; i < index->extension_count && status >= 0; i++) {
        const char *name = index->extensions[i];
        uint16_t flags = counts[i] < index->sample_count ? MLDF_FIELD_NULLABLE : 0;
        status = mldf_schema_add(reader->schema, name, mldfi_tar_type(name), NULL, flags, err);
    }
    free(counts);
    if (status >= 0 && index->extension_count == 0)
        status = mldfi_fail(err, MLDF_E_TYPE, "the archive holds no samples (files with a name and an extension)");
    return status;
}

/* The index that is kept beside the archive, if there is one and it is this archive's. */
static bool use_kept(mldf_reader *reader, struct tar_state *tar) {
    mldf_error why;
    if (reader->tar_index != MLDF_TAR_INDEX_USE)
        return false;
    mldf_status status =
        mldfi_tar_sidecar_load(&tar->index, reader->path, &reader->file, reader->map.data, reader->map.bytes, &why);
    if (status == MLDF_END)
        return false;
    if (status >= 0 && (status = make_schema(reader, &tar->index, &why)) < 0) {
        mldf_schema_free(reader->schema);
        reader->schema = NULL;
        mldfi_tar_index_free(&tar->index);
    }
    if (status < 0)
        mldfi_warn(reader->context, "%s%s is not used: %s", reader->path, TAR_SIDECAR_SUFFIX, why.message);
    return status >= 0;
}

static mldf_status walk(mldf_reader *reader, struct tar_state *tar, const void *data, uint64_t bytes, mldf_error *err) {
    bool keep = reader->tar_index == MLDF_TAR_INDEX_KEEP;
    struct os_stamp before;
    mldf_status status = keep ? mldfi_file_stamp(&reader->file, &before, err) : MLDF_OK;
    if (status >= 0 && keep)
        mldfi_stamp_settle(&before);
    if (status >= 0)
        status = mldfi_tar_index_build(&tar->index, data, bytes, on_warning, reader, err);
    if (status >= 0)
        status = make_schema(reader, &tar->index, err);
    if (status >= 0 && keep)
        status = mldfi_tar_sidecar_keep(&tar->index, reader->path, &reader->file, &before, err);
    return status;
}

mldf_status mldfi_foreign_open_tar(mldf_reader *reader, mldf_error *err) {
    struct tar_state *tar = mldfi_alloc_zero(1, sizeof *tar, err);
    if (!tar)
        return MLDF_E_MEMORY;
    tar->unpacked = (struct os_file)OS_FILE_NONE;
    reader->foreign.ops = &ops;
    reader->foreign.state = tar;
    const uint8_t *data = reader->map.data;
    uint64_t bytes = reader->map.bytes;
    struct tar_input *input;
    mldf_status status = mldfi_tar_input_memory(&input, data, bytes, err);
    if (status < 0)
        return status;
    if (strcmp(mldfi_tar_input_kind(input), "tar") != 0) {
        uint64_t least = mldfi_decoded_limit(reader->max_decoded, 0), most = mldfi_decoded_limit(0, bytes);
        status = unpack(input, tar, least > most ? least : most, err);
        data = tar->map.data;
        bytes = tar->map.bytes;
    }
    mldfi_tar_input_free(input);
    if (status >= 0 && tar->unpacked.fd >= 0 && reader->tar_index == MLDF_TAR_INDEX_KEEP)
        status =
            mldfi_fail(err, MLDF_E_ARGUMENT, "a compressed archive is unpacked to be read: there is no index to keep");
    if (status >= 0 && (tar->unpacked.fd >= 0 || !use_kept(reader, tar)))
        status = walk(reader, tar, data, bytes, err);
    tar->schema = reader->schema;
    reader->header.num_samples = tar->index.sample_count;
    return status;
}
