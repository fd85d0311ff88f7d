/* The container's structures and their bytes: pure functions, no I/O, no threads. The numbers are those of
 * docs/spec/format.md, which is the place to read first. Decoders take the file offset of what they decode, so that
 * errors name the byte. */
#ifndef MLDF_FORMAT_FORMAT_H
#define MLDF_FORMAT_FORMAT_H

#include "mldf/schema.h"

enum {
    FORMAT_MAGIC_BYTES = 9,
    FORMAT_HEADER_OFFSET = 9,
    FORMAT_HEADER_BYTES = 64,
    FORMAT_PREFIX_BYTES = 73, /* magic + header */
    FORMAT_DESCRIPTOR_OFFSET = 128,
    FORMAT_DESCRIPTOR_BYTES = 208,
    FORMAT_DESCRIPTOR_BYTES_DRAFT = 204,
    FORMAT_ARGUMENT_BYTES = 128,
    FORMAT_LONG_ARGUMENTS = 65535, /* arguments_bytes: the text is in section 10 */
    FORMAT_ALLOCATION_BYTES = 16,
    FORMAT_DIRECTORY_HEAD_BYTES = 16,
    FORMAT_DIRECTORY_MAGIC_BYTES = 8,
    FORMAT_DIRECTORY_ENTRY_BYTES = 40,
    FORMAT_FOOTER_BYTES = 96,
    FORMAT_TABLES_BYTES = 72, /* fixed part of section 1 */
    FORMAT_CRC_BLOCK = 65536,
    FORMAT_STATS_BYTES = 128,
    FORMAT_HISTORY_BYTES = 24,
    FORMAT_MIN_PAGE = 4096,
    FORMAT_AUTO_SMALL_PAGE = 4096,
    FORMAT_AUTO_PAGE = 2 << 20,
    /* A file with no more data and no more payloads than this gets small pages: a large page in front is then an eighth of it at most. */
    FORMAT_AUTO_HOLD = 16 << 20,
    FORMAT_AUTO_PAYLOADS = 1 << 18,
    FORMAT_MAX_FIELDS = 65535,
    FORMAT_MAX_RECORD = 65536,
    FORMAT_MAX_ROW = 16 << 20,
    FORMAT_MAX_SECTIONS = 1024,
    FORMAT_MAX_KEY = 65535,
    FORMAT_MAX_LONG_ARGUMENTS = 1 << 20,
    FORMAT_MAX_ARGUMENT_DEPTH = 64,
    FORMAT_MAX_CARD = 64 << 20
};
#define FORMAT_MAX_PAGE (UINT64_C(1) << 31)

enum {
    FORMAT_FLAG_LITTLE_ENDIAN = 1,
    FORMAT_FLAG_COMPRESSED = 2,
    FORMAT_FLAG_CHECKSUMMED = 4,
    FORMAT_FLAG_ENCRYPTED = 8,
    FORMAT_FLAG_SEALED = 16, /* the tables are encrypted too: envelope.c */
    FORMAT_FLAG_REFUSE = 0xfff0
};

typedef enum format_section_kind {
    SECTION_TABLES = 1,
    SECTION_CHECKS = 2,
    SECTION_CARD = 3,
    SECTION_STATS = 4,
    SECTION_VALIDITY = 5,
    SECTION_KEYS = 6,
    SECTION_PAGE_MAP = 7,
    SECTION_DICTIONARY = 8,
    SECTION_ENCRYPTION = 9,
    SECTION_LONG_ARGUMENTS = 10,
    SECTION_PACK_PLAN = 11,
    SECTION_HISTORY = 12,
    SECTION_DIGEST = 13,
    SECTION_SEEK_INDEX = 14,
    SECTION_SEALED_DICTIONARY = 15,
    SECTION_PRIVATE = 0x8000
} format_section_kind;
enum { SECTION_FLAG_REQUIRED = 1 };
/* "tables", "checks", "card", "statistics", "validity", "keys", "page_map", "dictionary", "encryption",
 * "long_arguments", "pack_plan", "history", "digest", "seek_index", "encrypted_dictionary", "private", "unknown" */
const char *mldfi_section_name(uint32_t kind);
bool mldfi_section_known(uint32_t kind);

extern const uint8_t mldfi_magic[FORMAT_MAGIC_BYTES];

struct header {
    uint16_t version_major, version_minor;
    uint32_t flags;
    uint64_t num_samples;
    uint16_t num_fields;
    uint32_t page_size; /* u32 on disk; up to 2^31 */
    uint64_t field_desc_ptr, metadata_ptr, data_ptr, alloc_table_ptr, directory_ptr;
};
void mldfi_header_encode(const struct header *header, uint8_t out[FORMAT_HEADER_BYTES]);
/* Loads only. */
void mldfi_header_load(const uint8_t in[FORMAT_HEADER_BYTES], struct header *out);
/* Rules O4 and O5: version and flags alone, before it is known which header counts. offset: of the header. */
mldf_status mldfi_header_check_version(const struct header *header, uint64_t offset, mldf_error *err);
/* The same and all else that needs nothing but the header: O14 to O16, or Z1 and Z2 for a 1.0 header at byte 9. */
mldf_status mldfi_header_check(const struct header *header, uint64_t offset, mldf_error *err);

/* Descriptor flag 32, beside MLDF_FIELD_...: payloads are sealed in chunks. */
enum { FORMAT_FIELD_CHUNKED = 32 };

struct descriptor {
    char name[64]; /* terminated */
    uint16_t type_id, flags;
    uint32_t metadata_size, row_offset;
    uint16_t row_align, arguments_bytes; /* FORMAT_LONG_ARGUMENTS possible */
    uint8_t arguments[FORMAT_ARGUMENT_BYTES];
    /* Not on disk: the byte of the file that errors in the arguments name. Decoding sets it to that of `arguments`; who
     * finds the text in section 10 sets it to the text's. */
    uint64_t arguments_offset;
};
void mldfi_descriptor_encode(const struct descriptor *descriptor, uint8_t out[FORMAT_DESCRIPTOR_BYTES]);
/* One 1.1 descriptor with all its own constraints (name, flags, sizes, alignment). */
mldf_status mldfi_descriptor_decode(const uint8_t in[FORMAT_DESCRIPTOR_BYTES], uint64_t offset, struct descriptor *out,
                                    mldf_error *err);
/* NULL when these bytes may be a field's name, otherwise what is wrong, as the end of a sentence: "is empty" ... */
const char *mldfi_name_problem(const char *name, size_t bytes);
/* The same of a name as it is stored: 64 bytes, zero-padded. */
const char *mldfi_stored_name_problem(const uint8_t in[64]);
/* The smallest record that holds ptr and size in the form that the descriptor's flags say. */
static inline uint32_t mldfi_smallest_record(uint16_t flags) {
    return flags & MLDF_FIELD_SIZE64 ? 16 : flags & MLDF_FIELD_SIZE32 ? 12 : 1;
}

/* The row as its records follow each other (rule O31): start with {0, 1}. */
struct row_cursor {
    uint32_t end;   /* of the last record */
    uint32_t align; /* largest so far */
};
mldf_status mldfi_row_add(struct row_cursor *row, const struct descriptor *descriptor, uint64_t offset,
                          mldf_error *err);
static inline uint32_t mldfi_row_bytes(const struct row_cursor *row) {
    return (row->end + row->align - 1) & ~(row->align - 1);
}

/* The registry of type ids (docs/spec/registry.md), whether or not this build knows the type: its name, or NULL; and
 * the form of its payload: 0, MLDF_FIELD_SIZE32 or MLDF_FIELD_SIZE64. */
const char *mldfi_type_name(uint16_t id);
uint16_t mldfi_type_payload_flag(uint16_t id);
/* The id of a registered name, or 0; and the names one by one: NULL past the last. */
uint16_t mldfi_type_by_name(const char *name, size_t bytes);
const char *mldfi_type_name_at(size_t index);

/* 1.0: decides the stride (208 or 204) of a table of `count` descriptors with `available` bytes after it starts; 0 and
 * an error when neither fits. */
mldf_status mldfi_draft_stride(const uint8_t *table, uint64_t available, size_t count, uint64_t offset, size_t *stride,
                               mldf_error *err);
/* 1.0: one descriptor; flags (payload form) and row_align follow from the type id; row_offset and arguments are left
 * empty. */
mldf_status mldfi_draft_descriptor_decode(const uint8_t *in, size_t stride, uint64_t offset, struct descriptor *out,
                                          mldf_error *err);

struct section {
    uint32_t kind, flags;
    uint64_t ptr, size;
    uint32_t crc;
    uint64_t param;
};
extern const uint8_t mldfi_directory_magic[FORMAT_DIRECTORY_MAGIC_BYTES];
/* Head of the directory: magic and count; the bytes of the whole directory follow from count. */
mldf_status mldfi_directory_head_decode(const uint8_t in[FORMAT_DIRECTORY_HEAD_BYTES], uint64_t offset, uint32_t *count,
                                        uint32_t *crc, mldf_error *err);
/* Entry by entry: kind 0, required-but-unknown kinds, range against `end` (the logical end). A kind that is there twice
 * is the caller's. */
mldf_status mldfi_section_decode(const uint8_t in[FORMAT_DIRECTORY_ENTRY_BYTES], uint64_t offset, uint64_t end,
                                 struct section *out, mldf_error *err);
void mldfi_section_encode(const struct section *section, uint8_t out[FORMAT_DIRECTORY_ENTRY_BYTES]);
/* Appends the whole directory to out. */
mldf_status mldfi_directory_encode(const struct section *sections, size_t count, mldf_buffer *out, mldf_error *err);

struct footer {
    uint8_t header[FORMAT_HEADER_BYTES];
    uint64_t file_size;
    uint32_t generation;
};
void mldfi_footer_encode(const struct footer *footer, uint8_t out[FORMAT_FOOTER_BYTES]);
/* False when magic or CRC are not right. */
bool mldfi_footer_decode(const uint8_t in[FORMAT_FOOTER_BYTES], struct footer *out);

struct table_ref {
    uint64_t ptr, bytes, entries;
};
struct tables {
    struct table_ref descriptors, metadata, allocation;
};
void mldfi_tables_encode(const struct tables *tables, uint8_t out[FORMAT_TABLES_BYTES]);
void mldfi_tables_decode(const uint8_t in[FORMAT_TABLES_BYTES], struct tables *out);
/* Number of CRC blocks of a table of this many bytes. */
static inline uint64_t mldfi_crc_blocks(uint64_t bytes) {
    return bytes / FORMAT_CRC_BLOCK + (bytes % FORMAT_CRC_BLOCK != 0);
}

/* Size of section 6's slot table: the smallest 2^param >= 1.5 n, at least 1. */
uint32_t mldfi_key_param(uint64_t num_samples);
uint64_t mldfi_key_hash(const void *key, size_t bytes); /* XXH64, seed 0 */

/* ---- Placement -------------------------------------------------------------------------------------------------- */

/* A payload to be placed. ptr is the result. */
struct placement {
    uint64_t bytes; /* stored bytes, > 0 */
    uint32_t lead;  /* bytes before the address that is aligned: 8 with a compression prefix, else 0 */
    uint32_t align; /* 8 or 64 */
    uint64_t ptr;
};
/* Places the non-empty payloads of one sample, in order, at or after *cursor, by the page rule of the specification,
 * and moves the cursor behind the last one. False when the file would pass 2^63. */
bool mldfi_place_sample(struct placement *payloads, size_t count, uint64_t page_size, uint64_t *cursor);

/* The page rule of a writer that chooses the page size itself: bytes of the data region with small pages, and its payloads. */
static inline bool mldfi_wants_large_pages(uint64_t data_bytes, uint64_t payloads) {
    return data_bytes > FORMAT_AUTO_HOLD || payloads > FORMAT_AUTO_PAYLOADS;
}

/* ---- envelope.c -------------------------------------------------------------------------------------------------------------- */

/* The record that ends a file with FORMAT_FLAG_SEALED. The tail [tail_ptr, tail_ptr + tail_bytes) and then the prefix, the first prefix_bytes of
 * the file, are one run of encrypted bytes from tail_ptr on, in pieces; a tag for each piece follows. */
enum {
    FORMAT_ENVELOPE_BYTES = 232,
    FORMAT_ENVELOPE_SECTION = 56,
    FORMAT_ENVELOPE_PIECE = 1 << 20,
    FORMAT_ENVELOPE_TAG = 16
};
struct envelope {
    uint64_t tail_ptr, tail_bytes, prefix_bytes;
    uint8_t nonce[24];
    uint8_t section[160]; /* section 9, with a zero mac */
};
uint64_t mldfi_envelope_tags(const struct envelope *envelope); /* bytes of all tags */
void mldfi_envelope_encode(const struct envelope *envelope, uint8_t out[FORMAT_ENVELOPE_BYTES]);
/* at: the envelope's byte in the file, which it ends. */
mldf_status mldfi_envelope_decode(const uint8_t in[FORMAT_ENVELOPE_BYTES], uint64_t at, struct envelope *out,
                                  mldf_error *err);

#endif
