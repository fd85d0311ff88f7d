/* What several commands have in common: opening a reader, the options of writers, the report of pack and its kin. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

int check_no_stdin(const struct invocation *v, size_t begin, size_t end) {
    for (size_t i = begin; i < end && i < v->file_count; i++)
        if (strcmp(v->files[i], "-") == 0)
            return usage_error(v, "cannot read from standard input: random access is needed; give a file name");
    return EXIT_FINE;
}

static int open_with(const struct invocation *v, const char *path, bool verify, bool in_order, mldf_reader **out) {
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_error err;
    options.context = v->context;
    options.verify = verify;
    options.sequential = in_order;
    options.secret = v->secret;
    if (strcmp(path, "-") == 0)
        return usage_error(v, "cannot read from standard input: random access is needed; give a file name");
    if (mldf_reader_open(path, &options, out, &err) < 0)
        return report_error(v, path, &err);
    return EXIT_FINE;
}

int open_reader(const struct invocation *v, const char *path, bool verify, mldf_reader **out) {
    return open_with(v, path, verify, false, out);
}

int open_reader_in_order(const struct invocation *v, const char *path, bool verify, mldf_reader **out) {
    return open_with(v, path, verify, true, out);
}

bool same_file(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int check_out_is_no_option(const struct invocation *v, const char *out) {
    static const char *const inputs[] = {"schema", "card", "encrypt", "key", "passphrase-file"};
    if (!out || strcmp(out, "-") == 0 || !option_given(v, "force"))
        return EXIT_FINE;
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
        const char *path = option_value(v, inputs[i]);
        if (path && same_file(out, path))
            return usage_error(v, "%s is the same file as --%s %s, which is read and not replaced", out, inputs[i],
                               path);
    }
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
    bool object = false;
    if (extras->card.data && json_is_object((const char *)extras->card.data, extras->card.size, &object) < 0)
        return no_memory(v);
    if (!object)
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
    out->encrypt_all = option_given(v, "encrypt-all");
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

int check_output(const struct invocation *v, const char *out) {
    if (!out)
        return usage_error(v, "-o OUT is missing");
    if (strcmp(out, "-") != 0)
        return EXIT_FINE;
    if (v->json)
        return usage_error(v, "--json and -o - would both write to standard output");
    if (isatty(STDOUT_FILENO))
        return usage_error(v, "standard output is a terminal: binary data is not written to it");
    signals_end_at_once();
    return EXIT_FINE;
}

/* An encrypted file stays encrypted unless the user says otherwise. */
int choose_secret(const struct invocation *v, const char *const *sources, size_t count, mldf_writer_options *writer) {
    mldf_reader_options reading = MLDF_READER_OPTIONS_INIT;
    mldf_reader *reader;
    mldf_file_info info = MLDF_FILE_INFO_INIT;
    mldf_error err;
    if (option_given(v, "encrypt") && option_given(v, "decrypt"))
        return usage_error(v, "--encrypt and --decrypt cannot be given together");
    if (option_given(v, "decrypt"))
        return EXIT_FINE;
    reading.context = v->context;
    reading.sequential = true;
    reading.without_key = true;
    for (size_t i = 0; i < count; i++) {
        mldf_status opened = mldf_reader_open(sources[i], &reading, &reader, &err);
        if (opened == MLDF_E_KEY_MISSING) { /* its tables are encrypted too */
            reading.secret = v->secret;
            opened = mldf_reader_open(sources[i], &reading, &reader, &err);
        }
        if (opened < 0)
            return report_error(v, sources[i], &err);
        mldf_status status = mldf_reader_info(reader, &info, &err);
        mldf_reader_close(reader);
        if (status < 0)
            return report_error(v, sources[i], &err);
        if ((info.flags & 8) && !option_given(v, "encrypt"))
            writer->secret = v->secret;
        if (info.flags & 16)
            writer->encrypt_all = true;
    }
    return EXIT_FINE;
}

int report_foreign(const struct invocation *v, const char *path, const mldf_error *err, const char *advice) {
    mldf_reader_options reading = MLDF_READER_OPTIONS_INIT;
    mldf_reader *reader;
    char format[16];
    reading.context = v->context;
    reading.sequential = true;
    if ((err && err->status != MLDF_E_MAGIC) || mldf_reader_open(path, &reading, &reader, NULL) < 0)
        return EXIT_FINE;
    snprintf(format, sizeof format, "%s", mldf_reader_format(reader));
    mldf_reader_close(reader);
    if (strcmp(format, "mldf") == 0)
        return EXIT_FINE;
    return usage_error(v, "%s: is a %s file: %s", path, format, advice);
}

int open_view(const struct invocation *v, const mldf_reader *const *readers, size_t count, const char *text,
              mldf_view **out) {
    mldf_error err;
    mldf_status status = mldf_view_new(readers, count, text, out, &err);
    if (status == MLDF_E_ARGUMENT || status == MLDF_E_SYNTAX || status == MLDF_E_NO_FIELD || status == MLDF_E_TYPE)
        return usage_error(v, "--view: %s", MLDF_ERROR_TEXT(&err));
    return status < 0 ? report_error(v, NULL, &err) : EXIT_FINE;
}
