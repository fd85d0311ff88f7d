/* Recordings: decode_audio and the windows behind it, and what resamples. They are followed back from what comes out to the samples that it is made
 * from; only their bytes are fetched, and converted straight into their place unless they are resampled. What a window lacks at its end is zeros.
 *
 * In a reference plan the whole recording is decoded and each step runs by itself. */
#include <inttypes.h>
#include <string.h>

#include "field/audio_media.h"
#include "kernel/pcm.h"
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
    uint64_t length;         /* behind the last of them */
    const struct sinc *sinc; /* decode_audio(rate=) for this recording's rate; NULL: it has that rate */
    uint64_t stored;         /* samples of the recording, or of its piece, at the rate that it is stored at */
    struct span wanted;      /* of these at the rate that decode_audio gives */
    uint64_t from;           /* what they are made from begins here: of the recording, or of its piece */
    struct span span;        /* of the recording: what is decoded */
};
_Static_assert(sizeof(struct audio_source) <= SOURCE_OWN_BYTES, "what a recording needs must fit");

static struct audio_source *own(const struct source_run *s) {
    return (struct audio_source *)(uintptr_t)s->own;
}

static mldf_status extent(struct source_run *s, mldf_error *err) {
    struct audio_source *a = own(s);
    const struct edge *said = &s->chain->source;
    mldf_status status = mldf_audio_record(&s->value, &a->info, err);
    if (status < 0)
        return status;
    s->frame = (struct frame){.t = s->pieced ? s->piece.steps : a->info.samples};
    const struct decode_audio_state *decode = mldfi_source_state(s);
    if ((status = mldfi_audio_check_bytes(&a->info, s->value.bytes, err)) < 0)
        return status;
    if (said->rate.den && a->info.rate != said->rate.num)
        return mldfi_fail(err, MLDF_E_CORRUPT,
                          "sampling rate %" PRIu32 " Hz, and the file said %" PRIu64 " Hz for all recordings",
                          a->info.rate, said->rate.num);
    if (!decode->mono && a->info.channels != decode->channels)
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
    t->dims[0] = decode->channels;
    t->dims[t->ndim - 1] = length;
}

static void shape(const struct source_run *s, struct tensor *t) {
    set_dims(s, own(s)->length, t);
}

static void begin(struct source_run *s) {
    own(s)->length = s->frame.t;
}

static bool take(struct source_run *s, const struct op *op, const void *draw, const struct frame *before,
                 const struct frame *after) {
    struct audio_source *a = own(s);
    if (s->composed == STEPS_MAX || s->run->plan->options.reference)
        return false;
    a->steps[s->composed] = (struct taken){op, draw, before->t};
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

static mldf_status settle(struct source_run *s, mldf_error *err) {
    struct audio_source *a = own(s);
    (void)err;
    a->span = (struct span){0, a->length};
    for (size_t i = s->composed; i-- > 0;)
        a->span = a->steps[i].op->type->pull(a->steps[i].op, a->steps[i].draw, a->steps[i].before, a->span);
    a->wanted = a->span;
    if (a->sinc)
        mldfi_sinc_inputs(a->sinc, a->stored, a->wanted.from, a->wanted.count, &a->span.from, &a->span.count);
    a->from = a->span.from;
    if (s->pieced)
        a->span = pull_piece(&s->piece, a->span);
    return MLDF_OK;
}

/* Of packets, a guess for the system's read-ahead: where they are, their table says when it is read. */
static mldf_status ranges(const struct source_run *s, struct byte_range *out, size_t *count) {
    const struct audio_source *a = own(s);
    bool packets = mldfi_audio_is_packets(a->info.codec);
    if (packets)
        mldfi_audio_guess(&a->info, s->whole, a->span.from, a->span.count, &out[0].offset, &out[0].bytes);
    else
        mldfi_audio_range(&a->info, a->span.from, a->span.count, &out[0].offset, &out[0].bytes);
    *count = out[0].bytes > 0 && (!packets || s->run->measuring);
    return MLDF_OK;
}

static mldf_status get_bytes(void *user, uint64_t offset, uint64_t bytes, const void **data, mldf_error *err) {
    return mldfi_source_range(user, (struct byte_range){offset, bytes}, data, err);
}

/* May the recording become so many numbers? */
static mldf_status check_room(const struct source_run *s, const struct tensor *t, size_t *bytes, mldf_error *err) {
    uint64_t channels = t->ndim == 2 ? t->dims[0] : 1;
    return mldfi_sound_room(s->run->plan->options.max_bytes, s->whole, t->dims[t->ndim - 1], channels, sizeof(float),
                            bytes, err);
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

/* The decoded samples, [channels][samples], through the steps that make new ones of them; the last of these gives as much as t has, or what the
 * windows behind it have before their zeros begin. */
static mldf_status run_parts(struct source_run *s, const float *decoded, struct tensor *t, mldf_error *err) {
    struct audio_source *a = own(s);
    struct op_work *work = &s->run->worker->work;
    struct span spans[STEPS_MAX + 1]; /* in front of each step: what of it is used; behind the last: all */
    struct tensor in = *t;
    uint32_t at = t->ndim - 1;
    uint64_t rows = t->ndim == 2 ? t->dims[0] : 1;
    int room = 1; /* which scratch does not hold `in`; 0 is the operations' own */
    spans[s->composed] = (struct span){0, a->length};
    for (size_t i = s->composed; i-- > 0;)
        spans[i] = a->steps[i].op->type->pull(a->steps[i].op, a->steps[i].draw, a->steps[i].before, spans[i + 1]);
    in.data = (void *)(uintptr_t)decoded;
    in.dims[at] = a->span.count;
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
    for (size_t i = 0; i < s->composed; i++) {
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
    size_t have = (size_t)(in.dims[at] < t->dims[at] ? in.dims[at] : t->dims[at]), all = (size_t)t->dims[at];
    for (uint64_t c = 0; c < rows; c++) {
        float *to = (float *)t->data + c * all;
        memcpy(to, (const float *)in.data + c * in.dims[at], have * sizeof *to);
        memset(to + have, 0, (all - have) * sizeof *to);
    }
    return MLDF_OK;
}

static bool has_parts(const struct source_run *s) {
    if (own(s)->sinc)
        return true;
    for (size_t i = 0; i < s->composed; i++)
        if (own(s)->steps[i].op->type->part)
            return true;
    return false;
}

static mldf_status produce(struct source_run *s, bool finished, void *dst, size_t dst_bytes, mldf_error *err) {
    struct audio_source *a = own(s);
    const struct decode_audio_state *decode = mldfi_source_state(s);
    struct chain_memory *memory = &s->side->chains[s->chain_index];
    struct plan_worker *worker = s->run->worker;
    struct tensor t = mldfi_tensor_of(&s->chain->ops[s->stage->first + s->composed].out);
    struct audio_bytes bytes = {get_bytes, s, s->whole};
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
    bool parts = has_parts(s);
    float *out = t.data;
    size_t length = parts ? (size_t)a->span.count : (size_t)a->length, have = (size_t)a->span.count;
    if (parts) {
        struct tensor decoded = t;
        decoded.dims[t.ndim - 1] = have;
        status = part_room(s, 2, &decoded, err);
        out = decoded.data;
    }
    if (status == MLDF_OK)
        status = mldfi_audio_window(reader, &a->info, &bytes, a->span.from, have, decode->mono, out, length, err);
    for (uint32_t c = 0; c < decode->channels && have < length; c++)
        memset(out + c * length + have, 0, (length - have) * sizeof *out);
    if (status == MLDF_OK && parts)
        status = run_parts(s, out, &t, err);
    worker->times[s->stage->step] += mldfi_worker_clock(worker) - start - (worker->times[0] - waited);
    memory->tensor = t;
    memory->in = in;
    return status;
}

const struct source_type mldfi_source_audio = {
    .takes = OP_TIME,
    .extent = extent,
    .shape = shape,
    .begin = begin,
    .take = take,
    .settle = settle,
    .ranges = ranges,
    .produce = produce,
};
