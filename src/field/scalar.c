/* INT and FLOAT: the value is the record. An INT's arguments say which width it came from, so that a reader can give
 * back the same dtype; a value outside that width is refused. bytes.c is the next type to read. */
#include <inttypes.h>
#include <stdlib.h>

#include "field/edge.h"
#include "field/type.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

/* ---- INT -------------------------------------------------------------------------------------------------------- */

struct int_state {
    mldf_dtype dtype;
    int64_t least;
    uint64_t most;
};

static const struct int_state int_states[] = {
    {MLDF_BOOL, 0, 1},         {MLDF_I8, INT8_MIN, INT8_MAX},
    {MLDF_U8, 0, UINT8_MAX},   {MLDF_I16, INT16_MIN, INT16_MAX},
    {MLDF_U16, 0, UINT16_MAX}, {MLDF_I32, INT32_MIN, INT32_MAX},
    {MLDF_U32, 0, UINT32_MAX}, {MLDF_I64, INT64_MIN, INT64_MAX},
    {MLDF_U64, 0, UINT64_MAX},
};

/* The dtype that the arguments name, i64 when they name none. */
static mldf_status int_dtype(const struct json *json, mldf_dtype *out, mldf_error *err) {
    uint32_t at = mldfi_json_find(json, 0, "dtype");
    *out = MLDF_I64;
    if (at == UINT32_MAX)
        return MLDF_OK;
    *out = MLDF_DTYPE_NONE;
    if (json->nodes[at].kind == MLDFI_JSON_STRING)
        *out = mldf_dtype_parse(json->nodes[at].text, (size_t)json->nodes[at].text_bytes);
    if (*out < MLDF_BOOL || *out > MLDF_U64)
        return mldfi_fail(err, MLDF_E_SCHEMA,
                          "argument \"dtype\": an int is one of |b1 |i1 |u1 <i2 <u2 <i4 <u4 <i8 <u8");
    return MLDF_OK;
}

static mldf_status int_bind(void *user, const char *arguments, mldf_record_layout *layout, void **state,
                            mldf_error *err) {
    struct json json = {0};
    mldf_dtype dtype = MLDF_DTYPE_NONE;
    (void)user;
    mldf_status status = mldfi_arguments_parse(&json, arguments, strlen(arguments), err);
    if (status == MLDF_OK)
        status = int_dtype(&json, &dtype, err);
    mldfi_json_free(&json);
    if (status < 0)
        return status;
    struct int_state *copy = mldfi_alloc(sizeof *copy, err);
    if (!copy)
        return MLDF_E_MEMORY;
    *copy = int_states[dtype - MLDF_BOOL];
    *state = copy;
    *layout = (mldf_record_layout){8, 8, 0, false};
    return MLDF_OK;
}

static void int_unbind(void *user, void *state) {
    (void)user;
    free(state);
}

static mldf_status int_canonical(const struct json *json, mldf_buffer *out, mldf_error *err) {
    mldf_dtype dtype;
    TRY(int_dtype(json, &dtype, err));
    if (dtype == MLDF_I64)
        return mldfi_buffer_append_text(out, "{}", err);
    return mldfi_buffer_printf(out, err, "{\"dtype\":\"%s\"}", mldf_dtype_name(dtype));
}

static bool int_holds(const struct int_state *state, bool negative, uint64_t bits) {
    return negative ? (int64_t)bits >= state->least : bits <= state->most;
}

static mldf_status int_encode(void *user, const void *state, const mldf_value *value, uint8_t *record,
                              mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes, mldf_error *err) {
    const struct int_state *s = state;
    (void)user, (void)scratch;
    *payload = NULL;
    *payload_bytes = 0;
    if (value->kind != MLDF_KIND_INT && value->kind != MLDF_KIND_UINT)
        return mldfi_wrong_kind(value, "an integer", err);
    bool negative = value->kind == MLDF_KIND_INT && value->as.i < 0;
    uint64_t bits = value->kind == MLDF_KIND_INT ? (uint64_t)value->as.i : value->as.u;
    if (!int_holds(s, negative, bits))
        return mldfi_fail(err, MLDF_E_RANGE, "%s%" PRIu64 " is outside %s, which holds %" PRId64 " to %" PRIu64,
                          negative ? "-" : "", negative ? 0 - bits : bits, mldf_dtype_name(s->dtype), s->least,
                          s->most);
    mldfi_store_u64(record, bits);
    return MLDF_OK;
}

static mldf_status int_decode(void *user, const void *state, const uint8_t *record, const void *payload,
                              uint64_t payload_bytes, mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    const struct int_state *s = state;
    uint64_t bits = mldfi_load_u64(record);
    (void)user, (void)payload, (void)payload_bytes, (void)scratch;
    memset(out, 0, sizeof *out);
    out->dtype = s->dtype;
    if (s->dtype == MLDF_U64) {
        out->kind = MLDF_KIND_UINT;
        out->as.u = bits;
        return MLDF_OK;
    }
    out->kind = MLDF_KIND_INT;
    out->as.i = (int64_t)bits;
    if (!int_holds(s, out->as.i < 0, bits))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, 0, "the record holds %" PRId64 ", which is outside %s", out->as.i,
                             mldf_dtype_name(s->dtype));
    return MLDF_OK;
}

/* ---- INT of 1.0 files ------------------------------------------------------------------------------------------- */

/* Writers of the draft stored small integers in records of 1, 2 or 4 bytes. Such a field is an INT of that dtype; what is copied from it is an
 * INT as this version writes it. */
static mldf_status draft_int_bind(void *user, const char *arguments, mldf_record_layout *layout, void **state,
                                  mldf_error *err) {
    mldf_status status = int_bind(user, arguments, layout, state, err);
    if (status == MLDF_OK)
        layout->record_bytes = layout->record_align =
            (uint16_t)mldf_dtype_bytes(((const struct int_state *)*state)->dtype);
    return status;
}

static mldf_status draft_int_decode(void *user, const void *state, const uint8_t *record, const void *payload,
                                    uint64_t payload_bytes, mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    mldf_dtype dtype = ((const struct int_state *)state)->dtype;
    (void)user, (void)payload, (void)payload_bytes, (void)scratch, (void)err;
    memset(out, 0, sizeof *out);
    out->dtype = dtype;
    out->kind = MLDF_KIND_INT;
    if (dtype == MLDF_I8)
        out->as.i = (int8_t)record[0];
    else if (dtype == MLDF_I16)
        out->as.i = (int16_t)mldfi_load_u16(record);
    else
        out->as.i = (int32_t)mldfi_load_u32(record);
    return MLDF_OK;
}

static void int_observe(const void *state, const uint8_t *record, struct observation *out) {
    const struct int_state *s = state;
    memset(out, 0, sizeof *out);
    out->number_kind = s->dtype == MLDF_U64 ? 2 : 1;
    out->number.u = mldfi_load_u64(record);
}

static void int_describe(const void *state, mldf_field *info) {
    info->dtype = ((const struct int_state *)state)->dtype;
}

static mldf_status int_edge(const struct schema_field *field, const struct value_bounds *bounds, struct edge *out,
                            mldf_error *err) {
    (void)bounds, (void)err;
    out->dtype = field->info.dtype != MLDF_DTYPE_NONE ? field->info.dtype : MLDF_I64;
    return MLDF_OK;
}

static const char *const int_arguments[] = {"dtype", NULL};

const struct field_type mldfi_type_int = {
    .type = {sizeof(mldf_type), MLDF_INT, "int", NULL, int_bind, int_unbind, int_encode, int_decode},
    .name = "int",
    .ending = "",
    .observe = int_observe,
    .describe = int_describe,
    .argument_names = int_arguments,
    .canonical = int_canonical,
    .edge = int_edge,
    .letter = 'i',
};

const struct field_type mldfi_type_draft_int = {
    .type = {sizeof(mldf_type), MLDF_INT, "int", NULL, draft_int_bind, int_unbind, int_encode, draft_int_decode},
    .name = "int",
    .ending = "",
    .describe = int_describe,
    .argument_names = int_arguments,
    .canonical = int_canonical,
    .edge = int_edge,
    .letter = 'i',
};

/* ---- FLOAT ------------------------------------------------------------------------------------------------------ */

static mldf_status float_bind(void *user, const char *arguments, mldf_record_layout *layout, void **state,
                              mldf_error *err) {
    (void)user, (void)arguments, (void)state, (void)err;
    *layout = (mldf_record_layout){8, 8, 0, false};
    return MLDF_OK;
}

/* An integer is exact in a double when at most 53 bits lie between its highest and its lowest. */
static bool is_exact(uint64_t magnitude) {
    while (magnitude && !(magnitude & 1))
        magnitude >>= 1;
    return magnitude <= UINT64_C(1) << 53;
}

static mldf_status float_encode(void *user, const void *state, const mldf_value *value, uint8_t *record,
                                mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes, mldf_error *err) {
    (void)user, (void)state, (void)scratch;
    *payload = NULL;
    *payload_bytes = 0;
    switch (value->kind) {
    case MLDF_KIND_FLOAT:
        mldfi_store_f64(record, value->as.f);
        return MLDF_OK;
    case MLDF_KIND_INT:
        if (!is_exact(value->as.i < 0 ? 0 - (uint64_t)value->as.i : (uint64_t)value->as.i))
            return mldfi_fail(err, MLDF_E_RANGE, "the integer %" PRId64 " is not exact as a 64-bit float", value->as.i);
        mldfi_store_f64(record, (double)value->as.i);
        return MLDF_OK;
    case MLDF_KIND_UINT:
        if (!is_exact(value->as.u))
            return mldfi_fail(err, MLDF_E_RANGE, "the integer %" PRIu64 " is not exact as a 64-bit float", value->as.u);
        mldfi_store_f64(record, (double)value->as.u);
        return MLDF_OK;
    default:
        return mldfi_wrong_kind(value, "a number", err);
    }
}

static mldf_status float_decode(void *user, const void *state, const uint8_t *record, const void *payload,
                                uint64_t payload_bytes, mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    (void)user, (void)state, (void)payload, (void)payload_bytes, (void)scratch, (void)err;
    memset(out, 0, sizeof *out);
    out->kind = MLDF_KIND_FLOAT;
    out->dtype = MLDF_F64;
    out->as.f = mldfi_load_f64(record);
    return MLDF_OK;
}

static void float_observe(const void *state, const uint8_t *record, struct observation *out) {
    (void)state;
    memset(out, 0, sizeof *out);
    out->number_kind = 3;
    out->number.f = mldfi_load_f64(record);
}

static mldf_status float_edge(const struct schema_field *field, const struct value_bounds *bounds, struct edge *out,
                              mldf_error *err) {
    (void)field, (void)bounds, (void)err;
    out->dtype = MLDF_F64;
    return MLDF_OK;
}

static const char *const no_arguments[] = {NULL};

const struct field_type mldfi_type_float = {
    .type = {sizeof(mldf_type), MLDF_FLOAT, "float", NULL, float_bind, NULL, float_encode, float_decode},
    .name = "float",
    .ending = "",
    .observe = float_observe,
    .argument_names = no_arguments,
    .edge = float_edge,
    .letter = 'f',
};
