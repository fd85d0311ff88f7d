/* The input is a section of pack plans, or the lengths of documents: plans are read and walked, and written again; made from lengths, every bin must
 * hold, and every token must be in one piece. */
#include <stdlib.h>
#include <string.h>

#include "format/packing.h"
#include "util/bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int good) {
    if (!good)
        abort();
}

static void walk(const struct packing *p) {
    uint64_t begin, end, bins = p->bins < 4096 ? p->bins : 4096, seen = 0;
    struct packing_piece piece;
    for (uint64_t b = 0; b < bins; b++) {
        mldfi_packing_bin(p, b, &begin, &end);
        for (uint64_t i = begin; i < end && seen < 1 << 16; i++, seen++)
            mldfi_packing_piece(p, i, &piece);
    }
}

static void read_section(const uint8_t *data, size_t size) {
    struct packing plans[PACKING_PLANS], again[PACKING_PLANS];
    mldf_buffer out = MLDF_BUFFER_INIT;
    size_t count, same;
    mldf_error err;
    if (mldfi_packing_read(data, size, size >= 8 ? mldfi_load_u32(data + 4) : 0, 3, 1000, plans, &count, &err) < 0)
        return;
    for (size_t i = 0; i < count; i++)
        walk(&plans[i]);
    if (count && mldfi_packing_write(plans, count, &out, &err) == MLDF_OK) {
        require(mldfi_packing_read(out.data, out.size, count, 3, 1000, again, &same, &err) == MLDF_OK && same == count);
        for (size_t i = 0; i < count; i++)
            require(again[i].bins == plans[i].bins && again[i].pieces == plans[i].pieces &&
                    memcmp(again[i].first, plans[i].first, (size_t)(8 * (plans[i].bins + 1))) == 0);
    }
    mldf_buffer_free(&out);
}

static void check_plan(const struct packing *p, const uint64_t *lengths, uint64_t rows) {
    uint64_t *used = calloc((size_t)rows + 1, sizeof *used), placed = 0;
    require(used != NULL);
    for (uint64_t b = 0; b < p->bins; b++) {
        uint64_t begin = 0, end = 0, room = p->rule.length;
        struct packing_cursor cursor;
        struct packing_piece piece;
        bool concat = p->rule.algorithm == PACKING_CONCAT;
        if (concat)
            mldfi_packing_concat_begin(p, b, &cursor);
        else
            mldfi_packing_bin(p, b, &begin, &end);
        require(concat || begin < end);
        while (concat ? mldfi_packing_concat_next(p, &cursor, &piece) : begin < end) {
            if (!concat)
                mldfi_packing_piece(p, begin++, &piece);
            require(piece.document < rows && (uint64_t)piece.from + piece.length <= lengths[piece.document]);
            require(used[piece.document] == piece.from); /* pieces of a document come in order, none twice */
            used[piece.document] += piece.length;
            uint64_t places = concat ? piece.length + cursor.bos + cursor.eos
                                     : mldfi_packing_places(&p->rule, &piece, lengths[piece.document]);
            places = (places + p->rule.align - 1) / p->rule.align * p->rule.align;
            require(places > 0 && places <= room);
            room -= places;
            placed += piece.length;
        }
    }
    require(placed == p->placed);
    free(used);
}

static void make(const uint8_t *data, size_t size) {
    struct packing_rule rule = {.length = data[0] % 64 + 4u,
                                .align = 1,
                                .max_pieces = data[1] & 3,
                                .bos = data[2] & 1,
                                .eos = data[2] >> 1 & 1,
                                .algorithm = (uint8_t)(data[3] % 3 + 1),
                                .long_documents = (uint8_t)(data[4] % 3)};
    uint64_t rows = size - 6, *lengths = malloc(sizeof *lengths * ((size_t)rows + 1));
    struct packing plan = {0};
    mldf_error err;
    require(lengths != NULL);
    if (data[5] & 1 && rule.length % 4 == 0)
        rule.align = 4;
    if (rule.algorithm == PACKING_CONCAT)
        rule.align = 1, rule.max_pieces = 0, rule.long_documents = PACKING_CUT;
    for (uint64_t i = 0; i < rows; i++)
        lengths[i] = data[6 + i] == 255 ? PACKING_NULL : data[6 + i];
    require(mldfi_packing_make(&rule, lengths, rows, &plan, &err) == MLDF_OK);
    for (uint64_t i = 0; i < rows; i++)
        if (lengths[i] == PACKING_NULL)
            lengths[i] = 0;
    check_plan(&plan, lengths, rows);
    mldfi_packing_free(&plan);
    free(lengths);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 1 << 16)
        return 0;
    read_section(data, size);
    if (size > 6)
        make(data, size);
    return 0;
}
