/* tests/kernel_images.h: random images for tests of kernels, and what each instruction set makes of them beside what is right. Images stand in
 * memory of their own size, so that the sanitizers see what is read or written beside them. */
#ifndef MLDF_TESTS_KERNEL_IMAGES_H
#define MLDF_TESTS_KERNEL_IMAGES_H

#include <stdlib.h>

#include "check.h"
#include "kernel/kernels.h"

static uint64_t images_seed; /* to be set from check_seed() */

CHECK_UNUSED static uint32_t images_below(uint32_t limit) {
    return (uint32_t)check_rand_below(&images_seed, limit);
}

/* Elements of 1 or 2 bytes, floats (4) or anything of 8 bytes; one in eight is the largest. */
CHECK_UNUSED static void images_fill(void *data, size_t count, size_t element) {
    for (size_t i = 0; i < count; i++) {
        uint32_t v = images_below(8) == 0 ? 65535 : images_below(65536);
        if (element == 1)
            ((uint8_t *)data)[i] = (uint8_t)v;
        else if (element == 2)
            ((uint16_t *)data)[i] = (uint16_t)v;
        else if (element == 4)
            ((float *)data)[i] = (float)v / 50000.0f - 0.1f;
        else
            ((uint64_t *)data)[i] = (uint64_t)v << 40;
    }
}

struct images {
    void *want, *got;
    size_t bytes;
};

CHECK_UNUSED static bool images_begin(struct images *p, size_t bytes) {
    *p = (struct images){malloc(bytes), malloc(bytes), bytes};
    return p->want && p->got;
}

CHECK_UNUSED static void images_end(struct images *p) {
    free(p->want);
    free(p->got);
}

/* Writes p->got. */
typedef void images_run(const struct kernels *kernels, void *user);

/* Every instruction set that this machine has makes p->got equal to p->want. */
CHECK_UNUSED static void images_compare(const struct images *p, images_run *run, void *user, const char *what) {
    for (int isa = 0; isa < ISA_COUNT; isa++) {
        const struct kernels *k = mldfi_kernels((enum isa)isa);
        if (!k)
            continue;
        memset(p->got, 0x5A, p->bytes);
        run(k, user);
        if (memcmp(p->want, p->got, p->bytes) != 0)
            check_fail(__FILE__, __LINE__, "%s: %s, differ", k->name, what);
    }
}

#endif
