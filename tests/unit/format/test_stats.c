/* Statistics: exact sums, what is not finite, huge values, and the 128 bytes. */
#include "check.h"
#include "format/stats.h"
#include "util/bytes.h"

#include <float.h>
#include <math.h>

static void add_f(struct stats_accumulator *acc, double x) {
    struct observation seen = {.number_kind = 3, .number.f = x};
    mldfi_stats_add(acc, &seen, 0, 8);
}

static void add_i(struct stats_accumulator *acc, int64_t x) {
    struct observation seen = {.number_kind = 1, .number.i = x};
    mldfi_stats_add(acc, &seen, 0, 8);
}

static void integers_have_an_exact_mean(void) {
    struct stats_accumulator acc;
    mldfi_stats_begin(&acc);
    for (int i = 0; i < 1000; i++) {
        add_i(&acc, INT64_MAX);
        add_i(&acc, INT64_MIN);
        mldfi_stats_null(&acc);
    }
    add_i(&acc, 1000 + 2001 * 3);
    mldfi_stats_end(&acc);
    CHECK_EQ_U64(2001, acc.stats.present);
    CHECK_EQ_U64(1000, acc.stats.nulls);
    CHECK_EQ_INT(INT64_MIN, acc.stats.min.i);
    CHECK_EQ_INT(INT64_MAX, acc.stats.max.i);
    CHECK_EQ_INT(1, acc.stats.number_kind);
    CHECK_EQ_F64(3.0, acc.stats.mean);
}

static void unsigned_integers_are_compared_as_such(void) {
    struct stats_accumulator acc;
    struct observation big = {.number_kind = 2, .number.u = UINT64_MAX}, one = {.number_kind = 2, .number.u = 1};
    mldfi_stats_begin(&acc);
    mldfi_stats_add(&acc, &big, 0, 8);
    mldfi_stats_add(&acc, &one, 0, 8);
    mldfi_stats_end(&acc);
    CHECK_EQ_U64(1, acc.stats.min.u);
    CHECK_EQ_U64(UINT64_MAX, acc.stats.max.u);
    CHECK_EQ_F64(0x1p63, acc.stats.mean);
}

static void floats_are_summed_with_compensation(void) {
    struct stats_accumulator acc;
    mldfi_stats_begin(&acc);
    add_f(&acc, 1.0);
    add_f(&acc, 1e100);
    add_f(&acc, 1.0);
    add_f(&acc, -1e100);
    mldfi_stats_end(&acc);
    CHECK_EQ_F64(0.5, acc.stats.mean);
    CHECK_EQ_F64(-1e100, acc.stats.min.f);
}

static void values_that_are_not_finite_are_counted_apart(void) {
    struct stats_accumulator acc;
    uint8_t bytes[FORMAT_STATS_BYTES];
    mldfi_stats_begin(&acc);
    add_f(&acc, (double)NAN);
    add_f(&acc, (double)INFINITY);
    mldfi_stats_end(&acc);
    CHECK_EQ_U64(2, acc.stats.present);
    CHECK_EQ_U64(2, acc.stats.nonfinite);
    CHECK_EQ_INT(0, acc.stats.number_kind);
    mldfi_stats_encode(&acc.stats, bytes);
    for (size_t i = 48; i < FORMAT_STATS_BYTES; i++)
        CHECK_EQ_U64(0, bytes[i]);
    add_f(&acc, -2.5);
    mldfi_stats_end(&acc);
    CHECK_EQ_F64(-2.5, acc.stats.min.f);
    CHECK_EQ_F64(-2.5, acc.stats.max.f);
    CHECK_EQ_F64(-2.5, acc.stats.mean);
}

static void huge_floats_have_a_finite_mean(void) {
    struct stats_accumulator acc;
    mldfi_stats_begin(&acc);
    for (int i = 0; i < 1000; i++)
        add_f(&acc, DBL_MAX);
    mldfi_stats_end(&acc);
    CHECK_EQ_F64(DBL_MAX, acc.stats.mean);
    for (int i = 0; i < 1000; i++)
        add_f(&acc, -DBL_MAX);
    add_f(&acc, 2001.0);
    mldfi_stats_end(&acc);
    CHECK_EQ_F64(1.0, acc.stats.mean);
}

static void payloads_and_dimensions_keep_their_maxima(void) {
    struct stats_accumulator acc;
    struct observation a = {.ndim = 2, .dims = {3, 80}}, b = {.ndim = 2, .dims = {7, 2}};
    uint8_t bytes[FORMAT_STATS_BYTES];
    mldf_field_stats back = MLDF_FIELD_STATS_INIT;
    mldfi_stats_begin(&acc);
    mldfi_stats_add(&acc, &a, 100, 960);
    mldfi_stats_add(&acc, &b, 40, 56);
    mldfi_stats_add(&acc, NULL, 0, 0);
    mldfi_stats_end(&acc);
    mldfi_stats_encode(&acc.stats, bytes);
    CHECK_EQ_U64(3, mldfi_load_u64(bytes));
    CHECK_EQ_U64(140, mldfi_load_u64(bytes + 16));
    CHECK_EQ_U64(100, mldfi_load_u64(bytes + 24));
    CHECK_EQ_U64(960, mldfi_load_u64(bytes + 32));
    CHECK_EQ_U64(2, mldfi_load_u32(bytes + 76));
    CHECK_EQ_U64(7, mldfi_load_u32(bytes + 80));
    CHECK_EQ_U64(80, mldfi_load_u32(bytes + 84));
    mldfi_stats_decode(bytes, &back);
    uint8_t again[FORMAT_STATS_BYTES];
    mldfi_stats_encode(&back, again);
    CHECK_MEM_EQ(bytes, again, sizeof bytes);
}

static void nonsense_reads_as_not_known(void) {
    uint8_t bytes[FORMAT_STATS_BYTES];
    mldf_field_stats back = MLDF_FIELD_STATS_INIT;
    memset(bytes, 0xff, sizeof bytes);
    mldfi_stats_decode(bytes, &back);
    CHECK_EQ_INT(0, back.number_kind);
    CHECK_EQ_U64(0, back.ndim);
    CHECK_EQ_U64(UINT64_MAX, back.present);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(integers_have_an_exact_mean);
    RUN(unsigned_integers_are_compared_as_such);
    RUN(floats_are_summed_with_compensation);
    RUN(values_that_are_not_finite_are_counted_apart);
    RUN(huge_floats_have_a_finite_mean);
    RUN(payloads_and_dimensions_keep_their_maxima);
    RUN(nonsense_reads_as_not_known);
    return check_end();
}
