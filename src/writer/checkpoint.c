/* Checkpoints: what `options.resume` keeps beside the target.
 *
 *     PATH.partial          the data region so far, as it will stand in the file
 *     PATH.partial.tables   two superblocks, then the table streams' extents and the saved states, one after the other
 *
 * A state holds everything that decides the bytes to come, so a resumed run ends with the same file. It is written behind all
 * extents; then both files are synced; then the other superblock is written and synced. A crash leaves one good superblock at
 * least. The format is private to one build on one machine: `fingerprint` covers schema, options and the layout of the structs,
 * and a state with another one is refused. Read spill.h and place.c for what is saved. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/target.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/crc32c.h"
#include "util/error.h"
#include "writer/writer.h"

enum { SUPER_BYTES = 40, SUPER_STRIDE = 512, EXTENTS_FROM = 4096, POSITION_MAX = 1 << 20, STATE_VERSION = 2 };
static const uint8_t super_magic[8] = {'M', 'L', 'D', 'F', 'P', 'A', 'R', 'T'};

/* ---- Bytes ---------------------------------------------------------------------------------------------------------------- */

/* One function walks the state for both directions, so that they cannot disagree. */
struct walk {
    bool loading;
    mldf_buffer *bytes;
    size_t at; /* loading */
    mldf_status status;
    mldf_error *err;
};

static void walk_bytes(struct walk *walk, void *data, size_t bytes) {
    if (walk->status < 0)
        return;
    if (!walk->loading) {
        walk->status = mldf_buffer_append(walk->bytes, data, bytes, walk->err);
        return;
    }
    if (bytes > walk->bytes->size - walk->at) {
        walk->status = mldfi_fail(walk->err, MLDF_E_CORRUPT, "the saved state is too short");
        return;
    }
    if (bytes)
        memcpy(data, walk->bytes->data + walk->at, bytes);
    walk->at += bytes;
}

#define WALK(walk, member) walk_bytes(walk, &(member), sizeof(member))

static void walk_buffer(struct walk *walk, mldf_buffer *buffer) {
    uint64_t size = buffer->size;
    WALK(walk, size);
    if (walk->loading && walk->status >= 0) {
        if (size > walk->bytes->size - walk->at)
            walk->status = mldfi_fail(walk->err, MLDF_E_CORRUPT, "the saved state is too short");
        else
            walk->status = mldfi_buffer_resize(buffer, (size_t)size, walk->err);
    }
    walk_bytes(walk, buffer->data, (size_t)size);
}

static void walk_array(struct walk *walk, void *array, size_t *count, size_t *capacity, size_t item_bytes) {
    uint64_t items = *count;
    WALK(walk, items);
    if (walk->loading && walk->status >= 0) {
        if (items > (walk->bytes->size - walk->at) / item_bytes)
            walk->status = mldfi_fail(walk->err, MLDF_E_CORRUPT, "the saved state is too short");
        else
            walk->status = mldfi_array_reserve(array, capacity, (size_t)items + 1, item_bytes, walk->err);
        *count = walk->status >= 0 ? (size_t)items : 0;
    }
    void *data;
    memcpy(&data, array, sizeof data);
    walk_bytes(walk, data, *count * item_bytes);
}

/* dictionary: as the file will hold it, so encrypted where the file is. */
static void walk_state(struct walk *walk, mldf_writer *writer, mldf_buffer *dictionary,
                       uint8_t crypt[MLDFI_CRYPT_SECTION_BYTES]) {
    struct table_builder *tables = &writer->tables;
    const mldf_schema *schema = writer->schema;
    WALK(walk, tables->samples);
    WALK(walk, tables->pages);
    WALK(walk, tables->data_ptr);
    WALK(walk, tables->page_size);
    WALK(walk, tables->keys);
    walk_bytes(walk, tables->validity_byte, schema->nullable_count);
    walk_bytes(walk, tables->stats, schema->field_count * sizeof *tables->stats);
    for (struct spill_stream *s = tables->spill.first; s; s = s->next) {
        WALK(walk, s->spilled);
        walk_array(walk, &s->extents, &s->extent_count, &s->extent_capacity, sizeof *s->extents);
    }
    WALK(walk, writer->prelude.active);
    WALK(walk, writer->prelude.moved);
    WALK(walk, writer->prelude.samples);
    walk_buffer(walk, &writer->prelude.bytes);
    walk_array(walk, &writer->prelude.entries, &writer->prelude.count, &writer->prelude.capacity,
               sizeof *writer->prelude.entries);
    WALK(walk, writer->page_size);
    WALK(walk, writer->data_ptr);
    WALK(walk, writer->cursor);
    WALK(walk, writer->submitted);
    WALK(walk, writer->skipped_total);
    WALK(walk, writer->samples_done);
    walk_buffer(walk, dictionary);
    WALK(walk, writer->dictionary_pending);
    walk_bytes(walk, crypt, MLDFI_CRYPT_SECTION_BYTES);
    walk_buffer(walk, &writer->position);
}

/* ---- Saving ----------------------------------------------------------------------------------------------------------------- */

static mldf_status write_super(mldf_writer *writer, uint64_t offset, const mldf_buffer *state, mldf_error *err) {
    uint8_t super[SUPER_BYTES] = {0};
    uint64_t sequence = writer->checkpoints + 1;
    memcpy(super, super_magic, sizeof super_magic);
    mldfi_store_u64(super + 8, sequence);
    mldfi_store_u64(super + 16, offset);
    mldfi_store_u64(super + 24, state->size);
    mldfi_store_u32(super + 32, mldfi_crc32c(0, state->data, state->size));
    mldfi_store_u32(super + 36, mldfi_crc32c(0, super, 36));
    const struct os_file *file = &writer->tables.spill.file;
    mldf_status status = mldfi_file_write(file, sequence % 2 * SUPER_STRIDE, super, sizeof super, err);
    if (status >= 0)
        status = mldfi_file_sync(file, err);
    if (status >= 0)
        writer->checkpoints = sequence;
    return status;
}

static mldf_status save(mldf_writer *writer, mldf_error *err) {
    struct spill *spill = &writer->tables.spill;
    mldf_buffer state = MLDF_BUFFER_INIT, sealed = MLDF_BUFFER_INIT;
    uint8_t crypt[MLDFI_CRYPT_SECTION_BYTES] = {0};
    bool seal = writer->crypt && writer->dictionary_bytes.size;
    if (writer->crypt)
        mldfi_crypt_section(writer->crypt, crypt);
    mldf_status status = mldfi_spill_flush(spill, err);
    if (status >= 0 && seal)
        status = mldfi_crypt_seal_dictionary(writer->crypt, writer->dictionary_bytes.data,
                                             writer->dictionary_bytes.size, &sealed, err);
    if (status >= 0)
        status = mldf_buffer_append(&state, &writer->fingerprint, sizeof writer->fingerprint, err);
    struct walk walk = {false, &state, 0, status, err};
    walk_state(&walk, writer, seal ? &sealed : &writer->dictionary_bytes, crypt);
    status = walk.status;
    uint64_t offset = spill->file_bytes;
    if (status >= 0)
        status = mldfi_file_write(&spill->file, offset, state.data, state.size, err);
    if (status >= 0)
        status = mldfi_file_sync(&writer->file, err);
    if (status >= 0)
        status = mldfi_file_sync(&spill->file, err);
    if (status >= 0)
        status = write_super(writer, offset, &state, err);
    if (status >= 0) {
        spill->file_bytes += state.size;
        writer->saved = true;
        writer->saved_end = writer->prelude.active ? 0 : writer->cursor;
    }
    mldf_buffer_free(&sealed);
    mldf_buffer_free(&state);
    return status;
}

static mldf_status checkpoint(mldf_writer *writer, const void *position, size_t position_bytes, mldf_error *err) {
    if (!writer->resuming)
        return mldfi_fail(err, MLDF_E_STATE, "checkpoints need the option `resume`");
    if (position_bytes > POSITION_MAX)
        return mldfi_fail(err, MLDF_E_LIMIT, "a position of %zu bytes; at most %d are kept", position_bytes,
                          POSITION_MAX);
    if (writer->dictionary_pending)
        return MLDF_AGAIN;
    /* A cancelled writer is still sound up to its last finished job: drain without looking at the cancel. */
    bool cancelled = atomic_exchange(&writer->cancelled, false);
    mldf_status status = mldfi_drain(writer, err);
    atomic_store(&writer->cancelled, cancelled);
    if (status < 0)
        return status;
    writer->position.size = 0;
    status = mldf_buffer_append(&writer->position, position, position_bytes, err);
    return status < 0 ? status : save(writer, err);
}

mldf_status mldf_writer_checkpoint(mldf_writer *writer, const void *position, size_t position_bytes, mldf_error *err) {
    return mldfi_resume_note(writer, checkpoint(writer, position, position_bytes, err), err);
}

mldf_status mldfi_resume_note(mldf_writer *writer, mldf_status status, mldf_error *err) {
    if (status != MLDF_E_NO_SPACE || !writer->resuming)
        return status;
    writer->no_space = true;
    return writer->saved
               ? mldfi_error_advise(err, status,
                                    "%s keeps what was saved: free some space and run the same again to go on",
                                    writer->file.path)
               : mldfi_error_advise(err, status,
                                    "%s is kept, but nothing was saved yet: free some space and run the same again",
                                    writer->file.path);
}

const void *mldf_writer_position(const mldf_writer *writer, size_t *position_bytes) {
    *position_bytes = writer->position.size;
    return writer->checkpoints ? writer->position.data : NULL;
}

/* ---- Restoring ---------------------------------------------------------------------------------------------------------------- */

/* The newest superblock whose state is whole. */
static mldf_status find_state(mldf_writer *writer, mldf_buffer *state, uint64_t *end, mldf_error *err) {
    const struct os_file *file = &writer->tables.spill.file;
    uint64_t size;
    mldf_status status = mldfi_file_size(file, &size, err);
    for (unsigned slot = 0; slot < 2 && status >= 0; slot++) {
        uint8_t super[SUPER_BYTES];
        if (size < EXTENTS_FROM || (status = mldfi_file_read(file, slot * SUPER_STRIDE, super, sizeof super, err)) < 0)
            break;
        uint64_t sequence = mldfi_load_u64(super + 8), offset = mldfi_load_u64(super + 16),
                 bytes = mldfi_load_u64(super + 24);
        if (memcmp(super, super_magic, sizeof super_magic) != 0 ||
            mldfi_load_u32(super + 36) != mldfi_crc32c(0, super, 36) || sequence <= writer->checkpoints ||
            !mldfi_range_inside(offset, bytes, size))
            continue;
        mldf_buffer found = MLDF_BUFFER_INIT;
        status = mldfi_buffer_resize(&found, (size_t)bytes, err);
        if (status >= 0)
            status = mldfi_file_read(file, offset, found.data, found.size, err);
        if (status >= 0 && mldfi_crc32c(0, found.data, found.size) == mldfi_load_u32(super + 32)) {
            mldf_buffer_free(state);
            *state = found;
            *end = offset + bytes;
            writer->checkpoints = sequence;
        } else {
            mldf_buffer_free(&found);
        }
    }
    return status;
}

static bool is_super(const uint8_t *bytes) {
    static const uint8_t unused[sizeof super_magic];
    return memcmp(bytes, super_magic, sizeof super_magic) == 0 || memcmp(bytes, unused, sizeof unused) == 0;
}

/* What stands under the two names is ours, or nothing: a run that is killed leaves tables with a whole front, before any data. */
static mldf_status check_ours(mldf_writer *writer, mldf_error *err) {
    const struct os_file *data = &writer->file, *tables = &writer->tables.spill.file;
    uint8_t front[2 * SUPER_STRIDE];
    uint64_t data_bytes = 0, table_bytes = 0;
    mldf_status status = mldfi_file_size(data, &data_bytes, err);
    if (status >= 0)
        status = mldfi_file_size(tables, &table_bytes, err);
    if (status >= 0 && table_bytes >= EXTENTS_FROM)
        status = mldfi_file_read(tables, 0, front, sizeof front, err);
    if (status < 0 || (table_bytes >= EXTENTS_FROM && is_super(front) && is_super(front + SUPER_STRIDE)))
        return status;
    if (data_bytes == 0 && table_bytes == 0)
        return MLDF_OK;
    /* An empty one beside it is of no use to anybody: most likely it was made just now. */
    if (data_bytes == 0 || table_bytes == 0)
        mldfi_file_remove(data_bytes == 0 ? data->path : tables->path);
    return mldfi_fail_file(err, MLDF_E_EXISTS, table_bytes ? tables->path : data->path,
                           "already exists and was not left by an interrupted run; remove it to start again");
}

/* The keys of the run that was interrupted, and with them its dictionary. */
static mldf_status restore_secrets(mldf_writer *writer, const uint8_t crypt[MLDFI_CRYPT_SECTION_BYTES],
                                   const mldf_buffer *dictionary, const mldf_secret *secret, mldf_error *err) {
    mldf_buffer *plain = &writer->dictionary_bytes;
    mldf_status status = MLDF_OK;
    if (writer->crypt) {
        mldfi_crypt_free(writer->crypt);
        writer->crypt = NULL;
        status = mldfi_crypt_open(&writer->crypt, crypt, secret, err);
    }
    if (status < 0 || dictionary->size == 0)
        return status;
    status = writer->crypt ? mldfi_crypt_open_dictionary(writer->crypt, dictionary->data, dictionary->size, plain, err)
                           : mldf_buffer_append(plain, dictionary->data, dictionary->size, err);
    return status < 0 ? status : mldfi_zstd_dictionary_new(&writer->dictionary, plain->data, plain->size, err);
}

static mldf_status restore(mldf_writer *writer, mldf_buffer *state, uint64_t end, const mldf_writer_options *options,
                           mldf_error *err) {
    uint8_t crypt[MLDFI_CRYPT_SECTION_BYTES] = {0};
    uint64_t fingerprint = state->size >= 8 ? mldfi_load_u64(state->data) : 0;
    if (fingerprint != writer->fingerprint)
        return mldfi_fail_file(
            err, MLDF_E_ARGUMENT, writer->file.path,
            "was begun with another schema, other options or another version; remove it to start again");
    struct walk walk = {true, state, 8, MLDF_OK, err};
    mldf_buffer dictionary = MLDF_BUFFER_INIT;
    walk_state(&walk, writer, &dictionary, crypt);
    mldf_status status = walk.status;
    if (status >= 0)
        status = restore_secrets(writer, crypt, &dictionary, &options->secret, err);
    mldf_buffer_free(&dictionary);
    writer->tables.spill.file_bytes = end;
    writer->writeback_from = writer->cursor;
    writer->saved = true;
    /* What was written after the checkpoint must not shine through the holes that are padding. */
    uint64_t data_end = writer->prelude.active ? 0 : writer->cursor, data_bytes = 0;
    writer->saved_end = data_end;
    if (status >= 0)
        status = mldfi_file_size(&writer->file, &data_bytes, err);
    if (status >= 0 && data_end > writer->data_ptr && data_bytes <= writer->data_ptr)
        return mldfi_fail_file(err, MLDF_E_ARGUMENT, writer->file.path,
                               "lacks the data that %s tells of; remove both to start again",
                               writer->tables.spill.file.path);
    return status < 0 ? status : mldfi_file_truncate(&writer->file, data_end, err);
}

static mldf_status make_fingerprint(mldf_writer *writer, const mldf_writer_options *options, mldf_error *err) {
    mldf_buffer text = MLDF_BUFFER_INIT;
    mldf_status status = mldf_schema_write(writer->schema, &text, err);
    if (status >= 0)
        status = mldfi_buffer_printf(&text, err, "|%s %d|%llu %d %d %d %d|%zu %zu %zu|", mldf_version(), STATE_VERSION,
                                     (unsigned long long)options->page_size, options->no_checksums, options->dictionary,
                                     writer->crypt != NULL, options->secret.passphrase != NULL,
                                     sizeof(struct stats_accumulator), sizeof(struct prelude_entry),
                                     sizeof(struct spill_extent));
    if (status >= 0 && writer->card)
        status = mldf_buffer_append(&text, writer->card, writer->card_bytes, err);
    if (status >= 0)
        writer->fingerprint = mldfi_key_hash(text.data, text.size);
    mldf_buffer_free(&text);
    return status;
}

static char *partial_path(const char *target, const char *suffix, mldf_error *err) {
    size_t bytes = strlen(target) + strlen(suffix) + 1;
    char *path = mldfi_alloc(bytes, err);
    if (path) {
        memcpy(path, target, strlen(target));
        memcpy(path + strlen(target), suffix, strlen(suffix) + 1);
    }
    return path;
}

mldf_status mldfi_resume_begin(mldf_writer *writer, const mldf_writer_options *options, mldf_error *err) {
    struct spill *spill = &writer->tables.spill;
    char *data = partial_path(writer->target, ".partial", err),
         *tables = partial_path(writer->target, ".partial.tables", err);
    mldf_buffer state = MLDF_BUFFER_INIT;
    uint64_t end = EXTENTS_FROM;
    bool existed = true, locked = false;
    mldf_status status = data && tables ? make_fingerprint(writer, options, err) : MLDF_E_MEMORY;
    if (status >= 0)
        status = mldfi_file_exists(data, &existed, err);
    if (status >= 0)
        status = mldfi_file_open_or_create(&writer->file, data, err);
    if (status >= 0)
        status = mldfi_file_lock(&writer->file, err);
    locked = status >= 0;
    if (status >= 0)
        status = mldfi_file_open_or_create(&spill->file, tables, err);
    writer->resuming = true;
    writer->saved = true; /* whatever is there is not ours to remove until we know it */
    spill->file_bytes = EXTENTS_FROM;
    if (status >= 0)
        status = check_ours(writer, err);
    if (status >= 0)
        status = find_state(writer, &state, &end, err);
    if (status >= 0 && writer->checkpoints) {
        status = restore(writer, &state, end, options, err);
    } else if (status >= 0) {
        writer->saved = false;
        status = mldfi_file_truncate(&writer->file, 0, err);
        if (status >= 0)
            status = mldfi_file_truncate(&spill->file, EXTENTS_FROM, err);
    }
    if (status < 0 && locked && !existed)
        mldfi_file_remove(data); /* made just now */
    mldf_buffer_free(&state);
    free(data);
    free(tables);
    return status;
}

void mldfi_resume_remove(mldf_writer *writer, bool all) {
    mldf_error ignored;
    if (writer->no_space && !writer->published) { /* what no checkpoint covers only takes the space that is lacking */
        (void)mldfi_file_truncate(&writer->file, writer->saved_end, &ignored);
        return;
    }
    if (!all && !writer->published)
        return;
    if (writer->tables.spill.file.path)
        mldfi_file_remove(writer->tables.spill.file.path);
    if (all && writer->file.path)
        mldfi_file_remove(writer->file.path);
}
