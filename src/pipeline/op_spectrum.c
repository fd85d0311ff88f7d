/* stft, spectrogram and mel: recordings as spectra. torchaudio's and librosa's definitions with their own defaults; Whisper's whole front end. The
 * frames are made in spectrum.c, the bands in mel_bank.c; Kaldi's features are in op_fbank.c. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "pipeline/op_help.h"
#include "pipeline/op_registry.h"
#include "pipeline/spectrum.h"
#include "util/buffer.h"
#include "util/error.h"

/* ---- What the operations share --------------------------------------------------------------------------------------------------------- */

bool mldfi_edge_is_wave(const struct edge *in) {
    bool flat = in->ndim == 1 && (in->axes[0] == 0 || strcmp(in->axes, "t") == 0);
    return in->kind == VALUE_ARRAY && in->dtype == MLDF_F32 && in->role == ROLE_NONE &&
           (flat || (in->ndim == 2 && strcmp(in->axes, "ct") == 0));
}

mldf_status mldfi_wave_rate(const struct edge *in, const struct arg *rate, uint32_t *out, mldf_error *err) {
    uint64_t own = in->rate.den ? in->rate.num / in->rate.den : 0;
    if (in->rate.den && (own == 0 || in->rate.num % in->rate.den || own > UINT32_MAX))
        return mldfi_fail(err, MLDF_E_TYPE, "the sampling rate %" PRIu64 "/%" PRIu64 " is not a whole number",
                          in->rate.num, in->rate.den);
    if (own == 0 && rate->i == 0)
        return mldfi_fail(err, MLDF_E_TYPE, "the value has no sampling rate; give it with rate=");
    if (own && rate->i && own != (uint64_t)rate->i)
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "rate=%" PRId64 ", and the recordings have %" PRIu64 " Hz; rate= does not resample", rate->i,
                          own);
    *out = (uint32_t)(own ? own : (uint64_t)rate->i);
    return MLDF_OK;
}

void mldfi_spectrum_edge(const struct spectrum *s, const struct edge *in, enum spectrum_layout layout,
                         struct edge *out) {
    bool channels = in->ndim == 2;
    uint32_t t = in->ndim - 1, first = channels ? 1 : 0;
    uint32_t f_at = layout == SPECTRUM_TF ? first + 1 : first, t_at = layout == SPECTRUM_TF ? first : first + 1;
    *out = (struct edge){.kind = VALUE_ARRAY, .dtype = layout == SPECTRUM_COMPLEX ? MLDF_C64 : MLDF_F32};
    out->ndim = first + 2;
    mldfi_set_axes(out->axes, layout == SPECTRUM_TF ? channels ? "ctf" : "tf" : channels ? "cft" : "ft");
    if (channels) {
        out->dims[0] = in->dims[0];
        out->most[0] = in->most[0];
    }
    mldfi_edge_fix(out, f_at, mldfi_spectrum_rows(s));
    out->dims[t_at] = in->dims[t] < 0 ? DIM_VARIES : (int64_t)mldfi_spectrum_frames(s, (uint64_t)in->dims[t]);
    out->most[t_at] = in->most[t] == MLDF_NONE ? MLDF_NONE : mldfi_spectrum_frames(s, in->most[t]);
    if (in->rate.den && !__builtin_mul_overflow(in->rate.den, (uint64_t)s->hop, &out->rate.den))
        out->rate.num = in->rate.num;
}

mldf_status mldfi_spectrum_all(const struct spectrum *s, const struct tensor *in, struct tensor *out,
                               struct op_work *work, mldf_error *err) {
    uint64_t channels = in->ndim == 2 ? in->dims[0] : 1, n = in->dims[in->ndim - 1];
    enum spectrum_layout layout = out->dtype == MLDF_C64                                    ? SPECTRUM_COMPLEX
                                  : mldfi_axis(out->axes, 't') < mldfi_axis(out->axes, 'f') ? SPECTRUM_TF
                                                                                            : SPECTRUM_FT;
    size_t step = channels ? mldfi_tensor_bytes(out) / sizeof(float) / (size_t)channels : 0;
    mldf_status status = MLDF_OK;
    for (uint64_t c = 0; c < channels && status == MLDF_OK; c++)
        status =
            mldfi_spectrum_run(s, (const float *)in->data + c * n, n, layout, (float *)out->data + c * step, work, err);
    return status;
}

/* ---- stft, spectrogram -------------------------------------------------------------------------------------------------------------------- */

enum { HOP_MAX = 1 << 20 };
static const char *const pads[] = {"reflect", "zero", "none", NULL};
static const enum frame_pad pad_of[] = {FRAME_REFLECT, FRAME_ZERO, FRAME_SNIP};

enum { N_FFT, WIN, HOP, PAD, POWER };
#define STFT_PARAMS \
    {"n_fft", PARAM_INT, "400", 1, FFT_MAX, NULL, 0, 0, "points of the transform: a product of 2, 3 and 5"}, \
        {"win", PARAM_INT, "0", 0, FFT_MAX, NULL, 0, 0, "samples of the Hann window; 0: n_fft"}, \
        {"hop", PARAM_INT, "0", 0, HOP_MAX, NULL, 0, 0, "samples from one frame to the next; 0: half the window"}, { \
        "pad", PARAM_CHOICE, "reflect", 0, 0, pads, 0, 0, \
            "the first frame is centred on the first sample, and the ends are reflected or filled with zeros; or there " \
            "are only frames that lie inside the recording" \
    }
static const struct op_param stft_params[] = {STFT_PARAMS, OP_END_OF_PARAMS};
static const struct op_param spectrogram_params[] = {
    STFT_PARAMS,
    {"power", PARAM_INT, "2", 1, 2, NULL, 0, 0, "1: magnitudes; 2: their squares"},
    OP_END_OF_PARAMS,
};

/* What all operations of the kind keep. */
static struct spectrum *begin_state(struct op *op, mldf_error *err) {
    return op->state = mldfi_alloc_zero(1, sizeof(struct spectrum), err);
}

void mldfi_spectrum_end(void *state) {
    if (state)
        mldfi_spectrum_free(state);
    free(state);
}

static mldf_status set_frames(struct spectrum *s, int64_t n_fft, int64_t win, int64_t hop, enum frame_pad pad,
                              mldf_error *err) {
    win = win ? win : n_fft;
    hop = hop ? hop : win / 2;
    if (hop < 1)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "hop must be at least 1");
    mldf_status status = mldfi_spectrum_hann(s, (uint32_t)n_fft, (uint32_t)win, (uint32_t)hop, err);
    s->pad = pad;
    if (pad == FRAME_SNIP)
        s->offset = 0;
    return status;
}

static mldf_status stft_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    bool power = op->type->params == spectrogram_params;
    if (!mldfi_edge_is_wave(in))
        return mldfi_edge_refuse(op, in, "a recording", err);
    struct spectrum *s = begin_state(op, err);
    if (!s)
        return MLDF_E_MEMORY;
    s->magnitude = power && op->args[POWER].i == 1;
    mldf_status status =
        set_frames(s, op->args[N_FFT].i, op->args[WIN].i, op->args[HOP].i, pad_of[op->args[PAD].i], err);
    if (status == MLDF_OK)
        mldfi_spectrum_edge(s, in, power ? SPECTRUM_FT : SPECTRUM_COMPLEX, out);
    return status;
}

mldf_status mldfi_spectrum_op_shape(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                                    mldf_error *err) {
    const struct spectrum *s = op->state;
    uint64_t n = in->dims[in->ndim - 1];
    (void)draw;
    if (in->ndim == 2)
        out->dims[0] = in->dims[0];
    out->dims[mldfi_axis(out->axes, 'f')] = mldfi_spectrum_rows(s);
    out->dims[mldfi_axis(out->axes, 't')] = mldfi_spectrum_frames(s, n);
    return mldfi_spectrum_check(s, n, err);
}

static mldf_status run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                       struct op_work *work, mldf_error *err) {
    (void)draw;
    return mldfi_spectrum_all(op->state, in, out, work, err);
}

static const struct op_type op_stft = {
    .name = "stft",
    .help = "short-time Fourier transform of a recording: complex (bins, frames), as torch.stft has it",
    .params = stft_params,
    .infer = stft_infer,
    .free_state = mldfi_spectrum_end,
    .shape = mldfi_spectrum_op_shape,
    .run = run,
};

static const struct op_type op_spectrogram = {
    .name = "spectrogram",
    .help = "the power or magnitude of a recording's spectrum: (bins, frames), as torchaudio's Spectrogram",
    .params = spectrogram_params,
    .infer = stft_infer,
    .free_state = mldfi_spectrum_end,
    .shape = mldfi_spectrum_op_shape,
    .run = run,
};

/* ---- mel --------------------------------------------------------------------------------------------------------------------------------------- */

enum { MEL_PRESET, MEL_BANDS, MEL_N_FFT, MEL_WIN, MEL_HOP, MEL_LOW, MEL_HIGH, MEL_POWER, MEL_PAD, MEL_RATE };
enum { PRESET_TORCHAUDIO, PRESET_LIBROSA, PRESET_WHISPER, PRESET_WHISPER_V3 };
enum { BANDS_MAX = 4096, WHISPER_RATE = 16000 };
static const char *const presets[] = {"torchaudio", "librosa", "whisper", "whisper_large_v3", NULL};
static const char *const mel_pads[] = {"preset", "reflect", "zero", "none", NULL};
static const struct {
    uint32_t n_fft, hop, bands;
    enum mel_scale scale;
    enum frame_pad pad;
} preset_of[] = {
    [PRESET_TORCHAUDIO] = {400, 0, 128, MEL_HTK, FRAME_REFLECT},
    [PRESET_LIBROSA] = {2048, 512, 128, MEL_SLANEY, FRAME_ZERO},
    [PRESET_WHISPER] = {400, 160, 80, MEL_SLANEY, FRAME_REFLECT},
    [PRESET_WHISPER_V3] = {400, 160, 128, MEL_SLANEY, FRAME_REFLECT},
};
static const struct op_param mel_params[] = {
    {"preset", PARAM_CHOICE, "torchaudio", 0, 0, presets, 0, 0,
     "whose definition: torchaudio's MelSpectrogram (n_fft 400, hop 200, HTK), librosa's melspectrogram (2048, 512, "
     "Slaney), or Whisper's log-mel input"},
    {"bins", PARAM_INT, "0", 0, BANDS_MAX, NULL, 0, 0, "mel bands; 0: the preset's (128; whisper 80)"},
    {"n_fft", PARAM_INT, "0", 0, FFT_MAX, NULL, 0, 0, "points of the transform; 0: the preset's"},
    {"win", PARAM_INT, "0", 0, FFT_MAX, NULL, 0, 0, "samples of the Hann window; 0: n_fft"},
    {"hop", PARAM_INT, "0", 0, HOP_MAX, NULL, 0, 0,
     "samples from one frame to the next; 0: the preset's (torchaudio: half the window)"},
    {"low", PARAM_FLOAT, "0", 0, 1e9, NULL, 0, 0, "Hz: the lower end of the lowest band"},
    {"high", PARAM_FLOAT, "0", 0, 1e9, NULL, 0, 0, "Hz: the upper end of the highest band; 0: half the rate"},
    {"power", PARAM_INT, "2", 1, 2, NULL, 0, 0, "1: bands of magnitudes; 2: of their squares"},
    {"pad", PARAM_CHOICE, "preset", 0, 0, mel_pads, 0, 0, "the ends of the recording, as in spectrogram"},
    {"rate", PARAM_INT, "0", 0, 0x1p31, NULL, 0, 0, "samples a second of a value that has no rate; does not resample"},
    OP_END_OF_PARAMS,
};

static bool is_whisper(const struct op *op) {
    return op->args[MEL_PRESET].i >= PRESET_WHISPER;
}

static mldf_status check_whisper(const struct op *op, const struct edge *in, uint32_t rate, mldf_error *err) {
    for (int i = MEL_BANDS; i < MEL_RATE; i++)
        if (op->args[i].given)
            return mldfi_fail(err, MLDF_E_ARGUMENT, "the preset %s fixes %s", presets[op->args[MEL_PRESET].i],
                              mel_params[i].name);
    if (rate != WHISPER_RATE)
        return mldfi_fail(err, MLDF_E_TYPE,
                          "Whisper hears %d Hz, and the recordings have %" PRIu32 "; resample(%d) first", WHISPER_RATE,
                          rate, WHISPER_RATE);
    return in->ndim == 1 ? MLDF_OK : mldfi_edge_refuse(op, in, "one channel (decode_audio(mono=true))", err);
}

static mldf_status mel_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    const struct arg *a = op->args;
    int64_t preset = a[MEL_PRESET].i, n_fft = a[MEL_N_FFT].i ? a[MEL_N_FFT].i : preset_of[preset].n_fft;
    int64_t hop = a[MEL_HOP].i ? a[MEL_HOP].i : preset_of[preset].hop;
    uint32_t rate;
    if (!mldfi_edge_is_wave(in))
        return mldfi_edge_refuse(op, in, "a recording", err);
    mldf_status status = mldfi_wave_rate(in, &a[MEL_RATE], &rate, err);
    if (status == MLDF_OK && is_whisper(op))
        status = check_whisper(op, in, rate, err);
    struct spectrum *s = status == MLDF_OK ? begin_state(op, err) : NULL;
    if (!s)
        return status < 0 ? status : MLDF_E_MEMORY;
    s->magnitude = a[MEL_POWER].i == 1;
    s->drop_last = is_whisper(op);
    status =
        set_frames(s, n_fft, a[MEL_WIN].i, hop, a[MEL_PAD].i ? pad_of[a[MEL_PAD].i - 1] : preset_of[preset].pad, err);
    if (status == MLDF_OK)
        status = mldfi_mel_bank(s, preset_of[preset].scale,
                                a[MEL_BANDS].i ? (uint32_t)a[MEL_BANDS].i : preset_of[preset].bands, rate, a[MEL_LOW].f,
                                a[MEL_HIGH].f > 0 ? a[MEL_HIGH].f : (double)rate / 2, err);
    if (status == MLDF_OK)
        mldfi_spectrum_edge(s, in, SPECTRUM_FT, out);
    return status;
}

/* log10, not less than 8 below the clip's greatest; (x + 4) / 4. */
static void finish_whisper(struct tensor *t, const struct op_work *work) {
    size_t count = (size_t)mldfi_tensor_count(t);
    float *x = t->data, most = -INFINITY;
    work->kernels->fft->log(x, x, count, 1e-10F, 0.4342944819032518F);
    for (size_t i = 0; i < count; i++)
        most = x[i] > most ? x[i] : most;
    for (size_t i = 0; i < count; i++)
        x[i] = ((x[i] < most - 8.0F ? most - 8.0F : x[i]) + 4.0F) * 0.25F;
}

static mldf_status mel_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                           struct op_work *work, mldf_error *err) {
    (void)draw;
    mldf_status status = mldfi_spectrum_all(op->state, in, out, work, err);
    if (status == MLDF_OK && is_whisper(op))
        finish_whisper(out, work);
    return status;
}

static const struct op_type op_mel = {
    .name = "mel",
    .help = "a recording's spectrum in mel bands: (bands, frames), as torchaudio, librosa or Whisper has it",
    .params = mel_params,
    .infer = mel_infer,
    .free_state = mldfi_spectrum_end,
    .shape = mldfi_spectrum_op_shape,
    .run = mel_run,
};

const struct op_type *const mldfi_ops_spectrum[] = {&op_stft, &op_spectrogram, &op_mel, NULL};
