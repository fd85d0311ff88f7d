/* packed(field, length, ...): documents put together into sequences of one length, none of them joined (docs/guides/packed-sequences.md).
 *
 *   algorithm   best-fit: longest first, each into the fullest sequence that takes it; next-fit: in their order; concat: end to end, cut everywhere
 *   align       pieces begin at multiples of it
 *   long        documents longer than a sequence: cut into pieces, truncate, drop
 *   bos, eos    ids that are added to every document
 *   seed        best-fit: documents that take equal places in a random order
 *   reseed      epoch: and in another one in every epoch. The sequences are as full as before, so their number stays
 *   per_file    a plan for each file; otherwise one of all, unless every file has its own stored
 *   objective   causal, fim(...), mlm(...): packed_objective.c
 *   image_id    of multimodal samples: the token of a placeholder; image names the role, image_tokens or patch say how many there are, missing how many
 *               an image has that is null (packed_parts.c)
 * and, of what an item shows: pad, ends, shift, positions, base, cu_seqlens, max_seqlen, target, dtype. packed.h says who does what. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field/along.h"
#include "field/tokens.h"
#include "field/type.h"
#include "items/packed.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/json.h"

static const char *const algorithms[] = {"best-fit", "next-fit", "concat", NULL};
static const char *const longs[] = {"cut", "truncate", "drop", NULL};
static const char *const reseeds[] = {"never", "epoch", NULL};
static const char *const objectives[] = {"causal", "fim", "mlm", NULL};
static const char *const ends[] = {"mask", "next", NULL};
static const char *const positions[] = {"piece", "document", NULL};
static const char *const forms[] = {"rows", "flat", "ragged", NULL};
static const char *const longest[] = {"observed", "length", NULL};
static const char *const dtypes[] = {"i64", "i32", NULL};

static const struct item_param params[PACKED_PARAMS + 1] = {
    [PACKED_LENGTH] = {"length", ITEM_NUMBER, NULL, .needed = true},
    [PACKED_ALGORITHM] = {"algorithm", ITEM_CHOICE, algorithms, .quiet = false},
    [PACKED_ALIGN] = {"align", ITEM_NUMBER, NULL, .quiet = true},
    [PACKED_LONG] = {"long", ITEM_CHOICE, longs, .quiet = false},
    [PACKED_MAX_PIECES] = {"max_pieces", ITEM_NUMBER, NULL, .quiet = true},
    [PACKED_BOS] = {"bos", ITEM_ID, NULL, .quiet = true},
    [PACKED_EOS] = {"eos", ITEM_ID, NULL, .quiet = true},
    [PACKED_PER_FILE] = {"per_file", ITEM_FLAG, NULL, .quiet = true},
    [PACKED_SEED] = {"seed", ITEM_NUMBER, NULL, .quiet = true},
    [PACKED_RESEED] = {"reseed", ITEM_CHOICE, reseeds, .quiet = true},
    [PACKED_OBJECTIVE] = {"objective", ITEM_CHOICE, objectives, .quiet = true},
    [PACKED_FIM_RATE] = {"fim.rate", ITEM_NUMBER, NULL, .quiet = true},
    [PACKED_FIM_SPM] = {"fim.spm", ITEM_NUMBER, NULL, .quiet = true},
    [PACKED_FIM_PREFIX] = {"fim.prefix", ITEM_NUMBER, NULL, .quiet = true},
    [PACKED_FIM_MIDDLE] = {"fim.middle", ITEM_NUMBER, NULL, .quiet = true},
    [PACKED_FIM_SUFFIX] = {"fim.suffix", ITEM_NUMBER, NULL, .quiet = true},
    [PACKED_MLM_P] = {"mlm.p", ITEM_NUMBER, NULL, .quiet = true},
    [PACKED_MLM_MASK] = {"mlm.mask", ITEM_NUMBER, NULL, .quiet = true},
    [PACKED_MLM_RANDOM] = {"mlm.random", ITEM_NUMBER, NULL, .quiet = true},
    [PACKED_MLM_KEEP] = {"mlm.keep", ITEM_NUMBER, NULL, .quiet = true},
    [PACKED_PAD] = {"pad", ITEM_ID, NULL, .quiet = true, .shows = true},
    [PACKED_ENDS] = {"ends", ITEM_CHOICE, ends, .quiet = true, .shows = true},
    [PACKED_SHIFT] = {"shift", ITEM_FLAG, NULL, .quiet = true, .shows = true},
    [PACKED_POSITIONS] = {"positions", ITEM_CHOICE, positions, .quiet = true, .shows = true},
    [PACKED_BASE] = {"base", ITEM_NUMBER, NULL, .quiet = true, .shows = true},
    [PACKED_CU] = {"cu_seqlens", ITEM_CHOICE, forms, .quiet = true, .shows = true},
    [PACKED_MAX] = {"max_seqlen", ITEM_CHOICE, longest, .quiet = true, .shows = true},
    [PACKED_TARGET] = {"target", ITEM_FLAG, NULL, .quiet = true, .shows = true},
    [PACKED_DTYPE] = {"dtype", ITEM_CHOICE, dtypes, .quiet = true, .shows = true},
    [PACKED_IMAGE_ID] = {"image_id", ITEM_NUMBER, NULL, .quiet = true},
    [PACKED_IMAGE] = {"image", ITEM_NAME, NULL, .quiet = true},
    [PACKED_IMAGE_TOKENS] = {"image_tokens", ITEM_NUMBER, NULL, .quiet = true},
    [PACKED_PATCH] = {"patch", ITEM_NUMBER, NULL, .quiet = true},
    [PACKED_MISSING] = {"missing", ITEM_NUMBER, NULL, .quiet = true},
};

/* ---- The fields of an item ----------------------------------------------------------------------------------------------------------- */

struct fielding {
    mldf_view *view;
    mldf_error *err;
    bool plain; /* the token field is called tokens: the others by their names alone */
};

static mldf_status add_field(struct fielding *g, enum packed_kind kind, size_t column, const char *name,
                             const char *dtype, int64_t first, int64_t second) {
    struct packed *p = g->view->packed;
    char arguments[96], dims[48] = "";
    if (first >= 0 && second >= 0)
        (void)snprintf(dims, sizeof dims, "%" PRId64 ",%" PRId64, first, second);
    else if (first >= 0)
        (void)snprintf(dims, sizeof dims, "%" PRId64, first);
    (void)snprintf(arguments, sizeof arguments, "{\"dtype\":\"%s\",\"shape\":[%s]}", dtype, dims);
    mldf_status status = mldf_schema_add(g->view->schema, name, MLDF_NDARRAY, arguments, 0, g->err);
    if (status >= 0)
        p->fields[p->field_count++] = (struct packed_field){kind, column};
    return status;
}

static bool is_column(const struct packed *p, const char *name) {
    for (size_t i = 0; i < p->column_count; i++)
        if (strcmp(p->columns[i].name, name) == 0)
            return true;
    return false;
}

/* Under its own name, or with the token field's in front: where that is not tokens, or where a column has the name. */
static mldf_status add_made(struct fielding *g, enum packed_kind kind, const char *name, const char *dtype,
                            int64_t first, int64_t second) {
    char full[2 * MLDF_NAME_MAX + 2];
    bool plain = g->plain && !is_column(g->view->packed, name);
    (void)snprintf(full, sizeof full, plain ? "%s%s" : "%s_%s", plain ? "" : g->view->field, name);
    return add_field(g, kind, 0, full, dtype, first, second);
}

/* A field of another file that is the same side column. */
static bool same_column(const struct schema_field *a, const struct schema_field *b) {
    const char *along = mldfi_along_name(b);
    bool spans_a = false, spans_b = false;
    if (!along || strcmp(along, mldfi_along_name(a)) != 0)
        return false;
    (void)a->type->along(a->state, &spans_a);
    (void)b->type->along(b->state, &spans_b);
    return spans_a == spans_b && a->info.dtype == b->info.dtype && a->info.ndim == b->info.ndim;
}

/* Side columns of the tokens, of one number a token. */
static mldf_status find_columns(mldf_view *view, mldf_error *err) {
    struct packed *p = view->packed;
    const mldf_schema *schema = mldf_reader_schema(view->readers[0]);
    if (p->objective == OBJECTIVE_FIM)
        return MLDF_OK;
    for (size_t f = 0; f < schema->field_count && p->column_count < PACKED_COLUMNS; f++) {
        const struct schema_field *field = &schema->fields[f];
        const char *along = mldfi_along_name(field);
        bool spans = false, everywhere = true;
        if (!along || strcmp(along, view->field) != 0)
            continue;
        (void)field->type->along(field->state, &spans);
        if (!spans && field->info.ndim != 1)
            continue;
        struct packed_column *column = &p->columns[p->column_count];
        *column = (struct packed_column){field->name, spans ? MLDF_BOOL : field->info.dtype, spans, NULL};
        if (!(column->fields = mldfi_alloc_zero(view->reader_count, sizeof *column->fields, err)))
            return MLDF_E_MEMORY;
        for (size_t r = 0; r < view->reader_count && everywhere; r++) {
            const mldf_schema *its = mldf_reader_schema(view->readers[r]);
            column->fields[r] = mldfi_schema_lookup(its, field->name);
            everywhere = column->fields[r] != SIZE_MAX && same_column(field, &its->fields[column->fields[r]]);
        }
        p->column_count++; /* so that it is freed */
        if (!everywhere) {
            free(column->fields);
            p->column_count--;
        }
    }
    return MLDF_OK;
}

static const char *descr_of(mldf_dtype dtype) {
    static const char *const names[] = {
        [MLDF_BOOL] = "|b1", [MLDF_I8] = "|i1",  [MLDF_U8] = "|u1",  [MLDF_I16] = "<i2",
        [MLDF_U16] = "<u2",  [MLDF_I32] = "<i4", [MLDF_U32] = "<u4", [MLDF_I64] = "<i8",
        [MLDF_U64] = "<u8",  [MLDF_F16] = "<f2", [MLDF_F32] = "<f4", [MLDF_F64] = "<f8"};
    return (size_t)dtype < sizeof names / sizeof *names && names[dtype] ? names[dtype] : "bfloat16";
}

static mldf_status add_columns(struct fielding *g) {
    struct packed *p = g->view->packed;
    mldf_status status = MLDF_OK;
    for (size_t i = 0; i < p->column_count && status >= 0; i++) {
        if (p->columns[i].dtype == MLDF_C64 || p->columns[i].dtype == MLDF_C128)
            continue;
        status = add_field(g, KIND_COLUMN, i, p->columns[i].name, descr_of(p->columns[i].dtype), p->length, -1);
    }
    return status;
}

/* The images of an item: the field itself, with the kind of its images alone. */
static mldf_status add_parts(struct fielding *g) {
    struct packed *p = g->view->packed;
    mldf_buffer arguments = MLDF_BUFFER_INIT;
    mldf_status status = mldfi_packed_parts_arguments(g->view, &arguments, g->err);
    if (status >= 0)
        status =
            mldf_schema_add(g->view->schema, g->view->field, MLDF_MULTIMODAL, (const char *)arguments.data, 0, g->err);
    if (status >= 0)
        p->fields[p->field_count++] = (struct packed_field){KIND_PARTS, 0};
    mldf_buffer_free(&arguments);
    return status;
}

static mldf_status make_fields(mldf_view *view, mldf_error *err) {
    struct packed *p = view->packed;
    struct fielding g = {view, err, p->parts || strcmp(view->field, "tokens") == 0};
    const char *dtype = p->wide ? "<i8" : "<i4";
    int64_t length = p->length, width = (int64_t)p->most_pieces + (p->cu == CU_ROWS ? 2 : 1);
    mldf_status status = mldf_schema_new(NULL, &view->schema, err);
    if (status >= 0)
        status = find_columns(view, err);
    if (status >= 0)
        status = add_field(&g, KIND_TOKENS, 0, p->parts ? "tokens" : view->field, dtype, length, -1);
    if (status >= 0)
        status = add_made(&g, KIND_LABELS, "labels", dtype, length, -1);
    if (status >= 0)
        status = add_made(&g, KIND_POSITIONS, "positions", dtype, length, -1);
    if (status >= 0)
        status = add_made(&g, KIND_CU, "cu_seqlens", "<i4", width, -1);
    if (status >= 0)
        status = add_made(&g, KIND_MAX, "max_seqlen", "<i4", -1, -1);
    p->default_count = p->field_count;
    if (status >= 0)
        status = add_made(&g, KIND_SEGMENTS, "segment_ids", "<i4", length, -1);
    if (status >= 0 && p->align > 1)
        status = add_made(&g, KIND_CU_PADDED, "cu_seqlens_padded", "<i4", width, -1);
    if (status >= 0)
        status = add_made(&g, KIND_DOCUMENTS, "documents", "<i8", p->most_pieces, -1);
    if (status >= 0 && !is_column(p, "loss_mask"))
        status = add_made(&g, KIND_LOSS, "loss_mask", "|b1", length, -1);
    if (status >= 0)
        status = add_made(&g, KIND_MASK, "mask", "|b1", length, length);
    if (status >= 0 && p->parts)
        status = add_made(&g, KIND_IMAGE_MASK, "image_mask", "|b1", length, -1);
    if (status >= 0 && p->parts)
        status = add_parts(&g);
    return status < 0 ? status : add_columns(&g);
}

/* ---- Opening ------------------------------------------------------------------------------------------------------------------------- */

/* One document a row, or a stream of documents, of whole numbers; those of i32 batches must fit. */
static mldf_status check_field(const mldf_view *view, bool wide, mldf_error *err) {
    for (size_t i = 0; i < view->reader_count; i++) {
        const struct schema_field *f = &view->readers[i]->schema->fields[view->fields[i]];
        struct edge edge = {0};
        mldf_status status = f->type->edge(f, NULL, &edge, err);
        const char *why = NULL;
        if (status < 0)
            return status;
        if (f->info.type_id == MLDF_TEXT_PACKED)
            why = "its rows are packed sequences already";
        else if (edge.kind != VALUE_ARRAY || edge.ndim != 1 || edge.dtype < MLDF_I8 || edge.dtype > MLDF_U64)
            why = "documents of tokens are needed, one a row: text_tokenized, token_stream or a list of whole numbers";
        else if (!wide && (edge.dtype == MLDF_U32 || edge.dtype == MLDF_I64 || edge.dtype == MLDF_U64))
            why = "its numbers may be larger than dtype=i32 holds";
        if (!why)
            continue;
        status = mldfi_fail(err, MLDF_E_TYPE, "view packed: field %s is %s %s: %s", view->field, f->info.type_name,
                            f->info.arguments, why);
        mldfi_error_place(err, MLDF_NONE, view->field);
        return mldfi_reader_name_error(view->readers[i], err, status);
    }
    return MLDF_OK;
}

static void take_shown(mldf_view *view) {
    struct packed *p = view->packed;
    const struct item_arg *args = view->args;
    p->ends = (int)args[PACKED_ENDS].number;
    p->shift = !args[PACKED_SHIFT].given || args[PACKED_SHIFT].number != 0;
    p->target = !args[PACKED_TARGET].given || args[PACKED_TARGET].number != 0;
    p->positions = (int)args[PACKED_POSITIONS].number;
    p->base = args[PACKED_BASE].given ? (int64_t)args[PACKED_BASE].number : 1;
    p->cu = (int)args[PACKED_CU].number;
    p->wide = args[PACKED_DTYPE].number == DTYPE_I64;
}

static mldf_status take_rule(mldf_view *view, struct packing_rule *rule, mldf_error *err) {
    const struct item_arg *args = view->args;
    const struct packed *p = view->packed;
    mldf_status status = mldfi_packed_check_whole(view, PACKED_LENGTH, 1, 1073741824.0, err);
    if (status >= 0)
        status = mldfi_packed_check_whole(view, PACKED_ALIGN, 1, 1073741824.0, err);
    if (status >= 0)
        status = mldfi_packed_check_whole(view, PACKED_MAX_PIECES, 0, 4294967295.0, err);
    if (status >= 0)
        status = mldfi_packed_check_whole(view, PACKED_BASE, 0, 1, err);
    if (status >= 0)
        status = mldfi_packed_check_whole(view, PACKED_SEED, 0, 9007199254740992.0, err);
    if (status < 0)
        return status;
    *rule = (struct packing_rule){
        .length = (uint32_t)args[PACKED_LENGTH].number,
        .align = args[PACKED_ALIGN].given ? (uint32_t)args[PACKED_ALIGN].number : 1,
        .max_pieces = args[PACKED_MAX_PIECES].given ? (uint32_t)args[PACKED_MAX_PIECES].number : 0,
        .bos = p->bos < 0 ? 0 : (uint32_t)p->bos + 1,
        .eos = p->eos < 0 ? 0 : (uint32_t)p->eos + 1,
        .algorithm = (uint8_t)(PACKING_BEST_FIT + (int)args[PACKED_ALGORITHM].number),
        .long_documents = (uint8_t)args[PACKED_LONG].number,
        .seed = args[PACKED_SEED].given ? (uint64_t)args[PACKED_SEED].number : 0,
        .ranked = args[PACKED_RESEED].number == RESEED_EPOCH,
    };
    if (rule->ranked && rule->algorithm != PACKING_BEST_FIT)
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "view packed: reseed is for best-fit: next-fit and concat keep the documents' order");
    status = mldfi_packing_check_rule(rule, err);
    if (status < 0)
        mldfi_error_prefix(err, "view packed");
    return status;
}

/* What is given as it would be anyway is not given: equal views have equal texts. */
static void forget_defaults(mldf_view *view) {
    for (int i = 0; i < PACKED_PARAMS; i++) {
        bool one = i == PACKED_ALIGN || i == PACKED_BASE || i == PACKED_SHIFT || i == PACKED_TARGET;
        bool plain = i == PACKED_MAX_PIECES || i == PACKED_SEED || params[i].kind == ITEM_CHOICE ||
                     params[i].kind == ITEM_FLAG || one;
        if (params[i].quiet && plain && view->args[i].number == (one ? 1 : 0))
            view->args[i].given = false;
    }
}

static mldf_status open_packed(mldf_view *view, mldf_error *err) {
    struct packed *p = view->packed = mldfi_alloc_zero(1, sizeof *p, err);
    struct packing_rule rule;
    if (!p)
        return MLDF_E_MEMORY;
    take_shown(view);
    mldf_status status =
        mldfi_packed_is_parts(view) ? mldfi_packed_parts_open(view, err) : check_field(view, p->wide, err);
    if (status >= 0)
        status = mldfi_packed_take_ids(view, err);
    if (status >= 0)
        status = mldfi_packed_take_objective(view, err);
    if (status >= 0)
        status = mldfi_packed_parts_take(view, err);
    if (status >= 0)
        status = take_rule(view, &rule, err);
    if (status < 0)
        return status;
    forget_defaults(view);
    p->length = rule.length;
    p->align = rule.align;
    status = mldfi_packed_plan(view, &rule, err);
    return status < 0 ? status : make_fields(view, err);
}

static void free_packed(mldf_view *view) {
    struct packed *p = view->packed;
    if (!p)
        return;
    for (size_t i = 0; i < p->column_count; i++)
        free(p->columns[i].fields);
    mldfi_packed_plan_free(p, view->reader_count);
    mldfi_packed_parts_free(p);
    free(p);
    view->packed = NULL;
}

/* ---- Places ---------------------------------------------------------------------------------------------------------------------------- */

static bool place_of(const mldf_view *view, const struct packed_step *step, mldf_piece *out) {
    uint64_t begin, tokens;
    const struct packed *p = view->packed;
    uint64_t documents = p->first_document[p->plan_count];
    *out = (mldf_piece){0};
    if (step->document >= documents)
        return false;
    mldfi_packed_document(view, p, step->document, &out->reader, &out->row, &begin, &tokens);
    out->from = begin + step->from;
    out->length = step->length;
    return true;
}

static void locate(const mldf_view *view, struct item_place *out) {
    struct packed_walk walk;
    struct packed_step step;
    mldf_piece piece;
    mldfi_packed_walk(view, out->item, out->epoch, &walk);
    out->steps = view->packed->length;
    if (!mldfi_packed_next(&walk, &step) || !place_of(view, &step, &piece)) {
        out->odd = true; /* gathering it says why */
        return;
    }
    out->reader = piece.reader;
    out->row = piece.row;
    out->from = piece.from;
    out->have = piece.length;
    out->several = walk.concat ? walk.cursor.at < walk.cursor.end : walk.at < walk.end;
}

static bool piece(const mldf_view *view, const struct item_place *place, size_t index, mldf_piece *out) {
    struct packed_walk walk;
    struct packed_step step;
    mldfi_packed_walk(view, place->item, place->epoch, &walk);
    if (!walk.concat) {
        walk.at += index < walk.end - walk.at ? index : walk.end - walk.at;
        index = 0;
    }
    for (size_t i = 0; i <= index; i++)
        if (!mldfi_packed_next(&walk, &step))
            return false;
    return place_of(view, &step, out);
}

static void edge(const mldf_view *view, struct edge *out) {
    mldfi_view_set_length(out, view->packed->length, false, true);
}

const struct item_map mldfi_view_packed = {
    .name = "packed",
    .params = params,
    .cuts = true,
    .parts = true,
    .version = PACKING_VERSION,
    .open = open_packed,
    .locate = locate,
    .piece = piece,
    .edge = edge,
    .free = free_packed,
};
