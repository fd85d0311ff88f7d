/* NDARRAY: an array in C order as payload. The arguments fix dtype and number of dimensions; dimensions that vary
 * (null) make the record carry all of them:
 *
 *     0 ptr u64 · 8 size u64 [· 16 dims u32[ndim] · zeros to a multiple of 8]
 *
 * Bytes and shape must agree exactly, when written and when read. inline.c has those in the row. */
#include <inttypes.h>
#include <stdlib.h>

#include "field/edge.h"
#include "field/type.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { RECORD_SIZE = 8, RECORD_DIMS = 16 }; /* places in a record */

struct ndarray_state {
    mldf_dtype dtype;
    uint32_t ndim;
    int64_t dims[MLDF_MAX_DIMS]; /* -1: varies */
    bool varies;
    bool too_large;                /* no value fits: more than 2^64 bytes */
    uint64_t fixed_bytes;          /* of every value, when nothing varies */
    char along[MLDF_NAME_MAX + 1]; /* the token field of a side column; "": none */
    bool spans;
};

bool mldfi_array_bytes(const uint64_t *dims, uint32_t ndim, mldf_dtype dtype, uint64_t *out) {
    for (uint32_t i = 0; i < ndim; i++) {
        if (dims[i] == 0) {
            *out = 0;
            return true;
        }
    }
    *out = mldf_dtype_bytes(dtype);
    for (uint32_t i = 0; i < ndim; i++)
        if (!mldfi_mul_u64(*out, dims[i], out))
            return false;
    return true;
}

static mldf_status parse_dtype(const struct json *json, mldf_dtype *out, mldf_error *err) {
    uint32_t at = mldfi_json_find(json, 0, "dtype");
    if (at == UINT32_MAX)
        return mldfi_fail(err, MLDF_E_SCHEMA, "an ndarray needs the argument \"dtype\"");
    *out = MLDF_DTYPE_NONE;
    if (json->nodes[at].kind == MLDFI_JSON_STRING)
        *out = mldf_dtype_parse(json->nodes[at].text, (size_t)json->nodes[at].text_bytes);
    if (*out == MLDF_DTYPE_NONE)
        return mldfi_fail(
            err, MLDF_E_SCHEMA,
            "argument \"dtype\" is not one of |b1 |i1 |u1 <i2 <u2 <i4 <u4 <i8 <u8 <f2 <f4 <f8 <c8 <c16 bfloat16");
    return MLDF_OK;
}

static mldf_status parse_along(const struct json *json, struct ndarray_state *s, mldf_error *err) {
    uint32_t at = mldfi_json_find(json, 0, "along"), form = mldfi_json_find(json, 0, "form");
    if (at == UINT32_MAX && form == UINT32_MAX)
        return MLDF_OK;
    if (at == UINT32_MAX)
        return mldfi_fail(err, MLDF_E_SCHEMA,
                          "argument \"form\" is for side columns, which have the argument \"along\" too");
    const struct json_node *name = &json->nodes[at];
    if (name->kind != MLDFI_JSON_STRING || mldfi_name_problem(name->text, (size_t)name->text_bytes))
        return mldfi_fail(err, MLDF_E_SCHEMA, "argument \"along\" is not the name of a field");
    memcpy(s->along, name->text, (size_t)name->text_bytes);
    s->spans = form != UINT32_MAX && mldfi_json_is_text(json, form, "spans");
    if (form != UINT32_MAX && !s->spans && !mldfi_json_is_text(json, form, "dense"))
        return mldfi_fail(err, MLDF_E_SCHEMA, "argument \"form\" is neither \"dense\" nor \"spans\"");
    if (!s->spans && (s->ndim < 1 || s->dims[0] >= 0))
        return mldfi_fail(err, MLDF_E_SCHEMA, "a side column has an entry for each token: its shape begins with null");
    bool integers = s->dtype >= MLDF_I8 && s->dtype <= MLDF_U64;
    if (s->spans && (!integers || s->ndim != 2 || s->dims[0] >= 0 || s->dims[1] != 2))
        return mldfi_fail(err, MLDF_E_SCHEMA, "spans are integers of shape [null,2]: begin and end of each");
    return MLDF_OK;
}

static mldf_status parse_arguments(const struct json *json, void *state, mldf_error *err) {
    struct ndarray_state *s = state;
    uint64_t dims[MLDF_MAX_DIMS] = {0};
    TRY(parse_dtype(json, &s->dtype, err));
    uint32_t at = mldfi_json_find(json, 0, "shape");
    if (at == UINT32_MAX)
        return mldfi_fail(err, MLDF_E_SCHEMA, "an ndarray needs the argument \"shape\", a list of integers and nulls");
    TRY(mldfi_shape_parse(json, at, true, 0, s->dims, &s->ndim, err));
    for (uint32_t i = 0; i < s->ndim; i++) {
        if (s->dims[i] > (int64_t)UINT32_MAX)
            return mldfi_fail(err, MLDF_E_SCHEMA,
                              "dimension %" PRIu32 " of the shape is %" PRId64 ", more than 2^32 - 1", i, s->dims[i]);
        s->varies = s->varies || s->dims[i] < 0;
        dims[i] = s->dims[i] < 0 ? 1 : (uint64_t)s->dims[i];
    }
    s->too_large = !s->varies && !mldfi_array_bytes(dims, s->ndim, s->dtype, &s->fixed_bytes);
    return parse_along(json, s, err);
}

static mldf_status ndarray_bind(void *user, const char *arguments, mldf_record_layout *layout, void **state,
                                mldf_error *err) {
    (void)user;
    TRY(mldfi_arguments_bind(arguments, sizeof(struct ndarray_state), parse_arguments, state, err));
    const struct ndarray_state *s = *state;
    uint32_t record_bytes = RECORD_DIMS + (s->varies ? (4 * s->ndim + 7) / 8 * 8 : 0);
    *layout = (mldf_record_layout){record_bytes, 8, MLDF_FIELD_SIZE64, true};
    return MLDF_OK;
}

static void ndarray_unbind(void *user, void *state) {
    (void)user;
    free(state);
}

static mldf_status check_shape(const struct ndarray_state *s, const mldf_value *value, mldf_error *err) {
    char text[256];
    if (value->dtype != MLDF_DTYPE_NONE && value->dtype != s->dtype)
        return mldfi_fail(err, MLDF_E_TYPE, "an array of %s, and the field holds %s", mldf_dtype_name(value->dtype),
                          mldf_dtype_name(s->dtype));
    if (value->ndim != s->ndim)
        return mldfi_fail(err, MLDF_E_TYPE, "an array of %" PRIu32 " dimensions, and the field's shape is %s",
                          value->ndim, mldfi_shape_text(text, s->dims, s->ndim));
    for (uint32_t i = 0; i < s->ndim; i++) {
        if (s->dims[i] >= 0 && value->dims[i] != (uint64_t)s->dims[i])
            return mldfi_fail(err, MLDF_E_TYPE, "dimension %" PRIu32 " is %" PRIu64 ", and the field's shape is %s", i,
                              value->dims[i], mldfi_shape_text(text, s->dims, s->ndim));
        if (value->dims[i] > UINT32_MAX)
            return mldfi_fail(err, MLDF_E_RANGE,
                              "dimension %" PRIu32 " is %" PRIu64 ", more than a record holds (2^32 - 1)", i,
                              value->dims[i]);
    }
    return MLDF_OK;
}

static mldf_status ndarray_encode(void *user, const void *state, const mldf_value *value, uint8_t *record,
                                  mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes,
                                  mldf_error *err) {
    const struct ndarray_state *s = state;
    uint64_t wanted = s->fixed_bytes;
    mldf_status status = MLDF_OK;
    (void)user, (void)scratch;
    *payload = NULL;
    *payload_bytes = 0;
    if (value->kind == MLDF_KIND_ARRAY) {
        status = check_shape(s, value, err);
        if (status == MLDF_OK && !s->too_large && !mldfi_array_bytes(value->dims, s->ndim, s->dtype, &wanted))
            status = mldfi_fail(err, MLDF_E_RANGE, "the dimensions make an array of more than 2^64 bytes");
    } else if (value->kind != MLDF_KIND_BYTES || s->varies) {
        status = mldfi_wrong_kind(value, s->varies ? "an array" : "an array or its bytes", err);
    }
    if (status == MLDF_OK && s->too_large)
        status = mldfi_fail(err, MLDF_E_RANGE, "the field's shape makes arrays of more than 2^64 bytes");
    if (status == MLDF_OK)
        status = mldfi_check_data(value, err);
    if (status < 0)
        return status;
    if (value->bytes != wanted)
        return mldfi_fail(err, MLDF_E_RANGE, "%" PRIu64 " bytes, and shape and dtype %s need %" PRIu64, value->bytes,
                          mldf_dtype_name(s->dtype), wanted);
    for (uint32_t i = 0; s->varies && i < s->ndim; i++)
        mldfi_store_u32(record + RECORD_DIMS + 4 * i, (uint32_t)value->dims[i]);
    *payload = value->data;
    *payload_bytes = value->bytes;
    return MLDF_OK;
}

static mldf_status ndarray_decode(void *user, const void *state, const uint8_t *record, const void *payload,
                                  uint64_t payload_bytes, mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    const struct ndarray_state *s = state;
    uint64_t wanted = s->fixed_bytes;
    (void)user, (void)scratch;
    memset(out, 0, sizeof *out);
    out->kind = MLDF_KIND_ARRAY;
    out->dtype = s->dtype;
    out->data = payload;
    out->bytes = payload_bytes;
    out->ndim = s->ndim;
    for (uint32_t i = 0; i < s->ndim; i++) {
        out->dims[i] = s->varies ? mldfi_load_u32(record + RECORD_DIMS + 4 * i) : (uint64_t)s->dims[i];
        if (s->dims[i] >= 0 && out->dims[i] != (uint64_t)s->dims[i])
            return mldfi_fail_at(err, MLDF_E_CORRUPT, RECORD_DIMS + 4 * i,
                                 "dimension %" PRIu32 " is %" PRIu64 " in the record and %" PRId64
                                 " in the field's shape",
                                 i, out->dims[i], s->dims[i]);
    }
    bool fits = s->varies ? mldfi_array_bytes(out->dims, s->ndim, s->dtype, &wanted) : !s->too_large;
    if (!fits || wanted != payload_bytes)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, RECORD_SIZE,
                             "%" PRIu64 " bytes, and shape and dtype %s need %s%" PRIu64, payload_bytes,
                             mldf_dtype_name(s->dtype), fits ? "" : "more than ", fits ? wanted : UINT64_MAX);
    return MLDF_OK;
}

static void ndarray_observe(const void *state, const uint8_t *record, struct observation *out) {
    const struct ndarray_state *s = state;
    memset(out, 0, sizeof *out);
    out->ndim = s->ndim;
    for (uint32_t i = 0; i < s->ndim; i++) {
        out->dims[i] = s->varies ? mldfi_load_u32(record + RECORD_DIMS + 4 * i) : (uint32_t)s->dims[i];
    }
}

static void ndarray_describe(const void *state, mldf_field *info) {
    const struct ndarray_state *s = state;
    info->dtype = s->dtype;
    info->ndim = s->ndim;
    memcpy(info->dims, s->dims, sizeof info->dims);
}

mldf_status mldfi_array_edge(const struct schema_field *field, const struct value_bounds *bounds, struct edge *out,
                             mldf_error *err) {
    const mldf_field *info = &field->info;
    (void)err;
    out->kind = VALUE_ARRAY;
    out->dtype = info->dtype;
    out->ndim = info->ndim;
    for (uint32_t i = 0; i < info->ndim && i < MLDF_MAX_DIMS; i++) {
        if (info->dims[i] >= 0)
            mldfi_edge_fix(out, i, info->dims[i]);
        else
            mldfi_edge_bound(out, i, bounds);
    }
    return MLDF_OK;
}

static bool ndarray_steps(const struct schema_field *field, const uint8_t *record, struct field_steps *out) {
    const struct ndarray_state *s = field->state;
    *out = (struct field_steps){0, 0};
    if (s->ndim)
        out->steps = s->varies ? mldfi_load_u32(record + RECORD_DIMS) : (uint64_t)s->dims[0];
    return s->ndim != 0;
}

static const char *ndarray_along(const void *state, bool *spans) {
    const struct ndarray_state *s = state;
    if (spans)
        *spans = s->spans;
    return s->along[0] ? s->along : NULL;
}

static const char *const ndarray_arguments[] = {"along", "dtype", "form", "shape", NULL};

const struct field_type mldfi_type_ndarray = {
    .type = {sizeof(mldf_type), MLDF_NDARRAY, "ndarray", NULL, ndarray_bind, ndarray_unbind, ndarray_encode,
             ndarray_decode},
    .name = "ndarray",
    .ending = "npy",
    .observe = ndarray_observe,
    .along = ndarray_along,
    .describe = ndarray_describe,
    .argument_names = ndarray_arguments,
    .edge = mldfi_array_edge,
    .steps = ndarray_steps,
    .sizes = SIZES_DIMS,
    .letter = 'a',
};
