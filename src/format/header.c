/* The magic and the 64-byte header, to and from bytes, and the rules that need nothing but the header.
 * Offsets inside the header:
 *
 *     0 major u16 · 2 minor u16 · 4 flags u32 · 8 num_samples u64 · 16 num_fields u16 · 18 zero u16 · 20 page_size u32
 *     24 field_desc_ptr · 32 metadata_ptr · 40 data_ptr · 48 alloc_table_ptr · 56 directory_ptr, u64 each
 *
 * Which header of a file counts is the reader's question; footer.c has the other copy. */
#include <inttypes.h>

#include "format/format.h"
#include "util/bytes.h"
#include "util/error.h"

enum { READER_MAJOR = 1 };

const uint8_t mldfi_magic[FORMAT_MAGIC_BYTES] = {0x89, 'M', 'L', 'D', 'F', '\r', '\n', 0x1a, '\n'};

void mldfi_header_encode(const struct header *header, uint8_t out[FORMAT_HEADER_BYTES]) {
    mldfi_store_u16(out + 0, header->version_major);
    mldfi_store_u16(out + 2, header->version_minor);
    mldfi_store_u32(out + 4, header->flags);
    mldfi_store_u64(out + 8, header->num_samples);
    mldfi_store_u16(out + 16, header->num_fields);
    mldfi_store_u16(out + 18, 0);
    mldfi_store_u32(out + 20, header->page_size);
    mldfi_store_u64(out + 24, header->field_desc_ptr);
    mldfi_store_u64(out + 32, header->metadata_ptr);
    mldfi_store_u64(out + 40, header->data_ptr);
    mldfi_store_u64(out + 48, header->alloc_table_ptr);
    mldfi_store_u64(out + 56, header->directory_ptr);
}

void mldfi_header_load(const uint8_t in[FORMAT_HEADER_BYTES], struct header *out) {
    out->version_major = mldfi_load_u16(in + 0);
    out->version_minor = mldfi_load_u16(in + 2);
    out->flags = mldfi_load_u32(in + 4);
    out->num_samples = mldfi_load_u64(in + 8);
    out->num_fields = mldfi_load_u16(in + 16);
    out->page_size = mldfi_load_u32(in + 20);
    out->field_desc_ptr = mldfi_load_u64(in + 24);
    out->metadata_ptr = mldfi_load_u64(in + 32);
    out->data_ptr = mldfi_load_u64(in + 40);
    out->alloc_table_ptr = mldfi_load_u64(in + 48);
    out->directory_ptr = mldfi_load_u64(in + 56);
}

static mldf_status check_major(const struct header *header, uint64_t offset, mldf_error *err) {
    if (header->version_major > READER_MAJOR)
        return mldfi_fail_at(err, MLDF_E_VERSION, offset,
                             "the file is of version %u.%u and this reader, which reads %d.x, is too old for it",
                             header->version_major, header->version_minor, READER_MAJOR);
    if (header->version_major < READER_MAJOR)
        return mldfi_fail_at(err, MLDF_E_VERSION, offset,
                             "the file is of version %u.%u, which is too old for this reader: it reads %d.x",
                             header->version_major, header->version_minor, READER_MAJOR);
    return MLDF_OK;
}

static mldf_status check_flags(const struct header *header, uint64_t offset, mldf_error *err) {
    if (!(header->flags & FORMAT_FLAG_LITTLE_ENDIAN))
        return mldfi_fail_at(err, MLDF_E_FEATURE, offset + 4,
                             "header flags 0x%" PRIx32 ": the file is not little-endian, and MLDF files must be",
                             header->flags);
    if (header->flags & FORMAT_FLAG_REFUSE)
        return mldfi_fail_at(err, MLDF_E_FEATURE, offset + 4,
                             "header flags 0x%" PRIx32 ": bits 0x%" PRIx32
                             " mean features that this reader must not ignore",
                             header->flags, header->flags & FORMAT_FLAG_REFUSE);
    return MLDF_OK;
}

mldf_status mldfi_header_check_version(const struct header *header, uint64_t offset, mldf_error *err) {
    mldf_status status = check_major(header, offset, err);
    return status < 0 ? status : check_flags(header, offset, err);
}

/* Rules Z1 and Z2. The draft says nothing of the page size that a reader needs, so it does not count. */
static mldf_status check_draft(const struct header *header, uint64_t offset, mldf_error *err) {
    uint32_t undefined = header->flags & (FORMAT_FLAG_COMPRESSED | FORMAT_FLAG_ENCRYPTED);
    if (undefined)
        return mldfi_fail_at(err, MLDF_E_FEATURE, offset + 4,
                             "header flags 0x%" PRIx32 ": version 1.0 has no layout for compressed or encrypted data",
                             header->flags);
    if (header->num_fields == 0)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, offset + 16, "num_fields is 0");
    if (header->field_desc_ptr < FORMAT_PREFIX_BYTES)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, offset + 24, "field_desc_ptr %" PRIu64 " lies inside the header",
                             header->field_desc_ptr);
    return MLDF_OK;
}

mldf_status mldfi_header_check(const struct header *header, uint64_t offset, mldf_error *err) {
    TRY(check_major(header, offset, err));
    if (offset != FORMAT_HEADER_OFFSET && header->version_minor == 0)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, offset + 2,
                             "a footer holds a header of version 1.0, which has no footer");
    TRY(check_flags(header, offset, err));
    if (header->version_minor == 0)
        return check_draft(header, offset, err);
    if (header->num_fields == 0)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, offset + 16, "num_fields is 0");
    if (!mldfi_is_power_of_two(header->page_size) || header->page_size < FORMAT_MIN_PAGE ||
        header->page_size > FORMAT_MAX_PAGE)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, offset + 20,
                             "page_size %" PRIu32 " is not a power of two from 4096 to 2147483648", header->page_size);
    return MLDF_OK;
}
