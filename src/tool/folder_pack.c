/* Folders of pictures into a writer. Files are read and looked at here, on the caller's thread; decoding, resizing and encoding, where the
 * image arguments ask for them, happen on the writer's threads. See folder.h and pack.h. */
#include <stdlib.h>
#include <string.h>

#include "tool/folder.h"
#include "tool/pack.h"
#include "tool/picture.h"
#include "tool/read_file.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/utf8.h"

struct folder_run {
    struct feed *feed;
    struct folder_list list;
    mldf_buffer file;  /* the picture in hand */
    const char *place; /* its path */
};

/* ---- The list -------------------------------------------------------------------------------------------------------------- */

static void on_left_out(void *user, const char *path, const char *why) {
    const mldf_pack_options *options = ((struct feed *)user)->options;
    mldf_skip skip = {path, why};
    if (options->left_out)
        options->left_out(options->left_out_user, &skip);
}

static bool on_unreadable(void *user, const char *path, const mldf_error *why) {
    struct feed *feed = user;
    return feed->options->skip_bad_rows && mldfi_feed_refuse(feed, path, why, NULL) == MLDF_OK;
}

static mldf_status on_watch(void *user, mldf_error *err) {
    return mldfi_watch(&((struct feed *)user)->watch, false, err);
}

static mldf_status make_list(struct folder_run *run, mldf_error *err) {
    struct feed *feed = run->feed;
    struct folder_hooks hooks = {on_left_out, on_unreadable, on_watch, feed};
    mldf_status status = MLDF_OK;
    for (size_t i = 0; status == MLDF_OK && i < feed->source_count; i++)
        status = mldfi_folder_add(&run->list, feed->sources[i], feed->source_count > 1, &hooks, err);
    if (status == MLDF_OK && run->list.count == 0)
        status = mldfi_fail(err, MLDF_E_TYPE, "%s: there are no pictures in this folder", feed->sources[0]);
    if (status == MLDF_OK)
        status = mldfi_folder_layout(&run->list, feed->options->layout, err);
    feed->list_hash = mldfi_folder_fingerprint(&run->list, UINT64_C(0xcbf29ce484222325)) | 1;
    feed->watch.now.samples_total = run->list.count;
    feed->watch.now.bytes_total = run->list.total_bytes;
    return status;
}

/* ---- Samples ----------------------------------------------------------------------------------------------------------------- */

static void on_warning(void *user, const char *message) {
    const struct folder_run *run = user;
    mldfi_feed_warn(run->feed, run->place, message);
}

static mldf_status read_entry(struct folder_run *run, const struct folder_entry *entry, mldf_error *err) {
    const char *key = entry->path + entry->key;
    size_t key_bytes = strlen(key);
    if (run->list.labelled && entry->label == FOLDER_NO_LABEL)
        return mldfi_fail(err, MLDF_E_TYPE, "lies in no class folder");
    if (mldfi_utf8_valid_prefix(key, key_bytes) != key_bytes)
        return mldfi_fail(err, MLDF_E_KEY, "the name is not UTF-8, and it is the sample's key");
    mldf_status status = mldfi_read_file(entry->path, PICTURE_LIMIT, &run->file, err);
    if (status == MLDF_OK)
        status = mldfi_picture_look(key, run->file.data, run->file.size, on_warning, run, err);
    return status;
}

static mldf_status pack_entry(struct folder_run *run, const struct folder_entry *entry, mldf_error *err) {
    struct feed *feed = run->feed;
    mldf_error why;
    run->place = entry->path;
    mldf_status status = read_entry(run, entry, &why);
    if (status < 0)
        return mldfi_feed_refuse(feed, entry->path, &why, err);
    memset(feed->values, 0, feed->field_count * sizeof *feed->values);
    feed->values[0].kind = MLDF_KIND_BYTES;
    feed->values[0].data = run->file.data;
    feed->values[0].bytes = run->file.size;
    if (run->list.labelled) {
        feed->values[1].kind = MLDF_KIND_INT;
        feed->values[1].as.i = entry->label;
    }
    return mldfi_feed_submit(feed, entry->path, entry->path + entry->key, strlen(entry->path + entry->key), err);
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

static mldf_status make_fields(struct folder_run *run, mldf_schema **out, mldf_error *err) {
    const mldf_pack_options *options = run->feed->options;
    mldf_status status = mldf_schema_new(options->writer.context, out, err);
    if (status == MLDF_OK)
        status = mldfi_add_image_field(*out, "image", options, 0, err);
    if (status == MLDF_OK && run->list.labelled)
        status = mldf_schema_add(*out, "label", MLDF_INT, NULL, 0, err);
    if (status == MLDF_OK)
        status = mldfi_feed_icc(run->feed, *out, err);
    if (status == MLDF_OK)
        status = mldfi_apply_compress(*out, options->compress_fields, options->compress_count, err);
    if (status < 0)
        return status;
    run->feed->field_count = mldf_schema_field_count(*out);
    run->feed->values = mldfi_alloc_zero(run->feed->field_count, sizeof *run->feed->values, err);
    return run->feed->values ? MLDF_OK : MLDF_E_MEMORY;
}

static mldf_status open_writer(struct folder_run *run, const char *out, const mldf_schema *schema, mldf_error *err) {
    mldf_writer_options writer = run->feed->options->writer;
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
    struct folder_run run = {feed, {0}, MLDF_BUFFER_INIT, NULL};
    mldf_schema *schema = NULL;
    mldf_status status = make_list(&run, err);
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
    mldfi_folder_free(&run.list);
    mldf_buffer_free(&run.file);
    return status;
}
