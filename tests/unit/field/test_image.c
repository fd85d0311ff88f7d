/* Image fields: canonical arguments, records against payloads, values of every mode decode alike. */
#include "check.h"
#include "field/image_type.h"
#include "field/image_view.h"
#include "util/bytes.h"

static void what_is_default_is_left_out_of_the_arguments(void) {
    static const struct {
        const char *given, *kept;
    } cases[] = {
        {"{}", "{}"},
        {"{\"encode\":\"keep\",\"quality\":90,\"icc\":\"keep\",\"baseline\":false,\"orientation\":\"record\"}", "{}"},
        {"{\"subsampling\":\"420\",\"compress_probability\":0.50}", "{}"},
        {"{\"quality\":75,\"encode\":\"jpeg\"}", "{\"encode\":\"jpeg\",\"quality\":75}"},
        {"{\"smart_threshold\":90,\"max_resolution\":90}", "{\"max_resolution\":90,\"smart_threshold\":90}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        mldf_schema *s;
        mldf_error err;
        REQUIRE_OK(mldf_schema_new(NULL, &s, &err), &err);
        CHECK_OK(mldf_schema_add(s, "image", MLDF_IMAGE, cases[i].given, 0, &err), &err);
        CHECK_EQ_STR(cases[i].kept, mldf_schema_field(s, 0)->arguments);
        mldf_schema_free(s);
    }
}

static mldf_status decode(const uint8_t *record, const void *payload, uint64_t bytes, mldf_value *out,
                          mldf_error *err) {
    const struct type_core *type = &mldfi_builtin_type(MLDF_IMAGE)->type;
    mldf_status status = type->decode(NULL, NULL, record, payload, bytes, NULL, out, err);
    out->record = record;
    out->record_bytes = IMAGE_RECORD;
    return status;
}

static void set(uint8_t *record, unsigned height, unsigned width, uint8_t channels, uint8_t mode, uint8_t bits) {
    memset(record, 0, IMAGE_RECORD);
    mldfi_store_u16(record + IMAGE_HEIGHT, (uint16_t)height);
    mldfi_store_u16(record + IMAGE_WIDTH, (uint16_t)width);
    record[IMAGE_CHANNELS] = channels;
    record[IMAGE_MODE] = mode;
    record[IMAGE_BITS] = bits;
}

static void a_record_that_contradicts_its_payload_is_corrupt(void) {
    static const struct {
        unsigned height, width;
        uint8_t channels, mode, bits;
        uint64_t bytes;
        mldf_status status;
        uint64_t offset;
    } cases[] = {
        {2, 3, 3, 0, 8, 18, MLDF_OK, 0},
        {2, 3, 3, 0, 0, 18, MLDF_OK, 0}, /* 1.0 */
        {2, 3, 3, 0, 16, 36, MLDF_OK, 0},
        {2, 3, 3, 0, 8, 17, MLDF_E_CORRUPT, IMAGE_SIZE},
        {2, 3, 5, 0, 8, 30, MLDF_E_CORRUPT, IMAGE_CHANNELS},
        {2, 3, 3, 0, 12, 18, MLDF_E_CORRUPT, IMAGE_BITS},
        {3, 3, 3, 6, 8, 17, MLDF_OK, 0},
        {3, 3, 3, 6, 8, 18, MLDF_E_CORRUPT, IMAGE_SIZE},
        {3, 3, 3, 6, 16, 17, MLDF_E_CORRUPT, IMAGE_BITS},
        {0, 0, 0, 0, 0, 0, MLDF_OK, 0},
        {9, 9, 3, 1, 8, 5, MLDF_OK, 0},
        {9, 9, 3, 255, 8, 5, MLDF_OK, 0},
        {9, 9, 3, 8, 8, 5, MLDF_E_FEATURE, IMAGE_MODE},
        {65535, 65535, 4, 0, 16, 12, MLDF_E_CORRUPT, IMAGE_SIZE},
    };
    uint8_t record[IMAGE_RECORD], payload[64] = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        mldf_value value;
        mldf_error err;
        set(record, cases[i].height, cases[i].width, cases[i].channels, cases[i].mode, cases[i].bits);
        CHECK_STATUS(cases[i].status, decode(record, payload, cases[i].bytes, &value, &err), &err);
        if (cases[i].status < 0)
            CHECK_EQ_U64(cases[i].offset, err.offset);
        else
            CHECK_EQ_INT(cases[i].mode ? MLDF_KIND_BYTES : MLDF_KIND_ARRAY, value.kind);
    }
}

static void raw_and_png_values_decode_alike(void) {
    uint8_t pixels[5 * 4 * 3], record[IMAGE_RECORD], a[5 * 4 * 4], b[5 * 4 * 4];
    uint64_t seed = 3;
    mldf_buffer png = MLDF_BUFFER_INIT;
    mldf_image_pixels p = {pixels, 5, 4, 3, 8};
    mldf_image_shape shape, other;
    mldf_value raw, file;
    mldf_error err;
    check_rand_bytes(&seed, pixels, sizeof pixels);
    REQUIRE_OK(mldf_image_encode_png(&p, -1, &png, &err), &err);
    for (uint8_t orientation = 0; orientation <= 8; orientation++) {
        mldf_image_options o = MLDF_IMAGE_OPTIONS_INIT;
        o.channels = 4, o.orient = o.region = true, o.x = 1, o.y = 1, o.width = 2, o.height = 3;
        uint8_t png_record[IMAGE_RECORD];
        set(record, 4, 5, 3, MLDF_IMAGE_MODE_RAW, 8);
        set(png_record, 4, 5, 3, MLDF_IMAGE_MODE_PNG, 8);
        record[IMAGE_ORIENTATION] = png_record[IMAGE_ORIENTATION] = orientation;
        REQUIRE_OK(decode(record, pixels, sizeof pixels, &raw, &err), &err);
        REQUIRE_OK(decode(png_record, png.data, png.size, &file, &err), &err);
        CHECK_OK(mldf_image_value_shape(&raw, &o, &shape, &err), &err);
        CHECK_OK(mldf_image_value_shape(&file, &o, &other, &err), &err);
        CHECK_EQ_U64(shape.bytes, other.bytes);
        CHECK_OK(mldf_image_value_decode(NULL, &raw, &o, a, shape.bytes, &err), &err);
        CHECK_OK(mldf_image_value_decode(NULL, &file, &o, b, shape.bytes, &err), &err);
        CHECK_MEM_EQ(a, b, shape.bytes);
    }
    mldf_image_info info = MLDF_IMAGE_INFO_INIT;
    raw.record = NULL;
    CHECK_STATUS(MLDF_E_TYPE, mldf_image_record(&raw, &info, &err), &err);
    mldf_buffer_free(&png);
}

/* A view's rows are those of mldf_image_value_decode. */
static void view_is_right(mldf_image_decoder *decoder, const mldf_value *value, const mldf_image_options *o) {
    static uint8_t want[64 * 64 * 8];
    mldf_image_shape shape;
    struct raster view;
    mldf_error err;
    REQUIRE_OK(mldf_image_value_shape(value, o, &shape, &err), &err);
    REQUIRE_OK(mldf_image_value_decode(NULL, value, o, want, shape.bytes, &err), &err);
    REQUIRE_OK(mldfi_image_value_view(decoder, value, o, &view, &err), &err);
    CHECK_EQ_U64(shape.width, view.width);
    CHECK_EQ_U64(shape.height, view.height);
    CHECK_EQ_U64(shape.channels, view.channels);
    CHECK_EQ_U64(shape.bits, view.bits);
    size_t row = (size_t)shape.width * shape.channels * (shape.bits / 8);
    for (uint32_t y = 0; y < shape.height; y++)
        REQUIRE_MEM_EQ(want + y * row, view.data + y * view.stride, row);
}

static void views_equal_decoded_values_in_every_mode(void) {
    static uint8_t pixels[40 * 30 * 3];
    static const uint8_t modes[] = {MLDF_IMAGE_MODE_RAW, MLDF_IMAGE_MODE_PNG, MLDF_IMAGE_MODE_JPEG,
                                    MLDF_IMAGE_MODE_YUV420};
    uint64_t seed = 9;
    mldf_buffer files[4] = {MLDF_BUFFER_INIT, MLDF_BUFFER_INIT, MLDF_BUFFER_INIT, MLDF_BUFFER_INIT};
    mldf_image_pixels p = {pixels, 40, 30, 3, 8};
    mldf_image_decoder *decoder = NULL;
    mldf_error err;
    check_rand_bytes(&seed, pixels, sizeof pixels);
    REQUIRE_OK(mldf_image_decoder_new(&decoder, &err), &err);
    REQUIRE_OK(mldf_buffer_append(&files[0], pixels, sizeof pixels, &err), &err);
    REQUIRE_OK(mldf_image_encode_png(&p, -1, &files[1], &err), &err);
    REQUIRE_OK(mldf_image_encode_jpeg(&p, NULL, &files[2], &err), &err);
    REQUIRE_OK(mldf_image_encode_yuv420(&p, &files[3], &err), &err);
    for (int round = 0; round < 300; round++) {
        mldf_image_options o = MLDF_IMAGE_OPTIONS_INIT;
        uint8_t record[IMAGE_RECORD];
        mldf_value value;
        unsigned m = (unsigned)round % 4;
        set(record, 30, 40, 3, modes[m], 8);
        record[IMAGE_ORIENTATION] = (uint8_t)check_rand_below(&seed, 9);
        REQUIRE_OK(decode(record, files[m].data, files[m].size, &value, &err), &err);
        o.orient = check_rand_below(&seed, 2);
        o.channels = (int[]){0, 1, 3, 4}[check_rand_below(&seed, 4)];
        o.bits = check_rand_below(&seed, 4) ? 0 : 16;
        o.region = check_rand_below(&seed, 3) != 0;
        o.width = 1 + (uint32_t)check_rand_below(&seed, 30);
        o.height = 1 + (uint32_t)check_rand_below(&seed, 30);
        o.x = (uint32_t)check_rand_below(&seed, 31 - o.width);
        o.y = (uint32_t)check_rand_below(&seed, 31 - o.height);
        view_is_right(decoder, &value, &o);
    }
    for (int m = 0; m < 4; m++)
        mldf_buffer_free(&files[m]);
    mldf_image_decoder_free(decoder);
}

static void a_raw_view_is_no_copy(void) {
    static const uint8_t pixels[4 * 3 * 3] = {1, 2, 3};
    uint8_t record[IMAGE_RECORD];
    mldf_image_options o = MLDF_IMAGE_OPTIONS_INIT;
    mldf_image_decoder *decoder = NULL;
    struct raster view;
    mldf_value value;
    mldf_error err;
    REQUIRE_OK(mldf_image_decoder_new(&decoder, &err), &err);
    set(record, 3, 4, 3, MLDF_IMAGE_MODE_RAW, 8);
    REQUIRE_OK(decode(record, pixels, sizeof pixels, &value, &err), &err);
    o.region = true, o.x = 1, o.y = 2, o.width = 3, o.height = 1;
    REQUIRE_OK(mldfi_image_value_view(decoder, &value, &o, &view, &err), &err);
    CHECK(view.data == pixels + (2 * 4 + 1) * 3);
    CHECK_EQ_U64(12, view.stride);
    o.x = 2;
    CHECK_STATUS(MLDF_E_RANGE, mldfi_image_value_view(decoder, &value, &o, &view, &err), &err);
    mldf_image_decoder_free(decoder);
}

static void a_deep_check_compares_record_and_file(void) {
    static const uint8_t gray[4] = {1, 2, 3, 4};
    mldf_buffer png = MLDF_BUFFER_INIT;
    mldf_image_pixels p = {gray, 2, 2, 1, 8};
    uint8_t record[IMAGE_RECORD];
    mldf_error err;
    const struct field_type *type = mldfi_builtin_type(MLDF_IMAGE);
    REQUIRE_OK(mldf_image_encode_png(&p, -1, &png, &err), &err);
    set(record, 2, 2, 1, MLDF_IMAGE_MODE_PNG, 8);
    CHECK_OK(type->check_deep(NULL, record, png.data, png.size, &err), &err);
    set(record, 2, 3, 1, MLDF_IMAGE_MODE_PNG, 8);
    CHECK_STATUS(MLDF_E_CORRUPT, type->check_deep(NULL, record, png.data, png.size, &err), &err);
    set(record, 2, 2, 3, MLDF_IMAGE_MODE_PNG, 8);
    CHECK_STATUS(MLDF_E_CORRUPT, type->check_deep(NULL, record, png.data, png.size, &err), &err);
    set(record, 2, 2, 1, MLDF_IMAGE_MODE_JPEG, 8);
    CHECK_STATUS(MLDF_E_CORRUPT, type->check_deep(NULL, record, png.data, png.size, &err), &err);
    set(record, 2, 2, 1, MLDF_IMAGE_MODE_PNG, 8);
    CHECK_STATUS(MLDF_E_CORRUPT, type->check_deep(NULL, record, png.data, 20, &err), &err);
    mldf_buffer_free(&png);
}

/* One huge image does not stay in memory; what images of a usual size need does. */
static void a_kit_gives_back_what_one_huge_image_needed(void) {
    struct media_kit kit = {0};
    struct image_worker *worker;
    void *found, *again;
    mldf_error err;
    mldfi_kit_trim(&kit); /* of nothing */
    REQUIRE_OK(mldfi_kit_worker(&kit, FAMILY_IMAGE, &found, &err), &err);
    REQUIRE_OK(mldfi_kit_worker(&kit, FAMILY_IMAGE, &again, &err), &err);
    CHECK(found == again);
    worker = found;
    mldf_buffer *const large[] = {&worker->pixels,      &worker->resized,      &worker->work,        &worker->icc,
                                  &worker->decoder.row, &worker->decoder.work, &worker->decoder.view};
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++)
        for (int more = 0; more < 2; more++) {
            REQUIRE_OK(mldf_buffer_reserve(large[i], MEDIA_KEEP_BYTES + (more ? 1 : 0), &err), &err);
            mldfi_kit_trim(&kit);
            CHECK_EQ_U64(more ? 0 : MEDIA_KEEP_BYTES, large[i]->capacity);
        }
    mldfi_kit_free(&kit);
    mldfi_kit_free(&kit);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(what_is_default_is_left_out_of_the_arguments);
    RUN(a_record_that_contradicts_its_payload_is_corrupt);
    RUN(raw_and_png_values_decode_alike);
    RUN(views_equal_decoded_values_in_every_mode);
    RUN(a_raw_view_is_no_copy);
    RUN(a_deep_check_compares_record_and_file);
    RUN(a_kit_gives_back_what_one_huge_image_needed);
    return check_end();
}
