/* The report of pack, append and repack: what was written, what was left out and what was odd, as text or as one JSON object. */
#include <stdio.h>
#include <string.h>

#include "cli.h"

/* Skipped rows are printed as they come: there may be any number of them. */
void pack_report_begin(struct pack_report *report, const struct invocation *v) {
    memset(report, 0, sizeof *report);
    report->invocation = v;
    report->started = seconds_now();
}

void pack_report_skip(void *user, const mldf_skip *skip) {
    struct pack_report *report = user;
    if (!report->invocation->json) {
        /* The message of a bad row begins with its place; that of a bad sample does not. */
        bool placed = strncmp(skip->message, skip->source, strlen(skip->source)) == 0;
        note(report->invocation, "skipped %s%s%s", placed ? "" : skip->source, placed ? "" : ": ", skip->message);
    } else {
        if (report->skipped == 0) {
            json_begin('{');
            json_key("skipped");
            json_begin('[');
        }
        json_pair(skip->source, skip->message);
    }
    report->skipped++;
}

void pack_report_warning(void *user, const mldf_skip *warning) {
    struct pack_report *report = user;
    warn(report->invocation, warning->source, warning->message);
}

void pack_report_left_out(void *user, const mldf_skip *file) {
    struct pack_report *report = user;
    if (report->invocation->verbose)
        note(report->invocation, "left out %s: %s", file->source, file->message);
}

static void print_lists(struct pack_report *report) {
    if (report->skipped == 0) {
        json_begin('{');
        json_key("skipped");
        json_begin('[');
    }
    json_end(']');
    json_warnings();
}

/* A document that was begun is completed, so that what stands on stdout is JSON. */
void pack_report_failed(struct pack_report *report) {
    if (report->invocation->json && report->skipped > 0) {
        print_lists(report);
        json_key("written");
        json_null();
        json_end('}');
        json_line_end();
    }
}

void pack_report_end(struct pack_report *report, const mldf_pack_result *result, const char *verb, const char *file) {
    double seconds = seconds_since(report->started);
    char count[32], bytes[32], skipped[48] = "";
    if (report->invocation->json) {
        print_lists(report);
        json_key("written");
        json_u64(result->written);
        json_key("bytes");
        json_u64(result->bytes);
        json_key("seconds");
        json_double(seconds);
        json_end('}');
        json_line_end();
        return;
    }
    if (report->invocation->quiet)
        return;
    format_count(count, result->written);
    format_bytes(bytes, result->bytes);
    if (result->skipped)
        snprintf(skipped, sizeof skipped, ", %llu skipped", (unsigned long long)result->skipped);
    note(report->invocation, "%s: %s sample%s %s, %s in all%s", file, count, result->written == 1 ? "" : "s", verb,
         bytes, skipped);
    if (report->invocation->verbose)
        note(report->invocation, "%.3f s", seconds);
}
