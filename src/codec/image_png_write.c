/* Writing PNG through libspng: 1 to 4 channels of 8 or 16 bits. */
#include <inttypes.h>

#include <spng.h>

#include "codec/image.h"
#include "codec/memory.h"
#include "util/buffer.h"
#include "util/error.h"

static int write_bytes(spng_ctx *ctx, void *user, void *data, size_t bytes) {
    (void)ctx;
    return mldf_buffer_append(user, data, bytes, NULL) < 0 ? SPNG_IO_ERROR : 0;
}

/* spng takes it as char *, and only reads it. */
static int set_profile(spng_ctx *ctx, const void *icc, size_t icc_bytes) {
    struct spng_iccp iccp = {.profile_name = "ICC", .profile_len = icc_bytes, .profile = (char *)(uintptr_t)icc};
    return spng_set_iccp(ctx, &iccp);
}

mldf_status mldf_image_encode_png(const mldf_image_pixels *pixels, int level, mldf_buffer *out, mldf_error *err) {
    return mldfi_png_encode(pixels, level, NULL, 0, out, err);
}

mldf_status mldfi_png_encode(const mldf_image_pixels *pixels, int level, const void *icc, size_t icc_bytes,
                             mldf_buffer *out, mldf_error *err) {
    static const uint8_t types[] = {SPNG_COLOR_TYPE_GRAYSCALE, SPNG_COLOR_TYPE_GRAYSCALE_ALPHA,
                                    SPNG_COLOR_TYPE_TRUECOLOR, SPNG_COLOR_TYPE_TRUECOLOR_ALPHA};
    uint64_t row_bytes;
    TRY(mldfi_pixels_check(pixels, "mldf_image_encode_png", &row_bytes, err));
    if (!out || level < -1 || level > 9)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_image_encode_png: out is NULL or level %d is not one of -1 to 9",
                          level);
    struct spng_ihdr ihdr = {.width = pixels->width,
                             .height = pixels->height,
                             .bit_depth = (uint8_t)pixels->bits,
                             .color_type = types[pixels->channels - 1]};
    size_t before = out->size;
    mldfi_memory_watch();
    spng_ctx *ctx = spng_ctx_new(SPNG_CTX_ENCODER);
    if (!ctx)
        return mldfi_fail(err, MLDF_E_MEMORY, "no memory to encode a PNG");
    int code = spng_set_png_stream(ctx, write_bytes, out);
    if (!code)
        code = spng_set_option(ctx, SPNG_IMG_COMPRESSION_LEVEL, level);
    if (!code)
        code = spng_set_ihdr(ctx, &ihdr);
    if (!code && icc)
        code = set_profile(ctx, icc, icc_bytes);
    if (!code)
        code = spng_encode_image(ctx, pixels->data, (size_t)(row_bytes * pixels->height), SPNG_FMT_PNG,
                                 SPNG_ENCODE_FINALIZE);
    bool no_memory = code == SPNG_EMEM || code == SPNG_IO_ERROR || mldfi_memory_failed();
    spng_ctx_free(ctx);
    if (code) {
        out->size = before;
        return mldfi_fail(err, no_memory ? MLDF_E_MEMORY : MLDF_E_ARGUMENT,
                          "%" PRIu32 " x %" PRIu32 " pixels do not encode as PNG: %s", pixels->width, pixels->height,
                          spng_strerror(code));
    }
    return MLDF_OK;
}
