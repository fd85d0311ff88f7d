/* The JSON form of a schema (docs/guides/schema.md): a list of fields, bare or under "fields", each an object with
 * name, type, nullable, compress, source and the type's own arguments, beside them or under "arguments". A fault names the
 * field and the member. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "field/type.h"
#include "util/buffer.h"
#include "util/error.h"

enum { COMPRESS_NO = -1, COMPRESS_DEFAULT = 0, LEVEL_MAX = 22 };

static const char *const own_members[] = {"name", "type", "nullable", "compress", "source", "arguments", NULL};

static bool is_own_member(const char *key, size_t bytes) {
    for (size_t i = 0; own_members[i]; i++)
        if (strlen(own_members[i]) == bytes && memcmp(own_members[i], key, bytes) == 0)
            return true;
    return false;
}

/* ---- Parsing ---------------------------------------------------------------------------------------------------- */

/* One element of the list. */
struct entry {
    const struct json *json;
    uint32_t at;
    size_t index;
    char name[MLDF_NAME_MAX + 1]; /* "" until it is read */
    uint16_t type_id, flags;
    int level;
    bool from_file;
};

static mldf_status refuse(const struct entry *entry, mldf_status status, const char *member, const char *why,
                          mldf_error *err) {
    if (entry->name[0])
        mldfi_fail(err, status, "field \"%s\": \"%s\" %s", entry->name, member, why);
    else
        mldfi_fail(err, status, "fields[%zu]: \"%s\" %s", entry->index, member, why);
    mldfi_error_place(err, MLDF_NONE, entry->name);
    return status;
}

static mldf_status read_name(struct entry *entry, mldf_error *err) {
    uint32_t at = mldfi_json_find(entry->json, entry->at, "name");
    if (at == UINT32_MAX)
        return refuse(entry, MLDF_E_SCHEMA, "name", "is missing", err);
    const struct json_node *node = &entry->json->nodes[at];
    if (node->kind != MLDFI_JSON_STRING)
        return refuse(entry, MLDF_E_SCHEMA, "name", "is not a text", err);
    const char *problem = mldfi_name_problem(node->text, (size_t)node->text_bytes);
    if (problem)
        return refuse(entry, MLDF_E_SCHEMA, "name", problem, err);
    memcpy(entry->name, node->text, (size_t)node->text_bytes);
    return MLDF_OK;
}

static mldf_status read_type(struct entry *entry, const mldf_context *context, mldf_error *err) {
    uint32_t at = mldfi_json_find(entry->json, entry->at, "type");
    uint64_t id;
    char name[128];
    mldf_error why;
    if (at == UINT32_MAX)
        return refuse(entry, MLDF_E_SCHEMA, "type", "is missing", err);
    const struct json_node *node = &entry->json->nodes[at];
    if (node->kind == MLDFI_JSON_NUMBER) {
        if (!mldfi_json_u64(entry->json, at, &id) || id == 0 || id > UINT16_MAX)
            return refuse(entry, MLDF_E_SCHEMA, "type", "is not a type id, 1 to 65535", err);
        entry->type_id = (uint16_t)id;
        return MLDF_OK;
    }
    if (node->kind != MLDFI_JSON_STRING || node->text_bytes >= sizeof name ||
        memchr(node->text, 0, (size_t)node->text_bytes))
        return refuse(entry, MLDF_E_SCHEMA, "type", "is neither the name of a type nor its id", err);
    memcpy(name, node->text, (size_t)node->text_bytes);
    name[node->text_bytes] = 0;
    if (mldf_type_id(context, name, &entry->type_id, &why) < 0) {
        char text[MLDF_MESSAGE_MAX + 8];
        snprintf(text, sizeof text, "is wrong: %.480s", why.message);
        return refuse(entry, why.status, "type", text, err);
    }
    return MLDF_OK;
}

/* "file": a cell of a table holds a path. Only for types whose value is a file's bytes. */
static mldf_status read_source(struct entry *entry, mldf_error *err) {
    uint32_t at = mldfi_json_find(entry->json, entry->at, "source");
    const struct field_type *type = mldfi_builtin_type(entry->type_id);
    bool bytes = entry->type_id == MLDF_BYTES || entry->type_id == MLDF_TEXT;
    if (at == UINT32_MAX)
        return MLDF_OK;
    if (!mldfi_json_is_text(entry->json, at, "file"))
        return refuse(entry, MLDF_E_SCHEMA, "source", "is not \"file\"", err);
    if (!bytes && !(type && type->files))
        return refuse(entry, MLDF_E_SCHEMA, "source", "is for bytes, text, images and audio", err);
    entry->from_file = true;
    return MLDF_OK;
}

static mldf_status read_options(struct entry *entry, mldf_error *err) {
    const struct json *json = entry->json;
    uint32_t nullable = mldfi_json_find(json, entry->at, "nullable");
    uint32_t compress = mldfi_json_find(json, entry->at, "compress");
    uint64_t level;
    entry->level = COMPRESS_NO;
    if (nullable != UINT32_MAX) {
        if (json->nodes[nullable].kind == MLDFI_JSON_TRUE)
            entry->flags |= MLDF_FIELD_NULLABLE;
        else if (json->nodes[nullable].kind != MLDFI_JSON_FALSE)
            return refuse(entry, MLDF_E_SCHEMA, "nullable", "is neither true nor false", err);
    }
    if (compress == UINT32_MAX || json->nodes[compress].kind == MLDFI_JSON_FALSE)
        return MLDF_OK;
    if (json->nodes[compress].kind == MLDFI_JSON_TRUE)
        entry->level = COMPRESS_DEFAULT;
    else if (mldfi_json_u64(json, compress, &level) && level >= 1 && level <= LEVEL_MAX)
        entry->level = (int)level;
    else
        return refuse(entry, MLDF_E_SCHEMA, "compress", "is neither true nor false nor a level, 1 to 22", err);
    entry->flags |= MLDF_FIELD_COMPRESSED;
    return MLDF_OK;
}

/* The members that are not our own, as one object; terminated. */
static mldf_status gather_arguments(const struct entry *entry, mldf_buffer *out, mldf_error *err) {
    const struct json *json = entry->json;
    mldf_status status = mldf_buffer_append(out, "{", 1, err);
    for (uint32_t i = mldfi_json_first(json, entry->at); i < json->nodes[entry->at].next && status == MLDF_OK;
         i = json->nodes[i].next) {
        if (is_own_member(json->nodes[i].key, json->nodes[i].key_bytes))
            continue;
        if (out->size > 1)
            status = mldf_buffer_append(out, ",", 1, err);
        if (status == MLDF_OK)
            status = mldfi_json_append_string(out, json->nodes[i].key, json->nodes[i].key_bytes, err);
        if (status == MLDF_OK)
            status = mldf_buffer_append(out, ":", 1, err);
        if (status == MLDF_OK)
            status = mldfi_json_canonical(json, i, out, err);
    }
    return status == MLDF_OK ? mldf_buffer_append(out, "}", 2, err) : status;
}

static mldf_status read_arguments(const struct entry *entry, mldf_buffer *out, mldf_error *err) {
    uint32_t at = mldfi_json_find(entry->json, entry->at, "arguments");
    mldf_status status = gather_arguments(entry, out, err);
    if (status < 0 || at == UINT32_MAX)
        return status;
    if (entry->json->nodes[at].kind != MLDFI_JSON_OBJECT)
        return refuse(entry, MLDF_E_SCHEMA, "arguments", "is not an object", err);
    if (out->size > sizeof "{}")
        return refuse(entry, MLDF_E_SCHEMA, "arguments",
                      "is given, and other members beside it too: put all into one place", err);
    out->size = 0;
    status = mldfi_json_canonical(entry->json, at, out, err);
    return status == MLDF_OK ? mldf_buffer_append(out, "", 1, err) : status;
}

static mldf_status add_entry(mldf_schema *schema, struct entry *entry, mldf_buffer *arguments, mldf_error *err) {
    if (entry->json->nodes[entry->at].kind != MLDFI_JSON_OBJECT)
        return mldfi_fail(err, MLDF_E_SCHEMA, "fields[%zu] is not an object with \"name\" and \"type\"", entry->index);
    arguments->size = 0;
    mldf_status status = read_name(entry, err);
    if (status == MLDF_OK)
        status = read_type(entry, schema->context, err);
    if (status == MLDF_OK)
        status = read_options(entry, err);
    if (status == MLDF_OK)
        status = read_source(entry, err);
    if (status == MLDF_OK)
        status = read_arguments(entry, arguments, err);
    if (status == MLDF_OK)
        status = mldf_schema_add(schema, entry->name, entry->type_id, (const char *)arguments->data, entry->flags, err);
    if (status == MLDF_OK && entry->level > 0)
        status = mldf_schema_compress(schema, schema->field_count - 1, entry->level, err);
    if (status == MLDF_OK)
        schema->fields[schema->field_count - 1].info.from_file = entry->from_file;
    return status;
}

/* The node of the list of fields. */
static mldf_status find_list(const struct json *json, uint32_t *out, mldf_error *err) {
    *out = 0;
    if (json->nodes[0].kind == MLDFI_JSON_OBJECT) {
        *out = mldfi_json_find(json, 0, "fields");
        if (*out == UINT32_MAX)
            return mldfi_fail(err, MLDF_E_SCHEMA, "the schema has no member \"fields\"");
        if (json->nodes[0].count > 1)
            return mldfi_fail(err, MLDF_E_SCHEMA, "the schema has members beside \"fields\"");
    }
    if (json->nodes[*out].kind != MLDFI_JSON_ARRAY)
        return mldfi_fail(err, MLDF_E_SCHEMA,
                          "the schema is not a list of fields, nor an object with such a list as \"fields\"");
    if (json->nodes[*out].count == 0)
        return mldfi_fail(err, MLDF_E_SCHEMA, "the schema has no fields");
    return MLDF_OK;
}

static mldf_status add_fields(mldf_schema *schema, const struct json *json, mldf_error *err) {
    mldf_buffer arguments = MLDF_BUFFER_INIT;
    uint32_t list;
    size_t index = 0;
    mldf_status status = find_list(json, &list, err);
    if (status < 0)
        return status;
    for (uint32_t i = mldfi_json_first(json, list); i < json->nodes[list].next && status == MLDF_OK;
         i = json->nodes[i].next) {
        struct entry entry = {.json = json, .at = i, .index = index++};
        status = add_entry(schema, &entry, &arguments, err);
    }
    mldf_buffer_free(&arguments);
    return status;
}

mldf_status mldf_schema_parse(const mldf_context *context, const char *json, size_t json_bytes, mldf_schema **out,
                              mldf_error *err) {
    struct json tree = {0};
    if (!json || !out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_schema_parse: %s is NULL", json ? "out" : "json");
    *out = NULL;
    mldf_status status = mldfi_json_parse(&tree, json, json_bytes, err);
    if (status == MLDF_OK)
        status = mldf_schema_new(context, out, err);
    if (status == MLDF_OK)
        status = add_fields(*out, &tree, err);
    mldfi_json_free(&tree);
    if (status < 0) {
        mldf_schema_free(*out);
        *out = NULL;
    }
    return status;
}

/* ---- Writing ---------------------------------------------------------------------------------------------------- */

/* Beside our own members where no name is in the way; a private type's arguments stay together. */
static mldf_status write_arguments(const struct schema_field *field, mldf_buffer *out, mldf_error *err) {
    struct json json = {0};
    size_t bytes = strlen(field->arguments);
    if (bytes <= strlen("{}"))
        return MLDF_OK;
    mldf_status status = mldfi_json_parse(&json, field->arguments, bytes, err);
    bool together = field->info.type_id >= MLDF_PRIVATE;
    for (uint32_t i = 1; status == MLDF_OK && i < json.nodes[0].next; i = json.nodes[i].next)
        together = together || is_own_member(json.nodes[i].key, json.nodes[i].key_bytes);
    mldfi_json_free(&json);
    if (status < 0)
        return status;
    if (together)
        return mldfi_buffer_printf(out, err, ",\"arguments\":%s", field->arguments);
    status = mldfi_buffer_append_text(out, ",", err);
    return status == MLDF_OK ? mldf_buffer_append(out, field->arguments + 1, bytes - 2, err) : status;
}

static mldf_status write_field(const struct schema_field *field, mldf_buffer *out, mldf_error *err) {
    const mldf_field *info = &field->info;
    mldf_status status = mldfi_buffer_append_text(out, "{\"name\":", err);
    if (status == MLDF_OK)
        status = mldfi_json_append_string(out, field->name, strlen(field->name), err);
    if (status == MLDF_OK && info->known)
        status = mldfi_buffer_printf(out, err, ",\"type\":\"%s\"", info->type_name);
    else if (status == MLDF_OK)
        status = mldfi_buffer_printf(out, err, ",\"type\":%u", info->type_id);
    if (status == MLDF_OK)
        status = write_arguments(field, out, err);
    if (status == MLDF_OK && (info->flags & MLDF_FIELD_NULLABLE))
        status = mldfi_buffer_append_text(out, ",\"nullable\":true", err);
    if (status == MLDF_OK && (info->flags & MLDF_FIELD_COMPRESSED))
        status = info->compress_level > 0 ? mldfi_buffer_printf(out, err, ",\"compress\":%d", info->compress_level)
                                          : mldfi_buffer_append_text(out, ",\"compress\":true", err);
    if (status == MLDF_OK && info->from_file)
        status = mldfi_buffer_append_text(out, ",\"source\":\"file\"", err);
    return status == MLDF_OK ? mldfi_buffer_append_text(out, "}", err) : status;
}

mldf_status mldf_schema_write(const mldf_schema *schema, mldf_buffer *out, mldf_error *err) {
    if (!schema || !out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_schema_write: %s is NULL", schema ? "out" : "schema");
    mldf_status status = mldfi_buffer_append_text(out, "{\"fields\":[", err);
    for (size_t i = 0; i < schema->field_count && status == MLDF_OK; i++) {
        if (i > 0)
            status = mldfi_buffer_append_text(out, ",", err);
        if (status == MLDF_OK)
            status = write_field(&schema->fields[i], out, err);
    }
    return status == MLDF_OK ? mldfi_buffer_append_text(out, "]}", err) : status;
}
