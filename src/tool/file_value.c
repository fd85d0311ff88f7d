/* Paths in tables. A table may come from anywhere, so by default its paths stay below one folder: `..` is resolved in the text of the
 * path, before the file system is asked, and a path that would climb out is refused. Links below the folder are followed as long as they
 * stay below it (os/beneath.h). See file_value.h. */
#include "tool/file_value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/beneath.h"
#include "tool/convert.h"
#include "tool/pack_source.h"
#include "tool/read_file.h"
#include "util/buffer.h"
#include "util/error.h"

mldf_status mldfi_files_enter(struct file_places *places, const char *table, mldf_error *err) {
    const char *slash = strrchr(table, '/'), *root = places->given_root;
    free(places->root);
    free(places->real_root);
    places->root = places->real_root = NULL;
    if (root)
        places->root = mldfi_copy_text(root, strlen(root), err);
    else
        places->root = mldfi_copy_text(table, slash ? (size_t)(slash - table) + 1 : 0, err);
    if (!places->root)
        return MLDF_E_MEMORY;
    places->real_root = realpath(places->root[0] ? places->root : ".", NULL);
    return MLDF_OK;
}

void mldfi_files_free(struct file_places *places) {
    free(places->root);
    free(places->real_root);
    mldf_buffer_free(&places->path);
    memset(places, 0, sizeof *places);
}

/* Appends the path without "." and "..", each part after a slash. False when ".." climbs above the beginning. */
static bool append_parts(mldf_buffer *out, const char *text, size_t bytes, mldf_status *status, mldf_error *err) {
    size_t floor = out->size;
    for (size_t at = 0; at < bytes && *status == MLDF_OK;) {
        const char *slash = memchr(text + at, '/', bytes - at);
        size_t end = slash ? (size_t)(slash - text) : bytes, part = end - at;
        if (part == 2 && memcmp(text + at, "..", 2) == 0) {
            if (out->size == floor)
                return false;
            while (out->data[--out->size] != '/')
                continue;
        } else if (part > 0 && !(part == 1 && text[at] == '.')) {
            *status = mldf_buffer_append(out, "/", 1, err);
            if (*status == MLDF_OK)
                *status = mldf_buffer_append(out, text + at, part, err);
        }
        at = end + 1;
    }
    return true;
}

/* Bytes of the folder's own name without slashes at its end. */
static size_t root_bytes(const char *root) {
    size_t bytes = strlen(root);
    while (bytes > 0 && root[bytes - 1] == '/')
        bytes--;
    return bytes;
}

static bool is_below(const mldf_buffer *path, const char *root) {
    size_t bytes = root_bytes(root);
    return path->size > bytes && memcmp(path->data, root, bytes) == 0 && path->data[bytes] == '/';
}

static mldf_status leads_out(const struct file_places *places, const char *text, size_t bytes, const char *how,
                             mldf_error *err) {
    char shown[80];
    return mldfi_fail(err, MLDF_E_TYPE, "the path %s leads out of the folder %s%s; that must be allowed first",
                      mldfi_excerpt(shown, text, bytes), places->root[0] ? places->root : ".", how);
}

static mldf_status resolve_inside(struct file_places *places, const char *text, size_t bytes, mldf_error *err) {
    mldf_buffer *path = &places->path;
    mldf_status status = MLDF_OK;
    bool absolute = text[0] == '/', inside;
    const char *root = places->root[0] ? places->root : ".";
    if (!absolute)
        status = mldfi_buffer_append_text(path, root, err);
    while (!absolute && path->size > 0 && path->data[path->size - 1] == '/')
        path->size--;
    inside = append_parts(path, text, bytes, &status, err);
    if (status == MLDF_OK && inside && absolute)
        inside = is_below(path, root) || (places->real_root && is_below(path, places->real_root));
    return status == MLDF_OK && !inside ? leads_out(places, text, bytes, "", err) : status;
}

/* What resolve_inside made: its text is below the folder, and its links must be. */
static mldf_status read_inside(const struct file_places *places, const char *text, size_t bytes, uint64_t limit,
                               mldf_buffer *out, mldf_error *err) {
    const char *root = places->root[0] ? places->root : ".", *path = (const char *)places->path.data;
    if (text[0] == '/' && !is_below(&places->path, root))
        root = places->real_root;
    size_t at = root_bytes(root);
    int fd = mldfi_open_beneath(root, path[at] && path[at + 1] ? path + at + 1 : ".");
    if (fd < 0 && errno == EXDEV)
        return leads_out(places, text, bytes, " by a link", err);
    return mldfi_read_opened(fd, limit, out, err);
}

static mldf_status resolve_anywhere(struct file_places *places, const char *text, size_t bytes, mldf_error *err) {
    mldf_buffer *path = &places->path;
    mldf_status status = MLDF_OK;
    if (text[0] != '/' && places->root[0]) {
        status = mldfi_buffer_append_text(path, places->root, err);
        if (status == MLDF_OK && path->data[path->size - 1] != '/')
            status = mldfi_buffer_append_text(path, "/", err);
    }
    return status == MLDF_OK ? mldf_buffer_append(path, text, bytes, err) : status;
}

mldf_status mldfi_files_read(struct file_places *places, const char *text, size_t bytes,
                             const struct field_files *files, uint64_t limit, mldf_buffer *out, mldf_error *err) {
    if (bytes == 0 || memchr(text, 0, bytes))
        return mldfi_fail(err, MLDF_E_TYPE, "%s, where the path of a file belongs", bytes ? "a NUL byte" : "nothing");
    places->path.size = 0;
    mldf_status status =
        places->allow_outside ? resolve_anywhere(places, text, bytes, err) : resolve_inside(places, text, bytes, err);
    if (status == MLDF_OK)
        status = mldf_buffer_append(&places->path, "", 1, err);
    if (status < 0)
        return status;
    const char *path = (const char *)places->path.data;
    if (places->target && (status = mldfi_source_is_not_target(path, places->target, err)) < 0) {
        places->target_named = true;
        return status;
    }
    status = places->allow_outside ? mldfi_read_file(path, limit, out, err)
                                   : read_inside(places, text, bytes, limit, out, err);
    if (status == MLDF_OK && files)
        status = files->look(path, out->data, out->size, places->warn, places->warn_user, err);
    if (status < 0 && status != MLDF_E_MEMORY)
        mldfi_error_path(err, path);
    if (status == MLDF_E_NOT_FOUND) {
        status = MLDF_E_TYPE;
        if (err)
            err->status = status;
    }
    return status;
}
