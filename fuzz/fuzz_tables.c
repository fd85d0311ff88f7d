/* The parsers of single structures: the first byte of the input chooses one, the rest is its bytes. What a parser accepts must
 * survive encoding and parsing again. */
#include <stdlib.h>
#include <string.h>

#include "field/field.h"
#include "format/format.h"
#include "format/stats.h"
#include "util/bytes.h"
#include "util/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool good) {
    if (!good)
        abort();
}

static void fuzz_header(const uint8_t *data, size_t size) {
    struct header header;
    uint8_t again[FORMAT_HEADER_BYTES];
    mldf_error err;
    if (size < sizeof again)
        return;
    mldfi_header_load(data, &header);
    (void)mldfi_header_check(&header, FORMAT_HEADER_OFFSET, &err);
    (void)mldfi_header_check(&header, 4096, &err);
    mldfi_header_encode(&header, again);
    require(memcmp(again, data, 18) == 0 && memcmp(again + 20, data + 20, 44) == 0);
}

static void fuzz_descriptor(const uint8_t *data, size_t size) {
    struct descriptor one, other;
    struct row_cursor row = {0, 1};
    uint8_t bytes[FORMAT_DESCRIPTOR_BYTES];
    mldf_schema *schema;
    mldf_error err;
    if (size < sizeof bytes || mldfi_descriptor_decode(data, 128, &one, &err) < 0)
        return;
    mldfi_descriptor_encode(&one, bytes);
    require(mldfi_descriptor_decode(bytes, 128, &other, &err) == MLDF_OK && strcmp(one.name, other.name) == 0 &&
            one.flags == other.flags && one.type_id == other.type_id && one.metadata_size == other.metadata_size);
    require(mldfi_row_add(&row, &one, 128, &err) == MLDF_OK && mldfi_row_bytes(&row) <= FORMAT_MAX_ROW + 64);
    if (mldf_schema_new(NULL, &schema, &err) < 0)
        return;
    /* What follows the descriptor serves as long arguments. */
    bool is_long = one.arguments_bytes == FORMAT_LONG_ARGUMENTS;
    const char *text = is_long ? (const char *)data + sizeof bytes : (const char *)one.arguments;
    size_t text_bytes = is_long ? size - sizeof bytes : one.arguments_bytes;
    if (mldfi_schema_add_descriptor(schema, &one, text, text_bytes, false, 128, &err) == MLDF_OK) {
        struct descriptor made;
        bool made_long;
        mldfi_schema_descriptor(schema, 0, &made, &made_long);
        require(strcmp(made.name, one.name) == 0 && made.metadata_size == one.metadata_size);
    }
    mldf_schema_free(schema);
}

static void fuzz_directory(const uint8_t *data, size_t size) {
    uint32_t count, crc;
    mldf_error err;
    if (size < FORMAT_DIRECTORY_HEAD_BYTES || mldfi_directory_head_decode(data, 4096, &count, &crc, &err) < 0)
        return;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t at = FORMAT_DIRECTORY_HEAD_BYTES + (uint64_t)i * FORMAT_DIRECTORY_ENTRY_BYTES;
        struct section section;
        uint8_t again[FORMAT_DIRECTORY_ENTRY_BYTES];
        if (at + sizeof again > size)
            return;
        if (mldfi_section_decode(data + at, 4096 + at, 1 << 20, &section, &err) < 0)
            continue;
        require(section.ptr >= FORMAT_PREFIX_BYTES && mldfi_range_inside(section.ptr, section.size, 1 << 20));
        require(mldfi_section_name(section.kind) != NULL);
        mldfi_section_encode(&section, again);
        require(memcmp(again, data + at, 28) == 0 && memcmp(again + 32, data + at + 32, 8) == 0);
    }
}

static void fuzz_footer(const uint8_t *data, size_t size) {
    struct footer footer;
    uint8_t again[FORMAT_FOOTER_BYTES];
    if (size < sizeof again || !mldfi_footer_decode(data, &footer))
        return;
    mldfi_footer_encode(&footer, again);
    require(memcmp(again, data, sizeof again) == 0);
}

static void fuzz_draft(const uint8_t *data, size_t size) {
    struct descriptor descriptor;
    mldf_schema *schema;
    mldf_error err;
    size_t stride, count;
    if (size < 1)
        return;
    count = data[0] % 16 + 1;
    data++;
    size--;
    if (mldfi_draft_stride(data, size, count, 73, &stride, &err) < 0)
        return;
    require(stride * count <= size && (stride == 204 || stride == 208));
    if (mldf_schema_new(NULL, &schema, &err) < 0)
        return;
    for (size_t i = 0; i < count; i++)
        if (mldfi_draft_descriptor_decode(data + i * stride, stride, 73 + i * stride, &descriptor, &err) < 0 ||
            mldfi_schema_add_descriptor(schema, &descriptor, "", 0, true, 73 + i * stride, &err) < 0)
            break;
    mldf_schema_free(schema);
}

static void fuzz_json(const uint8_t *data, size_t size) {
    struct json json = {0}, again = {0};
    mldf_buffer text = MLDF_BUFFER_INIT, more = MLDF_BUFFER_INIT;
    mldf_error err;
    mldf_status valid = mldfi_json_validate((const char *)data, size, &err);
    mldf_status strict = mldfi_json_validate_strict((const char *)data, size, &err);
    mldf_status parsed = mldfi_json_parse(&json, (const char *)data, size, &err);
    require(strict == parsed);
    if (parsed == MLDF_OK) {
        require(valid == MLDF_OK);
        if (mldfi_json_canonical(&json, 0, &text, &err) == MLDF_OK) {
            require(mldfi_json_parse(&again, (const char *)text.data, text.size, &err) == MLDF_OK);
            require(mldfi_json_canonical(&again, 0, &more, &err) == MLDF_OK);
            require(more.size == text.size && memcmp(more.data, text.data, text.size) == 0);
        }
    }
    mldfi_json_free(&json);
    mldfi_json_free(&again);
    mldf_buffer_free(&text);
    mldf_buffer_free(&more);
}

static void fuzz_schema(const uint8_t *data, size_t size) {
    mldf_schema *schema = NULL, *again = NULL;
    mldf_buffer text = MLDF_BUFFER_INIT;
    mldf_error err;
    if (mldf_schema_parse(NULL, (const char *)data, size, &schema, &err) == MLDF_OK) {
        require(mldf_schema_write(schema, &text, &err) == MLDF_OK);
        require(mldf_schema_parse(NULL, (const char *)text.data, text.size, &again, &err) == MLDF_OK);
        require(mldf_schema_row_bytes(schema) == mldf_schema_row_bytes(again));
    }
    mldf_schema_free(schema);
    mldf_schema_free(again);
    mldf_buffer_free(&text);
}

static void fuzz_small(const uint8_t *data, size_t size) {
    struct tables tables;
    mldf_field_stats stats = MLDF_FIELD_STATS_INIT;
    uint8_t again[FORMAT_STATS_BYTES];
    if (size < FORMAT_STATS_BYTES)
        return;
    mldfi_tables_decode(data, &tables);
    mldfi_tables_encode(&tables, again);
    require(memcmp(again, data, FORMAT_TABLES_BYTES) == 0);
    mldfi_stats_decode(data, &stats);
    mldfi_stats_encode(&stats, again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static void (*const parsers[])(const uint8_t *, size_t) = {
        fuzz_header, fuzz_descriptor, fuzz_directory, fuzz_footer, fuzz_draft, fuzz_json, fuzz_schema, fuzz_small};
    if (size > 0)
        parsers[data[0] % (sizeof parsers / sizeof parsers[0])](data + 1, size - 1);
    return 0;
}
