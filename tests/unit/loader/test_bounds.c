/* What a loader finds out about images before the first is decoded: one odd image at the far end of a file counts as much as the first, though
 * most files are not read that far. */
#include "loader_files.h"

enum { ROWS = 2000 }; /* more than the first piece of rows */

/* Sizes, channels and bits of the images, and of the last one. */
struct shape {
    uint32_t height, width, channels, bits;
    bool vary; /* sides from 1 up to these */
};

struct shapes {
    const struct shape *most, *last;
};

static void make_image(const void *user, uint64_t i, mldf_value *values) {
    static uint16_t pixels[64 * 64 * 4];
    const struct shapes *shapes = user;
    bool is_last = i + 1 == ROWS;
    const struct shape *s = is_last ? shapes->last : shapes->most;
    uint64_t size = is_last ? 0 : i;
    uint32_t height = s->vary ? 1 + (uint32_t)(size % s->height) : s->height;
    uint32_t width = s->vary ? 1 + (uint32_t)(size % s->width) : s->width;
    for (size_t k = 0; i == 0 && k < sizeof pixels / sizeof pixels[0]; k++)
        pixels[k] = (uint16_t)(k * 77);
    values[0] = (mldf_value){.kind = MLDF_KIND_ARRAY,
                             .dtype = s->bits == 16 ? MLDF_U16 : MLDF_U8,
                             .data = pixels,
                             .bytes = (uint64_t)height * width * s->channels * s->bits / 8,
                             .ndim = 3,
                             .dims = {height, width, s->channels}};
}

static mldf_reader *make(const struct shape *most, const struct shape *last) {
    static const struct files_field fields[] = {{"image", MLDF_IMAGE, NULL, 0}, {NULL, 0, NULL, 0}};
    struct shapes shapes = {most, last};
    const char *path = check_tmp("bounds.mldf");
    files_make(path, fields, ROWS, make_image, &shapes);
    return files_open(path, MLDF_BACKEND_MAP);
}

/* "f32 8x8x3" of the only output, or the error's message. */
static const char *output_of(const struct shape *most, const struct shape *last, const char *pipeline) {
    static char text[600];
    mldf_reader *reader = make(most, last);
    mldf_loader_options o = MLDF_LOADER_OPTIONS_INIT;
    mldf_loader *loader = NULL;
    mldf_output output;
    mldf_batch *batch;
    mldf_error err;
    o.pipeline = pipeline;
    o.threads = 0;
    o.batch_size = ROWS;
    if (mldf_loader_new((const mldf_reader *const *)&reader, 1, &o, &loader, &err) < 0) {
        snprintf(text, sizeof text, "%s", err.message);
    } else {
        CHECK_OK(mldf_loader_output(loader, 0, &output), NULL);
        snprintf(text, sizeof text, "%s %dx%dx%d", mldf_dtype_name(output.dtype), (int)output.dims[0],
                 (int)output.dims[1], (int)output.dims[2]);
        CHECK_OK(mldf_loader_next(loader, -1, &batch, &err), &err); /* the last image too */
        CHECK_EQ_U64(ROWS, mldf_batch_sample_count(batch));
        mldf_batch_release(batch);
    }
    mldf_loader_free(loader);
    mldf_reader_close(reader);
    return text;
}

static const struct shape rgb = {2, 3, 3, 8, false}, many = {9, 7, 3, 8, true}, large = {40, 50, 3, 8, false},
                          gray = {2, 3, 1, 8, false}, grays = {9, 7, 1, 8, true}, deep = {2, 3, 3, 16, false},
                          deeps = {9, 7, 3, 16, true}, alpha = {2, 3, 4, 8, false};

static void one_size_needs_no_resize_and_the_last_image_counts(void) {
    CHECK_EQ_STR("|u1 2x3x3", output_of(&rgb, &rgb, "image: hflip"));
    CHECK_CONTAINS("its size differs from sample to sample (up to 40x50x3)", output_of(&rgb, &large, "image: hflip"));
    CHECK_CONTAINS("its size differs from sample to sample (up to 40x50x3)", output_of(&many, &large, "image: hflip"));
    CHECK_CONTAINS("its size differs from sample to sample (up to 9x7x3)", output_of(&many, &rgb, "image: hflip"));
}

static void channels_are_those_of_all_or_three(void) {
    CHECK_EQ_STR("|u1 4x4x1", output_of(&gray, &gray, "image: resize([4, 4])"));
    CHECK_EQ_STR("|u1 4x4x1", output_of(&grays, &gray, "image: resize([4, 4])"));
    CHECK_EQ_STR("|u1 4x4x3", output_of(&grays, &rgb, "image: resize([4, 4])"));
    CHECK_EQ_STR("|u1 4x4x3", output_of(&many, &gray, "image: resize([4, 4])"));
    CHECK_EQ_STR("|u1 4x4x3", output_of(&many, &alpha, "image: resize([4, 4])"));
    CHECK_EQ_STR("|u1 4x4x3", output_of(&alpha, &rgb, "image: resize([4, 4])"));
    CHECK_EQ_STR("|u1 4x4x4", output_of(&alpha, &alpha, "image: resize([4, 4])"));
}

static void sixteen_bits_are_kept_when_all_have_them(void) {
    CHECK_EQ_STR("<u2 4x4x3", output_of(&deep, &deep, "image: resize([4, 4])"));
    CHECK_EQ_STR("<u2 4x4x3", output_of(&deeps, &deep, "image: resize([4, 4])"));
    CHECK_EQ_STR("|u1 4x4x3", output_of(&deeps, &rgb, "image: resize([4, 4])"));
    CHECK_EQ_STR("|u1 4x4x3", output_of(&many, &deep, "image: resize([4, 4])"));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(one_size_needs_no_resize_and_the_last_image_counts);
    RUN(channels_are_those_of_all_or_three);
    RUN(sixteen_bits_are_kept_when_all_have_them);
    return check_end();
}
