/* AAC and ALAC: decoded by FFmpeg, taken out of MP4 files by FFmpeg and out of ADTS files by ourselves. See audio_stream.h; av.h has the modules.
 *
 * What an AAC packet decodes to may depend on all that came before: perceptual noise is random numbers that go on from packet to packet. That is found here,
 * by decoding pieces of the stream and comparing them with the whole. A flush does not make a decoder forget everything (FFmpeg's noise goes on), so the
 * pieces are decoded twice: by a decoder that has seen the whole stream, and by new ones. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "codec/audio_stream.h"
#include "codec/av.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

/* ---- Decoder ------------------------------------------------------------------------------------------------------------------------------ */

enum { ALAC_COOKIE = 24, ALAC_ATOM = 36, OPUS_HEAD_MOST = 19 + 2 + 255, HISTORY_PIECE = 64 };

struct av_audio {
    const struct av_decode_module *module;
    void *decoder;
    uint32_t rate, channels;
    mldf_buffer joined; /* for channels that are not stored one after the other */
};

static void close_decoder(void *decoder) {
    struct av_audio *a = decoder;
    if (a->decoder)
        a->module->close(a->decoder);
    mldf_buffer_free(&a->joined);
    free(a);
}

static mldf_status open_with(const struct audio_setup *setup, struct av_audio *a, mldf_error *err) {
    uint8_t atom[ALAC_ATOM] = {0, 0, 0, ALAC_ATOM, 'a', 'l', 'a', 'c'}, head[OPUS_HEAD_MOST];
    char text[AV_TEXT] = "";
    struct av_setup s = {.kind = AV_KIND_AUDIO,
                         .codec = (int)setup->info.codec,
                         .extra = setup->extra,
                         .extra_bytes = setup->extra_bytes,
                         .rate = setup->info.rate,
                         .channels = setup->info.channels,
                         .bits = setup->info.bits,
                         .portable = setup->choice.portable};
    if (setup->info.codec == MLDF_AUDIO_ALAC) {
        if (setup->extra_bytes != ALAC_COOKIE)
            return mldfi_fail(err, MLDF_E_CORRUPT, "ALAC: a magic cookie of %zu bytes; it has %d", setup->extra_bytes,
                              ALAC_COOKIE);
        memcpy(atom + ALAC_ATOM - ALAC_COOKIE, setup->extra, ALAC_COOKIE);
        s.extra = atom;
        s.extra_bytes = sizeof atom;
    }
    if (setup->info.codec == MLDF_AUDIO_OPUS && setup->extra_bytes >= 19) {
        /* No head needs more than the first OPUS_HEAD_MOST bytes; FFmpeg reads none behind them. */
        s.extra_bytes = setup->extra_bytes < OPUS_HEAD_MOST ? setup->extra_bytes : OPUS_HEAD_MOST;
        memcpy(head, setup->extra, s.extra_bytes);
        head[10] = head[11] = 0; /* the pre-skip, which FFmpeg would cut off every run; the stream's table says it */
        s.extra = head;
    }
    if (a->module->open(&s, &a->decoder, text) < 0)
        return mldfi_fail(err, MLDF_E_CORRUPT, "%s: %s", mldf_audio_codec_name(setup->info.codec), text);
    a->rate = setup->info.rate;
    a->channels = setup->info.channels;
    return MLDF_OK;
}

static mldf_status open_decoder(const struct audio_setup *setup, void **out, mldf_error *err) {
    struct av_audio *a = mldfi_alloc_zero(1, sizeof *a, err);
    if (!a)
        return MLDF_E_MEMORY;
    mldf_status status = mldfi_av_decode_module(&a->module, err);
    if (status == MLDF_OK)
        status = open_with(setup, a, err);
    if (status < 0)
        close_decoder(a);
    else
        *out = a;
    return status;
}

static mldf_status begin(void *decoder, mldf_error *err) {
    struct av_audio *a = decoder;
    (void)err;
    a->module->flush(a->decoder);
    return MLDF_OK;
}

/* One packet, whatever rate and channels it has. samples 0: it gives nothing. */
static mldf_status decode_any(struct av_audio *a, const uint8_t *packet, size_t bytes, struct av_sound *out,
                              mldf_error *err) {
    char text[AV_TEXT] = "";
    static const uint8_t none;
    memset(out, 0, sizeof *out);
    int code = a->module->send(a->decoder, packet ? packet : &none, bytes, 0, text);
    if (code >= 0)
        code = a->module->sound(a->decoder, out, text);
    return code < 0 ? mldfi_fail(err, MLDF_E_CORRUPT, "%s", text) : MLDF_OK;
}

static mldf_status decode(void *decoder, const uint8_t *packet, size_t bytes, struct audio_block *out,
                          mldf_error *err) {
    struct av_audio *a = decoder;
    struct av_sound sound;
    TRY(decode_any(a, packet, bytes, &sound, err));
    if (sound.samples && (sound.rate != a->rate || sound.channels != a->channels))
        return mldfi_fail(err, MLDF_E_CORRUPT,
                          "%" PRIu32 " channels and %" PRIu32 " Hz, and the record says %" PRIu32 " and %" PRIu32,
                          sound.channels, sound.rate, a->channels, a->rate);
    size_t plane = (size_t)sound.samples * sizeof(float);
    mldf_status status = mldfi_buffer_resize(&a->joined, plane * sound.channels + 1, err);
    for (uint32_t c = 0; status == MLDF_OK && c < sound.channels && plane; c++)
        memcpy(a->joined.data + c * plane, sound.plane[c], plane);
    *out = (struct audio_block){(const float *)(void *)a->joined.data, sound.samples, 1, sound.samples};
    return status;
}

static const char *version(void) {
    const struct av_decode_module *module;
    return mldfi_av_decode_module(&module, NULL) == MLDF_OK ? module->version : NULL;
}

const struct audio_decoder mldfi_decoder_av = {
    .name = "FFmpeg",
    .open = open_decoder,
    .begin = begin,
    .decode = decode,
    .close = close_decoder,
    .version = version,
};

/* ---- What decoding finds ------------------------------------------------------------------------------------------------------------------ */

/* What the stream gives: rate and channels of the first packet with samples, and how many each packet has. */
static mldf_status measure(struct audio_parts *p, struct av_audio *decoder, mldf_error *err) {
    struct av_sound sound;
    bool seen = false;
    mldf_status status = MLDF_OK;
    for (size_t i = 0; i < p->count && status == MLDF_OK; i++) {
        status = decode_any(decoder, p->data + p->packets[i].offset, p->packets[i].bytes, &sound, err);
        if (status == MLDF_OK && sound.samples && seen &&
            (sound.rate != p->info.rate || sound.channels != p->info.channels))
            status =
                mldfi_fail(err, MLDF_E_UNSUPPORTED,
                           "the stream changes from %" PRIu32 " channels of %" PRIu32 " Hz to %" PRIu32 " of %" PRIu32,
                           p->info.channels, p->info.rate, sound.channels, sound.rate);
        if (status == MLDF_OK && !mldfi_work_goes_on(p->watch, 0))
            status = mldfi_fail(err, MLDF_E_CANCELLED, "cancelled");
        if (status == MLDF_OK && sound.samples > AUDIO_PACKET_SAMPLES)
            status = mldfi_fail(err, MLDF_E_LIMIT, "%" PRIu32 " samples", sound.samples);
        if (status == MLDF_OK && sound.samples && !seen) {
            seen = true;
            p->preroll = sound.rate > p->info.rate ? 2 : p->preroll; /* SBR */
            p->info.rate = sound.rate;
            p->info.channels = sound.channels;
        }
        p->packets[i].samples = sound.samples;
        if (status < 0) {
            mldfi_error_prefix(err, "packet %zu", i);
            if (err)
                err->offset = p->made.size ? MLDF_NONE : p->packets[i].offset;
        }
    }
    decoder->rate = p->info.rate;
    decoder->channels = p->info.channels;
    return status;
}

static bool same(const struct audio_block *a, const struct audio_block *b, uint32_t channels) {
    return a->samples == b->samples &&
           (a->samples == 0 || memcmp(a->data, b->data, (size_t)a->samples * channels * sizeof(float)) == 0);
}

static mldf_status decode_packet(void *decoder, const struct audio_parts *p, size_t i, struct audio_block *out,
                                 mldf_error *err) {
    return decode(decoder, p->data + p->packets[i].offset, p->packets[i].bytes, out, err);
}

/* Packet i of a piece, which begins at every HISTORY_PIECE packets with the pre-roll: does it give what the whole stream gives? */
static mldf_status compare_piece(void *decoder, struct audio_parts *p, size_t i, const struct audio_block *whole,
                                 mldf_error *err) {
    struct audio_block piece = {0};
    size_t from = i % HISTORY_PIECE ? i : i < p->preroll ? 0 : i - p->preroll;
    for (size_t k = from; k <= i; k++)
        TRY(decode_packet(decoder, p, k, &piece, err));
    /* Where the stream begins, the shape of the window that a used decoder saw last is still there; readers take a new one for the first packet. */
    p->history = p->history || (i >= p->preroll && !same(whole, &piece, p->info.channels));
    return MLDF_OK;
}

/* Do pieces differ from the whole, decoded by `used`, which has decoded the stream, after a flush, or by a decoder that has decoded nothing? */
static mldf_status find_history(struct audio_parts *p, void *used, mldf_error *err) {
    struct audio_setup setup = {.info = p->info, .extra = p->extra.data, .extra_bytes = p->extra.size};
    struct audio_block whole;
    void *linear, *fresh = NULL;
    mldf_status status = open_decoder(&setup, &linear, err);
    if (status < 0)
        return status;
    for (size_t i = 0; i < p->count && status == MLDF_OK && !p->history; i++) {
        status = mldfi_work_goes_on(p->watch, 0) ? decode_packet(linear, p, i, &whole, err)
                                                 : mldfi_fail(err, MLDF_E_CANCELLED, "cancelled");
        if (status == MLDF_OK && i % HISTORY_PIECE == 0) {
            if (fresh)
                close_decoder(fresh);
            fresh = NULL;
            status = begin(used, err);
            if (status == MLDF_OK && i)
                status = open_decoder(&setup, &fresh, err);
        }
        if (status == MLDF_OK)
            status = compare_piece(used, p, i, &whole, err);
        if (status == MLDF_OK && fresh)
            status = compare_piece(fresh, p, i, &whole, err);
    }
    close_decoder(linear);
    if (fresh)
        close_decoder(fresh);
    return status;
}

mldf_status mldfi_av_settle(struct audio_parts *p, mldf_error *err) {
    struct audio_setup setup = {.info = p->info, .extra = p->extra.data, .extra_bytes = p->extra.size};
    void *decoder;
    TRY(open_decoder(&setup, &decoder, err));
    mldf_status status = measure(p, decoder, err);
    if (status == MLDF_OK && (p->info.channels == 0 || p->info.rate == 0)) /* ADTS leaves them to the packets */
        status = mldfi_fail(err, MLDF_E_CORRUPT, "%s: no packet can be decoded, so its channels and rate are not known",
                            mldf_audio_codec_name(p->info.codec));
    else if (status == MLDF_OK && p->info.codec != MLDF_AUDIO_ALAC)
        status = find_history(p, decoder, err);
    close_decoder(decoder);
    if (status < 0)
        return status;
    uint64_t total = 0;
    for (size_t i = 0; i < p->count; i++)
        total += p->packets[i].samples;
    if (p->skip > total)
        p->skip = total;
    if (p->trim > total - p->skip)
        p->trim = total - p->skip;
    p->info.samples = total - p->skip - p->trim;
    return MLDF_OK;
}

/* ---- MP4 ------------------------------------------------------------------------------------------------------------------------------------ */

static bool is_mp4(const uint8_t *data, size_t bytes) {
    return bytes >= 12 && memcmp(data + 4, "ftyp", 4) == 0;
}

static mldf_status take_stream(const struct av_stream *s, struct audio_parts *out, mldf_error *err) {
    const bool alac = s->codec == MLDF_AUDIO_ALAC;
    if (s->codec != MLDF_AUDIO_AAC && !alac)
        return mldfi_fail(err, MLDF_E_UNSUPPORTED,
                          "an MP4 file with %s audio; mldf takes AAC and ALAC out of MP4 files", s->codec_name);
    if (alac && s->extra_bytes < ALAC_ATOM)
        return mldfi_fail(err, MLDF_E_CORRUPT, "ALAC: a header of %zu bytes; it has %d", s->extra_bytes, ALAC_ATOM);
    out->info = (mldf_audio_info){.rate = s->rate,
                                  .channels = s->channels,
                                  .bits = alac ? s->extra[17] : 0,
                                  .codec = (mldf_audio_codec)s->codec,
                                  .mask = s->mask};
    out->preroll = alac ? 0 : 1;
    return alac ? mldf_buffer_append(&out->extra, s->extra + ALAC_ATOM - ALAC_COOKIE, ALAC_COOKIE, err)
                : mldf_buffer_append(&out->extra, s->extra, s->extra_bytes, err);
}

/* file_bytes: the packets of one stream are parts of the file, so they have no more bytes than it. Tables that name the same bytes again and
 * again would make a small file need any amount of memory. */
static mldf_status take_packets(const struct av_file_module *m, void *file, uint32_t stream, size_t file_bytes,
                                struct audio_parts *out, mldf_error *err) {
    struct av_packet p;
    char text[AV_TEXT] = "";
    mldf_status status = MLDF_OK;
    bool begun = false;
    int code;
    while (status == MLDF_OK && (code = m->packet(file, &p, text)) != 0) {
        if (code < 0)
            return mldfi_fail(err, MLDF_E_CORRUPT, "%s", text);
        if (p.stream != stream)
            continue;
        if (p.bytes > AUDIO_PACKET_BYTES)
            return mldfi_audio_long_packet(out->count, 0, p.bytes, err);
        if (p.bytes > file_bytes - out->made.size)
            return mldfi_fail(err, MLDF_E_CORRUPT, "its packets have more bytes than the file");
        if (p.discard && begun)
            break; /* after the end of its edit list */
        if (p.extra)
            return mldfi_fail(err, MLDF_E_UNSUPPORTED, "the stream changes its configuration");
        struct audio_packet packet = {.offset = out->made.size, .bytes = (uint32_t)p.bytes};
        status = mldf_buffer_append(&out->made, p.data, p.bytes, err);
        if (status == MLDF_OK)
            status = mldfi_audio_parts_add(out, packet, err);
        if (p.skip && !begun)
            out->skip = p.skip;
        out->trim = p.trim;
        begun = begun || !p.discard;
    }
    return status;
}

static mldf_status demux_mp4(const uint8_t *data, size_t bytes, struct audio_parts *out, mldf_error *err) {
    const struct av_file_module *m;
    struct av_stream stream;
    uint32_t count = 0, i = 0;
    char text[AV_TEXT] = "";
    void *file;
    mldf_status status = mldfi_av_file_module(&m, err);
    if (status < 0)
        return status;
    if (m->open(data, bytes, "", &file, &count, text) < 0)
        return mldfi_fail(err, MLDF_E_CORRUPT, "%s", text);
    for (; i < count; i++) {
        m->stream(file, i, &stream);
        if (stream.kind == AV_KIND_AUDIO)
            break;
    }
    if (i == count)
        status = mldfi_fail(err, MLDF_E_TYPE, "an MP4 file without sound");
    if (status == MLDF_OK)
        status = take_stream(&stream, out, err);
    if (status == MLDF_OK)
        status = take_packets(m, file, i, bytes, out, err);
    m->close(file);
    out->data = out->made.data;
    return status < 0 ? status : mldfi_av_settle(out, err);
}

const struct audio_container mldfi_container_mp4 = {"MP4", is_mp4, demux_mp4};

/* ---- ADTS --------------------------------------------------------------------------------------------------------------------------------------- */

enum { ADTS_HEADER = 7 };

/* Bytes of the frame that begins here; 0: none does. */
static size_t adts_bytes(const uint8_t *p, size_t bytes) {
    if (bytes < ADTS_HEADER || p[0] != 0xFF || (p[1] & 0xF6) != 0xF0 || (p[2] >> 2 & 15) > 12)
        return 0;
    size_t length = (size_t)(p[3] & 3) << 11 | (size_t)p[4] << 3 | p[5] >> 5;
    return length >= ADTS_HEADER && length <= bytes ? length : 0;
}

/* Bytes of an ID3 tag in front. */
static size_t id3_bytes(const uint8_t *p, size_t bytes) {
    if (bytes < 10 || memcmp(p, "ID3", 3) != 0)
        return 0;
    size_t length =
        10 +
        ((size_t)(p[6] & 127) << 21 | (size_t)(p[7] & 127) << 14 | (size_t)(p[8] & 127) << 7 | (size_t)(p[9] & 127)) +
        (p[5] & 16 ? 10 : 0);
    return length < bytes ? length : 0;
}

static bool is_adts(const uint8_t *data, size_t bytes) {
    size_t at = id3_bytes(data, bytes), first = adts_bytes(data + at, bytes - at);
    if (!first || bytes - at - first == 0)
        return first != 0;
    return adts_bytes(data + at + first, bytes - at - first) != 0 || bytes - at - first < ADTS_HEADER;
}

static mldf_status demux_adts(const uint8_t *data, size_t bytes, struct audio_parts *out, mldf_error *err) {
    static const uint32_t rates[] = {96000, 88200, 64000, 48000, 44100, 32000, 24000,
                                     22050, 16000, 12000, 11025, 8000,  7350};
    size_t at = id3_bytes(data, bytes), length;
    const uint8_t *h = data + at;
    mldf_status status = MLDF_OK;
    out->data = data;
    out->head_bytes = at;
    out->whole = true;
    out->preroll = 1;
    out->info = (mldf_audio_info){
        .rate = rates[h[2] >> 2 & 15], .channels = (uint32_t)(h[2] & 1) << 2 | h[3] >> 6, .codec = MLDF_AUDIO_AAC};
    while (status == MLDF_OK && (length = adts_bytes(data + at, bytes - at)) != 0) {
        if (data[at + 6] & 3)
            return mldfi_fail_at(err, MLDF_E_UNSUPPORTED, at, "an ADTS frame of %d blocks; frames of one are known",
                                 (data[at + 6] & 3) + 1);
        status = mldfi_audio_parts_add(out, (struct audio_packet){.offset = at, .bytes = (uint32_t)length}, err);
        at += length;
    }
    out->tail_bytes = bytes - at;
    if (status == MLDF_OK && out->tail_bytes && !(bytes - at >= 3 && memcmp(data + at, "TAG", 3) == 0))
        return mldfi_fail_at(err, MLDF_E_TRUNCATED, at,
                             "the ADTS file ends in the middle of a frame, or is damaged here");
    return status < 0 ? status : mldfi_av_settle(out, err);
}

const struct audio_container mldfi_container_adts = {"ADTS", is_adts, demux_adts};
