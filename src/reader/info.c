/* What a file says of itself: numbers, sections, card, statistics, the table of rows; and the stored bytes that begin at a
 * pointer, found in the allocation table by binary search. */
#include <inttypes.h>

#include "reader/foreign.h"
#include "reader/reader.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/crc32c.h"
#include "util/error.h"
#include "util/json.h"
#include "util/options.h"

uint64_t mldf_reader_sample_count(const mldf_reader *reader) {
    return reader->header.num_samples;
}

const mldf_schema *mldf_reader_schema(const mldf_reader *reader) {
    return reader->schema;
}

uint64_t mldf_reader_max_decoded(const mldf_reader *reader) {
    return reader ? reader->max_decoded : 0;
}

bool mldf_reader_is_mapped(const mldf_reader *reader) {
    return reader->mapped;
}

const char *mldf_reader_format(const mldf_reader *reader) {
    return reader->foreign.ops ? reader->foreign.ops->format : "mldf";
}

mldf_status mldf_reader_info(const mldf_reader *reader, mldf_file_info *out, mldf_error *err) {
    mldf_file_info info;
    if (!reader || !out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_reader_info: %s is NULL", reader ? "out" : "reader");
    mldf_status status = mldfi_check_result("mldf_file_info", out, err);
    if (status == MLDF_OK) {
        mldfi_reader_info(reader, &info);
        mldfi_give_result(out, &info, sizeof info);
    }
    return status;
}

void mldfi_reader_info(const mldf_reader *reader, mldf_file_info *out) {
    const struct header *header = &reader->header;
    if (reader->foreign.ops) {
        *out = (mldf_file_info){.version_major = reader->foreign.version,
                                .num_samples = header->num_samples,
                                .page_size = reader->foreign.page_size,
                                .file_bytes = reader->physical_bytes};
        return;
    }
    *out = (mldf_file_info){
        .version_major = header->version_major,
        .version_minor = header->version_minor,
        .flags = header->flags | (reader->sealed_bytes ? FORMAT_FLAG_SEALED : 0),
        .num_samples = header->num_samples,
        .page_size = header->page_size,
        .file_bytes = reader->sealed_bytes ? reader->sealed_bytes : reader->end,
        .ignored_bytes = reader->physical_bytes - reader->end,
        .descriptor_ptr = header->field_desc_ptr,
        .metadata_ptr = header->metadata_ptr,
        .data_ptr = header->data_ptr,
        .allocation_ptr = header->alloc_table_ptr,
        .directory_ptr = header->directory_ptr,
        .footer_ptr = reader->footer_ptr,
        .descriptor_bytes = reader->tables.descriptors.bytes,
        .metadata_bytes = reader->tables.metadata.bytes,
        .allocation_bytes = reader->tables.allocation.bytes,
        .allocation_count = reader->tables.allocation.entries,
        .generation = reader->generation,
        .authenticated = reader->crypt != NULL,
        .header_recovered = reader->header_recovered,
    };
}

mldf_status mldf_reader_payload_bytes(const mldf_reader *reader, uint64_t *out, mldf_error *err) {
    if (!reader->foreign.ops)
        return MLDF_ABSENT;
    mldf_status status = reader->foreign.ops->payload_bytes(reader->foreign.state, out, err);
    return status < 0 ? mldfi_reader_name_error(reader, err, status) : status;
}

/* ---- Sections ------------------------------------------------------------------------------------------------------------ */

const struct section *mldfi_reader_find_section(const mldf_reader *reader, uint32_t kind) {
    for (size_t i = 0; i < reader->section_count; i++)
        if (reader->sections[i].kind == kind)
            return &reader->sections[i];
    return NULL;
}

size_t mldf_reader_section_count(const mldf_reader *reader) {
    return reader->section_count;
}

static mldf_status check_index(const mldf_reader *reader, size_t index, mldf_error *err) {
    if (index < reader->section_count)
        return MLDF_OK;
    mldfi_fail(err, MLDF_E_ARGUMENT, "no section %zu: the directory has %zu", index, reader->section_count);
    return mldfi_reader_name_error(reader, err, MLDF_E_ARGUMENT);
}

mldf_status mldf_reader_section(const mldf_reader *reader, size_t index, mldf_section *out, mldf_error *err) {
    TRY(check_index(reader, index, err));
    const struct section *s = &reader->sections[index];
    *out = (mldf_section){.kind = s->kind,
                          .flags = s->flags,
                          .ptr = s->ptr,
                          .bytes = s->size,
                          .param = s->param,
                          .crc = s->crc,
                          .name = mldfi_section_name(s->kind)};
    return MLDF_OK;
}

static mldf_status damaged(const mldf_reader *reader, const struct section *s, mldf_error *err) {
    return mldfi_reader_fail(reader, err, MLDF_E_CHECKSUM, s->ptr,
                             "section %" PRIu32 " (%s) at byte %" PRIu64 " is damaged", s->kind,
                             mldfi_section_name(s->kind), s->ptr);
}

mldf_status mldf_reader_section_bytes(const mldf_reader *reader, size_t index, mldf_buffer *scratch, const void **data,
                                      uint64_t *bytes, mldf_error *err) {
    const uint8_t *view;
    mldf_status status = check_index(reader, index, err);
    if (status < 0)
        return status;
    const struct section *s = &reader->sections[index];
    if (scratch)
        scratch->size = 0;
    if ((status = mldfi_reader_view(reader, s->ptr, s->size, scratch, &view, err)) < 0)
        return status;
    if (reader->verify && mldfi_crc32c(0, view, (size_t)s->size) != s->crc)
        return damaged(reader, s, err);
    *data = view;
    *bytes = s->size;
    return MLDF_OK;
}

/* A10. The card is small and read once, so its CRC is always checked. */
mldf_status mldf_reader_card(const mldf_reader *reader, mldf_buffer *out, mldf_error *err) {
    const struct section *s = reader->card;
    struct json json = {0};
    if (!s && !reader->foreign.card)
        return MLDF_ABSENT;
    out->size = 0;
    if (!s)
        return mldf_buffer_append(out, reader->foreign.card, strlen(reader->foreign.card), err);
    mldf_status status = mldfi_buffer_resize(out, (size_t)s->size, err);
    if (status < 0 || (status = mldfi_reader_copy(reader, s->ptr, out->data, out->size, err)) < 0)
        return status;
    if (mldfi_crc32c(0, out->data, out->size) != s->crc)
        return damaged(reader, s, err);
    status = mldfi_json_parse(&json, (const char *)out->data, out->size, err);
    bool object = status >= 0 && json.nodes[0].kind == MLDFI_JSON_OBJECT;
    mldfi_json_free(&json);
    if (status == MLDF_E_MEMORY || object)
        return status < 0 ? status : MLDF_OK;
    return mldfi_reader_fail(reader, err, MLDF_E_CORRUPT, s->ptr, "the card at byte %" PRIu64 " is not a JSON object",
                             s->ptr);
}

mldf_status mldf_reader_stats(const mldf_reader *reader, size_t field, mldf_field_stats *out, mldf_error *err) {
    if (field >= reader->schema->field_count)
        return mldfi_reader_no_field(reader, field, err);
    if (!reader->stats)
        return MLDF_ABSENT;
    mldf_status status = mldfi_check_result("mldf_field_stats", out, err);
    if (status == MLDF_OK)
        mldfi_give_result(out, &reader->stats[field], sizeof *reader->stats);
    return status;
}

mldf_status mldf_reader_rows(const mldf_reader *reader, const void **rows, uint64_t *bytes, mldf_error *err) {
    const uint8_t *view;
    if (reader->foreign.ops)
        return mldfi_fail(err, MLDF_E_STATE, "only MLDF files have a table of rows that can be seen");
    if (!reader->mapped)
        return mldfi_fail(err, MLDF_E_STATE, "the table of rows can be seen in a mapped file only");
    uint64_t size = reader->tables.metadata.bytes;
    TRY(mldfi_reader_view(reader, size ? reader->tables.metadata.ptr : 0, size, NULL, &view, err));
    *rows = view;
    *bytes = size;
    return MLDF_OK;
}
