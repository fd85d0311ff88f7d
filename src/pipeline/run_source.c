/* The beginning of a chain that must be decoded, whatever its family (source.h):
 *
 *   the record → extent → the draws of all steps that can go into the source (they need the extent only)
 *     → what the steps select, composed as far as they can be
 *     → decoded, resampled and finished by the family, straight into the batch where it fits
 *     → what could not be composed, step by step */
#include <inttypes.h>
#include <string.h>

#include "field/audio_packets.h"
#include "pipeline/source.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

static const struct source_type *const sources[FAMILY_COUNT] = {
    [FAMILY_IMAGE] = &mldfi_source_image,
    [FAMILY_AUDIO] = &mldfi_source_audio,
    [FAMILY_VIDEO] = &mldfi_source_video,
};

const struct source_type *mldfi_source_of(media_family family) {
    return sources[family];
}

static struct source_run *start(const struct run *r, struct side *side, size_t chain) {
    struct source_run *s = side->chains[chain].source;
    s->run = r;
    s->side = side;
    s->chain = &r->plan->graph.chains[chain];
    s->chain_index = chain;
    s->stage = &s->chain->stages[0];
    s->type = sources[s->chain->ops[0].type->decodes];
    s->pieced = r->feed->piece && r->feed->piece(r->feed->user, side->position, s->chain->field, &s->piece);
    return s;
}

/* Of a part, what a field of its own would have. */
static mldf_status take_part(struct source_run *s, mldf_error *err) {
    const struct chain *c = s->chain;
    struct part_place *place = &s->place;
    place->offset = 0;
    s->absent = s->silent = false;
    if (!c->part)
        return MLDF_OK;
    memset(place, 0, sizeof *place);
    TRY(c->of->type->locate(c->of, c->part, &s->value, place, err));
    if (place->absent) {
        s->absent = true;
        s->value.kind = MLDF_KIND_NULL;
        place->offset = place->bytes = 0;
        return MLDF_OK;
    }
    if (!mldfi_range_inside(place->offset, place->bytes, s->value.bytes) || place->record_bytes > PART_RECORD_MAX)
        return mldfi_fail(err, MLDF_E_CORRUPT,
                          "part %s: %" PRIu64 " bytes from byte %" PRIu64 " on pass the end of a value of %" PRIu64,
                          c->part->name, place->bytes, place->offset, s->value.bytes);
    place->whole = s->value.bytes;
    s->value.record = place->record;
    s->value.record_bytes = place->record_bytes;
    s->value.bytes = place->bytes;
    if (s->value.data)
        s->value.data = (const uint8_t *)s->value.data + place->offset;
    return MLDF_OK;
}

static mldf_status get_value(struct source_run *s, bool record, mldf_error *err) {
    if (mldfi_is_tabled(s->chain))
        return mldfi_part_value(s->run, s->side, s->chain_index, record, &s->value, &s->place, err);
    mldf_status status = mldfi_read_value(s->run, s->side, s->chain_index, record, &s->value, err);
    return status == MLDF_OK && s->value.kind != MLDF_KIND_NULL ? take_part(s, err) : status;
}

mldf_status mldfi_source_fetch(struct source_run *s, mldf_error *err) {
    return get_value(s, false, err);
}

static mldf_status get_range(struct source_run *s, struct byte_range range, bool head, const void **data,
                             mldf_error *err) {
    mldf_status status = MLDF_OK;
    if (!s->value.data && range.bytes && s->run->feed->range) {
        range.offset += s->place.offset;
        return head ? mldfi_read_head(s->run, s->side, s->chain_index, range, data, err)
                    : mldfi_read_range(s->run, s->side, s->chain_index, range, data, err);
    }
    if (!s->value.data && range.bytes)
        status = mldfi_source_fetch(s, err);
    *data = range.bytes && status == MLDF_OK ? (const uint8_t *)s->value.data + range.offset : NULL;
    if (status == MLDF_OK && !head)
        s->run->worker->bytes += range.bytes;
    return status;
}

/* Bytes of the whole value that the part is of. */
static mldf_status get_whole(void *user, uint64_t offset, uint64_t bytes, const void **data, mldf_error *err) {
    struct source_run *s = user;
    if (!s->value.data && s->run->feed->range)
        return mldfi_read_head(s->run, s->side, s->chain_index, (struct byte_range){offset, bytes}, data, err);
    mldf_status status = s->value.data ? MLDF_OK : mldfi_source_fetch(s, err);
    *data = status == MLDF_OK ? (const uint8_t *)s->value.data - s->place.offset + offset : NULL;
    return status;
}

mldf_status mldfi_source_start(struct source_run *s, struct start *out, mldf_error *err) {
    const struct chain *c = s->chain;
    *out = (struct start){0, 1};
    if (!c->part || !c->of->type->part_start || s->silent)
        return MLDF_OK;
    struct audio_bytes in = {get_whole, s, s->place.whole};
    return c->of->type->part_start(c->of, c->part, &in, out, err);
}

mldf_status mldfi_source_range(struct source_run *s, struct byte_range range, const void **data, mldf_error *err) {
    struct plan_worker *worker = s->run->worker;
    double start = mldfi_worker_clock(worker);
    mldf_status status = get_range(s, range, false, data, err);
    worker->times[0] += mldfi_worker_clock(worker) - start;
    if (status == MLDF_OK)
        mldfi_await_bytes(s->run, *data, (size_t)range.bytes);
    return status;
}

/* The payload's first bytes: as many as extent wants, or all. They count when produce reads them. */
static mldf_status fetch_head(struct source_run *s, mldf_error *err) {
    struct byte_range head = {0, s->head_wanted < s->whole ? s->head_wanted : s->whole};
    s->head_bytes = head.bytes;
    return get_range(s, head, true, &s->head, err);
}

/* The record, with the payload where the family wants all of it; and what it says. */
static mldf_status look(struct source_run *s, mldf_error *err) {
    double start = mldfi_worker_clock(s->run->worker);
    mldf_status status = get_value(s, s->run->measuring || s->type->ranges, err);
    s->head = NULL;
    s->whole = s->value.bytes;
    s->silent = s->absent && s->type->takes_nothing && s->type->takes_nothing(s->chain);
    if (status == MLDF_OK && s->absent && !s->silent && !s->chain->fill) {
        status = mldfi_fail(err, MLDF_E_NULL, "the value has no %s; the step fill makes a constant of it",
                            s->chain->part->name);
    } else if (status == MLDF_OK && s->value.kind == MLDF_KIND_NULL && !s->silent) {
        status = mldfi_take_null(s->run, s->side, s->chain_index, err);
    } else if (status == MLDF_OK) {
        status = s->type->extent(s, err);
        for (int i = 1; status == MLDF_END && i < SOURCE_LOOKS; i++)
            if ((status = fetch_head(s, err)) == MLDF_OK)
                status = s->type->extent(s, err);
        if (status == MLDF_END)
            status = mldfi_fail(err, MLDF_E_CORRUPT, "the size of the value is not in its first %" PRIu64 " bytes",
                                s->head_bytes);
    }
    s->run->worker->times[0] += mldfi_worker_clock(s->run->worker) - start;
    return status;
}

mldf_status mldfi_step_time(const struct op *op, const void *draw, const struct frame *before, struct frame *after,
                            mldf_error *err) {
    struct tensor in = mldfi_tensor_of(&op->in), out; /* of one clip, where the step is mapped over several */
    uint32_t at = mldfi_time_axis(in.axes, in.ndim);
    for (uint32_t i = 0; i < in.ndim; i++)
        in.dims[i] = i == at ? before->t : op->in.dims[i] < 0 ? 0 : (uint64_t)op->in.dims[i];
    out = mldfi_tensor_like(op, &in);
    mldf_status status = mldfi_op_shape(op, draw, &in, &out, err);
    if (status == MLDF_OK)
        after->t = mldfi_frame_of(&out).t;
    return status;
}

static mldf_status compose(struct source_run *s, mldf_error *err) {
    struct frame frame = s->frame;
    bool more = true;
    s->composed = 0;
    s->type->begin(s);
    for (size_t i = 1; i < s->stage->count; i++) {
        const struct op *op = &s->chain->ops[s->stage->first + i];
        const struct frame before = frame;
        const void *draw;
        mldf_status status = mldfi_draw(s->run, s->side, op, &frame, &draw, err);
        if (status == MLDF_OK && (op->type->flags & OP_TIME))
            status = mldfi_step_time(op, draw, &before, &frame, err);
        if (status < 0)
            return mldfi_in_step(op, status, err);
        if (op->type->flags & OP_TIME)
            frame.times = NULL; /* they are of the frames in front of it */
        more = more && s->type->take(s, op, draw, &before, &frame);
        s->composed += more;
    }
    return s->type->settle(s, err);
}

/* Extent, draws and what the steps select. A null ends here. */
static mldf_status prepare(struct source_run *s, mldf_error *err) {
    struct chain_memory *memory = &s->side->chains[s->chain_index];
    memory->null = memory->filled = false;
    mldf_status status = look(s, err);
    memory->start = s->frame.start;
    return status < 0 || memory->null ? status : compose(s, err);
}

mldf_status mldfi_source_shape(const struct run *r, struct side *side, size_t chain, size_t *first, mldf_error *err) {
    struct chain_memory *memory = &side->chains[chain];
    struct source_run *s = start(r, side, chain);
    mldf_status status = prepare(s, err);
    if (status < 0 || memory->null)
        return status;
    memory->tensor = mldfi_tensor_of(&s->chain->ops[s->stage->first + s->composed].out);
    s->type->shape(s, &memory->tensor);
    memory->frame = mldfi_frame_of(&memory->tensor);
    *first = s->stage->first + s->composed + 1;
    return MLDF_OK;
}

mldf_status mldfi_source_ranges(const struct run *r, struct side *side, size_t chain, struct plan_ranges *out,
                                mldf_error *err) {
    struct byte_range ranges[SOURCE_RANGES];
    const struct chain *c = &r->plan->graph.chains[chain];
    const struct source_type *type = mldfi_chain_source(c);
    size_t count = 0;
    if (!type || !type->ranges || side->chains[chain].null || mldfi_is_tabled(c))
        return MLDF_OK;
    struct source_run *s = side->chains[chain].source;
    s->run = r;
    mldf_status status = type->ranges(s, ranges, &count);
    if (status == MLDF_OK)
        status = mldfi_array_reserve(&out->items, &out->capacity, out->count + count, sizeof *out->items, err);
    for (size_t i = 0; i < count && status == MLDF_OK; i++)
        out->items[out->count++] =
            (struct plan_range){c->field, side->chains[chain].source->place.offset + ranges[i].offset, ranges[i].bytes};
    return status;
}

mldf_status mldfi_run_source(const struct run *r, struct side *side, size_t chain, const struct stage *stage, void *dst,
                             size_t dst_bytes, mldf_error *err) {
    struct source_run *s = start(r, side, chain);
    mldf_status status = prepare(s, err);
    if (status < 0 || side->chains[chain].null)
        return status;
    if (!s->type->ranges)
        mldfi_count_value(r, side, chain, s->whole);
    bool all = s->composed + 1 == stage->count;
    bool finished = all && stage->finish.use;
    bool last = all && (finished || !stage->finish.use);
    status = s->type->produce(s, finished, last ? dst : NULL, dst_bytes, err);
    for (size_t i = s->composed + 1; status == MLDF_OK && i < stage->count; i++) {
        bool end = i + 1 == stage->count && !stage->finish.use;
        status = mldfi_run_op(r, side, chain, &s->chain->ops[stage->first + i], end ? dst : NULL, dst_bytes, err);
    }
    if (status == MLDF_OK && stage->finish.use && !finished)
        status = mldfi_run_finish_stage(r, side, chain, &stage->finish, dst, dst_bytes, err);
    return status;
}
