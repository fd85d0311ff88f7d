/* BYTES, JSON and TEXT: payloads that the format stores as they come. JSON and TEXT are validated when written; reading
 * trusts that and leaves the walk over the value to a deep check. ndarray.c is next. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "field/edge.h"
#include "field/type.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/json.h"
#include "util/utf8.h"

enum { TEXT_ENCODING = 14, RECORD_SIZE = 8 }; /* places in a record */

static const char *const no_arguments[] = {NULL};

static mldf_status bind_size64(void *user, const char *arguments, mldf_record_layout *layout, void **state,
                               mldf_error *err) {
    (void)user, (void)arguments, (void)state, (void)err;
    *layout = (mldf_record_layout){16, 8, MLDF_FIELD_SIZE64, false};
    return MLDF_OK;
}

static mldf_status bind_size32(void *user, const char *arguments, mldf_record_layout *layout, void **state,
                               mldf_error *err) {
    (void)user, (void)arguments, (void)state, (void)err;
    *layout = (mldf_record_layout){16, 8, MLDF_FIELD_SIZE32, false};
    return MLDF_OK;
}

static mldf_status pass_through(const mldf_value *value, const char *wanted, const void **payload,
                                uint64_t *payload_bytes, mldf_error *err) {
    *payload = NULL;
    *payload_bytes = 0;
    if (value->kind != MLDF_KIND_BYTES && value->kind != MLDF_KIND_TEXT)
        return mldfi_wrong_kind(value, wanted, err);
    TRY(mldfi_check_data(value, err));
    *payload = value->data;
    *payload_bytes = value->bytes;
    return MLDF_OK;
}

static void set_payload(mldf_value *out, mldf_kind kind, const void *payload, uint64_t payload_bytes) {
    memset(out, 0, sizeof *out);
    out->kind = kind;
    out->data = payload;
    out->bytes = payload_bytes;
}

mldf_status mldfi_bytes_edge(const struct schema_field *field, const struct value_bounds *bounds, struct edge *out,
                             mldf_error *err) {
    (void)field, (void)err;
    out->kind = VALUE_BYTES;
    out->dtype = MLDF_U8;
    out->ndim = 1;
    mldfi_edge_bound(out, 0, bounds);
    out->dims[0] = DIM_VARIES; /* even when all are equally long */
    return MLDF_OK;
}

/* ---- BYTES ------------------------------------------------------------------------------------------------------ */

static mldf_status bytes_encode(void *user, const void *state, const mldf_value *value, uint8_t *record,
                                mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes, mldf_error *err) {
    (void)user, (void)state, (void)record, (void)scratch;
    return pass_through(value, "bytes or text", payload, payload_bytes, err);
}

static mldf_status bytes_decode(void *user, const void *state, const uint8_t *record, const void *payload,
                                uint64_t payload_bytes, mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    (void)user, (void)state, (void)record, (void)scratch, (void)err;
    set_payload(out, MLDF_KIND_BYTES, payload, payload_bytes);
    return MLDF_OK;
}

const struct field_type mldfi_type_bytes = {
    .type = {sizeof(mldf_type), MLDF_BYTES, "bytes", NULL, bind_size64, NULL, bytes_encode, bytes_decode},
    .name = "bytes",
    .argument_names = no_arguments,
    .edge = mldfi_bytes_edge,
    .sizes = SIZES_BYTES,
    .letter = 'b',
};

/* ---- JSON ------------------------------------------------------------------------------------------------------- */

/* The parser counts from the text's first byte; an mldf_error's offset counts in a file. */
static mldf_status validate_json(const void *text, uint64_t bytes, mldf_status bad, mldf_error *err) {
    mldf_error why;
    mldf_status status = mldfi_json_validate_strict(text, (size_t)bytes, &why);
    if (status == MLDF_E_SYNTAX)
        return mldfi_fail(err, bad, "the value is not JSON, at its byte %" PRIu64 ": %s", why.offset, why.message);
    if (status < 0 && err)
        *err = why;
    return status;
}

static mldf_status json_encode(void *user, const void *state, const mldf_value *value, uint8_t *record,
                               mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes, mldf_error *err) {
    (void)user, (void)state, (void)record, (void)scratch;
    TRY(pass_through(value, "JSON text", payload, payload_bytes, err));
    if (value->bytes == 0)
        return mldfi_fail(err, MLDF_E_SYNTAX, "the value is empty, and no JSON text is");
    return validate_json(value->data, value->bytes, MLDF_E_SYNTAX, err);
}

static mldf_status json_decode(void *user, const void *state, const uint8_t *record, const void *payload,
                               uint64_t payload_bytes, mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    (void)user, (void)state, (void)record, (void)scratch;
    set_payload(out, MLDF_KIND_TEXT, payload, payload_bytes);
    if (payload_bytes == 0)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, RECORD_SIZE, "a JSON value of no bytes");
    return MLDF_OK;
}

static mldf_status json_check_deep(const void *state, const uint8_t *record, const void *payload,
                                   uint64_t payload_bytes, mldf_error *err) {
    (void)state, (void)record;
    return validate_json(payload, payload_bytes, MLDF_E_CORRUPT, err);
}

/* The state is the name of the segments that its values are lists for, or NULL. */
static mldf_status json_bind(void *user, const char *arguments, mldf_record_layout *layout, void **state,
                             mldf_error *err) {
    struct json json = {0};
    mldf_status status = bind_size64(user, arguments, layout, state, err);
    *state = NULL;
    if (status >= 0)
        status = mldfi_arguments_parse(&json, arguments, strlen(arguments), err);
    uint32_t at = status >= 0 ? mldfi_json_find(&json, 0, "along") : UINT32_MAX;
    if (at != UINT32_MAX) {
        const struct json_node *name = &json.nodes[at];
        if (name->kind != MLDFI_JSON_STRING || mldfi_name_problem(name->text, (size_t)name->text_bytes))
            status = mldfi_fail(err, MLDF_E_SCHEMA, "argument \"along\" is not the name of a field");
        else if (!(*state = mldfi_copy_text(name->text, (size_t)name->text_bytes, err)))
            status = MLDF_E_MEMORY;
    }
    mldfi_json_free(&json);
    return status;
}

static void json_unbind(void *user, void *state) {
    (void)user;
    free(state);
}

static const char *json_along(const void *state, bool *spans) {
    if (spans)
        *spans = false;
    return state;
}

static const char *const json_arguments[] = {"along", NULL};

const struct field_type mldfi_type_json = {
    .type = {sizeof(mldf_type), MLDF_JSON, "json", NULL, json_bind, json_unbind, json_encode, json_decode},
    .name = "json",
    .ending = "json",
    .along = json_along,
    .argument_names = json_arguments,
    .check_deep = json_check_deep,
    .edge = mldfi_bytes_edge,
    .sizes = SIZES_BYTES,
    .letter = 'b',
};

/* ---- TEXT: {ptr u64, size u32, num_tokens u16 = 0, encoding u8 = 0, zero u8} ------------------------------------ */

static mldf_status validate_utf8(const void *text, uint64_t bytes, mldf_status bad, mldf_error *err) {
    if (bytes == 0)
        return MLDF_OK;
    size_t good = mldfi_utf8_valid_prefix(text, (size_t)bytes);
    if (good != bytes)
        return mldfi_fail(err, bad, "the text is not UTF-8: byte %zu of %" PRIu64 " is 0x%02x", good, bytes,
                          ((const uint8_t *)text)[good]);
    return MLDF_OK;
}

static mldf_status text_encode(void *user, const void *state, const mldf_value *value, uint8_t *record,
                               mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes, mldf_error *err) {
    (void)user, (void)state, (void)record, (void)scratch;
    TRY(pass_through(value, "text", payload, payload_bytes, err));
    if (value->bytes > UINT32_MAX)
        return mldfi_fail(err, MLDF_E_RANGE, "a text of %" PRIu64 " bytes; a text field holds less than 4 GiB",
                          value->bytes);
    return validate_utf8(value->data, value->bytes, MLDF_E_SYNTAX, err);
}

static mldf_status text_decode(void *user, const void *state, const uint8_t *record, const void *payload,
                               uint64_t payload_bytes, mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    (void)user, (void)state, (void)scratch;
    set_payload(out, MLDF_KIND_TEXT, payload, payload_bytes);
    if (record[TEXT_ENCODING] != 0)
        return mldfi_fail_at(err, MLDF_E_FEATURE, TEXT_ENCODING, "text encoding %u is not known; only 0, UTF-8, is",
                             record[TEXT_ENCODING]);
    return MLDF_OK;
}

static mldf_status text_check_deep(const void *state, const uint8_t *record, const void *payload,
                                   uint64_t payload_bytes, mldf_error *err) {
    (void)state, (void)record;
    return validate_utf8(payload, payload_bytes, MLDF_E_CORRUPT, err);
}

const struct field_type mldfi_type_text = {
    .type = {sizeof(mldf_type), MLDF_TEXT, "text", NULL, bind_size32, NULL, text_encode, text_decode},
    .name = "text",
    .ending = "txt",
    .argument_names = no_arguments,
    .check_deep = text_check_deep,
    .edge = mldfi_bytes_edge,
    .sizes = SIZES_BYTES,
    .letter = 'b',
};
