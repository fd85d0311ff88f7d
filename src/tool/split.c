/* mldf_split: every sample into exactly one of several new files. The parts are written one after the other, each under a temporary
 * name, and get their names together (os/publish_set.h). split_plan.c says which sample goes where. */
#include "tool/split.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "field/field.h"
#include "os/publish_set.h"
#include "reader/reader.h"
#include "tool/copy.h"
#include "tool/derive.h"
#include "tool/pack.h"
#include "tool/pack_source.h"
#include "tool/plan_tokens.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/options.h"
#include "writer/measure.h"
#include "writer/writer.h"

enum { ASSIGNED_AT_ONCE = 4096 };

struct made_part {
    uint64_t samples, bytes;
};

struct split {
    const mldf_reader *reader;
    const char *pattern;
    const mldf_split_options *options;
    mldf_writer_options writing;
    mldf_schema *schema;
    mldf_buffer card, name;
    struct copy copy;
    struct split_sink {
        struct sample_sink base;
        struct split *split;
        struct writer_sink part;  /* the one that is open; its writer is NULL between parts */
        struct size_meter *meter; /* of parts of a size in bytes, or NULL */
        uint64_t before;          /* samples of the parts that are done */
    } sink;
    struct publish_set set;
    struct made_part *made;
    size_t made_capacity;
    struct input_watch watch;
};

/* ---- Names --------------------------------------------------------------------------------------------------------- */

struct placeholder {
    size_t at, bytes;
    unsigned width;
    bool zeros, plain; /* plain: {} */
};

/* {}, {:d}, {:03d}, %d or %03d at text; false when it is none of them. */
static bool read_placeholder(const char *text, struct placeholder *out) {
    const char *p = text + 1;
    bool braces = *text == '{';
    memset(out, 0, sizeof *out);
    if (braces && *p == '}') {
        out->plain = true;
        out->bytes = 2;
        return true;
    }
    if (braces && *p++ != ':')
        return false;
    out->zeros = *p == '0';
    while (*p >= '0' && *p <= '9' && out->width < 100)
        out->width = out->width * 10 + (unsigned)(*p++ - '0');
    if (*p++ != 'd' || out->width > 20 || (braces && *p++ != '}'))
        return false;
    out->bytes = (size_t)(p - text);
    return true;
}

static mldf_status find_placeholder(const char *pattern, struct placeholder *out, mldf_error *err) {
    size_t found = 0;
    for (size_t i = 0; pattern[i];) {
        struct placeholder here;
        if ((pattern[i] != '{' && pattern[i] != '%') || !read_placeholder(pattern + i, &here)) {
            i++;
            continue;
        }
        *out = here;
        out->at = i;
        i += here.bytes;
        found++;
    }
    if (found == 1)
        return MLDF_OK;
    return mldfi_fail(err, MLDF_E_ARGUMENT,
                      "the pattern '%.200s' has %s: {} or {:03d} or %%03d must be there once, for the part's number",
                      pattern, found ? "more than one placeholder" : "no placeholder");
}

mldf_status mldfi_split_name(const char *pattern, size_t part, const char *name, mldf_buffer *out, mldf_error *err) {
    struct placeholder hole = {0};
    out->size = 0;
    TRY(find_placeholder(pattern, &hole, err));
    if (name && !hole.plain)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "the pattern '%.200s' asks for a number; {} is replaced by a name",
                          pattern);
    mldf_status status = mldf_buffer_append(out, pattern, hole.at, err);
    if (status == MLDF_OK && name)
        status = mldfi_buffer_printf(out, err, "%s", name);
    else if (status == MLDF_OK && hole.zeros)
        status = mldfi_buffer_printf(out, err, "%0*zu", (int)hole.width, part);
    else if (status == MLDF_OK)
        status = mldfi_buffer_printf(out, err, "%*zu", (int)hole.width, part);
    return status < 0 ? status
                      : mldf_buffer_append(out, pattern + hole.at + hole.bytes,
                                           strlen(pattern + hole.at + hole.bytes) + 1, err);
}

static mldf_status check_names(const mldf_split_options *options, mldf_error *err) {
    for (size_t i = 0; options->names && i < options->fraction_count; i++) {
        if (!options->names[i][0] || strchr(options->names[i], '/'))
            return mldfi_fail(err, MLDF_E_ARGUMENT, "'%s' cannot be the name of a part", options->names[i]);
        for (size_t k = 0; k < i; k++)
            if (strcmp(options->names[i], options->names[k]) == 0)
                return mldfi_fail(err, MLDF_E_ARGUMENT, "two parts are named '%s'", options->names[i]);
    }
    return MLDF_OK;
}

/* A name that is taken is better said before the work than after it. */
static mldf_status check_targets(struct split *s, size_t parts, mldf_error *err) {
    mldf_status status = MLDF_OK;
    for (size_t p = 0; status == MLDF_OK && p < parts; p++) {
        status = mldfi_split_name(s->pattern, p, s->options->names ? s->options->names[p] : NULL, &s->name, err);
        if (status == MLDF_OK)
            status = mldfi_check_output((const char *)s->name.data, s->writing.overwrite, err);
    }
    return status;
}

/* ---- One part ------------------------------------------------------------------------------------------------------ */

static mldf_status open_part(struct split *s, mldf_error *err) {
    const char *temporary;
    mldf_writer *writer;
    size_t part = s->set.count;
    if (part == SPLIT_MAX_PARTS)
        return mldfi_fail(err, MLDF_E_LIMIT, "there would be more than %d parts", SPLIT_MAX_PARTS);
    mldf_status status = mldfi_array_reserve(&s->made, &s->made_capacity, part + 1, sizeof *s->made, err);
    if (status == MLDF_OK)
        status = mldfi_split_name(s->pattern, part, s->options->names ? s->options->names[part] : NULL, &s->name, err);
    if (status == MLDF_OK)
        status = mldfi_reader_is_not_target(s->reader, (const char *)s->name.data, err);
    if (status == MLDF_OK)
        status = mldfi_set_add(&s->set, (const char *)s->name.data, &temporary, err);
    if (status == MLDF_OK)
        status = mldfi_writer_open_in_set(temporary, s->schema, &s->writing, &writer, err);
    if (status == MLDF_OK)
        mldfi_sink_over(&s->sink.part, writer);
    return status;
}

/* A part counts its own samples, and the engine those of all. */
static mldf_status of_all_parts(const struct split_sink *s, mldf_status status, mldf_error *err) {
    if (status < 0 && err && err->sample != MLDF_NONE)
        err->sample += s->before;
    return status;
}

/* Finishes the writer that is open, or gives it up. */
static mldf_status close_part(struct split *s, mldf_status status, mldf_error *err) {
    mldf_pack_result result = MLDF_PACK_RESULT_INIT;
    mldf_writer *writer = s->sink.part.writer;
    if (!writer)
        return status;
    s->sink.part.writer = NULL;
    bool copied = status >= 0;
    status = mldfi_end_output(writer, status, &result, err);
    if (copied)
        (void)of_all_parts(&s->sink, status, err);
    s->sink.before = s->copy.appended;
    s->made[s->set.count - 1] = (struct made_part){result.written, result.bytes};
    return status;
}

/* ---- The sink of all parts ------------------------------------------------------------------------------------------ */

/* A part is closed before the sample that would make its file too large. A sample that is too large alone gets a part of its own. */
static mldf_status measure(struct split_sink *s, const mldf_value *values, const char *key, size_t key_bytes,
                           mldf_error *err) {
    uint64_t size = 0, limit = s->split->options->bytes;
    mldf_status status = mldfi_meter_try(s->meter, values, key, key_bytes, &size, err);
    if (status == MLDF_OK && size > limit && s->meter->now.samples > 0) {
        status = close_part(s->split, status, err);
        if (status == MLDF_OK)
            status = open_part(s->split, err);
        mldfi_meter_reset(s->meter);
        if (status == MLDF_OK)
            status = mldfi_meter_try(s->meter, values, key, key_bytes, &size, err);
    }
    if (status == MLDF_OK && size > limit)
        mldfi_warn(s->split->writing.context, "sample %" PRIu64 " alone takes a file of %" PRIu64 " bytes",
                   s->split->copy.appended, size);
    return status;
}

static mldf_status append_sample(struct sample_sink *sink, const struct sink_kit *kit, const mldf_value *values,
                                 const char *key, size_t key_bytes, mldf_error *err) {
    struct split_sink *s = (struct split_sink *)sink;
    mldf_status status = s->meter ? measure(s, values, key, key_bytes, err) : MLDF_OK;
    if (status == MLDF_OK)
        status = of_all_parts(s, s->part.base.ops->append(&s->part.base, kit, values, key, key_bytes, err), err);
    if (s->meter)
        mldfi_meter_keep(s->meter);
    return status;
}

static mldf_status settle_part(struct sample_sink *sink, mldf_error *err) {
    struct split_sink *s = (struct split_sink *)sink;
    return s->part.writer ? of_all_parts(s, s->part.base.ops->settle(&s->part.base, err), err) : MLDF_OK;
}

static const struct sink_ops split_ops = {.append = append_sample, .settle = settle_part};

/* ---- All parts ----------------------------------------------------------------------------------------------------- */

/* The samples of one part when the parts are not consecutive samples. */
struct scattered {
    const struct split_plan *plan;
    size_t part;
    uint64_t samples;
    uint32_t assigned[ASSIGNED_AT_ONCE]; /* of the samples from a multiple of that on */
};

static mldf_status is_of_part(void *user, uint64_t sample, bool *out, mldf_error *err) {
    struct scattered *s = user;
    uint64_t left = s->samples - sample;
    mldf_status status = MLDF_OK;
    if (sample % ASSIGNED_AT_ONCE == 0)
        status = mldfi_split_assigned(s->plan, sample, s->assigned,
                                      left < ASSIGNED_AT_ONCE ? (size_t)left : ASSIGNED_AT_ONCE, err);
    *out = status == MLDF_OK && s->assigned[sample % ASSIGNED_AT_ONCE] == s->part;
    return status;
}

/* close_part where no sample comes after it. */
static mldf_status finish_part(struct split *s, mldf_status copied, mldf_error *err) {
    mldf_status status = close_part(s, copied, err);
    if (copied >= 0 && status < 0)
        mldfi_copy_place(&s->copy, err);
    return status;
}

static mldf_status write_part(struct split *s, const struct copy_rows *rows, mldf_error *err) {
    mldf_status status = open_part(s, err);
    if (status == MLDF_OK)
        status = mldfi_copy_rows(&s->copy, rows, err);
    return finish_part(s, status, err);
}

static mldf_status write_planned(struct split *s, const struct split_plan *plan, mldf_error *err) {
    struct scattered scattered = {.plan = plan, .samples = mldf_reader_sample_count(s->reader)};
    mldf_sample_range range = {0, 0};
    struct copy_rows rows = {&range, 1, plan->scattered ? is_of_part : NULL, &scattered};
    mldf_status status = MLDF_OK;
    for (size_t p = 0; status == MLDF_OK && p < plan->parts; p++) {
        scattered.part = p;
        range.begin = plan->scattered ? 0 : range.end;
        range.end = plan->scattered ? scattered.samples : range.begin + plan->sizes[p];
        status = write_part(s, &rows, err);
    }
    return status;
}

static mldf_status split_planned(struct split *s, mldf_error *err) {
    struct split_plan plan;
    mldf_status status =
        mldfi_split_name(s->pattern, 0, s->options->names ? s->options->names[0] : NULL, &s->name, err);
    if (status < 0)
        return status;
    status = mldfi_split_plan(&plan, s->reader, (const char *)s->name.data, s->options, &s->watch, err);
    if (status == MLDF_OK)
        status = check_targets(s, plan.parts, err);
    if (status == MLDF_OK)
        status = write_planned(s, &plan, err);
    mldfi_split_plan_free(&plan);
    return status;
}

/* Even a part without samples has a header and tables. */
static mldf_status check_bytes(const struct split *s, const struct size_meter *meter, mldf_error *err) {
    uint64_t least = mldfi_meter_bytes(meter);
    if (s->options->bytes >= least)
        return MLDF_OK;
    return mldfi_fail(err, MLDF_E_ARGUMENT,
                      "parts of %" PRIu64 " bytes; here a file without any sample has %" PRIu64 " already",
                      s->options->bytes, least);
}

static mldf_status split_by_bytes(struct split *s, mldf_error *err) {
    struct size_meter meter;
    if (s->options->writer->dictionary)
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "what a dictionary saves is not known before: not with a size in bytes");
    s->writing.dictionary = false; /* though the source has one */
    TRY(mldfi_meter_begin(&meter, s->schema, &s->writing, err));
    mldf_status status = check_bytes(s, &meter, err);
    if (status == MLDF_OK)
        status = open_part(s, err);
    s->sink.meter = &meter;
    if (status == MLDF_OK)
        status = mldfi_copy_all(&s->copy, err);
    mldfi_meter_free(&meter);
    return finish_part(s, status, err);
}

static mldf_status check_options(const mldf_split_options *options, mldf_error *err) {
    int ways = (options->count > 0) + (options->bytes > 0) + (options->fraction_count > 0);
    if (ways != 1)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "exactly one of count, bytes and fractions is needed");
    if (options->names && !options->fraction_count)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "only fractions have names");
    if (options->bytes && (options->by || options->shuffle))
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "parts of a size in bytes are consecutive samples: no field, no shuffle");
    return MLDF_OK;
}

/* Part 0's name stands for the set: the next split to the same names finds what one that was killed left, and ends it. */
static mldf_status begin_set(struct split *s, mldf_error *err) {
    set_end ended;
    mldf_status status = check_names(s->options, err);
    if (status == MLDF_OK)
        status = mldfi_split_name(s->pattern, 0, s->options->names ? s->options->names[0] : NULL, &s->name, err);
    if (status == MLDF_OK)
        status = mldfi_set_begin(&s->set, (const char *)s->name.data, s->writing.overwrite, &ended, err);
    if (status == MLDF_OK && ended != SET_END_NONE)
        mldfi_warn(s->writing.context, "%s: an earlier split to these names was killed; %s", (const char *)s->name.data,
                   ended == SET_END_FINISHED ? "its parts were complete and have their names now"
                                             : "its unfinished parts are removed");
    return status;
}

static mldf_status split(struct split *s, mldf_error *err) {
    mldf_status status = mldfi_derive_schema(s->reader, s->writing.context, NULL, 0, &s->schema, err);
    if (status == MLDF_OK)
        status = mldfi_apply_compress(s->writing.context, s->schema, s->options->compress_fields,
                                      s->options->compress_count, err);
    if (status == MLDF_OK)
        status = mldfi_derive_options(s->reader, s->schema, &s->writing, &s->card, err);
    s->sink.base = (struct sample_sink){&split_ops, true};
    s->sink.split = s;
    s->copy.sink = &s->sink.base;
    if (status == MLDF_OK)
        status = mldfi_copy_begin_one(&s->copy, s->reader, s->schema, &s->watch, err);
    if (status == MLDF_OK)
        mldfi_drop_plans(s->reader, s->writing.context);
    if (status == MLDF_OK)
        status = begin_set(s, err);
    if (status == MLDF_OK)
        status = s->options->bytes ? split_by_bytes(s, err) : split_planned(s, err);
    return status < 0 ? status : mldfi_set_publish(&s->set, err);
}

mldf_status mldf_split(const mldf_reader *reader, const char *pattern, const mldf_split_options *given,
                       mldf_pack_result *result, mldf_error *err) {
    mldf_split_options own = MLDF_SPLIT_OPTIONS_INIT;
    const mldf_split_options *options = &own;
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_pack_result done = MLDF_PACK_RESULT_INIT;
    if (!reader || !pattern)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "split needs a reader and a pattern");
    mldf_status status = mldfi_take_options(&own, sizeof own, "mldf_split_options", given, err);
    if (status == MLDF_OK)
        status = mldfi_take_writer(&writing, &own.writer, result, err);
    if (status < 0)
        return status;
    TRY(check_options(options, err));
    struct split s = {
        .reader = reader, .pattern = pattern, .options = options, .writing = writing, .set = PUBLISH_SET_NONE};
    mldfi_watch_begin(&s.watch, &s.writing, "split", mldf_reader_sample_count(reader));
    status = split(&s, err);
    for (size_t i = 0; status == MLDF_OK && i < s.set.count; i++) {
        mldf_part part = {s.set.items[i].target, s.made[i].samples, s.made[i].bytes};
        done.written += part.samples;
        done.bytes += part.bytes;
        if (options->part)
            options->part(options->part_user, &part);
    }
    mldfi_set_free(&s.set);
    mldfi_copy_end(&s.copy);
    mldf_schema_free(s.schema);
    mldf_buffer_free(&s.card);
    mldf_buffer_free(&s.name);
    free(s.made);
    mldfi_give_result(result, &done, sizeof done);
    return status;
}
