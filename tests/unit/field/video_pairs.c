/* Not a test: for tests/python/test_video_zoo.py. Every ordered pair of videos is decoded by one thread's kept decoders, one after the other, and the second
 * must be what new decoders give.
 *
 *     video_pairs FILE...     prints the number of pairs, or which one differs */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "field/video_decode.h"
#include "mldf/mldf.h"

enum { FILES = 128, FRAMES = 4 };

struct video {
    mldf_reader *reader;
    mldf_value value;
    mldf_buffer scratch;
    struct audio_memory memory;
    struct audio_bytes in;
    struct video_head head;
    uint64_t numbers[FRAMES], hash;
};

static struct video videos[FILES];

static mldf_status add(void *user, uint64_t number, const struct av_image *image, mldf_error *err) {
    uint64_t *hash = user, one = number;
    (void)err;
    for (unsigned c = 0; c < image->planes; c++) {
        unsigned width = c ? (image->width + image->shift_x) >> image->shift_x : image->width;
        unsigned height = c ? (image->height + image->shift_y) >> image->shift_y : image->height;
        for (unsigned y = 0; y < height; y++)
            one = XXH64(image->plane[c] + (ptrdiff_t)y * image->stride[c], (size_t)width * (image->bits > 8 ? 2 : 1),
                        one);
    }
    *hash += one; /* images come in any order */
    return MLDF_OK;
}

static void decode(struct video *v, struct media_kit *kit, uint64_t *hash) {
    mldf_error err = {0};
    void *worker;
    *hash = 0;
    if (mldfi_kit_worker(kit, FAMILY_VIDEO, &worker, &err) < 0 ||
        mldfi_video_decode(worker, &v->head, &v->in, v->numbers, FRAMES, add, hash, &err) < 0) {
        printf("%s\n", MLDF_ERROR_TEXT(&err));
        exit(1);
    }
}

static void open_video(struct video *v, const char *path) {
    mldf_error err = {0};
    struct media_kit kit = {0};
    if (mldf_reader_open(path, NULL, &v->reader, &err) < 0 ||
        mldf_reader_get(v->reader, 0, 0, &v->scratch, &v->value, &err) < 0) {
        printf("%s\n", MLDF_ERROR_TEXT(&err));
        exit(1);
    }
    v->memory.data = v->value.data;
    v->in = (struct audio_bytes){mldfi_audio_from_memory, &v->memory, v->value.bytes};
    if (mldfi_video_open(v->value.record, &v->in, &v->head, &err) < 0)
        exit(1);
    const uint32_t n = v->head.video.frames; /* single frames, from several keys, and the last */
    const uint64_t chosen[FRAMES] = {1, n / 3, n / 2 + 1, n - 1};
    memcpy(v->numbers, chosen, sizeof chosen);
    decode(v, &kit, &v->hash);
    mldfi_kit_free(&kit);
}

int main(int argc, char **argv) {
    int count = argc - 1, bad = 0;
    if (count < 1 || count > FILES)
        return 2;
    for (int i = 0; i < count; i++)
        open_video(&videos[i], argv[1 + i]);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) {
            struct media_kit kit = {0};
            uint64_t hash;
            decode(&videos[i], &kit, &hash);
            decode(&videos[j], &kit, &hash);
            if (hash != videos[j].hash && ++bad)
                printf("%s after %s differs\n", argv[1 + j], argv[1 + i]);
            mldfi_kit_free(&kit);
        }
    for (int i = 0; i < count; i++) {
        mldf_reader_close(videos[i].reader);
        mldf_buffer_free(&videos[i].scratch);
    }
    printf("%d pairs\n", count * count);
    return bad ? 1 : 0;
}
