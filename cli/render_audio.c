/* A recording as JSON: its bytes and what its record says. */
#include "cli.h"

bool render_audio(const mldf_field *field, const mldf_value *v, bool full) {
    mldf_audio_info info;
    if (field->type_id != MLDF_AUDIO_WAVEFORM || v->kind == MLDF_KIND_NULL || (full && v->kind == MLDF_KIND_ARRAY) ||
        mldf_audio_record(v, &info, NULL) < 0)
        return false;
    json_begin('{');
    json_key("bytes");
    json_u64(v->bytes);
    render_sha256(v->data, v->bytes);
    json_key("samples");
    json_u64(info.samples);
    json_key("rate");
    json_u64(info.rate);
    json_key("channels");
    json_u64(info.channels);
    json_key("bits");
    json_u64(info.bits);
    json_key("codec");
    json_string(mldf_audio_codec_name(info.codec));
    if (full)
        render_base64(v->data, v->bytes);
    json_end('}');
    return true;
}
