/* Opening, second part: directory (O18-O21), section 1 with the places of the tables (O22-O25), field descriptors (O26-O33).
 * Counts are bounded before they are used, and a product that wraps is a violation like one that is too large.
 * open_sections.c comes next. */
#include <inttypes.h>
#include <stdlib.h>

#include "format/names.h"
#include "reader/open.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/crc32c.h"
#include "util/error.h"

/* ---- Directory ------------------------------------------------------------------------------------------------------ */

/* O18 for a footer's header; a front header went through the same checks in O6. */
static mldf_status check_directory_head(struct opening *opening, uint32_t *count, uint32_t *crc) {
    const mldf_reader *reader = opening->reader;
    mldf_error *err = opening->err;
    uint64_t at = reader->header.directory_ptr, footer = reader->footer_ptr;
    uint8_t head[FORMAT_DIRECTORY_HEAD_BYTES];
    if (at < FORMAT_PREFIX_BYTES || at % 8 != 0 || !mldfi_range_inside(at, sizeof head, footer))
        return mldfi_reader_fail(reader, err, MLDF_E_CORRUPT, opening->header_at + 56,
                                 "the directory cannot be at byte %" PRIu64 ": the footer is at %" PRIu64, at, footer);
    mldf_status status = mldfi_reader_copy(reader, at, head, sizeof head, err);
    if (status < 0)
        return status;
    if ((status = mldfi_directory_head_decode(head, at, count, crc, err)) < 0)
        return mldfi_reader_name_error(reader, err, status);
    if (footer - at - sizeof head != (uint64_t)*count * FORMAT_DIRECTORY_ENTRY_BYTES)
        return mldfi_reader_fail(reader, err, MLDF_E_CORRUPT, at + 8,
                                 "a directory of %" PRIu32 " sections does not end at the footer at byte %" PRIu64,
                                 *count, footer);
    return MLDF_OK;
}

static bool kind_seen(const mldf_reader *reader, size_t count, uint32_t kind) {
    for (size_t i = 0; i < count; i++)
        if (reader->sections[i].kind == kind)
            return true;
    return false;
}

static void remember_sections(mldf_reader *reader) {
    reader->tables_section = mldfi_reader_find_section(reader, SECTION_TABLES);
    reader->checks = mldfi_reader_find_section(reader, SECTION_CHECKS);
    reader->validity = mldfi_reader_find_section(reader, SECTION_VALIDITY);
    reader->keys = mldfi_reader_find_section(reader, SECTION_KEYS);
    reader->page_map = mldfi_reader_find_section(reader, SECTION_PAGE_MAP);
    reader->card = mldfi_reader_find_section(reader, SECTION_CARD);
}

static mldf_status read_entry(struct opening *opening, size_t index, const uint8_t *bytes) {
    mldf_reader *reader = opening->reader;
    mldf_error *err = opening->err;
    uint64_t at = mldfi_entry_at(reader, index);
    uint32_t kind = mldfi_load_u32(bytes);
    struct section *section = &reader->sections[index];
    if (kind == 0 || kind_seen(reader, index, kind))
        return mldfi_reader_fail(reader, err, MLDF_E_CORRUPT, at,
                                 kind ? "directory entry %zu: a second section of kind %" PRIu32
                                      : "directory entry %zu: kind %" PRIu32,
                                 index, kind);
    mldf_status status = mldfi_section_decode(bytes, at, reader->end, section, err);
    if (status < 0)
        return mldfi_reader_name_error(reader, err, status);
    if (kind == SECTION_TABLES)
        opening->tables_entry = at;
    return MLDF_OK;
}

/* repair: of a directory that is damaged, the entries whose section has the CRC that they say. Each vouches for itself. */
static mldf_status read_damaged_entries(struct opening *opening, const uint8_t *entries, uint32_t count) {
    mldf_reader *reader = opening->reader;
    size_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct section *section = &reader->sections[kept];
        const uint8_t *entry = entries + (size_t)i * FORMAT_DIRECTORY_ENTRY_BYTES;
        uint64_t at = mldfi_entry_at(reader, i);
        uint32_t crc = 0;
        bool good = mldfi_section_decode(entry, at, reader->end, section, NULL) >= 0;
        if (good) {
            TRY(mldfi_reader_crc(reader, section->ptr, section->size, &crc, opening->err));
        }
        if (!good || crc != section->crc || kind_seen(reader, kept, section->kind)) {
            uint32_t kind = mldfi_load_u32(entry);
            if (kind > 0 && kind <= SECTION_SEEK_INDEX && !kind_seen(reader, kept, kind))
                reader->unusable |= UINT32_C(1) << kind;
            else
                reader->nameless++;
            continue;
        }
        if (section->kind == SECTION_TABLES)
            opening->tables_entry = at;
        kept++;
    }
    reader->section_count = kept;
    return MLDF_OK;
}

static mldf_status keep_entries(struct opening *opening, const uint8_t *entries, uint32_t count) {
    mldf_reader *reader = opening->reader;
    for (uint32_t i = 0; i < count; i++) {
        TRY(read_entry(opening, i, entries + (size_t)i * FORMAT_DIRECTORY_ENTRY_BYTES));
    }
    reader->section_count = count;
    return MLDF_OK;
}

mldf_status mldfi_open_directory(struct opening *opening) {
    mldf_reader *reader = opening->reader;
    const uint8_t *entries;
    uint32_t count = 0, crc = 0;
    mldf_status status = check_directory_head(opening, &count, &crc);
    if (status < 0)
        return status;
    uint64_t at = reader->header.directory_ptr;
    size_t bytes = (size_t)count * FORMAT_DIRECTORY_ENTRY_BYTES;
    if ((status = mldfi_open_view(opening, at + FORMAT_DIRECTORY_HEAD_BYTES, bytes, &entries)) < 0)
        return status;
    bool damaged = mldfi_crc32c(0, entries, bytes) != crc;
    if (damaged && !opening->lenient)
        return mldfi_error_advise(opening->err,
                                  mldfi_reader_fail(reader, opening->err, MLDF_E_CHECKSUM, at + 12,
                                                    "the directory at byte %" PRIu64 " is damaged", at),
                                  "`mldf repair -o OUT` saves the samples that are whole");
    reader->sections = mldfi_alloc_zero(count ? count : 1, sizeof *reader->sections, opening->err);
    if (!reader->sections)
        return MLDF_E_MEMORY;
    TRY(damaged ? read_damaged_entries(opening, entries, count) : keep_entries(opening, entries, count));
    remember_sections(reader);
    if (!reader->tables_section)
        return mldfi_reader_fail(reader, opening->err, MLDF_E_CORRUPT, at, "the directory has no section 1 (tables)");
    return MLDF_OK;
}

/* ---- Section 1 ------------------------------------------------------------------------------------------------------ */

static bool fits(const mldf_reader *reader, uint64_t ptr, uint64_t bytes) {
    return ptr >= FORMAT_PREFIX_BYTES && mldfi_range_inside(ptr, bytes, reader->end);
}

struct expected_table {
    const char *name;
    const struct table_ref *table;
    uint64_t ptr;
    bool counted; /* the header says how many entries */
    uint64_t entries;
    uint64_t entry_bytes; /* 0: not known yet */
};

/* O23 for one table; `at` is its byte in section 1. */
static mldf_status check_table(struct opening *opening, const struct expected_table *want, uint64_t at) {
    const mldf_reader *reader = opening->reader;
    const struct table_ref *table = want->table;
    mldf_error *err = opening->err;
    uint64_t bytes = 0;
    if (table->ptr != want->ptr)
        return mldfi_reader_fail(reader, err, MLDF_E_CORRUPT, at,
                                 "%s: section 1 says byte %" PRIu64 ", the header says %" PRIu64, want->name,
                                 table->ptr, want->ptr);
    if (want->counted && table->entries != want->entries)
        return mldfi_reader_fail(reader, err, MLDF_E_CORRUPT, at + 16,
                                 "%s: section 1 says %" PRIu64 " entries, the header says %" PRIu64, want->name,
                                 table->entries, want->entries);
    if (want->entry_bytes && (!mldfi_mul_u64(table->entries, want->entry_bytes, &bytes) || table->bytes != bytes))
        return mldfi_reader_fail(reader, err, MLDF_E_CORRUPT, at + 8,
                                 "%s: %" PRIu64 " bytes for %" PRIu64 " entries of %" PRIu64, want->name, table->bytes,
                                 table->entries, want->entry_bytes);
    if (!fits(reader, table->ptr, table->bytes))
        return mldfi_reader_fail(reader, err, MLDF_E_CORRUPT, at,
                                 "%s: byte %" PRIu64 " + %" PRIu64 " bytes is not inside the file of %" PRIu64,
                                 want->name, table->ptr, table->bytes, reader->end);
    return MLDF_OK;
}

/* O25: the one table that open reads is also checked by its CRC. */
static mldf_status check_descriptor_blocks(struct opening *opening) {
    const mldf_reader *reader = opening->reader;
    const struct table_ref *table = &reader->tables.descriptors;
    for (uint64_t block = 0; block < mldfi_crc_blocks(table->bytes); block++) {
        uint64_t offset = block * FORMAT_CRC_BLOCK, left = table->bytes - offset;
        uint8_t stored[4];
        uint32_t crc;
        mldf_status status = mldfi_reader_copy(reader, reader->tables_section->ptr + FORMAT_TABLES_BYTES + 4 * block,
                                               stored, sizeof stored, opening->err);
        if (status >= 0)
            status = mldfi_reader_crc(reader, table->ptr + offset, left < FORMAT_CRC_BLOCK ? left : FORMAT_CRC_BLOCK,
                                      &crc, opening->err);
        if (status < 0)
            return status;
        if (crc != mldfi_load_u32(stored) && !opening->trust_descriptors)
            return mldfi_reader_fail(reader, opening->err, MLDF_E_CHECKSUM, table->ptr + offset,
                                     "the field descriptors at byte %" PRIu64 " are damaged", table->ptr + offset);
    }
    return MLDF_OK;
}

mldf_status mldfi_open_tables(struct opening *opening) {
    mldf_reader *reader = opening->reader;
    const struct section *section = reader->tables_section;
    const struct header *header = &reader->header;
    struct tables *tables = &reader->tables;
    mldf_error *err = opening->err;
    uint8_t bytes[FORMAT_TABLES_BYTES];
    if (section->size < FORMAT_TABLES_BYTES)
        return mldfi_reader_fail(reader, err, MLDF_E_CORRUPT, opening->tables_entry,
                                 "section 1 has only %" PRIu64 " bytes", section->size);
    mldf_status status = mldfi_reader_copy(reader, section->ptr, bytes, sizeof bytes, err);
    if (status < 0)
        return status;
    if (mldfi_crc32c(0, bytes, sizeof bytes) != section->param)
        return mldfi_reader_fail(reader, err, MLDF_E_CHECKSUM, section->ptr,
                                 "section 1 (tables) at byte %" PRIu64 " is damaged", section->ptr);
    mldfi_tables_decode(bytes, tables);
    const struct expected_table want[3] = {
        {"field descriptors", &tables->descriptors, header->field_desc_ptr, true, header->num_fields,
         FORMAT_DESCRIPTOR_BYTES},
        {"metadata table", &tables->metadata, header->metadata_ptr, true, header->num_samples, 0},
        {"allocation table", &tables->allocation, header->alloc_table_ptr, false, 0, FORMAT_ALLOCATION_BYTES}};
    for (size_t k = 0; k < 3; k++)
        if ((status = check_table(opening, &want[k], section->ptr + 24 * k)) < 0)
            return status;
    bool checksummed = (header->flags & FORMAT_FLAG_CHECKSUMMED) != 0;
    uint64_t blocks = mldfi_crc_blocks(tables->descriptors.bytes) + mldfi_crc_blocks(tables->metadata.bytes) +
                      mldfi_crc_blocks(tables->allocation.bytes);
    if (section->size != FORMAT_TABLES_BYTES + (checksummed ? 4 * blocks : 0))
        return mldfi_reader_fail(reader, err, MLDF_E_CORRUPT, opening->tables_entry,
                                 "section 1 has %" PRIu64 " bytes where the tables need %" PRIu64, section->size,
                                 FORMAT_TABLES_BYTES + (checksummed ? 4 * blocks : 0));
    return checksummed && !opening->any_descriptors ? check_descriptor_blocks(opening) : MLDF_OK;
}

/* ---- Descriptors ---------------------------------------------------------------------------------------------------- */

static const char *name_of_descriptor(const void *owner, size_t ordinal) {
    const struct opening *opening = owner;
    return opening->descriptors[ordinal].name;
}

/* O26-O32 of one descriptor: its own constraints, then those that need its neighbours or the header. */
static mldf_status read_descriptor(struct opening *opening, size_t index, const uint8_t *bytes,
                                   struct name_index *names, struct row_cursor *row) {
    const mldf_reader *reader = opening->reader;
    struct descriptor *d = &opening->descriptors[index];
    mldf_error *err = opening->err;
    uint64_t at = mldfi_descriptor_at(reader, index);
    if (!mldfi_stored_name_problem(bytes)) {
        if (mldfi_names_find(names, (const char *)bytes, name_of_descriptor, opening) != SIZE_MAX)
            return mldfi_reader_fail(reader, err, MLDF_E_CORRUPT, at, "field %zu has the name of an earlier one: %s",
                                     index, (const char *)bytes);
        memcpy(d->name, bytes, sizeof d->name);
        mldf_status status = mldfi_names_add(names, d->name, name_of_descriptor, opening, err);
        if (status < 0)
            return status;
    }
    mldf_status status = mldfi_descriptor_decode(bytes, at, d, err);
    if (status < 0)
        return mldfi_reader_name_error(reader, err, status);
    if ((d->flags & MLDF_FIELD_COMPRESSED) && !(reader->header.flags & FORMAT_FLAG_COMPRESSED))
        return mldfi_reader_fail(reader, err, MLDF_E_CORRUPT, at + 66,
                                 "field %s is compressed, but header flag 2 is not set", d->name);
    if ((d->flags & FORMAT_FIELD_CHUNKED) && !(reader->header.flags & FORMAT_FLAG_ENCRYPTED))
        return mldfi_reader_fail(reader, err, MLDF_E_CORRUPT, at + 66,
                                 "field %s is sealed in chunks, but header flag 8 is not set", d->name);
    status = mldfi_row_add(row, d, at, err);
    return status < 0 ? mldfi_reader_name_error(reader, err, status) : MLDF_OK;
}

static mldf_status load_descriptors(struct opening *opening) {
    mldf_reader *reader = opening->reader;
    size_t count = reader->header.num_fields;
    struct name_index names = {NULL, 0, 0};
    struct row_cursor row = {0, 1};
    const uint8_t *table;
    mldf_status status =
        mldfi_open_view(opening, reader->header.field_desc_ptr, (uint64_t)count * FORMAT_DESCRIPTOR_BYTES, &table);
    if (status < 0)
        return status;
    opening->descriptors = mldfi_alloc_zero(count, sizeof *opening->descriptors, opening->err);
    if (!opening->descriptors)
        return MLDF_E_MEMORY;
    for (size_t i = 0; i < count && status >= 0; i++) {
        status = read_descriptor(opening, i, table + i * FORMAT_DESCRIPTOR_BYTES, &names, &row);
        uint16_t flags = opening->descriptors[i].flags;
        opening->payload_count += (flags & (MLDF_FIELD_SIZE32 | MLDF_FIELD_SIZE64)) != 0;
        opening->nullable_count += (flags & MLDF_FIELD_NULLABLE) != 0;
    }
    mldfi_names_free(&names);
    reader->row_bytes = mldfi_row_bytes(&row);
    return status;
}

mldf_status mldfi_open_descriptors(struct opening *opening) {
    mldf_reader *reader = opening->reader;
    const struct table_ref *rows = &reader->tables.metadata;
    uint64_t bytes;
    TRY(load_descriptors(opening));
    if (!mldfi_mul_u64(reader->row_bytes, reader->header.num_samples, &bytes) || bytes != rows->bytes)
        return mldfi_reader_fail(reader, opening->err, MLDF_E_CORRUPT, reader->tables_section->ptr + 32,
                                 "the metadata table has %" PRIu64 " bytes; %" PRIu64 " rows of %" PRIu64
                                 " need another number",
                                 rows->bytes, rows->entries, reader->row_bytes);
    return MLDF_OK;
}

/* ---- Without a directory -------------------------------------------------------------------------------------------- */

mldf_status mldfi_open_bare(struct opening *opening) {
    mldf_reader *reader = opening->reader;
    struct header *header = &reader->header;
    mldf_error *err = opening->err;
    uint64_t table_bytes = (uint64_t)header->num_fields * FORMAT_DESCRIPTOR_BYTES;
    reader->salvage = true;
    if (header->version_major != 1 || header->version_minor == 0 || (header->flags & FORMAT_FLAG_REFUSE) ||
        header->num_fields == 0 || !fits(reader, header->field_desc_ptr, table_bytes) ||
        (!opening->rowless && !fits(reader, header->metadata_ptr, 0)) || header->data_ptr < FORMAT_PREFIX_BYTES)
        return mldfi_reader_fail(reader, err, MLDF_E_TRUNCATED, reader->physical_bytes,
                                 "neither field descriptors nor rows are in the %" PRIu64 " bytes that are left",
                                 reader->physical_bytes);
    if (header->flags & FORMAT_FLAG_ENCRYPTED)
        return mldfi_reader_fail(reader, err, MLDF_E_TRUNCATED, reader->physical_bytes,
                                 "an encrypted file without its section 9 cannot be read, with any key");
    TRY(load_descriptors(opening));
    uint64_t rows = opening->rowless ? 0 : (reader->end - header->metadata_ptr) / reader->row_bytes;
    reader->promised_samples = header->num_samples;
    if (header->num_samples > rows)
        header->num_samples = rows;
    reader->tables.descriptors = (struct table_ref){header->field_desc_ptr, table_bytes, header->num_fields};
    reader->tables.metadata =
        (struct table_ref){header->metadata_ptr, header->num_samples * reader->row_bytes, header->num_samples};
    return mldfi_open_arguments(opening);
}
