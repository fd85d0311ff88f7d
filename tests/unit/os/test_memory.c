/* Blocks of memory, the mark that children do not see, hints that change nothing, reads past the page cache. */
#include "os/memory.h"

#include <sys/wait.h>

#include "check.h"
#include "os/advise.h"
#include "os/direct.h"

static void blocks_are_aligned_and_writable(void) {
    static const size_t sizes[] = {0, 1, 63, 64, 4096, 300000, (size_t)2 << 20, ((size_t)5 << 20) + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t capacity = 0;
        uint8_t *block = mldfi_block_alloc(sizes[i], &capacity);
        CHECK(block != NULL);
        CHECK(capacity >= sizes[i] && capacity > 0);
        CHECK_EQ_U64(0, (uintptr_t)block % (sizes[i] < (size_t)2 << 20 ? 64 : (size_t)2 << 20));
        memset(block, 0xa5, capacity);
        CHECK_EQ_U64(0xa5, block[capacity - 1]);
        mldfi_block_free(block, capacity);
    }
    size_t capacity;
    CHECK(mldfi_block_alloc(SIZE_MAX - 5, &capacity) == NULL);
    mldfi_block_free(NULL, 0);
}

static void a_child_does_not_see_the_mark(void) {
    struct os_fork_guard guard;
    mldfi_fork_guard_begin(&guard);
    for (int way = 0; way < 2; way++) {
        CHECK(mldfi_fork_guard_is_ours(&guard));
        pid_t process = fork();
        if (process == 0)
            _exit(mldfi_fork_guard_is_ours(&guard) ? 1 : 0);
        int status = -1;
        CHECK(waitpid(process, &status, 0) == process);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        if (way == 0)
            mldfi_fork_guard_end(&guard); /* without its page the process number counts */
    }
}

static void hints_change_nothing_and_take_any_range(void) {
    const char *path = check_tmp("hints");
    uint8_t content[20000];
    for (size_t i = 0; i < sizeof content; i++)
        content[i] = (uint8_t)(i * 7);
    CHECK(check_write_file(path, content, sizeof content));
    struct os_file file;
    struct os_map map, none = {NULL, 0};
    mldf_error err;
    CHECK_OK(mldfi_file_open(&file, path, OS_OPEN_READ, &err), &err);
    CHECK_OK(mldfi_map_open(&map, &file, sizeof content, &err), &err);
    static const uint64_t ranges[][2] = {{0, 0},          {0, 1},          {5, 9000},   {19999, 1},
                                         {0, UINT64_MAX}, {UINT64_MAX, 5}, {4096, 8192}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        mldfi_map_want(&map, ranges[i][0], ranges[i][1]);
        mldfi_map_want(&none, ranges[i][0], ranges[i][1]);
        mldfi_file_want(&file, ranges[i][0], ranges[i][1]);
        mldfi_map_forget(&map, &file, ranges[i][0], ranges[i][1]);
        (void)mldfi_map_is_resident(&map, ranges[i][0]);
        CHECK_MEM_EQ(content, map.data, sizeof content);
        bool resident = false; /* it was just read; a machine short of memory may have dropped it, but not always */
        for (int k = 0; k < 100 && !resident; k++) {
            CHECK_EQ_U64(content[10000], ((const volatile uint8_t *)map.data)[10000]);
            resident = mldfi_map_is_resident(&map, 10000);
        }
        CHECK(resident);
    }
    for (int pattern = OS_PATTERN_NORMAL; pattern <= OS_PATTERN_SEQUENTIAL; pattern++)
        mldfi_map_pattern(&map, (os_pattern)pattern);
    mldfi_map_pattern(&none, OS_PATTERN_RANDOM);
    mldfi_map_close(&map);
    mldfi_file_close(&file);
}

static void direct_reads_give_the_same_bytes(void) {
    const char *path = check_tmp("direct");
    size_t bytes = 9000001; /* more than one piece, and no whole block at its end */
    uint8_t *content = malloc(bytes), *got = malloc(bytes);
    uint64_t dice = check_seed();
    check_rand_bytes(&dice, content, bytes);
    CHECK(check_write_file(path, content, bytes));
    struct os_file file;
    struct os_direct direct;
    mldf_error err;
    CHECK_OK(mldfi_file_open(&file, path, OS_OPEN_READ, &err), &err);
    mldf_status status = mldfi_direct_open(&direct, &file, &err);
    if (status < 0) {
        CHECK_STATUS(MLDF_E_UNSUPPORTED, status, &err);
        printf("no direct reads here: %s\n", err.message);
    } else {
        for (int i = 0; i < 60; i++) {
            uint64_t at = i ? check_rand_below(&dice, bytes) : 0;
            size_t count = i ? 1 + (size_t)check_rand_below(&dice, bytes - at) : bytes;
            memset(got, 0, count);
            CHECK_OK(mldfi_direct_read(&direct, path, at, got, count, &err), &err);
            CHECK_MEM_EQ(content + at, got, count);
        }
        CHECK_STATUS(MLDF_E_CHANGED, mldfi_direct_read(&direct, path, bytes - 10, got, 11, &err), &err);
        CHECK_EQ_U64(bytes, err.offset);
        CHECK_STATUS(MLDF_E_CHANGED, mldfi_direct_read(&direct, path, bytes + 100000, got, 1, &err), &err);
        CHECK_EQ_U64(bytes, err.offset);
        mldfi_direct_close(&direct);
    }
    mldfi_file_close(&file);
    free(content);
    free(got);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(blocks_are_aligned_and_writable);
    RUN(a_child_does_not_see_the_mark);
    RUN(hints_change_nothing_and_take_any_range);
    RUN(direct_reads_give_the_same_bytes);
    return check_end();
}
