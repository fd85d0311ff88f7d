/* See tar_about.h. The members may come from anywhere: what makes no sense is warned about and not used. */
#include "interop/tar_about.h"
#include "interop/tar_npz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/buffer.h"
#include "util/error.h"
#include "util/json.h"

enum { ABOUT_MAX = 64 << 20 }; /* bytes of a member */

static bool is_name(const char *name, size_t bytes, const char *wanted) {
    return strlen(wanted) == bytes && memcmp(name, wanted, bytes) == 0;
}

bool mldfi_tar_is_about(const char *name, size_t bytes) {
    if (bytes > 2 && memcmp(name, "./", 2) == 0)
        name += 2, bytes -= 2;
    return is_name(name, bytes, TAR_SCHEMA_MEMBER) || is_name(name, bytes, TAR_CARD_MEMBER);
}

/* Extensions are in lower case, names are as their author wrote them. */
static bool same_name(const char *name, const char *extension, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        char c = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] - 'A' + 'a') : name[i];
        if (c != extension[i] || !c)
            return false;
    }
    return name[bytes] == 0;
}

/* Names that differ in case alone are one extension. */
static const char *name_twice(const mldf_schema *schema) {
    for (size_t i = 1; i < schema->field_count; i++)
        for (size_t k = 0; k < i; k++)
            if (strcasecmp(schema->fields[i].name, schema->fields[k].name) == 0)
                return schema->fields[i].name;
    return NULL;
}

/* ---- Reading ---------------------------------------------------------------------------------------------------------------------- */

static mldf_status take_card(struct tar_about *about, const uint8_t *data, uint64_t bytes, mldf_error *err) {
    mldf_buffer text = MLDF_BUFFER_INIT;
    mldf_status status = mldfi_json_canonicalize((const char *)data, (size_t)bytes, &text, err);
    if (status >= 0 && (text.size == 0 || text.data[0] != '{'))
        status = mldfi_fail(err, MLDF_E_CORRUPT, "not a JSON object");
    if (status >= 0 && !(about->card = mldfi_copy_text((const char *)text.data, text.size, err)))
        status = MLDF_E_MEMORY;
    mldf_buffer_free(&text);
    return status;
}

static mldf_status take(struct tar_about *about, struct tar_reader *reader, const struct tar_member *member,
                        const mldf_context *context, mldf_error *err) {
    const uint8_t *data;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    bool schema = strstr(member->name, TAR_SCHEMA_MEMBER) != NULL;
    if (schema ? about->schema != NULL : about->card != NULL)
        return mldfi_fail(err, MLDF_E_CORRUPT, "comes twice");
    if (member->size > ABOUT_MAX)
        return mldfi_fail(err, MLDF_E_LIMIT, "has %llu bytes; at most %d are read", (unsigned long long)member->size,
                          ABOUT_MAX);
    mldf_status status = mldfi_tar_content(reader, &scratch, &data, err);
    if (status >= 0 && schema)
        status = mldf_schema_parse(context, (const char *)data, (size_t)member->size, &about->schema, err);
    if (status >= 0 && schema && name_twice(about->schema)) {
        status = mldfi_fail(err, MLDF_E_SCHEMA, "two fields have the name %s, but for capital letters",
                            name_twice(about->schema));
        mldf_schema_free(about->schema);
        about->schema = NULL;
    }
    if (status >= 0 && schema)
        status = mldf_buffer_append(&about->schema_text, data, (size_t)member->size, err);
    if (status >= 0 && !schema)
        status = take_card(about, data, member->size, err);
    mldf_buffer_free(&scratch);
    return status;
}

mldf_status mldfi_tar_about_read(struct tar_about *out, struct tar_input *input, const mldf_context *context,
                                 const char *path, mldf_error *err) {
    struct tar_reader *reader = NULL;
    struct tar_member member;
    mldf_error why;
    memset(out, 0, sizeof *out);
    mldf_status status = mldfi_tar_reader_new(&reader, input, NULL, NULL, err);
    while (status == MLDF_OK && mldfi_tar_next(reader, &member, &why) == MLDF_OK &&
           mldfi_tar_is_about(member.name, member.name_bytes)) {
        status = take(out, reader, &member, context, &why);
        if (status < 0 && status != MLDF_E_MEMORY) {
            bool too_long = status == MLDF_E_LIMIT; /* to look behind it, all of it would have to be read */
            mldfi_warn(context, "%s: %s is not used: %s", path, member.name, MLDF_ERROR_TEXT(&why));
            status = MLDF_OK;
            if (too_long)
                break;
        } else if (status < 0 && err) {
            *err = why;
        }
    }
    mldfi_tar_reader_free(reader);
    return status < 0 ? status : MLDF_OK;
}

void mldfi_tar_about_free(struct tar_about *about) {
    mldf_schema_free(about->schema);
    mldf_buffer_free(&about->schema_text);
    free(about->card);
    memset(about, 0, sizeof *about);
}

size_t mldfi_tar_about_field(const mldf_schema *schema, const char *extension) {
    const char *dot = strrchr(extension, '.');
    size_t count = mldf_schema_field_count(schema);
    for (size_t i = 0; i < count; i++)
        if (same_name(schema->fields[i].name, extension, strlen(extension)))
            return i;
    for (size_t i = 0; dot && i < count; i++)
        if (same_name(schema->fields[i].name, extension, (size_t)(dot - extension)))
            return i;
    return SIZE_MAX;
}

/* ---- Writing ---------------------------------------------------------------------------------------------------------------------- */

bool mldfi_tar_name_is_type(const struct schema_field *field) {
    const struct field_type *type;
    if (field->info.type_id == MLDF_FLOAT || field->info.type_id == MLDF_INLINE || mldfi_npz_is(field->name))
        return false; /* .npz is read alone */
    return mldfi_tar_type(field->name) == field->info.type_id ||
           (field->type->files && mldfi_tar_file(field->name, &type) != ARCHIVE_BYTES &&
            type->files == field->type->files);
}

/* What a field comes back as. Values that only their own type writes as a file are read back as that file. */
static uint16_t type_read_back(const struct schema_field *field, const mldf_context *context) {
    const struct field_type *type = field->type;
    if (type->files) {
        const struct field_type *kind = mldfi_type_of_kind(type->files);
        return kind && type->files->keep ? kind->type.id : type->type.id;
    }
    if (!type->export && field->info.type_id < MLDF_PRIVATE)
        return field->info.type_id;
    uint16_t id = type->ending && strcmp(type->ending, "json") == 0 ? MLDF_JSON : MLDF_BYTES;
    mldfi_warn(context, "field %s: values of type %s are read back from a tar as %s", field->name,
               field->info.type_name, id == MLDF_JSON ? "JSON" : "bytes");
    return id;
}

/* Would the extensions alone say the same of the field? */
static bool goes_without_saying(const struct schema_field *field, uint16_t type_id) {
    mldf_schema *schema = NULL;
    bool same = mldfi_tar_name_is_type(field) && type_id == field->info.type_id;
    if (same && type_id == MLDF_NDARRAY) {
        for (uint32_t i = 0; i < field->info.ndim; i++)
            same = same && field->info.dims[i] >= 0;
        return same && field->info.dtype != MLDF_BF16 && !field->type->along(field->state, NULL);
    }
    same = same && mldf_schema_new(NULL, &schema, NULL) == MLDF_OK &&
           mldf_schema_add(schema, field->name, type_id, NULL, 0, NULL) == MLDF_OK &&
           strcmp(schema->fields[0].arguments, field->arguments) == 0;
    mldf_schema_free(schema);
    return same;
}

/* Arguments of a later version or of a 1.0 file are not taken from a schema file. */
static mldf_status add(mldf_schema *said, const struct schema_field *field, uint16_t id, const mldf_context *context,
                       mldf_error *err) {
    uint16_t flags = field->info.flags & MLDF_FIELD_NULLABLE;
    bool own = id == field->info.type_id;
    mldf_status status = mldf_schema_add(said, field->name, id, own ? field->arguments : NULL, flags, err);
    if (status >= 0 || status == MLDF_E_MEMORY || !own)
        return status;
    mldfi_warn(context, "field %s: its arguments are not kept in a tar: %s", field->name, MLDF_ERROR_TEXT(err));
    return mldf_schema_add(said, field->name, id, NULL, flags, NULL) == MLDF_E_MEMORY ? MLDF_E_MEMORY : MLDF_OK;
}

mldf_status mldfi_tar_about_schema(const mldf_schema *schema, const mldf_context *context, mldf_buffer *out,
                                   mldf_error *err) {
    mldf_schema *said = NULL;
    bool needed = false;
    mldf_status status = mldf_schema_new(context, &said, err);
    for (size_t i = 0; i < schema->field_count && status >= 0; i++) {
        const struct schema_field *field = &schema->fields[i];
        if (!field->info.known)
            continue;
        uint16_t id = type_read_back(field, context);
        needed = needed || !goes_without_saying(field, id);
        status = add(said, field, id, context, err);
    }
    const char *twice = status < 0 ? NULL : name_twice(said);
    if (twice)
        mldfi_warn(context,
                   "two fields have the name %s, but for capital letters: in a tar they are known by their "
                   "extensions",
                   twice);
    if (status >= 0 && needed && !twice)
        status = mldf_schema_write(said, out, err);
    mldf_schema_free(said);
    return status < 0 ? status : MLDF_OK;
}
