/* Videos: decode_video, the steps along time behind it (clip and others), and of the frames that they choose the crops, the resize and the mirrors, and
 * where it fits the last pass into the batch.
 *
 *   size and times of the frames (extent) → numbers of frames, followed back through the steps along time
 *     → each frame once, in ascending order: the window that the geometry needs, from the field's frame source (field/video_source.h)
 *     → one resampling pass for each, with one draw for all, as source_image.c does it for one
 *
 * In a reference plan all frames are decoded whole and each step runs by itself. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "field/video_source.h"
#include "pipeline/decode.h"
#include "pipeline/frames.h"
#include "pipeline/geometry.h"
#include "pipeline/source.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { STEPS_MAX = 8 };

struct video_source {
    struct video_info info;
    struct frame_times times; /* of the frames that the sample has: of its piece, where it is one */
    struct geometry geometry;
    unsigned scale;
    struct taken {
        const struct op *op;
        const void *draw;
        uint64_t before; /* length in front of it */
    } steps[STEPS_MAX];
    size_t step_count;
    uint64_t length; /* frames behind the last of them */
};
_Static_assert(sizeof(struct video_source) <= SOURCE_OWN_BYTES, "what a video needs must fit");

static struct video_source *own(const struct source_run *s) {
    return (struct video_source *)(uintptr_t)s->own;
}

/* ---- What it is ---------------------------------------------------------------------------------------------------------------- */

static bool wants_times(const struct source_run *s) {
    if (s->pieced && s->piece.frames)
        return true;
    for (size_t i = 0; i < s->chain->op_count; i++)
        if (s->chain->ops[i].times)
            return true;
    return false;
}

/* The table of times lives until the sample ends, whatever is read later. */
static mldf_status keep_times(struct source_run *s, mldf_error *err) {
    struct video_source *v = own(s);
    mldf_buffer *room = &s->side->chains[s->chain_index].pts;
    const struct frame_times *from = &v->info.times;
    if (!from->pts)
        return MLDF_OK;
    mldf_status status = mldfi_buffer_resize(room, (size_t)from->count * 8 + 8, err);
    for (uint64_t i = 0; status == MLDF_OK && i < from->count; i++)
        memcpy(room->data + i * 8, from->pts + i * from->stride, 8);
    v->info.times.pts = room->data;
    v->info.times.stride = 8;
    return status;
}

/* The frames nearest to the times of a piece: v->picked. */
static mldf_status find_frames(struct source_run *s, mldf_error *err) {
    struct video_source *v = own(s);
    const struct frame_times *t = &v->info.times;
    const struct plan_piece *piece = &s->piece;
    if (piece->failed) {
        if (err)
            *err = piece->why;
        return piece->why.status;
    }
    mldf_buffer *room = &s->side->chains[s->chain_index].picked;
    mldf_status status = mldfi_buffer_resize(room, PIECE_FRAMES * 8, err);
    for (uint32_t k = 0; k < piece->frames && status == MLDF_OK; k++) {
        uint64_t number = MLDF_NONE;
        if (!isnan(piece->seconds[k])) {
            double zero = mldfi_frame_seconds(t, mldfi_frame_pts(t, 0), 1), wanted = piece->seconds[k] + zero, off,
                   next;
            number = mldfi_frame_at_seconds(t, wanted);
            number = number == MLDF_NONE ? 0 : number;
            off = fabs(mldfi_frame_seconds(t, mldfi_frame_pts(t, number), 1) - wanted);
            next = fabs(mldfi_frame_seconds(t, mldfi_frame_pts(t, number + 1), 1) - wanted);
            if (number + 1 < t->count && next < off) {
                number++;
                off = next;
            }
            if (t->count == 0 || !(off <= piece->tolerance))
                return mldfi_fail(err, MLDF_E_RANGE,
                                  "no frame at %.9g s: the nearest of %" PRIu64 ", frame %" PRIu64 ", is %.3g s away",
                                  piece->seconds[k], t->count, number, off);
        }
        memcpy(room->data + 8 * k, &number, 8);
    }
    return status;
}

/* Of a piece: its own frames, at their times in the whole. */
static mldf_status take_piece(struct source_run *s, mldf_error *err) {
    struct video_source *v = own(s);
    uint64_t all = v->info.times.count;
    v->times = v->info.times;
    if (!s->pieced)
        return MLDF_OK;
    if (s->piece.frames)
        return find_frames(s, err);
    if (s->piece.steps == MLDF_NONE)
        return mldfi_fail(err, MLDF_E_CORRUPT, "the video could not be measured when the view was made");
    if (!mldfi_range_inside(s->piece.from, s->piece.have, all))
        return mldfi_fail(err, MLDF_E_CORRUPT,
                          "%" PRIu64 " frames, and the view has a piece of %" PRIu64 " from %" PRIu64 " on", all,
                          s->piece.have, s->piece.from);
    v->times.count = s->piece.have;
    v->times.more = v->times.pts ? all - s->piece.from - s->piece.have : 0;
    v->times.first += (int64_t)s->piece.from;
    if (v->times.pts)
        v->times.pts += s->piece.from * v->times.stride;
    return MLDF_OK;
}

static mldf_status extent(struct source_run *s, mldf_error *err) {
    struct video_source *v = own(s);
    const struct edge *said = &s->chain->source;
    mldf_status status = said->video->extent(said->video_state, &s->value, s->head, s->head_bytes, wants_times(s),
                                             &v->info, &s->head_wanted, err);
    if (status == MLDF_OK)
        status = keep_times(s, err);
    if (status == MLDF_OK)
        status = take_piece(s, err);
    if (status != MLDF_OK)
        return status;
    s->frame = (struct frame){.width = v->info.width,
                              .height = v->info.height,
                              .t = !s->pieced        ? v->times.count
                                   : s->piece.frames ? s->piece.frames
                                                     : s->piece.steps,
                              .times = s->pieced && s->piece.frames ? NULL : &v->times};
    s->side->chains[s->chain_index].steps = s->frame.t;
    uint64_t have[3] = {s->frame.t, v->info.height, v->info.width};
    static const char *const names[] = {"frames", "rows", "columns"};
    for (int i = 0; i < 3; i++)
        if (said->dims[i] >= 0 && (uint64_t)said->dims[i] != have[i])
            return mldfi_fail(err, MLDF_E_CORRUPT, "%" PRIu64 " %s, and the file said %" PRId64 " for all videos",
                              have[i], names[i], said->dims[i]);
    return MLDF_OK;
}

/* ---- What is chosen -------------------------------------------------------------------------------------------------------------- */

/* One frame of the result, without data. */
static struct tensor frame_shape(const struct source_run *s, bool finished) {
    const struct geometry *g = &own(s)->geometry;
    const struct edge *decoded = &s->chain->ops[s->stage->first].out;
    size_t last = s->stage->first + s->stage->count - 1 + s->stage->finish.count;
    struct edge frame;
    mldfi_frame_edge(decoded, &frame);
    struct tensor t = mldfi_tensor_of(finished ? &s->chain->ops[last].out : &frame);
    mldfi_tensor_set_image(&t, g->part_height, g->part_width, (uint64_t)decoded->dims[3]);
    return t;
}

static void shape(const struct source_run *s, struct tensor *t) {
    struct tensor frame = frame_shape(s, false);
    mldfi_clip_of(&frame, own(s)->length, NULL, t);
}

static void begin(struct source_run *s) {
    struct video_source *v = own(s);
    v->length = s->frame.t;
    v->step_count = 0;
    mldfi_geometry_begin(&v->geometry, s->frame.width, s->frame.height);
}

static bool take(struct source_run *s, const struct op *op, const void *draw, const struct frame *before,
                 const struct frame *after) {
    struct video_source *v = own(s);
    if (op->type->flags & OP_AXIS)
        return op->type->geometry(op, draw, &v->geometry);
    if (v->step_count == STEPS_MAX || op->type->part)
        return false;
    v->steps[v->step_count++] = (struct taken){op, draw, before->t};
    v->length = after->t;
    return true;
}

/* The frame of the video that frame k of the result is; MLDF_NONE: zeros. */
static uint64_t number_of(const struct source_run *s, uint64_t k) {
    const struct video_source *v = own(s);
    for (size_t i = v->step_count; i-- > 0 && k != MLDF_NONE;) {
        const struct taken *step = &v->steps[i];
        uint64_t number;
        if (step->op->type->pick) {
            (void)step->op->type->pick(step->op, step->draw, i ? NULL : s->frame.times, step->before, k, &number);
        } else {
            struct span span = step->op->type->pull(step->op, step->draw, step->before, (struct span){k, 1});
            number = span.count ? span.from : MLDF_NONE;
        }
        k = number;
    }
    if (s->pieced && s->piece.frames && k < s->piece.frames) {
        memcpy(&k, s->side->chains[s->chain_index].picked.data + 8 * k, 8);
        return k;
    }
    if (k >= v->times.count) /* what a piece lacks, and MLDF_NONE */
        return MLDF_NONE;
    return k + (s->pieced ? s->piece.from : 0);
}

static mldf_status settle(struct source_run *s, mldf_error *err) {
    struct video_source *v = own(s);
    const struct decode_state *decode = mldfi_source_state(s);
    const struct plan_options *options = &s->run->plan->options;
    bool mask = s->chain->source.role == ROLE_MASK;
    if (mask)
        v->geometry.filter = RESIZE_NEAREST;
    v->scale = v->info.reducible && !decode->exact && !options->exact && !mask ? mldfi_geometry_scale(&v->geometry) : 1;
    if (options->reference && v->scale == 1) {
        s->composed = 0;
        begin(s);
    }
    struct tensor frame = frame_shape(s, false);
    uint64_t most = options->max_bytes ? options->max_bytes : MEDIA_MAX_BYTES, bytes = mldfi_tensor_bytes(&frame);
    if (bytes && v->length > most / bytes)
        return mldfi_fail(err, MLDF_E_LIMIT,
                          "%" PRIu64 " frames of %" PRIu64 " bytes each are more than the %" PRIu64
                          " bytes that a value may have; clip takes some of them",
                          v->length, bytes, most);
    mldf_buffer *room = &s->side->chains[s->chain_index].numbers;
    mldf_status status = mldfi_buffer_resize(room, (size_t)v->length * 8 + 8, err);
    for (uint64_t k = 0; status == MLDF_OK && k < v->length; k++) {
        uint64_t number = number_of(s, k);
        memcpy(room->data + 8 * k, &number, 8);
    }
    return status;
}

static const uint64_t *numbers_of(const struct source_run *s) {
    return (const uint64_t *)(const void *)s->side->chains[s->chain_index].numbers.data;
}

/* Where the frames are, a source knows when it reads its table: this is a guess for the system's read-ahead. */
static mldf_status ranges(const struct source_run *s, struct byte_range *out, size_t *count) {
    const struct video_source *v = own(s);
    const struct edge *said = &s->chain->source;
    const uint64_t *numbers = numbers_of(s);
    uint64_t first = MLDF_NONE, last = 0;
    *count = 0;
    for (uint64_t k = 0; k < v->length; k++)
        if (numbers[k] != MLDF_NONE) {
            first = numbers[k] < first ? numbers[k] : first;
            last = numbers[k] > last ? numbers[k] : last;
        }
    if (first == MLDF_NONE || !said->video->guess || !s->run->measuring)
        return MLDF_OK;
    mldf_value value = {.bytes = s->whole};
    said->video->guess(said->video_state, &value, &v->info, first, last, &out[0].offset, &out[0].bytes);
    *count = out[0].bytes > 0 && mldfi_range_inside(out[0].offset, out[0].bytes, s->whole);
    return MLDF_OK;
}

/* ---- Frames ---------------------------------------------------------------------------------------------------------------------- */

/* Frame `number` of the video is frame k of the result. */
struct wanted {
    uint64_t number, k;
};

static int by_number(const void *a, const void *b) {
    const struct wanted *x = a, *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return x->k < y->k ? -1 : x->k > y->k;
}

struct delivery {
    struct source_run *s;
    struct pixel_window window;
    bool finished;
    uint8_t *dst;
    size_t bytes;          /* of a frame there */
    const uint64_t *first; /* of each number: its place in `wanted` */
    const struct wanted *wanted;
    size_t wanted_count;
    double spent; /* after decoding */
};

static mldf_status get_bytes(void *user, uint64_t offset, uint64_t bytes, const void **data, mldf_error *err) {
    return mldfi_source_range(user, (struct byte_range){offset, bytes}, data, err);
}

static mldf_status deliver(struct delivery *d, uint64_t k, const struct raster *pixels, mldf_error *err) {
    const struct video_source *v = own(d->s);
    return mldfi_pixels_deliver(d->s, &v->geometry, v->scale, d->window, pixels, NULL, d->finished,
                                d->dst + k * d->bytes, err);
}

static mldf_status take_frame(void *user, size_t j, const struct raster *pixels, mldf_error *err) {
    struct delivery *d = user;
    const struct wanted *w = d->wanted + d->first[j];
    double start = mldfi_worker_clock(d->s->run->worker);
    mldf_status status = deliver(d, w->k, pixels, err);
    for (size_t i = (size_t)d->first[j] + 1; i < d->wanted_count && d->wanted[i].number == w->number; i++)
        memcpy(d->dst + d->wanted[i].k * d->bytes, d->dst + w->k * d->bytes, d->bytes);
    d->spent += mldfi_worker_clock(d->s->run->worker) - start;
    return status;
}

/* Frames that there are not: black ones, through the same steps. */
static mldf_status take_zeros(struct delivery *d, mldf_error *err) {
    const struct decode_state *decode = mldfi_source_state(d->s);
    struct video_source *v = own(d->s);
    mldf_buffer *room = &d->s->run->worker->pixels;
    struct raster black = {NULL,
                           d->window.width,
                           d->window.height,
                           (uint32_t)d->s->chain->ops[d->s->stage->first].out.dims[3],
                           (uint32_t)decode->bits,
                           0};
    const uint64_t *numbers = numbers_of(d->s);
    uint64_t made = MLDF_NONE;
    mldf_status status = MLDF_OK;
    black.stride = (size_t)black.width * black.channels * (black.bits / 8);
    for (uint64_t k = 0; k < v->length && status == MLDF_OK; k++) {
        if (numbers[k] != MLDF_NONE)
            continue;
        if (made == MLDF_NONE) {
            size_t bytes = black.stride * black.height;
            status = mldfi_buffer_resize(room, bytes ? bytes : 1, err);
            if (status < 0)
                break;
            black.data = room->data;
            memset(room->data, 0, bytes);
            status = deliver(d, k, &black, err);
            made = k;
        } else {
            memcpy(d->dst + k * d->bytes, d->dst + made * d->bytes, d->bytes);
        }
    }
    return status;
}

/* The frames that are wanted, each once, ascending; `wanted` says for which places. They live behind the list of numbers. */
static mldf_status sort_frames(struct source_run *s, struct delivery *d, uint64_t **numbers, size_t *count,
                               mldf_error *err) {
    const struct video_source *v = own(s);
    mldf_buffer *room = &s->side->chains[s->chain_index].numbers;
    size_t all = (size_t)v->length, used = 0;
    TRY(mldfi_buffer_resize(room, (1 + 2 + 1 + 1) * 8 * (all + 1), err));
    uint64_t *chosen = (uint64_t *)(void *)room->data;
    struct wanted *wanted = (struct wanted *)(void *)(chosen + all);
    uint64_t *first = chosen + 3 * all, *unique = chosen + 4 * all;
    bool sorted = true;
    for (size_t k = 0; k < all; k++) {
        if (chosen[k] == MLDF_NONE)
            continue;
        sorted = sorted && (used == 0 || wanted[used - 1].number <= chosen[k]);
        wanted[used++] = (struct wanted){chosen[k], k};
    }
    if (!sorted)
        qsort(wanted, used, sizeof *wanted, by_number);
    *count = 0;
    for (size_t i = 0; i < used; i++)
        if (i == 0 || wanted[i].number != wanted[i - 1].number) {
            first[*count] = i;
            unique[(*count)++] = wanted[i].number;
        }
    d->wanted = wanted;
    d->wanted_count = used;
    d->first = first;
    *numbers = unique;
    return MLDF_OK;
}

static mldf_status produce(struct source_run *s, bool finished, void *dst, size_t dst_bytes, mldf_error *err) {
    struct video_source *v = own(s);
    const struct decode_state *decode = mldfi_source_state(s);
    const struct edge *said = &s->chain->source;
    struct chain_memory *memory = &s->side->chains[s->chain_index];
    struct plan_worker *worker = s->run->worker;
    struct tensor frame = frame_shape(s, finished), t;
    struct delivery d = {.s = s, .finished = finished, .bytes = mldfi_tensor_bytes(&frame)};
    uint64_t *numbers;
    size_t count;
    int in;
    mldfi_clip_of(&frame, v->length, NULL, &t);
    memory->in = -1;
    memory->frame = (struct frame){.width = v->geometry.part_width, .height = v->geometry.part_height, .t = v->length};
    if (v->step_count == 0)
        memory->frame.times = s->frame.times;
    mldf_status status = mldfi_stage_room(memory, &t, dst, dst_bytes, &in, err);
    if (status == MLDF_OK)
        status = sort_frames(s, &d, &numbers, &count, err);
    if (status < 0)
        return status;
    double start = mldfi_worker_clock(worker), waited = worker->times[0];
    d.dst = t.data;
    d.window = mldfi_pixel_window(&v->geometry, v->scale, v->info.width, v->info.height);
    struct frame_wish wish = {d.window.x,
                              d.window.y,
                              d.window.width,
                              d.window.height,
                              v->scale,
                              decode->channels,
                              decode->bits,
                              s->run->plan->options.max_bytes,
                              worker->work.kernels,
                              decode->matrix};
    struct audio_bytes bytes = {get_bytes, s, s->whole};
    mldf_value value = s->value;
    value.bytes = s->whole;
    if (count)
        status = said->video->decode(&worker->kit, said->video_state, &value, &v->info, &bytes, numbers, count, &wish,
                                     take_frame, &d, err);
    if (status == MLDF_OK)
        status = take_zeros(&d, err);
    worker->times[s->stage->step + 1] += d.spent;
    worker->times[s->stage->step] += mldfi_worker_clock(worker) - start - (worker->times[0] - waited) - d.spent;
    memory->tensor = t;
    memory->in = in;
    return status;
}

const struct source_type mldfi_source_video = {
    .takes = OP_AXIS | OP_TIME,
    .extent = extent,
    .shape = shape,
    .begin = begin,
    .take = take,
    .settle = settle,
    .ranges = ranges,
    .produce = produce,
};
