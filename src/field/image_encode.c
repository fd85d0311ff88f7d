/* From a caller's image to a payload and its record. Bytes stay as they are unless the arguments ask for more; then the image
 * is decoded, turned, resized and encoded:
 *
 *     file's bytes ─┬─ keep ─────────── [baseline, without ICC] ─────────────┬─ payload
 *                   └─ decode ─┐                                             │
 *     array ───────────────────┴─ [resize] ─ choose ─ raw, JPEG, PNG, YUV ───┘
 *
 * With "fast-jpeg", a JPEG that is kept or made becomes a fast JPEG at the end.
 *
 * A JPEG or PNG that is made anew has the colour profile of the file it is made from, unless the arguments say otherwise. */
#include <inttypes.h>
#include <string.h>

#include <stdatomic.h>
#include <xxhash.h>

#include "codec/fast_jpeg.h"
#include "codec/image.h"
#include "field/image_type.h"
#include "kernel/yuv.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

struct image_input {
    const struct image_state *s;
    const uint8_t *data; /* as given */
    uint64_t bytes;
    bool is_array;
    mldf_image_info info; /* of what is given; then of what is stored */
    uint64_t hash;
    struct image_worker *worker;
    size_t icc_bytes; /* in worker->icc; 0: none */
};

/* ---- What is given ---------------------------------------------------------------------------------------------------- */

static mldf_status take_array(struct image_input *p, const mldf_value *v, mldf_error *err) {
    uint64_t channels = v->ndim == 3 ? v->dims[2] : 1;
    if (v->dtype != MLDF_U8 && v->dtype != MLDF_U16)
        return mldfi_fail(err, MLDF_E_TYPE, "an array of %s; an image is of |u1 or <u2",
                          v->dtype == MLDF_DTYPE_NONE ? "no dtype" : mldf_dtype_name(v->dtype));
    if ((v->ndim != 2 && v->ndim != 3) || channels < 1 || channels > 4)
        return mldfi_fail(err, MLDF_E_TYPE,
                          "an array of %" PRIu32 " dimensions%s; an image has [height, width] or "
                          "[height, width, 1 to 4]",
                          v->ndim, v->ndim == 3 ? " and another number of channels" : "");
    if (v->dims[0] == 0 || v->dims[1] == 0 || v->dims[0] > UINT32_MAX || v->dims[1] > UINT32_MAX)
        return mldfi_fail(err, MLDF_E_RANGE, "an image of %" PRIu64 " x %" PRIu64 " pixels", v->dims[1], v->dims[0]);
    p->info.mode = MLDF_IMAGE_MODE_RAW;
    p->info.height = (uint32_t)v->dims[0];
    p->info.width = (uint32_t)v->dims[1];
    p->info.channels = (uint8_t)channels;
    p->info.bits = v->dtype == MLDF_U16 ? 16 : 8;
    p->info.frames = 1;
    if (v->bytes != mldfi_image_raw_bytes(&p->info))
        return mldfi_fail(err, MLDF_E_RANGE, "%" PRIu64 " bytes, and the image's shape needs %" PRIu64, v->bytes,
                          mldfi_image_raw_bytes(&p->info));
    p->is_array = true;
    return MLDF_OK;
}

static mldf_status take(struct image_input *p, const mldf_value *v, mldf_error *err) {
    mldf_status status = mldfi_check_data(v, err);
    p->data = v->data;
    p->bytes = v->bytes;
    if (status < 0)
        return status;
    if (v->kind == MLDF_KIND_ARRAY)
        return take_array(p, v, err);
    if (v->kind != MLDF_KIND_BYTES)
        return mldfi_wrong_kind(v, "an image file's bytes or an array", err);
    if (v->bytes > SIZE_MAX)
        return mldfi_fail(err, MLDF_E_RANGE, "an image file of %" PRIu64 " bytes", v->bytes);
    status = mldfi_image_probe(v->data, (size_t)v->bytes, &p->info, err);
    if (status < 0 && err)
        err->offset = MLDF_NONE; /* of the image, not of a file of ours; the message has it */
    return status;
}

/* ---- What is to be done -------------------------------------------------------------------------------------------------- */

/* Sides after max_resolution and min_resolution: the longer one at most the first, the shorter at most the second, rounded down
 * like FFCV; never enlarged. */
static void target_size(const struct image_state *s, uint32_t width, uint32_t height, uint32_t *out_width,
                        uint32_t *out_height) {
    uint64_t longer = width > height ? width : height, shorter = width < height ? width : height;
    uint64_t num = 1, den = 1;
    if (s->max_resolution && longer > s->max_resolution) {
        num = s->max_resolution;
        den = longer;
    }
    if (s->min_resolution && shorter > s->min_resolution && s->min_resolution * den < num * shorter) {
        num = s->min_resolution;
        den = shorter;
    }
    uint64_t w = width * num / den, h = height * num / den;
    *out_width = w ? (uint32_t)w : 1;
    *out_height = h ? (uint32_t)h : 1;
}

static bool turned(const struct image_input *p) {
    return p->s->apply_orientation && p->info.orientation > 1;
}

static bool resized(const struct image_input *p) {
    uint32_t width, height;
    target_size(p->s, p->info.width, p->info.height, &width, &height);
    return width != p->info.width || height != p->info.height;
}

static bool drawn(const struct image_input *p) {
    return (double)(p->hash >> 11) * (1.0 / 9007199254740992.0) < p->s->probability;
}

/* How the result is stored when it is made from pixels. */
static mldf_image_mode choose(const struct image_input *p, uint64_t raw_bytes) {
    static const mldf_image_mode by_type[] = {MLDF_IMAGE_MODE_RAW, MLDF_IMAGE_MODE_JPEG, MLDF_IMAGE_MODE_PNG};
    switch (p->s->encode) {
    case ENCODE_JPEG:
        return MLDF_IMAGE_MODE_JPEG;
    case ENCODE_RAW:
        return MLDF_IMAGE_MODE_RAW;
    case ENCODE_YUV420:
        return MLDF_IMAGE_MODE_YUV420;
    case ENCODE_SMART:
        return raw_bytes > p->s->smart_threshold ? MLDF_IMAGE_MODE_JPEG : MLDF_IMAGE_MODE_RAW;
    case ENCODE_PROPORTION:
        return drawn(p) ? MLDF_IMAGE_MODE_JPEG : MLDF_IMAGE_MODE_RAW;
    case ENCODE_FAST_JPEG:
        if (p->s->quality_given)
            return MLDF_IMAGE_MODE_JPEG;
        break;
    case ENCODE_KEEP:
        break;
    }
    if (p->s->id != MLDF_IMAGE)
        return by_type[p->s->id - MLDF_IMAGE_RAW];
    if (p->is_array)
        return MLDF_IMAGE_MODE_RAW;
    return p->info.mode == MLDF_IMAGE_MODE_JPEG ? MLDF_IMAGE_MODE_JPEG : MLDF_IMAGE_MODE_PNG;
}

/* May the given bytes be the payload? smart and proportion keep a JPEG that they would have made a JPEG. */
static bool kept(const struct image_input *p, uint64_t raw_bytes) {
    bool chosen_jpeg = (p->s->encode == ENCODE_SMART || p->s->encode == ENCODE_PROPORTION) &&
                       p->info.mode == MLDF_IMAGE_MODE_JPEG && choose(p, raw_bytes) == MLDF_IMAGE_MODE_JPEG;
    bool fast = p->s->encode == ENCODE_FAST_JPEG && (p->info.mode == MLDF_IMAGE_MODE_JPEG || !p->s->quality_given);
    return !p->is_array && (p->s->encode == ENCODE_KEEP || chosen_jpeg || fast) && !turned(p) && !resized(p);
}

static mldf_status check_type(const struct image_input *p, mldf_error *err) {
    static const char *const wants[] = {"raw pixels", "JPEG files", "PNG files"};
    static const mldf_image_mode modes[] = {MLDF_IMAGE_MODE_RAW, MLDF_IMAGE_MODE_JPEG, MLDF_IMAGE_MODE_PNG};
    bool made = p->s->encode != ENCODE_KEEP && (p->s->encode != ENCODE_FAST_JPEG || p->s->quality_given);
    if (p->s->id == MLDF_IMAGE || p->is_array || made)
        return MLDF_OK;
    unsigned i = p->s->id - MLDF_IMAGE_RAW;
    if (p->info.mode == modes[i])
        return MLDF_OK;
    return mldfi_fail(err, MLDF_E_TYPE, "a %s file, and this field holds %s; use the type \"image\"%s",
                      mldf_image_mode_name(p->info.mode), wants[i],
                      i == 0   ? " or \"encode\":\"raw\""
                      : i == 1 ? " or \"encode\":\"jpeg\""
                               : "");
}

/* ---- Doing it ---------------------------------------------------------------------------------------------------------- */

static mldf_status keep(struct image_input *p, mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes,
                        mldf_error *err) {
    bool jpeg = p->info.mode == MLDF_IMAGE_MODE_JPEG, png = p->info.mode == MLDF_IMAGE_MODE_PNG;
    unsigned drop = p->s->icc != ICC_KEEP && p->info.icc_bytes ? MLDF_JPEG_DROP_ICC : 0;
    mldf_status status = MLDF_OK;
    *payload = p->data;
    *payload_bytes = p->bytes;
    scratch->size = 0;
    if (jpeg && p->s->baseline && p->info.progressive)
        status = mldf_image_to_baseline(p->data, (size_t)p->bytes, drop, scratch, err);
    else if (drop && (jpeg || png))
        status = mldf_image_strip(p->data, (size_t)p->bytes, drop, scratch, err);
    else
        return MLDF_OK;
    *payload = scratch->data;
    *payload_bytes = scratch->size;
    return status;
}

/* The pixels that will be encoded, from the array or decoded. */
static mldf_status get_pixels(struct image_input *p, mldf_image_pixels *out, mldf_error *err) {
    mldf_image_options o = MLDF_IMAGE_OPTIONS_INIT;
    *out = (mldf_image_pixels){p->data, p->info.width, p->info.height, p->info.channels, p->info.bits};
    if (p->is_array) {
        if (p->info.bits == 8 || (uintptr_t)p->data % 2 == 0)
            return MLDF_OK;
        p->worker->pixels.size = 0;
        mldf_status status = mldf_buffer_append(&p->worker->pixels, p->data, (size_t)p->bytes, err);
        out->data = p->worker->pixels.data;
        return status;
    }
    o.orient = turned(p);
    o.bits = p->s->encode == ENCODE_YUV420 ? 8 : 0;
    return mldfi_image_decode_to(&p->worker->decoder, p->data, (size_t)p->bytes, &o, &p->worker->pixels, out, err);
}

static mldf_status resize(struct image_input *p, mldf_image_pixels *pixels, mldf_error *err) {
    uint32_t width, height;
    target_size(p->s, pixels->width, pixels->height, &width, &height);
    if (width == pixels->width && height == pixels->height)
        return MLDF_OK;
    size_t bytes = (size_t)width * height * pixels->channels * (pixels->bits / 8);
    mldf_buffer *to = &p->worker->resized;
    to->size = 0;
    mldf_status status = mldfi_buffer_resize(to, bytes, err);
    if (status == MLDF_OK)
        status = mldf_image_resize(pixels, width, height, MLDF_IMAGE_AREA, &p->worker->work, to->data, bytes, err);
    *pixels = (mldf_image_pixels){to->data, width, height, pixels->channels, pixels->bits};
    return status;
}

/* The profile of the file, where it is one for these pixels. A damaged one is left out. */
static mldf_status get_profile(struct image_input *p, uint32_t channels, mldf_error *err) {
    if (p->is_array || p->s->icc != ICC_KEEP || p->info.icc_bytes == 0)
        return MLDF_OK;
    mldf_buffer *icc = &p->worker->icc;
    icc->size = 0;
    mldf_status status = mldf_image_icc(p->data, (size_t)p->bytes, icc, err);
    if (status == MLDF_OK && mldfi_icc_fits(icc->data, icc->size, channels))
        p->icc_bytes = icc->size;
    return status < 0 ? status : MLDF_OK;
}

static mldf_status store(struct image_input *p, const mldf_image_pixels *pixels, mldf_buffer *scratch,
                         const void **payload, uint64_t *payload_bytes, mldf_error *err) {
    uint64_t raw = (uint64_t)pixels->width * pixels->height * pixels->channels * (pixels->bits / 8);
    mldf_jpeg_options jpeg = MLDF_JPEG_OPTIONS_INIT;
    mldf_image_mode mode = choose(p, raw);
    mldf_status status = get_profile(p, pixels->channels, err);
    if (status < 0)
        return status;
    scratch->size = 0;
    jpeg.icc = p->icc_bytes ? p->worker->icc.data : NULL;
    jpeg.icc_bytes = p->icc_bytes;
    jpeg.quality = p->s->quality;
    jpeg.subsampling = p->s->subsampling;
    p->info.color = MLDF_IMAGE_BY_CHANNELS;
    p->info.mode = mode;
    p->info.width = pixels->width;
    p->info.height = pixels->height;
    p->info.channels = (uint8_t)pixels->channels;
    p->info.bits = (uint8_t)pixels->bits;
    if (mode == MLDF_IMAGE_MODE_JPEG) {
        status = mldfi_jpeg_encode(&p->worker->jpeg, pixels, &jpeg, scratch, err);
        p->info.channels = pixels->channels < 3 ? 1 : 3;
        p->info.bits = 8;
    } else if (mode == MLDF_IMAGE_MODE_PNG) {
        status = mldfi_png_encode(pixels, -1, jpeg.icc, jpeg.icc_bytes, scratch, err);
    } else if (mode == MLDF_IMAGE_MODE_YUV420) {
        status = mldf_image_encode_yuv420(pixels, scratch, err);
        p->info.channels = 3;
    } else if (pixels->data == p->data) {
        *payload = p->data;
        *payload_bytes = p->bytes;
        return MLDF_OK;
    } else {
        status = mldf_buffer_append(scratch, pixels->data, (size_t)raw, err);
    }
    *payload = scratch->data;
    *payload_bytes = scratch->size;
    return status;
}

/* A JPEG becomes a fast JPEG where its bytes and pixels come back; otherwise it stays, and the reason is counted. */
static mldf_status make_fast(struct image_input *p, mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes,
                             mldf_error *err) {
    enum fast_reason reason = FAST_TAKEN;
    unsigned flags = p->info.progressive && p->s->baseline ? FAST_PROGRESSIVE : 0;
    p->worker->work.size = 0;
    mldf_status status =
        mldfi_fast_pack(*payload, (size_t)*payload_bytes, flags, p->s->fast_limit, &p->worker->work, &reason, err);
    if (status < 0)
        return status;
    if (p->s->tally)
        atomic_fetch_add_explicit(&p->s->tally->files[reason], 1, memory_order_relaxed);
    if (reason != FAST_TAKEN)
        return MLDF_OK;
    scratch->size = 0;
    status = mldf_buffer_append(scratch, p->worker->work.data, p->worker->work.size, err);
    *payload = scratch->data;
    *payload_bytes = scratch->size;
    p->info.mode = MLDF_IMAGE_MODE_FAST_JPEG;
    return status;
}

static mldf_status fill_record(const struct image_input *p, uint64_t payload_bytes, uint8_t *record, mldf_error *err) {
    const mldf_image_info *i = &p->info;
    if (i->width > UINT16_MAX || i->height > UINT16_MAX)
        return mldfi_fail(err, MLDF_E_RANGE,
                          "an image of %" PRIu32 " x %" PRIu32 " pixels; a side of more than 65535 does not "
                          "fit an image field (\"max_resolution\" makes it smaller)",
                          i->width, i->height);
    if (payload_bytes > UINT32_MAX)
        return mldfi_fail(err, MLDF_E_RANGE, "an image of %" PRIu64 " bytes; an image field holds less than 4 GiB",
                          payload_bytes);
    mldfi_store_u16(record + IMAGE_HEIGHT, (uint16_t)i->height);
    mldfi_store_u16(record + IMAGE_WIDTH, (uint16_t)i->width);
    record[IMAGE_CHANNELS] = i->channels;
    record[IMAGE_MODE] = (uint8_t)i->mode;
    record[IMAGE_BITS] = i->bits;
    record[IMAGE_COLOR] = (uint8_t)i->color;
    record[IMAGE_ORIENTATION] = i->orientation;
    return MLDF_OK;
}

static mldf_status make(struct image_input *p, mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes,
                        mldf_error *err) {
    mldf_image_pixels pixels;
    mldf_image_info raw = p->info;
    raw.channels = raw.color == MLDF_IMAGE_CMYK || raw.color == MLDF_IMAGE_YCCK ? 3 : raw.channels;
    if (p->s->encode == ENCODE_PROPORTION)
        p->hash = XXH64(p->data, (size_t)p->bytes, 0);
    if (kept(p, mldfi_image_raw_bytes(&raw)))
        return keep(p, scratch, payload, payload_bytes, err);
    bool turn = turned(p);
    mldf_status status = get_pixels(p, &pixels, err);
    if (status == MLDF_OK && turn)
        p->info.orientation = 1;
    if (status == MLDF_OK)
        status = resize(p, &pixels, err);
    if (status == MLDF_OK)
        status = store(p, &pixels, scratch, payload, payload_bytes, err);
    return status;
}

/* Without a thread's worker. */
mldf_status mldfi_image_encode(void *user, const void *state, const mldf_value *value, uint8_t *record,
                               mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes, mldf_error *err) {
    struct image_worker own;
    (void)user;
    memset(&own, 0, sizeof own);
    mldf_status status = mldfi_image_encode_with(&own, state, value, record, scratch, payload, payload_bytes, err);
    mldfi_image_worker_end(&own);
    return status;
}

mldf_status mldfi_image_encode_with(void *worker, const void *state, const mldf_value *value, uint8_t *record,
                                    mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes,
                                    mldf_error *err) {
    struct image_input p;
    memset(&p, 0, sizeof p);
    p.s = state;
    p.worker = worker;
    *payload = NULL;
    *payload_bytes = 0;
    mldf_status status = take(&p, value, err);
    if (status == MLDF_OK)
        status = check_type(&p, err);
    if (status < 0)
        return status;
    status = make(&p, scratch, payload, payload_bytes, err);
    if (status == MLDF_OK && p.s->encode == ENCODE_FAST_JPEG && p.info.mode == MLDF_IMAGE_MODE_JPEG)
        status = make_fast(&p, scratch, payload, payload_bytes, err);
    if (status < 0 && err)
        err->offset = MLDF_NONE;
    if (status == MLDF_OK)
        status = fill_record(&p, *payload_bytes, record, err);
    return status;
}
