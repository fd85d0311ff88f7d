/* Objectives other than the next token. They act on the tokens of an item that is put together, with draws of (seed, epoch, position):
 *
 *   fim    a piece of 8 tokens or more becomes, with chance `rate`, prefix-id A suffix-id C middle-id B of its parts A B C (with chance `spm`
 *          prefix-id suffix-id C middle-id A B). It keeps its length: its last 3 tokens give way. bos and eos stay where they are; the label of the
 *          last token is eos where that follows, else none; with ends=next, at a document's end, what the next piece then begins with
 *   mlm    each stored token is chosen with chance p: it becomes the mask's id, but a random id with chance `random` and itself with chance `keep`.
 *          Labels are the chosen tokens at their own places */
#include <string.h>

#include "items/packed.h"
#include "util/buffer.h"
#include "util/random.h"

enum { FIM_MARKS = 3 };

/* Splits the tokens of a piece in three and writes them with their marks. `from` has n tokens; so has out. */
static void permute(const mldf_view *view, struct rng *rng, const int64_t *from, size_t n, int64_t *out) {
    const struct item_arg *args = view->args;
    size_t kept = n - FIM_MARKS;
    size_t a = (size_t)mldfi_rng_below(rng, kept + 1), b = (size_t)mldfi_rng_below(rng, kept + 1);
    size_t begin = a < b ? a : b, end = a < b ? b : a; /* the middle */
    bool suffix_first = mldfi_rng_chance(rng, args[PACKED_FIM_SPM].number);
    int64_t *to = out;
    *to++ = (int64_t)args[PACKED_FIM_PREFIX].number;
    if (!suffix_first) {
        memcpy(to, from, begin * sizeof *to);
        to += begin;
    }
    *to++ = (int64_t)args[PACKED_FIM_SUFFIX].number;
    memcpy(to, from + end, (kept - end) * sizeof *to);
    to += kept - end;
    *to++ = (int64_t)args[PACKED_FIM_MIDDLE].number;
    if (suffix_first) {
        memcpy(to, from, begin * sizeof *to);
        to += begin;
    }
    memcpy(to, from + begin, (end - begin) * sizeof *to);
}

/* ends=next: a document's last label is the token that follows it, and pieces have moved since labels were made. */
static void label_ends(const struct packed_item *item, int64_t *labels) {
    for (size_t i = 0; i < item->count; i++) {
        const struct packed_piece *e = &item->pieces[i];
        if (mldfi_packed_ends_document(e))
            labels[e->begin + e->places - 1] =
                i + 1 < item->count ? item->tokens[item->pieces[i + 1].begin] : item->following;
    }
}

static void fill_in_the_middle(const mldf_view *view, struct packed_item *item, struct rng *rng, int64_t *spare) {
    const struct packed *p = view->packed;
    int64_t *labels = item->tokens + p->length;
    mldfi_packed_tokens_i64(p, item, item->tokens);
    mldfi_packed_labels_i64(p, item, labels);
    for (size_t i = 0; i < item->count; i++) {
        const struct packed_piece *e = &item->pieces[i];
        size_t begin = (size_t)e->begin + e->bos, n = (size_t)e->length, end = (size_t)e->begin + e->places;
        if (n < FIM_LEAST || !mldfi_rng_chance(rng, view->args[PACKED_FIM_RATE].number))
            continue;
        int64_t last = e->eos ? labels[end - 1] : LABEL_NONE;
        memcpy(spare, item->tokens + begin, n * sizeof *spare);
        permute(view, rng, spare, n, item->tokens + begin);
        if (p->shift) {
            memcpy(labels + e->begin, item->tokens + e->begin + 1, (e->places - 1) * sizeof *labels);
            labels[end - 1] = last;
        } else {
            memcpy(labels + e->begin + 1, item->tokens + e->begin + 1, (e->places - 1) * sizeof *labels);
        }
    }
    if (p->ends == ENDS_NEXT && p->shift)
        label_ends(item, labels);
}

static void mask_tokens(const mldf_view *view, struct packed_item *item, struct rng *rng) {
    const struct packed *p = view->packed;
    const struct item_arg *args = view->args;
    double random = args[PACKED_MLM_RANDOM].number, keep = args[PACKED_MLM_KEEP].number;
    int64_t *labels = item->tokens + p->length;
    mldfi_packed_tokens_i64(p, item, item->tokens);
    for (uint32_t i = 0; i < p->length; i++)
        labels[i] = LABEL_NONE;
    for (size_t i = 0; i < item->count; i++) {
        const struct packed_piece *e = &item->pieces[i];
        size_t begin = (size_t)e->begin + e->bos, end = begin + (size_t)e->length;
        for (size_t at = begin; at < end; at++) {
            if (!mldfi_rng_chance(rng, args[PACKED_MLM_P].number))
                continue;
            double kind = mldfi_rng_unit(rng);
            labels[at] = item->tokens[at];
            if (kind < random)
                item->tokens[at] = (int64_t)mldfi_rng_below(rng, p->vocabulary);
            else if (kind >= random + keep)
                item->tokens[at] = (int64_t)args[PACKED_MLM_MASK].number;
        }
    }
}

mldf_status mldfi_packed_objective(const mldf_view *view, struct packed_item *item, mldf_error *err) {
    const struct packed *p = view->packed;
    struct rng rng;
    mldfi_rng_begin(&rng, item->draw, 0, 0, 0);
    if (p->objective == OBJECTIVE_MLM) {
        mask_tokens(view, item, &rng);
        return MLDF_OK;
    }
    mldf_status status = mldfi_buffer_resize(&item->aside, (size_t)p->length * sizeof(int64_t), err);
    if (status >= 0)
        fill_in_the_middle(view, item, &rng, (int64_t *)(void *)item->aside.data);
    return status;
}
