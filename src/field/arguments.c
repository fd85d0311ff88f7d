/* The arguments of a field: one JSON object as a tree, with the checks that all types share. They come from a caller or
 * from a hostile file; who calls decides which status a fault deserves (schema.c, schema_file.c). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field/type.h"
#include "util/buffer.h"
#include "util/error.h"

/* Nesting of the deepest value, the root counted as 1. Walks in document order with the ends of the open containers. */
static bool too_deep(const struct json *json) {
    uint32_t ends[FORMAT_MAX_ARGUMENT_DEPTH];
    size_t depth = 0;
    for (uint32_t i = 0; i < json->count; i++) {
        while (depth > 0 && i >= ends[depth - 1])
            depth--;
        if (json->nodes[i].kind != MLDFI_JSON_ARRAY && json->nodes[i].kind != MLDFI_JSON_OBJECT)
            continue;
        if (depth == FORMAT_MAX_ARGUMENT_DEPTH)
            return true;
        ends[depth++] = json->nodes[i].next;
    }
    return false;
}

mldf_status mldfi_arguments_parse(struct json *json, const char *text, size_t bytes, mldf_error *err) {
    mldf_error why;
    if (bytes > FORMAT_MAX_LONG_ARGUMENTS)
        return mldfi_fail(err, MLDF_E_SCHEMA, "arguments of %zu bytes, more than %d", bytes, FORMAT_MAX_LONG_ARGUMENTS);
    if (bytes == 0) {
        text = "{}";
        bytes = 2;
    }
    mldf_status status = mldfi_json_parse(json, text, bytes, &why);
    if (status == MLDF_E_SYNTAX)
        return mldfi_fail(err, MLDF_E_SCHEMA, "the arguments are not JSON: %s", why.message);
    if (status < 0) {
        if (err)
            *err = why;
        return status;
    }
    if (json->nodes[0].kind != MLDFI_JSON_OBJECT)
        return mldfi_fail(err, MLDF_E_SCHEMA, "the arguments are not a JSON object");
    if (too_deep(json))
        return mldfi_fail(err, MLDF_E_SCHEMA, "the arguments are nested deeper than %d", FORMAT_MAX_ARGUMENT_DEPTH);
    return MLDF_OK;
}

mldf_status mldfi_arguments_bind(const char *arguments, size_t state_bytes, read_arguments_fn read, void **state,
                                 mldf_error *err) {
    struct json json = {0};
    *state = mldfi_alloc_zero(1, state_bytes, err);
    if (!*state)
        return MLDF_E_MEMORY;
    mldf_status status = mldfi_arguments_parse(&json, arguments, strlen(arguments), err);
    if (status == MLDF_OK)
        status = read(&json, *state, err);
    mldfi_json_free(&json);
    if (status < 0) {
        free(*state);
        *state = NULL;
    }
    return status;
}

static mldf_status unknown_argument(const struct json_node *node, const char *const *names, mldf_error *err) {
    char given[64];
    snprintf(given, sizeof given, "%.*s", (int)(node->key_bytes < 63 ? node->key_bytes : 63), node->key);
    struct suggestion near = {given, NULL, 0};
    if (!names[0])
        return mldfi_fail(err, MLDF_E_SCHEMA, "unknown argument \"%s\": this type takes none", given);
    for (size_t i = 0; names[i]; i++)
        mldfi_suggest(&near, names[i]);
    if (near.best)
        return mldfi_fail(err, MLDF_E_SCHEMA, "unknown argument \"%s\"; did you mean \"%s\"?", given, near.best);
    char all[256] = "";
    for (size_t i = 0, used = 0; names[i] && used < sizeof all; i++)
        used += (size_t)snprintf(all + used, sizeof all - used, "%s\"%s\"",
                                 i == 0         ? ""
                                 : names[i + 1] ? ", "
                                                : " and ",
                                 names[i]);
    return mldfi_fail(err, MLDF_E_SCHEMA, "unknown argument \"%s\"; this type takes %s", given, all);
}

mldf_status mldfi_arguments_check_names(const struct json *json, const char *const *names, mldf_error *err) {
    for (uint32_t i = mldfi_json_first(json, 0); i < json->nodes[0].next; i = json->nodes[i].next) {
        const struct json_node *node = &json->nodes[i];
        bool known = false;
        for (size_t k = 0; names[k] && !known; k++)
            known = strlen(names[k]) == node->key_bytes && memcmp(names[k], node->key, node->key_bytes) == 0;
        if (!known)
            return unknown_argument(node, names, err);
    }
    return MLDF_OK;
}

mldf_status mldfi_shape_parse(const struct json *json, uint32_t at, bool null_allowed, int64_t least, int64_t *dims,
                              uint32_t *ndim, mldf_error *err) {
    *ndim = 0;
    if (json->nodes[at].kind != MLDFI_JSON_ARRAY)
        return mldfi_fail(err, MLDF_E_SCHEMA, "the shape is not a list");
    if (json->nodes[at].count > MLDF_MAX_DIMS)
        return mldfi_fail(err, MLDF_E_SCHEMA, "a shape of %" PRIu32 " dimensions, more than %d", json->nodes[at].count,
                          MLDF_MAX_DIMS);
    for (uint32_t i = mldfi_json_first(json, at); i < json->nodes[at].next; i = json->nodes[i].next) {
        int64_t dim = -1;
        bool varies = null_allowed && json->nodes[i].kind == MLDFI_JSON_NULL;
        if (!varies && (!mldfi_json_i64(json, i, &dim) || dim < least))
            return mldfi_fail(err, MLDF_E_SCHEMA,
                              "dimension %" PRIu32 " of the shape is not an integer from %" PRId64 " on%s", *ndim,
                              least, null_allowed ? " or null" : "");
        dims[(*ndim)++] = dim;
    }
    return MLDF_OK;
}

const char *mldfi_shape_text(char out[256], const int64_t *dims, uint32_t ndim) {
    size_t used = (size_t)snprintf(out, 256, "[");
    for (uint32_t i = 0; i < ndim && used < 256; i++)
        used += (size_t)(dims[i] < 0 ? snprintf(out + used, 256 - used, "%snull", i ? "," : "")
                                     : snprintf(out + used, 256 - used, "%s%" PRId64, i ? "," : "", dims[i]));
    if (used < 256)
        snprintf(out + used, 256 - used, "]");
    return out;
}
