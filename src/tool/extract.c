/* mldf_extract: samples into a folder, payloads as files of their own, the rest in manifest.jsonl. Nothing is seen of it until it is
 * complete (os/folder.h). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "format/format.h"
#include "interop/sink.h"
#include "mldf/tool.h"
#include "os/file.h"
#include "os/folder.h"
#include "tool/input.h"
#include "tool/pack_source.h"
#include "tool/value_json.h"
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
    bool image;         /* each file has the ending of what it is */
    bool named;         /* KEY.FIELD.EXT: another field has this ending too */
    mldf_buffer scratch;
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
    mldf_buffer lines, name, place, key_scratch, header;
    uint64_t bytes;
    struct image_maker maker;
    struct media_kit media;
};

/* ---- Which field goes where ------------------------------------------------------------------------------------------ */

static const char *ending_of(const mldf_field *field) {
    if (!field->known)
        return "bin";
    switch (field->type_id) {
    case MLDF_TEXT:
        return "txt";
    case MLDF_JSON:
        return "json";
    case MLDF_NDARRAY:
        return "npy";
    case MLDF_INT:
    case MLDF_FLOAT:
    case MLDF_INLINE:
        return NULL;
    default:
        return "bin";
    }
}

/* The endings that columns have so far, each with the first column that has it; ending_of knows no more. */
enum { ENDINGS = 16 };
struct endings {
    size_t first[ENDINGS], count;
};

static void claim_ending(struct extraction *x, struct endings *endings, struct column *column) {
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

static mldf_status choose_column(struct extraction *x, struct endings *endings, bool *taken, mldf_error *err) {
    const mldf_schema *schema = mldf_reader_schema(x->reader);
    struct column *column = &x->columns[x->count];
    column->field = x->count;
    if (x->options->field_count) {
        mldf_status status = mldf_schema_find(schema, x->options->fields[x->count], &column->field, err);
        if (status < 0)
            return status;
    }
    if (taken[column->field])
        return mldfi_fail(err, MLDF_E_ARGUMENT, "field '%s' is named twice", x->options->fields[x->count]);
    taken[column->field] = true;
    const mldf_field *field = mldf_schema_field(schema, column->field);
    column->ending = ending_of(field);
    column->image = field->known && mldfi_is_image_type(field->type_id);
    claim_ending(x, endings, column);
    return MLDF_OK;
}

static mldf_status choose_columns(struct extraction *x, mldf_error *err) {
    const mldf_schema *schema = mldf_reader_schema(x->reader);
    size_t ignored, fields = mldf_schema_field_count(schema);
    size_t count = x->options->field_count ? x->options->field_count : fields;
    struct endings endings = {.count = 0};
    bool *taken = mldfi_alloc_zero(fields + 1, sizeof *taken, err);
    x->columns = mldfi_alloc_zero(count + 1, sizeof *x->columns, err);
    mldf_status status = taken && x->columns ? MLDF_OK : MLDF_E_MEMORY;
    while (status == MLDF_OK && x->count < count) {
        status = choose_column(x, &endings, taken, err);
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

/* Keys of packed folders are names of files: an image whose key says already what it is needs no second ending. */
static bool ends_with(const mldf_buffer *name, const char *ending) {
    static const char *const same[][2] = {{"jpg", "jpeg"}, {"tif", "tiff"}};
    size_t bytes = strlen(ending);
    if (name->size > bytes + 1 && name->data[name->size - bytes - 1] == '.' &&
        strncasecmp((const char *)name->data + name->size - bytes, ending, bytes) == 0)
        return true;
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        if (strcmp(ending, same[i][0]) == 0)
            return ends_with(name, same[i][1]);
    return false;
}

static mldf_status make_name(struct extraction *x, const struct column *column, const char *ending, uint64_t sample,
                             const char *key, size_t key_bytes, mldf_error *err) {
    const char *field = mldf_schema_field(mldf_reader_schema(x->reader), column->field)->name;
    x->name.size = 0;
    mldf_status status = key ? put_key(&x->name, key, key_bytes, err)
                             : mldfi_buffer_printf(&x->name, err, "%0*" PRIu64, x->width, sample);
    if (status == MLDF_OK && column->named) {
        status = mldfi_buffer_append_text(&x->name, ".", err);
        if (status == MLDF_OK)
            status = put_part(&x->name, field, strlen(field), err);
    }
    if (status == MLDF_OK && !(column->image && !column->named && key && ends_with(&x->name, ending)))
        status = mldfi_buffer_printf(&x->name, err, ".%s", ending);
    return status < 0 ? status : mldf_buffer_append(&x->name, "", 1, err);
}

/* ---- Files --------------------------------------------------------------------------------------------------------- */

/* The header of an NPY file, version 1.0: its length, with the ten bytes before it, is a multiple of 64. bfloat16, which NumPy does not
 * have, is two raw bytes. */
static mldf_status npy_header(mldf_buffer *out, const mldf_value *value, mldf_error *err) {
    const char *descr = value->dtype == MLDF_BF16 ? "|V2" : mldf_dtype_name(value->dtype);
    out->size = 0;
    mldf_status status = mldf_buffer_append(out, "\x93NUMPY\x01\x00\x00\x00", 10, err);
    if (status == MLDF_OK)
        status = mldfi_buffer_printf(out, err, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (uint32_t i = 0; status == MLDF_OK && i < value->ndim; i++)
        status = mldfi_buffer_printf(out, err, i ? ", %" PRIu64 : "%" PRIu64, value->dims[i]);
    if (status == MLDF_OK)
        status = mldfi_buffer_append_text(out, value->ndim == 1 ? ",), }" : "), }", err);
    while (status == MLDF_OK && out->size % 64 != 63)
        status = mldfi_buffer_append_text(out, " ", err);
    if (status == MLDF_OK)
        status = mldfi_buffer_append_text(out, "\n", err);
    if (status == MLDF_OK) {
        out->data[8] = (uint8_t)(out->size - 10);
        out->data[9] = (uint8_t)((out->size - 10) >> 8);
    }
    return status;
}

/* A new file. In a folder that is there already it may replace others, but not the file that is read. */
static mldf_status create(struct extraction *x, const char *name, int *fd, mldf_error *err) {
    mldf_status status = MLDF_OK;
    x->place.size = 0;
    if (x->folder.exists && (status = mldfi_buffer_printf(&x->place, err, "%s/%s", x->folder.target, name)) >= 0)
        status = mldfi_reader_is_not_target(x->reader, (const char *)x->place.data, err);
    return status < 0 ? status : mldfi_folder_create(&x->folder, name, fd, err);
}

static mldf_status write_file(struct extraction *x, const mldf_value *value, mldf_error *err) {
    int fd;
    mldf_status status = MLDF_OK;
    x->header.size = 0;
    if (value->kind == MLDF_KIND_ARRAY)
        status = npy_header(&x->header, value, err);
    if (status == MLDF_OK)
        status = create(x, (const char *)x->name.data, &fd, err);
    if (status < 0)
        return status;
    if (x->header.size)
        status = mldfi_fd_write_all(fd, x->header.data, x->header.size, err);
    if (status == MLDF_OK && value->bytes)
        status = mldfi_fd_write_all(fd, value->data, (size_t)value->bytes, err);
    if (status < 0)
        mldfi_error_prefix(err, "%s", (const char *)x->name.data);
    if (close(fd) != 0 && status == MLDF_OK)
        status = mldfi_fail(err, MLDF_E_IO, "%s cannot be completed", (const char *)x->name.data);
    x->bytes += x->header.size + value->bytes;
    return status;
}

static mldf_status flush_lines(struct extraction *x, mldf_error *err) {
    mldf_status status = x->lines.size ? mldfi_fd_write_all(x->manifest, x->lines.data, x->lines.size, err) : MLDF_OK;
    if (status < 0)
        mldfi_error_prefix(err, "manifest.jsonl");
    x->bytes += x->lines.size;
    x->lines.size = 0;
    return status;
}

/* ---- Samples ------------------------------------------------------------------------------------------------------- */

/* An image as a file that others open: its own bytes; of raw pixels and YUV a PNG. */
static mldf_status as_file(struct extraction *x, const mldf_field *field, mldf_value *value, const char **ending,
                           mldf_error *err) {
    struct sink_image image;
    mldf_status status = mldfi_image_make(&x->maker, &x->media, field, value, IMAGE_FILE, &image, err);
    mldfi_kit_trim(&x->media);
    if (status < 0)
        return status;
    value->kind = MLDF_KIND_BYTES; /* raw pixels are an array, but their file is none */
    value->data = image.data;
    value->bytes = image.bytes;
    *ending = mldfi_image_ending(&image);
    return MLDF_OK;
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
        return status < 0 ? status : mldfi_value_json(field, &value, &x->lines, err);
    const char *ending = column->ending;
    if (column->image)
        status = as_file(x, field, &value, &ending, err);
    if (status == MLDF_OK)
        status = make_name(x, column, ending, sample, key, key_bytes, err);
    if (status == MLDF_OK)
        status = write_file(x, &value, err);
    if (status < 0)
        mldfi_error_place(err, sample, field->name);
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
    watch.now = (mldf_progress){"extract", 0, samples, 0, MLDF_NONE};
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
    if (!reader || !folder || !mldfi_take_options(&own, sizeof own, given))
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "extract needs a reader, a folder, and options from MLDF_EXTRACT_OPTIONS_INIT");
    mldf_status status = choose_columns(&x, err);
    if (status == MLDF_OK)
        status = mldfi_folder_begin(&x.folder, folder, x.options->overwrite, err);
    if (status == MLDF_OK)
        status = extract_all(&x, err);
    mldfi_folder_discard(&x.folder);
    for (size_t i = 0; x.columns && i < x.count; i++)
        mldf_buffer_free(&x.columns[i].scratch);
    free(x.columns);
    mldfi_image_maker_free(&x.maker);
    mldfi_kit_free(&x.media);
    mldf_buffer_free(&x.lines);
    mldf_buffer_free(&x.name);
    mldf_buffer_free(&x.place);
    mldf_buffer_free(&x.key_scratch);
    mldf_buffer_free(&x.header);
    if (result)
        *result = (mldf_pack_result){status == MLDF_OK ? mldf_reader_sample_count(reader) : 0, 0, x.bytes};
    return status;
}
