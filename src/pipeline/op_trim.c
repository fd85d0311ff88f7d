/* trim: a recording without the silence at its beginning and end, as librosa.effects.trim has it. A frame is silent when its power is `top_db` below the
 * loudest frame's (or below `ref`); frames are centred, zeros are around the recording, and of several channels the loudest counts.
 *
 * How long the result is, only the samples can say. What is measured before they are decoded (buckets, budgets, the room in a batch) is the length
 * of the input, which is never less; the batch then has the true lengths. */
#include <math.h>
#include <string.h>

#include "pipeline/op_help.h"
#include "pipeline/op_registry.h"
#include "pipeline/spectrum.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/math.h"

enum { TOP_DB, FRAME, HOP, REF };
static const struct op_param params[] = {
    {"top_db", PARAM_FLOAT, "60", 0, 400, NULL, 0, 0,
     "decibels below the loudest frame from which on a frame is silent"},
    {"frame", PARAM_INT, "2048", 1, 1 << 20, NULL, 0, 0, "samples of a frame"},
    {"hop", PARAM_INT, "512", 1, 1 << 20, NULL, 0, 0, "samples from one frame to the next"},
    {"ref", PARAM_FLOAT, "0", 0, 1e6, NULL, 0, 0, "the amplitude that is 0 dB; 0: the loudest frame's"},
    OP_END_OF_PARAMS,
};
static const double least_power = 1e-10; /* librosa's amin, squared */

static mldf_status trim_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    if (!mldfi_edge_is_wave(in))
        return mldfi_edge_refuse(op, in, "a recording", err);
    *out = *in;
    out->dims[in->ndim - 1] = DIM_VARIES;
    out->seconds = (struct ratio){0, 0};
    return MLDF_OK;
}

/* The mean square of the frame around sample `at`; of all channels the greatest. */
static double frame_power(const struct tensor *in, uint64_t at, uint64_t frame) {
    uint64_t n = in->dims[in->ndim - 1], rows = in->ndim == 2 ? in->dims[0] : 1;
    uint64_t from = at > frame / 2 ? at - frame / 2 : 0, to = at + (frame - frame / 2);
    double most = 0;
    to = to < n ? to : n;
    for (uint64_t c = 0; c < rows; c++) {
        const float *x = (const float *)in->data + c * n;
        double sum = 0;
        for (uint64_t i = from; i < to; i++)
            sum += (double)x[i] * (double)x[i];
        most = sum > most ? sum : most;
    }
    return most / (double)frame;
}

static double floored(double power) {
    return power > least_power ? power : least_power;
}

/* librosa puts frame / 2 zeros at each end, rounded down, and takes the frames that fit: with an odd frame one sample less. */
static uint64_t frame_count(uint64_t n, uint64_t frame, uint64_t hop) {
    uint64_t padded = n + 2 * (frame / 2);
    return padded < frame ? 0 : (padded - frame) / hop + 1;
}

static mldf_status trim_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                            struct op_work *work, mldf_error *err) {
    uint64_t n = in->dims[in->ndim - 1], rows = in->ndim == 2 ? in->dims[0] : 1;
    uint64_t frame = (uint64_t)op->args[FRAME].i, hop = (uint64_t)op->args[HOP].i;
    uint64_t frames = frame_count(n, frame, hop);
    uint64_t first = UINT64_MAX, last = 0;
    double ref = op->args[REF].f * op->args[REF].f;
    (void)draw;
    TRY(mldfi_buffer_resize(&work->scratch[0], (size_t)frames * sizeof(double), err));
    double *powers = (double *)(void *)work->scratch[0].data;
    for (uint64_t f = 0; f < frames; f++) {
        powers[f] = frame_power(in, f * hop, frame);
        if (op->args[REF].f <= 0 && powers[f] > ref)
            ref = powers[f];
    }
    double least = floored(ref) * mldfi_exp(-op->args[TOP_DB].f * 0.23025850929940458); /* ln 10 / 10 */
    for (uint64_t f = 0; f < frames; f++)
        if (floored(powers[f]) > least) {
            first = first == UINT64_MAX ? f : first;
            last = f;
        }
    uint64_t from = first == UINT64_MAX ? 0 : first * hop, to = first == UINT64_MAX ? 0 : (last + 1) * hop;
    from = from < n ? from : n;
    to = to < n ? to : n;
    uint64_t count = to > from ? to - from : 0;
    for (uint64_t c = 0; c < rows && count; c++)
        memmove((float *)out->data + c * count, (const float *)in->data + c * n + from, (size_t)count * sizeof(float));
    out->dims[out->ndim - 1] = count;
    return MLDF_OK;
}

static const struct op_type op_trim = {
    .name = "trim",
    .help = "a recording without the silence at its ends, as librosa.effects.trim",
    .flags = OP_IN_PLACE | OP_SHRINKS,
    .params = params,
    .infer = trim_infer,
    .run = trim_run,
};

const struct op_type *const mldfi_ops_trim[] = {&op_trim, NULL};
