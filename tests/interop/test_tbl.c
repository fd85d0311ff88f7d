/* TBL files: those that the real TurboLoader wrote, what our writer makes, and files that lie. */
#include <zlib.h>

#include "check.h"
#include "interop/crc16.h"
#include "interop/tbl.h"
#include "util/bytes.h"

static struct tbl *open_bytes(const uint8_t *data, size_t bytes) {
    struct tbl *tbl = NULL;
    mldf_error err;
    CHECK_OK(mldfi_tbl_open(&tbl, data, bytes, &err), &err);
    return tbl;
}

static uint8_t *golden(const char *name, size_t *bytes) {
    char path[200];
    snprintf(path, sizeof path, "tests/golden/tbl/%s.tbl", name);
    uint8_t *data = check_read_file(check_source(path), bytes);
    CHECK(data != NULL);
    return data;
}

static void check_payload(struct tbl *tbl, uint64_t sample, const void *want, size_t want_bytes, unsigned format) {
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    const uint8_t *data;
    uint64_t bytes;
    struct tbl_entry e;
    mldf_error err;
    CHECK_OK(mldfi_tbl_entry(tbl, sample, &e, &err), &err);
    CHECK_EQ_U64(format, e.format);
    mldf_status status = mldfi_tbl_payload(tbl, sample, true, &scratch, &data, &bytes, &err);
    CHECK_STATUS(MLDF_OK, status, &err);
    if (status == MLDF_OK)
        CHECK_BYTES_EQ(want, want_bytes, data, (size_t)bytes);
    mldf_buffer_free(&scratch);
}

/* ---- CRC-16 --------------------------------------------------------------------------------------------------------- */

static uint16_t crc16_by_bits(uint16_t crc, const uint8_t *p, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        crc ^= p[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (uint16_t)(crc >> 1 ^ (crc & 1 ? 0xA001 : 0));
    }
    return crc;
}

static void crc16_has_its_known_values(void) {
    CHECK_EQ_U64(0x4B37, mldfi_crc16(CRC16_START, "123456789", 9));
    CHECK_EQ_U64(0xFFFF, mldfi_crc16(CRC16_START, "", 0));
}

static void crc16_variants_agree_with_the_definition(void) {
    uint64_t seed = check_seed();
    uint8_t data[2100];
    check_rand_bytes(&seed, data, sizeof data);
    for (size_t bytes = 0; bytes < 2000; bytes += bytes < 300 ? 1 : 37) {
        size_t from = check_rand_below(&seed, 64);
        uint16_t start = (uint16_t)check_rand(&seed), want = crc16_by_bits(start, data + from, bytes);
        CHECK_EQ_U64(want, mldfi_crc16_portable(start, data + from, bytes));
        CHECK_EQ_U64(want, mldfi_crc16(start, data + from, bytes));
#if defined(__x86_64__)
        if (mldfi_crc16_pclmul_usable())
            CHECK_EQ_U64(want, mldfi_crc16_pclmul(start, data + from, bytes));
#endif
        size_t cut = bytes / 3;
        CHECK_EQ_U64(want, mldfi_crc16(mldfi_crc16(start, data + from, cut), data + from + cut, bytes - cut));
    }
}

/* ---- Golden files ----------------------------------------------------------------------------------------------------- */

static void golden_v1_reads(void) {
    size_t bytes;
    uint8_t *data = golden("v1_4samples", &bytes);
    struct tbl *tbl = open_bytes(data, bytes);
    REQUIRE(tbl != NULL);
    CHECK_EQ_U64(1, mldfi_tbl_info(tbl)->version);
    REQUIRE_EQ_U64(4, mldfi_tbl_info(tbl)->count);
    check_payload(tbl, 0, "hello-jpeg", 10, TBL_JPEG);
    check_payload(tbl, 1, "png!", 4, TBL_PNG);
    check_payload(tbl, 2, "", 0, TBL_UNKNOWN);
    check_payload(tbl, 3, "tiff-data", 9, TBL_TIFF);
    uint64_t problems = 9;
    CHECK_OK(mldfi_tbl_verify(tbl, NULL, NULL, &problems, NULL), NULL);
    CHECK_EQ_U64(0, problems);
    mldfi_tbl_close(tbl);
    free(data);
}

static void golden_v1_with_header_size_zero_reads(void) {
    size_t bytes;
    uint8_t *data = golden("v1_guide_hs0", &bytes);
    struct tbl *tbl = open_bytes(data, bytes);
    REQUIRE(tbl != NULL);
    REQUIRE_EQ_U64(2, mldfi_tbl_info(tbl)->count);
    check_payload(tbl, 0, "aaa", 3, TBL_JPEG);
    check_payload(tbl, 1, "bbbb", 4, TBL_JPEG);
    mldfi_tbl_close(tbl);
    free(data);
}

static void check_metadata(struct tbl *tbl, uint64_t sample, unsigned type, const char *want) {
    struct tbl_metadata m;
    mldf_error err;
    REQUIRE_STATUS(want ? MLDF_OK : MLDF_END, mldfi_tbl_find_metadata(tbl, sample, &m, &err), &err);
    if (!want)
        return;
    CHECK_EQ_U64(type, m.type);
    CHECK_BYTES_EQ(want, strlen(want), m.data, m.bytes);
}

static void golden_v2_reads(void) {
    size_t bytes;
    uint8_t a[100];
    memset(a, 'A', sizeof a);
    uint8_t *data = golden("v2_comp_meta", &bytes);
    struct tbl *tbl = open_bytes(data, bytes);
    REQUIRE(tbl != NULL);
    CHECK_EQ_U64(2, mldfi_tbl_info(tbl)->version);
    CHECK_EQ_U64(7, mldfi_tbl_info(tbl)->flags);
    REQUIRE_EQ_U64(3, mldfi_tbl_info(tbl)->count);
    struct tbl_entry e;
    CHECK_OK(mldfi_tbl_entry(tbl, 0, &e, NULL), NULL);
    CHECK_EQ_U64(640, e.width);
    CHECK_EQ_U64(480, e.height);
    CHECK_EQ_U64(11, e.stored);
    CHECK_EQ_U64(100, e.size);
    CHECK_EQ_U64(TBL_LZ4 | TBL_METADATA, e.flags);
#if defined(MLDF_HAVE_LZ4)
    check_payload(tbl, 0, a, sizeof a, TBL_JPEG);
#endif
    check_payload(tbl, 1, "png!", 4, TBL_PNG);
    check_payload(tbl, 2, "", 0, TBL_UNKNOWN);
    check_metadata(tbl, 0, TBL_META_JSON, "{\"label\":7}");
    check_metadata(tbl, 1, 0, NULL);
    check_metadata(tbl, 2, TBL_META_JSON, "{\"x\":1}");
    mldf_error err;
    struct tbl_metadata m;
    CHECK_STATUS(MLDF_E_NO_SAMPLE, mldfi_tbl_find_metadata(tbl, 3, &m, &err), &err);
    CHECK_STATUS(MLDF_E_NO_SAMPLE, mldfi_tbl_entry(tbl, 3, &e, &err), &err);
    mldfi_tbl_close(tbl);
    free(data);
}

static void golden_v2_raw_and_empty_read(void) {
    size_t bytes;
    uint8_t want[24];
    for (int i = 0; i < 24; i++)
        want[i] = (uint8_t)i;
    uint8_t *data = golden("v2_raw_nocomp", &bytes);
    struct tbl *tbl = open_bytes(data, bytes);
    REQUIRE(tbl != NULL);
    check_payload(tbl, 0, want, 12, TBL_RAW_U8);
    check_payload(tbl, 1, want + 12, 12, TBL_RAW_U8);
    mldfi_tbl_close(tbl);
    free(data);
    data = golden("v2_empty", &bytes);
    tbl = open_bytes(data, bytes);
    REQUIRE(tbl != NULL);
    CHECK_EQ_U64(0, mldfi_tbl_info(tbl)->count);
    CHECK_EQ_U64(TBL_FILE_COMPRESSED | TBL_FILE_CHECKSUMS, mldfi_tbl_info(tbl)->flags);
    mldfi_tbl_close(tbl);
    free(data);
}

/* ---- Writing: the same bytes as the real program ------------------------------------------------------------------------ */

static struct tbl_writer *writer(const char *path, struct tbl_write_options options) {
    struct tbl_writer *w = NULL;
    mldf_error err;
    options.overwrite = true;
    CHECK_OK(mldfi_tbl_writer_open(&w, path, &options, &err), &err);
    return w;
}

static void add(struct tbl_writer *w, const void *data, uint64_t bytes, uint8_t format, uint32_t width,
                uint32_t height) {
    mldf_error err;
    struct tbl_sample s = {.data = data, .bytes = bytes, .format = format, .width = width, .height = height};
    CHECK_OK(mldfi_tbl_writer_add(w, &s, &err), &err);
}

static void finish(struct tbl_writer *w) {
    mldf_error err;
    CHECK_OK(mldfi_tbl_writer_finish(w, NULL, &err), &err);
    mldfi_tbl_writer_free(w);
}

static void check_same_file(const char *name, const char *path) {
    size_t want_bytes, got_bytes;
    uint8_t *want = golden(name, &want_bytes), *got = check_read_file(path, &got_bytes);
    CHECK_BYTES_EQ(want, want_bytes, got, got_bytes);
    free(want);
    free(got);
}

static void writer_makes_the_bytes_of_the_real_v1(void) {
    for (int known = 0; known < 2; known++) {
        const char *path = check_tmp("a.tbl");
        struct tbl_write_options options = TBL_WRITE_OPTIONS_INIT;
        options.version = 1;
        options.count = known ? 4 : MLDF_NONE;
        struct tbl_writer *w = writer(path, options);
        REQUIRE(w != NULL);
        add(w, "hello-jpeg", 10, TBL_JPEG, 0, 0);
        add(w, "png!", 4, TBL_PNG, 0, 0);
        add(w, NULL, 0, TBL_UNKNOWN, 0, 0);
        add(w, "tiff-data", 9, TBL_TIFF, 0, 0);
        finish(w);
        check_same_file("v1_4samples", path);
    }
}

#if defined(MLDF_HAVE_LZ4)
static void writer_makes_the_bytes_of_the_real_v2(void) {
    uint8_t a[100];
    memset(a, 'A', sizeof a);
    for (int kind = 0; kind < 4; kind++) {
        const char *path = check_tmp("b.tbl");
        struct tbl_write_options options = TBL_WRITE_OPTIONS_INIT;
        options.compress = true;
        options.threads = kind & 2 ? 3 : 0;
        options.count = kind & 1 ? 3 : MLDF_NONE;
        struct tbl_writer *w = writer(path, options);
        REQUIRE(w != NULL);
        mldf_error err;
        struct tbl_metadata label = {TBL_META_JSON, (const uint8_t *)"{\"label\":7}", 11};
        struct tbl_metadata x = {TBL_META_JSON, (const uint8_t *)"{\"x\":1}", 7};
        struct tbl_metadata second = {TBL_META_JSON, (const uint8_t *)"second", 6};
        struct tbl_sample s = {
            .data = a, .bytes = 100, .format = TBL_JPEG, .width = 640, .height = 480, .metadata = &label};
        CHECK_OK(mldfi_tbl_writer_add(w, &s, &err), &err);
        add(w, "png!", 4, TBL_PNG, 0, 0);
        add(w, "", 0, TBL_UNKNOWN, 0, 0);
        CHECK_OK(mldfi_tbl_writer_metadata(w, 2, &x, &err), &err);
        CHECK_OK(mldfi_tbl_writer_metadata(w, 0, &second, &err), &err);
        finish(w);
        check_same_file("v2_comp_meta", path);
    }
    struct tbl_write_options options = TBL_WRITE_OPTIONS_INIT;
    options.compress = true;
    finish(writer(check_tmp("c.tbl"), options));
    check_same_file("v2_empty", check_tmp("c.tbl"));
}

/* Everything that may differ between runs must not. */
static void writer_bytes_do_not_depend_on_threads_or_on_the_count(void) {
    uint64_t first_seed = check_seed();
    size_t want_bytes = 0;
    uint8_t *want = NULL;
    for (int kind = 0; kind < 6; kind++) {
        uint64_t seed = first_seed;
        struct tbl_write_options options = TBL_WRITE_OPTIONS_INIT;
        options.compress = true;
        options.threads = (unsigned[]){0, 1, 4}[kind % 3];
        uint64_t count = 600;
        options.count = kind / 3 ? count : MLDF_NONE;
        const char *path = check_tmp("t.tbl");
        struct tbl_writer *w = writer(path, options);
        REQUIRE(w != NULL);
        static uint8_t data[200000];
        for (uint64_t i = 0; i < count; i++) {
            size_t bytes = check_rand_below(&seed, i % 50 == 0 ? sizeof data : 4000);
            check_rand_bytes(&seed, data, bytes / 2);
            memset(data + bytes / 2, (int)i, bytes - bytes / 2);
            struct tbl_metadata m = {TBL_META_CUSTOM, data, (uint32_t)(bytes % 100)};
            struct tbl_sample s = {.data = data, .bytes = bytes, .format = TBL_JPEG, .metadata = i % 3 ? NULL : &m};
            mldf_error err;
            CHECK_OK(mldfi_tbl_writer_add(w, &s, &err), &err);
        }
        finish(w);
        size_t got_bytes;
        uint8_t *got = check_read_file(path, &got_bytes);
        if (want) {
            CHECK(want_bytes == got_bytes && memcmp(want, got, got_bytes) == 0);
            free(got);
        } else {
            want = got;
            want_bytes = got_bytes;
        }
    }
    uint64_t problems = 1;
    struct tbl *tbl = open_bytes(want, want_bytes);
    REQUIRE(tbl != NULL);
    CHECK_OK(mldfi_tbl_verify(tbl, NULL, NULL, &problems, NULL), NULL);
    CHECK_EQ_U64(0, problems);
    mldfi_tbl_close(tbl);
    free(want);
}
#endif

static void writer_puts_raw_samples_on_a_page(void) {
    uint8_t pixels[27];
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)(i * 7);
    for (int known = 0; known < 2; known++) {
        struct tbl_write_options options = TBL_WRITE_OPTIONS_INIT;
        options.count = known ? 3 : MLDF_NONE;
        const char *path = check_tmp("r.tbl");
        struct tbl_writer *w = writer(path, options);
        REQUIRE(w != NULL);
        for (int i = 0; i < 3; i++)
            add(w, pixels, 27, TBL_RAW_U8, 3, 3);
        finish(w);
        size_t bytes;
        uint8_t *data = check_read_file(path, &bytes);
        REQUIRE_EQ_U64(4096 + 3 * 27, bytes);
        struct tbl *tbl = open_bytes(data, bytes);
        REQUIRE(tbl != NULL);
        for (uint64_t i = 0; i < 3; i++) {
            struct tbl_entry e;
            CHECK_OK(mldfi_tbl_entry(tbl, i, &e, NULL), NULL);
            CHECK_EQ_U64(4096 + i * 27, e.offset);
            check_payload(tbl, i, pixels, 27, TBL_RAW_U8);
        }
        mldfi_tbl_close(tbl);
        free(data);
    }
}

static void writer_keeps_dataset_version_and_time_in_v1(void) {
    struct tbl_write_options options = TBL_WRITE_OPTIONS_INIT;
    options.version = 1;
    options.dataset_version = 42;
    options.created = 1700000000;
    const char *path = check_tmp("v.tbl");
    struct tbl_writer *w = writer(path, options);
    REQUIRE(w != NULL);
    add(w, "x", 1, TBL_JPEG, 0, 0);
    finish(w);
    size_t bytes;
    uint8_t *data = check_read_file(path, &bytes);
    struct tbl *tbl = open_bytes(data, bytes);
    REQUIRE(tbl != NULL);
    CHECK_EQ_U64(42, mldfi_tbl_info(tbl)->dataset_version);
    CHECK_EQ_U64(1700000000, mldfi_tbl_info(tbl)->created);
    mldfi_tbl_close(tbl);
    free(data);
}

static void writer_refuses_what_the_format_cannot_hold(void) {
    mldf_error err;
    struct tbl_writer *w;
    struct tbl_write_options options = TBL_WRITE_OPTIONS_INIT;
    const char *path = check_tmp("no.tbl");
    options.version = 3;
    CHECK_STATUS(MLDF_E_ARGUMENT, mldfi_tbl_writer_open(&w, path, &options, &err), &err);
    options.version = 1;
    options.count = (uint64_t)TBL_V1_COUNT_MAX + 1;
    CHECK_STATUS(MLDF_E_LIMIT, mldfi_tbl_writer_open(&w, path, &options, &err), &err);
    options.count = 1;
    REQUIRE_OK(mldfi_tbl_writer_open(&w, path, &options, &err), &err);
    struct tbl_metadata m = {1, (const uint8_t *)"m", 1};
    struct tbl_sample s = {.data = "x", .bytes = (uint64_t)1 << 32};
    CHECK_STATUS(MLDF_E_LIMIT, mldfi_tbl_writer_add(w, &s, &err), &err);
    s = (struct tbl_sample){.data = "x", .bytes = 1, .width = 65536, .height = 1};
    CHECK_STATUS(MLDF_E_LIMIT, mldfi_tbl_writer_add(w, &s, &err), &err);
    s = (struct tbl_sample){.data = "x", .bytes = 1, .format = TBL_RAW_U8};
    CHECK_STATUS(MLDF_E_ARGUMENT, mldfi_tbl_writer_add(w, &s, &err), &err);
    s = (struct tbl_sample){.data = "x", .bytes = 1, .metadata = &m};
    CHECK_STATUS(MLDF_E_ARGUMENT, mldfi_tbl_writer_add(w, &s, &err), &err);
    CHECK_STATUS(MLDF_E_STATE, mldfi_tbl_writer_finish(w, NULL, &err), &err);
    mldfi_tbl_writer_free(w);
    options.version = 2;
    options.count = MLDF_NONE;
    REQUIRE_OK(mldfi_tbl_writer_open(&w, path, &options, &err), &err);
    s = (struct tbl_sample){.data = "x", .bytes = 1, .format = TBL_RAW_U8, .width = 1, .height = 1};
    CHECK_STATUS(MLDF_E_RANGE, mldfi_tbl_writer_add(w, &s, &err), &err);
    mldfi_tbl_writer_free(w);
    CHECK(access(path, F_OK) != 0);
    CHECK(check_write_file(path, "old", 3));
    CHECK_STATUS(MLDF_E_EXISTS, mldfi_tbl_writer_open(&w, path, &options, &err), &err);
}

/* ---- Files that lie ------------------------------------------------------------------------------------------------------ */

static void fix_header(uint8_t *data) {
    mldfi_store_u32(data + 44, 0);
    mldfi_store_u32(data + 44, (uint32_t)crc32(0, data, 64));
}

static void check_open_fails(const uint8_t *data, size_t bytes, mldf_status want, uint64_t offset) {
    struct tbl *tbl;
    mldf_error err;
    CHECK_STATUS(want, mldfi_tbl_open(&tbl, data, bytes, &err), &err);
    CHECK_EQ_U64(offset, err.offset);
    CHECK(tbl == NULL);
    mldfi_tbl_close(tbl);
}

static void open_refuses_headers_that_lie(void) {
    size_t bytes;
    uint8_t *data = golden("v2_comp_meta", &bytes), keep[64];
    memcpy(keep, data, 64);
    check_open_fails(data, 3, MLDF_E_MAGIC, 0);
    check_open_fails(data, 31, MLDF_E_TRUNCATED, 31);
    check_open_fails(data, 63, MLDF_E_TRUNCATED, 63);
    check_open_fails(data, 100, MLDF_E_TRUNCATED, 100);
    data[50] ^= 1;
    check_open_fails(data, bytes, MLDF_E_CHECKSUM, 44);
    memcpy(data, keep, 64);
    mldfi_store_u64(data + 8, UINT64_MAX / 24 + 2); /* 24 N wraps to a small number */
    fix_header(data);
    check_open_fails(data, bytes, MLDF_E_CORRUPT, 8);
    memcpy(data, keep, 64);
    mldfi_store_u64(data + 8, 1000);
    fix_header(data);
    check_open_fails(data, bytes, MLDF_E_TRUNCATED, bytes);
    memcpy(data, keep, 64);
    mldfi_store_u64(data + 24, UINT64_MAX - 10); /* + 72 wraps */
    fix_header(data);
    check_open_fails(data, bytes, MLDF_E_CORRUPT, 24);
    memcpy(data, keep, 64);
    mldfi_store_u32(data + 4, 1);
    fix_header(data);
    check_open_fails(data, bytes, MLDF_E_VERSION, 4);
    free(data);
    data = golden("v1_4samples", &bytes);
    data[16] ^= 1;
    check_open_fails(data, bytes, MLDF_E_CORRUPT, 16);
    data[16] ^= 1;
    mldfi_store_u64(data + 8, UINT64_MAX / 16 + 1);
    check_open_fails(data, bytes, MLDF_E_CORRUPT, 8);
    free(data);
}

static void check_entry_fails(struct tbl *tbl, uint64_t sample, mldf_status want, uint64_t offset) {
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    const uint8_t *data;
    uint64_t bytes;
    mldf_error err;
    CHECK_STATUS(want, mldfi_tbl_payload(tbl, sample, true, &scratch, &data, &bytes, &err), &err);
    CHECK_EQ_U64(offset, err.offset);
    CHECK_EQ_U64(sample, err.sample);
    mldf_buffer_free(&scratch);
}

static void entries_that_lie_give_errors_with_their_place(void) {
    size_t bytes;
    uint8_t *data = golden("v2_comp_meta", &bytes);
    uint8_t *copy = malloc(bytes);
    memcpy(copy, data, bytes);
    struct tbl *tbl = open_bytes(data, bytes); /* borrowed: changes below are seen */
    REQUIRE(tbl != NULL);
    mldfi_store_u64(data + 64 + 24, UINT64_MAX - 1); /* offset + 4 wraps */
    check_entry_fails(tbl, 1, MLDF_E_CORRUPT, 64 + 24);
    mldfi_store_u64(data + 64 + 24, 40); /* inside the header */
    check_entry_fails(tbl, 1, MLDF_E_CORRUPT, 64 + 24);
    memcpy(data, copy, bytes);
    mldfi_store_u32(data + 64 + 24 + 12, 5); /* plain, and the two sizes differ */
    check_entry_fails(tbl, 1, MLDF_E_CORRUPT, 64 + 24 + 12);
    memcpy(data, copy, bytes);
    data[64 + 24 + 22] ^= 1;
    check_entry_fails(tbl, 1, MLDF_E_CHECKSUM, 0x93);
    memcpy(data, copy, bytes);
    mldfi_store_u32(data + 64 + 12, UINT32_MAX); /* a bomb */
    check_entry_fails(tbl, 0, MLDF_E_CORRUPT, 64 + 12);
#if defined(MLDF_HAVE_LZ4)
    mldfi_store_u32(data + 64 + 12, 99);
    check_entry_fails(tbl, 0, MLDF_E_CORRUPT, 0x88);
    mldfi_store_u32(data + 64 + 12, 101);
    check_entry_fails(tbl, 0, MLDF_E_CORRUPT, 0x88);
#endif
    memcpy(data, copy, bytes);
    mldfi_store_u32(data + 0x97 + 8, 0xFFFFFFF0); /* the first metadata block */
    struct tbl_metadata m;
    mldf_error err;
    CHECK_STATUS(MLDF_E_CORRUPT, mldfi_tbl_find_metadata(tbl, 0, &m, &err), &err);
    CHECK_EQ_U64(0x97 + 8, err.offset);
    uint64_t problems;
#if defined(MLDF_HAVE_LZ4)
    CHECK_OK(mldfi_tbl_verify(tbl, NULL, NULL, &problems, &err), &err);
    CHECK_EQ_U64(1, problems);
#else
    CHECK_STATUS(MLDF_E_UNSUPPORTED, mldfi_tbl_verify(tbl, NULL, NULL, &problems, &err), &err);
    CHECK_CONTAINS("this build has no liblz4", TEXT(err));
#endif
    mldfi_tbl_close(tbl);
    free(copy);
    free(data);
}

struct seen {
    unsigned count, stop_at;
    uint64_t samples[10], offsets[10];
};
static bool see(void *user, const mldf_error *problem) {
    struct seen *seen = user;
    if (!problem) /* only asks whether to go on */
        return true;
    if (seen->count < 10) {
        seen->samples[seen->count] = problem->sample;
        seen->offsets[seen->count] = problem->offset;
    }
    return ++seen->count != seen->stop_at;
}

static void verify_goes_on_after_each_problem_until_told_to_stop(void) {
    size_t bytes;
    uint8_t *data = golden("v2_raw_nocomp", &bytes);
    data[112] ^= 1;                    /* the first sample's pixels */
    data[64 + 24 + 16] = 9;            /* the second one's width */
    mldfi_store_u32(data + 40, 4 | 2); /* metadata: one block, for sample 77 */
    mldfi_store_u64(data + 24, bytes);
    mldfi_store_u64(data + 32, 16);
    uint8_t *more = calloc(1, bytes + 16);
    memcpy(more, data, bytes);
    mldfi_store_u64(more + bytes, 77);
    fix_header(more);
    struct tbl *tbl = open_bytes(more, bytes + 16);
    REQUIRE(tbl != NULL);
    struct seen seen = {0};
    uint64_t problems;
    mldf_error err;
    CHECK_OK(mldfi_tbl_verify(tbl, see, &seen, &problems, &err), &err);
    REQUIRE_EQ_U64(3, problems);
    CHECK_EQ_U64(0, seen.samples[0]);
    CHECK_EQ_U64(112, seen.offsets[0]);
    CHECK_EQ_U64(1, seen.samples[1]);
    CHECK_EQ_U64(64 + 24 + 20, seen.offsets[1]);
    CHECK_EQ_U64(MLDF_NONE, seen.samples[2]);
    CHECK_EQ_U64(bytes, seen.offsets[2]);
    seen = (struct seen){.stop_at = 2};
    CHECK_STATUS(MLDF_E_CANCELLED, mldfi_tbl_verify(tbl, see, &seen, &problems, &err), &err);
    CHECK_EQ_U64(2, problems);
    mldfi_tbl_close(tbl);
    free(more);
    free(data);
}

/* Reads all there is; only the sanitizers judge. */
static void read_all(const uint8_t *data, size_t bytes) {
    struct tbl *tbl;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    if (mldfi_tbl_open(&tbl, data, bytes, NULL) < 0)
        return;
    for (uint64_t i = 0; i < mldfi_tbl_info(tbl)->count; i++) {
        const uint8_t *p;
        uint64_t n;
        struct tbl_metadata m;
        if (mldfi_tbl_payload(tbl, i, i & 1, &scratch, &p, &n, NULL) == MLDF_OK && n > 0)
            CHECK(p[0] + p[n - 1] >= 0);
        if (mldfi_tbl_find_metadata(tbl, i, &m, NULL) == MLDF_OK && m.bytes > 0)
            CHECK(m.data[0] + m.data[m.bytes - 1] >= 0);
    }
    mldf_error err;
    mldf_status status = mldfi_tbl_verify(tbl, NULL, NULL, NULL, &err);
    CHECK(status == MLDF_OK || status == MLDF_E_UNSUPPORTED);
    mldfi_tbl_close(tbl);
    mldf_buffer_free(&scratch);
}

static void damaged_files_are_read_without_harm(void) {
    static const char *const names[] = {"v1_4samples", "v1_guide_hs0", "v2_comp_meta", "v2_raw_nocomp"};
    uint64_t seed = check_seed();
    for (int round = 0; round < 20000; round++) {
        size_t bytes;
        uint8_t *data = golden(names[round % 4], &bytes);
        bool v2 = round % 4 >= 2;
        for (uint64_t n = 1 + check_rand_below(&seed, 4); n > 0; n--) {
            uint64_t at = check_rand_below(&seed, bytes);
            data[at] = check_rand_below(&seed, 2) ? (uint8_t)check_rand(&seed) : 0xFF;
        }
        data[0] = 'T', data[1] = 'B', data[2] = 'L', data[3] = v2 ? 2 : 1;
        size_t cut = check_rand_below(&seed, 4) ? bytes : check_rand_below(&seed, bytes + 1);
        if (v2)
            fix_header(data);
        uint8_t *exact = malloc(cut ? cut : 1); /* so that the sanitizer sees the end */
        memcpy(exact, data, cut);
        read_all(exact, cut);
        free(exact);
        free(data);
    }
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(crc16_has_its_known_values);
    RUN(crc16_variants_agree_with_the_definition);
    RUN(golden_v1_reads);
    RUN(golden_v1_with_header_size_zero_reads);
    RUN(golden_v2_reads);
    RUN(golden_v2_raw_and_empty_read);
    RUN(writer_makes_the_bytes_of_the_real_v1);
#if defined(MLDF_HAVE_LZ4)
    RUN(writer_makes_the_bytes_of_the_real_v2);
    RUN(writer_bytes_do_not_depend_on_threads_or_on_the_count);
#endif
    RUN(writer_puts_raw_samples_on_a_page);
    RUN(writer_keeps_dataset_version_and_time_in_v1);
    RUN(writer_refuses_what_the_format_cannot_hold);
    RUN(open_refuses_headers_that_lie);
    RUN(entries_that_lie_give_errors_with_their_place);
    RUN(verify_goes_on_after_each_problem_until_told_to_stop);
    RUN(damaged_files_are_read_without_harm);
    return check_end();
}
