/* The reader from the inside. Read open.c first (the order of the checks is that of docs/spec/format.md), then access.c.
 *
 *   source  : a mapping, borrowed memory, or a descriptor for positional reads
 *   state   : header, schema, directory: immutable after open
 *   verified: one bit for each 64 KiB block of the metadata table that was found good (only with options.verify)
 */
#ifndef MLDF_READER_READER_H
#define MLDF_READER_READER_H

#include <stdatomic.h>

#include "codec/crypt.h"
#include "codec/zstd.h"
#include "field/field.h"
#include "format/format.h"
#include "mldf/reader.h"
#include "os/file.h"

struct mldf_reader {
    const mldf_context *context;
    struct os_file file;      /* fd -1 for memory */
    struct os_map map;        /* data NULL with MLDF_BACKEND_READ */
    bool owns_map;
    mldf_backend backend;
    bool verify;
    char *path;               /* for messages; "" for memory */

    struct header header;     /* the state: from the front or from the footer */
    uint64_t physical_bytes;  /* of the file */
    uint64_t end;             /* logical end: nothing beyond it is reached */
    uint64_t footer_ptr;      /* 0: a 1.0 file */
    uint32_t generation;
    bool header_recovered, draft;
    struct tables tables;
    struct section *sections;
    size_t section_count;
    mldf_schema *schema;
    mldf_field_stats *stats;  /* NULL: none */
    const struct section *checks, *validity, *keys, *page_map, *card, *tables_section; /* NULL: none */
    uint64_t keys_bytes_end;  /* section-relative end of the key bytes */
    struct zstd_dictionary *dictionary;
    struct crypt *crypt;      /* NULL: not encrypted, or opened without key */
    bool encrypted;
    _Atomic(uint64_t) *verified_blocks;
};

/* Pointer to [offset, offset+bytes) of the file: into the mapping, or read into *scratch at scratch->size (appended) for the read back end.
 * The range must have been checked against reader->end by the caller or is checked here: MLDF_E_CORRUPT. */
mldf_status mldfi_reader_view(const mldf_reader *reader, uint64_t offset, uint64_t bytes, mldf_buffer *scratch,
                              const uint8_t **out, mldf_error *err);
/* One row, verified when asked for. */
mldf_status mldfi_reader_row(const mldf_reader *reader, uint64_t sample, mldf_buffer *scratch, const uint8_t **out, mldf_error *err);
/* Stored payload bytes as they are in the file (checked against the end, CRC when verify); empty: *bytes = 0. */
mldf_status mldfi_reader_stored_payload(const mldf_reader *reader, uint64_t sample, size_t field, const uint8_t *row,
                                        mldf_buffer *scratch, const uint8_t **data, uint64_t *bytes, mldf_error *err);
/* Validity bit. */
mldf_status mldfi_reader_is_valid(const mldf_reader *reader, uint64_t sample, size_t field, bool *out, mldf_error *err);
const struct section *mldfi_reader_find_section(const mldf_reader *reader, uint32_t kind);

#endif
