/* Reading the header of a WAV file in memory: RIFF, its big-endian form RIFX, RF64 and BW64 (sizes of 64 bits in a chunk ds64) and
 * Sony Wave64 (chunks named by GUIDs). All are a list of chunks; "fmt " says what the numbers are, "data" holds them:
 *
 *     RIFF   id char[4] · size u32 · body, padded to an even size        outermost: "RIFF" size "WAVE"
 *     Wave64 id u8[16] · size u64 with these 24 bytes · body, padded to 8
 *
 * Nothing in a file is believed before it was compared with the bytes that are there. Programs that write into a pipe leave the size
 * of "data" open (0, or a little below 2 or 4 GiB): it then reaches to the end of the file. */
#include "codec/wav.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "util/bytes.h"
#include "util/error.h"
#include "util/options.h"

const uint8_t mldfi_wav_subformat_tail[WAV_SUBFORMAT_BYTES - 2] = {0, 0, 0,    0, 0x10, 0,    0x80,
                                                                   0, 0, 0xaa, 0, 0x38, 0x9b, 0x71};
/* Ambisonic B-format: PCM or float as the tag says. */
static const uint8_t ambisonic_tail[WAV_SUBFORMAT_BYTES - 2] = {0,    0,    0x21, 0x07, 0xd3, 0x11, 0x86,
                                                                0x44, 0xc8, 0xc1, 0xca, 0,    0,    0};
static const uint8_t wave64_riff[16] = {'r',  'i',  'f',  'f',  0x2e, 0x91, 0xcf, 0x11,
                                        0xa5, 0xd6, 0x28, 0xdb, 0x04, 0xc1, 0,    0};
static const uint8_t wave64_tail[12] = {0xf3, 0xac, 0xd3, 0x11, 0x8c, 0xd1, 0, 0xc0, 0x4f, 0x8e, 0xdb, 0x8a};

/* What programs write that do not know a size yet: 2^31 or 2^32 - 1, less a header or what is no whole sample. */
static bool is_placeholder(uint64_t bytes) {
    return (bytes >= 0x7FFE0000 && bytes <= 0x80000000) || (bytes >= 0xFFFE0000 && bytes <= 0xFFFFFFFF);
}

struct walk {
    const uint8_t *data;
    uint64_t bytes, at; /* at: the next chunk */
    bool big, wave64, rf64;
    uint64_t outer;            /* size that the outermost chunk announces */
    uint64_t ds64, ds64_bytes; /* body of that chunk; 0: none */
};

struct chunk {
    char id[4];
    uint64_t at, bytes; /* of its body, as announced */
};

static uint32_t get_u32(const struct walk *w, uint64_t at) {
    uint32_t v = mldfi_load_u32(w->data + at);
    return w->big ? __builtin_bswap32(v) : v;
}

static uint32_t get_u16(const struct walk *w, uint64_t at) {
    uint16_t v = mldfi_load_u16(w->data + at);
    return w->big ? __builtin_bswap16(v) : v;
}

static bool is_riff(const uint8_t *data, size_t bytes) {
    return bytes >= 12 && memcmp(data + 8, "WAVE", 4) == 0 &&
           (memcmp(data, "RIFF", 4) == 0 || memcmp(data, "RIFX", 4) == 0 || memcmp(data, "RF64", 4) == 0 ||
            memcmp(data, "BW64", 4) == 0);
}

static bool is_wave64(const uint8_t *data, size_t bytes) {
    return bytes >= 40 && memcmp(data, wave64_riff, 16) == 0 && memcmp(data + 24, "wave", 4) == 0 &&
           memcmp(data + 28, wave64_tail, 12) == 0;
}

bool mldfi_wav_is(const void *data, size_t bytes) {
    return bytes >= 12 && (is_riff(data, bytes) || is_wave64(data, bytes));
}

static mldf_status begin(struct walk *w, const void *data, size_t bytes, mldf_error *err) {
    memset(w, 0, sizeof *w);
    w->data = data;
    w->bytes = bytes;
    if (bytes >= 12 && is_riff(data, bytes)) {
        w->big = memcmp(data, "RIFX", 4) == 0;
        w->rf64 = w->data[2] == '6' || w->data[0] == 'B';
        w->outer = get_u32(w, 4);
        w->at = 12;
        return MLDF_OK;
    }
    if (bytes >= 40 && is_wave64(data, bytes)) {
        w->wave64 = true;
        w->outer = mldfi_load_u64(w->data + 16);
        w->at = 40;
        return MLDF_OK;
    }
    if (bytes < 12)
        return mldfi_fail_at(err, MLDF_E_TRUNCATED, bytes, "%zu bytes are too few for a WAV file", bytes);
    return mldfi_fail_at(err, MLDF_E_TYPE, 0, "not a WAV file: it does not begin with RIFF....WAVE or its like");
}

/* The size that ds64 gives for a chunk whose own says 0xFFFFFFFF. Its body: riff u64, data u64, samples u64, count u32, then
 * {id, size u64} for others. */
static uint64_t long_size(const struct walk *w, const char id[4], uint64_t otherwise) {
    if (w->ds64_bytes < 28)
        return otherwise;
    if (memcmp(id, "data", 4) == 0)
        return mldfi_load_u64(w->data + w->ds64 + 8);
    uint64_t count = mldfi_load_u32(w->data + w->ds64 + 24), room = (w->ds64_bytes - 28) / 12;
    for (uint64_t i = 0; i < count && i < room; i++) {
        const uint8_t *entry = w->data + w->ds64 + 28 + 12 * i;
        if (memcmp(entry, id, 4) == 0)
            return mldfi_load_u64(entry + 4);
    }
    return otherwise;
}

static bool is_chunk_name(const uint8_t *p) {
    static const char known[][5] = {"data", "fmt ", "LIST", "fact", "bext", "cue ", "smpl", "PEAK", "id3 ", "JUNK"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (memcmp(p, known[i], 4) == 0)
            return true;
    return false;
}

/* MLDF_END when no header of a chunk is left. */
static mldf_status next_chunk(struct walk *w, struct chunk *out, mldf_error *err) {
    uint64_t header = w->wave64 ? 24 : 8, left = w->at < w->bytes ? w->bytes - w->at : 0;
    if (left < header)
        return MLDF_END;
    memcpy(out->id, w->data + w->at, 4);
    out->at = w->at + header;
    if (w->wave64) {
        uint64_t size = mldfi_load_u64(w->data + w->at + 16);
        if (size < 24)
            return mldfi_fail_at(err, MLDF_E_CORRUPT, w->at + 16, "a Wave64 chunk of %" PRIu64 " bytes", size);
        if (memcmp(w->data + w->at + 4, wave64_tail, 12) != 0)
            memcpy(out->id, "????", 4);
        out->bytes = size - 24;
    } else {
        out->bytes = get_u32(w, w->at + 4);
        if (w->rf64 && out->bytes == UINT32_MAX)
            out->bytes = long_size(w, out->id, out->bytes);
    }
    return MLDF_OK;
}

/* To the chunk behind this one; past the end of the file when it announces more than there is. */
static void skip_chunk(struct walk *w, const struct chunk *c) {
    uint64_t align = w->wave64 ? 8 : 2, end;
    if (!mldfi_range_inside(c->at, c->bytes, w->bytes)) {
        w->at = w->bytes;
        return;
    }
    end = c->at + c->bytes;
    w->at = end + (align - end % align) % align;
    /* Some programs forget the padding. */
    if (!w->wave64 && w->at != end && w->bytes - end >= 8 && is_chunk_name(w->data + end))
        w->at = end;
}

/* ---- fmt ---------------------------------------------------------------------------------------------------------------- */

struct format {
    uint32_t tag, channels, rate, byte_rate, block, bits, mask;
};

static mldf_status read_format(const struct walk *w, const struct chunk *c, struct format *f, mldf_error *err) {
    if (!mldfi_range_inside(c->at, c->bytes, w->bytes))
        return mldfi_fail_at(err, MLDF_E_TRUNCATED, w->bytes, "the file ends in its chunk \"fmt \"");
    if (c->bytes < 16)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, c->at, "a chunk \"fmt \" of %" PRIu64 " bytes, less than 16",
                             c->bytes);
    *f = (struct format){get_u16(w, c->at),
                         get_u16(w, c->at + 2),
                         get_u32(w, c->at + 4),
                         get_u32(w, c->at + 8),
                         get_u16(w, c->at + 12),
                         get_u16(w, c->at + 14),
                         0};
    if (f->tag != WAV_EXTENSIBLE)
        return MLDF_OK;
    if (c->bytes < 40)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, c->at, "an extensible chunk \"fmt \" of %" PRIu64 " bytes, not 40",
                             c->bytes);
    const uint8_t *sub = w->data + c->at + 24;
    if (memcmp(sub + 2, mldfi_wav_subformat_tail, sizeof mldfi_wav_subformat_tail) != 0 &&
        memcmp(sub + 2, ambisonic_tail, sizeof ambisonic_tail) != 0)
        return mldfi_fail_at(err, MLDF_E_UNSUPPORTED, c->at + 24, "a WAV file whose sub-format is not known");
    f->tag = get_u16(w, c->at + 24);
    f->mask = get_u32(w, c->at + 20);
    return MLDF_OK;
}

static const char *coding_name(uint32_t tag) {
    static const struct {
        uint32_t tag;
        const char *name;
    } names[] = {{2, "Microsoft ADPCM"}, {0x11, "IMA ADPCM"}, {0x31, "GSM 6.10"}, {0x50, "MPEG"},
                 {0x55, "MP3"},          {0x161, "WMA"},      {0xff, "AAC"},      {0xf1ac, "FLAC"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].tag == tag)
            return names[i].name;
    return "unknown";
}

/* The pair (codec, bits): numbers of n bits stand in ceil(n / 8) bytes, in the upper bits of these. */
static mldf_status choose_codec(const struct format *f, uint64_t at, mldf_audio_info *out, mldf_error *err) {
    out->bits = (f->bits + 7) / 8 * 8;
    bool law = f->tag == WAV_ALAW || f->tag == WAV_MULAW, good;
    switch (f->tag) {
    case WAV_PCM:
        out->codec = MLDF_AUDIO_PCM;
        good = out->bits >= 8 && out->bits <= 32;
        break;
    case WAV_FLOAT:
        out->codec = MLDF_AUDIO_FLOAT;
        good = f->bits == 32 || f->bits == 64;
        break;
    case WAV_ALAW:
    case WAV_MULAW:
        out->codec = f->tag == WAV_ALAW ? MLDF_AUDIO_ALAW : MLDF_AUDIO_MULAW;
        good = f->bits == 8;
        break;
    default:
        return mldfi_fail_at(err, MLDF_E_UNSUPPORTED, at,
                             "a WAV file of coding 0x%04" PRIx32 " (%s); PCM, float, A-law and mu-law are read", f->tag,
                             coding_name(f->tag));
    }
    if (!good)
        return mldfi_fail_at(err, f->bits == 0 || law ? MLDF_E_CORRUPT : MLDF_E_UNSUPPORTED, at + 14,
                             "%" PRIu32 " bits a sample of %s", f->bits,
                             f->tag == WAV_FLOAT ? "float"
                             : law               ? "A-law or mu-law"
                                                 : "PCM");
    return MLDF_OK;
}

/* A wrong block size is put right when the bytes a second agree with the rest of the header, and when there is none. */
static mldf_status check_format(const struct format *f, uint64_t at, mldf_audio_info *out, mldf_error *err) {
    memset(out, 0, sizeof *out);
    out->struct_bytes = sizeof *out;
    TRY(choose_codec(f, at, out, err));
    if (f->channels == 0)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, at + 2, "a WAV file of no channels");
    if (f->rate == 0)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, at + 4, "a WAV file whose rate is 0");
    uint64_t block = (uint64_t)f->channels * (out->bits / 8);
    if (f->block != 0 && f->block != block && f->byte_rate != block * f->rate)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, at + 12,
                             "blocks of %" PRIu32 " bytes, and %" PRIu32 " channels of %" PRIu32 " bits need %" PRIu64,
                             f->block, f->channels, f->bits, block);
    out->channels = f->channels;
    out->rate = f->rate;
    out->mask = f->mask;
    return MLDF_OK;
}

/* ---- data --------------------------------------------------------------------------------------------------------------- */

/* Was the size of "data" left open by a program that could not go back? 0 is meant where the outer size has room for more. */
static bool is_open(const struct walk *w, const struct chunk *c) {
    uint64_t left = w->bytes - c->at;
    if (w->wave64)
        return c->bytes > left && c->bytes >= (uint64_t)INT64_MAX - 4096;
    if (c->bytes == 0)
        return left > 0 && (w->outer == 0 || w->outer == UINT32_MAX || w->outer + 8 <= c->at);
    if (w->rf64 && w->ds64_bytes >= 28)
        return c->bytes > left && c->bytes >= (uint64_t)INT64_MAX - 4096;
    return c->bytes > left && is_placeholder(c->bytes);
}

static void measure(const struct walk *w, const struct chunk *c, mldf_wav *out) {
    uint64_t left = w->bytes - c->at, block = (uint64_t)out->info.channels * (out->info.bits / 8);
    uint64_t there = is_open(w, c) || c->bytes > left ? left : c->bytes;
    out->missing_bytes = is_open(w, c) || c->bytes <= left ? 0 : c->bytes - left;
    out->info.samples = there / block;
    out->rest_bytes = (uint32_t)(there % block);
    if (w->wave64 && out->rest_bytes < 8)
        out->rest_bytes = 0; /* padding, which some programs count in */
    out->data_offset = c->at;
    out->data_bytes = out->info.samples * block;
    out->big_endian = w->big;
}

/* The caller's mldf_wav keeps the size of the mldf_audio_info in it, as it keeps its own. */
static void give_wav(mldf_wav *out, const mldf_wav *own) {
    size_t info_bytes = 0;
    const bool has_info = out->struct_bytes >= offsetof(mldf_wav, info) + sizeof info_bytes;
    if (has_info)
        info_bytes = out->info.struct_bytes;
    mldfi_give_result(out, own, sizeof *own);
    if (has_info)
        out->info.struct_bytes = info_bytes;
}

mldf_status mldf_wav_parse(const void *data, size_t bytes, mldf_wav *out, mldf_error *err) {
    mldf_wav wav = {0};
    struct walk w;
    struct chunk c, samples = {"", 0, 0};
    struct format format;
    bool have_format = false, have_data = false;
    if (!out || (!data && bytes > 0))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_wav_parse: %s is NULL", out ? "data" : "out");
    TRY(mldfi_check_result("mldf_wav", out, err));
    mldf_status status = begin(&w, data, bytes, err);
    while (status == MLDF_OK && !(have_format && have_data) && (status = next_chunk(&w, &c, err)) == MLDF_OK) {
        if (memcmp(c.id, "ds64", 4) == 0 && w.rf64 && w.ds64_bytes == 0 && mldfi_range_inside(c.at, c.bytes, w.bytes)) {
            w.ds64 = c.at;
            w.ds64_bytes = c.bytes;
        } else if (memcmp(c.id, "fmt ", 4) == 0 && !have_format) {
            status = read_format(&w, &c, &format, err);
            if (status == MLDF_OK)
                status = check_format(&format, c.at, &wav.info, err);
            have_format = true;
        } else if (memcmp(c.id, "data", 4) == 0 && !have_data) {
            samples = c;
            have_data = true;
        }
        if (status == MLDF_OK)
            skip_chunk(&w, &c);
    }
    if (status < 0)
        return status;
    if (!have_format || !have_data)
        return mldfi_fail_at(err, MLDF_E_TRUNCATED, bytes, "a WAV file without a chunk \"%s\"",
                             have_format ? "data" : "fmt ");
    measure(&w, &samples, &wav);
    give_wav(out, &wav);
    return MLDF_OK;
}
