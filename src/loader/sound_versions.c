/* What the numbers of lossy recordings depend on: the library that decodes each codec, and its version. A state names those of the codecs that it finds in
 * the rows, and a loader that goes on with others warns, codec by codec:
 *
 *     "sound":{"mp3":"libmpg123 1.31.2","opus":"libopus 1.3.1"}
 *
 * Rows are looked at when a state is taken or loaded: a few, spread over all. */
#include <stdio.h>
#include <string.h>

#include "field/audio_packets.h"
#include "field/field.h"
#include "loader/loader.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/json.h"

enum { SOUND_ROWS = 64, SOUND_CODECS = 16, SOUND_NAME = 192 };

struct sounds {
    struct sound {
        mldf_audio_codec codec;
        char by[SOUND_NAME];
    } list[SOUND_CODECS];
    size_t count;
};

/* Is `by` one of the entries of "libopus 1.3.1 + libavcodec 59.37.100"? */
static bool is_named(const char *list, const char *by) {
    const size_t bytes = strlen(by);
    for (const char *at = list; at; at = strstr(at, " + "), at = at ? at + 3 : NULL)
        if (strncmp(at, by, bytes) == 0 && (at[bytes] == 0 || strncmp(at + bytes, " + ", 3) == 0))
            return true;
    return false;
}

/* Several outputs of a pipeline may decode the same codec differently. */
static void see(struct sounds *s, mldf_audio_codec codec, const struct audio_choice *choice) {
    char by[SOUND_NAME / 2];
    size_t i = 0;
    if (!mldfi_audio_is_packets(codec) || !mldfi_audio_decoder_name(codec, choice, by, sizeof by))
        return;
    while (i < s->count && s->list[i].codec != codec)
        i++;
    if (i == SOUND_CODECS)
        return;
    struct sound *sound = &s->list[i];
    if (i == s->count) {
        sound->codec = codec;
        sound->by[0] = 0;
        s->count++;
    }
    size_t used = strlen(sound->by);
    if (!is_named(sound->by, by))
        (void)snprintf(sound->by + used, sizeof sound->by - used, "%s%s", used ? " + " : "", by);
}

/* A row that cannot be read says nothing here; who needs it will be told. */
static mldf_status gather(const mldf_loader *loader, struct sounds *out, mldf_error *err) {
    const struct dataset *dataset = &loader->dataset;
    uint64_t samples = dataset->first[dataset->count], most = samples < SOUND_ROWS ? samples : SOUND_ROWS;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_status status = MLDF_OK;
    const char *name;
    const struct audio_choice *choice;
    out->count = 0;
    for (size_t chain = 0; mldfi_plan_sound(loader->plan, &chain, &name, &choice); chain++)
        for (uint64_t i = 0; i < most && status != MLDF_E_MEMORY; i++) {
            uint64_t sample;
            const mldf_reader *reader = mldfi_dataset_spread(dataset, i, most, &sample);
            size_t field = mldfi_schema_lookup(reader->schema, name);
            mldf_value value;
            mldf_audio_info info = MLDF_AUDIO_INFO_INIT;
            scratch.size = 0;
            if (field == SIZE_MAX) /* of another file of the dataset */
                continue;
            status = mldfi_reader_record(reader, sample, field, &scratch, &value, err);
            if (status >= 0 && value.kind != MLDF_KIND_NULL && mldf_audio_record(&value, &info, NULL) == MLDF_OK)
                see(out, info.codec, choice);
        }
    mldf_buffer_free(&scratch);
    return status == MLDF_E_MEMORY ? status : MLDF_OK;
}

mldf_status mldfi_sound_versions_write(const mldf_loader *loader, mldf_buffer *out, mldf_error *err) {
    struct sounds own;
    mldf_status status = gather(loader, &own, err);
    for (size_t i = 0; status >= 0 && i < own.count; i++)
        status = mldfi_buffer_printf(out, err, "%s\"%s\":\"%s\"", i ? "," : ",\"sound\":{",
                                     mldf_audio_codec_name(own.list[i].codec), own.list[i].by);
    return status >= 0 && own.count ? mldf_buffer_append(out, "}", 1, err) : status;
}

mldf_status mldfi_sound_versions_check(const mldf_loader *loader, const struct json *json, mldf_error *err) {
    uint32_t at = mldfi_json_find(json, 0, "sound");
    struct sounds own;
    if (at == UINT32_MAX || json->nodes[at].kind != MLDFI_JSON_OBJECT)
        return MLDF_OK;
    mldf_status status = gather(loader, &own, err);
    for (size_t i = 0; status >= 0 && i < own.count; i++) {
        const char *codec = mldf_audio_codec_name(own.list[i].codec);
        uint32_t its = mldfi_json_find(json, at, codec);
        if (its == UINT32_MAX || json->nodes[its].kind != MLDFI_JSON_STRING ||
            mldfi_json_is_text(json, its, own.list[i].by))
            continue;
        size_t bytes = json->nodes[its].text_bytes < SOUND_NAME ? (size_t)json->nodes[its].text_bytes : SOUND_NAME;
        mldfi_warn(loader->options.context,
                   "the state was taken with %s decoded by %.*s, this is %s: recordings may differ in their last bits",
                   codec, (int)bytes, json->nodes[its].text, own.list[i].by);
    }
    return status;
}
