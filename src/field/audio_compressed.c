/* AUDIO_COMPRESSED: a recording as the packets of its codec, with a table of them (audio_packets.h), or as PCM: the codec of the row decides. The
 * record is that of AUDIO_WAVEFORM:
 *
 *     0 ptr u64 · 8 size u64 · 16 num_samples u64 · 24 sample_rate u32 · 28 channels u16 · 30 bit_depth u8 · 31 codec u8
 *
 * Written from the bytes of audio files (audio_encode.c); read by windows (audio_window.c), as files by `extract`. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "codec/av.h"
#include "codec/ogg.h"
#include "field/audio_packets.h"
#include "field/audio_type.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

/* ---- Arguments -------------------------------------------------------------------------------------------------------------------------- */

static const char *const argument_names[] = {"bitrate",   "channels", "decode", "encode",
                                             "keep_file", "mask",     "rate",   NULL};

static mldf_status get_flag(const struct json *json, const char *name, bool fallback, bool *out, mldf_error *err) {
    uint32_t at = mldfi_json_find(json, 0, name);
    *out = fallback;
    if (at == UINT32_MAX)
        return MLDF_OK;
    *out = json->nodes[at].kind == MLDFI_JSON_TRUE;
    if (!*out && json->nodes[at].kind != MLDFI_JSON_FALSE)
        return mldfi_fail(err, MLDF_E_SCHEMA, "argument \"%s\" is neither true nor false", name);
    return MLDF_OK;
}

static mldf_status get_store(const struct json *json, struct audio_state *s, mldf_error *err) {
    static const char *const words[] = {"keep", "flac", "opus"};
    uint32_t at = mldfi_json_find(json, 0, "encode");
    if (at == UINT32_MAX)
        return MLDF_OK;
    for (int i = 0; i < 3; i++)
        if (mldfi_json_is_text(json, at, words[i])) {
            s->store = (audio_store)i;
            return MLDF_OK;
        }
    return mldfi_fail(err, MLDF_E_SCHEMA, "argument \"encode\" is not \"keep\", \"flac\" or \"opus\"");
}

static mldf_status get_bitrate(const struct json *json, struct audio_state *s, mldf_error *err) {
    uint64_t rate;
    uint32_t at = mldfi_json_find(json, 0, "bitrate");
    if (at == UINT32_MAX)
        return MLDF_OK;
    if (!mldfi_json_u64(json, at, &rate) || rate < 6000 || rate > 510000)
        return mldfi_fail(err, MLDF_E_SCHEMA, "argument \"bitrate\" is not an integer from 6000 to 510000");
    s->bitrate = (uint32_t)rate;
    return MLDF_OK;
}

static mldf_status get_all(const struct json *json, void *state, mldf_error *err) {
    struct audio_state *s = state;
    bool decode;
    s->compressed = true;
    mldf_status status = mldfi_audio_arguments(json, s, err);
    if (status == MLDF_OK)
        status = get_store(json, s, err);
    if (status == MLDF_OK)
        status = get_bitrate(json, s, err);
    if (status == MLDF_OK)
        status = get_flag(json, "decode", true, &decode, err);
    if (status == MLDF_OK)
        status = get_flag(json, "keep_file", false, &s->keep_file, err);
    s->undecoded = status == MLDF_OK && !decode;
    return status;
}

static mldf_status bind(void *user, const char *arguments, mldf_record_layout *layout, void **state, mldf_error *err) {
    (void)user;
    *layout = (mldf_record_layout){AUDIO_RECORD, 8, MLDF_FIELD_SIZE64, true};
    return mldfi_arguments_bind(arguments, sizeof(struct audio_state), get_all, state, err);
}

static bool is_viewable(const uint8_t *record) {
    return !mldfi_audio_is_packets((mldf_audio_codec)record[AUDIO_CODEC]);
}

/* ---- As a file ---------------------------------------------------------------------------------------------------------------------------- */

/* Of a kept file; AAC in extra: of MP4. */
static const char *ending_of(mldf_audio_codec codec, uint32_t extra_bytes) {
    static const char *const endings[] = {"wav", "flac", "m4a", "mp3", "opus", "ogg", "m4a"};
    return codec == MLDF_AUDIO_AAC && extra_bytes == 0 ? "aac" : endings[codec];
}

/* Headers and packets as an MP4 file with an edit list for what does not belong to the recording. */
static mldf_status write_packets_mp4(const struct av_file_module *m, void *file, const struct packets_head *head,
                                     const struct audio_bytes *in, char text[AV_TEXT], mldf_error *err) {
    const uint8_t *data = ((const struct audio_memory *)in->user)->data + head->first;
    uint64_t offsets[2], samples[2], end = head->decoded - head->trim;
    mldf_status status = MLDF_OK;
    for (uint64_t i = 0; i < head->count && status == MLDF_OK; i++) {
        if ((status = mldfi_packets_offsets(head, in, i, 1, offsets, err)) < 0 ||
            (status = mldfi_packets_samples(head, in, i, 1, samples, err)) < 0)
            break;
        uint64_t to = samples[1] < end ? samples[1] : end > samples[0] ? end : samples[0];
        struct av_packet p = {.pts = (int64_t)samples[0] - (int64_t)head->skip,
                              .duration = (int64_t)(to - samples[0]),
                              .key = 1,
                              .data = data + offsets[0],
                              .bytes = (size_t)(offsets[1] - offsets[0])};
        p.dts = p.pts;
        if (m->write(file, &p, text) < 0)
            status = mldfi_fail(err, MLDF_E_UNSUPPORTED, "packet %" PRIu64 " into an MP4 file: %s", i, text);
    }
    return status;
}

static mldf_status write_mp4(const mldf_audio_info *info, const struct packets_head *head, const struct audio_bytes *in,
                             const uint8_t *extra, mldf_buffer *out, mldf_error *err) {
    const struct av_file_module *m;
    uint8_t atom[36] = {0, 0, 0, 36, 'a', 'l', 'a', 'c'};
    char text[AV_TEXT] = "";
    const uint8_t *made;
    size_t bytes;
    void *file;
    struct av_stream stream = {.kind = AV_KIND_AUDIO,
                               .codec = (int)info->codec,
                               .base_num = 1,
                               .base_den = info->rate,
                               .extra = extra,
                               .extra_bytes = head->extra_bytes,
                               .rate = info->rate,
                               .channels = info->channels,
                               .bits = info->bits,
                               .frame_samples = head->duration,
                               .skip = head->skip};
    TRY(mldfi_av_file_module(&m, err));
    if (info->codec == MLDF_AUDIO_ALAC && head->extra_bytes == 24) {
        memcpy(atom + 12, extra, 24);
        stream.extra = atom;
        stream.extra_bytes = sizeof atom;
    }
    if (m->create("ipod", &stream, 1, &file, text) < 0)
        return mldfi_fail(err, MLDF_E_UNSUPPORTED, "an MP4 file: %s", text);
    mldf_status status = write_packets_mp4(m, file, head, in, text, err);
    if (status == MLDF_OK && m->finish(file, &made, &bytes, text) < 0)
        status = mldfi_fail(err, MLDF_E_UNSUPPORTED, "an MP4 file: %s", text);
    if (status == MLDF_OK)
        status = mldf_buffer_append(out, made, bytes, err);
    m->discard(file);
    return status;
}

/* Headers and packets as an Ogg file: Opus (RFC 7845) or Vorbis. A page holds about a second. */
static mldf_status write_ogg(const mldf_audio_info *info, const struct packets_head *head, const struct audio_bytes *in,
                             const uint8_t *extra, mldf_buffer *out, mldf_error *err) {
    static const char tags[] = "OpusTags\4\0\0\0mldf\0\0\0\0";
    struct ogg_writer w = {.out = out};
    struct vorbis_headers headers;
    uint64_t offsets[2], samples[2], opened = 0, start = info->codec == MLDF_AUDIO_VORBIS ? head->skip : 0;
    const uint8_t *data = ((const struct audio_memory *)in->user)->data + head->first;
    mldf_status status = MLDF_OK;
    if (info->codec == MLDF_AUDIO_OPUS) {
        status = mldfi_ogg_put(&w, extra, head->extra_bytes, 0, true, false, err);
        if (status == MLDF_OK)
            status = mldfi_ogg_put(&w, tags, sizeof tags - 1, 0, true, head->count == 0, err);
    } else if (!mldfi_vorbis_headers(extra, head->extra_bytes, &headers)) {
        status = mldfi_fail(err, MLDF_E_CORRUPT, "Vorbis: its three headers are not in %" PRIu32 " bytes",
                            head->extra_bytes);
    } else {
        for (int i = 0; i < 3 && status == MLDF_OK; i++)
            status = mldfi_ogg_put(&w, headers.data[i], headers.bytes[i], 0, i != 1, i == 2 && head->count == 0, err);
    }
    for (uint64_t i = 0; i < head->count && status == MLDF_OK; i++) {
        bool last = i + 1 == head->count;
        if ((status = mldfi_packets_offsets(head, in, i, 1, offsets, err)) < 0 ||
            (status = mldfi_packets_samples(head, in, i, 1, samples, err)) < 0)
            break;
        uint64_t granule = samples[1] > start ? samples[1] - start : 0, end = head->decoded - head->trim - start;
        bool page = samples[1] - opened >= info->rate || i + 2 == head->count; /* readers cut the last page */
        opened = page ? samples[1] : opened;
        status = mldfi_ogg_put(&w, data + offsets[0], (size_t)(offsets[1] - offsets[0]), granule < end ? granule : end,
                               page, last, err);
    }
    mldf_buffer_free(&w.body);
    return status;
}

/* The file that it was made from, where its bytes are here: kept whole, or head, packets and tail. Otherwise one that holds the same packets. */
static mldf_status export_packets(const mldf_value *value, const mldf_audio_info *info, struct export_room *room,
                                  struct exported *out, mldf_error *err) {
    struct audio_memory memory = {value->data};
    struct audio_bytes in = {mldfi_audio_from_memory, &memory, value->bytes};
    struct packets_head head;
    const uint8_t *extra, *data = value->data;
    mldf_status status = mldfi_packets_open(info, &in, &head, &extra, err);
    if (status < 0)
        return status;
    *out = (struct exported){
        .ending = ending_of(info->codec, head.extra_bytes), .data = data + head.first, .bytes = head.bytes};
    if (head.file_bytes) {
        out->data = data + value->bytes - head.file_bytes;
        out->bytes = head.file_bytes;
        return MLDF_OK;
    }
    if (head.flags & PACKETS_FILE) {
        out->data = data + head.first - head.head_bytes;
        out->bytes = head.head_bytes + head.bytes + head.tail_bytes;
        return MLDF_OK;
    }
    room->file.size = 0;
    if (info->codec == MLDF_AUDIO_OPUS || info->codec == MLDF_AUDIO_VORBIS) {
        status = write_ogg(info, &head, &in, extra, &room->file, err);
        out->data = NULL;
        out->bytes = 0;
    }
    if (info->codec == MLDF_AUDIO_AAC || info->codec == MLDF_AUDIO_ALAC) {
        status = write_mp4(info, &head, &in, extra, &room->file, err);
        *out = (struct exported){.ending = "m4a"};
    }
    if (info->codec == MLDF_AUDIO_FLAC) {
        status = mldf_buffer_append(&room->file, "fLaC\x80\0\0\x22", 8, err);
        if (status == MLDF_OK)
            status = mldf_buffer_append(&room->file, extra, head.extra_bytes, err);
    }
    out->head = room->file.data;
    out->head_bytes = room->file.size;
    return status;
}

static mldf_status export(const struct schema_field *field, const mldf_value *value, struct media_kit *kit,
                          struct export_room *room, struct exported *out, mldf_error *err) {
    mldf_audio_info info = MLDF_AUDIO_INFO_INIT;
    TRY(mldf_audio_record(value, &info, err));
    if (!mldfi_audio_is_packets(info.codec))
        return mldfi_audio_export(field, value, kit, room, out, err);
    return export_packets(value, &info, room, out, err);
}

/* The whole table; the decoder's half is the family's. */
static mldf_status check_deep(const void *state, const uint8_t *record, const void *payload, uint64_t payload_bytes,
                              mldf_error *err) {
    mldf_audio_info info;
    (void)state;
    mldfi_audio_record_info(record, &info);
    if (!mldfi_audio_is_packets(info.codec) || mldfi_audio_decodes(info.codec))
        return MLDF_OK;
    struct audio_memory memory = {payload};
    struct audio_bytes in = {mldfi_audio_from_memory, &memory, payload_bytes};
    struct packets_head head;
    const uint8_t *extra;
    mldf_status status = mldfi_packets_open(&info, &in, &head, &extra, err);
    if (status == MLDF_OK)
        status = mldfi_packets_check(&head, &in, err);
    return status == MLDF_OK ? MLDF_END : status; /* this build cannot decode it */
}

const struct field_type mldfi_type_audio_compressed = {
    .type = {sizeof(mldf_type), MLDF_AUDIO_COMPRESSED, "audio_compressed", NULL, bind, mldfi_audio_unbind,
             mldfi_audio_encode, mldfi_audio_decode},
    .name = "audio_compressed",
    .draft_differs = true,
    .observe = mldfi_audio_observe,
    .never_compressed = true,
    .in_chunks = true,
    .is_viewable = is_viewable,
    .argument_names = argument_names,
    .check_deep = check_deep,
    .edge = mldfi_audio_edge,
    .steps = mldfi_audio_steps,
    .steps_shift = 16, /* a FLAC frame has up to 65,535 samples, each byte of it less */
    .see = mldfi_audio_see,
    .see_value = mldfi_audio_see_value,
    .self_describing = FAMILY_AUDIO,
    .files = &mldfi_audio_files,
    .ending = "flac",
    .export = export,
    .value_json = mldfi_audio_json,
    .same = mldfi_audio_same,
    .letter = 'u',
};
