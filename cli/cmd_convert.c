/* mldf convert: samples of files of any format into one new file of any format. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static const struct option_spec options[] = {
    {'o', "output", "OUT", NULL},
    {'o', NULL, "OUT",
     "the file to write, or - for standard output (mldf, tar); refused when it exists, unless -f is given"},
    {'f', "force", NULL, NULL},
    {'f', NULL, NULL, "replace an existing OUT"},
    {0, "to", "FORMAT",
     "mldf, tbl (tbl2), tbl1, tbl2, beton, tar, tar.gz, tar.zst, megatron, nanogpt or datatrove (default: by OUT's ending)"},
    {0, "from", "FORMAT",
     "files of token ids without a magic: nanogpt, olmo or datatrove (default: found by IN's bytes)"},
    {0, "dtype", "TYPE", "olmo, datatrove: of the ids: u8, u16, u32, u64; nanogpt: u16 unless given"},
    {0, "eos", "ID", "token files: the id that ends documents"},
    {0, "eos-at", "start|end", "token files: where the eos of a document is (default: end; llm.c: start)"},
    {0, "vocabulary", "N", "token files: the number of ids"},
    {0, "fields", "a,b", "these fields alone, in this order"},
    {0, "drop-fields", NULL, "leave out fields that the format has no place for, and samples without an image in tbl"},
    {0, "on-error", "stop|skip",
     "a sample that cannot be read or written: stop (default), or leave it out and list it"},
    {0, "lz4", NULL, "tbl2: compress the samples that get smaller"},
    {0, "dataset-version", "N", "TBL: the dataset's version (default: as in IN, else 0)"},
    {0, "created", "SECONDS", "TBL: time of creation, seconds since 1970 (default: as in IN, else 0)"},
    {0, "compress", "FIELD[=LEVEL]", "mldf: compress this field with zstd, level 1 to 22 (default 3); may be repeated"},
    {0, "dictionary", NULL, "mldf: train one zstd dictionary for the compressed fields"},
    {0, "encode", "HOW",
     "mldf: fast-jpeg: JPEGs as fast JPEGs, without loss; jpeg-original: fast JPEGs as the JPEGs they were made of"},
    {0, "fast-limit", "X",
     "--encode fast-jpeg: keep the JPEG where the result has more than X times its size (default 1.03)"},
    {0, "encrypt", "KEYFILE",
     "mldf: encrypt OUT with this key; --key opens IN; payloads are hidden, but keys,\n"
     "                           labels, names of fields and card stay readable (mldf keygen makes a key file)"},
    {0, "encrypt-all", NULL,
     "mldf: encrypt names of fields, labels, keys and card too; opening then reads all tables, and needs the key"},
    {0, "decrypt", NULL, "mldf: do not encrypt OUT (default: with the secret that opened an encrypted IN)"},
    {0, "card", "FILE", "mldf, tar: another card: a JSON object that describes the dataset"},
    {0, "page-size", "N", "mldf, beton: a power of two; K, M and G may follow (default: automatic)"},
    {0, "no-checksums", NULL, "mldf: leave the checksums out"},
    {'j', "workers", "N", "threads; by default the CPUs this process may use, 0: one thread"},
    {0, NULL, NULL, NULL},
};

static int check_convert_output(const struct invocation *v, const char *out, const char *to) {
    if (!out)
        return usage_error(v, "-o OUT is missing");
    if (strcmp(out, "-") != 0)
        return EXIT_FINE;
    if (!to)
        return usage_error(v, "-o -: --to mldf or --to tar says what to write");
    if (v->json)
        return usage_error(v, "--json and -o - would both write to standard output");
    if (isatty(STDOUT_FILENO))
        return usage_error(v, "standard output is a terminal: binary data is not written to it");
    signals_end_at_once();
    return EXIT_FINE;
}

static int check_format(const struct invocation *v, const char *to) {
    static const char *const formats[] = {"mldf",   "tbl",     "tbl1",     "tbl2",    "beton",    "tar",
                                          "tar.gz", "tar.zst", "megatron", "nanogpt", "datatrove"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (!to || strcmp(to, formats[i]) == 0)
            return EXIT_FINE;
    return usage_error(
        v, "--to: '%s' is none of mldf, tbl, tbl1, tbl2, beton, tar, tar.gz, tar.zst, megatron, nanogpt and datatrove",
        to);
}

/* "a,b" as a list; the text and the list are the caller's to free. */
static int split_fields(const struct invocation *v, const char *list, char **text, const char ***names, size_t *count) {
    size_t room = 2;
    for (const char *p = list; *p; p++)
        room += *p == ',';
    *text = strdup(list);
    *names = calloc(room, sizeof **names);
    if (!*text || !*names)
        return no_memory(v);
    for (char *p = *text; p;) {
        char *comma = strchr(p, ',');
        if (comma)
            *comma = 0;
        if (!*p)
            return usage_error(v, "--fields: '%s' has an empty name", list);
        (*names)[(*count)++] = p;
        p = comma ? comma + 1 : NULL;
    }
    return EXIT_FINE;
}

/* What files of token ids do not say themselves. *out stays as it is when nothing was given. */
static int get_token_file(const struct invocation *v, mldf_token_file *tokens, const mldf_token_file **out) {
    const char *eos = option_value(v, "eos"), *at = option_value(v, "eos-at"),
               *vocabulary = option_value(v, "vocabulary");
    uint64_t id = 0;
    tokens->format = option_value(v, "from");
    tokens->dtype = option_value(v, "dtype");
    if (!tokens->format && !tokens->dtype && !eos && !at && !vocabulary)
        return EXIT_FINE;
    if (at && strcmp(at, "start") != 0 && strcmp(at, "end") != 0)
        return usage_error(v, "--eos-at: '%s' is neither start nor end", at);
    if ((eos && !parse_count(v, "--eos", eos, &id)) ||
        (vocabulary && !parse_count(v, "--vocabulary", vocabulary, &tokens->vocabulary)))
        return EXIT_USAGE;
    if (id > INT32_MAX)
        return usage_error(v, "--eos: %s is not an id", eos);
    tokens->eos = eos ? (int64_t)id : -1;
    tokens->eos_at_given = at != NULL;
    tokens->eos_at_start = at && strcmp(at, "start") == 0;
    *out = tokens;
    return EXIT_FINE;
}

static int convert(const struct invocation *v, const char *out, mldf_convert_options *converting) {
    struct pack_report report;
    mldf_pack_result result = MLDF_PACK_RESULT_INIT;
    mldf_error err;
    pack_report_begin(&report, v);
    converting->skip = pack_report_skip;
    converting->skip_user = &report;
    if (mldf_convert(v->files, v->file_count, out, converting, &result, &err) < 0) {
        pack_report_failed(&report);
        return report_error(v, v->file_count == 1 && strcmp(v->files[0], "-") != 0 ? v->files[0] : NULL, &err);
    }
    pack_report_end(&report, &result, "written", strcmp(out, "-") == 0 ? "(standard output)" : out);
    return EXIT_FINE;
}

static int run(struct invocation *v) {
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_convert_options converting = MLDF_CONVERT_OPTIONS_INIT;
    struct writer_extras extras;
    const char *out = option_value(v, "o"), *to = option_value(v, "to"), *list = option_value(v, "fields");
    const char *version = option_value(v, "dataset-version"), *created = option_value(v, "created");
    const char **names = NULL, **compress = NULL;
    char *text = NULL;
    mldf_token_file tokens = MLDF_TOKEN_FILE_INIT;
    memset(&extras, 0, sizeof extras);
    int code = check_convert_output(v, out, to);
    if (code == EXIT_FINE)
        code = check_out_is_no_option(v, out);
    if (code == EXIT_FINE)
        code = check_format(v, to);
    if (code == EXIT_FINE)
        code = get_token_file(v, &tokens, &converting.token_file);
    if (code == EXIT_FINE && !parse_on_error(v, &converting.skip_bad_samples))
        code = EXIT_USAGE;
    if (code == EXIT_FINE && ((version && !parse_count(v, "--dataset-version", version, &converting.dataset_version)) ||
                              (created && !parse_count(v, "--created", created, &converting.created))))
        code = EXIT_USAGE;
    if (code == EXIT_FINE)
        code = recode_options(v, &converting.encode, &converting.fast_limit);
    if (code == EXIT_FINE && option_given(v, "encrypt") && option_given(v, "decrypt"))
        code = usage_error(v, "--encrypt and --decrypt cannot be given together");
    converting.writer = &writing;
    if (code == EXIT_FINE)
        code = fill_writer_options(v, &writing, &extras);
    if (code == EXIT_FINE && list)
        code = split_fields(v, list, &text, &names, &converting.field_count);
    if (code == EXIT_FINE)
        code = collect(v, "compress", &compress, &converting.compress_count);
    if (code == EXIT_FINE) {
        converting.compress_fields = compress;
        converting.source_secret = v->secret;
        converting.format = to;
        converting.fields = names;
        converting.drop_fields = option_given(v, "drop-fields");
        converting.lz4 = option_given(v, "lz4");
        converting.keep_secret = !option_given(v, "decrypt");
        code = convert(v, out, &converting);
    }
    free(text);
    free(names);
    free(compress);
    free_writer_extras(&extras);
    return code;
}

const struct command command_convert = {
    "convert",
    "IN... -o OUT",
    "from and to MLDF, TBL, .beton and tar",
    "Writes the samples of the files IN, one file after the other, into one new file. Each IN may be MLDF, TBL version 1 or 2,\n"
    ".beton or tar (plain, gzip, zstd, bzip2 or xz), recognised by its bytes; a pattern such as data-{000..009}.tar; or - for standard input.\n"
    "All must have the same fields; tar archives may lack some.\n"
    "\n"
    "  mldf   fields, keys and card as they are\n"
    "  tbl    one image for each sample: the field image, or the only one there is; the field format, else the image's own;\n"
    "         the field metadata, a single JSON field, or numbers, text and JSON together as {\"label\":7,...} (version 2)\n"
    "  beton  integers, floats, images (JPEG and raw RGB stay, others are decoded), bytes, text as bytes, JSON, arrays of one\n"
    "         shape; no nulls, no keys\n"
    "  tar    a member KEY.FIELD for each value; without keys, the sample's number. tar.gz and tar.zst: the same, compressed\n"
    "\n"
    "  megatron  X.idx and X.bin: a document for each row of the token field\n"
    "  nanogpt   bare u16 ids, eos after each document\n"
    "  datatrove X.ds, X.ds.index and X.ds.metadata; a side column loss_mask goes to X.ds.loss\n"
    "\n"
    "Files of token ids come in the same way: Megatron (X.idx) and llm.c by their bytes, nanoGPT, OLMo and datatrove with --from.\n"
    "\n"
    "What does not fit is an error that names the field or the sample.\n"
    "\n"
    "With --json, one object: written, skipped and warnings (source, message), bytes, seconds.",
    options,
    "  mldf convert train.tbl -o train.mldf\n"
    "  mldf convert 'shards/data-{000..009}.tar' -o train.beton --fields jpg,cls\n"
    "  mldf convert corpus_text_document.idx -o corpus.mldf --vocabulary 50257\n"
    "  mldf convert train.bin --from nanogpt --eos 50256 -o train.mldf\n"
    "  curl -s https://example.org/data.tar | mldf convert - -o data.tbl --lz4\n",
    1,
    -1,
    run,
};
