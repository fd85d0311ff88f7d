/* Recordings in batches: windows are slices of the stored numbers, lengths say how much of a row is there, and only the bytes of the windows are
 * read. On both back ends, any number of threads, and by the reference plan. */
#include "loader_files.h"

enum { SAMPLES = 30, RATE = 1000, MOST = 400 };
static mldf_reader *readers[2]; /* mapped, read */

static uint64_t length_of(uint64_t sample) {
    return sample * 97 % MOST; /* sample 0 is empty */
}

static int16_t number(uint64_t sample, uint64_t i, unsigned channel) {
    return (int16_t)(uint16_t)(sample * 7919 + i * 31 + channel * 12345);
}

static void recording(const void *user, uint64_t sample, mldf_value *values) {
    static int16_t numbers[MOST * 2];
    uint64_t n = length_of(sample);
    (void)user;
    for (uint64_t i = 0; i < n; i++)
        for (unsigned c = 0; c < 2; c++)
            numbers[i * 2 + c] = number(sample, i, c);
    values[0] = (mldf_value){
        .kind = MLDF_KIND_ARRAY, .dtype = MLDF_I16, .data = numbers, .bytes = n * 4, .ndim = 2, .dims = {n, 2}};
}

static void begin(void) {
    const struct files_field fields[] = {{"audio", MLDF_AUDIO_WAVEFORM, "{\"rate\":1000}", 0}, {NULL, 0, NULL, 0}};
    files_make(check_tmp("recordings.mldf"), fields, SAMPLES, recording, NULL);
    readers[0] = files_open(check_tmp("recordings.mldf"), MLDF_BACKEND_MAP);
    readers[1] = files_open(check_tmp("recordings.mldf"), MLDF_BACKEND_READ);
    REQUIRE(readers[0] && readers[1]);
}

static void end(void) {
    mldf_reader_close(readers[0]);
    mldf_reader_close(readers[1]);
}

struct cut {
    const char *text;
    uint64_t start, length; /* in samples */
    bool center, mono;
};

static uint64_t start_of(const struct cut *cut, uint64_t n) {
    return cut->center ? (n > cut->length ? (n - cut->length) / 2 : 0) : cut->start;
}

static uint64_t have_of(const struct cut *cut, uint64_t n) {
    uint64_t start = start_of(cut, n), left = n > start ? n - start : 0;
    return left < cut->length ? left : cut->length;
}

static void check_rows(const mldf_batch *batch, const void *user) {
    const struct cut *cut = user;
    mldf_array audio = files_array(batch, "audio"), length = files_array(batch, "audio_length");
    size_t channels = cut->mono ? 1 : 2, wrong = 0, room = (size_t)audio.dims[audio.ndim - 1];
    const float *row = audio.data;
    CHECK_EQ_U64(cut->mono ? 2 : 3, audio.ndim);
    CHECK_EQ_U64(MLDF_F32, audio.dtype);
    for (size_t k = 0; k < mldf_batch_sample_count(batch); k++) {
        uint64_t sample = files_index(batch, k), n = length_of(sample), from = start_of(cut, n), have = have_of(cut, n);
        CHECK_EQ_U64(have, (uint64_t)((const int64_t *)length.data)[k]);
        for (size_t c = 0; c < channels; c++)
            for (size_t i = 0; i < room; i++, row++) {
                float left = (float)number(sample, from + i, 0) / 32768,
                      right = (float)number(sample, from + i, 1) / 32768;
                float want = i >= have ? 0 : cut->mono ? (left + right) / 2 : c ? right : left;
                wrong += *row != want;
            }
    }
    CHECK_EQ_U64(0, wrong);
}

static const struct cut cuts[] = {
    {"audio: pad", 0, MOST, false, false},
    {"audio: window(0.05) | pad", 0, 50, false, false},
    {"audio: window(samples=60, start=33) | pad", 33, 60, false, false},
    {"audio: window(0.1, center) | pad(128)", 0, 100, true, false},
    {"audio: decode_audio(mono=true) | window(0.0755, start=0.01) | pad", 10, 76, false, true},
    {"audio: window(samples=200, start=20) | window(samples=30, start=5) | pad", 25, 30, false, false},
};

static void windows_are_slices(void) {
    static const int threads[] = {0, 1, 3};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
        for (size_t k = 0; k < 12; k++) {
            mldf_loader_options o = files_options(cuts[i].text, 7, threads[k % 3]);
            o.reference = k / 3 % 2;
            files_each(readers[k / 6], &o, SAMPLES, 0, check_rows, &cuts[i]);
        }
}

/* The map and the read back end, mapped or measured first: what counts as read are the windows. */
static void only_the_bytes_of_windows_count(void) {
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
        for (size_t k = 0; k < 2; k++) {
            mldf_loader_options o = files_options(cuts[i].text, 7, 2);
            mldf_loader *loader = files_loader(readers[k], &o);
            mldf_loader_stats stats = MLDF_LOADER_STATS_INIT;
            struct hashes hashes;
            mldf_error err;
            uint64_t bytes = 0;
            REQUIRE(loader);
            for (uint64_t s = 0; s < SAMPLES; s++)
                bytes += have_of(&cuts[i], length_of(s)) * 4;
            files_run(loader, &hashes);
            CHECK_EQ_U64(SAMPLES, hashes.samples);
            CHECK_OK(mldf_loader_get_stats(loader, &stats, &err), &err);
            CHECK_EQ_U64(bytes, stats.bytes_read);
            mldf_loader_free(loader);
        }
}

static void random_windows_are_the_same_everywhere(void) {
    struct hashes want, got;
    for (size_t k = 0; k < 16; k++) {
        mldf_loader_options o = files_options("audio: window(0.09, random) | pad", 4, (int)(k % 4));
        o.reference = k / 4 % 2;
        o.bucket_window = 16;
        o.bucket_output = "audio";
        files_epoch(readers[k / 8], &o, 3, k ? &got : &want);
        CHECK(k == 0 || (want.count == got.count && memcmp(want.digest, got.digest, want.count * 16) == 0));
    }
    CHECK_EQ_U64(SAMPLES, want.samples);
}

static void a_short_recording_is_bad_where_that_is_asked_for(void) {
    uint64_t bad = 0;
    mldf_loader_options o = files_options("audio: window(0.2, random, error)", 4, 2);
    for (uint64_t s = 0; s < SAMPLES; s++)
        bad += length_of(s) < 200;
    o.bad = MLDF_BAD_SKIP;
    files_each(readers[1], &o, SAMPLES - bad, bad, NULL, NULL);
}

/* The option stands in for defaults; what the text gives, and steps of other media, it leaves alone. */
static void the_option_decode_gives_what_the_text_leaves_open(void) {
    static const struct cut mono = {"audio: window(0.05) | pad", 0, 50, false, true};
    static const struct cut both = {"audio: decode_audio(mono=false) | window(0.05) | pad", 0, 50, false, false};
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"hflip", "option decode, \"hflip\": takes decoding steps joined by |"},
        {"", "option decode"},
        {"decode_audio(mono=3)", "option decode"},
        {"decode_audio(mono=true)\nx: decode", "option decode"},
        {"decode_audoi", "did you mean decode_audio"},
    };
    mldf_loader_options o = files_options(mono.text, 7, 1);
    o.decode = "decode(channels=3) | decode_audio(mono=true)";
    files_each(readers[0], &o, SAMPLES, 0, check_rows, &mono);
    o.pipeline = both.text;
    files_each(readers[0], &o, SAMPLES, 0, check_rows, &both);
    o.pipeline = mono.text;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        mldf_loader *loader = NULL;
        mldf_error err;
        o.decode = bad[i].text;
        CHECK(mldf_loader_new((const mldf_reader *const *)&readers[0], 1, &o, &loader, &err) < 0);
        CHECK_CONTAINS(bad[i].words, TEXT(err));
        mldf_loader_free(loader);
    }
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    begin();
    RUN(windows_are_slices);
    RUN(only_the_bytes_of_windows_count);
    RUN(random_windows_are_the_same_everywhere);
    RUN(a_short_recording_is_bad_where_that_is_asked_for);
    RUN(the_option_decode_gives_what_the_text_leaves_open);
    end();
    return check_end();
}
