/* Progress on stderr: a line that is drawn over on a terminal, a plain line every five seconds elsewhere. It is also where a Ctrl-C becomes
 * a cancel: the hook returns false. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static struct {
    const char *command;
    bool quiet, terminal, drawn;
    double started, last;
    uint64_t frames;   /* of videos; only a writer counts them */
    mldf_progress own; /* what the command said of itself last; no phase: nothing yet */
} bar;

void format_count(char out[32], uint64_t count) {
    char plain[24];
    int n = snprintf(plain, sizeof plain, "%" PRIu64, count), at = 0;
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = plain[i];
    }
    out[at] = 0;
}

void format_bytes(char out[32], uint64_t bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024 && unit < 6) {
        value /= 1024;
        unit++;
    }
    snprintf(out, 32, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
}

void progress_begin(const struct invocation *v) {
    bar.command = v->command->name;
    bar.quiet = v->quiet;
    bar.terminal = isatty(STDERR_FILENO) == 1;
    bar.started = bar.last = seconds_now();
    bar.frames = 0;
    memset(&bar.own, 0, sizeof bar.own);
}

void progress_clear(void) {
    if (bar.drawn)
        fputs("\r\033[K", stderr);
    bar.drawn = false;
}

/* Done in 0..1, or -1 when the end is not known. */
static double fraction(const mldf_progress *p) {
    if (p->samples_total != MLDF_NONE && p->samples_total > 0)
        return (double)p->samples_done / (double)p->samples_total;
    if (p->bytes_total != MLDF_NONE && p->bytes_total > 0)
        return (double)p->bytes_done / (double)p->bytes_total;
    return -1;
}

/* batches: MLDF_NONE: bytes are what counts. */
static void describe(char *out, size_t size, const mldf_progress *p, uint64_t batches, double now) {
    char count[32], bytes[32], rate[32];
    double seconds = now - bar.started, done = fraction(p);
    format_count(count, p->samples_done);
    if (batches == MLDF_NONE)
        format_bytes(bytes, p->bytes_done);
    else
        snprintf(bytes, sizeof bytes, "%" PRIu64 " batch%s", batches, batches == 1 ? "" : "es");
    double speed = seconds > 0 ? (double)p->samples_done / seconds : 0;
    if (speed < 10)
        snprintf(rate, sizeof rate, "%.1f", speed);
    else
        format_count(rate, (uint64_t)speed);
    int n =
        snprintf(out, size, "%s: %s samples, %s samples/s, %s", p->phase ? p->phase : bar.command, count, rate, bytes);
    if (n > 0 && (size_t)n < size && bar.frames) {
        format_count(count, bar.frames);
        n += snprintf(out + n, size - (size_t)n, ", %s frames", count);
    }
    if (n > 0 && (size_t)n < size && done >= 0) {
        if (done > 1)
            done = 1;
        double left = done > 0.001 ? seconds * (1 - done) / done : -1;
        n += snprintf(out + n, size - (size_t)n, ", %.0f%%", done * 100);
        if (left >= 0 && (size_t)n < size)
            snprintf(out + n, size - (size_t)n, ", %.0f s left", left);
    }
}

/* A writer reports too while it is waited for, and does not know how much there is: what the command itself said last does. */
static const mldf_progress *of_the_whole(const mldf_progress *p) {
    if (p->phase && strcmp(p->phase, "write") == 0)
        return bar.own.phase ? &bar.own : p;
    if (p->phase && strcmp(p->phase, "tables") != 0 && strcmp(p->phase, "replay") != 0)
        bar.own = *p;
    return p;
}

static bool show(const mldf_progress *p, uint64_t batches) {
    char line[256];
    if (interrupted())
        return false;
    if (bar.quiet)
        return true;
    bar.frames = p->frames_done ? p->frames_done : bar.frames;
    p = of_the_whole(p);
    double now = seconds_now();
    /* Work that ends at once needs no bar. */
    if (now - bar.started < 0.5 || now - bar.last < (bar.terminal ? 0.1 : 5.0))
        return true;
    bar.last = now;
    describe(line, sizeof line, p, batches, now);
    if (bar.terminal)
        fprintf(stderr, "\r\033[K%s", line);
    else
        fprintf(stderr, "mldf %s\n", line);
    bar.drawn = bar.terminal;
    fflush(stderr);
    return true;
}

bool progress_hook(void *user, const mldf_progress *p) {
    (void)user;
    return show(p, MLDF_NONE);
}

bool progress_batches(const mldf_progress *p, uint64_t batches) {
    return show(p, batches);
}
