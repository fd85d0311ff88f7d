/* repair: in place it puts header and footer back and drops nothing; into a new file it saves every whole sample of what is left. */
#include <fcntl.h>

#include "made.h"
#include "util/bytes.h"
#include "util/crc32c.h"

static uint64_t lost_samples[64];
static size_t lost_count;

static void note_lost(void *user, const mldf_error *why) {
    (void)user;
    CHECK(why->message[0] != 0);
    if (lost_count < 64)
        lost_samples[lost_count] = why->sample;
    lost_count++;
}

static mldf_status repair(const char *path, const char *out, mldf_repair_result *result, mldf_error *err) {
    mldf_repair_options options = MLDF_REPAIR_OPTIONS_INIT;
    options.overwrite = true;
    options.threads = 0;
    options.lost = note_lost;
    lost_count = 0;
    return mldf_repair(path, out, &options, result, err);
}

static void edit(const char *path, uint64_t at, const void *bytes, size_t count) {
    int fd = open(path, O_RDWR | O_CLOEXEC);
    REQUIRE(fd >= 0);
    CHECK(pwrite(fd, bytes, count, (off_t)at) == (ssize_t)count);
    close(fd);
}

static void flip(const char *path, uint64_t at) {
    size_t bytes;
    uint8_t *data = check_read_file(path, &bytes);
    REQUIRE(data && at < bytes);
    data[at] ^= 1;
    edit(path, at, data + at, 1);
    free(data);
}

static void check_same(const char *path, const uint8_t *want, size_t want_bytes) {
    size_t bytes;
    uint8_t *data = check_read_file(path, &bytes);
    REQUIRE(data);
    CHECK_BYTES_EQ(want, want_bytes, data, bytes);
    free(data);
}

static mldf_file_info info_of(const char *path) {
    mldf_file_info info = MLDF_FILE_INFO_INIT;
    mldf_reader *r;
    mldf_error err;
    CHECK_OK(mldf_reader_open(path, NULL, &r, &err), &err);
    if (r)
        CHECK_OK(mldf_reader_info(r, &info, &err), &err);
    mldf_reader_close(r);
    return info;
}

/* ---- In place ----------------------------------------------------------------------------------------------------------- */

static void a_whole_file_is_left_alone(void) {
    const char *path = check_tmp("whole.mldf");
    mldf_repair_result result = MLDF_REPAIR_RESULT_INIT;
    mldf_error err;
    size_t bytes;
    made_file(path, &(struct made){.samples = 50, .keys = true});
    uint8_t *before = check_read_file(path, &bytes);
    CHECK_OK(repair(path, NULL, &result, &err), &err);
    CHECK(!result.changed);
    CHECK_CONTAINS("nothing was wrong", result.action);
    check_same(path, before, bytes);
    free(before);
}

static void header_and_footer_are_put_back_to_the_byte(void) {
    const char *path = check_tmp("mend.mldf");
    mldf_repair_result result = MLDF_REPAIR_RESULT_INIT;
    mldf_error err;
    size_t bytes;
    made_file(path, &(struct made){.samples = 50, .keys = true});
    made_file(path, &(struct made){.samples = 9, .keys = true, .append = true}); /* so that the generation is not 0 */
    uint8_t *before = check_read_file(path, &bytes);
    mldf_file_info info = info_of(path);
    REQUIRE(before);
    for (uint64_t at = 0; at < 73; at++) {
        flip(path, at);
        CHECK_OK(repair(path, NULL, &result, &err), &err);
        CHECK(result.changed);
        check_same(path, before, bytes);
    }
    for (uint64_t at = info.footer_ptr; at < info.file_bytes; at++) {
        flip(path, at);
        CHECK_OK(repair(path, NULL, &result, &err), &err);
        CHECK(result.changed);
        check_same(path, before, bytes);
    }
    for (uint64_t cut = info.footer_ptr; cut < info.file_bytes; cut += 7) {
        CHECK(truncate(path, (off_t)cut) == 0);
        CHECK_OK(repair(path, NULL, &result, &err), &err);
        CHECK_CONTAINS("footer", result.action);
        check_same(path, before, bytes);
    }
    uint8_t zeros[64] = {0};
    edit(path, 9, zeros, sizeof zeros);
    CHECK_OK(repair(path, NULL, &result, &err), &err);
    check_same(path, before, bytes);
    edit(path, info.file_bytes, "what an append left", 19);
    CHECK_OK(repair(path, NULL, &result, &err), &err);
    CHECK_CONTAINS("unfinished append", result.action);
    check_same(path, before, bytes);
    free(before);
}

static void what_is_wrong_elsewhere_is_told_in_place(void) {
    static const char *const sections[] = {"keys", "validity", "checks", "card"};
    const char *path = check_tmp("elsewhere.mldf");
    mldf_repair_result result = MLDF_REPAIR_RESULT_INIT;
    mldf_error err;
    mldf_reader *r;
    for (size_t k = 0; k < 6; k++) {
        made_file(path, &(struct made){.samples = 60, .keys = true, .card = "{}"});
        mldf_file_info info = info_of(path);
        uint64_t at = k == 4 ? info.data_ptr + 1 : info.metadata_ptr + 1; /* a payload, a row */
        REQUIRE_OK(mldf_reader_open(path, NULL, &r, &err), &err);
        for (size_t i = 0; k < 4 && i < mldf_reader_section_count(r); i++) {
            mldf_section s;
            CHECK_OK(mldf_reader_section(r, i, &s, &err), &err);
            if (strcmp(s.name, sections[k]) == 0)
                at = s.ptr;
        }
        mldf_reader_close(r);
        if (k == 0)
            at += 61 * 8; /* the first key */
        flip(path, at);
        CHECK_OK(repair(path, NULL, &result, &err), &err);
        CHECK(result.problems > 0 && lost_count == result.problems);
        CHECK(!result.changed);
        CHECK_CONTAINS("cannot be repaired in place", result.action);
        CHECK_CONTAINS("-o OUT", result.action);
    }
}

static void what_cannot_be_mended_in_place_is_left_as_it_is(void) {
    const char *path = check_tmp("hopeless.mldf");
    mldf_repair_result result = MLDF_REPAIR_RESULT_INIT;
    mldf_error err;
    size_t bytes;
    made_file(path, &(struct made){.samples = 50});
    mldf_file_info info = info_of(path);
    for (int i = 0; i < 3; i++) {
        made_file(path, &(struct made){.samples = 50});
        if (i == 0)
            CHECK(truncate(path, (off_t)(info.metadata_ptr + 10)) == 0);
        else if (i == 1)
            flip(path, info.directory_ptr + 20);
        else
            CHECK(truncate(path, 60) == 0);
        uint8_t *before = check_read_file(path, &bytes);
        CHECK(repair(path, NULL, &result, &err) < 0);
        CHECK(!result.changed);
        CHECK_CONTAINS("-o OUT", TEXT(err));
        check_same(path, before, bytes);
        free(before);
    }
}

/* ---- Into a new file ----------------------------------------------------------------------------------------------------- */

static void check_saved(const char *out, uint64_t samples, bool keys, const uint64_t *without, size_t without_count) {
    mldf_reader *r;
    mldf_error err = {0};
    uint64_t at = 0;
    mldf_verify_result result = MLDF_VERIFY_RESULT_INIT;
    REQUIRE_OK(mldf_verify(out, NULL, &result, &err), &err);
    CHECK_EQ_U64(0, result.problems);
    REQUIRE_OK(mldf_reader_open(out, NULL, &r, &err), &err);
    CHECK_EQ_INT(keys, mldf_reader_has_keys(r));
    for (uint64_t i = 0; i < samples; i++) {
        bool skip = false;
        for (size_t k = 0; k < without_count; k++)
            skip = skip || without[k] == i;
        if (skip)
            continue;
        if (!made_is(r, at, i, &err))
            check_fail(__FILE__, __LINE__, "sample %" PRIu64 " (was %" PRIu64 "): %s", at, i, err.message);
        at++;
    }
    CHECK_EQ_U64(at, mldf_reader_sample_count(r));
    mldf_reader_close(r);
}

static void a_damaged_footer_costs_nothing(void) {
    const char *path = check_tmp("footer.mldf"), *out = check_tmp("saved.mldf");
    mldf_repair_result result = MLDF_REPAIR_RESULT_INIT;
    mldf_error err;
    for (int cut = 0; cut < 2; cut++) {
        made_file(path, &(struct made){.samples = 50, .keys = true, .card = "{}"});
        mldf_file_info info = info_of(path);
        if (cut)
            REQUIRE(truncate(path, (off_t)info.footer_ptr + 9) == 0);
        else
            flip(path, info.footer_ptr + 70);
        REQUIRE_OK(repair(path, out, &result, &err), &err);
        CHECK(result.changed && !result.lost.any && !result.unchecked);
        check_saved(out, 50, true, NULL, 0);
        CHECK(remove(out) == 0);
    }
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

static void damaged_samples_are_left_out_and_named(void) {
    const char *path = check_tmp("bad.mldf"), *out = check_tmp("saved.mldf");
    static const uint64_t bad[] = {4, 17, 59};
    mldf_repair_result result = MLDF_REPAIR_RESULT_INIT;
    mldf_error err;
    made_file(path, &(struct made){.samples = 60, .keys = true, .card = "{\"title\":\"kept\"}"});
    for (size_t i = 0; i < 3; i++)
        flip(path, pointer_of(path, bad[i], MADE_PACKED) + 3);
    REQUIRE_OK(repair(path, out, &result, &err), &err);
    CHECK_EQ_U64(57, result.samples_saved);
    CHECK_EQ_U64(3, result.samples_lost);
    REQUIRE_EQ_U64(3, lost_count);
    for (size_t i = 0; i < 3; i++)
        CHECK_EQ_U64(bad[i], lost_samples[i]);
    check_saved(out, 60, true, bad, 3);
    mldf_reader *r;
    mldf_buffer card = MLDF_BUFFER_INIT;
    REQUIRE_OK(mldf_reader_open(out, NULL, &r, &err), &err);
    CHECK_OK(mldf_reader_card(r, &card, &err), &err);
    CHECK_BYTES_EQ("{\"title\":\"kept\"}", 16, card.data, card.size);
    mldf_buffer_free(&card);
    mldf_reader_close(r);
}

static void damaged_sections_cost_no_samples(void) {
    static const char *const sections[] = {"statistics", "keys", "card", "page_map", "validity", "checks", "tables"};
    const char *path = check_tmp("sections.mldf"), *out = check_tmp("saved.mldf");
    mldf_repair_result result = MLDF_REPAIR_RESULT_INIT;
    mldf_error err;
    for (size_t k = 0; k < 7; k++) {
        made_file(path, &(struct made){.samples = 60, .keys = true, .card = "{}"});
        mldf_reader *r;
        REQUIRE_OK(mldf_reader_open(path, NULL, &r, &err), &err);
        uint64_t at = 0;
        for (size_t i = 0; i < mldf_reader_section_count(r); i++) {
            mldf_section s;
            CHECK_OK(mldf_reader_section(r, i, &s, &err), &err);
            if (strcmp(s.name, sections[k]) == 0)
                at = s.ptr + (k == 1 ? s.bytes - 3 : k == 6 ? 76 : 0); /* 76: the CRC of the first rows */
        }
        mldf_reader_close(r);
        REQUIRE(at != 0);
        if (k == 4) {
            uint8_t byte = 0xf6; /* sample 0 loses its bit; its record tells that it has a value. 3 keeps its null */
            edit(path, at, &byte, 1);
        } else {
            flip(path, at);
        }
        REQUIRE_OK(repair(path, out, &result, &err), &err);
        CHECK_EQ_U64(60, result.samples_saved);
        CHECK_EQ_U64(0, result.samples_lost);
        CHECK_EQ_U64(k == 2, result.lost.card);
        CHECK_EQ_U64(k == 4, result.lost.values > 0);
        CHECK_EQ_U64(k == 2 || k == 4, result.lost.any);
        CHECK_EQ_U64(k >= 5, result.unchecked);
        CHECK_EQ_U64(0, result.lost.keys);
        if (k != 4) /* blob of sample 0 is empty, so a lost bit there cannot be told from a null */
            check_saved(out, 60, true, NULL, 0);
    }
}

static void find_section(const char *path, const char *name, mldf_section *found) {
    mldf_section s;
    memset(found, 0, sizeof *found);
    mldf_reader *r;
    mldf_error err;
    REQUIRE_OK(mldf_reader_open(path, NULL, &r, &err), &err);
    for (size_t i = 0; i < mldf_reader_section_count(r); i++)
        if (mldf_reader_section(r, i, &s, &err) == MLDF_OK && strcmp(s.name, name) == 0)
            *found = s;
    mldf_reader_close(r);
    CHECK(found->ptr != 0);
}

static mldf_section section_of(const char *path, const char *name) {
    mldf_section found;
    find_section(path, name, &found);
    return found;
}

static void nulls_stay_nulls_past_damaged_bits(void) {
    const char *path = check_tmp("nulls.mldf"), *out = check_tmp("saved.mldf");
    mldf_repair_result result = MLDF_REPAIR_RESULT_INIT;
    mldf_error err;
    mldf_value value;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_reader *r;
    uint8_t byte = 0xff; /* sample 3 is null, and its bit now says that it is not */
    made_file(path, &(struct made){.samples = 60});
    edit(path, section_of(path, "validity").ptr, &byte, 1);
    REQUIRE_OK(repair(path, out, &result, &err), &err);
    CHECK_EQ_U64(60, result.samples_saved);
    CHECK(result.lost.any && result.lost.values > 0);
    CHECK_CONTAINS("now null", result.action);
    REQUIRE_OK(mldf_reader_open(out, NULL, &r, &err), &err);
    for (uint64_t i = 0; i < 60; i++)
        for (size_t f = MADE_BLOB; f <= MADE_FIXED; f++) {
            CHECK_OK(mldf_reader_get(r, i, f, &scratch, &value, &err), &err);
            if (made_null(i))
                CHECK_EQ_U64(MLDF_KIND_NULL, value.kind);
            else if (f == MADE_FIXED) /* whose bits agree with the statistics */
                CHECK(value.kind != MLDF_KIND_NULL);
        }
    mldf_buffer_free(&scratch);
    mldf_reader_close(r);
}

static void a_damaged_key_costs_its_sample_alone(void) {
    const char *path = check_tmp("key.mldf"), *out = check_tmp("saved.mldf");
    mldf_repair_result result = MLDF_REPAIR_RESULT_INIT;
    mldf_error err;
    made_file(path, &(struct made){.samples = 60, .keys = true});
    mldf_section keys = section_of(path, "keys");
    flip(path, keys.ptr + 61 * 8 + 4); /* the last letter of "key-0" */
    REQUIRE_OK(repair(path, out, &result, &err), &err);
    CHECK_EQ_U64(59, result.samples_saved);
    CHECK_EQ_U64(1, result.samples_lost);
    CHECK_EQ_U64(0, lost_samples[0]);
    check_saved(out, 60, true, (uint64_t[]){0}, 1);
}

static void keys_that_cannot_be_read_are_counted_and_their_samples_stay(void) {
    const char *path = check_tmp("keys.mldf"), *out = check_tmp("saved.mldf");
    mldf_repair_result result = MLDF_REPAIR_RESULT_INIT;
    mldf_error err;
    uint8_t zeros[8 * 50] = {0};
    made_file(path, &(struct made){.samples = 60, .keys = true});
    edit(path, section_of(path, "keys").ptr + 8, zeros, sizeof zeros);
    REQUIRE_OK(repair(path, out, &result, &err), &err);
    CHECK_EQ_U64(60, result.samples_saved);
    CHECK_EQ_U64(60, result.lost.keys);
    CHECK(result.lost.any);
    CHECK_CONTAINS("60 keys", result.action);
    check_saved(out, 60, false, NULL, 0);
}

static void a_damaged_directory_costs_what_its_damaged_entry_listed(void) {
    const char *path = check_tmp("directory.mldf"), *out = check_tmp("saved.mldf");
    mldf_repair_result result = MLDF_REPAIR_RESULT_INIT;
    mldf_error err;
    made_file(path, &(struct made){.samples = 60, .keys = true, .card = "{}"});
    uint64_t directory = info_of(path).directory_ptr;
    flip(path, directory + 12); /* its checksum */
    REQUIRE_OK(repair(path, out, &result, &err), &err);
    CHECK(!result.lost.any && result.changed);
    check_saved(out, 60, true, NULL, 0);
    flip(path, directory + 12);
    size_t bytes;
    uint8_t *data = check_read_file(path, &bytes);
    REQUIRE(data);
    uint64_t entry = directory + 16;
    while (mldfi_load_u32(data + entry) != 3)
        entry += 40;
    free(data);
    flip(path, entry + 8); /* where the card is */
    REQUIRE_OK(repair(path, out, &result, &err), &err);
    CHECK(result.lost.card && result.lost.any);
    CHECK_CONTAINS("the card", result.action);
    check_saved(out, 60, true, NULL, 0);
}

static void values_that_do_not_decode_cost_their_samples(void) {
    const char *path = check_tmp("text.mldf"), *out = check_tmp("saved.mldf");
    mldf_repair_result result = MLDF_REPAIR_RESULT_INIT;
    mldf_error err;
    uint8_t byte = 0xff;
    size_t bytes;
    made_file(path, &(struct made){.samples = 20, .no_checksums = true});
    uint8_t *data = check_read_file(path, &bytes), *text = memmem(data, bytes, "sample 7", 8);
    REQUIRE(text);
    edit(path, (uint64_t)(text - data), &byte, 1);
    free(data);
    REQUIRE_OK(repair(path, out, &result, &err), &err);
    CHECK_EQ_U64(19, result.samples_saved);
    CHECK_EQ_U64(7, lost_samples[0]);
    CHECK(result.lost.any);
    check_saved(out, 20, false, (uint64_t[]){7}, 1);
}

/* Earlier versions could append with a checksum of the descriptors that was not that of their bytes. */
static void a_wrong_checksum_of_descriptors_that_a_former_state_vouches_for_costs_nothing(void) {
    const char *path = check_tmp("vouched.mldf"), *out = check_tmp("saved.mldf");
    mldf_repair_result result = MLDF_REPAIR_RESULT_INIT;
    mldf_error err;
    size_t bytes;
    made_file(path, &(struct made){.samples = 60, .keys = true});
    made_file(path, &(struct made){.samples = 60, .keys = true, .append = true});
    mldf_section tables = section_of(path, "tables");
    mldf_file_info info = info_of(path);
    uint8_t *data = check_read_file(path, &bytes);
    REQUIRE(data);
    uint8_t *directory = data + info.directory_ptr, *entry = directory + 16;
    uint32_t count = mldfi_load_u32(directory + 8);
    data[tables.ptr + 72] ^= 1;
    while (mldfi_load_u32(entry) != 1)
        entry += 40;
    mldfi_store_u32(entry + 24, mldfi_crc32c(0, data + tables.ptr, (size_t)tables.bytes));
    mldfi_store_u32(directory + 12, mldfi_crc32c(0, directory + 16, count * (size_t)40));
    edit(path, 0, data, bytes);
    mldf_reader *r;
    CHECK_STATUS(MLDF_E_CHECKSUM, mldf_reader_open(path, NULL, &r, &err), &err);
    REQUIRE_OK(repair(path, out, &result, &err), &err);
    CHECK_EQ_U64(120, result.samples_saved);
    CHECK_EQ_U64(0, result.samples_lost);
    CHECK(!result.lost.any);
    /* The descriptors themselves are damaged: no state vouches for them. */
    data[mldfi_load_u64(data + 33)] ^= 1;
    edit(path, 0, data, bytes);
    CHECK_STATUS(MLDF_E_CHECKSUM, repair(path, out, &result, &err), &err);
    free(data);
}

static void a_file_cut_behind_its_rows_is_saved_by_rows_alone(void) {
    const char *path = check_tmp("cut.mldf"), *out = check_tmp("saved.mldf");
    mldf_repair_result result = MLDF_REPAIR_RESULT_INIT;
    mldf_error err;
    made_file(path, &(struct made){.samples = 60});
    mldf_file_info info = info_of(path);
    CHECK(truncate(path, (off_t)(info.metadata_ptr + info.metadata_bytes)) == 0);
    REQUIRE_OK(repair(path, out, &result, &err), &err);
    CHECK_EQ_U64(60, result.samples_saved);
    CHECK(result.changed);
    CHECK_CONTAINS("rows alone", result.action);
    /* Half of the rows. */
    CHECK(truncate(path, (off_t)(info.metadata_ptr + info.metadata_bytes / 2)) == 0);
    REQUIRE_OK(repair(path, out, &result, &err), &err);
    CHECK_EQ_U64(30, result.samples_saved);
    CHECK_EQ_U64(30, result.samples_lost);
    check_saved(out, 30, false, NULL, 0);
    /* No row. */
    CHECK(truncate(path, (off_t)info.metadata_ptr - 1) == 0);
    CHECK_STATUS(MLDF_E_TRUNCATED, repair(path, out, &result, &err), &err);
    CHECK_CONTAINS("nothing can be saved", TEXT(err));
}

static void a_file_cut_inside_an_append_gives_back_its_former_state(void) {
    const char *path = check_tmp("grown.mldf"), *out = check_tmp("saved.mldf");
    mldf_repair_result result = MLDF_REPAIR_RESULT_INIT;
    mldf_error err;
    made_file(path, &(struct made){.samples = 60, .keys = true});
    uint64_t end = info_of(path).file_bytes;
    made_file(path, &(struct made){.samples = 60, .keys = true, .append = true});
    CHECK(truncate(path, (off_t)(end + 100)) == 0);
    mldf_reader *r;
    CHECK_STATUS(MLDF_E_TRUNCATED, mldf_reader_open(path, NULL, &r, &err), &err);
    CHECK_CONTAINS("mldf repair", TEXT(err));
    REQUIRE_OK(repair(path, out, &result, &err), &err);
    CHECK_EQ_U64(60, result.samples_saved);
    check_saved(out, 60, true, NULL, 0);
    /* The header counts 120: those of the append are lost, and told. */
    CHECK_EQ_U64(60, result.samples_lost);
    CHECK(result.lost.any);
    CHECK_EQ_U64(60, lost_samples[0]);
}

static void draft_files_become_files_of_today(void) {
    const char *out = check_tmp("today.mldf");
    mldf_repair_result result = MLDF_REPAIR_RESULT_INIT;
    mldf_verify_result verified = MLDF_VERIFY_RESULT_INIT;
    mldf_error err;
    CHECK_OK(repair(check_source("tests/golden/draft/missing_208.mldf"), out, &result, &err), &err);
    CHECK_EQ_U64(5, result.samples_saved);
    REQUIRE_OK(mldf_verify(out, NULL, &verified, &err), &err);
    CHECK_EQ_U64(0, verified.problems);
    CHECK_EQ_U64(1, info_of(out).version_minor);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(a_whole_file_is_left_alone);
    RUN(header_and_footer_are_put_back_to_the_byte);
    RUN(what_cannot_be_mended_in_place_is_left_as_it_is);
    RUN(damaged_samples_are_left_out_and_named);
    RUN(a_damaged_footer_costs_nothing);
    RUN(damaged_sections_cost_no_samples);
    RUN(nulls_stay_nulls_past_damaged_bits);
    RUN(a_damaged_key_costs_its_sample_alone);
    RUN(keys_that_cannot_be_read_are_counted_and_their_samples_stay);
    RUN(a_damaged_directory_costs_what_its_damaged_entry_listed);
    RUN(values_that_do_not_decode_cost_their_samples);
    RUN(a_wrong_checksum_of_descriptors_that_a_former_state_vouches_for_costs_nothing);
    RUN(what_is_wrong_elsewhere_is_told_in_place);
    RUN(a_file_cut_behind_its_rows_is_saved_by_rows_alone);
    RUN(a_file_cut_inside_an_append_gives_back_its_former_state);
    RUN(draft_files_become_files_of_today);
    return check_end();
}
