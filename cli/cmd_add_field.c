/* mldf add-field: a new field for the samples of an existing file. */
#include <string.h>

#include "cli.h"

static const struct option_spec options[] = {
    {0, "schema", "FILE", "the field's type: a JSON file, or JSON that begins with { or [, with a field NAME"},
    {0, "format", "FORMAT", "csv, tsv or jsonl (default: by the name's ending, else by the first bytes)"},
    {0, "column", "NAME", "the column of SRC (default: the one named as the field, else the only one)"},
    {0, "key-column", "NAME", "match rows and samples by the keys in this column, instead of by their order"},
    {0, "pipeline", "STEPS", "SRC is a field of FILE: its values through these steps, as mel(whisper) | cast(f16)"},
    {0, "compress", "LEVEL", "compress the field with zstd, level 1 to 22"},
    {'j', "workers", "N", "threads; by default the CPUs this process may use, 0: one thread"},
    {0, NULL, NULL, NULL},
};

static int fill_options(const struct invocation *v, mldf_add_field_options *adding, mldf_schema **schema) {
    const char *text = option_value(v, "schema"), *level = option_value(v, "compress");
    uint64_t number = 0;
    if (!parse_format(v, &adding->format) || !parse_threads(v, &adding->threads) ||
        (level && !parse_count(v, "--compress", level, &number)))
        return EXIT_USAGE;
    if (level && (number < 1 || number > 22))
        return usage_error(v, "--compress: %s is not a level from 1 to 22", level);
    adding->compress_level = (int)number;
    adding->context = v->context;
    adding->secret = v->secret;
    adding->column = option_value(v, "column");
    adding->key_column = option_value(v, "key-column");
    adding->progress = progress_hook;
    int code = text ? load_schema(v, text, schema) : EXIT_FINE;
    adding->schema = *schema;
    return code;
}

static int run(struct invocation *v) {
    mldf_add_field_options adding = MLDF_ADD_FIELD_OPTIONS_INIT;
    struct pack_report report;
    mldf_pack_result result = MLDF_PACK_RESULT_INIT;
    mldf_schema *schema = NULL;
    mldf_error err;
    char name[MLDF_NAME_MAX + 1];
    const char *path = v->files[0], *equals = strchr(v->files[1], '=');
    if (!equals || equals == v->files[1] || !equals[1])
        return usage_error(v, "'%s' is not NAME=SRC", v->files[1]);
    size_t bytes = (size_t)(equals - v->files[1]);
    if (bytes > MLDF_NAME_MAX)
        return usage_error(v, "a field's name has at most %d bytes", MLDF_NAME_MAX);
    memcpy(name, v->files[1], bytes);
    name[bytes] = 0;
    int code = check_no_stdin(v, 0, 1);
    if (code == EXIT_FINE)
        code = fill_options(v, &adding, &schema);
    if (code == EXIT_FINE) {
        const char *steps = option_value(v, "pipeline");
        pack_report_begin(&report, v);
        mldf_status status = steps ? mldf_derive_field(path, name, equals + 1, steps, &adding, &result, &err)
                                   : mldf_add_field(path, name, equals + 1, &adding, &result, &err);
        if (status < 0 && steps) {
            code = report_error(v, NULL, &err);
        } else if (status < 0) {
            code = report_foreign(v, path, &err, "only MLDF files grow; convert makes one of it");
            if (code == EXIT_FINE)
                code = report_error(v, path, &err);
        } else {
            pack_report_end(&report, &result, "extended", path);
        }
    }
    mldf_schema_free(schema);
    return code;
}

const struct command command_add_field = {
    "add-field",
    "FILE NAME=SRC",
    "a new field for the samples of a file",
    "Adds the field NAME to FILE, in place, under its lock. Its values are a column of SRC: a CSV, TSV or JSON-lines file with\n"
    "one row for each sample in order, or, with --key-column, in any order with the samples' keys; a sample without a row\n"
    "then gets a null. The column is the one named NAME or by --column, else the only one. Without a schema its type comes\n"
    "from the first 10,000 rows, as in pack. Until the command has finished, the file is what it was; a failure or an\n"
    "interrupt leaves it so. The new payloads follow the old ones; repack puts each sample's side by side again.\n"
    "\n"
    "With --pipeline, SRC is a field of FILE, and the new field is what the steps make of it: features beside the recordings\n"
    "that they are computed from. The field keeps the steps.\n"
    "\n"
    "With --json, one object: written (samples), skipped, warnings, bytes (of the file), seconds.",
    options,
    "  mldf add-field train.mldf caption=captions.jsonl\n"
    "  mldf add-field train.mldf score=scores.csv --key-column id\n"
    "  mldf add-field speech.mldf mel=audio --pipeline 'decode_audio(rate=16000, mono=true) | mel(whisper) | cast(f16)'\n",
    2,
    2,
    run,
};
