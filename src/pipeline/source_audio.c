/* Recordings: decode_audio and the windows behind it, and what resamples. They are followed back from what comes out to the samples that it is made
 * from; only their bytes are fetched, and converted straight into their place unless they are resampled. What a window lacks at its end is zeros. A clip
 * with the frames of its video (op_clip_sound.c) is the last step that goes into the source: each of its pieces is followed back by itself.
 *
 * In a reference plan the whole recording is decoded and each step runs by itself. */
#include <inttypes.h>
#include <string.h>

#include "field/audio_media.h"
#include "kernel/pcm.h"
#include "pipeline/clip.h"
#include "pipeline/decode_audio.h"
#include "pipeline/source.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { STEPS_MAX = 8 };

struct audio_source {
    mldf_audio_info info;
    struct taken {
        const struct op *op;
        const void *draw;
        uint64_t before; /* length in front of it */
    } steps[STEPS_MAX];
    size_t step_count;       /* without a clip, which is the last one that is composed: */
    const struct taken *cut; /* it; NULL: there is none */
    uint64_t length;         /* behind the last of them */
    const struct sinc *sinc; /* decode_audio(rate=) for this recording's rate; NULL: it has that rate */
    uint64_t stored;         /* samples of the recording, or of its piece, at the rate that it is stored at */
    struct span want;        /* of what the steps give: what is made now; followed back: */
    struct span wanted;      /* of these at the rate that decode_audio gives */
    uint64_t from;           /* what they are made from begins here: of the recording, or of its piece */
    struct span span;        /* of the recording: what is decoded */
};
_Static_assert(sizeof(struct audio_source) <= SOURCE_OWN_BYTES, "what a recording needs must fit");

static struct audio_source *own(const struct source_run *s) {
    return (struct audio_source *)(uintptr_t)s->own;
}

/* Is it cut with the frames of a video? */
static bool follows_video(const struct chain *c) {
    for (size_t i = 0; i < c->op_count; i++)
        if (c->ops[i].own_draw && mldfi_clip_is_sound(&c->ops[i]))
            return true;
    return false;
}

/* A view cuts a video by its frames: of its sound it says nothing, the clip does. */
static mldf_status take_piece(struct source_run *s, mldf_error *err) {
    const struct chain *c = s->chain;
    if (!s->pieced || !c->part)
        return MLDF_OK;
    s->pieced = false;
    return follows_video(c)
               ? MLDF_OK
               : mldfi_fail(err, MLDF_E_UNSUPPORTED,
                            "the view has pieces of the video's frames; their sound needs clip in one statement with "
                            "them: \"%s, %s.%s: clip(...)\"",
                            c->field_name, c->field_name, c->part->name);
}

/* A video without sound, whose clips have zeros. */
static mldf_status take_silence(struct source_run *s) {
    struct audio_source *a = own(s);
    a->info = (mldf_audio_info)MLDF_AUDIO_INFO_INIT;
    a->sinc = NULL;
    a->stored = 0;
    s->pieced = false;
    s->frame = (struct frame){.t = 0};
    return MLDF_OK;
}

static mldf_status extent(struct source_run *s, mldf_error *err) {
    struct audio_source *a = own(s);
    const struct edge *said = &s->chain->source;
    if (s->silent)
        return take_silence(s);
    a->info = (mldf_audio_info)MLDF_AUDIO_INFO_INIT;
    mldf_status status = mldf_audio_record(&s->value, &a->info, err);
    if (status == MLDF_OK)
        status = take_piece(s, err);
    if (status < 0)
        return status;
    s->frame = (struct frame){.t = s->pieced ? s->piece.steps : a->info.samples};
    const struct decode_audio_state *decode = mldfi_source_state(s);
    if ((status = mldfi_audio_check_bytes(&a->info, s->value.bytes, err)) < 0)
        return status;
    if (follows_video(s->chain) && (status = mldfi_source_start(s, &s->frame.start, err)) < 0)
        return status;
    if (said->rate.den && a->info.rate != said->rate.num)
        return mldfi_fail(err, MLDF_E_CORRUPT,
                          "sampling rate %" PRIu32 " Hz, and the file said %" PRIu64 " Hz for all recordings",
                          a->info.rate, said->rate.num);
    if (!decode->want.mono && a->info.channels != decode->channels)
        return mldfi_fail(err, MLDF_E_CORRUPT, "%" PRIu32 " channels, and the file said %" PRIu32 " for all recordings",
                          a->info.channels, decode->channels);
    if (s->pieced && (s->piece.have > a->info.samples || s->piece.from > a->info.samples - s->piece.have))
        return mldfi_fail(err, MLDF_E_CORRUPT,
                          "%" PRIu64 " samples, and the view has a piece of %" PRIu64 " from %" PRIu64 " on",
                          a->info.samples, s->piece.have, s->piece.from);
    if (s->pieced && s->piece.steps == MLDF_NONE)
        return mldfi_fail(err, MLDF_E_CORRUPT, "the recording could not be measured when the view was made");
    if (said->dims[0] >= 0 && s->frame.t != (uint64_t)said->dims[0])
        return mldfi_fail(err, MLDF_E_CORRUPT, "%" PRIu64 " samples, and the file said %" PRId64 " for all recordings",
                          s->frame.t, said->dims[0]);
    a->sinc = NULL;
    a->stored = s->frame.t;
    if (decode->resample)
        status = mldfi_sinc_set_get(decode->resample, a->info.rate, &a->sinc, err);
    if (status == MLDF_OK && a->sinc)
        s->frame.t = mldfi_sinc_length(a->sinc, a->stored);
    return status;
}

static void set_dims(const struct source_run *s, uint64_t length, struct tensor *t) {
    const struct decode_audio_state *decode = mldfi_source_state(s);
    uint32_t first = t->axes[0] == 'n';
    if (first)
        t->dims[0] = ((const struct clip_state *)own(s)->cut->op->state)->count;
    if (t->ndim == first + 2)
        t->dims[first] = decode->channels;
    t->dims[t->ndim - 1] = length;
}

static void shape(const struct source_run *s, struct tensor *t) {
    set_dims(s, own(s)->length, t);
}

static void begin(struct source_run *s) {
    own(s)->length = s->frame.t;
    own(s)->step_count = 0;
    own(s)->cut = NULL;
}

static bool take(struct source_run *s, const struct op *op, const void *draw, const struct frame *before,
                 const struct frame *after) {
    struct audio_source *a = own(s);
    bool cut = mldfi_clip_is_sound(op);
    if (s->composed == STEPS_MAX || a->cut || op->frames || (!cut && !op->type->pull) ||
        s->run->plan->options.reference)
        return false;
    a->steps[s->composed] = (struct taken){op, draw, before->t};
    a->cut = cut ? &a->steps[s->composed] : NULL;
    a->step_count += !cut;
    a->length = after->t;
    return true;
}

/* What a span of the piece is in the recording. */
static struct span pull_piece(const struct plan_piece *piece, struct span want) {
    if (want.from >= piece->have)
        return (struct span){0, 0};
    uint64_t left = piece->have - want.from;
    return (struct span){piece->from + want.from, want.count < left ? want.count : left};
}

/* What is made next: a span of what the steps give, and what it is made from. */
static void aim(struct source_run *s, struct span want) {
    struct audio_source *a = own(s);
    a->want = a->span = want;
    for (size_t i = a->step_count; i-- > 0;)
        a->span = a->steps[i].op->type->pull(a->steps[i].op, a->steps[i].draw, a->steps[i].before, a->span);
    a->wanted = a->span;
    if (a->sinc)
        mldfi_sinc_inputs(a->sinc, a->stored, a->wanted.from, a->wanted.count, &a->span.from, &a->span.count);
    a->from = a->span.from;
    if (s->pieced)
        a->span = pull_piece(&s->piece, a->span);
}

static uint32_t cut_count(const struct audio_source *a) {
    return a->cut ? ((const struct clip_state *)a->cut->op->state)->count : 1;
}

static mldf_status settle(struct source_run *s, mldf_error *err) {
    struct audio_source *a = own(s);
    const struct decode_audio_state *decode = mldfi_source_state(s);
    size_t bytes;
    if (a->cut) /* how long its clips are the video's times say, which may be anything */
        return mldfi_sound_room(s->run->plan->options.max_bytes, s->whole, a->length,
                                (uint64_t)cut_count(a) * decode->channels, sizeof(float), &bytes, err);
    aim(s, (struct span){0, a->length});
    return MLDF_OK;
}

/* Of packets, a guess for the system's read-ahead: where they are, their table says when it is read. */
static mldf_status ranges(const struct source_run *s, struct byte_range *out, size_t *count) {
    struct source_run pieces = *s; /* the pieces of a clip are aimed at in turn */
    const struct audio_source *a = own(&pieces);
    bool packets = mldfi_audio_is_packets(a->info.codec);
    *count = 0;
    for (uint32_t i = 0; i < cut_count(a) && *count < SOURCE_RANGES && !s->silent; i++) {
        struct byte_range *range = &out[*count];
        if (a->cut) {
            struct sound_cut cut;
            mldfi_clip_cut(a->cut->op, a->cut->draw, i, &cut);
            aim(&pieces, (struct span){cut.from, cut.have});
        }
        if (packets)
            mldfi_audio_guess(&a->info, s->whole, a->span.from, a->span.count, &range->offset, &range->bytes);
        else
            mldfi_audio_range(&a->info, a->span.from, a->span.count, &range->offset, &range->bytes);
        *count += range->bytes > 0 && (!packets || s->run->measuring);
    }
    return MLDF_OK;
}

static mldf_status get_bytes(void *user, uint64_t offset, uint64_t bytes, const void **data, mldf_error *err) {
    return mldfi_source_range(user, (struct byte_range){offset, bytes}, data, err);
}

/* May the recording become so many numbers? */
static mldf_status check_room(const struct source_run *s, const struct tensor *t, size_t *bytes, mldf_error *err) {
    uint64_t rows = 1;
    for (uint32_t i = 0; i + 1 < t->ndim; i++)
        rows *= t->dims[i];
    return mldfi_sound_room(s->run->plan->options.max_bytes, s->whole, t->dims[t->ndim - 1], rows, sizeof(float), bytes,
                            err);
}

/* Memory for what a step makes, in one of the scratch buffers. */
static mldf_status part_room(const struct source_run *s, int which, struct tensor *t, mldf_error *err) {
    struct op_work *work = &s->run->worker->work;
    size_t bytes;
    mldf_status status = check_room(s, t, &bytes, err);
    if (status == MLDF_OK)
        status = mldfi_buffer_resize(&work->scratch[which], bytes + 1, err);
    t->data = work->scratch[which].data;
    return status;
}

/* Samples [channels][count], as decode_audio gives them. */
static struct tensor wave_of(const struct source_run *s, uint64_t count) {
    const struct decode_audio_state *decode = mldfi_source_state(s);
    struct tensor t = mldfi_tensor_of(&s->chain->ops[s->stage->first].out);
    t.dims[0] = decode->channels;
    t.dims[t.ndim - 1] = count;
    return t;
}

/* Rows for what a->want gives: one a channel, `stride` numbers apart. */
struct rows {
    float *data;
    size_t stride;
};

/* The decoded samples through the steps that make new ones of them; the last of these gives as much as is wanted, or what the windows behind it have
 * before their zeros begin. */
static mldf_status run_parts(struct source_run *s, const float *decoded, struct rows to, mldf_error *err) {
    struct audio_source *a = own(s);
    struct op_work *work = &s->run->worker->work;
    struct span spans[STEPS_MAX + 1]; /* in front of each step: what of it is used; behind the last: what is wanted */
    struct tensor in = wave_of(s, a->span.count);
    uint32_t at = in.ndim - 1;
    uint64_t rows = in.ndim == 2 ? in.dims[0] : 1;
    int room = 1; /* which scratch does not hold `in`; 0 is the operations' own */
    spans[a->step_count] = a->want;
    for (size_t i = a->step_count; i-- > 0;)
        spans[i] = a->steps[i].op->type->pull(a->steps[i].op, a->steps[i].draw, a->steps[i].before, spans[i + 1]);
    in.data = (void *)(uintptr_t)decoded;
    if (a->sinc) {
        struct tensor out = in;
        out.dims[at] = a->wanted.count;
        mldf_status status = mldfi_buffer_resize(&work->scratch[0], mldfi_sinc_work(a->sinc) * sizeof(float), err);
        if (status == MLDF_OK)
            status = part_room(s, room, &out, err);
        if (status < 0)
            return status;
        for (uint64_t c = 0; c < rows; c++)
            mldfi_sinc_run(a->sinc, work->kernels->fft, (const float *)in.data + c * in.dims[at], a->from,
                           a->span.count, a->wanted.from, a->wanted.count, (float *)out.data + c * out.dims[at],
                           (float *)(void *)work->scratch[0].data);
        in = out;
        room = 3 - room;
    }
    for (size_t i = 0; i < a->step_count; i++) {
        const struct op *op = a->steps[i].op;
        struct tensor out = in;
        if (!op->type->part)
            continue; /* a window: what is there stays, what is not is zeros */
        out.dims[at] = spans[i + 1].count;
        mldf_status status = part_room(s, room, &out, err);
        if (status < 0)
            return status;
        spans[i].count = in.dims[at];
        status = op->type->part(op, a->steps[i].draw, spans[i], &in, spans[i + 1], &out, work, err);
        if (status < 0)
            return mldfi_in_step(op, status, err);
        in = out;
        room = 3 - room;
    }
    size_t all = (size_t)a->want.count, have = (size_t)(in.dims[at] < all ? in.dims[at] : all);
    for (uint64_t c = 0; c < rows; c++) {
        float *row = to.data + c * to.stride;
        memcpy(row, (const float *)in.data + c * in.dims[at], have * sizeof *row);
        memset(row + have, 0, (all - have) * sizeof *row);
    }
    return MLDF_OK;
}

static bool has_parts(const struct source_run *s) {
    if (own(s)->sinc)
        return true;
    for (size_t i = 0; i < own(s)->step_count; i++)
        if (own(s)->steps[i].op->type->part)
            return true;
    return false;
}

/* What was aimed at. */
static mldf_status produce_want(struct source_run *s, void *reader, struct rows to, mldf_error *err) {
    struct audio_source *a = own(s);
    const struct decode_audio_state *decode = mldfi_source_state(s);
    struct audio_bytes bytes = {get_bytes, s, s->whole};
    const bool parts = has_parts(s);
    const size_t have = (size_t)a->span.count, count = (size_t)a->want.count;
    struct rows decoded = to;
    mldf_status status = MLDF_OK;
    if (parts) {
        struct tensor room = wave_of(s, have);
        status = part_room(s, 2, &room, err);
        decoded = (struct rows){room.data, have};
    }
    if (status == MLDF_OK)
        status = mldfi_audio_window(reader, &a->info, &bytes, a->span.from, have, &decode->want, decoded.data,
                                    decoded.stride, err);
    for (uint32_t c = 0; !parts && c < decode->channels && have < count; c++)
        memset(to.data + c * to.stride + have, 0, (count - have) * sizeof *to.data);
    return status == MLDF_OK && parts ? run_parts(s, decoded.data, to, err) : status;
}

/* The pieces of a clip, one behind the other. */
static mldf_status produce_cuts(struct source_run *s, void *reader, const struct tensor *t, mldf_error *err) {
    struct audio_source *a = own(s);
    const struct decode_audio_state *decode = mldfi_source_state(s);
    const size_t steps = (size_t)t->dims[t->ndim - 1];
    float *to = t->data;
    mldf_status status = MLDF_OK;
    memset(to, 0, mldfi_tensor_bytes(t));
    for (uint32_t i = 0; i < cut_count(a) && status == MLDF_OK; i++, to += steps * decode->channels) {
        struct sound_cut cut;
        mldfi_clip_cut(a->cut->op, a->cut->draw, i, &cut);
        if (cut.have == 0)
            continue;
        aim(s, (struct span){cut.from, cut.have});
        status = produce_want(s, reader, (struct rows){to + cut.zeros, steps}, err);
    }
    return status;
}

static mldf_status produce(struct source_run *s, bool finished, void *dst, size_t dst_bytes, mldf_error *err) {
    struct audio_source *a = own(s);
    struct chain_memory *memory = &s->side->chains[s->chain_index];
    struct plan_worker *worker = s->run->worker;
    struct tensor t = mldfi_tensor_of(&s->chain->ops[s->stage->first + s->composed].out);
    void *reader;
    int in;
    (void)finished;
    set_dims(s, a->length, &t);
    memory->in = -1;
    memory->frame = (struct frame){.t = a->length};
    mldf_status status = mldfi_kit_worker(&worker->kit, FAMILY_AUDIO, &reader, err);
    size_t bytes_made;
    if (status == MLDF_OK)
        status = check_room(s, &t, &bytes_made, err);
    if (status == MLDF_OK)
        status = mldfi_stage_room(memory, &t, dst, dst_bytes, &in, err);
    if (status < 0)
        return status;
    double start = mldfi_worker_clock(worker), waited = worker->times[0];
    if (a->cut)
        status = produce_cuts(s, reader, &t, err);
    else if (!s->silent)
        status = produce_want(s, reader, (struct rows){t.data, (size_t)a->length}, err);
    worker->times[s->stage->step] += mldfi_worker_clock(worker) - start - (worker->times[0] - waited);
    memory->tensor = t;
    memory->in = in;
    return status;
}

const struct source_type mldfi_source_audio = {
    .takes = OP_TIME,
    .takes_nothing = follows_video,
    .extent = extent,
    .shape = shape,
    .begin = begin,
    .take = take,
    .settle = settle,
    .ranges = ranges,
    .produce = produce,
};
