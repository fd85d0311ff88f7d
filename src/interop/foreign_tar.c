/* tar as a dataset: a sample for each key, a field for each extension, typed by the extension as WebDataset does, or by the schema of an
 * archive that mldf wrote (tar_about.h). A plain archive is
 * indexed once and read in place; a compressed one is a stream for those who read in order (tar_stream.h), and is unpacked into a temporary
 * file without a name for others. tar.h reads the bytes. */
#include <stdlib.h>
#include <string.h>

#include "interop/open_any.h"
#include "interop/tar.h"
#include "interop/tar_about.h"
#include "interop/tar_npz.h"
#include "interop/tar_sidecar.h"
#include "interop/tar_stream.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

struct tar_state {
    struct tar_index index;
    struct tar_stream *stream; /* of a compressed archive, or */
    struct os_file unpacked;
    struct os_map map;
    const mldf_schema *schema;
    struct tar_about about;
    size_t *field_of;     /* each extension's field */
    uint64_t max_decoded; /* see mldfi_decoded_limit */
};

static void tar_close(void *state) {
    struct tar_state *tar = state;
    mldfi_tar_about_free(&tar->about);
    free(tar->field_of);
    mldfi_tar_index_free(&tar->index);
    mldfi_map_close(&tar->map);
    mldfi_file_close(&tar->unpacked);
    mldfi_tar_stream_free(tar->stream);
    free(tar);
}

static const struct tar_index_part *find_part(const struct tar_state *tar, uint64_t sample, size_t field) {
    const struct tar_index *index = &tar->index;
    const struct tar_index_sample *s = &index->samples[sample];
    for (uint32_t i = 0; i < s->part_count; i++)
        if (tar->field_of[index->parts[s->first_part + i].extension] == field)
            return &index->parts[s->first_part + i];
    return NULL;
}

/* An array is viewed in place where its elements can be. */
static bool is_aligned(const struct schema_field *field, const uint8_t *record, const void *payload, uint64_t bytes) {
    const struct type_core *type = &field->type->type;
    mldf_buffer unused = MLDF_BUFFER_INIT;
    mldf_value value;
    mldf_status status = type->decode(type->user, field->state, record, payload, bytes, &unused, &value, NULL);
    mldf_buffer_free(&unused);
    return status < 0 || value.kind != MLDF_KIND_ARRAY || (uintptr_t)payload % mldf_dtype_bytes(value.dtype) == 0;
}

/* A value that its type makes of the part's content. What is stored may be a part of it, which stays in place, or made of it. */
static mldf_status encode_value(const struct schema_field *field, const char *extension,
                                const struct tar_index_part *part, const uint8_t *data, uint64_t max_decoded, bool copy,
                                mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    const struct type_core *type = &field->type->type;
    mldf_buffer made = MLDF_BUFFER_INIT, moved = MLDF_BUFFER_INIT, record = MLDF_BUFFER_INIT;
    const void *payload = data;
    uint64_t bytes = part->bytes, ptr = part->bytes ? part->offset : 0;
    mldf_value value;
    mldf_status status = mldfi_buffer_resize(&record, field->info.record_bytes, err);
    if (status < 0)
        return status;
    memset(record.data, 0, record.size);
    if (field->type->files && field->type->files->keep) {
        field->type->files->keep(record.data, ptr, data, part->bytes);
    } else {
        status = mldfi_tar_value(field, extension, data, part->bytes, max_decoded, &moved, &value, err);
        if (status >= 0)
            status = type->encode(type->user, field->state, &value, record.data, &made, &payload, &bytes, err);
        bool outside = made.size > 0 || moved.size > 0;
        if (status >= 0 && mldfi_field_has_payload(field)) {
            if (!outside && bytes)
                ptr += (uint64_t)((const uint8_t *)payload - data);
            mldfi_record_set_payload(field, record.data, bytes ? ptr : 0, bytes);
            copy = copy || outside || !is_aligned(field, record.data, payload, bytes);
        }
    }
    if (status < 0 && err)
        err->offset = part->offset;
    if (status >= 0)
        status = mldfi_foreign_value(scratch, record.data, field->info.record_bytes, payload, bytes, copy, out, err);
    mldf_buffer_free(&made);
    mldf_buffer_free(&moved);
    mldf_buffer_free(&record);
    return status;
}

/* copy: the data does not stay where it is. */
static mldf_status make_value(const struct schema_field *field, const char *extension,
                              const struct tar_index_part *part, const uint8_t *data, uint64_t max_decoded, bool copy,
                              mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    uint8_t record[16] = {0};
    uint64_t ptr = part->bytes ? part->offset : 0;
    uint16_t type = field->info.type_id;
    if (type != MLDF_BYTES && type != MLDF_TEXT && type != MLDF_JSON)
        return encode_value(field, extension, part, data, max_decoded, copy, scratch, out, err);
    if (type == MLDF_BYTES && mldfi_npz_is(extension)) { /* arrays that differ too much for one field */
        mldf_buffer inflated = MLDF_BUFFER_INIT;
        const uint8_t *npy;
        uint64_t bytes;
        mldf_status status = mldfi_npz_unwrap(data, part->bytes, max_decoded, &inflated, &npy, &bytes, err);
        mldfi_store_u64(record, bytes ? part->offset : 0);
        mldfi_store_u64(record + 8, bytes);
        if (status >= 0)
            status = mldfi_foreign_value(scratch, record, 16, npy, bytes, true, out, err);
        else if (err)
            err->offset = part->offset;
        mldf_buffer_free(&inflated);
        return status;
    }
    mldfi_store_u64(record, ptr);
    mldfi_store_u64(record + 8, part->bytes); /* text has 4 bytes of size, then zeros: the same bytes */
    return mldfi_foreign_value(scratch, record, 16, data, part->bytes, copy, out, err);
}

static mldf_status get_streamed(struct tar_state *tar, uint64_t sample, const struct tar_index_part *part,
                                const struct schema_field *field, mldf_buffer *scratch, mldf_value *out,
                                mldf_error *err) {
    struct tar_stream *stream = tar->stream;
    size_t at = 0;
    for (const struct tar_index_part *p = &tar->index.parts[tar->index.samples[sample].first_part]; p < part; p++)
        at += (size_t)p->bytes;
    pthread_mutex_lock(&stream->lock);
    mldf_status status = mldfi_tar_stream_load(stream, &tar->index, sample, err);
    if (status >= 0)
        status = make_value(field, tar->index.extensions[part->extension], part,
                            part->bytes ? stream->bytes.data + at : (const uint8_t *)"", tar->max_decoded, true,
                            scratch, out, err);
    pthread_mutex_unlock(&stream->lock);
    return status;
}

static mldf_status tar_get(void *state, uint64_t sample, size_t field, bool verify, mldf_buffer *scratch,
                           mldf_value *out, mldf_error *err) {
    struct tar_state *tar = state;
    const struct tar_index_part *part = find_part(tar, sample, field);
    const struct schema_field *f = &tar->schema->fields[field];
    (void)verify; /* only headers have a checksum, and that was checked */
    if (!part) {
        memset(out, 0, sizeof *out);
        return MLDF_OK;
    }
    if ((f->info.flags & MLDF_FIELD_SIZE32) && part->bytes > UINT32_MAX)
        return mldfi_fail_at(err, MLDF_E_LIMIT, part->offset, "a member of %llu bytes: at most 4 GiB for this kind",
                             (unsigned long long)part->bytes);
    if (tar->stream)
        return get_streamed(tar, sample, part, f, scratch, out, err);
    return make_value(f, tar->index.extensions[part->extension], part, tar->index.data + part->offset, tar->max_decoded,
                      false, scratch, out, err);
}

/* ---- Keys --------------------------------------------------------------------------------------------------------------- */

static mldf_status get_key(const struct tar_index *index, uint64_t sample, const char **key, size_t *bytes,
                           mldf_error *err) {
    const struct tar_index_sample *s = &index->samples[sample];
    *key = (const char *)index->keys.data + s->key_at;
    *bytes = s->key_bytes;
    mldf_status status = mldfi_tar_check_key(*key, *bytes, index->parts[s->first_part].offset, err);
    if (status < 0)
        mldfi_error_place(err, sample, NULL);
    return status;
}

static mldf_status tar_key(void *state, uint64_t sample, const char **key, size_t *bytes, mldf_error *err) {
    return get_key(&((struct tar_state *)state)->index, sample, key, bytes, err);
}

/* The structure was checked when the archive was opened; keys are not, as most of what reads samples needs none. */
static mldf_status tar_verify(void *state, bool (*report)(void *user, const mldf_error *problem), void *user,
                              mldf_error *err) {
    const struct tar_index *index = &((struct tar_state *)state)->index;
    (void)err;
    for (uint64_t i = 0; i < index->sample_count; i++) {
        const char *key;
        size_t bytes;
        mldf_error problem;
        if (get_key(index, i, &key, &bytes, &problem) < 0 && !report(user, &problem))
            break;
        if (!report(user, NULL))
            break;
    }
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

static bool tar_claims_file(void *state, uint64_t sample, size_t field) {
    const struct tar_state *tar = state;
    const struct tar_index_part *part = find_part(tar, sample, field);
    const struct field_type *type;
    return part && mldfi_tar_file(tar->index.extensions[part->extension], &type) == ARCHIVE_READ;
}

static const struct foreign_ops ops = {"tar",      tar_close,         tar_get, tar_key, tar_find_key,
                                       tar_verify, tar_payload_bytes, false,   NULL,    tar_claims_file,
                                       NULL};

/* ---- Opening ------------------------------------------------------------------------------------------------------------ */

enum { UNPACK_CHUNK = 1 << 18, UNPACK_STEP = 64 << 20 };

/* Others need the disk too: a twentieth of it, at most 1 GiB, stays free. */
static mldf_status check_space(const struct os_file *file, uint64_t written, mldf_error *err) {
    uint64_t available, total;
    mldfi_file_space(file, &available, &total);
    uint64_t reserve = total / 20 < (UINT64_C(1) << 30) ? total / 20 : UINT64_C(1) << 30;
    if (available == UINT64_MAX || available >= reserve + UNPACK_STEP)
        return MLDF_OK;
    return mldfi_fail(
        err, MLDF_E_NO_SPACE,
        "unpacking the archive takes more than the %llu bytes that the temporary folder %s has free, with "
        "%llu bytes left for others; TMPDIR names another folder, and convert, pack and verify need none",
        (unsigned long long)(written + available), file->path, (unsigned long long)reserve);
}

static mldf_status unpack(struct tar_input *input, struct tar_state *tar, const mldf_context *context,
                          mldf_error *err) {
    uint8_t *chunk = mldfi_alloc(UNPACK_CHUNK, err);
    uint64_t at = 0, checked = 0;
    size_t got = 1;
    mldf_status status =
        chunk ? mldfi_file_create_temporary(&tar->unpacked, mldfi_temporary_folder(context), err) : MLDF_E_MEMORY;
    while (status >= 0 && got > 0) {
        if (at >= checked) {
            status = check_space(&tar->unpacked, at, err);
            checked += UNPACK_STEP;
        }
        if (status >= 0)
            status = mldfi_tar_input_read(input, chunk, UNPACK_CHUNK, &got, err);
        if (status >= 0 && got)
            status = mldfi_file_write(&tar->unpacked, at, chunk, got, err);
        at += status >= 0 ? got : 0;
    }
    free(chunk);
    return status < 0 ? status : mldfi_map_open(&tar->map, &tar->unpacked, at, err);
}

static void on_warning(void *user, const char *message) {
    const mldf_reader *reader = user;
    mldfi_warn(reader->context, "%s: %s", reader->path, message);
}

/* Which field each extension belongs to; those that the archive's own schema does not have follow its fields. */
static mldf_status find_fields(struct tar_state *tar, size_t *field_count, mldf_error *err) {
    size_t count = mldf_schema_field_count(tar->about.schema);
    free(tar->field_of);
    tar->field_of = mldfi_alloc_zero(tar->index.extension_count + 1, sizeof *tar->field_of, err);
    for (size_t i = 0; tar->field_of && i < tar->index.extension_count; i++) {
        size_t found = count ? mldfi_tar_about_field(tar->about.schema, tar->index.extensions[i]) : SIZE_MAX;
        tar->field_of[i] = found == SIZE_MAX ? count++ : found;
    }
    *field_count = count;
    return tar->field_of ? MLDF_OK : MLDF_E_MEMORY;
}

static mldf_status add_by_extension(mldf_reader *reader, const struct tar_index *index, size_t extension,
                                    uint16_t flags, mldf_error *err) {
    const char *name = index->extensions[extension];
    uint16_t type = mldfi_tar_type(name);
    char arguments[256];
    if (type != MLDF_NDARRAY)
        return mldf_schema_add(reader->schema, name, type, NULL, flags, err);
    const struct npy_common *arrays = extension < index->array_capacity ? &index->arrays[extension] : NULL;
    if (arrays && mldfi_npy_arguments(arrays, arguments))
        return mldf_schema_add(reader->schema, name, type, arguments, flags, err);
    if (arrays && arrays->problem[0])
        mldfi_warn(reader->context, "%s: field %s is read as bytes, not as arrays: %s", reader->path, name,
                   arrays->problem);
    return mldf_schema_add(reader->schema, name, MLDF_BYTES, NULL, flags, err);
}

/* How many samples have each field. With a schema two extensions may stand for one field, but not in one sample. */
static mldf_status count_parts(const struct tar_state *tar, size_t sample, uint64_t *counts, mldf_error *err) {
    const struct tar_index *index = &tar->index;
    const struct tar_index_sample *s = &index->samples[sample];
    const struct tar_index_part *parts = &index->parts[s->first_part];
    for (uint32_t i = 0; i < s->part_count; i++) {
        size_t field = tar->field_of[parts[i].extension];
        counts[field]++;
        for (uint32_t k = 0; tar->about.schema && k < i; k++)
            if (tar->field_of[parts[k].extension] == field)
                return mldfi_fail_at(
                    err, MLDF_E_KEY, parts[i].offset, "sample %.100s has two parts of the field %s: .%.60s and .%.60s",
                    (const char *)index->keys.data + s->key_at, mldf_schema_field(tar->about.schema, field)->name,
                    index->extensions[parts[k].extension], index->extensions[parts[i].extension]);
    }
    return MLDF_OK;
}

/* A field that some sample lacks is nullable. */
static mldf_status make_fields(mldf_reader *reader, const struct tar_state *tar, uint64_t *counts, mldf_error *err) {
    const struct tar_index *index = &tar->index;
    const mldf_schema *own = tar->about.schema;
    size_t own_count = mldf_schema_field_count(own);
    mldf_status status = mldf_schema_new(reader->context, &reader->schema, err);
    for (size_t i = 0; i < index->sample_count && status >= 0; i++)
        status = count_parts(tar, i, counts, err);
    for (size_t i = 0; i < own_count && status >= 0; i++) {
        const mldf_field *field = mldf_schema_field(own, i);
        uint16_t flags = field->flags & MLDF_FIELD_NULLABLE;
        if (counts[i] < index->sample_count)
            flags |= MLDF_FIELD_NULLABLE;
        status = mldf_schema_add(reader->schema, field->name, field->type_id, field->arguments, flags, err);
    }
    for (size_t i = 0; i < index->extension_count && status >= 0; i++) {
        if (tar->field_of[i] < own_count)
            continue;
        uint16_t flags = counts[tar->field_of[i]] < index->sample_count ? MLDF_FIELD_NULLABLE : 0;
        status = add_by_extension(reader, index, i, flags, err);
    }
    return status;
}

static mldf_status make_schema(mldf_reader *reader, struct tar_state *tar, mldf_error *err) {
    size_t count = 0;
    mldf_status status = mldfi_tar_index_arrays(&tar->index, err);
    if (status >= 0)
        status = find_fields(tar, &count, err);
    uint64_t *counts = status < 0 ? NULL : mldfi_alloc_zero(count + 1, sizeof *counts, err);
    if (status >= 0)
        status = counts ? make_fields(reader, tar, counts, err) : MLDF_E_MEMORY;
    free(counts);
    /* An archive without any file is a dataset without samples and fields; one of other files is no dataset. */
    if (status >= 0 && count == 0 && tar->index.passed_over > 0)
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
    if (status >= 0 && (status = make_schema(reader, tar, &why)) < 0) {
        mldf_schema_free(reader->schema);
        reader->schema = NULL;
        mldfi_tar_index_free(&tar->index);
    }
    if (status < 0)
        mldfi_warn(reader->context, "%s%s is not used: %s", reader->path, TAR_SIDECAR_SUFFIX, MLDF_ERROR_TEXT(&why));
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
        status = make_schema(reader, tar, err);
    if (status >= 0 && keep)
        status = mldfi_tar_sidecar_keep(&tar->index, reader->path, &reader->file, &before, err);
    return status;
}

/* Unpacked, or as a stream. */
static mldf_status open_compressed(mldf_reader *reader, struct tar_state *tar, struct tar_input *input,
                                   mldf_error *err) {
    uint64_t unpacked_max = mldfi_max_unpacked(reader->context);
    if (reader->tar_index == MLDF_TAR_INDEX_KEEP)
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "a compressed archive is unpacked to be read: there is no index to keep");
    if (!reader->sequential) {
        mldfi_tar_input_limit(input, unpacked_max);
        mldf_status status = unpack(input, tar, reader->context, err);
        return status < 0 ? status : walk(reader, tar, tar->map.data, tar->map.bytes, err);
    }
    reader->foreign.in_order = true;
    mldf_status status = mldfi_tar_stream_new(&tar->stream, &reader->file, reader->physical_bytes, unpacked_max, err);
    if (status >= 0)
        status = mldfi_tar_stream_index(tar->stream, &tar->index, on_warning, reader, err);
    return status < 0 ? status : make_schema(reader, tar, err);
}

mldf_status mldfi_foreign_open_tar(mldf_reader *reader, mldf_error *err) {
    struct tar_state *tar = mldfi_alloc_zero(1, sizeof *tar, err);
    if (!tar)
        return MLDF_E_MEMORY;
    tar->unpacked = (struct os_file)OS_FILE_NONE;
    reader->foreign.ops = &ops;
    reader->foreign.state = tar;
    struct tar_input *input;
    mldf_status status = mldfi_tar_input_memory(&input, reader->map.data, reader->map.bytes, err);
    if (status >= 0) { /* the beginning is read twice: once for this, once for the samples */
        mldfi_tar_input_limit(input, mldfi_max_unpacked(reader->context));
        status = mldfi_tar_about_read(&tar->about, input, reader->context, reader->path, err);
        mldfi_tar_input_free(input);
    }
    if (status >= 0)
        status = mldfi_tar_input_memory(&input, reader->map.data, reader->map.bytes, err);
    if (status < 0)
        return status;
    reader->foreign.card = tar->about.card;
    tar->about.card = NULL;
    if (strcmp(mldfi_tar_input_kind(input), "tar") != 0)
        status = open_compressed(reader, tar, input, err);
    else if (!use_kept(reader, tar))
        status = walk(reader, tar, reader->map.data, reader->map.bytes, err);
    mldfi_tar_input_free(input);
    tar->schema = reader->schema;
    tar->max_decoded = reader->max_decoded;
    reader->header.num_samples = tar->index.sample_count;
    return status;
}
