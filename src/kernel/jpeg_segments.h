/* The entropy decoder of the fast JPEG store as one text for each instruction set. Needs STORE_VALUES(out, values): eight int8 to eight int16.
 *
 * A window `w` is the next bits with a mark in the highest: leading zeros count the bits used. Each group of JPEG_LOOKUPS lookups begins with a
 * load at a position of at most `count` bits, and uses at most 22 bits in each, so that less than 64 bytes behind the bits are read. */
#ifndef MLDF_KERNEL_JPEG_SEGMENTS_H
#define MLDF_KERNEL_JPEG_SEGMENTS_H

#include "kernel/jpeg.h"
#include "util/bytes.h"

#define MARK (UINT64_C(1) << 63)
#define ALWAYS static inline __attribute__((always_inline))

ALWAYS uint64_t window_at(const uint8_t *bits, uint64_t at) {
    return mldfi_load_u64(bits + (at >> 3)) >> (at & 7) | MARK;
}
ALWAYS int extend(uint32_t bits, unsigned size) {
    return bits >> (size - 1) ? (int)bits : (int)bits - (1 << size) + 1;
}

struct lane {
    uint64_t at, place, window;
};

/* A value that the window does not hold. Rare. */
static __attribute__((noinline)) struct lane look_slowly(const uint8_t *bits, uint32_t m, int16_t *out, struct lane l) {
    const unsigned length = m & 63, size = m >> 18;
    l.at += (uint64_t)__builtin_clzll(l.window);
    uint32_t value = (uint32_t)(window_at(bits, l.at) >> length) & ((1u << size) - 1);
    l.place += (m >> 7 & 7) + 1;
    out[l.place] = (int16_t)extend(value, size);
    l.at += length + size;
    l.window = window_at(bits, l.at);
    return l;
}

#define LOOK(X) \
    do { \
        const uint64_t i_ = w##X & (JPEG_WINDOW - 1); \
        const int32_t m_ = (int32_t)t->meta[i_]; \
        if (__builtin_expect(m_ & 0x40, 0)) { \
            struct lane l_ = look_slowly(bits, (uint32_t)m_, out, (struct lane){p##X, k##X, w##X}); \
            p##X = l_.at; \
            k##X = l_.place; \
            w##X = l_.window; \
        } else { \
            STORE_VALUES(out + 1 + k##X, t->values[i_]); \
            w##X >>= m_ & 63; \
            k##X = (k##X + ((uint32_t)m_ >> 7 & 0x7ff)) & (uint64_t)(int64_t)(m_ >> 18); \
        } \
    } while (0)
#define FILL(X) w##X = window_at(bits, p##X)
#define USED(X) p##X += (uint64_t)__builtin_clzll(w##X)
#define TAKE(X, JOB) \
    p##X = (JOB)->at; \
    k##X = (JOB)->place; \
    e##X = (JOB)->end

ALWAYS bool run_one(const uint8_t *bits, uint64_t count, const struct jpeg_window *t, int16_t *out,
                    const struct jpeg_job *job) {
    uint64_t pA = job->at, kA = job->place, wA;
    const uint64_t eA = job->end;
    while (kA < eA) {
        if (pA > count)
            return false;
        FILL(A);
        for (int i = 0; i < JPEG_LOOKUPS; i++)
            LOOK(A);
        USED(A);
    }
    return true;
}

/* A lane whose job is done takes the next one; without one the loop ends. */
#define NEXT(X) \
    if (k##X >= e##X) { \
        if (next == jobs_count) \
            break; \
        TAKE(X, jobs + next); \
        next++; \
    } else if (p##X > count) { \
        return false; \
    }

ALWAYS bool run_segments(const uint8_t *bits, uint64_t count, const struct jpeg_window *t, int16_t *out,
                         struct jpeg_job *jobs, size_t jobs_count) {
    size_t next = 4;
    if (jobs_count < 4) {
        for (size_t i = 0; i < jobs_count; i++)
            if (!run_one(bits, count, t, out, jobs + i))
                return false;
        return true;
    }
    uint64_t pA, kA, eA, wA, pB, kB, eB, wB, pC, kC, eC, wC, pD, kD, eD, wD;
    TAKE(A, jobs);
    TAKE(B, jobs + 1);
    TAKE(C, jobs + 2);
    TAKE(D, jobs + 3);
    if ((pA > count) | (pB > count) | (pC > count) | (pD > count))
        return false;
    for (;;) {
        FILL(A);
        FILL(B);
        FILL(C);
        FILL(D);
#pragma GCC unroll 4
        for (int i = 0; i < JPEG_LOOKUPS; i++) {
            LOOK(A);
            LOOK(B);
            LOOK(C);
            LOOK(D);
        }
        USED(A);
        USED(B);
        USED(C);
        USED(D);
        if (__builtin_expect((kA >= eA) | (kB >= eB) | (kC >= eC) | (kD >= eD) | (pA > count) | (pB > count) |
                                 (pC > count) | (pD > count),
                             0)) {
            NEXT(A)
            NEXT(B)
            NEXT(C)
            NEXT(D)
        }
    }
    /* What is left of the other three, and of jobs that were taken a moment ago. */
    const struct jpeg_job left[4] = {{pA, (uint32_t)kA, (uint32_t)eA},
                                     {pB, (uint32_t)kB, (uint32_t)eB},
                                     {pC, (uint32_t)kC, (uint32_t)eC},
                                     {pD, (uint32_t)kD, (uint32_t)eD}};
    for (int i = 0; i < 4; i++)
        if (!run_one(bits, count, t, out, &left[i]))
            return false;
    return true;
}

#define DC_LOOK(X, N) \
    do { \
        const uint64_t i_ = w##X & (JPEG_WINDOW - 1); \
        const unsigned size_ = t->entry[i_].size; \
        int v_ = t->entry[i_].value; \
        w##X >>= t->entry[i_].length; \
        if (__builtin_expect(size_ != 0, 0)) { \
            USED(X); \
            v_ = extend((uint32_t)window_at(bits, p##X) & ((1u << size_) - 1), size_); \
            p##X += size_; \
            FILL(X); \
        } \
        b##X[(N) & (lag - 1)] += v_; \
        o##X[N] = (int16_t)b##X[(N) & (lag - 1)]; \
    } while (0)

ALWAYS bool run_dcs(const uint8_t *bits, uint64_t limit, const uint64_t at[4], const struct jpeg_dc_window *t,
                    size_t count, const unsigned lag, int16_t *out, size_t stride) {
    uint64_t pA = at[0], pB = at[1], pC = at[2], pD = at[3], wA, wB, wC, wD;
    int16_t *oA = out, *oB = out + stride, *oC = out + 2 * stride, *oD = out + 3 * stride;
    int bA[2] = {0}, bB[2] = {0}, bC[2] = {0}, bD[2] = {0};
    for (size_t i = 0; i < count; i += 4, oA += 4, oB += 4, oC += 4, oD += 4) {
        if ((pA > limit) | (pB > limit) | (pC > limit) | (pD > limit))
            return false;
        FILL(A);
        FILL(B);
        FILL(C);
        FILL(D);
#pragma GCC unroll 4
        for (int n = 0; n < 4; n++) {
            DC_LOOK(A, n);
            DC_LOOK(B, n);
            DC_LOOK(C, n);
            DC_LOOK(D, n);
        }
        USED(A);
        USED(B);
        USED(C);
        USED(D);
    }
    return true;
}

#endif
