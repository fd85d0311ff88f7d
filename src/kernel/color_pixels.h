/* Steps of color.h's recolor for pixels of 8-bit RGB, in registers from the first step to the last. The arithmetic is that of color_loops.h, with what
 * cannot happen to whole numbers of 0..255 left out; tests compare the two. Included by color_loops.h where color_lanes.h has an instruction set. */
#include "kernel/color_lanes.h"

struct rgb {
    VF r, g, b;
};

/* Between two steps: held and cut off. Behind the last, store_rgb does it. */
static inline VF held(VF v) {
    return vf_whole(vf_max(vf_min(v, vf_set(255.0f)), vf_set(0.0f)));
}

static inline struct rgb cut(struct rgb p) {
    return (struct rgb){held(p.r), held(p.g), held(p.b)};
}

static inline VF gray_of(struct rgb p) {
    return p.r * vf_set(0.2989f) + p.g * vf_set(0.587f) + p.b * vf_set(0.114f);
}

static inline struct rgb blended(struct rgb p, VF a, VF b) {
    return (struct rgb){p.r * a + b, p.g * a + b, p.b * a + b};
}

static inline struct rgb saturated(struct rgb p, VF a, VF b) {
    VF gray = vf_whole(gray_of(p)) * b;
    return (struct rgb){p.r * a + gray, p.g * a + gray, p.b * a + gray};
}

/* color_loops.h's turn_block. Of the quotients (most - x) / range and (most - y) / range one is 1, as x or y is the least value: one division serves
 * both. For gray both numerators are 0, and 1 and 1 give the same difference. Values and differences that are not 0 are above 2^-9. */
static inline struct rgb turned(struct rgb in, VF turn) {
    const VF hi = vf_set(COLOR_HI_8), lo = vf_set(COLOR_LO_8), one = vf_set(1.0f), zero = vf_set(0.0f);
    const VF tiny = vf_set(0x1p-9f), back = vf_set((float)(255.0 + 1.0 - 1e-3));
    VF r = in.r * hi + in.r * lo, g = in.g * hi + in.g * lo, b = in.b * hi + in.b * lo;
    VF high = vf_max(r, g), low = vf_min(r, g), most = vf_max(high, b), least = vf_min(low, b);
    VF middle = vf_max(low, vf_min(high, b));
    VF range = most - least, s = range / vf_max(most, tiny), part = (most - middle) / vf_max(range, tiny);
    VM red = vm_ge(r, most), green = vm_ge(g, most);
    VF x = vf_pick(red, b, vf_pick(green, r, g)), y = vf_pick(red, g, vf_pick(green, b, r));
    VF base = vf_pick(red, zero, vf_pick(green, vf_set(2.0f), vf_set(4.0f)));
    VF h = vf_pick(vm_ge(least, x), one, part) + base - vf_pick(vm_ge(least, y), one, part);
    h = h * vf_set((float)(1.0 / 6.0)) + one;
    h = vf_pick(vm_ge(h, one), h - one, h) + turn;
    h = vf_pick(vm_lt(h, zero), h + one, vf_pick(vm_ge(h, one), h - one, h));
    VF h6 = h * vf_set(6.0f), sector = vf_whole(h6), sf = s * (h6 - sector), rest = one - s;
    VF q = (one - sf) * most, t = (sf + rest) * most, p = rest * most, v = most;
    VM six = vm_ge(sector, vf_set(6.0f));
    sector = vf_pick(six, zero, sector);
    VM m1 = vm_ge(sector, one), m2 = vm_ge(sector, vf_set(2.0f)), m3 = vm_ge(sector, vf_set(3.0f)),
       m4 = vm_ge(sector, vf_set(4.0f)), m5 = vm_ge(sector, vf_set(5.0f));
    r = vf_pick(m1, vf_pick(m2, vf_pick(m4, vf_pick(m5, v, t), p), q), v);
    g = vf_pick(m1, vf_pick(m3, vf_pick(m4, p, q), v), t);
    b = vf_pick(m2, vf_pick(m3, vf_pick(m5, q, v), t), p);
    return (struct rgb){r * back, g * back, b * back};
}

static inline struct rgb stepped(struct rgb p, const struct recolor *step) {
    VF a = vf_set(step->a), b = vf_set(step->b);
    if (step->kind == RECOLOR_HUE)
        return turned(p, a);
    if (step->kind == RECOLOR_SATURATE)
        return saturated(p, a, b);
    if (step->kind == RECOLOR_BLEND)
        return blended(p, a, b);
    a = gray_of(p);
    return (struct rgb){a, a, a};
}

/* The grays of LANES pixels after all steps, which are done to them. */
__attribute__((always_inline)) static inline VI recolor_group(uint8_t *at, const struct recolor *steps, size_t count,
                                                              bool mean) {
    VI r, g, b;
    load_rgb(at, &r, &g, &b);
    struct rgb p = {vf_of(r), vf_of(g), vf_of(b)};
    for (size_t i = 0; i < count; i++)
        p = stepped(i ? cut(p) : p, &steps[i]);
    if (count) {
        r = vi_cut(p.r);
        store_rgb(at, r, vi_cut(p.g), vi_cut(p.b));
    }
    return mean ? vi_cut(gray_of(count ? cut(p) : p)) : r;
}

/* Groups of images that have many, each kind of step having its own loop when it is alone. */
#define RECOLOR_LOOP(STEPS, COUNT, MEAN) \
    for (size_t k = 0; k < groups; k++) { \
        VI gray = recolor_group(at + 3 * LANES * k, STEPS, COUNT, MEAN); \
        if (MEAN) \
            sums = vi_add(sums, gray); \
    }

/* The sum of the grays of `groups` groups, which fits 32 bits. */
static uint32_t recolor_groups(uint8_t *at, size_t groups, const struct recolor *steps, size_t count, bool mean) {
    VI sums = vi_cut(vf_set(0.0f));
    bool alone = count == 1 && !mean;
    if (count == 0) {
        RECOLOR_LOOP(NULL, 0, true)
    } else if (alone && steps->kind == RECOLOR_HUE) {
        const struct recolor one = {RECOLOR_HUE, steps->a, 0};
        RECOLOR_LOOP(&one, 1, false)
    } else if (alone && steps->kind == RECOLOR_SATURATE) {
        const struct recolor one = {RECOLOR_SATURATE, steps->a, steps->b};
        RECOLOR_LOOP(&one, 1, false)
    } else if (alone && steps->kind == RECOLOR_BLEND) {
        const struct recolor one = {RECOLOR_BLEND, steps->a, steps->b};
        RECOLOR_LOOP(&one, 1, false)
    } else {
        RECOLOR_LOOP(steps, count, mean)
    }
    return vi_sum(sums);
}

static float recolor_rgb8(const struct pixels *p, const struct recolor *steps, size_t count, bool mean) {
    enum { MANY = 1 << 14 }; /* groups whose grays, added up, are below 2^31 in all lanes */
    uint8_t *data = p->data, last[3 * LANES] = {0};
    size_t groups = p->count / LANES, rest = p->count % LANES;
    uint64_t sum = 0;
    for (size_t k = 0; k < groups; k += MANY)
        sum += recolor_groups(data + 3 * LANES * k, groups - k < MANY ? groups - k : MANY, steps, count, mean);
    if (rest) {
        int32_t gray[LANES];
        memcpy(last, data + 3 * LANES * groups, 3 * rest);
        VI grays = recolor_group(last, steps, count, true);
        memcpy(data + 3 * LANES * groups, last, 3 * rest);
        memcpy(gray, &grays, sizeof gray);
        for (size_t i = 0; i < rest; i++)
            sum += (uint32_t)gray[i];
    }
    return mean && p->count ? (float)((double)sum / (double)p->count) : 0;
}
