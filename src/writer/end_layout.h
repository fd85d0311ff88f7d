/* Where the end of a file goes: its tables, sections, directory and footer, from the counts alone. finish_file.c writes what stands here, measure.c
 * asks for the size that would come out; so both have it from one place. Pure arithmetic. */
#ifndef MLDF_WRITER_END_LAYOUT_H
#define MLDF_WRITER_END_LAYOUT_H

#include "field/field.h"
#include "format/format.h"
#include "util/bytes.h"

struct kept_section;

/* What a file holds. */
struct end_counts {
    const mldf_schema *schema;
    bool checksums, keys, stats, encrypted;
    bool card; /* one of 0 bytes is one too */
    bool dictionary_sealed;
    uint64_t page_size, data_ptr;
    uint64_t cursor; /* behind the last payload */
    uint64_t samples, key_bytes, allocation_bytes, descriptor_bytes;
    uint64_t dictionary_bytes; /* as stored */
    uint64_t long_argument_bytes, history_bytes, card_bytes;
    const struct kept_section *kept; /* sections that an append carries along */
    size_t kept_count;
    uint64_t tables_param; /* of the section TABLES: its head's CRC */
};

struct end_layout {
    uint64_t metadata_ptr, metadata_bytes, alloc_table_ptr;
    uint64_t pages; /* of the data */
    uint64_t next;  /* behind the allocation table */
};

void mldfi_end_tables(const struct end_counts *counts, struct end_layout *out);
/* The sections in order, from `at` on; returns where the directory begins. */
typedef void (*end_section_fn)(void *user, const struct section *section);
uint64_t mldfi_end_sections(const struct end_counts *counts, const struct end_layout *layout, uint64_t at,
                            end_section_fn section, void *user);
static inline uint64_t mldfi_end_footer(uint64_t directory_ptr, uint64_t directory_bytes) {
    return mldfi_align_up(directory_ptr + directory_bytes, 8);
}

#endif
