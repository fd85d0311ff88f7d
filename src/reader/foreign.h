/* Another format behind an mldf_reader: its samples have MLDF's fields and records, made up when they are asked for. So all that stands
 * on mldf_reader_get (head, cat, diff, convert, the loader) works on every format. The formats themselves are in src/interop;
 * mldf_reader_open there looks at the first bytes and chooses. */
#ifndef MLDF_READER_FOREIGN_H
#define MLDF_READER_FOREIGN_H

#include "mldf/reader.h"
#include "reader/reader.h"

/* Everything but `format`, `close`, `get` and `payload_bytes` may be NULL or left out. State is immutable and shared by threads. */
struct foreign_ops {
    const char *format; /* "tbl1", "tbl2", "beton", "tar" */
    void (*close)(void *state);
    /* The stored form of a value: kind NULL, or STORED with record (record_bytes of the field; ptr and size as far as they make
     * sense) and value bytes. What is not in the file itself is placed behind scratch->size. */
    mldf_status (*get)(void *state, uint64_t sample, size_t field, bool verify, mldf_buffer *scratch, mldf_value *out,
                       mldf_error *err);
    mldf_status (*key)(void *state, uint64_t sample, const char **key, size_t *bytes, mldf_error *err);
    /* MLDF_NONE: there is none. */
    uint64_t (*find_key)(void *state, const char *key, size_t bytes);
    /* Every defect of the file, in order, and NULL after each sample; false from `report` stops. */
    mldf_status (*verify)(void *state, bool (*report)(void *user, const mldf_error *problem), void *user,
                          mldf_error *err);
    /* Of all samples, as they stand in the file. */
    mldf_status (*payload_bytes)(void *state, uint64_t *out, mldf_error *err);
    bool checksummed; /* verify compares checksums of payloads */
    /* Where the value's bytes are in the file, for hints; false: nowhere, or not known. Touches the index alone. */
    bool (*range)(void *state, uint64_t sample, size_t field, uint64_t *offset, uint64_t *bytes);
    /* Does the file say of this value, whose type is made from files and keeps any bytes, that it is of a format that is read here? For a deep
     * verify: the record of a value that no decoder takes says "other". */
    bool (*claims_file)(void *state, uint64_t sample, size_t field);
    /* Files of token ids: how long the samples [first, first + count) are, from the index alone; MLDF_NONE: that one cannot be read. False: not of
     * this field, or, with `again`, not the same whenever and with whatever samples beside it a sample is asked for. */
    bool (*lengths)(void *state, size_t field, uint64_t first, uint64_t count, bool again, uint64_t *out);
};

/* A reader without content: its file is open and mapped. Used by src/interop, which then sets `foreign`, the schema and the count. */
mldf_status mldfi_reader_map(const char *path, const mldf_reader_options *options, mldf_reader **out, mldf_error *err);
/* MLDF files only. */
mldf_status mldfi_reader_open_native(const char *path, const mldf_reader_options *options, mldf_reader **out,
                                     mldf_error *err);

/* Record and, with `copy`, data into scratch; the pointers of `out` are set when scratch no longer moves. */
mldf_status mldfi_foreign_value(mldf_buffer *scratch, const void *record, uint32_t record_bytes, const void *data,
                                uint64_t bytes, bool copy, mldf_value *out, mldf_error *err);
/* mldfi_reader_get_appended for a foreign reader. */
mldf_status mldfi_foreign_get(const mldf_reader *reader, uint64_t sample, size_t field, bool stored,
                              mldf_buffer *scratch, mldf_value *out, mldf_error *err);

#endif
