/* The registered field type ids: name and payload form of each, known to this build or not. docs/spec/registry.md is
 * the same table in words; the types that can be decoded are in src/field/. */
#include <string.h>

#include "format/format.h"

static const struct registered_type {
    uint16_t id, payload_flag;
    const char *name;
} registry[] = {
    {1, 0, "int"},
    {2, 0, "float"},
    {3, MLDF_FIELD_SIZE64, "bytes"},
    {4, MLDF_FIELD_SIZE64, "ndarray"},
    {5, MLDF_FIELD_SIZE64, "json"},
    {6, 0, "inline"},
    {10, MLDF_FIELD_SIZE32, "image_raw"},
    {11, MLDF_FIELD_SIZE32, "image_jpeg"},
    {12, MLDF_FIELD_SIZE32, "image_png"},
    {13, MLDF_FIELD_SIZE32, "image"},
    {20, MLDF_FIELD_SIZE32, "audio_waveform"},
    {21, MLDF_FIELD_SIZE32, "audio_compressed"},
    {22, MLDF_FIELD_SIZE32, "audio_spectrogram"},
    {23, MLDF_FIELD_SIZE32, "audio_codec_tokens"},
    {30, MLDF_FIELD_SIZE32, "video_frames"},
    {31, MLDF_FIELD_SIZE32, "video_compressed"},
    {32, MLDF_FIELD_SIZE64, "video_optical_flow"},
    {40, MLDF_FIELD_SIZE32, "text"},
    {41, MLDF_FIELD_SIZE32, "text_tokenized"},
    {42, MLDF_FIELD_SIZE32, "text_packed"},
    {43, MLDF_FIELD_SIZE32, "text_hierarchical"},
    {44, MLDF_FIELD_SIZE64, "token_stream"},
    {50, MLDF_FIELD_SIZE32, "multimodal"},
};
enum { REGISTRY_COUNT = sizeof registry / sizeof registry[0] };

static const struct registered_type *find_id(uint16_t id) {
    for (size_t i = 0; i < REGISTRY_COUNT; i++)
        if (registry[i].id == id)
            return &registry[i];
    return NULL;
}

const char *mldfi_type_name(uint16_t id) {
    const struct registered_type *type = find_id(id);
    return type ? type->name : NULL;
}

uint16_t mldfi_type_payload_flag(uint16_t id) {
    const struct registered_type *type = find_id(id);
    return type ? type->payload_flag : 0;
}

uint16_t mldfi_type_by_name(const char *name, size_t bytes) {
    for (size_t i = 0; i < REGISTRY_COUNT; i++)
        if (strlen(registry[i].name) == bytes && memcmp(registry[i].name, name, bytes) == 0)
            return registry[i].id;
    return 0;
}

const char *mldfi_type_name_at(size_t index) {
    return index < REGISTRY_COUNT ? registry[index].name : NULL;
}
