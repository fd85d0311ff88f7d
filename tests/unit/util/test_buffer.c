/* Buffers and allocations: content survives growth, alignment holds, absurd sizes fail politely. */
#include "check.h"
#include "util/buffer.h"
#include "util/bytes.h"

static void buffer_keeps_its_content_while_it_grows(void) {
    mldf_buffer buffer = MLDF_BUFFER_INIT;
    mldf_error err;
    uint64_t state = check_seed(), check_state = state;
    size_t total = 0;
    for (int round = 0; round < 2000; round++) {
        uint8_t piece[300];
        size_t bytes = check_rand_below(&state, sizeof piece);
        check_rand_bytes(&state, piece, bytes);
        REQUIRE_OK(mldf_buffer_append(&buffer, piece, bytes, &err), &err);
        total += bytes;
        CHECK_EQ_U64(0, (uintptr_t)buffer.data % 64);
        CHECK(buffer.capacity >= buffer.size);
    }
    CHECK_EQ_U64(total, buffer.size);
    for (size_t at = 0; at < total;) {
        uint8_t piece[300];
        size_t bytes = check_rand_below(&check_state, sizeof piece);
        check_rand_bytes(&check_state, piece, bytes);
        REQUIRE_MEM_EQ(piece, buffer.data + at, bytes);
        at += bytes;
    }
    mldf_buffer_free(&buffer);
    CHECK(buffer.data == NULL);
    CHECK_EQ_U64(0, buffer.size);
    CHECK_EQ_U64(0, buffer.capacity);
    mldf_buffer_free(&buffer);
    mldf_buffer_free(NULL);
}

static void buffer_reserve_never_shrinks(void) {
    mldf_buffer buffer = MLDF_BUFFER_INIT;
    mldf_error err;
    REQUIRE_OK(mldf_buffer_append(&buffer, "abc", 3, &err), &err);
    REQUIRE_OK(mldf_buffer_reserve(&buffer, 1000, &err), &err);
    CHECK(buffer.capacity >= 1000);
    CHECK_EQ_U64(3, buffer.size);
    uint8_t *place = buffer.data;
    size_t capacity = buffer.capacity;
    REQUIRE_OK(mldf_buffer_reserve(&buffer, 10, &err), &err);
    CHECK(buffer.data == place);
    CHECK_EQ_U64(capacity, buffer.capacity);
    CHECK_MEM_EQ("abc", buffer.data, 3);
    mldf_buffer_free(&buffer);
}

static void buffer_refuses_sizes_that_overflow(void) {
    mldf_buffer buffer = MLDF_BUFFER_INIT;
    mldf_error err;
    uint8_t *where;
    CHECK_STATUS(MLDF_E_MEMORY, mldf_buffer_reserve(&buffer, SIZE_MAX, &err), &err);
    CHECK_STATUS(MLDF_E_MEMORY, mldf_buffer_reserve(&buffer, (size_t)PTRDIFF_MAX, &err), &err);
    REQUIRE_OK(mldf_buffer_append(&buffer, "abc", 3, &err), &err);
    CHECK_STATUS(MLDF_E_MEMORY, mldfi_buffer_extend(&buffer, SIZE_MAX - 1, &where, &err), &err);
    CHECK_STATUS(MLDF_E_MEMORY, mldfi_buffer_resize(&buffer, SIZE_MAX, &err), &err);
    CHECK_EQ_U64(3, buffer.size);
    CHECK_MEM_EQ("abc", buffer.data, 3);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_buffer_append(&buffer, NULL, 1, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_buffer_append(NULL, "a", 1, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_buffer_reserve(NULL, 1, &err), &err);
    CHECK_STATUS(MLDF_OK, mldf_buffer_append(&buffer, NULL, 0, &err), &err);
    mldf_buffer_free(&buffer);
}

static void buffer_extend_and_resize_move_the_size(void) {
    mldf_buffer buffer = MLDF_BUFFER_INIT;
    mldf_error err;
    uint8_t *where = NULL;
    REQUIRE_OK(mldfi_buffer_extend(&buffer, 0, &where, &err), &err);
    CHECK_EQ_U64(0, buffer.size);
    REQUIRE_OK(mldfi_buffer_extend(&buffer, 5, &where, &err), &err);
    memcpy(where, "hello", 5);
    REQUIRE_OK(mldfi_buffer_extend(&buffer, 6, &where, &err), &err);
    memcpy(where, " world", 6);
    CHECK_BYTES_EQ("hello world", 11, buffer.data, buffer.size);
    REQUIRE_OK(mldfi_buffer_resize(&buffer, 4, &err), &err);
    REQUIRE_OK(mldfi_buffer_resize(&buffer, 5000, &err), &err);
    CHECK_EQ_U64(5000, buffer.size);
    CHECK_MEM_EQ("hell", buffer.data, 4);
    mldf_buffer_free(&buffer);
}

static void buffer_printf_appends_text_without_its_nul(void) {
    mldf_buffer buffer = MLDF_BUFFER_INIT;
    mldf_error err;
    char longer[1000];
    memset(longer, 'z', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    REQUIRE_OK(mldfi_buffer_append_text(&buffer, "x=", &err), &err);
    REQUIRE_OK(mldfi_buffer_printf(&buffer, &err, "%d,%s", 12, "ab"), &err);
    REQUIRE_OK(mldfi_buffer_printf(&buffer, &err, "%s", ""), &err);
    CHECK_BYTES_EQ("x=12,ab", 7, buffer.data, buffer.size);
    REQUIRE_OK(mldfi_buffer_printf(&buffer, &err, "%s", longer), &err);
    CHECK_EQ_U64(7 + 999, buffer.size);
    CHECK_MEM_EQ(longer, buffer.data + 7, 999);
    mldf_buffer_free(&buffer);
}

static void allocations_report_what_they_could_not_get(void) {
    mldf_error err;
    CHECK(mldfi_alloc(SIZE_MAX, &err) == NULL);
    CHECK_EQ_INT(MLDF_E_MEMORY, err.status);
    CHECK(mldfi_alloc_zero(SIZE_MAX / 2, 4, &err) == NULL);
    CHECK_EQ_INT(MLDF_E_MEMORY, err.status);
    CHECK(mldfi_copy_text("x", SIZE_MAX, &err) == NULL);
    void *nothing = mldfi_alloc(0, &err);
    CHECK(nothing != NULL);
    free(nothing);
    uint8_t *zeros = mldfi_alloc_zero(10, 10, &err);
    REQUIRE(zeros != NULL);
    for (int i = 0; i < 100; i++)
        CHECK_EQ_INT(0, zeros[i]);
    free(zeros);
    char *copy = mldfi_copy_text("abcdef", 3, &err);
    CHECK_EQ_STR("abc", copy);
    free(copy);
}

static void array_reserve_doubles_and_keeps(void) {
    uint32_t *items = NULL;
    size_t capacity = 0;
    mldf_error err;
    for (uint32_t i = 0; i < 10000; i++) {
        REQUIRE_OK(mldfi_array_reserve(&items, &capacity, (size_t)i + 1, sizeof *items, &err), &err);
        CHECK(capacity > i);
        items[i] = i * 3;
    }
    for (uint32_t i = 0; i < 10000; i++)
        CHECK_EQ_U64(i * 3, items[i]);
    size_t before = capacity;
    CHECK_STATUS(MLDF_E_MEMORY, mldfi_array_reserve(&items, &capacity, SIZE_MAX / 2, sizeof *items, &err), &err);
    CHECK_EQ_U64(before, capacity);
    CHECK_EQ_U64(9999 * 3, items[9999]);
    free(items);
}

static void checked_arithmetic_sees_the_edges(void) {
    uint64_t out = 0;
    CHECK(mldfi_add_u64(UINT64_MAX - 1, 1, &out));
    CHECK_EQ_U64(UINT64_MAX, out);
    CHECK(!mldfi_add_u64(UINT64_MAX, 1, &out));
    CHECK(!mldfi_mul_u64(UINT64_C(1) << 32, UINT64_C(1) << 32, &out));
    CHECK(mldfi_mul_u64(UINT64_C(1) << 32, UINT64_C(1) << 31, &out));
    CHECK(mldfi_range_inside(0, 10, 10));
    CHECK(mldfi_range_inside(10, 0, 10));
    CHECK(!mldfi_range_inside(11, 0, 10));
    CHECK(!mldfi_range_inside(1, UINT64_MAX, 10));
    CHECK(mldfi_is_power_of_two(1));
    CHECK(!mldfi_is_power_of_two(0));
    CHECK(!mldfi_is_power_of_two(6));
    CHECK_EQ_U64(64, mldfi_align_up(1, 64));
    CHECK_EQ_U64(64, mldfi_align_up(64, 64));
    CHECK_EQ_U64(0, mldfi_align_up(0, 4096));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(buffer_keeps_its_content_while_it_grows);
    RUN(buffer_reserve_never_shrinks);
    RUN(buffer_refuses_sizes_that_overflow);
    RUN(buffer_extend_and_resize_move_the_size);
    RUN(buffer_printf_appends_text_without_its_nul);
    RUN(allocations_report_what_they_could_not_get);
    RUN(array_reserve_doubles_and_keeps);
    RUN(checked_arithmetic_sees_the_edges);
    return check_end();
}
