/* Descriptors of 1.1 and 1.0: bytes and back, each rule with its status and byte, the stride of a draft's table. */
#include "check.h"
#include "format/format.h"
#include "util/bytes.h"

enum { AT = 1000 };

static struct descriptor good_descriptor(void) {
    struct descriptor d = {.type_id = MLDF_NDARRAY,
                           .flags = MLDF_FIELD_NULLABLE | MLDF_FIELD_COMPRESSED | MLDF_FIELD_SIZE64,
                           .metadata_size = 24,
                           .row_offset = 16,
                           .row_align = 8,
                           .arguments_bytes = 2};
    strcpy(d.name, "feature");
    memcpy(d.arguments, "{}", 2);
    return d;
}

static void descriptor_has_its_bytes_where_the_specification_says(void) {
    struct descriptor d = good_descriptor(), back;
    uint8_t bytes[FORMAT_DESCRIPTOR_BYTES];
    mldf_error err;
    mldfi_descriptor_encode(&d, bytes);
    CHECK_MEM_EQ("feature\0\0", bytes, 9);
    CHECK_EQ_U64(4, mldfi_load_u16(bytes + 64));
    CHECK_EQ_U64(11, mldfi_load_u16(bytes + 66));
    CHECK_EQ_U64(24, mldfi_load_u32(bytes + 68));
    CHECK_EQ_U64(16, mldfi_load_u32(bytes + 72));
    CHECK_MEM_EQ("{}\0", bytes + 76, 3);
    CHECK_EQ_U64(8, mldfi_load_u16(bytes + 204));
    CHECK_EQ_U64(2, mldfi_load_u16(bytes + 206));
    REQUIRE_OK(mldfi_descriptor_decode(bytes, AT, &back, &err), &err);
    CHECK_EQ_STR("feature", back.name);
    CHECK_EQ_U64(AT + 76, back.arguments_offset);
    uint8_t again[FORMAT_DESCRIPTOR_BYTES];
    mldfi_descriptor_encode(&back, again);
    CHECK_MEM_EQ(bytes, again, sizeof bytes);
}

/* One member changed, and what that must give. */
struct violation {
    size_t at, width;
    uint64_t value;
    mldf_status status;
    size_t offset;
};

static void each_violation_gives_its_status_and_byte(void) {
    static const struct violation violations[] = {
        {0, 1, 0, MLDF_E_CORRUPT, 0},          /* empty, and bytes behind the end */
        {3, 1, 0, MLDF_E_CORRUPT, 0},          /* bytes behind the end */
        {60, 1, 'x', MLDF_E_CORRUPT, 0},       /* likewise */
        {1, 1, 0x1f, MLDF_E_CORRUPT, 0},       /* control character */
        {1, 1, 0x7f, MLDF_E_CORRUPT, 0},       /* control character */
        {1, 1, 0xff, MLDF_E_CORRUPT, 0},       /* not UTF-8 */
        {64, 2, 0, MLDF_E_CORRUPT, 64},        /* type_id */
        {66, 2, 0x18, MLDF_E_FEATURE, 66},     /* unknown bit */
        {66, 2, 0x8008, MLDF_E_FEATURE, 66},   /* unknown bit */
        {66, 2, 12, MLDF_E_CORRUPT, 66},       /* two payload forms */
        {66, 2, 2, MLDF_E_CORRUPT, 66},        /* compressed without payload */
        {68, 4, 0, MLDF_E_CORRUPT, 68},        /* no record */
        {68, 4, 15, MLDF_E_CORRUPT, 68},       /* too small for ptr and size */
        {68, 4, 65537, MLDF_E_CORRUPT, 68},    /* too large */
        {204, 2, 0, MLDF_E_CORRUPT, 204},      /* no alignment */
        {204, 2, 4, MLDF_E_CORRUPT, 204},      /* not 8 with a payload */
        {72, 4, 12, MLDF_E_CORRUPT, 72},       /* not aligned */
        {72, 4, 16777208, MLDF_E_CORRUPT, 72}, /* passes 16 MiB */
        {72, 4, 0xfffffff8, MLDF_E_CORRUPT, 72},
        {206, 2, 129, MLDF_E_CORRUPT, 206},
        {206, 2, 65534, MLDF_E_CORRUPT, 206},
    };
    struct descriptor d = good_descriptor(), back;
    mldf_error err;
    for (size_t i = 0; i < sizeof violations / sizeof violations[0]; i++) {
        const struct violation *v = &violations[i];
        uint8_t bytes[FORMAT_DESCRIPTOR_BYTES];
        mldfi_descriptor_encode(&d, bytes);
        memcpy(bytes + v->at, &v->value, v->width);
        CHECK_STATUS(v->status, mldfi_descriptor_decode(bytes, AT, &back, &err), &err);
        CHECK_EQ_U64(AT + v->offset, err.offset);
    }
    uint8_t bytes[FORMAT_DESCRIPTOR_BYTES];
    mldfi_descriptor_encode(&d, bytes);
    memset(bytes, 'n', 64); /* no NUL */
    CHECK_STATUS(MLDF_E_CORRUPT, mldfi_descriptor_decode(bytes, AT, &back, &err), &err);
    CHECK_EQ_U64(AT, err.offset);
    memset(bytes, 'n', 63);
    bytes[63] = 0;
    mldfi_store_u16(bytes + 206, FORMAT_LONG_ARGUMENTS);
    CHECK_OK(mldfi_descriptor_decode(bytes, AT, &back, &err), &err);
}

static void size32_needs_twelve_bytes_and_no_payload_needs_one(void) {
    struct descriptor d = good_descriptor(), back;
    uint8_t bytes[FORMAT_DESCRIPTOR_BYTES];
    mldf_error err;
    d.flags = MLDF_FIELD_SIZE32;
    d.metadata_size = 12;
    mldfi_descriptor_encode(&d, bytes);
    CHECK_OK(mldfi_descriptor_decode(bytes, AT, &back, &err), &err);
    mldfi_store_u32(bytes + 68, 11);
    CHECK_STATUS(MLDF_E_CORRUPT, mldfi_descriptor_decode(bytes, AT, &back, &err), &err);
    d.flags = 0;
    d.metadata_size = 1;
    d.row_align = 64;
    d.row_offset = 64;
    mldfi_descriptor_encode(&d, bytes);
    CHECK_OK(mldfi_descriptor_decode(bytes, AT, &back, &err), &err);
    mldfi_store_u16(bytes + 204, 128);
    CHECK_STATUS(MLDF_E_CORRUPT, mldfi_descriptor_decode(bytes, AT, &back, &err), &err);
    CHECK_EQ_U64(AT + 204, err.offset);
}

static void rows_refuse_records_that_overlap(void) {
    struct row_cursor row = {0, 1};
    struct descriptor d = good_descriptor();
    mldf_error err;
    CHECK_OK(mldfi_row_add(&row, &d, AT, &err), &err); /* [16, 40) */
    CHECK_EQ_U64(40, mldfi_row_bytes(&row));
    d.row_offset = 32;
    CHECK_STATUS(MLDF_E_CORRUPT, mldfi_row_add(&row, &d, AT, &err), &err);
    CHECK_EQ_U64(AT + 72, err.offset);
    d = (struct descriptor){.name = "x", .metadata_size = 1, .row_offset = 41, .row_align = 1};
    CHECK_OK(mldfi_row_add(&row, &d, AT, &err), &err);
    CHECK_EQ_U64(48, mldfi_row_bytes(&row));
}

/* ---- Version 1.0 -------------------------------------------------------------------------------------------------------- */

static void put_draft(uint8_t *out, const char *name, uint16_t type_id, uint32_t bytes) {
    memset(out, 0, FORMAT_DESCRIPTOR_BYTES_DRAFT);
    strcpy((char *)out, name);
    mldfi_store_u16(out + 64, type_id);
    mldfi_store_u32(out + 68, bytes);
    memset(out + 76, 0xA5, FORMAT_ARGUMENT_BYTES); /* does not count */
}

static void draft_stride_is_found_by_what_makes_sense(void) {
    uint8_t table[3 * FORMAT_DESCRIPTOR_BYTES];
    size_t stride;
    mldf_error err;
    for (size_t want = 204; want <= 208; want += 4) {
        memset(table, 0, sizeof table);
        put_draft(table, "image", 11, 24);
        put_draft(table + want, "label", MLDF_INT, 8);
        put_draft(table + 2 * want, "own", 0x9000, 6);
        CHECK_OK(mldfi_draft_stride(table, sizeof table, 3, AT, &stride, &err), &err);
        CHECK_EQ_U64(want, stride);
        CHECK_OK(mldfi_draft_stride(table, 3 * want, 3, AT, &stride, &err), &err);
        CHECK_EQ_U64(want, stride);
    }
    /* 208 reads the same name twice, so it is 204, whatever that reads. */
    put_draft(table, "label", MLDF_INT, 8);
    put_draft(table + 208, "label", MLDF_INT, 8);
    CHECK_OK(mldfi_draft_stride(table, sizeof table, 2, AT, &stride, &err), &err);
    CHECK_EQ_U64(204, stride);
    put_draft(table + 208, "label2", 60, 8); /* not registered */
    CHECK_OK(mldfi_draft_stride(table, sizeof table, 2, AT, &stride, &err), &err);
    CHECK_EQ_U64(204, stride);
    CHECK_STATUS(MLDF_E_TRUNCATED, mldfi_draft_stride(table, 407, 2, AT, &stride, &err), &err);
    CHECK_EQ_U64(AT + 407, err.offset);
    CHECK_EQ_U64(0, stride);
    CHECK_STATUS(MLDF_E_TRUNCATED, mldfi_draft_stride(table, 0, 65535, AT, &stride, &err), &err);
}

static void draft_descriptor_takes_its_form_from_the_registry(void) {
    static const struct {
        uint16_t type_id, flags, align;
        uint32_t bytes;
    } cases[] = {
        {MLDF_INT, 0, 8, 8},
        {MLDF_FLOAT, 0, 8, 8},
        {MLDF_BYTES, MLDF_FIELD_SIZE64, 8, 16},
        {11, MLDF_FIELD_SIZE32, 8, 20},
        {32, MLDF_FIELD_SIZE64, 8, 32},
        {50, MLDF_FIELD_SIZE32, 8, 24},
        {0x8001, 0, 4, 12},
        {0x8001, 0, 2, 6},
        {999, 0, 1, 7},
    };
    uint8_t bytes[FORMAT_DESCRIPTOR_BYTES];
    struct descriptor d;
    mldf_error err;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        put_draft(bytes, "f", cases[i].type_id, cases[i].bytes);
        CHECK_OK(mldfi_draft_descriptor_decode(bytes, 204, AT, &d, &err), &err);
        CHECK_EQ_U64(cases[i].flags, d.flags);
        CHECK_EQ_U64(cases[i].align, d.row_align);
        CHECK_EQ_U64(0, d.arguments_bytes);
    }
    put_draft(bytes, "f", MLDF_BYTES, 12);
    CHECK_STATUS(MLDF_E_CORRUPT, mldfi_draft_descriptor_decode(bytes, 204, AT, &d, &err), &err);
    CHECK_EQ_U64(AT + 68, err.offset);
    put_draft(bytes, "f", 0, 8);
    CHECK_STATUS(MLDF_E_CORRUPT, mldfi_draft_descriptor_decode(bytes, 204, AT, &d, &err), &err);
    CHECK_EQ_U64(AT + 64, err.offset);
    put_draft(bytes, "", 1, 8);
    CHECK_STATUS(MLDF_E_CORRUPT, mldfi_draft_descriptor_decode(bytes, 208, AT, &d, &err), &err);
    CHECK_EQ_U64(AT, err.offset);
}

static void registry_knows_names_both_ways(void) {
    const char *name;
    size_t count = 0;
    for (size_t i = 0; (name = mldfi_type_name_at(i)) != NULL; i++, count++)
        CHECK_EQ_STR(name, mldfi_type_name(mldfi_type_by_name(name, strlen(name))));
    CHECK_EQ_U64(23, count);
    CHECK(mldfi_type_name(0) == NULL);
    CHECK(mldfi_type_name(7) == NULL);
    CHECK_EQ_U64(0, mldfi_type_by_name("in", 2));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(descriptor_has_its_bytes_where_the_specification_says);
    RUN(each_violation_gives_its_status_and_byte);
    RUN(size32_needs_twelve_bytes_and_no_payload_needs_one);
    RUN(rows_refuse_records_that_overlap);
    RUN(draft_stride_is_found_by_what_makes_sense);
    RUN(draft_descriptor_takes_its_form_from_the_registry);
    RUN(registry_knows_names_both_ways);
    return check_end();
}
