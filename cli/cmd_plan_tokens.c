/* mldf plan-tokens: which documents make each sequence of a fixed length; the plan is kept in the file. */
#include <stdio.h>

#include "cli.h"

static const struct option_spec options[] = {
    {0, "length", "L", "tokens of a sequence"},
    {0, "field", "NAME", "the token field (default: the only one of type text_tokenized)"},
    {0, "algorithm", "NAME", "best-fit (default), next-fit, or concat, which is only reckoned: it needs no plan"},
    {0, "align", "K", "documents begin at multiples of K; K divides L"},
    {0, "long", "RULE", "documents longer than L: cut (default), truncate or drop"},
    {0, "max-pieces", "N", "at most N documents or pieces in a sequence"},
    {0, "seed", "N", "best-fit: documents that take equal places come in a random order (default 0: by their numbers)"},
    {0, "bos", "ID", "count this id before each document"},
    {0, "eos", "ID", "count this id after each document"},
    {0, NULL, NULL, NULL},
};

static int get_number(const struct invocation *v, const char *name, uint64_t most, uint64_t *out) {
    const char *text = option_value(v, name);
    char option[32];
    if (!text)
        return EXIT_FINE;
    snprintf(option, sizeof option, "--%s", name);
    if (!parse_count(v, option, text, out))
        return EXIT_USAGE;
    if (*out > most)
        return usage_error(v, "%s: %s is too large", option, text);
    return EXIT_FINE;
}

static int run(struct invocation *v) {
    mldf_plan_tokens_options planning = MLDF_PLAN_TOKENS_OPTIONS_INIT;
    mldf_token_plan plan = MLDF_TOKEN_PLAN_INIT;
    mldf_error err;
    uint64_t length = 0, align = 0, pieces = 0, seed = 0, bos = MLDF_NONE, eos = MLDF_NONE;
    if (!option_given(v, "length"))
        return usage_error(v, "--length is needed: the tokens of a sequence");
    int code = check_no_stdin(v, 0, 1);
    if (code == EXIT_FINE)
        code = get_number(v, "length", UINT32_MAX, &length);
    if (code == EXIT_FINE)
        code = get_number(v, "align", UINT32_MAX, &align);
    if (code == EXIT_FINE)
        code = get_number(v, "max-pieces", UINT32_MAX, &pieces);
    if (code == EXIT_FINE)
        code = get_number(v, "seed", UINT64_MAX, &seed);
    if (code == EXIT_FINE)
        code = get_number(v, "bos", INT32_MAX, &bos);
    if (code == EXIT_FINE)
        code = get_number(v, "eos", INT32_MAX, &eos);
    if (code != EXIT_FINE)
        return code;
    planning.context = v->context;
    planning.secret = v->secret;
    planning.field = option_value(v, "field");
    planning.length = (uint32_t)length;
    planning.algorithm = option_value(v, "algorithm");
    planning.align = (uint32_t)align;
    planning.long_documents = option_value(v, "long");
    planning.max_pieces = (uint32_t)pieces;
    planning.seed = seed;
    planning.bos = bos == MLDF_NONE ? -1 : (int64_t)bos;
    planning.eos = eos == MLDF_NONE ? -1 : (int64_t)eos;
    if (mldf_plan_tokens(v->files[0], &planning, &plan, &err) < 0)
        return report_error(v, v->files[0], &err);
    if (v->json) {
        json_begin('{');
        json_token_plan(&plan);
        json_end('}');
        json_line_end();
    } else {
        out_printf("%s: ", v->files[0]);
        text_token_plan(&plan);
        out_char('\n');
    }
    return EXIT_FINE;
}

const struct command command_plan_tokens = {
    "plan-tokens",
    "FILE --length L",
    "plan how documents of tokens are packed into sequences",
    "Decides which documents, or pieces of documents, make each sequence of L tokens, and keeps the plan in FILE, atomically as append\n"
    "does. A plan with the same options is replaced; a file holds up to 64. Documents are stored once, whatever the plans. best-fit sorts\n"
    "documents by length and puts each into the fullest sequence that takes it; next-fit keeps their order; concat cuts wherever a\n"
    "sequence ends.\n"
    "\n"
    "With --json, one object: algorithm, length, align, long, max_pieces, bos, eos, bins, pieces, most_pieces, documents, tokens,\n"
    "left_out, slots, fill (0 to 1), cut_documents; seed where there is one.",
    options,
    "  mldf plan-tokens corpus.mldf --length 2048\n"
    "  mldf plan-tokens corpus.mldf --length 8192 --eos 50256 --align 8\n",
    1,
    1,
    run,
};
