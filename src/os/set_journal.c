/* See set_journal.h. */
#include "os/set_journal.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/temporary.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

static const char magic[8] = {'M', 'L', 'D', 'F', 'S', 'E', 'T', '1'};
enum { STATE_AT = 8, OVERWRITE_AT = 9, ID_AT = 12, HEADER = 32, ENTRY = 12, TARGET_MAX = PATH_MAX, TAIL = 64 };

void mldfi_journal_free_item(struct publish_item *item) {
    free(item->target);
    free(item->temporary);
    free(item->saved);
    memset(item, 0, sizeof *item);
}

static mldf_status name_item(struct publish_item *item, const struct publish_set *set, size_t number, char *target,
                             mldf_error *err) {
    char tail[TAIL];
    memset(item, 0, sizeof *item);
    item->target = target;
    (void)snprintf(tail, sizeof tail, "%s-%zu.part." TEMPORARY_WORK, set->id, number);
    item->temporary = target ? mldfi_hidden_name(target, tail, err) : NULL;
    (void)snprintf(tail, sizeof tail, "%s-%zu.old." TEMPORARY_WORK, set->id, number);
    item->saved = target ? mldfi_hidden_name(target, tail, err) : NULL;
    if (item->temporary && item->saved)
        return MLDF_OK;
    mldfi_journal_free_item(item);
    return MLDF_E_MEMORY;
}

/* ---- Writing ------------------------------------------------------------------------------------------------------------------ */

mldf_status mldfi_journal_begin(struct publish_set *set, mldf_error *err) {
    uint8_t header[HEADER] = {0}, random[SET_ID_DIGITS / 2];
    if (getentropy(random, sizeof random) != 0)
        return mldfi_fail_file_errno(err, errno, set->journal.path, "no random bytes for a temporary name");
    for (size_t i = 0; i < sizeof random; i++)
        (void)snprintf(set->id + 2 * i, 3, "%02x", random[i]);
    memcpy(header, magic, sizeof magic);
    header[STATE_AT] = JOURNAL_WRITING;
    header[OVERWRITE_AT] = set->overwrite;
    memcpy(header + ID_AT, set->id, SET_ID_DIGITS);
    set->journal_bytes = HEADER;
    mldf_status status = mldfi_file_write(&set->journal, 0, header, HEADER, err);
    if (status == MLDF_OK)
        status = mldfi_file_sync(&set->journal, err);
    return status < 0 ? status : mldfi_file_sync_folder(set->journal.path, err);
}

/* The target as the journal has it; to be freed. */
static char *journal_target(const struct publish_set *set, const char *target, mldf_error *err) {
    size_t folder = mldfi_folder_part(target), own = mldfi_folder_part(set->journal.path);
    if (folder == own && memcmp(target, set->journal.path, own) == 0)
        return mldfi_copy_text(target + folder, strlen(target + folder), err);
    char *text = folder ? mldfi_copy_text(target, folder, err) : mldfi_copy_text(".", 1, err);
    char *real = text ? realpath(text, NULL) : NULL, *out = NULL;
    if (text && !real)
        (void)mldfi_fail_file_errno(err, errno, text, "cannot be examined");
    size_t room = real ? strlen(real) + strlen(target + folder) + 2 : 0;
    if (real && (out = mldfi_alloc(room, err)))
        (void)snprintf(out, room, "%s/%s", real, target + folder);
    free(text);
    free(real);
    return out;
}

mldf_status mldfi_journal_add(struct publish_set *set, struct publish_item *item, const char *target, mldf_error *err) {
    char *copy = mldfi_copy_text(target, strlen(target), err), *kept = journal_target(set, target, err);
    uint8_t entry[ENTRY] = {0};
    mldf_status status = kept ? name_item(item, set, set->count, copy, err) : err ? err->status : MLDF_E_MEMORY;
    if (!kept)
        free(copy);
    if (status < 0) {
        free(kept);
        return status;
    }
    size_t bytes = strlen(kept);
    item->entry = set->journal_bytes;
    mldfi_store_u32(entry + 8, (uint32_t)bytes);
    status = mldfi_file_write(&set->journal, item->entry, entry, ENTRY, err);
    if (status == MLDF_OK)
        status = mldfi_file_write(&set->journal, item->entry + ENTRY, kept, bytes, err);
    if (status == MLDF_OK)
        status = mldfi_file_sync(&set->journal, err);
    if (status == MLDF_OK)
        set->journal_bytes += ENTRY + bytes;
    else
        mldfi_journal_free_item(item);
    free(kept);
    return status;
}

mldf_status mldfi_journal_state(const struct publish_set *set, journal_state state, mldf_error *err) {
    uint8_t byte = (uint8_t)state;
    mldf_status status = mldfi_file_write(&set->journal, STATE_AT, &byte, 1, err);
    return status < 0 ? status : mldfi_file_sync(&set->journal, err);
}

mldf_status mldfi_journal_naming(struct publish_set *set, mldf_error *err) {
    mldf_status status = MLDF_OK;
    for (size_t i = 0; status == MLDF_OK && i < set->count; i++) {
        struct publish_item *item = &set->items[i];
        uint8_t bytes[8];
        struct stat info;
        if (lstat(item->temporary, &info) != 0)
            return mldfi_fail_file_errno(err, errno, item->temporary, "cannot be examined");
        item->inode = (uint64_t)info.st_ino;
        mldfi_store_u64(bytes, item->inode);
        status = mldfi_file_write(&set->journal, item->entry, bytes, sizeof bytes, err);
    }
    if (status == MLDF_OK)
        status = mldfi_file_sync(&set->journal, err);
    return status < 0 ? status : mldfi_journal_state(set, JOURNAL_NAMING, err);
}

/* ---- Reading ------------------------------------------------------------------------------------------------------------------ */

static char *target_path(const struct publish_set *set, const char *kept, size_t bytes, mldf_error *err) {
    size_t own = kept[0] == '/' ? 0 : mldfi_folder_part(set->journal.path);
    char *path = mldfi_alloc(own + bytes + 1, err);
    if (path) {
        memcpy(path, set->journal.path, own);
        memcpy(path + own, kept, bytes);
        path[own + bytes] = 0;
    }
    return path;
}

/* A name without a slash, or a whole path. */
static bool is_target(const char *kept, size_t bytes) {
    return bytes > 0 && bytes <= TARGET_MAX && !memchr(kept, 0, bytes) &&
           (kept[0] == '/' ? kept[bytes - 1] != '/' : !memchr(kept, '/', bytes));
}

static mldf_status read_entries(struct publish_set *set, const mldf_buffer *bytes, mldf_error *err) {
    for (size_t at = HEADER; bytes->size - at > ENTRY;) {
        uint32_t length = mldfi_load_u32(bytes->data + at + 8);
        const char *kept = (const char *)bytes->data + at + ENTRY;
        if (length > bytes->size - at - ENTRY || !is_target(kept, length))
            break;
        mldf_status status = mldfi_array_reserve(&set->items, &set->capacity, set->count + 1, sizeof *set->items, err);
        char *target = status == MLDF_OK ? target_path(set, kept, length, err) : NULL;
        if (!target)
            return MLDF_E_MEMORY;
        if ((status = name_item(&set->items[set->count], set, set->count, target, err)) < 0)
            return status;
        set->items[set->count++].inode = mldfi_load_u64(bytes->data + at);
        at += ENTRY + length;
    }
    return MLDF_OK;
}

mldf_status mldfi_journal_read(struct publish_set *set, journal_state *state, mldf_error *err) {
    mldf_buffer bytes = MLDF_BUFFER_INIT;
    uint64_t size = 0;
    struct stat info;
    if (fstat(set->journal.fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != geteuid())
        return mldfi_fail_file(err, MLDF_E_IO, set->journal.path, "is a journal of another user");
    mldf_status status = mldfi_file_size(&set->journal, &size, err);
    if (status == MLDF_OK && size > SIZE_MAX)
        status = mldfi_fail_file(err, MLDF_E_LIMIT, set->journal.path, "is too large for a journal");
    if (status == MLDF_OK)
        status = mldfi_buffer_resize(&bytes, (size_t)size, err);
    if (status == MLDF_OK)
        status = mldfi_file_read(&set->journal, 0, bytes.data, bytes.size, err);
    *state = JOURNAL_WRITING;
    if (status == MLDF_OK && size >= HEADER && memcmp(bytes.data, magic, sizeof magic) == 0) {
        *state = (journal_state)bytes.data[STATE_AT];
        set->overwrite = bytes.data[OVERWRITE_AT] != 0;
        memcpy(set->id, bytes.data + ID_AT, SET_ID_DIGITS);
        if (strspn(set->id, "0123456789abcdef") == SET_ID_DIGITS)
            status = read_entries(set, &bytes, err);
    }
    mldf_buffer_free(&bytes);
    return status;
}
