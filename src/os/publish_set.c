/* See publish_set.h. */
#include "os/publish_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/set_journal.h"
#include "os/target.h"
#include "os/temporary.h"
#include "util/buffer.h"
#include "util/error.h"

static bool exists(const char *path) {
    struct stat info;
    return lstat(path, &info) == 0;
}

/* Is the new file at its target? */
static bool is_named(const struct publish_item *item) {
    struct stat info;
    return item->inode != 0 && lstat(item->target, &info) == 0 && (uint64_t)info.st_ino == item->inode;
}

static void forget(struct publish_set *set) {
    for (size_t i = 0; i < set->count; i++)
        mldfi_journal_free_item(&set->items[i]);
    free(set->items);
    set->items = NULL;
    set->count = set->capacity = 0;
}

/* The journal goes last: as long as it is there, the rest is known. */
static void remove_journal(struct publish_set *set) {
    if (set->journal.path)
        (void)unlink(set->journal.path);
    mldfi_file_close(&set->journal);
}

/* ---- The two ways to end a set; each can be cut off anywhere and done again ----------------------------------------------------- */

/* What is about to be replaced gets a second name. A file system without links goes without: then only the last step is at risk.
 * again: a process that was killed began this, and what it renamed may have been changed since. */
static mldf_status name_one(const struct publish_set *set, const struct publish_item *item, bool again,
                            mldf_error *err) {
    struct os_file file = OS_FILE_NONE;
    if (again && !exists(item->temporary))
        return MLDF_OK;
    if (is_named(item)) {
        (void)unlink(item->temporary);
        return MLDF_OK;
    }
    if (set->overwrite)
        (void)link(item->target, item->saved);
    mldf_status status = mldfi_file_open(&file, item->temporary, OS_OPEN_READ_WRITE, err);
    if (status == MLDF_OK)
        status = mldfi_file_rename(&file, item->target, set->overwrite, err);
    mldfi_file_close(&file);
    return status;
}

static bool same_folder(const char *a, const char *b) {
    size_t bytes = mldfi_folder_part(a);
    return bytes == mldfi_folder_part(b) && memcmp(a, b, bytes) == 0;
}

static mldf_status sync_folders(const struct publish_set *set, mldf_error *err) {
    mldf_status status = MLDF_OK;
    for (size_t i = 0; status == MLDF_OK && i < set->count; i++)
        if (i == 0 || !same_folder(set->items[i].target, set->items[i - 1].target))
            status = mldfi_file_sync_folder(set->items[i].target, err);
    return status;
}

static mldf_status forward(const struct publish_set *set, bool again, mldf_error *err) {
    mldf_status status = MLDF_OK;
    for (size_t i = 0; status == MLDF_OK && i < set->count; i++)
        status = name_one(set, &set->items[i], again, err);
    return status < 0 ? status : sync_folders(set, err);
}

static void back(const struct publish_set *set) {
    for (size_t i = 0; i < set->count; i++) {
        const struct publish_item *item = &set->items[i];
        if (exists(item->saved))
            (void)rename(item->saved, item->target);
        else if (!exists(item->temporary) && is_named(item))
            (void)unlink(item->target);
        mldfi_temporary_remove_dead(item->temporary);
        (void)unlink(item->temporary);
        (void)unlink(item->saved);
    }
}

static void finished(struct publish_set *set) {
    for (size_t i = 0; i < set->count; i++)
        (void)unlink(set->items[i].saved);
    remove_journal(set);
}

/* ---- A set that a killed process left ------------------------------------------------------------------------------------------- */

static mldf_status read_dead(struct publish_set *set, const struct os_file *dead, journal_state *state,
                             mldf_error *err) {
    *set = (struct publish_set)PUBLISH_SET_NONE;
    set->journal = *dead;
    return mldfi_journal_read(set, state, err);
}

mldf_status mldfi_set_look(const struct os_file *dead, set_end *out, mldf_error *err) {
    struct publish_set set;
    journal_state state;
    mldf_status status = read_dead(&set, dead, &state, err);
    *out = state == JOURNAL_NAMING ? SET_END_FINISHED : SET_END_REMOVED;
    forget(&set);
    return status;
}

mldf_status mldfi_set_end(struct os_file *dead, bool overwrite, set_end *out, mldf_error *err) {
    struct publish_set set;
    journal_state state;
    mldf_status status = read_dead(&set, dead, &state, err);
    if (status == MLDF_OK && state == JOURNAL_NAMING) {
        set.overwrite = set.overwrite || overwrite;
        if ((status = forward(&set, true, err)) == MLDF_OK)
            finished(&set);
        else {
            mldfi_error_outer(err, set.journal.path);
            mldfi_error_prefix(err, "the files of a run that was killed cannot all get their names");
        }
    } else if (status == MLDF_OK) {
        back(&set);
        remove_journal(&set);
    }
    *out = status < 0 ? SET_END_NONE : state == JOURNAL_NAMING ? SET_END_FINISHED : SET_END_REMOVED;
    forget(&set);
    mldfi_file_close(&set.journal);
    *dead = (struct os_file)OS_FILE_NONE;
    return status;
}

struct burial {
    bool overwrite;
    set_end ended;
};

static mldf_status bury_set(void *user, struct os_file *dead, mldf_error *err) {
    struct burial *burial = user;
    return mldfi_set_end(dead, burial->overwrite, &burial->ended, err);
}

/* ---- A new set -------------------------------------------------------------------------------------------------------------------- */

mldf_status mldfi_set_begin(struct publish_set *set, const char *first_target, bool overwrite, set_end *ended,
                            mldf_error *err) {
    struct burial burial = {overwrite, SET_END_NONE};
    *set = (struct publish_set)PUBLISH_SET_NONE;
    set->overwrite = overwrite;
    mldf_status status = mldfi_temporary_create(&set->journal, first_target, TEMPORARY_SET, bury_set, &burial, err);
    *ended = burial.ended;
    if (status == MLDF_OK)
        status = mldfi_journal_begin(set, err);
    if (status < 0)
        remove_journal(set);
    return status;
}

mldf_status mldfi_set_add(struct publish_set *set, const char *target, const char **out, mldf_error *err) {
    mldf_status status = mldfi_target_check(target, set->overwrite, err);
    if (status == MLDF_OK)
        status = mldfi_array_reserve(&set->items, &set->capacity, set->count + 1, sizeof *set->items, err);
    if (status == MLDF_OK)
        status = mldfi_journal_add(set, &set->items[set->count], target, err);
    if (status < 0)
        return status;
    *out = set->items[set->count++].temporary;
    return MLDF_OK;
}

mldf_status mldfi_set_publish(struct publish_set *set, mldf_error *err) {
    mldf_status status = sync_folders(set, err); /* the temporary names: the journal must not outlive them */
    if (status == MLDF_OK)
        status = mldfi_journal_naming(set, err);
    if (status == MLDF_OK)
        status = forward(set, false, err);
    if (status == MLDF_OK) {
        finished(set);
        return status;
    }
    (void)mldfi_journal_state(set, JOURNAL_BACK, NULL);
    back(set);
    remove_journal(set);
    return status;
}

void mldfi_set_free(struct publish_set *set) {
    if (set->journal.fd >= 0) {
        back(set);
        remove_journal(set);
    }
    forget(set);
}
