/* tar_to_tbl: the historic converter's name, installed beside mldf: a tar archive into a TBL file, with rates and sizes. The work is mldf_convert's. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"

static const struct option_spec options[] = {
    {0, "v1", NULL, "write version 1: images alone, what else the archive holds is left out"},
    {0, "v2", NULL, "write version 2 (default)"},
    {0, "lz4", NULL, "version 2: compress the samples that get smaller"},
    {0, "no-compress", NULL, "do not compress (default)"},
    {0, "dataset-version", "N", "the dataset's version"},
    {0, "created", "SECONDS", "time of creation, seconds since 1970"},
    {'f', "force", NULL, NULL},
    {'f', NULL, NULL, "replace an existing OUT.tbl"},
    {'j', "workers", "N", "threads; by default the CPUs this process may use, 0: one thread"},
    {0, "threads", "N", "the same as --workers, which TurboLoader's tar_to_tbl calls so"},
    {0, NULL, NULL, NULL},
};

/* MLDF_NONE: a pipe, or a pattern. */
static uint64_t size_of(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : MLDF_NONE;
}

static void say_sizes(const struct invocation *v, const mldf_pack_result *result, double seconds) {
    char count[32], bytes[32], rate[32], speed[32];
    uint64_t before = size_of(v->files[0]);
    double took = seconds > 1e-6 ? seconds : 1e-6;
    format_count(count, result->written);
    if (before != MLDF_NONE) {
        format_bytes(bytes, before);
        out_line("Input:   %s (%s samples, %s)", v->files[0], count, bytes);
    } else {
        out_line("Input:   %s (%s samples)", v->files[0], count);
    }
    format_bytes(bytes, result->bytes);
    char than[48] = "";
    if (before != MLDF_NONE && before > 0) {
        double change = 100.0 * ((double)result->bytes - (double)before) / (double)before;
        snprintf(than, sizeof than, ", %.1f%% %s", change < 0 ? -change : change, change < 0 ? "smaller" : "larger");
    }
    out_line("Output:  %s (%s%s)", v->files[1], bytes, than);
    format_count(rate, (uint64_t)((double)result->written / took));
    format_bytes(speed, (uint64_t)((double)result->bytes / took));
    out_printf("Rate:    %s samples/s, %s/s\nSeconds: %.2f\n", rate, speed, seconds);
}

static int run(struct invocation *v) {
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_convert_options converting = MLDF_CONVERT_OPTIONS_INIT;
    mldf_pack_result result = MLDF_PACK_RESULT_INIT;
    mldf_error err;
    struct writer_extras extras;
    struct pack_report report;
    const char *version = option_value(v, "dataset-version"), *created = option_value(v, "created");
    if (option_given(v, "v1") && option_given(v, "v2"))
        return usage_error(v, "--v1 and --v2 cannot be given together");
    if (option_given(v, "lz4") && option_given(v, "no-compress"))
        return usage_error(v, "--lz4 and --no-compress cannot be given together");
    if (strcmp(v->files[1], "-") == 0)
        return usage_error(v, "a TBL file is not written to standard output: its index comes first");
    if ((version && !parse_count(v, "--dataset-version", version, &converting.dataset_version)) ||
        (created && !parse_count(v, "--created", created, &converting.created)))
        return EXIT_USAGE;
    converting.writer = &writing;
    int code = fill_writer_options(v, &writing, &extras);
    if (code != EXIT_FINE)
        return code;
    converting.format = option_given(v, "v1") ? "tbl1" : "tbl2";
    converting.drop_fields = true;
    converting.lz4 = option_given(v, "lz4");
    converting.skip = pack_report_skip;
    converting.skip_user = &report;
    pack_report_begin(&report, v);
    if (mldf_convert(v->files, 1, v->files[1], &converting, &result, &err) < 0) {
        pack_report_failed(&report);
        return report_error(v, v->files[0], &err);
    }
    progress_clear();
    if (v->json)
        pack_report_end(&report, &result, "written", v->files[1]);
    else if (!v->quiet)
        say_sizes(v, &result, seconds_since(report.started));
    return EXIT_FINE;
}

const struct command command_tar_to_tbl = {
    "tar_to_tbl",
    "IN.tar OUT.tbl",
    "a tar archive into a TBL file",
    "Writes the images of a tar archive into a TBL file, in the archive's order. Files are grouped into samples by their names up\n"
    "to the first dot; numbers, text and JSON beside an image (0001.jpg, 0001.cls, 0001.json) become its metadata. IN may be\n"
    "compressed with gzip, zstd, bzip2 or xz, a pattern such as data-{000..009}.tar, or - for standard input.\n"
    "\n"
    "Version 2 is written unless --v1 is given: TurboLoader reads version 1 up to 1.4 and version 2 from 1.5 on, so that today's\n"
    "cannot read version 1. `mldf convert` does the same from and to every format.\n"
    "\n"
    "With --json, one object: written, skipped, bytes, seconds.",
    options,
    "  tar_to_tbl train.tar train.tbl\n"
    "  tar_to_tbl train.tar train.tbl --workers 4 --lz4\n",
    2,
    2,
    run,
};
