/* The checksums of a file, computed anew from the inside out: blocks of tables, then sections, directory and footer. It
 * trusts nothing: every range is checked before it is touched. */
#include "fixup.h"

#include "format/format.h"
#include "util/bytes.h"
#include "util/crc32c.h"

enum { ENTRY = FORMAT_DIRECTORY_ENTRY_BYTES, SECTIONS_MAX = FORMAT_MAX_SECTIONS };

/* The u32 CRCs behind the fixed part of section 1: blocks of descriptors, rows, allocations, one after the other. */
static void fix_blocks(uint8_t *data, size_t size, uint64_t section, uint64_t section_bytes) {
    uint64_t at = FORMAT_TABLES_BYTES;
    for (size_t k = 0; k < 3; k++) {
        uint64_t ptr = mldfi_load_u64(data + section + 24 * k), bytes = mldfi_load_u64(data + section + 24 * k + 8);
        if (!mldfi_range_inside(ptr, bytes, size))
            return;
        for (uint64_t done = 0; done < bytes; done += FORMAT_CRC_BLOCK, at += 4) {
            uint64_t left = bytes - done;
            if (at + 4 > section_bytes)
                return;
            uint32_t crc =
                mldfi_crc32c(0, data + ptr + done, (size_t)(left < FORMAT_CRC_BLOCK ? left : FORMAT_CRC_BLOCK));
            mldfi_store_u32(data + section + at, crc);
        }
    }
}

static void fix_entry(uint8_t *data, size_t size, uint8_t *entry, uint32_t flags) {
    uint64_t ptr = mldfi_load_u64(entry + 8), bytes = mldfi_load_u64(entry + 16);
    if (!mldfi_range_inside(ptr, bytes, size))
        return;
    if (mldfi_load_u32(entry) == SECTION_TABLES && bytes >= FORMAT_TABLES_BYTES) {
        if (flags & FORMAT_FLAG_CHECKSUMMED)
            fix_blocks(data, size, ptr, bytes);
        mldfi_store_u64(entry + 32, mldfi_crc32c(0, data + ptr, FORMAT_TABLES_BYTES));
    }
    mldfi_store_u32(entry + 24, mldfi_crc32c(0, data + ptr, (size_t)bytes));
}

void fixup_checksums(uint8_t *data, size_t size) {
    struct header header;
    if (size < FORMAT_PREFIX_BYTES + FORMAT_DIRECTORY_HEAD_BYTES + FORMAT_FOOTER_BYTES)
        return;
    for (size_t i = 0; i < FORMAT_MAGIC_BYTES; i++)
        data[i] = mldfi_magic[i];
    mldfi_header_load(data + FORMAT_HEADER_OFFSET, &header);
    uint64_t directory = header.directory_ptr;
    if (!mldfi_range_inside(directory, FORMAT_DIRECTORY_HEAD_BYTES + FORMAT_FOOTER_BYTES, size))
        return;
    uint64_t count = mldfi_load_u32(data + directory + 8);
    uint64_t room = (size - directory - FORMAT_DIRECTORY_HEAD_BYTES - FORMAT_FOOTER_BYTES) / ENTRY;
    if (count > SECTIONS_MAX || count > room)
        return;
    uint8_t *entries = data + directory + FORMAT_DIRECTORY_HEAD_BYTES;
    for (uint64_t i = 0; i < count; i++)
        fix_entry(data, size, entries + i * ENTRY, header.flags);
    mldfi_store_u32(data + directory + 12, mldfi_crc32c(0, entries, (size_t)count * ENTRY));
    struct footer footer = {.file_size = directory + FORMAT_DIRECTORY_HEAD_BYTES + count * ENTRY + FORMAT_FOOTER_BYTES};
    memcpy(footer.header, data + FORMAT_HEADER_OFFSET, FORMAT_HEADER_BYTES);
    footer.generation = mldfi_load_u32(entries + count * ENTRY + 72);
    mldfi_footer_encode(&footer, entries + count * ENTRY);
}
