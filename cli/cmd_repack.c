/* mldf repack: a file written anew, with another layout, compression or key. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const struct option_spec options[] = {
    {'o', "output", "OUT", NULL},
    {'o', NULL, "OUT", "write to OUT (default: FILE is replaced, atomically)"},
    {'f', "force", NULL, NULL},
    {'f', NULL, NULL, "replace an existing OUT"},
    {0, "compress", "FIELD[=LEVEL]", "compress this field with zstd, level 1 to 22 (default 3); may be repeated"},
    {0, "decompress", NULL, "store every field raw, but for those named by --compress"},
    {0, "dictionary", NULL, "train one zstd dictionary for the compressed fields"},
    {0, "encode", "HOW",
     "fast-jpeg: JPEGs as fast JPEGs, without loss; jpeg-original: fast JPEGs as the JPEGs they were made of"},
    {0, "fast-limit", "X",
     "--encode fast-jpeg: keep the JPEG where the result has more than X times its size (default 1.03)"},
    {0, "encrypt", "KEYFILE",
     "encrypt the result with this key; --key opens FILE; payloads are hidden, but keys,\n"
     "                           labels, names of fields and card stay readable (mldf keygen makes a key file)"},
    {0, "encrypt-all", NULL,
     "encrypt names of fields, labels, keys and card too; opening then reads all tables, and needs the key"},
    {0, "decrypt", NULL, "do not encrypt the result (default: with the secret that opened FILE)"},
    {0, "card", "FILE", "another card: a JSON object that describes the dataset"},
    {0, "page-size", "N", "another page size: a power of two from 4096 to 2G; K, M and G may follow"},
    {0, "no-checksums", NULL, "leave the checksums out"},
    {'j', "workers", "N", "threads; by default the CPUs this process may use, 0: one thread"},
    {0, NULL, NULL, NULL},
};

static int run(struct invocation *v) {
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_repack_options repacking = MLDF_REPACK_OPTIONS_INIT;
    struct writer_extras extras;
    struct pack_report report;
    mldf_pack_result result = MLDF_PACK_RESULT_INIT;
    mldf_error err;
    const char *path = v->files[0], *out = option_value(v, "o"), **compress = NULL;
    if (out && strcmp(out, "-") == 0)
        return usage_error(v, "-o -: repack writes a file, not a stream");
    pack_report_begin(&report, v);
    memset(&extras, 0, sizeof extras);
    int code = check_no_stdin(v, 0, 1);
    if (code == EXIT_FINE)
        code = check_out_is_no_option(v, out);
    repacking.writer = &writing;
    if (code == EXIT_FINE)
        code = fill_writer_options(v, &writing, &extras);
    if (code == EXIT_FINE)
        code = choose_secret(v, &path, 1, &writing);
    repacking.source_secret = v->secret;
    if (code == EXIT_FINE)
        code = recode_options(v, &repacking.encode, &repacking.fast_limit);
    if (code == EXIT_FINE)
        code = collect(v, "compress", &compress, &repacking.compress_count);
    if (code == EXIT_FINE) {
        repacking.compress_fields = compress;
        repacking.decompress = option_given(v, "decompress");
        if (mldf_repack(path, out, &repacking, &result, &err) < 0)
            code = report_error(v, path, &err);
        else
            pack_report_end(&report, &result, "written", out ? out : path);
    }
    free(compress);
    free_writer_extras(&extras);
    return code;
}

const struct command command_repack = {
    "repack",
    "FILE [-o OUT]",
    "write a file again, without unused space",
    "Writes the samples again, in order, without the space that appending left unused. Keys, card, nulls, compression, page\n"
    "size and encryption stay as they are unless an option changes them; checksums are added where they were missing.\n"
    "Private sections, and others that this version does not know, are left out, with a warning for each.\n"
    "\n"
    "With --json, one object: written, skipped, warnings, bytes, seconds.",
    options,
    "  mldf repack train.mldf\n"
    "  mldf repack train.mldf -o small.mldf --compress text=19 --dictionary\n"
    "  mldf repack photos.mldf --encode fast-jpeg\n",
    1,
    1,
    run,
};
