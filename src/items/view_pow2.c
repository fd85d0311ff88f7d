/* pow2(field, least, most): documents cut into pieces whose lengths are powers of two (OLMo's variable sequence lengths; "Dataset Decomposition", arXiv
 * 2405.13226).
 *
 *   document of 21 tokens, pow2(tokens, 4, 8)   |--- 8 ---|--- 8 ---|- 4 -|.   what is shorter than `least` is left out
 *
 * Items are numbered by length, the shortest first, and inside a length by document: those of one length are a run, so that a loader can make batches of
 * one length and go through the lengths as a curriculum (loader/curriculum.c). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "field/type.h"
#include "items/pow2.h"
#include "util/buffer.h"
#include "util/error.h"

enum { LEAST, MOST };
static const struct item_param params[] = {
    {"least", ITEM_NUMBER, NULL, .needed = true}, {"most", ITEM_NUMBER, NULL, .needed = true}, {0}};

enum { MOST_LOG = 30 };

static mldf_status take_power(const mldf_view *view, int param, uint32_t *out, mldf_error *err) {
    double number = view->args[param].number;
    for (*out = 0; *out <= MOST_LOG; ++*out)
        if (number == (double)(UINT64_C(1) << *out))
            return MLDF_OK;
    return mldfi_fail(err, MLDF_E_ARGUMENT, "view pow2: %s is a power of two from 1 to 2^%d, not %g",
                      params[param].name, MOST_LOG, number);
}

static mldf_status check_field(const mldf_view *view, mldf_error *err) {
    for (size_t i = 0; i < view->reader_count; i++) {
        const struct schema_field *f = &view->readers[i]->schema->fields[view->fields[i]];
        struct edge edge = {0};
        mldf_status status = f->type->edge(f, NULL, &edge, err);
        bool list = status >= 0 && edge.kind == VALUE_ARRAY && edge.ndim == 1;
        if (list && f->info.type_id != MLDF_TEXT_PACKED)
            continue;
        status = status < 0 ? status
                            : mldfi_fail(err, MLDF_E_TYPE,
                                         "view pow2: field %s is %s %s: documents are needed, one a row or in a "
                                         "token_stream",
                                         view->field, f->info.type_name, f->info.arguments);
        mldfi_error_place(err, MLDF_NONE, view->field);
        return mldfi_reader_name_error(view->readers[i], err, status);
    }
    return MLDF_OK;
}

static inline bool is_there(uint64_t tokens) {
    return tokens != PACKING_NULL;
}

/* Pieces of 2^(least + k) tokens that a document has. */
static inline uint64_t pieces_of(const struct pow2 *p, uint64_t tokens, uint32_t k) {
    return p->least + k == p->most ? tokens >> p->most : tokens >> (p->least + k) & 1;
}

static mldf_status make_items(mldf_view *view, struct pow2 *p, uint64_t documents, mldf_error *err) {
    uint64_t at[POW2_CLASSES + 1];
    const uint64_t *lengths = p->documents.lengths;
    for (uint32_t k = 0; k < p->classes; k++) {
        p->first[k + 1] = p->first[k];
        for (uint64_t d = 0; d < documents; d++)
            p->first[k + 1] += is_there(lengths[d]) ? pieces_of(p, lengths[d], k) : 0;
    }
    uint64_t count = p->first[p->classes];
    if (documents > UINT32_MAX || count > SIZE_MAX / 8)
        return mldfi_fail(err, MLDF_E_LIMIT,
                          "view pow2: %" PRIu64 " documents in %" PRIu64 " pieces; 2^32 - 1 documents are the most",
                          documents, count);
    if (!(p->owner = mldfi_alloc((size_t)(count + 1) * sizeof *p->owner, err)))
        return MLDF_E_MEMORY;
    memcpy(at, p->first, sizeof at);
    for (uint64_t d = 0; d < documents; d++)
        for (uint32_t k = 0; is_there(lengths[d]) && k < p->classes; k++)
            for (uint64_t n = pieces_of(p, lengths[d], k); n > 0; n--)
                p->owner[at[k]++] = (uint32_t)d;
    for (size_t i = 1; i <= view->reader_count; i++)
        view->first_item[i] = count;
    uint64_t hash[2] = {mldfi_packing_hash(lengths, documents), documents};
    memcpy(view->digest, hash, sizeof view->digest);
    return MLDF_OK;
}

static mldf_status open_pow2(mldf_view *view, mldf_error *err) {
    struct pow2 *p = view->pow2 = mldfi_alloc_zero(1, sizeof *p, err);
    uint64_t *documents_of = mldfi_alloc_zero(view->reader_count + 1, sizeof *documents_of, err);
    mldf_status status = p && documents_of ? check_field(view, err) : MLDF_E_MEMORY;
    if (status >= 0)
        status = take_power(view, LEAST, &p->least, err);
    if (status >= 0)
        status = take_power(view, MOST, &p->most, err);
    if (status >= 0 && p->least > p->most)
        status = mldfi_fail(err, MLDF_E_ARGUMENT, "view pow2: least is %g, above most, %g", view->args[LEAST].number,
                            view->args[MOST].number);
    if (status >= 0) {
        p->classes = p->most - p->least + 1;
        status = mldfi_packed_measure(view, &p->documents, documents_of, err);
    }
    if (status >= 0) {
        p->count = documents_of[view->reader_count];
        status = make_items(view, p, p->count, err);
    }
    view->empty_rows = 0; /* those that are too short count too */
    for (uint64_t d = 0; status >= 0 && d < p->count; d++)
        view->empty_rows += is_there(p->documents.lengths[d]) && p->documents.lengths[d] >> p->least == 0;
    free(documents_of);
    return status;
}

static void free_pow2(mldf_view *view) {
    struct pow2 *p = view->pow2;
    if (!p)
        return;
    free(p->documents.lengths);
    free(p->documents.starts);
    free(p->documents.first_of_row);
    free(p->owner);
    free(p);
    view->pow2 = NULL;
}

/* The first item from `begin` on, before `end`, of a document that is not below `document`. */
static uint64_t lower(const struct pow2 *p, uint64_t begin, uint64_t end, uint64_t document) {
    while (begin < end) {
        uint64_t middle = begin + (end - begin) / 2;
        if (p->owner[middle] < document)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

uint32_t mldfi_pow2_class(const struct pow2 *p, uint64_t item) {
    uint32_t k = 0;
    while (item >= p->first[k + 1])
        k++;
    return k;
}

static void locate(const mldf_view *view, struct item_place *out) {
    const struct pow2 *p = view->pow2;
    uint32_t k = mldfi_pow2_class(p, out->item), log = p->least + k;
    uint64_t document = p->owner[out->item], begin, known, from;
    if (log == p->most)
        from = (out->item - lower(p, p->first[k], out->item, document)) << log;
    else
        from = p->documents.lengths[document] >> (log + 1) << (log + 1); /* the longer pieces are in front of it */
    mldfi_packed_document(view, &p->documents, document, &out->reader, &out->row, &begin, &known);
    out->from = begin + from;
    out->have = out->steps = UINT64_C(1) << log;
}

/* The items of documents [first, end), ascending. */
static size_t find(const mldf_view *view, uint64_t first, uint64_t end, uint64_t *items, size_t room) {
    const struct pow2 *p = view->pow2;
    size_t found = 0;
    for (uint32_t k = 0; k < p->classes; k++) {
        uint64_t item = lower(p, p->first[k], p->first[k + 1], first), stop = lower(p, item, p->first[k + 1], end);
        for (; item < stop; item++, found++)
            if (found < room)
                items[found] = item;
    }
    return found;
}

static void edge(const mldf_view *view, struct edge *out) {
    mldfi_view_set_length(out, view->args[MOST].number, false, false);
}

const struct item_map mldfi_view_pow2 = {
    .name = "pow2",
    .params = params,
    .cuts = true,
    .version = 1,
    .open = open_pow2,
    .locate = locate,
    .find = find,
    .edge = edge,
    .free = free_pow2,
};
