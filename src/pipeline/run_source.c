/* The front of an image's chain: decode, the crops and the resize behind it, mirrors, and where it fits the last pass into the batch.
 *
 *   draws of all axis steps (they need the image's size only, which its record states)
 *     → one geometry, as far as the steps can be composed
 *     → the pixels of its window: a region of a JPEG, at 1/2, 1/4, 1/8 when the window is larger than what it becomes; a window of raw
 *       pixels in place
 *     → one resampling pass, mirrored, through `finish`
 *     → what could not be composed, step by step
 *
 * In a reference plan the whole image is decoded and each step runs by itself. The scale of a JPEG is part of the meaning of
 * "decode, crop, resize" (decode(exact=true) turns it off), so it is the same there. */
#include <inttypes.h>
#include <string.h>

#include "field/image_view.h"
#include "pipeline/decode.h"
#include "pipeline/geometry.h"
#include "pipeline/stage.h"
#include "util/buffer.h"
#include "util/error.h"

struct source {
    const struct run *run;
    struct side *side;
    const struct chain *chain;
    size_t chain_index;
    const struct stage *stage;
    const struct decode_state *decode;
    mldf_value value;
    mldf_image_info info;
    struct frame frame; /* of the whole image, oriented */
    struct geometry geometry;
    size_t composed; /* operations behind decode */
    unsigned scale;
    struct raster image; /* the window */
    uint32_t window_x, window_y;
};

static mldf_status fetch(struct source *s, mldf_error *err) {
    const struct run *r = s->run;
    struct chain_memory *memory = &s->side->chains[s->chain_index];
    mldf_status status =
        r->feed->get(r->feed->user, s->side->position, s->chain->field, &memory->value, &s->value, err);
    if (status < 0)
        return status;
    if (s->value.kind == MLDF_KIND_NULL)
        return mldfi_take_null(r, s->side, s->chain_index, err);
    status = mldf_image_record(&s->value, &s->info, err);
    if (status < 0)
        return status;
    if (s->info.width == 0 || s->info.height == 0) /* TBL version 1 does not say */
        status = mldf_image_probe(s->value.data, (size_t)s->value.bytes, &s->info, err);
    if (status < 0)
        return status;
    r->worker->bytes += s->value.bytes;
    bool turned = s->decode->orient && s->info.orientation >= 5;
    s->frame.width = turned ? s->info.height : s->info.width;
    s->frame.height = turned ? s->info.width : s->info.height;
    const int64_t *said = s->chain->source.dims;
    if ((said[0] >= 0 && said[0] != (int64_t)s->info.height) || (said[1] >= 0 && said[1] != (int64_t)s->info.width))
        return mldfi_fail(err, MLDF_E_CORRUPT,
                          "%" PRIu32 " x %" PRIu32 " pixels, and the file said %" PRId64 " x %" PRId64
                          " for all samples",
                          s->info.width, s->info.height, said[1], said[0]);
    return MLDF_OK;
}

static mldf_status compose(struct source *s, mldf_error *err) {
    struct frame frame = s->frame;
    bool more = true;
    mldfi_geometry_begin(&s->geometry, frame.width, frame.height);
    s->composed = 0;
    for (size_t i = 1; i < s->stage->count; i++) {
        const struct op *op = &s->chain->ops[s->stage->first + i];
        const void *draw;
        mldf_status status = mldfi_draw(s->run, s->side, op, &frame, &draw, err);
        if (status < 0)
            return status;
        more = more && op->type->geometry(op, draw, &s->geometry);
        s->composed += more;
    }
    bool mask = s->chain->source.role == ROLE_MASK;
    if (mask)
        s->geometry.filter = RESIZE_NEAREST;
    bool reducible = s->info.mode == MLDF_IMAGE_MODE_JPEG && !s->decode->exact && !s->run->plan->options.exact && !mask;
    s->scale = reducible ? mldfi_geometry_scale(&s->geometry) : 1;
    if (s->run->plan->options.reference && s->scale == 1) {
        s->composed = 0;
        mldfi_geometry_begin(&s->geometry, s->frame.width, s->frame.height);
    }
    return MLDF_OK;
}

/* The whole image, dense, in the worker's memory; s->image is the window of it. */
static mldf_status decode_whole(struct source *s, const mldf_image_options *options, uint32_t width, uint32_t height,
                                mldf_error *err) {
    struct plan_worker *worker = s->run->worker;
    size_t pixel = (size_t)s->image.channels * (s->image.bits / 8), bytes = (size_t)width * height * pixel;
    mldf_image_shape shape; /* asked for its checks: nothing is allocated for a size beyond the limits */
    mldf_status status = mldf_image_value_shape(&s->value, options, &shape, err);
    if (status >= 0)
        status = mldfi_buffer_resize(&worker->pixels, bytes, err);
    if (status < 0)
        return status;
    s->image.stride = (size_t)width * pixel;
    s->image.data = worker->pixels.data + s->window_y * s->image.stride + s->window_x * pixel;
    return mldf_image_value_decode(worker->decoder, &s->value, options, worker->pixels.data, bytes, err);
}

/* The pixels that the geometry needs, into s->image. direct: dense memory for exactly the window, or NULL. */
static mldf_status pixels(struct source *s, void *direct, size_t direct_bytes, mldf_error *err) {
    const struct geometry *g = &s->geometry;
    uint32_t scale = s->scale;
    uint32_t full_width = (s->frame.width + scale - 1) / scale, full_height = (s->frame.height + scale - 1) / scale;
    uint32_t x = g->x / scale, y = g->y / scale;
    uint32_t right = (g->x + g->width + scale - 1) / scale, bottom = (g->y + g->height + scale - 1) / scale;
    right = right > full_width ? full_width : right;
    bottom = bottom > full_height ? full_height : bottom;
    mldf_image_options o = MLDF_IMAGE_OPTIONS_INIT;
    o.channels = s->decode->channels;
    o.bits = s->decode->bits;
    o.scale = (int)scale;
    o.orient = s->decode->orient;
    o.max_bytes = s->run->plan->options.max_bytes;
    uint32_t channels = (uint32_t)s->chain->ops[s->stage->first].out.dims[2];
    s->window_x = x;
    s->window_y = y;
    s->image = (struct raster){NULL, right - x, bottom - y, channels, (uint32_t)s->decode->bits, 0};
    if (s->run->plan->options.reference)
        return decode_whole(s, &o, full_width, full_height, err);
    o.region = true;
    o.x = x, o.y = y, o.width = right - x, o.height = bottom - y;
    if (direct) {
        s->image.data = direct;
        s->image.stride = (size_t)s->image.width * channels * (s->image.bits / 8);
        return mldf_image_value_decode(s->run->worker->decoder, &s->value, &o, direct, direct_bytes, err);
    }
    mldf_status status = mldfi_image_value_view(s->run->worker->decoder, &s->value, &o, &s->image, err);
    if (status == MLDF_OK && (s->image.channels != channels || s->image.bits != (uint32_t)s->decode->bits))
        return mldfi_fail(err, MLDF_E_TYPE,
                          "an image of %" PRIu32 " channels of %" PRIu32 " bits among others of %" PRIu32
                          " channels of %d bits",
                          s->image.channels, s->image.bits, channels, s->decode->bits);
    return status;
}

static mldf_status resample(struct source *s, const struct finish *finish, void *dst, mldf_error *err) {
    const struct geometry *g = &s->geometry;
    struct resize_spec spec = {
        .box_x = g->x * 8 / s->scale - s->window_x * 8,
        .box_y = g->y * 8 / s->scale - s->window_y * 8,
        .box_width = g->width * 8 / s->scale,
        .box_height = g->height * 8 / s->scale,
        .width = g->to_width,
        .height = g->to_height,
        .x = g->part_x,
        .y = g->part_y,
        .out_width = g->part_width,
        .out_height = g->part_height,
        .mirror_x = g->mirror_x,
        .mirror_y = g->mirror_y,
        .filter = (enum resize_filter)g->filter,
        .antialias = g->antialias,
    };
    struct op_work *work = &s->run->worker->work;
    return mldfi_resize(work->kernels, &s->image, &spec, finish, work->resize, dst, err);
}

/* The geometry's result as plain pixels, or finished. */
static mldf_status produce(struct source *s, bool finished, void *dst, size_t dst_bytes, mldf_error *err) {
    const struct geometry *g = &s->geometry;
    const struct finish_plan *f = &s->stage->finish;
    const struct edge *out = &s->chain->ops[s->stage->first + (finished ? s->stage->count - 1 + f->count : 0)].out;
    struct chain_memory *memory = &s->side->chains[s->chain_index];
    struct tensor t = mldfi_tensor_of(out);
    uint64_t channels = (uint64_t)s->chain->ops[s->stage->first].out.dims[2];
    mldfi_tensor_set_image(&t, g->part_height, g->part_width, channels);
    int in;
    memory->in = -1;
    memory->frame = (struct frame){.width = g->part_width, .height = g->part_height};
    mldf_status status = mldfi_stage_room(memory, &t, dst, dst_bytes, &in, err);
    if (status < 0)
        return status;
    double start = mldfi_worker_clock(s->run->worker);
    bool plain = !finished && !g->resized && !g->mirror_x && !g->mirror_y;
    status = pixels(s, plain ? t.data : NULL, mldfi_tensor_bytes(&t), err);
    double middle = mldfi_worker_clock(s->run->worker);
    s->run->worker->times[s->stage->step] += middle - start;
    if (status < 0)
        return status;
    struct finish none = {.dtype = s->image.bits == 8 ? MLDF_U8 : MLDF_U16};
    bool kernel = finished && f->affine;
    if (g->resized && (kernel || !finished)) {
        status = resample(s, kernel ? &f->finish : &none, t.data, err);
    } else if (g->resized) {
        size_t bytes = (size_t)g->part_width * g->part_height * channels;
        status = mldfi_buffer_resize(&s->run->worker->work.scratch[2], bytes, err);
        struct raster small = {
            s->run->worker->work.scratch[2].data, g->part_width, g->part_height, (uint32_t)channels, 8,
            (size_t)g->part_width * channels};
        if (status == MLDF_OK)
            status = resample(s, &none, small.data, err);
        if (status == MLDF_OK)
            status = mldfi_run_finish(s->run, s->side, s->chain, f, &small, false, false, t.data, err);
    } else if (finished) {
        status = mldfi_run_finish(s->run, s->side, s->chain, f, &s->image, g->mirror_x, g->mirror_y, t.data, err);
    } else if (!plain || s->image.data != t.data) {
        mldfi_finish(s->run->worker->work.kernels, &s->image, g->mirror_x, g->mirror_y, &none, t.data);
    }
    s->run->worker->times[s->stage->step + 1] += mldfi_worker_clock(s->run->worker) - middle;
    memory->tensor = t;
    memory->in = in;
    return status;
}

/* The bytes that the geometry needs: all, or the rows of raw pixels that it takes. */
static void await(struct source *s) {
    const uint8_t *data = s->value.data;
    size_t bytes = (size_t)s->value.bytes, row = s->info.height ? bytes / s->info.height : 0;
    bool turned = s->decode->orient && s->info.orientation > 1, whole = s->run->plan->options.reference;
    if (s->info.mode == MLDF_IMAGE_MODE_RAW && !turned && !whole)
        mldfi_await_bytes(s->run, data + row * s->geometry.y, row * s->geometry.height);
    else
        mldfi_await_bytes(s->run, data, bytes);
}

mldf_status mldfi_source_shape(const struct run *r, struct side *side, size_t chain, mldf_error *err) {
    const struct chain *c = &r->plan->graph.chains[chain];
    struct chain_memory *memory = &side->chains[chain];
    const struct edge *out = &c->ops[0].out;
    struct source s = {.run = r, .side = side, .chain = c, .chain_index = chain, .decode = c->ops[0].state};
    memory->null = memory->filled = false;
    double start = mldfi_worker_clock(r->worker);
    mldf_status status = fetch(&s, err);
    r->worker->times[0] += mldfi_worker_clock(r->worker) - start;
    if (status < 0 || memory->null)
        return status;
    memory->frame = s.frame;
    memory->tensor = mldfi_tensor_of(out);
    mldfi_tensor_set_image(&memory->tensor, s.frame.height, s.frame.width, (uint64_t)out->dims[2]);
    return MLDF_OK;
}

mldf_status mldfi_run_source(const struct run *r, struct side *side, size_t chain, const struct stage *stage, void *dst,
                             size_t dst_bytes, mldf_error *err) {
    struct source s = {
        .run = r, .side = side, .chain = &r->plan->graph.chains[chain], .chain_index = chain, .stage = stage};
    s.decode = s.chain->ops[stage->first].state;
    double start = mldfi_worker_clock(r->worker);
    mldf_status status = fetch(&s, err);
    r->worker->times[0] += mldfi_worker_clock(r->worker) - start;
    if (status < 0 || side->chains[chain].null)
        return status;
    status = compose(&s, err);
    if (status < 0)
        return status;
    await(&s);
    bool all = s.composed + 1 == stage->count;
    bool finished = all && stage->finish.use;
    bool last = all && (finished || !stage->finish.use);
    status = produce(&s, finished, last ? dst : NULL, dst_bytes, err);
    for (size_t i = s.composed + 1; status == MLDF_OK && i < stage->count; i++) {
        bool end = i + 1 == stage->count && !stage->finish.use;
        status = mldfi_run_op(r, side, chain, &s.chain->ops[stage->first + i], end ? dst : NULL, dst_bytes, err);
    }
    if (status == MLDF_OK && stage->finish.use && !finished)
        status = mldfi_run_finish_stage(r, side, chain, &stage->finish, dst, dst_bytes, err);
    return status;
}
