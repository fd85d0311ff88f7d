/* mldf stats: how the values of each field are distributed, as a table with histograms, as JSON, as a drawing. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"

enum { BAR = 40, CLASSES_SHOWN = 20 };

static const struct option_spec options[] = {
    {0, "svg", "OUT",
     "draw a histogram for each field into this file, or - ; refused when it exists, unless -f is given"},
    {'f', "force", NULL, NULL},
    {'f', NULL, NULL, "replace an existing OUT"},
    {0, NULL, NULL, NULL},
};

/* ---- JSON ---------------------------------------------------------------------------------------------------------- */

static void json_value(const mldf_value *value) {
    switch (value->kind) {
    case MLDF_KIND_INT:
        json_i64(value->as.i);
        break;
    case MLDF_KIND_UINT:
        json_u64(value->as.u);
        break;
    case MLDF_KIND_FLOAT:
        json_double(value->as.f);
        break;
    case MLDF_KIND_TEXT:
        json_string_bytes(value->data, (size_t)value->bytes);
        break;
    default:
        json_null();
    }
}

static void json_named(const char *name, const mldf_distribution *d, double value) {
    json_key(name);
    if (d && d->count)
        json_double(value);
    else
        json_null();
}

static void json_percentiles(const mldf_distribution *d) {
    json_named("mean", d, d ? d->mean : 0);
    json_named("std", d, d ? d->std : 0);
    json_named("p50", d, d ? d->p50 : 0);
    json_named("p90", d, d ? d->p90 : 0);
    json_named("p99", d, d ? d->p99 : 0);
    json_key("percentiles");
    if (d && d->count)
        json_string(d->exact ? "exact" : "estimated");
    else
        json_null();
    json_key("histogram");
    json_begin('[');
    for (size_t i = 0; d && i < d->bin_count; i++) {
        json_begin('{');
        json_key("low");
        json_double(d->bins[i].low);
        json_key("high");
        json_double(d->bins[i].high);
        json_key("count");
        json_u64(d->bins[i].count);
        json_end('}');
    }
    json_end(']');
}

static void json_distribution(const mldf_distribution *d) {
    if (!d) {
        json_null();
        return;
    }
    json_begin('{');
    json_key("count");
    json_u64(d->count);
    json_named("min", d, d->min);
    json_named("max", d, d->max);
    json_percentiles(d);
    json_end('}');
}

static void json_class_name(const mldf_classes *classes, const mldf_value *value) {
    size_t bytes = 0;
    const char *name = class_name(classes, value, &bytes);
    if (!name)
        return;
    json_key("class_name");
    json_string_bytes(name, bytes);
}

static void json_measures(const mldf_field_summary *f) {
    if (!f->measure_count)
        return;
    json_key("measures");
    json_begin('{');
    for (size_t i = 0; i < f->measure_count; i++) {
        json_key(f->measures[i].name);
        json_distribution(f->measures[i].values);
    }
    json_end('}');
}

static void json_classes(const mldf_field_summary *f, const mldf_classes *names) {
    json_key("distinct");
    json_u64_or_null(f->classes ? f->class_count : MLDF_NONE);
    json_key("classes");
    if (!f->classes) {
        json_null();
        return;
    }
    json_begin('[');
    for (size_t i = 0; i < f->class_count; i++) {
        json_begin('{');
        json_key("value");
        json_value(&f->classes[i].value);
        json_key("count");
        json_u64(f->classes[i].count);
        json_class_name(names, &f->classes[i].value);
        json_end('}');
    }
    json_end(']');
}

static void json_field(const mldf_field_summary *f, const mldf_classes *names) {
    json_key(f->name);
    json_begin('{');
    json_key("type");
    json_string(f->type);
    json_key("count");
    json_u64(f->present);
    json_key("nulls");
    json_u64(f->nulls);
    json_key("nonfinite");
    json_u64(f->nonfinite);
    json_key("elements");
    json_u64_or_null(f->elements ? f->elements : MLDF_NONE);
    json_key("min");
    json_value(&f->min);
    json_key("max");
    json_value(&f->max);
    json_percentiles(f->values);
    json_key("lengths");
    json_distribution(f->lengths);
    json_key("bytes");
    json_distribution(f->bytes);
    json_key("dims");
    if (f->dims) {
        json_begin('[');
        for (uint32_t d = 0; d < f->ndim; d++)
            json_distribution(&f->dims[d]);
        json_end(']');
    } else {
        json_null();
    }
    json_measures(f);
    json_classes(f, names);
    json_end('}');
    for (size_t i = 0; i < f->member_count; i++)
        json_field(&f->members[i], NULL);
}

static void print_json(const mldf_reader *reader, const mldf_summary *summary, mldf_classes **names) {
    const mldf_schema *schema = mldf_reader_schema(reader);
    json_begin('{');
    json_key("num_samples");
    json_u64(mldf_reader_sample_count(reader));
    json_key("fields");
    json_begin('{');
    for (size_t i = 0; i < mldf_schema_field_count(schema); i++)
        json_field(mldf_summary_field(summary, i), names[i]);
    json_end('}');
    json_token_plans(reader);
    json_warnings();
    json_end('}');
    json_line_end();
}

/* ---- Text ---------------------------------------------------------------------------------------------------------- */

static void bar(uint64_t count, uint64_t most) {
    char line[BAR + 1];
    size_t length = most ? (size_t)((double)count / (double)most * BAR + 0.5) : 0;
    if (length == 0 && count)
        length = 1;
    memset(line, '#', sizeof line);
    line[length > BAR ? BAR : length] = 0;
    out_printf("%-*s %" PRIu64, BAR, line, count);
}

static void print_row(const char *name, const mldf_distribution *d) {
    if (!d || !d->count)
        return;
    out_printf("  %-11s %12.6g %12.6g %12.6g %12.6g %12.6g %12.6g %12.6g%s\n", name, d->min, d->max, d->mean, d->std,
               d->p50, d->p90, d->p99, d->exact ? "" : "  (percentiles estimated)");
}

static void print_bins(const mldf_distribution *d) {
    uint64_t most = 0;
    for (size_t i = 0; i < d->bin_count; i++)
        most = d->bins[i].count > most ? d->bins[i].count : most;
    for (size_t i = 0; i < d->bin_count; i++) {
        char label[64];
        bool one = d->bins[i].high - d->bins[i].low <= 1 && d->bin_count < MLDF_SUMMARY_BINS;
        if (one)
            snprintf(label, sizeof label, "%.6g", d->bins[i].low);
        else
            snprintf(label, sizeof label, "%.6g .. %.6g", d->bins[i].low, d->bins[i].high);
        out_printf("    %-24s ", label);
        bar(d->bins[i].count, most);
        out_char('\n');
    }
}

static void print_classes(const mldf_field_summary *f, const mldf_classes *names) {
    uint64_t most = f->class_count ? f->classes[0].count : 0;
    size_t shown = f->class_count < CLASSES_SHOWN ? f->class_count : CLASSES_SHOWN;
    out_printf("  %zu different value%s\n", f->class_count, f->class_count == 1 ? "" : "s");
    for (size_t i = 0; i < shown; i++) {
        out_text("    ");
        bar(f->classes[i].count, most);
        out_text("  ");
        json_value(&f->classes[i].value);
        out_class(names, &f->classes[i].value);
        json_line_end();
    }
    if (shown < f->class_count)
        out_printf("    ... and %zu more\n", f->class_count - shown);
}

const mldf_distribution *main_distribution(const mldf_field_summary *f, const char **what) {
    bool numbers = f->values && (f->values->count || !f->lengths); /* arrays without elements still have lengths */
    *what = numbers ? "" : f->lengths ? "length" : f->bytes ? "bytes" : "";
    return numbers ? f->values : f->lengths ? f->lengths : f->bytes;
}

/* Of recordings: how long all of them are. */
static void print_hours(const mldf_measure *measure) {
    if (strcmp(measure->name, "seconds") != 0)
        return;
    double all = measure->values->mean * (double)measure->values->count;
    out_printf("  %-11s %.9g s (%.2f h) in all\n", "total", all, all / 3600);
}

static void print_field(const mldf_field_summary *f, const mldf_classes *names, bool brief) {
    const char *what;
    const mldf_distribution *shown = main_distribution(f, &what);
    char name[32];
    out_printf("\n%s  %s  %" PRIu64 " value%s, %" PRIu64 " null%s", f->name, f->type, f->present,
               f->present == 1 ? "" : "s", f->nulls, f->nulls == 1 ? "" : "s");
    if (f->nonfinite)
        out_printf(", %" PRIu64 " not finite", f->nonfinite);
    out_char('\n');
    if (shown && shown->count)
        out_printf("  %-11s %12s %12s %12s %12s %12s %12s %12s\n", "", "min", "max", "mean", "std", "p50", "p90",
                   "p99");
    print_row("value", f->values);
    print_row("length", f->lengths);
    print_row("bytes", f->bytes);
    for (uint32_t d = 0; f->dims && d < f->ndim; d++) {
        snprintf(name, sizeof name, "dim %u", d);
        print_row(name, &f->dims[d]);
    }
    for (size_t i = 0; i < f->measure_count; i++)
        print_row(f->measures[i].name, f->measures[i].values);
    for (size_t i = 0; i < f->measure_count; i++)
        print_hours(&f->measures[i]);
    for (size_t i = 0; brief && i < f->member_count; i++)
        print_field(&f->members[i], NULL, brief);
    if (brief)
        return;
    if (f->classes && f->class_count <= CLASSES_SHOWN)
        print_classes(f, names);
    else if (shown && shown->count)
        print_bins(shown);
    if (f->classes && f->class_count > CLASSES_SHOWN)
        print_classes(f, names);
    for (size_t i = 0; i < f->member_count; i++)
        print_field(&f->members[i], NULL, brief);
}

static void print_text(const char *path, const mldf_reader *reader, const mldf_summary *summary, mldf_classes **names,
                       bool brief) {
    const mldf_schema *schema = mldf_reader_schema(reader);
    char count[32];
    format_count(count, mldf_reader_sample_count(reader));
    out_line("%s: %s sample%s", path, count, mldf_reader_sample_count(reader) == 1 ? "" : "s");
    for (size_t i = 0; i < mldf_schema_field_count(schema); i++)
        print_field(mldf_summary_field(summary, i), names[i], brief);
    text_token_plans(reader);
}

/* ---- The command --------------------------------------------------------------------------------------------------- */

static int check_svg(const struct invocation *v, const char *path) {
    struct stat st;
    if (path && strcmp(path, "-") == 0)
        return v->json ? usage_error(v, "--json and --svg - would both write to standard output") : EXIT_FINE;
    if (path && stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return usage_error(v, "%s is not a regular file and is not replaced", path);
    if (path && option_given(v, "force")) {
        /* The drawing is written here, not by the library, which guards its own targets. */
        if (same_file(path, v->files[0]))
            return usage_error(v, "%s is the same file as %s, which is read and not replaced", path, v->files[0]);
        return check_out_is_no_option(v, path);
    }
    if (!path || lstat(path, &st) != 0)
        return EXIT_FINE;
    return complain(v, EXIT_ENVIRONMENT, "%s: already exists; use -f to overwrite it", path);
}

static int find_classes(const struct invocation *v, const mldf_reader *reader, mldf_classes ***out) {
    size_t count = mldf_schema_field_count(mldf_reader_schema(reader));
    mldf_error err;
    size_t *fields = calloc(count + 1, sizeof *fields);
    *out = calloc(count + 1, sizeof **out);
    int code = *out && fields ? EXIT_FINE : no_memory(v);
    for (size_t i = 0; fields && i < count; i++)
        fields[i] = i;
    if (code == EXIT_FINE && mldf_classes_of(reader, fields, count, *out, &err) < 0)
        code = report_error(v, v->files[0], &err);
    free(fields);
    return code;
}

static void free_classes(const mldf_reader *reader, mldf_classes **names) {
    for (size_t i = 0; names && i < mldf_schema_field_count(mldf_reader_schema(reader)); i++)
        mldf_classes_free(names[i]);
    free(names);
}

static int run(struct invocation *v) {
    mldf_classes **names = NULL;
    mldf_summary_options gathering = MLDF_SUMMARY_OPTIONS_INIT;
    mldf_reader *reader = NULL;
    mldf_summary *summary = NULL;
    mldf_error err;
    const char *svg = option_value(v, "svg");
    int code = check_svg(v, svg);
    if (code == EXIT_FINE)
        code = open_reader(v, v->files[0], false, &reader);
    gathering.progress = progress_hook;
    if (code == EXIT_FINE && mldf_summary_new(reader, &gathering, &summary, &err) < 0)
        code = report_error(v, v->files[0], &err);
    progress_clear();
    if (code == EXIT_FINE)
        code = find_classes(v, reader, &names);
    if (code == EXIT_FINE && svg)
        code = write_svg(v, svg, v->files[0], reader, summary, names);
    if (code == EXIT_FINE && v->json)
        print_json(reader, summary, names);
    else if (code == EXIT_FINE && !(svg && strcmp(svg, "-") == 0))
        print_text(v->files[0], reader, summary, names, v->quiet);
    free_classes(reader, names);
    mldf_summary_free(summary);
    mldf_reader_close(reader);
    return code;
}

const struct command command_stats = {
    "stats",
    "FILE",
    "sizes, classes, lengths, dimensions",
    "Reads every sample once and shows, for each field, how many values and nulls there are and how they are distributed:\n"
    "numbers by value, those in arrays and in structs (as FIELD.MEMBER) too, text by its characters, payloads by their bytes,\n"
    "arrays by their dimensions, images and recordings by what their records say (height, width, rate); class counts where a\n"
    "field of integers or short texts has at most 1000 different values, with the names that the card's \"classes\" gives them.\n"
    "With -q, the table without histograms. std is the population's. Percentiles and histograms\n"
    "are exact up to 65,536 values; beyond that they come from a random sample of so many, with a fixed seed, and are marked\n"
    "as estimated. Checksums are not checked; see verify.\n"
    "\n"
    "With --json, one object: num_samples, fields{}, warnings.",
    options,
    "  mldf stats train.mldf\n"
    "  mldf stats train.mldf --svg train.svg\n",
    1,
    1,
    run,
};
