/* The options that say how images are stored, as the JSON arguments of an image field. The library judges their values; here only what
 * would not be JSON is refused. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static int append(const struct invocation *v, mldf_buffer *out, const char *name, const char *value, bool quoted) {
    char text[200];
    mldf_error err;
    int n = snprintf(text, sizeof text, "%s\"%s\":%s%s%s", out->size ? "," : "{", name, quoted ? "\"" : "", value,
                     quoted ? "\"" : "");
    if (mldf_buffer_append(out, text, (size_t)n, &err) < 0)
        return report_error(v, NULL, &err);
    return EXIT_FINE;
}

/* A word of small letters and digits. */
static int append_word(const struct invocation *v, mldf_buffer *out, const char *option, const char *const *words) {
    char all[128] = "";
    const char *value = option_value(v, option);
    for (size_t i = 0; value && words[i]; i++) {
        if (strcmp(words[i], value) == 0)
            return append(v, out, option, value, true);
        size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", words[i]);
    }
    return value ? usage_error(v, "--%s: '%s' is none of %s", option, value, all) : EXIT_FINE;
}

static int append_number(const struct invocation *v, mldf_buffer *out, const char *option, const char *argument,
                         bool bytes) {
    char name[40], text[24];
    const char *value = option_value(v, option);
    uint64_t number;
    if (!value)
        return EXIT_FINE;
    snprintf(name, sizeof name, "--%s", option);
    if (!(bytes ? parse_bytes(v, name, value, &number) : parse_count(v, name, value, &number)))
        return EXIT_USAGE;
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    return append(v, out, argument, text, false);
}

static int parse_share(const struct invocation *v, const char *option, int most, double *out) {
    const char *value = option_value(v, option);
    char *end;
    *out = strtod(value, &end);
    if (end == value || *end || !isfinite(*out) || *out < 0 || *out > most)
        return usage_error(v, "--%s: '%s' is not a number from 0 to %d", option, value, most);
    return EXIT_FINE;
}

static int append_share(const struct invocation *v, mldf_buffer *out, const char *option, const char *argument,
                        int most) {
    char text[40];
    double share;
    if (!option_value(v, option))
        return EXIT_FINE;
    int code = parse_share(v, option, most, &share);
    if (code != EXIT_FINE)
        return code;
    snprintf(text, sizeof text, "%.15g", share);
    return append(v, out, argument, text, false);
}

int image_arguments(const struct invocation *v, mldf_buffer *out) {
    static const char *const encodings[] = {"keep", "jpeg", "raw", "smart", "proportion", "yuv420", "fast-jpeg", NULL};
    static const char *const profiles[] = {"keep", "card", "drop", NULL};
    static const char *const orientations[] = {"record", "apply", NULL};
    mldf_error err;
    bool audio = is_audio_encoding(option_value(v, "encode"));
    int code = audio ? EXIT_FINE : append_word(v, out, "encode", encodings);
    if (code == EXIT_FINE)
        code = append_word(v, out, "icc", profiles);
    if (code == EXIT_FINE)
        code = append_word(v, out, "orientation", orientations);
    if (code == EXIT_FINE)
        code = append_number(v, out, "quality", "quality", false);
    if (code == EXIT_FINE)
        code = append_number(v, out, "max-resolution", "max_resolution", false);
    if (code == EXIT_FINE)
        code = append_number(v, out, "min-resolution", "min_resolution", false);
    if (code == EXIT_FINE)
        code = append_number(v, out, "smart-threshold", "smart_threshold", true);
    if (code == EXIT_FINE)
        code = append_share(v, out, "compress-probability", "compress_probability", 1);
    if (code == EXIT_FINE)
        code = append_share(v, out, "fast-limit", "fast_limit", 100);
    if (code == EXIT_FINE && option_given(v, "baseline"))
        code = append(v, out, "baseline", "true", false);
    if (code == EXIT_FINE && out->size && mldf_buffer_append(out, "}", 2, &err) < 0)
        code = report_error(v, NULL, &err);
    return code;
}

int recode_options(const struct invocation *v, const char **encode, double *fast_limit) {
    const char *how = option_value(v, "encode");
    if (how && strcmp(how, "fast-jpeg") != 0 && strcmp(how, "jpeg-original") != 0)
        return usage_error(v, "--encode: '%s' is neither fast-jpeg nor jpeg-original", how);
    *encode = how;
    if (!option_value(v, "fast-limit"))
        return EXIT_FINE;
    if (!how || strcmp(how, "fast-jpeg") != 0)
        return usage_error(v, "--fast-limit is for --encode fast-jpeg");
    int code = parse_share(v, "fast-limit", 100, fast_limit);
    return code == EXIT_FINE && !(*fast_limit > 0) ? usage_error(v, "--fast-limit: 0 would keep every JPEG") : code;
}
