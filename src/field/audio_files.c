/* Files that become recordings, and recordings that become files: WAV both ways, others by audio_encode.c and audio_compressed.c. What is shown of a recording. Traits of field.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "codec/audio_stream.h"
#include "field/audio_type.h"
#include "util/buffer.h"
#include "util/error.h"

/* Wave64, RF64, AIFF, CAF and NIST SPHERE are read; export writes RIFF, and RF64 where 4 GiB are not enough, under the name of both. Files of packets go into fields of
 * AUDIO_COMPRESSED. */
static const struct file_ending endings[] = {
    {"wav", "wav", ARCHIVE_READ, NULL},
    {"wave", "wav", ARCHIVE_READ, NULL},
    {"w64", NULL, ARCHIVE_READ, NULL},
    {"rf64", NULL, ARCHIVE_READ, NULL},
    {"flac", "flac", ARCHIVE_READ, &mldfi_type_audio_compressed},
    {"mp3", "mp3", ARCHIVE_READ, &mldfi_type_audio_compressed},
    {"ogg", "ogg", ARCHIVE_READ, &mldfi_type_audio_compressed},
    {"oga", "ogg", ARCHIVE_READ, &mldfi_type_audio_compressed},
    {"opus", "opus", ARCHIVE_READ, &mldfi_type_audio_compressed},
    {"m4a", "m4a", ARCHIVE_READ, &mldfi_type_audio_compressed},
    {"aac", "aac", ARCHIVE_READ, &mldfi_type_audio_compressed},
    {"aif", NULL, ARCHIVE_READ, NULL},
    {"aiff", NULL, ARCHIVE_READ, NULL},
    {"aifc", NULL, ARCHIVE_READ, NULL},
    {"caf", NULL, ARCHIVE_READ, NULL},
    {"sph", NULL, ARCHIVE_READ, NULL},
    {NULL, NULL, ARCHIVE_BYTES, NULL},
};

mldf_status mldfi_audio_parse(const void *data, size_t bytes, struct pcm_file *out, mldf_error *err) {
    mldf_status status = mldfi_pcm_file_parse(data, bytes, out, err);
    if (status == MLDF_OK && out->wav.missing_bytes)
        status = mldfi_fail_at(err, MLDF_E_TRUNCATED, bytes,
                               "the %s file is cut short: its header announces %" PRIu64
                               " bytes of samples more than it has",
                               out->name, out->wav.missing_bytes);
    if (status < 0 && err && err->offset != MLDF_NONE) {
        mldfi_error_prefix(err, "byte %" PRIu64, err->offset);
        err->offset = MLDF_NONE; /* of that file, not of ours */
    }
    return status;
}

/* The masks that follow from the number of channels: front centre; front left and right. */
static bool is_usual_mask(const mldf_audio_info *info) {
    return info->mask == 0 || (info->channels == 1 && info->mask == 4) || (info->channels == 2 && info->mask == 3);
}

/* "the name ends in .wav, and the bytes are FLAC": of a name that says something else. */
static void warn_name(const char *name, const char *what, bool packets, file_warning_fn warn, void *user) {
    char message[160];
    const struct file_ending *ending = mldfi_file_ending(&mldfi_audio_files, name);
    if (!*mldfi_name_ending(name) || (ending && ending->archive == ARCHIVE_READ && (ending->type != NULL) == packets))
        return;
    snprintf(message, sizeof message, "the name ends in .%.16s, and the bytes are %s", mldfi_name_ending(name), what);
    warn(user, message);
}

static void warn_wav(const mldf_wav *wav, file_warning_fn warn, void *user) {
    char message[160];
    if (wav->rest_bytes) {
        snprintf(message, sizeof message, "%" PRIu32 " bytes after the last whole sample are left out",
                 wav->rest_bytes);
        warn(user, message);
    }
    if (!is_usual_mask(&wav->info)) {
        snprintf(message, sizeof message, "the channel mask 0x%" PRIx32 " is kept only if the field has it as \"mask\"",
                 wav->info.mask);
        warn(user, message);
    }
}

/* What a file of packets is, its encoder finds when it takes it apart. */
static mldf_status audio_look(const char *name, const void *data, size_t bytes, file_warning_fn warn, void *user,
                              mldf_error *err) {
    struct pcm_file file;
    if (bytes == 0)
        return mldfi_fail(err, MLDF_E_TRUNCATED, "the file is empty");
    const struct audio_container *container = mldfi_audio_container(data, bytes);
    mldf_status status = container ? MLDF_OK : mldfi_audio_parse(data, bytes, &file, err);
    if (status < 0 || !warn)
        return status;
    warn_name(name, container ? container->name : file.name, container != NULL, warn, user);
    if (!container)
        warn_wav(&file.wav, warn, user);
    return MLDF_OK;
}

/* The options are the arguments of AUDIO_COMPRESSED; "encode":"pcm" asks for AUDIO_WAVEFORM, which has none of them. */
static mldf_status audio_choose(const struct field_type **type, const char **arguments, mldf_error *err) {
    struct json json = {0};
    mldf_status status = mldfi_arguments_parse(&json, *arguments, strlen(*arguments), err);
    if (status < 0)
        return status;
    uint32_t encode = mldfi_json_find(&json, 0, "encode");
    bool pcm = encode != UINT32_MAX && mldfi_json_is_text(&json, encode, "pcm");
    if (pcm && json.nodes[0].count > 1)
        status = mldfi_fail(err, MLDF_E_SCHEMA, "the audio option encode=pcm goes with no other audio option");
    mldfi_json_free(&json);
    *type = pcm ? &mldfi_type_audio_waveform : &mldfi_type_audio_compressed;
    if (pcm)
        *arguments = NULL;
    return status;
}

const struct field_files mldfi_audio_files = {
    .field = "audio",
    .noun = "a recording",
    .plural = "recordings",
    .endings = endings,
    .most_bytes = UINT64_MAX,
    .look = audio_look,
    .choose = audio_choose,
};

mldf_status mldfi_audio_export(const struct schema_field *field, const mldf_value *value, struct media_kit *kit,
                               struct export_room *room, struct exported *out, mldf_error *err) {
    const struct audio_state *s = field ? field->state : NULL;
    mldf_audio_info info = MLDF_AUDIO_INFO_INIT;
    (void)kit;
    TRY(mldf_audio_record(value, &info, err));
    info.mask = s ? s->mask : 0;
    room->file.size = 0;
    mldf_status status = mldf_wav_header(&info, &room->file, &out->pad_bytes, err);
    out->ending = "wav";
    out->head = room->file.data;
    out->head_bytes = room->file.size;
    out->data = value->data;
    out->bytes = value->bytes;
    return status;
}

mldf_status mldfi_audio_json(const struct schema_field *field, const mldf_value *value, bool full, mldf_buffer *out,
                             mldf_error *err) {
    mldf_audio_info info = MLDF_AUDIO_INFO_INIT;
    (void)field;
    if (mldf_audio_record(value, &info, NULL) < 0)
        return MLDF_END;
    mldf_status status = mldfi_payload_json_begin(value, out, err);
    if (status == MLDF_OK)
        status =
            mldfi_buffer_printf(out, err,
                                ",\"samples\":%" PRIu64 ",\"rate\":%" PRIu32 ",\"channels\":%" PRIu32
                                ",\"bits\":%" PRIu32 ",\"codec\":\"%s\"",
                                info.samples, info.rate, info.channels, info.bits, mldf_audio_codec_name(info.codec));
    return status < 0 ? status : mldfi_payload_json_end(value, full, out, err);
}
