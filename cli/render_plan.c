/* Pack plans of a file: as JSON for info, stats and plan-tokens, and as lines of text. */
#include <inttypes.h>

#include "cli.h"

static double fill_of(const mldf_token_plan *p) {
    double slots = (double)p->bins * p->length;
    return slots > 0 ? (double)p->tokens / slots : 0;
}

void json_token_plan(const mldf_token_plan *p) {
    if (p->field) {
        json_key("field");
        json_string(p->field);
    }
    json_key("algorithm");
    json_string(p->algorithm);
    json_key("length");
    json_u64(p->length);
    json_key("align");
    json_u64(p->align);
    json_key("long");
    json_string(p->long_documents);
    json_key("max_pieces");
    json_u64_or_null(p->max_pieces ? p->max_pieces : MLDF_NONE);
    json_key("bos");
    json_u64_or_null(p->bos < 0 ? MLDF_NONE : (uint64_t)p->bos);
    json_key("eos");
    json_u64_or_null(p->eos < 0 ? MLDF_NONE : (uint64_t)p->eos);
    json_key("bins");
    json_u64(p->bins);
    json_key("pieces");
    json_u64(p->pieces);
    json_key("most_pieces");
    json_u64(p->most_pieces);
    json_key("documents");
    json_u64(p->rows);
    json_key("tokens");
    json_u64(p->tokens);
    json_key("left_out");
    json_u64(p->left_out);
    json_key("slots");
    json_u64(p->bins * p->length);
    json_key("fill");
    json_double(fill_of(p));
    json_key("cut_documents");
    json_u64(p->cut_documents);
    if (p->seed) {
        json_key("seed");
        json_u64(p->seed);
    }
}

void text_token_plan(const mldf_token_plan *p) {
    out_printf("%s, length %u", p->algorithm, p->length);
    if (p->align > 1)
        out_printf(", align %u", p->align);
    if (p->max_pieces)
        out_printf(", at most %u pieces", p->max_pieces);
    if (p->seed)
        out_printf(", seed %" PRIu64, p->seed);
    out_printf(", long documents %s: %" PRIu64 " sequences of %" PRIu64
               " pieces (up to %u in one), %.4f %% full, %" PRIu64 " tokens of %" PRIu64 " documents, %" PRIu64
               " cut, %" PRIu64 " tokens left out",
               p->long_documents, p->bins, p->pieces, p->most_pieces, 100 * fill_of(p), p->tokens, p->rows,
               p->cut_documents, p->left_out);
}

void json_token_plans(const mldf_reader *reader) {
    mldf_token_plan plan = MLDF_TOKEN_PLAN_INIT;
    for (size_t i = 0; mldf_reader_token_plan(reader, i, &plan, NULL) == MLDF_OK; i++) {
        if (i == 0) {
            json_key("token_plans");
            json_begin('[');
        }
        json_begin('{');
        json_token_plan(&plan);
        json_end('}');
        if (mldf_reader_token_plan(reader, i + 1, &plan, NULL) != MLDF_OK)
            json_end(']');
    }
}

void text_token_plans(const mldf_reader *reader) {
    mldf_token_plan plan = MLDF_TOKEN_PLAN_INIT;
    for (size_t i = 0; mldf_reader_token_plan(reader, i, &plan, NULL) == MLDF_OK; i++) {
        if (i == 0)
            out_text("\npack plans\n");
        out_printf("  %s: ", plan.field);
        text_token_plan(&plan);
        if (plan.rows != mldf_reader_sample_count(reader))
            out_printf("; samples were appended since: mldf plan-tokens renews it");
        out_char('\n');
    }
}
