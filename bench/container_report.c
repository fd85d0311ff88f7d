/* The numbers of a run, kept until its end, then printed as a table or as JSON. */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

enum { MAX_LINES = 200 };

struct line {
    bool heading;
    char name[64], text[96], unit[16];
    double value, limit;
    int decimals;
    enum goal goal;
};

static struct line lines[MAX_LINES];
static size_t line_count;

static struct line *add(void) {
    if (line_count == MAX_LINES)
        bench_die("more than %d results", MAX_LINES);
    return &lines[line_count++];
}

void report_part(const char *title) {
    struct line *line = add();
    line->heading = true;
    snprintf(line->text, sizeof line->text, "%s", title);
    fprintf(stderr, "%s\n", title);
}

void report_goal(const char *name, const char *text, double value, const char *unit, int decimals, enum goal goal,
                 double limit) {
    struct line *line = add();
    snprintf(line->name, sizeof line->name, "%s", name);
    snprintf(line->text, sizeof line->text, "%s", text);
    snprintf(line->unit, sizeof line->unit, "%s", unit);
    line->value = value;
    line->decimals = decimals;
    line->goal = goal;
    line->limit = limit;
    bench_note("%s: %.*f %s", text, decimals, value, unit);
}

void report_add(const char *name, const char *text, double value, const char *unit, int decimals) {
    report_goal(name, text, value, unit, decimals, GOAL_NONE, 0);
}

static bool met(const struct line *line) {
    switch (line->goal) {
    case GOAL_BELOW:
        return line->value < line->limit;
    case GOAL_AT_MOST:
        return line->value <= line->limit;
    case GOAL_AT_LEAST:
        return line->value >= line->limit;
    default:
        return true;
    }
}

static const char *goal_sign(enum goal goal) {
    return goal == GOAL_BELOW ? "<" : goal == GOAL_AT_MOST ? "<=" : goal == GOAL_AT_LEAST ? ">=" : "";
}

static void print_table(const struct settings *settings, const char *when, const struct utsname *system, long cpus) {
    printf("\nmldf %s, %s, %s, %ld CPUs%s\n", mldf_version(), when, system->machine, cpus,
           settings->quick ? ", --quick: a tenth of most sizes" : "");
    for (size_t i = 0; i < line_count; i++) {
        const struct line *line = &lines[i];
        if (line->heading) {
            printf("\n%s\n", line->text);
            continue;
        }
        printf("  %-62s %12.*f %-8s", line->text, line->decimals, line->value, line->unit);
        if (line->goal != GOAL_NONE)
            printf(" goal %s %g: %s", goal_sign(line->goal), line->limit, met(line) ? "met" : "MISSED");
        putchar('\n');
    }
}

/* Names and texts are this program's own and hold nothing that JSON would have to escape. */
static void print_json(const struct settings *settings, const char *when, const struct utsname *system, long cpus) {
    const char *separator = "";
    printf("{\"version\":\"%s\",\"date\":\"%s\",\"machine\":\"%s\",\"cpus\":%ld,\"quick\":%s,\"results\":[",
           mldf_version(), when, system->machine, cpus, settings->quick ? "true" : "false");
    for (size_t i = 0; i < line_count; i++) {
        const struct line *line = &lines[i];
        if (line->heading)
            continue;
        printf("%s\n{\"name\":\"%s\",\"text\":\"%s\",\"value\":%.9g,\"unit\":\"%s\"", separator, line->name, line->text,
               line->value, line->unit);
        if (line->goal != GOAL_NONE)
            printf(",\"goal\":\"%s\",\"limit\":%g,\"met\":%s", goal_sign(line->goal), line->limit,
                   met(line) ? "true" : "false");
        putchar('}');
        separator = ",";
    }
    puts("\n]}");
}

void report_print(const struct settings *settings) {
    struct utsname system;
    char when[32];
    time_t now = time(NULL);
    struct tm parts;
    uname(&system);
    strftime(when, sizeof when, "%Y-%m-%d", gmtime_r(&now, &parts));
    (settings->json ? print_json : print_table)(settings, when, &system, sysconf(_SC_NPROCESSORS_ONLN));
}
