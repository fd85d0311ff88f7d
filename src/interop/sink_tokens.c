/* Documents of tokens into the files of other trainers: Megatron's X.bin and X.idx, nanoGPT's bare u16 .bin, datatrove's X.ds with X.ds.index, X.ds.metadata
 * and, of a side column loss_mask, X.ds.loss. One token field; a row, or a document of a stream, is a document there. See sink.h.
 *
 * All files are written and synced under temporary names; then, so that an index never names tokens that are not its own, whenever the process is killed:
 *
 *     the old index is removed ──► tokens, metadata and losses get their names ──► the new index gets its name
 *
 * In between there is no index: nobody can open the dataset, and the same command makes it whole. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "field/field.h"
#include "field/tokens.h"
#include "interop/sink.h"
#include "interop/staging.h"
#include "interop/token_files.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum token_format { MEGATRON, NANOGPT, DATATROVE };

struct token_sink {
    struct sample_sink base;
    const mldf_schema *schema;
    size_t field, loss; /* SIZE_MAX: no losses */
    enum token_format format;
    bool overwrite;
    mldf_dtype dtype; /* in the file */
    int64_t eos;      /* written after each document; -1: none, or they have it */
    char *bin, *idx, *loss_name, *about;
    struct os_file bin_file, idx_file, loss_file, about_file;
    struct stage ids, lengths, losses; /* lengths: datatrove's ends of documents */
    uint64_t documents, tokens, samples;
    mldf_buffer scratch;
};

static void free_sink(struct token_sink *s) {
    mldfi_stage_free(&s->ids);
    mldfi_stage_free(&s->lengths);
    mldfi_stage_free(&s->losses);
    mldfi_file_discard(&s->bin_file);
    mldfi_file_discard(&s->idx_file);
    mldfi_file_discard(&s->loss_file);
    mldfi_file_discard(&s->about_file);
    mldf_buffer_free(&s->scratch);
    free(s->bin);
    free(s->idx);
    free(s->loss_name);
    free(s->about);
    free(s);
}

static const char *const format_names[] = {"a Megatron file", "a nanoGPT file", "a datatrove file"};

/* Refused before anything of the row is written: a row is in the file whole, or not at all. */
static mldf_status check_document(const struct token_sink *s, const mldf_tokens *t, uint64_t begin, uint64_t end,
                                  mldf_error *err) {
    const uint8_t *ids = (const uint8_t *)t->ids + begin * mldf_dtype_bytes(t->dtype);
    uint64_t count = end - begin, limit = s->dtype == MLDF_U16 ? 65536 : UINT64_C(1) << 31;
    uint64_t bad = mldfi_ids_find_outside(t->dtype, ids, count, s->dtype == MLDF_U8 ? 256 : limit);
    if (bad < count)
        return mldfi_fail(err, MLDF_E_RANGE, "token %" PRIu64 " is %" PRId64 ", which %s of %s does not hold",
                          begin + bad, mldfi_id_at(t->dtype, ids, bad), format_names[s->format],
                          mldf_dtype_name(s->dtype));
    if (count + (s->eos >= 0) > INT32_MAX)
        return mldfi_fail(err, MLDF_E_LIMIT, "a document of %" PRIu64 " tokens; a sequence has up to 2^31 - 1", count);
    return MLDF_OK;
}

static mldf_status put_document(struct token_sink *s, const mldf_tokens *t, uint64_t begin, uint64_t end,
                                mldf_error *err) {
    const uint8_t *ids = (const uint8_t *)t->ids + begin * mldf_dtype_bytes(t->dtype);
    uint64_t count = end - begin, width = mldf_dtype_bytes(s->dtype);
    uint8_t word[8];
    TRY(mldfi_buffer_resize(&s->scratch, (size_t)((count + 1) * width), err));
    mldfi_ids_convert(t->dtype, ids, count, s->dtype, s->scratch.data);
    if (s->eos >= 0) {
        int64_t eos = s->eos;
        mldfi_ids_convert(MLDF_I64, &eos, 1, s->dtype, s->scratch.data + count * width);
        count++;
    }
    mldf_status status = mldfi_stage_push(&s->ids, s->scratch.data, count * width, err);
    s->documents++;
    s->tokens += count;
    mldfi_store_u64(word, s->format == DATATROVE ? s->tokens : count);
    if (status >= 0 && s->format != NANOGPT)
        status = mldfi_stage_push(&s->lengths, word, s->format == DATATROVE ? 8 : 4, err);
    return status;
}

static mldf_status check_losses(const mldf_value *value, uint64_t tokens, mldf_error *err) {
    if (value->kind != MLDF_KIND_ARRAY || value->ndim != 1 || value->dims[0] != tokens || value->bytes != tokens)
        return mldfi_fail(err, MLDF_E_NULL, "loss_mask does not have a value for each of %" PRIu64 " tokens", tokens);
    return MLDF_OK;
}

/* A byte for each token: is it to be learnt? */
static mldf_status put_losses(struct token_sink *s, const mldf_value *value, uint64_t tokens, mldf_error *err) {
    mldf_status status = mldfi_buffer_resize(&s->scratch, (size_t)tokens + 1, err);
    for (uint64_t i = 0; i < tokens && status >= 0; i++)
        s->scratch.data[i] = ((const uint8_t *)value->data)[i] != 0;
    return status < 0 ? status : mldfi_stage_push(&s->losses, s->scratch.data, tokens, err);
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
            status = check_document(s, &t, begin, end, err);
    }
    if (status >= 0 && s->loss != SIZE_MAX)
        status = check_losses(&values[s->loss], t.count, err);
    for (uint64_t i = 0; status >= 0 && i < t.documents; i++) {
        status = mldf_tokens_document(&t, i, &begin, &end, err);
        if (status >= 0)
            status = put_document(s, &t, begin, end, err);
    }
    if (status >= 0 && s->loss != SIZE_MAX)
        status = put_losses(s, &values[s->loss], t.count, err);
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

/* X.ds.metadata, as datatrove writes it: TOKENIZER|WIDTH, the tokens, and the tokens for people. */
static mldf_status write_about(struct token_sink *s, uint64_t *bytes, mldf_error *err) {
    static const char *const units[] = {"", "k", "M", "G", "T", "P", "E"};
    double shown = (double)s->tokens;
    int unit = 0, digits;
    struct stage out = STAGE_NONE;
    char text[512];
    struct json json = {0};
    const mldf_field *field = mldf_schema_field(s->schema, s->field);
    if (mldfi_json_parse(&json, field->arguments, strlen(field->arguments), NULL) < 0)
        return mldfi_fail(err, MLDF_E_SCHEMA, "the arguments of field \"%s\" are not JSON", field->name);
    uint32_t at = mldfi_json_find(&json, 0, "tokenizer");
    bool named = at != UINT32_MAX && json.nodes[at].kind == MLDFI_JSON_STRING && json.nodes[at].text_bytes < 256;
    for (; shown >= 1000 && unit < 6; unit++)
        shown /= 1000;
    digits = shown >= 100 ? 0 : shown >= 10 ? 1 : 2;
    const char *name = named ? json.nodes[at].text : "Unknown Tokenizer";
    int length = snprintf(text, sizeof text, "%.*s|%u\n%" PRIu64 "\n%.*f %sT",
                          named ? (int)json.nodes[at].text_bytes : (int)strlen(name), name,
                          (unsigned)mldf_dtype_bytes(s->dtype), s->tokens, digits, shown, units[unit]);
    mldfi_json_free(&json);
    mldfi_stage_into(&out, &s->about_file, 0);
    mldf_status status = mldfi_stage_push(&out, text, (uint64_t)length, err);
    if (status >= 0)
        status = mldfi_stage_flush(&out, err);
    *bytes = (uint64_t)length;
    mldfi_stage_free(&out);
    return status;
}

static mldf_status remove_old(const char *path, mldf_error *err) {
    if (unlink(path) != 0 && errno != ENOENT)
        return mldfi_fail_file_errno(err, errno, path, "cannot be removed");
    return MLDF_OK;
}

/* The old index, if it is to be replaced. Its permission bits pass to the new one, as in every overwriting. */
static mldf_status remove_index(const struct token_sink *s, mldf_error *err) {
    struct stat old;
    if (s->format == NANOGPT || !s->overwrite || stat(s->idx, &old) != 0)
        return MLDF_OK;
    (void)fchmod(s->idx_file.fd, old.st_mode & 07777);
    mldf_status status = remove_old(s->idx, err);
    return status < 0 ? status : mldfi_file_sync_folder(s->idx, err);
}

static mldf_status settle_file(struct os_file *file, uint64_t bytes, mldf_error *err) {
    mldf_status status = mldfi_file_truncate(file, bytes, err);
    return status < 0 ? status : mldfi_file_sync(file, err);
}

/* Every byte is on the disk, under temporary names. *bytes: of all files. */
static mldf_status write_all(struct token_sink *s, uint64_t *bytes, mldf_error *err) {
    uint64_t ids = mldfi_stage_bytes(&s->ids), index = mldfi_stage_bytes(&s->lengths), about = 0;
    uint64_t losses = mldfi_stage_bytes(&s->losses);
    mldf_status status = mldfi_stage_flush(&s->ids, err);
    if (status >= 0)
        status = settle_file(&s->bin_file, ids, err);
    if (status >= 0 && s->format == MEGATRON)
        status = write_index(s, &index, err);
    if (status >= 0 && s->format == DATATROVE)
        status = mldfi_stage_flush(&s->lengths, err);
    if (status >= 0 && s->format == DATATROVE)
        status = write_about(s, &about, err);
    if (status >= 0 && s->format == DATATROVE)
        status = settle_file(&s->about_file, about, err);
    if (status >= 0 && s->loss != SIZE_MAX)
        status = mldfi_stage_flush(&s->losses, err);
    if (status >= 0 && s->loss != SIZE_MAX)
        status = settle_file(&s->loss_file, losses, err);
    if (status >= 0 && s->format != NANOGPT)
        status = settle_file(&s->idx_file, index, err);
    *bytes = ids + about + losses + (s->format == NANOGPT ? 0 : index);
    return status;
}

/* The order of the file's head. */
static mldf_status name_all(struct token_sink *s, mldf_error *err) {
    mldf_status status = remove_index(s, err);
    if (status >= 0)
        status = mldfi_file_publish(&s->bin_file, s->bin, s->overwrite, err);
    if (status >= 0 && s->format == DATATROVE)
        status = mldfi_file_publish(&s->about_file, s->about, s->overwrite, err);
    if (status >= 0 && s->loss != SIZE_MAX)
        status = mldfi_file_publish(&s->loss_file, s->loss_name, s->overwrite, err);
    else if (status >= 0 && s->format == DATATROVE) /* of tokens that were there before */
        status = remove_old(s->loss_name, err);
    if (status >= 0 && s->format != NANOGPT)
        status = mldfi_file_publish(&s->idx_file, s->idx, s->overwrite, err);
    return status;
}

static mldf_status finish(struct sample_sink *sink, struct sink_result *result, mldf_error *err) {
    struct token_sink *s = (struct token_sink *)sink;
    uint64_t bytes = 0;
    mldf_status status = write_all(s, &bytes, err);
    if (status >= 0)
        status = name_all(s, err);
    *result = (struct sink_result){s->samples, bytes};
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
    s->loss = s->format == DATATROVE ? mldfi_schema_lookup(o->schema, "loss_mask") : SIZE_MAX;
    if (s->loss != SIZE_MAX) {
        const mldf_field *f = mldf_schema_field(o->schema, s->loss);
        if (f->type_id != MLDF_NDARRAY || (f->dtype != MLDF_BOOL && f->dtype != MLDF_U8) || f->ndim != 1)
            s->loss = SIZE_MAX;
    }
    for (size_t i = 0; i < count && !o->drop_fields; i++)
        if (i != s->field && i != s->loss)
            return mldfi_fail(err, MLDF_E_SCHEMA,
                              "%s has no place for field \"%s\"; leave it out (fields, or drop-fields)", o->format,
                              mldf_schema_field(o->schema, i)->name);
    return MLDF_OK;
}

static mldf_status read_arguments(struct token_sink *s, const struct sink_options *o, mldf_error *err) {
    const mldf_field *field = mldf_schema_field(o->schema, s->field);
    struct json json = {0};
    uint64_t eos = 0;
    TRY(mldfi_json_parse(&json, field->arguments, strlen(field->arguments), err));
    uint32_t at = mldfi_json_find(&json, 0, "eos"), inside = mldfi_json_find(&json, 0, "eos_inside");
    bool has = at != UINT32_MAX && mldfi_json_u64(&json, at, &eos);
    bool is_inside = inside != UINT32_MAX && json.nodes[inside].kind == MLDFI_JSON_TRUE;
    mldfi_json_free(&json);
    s->eos = s->format == NANOGPT && has && !is_inside ? (int64_t)eos : -1;
    if (s->format == NANOGPT && !has)
        return mldfi_fail(err, MLDF_E_SCHEMA,
                          "nanogpt knows documents by their eos, and field \"%s\" has no argument eos", field->name);
    s->dtype = s->format == MEGATRON ? field->dtype : MLDF_U16;
    if (s->format == DATATROVE && mldf_dtype_bytes(field->dtype) > 2)
        s->dtype = MLDF_U32;
    return MLDF_OK;
}

static mldf_status name_files(struct token_sink *s, const char *path, mldf_error *err) {
    size_t n = strlen(path);
    if (s->format == DATATROVE) {
        mldf_buffer name = MLDF_BUFFER_INIT;
        static const char *const endings[] = {"", ".index", ".loss", ".metadata"};
        char **names[] = {&s->bin, &s->idx, &s->loss_name, &s->about};
        mldf_status status = MLDF_OK;
        for (size_t i = 0; i < 4 && status >= 0; i++) {
            name.size = 0;
            status = mldfi_buffer_printf(&name, err, "%s%s", path, endings[i]);
            if (status >= 0 && !(*names[i] = mldfi_copy_text((const char *)name.data, name.size, err)))
                status = MLDF_E_MEMORY;
        }
        mldf_buffer_free(&name);
        return status;
    }
    if (s->format == NANOGPT)
        s->bin = mldfi_copy_text(path, n, err);
    else if (n < 5 || strcmp(path + n - 4, ".idx") != 0)
        return mldfi_fail_file(err, MLDF_E_ARGUMENT, path, "a Megatron dataset is named X.idx; its tokens go to X.bin");
    else if ((s->bin = mldfi_megatron_bin(path)) != NULL)
        s->idx = mldfi_copy_text(path, n, err);
    return s->bin && (s->idx || s->format == NANOGPT) ? MLDF_OK : mldfi_fail_memory(err, n);
}

static mldf_status check_free(const char *target, bool overwrite, mldf_error *err) {
    bool there = false;
    mldf_status status = overwrite ? MLDF_OK : mldfi_file_exists(target, &there, err);
    return status >= 0 && there ? mldfi_fail_exists(err, target) : status;
}

static mldf_status create(struct os_file *file, const char *target, bool overwrite, mldf_error *err) {
    mldf_status status = check_free(target, overwrite, err);
    return status < 0 ? status : mldfi_file_create_beside(file, target, err);
}

mldf_status mldfi_sink_open_tokens(struct sample_sink **out, const struct sink_options *options, mldf_error *err) {
    struct token_sink *s = mldfi_alloc_zero(1, sizeof *s, err);
    if (!s)
        return MLDF_E_MEMORY;
    s->base = (struct sample_sink){&ops, false};
    s->schema = options->schema;
    s->format = strcmp(options->format, "megatron") == 0 ? MEGATRON : NANOGPT;
    if (strcmp(options->format, "datatrove") == 0)
        s->format = DATATROVE;
    s->overwrite = options->writer->overwrite;
    s->bin_file = s->idx_file = s->loss_file = s->about_file = (struct os_file)OS_FILE_NONE;
    s->ids = s->lengths = s->losses = (struct stage)STAGE_NONE;
    mldf_status status = find_field(s, options, err);
    if (status >= 0)
        status = read_arguments(s, options, err);
    if (status >= 0)
        status = name_files(s, options->path, err);
    if (status >= 0)
        status = create(&s->bin_file, s->bin, s->overwrite, err);
    if (status >= 0 && s->format != NANOGPT)
        status = create(&s->idx_file, s->idx, s->overwrite, err);
    if (status >= 0 && s->format == DATATROVE)
        status = create(&s->about_file, s->about, s->overwrite, err);
    if (status >= 0 && s->loss != SIZE_MAX)
        status = create(&s->loss_file, s->loss_name, s->overwrite, err);
    else if (status >= 0 && s->format == DATATROVE)
        status = check_free(s->loss_name, s->overwrite, err); /* it would be taken for that of the new tokens */
    if (status < 0) {
        free_sink(s);
        return status;
    }
    mldfi_stage_into(&s->ids, &s->bin_file, 0);
    if (s->format == DATATROVE)
        mldfi_stage_into(&s->lengths, &s->idx_file, 0);
    else
        mldfi_stage_beside(&s->lengths, s->bin);
    if (s->loss != SIZE_MAX)
        mldfi_stage_into(&s->losses, &s->loss_file, 0);
    *out = &s->base;
    return MLDF_OK;
}
