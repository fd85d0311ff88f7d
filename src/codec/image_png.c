/* PNG through libspng: rows come one by one, so a region costs one row of memory and stops at its last row; an interlaced file is
 * decoded whole. Source: PNG, third edition (W3C). image_png_write.c encodes. */
#include <inttypes.h>
#include <string.h>

#include <spng.h>

#include "codec/image.h"
#include "codec/memory.h"
#include "util/buffer.h"
#include "util/error.h"

enum { SIGNATURE = 8, HEADER_END = 33, CHUNK_FRAME = 12 };
enum { GRAY = 0, RGB = 2, PALETTE = 3, GRAY_ALPHA = 4, RGB_ALPHA = 6 }; /* colour types */

static bool png_match(const uint8_t *data, size_t bytes) {
    return bytes >= SIGNATURE && memcmp(data, "\x89PNG\r\n\x1a\n", SIGNATURE) == 0;
}

static mldf_status cut(size_t bytes, mldf_error *err) {
    return mldfi_fail_at(err, MLDF_E_TRUNCATED, bytes, "the PNG file ends after %zu bytes, before its pixels", bytes);
}

/* ---- Probing --------------------------------------------------------------------------------------------------------- */

static mldf_status take_header(const uint8_t *ihdr, mldf_image_info *out, mldf_error *err) {
    unsigned depth = ihdr[8], type = ihdr[9];
    static const uint8_t channels[] = {1, 0, 3, 3, 2, 0, 4};
    bool power = depth == 1 || depth == 2 || depth == 4 || depth == 8 || depth == 16;
    bool known = type <= RGB_ALPHA && channels[type] != 0 && power && !(depth < 8 && type != GRAY && type != PALETTE) &&
                 !(depth == 16 && type == PALETTE);
    if (!known)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, 24, "a PNG of colour type %u with %u bits", type, depth);
    out->width = mldfi_be32(ihdr);
    out->height = mldfi_be32(ihdr + 4);
    if (out->width > INT32_MAX || out->height > INT32_MAX)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, 16, "a PNG of %" PRIu32 " x %" PRIu32 " pixels", out->width,
                             out->height);
    out->channels = channels[type];
    out->bits = depth == 16 ? 16 : 8;
    out->color = type == PALETTE ? MLDF_IMAGE_PALETTE : MLDF_IMAGE_BY_CHANNELS;
    out->progressive = ihdr[12] == 1;
    return MLDF_OK;
}

static void take_chunk(const uint8_t *data, size_t at, uint32_t length, mldf_image_info *out) {
    const uint8_t *body = data + at + 8;
    if (memcmp(body - 4, "tRNS", 4) == 0) {
        if (out->channels == 1 || out->channels == 3)
            out->channels++;
    } else if (memcmp(body - 4, "eXIf", 4) == 0) {
        out->exif_offset = at + 8;
        out->exif_bytes = length;
        out->orientation = (uint8_t)mldfi_exif_orientation(body, length);
    } else if (memcmp(body - 4, "iCCP", 4) == 0) {
        const uint8_t *name_end = length ? memchr(body, 0, length < 80 ? length : 80) : NULL;
        size_t skip = name_end ? (size_t)(name_end - body) + 2 : 0; /* name, NUL, method */
        if (skip && skip <= length) {
            out->icc_offset = at + 8 + skip;
            out->icc_bytes = length - skip;
        }
    } else if (memcmp(body - 4, "acTL", 4) == 0 && length >= 4) {
        uint32_t frames = mldfi_be32(body);
        out->frames = frames ? frames : 1;
    }
}

static mldf_status png_probe(const uint8_t *data, size_t bytes, mldf_image_info *out, mldf_error *err) {
    if (bytes < HEADER_END)
        return cut(bytes, err);
    if (mldfi_be32(data + 8) != 13 || memcmp(data + 12, "IHDR", 4) != 0)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, 8, "a PNG whose first chunk is not IHDR");
    mldf_status status = take_header(data + 16, out, err);
    for (size_t at = HEADER_END; status == MLDF_OK;) {
        if (bytes - at < 8)
            return cut(bytes, err);
        uint32_t length = mldfi_be32(data + at);
        if (length > INT32_MAX)
            return mldfi_fail_at(err, MLDF_E_CORRUPT, at, "a PNG chunk of %" PRIu32 " bytes", length);
        if (memcmp(data + at + 4, "IDAT", 4) == 0)
            break;
        if (memcmp(data + at + 4, "IEND", 4) == 0)
            return mldfi_fail_at(err, MLDF_E_CORRUPT, at, "a PNG without pixels");
        if (bytes - at < (size_t)length + CHUNK_FRAME)
            return cut(bytes, err);
        take_chunk(data, at, length, out);
        at += (size_t)length + CHUNK_FRAME;
    }
    return status;
}

/* ---- Decoding -------------------------------------------------------------------------------------------------------- */

static mldf_status no_memory(mldf_error *err) {
    return mldfi_fail(err, MLDF_E_MEMORY, "no memory to decode a PNG");
}

/* libspng calls zlib's lack of memory an error of the stream; errno knows better. */
static bool out_of_memory(int code) {
    return code == SPNG_EMEM || mldfi_memory_failed();
}

static mldf_status fail(int code, const struct image_job *job, mldf_error *err) {
    if (out_of_memory(code))
        return no_memory(err);
    switch (code) {
    case SPNG_ECHUNK_LIMITS:
    case SPNG_EUSER_WIDTH:
    case SPNG_EUSER_HEIGHT:
        return mldfi_fail(err, MLDF_E_LIMIT, "the PNG passes a limit: %s", spng_strerror(code));
    case SPNG_IO_EOF:
        return mldfi_fail_at(err, MLDF_E_TRUNCATED, job->bytes, "the PNG ends inside its pixels, after %zu bytes",
                             job->bytes);
    default:
        return mldfi_fail(err, MLDF_E_CORRUPT, "the PNG does not decode: %s", spng_strerror(code));
    }
}

/* The format that gives the channels and bits which the probe promised. */
static int row_format(const struct spng_ihdr *ihdr, const mldf_image_info *info, int *flags) {
    bool transparent = info->channels == 2 || info->channels == 4;
    *flags = 0;
    if (ihdr->color_type == GRAY_ALPHA || ihdr->color_type == RGB_ALPHA)
        return SPNG_FMT_PNG;
    *flags = transparent ? SPNG_DECODE_TRNS : 0;
    if (ihdr->color_type == GRAY)
        return info->bits == 16 ? (transparent ? SPNG_FMT_GA16 : SPNG_FMT_PNG)
                                : (transparent ? SPNG_FMT_GA8 : SPNG_FMT_G8);
    if (info->bits == 16)
        return transparent ? SPNG_FMT_RGBA16 : SPNG_FMT_PNG;
    return transparent ? SPNG_FMT_RGBA8 : SPNG_FMT_RGB8;
}

static mldf_status decode_interlaced(spng_ctx *ctx, int format, int flags, size_t row_bytes, size_t pixel,
                                     struct image_job *job, mldf_error *err) {
    uint8_t *all;
    size_t bytes;
    int code = spng_decoded_image_size(ctx, format, &bytes);
    if (code || bytes != row_bytes * job->full_height)
        return fail(code ? code : SPNG_EINTERNAL, job, err);
    TRY(mldfi_image_work(job, bytes, &all, err));
    mldfi_memory_watch();
    if (job->options.tolerant)
        memset(all, 0, bytes);
    code = spng_decode_image(ctx, all, bytes, format, flags);
    if (code && (!job->options.tolerant || out_of_memory(code)))
        return fail(code, job, err);
    for (uint32_t y = 0; y < job->height; y++)
        mldfi_sink_row(&job->sink, y, all + (job->y + y) * row_bytes + job->x * pixel);
    return MLDF_OK;
}

static mldf_status decode_rows(spng_ctx *ctx, int format, int flags, size_t row_bytes, size_t pixel,
                               struct image_job *job, mldf_error *err) {
    uint8_t *row;
    TRY(mldfi_image_work(job, row_bytes, &row, err));
    mldfi_memory_watch();
    bool direct = job->sink.direct && job->width == job->full_width;
    int code = spng_decode_image(ctx, NULL, 0, format, flags | SPNG_DECODE_PROGRESSIVE);
    for (uint32_t y = 0; y < job->y + job->height; y++) {
        uint8_t *target = direct && y >= job->y ? mldfi_sink_place(&job->sink, y - job->y) : row;
        if (code == 0)
            code = spng_decode_row(ctx, target, row_bytes);
        if (code == SPNG_EOI && y + 1 == job->full_height)
            code = 0;
        if (code && (!job->options.tolerant || out_of_memory(code)))
            return fail(code, job, err);
        if (code)
            memset(target, 0, row_bytes);
        if (target == row && y >= job->y)
            mldfi_sink_row(&job->sink, y - job->y, row + job->x * pixel);
    }
    return MLDF_OK;
}

static mldf_status png_decode(struct image_job *job, mldf_error *err) {
    struct spng_ihdr ihdr;
    int flags, code = 0;
    mldfi_memory_watch();
    spng_ctx *ctx = spng_ctx_new(0);
    if (!ctx)
        return no_memory(err);
    size_t chunk = job->options.max_chunk > SIZE_MAX / 2 ? SIZE_MAX / 2 : (size_t)job->options.max_chunk;
    code = spng_set_crc_action(ctx, SPNG_CRC_ERROR, SPNG_CRC_DISCARD);
    if (!code)
        code = spng_set_chunk_limits(ctx, chunk, chunk);
    if (!code)
        code = spng_set_png_buffer(ctx, job->data, job->bytes);
    if (!code)
        code = spng_get_ihdr(ctx, &ihdr);
    mldf_status status = code ? fail(code, job, err) : MLDF_OK;
    if (status == MLDF_OK) {
        int format = row_format(&ihdr, job->info, &flags);
        size_t pixel = (size_t)job->info->channels * (job->info->bits / 8), row_bytes = job->full_width * pixel;
        status = ihdr.interlace_method ? decode_interlaced(ctx, format, flags, row_bytes, pixel, job, err)
                                       : decode_rows(ctx, format, flags, row_bytes, pixel, job, err);
    }
    spng_ctx_free(ctx);
    return status;
}

/* ---- Dropping -------------------------------------------------------------------------------------------------------- */

static bool chunk_dropped(const uint8_t *type, unsigned drop) {
    static const char other[][5] = {"tEXt", "zTXt", "iTXt", "tIME"};
    if (memcmp(type, "eXIf", 4) == 0)
        return drop & MLDF_JPEG_DROP_EXIF;
    if (memcmp(type, "iCCP", 4) == 0)
        return drop & MLDF_JPEG_DROP_ICC;
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
        if (memcmp(type, other[i], 4) == 0)
            return drop & MLDF_JPEG_DROP_OTHER;
    return false;
}

mldf_status mldfi_png_strip(const uint8_t *data, size_t bytes, unsigned drop, mldf_buffer *out, mldf_error *err) {
    size_t before = out->size, at = SIGNATURE;
    mldf_status status = mldf_buffer_append(out, data, SIGNATURE, err);
    while (status == MLDF_OK && at < bytes) {
        if (bytes - at < 8 || bytes - at - 8 < (size_t)mldfi_be32(data + at) + 4) {
            status = cut(bytes, err);
            break;
        }
        size_t whole = (size_t)mldfi_be32(data + at) + CHUNK_FRAME;
        if (!chunk_dropped(data + at + 4, drop))
            status = mldf_buffer_append(out, data + at, whole, err);
        bool end = memcmp(data + at + 4, "IEND", 4) == 0;
        at += whole;
        if (end)
            break;
    }
    if (status < 0)
        out->size = before;
    return status;
}

const struct image_codec mldfi_codec_png = {
    .mode = MLDF_IMAGE_MODE_PNG,
    .name = "png",
    .match = png_match,
    .probe = png_probe,
    .decode = png_decode,
};
