/* Open files: whole reads and writes, honest failures, locks and mappings. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "check.h"
#include "os/file.h"

static void open_refuses_what_is_not_a_regular_file(void) {
    struct os_file file;
    mldf_error err;
    CHECK_STATUS(MLDF_E_NOT_FOUND, mldfi_file_open(&file, check_tmp("missing"), OS_OPEN_READ, &err), &err);
    CHECK_EQ_INT(-1, file.fd);
    CHECK(file.path == NULL);
    CHECK_EQ_INT(ENOENT, err.sys_errno);
    CHECK_CONTAINS("missing", TEXT(err));
    CHECK_STATUS(MLDF_E_IO, mldfi_file_open(&file, check_tmpdir(), OS_OPEN_READ, &err), &err);
    CHECK_EQ_INT(EISDIR, err.sys_errno);
    CHECK_CONTAINS("folder", TEXT(err));
    CHECK_STATUS(MLDF_E_IO, mldfi_file_open(&file, check_tmpdir(), OS_OPEN_READ_WRITE, &err), &err);
    REQUIRE_EQ_INT(0, mkfifo(check_tmp("pipe"), 0600));
    CHECK_STATUS(MLDF_E_IO, mldfi_file_open(&file, check_tmp("pipe"), OS_OPEN_READ, &err),
                 &err); /* and does not hang */
    CHECK_CONTAINS("pipe", TEXT(err));
    CHECK_STATUS(MLDF_E_IO, mldfi_file_open(&file, "/dev/null", OS_OPEN_READ, &err), &err);
    CHECK_CONTAINS("device", TEXT(err));
    REQUIRE(check_write_file(check_tmp("plain"), "x", 1));
    char below[1100];
    snprintf(below, sizeof below, "%s/more", check_tmp("plain"));
    CHECK_STATUS(MLDF_E_NOT_FOUND, mldfi_file_open(&file, below, OS_OPEN_READ, &err), &err);
}

static void open_sets_close_on_exec_and_blocking(void) {
    struct os_file file;
    mldf_error err;
    REQUIRE(check_write_file(check_tmp("flags"), "x", 1));
    REQUIRE_OK(mldfi_file_open(&file, check_tmp("flags"), OS_OPEN_READ, &err), &err);
    CHECK(fcntl(file.fd, F_GETFD) & FD_CLOEXEC);
    CHECK_EQ_INT(0, fcntl(file.fd, F_GETFL) & O_NONBLOCK);
    CHECK_STATUS(MLDF_E_IO, mldfi_file_write(&file, 0, "y", 1, &err), &err);
    mldfi_file_close(&file);
    CHECK_EQ_INT(-1, file.fd);
    mldfi_file_close(&file);
}

static void open_stream_takes_a_pipe_that_nobody_writes_yet(void) {
    char got[4];
    CHECK_EQ_INT(-1, mldfi_file_open_stream(check_tmp("nothing")));
    CHECK_EQ_INT(ENOENT, errno);
#ifdef __linux__
    struct pollfd ready = {.events = POLLIN};
    REQUIRE_EQ_INT(0, mkfifo(check_tmp("stream"), 0600));
    ready.fd = mldfi_file_open_stream(check_tmp("stream")); /* and does not hang */
    REQUIRE(ready.fd >= 0);
    CHECK(fcntl(ready.fd, F_GETFD) & FD_CLOEXEC);
    CHECK_EQ_INT(0, fcntl(ready.fd, F_GETFL) & O_NONBLOCK);
    CHECK_EQ_INT(0, poll(&ready, 1, 0)); /* not its end: nobody has been there */
    int feed = open(check_tmp("stream"), O_WRONLY | O_CLOEXEC);
    REQUIRE(feed >= 0);
    CHECK_EQ_INT(2, write(feed, "ab", 2));
    close(feed);
    CHECK_EQ_INT(1, poll(&ready, 1, 0));
    CHECK_EQ_INT(2, read(ready.fd, got, sizeof got));
    CHECK_EQ_INT(1, poll(&ready, 1, 0));
    CHECK_EQ_INT(0, read(ready.fd, got, sizeof got));
    close(ready.fd);
#endif
    REQUIRE(check_write_file(check_tmp("file"), "xyz", 3));
    int plain = mldfi_file_open_stream(check_tmp("file"));
    CHECK_EQ_INT(3, read(plain, got, sizeof got));
    close(plain);
}

static void read_gives_all_or_says_that_the_file_ended(void) {
    struct os_file file;
    mldf_error err;
    char got[16] = "";
    uint64_t bytes = 0;
    REQUIRE(check_write_file(check_tmp("ten"), "0123456789", 10));
    REQUIRE_OK(mldfi_file_open(&file, check_tmp("ten"), OS_OPEN_READ, &err), &err);
    REQUIRE_OK(mldfi_file_size(&file, &bytes, &err), &err);
    CHECK_EQ_U64(10, bytes);
    CHECK_OK(mldfi_file_read(&file, 3, got, 4, &err), &err);
    CHECK_MEM_EQ("3456", got, 4);
    CHECK_OK(mldfi_file_read(&file, 10, got, 0, &err), &err);
    CHECK_STATUS(MLDF_E_CHANGED, mldfi_file_read(&file, 8, got, 4, &err), &err);
    CHECK_EQ_U64(10, err.offset);
    CHECK_CONTAINS("ends at byte 10, 2 bytes too early", TEXT(err));
    CHECK_STATUS(MLDF_E_CHANGED, mldfi_file_read(&file, 100, got, 1, &err), &err);
    CHECK_EQ_U64(10, err.offset); /* where it ends, not where the read began */
    CHECK_CONTAINS("ends at byte 10, 91 bytes too early", TEXT(err));
    CHECK_STATUS(MLDF_E_CHANGED, mldfi_file_read(&file, UINT64_MAX - 1, got, 16, &err), &err);
    CHECK_EQ_U64(10, err.offset);
    mldfi_file_close(&file);
}

static void write_then_truncate_changes_the_size(void) {
    struct os_file file;
    mldf_error err;
    uint64_t bytes = 0;
    char got[8];
    REQUIRE(check_write_file(check_tmp("rw"), "", 0));
    REQUIRE_OK(mldfi_file_open(&file, check_tmp("rw"), OS_OPEN_READ_WRITE, &err), &err);
    CHECK_OK(mldfi_file_write(&file, 100, "abc", 3, &err), &err);
    CHECK_OK(mldfi_file_size(&file, &bytes, &err), &err);
    CHECK_EQ_U64(103, bytes);
    CHECK_OK(mldfi_file_read(&file, 98, got, 5, &err), &err);
    CHECK_MEM_EQ("\0\0abc", got, 5);
    CHECK_OK(mldfi_file_truncate(&file, 101, &err), &err);
    CHECK_OK(mldfi_file_size(&file, &bytes, &err), &err);
    CHECK_EQ_U64(101, bytes);
    CHECK_OK(mldfi_file_sync(&file, &err), &err);
    mldfi_file_start_writeback(&file, 0, 101);
    mldfi_file_forget(&file, 0, 101);
    mldfi_file_start_writeback(&file, UINT64_MAX, UINT64_MAX);
    mldfi_file_forget(&file, UINT64_MAX, UINT64_MAX);
    CHECK_STATUS(MLDF_E_LIMIT, mldfi_file_write(&file, UINT64_MAX - 1, "abc", 3, &err), &err);
    CHECK_STATUS(MLDF_E_LIMIT, mldfi_file_truncate(&file, UINT64_MAX, &err), &err);
    mldfi_file_close(&file);
}

static void write_to_a_full_disk_is_no_space(void) {
    struct os_file full = {open("/dev/full", O_RDWR | O_CLOEXEC), NULL, false};
    mldf_error err;
    if (full.fd < 0)
        return;
    char name[] = "full";
    full.path = name;
    CHECK_STATUS(MLDF_E_NO_SPACE, mldfi_file_write(&full, 4096, "abc", 3, &err), &err);
    CHECK_EQ_U64(4096, err.offset);
    CHECK_EQ_INT(ENOSPC, err.sys_errno);
    CHECK_STATUS(MLDF_E_NO_SPACE, mldfi_fd_write_all(full.fd, "abc", 3, &err), &err);
    close(full.fd);
}

static void write_beyond_the_file_size_limit_keeps_what_fits(void) {
    /* A limit makes the kernel transfer less than asked for, then fail. */
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        struct rlimit limit = {1000, 1000};
        struct os_file file;
        static char data[3000];
        mldf_error err;
        signal(SIGXFSZ, SIG_IGN);
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0 || !check_write_file(check_tmp("limited"), "", 0) ||
            mldfi_file_open(&file, check_tmp("limited"), OS_OPEN_READ_WRITE, &err) != MLDF_OK)
            _exit(2);
        mldf_status status = mldfi_file_write(&file, 0, data, sizeof data, &err);
        _exit(status == MLDF_E_IO && err.sys_errno == EFBIG && err.offset == 1000 ? 0 : 1);
    }
    int result = -1;
    REQUIRE(waitpid(child, &result, 0) == child);
    CHECK_EQ_INT(0, result);
}

static void write_to_a_closed_pipe_is_an_error_not_a_signal(void) {
    int ends[2];
    mldf_error err;
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    REQUIRE_EQ_INT(0, pipe(ends));
    CHECK_OK(mldfi_fd_write_all(ends[1], "hello", 5, &err), &err);
    char got[5];
    CHECK_EQ_INT(5, read(ends[0], got, 5));
    CHECK_MEM_EQ("hello", got, 5);
    close(ends[0]);
    CHECK_STATUS(MLDF_E_IO, mldfi_fd_write_all(ends[1], "hello", 5, &err), &err);
    CHECK_EQ_INT(EPIPE, err.sys_errno);
    close(ends[1]);
    signal(SIGPIPE, before);
}

static void lock_is_exclusive_until_close(void) {
    struct os_file one, two;
    mldf_error err;
    REQUIRE(check_write_file(check_tmp("locked"), "", 0));
    REQUIRE_OK(mldfi_file_open(&one, check_tmp("locked"), OS_OPEN_READ_WRITE, &err), &err);
    REQUIRE_OK(mldfi_file_open(&two, check_tmp("locked"), OS_OPEN_READ, &err), &err);
    CHECK_OK(mldfi_file_lock(&one, &err), &err);
    CHECK_STATUS(MLDF_E_BUSY, mldfi_file_lock(&two, &err), &err);
    CHECK_CONTAINS("locked", TEXT(err));
    mldfi_file_close(&one);
    CHECK_OK(mldfi_file_lock(&two, &err), &err);
    mldfi_file_close(&two);
}

static void map_shows_the_file(void) {
    struct os_file file;
    struct os_map map;
    mldf_error err;
    REQUIRE(check_write_file(check_tmp("mapped"), "mapped bytes", 12));
    REQUIRE_OK(mldfi_file_open(&file, check_tmp("mapped"), OS_OPEN_READ, &err), &err);
    REQUIRE_OK(mldfi_map_open(&map, &file, 12, &err), &err);
    mldfi_file_close(&file); /* the mapping does not need it */
    CHECK_BYTES_EQ("mapped bytes", 12, map.data, (size_t)map.bytes);
    mldfi_map_close(&map);
    CHECK(map.data == NULL);
    mldfi_map_close(&map);
    REQUIRE_OK(mldfi_file_open(&file, check_tmp("mapped"), OS_OPEN_READ, &err), &err);
    CHECK_OK(mldfi_map_open(&map, &file, 0, &err), &err);
    CHECK(map.data == NULL);
    CHECK_STATUS(MLDF_E_LIMIT, mldfi_map_open(&map, &file, UINT64_MAX, &err), &err);
    CHECK(mldfi_map_open(&map, &file, UINT64_C(1) << 62, &err) < 0);
    mldfi_map_close(&map);
    mldfi_file_close(&file);
}

static void cpus_and_time_are_sane(void) {
    int cpus = mldfi_cpu_count();
    CHECK(cpus >= 1);
    CHECK(cpus <= sysconf(_SC_NPROCESSORS_CONF));
    double before = mldfi_time(), after = mldfi_time();
    CHECK(after >= before);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(open_refuses_what_is_not_a_regular_file);
    RUN(open_sets_close_on_exec_and_blocking);
    RUN(open_stream_takes_a_pipe_that_nobody_writes_yet);
    RUN(read_gives_all_or_says_that_the_file_ended);
    RUN(write_then_truncate_changes_the_size);
    RUN(write_to_a_full_disk_is_no_space);
    RUN(write_beyond_the_file_size_limit_keeps_what_fits);
    RUN(write_to_a_closed_pipe_is_an_error_not_a_signal);
    RUN(lock_is_exclusive_until_close);
    RUN(map_shows_the_file);
    RUN(cpus_and_time_are_sane);
    return check_end();
}
