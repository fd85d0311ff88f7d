/* See token_files.h. Sizes and tables are checked when a file is opened; each sequence of a Megatron file when it is read. */
#include "interop/token_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field/tokens.h"
#include "os/file.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

static const uint8_t megatron_magic[9] = {'M', 'M', 'I', 'D', 'I', 'D', 'X', 0, 0};

static const uint8_t nothing[8]; /* the bytes of an empty file, which has no mapping */

/* A second file beside the first. */
struct neighbour {
    struct os_file file;
    struct os_map map;
};
#define NEIGHBOUR_NONE \
    { \
        OS_FILE_NONE, { \
            NULL, 0 \
        } \
    }

struct token_file {
    const char *format;
    const uint8_t *ids; /* of the mapping */
    uint64_t id_count, ids_at;
    mldf_dtype source, dtype; /* as stored in the file; as the field has it */
    uint64_t documents;
    uint64_t *ends;                                      /* owned; NULL: datatrove and Megatron have tables */
    const uint8_t *table;                                /* datatrove: u64 ends */
    const uint8_t *lengths, *pointers, *indices, *modes; /* Megatron */
    uint64_t sequences;
    size_t sequence_field, mode_field, loss_field; /* SIZE_MAX: none */
    struct neighbour second, third;
};

static void close_neighbour(struct neighbour *n) {
    mldfi_map_close(&n->map);
    mldfi_file_close(&n->file);
}

static void tokens_close(void *state) {
    struct token_file *t = state;
    free(t->ends);
    close_neighbour(&t->second);
    close_neighbour(&t->third);
    free(t);
}

static mldf_status open_neighbour(struct neighbour *n, const char *path, mldf_error *err) {
    uint64_t bytes;
    mldf_status status = mldfi_file_open(&n->file, path, OS_OPEN_READ, err);
    if (status >= 0)
        status = mldfi_file_size(&n->file, &bytes, err);
    return status < 0 ? status : mldfi_map_open(&n->map, &n->file, bytes, err);
}

static char *with_ending(const char *path, size_t keep, const char *ending) {
    char *out = malloc(keep + strlen(ending) + 1);
    if (out) {
        memcpy(out, path, keep);
        memcpy(out + keep, ending, strlen(ending) + 1);
    }
    return out;
}

char *mldfi_megatron_bin(const char *path) {
    size_t n = strlen(path);
    return n > 4 && strcmp(path + n - 4, ".idx") == 0 ? with_ending(path, n - 4, ".bin") : NULL;
}

/* ---- Values ----------------------------------------------------------------------------------------------------------------------- */

static uint64_t end_of(const struct token_file *t, uint64_t document) {
    return t->table ? mldfi_load_u64(t->table + 8 * document) : t->ends[document];
}

static mldf_status give(mldf_buffer *scratch, const void *record, uint32_t record_bytes, const void *data,
                        uint64_t bytes, mldf_value *out, mldf_error *err) {
    return mldfi_foreign_value(scratch, record, record_bytes, data, bytes, false, out, err);
}

static mldf_status wrong_id(const struct token_file *t, const uint8_t *ids, uint64_t at, mldf_error *err) {
    return mldfi_fail(err, MLDF_E_RANGE, "token %" PRIu64 " is %" PRId64 ", which no id of 31 bits is", at,
                      mldfi_id_at(t->source, ids, at));
}

/* Ids that the field's width holds as they stand, or a copy of them. */
static mldf_status give_ids(const struct token_file *t, const uint8_t *ids, uint64_t count, bool whole,
                            mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    uint8_t record[16] = {0}, *place;
    uint64_t bytes = count * mldf_dtype_bytes(t->dtype);
    if (bytes > UINT32_MAX)
        return mldfi_fail(
            err, MLDF_E_LIMIT,
            "a document of %" PRIu64 " tokens: a row holds less than 4 GiB. Which id ends documents (eos)?", count);
    mldfi_store_u32(record + 8, (uint32_t)bytes);
    mldfi_store_u32(record + 12, (uint32_t)count);
    bool same = t->source == t->dtype || (t->source == MLDF_U32 && t->dtype == MLDF_I32);
    if (same && whole)
        return give(scratch, record, sizeof record, ids, bytes, out, err);
    uint64_t bad = mldfi_ids_find_outside(t->source, ids, count, UINT64_C(1) << 31);
    if (bad < count)
        return wrong_id(t, ids, bad, err);
    if (!scratch)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "values of this format need a scratch buffer");
    mldf_status status = give(scratch, record, sizeof record, NULL, 0, out, err);
    size_t record_at = status < 0 ? 0 : (size_t)((const uint8_t *)out->record - scratch->data);
    if (status >= 0 && bytes)
        status = mldfi_scratch_place(scratch, (size_t)bytes, 0, &place, err);
    if (status < 0)
        return status;
    if (bytes) {
        mldfi_ids_convert(t->source, ids, count, t->dtype, place);
        out->data = place;
    }
    out->record = scratch->data + record_at;
    out->bytes = bytes;
    return MLDF_OK;
}

static mldf_status get_sequence(const struct token_file *t, uint64_t sequence, uint64_t *at, uint64_t *count,
                                mldf_error *err) {
    int32_t length = (int32_t)mldfi_load_u32(t->lengths + 4 * sequence);
    uint64_t pointer = mldfi_load_u64(t->pointers + 8 * sequence), width = mldf_dtype_bytes(t->source);
    if (length < 0 || !mldfi_range_inside(pointer, (uint64_t)(length < 0 ? 0 : length) * width, t->id_count * width))
        return mldfi_fail(err, MLDF_E_CORRUPT,
                          "sequence %" PRIu64 ": %" PRId32 " tokens at byte %" PRIu64 " of a .bin of %" PRIu64 " bytes",
                          sequence, length, pointer, t->id_count * width);
    *at = pointer;
    *count = (uint64_t)length;
    return MLDF_OK;
}

/* The sequences of a document, one after the other; in place when they are so in the file. */
static mldf_status megatron_ids(const struct token_file *t, uint64_t first, uint64_t last, mldf_buffer *scratch,
                                mldf_value *out, mldf_error *err) {
    uint64_t width = mldf_dtype_bytes(t->source), begin = 0, total = 0, at, count;
    bool whole = true;
    for (uint64_t s = first; s < last; s++) {
        mldf_status status = get_sequence(t, s, &at, &count, err);
        if (status < 0)
            return status;
        if (total == 0)
            begin = at;
        whole = whole && (count == 0 || at == begin + total * width);
        total += count;
    }
    if (whole)
        return give_ids(t, t->ids + begin, total, true, scratch, out, err);
    mldf_buffer joined = MLDF_BUFFER_INIT;
    mldf_status status = MLDF_OK;
    for (uint64_t s = first; s < last && status >= 0; s++) {
        status = get_sequence(t, s, &at, &count, err);
        if (status >= 0)
            status = mldf_buffer_append(&joined, t->ids + at, (size_t)(count * width), err);
    }
    if (status >= 0)
        status = give_ids(t, joined.data, total, false, scratch, out, err);
    mldf_buffer_free(&joined);
    return status;
}

static mldf_status give_array(const uint8_t *data, uint64_t count, uint32_t width, mldf_buffer *scratch,
                              mldf_value *out, mldf_error *err) {
    uint8_t record[24] = {0};
    mldfi_store_u64(record + 8, count * width);
    mldfi_store_u32(record + 16, (uint32_t)count);
    return give(scratch, record, sizeof record, data, count * width, out, err);
}

static mldf_status tokens_get(void *state, uint64_t sample, size_t field, bool verify, mldf_buffer *scratch,
                              mldf_value *out, mldf_error *err) {
    const struct token_file *t = state;
    (void)verify; /* none of the formats has checksums */
    if (t->indices) {
        uint64_t first = mldfi_load_u64(t->indices + 8 * sample), last = mldfi_load_u64(t->indices + 8 * sample + 8);
        if (first > last || last > t->sequences)
            return mldfi_fail(err, MLDF_E_CORRUPT,
                              "document %" PRIu64 " is sequences %" PRIu64 " to %" PRIu64 " of %" PRIu64, sample, first,
                              last, t->sequences);
        if (field == t->sequence_field)
            return give_array(t->lengths + 4 * first, last - first, 4, scratch, out, err);
        if (field == t->mode_field)
            return give_array(t->modes + first, last - first, 1, scratch, out, err);
        return megatron_ids(t, first, last, scratch, out, err);
    }
    uint64_t begin = sample ? end_of(t, sample - 1) : 0, end = end_of(t, sample);
    if (begin > end || end > t->id_count)
        return mldfi_fail(err, MLDF_E_CORRUPT, "document %" PRIu64 " is tokens %" PRIu64 " to %" PRIu64 " of %" PRIu64,
                          sample, begin, end, t->id_count);
    if (field == t->loss_field)
        return give_array((t->third.map.data ? t->third.map.data : nothing) + begin, end - begin, 1, scratch, out, err);
    return give_ids(t, t->ids + begin * mldf_dtype_bytes(t->source), end - begin, true, scratch, out, err);
}

static mldf_status tokens_bytes(void *state, uint64_t *out, mldf_error *err) {
    const struct token_file *t = state;
    (void)err;
    *out = t->id_count * mldf_dtype_bytes(t->source);
    return MLDF_OK;
}

/* A document of a Megatron file: the sum of its sequences, each of which must be in the .bin. */
static uint64_t megatron_length(const struct token_file *t, uint64_t document, uint64_t *left) {
    uint64_t first = mldfi_load_u64(t->indices + 8 * document), last = mldfi_load_u64(t->indices + 8 * document + 8);
    uint64_t total = 0, at, count;
    if (first > last || last > t->sequences || last - first > *left)
        return MLDF_NONE;
    *left -= last - first;
    for (uint64_t s = first; s < last; s++, total += count)
        if (get_sequence(t, s, &at, &count, NULL) < 0)
            return MLDF_NONE;
    return total;
}

/* Documents share no sequences: where their numbers say so, no time is spent on them, and what is left of it depends on the documents before. */
static bool megatron_lengths(const struct token_file *t, uint64_t first, uint64_t count, bool again, uint64_t *out) {
    uint64_t left = t->sequences, width = mldf_dtype_bytes(t->source), bytes = t->id_count * width;
    const uint8_t *indices = t->indices + 8 * first;
    uint64_t begin = mldfi_load_u64(indices);
    for (uint64_t i = 0, end; i < count; i++, begin = end) {
        end = mldfi_load_u64(indices + 8 * i + 8);
        if (again && (begin > end || end > t->sequences))
            return false;
        if (begin >= t->sequences || end != begin + 1 || left == 0) {
            out[i] = megatron_length(t, first + i, &left);
            continue;
        }
        uint32_t length = mldfi_load_u32(t->lengths + 4 * begin); /* one sequence, as most have: as get_sequence */
        uint64_t pointer = mldfi_load_u64(t->pointers + 8 * begin);
        out[i] = length <= INT32_MAX && mldfi_range_inside(pointer, length * width, bytes) ? length : MLDF_NONE;
        left--;
    }
    return true;
}

static bool tokens_lengths(void *state, size_t field, uint64_t first, uint64_t count, bool again, uint64_t *out) {
    const struct token_file *t = state;
    if (field == t->sequence_field || field == t->mode_field || field == t->loss_field)
        return false;
    if (t->indices)
        return megatron_lengths(t, first, count, again, out);
    for (uint64_t i = first; i < first + count; i++) {
        uint64_t begin = i ? end_of(t, i - 1) : 0, end = end_of(t, i);
        out[i - first] = begin > end || end > t->id_count ? MLDF_NONE : end - begin;
    }
    return true;
}

static const struct foreign_ops megatron_ops = {.format = "megatron",
                                                .close = tokens_close,
                                                .get = tokens_get,
                                                .payload_bytes = tokens_bytes,
                                                .lengths = tokens_lengths};
static const struct foreign_ops llmc_ops = {.format = "llmc",
                                            .close = tokens_close,
                                            .get = tokens_get,
                                            .payload_bytes = tokens_bytes,
                                            .lengths = tokens_lengths};
static const struct foreign_ops nanogpt_ops = {.format = "nanogpt",
                                               .close = tokens_close,
                                               .get = tokens_get,
                                               .payload_bytes = tokens_bytes,
                                               .lengths = tokens_lengths};
static const struct foreign_ops olmo_ops = {.format = "olmo",
                                            .close = tokens_close,
                                            .get = tokens_get,
                                            .payload_bytes = tokens_bytes,
                                            .lengths = tokens_lengths};
static const struct foreign_ops datatrove_ops = {.format = "datatrove",
                                                 .close = tokens_close,
                                                 .get = tokens_get,
                                                 .payload_bytes = tokens_bytes,
                                                 .lengths = tokens_lengths};

/* ---- Documents by their eos ---------------------------------------------------------------------------------------------------------- */

static mldf_status add_end(struct token_file *t, size_t *capacity, uint64_t end, mldf_error *err) {
    mldf_status status = mldfi_array_reserve(&t->ends, capacity, (size_t)t->documents + 1, sizeof *t->ends, err);
    if (status >= 0)
        t->ends[t->documents++] = end;
    return status;
}

/* eos ends a document, or begins one. Without one the file is a document. */
static mldf_status find_documents(struct token_file *t, const mldf_token_file *how, mldf_error *err) {
    size_t capacity = 0;
    uint64_t width = mldf_dtype_bytes(t->source);
    mldf_status status = MLDF_OK;
    bool given = how && how->eos >= 0;
    for (uint64_t i = 0; given && i < t->id_count && status >= 0; i++) {
        if (mldfi_id_at(t->source, t->ids + i * width, 0) != how->eos)
            continue;
        if (!how->eos_at_start)
            status = add_end(t, &capacity, i + 1, err);
        else if (i > 0)
            status = add_end(t, &capacity, i, err);
    }
    if (status >= 0 && t->id_count && (t->documents == 0 || t->ends[t->documents - 1] != t->id_count))
        status = add_end(t, &capacity, t->id_count, err);
    return status;
}

/* ---- Opening ------------------------------------------------------------------------------------------------------------------------ */

static mldf_status take_ids(struct token_file *t, const uint8_t *data, uint64_t bytes, uint64_t at, mldf_dtype dtype,
                            mldf_error *err) {
    uint64_t width = mldf_dtype_bytes(dtype);
    t->source = dtype;
    t->dtype = dtype == MLDF_U8 || dtype == MLDF_U16 ? dtype : MLDF_I32;
    if ((bytes - at) % width)
        return mldfi_fail_at(err, MLDF_E_TRUNCATED, bytes, "%" PRIu64 " bytes are not whole ids of %" PRIu64 " bytes",
                             bytes - at, width);
    t->ids = data ? data + at : nothing;
    t->id_count = (bytes - at) / width;
    return MLDF_OK;
}

static mldf_status open_megatron(mldf_reader *reader, struct token_file *t, mldf_error *err) {
    static const mldf_dtype codes[] = {MLDF_DTYPE_NONE, MLDF_U8,  MLDF_I8,  MLDF_I16, MLDF_I32,
                                       MLDF_I64,        MLDF_F64, MLDF_F32, MLDF_U16};
    const uint8_t *h = reader->map.data;
    uint64_t bytes = reader->map.bytes, need;
    if (bytes < MEGATRON_HEADER)
        return mldfi_fail_at(err, MLDF_E_TRUNCATED, bytes, "a Megatron index of %" PRIu64 " bytes", bytes);
    if (mldfi_load_u64(h + 9) != 1)
        return mldfi_fail_at(err, MLDF_E_VERSION, 9, "a Megatron index of version %" PRIu64 "; 1 is read",
                             mldfi_load_u64(h + 9));
    mldf_dtype dtype = h[17] < sizeof codes / sizeof *codes ? codes[h[17]] : MLDF_DTYPE_NONE;
    if (dtype == MLDF_DTYPE_NONE || dtype == MLDF_F32 || dtype == MLDF_F64)
        return mldfi_fail_at(err, MLDF_E_UNSUPPORTED, 17, "a Megatron index of dtype code %u: ids are integers", h[17]);
    t->sequences = mldfi_load_u64(h + 18);
    uint64_t indices = mldfi_load_u64(h + 26), tables = bytes - MEGATRON_HEADER;
    if (t->sequences > tables / 12 || indices > tables / 8 || (need = 12 * t->sequences + 8 * indices) > tables ||
        (tables != need && tables != need + t->sequences))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, 18,
                             "%" PRIu64 " sequences and %" PRIu64 " documents in an index of %" PRIu64 " bytes",
                             t->sequences, indices, bytes);
    if (indices == 0)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, 26, "a Megatron index without document indices");
    t->lengths = h + MEGATRON_HEADER;
    t->pointers = t->lengths + 4 * t->sequences;
    t->indices = t->pointers + 8 * t->sequences;
    t->modes = tables > need ? t->indices + 8 * indices : NULL;
    t->documents = indices - 1;
    if (mldfi_load_u64(t->indices) != 0 || mldfi_load_u64(t->indices + 8 * t->documents) != t->sequences)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, (uint64_t)(t->indices - h),
                             "the documents of a Megatron index do not begin with sequence 0 and end with %" PRIu64,
                             t->sequences);
    char *path = mldfi_megatron_bin(reader->path);
    if (!path)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "a Megatron index is named X.idx, and its tokens X.bin");
    mldf_status status = open_neighbour(&t->second, path, err);
    free(path);
    return status < 0 ? status : take_ids(t, t->second.map.data, t->second.map.bytes, 0, dtype, err);
}

static mldf_status open_llmc(const mldf_reader *reader, struct token_file *t, const mldf_token_file *how,
                             mldf_error *err) {
    const uint8_t *h = reader->map.data;
    uint32_t magic = mldfi_load_u32(h), version = mldfi_load_u32(h + 4), count = mldfi_load_u32(h + 8);
    if (version != (magic == LLMC_MAGIC_U16 ? 1u : 7u))
        return mldfi_fail_at(err, MLDF_E_VERSION, 4, "a llm.c file of version %" PRIu32, version);
    mldf_status status =
        take_ids(t, h, reader->map.bytes, LLMC_HEADER, magic == LLMC_MAGIC_U16 ? MLDF_U16 : MLDF_U32, err);
    if (status >= 0 && t->id_count != count)
        status = mldfi_fail_at(err, t->id_count < count ? MLDF_E_TRUNCATED : MLDF_E_CORRUPT, 8,
                               "a llm.c file of %" PRIu32 " tokens that has %" PRIu64, count, t->id_count);
    mldf_token_file start = how ? *how : (mldf_token_file)MLDF_TOKEN_FILE_INIT;
    if (!how || !how->eos_at_given)
        start.eos_at_start = true;
    return status < 0 ? status : find_documents(t, &start, err);
}

static mldf_status get_dtype(const mldf_token_file *how, mldf_dtype fallback, mldf_dtype *out, mldf_error *err) {
    static const struct {
        const char *name;
        mldf_dtype dtype;
    } names[] = {{"u8", MLDF_U8},    {"u16", MLDF_U16},    {"u32", MLDF_U32},    {"u64", MLDF_U64},
                 {"uint8", MLDF_U8}, {"uint16", MLDF_U16}, {"uint32", MLDF_U32}, {"uint64", MLDF_U64},
                 {"i32", MLDF_I32},  {"int32", MLDF_I32},  {"i64", MLDF_I64},    {"int64", MLDF_I64}};
    *out = fallback;
    for (size_t i = 0; how->dtype && i < sizeof names / sizeof *names; i++)
        if (strcmp(how->dtype, names[i].name) == 0) {
            *out = names[i].dtype;
            return MLDF_OK;
        }
    if (how->dtype)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "dtype \"%.20s\" is none of u8, u16, u32, u64, i32 and i64",
                          how->dtype);
    if (fallback == MLDF_DTYPE_NONE)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "a file of %s ids does not say their width: give dtype", how->format);
    return MLDF_OK;
}

/* "tokenizer|width" is the first line. */
static mldf_dtype metadata_dtype(const char *path) {
    struct neighbour n = NEIGHBOUR_NONE;
    mldf_dtype out = MLDF_DTYPE_NONE;
    char *name = with_ending(path, strlen(path), ".metadata");
    if (name && open_neighbour(&n, name, NULL) >= 0) {
        const uint8_t *bar = n.map.data ? memchr(n.map.data, '|', (size_t)n.map.bytes) : NULL;
        if (bar && bar + 1 < n.map.data + n.map.bytes)
            out = bar[1] == '2' ? MLDF_U16 : bar[1] == '4' ? MLDF_U32 : MLDF_DTYPE_NONE;
    }
    close_neighbour(&n);
    free(name);
    return out;
}

static mldf_status open_datatrove(const mldf_reader *reader, struct token_file *t, const mldf_token_file *how,
                                  mldf_error *err) {
    mldf_dtype dtype;
    bool has_loss = false;
    char *index = with_ending(reader->path, strlen(reader->path), ".index");
    char *loss = with_ending(reader->path, strlen(reader->path), ".loss");
    mldf_status status =
        index && loss ? get_dtype(how, metadata_dtype(reader->path), &dtype, err) : mldfi_fail_memory(err, 0);
    if (status >= 0)
        status = take_ids(t, reader->map.data, reader->map.bytes, 0, dtype, err);
    if (status >= 0)
        status = open_neighbour(&t->second, index, err);
    if (status >= 0 && t->second.map.bytes % 8)
        status = mldfi_fail_at(err, MLDF_E_TRUNCATED, t->second.map.bytes,
                               "%s: %" PRIu64 " bytes are not whole ends of documents", index, t->second.map.bytes);
    t->table = t->second.map.data;
    t->documents = t->second.map.bytes / 8;
    if (status >= 0 && (t->documents ? end_of(t, t->documents - 1) : 0) != t->id_count)
        status = mldfi_fail_file(err, MLDF_E_CORRUPT, index,
                                 "its last document ends at %" PRIu64 ", and there are %" PRIu64 " tokens",
                                 t->documents ? end_of(t, t->documents - 1) : 0, t->id_count);
    if (status >= 0)
        status = mldfi_file_exists(loss, &has_loss, err);
    if (status >= 0 && has_loss)
        status = open_neighbour(&t->third, loss, err);
    if (status >= 0 && has_loss && t->third.map.bytes != t->id_count)
        status = mldfi_fail_file(err, MLDF_E_CORRUPT, loss, "%" PRIu64 " bytes for %" PRIu64 " tokens",
                                 t->third.map.bytes, t->id_count);
    t->loss_field = has_loss ? 1 : SIZE_MAX;
    free(index);
    free(loss);
    return status;
}

static mldf_status open_bare(const mldf_reader *reader, struct token_file *t, const mldf_token_file *how,
                             mldf_error *err) {
    mldf_dtype dtype;
    mldf_status status = get_dtype(how, strcmp(how->format, "nanogpt") == 0 ? MLDF_U16 : MLDF_DTYPE_NONE, &dtype, err);
    if (status >= 0)
        status = take_ids(t, reader->map.data, reader->map.bytes, 0, dtype, err);
    return status < 0 ? status : find_documents(t, how, err);
}

static mldf_status make_schema(mldf_reader *reader, struct token_file *t, const mldf_token_file *how, mldf_error *err) {
    mldf_buffer text = MLDF_BUFFER_INIT;
    mldf_status status = mldf_schema_new(reader->context, &reader->schema, err);
    if (status >= 0)
        status = mldfi_buffer_printf(&text, err, "{\"dtype\":\"%s\"", mldf_dtype_name(t->dtype));
    if (status >= 0 && how && how->eos >= 0)
        status = mldfi_buffer_printf(&text, err, ",\"eos\":%" PRId64 ",\"eos_inside\":true", how->eos);
    if (status >= 0 && how && how->vocabulary)
        status = mldfi_buffer_printf(&text, err, ",\"vocabulary\":%" PRIu64, how->vocabulary);
    if (status >= 0)
        status = mldf_buffer_append(&text, "}", 2, err);
    if (status >= 0)
        status = mldf_schema_add(reader->schema, "tokens", MLDF_TEXT_TOKENIZED, (const char *)text.data, 0, err);
    mldf_buffer_free(&text);
    t->sequence_field = t->mode_field = SIZE_MAX;
    if (status >= 0 && t->indices && (t->sequences != t->documents || t->modes)) {
        t->sequence_field = mldf_schema_field_count(reader->schema);
        status =
            mldf_schema_add(reader->schema, "sequences", MLDF_NDARRAY, "{\"dtype\":\"<i4\",\"shape\":[null]}", 0, err);
    }
    if (status >= 0 && t->modes) {
        t->mode_field = mldf_schema_field_count(reader->schema);
        status = mldf_schema_add(reader->schema, "modes", MLDF_NDARRAY, "{\"dtype\":\"|i1\",\"shape\":[null]}", 0, err);
    }
    if (status >= 0 && t->loss_field != SIZE_MAX)
        status =
            mldf_schema_add(reader->schema, "loss_mask", MLDF_NDARRAY,
                            "{\"along\":\"tokens\",\"dtype\":\"|b1\",\"form\":\"dense\",\"shape\":[null]}", 0, err);
    return status;
}

static const struct foreign_ops *choose(const mldf_reader *reader, const mldf_token_file *how) {
    const uint8_t *data = reader->map.data;
    uint64_t bytes = reader->map.bytes;
    const char *format = how ? how->format : NULL;
    uint32_t first = bytes >= 4 ? mldfi_load_u32(data) : 0;
    if (bytes >= sizeof megatron_magic && memcmp(data, megatron_magic, sizeof megatron_magic) == 0 &&
        (!format || strcmp(format, "megatron") == 0))
        return &megatron_ops;
    if (bytes >= LLMC_HEADER && (first == LLMC_MAGIC_U16 || first == LLMC_MAGIC_U32) &&
        (!format || strcmp(format, "llmc") == 0))
        return &llmc_ops;
    if (!format)
        return NULL;
    return strcmp(format, "nanogpt") == 0     ? &nanogpt_ops
           : strcmp(format, "olmo") == 0      ? &olmo_ops
           : strcmp(format, "datatrove") == 0 ? &datatrove_ops
                                              : NULL;
}

mldf_status mldfi_foreign_open_tokens(mldf_reader *reader, const mldf_token_file *how, mldf_error *err) {
    const struct foreign_ops *ops = choose(reader, how);
    if (!ops && how && how->format)
        return mldfi_fail(err, MLDF_E_MAGIC,
                          "not a file of format \"%.20s\"; megatron, llmc, nanogpt, olmo and datatrove are read",
                          how->format);
    if (!ops)
        return MLDF_END;
    struct token_file *t = mldfi_alloc_zero(1, sizeof *t, err);
    if (!t)
        return MLDF_E_MEMORY;
    t->second = t->third = (struct neighbour)NEIGHBOUR_NONE;
    t->loss_field = SIZE_MAX;
    mldf_status status = ops == &megatron_ops    ? open_megatron(reader, t, err)
                         : ops == &llmc_ops      ? open_llmc(reader, t, how, err)
                         : ops == &datatrove_ops ? open_datatrove(reader, t, how, err)
                                                 : open_bare(reader, t, how, err);
    if (status >= 0)
        status = make_schema(reader, t, how, err);
    if (status < 0) {
        tokens_close(t);
        return status;
    }
    reader->foreign.ops = ops;
    reader->foreign.state = t;
    reader->header.num_samples = t->documents;
    return MLDF_OK;
}
