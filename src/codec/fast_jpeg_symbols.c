/* Blocks of coefficients become the symbols of the record's streams, once, while they are also counted and tried: fast_jpeg_write.c chooses the codes by
 * the counts, and puts words in the place of symbols.
 *
 * Decoders need not agree on coefficients that no encoder writes: libjpeg-turbo's C code and its vector code keep different numbers of bits. So
 * each block is tried: what it becomes on the way to pixels must fit 16 bits, and the pixels ten. */
#include <stdlib.h>
#include <string.h>

#include "codec/fast_jpeg.h"
#include "util/buffer.h"
#include "util/error.h"

/* ---- The proof of pixels --------------------------------------------------------------------------------------------------- */

/* One pass of the inverse DCT of jidctint.c over eight values a stride apart; results in 13 bits more. */
static void pass(const int32_t *in, size_t stride, int64_t out[8]) {
    int64_t x[8];
    for (unsigned i = 0; i < 8; i++)
        x[i] = in[i * stride];
    int64_t e0 = (x[0] + x[4]) * 8192, e1 = (x[0] - x[4]) * 8192;
    int64_t e3 = x[2] * (4433 + 6270) + x[6] * 4433, e2 = x[2] * 4433 + x[6] * (4433 - 15137);
    int64_t o0 = x[1] * 2260 - x[3] * 6436 + x[5] * 9633 - x[7] * 11363;
    int64_t o1 = x[1] * 6437 - x[3] * 11362 + x[5] * 2261 + x[7] * 9633;
    int64_t o2 = x[1] * 9633 - x[3] * 2259 - x[5] * 11362 - x[7] * 6436;
    int64_t o3 = x[1] * 11363 + x[3] * 9633 + x[5] * 6437 + x[7] * 2260;
    const int64_t even[4] = {e0 + e3, e1 + e2, e1 - e2, e0 - e3}, odd[4] = {o3, o2, o1, o0};
    for (unsigned i = 0; i < 4; i++) {
        out[i] = even[i] + odd[i];
        out[7 - i] = even[i] - odd[i];
    }
}

/* Sums of absolute values bound whatever order a decoder adds in, at full size and at the reduced ones, whose first pass multiplies by less than six. */
static bool decodes_alike(const int16_t *natural, const uint8_t *quantiser) {
    int32_t value[64], middle[64];
    int64_t sums[8];
    for (unsigned k = 0; k < 64; k++)
        value[mldfi_fast_zigzag[k]] = natural[mldfi_fast_zigzag[k]] * quantiser[k];
    for (unsigned x = 0; x < 8; x++) {
        int64_t column = 0;
        for (unsigned y = 0; y < 8; y++)
            column += abs(value[8 * y + x]);
        if (column * 6 > INT16_MAX)
            return false;
        pass(value + x, 8, sums);
        for (unsigned y = 0; y < 8; y++)
            middle[8 * y + x] = (int32_t)((sums[y] + 1024) >> 11);
    }
    for (unsigned y = 0; y < 8; y++) {
        int64_t row = 0;
        for (unsigned x = 0; x < 8; x++)
            row += abs(middle[8 * y + x]);
        if (row > INT16_MAX)
            return false;
        pass(middle + 8 * (size_t)y, 1, sums);
        for (unsigned x = 0; x < 8; x++) {
            int64_t pixel = (sums[x] + (1 << 17)) >> 18;
            if (pixel < -480 || pixel > 479)
                return false;
        }
    }
    return true;
}

/* ---- Symbols --------------------------------------------------------------------------------------------------------------- */

struct fast_taker {
    struct fast_source *source;
    uint64_t turn[8][256];       /* bytes of a word of natural places → places of the record */
    uint16_t weight[3][64];      /* quantisers by component and place */
    const uint8_t *quantiser[3]; /* in JPEG's order */
};

/* Where the symbols of a stream go. Ends are kept back, so that those of empty blocks join them. */
struct lane {
    uint32_t *to, *counts;
    unsigned ends;
};

mldf_status mldfi_fast_taker_new(struct fast_source *source, struct fast_taker **out, mldf_error *err) {
    struct fast_taker *t = mldfi_alloc_zero(1, sizeof *t, err);
    uint8_t place[64];
    *out = t;
    if (!t)
        return MLDF_E_MEMORY;
    t->source = source;
    for (unsigned k = 0; k < 64; k++)
        place[mldfi_fast_scan[k]] = (uint8_t)k;
    for (unsigned byte = 0; byte < 8; byte++)
        for (unsigned v = 1; v < 256; v++)
            t->turn[byte][v] = t->turn[byte][v & (v - 1)] | UINT64_C(1) << place[8 * byte + (unsigned)__builtin_ctz(v)];
    for (unsigned c = 0; c < source->grid.components; c++) {
        t->quantiser[c] = source->quantiser[source->quantiser_of[c]];
        for (unsigned k = 0; k < 64; k++)
            t->weight[c][place[mldfi_fast_zigzag[k]]] = t->quantiser[c][k];
    }
    return MLDF_OK;
}

void mldfi_fast_taker_free(struct fast_taker *t) {
    free(t);
}

static inline void add(struct lane *l, unsigned symbol, int value, unsigned size) {
    l->counts[symbol]++;
    *l->to++ = symbol | (uint32_t)(value + (value >> 31 & ((1 << size) - 1))) << FAST_SYMBOL_BITS;
}

static void end_blocks(struct lane *l) {
    for (; l->ends >= 16; l->ends -= 16)
        add(l, FAST_END_16, 0, 0);
    for (; l->ends >= 4; l->ends -= 4)
        add(l, FAST_END_4, 0, 0);
    for (; l->ends; l->ends--)
        add(l, FAST_END, 0, 0);
}

/* A bit for each coefficient that is not zero, four at a time. */
static inline uint64_t find_places(const struct fast_taker *t, const int16_t *natural) {
    const uint64_t low = UINT64_C(0x7fff7fff7fff7fff), gather = UINT64_C(0x0001000200040008);
    uint64_t set = 0, out = 0;
    for (unsigned at = 0; at < 64; at += 4) {
        uint64_t four;
        memcpy(&four, natural + at, sizeof four);
        const uint64_t ones = (((four & low) + low) | four) >> 15 & UINT64_C(0x0001000100010001);
        set |= (ones * gather >> 48) << at;
    }
    for (unsigned byte = 0; byte < 8; byte++)
        out |= t->turn[byte][set >> (8 * byte) & 255];
    return out;
}

/* Returns the largest size. */
static inline unsigned add_band(struct lane *l, const int16_t *natural, uint64_t places, unsigned next,
                                const uint16_t *weight, uint32_t *sum) {
    uint32_t all = 0;
    if (places)
        end_blocks(l);
    for (; places; places &= places - 1) {
        const unsigned place = (unsigned)__builtin_ctzll(places);
        const int v = natural[mldfi_fast_scan[place]];
        const unsigned most = (unsigned)abs(v), size = 32 - (unsigned)__builtin_clz(most);
        unsigned run = place - next;
        for (; run >= 8; run -= 8)
            add(l, FAST_SKIP, 0, 0);
        if (size > 10)
            return size;
        add(l, run * 10 + size - 1, v, size);
        all |= most;
        *sum += most * weight[place];
        next = place + 1;
    }
    l->ends++;
    return mldfi_fast_size((int)all);
}

static enum fast_reason take_block(const struct fast_taker *t, unsigned component, const int16_t *natural,
                                   struct lane *low, struct lane *high) {
    enum { SAFE = 1900 }; /* a sum of absolute values for which no decoder comes near a limit */
    const uint64_t places = find_places(t, natural), lower = (UINT64_C(1) << FAST_LOW) - 1;
    const uint16_t *weight = t->weight[component];
    uint32_t sum = (uint32_t)abs(natural[0]) * weight[0];
    const unsigned low_size = add_band(low, natural, places & lower & ~UINT64_C(1), 1, weight, &sum);
    const unsigned high_size = add_band(high, natural, places & ~lower, FAST_LOW, weight, &sum);
    if (low_size > 10 || high_size > 10)
        return FAST_VALUES;
    t->source->wide |= high_size > 7;
    return sum <= SAFE || decodes_alike(natural, t->quantiser[component]) ? FAST_TAKEN : FAST_RANGE;
}

/* ---- Rows ------------------------------------------------------------------------------------------------------------------ */

/* Room for the symbols of a row: in each band at most one for each place and one for the end of a block. */
static mldf_status open_lane(struct fast_source *s, unsigned stream, struct lane *out, mldf_error *err) {
    static const uint8_t most[FAST_STREAMS] = {1, 1, FAST_LOW, FAST_LOW, 65 - FAST_LOW, 65 - FAST_LOW};
    const size_t blocks = (size_t)s->grid.mcus_across * s->grid.blocks[stream & 1];
    uint8_t *to;
    TRY(mldfi_buffer_extend(&s->symbols[stream], blocks * most[stream] * sizeof(uint32_t), &to, err));
    *out = (struct lane){(uint32_t *)(void *)to, stream < 2 ? s->counts.dc[stream] : s->counts.ac[stream - 2], 0};
    return MLDF_OK;
}

/* An entry of the index ends here. */
static mldf_status close_entry(struct fast_source *s, unsigned stream, struct lane *l, mldf_error *err) {
    end_blocks(l);
    const uint64_t symbols = (uint64_t)(l->to - (uint32_t *)(void *)s->symbols[stream].data);
    return mldf_buffer_append(&s->ends[stream], &symbols, sizeof symbols, err);
}

static mldf_status take_class(struct fast_taker *t, unsigned class, const int16_t (*const rows[2])[64],
                              enum fast_reason *reason, mldf_error *err) {
    struct fast_source *s = t->source;
    const struct fast_grid *g = &s->grid;
    struct lane dc, low, high;
    int before[2] = {0, 0};
    mldf_status status = open_lane(s, class, &dc, err);
    if (status == MLDF_OK)
        status = open_lane(s, 2 + class, &low, err);
    if (status == MLDF_OK)
        status = open_lane(s, 4 + class, &high, err);
    for (uint32_t x = 0; status == MLDF_OK && x < g->mcus_across; x++) {
        for (unsigned i = 0; i < g->blocks[class]; i++) {
            const struct fast_place place = mldfi_fast_place(g, class, i);
            const int16_t *natural = class ? rows[i][x] : rows[place.y][(size_t)x * g->h + place.x];
            const unsigned slot = i % g->lag[class];
            const int difference = natural[0] - before[slot];
            const unsigned size = mldfi_fast_size(difference);
            *reason = size < FAST_DC_SYMBOLS ? take_block(t, place.component, natural, &low, &high) : FAST_VALUES;
            if (*reason != FAST_TAKEN)
                return MLDF_OK;
            add(&dc, size, difference, size);
            before[slot] = natural[0];
        }
        if ((x + 1) % g->segment == 0 || x + 1 == g->mcus_across) {
            status = close_entry(s, 2 + class, &low, err);
            if (status == MLDF_OK)
                status = close_entry(s, 4 + class, &high, err);
        }
    }
    if (status == MLDF_OK)
        status = close_entry(s, class, &dc, err);
    if (status < 0)
        return status;
    s->symbols[class].size = (size_t)((uint8_t *)dc.to - s->symbols[class].data);
    s->symbols[2 + class].size = (size_t)((uint8_t *)low.to - s->symbols[2 + class].data);
    s->symbols[4 + class].size = (size_t)((uint8_t *)high.to - s->symbols[4 + class].data);
    return MLDF_OK;
}

mldf_status mldfi_fast_take_row(struct fast_taker *t, const int16_t (*const rows[4])[64], enum fast_reason *reason,
                                mldf_error *err) {
    mldf_status status = MLDF_OK;
    *reason = FAST_TAKEN;
    for (unsigned class = 0; class < t->source->grid.classes; class ++)
        if (status == MLDF_OK && *reason == FAST_TAKEN)
            status = take_class(t, class, rows + 2 * (size_t) class, reason, err);
    return status;
}
