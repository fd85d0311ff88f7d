/* The options that say how recordings are stored, as the JSON arguments of an audio field. The library judges their values. */
#include <stdio.h>
#include <string.h>

#include "cli.h"

static const char *const encodings[] = {"flac", "opus", "pcm", NULL};

bool is_audio_encoding(const char *word) {
    for (size_t i = 0; word && encodings[i]; i++)
        if (strcmp(word, encodings[i]) == 0)
            return true;
    return false;
}

static int append(const struct invocation *v, mldf_buffer *out, const char *member) {
    mldf_error err;
    if (mldf_buffer_append(out, out->size ? "," : "{", 1, &err) < 0 ||
        mldf_buffer_append(out, member, strlen(member), &err) < 0)
        return report_error(v, NULL, &err);
    return EXIT_FINE;
}

int audio_arguments(const struct invocation *v, mldf_buffer *out) {
    const char *encode = option_value(v, "encode"), *bitrate = option_value(v, "bitrate");
    char text[80];
    mldf_error err;
    uint64_t number;
    int code = EXIT_FINE;
    if (is_audio_encoding(encode)) {
        snprintf(text, sizeof text, "\"encode\":\"%s\"", encode);
        code = append(v, out, text);
    }
    if (code == EXIT_FINE && bitrate) {
        if (!parse_count(v, "--bitrate", bitrate, &number))
            return EXIT_USAGE;
        snprintf(text, sizeof text, "\"bitrate\":%llu", (unsigned long long)number);
        code = append(v, out, text);
    }
    if (code == EXIT_FINE && option_given(v, "no-decode"))
        code = append(v, out, "\"decode\":false");
    if (code == EXIT_FINE && option_given(v, "keep-file"))
        code = append(v, out, "\"keep_file\":true");
    if (code == EXIT_FINE && out->size && mldf_buffer_append(out, "}", 2, &err) < 0)
        code = report_error(v, NULL, &err);
    return code;
}
