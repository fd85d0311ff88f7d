/* mldf diff: two files compared by content. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static const struct option_spec options[] = {
    {0, "max", "N", "list at most N differences (default 100)"},
    {0, "layout", NULL, "compare headers, pointers, descriptors and sections side by side, not the content"},
    {0, NULL, NULL, NULL},
};

struct listing {
    const struct invocation *invocation;
    uint64_t max, listed;
    bool truncated;
};

static void json_difference(const mldf_difference *d) {
    json_begin('{');
    json_key("sample");
    json_u64_or_null(d->sample);
    json_key("field");
    if (d->field && d->field[0])
        json_string(d->field);
    else
        json_null();
    json_key("what");
    json_string(d->what);
    json_key("message");
    json_string(d->message);
    json_end('}');
}

/* One more than is listed must be seen to know that there are more. */
static bool on_difference(void *user, const mldf_difference *d) {
    struct listing *listing = user;
    if (listing->listed >= listing->max) {
        listing->truncated = true;
        return false;
    }
    listing->listed++;
    progress_clear();
    if (listing->invocation->json) {
        json_difference(d);
        return true;
    }
    if (d->sample != MLDF_NONE)
        out_printf("sample %" PRIu64 ": ", d->sample);
    if (d->field && d->field[0])
        out_printf("%s: ", d->field);
    out_line("%s: %s", d->what, d->message);
    return true;
}

static void json_result(const struct listing *listing, bool equal, const mldf_error *failed) {
    json_end(']');
    json_warnings();
    json_key("equal");
    if (failed)
        json_null();
    else
        json_bool(equal);
    json_key("truncated");
    json_bool(listing->truncated);
    if (failed) {
        json_key("error");
        json_string(MLDF_ERROR_TEXT(failed));
    }
    json_end('}');
    json_line_end();
}

static mldf_status open_both(const struct invocation *v, mldf_reader *readers[2], const char **bad, mldf_error *err) {
    mldf_reader_options reading = MLDF_READER_OPTIONS_INIT;
    reading.context = v->context;
    reading.secret = v->secret;
    reading.verify = true;
    for (size_t i = 0; i < 2; i++) {
        *bad = v->files[i];
        mldf_status status = mldf_reader_open(v->files[i], &reading, &readers[i], err);
        if (status < 0)
            return status;
    }
    *bad = NULL;
    return MLDF_OK;
}

static int run(struct invocation *v) {
    mldf_diff_options diff = MLDF_DIFF_OPTIONS_INIT;
    struct listing listing = {v, 100, 0, false};
    mldf_reader *readers[2] = {NULL, NULL};
    const char *max = option_value(v, "max"), *bad = NULL;
    uint64_t differences = 0;
    mldf_error err;
    if (max && !parse_count(v, "--max", max, &listing.max))
        return EXIT_USAGE;
    if (check_no_stdin(v, 0, 2) != EXIT_FINE)
        return EXIT_USAGE;
    if (option_given(v, "layout"))
        return diff_layout(v);
    if (v->json) {
        json_begin('{');
        json_key("differences");
        json_begin('[');
    }
    diff.difference = on_difference;
    diff.difference_user = &listing;
    diff.progress = progress_hook;
    mldf_status status = open_both(v, readers, &bad, &err);
    if (status == MLDF_OK)
        status = mldf_diff(readers[0], readers[1], &diff, &differences, &err);
    if (v->json)
        json_result(&listing, differences == 0, status < 0 ? &err : NULL);
    else if (status == MLDF_OK && listing.truncated)
        note(v, "there are more differences than the %" PRIu64 " listed", listing.max);
    else if (status == MLDF_OK && differences == 0 && isatty(STDOUT_FILENO) && !v->quiet)
        out_text("equal\n"); /* a script has the exit status */
    mldf_reader_close(readers[0]);
    mldf_reader_close(readers[1]);
    if (status < 0)
        return report_error(v, bad, &err);
    return differences ? EXIT_DATA : EXIT_FINE;
}

const struct command command_diff = {
    "diff",
    "A B",
    "compare two files by content",
    "Compares names, types, values, nulls, sample keys and cards. The layout of the files, their compression and encryption,\n"
    "and the order of their fields do not count. JSON is compared by value; every NaN equals every other. Of arrays, the first\n"
    "element that differs is shown, of short ones all. When the files are equal, \"equal\" is printed on a terminal, and nothing\n"
    "to a file or pipe.\n"
    "\n"
    "--layout compares how the files are built instead: versions, flags, pages, pointers, descriptors, sections, side by side; lines\n"
    "that differ begin with !. With --json, layout (name, a, b).\n"
    "\n"
    "With --json, one object: equal (null when one of them cannot be read), differences (sample, field, what, message),\n"
    "warnings, truncated. Exit status 0 when they are equal, 1 when they differ or one cannot be read.",
    options,
    "  mldf diff old.mldf new.mldf\n"
    "  mldf diff --layout old.mldf new.mldf\n",
    2,
    2,
    run,
};
