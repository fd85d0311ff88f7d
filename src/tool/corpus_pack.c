/* A corpus into a writer: see corpus.h. Utterances of one recording that are parts of it become one row, in the order in which the manifest names the
 * recordings first. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "field/audio_type.h"
#include "os/file.h"
#include "tool/corpus.h"
#include "tool/folder_pack.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/json.h"

__extension__ typedef unsigned __int128 wide;
static const double overshoot_seconds = 0.5; /* Kaldi's own tolerance for parts that pass the end */

struct corpus_run {
    struct feed *feed;
    struct corpus corpus;
    size_t *order;  /* items: those of one recording together */
    size_t *groups; /* first of each group in order; group_count + 1 */
    size_t group_count;
    bool segments; /* rows are recordings */
    const struct field_type *type;
    size_t first_column; /* of the schema's fields */
    mldf_buffer file, made, spans, lists[CORPUS_COLUMNS + 1];
    struct corpus_audio audio;
    bool opened; /* audio is of the file in hand */
    char *place;
    mldf_buffer place_text;
};

/* ---- Groups --------------------------------------------------------------------------------------------------------------------- */

struct place_of {
    const struct corpus_item *item;
    size_t index, first;
};

static int by_recording(const void *a, const void *b) {
    const struct place_of *x = a, *y = b;
    int order = strcmp(x->item->manifest, y->item->manifest);
    order = order ? order : strcmp(x->item->recording, y->item->recording);
    return order ? order : x->index < y->index ? -1 : x->index > y->index;
}

static int by_first(const void *a, const void *b) {
    const struct place_of *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static bool same_recording(const struct place_of *a, const struct place_of *b) {
    return strcmp(a->item->manifest, b->item->manifest) == 0 && strcmp(a->item->recording, b->item->recording) == 0;
}

static mldf_status make_groups(struct corpus_run *run, mldf_error *err) {
    size_t count = run->corpus.count;
    struct place_of *places = mldfi_alloc_zero(count + 1, sizeof *places, err);
    run->order = mldfi_alloc_zero(count + 1, sizeof *run->order, err);
    run->groups = mldfi_alloc_zero(count + 1, sizeof *run->groups, err);
    if (!places || !run->order || !run->groups) {
        free(places);
        return MLDF_E_MEMORY;
    }
    for (size_t i = 0; i < count; i++)
        places[i] = (struct place_of){&run->corpus.items[i], i, i};
    if (run->segments) {
        qsort(places, count, sizeof *places, by_recording);
        for (size_t i = 1; i < count; i++)
            if (same_recording(&places[i - 1], &places[i]))
                places[i].first = places[i - 1].first;
        qsort(places, count, sizeof *places, by_first);
    }
    for (size_t i = 0; i < count; i++) {
        run->order[i] = places[i].index;
        if (i == 0 || !run->segments || places[i].first != places[i - 1].first)
            run->groups[run->group_count++] = i;
    }
    run->groups[run->group_count] = count;
    free(places);
    return MLDF_OK;
}

/* ---- Fields --------------------------------------------------------------------------------------------------------------------- */

/* What the names of the files say, as of a folder. */
static mldf_status find_type(struct corpus_run *run, mldf_error *err) {
    struct folder_list list = {0};
    list.count = run->corpus.count;
    list.entries = mldfi_alloc_zero(list.count + 1, sizeof *list.entries, err);
    if (!list.entries)
        return MLDF_E_MEMORY;
    for (size_t i = 0; i < list.count; i++)
        list.entries[i].path = run->corpus.items[i].path; /* borrowed */
    mldf_status status = mldfi_folder_type(&list, true, &run->type, err);
    if (status >= 0 && (!run->type || run->type->files != &mldfi_audio_files))
        run->type = &mldfi_type_audio_waveform; /* archives, and names without an ending */
    free(list.entries);
    return status;
}

static bool is_missing(const struct corpus *corpus, size_t column) {
    for (size_t i = 0; i < corpus->count; i++)
        if (!corpus->items[i].values[column])
            return true;
    return false;
}

static mldf_status make_fields(struct corpus_run *run, mldf_schema **out, mldf_error *err) {
    static const char along[] = "{\"along\":\"segments\"}";
    const mldf_pack_options *options = run->feed->options;
    mldf_status status = mldf_schema_new(options->writer->context, out, err);
    if (status >= 0)
        status = mldfi_add_file_field(*out, "audio", run->type, options, 0, err);
    if (status >= 0 && run->segments)
        status = mldf_schema_add(*out, "segments", MLDF_NDARRAY, "{\"dtype\":\"<i8\",\"shape\":[null,2]}", 0, err);
    if (status >= 0 && run->segments)
        status = mldf_schema_add(*out, "utterance", MLDF_JSON, along, 0, err);
    run->first_column = run->segments ? 3 : 1;
    for (size_t c = 0; c < run->corpus.column_count && status >= 0; c++) {
        bool nullable = !run->segments && is_missing(&run->corpus, c);
        status = mldf_schema_add(*out, run->corpus.columns[c], run->segments ? MLDF_JSON : MLDF_TEXT,
                                 run->segments ? along : NULL, nullable ? MLDF_FIELD_NULLABLE : 0, err);
    }
    if (status >= 0)
        status = mldfi_apply_compress(options->writer->context, *out, options->compress_fields, options->compress_count,
                                      err);
    return status < 0 ? status : mldfi_feed_make_values(run->feed, *out, err);
}

/* ---- Rows ------------------------------------------------------------------------------------------------------------------------ */

static void on_warning(void *user, const char *message) {
    const struct corpus_run *run = user;
    mldfi_feed_warn(run->feed, run->place, message);
}

static mldf_status name_place(struct corpus_run *run, const struct corpus_item *item, mldf_error *err) {
    run->place_text.size = 0;
    mldf_status status = mldfi_buffer_printf(&run->place_text, err, "%s:%" PRIu64, item->manifest, item->line);
    if (status >= 0)
        status = mldf_buffer_append(&run->place_text, "", 1, err);
    run->place = (char *)run->place_text.data;
    return status;
}

/* A member of an archive. */
static mldf_status read_member(struct corpus_run *run, const struct corpus_item *item, mldf_error *err) {
    int fd = open(item->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return mldfi_fail_open(item->path, errno, err);
    mldf_status status = mldfi_buffer_resize(&run->file, (size_t)item->bytes, err);
    for (size_t at = 0; status >= 0 && at < item->bytes;) {
        ssize_t got = pread(fd, run->file.data + at, (size_t)item->bytes - at, (off_t)(item->offset + at));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            status = got < 0 ? mldfi_fail_file_errno(err, errno, item->path, "cannot read")
                             : mldfi_fail_file(err, MLDF_E_TRUNCATED, item->path, "ends inside a recording");
        else
            at += (size_t)got;
    }
    close(fd);
    return status < 0 ? status
                      : run->type->files->look(item->key, run->file.data, run->file.size, on_warning, run, err);
}

static mldf_status read_recording(struct corpus_run *run, const struct corpus_item *item, mldf_error *err) {
    struct feed *feed = run->feed;
    if (item->bytes != MLDF_NONE)
        return read_member(run, item, err);
    mldf_status status = mldfi_files_enter(&feed->files, item->manifest, err);
    feed->files.warn = on_warning;
    feed->files.warn_user = run;
    if (status < 0)
        return status;
    return mldfi_files_read(&feed->files, item->path, strlen(item->path), run->type->files,
                            run->type->files->most_bytes, &run->file, err);
}

#define MOST_SECONDS 4e9

static uint64_t at_second(double seconds, uint32_t rate) {
    return (uint64_t)(seconds * rate + 0.5);
}

/* [*from, *to) of the item in samples of its recording, at the recording's own rate. */
static mldf_status find_part(struct corpus_run *run, const struct corpus_item *item, uint64_t *from, uint64_t *to,
                             mldf_error *err) {
    const mldf_audio_info *info = &run->audio.info;
    char message[160];
    *from = 0;
    *to = info->samples;
    if (!item->part)
        return MLDF_OK;
    /* More seconds than any recording has, which no integer holds, are refused below. */
    *from = item->begin < MOST_SECONDS ? at_second(item->begin, info->rate) : UINT64_MAX;
    if (item->end >= 0)
        *to = item->end < MOST_SECONDS ? at_second(item->end, info->rate) : UINT64_MAX;
    if (*from > info->samples ||
        (*to > info->samples && (double)(*to - info->samples) > overshoot_seconds * info->rate))
        return mldfi_fail(err, MLDF_E_RANGE, "the part from %g to %g s of a recording of %g s", item->begin, item->end,
                          (double)info->samples / info->rate);
    if (*to > info->samples) {
        snprintf(message, sizeof message, "the part ends %g s after the recording's end, and is cut there",
                 (double)(*to - info->samples) / info->rate);
        on_warning(run, message);
        *to = info->samples;
    }
    *to = *to < *from ? *from : *to;
    return MLDF_OK;
}

/* The recording's value: the file as it is, or what was made of it. */
static mldf_status set_audio(struct corpus_run *run, const struct corpus_item *item, mldf_error *err) {
    const mldf_pack_options *options = run->feed->options;
    bool cut = item->part && !run->segments, change = options->audio_rate || options->audio_mono;
    const mldf_buffer *file = &run->file;
    if (cut || change) {
        uint64_t from = 0, to = run->audio.info.samples;
        mldf_status status = cut ? find_part(run, item, &from, &to, err) : MLDF_OK;
        if (status >= 0)
            status = mldfi_corpus_audio_wav(&run->audio, from, to, options->audio_rate, options->audio_mono, &run->made,
                                            err);
        if (status < 0)
            return status;
        file = &run->made;
    }
    run->feed->values[0] = (mldf_value){.kind = MLDF_KIND_BYTES, .data = file->data, .bytes = file->size};
    return MLDF_OK;
}

/* With another rate the segments are places of the new one. */
static uint64_t rescaled(const struct corpus_run *run, uint64_t at) {
    uint32_t rate = run->feed->options->audio_rate, own = run->audio.info.rate;
    if (!rate || rate == own)
        return at;
    return (uint64_t)(((wide)at * rate + own / 2) / own);
}

static mldf_status add_to_list(mldf_buffer *list, const char *text, mldf_error *err) {
    mldf_status status = mldf_buffer_append(list, list->size ? "," : "[", 1, err);
    if (status >= 0)
        status = text ? mldfi_json_append_string(list, text, strlen(text), err)
                      : mldfi_buffer_append_text(list, "null", err);
    return status;
}

/* A recording and its parts. */
static mldf_status set_segments(struct corpus_run *run, size_t group, mldf_error *err) {
    size_t columns = run->corpus.column_count, first = run->groups[group], end = run->groups[group + 1];
    mldf_status status = MLDF_OK;
    run->spans.size = 0;
    for (size_t c = 0; c <= columns; c++)
        run->lists[c].size = 0;
    for (size_t k = first; k < end && status >= 0; k++) {
        const struct corpus_item *item = &run->corpus.items[run->order[k]];
        uint64_t from, to;
        uint8_t span[16];
        status = find_part(run, item, &from, &to, err);
        if (status < 0)
            break;
        mldfi_store_u64(span, rescaled(run, from));
        mldfi_store_u64(span + 8, rescaled(run, to));
        status = mldf_buffer_append(&run->spans, span, sizeof span, err);
        if (status >= 0)
            status = add_to_list(&run->lists[columns], item->key, err);
        for (size_t c = 0; c < columns && status >= 0; c++)
            status = add_to_list(&run->lists[c], item->values[c], err);
    }
    for (size_t c = 0; c <= columns && status >= 0; c++)
        status = mldf_buffer_append(&run->lists[c], "]", 1, err);
    if (status < 0)
        return status;
    mldf_value *values = run->feed->values;
    values[1] = (mldf_value){
        .kind = MLDF_KIND_ARRAY, .dtype = MLDF_I64, .ndim = 2, .data = run->spans.data, .bytes = run->spans.size};
    values[1].dims[0] = end - first;
    values[1].dims[1] = 2;
    values[2] =
        (mldf_value){.kind = MLDF_KIND_TEXT, .data = run->lists[columns].data, .bytes = run->lists[columns].size};
    for (size_t c = 0; c < columns; c++)
        values[run->first_column + c] =
            (mldf_value){.kind = MLDF_KIND_TEXT, .data = run->lists[c].data, .bytes = run->lists[c].size};
    return MLDF_OK;
}

static mldf_status make_row(struct corpus_run *run, size_t group, bool *same, mldf_error *err) {
    const struct corpus_item *item = &run->corpus.items[run->order[run->groups[group]]];
    const mldf_pack_options *options = run->feed->options;
    bool look = item->part || run->segments || options->audio_rate || options->audio_mono;
    mldf_status status = MLDF_OK;
    if (!*same) {
        run->opened = false;
        status = read_recording(run, item, err);
    }
    if (status >= 0 && look && !run->opened) {
        status = mldfi_corpus_audio_open(&run->audio, run->file.data, run->file.size, err);
        run->opened = status >= 0;
    }
    *same = status >= 0;
    if (status >= 0)
        status = set_audio(run, item, err);
    if (status >= 0 && run->segments)
        return set_segments(run, group, err);
    for (size_t c = 0; c < run->corpus.column_count && status >= 0; c++)
        if (item->values[c])
            run->feed->values[run->first_column + c] =
                (mldf_value){.kind = MLDF_KIND_TEXT, .data = item->values[c], .bytes = strlen(item->values[c])};
    return status;
}

static mldf_status pack_groups(struct corpus_run *run, mldf_error *err) {
    struct feed *feed = run->feed;
    mldf_status status = MLDF_OK;
    bool have = false; /* the file in hand was read without trouble */
    feed->row_end = feed->start.offset;
    for (uint64_t g = feed->start.offset; status >= 0 && g < run->group_count; g++) {
        const struct corpus_item *item = &run->corpus.items[run->order[run->groups[g]]];
        const struct corpus_item *before =
            g > feed->start.offset ? &run->corpus.items[run->order[run->groups[g - 1]]] : NULL;
        bool same = have && before && before->offset == item->offset && strcmp(before->path, item->path) == 0 &&
                    strcmp(before->manifest, item->manifest) == 0;
        mldf_error why;
        memset(feed->values, 0, feed->field_count * sizeof *feed->values);
        status = name_place(run, item, err);
        if (status < 0)
            break;
        const char *key = run->segments ? item->recording : item->key;
        if (make_row(run, (size_t)g, &same, &why) < 0)
            status = mldfi_feed_refuse(feed, run->place, &why, err);
        else
            status = mldfi_feed_submit(feed, run->place, key, strlen(key), err);
        have = same;
        if (status >= 0)
            status = mldfi_feed_step(feed, g + 1, err);
    }
    return status;
}

static void free_run(struct corpus_run *run) {
    mldfi_corpus_free(&run->corpus);
    mldfi_corpus_audio_free(&run->audio);
    free(run->order);
    free(run->groups);
    mldf_buffer_free(&run->file);
    mldf_buffer_free(&run->made);
    mldf_buffer_free(&run->spans);
    mldf_buffer_free(&run->place_text);
    for (size_t c = 0; c <= CORPUS_COLUMNS; c++)
        mldf_buffer_free(&run->lists[c]);
}

mldf_status mldfi_pack_corpus(struct feed *feed, corpus_kind kind, const char *out, mldf_pack_result *result,
                              mldf_error *err) {
    struct corpus_run run = {.feed = feed};
    const mldf_context *context = feed->options->writer->context;
    run.audio.kit.max_bytes = context ? context->max_decoded : 0;
    mldf_schema *schema = NULL;
    mldf_status status = MLDF_OK;
    for (size_t i = 0; i < feed->source_count && status >= 0; i++)
        status = mldfi_corpus_read(&run.corpus, kind, feed->sources[i], feed->options, err);
    run.segments = run.corpus.parts && !feed->options->cut;
    feed->watch.now.bytes_total = MLDF_NONE;
    if (status >= 0)
        status = make_groups(&run, err);
    if (status >= 0)
        status = find_type(&run, err);
    if (status >= 0)
        status = make_fields(&run, &schema, err);
    feed->watch.now.samples_total = run.group_count;
    if (status >= 0)
        status = mldfi_feed_open_writer(feed, out, schema, feed->options->writer, err);
    if (status >= 0)
        status = mldfi_feed_resume(feed, err);
    if (status >= 0)
        status = pack_groups(&run, err);
    status = mldfi_feed_end(feed, status, result, err);
    mldf_schema_free(schema);
    feed->schema = NULL;
    free_run(&run);
    return status;
}
