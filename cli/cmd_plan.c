/* mldf plan: where everything will stand in a file that is not written yet. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const struct option_spec options[] = {
    {0, "samples", "N", "the number of samples"},
    {0, "schema", "FILE", "the fields, as for pack: a file, or JSON that begins with { or ["},
    {0, "payload-bytes", "FIELD=N", "every payload of FIELD has N bytes; may be repeated"},
    {0, "page-size", "N", "a power of two from 4096 to 2G; K, M and G may follow (default: automatic)"},
    {0, "no-checksums", NULL, "without checksums"},
    {0, "to", "mldf|1.0|tbl|beton",
     "the layout to plan: this format (default), its 1.0 draft, TBL version 2, or FFCV's"},
    {0, NULL, NULL, NULL},
};

static int parse_payloads(const struct invocation *v, const mldf_schema *schema, uint64_t *sizes) {
    size_t at = 0;
    const char *text;
    while ((text = option_next(v, "payload-bytes", &at)) != NULL) {
        char name[MLDF_NAME_MAX + 1];
        size_t field;
        mldf_error err;
        const char *equals = strrchr(text, '=');
        if (!equals || (size_t)(equals - text) > MLDF_NAME_MAX)
            return usage_error(v, "--payload-bytes: '%s' is not FIELD=N", text);
        memcpy(name, text, (size_t)(equals - text));
        name[equals - text] = 0;
        if (mldf_schema_find(schema, name, &field, &err) < 0)
            return report_error(v, "--payload-bytes", &err);
        if (!(mldf_schema_field(schema, field)->flags & (MLDF_FIELD_SIZE32 | MLDF_FIELD_SIZE64)))
            return usage_error(v, "--payload-bytes: field '%s' has no payload: its values are stored in the rows",
                               name);
        if (!parse_bytes(v, "--payload-bytes", equals + 1, &sizes[field]))
            return EXIT_USAGE;
    }
    return EXIT_FINE;
}

static void print_json(const mldf_region *regions, size_t count) {
    json_begin('{');
    json_key("regions");
    json_begin('[');
    for (size_t i = 0; i < count; i++) {
        json_begin('{');
        json_key("name");
        json_string(regions[i].name);
        json_key("begin");
        json_u64_or_null(regions[i].begin);
        json_key("end");
        json_u64_or_null(regions[i].end);
        json_end('}');
    }
    json_end(']');
    json_key("file_bytes");
    json_u64_or_null(count ? regions[count - 1].end : MLDF_NONE);
    json_end('}');
    json_line_end();
}

static void print_number(uint64_t value) {
    if (value == MLDF_NONE)
        out_printf(" %20s", "?");
    else
        out_printf(" %20" PRIu64, value);
}

static void print_table(const mldf_region *regions, const uint64_t *bytes, size_t count) {
    out_printf("%-16s %20s %20s %20s\n", "region", "begin", "end", "bytes");
    for (size_t i = 0; i < count; i++) {
        out_printf("%-16s", regions[i].name);
        print_number(regions[i].begin);
        print_number(regions[i].end);
        print_number(bytes[i]);
        out_char('\n');
    }
}

static int plan(const struct invocation *v, const mldf_schema *schema, mldf_plan_options *options_in) {
    mldf_region regions[MLDF_PLAN_REGIONS];
    uint64_t bytes[MLDF_PLAN_REGIONS];
    size_t count, fields = mldf_schema_field_count(schema);
    mldf_error err;
    uint64_t *sizes = calloc(fields + 1, sizeof *sizes);
    if (!sizes)
        return no_memory(v);
    for (size_t i = 0; i < fields; i++)
        sizes[i] = MLDF_NONE;
    options_in->payload_bytes = sizes;
    options_in->region_bytes = bytes;
    int code = parse_payloads(v, schema, sizes);
    if (code == EXIT_FINE && mldf_plan(schema, options_in, regions, &count, &err) < 0) {
        report_error(v, NULL, &err);
        /* Everything else here comes from the command line. */
        code = err.status == MLDF_E_MEMORY ? EXIT_ENVIRONMENT : EXIT_USAGE;
    } else if (code == EXIT_FINE && v->json) {
        print_json(regions, count);
    } else if (code == EXIT_FINE) {
        print_table(regions, bytes, count);
    }
    free(sizes);
    return code;
}

static int run(struct invocation *v) {
    mldf_plan_options planning = MLDF_PLAN_OPTIONS_INIT;
    mldf_schema *schema = NULL;
    const char *samples = option_value(v, "samples"), *text = option_value(v, "schema"),
               *page = option_value(v, "page-size");
    if (!samples)
        return usage_error(v, "--samples N is missing");
    if (!text)
        return usage_error(v, "--schema FILE is missing");
    if (!parse_count(v, "--samples", samples, &planning.samples) ||
        (page && !parse_bytes(v, "--page-size", page, &planning.page_size)))
        return EXIT_USAGE;
    planning.no_checksums = option_given(v, "no-checksums");
    planning.layout = option_value(v, "to");
    int code = load_schema(v, text, &schema);
    if (code == EXIT_FINE)
        code = plan(v, schema, &planning);
    mldf_schema_free(schema);
    return code;
}

const struct command command_plan = {
    "plan",
    "--samples N --schema FILE",
    "the layout of a file before it is written",
    "Lists the byte range of each region of the file that a writer will make of N samples with this schema, in order. Where\n"
    "payloads are not known in size, because they vary or are compressed, the places after them are not known either; sizes\n"
    "that follow from the number of samples are shown all the same.\n"
    "\n"
    "Data comes before the tables, because a writer learns their size only when the last sample has come: so it writes one\n"
    "stream, in order, without knowing the number of samples. The 1.0 draft and TBL have their tables in front: --to shows\n"
    "where data begins there.\n"
    "\n"
    "With --json, one object: regions (name, begin, end; null where not known), file_bytes.",
    options,
    "  mldf plan --samples 1000000 --schema schema.json --payload-bytes image=150000\n"
    "  mldf plan --to 1.0 --samples 10000000 --schema schema.json\n",
    0,
    0,
    run,
};
