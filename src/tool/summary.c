/* mldf_summary: how the values of each field are distributed, in one pass and bounded memory. Its one idea: sums are exact, and what would
 * need all values at once (percentiles, histograms) comes from a reservoir of MLDF_SUMMARY_KEPT of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mldf/tool.h"
#include "tool/input.h"
#include "tool/tally.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/options.h"

enum { SHORT_TEXT = 64 };

struct gather {
    mldf_distribution out;
    double m2; /* sum of squared distances from the mean */
    double *kept;
    size_t kept_count, kept_capacity;
    uint64_t random;
};

struct field_gather {
    mldf_field_summary out;
    struct gather values, lengths, bytes, dims[MLDF_MAX_DIMS];
    mldf_distribution *dim_list;
    struct tally tally;
    bool tallied;
    mldf_buffer scratch;
};

struct mldf_summary {
    const mldf_reader *reader;
    struct field_gather *fields;
    size_t count;
};

/* ---- One distribution ---------------------------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *state) {
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Below n, evenly enough: the bias is n / 2^64. */
static uint64_t random_below(uint64_t *state, uint64_t n) {
    return (uint64_t)((double)(next_random(state) >> 11) * 0x1p-53 * (double)n);
}

static mldf_status add_number(struct gather *g, double x, mldf_error *err) {
    mldf_distribution *d = &g->out;
    if (d->count == 0 || x < d->min)
        d->min = x;
    if (d->count == 0 || x > d->max)
        d->max = x;
    d->count++;
    double off = x - d->mean;
    d->mean += off / (double)d->count;
    g->m2 += off * (x - d->mean);
    if (g->kept_count == MLDF_SUMMARY_KEPT) {
        uint64_t at = random_below(&g->random, d->count);
        if (at < MLDF_SUMMARY_KEPT)
            g->kept[at] = x;
        return MLDF_OK;
    }
    mldf_status status = mldfi_array_reserve(&g->kept, &g->kept_capacity, g->kept_count + 1, sizeof *g->kept, err);
    if (status == MLDF_OK)
        g->kept[g->kept_count++] = x;
    return status;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double percentile(const struct gather *g, double p) {
    double at = p * (double)(g->kept_count - 1);
    size_t below = (size_t)at, above = below + 1 < g->kept_count ? below + 1 : below;
    return g->kept[below] + (g->kept[above] - g->kept[below]) * (at - (double)below);
}

/* Whole numbers in a small range get a bin each. */
static void make_bins(struct gather *g) {
    mldf_distribution *d = &g->out;
    double span = d->max - d->min;
    bool whole = floor(d->min) >= d->min && floor(d->max) >= d->max && span < MLDF_SUMMARY_BINS;
    for (size_t i = 0; whole && i < g->kept_count; i++)
        whole = floor(g->kept[i]) >= g->kept[i];
    d->bin_count = !(span > 0) ? 1 : whole ? (size_t)span + 1 : MLDF_SUMMARY_BINS;
    double width = !(span > 0) ? 0 : whole ? 1 : span / (double)d->bin_count;
    for (size_t i = 0; i < d->bin_count; i++) {
        d->bins[i].low = d->min + width * (double)i;
        d->bins[i].high = whole || i + 1 < d->bin_count ? d->min + width * (double)(i + 1) : d->max;
    }
    for (size_t i = 0; i < g->kept_count; i++) {
        double at = width > 0 ? (g->kept[i] - d->min) / width : 0;
        size_t bin = at >= (double)d->bin_count ? d->bin_count - 1 : (size_t)at;
        d->bins[bin].count++;
    }
    for (size_t i = 0; !d->exact && i < d->bin_count; i++)
        d->bins[i].count = (uint64_t)((double)d->bins[i].count * ((double)d->count / (double)g->kept_count) + 0.5);
}

static void end_gather(struct gather *g) {
    mldf_distribution *d = &g->out;
    d->exact = d->count == g->kept_count;
    if (d->count == 0)
        return;
    qsort(g->kept, g->kept_count, sizeof *g->kept, by_value);
    d->std = sqrt(g->m2 > 0 ? g->m2 / (double)d->count : 0);
    d->p50 = percentile(g, 0.5);
    d->p90 = percentile(g, 0.9);
    d->p99 = percentile(g, 0.99);
    make_bins(g);
    free(g->kept);
    g->kept = NULL;
}

/* ---- One value ----------------------------------------------------------------------------------------------------- */

static bool is_less(const mldf_value *a, const mldf_value *b) {
    return a->kind == MLDF_KIND_UINT    ? a->as.u < b->as.u
           : a->kind == MLDF_KIND_FLOAT ? a->as.f < b->as.f
                                        : a->as.i < b->as.i;
}

static mldf_status add_value(struct field_gather *f, const mldf_value *value, mldf_error *err) {
    double number = value->kind == MLDF_KIND_UINT  ? (double)value->as.u
                    : value->kind == MLDF_KIND_INT ? (double)value->as.i
                                                   : value->as.f;
    if (value->kind == MLDF_KIND_FLOAT && !isfinite(number)) {
        f->out.nonfinite++;
        return MLDF_OK;
    }
    mldf_value plain = {.kind = value->kind, .as.u = value->as.u};
    if (f->out.min.kind == MLDF_KIND_NULL || is_less(&plain, &f->out.min))
        f->out.min = plain;
    if (f->out.max.kind == MLDF_KIND_NULL || is_less(&f->out.max, &plain))
        f->out.max = plain;
    return add_number(&f->values, number, err);
}

static uint64_t characters(const uint8_t *text, uint64_t bytes) {
    uint64_t count = 0;
    for (uint64_t i = 0; i < bytes; i++)
        count += (text[i] & 0xC0) != 0x80;
    return count;
}

static mldf_status add_array(struct field_gather *f, const mldf_value *value, mldf_error *err) {
    uint64_t elements = 1;
    mldf_status status = MLDF_OK;
    f->out.ndim = value->ndim;
    for (uint32_t d = 0; status == MLDF_OK && d < value->ndim; d++) {
        elements *= value->dims[d];
        status = add_number(&f->dims[d], (double)value->dims[d], err);
    }
    return status < 0 ? status : add_number(&f->lengths, (double)elements, err);
}

static mldf_status tally(struct field_gather *f, const mldf_field *field, const mldf_value *value, mldf_error *err) {
    size_t ignored;
    bool text = field->type_id == MLDF_TEXT;
    if (!f->tallied)
        return MLDF_OK;
    mldf_status status = MLDF_OK;
    if (!text || value->kind == MLDF_KIND_NULL || value->bytes <= SHORT_TEXT)
        status = mldfi_tally_add(&f->tally, value, &ignored, err);
    else
        f->tally.overflowed = true;
    if (f->tally.overflowed) {
        mldfi_tally_free(&f->tally);
        f->tallied = false;
    }
    return status;
}

static mldf_status add_sample(struct mldf_summary *s, size_t index, uint64_t sample, mldf_error *err) {
    struct field_gather *f = &s->fields[index];
    const mldf_field *field = mldf_schema_field(mldf_reader_schema(s->reader), index);
    mldf_value value;
    mldf_status status = field->known ? mldf_reader_get(s->reader, sample, index, &f->scratch, &value, err)
                                      : mldf_reader_get_stored(s->reader, sample, index, &f->scratch, &value, err);
    if (status == MLDF_OK)
        status = tally(f, field, &value, err);
    if (status < 0)
        return status;
    if (value.kind == MLDF_KIND_NULL) {
        f->out.nulls++;
        return MLDF_OK;
    }
    f->out.present++;
    if (value.kind == MLDF_KIND_INT || value.kind == MLDF_KIND_UINT || value.kind == MLDF_KIND_FLOAT)
        return add_value(f, &value, err);
    if (value.kind == MLDF_KIND_ARRAY && field->type_id != MLDF_INLINE)
        status = add_array(f, &value, err);
    else if (field->type_id == MLDF_TEXT)
        status = add_number(&f->lengths, (double)characters(value.data, value.bytes), err);
    if (status == MLDF_OK && (field->flags & (MLDF_FIELD_SIZE32 | MLDF_FIELD_SIZE64)))
        status = add_number(&f->bytes, (double)value.bytes, err);
    return status;
}

/* ---- The end ------------------------------------------------------------------------------------------------------- */

static int by_count(const void *a, const void *b) {
    const mldf_class_count *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    if (x->value.kind != y->value.kind)
        return x->value.kind < y->value.kind ? -1 : 1;
    if (x->value.kind != MLDF_KIND_TEXT)
        return is_less(&x->value, &y->value) ? -1 : is_less(&y->value, &x->value);
    size_t shorter = (size_t)(x->value.bytes < y->value.bytes ? x->value.bytes : y->value.bytes);
    int order = shorter ? memcmp(x->value.data, y->value.data, shorter) : 0;
    return order ? order : (x->value.bytes > y->value.bytes) - (x->value.bytes < y->value.bytes);
}

static mldf_status end_classes(struct field_gather *f, mldf_error *err) {
    if (!f->tallied || f->tally.count == 0)
        return MLDF_OK;
    mldf_class_count *list = mldfi_alloc_zero(f->tally.count, sizeof *list, err);
    if (!list)
        return MLDF_E_MEMORY;
    for (size_t i = 0; i < f->tally.count; i++) {
        mldfi_tally_value(&f->tally, i, &list[i].value);
        list[i].count = f->tally.entries[i].count;
    }
    qsort(list, f->tally.count, sizeof *list, by_count);
    f->out.classes = list;
    f->out.class_count = f->tally.count;
    return MLDF_OK;
}

static mldf_status end_field(struct field_gather *f, const mldf_field *field, mldf_error *err) {
    bool number = field->type_id == MLDF_INT || field->type_id == MLDF_FLOAT;
    bool array = field->type_id == MLDF_NDARRAY, payload = field->flags & (MLDF_FIELD_SIZE32 | MLDF_FIELD_SIZE64);
    end_gather(&f->values);
    end_gather(&f->lengths);
    end_gather(&f->bytes);
    f->out.name = field->name;
    f->out.values = number ? &f->values.out : NULL;
    f->out.lengths = array || field->type_id == MLDF_TEXT ? &f->lengths.out : NULL;
    f->out.bytes = payload ? &f->bytes.out : NULL;
    if (array && f->out.ndim) {
        f->dim_list = mldfi_alloc_zero(f->out.ndim, sizeof *f->dim_list, err);
        if (!f->dim_list)
            return MLDF_E_MEMORY;
        for (uint32_t d = 0; d < f->out.ndim; d++) {
            end_gather(&f->dims[d]);
            f->dim_list[d] = f->dims[d].out;
        }
        f->out.dims = f->dim_list;
    }
    return end_classes(f, err);
}

static mldf_status scan(struct mldf_summary *s, const mldf_summary_options *options, mldf_error *err) {
    uint64_t samples = mldf_reader_sample_count(s->reader);
    struct input_watch watch;
    memset(&watch, 0, sizeof watch);
    watch.progress = options->progress;
    watch.user = options->progress_user;
    watch.now = (mldf_progress){"stats", 0, samples, 0, MLDF_NONE};
    mldf_status status = MLDF_OK;
    for (uint64_t i = 0; status == MLDF_OK && i < samples; i++) {
        for (size_t f = 0; status == MLDF_OK && f < s->count; f++)
            status = add_sample(s, f, i, err);
        watch.now.samples_done = i + 1;
        if (status == MLDF_OK && i % 64 == 0)
            status = mldfi_watch(&watch, false, err);
    }
    for (size_t f = 0; status == MLDF_OK && f < s->count; f++)
        status = end_field(&s->fields[f], mldf_schema_field(mldf_reader_schema(s->reader), f), err);
    return status;
}

mldf_status mldf_summary_new(const mldf_reader *reader, const mldf_summary_options *given, mldf_summary **out,
                             mldf_error *err) {
    mldf_summary_options own = MLDF_SUMMARY_OPTIONS_INIT;
    if (!reader || !out || !mldfi_take_options(&own, sizeof own, given))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "a summary needs a reader, and options from MLDF_SUMMARY_OPTIONS_INIT");
    size_t count = mldf_schema_field_count(mldf_reader_schema(reader));
    struct mldf_summary *s = mldfi_alloc_zero(1, sizeof *s, err);
    *out = NULL;
    if (!s)
        return MLDF_E_MEMORY;
    s->reader = reader;
    s->fields = mldfi_alloc_zero(count + 1, sizeof *s->fields, err);
    s->count = s->fields ? count : 0;
    for (size_t i = 0; i < s->count; i++) {
        uint16_t type = mldf_schema_field(mldf_reader_schema(reader), i)->type_id;
        s->fields[i].tallied = type == MLDF_INT || type == MLDF_TEXT;
        mldfi_tally_begin(&s->fields[i].tally, MLDF_SUMMARY_CLASSES);
    }
    mldf_status status = s->fields ? scan(s, &own, err) : MLDF_E_MEMORY;
    if (status < 0)
        mldf_summary_free(s);
    else
        *out = s;
    return status;
}

void mldf_summary_free(mldf_summary *s) {
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++) {
        struct field_gather *f = &s->fields[i];
        free(f->values.kept);
        free(f->lengths.kept);
        free(f->bytes.kept);
        for (size_t d = 0; d < MLDF_MAX_DIMS; d++)
            free(f->dims[d].kept);
        free(f->dim_list);
        free((void *)(uintptr_t)f->out.classes);
        mldfi_tally_free(&f->tally);
        mldf_buffer_free(&f->scratch);
    }
    free(s->fields);
    free(s);
}

const mldf_field_summary *mldf_summary_field(const mldf_summary *s, size_t field) {
    return field < s->count ? &s->fields[field].out : NULL;
}
