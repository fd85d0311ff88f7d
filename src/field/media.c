/* The table of families, and a thread's workers. */
#include "field/media.h"

#include <stdlib.h>

#include "field/field.h"
#include "util/buffer.h"

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

mldf_status mldfi_kit_worker(struct media_kit *kit, media_family family, void **out, mldf_error *err) {
    mldf_status status = kit->workers[family] ? MLDF_OK : families[family]->open(&kit->workers[family], err);
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
    if (status == MLDF_OK)
        kit->types[kit->type_count++] = (struct type_worker){type, *out};
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
