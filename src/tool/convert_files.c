/* mldf_convert: samples of files of any format into one new file of any format. open_many.c makes one row of samples of the sources, a sink
 * (src/interop/sink.h) takes them, copy.c carries them there. convert.c beside this file is about cells of text and has nothing to do with it. */
#include <stdlib.h>
#include <string.h>

#include "field/field.h"
#include "mldf/tool.h"
#include "os/target.h"
#include "tool/copy.h"
#include "tool/derive.h"
#include "tool/open_many.h"
#include "tool/pack.h"
#include "tool/plan_tokens.h"
#include "tool/recode.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/options.h"

struct convert {
    mldf_convert_options options;
    struct sources sources;
    size_t *chosen;       /* fields of the common schema, in order */
    mldf_schema *schema;  /* of those */
    mldf_schema *recoded; /* the same for the sink, when images are encoded otherwise; or NULL */
    size_t count;
    struct copy copy;
    struct input_watch watch;
};

/* ---- What is wanted ------------------------------------------------------------------------------------------------------ */

static mldf_status choose_format(const char *out, const char *asked, const char **format, mldf_error *err) {
    *format = asked && strcmp(asked, "tbl") == 0 ? "tbl2" : asked ? asked : mldfi_format_of_name(out);
    if (*format)
        return MLDF_OK;
    return mldfi_fail_file(
        err, MLDF_E_ARGUMENT, out,
        "the name does not say which format to write (.mldf, .tbl, .beton, .tar, .tar.gz or .tar.zst); --to does");
}

static bool is_given(const mldf_secret *secret) {
    return secret->key || secret->passphrase;
}

/* Above all no file may come out unencrypted that was to be encrypted. */
static mldf_status check_format_options(const mldf_convert_options *o, const char *format, mldf_error *err) {
    const char *what = NULL;
    if (strcmp(format, "mldf") == 0)
        return MLDF_OK;
    if (is_given(&o->writer->secret))
        what = "encryption";
    else if (o->compress_count || o->writer->dictionary)
        what = "compressed fields";
    else if (o->writer->card && strncmp(format, "tar", 3) != 0)
        what = "card";
    else if (o->writer->no_checksums)
        what = "checksums to leave out";
    else if (o->encode)
        what = "encoding of images";
    else if (o->writer->page_size && strcmp(format, "beton") != 0)
        what = "pages";
    return what ? mldfi_fail(err, MLDF_E_ARGUMENT, "%s has no %s: MLDF files have", format, what) : MLDF_OK;
}

static mldf_status choose_fields(struct convert *c, mldf_error *err) {
    const mldf_convert_options *o = &c->options;
    mldf_status status = MLDF_OK;
    c->count = o->fields ? o->field_count : c->sources.schema->field_count;
    c->chosen = mldfi_alloc_zero(c->count + 1, sizeof *c->chosen, err);
    if (!c->chosen)
        return MLDF_E_MEMORY;
    for (size_t i = 0; i < c->count && status >= 0; i++) {
        c->chosen[i] = i;
        if (o->fields)
            status = mldf_schema_find(c->sources.schema, o->fields[i], &c->chosen[i], err);
    }
    if (status >= 0 && c->count == 0)
        status = mldfi_fail(err, MLDF_E_ARGUMENT, "no field was chosen");
    return status;
}

/* The chosen fields as they are in the common schema, in the chosen order. */
static mldf_status make_schema(struct convert *c, mldf_error *err) {
    mldf_status status = mldf_schema_new(c->options.writer->context, &c->schema, err);
    for (size_t i = 0; i < c->count && status >= 0; i++)
        status = mldfi_schema_take(c->sources.schema, c->chosen[i], c->schema, err);
    return status < 0 ? status
                      : mldfi_apply_compress(c->options.writer->context, c->schema, c->options.compress_fields,
                                             c->options.compress_count, err);
}

static mldf_status open_sink(struct convert *c, const char *format, const char *out, mldf_error *err) {
    const mldf_convert_options *o = &c->options;
    mldf_writer_options writer = *o->writer;
    mldf_buffer card = MLDF_BUFFER_INIT;
    bool mldf = strcmp(format, "mldf") == 0, has_card = mldf || strncmp(format, "tar", 3) == 0;
    if (o->keep_secret && c->sources.encrypted && !is_given(&writer.secret) && mldf)
        writer.secret = o->source_secret;
    else if (o->keep_secret && c->sources.encrypted && !mldf)
        mldfi_warn(writer.context, "%s has no encryption: what was encrypted is written in the clear", format);
    if (mldf && c->sources.sealed && is_given(&writer.secret)) /* with another key too */
        writer.encrypt_all = true;
    if (o->skip_bad_samples) {
        writer.skip_bad_samples = true;
        writer.skipped = mldfi_copy_skipped;
        writer.skipped_user = &c->copy;
    }
    struct sink_options sink = {
        .format = format,
        .path = out,
        .schema = c->recoded ? c->recoded : c->schema,
        .count = o->skip_bad_samples ? MLDF_NONE : c->sources.samples,
        .writer = &writer,
        .card = c->sources.has_card ? (const char *)c->sources.card.data : NULL,
        .card_bytes = c->sources.card.size,
        .keys = c->sources.keys && c->sources.samples > 0,
        .drop_fields = o->drop_fields,
        .lz4 = o->lz4,
        .dataset_version = o->dataset_version,
        .created = o->created,
    };
    mldf_status status = MLDF_OK;
    if (c->sources.icc.count && has_card) {
        /* The card is the first file's or the caller's; the profiles are those of all. */
        status = mldfi_icc_card(&c->sources.icc, writer.card ? writer.card : sink.card,
                                writer.card ? writer.card_bytes : sink.card_bytes, &card, err);
        writer.card = (const char *)card.data;
        writer.card_bytes = card.size;
    }
    if (status >= 0)
        status = mldfi_sink_open(&c->copy.sink, &sink, err);
    mldf_buffer_free(&card);
    return status;
}

static mldf_status begin_copy(struct convert *c, mldf_error *err) {
    struct copy *copy = &c->copy;
    copy->fields =
        (struct copy_fields){.stored = copy->sink->stored, .keys = c->sources.keys, .encode = c->options.encode};
    copy->threads = c->options.writer->threads;
    copy->skip = c->options.skip_bad_samples;
    copy->tell_skip = c->options.skip;
    copy->tell_user = c->options.skip_user;
    copy->watch = &c->watch;
    mldf_status status = mldfi_copy_begin(copy, c->schema, err);
    if (status < 0)
        copy->sink->ops->abort(copy->sink);
    return status;
}

static mldf_status copy_source(struct convert *c, size_t source, mldf_error *err) {
    mldf_reader *reader;
    TRY(mldfi_sources_reader(&c->sources, source, &reader, err));
    mldfi_drop_plans(reader, c->options.writer->context);
    for (size_t i = 0; i < c->count; i++)
        mldfi_fields_set(&c->copy.fields, i, mldf_reader_schema(reader),
                         mldfi_sources_field(&c->sources, reader, c->chosen[i]));
    mldf_status status = mldfi_copy_from_matched(&c->copy, reader, c->sources.list[source].name, err);
    if (status >= 0)
        status = mldfi_copy_all(&c->copy, err);
    c->copy.reader = NULL;
    mldfi_sources_done(&c->sources, source);
    return status;
}

static mldf_status run(struct convert *c, mldf_pack_result *result, mldf_error *err) {
    struct sink_result written = {0, 0};
    mldf_status status = MLDF_OK;
    c->watch.now.bytes_done = 0;
    c->watch.now.samples_total = c->sources.samples;
    for (size_t i = 0; i < c->sources.count && status >= 0; i++)
        status = copy_source(c, i, err);
    if (status >= 0)
        status = mldfi_watch(&c->watch, true, err);
    if (status < 0) {
        c->copy.sink->ops->abort(c->copy.sink);
        return status;
    }
    status = c->copy.sink->ops->finish(c->copy.sink, &written, err);
    if (status < 0)
        mldfi_copy_place(&c->copy, err);
    result->written = written.samples;
    result->bytes = written.bytes;
    result->skipped = c->copy.skipped;
    return status;
}

static void free_convert(struct convert *c) {
    mldfi_copy_end(&c->copy);
    free(c->chosen);
    mldf_schema_free(c->schema);
    mldf_schema_free(c->recoded);
    mldfi_sources_close(&c->sources);
}

mldf_status mldf_convert(const char *const *sources, size_t source_count, const char *out,
                         const mldf_convert_options *options, mldf_pack_result *result, mldf_error *err) {
    static const mldf_convert_options defaults = MLDF_CONVERT_OPTIONS_INIT;
    struct convert c;
    mldf_reader_options reading = MLDF_READER_OPTIONS_INIT;
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_pack_result done = MLDF_PACK_RESULT_INIT;
    const char *format = NULL;
    memset(&c, 0, sizeof c);
    c.sources.spool = (struct os_file)OS_FILE_NONE;
    c.options = defaults;
    mldf_status status = mldfi_take_options(&c.options, sizeof c.options, "mldf_convert_options", options, err);
    if (status == MLDF_OK)
        status = mldfi_take_writer(&writing, &c.options.writer, result, err);
    if (status < 0)
        return status;
    reading.context = writing.context;
    reading.secret = c.options.source_secret;
    reading.verify = true;
    reading.sequential = true;
    reading.token_file = c.options.token_file;
    c.watch.progress = writing.progress;
    c.watch.user = writing.progress_user;
    c.watch.now = (mldf_progress){.phase = "convert", .samples_total = MLDF_NONE, .bytes_total = MLDF_NONE};
    status = choose_format(out, c.options.format, &format, err);
    if (status >= 0)
        status = check_format_options(&c.options, format, err);
    if (status >= 0)
        status = mldfi_recode_check(c.options.encode, c.options.fast_limit, err);
    if (status >= 0 && strcmp(out, "-") != 0)
        status = mldfi_target_check(out, writing.overwrite, err);
    if (status >= 0)
        status = mldfi_sources_open(&c.sources, sources, source_count, out, &reading, &c.watch, err);
    if (status >= 0)
        status = choose_fields(&c, err);
    if (status >= 0)
        status = make_schema(&c, err);
    if (status >= 0 && c.options.encode)
        status = mldfi_recode_schema(c.schema, c.options.writer->context, c.options.encode, c.options.fast_limit,
                                     &c.recoded, err);
    if (status >= 0)
        status = open_sink(&c, format, out, err);
    if (status >= 0)
        status = begin_copy(&c, err);
    if (status >= 0)
        status = run(&c, &done, err);
    free_convert(&c);
    mldfi_give_result(result, &done, sizeof done);
    return status;
}
