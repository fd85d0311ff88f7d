/* Copying between files, and reading what a pipe has. */
#include "check.h"
#include "os/file_copy.h"

static void ranges_are_copied_and_short_files_reported(void) {
    uint64_t seed = check_seed();
    struct os_file from = OS_FILE_NONE, to = OS_FILE_NONE;
    mldf_error err;
    size_t bytes = 9 << 20;
    uint8_t *data = malloc(bytes), *got = malloc(bytes);
    check_rand_bytes(&seed, data, 100000);
    memset(data + 100000, 7, bytes - 100000);
    REQUIRE_OK(mldfi_file_create_beside(&from, check_tmp("a"), &err), &err);
    REQUIRE_OK(mldfi_file_create_beside(&to, check_tmp("b"), &err), &err);
    CHECK_OK(mldfi_file_write(&from, 0, data, bytes, &err), &err);
    CHECK_OK(mldfi_file_copy(&from, 11, &to, 5000, bytes - 11, &err), &err);
    CHECK_OK(mldfi_file_read(&to, 5000, got, bytes - 11, &err), &err);
    CHECK(memcmp(data + 11, got, bytes - 11) == 0);
    CHECK_OK(mldfi_file_copy(&from, 0, &to, 0, 0, &err), &err);
    CHECK_STATUS(MLDF_E_CHANGED, mldfi_file_copy(&from, 100, &to, 0, bytes, &err), &err);
    mldfi_file_discard(&from);
    mldfi_file_discard(&to);
    free(data);
    free(got);
}

static void a_pipe_gives_what_it_has_and_then_its_end(void) {
    int ends[2];
    char text[10];
    size_t got = 99;
    mldf_error err;
    REQUIRE(pipe(ends) == 0);
    REQUIRE(write(ends[1], "abc", 3) == 3);
    CHECK_OK(mldfi_fd_read(ends[0], text, sizeof text, &got, &err), &err);
    CHECK_EQ_U64(3, got);
    close(ends[1]);
    CHECK_OK(mldfi_fd_read(ends[0], text, sizeof text, &got, &err), &err);
    CHECK_EQ_U64(0, got);
    close(ends[0]);
    CHECK(mldfi_fd_read(-1, text, sizeof text, &got, &err) < 0);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(ranges_are_copied_and_short_files_reported);
    RUN(a_pipe_gives_what_it_has_and_then_its_end);
    return check_end();
}
