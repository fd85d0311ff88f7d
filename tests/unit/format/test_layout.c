/* Placement: the rule's corners, and random samples against a model that tries every byte. */
#include "check.h"
#include "format/format.h"

static struct placement small(uint64_t bytes) {
    return (struct placement){bytes, 0, 8, 0};
}

static void placement_starts_payloads_on_multiples_of_8(void) {
    struct placement p[3] = {small(5), small(8), small(1)};
    uint64_t cursor = 4096;
    REQUIRE(mldfi_place_sample(p, 3, 4096, &cursor));
    CHECK_EQ_U64(4096, p[0].ptr);
    CHECK_EQ_U64(4104, p[1].ptr);
    CHECK_EQ_U64(4112, p[2].ptr);
    CHECK_EQ_U64(4113, cursor);
}

static void placement_aligns_the_address_behind_the_prefix(void) {
    struct placement p[2] = {{2000, 8, 64, 0}, {2000, 0, 64, 0}};
    uint64_t cursor = 1 << 20;
    REQUIRE(mldfi_place_sample(p, 2, 2 << 20, &cursor));
    CHECK_EQ_U64((1 << 20) + 56, p[0].ptr);
    CHECK_EQ_U64(0, p[1].ptr % 64);
    CHECK(p[1].ptr - (p[0].ptr + 2000) < 64);
}

static void placement_moves_small_sample_to_next_page(void) {
    struct placement p = small(511);
    uint64_t cursor = 8192 - 504;
    REQUIRE(mldfi_place_sample(&p, 1, 4096, &cursor));
    CHECK_EQ_U64(8192, p.ptr);
    CHECK_EQ_U64(8192 + 511, cursor);
}

static void placement_lets_a_small_sample_end_with_its_page(void) {
    struct placement p = small(504);
    uint64_t cursor = 8192 - 504;
    REQUIRE(mldfi_place_sample(&p, 1, 4096, &cursor));
    CHECK_EQ_U64(8192 - 504, p.ptr);
    CHECK_EQ_U64(8192, cursor);
}

static void placement_lets_a_sample_of_an_eighth_cross(void) {
    struct placement p = small(512);
    uint64_t cursor = 8192 - 504;
    REQUIRE(mldfi_place_sample(&p, 1, 4096, &cursor));
    CHECK_EQ_U64(8192 - 504, p.ptr);
}

static void placement_of_nothing_changes_nothing(void) {
    uint64_t cursor = 4099;
    CHECK(mldfi_place_sample(NULL, 0, 4096, &cursor));
    CHECK_EQ_U64(4099, cursor);
}

static void placement_refuses_to_pass_two_to_the_63(void) {
    static const uint64_t edge = UINT64_C(1) << 63;
    struct placement p[2] = {small(16), small(16)};
    uint64_t cursor = edge - 32;
    CHECK(mldfi_place_sample(p, 2, 4096, &cursor));
    CHECK_EQ_U64(edge, cursor);
    CHECK(!mldfi_place_sample(p, 1, 4096, &cursor));
    CHECK_EQ_U64(edge, cursor);
    cursor = edge - 24;
    CHECK(!mldfi_place_sample(p, 2, 4096, &cursor));
    CHECK_EQ_U64(edge - 24, cursor);
    p[0].bytes = p[1].bytes = UINT64_MAX;
    cursor = 4096;
    CHECK(!mldfi_place_sample(p, 2, 4096, &cursor));
    p[0].bytes = edge - 4096;
    CHECK(!mldfi_place_sample(p, 2, 4096, &cursor));
    CHECK(mldfi_place_sample(p, 1, 4096, &cursor));
    cursor = UINT64_MAX;
    CHECK(!mldfi_place_sample(p, 1, 4096, &cursor));
}

/* ---- The slow model: the rule of the specification word by word ---------------------------------------------------------- */

static uint64_t model_place(const struct placement *p, size_t count, uint64_t cursor, uint64_t *ptrs) {
    for (size_t i = 0; i < count; i++) {
        while ((cursor + p[i].lead) % p[i].align != 0)
            cursor++;
        ptrs[i] = cursor;
        cursor += p[i].bytes;
    }
    return cursor;
}

static uint64_t model(const struct placement *p, size_t count, uint64_t page, uint64_t cursor, uint64_t *ptrs) {
    uint64_t end = model_place(p, count, page, ptrs);
    uint64_t span = end - ptrs[0];
    end = model_place(p, count, cursor, ptrs);
    bool two_pages = ptrs[0] / page != (end - 1) / page;
    if (span * 8 < page && two_pages) {
        while (cursor % page != 0)
            cursor++;
        end = model_place(p, count, cursor, ptrs);
    }
    return end;
}

static void placement_agrees_with_a_slow_model(void) {
    uint64_t rng = check_seed();
    uint64_t page = 4096, cursor = 4096;
    for (int round = 0; round < 100000; round++) {
        struct placement p[6];
        uint64_t ptrs[6];
        size_t count = 1 + check_rand_below(&rng, 6);
        if (round % 1000 == 0) {
            page = UINT64_C(4096) << check_rand_below(&rng, 4);
            cursor = page * (1 + check_rand_below(&rng, 100)) + check_rand_below(&rng, page);
        }
        uint64_t largest = check_rand_below(&rng, 4) == 0 ? 3 * page : page / 8 / count + 8;
        for (size_t i = 0; i < count; i++) {
            p[i] = (struct placement){1 + check_rand_below(&rng, largest), check_rand(&rng) & 8,
                                      check_rand_below(&rng, 3) == 0 ? 64 : 8, 0};
        }
        uint64_t before = cursor, end = model(p, count, page, cursor, ptrs);
        REQUIRE(mldfi_place_sample(p, count, page, &cursor));
        REQUIRE_EQ_U64(end, cursor);
        for (size_t i = 0; i < count; i++)
            REQUIRE_EQ_U64(ptrs[i], p[i].ptr);
        /* What the rule is for. */
        uint64_t span = end - ptrs[0];
        CHECK(ptrs[0] >= before);
        CHECK(span + 64 >= page / 8 || ptrs[0] / page == (end - 1) / page);
    }
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(placement_starts_payloads_on_multiples_of_8);
    RUN(placement_aligns_the_address_behind_the_prefix);
    RUN(placement_moves_small_sample_to_next_page);
    RUN(placement_lets_a_small_sample_end_with_its_page);
    RUN(placement_lets_a_sample_of_an_eighth_cross);
    RUN(placement_of_nothing_changes_nothing);
    RUN(placement_refuses_to_pass_two_to_the_63);
    RUN(placement_agrees_with_a_slow_model);
    return check_end();
}
