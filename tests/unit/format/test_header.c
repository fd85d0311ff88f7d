/* Header and footer: bytes and back, and each rule with its status and byte. */
#include "check.h"
#include "format/format.h"
#include "util/bytes.h"

static struct header good_header(void) {
    return (struct header){.version_major = 1,
                           .version_minor = 1,
                           .flags = FORMAT_FLAG_LITTLE_ENDIAN | FORMAT_FLAG_CHECKSUMMED,
                           .num_samples = UINT64_C(0x1122334455667788),
                           .num_fields = 3,
                           .page_size = 4096,
                           .field_desc_ptr = 128,
                           .metadata_ptr = 8192,
                           .data_ptr = 4096,
                           .alloc_table_ptr = 9216,
                           .directory_ptr = 10240};
}

static void header_has_its_bytes_where_the_specification_says(void) {
    static const uint8_t want[FORMAT_HEADER_BYTES] = {
        1, 0,    1, 0, 5, 0,    0, 0, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, /* versions, flags, samples */
        3, 0,    0, 0, 0, 0x10, 0, 0, 128,  0,    0,    0,    0,    0,    0,    0, /* fields, zero, page, descriptors */
        0, 0x20, 0, 0, 0, 0,    0, 0, 0,    0x10, 0,    0,    0,    0,    0,    0, /* metadata, data */
        0, 0x24, 0, 0, 0, 0,    0, 0, 0,    0x28, 0,    0,    0,    0,    0,    0}; /* allocation, directory */
    struct header h = good_header(), back;
    uint8_t bytes[FORMAT_HEADER_BYTES];
    mldfi_header_encode(&h, bytes);
    CHECK_MEM_EQ(want, bytes, sizeof want);
    mldfi_header_load(bytes, &back);
    uint8_t again[FORMAT_HEADER_BYTES];
    mldfi_header_encode(&back, again);
    CHECK_MEM_EQ(bytes, again, sizeof bytes);
}

static void good_headers_pass(void) {
    mldf_error err;
    struct header h = good_header();
    CHECK_OK(mldfi_header_check(&h, 9, &err), &err);
    CHECK_OK(mldfi_header_check(&h, 777, &err), &err);
    h.version_minor = 7; /* newer minor: read it */
    h.flags |= 0xffff0000u;
    h.page_size = 1u << 31;
    h.num_fields = 65535;
    CHECK_OK(mldfi_header_check(&h, 9, &err), &err);
}

static void other_majors_are_refused_and_say_who_is_too_old(void) {
    mldf_error err;
    struct header h = good_header();
    h.version_major = 2;
    h.flags = 0; /* the version comes first */
    CHECK_STATUS(MLDF_E_VERSION, mldfi_header_check_version(&h, 9, &err), &err);
    CHECK_EQ_U64(9, err.offset);
    CHECK_CONTAINS("reader", TEXT(err));
    CHECK_CONTAINS("is too old for it", TEXT(err));
    h.version_major = 0;
    CHECK_STATUS(MLDF_E_VERSION, mldfi_header_check(&h, 500, &err), &err);
    CHECK_EQ_U64(500, err.offset);
    CHECK_CONTAINS("too old for this reader", TEXT(err));
}

static void flags_that_must_not_be_ignored_are_refused(void) {
    mldf_error err;
    struct header h = good_header();
    h.flags &= ~(uint32_t)FORMAT_FLAG_LITTLE_ENDIAN;
    CHECK_STATUS(MLDF_E_FEATURE, mldfi_header_check_version(&h, 9, &err), &err);
    CHECK_EQ_U64(13, err.offset);
    for (unsigned bit = 4; bit < 16; bit++) {
        h = good_header();
        h.flags |= 1u << bit;
        CHECK_STATUS(MLDF_E_FEATURE, mldfi_header_check(&h, 9, &err), &err);
        CHECK_EQ_U64(13, err.offset);
    }
}

static void counts_and_page_sizes_out_of_bounds_are_corrupt(void) {
    static const uint32_t bad[] = {0, 1, 2048, 4095, 4097, 12288, (1u << 31) + 1, UINT32_MAX};
    mldf_error err;
    struct header h = good_header();
    h.num_fields = 0;
    h.page_size = 0; /* fields come first */
    CHECK_STATUS(MLDF_E_CORRUPT, mldfi_header_check(&h, 9, &err), &err);
    CHECK_EQ_U64(25, err.offset);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        h = good_header();
        h.page_size = bad[i];
        CHECK_STATUS(MLDF_E_CORRUPT, mldfi_header_check(&h, 100, &err), &err);
        CHECK_EQ_U64(120, err.offset);
    }
}

static void draft_headers_have_rules_of_their_own(void) {
    mldf_error err;
    struct header h = good_header();
    h.version_minor = 0;
    h.page_size = 12345; /* does not count */
    CHECK_OK(mldfi_header_check(&h, 9, &err), &err);
    h.field_desc_ptr = 72;
    CHECK_STATUS(MLDF_E_CORRUPT, mldfi_header_check(&h, 9, &err), &err);
    CHECK_EQ_U64(33, err.offset);
    h.num_fields = 0;
    CHECK_STATUS(MLDF_E_CORRUPT, mldfi_header_check(&h, 9, &err), &err);
    CHECK_EQ_U64(25, err.offset);
    h.flags |= FORMAT_FLAG_COMPRESSED;
    CHECK_STATUS(MLDF_E_FEATURE, mldfi_header_check(&h, 9, &err), &err);
    CHECK_EQ_U64(13, err.offset);
    /* A footer's copy cannot be of version 1.0. */
    CHECK_STATUS(MLDF_E_CORRUPT, mldfi_header_check(&h, 1000, &err), &err);
    CHECK_EQ_U64(1002, err.offset);
}

static void footer_survives_and_every_flipped_bit_is_found(void) {
    struct header h = good_header();
    struct footer f = {.file_size = 123456789, .generation = 7}, back;
    uint8_t bytes[FORMAT_FOOTER_BYTES];
    mldfi_header_encode(&h, f.header);
    mldfi_footer_encode(&f, bytes);
    CHECK_MEM_EQ(mldfi_magic, bytes + 80, sizeof mldfi_magic);
    REQUIRE(mldfi_footer_decode(bytes, &back));
    CHECK_MEM_EQ(f.header, back.header, sizeof f.header);
    CHECK_EQ_U64(f.file_size, back.file_size);
    CHECK_EQ_U64(f.generation, back.generation);
    for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        CHECK(!mldfi_footer_decode(bytes, &back));
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(header_has_its_bytes_where_the_specification_says);
    RUN(good_headers_pass);
    RUN(other_majors_are_refused_and_say_who_is_too_old);
    RUN(flags_that_must_not_be_ignored_are_refused);
    RUN(counts_and_page_sizes_out_of_bounds_are_corrupt);
    RUN(draft_headers_have_rules_of_their_own);
    RUN(footer_survives_and_every_flipped_bit_is_found);
    return check_end();
}
