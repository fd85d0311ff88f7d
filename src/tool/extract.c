/* mldf_extract: samples into a folder, payloads as files of their own, the rest in manifest.jsonl. Nothing is seen of it until it is
 * complete (os/folder.h). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "field/field.h"
#include "field/type.h"
#include "format/format.h"
#include "mldf/tool.h"
#include "os/file.h"
#include "os/folder.h"
#include "tool/extract_video.h"
#include "tool/input.h"
#include "tool/pack_source.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/json.h"
#include "util/options.h"
#include "util/utf8.h"

/* A name has at most 255 bytes: a longer part of a key is cut and ends with its hash. */
enum { MANIFEST_BYTES = 1 << 18, PART_MAX = 150, PART_CUT = 130 };

struct column {
    size_t field;
    const char *ending; /* NULL: the value stands in the manifest */
    bool named;         /* KEY.FIELD.EXT: another field has this ending too */
    mldf_extract_video how;
    mldf_buffer scratch;
};

/* The endings that columns have so far, each with the first column that has it; types have no more. */
enum { ENDINGS = 16 };
struct endings {
    size_t first[ENDINGS], count;
};

struct extraction {
    const mldf_reader *reader;
    const mldf_extract_options *options;
    struct os_folder folder;
    struct column *columns;
    size_t count;
    int width; /* of an index as a name */
    const char *key_name;
    int manifest;
    mldf_buffer lines, name, place, key_scratch;
    uint64_t bytes;
    struct endings endings;
    struct media_kit media;
    struct export_room room;
};

/* ---- Which field goes where ------------------------------------------------------------------------------------------ */

/* NULL: it has no files. */
static const char *ending_of(const struct schema_field *field) {
    const char *ending = field->type && field->type->ending ? field->type->ending : "bin";
    return *ending ? ending : NULL;
}

static void claim_ending(struct extraction *x, struct column *column) {
    struct endings *endings = &x->endings;
    for (size_t i = 0; column->ending && i < endings->count; i++) {
        struct column *other = &x->columns[endings->first[i]];
        if (strcmp(column->ending, other->ending) == 0) {
            column->named = other->named = true;
            return;
        }
    }
    if (column->ending && endings->count < ENDINGS)
        endings->first[endings->count++] = x->count;
}

static mldf_status choose_column(struct extraction *x, bool *taken, mldf_error *err) {
    const mldf_schema *schema = mldf_reader_schema(x->reader);
    struct column *column = &x->columns[x->count];
    column->field = x->count;
    if (x->options->field_count) {
        TRY(mldf_schema_find(schema, x->options->fields[x->count], &column->field, err));
    }
    if (taken[column->field])
        return mldfi_fail(err, MLDF_E_ARGUMENT, "field '%s' is named twice", x->options->fields[x->count]);
    taken[column->field] = true;
    column->ending = ending_of(&schema->fields[column->field]);
    column->how = mldfi_extract_how(&schema->fields[column->field], x->options);
    if (column->how != MLDF_EXTRACT_FILE)
        column->ending = column->how == MLDF_EXTRACT_FRAMES ? "frames" : "wav";
    claim_ending(x, column);
    return MLDF_OK;
}

static mldf_status choose_columns(struct extraction *x, mldf_error *err) {
    const mldf_schema *schema = mldf_reader_schema(x->reader);
    size_t ignored, fields = mldf_schema_field_count(schema);
    size_t count = x->options->field_count ? x->options->field_count : fields;
    bool *taken = mldfi_alloc_zero(fields + 1, sizeof *taken, err);
    x->columns = mldfi_alloc_zero(count + 1, sizeof *x->columns, err);
    mldf_status status = taken && x->columns ? MLDF_OK : MLDF_E_MEMORY;
    while (status == MLDF_OK && x->count < count) {
        status = choose_column(x, taken, err);
        x->count += status == MLDF_OK;
    }
    free(taken);
    if (status < 0)
        return status;
    x->key_name = mldf_schema_find(schema, "key", &ignored, NULL) == MLDF_OK ? "__key__" : "key";
    x->width = snprintf(NULL, 0, "%" PRIu64, mldf_reader_sample_count(x->reader));
    return MLDF_OK;
}

/* ---- Names --------------------------------------------------------------------------------------------------------- */

/* One part of a path, with nothing in it that a file system or a shell could take for something else: control characters, a
 * backslash, % itself, and a dot at the beginning become %XX. An empty part is %. So different keys have different names, none of
 * them is "..", and none is hidden. */
static mldf_status put_part(mldf_buffer *out, const char *text, size_t bytes, mldf_error *err) {
    size_t begin = out->size;
    mldf_status status = bytes ? MLDF_OK : mldfi_buffer_append_text(out, "%", err);
    for (size_t i = 0; status == MLDF_OK && i < bytes; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 32 || c == 127 || c == '%' || c == '\\' || c == '/' || (c == '.' && i == 0))
            status = mldfi_buffer_printf(out, err, "%%%02X", c);
        else
            status = mldf_buffer_append(out, &text[i], 1, err);
    }
    if (status < 0 || out->size - begin <= PART_MAX)
        return status;
    out->size = begin + PART_CUT;
    while (out->size > begin && (out->data[out->size] & 0xC0) == 0x80) /* not inside a character */
        out->size--;
    return mldfi_buffer_printf(out, err, "~%016" PRIx64, mldfi_key_hash(text, bytes));
}

static mldf_status put_key(mldf_buffer *out, const char *key, size_t bytes, mldf_error *err) {
    mldf_status status = MLDF_OK;
    for (size_t at = 0; status == MLDF_OK && at <= bytes;) {
        const char *slash = memchr(key + at, '/', bytes - at);
        size_t end = slash ? (size_t)(slash - key) : bytes;
        status = put_part(out, key + at, end - at, err);
        if (status == MLDF_OK && slash)
            status = mldfi_buffer_append_text(out, "/", err);
        at = end + 1;
    }
    return status;
}

/* Keys of packed folders are names of files: one that says already what the file is needs no second ending. */
static bool says_ending(const struct field_files *files, const char *name, const char *ending) {
    const struct file_ending *said = files ? mldfi_file_ending(files, name) : NULL;
    return said && said->written && strcmp(said->written, ending) == 0;
}

/* Does another field have files with this ending? */
static bool is_claimed(const struct extraction *x, const struct column *column, const char *ending) {
    for (size_t i = 0; i < x->endings.count; i++) {
        const struct column *other = &x->columns[x->endings.first[i]];
        if (other != column && strcmp(other->ending, ending) == 0)
            return true;
    }
    return false;
}

/* KEY, or KEY.FIELD, terminated. */
static mldf_status make_stem(struct extraction *x, const struct column *column, bool named, uint64_t sample,
                             const char *key, size_t key_bytes, mldf_error *err) {
    const struct schema_field *field = &mldf_reader_schema(x->reader)->fields[column->field];
    x->name.size = 0;
    mldf_status status = key ? put_key(&x->name, key, key_bytes, err)
                             : mldfi_buffer_printf(&x->name, err, "%0*" PRIu64, x->width, sample);
    if (status == MLDF_OK && named) {
        status = mldfi_buffer_append_text(&x->name, ".", err);
        if (status == MLDF_OK)
            status = put_part(&x->name, field->name, strlen(field->name), err);
    }
    return status < 0 ? status : mldf_buffer_append(&x->name, "", 1, err);
}

static mldf_status make_name(struct extraction *x, const struct column *column, const char *ending, uint64_t sample,
                             const char *key, size_t key_bytes, mldf_error *err) {
    const struct schema_field *field = &mldf_reader_schema(x->reader)->fields[column->field];
    bool named = column->named || is_claimed(x, column, ending);
    TRY(make_stem(x, column, named, sample, key, key_bytes, err));
    if (key && !named && says_ending(field->type ? field->type->files : NULL, (const char *)x->name.data, ending))
        return MLDF_OK;
    x->name.size--;
    return mldfi_buffer_printf(&x->name, err, ".%s%c", ending, 0);
}

/* ---- Files --------------------------------------------------------------------------------------------------------- */

/* A new file. In a folder that is there already it may replace others, but not the file that is read. */
static mldf_status create(struct extraction *x, const char *name, int *fd, mldf_error *err) {
    mldf_status status = MLDF_OK;
    x->place.size = 0;
    if (x->folder.exists && (status = mldfi_buffer_printf(&x->place, err, "%s/%s", x->folder.target, name)) >= 0)
        status = mldfi_reader_is_not_target(x->reader, (const char *)x->place.data, err);
    return status < 0 ? status : mldfi_folder_create(&x->folder, name, fd, err);
}

static mldf_status write_file(struct extraction *x, const struct exported *file, mldf_error *err) {
    static const uint8_t zeros[8];
    int fd;
    mldf_status status = create(x, (const char *)x->name.data, &fd, err);
    if (status < 0)
        return status;
    if (file->head_bytes)
        status = mldfi_fd_write_all(fd, file->head, (size_t)file->head_bytes, err);
    if (status == MLDF_OK && file->bytes)
        status = mldfi_fd_write_all(fd, file->data, (size_t)file->bytes, err);
    if (status == MLDF_OK && file->pad_bytes)
        status = mldfi_fd_write_all(fd, zeros, file->pad_bytes, err);
    if (status < 0)
        mldfi_error_path(err, (const char *)x->name.data);
    if (close(fd) != 0 && status == MLDF_OK)
        status = mldfi_fail_file(err, MLDF_E_IO, (const char *)x->name.data, "cannot be completed");
    x->bytes += file->head_bytes + file->bytes + file->pad_bytes;
    return status;
}

static mldf_status flush_lines(struct extraction *x, mldf_error *err) {
    mldf_status status = x->lines.size ? mldfi_fd_write_all(x->manifest, x->lines.data, x->lines.size, err) : MLDF_OK;
    if (status < 0)
        mldfi_error_path(err, "manifest.jsonl");
    x->bytes += x->lines.size;
    x->lines.size = 0;
    return status;
}

/* ---- Samples ------------------------------------------------------------------------------------------------------- */

/* A frame beside the others: KEY/000012.png. */
static mldf_status put_frame(void *user, uint64_t number, const struct exported *file, mldf_error *err) {
    struct extraction *x = user;
    const size_t stem = x->name.size;
    x->name.size--;
    mldf_status status = mldfi_buffer_printf(&x->name, err, "/%06" PRIu64 ".%s%c", number, file->ending, 0);
    if (status == MLDF_OK)
        status = write_file(x, file, err);
    x->name.size = stem;
    x->name.data[stem - 1] = 0;
    return status;
}

static mldf_status put_frames(struct extraction *x, const struct column *column, const mldf_value *value,
                              mldf_error *err) {
    struct frames_out done;
    mldf_status status = mldfi_extract_frames(mldf_reader_schema(x->reader), column->field, value, x->options,
                                              &x->media, &x->room, put_frame, x, &done, err);
    if (status == MLDF_OK)
        status = mldfi_buffer_append_text(&x->lines, "{\"folder\":", err);
    if (status == MLDF_OK)
        status = mldfi_json_append_string(&x->lines, (const char *)x->name.data, x->name.size - 1, err);
    if (status == MLDF_OK)
        status = mldfi_buffer_printf(&x->lines, err, ",\"frames\":%" PRIu64, done.written);
    if (status == MLDF_OK && done.rate_num)
        status =
            mldfi_buffer_printf(&x->lines, err, ",\"fps\":[%" PRIu32 ",%" PRIu32 "]", done.rate_num, done.rate_den);
    return status < 0 ? status : mldfi_buffer_append_text(&x->lines, "}", err);
}

/* MLDF_ABSENT: the value has no such file. */
static mldf_status export_value(struct extraction *x, const struct column *column, const mldf_value *value,
                                struct exported *out, mldf_error *err) {
    const mldf_schema *schema = mldf_reader_schema(x->reader);
    const struct schema_field *field = &schema->fields[column->field];
    const bool some = x->options->first || x->options->end || x->options->step;
    if (column->how == MLDF_EXTRACT_SOUND)
        return mldfi_extract_sound(value, &x->room, out, err);
    if (some && field->type == &mldfi_type_video_compressed)
        return mldfi_extract_clip(schema, column->field, value, x->options, &x->media, &x->room, out, err);
    return mldfi_field_export(field, value, &x->media, &x->room, out, err);
}

static mldf_status put_column(struct extraction *x, struct column *column, uint64_t sample, const char *key,
                              size_t key_bytes, mldf_error *err) {
    const mldf_field *field = mldf_schema_field(mldf_reader_schema(x->reader), column->field);
    mldf_value value;
    mldf_status status = field->known
                             ? mldf_reader_get(x->reader, sample, column->field, &column->scratch, &value, err)
                             : mldf_reader_get_stored(x->reader, sample, column->field, &column->scratch, &value, err);
    if (status == MLDF_OK)
        status = mldfi_json_append_string(&x->lines, field->name, strlen(field->name), err);
    if (status == MLDF_OK)
        status = mldfi_buffer_append_text(&x->lines, ":", err);
    if (status < 0 || !column->ending || value.kind == MLDF_KIND_NULL)
        return status < 0
                   ? status
                   : mldf_value_json(mldf_reader_schema(x->reader), column->field, &value, false, &x->lines, err);
    struct exported file;
    if (column->how == MLDF_EXTRACT_FRAMES) {
        status = make_stem(x, column, column->named, sample, key, key_bytes, err);
        if (status == MLDF_OK)
            status = put_frames(x, column, &value, err);
    } else {
        status = export_value(x, column, &value, &file, err);
        if (status == MLDF_OK)
            status = make_name(x, column, file.ending, sample, key, key_bytes, err);
        if (status == MLDF_OK)
            status = write_file(x, &file, err);
    }
    mldfi_kit_trim(&x->media);
    if (status < 0)
        mldfi_error_place(err, sample, field->name);
    if (status == MLDF_ABSENT)
        return mldfi_buffer_append_text(&x->lines, "null", err);
    if (column->how == MLDF_EXTRACT_FRAMES)
        return status;
    return status < 0 ? status : mldfi_json_append_string(&x->lines, (const char *)x->name.data, x->name.size - 1, err);
}

static mldf_status extract_one(struct extraction *x, uint64_t sample, mldf_error *err) {
    const char *key = NULL;
    size_t key_bytes = 0;
    mldf_status status = mldfi_buffer_append_text(&x->lines, "{", err);
    if (status == MLDF_OK && mldf_reader_has_keys(x->reader)) {
        status = mldf_reader_key(x->reader, sample, &x->key_scratch, &key, &key_bytes, err);
        if (status == MLDF_OK && mldfi_utf8_valid_prefix(key, key_bytes) != key_bytes)
            status = mldfi_fail(err, MLDF_E_KEY, "the key of sample %" PRIu64 " is not UTF-8, as a manifest has to be",
                                sample);
        if (status == MLDF_OK)
            status = mldfi_buffer_printf(&x->lines, err, "\"%s\":", x->key_name);
        if (status == MLDF_OK)
            status = mldfi_json_append_string(&x->lines, key, key_bytes, err);
    }
    for (size_t i = 0; status == MLDF_OK && i < x->count; i++) {
        if (i > 0 || key)
            status = mldfi_buffer_append_text(&x->lines, ",", err);
        if (status == MLDF_OK)
            status = put_column(x, &x->columns[i], sample, key, key_bytes, err);
    }
    if (status == MLDF_OK)
        status = mldfi_buffer_append_text(&x->lines, "}\n", err);
    if (status == MLDF_OK && x->lines.size >= MANIFEST_BYTES)
        status = flush_lines(x, err);
    return status;
}

static mldf_status extract_all(struct extraction *x, mldf_error *err) {
    uint64_t samples = mldf_reader_sample_count(x->reader);
    struct input_watch watch;
    memset(&watch, 0, sizeof watch);
    watch.progress = x->options->progress;
    watch.user = x->options->progress_user;
    watch.now = (mldf_progress){.phase = "extract", .samples_total = samples, .bytes_total = MLDF_NONE};
    mldf_status status = create(x, "manifest.jsonl", &x->manifest, err);
    if (status < 0)
        return status;
    for (uint64_t i = 0; status == MLDF_OK && i < samples; i++) {
        status = extract_one(x, i, err);
        watch.now.samples_done = i + 1;
        watch.now.bytes_done = x->bytes;
        if (status == MLDF_OK && i % 16 == 0)
            status = mldfi_watch(&watch, false, err);
    }
    if (status == MLDF_OK)
        status = flush_lines(x, err);
    if (close(x->manifest) != 0 && status == MLDF_OK)
        status = mldfi_fail(err, MLDF_E_IO, "manifest.jsonl cannot be completed");
    return status < 0 ? status : mldfi_folder_publish(&x->folder, err);
}

mldf_status mldf_extract(const mldf_reader *reader, const char *folder, const mldf_extract_options *given,
                         mldf_pack_result *result, mldf_error *err) {
    mldf_extract_options own = MLDF_EXTRACT_OPTIONS_INIT;
    struct extraction x = {.reader = reader, .options = &own, .folder = OS_FOLDER_NONE};
    if (!reader || !folder)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "extract needs a reader and a folder");
    mldf_status status = mldfi_take_options(&own, sizeof own, "mldf_extract_options", given, err);
    if (status == MLDF_OK)
        status = mldfi_check_result("mldf_pack_result", result, err);
    if (status < 0)
        return status;
    status = choose_columns(&x, err);
    if (status == MLDF_OK)
        status = mldfi_folder_begin(&x.folder, folder, x.options->overwrite, err);
    if (status == MLDF_OK)
        status = extract_all(&x, err);
    mldfi_folder_discard(&x.folder);
    for (size_t i = 0; x.columns && i < x.count; i++)
        mldf_buffer_free(&x.columns[i].scratch);
    free(x.columns);
    mldfi_export_room_free(&x.room);
    mldfi_kit_free(&x.media);
    mldf_buffer_free(&x.lines);
    mldf_buffer_free(&x.name);
    mldf_buffer_free(&x.place);
    mldf_buffer_free(&x.key_scratch);
    mldf_pack_result done = {sizeof done, status == MLDF_OK ? mldf_reader_sample_count(reader) : 0, 0, x.bytes};
    mldfi_give_result(result, &done, sizeof done);
    return status;
}
