/* See end_layout.h. The order of the sections is that of the specification's writer, and part of what "the same samples give the same bytes"
 * means. */
#include "writer/end_layout.h"

#include "codec/crypt.h"
#include "util/bytes.h"
#include "writer/writer.h"

void mldfi_end_tables(const struct end_counts *c, struct end_layout *out) {
    out->metadata_ptr = mldfi_align_up(c->cursor, 64);
    out->metadata_bytes = c->samples * c->schema->row_bytes;
    out->alloc_table_ptr = mldfi_align_up(out->metadata_ptr + out->metadata_bytes, 64);
    out->pages = (out->metadata_ptr - c->data_ptr + c->page_size - 1) / c->page_size;
    out->next = out->alloc_table_ptr + c->allocation_bytes;
}

struct sections {
    uint64_t at;
    end_section_fn tell;
    void *user;
};

static void add(struct sections *s, uint32_t kind, uint64_t bytes, uint64_t param, bool required) {
    struct section section = {.kind = kind,
                              .flags = required ? SECTION_FLAG_REQUIRED : 0,
                              .ptr = mldfi_align_up(s->at, 8),
                              .size = bytes,
                              .param = param};
    s->at = section.ptr + bytes;
    s->tell(s->user, &section);
}

/* Those that follow from the samples. */
static void add_tables(struct sections *s, const struct end_counts *c, const struct end_layout *layout) {
    const mldf_schema *schema = c->schema;
    uint64_t blocks = mldfi_crc_blocks(c->descriptor_bytes) + mldfi_crc_blocks(layout->metadata_bytes) +
                      mldfi_crc_blocks(c->allocation_bytes);
    add(s, SECTION_TABLES, FORMAT_TABLES_BYTES + (c->checksums ? 4 * blocks : 0), c->tables_param, false);
    if (c->checksums && schema->payload_count)
        add(s, SECTION_CHECKS, 4 * c->samples * schema->payload_count, schema->payload_count, false);
    if (schema->nullable_count)
        add(s, SECTION_VALIDITY, schema->nullable_count * mldfi_align_up((c->samples + 7) / 8, 8),
            schema->nullable_count, false);
    if (c->keys) {
        uint32_t param = mldfi_key_param(c->samples);
        uint64_t bytes = 8 * (c->samples + 1) + mldfi_align_up(c->key_bytes, 8);
        add(s, SECTION_KEYS, bytes + (UINT64_C(8) << param), param, false);
    }
    if (schema->payload_count)
        add(s, SECTION_PAGE_MAP, 8 * layout->pages, c->page_size, false);
}

uint64_t mldfi_end_sections(const struct end_counts *c, const struct end_layout *layout, uint64_t at,
                            end_section_fn section, void *user) {
    struct sections s = {at, section, user};
    add_tables(&s, c, layout);
    if (c->dictionary_bytes)
        add(&s, c->dictionary_sealed ? SECTION_SEALED_DICTIONARY : SECTION_DICTIONARY, c->dictionary_bytes, 0, true);
    if (c->long_argument_bytes)
        add(&s, SECTION_LONG_ARGUMENTS, c->long_argument_bytes, 0, true);
    if (c->history_bytes)
        add(&s, SECTION_HISTORY, c->history_bytes, 0, false);
    if (c->stats)
        add(&s, SECTION_STATS, (uint64_t)FORMAT_STATS_BYTES * c->schema->field_count, FORMAT_STATS_BYTES, false);
    if (c->card)
        add(&s, SECTION_CARD, c->card_bytes, 0, false);
    for (size_t i = 0; i < c->kept_count; i++)
        add(&s, c->kept[i].section.kind, c->kept[i].bytes.size, c->kept[i].section.param,
            c->kept[i].section.flags & SECTION_FLAG_REQUIRED);
    if (c->encrypted)
        add(&s, SECTION_ENCRYPTION, MLDFI_CRYPT_SECTION_BYTES, 0, true);
    return mldfi_align_up(s.at, 8);
}
