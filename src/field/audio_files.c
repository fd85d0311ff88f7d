/* Files that become recordings, and recordings that become files: WAV both ways. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "field/audio_type.h"
#include "util/buffer.h"
#include "util/error.h"

/* The masks that follow from the number of channels: front centre; front left and right. */
static bool is_usual_mask(const mldf_audio_info *info) {
    return info->mask == 0 || (info->channels == 1 && info->mask == 4) || (info->channels == 2 && info->mask == 3);
}

mldf_status mldfi_audio_look(const char *name, const void *data, size_t bytes, audio_warning_fn warn, void *user,
                             mldf_error *err) {
    mldf_wav wav;
    char message[160];
    if (bytes == 0)
        return mldfi_fail(err, MLDF_E_TRUNCATED, "the file is empty");
    mldf_status status = mldf_wav_parse(data, bytes, &wav, err);
    if (status < 0) {
        if (err)
            err->offset = MLDF_NONE; /* of the WAV file, not of ours */
        return status;
    }
    const char *dot = strrchr(name, '.');
    if (dot && strcasecmp(dot, ".wav") != 0 && strcasecmp(dot, ".wave") != 0 && strcasecmp(dot, ".w64") != 0 &&
        strcasecmp(dot, ".rf64") != 0 && !strchr(dot, '/')) {
        snprintf(message, sizeof message, "the name ends in %.16s, and the bytes are WAV", dot);
        warn(user, message);
    }
    if (wav.missing_bytes) {
        snprintf(message, sizeof message, "%" PRIu64 " bytes of samples are missing: the file may be cut short",
                 wav.missing_bytes);
        warn(user, message);
    }
    if (wav.rest_bytes) {
        snprintf(message, sizeof message, "%" PRIu32 " bytes behind the last whole sample are left out",
                 wav.rest_bytes);
        warn(user, message);
    }
    if (!is_usual_mask(&wav.info)) {
        snprintf(message, sizeof message, "the channel mask 0x%" PRIx32 " is kept only if the field has it as \"mask\"",
                 wav.info.mask);
        warn(user, message);
    }
    return MLDF_OK;
}

mldf_status mldfi_audio_export(const void *state, const mldf_value *value, mldf_buffer *scratch, const void **data,
                               uint64_t *bytes, const char **ending, mldf_error *err) {
    const struct audio_state *s = state;
    mldf_audio_info info;
    unsigned pad = 0;
    mldf_status status = mldf_audio_record(value, &info, err);
    if (status < 0)
        return status;
    info.mask = s ? s->mask : 0;
    scratch->size = 0;
    status = mldf_wav_header(&info, scratch, &pad, err);
    if (status == MLDF_OK && value->bytes > 0)
        status = mldf_buffer_append(scratch, value->data, (size_t)value->bytes, err);
    if (status == MLDF_OK && pad)
        status = mldf_buffer_append(scratch, "", 1, err);
    *data = scratch->data;
    *bytes = scratch->size;
    *ending = "wav";
    return status;
}
