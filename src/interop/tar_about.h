/* What an archive that mldf wrote says of itself, in two members before its first sample. WebDataset passes over names of this form.
 *
 *     __mldf_schema__   the fields, as in a schema file: their names, types and arguments
 *     __mldf_card__     the dataset's card: class names, colour profiles and whatever else it holds
 *
 * The member KEY.NAME or KEY.NAME.ENDING of a sample is the value of the field NAME. Without a schema the extensions alone say what
 * the fields are (tar_field.c). tar_value.c makes values of members; docs/guides/interop.md is the user's side of it. */
#ifndef MLDF_INTEROP_TAR_ABOUT_H
#define MLDF_INTEROP_TAR_ABOUT_H

#include "interop/tar.h"

#define TAR_SCHEMA_MEMBER "__mldf_schema__"
#define TAR_CARD_MEMBER "__mldf_card__"

struct tar_about {
    mldf_schema *schema;     /* NULL: the archive has none, or none that is used */
    mldf_buffer schema_text; /* as it is in the archive */
    char *card;              /* canonical JSON, or NULL */
};

bool mldfi_tar_is_about(const char *name, size_t bytes);
/* Reads the members before the first sample. What is wrong with them is a warning, and they are not used; what is wrong with the archive is
 * left to those who read it. The only error is MLDF_E_MEMORY. */
mldf_status mldfi_tar_about_read(struct tar_about *out, struct tar_input *input, const mldf_context *context,
                                 const char *path, mldf_error *err);
void mldfi_tar_about_free(struct tar_about *about);
/* The field that a part with this extension (in lower case) belongs to; SIZE_MAX: none. */
size_t mldfi_tar_about_field(const mldf_schema *schema, const char *extension);

/* The schema of an archive with fields of `schema`, as text in `out`; nothing, where the extensions say the same. Fields that come back as another
 * type are warned about. */
mldf_status mldfi_tar_about_schema(const mldf_schema *schema, const mldf_context *context, mldf_buffer *out,
                                   mldf_error *err);
/* Does the field's name, as an extension, read back as its type? Then it is the whole extension of its members. */
bool mldfi_tar_name_is_type(const struct schema_field *field);

/* The content of a part as a value of the field, ready for the type's encode: in place, or in `scratch`. Types that are made from files take the
 * file; `extension` says what an INLINE field's bytes are. */
mldf_status mldfi_tar_value(const struct schema_field *field, const char *extension, const void *data, uint64_t bytes,
                            uint64_t max_decoded, mldf_buffer *scratch, mldf_value *out, mldf_error *err);

#endif
