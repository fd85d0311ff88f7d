/* mldf append: samples from tables or from other MLDF files into an existing file. */
#include <string.h>

#include "cli.h"

static const struct option_spec options[] = {
    {0, "format", "FORMAT", "csv, tsv or jsonl (default: by the name's ending, else by the first bytes)"},
    {0, "key-column", "NAME", "the column that holds the sample keys"},
    {0, "on-error", "stop|skip", "a row that does not fit: stop (default), or leave it out and list it"},
    {'j', "workers", "N", "threads; by default the CPUs this process may use, 0: one thread"},
    {0, NULL, NULL, NULL},
};

static int run(struct invocation *v) {
    mldf_pack_options packing = MLDF_PACK_OPTIONS_INIT;
    struct pack_report report;
    mldf_pack_result result;
    mldf_error err;
    const char *path = v->files[0];
    if (!parse_on_error(v, &packing.skip_bad_rows) || !parse_format(v, &packing.format) ||
        !parse_threads(v, &packing.writer.threads))
        return EXIT_USAGE;
    pack_report_begin(&report, v);
    packing.writer.context = v->context;
    packing.writer.secret = v->secret;
    packing.writer.progress = progress_hook;
    packing.key_column = option_value(v, "key-column");
    packing.skip = pack_report_skip;
    packing.skip_user = &report;
    if (mldf_append(path, v->files + 1, v->file_count - 1, &packing, &result, &err) < 0) {
        pack_report_failed(&report);
        /* A message about a source names it; any other is about the file. */
        for (size_t i = 1; i < v->file_count; i++)
            if (strstr(err.message, v->files[i]))
                return report_error(v, NULL, &err);
        return report_error(v, strcmp(v->files[1], "-") == 0 && strstr(err.message, "(standard input)") ? NULL : path,
                            &err);
    }
    pack_report_end(&report, &result, "added", path);
    return EXIT_FINE;
}

const struct command command_append = {
    "append",
    "FILE SRC...",
    "add samples to a file",
    "Adds the rows of the sources (CSV, TSV, JSON lines, or MLDF files with the same fields) to FILE, in place, under its\n"
    "lock. Fields, page size, compression, card and key are those of the file. Until the command has finished, the file is\n"
    "what it was; a failure or an interrupt leaves the old samples. Each append writes the tables anew; repack reclaims the\n"
    "space of the old ones.\n"
    "\n"
    "With --json, one object: written (samples added), skipped (source, message), bytes (of the file), seconds.",
    options,
    "  mldf append train.mldf more.csv\n"
    "  mldf append all.mldf part-*.mldf\n",
    2,
    -1,
    run,
};
