/* NumPy's descr as the arguments of an INLINE field hold it: parsed into leaves, and written canonically. inline.c uses
 * it. */
#ifndef MLDF_FIELD_DESCR_H
#define MLDF_FIELD_DESCR_H

#include "mldf/schema.h"

struct json;

enum { DESCR_MAX_BYTES = 4096, DESCR_MAX_MEMBERS = 256, DESCR_MAX_DEPTH = 8 };

/* A member that is no struct and no padding, once, however many elements the structs around it repeat it. */
struct descr_leaf {
    uint32_t path_at, path_bytes; /* in descr.paths */
    uint32_t type_at, type_bytes; /* in descr.paths too */
    mldf_dtype dtype;             /* NONE for S, U and V */
    bool unicode;                 /* U: four bytes for each character */
    uint32_t align;               /* natural */
    uint32_t offset, itemsize;
    uint32_t ndim;
    uint32_t dims[MLDF_MAX_DIMS], strides[MLDF_MAX_DIMS];
};

struct descr {
    struct descr_leaf *leaves;
    size_t leaf_count, leaf_capacity;
    mldf_buffer paths;
    uint32_t itemsize, align;
    bool bare;   /* one plain member without a name */
    bool padded; /* some bytes belong to no member */
};

/* `at` is the node of the descr list. A caller may give one integer as shape, a file may not. MLDF_E_SCHEMA with the
 * member's path otherwise. `descr` starts as {0}; free it in any case. */
mldf_status mldfi_descr_parse(const struct json *json, uint32_t at, bool from_caller, struct descr *descr,
                              mldf_error *err);
void mldfi_descr_free(struct descr *descr);
/* Appends the list as JSON, with shapes as lists. Only for a list that parsed. */
mldf_status mldfi_descr_write(const struct json *json, uint32_t at, mldf_buffer *out, mldf_error *err);

#endif
