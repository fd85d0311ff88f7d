/* mldf extract: the samples of a file as files in a folder. */
#include <string.h>

#include "cli.h"

static const struct option_spec options[] = {
    {'o', "output", "DIR", NULL},
    {'o', NULL, "DIR", "the folder to make or to fill; refused when it is not empty, unless -f is given"},
    {'f', "force", NULL, NULL},
    {'f', NULL, NULL, "fill a folder that is not empty, replacing files of the same names"},
    {0, "fields", "A,B,...", "these fields only"},
    {0, NULL, NULL, NULL},
};

static int run(struct invocation *v) {
    mldf_extract_options extracting = MLDF_EXTRACT_OPTIONS_INIT;
    struct pack_report report;
    struct choice choice;
    mldf_pack_result result = MLDF_PACK_RESULT_INIT;
    mldf_reader *reader = NULL;
    mldf_error err;
    const char *out = option_value(v, "o"), *fields = option_value(v, "fields");
    memset(&choice, 0, sizeof choice);
    int code = out ? EXIT_FINE : usage_error(v, "-o DIR is missing");
    if (code == EXIT_FINE && strcmp(out, "-") == 0)
        code = usage_error(v, "-o -: extract fills a folder; cat writes to standard output");
    if (code == EXIT_FINE && fields)
        code = choose_words(v, "--fields", fields, &choice);
    if (code == EXIT_FINE)
        code = open_reader_in_order(v, v->files[0], true, &reader);
    if (code == EXIT_FINE) {
        extracting.overwrite = option_given(v, "force");
        extracting.fields = (const char *const *)choice.fields;
        extracting.field_count = choice.field_count;
        extracting.progress = progress_hook;
        pack_report_begin(&report, v);
        if (mldf_extract(reader, out, &extracting, &result, &err) < 0)
            code = report_error(v, v->files[0], &err);
        else
            pack_report_end(&report, &result, "extracted", out);
    }
    mldf_reader_close(reader);
    free_choice(&choice);
    return code;
}

const struct command command_extract = {
    "extract",
    "FILE -o DIR",
    "samples as files in a folder",
    "Writes each payload to a separate file, named by the sample's key or its number: .txt for text, .json for JSON, .npy\n"
    "for arrays, .bin for bytes, .wav for recordings. Images are named for what they are (.jpg, .png, .webp, .bmp, .tif), once if\n"
    "the key says it already; raw pixels become PNG. Where two fields have the same ending, the names are KEY.FIELD.EXT. A slash in a key makes\n"
    "folders; a dot at the beginning of a name and what else could mislead is written as %XX. manifest.jsonl has one line for\n"
    "each sample: its key, its numbers and structs, and the names of its files. The folder appears whole or not at all.\n"
    "\n"
    "With --json, one object: written, skipped, warnings, bytes (of the files), seconds.",
    options,
    "  mldf extract train.mldf -o train/\n",
    1,
    1,
    run,
};
