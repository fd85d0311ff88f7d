/* Telling folders, archives and tables apart, by what they are and by their first bytes. See pack_source.h. */
#include "tool/pack_source.h"
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "field/field.h"
#include "interop/tar.h"
#include "interop/tbl.h"
#include "os/target.h"
#include "reader/reader.h"
#include "util/buffer.h"
#include "util/error.h"

static bool ends_with(const char *name, const char *ending) {
    size_t n = strlen(name), e = strlen(ending);
    return n > e && strcasecmp(name + n - e, ending) == 0;
}

static bool named_document(const char *path) {
    return ends_with(path, ".txt") || ends_with(path, ".md");
}

static bool named_tar(const char *path) {
    static const char *const endings[] = {".tar",  ".tar.gz", ".tgz",    ".tar.zst", ".tzst", ".tar.bz2",
                                          ".tbz2", ".tbz",    ".tar.xz", ".txz",     NULL};
    for (size_t i = 0; endings[i]; i++)
        if (ends_with(path, endings[i]))
            return true;
    return false;
}

/* The first block of an archive, also of a compressed one. */
static bool holds_tar(const char *path) {
    uint8_t block[TAR_BLOCK];
    size_t got = 0;
    struct tar_input *input;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    if (mldfi_tar_input_fd(&input, fd, NULL) == MLDF_OK) {
        if (mldfi_tar_input_read(input, block, sizeof block, &got, NULL) < 0)
            got = 0;
        mldfi_tar_input_free(input);
    }
    close(fd);
    return mldfi_tar_is(block, got);
}

/* A .beton begins with its version, 2, which no text does. */
static bool holds_dataset(const char *path) {
    uint8_t first[9] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t got = read(fd, first, sizeof first);
    close(fd);
    if (got < 4)
        return false;
    return memcmp(first, "\x89MLDF\r\n\x1a\n", 9) == 0 || mldfi_tbl_is(first, (uint64_t)got) ||
           (first[0] == 2 && first[1] == 0);
}

source_kind mldfi_source_kind(const char *path, mldf_source_format format, bool files) {
    struct stat st;
    bool there = strcmp(path, "-") != 0 && stat(path, &st) == 0;
    if (there && S_ISDIR(st.st_mode))
        return SOURCE_FOLDERS;
    if (format == MLDF_SOURCE_TAR)
        return SOURCE_ARCHIVES;
    if (format == MLDF_SOURCE_FOLDER || format == MLDF_SOURCE_TEXT)
        return SOURCE_FOLDERS;
    if (format != MLDF_SOURCE_AUTO)
        return SOURCE_ROWS;
    if (files && there && S_ISREG(st.st_mode) && holds_dataset(path))
        return SOURCE_FILES;
    if (there && S_ISREG(st.st_mode) && mldfi_type_of_file(path, NULL))
        return SOURCE_FOLDERS; /* of one file */
    return named_tar(path) || (there && S_ISREG(st.st_mode) && holds_tar(path)) ? SOURCE_ARCHIVES : SOURCE_ROWS;
}

static mldf_status add(struct source_list *list, const char *path, mldf_error *err) {
    mldf_status status = mldfi_array_reserve(&list->paths, &list->capacity, list->count + 1, sizeof *list->paths, err);
    if (status == MLDF_OK)
        list->paths[list->count++] = path;
    return status;
}

static mldf_status expand(struct source_list *list, const char *pattern, mldf_error *err) {
    struct tar_shards shards;
    TRY(mldfi_tar_shards_expand(&shards, pattern, err));
    mldf_status status = mldfi_array_reserve(&list->made, &list->made_capacity, list->made_count + shards.count,
                                             sizeof *list->made, err);
    for (size_t i = 0; status == MLDF_OK && i < shards.count; i++) {
        list->made[list->made_count++] = shards.paths[i];
        status = add(list, shards.paths[i], err);
        shards.paths[i] = NULL;
    }
    mldfi_tar_shards_free(&shards);
    return status;
}

mldf_status mldfi_sources_expand(struct source_list *list, const char *const *given, size_t count, mldf_error *err) {
    mldf_status status = MLDF_OK;
    struct stat st;
    size_t inputs = 0;
    memset(list, 0, sizeof *list);
    if (count == 0)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "no source was given");
    for (size_t i = 0; status == MLDF_OK && i < count; i++) {
        bool pattern = strchr(given[i], '{') && lstat(given[i], &st) != 0;
        inputs += strcmp(given[i], "-") == 0;
        status = pattern ? expand(list, given[i], err) : add(list, given[i], err);
    }
    if (status == MLDF_OK && inputs > 1)
        status = mldfi_fail(err, MLDF_E_ARGUMENT, "standard input was named %zu times", inputs);
    return status;
}

/* ---- What is read is not replaced ----------------------------------------------------------------------------------------- */

static mldf_status refuse_target(const char *source, const char *out, mldf_error *err) {
    return mldfi_fail_file(err, MLDF_E_ARGUMENT, out, "is the same file as %s, which is read and not replaced", source);
}

mldf_status mldfi_source_is_not_target(const char *source, const char *out, mldf_error *err) {
    struct stat a, b;
    if (strcmp(source, "-") == 0 || strcmp(out, "-") == 0 || stat(source, &a) != 0 || stat(out, &b) != 0)
        return MLDF_OK;
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino ? refuse_target(source, out, err) : MLDF_OK;
}

mldf_status mldfi_sources_are_not_target(const char *const *sources, size_t count, const char *out, mldf_error *err) {
    mldf_status status = MLDF_OK;
    for (size_t i = 0; status == MLDF_OK && i < count; i++)
        status = mldfi_source_is_not_target(sources[i], out, err);
    return status;
}

mldf_status mldfi_reader_is_not_target(const mldf_reader *reader, const char *out, mldf_error *err) {
    bool same = strcmp(out, "-") != 0 && mldfi_file_is(&reader->file, out);
    return same ? refuse_target(reader->path, out, err) : MLDF_OK;
}

/* The source at i is of another kind than the first, unless one of them is not there at all. */
static mldf_status fail_kinds(const struct source_list *list, size_t i, source_kind kind, mldf_error *err) {
    static const char *const names[] = {"a table", "a folder", "a tar archive"};
    const char *const both[] = {list->paths[0], list->paths[i]};
    struct stat st;
    for (size_t k = 0; k < 2; k++)
        if (strcmp(both[k], "-") != 0 && stat(both[k], &st) != 0)
            return mldfi_fail_open(both[k], errno, err);
    return mldfi_fail_file(err, MLDF_E_ARGUMENT, both[0], "is %s and %s is %s: one run packs sources of one kind",
                           names[list->kind], both[1], names[kind]);
}

mldf_status mldfi_sources_begin(struct source_list *list, const char *const *given, size_t count, bool documents,
                                mldf_source_format format, mldf_error *err) {
    mldf_status status = mldfi_sources_expand(list, given, count, err);
    for (size_t i = 0; status == MLDF_OK && i < list->count; i++) {
        source_kind kind = mldfi_source_kind(list->paths[i], format, false);
        if (documents && format == MLDF_SOURCE_AUTO && kind == SOURCE_ROWS && named_document(list->paths[i]))
            kind = SOURCE_FOLDERS;
        bool table = format == MLDF_SOURCE_CSV || format == MLDF_SOURCE_TSV || format == MLDF_SOURCE_JSONL;
        if (kind == SOURCE_FOLDERS && (table || format == MLDF_SOURCE_TAR))
            return mldfi_fail_file(err, MLDF_E_ARGUMENT, list->paths[i],
                                   "is a folder, and another format was asked for");
        if (i == 0)
            list->kind = kind;
        else if (kind != list->kind)
            status = fail_kinds(list, i, kind, err);
    }
    return status;
}

void mldfi_sources_free(struct source_list *list) {
    for (size_t i = 0; i < list->made_count; i++)
        free(list->made[i]);
    free(list->made);
    free((void *)list->paths);
    memset(list, 0, sizeof *list);
}
