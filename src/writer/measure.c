/* See measure.h. What is counted here is what job.c encodes and place.c places; end_layout.c says what finish_file.c writes behind it. Both
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
#include "writer/end_layout.h"
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
    m->sealed = options->encrypt_all;
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
    if (m->encrypted)
        out->bytes = mldfi_crypt_sealed_bytes(out->bytes, mldfi_field_seals_chunks(field));
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

static void count_section(void *user, const struct section *section) {
    (void)section;
    ++*(uint64_t *)user;
}

static uint64_t size_of(const struct size_meter *m, const struct meter_state *s) {
    bool is_large = m->automatic && mldfi_wants_large_pages(s->small.cursor - s->small.data_ptr, s->allocations);
    const struct meter_layout *layout = is_large ? &s->large : &s->small;
    struct end_counts counts = {.schema = m->schema,
                                .checksums = m->checksums,
                                .keys = s->keys,
                                .stats = true,
                                .encrypted = m->encrypted,
                                .card = m->card_bytes > 0,
                                .page_size = layout->page_size,
                                .data_ptr = layout->data_ptr,
                                .cursor = layout->cursor,
                                .samples = s->samples,
                                .key_bytes = s->key_bytes,
                                .allocation_bytes = s->allocations * FORMAT_ALLOCATION_BYTES,
                                .descriptor_bytes = (uint64_t)FORMAT_DESCRIPTOR_BYTES * m->schema->field_count,
                                .long_argument_bytes = m->long_argument_bytes,
                                .card_bytes = m->card_bytes};
    struct end_layout end;
    uint64_t sections = 0;
    mldfi_end_tables(&counts, &end);
    uint64_t directory = mldfi_end_sections(&counts, &end, end.next, count_section, &sections);
    uint64_t entries = FORMAT_DIRECTORY_HEAD_BYTES + FORMAT_DIRECTORY_ENTRY_BYTES * sections;
    uint64_t bytes = mldfi_end_footer(directory, entries) + FORMAT_FOOTER_BYTES;
    if (!m->sealed)
        return bytes;
    struct envelope envelope = {.tail_bytes = bytes - end.metadata_ptr,
                                .prefix_bytes = FORMAT_DESCRIPTOR_OFFSET + counts.descriptor_bytes};
    return mldfi_align_up(bytes + envelope.prefix_bytes + mldfi_envelope_tags(&envelope), 8) + FORMAT_ENVELOPE_BYTES;
}
