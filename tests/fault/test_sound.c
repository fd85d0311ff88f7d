/* Recordings in batches allocate nothing once every worker has seen the longest of them: the library's own allocations are counted over an epoch
 * that follows one or two of the same samples, for every operation on recordings. */
#define FAILING_ALLOC_OURS_ONLY 1
#include <math.h>

#include "failing_alloc.h"
#include "loader_files.h"

enum { SAMPLES = 12, MOST = 9000, MANY = 1 << 30 };
static mldf_reader *readers[2]; /* mapped, read */

static uint64_t length_of(uint64_t sample) {
    return MOST - sample * 411;
}

static float number(uint64_t sample, uint64_t i) {
    return (float)(0.4 * sin((double)(i % 977) * 0.11 + (double)sample) * (i > 1500 && i < 6000));
}

static void recording(const void *user, uint64_t sample, mldf_value *values) {
    static float voice[MOST], noise[MOST / 2], room[2000];
    static int16_t flac[MOST];
    uint64_t n = length_of(sample);
    (void)user;
    for (uint64_t i = 0; i < n; i++) {
        voice[i] = number(sample, i);
        flac[i] = (int16_t)(voice[i] * 30000);
    }
    for (uint64_t i = 0; i < n / 2; i++)
        noise[i] = number(sample + 1, 3 * i % 5000 + 1000);
    for (uint64_t i = 0; i < 2000; i++)
        room[i] = (float)(exp(-(double)i / 300) * cos((double)(i * sample)));
    const void *data[5] = {voice, noise, room, flac, flac};
    uint64_t counts[5] = {n, n / 2, 700 + sample * 50, n, n};
    for (int f = 0; f < 5; f++)
        values[f] = (mldf_value){.kind = MLDF_KIND_ARRAY,
                                 .dtype = f >= 3 ? MLDF_I16 : MLDF_F32,
                                 .data = data[f],
                                 .bytes = counts[f] * (f >= 3 ? 2 : 4),
                                 .ndim = 1,
                                 .dims = {counts[f]}};
}

static void begin(void) {
    const struct files_field fields[] = {{"voice", MLDF_AUDIO_WAVEFORM, "{\"rate\":16000}", 0},
                                         {"noise", MLDF_AUDIO_WAVEFORM, "{\"rate\":16000}", 0},
                                         {"room", MLDF_AUDIO_WAVEFORM, "{\"rate\":16000}", 0},
                                         {"flac", MLDF_AUDIO_COMPRESSED, "{\"rate\":16000,\"encode\":\"flac\"}", 0},
                                         {"opus", MLDF_AUDIO_COMPRESSED, "{\"rate\":48000,\"encode\":\"opus\"}", 0},
                                         {NULL, 0, NULL, 0}};
    files_make(check_tmp("sound.mldf"), fields, SAMPLES, recording, NULL);
    readers[0] = files_open(check_tmp("sound.mldf"), MLDF_BACKEND_MAP);
    readers[1] = files_open(check_tmp("sound.mldf"), MLDF_BACKEND_READ);
    REQUIRE(readers[0] && readers[1]);
}

static void end(void) {
    mldf_reader_close(readers[0]);
    mldf_reader_close(readers[1]);
}

/* Every operation on recordings, at least once. */
static const char *const texts[] = {
    "voice: pad",
    "flac: window(0.1, random) | pad",
    "flac: decode_audio(rate=8000) | window(0.1, random, short=pad)",
    "flac: resample(11025) | pad",
    "voice: decode_audio(mono=true) | mono | channels([0, 0]) | pad",
    "voice: gain([-6, 6]) | normalize_wave(rms, db=-20) | normalize_wave(standard) | preemphasis | pad",
    "voice: noise(snr=[5, 20]) | dither | pad",
    "voice: speed([0.9, 1.0, 1.1]) | pad",
    "voice: trim(top_db=40) | pad",
    "voice: trim(top_db=40) | fbank(kaldi) | ragged",
    "voice: mix_sample([0, 20]) | pad",
    "opus: window(0.1, random) | pad",
    "opus: decode_audio(rate=16000) | pad",
    "y = [voice, noise]: add_noise(snr=[0, 20]) | pad",
    "y = [voice, room]: reverb | pad",
    "y = [voice, room]: reverb | fbank(kaldi) | ragged",
    "voice: stft(400, hop=160) | pad",
    "voice: spectrogram(400, hop=160) | log | pad",
    "voice: mel(librosa) | db | pad",
    "voice: mel(whisper) | pad",
    "voice: window(0.2, short=pad) | mel(whisper_large_v3)",
    "voice: mel(librosa) | db | mfcc(13) | delta | pad",
    "voice: fbank(kaldi, bins=80) | cmvn | spec_augment | pad",
    "voice: fbank(lhotse) | pad",
};

static long allocations(mldf_loader *loader, uint64_t epoch) {
    mldf_error err;
    mldf_batch *batch;
    mldf_status status;
    uint64_t samples = 0;
    CHECK_OK(mldf_loader_begin(loader, epoch, 0, &err), &err);
    countdown = MANY;
    while ((status = mldf_loader_next(loader, -1, &batch, &err)) == MLDF_OK) {
        samples += mldf_batch_sample_count(batch);
        mldf_batch_release(batch);
    }
    long count = MANY - countdown;
    countdown = 0;
    CHECK(status == MLDF_END);
    if (status < 0)
        check_fail(__FILE__, __LINE__, "%s", MLDF_ERROR_TEXT(&err));
    CHECK_EQ_U64(SAMPLES, samples);
    return count;
}

static void nothing_is_allocated_for_a_sample(void) {
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t k = 0; k < 2; k++) {
            mldf_loader_options o = files_options(texts[i], 6, 0);
            mldf_loader *loader = files_loader(readers[k], &o);
            if (!loader) {
                check_fail(__FILE__, __LINE__, "%s", texts[i]);
                continue;
            }
            for (uint64_t epoch = 0; epoch < 2; epoch++)
                (void)allocations(loader, 0);
            long count = allocations(loader, 0);
            if (count)
                check_fail(__FILE__, __LINE__, "%s: %ld allocations in an epoch of %d samples", texts[i], count,
                           SAMPLES);
            mldf_loader_free(loader);
        }
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    begin();
    RUN(nothing_is_allocated_for_a_sample);
    end();
    return check_end();
}
