/* See publish_set.h. */
#include "os/publish_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/target.h"
#include "util/buffer.h"
#include "util/error.h"

mldf_status mldfi_set_add(struct publish_set *set, const char *target, const char **out, mldf_error *err) {
    struct os_file file = OS_FILE_NONE;
    mldf_status status = mldfi_target_check(target, set->overwrite, err);
    if (status == MLDF_OK)
        status = mldfi_array_reserve(&set->items, &set->capacity, set->count + 1, sizeof *set->items, err);
    if (status == MLDF_OK)
        status = mldfi_file_create_beside(&file, target, err);
    if (status < 0)
        return status;
    struct publish_item *item = &set->items[set->count];
    memset(item, 0, sizeof *item);
    item->target = mldfi_copy_text(target, strlen(target), err);
    item->temporary = mldfi_copy_text(file.path, strlen(file.path), err);
    if (!item->target || !item->temporary) {
        free(item->target);
        free(item->temporary);
        mldfi_file_discard(&file);
        return MLDF_E_MEMORY;
    }
    mldfi_file_close(&file);
    set->count++;
    *out = item->temporary;
    return MLDF_OK;
}

/* A second name for what is about to be replaced. A file system without links goes without: then only the last step is at risk. */
static mldf_status save_old(struct publish_item *item, mldf_error *err) {
    struct os_file place = OS_FILE_NONE;
    bool exists;
    mldf_status status = mldfi_file_exists(item->target, &exists, err);
    if (status < 0 || !exists)
        return status;
    status = mldfi_file_create_beside(&place, item->target, err);
    if (status < 0)
        return status;
    item->saved = mldfi_copy_text(place.path, strlen(place.path), err);
    mldfi_file_discard(&place);
    if (!item->saved)
        return MLDF_E_MEMORY;
    if (link(item->target, item->saved) != 0) {
        free(item->saved);
        item->saved = NULL;
    }
    return MLDF_OK;
}

static mldf_status publish_one(struct publish_set *set, struct publish_item *item, mldf_error *err) {
    struct os_file file = OS_FILE_NONE;
    mldf_status status = set->overwrite ? save_old(item, err) : MLDF_OK;
    if (status == MLDF_OK)
        status = mldfi_file_open(&file, item->temporary, OS_OPEN_READ_WRITE, err);
    if (status < 0)
        return status;
    status = mldfi_file_publish(&file, item->target, set->overwrite, err);
    item->published = file.path && strcmp(file.path, item->target) == 0;
    mldfi_file_close(&file);
    return status;
}

static void take_back(struct publish_item *item) {
    if (item->published && item->saved)
        (void)rename(item->saved, item->target);
    else if (item->published)
        (void)unlink(item->target);
}

mldf_status mldfi_set_publish(struct publish_set *set, mldf_error *err) {
    mldf_status status = MLDF_OK;
    for (size_t i = 0; status == MLDF_OK && i < set->count; i++)
        status = publish_one(set, &set->items[i], err);
    for (size_t i = 0; status < 0 && i < set->count; i++)
        take_back(&set->items[i]);
    return status;
}

void mldfi_set_free(struct publish_set *set) {
    for (size_t i = 0; i < set->count; i++) {
        struct publish_item *item = &set->items[i];
        if (!item->published)
            (void)unlink(item->temporary);
        if (item->saved)
            (void)unlink(item->saved);
        free(item->target);
        free(item->temporary);
        free(item->saved);
    }
    free(set->items);
    memset(set, 0, sizeof *set);
}
