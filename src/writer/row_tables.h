/* The tables of a file while it is written: rows, allocation entries, payload checks, validity, keys, page map, statistics.
 * Samples come in order, one thread at a time; memory is bounded by spill.h. Both a new file and an append (which first replays the
 * old tables) go through here, so finish_file.c has one path. */
#ifndef MLDF_WRITER_ROW_TABLES_H
#define MLDF_WRITER_ROW_TABLES_H

#include "field/field.h"
#include "writer/spill.h"

struct table_builder {
    const mldf_schema *schema;
    struct spill spill;
    struct spill_stream rows, allocations, checks, page_map;
    struct spill_stream key_bytes, key_ends, key_hashes; /* ends: u64, counted from the first key byte */
    struct spill_stream *validity;                       /* one for each nullable field */
    uint8_t *validity_byte;                              /* the byte that is being filled, for each */
    struct stats_accumulator *stats;
    bool without_stats; /* an append to a file that has none */
    uint64_t samples;
    uint64_t pages;               /* page map entries so far */
    uint64_t data_ptr, page_size; /* must be set before the first allocation */
    enum { KEYS_UNDECIDED, KEYS_ALL, KEYS_NONE } keys;
};

mldf_status mldfi_tables_init(struct table_builder *tables, const mldf_schema *schema, const char *target,
                              mldf_error *err);
void mldfi_tables_free(struct table_builder *tables);
/* The streams know each other by their addresses: this is how they change them. `from` is empty afterwards. */
void mldfi_tables_move(struct table_builder *to, struct table_builder *from);

/* `count` rows, with their records complete but for payload pointers that finish_file.c may still move. */
mldf_status mldfi_tables_add_rows(struct table_builder *tables, const uint8_t *rows, size_t count, mldf_error *err);
/* For one sample, after which tables->samples is one more: which nullable fields have a value (one byte each), its statistics
 * (a note for each payload field) and its key (NULL: none). row is the sample's complete row. */
struct value_note {
    uint64_t bytes;       /* of the value, not compressed */
    uint64_t least, most; /* field_type.range */
    bool ranged;
};
mldf_status mldfi_tables_add_sample(struct table_builder *tables, const uint8_t *row, const uint8_t *valid,
                                    const struct value_note *notes, const char *key, size_t key_bytes, mldf_error *err);
/* The key of a sample that was added. */
mldf_status mldfi_key_read(const struct table_builder *tables, uint64_t index, mldf_buffer *out, mldf_error *err);
/* In ascending order of ptr. */
mldf_status mldfi_tables_add_allocation(struct table_builder *tables, uint64_t ptr, uint64_t bytes, uint64_t sample,
                                        mldf_error *err);
/* Page map entries up to `page` (exclusive) that have no sample yet get "none". */
mldf_status mldfi_tables_fill_pages(struct table_builder *tables, uint64_t page, mldf_error *err);
/* Completes the bitmaps' last bytes and the means. */
mldf_status mldfi_tables_end(struct table_builder *tables, mldf_error *err);

#endif
