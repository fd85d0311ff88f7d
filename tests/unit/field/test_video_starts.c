/* Where decoding for frames begins (video_starts.c), with a decoder made for it: an image is right when the images that it needs were decoded since the
 * decoder was opened, and were right. So keys lie, or tell half of the truth, as no encoder makes them. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "field/video_index.h"

enum { SIDE = 16, MOST = 16, NONE = -1 };

static int needs[MOST][2]; /* of each packet's image */

struct fake {
    bool right[MOST];
    int next; /* packet whose image is ready; NONE */
    uint8_t pixels[SIDE * SIDE];
};

static int fake_open(const struct av_setup *setup, void **out, char text[AV_TEXT]) {
    struct fake *f = calloc(1, sizeof *f);
    (void)setup, (void)text;
    f->next = NONE;
    *out = f;
    return 0;
}

static int fake_send(void *decoder, const uint8_t *data, size_t bytes, uint64_t id, char text[AV_TEXT]) {
    struct fake *f = decoder;
    (void)bytes, (void)text;
    if (!data)
        return 0;
    f->right[id] = true;
    for (int k = 0; k < 2; k++)
        if (needs[id][k] != NONE && !f->right[needs[id][k]])
            f->right[id] = false;
    f->next = (int)id;
    return 0;
}

static int fake_image(void *decoder, struct av_image *out, char text[AV_TEXT]) {
    struct fake *f = decoder;
    (void)text;
    if (f->next == NONE)
        return 0;
    memset(f->pixels, f->right[f->next] ? f->next : 200 + f->next, sizeof f->pixels);
    *out = (struct av_image){.id = (uint64_t)f->next,
                             .plane = {f->pixels},
                             .stride = {SIDE},
                             .width = SIDE,
                             .height = SIDE,
                             .planes = 1,
                             .bits = 8,
                             .matrix = 2};
    f->next = NONE;
    return 1;
}

static int fake_reorder(void *decoder) {
    (void)decoder;
    return 0;
}

static void fake_flush(void *decoder) {
    memset(decoder, 0, sizeof(struct fake));
    ((struct fake *)decoder)->next = NONE;
}

static const struct av_decode_module module = {.abi = AV_MODULE_ABI,
                                               .version = "fake 1",
                                               .open = fake_open,
                                               .send = fake_send,
                                               .image = fake_image,
                                               .reorder = fake_reorder,
                                               .flush = fake_flush,
                                               .close = free};

/* Packets with these times; each needs the one before it unless `needs` was changed. keys: ends with NONE. */
static struct video_parts index_of(const int64_t *pts, int count, const int *keys) {
    static uint8_t bytes[MOST];
    struct video_parts p = {.video = {.codec = AV_VIDEO_MPEG2, .tick = {1, 30}, .width = SIDE, .height = SIDE}};
    struct video_worker w = {.module = &module};
    mldf_error err;
    p.packets = calloc((size_t)count, sizeof *p.packets);
    p.packet_count = p.packet_capacity = (size_t)count;
    p.configs = calloc(1, sizeof *p.configs);
    p.config_count = p.config_capacity = 1;
    CHECK_OK(mldf_buffer_append(&p.data, bytes, (size_t)count, &err), &err);
    for (int i = 0; i < count; i++)
        p.packets[i] = (struct video_packet){.pts = pts[i], .dts = i, .offset = (uint64_t)i, .bytes = 1, .duration = 1};
    for (; *keys != NONE; keys++)
        p.packets[*keys].flags = PACKET_KEY;
    CHECK_OK(mldfi_video_index(&w, &p, 0, &err), &err);
    return p;
}

static void reset_needs(void) {
    for (int i = 0; i < MOST; i++) {
        needs[i][0] = i - 1;
        needs[i][1] = NONE;
    }
}

static void check_keys(const struct video_parts *p, const int *keys) {
    for (size_t i = 0; i < p->packet_count; i++) {
        bool is_key = *keys == (int)i;
        keys += is_key;
        CHECK_EQ_U64(is_key ? PACKET_KEY : 0, p->packets[i].flags & PACKET_KEY);
    }
}

static void keys_that_tell_the_truth_are_kept(void) {
    const int64_t pts[] = {0, 1, 2, 3, 4, 5, 6, 7};
    const int keys[] = {0, 4, NONE};
    reset_needs();
    needs[4][0] = NONE;
    struct video_parts p = index_of(pts, 8, keys);
    check_keys(&p, keys);
    for (size_t i = 0; i < 8; i++)
        CHECK_EQ_U64(i < 4 ? 0U : 4U, p.frames[i].start);
    mldfi_video_parts_free(&p);
}

static void a_key_that_lies_loses_its_flag(void) {
    const int64_t pts[] = {0, 1, 2, 3, 4, 5, 6, 7};
    const int keys[] = {0, 4, NONE}, left[] = {0, NONE};
    reset_needs();
    struct video_parts p = index_of(pts, 8, keys);
    check_keys(&p, left);
    for (size_t i = 0; i < 8; i++)
        CHECK_EQ_U64(0U, p.frames[i].start);
    mldfi_video_parts_free(&p);
}

/* 4 gives its own frames 4 and 5. 6 lies, and what it served needs 3 as well: 4, which takes it over, is found out. */
static void the_key_that_takes_over_is_proved_again(void) {
    const int64_t pts[] = {0, 1, 2, 3, 4, 5, 6, 7};
    const int keys[] = {0, 4, 6, NONE}, left[] = {0, NONE};
    reset_needs();
    needs[4][0] = NONE;
    needs[6][1] = 3;
    struct video_parts p = index_of(pts, 8, keys);
    check_keys(&p, left);
    for (size_t i = 0; i < 8; i++)
        CHECK_EQ_U64(0U, p.frames[i].start);
    mldfi_video_parts_free(&p);
}

/* 4 is shown late, so that the frames of 6, which lies, go to 2: that is the key to prove again, and 4 stays. */
static void a_key_further_back_takes_over(void) {
    const int64_t pts[] = {0, 1, 2, 3, 10, 11, 6, 7};
    const int keys[] = {0, 2, 4, 6, NONE}, left[] = {0, 4, NONE};
    reset_needs();
    needs[2][0] = NONE;
    needs[4][0] = NONE;
    needs[6][0] = 3;
    needs[6][1] = 1;
    struct video_parts p = index_of(pts, 8, keys);
    check_keys(&p, left);
    for (size_t i = 0; i < 8; i++) /* by time: 0, 1, 2, 3, 6, 7, 10, 11 */
        CHECK_EQ_U64(i < 6 ? 0U : 4U, p.frames[i].start);
    mldfi_video_parts_free(&p);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(keys_that_tell_the_truth_are_kept);
    RUN(a_key_that_lies_loses_its_flag);
    RUN(the_key_that_takes_over_is_proved_again);
    RUN(a_key_further_back_takes_over);
    return check_end();
}
