/* color.h: values of 8 bits by tables that lie in registers, 64 at a time. */
#if defined(__AVX512VBMI__)
#include <immintrin.h>
#include <string.h>

#include "kernel/color.h"
#include "kernel/variants.h"

struct table {
    __m512i part[4];
};

static struct table load_table(const uint8_t table[256]) {
    struct table t;
    memcpy(t.part, table, 256);
    return t;
}

/* Two halves of 128, chosen by the highest bit. */
static inline __m512i look_up(const struct table *t, __m512i v) {
    __m512i low = _mm512_permutex2var_epi8(t->part[0], v, t->part[1]);
    __m512i high = _mm512_permutex2var_epi8(t->part[2], v, t->part[3]);
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(v), low, high);
}

/* n values beside each other by one table. */
static void run_of(uint8_t *d, size_t n, const uint8_t table[256]) {
    struct table t = load_table(table);
    for (size_t k = 0; k < n; k += 64) {
        __mmask64 some = n - k < 64 ? ((__mmask64)1 << (n - k)) - 1 : ~(__mmask64)0;
        _mm512_mask_storeu_epi8(d + k, some, look_up(&t, _mm512_maskz_loadu_epi8(some, d + k)));
    }
}

/* 64 bytes, or as many as `some` says, the first of which is of colour a, the next of b. */
static inline void run_of_three(uint8_t *d, __mmask64 some, const struct table *a, const struct table *b,
                                const struct table *c) {
    const __mmask64 third = 0x9249249249249249; /* every third bit, beginning with the first */
    __m512i v = some == ~(__mmask64)0 ? _mm512_loadu_si512(d) : _mm512_maskz_loadu_epi8(some, d);
    __m512i out = _mm512_mask_blend_epi8(third << 1, look_up(a, v), look_up(b, v));
    out = _mm512_mask_blend_epi8(third << 2, out, look_up(c, v));
    if (some == ~(__mmask64)0)
        _mm512_storeu_si512(d, out);
    else
        _mm512_mask_storeu_epi8(d, some, out);
}

/* Colours in turn: byte k is of colour k % 3, and 64 leaves 1. */
static void run_of_rgb(uint8_t *d, size_t n, const uint8_t table[3][256]) {
    const __mmask64 all = ~(__mmask64)0;
    struct table r = load_table(table[0]), g = load_table(table[1]), b = load_table(table[2]);
    size_t k = 0;
    for (; k + 192 <= n; k += 192) {
        run_of_three(d + k, all, &r, &g, &b);
        run_of_three(d + k + 64, all, &g, &b, &r);
        run_of_three(d + k + 128, all, &b, &r, &g);
    }
    for (size_t turn = 0; k < n; k += 64, turn++) {
        __mmask64 some = n - k < 64 ? ((__mmask64)1 << (n - k)) - 1 : all;
        if (turn == 0)
            run_of_three(d + k, some, &r, &g, &b);
        else if (turn == 1)
            run_of_three(d + k, some, &g, &b, &r);
        else
            run_of_three(d + k, some, &b, &r, &g);
    }
}

void mldfi_byte_tables_avx512vbmi(const struct pixels *p, const uint8_t table[3][256]) {
    size_t colors = mldfi_colors(p);
    uint8_t *d = p->data;
    bool alike = colors == 1 || (memcmp(table[0], table[1], 256) == 0 && memcmp(table[0], table[2], 256) == 0);
    if (alike && p->channels == colors)
        run_of(d, p->count * colors, table[0]);
    else if (p->channels == 3 && p->step == 3)
        run_of_rgb(d, p->count * 3, table);
    else if (p->step == 1)
        for (size_t c = 0; c < colors; c++)
            run_of(d + c * p->plane, p->count, table[c]);
    else
        mldfi_byte_tables_portable(p, table);
}
#else
typedef int mldfi_not_for_this_processor; /* a file of C is not empty */
#endif
