/* steps(group, windows="a=0,1,2;b=-1,0;cam=-0.1s,0s", time=, edge=clamp, tolerance=, drop_last=): rows with their history and future.
 *
 *   rows            |--- group 0 ---|-- group 1 --| ...      a group is a run of rows with one value in the column `group`; files are never joined
 *   an item             r                                    for each row; windows: rows r + offset, or the row at time(r) + offset seconds
 *   edge            a row outside the group: clamp: the group's first or last one; zero: zeros; drop: no such item; error
 *   drop_last       the last rows of each group give no items
 *
 * Times: the row of the group whose time is nearest, which must be within the tolerance. The group's video is in its first row: its frames are found by
 * the time since that row. Making a view looks at the columns `group` and `time` of every row once. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "field/type.h"
#include "items/steps.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/number.h"

enum { GROUP, WINDOWS, TIME, EDGE, TOLERANCE, DROP_LAST };
static const char *const edges[] = {"clamp", "zero", "drop", "error", NULL};
static const struct item_param params[] = {
    {"group", ITEM_NAME, NULL, .needed = true},
    {"windows", ITEM_NAME, NULL, .needed = true},
    {"time", ITEM_NAME, NULL, .quiet = true},
    {"edge", ITEM_CHOICE, edges, .needed = false},
    {"tolerance", ITEM_NUMBER, NULL, .needed = false},
    {"drop_last", ITEM_NUMBER, NULL, .needed = false},
    {0},
};

/* ---- Windows as text ------------------------------------------------------------------------------------------------------------- */

static mldf_status wrong(const char *text, size_t at, const char *what, mldf_error *err) {
    return mldfi_fail(
        err, MLDF_E_SYNTAX,
        "view steps, windows: %s is needed at byte %zu of \"%.200s\"; they are FIELD=OFFSET,OFFSET;FIELD=...", what, at,
        text);
}

static mldf_status take_offset(const char *text, const char **at, struct steps_field *f, mldf_error *err) {
    const char *end = *at;
    while (*end && *end != ',' && *end != ';')
        end++;
    size_t bytes = (size_t)(end - *at);
    bool seconds = bytes && end[-1] == 's';
    double number;
    if (!mldfi_parse_double(*at, bytes - seconds, &number) || !isfinite(number) || fabs(number) > 1e9)
        return wrong(text, (size_t)(*at - text), "a number", err);
    if (!seconds && number != floor(number))
        return wrong(text, (size_t)(*at - text), "a whole number of rows, or seconds with an s,", err);
    if (f->count && f->seconds != seconds)
        return wrong(text, (size_t)(*at - text), "an offset like the ones before it, all rows or all seconds,", err);
    if (f->count == STEPS_OFFSETS)
        return mldfi_fail(err, MLDF_E_LIMIT, "view steps: more than %d offsets of field %s", STEPS_OFFSETS, f->name);
    double *grown = realloc(f->offsets, (f->count + 1) * sizeof *grown);
    if (!grown)
        return mldfi_fail_memory(err, sizeof *grown);
    f->offsets = grown;
    f->offsets[f->count++] = number;
    f->seconds = seconds;
    *at = end;
    return MLDF_OK;
}

static mldf_status take_field(struct steps *s, const char *text, const char **at, mldf_error *err) {
    const char *equals = strchr(*at, '=');
    if (!equals || equals == *at)
        return wrong(text, (size_t)(*at - text), "FIELD=", err);
    struct steps_field *grown = realloc(s->fields, (s->count + 1) * sizeof *grown);
    if (!grown)
        return mldfi_fail_memory(err, sizeof *grown);
    s->fields = grown;
    struct steps_field *f = &s->fields[s->count++];
    *f = (struct steps_field){.name = mldfi_copy_text(*at, (size_t)(equals - *at), err)};
    if (!f->name)
        return MLDF_E_MEMORY;
    for (size_t i = 0; i + 1 < s->count; i++)
        if (strcmp(s->fields[i].name, f->name) == 0)
            return mldfi_fail(err, MLDF_E_ARGUMENT, "view steps: field %s is named twice", f->name);
    *at = equals + 1;
    for (;;) {
        TRY(take_offset(text, at, f, err));
        if (**at != ',')
            return MLDF_OK;
        ++*at;
    }
}

static mldf_status parse_windows(struct steps *s, const char *text, mldf_error *err) {
    const char *at = text;
    mldf_status status = MLDF_OK;
    while (status >= 0 && *at) {
        status = take_field(s, text, &at, err);
        if (*at == ';')
            at++;
    }
    return status < 0 || s->count ? status : wrong(text, 0, "a field", err);
}

/* ---- Fields ---------------------------------------------------------------------------------------------------------------------- */

static mldf_status bind_field(const mldf_view *view, struct steps_field *f, mldf_error *err) {
    f->fields = mldfi_alloc_zero(view->reader_count, sizeof *f->fields, err);
    if (!f->fields)
        return MLDF_E_MEMORY;
    for (size_t r = 0; r < view->reader_count; r++) {
        const mldf_schema *schema = mldf_reader_schema(view->readers[r]);
        struct edge edge = {0};
        mldf_status status = mldf_schema_find(schema, f->name, &f->fields[r], err);
        if (status < 0)
            return mldfi_reader_name_error(view->readers[r], err, status);
        const struct schema_field *its = &schema->fields[f->fields[r]];
        bool known = its->type && its->type->edge && its->type->edge(its, NULL, &edge, NULL) >= 0;
        bool video = known && edge.kind == VALUE_ENCODED && edge.video;
        uint64_t bytes = mldf_dtype_bytes(edge.dtype);
        for (uint32_t i = 0; known && !video && i < edge.ndim; i++)
            known = edge.dims[i] >= 0 && mldfi_mul_u64(bytes, (uint64_t)edge.dims[i], &bytes);
        bool fits = known && (video || (edge.kind == VALUE_ARRAY && edge.ndim < MLDF_MAX_DIMS && bytes < (1u << 30)));
        if (!fits || (r && (f->video != video || (!video && (f->dtype != edge.dtype || f->bytes != bytes)))))
            return mldfi_fail(
                err, MLDF_E_TYPE,
                "view steps: field %s is %s %s; numbers, arrays of one shape, and videos in the group's first "
                "row can have windows",
                f->name, its->info.type_name, its->info.arguments);
        f->video = video;
        f->dtype = edge.dtype;
        f->bytes = video ? 0 : (size_t)bytes;
    }
    if (f->video && f->count > STEPS_FRAMES)
        return mldfi_fail(err, MLDF_E_LIMIT, "view steps: %" PRIu32 " frames of video %s; %d are the most", f->count,
                          f->name, STEPS_FRAMES);
    return MLDF_OK;
}

/* ---- Columns --------------------------------------------------------------------------------------------------------------------- */

static mldf_status number_of(const mldf_reader *reader, uint64_t row, size_t field, mldf_buffer *scratch, bool whole,
                             double *real, int64_t *integer, mldf_error *err) {
    mldf_value v;
    TRY(mldf_reader_get(reader, row, field, scratch, &v, err));
    bool one =
        v.kind == MLDF_KIND_ARRAY && v.bytes == mldf_dtype_bytes(v.dtype) && v.data; /* [1] of LeRobot's tables */
    *integer = v.kind == MLDF_KIND_INT || v.kind == MLDF_KIND_UINT ? v.as.i : 0;
    *real = v.kind == MLDF_KIND_FLOAT ? v.as.f : (double)*integer;
    if (one && v.dtype == MLDF_I64) {
        memcpy(integer, v.data, 8);
        *real = (double)*integer;
    } else if (one && !whole && v.dtype == MLDF_F64) {
        memcpy(real, v.data, 8);
    } else if (one && !whole && v.dtype == MLDF_F32) {
        float small;
        memcpy(&small, v.data, 4);
        *real = small;
    } else if (v.kind != MLDF_KIND_INT && v.kind != MLDF_KIND_UINT && (whole || v.kind != MLDF_KIND_FLOAT)) {
        mldfi_fail(err, MLDF_E_TYPE, "view steps: a row has no %s here", whole ? "integer" : "number");
        mldfi_error_place(err, row, NULL);
        return mldfi_reader_name_error(reader, err, MLDF_E_TYPE);
    }
    return MLDF_OK;
}

/* Where each run of equal numbers begins. */
static mldf_status find_groups(mldf_view *view, struct steps *s, mldf_error *err) {
    const char *name = view->args[GROUP].name;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    size_t capacity = 0;
    mldf_status status = MLDF_OK;
    for (size_t r = 0; r < view->reader_count && status >= 0; r++) {
        size_t field;
        int64_t last = 0, now;
        double unused;
        uint64_t rows = mldf_reader_sample_count(view->readers[r]);
        status = mldf_schema_find(mldf_reader_schema(view->readers[r]), name, &field, err);
        for (uint64_t row = 0; row < rows && status >= 0; row++, last = now) {
            status = number_of(view->readers[r], row, field, &scratch, true, &unused, &now, err);
            if (status < 0 || (row && now == last))
                continue;
            status = mldfi_array_reserve(&s->starts, &capacity, s->group_count + 2, sizeof *s->starts, err);
            if (status >= 0)
                s->starts[s->group_count++] = view->first_row[r] + row;
        }
    }
    if (status >= 0)
        status = mldfi_array_reserve(&s->starts, &capacity, s->group_count + 1, sizeof *s->starts, err);
    if (status >= 0)
        s->starts[s->group_count] = view->first_row[view->reader_count];
    mldf_buffer_free(&scratch);
    return status;
}

static mldf_status read_times(mldf_view *view, struct steps *s, mldf_error *err) {
    const char *name = view->args[TIME].name ? view->args[TIME].name : "timestamp";
    bool needed = false;
    for (size_t i = 0; i < s->count; i++)
        needed = needed || s->fields[i].seconds || s->fields[i].video;
    uint64_t rows = view->first_row[view->reader_count];
    if (!needed)
        return MLDF_OK;
    if (rows > SIZE_MAX / 16 || !(s->times = mldfi_alloc_zero((size_t)rows + 1, sizeof *s->times, err)))
        return MLDF_E_MEMORY;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_status status = MLDF_OK;
    for (size_t r = 0; r < view->reader_count && status >= 0; r++) {
        size_t field;
        int64_t unused;
        status = mldf_schema_find(mldf_reader_schema(view->readers[r]), name, &field, err);
        for (uint64_t row = 0; status >= 0 && row < mldf_reader_sample_count(view->readers[r]); row++)
            status = number_of(view->readers[r], row, field, &scratch, false, &s->times[view->first_row[r] + row],
                               &unused, err);
    }
    mldf_buffer_free(&scratch);
    for (size_t g = 0; g < s->group_count && status >= 0; g++)
        for (uint64_t row = s->starts[g]; row < s->starts[g + 1]; row++)
            if (!isfinite(s->times[row]))
                return mldfi_fail(err, MLDF_E_RANGE, "view steps: row %" PRIu64 " has time %g", row, s->times[row]);
            else if (row > s->starts[g] && !(s->times[row] > s->times[row - 1]))
                return mldfi_fail(err, MLDF_E_RANGE,
                                  "view steps: row %" PRIu64 " has time %g, which is not after %g of the row before it",
                                  row, s->times[row], s->times[row - 1]);
    return status;
}

/* ---- Rows ------------------------------------------------------------------------------------------------------------------------ */

struct group {
    uint64_t first, end;
};

static struct group group_of(const struct steps *s, uint64_t row) {
    size_t low = 0, high = s->group_count; /* starts[low] <= row < starts[high] */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (s->starts[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    return (struct group){s->starts[low], s->starts[low + 1]};
}

/* The group's row whose time is nearest to t. */
static uint64_t nearest(const struct steps *s, struct group g, double t) {
    uint64_t low = g.first, high = g.end; /* all before `low` are before t, those from `high` on are not */
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (s->times[middle] < t)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == g.end || (low > g.first && t - s->times[low - 1] <= s->times[low] - t))
        low--;
    return low;
}

/* The row that offset k of a field means, held to the group; *pad: it lies outside. MLDF_E_RANGE: no row has that time. */
static mldf_status row_at(const struct steps *s, const struct steps_field *f, struct group g, uint64_t anchor,
                          uint32_t k, uint64_t *row, bool *pad, mldf_error *err) {
    double offset = f->offsets[k];
    if (!f->seconds) {
        int64_t at = (int64_t)anchor + (int64_t)offset;
        *pad = at < (int64_t)g.first || at >= (int64_t)g.end;
        *row = at < (int64_t)g.first ? g.first : at >= (int64_t)g.end ? g.end - 1 : (uint64_t)at;
        return MLDF_OK;
    }
    double t = s->times[anchor] + offset;
    *pad = t < s->times[g.first] - s->tolerance || t > s->times[g.end - 1] + s->tolerance;
    *row = nearest(s, g, t);
    if (*pad || fabs(s->times[*row] - t) <= s->tolerance)
        return MLDF_OK;
    return mldfi_fail(err, MLDF_E_RANGE,
                      "field %s: no row at %.9g s (row %" PRIu64 " and %.9g s); the nearest, row %" PRIu64
                      ", is at %.9g s",
                      f->name, t, anchor, offset, *row, s->times[*row]);
}

/* Are all windows of a row inside its group? */
static mldf_status is_inside(const struct steps *s, struct group g, uint64_t anchor, bool *out, mldf_error *err) {
    *out = true;
    for (size_t i = 0; i < s->count && *out; i++)
        for (uint32_t k = 0; k < s->fields[i].count && *out; k++) {
            uint64_t row;
            bool pad;
            TRY(row_at(s, &s->fields[i], g, anchor, k, &row, &pad, err));
            *out = !pad;
        }
    return MLDF_OK;
}

/* The rows of each group that give items: one run. */
static mldf_status count_items(mldf_view *view, struct steps *s, uint64_t drop_last, mldf_error *err) {
    s->items = mldfi_alloc_zero(s->group_count + 1, sizeof *s->items, err);
    s->anchors = mldfi_alloc_zero(s->group_count + 1, sizeof *s->anchors, err);
    if (!s->items || !s->anchors)
        return MLDF_E_MEMORY;
    for (size_t i = 0; i < s->group_count; i++) {
        struct group g = {s->starts[i], s->starts[i + 1]};
        uint64_t end = g.end - g.first > drop_last ? g.end - drop_last : g.first, first = g.first;
        bool inside = s->edge != STEPS_DROP;
        mldf_status status = MLDF_OK;
        for (; !inside && first < end && status >= 0; first += !inside)
            status = is_inside(s, g, first, &inside, err);
        for (inside = s->edge != STEPS_DROP; !inside && end > first && status >= 0; end -= !inside)
            status = is_inside(s, g, end - 1, &inside, err);
        if (status < 0)
            return status;
        s->anchors[i] = first;
        s->items[i + 1] = s->items[i] + (end - first);
        view->empty_rows += g.end - g.first - (end - first);
    }
    for (size_t r = 0, i = 0; r <= view->reader_count; r++) {
        while (i < s->group_count && s->starts[i] < view->first_row[r])
            i++;
        view->first_item[r] = s->items[i];
    }
    return MLDF_OK;
}

/* ---- The map --------------------------------------------------------------------------------------------------------------------- */

static mldf_status open_steps(mldf_view *view, mldf_error *err) {
    struct item_arg *args = view->args;
    struct steps *s = view->steps = mldfi_alloc_zero(1, sizeof *s, err);
    if (!s)
        return MLDF_E_MEMORY;
    if (!args[TOLERANCE].given)
        args[TOLERANCE].number = 1e-4;
    s->edge = (int)args[EDGE].number;
    s->tolerance = args[TOLERANCE].number;
    if (!(s->tolerance >= 0 && s->tolerance < 1e6))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "view steps: tolerance is %g seconds", s->tolerance);
    double drop = args[DROP_LAST].number;
    if (!(drop >= 0 && drop <= 0x1p40 && drop == floor(drop)))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "view steps: drop_last is %g; a whole number of rows is needed", drop);
    mldf_status status = parse_windows(s, args[WINDOWS].name, err);
    for (size_t i = 0; i < s->count && status >= 0; i++)
        status = bind_field(view, &s->fields[i], err);
    if (status >= 0)
        status = find_groups(view, s, err);
    if (status >= 0)
        status = read_times(view, s, err);
    if (status >= 0)
        status = count_items(view, s, (uint64_t)drop, err);
    if (status < 0)
        return status;
    XXH128_canonical_t hash;
    XXH128_canonicalFromHash(&hash, XXH3_128bits(s->starts, (s->group_count + 1) * sizeof *s->starts));
    memcpy(view->digest, hash.digest, sizeof view->digest);
    return MLDF_OK;
}

static void free_steps(mldf_view *view) {
    struct steps *s = view->steps;
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++) {
        free(s->fields[i].name);
        free(s->fields[i].offsets);
        free(s->fields[i].fields);
    }
    free(s->fields);
    free(s->starts);
    free(s->items);
    free(s->anchors);
    free(s->times);
    free(s);
}

static void locate(const mldf_view *view, struct item_place *out) {
    const struct steps *s = view->steps;
    size_t low = 0, high = s->group_count; /* items[low] <= item < items[high] */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (s->items[middle] <= out->item)
            low = middle;
        else
            high = middle;
    }
    out->row = s->anchors[low] + (out->item - s->items[low]);
    out->reader = mldfi_view_reader_of(view, &out->row);
    out->have = out->steps = 1;
}

static void items(const mldf_view *view, uint64_t row, uint64_t *first, uint64_t *count) {
    const struct steps *s = view->steps;
    size_t low = 0, high = s->group_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (s->starts[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    uint64_t length = s->items[low + 1] - s->items[low];
    bool there = row >= s->anchors[low] && row - s->anchors[low] < length;
    *count = there;
    *first = there ? s->items[low] + (row - s->anchors[low]) : s->items[low + 1];
}

size_t mldfi_steps_find(const mldf_view *view, const char *name) {
    for (size_t i = 0; view->steps && i < view->steps->count; i++)
        if (strcmp(view->steps->fields[i].name, name) == 0)
            return i;
    return SIZE_MAX;
}

static item_mode mode(const mldf_view *view, const char *field) {
    size_t at = mldfi_steps_find(view, field);
    return at == SIZE_MAX || view->steps->fields[at].video ? ITEM_ANCHOR : ITEM_STACK;
}

const struct item_map mldfi_view_steps = {
    .name = "steps",
    .params = params,
    .version = 1,
    .open = open_steps,
    .locate = locate,
    .items = items,
    .mode = mode,
    .free = free_steps,
};

/* ---- Values ---------------------------------------------------------------------------------------------------------------------- */

void mldfi_steps_edge(const mldf_view *view, size_t field, struct edge *edge) {
    const struct steps_field *f = &view->steps->fields[field];
    if (f->video) {
        edge->timed = false;
        mldfi_edge_fix(edge, 0, f->count);
        return;
    }
    memmove(edge->dims + 1, edge->dims, (MLDF_MAX_DIMS - 1) * sizeof edge->dims[0]);
    memmove(edge->most + 1, edge->most, (MLDF_MAX_DIMS - 1) * sizeof edge->most[0]);
    edge->ndim++;
    mldfi_edge_fix(edge, 0, f->count);
    mldfi_edge_unname(edge);
    edge->role = ROLE_NONE;
}

static mldf_status outside(const struct steps *s, const struct steps_field *f, uint64_t anchor, uint32_t k, bool pad,
                           mldf_error *err) {
    if (!pad || s->edge != STEPS_ERROR)
        return MLDF_OK;
    return mldfi_fail(err, MLDF_E_RANGE, "field %s: row %" PRIu64 " and %.9g %s are outside the group", f->name, anchor,
                      f->offsets[k], f->seconds ? "s" : "rows");
}

/* A number as an element; an array's elements. */
static mldf_status copy_value(const mldf_value *v, const struct steps_field *f, uint8_t *to, mldf_error *err) {
    float small = (float)(v->kind == MLDF_KIND_FLOAT ? v->as.f : 0);
    if (v->kind == MLDF_KIND_ARRAY && v->bytes == f->bytes && v->dtype == f->dtype)
        memcpy(to, v->data, f->bytes);
    else if ((v->kind == MLDF_KIND_INT || v->kind == MLDF_KIND_UINT) && f->bytes <= 8)
        memcpy(to, &v->as.u, f->bytes); /* little-endian: the lower bytes */
    else if (v->kind == MLDF_KIND_FLOAT && f->dtype == MLDF_F64)
        memcpy(to, &v->as.f, 8);
    else if (v->kind == MLDF_KIND_FLOAT && f->dtype == MLDF_F32)
        memcpy(to, &small, 4);
    else
        return mldfi_fail(err, MLDF_E_CORRUPT, "a value of another type or shape than its field has");
    return MLDF_OK;
}

mldf_status mldfi_steps_value(const mldf_view *view, const mldf_reader *const *readers, const struct item_place *place,
                              size_t field, bool record, struct item_cache *cache, mldf_buffer *scratch,
                              mldf_value *out, mldf_error *err) {
    const struct steps *s = view->steps;
    const struct steps_field *f = &s->fields[field];
    const mldf_reader *reader = readers[place->reader];
    const struct schema_field *its = &reader->schema->fields[f->fields[place->reader]];
    uint64_t base = view->first_row[place->reader], anchor = base + place->row;
    struct group g = group_of(s, anchor);
    bool direct = mldfi_reader_is_direct(reader, f->fields[place->reader]);
    struct edge edge = {0};
    mldf_status status = its->type->edge(its, NULL, &edge, err);
    if (status >= 0)
        status = mldfi_buffer_resize(scratch, f->count * f->bytes + 1, err);
    for (uint32_t k = 0; k < f->count && status >= 0 && !record; k++) {
        uint8_t *to = scratch->data + k * f->bytes;
        uint64_t row;
        bool pad;
        mldf_value v;
        status = row_at(s, f, g, anchor, k, &row, &pad, err);
        if (status >= 0)
            status = outside(s, f, anchor, k, pad, err);
        if (status >= 0 && pad && s->edge == STEPS_ZERO) {
            memset(to, 0, f->bytes);
            continue;
        }
        if (status >= 0)
            status = direct ? mldfi_reader_get_direct(reader, row - base, its, &cache->aside, &v, err)
                            : mldf_reader_get(reader, row - base, f->fields[place->reader], &cache->aside, &v, err);
        if (status >= 0 && v.kind == MLDF_KIND_NULL) {
            *out = v; /* a null piece makes the value null */
            return MLDF_OK;
        }
        if (status >= 0)
            status = copy_value(&v, f, to, err);
    }
    if (status < 0)
        return status;
    *out = (mldf_value){.kind = MLDF_KIND_ARRAY,
                        .dtype = f->dtype,
                        .data = scratch->data,
                        .bytes = (uint64_t)f->count * f->bytes,
                        .ndim = edge.ndim + 1};
    out->dims[0] = f->count;
    for (uint32_t i = 0; i < edge.ndim; i++)
        out->dims[i + 1] = (uint64_t)edge.dims[i];
    return MLDF_OK;
}

mldf_status mldfi_steps_pad(const mldf_view *view, const struct item_place *place, size_t field, mldf_buffer *scratch,
                            mldf_value *out, mldf_error *err) {
    const struct steps *s = view->steps;
    const struct steps_field *f = &s->fields[field];
    uint64_t anchor = view->first_row[place->reader] + place->row;
    struct group g = group_of(s, anchor);
    mldf_status status = mldfi_buffer_resize(scratch, f->count + 1, err);
    for (uint32_t k = 0; k < f->count && status >= 0; k++) {
        uint64_t row;
        bool pad;
        status = row_at(s, f, g, anchor, k, &row, &pad, err);
        scratch->data[k] = pad;
    }
    *out =
        (mldf_value){.kind = MLDF_KIND_ARRAY, .dtype = MLDF_BOOL, .data = scratch->data, .bytes = f->count, .ndim = 1};
    out->dims[0] = f->count;
    return status;
}

mldf_status mldfi_steps_frames(const mldf_view *view, const struct item_place *place, size_t field, uint64_t *row,
                               double seconds[STEPS_FRAMES], mldf_error *err) {
    const struct steps *s = view->steps;
    const struct steps_field *f = &s->fields[field];
    uint64_t anchor = view->first_row[place->reader] + place->row;
    struct group g = group_of(s, anchor);
    mldf_status status = MLDF_OK;
    *row = g.first - view->first_row[place->reader];
    for (uint32_t k = 0; k < f->count && status >= 0; k++) {
        uint64_t at;
        bool pad;
        status = row_at(s, f, g, anchor, k, &at, &pad, err);
        if (status >= 0)
            status = outside(s, f, anchor, k, pad, err);
        seconds[k] = status >= 0 && !(pad && s->edge == STEPS_ZERO) ? s->times[at] - s->times[g.first] : NAN;
    }
    return status;
}
