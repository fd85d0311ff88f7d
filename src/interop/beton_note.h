/* What MLDF has no field type for is noted in the card of a file that comes from a .beton, so that a way back exists:
 *
 *     {"beton": {"fields": {"x": "tensor", "y": "custom"}, "page_size": 8388608,
 *                "custom": {"y": {"record": 13, "ptr_at": 5, "align": 1, "arguments": "AQI="}}}}
 *
 * A custom field (type 255) is BYTES, its blob. The bytes of its record besides the ptr, where there are any, are the INLINE field
 * y_record of |u1. arguments: base64, trailing zeros left out. */
#ifndef MLDF_INTEROP_BETON_NOTE_H
#define MLDF_INTEROP_BETON_NOTE_H

#include "interop/beton.h"
#include "util/json.h"

enum { BETON_RECORD_MAX = 16 };

struct beton_custom {
    struct beton_width record;
    uint32_t ptr_at;
    uint8_t arguments[BETON_ARGUMENTS];
};

/* Bytes of the record besides the ptr. */
static inline uint32_t mldfi_custom_rest(uint32_t record_bytes) {
    return record_bytes > 8 ? record_bytes - 8 : 0;
}
/* The name of the field for them. */
void mldfi_custom_rest_name(const char *name, char *out, size_t out_bytes);

/* The whole card, appended. */
mldf_status mldfi_beton_note(const struct beton *beton, mldf_buffer *out, mldf_error *err);

/* ---- The way back: nodes of a parsed card, or UINT32_MAX ------------------------------------------------------------------ */

/* The member "beton", an object. */
uint32_t mldfi_note_find(const struct json *json);
/* The type's name that a field had. */
uint32_t mldfi_note_type(const struct json *json, uint32_t note, const char *field);
bool mldfi_note_page_size(const struct json *json, uint32_t note, uint64_t *out);
/* False: none is noted, or it makes no sense. */
bool mldfi_note_custom(const struct json *json, uint32_t note, const char *field, struct beton_custom *out);

#endif
