/* What an item of a packed view shows, each straight to its place in a batch. A piece is one widening copy or one run of numbers; nothing is decided
 * token by token.
 *
 *     piece      bos? t0 t1 ... tn eos? | bos? t0 ...      pad pad
 *     labels     t0   t1 ... tn eos? ?  | t0 ...           -100 -100       ?: what follows in the document, -100 at its end (ends=next: in the order)
 *     positions  0 1 2 ...              | 0 1 ...          0 1             paddings are segments of their own
 */
#include <inttypes.h>
#include <string.h>

#include "field/along.h"
#include "field/tokens.h"
#include "field/type.h"
#include "items/packed.h"
#include "kernel/cast.h"
#include "kernel/runs.h"
#include "util/buffer.h"
#include "util/error.h"

/* ---- Numbers of two widths -------------------------------------------------------------------------------------------------------- */

struct numbers {
    uint8_t *data;
    bool wide;
};

static void put(const struct numbers *n, uint64_t at, int64_t value) {
    if (n->wide)
        ((int64_t *)(void *)n->data)[at] = value;
    else
        ((int32_t *)(void *)n->data)[at] = (int32_t)value;
}

static void fill(const struct numbers *n, uint64_t at, uint64_t count, int64_t value) {
    if (n->wide)
        mldfi_run_fill_i64(value, (int64_t *)(void *)n->data + at, (size_t)count);
    else
        mldfi_run_fill_i32((int32_t)value, (int32_t *)(void *)n->data + at, (size_t)count);
}

static void count_up(const struct numbers *n, uint64_t at, uint64_t count, int64_t first) {
    if (n->wide)
        mldfi_run_count_i64(first, (int64_t *)(void *)n->data + at, (size_t)count);
    else
        mldfi_run_count_i32((int32_t)first, (int32_t *)(void *)n->data + at, (size_t)count);
}

static void copy_ids(const struct numbers *n, uint64_t at, mldf_dtype dtype, const uint8_t *ids, uint64_t count) {
    if (count)
        mldfi_convert_elements(dtype, ids, n->wide ? MLDF_I64 : MLDF_I32, n->data + at * (n->wide ? 8 : 4),
                               (size_t)count);
}

/* ---- Tokens and labels ------------------------------------------------------------------------------------------------------------- */

/* Where the gap behind a piece ends: at the next piece, or at the sequence's end. */
static uint64_t gap_end(const struct packed *p, const struct packed_item *item, size_t piece) {
    return piece + 1 < item->count ? item->pieces[piece + 1].begin : p->length;
}

static void put_tokens(const struct packed *p, const struct packed_item *item, const struct numbers *out) {
    for (size_t i = 0; i < item->count; i++) {
        const struct packed_piece *e = &item->pieces[i];
        uint64_t at = e->begin, end = at + e->places;
        if (e->bos)
            put(out, at++, p->bos);
        copy_ids(out, at, e->dtype, e->ids, e->length);
        if (e->eos)
            put(out, end - 1, p->eos);
        fill(out, end, gap_end(p, item, i) - end, p->pad);
    }
}

static int64_t first_of(const struct packed *p, const struct packed_piece *e) {
    return e->bos ? p->bos : e->length ? mldfi_id_at(e->dtype, e->ids, 0) : p->eos;
}

/* The label of a piece's last token. */
static int64_t last_label(const struct packed *p, const struct packed_item *item, size_t piece) {
    const struct packed_piece *e = &item->pieces[piece];
    if (e->more)
        return mldfi_id_at(e->dtype, e->ids, e->length);
    if (e->more_eos)
        return p->eos;
    if (p->ends == ENDS_MASK || !mldfi_packed_ends_document(e))
        return LABEL_NONE;
    return piece + 1 < item->count ? first_of(p, &item->pieces[piece + 1]) : item->following;
}

/* Nobody is to guess a placeholder: the labels that are one. */
static void mask_images(const struct packed *p, const struct packed_item *item, const struct numbers *out) {
    for (size_t i = 0; i < item->image_count; i++) {
        const struct packed_image *e = &item->images[i];
        bool before = p->shift && !e->first;
        fill(out, e->begin - before, e->count - p->shift + before, LABEL_NONE);
    }
}

static void put_labels(const struct packed *p, const struct packed_item *item, const struct numbers *out) {
    for (size_t i = 0; i < item->count; i++) {
        const struct packed_piece *e = &item->pieces[i];
        uint64_t end = e->begin + e->places, skip = !e->bos && e->length;
        copy_ids(out, e->begin, e->dtype, e->ids + skip * mldf_dtype_bytes(e->dtype), e->length - skip);
        if (e->eos && e->places > 1)
            put(out, end - 2, p->eos);
        put(out, end - 1, last_label(p, item, i));
        fill(out, end, gap_end(p, item, i) - end, LABEL_NONE);
    }
    mask_images(p, item, out);
}

/* As models want them that shift by themselves. */
static void put_unshifted(const struct packed *p, const struct packed_item *item, const struct numbers *out) {
    put_tokens(p, item, out);
    for (size_t i = 0; i < item->count; i++) {
        uint64_t end = item->pieces[i].begin + item->pieces[i].places;
        put(out, item->pieces[i].begin, LABEL_NONE);
        fill(out, end, gap_end(p, item, i) - end, LABEL_NONE);
    }
    mask_images(p, item, out);
}

void mldfi_packed_tokens_i64(const struct packed *p, const struct packed_item *item, int64_t *out) {
    put_tokens(p, item, &(struct numbers){(uint8_t *)out, true});
}

void mldfi_packed_labels_i64(const struct packed *p, const struct packed_item *item, int64_t *out) {
    struct numbers to = {(uint8_t *)out, true};
    if (p->shift)
        put_labels(p, item, &to);
    else
        put_unshifted(p, item, &to);
}

/* ---- Where pieces are ---------------------------------------------------------------------------------------------------------------- */

static void put_positions(const struct packed *p, const struct packed_item *item, const struct numbers *out) {
    for (size_t i = 0; i < item->count; i++) {
        const struct packed_piece *e = &item->pieces[i];
        uint64_t end = e->begin + e->places, first = 0;
        if (p->positions == POSITIONS_DOCUMENT) /* bos is the document's place 0 */
            first = e->from + (p->bos >= 0 && !e->bos);
        count_up(out, e->begin, e->places, (int64_t)first);
        count_up(out, end, gap_end(p, item, i) - end, 0);
    }
}

static void put_segments(const struct packed *p, const struct packed_item *item, const struct numbers *out) {
    for (size_t i = 0; i < item->count; i++) {
        const struct packed_piece *e = &item->pieces[i];
        uint64_t end = e->begin + e->places;
        fill(out, e->begin, e->places, (int64_t)i + p->base);
        fill(out, end, gap_end(p, item, i) - end, p->base - 1);
    }
}

/* Of a batch's run without repeats, the entries that a sample does not have, until the batch is finished. The last one is ~total where samples are
 * longer or shorter than the sequence. */
#define CU_NOTHING (-1)

/* True lengths summed up; without alignment the padding at the end is one more. */
static void put_cu(const struct packed *p, const struct packed_item *item, uint64_t width, int32_t *out) {
    int32_t sum = 0, all = (int32_t)p->length;
    size_t count = item->count;
    for (size_t i = 0; i < count; i++) {
        out[i] = sum;
        sum += (int32_t)item->pieces[i].places;
    }
    if (p->cu == CU_RAGGED) {
        mldfi_run_fill_i32(CU_NOTHING, out + count, (size_t)width - count);
        if (p->align > 1)
            out[width - 1] = ~sum;
        else if (sum < all)
            out[count] = sum;
        return;
    }
    out[count] = sum;
    mldfi_run_fill_i32(p->align > 1 ? sum : all, out + count + 1, (size_t)width - count - 1);
}

/* Places. The padding at the end is no document's: where entries repeat, it is behind the last one's. */
static void put_cu_padded(const struct packed *p, const struct packed_item *item, uint64_t width, int32_t *out) {
    const struct packed_piece *last = &item->pieces[item->count - 1];
    size_t count = item->count;
    for (size_t i = 0; i < count; i++)
        out[i] = (int32_t)item->pieces[i].begin;
    if (p->cu == CU_RAGGED) {
        mldfi_run_fill_i32(CU_NOTHING, out + count, (size_t)width - count);
        return;
    }
    out[count] = (int32_t)mldfi_packed_align((uint64_t)last->begin + last->places, p->align);
    mldfi_run_fill_i32((int32_t)p->length, out + count + 1, (size_t)width - count - 1);
}

static int32_t longest(const struct packed *p, const struct packed_item *item) {
    uint64_t most = 0;
    for (size_t i = 0; i < item->count; i++) {
        uint64_t places = mldfi_packed_align(item->pieces[i].places, p->align);
        most = places > most ? places : most;
    }
    const struct packed_piece *last = &item->pieces[item->count - 1];
    uint64_t rest = p->length - last->begin - last->places;
    return (int32_t)(p->align == 1 && rest > most ? rest : most);
}

/* Who looks at whom: inside a segment, and not ahead unless tokens are to be guessed from both sides. A padding is a segment, so that no row of a
 * softmax is empty. */
static void put_mask(const struct packed *p, const struct packed_item *item, uint8_t *out) {
    bool both = p->objective == OBJECTIVE_MLM;
    memset(out, 0, (size_t)p->length * p->length);
    for (size_t i = 0; i < item->count; i++) {
        uint64_t begin = item->pieces[i].begin, end = begin + item->pieces[i].places, gap = gap_end(p, item, i);
        for (uint64_t row = begin; row < gap; row++) {
            uint64_t from = row < end ? begin : end, to = row < end ? end : gap;
            memset(out + row * p->length + from, 1, (size_t)((both ? to : row + 1) - from));
        }
    }
}

/* Placeholders of images that are there. */
static void put_image_mask(const struct packed *p, const struct packed_item *item, uint8_t *out) {
    memset(out, 0, p->length);
    for (size_t i = 0; i < item->image_count; i++)
        if (!item->images[i].null)
            memset(out + item->images[i].begin, 1, item->images[i].count);
}

/* ---- Side columns -------------------------------------------------------------------------------------------------------------------- */

/* A piece's entries of a column from token `from` of its row on. */
static mldf_status read_column(const mldf_view *view, const mldf_reader *reader, const struct packed_column *column,
                               const struct packed_piece *e, mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    size_t field = column->fields[e->reader];
    mldf_status status = mldf_reader_get(reader, e->row, field, scratch, out, err);
    if (status >= 0 && out->kind == MLDF_KIND_NULL)
        status = mldfi_fail(err, MLDF_E_NULL, "it is null, and the tokens of %s are not", view->field);
    uint64_t needed = e->row_from + e->length + e->more;
    if (status >= 0 && (out->kind != MLDF_KIND_ARRAY || (column->spans && (out->ndim != 2 || out->dims[1] != 2))))
        status = mldfi_fail(err, MLDF_E_CORRUPT, "it is not what belongs to the tokens of %s", view->field);
    if (status >= 0 && !column->spans && (out->ndim != 1 || out->dims[0] < needed))
        status = mldfi_fail(err, MLDF_E_CORRUPT, "it has %" PRIu64 " entries, and %" PRIu64 " tokens were expected",
                            out->ndim ? out->dims[0] : 0, needed);
    if (status < 0) {
        mldfi_error_place(err, e->row, column->name);
        return mldfi_reader_name_error(reader, err, status);
    }
    return MLDF_OK;
}

/* Entry of the row's token `at`, into one element; spans: a bool. */
static void put_entries(const struct packed_column *column, const mldf_value *v, uint64_t at, uint64_t count,
                        uint8_t *out) {
    size_t item = mldf_dtype_bytes(column->dtype);
    if (!column->spans) {
        memcpy(out, (const uint8_t *)v->data + at * item, (size_t)count * item);
        return;
    }
    memset(out, 0, (size_t)count);
    for (uint64_t i = 0; i < v->dims[0]; i++) {
        uint64_t begin = (uint64_t)mldfi_id_at(v->dtype, v->data, 2 * i);
        uint64_t end = (uint64_t)mldfi_id_at(v->dtype, v->data, 2 * i + 1);
        begin = begin > at ? begin - at : 0;
        end = end > at ? end - at : 0;
        if (end > count)
            end = count;
        if (begin < end)
            memset(out + begin, 1, (size_t)(end - begin));
    }
}

static uint64_t last_place(const struct packed_piece *e) {
    return (uint64_t)e->begin + e->places - 1;
}

/* Is the label of the piece's last token that of the next piece's first? */
static bool labels_next(const struct packed *p, const struct packed_piece *e) {
    return p->ends == ENDS_NEXT && mldfi_packed_ends_document(e);
}

/* One entry for each token of the sequence. A column is about stored tokens: bos has 0, eos what the last token has. target: the entry of labels[i]'s
 * token is at i, and 0 where there is no label. */
static mldf_status put_column(const mldf_view *view, const mldf_reader *const *readers, const struct packed_item *item,
                              const struct packed_column *column, uint8_t *out, mldf_buffer *scratch, mldf_error *err) {
    const struct packed *p = view->packed;
    size_t size = column->spans ? 1 : mldf_dtype_bytes(column->dtype);
    mldf_status status = MLDF_OK;
    bool shifted = p->target && p->shift && p->objective == OBJECTIVE_CAUSAL;
    memset(out, 0, (size_t)p->length * size);
    for (size_t i = 0; i < item->count && status >= 0; i++) {
        const struct packed_piece *e = &item->pieces[i];
        uint8_t *to = out + (size_t)e->begin * size;
        uint64_t skip = shifted && !e->bos && e->length, more = shifted && e->more, last = last_place(e);
        mldf_value v;
        status = read_column(view, readers[e->reader], column, e, scratch, &v, err);
        if (status < 0)
            break;
        put_entries(column, &v, e->row_from + skip, e->length - skip + more, to + (shifted ? 0 : e->bos * size));
        if (e->row_from + e->length && (e->eos ? !shifted || e->places > 1 : shifted && e->more_eos))
            put_entries(column, &v, e->row_from + e->length - 1, 1,
                        out + (size_t)(shifted && e->eos ? last - 1 : last) * size);
        if (shifted && i && !e->bos && e->length && labels_next(p, e - 1))
            put_entries(column, &v, e->row_from, 1, out + (size_t)last_place(e - 1) * size);
        if (p->target && !p->shift && p->objective == OBJECTIVE_CAUSAL)
            memset(to, 0, size);
    }
    const struct packed_piece *end = &item->pieces[item->count - 1], *next = &item->next;
    if (status >= 0 && shifted && item->following != LABEL_NONE && next->length && labels_next(p, end)) {
        mldf_value v;
        status = read_column(view, readers[next->reader], column, next, scratch, &v, err);
        if (status >= 0)
            put_entries(column, &v, next->row_from, 1, out + (size_t)last_place(end) * size);
    }
    return status;
}

static mldf_status put_loss(const mldf_view *view, const struct packed_item *item, uint8_t *out, mldf_buffer *scratch,
                            mldf_error *err) {
    const struct packed *p = view->packed;
    const int64_t *labels = item->tokens ? item->tokens + p->length : NULL;
    if (!labels) {
        TRY(mldfi_buffer_resize(scratch, (size_t)p->length * 8, err));
        mldfi_packed_labels_i64(p, item, (int64_t *)(void *)scratch->data);
        labels = (const int64_t *)(void *)scratch->data;
    }
    for (uint32_t i = 0; i < p->length; i++)
        out[i] = labels[i] != LABEL_NONE;
    return MLDF_OK;
}

/* ---- One field ------------------------------------------------------------------------------------------------------------------------ */

static void put_documents(const struct packed *p, const struct packed_item *item, int64_t *out) {
    for (size_t i = 0; i < p->most_pieces; i++)
        out[i] = i < item->count ? (int64_t)item->pieces[i].document : -1;
}

static void put_ids(const struct packed *p, const struct packed_item *item, bool labels, const struct numbers *out) {
    if (item->tokens)
        copy_ids(out, 0, MLDF_I64, (const uint8_t *)(item->tokens + (labels ? p->length : 0)), p->length);
    else if (!labels)
        put_tokens(p, item, out);
    else if (p->shift)
        put_labels(p, item, out);
    else
        put_unshifted(p, item, out);
}

mldf_status mldfi_item_compute(const mldf_view *view, const mldf_reader *const *readers, const struct item_place *place,
                               size_t field, struct item_cache *cache, void *dst, mldf_error *err) {
    const struct packed *p = view->packed;
    const struct packed_field *f = &p->fields[field];
    struct packed_item *item;
    TRY(mldfi_packed_gather(view, readers, place, cache, &item, err));
    struct numbers out = {dst, p->wide}, narrow = {dst, false};
    uint64_t width = (uint64_t)p->most_pieces + (p->cu == CU_ROWS ? 2 : 1);
    switch (f->kind) {
    case KIND_TOKENS:
    case KIND_LABELS:
        put_ids(p, item, f->kind == KIND_LABELS, &out);
        break;
    case KIND_POSITIONS:
        put_positions(p, item, &out);
        break;
    case KIND_SEGMENTS:
        put_segments(p, item, &narrow);
        break;
    case KIND_CU:
        put_cu(p, item, width, dst);
        break;
    case KIND_CU_PADDED:
        put_cu_padded(p, item, width, dst);
        break;
    case KIND_MAX:
        *(int32_t *)dst = view->args[PACKED_MAX].number == MAX_LENGTH ? (int32_t)p->length : longest(p, item);
        break;
    case KIND_DOCUMENTS:
        put_documents(p, item, dst);
        break;
    case KIND_MASK:
        put_mask(p, item, dst);
        break;
    case KIND_IMAGE_MASK:
        put_image_mask(p, item, dst);
        break;
    case KIND_PARTS:
        return mldfi_fail(err, MLDF_E_TYPE, "%s is parts of any size, not an array", view->field);
    case KIND_LOSS:
        return put_loss(view, item, dst, &cache->aside, err);
    default:
        return put_column(view, readers, item, &p->columns[f->column], dst, &cache->aside, err);
    }
    return MLDF_OK;
}

mldf_status mldfi_item_computed(const mldf_view *view, const mldf_reader *const *readers,
                                const struct item_place *place, size_t field, bool record, struct item_cache *cache,
                                mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    const mldf_field *info = &view->schema->fields[field].info;
    if (view->packed->fields[field].kind == KIND_PARTS) {
        struct packed_item *item;
        mldf_status status = mldfi_packed_gather(view, readers, place, cache, &item, err);
        return status < 0 ? status
                          : mldfi_packed_parts_value(view, readers, item, field, &cache->aside, scratch, out, err);
    }
    *out = (mldf_value){.kind = MLDF_KIND_ARRAY, .dtype = info->dtype, .ndim = info->ndim};
    out->bytes = mldf_dtype_bytes(info->dtype);
    for (uint32_t i = 0; i < info->ndim; i++) {
        out->dims[i] = (uint64_t)info->dims[i];
        out->bytes *= out->dims[i];
    }
    if (record)
        return MLDF_OK;
    mldf_status status = mldfi_buffer_resize(scratch, (size_t)out->bytes, err);
    out->data = scratch->data;
    return status < 0 ? status : mldfi_item_compute(view, readers, place, field, cache, scratch->data, err);
}

bool mldfi_item_is_default(const mldf_view *view, size_t field) {
    return field < view->packed->default_count;
}

void mldfi_item_run(const mldf_view *view, size_t field, struct item_run *out) {
    const struct packed *p = view->packed;
    enum packed_kind kind = p->fields[field].kind;
    *out = (struct item_run){0, false, p->cu == CU_RAGGED};
    if (p->cu == CU_ROWS || (kind != KIND_CU && kind != KIND_CU_PADDED))
        return;
    out->each = p->length;
    out->own = kind == KIND_CU && p->align > 1;
}

void mldfi_item_run_finish(const struct item_run *run, int32_t *data, size_t samples, size_t width, size_t *count) {
    int32_t base = 0;
    size_t to = 0;
    for (size_t i = 0; i < samples; i++) {
        const int32_t *from = data + i * width;
        int32_t last = from[width - 1];
        for (size_t k = 0; k < width; k++)
            if (from[k] >= 0)
                data[to++] = base + from[k]; /* never ahead of what is still to be read */
        base += !run->own ? (int32_t)run->each : last < CU_NOTHING ? ~last : last;
    }
    data[to++] = base;
    *count = to;
}
