/* Appending: the old file's tables are replayed into the table builder, row by row and checked, so that finish_file.c writes all
 * tables anew behind the new payloads. No byte that the current header reaches is ever overwritten; until the new header is
 * written the file is what it was. */
#include "writer/append_writer.h"

#include <stdlib.h>
#include <string.h>

#include "os/target.h"
#include "reader/foreign.h"
#include "reader/reader.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/crc32c.h"
#include "util/error.h"

enum { SECTION_STEP = 65536 };

struct page_replay {
    struct table_builder *tables;
    uint64_t seen;
};

static mldf_status read_section(const mldf_reader *reader, const struct section *section, mldf_buffer *out,
                                mldf_error *err) {
    mldf_status status = mldfi_buffer_resize(out, (size_t)section->size, err);
    if (status >= 0)
        status = mldfi_file_read(&reader->file, section->ptr, out->data, out->size, err);
    if (status >= 0 && mldfi_crc32c(0, out->data, out->size) != section->crc)
        status = mldfi_fail_at(err, MLDF_E_CHECKSUM, section->ptr, "section %s is damaged; see mldf verify",
                               mldfi_section_name(section->kind));
    return status;
}

mldf_status mldfi_replay_section(const mldf_reader *reader, const struct section *section, size_t step,
                                 mldfi_take_fn take, void *user, mldf_error *err) {
    uint8_t *chunk = mldfi_alloc(step, err);
    uint32_t crc = 0;
    mldf_status status = chunk ? MLDF_OK : MLDF_E_MEMORY;
    for (uint64_t at = 0; at < section->size && status >= 0;) {
        size_t part = section->size - at < step ? (size_t)(section->size - at) : step;
        status = mldfi_file_read(&reader->file, section->ptr + at, chunk, part, err);
        crc = mldfi_crc32c(crc, chunk, part);
        if (status >= 0)
            status = take(user, chunk, part, err);
        at += part;
    }
    free(chunk);
    if (status >= 0 && crc != section->crc)
        status = mldfi_fail_at(err, MLDF_E_CHECKSUM, section->ptr, "section %s is damaged; see mldf verify",
                               mldfi_section_name(section->kind));
    return status;
}

static mldf_status push_bytes(void *user, const uint8_t *bytes, size_t count, mldf_error *err) {
    return mldfi_stream_push(user, bytes, count, err);
}

/* Page map entries. "None" is put off until a later page has a sample: the first new payload may stand in the last old page. */
static mldf_status push_pages(void *user, const uint8_t *bytes, size_t count, mldf_error *err) {
    struct page_replay *replay = user;
    mldf_status status = MLDF_OK;
    for (size_t i = 0; i + 8 <= count && status >= 0; i += 8, replay->seen++) {
        if (mldfi_load_u64(bytes + i) == UINT64_MAX)
            continue;
        status = mldfi_tables_fill_pages(replay->tables, replay->seen, err);
        if (status >= 0)
            status = mldfi_stream_push(&replay->tables->page_map, bytes + i, 8, err);
        replay->tables->pages++;
    }
    return status;
}

/* A dictionary in the clear stays so: its old bytes remain in the file, and it must not look as if they were gone. */
static mldf_status keep_dictionary(mldf_writer *writer, const mldf_reader *reader, const struct section *section,
                                   mldf_error *err) {
    mldf_buffer stored = MLDF_BUFFER_INIT;
    bool sealed = section->kind == SECTION_SEALED_DICTIONARY;
    mldf_status status = read_section(reader, section, sealed ? &stored : &writer->dictionary_bytes, err);
    if (status >= 0 && sealed)
        status = mldfi_crypt_open_dictionary(writer->crypt, stored.data, stored.size, &writer->dictionary_bytes, err);
    mldf_buffer_free(&stored);
    if (status < 0)
        return status;
    writer->dictionary_in_clear = reader->encrypted && !sealed;
    if (writer->dictionary_in_clear)
        mldfi_warn(writer->context,
                   "%s: the file is encrypted but its zstd dictionary is not: it shows pieces of the payloads; "
                   "`mldf repack` encrypts it",
                   reader->path);
    return mldfi_zstd_dictionary_new(&writer->dictionary, writer->dictionary_bytes.data, writer->dictionary_bytes.size,
                                     err);
}

static mldf_status keep_sections(mldf_writer *writer, const mldf_reader *reader, mldf_error *err) {
    writer->kept = mldfi_alloc_zero(reader->section_count + 1, sizeof *writer->kept, err);
    mldf_status status = writer->kept ? MLDF_OK : MLDF_E_MEMORY;
    for (size_t i = 0; i < reader->section_count && status >= 0; i++) {
        const struct section *section = &reader->sections[i];
        if (section->kind == SECTION_DICTIONARY || section->kind == SECTION_SEALED_DICTIONARY) {
            status = keep_dictionary(writer, reader, section, err);
        } else if (section->kind == SECTION_HISTORY) {
            status = read_section(reader, section, &writer->history, err);
        } else if (section->kind >= SECTION_PRIVATE || section->kind == SECTION_PACK_PLAN) {
            struct kept_section *kept = &writer->kept[writer->kept_count++];
            kept->section = *section;
            status = read_section(reader, section, &kept->bytes, err);
        } else if (section->kind > SECTION_SEALED_DICTIONARY || section->kind == SECTION_DIGEST ||
                   section->kind == SECTION_SEEK_INDEX) {
            mldfi_warn(writer->context, "section %u (%s) does not survive an append", section->kind,
                       mldfi_section_name(section->kind));
        }
    }
    return status;
}

/* Block by block, against the checksums of section 1 where there are any. */
mldf_status mldfi_replay_allocation(mldf_writer *writer, const mldf_reader *reader, mldf_error *err) {
    const struct table_ref *table = &reader->tables.allocation;
    uint64_t crc_at =
        reader->tables_section->ptr + FORMAT_TABLES_BYTES +
        4 * (mldfi_crc_blocks(reader->tables.descriptors.bytes) + mldfi_crc_blocks(reader->tables.metadata.bytes));
    uint8_t block[FORMAT_CRC_BLOCK], word[4];
    for (uint64_t at = 0; at < table->bytes; at += sizeof block, crc_at += 4) {
        size_t part = table->bytes - at < sizeof block ? (size_t)(table->bytes - at) : sizeof block;
        mldf_status status = mldfi_file_read(&reader->file, table->ptr + at, block, part, err);
        if (status >= 0 && (reader->header.flags & FORMAT_FLAG_CHECKSUMMED)) {
            status = mldfi_file_read(&reader->file, crc_at, word, sizeof word, err);
            if (status >= 0 && mldfi_load_u32(word) != mldfi_crc32c(0, block, part))
                status = mldfi_fail_at(err, MLDF_E_CHECKSUM, table->ptr + at,
                                       "the allocation table is damaged; see mldf verify");
        }
        if (status >= 0)
            status = mldfi_stream_push(&writer->tables.allocations, block, part, err);
        if (status < 0)
            return status;
    }
    return MLDF_OK;
}

/* One row with its validity, key and statistics. The largest value of a compressed field and the least and largest ids of tokens are not
 * in the row: they come from the old statistics. */
static mldf_status replay_row(mldf_writer *writer, const mldf_reader *reader, uint64_t sample,
                              const struct row_extension *extension, mldf_buffer *scratch, uint8_t *valid,
                              struct value_note *notes, mldf_error *err) {
    const mldf_schema *schema = reader->schema;
    const uint8_t *row;
    const char *key = NULL;
    size_t key_bytes = 0;
    mldf_buffer key_scratch = MLDF_BUFFER_INIT;
    scratch->size = 0;
    mldf_status status = mldfi_reader_row(reader, sample, scratch, &row, err);
    for (size_t f = 0; f < schema->field_count && status >= 0; f++) {
        const struct schema_field *field = &schema->fields[f];
        if (field->nullable_index != SIZE_MAX) {
            bool is_valid;
            status = mldfi_reader_is_valid(reader, sample, f, &is_valid, err);
            valid[field->nullable_index] = status >= 0 && is_valid;
        }
        if (field->payload_index == SIZE_MAX)
            continue;
        uint64_t ptr, bytes;
        mldfi_record_payload(field, row + field->info.row_offset, &ptr, &bytes);
        if (writer->crypt)
            bytes = mldfi_crypt_value_bytes(bytes, field->chunked);
        notes[field->payload_index].bytes = (field->info.flags & MLDF_FIELD_COMPRESSED) ? 0 : bytes;
    }
    if (status >= 0 && reader->keys)
        status = mldf_reader_key(reader, sample, &key_scratch, &key, &key_bytes, err);
    if (status >= 0 && extension)
        status = extension->extend(extension->user, sample, &row, valid, err);
    if (status >= 0)
        status = mldfi_tables_add_sample(&writer->tables, row, valid, notes, key, key_bytes, err);
    if (status >= 0)
        status = mldfi_tables_add_rows(&writer->tables, row, 1, err);
    mldf_buffer_free(&key_scratch);
    return status;
}

mldf_status mldfi_replay_rows(mldf_writer *writer, const mldf_reader *reader, const struct row_extension *extension,
                              mldf_error *err) {
    const mldf_schema *schema = writer->schema;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    uint8_t *valid = mldfi_alloc_zero(schema->nullable_count + 1, 1, err);
    struct value_note *notes = mldfi_alloc_zero(schema->payload_count + 1, sizeof *notes, err);
    mldf_status status = valid && notes ? MLDF_OK : MLDF_E_MEMORY;
    for (uint64_t i = 0; i < reader->header.num_samples && status >= 0; i++) {
        status = replay_row(writer, reader, i, extension, &scratch, valid, notes, err);
        if (status >= 0 && i % 4096 == 0)
            status = mldfi_tick(writer, "replay", i, reader->header.num_samples, err);
    }
    if (reader->header.num_samples == 0 && reader->keys)
        writer->tables.keys = KEYS_ALL;
    for (size_t f = 0; f < reader->schema->field_count && status >= 0 && reader->stats; f++) {
        mldf_field_stats *now = &writer->tables.stats[f].stats;
        if (now->value_bytes_max < reader->stats[f].value_bytes_max)
            now->value_bytes_max = reader->stats[f].value_bytes_max;
        const struct field_type *type = reader->schema->fields[f].type;
        if (type && type->range && reader->stats[f].number_kind == 2) /* the rows do not say it */
            mldfi_stats_range(&writer->tables.stats[f], reader->stats[f].min.u, reader->stats[f].max.u);
    }
    writer->tables.without_stats = reader->stats == NULL && reader->header.num_samples > 0;
    free(valid);
    free(notes);
    mldf_buffer_free(&scratch);
    return status;
}

static mldf_status replay(mldf_writer *writer, const mldf_reader *reader, mldf_error *err) {
    struct table_builder *tables = &writer->tables;
    tables->data_ptr = writer->data_ptr;
    tables->page_size = writer->page_size;
    mldf_status status = mldfi_replay_rows(writer, reader, NULL, err);
    if (status >= 0)
        status = mldfi_replay_allocation(writer, reader, err);
    if (status >= 0 && reader->checks)
        status = mldfi_replay_section(reader, reader->checks, SECTION_STEP, push_bytes, &tables->checks, err);
    struct page_replay pages = {tables, 0};
    return status < 0 ? status : mldfi_replay_page_map(reader, push_pages, &pages, err);
}

/* ---- Opening ------------------------------------------------------------------------------------------------------------ */

static mldf_status check_appendable(const mldf_reader *reader, mldf_error *err) {
    if (reader->draft)
        return mldfi_fail(err, MLDF_E_STATE,
                          "a version 1.0 file cannot be appended to; rewrite it with mldf repack first");
    if (reader->header.version_minor > 1)
        return mldfi_fail(err, MLDF_E_STATE, "format 1.%u is newer than this version, which appends to 1.1 only",
                          reader->header.version_minor);
    if (reader->sealed_bytes)
        return mldfi_fail(
            err, MLDF_E_STATE,
            "a file whose tables are encrypted (encrypt_all) cannot be changed in place; write a new one with "
            "mldf merge or mldf repack");
    if (reader->generation == UINT32_MAX)
        return mldfi_fail(err, MLDF_E_LIMIT,
                          "the file was appended to 2^32 - 1 times; rewrite it with mldf repack first");
    return MLDF_OK;
}

mldf_status mldfi_append_settle(mldf_writer *writer, const mldf_reader *reader, mldf_error *err) {
    mldf_status status = MLDF_OK;
    if (reader->header_recovered) {
        status =
            mldfi_file_write(&writer->file, FORMAT_HEADER_OFFSET, writer->old_header, sizeof writer->old_header, err);
        if (status >= 0)
            status = mldfi_file_sync(&writer->file, err);
    }
    if (status >= 0 && reader->physical_bytes > reader->end)
        status = mldfi_file_truncate(&writer->file, reader->end, err);
    writer->appending = status >= 0;
    return status;
}

/* Header, descriptors and long arguments byte for byte: sums and copies of them are made of what stands in the file. */
static mldf_status take_front(mldf_writer *writer, const mldf_reader *reader, mldf_error *err) {
    const struct table_ref *table = &reader->tables.descriptors;
    const struct section *section = mldfi_reader_find_section(reader, SECTION_LONG_ARGUMENTS);
    uint64_t header_at = reader->header_recovered ? reader->footer_ptr : FORMAT_HEADER_OFFSET;
    mldf_buffer *descriptors = &writer->old_descriptors;
    mldf_status status = mldfi_reader_copy(reader, header_at, writer->old_header, sizeof writer->old_header, err);
    if (status >= 0)
        status = mldfi_buffer_resize(descriptors, (size_t)table->bytes, err);
    if (status >= 0)
        status = mldfi_reader_copy(reader, table->ptr, descriptors->data, descriptors->size, err);
    if (status >= 0 && section)
        status = read_section(reader, section, &writer->old_long_arguments, err);
    return status;
}

static mldf_status take_over(mldf_writer *writer, const mldf_reader *reader, const mldf_writer_options *options,
                             mldf_error *err) {
    mldf_status status = mldfi_schema_copy(reader->schema, &writer->schema, err);
    if (status >= 0)
        status = take_front(writer, reader, err);
    if (status >= 0 && reader->encrypted) {
        const struct section *section = mldfi_reader_find_section(reader, SECTION_ENCRYPTION);
        uint8_t bytes[MLDFI_CRYPT_SECTION_BYTES];
        status = mldfi_file_read(&reader->file, section->ptr, bytes, sizeof bytes, err);
        if (status >= 0)
            status = mldfi_crypt_open(&writer->crypt, bytes, &options->secret, err);
    }
    if (status >= 0 && reader->card) {
        mldf_buffer card = MLDF_BUFFER_INIT;
        status = read_section(reader, reader->card, &card, err);
        if (status >= 0 && !(writer->card = mldfi_copy_text((const char *)card.data, card.size, err)))
            status = MLDF_E_MEMORY;
        writer->card_bytes = card.size;
        mldf_buffer_free(&card);
    }
    writer->options.no_checksums = !(reader->header.flags & FORMAT_FLAG_CHECKSUMMED);
    writer->page_size = reader->header.page_size;
    writer->data_ptr = reader->header.data_ptr;
    writer->cursor = writer->writeback_from = mldfi_align_up(reader->end, 64);
    writer->old_end = reader->end;
    writer->old_samples = reader->header.num_samples;
    writer->old_descriptor_ptr = reader->header.field_desc_ptr;
    writer->generation = reader->generation + 1;
    return status < 0 ? status : keep_sections(writer, reader, err);
}

mldf_status mldfi_append_open(mldf_writer *writer, const char *path, const mldf_writer_options *options,
                              mldf_reader **reader, mldf_error *err) {
    mldf_reader_options how = MLDF_READER_OPTIONS_INIT;
    how.context = options->context;
    how.secret = options->secret;
    how.verify = true;
    if (!(writer->appended = mldfi_path_absolute(path, err)))
        return MLDF_E_MEMORY;
    mldf_status status = mldfi_file_open(&writer->file, path, OS_OPEN_READ_WRITE, err);
    if (status >= 0)
        status = mldfi_file_lock(&writer->file, err);
    if (status >= 0)
        status = mldfi_reader_open_native(path, &how, reader, err);
    if (status >= 0 && !mldfi_file_same(&writer->file, &(*reader)->file))
        status = mldfi_fail_file(err, MLDF_E_CHANGED, path, "was replaced while it was opened");
    if (status >= 0)
        status = check_appendable(*reader, err);
    if (status >= 0)
        status = take_over(writer, *reader, options, err);
    return status;
}

mldf_status mldfi_append_begin(mldf_writer *writer, const char *path, const mldf_writer_options *options,
                               mldf_error *err) {
    mldf_reader *reader = NULL;
    mldf_status status = mldfi_append_open(writer, path, options, &reader, err);
    if (status >= 0)
        status = mldfi_tables_init(&writer->tables, writer->schema, path, err);
    if (status >= 0)
        status = replay(writer, reader, err);
    if (status >= 0)
        status = mldfi_append_settle(writer, reader, err);
    mldf_reader_close(reader);
    return status;
}
