/* Section 4: gathering and storing the statistics of a field. 128 bytes for each field:
 *
 *     0 present · 8 nulls · 16 stored bytes · 24 largest stored · 32 largest value · 40 non-finite, u64 each
 *     48 min · 56 max, 8 bytes each · 64 mean f64 · 72 number kind u32 · 76 ndim u32 · 80 max dims u32[8]
 *     112 units · 120 most units in a value, u64 each: tokens
 *
 * Samples come in order on one thread, and sums are exact (integers) or compensated in that order (floats), so the same
 * samples give the same bytes. They are hints: nobody may trust them with a buffer's size. */
#include "format/stats.h"

#include <math.h>

#include "util/bytes.h"

enum { NUMBER_NONE, NUMBER_I64, NUMBER_U64, NUMBER_F64 };

/* Values from 2^960 on are summed apart, scaled by 2^-64: no sum of up to 2^63 values can overflow. */
static const double huge_from = 0x1p960, huge_scale = 0x1p-64;

void mldfi_stats_begin(struct stats_accumulator *acc) {
    memset(acc, 0, sizeof *acc);
}

void mldfi_stats_null(struct stats_accumulator *acc) {
    acc->stats.nulls++;
}

/* Neumaier: what the sum cannot hold is gathered in the carry. */
static void add_compensated(double *sum, double *carry, double x) {
    double next = *sum + x;
    *carry += fabs(*sum) >= fabs(x) ? (*sum - next) + x : (x - next) + *sum;
    *sum = next;
}

static void add_float(struct stats_accumulator *acc, double x) {
    mldf_field_stats *s = &acc->stats;
    if (!isfinite(x)) {
        s->nonfinite++;
        return;
    }
    if (acc->finite == 0 || x < s->min.f)
        s->min.f = x;
    if (acc->finite == 0 || x > s->max.f)
        s->max.f = x;
    if (fabs(x) >= huge_from)
        add_compensated(&acc->huge_sum, &acc->huge_carry, x * huge_scale);
    else
        add_compensated(&acc->float_sum, &acc->float_carry, x);
    s->number_kind = NUMBER_F64;
    acc->finite++;
}

static void add_number(struct stats_accumulator *acc, const struct observation *seen) {
    mldf_field_stats *s = &acc->stats;
    switch (seen->number_kind) {
    case NUMBER_I64:
        if (acc->finite == 0 || seen->number.i < s->min.i)
            s->min.i = seen->number.i;
        if (acc->finite == 0 || seen->number.i > s->max.i)
            s->max.i = seen->number.i;
        acc->int_sum += seen->number.i;
        break;
    case NUMBER_U64:
        if (acc->finite == 0 || seen->number.u < s->min.u)
            s->min.u = seen->number.u;
        if (acc->finite == 0 || seen->number.u > s->max.u)
            s->max.u = seen->number.u;
        acc->int_sum += seen->number.u;
        break;
    case NUMBER_F64:
        add_float(acc, seen->number.f);
        return;
    default:
        return;
    }
    s->number_kind = seen->number_kind;
    acc->finite++;
}

void mldfi_stats_add(struct stats_accumulator *acc, const struct observation *seen, uint64_t stored_bytes,
                     uint64_t value_bytes) {
    mldf_field_stats *s = &acc->stats;
    s->present++;
    s->stored_bytes += stored_bytes;
    if (stored_bytes > s->stored_bytes_max)
        s->stored_bytes_max = stored_bytes;
    if (value_bytes > s->value_bytes_max)
        s->value_bytes_max = value_bytes;
    if (!seen)
        return;
    add_number(acc, seen);
    if (seen->ndim > s->ndim && seen->ndim <= MLDF_MAX_DIMS)
        s->ndim = seen->ndim;
    for (uint32_t i = 0; i < seen->ndim && i < MLDF_MAX_DIMS; i++)
        if (seen->dims[i] > s->dims_max[i])
            s->dims_max[i] = seen->dims[i];
    if (!seen->has_units)
        return;
    s->units += seen->units;
    if (seen->units > s->units_max)
        s->units_max = seen->units;
}

void mldfi_stats_range(struct stats_accumulator *acc, uint64_t least, uint64_t most) {
    mldf_field_stats *s = &acc->stats;
    if (s->number_kind != NUMBER_U64 || least < s->min.u)
        s->min.u = least;
    if (s->number_kind != NUMBER_U64 || most > s->max.u)
        s->max.u = most;
    s->number_kind = NUMBER_U64;
}

void mldfi_stats_end(struct stats_accumulator *acc) {
    mldf_field_stats *s = &acc->stats;
    double n = (double)acc->finite;
    if (acc->finite == 0)
        return;
    if (s->number_kind == NUMBER_F64) {
        double mean = (acc->float_sum + acc->float_carry) / n + (acc->huge_sum + acc->huge_carry) / n / huge_scale;
        /* Rounding may put it just outside; infinity from the last multiplication ends here too. */
        s->mean = mean < s->min.f ? s->min.f : mean > s->max.f ? s->max.f : mean;
    } else {
        s->mean = (double)acc->int_sum / n;
    }
}

void mldfi_stats_encode(const mldf_field_stats *stats, uint8_t out[FORMAT_STATS_BYTES]) {
    memset(out, 0, FORMAT_STATS_BYTES);
    mldfi_store_u64(out + 0, stats->present);
    mldfi_store_u64(out + 8, stats->nulls);
    mldfi_store_u64(out + 16, stats->stored_bytes);
    mldfi_store_u64(out + 24, stats->stored_bytes_max);
    mldfi_store_u64(out + 32, stats->value_bytes_max);
    mldfi_store_u64(out + 40, stats->nonfinite);
    if (stats->number_kind != NUMBER_NONE) {
        memcpy(out + 48, &stats->min, 8);
        memcpy(out + 56, &stats->max, 8);
        mldfi_store_f64(out + 64, stats->mean);
        mldfi_store_u32(out + 72, (uint32_t)stats->number_kind);
    }
    mldfi_store_u32(out + 76, stats->ndim);
    for (uint32_t i = 0; i < stats->ndim && i < MLDF_MAX_DIMS; i++)
        mldfi_store_u32(out + 80 + 4 * i, stats->dims_max[i]);
    mldfi_store_u64(out + 112, stats->units);
    mldfi_store_u64(out + 120, stats->units_max);
}

/* A kind or a number of dimensions that makes no sense reads as "not known". */
void mldfi_stats_decode(const uint8_t in[FORMAT_STATS_BYTES], mldf_field_stats *out) {
    memset(out, 0, sizeof *out);
    out->present = mldfi_load_u64(in + 0);
    out->nulls = mldfi_load_u64(in + 8);
    out->stored_bytes = mldfi_load_u64(in + 16);
    out->stored_bytes_max = mldfi_load_u64(in + 24);
    out->value_bytes_max = mldfi_load_u64(in + 32);
    out->nonfinite = mldfi_load_u64(in + 40);
    uint32_t kind = mldfi_load_u32(in + 72);
    if (kind != NUMBER_NONE && kind <= NUMBER_F64) {
        out->number_kind = (int)kind;
        memcpy(&out->min, in + 48, 8);
        memcpy(&out->max, in + 56, 8);
        out->mean = mldfi_load_f64(in + 64);
    }
    out->units = mldfi_load_u64(in + 112);
    out->units_max = mldfi_load_u64(in + 120);
    uint32_t ndim = mldfi_load_u32(in + 76);
    if (ndim > MLDF_MAX_DIMS)
        return;
    out->ndim = ndim;
    for (uint32_t i = 0; i < ndim; i++)
        out->dims_max[i] = mldfi_load_u32(in + 80 + 4 * i);
}
