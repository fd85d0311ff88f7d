/* Opening several files as one. See open_many.h. */
#include "tool/open_many.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "field/field.h"
#include "field/image_type.h"
#include "interop/tar.h"
#include "reader/reader.h"
#include "tool/copy_sample.h"
#include "tool/pack_source.h"
#include "util/buffer.h"
#include "util/error.h"

/* More are opened one after the other, twice: descriptors are few. */
enum { SOURCES_OPEN = 64, SPOOL_CHUNK = 1 << 18 };

/* ---- Names -------------------------------------------------------------------------------------------------------------- */

/* name: NULL is the path itself. */
static mldf_status add_path(struct sources *s, const char *path, const char *name, mldf_error *err) {
    TRY(mldfi_array_reserve(&s->list, &s->capacity, s->count + 1, sizeof *s->list, err));
    struct source *source = &s->list[s->count++];
    *source = (struct source){mldfi_copy_text(path, strlen(path), err), NULL, NULL};
    source->name = name ? name : source->path;
    return source->path ? MLDF_OK : MLDF_E_MEMORY;
}

/* A file whose name has braces in it is that file. */
static mldf_status add_name(struct sources *s, const char *name, mldf_error *err) {
    struct tar_shards shards = {0};
    bool exists = false;
    mldf_status status = mldfi_file_exists(name, &exists, NULL);
    if (status >= 0 && exists)
        return add_path(s, name, NULL, err);
    status = mldfi_tar_shards_expand(&shards, name, err);
    for (size_t i = 0; i < shards.count && status >= 0; i++)
        status = add_path(s, shards.paths[i], NULL, err);
    mldfi_tar_shards_free(&shards);
    return status;
}

/* Samples are read at random, a pipe is not: its bytes go to a file without a name first. */
static mldf_status add_input(struct sources *s, const char *out, struct input_watch *watch, mldf_error *err) {
    char path[48];
    uint64_t at = 0;
    if (s->spool.fd >= 0)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "standard input was named twice");
    uint8_t *chunk = mldfi_alloc(SPOOL_CHUNK, err);
    if (!chunk)
        return MLDF_E_MEMORY;
    mldf_status status = strcmp(out, "-") == 0
                             ? mldfi_file_create_temporary(&s->spool, mldfi_temporary_folder(s->options.context), err)
                             : mldfi_file_create_unlinked(&s->spool, out, err);
    while (status >= 0) {
        size_t got = 0;
        status = mldfi_watched_read(STDIN_FILENO, chunk, SPOOL_CHUNK, watch, "(standard input)", &got, err);
        if (status < 0 || got == 0)
            break;
        status = mldfi_file_write(&s->spool, at, chunk, got, err);
        watch->now.bytes_done = at += got;
        if (status >= 0)
            status = mldfi_watch(watch, false, err);
    }
    free(chunk);
    snprintf(path, sizeof path, "/dev/fd/%d", s->spool.fd);
    return status < 0 ? status : add_path(s, path, "(standard input)", err);
}

/* ---- One schema --------------------------------------------------------------------------------------------------------- */

static bool is_tar(const mldf_reader *reader) {
    return strcmp(mldf_reader_format(reader), "tar") == 0;
}

/* It has no fields, and says nothing of those of others. */
static bool is_empty_tar(const mldf_reader *reader) {
    return is_tar(reader) && mldf_schema_field_count(mldf_reader_schema(reader)) == 0;
}

static void set_nullable(mldf_schema *schema, size_t field) {
    struct schema_field *f = &schema->fields[field];
    if (f->nullable_index != SIZE_MAX)
        return;
    f->info.flags |= MLDF_FIELD_NULLABLE;
    schema->nullable_count = 0;
    for (size_t i = 0; i < schema->field_count; i++)
        schema->fields[i].nullable_index =
            schema->fields[i].info.flags & MLDF_FIELD_NULLABLE ? schema->nullable_count++ : SIZE_MAX;
}

static mldf_status merge_field(struct sources *s, const mldf_reader *reader, size_t i, bool later, mldf_error *err) {
    const mldf_field *field = mldf_schema_field(mldf_reader_schema(reader), i);
    size_t at;
    if (mldf_schema_find(s->schema, field->name, &at, NULL) < 0) {
        if (later && !is_tar(reader))
            return mldfi_fail(err, MLDF_E_SCHEMA, "the field %s is not in the files before", field->name);
        return mldfi_copy_field(reader, i, later ? MLDF_FIELD_NULLABLE : 0, s->schema, err);
    }
    const mldf_field *have = mldf_schema_field(s->schema, at);
    if (have->type_id != field->type_id || strcmp(have->arguments, field->arguments) != 0)
        return mldfi_fail(err, MLDF_E_SCHEMA, "the field %s is %s %.100s, and in the files before %s %.100s",
                          field->name, field->type_name, field->arguments, have->type_name, have->arguments);
    if (field->flags & MLDF_FIELD_NULLABLE)
        set_nullable(s->schema, at);
    return MLDF_OK;
}

static mldf_status merge_schema(struct sources *s, const mldf_reader *reader, bool later, mldf_error *err) {
    const mldf_schema *schema = mldf_reader_schema(reader);
    mldf_status status = MLDF_OK;
    size_t ignored;
    for (size_t i = 0; i < s->schema->field_count && later; i++) {
        const char *name = s->schema->fields[i].info.name;
        if (mldf_schema_find(schema, name, &ignored, NULL) == MLDF_OK)
            continue;
        if (!is_tar(reader))
            return mldfi_fail(err, MLDF_E_SCHEMA, "the field %s is missing", name);
        set_nullable(s->schema, i);
    }
    for (size_t i = 0; i < mldf_schema_field_count(schema) && status >= 0; i++)
        status = merge_field(s, reader, i, later, err);
    return status;
}

static mldf_status take_profiles(struct sources *s, const mldf_reader *reader, mldf_error *err) {
    mldf_buffer card = MLDF_BUFFER_INIT;
    mldf_status status = MLDF_END;
    for (size_t i = 0; i < s->schema->field_count && status == MLDF_END; i++)
        if (mldfi_image_icc_in_card(&s->schema->fields[i]))
            status = MLDF_OK;
    if (status == MLDF_OK)
        status = mldf_reader_card(reader, &card, err);
    if (status == MLDF_OK)
        status = mldfi_icc_take_card(&s->icc, (const char *)card.data, card.size, err);
    mldf_buffer_free(&card);
    return status < 0 ? status : MLDF_OK;
}

static mldf_status look_at(struct sources *s, size_t i, mldf_error *err) {
    mldf_reader *reader;
    TRY(mldfi_sources_reader(s, i, &reader, err));
    mldf_status status = is_empty_tar(reader) ? MLDF_OK : merge_schema(s, reader, s->schema->field_count > 0, err);
    if (status >= 0)
        status = take_profiles(s, reader, err);
    if (status < 0) {
        mldfi_error_path(err, s->list[i].name);
        return status;
    }
    mldf_file_info info;
    mldfi_reader_info(reader, &info);
    s->encrypted =
        s->encrypted || (strcmp(mldf_reader_format(reader), "mldf") == 0 && (info.flags & FORMAT_FLAG_ENCRYPTED));
    s->sealed = s->sealed || reader->sealed_bytes;
    s->samples += mldf_reader_sample_count(reader);
    s->keys = s->keys && mldf_reader_has_keys(reader);
    if (i == 0) {
        status = mldf_reader_card(reader, &s->card, err);
        s->has_card = status == MLDF_OK;
    }
    if (s->count > SOURCES_OPEN)
        mldfi_sources_done(s, i);
    return status < 0 ? status : MLDF_OK;
}

mldf_status mldfi_sources_open(struct sources *s, const char *const *names, size_t count, const char *out,
                               const mldf_reader_options *options, struct input_watch *watch, mldf_error *err) {
    mldf_status status = MLDF_OK;
    memset(s, 0, sizeof *s);
    s->spool = (struct os_file)OS_FILE_NONE;
    s->options = *options;
    s->keys = true;
    if (count == 0)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "no source was given");
    for (size_t i = 0; i < count && status >= 0; i++)
        status = strcmp(names[i], "-") == 0 ? add_input(s, out, watch, err) : add_name(s, names[i], err);
    if (status >= 0)
        status = mldf_schema_new(options->context, &s->schema, err);
    for (size_t i = 0; i < s->count && status >= 0; i++)
        status = mldfi_source_is_not_target(s->list[i].path, out, err);
    for (size_t i = 0; i < s->count && status >= 0; i++)
        status = look_at(s, i, err);
    if (status >= 0 && s->schema->field_count == 0)
        status = mldf_schema_add(s->schema, TAR_EMPTY_FIELD, MLDF_BYTES, NULL, 0, err);
    return status;
}

void mldfi_sources_close(struct sources *s) {
    for (size_t i = 0; i < s->count; i++) {
        mldf_reader_close(s->list[i].reader);
        free(s->list[i].path);
    }
    free(s->list);
    mldf_schema_free(s->schema);
    mldf_buffer_free(&s->card);
    mldfi_icc_free(&s->icc);
    mldfi_file_close(&s->spool);
}

size_t mldfi_sources_field(const struct sources *s, const mldf_reader *reader, size_t field) {
    size_t at;
    const char *name = mldf_schema_field(s->schema, field)->name;
    return mldf_schema_find(mldf_reader_schema(reader), name, &at, NULL) == MLDF_OK ? at : SIZE_MAX;
}

/* The spool's path means nothing to anybody. */
static mldf_status open_spool(const struct sources *s, struct source *source, mldf_error *err) {
    mldf_error why;
    mldf_status status = mldf_reader_open(source->path, &s->options, &source->reader, &why);
    if (status < 0) {
        why.path[0] = 0;
        mldfi_error_path(&why, source->name);
        if (err)
            *err = why;
        return status;
    }
    char *shown = mldfi_copy_text(source->name, strlen(source->name), err);
    if (!shown)
        return MLDF_E_MEMORY;
    free(source->reader->path);
    source->reader->path = shown;
    return MLDF_OK;
}

mldf_status mldfi_sources_reader(struct sources *s, size_t i, mldf_reader **out, mldf_error *err) {
    struct source *source = &s->list[i];
    mldf_status status = MLDF_OK;
    if (!source->reader && source->name != source->path)
        status = open_spool(s, source, err);
    else if (!source->reader)
        status = mldf_reader_open(source->path, &s->options, &source->reader, err);
    *out = source->reader;
    return status;
}

void mldfi_sources_done(struct sources *s, size_t i) {
    mldf_reader_close(s->list[i].reader);
    s->list[i].reader = NULL;
}
