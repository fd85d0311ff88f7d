/* The command's progress lines, with a clock of the test's own: nothing here waits. */
#include "../../../cli/progress.c"

#include "check.h"

static double clock_now;
static char path[300]; /* of what stands for stderr */

double seconds_now(void) {
    return clock_now;
}
bool interrupted(void) {
    return false;
}

static const struct command some = {.name = "pack"};

/* What is printed on stderr, here a file, for one report. */
static void line_of(const mldf_progress *p, char *out, size_t room) {
    fflush(stderr);
    long before = ftell(stderr);
    progress_hook(NULL, p);
    fflush(stderr);
    FILE *file = fopen(path, "r");
    size_t got = 0;
    if (file) {
        fseek(file, before, SEEK_SET);
        got = fread(out, 1, room - 1, file);
        fclose(file);
    }
    out[got] = 0;
}

static char lines[6][300];

static void report_all(void) {
    struct invocation v = {.command = &some};
    mldf_progress own = {"pack", 10, 40, 1000, 4000, 0}, write = {"write", 8, MLDF_NONE, 0, MLDF_NONE, 0},
                  tables = {"tables", 40, MLDF_NONE, 10, 20, 0};
    clock_now = 100;
    progress_begin(&v);
    line_of(&own, lines[0], sizeof lines[0]); /* too early */
    clock_now = 120;
    line_of(&write, lines[1], sizeof lines[1]);
    own.samples_done = 20;
    line_of(&own, lines[2], sizeof lines[2]); /* too soon after the last */
    clock_now = 140;
    line_of(&write, lines[3], sizeof lines[3]);
    clock_now = 150;
    line_of(&tables, lines[4], sizeof lines[4]);
    progress_begin(&v);
    clock_now = 160;
    line_of(&write, lines[5], sizeof lines[5]); /* all that is known */
}

static void a_waiting_writer_does_not_hide_how_much_is_left(void) {
    CHECK_EQ_STR("", lines[0]);
    CHECK_EQ_STR("mldf pack: 10 samples, 0.5 samples/s, 1000 B, 25%, 60 s left\n", lines[1]);
    CHECK_EQ_STR("", lines[2]);
    CHECK_EQ_STR("mldf pack: 20 samples, 0.5 samples/s, 1000 B, 50%, 40 s left\n", lines[3]);
    CHECK_EQ_STR("mldf tables: 40 samples, 0.8 samples/s, 10 B, 50%, 50 s left\n", lines[4]);
    CHECK_EQ_STR("mldf write: 8 samples, 0.8 samples/s, 0 B\n", lines[5]);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    snprintf(path, sizeof path, "%s/stderr", check_tmpdir());
    int kept = dup(STDERR_FILENO);
    if (kept < 0 || !freopen(path, "w+", stderr))
        return 1;
    report_all();
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    RUN(a_waiting_writer_does_not_hide_how_much_is_left);
    return check_end();
}
