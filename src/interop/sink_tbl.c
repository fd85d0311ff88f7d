/* Samples into a TBL file: one image each, and what else there is as metadata (version 2).
 *
 *     image    the field `image`; else the image fields, of which a sample has one (jpg and png in a tar); else the only bytes
 *     format     the field `format`, else what the image is
 *     metadata   the field `metadata`; else a single JSON field as it is; else {"label":7,...} of numbers, text and JSON */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field/field.h"
#include "interop/sink.h"
#include "interop/tbl.h"
#include "os/file.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/json.h"

enum role { ROLE_DROPPED, ROLE_IMAGE, ROLE_FORMAT, ROLE_METADATA, ROLE_OTHER };

struct tbl_sink {
    struct sample_sink base;
    struct tbl_writer *writer;
    const mldf_schema *schema;
    uint32_t version;
    size_t count;
    bool may_skip;  /* samples without an image are left out */
    uint8_t *roles; /* of each field */
    mldf_buffer metadata;
};

static void free_sink(struct tbl_sink *s) {
    mldfi_tbl_writer_free(s->writer);
    mldf_buffer_free(&s->metadata);
    free(s->roles);
    free(s);
}

/* ---- One sample --------------------------------------------------------------------------------------------------------- */

static mldf_status find_image(const struct tbl_sink *s, const mldf_value *values, size_t *out, mldf_error *err) {
    *out = SIZE_MAX;
    for (size_t i = 0; i < s->count; i++) {
        if (s->roles[i] != ROLE_IMAGE || values[i].kind == MLDF_KIND_NULL)
            continue;
        if (*out != SIZE_MAX)
            return mldfi_fail(err, MLDF_E_TYPE, "both %s and %s are there; a sample of a TBL file is one image",
                              mldf_schema_field(s->schema, *out)->name, mldf_schema_field(s->schema, i)->name);
        *out = i;
    }
    return *out != SIZE_MAX ? MLDF_OK : mldfi_fail(err, MLDF_E_NULL, "there is no image, and a TBL file has no nulls");
}

static mldf_status format_of(const struct tbl_sink *s, const mldf_value *values, size_t field,
                             const struct sink_image *image, uint8_t *out, mldf_error *err) {
    const char *name = mldf_schema_field(s->schema, field)->name, *dot = strrchr(name, '.');
    const char *extension = dot ? dot + 1 : name;
    switch (image->info.mode) {
    case MLDF_IMAGE_MODE_RAW:
        *out = TBL_RAW_U8;
        break;
    case MLDF_IMAGE_MODE_OTHER:
        *out = strcmp(extension, "mp4") == 0 ? TBL_MP4 : strcmp(extension, "avi") == 0 ? TBL_AVI : TBL_UNKNOWN;
        break;
    default:
        *out = (uint8_t)image->info.mode; /* the numbers of JPEG to TIFF are the same */
    }
    if (*out > TBL_TIFF && s->version == 1)
        *out = TBL_UNKNOWN;
    for (size_t i = 0; i < s->count && !image->made; i++) {
        if (s->roles[i] != ROLE_FORMAT || values[i].kind == MLDF_KIND_NULL)
            continue;
        if (values[i].as.u > TBL_RAW_U8)
            return mldfi_fail(err, MLDF_E_RANGE, "the field format says %" PRIi64 "; a TBL file has 0 to %d",
                              values[i].as.i, TBL_RAW_U8);
        *out = (uint8_t)values[i].as.u;
    }
    return MLDF_OK;
}

/* MLDF_END: this sample has none. */
static mldf_status make_metadata(struct tbl_sink *s, const mldf_value *values, struct tbl_metadata *out,
                                 mldf_error *err) {
    mldf_status status = MLDF_OK;
    s->metadata.size = 0;
    for (size_t i = 0; i < s->count && status >= 0; i++) {
        const mldf_field *field = mldf_schema_field(s->schema, i);
        if (values[i].kind == MLDF_KIND_NULL)
            continue;
        if (s->roles[i] == ROLE_METADATA) {
            *out = (struct tbl_metadata){field->type_id == MLDF_JSON ? TBL_META_JSON : TBL_META_CUSTOM, values[i].data,
                                         (uint32_t)values[i].bytes};
            if (values[i].bytes > UINT32_MAX)
                return mldfi_fail(err, MLDF_E_LIMIT, "metadata of %" PRIu64 " bytes; it is smaller than 4 GiB",
                                  values[i].bytes);
            return MLDF_OK;
        }
        if (s->roles[i] != ROLE_OTHER)
            continue;
        status = mldf_buffer_append(&s->metadata, s->metadata.size ? "," : "{", 1, err);
        if (status >= 0)
            status = mldfi_json_append_string(&s->metadata, field->name, strlen(field->name), err);
        if (status >= 0)
            status = mldf_buffer_append(&s->metadata, ":", 1, err);
        if (status >= 0)
            status = mldfi_sink_json(&s->metadata, field, &values[i], err);
    }
    if (status < 0 || s->metadata.size == 0)
        return status < 0 ? status : MLDF_END;
    status = mldf_buffer_append(&s->metadata, "}", 1, err);
    *out = (struct tbl_metadata){TBL_META_JSON, s->metadata.data, (uint32_t)s->metadata.size};
    return status;
}

static mldf_status prepare(const struct sample_sink *sink, struct sink_kit *kit, struct media_kit *media,
                           const mldf_value *values, mldf_error *err) {
    const struct tbl_sink *s = (const struct tbl_sink *)sink;
    size_t field;
    if (find_image(s, values, &field, NULL) < 0)
        return MLDF_OK; /* append says what is wrong */
    const mldf_field *info = mldf_schema_field(s->schema, field);
    mldf_status status = mldfi_image_make(&kit->rooms[field], media, info, &values[field],
                                          s->version == 1 ? IMAGE_FILE : IMAGE_TBL2, &kit->images[field], err);
    if (status < 0)
        mldfi_error_place(err, MLDF_NONE, info->name);
    return status;
}

static mldf_status append(struct sample_sink *sink, const struct sink_kit *kit, const mldf_value *values,
                          const char *key, size_t key_bytes, mldf_error *err) {
    struct tbl_sink *s = (struct tbl_sink *)sink;
    struct tbl_sample sample = {0};
    struct tbl_metadata metadata;
    size_t field;
    (void)key, (void)key_bytes;
    mldf_status status = find_image(s, values, &field, err);
    if (status == MLDF_E_NULL && s->may_skip)
        return MLDF_END;
    if (status < 0)
        return status;
    const struct sink_image *image = &kit->images[field];
    status = format_of(s, values, field, image, &sample.format, err);
    mldf_status found = status < 0 ? status : make_metadata(s, values, &metadata, err);
    if (found < 0)
        return found;
    sample.data = image->data;
    sample.bytes = image->bytes;
    sample.width = image->info.width;
    sample.height = image->info.height;
    sample.metadata = found == MLDF_OK ? &metadata : NULL;
    return mldfi_tbl_writer_add(s->writer, &sample, err);
}

static mldf_status finish(struct sample_sink *sink, struct sink_result *result, mldf_error *err) {
    struct tbl_sink *s = (struct tbl_sink *)sink;
    struct tbl_totals totals = {0};
    mldf_status status = mldfi_tbl_writer_finish(s->writer, &totals, err);
    *result = (struct sink_result){totals.samples, totals.file_bytes};
    free_sink(s);
    return status;
}

static void give_up(struct sample_sink *sink) {
    free_sink((struct tbl_sink *)sink);
}

static const struct sink_ops ops = {prepare, append, NULL, finish, give_up};

/* ---- Roles -------------------------------------------------------------------------------------------------------------- */

/* "a, b, c" of the fields that have a role, or that `test` takes. */
static void list_names(const struct tbl_sink *s, bool (*test)(const struct tbl_sink *, size_t), char out[200]) {
    size_t at = 0;
    out[0] = 0;
    for (size_t i = 0; i < s->count && at < 120; i++)
        if (test(s, i))
            at += (size_t)snprintf(out + at, 200 - at, "%s%s", at ? ", " : "", mldf_schema_field(s->schema, i)->name);
}

static bool is_image(const struct tbl_sink *s, size_t i) {
    return mldfi_is_image_type(mldf_schema_field(s->schema, i)->type_id);
}

static bool is_bytes(const struct tbl_sink *s, size_t i) {
    const mldf_field *field = mldf_schema_field(s->schema, i);
    return field->type_id == MLDF_BYTES && strcmp(field->name, "metadata") != 0;
}

static bool is_other(const struct tbl_sink *s, size_t i) {
    return s->roles[i] == ROLE_OTHER;
}

static size_t count_of(const struct tbl_sink *s, bool (*test)(const struct tbl_sink *, size_t), bool *nullable) {
    size_t n = 0;
    *nullable = true;
    for (size_t i = 0; i < s->count; i++)
        if (test(s, i)) {
            n++;
            *nullable = *nullable && (mldf_schema_field(s->schema, i)->flags & MLDF_FIELD_NULLABLE);
        }
    return n;
}

static mldf_status choose_images(struct tbl_sink *s, mldf_error *err) {
    size_t named;
    bool nullable, nullable_bytes;
    char names[200];
    if (mldf_schema_find(s->schema, "image", &named, NULL) == MLDF_OK && (is_image(s, named) || is_bytes(s, named))) {
        s->roles[named] = ROLE_IMAGE;
        return MLDF_OK;
    }
    size_t images = count_of(s, is_image, &nullable), blobs = count_of(s, is_bytes, &nullable_bytes);
    bool (*test)(const struct tbl_sink *, size_t) = images ? is_image : is_bytes;
    list_names(s, test, names);
    if (images == 0 && blobs == 0)
        return mldfi_fail(err, MLDF_E_SCHEMA, "no field holds images or bytes, and a TBL file is made of them");
    if ((images > 1 && !nullable) || (images == 0 && blobs > 1))
        return mldfi_fail(err, MLDF_E_SCHEMA,
                          "a TBL file has one image for each sample, and these fields could be it: %s; choose one "
                          "(--fields)",
                          names);
    for (size_t i = 0; i < s->count; i++)
        if (test(s, i))
            s->roles[i] = ROLE_IMAGE;
    return MLDF_OK;
}

static bool images_are_nullable(const struct tbl_sink *s) {
    bool nullable = true;
    for (size_t i = 0; i < s->count; i++)
        if (s->roles[i] == ROLE_IMAGE)
            nullable = nullable && (mldf_schema_field(s->schema, i)->flags & MLDF_FIELD_NULLABLE);
    return nullable;
}

/* Numbers, text and JSON can be members of the metadata. */
static bool fits(const struct tbl_sink *s, const mldf_field *field) {
    return s->version == 2 && (field->type_id == MLDF_INT || field->type_id == MLDF_FLOAT ||
                               field->type_id == MLDF_TEXT || field->type_id == MLDF_JSON);
}

static mldf_status choose_rest(struct tbl_sink *s, const struct sink_options *options, mldf_error *err) {
    const mldf_context *context = options->writer->context;
    size_t metadata = SIZE_MAX, others = 0, json = SIZE_MAX;
    char names[200];
    for (size_t i = 0; i < s->count; i++) {
        const mldf_field *field = mldf_schema_field(s->schema, i);
        bool named = strcmp(field->name, "metadata") == 0 &&
                     (field->type_id == MLDF_JSON || field->type_id == MLDF_BYTES || field->type_id == MLDF_TEXT);
        if (s->roles[i] == ROLE_IMAGE) {
            continue;
        } else if (strcmp(field->name, "format") == 0 && field->type_id == MLDF_INT) {
            s->roles[i] = ROLE_FORMAT;
        } else if (named && s->version == 2) {
            s->roles[metadata = i] = ROLE_METADATA;
        } else if (fits(s, field)) {
            s->roles[i] = ROLE_OTHER;
            others++;
            json = field->type_id == MLDF_JSON ? i : json;
        } else if (!options->drop_fields) {
            return mldfi_fail(err, MLDF_E_SCHEMA,
                              "field %s (%s) has no place in a TBL file of version %u%s; choose "
                              "others (--fields) or leave out what does not fit (--drop-fields)",
                              field->name, field->type_name, s->version,
                              s->version == 1 ? ", which holds images alone" : "");
        } else {
            mldfi_warn(context, "field %s (%s) is left out: TBL version %u has no place for it", field->name,
                       field->type_name, s->version);
        }
    }
    list_names(s, is_other, names);
    if (metadata != SIZE_MAX && others)
        return mldfi_fail(err, MLDF_E_SCHEMA,
                          "the field metadata and others (%s) cannot both be the metadata of a "
                          "TBL file; choose (--fields)",
                          names);
    if (others == 1 && json != SIZE_MAX)
        s->roles[json] = ROLE_METADATA;
    return MLDF_OK;
}

/* ---- Opening ------------------------------------------------------------------------------------------------------------ */

static uint64_t number_of_card(const struct sink_options *options, const char *name) {
    struct json json = {0};
    uint64_t number = 0;
    if (options->card && mldfi_json_parse(&json, options->card, options->card_bytes, NULL) == MLDF_OK &&
        json.nodes[0].kind == MLDFI_JSON_OBJECT) {
        uint32_t at = mldfi_json_find(&json, 0, name);
        if (at == UINT32_MAX || !mldfi_json_u64(&json, at, &number))
            number = 0;
    }
    mldfi_json_free(&json);
    return number;
}

static mldf_status open_writer(struct tbl_sink *s, const struct sink_options *options, mldf_error *err) {
    struct tbl_write_options writing = TBL_WRITE_OPTIONS_INIT;
    int threads = options->writer->threads < 0 ? mldfi_cpu_count() : options->writer->threads;
    uint64_t version = options->dataset_version, created = options->created;
    writing.version = s->version;
    writing.count = s->may_skip ? MLDF_NONE : options->count;
    writing.compress = options->lz4;
    writing.overwrite = options->writer->overwrite;
    writing.threads = options->lz4 && threads > 1 ? (unsigned)threads : 0;
    version = version == MLDF_NONE ? number_of_card(options, "dataset_version") : version;
    writing.created = created == MLDF_NONE ? number_of_card(options, "created") : created;
    if (version > UINT32_MAX)
        return mldfi_fail(err, MLDF_E_RANGE, "the dataset version %" PRIu64 " does not fit 32 bits", version);
    writing.dataset_version = (uint32_t)version;
    uint64_t flags = number_of_card(options, "custom_flags");
    if (flags && (s->version == 1 || flags > UINT32_MAX))
        mldfi_warn(options->writer->context,
                   "the custom flags %" PRIu64 " are left out: TBL version %u has no place for them", flags,
                   s->version);
    else
        writing.custom_flags = (uint32_t)flags;
    return mldfi_tbl_writer_open(&s->writer, options->path, &writing, err);
}

/* The sink without its writer: what becomes of each field. */
static mldf_status begin_sink(struct tbl_sink **out, const struct sink_options *options, mldf_error *err) {
    struct tbl_sink *s = mldfi_alloc_zero(1, sizeof *s, err);
    if (!s)
        return MLDF_E_MEMORY;
    s->base.ops = &ops;
    s->schema = options->schema;
    s->version = strcmp(options->format, "tbl1") == 0 ? 1 : 2;
    s->count = mldf_schema_field_count(options->schema);
    s->roles = mldfi_alloc_zero(s->count + 1, sizeof *s->roles, err);
    mldf_status status = s->roles ? choose_images(s, err) : MLDF_E_MEMORY;
    if (status >= 0)
        status = choose_rest(s, options, err);
    if (status < 0)
        free_sink(s);
    else
        *out = s;
    return status;
}

mldf_status mldfi_sink_open_tbl(struct sample_sink **out, const struct sink_options *options, mldf_error *err) {
    static const char *const held[] = {"created", "dataset_version", "custom_flags", NULL};
    struct tbl_sink *s = NULL;
    TRY(begin_sink(&s, options, err));
    s->may_skip = options->drop_fields && images_are_nullable(s);
    mldf_status status = open_writer(s, options, err);
    if (status < 0) {
        free_sink(s);
        return status;
    }
    mldfi_sink_warn_card(options, "a TBL file", held);
    if (options->keys)
        mldfi_warn(options->writer->context, "the sample keys are left out: a TBL file has no place for them");
    *out = &s->base;
    return status;
}

static uint64_t times(uint64_t count, uint64_t bytes) {
    uint64_t product;
    return bytes != MLDF_NONE && mldfi_mul_u64(count, bytes, &product) ? product : MLDF_NONE;
}

/* How long the JSON of numbers and text will be is not known before. */
mldf_status mldfi_sink_plan_tbl(const struct sink_options *options, const uint64_t *value_bytes,
                                struct planned_region *out, size_t *count, mldf_error *err) {
    uint64_t image = 0, metadata = 0;
    bool raw = false;
    struct tbl_sink *s = NULL;
    TRY(begin_sink(&s, options, err));
    for (size_t i = 0; i < s->count; i++) {
        uint64_t bytes = value_bytes[i], block = bytes == MLDF_NONE ? MLDF_NONE : TBL_BLOCK_HEADER + bytes;
        if (s->roles[i] == ROLE_IMAGE && image == 0) {
            image = bytes;
            raw = mldf_schema_field(s->schema, i)->type_id == MLDF_IMAGE_RAW;
        }
        if (s->roles[i] == ROLE_METADATA || s->roles[i] == ROLE_OTHER)
            metadata = s->roles[i] == ROLE_METADATA ? block : MLDF_NONE;
    }
    out[(*count)++] = (struct planned_region){"header", 1, s->version == 1 ? TBL_V1_HEADER : TBL_V2_HEADER};
    out[(*count)++] =
        (struct planned_region){"index", 1, times(options->count, s->version == 1 ? TBL_V1_ENTRY : TBL_V2_ENTRY)};
    out[(*count)++] = (struct planned_region){"data", raw ? TBL_RAW_ALIGN : 1, times(options->count, image)};
    if (metadata)
        out[(*count)++] = (struct planned_region){"metadata", 1, times(options->count, metadata)};
    free_sink(s);
    return MLDF_OK;
}
