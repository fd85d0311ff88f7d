/* Tables for the loops of jpeg.h. */
#include "kernel/jpeg.h"

#include <string.h>

/* Symbols as in src/codec/fast_jpeg.h. */
enum { SKIP = 80, END = 81, END_4 = 82, END_16 = 83, AC_SYMBOLS = 84, DC_SYMBOLS = 12 };

static int extend(uint32_t bits, unsigned size) {
    return size == 0 ? 0 : bits >> (size - 1) ? (int)bits : (int)bits - (1 << size) + 1;
}

/* What one window holds: symbols as long as they are whole, fit eight places, and no value follows the end of a block. */
static void fill_entry(const uint8_t *length, const uint8_t *symbol_at, unsigned window, unsigned stride,
                       struct jpeg_window *out) {
    int8_t values[8] = {0};
    unsigned places = 0, used = 0, ends = 0;
    for (;;) {
        unsigned s = symbol_at[window >> used], l = length[s];
        if (used + l > JPEG_WINDOW_BITS)
            break;
        unsigned more = s == END ? 1 : s == END_4 ? 4 : s == END_16 ? 16 : 0;
        if (more) {
            if (ends + more > JPEG_MOST_ENDS)
                break;
            ends += more;
            used += l;
            continue;
        }
        if (ends)
            break;
        if (s == SKIP) {
            if (places > 0)
                break;
            places = 8;
            used += l;
            continue;
        }
        unsigned size = s % 10 + 1, run = s / 10;
        if (used + l + size > JPEG_WINDOW_BITS || size > 7) {
            if (used == 0) {
                out->meta[window] = l | 0x40 | run << 7 | size << 18;
                out->values[window] = 0;
                return;
            }
            break;
        }
        if (places + run + 1 > 8)
            break;
        places += run + 1;
        values[places - 1] = (int8_t)extend(window >> (used + l) & ((1u << size) - 1), size);
        used += l + size;
    }
    memcpy(&out->values[window], values, 8);
    uint32_t mask = ends ? 0u - stride : ~0u;
    out->meta[window] = used | (places + stride * ends) << 7 | mask << 18;
}

void mldfi_jpeg_window(const uint8_t *length, const uint16_t *word, unsigned stride, struct jpeg_window *out) {
    uint8_t symbol_at[JPEG_WINDOW] = {0};
    for (unsigned s = 0; s < AC_SYMBOLS; s++)
        for (unsigned i = word[s]; length[s] && i < JPEG_WINDOW; i += 1u << length[s])
            symbol_at[i] = (uint8_t)s;
    for (unsigned i = 0; i < JPEG_WINDOW; i++)
        fill_entry(length, symbol_at, i, stride, out);
}

void mldfi_jpeg_dc_window(const uint8_t *length, const uint16_t *word, struct jpeg_dc_window *out) {
    memset(out, 0, sizeof *out);
    for (unsigned s = 0; s < DC_SYMBOLS; s++)
        for (unsigned i = word[s]; length[s] && i < JPEG_WINDOW; i += 1u << length[s]) {
            bool whole = length[s] + s <= JPEG_WINDOW_BITS;
            out->entry[i].value = whole ? (int16_t)extend(i >> length[s] & ((1u << s) - 1), s) : 0;
            out->entry[i].length = (uint8_t)(whole ? length[s] + s : length[s]);
            out->entry[i].size = (uint8_t)(whole ? 0 : s);
        }
}

/* A group of 16 places is two tiles of 4 columns x 2 rows; these are their first natural places. */
static const uint8_t tile_at[4][2] = {{0, 16}, {4, 32}, {20, 48}, {36, 52}};

void mldfi_jpeg_quantisers(const uint8_t *first, const uint8_t *second, const uint8_t *zigzag, const uint8_t *scan,
                           struct jpeg_quantisers *out) {
    for (unsigned k = 0; k < 64; k++) {
        out->natural[0][zigzag[k]] = first[k];
        out->natural[1][zigzag[k]] = second[k];
    }
    memcpy(out->scan, scan, 64);
    memset(out->shuffle, 0x80, sizeof out->shuffle);
    for (unsigned i = 0; i < 64; i++) {
        unsigned group = i / 16, half = i / 8 % 2, tile = 0, at = scan[i] - tile_at[group][0];
        if (scan[i] < tile_at[group][0] || at >= 16 || at % 8 >= 4) {
            tile = 1;
            at = scan[i] - tile_at[group][1];
        }
        unsigned to = at / 8 * 4 + at % 8;
        uint8_t *shuffle = out->shuffle[group * 4 + tile * 2 + half];
        shuffle[2 * to] = (uint8_t)(2 * (i % 8));
        shuffle[2 * to + 1] = (uint8_t)(2 * (i % 8) + 1);
    }
}
