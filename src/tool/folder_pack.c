/* Folders of files into a writer: one field of the type that takes such files, and the label. Files are read and looked at here, on the caller's
 * thread; decoding, resizing and encoding, where the field's arguments ask for them, happen on the writer's threads. See folder_pack.h and
 * pack.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "field/audio_type.h"
#include "tool/corpus.h"
#include "tool/folder_notes.h"
#include "tool/folder_pack.h"
#include "tool/pack.h"
#include "tool/pack_source.h"
#include "tool/read_file.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/utf8.h"
#include "writer/settle.h"

/* As a row of a table. */
#define TEXT_FILE_MAX (UINT64_C(1) << 30)

struct folder_run {
    struct feed *feed;
    size_t first, count; /* of the feed's sources */
    struct folder_list list;
    const struct field_type *type; /* of its files; NULL: documents */
    mldf_buffer file;              /* the one in hand */
    const char *place;             /* its path */
    size_t value, label;           /* fields */
    uint32_t *labels;              /* of each class folder; NULL: its number */
    bool label_may_be_null;        /* a file beside the class folders is a sample without a label */
    bool without_keys;             /* as the file that is appended to has none */
    struct folder_notes notes;     /* of recordings that a new file is made of */
    mldf_status notes_status;      /* of gathering them during the walk */
    struct corpus_audio audio;     /* with another rate, or one channel */
    mldf_buffer made;
    struct frame_folders frames; /* layout frames */
};

/* ---- The list -------------------------------------------------------------------------------------------------------------- */

static void on_left_out(void *user, const char *path, const char *why) {
    struct folder_run *run = user;
    const mldf_pack_options *options = run->feed->options;
    mldf_skip skip = {path, why};
    if (run->notes_status >= 0)
        run->notes_status = mldfi_notes_see(&run->notes, path, NULL);
    if (options->left_out)
        options->left_out(options->left_out_user, &skip);
}

static bool on_unreadable(void *user, const char *path, const mldf_error *why) {
    struct feed *feed = ((struct folder_run *)user)->feed;
    return feed->options->skip_bad_rows && mldfi_feed_refuse(feed, path, why, NULL) == MLDF_OK;
}

static mldf_status on_watch(void *user, mldf_error *err) {
    return mldfi_watch(&((struct folder_run *)user)->feed->watch, false, err);
}

static mldf_status fail_empty(const char *folder, mldf_error *err) {
    char kinds[200] = "";
    const struct field_type *type;
    for (size_t i = 0, at = 0; (type = mldfi_type_with_files(i)) != NULL && at < sizeof kinds; i++)
        at += (size_t)snprintf(kinds + at, sizeof kinds - at, "%s%s",
                               i == 0                         ? ""
                               : mldfi_type_with_files(i + 1) ? ", "
                                                              : " or ",
                               type->files->plural);
    return mldfi_fail_file(err, MLDF_E_TYPE, folder, "there are no %s in this folder", kinds);
}

static mldf_status find_type(struct folder_run *run, mldf_error *err) {
    struct feed *feed = run->feed;
    struct folder_list list = run->list;
    if (run->frames.first) { /* the entries are folders */
        list.entries = run->frames.files;
        list.count = run->frames.count;
    }
    mldf_status status = mldfi_folder_type(&list, feed->options->skip_bad_rows, &run->type, err);
    if (status == MLDF_OK && run->frames.first && run->type->files != mldfi_type_with_files(0)->files)
        status = mldfi_fail(err, MLDF_E_TYPE, "with layout frames the files are images, and these are %s",
                            run->type->files->plural);
    if (status < 0)
        mldfi_error_path(err, feed->sources[run->first]);
    return status;
}

/* The layout decides over all labels, so a choice that was not clear is reported, with the option that makes the other one. */
static void warn_mixed(const struct folder_run *run) {
    const struct folder_list *list = &run->list;
    const struct folder_entry *first = NULL;
    size_t direct = 0;
    char message[400];
    for (size_t i = 0; i < list->count; i++)
        if (!strchr(list->entries[i].path + list->entries[i].below, '/') &&
            mldfi_type_of_file(list->entries[i].path, NULL) && direct++ == 0)
            first = &list->entries[i];
    if (!first)
        return;
    if (list->labelled)
        (void)snprintf(
            message, sizeof message,
            "files beside the class folders: %zu of %zu; their label is null; use layout flat if the sub-folders "
            "are not classes",
            direct, list->count);
    else
        (void)snprintf(
            message, sizeof message,
            "files beside the sub-folders: %zu of %zu, so sub-folders are not taken as classes and there are no "
            "labels; use layout classes if they are",
            direct, list->count);
    mldfi_feed_warn(run->feed, first->path, message);
}

/* A LeRobot dataset is Parquet tables and videos that belong together; Python packs it. */
static mldf_status refuse_lerobot(const char *folder, mldf_error *err) {
    mldf_buffer path = MLDF_BUFFER_INIT;
    mldf_status status = mldfi_buffer_printf(&path, err, "%s/meta/info.json", folder);
    if (status == MLDF_OK)
        status = mldf_buffer_append(&path, "", 1, err);
    size_t length = status == MLDF_OK ? strlen((const char *)path.data) - strlen("meta/info.json") : 0;
    bool found = status == MLDF_OK && access((const char *)path.data, F_OK) == 0;
    if (found) {
        memcpy(path.data + length, "data", 5);
        found = access((const char *)path.data, F_OK) == 0;
    }
    mldf_buffer_free(&path);
    return !found ? status
                  : mldfi_fail_file(err, MLDF_E_TYPE, folder,
                                    "this is a LeRobot dataset; python3 -m mldf.lerobot packs it (or name one of its "
                                    "folders)");
}

static mldf_status make_list(struct folder_run *run, mldf_layout layout, mldf_error *err) {
    struct feed *feed = run->feed;
    struct folder_hooks hooks = {on_left_out, on_unreadable, on_watch, run, feed->options->tokenize != NULL};
    mldf_status status = MLDF_OK;
    for (size_t i = run->first; status == MLDF_OK && i < run->first + run->count; i++) {
        status = refuse_lerobot(feed->sources[i], err);
        if (status == MLDF_OK)
            status = mldfi_folder_add(&run->list, feed->sources[i], run->count > 1, &hooks, err);
    }
    for (size_t i = 0; status == MLDF_OK && feed->target && i < run->list.count; i++)
        status = mldfi_source_is_not_target(run->list.entries[i].path, feed->target, err);
    if (status == MLDF_OK && run->list.count == 0)
        status = fail_empty(feed->sources[run->first], err);
    if (status == MLDF_OK && (run->notes.list_count || feed->options->tokenize) && layout == MLDF_LAYOUT_AUTO)
        layout = MLDF_LAYOUT_FLAT; /* folders of speakers, chapters and documents are not classes */
    feed->list_hash = mldfi_folder_fingerprint(&run->list, UINT64_C(0xcbf29ce484222325)) | 1;
    if (status == MLDF_OK && layout == MLDF_LAYOUT_FRAMES)
        status = mldfi_frames_group(&run->list, &run->frames, err);
    if (status == MLDF_OK)
        status = mldfi_folder_layout(&run->list, layout, err);
    if (status == MLDF_OK && run->list.mixed)
        warn_mixed(run);
    feed->watch.now.samples_total = run->list.count;
    feed->watch.now.bytes_total = run->list.total_bytes;
    return status;
}

/* ---- Samples ----------------------------------------------------------------------------------------------------------------- */

static void on_warning(void *user, const char *message) {
    const struct folder_run *run = user;
    mldfi_feed_warn(run->feed, run->place, message);
}

/* run->file as another rate, or one channel. */
static mldf_status change_audio(struct folder_run *run, mldf_error *err) {
    const mldf_pack_options *options = run->feed->options;
    if (!options->audio_rate && !options->audio_mono)
        return MLDF_OK;
    mldf_status status = mldfi_corpus_audio_open(&run->audio, run->file.data, run->file.size, err);
    if (status == MLDF_OK)
        status = mldfi_corpus_audio_wav(&run->audio, 0, run->audio.info.samples, options->audio_rate,
                                        options->audio_mono, &run->made, err);
    if (status == MLDF_OK) {
        mldf_buffer kept = run->file;
        run->file = run->made;
        run->made = kept;
    }
    return status;
}

static mldf_status read_entry(struct folder_run *run, const struct folder_entry *entry, mldf_error *err) {
    const char *key = entry->path + entry->key;
    size_t key_bytes = strlen(key);
    bool direct = strchr(entry->path + entry->below, '/') == NULL;
    if (run->list.labelled && entry->label == FOLDER_NO_LABEL && !(direct && run->label_may_be_null))
        return mldfi_fail(err, MLDF_E_TYPE,
                          direct ? "lies in no class folder" : "the name of its class folder is not UTF-8");
    if (!run->without_keys && mldfi_utf8_valid_prefix(key, key_bytes) != key_bytes)
        return mldfi_fail(err, MLDF_E_KEY, "the name is not UTF-8, and it is the sample's key");
    if (run->frames.first) {
        const mldf_pack_options *o = run->feed->options;
        return mldfi_frames_read(&run->frames, (size_t)(entry - run->list.entries), run->type->files,
                                 o->fps_num ? o->fps_num : 1, o->fps_num ? o->fps_den : 1, &run->file, err);
    }
    mldf_status status =
        mldfi_read_file(entry->path, run->type ? run->type->files->most_bytes : TEXT_FILE_MAX, &run->file, err);
    if (status == MLDF_OK && run->type)
        status = run->type->files->look(key, run->file.data, run->file.size, on_warning, run, err);
    return status < 0 ? status : change_audio(run, err);
}

static mldf_status pack_entry(struct folder_run *run, const struct folder_entry *entry, mldf_error *err) {
    struct feed *feed = run->feed;
    mldf_error why;
    run->place = entry->path;
    mldf_status status = read_entry(run, entry, &why);
    if (status < 0)
        return mldfi_feed_refuse(feed, entry->path, &why, err);
    memset(feed->values, 0, feed->field_count * sizeof *feed->values);
    feed->values[run->value].kind = MLDF_KIND_BYTES;
    feed->values[run->value].data = run->file.data;
    feed->values[run->value].bytes = run->file.size;
    if (run->list.labelled && entry->label != FOLDER_NO_LABEL) {
        feed->values[run->label].kind = MLDF_KIND_INT;
        feed->values[run->label].as.i = run->labels ? run->labels[entry->label] : entry->label;
    }
    if (run->notes.has_text || run->notes.has_json) {
        status = mldfi_notes_values(&run->notes, entry->path, feed->values, &why);
        if (status < 0)
            return mldfi_feed_refuse(feed, entry->path, &why, err);
    }
    const char *key = run->without_keys ? NULL : entry->path + entry->key;
    return mldfi_feed_submit(feed, entry->path, key, key ? strlen(key) : 0, err);
}

static mldf_status pack_entries(struct folder_run *run, mldf_error *err) {
    struct feed *feed = run->feed;
    mldf_status status = MLDF_OK;
    if (feed->start.offset > run->list.count)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "the partial file has more samples than the folder");
    for (uint64_t i = 0; i < feed->start.offset; i++)
        feed->watch.now.bytes_done += run->list.entries[i].bytes;
    feed->row_end = feed->start.offset;
    for (uint64_t i = feed->start.offset; status == MLDF_OK && i < run->list.count; i++) {
        status = pack_entry(run, &run->list.entries[i], err);
        feed->watch.now.bytes_done += run->list.entries[i].bytes;
        if (status == MLDF_OK)
            status = mldfi_feed_step(feed, i + 1, err);
    }
    return status;
}

/* ---- All of it --------------------------------------------------------------------------------------------------------------- */

/* Of folders of frames: JPEG files alone, or images of any format; how images are stored, said for images, is said for frames. */
static mldf_status add_frames_field(const struct folder_run *run, mldf_schema *schema, mldf_error *err) {
    const mldf_pack_options *o = run->feed->options;
    const char *more = o->image_arguments ? strchr(o->image_arguments, '{') : NULL;
    const char *rest = more ? more + 1 + strspn(more + 1, " \t\r\n") : "}";
    mldf_buffer text = MLDF_BUFFER_INIT;
    mldf_status status =
        mldfi_buffer_printf(&text, err, "{\"mode\":\"%s\"%s%s%c",
                            mldfi_frames_are_jpeg(&run->frames) ? "jpeg" : "image", *rest == '}' ? "" : ",", rest, 0);
    if (status == MLDF_OK)
        status = mldf_schema_add(schema, "video", MLDF_VIDEO_FRAMES, (const char *)text.data, 0, err);
    mldf_buffer_free(&text);
    return status;
}

static mldf_status make_fields(struct folder_run *run, mldf_schema **out, mldf_error *err) {
    const mldf_pack_options *options = run->feed->options;
    const struct field_files *files = run->type ? run->type->files : NULL;
    mldf_status status = mldfi_check_file_options(options, files, err);
    if (status == MLDF_OK && (options->audio_rate || options->audio_mono) && files != &mldfi_audio_files)
        status = mldfi_fail(err, MLDF_E_ARGUMENT, "another rate, or one channel, is for recordings");
    if (status < 0)
        mldfi_error_path(err, run->feed->sources[run->first]);
    if (status == MLDF_OK)
        status = mldf_schema_new(options->writer->context, out, err);
    if (status == MLDF_OK && !run->type)
        status = mldf_schema_add(*out, run->feed->text.field, MLDF_TEXT, NULL, 0, err);
    else if (status == MLDF_OK && run->frames.first)
        status = add_frames_field(run, *out, err);
    else if (status == MLDF_OK)
        status = mldfi_add_file_field(*out, run->type->files->field, run->type, options, 0, err);
    if (status == MLDF_OK && run->list.labelled)
        status = mldf_schema_add(*out, "label", MLDF_INT, NULL, run->list.strays ? MLDF_FIELD_NULLABLE : 0, err);
    run->label_may_be_null = run->list.strays > 0;
    if (status == MLDF_OK)
        status = mldfi_notes_fields(&run->notes, *out, err);
    if (status == MLDF_OK)
        status = mldfi_feed_icc(run->feed, *out, err);
    if (status == MLDF_OK)
        status = mldfi_apply_compress(options->writer->context, *out, options->compress_fields, options->compress_count,
                                      err);
    return status < 0 ? status : mldfi_feed_make_values(run->feed, *out, err);
}

static mldf_status open_writer(struct folder_run *run, const char *out, const mldf_schema *schema, mldf_error *err) {
    mldf_writer_options writer = *run->feed->options->writer;
    mldf_buffer card = MLDF_BUFFER_INIT;
    mldf_status status = MLDF_OK;
    if (run->list.labelled) {
        status = mldfi_card_with_classes(writer.card, writer.card_bytes, run->list.classes, run->list.class_count,
                                         &card, err);
        writer.card = (const char *)card.data;
        writer.card_bytes = card.size;
    }
    if (status == MLDF_OK)
        status = mldfi_feed_open_writer(run->feed, out, schema, &writer, err);
    mldf_buffer_free(&card);
    return status;
}

mldf_status mldfi_pack_folders(struct feed *feed, const char *out, mldf_pack_result *result, mldf_error *err) {
    struct folder_run run = {.feed = feed, .count = feed->source_count, .label = 1};
    mldf_schema *schema = NULL;
    mldf_status status = make_list(&run, feed->options->layout, err);
    if (status == MLDF_OK && !feed->options->tokenize)
        status = find_type(&run, err);
    if (status == MLDF_OK && run.notes_status < 0)
        status = mldfi_fail_memory(err, 0);
    if (status == MLDF_OK && run.type && run.type->files == &mldfi_audio_files)
        status = mldfi_notes_begin(&run.notes, &run.list, err);
    if (status == MLDF_OK)
        status = make_fields(&run, &schema, err);
    if (status == MLDF_OK)
        status = open_writer(&run, out, schema, err);
    if (status == MLDF_OK)
        status = mldfi_feed_resume(feed, err);
    if (status == MLDF_OK)
        status = pack_entries(&run, err);
    status = mldfi_feed_end(feed, status, result, err);
    mldf_schema_free(schema);
    feed->schema = NULL;
    mldfi_folder_free(&run.list);
    mldfi_frames_free(&run.frames);
    mldfi_notes_free(&run.notes);
    mldfi_corpus_audio_free(&run.audio);
    mldf_buffer_free(&run.made);
    mldf_buffer_free(&run.file);
    return status;
}

/* ---- Into a file that is there ------------------------------------------------------------------------------------------------- */

static const struct field_files *files_of(const mldf_schema *schema, size_t field) {
    const struct field_type *type = schema->fields[field].type;
    return type ? type->files : NULL;
}

/* A file that has fields for one kind of files takes no others, whatever their names; otherwise the names of the files decide. */
static mldf_status choose_type(struct folder_run *run, const mldf_schema *schema, mldf_error *err) {
    const struct field_type *found = NULL;
    for (size_t i = 0; i < schema->field_count; i++) {
        const struct field_type *type = schema->fields[i].type;
        if (!files_of(schema, i))
            continue;
        if (found && found->files != type->files)
            return find_type(run, err);
        found = type;
    }
    run->type = found ? found : mldfi_type_with_files(0);
    return MLDF_OK;
}

/* The field `image`, or the only one that holds images; the same for other files. */
static mldf_status find_field(const mldf_schema *schema, const struct field_files *files, size_t *out,
                              mldf_error *err) {
    size_t count = 0;
    if (mldf_schema_find(schema, files->field, out, NULL) == MLDF_OK && files_of(schema, *out) == files)
        return MLDF_OK;
    for (size_t i = 0; i < mldf_schema_field_count(schema); i++)
        if (files_of(schema, i) == files) {
            count++;
            *out = i;
        }
    if (count == 1)
        return MLDF_OK;
    return mldfi_fail(err, MLDF_E_SCHEMA, "the file has %zu fields of %s, and none is named %s", count, files->plural,
                      files->field);
}

/* What a folder has no value for must be nullable. */
static mldf_status check_others(const struct folder_run *run, const mldf_schema *schema, mldf_error *err) {
    for (size_t i = 0; i < mldf_schema_field_count(schema); i++) {
        const mldf_field *field = mldf_schema_field(schema, i);
        if (i == run->value || (run->list.labelled && i == run->label) || (field->flags & MLDF_FIELD_NULLABLE))
            continue;
        return mldfi_fail(err, MLDF_E_SCHEMA, "a folder %s%s has no value for the field %s, and it is not nullable",
                          i == run->label ? "without class folders" : "of ",
                          i == run->label ? "" : run->type->files->plural, field->name);
    }
    return MLDF_OK;
}

static mldf_status append_run(struct folder_run *run, mldf_error *err) {
    struct feed *feed = run->feed;
    const mldf_schema *schema = mldf_writer_schema(feed->writer);
    struct writer_origin origin = mldfi_writer_origin(feed->writer);
    mldf_layout layout = feed->options->layout;
    mldf_status status;
    bool labels = mldf_schema_find(schema, "label", &run->label, NULL) == MLDF_OK &&
                  mldf_schema_field(schema, run->label)->type_id == MLDF_INT;
    if (!labels && layout == MLDF_LAYOUT_CLASSES)
        return mldfi_fail(err, MLDF_E_SCHEMA, "the file has no integer field named label for the class folders");
    if (!labels) {
        run->label = SIZE_MAX;
        layout = MLDF_LAYOUT_FLAT;
    }
    if (layout == MLDF_LAYOUT_FRAMES)
        return mldfi_fail(err, MLDF_E_UNSUPPORTED, "layout frames makes new files; pack them, then merge");
    run->without_keys = feed->keyless;
    status = make_list(run, layout, err);
    run->label_may_be_null =
        labels && run->list.strays && (mldf_schema_field(schema, run->label)->flags & MLDF_FIELD_NULLABLE);
    if (status == MLDF_OK)
        status = choose_type(run, schema, err);
    if (status == MLDF_OK)
        status = find_field(schema, run->type->files, &run->value, err);
    feed->watch.now.samples_total = feed->watch.now.bytes_total = MLDF_NONE; /* other sources may follow */
    if (status == MLDF_OK && run->list.labelled)
        status = mldfi_folder_labels(&run->list, origin.card, origin.card_bytes, &run->labels, err);
    if (status == MLDF_OK)
        status = check_others(run, schema, err);
    if (status == MLDF_OK)
        status = mldfi_feed_make_values(feed, schema, err);
    return status == MLDF_OK ? pack_entries(run, err) : status;
}

mldf_status mldfi_append_folders(struct feed *feed, size_t first, size_t count, mldf_error *err) {
    struct folder_run run = {.feed = feed, .first = first, .count = count};
    mldf_status status = append_run(&run, err);
    if (status == MLDF_E_SCHEMA)
        mldfi_error_path(err, feed->sources[first]);
    mldfi_folder_free(&run.list);
    mldfi_frames_free(&run.frames);
    mldfi_notes_free(&run.notes);
    mldfi_corpus_audio_free(&run.audio);
    mldf_buffer_free(&run.made);
    mldf_buffer_free(&run.file);
    free(run.labels);
    return status;
}
