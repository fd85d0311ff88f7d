/* One call of the kernels, for tests/python/test_kernels.py, which states their definitions in NumPy.
 *
 *     kernel_run ISA WIDTH HEIGHT CHANNELS BITS DTYPE PLANAR AFFINE NUMBERS... < pixels > elements
 *
 * NUMBERS: scale and shift of each channel as hex floats, then either `finish MIRROR_X MIRROR_Y` or `resize` and the members of
 * struct resize_spec in their order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/resize.h"

static char **next;

static const char *text(void) {
    if (!*next) {
        fprintf(stderr, "kernel_run: an argument is missing\n");
        exit(2);
    }
    return *next++;
}

static uint32_t number(void) {
    return (uint32_t)strtoul(text(), NULL, 10);
}

static struct resize_spec read_spec(void) {
    uint32_t n[14];
    for (int i = 0; i < 14; i++)
        n[i] = number();
    struct resize_spec s = {n[0],
                            n[1],
                            n[2],
                            n[3],
                            n[4],
                            n[5],
                            n[6],
                            n[7],
                            n[8],
                            n[9],
                            n[10] != 0,
                            n[11] != 0,
                            (enum resize_filter)n[12],
                            n[13] != 0};
    return s;
}

static int run(const struct kernels *k, const struct raster *in, const struct finish *finish) {
    struct resize_work *work = NULL;
    struct resize_spec spec = {0};
    mldf_error err;
    bool resize = strcmp(text(), "resize") == 0, mirror_x = false, mirror_y = false;
    size_t pixels = (size_t)in->width * in->height;
    if (resize) {
        spec = read_spec();
        pixels = (size_t)spec.out_width * spec.out_height;
    } else {
        mirror_x = number();
        mirror_y = number();
    }
    size_t bytes = pixels * in->channels * mldf_dtype_bytes(finish->dtype);
    void *out = malloc(bytes ? bytes : 1);
    mldf_status status = out ? mldfi_resize_work_new(&work, &err) : MLDF_E_MEMORY;
    if (status == MLDF_OK && resize)
        status = mldfi_resize(k, in, &spec, finish, work, out, &err);
    else if (status == MLDF_OK)
        mldfi_finish(k, in, mirror_x, mirror_y, finish, out);
    if (status < 0)
        fprintf(stderr, "kernel_run: %s\n", err.message);
    bool good = status == MLDF_OK && fwrite(out, 1, bytes, stdout) == bytes;
    mldfi_resize_work_free(work);
    free(out);
    return good ? 0 : 1;
}

int main(int argc, char **argv) {
    struct raster in = {0};
    struct finish finish = {0};
    (void)argc;
    next = argv + 1;
    const struct kernels *k = mldfi_kernels_named(text());
    if (!k)
        return 77;
    in.width = number();
    in.height = number();
    in.channels = number();
    in.bits = number();
    in.stride = (size_t)in.width * in.channels * (in.bits / 8);
    const char *type = text();
    finish.dtype = mldf_dtype_parse(type, strlen(type));
    finish.planar = number() != 0;
    finish.affine = number() != 0;
    for (uint32_t c = 0; c < in.channels && c < 4; c++) {
        finish.scale[c] = strtof(text(), NULL);
        finish.shift[c] = strtof(text(), NULL);
    }
    size_t bytes = in.stride * in.height;
    in.data = malloc(bytes ? bytes : 1);
    int status = in.data && fread(in.data, 1, bytes, stdin) == bytes ? run(k, &in, &finish) : 2;
    free(in.data);
    return status;
}
