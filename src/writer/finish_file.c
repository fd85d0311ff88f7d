/* The end of a file: metadata table, allocation table, sections, directory, footer, and last the header at the front.
 *
 * All sizes are known before the first of these bytes is written, so the header is complete from the start (the MAC of an
 * encrypted file begins with it). `output` writes in order and keeps three running sums: the section's CRC, the CRC of each 64 KiB
 * block of a table, and the MAC. Read row_tables.c for where the bytes come from. */
#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/bytes.h"
#include "util/crc32c.h"
#include "util/error.h"
#include "writer/end_layout.h"
#include "writer/writer.h"

enum { OUTPUT_BYTES = 16 * FORMAT_CRC_BLOCK, MAX_SECTIONS = 12 };

struct output {
    mldf_writer *writer;
    uint64_t offset, begin, total; /* next byte to write; for progress */
    mldf_buffer buffer;
    uint32_t crc;            /* of the section so far */
    mldf_buffer *block_crcs; /* NULL: not in a table */
    struct crypt_mac *mac;   /* NULL: not encrypted */
};

struct ending {
    struct output out;
    struct header header;
    struct tables tables;
    struct section *list;
    size_t count;
    uint8_t tables_head[FORMAT_TABLES_BYTES];
    mldf_buffer descriptors, long_arguments, block_crcs, directory;
    mldf_buffer dictionary; /* encrypted; empty: as it is */
};

/* ---- Output ------------------------------------------------------------------------------------------------------------ */

static mldf_status output_flush(struct output *out, mldf_error *err) {
    mldf_buffer *buffer = &out->buffer;
    mldf_status status = MLDF_OK;
    for (size_t at = 0; out->block_crcs && at < buffer->size && status >= 0; at += FORMAT_CRC_BLOCK) {
        size_t part = buffer->size - at < FORMAT_CRC_BLOCK ? buffer->size - at : FORMAT_CRC_BLOCK;
        uint8_t word[4];
        mldfi_store_u32(word, mldfi_crc32c(0, buffer->data + at, part));
        status = mldf_buffer_append(out->block_crcs, word, sizeof word, err);
    }
    if (status < 0 || buffer->size == 0)
        return status;
    out->crc = mldfi_crc32c(out->crc, buffer->data, buffer->size);
    if (out->mac)
        mldfi_crypt_mac_add(out->mac, buffer->data, buffer->size);
    if ((status = mldfi_sink_write(out->writer, out->offset, buffer->data, buffer->size, err)) < 0)
        return status;
    out->offset += buffer->size;
    buffer->size = 0;
    return mldfi_tick(out->writer, "tables", out->offset - out->begin, out->total, err);
}

static mldf_status output_write(void *user, const void *data, size_t bytes, mldf_error *err) {
    struct output *out = user;
    const uint8_t *from = data;
    mldf_status status = MLDF_OK;
    while (bytes > 0 && status >= 0) {
        size_t room = OUTPUT_BYTES - out->buffer.size;
        size_t part = bytes < room ? bytes : room;
        status = mldf_buffer_append(&out->buffer, from, part, err);
        from += part;
        bytes -= part;
        if (status >= 0 && out->buffer.size == OUTPUT_BYTES)
            status = output_flush(out, err);
    }
    return status;
}

static mldf_status output_stream(struct output *out, const struct spill_stream *stream, mldf_error *err) {
    uint8_t chunk[16384];
    uint64_t bytes = mldfi_stream_bytes(stream);
    mldf_status status = MLDF_OK;
    for (uint64_t at = 0; at < bytes && status >= 0;) {
        size_t part = bytes - at < sizeof chunk ? (size_t)(bytes - at) : sizeof chunk;
        status = mldfi_stream_read(stream, at, chunk, part, err);
        if (status >= 0)
            status = output_write(out, chunk, part, err);
        at += part;
    }
    return status;
}

/* ---- Tables ------------------------------------------------------------------------------------------------------------- */

/* Rows made while the page size was undecided still point into the small layout: their payloads follow in the order of the prelude's
 * entries. */
static void move_pointers(const mldf_writer *writer, uint8_t *row, size_t *entry) {
    for (size_t f = 0; f < writer->schema->field_count; f++) {
        const struct schema_field *field = &writer->schema->fields[f];
        if (!mldfi_field_has_payload(field))
            continue;
        uint64_t ptr, bytes;
        mldfi_record_payload(field, row + field->info.row_offset, &ptr, &bytes);
        if (bytes)
            mldfi_record_set_payload(field, row + field->info.row_offset, writer->prelude.entries[(*entry)++].moved_ptr,
                                     bytes);
    }
}

static mldf_status write_rows(struct ending *end, mldf_error *err) {
    mldf_writer *writer = end->out.writer;
    size_t row_bytes = writer->schema->row_bytes, entry = 0;
    size_t rows_at_once = row_bytes > 262144 ? 1 : 262144 / row_bytes;
    uint64_t to_move = writer->prelude.moved ? writer->prelude.samples : 0;
    uint8_t *chunk = mldfi_alloc(rows_at_once * row_bytes, err);
    mldf_status status = chunk ? MLDF_OK : MLDF_E_MEMORY;
    for (uint64_t row = 0; row < writer->tables.samples && status >= 0;) {
        uint64_t left = writer->tables.samples - row;
        size_t count = left < rows_at_once ? (size_t)left : rows_at_once;
        status = mldfi_stream_read(&writer->tables.rows, row * row_bytes, chunk, count * row_bytes, err);
        for (size_t i = 0; i < count && row + i < to_move && status >= 0; i++)
            move_pointers(writer, chunk + i * row_bytes, &entry);
        if (status >= 0)
            status = output_write(&end->out, chunk, count * row_bytes, err);
        row += count;
    }
    free(chunk);
    return status;
}

static mldf_status output_seek(struct output *out, uint64_t offset, mldf_error *err) {
    mldf_status status = output_flush(out, err);
    out->offset = offset;
    out->crc = 0;
    return status;
}

/* The descriptors stand at the front already, or in the file that is appended to; only with an added field they are written anew. Their
 * sums are taken in any case, of the bytes that stand there. */
static mldf_status sum_descriptors(struct ending *end, mldf_error *err) {
    struct output *out = &end->out;
    mldf_status status = MLDF_OK;
    if (out->writer->adding)
        status = mldfi_sink_write(out->writer, end->header.field_desc_ptr, end->descriptors.data, end->descriptors.size,
                                  err);
    if (out->mac)
        mldfi_crypt_mac_add(out->mac, end->descriptors.data, end->descriptors.size);
    for (size_t at = 0; at < end->descriptors.size && status >= 0; at += FORMAT_CRC_BLOCK) {
        size_t left = end->descriptors.size - at;
        uint8_t word[4];
        mldfi_store_u32(word,
                        mldfi_crc32c(0, end->descriptors.data + at, left < FORMAT_CRC_BLOCK ? left : FORMAT_CRC_BLOCK));
        status = mldf_buffer_append(&end->block_crcs, word, sizeof word, err);
    }
    return status;
}

static mldf_status write_tables(struct ending *end, mldf_error *err) {
    struct output *out = &end->out;
    mldf_status status = sum_descriptors(end, err);
    out->block_crcs = &end->block_crcs;
    if (status >= 0 && (status = output_seek(out, end->header.metadata_ptr, err)) >= 0)
        status = write_rows(end, err);
    if (status >= 0 && (status = output_seek(out, end->header.alloc_table_ptr, err)) >= 0)
        status = output_stream(out, &out->writer->tables.allocations, err);
    if (status >= 0)
        status = output_flush(out, err);
    out->block_crcs = NULL;
    return status;
}

/* ---- Sections ----------------------------------------------------------------------------------------------------------- */

static mldf_status write_keys(struct ending *end, mldf_error *err) {
    struct output *out = &end->out;
    struct table_builder *tables = &out->writer->tables;
    uint64_t base = 8 * (tables->samples + 1), key_bytes = mldfi_stream_bytes(&tables->key_bytes);
    uint8_t word[8], chunk[8192];
    mldfi_store_u64(word, base);
    mldf_status status = output_write(out, word, sizeof word, err);
    uint64_t ends_bytes = mldfi_stream_bytes(&tables->key_ends);
    for (uint64_t at = 0; at < ends_bytes && status >= 0;) {
        size_t part = ends_bytes - at < sizeof chunk ? (size_t)(ends_bytes - at) : sizeof chunk;
        status = mldfi_stream_read(&tables->key_ends, at, chunk, part, err);
        for (size_t i = 0; i < part; i += 8)
            mldfi_store_u64(chunk + i, mldfi_load_u64(chunk + i) + base);
        if (status >= 0)
            status = output_write(out, chunk, part, err);
        at += part;
    }
    if (status >= 0)
        status = output_stream(out, &tables->key_bytes, err);
    memset(word, 0, sizeof word);
    if (status >= 0)
        status = output_write(out, word, (size_t)(-key_bytes & 7), err);
    return status < 0 ? status : mldfi_key_slots(tables, KEY_SLOTS_AT_ONCE, output_write, out, err);
}

static mldf_status write_stats(struct ending *end, mldf_error *err) {
    const mldf_writer *writer = end->out.writer;
    mldf_status status = MLDF_OK;
    for (size_t f = 0; f < writer->schema->field_count && status >= 0; f++) {
        uint8_t record[FORMAT_STATS_BYTES];
        mldfi_stats_encode(&writer->tables.stats[f].stats, record);
        status = output_write(&end->out, record, sizeof record, err);
    }
    return status;
}

/* The last section: its own bytes are not part of the MAC. */
static mldf_status write_encryption(struct ending *end, mldf_error *err) {
    uint8_t bytes[MLDFI_CRYPT_SECTION_BYTES];
    mldfi_crypt_section(end->out.writer->crypt, bytes);
    mldfi_crypt_mac_end(end->out.mac, bytes + MLDFI_CRYPT_MAC_OFFSET);
    end->out.mac = NULL;
    return output_write(&end->out, bytes, sizeof bytes, err);
}

static mldf_status write_section(struct ending *end, const struct section *section, size_t index, mldf_error *err) {
    struct output *out = &end->out;
    mldf_writer *writer = out->writer;
    mldf_status status = MLDF_OK;
    switch (section->kind) {
    case SECTION_TABLES:
        status = output_write(out, end->tables_head, sizeof end->tables_head, err);
        if (status >= 0 && !writer->options.no_checksums)
            status = output_write(out, end->block_crcs.data, end->block_crcs.size, err);
        return status;
    case SECTION_CHECKS:
        return output_stream(out, &writer->tables.checks, err);
    case SECTION_VALIDITY:
        for (size_t i = 0; i < writer->schema->nullable_count && status >= 0; i++)
            status = output_stream(out, &writer->tables.validity[i], err);
        return status;
    case SECTION_KEYS:
        return write_keys(end, err);
    case SECTION_PAGE_MAP:
        return output_stream(out, &writer->tables.page_map, err);
    case SECTION_DICTIONARY:
        return output_write(out, writer->dictionary_bytes.data, writer->dictionary_bytes.size, err);
    case SECTION_SEALED_DICTIONARY:
        return output_write(out, end->dictionary.data, end->dictionary.size, err);
    case SECTION_LONG_ARGUMENTS:
        return output_write(out, end->long_arguments.data, end->long_arguments.size, err);
    case SECTION_HISTORY:
        return output_write(out, writer->history.data, writer->history.size, err);
    case SECTION_STATS:
        return write_stats(end, err);
    case SECTION_CARD:
        return output_write(out, writer->card, writer->card_bytes, err);
    case SECTION_ENCRYPTION:
        return write_encryption(end, err);
    default: /* kept by an append; they stand before encryption */
        for (size_t i = 0; i < writer->kept_count; i++)
            if (end->list[index].kind == writer->kept[i].section.kind)
                return output_write(out, writer->kept[i].bytes.data, writer->kept[i].bytes.size, err);
        return mldfi_fail(err, MLDF_E_STATE, "section %u has no source", section->kind);
    }
}

static mldf_status write_sections(struct ending *end, mldf_error *err) {
    struct output *out = &end->out;
    mldf_status status = MLDF_OK;
    for (size_t i = 0; i < end->count && status >= 0; i++) {
        struct section *section = &end->list[i];
        if ((status = output_seek(out, section->ptr, err)) < 0)
            break;
        if (out->mac && section->kind != SECTION_ENCRYPTION) {
            uint8_t head[24];
            mldfi_store_u32(head, section->kind);
            mldfi_store_u32(head + 4, section->flags);
            mldfi_store_u64(head + 8, section->size);
            mldfi_store_u64(head + 16, section->param);
            mldfi_crypt_mac_add(out->mac, head, sizeof head);
        }
        status = write_section(end, section, i, err);
        if (status >= 0)
            status = output_flush(out, err);
        section->crc = out->crc;
        if (status >= 0 && out->offset != section->ptr + section->size)
            status = mldfi_fail(err, MLDF_E_STATE, "section %u has %llu bytes where %llu were planned", section->kind,
                                (unsigned long long)(out->offset - section->ptr), (unsigned long long)section->size);
    }
    return status;
}

/* ---- Layout of the end ---------------------------------------------------------------------------------------------------- */

static void add_section(void *user, const struct section *section) {
    struct ending *end = user;
    end->list[end->count++] = *section;
}

static struct end_counts count_all(const struct ending *end) {
    const mldf_writer *writer = end->out.writer;
    const struct table_builder *tables = &writer->tables;
    return (struct end_counts){.schema = writer->schema,
                               .checksums = !writer->options.no_checksums,
                               .keys = tables->keys == KEYS_ALL,
                               .stats = !tables->without_stats,
                               .encrypted = writer->crypt != NULL,
                               .card = writer->card != NULL,
                               .page_size = writer->page_size,
                               .data_ptr = writer->data_ptr,
                               .cursor = writer->cursor,
                               .samples = tables->samples,
                               .key_bytes = mldfi_stream_bytes(&tables->key_bytes),
                               .allocation_bytes = mldfi_stream_bytes(&tables->allocations),
                               .descriptor_bytes = end->descriptors.size,
                               .dictionary_sealed = end->dictionary.size > 0,
                               .dictionary_bytes =
                                   end->dictionary.size > 0 ? end->dictionary.size : writer->dictionary_bytes.size,
                               .long_argument_bytes = end->long_arguments.size,
                               .history_bytes = writer->history.size,
                               .card_bytes = writer->card_bytes,
                               .kept = writer->kept,
                               .kept_count = writer->kept_count};
}

static mldf_status lay_out(struct ending *end, mldf_error *err) {
    mldf_writer *writer = end->out.writer;
    const mldf_schema *schema = writer->schema;
    end->list = mldfi_alloc_zero(MAX_SECTIONS + writer->kept_count, sizeof *end->list, err);
    if (!end->list)
        return MLDF_E_MEMORY;
    mldfi_writer_header(writer, &end->header);
    if (writer->appending)
        end->header.field_desc_ptr = writer->old_descriptor_ptr;
    mldf_status status = mldfi_final_descriptors(writer, &end->descriptors, &end->long_arguments, err);
    if (status >= 0 && writer->crypt && writer->dictionary_bytes.size && !writer->dictionary_in_clear)
        status = mldfi_crypt_seal_dictionary(writer->crypt, writer->dictionary_bytes.data,
                                             writer->dictionary_bytes.size, &end->dictionary, err);
    if (status < 0)
        return status;
    struct end_counts counts = count_all(end);
    struct end_layout layout;
    mldfi_end_tables(&counts, &layout);
    if (schema->payload_count && (status = mldfi_tables_fill_pages(&writer->tables, layout.pages, err)) < 0)
        return status;
    layout.pages = writer->tables.pages;
    end->header.metadata_ptr = layout.metadata_ptr;
    end->header.alloc_table_ptr = layout.alloc_table_ptr;
    uint64_t at = layout.next;
    if (writer->adding) {
        end->header.field_desc_ptr = mldfi_align_up(at, 8);
        at = end->header.field_desc_ptr + end->descriptors.size;
    }
    end->tables.descriptors =
        (struct table_ref){end->header.field_desc_ptr, end->descriptors.size, schema->field_count};
    end->tables.metadata = (struct table_ref){layout.metadata_ptr, layout.metadata_bytes, counts.samples};
    end->tables.allocation = (struct table_ref){layout.alloc_table_ptr, counts.allocation_bytes,
                                                counts.allocation_bytes / FORMAT_ALLOCATION_BYTES};
    mldfi_tables_encode(&end->tables, end->tables_head);
    counts.tables_param = mldfi_crc32c(0, end->tables_head, sizeof end->tables_head);
    end->header.directory_ptr = mldfi_end_sections(&counts, &layout, at, add_section, end);
    end->out.begin = end->header.metadata_ptr;
    end->out.total = end->header.directory_ptr - end->header.metadata_ptr;
    return MLDF_OK;
}

/* ---- Directory, footer, header ---------------------------------------------------------------------------------------------- */

static mldf_status sync_file(mldf_writer *writer, mldf_error *err) {
    return writer->stream_fd >= 0 ? MLDF_OK : mldfi_file_sync(&writer->file, err);
}

/* The order is what makes a crash harmless: everything else is on the disk before the footer, and an append's footer before its header. */
static mldf_status write_end(struct ending *end, uint64_t *file_bytes, mldf_error *err) {
    mldf_writer *writer = end->out.writer;
    struct footer footer = {.generation = writer->generation};
    uint8_t front[FORMAT_PREFIX_BYTES], back[FORMAT_FOOTER_BYTES];
    mldf_status status = mldfi_directory_encode(end->list, end->count, &end->directory, err);
    if (status < 0)
        return status;
    uint64_t footer_ptr = mldfi_end_footer(end->header.directory_ptr, end->directory.size);
    mldfi_header_encode(&end->header, footer.header);
    footer.file_size = footer_ptr + FORMAT_FOOTER_BYTES;
    mldfi_footer_encode(&footer, back);
    memcpy(front, mldfi_magic, FORMAT_MAGIC_BYTES);
    memcpy(front + FORMAT_HEADER_OFFSET, footer.header, FORMAT_HEADER_BYTES);
    *file_bytes = footer.file_size;
    if ((status = mldfi_sink_write(writer, end->header.directory_ptr, end->directory.data, end->directory.size, err)) <
            0 ||
        (status = sync_file(writer, err)) < 0 ||
        (status = mldfi_sink_write(writer, footer_ptr, back, sizeof back, err)) < 0)
        return status;
    if (writer->stream_fd >= 0)
        return MLDF_OK;
    if (writer->appending && (status = sync_file(writer, err)) < 0)
        return status;
    writer->header_touched = true;
    if ((status = mldfi_file_write(&writer->file, 0, front, sizeof front, err)) < 0)
        return status;
    return sync_file(writer, err);
}

static mldf_status begin_mac(struct ending *end, mldf_error *err) {
    mldf_writer *writer = end->out.writer;
    uint8_t header[FORMAT_HEADER_BYTES];
    if (!writer->crypt)
        return MLDF_OK;
    mldf_status status = mldfi_crypt_mac_begin(&end->out.mac, writer->crypt, err);
    mldfi_header_encode(&end->header, header);
    if (status >= 0)
        mldfi_crypt_mac_add(end->out.mac, header, sizeof header);
    return status;
}

mldf_status mldfi_finish_file(mldf_writer *writer, uint64_t *file_bytes, mldf_error *err) {
    struct ending end = {.out = {.writer = writer}};
    mldf_status status = mldfi_tables_end(&writer->tables, err);
    if (status >= 0)
        status = lay_out(&end, err);
    if (status >= 0)
        status = begin_mac(&end, err);
    if (status >= 0)
        status = write_tables(&end, err);
    if (status >= 0)
        status = write_sections(&end, err);
    if (status >= 0)
        status = write_end(&end, file_bytes, err);
    if (status >= 0 && writer->options.encrypt_all)
        status = mldfi_seal_file(writer, &end.header, file_bytes, err);
    if (end.out.mac) {
        uint8_t unused[MLDFI_CRYPT_MAC_BYTES];
        mldfi_crypt_mac_end(end.out.mac, unused);
    }
    free(end.list);
    mldf_buffer_free(&end.out.buffer);
    mldf_buffer_free(&end.descriptors);
    mldf_buffer_free(&end.long_arguments);
    mldf_buffer_free(&end.block_crcs);
    mldf_buffer_free(&end.directory);
    mldf_buffer_free(&end.dictionary);
    return status;
}
