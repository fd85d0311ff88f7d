/* Generated C gives the bits of the built-in kernels; its cache trusts nobody; a compiler that is missing, fails or hangs changes nothing but
 * a warning. Sanitizers slow the compiler's loader down, not the tests' meaning. */
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arrays.h"
#include "field/field.h"
#include "mldf/loader.h"
#include "os/code_cache.h"
#include "os/compiler.h"
#include "pipeline/stage.h"
#include "pipeline_images.h"
#include "random_expression.h"

struct warnings {
    int count;
    char last[600];
};

static void note_warning(void *user, const char *message) {
    struct warnings *w = user;
    w->count++;
    snprintf(w->last, sizeof w->last, "%s", message);
}

static mldf_context *make_context(const char *folder, const char *compiler, struct warnings *w) {
    mldf_context *context;
    mldf_error err;
    memset(w, 0, sizeof *w);
    if (mldf_context_new(&context, &err) < 0 || mldf_context_set_compiler(context, folder, compiler, &err) < 0)
        return NULL;
    mldf_context_set_warning(context, note_warning, w);
    context->compile_limit_ms = 600000; /* a busy machine is no fault here; plan_once tests the limit */
    return context;
}

static bool has_compiler(const char *name) {
    struct os_compiler compiler;
    if (mldfi_compiler_find(name, &compiler, NULL) == MLDF_OK)
        return true;
    fprintf(stderr, "no %s here: not compared\n", name);
    return false;
}

/* ---- The same bits ---------------------------------------------------------------------------------------------------------------------- */

static void random_step(uint64_t *state, bool three, char *out, size_t room) {
    static const char *const types[] = {"bool", "u8",  "i8",  "u16",  "i16", "u32", "i32",
                                        "u64",  "i64", "f16", "bf16", "f32", "f64"};
    char text[1024];
    uint64_t pick = check_rand(state) >> 33;
    switch (pick % 6) {
    case 0:
        snprintf(out, room, "scale(%.6g, %.6g)", (double)(int64_t)(pick % 2001) / 64.0 - 12, (double)(pick % 77) / 7.0);
        break;
    case 1:
        snprintf(out, room, three ? "normalize([0.1, 7, %.5g], [0.5, 1e3, 0.25])" : "normalize(%.5g, 3)",
                 (double)(pick % 99));
        break;
    case 2:
    case 3:
        snprintf(out, room, "cast(%s)", types[pick / 6 % (sizeof types / sizeof *types)]);
        break;
    default:
        do
            random_expression(state, 3, text, sizeof text);
        while (strlen(text) > 400);
        snprintf(out, room, "expr(\"%s\", [0.7, -3.25])", text);
        break;
    }
}

/* Outputs o0, o1 ... of random chains over all fields. */
static void random_pipeline(uint64_t *state, size_t outputs, mldf_buffer *out) {
    char line[4096], step[1024];
    out->size = 0;
    for (size_t i = 0; i < outputs; i++) {
        size_t field = (size_t)(check_rand(state) >> 33) % ARRAY_FIELDS;
        bool image = field == ARRAY_IMAGE, three = image || array_fields[field].dims[array_fields[field].ndim - 1] == 3;
        size_t count = 1 + (check_rand(state) >> 33) % 4;
        size_t at = (size_t)snprintf(line, sizeof line, "o%zu = %s: ", i, image ? "image" : array_fields[field].name);
        if (image) /* what an image may be made of */
            at += (size_t)snprintf(line + at, sizeof line - at, "%s", check_rand(state) >> 63 ? "chw | " : "decode | ");
        for (size_t k = 0; k < count; k++) {
            random_step(state, three, step, sizeof step);
            at += (size_t)snprintf(line + at, sizeof line - at, "%s%s", k ? " | " : "", step);
        }
        if (image && check_rand(state) >> 63)
            at += (size_t)snprintf(line + at, sizeof line - at, " | cast(f32) | %s",
                                   check_rand(state) >> 63 ? "hwc" : "chw(f16)");
        line[at++] = '\n';
        CHECK_OK(mldf_buffer_append(out, line, at, NULL), NULL);
    }
    CHECK_OK(mldf_buffer_append(out, "", 1, NULL), NULL);
}

static void compare(struct arrays *all, const mldf_buffer *text, const char *compiler, const char *isa) {
    struct warnings w;
    struct plan *plain, *fused;
    mldf_buffer want = MLDF_BUFFER_INIT, got = MLDF_BUFFER_INIT;
    mldf_error err;
    mldf_context *context = make_context(NULL, compiler, &w);
    REQUIRE(context);
    struct plan_options reference = {.reference = true, .codegen = MLDF_CODEGEN_OFF};
    struct plan_options options = {.context = context, .isa = isa, .codegen = MLDF_CODEGEN_WAIT};
    const char *t = (const char *)text->data;
    CHECK_STATUS(MLDF_OK, arrays_plan(all, t, &reference, &plain, &err), &err);
    CHECK_STATUS(MLDF_OK, arrays_plan(all, t, &options, &fused, &err), &err);
    REQUIRE(plain && fused);
    CHECK_EQ_INT(CODE_COMPILED, mldfi_code_state(fused->code));
    CHECK_EQ_STR("", w.last);
    CHECK_STATUS(MLDF_OK, arrays_run_plan(all, plain, &want, &err), &err);
    CHECK_STATUS(MLDF_OK, arrays_run_plan(all, fused, &got, &err), &err);
    CHECK_EQ_U64(want.size, got.size);
    CHECK(want.size > 0);
    if (want.size != got.size || memcmp(want.data, got.data, want.size) != 0) {
        /* which output? */
        size_t at = 0, bad = 0;
        while (bad < want.size && want.data[bad] == got.data[bad])
            bad++;
        for (uint64_t p = 0; p < ARRAY_SAMPLES; p++)
            for (size_t o = 0; o < mldfi_plan_output_count(plain); o++) {
                const struct edge *e = &mldfi_plan_output(plain, o)->edge;
                size_t bytes = mldf_dtype_bytes(e->dtype);
                for (uint32_t k = 0; k < e->ndim; k++)
                    bytes *= (size_t)e->dims[k];
                if (bad >= at && bad < at + bytes)
                    check_fail(__FILE__, __LINE__,
                               "%s, %s: output %s differs at byte %zu of sample %d (%02x, not %02x):\n%s", compiler,
                               isa ? isa : "best", mldfi_plan_output(plain, o)->name, bad - at, (int)p, got.data[bad],
                               want.data[bad], t);
                at += bytes;
            }
    }
    mldf_buffer_free(&want);
    mldf_buffer_free(&got);
    mldfi_plan_free(plain);
    mldfi_plan_free(fused);
    mldf_context_free(context);
}

static void random_chains_have_the_bits_of_the_built_in_kernels(void) {
    static const char *const isas[] = {"portable", "sse4", "avx2", "avx512", "neon"};
    static const char *const compilers[] = {"gcc", "clang"};
    struct arrays all;
    mldf_buffer text = MLDF_BUFFER_INIT;
    uint64_t state = check_seed();
    REQUIRE(arrays_begin(&all, state));
    for (size_t k = 0; k < sizeof compilers / sizeof *compilers; k++)
        for (size_t i = 0; has_compiler(compilers[k]) && i < sizeof isas / sizeof *isas; i++) {
            if (!mldfi_kernels_named(isas[i]))
                continue;
            random_pipeline(&state, 30, &text);
            compare(&all, &text, compilers[k], isas[i]);
        }
    mldf_buffer_free(&text);
    arrays_end(&all);
}

/* Every pair of types, all values of 16 bits and of floats near the ends. */
static void every_conversion_has_the_bits_of_the_built_in_one(void) {
    static const char *const types[] = {"bool", "u8",  "i8",  "u16",  "i16", "u32", "i32",
                                        "u64",  "i64", "f16", "bf16", "f32", "f64"};
    struct arrays all;
    mldf_buffer text = MLDF_BUFFER_INIT;
    char line[256];
    if (!has_compiler("cc"))
        return;
    REQUIRE(arrays_begin(&all, 77));
    for (size_t f = 0; f < ARRAY_FIELDS - 1; f++)
        for (size_t a = 0; a < sizeof types / sizeof *types; a++) {
            int n = snprintf(line, sizeof line, "o%zu_%zu = %s: cast(%s) | cast(f32)\n", f, a, array_fields[f].name,
                             types[a]);
            CHECK_OK(mldf_buffer_append(&text, line, (size_t)n, NULL), NULL);
            n = snprintf(line, sizeof line, "q%zu_%zu = f32: cast(%s) | cast(%s)\n", f, a, types[f], types[a]);
            if (f < 11)
                CHECK_OK(mldf_buffer_append(&text, line, (size_t)n, NULL), NULL);
        }
    CHECK_OK(mldf_buffer_append(&text, "", 1, NULL), NULL);
    static const float ends[] = {0.5f,          -0.5f,         1.5f,          2.5f,           255.5f, 127.5f,
                                 -128.5f,       65535.5f,      32767.5f,      65504.0f,       65520,  65519,
                                 2147483648.0f, 4294967296.0f, 1.8446744e19f, -9.2233720e18f, 6e-8f,  3e-8f,
                                 2.9e-8f,       6.1e-5f,       -1e-9f,        1e-40f,         NAN,    -INFINITY};
    memcpy(all.data[0][10], ends, sizeof ends);
    compare(&all, &text, "cc", "portable");
    compare(&all, &text, "cc", NULL);
    if (has_compiler("clang"))
        compare(&all, &text, "clang", NULL);
    mldf_buffer_free(&text);
    arrays_end(&all);
}

static void every_function_has_the_bits_of_the_built_in_one(void) {
    static const char *const texts[] = {
        "-x",          "!x",          "abs(x)",    "sqrt(x)",        "floor(x)",      "ceil(x)",    "round(x)",
        "exp(x)",      "log(x)",      "log2(x)",   "log10(x)",       "sin(x)",        "cos(x)",     "tan(x)",
        "tanh(x)",     "x + 0.1",     "0.1 - x",   "x * 0.1",        "x / 0.3",       "1 / x",      "min(x, 1)",
        "min(1, x)",   "max(x, 1)",   "max(1, x)", "max(x, 0)",      "max(0 * x, 0)", "x < 1",      "x <= 1",
        "x == 1",      "x != 1",      "x > 1",     "x >= 1",         "x && x",        "x || 0 * x", "pow(x, 1.5)",
        "pow(2, x)",   "atan2(x, 1)", "x ? 2 : 3", "clamp(x, 0, 1)", "x - x",         "x / x",      "x * 1e30 * 1e30",
        "1 / (0 * x)", "pi",          "1e39",      "0 - 1e39",       "0 * 1e39",      "1e-42",      "0 - 0"};
    static const float ends[] = {0.0f,      -0.0f, 0.25f,      -0.25f,      0.5f,    -0.5f, -0.75f, 1.5f,
                                 -1.5f,     2.5f,  8388607.5f, -8388607.5f, 8388608, 1e10f, -1e30f, INFINITY,
                                 -INFINITY, NAN,   -NAN,       1e-40f,      -1e-45f, 1,     3,      100};
    struct arrays all;
    mldf_buffer text = MLDF_BUFFER_INIT;
    char line[256];
    if (!has_compiler("cc"))
        return;
    REQUIRE(arrays_begin(&all, 78));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int n = snprintf(line, sizeof line, "e%zu = f32: expr(\"%s\")\n", i, texts[i]);
        CHECK_OK(mldf_buffer_append(&text, line, (size_t)n, NULL), NULL);
    }
    static const char choice[] = "folded = u8: expr(\"0.7 <= clamp(x, pi, 2.5)\")\n"; /* gcc 12 made 0 of it */
    CHECK_OK(mldf_buffer_append(&text, choice, sizeof choice, NULL), NULL);
    memcpy(all.data[0][10], ends, sizeof ends);
    compare(&all, &text, "cc", "portable");
    compare(&all, &text, has_compiler("clang") ? "clang" : "cc", NULL);
    mldf_buffer_free(&text);
    arrays_end(&all);
}

/* 8-bit images: decoding, tables, and what comes behind an operation that is neither. */
static void images_have_the_bits_of_the_built_in_kernels(void) {
    static const char *const texts[] = {
        "image: resize([20, 30]) | expr(\"x * c + 0.25\") | chw(f16)",
        "image: random_resized_crop(24) | hflip | to_float | expr(\"x < p0 ? x : c - x\", 0.5) | chw",
        "image: center_crop(16) | chw | expr(\"sqrt(x) + c\") | cast(u8)",
        "image: resize([9, 7]) | to_float | contrast(0.5) | expr(\"x * 2 - c\") | chw(bf16)",
        "image: resize([9, 7]) | to_float | contrast(0.5) | normalize([0.1, 0.2, 0.3], 0.5) | chw(f16) | hwc(f32)",
        "image: resize([9, 7]) | expr(\"x + 1\") | saturation(0.3) | normalize(imagenet) | chw(f16)",
    };
    struct images all;
    struct warnings w;
    mldf_context *context = make_context(NULL, "cc", &w);
    if (!has_compiler("cc"))
        return;
    REQUIRE(context && images_begin(&all, 3, false));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct plan_options options[2] = {{.reference = true, .seed = 3},
                                          {.context = context, .codegen = MLDF_CODEGEN_WAIT, .seed = 3}};
        static _Alignas(64) uint8_t out[2][24 * 24 * 3 * 4];
        struct plan_feed feed = {.user = &all, .get = images_get};
        struct plan *plans[2];
        struct plan_worker *workers[2];
        int64_t label;
        mldf_pipeline *pipeline;
        mldf_error err;
        REQUIRE_OK(mldf_pipeline_parse(NULL, texts[i], strlen(texts[i]), &pipeline, &err), &err);
        for (int k = 0; k < 2; k++) {
            REQUIRE_OK(mldfi_plan_new(pipeline, all.schema, all.bounds, &options[k], &plans[k], &err), &err);
            REQUIRE_OK(mldfi_worker_new(plans[k], &workers[k], &err), &err);
        }
        for (uint64_t p = 0; p < IMAGES; p++) {
            for (int k = 0; k < 2; k++) {
                struct plan_target targets[2] = {{out[k], {{0}}}, {&label, {{0}}}};
                memset(out[k], 0xA5, sizeof out[k]);
                CHECK_STATUS(MLDF_OK, mldfi_plan_run(plans[k], workers[k], &feed, 0, p, targets, &err), &err);
            }
            if (memcmp(out[0], out[1], sizeof out[0]) != 0)
                check_fail(__FILE__, __LINE__, "%s: image %d differs", texts[i], (int)p);
        }
        for (int k = 0; k < 2; k++) {
            mldfi_worker_free(workers[k]);
            mldfi_plan_free(plans[k]);
        }
        mldf_pipeline_free(pipeline);
    }
    CHECK_EQ_STR("", w.last);
    images_end(&all);
    mldf_context_free(context);
}

static void source_holds_no_text_of_the_pipeline(void) {
    struct arrays all;
    struct plan *plan;
    mldf_error err;
    struct plan_options options = {.codegen = MLDF_CODEGEN_OFF};
    REQUIRE(arrays_begin(&all, 1));
    const char *text = "secret_name = f32: expr(\"x * 2 + 1\") | scale(3)";
    CHECK_STATUS(MLDF_OK, arrays_plan(&all, text, &options, &plan, &err), &err);
    const mldf_buffer *source = mldfi_code_source(plan->code);
    CHECK(source->size > 100);
    CHECK(!memmem(source->data, source->size, "secret", 6));
    CHECK(!memmem(source->data, source->size, "#include", 8));
    CHECK(memmem(source->data, source->size, "0x1.000000p+1f", 14));
    CHECK_EQ_INT(CODE_OFF, mldfi_code_state(plan->code));
    mldfi_plan_free(plan);
    arrays_end(&all);
}

/* ---- The cache ---------------------------------------------------------------------------------------------------------------------------- */

static const char chain[] = "a = f32: expr(\"x * 3 + 0.5\") | cast(f16)\nb = u16: scale(0.5) | cast(u8)";

/* Plans `chain` in a new context; the state it ends in; the outputs must be the reference's. */
static code_state plan_once(struct arrays *all, const char *folder, const char *compiler, int codegen,
                            struct warnings *w, mldf_buffer *explain) {
    struct plan *plan, *plain;
    mldf_error err;
    mldf_buffer want = MLDF_BUFFER_INIT, got = MLDF_BUFFER_INIT;
    mldf_context *context = make_context(folder, compiler, w);
    struct plan_options options = {.context = context, .codegen = codegen}, reference = {.reference = true};
    code_state state = CODE_OFF;
    if (compiler && strstr(strrchr(compiler, '/') ? strrchr(compiler, '/') : compiler, "hang"))
        context->compile_limit_ms = 400;
    CHECK_STATUS(MLDF_OK, arrays_plan(all, chain, &reference, &plain, &err), &err);
    CHECK_STATUS(MLDF_OK, arrays_plan(all, chain, &options, &plan, &err), &err);
    if (plan && plain) {
        CHECK_OK(arrays_run_plan(all, plan, &got, &err), &err); /* before it is compiled, or while */
        CHECK_OK(arrays_run_plan(all, plain, &want, &err), &err);
        CHECK_EQ_U64(want.size, got.size);
        CHECK_MEM_EQ(want.data, got.data, want.size);
        mldfi_code_wait(plan->code);
        state = mldfi_code_state(plan->code);
        CHECK_OK(arrays_run_plan(all, plan, &got, &err), &err); /* and after */
        CHECK_EQ_U64(want.size, got.size);
        CHECK_MEM_EQ(want.data, got.data, want.size);
        if (explain) {
            explain->size = 0;
            CHECK_OK(mldfi_plan_explain(plan, explain, &err), &err);
            CHECK_OK(mldf_buffer_append(explain, "", 1, NULL), NULL);
        }
    }
    mldf_buffer_free(&want);
    mldf_buffer_free(&got);
    mldfi_plan_free(plan);
    mldfi_plan_free(plain);
    mldf_context_free(context);
    return state;
}

/* Names of the cache's files; the first one's path. */
static int list_cache(const char *folder, char *path, size_t room) {
    DIR *dir = opendir(folder);
    int count = 0;
    for (struct dirent *d; dir && (d = readdir(dir));)
        if (d->d_name[0] != '.' && count++ == 0 && path)
            snprintf(path, room, "%s/%s", folder, d->d_name);
    if (dir)
        closedir(dir);
    return count;
}

static void second_plan_comes_from_the_cache(void) {
    struct arrays all;
    struct warnings w;
    struct stat st;
    mldf_buffer text = MLDF_BUFFER_INIT;
    const char *folder = check_tmp("new/cache");
    REQUIRE(arrays_begin(&all, 5));
    if (!has_compiler("cc"))
        return;
    CHECK_EQ_INT(CODE_COMPILED, plan_once(&all, folder, "cc", MLDF_CODEGEN_WAIT, &w, &text));
    CHECK_CONTAINS("code     a: expr + cast (generated C)", (const char *)text.data);
    CHECK_CONTAINS("generated C: 2 functions, compiled", (const char *)text.data);
    REQUIRE(stat(folder, &st) == 0);
    CHECK_EQ_U64(0700, st.st_mode & 07777);
    CHECK_EQ_INT(1, list_cache(folder, NULL, 0));
    CHECK_EQ_INT(CODE_CACHED, plan_once(&all, folder, "cc", MLDF_CODEGEN_WAIT, &w, &text));
    CHECK_CONTAINS("from the cache", (const char *)text.data);
    CHECK_EQ_INT(CODE_CACHED, plan_once(&all, folder, "cc", MLDF_CODEGEN_AUTO, &w, NULL));
    CHECK_EQ_INT(1, list_cache(folder, NULL, 0));
    CHECK_EQ_INT(CODE_OFF, plan_once(&all, folder, "cc", MLDF_CODEGEN_OFF, &w, &text));
    CHECK_CONTAINS("turned off", (const char *)text.data);
    /* another compiler is another key */
    if (has_compiler("clang")) {
        CHECK_EQ_INT(CODE_COMPILED, plan_once(&all, folder, "clang", MLDF_CODEGEN_AUTO, &w, NULL));
        CHECK_EQ_INT(2, list_cache(folder, NULL, 0));
    }
    CHECK_EQ_INT(0, w.count);
    mldf_buffer_free(&text);
    arrays_end(&all);
}

static void damaged_objects_are_compiled_anew(void) {
    struct arrays all;
    struct warnings w;
    char path[2048];
    const char *folder = check_tmp("damaged");
    REQUIRE(arrays_begin(&all, 5));
    if (!has_compiler("cc"))
        return;
    CHECK_EQ_INT(CODE_COMPILED, plan_once(&all, folder, "cc", MLDF_CODEGEN_WAIT, &w, NULL));
    REQUIRE(list_cache(folder, path, sizeof path) == 1);
    size_t bytes;
    uint8_t *good = check_read_file(path, &bytes);
    REQUIRE(good && bytes > 1000);
    const size_t places[] = {0, 8, 40, 72, 500, bytes - 1};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        good[places[i]] ^= 1;
        CHECK(check_write_file(path, good, bytes));
        good[places[i]] ^= 1;
        CHECK_EQ_INT(CODE_COMPILED, plan_once(&all, folder, "cc", MLDF_CODEGEN_WAIT, &w, NULL));
        CHECK_EQ_INT(CODE_CACHED, plan_once(&all, folder, "cc", MLDF_CODEGEN_WAIT, &w, NULL));
    }
    const size_t lengths[] = {0, 7, 71, 72, 73, 1000, bytes - 1};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        CHECK(check_write_file(path, good, lengths[i]));
        CHECK_EQ_INT(CODE_COMPILED, plan_once(&all, folder, "cc", MLDF_CODEGEN_WAIT, &w, NULL));
    }
    /* right bytes that others may change, or reached through a link */
    CHECK_EQ_INT(CODE_CACHED, plan_once(&all, folder, "cc", MLDF_CODEGEN_WAIT, &w, NULL));
    CHECK_EQ_INT(0, chmod(path, 0666));
    CHECK_EQ_INT(CODE_COMPILED, plan_once(&all, folder, "cc", MLDF_CODEGEN_WAIT, &w, NULL));
    const char *aside = check_tmp("aside");
    CHECK(check_write_file(aside, good, bytes));
    CHECK_EQ_INT(0, unlink(path));
    CHECK_EQ_INT(0, symlink(aside, path));
    CHECK_EQ_INT(CODE_COMPILED, plan_once(&all, folder, "cc", MLDF_CODEGEN_WAIT, &w, NULL));
    CHECK_EQ_INT(0, unlink(path));
    CHECK_EQ_INT(0, mkfifo(path, 0600)); /* must not hang */
    CHECK_EQ_INT(CODE_COMPILED, plan_once(&all, folder, "cc", MLDF_CODEGEN_WAIT, &w, NULL));
    free(good);
    arrays_end(&all);
}

static void folders_that_others_write_to_are_not_used(void) {
    struct arrays all;
    struct warnings w;
    struct os_cache cache;
    REQUIRE(arrays_begin(&all, 5));
    const char *open_folder = check_tmp("open"), *link_name = check_tmp("link"), *file = check_tmp("file");
    CHECK_EQ_INT(0, mkdir(open_folder, 0700));
    CHECK_EQ_INT(0, chmod(open_folder, 0777));
    mldfi_cache_open(open_folder, &cache);
    CHECK_EQ_INT(-1, cache.fd);
    CHECK_CONTAINS("others may write", cache.reason);
    if (has_compiler("cc")) {
        CHECK_EQ_INT(CODE_COMPILED, plan_once(&all, open_folder, "cc", MLDF_CODEGEN_WAIT, &w, NULL));
        CHECK_EQ_INT(0, list_cache(open_folder, NULL, 0));
        CHECK_EQ_INT(CODE_COMPILED, plan_once(&all, open_folder, "cc", MLDF_CODEGEN_WAIT, &w, NULL));
    }
    CHECK_EQ_INT(0, chmod(open_folder, 0770));
    mldfi_cache_open(open_folder, &cache);
    CHECK_EQ_INT(-1, cache.fd);
    CHECK_EQ_INT(0, chmod(open_folder, 0755));
    mldfi_cache_open(open_folder, &cache);
    CHECK(cache.fd >= 0);
    mldfi_cache_close(&cache);
    CHECK_EQ_INT(0, symlink(open_folder, link_name));
    mldfi_cache_open(link_name, &cache);
    CHECK_EQ_INT(-1, cache.fd);
    CHECK(check_write_file(file, "x", 1));
    mldfi_cache_open(file, &cache);
    CHECK_EQ_INT(-1, cache.fd);
    mldfi_cache_open("/proc/no/such", &cache);
    CHECK_EQ_INT(-1, cache.fd);
    mldfi_cache_open(NULL, &cache);
    CHECK_EQ_INT(-1, cache.fd);
    CHECK_EQ_STR("", cache.reason);
    if (geteuid() == 0) { /* only root can give a folder away */
        CHECK_EQ_INT(0, chown(open_folder, 12345, 12345));
        mldfi_cache_open(open_folder, &cache);
        CHECK_EQ_INT(-1, cache.fd);
        CHECK_CONTAINS("another user", cache.reason);
    }
    arrays_end(&all);
}

static void cache_forgets_the_oldest(void) {
    struct os_cache cache;
    mldf_buffer object = MLDF_BUFFER_INIT;
    uint8_t bytes[1000], key[CODE_KEY_BYTES] = {0};
    const char *folder = check_tmp("small");
    mldfi_cache_open(folder, &cache);
    REQUIRE(cache.fd >= 0);
    cache.most = 5000;
    for (uint8_t i = 0; i < 10; i++) {
        memset(bytes, i, sizeof bytes);
        key[0] = i;
        mldfi_cache_put(&cache, key, bytes, sizeof bytes);
        struct timespec past[2] = {{.tv_sec = 1000000 + i}, {.tv_sec = 1000000 + i}};
        char name[2 * CODE_KEY_BYTES + 1];
        for (int k = 0; k < CODE_KEY_BYTES; k++)
            snprintf(name + 2 * k, 3, "%02x", key[k]);
        CHECK_EQ_INT(0, utimensat(cache.fd, name, past, 0));
        if (i == 3) { /* the first is used: it stays, the second goes */
            key[0] = 0;
            CHECK(mldfi_cache_get(&cache, key, &object));
        }
    }
    CHECK_EQ_INT(4, list_cache(folder, NULL, 0));
    for (uint8_t i = 0; i < 10; i++) {
        key[0] = i;
        bool there = mldfi_cache_get(&cache, key, &object);
        CHECK_EQ_INT(i == 0 || i >= 7, there);
        if (there) {
            CHECK_EQ_U64(sizeof bytes, object.size);
            CHECK_EQ_INT(i, object.data[999]);
        }
    }
    mldf_buffer_free(&object);
    mldfi_cache_close(&cache);
}

/* ---- Compilers that do not do it ---------------------------------------------------------------------------------------------------------------- */

static const char *script(const char *name, const char *text) {
    const char *path = check_tmp(name);
    CHECK(check_write_file(path, text, strlen(text)));
    CHECK_EQ_INT(0, chmod(path, 0755));
    return path;
}

static void bad_compilers_mean_built_in_kernels_and_one_warning(void) {
    static const struct {
        const char *name, *text, *message;
    } cases[] = {
        {"fails", "#!/bin/sh\necho 'x.c:1: error: no such luck' >&2\nexit 1\n", "no such luck"},
        {"silent", "#!/bin/sh\nexit 3\n", "failed"},
        {"lazy", "#!/bin/sh\nexit 0\n", "made no object"},
        {"liar", "#!/bin/sh\nfor a; do case $p in -o) echo junk >\"$a\";; esac; p=$a; done\n", "cannot be loaded"},
        {"empty", "#!/bin/sh\nfor a; do case $p in -o) : >\"$a\";; esac; p=$a; done\n", "no sensible size"},
        {"hang", "#!/bin/sh\nsleep 600\n", "did not end within 0.4 s"},
        {"signal", "#!/bin/sh\nkill -SEGV $$\n", "failed"},
        {"noformat", "\x01\x02 no program", ""},
    };
    struct arrays all;
    struct warnings w;
    mldf_buffer text = MLDF_BUFFER_INIT;
    REQUIRE(arrays_begin(&all, 5));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int codegen = 0; codegen < 3; codegen += 2) {
            const char *path = script(cases[i].name, cases[i].text);
            CHECK_EQ_INT(CODE_FAILED, plan_once(&all, check_tmp("bad"), path,
                                                codegen ? MLDF_CODEGEN_WAIT : MLDF_CODEGEN_AUTO, &w, &text));
            CHECK_EQ_INT(1, w.count);
            CHECK_CONTAINS(cases[i].message, w.last);
            CHECK_CONTAINS("built-in kernels", w.last);
            CHECK_CONTAINS("built-in kernels instead", (const char *)text.data);
        }
    CHECK_EQ_INT(0, list_cache(check_tmp("bad"), NULL, 0));
    CHECK_EQ_INT(CODE_FAILED, plan_once(&all, NULL, "/no/such/compiler", MLDF_CODEGEN_AUTO, &w, NULL));
    CHECK_EQ_INT(1, w.count);
    CHECK_EQ_INT(CODE_FAILED, plan_once(&all, NULL, "no-such-compiler", MLDF_CODEGEN_WAIT, &w, NULL));
    CHECK_EQ_INT(CODE_OFF, plan_once(&all, NULL, NULL, MLDF_CODEGEN_WAIT, &w, &text));
    CHECK_EQ_INT(0, w.count);
    CHECK_CONTAINS("there is no compiler", (const char *)text.data);
    mldf_buffer_free(&text);
    arrays_end(&all);
}

/* A plan that ends while its compiler runs does not wait for it, and leaves no process and no file. */
static void plans_end_while_they_compile(void) {
    struct arrays all;
    struct warnings w;
    struct plan *plan;
    mldf_error err;
    char text[512];
    REQUIRE(arrays_begin(&all, 5));
    snprintf(text, sizeof text, "#!/bin/sh\necho $$ >'%s'\nsleep 3000\n", check_tmp("pid"));
    mldf_context *context = make_context(NULL, script("slow", text), &w);
    struct plan_options options = {.context = context};
    CHECK_STATUS(MLDF_OK, arrays_plan(&all, chain, &options, &plan, &err), &err);
    size_t bytes = 0;
    CHECK_SOON((free(check_read_file(check_tmp("pid"), &bytes)), bytes > 0));
    char *pid = (char *)check_read_file(check_tmp("pid"), &bytes);
    REQUIRE(pid && bytes > 1);
    CHECK_EQ_INT(CODE_COMPILING, mldfi_code_state(plan->code));
    mldfi_plan_free(plan); /* the script would sleep for longer than this test may run */
    CHECK(kill(atoi(pid), 0) != 0);
    CHECK_EQ_INT(0, w.count); /* nobody wants to hear of it */
    free(pid);
    mldf_context_free(context);
    arrays_end(&all);
}

/* The child has the plan's memory but not its thread, which waits for the compiler then: a sanitizer's malloc is not made for a fork in the
 * middle of another thread's. */
static void plans_end_in_a_forked_child(void) {
    struct arrays all;
    struct warnings w;
    struct plan *plan;
    mldf_error err;
    char text[512];
    REQUIRE(arrays_begin(&all, 5));
    snprintf(text, sizeof text, "#!/bin/sh\n: >'%s'\nsleep 3000\n", check_tmp("runs"));
    mldf_context *context = make_context(NULL, script("slow2", text), &w);
    struct plan_options options = {.context = context};
    CHECK_STATUS(MLDF_OK, arrays_plan(&all, chain, &options, &plan, &err), &err);
    CHECK_SOON(access(check_tmp("runs"), F_OK) == 0);
    pid_t child = fork();
    if (child == 0) {
        alarm(300); /* a hang ends here */
        mldfi_plan_free(plan);
        _exit(0);
    }
    int how;
    CHECK_EQ_INT(child, waitpid(child, &how, 0));
    CHECK_EQ_INT(0, how);
    mldfi_plan_free(plan);
    mldf_context_free(context);
    arrays_end(&all);
}

/* Compilers that note where their object goes, and then end well, badly or not at all: that folder is gone afterwards. */
static void nothing_is_left_in_tmp(void) {
    static const char *const names[] = {"notes_works", "notes_fails", "notes_hang"};
    static const char *const ends[] = {"exec cc \"$@\"", "exit 1", "sleep 3000"};
    struct arrays all;
    struct warnings w;
    char text[1024], list[512];
    size_t bytes = 0;
    int noted = 0;
    REQUIRE(arrays_begin(&all, 5));
    snprintf(list, sizeof list, "%s", check_tmp("objects"));
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (i == 0 && !has_compiler("cc"))
            continue;
        snprintf(text, sizeof text, "#!/bin/sh\nfor a; do case $p in -o) echo \"$a\" >>'%s';; esac; p=$a; done\n%s\n",
                 list, ends[i]);
        CHECK_EQ_INT(i == 0 ? CODE_COMPILED : CODE_FAILED,
                     plan_once(&all, NULL, script(names[i], text), MLDF_CODEGEN_WAIT, &w, NULL));
    }
    char *objects = (char *)check_read_file(list, &bytes);
    REQUIRE(objects && bytes > 0);
    objects[bytes - 1] = 0; /* the last line's end */
    for (char *object = objects, *next; object; object = next) {
        if ((next = strchr(object, '\n')))
            *next++ = 0;
        CHECK_CONTAINS("/tmp/mldf-", object);
        *strrchr(object, '/') = 0;
        CHECK(access(object, F_OK) != 0);
        noted++;
    }
    CHECK(noted >= 1); /* one that is killed early may have noted nothing */
    free(objects);
    arrays_end(&all);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(random_chains_have_the_bits_of_the_built_in_kernels);
    RUN(every_conversion_has_the_bits_of_the_built_in_one);
    RUN(every_function_has_the_bits_of_the_built_in_one);
    RUN(images_have_the_bits_of_the_built_in_kernels);
    RUN(source_holds_no_text_of_the_pipeline);
    RUN(second_plan_comes_from_the_cache);
    RUN(damaged_objects_are_compiled_anew);
    RUN(folders_that_others_write_to_are_not_used);
    RUN(cache_forgets_the_oldest);
    RUN(bad_compilers_mean_built_in_kernels_and_one_warning);
    RUN(plans_end_while_they_compile);
    RUN(plans_end_in_a_forked_child);
    RUN(nothing_is_left_in_tmp);
    return check_end();
}
