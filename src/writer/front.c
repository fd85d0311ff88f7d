/* The front of a file: header, descriptors, and the long arguments that do not fit into them. Read finish_file.c for the other end. */
#include <string.h>

#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "writer/writer.h"

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

mldf_status mldfi_descriptor_table(const mldf_schema *schema, mldf_buffer *out, mldf_error *err) {
    for (size_t f = 0; f < schema->field_count; f++) {
        struct descriptor descriptor;
        bool is_long;
        uint8_t *where;
        mldf_status st = mldfi_buffer_extend(out, FORMAT_DESCRIPTOR_BYTES, &where, err);
        if (st < 0)
            return st;
        mldfi_schema_descriptor(schema, f, &descriptor, &is_long);
        mldfi_descriptor_encode(&descriptor, where);
    }
    return MLDF_OK;
}

/* Section 10; stays empty when every field's arguments fit into its descriptor. */
mldf_status mldfi_long_arguments(const mldf_schema *schema, mldf_buffer *out, mldf_error *err) {
    mldf_buffer texts = MLDF_BUFFER_INIT;
    mldf_status st = MLDF_OK;
    uint32_t count = 0;
    uint8_t entry[24] = {0};
    for (size_t pass = 0; pass < 2 && st >= 0; pass++) {
        uint64_t text_start = 8 + 24 * (uint64_t)count;
        if (pass == 1 && count == 0)
            break;
        if (pass == 1) {
            mldfi_store_u32(entry, count);
            st = mldf_buffer_append(out, entry, 8, err);
        }
        for (size_t f = 0; f < schema->field_count && st >= 0; f++) {
            struct descriptor descriptor;
            bool is_long;
            mldfi_schema_descriptor(schema, f, &descriptor, &is_long);
            if (!is_long)
                continue;
            if (pass == 0) {
                count++;
                continue;
            }
            const char *text = schema->fields[f].info.arguments;
            memset(entry, 0, sizeof entry);
            mldfi_store_u32(entry, (uint32_t)f);
            mldfi_store_u64(entry + 8, text_start + texts.size);
            mldfi_store_u64(entry + 16, strlen(text));
            st = mldf_buffer_append(out, entry, sizeof entry, err);
            if (st >= 0)
                st = mldf_buffer_append(&texts, text, strlen(text), err);
        }
    }
    if (st >= 0 && texts.size)
        st = mldf_buffer_append(out, texts.data, texts.size, err);
    mldf_buffer_free(&texts);
    return st;
}

/* Descriptors; and, for a stream, whose front cannot be written again, a header with zero pointers. */
mldf_status mldfi_write_front(mldf_writer *writer, mldf_error *err) {
    mldf_buffer table = MLDF_BUFFER_INIT;
    mldf_status st = MLDF_OK;
    if (writer->stream_fd >= 0) {
        struct header header;
        uint8_t front[FORMAT_PREFIX_BYTES];
        mldfi_writer_header(writer, &header);
        header.num_samples = 0;
        header.field_desc_ptr = header.data_ptr = 0;
        memcpy(front, mldfi_magic, FORMAT_MAGIC_BYTES);
        mldfi_header_encode(&header, front + FORMAT_HEADER_OFFSET);
        st = mldfi_sink_write(writer, 0, front, sizeof front, err);
    }
    if (st >= 0)
        st = mldfi_descriptor_table(writer->schema, &table, err);
    if (st >= 0)
        st = mldfi_sink_write(writer, FORMAT_DESCRIPTOR_OFFSET, table.data, table.size, err);
    mldf_buffer_free(&table);
    return st;
}
