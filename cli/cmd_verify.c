/* mldf verify: structure, checksums and, with --deep, every value. Problems are printed as they are found. */
#include <inttypes.h>
#include <string.h>

#include "cli.h"

static const struct option_spec options[] = {
    {0, "deep", NULL, "decompress and decode every value too"},
    {'j', "workers", "N", "threads; by default the CPUs this process may use, 0: one thread"},
    {0, NULL, NULL, NULL},
};

struct listing {
    const struct invocation *invocation;
    const char *path;
};

static void json_problem(const mldf_error *problem) {
    json_begin('{');
    json_key("status");
    json_string(mldf_status_name(problem->status));
    json_key("offset");
    json_u64_or_null(problem->offset);
    json_key("sample");
    json_u64_or_null(problem->sample);
    json_key("field");
    if (problem->field[0])
        json_string(problem->field);
    else
        json_null();
    json_key("message");
    json_string(MLDF_ERROR_TEXT(problem));
    json_end('}');
}

static void on_problem(void *user, const mldf_error *problem) {
    struct listing *listing = user;
    progress_clear();
    if (listing->invocation->json)
        json_problem(problem);
    else
        out_line("%s: %s: %s", listing->path, mldf_status_name(problem->status), ERROR_INSIDE(problem));
}

/* ok is null when the check could not be done. */
static void json_result(const mldf_verify_result *result, const mldf_error *failed) {
    json_end(']');
    json_warnings();
    json_key("ok");
    if (failed)
        json_null();
    else
        json_bool(result->problems == 0);
    json_key("num_samples");
    json_u64_or_null(failed ? MLDF_NONE : result->num_samples);
    json_key("good_samples");
    json_u64_or_null(failed ? MLDF_NONE : result->good_samples);
    json_key("checksummed");
    json_bool(!failed && result->checksummed);
    json_key("encrypted");
    json_bool(!failed && result->encrypted);
    json_key("authenticated");
    json_bool(!failed && result->authenticated);
    if (failed) {
        json_key("error");
        json_string(MLDF_ERROR_TEXT(failed));
    }
    json_end('}');
}

static void text_result(const struct invocation *v, const char *path, const mldf_verify_result *result) {
    if (result->problems == 0) {
        out_line("%s: ok: %" PRIu64 " sample%s%s", path, result->num_samples, result->num_samples == 1 ? "" : "s",
                 result->encrypted && !result->authenticated ? ", not authenticated" : "");
    } else {
        out_line("%s: %" PRIu64 " problem%s: %" PRIu64 " of %" PRIu64 " samples are good", path, result->problems,
                 result->problems == 1 ? "" : "s", result->good_samples, result->num_samples);
    }
    if (result->encrypted && !result->authenticated)
        note(v, "%s: is encrypted and no key was given: checksums were checked, nothing is authenticated", path);
    if (!result->checksummed && result->num_samples != MLDF_NONE && result->problems == 0)
        note(v,
             option_given(v, "deep")
                 ? "%s: has no checksums: every value was decoded, but a changed value is not noticed"
                 : "%s: has no checksums: only its structure was checked",
             path);
}

/* One file: its result is printed. */
static int verify_one(const struct invocation *v, const char *path, const mldf_verify_options *given) {
    mldf_verify_options verify = *given;
    mldf_verify_result result = MLDF_VERIFY_RESULT_INIT;
    mldf_error err;
    struct listing listing = {v, path};
    verify.problem_user = &listing;
    if (v->json) {
        json_begin('{');
        if (v->file_count > 1) {
            json_key("file");
            json_string(path);
        }
        json_key("problems");
        json_begin('[');
    }
    mldf_status status = mldf_verify(path, &verify, &result, &err);
    if (status >= 0 && verify.deep && result.encrypted && !result.authenticated)
        warn(v, path, "is encrypted and no key was given: --deep has decoded no payload");
    if (v->json)
        json_result(&result, status < 0 ? &err : NULL);
    if (status < 0)
        return report_error(v, path, &err);
    if (!v->json)
        text_result(v, path, &result);
    return result.problems ? EXIT_DATA : EXIT_FINE;
}

/* A bad file makes it 1, whatever else goes wrong; a file that could not be checked its own code. */
static int worse(int a, int b) {
    return a == EXIT_DATA || b == EXIT_FINE ? a : b == EXIT_DATA || a == EXIT_FINE ? b : a;
}

static int run(struct invocation *v) {
    mldf_verify_options verify = MLDF_VERIFY_OPTIONS_INIT;
    bool many = v->file_count > 1;
    int code = EXIT_FINE;
    if (check_no_stdin(v, 0, v->file_count) != EXIT_FINE || !parse_threads(v, &verify.threads))
        return EXIT_USAGE;
    verify.context = v->context;
    verify.deep = option_given(v, "deep");
    verify.secret = v->secret;
    verify.problem = on_problem;
    verify.progress = progress_hook;
    if (v->json && many)
        json_begin('[');
    for (size_t i = 0; i < v->file_count && !interrupted(); i++)
        code = worse(code, verify_one(v, v->files[i], &verify));
    if (v->json && many)
        json_end(']');
    if (v->json)
        json_line_end();
    return interrupted() ? EXIT_INTERRUPTED : code;
}

const struct command command_verify = {
    "verify",
    "FILE...",
    "check structure and checksums",
    "Checks the structure of each file and every checksum. Each problem is listed with its byte, and with the sample and\n"
    "field that it hits. An encrypted file is checked without its key too; nothing is authenticated or decoded then, and the\n"
    "output says so. A file without checksums gets its structure checked, and the output says that as well.\n"
    "\n"
    "With --json, one object: ok, num_samples, good_samples, problems (status, offset, sample, field, message), warnings,\n"
    "checksummed, encrypted, authenticated. ok is null when the check could not be done. With several files, a list of such\n"
    "objects, each with file. Exit status 1 when any file is bad.",
    options,
    "  mldf verify train.mldf && rsync train.mldf host:/data/\n"
    "  mldf verify --deep shard-*.mldf\n",
    1,
    -1,
    run,
};
