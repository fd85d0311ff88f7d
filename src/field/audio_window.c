/* Any window of a recording, whatever its codec: audio_media.h. Of a compressed one the header is asked for, then the entries of its table, then
 * the packets that the window needs, those in front of it that the decoder must have seen included. Where a run begins follows from the window
 * alone, so the same window gives the same bits on every thread. */
#include <inttypes.h>
#include <string.h>

#include "field/audio_media.h"
#include "kernel/pcm.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { GROUP_PACKETS = 256, GROUP_BYTES = 4 << 20 };
enum { OPUS_ANCHOR = 48000, OPUS_PREROLL = 15360, MP3_ANCHOR = 8, HISTORY_ANCHOR = 64 };

/* ---- Decoders that a thread keeps ---------------------------------------------------------------------------------------------------- */

static bool is_for(const struct kept_decoder *k, const struct audio_setup *s) {
    if (!k->decoder || k->codec != s->info.codec || k->rate != s->info.rate || k->channels != s->info.channels ||
        k->bits != s->info.bits || k->choice.portable != s->choice.portable ||
        k->choice.ffmpeg_opus != s->choice.ffmpeg_opus)
        return false;
    if (k->type->same)
        return k->type->same(k->extra.data, k->extra.size, s->extra, s->extra_bytes);
    return k->extra.size == s->extra_bytes &&
           (s->extra_bytes == 0 || memcmp(k->extra.data, s->extra, s->extra_bytes) == 0);
}

static void drop(struct kept_decoder *k) {
    if (k->decoder)
        k->type->close(k->decoder);
    k->decoder = NULL;
    mldf_buffer_free(&k->extra);
}

void mldfi_audio_drop_decoders(struct audio_worker *w) {
    for (int i = 0; i < AUDIO_DECODERS; i++)
        drop(&w->decoders[i]);
}

/* The least recently used one makes way. fresh: one that has decoded nothing. */
static mldf_status find_decoder(struct audio_worker *w, const struct audio_setup *s, bool fresh,
                                struct kept_decoder **out, mldf_error *err) {
    struct kept_decoder *oldest = &w->decoders[0];
    const struct audio_decoder *type;
    TRY(mldfi_audio_decoder(s->info.codec, &s->choice, &type, err));
    for (int i = 0; i < AUDIO_DECODERS; i++) {
        struct kept_decoder *k = &w->decoders[i];
        if (is_for(k, s) && fresh)
            drop(k);
        if (is_for(k, s)) {
            k->used = ++w->clock;
            *out = k;
            return MLDF_OK;
        }
        if (!k->decoder || (oldest->decoder && k->used < oldest->used))
            oldest = k;
    }
    drop(oldest);
    mldf_status status = mldf_buffer_append(&oldest->extra, s->extra, s->extra_bytes, err);
    if (status == MLDF_OK)
        status = type->open(s, &oldest->decoder, err);
    if (status < 0) {
        oldest->decoder = NULL;
        drop(oldest);
        return status;
    }
    oldest->type = type;
    oldest->codec = s->info.codec;
    oldest->rate = s->info.rate;
    oldest->channels = s->info.channels;
    oldest->bits = s->info.bits;
    oldest->choice = s->choice;
    oldest->used = ++w->clock;
    *out = oldest;
    return MLDF_OK;
}

/* ---- Where a run begins -------------------------------------------------------------------------------------------------------------- */

/* MP3: the frames before `packet` hold bits of it (the reservoir) and of the overlap with it; then down to an anchor, so that near windows begin alike. */
static mldf_status mp3_start(const struct packets_head *head, const struct audio_bytes *in, uint64_t *packet,
                             mldf_error *err) {
    uint64_t from = *packet > 2 ? *packet - 2 : 0, first = from;
    const void *back;
    if (head->flags & PACKETS_BACK) {
        TRY(in->get(in->user, head->back_at + from, *packet - from + 1, &back, err));
        for (uint64_t i = from; i <= *packet; i++) {
            uint64_t reach = ((const uint8_t *)back)[i - from];
            if ((reach < i ? i - reach : 0) < first)
                first = reach < i ? i - reach : 0;
        }
    }
    *packet = first / MP3_ANCHOR * MP3_ANCHOR;
    return MLDF_OK;
}

/* The packet that decoding must begin with, so that decoded sample `at` comes out right. */
static mldf_status find_start(const mldf_audio_info *info, const struct packets_head *head,
                              const struct audio_bytes *in, uint64_t at, uint64_t *packet, mldf_error *err) {
    uint64_t begin, anchor;
    mldf_status status = MLDF_OK;
    switch (info->codec) {
    case MLDF_AUDIO_OPUS: /* it converges; at whole seconds, so that the same window begins alike */
        anchor = at / OPUS_ANCHOR * OPUS_ANCHOR;
        return mldfi_packets_find(head, in, anchor > OPUS_PREROLL ? anchor - OPUS_PREROLL : 0, packet, &begin, err);
    case MLDF_AUDIO_MP3:
        status = mldfi_packets_find(head, in, at, packet, &begin, err);
        return status < 0 ? status : mp3_start(head, in, packet, err);
    default:
        status = mldfi_packets_find(head, in, at, packet, &begin, err);
        if (status < 0)
            return status;
        /* preroll: in packets, for codecs whose packets overlap with the one before */
        *packet -= *packet < head->preroll ? *packet : head->preroll;
        if (head->flags & PACKETS_HISTORY)
            *packet = *packet / HISTORY_ANCHOR * HISTORY_ANCHOR;
        return MLDF_OK;
    }
}

/* ---- A run of packets ----------------------------------------------------------------------------------------------------------------- */

struct run {
    const mldf_audio_info *info;
    const struct packets_head *head;
    const struct audio_bytes *in;
    struct kept_decoder *kept;
    uint64_t from, to; /* decoded samples that are wanted */
    struct audio_want want;
    float *out;   /* NULL: they are decoded and let go, or: */
    uint8_t *pcm; /* mldfi_audio_unpack's */
    unsigned width;
    bool whole;
    size_t stride;
};

/* Floats as the integers that they were made from; exact up to 24 bits. */
static void store_number(float x, bool whole, unsigned width, uint8_t *out) {
    if (!whole) {
        memcpy(out, &x, sizeof x);
        return;
    }
    uint32_t v = (uint32_t)(int32_t)(x * (float)(UINT32_C(1) << (8 * width - 1))) + (width == 1 ? 128 : 0);
    for (unsigned k = 0; k < width; k++)
        out[k] = (uint8_t)(v >> 8 * k);
}

static void put_pcm(const struct run *r, const float *in, const struct audio_block *b, uint64_t at, size_t n) {
    size_t channels = r->info->channels;
    uint8_t *out = r->pcm + at * channels * r->width;
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < channels; c++, out += r->width)
            store_number(in[c * b->channel_step + i * b->sample_step], r->whole, r->width, out);
}

static void put(const struct run *r, const struct audio_block *b, uint64_t begin) {
    uint64_t from = begin < r->from ? r->from : begin, to = begin + b->samples < r->to ? begin + b->samples : r->to;
    if (from >= to || (!r->out && !r->pcm))
        return;
    const float *in = b->data + (from - begin) * b->sample_step;
    size_t n = (size_t)(to - from), channels = r->info->channels;
    if (r->pcm) {
        put_pcm(r, in, b, from - r->from, n);
        return;
    }
    float *out = r->out + (from - r->from);
    if (channels == 1 && b->sample_step == 1) { /* the mean of one is itself */
        memcpy(out, in, n * sizeof *out);
        return;
    }
    if (!r->want.mono) {
        for (size_t c = 0; c < channels; c++)
            for (size_t i = 0; i < n; i++)
                out[c * r->stride + i] = in[c * b->channel_step + i * b->sample_step];
        return;
    }
    for (size_t i = 0; i < n; i++) { /* as in audio_media.c: added in the order of the channels, divided once */
        float sum = in[i * b->sample_step];
        for (size_t c = 1; c < channels; c++)
            sum += in[c * b->channel_step + i * b->sample_step];
        out[i] = sum / (float)channels;
    }
}

/* Silence from sample `begin` up to `end`. */
static void put_zeros(const struct run *r, uint64_t begin, uint64_t end) {
    static const float zeros[256];
    begin = begin < r->from ? r->from : begin;
    end = end < r->to ? end : r->to;
    if (!r->out && !r->pcm)
        return;
    for (uint64_t n; begin < end; begin += n) {
        n = end - begin < 256 ? end - begin : 256;
        put(r, &(struct audio_block){zeros, 0, 1, (uint32_t)n}, begin);
    }
}

/* A group of packets, whose samples are `samples`. warm: the first packets that give what the table says. */
static mldf_status decode_group(const struct run *r, uint64_t first, const uint64_t *offsets, const uint64_t *samples,
                                size_t count, mldf_error *err) {
    const void *data;
    uint64_t base = r->head->first + offsets[0];
    mldf_status status = r->in->get(r->in->user, base, offsets[count] - offsets[0], &data, err);
    for (size_t i = 0; i < count && status == MLDF_OK; i++) {
        struct audio_block block = {0};
        const uint8_t *packet = (const uint8_t *)data + (offsets[i] - offsets[0]);
        uint64_t want = samples[i + 1] - samples[i];
        bool used = samples[i + 1] > r->from, cut = r->head->flags & PACKETS_CUT;
        size_t bytes = (size_t)(offsets[i + 1] - offsets[i]);
        status = cut && bytes == 0 ? r->kept->type->begin(r->kept->decoder, err) /* what follows is another run */
                                   : r->kept->type->decode(r->kept->decoder, packet, bytes, &block, err);
        if (cut && block.samples > want)
            block.samples = (uint32_t)want;
        if (status == MLDF_OK && used && !cut && block.samples != want)
            status = mldfi_fail(err, MLDF_E_CORRUPT, "it gives %" PRIu32 " samples, and the table says %" PRIu64,
                                block.samples, want);
        if (status == MLDF_OK && used && block.samples)
            put(r, &block, samples[i]);
        if (status == MLDF_OK && used && block.samples < want)
            put_zeros(r, samples[i] + block.samples, samples[i + 1]);
        if (status < 0)
            mldfi_error_prefix(err, "packet %" PRIu64 " (sample %" PRIu64 ", byte %" PRIu64 " of the value)", first + i,
                               samples[i] > r->head->skip ? samples[i] - r->head->skip : 0,
                               base + offsets[i] - offsets[0]);
    }
    return status;
}

static mldf_status decode_run(const struct run *r, uint64_t packet, mldf_error *err) {
    uint64_t offsets[GROUP_PACKETS + 1], samples[GROUP_PACKETS + 1];
    mldf_status status = r->kept->type->begin(r->kept->decoder, err);
    for (uint64_t done = 0; status == MLDF_OK && done < r->to && packet < r->head->count;) {
        uint64_t left = r->head->count - packet;
        size_t count = (size_t)(left < GROUP_PACKETS ? left : GROUP_PACKETS), some = 1;
        if (r->head->duration && r->to - packet * r->head->duration < (uint64_t)count * r->head->duration)
            count = (size_t)((r->to - packet * r->head->duration + r->head->duration - 1) / r->head->duration);
        status = mldfi_packets_samples(r->head, r->in, packet, count, samples, err);
        while (status == MLDF_OK && some < count && samples[some] < r->to)
            some++;
        if (status == MLDF_OK)
            status = mldfi_packets_offsets(r->head, r->in, packet, some, offsets, err);
        if (status < 0)
            return status;
        while (some > 1 && offsets[some] - offsets[0] > GROUP_BYTES)
            some--;
        status = decode_group(r, packet, offsets, samples, some, err);
        packet += some;
        done = samples[some];
    }
    return status;
}

/* Must the run begin with a decoder that has decoded nothing? AAC records of earlier writers may have noise and lack the flag: a new decoder gives the bits of
 * one that was used if there is none, except for windows in SBR (a pre-roll of 2), whose header a used decoder may know from before. */
static bool needs_fresh(const mldf_audio_info *info, const struct packets_head *head, uint64_t from) {
    return head->flags & PACKETS_HISTORY || (info->codec == MLDF_AUDIO_AAC && (from == 0 || head->preroll < 2));
}

/* r: what is wanted, in samples of the recording; r->to 0: everything that the packets hold. */
static mldf_status decode_packets(struct audio_worker *w, struct run *r, mldf_error *err) {
    struct packets_head head;
    struct audio_setup setup = {.info = *r->info, .choice = r->want.choice};
    uint64_t packet = 0;
    TRY(mldfi_packets_open(r->info, r->in, &head, &setup.extra, err));
    r->head = &head;
    setup.extra_bytes = head.extra_bytes;
    /* Before anything else is fetched: `extra` lies in what was fetched last. */
    mldf_status status = find_decoder(w, &setup, needs_fresh(r->info, &head, r->from), &r->kept, err);
    if (r->to) { /* samples + skip + trim is known to fit */
        r->from += head.skip;
        r->to += head.skip;
    } else {
        r->to = head.decoded;
    }
    if (status == MLDF_OK && r->from < r->to)
        status = find_start(r->info, &head, r->in, r->from, &packet, err);
    return status == MLDF_OK && r->from < r->to ? decode_run(r, packet, err) : status;
}

mldf_status mldfi_audio_unpack(void *worker, const mldf_audio_info *info, const struct audio_bytes *in, bool whole,
                               unsigned width, uint8_t *out, mldf_error *err) {
    struct run r = {.info = info, .in = in, .to = info->samples, .pcm = out, .width = width, .whole = whole};
    return info->samples ? decode_packets(worker, &r, err) : MLDF_OK;
}

mldf_status mldfi_audio_window(void *worker, const mldf_audio_info *info, const struct audio_bytes *in, uint64_t from,
                               uint64_t count, const struct audio_want *want, float *out, size_t stride,
                               mldf_error *err) {
    uint64_t offset, bytes;
    const void *data = NULL;
    if (count == 0)
        return MLDF_OK;
    if (!mldfi_pcm_bytes(info->codec, info->bits)) {
        struct run r = {.info = info, .in = in, .from = from, .to = from + count, .out = out, .stride = stride};
        if (want)
            r.want = *want;
        return decode_packets(worker, &r, err);
    }
    mldfi_audio_range(info, from, count, &offset, &bytes);
    mldf_status status = in->get(in->user, offset, bytes, &data, err);
    return status < 0 ? status : mldfi_audio_read(worker, info, data, count, want && want->mono, out, stride, err);
}

mldf_status mldfi_audio_check_packets(void *worker, const mldf_audio_info *info, const void *payload, uint64_t bytes,
                                      bool decode, mldf_error *err) {
    struct audio_memory memory = {payload};
    struct audio_bytes in = {mldfi_audio_from_memory, &memory, bytes};
    const struct audio_decoder *type;
    struct packets_head head;
    struct audio_setup setup = {.info = *info};
    mldf_status status = mldfi_packets_open(info, &in, &head, &setup.extra, err);
    if (status == MLDF_OK)
        status = mldfi_packets_check(&head, &in, err);
    if (status < 0 || !decode || head.count == 0)
        return status;
    status = mldfi_audio_decoder(info->codec, NULL, &type, err);
    setup.extra_bytes = head.extra_bytes;
    if (status == MLDF_OK)
        status = decode_packets(worker, &(struct run){.info = info, .in = &in}, err);
    if (status == MLDF_OK && type->check && !(head.flags & PACKETS_CUT))
        status = type->check(&setup, (const uint8_t *)payload + head.first, head.bytes, head.decoded, err);
    return status;
}

void mldfi_audio_guess(const mldf_audio_info *info, uint64_t total, uint64_t from, uint64_t count, uint64_t *offset,
                       uint64_t *bytes) {
    enum { SLACK = 32 << 10 };
    double share = info->samples ? (double)total / (double)info->samples : 0;
    uint64_t begin = (uint64_t)((double)from * share), length = (uint64_t)((double)count * share) + (uint64_t)2 * SLACK;
    *offset = begin > SLACK ? begin - SLACK : 0;
    if (*offset > total)
        *offset = total;
    *bytes = length < total - *offset ? length : total - *offset;
}
