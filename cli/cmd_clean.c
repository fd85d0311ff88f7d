/* mldf clean: lists or removes the unfinished files that killed runs left in a folder. src/tool/clean.c finds them. */
#include <inttypes.h>
#include <string.h>

#include "cli.h"

static const struct option_spec options[] = {
    {0, "dry-run", NULL, "only list; remove nothing"},
    {0, "other-hosts", NULL, "files of other hosts too, if nobody holds their lock; not while those hosts write"},
    {0, NULL, NULL, NULL},
};

static const char *const states[] = {"dead", "live", "other-host", "unknown"};
static const char *const actions[] = {"kept", "removed", "finished"};

struct listing {
    const struct invocation *invocation;
    bool dry_run;
};

static void show_json(const mldf_leftover *left) {
    json_begin('{');
    json_key("path");
    json_string(left->path);
    json_key("bytes");
    json_u64(left->bytes);
    json_key("state");
    json_string(states[left->state]);
    json_key("action");
    json_string(actions[left->action]);
    json_end('}');
}

static const char *in_words(const mldf_leftover *left, bool dry_run) {
    if (left->state == MLDF_LEFTOVER_LIVE)
        return "kept: it is being written";
    if (left->state == MLDF_LEFTOVER_OTHER)
        return "kept: another host made it (--other-hosts)";
    if (left->action == MLDF_LEFTOVER_KEPT)
        return "kept: it cannot be opened, locked or removed here";
    if (left->action == MLDF_LEFTOVER_FINISHED)
        return dry_run ? "would be finished: all parts of a split are complete"
                       : "finished: all parts of a split have their names";
    return dry_run ? "would be removed" : "removed";
}

static void on_found(void *user, const mldf_leftover *left) {
    const struct listing *listing = user;
    if (listing->invocation->json)
        show_json(left);
    else
        out_line("%s: %s", left->path, in_words(left, listing->dry_run));
}

static int run(struct invocation *v) {
    mldf_clean_options cleaning = MLDF_CLEAN_OPTIONS_INIT;
    struct listing listing = {v, option_given(v, "dry-run")};
    int code = EXIT_FINE;
    if (check_no_stdin(v, 0, v->file_count) != EXIT_FINE)
        return EXIT_USAGE;
    cleaning.dry_run = listing.dry_run;
    cleaning.other_hosts = option_given(v, "other-hosts");
    cleaning.found = on_found;
    cleaning.found_user = &listing;
    if (v->json) {
        json_begin('{');
        json_key("leftovers");
        json_begin('[');
    }
    for (size_t i = 0; i < v->file_count; i++) {
        mldf_error err;
        int failed = EXIT_FINE;
        if (mldf_clean(v->files[i], &cleaning, &err) < 0)
            failed = report_error(v, v->files[i], &err);
        code = code == EXIT_FINE ? failed : code;
    }
    if (v->json) {
        json_end(']');
        json_end('}');
        json_line_end();
    }
    return code;
}

const struct command command_clean = {
    "clean",
    "FOLDER...",
    "remove temporary files of runs that were killed",
    "A run that is killed (kill -9, out of memory, power) leaves its temporary file .NAME.HOST-N.mldf.tmp beside NAME. The\n"
    "next run that writes NAME removes it; clean does so for every name in FOLDER, not below it. A file that a process\n"
    "still writes is locked and is kept. A split that was killed between the names of its parts is finished. OUT.partial\n"
    "of pack --resume is never touched.\n"
    "\n"
    "With --json, one object: leftovers (path, bytes, state: dead, live, other-host or unknown, action: kept, removed or\n"
    "finished; with --dry-run, what would be done).",
    options,
    "  mldf clean --dry-run data\n"
    "  mldf clean data\n",
    1,
    -1,
    run,
};
