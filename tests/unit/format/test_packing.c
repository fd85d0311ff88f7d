/* Pack plans: a million documents, every token once, padding; sections written and read; rules that make no sense. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "format/packing.h"
#include "util/buffer.h"

/* Log-normal lengths, mean about 902, sigma 1.1: the set that the numbers of docs/guides/text.md are of. */
static uint64_t *log_normal(uint64_t rows) {
    uint64_t *lengths = malloc(rows * sizeof *lengths), state = 88172645463325252ull;
    for (uint64_t i = 0; lengths && i < rows; i++) {
        double sum = 0;
        for (int k = 0; k < 12; k++) { /* nearly normal */
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            sum += (double)(state >> 11) / 9007199254740992.0;
        }
        lengths[i] = (uint64_t)exp(log(902.0) - 0.605 + 1.1 * (sum - 6));
    }
    return lengths;
}

static void check_tokens(const struct packing *p, const uint64_t *lengths) {
    uint64_t *used = calloc(p->rows + 1, sizeof *used), bad = 0;
    REQUIRE(used != NULL);
    for (uint64_t b = 0; b < p->bins; b++) {
        uint64_t begin, end, places = 0;
        struct packing_piece piece;
        mldfi_packing_bin(p, b, &begin, &end);
        bad += begin >= end;
        for (; begin < end; begin++) {
            mldfi_packing_piece(p, begin, &piece);
            bad += used[piece.document] != piece.from;
            used[piece.document] += piece.length;
            places += mldfi_packing_places(&p->rule, &piece, lengths[piece.document]);
        }
        bad += places > p->rule.length;
    }
    for (uint64_t i = 0; i < p->rows; i++)
        bad += used[i] != lengths[i];
    CHECK_EQ_U64(0, bad);
    free(used);
}

static void a_million_documents_leave_almost_no_padding(void) {
    enum { ROWS = 1000000 };
    uint64_t *lengths = log_normal(ROWS);
    REQUIRE(lengths != NULL);
    for (int ends = 0; ends < 2; ends++) {
        for (uint32_t length = 2048; length <= 8192; length *= 4) {
            struct packing_rule rule = {
                .length = length, .align = 1, .eos = (uint32_t)ends, .algorithm = PACKING_BEST_FIT};
            struct packing plan, again;
            mldf_error err;
            REQUIRE(mldfi_packing_make(&rule, lengths, ROWS, &plan, &err) == MLDF_OK);
            check_tokens(&plan, lengths);
            double slots = (double)plan.bins * length, filled = (double)plan.placed;
            for (uint64_t i = 0; ends && i < ROWS; i++)
                filled += lengths[i] != 0;
            CHECK(1 - filled / slots <= 0.0005);
            CHECK_EQ_U64(0, plan.left_out);
            REQUIRE(mldfi_packing_make(&rule, lengths, ROWS, &again, &err) == MLDF_OK);
            CHECK_EQ_U64(plan.bins, again.bins);
            CHECK(memcmp(plan.table, again.table, 12 * plan.pieces) == 0);
            mldfi_packing_free(&plan);
            mldfi_packing_free(&again);
        }
    }
    free(lengths);
}

static void concat_cuts_every_length_tokens(void) {
    static const uint64_t lengths[] = {3, 0, PACKING_NULL, 9, 1};
    struct packing_rule rule = {.length = 5, .align = 1, .eos = 7, .algorithm = PACKING_CONCAT};
    /* 3 tokens, eos, 9 tokens, eos, 1 token, eos: 16 places */
    static const struct {
        uint64_t bin, document;
        uint32_t from, length;
        bool eos;
    } want[] = {{0, 0, 0, 3, true}, {0, 3, 0, 1, false}, {1, 3, 1, 5, false},
                {2, 3, 6, 3, true}, {2, 4, 0, 1, false}, {3, 4, 1, 0, true}};
    struct packing plan;
    struct packing_cursor cursor;
    struct packing_piece piece;
    mldf_error err;
    size_t at = 0;
    CHECK_OK(mldfi_packing_make(&rule, lengths, 5, &plan, &err), &err);
    CHECK_EQ_U64(4, plan.bins);
    CHECK_EQ_U64(6, plan.pieces);
    for (uint64_t b = 0; b < plan.bins; b++) {
        mldfi_packing_concat_begin(&plan, b, &cursor);
        while (mldfi_packing_concat_next(&plan, &cursor, &piece)) {
            REQUIRE(at < sizeof want / sizeof *want);
            CHECK_EQ_U64(want[at].bin, b);
            CHECK_EQ_U64(want[at].document, piece.document);
            CHECK_EQ_U64(want[at].from, piece.from);
            CHECK_EQ_U64(want[at].length, piece.length);
            CHECK_EQ_INT(want[at].eos, cursor.eos);
            at++;
        }
    }
    CHECK_EQ_U64(6, at);
    mldfi_packing_free(&plan);
}

static bool from_array(const void *state, uint64_t first, uint64_t count, uint64_t *out) {
    memcpy(out, (const uint64_t *)state + first, count * sizeof *out);
    return true;
}

static bool from_nothing(const void *state, uint64_t first, uint64_t count, uint64_t *out) {
    (void)state, (void)first, (void)count, (void)out;
    return false;
}

/* Every place of every sequence, held against the run of all documents written out. Rows fill some blocks, and end in the middle of one or at its end. */
static void concat_is_the_run_of_all_documents(void) {
    enum { MOST = 9000 };
    static uint64_t lengths[MOST], row_of[MOST * 16], begins[MOST + 1];
    uint64_t state = 88172645463325252ull;
    for (uint64_t rows = 0; rows <= MOST; rows = rows < 70 ? rows + 1 : rows < 200 ? rows + 58 : rows * 3) {
        uint64_t total = 0, bad = 0, at = 0, empty = 0, nulls = 0, most = 0;
        for (uint64_t i = 0; i < rows; i++) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            uint64_t n = state % 14;
            lengths[i] = n == 13 ? PACKING_NULL : n > 9 ? 0 : n;
            empty += lengths[i] == 0;
            nulls += lengths[i] == PACKING_NULL;
            begins[i] = total;
            for (uint64_t k = 0; mldfi_packing_is_there(lengths[i]) && k < lengths[i] + 2; k++)
                row_of[total++] = i;
        }
        begins[rows] = total;
        struct packing_rule rule = {.length = 7, .align = 1, .bos = 4, .eos = 7, .algorithm = PACKING_CONCAT};
        struct packing plan, again;
        struct packing_cursor cursor;
        struct packing_piece piece;
        mldf_error err;
        CHECK_OK(mldfi_packing_concat(&rule, (struct packing_source){from_array, lengths}, rows, &plan, &err), &err);
        CHECK_OK(mldfi_packing_make(&rule, lengths, rows, &again, &err), &err);
        CHECK_EQ_U64((total + 6) / 7, plan.bins);
        CHECK_EQ_U64(mldfi_packing_hash(lengths, rows), plan.lengths_hash);
        CHECK(plan.bins == again.bins && plan.pieces == again.pieces && plan.lengths_hash == again.lengths_hash);
        CHECK(plan.empty == empty && plan.nulls == nulls);
        for (uint64_t i = 0; i <= rows; i++)
            bad += mldfi_packing_concat_place(&plan, i) != begins[i];
        uint64_t pieces = 0;
        for (uint64_t b = 0; b < plan.bins; b++) {
            uint64_t before = pieces;
            bad += at != b * 7;
            mldfi_packing_concat_begin(&plan, b, &cursor);
            for (; mldfi_packing_concat_next(&plan, &cursor, &piece); pieces++) {
                uint64_t first = at - begins[row_of[at]], places = piece.length + cursor.bos + cursor.eos;
                bad += piece.document != row_of[at] || cursor.bos != (first == 0) ||
                       piece.from != (first ? first - 1 : 0) || row_of[at + places - 1] != row_of[at] ||
                       cursor.eos != (at + places == begins[piece.document + 1]);
                at += places;
            }
            most = pieces - before > most ? pieces - before : most;
        }
        CHECK_EQ_U64(0, bad);
        CHECK_EQ_U64(total, at);
        CHECK_EQ_U64(pieces, plan.pieces);
        CHECK_EQ_U64(most, plan.most_pieces);
        mldfi_packing_free(&plan);
        mldfi_packing_free(&again);
        if (rows)
            CHECK(mldfi_packing_concat(&rule, (struct packing_source){from_nothing, NULL}, rows, &plan, &err) ==
                  MLDF_END);
        mldfi_packing_free(&plan);
    }
}

static void a_section_reads_as_it_was_written(void) {
    uint64_t lengths[100];
    struct packing plans[2], again[PACKING_PLANS];
    struct packing_rule rule = {.length = 64,
                                .align = 4,
                                .max_pieces = 5,
                                .bos = 3,
                                .algorithm = PACKING_NEXT_FIT,
                                .long_documents = PACKING_DROP};
    mldf_buffer section = MLDF_BUFFER_INIT;
    mldf_error err;
    size_t count;
    for (uint64_t i = 0; i < 100; i++)
        lengths[i] = i * 37 % 90;
    CHECK_OK(mldfi_packing_make(&rule, lengths, 100, &plans[0], &err), &err);
    rule.algorithm = PACKING_BEST_FIT;
    CHECK_OK(mldfi_packing_make(&rule, lengths, 100, &plans[1], &err), &err);
    plans[1].field = 2;
    CHECK_OK(mldfi_packing_write(plans, 2, &section, &err), &err);
    CHECK_OK(mldfi_packing_read(section.data, section.size, 2, 3, 100, again, &count, &err), &err);
    REQUIRE_EQ_U64(2, count);
    for (size_t i = 0; i < 2; i++) {
        CHECK(mldfi_packing_same_rule(&plans[i].rule, &again[i].rule));
        CHECK_EQ_U64(plans[i].bins, again[i].bins);
        CHECK_EQ_U64(plans[i].field, again[i].field);
        CHECK_EQ_U64(plans[i].lengths_hash, again[i].lengths_hash);
        CHECK_EQ_U64(plans[i].most_pieces, again[i].most_pieces);
        CHECK_MEM_EQ(plans[i].table, again[i].table, 12 * plans[i].pieces);
        mldfi_packing_free(&plans[i]);
    }
    CHECK_STATUS(MLDF_E_CORRUPT, mldfi_packing_read(section.data, section.size, 1, 3, 100, again, &count, &err), &err);
    CHECK_STATUS(MLDF_E_CORRUPT, mldfi_packing_read(section.data, section.size - 8, 2, 3, 100, again, &count, &err),
                 &err);
    CHECK_STATUS(MLDF_E_CORRUPT, mldfi_packing_read(section.data, section.size, 2, 2, 100, again, &count, &err), &err);
    CHECK_EQ_U64(8 + 128 + 96, err.offset);
    CHECK_STATUS(MLDF_E_CORRUPT, mldfi_packing_read(section.data, section.size, 2, 3, 99, again, &count, &err), &err);
    CHECK_EQ_U64(8 + 32, err.offset);
    section.data[0] = 2; /* another version: not ours to read */
    CHECK_OK(mldfi_packing_read(section.data, section.size, 2, 3, 100, again, &count, &err), &err);
    CHECK_EQ_U64(0, count);
    mldf_buffer_free(&section);
}

static void documents_that_no_piece_can_name_are_refused(void) {
    uint64_t lengths[] = {1, UINT64_C(1) << 32};
    struct packing_rule rule = {.length = 64, .align = 1, .algorithm = PACKING_BEST_FIT};
    struct packing plan;
    mldf_error err;
    CHECK_STATUS(MLDF_E_LIMIT, mldfi_packing_make(&rule, lengths, 2, &plan, &err), &err);
    mldfi_packing_free(&plan);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(a_million_documents_leave_almost_no_padding);
    RUN(concat_cuts_every_length_tokens);
    RUN(concat_is_the_run_of_all_documents);
    RUN(a_section_reads_as_it_was_written);
    RUN(documents_that_no_piece_can_name_are_refused);
    return check_end();
}
