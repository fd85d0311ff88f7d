/* See npy.h. A file comes from anywhere: every number of the header is bounded before it is used. */
#include "field/npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field/type.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { MAGIC = 6, FRONT_1 = 10, FRONT_2 = 12 };

/* ---- The header: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } ----------------------------------------------------- */

struct text {
    const char *at, *end;
};

static void skip_space(struct text *t) {
    while (t->at < t->end && (*t->at == ' ' || *t->at == '\n' || *t->at == '\t' || *t->at == '\r'))
        t->at++;
}

static bool take(struct text *t, char c) {
    skip_space(t);
    bool found = t->at < t->end && *t->at == c;
    t->at += found;
    return found;
}

static bool take_word(struct text *t, const char *word) {
    size_t n = strlen(word);
    skip_space(t);
    bool found = (size_t)(t->end - t->at) >= n && memcmp(t->at, word, n) == 0;
    t->at += found ? n : 0;
    return found;
}

/* A string without escapes, which neither names of dtypes nor the dict's keys have. */
static bool take_string(struct text *t, const char **string, size_t *bytes) {
    skip_space(t);
    char quote = t->at < t->end ? *t->at : 0;
    if (quote != '\'' && quote != '"')
        return false;
    const char *close = memchr(t->at + 1, quote, (size_t)(t->end - t->at - 1));
    if (!close || memchr(t->at, '\\', (size_t)(close - t->at)))
        return false;
    *string = t->at + 1;
    *bytes = (size_t)(close - t->at - 1);
    t->at = close + 1;
    return true;
}

static bool take_number(struct text *t, uint64_t *out) {
    skip_space(t);
    const char *begin = t->at;
    *out = 0;
    while (t->at < t->end && *t->at >= '0' && *t->at <= '9') {
        if (*out > (UINT64_MAX - 9) / 10)
            return false;
        *out = *out * 10 + (uint64_t)(*t->at++ - '0');
    }
    return t->at > begin;
}

static bool take_shape(struct text *t, struct npy *out) {
    if (!take(t, '('))
        return false;
    for (out->ndim = 0; !take(t, ')'); out->ndim++) {
        if (out->ndim == MLDF_MAX_DIMS || !take_number(t, &out->dims[out->ndim]))
            return false;
        if (!take(t, ',') && !(t->at < t->end && *t->at == ')'))
            return false;
    }
    return true;
}

static mldf_status set_dtype(struct npy *out, const char *name, size_t bytes, mldf_error *err) {
    out->dtype = mldf_dtype_parse(name, bytes);
    bool raw = bytes == 3 && memcmp(name, "|V2", 3) == 0;
    if (!raw && (out->dtype == MLDF_DTYPE_NONE || *name == 'b'))
        return mldfi_fail(err, MLDF_E_TYPE, "a NumPy array of dtype '%.*s', which no field holds",
                          (int)(bytes < 40 ? bytes : 40), name);
    return MLDF_OK;
}

static mldf_status parse_dict(struct text *t, struct npy *out, mldf_error *err) {
    enum { DESCR = 1, ORDER = 2, SHAPE = 4 } seen = 0;
    const char *word;
    size_t bytes;
    bool good = take(t, '{');
    while (good && !take(t, '}')) {
        good = take_string(t, &word, &bytes) && take(t, ':');
        if (good && bytes == 5 && memcmp(word, "descr", 5) == 0) {
            skip_space(t);
            if (t->at < t->end && *t->at == '[')
                return mldfi_fail(err, MLDF_E_TYPE, "a NumPy array of structs, which a tar member does not become");
            good = take_string(t, &word, &bytes);
            TRY(good ? set_dtype(out, word, bytes, err) : MLDF_OK);
            seen |= DESCR;
        } else if (good && bytes == 13 && memcmp(word, "fortran_order", 13) == 0) {
            out->fortran = take_word(t, "True");
            good = out->fortran || take_word(t, "False");
            seen |= ORDER;
        } else if (good && bytes == 5 && memcmp(word, "shape", 5) == 0) {
            good = take_shape(t, out);
            seen |= SHAPE;
        } else {
            good = false;
        }
        if (good && !take(t, ','))
            good = t->at < t->end && *t->at == '}';
    }
    return good && seen == (DESCR | ORDER | SHAPE)
               ? MLDF_OK
               : mldfi_fail(err, MLDF_E_CORRUPT, "the header of the NumPy file is not one that NumPy writes");
}

mldf_status mldfi_npy_parse(const void *data, uint64_t bytes, struct npy *out, mldf_error *err) {
    const uint8_t *b = data;
    memset(out, 0, sizeof *out);
    if (bytes < FRONT_2 || memcmp(b, "\x93NUMPY", MAGIC) != 0)
        return mldfi_fail(err, MLDF_E_CORRUPT, "not a NumPy file");
    if (b[6] < 1 || b[6] > 3)
        return mldfi_fail(err, MLDF_E_TYPE, "a NumPy file of version %u; 1 to 3 are known", b[6]);
    uint64_t front = b[6] == 1 ? FRONT_1 : FRONT_2;
    out->head_bytes = front + (b[6] == 1 ? mldfi_load_u16(b + 8) : mldfi_load_u32(b + 8));
    if (out->head_bytes > NPY_HEAD_MAX)
        return mldfi_fail(err, MLDF_E_TYPE, "a NumPy header of %" PRIu64 " bytes; at most %d are read", out->head_bytes,
                          NPY_HEAD_MAX);
    if (out->head_bytes > bytes)
        return mldfi_fail(err, MLDF_E_TRUNCATED, "a NumPy header of %" PRIu64 " bytes in a file of %" PRIu64,
                          out->head_bytes, bytes);
    struct text text = {(const char *)b + front, (const char *)b + out->head_bytes};
    TRY(parse_dict(&text, out, err));
    out->fortran = out->fortran && out->ndim > 1;
    mldf_dtype dtype = out->dtype == MLDF_DTYPE_NONE ? MLDF_BF16 : out->dtype;
    if (!mldfi_array_bytes(out->dims, out->ndim, dtype, &out->data_bytes))
        return mldfi_fail(err, MLDF_E_CORRUPT, "the shape of the NumPy file makes more than 2^64 bytes");
    return MLDF_OK;
}

/* ---- Values ----------------------------------------------------------------------------------------------------------------------- */

/* Element by element, in the order of the copy. */
static mldf_status to_c_order(const struct npy *npy, const uint8_t *from, mldf_buffer *scratch, const uint8_t **out,
                              mldf_error *err) {
    size_t item = npy->dtype == MLDF_DTYPE_NONE ? 2 : mldf_dtype_bytes(npy->dtype);
    uint64_t index[MLDF_MAX_DIMS] = {0}, steps[MLDF_MAX_DIMS], step = item, at = 0;
    uint8_t *to;
    for (uint32_t i = 0; i < npy->ndim; i++) {
        steps[i] = step;
        step *= npy->dims[i];
    }
    size_t begin = scratch->size;
    TRY(mldfi_buffer_extend(scratch, (size_t)npy->data_bytes + 1, &to, err));
    for (uint64_t n = npy->data_bytes / item; n > 0; n--, to += item) {
        memcpy(to, from + at, item);
        for (uint32_t k = npy->ndim; k > 0; k--) {
            at += steps[k - 1];
            if (++index[k - 1] < npy->dims[k - 1])
                break;
            at -= steps[k - 1] * npy->dims[k - 1];
            index[k - 1] = 0;
        }
    }
    scratch->size--;
    *out = scratch->data + begin;
    return MLDF_OK;
}

mldf_status mldfi_npy_value(const void *data, uint64_t bytes, mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    struct npy npy;
    mldf_status status = mldfi_npy_parse(data, bytes, &npy, err);
    if (status < 0)
        return status;
    if (bytes - npy.head_bytes != npy.data_bytes)
        return mldfi_fail(err, bytes - npy.head_bytes < npy.data_bytes ? MLDF_E_TRUNCATED : MLDF_E_CORRUPT,
                          "a NumPy file with %" PRIu64 " bytes of elements; its shape and dtype need %" PRIu64,
                          bytes - npy.head_bytes, npy.data_bytes);
    const uint8_t *elements = (const uint8_t *)data + npy.head_bytes;
    if (npy.fortran && npy.data_bytes)
        status = to_c_order(&npy, elements, scratch, &elements, err);
    *out = (mldf_value){.kind = MLDF_KIND_ARRAY,
                        .dtype = npy.dtype == MLDF_DTYPE_NONE ? MLDF_BF16 : npy.dtype,
                        .data = elements,
                        .bytes = npy.data_bytes,
                        .ndim = npy.ndim};
    memcpy(out->dims, npy.dims, sizeof npy.dims);
    return status;
}

/* ---- Many files --------------------------------------------------------------------------------------------------------------------- */

void mldfi_npy_look(struct npy_common *c, const void *data, uint64_t bytes, const char *which) {
    struct npy npy;
    mldf_error why;
    if (c->problem[0])
        return;
    mldf_status status = mldfi_npy_parse(data, bytes, &npy, &why);
    if (status >= 0 && npy.dtype == MLDF_DTYPE_NONE)
        status = mldfi_fail(&why, MLDF_E_TYPE, "a NumPy array of dtype '|V2', which no field holds");
    for (uint32_t i = 0; status >= 0 && i < npy.ndim; i++)
        if (npy.dims[i] > UINT32_MAX)
            status = mldfi_fail(&why, MLDF_E_LIMIT, "a dimension of %" PRIu64 ", more than 2^32 - 1", npy.dims[i]);
    if (status < 0) {
        snprintf(c->problem, sizeof c->problem, "%.60s: %.90s", which, why.message);
    } else if (c->count == 0) {
        c->first = npy;
    } else if (npy.dtype != c->first.dtype || npy.ndim != c->first.ndim) {
        snprintf(c->problem, sizeof c->problem,
                 "%.60s: %" PRIu32 " dimensions of %s, and others have %" PRIu32 " of %s", which, npy.ndim,
                 mldf_dtype_name(npy.dtype), c->first.ndim, mldf_dtype_name(c->first.dtype));
    } else {
        for (uint32_t i = 0; i < npy.ndim; i++)
            c->varies[i] = c->varies[i] || npy.dims[i] != c->first.dims[i];
    }
    c->count++;
}

bool mldfi_npy_arguments(const struct npy_common *c, char out[256]) {
    if (c->problem[0] || c->count == 0)
        return false;
    int n = snprintf(out, 256, "{\"dtype\":\"%s\",\"shape\":[", mldf_dtype_name(c->first.dtype));
    for (uint32_t i = 0; i < c->first.ndim; i++)
        n += c->varies[i] ? snprintf(out + n, 256 - (size_t)n, i ? ",null" : "null")
                          : snprintf(out + n, 256 - (size_t)n, i ? ",%" PRIu64 : "%" PRIu64, c->first.dims[i]);
    snprintf(out + n, 256 - (size_t)n, "]}");
    return true;
}
