/* mldf_clean: what killed processes left in a folder. Which names are ours, and which of them are dead, is known in os/temporary.h; a set
 * of files is ended by os/publish_set.h. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mldf/tool.h"
#include "os/publish_set.h"
#include "os/target.h"
#include "os/temporary.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/options.h"

mldf_status mldf_write_file(const char *path, const void *data, size_t bytes, bool overwrite, mldf_error *err) {
    if (!path || (!data && bytes))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "a file to write needs a path and its bytes");
    mldf_status status = mldfi_target_check(path, overwrite, err);
    return status < 0 ? status : mldfi_file_write_whole(path, data, bytes, overwrite, err);
}

struct names {
    char **items;
    size_t count, capacity;
};

static int compare_names(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sets first, by name: what they end is then not there any more. */
static mldf_status list_names(const char *folder, const char *kind, struct names *out, mldf_error *err) {
    DIR *dir = opendir(folder);
    mldf_status status = dir ? MLDF_OK : mldfi_fail_file_errno(err, errno, folder, "cannot be read");
    for (struct dirent *entry; status == MLDF_OK && (entry = readdir(dir)) != NULL;) {
        if (!mldfi_temporary_is(entry->d_name, kind))
            continue;
        mldf_buffer path = MLDF_BUFFER_INIT;
        status = mldfi_array_reserve(&out->items, &out->capacity, out->count + 1, sizeof *out->items, err);
        if (status == MLDF_OK)
            status = mldfi_buffer_printf(&path, err, "%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/",
                                         entry->d_name);
        if (status == MLDF_OK)
            status = mldf_buffer_append(&path, "", 1, err);
        if (status == MLDF_OK)
            out->items[out->count++] = (char *)path.data;
        else
            mldf_buffer_free(&path);
    }
    if (dir)
        closedir(dir);
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, compare_names);
    return status;
}

static mldf_status end_dead(struct os_file *dead, bool set, const mldf_clean_options *options, mldf_leftover *left,
                            mldf_error *err) {
    set_end end = SET_END_REMOVED;
    mldf_status status = MLDF_OK;
    if (set && options->dry_run)
        status = mldfi_set_look(dead, &end, err);
    else if (set)
        status = mldfi_set_end(dead, false, &end, err);
    else if (!options->dry_run)
        status = mldfi_temporary_bury(dead, err);
    mldfi_file_close(dead);
    if (status == MLDF_OK)
        left->action = end == SET_END_FINISHED ? MLDF_LEFTOVER_FINISHED : MLDF_LEFTOVER_REMOVED;
    return status;
}

static mldf_status look_at(const char *path, bool set, const mldf_clean_options *options, mldf_error *err) {
    struct os_file file;
    mldf_leftover left = {path, 0, MLDF_LEFTOVER_UNKNOWN, MLDF_LEFTOVER_KEPT};
    mldf_status status = MLDF_OK;
    switch (mldfi_temporary_life(path, options->other_hosts, &file)) {
    case OS_LIFE_NONE:
        return MLDF_OK;
    case OS_LIFE_LIVE:
        left.state = MLDF_LEFTOVER_LIVE;
        break;
    case OS_LIFE_ELSEWHERE:
        left.state = MLDF_LEFTOVER_OTHER;
        break;
    case OS_LIFE_UNKNOWN:
        break;
    case OS_LIFE_DEAD:
        left.state = MLDF_LEFTOVER_DEAD;
        left.bytes = mldfi_file_bytes_if_regular(&file);
        status = end_dead(&file, set, options, &left, err);
    }
    if (options->found)
        options->found(options->found_user, &left);
    return status;
}

mldf_status mldf_clean(const char *folder, const mldf_clean_options *given, mldf_error *err) {
    static const char *const kinds[] = {TEMPORARY_SET, TEMPORARY_WORK};
    mldf_clean_options options = MLDF_CLEAN_OPTIONS_INIT;
    if (!folder || !folder[0])
        return mldfi_fail(err, MLDF_E_ARGUMENT, "clean needs a folder");
    mldf_status first = mldfi_take_options(&options, sizeof options, "mldf_clean_options", given, err);
    if (first < 0)
        return first;
    for (size_t kind = 0; kind < 2; kind++) {
        struct names names = {NULL, 0, 0};
        mldf_error own;
        mldf_status status = list_names(folder, kinds[kind], &names, first == MLDF_OK ? err : &own);
        if (first == MLDF_OK)
            first = status;
        for (size_t i = 0; i < names.count; i++) {
            if (status == MLDF_OK)
                status = look_at(names.items[i], kind == 0, &options, first == MLDF_OK ? err : &own);
            if (first == MLDF_OK)
                first = status;
            status = MLDF_OK;
            free(names.items[i]);
        }
        free(names.items);
    }
    return first;
}
