/* Where converted samples go: one small interface over the writers of MLDF, TBL, .beton and tar.
 *
 *     sink.c        chooses by format            sink_image.c  images in the form that a format has
 *     sink_mldf.c   fields as they are           sink_tbl.c    one image, the rest as metadata
 *     sink_tokens.c Megatron, nanoGPT
 *     sink_beton.c  FFCV's field types           sink_tar.c    one member for each field
 *
 * Values come in the order of the schema, as mldf_reader_get gives them, or mldf_reader_get_stored where `stored` is set. What a
 * format cannot hold is refused with the field's name when the sink is opened, if the schema says it, else at its sample. */
#ifndef MLDF_INTEROP_SINK_H
#define MLDF_INTEROP_SINK_H

#include "field/field.h"
#include "mldf/image.h"
#include "mldf/writer.h"

struct sample_sink;

struct sink_result {
    uint64_t samples, bytes;
};

struct sink_image;

/* Room for what becomes of one sample on its way: one kit for each sample under way, one entry for each field of the schema. */
struct sink_kit {
    size_t count;
    struct export_room *rooms;
    struct sink_image *images; /* of the fields that are images, as the format holds them */
    struct exported *files;    /* of formats that hold files: each value as one */
};
mldf_status mldfi_sink_kit_begin(struct sink_kit *kit, size_t count, mldf_error *err);
/* Gives back buffers that one large sample needed. */
void mldfi_sink_kit_trim(struct sink_kit *kit);
void mldfi_sink_kit_end(struct sink_kit *kit);

struct sink_ops {
    /* The costly part of a sample, on any thread and in any order: values in the form that the format has. The result depends on the
     * values alone and is in the kit until the sample was appended. media: the thread's. NULL: there is nothing. */
    mldf_status (*prepare)(const struct sample_sink *sink, struct sink_kit *kit, struct media_kit *media,
                           const mldf_value *values, mldf_error *err);
    /* In order, one at a time. A sample that the format cannot hold leaves nothing in the file, and the next one may come.
     * MLDF_END: left out, because it has nothing that the format holds (with drop_fields). */
    mldf_status (*append)(struct sample_sink *sink, const struct sink_kit *kit, const mldf_value *values,
                          const char *key, size_t key_bytes, mldf_error *err);
    /* Waits for the samples so far; < 0: the first of them that is bad. NULL: append has said everything. */
    mldf_status (*settle)(struct sample_sink *sink, mldf_error *err);
    /* Durable under its name when this returns. Frees the sink in either case. */
    mldf_status (*finish)(struct sample_sink *sink, struct sink_result *result, mldf_error *err);
    /* Frees the sink and leaves nothing behind. */
    void (*abort)(struct sample_sink *sink);
};

/* The first member of every sink. */
struct sample_sink {
    const struct sink_ops *ops;
    bool stored; /* wants values undecoded */
};

struct sink_options {
    const char
        *format; /* "mldf", "tbl1", "tbl2", "beton", "tar", "tar.gz", "tar.zst", "megatron", "nanogpt" or "datatrove" */
    const char *path;          /* "-": standard output, for mldf and tar */
    const mldf_schema *schema; /* outlives the sink */
    uint64_t count;            /* of samples, or MLDF_NONE */
    const mldf_writer_options *writer;
    const char *card; /* of the source, or NULL: notes on how it was stored */
    size_t card_bytes;
    bool keys;        /* every sample comes with its key */
    bool drop_fields; /* leave out, with a warning, what the format has no place for */
    bool lz4;
    uint64_t dataset_version, created; /* TBL; MLDF_NONE: as the card says */
};

mldf_status mldfi_sink_open(struct sample_sink **out, const struct sink_options *options, mldf_error *err);

/* A sink over a writer that its owner opens and ends: `finish` and `abort` are not for it. The tools that make MLDF files of others have one. */
struct writer_sink {
    struct sample_sink base;
    mldf_writer *writer;
    size_t count; /* of fields */
};
void mldfi_sink_over(struct writer_sink *sink, mldf_writer *writer);

/* ---- Where a file will have its parts, before it is written ------------------------------------------------------------- */

/* A part of a file: it begins at the next multiple of `align`. bytes MLDF_NONE: not known. */
struct planned_region {
    const char *name;
    uint64_t align, bytes;
};
enum { SINK_REGIONS = 8 };
/* Of a file of options->count samples whose values have these bytes (for each field of the schema, or MLDF_NONE) in that format. */
mldf_status mldfi_sink_plan_beton(const struct sink_options *options, const uint64_t *value_bytes,
                                  struct planned_region *out, size_t *count, mldf_error *err);
mldf_status mldfi_sink_plan_tbl(const struct sink_options *options, const uint64_t *value_bytes,
                                struct planned_region *out, size_t *count, mldf_error *err);

/* ---- One for each format; used by sink.c ------------------------------------------------------------------------------- */

mldf_status mldfi_sink_open_mldf(struct sample_sink **out, const struct sink_options *options, mldf_error *err);
mldf_status mldfi_sink_open_tbl(struct sample_sink **out, const struct sink_options *options, mldf_error *err);
mldf_status mldfi_sink_open_beton(struct sample_sink **out, const struct sink_options *options, mldf_error *err);
mldf_status mldfi_sink_open_tokens(struct sample_sink **out, const struct sink_options *options, mldf_error *err);
mldf_status mldfi_sink_open_tar(struct sample_sink **out, const struct sink_options *options, mldf_error *err);

/* ---- What they share --------------------------------------------------------------------------------------------------- */

/* Warns of members of the card that the format does not hold: those that are not among `held` (ended by NULL). */
void mldfi_sink_warn_card(const struct sink_options *options, const char *format, const char *const *held);
/* A number, text or JSON as JSON, appended: what cannot be a number of JSON (an infinity) is a string. */
mldf_status mldfi_sink_json(mldf_buffer *out, const mldf_field *field, const mldf_value *value, mldf_error *err);

/* ---- Formats of images: TBL and .beton (sink_image.c) -------------------------------------------------------------------- */

bool mldfi_is_image_type(uint16_t type_id);

/* The images that a format can hold; others are decoded, or encoded as PNG, which loses nothing. */
enum image_form {
    IMAGE_FILE,  /* files only: TBL version 1 */
    IMAGE_TBL2,  /* files, and raw RGB of 8 bits */
    IMAGE_BETON, /* JPEG, and raw RGB of 8 bits; everything else becomes raw RGB */
};

struct sink_image {
    const void *data;
    uint64_t bytes;
    mldf_image_info info; /* mode, width, height of what `data` is */
    bool made;            /* not the bytes of the source */
};
/* value: of an image field, or bytes, which are looked at. The result is valid until the room's next use, and as long as the value. */
mldf_status mldfi_image_make(struct export_room *room, struct media_kit *media, const mldf_field *field,
                             const mldf_value *value, enum image_form form, struct sink_image *out, mldf_error *err);

#endif
