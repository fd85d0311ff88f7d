/* --text, --tokenizer and what belongs to them: pack uses them to make tokens, head and cat to show text. */
#include <string.h>

#include "cli.h"

int open_tokenizer(const struct invocation *v, mldf_tokenizer **out) {
    mldf_tokenizer_options options = MLDF_TOKENIZER_OPTIONS_INIT;
    const char *what = option_value(v, "tokenizer"), *limit = option_value(v, "tokenizer-timeout"),
               *processes = option_value(v, "tokenizer-processes");
    uint64_t seconds = 0, programs = 0;
    mldf_error err;
    *out = NULL;
    if (!what)
        return limit || processes
                   ? usage_error(v, "%s needs --tokenizer", limit ? "--tokenizer-timeout" : "--tokenizer-processes")
                   : EXIT_FINE;
    if ((limit && !parse_count(v, "--tokenizer-timeout", limit, &seconds)) ||
        (processes && !parse_count(v, "--tokenizer-processes", processes, &programs)))
        return EXIT_USAGE;
    if ((limit && (seconds < 1 || seconds > 1000000)) || (processes && (programs < 1 || programs > 256)))
        return usage_error(v, "%s",
                           limit && (seconds < 1 || seconds > 1000000) ? "--tokenizer-timeout: 1 to 1000000 seconds"
                                                                       : "--tokenizer-processes: 1 to 256 programs");
    const char *const given[] = {option_value(v, "eos"), option_value(v, "bos")};
    int64_t *const ids[] = {&options.eos, &options.bos};
    for (size_t i = 0; i < 2; i++) {
        uint64_t id;
        if (given[i] && !parse_count(v, i ? "--bos" : "--eos", given[i], &id))
            return EXIT_USAGE;
        if (given[i] && id > INT32_MAX)
            return usage_error(v, "%s: %s is not an id", i ? "--bos" : "--eos", given[i]);
        *ids[i] = given[i] ? (int64_t)id : -1;
    }
    options.timeout_seconds = (unsigned)seconds;
    options.processes = (unsigned)programs;
    return mldf_tokenizer_open(what, &options, out, &err) < 0 ? report_error(v, NULL, &err) : EXIT_FINE;
}

int tokenize_options(const struct invocation *v, mldf_pack_options *packing, mldf_tokenize_options *how) {
    const char *utf8 = option_value(v, "utf8"), *text = option_value(v, "text");
    if (!text != !option_value(v, "tokenizer"))
        return usage_error(v, "--text and --tokenizer are given together");
    if (utf8 && strcmp(utf8, "replace") != 0 && strcmp(utf8, "refuse") != 0)
        return usage_error(v, "--utf8: '%s' is neither refuse nor replace", utf8);
    if (!text && (utf8 || option_given(v, "eos") || option_given(v, "bos")))
        return usage_error(v, "--utf8, --eos and --bos need --text and --tokenizer");
    int code = open_tokenizer(v, &how->tokenizer);
    if (code != EXIT_FINE || !text)
        return code;
    how->bos = option_given(v, "bos");
    how->eos = option_given(v, "eos");
    how->replace = utf8 && strcmp(utf8, "replace") == 0;
    packing->text_field = text;
    packing->tokenize = how;
    return EXIT_FINE;
}

void close_tokenizer(const struct invocation *v, mldf_tokenizer *tokenizer, bool well) {
    mldf_error err;
    if (!well)
        mldf_tokenizer_free(tokenizer);
    else if (tokenizer && mldf_tokenizer_finish(tokenizer, &err) < 0)
        warn(v, "", MLDF_ERROR_TEXT(&err)); /* every answer was complete and checked: the file is good */
}
