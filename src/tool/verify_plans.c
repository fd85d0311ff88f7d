/* Pack plans when a file is verified deep: each piece lies in its row, each sequence holds its pieces, and the plan's numbers are those of its pieces. */
#include <inttypes.h>

#include "field/along.h"
#include "field/tokens.h"
#include "reader/plans.h"
#include "tool/plan_tokens.h"
#include "tool/verify.h"
#include "util/buffer.h"

struct plan_check {
    struct verify *verify;
    const struct packing *plan;
    size_t number;
    const uint64_t *lengths;
    uint64_t placed;
    uint32_t most;
};

/* One sequence; false: it was reported. */
static bool check_bin(struct plan_check *c, uint64_t bin, uint64_t *next) {
    const struct packing *p = c->plan;
    uint64_t begin, end, at = 0;
    mldfi_packing_bin(p, bin, &begin, &end);
    const char *why = begin != *next || begin == end ? "has no pieces, or not the next ones" : NULL;
    *next = end;
    c->most = end - begin > c->most ? (uint32_t)(end - begin) : c->most;
    for (uint64_t i = begin; i < end && !why; i++) {
        struct packing_piece piece;
        mldfi_packing_piece(p, i, &piece);
        uint64_t tokens = piece.document < p->rows ? c->lengths[piece.document] : PACKING_NULL;
        if (tokens == PACKING_NULL) {
            why = "names a document that is null or not there";
        } else if (piece.length > tokens || piece.from > tokens - piece.length) {
            mldfi_verify_problem(c->verify, MLDF_E_CORRUPT, MLDF_NONE, piece.document,
                                 "pack plan %zu: sequence %" PRIu64 " has tokens %u to %" PRIu64
                                 " of a document of %" PRIu64,
                                 c->number, bin, piece.from, (uint64_t)piece.from + piece.length, tokens);
            return false;
        }
        at = (at + p->rule.align - 1) / p->rule.align * p->rule.align;
        if (!why)
            at += mldfi_packing_places(&p->rule, &piece, tokens);
        if (!why && at > p->rule.length)
            why = "has more tokens than a sequence holds";
        c->placed += piece.length;
    }
    if (why)
        mldfi_verify_problem(c->verify, MLDF_E_CORRUPT, MLDF_NONE, MLDF_NONE, "pack plan %zu: sequence %" PRIu64 " %s",
                             c->number, bin, why);
    return !why;
}

/* A plan that mldf_plan_tokens could have made: of documents, by a rule that makes sense. false: it was reported. */
static bool check_head(struct verify *verify, const struct packing *p, size_t number) {
    const struct schema_field *f = &verify->reader->schema->fields[p->field];
    bool documents = f->info.type_id == MLDF_TEXT_TOKENIZED && f->type;
    const struct tokens_state *state = documents ? f->state : NULL;
    mldf_error why = {0};
    if (!state || state->draft)
        mldfi_verify_problem(verify, MLDF_E_CORRUPT, MLDF_NONE, MLDF_NONE,
                             "pack plan %zu is of the field %s, which does not hold one document a row", number,
                             f->name);
    else if (mldfi_packing_check_rule(&p->rule, &why) < 0)
        mldfi_verify_problem(verify, MLDF_E_CORRUPT, MLDF_NONE, MLDF_NONE, "pack plan %zu: %s", number, why.message);
    else
        return true;
    return false;
}

static mldf_status check_plan(struct plan_check *c, mldf_error *err) {
    const struct packing *p = c->plan;
    uint64_t next = 0;
    for (uint64_t bin = 0; bin < p->bins; bin++) {
        mldf_status status = bin % 65536 == 0 ? mldfi_verify_tick(c->verify, err) : MLDF_OK;
        if (status < 0 || !check_bin(c, bin, &next))
            return status;
    }
    if (next != p->pieces || c->placed != p->placed || c->most != p->most_pieces)
        mldfi_verify_problem(c->verify, MLDF_E_CORRUPT, MLDF_NONE, MLDF_NONE,
                             "pack plan %zu says %" PRIu64 " pieces, up to %u in one, of %" PRIu64
                             " tokens; its sequences have %" PRIu64 ", %u and %" PRIu64,
                             c->number, p->pieces, p->most_pieces, p->placed, next, c->most, c->placed);
    else if (mldfi_packing_hash(c->lengths, p->rows) != p->lengths_hash)
        mldfi_verify_problem(c->verify, MLDF_E_CORRUPT, MLDF_NONE, MLDF_NONE,
                             "pack plan %zu was made of documents of other lengths", c->number);
    return MLDF_OK;
}

mldf_status mldfi_verify_plans(struct verify *verify, mldf_error *err) {
    const mldf_reader *reader = verify->reader;
    struct packing plans[PACKING_PLANS];
    mldf_buffer section = MLDF_BUFFER_INIT, lengths = MLDF_BUFFER_INIT;
    size_t count = 0, measured = SIZE_MAX; /* the field that lengths is of */
    uint64_t bad = verify->bad_sections;
    if (!verify->options.deep || verify->bad_rows || ((bad >> SECTION_PACK_PLAN | bad >> SECTION_VALIDITY) & 1) ||
        reader->header.num_samples > SIZE_MAX / 16)
        return MLDF_OK;
    mldf_status status = mldfi_reader_plans(reader, &section, plans, &count, err);
    for (size_t i = 0; i < count && status >= 0; i++) {
        if (plans[i].version != PACKING_VERSION || !check_head(verify, &plans[i], i))
            continue;
        if (plans[i].field != measured) {
            measured = plans[i].field;
            status = mldfi_buffer_resize(&lengths, (size_t)(8 * reader->header.num_samples + 8), err);
            if (status >= 0)
                status = mldfi_plan_lengths(reader, plans[i].field, (uint64_t *)(void *)lengths.data, err);
        }
        struct plan_check check = {verify, &plans[i], i, (const uint64_t *)(const void *)lengths.data, 0, 0};
        if (status >= 0)
            status = check_plan(&check, err);
    }
    if (status < 0 && mldfi_is_problem(status)) {
        mldfi_verify_problem(verify, status, err ? err->offset : MLDF_NONE, MLDF_NONE, "%s",
                             err ? err->message : "pack plans cannot be read");
        status = MLDF_OK;
    }
    mldf_buffer_free(&section);
    mldf_buffer_free(&lengths);
    return status;
}
