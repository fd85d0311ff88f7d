/* The input is an archive, plain or compressed: as it is, and with the checksums of all blocks that look like headers made right.
 * It is read as samples, from memory and in small pieces as from a pipe, and as an index. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interop/tar.h"
#include "interop/tar_npz.h"

enum { INPUT_MAX = 1 << 18, SAMPLES_MAX = 500, MEMBER_MAX = 1 << 22, UNPACKED_MAX = 1 << 26 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint8_t sink;
static void touch(const void *data, uint64_t bytes) {
    const uint8_t *p = data;
    uint8_t sum = 0;
    for (uint64_t i = 0; i < bytes; i++)
        sum ^= p[i];
    sink = sum;
}

struct drip {
    const uint8_t *data;
    size_t left;
};

static mldf_status pull(void *user, void *dst, size_t room, size_t *got, mldf_error *err) {
    struct drip *drip = user;
    (void)err;
    *got = room < 700 ? room : 700;
    if (*got > drip->left)
        *got = drip->left;
    memcpy(dst, drip->data, *got);
    drip->data += *got;
    drip->left -= *got;
    return MLDF_OK;
}

/* An array of an .npz. */
static void read_array(const struct tar_part *part) {
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    const uint8_t *data;
    uint64_t bytes;
    struct npy_common common = {0};
    mldf_error err;
    if (mldfi_npz_is(part->extension) && part->data) {
        mldfi_npz_look(&common, part->data, part->bytes, "fuzz");
        if (mldfi_npz_unwrap(part->data, part->bytes, MEMBER_MAX, &scratch, &data, &bytes, &err) >= 0)
            touch(data, bytes);
    }
    mldf_buffer_free(&scratch);
}

static void read_samples(struct tar_input *input) {
    struct tar_group_options options = {.member_max = MEMBER_MAX};
    struct tar_group *group = NULL;
    struct tar_sample sample;
    mldf_error err;
    mldfi_tar_input_limit(input, UNPACKED_MAX);
    if (mldfi_tar_group_new(&group, &options, &err) < 0)
        return;
    if (mldfi_tar_group_begin(group, input, "fuzz", &err) >= 0)
        for (int n = 0; n < SAMPLES_MAX && mldfi_tar_group_next(group, &sample, &err) == MLDF_OK; n++) {
            touch(sample.key, sample.key_bytes);
            for (size_t i = 0; i < sample.part_count; i++) {
                touch(sample.parts[i].data, sample.parts[i].bytes);
                touch(sample.parts[i].extension, strlen(sample.parts[i].extension));
                read_array(&sample.parts[i]);
            }
        }
    mldfi_tar_group_free(group);
}

static void read_all(const uint8_t *data, size_t size) {
    struct tar_input *input;
    struct tar_index index;
    struct drip drip = {data, size};
    mldf_error err;
    if (mldfi_tar_input_memory(&input, data, size, &err) >= 0)
        read_samples(input);
    mldfi_tar_input_free(input);
    if (mldfi_tar_input_pull(&input, pull, &drip, &err) >= 0)
        read_samples(input);
    mldfi_tar_input_free(input);
    if (mldfi_tar_index_build(&index, data, size, NULL, NULL, &err) >= 0) {
        for (size_t i = 0; i < index.part_count; i++)
            touch(data + index.parts[i].offset, index.parts[i].bytes);
        mldfi_tar_index_free(&index);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > INPUT_MAX)
        return 0;
    read_all(data, size);
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    for (size_t at = 0; at + TAR_BLOCK <= size; at += TAR_BLOCK) {
        uint8_t *h = copy + at;
        unsigned sum = 0;
        if (memcmp(h + 257, "ustar", 5) != 0)
            continue;
        memset(h + 148, ' ', 8);
        for (int i = 0; i < TAR_BLOCK; i++)
            sum += h[i];
        snprintf((char *)h + 148, 8, "%06o", sum);
    }
    read_all(copy, size);
    free(copy);
    return 0;
}
