/* Where the packets of a video's sound are in time, and raw sound. A packet's time is not exact (Matroska rounds to milliseconds), so packets follow each other
 * sample by sample until one is more than max(2 ms, 1.5 ticks) away from where it should be: there a new run begins. In between is silence, as empty
 * packets; what both have is cut from the run before. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "field/video_type.h"
#include "kernel/pcm.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

/* Silence that a file may ask for between its packets, all together. */
enum { GAP_SECONDS = 24 * 3600 };

/* ---- Runs ------------------------------------------------------------------------------------------------------------------------------- */

struct placing {
    struct sound_parts *s;
    struct audio_packet *out;
    size_t count, capacity;
    size_t *full; /* places of those that have samples, in order */
    size_t full_count, full_capacity;
    uint64_t at;    /* samples so far */
    double silence; /* of them, those that were added, whether they were cut later or not */
    double offset;  /* of the run: what its packets' times say more than their samples, in samples */
};

static mldf_status put(struct placing *g, struct audio_packet packet, mldf_error *err) {
    mldf_status status = mldfi_array_reserve(&g->out, &g->capacity, g->count + 1, sizeof *g->out, err);
    if (status == MLDF_OK && packet.samples)
        status = mldfi_array_reserve(&g->full, &g->full_capacity, g->full_count + 1, sizeof *g->full, err);
    if (status < 0)
        return status;
    if (packet.samples)
        g->full[g->full_count++] = g->count;
    g->out[g->count++] = packet;
    g->at += packet.samples;
    return MLDF_OK;
}

static mldf_status add_silence(struct placing *g, uint64_t samples, mldf_error *err) {
    mldf_status status = MLDF_OK;
    while (samples && status == MLDF_OK) {
        uint32_t some = samples < AUDIO_PACKET_SAMPLES ? (uint32_t)samples : AUDIO_PACKET_SAMPLES;
        status = put(g, (struct audio_packet){.samples = some}, err);
        samples -= some;
    }
    return status;
}

/* The last samples so far. False: there are not so many. */
static bool take_away(struct placing *g, uint64_t samples) {
    if (samples > g->at)
        return false;
    g->at -= samples;
    while (samples && g->full_count) {
        struct audio_packet *last = &g->out[g->full[g->full_count - 1]];
        uint32_t some = last->samples < samples ? last->samples : (uint32_t)samples;
        last->samples -= some;
        samples -= some;
        g->full_count -= last->samples == 0;
    }
    return true;
}

static mldf_status place_one(struct placing *g, size_t i, mldf_error *err) {
    struct audio_parts *p = &g->s->parts;
    const int64_t pts = g->s->pts[i];
    const double tick = (double)g->s->base_num / g->s->base_den, rate = p->info.rate;
    double most = (1.5 * tick > 0.002 ? 1.5 * tick : 0.002) * rate;
    mldf_status status = MLDF_OK;
    if (p->info.codec == MLDF_AUDIO_VORBIS && most < 0.2 * rate)
        most = 0.2 * rate; /* a packet's time is that of a block which overlaps with others */
    if (pts != AV_NO_TIME && g->s->first != AV_NO_TIME) {
        double away = (double)(pts - g->s->first) * tick * rate - (double)g->at;
        if (g->at == 0)
            g->offset = away;
        double jump = away - g->offset;
        g->silence += jump > most ? jump : 0;
        if (g->silence > GAP_SECONDS * rate)
            return mldfi_fail(err, MLDF_E_UNSUPPORTED,
                              "the sound is silent for %.0f s; audio=false packs the images alone", g->silence / rate);
        if (jump > most)
            status = add_silence(g, (uint64_t)(jump + 0.5), err);
        else if (jump < -most && !take_away(g, (uint64_t)(0.5 - jump)))
            return mldfi_fail(err, MLDF_E_UNSUPPORTED,
                              "the sound jumps back by %.3f s, to before its beginning; audio=false packs the images "
                              "alone",
                              -jump / rate);
        p->cut = p->cut || jump > most || jump < -most;
    }
    return status == MLDF_OK ? put(g, p->packets[i], err) : status;
}

mldf_status mldfi_sound_place(struct sound_parts *s, mldf_error *err) {
    struct audio_parts *p = &s->parts;
    struct placing g = {.s = s};
    mldf_status status = MLDF_OK;
    for (size_t i = 0; i < p->count && status == MLDF_OK; i++)
        status =
            mldfi_work_goes_on(p->watch, 0) ? place_one(&g, i, err) : mldfi_fail(err, MLDF_E_CANCELLED, "cancelled");
    free(g.full);
    if (status < 0) {
        free(g.out);
        return status;
    }
    free(p->packets);
    p->packets = g.out;
    p->count = g.count;
    p->capacity = g.capacity;
    return MLDF_OK;
}

/* ---- Raw sound -------------------------------------------------------------------------------------------------------------------------- */

static const struct {
    uint8_t bytes;
    bool turned; /* the most significant byte is first */
    uint8_t silence, flip;
} raw[] = {
    [AV_PCM_U8] = {1, false, 128, 0},  [AV_PCM_S8] = {1, false, 128, 128}, /* ours are unsigned */
    [AV_PCM_S16LE] = {2, false, 0, 0}, [AV_PCM_S16BE] = {2, true, 0, 0},    [AV_PCM_S24LE] = {3, false, 0, 0},
    [AV_PCM_S24BE] = {3, true, 0, 0},  [AV_PCM_S32LE] = {4, false, 0, 0},   [AV_PCM_S32BE] = {4, true, 0, 0},
    [AV_PCM_F32LE] = {4, false, 0, 0}, [AV_PCM_F32BE] = {4, true, 0, 0},    [AV_PCM_F64LE] = {8, false, 0, 0},
    [AV_PCM_F64BE] = {8, true, 0, 0},  [AV_PCM_ALAW] = {1, false, 0xD5, 0}, [AV_PCM_MULAW] = {1, false, 0xFF, 0},
};

unsigned mldfi_sound_pcm_bits(uint8_t pcm) {
    return raw[pcm].bytes * 8U;
}

mldf_status mldfi_sound_pcm_add(struct sound_parts *s, const struct av_packet *in, mldf_error *err) {
    struct audio_parts *p = &s->parts;
    const size_t width = raw[s->pcm].bytes, each = width * p->info.channels, samples = in->bytes / each;
    struct audio_packet packet = {.offset = p->made.size, .bytes = (uint32_t)(samples * each)};
    uint8_t *to;
    if (samples > UINT32_MAX)
        return mldfi_fail(err, MLDF_E_LIMIT, "sound, packet %zu: %zu samples", p->count, samples);
    packet.samples = (uint32_t)samples;
    TRY(mldfi_buffer_extend(&p->made, samples * each, &to, err));
    for (size_t i = 0; i < samples * each; i++)
        to[i] = in->data[raw[s->pcm].turned ? i - i % width + width - 1 - i % width : i] ^ raw[s->pcm].flip;
    return mldfi_audio_parts_add(p, packet, err);
}

mldf_status mldfi_sound_pcm_build(const struct sound_parts *s, mldf_buffer *out, mldf_error *err) {
    const struct audio_parts *p = &s->parts;
    const uint64_t each = (uint64_t)raw[s->pcm].bytes * p->info.channels;
    uint64_t bytes, skip = p->skip * each;
    uint8_t *to;
    if (!mldfi_mul_u64(p->info.samples, each, &bytes) || bytes > 16 * (uint64_t)p->made.size + (UINT64_C(64) << 20))
        return mldfi_fail(err, MLDF_E_LIMIT, "raw sound of %" PRIu64 " samples, of which the file has %zu bytes",
                          p->info.samples, p->made.size);
    TRY(mldfi_buffer_extend(out, (size_t)bytes, &to, err));
    memset(to, raw[s->pcm].silence, (size_t)bytes);
    uint64_t at = 0; /* of the packet, in bytes, skip included */
    for (size_t i = 0; i < p->count; i++) {
        uint64_t size = p->packets[i].samples * each, from = at < skip ? skip - at : 0;
        uint64_t have = p->packets[i].bytes < size ? p->packets[i].bytes : size;
        uint64_t end = at + have > skip + bytes ? skip + bytes - (at < skip + bytes ? at : skip + bytes) : have;
        if (from < end && at < skip + bytes)
            memcpy(to + (at + from - skip), p->made.data + p->packets[i].offset + from, (size_t)(end - from));
        at += size;
    }
    return MLDF_OK;
}
