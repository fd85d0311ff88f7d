/* Every system call fails once: the error is named, the old target stays what it was, and no temporary file is left. Short
 * transfers and interrupted calls are not errors at all. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include "dataset.h"

enum call { CALL_PWRITE, CALL_PREAD, CALL_FSYNC, CALL_FTRUNCATE, CALL_OPEN, CALL_RENAME, CALL_MMAP, CALL_KINDS };
static const char *const call_names[] = {"pwrite", "pread", "fsync", "ftruncate", "open", "rename", "mmap"};

static atomic_int faulty = -1; /* the kind of call that fails */
static atomic_long countdown;  /* which of them; 0: none */
static atomic_int fault_errno;
static atomic_bool shorten; /* every transfer is cut, and every other call is interrupted */
static atomic_uint turn;

static bool fails(enum call call) {
    if (atomic_load(&faulty) != (int)call || atomic_load(&countdown) <= 0)
        return false;
    if (atomic_fetch_sub(&countdown, 1) != 1)
        return false;
    errno = atomic_load(&fault_errno);
    return true;
}

static bool interrupted(void) {
    if (!atomic_load(&shorten) || atomic_fetch_add(&turn, 1) % 2)
        return false;
    errno = EINTR;
    return true;
}

ssize_t __real_pwrite(int fd, const void *data, size_t bytes, off_t offset);
ssize_t __real_pread(int fd, void *data, size_t bytes, off_t offset);
int __real_fsync(int fd);
int __real_ftruncate(int fd, off_t bytes);
int __real_open(const char *path, int flags, ...);
int __real_rename(const char *from, const char *to);
int __real_renameat2(int a, const char *from, int b, const char *to, unsigned flags);
void *__real_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *data, size_t bytes, off_t offset);
ssize_t __wrap_pread(int fd, void *data, size_t bytes, off_t offset);
int __wrap_fsync(int fd);
int __wrap_ftruncate(int fd, off_t bytes);
int __wrap_open(const char *path, int flags, ...);
int __wrap_rename(const char *from, const char *to);
int __wrap_renameat2(int a, const char *from, int b, const char *to, unsigned flags);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);

ssize_t __wrap_pwrite(int fd, const void *data, size_t bytes, off_t offset) {
    if (fails(CALL_PWRITE) || interrupted())
        return -1;
    return __real_pwrite(fd, data, atomic_load(&shorten) && bytes > 7 ? bytes / 2 : bytes, offset);
}
ssize_t __wrap_pread(int fd, void *data, size_t bytes, off_t offset) {
    if (fails(CALL_PREAD) || interrupted())
        return -1;
    return __real_pread(fd, data, atomic_load(&shorten) && bytes > 7 ? bytes / 2 : bytes, offset);
}
int __wrap_fsync(int fd) {
    return fails(CALL_FSYNC) || interrupted() ? -1 : __real_fsync(fd);
}
int __wrap_ftruncate(int fd, off_t bytes) {
    return fails(CALL_FTRUNCATE) || interrupted() ? -1 : __real_ftruncate(fd, bytes);
}
int __wrap_open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    int mode = flags & O_CREAT ? va_arg(more, int) : 0;
    va_end(more);
    return fails(CALL_OPEN) ? -1 : __real_open(path, flags, mode);
}
int __wrap_rename(const char *from, const char *to) {
    return fails(CALL_RENAME) ? -1 : __real_rename(from, to);
}
int __wrap_renameat2(int a, const char *from, int b, const char *to, unsigned flags) {
    return fails(CALL_RENAME) ? -1 : __real_renameat2(a, from, b, to, flags);
}
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset) {
    return fails(CALL_MMAP) ? (void *)-1 : __real_mmap(at, bytes, protection, flags, fd, offset);
}

/* ---- Scenes ------------------------------------------------------------------------------------------------------------- */

struct scene {
    struct dataset data;
    char path[512];
    mldf_writer_options options;
};
static uint64_t base_seed;

static void begin(struct scene *scene, size_t samples, int threads) {
    uint64_t state = base_seed + samples;
    memset(scene, 0, sizeof *scene);
    scene->options = (mldf_writer_options)MLDF_WRITER_OPTIONS_INIT;
    scene->options.threads = threads;
    snprintf(scene->path, sizeof scene->path, "%s/io.mldf", check_tmpdir());
    do
        dataset_make(&scene->data, &state, (struct dataset_shape){5, samples, 30000, true, false});
    while (scene->data.samples < samples / 2 && (dataset_free(&scene->data), true));
}

static mldf_status do_write(struct scene *scene, mldf_error *err) {
    return dataset_write(&scene->data, scene->path, &scene->options, err);
}

static mldf_status do_append(struct scene *scene, mldf_error *err) {
    mldf_writer *w;
    mldf_status st = mldf_writer_open_append(scene->path, &scene->options, &w, err);
    if (st < 0)
        return st;
    st = dataset_feed(&scene->data, w, 0, scene->data.samples, err);
    if (st >= 0)
        return mldf_writer_finish(w, NULL, err);
    mldf_writer_abort(w);
    return st;
}

static mldf_status do_read(struct scene *scene, mldf_error *err) {
    mldf_reader *r = NULL;
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    options.backend = MLDF_BACKEND_READ;
    mldf_status st = mldf_reader_open(scene->path, &options, &r, err);
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    for (size_t i = 0; st >= 0 && i < scene->data.samples * scene->data.fields; i++) {
        mldf_value v;
        st = mldf_reader_get(r, i / scene->data.fields, i % scene->data.fields, &scratch, &v, err);
    }
    mldf_buffer_free(&scratch);
    mldf_reader_close(r);
    return st;
}

/* As a long run does it: goes on from the last checkpoint, and saves after each quarter. */
static mldf_status do_resume(struct scene *scene, mldf_error *err) {
    mldf_writer *w;
    mldf_writer_options options = scene->options;
    size_t at = 0, all = scene->data.samples, bytes;
    options.resume = true;
    mldf_status st = mldf_writer_open(scene->path, scene->data.schema, &options, &w, err);
    if (st < 0)
        return st;
    const void *position = mldf_writer_position(w, &bytes);
    if (position)
        memcpy(&at, position, sizeof at);
    while (at < all && st >= 0) {
        size_t to = at + all / 4 + 1 < all ? at + all / 4 + 1 : all;
        st = dataset_feed(&scene->data, w, at, to, err);
        at = to;
        if (st >= 0 && at < all)
            st = mldf_writer_checkpoint(w, &at, sizeof at, err);
    }
    if (st >= 0)
        return mldf_writer_finish(w, NULL, err);
    mldf_writer_abort(w);
    return st;
}

static bool is_environment(mldf_status st) {
    return st <= MLDF_E_IO && st >= MLDF_E_KEY_WRONG;
}

static size_t entries(void) {
    size_t count = 0;
    DIR *dir = opendir(check_tmpdir());
    for (struct dirent *e; dir && (e = readdir(dir));)
        count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    if (dir)
        closedir(dir);
    return count;
}

static void put_back(const char *path, const uint8_t *old, size_t bytes) {
    unlink(path);
    FILE *file = old ? fopen(path, "wb") : NULL;
    if (!file)
        return;
    CHECK_EQ_U64(bytes, fwrite(old, 1, bytes, file));
    fclose(file);
}

/* The n-th call of one kind fails, for every n up to `most`, in steps that grow so that large scenes stay quick. */
static void fail_each_up_to(struct scene *scene, mldf_status (*act)(struct scene *, mldf_error *), enum call call,
                            int number, long most) {
    size_t old_bytes = 0;
    uint8_t *old = dataset_load(scene->path, &old_bytes);
    long failures = 0, unseen = 0;
    for (long n = 1; n <= most; n += 1 + n / 40) {
        mldf_error err;
        atomic_store(&fault_errno, number);
        atomic_store(&countdown, n);
        atomic_store(&faulty, (int)call);
        mldf_status st = act(scene, &err);
        bool ran_out = atomic_load(&countdown) > 0;
        atomic_store(&faulty, -1);
        if (st < 0) {
            failures++;
            CHECK(is_environment(st));
            CHECK_EQ_INT(number == ENOSPC ? MLDF_E_NO_SPACE : MLDF_E_IO, err.status);
            CHECK_EQ_INT(number, err.sys_errno);
            CHECK(strlen(err.message) > 10);
            size_t now_bytes = 0;
            uint8_t *now = dataset_load(scene->path, &now_bytes);
            CHECK((now == NULL) == (old == NULL));
            if (old && now && act != do_read)
                CHECK_BYTES_EQ(old, old_bytes, now, now_bytes);
            free(now);
        } else if (!ran_out) {
            /* One read only asks whether the file changed while it was opened; opening then starts over. */
            CHECK(call == CALL_PREAD && unseen++ == 0);
        }
        CHECK_EQ_U64(old || st >= 0 ? 1 : 0, entries());
        put_back(scene->path, old, old_bytes);
        if (ran_out)
            break;
    }
    printf("    %s fails: %ld failures\n", call_names[call], failures);
    CHECK(failures > 0);
    free(old);
}

static void fail_each(struct scene *scene, mldf_status (*act)(struct scene *, mldf_error *), enum call call,
                      int number) {
    fail_each_up_to(scene, act, call, number, LONG_MAX);
}

/* A new file is synced twice before it gets its name; the third sync is of the folder, when the file is already in place. */
enum { SYNCS_BEFORE_NAME = 2 };

static void a_failing_call_leaves_no_new_file(void) {
    struct scene scene;
    begin(&scene, 150, 0);
    fail_each(&scene, do_write, CALL_PWRITE, EIO);
    fail_each(&scene, do_write, CALL_RENAME, EIO);
    fail_each_up_to(&scene, do_write, CALL_FSYNC, EIO, SYNCS_BEFORE_NAME);
    fail_each(&scene, do_write, CALL_PWRITE, ENOSPC);
    dataset_free(&scene.data);
}

static void a_failing_call_leaves_the_old_file(void) {
    struct scene scene;
    mldf_error err;
    begin(&scene, 150, 2);
    scene.options.overwrite = true;
    REQUIRE_STATUS(MLDF_OK, do_write(&scene, &err), &err);
    fail_each(&scene, do_write, CALL_PWRITE, ENOSPC);
    fail_each(&scene, do_write, CALL_RENAME, EIO);
    fail_each_up_to(&scene, do_write, CALL_FSYNC, EIO, SYNCS_BEFORE_NAME);
    fail_each(&scene, do_append, CALL_PWRITE, ENOSPC);
    fail_each(&scene, do_append, CALL_PWRITE, EIO);
    fail_each(&scene, do_append, CALL_FSYNC, EIO);
    unlink(scene.path);
    dataset_free(&scene.data);
}

/* The user frees some space and goes on: so what was saved is still there, and the message says where. */
static void a_full_disk_leaves_what_can_be_resumed(int threads) {
    struct scene scene;
    mldf_error err;
    char partial[600], tables[600];
    size_t want_bytes = 0, from_the_beginning = 0, later = 0;
    begin(&scene, 150, threads);
    REQUIRE_STATUS(MLDF_OK, do_write(&scene, &err), &err);
    uint8_t *want = dataset_load(scene.path, &want_bytes);
    unlink(scene.path);
    snprintf(partial, sizeof partial, "%s.partial", scene.path);
    snprintf(tables, sizeof tables, "%s.partial.tables", scene.path);
    for (long n = 1;; n += 1 + n / 20) {
        atomic_store(&fault_errno, ENOSPC);
        atomic_store(&countdown, n);
        atomic_store(&faulty, CALL_PWRITE);
        mldf_status st = do_resume(&scene, &err);
        bool ran_out = atomic_load(&countdown) > 0;
        atomic_store(&faulty, -1);
        if (ran_out)
            break;
        CHECK_STATUS(MLDF_E_NO_SPACE, st, &err);
        CHECK(strstr(TEXT(err), ".partial") != NULL);
        CHECK(access(partial, F_OK) == 0 && access(tables, F_OK) == 0 && access(scene.path, F_OK) != 0);
        bool nothing = strstr(TEXT(err), "nothing was saved yet") != NULL;
        from_the_beginning += nothing;
        later += !nothing;
        REQUIRE_STATUS(MLDF_OK, do_resume(&scene, &err), &err);
        size_t bytes = 0;
        uint8_t *got = dataset_load(scene.path, &bytes);
        CHECK_BYTES_EQ(want, want_bytes, got, bytes);
        free(got);
        unlink(scene.path);
        CHECK_EQ_U64(0, entries());
    }
    CHECK(from_the_beginning > 0 && later > 0);
    unlink(scene.path);
    free(want);
    dataset_free(&scene.data);
}

static void a_full_disk_leaves_what_can_be_resumed_on_the_callers_thread(void) {
    a_full_disk_leaves_what_can_be_resumed(0);
}
static void a_full_disk_leaves_what_can_be_resumed_with_threads(void) {
    a_full_disk_leaves_what_can_be_resumed(2);
}

static void a_failing_read_names_the_file(void) {
    struct scene scene;
    mldf_error err;
    begin(&scene, 40, 0);
    REQUIRE_STATUS(MLDF_OK, do_write(&scene, &err), &err);
    fail_each(&scene, do_read, CALL_PREAD, EIO);
    unlink(scene.path);
    dataset_free(&scene.data);
}

static void short_transfers_and_interruptions_are_no_errors(void) {
    struct scene scene;
    mldf_error err;
    char plain[512];
    begin(&scene, 150, 1);
    snprintf(plain, sizeof plain, "%s/plain.mldf", check_tmpdir());
    REQUIRE_STATUS(MLDF_OK, dataset_write(&scene.data, plain, &scene.options, &err), &err);
    atomic_store(&shorten, true);
    CHECK_OK(do_write(&scene, &err), &err);
    CHECK_OK(do_read(&scene, &err), &err);
    atomic_store(&shorten, false);
    dataset_check_same_files(plain, scene.path);
    unlink(plain);
    unlink(scene.path);
    dataset_free(&scene.data);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    base_seed = check_seed();
    RUN(a_failing_call_leaves_no_new_file);
    RUN(a_failing_call_leaves_the_old_file);
    RUN(a_full_disk_leaves_what_can_be_resumed_on_the_callers_thread);
    RUN(a_full_disk_leaves_what_can_be_resumed_with_threads);
    RUN(a_failing_read_names_the_file);
    RUN(short_transfers_and_interruptions_are_no_errors);
    return check_end();
}
