/* mldf_select: some samples, some fields, into a new file. Which samples: ranges in the caller's order, and of those the ones for
 * which the predicate is true. See copy.h for the copying, where.h for the predicate. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tool/copy.h"
#include "tool/derive.h"
#include "tool/pack.h"
#include "tool/pack_source.h"
#include "tool/plan_tokens.h"
#include "tool/where.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/options.h"

struct selection {
    const mldf_reader *reader;
    const mldf_select_options *options;
    mldf_writer_options writing;
    mldf_schema *schema;
    mldf_buffer card;
    struct where *where; /* NULL: every sample */
    struct copy copy;
    struct input_watch watch;
};

static mldf_status choose_fields(struct selection *s, mldf_error *err) {
    const mldf_schema *source = mldf_reader_schema(s->reader);
    size_t count = s->options->field_count;
    size_t *fields = count ? mldfi_alloc_zero(count, sizeof *fields, err) : NULL;
    mldf_status status = count && !fields ? MLDF_E_MEMORY : MLDF_OK;
    for (size_t i = 0; status == MLDF_OK && i < count; i++) {
        status = mldf_schema_find(source, s->options->fields[i], &fields[i], err);
        for (size_t k = 0; status == MLDF_OK && k < i; k++)
            if (fields[k] == fields[i])
                status = mldfi_fail(err, MLDF_E_ARGUMENT, "field '%s' is named twice", s->options->fields[i]);
    }
    if (status == MLDF_OK)
        status = mldfi_derive_schema(s->reader, s->writing.context, fields, count, &s->schema, err);
    free(fields);
    if (status == MLDF_OK)
        status = mldfi_apply_compress(s->writing.context, s->schema, s->options->compress_fields,
                                      s->options->compress_count, err);
    return status;
}

static mldf_status check_ranges(const struct selection *s, uint64_t *total, mldf_error *err) {
    uint64_t samples = mldf_reader_sample_count(s->reader);
    *total = s->options->ranges ? 0 : samples;
    for (size_t i = 0; s->options->ranges && i < s->options->range_count; i++) {
        const mldf_sample_range *range = &s->options->ranges[i];
        if (range->begin > range->end || range->end > samples)
            return mldfi_fail(err, MLDF_E_NO_SAMPLE, "samples %" PRIu64 " to %" PRIu64 ": the file has %" PRIu64,
                              range->begin, range->end, samples);
        *total += range->end - range->begin;
    }
    return MLDF_OK;
}

static mldf_status is_wanted(void *user, uint64_t sample, bool *out, mldf_error *err) {
    struct selection *s = user;
    mldf_status status = mldfi_where_test(s->where, sample, out, err);
    if (status == MLDF_OK && !*out)
        s->watch.now.samples_done++; /* it is done with */
    return status;
}

static mldf_status take_all(struct selection *s, mldf_writer *writer, mldf_error *err) {
    struct writer_sink sink;
    mldf_sample_range all = {0, mldf_reader_sample_count(s->reader)};
    struct copy_rows rows = {&all, 1, s->where ? is_wanted : NULL, s};
    if (s->options->ranges) {
        rows.ranges = s->options->ranges;
        rows.count = s->options->range_count;
    }
    mldfi_sink_over(&sink, writer);
    s->copy.sink = &sink.base;
    return mldfi_copy_rows(&s->copy, &rows, err);
}

static mldf_status prepare(struct selection *s, mldf_error *err) {
    uint64_t total = 0;
    mldf_status status = choose_fields(s, err);
    if (status == MLDF_OK)
        status = mldfi_derive_options(s->reader, s->schema, &s->writing, &s->card, err);
    if (status == MLDF_OK && s->options->where)
        status = mldfi_where_compile(s->reader, s->options->where, &s->where, err);
    if (status == MLDF_OK)
        status = check_ranges(s, &total, err);
    if (status == MLDF_OK)
        status = mldfi_copy_begin_one(&s->copy, s->reader, s->schema, &s->watch, err);
    mldfi_watch_begin(&s->watch, &s->writing, "select", total);
    return status;
}

mldf_status mldf_select(const mldf_reader *reader, const char *out, const mldf_select_options *given,
                        mldf_pack_result *result, mldf_error *err) {
    mldf_select_options own = MLDF_SELECT_OPTIONS_INIT;
    const mldf_select_options *options = &own;
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_pack_result done = MLDF_PACK_RESULT_INIT;
    if (!reader || !out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "select needs a reader and a target");
    mldf_status status = mldfi_take_options(&own, sizeof own, "mldf_select_options", given, err);
    if (status == MLDF_OK)
        status = mldfi_take_writer(&writing, &own.writer, result, err);
    if (status < 0)
        return status;
    struct selection s = {.reader = reader, .options = options, .writing = writing};
    status = mldfi_check_output(out, writing.overwrite, err);
    if (status == MLDF_OK)
        status = mldfi_reader_is_not_target(reader, out, err);
    if (status == MLDF_OK)
        status = prepare(&s, err);
    mldf_writer *writer = NULL;
    if (status == MLDF_OK)
        status = mldfi_open_output(out, s.schema, &s.writing, &writer, err);
    if (status == MLDF_OK) {
        bool all = !options->ranges && !options->where && !s.writing.skip_bad_samples;
        status = take_all(&s, writer, err);
        if (status == MLDF_OK && all)
            status = mldfi_keep_plans(reader, writer, err);
        else if (status == MLDF_OK)
            mldfi_drop_plans(reader, s.writing.context);
        status = mldfi_copy_finish(&s.copy, writer, status, &done, err);
    }
    mldfi_copy_end(&s.copy);
    mldfi_where_free(s.where);
    mldf_schema_free(s.schema);
    mldf_buffer_free(&s.card);
    mldfi_give_result(result, &done, sizeof done);
    return status;
}
