/* mldf_context: the warning hook, temporary files and the user-defined types. What a user registers is wrapped (user_type.c) into the same
 * struct that the built-in types have, so the rest of the library knows one kind of type. type.c looks them up. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field/type.h"
#include "field/user_type.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/options.h"

mldf_status mldf_context_new(mldf_context **out, mldf_error *err) {
    if (!out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_context_new: out is NULL");
    *out = mldfi_alloc_zero(1, sizeof **out, err);
    return *out ? MLDF_OK : MLDF_E_MEMORY;
}

void mldf_context_free(mldf_context *context) {
    if (!context)
        return;
    for (size_t i = 0; i < context->type_count; i++)
        mldfi_user_type_free(context->types[i]);
    free(context->types);
    if (context->free_operations)
        context->free_operations(context->operations);
    free(context->cache_folder);
    free(context->compiler);
    free(context->temporary_folder);
    free(context);
}

void mldf_context_set_warning(mldf_context *context, mldf_warning_fn warn, void *user) {
    if (!context)
        return;
    context->warn = warn;
    context->warn_user = user;
}

void mldf_context_set_max_decoded(mldf_context *context, uint64_t bytes) {
    if (context)
        context->max_decoded = bytes;
}

void mldfi_warn(const mldf_context *context, const char *format, ...) {
    char message[MLDF_MESSAGE_MAX + 1];
    va_list args;
    if (!context || !context->warn)
        return;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    context->warn(context->warn_user, message);
}

mldf_status mldf_context_set_temporary_folder(mldf_context *context, const char *folder, mldf_error *err) {
    if (!context)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_context_set_temporary_folder: context is NULL");
    if (folder && !folder[0])
        return mldfi_fail(err, MLDF_E_ARGUMENT, "the temporary folder has an empty name");
    char *copy = folder ? mldfi_copy_text(folder, strlen(folder), err) : NULL;
    if (folder && !copy)
        return MLDF_E_MEMORY;
    free(context->temporary_folder);
    context->temporary_folder = copy;
    return MLDF_OK;
}

void mldf_context_set_max_unpacked(mldf_context *context, uint64_t bytes) {
    if (context)
        context->max_unpacked = bytes;
}

const char *mldfi_temporary_folder(const mldf_context *context) {
    return context && context->temporary_folder ? context->temporary_folder : "/tmp";
}

uint64_t mldfi_max_unpacked(const mldf_context *context) {
    return context && context->max_unpacked ? context->max_unpacked : MLDF_MAX_UNPACKED;
}

/* Reverse-DNS: lower-case letters, digits, '.', '_' and '-', with a dot between two of the others. */
static bool is_type_name(const char *name) {
    size_t bytes = strlen(name);
    const char *dot = strchr(name, '.');
    if (bytes == 0 || bytes > USER_TYPE_NAME_MAX || !dot || dot == name || name[bytes - 1] == '.')
        return false;
    return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") == bytes;
}

static mldf_status check_functions(const mldf_type *type, mldf_error *err) {
    if (!type->bind || !(type->encode || type->encode_worker) ||
        !(type->decode || (type->describe && type->decode_into)))
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "mldf_type %s: bind, encode (or encode_worker) and decode (or describe and decode_into) are "
                          "needed",
                          type->name);
    if (type->decode_into && !type->describe)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_type %s: decode_into needs describe", type->name);
    if (!type->open_worker != !type->close_worker)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_type %s: %s without %s", type->name,
                          type->open_worker ? "open_worker" : "close_worker",
                          type->open_worker ? "close_worker" : "open_worker");
    return MLDF_OK;
}

static mldf_status check_type(const mldf_context *context, const mldf_type *type, mldf_error *err) {
    if (type->id < MLDF_PRIVATE)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_type: id %u is reserved; user-defined ids begin at %d", type->id,
                          MLDF_PRIVATE);
    if (!type->name || !is_type_name(type->name))
        return mldfi_fail(
            err, MLDF_E_ARGUMENT,
            "mldf_type: the name \"%.120s\" is not like \"org.example.name\": 1 to 100 of a-z 0-9 . _ -, with a dot",
            type->name ? type->name : "");
    for (size_t i = 0; i < context->type_count; i++) {
        const struct user_type *other = context->types[i];
        if (other->type.id == type->id)
            return mldfi_fail(err, MLDF_E_SCHEMA, "type id %u is already registered, as %s", type->id, other->name);
        if (strcmp(other->name, type->name) == 0)
            return mldfi_fail(err, MLDF_E_SCHEMA, "type %s is already registered, with id %u", type->name,
                              other->type.id);
    }
    return check_functions(type, err);
}

mldf_status mldf_context_register_type(mldf_context *context, const mldf_type *type, mldf_error *err) {
    mldf_type own = MLDF_TYPE_INIT;
    if (!context || !type)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_context_register_type: %s is NULL", context ? "type" : "context");
    if (type->struct_bytes < USER_TYPE_V1_BYTES)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_type: struct_bytes is %zu; start from MLDF_TYPE_INIT",
                          type->struct_bytes);
    mldf_status status = mldfi_take_options(&own, sizeof own, "mldf_type", type, err);
    if (status == MLDF_OK)
        status = check_type(context, &own, err);
    if (status == MLDF_OK)
        status = mldfi_array_reserve(&context->types, &context->type_capacity, context->type_count + 1,
                                     sizeof context->types[0], err);
    if (status < 0)
        return status;
    struct user_type *user = mldfi_user_type_new(&own, err);
    if (!user)
        return MLDF_E_MEMORY;
    context->types[context->type_count++] = user;
    return MLDF_OK;
}
