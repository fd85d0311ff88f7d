/* The section directory: "MLDFDIR\0", count u32, CRC of the entries u32, then entries of 40 bytes:
 *
 *     0 kind u32 · 4 flags u32 · 8 ptr u64 · 16 size u64 · 24 crc u32 · 28 zero u32 · 32 param u64
 *
 * What the sections hold is in tables.c, keys.c and stats.c. */
#include <inttypes.h>

#include "format/format.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/crc32c.h"
#include "util/error.h"

const uint8_t mldfi_directory_magic[FORMAT_DIRECTORY_MAGIC_BYTES] = {'M', 'L', 'D', 'F', 'D', 'I', 'R', 0};

static const char *const section_names[] = {
    "unknown",    "tables",     "checks",         "card",
    "statistics", "validity",   "keys",           "page_map",
    "dictionary", "encryption", "long_arguments", "pack_plan",
    "history",    "digest",     "seek_index",     "encrypted_dictionary",
};
enum { SECTION_NAMES = sizeof section_names / sizeof section_names[0] };

const char *mldfi_section_name(uint32_t kind) {
    if (kind >= SECTION_PRIVATE)
        return "private";
    return kind < SECTION_NAMES ? section_names[kind] : section_names[0];
}

/* 13 and 14 have a number but no layout yet. */
bool mldfi_section_known(uint32_t kind) {
    return (kind >= SECTION_TABLES && kind <= SECTION_HISTORY) || kind == SECTION_SEALED_DICTIONARY;
}

mldf_status mldfi_directory_head_decode(const uint8_t in[FORMAT_DIRECTORY_HEAD_BYTES], uint64_t offset, uint32_t *count,
                                        uint32_t *crc, mldf_error *err) {
    if (memcmp(in, mldfi_directory_magic, sizeof mldfi_directory_magic) != 0)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, offset,
                             "no directory at byte %" PRIu64 ", where the header says it is", offset);
    *count = mldfi_load_u32(in + 8);
    *crc = mldfi_load_u32(in + 12);
    if (*count > FORMAT_MAX_SECTIONS)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, offset + 8,
                             "the section directory has %" PRIu32 " entries, more than %d", *count,
                             FORMAT_MAX_SECTIONS);
    return MLDF_OK;
}

mldf_status mldfi_section_decode(const uint8_t in[FORMAT_DIRECTORY_ENTRY_BYTES], uint64_t offset, uint64_t end,
                                 struct section *out, mldf_error *err) {
    out->kind = mldfi_load_u32(in + 0);
    out->flags = mldfi_load_u32(in + 4);
    out->ptr = mldfi_load_u64(in + 8);
    out->size = mldfi_load_u64(in + 16);
    out->crc = mldfi_load_u32(in + 24);
    out->param = mldfi_load_u64(in + 32);
    if (out->kind == 0)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, offset, "a section of kind 0");
    if ((out->flags & SECTION_FLAG_REQUIRED) && !mldfi_section_known(out->kind))
        return mldfi_fail_at(err, MLDF_E_FEATURE, offset,
                             "a section of kind %" PRIu32 " (%s), which this reader does not know and must not ignore",
                             out->kind, mldfi_section_name(out->kind));
    if (out->ptr < FORMAT_PREFIX_BYTES || !mldfi_range_inside(out->ptr, out->size, end))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, offset,
                             "section %s: ptr %" PRIu64 " + size %" PRIu64
                             " is not inside the file, which ends at %" PRIu64,
                             mldfi_section_name(out->kind), out->ptr, out->size, end);
    return MLDF_OK;
}

void mldfi_section_encode(const struct section *section, uint8_t out[FORMAT_DIRECTORY_ENTRY_BYTES]) {
    mldfi_store_u32(out + 0, section->kind);
    mldfi_store_u32(out + 4, section->flags);
    mldfi_store_u64(out + 8, section->ptr);
    mldfi_store_u64(out + 16, section->size);
    mldfi_store_u32(out + 24, section->crc);
    mldfi_store_u32(out + 28, 0);
    mldfi_store_u64(out + 32, section->param);
}

mldf_status mldfi_directory_encode(const struct section *sections, size_t count, mldf_buffer *out, mldf_error *err) {
    uint8_t *at;
    if (count > FORMAT_MAX_SECTIONS)
        return mldfi_fail(err, MLDF_E_LIMIT, "%zu sections, more than %d", count, FORMAT_MAX_SECTIONS);
    size_t entries_bytes = count * FORMAT_DIRECTORY_ENTRY_BYTES;
    TRY(mldfi_buffer_extend(out, FORMAT_DIRECTORY_HEAD_BYTES + entries_bytes, &at, err));
    uint8_t *entries = at + FORMAT_DIRECTORY_HEAD_BYTES;
    for (size_t i = 0; i < count; i++)
        mldfi_section_encode(&sections[i], entries + i * FORMAT_DIRECTORY_ENTRY_BYTES);
    memcpy(at, mldfi_directory_magic, sizeof mldfi_directory_magic);
    mldfi_store_u32(at + 8, (uint32_t)count);
    mldfi_store_u32(at + 12, mldfi_crc32c(0, entries, entries_bytes));
    return MLDF_OK;
}
