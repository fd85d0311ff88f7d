/* What several commands have in common: opening a reader, the options of writers, the report of pack and its kin. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

int open_reader(const struct invocation *v, const char *path, bool verify, mldf_reader **out) {
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_error err;
    options.context = v->context;
    options.verify = verify;
    options.secret = v->secret;
    if (strcmp(path, "-") == 0)
        return usage_error(v, "samples are read at random: standard input cannot be, give a file");
    if (mldf_reader_open(path, &options, out, &err) < 0)
        return report_error(v, path, &err);
    return EXIT_FINE;
}

/* ---- Writers ------------------------------------------------------------------------------------------------------- */

/* --encrypt KEYFILE, or the secret that was given for a new file. */
static int fill_secret(const struct invocation *v, mldf_writer_options *out, struct writer_extras *extras) {
    const char *path = option_value(v, "encrypt");
    if (!path)
        return EXIT_FINE;
    return load_key(v, path, &extras->secret, &out->secret);
}

static int fill_card(const struct invocation *v, mldf_writer_options *out, struct writer_extras *extras) {
    const char *path = option_value(v, "card");
    if (!path)
        return EXIT_FINE;
    int code = read_small_file(v, path, 64u << 20, &extras->card);
    if (code != EXIT_FINE)
        return code;
    if (!extras->card.data || !json_is_object((const char *)extras->card.data, extras->card.size))
        return usage_error(v, "%s: a card is one JSON object", path);
    out->card = (const char *)extras->card.data;
    out->card_bytes = extras->card.size;
    return EXIT_FINE;
}

int fill_writer_options(const struct invocation *v, mldf_writer_options *out, struct writer_extras *extras) {
    const char *page = option_value(v, "page-size");
    memset(extras, 0, sizeof *extras);
    out->context = v->context;
    out->overwrite = option_given(v, "force");
    out->no_checksums = option_given(v, "no-checksums");
    out->dictionary = option_given(v, "dictionary");
    out->progress = progress_hook;
    if (!parse_threads(v, &out->threads) || (page && !parse_bytes(v, "--page-size", page, &out->page_size)))
        return EXIT_USAGE;
    if (page &&
        (out->page_size < 4096 || out->page_size > UINT64_C(1) << 31 || (out->page_size & (out->page_size - 1)) != 0))
        return usage_error(v, "--page-size: '%s' is not a power of two from 4096 to 2G", page);
    int code = fill_card(v, out, extras);
    return code == EXIT_FINE ? fill_secret(v, out, extras) : code;
}

void free_writer_extras(struct writer_extras *extras) {
    mldf_buffer_free(&extras->card);
    secret_wipe(&extras->secret);
}
