/* When frames are shown: the frame at k / fps is frame k, for every usual rate and time base, as double and as float; samples by the exact rule. */
#include "field/frame_times.h"

#include <stdlib.h>

#include "check.h"
#include "util/bytes.h"

enum { FRAMES = 6000 };

static const struct {
    const char *name;
    uint64_t num, den;
} rates[] = {{"10", 10, 1},          {"23.976", 24000, 1001}, {"24", 24, 1}, {"25", 25, 1},
             {"29.97", 30000, 1001}, {"30", 30, 1},           {"60", 60, 1}};
static const uint64_t bases[] = {1000, 15360, 90000};

/* round(k / fps / base), as muxers write it. */
static int64_t pts_of(uint64_t k, size_t rate, uint64_t base) {
    return (int64_t)((2 * k * rates[rate].den * base + rates[rate].num) / (2 * rates[rate].num));
}

static void every_time_is_its_frame(void) {
    uint8_t *pts = malloc((size_t)FRAMES * 8);
    for (size_t r = 0; r < sizeof rates / sizeof *rates; r++)
        for (size_t b = 0; b <= sizeof bases / sizeof *bases; b++) {
            struct frame_times t = {.count = FRAMES, .pts = pts, .stride = 8, .tick = {1, 1}};
            if (b == sizeof bases / sizeof *bases) { /* a frame a tick */
                t.pts = NULL;
                t.tick = (struct ratio){rates[r].den, rates[r].num};
            } else {
                t.tick.den = bases[b];
                for (uint64_t k = 0; k < FRAMES; k++)
                    mldfi_store_u64(pts + 8 * k, (uint64_t)pts_of(k, r, bases[b]));
            }
            for (uint64_t k = 0; k < FRAMES; k++) {
                double exact = (double)(k * rates[r].den) / (double)rates[r].num;
                double by_rate = (double)k / ((double)rates[r].num / (double)rates[r].den);
                CHECK_EQ_U64(k, mldfi_frame_at_seconds(&t, exact));
                CHECK_EQ_U64(k, mldfi_frame_at_seconds(&t, by_rate));
                CHECK_EQ_U64(k, mldfi_frame_at_seconds(&t, (double)(float)exact));
                double half = exact + 0.5 * (double)rates[r].den / (double)rates[r].num;
                CHECK_EQ_U64(k, mldfi_frame_at_seconds(&t, half));
                CHECK_EQ_U64(k, mldfi_frame_at_seconds(&t, (double)(float)half));
            }
        }
    free(pts);
}

static void the_end_of_a_clip_is_the_next_frame_or_its_own_end(void) {
    uint8_t pts[5 * 8];
    static const int64_t at[] = {0, 10, 30, 60, 61};
    for (int i = 0; i < 5; i++)
        mldfi_store_u64(pts + 8 * i, (uint64_t)at[i]);
    struct frame_times t = {.count = 2, .pts = pts, .stride = 8, .tick = {1, 1000}, .more = 3, .end = 100};
    CHECK_EQ_INT(10, (int64_t)mldfi_frame_until(&t, 1));
    CHECK_EQ_INT(30, (int64_t)mldfi_frame_until(&t, 2)); /* behind the piece, inside the video */
    CHECK_EQ_INT(61, (int64_t)mldfi_frame_until(&t, 4));
    CHECK_EQ_INT(100, (int64_t)mldfi_frame_until(&t, 5));
    CHECK_EQ_INT(139, (int64_t)mldfi_frame_until(&t, 6));
    t.end = 0; /* not known */
    CHECK_EQ_INT(62, (int64_t)mldfi_frame_until(&t, 5));
    CHECK_EQ_INT(20, (int64_t)mldfi_frame_pts(&t, 2));
}

static void samples_by_the_exact_rule(void) {
    struct frame_times t = {.count = 1, .tick = {1, 15360}};
    struct start none = {0, 0}, late = {7, 20}, early = {-1, 3};
    int64_t s;
    CHECK(mldfi_sample_at(&t, 0, 1, none, (struct ratio){48000, 1}, &s));
    CHECK_EQ_INT(0, s);
    CHECK(mldfi_sample_at(&t, 512, 1, none, (struct ratio){44100, 1}, &s)); /* 1/30 s: 1470 exactly */
    CHECK_EQ_INT(1470, s);
    CHECK(mldfi_sample_at(&t, 513, 1, none, (struct ratio){44100, 1}, &s)); /* 1472.87 */
    CHECK_EQ_INT(1473, s);
    CHECK(mldfi_sample_at(&t, 512, 1, late, (struct ratio){48000, 1}, &s)); /* (1/30 - 7/20) * 48000 = -15200 */
    CHECK_EQ_INT(-15200, s);
    CHECK(mldfi_sample_at(&t, 0, 1, early, (struct ratio){44101, 1}, &s)); /* 14700.33 */
    CHECK_EQ_INT(14701, s);
    CHECK(mldfi_sample_at(&t, 0, 1, (struct start){1, 3}, (struct ratio){44101, 1}, &s)); /* -14700.33 */
    CHECK_EQ_INT(-14700, s);
    /* Clips of 16 frames at 29.97 fps that follow each other: by brute force, in integers. */
    for (int64_t k = 0; k < 3000; k++) {
        int64_t top = k * 16 * 1001 * 44100, want = (top + 29999) / 30000;
        CHECK(mldfi_sample_at(&t, (frame_wide)k * 16 * 1001 * 15360, 30000, none, (struct ratio){44100, 1}, &s));
        CHECK_EQ_INT(want, s);
    }
    /* What no file has is refused, not wrapped. */
    struct start odd = {INT64_MAX, (uint64_t)INT64_MAX - 24};
    t.tick = (struct ratio){4294967291U, 4294967279U};
    CHECK(!mldfi_sample_at(&t, ((frame_wide)1 << 60) - 1, 1, odd, (struct ratio){4294967231U, 1}, &s));
    CHECK(!mldfi_sample_at(&t, (frame_wide)1 << 60, 1, none, (struct ratio){4294967231U, 1}, &s));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(every_time_is_its_frame);
    RUN(the_end_of_a_clip_is_the_next_frame_or_its_own_end);
    RUN(samples_by_the_exact_rule);
    return check_end();
}
