/* WebP through libwebp; the container is walked here, so that probing needs no library and an animation's first frame can be
 * found.
 *
 *     RIFF size WEBP · VP8X flags canvas · { ICCP | ANIM | EXIF | ... } · VP8 or VP8L, or ANMF frames
 *
 * Source: RFC 9649. */
#include <inttypes.h>
#include <string.h>

#ifdef MLDF_HAVE_WEBP
#include <webp/decode.h>
#endif

#include "codec/image.h"
#include "codec/memory.h"
#include "util/bytes.h"
#include "util/error.h"

/* What libwebp takes besides whole pixels: tables; for each column of a lossy image; rows of a lossless one. */
enum { SMALL_BLOCKS = 256 << 10, ROW_BYTES = 128, MORE_ROWS = 64 };
enum { RIFF_HEADER = 12, FLAG_ANIMATED = 2, FLAG_ALPHA = 16, FRAME_HEADER = 16 };

static bool webp_match(const uint8_t *data, size_t bytes) {
    return bytes >= RIFF_HEADER && memcmp(data, "RIFF", 4) == 0 && memcmp(data + 8, "WEBP", 4) == 0;
}

static uint32_t load24(const uint8_t *p) {
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16;
}

struct webp_chunk {
    const uint8_t *type, *body;
    size_t bytes; /* of the body that are there */
    bool whole;
};

/* False at the end. */
static bool next_chunk(const uint8_t *data, size_t bytes, size_t *at, struct webp_chunk *out) {
    if (*at > bytes || bytes - *at < 8)
        return false;
    size_t size = mldfi_load_u32(data + *at + 4), room = bytes - *at - 8;
    out->type = data + *at;
    out->body = out->type + 8;
    out->whole = size <= room;
    out->bytes = out->whole ? size : room;
    *at = size + size % 2 > room ? bytes : *at + 8 + size + size % 2;
    return true;
}

static bool is(const struct webp_chunk *chunk, const char *type) {
    return memcmp(chunk->type, type, 4) == 0;
}

static mldf_status cut(size_t bytes, mldf_error *err) {
    return mldfi_fail_at(err, MLDF_E_TRUNCATED, bytes, "the WebP file ends after %zu bytes, before its pixels", bytes);
}

/* Width, height and alpha from a bitstream's own header. False: it is no such header. */
static bool bitstream(const struct webp_chunk *chunk, uint32_t *width, uint32_t *height, bool *alpha) {
    const uint8_t *b = chunk->body;
    if (is(chunk, "VP8L") && chunk->bytes >= 5 && b[0] == 0x2f) {
        uint32_t word = mldfi_load_u32(b + 1);
        *width = (word & 0x3fff) + 1;
        *height = (word >> 14 & 0x3fff) + 1;
        *alpha = word >> 28 & 1;
        return true;
    }
    if (is(chunk, "VP8 ") && chunk->bytes >= 10 && b[3] == 0x9d && b[4] == 0x01 && b[5] == 0x2a) {
        *width = mldfi_load_u16(b + 6) & 0x3fff;
        *height = mldfi_load_u16(b + 8) & 0x3fff;
        *alpha = false;
        return true;
    }
    return false;
}

struct webp_layout {
    bool extended, animated, alpha;
    struct webp_chunk pixels; /* VP8, VP8L, or the first ANMF */
    uint32_t frames;          /* of an animation */
};

static void take_extended(const uint8_t *b, struct webp_layout *layout, mldf_image_info *out) {
    layout->extended = true;
    layout->animated = b[0] & FLAG_ANIMATED;
    layout->alpha = b[0] & FLAG_ALPHA;
    out->width = load24(b + 4) + 1;
    out->height = load24(b + 7) + 1;
}

static void take_metadata(const uint8_t *data, const struct webp_chunk *chunk, mldf_image_info *out) {
    uint64_t offset = (uint64_t)(chunk->body - data);
    if (is(chunk, "ICCP")) {
        out->icc_offset = offset;
        out->icc_bytes = chunk->bytes;
    } else if (is(chunk, "EXIF")) {
        /* Some writers keep JPEG's prefix. */
        size_t skip = chunk->bytes >= 6 && memcmp(chunk->body, "Exif\0\0", 6) == 0 ? 6 : 0;
        out->exif_offset = offset + skip;
        out->exif_bytes = chunk->bytes - skip;
        out->orientation = (uint8_t)mldfi_exif_orientation(chunk->body + skip, chunk->bytes - skip);
    }
}

static mldf_status walk(const uint8_t *data, size_t bytes, struct webp_layout *layout, mldf_image_info *out,
                        mldf_error *err) {
    struct webp_chunk chunk;
    size_t at = RIFF_HEADER;
    bool found = false, alpha = false;
    memset(layout, 0, sizeof *layout);
    while (next_chunk(data, bytes, &at, &chunk)) {
        uint32_t width = 0, height = 0;
        if (is(&chunk, "VP8X") && chunk.bytes >= 10 && !layout->extended && !found) {
            take_extended(chunk.body, layout, out);
        } else if (is(&chunk, "ANMF") && layout->animated) {
            if (!found)
                layout->pixels = chunk;
            found = true;
            layout->frames++;
        } else if ((is(&chunk, "VP8 ") || is(&chunk, "VP8L")) && !layout->animated && !found) {
            if (!bitstream(&chunk, &width, &height, &alpha))
                return chunk.whole ? mldfi_fail_at(err, MLDF_E_CORRUPT, (uint64_t)(chunk.body - data),
                                                   "a WebP whose pixels have no valid header")
                                   : cut(bytes, err);
            found = true;
            layout->pixels = chunk;
            if (!layout->extended) {
                layout->alpha = alpha;
                out->width = width;
                out->height = height;
                break; /* a simple file has nothing else */
            }
            if (width != out->width || height != out->height)
                return mldfi_fail_at(err, MLDF_E_CORRUPT, (uint64_t)(chunk.body - data),
                                     "a WebP whose canvas is %" PRIu32 " x %" PRIu32 " and whose image %" PRIu32
                                     " x %" PRIu32,
                                     out->width, out->height, width, height);
        } else {
            take_metadata(data, &chunk, out);
        }
    }
    return found ? MLDF_OK : cut(bytes, err);
}

static mldf_status webp_probe(const uint8_t *data, size_t bytes, mldf_image_info *out, mldf_error *err) {
    struct webp_layout layout;
    mldf_status status = walk(data, bytes, &layout, out, err);
    out->channels = layout.alpha ? 4 : 3;
    out->frames = layout.frames ? layout.frames : 1;
    return status;
}

#ifdef MLDF_HAVE_WEBP

/* libwebp calls an allocation that fails in a lossless stream damage (3), in a lossy one an abort by the user (6). */
static mldf_status fail(VP8StatusCode code, const struct image_job *job, mldf_error *err) {
    if (code == VP8_STATUS_OUT_OF_MEMORY || mldfi_memory_failed())
        return mldfi_fail(err, MLDF_E_MEMORY, "no memory to decode a WebP");
    if (code == VP8_STATUS_SUSPENDED || code == VP8_STATUS_NOT_ENOUGH_DATA)
        return mldfi_fail_at(err, MLDF_E_TRUNCATED, job->bytes, "the WebP ends inside its pixels, after %zu bytes",
                             job->bytes);
    return mldfi_fail(err, MLDF_E_CORRUPT, "the WebP does not decode (status %d of libwebp)", (int)code);
}

/* What libwebp will allocate, at most: whole pixels for a lossless stream and for an alpha plane, a few rows for a lossy one. */
static mldf_status check_memory(const WebPBitstreamFeatures *input, const struct image_job *job, mldf_error *err) {
    size_t width = (size_t)input->width, height = (size_t)input->height;
    bool rows = input->format == 1 && !input->has_alpha; /* 1: lossy */
    size_t largest = rows ? width * ROW_BYTES : width * (height + MORE_ROWS) * 4;
    if (!rows && width * height * 4 > job->options.max_bytes)
        return mldfi_fail(err, MLDF_E_LIMIT, "decoding a WebP needs %zu bytes, more than the limit of %" PRIu64,
                          width * height * 4, job->options.max_bytes);
    return mldfi_memory_probe(SMALL_BLOCKS + largest, "WebP", err);
}

/* `bytes` of data, a file or an animation's frame, into a part of the canvas. */
static mldf_status decode_into(const uint8_t *data, size_t bytes, uint32_t width, uint32_t height, uint8_t *pixels,
                               size_t stride, const struct image_job *job, mldf_error *err) {
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config))
        return mldfi_fail(err, MLDF_E_UNSUPPORTED, "libwebp is of another version than its header");
    mldfi_memory_watch();
    VP8StatusCode code = WebPGetFeatures(data, bytes, &config.input);
    if (code != VP8_STATUS_OK)
        return fail(code, job, err);
    if ((uint32_t)config.input.width != width || (uint32_t)config.input.height != height)
        return mldfi_fail(err, MLDF_E_CORRUPT, "a WebP frame of %d x %d pixels where %" PRIu32 " x %" PRIu32 " belong",
                          config.input.width, config.input.height, width, height);
    config.output.colorspace = job->sink.channels == 4 ? MODE_RGBA : MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = pixels;
    config.output.u.RGBA.stride = (int)stride;
    config.output.u.RGBA.size = stride * (height - 1) + (size_t)width * job->sink.channels;
    TRY(check_memory(&config.input, job, err));
    code = WebPDecode(data, bytes, &config);
    WebPFreeDecBuffer(&config.output); /* of nothing: the memory is ours */
    bool enough = code == VP8_STATUS_NOT_ENOUGH_DATA && job->options.tolerant && !mldfi_memory_failed();
    return code == VP8_STATUS_OK || enough ? MLDF_OK : fail(code, job, err);
}

/* ANMF: x / 2, y / 2, width - 1, height - 1, duration, each 24 bits, flags; then the frame's chunks. */
static mldf_status decode_frame(const struct webp_chunk *frame, uint8_t *canvas, size_t stride,
                                const struct image_job *job, mldf_error *err) {
    if (frame->bytes < FRAME_HEADER)
        return cut(job->bytes, err);
    uint32_t x = load24(frame->body) * 2, y = load24(frame->body + 3) * 2;
    uint32_t width = load24(frame->body + 6) + 1, height = load24(frame->body + 9) + 1;
    if (!mldfi_range_inside(x, width, job->full_width) || !mldfi_range_inside(y, height, job->full_height))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, (uint64_t)(frame->body - job->data),
                             "a WebP frame outside its canvas");
    return decode_into(frame->body + FRAME_HEADER, frame->bytes - FRAME_HEADER, width, height,
                       canvas + y * stride + (size_t)x * job->sink.channels, stride, job, err);
}

static mldf_status webp_decode(struct image_job *job, mldf_error *err) {
    struct webp_layout layout;
    mldf_image_info unused = *job->info;
    size_t stride = (size_t)job->full_width * job->sink.channels;
    bool whole = job->width == job->full_width && job->height == job->full_height;
    uint8_t *canvas = whole ? mldfi_sink_place(&job->sink, 0) : NULL;
    bool direct = canvas != NULL;
    mldf_status status = walk(job->data, job->bytes, &layout, &unused, err);
    if (status == MLDF_OK && !direct)
        status = mldfi_image_work(job, (uint64_t)stride * job->full_height, &canvas, err);
    if (status < 0)
        return status;
    if (layout.animated || job->options.tolerant)
        memset(canvas, 0, stride * job->full_height); /* transparent where the first frame does not reach */
    status = layout.animated
                 ? decode_frame(&layout.pixels, canvas, stride, job, err)
                 : decode_into(job->data, job->bytes, job->full_width, job->full_height, canvas, stride, job, err);
    for (uint32_t y = 0; status == MLDF_OK && !direct && y < job->height; y++)
        mldfi_sink_row(&job->sink, y, canvas + (job->y + y) * stride + (size_t)job->x * job->sink.channels);
    return status;
}

#else

static mldf_status webp_decode(struct image_job *job, mldf_error *err) {
    (void)job;
    return mldfi_fail(err, MLDF_E_UNSUPPORTED, "this build has no libwebp: a WebP image cannot be decoded");
}

#endif

const struct image_codec mldfi_codec_webp = {
    .mode = MLDF_IMAGE_MODE_WEBP,
    .name = "webp",
    .match = webp_match,
    .probe = webp_probe,
    .decode = webp_decode,
};
