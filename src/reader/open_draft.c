/* Opening a file of version 1.0 (Z1-Z7): no directory, no footer, no sections. The draft's writer puts tables anywhere and
 * lets the pointers of an empty file pass the end, so only what is used is checked. */
#include <inttypes.h>

#include "reader/open.h"
#include "util/bytes.h"
#include "util/error.h"

/* Z3: how far apart the descriptors are. */
static mldf_status find_stride(struct opening *opening, size_t *stride, const uint8_t **table) {
    const mldf_reader *reader = opening->reader;
    const struct header *header = &reader->header;
    mldf_error *err = opening->err;
    uint64_t at = header->field_desc_ptr, count = header->num_fields, size = reader->physical_bytes;
    uint64_t available = at < size ? size - at : 0, wanted = count * FORMAT_DESCRIPTOR_BYTES;
    if (available > wanted)
        available = wanted;
    if (available < count * FORMAT_DESCRIPTOR_BYTES_DRAFT)
        return mldfi_reader_fail(reader, err, MLDF_E_TRUNCATED, size,
                                 "the file ends at byte %" PRIu64 ", before its %" PRIu64
                                 " field descriptors from byte %" PRIu64 " do",
                                 size, count, at);
    TRY(mldfi_open_view(opening, at, available, table));
    mldf_status status = mldfi_draft_stride(*table, available, (size_t)count, at, stride, err);
    return status < 0 ? mldfi_reader_name_error(reader, err, status) : MLDF_OK;
}

/* Z4, Z5. */
static mldf_status read_fields(struct opening *opening) {
    mldf_reader *reader = opening->reader;
    mldf_error *err = opening->err;
    const uint8_t *table;
    size_t stride = 0;
    mldf_status status = find_stride(opening, &stride, &table);
    if (status >= 0)
        status = mldf_schema_new(reader->context, &reader->schema, err);
    for (size_t i = 0; status >= 0 && i < reader->header.num_fields; i++) {
        struct descriptor descriptor;
        uint64_t at = reader->header.field_desc_ptr + (uint64_t)i * stride;
        status = mldfi_draft_descriptor_decode(table + i * stride, stride, at, &descriptor, err);
        if (status >= 0)
            status = mldfi_schema_add_descriptor(
                reader->schema, &descriptor, (const char *)descriptor.arguments,
                descriptor.arguments_bytes <= FORMAT_ARGUMENT_BYTES ? descriptor.arguments_bytes : 0, true, at, err);
        if (status < 0)
            return mldfi_reader_name_error(reader, err, status);
    }
    if (status < 0)
        return status;
    reader->row_bytes = reader->schema->row_bytes;
    if (reader->row_bytes > FORMAT_MAX_ROW)
        return mldfi_reader_fail(reader, err, MLDF_E_CORRUPT,
                                 reader->header.field_desc_ptr + (uint64_t)(reader->header.num_fields - 1) * stride +
                                     68,
                                 "rows of %" PRIu64 " bytes pass the limit of 16 MiB", reader->row_bytes);
    reader->tables.descriptors = (struct table_ref){
        reader->header.field_desc_ptr, (uint64_t)reader->header.num_fields * stride, reader->header.num_fields};
    return MLDF_OK;
}

mldf_status mldfi_open_draft(struct opening *opening) {
    mldf_reader *reader = opening->reader;
    const struct header *header = &reader->header;
    mldf_error *err = opening->err;
    uint64_t size = reader->physical_bytes, rows = 0;
    mldf_status status = mldfi_header_check(header, FORMAT_HEADER_OFFSET, err);
    if (status < 0)
        return mldfi_reader_name_error(reader, err, status);
    TRY(read_fields(opening));
    if (header->num_samples > 0 && header->metadata_ptr < FORMAT_PREFIX_BYTES)
        return mldfi_reader_fail(reader, err, MLDF_E_CORRUPT, FORMAT_HEADER_OFFSET + 32,
                                 "the rows cannot be at byte %" PRIu64, header->metadata_ptr);
    if (header->num_samples > 0 && (!mldfi_mul_u64(header->num_samples, reader->row_bytes, &rows) ||
                                    !mldfi_range_inside(header->metadata_ptr, rows, size)))
        return mldfi_reader_fail(reader, err, MLDF_E_TRUNCATED, size,
                                 "the file ends at byte %" PRIu64 ", before its %" PRIu64 " rows of %" PRIu64
                                 " bytes from byte %" PRIu64 " do",
                                 size, header->num_samples, reader->row_bytes, header->metadata_ptr);
    if (header->alloc_table_ptr < FORMAT_PREFIX_BYTES)
        return mldfi_reader_fail(reader, err, MLDF_E_CORRUPT, FORMAT_HEADER_OFFSET + 48,
                                 "the allocation table cannot be at byte %" PRIu64, header->alloc_table_ptr);
    uint64_t entries = header->alloc_table_ptr < size ? (size - header->alloc_table_ptr) / FORMAT_ALLOCATION_BYTES : 0;
    reader->tables.metadata = (struct table_ref){header->metadata_ptr, rows, header->num_samples};
    reader->tables.allocation = (struct table_ref){header->alloc_table_ptr, entries * FORMAT_ALLOCATION_BYTES, entries};
    return MLDF_OK;
}
