/* mldf_schema: an ordered list of fields with their bound types, and the row that follows from it. Here are its life,
 * what a caller adds and what a caller asks; schema_file.c adds fields from descriptors, schema_json.c reads and writes
 * the JSON form. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "field/type.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { FLAGS_OF_CALLERS = MLDF_FIELD_NULLABLE | MLDF_FIELD_COMPRESSED, LEVEL_MAX = 22 };

mldf_status mldf_schema_new(const mldf_context *context, mldf_schema **out, mldf_error *err) {
    if (!out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_schema_new: out is NULL");
    *out = mldfi_alloc_zero(1, sizeof **out, err);
    if (!*out)
        return MLDF_E_MEMORY;
    (*out)->context = context;
    (*out)->row_align = 1;
    return MLDF_OK;
}

void mldfi_schema_field_free(struct schema_field *field) {
    if (field->type && field->type->type.unbind)
        field->type->type.unbind(field->type->type.user, field->state);
    free(field->name);
    free(field->arguments);
    memset(field, 0, sizeof *field);
}

void mldf_schema_free(mldf_schema *schema) {
    if (!schema)
        return;
    for (size_t i = 0; i < schema->field_count; i++)
        mldfi_schema_field_free(&schema->fields[i]);
    free(schema->fields);
    mldfi_names_free(&schema->names);
    free(schema);
}

static const char *name_of(const void *owner, size_t ordinal) {
    const mldf_schema *schema = owner;
    return schema->fields[ordinal].name;
}

size_t mldfi_schema_lookup(const mldf_schema *schema, const char *name) {
    return mldfi_names_find(&schema->names, name, name_of, schema);
}

mldf_status mldfi_schema_push(mldf_schema *schema, struct schema_field *field, mldf_error *err) {
    mldf_status status =
        mldfi_array_reserve(&schema->fields, &schema->field_capacity, schema->field_count + 1, sizeof *field, err);
    if (status == MLDF_OK)
        status = mldfi_names_add(&schema->names, field->name, name_of, schema, err);
    if (status < 0) {
        mldfi_schema_field_free(field);
        return status;
    }
    field->info.name = field->name;
    field->info.arguments = field->arguments;
    field->payload_index = mldfi_field_has_payload(field) ? schema->payload_count++ : SIZE_MAX;
    field->nullable_index = field->info.flags & MLDF_FIELD_NULLABLE ? schema->nullable_count++ : SIZE_MAX;
    if (field->info.record_align > schema->row_align)
        schema->row_align = field->info.record_align;
    schema->row_bytes =
        (uint32_t)mldfi_align_up((uint64_t)field->info.row_offset + field->info.record_bytes, schema->row_align);
    schema->fields[schema->field_count++] = *field;
    return MLDF_OK;
}

/* ---- Adding ----------------------------------------------------------------------------------------------------- */

static mldf_status find_type(const mldf_schema *schema, uint16_t type_id, const struct field_type **out,
                             mldf_error *err) {
    *out = type_id >= MLDF_PRIVATE ? mldfi_context_type(schema->context, type_id) : mldfi_builtin_type(type_id);
    if (*out)
        return MLDF_OK;
    if (type_id >= MLDF_PRIVATE)
        return mldfi_fail(err, MLDF_E_SCHEMA, "type id %u is private, and the context has no type of that id", type_id);
    if (mldfi_type_name(type_id))
        return mldfi_fail(err, MLDF_E_SCHEMA, "type %s (id %u) cannot be written by this version",
                          mldfi_type_name(type_id), type_id);
    return mldfi_fail(err, MLDF_E_SCHEMA, "there is no type of id %u", type_id);
}

/* A private type's arguments with "type" in them, which is what identifies it in a file. */
static mldf_status add_type_name(const struct json *json, const char *type_name, mldf_buffer *out, mldf_error *err) {
    mldf_buffer text = MLDF_BUFFER_INIT;
    uint32_t at = mldfi_json_find(json, 0, "type");
    if (at != UINT32_MAX) {
        if (!mldfi_json_is_text(json, at, type_name))
            return mldfi_fail(err, MLDF_E_SCHEMA, "argument \"type\" is not \"%s\", the name of the type", type_name);
        return mldfi_json_canonical(json, 0, out, err);
    }
    mldf_status status =
        mldfi_buffer_printf(&text, err, "{\"type\":\"%s\"%s", type_name, json->nodes[0].count ? "," : "");
    if (status == MLDF_OK) /* the rest of the object, behind its brace */
        status = mldf_buffer_append(&text, json->nodes[0].text + 1, (size_t)json->nodes[0].text_bytes - 1, err);
    if (status == MLDF_OK)
        status = mldfi_json_canonicalize((const char *)text.data, text.size, out, err);
    mldf_buffer_free(&text);
    return status;
}

/* Through the type's own canonical form, which is the library's to check. */
static mldf_status canonical_private(const struct field_type *type, const struct json *json, mldf_buffer *out,
                                     mldf_error *err) {
    struct json own = {0};
    mldf_buffer text = MLDF_BUFFER_INIT, given = MLDF_BUFFER_INIT;
    if (!type->canonical_own)
        return add_type_name(json, type->name, out, err);
    mldf_status status = add_type_name(json, type->name, &given, err);
    if (status == MLDF_OK)
        status = mldf_buffer_append(&given, "", 1, err);
    if (status == MLDF_OK)
        status = type->canonical_own(type->type.user, (const char *)given.data, &text, err);
    if (status == MLDF_OK)
        status = mldfi_arguments_parse(&own, text.size ? (const char *)text.data : "", text.size, err);
    if (status == MLDF_OK)
        status = add_type_name(&own, type->name, out, err);
    mldfi_json_free(&own);
    mldf_buffer_free(&text);
    mldf_buffer_free(&given);
    return status;
}

static mldf_status canonical_arguments(const struct field_type *type, const char *arguments, mldf_buffer *out,
                                       mldf_error *err) {
    struct json json = {0};
    mldf_status status = mldfi_arguments_parse(&json, arguments, strlen(arguments), err);
    if (status == MLDF_OK && type->argument_names)
        status = mldfi_arguments_check_names(&json, type->argument_names, err);
    if (status == MLDF_OK && type->type.id >= MLDF_PRIVATE)
        status = canonical_private(type, &json, out, err);
    else if (status == MLDF_OK && type->canonical)
        status = type->canonical(&json, out, err);
    else if (status == MLDF_OK)
        status = mldfi_json_canonical(&json, 0, out, err);
    mldfi_json_free(&json);
    if (status == MLDF_OK && out->size > FORMAT_MAX_LONG_ARGUMENTS)
        status =
            mldfi_fail(err, MLDF_E_LIMIT, "arguments of %zu bytes, more than %d", out->size, FORMAT_MAX_LONG_ARGUMENTS);
    return status;
}

static mldf_status fill_field(const mldf_schema *schema, struct schema_field *field, const char *name, uint16_t type_id,
                              const char *arguments, uint16_t flags, mldf_error *err) {
    const struct field_type *type;
    mldf_buffer text = MLDF_BUFFER_INIT;
    mldf_status status = find_type(schema, type_id, &type, err);
    if (status == MLDF_OK)
        status = canonical_arguments(type, arguments ? arguments : "", &text, err);
    if (status == MLDF_OK && (!(field->arguments = mldfi_copy_text((const char *)text.data, text.size, err)) ||
                              !(field->name = mldfi_copy_text(name, strlen(name), err))))
        status = MLDF_E_MEMORY;
    mldf_buffer_free(&text);
    if (status == MLDF_OK)
        status = mldfi_field_bind(field, type, err);
    if (status < 0)
        return status;
    if ((flags & MLDF_FIELD_COMPRESSED) && !field->layout.payload_flag)
        return mldfi_fail(err, MLDF_E_SCHEMA, "type %s has no payload to compress", type->name);
    if ((flags & MLDF_FIELD_COMPRESSED) && type->never_compressed)
        return mldfi_fail(err, MLDF_E_SCHEMA, "type %s is never compressed: any part of it is read alone", type->name);
    uint64_t end = 0;
    if (schema->field_count > 0) {
        const mldf_field *last = &schema->fields[schema->field_count - 1].info;
        end = (uint64_t)last->row_offset + last->record_bytes;
    }
    uint64_t offset = mldfi_align_up(end, field->layout.record_align);
    if (offset + field->layout.record_bytes > FORMAT_MAX_ROW)
        return mldfi_fail(err, MLDF_E_LIMIT, "with this field a row would have more than %d bytes", FORMAT_MAX_ROW);
    field->info.type_id = type_id;
    field->info.flags = flags | field->layout.payload_flag;
    field->info.type_name = type->name;
    field->info.record_bytes = field->layout.record_bytes;
    field->info.record_align = field->layout.record_align;
    field->info.row_offset = (uint32_t)offset;
    field->info.known = true;
    if (type->describe)
        type->describe(field->state, &field->info);
    return MLDF_OK;
}

static mldf_status check_new_name(const mldf_schema *schema, const char *name, uint16_t flags, mldf_error *err) {
    const char *problem = mldfi_name_problem(name, strlen(name));
    if (problem)
        return mldfi_fail(err, MLDF_E_SCHEMA, "the name %s", problem);
    if (mldfi_schema_lookup(schema, name) != SIZE_MAX)
        return mldfi_fail(err, MLDF_E_SCHEMA, "there is a field of this name already");
    if (schema->field_count >= FORMAT_MAX_FIELDS)
        return mldfi_fail(err, MLDF_E_LIMIT, "a file has at most %d fields", FORMAT_MAX_FIELDS);
    if (flags & ~FLAGS_OF_CALLERS)
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "flags 0x%x: a caller sets MLDF_FIELD_NULLABLE and MLDF_FIELD_COMPRESSED only", flags);
    return MLDF_OK;
}

mldf_status mldf_schema_add(mldf_schema *schema, const char *name, uint16_t type_id, const char *arguments,
                            uint16_t flags, mldf_error *err) {
    struct schema_field field = {0};
    if (!schema || !name)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_schema_add: %s is NULL", schema ? "name" : "schema");
    mldf_status status = check_new_name(schema, name, flags, err);
    if (status == MLDF_OK)
        status = fill_field(schema, &field, name, type_id, arguments, flags, err);
    if (status == MLDF_OK)
        return mldfi_schema_push(schema, &field, err);
    mldfi_schema_field_free(&field);
    mldfi_error_place(err, MLDF_NONE, name);
    mldfi_error_prefix(err, "field \"%.63s\"", name);
    return status;
}

static mldf_status no_such_field(const mldf_schema *schema, size_t field, mldf_error *err) {
    return mldfi_fail(err, MLDF_E_NO_FIELD, "there is no field %zu; the schema has %zu", field, schema->field_count);
}

mldf_status mldf_schema_compress(mldf_schema *schema, size_t field, int level, mldf_error *err) {
    if (!schema)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_schema_compress: schema is NULL");
    if (field >= schema->field_count)
        return no_such_field(schema, field, err);
    struct schema_field *f = &schema->fields[field];
    mldf_status status = MLDF_OK;
    if (level < 1 || level > LEVEL_MAX)
        status = mldfi_fail(err, MLDF_E_ARGUMENT, "field \"%s\": compression level %d is not 1 to %d", f->name, level,
                            LEVEL_MAX);
    else if (!mldfi_field_has_payload(f))
        status = mldfi_fail(err, MLDF_E_SCHEMA, "field \"%s\": type %s has no payload to compress", f->name,
                            f->info.type_name);
    else if (f->type && f->type->never_compressed)
        status =
            mldfi_fail(err, MLDF_E_SCHEMA, "field \"%s\": type %s is never compressed: any part of it is read alone",
                       f->name, f->info.type_name);
    if (status < 0) {
        mldfi_error_place(err, MLDF_NONE, f->name);
        return status;
    }
    f->info.flags |= MLDF_FIELD_COMPRESSED;
    f->info.compress_level = level;
    return MLDF_OK;
}

/* ---- Copying ---------------------------------------------------------------------------------------------------- */

static mldf_status copy_field(const struct schema_field *from, struct schema_field *to, mldf_error *err) {
    *to = *from;
    to->type = NULL; /* its state is not ours */
    to->state = NULL;
    to->arguments = NULL;
    to->name = mldfi_copy_text(from->name, strlen(from->name), err);
    if (to->name)
        to->arguments = mldfi_copy_text(from->arguments, strlen(from->arguments), err);
    if (!to->arguments)
        return MLDF_E_MEMORY;
    return from->type ? mldfi_field_bind(to, from->type, err) : MLDF_OK;
}

mldf_status mldfi_schema_copy(const mldf_schema *schema, mldf_schema **out, mldf_error *err) {
    mldf_status status = mldf_schema_new(schema->context, out, err);
    for (size_t i = 0; i < schema->field_count && status == MLDF_OK; i++) {
        struct schema_field field;
        status = copy_field(&schema->fields[i], &field, err);
        if (status == MLDF_OK)
            status = mldfi_schema_push(*out, &field, err);
        else
            mldfi_schema_field_free(&field);
    }
    if (status < 0) {
        mldf_schema_free(*out);
        *out = NULL;
    }
    return status;
}

/* ---- Asking ----------------------------------------------------------------------------------------------------- */

size_t mldf_schema_field_count(const mldf_schema *schema) {
    return schema ? schema->field_count : 0;
}

const mldf_field *mldf_schema_field(const mldf_schema *schema, size_t field) {
    return schema && field < schema->field_count ? &schema->fields[field].info : NULL;
}

uint32_t mldf_schema_row_bytes(const mldf_schema *schema) {
    return schema ? schema->row_bytes : 0;
}

mldf_status mldf_schema_find(const mldf_schema *schema, const char *name, size_t *out, mldf_error *err) {
    if (!schema || !name || !out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_schema_find: %s is NULL",
                          !schema ? "schema"
                          : !name ? "name"
                                  : "out");
    size_t found = mldfi_schema_lookup(schema, name);
    if (found != SIZE_MAX) {
        *out = found;
        return MLDF_OK;
    }
    if (!err)
        return MLDF_E_NO_FIELD; /* nobody reads a suggestion, which takes a look at every name */
    struct suggestion near = {name, NULL, 0};
    for (size_t i = 0; i < schema->field_count; i++)
        mldfi_suggest(&near, schema->fields[i].name);
    if (near.best)
        return mldfi_fail(err, MLDF_E_NO_FIELD, "there is no field \"%.63s\"; did you mean \"%s\"?", name, near.best);
    return mldfi_fail(err, MLDF_E_NO_FIELD, "there is no field \"%.63s\"", name);
}

mldf_status mldf_field_member(const mldf_schema *schema, size_t field, size_t index, mldf_member *out,
                              mldf_error *err) {
    if (!schema || !out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_field_member: %s is NULL", schema ? "out" : "schema");
    if (field >= schema->field_count)
        return no_such_field(schema, field, err);
    const struct schema_field *f = &schema->fields[field];
    if (f->type != &mldfi_type_inline) {
        mldf_status status = mldfi_fail(err, MLDF_E_TYPE, "field \"%s\" is of type %s, not inline: it has no members",
                                        f->name, f->info.type_name);
        mldfi_error_place(err, MLDF_NONE, f->name);
        return status;
    }
    return mldfi_inline_member(f->state, index, out, err);
}
