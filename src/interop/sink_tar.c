/* Samples into a tar archive as WebDataset reads it: the member KEY.FIELD for each value. A field whose name is an extension that reads
 * back as its type ("jpg", "cls", "seg.png") keeps it; others get one: image.jpg, label.cls, text.txt, meta.json, array.npy. Nulls have no
 * member. Names, types and the card are in members before the first sample (tar_about.h). See sink.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "field/field.h"
#include "format/names.h"
#include "interop/name_set.h"
#include "interop/sink.h"
#include "interop/tar.h"
#include "interop/tar_about.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/json.h"
#include "util/number.h"

struct tar_sink {
    struct sample_sink base;
    struct tar_writer *writer;
    const mldf_schema *schema;
    size_t count;
    uint64_t samples;
    struct name_set *seen; /* a key that comes twice would be one sample when read back */
    mldf_buffer key, extension, text;
    mldf_buffer extensions; /* of one sample: lower case, terminated, one after the other */
    size_t *claimed_at;     /* where each begins */
    size_t claimed_capacity;
    struct name_index claimed;
    const mldf_context *context;
    bool warned; /* of keys that were cut */
};

static void free_sink(struct tar_sink *s) {
    mldfi_tar_writer_free(s->writer);
    mldfi_name_set_free(s->seen);
    mldf_buffer_free(&s->key);
    mldf_buffer_free(&s->extension);
    mldf_buffer_free(&s->extensions);
    mldfi_names_free(&s->claimed);
    free(s->claimed_at);
    mldf_buffer_free(&s->text);
    free(s);
}

/* ---- Values as files ---------------------------------------------------------------------------------------------------- */

static mldf_status make_number(struct tar_sink *s, const mldf_value *value, struct exported *out, mldf_error *err) {
    char number[48];
    if (value->kind == MLDF_KIND_INT)
        snprintf(number, sizeof number, "%" PRId64, value->as.i);
    else if (value->kind == MLDF_KIND_UINT)
        snprintf(number, sizeof number, "%" PRIu64, value->as.u);
    else if (value->as.f - value->as.f != 0)
        snprintf(number, sizeof number, "%f", value->as.f); /* nan, inf: no number of JSON */
    else
        mldfi_format_double(number, value->as.f);
    mldf_status status = mldfi_buffer_append_text(&s->text, number, err);
    *out = (struct exported){.data = s->text.data, .bytes = s->text.size};
    out->ending = value->kind == MLDF_KIND_FLOAT ? "txt" : "cls";
    if (value->kind == MLDF_KIND_UINT) { /* uint64, and half of its numbers are more than a .cls holds */
        out->ending = "json";
        out->converted = true;
    }
    return status;
}

static bool is_number(const mldf_value *value) {
    return value->kind == MLDF_KIND_INT || value->kind == MLDF_KIND_UINT || value->kind == MLDF_KIND_FLOAT;
}

/* ---- One sample --------------------------------------------------------------------------------------------------------- */

static bool has_part(const mldf_field *field, const mldf_value *value) {
    return value->kind != MLDF_KIND_NULL && field->known && field->type_id != MLDF_MULTIMODAL;
}

static mldf_status prepare(const struct sample_sink *sink, struct sink_kit *kit, struct media_kit *media,
                           const mldf_value *values, mldf_error *err) {
    const struct tar_sink *s = (const struct tar_sink *)sink;
    for (size_t i = 0; i < s->count; i++) {
        const struct schema_field *field = &s->schema->fields[i];
        const mldf_value *value = &values[i];
        if (!has_part(&field->info, value) || is_number(value))
            continue;
        mldf_status status = mldfi_field_export(field, value, media, &kit->rooms[i], &kit->files[i], err);
        if (status < 0) {
            mldfi_error_place(err, MLDF_NONE, field->name);
            return status;
        }
        if (value->kind == MLDF_KIND_TEXT && !field->type->ending && !field->type->export)
            kit->files[i].ending = "txt";
        bool array = value->kind == MLDF_KIND_ARRAY && !field->type->export;
        if (array && value->dtype != MLDF_DTYPE_NONE)
            kit->files[i].ending = "npy";
        else if (array)
            kit->files[i] = (struct exported){.ending = "bin", .data = value->data, .bytes = value->bytes};
    }
    return MLDF_OK;
}

/* Keys of packed folders are names of files, and a key in a tar has no dot: of a/0001.jpg the ending goes. Two keys that become
 * one are refused by claim_key. */
static size_t key_without_ending(struct tar_sink *s, const char *key, size_t bytes) {
    char ending[8] = "";
    size_t n = 0;
    while (n < bytes && n + 1 < sizeof ending && key[bytes - n - 1] != '.' && key[bytes - n - 1] != '/')
        n++;
    if (n == 0 || n + 1 >= bytes || key[bytes - n - 1] != '.' || key[bytes - n - 2] == '/')
        return bytes;
    for (size_t i = 0; i < n; i++) {
        char c = key[bytes - n + i];
        ending[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    const struct field_type *type;
    if (mldfi_tar_file(ending, &type) == ARCHIVE_BYTES)
        return bytes;
    if (!s->warned)
        mldfi_warn(s->context, "keys lose the ending of %s's file, such as %.*s: a key in a tar has no dot",
                   type->files->noun, (int)(bytes < 200 ? bytes : 200), key);
    s->warned = true;
    return bytes - n - 1;
}

static mldf_status set_key(struct tar_sink *s, const char *key, size_t key_bytes, mldf_error *err) {
    s->key.size = 0;
    mldf_status status = MLDF_OK;
    if (!key)
        status = mldfi_buffer_printf(&s->key, err, "%09" PRIu64, s->samples);
    else if (memchr(key, 0, key_bytes))
        status = mldfi_fail(err, MLDF_E_KEY, "a key with a NUL byte cannot be a name in a tar archive");
    else
        status = mldf_buffer_append(&s->key, key, key_bytes, err);
    return status < 0 ? status : mldf_buffer_append(&s->key, "", 1, err);
}

/* The last check: from here on the sample is in the archive. */
static mldf_status claim_key(struct tar_sink *s, const char *key, size_t key_bytes, mldf_error *err) {
    uint64_t number = s->samples;
    if (key && key_bytes > 2 && memcmp(key, "./", 2) == 0) { /* the same file, when the archive is unpacked */
        key += 2;
        key_bytes -= 2;
    }
    mldf_status status = key ? mldfi_name_set_add(s->seen, key, key_bytes, &number, err) : MLDF_OK;
    if (status == MLDF_END)
        return mldfi_fail(err, MLDF_E_KEY, "the key %.*s is that of sample %" PRIu64 " too",
                          (int)(key_bytes < 200 ? key_bytes : 200), key, number);
    return status;
}

static const char *claimed_name(const void *owner, size_t ordinal) {
    const struct tar_sink *s = owner;
    return (const char *)s->extensions.data + s->claimed_at[ordinal];
}

/* Members of one name would be one when the archive is unpacked, and none when it is read: readers do not tell upper from lower case. */
static mldf_status claim_extension(struct tar_sink *s, mldf_error *err) {
    size_t first = s->extensions.size, bytes = s->extension.size;
    mldf_status status = mldf_buffer_append(&s->extensions, s->extension.data, bytes, err);
    if (status == MLDF_OK)
        status =
            mldfi_array_reserve(&s->claimed_at, &s->claimed_capacity, s->claimed.used + 1, sizeof *s->claimed_at, err);
    if (status < 0)
        return status;
    char *name = (char *)s->extensions.data + first;
    for (size_t i = 0; i < bytes; i++)
        name[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] - 'A' + 'a') : name[i];
    if (mldfi_names_find(&s->claimed, name, claimed_name, s) != SIZE_MAX)
        return mldfi_fail(err, MLDF_E_SCHEMA, "two fields would be the member .%s of a sample; leave one of them out",
                          name);
    s->claimed_at[s->claimed.used] = first;
    return mldfi_names_add(&s->claimed, name, claimed_name, s, err);
}

/* One value: with `really` false only its name is looked at. */
static mldf_status put(struct tar_sink *s, const struct exported *made, const struct schema_field *field,
                       const mldf_value *value, bool really, mldf_error *err) {
    struct exported part = *made;
    mldf_status status = MLDF_OK;
    s->text.size = 0;
    if (is_number(value) && (status = make_number(s, value, &part, err)) < 0)
        return status;
    bool named = !part.converted && mldfi_tar_name_is_type(field);
    s->extension.size = 0;
    status = named ? mldfi_buffer_append_text(&s->extension, field->name, err)
                   : mldfi_buffer_printf(&s->extension, err, "%s.%s", field->name, part.ending);
    if (status >= 0)
        status = mldf_buffer_append(&s->extension, "", 1, err);
    if (status < 0)
        return status;
    const char *key = (const char *)s->key.data, *extension = (const char *)s->extension.data;
    if (!really && (status = claim_extension(s, err)) < 0)
        return status;
    return really ? mldfi_tar_writer_file(s->writer, key, extension, &part, err)
                  : mldfi_tar_writer_check(s->writer, key, extension, err);
}

/* Everything is checked before the first member is written: a sample is in the archive whole or not at all. */
static mldf_status put_all(struct tar_sink *s, const struct sink_kit *kit, const mldf_value *values, bool really,
                           mldf_error *err) {
    bool any = false;
    s->extensions.size = 0;
    mldfi_names_free(&s->claimed);
    for (size_t i = 0; i < s->count; i++) {
        const mldf_field *field = mldf_schema_field(s->schema, i);
        if (!has_part(field, &values[i]))
            continue;
        any = true;
        mldf_status status = put(s, &kit->files[i], &s->schema->fields[i], &values[i], really, err);
        if (status < 0) {
            mldfi_error_place(err, MLDF_NONE, field->name);
            return status;
        }
    }
    return any ? MLDF_OK
               : mldfi_fail(err, MLDF_E_NULL, "every value is null: the sample would have no member in the archive");
}

static mldf_status append(struct sample_sink *sink, const struct sink_kit *kit, const mldf_value *values,
                          const char *key, size_t key_bytes, mldf_error *err) {
    struct tar_sink *s = (struct tar_sink *)sink;
    if (key)
        key_bytes = key_without_ending(s, key, key_bytes);
    mldf_status status = set_key(s, key, key_bytes, err);
    if (status >= 0)
        status = put_all(s, kit, values, false, err);
    if (status >= 0)
        status = claim_key(s, key, key_bytes, err);
    if (status >= 0)
        status = put_all(s, kit, values, true, err);
    s->samples += status >= 0;
    return status;
}

static mldf_status finish(struct sample_sink *sink, struct sink_result *result, mldf_error *err) {
    struct tar_sink *s = (struct tar_sink *)sink;
    mldf_status status = mldfi_tar_writer_finish(s->writer, err);
    *result = (struct sink_result){s->samples, mldfi_tar_writer_bytes(s->writer)};
    free_sink(s);
    return status;
}

static void give_up(struct sample_sink *sink) {
    free_sink((struct tar_sink *)sink);
}

static const struct sink_ops ops = {prepare, append, NULL, finish, give_up};

static mldf_status check_fields(const struct sink_options *options, mldf_error *err) {
    const mldf_schema *schema = options->schema;
    for (size_t i = 0; i < mldf_schema_field_count(schema); i++) {
        const mldf_field *field = mldf_schema_field(schema, i);
        if (strchr(field->name, '/'))
            return mldfi_fail(err, MLDF_E_SCHEMA,
                              "field %s: a name with a slash cannot be an extension in a tar "
                              "archive",
                              field->name);
        if (!field->known && options->drop_fields)
            mldfi_warn(options->writer->context, "field %s is left out: its type is not known here", field->name);
        else if (!field->known)
            return mldfi_fail(err, MLDF_E_SCHEMA, "field %s is of type %u, which is not known here", field->name,
                              field->type_id);
        if (field->type_id != MLDF_MULTIMODAL || !field->known)
            continue;
        if (!options->drop_fields)
            return mldfi_fail(err, MLDF_E_SCHEMA,
                              "field %s is multimodal, and a value is one member of a tar archive; mldf.to_documents "
                              "of the Python package writes a member for each part",
                              field->name);
        mldfi_warn(options->writer->context, "field %s is left out: it is multimodal, not one member of an archive",
                   field->name);
    }
    return MLDF_OK;
}

static tar_compression compression_of(const char *format) {
    return strcmp(format, "tar.gz") == 0 ? TAR_GZIP : strcmp(format, "tar.zst") == 0 ? TAR_ZSTD : TAR_PLAIN;
}

/* What the extensions do not say, before the first sample. */
static mldf_status put_about(struct tar_sink *s, const struct sink_options *options, mldf_error *err) {
    const mldf_writer_options *writer = options->writer;
    const char *card = writer->card ? writer->card : options->card;
    size_t card_bytes = writer->card ? writer->card_bytes : options->card_bytes;
    mldf_buffer text = MLDF_BUFFER_INIT;
    mldf_status status = mldfi_tar_about_schema(options->schema, s->context, &text, err);
    if (status >= 0 && text.size)
        status = mldfi_tar_writer_add(s->writer, TAR_SCHEMA_MEMBER, text.data, text.size, err);
    text.size = 0;
    if (status >= 0 && card)
        status = mldfi_json_canonicalize(card, card_bytes, &text, err);
    if (status >= 0 && text.size > 2) /* {} says nothing */
        status = mldfi_tar_writer_add(s->writer, TAR_CARD_MEMBER, text.data, text.size, err);
    mldf_buffer_free(&text);
    return status;
}

mldf_status mldfi_sink_open_tar(struct sample_sink **out, const struct sink_options *options, mldf_error *err) {
    TRY(check_fields(options, err));
    struct tar_sink *s = mldfi_alloc_zero(1, sizeof *s, err);
    if (!s)
        return MLDF_E_MEMORY;
    s->base.ops = &ops;
    s->schema = options->schema;
    s->context = options->writer->context;
    s->count = mldf_schema_field_count(options->schema);
    mldf_status status = mldfi_name_set_new(&s->seen, err);
    if (status >= 0)
        status = strcmp(options->path, "-") == 0
                     ? mldfi_tar_writer_fd(&s->writer, STDOUT_FILENO, err)
                     : mldfi_tar_writer_open(&s->writer, options->path, options->writer->overwrite, err);
    if (status >= 0)
        status = mldfi_tar_writer_compress(s->writer, compression_of(options->format), err);
    if (status >= 0)
        status = put_about(s, options, err);
    if (status < 0)
        free_sink(s);
    else
        *out = &s->base;
    return status;
}
