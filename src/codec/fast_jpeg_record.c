/* The record of the fast JPEG store: its fixed part, grid and index. Everything that a payload claims is compared with its size here, before
 * memory is touched. fast_jpeg_unpack.c reads the bits. */
#include <inttypes.h>
#include <string.h>

#include "codec/fast_jpeg.h"
#include "util/bytes.h"
#include "util/error.h"

/* Four groups of 16 places, each two tiles of 4 columns x 2 rows of the natural 8 x 8, by zigzag rank inside a group. The first is the low 4 x 4. */
const uint8_t mldfi_fast_scan[64] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 25, 18, 11, 19, 26, 27, /* tiles at 0, 16 */
    32, 4,  5,  12, 33, 40, 41, 34, 13, 6,  7,  14, 35, 42, 43, 15, /* 4, 32 */
    48, 20, 21, 28, 49, 56, 57, 50, 29, 22, 23, 30, 51, 58, 59, 31, /* 20, 48 */
    36, 37, 44, 52, 45, 38, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63, /* 36, 52 */
};
const uint8_t mldfi_fast_zigzag[64] = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
                                       12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
                                       35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
                                       58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

/* ---- Codes ---------------------------------------------------------------------------------------------------------------- */

void mldfi_fast_words(struct fast_code *code, unsigned symbols) {
    uint32_t next = 0;
    for (unsigned length = 1; length <= FAST_CODE_BITS; length++, next <<= 1)
        for (unsigned s = 0; s < symbols; s++) {
            if (code->length[s] != length)
                continue;
            uint32_t word = 0;
            for (unsigned b = 0; b < length; b++)
                word |= (next >> b & 1) << (length - 1 - b);
            code->word[s] = (uint16_t)word;
            next++;
        }
}

static void expand(const uint8_t *nibbles, unsigned symbols, struct fast_code *out) {
    memset(out, 0, sizeof *out);
    for (unsigned s = 0; s < symbols; s++)
        out->length[s] = nibbles[s / 2] >> (s % 2 * 4) & 15;
    mldfi_fast_words(out, symbols);
}

void mldfi_fast_ac_code(unsigned kind, unsigned number, struct fast_code *out) {
    expand(mldfi_fast_ac_set[kind][number], FAST_AC_SYMBOLS, out);
}

void mldfi_fast_dc_code(unsigned class, unsigned number, struct fast_code *out) {
    expand(mldfi_fast_dc_set[class][number], FAST_DC_SYMBOLS, out);
}

/* ---- Grid ----------------------------------------------------------------------------------------------------------------- */

/* Blocks of the first component in an MCU. */
static const struct {
    uint8_t h, v;
} factors[FAST_SAMPLINGS] = {[FAST_GRAY] = {1, 1}, [FAST_444] = {1, 1}, [FAST_422] = {2, 1},
                             [FAST_420] = {2, 2},  [FAST_440] = {1, 2}, [FAST_411] = {4, 1}};

enum fast_sampling mldfi_fast_sampling(unsigned h, unsigned v) {
    unsigned s = FAST_444;
    while (s < FAST_SAMPLINGS && (factors[s].h != h || factors[s].v != v))
        s++;
    return (enum fast_sampling)s;
}

void mldfi_fast_grid(struct fast_grid *g, enum fast_sampling sampling, uint32_t width, uint32_t height,
                     unsigned segment_log2) {
    memset(g, 0, sizeof *g);
    g->width = width;
    g->height = height;
    g->sampling = sampling;
    g->components = sampling == FAST_GRAY ? 1 : 3;
    g->classes = sampling == FAST_GRAY ? 1 : 2;
    g->h = factors[sampling].h;
    g->v = factors[sampling].v;
    g->blocks[0] = g->h * g->v;
    g->blocks[1] = 2;
    g->lag[0] = g->v; /* an MCU's blocks go down, then right */
    g->lag[1] = 2;
    g->mcus_across = (width + 8 * g->h - 1) / (8 * g->h);
    g->mcus_down = (height + 8 * g->v - 1) / (8 * g->v);
    g->segment = UINT32_C(1) << segment_log2;
    g->segments = (g->mcus_across + g->segment - 1) / g->segment;
}

struct fast_place mldfi_fast_place(const struct fast_grid *g, unsigned class, unsigned i) {
    if (class)
        return (struct fast_place){(uint8_t)(1 + i), 0, 0};
    return (struct fast_place){0, (uint8_t)(i / g->v), (uint8_t)(i % g->v)};
}

/* ---- Fixed part ----------------------------------------------------------------------------------------------------------- */

static mldf_status unknown(mldf_error *err, uint64_t at, const char *what, unsigned value) {
    return mldfi_fail_at(err, MLDF_E_FEATURE, at, "fast JPEG: %s %u is not known here", what, value);
}

static mldf_status check_known(const uint8_t *d, mldf_error *err) {
    if (d[0] != FAST_VERSION)
        return unknown(err, 0, "version", d[0]);
    if (d[1] != FAST_SET)
        return unknown(err, 1, "table set", d[1]);
    if (d[2] >= FAST_SAMPLINGS)
        return unknown(err, 2, "sampling", d[2]);
    if (d[3] >= FAST_COLOURS)
        return unknown(err, 3, "colour", d[3]);
    if (d[5] & ~(FAST_WIDE | FAST_PROGRESSIVE))
        return unknown(err, 5, "flag", d[5]);
    return MLDF_OK;
}

static mldf_status corrupt(mldf_error *err, uint64_t at, const char *what) {
    return mldfi_fail_at(err, MLDF_E_CORRUPT, at, "fast JPEG: %s", what);
}

static mldf_status check_members(const uint8_t *d, struct fast_layout *l, mldf_error *err) {
    const struct fast_grid *g = &l->grid;
    if ((l->colour == FAST_NO_COLOUR) != (g->sampling == FAST_GRAY))
        return corrupt(err, 3, "its colour contradicts its sampling");
    if (d[4] > FAST_MAX_SEGMENT)
        return corrupt(err, 4, "segments of more than 64 MCUs");
    if (g->width == 0 || g->height == 0)
        return corrupt(err, 18, "no pixels");
    for (unsigned i = 0; i < FAST_STREAMS; i++) {
        bool used = mldfi_fast_entries(g, i) > 0;
        if (l->code[i] >= FAST_CODES || (!used && l->code[i] != 0))
            return corrupt(err, 6 + i, "a code number that is not one of the set");
        if (l->entry_bits[i] > 32 || used != (l->entry_bits[i] > 0))
            return corrupt(err, 12 + i, "entries of the index of a wrong width");
    }
    unsigned next = 0;
    for (unsigned i = 0; i < 3; i++) {
        if (l->quantiser_of[i] > next || (i >= g->components && l->quantiser_of[i]))
            return corrupt(err, 42 + i, "a component without its quantisers");
        next += l->quantiser_of[i] == next && i < g->components;
    }
    l->quantisers = next;
    if (d[45] || d[46] || d[47])
        return corrupt(err, 45, "bytes that must be zero");
    return MLDF_OK;
}

/* Sums in 64 bits cannot wrap: each part is less than 2^61. */
static mldf_status check_sizes(size_t bytes, struct fast_layout *l, const uint8_t *d, mldf_error *err) {
    const struct fast_grid *g = &l->grid;
    uint64_t index_bits = 0, check = 0, segments = (uint64_t)g->mcus_down * g->segments;
    for (unsigned i = 0; i < FAST_STREAMS; i++)
        index_bits += mldfi_fast_entries(g, i) * l->entry_bits[i];
    if (segments > FAST_MANY_SEGMENTS)
        check = (uint64_t)g->mcus_down * 2 * g->classes * 8;
    if ((index_bits + 7) / 8 != l->index_bytes)
        return corrupt(err, 30, "an index of another size than its entries need");
    if (l->header_bytes < FAST_LEAST_HEADER)
        return corrupt(err, 22, "a header of less than 64 bytes");
    if (l->bits > UINT64_C(1) << 60)
        return corrupt(err, 34, "more bits than bytes");
    uint64_t at = FAST_FIXED + 64 * (uint64_t)l->quantisers, stream_bytes = (l->bits + 7) / 8;
    if (at + check + l->index_bytes + stream_bytes + l->header_bytes + l->tail_bytes != bytes)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, 22,
                             "fast JPEG: its parts have %" PRIu64 " bytes, and the payload has %zu",
                             at + check + l->index_bytes + stream_bytes + l->header_bytes + l->tail_bytes, bytes);
    l->quantiser = d + FAST_FIXED;
    l->checkpoints = check ? d + at : NULL;
    l->index = d + at + check;
    l->stream = l->index + l->index_bytes;
    l->header = l->stream + stream_bytes;
    l->tail = l->header + l->header_bytes;
    return MLDF_OK;
}

mldf_status mldfi_fast_parse(const uint8_t *d, size_t bytes, struct fast_layout *l, mldf_error *err) {
    memset(l, 0, sizeof *l);
    if (bytes < FAST_FIXED)
        return mldfi_fail_at(err, MLDF_E_TRUNCATED, bytes, "fast JPEG: %zu bytes; its fixed part has %d", bytes,
                             FAST_FIXED);
    TRY(check_known(d, err));
    l->colour = (enum fast_colour)d[3];
    l->segment_log2 = d[4];
    l->flags = d[5];
    memcpy(l->code, d + 6, sizeof l->code);
    memcpy(l->entry_bits, d + 12, sizeof l->entry_bits);
    l->header_bytes = mldfi_load_u32(d + 22);
    l->tail_bytes = mldfi_load_u32(d + 26);
    l->index_bytes = mldfi_load_u32(d + 30);
    l->bits = mldfi_load_u64(d + 34);
    memcpy(l->quantiser_of, d + 42, sizeof l->quantiser_of);
    mldfi_fast_grid(&l->grid, (enum fast_sampling)d[2], mldfi_load_u16(d + 18), mldfi_load_u16(d + 20),
                    d[4] > FAST_MAX_SEGMENT ? 0 : d[4]);
    mldf_status status = check_members(d, l, err);
    return status < 0 ? status : check_sizes(bytes, l, d, err);
}

/* ---- Index ---------------------------------------------------------------------------------------------------------------- */

uint64_t mldfi_fast_positions_count(const struct fast_grid *grid) {
    return mldfi_fast_position_at(grid, FAST_STREAMS) + 1;
}

/* The header that follows the bits makes every 8-byte load stay inside the payload. */
mldf_status mldfi_fast_positions(const struct fast_layout *l, uint64_t *out, mldf_error *err) {
    uint64_t at = 0, sum = 0;
    for (unsigned s = 0; s < FAST_STREAMS; s++) {
        const unsigned width = l->entry_bits[s];
        const uint64_t mask = (UINT64_C(1) << width) - 1;
        for (uint64_t n = mldfi_fast_entries(&l->grid, s); n > 0; n--, at += width) {
            *out++ = sum;
            sum += mldfi_load_u64(l->index + (at >> 3)) >> (at & 7) & mask;
        }
    }
    *out = sum;
    if (sum != l->bits)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, 34,
                             "fast JPEG: the index counts %" PRIu64 " bits, and the fixed part says %" PRIu64, sum,
                             l->bits);
    if (at % 8 && l->index[at >> 3] >> (at & 7))
        return corrupt(err, (uint64_t)FAST_FIXED, "pad bits of the index that are not zero");
    return MLDF_OK;
}
