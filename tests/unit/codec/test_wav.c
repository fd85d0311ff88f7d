/* WAV headers: what every kind of file says, the traps that real files hold, sizes that lie, and headers of our own read back. */
#include "check.h"
#include "codec/wav.h"
#include "mldf/audio.h"
#include "util/bytes.h"

/* A file under construction. */
struct file {
    uint8_t bytes[512];
    size_t size;
};

static void put(struct file *f, const void *data, size_t bytes) {
    memcpy(f->bytes + f->size, data, bytes);
    f->size += bytes;
}

static void put_chunk(struct file *f, const char *id, uint32_t size, const void *body, size_t bytes) {
    uint8_t head[8];
    memcpy(head, id, 4);
    mldfi_store_u32(head + 4, size);
    put(f, head, 8);
    put(f, body, bytes);
}

static void put_format(struct file *f, uint16_t tag, uint16_t channels, uint32_t rate, uint16_t bits) {
    uint8_t body[16];
    uint32_t block = channels * ((bits + 7u) / 8);
    mldfi_store_u16(body, tag);
    mldfi_store_u16(body + 2, channels);
    mldfi_store_u32(body + 4, rate);
    mldfi_store_u32(body + 8, rate * block);
    mldfi_store_u16(body + 12, (uint16_t)block);
    mldfi_store_u16(body + 14, bits);
    put_chunk(f, "fmt ", 16, body, 16);
}

static struct file begin(uint32_t outer) {
    struct file f = {{0}, 0};
    put_chunk(&f, "RIFF", outer, "WAVE", 4);
    return f;
}

static const uint8_t samples[64] = {1, 2, 3, 4, 5, 6, 7, 8};

static struct file plain(uint16_t tag, uint16_t channels, uint16_t bits, uint32_t data) {
    struct file f = begin(36 + data);
    put_format(&f, tag, channels, 16000, bits);
    put_chunk(&f, "data", data, samples, data);
    return f;
}

static void codings_and_their_bits(void) {
    static const struct {
        uint16_t tag, bits;
        mldf_status status;
        mldf_audio_codec codec;
        uint32_t stored;
    } cases[] = {{1, 8, MLDF_OK, MLDF_AUDIO_PCM, 8},     {1, 12, MLDF_OK, MLDF_AUDIO_PCM, 16},
                 {1, 16, MLDF_OK, MLDF_AUDIO_PCM, 16},   {1, 20, MLDF_OK, MLDF_AUDIO_PCM, 24},
                 {1, 24, MLDF_OK, MLDF_AUDIO_PCM, 24},   {1, 32, MLDF_OK, MLDF_AUDIO_PCM, 32},
                 {3, 32, MLDF_OK, MLDF_AUDIO_FLOAT, 32}, {3, 64, MLDF_OK, MLDF_AUDIO_FLOAT, 64},
                 {6, 8, MLDF_OK, MLDF_AUDIO_ALAW, 8},    {7, 8, MLDF_OK, MLDF_AUDIO_MULAW, 8},
                 {1, 0, MLDF_E_CORRUPT, 0, 0},           {1, 64, MLDF_E_UNSUPPORTED, 0, 0},
                 {3, 16, MLDF_E_UNSUPPORTED, 0, 0},      {6, 16, MLDF_E_CORRUPT, 0, 0},
                 {2, 4, MLDF_E_UNSUPPORTED, 0, 0},       {0x55, 0, MLDF_E_UNSUPPORTED, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct file f = plain(cases[i].tag, 1, cases[i].bits, 24);
        mldf_wav wav = MLDF_WAV_INIT;
        mldf_error err;
        CHECK_STATUS(cases[i].status, mldf_wav_parse(f.bytes, f.size, &wav, &err), &err);
        if (cases[i].status != MLDF_OK)
            continue;
        CHECK_EQ_INT(cases[i].codec, wav.info.codec);
        CHECK_EQ_U64(cases[i].stored, wav.info.bits);
        CHECK_EQ_U64(24 / (cases[i].stored / 8), wav.info.samples);
        CHECK_EQ_U64(44, wav.data_offset);
        CHECK_EQ_U64(24, wav.data_bytes);
        CHECK_EQ_U64(16000, wav.info.rate);
    }
}

static void other_codings_are_named(void) {
    struct file f = plain(0x55, 1, 16, 4);
    mldf_wav wav = MLDF_WAV_INIT;
    mldf_error err;
    CHECK_STATUS(MLDF_E_UNSUPPORTED, mldf_wav_parse(f.bytes, f.size, &wav, &err), NULL);
    CHECK_CONTAINS("MP3", TEXT(err));
    CHECK_STATUS(MLDF_E_TYPE, mldf_wav_parse("fLaC and much more than that", 28, &wav, &err), NULL);
    CHECK_STATUS(MLDF_E_TRUNCATED, mldf_wav_parse("RIFF", 4, &wav, &err), NULL);
    CHECK_STATUS(MLDF_E_TRUNCATED, mldf_wav_parse("", 0, &wav, &err), NULL);
}

static void chunks_may_stand_before_and_behind(void) {
    mldf_wav wav = MLDF_WAV_INIT;
    mldf_error err;
    struct file f = begin(200);
    put_chunk(&f, "JUNK", 3, "abc\0", 4); /* odd, padded */
    put_format(&f, 1, 2, 8000, 16);
    put_chunk(&f, "LIST", 5, "datad\0", 6);
    put_chunk(&f, "fact", 4, samples, 4);
    size_t at = f.size + 8;
    put_chunk(&f, "data", 8, samples, 8);
    put_chunk(&f, "id3 ", 6, "behind", 6);
    CHECK_OK(mldf_wav_parse(f.bytes, f.size, &wav, &err), &err);
    CHECK_EQ_U64(at, wav.data_offset);
    CHECK_EQ_U64(2, wav.info.samples);
    CHECK_EQ_U64(0, wav.missing_bytes);

    f = begin(200); /* no padding where there should be */
    put_chunk(&f, "LIST", 5, "INFOx", 5);
    put_format(&f, 1, 1, 8000, 8);
    put_chunk(&f, "data", 7, samples, 7);
    CHECK_OK(mldf_wav_parse(f.bytes, f.size, &wav, &err), &err);
    CHECK_EQ_U64(7, wav.info.samples);

    f = begin(200); /* fmt behind data */
    put_chunk(&f, "data", 8, samples, 8);
    put_format(&f, 1, 1, 8000, 16);
    CHECK_OK(mldf_wav_parse(f.bytes, f.size, &wav, &err), &err);
    CHECK_EQ_U64(4, wav.info.samples);
    CHECK_EQ_U64(20, wav.data_offset);
}

static void lengths_left_open_reach_to_the_end(void) {
    static const struct {
        uint32_t outer, size;
        uint64_t samples, missing;
    } cases[] = {{UINT32_MAX, UINT32_MAX, 5, 0},
                 {0x7FFFF024, 0x7FFFF000, 5, 0},
                 {0x80000024, 0x80000000, 5, 0},
                 {0, 0, 5, 0},
                 {36, 0, 5, 0},
                 {UINT32_MAX, 0, 5, 0},
                 {46, 0, 0, 0}, /* room for the ten bytes: not open, and empty */
                 {36 + 300, 300, 5, 290},
                 {0x10000000, 0x10000000, 5, 0x10000000 - 10},
                 {46, 10, 5, 0},
                 {46, 9, 4, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        mldf_wav wav = MLDF_WAV_INIT;
        mldf_error err;
        struct file f = begin(cases[i].outer);
        put_format(&f, 1, 1, 16000, 16);
        put_chunk(&f, "data", cases[i].size, samples, 10);
        CHECK_OK(mldf_wav_parse(f.bytes, f.size, &wav, &err), &err);
        CHECK_EQ_U64(cases[i].samples, wav.info.samples);
        CHECK_EQ_U64(cases[i].missing, wav.missing_bytes);
        CHECK_EQ_U64(cases[i].size == 9, wav.rest_bytes);
    }
}

static void nonsense_is_refused_with_its_place(void) {
    static const struct {
        size_t at;
        uint8_t value, second;
        mldf_status status;
        uint64_t offset;
    } cases[] = {{22, 0, 0, MLDF_E_CORRUPT, 22},         /* no channels */
                 {24, 0, 0, MLDF_E_CORRUPT, 24},         /* rate 0: 16000 is 0x3e80 */
                 {16, 15, 0, MLDF_E_CORRUPT, 20},        /* a short fmt */
                 {16, 0xff, 0xff, MLDF_E_TRUNCATED, 76}, /* one that passes the end */
                 {20, 0xfe, 0xff, MLDF_E_CORRUPT, 20} /* extensible in 16 bytes */};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        mldf_wav wav = MLDF_WAV_INIT;
        mldf_error err;
        struct file f = plain(1, 1, 16, 32);
        f.bytes[cases[i].at] = cases[i].value;
        f.bytes[cases[i].at + 1] = cases[i].second;
        CHECK_STATUS(cases[i].status, mldf_wav_parse(f.bytes, f.size, &wav, &err), &err);
        CHECK_EQ_U64(cases[i].offset, err.offset);
    }
    struct file f = plain(1, 1, 16, 32);
    mldf_wav wav = MLDF_WAV_INIT;
    mldf_error err;
    for (size_t bytes = 0; bytes < 44; bytes++) { /* cut in its header */
        mldf_status status = mldf_wav_parse(f.bytes, bytes, &wav, &err);
        CHECK(status == MLDF_E_TRUNCATED);
    }
    CHECK_OK(mldf_wav_parse(f.bytes, 44, &wav, &err), &err);
    CHECK_EQ_U64(32, wav.missing_bytes);
}

static void a_wrong_block_size_needs_a_witness(void) {
    mldf_wav wav = MLDF_WAV_INIT;
    mldf_error err;
    struct file f = plain(1, 2, 16, 32);
    mldfi_store_u16(f.bytes + 32, 2); /* the bytes a second still say 4 */
    CHECK_OK(mldf_wav_parse(f.bytes, f.size, &wav, &err), &err);
    CHECK_EQ_U64(8, wav.info.samples);
    mldfi_store_u32(f.bytes + 28, 32000);
    CHECK_STATUS(MLDF_E_CORRUPT, mldf_wav_parse(f.bytes, f.size, &wav, &err), &err);
    CHECK_EQ_U64(32, err.offset);
    mldfi_store_u16(f.bytes + 32, 0);
    CHECK_OK(mldf_wav_parse(f.bytes, f.size, &wav, &err), &err);
}

static void sizes_of_64_bits(void) {
    mldf_wav wav = MLDF_WAV_INIT;
    mldf_error err;
    struct file f = {{0}, 0};
    uint8_t ds64[40] = {0};
    put_chunk(&f, "RF64", UINT32_MAX, "WAVE", 4);
    mldfi_store_u64(ds64 + 8, 8);
    mldfi_store_u32(ds64 + 24, 1);
    memcpy(ds64 + 28, "bigc", 4);
    mldfi_store_u64(ds64 + 32, 6);
    put_chunk(&f, "ds64", 40, ds64, 40);
    put_chunk(&f, "bigc", UINT32_MAX, "sixsix", 6);
    put_format(&f, 1, 1, 8000, 16);
    size_t at = f.size + 8;
    put_chunk(&f, "data", UINT32_MAX, samples, 8);
    put(&f, "behind it", 9);
    CHECK_OK(mldf_wav_parse(f.bytes, f.size, &wav, &err), &err);
    CHECK_EQ_U64(at, wav.data_offset);
    CHECK_EQ_U64(4, wav.info.samples);
    mldfi_store_u64(f.bytes + 20 + 8, UINT64_C(1) << 40); /* more than there is */
    CHECK_OK(mldf_wav_parse(f.bytes, f.size, &wav, &err), &err);
    CHECK_EQ_U64((UINT64_C(1) << 40) - 17, wav.missing_bytes);
    CHECK_EQ_U64(8, wav.info.samples);
    mldfi_store_u64(f.bytes + 20 + 8, UINT64_MAX); /* left open */
    CHECK_OK(mldf_wav_parse(f.bytes, f.size, &wav, &err), &err);
    CHECK_EQ_U64(0, wav.missing_bytes);
    CHECK_EQ_U64(1, wav.rest_bytes);
}

static void headers_of_our_own_are_read_back(void) {
    static const struct {
        mldf_audio_info info;
        uint16_t tag;
    } cases[] = {{{sizeof(mldf_audio_info), 5, 8000, 1, 8, MLDF_AUDIO_PCM, 0}, WAV_PCM},
                 {{sizeof(mldf_audio_info), 4, 44100, 2, 16, MLDF_AUDIO_PCM, 0}, WAV_PCM},
                 {{sizeof(mldf_audio_info), 3, 48000, 1, 24, MLDF_AUDIO_PCM, 0}, WAV_EXTENSIBLE},
                 {{sizeof(mldf_audio_info), 2, 48000, 2, 32, MLDF_AUDIO_PCM, 0}, WAV_EXTENSIBLE},
                 {{sizeof(mldf_audio_info), 2, 16000, 2, 32, MLDF_AUDIO_FLOAT, 0}, WAV_FLOAT},
                 {{sizeof(mldf_audio_info), 1, 16000, 4, 64, MLDF_AUDIO_FLOAT, 0}, WAV_EXTENSIBLE},
                 {{sizeof(mldf_audio_info), 7, 8000, 1, 8, MLDF_AUDIO_ALAW, 0}, WAV_ALAW},
                 {{sizeof(mldf_audio_info), 7, 8000, 2, 8, MLDF_AUDIO_MULAW, 0}, WAV_MULAW},
                 {{sizeof(mldf_audio_info), 2, 48000, 6, 16, MLDF_AUDIO_PCM, 0x3f}, WAV_EXTENSIBLE},
                 {{sizeof(mldf_audio_info), 0, 16000, 1, 16, MLDF_AUDIO_PCM, 0}, WAV_PCM}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const mldf_audio_info *info = &cases[i].info;
        uint64_t bytes = info->samples * info->channels * (info->bits / 8);
        unsigned pad;
        mldf_buffer out = MLDF_BUFFER_INIT;
        mldf_wav wav = MLDF_WAV_INIT;
        mldf_error err;
        CHECK_OK(mldf_wav_header(info, &out, &pad, &err), &err);
        CHECK_EQ_U64(bytes % 2, pad);
        CHECK_EQ_U64(cases[i].tag, mldfi_load_u16(out.data + 20));
        CHECK_EQ_U64(out.size + bytes + pad - 8, mldfi_load_u32(out.data + 4));
        CHECK_OK(mldf_buffer_append(&out, samples, bytes + pad, &err), &err);
        CHECK_OK(mldf_wav_parse(out.data, out.size, &wav, &err), &err);
        CHECK_MEM_EQ(info, &wav.info, sizeof *info);
        CHECK_EQ_U64(bytes, wav.data_bytes);
        CHECK_EQ_U64(out.size - bytes - pad, wav.data_offset);
        mldf_buffer_free(&out);
    }
}

static void from_4_gib_on_it_is_rf64(void) {
    mldf_audio_info info = {sizeof(mldf_audio_info), UINT64_C(1) << 31, 48000, 2, 16, MLDF_AUDIO_PCM, 0};
    mldf_buffer out = MLDF_BUFFER_INIT;
    mldf_wav wav = MLDF_WAV_INIT;
    mldf_error err;
    unsigned pad;
    CHECK_OK(mldf_wav_header(&info, &out, &pad, &err), &err);
    CHECK_MEM_EQ("RF64\xff\xff\xff\xffWAVEds64", out.data, 16);
    CHECK_OK(mldf_wav_parse(out.data, out.size, &wav, &err), &err); /* the header alone: all of it is missing */
    CHECK_EQ_U64(UINT64_C(1) << 33, wav.missing_bytes);
    out.size = 0;
    info.samples = (UINT32_MAX - 37) / 4;
    CHECK_OK(mldf_wav_header(&info, &out, &pad, &err), &err);
    CHECK_MEM_EQ("RIFF", out.data, 4);
    info.channels = 65535;
    CHECK_STATUS(MLDF_E_RANGE, mldf_wav_header(&info, &out, &pad, &err), NULL); /* a block has 16 bits */
    info.channels = 2;
    info.bits = 12;
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_wav_header(&info, &out, &pad, &err), NULL);
    info.bits = 16;
    info.rate = 0;
    CHECK_STATUS(MLDF_E_RANGE, mldf_wav_header(&info, &out, &pad, &err), NULL);
    info.rate = 1;
    info.samples = UINT64_MAX / 2;
    CHECK_STATUS(MLDF_E_RANGE, mldf_wav_header(&info, &out, &pad, &err), NULL);
    mldf_buffer_free(&out);
}

/* A struct whose size nobody said is refused, and nothing is written to it. */
static void structs_begin_with_their_size(void) {
    mldf_audio_info info = MLDF_AUDIO_INFO_INIT;
    mldf_wav wav = MLDF_WAV_INIT;
    mldf_buffer out = MLDF_BUFFER_INIT;
    mldf_error err;
    unsigned pad;
    info.samples = 2;
    info.rate = 8000;
    info.channels = 1;
    info.bits = 8;
    CHECK_OK(mldf_wav_header(&info, &out, &pad, &err), &err);
    CHECK_OK(mldf_buffer_append(&out, samples, 2, &err), &err);
    wav.struct_bytes = 0;
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_wav_parse(out.data, out.size, &wav, &err), NULL);
    CHECK_CONTAINS("mldf_wav: struct_bytes is 0", TEXT(err));
    CHECK_EQ_U64(0, wav.data_bytes);
    wav.struct_bytes = offsetof(mldf_wav, info); /* of a program that does not know the rest */
    wav.info.rate = 7;
    CHECK_OK(mldf_wav_parse(out.data, out.size, &wav, &err), &err);
    CHECK_EQ_U64(2, wav.data_bytes);
    CHECK_EQ_U64(7, wav.info.rate);
    info.struct_bytes = 0;
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_wav_header(&info, &out, &pad, &err), NULL);
    CHECK_CONTAINS("mldf_audio_info: struct_bytes is 0", TEXT(err));
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_audio_check_room(&info, 2, 0, &err), NULL);
    mldf_buffer_free(&out);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(codings_and_their_bits);
    RUN(other_codings_are_named);
    RUN(chunks_may_stand_before_and_behind);
    RUN(lengths_left_open_reach_to_the_end);
    RUN(nonsense_is_refused_with_its_place);
    RUN(a_wrong_block_size_needs_a_witness);
    RUN(sizes_of_64_bits);
    RUN(headers_of_our_own_are_read_back);
    RUN(from_4_gib_on_it_is_rf64);
    RUN(structs_begin_with_their_size);
    return check_end();
}
