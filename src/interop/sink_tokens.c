/* Documents of tokens into the files of other trainers: Megatron's X.bin and X.idx, nanoGPT's bare u16 .bin. One token field; a row, or a document of a
 * stream, is a document there. The index gets its name last, so that it never names tokens that are not there. See sink.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "field/tokens.h"
#include "interop/sink.h"
#include "interop/staging.h"
#include "interop/token_files.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

struct token_sink {
    struct sample_sink base;
    const mldf_schema *schema;
    size_t field;
    bool megatron, overwrite;
    mldf_dtype dtype; /* in the file */
    int64_t eos;      /* written after each document; -1: none, or they have it */
    char *bin, *idx;
    struct os_file bin_file, idx_file;
    struct stage ids, lengths;
    uint64_t documents, tokens, samples;
    mldf_buffer scratch;
};

static void free_sink(struct token_sink *s) {
    mldfi_stage_free(&s->ids);
    mldfi_stage_free(&s->lengths);
    mldfi_file_discard(&s->bin_file);
    mldfi_file_discard(&s->idx_file);
    mldf_buffer_free(&s->scratch);
    free(s->bin);
    free(s->idx);
    free(s);
}

static mldf_status put_document(struct token_sink *s, const mldf_tokens *t, uint64_t begin, uint64_t end,
                                mldf_error *err) {
    const uint8_t *ids = (const uint8_t *)t->ids + begin * mldf_dtype_bytes(t->dtype);
    uint64_t count = end - begin, width = mldf_dtype_bytes(s->dtype),
             limit = s->dtype == MLDF_U16 ? 65536 : UINT64_C(1) << 31;
    uint64_t bad = mldfi_ids_find_outside(t->dtype, ids, count, s->dtype == MLDF_U8 ? 256 : limit);
    uint8_t word[4];
    if (bad < count)
        return mldfi_fail(err, MLDF_E_RANGE, "token %" PRIu64 " is %" PRId64 ", which %s of %s does not hold",
                          begin + bad, mldfi_id_at(t->dtype, ids, bad),
                          s->megatron ? "a Megatron file" : "a nanoGPT file", mldf_dtype_name(s->dtype));
    if (count + (s->eos >= 0) > INT32_MAX)
        return mldfi_fail(err, MLDF_E_LIMIT, "a document of %" PRIu64 " tokens; a sequence has up to 2^31 - 1", count);
    mldf_status status = mldfi_buffer_resize(&s->scratch, (size_t)((count + 1) * width), err);
    if (status < 0)
        return status;
    mldfi_ids_convert(t->dtype, ids, count, s->dtype, s->scratch.data);
    if (s->eos >= 0) {
        int64_t eos = s->eos;
        mldfi_ids_convert(MLDF_I64, &eos, 1, s->dtype, s->scratch.data + count * width);
        count++;
    }
    mldfi_store_u32(word, (uint32_t)count);
    status = mldfi_stage_push(&s->ids, s->scratch.data, count * width, err);
    if (status >= 0 && s->megatron)
        status = mldfi_stage_push(&s->lengths, word, sizeof word, err);
    s->documents++;
    s->tokens += count;
    return status;
}

static mldf_status append(struct sample_sink *sink, const struct sink_kit *kit, const mldf_value *values,
                          const char *key, size_t key_bytes, mldf_error *err) {
    struct token_sink *s = (struct token_sink *)sink;
    const mldf_field *field = mldf_schema_field(s->schema, s->field);
    mldf_tokens t;
    uint64_t begin, end;
    (void)kit, (void)key, (void)key_bytes;
    if (values[s->field].kind == MLDF_KIND_NULL)
        return mldfi_fail(err, MLDF_E_NULL, "the document is null, and the format has no nulls");
    mldf_status status = mldf_tokens_of(field, &values[s->field], &t, err);
    for (uint64_t i = 0; status >= 0 && i < t.documents; i++) {
        status = mldf_tokens_document(&t, i, &begin, &end, err);
        if (status >= 0)
            status = put_document(s, &t, begin, end, err);
    }
    s->samples += status >= 0;
    mldfi_error_place(status < 0 ? err : NULL, MLDF_NONE, field->name);
    return status;
}

static uint8_t dtype_code(mldf_dtype dtype) {
    return dtype == MLDF_U8 ? 1 : dtype == MLDF_U16 ? 8 : 4;
}

/* Lengths are written; pointers and documents follow from them. */
static mldf_status write_index(struct token_sink *s, uint64_t *bytes, mldf_error *err) {
    uint8_t head[MEGATRON_HEADER] = {'M', 'M', 'I', 'D', 'I', 'D', 'X'}, word[8];
    struct stage out = STAGE_NONE;
    uint64_t pointer = 0, width = mldf_dtype_bytes(s->dtype);
    mldfi_store_u64(head + 9, 1);
    head[17] = dtype_code(s->dtype);
    mldfi_store_u64(head + 18, s->documents);
    mldfi_store_u64(head + 26, s->documents + 1);
    mldfi_stage_into(&out, &s->idx_file, 0);
    mldf_status status = mldfi_stage_push(&out, head, sizeof head, err);
    for (uint64_t i = 0; i < s->documents && status >= 0; i++) {
        status = mldfi_stage_read(&s->lengths, 4 * i, word, 4, err);
        if (status >= 0)
            status = mldfi_stage_push(&out, word, 4, err);
    }
    for (uint64_t i = 0; i < s->documents && status >= 0; i++) {
        uint8_t length[4];
        status = mldfi_stage_read(&s->lengths, 4 * i, length, 4, err);
        mldfi_store_u64(word, pointer);
        if (status >= 0)
            status = mldfi_stage_push(&out, word, 8, err);
        pointer += mldfi_load_u32(length) * width;
    }
    for (uint64_t i = 0; i <= s->documents && status >= 0; i++) {
        mldfi_store_u64(word, i);
        status = mldfi_stage_push(&out, word, 8, err);
    }
    if (status >= 0)
        status = mldfi_stage_flush(&out, err);
    *bytes = mldfi_stage_bytes(&out);
    mldfi_stage_free(&out);
    return status;
}

static mldf_status finish(struct sample_sink *sink, struct sink_result *result, mldf_error *err) {
    struct token_sink *s = (struct token_sink *)sink;
    uint64_t bytes = mldfi_stage_bytes(&s->ids), index = 0;
    mldf_status status = mldfi_stage_flush(&s->ids, err);
    if (status >= 0 && s->megatron)
        status = write_index(s, &index, err);
    if (status >= 0)
        status = mldfi_stage_publish(&s->bin_file, bytes, s->bin, s->overwrite, err);
    if (status >= 0 && s->megatron)
        status = mldfi_stage_publish(&s->idx_file, index, s->idx, s->overwrite, err);
    *result = (struct sink_result){s->samples, bytes + index};
    free_sink(s);
    return status;
}

static void give_up(struct sample_sink *sink) {
    free_sink((struct token_sink *)sink);
}

static const struct sink_ops ops = {NULL, append, NULL, finish, give_up};

/* ---- Opening ------------------------------------------------------------------------------------------------------------------------ */

/* The field "tokens", or the only one of tokens. The others have no place. */
static mldf_status find_field(struct token_sink *s, const struct sink_options *o, mldf_error *err) {
    size_t count = mldf_schema_field_count(o->schema), tokens = 0;
    const mldf_field *named = NULL;
    for (size_t i = 0; i < count; i++) {
        const mldf_field *f = mldf_schema_field(o->schema, i);
        if (!mldfi_is_tokens(f->type_id) || !f->known || f->dtype == MLDF_DTYPE_NONE)
            continue;
        tokens++;
        if (!named || strcmp(f->name, "tokens") == 0) {
            named = f;
            s->field = i;
        }
    }
    if (!named)
        return mldfi_fail(err, MLDF_E_SCHEMA, "%s holds tokens, and there is no token field", o->format);
    if (tokens > 1 && strcmp(named->name, "tokens") != 0)
        return mldfi_fail(err, MLDF_E_SCHEMA, "%s holds one token field, and there are %zu: choose one with fields",
                          o->format, tokens);
    for (size_t i = 0; i < count && !o->drop_fields; i++)
        if (i != s->field)
            return mldfi_fail(err, MLDF_E_SCHEMA,
                              "%s has no place for field \"%s\"; leave it out (fields, or drop-fields)", o->format,
                              mldf_schema_field(o->schema, i)->name);
    return MLDF_OK;
}

static mldf_status read_arguments(struct token_sink *s, const struct sink_options *o, mldf_error *err) {
    const mldf_field *field = mldf_schema_field(o->schema, s->field);
    struct json json = {0};
    uint64_t eos = 0;
    mldf_status status = mldfi_json_parse(&json, field->arguments, strlen(field->arguments), err);
    if (status < 0)
        return status;
    uint32_t at = mldfi_json_find(&json, 0, "eos"), inside = mldfi_json_find(&json, 0, "eos_inside");
    bool has = at != UINT32_MAX && mldfi_json_u64(&json, at, &eos);
    bool is_inside = inside != UINT32_MAX && json.nodes[inside].kind == MLDFI_JSON_TRUE;
    mldfi_json_free(&json);
    s->eos = !s->megatron && has && !is_inside ? (int64_t)eos : -1;
    if (!s->megatron && !has)
        return mldfi_fail(err, MLDF_E_SCHEMA,
                          "nanogpt knows documents by their eos, and field \"%s\" has no argument eos", field->name);
    s->dtype = s->megatron ? field->dtype : MLDF_U16;
    return MLDF_OK;
}

static mldf_status name_files(struct token_sink *s, const char *path, mldf_error *err) {
    size_t n = strlen(path);
    if (!s->megatron)
        s->bin = mldfi_copy_text(path, n, err);
    else if (n < 5 || strcmp(path + n - 4, ".idx") != 0)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%s: a Megatron dataset is named X.idx; its tokens go to X.bin", path);
    else if ((s->bin = mldfi_megatron_bin(path)) != NULL)
        s->idx = mldfi_copy_text(path, n, err);
    return s->bin && (s->idx || !s->megatron) ? MLDF_OK : mldfi_fail_memory(err, n);
}

static mldf_status create(struct os_file *file, const char *target, bool overwrite, mldf_error *err) {
    bool there = false;
    mldf_status status = overwrite ? MLDF_OK : mldfi_file_exists(target, &there, err);
    if (status >= 0 && there)
        status = mldfi_fail_exists(err, target);
    return status < 0 ? status : mldfi_file_create_beside(file, target, err);
}

mldf_status mldfi_sink_open_tokens(struct sample_sink **out, const struct sink_options *options, mldf_error *err) {
    struct token_sink *s = mldfi_alloc_zero(1, sizeof *s, err);
    if (!s)
        return MLDF_E_MEMORY;
    s->base = (struct sample_sink){&ops, false};
    s->schema = options->schema;
    s->megatron = strcmp(options->format, "megatron") == 0;
    s->overwrite = options->writer->overwrite;
    s->bin_file = s->idx_file = (struct os_file)OS_FILE_NONE;
    s->ids = s->lengths = (struct stage)STAGE_NONE;
    mldf_status status = find_field(s, options, err);
    if (status >= 0)
        status = read_arguments(s, options, err);
    if (status >= 0)
        status = name_files(s, options->path, err);
    if (status >= 0)
        status = create(&s->bin_file, s->bin, s->overwrite, err);
    if (status >= 0 && s->megatron)
        status = create(&s->idx_file, s->idx, s->overwrite, err);
    if (status < 0) {
        free_sink(s);
        return status;
    }
    mldfi_stage_into(&s->ids, &s->bin_file, 0);
    mldfi_stage_beside(&s->lengths, s->bin);
    *out = &s->base;
    return MLDF_OK;
}
