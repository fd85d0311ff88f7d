/* The table of families, and a thread's workers. */
#include "field/media.h"

#include <inttypes.h>
#include <stdlib.h>

#include "field/field.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

static const struct media *const families[FAMILY_COUNT] = {
    [FAMILY_IMAGE] = &mldfi_media_image,
    [FAMILY_AUDIO] = &mldfi_media_audio,
    [FAMILY_VIDEO] = &mldfi_media_video,
};

const struct media *mldfi_media(media_family family) {
    return families[family];
}

const char *mldfi_stored_noun(media_family family) {
    static const char *const nouns[FAMILY_COUNT] = {"stored value", "stored image", "stored recording", "stored video"};
    return nouns[family];
}

uint64_t mldfi_media_limit(uint64_t set, uint64_t stored) {
    enum { TIMES = 256 };
    uint64_t most = stored > UINT64_MAX / TIMES ? UINT64_MAX : stored * TIMES;
    return set ? set : most > MEDIA_MAX_BYTES ? most : MEDIA_MAX_BYTES;
}

mldf_status mldfi_sound_room(uint64_t set, uint64_t stored, uint64_t samples, uint64_t channels, unsigned width,
                             size_t *bytes, mldf_error *err) {
    uint64_t limit = mldfi_media_limit(set, stored), need;
    if (!mldfi_mul_u64(samples, channels, &need) || !mldfi_mul_u64(need, width, &need))
        need = UINT64_MAX;
    if (need > limit || need > SIZE_MAX / 4)
        return mldfi_fail(err, MLDF_E_LIMIT,
                          "%" PRIu64 " samples of %" PRIu64 " channels need %" PRIu64
                          " bytes of memory, and the limit for %" PRIu64 " stored bytes is %" PRIu64
                          ": max_decoded_bytes, or --max-decoded of the command, sets another",
                          samples, channels, need, stored, limit);
    *bytes = (size_t)need;
    return MLDF_OK;
}

mldf_status mldfi_kit_worker(struct media_kit *kit, media_family family, void **out, mldf_error *err) {
    mldf_status status = MLDF_OK;
    if (!kit->workers[family]) {
        status = families[family]->open(&kit->workers[family], err);
        if (status == MLDF_OK && families[family]->limit)
            families[family]->limit(kit->workers[family], kit->max_bytes);
    }
    *out = kit->workers[family];
    return status;
}

mldf_status mldfi_kit_type_worker(struct media_kit *kit, const struct field_type *type, void **out, mldf_error *err) {
    *out = NULL;
    if (!type->open_worker)
        return MLDF_OK;
    for (size_t i = 0; i < kit->type_count; i++)
        if (kit->types[i].type == type) {
            *out = kit->types[i].worker;
            return MLDF_OK;
        }
    mldf_status status =
        mldfi_array_reserve(&kit->types, &kit->type_capacity, kit->type_count + 1, sizeof *kit->types, err);
    if (status == MLDF_OK)
        status = type->open_worker(type->type.user, out, err);
    if (status == MLDF_OK) {
        kit->types[kit->type_count++] = (struct type_worker){type, *out};
        if (type->watch_worker)
            type->watch_worker(*out, kit->watch);
    }
    return status;
}

void mldfi_kit_trim(struct media_kit *kit) {
    for (int i = 0; i < FAMILY_COUNT; i++)
        if (kit->workers[i] && families[i]->trim)
            families[i]->trim(kit->workers[i]);
}

void mldfi_kit_free(struct media_kit *kit) {
    for (size_t i = 0; i < kit->type_count; i++)
        kit->types[i].type->close_worker(kit->types[i].type->type.user, kit->types[i].worker);
    free(kit->types);
    kit->types = NULL;
    kit->type_count = kit->type_capacity = 0;
    for (int i = 0; i < FAMILY_COUNT; i++) {
        if (kit->workers[i])
            families[i]->close(kit->workers[i]);
        kit->workers[i] = NULL;
    }
}
