/* Every instruction set gives the bytes of the portable loops, for every size, layout and type; sources end with their last pixel and
 * results with their last element, so that a sanitizer sees what is read or written too far. */
#include "kernel/cast.h"
#include "kernel/resize.h"

#include "check.h"

static uint64_t seed;

static uint32_t below(uint32_t n) {
    return (uint32_t)check_rand_below(&seed, n);
}

static void *get(size_t bytes) {
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory)
        exit(3);
    return memory;
}

static const struct kernels *usable(int isa) {
    return isa == ISA_PORTABLE ? NULL : mldfi_kernels((enum isa)isa);
}

static const mldf_dtype narrow_types[] = {MLDF_U8, MLDF_F32, MLDF_F16, MLDF_BF16};
static const mldf_dtype wide_types[] = {MLDF_U16, MLDF_F32, MLDF_F16, MLDF_BF16};

static struct finish random_finish(uint32_t bits, const uint8_t (*table)[256]) {
    struct finish f = {.planar = below(2), .affine = below(4) != 0, .table = bits == 8 && below(3) == 0 ? table : NULL};
    f.dtype = (bits == 8 ? narrow_types : wide_types)[below(4)];
    /* Some maps reach the small and the large numbers of float16. */
    float most = below(6) == 0 ? 1000.0f : below(6) == 0 ? 1e-7f : 0.02f;
    for (int c = 0; c < 4; c++) {
        f.scale[c] = ((float)below(2001) - 1000.0f) * most / 1000.0f;
        f.shift[c] = ((float)below(2001) - 1000.0f) * most / 500.0f;
    }
    return f;
}

static struct raster random_image(uint32_t width, uint32_t height, uint32_t channels, uint32_t bits) {
    size_t row = (size_t)width * channels * (bits / 8), stride = row + (below(2) ? 0 : below(9));
    struct raster p = {get(stride * (height - 1) + row), width, height, channels, bits, stride};
    check_rand_bytes(&seed, p.data, stride * (height - 1) + row);
    return p;
}

static bool compare(const char *name, const void *want, const void *got, size_t bytes, const char *what) {
    if (memcmp(want, got, bytes) == 0)
        return true;
    check_fail(__FILE__, __LINE__, "%s differs from portable: %s", name, what);
    CHECK_MEM_EQ(want, got, bytes);
    return false;
}

static bool finish_once(uint32_t width, uint32_t height, uint32_t channels, uint32_t bits,
                        const uint8_t (*table)[256]) {
    struct raster in = random_image(width, height, channels, bits);
    struct finish f = random_finish(bits, table);
    bool mirror_x = below(2), mirror_y = below(2), good = true;
    size_t bytes = (size_t)width * height * channels * mldf_dtype_bytes(f.dtype);
    uint8_t *want = get(bytes), *got = get(bytes);
    char what[160];
    snprintf(what, sizeof what, "%u x %u x %u of %u bits, %s, planar %d, mirrors %d %d, table %d", width, height,
             channels, bits, mldf_dtype_name(f.dtype), f.planar, mirror_x, mirror_y, f.table != NULL);
    mldfi_finish(mldfi_kernels(ISA_PORTABLE), &in, mirror_x, mirror_y, &f, want);
    for (int isa = 0; isa < ISA_COUNT && good; isa++) {
        const struct kernels *k = usable(isa);
        if (!k)
            continue;
        memset(got, 0x5a, bytes);
        mldfi_finish(k, &in, mirror_x, mirror_y, &f, got);
        good = compare(k->name, want, got, bytes, what);
    }
    free(in.data);
    free(want);
    free(got);
    return good;
}

static void finish_is_the_same_everywhere(void) {
    uint8_t table[4][256];
    check_rand_bytes(&seed, table, sizeof table);
    for (uint32_t width = 1; width <= 70; width++)
        for (uint32_t channels = 1; channels <= 4; channels++)
            for (int round = 0; round < 40; round++)
                if (!finish_once(width, 1 + below(4), channels, below(8) ? 8 : 16, (void *)table))
                    return;
    for (int round = 0; round < 200; round++)
        if (!finish_once(1 + below(1500), 1 + below(3), 1 + below(4), 8, (void *)table))
            return;
}

static struct resize_spec random_spec(const struct raster *in, uint32_t most) {
    struct resize_spec s;
    bool whole_pixels = below(2);
    s.box_width = whole_pixels ? 8 * (1 + below(in->width)) : 1 + below(in->width * 8);
    s.box_height = whole_pixels ? 8 * (1 + below(in->height)) : 1 + below(in->height * 8);
    s.box_x = below(in->width * 8 - s.box_width + 1);
    s.box_y = below(in->height * 8 - s.box_height + 1);
    s.width = 1 + below(most);
    s.height = 1 + below(most);
    s.out_width = below(2) ? s.width : 1 + below(s.width);
    s.out_height = below(2) ? s.height : 1 + below(s.height);
    s.x = below(s.width - s.out_width + 1);
    s.y = below(s.height - s.out_height + 1);
    s.mirror_x = below(2);
    s.mirror_y = below(2);
    s.filter = below(4) ? RESIZE_BILINEAR : (enum resize_filter)below(6);
    s.antialias = below(4) != 0;
    return s;
}

static bool resize_once(struct resize_work *work, uint32_t width, uint32_t height, uint32_t channels, uint32_t most,
                        const uint8_t (*table)[256]) {
    uint32_t bits = below(12) ? 8 : 16;
    struct raster in = random_image(width, height, channels, bits);
    struct resize_spec spec = random_spec(&in, most);
    struct finish f = random_finish(bits, table);
    size_t bytes = (size_t)spec.out_width * spec.out_height * channels * mldf_dtype_bytes(f.dtype);
    uint8_t *want = get(bytes), *got = get(bytes);
    bool good = true;
    char what[200];
    mldf_error err;
    snprintf(what, sizeof what,
             "%u x %u x %u of %u bits, box %u %u %u %u, to %u x %u, part %u %u %u %u, filter %d, %s, planar %d", width,
             height, channels, bits, spec.box_x, spec.box_y, spec.box_width, spec.box_height, spec.width, spec.height,
             spec.x, spec.y, spec.out_width, spec.out_height, (int)spec.filter, mldf_dtype_name(f.dtype), f.planar);
    CHECK_OK(mldfi_resize(mldfi_kernels(ISA_PORTABLE), &in, &spec, &f, work, want, &err), &err);
    for (int isa = 0; isa < ISA_COUNT && good; isa++) {
        const struct kernels *k = usable(isa);
        if (!k)
            continue;
        memset(got, 0x5a, bytes);
        CHECK_OK(mldfi_resize(k, &in, &spec, &f, work, got, &err), &err);
        good = compare(k->name, want, got, bytes, what);
    }
    free(in.data);
    free(want);
    free(got);
    return good;
}

static void resizing_is_the_same_everywhere(void) {
    struct resize_work *work = NULL;
    uint8_t table[4][256];
    const uint8_t(*tables)[256] = (void *)table;
    mldf_error err;
    REQUIRE_OK(mldfi_resize_work_new(&work, &err), &err);
    check_rand_bytes(&seed, table, sizeof table);
    bool good = true;
    for (uint32_t width = 1; good && width <= 40; width++)
        for (uint32_t height = 1; good && height <= 40; height++)
            good = resize_once(work, width, height, 1 + (width + height) % 4, 40, tables);
    for (int round = 0; good && round < 300; round++)
        good = resize_once(work, 1 + below(400), 1 + below(100), 1 + below(4), 260, tables);
    mldfi_resize_work_free(work);
}

/* float16 and bfloat16 of the vectors against the portable conversion, on maps that visit every exponent. */
static void narrow_floats_round_as_the_portable_ones(void) {
    uint8_t in[256];
    uint16_t want[256], got[256];
    for (int i = 0; i < 256; i++)
        in[i] = (uint8_t)i;
    struct raster p = {in, 256, 1, 1, 8, 256};
    for (int exponent = -40; exponent <= 20; exponent++)
        for (int round = 0; round < 16; round++) {
            float scale = (float)(1 + check_rand_below(&seed, 1u << 24));
            for (int e = 0; e < (exponent < 0 ? -exponent : exponent); e++)
                scale = exponent < 0 ? scale / 2 : scale * 2;
            for (int type = 0; type < 2; type++) {
                struct finish f = {.affine = true, .scale = {round % 2 ? scale : -scale}, .shift = {0.0f}};
                f.dtype = type ? MLDF_F16 : MLDF_BF16;
                mldfi_finish(mldfi_kernels(ISA_PORTABLE), &p, false, false, &f, want);
                for (int isa = 0; isa < ISA_COUNT; isa++)
                    if (usable(isa)) {
                        mldfi_finish(usable(isa), &p, false, false, &f, got);
                        REQUIRE_MEM_EQ(want, got, sizeof want);
                    }
            }
        }
}

static void kernels_have_names(void) {
    CHECK(mldfi_kernels_named("portable") == mldfi_kernels(ISA_PORTABLE));
    CHECK(mldfi_kernels_named("none") == NULL);
    CHECK(mldfi_kernels_best() != NULL);
    for (int isa = 0; isa < ISA_COUNT; isa++) {
        const struct kernels *k = mldfi_kernels((enum isa)isa);
        if (k) {
            printf("  %s\n", k->name);
            CHECK(mldfi_kernels_named(k->name) == k);
            CHECK_EQ_INT(isa, (int)k->isa);
        }
    }
}

/* The same numbers as cast.h, for every pair that a table takes and every length. */
static void widening_gives_the_same_numbers(void) {
    static const mldf_dtype all[] = {MLDF_BOOL, MLDF_U8,  MLDF_I8,  MLDF_U16, MLDF_I16, MLDF_U32,
                                     MLDF_I32,  MLDF_U64, MLDF_I64, MLDF_F16, MLDF_F32};
    enum { TYPES = sizeof all / sizeof all[0], MOST = 67 };
    size_t pairs = 0;
    for (int isa = 0; isa < ISA_COUNT; isa++) {
        const struct kernels *k = mldfi_kernels((enum isa)isa);
        for (size_t a = 0; a < TYPES && k; a++)
            for (size_t b = 0; b < TYPES; b++)
                for (size_t count = 0; count <= MOST; count++) {
                    uint8_t *in = get(count * mldf_dtype_bytes(all[a])), *got = get(count * mldf_dtype_bytes(all[b])),
                            *want = get(count * mldf_dtype_bytes(all[b]));
                    check_rand_bytes(&seed, in, count * mldf_dtype_bytes(all[a]));
                    bool taken = k->widen(all[a], in, all[b], got, count);
                    mldfi_convert_elements(all[a], in, all[b], want, count);
                    pairs += taken;
                    if (taken)
                        compare(k->name, want, got, count * mldf_dtype_bytes(all[b]), "widen");
                    free(in);
                    free(got);
                    free(want);
                }
    }
    CHECK(pairs >= (size_t)7 * (MOST + 1));
}

/* Every f16 there is: subnormals, infinities, NaNs that are quiet afterwards. */
static void every_half_widens_as_cast_has_it(void) {
    enum { ALL = 1 << 16 };
    static uint16_t in[ALL];
    static float got[ALL], want[ALL];
    for (size_t i = 0; i < ALL; i++)
        in[i] = (uint16_t)i;
    mldfi_convert_elements(MLDF_F16, in, MLDF_F32, want, ALL);
    for (int isa = 0; isa < ISA_COUNT; isa++) {
        const struct kernels *k = mldfi_kernels((enum isa)isa);
        if (!k)
            continue;
        CHECK(k->widen(MLDF_F16, in, MLDF_F32, got, ALL));
        compare(k->name, (const uint8_t *)want, (const uint8_t *)got, sizeof got, "f16 to f32");
    }
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    seed = check_seed();
    RUN(kernels_have_names);
    RUN(finish_is_the_same_everywhere);
    RUN(resizing_is_the_same_everywhere);
    RUN(narrow_floats_round_as_the_portable_ones);
    RUN(widening_gives_the_same_numbers);
    RUN(every_half_widens_as_cast_has_it);
    return check_end();
}
