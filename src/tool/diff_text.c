/* How two values differ, in words: the values themselves where they are short, the first element or byte that differs where they are not. The
 * comparison itself is diff_value.c's. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tool/diff_value.h"
#include "tool/element.h"
#include "util/bytes.h"

enum { SMALL = 8 };

static void element_text(mldf_dtype dtype, const uint8_t *at, char out[32]) {
    mldf_value value;
    if (!mldfi_element(dtype, at, &value))
        snprintf(out, 32, "?"); /* complex */
    else if (dtype == MLDF_BOOL)
        snprintf(out, 32, "%s", value.as.i ? "true" : "false");
    else if (value.kind == MLDF_KIND_FLOAT)
        snprintf(out, 32, "%.9g", value.as.f);
    else if (value.kind == MLDF_KIND_UINT)
        snprintf(out, 32, "%" PRIu64, value.as.u);
    else
        snprintf(out, 32, "%" PRId64, value.as.i);
}

static bool same_shape(const mldf_value *x, const mldf_value *y) {
    bool same = x->kind == y->kind && x->dtype == y->dtype && x->ndim == y->ndim && x->bytes == y->bytes;
    for (uint32_t i = 0; same && i < x->ndim; i++)
        same = x->dims[i] == y->dims[i];
    return same;
}

/* "[2,0]" of element number i. */
static void index_text(const mldf_value *v, uint64_t i, char *out, size_t room) {
    uint64_t index[MLDF_MAX_DIMS];
    for (uint32_t d = v->ndim; d-- > 0; i /= v->dims[d] ? v->dims[d] : 1)
        index[d] = v->dims[d] ? i % v->dims[d] : 0;
    size_t used = (size_t)snprintf(out, room, "[");
    for (uint32_t d = 0; d < v->ndim && used + 24 < room; d++)
        used += (size_t)snprintf(out + used, room - used, "%s%" PRIu64, d ? "," : "", index[d]);
    snprintf(out + used, room - used, "]");
}

static void list_text(const mldf_value *v, char *out, size_t room) {
    size_t item = mldf_dtype_bytes(v->dtype), used = (size_t)snprintf(out, room, "[");
    for (uint64_t at = 0; at + item <= v->bytes && used + 34 < room; at += item) {
        char one[32];
        element_text(v->dtype, (const uint8_t *)v->data + at, one);
        used += (size_t)snprintf(out + used, room - used, "%s%s", at ? "," : "", one);
    }
    snprintf(out + used, room - used, "]");
}

/* Two arrays of one shape. The count is of elements whose bytes differ. */
static void array_difference(const mldf_value *x, const mldf_value *y, char *out, size_t room) {
    const uint8_t *a = x->data, *b = y->data;
    size_t item = mldf_dtype_bytes(x->dtype);
    uint64_t count = x->bytes / item, first = MLDF_NONE, different = 0;
    char place[160], left[320], right[320];
    for (uint64_t i = 0; i < count; i++)
        if (memcmp(a + i * item, b + i * item, item) != 0) {
            first = first == MLDF_NONE ? i : first;
            different++;
        }
    if (first == MLDF_NONE)
        return;
    index_text(x, first, place, sizeof place);
    if (count <= SMALL) {
        list_text(x, left, sizeof left);
        list_text(y, right, sizeof right);
    } else {
        element_text(x->dtype, a + first * item, left);
        element_text(x->dtype, b + first * item, right);
    }
    snprintf(out, room,
             "%s in the first file, %s in the second; %" PRIu64 " of %" PRIu64 " elements differ, the first at %s",
             left, right, different, count, place);
}

static void bytes_difference(const mldf_value *x, const mldf_value *y, char *out, size_t room) {
    const uint8_t *a = x->data, *b = y->data;
    uint64_t shorter = x->bytes < y->bytes ? x->bytes : y->bytes, at = 0;
    while (at < shorter && a[at] == b[at])
        at++;
    if (at < shorter)
        snprintf(out, room,
                 "%" PRIu64 " bytes in the first file, %" PRIu64
                 " in the second; the first that differs is byte %" PRIu64 " (%02x, %02x)",
                 x->bytes, y->bytes, at, a[at], b[at]);
    else if (x->bytes != y->bytes)
        snprintf(out, room,
                 "%" PRIu64 " bytes in the first file, %" PRIu64 " in the second; the first %" PRIu64 " are equal",
                 x->bytes, y->bytes, shorter);
}

static void struct_difference(const struct value_compare *c, const mldf_value *x, const mldf_value *y, char *out,
                              size_t room) {
    const uint8_t *a = x->data, *b = y->data;
    mldf_member m;
    for (size_t i = 0; x->bytes == y->bytes && mldf_field_member(c->schema, c->field, i, &m, NULL) == MLDF_OK; i++) {
        if (m.ndim || m.dtype == MLDF_DTYPE_NONE || memcmp(a + m.offset, b + m.offset, m.itemsize) == 0)
            continue;
        char left[32], right[32];
        element_text(m.dtype, a + m.offset, left);
        element_text(m.dtype, b + m.offset, right);
        snprintf(out, room, "member %.100s: %s in the first file, %s in the second", m.path, left, right);
        return;
    }
}

void mldfi_value_difference(const struct value_compare *c, const mldf_value *x, const mldf_value *y, char *out,
                            size_t room) {
    char left[160], right[160];
    out[0] = 0;
    if (x->kind == MLDF_KIND_ARRAY && same_shape(x, y) && mldf_dtype_bytes(x->dtype))
        array_difference(x, y, out, room);
    else if (x->kind == MLDF_KIND_STRUCT && y->kind == MLDF_KIND_STRUCT)
        struct_difference(c, x, y, out, room);
    else if (x->kind == y->kind && (x->kind == MLDF_KIND_BYTES || x->kind == MLDF_KIND_STORED) && x->data && y->data)
        bytes_difference(x, y, out, room);
    if (out[0])
        return;
    mldfi_value_text(x, left, sizeof left);
    mldfi_value_text(y, right, sizeof right);
    if (strcmp(left, right) == 0)
        snprintf(out, room, "the contents differ (%s each)", left);
    else
        snprintf(out, room, "%s in the first file, %s in the second", left, right);
}
