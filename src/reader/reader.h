/* The reader from the inside. Read open.c first (the order of the checks is that of docs/spec/format.md), then access.c.
 *
 *   source  : a mapping, borrowed memory, or a descriptor for positional reads
 *   state   : header, schema, directory: immutable after open
 *   verified: one bit for each 64 KiB block of the metadata table that was found good (only with options.verify)
 *   pool    : idle decompressors, taken and given back with atomic exchanges
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

enum {
    READER_IDLE_DECOMPRESSORS = 16, /* kept for the next call; more threads than this make and free their own */
    READER_CHUNK = 1 << 20          /* long ranges are checked in pieces of this size */
};

struct foreign_ops;
/* Set when the file is of another format; see foreign.h. */
struct foreign {
    const struct foreign_ops *ops; /* NULL: an MLDF file */
    void *state;
    uint16_t version;
    uint64_t page_size; /* 0: the format has none */
    char *card;         /* canonical JSON, or NULL */
    bool in_order;      /* a stream: samples are asked for in ascending order, and by one thread */
};

struct mldf_reader {
    const mldf_context *context;
    struct os_file file; /* fd -1 for memory */
    struct os_map map;   /* data NULL with MLDF_BACKEND_READ */
    bool owns_map;
    bool mapped; /* map.data holds the file; may be NULL only for an empty one */
    mldf_backend backend;
    bool verify;
    mldf_tar_index tar_index;
    bool sequential;
    uint64_t max_decoded; /* 0: mldfi_decoded_limit's own rule */
    char *path;           /* for messages; "" for memory */

    struct header header;    /* the state: from the front or from the footer */
    uint64_t physical_bytes; /* of the file */
    uint64_t end;            /* logical end: nothing beyond it is reached */
    uint64_t footer_ptr;     /* 0: a 1.0 file */
    uint32_t generation;
    bool header_recovered, draft;
    struct foreign foreign;
    bool streamed; /* recovered because its pointers are zero: written to a pipe, as it should be */
    struct tables tables;
    uint64_t row_bytes;
    struct section *sections;
    size_t section_count;
    mldf_schema *schema;
    mldf_field_stats *stats;                                                           /* NULL: none */
    const struct section *checks, *validity, *keys, *page_map, *card, *tables_section; /* NULL: none */
    uint64_t keys_bytes_end; /* section-relative end of the key bytes and their padding: the slots begin here */
    struct zstd_dictionary *dictionary;
    struct crypt *crypt; /* NULL: not encrypted, or opened without key */
    bool encrypted;
    bool plain; /* mapped, nothing to verify or decrypt: a value without prefix and validity bit takes the short way */
    bool salvage; /* opened by descriptors and rows alone: what is nullable and all zero counts as null */
    const bool *
        doubted; /* repair: fields whose validity bits cannot be trusted: a record of zeros counts as null; NULL: none */
    uint32_t unusable;         /* repair: bit k: the directory lists section k, and it cannot be used */
    size_t nameless;           /* repair: directory entries that are damaged so that nobody knows what they were */
    uint64_t promised_samples; /* repair: as the header says, rows that are cut off included */

    const struct os_direct
        *direct; /* NULL, or large reads of the read back end go past the page cache (a loader's copy) */

    _Atomic(uint64_t) *verified_blocks;
    _Atomic(uint32_t) *verified_sections; /* READER_GOOD_...; one word, apart, so that the rest stays const */
    _Atomic(struct zstd_decompressor *) *decompressors; /* READER_IDLE_DECOMPRESSORS slots */
};
enum { READER_GOOD_VALIDITY = 1, READER_GOOD_KEYS = 2 };

/* ---- read_bytes.c ------------------------------------------------------------------------------------------------------ */

/* Pointer to [offset, offset+bytes) of the file: into the mapping, or read into *scratch behind scratch->size (appended, on a
 * multiple of 64) for the read back end. A range that passes reader->end is MLDF_E_CORRUPT at its offset. */
mldf_status mldfi_reader_view(const mldf_reader *reader, uint64_t offset, uint64_t bytes, mldf_buffer *scratch,
                              const uint8_t **out, mldf_error *err);
/* The same, with the byte `lead` bytes after the first one on a multiple of 64 where it is read into scratch. */
mldf_status mldfi_reader_view_lead(const mldf_reader *reader, uint64_t offset, uint64_t bytes, size_t lead,
                                   mldf_buffer *scratch, const uint8_t **out, mldf_error *err);
/* A copy of a small range. */
mldf_status mldfi_reader_copy(const mldf_reader *reader, uint64_t offset, void *dst, size_t bytes, mldf_error *err);
/* CRC of a range of any length, in bounded memory. */
mldf_status mldfi_reader_crc(const mldf_reader *reader, uint64_t offset, uint64_t bytes, uint32_t *crc,
                             mldf_error *err);
/* An error at a byte of this file; the message begins with the path. Returns the status. */
__attribute__((cold, format(printf, 5, 6))) mldf_status mldfi_reader_fail(const mldf_reader *reader, mldf_error *err,
                                                                          mldf_status status, uint64_t offset,
                                                                          const char *format, ...);
/* Puts the path in front of an error that a lower layer made. Returns the status. */
mldf_status mldfi_reader_name_error(const mldf_reader *reader, mldf_error *err, mldf_status status);
/* Room for `bytes` behind scratch->size, with the byte `lead` bytes after the first one on a multiple of 64. */
mldf_status mldfi_scratch_place(mldf_buffer *scratch, size_t bytes, size_t lead, uint8_t **out, mldf_error *err);

/* ---- access.c, payload.c ------------------------------------------------------------------------------------------- */

/* One row, verified when asked for. */
mldf_status mldfi_reader_row(const mldf_reader *reader, uint64_t sample, mldf_buffer *scratch, const uint8_t **out,
                             mldf_error *err);
/* With verify: the CRC of a long section, once; good: READER_GOOD_... */
mldf_status mldfi_reader_check_section(const mldf_reader *reader, const struct section *s, uint32_t good,
                                       const char *name, mldf_error *err);
/* Validity bit. */
mldf_status mldfi_reader_is_valid(const mldf_reader *reader, uint64_t sample, size_t field, bool *out, mldf_error *err);
/* May the size in this field's records count something else than bytes, so that the allocation table says it? */
static inline bool mldfi_reader_may_count(const mldf_reader *reader, const struct schema_field *field) {
    return reader->draft && (!field->type || field->info.type_id == MLDF_TEXT_TOKENIZED);
}
/* Rule A3: does the payload of this record lie in the file? record_at: the record's byte in the file. *bytes is the record's size; in a 1.0 file it
 * becomes that of the allocation table where the record's may count something else. */
mldf_status mldfi_reader_check_payload(const mldf_reader *reader, uint64_t sample, const struct schema_field *field,
                                       uint64_t record_at, uint64_t ptr, uint64_t *bytes, mldf_error *err);
/* Can the record's payload, which lies in the file, hold this many units of a byte or more? A record can claim any number. */
bool mldfi_reader_can_hold(const mldf_reader *reader, uint64_t sample, const struct schema_field *field,
                           const uint8_t *record, uint64_t units);
/* Rule A4: the metadata blocks that hold [offset, offset+bytes), counted in the metadata table, have their CRC. */
mldf_status mldfi_reader_check_blocks(const mldf_reader *reader, uint64_t offset, uint64_t bytes, mldf_error *err);

/* rows.c: rows [at, *end) of the metadata table, in the mapping or in *piece, verified when asked for. The file has rows and the row exists. */
mldf_status mldfi_reader_rows(const mldf_reader *reader, uint64_t at, mldf_buffer *piece, const uint8_t **rows,
                              uint64_t *end, mldf_error *err);
/* What a value is: kind, dims, bytes and record as mldf_reader_get gives them. Where the row says that (a file that is read, its payload stored as it
 * is and not checked), the payload is not touched and data is NULL. access.c. */
mldf_status mldfi_reader_record(const mldf_reader *reader, uint64_t sample, size_t field, mldf_buffer *scratch,
                                mldf_value *out, mldf_error *err);
/* Hints to the processor about values in a mapping: the row of a sample that comes soon; and, of one that comes next, where its row says that its bytes are. */
void mldfi_reader_prefetch(const mldf_reader *reader, uint64_t sample, size_t field, bool payload);
/* mldf_reader_get that leaves packed values (field_type.is_packed) as they are stored: for decoders. */
mldf_status mldfi_reader_get_packed(const mldf_reader *reader, uint64_t sample, size_t field, mldf_buffer *scratch,
                                    mldf_value *out, mldf_error *err);
/* The same for a field that lies in the mapping as it is, of a built-in type that has no packed values; the sample exists. */
bool mldfi_reader_is_direct(const mldf_reader *reader, size_t field);
mldf_status mldfi_reader_get_direct(const mldf_reader *reader, uint64_t sample, const struct schema_field *field,
                                    mldf_buffer *scratch, mldf_value *out, mldf_error *err);
/* The most bytes that a stored payload of this size can become: no zstd frame yields more, and the limit allows no more. */
uint64_t mldfi_reader_most_bytes(const mldf_reader *reader, const struct schema_field *field, uint64_t stored);
/* Makes what everyone else gets of such a value, in scratch. Other values stay as they are. */
mldf_status mldfi_reader_unpack(const mldf_reader *reader, uint64_t sample, size_t field, mldf_buffer *scratch,
                                mldf_value *out, mldf_error *err);
/* A value whose data is placed behind what scratch holds already; stored: undecoded. sample and field exist. */
mldf_status mldfi_reader_get_appended(const mldf_reader *reader, uint64_t sample, size_t field, bool stored,
                                      mldf_buffer *scratch, mldf_value *out, mldf_error *err);
/* Rule A1: the errors for a sample or a field that the file does not have. */
__attribute__((cold)) mldf_status mldfi_reader_no_sample(const mldf_reader *reader, uint64_t sample, mldf_error *err);
/* mldf_reader_info without the rule of struct_bytes: fills all of *out. */
void mldfi_reader_info(const mldf_reader *reader, mldf_file_info *out);
__attribute__((cold)) mldf_status mldfi_reader_no_field(const mldf_reader *reader, size_t field, mldf_error *err);

/* Are the payload's bytes those of the value, and is nothing asked of all of them together? Then parts of it are read alone. */
static inline bool mldfi_reader_is_plain(const mldf_reader *reader, const struct schema_field *f) {
    return !reader->foreign.ops && !reader->encrypted && !(f->info.flags & MLDF_FIELD_COMPRESSED) &&
           !(reader->verify && reader->checks);
}

/* The same in an encrypted file: are they sealed in chunks, of which those that a part needs are opened? */
static inline bool mldfi_reader_is_chunked(const mldf_reader *reader, const struct schema_field *f) {
    return reader->crypt && f->chunked && !(reader->verify && reader->checks);
}
/* Bytes of the value, of a payload of one of these two kinds; and the stored bytes that a part of it needs, counted from the payload's first. */
static inline uint64_t mldfi_reader_value_bytes(const struct schema_field *f, uint64_t stored) {
    return f->chunked && stored ? mldfi_crypt_value_bytes(stored, true) : stored;
}
void mldfi_reader_stored_part(const struct schema_field *f, uint64_t stored, uint64_t *offset, uint64_t *bytes);

/* A payload on its way from the file to its value. */
struct payload {
    uint64_t sample;
    size_t field;
    uint64_t record_at;  /* byte of the record in the file */
    uint64_t ptr, bytes; /* stored, > 0 */
};
/* Rules A4-A6: the value's bytes: stored, checked, decrypted, decompressed. */
mldf_status mldfi_reader_load_payload(const mldf_reader *reader, const struct payload *payload, mldf_buffer *scratch,
                                      const uint8_t **data, uint64_t *bytes, mldf_error *err);
/* Bytes [offset, offset + bytes) of a value whose payload is sealed in chunks; bytes > 0, and the value has them. */
mldf_status mldfi_reader_open_part(const mldf_reader *reader, const struct payload *payload, uint64_t offset,
                                   uint64_t bytes, mldf_buffer *scratch, const uint8_t **data, mldf_error *err);
/* Rule A5 of its size: can so many bytes be a payload that is sealed? */
mldf_status mldfi_reader_check_sealed(const mldf_reader *reader, const struct payload *payload, mldf_error *err);
/* The CRC of a payload as section 2 has it. */
mldf_status mldfi_reader_stored_crc(const mldf_reader *reader, uint64_t sample, size_t payload_index, uint32_t *crc,
                                    mldf_error *err);
void mldfi_reader_free_pool(mldf_reader *reader);
/* The most bytes that `stored` compressed ones may become: max_decoded, or without one what the header promises. */
uint64_t mldfi_decoded_limit(uint64_t max_decoded, uint64_t stored);
/* Ends every message about that limit. */
#define DECODED_LIMIT_ADVICE "max_decoded_bytes, or --max-decoded of the command, allows more"

/* Byte of a record in the file. */
static inline uint64_t mldfi_record_at(const mldf_reader *reader, uint64_t sample, const struct schema_field *field) {
    return reader->tables.metadata.ptr + sample * reader->row_bytes + field->info.row_offset;
}

/* ---- find_key.c, ptr.c -------------------------------------------------------------------------------------------------- */

/* Rule A8: where the key of a sample is, as a byte of the file. The file has keys and the sample exists. */
mldf_status mldfi_reader_key_range(const mldf_reader *reader, uint64_t sample, uint64_t *at, size_t *bytes,
                                   mldf_error *err);
/* An entry of the allocation table, as it stands there. */
mldf_status mldfi_reader_allocation(const mldf_reader *reader, uint64_t index, uint64_t *ptr, uint64_t *bytes,
                                    mldf_error *err);

/* ---- info.c, open.c ------------------------------------------------------------------------------------------------- */

const struct section *mldfi_reader_find_section(const mldf_reader *reader, uint32_t kind);

/* For repair: as any file, but the checksums of the descriptors do not count. */
mldf_status mldfi_reader_open_respelled(const char *path, const mldf_reader_options *options, mldf_reader **out,
                                        mldf_error *err);
/* How mldfi_reader_open_salvage looks at a damaged file. */
struct salvage {
    uint64_t footer_at;     /* take the header from this valid footer and end the file behind it; 0: the front header */
    bool bare;              /* descriptors and rows alone: no directory, no sections, no checksums */
    bool trust_descriptors; /* their checksum is known to be wrong, not they */
    bool rowless; /* with bare: the rows are cut off; there are no samples, promised_samples says how many there were */
};
/* For repair: opens what mldf_reader_open refuses. Sections that are damaged count as missing. In a bare opening rows that the file no longer holds are left out of
 * header.num_samples. */
mldf_status mldfi_reader_open_salvage(const char *path, const mldf_reader_options *options,
                                      const struct salvage *salvage, mldf_reader **out, mldf_error *err);

#endif
