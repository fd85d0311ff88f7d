/* Reading the headers of AIFF, CAF and NIST SPHERE files in memory. Like WAV files they say what their numbers are, and where; wav.c reads those.
 *
 *     AIFF    "FORM" size u32 "AIFF" or "AIFC"; chunks: id char[4] · size u32 · body, padded to an even size; big-endian
 *             COMM: channels u16 · samples u32 · bits u16 · rate, a float of 80 bits · AIFC: coding char[4]
 *             SSND: offset u32 · block u32 · samples
 *     CAF     "caff" version u16 flags u16; chunks: id char[4] · size i64 (of "data" -1: to the end) · body; big-endian
 *             desc: rate f64 · coding char[4] · flags u32 · bytes of a packet u32 · samples of a packet u32 · channels u32 · bits u32
 *             data: edits u32 · samples
 *     SPHERE  "NIST_1A\n", bytes of the header in 8 characters, lines "name -type value", "end_head"
 *
 * Nothing in a file is believed before it was compared with the bytes that are there. */
#include "codec/pcm_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/bytes.h"
#include "util/error.h"

/* What a header says; the same for all of them. */
struct said {
    uint64_t rate, channels, bits, samples; /* samples MLDF_NONE: as many as there are */
    mldf_audio_codec codec;
    bool big, signed_bytes, open; /* open: the size of the data was not known when the header was written */
    uint64_t at, bytes;           /* of the samples, as announced */
    uint64_t width;               /* bytes of a number */
};

static uint32_t be32(const uint8_t *p) {
    return __builtin_bswap32(mldfi_load_u32(p));
}
static uint64_t be64(const uint8_t *p) {
    return __builtin_bswap64(mldfi_load_u64(p));
}
static uint32_t be16(const uint8_t *p) {
    return (uint32_t)p[0] << 8 | p[1];
}

/* The codings that AIFF-C and CAF have names for. */
static const struct coding {
    char name[5];
    mldf_audio_codec codec;
    uint32_t bits; /* 0: as the header says */
    bool little, unsigned_bytes;
} codings[] = {
    {"NONE", MLDF_AUDIO_PCM, 0, false, false},    {"twos", MLDF_AUDIO_PCM, 0, false, false},
    {"sowt", MLDF_AUDIO_PCM, 0, true, false},     {"raw ", MLDF_AUDIO_PCM, 8, false, true},
    {"in24", MLDF_AUDIO_PCM, 24, false, false},   {"in32", MLDF_AUDIO_PCM, 32, false, false},
    {"42ni", MLDF_AUDIO_PCM, 24, true, false},    {"23ni", MLDF_AUDIO_PCM, 32, true, false},
    {"fl32", MLDF_AUDIO_FLOAT, 32, false, false}, {"FL32", MLDF_AUDIO_FLOAT, 32, false, false},
    {"fl64", MLDF_AUDIO_FLOAT, 64, false, false}, {"FL64", MLDF_AUDIO_FLOAT, 64, false, false},
    {"alaw", MLDF_AUDIO_ALAW, 8, false, true},    {"ALAW", MLDF_AUDIO_ALAW, 8, false, true},
    {"ulaw", MLDF_AUDIO_MULAW, 8, false, true},   {"ULAW", MLDF_AUDIO_MULAW, 8, false, true},
};

static mldf_status take_coding(const uint8_t *name, uint64_t at, const char *format, struct said *s, mldf_error *err) {
    for (size_t i = 0; i < sizeof codings / sizeof codings[0]; i++) {
        const struct coding *c = &codings[i];
        if (memcmp(c->name, name, 4) != 0)
            continue;
        s->codec = c->codec;
        s->bits = c->bits ? c->bits : s->bits;
        s->big = !c->little;
        s->signed_bytes = !c->unsigned_bytes;
        return MLDF_OK;
    }
    char shown[5];
    for (int i = 0; i < 4; i++)
        shown[i] = (char)(name[i] > 0x20 && name[i] < 0x7f ? name[i] : '?');
    shown[4] = 0;
    return mldfi_fail_at(err, MLDF_E_UNSUPPORTED, at, "%s of coding \"%s\"; PCM, float, A-law and mu-law are read",
                         format, shown);
}

/* ---- What all have in common ------------------------------------------------------------------------------------------------ */

/* at: where the header says it. */
static mldf_status settle(const struct said *s, size_t bytes, uint64_t at, struct pcm_file *out, mldf_error *err) {
    mldf_audio_info *info = &out->wav.info;
    uint64_t width = (s->bits + 7) / 8;
    bool good = s->codec == MLDF_AUDIO_FLOAT                                  ? s->bits == 32 || s->bits == 64
                : s->codec == MLDF_AUDIO_ALAW || s->codec == MLDF_AUDIO_MULAW ? s->bits == 8
                                                                              : width >= 1 && width <= 4;
    if (!good || (s->width && s->width != width))
        return mldfi_fail_at(err, MLDF_E_UNSUPPORTED, at, "%s: %" PRIu64 " bits a number, in %" PRIu64 " bytes",
                             out->name, s->bits, s->width ? s->width : width);
    if (s->channels == 0 || s->channels > UINT16_MAX || s->rate == 0 || s->rate > UINT32_MAX / 2)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, at, "%s: %" PRIu64 " channels, %" PRIu64 " Hz", out->name,
                             s->channels, s->rate);
    if (s->at == 0 || s->at > bytes)
        return mldfi_fail_at(err, MLDF_E_TRUNCATED, bytes, "%s: the file ends before its samples", out->name);
    uint64_t block = s->channels * width, left = bytes - s->at, there = s->bytes < left ? s->bytes : left;
    uint64_t count = there / block, want = s->samples;
    *info = (mldf_audio_info){sizeof *info, count, (uint32_t)s->rate, (uint32_t)s->channels, (uint32_t)(8 * width),
                              s->codec,     0};
    out->wav.rest_bytes = (uint32_t)(there % block);
    if (want != MLDF_NONE && !s->open) {
        out->wav.missing_bytes = want > count && want - count <= UINT64_MAX / block ? (want - count) * block : 0;
        if (want > count && !out->wav.missing_bytes)
            out->wav.missing_bytes = UINT64_MAX;
        info->samples = want < count ? want : count;
        out->wav.rest_bytes = want <= count ? 0 : out->wav.rest_bytes;
    } else if (!s->open && s->bytes > left) {
        out->wav.missing_bytes = s->bytes - left;
    }
    out->wav.data_offset = s->at;
    out->wav.data_bytes = info->samples * block;
    out->wav.big_endian = s->big;
    out->signed_bytes = s->signed_bytes && s->codec == MLDF_AUDIO_PCM && width == 1;
    return MLDF_OK;
}

/* ---- AIFF -------------------------------------------------------------------------------------------------------------------- */

static bool is_aiff(const uint8_t *d, size_t bytes) {
    return bytes >= 12 && memcmp(d, "FORM", 4) == 0 && (memcmp(d + 8, "AIFF", 4) == 0 || memcmp(d + 8, "AIFC", 4) == 0);
}

/* A float of 80 bits that is a whole number: 1 sign, 15 exponent, 64 mantissa with its leading one. 0: it is not. */
static uint64_t whole_float80(const uint8_t *p) {
    int shift = 16383 + 63 - (int)(be16(p) & 0x7FFF);
    uint64_t mantissa = be64(p + 2);
    if ((p[0] & 0x80) || shift < 0 || shift > 63 || (shift && (mantissa & ((UINT64_C(1) << shift) - 1))))
        return 0;
    return mantissa >> shift;
}

static mldf_status read_comm(const uint8_t *d, uint64_t at, uint64_t bytes, bool aifc, struct said *s,
                             mldf_error *err) {
    if (bytes < (aifc ? 22u : 18u))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, at, "AIFF: a chunk COMM of %" PRIu64 " bytes", bytes);
    s->channels = be16(d + at);
    s->samples = be32(d + at + 2);
    s->bits = be16(d + at + 6);
    s->rate = whole_float80(d + at + 8);
    s->codec = MLDF_AUDIO_PCM;
    s->big = s->signed_bytes = true;
    if (s->rate == 0)
        return mldfi_fail_at(err, MLDF_E_UNSUPPORTED, at + 8,
                             "AIFF: a rate that is not a whole number of samples a second");
    return aifc ? take_coding(d + at + 18, at + 18, "AIFF-C", s, err) : MLDF_OK;
}

static mldf_status parse_aiff(const uint8_t *d, size_t bytes, struct pcm_file *out, mldf_error *err) {
    struct said s = {0};
    uint64_t comm = 0;
    bool aifc = d[11] == 'C';
    out->name = aifc ? "AIFF-C" : "AIFF";
    for (uint64_t at = 12; bytes - at >= 8 && !(comm && s.at);) {
        uint64_t size = be32(d + at + 4), body = at + 8, left = bytes - body;
        if (memcmp(d + at, "COMM", 4) == 0 && !comm) {
            TRY(size <= left ? read_comm(d, body, size, aifc, &s, err)
                             : mldfi_fail_at(err, MLDF_E_TRUNCATED, bytes, "AIFF: the file ends in COMM"));
            comm = body;
        } else if (memcmp(d + at, "SSND", 4) == 0 && !s.at && left >= 8) {
            uint64_t offset = be32(d + body);
            s.at = body + 8 + offset;
            s.bytes = size >= 8 + offset ? size - 8 - offset : 0;
            s.open = size > left && size >= 0x7F000000; /* written into a pipe */
            s.bytes = s.open ? UINT64_MAX : s.bytes;
        }
        if (size > left || left - size < (size & 1))
            break;
        at = body + size + (size & 1);
    }
    if (!comm)
        return mldfi_fail_at(err, MLDF_E_TRUNCATED, bytes, "%s: no chunk COMM", out->name);
    if (!s.at && s.samples == 0)
        s.at = bytes; /* of no samples the chunk may be missing */
    return settle(&s, bytes, comm, out, err);
}

/* ---- CAF --------------------------------------------------------------------------------------------------------------------- */

static bool is_caf(const uint8_t *d, size_t bytes) {
    return bytes >= 8 && memcmp(d, "caff\0\1", 6) == 0;
}

static mldf_status read_desc(const uint8_t *d, uint64_t at, struct said *s, mldf_error *err) {
    uint64_t word = be64(d + at);
    uint32_t flags = be32(d + at + 12), packet = be32(d + at + 16);
    double rate;
    memcpy(&rate, &word, sizeof rate);
    s->rate = rate >= 1 && rate < 0x1p31 ? (uint64_t)rate : 0;
    if (s->rate == 0 || (double)s->rate < rate)
        return mldfi_fail_at(err, MLDF_E_UNSUPPORTED, at, "CAF: a rate that is not a whole number of samples a second");
    s->channels = be32(d + at + 24);
    s->bits = be32(d + at + 28);
    s->samples = MLDF_NONE;
    s->big = s->signed_bytes = true;
    if (memcmp(d + at + 8, "lpcm", 4) != 0)
        return take_coding(d + at + 8, at + 8, "CAF", s, err);
    s->codec = flags & 1 ? MLDF_AUDIO_FLOAT : MLDF_AUDIO_PCM;
    s->big = !(flags & 2);
    s->width = s->channels && packet % s->channels == 0 ? packet / s->channels : 0;
    if (s->width == 0 || be32(d + at + 20) != 1)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, at + 16,
                             "CAF: packets of %" PRIu32 " bytes and %" PRIu32 " samples, of PCM", packet,
                             be32(d + at + 20));
    return MLDF_OK;
}

static mldf_status parse_caf(const uint8_t *d, size_t bytes, struct pcm_file *out, mldf_error *err) {
    struct said s = {0};
    bool described = false;
    out->name = "CAF";
    for (uint64_t at = 8; bytes - at >= 12 && !(described && s.at);) {
        uint64_t size = be64(d + at + 4), body = at + 12, left = bytes - body;
        if (memcmp(d + at, "desc", 4) == 0 && !described) {
            mldf_status status =
                size >= 32 && left >= 32
                    ? read_desc(d, body, &s, err)
                    : mldfi_fail_at(err, MLDF_E_CORRUPT, body, "CAF: a chunk desc of %" PRIu64 " bytes", size);
            if (status < 0)
                return status;
            described = true;
        } else if (memcmp(d + at, "data", 4) == 0 && !s.at && left >= 4) {
            s.open = size == UINT64_MAX;
            s.at = body + 4;
            s.bytes = s.open ? UINT64_MAX : size >= 4 ? size - 4 : 0;
        }
        if (size > left)
            break;
        at = body + size;
    }
    if (!described)
        return mldfi_fail_at(err, MLDF_E_TRUNCATED, bytes, "CAF: no chunk desc");
    return settle(&s, bytes, 8, out, err);
}

/* ---- NIST SPHERE --------------------------------------------------------------------------------------------------------------- */

static bool is_sphere(const uint8_t *d, size_t bytes) {
    return bytes >= 16 && memcmp(d, "NIST_1A\n", 8) == 0;
}

/* The value of a line of the header, as text; false: there is no such line, or it is too long. */
static bool find_line(const uint8_t *d, uint64_t end, const char *name, char *out, size_t room, uint64_t *at) {
    size_t length = strlen(name);
    for (uint64_t line = 16; line < end;) {
        const uint8_t *stop = memchr(d + line, '\n', (size_t)(end - line));
        uint64_t next = stop ? (uint64_t)(stop - d) : end, p = line + length;
        if (next - line > length && memcmp(d + line, name, length) == 0 && d[p] == ' ') {
            const uint8_t *value = memchr(d + p + 1, ' ', (size_t)(next - p - 1)); /* behind the type */
            size_t n = value ? (size_t)(next - (uint64_t)(value + 1 - d)) : 0;
            while (n && (value[n] == ' ' || value[n] == '\r'))
                n--;
            if (n == 0 || n >= room)
                return false;
            memcpy(out, value + 1, n);
            out[n] = 0;
            *at = line;
            return true;
        }
        if (next - line >= 8 && memcmp(d + line, "end_head", 8) == 0)
            return false;
        line = next + 1;
    }
    return false;
}

static bool find_number(const uint8_t *d, uint64_t end, const char *name, uint64_t *out) {
    char text[24], *stop;
    uint64_t at;
    if (!find_line(d, end, name, text, sizeof text, &at) || text[0] < '0' || text[0] > '9')
        return false;
    *out = strtoull(text, &stop, 10);
    return *stop == 0;
}

static mldf_status read_coding(const uint8_t *d, uint64_t end, struct said *s, mldf_error *err) {
    char coding[64], order[8];
    uint64_t at = 16, there = 0;
    if (!find_line(d, end, "sample_coding", coding, sizeof coding, &at))
        memcpy(coding, "pcm", 4);
    if (strcmp(coding, "ulaw") == 0 || strcmp(coding, "mu-law") == 0)
        s->codec = MLDF_AUDIO_MULAW;
    else if (strcmp(coding, "alaw") == 0)
        s->codec = MLDF_AUDIO_ALAW;
    else if (strcmp(coding, "pcm") != 0)
        return mldfi_fail_at(
            err, MLDF_E_UNSUPPORTED, at,
            "NIST SPHERE of coding \"%s\"; pcm, ulaw and alaw are read (sph2pipe -p makes pcm of others)", coding);
    if (!find_number(d, end, "sample_n_bytes", &s->width))
        s->width = s->codec == MLDF_AUDIO_PCM ? 2 : 1;
    s->bits = s->width <= 4 ? 8 * s->width : 0;
    if (s->width < 2)
        return MLDF_OK;
    if (!find_line(d, end, "sample_byte_format", order, sizeof order, &there) ||
        (strncmp(order, "01", 2) != 0 && strncmp(order, "10", 2) != 0))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, there, "NIST SPHERE: sample_byte_format is neither 01 nor 10");
    s->big = order[0] == '1';
    return MLDF_OK;
}

static mldf_status parse_sphere(const uint8_t *d, size_t bytes, struct pcm_file *out, mldf_error *err) {
    struct said s = {.codec = MLDF_AUDIO_PCM, .signed_bytes = true, .bytes = UINT64_MAX};
    out->name = "NIST SPHERE";
    for (int i = 8; i < 16; i++)
        if (d[i] >= '0' && d[i] <= '9')
            s.at = s.at * 10 + (uint64_t)(d[i] - '0');
    if (s.at < 16 || s.at > bytes)
        return mldfi_fail_at(err, s.at < 16 ? MLDF_E_CORRUPT : MLDF_E_TRUNCATED, 8,
                             "NIST SPHERE: a header of %" PRIu64 " bytes", s.at);
    if (!find_number(d, s.at, "channel_count", &s.channels))
        s.channels = 1;
    if (!find_number(d, s.at, "sample_count", &s.samples))
        s.samples = MLDF_NONE;
    if (!find_number(d, s.at, "sample_rate", &s.rate))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, 16, "NIST SPHERE: no sample_rate");
    mldf_status status = read_coding(d, s.at, &s, err);
    return status < 0 ? status : settle(&s, bytes, 16, out, err);
}

mldf_status mldfi_pcm_file_parse(const void *data, size_t bytes, struct pcm_file *out, mldf_error *err) {
    const uint8_t *d = data;
    *out = (struct pcm_file){.wav = MLDF_WAV_INIT};
    if (d && is_aiff(d, bytes))
        return parse_aiff(d, bytes, out, err);
    if (d && is_caf(d, bytes))
        return parse_caf(d, bytes, out, err);
    if (d && is_sphere(d, bytes))
        return parse_sphere(d, bytes, out, err);
    out->name = "WAV";
    return mldf_wav_parse(data, bytes, &out->wav, err);
}
