/* tar archives into a writer: a sample for each key, a field for each extension, or the fields of the schema that an archive of ours has
 * (tar_about.h). Two looks: the first 10,000 samples say which fields
 * there are and which of them may be missing; then everything is packed, in the archives' order. A pipe is looked at as far as its
 * beginning fits in memory. See interop/tar.h and tee.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field/field.h"
#include "interop/tar_about.h"
#include "interop/tar_npz.h"
#include "tool/pack.h"
#include "tool/tee.h"
#include "util/buffer.h"
#include "util/error.h"
#include "writer/settle.h"

/* What a member of a compressed archive may unpack to; of a plain one, 256 times as much. */
#define MEMBER_LIMIT ((uint64_t)UINT32_MAX)

struct archive_field {
    char *extension;
    uint64_t seen;
    bool here; /* in the sample in hand */
    struct npy_common arrays;
    mldf_buffer record; /* of a file that is stored as it is */
    mldf_buffer moved;  /* elements of an array that is in another order in its file */
};

struct tar_run {
    struct feed *feed;
    size_t first, count;     /* of the feed's sources */
    bool appending;          /* the fields are those of a file that is there */
    bool without_keys;       /* as that file has none */
    struct tee *tees;        /* one for each source; open only while in use, or when a pipe waits for its second look */
    struct tar_input *input; /* of the archive in hand; the group needs it until the next one has begun */
    struct archive_field *fields;
    size_t field_count, field_capacity;
    uint64_t looked;      /* samples of the first look */
    uint64_t done;        /* samples of the second */
    uint64_t passed_over; /* files of the look before that are no part of a sample */
    uint64_t bytes_before;
    struct tar_about about; /* of all archives: the schema where all have the same, the first card */
    const char *archive;    /* in hand, for messages */
    char place[512];        /* of the sample in hand */
};

static const char *shown(const char *source) {
    return strcmp(source, "-") == 0 ? "(standard input)" : source;
}

static size_t find_extension(const struct tar_run *run, const char *extension) {
    size_t i = 0;
    while (i < run->field_count && strcmp(run->fields[i].extension, extension) != 0)
        i++;
    if (i == run->field_count && run->about.schema) {
        size_t found = mldfi_tar_about_field(run->feed->schema ? run->feed->schema : run->about.schema, extension);
        return found == SIZE_MAX ? i : found;
    }
    return i;
}

static mldf_status add_extension(struct tar_run *run, const char *extension, mldf_error *err) {
    mldf_status status =
        mldfi_array_reserve(&run->fields, &run->field_capacity, run->field_count + 1, sizeof *run->fields, err);
    char *copy = status < 0 ? NULL : mldfi_copy_text(extension, strlen(extension), err);
    if (!copy)
        return MLDF_E_MEMORY;
    run->fields[run->field_count++] = (struct archive_field){.extension = copy, .record = MLDF_BUFFER_INIT};
    return MLDF_OK;
}

/* ---- Values -------------------------------------------------------------------------------------------------------------------- */

static void on_file_warning(void *user, const char *message) {
    const struct tar_run *run = user;
    mldfi_feed_warn(run->feed, run->place, message);
}

/* Formats that are images to WebDataset and not to us are stored as they are: mode 255, as a tar that is read shows them. */
static mldf_status file_value(struct tar_run *run, struct archive_field *field, const struct schema_field *info,
                              const struct tar_part *part, mldf_value *out, mldf_error *err) {
    const struct field_files *files = info->type->files;
    const struct field_type *type;
    char name[80];
    const char *dot = strrchr(part->extension, '.');
    snprintf(name, sizeof name, "x.%.70s", dot ? dot + 1 : part->extension);
    out->kind = MLDF_KIND_BYTES;
    mldf_status status = files->look(name, part->data, (size_t)part->bytes, on_file_warning, run, err);
    /* What a field with arguments holds was made by them before, and is not made again. */
    bool made = run->about.schema && files->keep && (status >= 0 || strcmp(name, "x.bin") == 0);
    if (!made && (status >= 0 || status == MLDF_E_MEMORY || !files->keep ||
                  mldfi_tar_file(part->extension, &type) != ARCHIVE_KEPT || type->files != files))
        return status;
    TRY(mldfi_buffer_resize(&field->record, info->info.record_bytes, err));
    files->keep(field->record.data, 0, part->data, part->bytes);
    out->kind = MLDF_KIND_STORED;
    out->record = field->record.data;
    out->record_bytes = info->info.record_bytes;
    return MLDF_OK;
}

static mldf_status part_value(struct tar_run *run, size_t index, const struct tar_part *part, mldf_error *err) {
    mldf_value *out = &run->feed->values[index];
    const struct schema_field *info = &run->feed->schema->fields[index];
    const uint8_t *data = part->data ? part->data : (const uint8_t *)"";
    const mldf_context *context = run->feed->options->writer->context;
    run->fields[index].moved.size = 0;
    mldf_status status = mldfi_tar_value(info, part->extension, data, part->bytes, context ? context->max_decoded : 0,
                                         &run->fields[index].moved, out, err);
    return status >= 0 && info->type && info->type->files ? file_value(run, &run->fields[index], info, part, out, err)
                                                          : status;
}

static mldf_status sample_values(struct tar_run *run, const struct tar_sample *sample, mldf_error *err) {
    struct feed *feed = run->feed;
    memset(feed->values, 0, feed->field_count * sizeof *feed->values);
    for (size_t i = 0; i < sample->part_count; i++) {
        const struct tar_part *part = &sample->parts[i];
        size_t at = find_extension(run, part->extension);
        if (at == run->field_count && run->appending)
            return mldfi_fail(err, MLDF_E_TYPE, "a part '.%.80s', and the file has no field of that name",
                              part->extension);
        if (at == run->field_count)
            return mldfi_fail(
                err, MLDF_E_TYPE,
                "a part '.%.80s', and no sample before had one: the fields come from the first %llu samples",
                part->extension, (unsigned long long)run->looked);
        if (feed->values[at].kind != MLDF_KIND_NULL)
            return mldfi_fail(err, MLDF_E_KEY, "a second part of the field %s: '.%.80s'", run->fields[at].extension,
                              part->extension);
        mldf_status status = part_value(run, at, part, err);
        if (status < 0) {
            mldfi_error_prefix(err, ".%.80s", part->extension);
            return status;
        }
    }
    for (size_t i = 0; i < feed->field_count; i++)
        if (feed->values[i].kind == MLDF_KIND_NULL &&
            !(mldf_schema_field(feed->schema, i)->flags & MLDF_FIELD_NULLABLE))
            return mldfi_fail(err, MLDF_E_NULL, "no part '.%.80s', and the field is not nullable",
                              run->fields[i].extension);
    return MLDF_OK;
}

/* ---- Archives ------------------------------------------------------------------------------------------------------------------ */

static void on_group_warning(void *user, const char *message) {
    const struct tar_run *run = user;
    mldfi_feed_warn(run->feed, run->archive, message);
}

typedef mldf_status (*sample_fn)(struct tar_run *run, size_t source, const struct tar_sample *sample, mldf_error *err);

static mldf_status each_sample(struct tar_run *run, struct tar_group *group, size_t source, sample_fn fn,
                               mldf_error *err) {
    const char *path = run->feed->sources[source];
    struct tee *tee = &run->tees[source];
    struct tar_input *input = NULL;
    struct tar_sample sample;
    mldf_status status = MLDF_OK;
    run->archive = shown(path);
    if (tee->name)
        status = mldfi_tee_again(tee, err);
    else
        status = mldfi_tee_open(tee, path, &run->feed->watch, err);
    if (status == MLDF_OK)
        status = mldfi_tar_input_pull(&input, mldfi_tee_pull, tee, err);
    if (status == MLDF_OK)
        mldfi_tar_input_limit(input, mldfi_max_unpacked(run->feed->options->writer->context));
    if (status == MLDF_OK)
        status = mldfi_tar_group_begin(group, input, run->archive, err);
    if (input) {
        mldfi_tar_input_free(run->input); /* the group asked it for its last position in begin */
        run->input = input;
    }
    while (status == MLDF_OK) {
        status = mldfi_tar_group_next(group, &sample, err);
        if (status == MLDF_OK)
            status = fn(run, source, &sample, err);
        else if (status < 0)
            mldfi_error_path(err, run->archive);
    }
    return status;
}

static mldf_status look(struct tar_run *run, size_t source, const struct tar_sample *sample, mldf_error *err) {
    for (size_t i = 0; i < run->field_count; i++)
        run->fields[i].here = false;
    for (size_t i = 0; i < sample->part_count; i++) {
        size_t at = find_extension(run, sample->parts[i].extension);
        TRY(at == run->field_count ? add_extension(run, sample->parts[i].extension, err) : MLDF_OK);
        run->fields[at].seen += !run->fields[at].here;
        run->fields[at].here = true;
        if (sample->parts[i].known_bytes)
            mldfi_npz_look(&run->fields[at].arrays, sample->parts[i].data, sample->parts[i].known_bytes, sample->key);
    }
    run->looked++;
    bool enough = run->looked >= INFER_ROWS || mldfi_tee_full(&run->tees[source]);
    return enough ? MLDF_END : mldfi_watch(&run->feed->watch, false, err);
}

static mldf_status pack_sample(struct tar_run *run, size_t source, const struct tar_sample *sample, mldf_error *err) {
    struct feed *feed = run->feed;
    mldf_error why;
    if (run->done++ < feed->start.offset)
        return mldfi_watch(&feed->watch, false, err); /* packed before the interruption */
    snprintf(run->place, sizeof run->place, "%.300s: %.200s", shown(feed->sources[source]), sample->key);
    feed->watch.now.bytes_done = run->bytes_before + run->tees[source].position;
    mldf_status status = run->without_keys
                             ? MLDF_OK
                             : mldfi_tar_check_key(sample->key, sample->key_bytes, sample->parts[0].offset, &why);
    if (status >= 0)
        status = sample_values(run, sample, &why);
    if (status < 0)
        status = mldfi_feed_refuse(feed, run->place, &why, err);
    else
        status = mldfi_feed_submit(feed, run->place, run->without_keys ? NULL : sample->key,
                                   run->without_keys ? 0 : sample->key_bytes, err);
    return status == MLDF_OK ? mldfi_feed_step(feed, run->done, err) : status;
}

static mldf_status all_samples(struct tar_run *run, sample_fn fn, mldf_error *err) {
    const mldf_context *context = run->feed->options->writer->context;
    uint64_t limit = context && context->max_decoded ? context->max_decoded : MEMBER_LIMIT;
    struct tar_group_options options = {
        .member_max = MEMBER_LIMIT * 256, .decoded_max = limit, .headers_only = fn == look};
    struct tar_group *group;
    if (fn == pack_sample) {
        options.warn = on_group_warning;
        options.user = run;
    }
    mldf_status status = mldfi_tar_group_new(&group, &options, err);
    for (size_t i = run->first; status == MLDF_OK && i < run->first + run->count; i++) {
        status = each_sample(run, group, i, fn, err);
        if (fn == pack_sample || run->tees[i].seekable) {
            mldfi_tee_close(&run->tees[i]);
            run->tees[i].name = NULL;
        }
        run->bytes_before += run->tees[i].position;
        if (status == MLDF_END && !(fn == look && (run->looked >= INFER_ROWS || mldfi_tee_full(&run->tees[i]))))
            status = MLDF_OK;
    }
    run->passed_over = group ? mldfi_tar_group_passed_over(group) : 0;
    mldfi_tar_group_free(group);
    mldfi_tar_input_free(run->input);
    run->input = NULL;
    return status == MLDF_END ? MLDF_OK : status;
}

/* ---- The fields ------------------------------------------------------------------------------------------------------------------ */

static mldf_status add_by_extension(const struct tar_run *run, const struct archive_field *field, mldf_schema *schema,
                                    uint16_t flags, mldf_error *err) {
    uint16_t type = mldfi_tar_type(field->extension);
    char arguments[256];
    char message[400];
    if (type != MLDF_NDARRAY || !field->arrays.problem[0])
        return mldf_schema_add(schema, field->extension, type,
                               mldfi_npy_arguments(&field->arrays, arguments) ? arguments : NULL, flags, err);
    snprintf(message, sizeof message, "field %.100s is read as bytes, not as arrays: %s", field->extension,
             field->arrays.problem);
    mldfi_feed_warn(run->feed, shown(run->feed->sources[run->first]), message);
    return mldf_schema_add(schema, field->extension, MLDF_BYTES, NULL, flags, err);
}

static mldf_status infer_schema(struct tar_run *run, mldf_schema **out, mldf_error *err) {
    const mldf_pack_options *options = run->feed->options;
    mldf_status status = mldf_schema_new(options->writer->context, out, err);
    /* No file at all: no samples, and a field because a file needs one. */
    if (status == MLDF_OK && run->field_count == 0 && run->passed_over == 0)
        return mldf_schema_add(*out, TAR_EMPTY_FIELD, MLDF_BYTES, NULL, 0, err);
    if (status == MLDF_OK && run->field_count == 0)
        status = mldfi_fail_file(err, MLDF_E_TYPE, shown(run->feed->sources[0]),
                                 "holds no samples (files with a name and an extension)");
    for (size_t i = 0; status == MLDF_OK && i < run->field_count; i++) {
        const struct archive_field *field = &run->fields[i];
        uint16_t flags = field->seen < run->looked ? MLDF_FIELD_NULLABLE : 0;
        const struct field_type *type;
        if (mldfi_tar_file(field->extension, &type) != ARCHIVE_BYTES)
            status = mldfi_add_file_field(*out, field->extension, type, options, flags, err);
        else
            status = add_by_extension(run, field, *out, flags, err);
        if (status < 0)
            mldfi_error_path(err, shown(run->feed->sources[0]));
    }
    return status;
}

/* The schema's names are the extensions. */
static mldf_status use_schema(struct tar_run *run, mldf_schema **out, mldf_error *err) {
    mldf_status status = mldfi_schema_copy(run->feed->options->schema, out, err);
    for (size_t i = 0; status == MLDF_OK && i < mldf_schema_field_count(*out); i++)
        status = add_extension(run, mldf_schema_field(*out, i)->name, err);
    return status;
}

/* The archives' own schema, with the fields nullable that some sample of the first look lacks, and then what it does not have. */
static mldf_status use_about(struct tar_run *run, mldf_schema **out, mldf_error *err) {
    size_t own = mldf_schema_field_count(run->about.schema);
    mldf_status status = MLDF_OK;
    for (size_t i = 0; status == MLDF_OK && i < own; i++)
        status = add_extension(run, mldf_schema_field(run->about.schema, i)->name, err);
    if (status == MLDF_OK)
        status = all_samples(run, look, err);
    if (status == MLDF_OK)
        status = mldf_schema_new(run->feed->options->writer->context, out, err);
    for (size_t i = 0; status == MLDF_OK && i < run->field_count; i++) {
        const mldf_field *field = mldf_schema_field(run->about.schema, i);
        uint16_t flags = run->fields[i].seen < run->looked ? MLDF_FIELD_NULLABLE : 0;
        if (i >= own)
            status = add_by_extension(run, &run->fields[i], *out, flags, err);
        else
            status = mldf_schema_add(*out, field->name, field->type_id, field->arguments,
                                     flags | (field->flags & MLDF_FIELD_NULLABLE), err);
    }
    return status;
}

/* What the archives say of themselves: a schema counts where all have it, word for word. */
static mldf_status read_about(struct tar_run *run, mldf_error *err) {
    const mldf_context *context = run->feed->options->writer->context;
    mldf_status status = MLDF_OK;
    bool same = true;
    for (size_t i = run->first; status == MLDF_OK && i < run->first + run->count; i++) {
        const char *path = run->feed->sources[i];
        struct tar_input *input = NULL;
        struct tar_about one = {0};
        status = run->tees[i].name ? MLDF_OK : mldfi_tee_open(&run->tees[i], path, &run->feed->watch, err);
        if (status == MLDF_OK)
            status = mldfi_tar_input_pull(&input, mldfi_tee_pull, &run->tees[i], err);
        if (status == MLDF_OK)
            mldfi_tar_input_limit(input, mldfi_max_unpacked(context));
        if (status == MLDF_OK)
            status = mldfi_tar_about_read(&one, input, context, shown(path), err);
        mldfi_tar_input_free(input);
        if (run->tees[i].seekable) {
            mldfi_tee_close(&run->tees[i]);
            run->tees[i].name = NULL;
        } else if (status == MLDF_OK) {
            status = mldfi_tee_rewind(&run->tees[i], err);
        }
        const mldf_buffer *a = &run->about.schema_text, *b = &one.schema_text;
        if (i == run->first) {
            run->about = one;
            memset(&one, 0, sizeof one);
        } else if (a->size != b->size || (a->size && memcmp(a->data, b->data, a->size) != 0)) {
            same = false;
        }
        if (status == MLDF_OK && one.card && (!run->about.card || strcmp(one.card, run->about.card) != 0))
            mldfi_feed_warn(run->feed, shown(path), "its card differs from that of the first archive, which is kept");
        mldfi_tar_about_free(&one);
    }
    if (!same) {
        mldfi_feed_warn(run->feed, shown(run->feed->sources[run->first]),
                        "the archives have different schemas: names and types of fields come from the extensions");
        mldf_schema_free(run->about.schema);
        run->about.schema = NULL;
    }
    return status;
}

static mldf_status make_fields(struct tar_run *run, mldf_schema **out, mldf_error *err) {
    struct feed *feed = run->feed;
    mldf_status status = MLDF_OK;
    if (!feed->options->schema)
        status = read_about(run, err);
    if (status < 0)
        return status;
    if (feed->options->schema)
        status = use_schema(run, out, err);
    else if (run->about.schema)
        status = use_about(run, out, err);
    else if ((status = all_samples(run, look, err)) == MLDF_OK)
        status = infer_schema(run, out, err);
    if (status == MLDF_OK)
        status = mldfi_feed_icc(feed, *out, err);
    if (status == MLDF_OK)
        status = mldfi_apply_compress(feed->options->writer->context, *out, feed->options->compress_fields,
                                      feed->options->compress_count, err);
    if (status < 0)
        return status;
    run->bytes_before = 0;
    return mldfi_feed_make_values(feed, *out, err);
}

static mldf_status begin_run(struct tar_run *run, struct feed *feed, size_t first, size_t count, mldf_error *err) {
    memset(run, 0, sizeof *run);
    run->feed = feed;
    run->first = first;
    run->count = count;
    run->tees = mldfi_alloc_zero(feed->source_count, sizeof *run->tees, err);
    return run->tees ? MLDF_OK : MLDF_E_MEMORY;
}

static void end_run(struct tar_run *run) {
    for (size_t i = 0; run->tees && i < run->feed->source_count; i++)
        if (run->tees[i].name)
            mldfi_tee_close(&run->tees[i]);
    for (size_t i = 0; i < run->field_count; i++) {
        free(run->fields[i].extension);
        mldf_buffer_free(&run->fields[i].record);
        mldf_buffer_free(&run->fields[i].moved);
    }
    mldfi_tar_about_free(&run->about);
    free(run->fields);
    free(run->tees);
}

mldf_status mldfi_pack_tars(struct feed *feed, const char *out, mldf_pack_result *result, mldf_error *err) {
    struct tar_run run;
    mldf_schema *schema = NULL;
    mldf_status status = begin_run(&run, feed, 0, feed->source_count, err);
    if (status == MLDF_OK)
        status = make_fields(&run, &schema, err);
    mldf_writer_options writer = *feed->options->writer;
    if (status == MLDF_OK && !writer.card && run.about.card) {
        writer.card = run.about.card;
        writer.card_bytes = strlen(run.about.card);
    }
    if (status == MLDF_OK)
        status = mldfi_feed_open_writer(feed, out, schema, &writer, err);
    if (status == MLDF_OK)
        status = mldfi_feed_resume(feed, err);
    if (status == MLDF_OK)
        status = all_samples(&run, pack_sample, err);
    status = mldfi_feed_end(feed, status, result, err);
    end_run(&run);
    mldf_schema_free(schema);
    feed->schema = NULL;
    return status;
}

mldf_status mldfi_append_tars(struct feed *feed, size_t first, size_t count, mldf_error *err) {
    const mldf_schema *schema = mldf_writer_schema(feed->writer);
    struct tar_run run;
    mldf_status status = begin_run(&run, feed, first, count, err);
    run.appending = true;
    run.without_keys = feed->keyless;
    for (size_t i = 0; status == MLDF_OK && i < mldf_schema_field_count(schema); i++)
        status = add_extension(&run, mldf_schema_field(schema, i)->name, err);
    if (status == MLDF_OK)
        status = mldfi_feed_make_values(feed, schema, err);
    if (status == MLDF_OK)
        status = all_samples(&run, pack_sample, err);
    end_run(&run);
    return status;
}
