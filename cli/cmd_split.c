/* mldf split: every sample of a file into exactly one of several new files. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const struct option_spec options[] = {
    {'o', "output", "PATTERN", NULL},
    {'o', NULL, "PATTERN", "the files to write; {}, {:03d} or %03d is replaced by the part's number, from 0"},
    {'f', "force", NULL, NULL},
    {'f', NULL, NULL, "replace existing files"},
    {0, "count", "N", "N samples in each part; the last may have fewer"},
    {0, "bytes", "SIZE", "files of at most SIZE bytes; K, M and G may follow"},
    {0, "fractions", "A,B,...", "parts of these sizes; they add up to 1"},
    {0, "names", "A,B,...", "with --fractions: names in place of numbers, for {}"},
    {0, "by", "FIELD", "each part has the values of FIELD in the proportion of the whole file"},
    {0, "shuffle", NULL, "which sample goes where is random; inside a part the order stays"},
    {0, "seed", "S", "of the shuffle (default 0)"},
    {0, "card", "FILE", "another card: a JSON object that describes the dataset"},
    {0, "compress", "FIELD[=LEVEL]", "compress this field with zstd, level 1 to 22 (default 3); may be repeated"},
    {0, "dictionary", NULL, "train one zstd dictionary for the compressed fields of each part"},
    {0, "encrypt", "KEYFILE",
     "encrypt the parts with this key; --key opens FILE; payloads are hidden, but keys,\n"
     "                           labels, names of fields and card stay readable (mldf keygen makes a key file)"},
    {0, "encrypt-all", NULL,
     "encrypt names of fields, labels, keys and card too; opening then reads all tables, and needs the key"},
    {0, "decrypt", NULL, "do not encrypt the parts (default: with the secret that opened FILE)"},
    {0, "page-size", "N", "a power of two from 4096 to 2G; K, M and G may follow (default: automatic)"},
    {0, "no-checksums", NULL, "leave the checksums out"},
    {'j', "workers", "N", "threads; by default the CPUs this process may use, 0: one thread"},
    {0, NULL, NULL, NULL},
};

/* Parts are told of when all are in place, so they can be printed at once; the report closes the document. */
struct parts {
    const struct invocation *invocation;
    size_t count;
};

static void on_part(void *user, const mldf_part *part) {
    struct parts *parts = user;
    if (parts->invocation->json) {
        if (parts->count == 0) {
            json_begin('{');
            json_key("parts");
            json_begin('[');
        }
        json_begin('{');
        json_key("path");
        json_string(part->path);
        json_key("written");
        json_u64(part->samples);
        json_key("bytes");
        json_u64(part->bytes);
        json_end('}');
    } else {
        char count[32], bytes[32];
        format_count(count, part->samples);
        format_bytes(bytes, part->bytes);
        note(parts->invocation, "%s: %s sample%s, %s", part->path, count, part->samples == 1 ? "" : "s", bytes);
    }
    parts->count++;
}

static void report(const struct invocation *v, const mldf_pack_result *result, double started) {
    if (!v->json)
        return;
    json_end(']');
    json_key("skipped");
    json_begin('[');
    json_end(']');
    json_warnings();
    json_key("written");
    json_u64(result->written);
    json_key("bytes");
    json_u64(result->bytes);
    json_key("seconds");
    json_double(seconds_since(started));
    json_end('}');
    json_line_end();
}

static int parse_fractions(const struct invocation *v, const char *text, mldf_split_options *splitting,
                           double **values) {
    size_t room = 1;
    for (const char *p = text; *p; p++)
        room += *p == ',';
    *values = calloc(room, sizeof **values);
    for (const char *p = text; *values;) {
        char *end;
        double value = strtod(p, &end);
        if (end == p || (*end && *end != ',') || !(value > 0 && value <= 1))
            return usage_error(v, "--fractions: '%s' is not a list of fractions", text);
        (*values)[splitting->fraction_count++] = value;
        if (!*end) {
            splitting->fractions = *values;
            return EXIT_FINE;
        }
        p = end + 1;
    }
    return no_memory(v);
}

static int parse_ways(struct invocation *v, mldf_split_options *splitting, double **fractions, struct choice *names) {
    const char *count = option_value(v, "count"), *bytes = option_value(v, "bytes"),
               *list = option_value(v, "fractions"), *words = option_value(v, "names"), *seed = option_value(v, "seed");
    int code = EXIT_FINE;
    if ((count != NULL) + (bytes != NULL) + (list != NULL) != 1)
        return usage_error(v, "exactly one of --count, --bytes and --fractions is needed");
    if (count && !parse_count(v, "--count", count, &splitting->count))
        return EXIT_USAGE;
    if (bytes && !parse_bytes(v, "--bytes", bytes, &splitting->bytes))
        return EXIT_USAGE;
    if ((count && !splitting->count) || (bytes && !splitting->bytes))
        return usage_error(v, "%s: a part of nothing makes no sense", count ? "--count" : "--bytes");
    if (list)
        code = parse_fractions(v, list, splitting, fractions);
    if (code == EXIT_FINE && words && !list)
        return usage_error(v, "--names goes with --fractions only");
    if (code == EXIT_FINE && words)
        code = choose_words(v, "--names", words, names);
    if (code == EXIT_FINE && words && names->field_count != splitting->fraction_count)
        return usage_error(v, "--names has %zu names for %zu fractions", names->field_count, splitting->fraction_count);
    if (words)
        splitting->names = (const char *const *)names->fields;
    splitting->by = option_value(v, "by");
    splitting->shuffle = option_given(v, "shuffle");
    if (code == EXIT_FINE && bytes && (splitting->by || splitting->shuffle))
        return usage_error(v, "--bytes makes parts of consecutive samples: it goes with neither --by nor --shuffle");
    if (code == EXIT_FINE && seed && !parse_seed(v, "--seed", seed, &splitting->seed))
        return EXIT_USAGE;
    return code;
}

static int write_out(struct invocation *v, const mldf_reader *reader, const char *out, mldf_split_options *splitting) {
    struct parts parts = {v, 0};
    mldf_pack_result result = MLDF_PACK_RESULT_INIT;
    mldf_error err;
    double started = seconds_now();
    const char **compress;
    int code = collect(v, "compress", &compress, &splitting->compress_count);
    if (code != EXIT_FINE)
        return code;
    splitting->compress_fields = compress;
    splitting->part = on_part;
    splitting->part_user = &parts;
    if (mldf_split(reader, out, splitting, &result, &err) < 0)
        code = report_error(v, err.status == MLDF_E_EXISTS || err.status == MLDF_E_ARGUMENT ? NULL : v->files[0], &err);
    else
        report(v, &result, started);
    free(compress);
    return code;
}

static int run(struct invocation *v) {
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_split_options splitting = MLDF_SPLIT_OPTIONS_INIT;
    struct writer_extras extras;
    struct choice names;
    double *fractions = NULL;
    mldf_reader *reader = NULL;
    const char *out = option_value(v, "o");
    memset(&extras, 0, sizeof extras);
    memset(&names, 0, sizeof names);
    int code = out ? EXIT_FINE : usage_error(v, "-o PATTERN is missing");
    if (code == EXIT_FINE)
        code = parse_ways(v, &splitting, &fractions, &names);
    splitting.writer = &writing;
    if (code == EXIT_FINE)
        code = fill_writer_options(v, &writing, &extras);
    if (code == EXIT_FINE)
        code = open_reader(v, v->files[0], true, &reader);
    if (code == EXIT_FINE)
        code = choose_secret(v, v->files, 1, &writing);
    if (code == EXIT_FINE)
        code = write_out(v, reader, out, &splitting);
    mldf_reader_close(reader);
    free_choice(&names);
    free(fractions);
    free_writer_extras(&extras);
    return code;
}

const struct command command_split = {
    "split",
    "FILE -o PATTERN",
    "one file into several parts",
    "Writes every sample into exactly one of several new files; payloads are copied, not decoded. The order inside a part is\n"
    "the file's. --count makes parts of N samples, --bytes files of at most SIZE bytes each, --fractions\n"
    "parts of these shares. Parts are consecutive samples, unless --by keeps the proportions of a field's values in each\n"
    "part, or --shuffle deals the samples out at random, the same way for the same seed. Either all parts appear or none.\n"
    "\n"
    "With --json, one object: parts (path, written, bytes), written, skipped, warnings, bytes, seconds.",
    options,
    "  mldf split big.mldf -o part-{:03d}.mldf --count 10000\n"
    "  mldf split all.mldf -o {}.mldf --fractions 0.8,0.1,0.1 --names train,val,test --by label --shuffle --seed 1\n",
    1,
    1,
    run,
};
