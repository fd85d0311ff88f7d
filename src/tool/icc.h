/* Colour profiles in the card ("icc": "card"): the images are stored without them, each different profile once in the card, and a text
 * field beside each image field names the profile of its sample by SHA-256. docs/spec/fields.md has the form. */
#ifndef MLDF_TOOL_ICC_H
#define MLDF_TOOL_ICC_H

#include "field/field.h"
#include "mldf/writer.h"

enum { ICC_PROFILES_MAX = 4096, ICC_BASE64_MAX = 32 << 20, ICC_NAME = 64 };

struct icc_profile {
    char name[ICC_NAME + 1]; /* SHA-256 in hexadecimal */
    char *base64;
};

struct icc_pair {
    size_t image, name; /* fields */
    char text[ICC_NAME + 1];
};

/* Starts as {0}. */
struct icc_set {
    struct icc_profile *profiles;
    size_t count, capacity;
    size_t base64_bytes;
    struct icc_pair *pairs;
    size_t pair_count, pair_capacity;
    mldf_buffer scratch, encoded;
};

void mldfi_icc_free(struct icc_set *set);
/* Finds the image fields with "icc": "card" and adds the text field NAME_icc for each, nullable. One that is there already is used; of
 * another type it is MLDF_E_SCHEMA. */
mldf_status mldfi_icc_add_fields(struct icc_set *set, mldf_schema *schema, mldf_error *err);
/* The same for the schema of a file, which cannot change: an image field without its text field is left alone. */
mldf_status mldfi_icc_find_fields(struct icc_set *set, const mldf_schema *schema, mldf_error *err);
/* Sets the text fields of a sample from its images; the text is valid until the next call. MLDF_E_LIMIT: too many profiles. */
mldf_status mldfi_icc_take(struct icc_set *set, mldf_value *values, mldf_error *err);
/* Takes the profiles of a card (text may be NULL). */
mldf_status mldfi_icc_take_card(struct icc_set *set, const char *card, size_t card_bytes, mldf_error *err);
/* The card with the profiles of the set beside its own, appended to out. */
mldf_status mldfi_icc_card(struct icc_set *set, const char *card, size_t card_bytes, mldf_buffer *out, mldf_error *err);
/* Puts the profiles into the card of a writer that is about to finish. */
mldf_status mldfi_icc_finish(struct icc_set *set, mldf_writer *writer, mldf_error *err);

#endif
