/* expand(field, every=, length=, last=pad, unit=): all of a row, piece by piece.
 *
 *   row of n steps    |------------- n -------------|
 *   pieces            |---L---|                          a piece begins at every multiple of `every` that is before the end, so nothing is left out
 *                         |---L---|  ...         |--:0|  unless every > length; the last ones may be short:
 *   last              pad: zeros up to the length; keep: as short as they are; drop: left out
 *
 * In seconds, piece k begins at round(k * every * rate), so pieces never drift. */
#include "items/items.h"
#include "util/error.h"

__extension__ typedef unsigned __int128 wide;
#define NANO UINT64_C(1000000000)

enum { EVERY, LENGTH, LAST, UNIT };
enum { LAST_PAD, LAST_KEEP, LAST_DROP };
static const char *const lasts[] = {"pad", "keep", "drop", NULL};
static const char *const units[] = {"auto", "seconds", "steps", NULL};
static const struct item_param params[] = {
    {"every", ITEM_NUMBER, NULL, .needed = false},
    {"length", ITEM_NUMBER, NULL, .needed = false},
    {"last", ITEM_CHOICE, lasts, .needed = false},
    {"unit", ITEM_CHOICE, units, .needed = false},
    {0},
};

static uint64_t begin_of(const mldf_view *view, uint64_t k, uint32_t rate) {
    double every = view->args[EVERY].number;
    return view->seconds ? mldfi_item_steps(k, mldfi_item_nanos(every), rate) : k * (uint64_t)every;
}

/* The pieces that begin before `end` > 0: the least k for which begin_of is not. In seconds that is round(k * nanos * rate / 10^9) >= end, so
 * k * 2 * nanos * rate >= 10^9 * (2 * end - 1): of numbers that a file may choose nothing is searched for, and nothing wraps. */
static uint64_t pieces_before(const mldf_view *view, uint64_t end, uint32_t rate) {
    wide all = end, each = (uint64_t)view->args[EVERY].number;
    if (view->seconds) {
        all = NANO * (2 * (wide)end - 1);
        each = 2 * (wide)mldfi_item_nanos(view->args[EVERY].number) * rate;
    }
    wide pieces = (all + each - 1) / each;
    return pieces > MLDF_NONE ? MLDF_NONE : (uint64_t)pieces;
}

static uint64_t count_pieces(const mldf_view *view, struct row_steps row) {
    if (row.steps == MLDF_NONE)
        return 1;
    uint64_t length = mldfi_item_length(view->args[LENGTH].number, view->seconds, row.rate);
    if (row.steps == 0 || length == 0 || (view->seconds && view->args[EVERY].number * row.rate < 1))
        return 0;
    if (view->args[LAST].number == LAST_DROP)
        return row.steps < length ? 0 : pieces_before(view, row.steps - length + 1, row.rate);
    return pieces_before(view, row.steps, row.rate);
}

static mldf_status open_expand(mldf_view *view, mldf_error *err) {
    struct item_arg *args = view->args;
    mldf_status status = mldfi_view_unit(view, &args[UNIT], &view->seconds, err);
    if (status >= 0 && !args[EVERY].given && !args[LENGTH].given)
        status = mldfi_fail(err, MLDF_E_ARGUMENT, "view expand: neither every nor length is given");
    if (!args[LENGTH].given)
        args[LENGTH].number = args[EVERY].number;
    if (!args[EVERY].given)
        args[EVERY].number = args[LENGTH].number;
    if (status >= 0)
        status = mldfi_view_check_length("every", args[EVERY].number, view->seconds, err);
    if (status >= 0)
        status = mldfi_view_check_length("length", args[LENGTH].number, view->seconds, err);
    if (status >= 0)
        status = mldfi_row_table_make(view, count_pieces, err);
    for (size_t i = 1; i <= view->reader_count && status >= 0; i++)
        view->first_item[i] = view->first_row[i] == view->table.rows
                                  ? view->table.count
                                  : mldfi_row_table_first(&view->table, view->first_row[i]);
    return status;
}

static void locate(const mldf_view *view, struct item_place *out) {
    uint64_t k;
    struct row_steps row = mldfi_view_locate_row(view, out, &k);
    if (out->odd)
        return;
    out->steps = mldfi_item_length(view->args[LENGTH].number, view->seconds, row.rate);
    out->from = begin_of(view, k, row.rate);
    uint64_t left = row.steps - out->from;
    out->have = left < out->steps ? left : out->steps;
    if (view->args[LAST].number == LAST_KEEP)
        out->steps = out->have;
}

static void edge(const mldf_view *view, struct edge *out) {
    mldfi_view_set_length(out, view->args[LENGTH].number, view->seconds, view->args[LAST].number != LAST_KEEP);
}

const struct item_map mldfi_view_expand = {
    .name = "expand",
    .params = params,
    .cuts = true,
    .version = 1,
    .open = open_expand,
    .locate = locate,
    .items = mldfi_view_row_items,
    .edge = edge,
};
