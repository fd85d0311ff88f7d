/* mldf merge: several files with the same fields into one. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const struct option_spec options[] = {
    {'o', "output", "OUT", NULL},
    {'o', NULL, "OUT", "the file to write, or - for standard output; refused when it exists, unless -f is given"},
    {'f', "force", NULL, NULL},
    {'f', NULL, NULL, "replace an existing OUT"},
    {0, "card", "FILE", "the card: a JSON object that describes the dataset (default: the first file's)"},
    {0, "compress", "FIELD[=LEVEL]", "compress this field with zstd, level 1 to 22 (default 3); may be repeated"},
    {0, "dictionary", NULL, "train one zstd dictionary for the compressed fields"},
    {0, "encrypt", "KEYFILE",
     "encrypt the result with this key; --key opens the inputs; payloads are hidden, but keys,\n"
     "                           labels, names of fields and card stay readable (mldf keygen makes a key file)"},
    {0, "encrypt-all", NULL,
     "encrypt names of fields, labels, keys and card too; opening then reads all tables, and needs the key"},
    {0, "decrypt", NULL, "do not encrypt the result (default: with the secret that opened an encrypted input)"},
    {0, "page-size", "N", "a power of two from 4096 to 2G; K, M and G may follow (default: automatic)"},
    {0, "no-checksums", NULL, "leave the checksums out"},
    {'j', "workers", "N", "threads; by default the CPUs this process may use, 0: one thread"},
    {0, NULL, NULL, NULL},
};

static int run(struct invocation *v) {
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_merge_options merging = MLDF_MERGE_OPTIONS_INIT;
    struct writer_extras extras;
    struct pack_report report;
    mldf_pack_result result = MLDF_PACK_RESULT_INIT;
    mldf_error err;
    const char *out = option_value(v, "o"), **compress = NULL;
    memset(&extras, 0, sizeof extras);
    int code = check_output(v, out);
    if (code == EXIT_FINE)
        code = check_no_stdin(v, 0, v->file_count);
    if (code == EXIT_FINE)
        code = check_out_is_no_option(v, out);
    merging.writer = &writing;
    if (code == EXIT_FINE)
        code = fill_writer_options(v, &writing, &extras);
    if (code == EXIT_FINE)
        code = choose_secret(v, v->files, v->file_count, &writing);
    if (code == EXIT_FINE)
        code = collect(v, "compress", &compress, &merging.compress_count);
    if (code == EXIT_FINE) {
        merging.compress_fields = compress;
        merging.source_secret = v->secret;
        pack_report_begin(&report, v);
        if (mldf_merge(v->files, v->file_count, out, &merging, &result, &err) < 0)
            code = report_error(v, NULL, &err);
        else
            pack_report_end(&report, &result, "written", strcmp(out, "-") == 0 ? "(standard output)" : out);
    }
    free(compress);
    free_writer_extras(&extras);
    return code;
}

const struct command command_merge = {
    "merge",
    "IN... -o OUT",
    "several files with the same fields into one",
    "Writes the samples of all files, one file after the other, into one new file; payloads are copied, not decoded. The\n"
    "files have the same fields: equal names and types, in any order. A field is nullable when it is in any of them. Sample\n"
    "keys go along; a key that is there twice is an error that names both files. Compressed are the fields that the first\n"
    "file compresses, and those named by --compress.\n"
    "\n"
    "With --json, one object: written, skipped, warnings, bytes, seconds.",
    options,
    "  mldf merge part-*.mldf -o all.mldf\n",
    1,
    -1,
    run,
};
