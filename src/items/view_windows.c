/* windows(field, length, stride=length, random=false, across=false, unit=): pieces of one length.
 *
 *   row of n steps    |--------- n ---------|
 *   windows           |-L-|-L-|-L-|-L-| rest     as many as are whole: (n - L) / stride + 1; the rest, and rows shorter than L, give none
 *   random            as many, but each begins anywhere in its row, drawn from (seed, epoch, position)
 *   across            the rows of a file are one stream: a window may begin in one row and end in a later one; rows that are null are left out.
 *                     Streams of different files are never joined */
#include "items/items.h"
#include "util/error.h"

__extension__ typedef unsigned __int128 wide;

enum { LENGTH, STRIDE, RANDOM, ACROSS, UNIT };
static const char *const units[] = {"auto", "seconds", "steps", NULL};
static const struct item_param params[] = {
    {"length", ITEM_NUMBER, NULL, .needed = true}, {"stride", ITEM_NUMBER, NULL, .needed = false},
    {"random", ITEM_FLAG, NULL, .needed = false},  {"across", ITEM_FLAG, NULL, .needed = false},
    {"unit", ITEM_CHOICE, units, .needed = false}, {0},
};

static uint64_t windows_of(const mldf_view *view, uint64_t steps, uint32_t rate) {
    uint64_t length = mldfi_item_length(view->args[LENGTH].number, view->seconds, rate);
    uint64_t stride = mldfi_item_length(view->args[STRIDE].number, view->seconds, rate);
    return length == 0 || steps < length ? 0 : (steps - length) / (stride ? stride : 1) + 1;
}

static uint64_t count_windows(const mldf_view *view, struct row_steps row) {
    return row.steps == MLDF_NONE ? 1 : windows_of(view, row.steps, row.rate);
}

static uint64_t count_steps(const mldf_view *view, struct row_steps row) {
    (void)view;
    return row.steps == MLDF_NONE ? 0 : row.steps;
}

/* Where the steps of a reader begin in the table of an `across` view. */
static uint64_t first_step(const mldf_view *view, size_t reader) {
    return view->first_row[reader] == view->table.rows ? view->table.count
                                                       : mldfi_row_table_first(&view->table, view->first_row[reader]);
}

static mldf_status count_items(mldf_view *view, mldf_error *err) {
    bool across = view->args[ACROSS].number != 0;
    if (across && view->seconds)
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "view windows: across is for arrays; recordings are cut each by itself");
    TRY(mldfi_row_table_make(view, across ? count_steps : count_windows, err));
    for (size_t i = 1; i <= view->reader_count; i++)
        view->first_item[i] =
            across ? view->first_item[i - 1] + windows_of(view, first_step(view, i) - first_step(view, i - 1), 0)
                   : first_step(view, i);
    return MLDF_OK;
}

static mldf_status open_windows(mldf_view *view, mldf_error *err) {
    struct item_arg *args = view->args;
    mldf_status status = mldfi_view_unit(view, &args[UNIT], &view->seconds, err);
    if (status >= 0)
        status = mldfi_view_check_length("length", args[LENGTH].number, view->seconds, err);
    if (!args[STRIDE].given)
        args[STRIDE].number = args[LENGTH].number;
    if (status >= 0)
        status = mldfi_view_check_length("stride", args[STRIDE].number, view->seconds, err);
    view->random = args[RANDOM].number != 0;
    return status < 0 ? status : count_items(view, err);
}

/* Where in [0, spare] a random window begins. */
static uint64_t place_of(uint64_t draw, uint64_t spare) {
    return (uint64_t)((wide)draw * ((wide)spare + 1) >> 64);
}

static void locate_across(const mldf_view *view, struct item_place *out) {
    size_t reader = 0;
    while (out->item >= view->first_item[reader + 1])
        reader++;
    uint64_t length = (uint64_t)view->args[LENGTH].number, begin = first_step(view, reader);
    uint64_t at = (out->item - view->first_item[reader]) * (uint64_t)view->args[STRIDE].number;
    if (view->random)
        at = place_of(out->draw, first_step(view, reader + 1) - begin - length);
    uint64_t row = mldfi_row_table_find(&view->table, begin + at, &out->from);
    uint64_t left = mldfi_row_table_steps(&view->table, row).steps - out->from;
    out->reader = (uint32_t)reader;
    out->row = row - view->first_row[reader];
    out->have = left < length ? left : length;
    out->steps = length;
    out->several = left < length;
}

static void locate(const mldf_view *view, struct item_place *out) {
    uint64_t k;
    if (view->args[ACROSS].number != 0) {
        locate_across(view, out);
        return;
    }
    struct row_steps row = mldfi_view_locate_row(view, out, &k);
    if (out->odd)
        return;
    out->steps = out->have = mldfi_item_length(view->args[LENGTH].number, view->seconds, row.rate);
    out->from = view->random ? place_of(out->draw, row.steps - out->steps)
                             : k * mldfi_item_length(view->args[STRIDE].number, view->seconds, row.rate);
}

/* The rows behind the first one, as far as the window goes. */
static bool piece(const mldf_view *view, const struct item_place *place, size_t index, mldf_piece *out) {
    uint64_t row = view->first_row[place->reader] + place->row, have = place->have;
    while (index > 0 && have < place->steps) {
        uint64_t steps = mldfi_row_table_steps(&view->table, ++row).steps, left = place->steps - have;
        if (steps == MLDF_NONE || steps == 0)
            continue;
        *out = (mldf_piece){place->reader, row - view->first_row[place->reader], 0, steps < left ? steps : left};
        have += out->length;
        index--;
    }
    return index == 0;
}

/* across: those whose first step is in the row. */
static void items(const mldf_view *view, uint64_t row, uint64_t *first, uint64_t *count) {
    if (view->args[ACROSS].number == 0) {
        mldfi_view_row_items(view, row, first, count);
        return;
    }
    uint64_t own = row, stride = (uint64_t)view->args[STRIDE].number;
    uint32_t reader = mldfi_view_reader_of(view, &own);
    uint64_t base = first_step(view, reader), most = mldf_view_count_of(view, reader);
    uint64_t begin = (mldfi_row_table_first(&view->table, row) - base + stride - 1) / stride;
    uint64_t end = (mldfi_row_table_end(&view->table, row) - base + stride - 1) / stride;
    *first = view->first_item[reader] + (begin < most ? begin : most);
    *count = view->first_item[reader] + (end < most ? end : most) - *first;
}

static void edge(const mldf_view *view, struct edge *out) {
    mldfi_view_set_length(out, view->args[LENGTH].number, view->seconds, true);
}

const struct item_map mldfi_view_windows = {
    .name = "windows",
    .params = params,
    .cuts = true,
    .version = 1,
    .open = open_windows,
    .locate = locate,
    .piece = piece,
    .items = items,
    .edge = edge,
};
