/* The front of a file: header, descriptors, and the long arguments that do not fit into them. Read finish_file.c for the other end. */
#include <string.h>

#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "writer/writer.h"

enum { LONG_HEAD = 8, LONG_ENTRY = 24 }; /* of section 10 */

/* All but the pointers behind the data. */
void mldfi_writer_header(const mldf_writer *writer, struct header *out) {
    const mldf_schema *schema = writer->schema;
    *out = (struct header){.version_major = 1, .version_minor = 1, .flags = FORMAT_FLAG_LITTLE_ENDIAN};
    for (size_t f = 0; f < schema->field_count; f++)
        if (schema->fields[f].info.flags & MLDF_FIELD_COMPRESSED)
            out->flags |= FORMAT_FLAG_COMPRESSED;
    if (!writer->options.no_checksums)
        out->flags |= FORMAT_FLAG_CHECKSUMMED;
    if (writer->crypt)
        out->flags |= FORMAT_FLAG_ENCRYPTED;
    out->num_samples = writer->tables.samples;
    out->num_fields = (uint16_t)schema->field_count;
    out->page_size = (uint32_t)writer->page_size;
    out->field_desc_ptr = FORMAT_DESCRIPTOR_OFFSET;
    out->data_ptr = writer->data_ptr;
}

/* The fields from `first` on. */
static mldf_status add_descriptors(const mldf_schema *schema, size_t first, mldf_buffer *out, mldf_error *err) {
    for (size_t f = first; f < schema->field_count; f++) {
        struct descriptor descriptor;
        bool is_long;
        uint8_t *where;
        TRY(mldfi_buffer_extend(out, FORMAT_DESCRIPTOR_BYTES, &where, err));
        mldfi_schema_descriptor(schema, f, &descriptor, &is_long);
        mldfi_descriptor_encode(&descriptor, where);
    }
    return MLDF_OK;
}

mldf_status mldfi_descriptor_table(const mldf_schema *schema, mldf_buffer *out, mldf_error *err) {
    return add_descriptors(schema, 0, out, err);
}

/* ---- Long arguments ----------------------------------------------------------------------------------------------------- */

static bool has_long_arguments(const mldf_schema *schema, size_t field) {
    struct descriptor descriptor;
    bool is_long;
    mldfi_schema_descriptor(schema, field, &descriptor, &is_long);
    return is_long;
}

/* Section 10 for the fields from `first` on, behind what `old` says of those before them: more entries move all texts back. */
static mldf_status add_long_arguments(const mldf_schema *schema, size_t first, const mldf_buffer *old, mldf_buffer *out,
                                      mldf_error *err) {
    uint32_t old_count = old->size ? mldfi_load_u32(old->data) : 0, count = 0;
    size_t old_entries = old->size ? LONG_HEAD + (size_t)LONG_ENTRY * old_count : 0;
    for (size_t f = first; f < schema->field_count; f++)
        count += has_long_arguments(schema, f);
    if (count == 0)
        return old->size ? mldf_buffer_append(out, old->data, old->size, err) : MLDF_OK;
    uint64_t moved = old->size ? (uint64_t)LONG_ENTRY * count : 0;
    uint64_t text = old->size ? old->size + moved : LONG_HEAD + (uint64_t)LONG_ENTRY * count;
    uint8_t entry[LONG_ENTRY] = {0};
    mldfi_store_u32(entry, old_count + count);
    mldf_status status = mldf_buffer_append(out, entry, LONG_HEAD, err);
    for (size_t at = LONG_HEAD; at < old_entries && status >= 0; at += LONG_ENTRY) {
        memcpy(entry, old->data + at, sizeof entry);
        mldfi_store_u64(entry + 8, mldfi_load_u64(entry + 8) + moved);
        status = mldf_buffer_append(out, entry, sizeof entry, err);
    }
    for (size_t f = first; f < schema->field_count && status >= 0; f++) {
        if (!has_long_arguments(schema, f))
            continue;
        size_t bytes = strlen(schema->fields[f].info.arguments);
        memset(entry, 0, sizeof entry);
        mldfi_store_u32(entry, (uint32_t)f);
        mldfi_store_u64(entry + 8, text);
        mldfi_store_u64(entry + 16, bytes);
        text += bytes;
        status = mldf_buffer_append(out, entry, sizeof entry, err);
    }
    if (status >= 0 && old->size > old_entries)
        status = mldf_buffer_append(out, old->data + old_entries, old->size - old_entries, err);
    for (size_t f = first; f < schema->field_count && status >= 0; f++)
        if (has_long_arguments(schema, f))
            status = mldf_buffer_append(out, schema->fields[f].info.arguments, strlen(schema->fields[f].info.arguments),
                                        err);
    return status;
}

mldf_status mldfi_long_arguments(const mldf_schema *schema, mldf_buffer *out, mldf_error *err) {
    const mldf_buffer none = MLDF_BUFFER_INIT;
    return add_long_arguments(schema, 0, &none, out, err);
}

mldf_status mldfi_final_descriptors(const mldf_writer *writer, mldf_buffer *descriptors, mldf_buffer *long_arguments,
                                    mldf_error *err) {
    const mldf_buffer *old = &writer->old_descriptors; /* empty for a new file */
    size_t first = old->size / FORMAT_DESCRIPTOR_BYTES;
    mldf_status status = old->size ? mldf_buffer_append(descriptors, old->data, old->size, err) : MLDF_OK;
    if (status >= 0)
        status = add_descriptors(writer->schema, first, descriptors, err);
    return status < 0 ? status
                      : add_long_arguments(writer->schema, first, &writer->old_long_arguments, long_arguments, err);
}

/* ---- A new file --------------------------------------------------------------------------------------------------------- */

/* Descriptors; and, for a stream, whose front cannot be written again, a header with zero pointers. */
mldf_status mldfi_write_front(mldf_writer *writer, mldf_error *err) {
    mldf_buffer table = MLDF_BUFFER_INIT;
    mldf_status status = MLDF_OK;
    if (writer->stream_fd >= 0) {
        struct header header;
        uint8_t front[FORMAT_PREFIX_BYTES];
        mldfi_writer_header(writer, &header);
        header.num_samples = 0;
        header.field_desc_ptr = header.data_ptr = 0;
        memcpy(front, mldfi_magic, FORMAT_MAGIC_BYTES);
        mldfi_header_encode(&header, front + FORMAT_HEADER_OFFSET);
        status = mldfi_sink_write(writer, 0, front, sizeof front, err);
    }
    if (status >= 0)
        status = mldfi_descriptor_table(writer->schema, &table, err);
    if (status >= 0)
        status = mldfi_sink_write(writer, FORMAT_DESCRIPTOR_OFFSET, table.data, table.size, err);
    mldf_buffer_free(&table);
    return status;
}
