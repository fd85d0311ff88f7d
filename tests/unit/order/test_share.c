/* Batches and ranks: whatever the number of ranks, and wherever a run was stopped and resumed, every position comes once. */
#include "unit/order/orders.h"

static mldf_share_options share_of(uint64_t count, uint64_t from, uint64_t batch, uint64_t global, uint32_t ranks,
                                   mldf_last last) {
    mldf_share_options o = MLDF_SHARE_OPTIONS_INIT;
    o.count = count;
    o.from = from;
    o.batch_size = batch;
    o.global_batch_size = global;
    o.world_size = ranks;
    o.last = last;
    return o;
}

/* One global batch on all ranks: marks its valid positions, checks what the ranks agree on. Returns the next consumed position. */
static uint64_t take_batch(mldf_share_options o, uint64_t index, uint8_t *seen) {
    uint64_t end = 0, least = UINT64_MAX, most = 0, next = 0;
    mldf_share first = {0};
    for (o.rank = 0; o.rank < o.world_size; o.rank++) {
        mldf_share s;
        mldf_error err;
        CHECK_OK(mldf_share_batch(&o, index, &s, &err), &err);
        if (o.rank == 0)
            first = s, next = s.global_first;
        CHECK_EQ_U64(first.global_first, s.global_first);
        CHECK_EQ_U64(first.global_end, s.global_end);
        CHECK(s.count > 0 && s.valid <= s.count);
        if (s.valid > 0 || o.last == MLDF_LAST_PAD) { /* pieces follow one another */
            CHECK_EQ_U64(next, s.first);
            next = s.first + s.count;
        } else {
            CHECK(s.first >= s.global_first && s.first < s.global_end && s.count == 1);
        }
        for (uint64_t p = s.first; p < s.first + s.valid; p++) {
            CHECK(p < o.count);
            if (p < o.count)
                seen[p]++;
        }
        uint64_t size = s.valid || o.last == MLDF_LAST_PAD ? s.count : 0;
        least = size < least ? size : least;
        most = size > most ? size : most;
        end = s.global_end;
    }
    CHECK(most - least <= 1);
    CHECK(o.last == MLDF_LAST_PAD ? next >= end : next == end);
    return end;
}

static uint64_t batches_of(const mldf_share_options *given, uint64_t want) {
    uint64_t got = MLDF_NONE;
    mldf_share s;
    mldf_share_options o = *given;
    for (o.rank = 0; o.rank < o.world_size; o.rank++) {
        CHECK_OK(mldf_share_batch_count(&o, &got, NULL), NULL);
        CHECK_EQ_U64(want, got);
        CHECK_STATUS(MLDF_END, mldf_share_batch(&o, got, &s, NULL), NULL);
        CHECK_STATUS(MLDF_END, mldf_share_batch(&o, UINT64_MAX, &s, NULL), NULL);
    }
    return got;
}

static void every_position_comes_once_on_any_number_of_ranks(void) {
    uint8_t seen[128];
    for (uint64_t count = 0; count <= 60; count++)
        for (uint32_t ranks = 1; ranks <= 9; ranks++)
            for (uint64_t batch = 1; batch <= 5; batch++)
                for (int last = 0; last < 3; last++) {
                    uint64_t g = batch * ranks, consumed = 0;
                    mldf_share_options o = share_of(count, 0, batch, 0, ranks, (mldf_last)last);
                    memset(seen, 0, sizeof seen);
                    uint64_t n = batches_of(&o, last == MLDF_LAST_DROP ? count / g : (count + g - 1) / g);
                    for (uint64_t i = 0; i < n; i++)
                        consumed = take_batch(o, i, seen);
                    CHECK_EQ_U64(last == MLDF_LAST_DROP ? count / g * g : count, consumed);
                    for (uint64_t p = 0; p < sizeof seen; p++)
                        CHECK_EQ_U64(p < consumed, seen[p]);
                }
}

/* 1 -> 2 -> 4 -> 3 ranks: the run is stopped at every batch in turn, three times, and goes on with the next number of ranks. */
static void stopping_at_every_batch_and_changing_the_ranks_loses_nothing(void) {
    static const uint32_t ranks[] = {1, 2, 4, 3};
    enum { COUNT = 53, BATCH = 3 };
    uint8_t seen[COUNT];
    uint64_t cases = 0;
    for (uint64_t a = 0; a <= COUNT / BATCH + 1; a++)
        for (uint64_t b = 0; b <= 9; b++)
            for (uint64_t c = 0; c <= 5; c++) {
                const uint64_t stops[4] = {a, b, c, UINT64_MAX};
                uint64_t consumed = 0;
                memset(seen, 0, sizeof seen);
                for (int phase = 0; phase < 4; phase++) {
                    uint64_t n;
                    mldf_share_options o = share_of(COUNT, consumed, BATCH, 0, ranks[phase], MLDF_LAST_KEEP);
                    CHECK_OK(mldf_share_batch_count(&o, &n, NULL), NULL);
                    for (uint64_t i = 0; i < n && i < stops[phase]; i++)
                        consumed = take_batch(o, i, seen);
                }
                for (uint64_t p = 0; p < COUNT; p++)
                    CHECK_EQ_U64(1, seen[p]);
                cases++;
            }
    CHECK_EQ_U64(19 * 10 * 6, cases);
}

static void a_global_batch_is_the_same_on_any_number_of_ranks(void) {
    static const uint32_t ranks[] = {1, 2, 8, 3};
    enum { COUNT = 250, GLOBAL = 32 };
    for (uint64_t i = 0; i < (COUNT + GLOBAL - 1) / GLOBAL; i++)
        for (int r = 0; r < 4; r++) {
            uint8_t seen[COUNT] = {0};
            take_batch(share_of(COUNT, 0, 0, GLOBAL, ranks[r], MLDF_LAST_KEEP), i, seen);
            for (uint64_t p = 0; p < COUNT; p++)
                CHECK_EQ_U64(p / GLOBAL == i, seen[p]);
        }
}

static void keep_drop_and_pad_differ_in_the_last_batch_alone(void) {
    mldf_share s;
    /* 10 positions, 4 ranks of 2: a batch of 8, then 2 are left. */
    static const struct {
        mldf_last last;
        uint32_t rank;
        mldf_status status;
        uint64_t first, count, valid;
    } table[] = {
        {MLDF_LAST_KEEP, 0, MLDF_OK, 8, 1, 1},  {MLDF_LAST_KEEP, 1, MLDF_OK, 9, 1, 1},
        {MLDF_LAST_KEEP, 2, MLDF_OK, 8, 1, 0},  {MLDF_LAST_KEEP, 3, MLDF_OK, 9, 1, 0},
        {MLDF_LAST_DROP, 0, MLDF_END, 0, 0, 0}, {MLDF_LAST_PAD, 0, MLDF_OK, 8, 2, 2},
        {MLDF_LAST_PAD, 1, MLDF_OK, 10, 2, 0},  {MLDF_LAST_PAD, 3, MLDF_OK, 14, 2, 0},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        mldf_share_options o = share_of(10, 0, 2, 0, 4, table[i].last);
        o.rank = table[i].rank;
        CHECK_STATUS(table[i].status, mldf_share_batch(&o, 1, &s, NULL), NULL);
        CHECK_EQ_U64(table[i].first, s.first);
        CHECK_EQ_U64(table[i].count, s.count);
        CHECK_EQ_U64(table[i].valid, s.valid);
        CHECK_OK(mldf_share_batch(&o, 0, &s, NULL), NULL);
        CHECK_EQ_U64(2 * o.rank, s.first);
        CHECK_EQ_U64(2, s.valid);
    }
    mldf_share_options o = share_of(9, 0, 4, 0, 1, MLDF_LAST_PAD); /* half of the batch is there */
    CHECK_OK(mldf_share_batch(&o, 2, &s, NULL), NULL);
    CHECK_EQ_U64(1, s.valid);
    CHECK_EQ_U64(4, s.count);
    CHECK_EQ_U64(9, s.global_end);
}

static void the_largest_numbers_do_not_wrap(void) {
    const uint64_t huge = (uint64_t)1 << 63;
    mldf_share s;
    mldf_share_options o = share_of(huge, huge - 5, 0, (uint64_t)1 << 62, 7, MLDF_LAST_PAD);
    o.rank = 6;
    CHECK_OK(mldf_share_batch(&o, 0, &s, NULL), NULL);
    CHECK(s.first > huge && s.first + s.count > s.first);
    CHECK_EQ_U64(0, s.valid);
    CHECK_EQ_U64(huge, s.global_end);
    o = share_of(huge, 0, 1, 0, 1, MLDF_LAST_KEEP);
    CHECK_OK(mldf_share_batch(&o, huge - 1, &s, NULL), NULL);
    CHECK_EQ_U64(huge - 1, s.first);
    CHECK_STATUS(MLDF_END, mldf_share_batch(&o, huge, &s, NULL), NULL);
}

static void wrong_arguments_are_refused(void) {
    const mldf_share_options good = share_of(10, 0, 2, 0, 4, MLDF_LAST_KEEP);
    mldf_share_options wrong[9];
    uint64_t n;
    mldf_share s;
    mldf_error err;
    for (int i = 0; i < 9; i++)
        wrong[i] = good;
    wrong[0].struct_bytes = 0;
    wrong[1].world_size = 0;
    wrong[2].rank = 4;
    wrong[3].global_batch_size = 8;
    wrong[4].batch_size = 0;
    wrong[5].from = 11;
    wrong[6].last = (mldf_last)3;
    wrong[7].batch_size = 0, wrong[7].global_batch_size = 3;
    wrong[8].batch_size = UINT64_MAX / 2;
    for (int i = 0; i < 9; i++) {
        CHECK_STATUS(MLDF_E_ARGUMENT, mldf_share_batch_count(&wrong[i], &n, &err), &err);
        CHECK_STATUS(MLDF_E_ARGUMENT, mldf_share_batch(&wrong[i], 0, &s, &err), &err);
        CHECK(err.message[0] != 0);
    }
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_share_batch_count(NULL, &n, NULL), NULL);
    CHECK_OK(mldf_share_batch_count(&good, &n, &err), &err);
    CHECK_EQ_U64(2, n);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(every_position_comes_once_on_any_number_of_ranks);
    RUN(stopping_at_every_batch_and_changing_the_ranks_loses_nothing);
    RUN(a_global_batch_is_the_same_on_any_number_of_ranks);
    RUN(keep_drop_and_pad_differ_in_the_last_batch_alone);
    RUN(the_largest_numbers_do_not_wrap);
    RUN(wrong_arguments_are_refused);
    return check_end();
}
