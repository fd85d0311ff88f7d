/* Media: values that a decoder opens. A family has one decoder interface (struct media, a file for each family) and one kind of source in
 * src/pipeline; the traits of a field type (field.h) say everything else.
 *
 * What a decoder keeps between values (libjpeg's tables, an FFT) belongs to a thread: its media kit, where each family's worker is opened when it
 * is first needed and stays. Whoever decodes or encodes on a thread has one kit there: plan workers, writer workers, verify, convert, extract. */
#ifndef MLDF_FIELD_MEDIA_H
#define MLDF_FIELD_MEDIA_H

#include "mldf/schema.h"

struct field_type;
struct work_watch;

typedef enum media_family { FAMILY_NONE, FAMILY_IMAGE, FAMILY_AUDIO, FAMILY_VIDEO, FAMILY_COUNT } media_family;

/* "stored image": a value before its decoder, in messages. */
const char *mldfi_stored_noun(media_family family);

/* Bytes that a decoded value may have where nobody sets another limit. */
#define MEDIA_MAX_BYTES (UINT64_C(1) << 31)
/* The most bytes that a value of `stored` bytes may become: `set`, or where nobody set a limit (0) MEDIA_MAX_BYTES, and 256 times `stored` where
 * that is more. A small file cannot ask for much memory, and an hour of sound needs no option. */
uint64_t mldfi_media_limit(uint64_t set, uint64_t stored);
/* Memory for samples x channels numbers of `width` bytes: MLDF_E_LIMIT above that limit. Everybody who makes room for decoded or resampled sound
 * asks here first. */
mldf_status mldfi_sound_room(uint64_t set, uint64_t stored, uint64_t samples, uint64_t channels, unsigned width,
                             size_t *bytes, mldf_error *err);

/* What a thread keeps for a field type that opens workers itself (field.h). */
struct type_worker {
    const struct field_type *type;
    void *worker;
};

/* One thread's. Begins as {0}. */
struct media_kit {
    uint64_t max_bytes; /* mldfi_media_limit's `set`, before the first worker is opened */
    void *workers[FAMILY_COUNT];
    struct type_worker *types;
    size_t type_count, type_capacity;
    /* Asked by types whose values take long to encode, before the first worker is opened; NULL: nobody. */
    const struct work_watch *watch;
};

/* The family's worker of this thread. */
mldf_status mldfi_kit_worker(struct media_kit *kit, media_family family, void **out, mldf_error *err);
/* The type's worker of this thread; NULL: it opens none. */
mldf_status mldfi_kit_type_worker(struct media_kit *kit, const struct field_type *type, void **out, mldf_error *err);
/* Between values, wherever a thread meets values of any size: what one huge value needed goes back. */
void mldfi_kit_trim(struct media_kit *kit);
void mldfi_kit_free(struct media_kit *kit);
/* After mldfi_kit_trim none of a worker's few buffers is larger than this. */
#define MEDIA_KEEP_BYTES ((size_t)64 << 20)

struct media {
    mldf_status (*open)(void **worker, mldf_error *err);
    void (*close)(void *worker);
    /* Takes the kit's max_bytes; NULL: it has no use for it. */
    void (*limit)(void *worker, uint64_t max_bytes);
    /* Gives back memory of more than MEDIA_KEEP_BYTES; NULL: there is none. */
    void (*trim)(void *worker);
    /* mldf_type's encode with a worker; NULL: the type's own needs none. */
    mldf_status (*encode)(void *worker, const void *state, const mldf_value *value, uint8_t *record,
                          mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes, mldf_error *err);
    /* Decodes the payload to its end and keeps nothing of it; NULL: the type's check_deep says all there is. */
    mldf_status (*check)(void *worker, const uint8_t *record, const void *payload, uint64_t payload_bytes,
                         mldf_error *err);
};
/* NULL: the family has none. */
const struct media *mldfi_media(media_family family);
extern const struct media mldfi_media_image; /* image_media.c; its worker begins with an mldf_image_decoder */
extern const struct media mldfi_media_audio; /* audio_media.c */
extern const struct media mldfi_media_video; /* video_media.c */

#endif
