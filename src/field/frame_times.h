/* When the frames of a video are shown, in exact ticks. A tick lasts tick.num / tick.den seconds. Frame i is shown from its tick (its pts) up to that of
 * the next frame; a time between belongs to the last frame whose pts is not later. Nothing here is rounded but a time that someone gives as a
 * floating-point number: to the nearest tick, or to the nearest thousandth of a tick where a tick is a whole frame; one that is a float32 by half a unit
 * in its last place more, so that float32(k / fps) is frame k as k / fps is. */
#ifndef MLDF_FIELD_FRAME_TIMES_H
#define MLDF_FIELD_FRAME_TIMES_H

#include "field/edge.h"

__extension__ typedef __int128 frame_wide;

struct frame_times {
    uint64_t count;
    /* i64 pts of frame i at pts + i * stride, ascending (a hostile file's may not be: results are frames of the video even then). NULL: frame i is
     * at tick first + i. */
    const uint8_t *pts;
    size_t stride;
    int64_t first;
    struct ratio tick; /* seconds; both are 1 to 2^32 - 1 */
    uint64_t more;     /* of a piece: so many frames follow it in the video, and in `pts` */
    int64_t end;       /* the tick at which the last of all ends; 0: as long after it as it is after the one before */
};

/* The tick of frame i. From `count` on, as if the video went on with the duration of its last frame: i == count is its end. i < 2^60; the
 * result is never above 2^60. */
frame_wide mldfi_frame_pts(const struct frame_times *times, uint64_t i);
/* The tick at which frame i - 1 is no longer shown: that of frame i of the video, also behind a piece; for the last one its own end. */
frame_wide mldfi_frame_until(const struct frame_times *times, uint64_t i);
/* The last frame whose pts is at or before num / den ticks; den > 0. MLDF_NONE: all are later, or there are none. */
uint64_t mldfi_frame_at_tick(const struct frame_times *times, frame_wide num, frame_wide den);
/* The frame that is shown at a time given as a floating-point number of seconds; MLDF_NONE: none is. */
uint64_t mldfi_frame_at_seconds(const struct frame_times *times, double seconds);
/* Seconds of num / den ticks: the nearest double, where both sides of the fraction are below 2^53. */
double mldfi_frame_seconds(const struct frame_times *times, frame_wide num, frame_wide den);
/* The first sample of a sound that is heard at num / den ticks or later: the least integer that is not below (time - start) * rate, exactly; it may be
 * negative. False: numbers that no video has. */
bool mldfi_sample_at(const struct frame_times *times, frame_wide num, frame_wide den, struct start start,
                     struct ratio rate, int64_t *sample);

#endif
