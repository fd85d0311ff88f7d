/* Not a test: the planes of frames of a video, as they are decoded, for tests/python/test_video_zoo.py.
 *
 *     video_planes FILE SAMPLE MODE NUMBER...     planes of these frames, end to end, to standard output
 *
 * MODE: one (all numbers in one call, ascending), each (a call for each number, in the order given, with one worker), new (and a new worker each);
 * with `+` after it no packet is left out that frames between need not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field/video_decode.h"
#include "mldf/mldf.h"

static int fail(mldf_error *err) {
    fprintf(stderr, "%s\n", MLDF_ERROR_TEXT(err));
    return 1;
}

static mldf_status show(void *user, uint64_t number, const struct av_image *image, mldf_error *err) {
    (void)user, (void)number, (void)err;
    for (unsigned c = 0; c < image->planes; c++) {
        unsigned width = c ? (image->width + image->shift_x) >> image->shift_x : image->width;
        unsigned height = c ? (image->height + image->shift_y) >> image->shift_y : image->height;
        for (unsigned y = 0; y < height; y++)
            fwrite(image->plane[c] + (ptrdiff_t)y * image->stride[c], image->bits > 8 ? 2 : 1, width, stdout);
    }
    return MLDF_OK;
}

int main(int argc, char **argv) {
    mldf_error err = {0};
    mldf_reader *reader;
    mldf_value value;
    mldf_buffer scratch = {0};
    struct video_head head;
    struct media_kit kit = {0};
    uint64_t numbers[4096];
    size_t count = (size_t)(argc - 4);
    void *worker;
    if (argc < 5 || count > 4096)
        return 2;
    if (mldf_reader_open(argv[1], NULL, &reader, &err) < 0 ||
        mldf_reader_get(reader, strtoull(argv[2], NULL, 10), 0, &scratch, &value, &err) < 0)
        return fail(&err);
    struct audio_memory memory = {value.data};
    struct audio_bytes in = {mldfi_audio_from_memory, &memory, value.bytes};
    for (size_t i = 0; i < count; i++)
        numbers[i] = strtoull(argv[4 + i], NULL, 10);
    if (mldfi_video_open(value.record, &in, &head, &err) < 0)
        return fail(&err);
    bool one = strncmp(argv[3], "one", 3) == 0;
    for (size_t i = 0; i < (one ? 1 : count); i++) {
        if (mldfi_kit_worker(&kit, FAMILY_VIDEO, &worker, &err) < 0 ||
            (((struct video_worker *)worker)->feed_all = strchr(argv[3], '+') != NULL, 0) ||
            mldfi_video_decode(worker, &head, &in, numbers + i, one ? count : 1, show, NULL, &err) < 0)
            return fail(&err);
        if (strncmp(argv[3], "new", 3) == 0)
            mldfi_kit_free(&kit);
    }
    mldfi_kit_free(&kit);
    mldf_buffer_free(&scratch);
    mldf_reader_close(reader);
    return 0;
}
