/* Loops over ids of every integer dtype: the least and the largest, the first that is outside a vocabulary, copies to another width. Data may
 * begin at any byte. */
#include <string.h>

#include "field/tokens.h"

/* dtype, C type, as i64, as u64. */
#define EACH_DTYPE(X) \
    X(MLDF_I8, int8_t, from_signed, to_unsigned) \
    X(MLDF_U8, uint8_t, from_signed, (uint64_t)) \
    X(MLDF_I16, int16_t, from_signed, to_unsigned) \
    X(MLDF_U16, uint16_t, from_signed, (uint64_t)) \
    X(MLDF_I32, int32_t, from_signed, to_unsigned) \
    X(MLDF_U32, uint32_t, from_signed, (uint64_t)) \
    X(MLDF_I64, int64_t, from_signed, to_unsigned) \
    X(MLDF_U64, uint64_t, from_unsigned, (uint64_t))

static inline int64_t from_signed(int64_t v) {
    return v;
}
static inline int64_t from_unsigned(uint64_t v) {
    return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}
static inline uint64_t to_unsigned(int64_t v) {
    return v < 0 ? 0 : (uint64_t)v;
}

#define LOAD(T, V, I) \
    T V; \
    memcpy(&V, p + (size_t)(I) * sizeof V, sizeof V)

struct id_range mldfi_ids_range(mldf_dtype dtype, const void *ids, uint64_t count) {
    const uint8_t *p = ids;
    struct id_range out = {0, 0};
    switch (dtype) {
#define X(D, T, I64, U64) \
    case D: { \
        LOAD(T, first, 0); \
        T least = first, most = first; \
        for (uint64_t i = 1; i < count; i++) { \
            LOAD(T, v, i); \
            least = v < least ? v : least; \
            most = v > most ? v : most; \
        } \
        out.least = I64(least); \
        out.most = U64(most); \
        break; \
    }
        EACH_DTYPE(X)
#undef X
    default:
        break;
    }
    return out;
}

int64_t mldfi_id_at(mldf_dtype dtype, const void *ids, uint64_t index) {
    const uint8_t *p = ids;
    switch (dtype) {
#define X(D, T, I64, U64) \
    case D: { \
        LOAD(T, v, index); \
        return I64(v); \
    }
        EACH_DTYPE(X)
#undef X
    default:
        return 0;
    }
}

uint64_t mldfi_ids_find_outside(mldf_dtype dtype, const void *ids, uint64_t count, uint64_t limit) {
    if (count == 0)
        return count;
    struct id_range range = mldfi_ids_range(dtype, ids, count);
    if (range.least >= 0 && range.most < limit)
        return count;
    for (uint64_t i = 0; i < count; i++) {
        int64_t id = mldfi_id_at(dtype, ids, i);
        if (id < 0 || (uint64_t)id >= limit)
            return i;
    }
    return count;
}

#define COPY_TO(FROM, TO) \
    for (uint64_t i = 0; i < count; i++) { \
        LOAD(FROM, v, i); \
        TO w = (TO)v; \
        memcpy(q + (size_t)i * sizeof w, &w, sizeof w); \
    }

void mldfi_ids_convert(mldf_dtype from, const void *ids, uint64_t count, mldf_dtype to, void *out) {
    const uint8_t *p = ids;
    uint8_t *q = out;
    if (count == 0)
        return;
    if (from == to) {
        memcpy(out, ids, (size_t)count * mldf_dtype_bytes(to));
        return;
    }
    switch (from) {
#define X(D, T, I64, U64) \
    case D: \
        if (to == MLDF_U8) \
            COPY_TO(T, uint8_t) \
        else if (to == MLDF_U16) \
            COPY_TO(T, uint16_t) \
        else \
            COPY_TO(T, int32_t) \
        break;
        EACH_DTYPE(X)
#undef X
    default:
        break;
    }
}
