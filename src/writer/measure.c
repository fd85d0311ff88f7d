/* See measure.h. What is counted here is what job.c encodes, place.c places and finish.c writes; sizes depend on nothing else, so both
 * layouts of a file whose page size is not decided are carried along side by side. */
#include "writer/measure.h"

#include <stdlib.h>
#include <string.h>

#include "codec/crypt.h"
#include "codec/zstd.h"
#include "format/format.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/json.h"
#include "writer/writer.h"

static struct meter_layout begin_layout(const struct size_meter *m, uint64_t page_size) {
    uint64_t data = mldfi_align_up(
        FORMAT_DESCRIPTOR_OFFSET + (uint64_t)FORMAT_DESCRIPTOR_BYTES * m->schema->field_count, page_size);
    return (struct meter_layout){page_size, data, data};
}

static mldf_status measure_texts(struct size_meter *m, const mldf_writer_options *options, mldf_error *err) {
    mldf_buffer text = MLDF_BUFFER_INIT;
    mldf_status status = mldfi_long_arguments(m->schema, &text, err);
    m->long_argument_bytes = text.size;
    text.size = 0;
    if (status >= 0 && options->card)
        status = mldfi_json_canonicalize(options->card, options->card_bytes, &text, err);
    m->card_bytes = text.size;
    mldf_buffer_free(&text);
    return status;
}

mldf_status mldfi_meter_begin(struct size_meter *m, const mldf_schema *schema, const mldf_writer_options *options,
                              mldf_error *err) {
    memset(m, 0, sizeof *m);
    m->schema = schema;
    m->automatic = options->page_size == 0;
    m->checksums = !options->no_checksums;
    m->encrypted = options->secret.key || options->secret.passphrase;
    m->now.small = begin_layout(m, m->automatic ? FORMAT_AUTO_SMALL_PAGE : options->page_size);
    m->now.large = begin_layout(m, FORMAT_AUTO_PAGE);
    m->placements = mldfi_alloc_zero(schema->payload_count + 1, sizeof *m->placements, err);
    m->placed = mldfi_alloc_zero(schema->payload_count + 1, sizeof *m->placed, err);
    mldf_status status = m->placements && m->placed ? MLDF_OK : MLDF_E_MEMORY;
    if (status >= 0)
        status = mldfi_zstd_compressor_new(&m->compressor, NULL, err);
    if (status >= 0)
        status = measure_texts(m, options, err);
    if (status < 0)
        mldfi_meter_free(m);
    return status;
}

void mldfi_meter_free(struct size_meter *m) {
    free(m->placements);
    free(m->placed);
    mldfi_zstd_compressor_free(m->compressor);
    mldf_buffer_free(&m->compressed);
    memset(m, 0, sizeof *m);
}

void mldfi_meter_reset(struct size_meter *m) {
    m->now = (struct meter_state){.small = begin_layout(m, m->now.small.page_size),
                                  .large = begin_layout(m, m->now.large.page_size)};
}

/* ---- Samples -------------------------------------------------------------------------------------------------------------- */

/* As encode_payload and collect have it. */
static mldf_status measure_payload(struct size_meter *m, const struct schema_field *field, const mldf_value *value,
                                   struct placement *out, mldf_error *err) {
    bool array = field->layout.viewable && (!field->type || !field->type->is_viewable ||
                                            field->type->is_viewable((const uint8_t *)value->record));
    bool viewable = array && value->bytes >= 1024 && !m->encrypted, compressed = false;
    out->bytes = value->bytes;
    if (field->info.flags & MLDF_FIELD_COMPRESSED) {
        uint64_t raw;
        uint8_t codec;
        m->compressed.size = 0;
        mldf_status status =
            mldfi_zstd_compress(m->compressor, field->info.compress_level ? field->info.compress_level : 3, value->data,
                                (size_t)value->bytes, &m->compressed, err);
        if (status < 0)
            return status;
        mldfi_prefix_decode(m->compressed.data, &raw, &codec);
        compressed = true;
        viewable = viewable && codec == MLDFI_CODEC_STORED;
        out->bytes = m->compressed.size;
    }
    out->bytes += m->encrypted ? MLDFI_CRYPT_OVERHEAD : 0;
    out->lead = compressed && viewable ? MLDFI_PREFIX_BYTES : 0;
    out->align = viewable ? 64 : 8;
    return MLDF_OK;
}

static mldf_status place(struct size_meter *m, struct meter_layout *layout, size_t count, mldf_error *err) {
    memcpy(m->placed, m->placements, count * sizeof *m->placed);
    if (mldfi_place_sample(m->placed, count, layout->page_size, &layout->cursor))
        return MLDF_OK;
    return mldfi_fail(err, MLDF_E_LIMIT, "the file would be larger than 2^63 bytes");
}

static uint64_t size_of(const struct size_meter *m, const struct meter_state *s);

mldf_status mldfi_meter_try(struct size_meter *m, const mldf_value *values, const char *key, size_t key_bytes,
                            uint64_t *file_bytes, mldf_error *err) {
    const mldf_schema *schema = m->schema;
    size_t count = 0;
    mldf_status status = MLDF_OK;
    for (size_t f = 0; status >= 0 && f < schema->field_count; f++)
        if (schema->fields[f].payload_index != SIZE_MAX && values[f].kind != MLDF_KIND_NULL && values[f].bytes)
            status = measure_payload(m, &schema->fields[f], &values[f], &m->placements[count++], err);
    m->next = m->now;
    m->next.samples++;
    m->next.allocations += count;
    m->next.keys = key != NULL;
    m->next.key_bytes += key ? key_bytes : 0;
    if (status >= 0)
        status = place(m, &m->next.small, count, err);
    if (status >= 0)
        status = place(m, &m->next.large, count, err);
    *file_bytes = status >= 0 ? size_of(m, &m->next) : 0;
    return status;
}

void mldfi_meter_keep(struct size_meter *m) {
    m->now = m->next;
}

uint64_t mldfi_meter_bytes(const struct size_meter *m) {
    return size_of(m, &m->now);
}

/* ---- The file ------------------------------------------------------------------------------------------------------------- */

static void add_section(uint64_t *at, uint64_t *count, uint64_t bytes) {
    *at = mldfi_align_up(*at, 8) + bytes;
    ++*count;
}

/* As lay_out and lay_out_sections of finish.c have it. */
static uint64_t size_of(const struct size_meter *m, const struct meter_state *s) {
    const mldf_schema *schema = m->schema;
    bool is_large = m->automatic && s->small.cursor - s->small.data_ptr > FORMAT_AUTO_HOLD;
    const struct meter_layout *layout = is_large ? &s->large : &s->small;
    uint64_t descriptors = (uint64_t)FORMAT_DESCRIPTOR_BYTES * schema->field_count,
             rows = s->samples * schema->row_bytes;
    uint64_t allocations = s->allocations * FORMAT_ALLOCATION_BYTES, sections = 0;
    uint64_t metadata = mldfi_align_up(layout->cursor, 64), at = mldfi_align_up(metadata + rows, 64) + allocations;
    uint64_t blocks = mldfi_crc_blocks(descriptors) + mldfi_crc_blocks(rows) + mldfi_crc_blocks(allocations);
    uint64_t pages = (metadata - layout->data_ptr + layout->page_size - 1) / layout->page_size;
    add_section(&at, &sections, FORMAT_TABLES_BYTES + (m->checksums ? 4 * blocks : 0));
    if (m->checksums && schema->payload_count)
        add_section(&at, &sections, 4 * s->samples * schema->payload_count);
    if (schema->nullable_count)
        add_section(&at, &sections, schema->nullable_count * mldfi_align_up((s->samples + 7) / 8, 8));
    if (s->keys)
        add_section(&at, &sections,
                    8 * (s->samples + 1) + mldfi_align_up(s->key_bytes, 8) +
                        (UINT64_C(8) << mldfi_key_param(s->samples)));
    if (schema->payload_count)
        add_section(&at, &sections, 8 * pages);
    if (m->long_argument_bytes)
        add_section(&at, &sections, m->long_argument_bytes);
    add_section(&at, &sections, (uint64_t)FORMAT_STATS_BYTES * schema->field_count);
    if (m->card_bytes)
        add_section(&at, &sections, m->card_bytes);
    if (m->encrypted)
        add_section(&at, &sections, MLDFI_CRYPT_SECTION_BYTES);
    uint64_t directory = mldfi_align_up(at, 8) + FORMAT_DIRECTORY_HEAD_BYTES + FORMAT_DIRECTORY_ENTRY_BYTES * sections;
    return mldfi_align_up(directory, 8) + FORMAT_FOOTER_BYTES;
}
