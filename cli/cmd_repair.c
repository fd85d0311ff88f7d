/* mldf repair: what can be saved of a damaged file. */
#include <inttypes.h>
#include <string.h>

#include "cli.h"

static const struct option_spec options[] = {
    {'o', "output", "OUT", NULL},
    {'o', NULL, "OUT", "write every sample that is whole to OUT (default: repair FILE in place)"},
    {'f', "force", NULL, NULL},
    {'f', NULL, NULL, "replace an existing OUT"},
    {'j', "workers", "N", "threads; by default the CPUs this process may use, 0: one thread"},
    {0, NULL, NULL, NULL},
};

struct listing {
    const struct invocation *invocation;
    const char *path;
    bool in_place;
};

static void on_lost(void *user, const mldf_error *why) {
    struct listing *listing = user;
    progress_clear();
    if (!listing->invocation->json) {
        out_line("%s: %s: %s", listing->path, listing->in_place ? "left" : "lost", ERROR_INSIDE(why));
        return;
    }
    json_begin('{');
    json_key("source");
    json_string(listing->path);
    json_key("sample");
    json_u64_or_null(why->sample);
    json_key("message");
    json_string(MLDF_ERROR_TEXT(why));
    json_end('}');
}

static void json_losses(const mldf_repair_lost *lost) {
    const struct {
        const char *name;
        uint64_t count;
    } counts[] = {
        {"samples", lost->samples}, {"keys", lost->keys}, {"values", lost->values}, {"sections", lost->sections}};
    const struct {
        const char *name;
        bool is_lost;
    } things[] = {{"directory", lost->directory},
                  {"card", lost->card},
                  {"dictionary", lost->dictionary},
                  {"history", lost->history}};
    json_begin('{');
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        json_key(counts[i].name);
        json_u64(counts[i].count);
    }
    for (size_t i = 0; i < sizeof things / sizeof things[0]; i++) {
        json_key(things[i].name);
        json_bool(things[i].is_lost);
    }
    json_end('}');
}

static void json_result(const mldf_repair_result *result, const mldf_error *failed, double seconds) {
    json_end(']');
    json_warnings();
    json_key("written");
    json_u64_or_null(failed ? MLDF_NONE : result->samples_saved);
    json_key("lost");
    json_u64_or_null(failed ? MLDF_NONE : result->samples_lost);
    json_key("losses");
    if (failed)
        json_null();
    else
        json_losses(&result->lost);
    json_key("problems");
    json_u64_or_null(failed ? MLDF_NONE : result->problems);
    json_key("bytes");
    json_u64_or_null(failed ? MLDF_NONE : result->bytes);
    json_key("seconds");
    json_double(seconds);
    json_key("changed");
    json_bool(!failed && result->changed);
    json_key("unchecked");
    json_bool(!failed && result->unchecked);
    json_key("action");
    if (failed)
        json_null();
    else
        json_string(result->action);
    json_end('}');
    json_line_end();
}

static int run(struct invocation *v) {
    mldf_repair_options repairing = MLDF_REPAIR_OPTIONS_INIT;
    mldf_repair_result result = MLDF_REPAIR_RESULT_INIT;
    mldf_error err;
    const char *path = v->files[0], *out = option_value(v, "o");
    struct listing listing = {v, path, out == NULL};
    double started = seconds_now();
    if (out && strcmp(out, "-") == 0)
        return usage_error(v, "-o -: repair writes a file, not a stream");
    if (check_no_stdin(v, 0, 1) != EXIT_FINE ||
        report_foreign(v, path, NULL, "repair works on MLDF files; convert --on-error=skip saves what is whole") !=
            EXIT_FINE)
        return EXIT_USAGE;
    if (check_out_is_no_option(v, out) != EXIT_FINE)
        return EXIT_USAGE;
    if (!parse_threads(v, &repairing.threads))
        return EXIT_USAGE;
    repairing.context = v->context;
    repairing.overwrite = option_given(v, "force");
    repairing.secret = v->secret;
    repairing.lost = on_lost;
    repairing.lost_user = &listing;
    repairing.progress = progress_hook;
    if (v->json) {
        json_begin('{');
        json_key("skipped");
        json_begin('[');
    }
    mldf_status status = mldf_repair(path, out, &repairing, &result, &err);
    if (v->json)
        json_result(&result, status < 0 ? &err : NULL, seconds_since(started));
    if (status < 0)
        return report_error(v, path, &err);
    if (!v->json && out) {
        char saved[32];
        format_count(saved, result.samples_saved);
        out_line("%s: %s sample%s saved: %s", out, saved, result.samples_saved == 1 ? "" : "s", result.action);
    } else if (!v->json) {
        out_line("%s: %s", path, result.action);
    }
    return result.lost.any || result.unchecked || result.problems ? EXIT_DATA : EXIT_FINE;
}

const struct command command_repair = {
    "repair",
    "FILE [-o OUT]",
    "save what can be saved of a damaged file",
    "Without -o, in place and under the file's lock: puts back a torn header or a lost footer, and cuts off what an\n"
    "interrupted append left. No sample is ever dropped that way. Then the file is verified, and what cannot be repaired in\n"
    "place is listed; exit status 1 when there is any.\n"
    "\n"
    "With -o, every sample that is whole goes into a new file: its values are there, have their checksums and decode, and\n"
    "its key is whole. The others are listed, each with what is wrong with it, and the last line says what else is lost.\n"
    "Of a file that was cut before its rows, images, arrays of a fixed shape and compressed values are found by their own\n"
    "bytes; fields that are stored in rows (numbers, labels) are lost. Exit status 1 when anything was lost, or saved\n"
    "unchecked because checksums were damaged too or do not cover them.\n"
    "\n"
    "With --json, one object: written, skipped (source, sample, message), warnings, lost, losses{}, problems, bytes,\n"
    "seconds, changed, unchecked, action.",
    options,
    "  mldf repair train.mldf\n"
    "  mldf repair broken.mldf -o saved.mldf\n",
    1,
    1,
    run,
};
