/* The input is a .beton file in short form: a page is at least 2 MiB, so a real file is too long to mutate well. Nothing in the
 * reader needs the padding; the corpus has files whose blobs follow the rows at once. Everything is read and verified. */
#include <stdlib.h>

#include "interop/beton.h"

enum { INPUT_MAX = 1 << 18, SAMPLES_MAX = 200 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint8_t sink;
static void touch(const uint8_t *p, uint64_t bytes) {
    uint8_t sum = 0;
    for (uint64_t i = 0; i < bytes; i++)
        sum ^= p[i];
    sink = sum;
}

static void read_all(const uint8_t *data, size_t size, const struct beton_options *options) {
    struct beton *b;
    mldf_error err;
    if (mldfi_beton_open(&b, data, size, options, &err) < 0)
        return;
    const struct beton_info *info = mldfi_beton_info(b);
    uint64_t count = info->count < SAMPLES_MAX ? info->count : SAMPLES_MAX;
    for (uint64_t s = 0; s < count; s++)
        for (uint32_t i = 0; i < info->field_count; i++) {
            struct beton_value v;
            if (mldfi_beton_value(b, s, i, &v, &err) < 0)
                continue;
            touch(v.record, mldfi_beton_field(b, i)->bytes);
            touch(v.data, v.bytes);
        }
    if (info->count <= SAMPLES_MAX)
        (void)mldfi_beton_verify(b, NULL, NULL, NULL, &err);
    mldfi_beton_close(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct beton_width widths[2] = {{3, 1}, {24, 8}};
    struct beton_options options = {widths, 2};
    if (size > INPUT_MAX)
        return 0;
    read_all(data, size, NULL);
    read_all(data, size, &options);
    return 0;
}
