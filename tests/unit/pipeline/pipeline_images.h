/* Images in memory as a plan's feed has them: raw and JPEG, of many sizes, with the record that a file would hold. */
#ifndef MLDF_TESTS_PIPELINE_PIPELINE_IMAGES_H
#define MLDF_TESTS_PIPELINE_PIPELINE_IMAGES_H

#include "check.h"
#include "field/image_type.h"
#include "pipeline/plan.h"
#include "util/bytes.h"

enum { IMAGES = 12 };

struct images {
    uint8_t records[IMAGES][IMAGE_RECORD];
    mldf_buffer data[IMAGES];
    int64_t labels[IMAGES];
    mldf_schema *schema;
    struct value_bounds bounds[2];
};

/* Smooth colours with some texture: what JPEG is made for, and every value occurs. */
CHECK_UNUSED static void image_pixels(uint8_t *p, uint32_t width, uint32_t height, uint32_t channels, uint32_t seed) {
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++)
            for (uint32_t c = 0; c < channels; c++)
                *p++ = (uint8_t)((x * (3 + c) + y * (5 - c) + seed * 37 + ((x * y * (seed + c)) >> 5)) & 255);
}

/* Sizes from 1 x 1 to 260 x 203; odd ones are JPEG unless raw_only. */
CHECK_UNUSED static bool images_begin(struct images *all, uint32_t channels, bool raw_only) {
    static const uint32_t sizes[IMAGES][2] = {{1, 1},   {7, 5},   {16, 16}, {33, 31},   {64, 48},   {100, 75},
                                              {75, 99}, {128, 8}, {9, 131}, {160, 160}, {200, 150}, {260, 203}};
    uint64_t most[2] = {0, 0}, least[2] = {UINT64_MAX, UINT64_MAX};
    memset(all, 0, sizeof *all);
    for (uint32_t i = 0; i < IMAGES; i++) {
        uint32_t width = sizes[i][0], height = sizes[i][1];
        bool jpeg = i % 2 == 1 && !raw_only;
        mldf_buffer pixels = MLDF_BUFFER_INIT;
        if (mldf_buffer_reserve(&pixels, (size_t)width * height * channels, NULL) < 0)
            return false;
        pixels.size = (size_t)width * height * channels;
        image_pixels(pixels.data, width, height, channels, i);
        if (jpeg) {
            mldf_image_pixels source = {pixels.data, width, height, channels, 8};
            if (mldf_image_encode_jpeg(&source, NULL, &all->data[i], NULL) < 0)
                return false;
            mldf_buffer_free(&pixels);
        } else {
            all->data[i] = pixels;
        }
        uint8_t *r = all->records[i];
        mldfi_store_u32(r + IMAGE_SIZE, (uint32_t)all->data[i].size);
        mldfi_store_u16(r + IMAGE_HEIGHT, (uint16_t)height);
        mldfi_store_u16(r + IMAGE_WIDTH, (uint16_t)width);
        r[IMAGE_CHANNELS] = (uint8_t)channels;
        r[IMAGE_MODE] = jpeg ? MLDF_IMAGE_MODE_JPEG : MLDF_IMAGE_MODE_RAW;
        r[IMAGE_BITS] = 8;
        all->labels[i] = i % 10;
        uint64_t sides[2] = {height, width};
        for (int k = 0; k < 2; k++) {
            most[k] = sides[k] > most[k] ? sides[k] : most[k];
            least[k] = sides[k] < least[k] ? sides[k] : least[k];
        }
    }
    if (mldf_schema_new(NULL, &all->schema, NULL) < 0 ||
        mldf_schema_add(all->schema, "image", MLDF_IMAGE, NULL, 0, NULL) < 0 ||
        mldf_schema_add(all->schema, "label", MLDF_INT, NULL, 0, NULL) < 0)
        return false;
    all->bounds[0] = (struct value_bounds){.known = true,
                                           .ndim = 3,
                                           .least = {least[0], least[1], channels},
                                           .most = {most[0], most[1], channels},
                                           .image = {8, true, false}};
    return true;
}

CHECK_UNUSED static void images_end(struct images *all) {
    for (int i = 0; i < IMAGES; i++)
        mldf_buffer_free(&all->data[i]);
    mldf_schema_free(all->schema);
}

/* Position p is sample p modulo IMAGES. */
CHECK_UNUSED static mldf_status images_get(void *user, uint64_t position, size_t field, mldf_buffer *scratch,
                                           mldf_value *out, mldf_error *err) {
    struct images *all = user;
    size_t i = (size_t)(position % IMAGES);
    (void)scratch, (void)err;
    memset(out, 0, sizeof *out);
    if (field == 1) {
        out->kind = MLDF_KIND_INT;
        out->dtype = MLDF_I64;
        out->as.i = all->labels[i];
        return MLDF_OK;
    }
    out->kind = MLDF_KIND_BYTES;
    out->data = all->data[i].data;
    out->bytes = all->data[i].size;
    out->record = all->records[i];
    out->record_bytes = IMAGE_RECORD;
    return MLDF_OK;
}

#endif
