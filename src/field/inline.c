/* INLINE: a small array or struct that stands in the row itself, laid out as NumPy's descr says (descr.c). The bytes of
 * the value are the record; nothing is converted, and what is read points into the row. */
#include <inttypes.h>
#include <stdlib.h>

#include "field/descr.h"
#include "field/edge.h"
#include "field/type.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { LAST_CHARACTER = 0x10FFFF };

static mldf_status parse_arguments(const struct json *json, bool from_caller, struct descr *descr, mldf_error *err) {
    uint32_t at = mldfi_json_find(json, 0, "descr");
    if (at == UINT32_MAX)
        return mldfi_fail(err, MLDF_E_SCHEMA,
                          "an inline field needs the argument \"descr\", a list of [name, type, shape]");
    return mldfi_descr_parse(json, at, from_caller, descr, err);
}

static void inline_unbind(void *user, void *state) {
    (void)user;
    if (state)
        mldfi_descr_free(state);
    free(state);
}

static uint64_t member_bytes(const struct descr *descr) {
    uint64_t all = 0;
    for (size_t i = 0; i < descr->leaf_count; i++) {
        uint64_t one = descr->leaves[i].itemsize;
        for (uint32_t k = 0; k < descr->leaves[i].ndim; k++)
            one *= descr->leaves[i].dims[k];
        all += one;
    }
    return all;
}

static mldf_status inline_bind(void *user, const char *arguments, mldf_record_layout *layout, void **state,
                               mldf_error *err) {
    struct json json = {0};
    struct descr *descr = mldfi_alloc_zero(1, sizeof *descr, err);
    if (!descr)
        return MLDF_E_MEMORY;
    mldf_status status = mldfi_arguments_parse(&json, arguments, strlen(arguments), err);
    if (status == MLDF_OK)
        status = parse_arguments(&json, false, descr, err);
    mldfi_json_free(&json);
    if (status < 0) {
        inline_unbind(user, descr);
        return status;
    }
    descr->padded = member_bytes(descr) != descr->itemsize;
    *layout = (mldf_record_layout){descr->itemsize, descr->align, 0, false};
    *state = descr;
    return MLDF_OK;
}

static mldf_status inline_canonical(const struct json *json, mldf_buffer *out, mldf_error *err) {
    struct descr descr = {0};
    mldf_status status = parse_arguments(json, true, &descr, err);
    mldfi_descr_free(&descr);
    if (status == MLDF_OK)
        status = mldfi_buffer_append_text(out, "{\"descr\":", err);
    if (status == MLDF_OK)
        status = mldfi_descr_write(json, mldfi_json_find(json, 0, "descr"), out, err);
    return status == MLDF_OK ? mldfi_buffer_append_text(out, "}", err) : status;
}

/* ---- Values ----------------------------------------------------------------------------------------------------- */

/* An array for a user: one member without a name, of numbers. */
static const struct descr_leaf *bare_array(const struct descr *descr) {
    return descr->bare && descr->leaves[0].dtype != MLDF_DTYPE_NONE ? &descr->leaves[0] : NULL;
}

static mldf_status check_array(const struct descr *descr, const mldf_value *value, mldf_error *err) {
    const struct descr_leaf *leaf = bare_array(descr);
    if (!leaf)
        return mldfi_wrong_kind(value, "a struct or its bytes", err);
    if (value->dtype != MLDF_DTYPE_NONE && value->dtype != leaf->dtype)
        return mldfi_fail(err, MLDF_E_TYPE, "an array of %s, and the field holds %s", mldf_dtype_name(value->dtype),
                          mldf_dtype_name(leaf->dtype));
    if (value->ndim != leaf->ndim)
        return mldfi_fail(err, MLDF_E_TYPE, "an array of %" PRIu32 " dimensions, and the field's have %" PRIu32,
                          value->ndim, leaf->ndim);
    for (uint32_t i = 0; i < leaf->ndim; i++)
        if (value->dims[i] != leaf->dims[i])
            return mldfi_fail(err, MLDF_E_TYPE, "dimension %" PRIu32 " is %" PRIu64 ", and the field's is %" PRIu32, i,
                              value->dims[i], leaf->dims[i]);
    return MLDF_OK;
}

/* All elements of a leaf, in order, without recursion: an index for each dimension, zeros at first. */
static uint32_t element(const struct descr_leaf *leaf, const uint32_t *index) {
    uint32_t offset = leaf->offset;
    for (uint32_t i = 0; i < leaf->ndim; i++)
        offset += index[i] * leaf->strides[i];
    return offset;
}

static bool next_element(const struct descr_leaf *leaf, uint32_t *index) {
    uint32_t k = leaf->ndim;
    while (k > 0 && ++index[k - 1] == leaf->dims[k - 1])
        index[--k] = 0;
    return k > 0;
}

static bool unicode_is_valid(const struct descr_leaf *leaf, const uint8_t *record) {
    uint32_t index[MLDF_MAX_DIMS] = {0};
    do {
        uint32_t offset = element(leaf, index);
        for (uint32_t i = 0; i < leaf->itemsize; i += 4)
            if (mldfi_load_u32(record + offset + i) > LAST_CHARACTER)
                return false;
    } while (next_element(leaf, index));
    return true;
}

/* The members alone: what a program has between them is whatever was in its memory, and none of the file's business. */
static void copy_members(const struct descr *descr, uint8_t *record, const uint8_t *from) {
    memset(record, 0, descr->itemsize);
    for (size_t i = 0; i < descr->leaf_count; i++) {
        const struct descr_leaf *leaf = &descr->leaves[i];
        uint32_t index[MLDF_MAX_DIMS] = {0};
        do {
            uint32_t offset = element(leaf, index);
            memcpy(record + offset, from + offset, leaf->itemsize);
        } while (next_element(leaf, index));
    }
}

static mldf_status check_unicode(const struct descr *descr, const uint8_t *record, mldf_status bad, mldf_error *err) {
    for (size_t i = 0; i < descr->leaf_count; i++) {
        const struct descr_leaf *leaf = &descr->leaves[i];
        if (leaf->unicode && !unicode_is_valid(leaf, record))
            return mldfi_fail_at(err, bad, bad == MLDF_E_CORRUPT ? 0 : MLDF_NONE,
                                 "member \"%.*s\" holds a character above U+10FFFF", (int)leaf->path_bytes,
                                 descr->paths.data ? (const char *)descr->paths.data + leaf->path_at : "");
    }
    return MLDF_OK;
}

static mldf_status inline_encode(void *user, const void *state, const mldf_value *value, uint8_t *record,
                                 mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes, mldf_error *err) {
    const struct descr *descr = state;
    mldf_status status = MLDF_OK;
    (void)user, (void)scratch;
    *payload = NULL;
    *payload_bytes = 0;
    if (value->kind == MLDF_KIND_ARRAY)
        status = check_array(descr, value, err);
    else if (value->kind != MLDF_KIND_STRUCT && value->kind != MLDF_KIND_BYTES)
        status = mldfi_wrong_kind(value, bare_array(descr) ? "an array or its bytes" : "a struct or its bytes", err);
    if (status == MLDF_OK)
        status = mldfi_check_data(value, err);
    if (status < 0)
        return status;
    if (value->bytes != descr->itemsize)
        return mldfi_fail(err, MLDF_E_RANGE, "%" PRIu64 " bytes, and the field's records have %" PRIu32, value->bytes,
                          descr->itemsize);
    status = check_unicode(descr, value->data, MLDF_E_RANGE, err);
    if (status == MLDF_OK && descr->padded)
        copy_members(descr, record, value->data);
    else if (status == MLDF_OK)
        memcpy(record, value->data, descr->itemsize);
    return status;
}

static mldf_status inline_decode(void *user, const void *state, const uint8_t *record, const void *payload,
                                 uint64_t payload_bytes, mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    const struct descr *descr = state;
    const struct descr_leaf *leaf = bare_array(descr);
    (void)user, (void)payload, (void)payload_bytes, (void)scratch, (void)err;
    memset(out, 0, sizeof *out);
    out->kind = leaf ? MLDF_KIND_ARRAY : MLDF_KIND_STRUCT;
    out->data = record;
    out->bytes = descr->itemsize;
    if (!leaf)
        return MLDF_OK;
    out->dtype = leaf->dtype;
    out->ndim = leaf->ndim;
    for (uint32_t i = 0; i < leaf->ndim; i++)
        out->dims[i] = leaf->dims[i];
    return MLDF_OK;
}

static mldf_status inline_check_deep(const void *state, const uint8_t *record, const void *payload,
                                     uint64_t payload_bytes, mldf_error *err) {
    (void)payload, (void)payload_bytes;
    return check_unicode(state, record, MLDF_E_CORRUPT, err);
}

static void inline_describe(const void *state, mldf_field *info) {
    const struct descr_leaf *leaf = bare_array(state);
    if (!leaf)
        return;
    info->dtype = leaf->dtype;
    info->ndim = leaf->ndim;
    for (uint32_t i = 0; i < leaf->ndim; i++)
        info->dims[i] = leaf->dims[i];
}

static mldf_status inline_edge(const struct schema_field *field, const struct value_bounds *bounds, struct edge *out,
                               mldf_error *err) {
    if (field->info.dtype == MLDF_DTYPE_NONE)
        return mldfi_fail(err, MLDF_E_TYPE, "%s is a struct: name one of its members", field->name);
    return mldfi_array_edge(field, bounds, out, err);
}

mldf_status mldfi_inline_member(const void *state, size_t index, mldf_member *out, mldf_error *err) {
    const struct descr *descr = state;
    if (!descr || !out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_field_member: %s is NULL", descr ? "out" : "the field");
    if (index >= descr->leaf_count)
        return MLDF_END;
    const struct descr_leaf *leaf = &descr->leaves[index];
    memset(out, 0, sizeof *out);
    memcpy(out->path, descr->paths.data + leaf->path_at, leaf->path_bytes);
    memcpy(out->type, descr->paths.data + leaf->type_at, leaf->type_bytes);
    out->dtype = leaf->dtype;
    out->offset = leaf->offset;
    out->itemsize = leaf->itemsize;
    out->ndim = leaf->ndim;
    memcpy(out->dims, leaf->dims, sizeof out->dims);
    memcpy(out->strides, leaf->strides, sizeof out->strides);
    return MLDF_OK;
}

static const char *const inline_arguments[] = {"descr", NULL};

const struct field_type mldfi_type_inline = {
    .type = {sizeof(mldf_type), MLDF_INLINE, "inline", NULL, inline_bind, inline_unbind, inline_encode, inline_decode},
    .name = "inline",
    .ending = "",
    .describe = inline_describe,
    .argument_names = inline_arguments,
    .canonical = inline_canonical,
    .check_deep = inline_check_deep,
    .edge = inline_edge,
    .letter = 's',
};
