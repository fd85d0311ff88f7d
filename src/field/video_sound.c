/* The sound of a video: its packets become a value as AUDIO_COMPRESSED has it, with the number of samples that decoding gives. Where packets are in time, and what
 * happens at gaps: video_sound_runs.c, which also stores raw sound. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "field/audio_media.h"
#include "field/video_type.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { ALAC_ATOM = 36, ALAC_COOKIE = 24, MP3_BACK = 24 };

bool mldfi_video_takes_sound(const struct av_stream *s) {
    const struct audio_decoder *decoder;
    if (!s->rate || !s->channels || s->channels > AUDIO_DECODED_CHANNELS)
        return false;
    return s->pcm || (mldfi_audio_is_packets((mldf_audio_codec)s->codec) &&
                      mldfi_audio_decoder((mldf_audio_codec)s->codec, NULL, &decoder, NULL) == MLDF_OK);
}

void mldfi_sound_free(struct sound_parts *s) {
    mldfi_audio_parts_free(&s->parts);
    free(s->pts);
}

mldf_status mldfi_sound_begin(struct sound_parts *s, const struct av_stream *stream, mldf_error *err) {
    struct audio_parts *p = &s->parts;
    const uint8_t *extra = stream->extra;
    size_t bytes = stream->extra_bytes;
    mldf_audio_codec codec = (mldf_audio_codec)stream->codec;
    p->info = (mldf_audio_info){.rate = codec == MLDF_AUDIO_OPUS ? 48000 : stream->rate,
                                .channels = stream->channels,
                                .codec = codec,
                                .mask = stream->mask};
    if (codec == MLDF_AUDIO_ALAC && bytes == ALAC_ATOM) {
        p->info.bits = extra[17];
        extra += ALAC_ATOM - ALAC_COOKIE;
        bytes = ALAC_COOKIE;
    }
    if (codec == MLDF_AUDIO_FLAC && bytes >= FLAC_STREAMINFO) {
        p->info.bits = ((extra[12] & 1U) << 4 | extra[13] >> 4) + 1;
        bytes = FLAC_STREAMINFO;
    }
    p->preroll = codec == MLDF_AUDIO_FLAC || codec == MLDF_AUDIO_ALAC ? 0 : 1;
    p->preroll =
        codec == MLDF_AUDIO_OPUS || codec == MLDF_AUDIO_MP3 ? 0 : p->preroll; /* they have rules of their own */
    s->base_num = stream->base_num;
    s->base_den = stream->base_den;
    s->pcm = stream->pcm;
    if (s->pcm) {
        p->preroll = 0;
        p->info.bits = mldfi_sound_pcm_bits(s->pcm);
        return MLDF_OK;
    }
    mldf_status status = bytes ? mldf_buffer_append(&p->extra, extra, bytes, err) : MLDF_OK;
    if (status == MLDF_OK && codec == MLDF_AUDIO_FLAC && p->extra.size == FLAC_STREAMINFO)
        memset(p->extra.data + FLAC_STREAMINFO - 16, 0, 16); /* the MD5 of a file of which this may be a part */
    return status;
}

mldf_status mldfi_sound_add(struct sound_parts *s, const struct av_packet *in, mldf_error *err) {
    struct audio_parts *p = &s->parts;
    struct audio_packet packet = {.offset = p->made.size, .bytes = (uint32_t)in->bytes};
    if (in->bytes > UINT32_MAX || (in->discard && s->any))
        return MLDF_OK; /* after the end of its edit list */
    if (in->extra && (in->extra_bytes != p->extra.size || memcmp(in->extra, p->extra.data, in->extra_bytes) != 0))
        return mldfi_fail(err, MLDF_E_UNSUPPORTED,
                          "the sound changes its configuration; audio=false packs the images alone");
    if (!mldfi_video_time_fits(in->pts) || in->duration > VIDEO_TICKS_MAX)
        return mldfi_fail(err, MLDF_E_CORRUPT,
                          "sound, packet %zu: times that no sound has: pts %" PRId64 ", duration %" PRId64, p->count,
                          in->pts, in->duration);
    if (p->count == 0) {
        s->first = in->pts;
        p->skip = in->skip;
        if (p->info.codec == MLDF_AUDIO_OPUS && p->extra.size >= 12 && p->skip == 0)
            p->skip = mldfi_load_u16(p->extra.data + 10); /* OpusHead's pre-skip, which Matroska states otherwise */
    }
    if (p->count == 1 && p->info.codec == MLDF_AUDIO_VORBIS && in->pts != AV_NO_TIME)
        s->first = in->pts; /* the first block of Vorbis gives no samples: sound begins with the second */
    if (p->info.codec == MLDF_AUDIO_MP3)
        packet.back = (uint8_t)(p->count < MP3_BACK ? p->count : MP3_BACK);
    p->trim = in->trim;
    s->any = s->any || !in->discard;
    TRY(mldfi_array_reserve(&s->pts, &s->pts_capacity, p->count + 1, sizeof *s->pts, err));
    s->pts[p->count] = in->pts;
    if (s->pcm)
        return mldfi_sound_pcm_add(s, in, err);
    mldf_status status = mldf_buffer_append(&p->made, in->data, in->bytes, err);
    return status < 0 ? status : mldfi_audio_parts_add(p, packet, err);
}

/* How many samples each packet gives, by decoding; AAC says then whether it depends on its history. */
static mldf_status measure(struct audio_parts *p, mldf_error *err) {
    const struct audio_decoder *type;
    struct audio_setup setup = {.info = p->info, .extra = p->extra.data, .extra_bytes = p->extra.size};
    void *decoder;
    mldf_status status = mldfi_audio_decoder(p->info.codec, NULL, &type, err);
    if (status == MLDF_OK && type == &mldfi_decoder_av)
        return mldfi_av_settle(p, err);
    if (status == MLDF_OK)
        status = type->open(&setup, &decoder, err);
    if (status < 0)
        return status;
    status = type->begin(decoder, err);
    for (size_t i = 0; i < p->count && status == MLDF_OK; i++) {
        struct audio_block block = {0};
        if (!mldfi_work_goes_on(p->watch, 0)) {
            status = mldfi_fail(err, MLDF_E_CANCELLED, "cancelled");
            break;
        }
        status = type->decode(decoder, p->data + p->packets[i].offset, p->packets[i].bytes, &block, err);
        p->packets[i].samples = block.samples;
        if (status < 0)
            mldfi_error_prefix(err, "sound, packet %zu", i);
    }
    type->close(decoder);
    return status;
}

static uint64_t divisor(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

__extension__ typedef __int128 wide;

/* a += num / den, reduced as it goes. False: too large. */
static bool add_ratio(int64_t *num, uint64_t *den, int64_t more, uint64_t more_den) {
    uint64_t common = divisor(*den, more_den);
    wide d = (wide)(*den / common) * more_den, n = (wide)*num * (more_den / common) + (wide)more * (*den / common);
    if (d > INT64_MAX || n > INT64_MAX || n < -(wide)INT64_MAX)
        return false;
    uint64_t reduce = divisor((uint64_t)(n < 0 ? -n : n), (uint64_t)d);
    *num = (int64_t)(n / (wide)(reduce ? reduce : 1));
    *den = (uint64_t)d / (reduce ? reduce : 1);
    return true;
}

/* Can it be multiplied with the ticks' numerator? */
static bool is_near(int64_t ticks, uint64_t num) {
    const wide most = (wide)1 << 62, product = (wide)ticks * (wide)num;
    return ticks > -(INT64_C(1) << 40) && ticks < INT64_C(1) << 40 && product > -most && product < most;
}

/* When the first sample that counts is heard, after the first frame is shown. */
static bool find_start(const struct sound_parts *s, struct video_parts *out) {
    const struct video_stream *v = &out->video;
    int64_t first = s->first == AV_NO_TIME ? 0 : s->first;
    out->start_num = 0;
    out->start_den = 1;
    return is_near(first, s->base_num) && is_near(v->first, v->tick.num) && s->parts.skip < UINT64_C(1) << 40 &&
           add_ratio(&out->start_num, &out->start_den, first * s->base_num, s->base_den) &&
           add_ratio(&out->start_num, &out->start_den, (int64_t)s->parts.skip, s->parts.info.rate) &&
           add_ratio(&out->start_num, &out->start_den, -v->first * (int64_t)v->tick.num, v->tick.den);
}

mldf_status mldfi_sound_finish(struct sound_parts *s, struct video_parts *out, mldf_error *err) {
    struct audio_parts *p = &s->parts;
    uint64_t total = 0;
    if (p->count == 0)
        return MLDF_OK;
    p->data = p->made.data;
    mldf_status status = s->pcm ? MLDF_OK : measure(p, err);
    if (status == MLDF_OK)
        status = mldfi_sound_place(s, err);
    for (size_t i = 0; i < p->count; i++)
        total += p->packets[i].samples;
    if (status < 0)
        return status;
    p->skip = p->skip < total ? p->skip : total;
    p->trim = p->trim < total - p->skip ? p->trim : total - p->skip;
    p->info.samples = total - p->skip - p->trim;
    if (!find_start(s, out))
        return mldfi_fail(err, MLDF_E_LIMIT, "the sound starts at a time that cannot be stored");
    status = s->pcm ? mldfi_sound_pcm_build(s, &out->sound_payload, err)
                    : mldfi_packets_build(p, 0, NULL, 0, false, &out->sound_payload, err);
    out->sound = status == MLDF_OK;
    out->sound_info = p->info;
    out->sound_info.mask = 0;
    return status;
}
