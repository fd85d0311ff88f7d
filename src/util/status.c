/* Names of statuses and versions: the few public functions that only return constants. error.c fills in mldf_error. */
#include "mldf/base.h"

/* The build defines one of these from the file VERSION. */
#if defined(MLDF_VERSION_STRING)
#define VERSION_TEXT MLDF_VERSION_STRING
#elif defined(MLDF_VERSION)
#define VERSION_TEXT MLDF_VERSION
#else
#define VERSION_TEXT "0.0.0"
#endif

#ifdef MLDF_HAVE_SODIUM
#define FEATURE_SODIUM " sodium"
#else
#define FEATURE_SODIUM ""
#endif
#ifdef MLDF_HAVE_LZ4
#define FEATURE_LZ4 " lz4"
#else
#define FEATURE_LZ4 ""
#endif
#ifdef MLDF_HAVE_WEBP
#define FEATURE_WEBP " webp"
#else
#define FEATURE_WEBP ""
#endif
#ifdef MLDF_HAVE_TIFF
#define FEATURE_TIFF " tiff"
#else
#define FEATURE_TIFF ""
#endif
#ifdef MLDF_HAVE_FLAC
#define FEATURE_FLAC " flac"
#else
#define FEATURE_FLAC ""
#endif
#ifdef MLDF_HAVE_MPG123
#define FEATURE_MPG123 " mp3"
#else
#define FEATURE_MPG123 ""
#endif
#ifdef MLDF_HAVE_OPUS
#define FEATURE_OPUS " opus"
#else
#define FEATURE_OPUS ""
#endif
#ifdef MLDF_HAVE_VORBIS
#define FEATURE_VORBIS " vorbis"
#else
#define FEATURE_VORBIS ""
#endif
#ifdef MLDF_HAVE_BZIP2
#define FEATURE_BZIP2 " bzip2"
#else
#define FEATURE_BZIP2 ""
#endif
#ifdef MLDF_HAVE_LZMA
#define FEATURE_XZ " xz"
#else
#define FEATURE_XZ ""
#endif
#ifdef MLDF_HAVE_FFMPEG /* through modules, which are opened when they are first needed */
#define FEATURE_FFMPEG " ffmpeg"
#else
#define FEATURE_FFMPEG ""
#endif
#define FEATURES_TEXT \
    "zstd" FEATURE_SODIUM FEATURE_LZ4 " jpeg png" FEATURE_WEBP FEATURE_TIFF FEATURE_FLAC FEATURE_MPG123 FEATURE_OPUS \
        FEATURE_VORBIS FEATURE_BZIP2 FEATURE_XZ FEATURE_FFMPEG

const char *mldf_status_name(mldf_status status) {
    static const struct {
        mldf_status status;
        const char *name;
    } names[] = {
        {MLDF_OK, "ok"},
        {MLDF_END, "end"},
        {MLDF_ABSENT, "absent"},
        {MLDF_AGAIN, "again"},
        {MLDF_E_ARGUMENT, "argument"},
        {MLDF_E_STATE, "state"},
        {MLDF_E_MEMORY, "memory"},
        {MLDF_E_CANCELLED, "cancelled"},
        {MLDF_E_LIMIT, "limit"},
        {MLDF_E_IO, "io"},
        {MLDF_E_NOT_FOUND, "not_found"},
        {MLDF_E_PERMISSION, "permission"},
        {MLDF_E_EXISTS, "exists"},
        {MLDF_E_NO_SPACE, "no_space"},
        {MLDF_E_BUSY, "busy"},
        {MLDF_E_CHANGED, "changed"},
        {MLDF_E_UNSUPPORTED, "unsupported"},
        {MLDF_E_KEY_MISSING, "key_missing"},
        {MLDF_E_KEY_WRONG, "key_wrong"},
        {MLDF_E_MAGIC, "magic"},
        {MLDF_E_VERSION, "version"},
        {MLDF_E_FEATURE, "feature"},
        {MLDF_E_TRUNCATED, "truncated"},
        {MLDF_E_CORRUPT, "corrupt"},
        {MLDF_E_CHECKSUM, "checksum"},
        {MLDF_E_TAMPERED, "tampered"},
        {MLDF_E_UNFINISHED, "unfinished"},
        {MLDF_E_SCHEMA, "schema"},
        {MLDF_E_TYPE, "type"},
        {MLDF_E_RANGE, "range"},
        {MLDF_E_NULL, "null"},
        {MLDF_E_KEY, "key"},
        {MLDF_E_NO_FIELD, "no_field"},
        {MLDF_E_NO_SAMPLE, "no_sample"},
        {MLDF_E_SYNTAX, "syntax"},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].status == status)
            return names[i].name;
    return "unknown";
}

const char *mldf_version(void) {
    return VERSION_TEXT;
}

uint32_t mldf_format_version(void) {
    return UINT32_C(0x00010001);
}

const char *mldf_build_features(void) {
    return FEATURES_TEXT;
}
