/* The directory, section 1's fixed part and the size of the key table. */
#include "check.h"
#include "format/format.h"
#include "util/bytes.h"
#include "util/crc32c.h"

static void directory_survives(void) {
    static const struct section sections[] = {
        {SECTION_TABLES, 0, 4096, 84, 0x01020304, 17},
        {SECTION_DICTIONARY, SECTION_FLAG_REQUIRED, 5000, 0, 0, 0},
        {SECTION_PRIVATE + 5, 0, 73, UINT64_C(1) << 20, 9, UINT64_MAX},
    };
    mldf_buffer out = MLDF_BUFFER_INIT;
    uint32_t count, crc;
    mldf_error err;
    REQUIRE_OK(mldf_buffer_append(&out, "before", 6, &err), &err);
    REQUIRE_OK(mldfi_directory_encode(sections, 3, &out, &err), &err);
    REQUIRE_EQ_U64(6 + 16 + 3 * 40, out.size);
    REQUIRE_OK(mldfi_directory_head_decode(out.data + 6, 777, &count, &crc, &err), &err);
    CHECK_EQ_U64(3, count);
    CHECK_EQ_U64(mldfi_crc32c(0, out.data + 22, 120), crc);
    for (size_t i = 0; i < 3; i++) {
        struct section s;
        CHECK_OK(mldfi_section_decode(out.data + 22 + 40 * i, 0, UINT64_C(1) << 30, &s, &err), &err);
        CHECK_EQ_U64(sections[i].kind, s.kind);
        CHECK_EQ_U64(sections[i].flags, s.flags);
        CHECK_EQ_U64(sections[i].ptr, s.ptr);
        CHECK_EQ_U64(sections[i].size, s.size);
        CHECK_EQ_U64(sections[i].crc, s.crc);
        CHECK_EQ_U64(sections[i].param, s.param);
    }
    mldf_buffer_free(&out);
}

static void directory_head_violations_name_their_byte(void) {
    uint8_t head[FORMAT_DIRECTORY_HEAD_BYTES] = {'M', 'L', 'D', 'F', 'D', 'I', 'R', 0};
    uint32_t count, crc;
    mldf_error err;
    mldfi_store_u32(head + 8, 1024);
    CHECK_OK(mldfi_directory_head_decode(head, 500, &count, &crc, &err), &err);
    mldfi_store_u32(head + 8, 1025);
    CHECK_STATUS(MLDF_E_CORRUPT, mldfi_directory_head_decode(head, 500, &count, &crc, &err), &err);
    CHECK_EQ_U64(508, err.offset);
    head[7] = 1;
    CHECK_STATUS(MLDF_E_CORRUPT, mldfi_directory_head_decode(head, 500, &count, &crc, &err), &err);
    CHECK_EQ_U64(500, err.offset);
}

static void section_violations_name_the_entry(void) {
    static const struct {
        struct section s;
        mldf_status status;
    } cases[] = {
        {{0, 0, 100, 1, 0, 0}, MLDF_E_CORRUPT},
        {{SECTION_DIGEST, 1, 100, 1, 0, 0}, MLDF_E_FEATURE},
        {{SECTION_PRIVATE, 1, 100, 1, 0, 0}, MLDF_E_FEATURE},
        {{99, 1, UINT64_MAX, 1, 0, 0}, MLDF_E_FEATURE},
        {{SECTION_CARD, 0, 72, 1, 0, 0}, MLDF_E_CORRUPT},
        {{SECTION_CARD, 0, 100, 901, 0, 0}, MLDF_E_CORRUPT},
        {{SECTION_CARD, 0, 1001, 0, 0, 0}, MLDF_E_CORRUPT},
        {{SECTION_CARD, 0, 100, UINT64_MAX - 50, 0, 0}, MLDF_E_CORRUPT},
        {{SECTION_CARD, 0, 100, 900, 0, 0}, MLDF_OK},
        {{SECTION_CARD, 0, 1000, 0, 0, 0}, MLDF_OK},
        {{SECTION_DIGEST, 0, 100, 1, 0, 0}, MLDF_OK},
        {{SECTION_HISTORY, 1, 100, 1, 0, 0}, MLDF_OK},
    };
    mldf_error err;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t bytes[FORMAT_DIRECTORY_ENTRY_BYTES];
        struct section s;
        mldfi_section_encode(&cases[i].s, bytes);
        CHECK_STATUS(cases[i].status, mldfi_section_decode(bytes, 640, 1000, &s, &err), &err);
        if (cases[i].status < 0)
            CHECK_EQ_U64(640, err.offset);
    }
}

static void sections_have_names(void) {
    CHECK_EQ_STR("tables", mldfi_section_name(1));
    CHECK_EQ_STR("statistics", mldfi_section_name(4));
    CHECK_EQ_STR("long_arguments", mldfi_section_name(10));
    CHECK_EQ_STR("seek_index", mldfi_section_name(14));
    CHECK_EQ_STR("encrypted_dictionary", mldfi_section_name(15));
    CHECK_EQ_STR("unknown", mldfi_section_name(16));
    CHECK_EQ_STR("unknown", mldfi_section_name(0));
    CHECK_EQ_STR("private", mldfi_section_name(0x8000));
    CHECK(mldfi_section_known(12) && mldfi_section_known(11) && !mldfi_section_known(0) && !mldfi_section_known(13));
}

static void tables_survive(void) {
    struct tables t = {{128, 208, 1}, {4096, 800, 100}, {8192, 1600, UINT64_C(1) << 40}}, back;
    uint8_t bytes[FORMAT_TABLES_BYTES];
    mldfi_tables_encode(&t, bytes);
    CHECK_EQ_U64(800, mldfi_load_u64(bytes + 32));
    mldfi_tables_decode(bytes, &back);
    CHECK_MEM_EQ(&t, &back, sizeof t);
    CHECK_EQ_U64(0, mldfi_crc_blocks(0));
    CHECK_EQ_U64(1, mldfi_crc_blocks(65536));
    CHECK_EQ_U64(2, mldfi_crc_blocks(65537));
}

static void key_table_is_the_smallest_that_is_two_thirds_full(void) {
    for (uint64_t n = 0; n < 5000; n++) {
        uint32_t param = mldfi_key_param(n);
        CHECK(2 * (UINT64_C(1) << param) >= 3 * n);
        CHECK(param == 0 || 2 * (UINT64_C(1) << (param - 1)) < 3 * n);
    }
    CHECK_EQ_U64(0, mldfi_key_param(0));
    CHECK_EQ_U64(1, mldfi_key_param(1));
    CHECK_EQ_U64(28, mldfi_key_param(100000000));
    CHECK_EQ_U64(63, mldfi_key_param(UINT64_MAX));
}

static void key_hash_is_xxh64_with_seed_0(void) {
    CHECK_EQ_U64(UINT64_C(0xef46db3751d8e999), mldfi_key_hash("", 0));
    CHECK_EQ_U64(UINT64_C(0x44bc2cf5ad770999), mldfi_key_hash("abc", 3));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(directory_survives);
    RUN(directory_head_violations_name_their_byte);
    RUN(section_violations_name_the_entry);
    RUN(sections_have_names);
    RUN(tables_survive);
    RUN(key_table_is_the_smallest_that_is_two_thirds_full);
    RUN(key_hash_is_xxh64_with_seed_0);
    return check_end();
}
