/* Images: decode, the crops and the resize behind it, mirrors, and where it fits the last pass into the batch.
 *
 *   one geometry, as far as the steps can be composed
 *     → the pixels of its window: a region of a JPEG, at 1/2, 1/4, 1/8 when the window is larger than what it becomes; a window of raw
 *       pixels in place
 *     → one resampling pass, mirrored, through `finish`
 *
 * With decode(chroma=fused) the window comes as planes, and colours are made of what they become, where there are planes and a bilinear resize.
 *
 * In a reference plan the whole image is decoded and each step runs by itself. The scale of a JPEG is part of the meaning of
 * "decode, crop, resize" (decode(exact=true) turns it off), so it is the same there. */
#include <inttypes.h>
#include <string.h>

#include "codec/image.h"
#include "field/image_type.h"
#include "field/image_view.h"
#include "kernel/resize_planes.h"
#include "pipeline/decode.h"
#include "pipeline/geometry.h"
#include "pipeline/source.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { HEAD_BYTES = 16 << 10 }; /* of a file whose row does not say how large the image is: looked at first */

struct image_source {
    mldf_image_decoder *decoder;
    mldf_image_info info;
    struct geometry geometry;
    unsigned scale;
    struct raster image; /* the window */
    struct pixel_window window;
};
_Static_assert(sizeof(struct image_source) <= SOURCE_OWN_BYTES, "what an image needs must fit");

static struct image_source *own(const struct source_run *s) {
    return (struct image_source *)(uintptr_t)s->own;
}

/* The size as the file itself has it: it is near the front, unless there is a preview or a profile in front of it. */
static mldf_status probe(struct source_run *s, mldf_error *err) {
    struct image_source *i = own(s);
    const void *data = s->head ? s->head : s->value.data;
    uint64_t bytes = s->head ? s->head_bytes : s->value.bytes;
    bool all = s->whole == 0 || (data && bytes == s->whole);
    mldf_status status =
        data || all ? mldfi_image_probe(data, all ? (size_t)s->whole : (size_t)bytes, &i->info, err) : MLDF_END;
    if (status == MLDF_OK || all)
        return status;
    i->info.width = i->info.height = 0;
    s->head_wanted = s->head ? UINT64_MAX : HEAD_BYTES;
    return MLDF_END;
}

static mldf_status extent(struct source_run *s, mldf_error *err) {
    struct image_source *i = own(s);
    const struct decode_state *decode = mldfi_source_state(s);
    mldf_status status = s->head ? MLDF_OK : mldfi_image_value_info(&s->value, &i->info, err);
    bool silent = i->info.width == 0 || i->info.height == 0; /* TBL version 1 does not say */
    if (status == MLDF_OK && silent)
        status = probe(s, err);
    if (status != MLDF_OK)
        return status;
    bool turned = decode->orient && i->info.orientation >= 5;
    s->frame = (struct frame){.width = turned ? i->info.height : i->info.width,
                              .height = turned ? i->info.width : i->info.height};
    const int64_t *said = s->chain->source.dims;
    if ((said[0] >= 0 && said[0] != (int64_t)i->info.height) || (said[1] >= 0 && said[1] != (int64_t)i->info.width))
        return mldfi_fail(err, MLDF_E_CORRUPT,
                          "%" PRIu32 " x %" PRIu32 " pixels, and the file said %" PRId64 " x %" PRId64
                          " for all samples",
                          i->info.width, i->info.height, said[1], said[0]);
    return MLDF_OK;
}

static void shape(const struct source_run *s, struct tensor *t) {
    const struct geometry *g = &own(s)->geometry;
    mldfi_tensor_set_image(t, g->part_height, g->part_width, (uint64_t)s->chain->ops[0].out.dims[2]);
}

static void begin(struct source_run *s) {
    mldfi_geometry_begin(&own(s)->geometry, s->frame.width, s->frame.height);
}

static bool take(struct source_run *s, const struct op *op, const void *draw, const struct frame *before,
                 const struct frame *after) {
    (void)before, (void)after;
    return op->type->geometry(op, draw, &own(s)->geometry);
}

/* Planes are resampled instead of pixels; the image may still turn out to have none. */
static bool fuses(const struct source_run *s) {
    const struct image_source *i = own(s);
    const struct decode_state *decode = mldfi_source_state(s);
    const mldf_image_mode mode = i->info.mode;
    bool upright = !decode->orient || i->info.orientation <= 1;
    return decode->fused && i->geometry.resized && i->geometry.filter == RESIZE_BILINEAR && decode->bits == 8 &&
           decode->channels >= 3 && upright && s->chain->source.role != ROLE_MASK &&
           (mode == MLDF_IMAGE_MODE_JPEG || mode == MLDF_IMAGE_MODE_FAST_JPEG || mode == MLDF_IMAGE_MODE_YUV420);
}

static mldf_status settle(struct source_run *s, mldf_error *err) {
    struct image_source *i = own(s);
    const struct decode_state *decode = mldfi_source_state(s);
    const struct plan_options *options = &s->run->plan->options;
    bool mask = s->chain->source.role == ROLE_MASK;
    (void)err;
    if (mask)
        i->geometry.filter = RESIZE_NEAREST;
    bool jpeg = i->info.mode == MLDF_IMAGE_MODE_JPEG || i->info.mode == MLDF_IMAGE_MODE_FAST_JPEG;
    bool reducible = jpeg && !decode->exact && !options->exact && !mask;
    i->scale = reducible ? mldfi_geometry_scale(&i->geometry) : 1;
    if (options->reference && i->scale == 1 && !fuses(s)) {
        s->composed = 0;
        begin(s);
    }
    return MLDF_OK;
}

/* The whole image, dense, in the worker's memory; i->image is the window of it. */
static mldf_status decode_whole(struct source_run *s, const mldf_image_options *options, uint32_t width,
                                uint32_t height, mldf_error *err) {
    struct image_source *i = own(s);
    struct plan_worker *worker = s->run->worker;
    size_t pixel = (size_t)i->image.channels * (i->image.bits / 8), bytes = (size_t)width * height * pixel;
    mldf_image_shape shape; /* asked for its checks: nothing is allocated for a size beyond the limits */
    mldf_status status = mldf_image_value_shape(&s->value, options, &shape, err);
    if (status >= 0)
        status = mldfi_buffer_resize(&worker->pixels, bytes, err);
    if (status < 0)
        return status;
    i->image.stride = (size_t)width * pixel;
    i->image.data = worker->pixels.data + i->window.y * i->image.stride + i->window.x * pixel;
    return mldf_image_value_decode(i->decoder, &s->value, options, worker->pixels.data, bytes, err);
}

/* The window of the image that the geometry needs, at its scale: as options of the decoder, and in i. */
static mldf_image_options find_window(struct source_run *s) {
    struct image_source *i = own(s);
    const struct decode_state *decode = mldfi_source_state(s);
    uint32_t scale = i->scale;
    const struct pixel_window w = mldfi_pixel_window(&i->geometry, scale, s->frame.width, s->frame.height);
    mldf_image_options o = MLDF_IMAGE_OPTIONS_INIT;
    o.channels = decode->channels;
    o.bits = decode->bits;
    o.scale = (int)scale;
    o.orient = decode->orient;
    if (s->run->plan->options.max_bytes < MEDIA_MAX_BYTES)
        o.max_bytes = s->run->plan->options.max_bytes;
    o.region = true;
    o.x = w.x, o.y = w.y, o.width = w.width, o.height = w.height;
    uint32_t channels = (uint32_t)s->chain->ops[s->stage->first].out.dims[2];
    i->window = w;
    i->image = (struct raster){NULL, w.width, w.height, channels, (uint32_t)decode->bits, 0};
    return o;
}

/* The pixels that the geometry needs, into i->image. direct: dense memory for exactly the window, or NULL. */
static mldf_status pixels(struct source_run *s, void *direct, size_t direct_bytes, mldf_error *err) {
    struct image_source *i = own(s);
    const struct decode_state *decode = mldfi_source_state(s);
    mldf_image_options o = find_window(s);
    const uint32_t channels = i->image.channels;
    if (s->run->plan->options.reference) {
        o.region = false;
        return decode_whole(s, &o, (s->frame.width + i->scale - 1) / i->scale,
                            (s->frame.height + i->scale - 1) / i->scale, err);
    }
    if (direct) {
        i->image.data = direct;
        i->image.stride = (size_t)i->image.width * channels * (i->image.bits / 8);
        return mldf_image_value_decode(i->decoder, &s->value, &o, direct, direct_bytes, err);
    }
    mldf_status status = mldfi_image_value_view(i->decoder, &s->value, &o, &i->image, err);
    if (status == MLDF_OK && (i->image.channels != channels || i->image.bits != (uint32_t)decode->bits))
        return mldfi_fail(err, MLDF_E_TYPE,
                          "an image of %" PRIu32 " channels of %" PRIu32 " bits among others of %" PRIu32
                          " channels of %d bits",
                          i->image.channels, i->image.bits, channels, decode->bits);
    return status;
}

/* The same as planes; all of the image in a reference plan, whose window is then the same part of more samples. MLDF_END: it has none. */
static mldf_status planes(struct source_run *s, struct planes *out, mldf_error *err) {
    struct image_source *i = own(s);
    mldf_image_options o = find_window(s);
    o.region = !s->run->plan->options.reference;
    mldf_status status = mldfi_image_value_planes(i->decoder, &s->value, &o, out, err);
    if (status == MLDF_OK) {
        /* In a reference plan all of the image is there: of the file's size, which the record may not know. */
        if (!mldfi_range_inside(i->window.x, i->image.width, (uint64_t)out->x + out->width) ||
            !mldfi_range_inside(i->window.y, i->image.height, (uint64_t)out->y + out->height))
            return mldfi_fail(err, MLDF_E_CORRUPT, "the record says more pixels than the image has");
        out->x = i->window.x;
        out->y = i->window.y;
        out->width = i->image.width;
        out->height = i->image.height;
    }
    return status;
}

/* The bytes that the geometry needs: all, or the rows of raw pixels that it takes. */
static void await(struct source_run *s) {
    const struct image_source *i = own(s);
    const struct decode_state *decode = mldfi_source_state(s);
    const uint8_t *data = s->value.data;
    size_t bytes = (size_t)s->value.bytes, row = i->info.height ? bytes / i->info.height : 0;
    bool turned = decode->orient && i->info.orientation > 1, whole = s->run->plan->options.reference;
    if (i->info.mode == MLDF_IMAGE_MODE_RAW && !turned && !whole)
        mldfi_await_bytes(s->run, data + row * i->geometry.y, row * i->geometry.height);
    else
        mldfi_await_bytes(s->run, data, bytes);
}

/* Whole rows of raw pixels are the result as they stand in the value, which stays until the sample ends. */
static bool shows_rows(const struct source_run *s) {
    const struct image_source *i = own(s);
    const struct decode_state *decode = mldfi_source_state(s);
    return i->info.mode == MLDF_IMAGE_MODE_RAW && i->info.bits == 8 && decode->bits == 8 &&
           i->info.channels == (uint64_t)s->chain->ops[s->stage->first].out.dims[2] &&
           !(decode->orient && i->info.orientation > 1) && i->geometry.width == i->info.width &&
           !s->run->plan->options.reference;
}

/* The geometry's result as plain pixels, or finished. */
static mldf_status produce(struct source_run *s, bool finished, void *dst, size_t dst_bytes, mldf_error *err) {
    struct image_source *i = own(s);
    const struct geometry *g = &i->geometry;
    const struct finish_plan *f = &s->stage->finish;
    const struct edge *out = &s->chain->ops[s->stage->first + (finished ? s->stage->count - 1 + f->count : 0)].out;
    struct chain_memory *memory = &s->side->chains[s->chain_index];
    struct tensor t = mldfi_tensor_of(out);
    uint64_t channels = (uint64_t)s->chain->ops[s->stage->first].out.dims[2];
    mldfi_tensor_set_image(&t, g->part_height, g->part_width, channels);
    int in;
    memory->in = -1;
    memory->frame = (struct frame){.width = g->part_width, .height = g->part_height};
    await(s);
    void *decoder;
    mldf_status status = mldfi_kit_worker(&s->run->worker->kit, FAMILY_IMAGE, &decoder, err);
    i->decoder = decoder;
    if (status == MLDF_OK)
        mldfi_image_decoder_use(decoder, s->run->worker->work.kernels);
    bool plain = !finished && !g->resized && !g->mirror_x && !g->mirror_y, shown = plain && !dst && shows_rows(s);
    if (status == MLDF_OK && shown)
        in = -1;
    else if (status == MLDF_OK)
        status = mldfi_stage_room(memory, &t, dst, dst_bytes, &in, err);
    if (status < 0)
        return status;
    double start = mldfi_worker_clock(s->run->worker);
    struct planes parts;
    status = fuses(s) ? planes(s, &parts, err) : MLDF_END;
    const struct planes *fused = status == MLDF_OK ? &parts : NULL;
    if (status == MLDF_END)
        status = pixels(s, plain ? t.data : NULL, plain && !shown ? mldfi_tensor_bytes(&t) : 0, err);
    if (shown)
        t.data = i->image.data;
    double middle = mldfi_worker_clock(s->run->worker);
    s->run->worker->times[s->stage->step] += middle - start;
    if (status < 0)
        return status;
    if (!plain || i->image.data != t.data)
        status = mldfi_pixels_deliver(s, g, i->scale, i->window, &i->image, fused, finished, t.data, err);
    s->run->worker->times[s->stage->step + 1] += mldfi_worker_clock(s->run->worker) - middle;
    memory->tensor = t;
    memory->in = in;
    return status;
}

const struct source_type mldfi_source_image = {
    .takes = OP_AXIS,
    .extent = extent,
    .shape = shape,
    .begin = begin,
    .take = take,
    .settle = settle,
    .produce = produce,
};
