/* What the files of the .beton reader and writer share. */
#ifndef MLDF_INTEROP_BETON_INNER_H
#define MLDF_INTEROP_BETON_INNER_H

#include "interop/beton.h"

struct beton_entry {
    uint64_t ptr, size, sample;
};

struct beton {
    const uint8_t *data;
    uint64_t bytes;
    struct beton_info info;
    struct beton_field *fields;
    uint64_t rows_end;          /* blobs lie between it and the table */
    struct beton_entry *sorted; /* by ptr, then by size; NULL: the file's table is in this order itself */
};

/* Entry number i in the order of ptr and size. */
struct beton_entry mldfi_beton_entry(const struct beton *beton, uint64_t i);
/* Number of entries with a smaller ptr. */
uint64_t mldfi_beton_first(const struct beton *beton, uint64_t ptr);
/* The longest blob at ptr; false: none. */
bool mldfi_beton_blob(const struct beton *beton, uint64_t ptr, uint64_t *size);

/* Sets the record's size and its alignment for a type that FFCV defines; false for CUSTOM and unknown types. */
bool mldfi_beton_record(uint8_t type, struct beton_width *out, bool *has_blob, uint32_t *ptr_at);
/* Sets the offsets of the fields; widths holds one for each field. False: a row would be larger than 4 GiB. */
bool mldfi_beton_layout(struct beton_field *fields, uint32_t count, const struct beton_width *widths,
                        uint32_t *row_bytes);
/* Shape, descr, itemsize and array_bytes out of the arguments. */
mldf_status mldfi_beton_parse_array(struct beton_field *field, mldf_error *err);

/* Finds the widths of CUSTOM fields (those in `widths` with bytes 0) by looking where their pointers are. Needs the table. */
mldf_status mldfi_beton_find_widths(struct beton *beton, struct beton_width *widths, mldf_error *err);

#endif
