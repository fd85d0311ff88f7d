/* See frame_times.h. */
#include "field/frame_times.h"

#include <string.h>

#include "util/bytes.h"

enum { FINE = 1000 }; /* parts of a tick that is a whole frame */

/* Bounded, so that sums and products with rates fit into 128 bits whatever a file says. */
static int64_t stored(const struct frame_times *t, uint64_t i) {
    const int64_t most = INT64_C(1) << 58;
    int64_t pts = (int64_t)mldfi_load_u64(t->pts + i * t->stride);
    return pts > most ? most : pts < -most ? -most : pts;
}

frame_wide mldfi_frame_pts(const struct frame_times *t, uint64_t i) {
    if (!t->pts || t->count == 0)
        return (frame_wide)t->first + (frame_wide)i;
    if (i < t->count)
        return stored(t, i);
    frame_wide last = stored(t, t->count - 1), each = t->count > 1 ? last - stored(t, t->count - 2) : 1;
    frame_wide most = (frame_wide)1 << 60, at = last + (each > 0 ? each : 1) * (frame_wide)(i - (t->count - 1));
    return at < most ? at : most;
}

frame_wide mldfi_frame_until(const struct frame_times *t, uint64_t i) {
    if (!t->pts || i < t->count || i == 0)
        return mldfi_frame_pts(t, i);
    if (i - t->count < t->more)
        return stored(t, i);
    uint64_t all = t->count + t->more;
    frame_wide last = stored(t, all - 1);
    if (t->end <= last || i >= (uint64_t)1 << 60) {
        struct frame_times whole = *t;
        whole.count = all;
        return mldfi_frame_pts(&whole, i);
    }
    frame_wide most = (frame_wide)1 << 60, at = last + (t->end - last) * (frame_wide)(i - (all - 1));
    return at < most ? at : most;
}

uint64_t mldfi_frame_at_tick(const struct frame_times *t, frame_wide num, frame_wide den) {
    frame_wide tick = num / den - (num % den < 0); /* pts are whole: so is what they are compared with */
    if (t->count == 0)
        return MLDF_NONE;
    if (!t->pts) {
        frame_wide at = tick - t->first;
        return at < 0 ? MLDF_NONE : at < (frame_wide)t->count ? (uint64_t)at : t->count - 1;
    }
    uint64_t low = 0, high = t->count; /* all before `low` are not later, those from `high` on are */
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (stored(t, middle) <= tick)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : MLDF_NONE;
}

/* How far the number may be from the time that was meant: half a unit in the last place of a float32; a number of more digits was computed as a double,
 * in a few steps. It matters where a muxer rounded a time up that lay in the middle between two ticks. */
static double rounding(double seconds) {
    uint32_t bits;
    float f = (float)seconds;
    if (!(seconds > 0))
        return 0;
    if (!(f < 0x1p40F) || (double)f < seconds || (double)f > seconds)
        return seconds * 0x1p-50;
    memcpy(&bits, &f, sizeof bits);
    bits++;
    memcpy(&f, &bits, sizeof bits);
    return ((double)f - seconds) / 2;
}

uint64_t mldfi_frame_at_seconds(const struct frame_times *t, double seconds) {
    double parts = t->pts ? 1 : FINE, scale = (double)t->tick.den / (double)t->tick.num * parts;
    double ticks = seconds * (double)t->tick.den / (double)t->tick.num * parts;
    if (!(ticks > -0x1p62 && ticks < 0x1p62))
        return ticks > 0 && t->count ? t->count - 1 : MLDF_NONE;
    ticks += rounding(seconds) * scale;
    double whole = (double)(int64_t)ticks, rest = ticks - whole;
    int64_t nearest = (int64_t)whole + (rest >= 0.5) - (rest < -0.5);
    return mldfi_frame_at_tick(t, nearest, (frame_wide)parts);
}

double mldfi_frame_seconds(const struct frame_times *t, frame_wide num, frame_wide den) {
    const frame_wide large = (frame_wide)1 << 94;
    if (num >= large || num <= -large) /* times that no video has: the product would not fit */
        return (double)num / (double)den * (double)t->tick.num / (double)t->tick.den;
    frame_wide top = num * (frame_wide)t->tick.num, bottom = den * (frame_wide)t->tick.den;
    const frame_wide exact = (frame_wide)1 << 53;
    if (top < exact && top > -exact && bottom < exact)
        return (double)top / (double)bottom;
    frame_wide whole = top / bottom, rest = top % bottom;
    return (double)whole + (double)rest / (double)bottom;
}

static frame_wide common(frame_wide a, frame_wide b) {
    a = a < 0 ? -a : a;
    while (b) {
        frame_wide rest = a % b;
        a = b;
        b = rest;
    }
    return a ? a : 1;
}

/* n / d times num / den, reduced. */
static bool times_ratio(frame_wide *n, frame_wide *d, frame_wide num, frame_wide den) {
    if (__builtin_mul_overflow(*n, num, n) || __builtin_mul_overflow(*d, den, d))
        return false;
    frame_wide by = common(*n, *d);
    *n /= by;
    *d /= by;
    return true;
}

bool mldfi_sample_at(const struct frame_times *t, frame_wide num, frame_wide den, struct start start, struct ratio rate,
                     int64_t *sample) {
    frame_wide n = num, d = den, by = common(num, den), back;
    n /= by;
    d /= by;
    if (start.den == 0)
        start = (struct start){0, 1};
    if (!times_ratio(&n, &d, (frame_wide)t->tick.num, (frame_wide)t->tick.den) ||
        __builtin_mul_overflow((frame_wide)start.num, d, &back) ||
        __builtin_mul_overflow(n, (frame_wide)start.den, &n) || __builtin_sub_overflow(n, back, &n) ||
        __builtin_mul_overflow(d, (frame_wide)start.den, &d))
        return false;
    by = common(n, d);
    n /= by;
    d /= by;
    if (!times_ratio(&n, &d, (frame_wide)rate.num, (frame_wide)rate.den))
        return false;
    const frame_wide most = (frame_wide)1 << 62, whole = n / d + (n % d > 0);
    *sample = (int64_t)whole;
    return whole < most && whole > -most;
}
