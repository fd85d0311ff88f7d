/* decode_audio: a stored recording becomes numbers. It is the first step of every recording's chain, written or not; source_audio.c does the work,
 * together with the windows that follow. */
#include "pipeline/decode_audio.h"

#include <inttypes.h>
#include <stdlib.h>

#include "pipeline/op_help.h"
#include "pipeline/op_registry.h"
#include "util/buffer.h"
#include "util/error.h"

enum { MONO, RATE, PORTABLE, OPUS };
enum { OPUS_LIBOPUS, OPUS_FFMPEG };
static const char *const opus_words[] = {"libopus", "ffmpeg", NULL};
static const struct op_param params[] = {
    {"mono", PARAM_BOOL, "false", 0, 0, NULL, 0, 0, "one channel: the mean of all"},
    {"rate", PARAM_INT, "0", 0, 0x1p31, NULL, 0, 0,
     "samples a second: all recordings are resampled to this rate, as `resample` does it; 0: they keep theirs, which must be one"},
    {"portable", PARAM_BOOL, "false", 0, 0, NULL, 0, 0,
     "lossy codecs: the same bits on every CPU of an architecture, by the libraries' generic code; slower"},
    {"opus", PARAM_CHOICE, "libopus", 0, 0, opus_words, 0, 0,
     "who decodes Opus: libopus, or FFmpeg, which is faster and gives other last bits"},
    OP_END_OF_PARAMS,
};

static mldf_status check(const struct edge *in, bool mono, bool resampled, mldf_error *err) {
    if (!resampled && in->rates.least != in->rates.most)
        return mldfi_fail(err, MLDF_E_TYPE,
                          "the recordings have sampling rates from %" PRIu32 " to %" PRIu32
                          " Hz; decode_audio(rate=n) gives one rate for all",
                          in->rates.least, in->rates.most);
    if (in->dims[1] == DIM_VARIES && !mono && in->most[1] != MLDF_NONE)
        return mldfi_fail(err, MLDF_E_TYPE,
                          "the recordings have different numbers of channels, up to %" PRIu64
                          "; decode_audio(mono=true) gives one channel for all",
                          in->most[1]);
    return MLDF_OK;
}

static uint64_t length_at(const struct sinc *sinc, uint64_t n) {
    return sinc ? mldfi_sinc_length(sinc, n) : n;
}

/* The rate and the length that come out. A ratio that cannot be made is found here for the rates that are known. */
static mldf_status resample(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    struct decode_audio_state *s = op->state;
    uint32_t t = out->ndim - 1, rate = (uint32_t)op->args[RATE].i;
    const struct sinc *least, *most;
    mldf_status status = mldfi_sinc_set_new(rate, &s->resample, err);
    out->rate = (struct ratio){rate, 1};
    out->dims[t] = DIM_VARIES;
    out->most[t] = MLDF_NONE;
    uint64_t whole = in->seconds.den && in->seconds.num % in->seconds.den == 0 ? in->seconds.num / in->seconds.den : 0;
    if (whole && whole <= INT32_MAX) /* every recording, or piece of one, lasts so many seconds: at any rate */
        mldfi_edge_fix(out, t, (int64_t)(whole * rate));
    if (status < 0 || in->rates.least == 0 || whole)
        return status;
    status = mldfi_sinc_set_get(s->resample, in->rates.least, &least, err);
    if (status == MLDF_OK)
        status = mldfi_sinc_set_get(s->resample, in->rates.most, &most, err);
    if (status < 0)
        return status;
    if (in->most[0] != MLDF_NONE)
        out->most[t] = length_at(least, in->most[0]);
    if (in->rates.least == in->rates.most && in->dims[0] >= 0)
        out->dims[t] = (int64_t)length_at(least, (uint64_t)in->dims[0]);
    return MLDF_OK;
}

static mldf_status infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    struct decode_audio_state *s;
    bool mono = op->args[MONO].i != 0;
    if (in->kind != VALUE_ENCODED || in->family != FAMILY_AUDIO)
        return mldfi_edge_refuse(op, in, "a stored recording", err);
    TRY(check(in, mono, op->args[RATE].i != 0, err));
    s = op->state = mldfi_alloc_zero(1, sizeof *s, err);
    if (!s)
        return MLDF_E_MEMORY;
    s->want = (struct audio_want){
        .mono = mono,
        .choice = {.portable = op->args[PORTABLE].i != 0, .ffmpeg_opus = op->args[OPUS].i == OPUS_FFMPEG}};
    s->channels = mono || in->dims[1] == DIM_VARIES ? 1 : (uint32_t)in->dims[1]; /* unknown only if there are none */
    *out = (struct edge){.kind = VALUE_ARRAY, .dtype = MLDF_F32, .rate = in->rate, .anchored = true};
    out->ndim = s->channels == 1 ? 1 : 2;
    mldfi_set_axes(out->axes, s->channels == 1 ? "t" : "ct");
    mldfi_edge_fix(out, 0, s->channels);
    out->dims[out->ndim - 1] = in->dims[0];
    out->most[out->ndim - 1] = in->most[0];
    return op->args[RATE].i ? resample(op, in, out, err) : MLDF_OK;
}

static void free_state(void *state) {
    if (state)
        mldfi_sinc_set_free(((struct decode_audio_state *)state)->resample);
    free(state);
}

static const struct op_type op_decode_audio = {
    .name = "decode_audio",
    .help = "a stored recording becomes float: (t), or (channels, t)",
    .params = params,
    .quiet = "portable",
    .decodes = FAMILY_AUDIO,
    .infer = infer,
    .free_state = free_state,
};

const struct op_type *const mldfi_ops_decode_audio[] = {&op_decode_audio, NULL};
