/* mldf select: some samples and fields of a file into a new one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const struct option_spec options[] = {
    {'o', "output", "OUT", NULL},
    {'o', NULL, "OUT", "the file to write, or - for standard output; refused when it exists, unless -f is given"},
    {'f', "force", NULL, NULL},
    {'f', NULL, NULL, "replace an existing OUT"},
    {0, "fields", "A,B,...", "these fields, in this order (default: all)"},
    {0, "samples", "LIST", "samples and ranges in this order: 3,9,10:20,-1, or @FILE (default: all)"},
    {0, "keys", "K,L,...", "samples with these keys, or @FILE with a key on each line"},
    {0, "where", "EXPR", "of those, the samples for which this is true: \"label in [1, 2] and len(text) < 500\""},
    {0, "card", "FILE", "another card: a JSON object that describes the dataset"},
    {0, "compress", "FIELD[=LEVEL]", "compress this field with zstd, level 1 to 22 (default 3); may be repeated"},
    {0, "dictionary", NULL, "train one zstd dictionary for the compressed fields"},
    {0, "encrypt", "KEYFILE",
     "encrypt the result with this key; --key opens FILE; payloads are hidden, but keys,\n"
     "                           labels, names of fields and card stay readable (mldf keygen makes a key file)"},
    {0, "encrypt-all", NULL,
     "encrypt names of fields, labels, keys and card too; opening then reads all tables, and needs the key"},
    {0, "decrypt", NULL, "do not encrypt the result (default: with the secret that opened FILE)"},
    {0, "page-size", "N", "a power of two from 4096 to 2G; K, M and G may follow (default: automatic)"},
    {0, "no-checksums", NULL, "leave the checksums out"},
    {'j', "workers", "N", "threads; by default the CPUs this process may use, 0: one thread"},
    {0, NULL, NULL, NULL},
};

/* The text with a caret under the byte that the message is about. */
static void point_at(const char *text, uint64_t at) {
    fprintf(stderr, "    %s\n    ", text);
    for (uint64_t i = 0; i < at && text[i]; i++)
        if (((unsigned char)text[i] & 0xC0) != 0x80)
            fputc(text[i] == '\t' ? '\t' : ' ', stderr);
    fputs("^\n", stderr);
}

static int choose(struct invocation *v, const mldf_reader *reader, struct choice *choice,
                  mldf_select_options *selecting) {
    const char *samples = option_value(v, "samples"), *keys = option_value(v, "keys"),
               *fields = option_value(v, "fields");
    int code = EXIT_FINE;
    selecting->where = option_value(v, "where");
    if (samples && keys)
        return usage_error(v, "--samples and --keys cannot be given together");
    if (!samples && !keys && !fields && !selecting->where)
        return usage_error(v, "nothing is selected: give --fields, --samples, --keys or --where");
    if (fields)
        code = choose_words(v, "--fields", fields, choice);
    if (code == EXIT_FINE && samples)
        code = choose_samples_list(v, reader, v->files[0], samples, choice);
    if (code == EXIT_FINE && keys)
        code = choose_keys_list(v, reader, v->files[0], keys, choice);
    selecting->fields = (const char *const *)choice->fields;
    selecting->field_count = choice->field_count;
    selecting->ranges = choice->ranges;
    selecting->range_count = choice->range_count;
    return code;
}

static int write_out(struct invocation *v, const mldf_reader *reader, const char *out, mldf_select_options *selecting) {
    struct pack_report report;
    mldf_pack_result result = MLDF_PACK_RESULT_INIT;
    mldf_error err;
    const char **compress;
    int code = collect(v, "compress", &compress, &selecting->compress_count);
    if (code != EXIT_FINE)
        return code;
    selecting->compress_fields = compress;
    pack_report_begin(&report, v);
    if (mldf_select(reader, out, selecting, &result, &err) < 0) {
        bool in_where = strcmp(err.path, "where") == 0;
        code = report_error(v, v->files[0], &err);
        if (in_where && err.offset != MLDF_NONE)
            point_at(selecting->where, err.offset);
    } else {
        pack_report_end(&report, &result, "written", strcmp(out, "-") == 0 ? "(standard output)" : out);
    }
    free(compress);
    return code;
}

static int run(struct invocation *v) {
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_select_options selecting = MLDF_SELECT_OPTIONS_INIT;
    struct writer_extras extras;
    struct choice choice;
    mldf_reader *reader = NULL;
    const char *out = option_value(v, "o");
    memset(&extras, 0, sizeof extras);
    memset(&choice, 0, sizeof choice);
    int code = check_output(v, out);
    if (code == EXIT_FINE)
        code = check_out_is_no_option(v, out);
    selecting.writer = &writing;
    if (code == EXIT_FINE)
        code = fill_writer_options(v, &writing, &extras);
    if (code == EXIT_FINE)
        code = open_reader(v, v->files[0], true, &reader);
    if (code == EXIT_FINE)
        code = choose_secret(v, v->files, 1, &writing);
    if (code == EXIT_FINE)
        code = choose(v, reader, &choice, &selecting);
    if (code == EXIT_FINE)
        code = write_out(v, reader, out, &selecting);
    mldf_reader_close(reader);
    free_choice(&choice);
    free_writer_extras(&extras);
    return code;
}

const struct command command_select = {
    "select",
    "FILE -o OUT",
    "some samples and fields into a new file",
    "Writes the chosen samples and fields into a new file; payloads are copied, not decoded. Samples come in the order of\n"
    "--samples or --keys, else in the file's; keys and card go along.\n"
    "\n"
    "--where takes field names (`quoted` where they are no words), key, index, numbers, 'text', true, false, null; == != <\n"
    "<= > >=, in [...], is null, is not null, and or not, + - * / %; len(x), bytes(x), contains(s, t), startswith(s, t),\n"
    "endswith(s, t), lower(s); meta.a.b, meta[\"a\"][0] inside JSON, pose.x inside structs, x[0] inside arrays. A comparison\n"
    "with a null is false; x == null and x is null ask for it. Mistakes are reported before a sample is read.\n"
    "\n"
    "With --json, one object: written, skipped, warnings, bytes, seconds.",
    options,
    "  mldf select train.mldf -o cats.mldf --where \"label == 3 and len(caption) > 10\"\n"
    "  mldf select train.mldf -o small.mldf --fields image,label --samples :1000\n",
    1,
    1,
    run,
};
