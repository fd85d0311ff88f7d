/* What the files of the built-in types share: their tables, the arguments as a tree, refusals in the same words. */
#ifndef MLDF_FIELD_TYPE_H
#define MLDF_FIELD_TYPE_H

#include "field/field.h"
#include "util/json.h"

extern const struct field_type mldfi_type_int, mldfi_type_float; /* scalar.c */
extern const struct field_type mldfi_type_draft_int;             /* INT in 1, 2 or 4 bytes: of 1.0 files only */
extern const struct field_type mldfi_type_bytes, mldfi_type_json, mldfi_type_text; /* bytes.c */
extern const struct field_type mldfi_type_ndarray;                                 /* ndarray.c */
extern const struct field_type mldfi_type_inline;                                  /* inline.c */
extern const struct field_type mldfi_type_image_raw, mldfi_type_image_jpeg, mldfi_type_image_png,
    mldfi_type_image;                                                                       /* image_type.c */
extern const struct field_type mldfi_type_audio_waveform;                                   /* audio_waveform.c */
extern const struct field_type mldfi_type_audio_compressed;                                 /* audio_compressed.c */
extern const struct field_type mldfi_type_audio_spectrogram, mldfi_type_audio_codec_tokens; /* audio_grid.c */
extern const struct field_type mldfi_type_video_frames;                                     /* video_frames.c */
extern const struct field_type mldfi_type_video_compressed;                                 /* video_compressed.c */
extern const struct field_type mldfi_type_video_optical_flow;                               /* video_flow.c */
extern const struct field_type mldfi_type_text_tokenized, mldfi_type_text_packed, mldfi_type_text_hierarchical,
    mldfi_type_token_stream;                          /* tokens_type.c */
extern const struct field_type mldfi_type_multimodal; /* multimodal_type.c */

/* Bytes of an array; false when they pass 2^64. Nothing times anything is nothing. */
bool mldfi_array_bytes(const uint64_t *dims, uint32_t ndim, mldf_dtype dtype, uint64_t *out);

/* Edges that several types have: an array of dtype and dims (ndarray.c), bytes (bytes.c). */
mldf_status mldfi_array_edge(const struct schema_field *field, const struct value_bounds *bounds, struct edge *out,
                             mldf_error *err);
mldf_status mldfi_bytes_edge(const struct schema_field *field, const struct value_bounds *bounds, struct edge *out,
                             mldf_error *err);

/* "an array", "text" ... for messages. */
const char *mldfi_kind_name(mldf_kind kind);
mldf_status mldfi_wrong_kind(const mldf_value *value, const char *wanted, mldf_error *err);
/* data NULL while bytes > 0. */
mldf_status mldfi_check_data(const mldf_value *value, mldf_error *err);

/* One JSON object, not too deep; empty text is {}. MLDF_E_SCHEMA otherwise. `json` starts as {0} and is the caller's to
 * free. */
mldf_status mldfi_arguments_parse(struct json *json, const char *text, size_t bytes, mldf_error *err);
/* What most types do to bind: *state is new memory of state_bytes zeros that `read` has filled from the arguments. On an error it is freed. */
typedef mldf_status (*read_arguments_fn)(const struct json *json, void *state, mldf_error *err);
mldf_status mldfi_arguments_bind(const char *arguments, size_t state_bytes, read_arguments_fn read, void **state,
                                 mldf_error *err);
/* MLDF_E_SCHEMA, naming the nearest, when an argument is not in `names`. */
mldf_status mldfi_arguments_check_names(const struct json *json, const char *const *names, mldf_error *err);
/* A list of at most MLDF_MAX_DIMS integers from least on; null reads as -1 where it is allowed. */
mldf_status mldfi_shape_parse(const struct json *json, uint32_t at, bool null_allowed, int64_t least, int64_t *dims,
                              uint32_t *ndim, mldf_error *err);
/* "[3,null,80]" */
const char *mldfi_shape_text(char out[256], const int64_t *dims, uint32_t ndim);

/* The candidate that was most likely meant: at most two edits away, or one of the two begins the other. Start with
 * {wanted}. */
struct suggestion {
    const char *wanted;
    const char *best; /* NULL: none is near */
    size_t distance;
};
void mldfi_suggest(struct suggestion *suggestion, const char *candidate);

/* Binds the type to field->arguments: fills state and layout, checks the layout, sets field->type. */
mldf_status mldfi_field_bind(struct schema_field *field, const struct field_type *type, mldf_error *err);

/* schema.c: the last step of every way to add a field. Takes over what field owns, in any case. */
mldf_status mldfi_schema_push(mldf_schema *schema, struct schema_field *field, mldf_error *err);
void mldfi_schema_field_free(struct schema_field *field);

#endif
