/* WAV files that ffmpeg, sox, Python, SciPy and libsndfile wrote (tests/data/make_audio.py): packed, and read back as float, they
 * hold what libsndfile reads; exported, they are read back as the same. */
#include <stdlib.h>

#include "field/audio_type.h"
#include "fields.h"
#include "unit/field/audio_export.h"

static const struct real {
    const char *name;
    mldf_audio_info info;
} files[] = {
    {"codes_alaw.wav", {sizeof(mldf_audio_info), 256, 8000, 1, 8, MLDF_AUDIO_ALAW, 0}},
    {"codes_mulaw.wav", {sizeof(mldf_audio_info), 256, 8000, 1, 8, MLDF_AUDIO_MULAW, 0}},
    {"ffmpeg_alaw.wav", {sizeof(mldf_audio_info), 37, 8000, 1, 8, MLDF_AUDIO_ALAW, 0}},
    {"ffmpeg_f32.wav", {sizeof(mldf_audio_info), 37, 16000, 2, 32, MLDF_AUDIO_FLOAT, 3}},
    {"ffmpeg_f64.wav", {sizeof(mldf_audio_info), 37, 16000, 1, 64, MLDF_AUDIO_FLOAT, 4}},
    {"ffmpeg_mulaw.wav", {sizeof(mldf_audio_info), 37, 8000, 2, 8, MLDF_AUDIO_MULAW, 0}},
    {"ffmpeg_pipe.wav", {sizeof(mldf_audio_info), 37, 16000, 1, 16, MLDF_AUDIO_PCM, 0}},
    {"ffmpeg_rf64.wav", {sizeof(mldf_audio_info), 37, 22050, 1, 16, MLDF_AUDIO_PCM, 0}},
    {"ffmpeg_s16.wav", {sizeof(mldf_audio_info), 37, 44100, 2, 16, MLDF_AUDIO_PCM, 0}},
    {"ffmpeg_s24.wav", {sizeof(mldf_audio_info), 37, 48000, 1, 24, MLDF_AUDIO_PCM, 4}},
    {"ffmpeg_s32.wav", {sizeof(mldf_audio_info), 37, 96000, 2, 32, MLDF_AUDIO_PCM, 3}},
    {"ffmpeg_surround.wav", {sizeof(mldf_audio_info), 37, 48000, 6, 16, MLDF_AUDIO_PCM, 0x3f}},
    {"ffmpeg_u8.wav", {sizeof(mldf_audio_info), 37, 8000, 1, 8, MLDF_AUDIO_PCM, 0}},
    {"ffmpeg_w64.w64", {sizeof(mldf_audio_info), 37, 22050, 2, 24, MLDF_AUDIO_PCM, 3}},
    {"python_s16.wav", {sizeof(mldf_audio_info), 37, 11025, 2, 16, MLDF_AUDIO_PCM, 0}},
    {"scipy_f32.wav", {sizeof(mldf_audio_info), 37, 16000, 2, 32, MLDF_AUDIO_FLOAT, 0}},
    {"scipy_i32.wav", {sizeof(mldf_audio_info), 37, 16000, 1, 32, MLDF_AUDIO_PCM, 0}},
    {"sndfile_rf64.wav", {sizeof(mldf_audio_info), 37, 12345, 2, 32, MLDF_AUDIO_FLOAT, 3}},
    {"sndfile_rifx_f32.wav", {sizeof(mldf_audio_info), 37, 12345, 1, 32, MLDF_AUDIO_FLOAT, 0}},
    {"sndfile_rifx_f64.wav", {sizeof(mldf_audio_info), 37, 12345, 1, 64, MLDF_AUDIO_FLOAT, 0}},
    {"sndfile_rifx_s16.wav", {sizeof(mldf_audio_info), 37, 12345, 2, 16, MLDF_AUDIO_PCM, 0}},
    {"sndfile_rifx_s24.wav", {sizeof(mldf_audio_info), 37, 12345, 1, 24, MLDF_AUDIO_PCM, 0}},
    {"sndfile_w64.w64", {sizeof(mldf_audio_info), 37, 12345, 1, 8, MLDF_AUDIO_PCM, 0}},
    {"sndfile_wavex.wav", {sizeof(mldf_audio_info), 37, 12345, 4, 24, MLDF_AUDIO_PCM, 0x33}},
    {"sox_mulaw.wav", {sizeof(mldf_audio_info), 37, 8000, 1, 8, MLDF_AUDIO_MULAW, 0}},
    {"sox_pipe.wav", {sizeof(mldf_audio_info), 37, 16000, 6, 16, MLDF_AUDIO_PCM, 0x3f}},
    {"sox_s16.wav", {sizeof(mldf_audio_info), 37, 16000, 1, 16, MLDF_AUDIO_PCM, 0}},
    {"sox_s24.wav", {sizeof(mldf_audio_info), 37, 16000, 2, 24, MLDF_AUDIO_PCM, 3}},
};
enum { FILES = sizeof files / sizeof files[0] };

static uint8_t *load(const char *name, size_t *bytes) {
    char path[128];
    snprintf(path, sizeof path, "tests/data/audio/%s", name);
    uint8_t *data = check_read_file(check_source(path), bytes);
    if (!data)
        check_fail(__FILE__, __LINE__, "%s cannot be read", path);
    return data;
}

static void silent(void *user, const char *message) {
    (void)user, (void)message;
}

/* encode() of fields.h with memory for swapped bytes. */
static mldf_status encode_file(const mldf_schema *schema, const void *data, size_t bytes, mldf_buffer *scratch,
                               struct encoded *out, mldf_error *err) {
    const struct schema_field *field = &schema->fields[0];
    mldf_value value = value_of(MLDF_KIND_BYTES, data, bytes);
    memset(out, 0, sizeof *out);
    return field->type->type.encode(NULL, field->state, &value, out->record, scratch, &out->payload,
                                    &out->payload_bytes, err);
}

static void check_floats(const struct real *f, const mldf_value *value, const float *want) {
    float got[256 * 6];
    mldf_error err;
    CHECK_OK(mldf_audio_value_read(value, 0, f->info.samples, got, &err), &err);
    CHECK_MEM_EQ(want, got, f->info.samples * f->info.channels * 4);
    for (uint64_t from = 0; from + 5 <= f->info.samples; from += 3) { /* a window is the slice */
        CHECK_OK(mldf_audio_value_read(value, from, 5, got, &err), &err);
        CHECK_MEM_EQ(want + from * f->info.channels, got, 5 * f->info.channels * 4);
    }
}

static void check_export(const struct real *f, const mldf_schema *schema, const mldf_value *value, const float *want) {
    mldf_buffer file = MLDF_BUFFER_INIT, scratch = MLDF_BUFFER_INIT;
    struct encoded e;
    mldf_value again;
    mldf_error err;
    export_whole(&schema->fields[0], value, &file);
    CHECK_EQ_U64(0, file.size % 2);
    CHECK_OK(encode_file(schema, file.data, file.size, &scratch, &e, &err), &err);
    CHECK_OK(decode(schema, &e, &again, &err), &err);
    CHECK_MEM_EQ(value->record, again.record, AUDIO_RECORD);
    CHECK_BYTES_EQ(value->data, value->bytes, again.data, again.bytes);
    check_floats(f, &again, want);
    mldf_buffer_free(&file);
    mldf_buffer_free(&scratch);
}

static void real_files_hold_what_libsndfile_reads(void) {
    mldf_error err;
    mldf_schema *schema = one_field(MLDF_AUDIO_WAVEFORM, "{}", 0, &err);
    REQUIRE(schema != NULL);
    for (size_t i = 0; i < FILES; i++) {
        size_t bytes, want_bytes;
        char name[64];
        mldf_buffer scratch = MLDF_BUFFER_INIT;
        struct encoded e;
        mldf_value value;
        mldf_audio_info info = MLDF_AUDIO_INFO_INIT;
        mldf_wav wav = MLDF_WAV_INIT;
        snprintf(name, sizeof name, "%s.f32", files[i].name);
        uint8_t *data = load(files[i].name, &bytes), *want = load(name, &want_bytes);
        REQUIRE(data && want);
        CHECK_EQ_U64(files[i].info.samples * files[i].info.channels * 4, want_bytes);
        CHECK_OK(mldf_wav_parse(data, bytes, &wav, &err), &err);
        if (memcmp(&files[i].info, &wav.info, sizeof wav.info) != 0)
            check_fail(__FILE__, __LINE__, "%s: another header than expected: %u Hz, %u channels, %u bits, mask 0x%x",
                       files[i].name, wav.info.rate, wav.info.channels, wav.info.bits, wav.info.mask);
        CHECK_EQ_U64(0, wav.missing_bytes + wav.rest_bytes);
        CHECK_OK(mldfi_audio_files.look(files[i].name, data, bytes, silent, NULL, &err), &err);
        CHECK_OK(encode_file(schema, data, bytes, &scratch, &e, &err), &err);
        CHECK_OK(decode(schema, &e, &value, &err), &err);
        CHECK_OK(mldf_audio_record(&value, &info, &err), &err);
        CHECK_EQ_U64(files[i].info.samples, info.samples);
        check_floats(&files[i], &value, (const float *)(const void *)want);
        check_export(&files[i], schema, &value, (const float *)(const void *)want);
        mldf_buffer_free(&scratch);
        free(data);
        free(want);
    }
    mldf_schema_free(schema);
}

/* No file, cut anywhere, is read past its end or taken for whole. */
static void cut_files_are_refused(void) {
    mldf_error err;
    mldf_schema *schema = one_field(MLDF_AUDIO_WAVEFORM, "{}", 0, &err);
    REQUIRE(schema != NULL);
    for (size_t i = 0; i < FILES; i++) {
        size_t bytes;
        uint8_t *data = load(files[i].name, &bytes);
        mldf_buffer scratch = MLDF_BUFFER_INIT;
        mldf_wav whole = MLDF_WAV_INIT;
        REQUIRE(data != NULL);
        REQUIRE_OK(mldf_wav_parse(data, bytes, &whole, &err), &err);
        bool open = strstr(files[i].name, "_pipe") != NULL;
        for (size_t cut = 0; cut < whole.data_offset + whole.data_bytes; cut++) {
            uint8_t *copy = malloc(cut ? cut : 1); /* the address sanitizer sees its end */
            struct encoded e;
            REQUIRE(copy != NULL);
            memcpy(copy, data, cut);
            mldf_status status = encode_file(schema, copy, cut, &scratch, &e, &err);
            if (status != MLDF_E_TRUNCATED && !(open && status == MLDF_OK && cut >= whole.data_offset) &&
                !(status == MLDF_E_TYPE && cut < 40))
                check_fail(__FILE__, __LINE__, "%s cut at %zu: %s", files[i].name, cut, mldf_status_name(status));
            free(copy);
        }
        mldf_buffer_free(&scratch);
        free(data);
    }
    mldf_schema_free(schema);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(real_files_hold_what_libsndfile_reads);
    RUN(cut_files_are_refused);
    return check_end();
}
