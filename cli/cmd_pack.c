/* mldf pack: CSV, TSV and JSON lines into a new file. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"

static const struct option_spec options[] = {
    {'o', "output", "OUT", NULL},
    {'o', NULL, "OUT", "the file to write, or - for standard output; refused when it exists, unless -f is given"},
    {'f', "force", NULL, NULL},
    {'f', NULL, NULL, "replace an existing OUT"},
    {0, "schema", "FILE", "the fields and their types: a JSON file, or JSON that begins with { or ["},
    {0, "format", "FORMAT", "csv, tsv or jsonl (default: by the name's ending, else by the first bytes)"},
    {0, "key-column", "NAME", "the column that holds the sample keys; it becomes no field"},
    {0, "on-error", "stop|skip", "a row that does not fit: stop (default), or leave it out and list it"},
    {0, "compress", "FIELD[=LEVEL]", "compress this field with zstd, level 1 to 22 (default 3); may be repeated"},
    {0, "dictionary", NULL, "train one zstd dictionary for the compressed fields: for many small values"},
    {0, "encrypt", "KEYFILE", "encrypt with this key; --passphrase-file encrypts under a passphrase"},
    {0, "card", "FILE", "a JSON object that describes the dataset"},
    {0, "page-size", "N", "a power of two from 4096 to 2G; K, M and G may follow (default: automatic)"},
    {0, "no-checksums", NULL, "leave the checksums out"},
    {0, "resume", NULL, "keep OUT.partial when interrupted, and go on from it; the result is the same"},
    {'j', "workers", "N", "threads; by default the CPUs this process may use, 0: one thread"},
    {0, NULL, NULL, NULL},
};

static int check_sources(const struct invocation *v) {
    for (size_t i = 0; i < v->file_count; i++) {
        struct stat st;
        if (strcmp(v->files[i], "-") != 0 && stat(v->files[i], &st) == 0 && S_ISDIR(st.st_mode))
            return usage_error(v, "%s: folders are not packed by this version", v->files[i]);
    }
    return EXIT_FINE;
}

/* The new file's secret: --encrypt, or what --key and --passphrase-file say. */
static int choose_pack_secret(const struct invocation *v, mldf_writer_options *writer) {
    bool given = v->secret.key || v->secret.passphrase;
    if (given && option_given(v, "encrypt"))
        return usage_error(v, "--encrypt cannot be given together with --key or --passphrase-file");
    if (given)
        writer->secret = v->secret;
    return EXIT_FINE;
}

static int pack(struct invocation *v, const char *out, mldf_pack_options *packing) {
    struct pack_report report;
    mldf_pack_result result;
    mldf_error err;
    pack_report_begin(&report, v);
    packing->skip = pack_report_skip;
    packing->skip_user = &report;
    if (mldf_pack(v->files, v->file_count, out, packing, &result, &err) < 0) {
        pack_report_failed(&report);
        return report_error(v, NULL, &err);
    }
    pack_report_end(&report, &result, "written", strcmp(out, "-") == 0 ? "(standard output)" : out);
    return EXIT_FINE;
}

static int run(struct invocation *v) {
    mldf_pack_options packing = MLDF_PACK_OPTIONS_INIT;
    struct writer_extras extras;
    mldf_schema *schema = NULL;
    const char **compress = NULL, *text = option_value(v, "schema"), *out = option_value(v, "o");
    memset(&extras, 0, sizeof extras);
    int code = check_output(v, out);
    if (code == EXIT_FINE)
        code = check_sources(v);
    if (code == EXIT_FINE && option_given(v, "force"))
        code = check_out_is_no_input(v, out, true);
    if (code == EXIT_FINE && (!parse_on_error(v, &packing.skip_bad_rows) || !parse_format(v, &packing.format)))
        code = EXIT_USAGE;
    if (code == EXIT_FINE)
        code = fill_writer_options(v, &packing.writer, &extras);
    if (code == EXIT_FINE)
        code = choose_pack_secret(v, &packing.writer);
    if (code == EXIT_FINE && text)
        code = load_schema(v, text, &schema);
    if (code == EXIT_FINE) {
        compress = collect(v, "compress", &packing.compress_count);
        packing.compress_fields = compress;
        packing.schema = schema;
        packing.resume = option_given(v, "resume");
        packing.key_column = option_value(v, "key-column");
        code = pack(v, out, &packing);
    }
    free(compress);
    mldf_schema_free(schema);
    free_writer_extras(&extras);
    return code;
}

const struct command command_pack = {
    "pack",
    "SRC... -o OUT",
    "make a file from CSV, TSV or JSON lines",
    "Reads the rows of the sources, one after the other, and writes them as the samples of one new file. All sources must\n"
    "have the same columns. A source named - is standard input.\n"
    "\n"
    "Without a schema the type of each column comes from the first 10,000 rows: integers, floats, booleans, text; nested\n"
    "values as JSON; lists of numbers of one length as arrays. Numbers beyond 64 bits and numbers with leading zeros are\n"
    "text. An empty CSV cell is a null, or an empty text in a text column. A later row that does not fit is an error that\n"
    "names file, line and column.\n"
    "\n"
    "With --json, one object: written, skipped (source, message), bytes, seconds.",
    options,
    "  mldf pack train.jsonl -o train.mldf --compress text=9\n"
    "  zcat rows.csv.gz | mldf pack - --format csv -o rows.mldf\n",
    1,
    -1,
    run,
};
