/* From the bits of a record to coefficients, symbol by symbol, with every rule of the format checked: what makes a file again and what a deep
 * verify does. src/kernel/jpeg.h decodes faster and checks what memory safety needs. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "codec/fast_jpeg.h"
#include "codec/memory.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { WINDOW = 1 << FAST_CODE_BITS };

/* By the next FAST_CODE_BITS bits. Every window begins with a word: the codes of a set are complete. */
struct word {
    uint8_t length, size; /* of the word, and of the value that follows it; 0: none does */
    uint8_t run, ends;    /* places to skip before it; blocks that end */
};

struct fast_unpacker {
    const struct fast_layout *layout;
    uint64_t *positions;
    struct word words[FAST_STREAMS][WINDOW];
};

static struct word meaning(unsigned symbol, unsigned length, bool dc) {
    struct word w = {.length = (uint8_t)length};
    if (dc) {
        w.size = (uint8_t)symbol;
    } else if (symbol < FAST_SKIP) {
        w.size = (uint8_t)(symbol % 10 + 1);
        w.run = (uint8_t)(symbol / 10);
    } else if (symbol == FAST_SKIP) {
        w.run = 8;
    } else {
        w.ends = symbol == FAST_END ? 1 : symbol == FAST_END_4 ? 4 : 16;
    }
    return w;
}

static void spread(const struct fast_code *code, bool dc, struct word *out) {
    const unsigned symbols = dc ? FAST_DC_SYMBOLS : FAST_AC_SYMBOLS;
    for (unsigned s = 0; s < symbols; s++)
        for (unsigned i = code->word[s]; code->length[s] && i < WINDOW; i += 1u << code->length[s])
            out[i] = meaning(s, code->length[s], dc);
}

static mldf_status check_checkpoints(const struct fast_unpacker *u, mldf_error *err) {
    const struct fast_grid *g = &u->layout->grid;
    const uint8_t *p = u->layout->checkpoints;
    for (unsigned s = 2; p && s < FAST_STREAMS; s++) {
        const uint64_t *at = u->positions + mldfi_fast_position_at(g, s);
        for (uint32_t r = 0; mldfi_fast_entries(g, s) && r < g->mcus_down; r++, p += 8)
            if (mldfi_load_u64(p) != at[(uint64_t)r * g->segments])
                return mldfi_fail_at(err, MLDF_E_CORRUPT, (uint64_t)FAST_FIXED,
                                     "fast JPEG: the checkpoint of MCU row %" PRIu32 " in stream %u is wrong", r, s);
    }
    return MLDF_OK;
}

mldf_status mldfi_fast_unpack_new(const struct fast_layout *l, struct fast_unpacker **out, mldf_error *err) {
    struct fast_unpacker *u = mldfi_alloc_zero(1, sizeof *u, err);
    *out = u;
    if (!u)
        return MLDF_E_MEMORY;
    u->layout = l;
    u->positions = mldfi_alloc_zero((size_t)mldfi_fast_positions_count(&l->grid), sizeof *u->positions, err);
    mldf_status status = u->positions ? mldfi_fast_positions(l, u->positions, err) : MLDF_E_MEMORY;
    if (status == MLDF_OK)
        status = check_checkpoints(u, err);
    uint64_t pad = l->bits % 8;
    if (status == MLDF_OK && pad && l->stream[l->bits / 8] >> pad)
        status = mldfi_fail_at(err, MLDF_E_CORRUPT, (uint64_t)(l->stream - l->quantiser) + FAST_FIXED + l->bits / 8,
                               "fast JPEG: pad bits that are not zero");
    for (unsigned s = 0; s < FAST_STREAMS && status == MLDF_OK; s++) {
        struct fast_code code;
        if (mldfi_fast_entries(&l->grid, s) == 0)
            continue;
        if (s < 2)
            mldfi_fast_dc_code(s, l->code[s], &code);
        else
            mldfi_fast_ac_code(s - 2, l->code[s], &code);
        spread(&code, s < 2, u->words[s]);
    }
    if (status < 0) {
        mldfi_fast_unpack_free(u);
        *out = NULL;
    }
    return status;
}

void mldfi_fast_unpack_free(struct fast_unpacker *u) {
    if (u)
        free(u->positions);
    free(u);
}

static uint64_t peek(const uint8_t *bits, uint64_t at) {
    return mldfi_load_u64(bits + (at >> 3)) >> (at & 7);
}

static mldf_status wrong(const struct fast_unpacker *u, uint64_t at, uint32_t row, unsigned stream, const char *what,
                         mldf_error *err) {
    const struct fast_layout *l = u->layout;
    return mldfi_fail_at(err, MLDF_E_CORRUPT, (uint64_t)(l->stream - l->quantiser) + FAST_FIXED + at / 8,
                         "fast JPEG: MCU row %" PRIu32 ", stream %u: %s at bit %" PRIu64, row, stream, what, at);
}

static mldf_status read_dc(struct fast_unpacker *u, uint32_t row, unsigned class, int16_t *blocks, mldf_error *err) {
    const struct fast_grid *g = &u->layout->grid;
    const uint64_t *span = u->positions + mldfi_fast_position_at(g, class) + row;
    uint64_t at = span[0], end = span[1];
    size_t count = (size_t)g->mcus_across * g->blocks[class];
    for (size_t i = 0; i < count; i++) {
        if (at >= end)
            return wrong(u, at, row, class, "the row of DCs ends early", err);
        uint64_t bits = peek(u->layout->stream, at);
        struct word w = u->words[class][bits & (WINDOW - 1)];
        int difference = mldfi_fast_extend((uint32_t)(bits >> w.length) & ((1u << w.size) - 1), w.size);
        int before = i < g->lag[class] ? 0 : blocks[64 * (i - g->lag[class])], now = before + difference;
        if (now < INT16_MIN || now > INT16_MAX)
            return wrong(u, at, row, class, "a DC beyond 16 bits", err);
        blocks[64 * i] = (int16_t)now;
        at += w.length + w.size;
    }
    return at == end ? MLDF_OK : wrong(u, at, row, class, "the row of DCs does not end where the index says", err);
}

static mldf_status read_segment(struct fast_unpacker *u, uint32_t row, unsigned stream, uint64_t at, uint64_t end,
                                int16_t *blocks, uint64_t *places, size_t count, mldf_error *err) {
    const unsigned first = stream < 4 ? 1 : FAST_LOW, last = stream < 4 ? FAST_LOW - 1 : 63;
    const uint8_t *stream_bits = u->layout->stream;
    const struct word *words = u->words[stream];
    unsigned place = first;
    int16_t nowhere;
    size_t i = 0;
    /* Whether a symbol is a value, an end or neither cannot be foretold: no branch asks for it. */
    while (i < count) {
        if (at >= end)
            return wrong(u, at, row, stream, "the segment ends early", err);
        const uint64_t bits = peek(stream_bits, at);
        const struct word w = words[bits & (WINDOW - 1)];
        const unsigned is_value = w.size != 0;
        at += w.length + w.size;
        place += w.run;
        if (place + is_value > last + 1)
            return wrong(u, at, row, stream, "a block of too many coefficients", err);
        int16_t *to = is_value ? blocks + 64 * i + place : &nowhere;
        const int rest = (int)((bits >> w.length) & ((UINT64_C(1) << w.size) - 1)), half = (1 << w.size) >> 1;
        *to = (int16_t)(rest - (rest < half ? 2 * half - 1 : 0));
        places[i] |= (uint64_t)is_value << (place & 63);
        place = w.ends ? first : place + is_value;
        i += w.ends;
    }
    if (i > count)
        return wrong(u, at, row, stream, "more ends of blocks than blocks", err);
    return at == end ? MLDF_OK : wrong(u, at, row, stream, "the segment does not end where the index says", err);
}

mldf_status mldfi_fast_unpack_row(struct fast_unpacker *u, uint32_t row, int16_t *blocks[2], uint64_t *places[2],
                                  mldf_error *err) {
    const struct fast_grid *g = &u->layout->grid;
    for (unsigned class = 0; class < g->classes; class ++) {
        memset(blocks[class], 0, (size_t)g->mcus_across * g->blocks[class] * 128);
        memset(places[class], 0, (size_t)g->mcus_across * g->blocks[class] * sizeof *places[class]);
    }
    for (unsigned stream = 0; stream < FAST_STREAMS; stream++) {
        unsigned class = stream & 1;
        if (class >= g->classes)
            continue;
        mldf_status status = MLDF_OK;
        if (stream < 2)
            status = read_dc(u, row, class, blocks[class], err);
        const uint64_t *span = u->positions + mldfi_fast_position_at(g, stream) + (uint64_t)row * g->segments;
        for (uint32_t s = 0; stream >= 2 && status == MLDF_OK && s < g->segments; s++) {
            uint32_t from = s * g->segment, left = g->mcus_across - from;
            uint32_t mcus = left < g->segment ? left : g->segment;
            status =
                read_segment(u, row, stream, span[s], span[s + 1], blocks[class] + (size_t)from * g->blocks[class] * 64,
                             places[class] + (size_t)from * g->blocks[class], (size_t)mcus * g->blocks[class], err);
        }
        if (status < 0)
            return status;
    }
    return MLDF_OK;
}
