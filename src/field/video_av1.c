/* See video_av1.h. Names of members are those of the AV1 specification, sections 5.5 and 5.9; a header is read as far as refresh_frame_flags. */
#include "field/video_av1.h"

enum { OBU_SEQUENCE = 1, OBU_FRAME_HEADER = 3, OBU_FRAME = 6, FRAME_KEY = 0, FRAME_INTRA_ONLY = 2, FRAME_SWITCH = 3 };

/* Bits, the most significant first; past the end there are zeros, and `over` is set. */
struct bits {
    const uint8_t *data;
    size_t bytes, at;
    bool over;
};

static uint32_t get(struct bits *b, unsigned count) {
    uint32_t value = 0;
    for (unsigned i = 0; i < count; i++, b->at++) {
        b->over = b->over || b->at / 8 >= b->bytes;
        value = value << 1 | (b->over ? 0 : b->data[b->at / 8] >> (7 - b->at % 8) & 1U);
    }
    return value;
}

static void skip_uvlc(struct bits *b) {
    unsigned zeros = 0;
    while (zeros < 32 && !b->over && !get(b, 1))
        zeros++;
    if (zeros < 32)
        (void)get(b, zeros);
}

static void read_operating_points(struct bits *b, unsigned delay_bits, bool model) {
    bool display_delay = get(b, 1);
    unsigned count = get(b, 5) + 1;
    for (unsigned i = 0; i < count; i++) {
        (void)get(b, 12); /* operating_point_idc */
        if (get(b, 5) > 7)
            (void)get(b, 1);
        if (model && get(b, 1)) {
            (void)get(b, delay_bits);
            (void)get(b, delay_bits);
            (void)get(b, 1);
        }
        if (display_delay && get(b, 1))
            (void)get(b, 4);
    }
}

static void read_tools(struct bits *b, struct av1_sequence *s) {
    (void)get(b, 3); /* use_128x128_superblock, enable_filter_intra, enable_intra_edge_filter */
    (void)get(b, 4); /* interintra, masked compound, warped motion, dual filter */
    bool order = get(b, 1);
    if (order)
        (void)get(b, 2);
    s->screen_tools = get(b, 1) ? 2 : get(b, 1);
    s->integer_mv = 2;
    if (s->screen_tools)
        s->integer_mv = get(b, 1) ? 2 : get(b, 1);
    s->order_bits = order ? get(b, 3) + 1 : 0;
}

static void read_sequence(struct bits b, struct av1_sequence *s) {
    unsigned delay_bits = 0;
    *s = (struct av1_sequence){0};
    (void)get(&b, 4); /* seq_profile, still_picture */
    if (get(&b, 1))   /* reduced_still_picture_header */
        return;
    if (get(&b, 1)) { /* timing_info_present_flag */
        (void)get(&b, 32);
        (void)get(&b, 32);
        s->equal_interval = get(&b, 1);
        if (s->equal_interval)
            skip_uvlc(&b);
        s->decoder_model = get(&b, 1);
        if (s->decoder_model) {
            delay_bits = get(&b, 5) + 1;
            (void)get(&b, 32);
            (void)get(&b, 5);
            s->time_bits = get(&b, 5) + 1;
        }
    }
    read_operating_points(&b, delay_bits, s->decoder_model);
    unsigned width_bits = get(&b, 4) + 1, height_bits = get(&b, 4) + 1;
    (void)get(&b, width_bits);
    (void)get(&b, height_bits);
    s->frame_ids = get(&b, 1);
    if (s->frame_ids) {
        unsigned delta = get(&b, 4) + 2;
        s->id_bits = get(&b, 3) + delta + 1;
    }
    read_tools(&b, s);
    s->known = !b.over;
}

/* Is the frame of this header kept by none? */
static bool reads_as_spare(const struct av1_sequence *s, struct bits b) {
    if (!s->known || get(&b, 1)) /* show_existing_frame */
        return false;
    unsigned type = get(&b, 2), screen;
    bool shown = get(&b, 1), resilient;
    if (type == FRAME_KEY || type == FRAME_SWITCH || !shown)
        return false;
    if (s->decoder_model && !s->equal_interval)
        (void)get(&b, s->time_bits);
    resilient = get(&b, 1);
    (void)get(&b, 1); /* disable_cdf_update */
    screen = s->screen_tools == 2 ? get(&b, 1) : s->screen_tools;
    if (screen && s->integer_mv == 2)
        (void)get(&b, 1);
    if (s->frame_ids)
        (void)get(&b, s->id_bits);
    (void)get(&b, 1); /* frame_size_override_flag */
    (void)get(&b, s->order_bits);
    if (type != FRAME_INTRA_ONLY && !resilient)
        (void)get(&b, 3);               /* primary_ref_frame */
    if (s->decoder_model && get(&b, 1)) /* buffer_removal_time_present_flag */
        return false;
    return get(&b, 8) == 0 && !b.over;
}

/* The bytes of the unit at *at; false: none, or it is not understood. */
static bool next_unit(const uint8_t *data, size_t bytes, size_t *at, unsigned *type, struct bits *unit) {
    if (*at >= bytes || !(data[*at] & 2)) /* obu_has_size_field */
        return false;
    *type = data[*at] >> 3 & 15;
    size_t i = *at + (data[*at] & 4 ? 2 : 1), size = 0;
    for (unsigned shift = 0;; shift += 7, i++) {
        if (i >= bytes || shift > 28)
            return false;
        size |= (size_t)(data[i] & 127) << shift;
        if (!(data[i] & 128))
            break;
    }
    i++;
    if (i > bytes || size > bytes - i)
        return false;
    *unit = (struct bits){.data = data + i, .bytes = size};
    *at = i + size;
    return true;
}

bool mldfi_av1_is_spare(struct av1_sequence *sequence, const uint8_t *data, size_t bytes) {
    struct bits unit;
    size_t at = 0;
    unsigned type;
    bool any = false, spare = true;
    while (next_unit(data, bytes, &at, &type, &unit)) {
        if (type == OBU_SEQUENCE) {
            read_sequence(unit, sequence);
            spare = false;
        } else if (type == OBU_FRAME || type == OBU_FRAME_HEADER) {
            any = true;
            spare = spare && reads_as_spare(sequence, unit);
        }
    }
    return any && spare && at == bytes;
}
