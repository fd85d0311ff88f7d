/* verify: what it counts, the order of its reports for any number of threads, progress, cancel, encrypted files; and damage that
 * checksums do not show. */
#include <fcntl.h>

#include "made.h"
#include "reader/reader.h"
#include "util/bytes.h"
#include "util/crc32c.h"

enum { NOTES = 64 };
struct notes {
    uint64_t count;
    mldf_error list[NOTES];
};

static void note(void *user, const mldf_error *problem) {
    struct notes *notes = user;
    if (notes->count < NOTES)
        notes->list[notes->count] = *problem;
    notes->count++;
}

static mldf_status run(const char *path, int threads, bool deep, struct notes *notes, mldf_verify_result *result,
                       mldf_error *err) {
    mldf_verify_options options = MLDF_VERIFY_OPTIONS_INIT;
    options.threads = threads;
    options.deep = deep;
    options.problem = note;
    options.problem_user = notes;
    notes->count = 0;
    return mldf_verify(path, &options, result, err);
}

static void flip(const char *path, uint64_t at, uint8_t mask) {
    int fd = open(path, O_RDWR | O_CLOEXEC);
    uint8_t byte;
    REQUIRE(fd >= 0);
    CHECK(pread(fd, &byte, 1, (off_t)at) == 1);
    byte ^= mask;
    CHECK(pwrite(fd, &byte, 1, (off_t)at) == 1);
    close(fd);
}

static uint64_t pointer_of(const char *path, uint64_t sample, size_t field) {
    mldf_reader *r;
    mldf_value v = {0};
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    uint64_t ptr = 0;
    if (mldf_reader_open(path, NULL, &r, NULL) == MLDF_OK &&
        mldf_reader_get_stored(r, sample, field, &scratch, &v, NULL) == MLDF_OK && v.kind == MLDF_KIND_STORED)
        memcpy(&ptr, v.record, 8);
    mldf_buffer_free(&scratch);
    mldf_reader_close(r);
    return ptr;
}

static void a_whole_file_has_no_problems(void) {
    const char *path = check_tmp("whole.mldf");
    for (int i = 0; i < 8; i++) {
        struct notes notes;
        mldf_verify_result result = MLDF_VERIFY_RESULT_INIT;
        mldf_error err;
        made_file(path, &(struct made){.samples = i & 4 ? 0 : 3000,
                                       .keys = i & 1,
                                       .no_checksums = (i & 2) != 0,
                                       .card = "{\"title\":\"whole\"}"});
        for (int threads = 0; threads < 5; threads += 2) {
            REQUIRE_OK(run(path, threads, threads == 2, &notes, &result, &err), &err);
            if (notes.count)
                check_fail(__FILE__, __LINE__, "variant %d: %s", i, notes.list[0].message);
            CHECK_EQ_U64(i & 4 ? 0 : 3000, result.num_samples);
            CHECK_EQ_U64(result.num_samples, result.good_samples);
            CHECK_EQ_INT(!(i & 2), result.checksummed);
            CHECK(!result.encrypted && !result.authenticated);
        }
    }
}

static void appended_samples_are_verified_too(void) {
    const char *path = check_tmp("grown.mldf");
    struct notes notes;
    mldf_verify_result result = MLDF_VERIFY_RESULT_INIT;
    mldf_error err;
    made_file(path, &(struct made){.samples = 100, .keys = true});
    made_file(path, &(struct made){.samples = 77, .keys = true, .append = true});
    made_file(path, &(struct made){.samples = 5, .keys = true, .append = true});
    REQUIRE_OK(run(path, 2, true, &notes, &result, &err), &err);
    if (notes.count)
        check_fail(__FILE__, __LINE__, "%s", notes.list[0].message);
    CHECK_EQ_U64(182, result.good_samples);
}

static void reports_come_in_order_for_any_number_of_threads(void) {
    static const uint64_t bad[] = {5, 6, 700, 1500, 1501, 2998};
    enum { BAD = sizeof bad / sizeof bad[0] };
    const char *path = check_tmp("order.mldf");
    struct notes first, other;
    mldf_verify_result result = MLDF_VERIFY_RESULT_INIT;
    mldf_error err;
    made_file(path, &(struct made){.samples = 3000});
    for (size_t i = 0; i < BAD; i++)
        flip(path, pointer_of(path, bad[i], MADE_TEXT), 0x20);
    REQUIRE_OK(run(path, 0, false, &first, &result, &err), &err);
    REQUIRE_EQ_U64(BAD, first.count);
    CHECK_EQ_U64(3000 - BAD, result.good_samples);
    for (size_t i = 0; i < BAD; i++) {
        CHECK_EQ_U64(bad[i], first.list[i].sample);
        CHECK_EQ_STR("text", first.list[i].field);
        CHECK_EQ_INT(MLDF_E_CHECKSUM, first.list[i].status);
        CHECK_EQ_U64(pointer_of(path, bad[i], MADE_TEXT), first.list[i].offset);
    }
    for (int threads = 1; threads <= 8; threads *= 2) {
        REQUIRE_OK(run(path, threads, true, &other, &result, &err), &err);
        REQUIRE_EQ_U64(first.count, other.count);
        for (size_t i = 0; i < BAD; i++)
            CHECK_EQ_STR(first.list[i].message, other.list[i].message);
    }
}

static void a_bad_block_names_its_rows(void) {
    const char *path = check_tmp("block.mldf");
    mldf_file_info info = MLDF_FILE_INFO_INIT;
    mldf_reader *r;
    struct notes notes;
    mldf_verify_result result = MLDF_VERIFY_RESULT_INIT;
    mldf_error err;
    made_file(path, &(struct made){.samples = 3000});
    REQUIRE_OK(mldf_reader_open(path, NULL, &r, &err), &err);
    CHECK_OK(mldf_reader_info(r, &info, NULL), NULL);
    uint64_t row = mldf_schema_row_bytes(mldf_reader_schema(r)), first = 65536 / row, last = (131072 - 1) / row;
    mldf_reader_close(r);
    REQUIRE(info.metadata_bytes > 131072);
    flip(path, info.metadata_ptr + (first + 20) * row, 1); /* the label: nothing but the CRC shows it */
    REQUIRE_OK(run(path, 2, false, &notes, &result, &err), &err);
    REQUIRE_EQ_U64(1, notes.count);
    char rows[64];
    snprintf(rows, sizeof rows, "rows %" PRIu64 " to %" PRIu64, first, last);
    CHECK_CONTAINS(rows, notes.list[0].message);
    CHECK_EQ_U64(first, notes.list[0].sample);
    CHECK_EQ_U64(info.metadata_ptr + 65536, notes.list[0].offset);
    CHECK_EQ_U64(3000 - (last - first + 1), result.good_samples);
}

static void encrypted_files_are_checked_with_and_without_their_key(void) {
    uint8_t key[32] = {9}, wrong[32] = {8};
    mldf_verify_options options = MLDF_VERIFY_OPTIONS_INIT;
    mldf_verify_result result = MLDF_VERIFY_RESULT_INIT;
    mldf_error err;
    struct notes notes;
    if (!strstr(mldf_build_features(), "sodium"))
        return;
    const char *path = check_tmp("hidden.mldf");
    made_file(path, &(struct made){.samples = 100, .secret = {.key = key, .key_bytes = 32}});
    options.deep = true;
    options.problem = note;
    options.problem_user = &notes;
    for (int i = 0; i < 2; i++) {
        notes.count = 0;
        options.secret = i ? (mldf_secret){.key = key, .key_bytes = 32} : (mldf_secret){0};
        REQUIRE_OK(mldf_verify(path, &options, &result, &err), &err);
        CHECK_EQ_U64(0, notes.count);
        CHECK_EQ_U64(100, result.good_samples);
        CHECK(result.encrypted);
        CHECK_EQ_INT(i, result.authenticated);
    }
    options.secret = (mldf_secret){.key = wrong, .key_bytes = 32};
    CHECK_STATUS(MLDF_E_KEY_WRONG, mldf_verify(path, &options, &result, &err), &err);
    /* A flipped payload: found as stored bytes without the key, with it too. */
    mldf_reader_options reader = MLDF_READER_OPTIONS_INIT;
    mldf_reader *r;
    reader.secret = (mldf_secret){.key = key, .key_bytes = 32};
    REQUIRE_OK(mldf_reader_open(path, &reader, &r, &err), &err);
    mldf_value v;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    uint64_t ptr;
    REQUIRE_OK(mldf_reader_get_stored(r, 50, MADE_TEXT, &scratch, &v, &err), &err);
    memcpy(&ptr, v.record, 8);
    mldf_buffer_free(&scratch);
    mldf_reader_close(r);
    flip(path, ptr + 30, 4);
    for (int i = 0; i < 2; i++) {
        notes.count = 0;
        options.secret = i ? (mldf_secret){.key = key, .key_bytes = 32} : (mldf_secret){0};
        REQUIRE_OK(mldf_verify(path, &options, &result, &err), &err);
        REQUIRE_EQ_U64(1, notes.count);
        CHECK_EQ_U64(50, notes.list[0].sample);
        CHECK_EQ_STR("text", notes.list[0].field);
        CHECK_EQ_U64(99, result.good_samples);
    }
}

struct stop {
    int calls, after;
};

/* Changes where a key begins and the one before it ends; the checksums fit afterwards. */
static void damage_key(const char *path, uint64_t sample) {
    mldf_reader *reader;
    mldf_error err;
    REQUIRE_STATUS(MLDF_OK, mldf_reader_open(path, NULL, &reader, &err), &err);
    struct section keys = *reader->keys;
    uint64_t directory = reader->header.directory_ptr;
    mldf_reader_close(reader);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    uint8_t head[FORMAT_DIRECTORY_HEAD_BYTES], entries[16 * FORMAT_DIRECTORY_ENTRY_BYTES], *data = malloc(keys.size);
    REQUIRE(fd >= 0 && data && pread(fd, data, keys.size, (off_t)keys.ptr) == (ssize_t)keys.size);
    REQUIRE(pread(fd, head, sizeof head, (off_t)directory) == (ssize_t)sizeof head);
    size_t count = mldfi_load_u32(head + 8), bytes = count * FORMAT_DIRECTORY_ENTRY_BYTES;
    REQUIRE(bytes <= sizeof entries && pread(fd, entries, bytes, (off_t)directory + 16) == (ssize_t)bytes);
    data[8 * sample + 7] ^= 0x40;
    for (size_t i = 0; i < count; i++)
        if (mldfi_load_u32(entries + i * FORMAT_DIRECTORY_ENTRY_BYTES) == SECTION_KEYS)
            mldfi_store_u32(entries + i * FORMAT_DIRECTORY_ENTRY_BYTES + 24, mldfi_crc32c(0, data, keys.size));
    mldfi_store_u32(head + 12, mldfi_crc32c(0, entries, bytes));
    CHECK(pwrite(fd, data, keys.size, (off_t)keys.ptr) == (ssize_t)keys.size);
    CHECK(pwrite(fd, head, sizeof head, (off_t)directory) == (ssize_t)sizeof head);
    CHECK(pwrite(fd, entries, bytes, (off_t)directory + 16) == (ssize_t)bytes);
    free(data);
    close(fd);
}

/* The search for another key may pass by a bad one: that one alone is told, once. */
static void a_bad_key_is_told_once(void) {
    const char *path = check_tmp("keys.mldf");
    static struct notes notes;
    mldf_verify_result result = MLDF_VERIFY_RESULT_INIT;
    mldf_error err;
    made_file(path, &(struct made){.samples = 3000, .keys = true});
    for (uint64_t sample = 1; sample < 9; sample++) {
        uint64_t told[2] = {0}, others = 0;
        damage_key(path, sample);
        CHECK_STATUS(MLDF_OK, run(path, (int)sample % 3, false, &notes, &result, &err), &err);
        REQUIRE(notes.count <= NOTES);
        for (uint64_t i = 0; i < notes.count; i++) {
            if (!strstr(notes.list[i].message, "of section 6"))
                continue;
            if (notes.list[i].sample == sample)
                told[0]++;
            else if (notes.list[i].sample + 1 == sample)
                told[1]++;
            else
                others++;
        }
        CHECK_EQ_U64(1, told[0]);
        CHECK_EQ_U64(1, told[1]);
        CHECK_EQ_U64(0, others);
        damage_key(path, sample); /* and back */
    }
    CHECK_STATUS(MLDF_OK, run(path, 0, false, &notes, &result, &err), &err);
    CHECK_EQ_U64(0, notes.count);
}

static bool stop_after(void *user, const mldf_progress *progress) {
    struct stop *stop = user;
    CHECK_EQ_STR("verify", progress->phase);
    CHECK(progress->samples_done <= progress->samples_total);
    return ++stop->calls <= stop->after;
}

static void a_caller_may_cancel(void) {
    const char *path = check_tmp("cancel.mldf");
    mldf_error err;
    made_file(path, &(struct made){.samples = 3000, .keys = true});
    for (int threads = 0; threads < 4; threads += 3) {
        mldf_verify_options options = MLDF_VERIFY_OPTIONS_INIT;
        struct stop stop = {0, 0};
        options.threads = threads;
        options.progress = stop_after;
        options.progress_user = &stop;
        CHECK_STATUS(MLDF_E_CANCELLED, mldf_verify(path, &options, NULL, &err), &err);
        CHECK_EQ_INT(1, stop.calls);
        stop = (struct stop){0, 1 << 30};
        CHECK_OK(mldf_verify(path, &options, NULL, &err), &err);
        CHECK(stop.calls >= 1);
    }
}

static void what_is_no_file_is_an_error_and_what_does_not_open_a_problem(void) {
    struct notes notes;
    mldf_verify_result result = MLDF_VERIFY_RESULT_INIT;
    mldf_error err;
    CHECK_STATUS(MLDF_E_NOT_FOUND, run(check_tmp("nowhere.mldf"), 0, false, &notes, &result, &err), &err);
    const char *path = check_tmp("text.mldf");
    REQUIRE(check_write_file(path, "not one of ours", 15));
    CHECK_OK(run(path, 0, false, &notes, &result, &err), &err);
    REQUIRE_EQ_U64(1, notes.count);
    CHECK_EQ_U64(1, result.problems);
    CHECK_EQ_INT(MLDF_E_MAGIC, notes.list[0].status);
    CHECK_EQ_U64(0, result.num_samples);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_verify(NULL, NULL, NULL, &err), &err);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(a_whole_file_has_no_problems);
    RUN(appended_samples_are_verified_too);
    RUN(reports_come_in_order_for_any_number_of_threads);
    RUN(a_bad_block_names_its_rows);
    RUN(a_bad_key_is_told_once);
    RUN(encrypted_files_are_checked_with_and_without_their_key);
    RUN(a_caller_may_cancel);
    RUN(what_is_no_file_is_an_error_and_what_does_not_open_a_problem);
    return check_end();
}
