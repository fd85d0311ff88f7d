/* AV1: what the headers in a packet say of its frames. */
#ifndef MLDF_FIELD_VIDEO_AV1_H
#define MLDF_FIELD_VIDEO_AV1_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What of a sequence header a frame header is read with. Begins as {0}. */
struct av1_sequence {
    bool known;
    bool equal_interval, decoder_model, frame_ids;
    unsigned time_bits, id_bits, order_bits;
    unsigned screen_tools, integer_mv; /* 2: each frame says it */
};

/* Is no frame in these units (a packet, or a configuration's) kept for others: is every refresh_frame_flags 0, none of them show_existing, and is there one?
 * Sequence headers on the way are taken in. What is not understood is not spare. */
bool mldfi_av1_is_spare(struct av1_sequence *sequence, const uint8_t *data, size_t bytes);

#endif
