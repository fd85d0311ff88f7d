/* MULTIMODAL (50): a sample made of parts in document order, each a value of one of the kinds that the field's arguments list.
 *
 *   multimodal_type.c     arguments → kinds, the record, what a field type answers
 *   multimodal_parts.c    the table of parts: reading and checking an entry, totals, mldf/multimodal.h
 *   multimodal_encode.c   a caller's list of parts → record and payload
 *
 *     record    0 ptr u64 · 8 size u64 · 16 mask u32 · 20 parts u32 · 24 tokens u32 · 28 images u32 · 32 pixels u64 · 40 samples u64 · 48 milliseconds u64
 *     payload   entry[parts] · the parts' payloads
 *     entry     0 kind u16 · 2 flags u16 (1: null) · 4 group u32 · 8 begin i64 · 16 record, 48 bytes: that of the kind, zeros after it
 *               where a kind's record is longer than that (videos as packets), all entries have 96 bytes, 80 of them for the record
 *
 * A part's record is what a field of its kind would have in a row; its ptr counts from the payload's first byte. */
#ifndef MLDF_FIELD_MULTIMODAL_H
#define MLDF_FIELD_MULTIMODAL_H

#include "field/type.h"
#include "mldf/multimodal.h"

enum {
    PARTS_RECORD = 56,
    PARTS_SIZE = 8,
    PARTS_MASK = 16,
    PARTS_COUNT = 20,
    PARTS_TOKENS = 24,
    PARTS_IMAGES = 28,
    PARTS_PIXELS = 32,
    PARTS_SAMPLES = 40,
    PARTS_MILLISECONDS = 48,

    ENTRY_BYTES = 64, /* of fields whose kinds all have records of ENTRY_RECORD_MAX or less */
    ENTRY_WIDE = 96,
    ENTRY_FLAGS = 2,
    ENTRY_GROUP = 4,
    ENTRY_BEGIN = 8,
    ENTRY_RECORD = 16,
    ENTRY_RECORD_MAX = 48,
    ENTRY_RECORD_WIDE = 80,
    ENTRY_NULL = 1,

    PARTS_KINDS = 32, /* bits of the mask */
    PARTS_ALIGN = 64
};

struct multimodal_state {
    mldf_schema *kinds;   /* a field for each: its name is the role */
    uint32_t entry_bytes; /* ENTRY_BYTES or ENTRY_WIDE */
};

/* What the record says of all parts together. */
struct parts_totals {
    uint32_t mask, tokens, images;
    uint64_t pixels, samples, milliseconds;
};

/* One part, checked: its kind exists, its bytes lie in the payload behind the table. */
struct parts_entry {
    uint16_t kind;
    bool null;
    uint32_t group;
    int64_t begin;
    const struct schema_field *of;
    uint8_t record[ENTRY_RECORD_WIDE]; /* record_bytes of them; ptr as it is stored */
    uint64_t offset, bytes;            /* of its payload; 0, 0: it has none */
};

/* The number of parts, held against the payload's size. The error's offset counts from the record's first byte. */
mldf_status mldfi_parts_check_record(const struct multimodal_state *s, const uint8_t *record, uint64_t payload_bytes,
                                     mldf_error *err);
/* Entry `index` of a table at `table`, of a payload of payload_bytes. The message names the part. */
mldf_status mldfi_parts_entry(const struct multimodal_state *s, const uint8_t *table, uint64_t parts,
                              uint64_t payload_bytes, uint64_t index, struct parts_entry *out, mldf_error *err);
/* Is one of the parts packed (field_type.is_packed)? */
bool mldfi_parts_hold_packed(const struct schema_field *field, const mldf_value *value);
/* Adds what a part counts; MLDF_E_RANGE: more tokens or images than a record holds. */
mldf_status mldfi_parts_add(struct parts_totals *totals, const struct parts_entry *part, mldf_error *err);
/* Every entry, every part by its own type, to its end; and the totals. */
mldf_status mldfi_parts_check_deep(const struct multimodal_state *s, const uint8_t *record, const void *payload,
                                   uint64_t payload_bytes, mldf_error *err);
/* An error of a part's own type: the byte and the field are those of the sample, which others know. */
void mldfi_parts_unplace(mldf_error *err);
/* How long a part is: tokens, bytes of text, elements along the first dimension, frames, samples; 1 for what has no length. */
uint64_t mldfi_parts_length(const struct parts_entry *part);
/* A part that its own type shows no better: a number, text, JSON, an array's dtype and shape, bytes. Long text is cut unless `full`. */
mldf_status mldfi_parts_plain_json(const mldf_value *value, bool full, mldf_buffer *out, mldf_error *err);
/* Of a list of parts (multimodal_encode.c), with what the thread keeps for the parts' types. */
mldf_status mldfi_multimodal_encode(void *user, const void *state, const mldf_value *value, uint8_t *record,
                                    mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes,
                                    mldf_error *err);
mldf_status mldfi_multimodal_encode_worker(const struct schema_field *field, void *worker, const mldf_value *value,
                                           uint8_t *record, mldf_buffer *scratch, const void **payload,
                                           uint64_t *payload_bytes, mldf_error *err);

#endif
