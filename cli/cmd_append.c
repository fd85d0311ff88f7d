/* mldf append: samples from tables, folders, archives and dataset files into an existing file. */
#include <string.h>

#include "cli.h"

static const struct option_spec options[] = {
    {0, "format", "FORMAT", "csv, tsv, jsonl or tar (default: by the name's ending, else by the first bytes)"},
    {0, "delimiter", "C", "of CSV: one character, or tab (default: by the first two lines)"},
    {0, "layout", "LAYOUT", "of a folder: flat, classes (sub-folders are classes), or auto (default)"},
    {0, "key-column", "NAME", "the column of tables that holds the sample keys"},
    {0, "number-keys", NULL, "samples of files without keys get NAME/NUMBER as their keys, if FILE has keys"},
    {0, "on-error", "stop|skip", "a row or image that does not fit: stop (default), or leave it out and list it"},
    {0, "text", "FIELD[=NAME]", "turn this column of tables into tokens of the file's field NAME (default: tokens)"},
    {0, "tokenizer", "TOKENIZER", "bytes, sp:MODEL, or exec:COMMAND: the one that made the file's tokens"},
    {0, "eos", "[ID]", "end every document with this id, or the tokenizer's eos, if the file's documents do"},
    {0, "bos", "[ID]", "begin every document with this id; without a number, with the tokenizer's bos"},
    {0, "utf8", "refuse|replace", "text that is not UTF-8: an error (default), or U+FFFD for the broken bytes"},
    {0, "tokenizer-timeout", "SECONDS", "for one answer of the program (default 300)"},
    {0, "tokenizer-processes", "N", "run the program N times side by side (default 1)"},
    {'j', "workers", "N", "threads; by default the CPUs this process may use, 0: one thread"},
    {0, NULL, NULL, NULL},
};

static int append(struct invocation *v, mldf_tokenize_options *tokenize) {
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_pack_options packing = MLDF_PACK_OPTIONS_INIT;
    struct pack_report report;
    mldf_pack_result result = MLDF_PACK_RESULT_INIT;
    mldf_error err;
    const char *path = v->files[0];
    packing.writer = &writing;
    if (!parse_on_error(v, &packing.skip_bad_rows) || !parse_format(v, &packing.format) ||
        !parse_layout(v, &packing.layout) || !parse_delimiter(v, &packing.delimiter) ||
        !parse_threads(v, &writing.threads))
        return EXIT_USAGE;
    if (check_no_stdin(v, 0, 1) != EXIT_FINE)
        return EXIT_USAGE;
    int told = tokenize_options(v, &packing, tokenize);
    if (told != EXIT_FINE)
        return told;
    pack_report_begin(&report, v);
    writing.context = v->context;
    writing.secret = v->secret;
    writing.progress = progress_hook;
    packing.key_column = option_value(v, "key-column");
    packing.number_keys = option_given(v, "number-keys");
    packing.skip = pack_report_skip;
    packing.skip_user = &report;
    packing.warn = pack_report_warning;
    packing.warn_user = &report;
    packing.left_out = pack_report_left_out;
    packing.left_out_user = &report;
    if (mldf_append(path, v->files + 1, v->file_count - 1, &packing, &result, &err) < 0) {
        pack_report_failed(&report);
        int code = report_foreign(v, path, &err, "only MLDF files grow; convert makes one of it");
        if (code != EXIT_FINE)
            return code;
        return report_error(v, path, &err); /* an error about a source names it */
    }
    pack_report_end(&report, &result, "added", path);
    return EXIT_FINE;
}

static int run(struct invocation *v) {
    mldf_tokenize_options tokenize = MLDF_TOKENIZE_OPTIONS_INIT;
    int code = append(v, &tokenize);
    close_tokenizer(v, tokenize.tokenizer, code == EXIT_FINE);
    return code;
}

const struct command command_append = {
    "append",
    "FILE SRC...",
    "add samples to a file",
    "Adds the samples of the sources to FILE, in place, under its lock, one source after the other:\n"
    "\n"
    "  tables    CSV, TSV, JSON lines: columns by the fields' names\n"
    "  folders   of images, for the field image; class folders by their names in the card's \"classes\", for the field label\n"
    "  tar       a part for each field, by name: KEY.jpg for the field jpg; data-{000..009}.tar is ten archives\n"
    "  files     MLDF, TBL, .beton: the same fields; those that are nullable may be missing\n"
    "\n"
    "Fields, page size, compression, card and key are those of the file; names become keys if the file has keys. TBL version\n"
    "1 and .beton have none: --number-keys makes them of the source's name and the sample's number. Until the command has\n"
    "finished, the file is what it was; a failure or an interrupt leaves the old samples. Each append writes the\n"
    "tables again; repack reclaims the space of the old ones.\n"
    "\n"
    "--text with --tokenizer makes tokens of a column of tables, as pack did: a tokenizer, special ids or eos other than those that the\n"
    "file states are refused.\n"
    "\n"
    "With --json, one object: written (samples added), skipped and warnings (source, message), bytes (of the file),\n"
    "seconds.",
    options,
    "  mldf append train.mldf more.csv\n"
    "  mldf append all.mldf part-*.mldf\n"
    "  mldf append photos.mldf new-photos\n"
    "  mldf append c.mldf more.jsonl --text text --tokenizer 'exec:python3 -m mldf.tokenize tokenizer.json' --eos\n",
    2,
    -1,
    run,
};
