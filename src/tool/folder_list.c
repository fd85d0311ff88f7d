/* Walking a folder. The order in which the system lists names does not matter: the list is sorted at the end, by bytes, so the same
 * files make the same dataset on any machine. See folder_pack.h. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "tool/folder_pack.h"
#include "util/buffer.h"
#include "util/error.h"

/* A folder that is being walked, and those that it lies in: how a loop of links is found. */
struct level {
    const struct level *above;
    dev_t device;
    ino_t inode;
    int depth;
};

struct walk {
    struct folder_list *list;
    const struct folder_hooks *hooks;
    size_t below, key; /* see struct folder_entry */
    mldf_buffer path;  /* of what is looked at, terminated */
    uint64_t seen;
};

/* ---- What is no sample -------------------------------------------------------------------------------------------------- */

/* Notes, tables, datasets and what file managers leave: known by name, never an error. */
static bool is_side_file(const char *name) {
    static const char *const names[] = {"Thumbs.db", "desktop.ini", "LICENSE", "README", "Makefile", NULL};
    static const char *const endings[] = {"txt",    "lab", "md",   "csv",     "tsv",    "json", "jsonl",
                                          "ndjson", "xml", "yaml", "yml",     "html",   "htm",  "log",
                                          "pdf",    "py",  "mldf", "partial", "tables", NULL};
    for (size_t i = 0; names[i]; i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && endings[i]; i++)
        if (strcasecmp(dot + 1, endings[i]) == 0)
            return true;
    return false;
}

static void leave_out(const struct walk *walk, const char *why) {
    if (walk->hooks->left_out)
        walk->hooks->left_out(walk->hooks->user, (const char *)walk->path.data, why);
}

/* The caller may go on without it: MLDF_OK. */
static mldf_status refuse(const struct walk *walk, mldf_error *why, mldf_error *err) {
    const char *path = (const char *)walk->path.data;
    if (walk->hooks->unreadable && walk->hooks->unreadable(walk->hooks->user, path, why))
        return MLDF_OK;
    mldfi_error_prefix(why, "%s", path);
    if (err)
        *err = *why;
    return why->status;
}

static mldf_status unreadable(const struct walk *walk, int error, mldf_error *err) {
    mldf_error why;
    (void)mldfi_fail_errno(&why, error, "cannot be read");
    return refuse(walk, &why, err);
}

/* ---- The walk ------------------------------------------------------------------------------------------------------------ */

static mldf_status add_file(struct walk *walk, const struct stat *st, mldf_error *err) {
    struct folder_list *list = walk->list;
    mldf_status status =
        mldfi_array_reserve(&list->entries, &list->capacity, list->count + 1, sizeof *list->entries, err);
    if (status < 0)
        return status;
    char *path = mldfi_copy_text((const char *)walk->path.data, walk->path.size - 1, err);
    if (!path)
        return MLDF_E_MEMORY;
    list->entries[list->count++] = (struct folder_entry){
        path, walk->below, walk->key, FOLDER_NO_LABEL, (uint64_t)st->st_size, st->st_mtim.tv_sec, st->st_mtim.tv_nsec};
    list->total_bytes += (uint64_t)st->st_size;
    return MLDF_OK;
}

static mldf_status walk_folder(struct walk *walk, const struct level *above, const struct stat *st, mldf_error *err);

static mldf_status look_at(struct walk *walk, const struct level *level, const char *name, mldf_error *err) {
    struct stat st;
    if (stat((const char *)walk->path.data, &st) != 0)
        return unreadable(walk, errno, err); /* a link to nothing, among others */
    if (S_ISDIR(st.st_mode))
        return walk_folder(walk, level, &st, err);
    if (!S_ISREG(st.st_mode)) {
        leave_out(walk, "neither a file nor a folder");
        return MLDF_OK;
    }
    if (!walk->hooks->every_file && is_side_file(name)) {
        leave_out(walk, "not a sample by its name");
        return MLDF_OK;
    }
    return add_file(walk, &st, err);
}

static mldf_status walk_name(struct walk *walk, const struct level *level, const char *name, mldf_error *err) {
    size_t before = walk->path.size;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return MLDF_OK;
    walk->path.size--; /* the terminator */
    mldf_status status = MLDF_OK;
    if (walk->path.size && walk->path.data[walk->path.size - 1] != '/')
        status = mldf_buffer_append(&walk->path, "/", 1, err);
    if (status == MLDF_OK)
        status = mldf_buffer_append(&walk->path, name, strlen(name) + 1, err);
    if (status == MLDF_OK && name[0] == '.')
        leave_out(walk, "hidden");
    else if (status == MLDF_OK)
        status = look_at(walk, level, name, err);
    if (status == MLDF_OK && walk->hooks->watch && ++walk->seen % 256 == 0)
        status = walk->hooks->watch(walk->hooks->user, err);
    walk->path.size = before;
    if (status == MLDF_OK)
        walk->path.data[before - 1] = 0;
    return status;
}

/* False, with the reason: not to be entered. */
static bool may_enter(const struct level *level, mldf_error *why) {
    for (const struct level *l = level->above; l; l = l->above)
        if (l->device == level->device && l->inode == level->inode) {
            (void)mldfi_fail(why, MLDF_E_ARGUMENT, "a link leads back to a folder that it lies in");
            return false;
        }
    if (level->depth > FOLDER_DEPTH_MAX)
        (void)mldfi_fail(why, MLDF_E_LIMIT, "more than %d folders deep", FOLDER_DEPTH_MAX);
    return level->depth <= FOLDER_DEPTH_MAX;
}

static mldf_status walk_folder(struct walk *walk, const struct level *above, const struct stat *st, mldf_error *err) {
    struct level level = {above, st->st_dev, st->st_ino, above ? above->depth + 1 : 0};
    mldf_status status = MLDF_OK;
    mldf_error why;
    if (!may_enter(&level, &why))
        return refuse(walk, &why, err);
    DIR *folder = opendir((const char *)walk->path.data);
    if (!folder)
        return unreadable(walk, errno, err);
    while (status == MLDF_OK) {
        errno = 0;
        struct dirent *found = readdir(folder);
        if (!found) {
            status = errno ? unreadable(walk, errno, err) : MLDF_OK;
            break;
        }
        status = walk_name(walk, &level, found->d_name, err);
    }
    closedir(folder);
    return status;
}

static int by_path(const void *a, const void *b) {
    const struct folder_entry *x = a, *y = b;
    return strcmp(x->path + x->below, y->path + y->below);
}

mldf_status mldfi_folder_add(struct folder_list *list, const char *root, bool with_root,
                             const struct folder_hooks *hooks, mldf_error *err) {
    struct walk walk = {list, hooks, 0, 0, MLDF_BUFFER_INIT, 0};
    struct stat st;
    size_t bytes = strlen(root), first = list->count;
    while (bytes > 1 && root[bytes - 1] == '/')
        bytes--;
    if (stat(root, &st) != 0)
        return mldfi_fail_errno(err, errno, "%s: cannot be read", root);
    mldf_status status = mldf_buffer_append(&walk.path, root, bytes, err);
    if (status == MLDF_OK)
        status = mldf_buffer_append(&walk.path, "", 1, err);
    walk.below = bytes + (root[bytes - 1] != '/');
    if (!S_ISDIR(st.st_mode)) { /* a single file: the folder that it lies in is not looked at */
        const char *slash = strrchr(root, '/');
        walk.below = slash ? (size_t)(slash - root) + 1 : 0;
    }
    walk.key = with_root ? 0 : walk.below;
    if (status == MLDF_OK)
        status = S_ISDIR(st.st_mode) ? walk_folder(&walk, NULL, &st, err) : add_file(&walk, &st, err);
    mldf_buffer_free(&walk.path);
    if (status == MLDF_OK && list->count > first)
        qsort(list->entries + first, list->count - first, sizeof *list->entries, by_path);
    return status;
}

void mldfi_folder_free(struct folder_list *list) {
    for (size_t i = 0; i < list->count; i++)
        free(list->entries[i].path);
    for (size_t i = 0; i < list->class_count; i++)
        free(list->classes[i]);
    free(list->entries);
    free(list->classes);
    memset(list, 0, sizeof *list);
}
