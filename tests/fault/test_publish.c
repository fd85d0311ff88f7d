/* Everything that gives a file its name, and every call on the way there fails once: the folder then holds what it held before or all
 * that is new, the message says which, and no temporary file is left. Then the process is killed at every rename: whoever comes next
 * ends what was begun. */
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>

#include "dataset.h"
#include "interop/beton.h"
#include "interop/tar.h"
#include "interop/tbl.h"

enum call { CALL_OPEN, CALL_WRITE, CALL_SYNC, CALL_TRUNCATE, CALL_MKDIR, CALL_RENAME, CALL_KINDS };
static const char *const call_names[] = {"open", "write", "fsync", "ftruncate", "mkdir", "rename"};

static int faulty = -1;
static long countdown; /* the call that fails; 0: none */
static bool kills;     /* it ends the process instead, before it does anything */

static bool fails(enum call call) {
    if (faulty != (int)call || countdown <= 0 || --countdown > 0)
        return false;
    if (kills)
        _exit(9);
    errno = EIO;
    return true;
}

int __real_open(const char *path, int flags, ...);
ssize_t __real_write(int fd, const void *data, size_t bytes);
ssize_t __real_pwrite(int fd, const void *data, size_t bytes, off_t offset);
ssize_t __real_copy_file_range(int in, off_t *in_at, int out, off_t *out_at, size_t bytes, unsigned flags);
int __real_ftruncate(int fd, off_t bytes);
int __real_mkdir(const char *path, mode_t mode);
int __real_rename(const char *from, const char *to);
int __real_renameat2(int a, const char *from, int b, const char *to, unsigned flags);
int __wrap_open(const char *path, int flags, ...);
ssize_t __wrap_write(int fd, const void *data, size_t bytes);
ssize_t __wrap_pwrite(int fd, const void *data, size_t bytes, off_t offset);
ssize_t __wrap_copy_file_range(int in, off_t *in_at, int out, off_t *out_at, size_t bytes, unsigned flags);
int __wrap_fsync(int fd);
int __wrap_ftruncate(int fd, off_t bytes);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_rename(const char *from, const char *to);
int __wrap_renameat2(int a, const char *from, int b, const char *to, unsigned flags);

int __wrap_open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    int mode = va_arg(more, int);
    va_end(more);
    return fails(CALL_OPEN) ? -1 : __real_open(path, flags, mode);
}
ssize_t __wrap_write(int fd, const void *data, size_t bytes) {
    return fails(CALL_WRITE) ? -1 : __real_write(fd, data, bytes);
}
ssize_t __wrap_pwrite(int fd, const void *data, size_t bytes, off_t offset) {
    return fails(CALL_WRITE) ? -1 : __real_pwrite(fd, data, bytes, offset);
}
ssize_t __wrap_copy_file_range(int in, off_t *in_at, int out, off_t *out_at, size_t bytes, unsigned flags) {
    return fails(CALL_WRITE) ? -1 : __real_copy_file_range(in, in_at, out, out_at, bytes, flags);
}
/* No power is cut here, and a disk takes long. */
int __wrap_fsync(int fd) {
    (void)fd;
    return fails(CALL_SYNC) ? -1 : 0;
}
int __wrap_ftruncate(int fd, off_t bytes) {
    return fails(CALL_TRUNCATE) ? -1 : __real_ftruncate(fd, bytes);
}
int __wrap_mkdir(const char *path, mode_t mode) {
    return fails(CALL_MKDIR) ? -1 : __real_mkdir(path, mode);
}
int __wrap_rename(const char *from, const char *to) {
    return fails(CALL_RENAME) ? -1 : __real_rename(from, to);
}
int __wrap_renameat2(int a, const char *from, int b, const char *to, unsigned flags) {
    return fails(CALL_RENAME) ? -1 : __real_renameat2(a, from, b, to, flags);
}

/* ---- What a folder holds: every path below it and every byte ---------------------------------------------------------------- */

struct state {
    uint8_t *data;
    size_t bytes;
};

static void state_add(struct state *s, const void *data, size_t bytes) {
    s->data = realloc(s->data, s->bytes + bytes + 1);
    if (bytes)
        memcpy(s->data + s->bytes, data, bytes);
    s->bytes += bytes;
}

static void state_of(struct state *s, const char *folder) {
    struct dirent **entries;
    int count = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char path[2048];
        struct stat info;
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (strcmp(entries[i]->d_name, ".") != 0 && strcmp(entries[i]->d_name, "..") != 0 && lstat(path, &info) == 0) {
            state_add(s, path, strlen(path) + 1);
            size_t bytes = 0;
            uint8_t *data = S_ISDIR(info.st_mode) ? NULL : check_read_file(path, &bytes);
            state_add(s, data, data ? bytes : 0);
            free(data);
            if (S_ISDIR(info.st_mode))
                state_of(s, path);
        }
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
}

static bool same(const struct state *a, const struct state *b) {
    return a->bytes == b->bytes && (a->bytes == 0 || memcmp(a->data, b->data, a->bytes) == 0);
}

static void print_names(const char *folder) {
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));)
        fprintf(stderr, "    in the folder: %s\n", e->d_name);
    if (dir)
        closedir(dir);
}

/* ---- Those that publish --------------------------------------------------------------------------------------------------------- */

static struct dataset data;
static char folder[600], target[700], source[700];
static bool overwrite;
enum { BIG = 1300000 }; /* more than a stage keeps in memory */
static uint8_t big[BIG];

static mldf_status write_mldf(mldf_error *err) {
    mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
    options.overwrite = overwrite;
    options.threads = 0;
    return dataset_write(&data, target, &options, err);
}
static mldf_status write_resumable(mldf_error *err) {
    mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
    options.overwrite = overwrite;
    options.threads = 0;
    options.resume = true;
    return dataset_write(&data, target, &options, err);
}

static mldf_status write_tbl(mldf_error *err) {
    struct tbl_write_options options = TBL_WRITE_OPTIONS_INIT;
    struct tbl_writer *w;
    options.overwrite = overwrite;
    options.count = MLDF_NONE;
    mldf_status status = mldfi_tbl_writer_open(&w, target, &options, err);
    if (status < 0)
        return status;
    for (int i = 0; i < 2 && status >= 0; i++) {
        struct tbl_sample s = {.data = big, .bytes = i ? BIG : 1000, .format = TBL_JPEG};
        status = mldfi_tbl_writer_add(w, &s, err);
    }
    if (status >= 0)
        status = mldfi_tbl_writer_finish(w, NULL, err);
    mldfi_tbl_writer_free(w);
    return status;
}

static mldf_status write_beton(mldf_error *err) {
    static const struct beton_write_field fields[] = {{.type = BETON_BYTES, .name = "b"}};
    struct beton_write_options options = BETON_WRITE_OPTIONS_INIT;
    struct beton_writer *w;
    options.overwrite = overwrite;
    options.count = MLDF_NONE;
    mldf_status status = mldfi_beton_writer_open(&w, target, fields, 1, &options, err);
    if (status < 0)
        return status;
    struct beton_input value = {.data = big, .bytes = BIG};
    status = mldfi_beton_writer_add(w, &value, err);
    if (status >= 0)
        status = mldfi_beton_writer_finish(w, NULL, err);
    mldfi_beton_writer_free(w);
    return status;
}

static mldf_status write_tar_to(const char *path, bool replace, tar_compression kind, mldf_error *err) {
    struct tar_writer *w;
    mldf_status status = mldfi_tar_writer_open(&w, path, replace, err);
    if (status < 0)
        return status;
    status = mldfi_tar_writer_compress(w, kind, err);
    if (status >= 0)
        status = mldfi_tar_writer_part(w, "k", "bin", big, BIG, err);
    if (status >= 0)
        status = mldfi_tar_writer_finish(w, err);
    mldfi_tar_writer_free(w);
    return status;
}
static mldf_status write_tar(mldf_error *err) {
    return write_tar_to(target, overwrite, TAR_PLAIN, err);
}
static mldf_status write_tar_gz(mldf_error *err) {
    return write_tar_to(target, overwrite, TAR_GZIP, err);
}

/* The index of an archive goes beside it, so the archive is there before and after. */
static char archive[720];
static void make_archive(void) {
    mldf_error err;
    char index[740];
    struct timespec times[2] = {{1000000000, 5}, {1000000000, 5}};
    snprintf(archive, sizeof archive, "%s/a.tar", folder);
    CHECK_OK(write_tar_to(archive, true, TAR_PLAIN, &err), &err);
    CHECK_EQ_INT(0, utimensat(AT_FDCWD, archive, times, 0));
    snprintf(index, sizeof index, "%s.mldfidx", archive);
    if (overwrite)
        CHECK(check_write_file(index, "\x89MLDFTI\nold", 11));
}
static mldf_status write_index(mldf_error *err) {
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_reader *reader;
    options.tar_index = MLDF_TAR_INDEX_KEEP;
    mldf_status status = mldf_reader_open(archive, &options, &reader, err);
    if (status >= 0)
        mldf_reader_close(reader);
    return status;
}

static mldf_status write_small(mldf_error *err) {
    return mldf_write_file(target, big, 5000, overwrite, err);
}

static mldf_status repair_out(mldf_error *err) {
    mldf_repair_options options = MLDF_REPAIR_OPTIONS_INIT;
    options.overwrite = overwrite;
    options.threads = 0;
    return mldf_repair(source, target, &options, NULL, err);
}
static mldf_status repack(mldf_error *err) {
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_repack_options options = MLDF_REPACK_OPTIONS_INIT;
    options.writer = &writing;
    writing.overwrite = overwrite;
    writing.threads = 0;
    return mldf_repack(source, target, &options, NULL, err);
}

static void make_old_parts(void) {
    char path[720];
    for (int i = 0; overwrite && i < 3; i += 2) {
        snprintf(path, sizeof path, "%s/part-%d.mldf", folder, i);
        CHECK(check_write_file(path, "old", 3));
    }
}
static mldf_status split(mldf_error *err) {
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_split_options options = MLDF_SPLIT_OPTIONS_INIT;
    mldf_reader *reader;
    char pattern[720];
    mldf_status status = mldf_reader_open(source, NULL, &reader, err);
    if (status < 0)
        return status;
    snprintf(pattern, sizeof pattern, "%s/part-{}.mldf", folder);
    options.writer = &writing;
    writing.overwrite = overwrite;
    writing.threads = 0;
    options.count = (data.samples + 2) / 3;
    status = mldf_split(reader, pattern, &options, NULL, err);
    mldf_reader_close(reader);
    return status;
}

static mldf_status extract(mldf_error *err) {
    mldf_reader *reader;
    mldf_status status = mldf_reader_open(source, NULL, &reader, err);
    if (status < 0)
        return status;
    status = mldf_extract(reader, target, NULL, NULL, err);
    mldf_reader_close(reader);
    return status;
}

static void make_old(void) {
    if (overwrite)
        CHECK(check_write_file(target, "old", 3));
}
static void make_nothing(void) {
}

struct publisher {
    const char *name;
    mldf_status (*act)(mldf_error *err);
    void (*before)(void);
    bool replaces; /* can be told to overwrite */
};
static const struct publisher publishers[] = {
    {"writer", write_mldf, make_old, true},
    {"resumable", write_resumable, make_old, true},
    {"tbl", write_tbl, make_old, true},
    {"beton", write_beton, make_old, true},
    {"tar", write_tar, make_old, true},
    {"tar.gz", write_tar_gz, make_old, true},
    {"tar index", write_index, make_archive, true},
    {"write_file", write_small, make_old, true},
    {"repair", repair_out, make_old, true},
    {"repack", repack, make_old, true},
    {"split", split, make_old_parts, true},
    {"extract", extract, make_nothing, false},
};
enum { PUBLISHERS = sizeof publishers / sizeof *publishers };

static void begin_folder(const struct publisher *p) {
    check_remove_tree(folder);
    CHECK_EQ_INT(0, mkdir(folder, 0777));
    p->before();
}

/* ---- Failures ------------------------------------------------------------------------------------------------------------------- */

static void fail_each(const struct publisher *p, enum call call, const struct state *old, const struct state *new,
                      long *failures) {
    for (long n = 1;; n += 1 + n / 20) {
        mldf_error err = {0};
        struct state now = {0};
        begin_folder(p);
        countdown = n;
        faulty = (int)call;
        mldf_status status = p->act(&err);
        bool ran_out = countdown > 0;
        faulty = -1;
        state_of(&now, folder);
        bool is_old = same(&now, old), is_new = same(&now, new), said = strstr(TEXT(err), "in place, but") != NULL;
        bool good = status < 0 ? (is_old && !said) || (is_new && said) : is_new;
        if (!good) {
            check_fail(__FILE__, __LINE__, "%s, %s %ld fails: status %d, %s: %s", p->name, call_names[call], n,
                       (int)status,
                       is_old   ? "old"
                       : is_new ? "new"
                                : "neither old nor new",
                       err.message);
            print_names(folder);
        }
        *failures += status < 0;
        free(now.data);
        if (ran_out)
            break;
    }
}

static void every_failure_leaves_the_old_or_the_new(void) {
    for (size_t i = 0; i < PUBLISHERS; i++)
        for (int replace = 0; replace <= publishers[i].replaces; replace++) {
            const struct publisher *p = &publishers[i];
            struct state old = {0}, new = {0};
            mldf_error err;
            long failures = 0;
            overwrite = replace;
            begin_folder(p);
            state_of(&old, folder);
            CHECK_OK(p->act(&err), &err);
            state_of(&new, folder);
            CHECK(!same(&old, &new));
            for (int call = 0; call < CALL_KINDS; call++)
                fail_each(p, (enum call)call, &old, &new, &failures);
            printf("    %s: %ld failures\n", p->name, failures);
            CHECK(failures > 4);
            free(old.data);
            free(new.data);
        }
}

/* ---- Kills ------------------------------------------------------------------------------------------------------------------------ */

/* False: there is no n-th call. */
static bool act_and_die(const struct publisher *p, enum call call, long n) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        mldf_error err;
        kills = true;
        countdown = n;
        faulty = (int)call;
        (void)p->act(&err);
        _exit(0);
    }
    int how = 0;
    CHECK_EQ_INT(child, waitpid(child, &how, 0));
    return WIFEXITED(how) && WEXITSTATUS(how) == 9;
}

/* Whatever a killed run left: one that is not killed gives what it always gives, and nothing else is there. */
static void the_next_run_ends_what_a_killed_one_left(void) {
    for (size_t i = 0; i < PUBLISHERS; i++) {
        const struct publisher *p = &publishers[i];
        struct state new = {0};
        mldf_error err;
        overwrite = p->replaces;
        begin_folder(p);
        CHECK_OK(p->act(&err), &err);
        state_of(&new, folder);
        for (int call = 0; call < CALL_KINDS; call++)
            for (long n = 1;; n += 1 + n / 8) {
                struct state now = {0};
                begin_folder(p);
                if (!act_and_die(p, (enum call)call, n))
                    break;
                mldf_status status = p->act(&err);
                if (status == MLDF_E_EXISTS && !p->replaces) /* it was killed after the name */
                    status = MLDF_OK;
                state_of(&now, folder);
                if (status < 0 || !same(&now, &new)) {
                    check_fail(__FILE__, __LINE__, "%s, killed at %s %ld: status %d: %s", p->name, call_names[call], n,
                               (int)status, status < 0 ? err.message : "the folder differs");
                    print_names(folder);
                }
                free(now.data);
            }
        free(new.data);
    }
}

/* ... and mldf_clean leaves the old or the new, and nothing beside it. */
static void clean_ends_what_a_killed_run_left(void) {
    for (size_t i = 0; i < PUBLISHERS; i++)
        for (int replace = 0; replace <= publishers[i].replaces; replace++) {
            const struct publisher *p = &publishers[i];
            struct state old = {0}, new = {0};
            mldf_error err;
            if (p->act == write_resumable)
                continue; /* what it left can be resumed, and stays */
            overwrite = replace;
            begin_folder(p);
            state_of(&old, folder);
            CHECK_OK(p->act(&err), &err);
            state_of(&new, folder);
            for (int call = 0; call < CALL_KINDS; call++)
                for (long n = 1;; n += 1 + n / 8) {
                    struct state now = {0}, looked = {0};
                    mldf_clean_options options = MLDF_CLEAN_OPTIONS_INIT;
                    begin_folder(p);
                    if (!act_and_die(p, (enum call)call, n))
                        break;
                    state_of(&now, folder);
                    options.dry_run = true;
                    CHECK_OK(mldf_clean(folder, &options, &err), &err);
                    state_of(&looked, folder);
                    CHECK(same(&now, &looked));
                    CHECK_OK(mldf_clean(folder, NULL, &err), &err);
                    now.bytes = 0;
                    state_of(&now, folder);
                    if (!same(&now, &old) && !same(&now, &new)) {
                        check_fail(__FILE__, __LINE__, "%s, killed at %s %ld: neither old nor new", p->name,
                                   call_names[call], n);
                        print_names(folder);
                    }
                    free(now.data);
                    free(looked.data);
                }
            free(old.data);
            free(new.data);
        }
}

int main(int argc, char **argv) {
    mldf_error err;
    mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
    check_begin(argc, argv);
    uint64_t state = check_seed();
    snprintf(folder, sizeof folder, "%s/f", check_tmpdir());
    snprintf(target, sizeof target, "%s/target", folder);
    snprintf(source, sizeof source, "%s/source.mldf", check_tmpdir());
    for (size_t i = 0; i < BIG; i++)
        big[i] = (uint8_t)(i >> 5);
    do
        dataset_make(&data, &state, (struct dataset_shape){4, 12, 3000, true, false});
    while (data.samples < 6 && (dataset_free(&data), true));
    CHECK_OK(dataset_write(&data, source, &options, &err), &err);
    RUN(every_failure_leaves_the_old_or_the_new);
    RUN(the_next_run_ends_what_a_killed_one_left);
    RUN(clean_ends_what_a_killed_run_left);
    dataset_free(&data);
    return check_end();
}
