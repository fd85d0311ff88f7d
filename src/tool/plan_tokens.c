/* mldf_plan_tokens: makes a pack plan of a token field from the lengths in its rows, and puts it into the file as an append does: a crash leaves the
 * old state or the new one. Also what becomes of plans when files are copied (plan_tokens.h). */
#include "tool/plan_tokens.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "field/along.h"
#include "field/tokens.h"
#include "format/packing.h"
#include "os/memory.h"
#include "reader/foreign.h"
#include "reader/plans.h"
#include "reader/reader.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/options.h"
#include "writer/plans.h"

enum { ROWS_AT_ONCE = 4096 };

/* ---- Lengths ------------------------------------------------------------------------------------------------------------------------- */

mldf_status mldfi_plan_lengths(const mldf_reader *reader, size_t field, uint64_t *out, mldf_error *err) {
    const struct schema_field *f = &reader->schema->fields[field];
    uint64_t n = reader->header.num_samples, row_bytes = reader->row_bytes;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_status status = MLDF_OK;
    for (uint64_t at = 0; at < n && status >= 0; at += ROWS_AT_ONCE) {
        uint64_t count = n - at < ROWS_AT_ONCE ? n - at : ROWS_AT_ONCE;
        const uint8_t *rows;
        scratch.size = 0;
        status = mldfi_reader_check_blocks(reader, at * row_bytes, count * row_bytes, err);
        if (status >= 0)
            status = mldfi_reader_view(reader, reader->tables.metadata.ptr + at * row_bytes, count * row_bytes,
                                       &scratch, &rows, err);
        for (uint64_t i = 0; i < count && status >= 0; i++) {
            bool valid = true;
            if (f->nullable_index != SIZE_MAX)
                status = mldfi_reader_is_valid(reader, at + i, field, &valid, err);
            const uint8_t *record = rows + i * row_bytes + f->info.row_offset;
            uint64_t tokens = mldfi_tokens_count(f, record);
            valid = valid && mldfi_reader_can_hold(reader, at + i, f, record, tokens);
            out[at + i] = valid ? tokens : PACKING_NULL;
        }
    }
    mldf_buffer_free(&scratch);
    return status;
}

/* ---- What is asked for --------------------------------------------------------------------------------------------------------------- */

static mldf_status find_word(const char *what, const char *text, const char *const *words, uint8_t first, uint8_t *out,
                             mldf_error *err) {
    for (uint8_t i = 0; words[i]; i++) {
        if (strcmp(text, words[i]) == 0) {
            *out = (uint8_t)(first + i);
            return MLDF_OK;
        }
    }
    return mldfi_fail(err, MLDF_E_ARGUMENT, "%s: \"%.40s\" is not one of %s, %s, %s", what, text, words[0], words[1],
                      words[2]);
}

static mldf_status make_rule(const mldf_plan_tokens_options *o, struct packing_rule *rule, mldf_error *err) {
    static const char *const algorithms[] = {"best-fit", "next-fit", "concat", NULL};
    static const char *const long_documents[] = {"cut", "truncate", "drop", NULL};
    *rule = (struct packing_rule){.length = o->length,
                                  .align = o->align ? o->align : 1,
                                  .max_pieces = o->max_pieces,
                                  .seed = o->seed,
                                  .bos = o->bos < 0 ? 0 : (uint32_t)o->bos + 1,
                                  .eos = o->eos < 0 ? 0 : (uint32_t)o->eos + 1};
    mldf_status status = find_word("algorithm", o->algorithm ? o->algorithm : "best-fit", algorithms, PACKING_BEST_FIT,
                                   &rule->algorithm, err);
    if (status >= 0)
        status = find_word("long", o->long_documents ? o->long_documents : "cut", long_documents, PACKING_CUT,
                           &rule->long_documents, err);
    return status < 0 ? status : mldfi_packing_check_rule(rule, err);
}

static mldf_status find_field(const mldf_reader *reader, const mldf_plan_tokens_options *o, size_t *out,
                              mldf_error *err) {
    const mldf_schema *schema = reader->schema;
    size_t found = SIZE_MAX;
    if (o->field) {
        TRY(mldf_schema_find(schema, o->field, out, err));
        found = *out;
    }
    for (size_t f = 0; !o->field && f < schema->field_count; f++) {
        if (schema->fields[f].info.type_id != MLDF_TEXT_TOKENIZED)
            continue;
        if (found != SIZE_MAX)
            return mldfi_fail(err, MLDF_E_ARGUMENT,
                              "the file has several token fields, \"%s\" and \"%s\" among them: name one",
                              schema->fields[found].name, schema->fields[f].name);
        found = f;
    }
    if (found == SIZE_MAX)
        return mldfi_fail(err, MLDF_E_NO_FIELD, "the file has no field of type text_tokenized");
    const struct schema_field *f = &schema->fields[found];
    const struct tokens_state *s = f->state;
    if (f->info.type_id != MLDF_TEXT_TOKENIZED || !f->type || s->draft)
        return mldfi_fail(err, MLDF_E_TYPE,
                          "field \"%s\" is of type %s: a plan is of documents, one a row (text_tokenized)", f->name,
                          f->info.type_name);
    int64_t largest = o->bos > o->eos ? o->bos : o->eos;
    if (largest >= 0 && (uint64_t)largest >= s->limit)
        return mldfi_fail(err, MLDF_E_RANGE, "id %" PRId64 " is outside the vocabulary of field \"%s\": 0 to %" PRIu64,
                          largest, f->name, s->limit - 1);
    *out = found;
    return MLDF_OK;
}

/* ---- Into the file ------------------------------------------------------------------------------------------------------------------- */

static mldf_status store(const mldf_reader *reader, mldf_writer *writer, const struct packing *plan, mldf_error *err) {
    struct packing plans[PACKING_PLANS + 1];
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    size_t count, at = 0;
    mldf_status status = mldfi_reader_plans(reader, &scratch, plans, &count, err);
    while (status >= 0 && at < count &&
           (plans[at].field != plan->field || !mldfi_packing_same_rule(&plans[at].rule, &plan->rule)))
        at++;
    if (status >= 0 && at == PACKING_PLANS)
        status = mldfi_fail(err, MLDF_E_LIMIT, "the file has %d pack plans already, the most that it can hold",
                            PACKING_PLANS);
    if (status >= 0) {
        plans[at] = *plan;
        status = mldfi_writer_set_plans(writer, plans, at == count ? count + 1 : count, err);
    }
    mldf_buffer_free(&scratch);
    return status;
}

static mldf_status plan_file(const mldf_reader *reader, mldf_writer *writer, const mldf_plan_tokens_options *o,
                             const struct packing_rule *rule, mldf_token_plan *result, mldf_error *err) {
    struct packing plan = {0};
    struct packing_rule huge = *rule;
    size_t field;
    huge.large = mldfi_memory_huge;
    uint64_t n = reader->header.num_samples, *lengths = NULL;
    mldf_status status = find_field(reader, o, &field, err);
    if (status >= 0 && !(lengths = mldfi_alloc_zero((size_t)n + 1, sizeof *lengths, err)))
        status = MLDF_E_MEMORY;
    if (status >= 0)
        status = mldfi_plan_lengths(reader, field, lengths, err);
    if (status >= 0)
        status = mldfi_packing_make(&huge, lengths, n, &plan, err);
    if (status >= 0) {
        plan.field = (uint16_t)field;
        mldfi_packing_describe(reader->schema, &plan, result);
        result->field = NULL; /* the schema ends with the reader */
        if (writer)
            status = store(reader, writer, &plan, err);
    }
    mldfi_packing_free(&plan);
    free(lengths);
    return status;
}

/* The writer's lock keeps the file as it is while it is read. concat stores nothing: no table is needed. */
static mldf_status plan_path(const char *path, const mldf_plan_tokens_options *o, const struct packing_rule *rule,
                             mldf_token_plan *result, mldf_error *err) {
    mldf_reader_options reading = MLDF_READER_OPTIONS_INIT;
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_reader *reader = NULL;
    mldf_writer *writer = NULL;
    reading.context = writing.context = o->context;
    reading.secret = writing.secret = o->secret;
    reading.verify = true;
    bool stored = rule->algorithm != PACKING_CONCAT;
    mldf_status status = stored ? mldf_writer_open_append(path, &writing, &writer, err) : MLDF_OK;
    if (status >= 0)
        status = mldfi_reader_open_native(path, &reading, &reader, err);
    if (status >= 0)
        status = plan_file(reader, writer, o, rule, result, err);
    mldf_reader_close(reader);
    if (status < 0 || !writer) {
        mldf_writer_abort(writer);
        return status;
    }
    return mldf_writer_finish(writer, NULL, err);
}

mldf_status mldf_plan_tokens(const char *path, const mldf_plan_tokens_options *given, mldf_token_plan *result,
                             mldf_error *err) {
    mldf_plan_tokens_options own = MLDF_PLAN_TOKENS_OPTIONS_INIT;
    mldf_token_plan plan = MLDF_TOKEN_PLAN_INIT;
    struct packing_rule rule;
    if (!path)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "plan_tokens needs a path");
    mldf_status status = mldfi_take_options(&own, sizeof own, "mldf_plan_tokens_options", given, err);
    if (status == MLDF_OK)
        status = mldfi_check_result("mldf_token_plan", result, err);
    if (status < 0)
        return status;
    status = make_rule(&own, &rule, err);
    if (status == MLDF_OK)
        status = plan_path(path, &own, &rule, &plan, err);
    mldfi_give_result(result, &plan, sizeof plan);
    return status;
}

/* ---- Copies -------------------------------------------------------------------------------------------------------------------------- */

mldf_status mldfi_keep_plans(const mldf_reader *reader, mldf_writer *writer, mldf_error *err) {
    struct packing plans[PACKING_PLANS];
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    const mldf_schema *schema = mldf_writer_schema(writer);
    size_t count, kept = 0;
    mldf_status status = mldfi_reader_plans(reader, &scratch, plans, &count, err);
    for (size_t i = 0; status >= 0 && i < count; i++) {
        size_t to = mldfi_schema_lookup(schema, reader->schema->fields[plans[i].field].name);
        if (to == SIZE_MAX)
            continue;
        plans[kept] = plans[i];
        plans[kept++].field = (uint16_t)to;
    }
    if (status >= 0 && kept)
        status = mldfi_writer_set_plans(writer, plans, kept, err);
    mldf_buffer_free(&scratch);
    return status;
}

void mldfi_drop_plans(const mldf_reader *reader, const mldf_context *context) {
    const struct section *s = mldfi_reader_find_section(reader, SECTION_PACK_PLAN);
    if (s && s->param)
        mldfi_warn(context,
                   "%s: its %" PRIu64 " pack plans are of all its samples in their order, and are left out; mldf "
                   "plan-tokens makes new ones",
                   reader->path, s->param);
}
