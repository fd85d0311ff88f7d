/* What the files of the token types share: records and bound arguments (tokens_type.c), paragraphs and sentences
 * (tokens_levels.c), ids (tokens_ids.c), the public face (tokens_value.c). */
#ifndef MLDF_FIELD_TOKENS_H
#define MLDF_FIELD_TOKENS_H

#include "field/type.h"
#include "mldf/tokens.h"

enum { /* places in a record */
       TOKENS_SIZE = 8,
       TOKENS_COUNT_41 = 12,
       TOKENS_ENCODING_DRAFT = 14,
       TOKENS_COUNT = 16,
       TOKENS_PIECES_42 = 20,
       TOKENS_PARAGRAPHS_43 = 20,
       TOKENS_SENTENCES_43 = 24,
       TOKENS_ZERO_43 = 28,
       TOKENS_DOCUMENTS_44 = 24
};

struct tokens_state {
    uint16_t type_id;
    bool draft;       /* no arguments: the record of the 1.0 draft, whose rows say their width */
    mldf_dtype dtype; /* U8, U16, I32 */
    uint32_t width;   /* bytes of an id */
    uint64_t limit;   /* every id is below: the vocabulary, or what the dtype holds */
};

/* A record of a token field, in numbers. */
struct tokens_record {
    mldf_dtype dtype;
    uint32_t width;
    uint64_t count, documents; /* 42: pieces; 43: paragraphs */
    uint64_t sentences;        /* 43 alone */
    uint64_t table;            /* byte of the payload where the table begins; 41: where the ids end */
    uint64_t bytes;            /* of the whole payload */
};
/* False when the record makes no sense: more bytes than 2^64, or a coding of the draft that is not of ids. */
bool mldfi_tokens_record(const struct tokens_state *state, const uint8_t *record, uint64_t payload_bytes,
                         struct tokens_record *out);
/* Bytes of an entry of the table: 43 has one for each paragraph, then one for each sentence. */
static inline uint32_t mldfi_tokens_entry(uint16_t type_id) {
    return type_id == MLDF_TEXT_TOKENIZED ? 0 : type_id == MLDF_TEXT_HIERARCHICAL ? 4 : 8;
}
bool mldfi_is_tokens(uint16_t type_id);

/* tokens_levels.c: the tables of 43. What a record says of its levels, and the last ends where `table` is not NULL; */
mldf_status mldfi_levels_check(const struct tokens_record *r, const uint8_t *table, mldf_error *err);
/* all ends: they ascend, and each paragraph ends with a sentence; */
mldf_status mldfi_levels_check_ends(const struct tokens_record *r, const uint8_t *table, mldf_error *err);
/* and the levels as parts of a value, FIELD.paragraphs and FIELD.sentences (field.h). */
mldf_status mldfi_level_part(const struct schema_field *field, size_t index, struct field_part *out, mldf_error *err);
mldf_status mldfi_level_part_edge(const struct schema_field *field, const struct field_part *part,
                                  const struct value_bounds *bounds, struct edge *out, mldf_error *err);
uint64_t mldfi_level_part_table(const struct schema_field *field, const struct field_part *part, const uint8_t *record,
                                uint64_t *offset);
mldf_status mldfi_level_part_column(const struct schema_field *field, const struct field_part *part,
                                    const uint8_t *record, uint64_t payload_bytes, const uint8_t *table,
                                    mldf_buffer *out, mldf_error *err);
bool mldfi_levels_same(const mldf_value *a, const mldf_value *b);

/* tokens_agree.c: MLDF_E_SCHEMA names what differs between token fields of two files. Other fields agree. */
mldf_status mldfi_tokens_agree(const struct schema_field *a, const struct schema_field *b, mldf_error *err);

/* tokens_ids.c */
struct id_range {
    int64_t least;
    uint64_t most;
};
/* The least and largest of `count` ids of any integer dtype; count > 0. */
struct id_range mldfi_ids_range(mldf_dtype dtype, const void *ids, uint64_t count);
/* The first id that is below 0 or not below limit; count: there is none. */
uint64_t mldfi_ids_find_outside(mldf_dtype dtype, const void *ids, uint64_t count, uint64_t limit);
int64_t mldfi_id_at(mldf_dtype dtype, const void *ids, uint64_t index); /* a u64 above 2^63 - 1 is INT64_MAX */
/* Ids that fit are copied to another dtype. */
void mldfi_ids_convert(mldf_dtype from, const void *ids, uint64_t count, mldf_dtype to, void *out);

/* Traits of types with a table of documents: field.h. */
bool mldfi_packed_same(const mldf_value *a, const mldf_value *b);
bool mldfi_stream_same(const mldf_value *a, const mldf_value *b);
mldf_status mldfi_tokens_json(const struct schema_field *field, const mldf_value *value, bool full, mldf_buffer *out,
                              mldf_error *err);
mldf_status mldfi_tokens_export(const struct schema_field *field, const mldf_value *value, struct media_kit *kit,
                                struct export_room *room, struct exported *out, mldf_error *err);

/* The bytes form in which a value with a table is handed to the writer: 24 bytes {u64 count, u64 documents, u32 dtype, u32 0}, ids, zeros to
 * a multiple of 8, the table. Of 43 the second number is {u32 paragraphs, u32 sentences}. */
enum { TOKENS_HEAD = 24 };

#endif
