/* Fields from the inside: a schema's fields with their bound types, and the table of built-in types.
 * A built-in type is an mldf_type (mldf/schema.h) plus what only we need: its traits. Layers above ask the type, never which type it is. */
#ifndef MLDF_FIELD_FIELD_H
#define MLDF_FIELD_FIELD_H

#include "field/media.h"
#include "format/format.h"
#include "format/names.h"
#include "format/stats.h"
#include "mldf/schema.h"

struct json;
struct user_type;
struct schema_field;
struct edge; /* edge.h */
struct value_bounds;

/* ---- One pass over the values of a field, before any is decoded ----------------------------------------------------------------------- */

/* Records of one field: number i is at records + i * stride. */
struct record_block {
    const uint8_t *records;
    size_t stride, count;
    /* NULL: all hold a value. It costs a look into the file, so it is asked of records that would tell something new. */
    mldf_status (*is_present)(const void *owner, size_t i, bool *out, mldf_error *err);
    const void *owner;
};

/* What the pass knows so far. It goes through one file after the other. */
struct survey {
    struct value_bounds *bounds;
    const mldf_field_stats *stats; /* of the file that is looked at; NULL: it has none */
    uint64_t seen;                 /* values */
    struct {                       /* image_bounds.c */
        bool rgb;                  /* one of them has three channels */
        uint64_t last;             /* the members of the last record that was looked at, as one number; 0: none */
        uint8_t last_orientation;
    } image;
};

/* How sizes that the schema leaves open are found, if not by `see`. */
typedef enum field_sizes {
    SIZES_NONE,
    SIZES_DIMS, /* the largest dimensions are in the statistics */
    SIZES_BYTES /* the largest number of bytes is */
} field_sizes;

/* Where decode and check_deep find fault, err->offset counts from the record's first byte; MLDF_NONE: the payload is at
 * fault. mldfi_field_decode turns that into a byte of the file. */
struct field_type {
    mldf_type type;
    const char *name;
    /* 1.0 files hold another record under this id: there it is of an unknown type. */
    bool draft_differs;
    /* What statistics want to know of a present value; NULL: nothing. record is the whole record. */
    void (*observe)(const void *state, const uint8_t *record, struct observation *out);
    /* What statistics want to know that the record does not say: the least and largest number in a value. MLDF_END: it has none. An error: the
     * value has a number that the field does not hold, and a writer refuses it, copied or not. NULL: nothing. */
    mldf_status (*range)(const void *state, const uint8_t *record, const void *payload, uint64_t payload_bytes,
                         uint64_t *least, uint64_t *most, mldf_error *err);
    /* A writer stores the payload as it is, so that any part of it can be read alone. */
    bool never_compressed;
    /* The name of the token field that a side column goes along (along.h), and whether it holds spans (spans may be NULL). NULL: none. */
    const char *(*along)(const void *state, bool *spans);
    /* Is this value an array that a user may view in place? NULL: as the layout says. */
    bool (*is_viewable)(const uint8_t *record);
    /* Fills info->dtype, ndim, dims; NULL: nothing to say. */
    void (*describe)(const void *state, mldf_field *info);
    /* Names of the arguments that a caller may give, NULL at the end; NULL: any. A file may hold others: kept. */
    const char *const *argument_names;
    /* Appends the canonical form of a caller's arguments, or refuses them; NULL: canonical JSON is enough. */
    mldf_status (*canonical)(const struct json *arguments, mldf_buffer *out, mldf_error *err);
    /* What decode leaves to a deep check because it costs a walk over the value; NULL: nothing. */
    mldf_status (*check_deep)(const void *state, const uint8_t *record, const void *payload, uint64_t payload_bytes,
                              mldf_error *err);
    /* Decodes the payload to the last pixel; NULL: check_deep says all there is. */
    mldf_status (*check_full)(const void *state, const uint8_t *record, const void *payload, uint64_t payload_bytes,
                              mldf_error *err);

    /* The static type of the field's stored values, from its arguments and from what is known of the values (bounds may be NULL). *out begins
     * as zeros. NULL: a pipeline cannot read the type. */
    mldf_status (*edge)(const struct schema_field *field, const struct value_bounds *bounds, struct edge *out,
                        mldf_error *err);
    field_sizes sizes;
    /* Looks at the records from *at on. MLDF_OK and *at == count: all were looked at. MLDF_OK and *at < count: that record does not say what its
     * value is; the caller gives the value to see_value and goes on behind it. MLDF_END: no other record of the file can change what matters
     * (statistics say the rest), and the bounds are those of all of them. NULL: `sizes` says how. */
    mldf_status (*see)(const struct schema_field *field, const struct record_block *block, size_t *at,
                       struct survey *survey, mldf_error *err);
    /* The same for one value, in files without such records. A value that says nothing is left out: it is a bad sample, and met later. */
    void (*see_value)(const struct schema_field *field, const mldf_value *value, struct survey *survey);
    /* The record says what a value is, whatever the field's arguments: fields of one family match each other. NONE: dtype and shape must match. */
    media_family self_describing;
    /* What kind of thing a loader's state calls it (src/loader/identity.c). Never changes: states are kept. 0: 'u', a stored value. */
    char letter;
};

/* Built-in types, one file each: scalar.c, bytes.c (BYTES, JSON, TEXT), ndarray.c, inline.c. NULL when unknown. */
const struct field_type *mldfi_builtin_type(uint16_t id);

struct schema_field {
    mldf_field info;               /* name and arguments are the two below */
    char *name, *arguments;        /* owned */
    const struct field_type *type; /* NULL: unknown */
    void *state;                   /* from bind */
    mldf_record_layout layout;
    size_t payload_index;  /* ordinal among the fields with a payload (column of section 2), or SIZE_MAX */
    size_t nullable_index; /* ordinal among the nullable fields (bitmap of section 5), or SIZE_MAX */
};

struct mldf_schema {
    const mldf_context *context;
    struct schema_field *fields;
    size_t field_count, field_capacity;
    size_t payload_count, nullable_count;
    uint32_t row_bytes, row_align;
    struct name_index names;
};

struct mldf_context {
    mldf_warning_fn warn;
    void *warn_user;
    struct field_type *types; /* user-defined: wrap users[i] */
    struct user_type **users; /* owned */
    size_t type_count, type_capacity, user_capacity;
    void *operations; /* user-defined: pipeline/user_op.c knows them, and how they end */
    void (*free_operations)(void *operations);
    char *cache_folder, *compiler; /* mldf_context_set_compiler; NULL: none */
    unsigned compile_limit_ms;     /* 0: 30 s */
    uint64_t max_decoded;          /* mldf_context_set_max_decoded */
    char *temporary_folder;        /* NULL: /tmp */
    uint64_t max_unpacked;         /* 0: MLDF_MAX_UNPACKED */
};
/* What was set, or the default; context may be NULL. */
const char *mldfi_temporary_folder(const mldf_context *context);
uint64_t mldfi_max_unpacked(const mldf_context *context);
__attribute__((format(printf, 2, 3))) void mldfi_warn(const mldf_context *context, const char *format, ...);

/* The type with this id that the context has, or NULL. */
const struct field_type *mldfi_context_type(const mldf_context *context, uint16_t id);

/* From a file's descriptors (arguments resolved by the caller: text, not terminated, may be empty). Adds the field as
 * the file has it: flags, offsets and sizes are the file's; a known type whose own layout disagrees with them is
 * MLDF_E_CORRUPT at the descriptor's member (`offset` is the descriptor's); faulty arguments are at
 * descriptor->arguments_offset. draft: 1.0 rules: arguments are ignored; row offsets follow from natural alignment; a
 * type whose layout disagrees is unknown; the row's size is the caller's to check. */
mldf_status mldfi_schema_add_descriptor(mldf_schema *schema, const struct descriptor *descriptor, const char *arguments,
                                        size_t arguments_bytes, bool draft, uint64_t offset, mldf_error *err);
/* Ordinal of a name, or SIZE_MAX. */
size_t mldfi_schema_lookup(const mldf_schema *schema, const char *name);
mldf_status mldfi_schema_copy(const mldf_schema *schema, mldf_schema **out, mldf_error *err);
/* The descriptor of a field; *long_arguments is set when its text must go to section 10. */
void mldfi_schema_descriptor(const mldf_schema *schema, size_t field, struct descriptor *out, bool *long_arguments);

static inline bool mldfi_field_has_payload(const struct schema_field *field) {
    return (field->info.flags & (MLDF_FIELD_SIZE32 | MLDF_FIELD_SIZE64)) != 0;
}
/* ptr and size of a record with a payload. */
static inline void mldfi_record_payload(const struct schema_field *field, const uint8_t *record, uint64_t *ptr,
                                        uint64_t *bytes) {
    uint64_t size;
    __builtin_memcpy(ptr, record, 8);
    if (field->info.flags & MLDF_FIELD_SIZE64) {
        __builtin_memcpy(&size, record + 8, 8);
    } else {
        uint32_t small;
        __builtin_memcpy(&small, record + 8, 4);
        size = small;
    }
    *bytes = size;
}
static inline void mldfi_record_set_payload(const struct schema_field *field, uint8_t *record, uint64_t ptr,
                                            uint64_t bytes) {
    __builtin_memcpy(record, &ptr, 8);
    if (field->info.flags & MLDF_FIELD_SIZE64) {
        __builtin_memcpy(record + 8, &bytes, 8);
    } else {
        uint32_t small = (uint32_t)bytes;
        __builtin_memcpy(record + 8, &small, 4);
    }
}

/* Decodes one present value of a field of known type and sets out->record. The error's offset is record_offset + the
 * byte of the record at fault, or payload_ptr. */
mldf_status mldfi_field_decode(const struct schema_field *field, const uint8_t *record, uint64_t record_offset,
                               const void *payload, uint64_t payload_bytes, uint64_t payload_ptr, mldf_buffer *scratch,
                               mldf_value *out, mldf_error *err);
/* What decoding leaves unchecked: is it JSON, UTF-8 ...? Offsets as above. Unknown types are always fine. */
mldf_status mldfi_field_check_deep(const struct schema_field *field, const uint8_t *record, uint64_t record_offset,
                                   const void *payload, uint64_t payload_bytes, uint64_t payload_ptr, mldf_error *err);
/* May this value of kind MLDF_KIND_STORED be copied into the field? Its record has the field's size and, where the type
 * is known, decodes. */
mldf_status mldfi_field_check_stored(const struct schema_field *field, const mldf_value *value, mldf_error *err);

/* INLINE's members. MLDF_END past the last. */
mldf_status mldfi_inline_member(const void *state, size_t index, mldf_member *out, mldf_error *err);

#endif
