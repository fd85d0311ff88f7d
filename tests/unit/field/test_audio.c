/* AUDIO_WAVEFORM: arguments, arrays and WAV bytes in, arrays and bytes out, records that lie, statistics, files in and out. */
#include "field/audio_type.h"
#include "fields.h"
#include "unit/field/audio_export.h"
#include "util/bytes.h"

static const uint8_t zeros[64];

static mldf_value array(mldf_dtype dtype, uint32_t ndim, uint64_t t, uint64_t c) {
    mldf_value v = value_of(MLDF_KIND_ARRAY, zeros, t * (ndim == 2 ? c : 1) * mldf_dtype_bytes(dtype));
    v.dtype = dtype;
    v.ndim = ndim;
    v.dims[0] = t;
    v.dims[1] = c;
    return v;
}

static void the_record_is_32_bytes(void) {
    mldf_error err;
    struct encoded e;
    mldf_value v = array(MLDF_I16, 2, 7, 2), out;
    mldf_schema *s = one_field(MLDF_AUDIO_WAVEFORM, "{\"rate\":16000}", 0, &err);
    REQUIRE(s != NULL);
    const mldf_field *f = mldf_schema_field(s, 0);
    CHECK_EQ_STR("audio_waveform", f->type_name);
    CHECK_EQ_STR("{\"rate\":16000}", f->arguments);
    CHECK_EQ_U64(32, f->record_bytes);
    CHECK_EQ_U64(MLDF_FIELD_SIZE64, f->flags);
    CHECK(s->fields[0].layout.viewable);
    CHECK_OK(encode(s, &v, &e, &err), &err);
    CHECK(e.payload == zeros);
    CHECK_EQ_U64(28, e.payload_bytes);
    static const uint8_t want[32] = {[16] = 7, [24] = 0x80, [25] = 0x3e, [28] = 2, [30] = 16, [31] = 0};
    CHECK_MEM_EQ(want, e.record, 32);
    CHECK_OK(decode(s, &e, &out, &err), &err);
    CHECK_EQ_INT(MLDF_KIND_ARRAY, out.kind);
    CHECK_EQ_INT(MLDF_I16, out.dtype);
    CHECK_EQ_U64(2, out.ndim);
    CHECK_EQ_U64(7, out.dims[0]);
    CHECK_EQ_U64(2, out.dims[1]);
    CHECK(out.data == zeros);
    mldf_schema_free(s);
}

static void arrays_give_codec_and_bits(void) {
    static const struct {
        mldf_dtype dtype;
        uint8_t codec, bits;
    } cases[] = {{MLDF_U8, 0, 8}, {MLDF_I16, 0, 16}, {MLDF_I32, 0, 32}, {MLDF_F32, 16, 32}, {MLDF_F64, 16, 64}};
    mldf_error err;
    struct encoded e;
    mldf_value v, out;
    mldf_schema *s = one_field(MLDF_AUDIO_WAVEFORM, "{\"rate\":48000}", 0, &err);
    REQUIRE(s != NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        v = array(cases[i].dtype, 1, 3, 0);
        CHECK_OK(encode(s, &v, &e, &err), &err);
        CHECK_EQ_U64(cases[i].codec, e.record[31]);
        CHECK_EQ_U64(cases[i].bits, e.record[30]);
        CHECK_EQ_U64(1, mldfi_load_u16(e.record + 28));
        CHECK_OK(decode(s, &e, &out, &err), &err);
        CHECK_EQ_INT(cases[i].dtype, out.dtype);
        CHECK_EQ_U64(3, out.dims[0]);
        CHECK_EQ_U64(1, out.dims[1]);
    }
    v = array(MLDF_F32, 2, 0, 2); /* nothing was recorded, with two microphones */
    CHECK_OK(encode(s, &v, &e, &err), &err);
    CHECK_EQ_U64(0, e.payload_bytes);
    CHECK_OK(decode(s, &e, &out, &err), &err);
    CHECK_EQ_U64(0, out.dims[0]);
    CHECK_EQ_U64(2, out.dims[1]);
    mldf_schema_free(s);
}

static void what_cannot_be_stored_is_refused(void) {
    static const struct {
        mldf_dtype dtype;
        uint32_t ndim;
        uint64_t t, c;
        mldf_status status;
        const char *part;
    } cases[] = {{MLDF_I8, 1, 3, 0, MLDF_E_TYPE, "|i1"},
                 {MLDF_F16, 1, 3, 0, MLDF_E_TYPE, "<f2"},
                 {MLDF_DTYPE_NONE, 1, 0, 0, MLDF_E_TYPE, "no dtype"},
                 {MLDF_I16, 3, 2, 2, MLDF_E_TYPE, "3 dimensions"},
                 {MLDF_I16, 0, 2, 2, MLDF_E_TYPE, "0 dimensions"},
                 {MLDF_I16, 2, 3, 0, MLDF_E_RANGE, "0 channels"},
                 {MLDF_U8, 2, 0, 65536, MLDF_E_RANGE, "Is it (channels, t)?"}};
    mldf_error err;
    struct encoded e;
    mldf_value v;
    mldf_schema *s = one_field(MLDF_AUDIO_WAVEFORM, "{\"rate\":48000}", 0, &err);
    REQUIRE(s != NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        v = array(cases[i].dtype, cases[i].ndim, cases[i].t, cases[i].c);
        CHECK_STATUS(cases[i].status, encode(s, &v, &e, &err), &err);
        CHECK_CONTAINS(cases[i].part, TEXT(err));
    }
    v = array(MLDF_I16, 1, 3, 0);
    v.bytes = 5;
    CHECK_STATUS(MLDF_E_RANGE, encode(s, &v, &e, &err), &err);
    v.dims[0] = UINT64_MAX;
    CHECK_STATUS(MLDF_E_RANGE, encode(s, &v, &e, &err), &err);
    v = value_of(MLDF_KIND_TEXT, "a.wav", 5);
    CHECK_STATUS(MLDF_E_TYPE, encode(s, &v, &e, &err), &err);
    v = value_of(MLDF_KIND_BYTES, "not a WAV file at all", 21);
    CHECK_STATUS(MLDF_E_TYPE, encode(s, &v, &e, &err), &err);
    CHECK_EQ_U64(MLDF_NONE, err.offset);
    mldf_schema_free(s);
    s = one_field(MLDF_AUDIO_WAVEFORM, NULL, 0, &err);
    REQUIRE(s != NULL);
    v = array(MLDF_I16, 1, 3, 0);
    CHECK_STATUS(MLDF_E_SCHEMA, encode(s, &v, &e, &err), &err);
    CHECK_CONTAINS("\"rate\"", TEXT(err));
    mldf_schema_free(s);
}

/* A WAV file of `info` with zeros for samples. */
static mldf_value wav(const mldf_audio_info *info, mldf_buffer *out) {
    unsigned pad = 0;
    out->size = 0;
    CHECK_OK(mldf_wav_header(info, out, &pad, NULL), NULL);
    CHECK_OK(mldf_buffer_append(out, zeros, info->samples * info->channels * (info->bits / 8) + pad, NULL), NULL);
    return value_of(MLDF_KIND_BYTES, out->data, out->size);
}

static void arguments_bind_the_recordings(void) {
    static const struct {
        const char *arguments;
        mldf_audio_info info;
        const char *part; /* NULL: taken */
    } cases[] = {
        {"{}", {sizeof(mldf_audio_info), 4, 8000, 1, 16, MLDF_AUDIO_PCM, 0}, NULL},
        {"{\"rate\":8000}", {sizeof(mldf_audio_info), 4, 8000, 1, 16, MLDF_AUDIO_PCM, 0}, NULL},
        {"{\"rate\":16000}", {sizeof(mldf_audio_info), 4, 8000, 1, 16, MLDF_AUDIO_PCM, 0}, "8000 samples a second"},
        {"{\"channels\":2}", {sizeof(mldf_audio_info), 4, 8000, 1, 16, MLDF_AUDIO_PCM, 0}, "1 channels"},
        {"{\"mask\":3}", {sizeof(mldf_audio_info), 4, 8000, 2, 16, MLDF_AUDIO_PCM, 0}, NULL},
        {"{\"mask\":3}", {sizeof(mldf_audio_info), 4, 8000, 2, 16, MLDF_AUDIO_PCM, 3}, NULL},
        {"{\"mask\":3}", {sizeof(mldf_audio_info), 4, 8000, 2, 16, MLDF_AUDIO_PCM, 6}, "mask 0x6"},
        {"{\"mask\":7}", {sizeof(mldf_audio_info), 4, 8000, 2, 16, MLDF_AUDIO_PCM, 0}, "2 channels"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        mldf_error err;
        struct encoded e;
        mldf_buffer file = MLDF_BUFFER_INIT;
        mldf_schema *s = one_field(MLDF_AUDIO_WAVEFORM, cases[i].arguments, 0, &err);
        REQUIRE(s != NULL);
        mldf_value v = wav(&cases[i].info, &file);
        CHECK_STATUS(cases[i].part ? MLDF_E_RANGE : MLDF_OK, encode(s, &v, &e, &err), &err);
        if (cases[i].part)
            CHECK_CONTAINS(cases[i].part, TEXT(err));
        mldf_buffer_free(&file);
        mldf_schema_free(s);
    }
}

static void faulty_arguments_are_named(void) {
    static const struct {
        const char *arguments, *part;
    } cases[] = {{"{\"rate\":0}", "\"rate\""},          {"{\"rate\":\"16k\"}", "\"rate\""},
                 {"{\"rate\":4294967296}", "\"rate\""}, {"{\"channels\":65536}", "\"channels\""},
                 {"{\"mask\":0}", "\"mask\""},          {"{\"mask\":3,\"channels\":1}", "2 channels"},
                 {"{\"rat\":8000}", "\"rate\""}};
    mldf_error err;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK(one_field(MLDF_AUDIO_WAVEFORM, cases[i].arguments, 0, &err) == NULL);
        CHECK_EQ_INT(MLDF_E_SCHEMA, err.status);
        CHECK_CONTAINS(cases[i].part, TEXT(err));
    }
}

static void records_that_lie_are_found(void) {
    static const struct {
        uint32_t at, value, bytes;
        mldf_status status;
        uint32_t offset;
    } cases[] = {{31, 1, 1, MLDF_E_FEATURE, 31},  {31, 19, 1, MLDF_E_FEATURE, 31},   {31, 17, 1, MLDF_E_CORRUPT, 30},
                 {30, 12, 1, MLDF_E_CORRUPT, 30}, {30, 64, 1, MLDF_E_CORRUPT, 30},   {30, 0, 1, MLDF_E_CORRUPT, 30},
                 {24, 0, 4, MLDF_E_CORRUPT, 24},  {24, 8000, 4, MLDF_E_CORRUPT, 24}, {28, 0, 2, MLDF_E_CORRUPT, 28},
                 {28, 1, 2, MLDF_E_CORRUPT, 28},  {16, 8, 4, MLDF_E_CORRUPT, 8},     {20, 1, 4, MLDF_E_CORRUPT, 8},
                 {30, 32, 1, MLDF_E_CORRUPT, 8},  {30, 24, 1, MLDF_E_CORRUPT, 8}};
    mldf_error err;
    mldf_schema *s = one_field(MLDF_AUDIO_WAVEFORM, "{\"channels\":2,\"rate\":16000}", 0, &err);
    REQUIRE(s != NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct encoded e;
        mldf_value v = array(MLDF_I16, 2, 7, 2), out;
        CHECK_OK(encode(s, &v, &e, &err), &err);
        memcpy(e.record + cases[i].at, &cases[i].value, cases[i].bytes);
        CHECK_STATUS(cases[i].status, decode(s, &e, &out, &err), &err);
        CHECK_EQ_U64(RECORD_AT + cases[i].offset, err.offset);
        CHECK_EQ_STR("f", err.field);
    }
    mldf_schema_free(s);
}

static void numbers_that_are_no_dtype_are_bytes(void) {
    static const mldf_audio_info infos[] = {{sizeof(mldf_audio_info), 3, 8000, 1, 24, MLDF_AUDIO_PCM, 0},
                                            {sizeof(mldf_audio_info), 3, 8000, 2, 8, MLDF_AUDIO_ALAW, 0},
                                            {sizeof(mldf_audio_info), 3, 8000, 1, 8, MLDF_AUDIO_MULAW, 0}};
    mldf_error err;
    mldf_schema *s = one_field(MLDF_AUDIO_WAVEFORM, NULL, 0, &err);
    REQUIRE(s != NULL);
    for (size_t i = 0; i < 3; i++) {
        struct encoded e;
        mldf_buffer file = MLDF_BUFFER_INIT;
        mldf_value v = wav(&infos[i], &file), out;
        mldf_audio_info info = MLDF_AUDIO_INFO_INIT;
        float floats[6];
        CHECK_OK(encode(s, &v, &e, &err), &err);
        CHECK_OK(decode(s, &e, &out, &err), &err);
        CHECK_EQ_INT(MLDF_KIND_BYTES, out.kind);
        CHECK_OK(mldf_audio_record(&out, &info, &err), &err);
        CHECK_EQ_U64(infos[i].bits, info.bits);
        CHECK_EQ_INT(infos[i].codec, info.codec);
        CHECK_OK(mldf_audio_value_read(&out, 1, 2, floats, &err), &err);
        CHECK_STATUS(MLDF_E_RANGE, mldf_audio_value_read(&out, 1, 3, floats, &err), &err);
        CHECK_STATUS(MLDF_E_RANGE, mldf_audio_value_read(&out, UINT64_MAX, 2, floats, &err), &err);
        CHECK_OK(mldf_audio_value_read(&out, 3, 0, NULL, &err), &err);
        out.bytes--;
        CHECK_STATUS(MLDF_E_CORRUPT, mldf_audio_value_read(&out, 0, 1, floats, &err), &err);
        mldf_buffer_free(&file);
    }
    mldf_value none = value_of(MLDF_KIND_BYTES, zeros, 4);
    mldf_audio_info info = MLDF_AUDIO_INFO_INIT;
    CHECK_STATUS(MLDF_E_TYPE, mldf_audio_record(&none, &info, &err), &err);
    mldf_schema_free(s);
}

static void statistics_see_rate_samples_and_channels(void) {
    mldf_error err;
    struct encoded e;
    struct observation seen;
    mldf_value v = array(MLDF_I16, 2, 7, 2);
    mldf_schema *s = one_field(MLDF_AUDIO_WAVEFORM, "{\"rate\":16000}", 0, &err);
    REQUIRE(s != NULL);
    CHECK_OK(encode(s, &v, &e, &err), &err);
    s->fields[0].type->observe(s->fields[0].state, e.record, &seen);
    CHECK_EQ_INT(2, seen.number_kind);
    CHECK_EQ_U64(16000, seen.number.u);
    CHECK_EQ_U64(2, seen.ndim);
    CHECK_EQ_U64(7, seen.dims[0]);
    CHECK_EQ_U64(2, seen.dims[1]);
    mldfi_store_u64(e.record + 16, UINT64_C(1) << 33);
    s->fields[0].type->observe(s->fields[0].state, e.record, &seen);
    CHECK_EQ_U64(UINT32_MAX, seen.dims[0]);
    mldf_schema_free(s);
}

struct said {
    int count;
    char last[200];
};

static void note(void *user, const char *message) {
    struct said *said = user;
    said->count++;
    snprintf(said->last, sizeof said->last, "%s", message);
}

static void files_are_looked_at(void) {
    static const mldf_audio_info usual = {sizeof(mldf_audio_info), 4, 8000, 2, 16, MLDF_AUDIO_PCM, 3},
                                 odd = {sizeof(mldf_audio_info), 4, 8000, 2, 16, MLDF_AUDIO_PCM, 0x600};
    mldf_buffer file = MLDF_BUFFER_INIT;
    mldf_error err;
    struct said said = {0, ""};
    wav(&usual, &file);
    CHECK_OK(mldfi_audio_files.look("a/b.WAV", file.data, file.size, note, &said, &err), &err);
    CHECK_OK(mldfi_audio_files.look("with.dots/none", file.data, file.size, note, &said, &err), &err);
    CHECK_EQ_INT(0, said.count);
    CHECK_OK(mldfi_audio_files.look("b.mp3", file.data, file.size, note, &said, &err), &err);
    CHECK_CONTAINS(".mp3, and the bytes are WAV", said.last);
    CHECK_STATUS(MLDF_E_TRUNCATED, mldfi_audio_files.look("b.wav", file.data, file.size - 3, note, &said, &err), &err);
    CHECK_CONTAINS("byte 93: the WAV file is cut short: its header announces 3 bytes", TEXT(err));
    CHECK_EQ_U64(MLDF_NONE, err.offset); /* it is no byte of a file of ours */
    CHECK_EQ_INT(1, said.count);
    wav(&odd, &file);
    CHECK_OK(mldfi_audio_files.look("b.wav", file.data, file.size, note, &said, &err), &err);
    CHECK_CONTAINS("0x600", said.last);
    CHECK_STATUS(MLDF_E_TRUNCATED, mldfi_audio_files.look("b.wav", "", 0, note, &said, &err), &err);
    CHECK_STATUS(MLDF_E_TYPE, mldfi_audio_files.look("b.wav", "ID3 of an MP3 file", 18, note, &said, &err), &err);
    mldf_buffer_free(&file);
}

static void the_mask_of_the_field_is_exported(void) {
    static const mldf_audio_info info = {sizeof(mldf_audio_info), 4, 8000, 2, 16, MLDF_AUDIO_PCM, 0};
    mldf_buffer file = MLDF_BUFFER_INIT, scratch = MLDF_BUFFER_INIT;
    mldf_error err;
    struct encoded e;
    mldf_wav read = MLDF_WAV_INIT;
    mldf_schema *s = one_field(MLDF_AUDIO_WAVEFORM, "{\"mask\":1536}", 0, &err);
    REQUIRE(s != NULL);
    mldf_value v = wav(&info, &file), out;
    CHECK_OK(encode(s, &v, &e, &err), &err);
    CHECK_OK(decode(s, &e, &out, &err), &err);
    export_whole(&s->fields[0], &out, &scratch);
    CHECK_OK(mldf_wav_parse(scratch.data, scratch.size, &read, &err), &err);
    CHECK_EQ_U64(1536, read.info.mask);
    export_whole(NULL, &out, &scratch);
    CHECK_BYTES_EQ(file.data, file.size, scratch.data, scratch.size); /* byte for byte what came in */
    mldf_buffer_free(&file);
    mldf_buffer_free(&scratch);
    mldf_schema_free(s);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(the_record_is_32_bytes);
    RUN(arrays_give_codec_and_bits);
    RUN(what_cannot_be_stored_is_refused);
    RUN(arguments_bind_the_recordings);
    RUN(faulty_arguments_are_named);
    RUN(records_that_lie_are_found);
    RUN(numbers_that_are_no_dtype_are_bytes);
    RUN(statistics_see_rate_samples_and_channels);
    RUN(files_are_looked_at);
    RUN(the_mask_of_the_field_is_exported);
    return check_end();
}
