/* Samples out of members, as WebDataset makes them: members that follow each other and whose names agree up to the first dot
 * after the last slash belong together. A sample is whole only when the next member, or the end, is seen: that member waits.
 * tar_index.c keeps all samples of an archive, tar_read.c is where members come from. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field/npy.h"
#include "interop/name_set.h"
#include "interop/tar.h"
#include "interop/tar_about.h"
#include "interop/tar_npz.h"
#include "reader/reader.h"
#include "util/buffer.h"
#include "util/error.h"

#define ULL(v) ((unsigned long long)(v))

enum { SHOWN = 120, PARTS_MAX = 1024 }; /* bytes of a name in a message; parts of one sample */

struct piece {
    size_t extension_at; /* in names */
    mldf_buffer memory;  /* of its content, unless that is in place */
};

struct shard {
    char *name;
    uint64_t first_place; /* number of its byte 0 over all shards: how a place is one number */
};

struct tar_group {
    struct tar_group_options options;
    struct tar_input *input;
    struct tar_reader *reader;
    struct shard *shards;
    size_t shard_count, shard_capacity;
    struct name_set *keys;

    struct tar_member waiting; /* of the next sample; its name lives in the reader */
    size_t waiting_key, waiting_extension;
    bool has_waiting, ended;
    bool squeezed; /* the archive is compressed */
    uint64_t passed_over;

    mldf_buffer names; /* the sample's key, then extensions, each terminated */
    size_t key_bytes;
    uint64_t header_offset;
    struct tar_part *parts;
    struct piece *pieces;
    size_t part_count, part_capacity, piece_capacity, pieces_made;
    mldf_buffer last;    /* key of the last whole sample, terminated */
    mldf_buffer entries; /* room for a list of arrays */
};

bool mldfi_tar_split(const char *name, size_t bytes, size_t *key_bytes, size_t *extension_at) {
    size_t base = bytes;
    while (base > 0 && name[base - 1] != '/')
        base--;
    const char *dot = base < bytes ? memchr(name + base, '.', bytes - base) : NULL;
    if (!dot || dot == name + base || dot + 1 == name + bytes)
        return false;
    if (base == 0 && bytes >= 4 && memcmp(name, "__", 2) == 0 && memcmp(name + bytes - 2, "__", 2) == 0)
        return false;
    *key_bytes = (size_t)(dot - name);
    *extension_at = *key_bytes + 1;
    return true;
}

mldf_status mldfi_tar_group_new(struct tar_group **out, const struct tar_group_options *options, mldf_error *err) {
    *out = NULL;
    struct tar_group *g = mldfi_alloc_zero(1, sizeof *g, err);
    if (!g)
        return MLDF_E_MEMORY;
    if (options)
        g->options = *options;
    mldf_status status = mldfi_name_set_new(&g->keys, err);
    if (status < 0) {
        mldfi_tar_group_free(g);
        return status;
    }
    *out = g;
    return MLDF_OK;
}

void mldfi_tar_group_free(struct tar_group *g) {
    if (!g)
        return;
    mldfi_tar_reader_free(g->reader);
    mldfi_name_set_free(g->keys);
    for (size_t i = 0; i < g->shard_count; i++)
        free(g->shards[i].name);
    for (size_t i = 0; i < g->pieces_made; i++)
        mldf_buffer_free(&g->pieces[i].memory);
    free(g->shards);
    free(g->parts);
    free(g->pieces);
    mldf_buffer_free(&g->names);
    mldf_buffer_free(&g->last);
    mldf_buffer_free(&g->entries);
    free(g);
}

mldf_status mldfi_tar_group_begin(struct tar_group *g, struct tar_input *input, const char *shard, mldf_error *err) {
    uint64_t place = 0;
    if (g->shard_count > 0)
        place = g->shards[g->shard_count - 1].first_place + mldfi_tar_input_position(g->input) + 1;
    mldfi_tar_reader_free(g->reader);
    g->reader = NULL;
    g->has_waiting = g->ended = false;
    g->part_count = 0;
    g->input = input;
    g->squeezed = strcmp(mldfi_tar_input_kind(input), "tar") != 0;
    g->last.size = 0;
    mldf_status status =
        mldfi_array_reserve(&g->shards, &g->shard_capacity, g->shard_count + 1, sizeof *g->shards, err);
    if (status < 0)
        return status;
    char *name = mldfi_copy_text(shard, strlen(shard), err);
    if (!name)
        return MLDF_E_MEMORY;
    g->shards[g->shard_count++] = (struct shard){.name = name, .first_place = place};
    return mldfi_tar_reader_new(&g->reader, input, g->options.warn, g->options.user, err);
}

static const char *shard_name(const struct tar_group *g) {
    return g->shards[g->shard_count - 1].name;
}

static void pass_over(struct tar_group *g) {
    char text[SHOWN + 100];
    bool about = mldfi_tar_is_about(g->waiting.name, g->waiting.name_bytes);
    g->passed_over += !about;
    if (!g->options.warn || (about && g->part_count == 0))
        return;
    (void)snprintf(text, sizeof text,
                   about ? "%.*s is not used: it must come before the first sample"
                         : "%.*s: no part of a sample (a name is KEY.EXTENSION), skipped",
                   SHOWN, g->waiting.name);
    g->options.warn(g->options.user, text);
}

uint64_t mldfi_tar_group_passed_over(const struct tar_group *g) {
    return g->passed_over;
}

/* The next member that belongs to a sample, into `waiting`. MLDF_END at the shard's end. */
static mldf_status look(struct tar_group *g, mldf_error *err) {
    while (!g->has_waiting && !g->ended) {
        mldf_status status = mldfi_tar_next(g->reader, &g->waiting, err);
        if (status < 0)
            return status;
        if (status == MLDF_END) {
            g->ended = true;
        } else if (mldfi_tar_split(g->waiting.name, g->waiting.name_bytes, &g->waiting_key, &g->waiting_extension)) {
            g->has_waiting = true;
        } else {
            pass_over(g);
        }
    }
    return g->ended ? MLDF_END : MLDF_OK;
}

static mldf_status append_name(struct tar_group *g, const char *text, size_t bytes, bool lower, mldf_error *err) {
    size_t at = g->names.size;
    mldf_status status = mldf_buffer_append(&g->names, text, bytes, err);
    if (status >= 0)
        status = mldf_buffer_append(&g->names, "", 1, err);
    for (size_t i = at; status >= 0 && lower && i < at + bytes; i++)
        if (g->names.data[i] >= 'A' && g->names.data[i] <= 'Z')
            g->names.data[i] = (uint8_t)(g->names.data[i] - 'A' + 'a');
    return status;
}

/* The key is remembered with its place: this shard, this header. */
static mldf_status begin_sample(struct tar_group *g, mldf_error *err) {
    const struct tar_member *m = &g->waiting;
    g->names.size = 0;
    g->part_count = 0;
    g->key_bytes = g->waiting_key;
    g->header_offset = m->header_offset;
    mldf_status status = append_name(g, m->name, g->key_bytes, false, err);
    if (status < 0 || g->options.repeated_keys)
        return status;
    uint64_t place = g->shards[g->shard_count - 1].first_place + m->header_offset;
    status = mldfi_name_set_add(g->keys, m->name, g->key_bytes, &place, err);
    if (status != MLDF_END)
        return status;
    size_t first = g->shard_count - 1;
    while (g->shards[first].first_place > place)
        first--;
    return mldfi_fail_at(
        err, MLDF_E_KEY, m->header_offset,
        "the key %.*s comes again at byte %llu of %s; it was at byte %llu of %s, and other samples lie between",
        (int)(g->key_bytes < SHOWN ? g->key_bytes : SHOWN), m->name, ULL(m->header_offset), shard_name(g),
        ULL(place - g->shards[first].first_place), g->shards[first].name);
}

static mldf_status check_part(const struct tar_group *g, mldf_error *err) {
    const char *extension = (const char *)g->names.data + g->pieces[g->part_count].extension_at;
    for (size_t i = 0; i < g->part_count; i++)
        if (strcmp((const char *)g->names.data + g->pieces[i].extension_at, extension) == 0)
            return mldfi_fail_at(err, MLDF_E_KEY, g->waiting.header_offset,
                                 "sample %.*s has two parts .%.*s, at byte %llu and at byte %llu of %s", SHOWN,
                                 (const char *)g->names.data, SHOWN, extension, ULL(g->parts[i].offset),
                                 ULL(g->waiting.offset), shard_name(g));
    if (!g->options.headers_only && g->waiting.size > TAR_STREAMED_MEMBER_MAX &&
        strcmp(mldfi_tar_input_kind(g->input), "tar") != 0)
        return mldfi_tar_member_too_large(g->waiting.name, g->waiting.size, g->waiting.header_offset, err);
    if (g->options.member_max && g->waiting.size > g->options.member_max)
        return mldfi_fail_at(err, MLDF_E_LIMIT, g->waiting.header_offset, "%.*s has %llu bytes; the limit is %llu",
                             SHOWN, g->waiting.name, ULL(g->waiting.size), ULL(g->options.member_max));
    if (!g->options.headers_only && g->squeezed && g->options.decoded_max && g->waiting.size > g->options.decoded_max)
        return mldfi_fail_at(
            err, MLDF_E_LIMIT, g->waiting.header_offset,
            "%.*s has %llu bytes, and the limit in a compressed archive is %llu: " DECODED_LIMIT_ADVICE, SHOWN,
            g->waiting.name, ULL(g->waiting.size), ULL(g->options.decoded_max));
    return MLDF_OK;
}

/* Of an array that much is read in any case: its header says what the field is. */
static mldf_status take_head(struct tar_group *g, size_t n, mldf_error *err) {
    mldf_buffer *memory = &g->pieces[n].memory;
    size_t got = 0;
    mldf_status status = mldfi_buffer_resize(memory, NPY_HEAD_MAX, err);
    if (status >= 0)
        status = mldfi_tar_read(g->reader, memory->data, NPY_HEAD_MAX, &got, err);
    memory->size = got;
    g->parts[n].data = memory->data;
    return status;
}

/* Part n, with nothing in it. */
static mldf_status make_room(struct tar_group *g, size_t n, mldf_error *err) {
    const struct tar_member *m = &g->waiting;
    if (n >= PARTS_MAX)
        return mldfi_fail_at(err, MLDF_E_LIMIT, m->header_offset, "sample %.*s has more than %d parts", SHOWN,
                             (const char *)g->names.data, PARTS_MAX);
    mldf_status status = mldfi_array_reserve(&g->parts, &g->part_capacity, n + 1, sizeof *g->parts, err);
    if (status >= 0)
        status = mldfi_array_reserve(&g->pieces, &g->piece_capacity, n + 1, sizeof *g->pieces, err);
    if (status < 0)
        return status;
    if (n == g->pieces_made) {
        g->pieces[n] = (struct piece){0, MLDF_BUFFER_INIT};
        g->pieces_made++;
    }
    g->pieces[n].extension_at = g->names.size;
    g->pieces[n].memory.size = 0;
    return MLDF_OK;
}

/* The waiting .npz was read, and is part n: if it is a list of arrays, each of them becomes a part instead. */
static mldf_status split_npz(struct tar_group *g, size_t n, mldf_error *err) {
    const struct tar_member *m = &g->waiting;
    const uint8_t *zip = g->parts[n].data;
    size_t count, last = sizeof "npz" - 1, prefix = m->name_bytes - g->waiting_extension - last;
    mldf_status status = mldf_buffer_reserve(&g->entries, PARTS_MAX * sizeof(struct npz_entry), err);
    if (status < 0)
        return status;
    struct npz_entry *entries = (struct npz_entry *)(void *)g->entries.data;
    g->parts[n].known_bytes = m->size;
    if (!mldfi_npz_list(zip, m->size, entries, PARTS_MAX, &count)) {
        g->part_count++;
        return MLDF_OK;
    }
    g->names.size = g->pieces[n].extension_at;
    mldf_buffer held = g->pieces[n].memory; /* in the first part's place, or nowhere */
    g->pieces[n].memory = (mldf_buffer)MLDF_BUFFER_INIT;
    for (size_t i = 0; i < count && status >= 0; i++) {
        const struct npz_entry *e = &entries[i];
        status = make_room(g, n + i, err);
        if (status >= 0)
            status = append_name(g, m->name + g->waiting_extension, prefix, true, err);
        g->names.size -= status >= 0;
        if (status >= 0)
            status = append_name(g, e->name, e->name_bytes, false, err);
        g->names.size -= status >= 0;
        if (status >= 0)
            status = append_name(g, ".npz", last + 1, false, err);
        if (status >= 0)
            status = check_part(g, err);
        if (status >= 0) {
            g->parts[n + i] = (struct tar_part){
                .data = zip + e->offset, .bytes = e->bytes, .offset = m->offset + e->offset, .known_bytes = e->bytes};
            g->part_count++;
        }
    }
    mldf_buffer_free(&g->pieces[n].memory);
    g->pieces[n].memory = held;
    return status;
}

/* May a whole member be read where headers alone were asked for? check_part has refused what is too large elsewhere. */
static bool may_hold(const struct tar_group *g, uint64_t bytes) {
    uint64_t most = g->options.decoded_max ? g->options.decoded_max : TAR_STREAMED_MEMBER_MAX;
    return !g->options.headers_only || !g->squeezed || bytes <= most;
}

/* The waiting member becomes a part of the sample, or several. */
static mldf_status take_part(struct tar_group *g, mldf_error *err) {
    const struct tar_member *m = &g->waiting;
    size_t n = g->part_count;
    mldf_status status = make_room(g, n, err);
    if (status >= 0)
        status = append_name(g, m->name + g->waiting_extension, m->name_bytes - g->waiting_extension, true, err);
    if (status >= 0)
        status = check_part(g, err);
    if (status < 0)
        return status;
    g->parts[n] = (struct tar_part){.bytes = m->size, .offset = m->offset};
    const char *extension = (const char *)g->names.data + g->pieces[n].extension_at;
    g->has_waiting = false;
    if (mldfi_npz_is(extension) && may_hold(g, m->size)) {
        status = mldfi_tar_content(g->reader, &g->pieces[n].memory, &g->parts[n].data, err);
        return status < 0 ? status : split_npz(g, n, err);
    }
    if (!g->options.headers_only)
        status = mldfi_tar_content(g->reader, &g->pieces[n].memory, &g->parts[n].data, err);
    else if (mldfi_tar_type(extension) == MLDF_NDARRAY)
        status = take_head(g, n, err);
    g->parts[n].known_bytes = g->options.headers_only ? g->pieces[n].memory.size : m->size;
    g->part_count++;
    return status;
}

static bool same_key(const struct tar_group *g) {
    return g->waiting_key == g->key_bytes && memcmp(g->waiting.name, g->names.data, g->key_bytes) == 0;
}

static mldf_status next(struct tar_group *g, mldf_error *err) {
    mldf_status status = look(g, err);
    if (status != MLDF_OK)
        return status;
    status = begin_sample(g, err);
    do {
        if (status >= 0)
            status = take_part(g, err);
        if (status >= 0)
            status = look(g, err);
    } while (status == MLDF_OK && same_key(g));
    return status == MLDF_END ? MLDF_OK : status;
}

mldf_status mldfi_tar_group_next(struct tar_group *g, struct tar_sample *out, mldf_error *err) {
    if (!g->reader)
        return mldfi_fail(err, MLDF_E_STATE, "no archive to read from");
    mldf_status status = next(g, err);
    if (status == MLDF_E_TRUNCATED) {
        mldfi_error_prefix(err, "the last whole sample is %.*s", SHOWN,
                           g->last.size ? (const char *)g->last.data : "(none)");
    }
    if (status != MLDF_OK)
        return status;
    for (size_t i = 0; i < g->part_count; i++)
        g->parts[i].extension = (const char *)g->names.data + g->pieces[i].extension_at;
    *out = (struct tar_sample){.key = (const char *)g->names.data,
                               .key_bytes = g->key_bytes,
                               .parts = g->parts,
                               .part_count = g->part_count,
                               .header_offset = g->header_offset};
    g->last.size = 0;
    return mldf_buffer_append(&g->last, g->names.data, g->key_bytes + 1, err);
}
