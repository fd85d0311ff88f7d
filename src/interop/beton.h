/* .beton version 2, FFCV's file: reading on borrowed memory, writing as a stream.
 *
 *     header 24 | descriptors 1041 * F | rows | zeros to a page | pages of blobs | allocation table 24 * entries
 *
 * A row has one record for each field; blobs are found by their place and their length stands in the allocation table.
 * docs/guides/interop.md has the layouts. beton_read.c opens, beton_custom.c finds the width of fields that FFCV does not know,
 * beton_value.c gives values, beton_verify.c looks at everything; beton_write.c writes. */
#ifndef MLDF_INTEROP_BETON_H
#define MLDF_INTEROP_BETON_H

#include "mldf/base.h"

enum {
    BETON_HEADER = 24,
    BETON_DESCRIPTOR = 1041,
    BETON_NAME = 16,
    BETON_ARGUMENTS = 1024,
    BETON_ENTRY = 24,
    BETON_DIMS = 32,
    BETON_DESCR_AT = 264, /* in the arguments, after the shape and the length */
    BETON_PAGE_MIN = 1 << 21
};
#define BETON_PAGE_MAX (UINT64_C(1) << 31)

enum beton_type {
    BETON_FLOAT = 0,
    BETON_INT = 1,
    BETON_IMAGE = 2,
    BETON_BYTES = 3,
    BETON_NDARRAY = 4,
    BETON_JSON = 5,
    BETON_TENSOR = 6,
    BETON_CUSTOM = 255
};
enum { BETON_IMAGE_JPEG = 0, BETON_IMAGE_RAW = 1 };

/* "float", "image" ...; "custom" for 255, "unknown" otherwise. */
const char *mldfi_beton_type_name(uint8_t type);

/* ---- Reading -------------------------------------------------------------------------------------------------------- */

/* Immutable and shared by threads; [data, data + bytes) must outlive it. */
struct beton;

struct beton_field {
    uint8_t type;
    char name[BETON_NAME + 1];
    const uint8_t *arguments; /* 1024 bytes of the file */
    uint32_t offset, bytes;   /* of the record in a row */
    bool has_blob;
    uint32_t ptr_at; /* of the blob's place in the record */
    /* NDARRAY and TENSOR */
    uint32_t ndim;
    uint64_t shape[BETON_DIMS];
    const char *descr; /* JSON of the dtype's descr, not terminated */
    uint32_t descr_bytes;
    uint32_t itemsize;    /* 0: the descr is beyond us, the table's length counts */
    uint64_t array_bytes; /* itemsize * elements, or 0 */
};

struct beton_info {
    uint64_t count;
    uint32_t field_count;
    uint32_t row_bytes;
    uint64_t page_size;
    uint64_t rows_offset, table_offset, entry_count;
};

/* Record of a custom field, in the order of those fields. */
struct beton_width {
    uint32_t bytes, align;
};

struct beton_options {
    const struct beton_width *widths; /* NULL: found by trying */
    size_t width_count;
};

struct beton_value {
    const uint8_t *record; /* in its row, at any alignment */
    int64_t integer;
    double real;
    uint8_t mode; /* image */
    uint16_t width, height;
    uint64_t ptr;
    const uint8_t *data; /* the blob, NULL for fields without one; JSON without its NUL */
    uint64_t bytes;
};

/* There is no magic number: version, page size and the places that the header names must make sense. */
bool mldfi_beton_is(const void *data, uint64_t bytes);
/* Reads the table once; memory of its size when it is not sorted. options may be NULL. */
mldf_status mldfi_beton_open(struct beton **out, const void *data, uint64_t bytes, const struct beton_options *options,
                             mldf_error *err);
void mldfi_beton_close(struct beton *beton);
const struct beton_info *mldfi_beton_info(const struct beton *beton);
const struct beton_field *mldfi_beton_field(const struct beton *beton, uint32_t field);
mldf_status mldfi_beton_value(const struct beton *beton, uint64_t sample, uint32_t field, struct beton_value *out,
                              mldf_error *err);

/* One defect, with sample, field and byte. NULL: one more sample was looked at. Return false to stop. */
typedef bool (*beton_problem_fn)(void *user, const mldf_error *problem);
/* Every value, every entry of the table, and the rule that all blobs of a sample lie in one page. */
mldf_status mldfi_beton_verify(const struct beton *beton, beton_problem_fn report, void *user, uint64_t *problems,
                               mldf_error *err);

/* ---- Writing -------------------------------------------------------------------------------------------------------- */

struct beton_write_field {
    uint8_t type;
    const char *name; /* ASCII; the first 16 bytes count and must differ from all others */
    uint32_t ndim;    /* NDARRAY, TENSOR */
    const uint64_t *shape;
    const char *descr;         /* JSON, e.g. [["", "<f4"]] */
    const uint8_t *arguments;  /* CUSTOM: 1024 bytes, or NULL for zeros */
    struct beton_width record; /* CUSTOM */
    bool has_blob;             /* CUSTOM: its place stands at byte ptr_at of the record */
    uint32_t ptr_at;
};

struct beton_write_options {
    uint64_t count;     /* MLDF_NONE: not known, everything goes through temporary files beside the target */
    uint64_t page_size; /* to begin with; grows when a sample needs it. 0: the smallest, 2 MiB */
    uint32_t align;     /* of blobs: a power of two; 1: packed, as FFCV does it */
    bool full_pages;    /* fill the last page with zeros, as FFCV does it */
    bool overwrite;
};
#define BETON_WRITE_OPTIONS_INIT \
    { MLDF_NONE, 0, 8, false, false }

struct beton_input {
    int64_t integer;
    double real;
    uint8_t mode; /* image */
    uint32_t width, height;
    const void *data; /* JSON: the text, without a NUL */
    uint64_t bytes;
    const void *record; /* CUSTOM; its ptr is filled in */
};

struct beton_totals {
    uint64_t samples, blobs, blob_bytes, page_size, file_bytes;
};

struct beton_writer;
mldf_status mldfi_beton_writer_open(struct beton_writer **out, const char *path, const struct beton_write_field *fields,
                                    size_t field_count, const struct beton_write_options *options, mldf_error *err);
/* One value for each field. A sample that FFCV cannot hold is refused, and the next one may come. */
mldf_status mldfi_beton_writer_add(struct beton_writer *writer, const struct beton_input *values, mldf_error *err);
/* Durable under its name when this returns. totals may be NULL. */
mldf_status mldfi_beton_writer_finish(struct beton_writer *writer, struct beton_totals *totals, mldf_error *err);
/* Without a finish before it, nothing is left behind. */
void mldfi_beton_writer_free(struct beton_writer *writer);

/* Where the writer puts everything when all options->count samples have values of these sizes. MLDF_NONE: not known. */
struct beton_layout {
    uint64_t rows_bytes, data_begin, data_end, table_bytes;
};
mldf_status mldfi_beton_plan(const struct beton_write_field *fields, size_t field_count, const uint64_t *value_bytes,
                             const struct beton_write_options *options, struct beton_layout *out, mldf_error *err);

#endif
