/* The fast JPEG store: bytes come back, and pixels equal those of libjpeg-turbo for every sampling, scale, region, output and instruction set.
 * Payloads that lie must fail, and never read or write outside. tests/python/test_fast_jpeg.py goes through files. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <jpeglib.h>

#include "check.h"
#include "codec/fast_jpeg.h"
#include "codec/image.h"
#include "field/image_fast.h"
#include "field/image_type.h"
#include "field/image_view.h"
#include "kernel/jpeg.h"
#include "kernel/kernels.h"
#include "kernel/resize_planes.h"
#include "util/bytes.h"

struct kind {
    const char *name;
    int channels, h, v;
    J_COLOR_SPACE space; /* of the file */
    int quality, restart, noise;
    bool optimize;
};
static const struct kind kinds[] = {
    {"4:2:0", 3, 2, 2, JCS_YCbCr, 90, 0, 63, false},       {"4:2:0 optimised", 3, 2, 2, JCS_YCbCr, 75, 0, 15, true},
    {"4:2:2", 3, 2, 1, JCS_YCbCr, 85, 0, 63, false},       {"4:4:4", 3, 1, 1, JCS_YCbCr, 95, 0, 63, true},
    {"gray", 1, 1, 1, JCS_GRAYSCALE, 90, 0, 63, true},     {"gray 2x2", 1, 2, 2, JCS_GRAYSCALE, 60, 0, 31, false},
    {"RGB", 3, 1, 1, JCS_RGB, 90, 0, 63, false},           {"RGB 2x2", 3, 2, 2, JCS_RGB, 90, 0, 63, false},
    {"restarts", 3, 2, 2, JCS_YCbCr, 80, 3, 31, false},    {"q100", 3, 2, 2, JCS_YCbCr, 100, 0, 255, true},
    {"q100 4:4:4", 3, 1, 1, JCS_YCbCr, 100, 1, 255, true}, {"q5", 3, 2, 2, JCS_YCbCr, 5, 0, 255, false},
    {"flat", 3, 2, 2, JCS_YCbCr, 50, 0, 0, true},          {"4:4:0", 3, 1, 2, JCS_YCbCr, 85, 0, 63, false},
    {"4:1:1", 3, 4, 1, JCS_YCbCr, 85, 0, 63, true},        {"q100 4:4:0", 3, 1, 2, JCS_YCbCr, 100, 2, 255, true},
    {"q100 4:1:1", 3, 4, 1, JCS_YCbCr, 100, 1, 255, true}, {"RGB 1x2", 3, 1, 2, JCS_RGB, 90, 0, 63, false},
    {"RGB 4x1", 3, 4, 1, JCS_RGB, 60, 0, 15, false},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static void make(const struct kind *k, uint32_t width, uint32_t height, mldf_buffer *out) {
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr trouble;
    unsigned char *file = NULL;
    unsigned long bytes = 0;
    uint64_t seed = width * 1000 + height;
    mldf_error err;
    uint8_t *row = malloc((size_t)width * 3);
    c.err = jpeg_std_error(&trouble);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &file, &bytes);
    c.image_width = width;
    c.image_height = height;
    c.input_components = k->channels;
    c.in_color_space = k->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&c);
    jpeg_set_colorspace(&c, k->space);
    jpeg_set_quality(&c, k->quality, TRUE);
    c.comp_info[0].h_samp_factor = k->h;
    c.comp_info[0].v_samp_factor = k->v;
    c.restart_interval = (unsigned)k->restart;
    c.optimize_coding = k->optimize;
    jpeg_start_compress(&c, TRUE);
    for (uint32_t y = 0; y < height; y++) {
        JSAMPROW line = row;
        for (uint32_t i = 0; i < width * (uint32_t)k->channels; i++)
            row[i] = (uint8_t)((i / (uint32_t)k->channels * 3 + y * 5) / 2 + (i % (uint32_t)k->channels) * 40 +
                               (k->noise ? check_rand(&seed) % (uint64_t)(k->noise + 1) : 0));
        jpeg_write_scanlines(&c, &line, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    out->size = 0;
    REQUIRE_OK(mldf_buffer_append(out, file, bytes, &err), &err);
    free(file);
    free(row);
}

static void fill_record(const mldf_buffer *jpeg, const mldf_buffer *packed, uint8_t record[IMAGE_RECORD]) {
    mldf_image_info info = MLDF_IMAGE_INFO_INIT;
    mldf_error err;
    REQUIRE_OK(mldf_image_probe(jpeg->data, jpeg->size, &info, &err), &err);
    memset(record, 0, IMAGE_RECORD);
    mldfi_store_u32(record + IMAGE_SIZE, (uint32_t)packed->size);
    mldfi_store_u16(record + IMAGE_HEIGHT, (uint16_t)info.height);
    mldfi_store_u16(record + IMAGE_WIDTH, (uint16_t)info.width);
    record[IMAGE_CHANNELS] = info.channels;
    record[IMAGE_MODE] = MLDF_IMAGE_MODE_FAST_JPEG;
    record[IMAGE_BITS] = 8;
}

static bool pack(const mldf_buffer *jpeg, mldf_buffer *packed, const char *name) {
    enum fast_reason reason = FAST_TAKEN;
    mldf_error err;
    packed->size = 0;
    if (mldfi_fast_pack(jpeg->data, jpeg->size, 0, 100.0, packed, &reason, &err) < 0)
        check_fail(__FILE__, __LINE__, "%s: %s", name, err.message);
    return reason == FAST_TAKEN;
}

static void bytes_come_back(void) {
    mldf_buffer jpeg = MLDF_BUFFER_INIT, packed = MLDF_BUFFER_INIT, again = MLDF_BUFFER_INIT;
    mldf_error err;
    for (size_t i = 0; i < KINDS; i++)
        for (uint32_t width = 1; width < 700; width = width * 2 + 3)
            for (uint32_t height = 1; height < 80; height = height * 3 + 2) {
                make(&kinds[i], width, height, &jpeg);
                if (!pack(&jpeg, &packed, kinds[i].name)) {
                    CHECK_EQ_U64(255,
                                 (uint64_t)kinds[i].noise); /* only noise at the ends of the scale may be refused */
                    continue;
                }
                again.size = 0;
                mldf_buffer none = MLDF_BUFFER_INIT;
                CHECK_STATUS(MLDF_E_LIMIT, mldfi_fast_restore(packed.data, packed.size, 100, &none, &err), &err);
                CHECK_CONTAINS("the limit is 100", err.message);
                mldf_buffer_free(&none);
                REQUIRE_OK(mldfi_fast_restore(packed.data, packed.size, MLDF_IMAGE_MAX_BYTES, &again, &err), &err);
                REQUIRE_EQ_U64(jpeg.size, again.size);
                CHECK(memcmp(jpeg.data, again.data, jpeg.size) == 0);
            }
    mldf_buffer_free(&jpeg);
    mldf_buffer_free(&packed);
    mldf_buffer_free(&again);
}

static void compare_with(mldf_image_decoder *decoder, const struct kernels *kernels, const mldf_value *value,
                         const mldf_image_options *o, const mldf_image_shape *shape, const uint8_t *want,
                         const char *what) {
    mldf_error err;
    struct raster view;
    uint8_t *got = malloc((size_t)shape->bytes); /* exact: sanitizers see a byte too much */
    mldfi_image_decoder_use(decoder, kernels);
    REQUIRE_OK(mldf_image_value_decode(decoder, value, o, got, (size_t)shape->bytes, &err), &err);
    size_t row = (size_t)(shape->bytes / shape->height), i = 0;
    if (memcmp(want, got, (size_t)shape->bytes) != 0) {
        while (want[i] == got[i])
            i++;
        check_fail(__FILE__, __LINE__,
                   "%s, %s, scale %d, channels %d, region %u x %u at (%u, %u): byte %zu of row %zu: %u, not %u", what,
                   kernels->name, o->scale, o->channels, o->width, o->height, o->x, o->y, i % row, i / row, got[i],
                   want[i]);
    }
    bool viewed = o->region || o->channels == 0; /* of whole images one in four: each view is another decoding */
    if (viewed)
        REQUIRE_OK(mldfi_image_value_view(decoder, value, o, &view, &err), &err);
    for (uint32_t y = 0; viewed && y < shape->height; y++)
        if (memcmp(want + y * row, (const uint8_t *)view.data + y * view.stride, row) != 0) {
            check_fail(__FILE__, __LINE__, "%s, %s, scale %d: row %u of the view differs", what, kernels->name,
                       o->scale, y);
            break;
        }
    free(got);
}

/* libjpeg-turbo decodes once, then every instruction set is compared with it. */
static void compare(mldf_image_decoder *decoder, const mldf_buffer *jpeg, const mldf_value *value,
                    const mldf_image_options *o, const char *what) {
    mldf_image_shape a, b;
    mldf_error err;
    REQUIRE_OK(mldf_image_decoded_shape(jpeg->data, jpeg->size, o, &a, &err), &err);
    REQUIRE_OK(mldf_image_value_shape(value, o, &b, &err), &err);
    REQUIRE_EQ_U64(a.bytes, b.bytes);
    uint8_t *want = malloc((size_t)a.bytes);
    REQUIRE_OK(mldf_image_decode(decoder, jpeg->data, jpeg->size, o, want, (size_t)a.bytes, &err), &err);
    for (size_t isa = 0; isa < ISA_COUNT; isa++) {
        const struct kernels *kernels = mldfi_kernels((enum isa)isa);
        if (kernels)
            compare_with(decoder, kernels, value, o, &a, want, what);
    }
    free(want);
}

static void try_image(mldf_image_decoder *decoder, const struct kind *k, uint32_t width, uint32_t height,
                      uint64_t *seed) {
    static const int channels[] = {0, 1, 3, 4}, scales[] = {1, 2, 4, 8};
    mldf_buffer jpeg = MLDF_BUFFER_INIT, packed = MLDF_BUFFER_INIT;
    uint8_t record[IMAGE_RECORD];
    char name[100];
    make(k, width, height, &jpeg);
    snprintf(name, sizeof name, "%s %u x %u", k->name, width, height);
    if (pack(&jpeg, &packed, name)) {
        fill_record(&jpeg, &packed, record);
        /* Exact memory: the loops must not need more than the payload. */
        uint8_t *payload = malloc(packed.size);
        memcpy(payload, packed.data, packed.size);
        mldf_value value = {.kind = MLDF_KIND_BYTES,
                            .data = payload,
                            .bytes = packed.size,
                            .record = record,
                            .record_bytes = IMAGE_RECORD};
        for (size_t s = 0; s < 4; s++)
            for (size_t c = 0; c < 4; c++) {
                mldf_image_options o = MLDF_IMAGE_OPTIONS_INIT;
                o.scale = scales[s];
                o.channels = channels[c];
                o.orient = c == 2;
                o.orientation = (uint8_t)(1 + check_rand(seed) % 8);
                compare(decoder, &jpeg, &value, &o, name);
                o.region = true;
                o.orient = false;
                uint32_t w = (width + (uint32_t)o.scale - 1) / (uint32_t)o.scale;
                uint32_t h = (height + (uint32_t)o.scale - 1) / (uint32_t)o.scale;
                o.x = (uint32_t)(check_rand(seed) % w);
                o.y = (uint32_t)(check_rand(seed) % h);
                o.width = 1 + (uint32_t)(check_rand(seed) % (w - o.x));
                o.height = 1 + (uint32_t)(check_rand(seed) % (h - o.y));
                compare(decoder, &jpeg, &value, &o, name);
            }
        free(payload);
    }
    mldf_buffer_free(&jpeg);
    mldf_buffer_free(&packed);
}

static void pixels_equal_libjpeg(void) {
    mldf_image_decoder *decoder = NULL;
    mldf_error err;
    uint64_t seed = check_seed();
    REQUIRE_OK(mldf_image_decoder_new(&decoder, &err), &err);
    for (size_t i = 0; i < KINDS; i++) {
        static const uint32_t sizes[][2] = {{1, 1},    {2, 3},    {5, 17},    {17, 16}, {33, 15},
                                            {100, 75}, {301, 20}, {559, 141}, {7, 200}};
        for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++)
            try_image(decoder, &kinds[i], sizes[n][0], sizes[n][1], &seed);
    }
    mldf_image_decoder_free(decoder);
}

/* The planes of a region, resized: what a pipeline with chroma=fused makes of it. False: there are none. */
static bool fuse(mldf_image_decoder *decoder, struct resize_work *work, const struct kernels *k,
                 const mldf_value *value, const mldf_image_options *o, uint32_t side, bool whole, uint8_t *out) {
    struct finish none = {.dtype = MLDF_U8};
    struct planes planes;
    mldf_image_options all = *o;
    mldf_error err;
    all.region = !whole;
    mldfi_image_decoder_use(decoder, k);
    mldf_status status = mldfi_image_value_planes(decoder, value, &all, &planes, &err);
    if (status == MLDF_END)
        return false;
    CHECK_OK(status, &err);
    planes.x = o->x, planes.y = o->y, planes.width = o->width, planes.height = o->height;
    struct raster window = {.width = o->width, .height = o->height};
    struct resize_spec spec = mldfi_resize_whole(&window, side, side, RESIZE_BILINEAR);
    CHECK_OK(mldfi_resize_planes(k, &planes, 3, &spec, &none, work, out, &err), &err);
    return true;
}

/* Modes 1 and 7 give the same, on every instruction set, whether the region is decoded or the whole image. */
static void planes_are_the_same(void) {
    enum { SIDE = 9 };
    mldf_buffer jpeg = MLDF_BUFFER_INIT, packed = MLDF_BUFFER_INIT;
    mldf_image_decoder *decoder = NULL;
    struct resize_work *work = NULL;
    uint64_t seed = check_seed();
    mldf_error err;
    REQUIRE_OK(mldf_image_decoder_new(&decoder, &err), &err);
    REQUIRE_OK(mldfi_resize_work_new(&work, &err), &err);
    for (int round = 0; round < 300; round++) {
        const struct kind *k = &kinds[(size_t)round % KINDS];
        uint32_t width = 1 + (uint32_t)(check_rand(&seed) % 200), height = 1 + (uint32_t)(check_rand(&seed) % 90);
        uint8_t records[2][IMAGE_RECORD], want[SIDE * SIDE * 3], got[SIDE * SIDE * 3];
        make(k, width, height, &jpeg);
        if (!pack(&jpeg, &packed, k->name))
            continue;
        fill_record(&jpeg, &packed, records[0]);
        memcpy(records[1], records[0], IMAGE_RECORD);
        records[1][IMAGE_MODE] = MLDF_IMAGE_MODE_JPEG;
        const mldf_value values[2] = {{.kind = MLDF_KIND_BYTES,
                                       .data = packed.data,
                                       .bytes = packed.size,
                                       .record = records[0],
                                       .record_bytes = IMAGE_RECORD},
                                      {.kind = MLDF_KIND_BYTES,
                                       .data = jpeg.data,
                                       .bytes = jpeg.size,
                                       .record = records[1],
                                       .record_bytes = IMAGE_RECORD}};
        mldf_image_options o = MLDF_IMAGE_OPTIONS_INIT;
        o.channels = 3;
        o.scale = 1 << check_rand(&seed) % 4;
        uint32_t w = (width + (uint32_t)o.scale - 1) / (uint32_t)o.scale;
        uint32_t h = (height + (uint32_t)o.scale - 1) / (uint32_t)o.scale;
        o.x = (uint32_t)(check_rand(&seed) % w);
        o.y = (uint32_t)(check_rand(&seed) % h);
        o.width = 1 + (uint32_t)(check_rand(&seed) % (w - o.x));
        o.height = 1 + (uint32_t)(check_rand(&seed) % (h - o.y));
        bool has = fuse(decoder, work, mldfi_kernels(ISA_PORTABLE), &values[0], &o, SIDE, true, want);
        CHECK_EQ_INT(k->space == JCS_YCbCr && k->h <= 2 && k->v <= k->h, has);
        for (int n = 0; n < 4; n++)
            for (int isa = 0; isa < ISA_COUNT; isa++) {
                const struct kernels *kernels = mldfi_kernels((enum isa)isa);
                if (!kernels)
                    continue;
                memset(got, 0x5a, sizeof got);
                CHECK_EQ_INT(has, fuse(decoder, work, kernels, &values[n % 2], &o, SIDE, n / 2, got));
                if (has && memcmp(want, got, sizeof want) != 0)
                    check_fail(__FILE__, __LINE__, "%s %u x %u at 1/%d, %u x %u at (%u, %u), %s: mode %d%s differs",
                               k->name, width, height, o.scale, o.width, o.height, o.x, o.y, kernels->name,
                               n % 2 ? 1 : 7, n / 2 ? ", whole," : "");
            }
    }
    mldfi_resize_work_free(work);
    mldf_image_decoder_free(decoder);
    mldf_buffer_free(&jpeg);
    mldf_buffer_free(&packed);
}

/* Any bytes where coefficients were expected: no crash, nothing outside, and the same pixels or the same refusal from every set. */
static void damaged_payloads_are_safe(void) {
    mldf_buffer jpeg = MLDF_BUFFER_INIT, packed = MLDF_BUFFER_INIT, again = MLDF_BUFFER_INIT;
    mldf_image_decoder *decoder = NULL;
    uint8_t record[IMAGE_RECORD];
    uint64_t seed = check_seed();
    mldf_error err;
    REQUIRE_OK(mldf_image_decoder_new(&decoder, &err), &err);
    for (int round = 0; round < 400; round++) {
        static const int scales[] = {1, 2, 4, 8};
        const struct kind *k = &kinds[check_rand(&seed) % KINDS];
        make(k, 1 + (uint32_t)(check_rand(&seed) % 150), 1 + (uint32_t)(check_rand(&seed) % 90), &jpeg);
        if (!pack(&jpeg, &packed, k->name))
            continue;
        fill_record(&jpeg, &packed, record);
        uint8_t *payload = malloc(packed.size);
        memcpy(payload, packed.data, packed.size);
        size_t from = check_rand(&seed) % 4 ? FAST_FIXED : 0;
        int style = (int)(check_rand(&seed) % 3);
        if (style == 0)
            payload[from + check_rand(&seed) % (packed.size - from)] ^= (uint8_t)(1u << check_rand(&seed) % 8);
        else
            for (size_t i = FAST_FIXED + 192 + 32; i + 100 < packed.size; i++)
                payload[i] = style == 1 ? (uint8_t)check_rand(&seed) : (uint8_t)(round % 2 ? 0 : 255);
        mldf_value value = {.kind = MLDF_KIND_BYTES,
                            .data = payload,
                            .bytes = packed.size,
                            .record = record,
                            .record_bytes = IMAGE_RECORD};
        mldf_image_options o = MLDF_IMAGE_OPTIONS_INIT;
        mldf_image_shape shape;
        o.scale = scales[round % 4];
        o.channels = 3;
        again.size = 0;
        (void)mldfi_fast_restore(payload, packed.size, MLDF_IMAGE_MAX_BYTES, &again, &err);
        if (mldf_image_value_shape(&value, &o, &shape, &err) == MLDF_OK) {
            uint8_t *first = malloc((size_t)shape.bytes), *other = malloc((size_t)shape.bytes);
            mldf_status before = MLDF_OK;
            for (size_t isa = 0; isa < ISA_COUNT; isa++) {
                const struct kernels *kernels = mldfi_kernels((enum isa)isa);
                if (!kernels)
                    continue;
                mldfi_image_decoder_use(decoder, kernels);
                mldf_status status =
                    mldf_image_value_decode(decoder, &value, &o, isa ? other : first, (size_t)shape.bytes, &err);
                if (isa == 0)
                    before = status;
                CHECK_EQ_INT(before, status);
                if (isa && status == MLDF_OK)
                    CHECK(memcmp(first, other, (size_t)shape.bytes) == 0);
            }
            free(first);
            free(other);
        }
        free(payload);
    }
    mldf_image_decoder_free(decoder);
    mldf_buffer_free(&jpeg);
    mldf_buffer_free(&packed);
    mldf_buffer_free(&again);
}

/* Every flipped bit of the record's own parts is found by making the file again, or gives another file. */
static void flipped_bits_are_noticed(void) {
    mldf_buffer jpeg = MLDF_BUFFER_INIT, packed = MLDF_BUFFER_INIT, again = MLDF_BUFFER_INIT;
    mldf_error err;
    make(&kinds[0], 40, 24, &jpeg);
    REQUIRE(pack(&jpeg, &packed, "flips"));
    for (size_t bit = 0; bit < packed.size * 8; bit++) {
        size_t at = bit / 8; /* colour, segments, flags and quantisers by component say nothing of the file's bytes */
        if (at == 3 || at == 4 || at == 5 || (at >= 42 && at < 45))
            continue;
        packed.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        again.size = 0;
        if (mldfi_fast_restore(packed.data, packed.size, MLDF_IMAGE_MAX_BYTES, &again, &err) == MLDF_OK &&
            again.size == jpeg.size && memcmp(again.data, jpeg.data, jpeg.size) == 0)
            check_fail(__FILE__, __LINE__, "bit %zu of byte %zu makes no difference", bit % 8, bit / 8);
        packed.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    mldf_buffer_free(&jpeg);
    mldf_buffer_free(&packed);
    mldf_buffer_free(&again);
}

static void fixed_part_is_checked(void) {
    static const struct {
        size_t at;
        uint8_t value;
        mldf_status status;
    } cases[] = {
        {0, 2, MLDF_E_FEATURE},  {1, 0, MLDF_E_FEATURE},   {1, 128, MLDF_E_FEATURE}, {2, 6, MLDF_E_FEATURE},
        {3, 3, MLDF_E_FEATURE},  {3, 2, MLDF_E_CORRUPT},   {4, 7, MLDF_E_CORRUPT},   {5, 4, MLDF_E_FEATURE},
        {6, 16, MLDF_E_CORRUPT}, {11, 16, MLDF_E_CORRUPT}, {12, 33, MLDF_E_CORRUPT}, {12, 0, MLDF_E_CORRUPT},
        {42, 1, MLDF_E_CORRUPT}, {45, 1, MLDF_E_CORRUPT},
    };
    mldf_buffer jpeg = MLDF_BUFFER_INIT, packed = MLDF_BUFFER_INIT;
    struct fast_layout layout;
    make(&kinds[0], 60, 40, &jpeg);
    REQUIRE(pack(&jpeg, &packed, "fixed part"));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t before = packed.data[cases[i].at];
        packed.data[cases[i].at] = cases[i].value;
        CHECK_EQ_INT(cases[i].status, mldfi_fast_parse(packed.data, packed.size, &layout, NULL));
        packed.data[cases[i].at] = before;
    }
    for (size_t bytes = 0; bytes < packed.size; bytes += 7)
        CHECK(mldfi_fast_parse(packed.data, bytes, &layout, NULL) < 0);
    mldf_buffer_free(&jpeg);
    mldf_buffer_free(&packed);
}

/* More than 4,096 segments: the record has checkpoints, which are compared with the index. */
static void checkpoints_are_checked(void) {
    static const size_t kind_of[2] = {3, 4}; /* 4:4:4 and gray */
    mldf_buffer jpeg = MLDF_BUFFER_INIT, packed = MLDF_BUFFER_INIT, again = MLDF_BUFFER_INIT;
    struct fast_layout layout;
    mldf_error err;
    for (size_t i = 0; i < 2; i++) {
        make(&kinds[kind_of[i]], 9, 33000, &jpeg);
        REQUIRE(pack(&jpeg, &packed, kinds[kind_of[i]].name));
        REQUIRE_OK(mldfi_fast_parse(packed.data, packed.size, &layout, &err), &err);
        REQUIRE(layout.checkpoints != NULL);
        again.size = 0;
        REQUIRE_OK(mldfi_fast_restore(packed.data, packed.size, MLDF_IMAGE_MAX_BYTES, &again, &err), &err);
        REQUIRE_EQ_U64(jpeg.size, again.size);
        CHECK(memcmp(jpeg.data, again.data, jpeg.size) == 0);
        size_t last = (size_t)(layout.index - packed.data) - 8;
        packed.data[last] ^= 1;
        CHECK_STATUS(MLDF_E_CORRUPT, mldfi_fast_restore(packed.data, packed.size, MLDF_IMAGE_MAX_BYTES, &again, &err),
                     &err);
        CHECK_CONTAINS("the checkpoint of MCU row 4124 in stream", err.message);
    }
    mldf_buffer_free(&jpeg);
    mldf_buffer_free(&packed);
    mldf_buffer_free(&again);
}

/* A frame that claims blocks of 25 GB which its scan cannot have: it is damaged, and that is known before memory is asked for. */
static void claims_take_no_memory(void) {
    mldf_buffer jpeg = MLDF_BUFFER_INIT, packed = MLDF_BUFFER_INIT;
    enum fast_reason reason = FAST_TAKEN;
    struct rlimit before, little;
    unsigned long pages = 0;
    mldf_error err = {0};
    make(&kinds[3], 23, 17, &jpeg);
    size_t frame = 2;
    while (frame + 9 < jpeg.size && !(jpeg.data[frame] == 0xff && jpeg.data[frame + 1] == 0xc0))
        frame++;
    memset(jpeg.data + frame + 5, 0xf0, 4); /* both sides */
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%lu", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    CHECK(getrlimit(RLIMIT_AS, &before) == 0);
    little = before;
    little.rlim_cur = pages * 4096ul + (256ul << 20);
    if (pages && little.rlim_cur < before.rlim_max) /* elsewhere the reason alone is looked at */
        CHECK(setrlimit(RLIMIT_AS, &little) == 0);
    mldf_status status = mldfi_fast_pack(jpeg.data, jpeg.size, 0, 100.0, &packed, &reason, &err);
    CHECK(setrlimit(RLIMIT_AS, &before) == 0);
    CHECK_EQ_U64(MLDF_OK, status);
    CHECK_EQ_U64(FAST_DAMAGED, reason);
    mldf_buffer_free(&jpeg);
    mldf_buffer_free(&packed);
}

/* Every code of the set is complete: no window without a word. */
static void codes_are_complete(void) {
    struct fast_code code;
    for (unsigned kind = 0; kind < FAST_STREAMS; kind++)
        for (unsigned i = 0; i < FAST_CODES; i++) {
            unsigned sum = 0, symbols = kind < 2 ? FAST_DC_SYMBOLS : FAST_AC_SYMBOLS;
            if (kind < 2)
                mldfi_fast_dc_code(kind, i, &code);
            else
                mldfi_fast_ac_code(kind - 2, i, &code);
            for (unsigned s = 0; s < symbols; s++) {
                CHECK(code.length[s] >= 1 && code.length[s] <= FAST_CODE_BITS);
                sum += 1u << (FAST_CODE_BITS - code.length[s]);
            }
            CHECK_EQ_U64(1u << FAST_CODE_BITS, sum);
        }
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(codes_are_complete);
    RUN(claims_take_no_memory);
    RUN(checkpoints_are_checked);
    RUN(bytes_come_back);
    RUN(fixed_part_is_checked);
    RUN(flipped_bits_are_noticed);
    RUN(pixels_equal_libjpeg);
    RUN(planes_are_the_same);
    RUN(damaged_payloads_are_safe);
    return check_end();
}
