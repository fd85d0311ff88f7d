/* Spectra of recordings: what stft, spectrogram, mel and fbank share. A recording is cut into frames, eight of them go through the transform at a
 * time (kernel/fft.h), and a sink takes what comes out:
 *
 *     offset + f·hop ── frame f of `length` samples, padded at the ends as `pad` says ── window ── n_fft points ── bands
 */
#ifndef MLDF_PIPELINE_SPECTRUM_H
#define MLDF_PIPELINE_SPECTRUM_H

#include "kernel/fft.h"
#include "pipeline/op.h"

/* What a frame has beyond the ends of the recording. */
enum frame_pad {
    FRAME_SNIP,    /* no frame reaches beyond them */
    FRAME_ZERO,    /* zeros */
    FRAME_REFLECT, /* 3 2 1 | 0 1 2 3 | 2 1 0: the recording must be longer than half a frame */
    FRAME_MIRROR   /* 2 1 0 | 0 1 2 3 | 3 2 1 */
};

struct spectrum {
    struct fft fft;
    uint32_t length, hop; /* samples of a frame, and from one frame to the next */
    uint32_t offset;      /* samples that the first frame begins in front of the recording */
    enum frame_pad pad;
    bool drop_last;          /* Whisper: one frame fewer */
    bool magnitude;          /* not its square */
    bool dc;                 /* Kaldi: frames without their mean, */
    float preemphasis;       /* and with their low tones reduced */
    float *window;           /* [length] */
    struct band_table bands; /* bands 0: none, the bins themselves */
    void *band_memory;
};
void mldfi_spectrum_free(struct spectrum *s);

/* The window of torch.stft and librosa: Hann, periodic, of `win` samples in the middle of n_fft. Sets length and offset. */
mldf_status mldfi_spectrum_hann(struct spectrum *s, uint32_t n_fft, uint32_t win, uint32_t hop, mldf_error *err);
/* Kaldi's: (0.5 - 0.5 cos)^0.85 over `win` samples, times `gain`, zeros up to the next power of 2. */
mldf_status mldfi_spectrum_povey(struct spectrum *s, uint32_t win, uint32_t hop, double gain, mldf_error *err);

/* Frames of a recording of n samples. */
uint64_t mldfi_spectrum_frames(const struct spectrum *s, uint64_t n);
/* A recording that is too short to be padded: an error that names the least length. */
mldf_status mldfi_spectrum_check(const struct spectrum *s, uint64_t n, mldf_error *err);
/* Rows of what comes out: bands, or bins. */
static inline uint32_t mldfi_spectrum_rows(const struct spectrum *s) {
    return s->bands.bands ? s->bands.bands : s->fft.bins;
}

/* How the result of one channel lies in memory. */
enum spectrum_layout {
    SPECTRUM_FT,     /* [rows][frames] */
    SPECTRUM_TF,     /* [frames][rows] */
    SPECTRUM_COMPLEX /* [bins][frames] pairs (re, im) */
};
/* One channel. */
mldf_status mldfi_spectrum_run(const struct spectrum *s, const float *in, uint64_t n, enum spectrum_layout layout,
                               float *out, struct op_work *work, mldf_error *err);

/* ---- Bands (mel_bank.c) ------------------------------------------------------------------------------------------------------- */

enum mel_scale {
    MEL_SLANEY, /* librosa: linear below 1 kHz, triangles in Hz of the same area */
    MEL_HTK,    /* torchaudio: 2595 log10(1 + f / 700), triangles in Hz of height 1 */
    MEL_KALDI   /* 1127 ln(1 + f / 700), triangles in mel, without the last bin */
};
/* Gives s its bands over bins of rate / n_fft Hz. */
mldf_status mldfi_mel_bank(struct spectrum *s, enum mel_scale scale, uint32_t bands, double rate, double low,
                           double high, mldf_error *err);

/* ---- What the operations share (op_spectrum.c) ---------------------------------------------------------------------------------- */

/* A recording: f32, "t" or "ct", or an array of one dimension without names. */
bool mldfi_edge_is_wave(const struct edge *in);
/* A wave whose rate is known. */
static inline bool mldfi_edge_is_recording(const struct edge *in) {
    return in->rate.den && mldfi_edge_is_wave(in);
}
/* Its rate in whole samples a second, from the value or from the argument; 0 and an error when neither or both say it differently. */
mldf_status mldfi_wave_rate(const struct edge *in, const struct arg *rate, uint32_t *out, mldf_error *err);
/* The type of the result: axes "ft" or "tf", with a "c" in front where the recording has channels. */
void mldfi_spectrum_edge(const struct spectrum *s, const struct edge *in, enum spectrum_layout layout,
                         struct edge *out);
/* Operations whose state is a struct spectrum. */
mldf_status mldfi_spectrum_op_shape(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                                    mldf_error *err);
void mldfi_spectrum_end(void *state);
/* All channels. */
mldf_status mldfi_spectrum_all(const struct spectrum *s, const struct tensor *in, struct tensor *out,
                               struct op_work *work, mldf_error *err);

#endif
