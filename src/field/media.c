/* The table of families, and a thread's workers. */
#include "field/media.h"

static const struct media *const families[FAMILY_COUNT] = {
    [FAMILY_IMAGE] = &mldfi_media_image,
};

const struct media *mldfi_media(media_family family) {
    return families[family];
}

const char *mldfi_stored_noun(media_family family) {
    static const char *const nouns[FAMILY_COUNT] = {"stored value", "stored image", "stored recording"};
    return nouns[family];
}

mldf_status mldfi_kit_worker(struct media_kit *kit, media_family family, void **out, mldf_error *err) {
    mldf_status status = kit->workers[family] ? MLDF_OK : families[family]->open(&kit->workers[family], err);
    *out = kit->workers[family];
    return status;
}

void mldfi_kit_trim(struct media_kit *kit) {
    for (int i = 0; i < FAMILY_COUNT; i++)
        if (kit->workers[i] && families[i]->trim)
            families[i]->trim(kit->workers[i]);
}

void mldfi_kit_free(struct media_kit *kit) {
    for (int i = 0; i < FAMILY_COUNT; i++) {
        if (kit->workers[i])
            families[i]->close(kit->workers[i]);
        kit->workers[i] = NULL;
    }
}
