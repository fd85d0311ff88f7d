/* Generated code on its way: source → (cache | compiler) → loaded. The functions of a plan are one source, so they are one run of the
 * compiler, in a thread of its own while the workers run the steps one by one.
 *
 *   OFF ──start──► COMPILING ──► COMPILED | FAILED           (a thread; with codegen=wait the caller's own)
 *             └──► CACHED                                    (looked for before the thread: the first sample has it)
 *
 * `state` is the only thing that two threads share: functions are written before it says that they are there. */
#include "pipeline/code.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "field/field.h"
#include "mldf/loader.h"
#include "os/code_cache.h"
#include "os/compiler.h"
#include "os/library.h"
#include "os/thread.h"
#include "pipeline/code_write.h"
#include "pipeline/plan.h"
#include "util/buffer.h"
#include "util/error.h"

enum { CODE_MAX_FUNCTIONS = 256, CODE_MAX_SOURCE = 4 << 20, COMPILE_LIMIT_MS = 30000 };

struct code {
    const mldf_context *context;
    int codegen;
    enum isa isa;
    mldf_buffer source;
    size_t function_count;
    code_function functions[CODE_MAX_FUNCTIONS]; /* written before `state` says that they are there */
    struct os_library *library;
    _Atomic(int) state; /* code_state */
    atomic_bool cancel;
    char reason[MLDF_MESSAGE_MAX + 1]; /* of FAILED; written before it */
    pthread_t thread;
    bool threaded;
    pid_t process; /* that started the thread: after a fork there is none to wait for */
};

/* ---- One source --------------------------------------------------------------------------------------------------------------------- */

/* What a set needs is what its kernels were compiled with; never -march=native, since homes and caches are shared. */
static const char *const *isa_flags(enum isa isa) {
    static const char *const none[] = {NULL}, *const sse4[] = {"-msse4.1", NULL}, *const avx2[] = {"-mavx2", NULL},
                             *const avx512[] = {"-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", NULL};
    switch (isa) {
#if defined(__x86_64__)
    case ISA_SSE4:
        return sse4;
    case ISA_AVX2:
        return avx2;
    case ISA_AVX512:
        return avx512;
#endif
    case ISA_PORTABLE:
    case ISA_NEON:
    default:
        (void)sse4, (void)avx2, (void)avx512;
        return none;
    }
}

/* Not -fno-trapping-math: gcc 12 then makes (double)(long long)-0.25 a -0. */
static const char *const common_flags[] = {"-O3",
                                           "-shared",
                                           "-fPIC",
                                           "-w",
                                           "-std=gnu11",
                                           "-ffp-contract=off",
                                           "-fno-fast-math",
                                           "-fno-math-errno",
                                           "-fno-strict-aliasing",
                                           "-fvisibility=hidden",
                                           NULL};
static const char *const own_libraries[] = {"-lm", NULL}, *const no_libraries[] = {"-nostdlib", NULL};

enum { MAX_FLAGS = 24 };

static void list_flags(enum isa isa, bool own, const char **out) {
    size_t count = 0;
    for (const char *const *f = common_flags; *f; f++)
        out[count++] = *f;
    for (const char *const *f = isa_flags(isa); *f; f++)
        out[count++] = *f;
    if (own) /* the user's function has no attribute to show it by */
        out[count++] = "-fvisibility=default";
    out[count] = NULL;
}

static mldf_status key_of(const struct os_compiler *compiler, const char *const *flags, const char *const *libraries,
                          const char *source, size_t bytes, uint8_t key[CODE_KEY_BYTES], mldf_error *err) {
    mldf_buffer text = MLDF_BUFFER_INIT;
    mldf_status status = mldfi_buffer_printf(&text, err, "mldf %s\n%s\n%llu %lld %lld\n", mldf_version(),
                                             compiler->path, (unsigned long long)compiler->bytes,
                                             (long long)compiler->seconds, (long long)compiler->nanoseconds);
    for (; status == MLDF_OK && *flags; flags++)
        status = mldfi_buffer_printf(&text, err, "%s\n", *flags);
    for (; status == MLDF_OK && *libraries; libraries++)
        status = mldfi_buffer_printf(&text, err, "%s\n", *libraries);
    if (status == MLDF_OK)
        status = mldf_buffer_append(&text, source, bytes, err);
    if (status == MLDF_OK)
        mldf_sha256(text.data, text.size, key);
    mldf_buffer_free(&text);
    return status;
}

struct build {
    struct os_compiler compiler;
    struct os_cache cache;
    const char *flags[MAX_FLAGS];
    const char *const *libraries;
    uint8_t key[CODE_KEY_BYTES];
    mldf_buffer object;
};

static mldf_status build_begin(struct build *b, const mldf_context *context, enum isa isa, const char *source,
                               size_t bytes, bool own, mldf_error *err) {
    memset(b, 0, sizeof *b);
    b->cache.fd = -1;
    if (!context || !context->compiler)
        return mldfi_fail(err, MLDF_E_UNSUPPORTED, "no C compiler: the context names none (mldf_context_set_compiler)");
    TRY(mldfi_compiler_find(context->compiler, &b->compiler, err));
    list_flags(isa, own, b->flags);
    b->libraries = own ? own_libraries : no_libraries;
    mldf_status status = key_of(&b->compiler, b->flags, b->libraries, source, bytes, b->key, err);
    if (status == MLDF_OK)
        mldfi_cache_open(context->cache_folder, &b->cache);
    return status;
}

static void build_end(struct build *b) {
    mldfi_cache_close(&b->cache);
    mldf_buffer_free(&b->object);
}

/* MLDF_END: not there. */
static mldf_status from_cache(struct build *b, struct os_library **out) {
    if (!mldfi_cache_get(&b->cache, b->key, &b->object))
        return MLDF_END;
    return mldfi_library_load(b->object.data, b->object.size, out, NULL) == MLDF_OK ? MLDF_OK : MLDF_END;
}

static mldf_status from_compiler(struct build *b, const mldf_context *context, const char *source, size_t bytes,
                                 const atomic_bool *cancel, struct os_library **out, mldf_error *err) {
    unsigned limit = context->compile_limit_ms ? context->compile_limit_ms : COMPILE_LIMIT_MS;
    mldf_status status =
        mldfi_compile(&b->compiler, b->flags, b->libraries, source, bytes, limit, cancel, &b->object, err);
    if (status == MLDF_OK)
        status = mldfi_library_load(b->object.data, b->object.size, out, err);
    if (status == MLDF_OK)
        mldfi_cache_put(&b->cache, b->key, b->object.data, b->object.size);
    return status;
}

mldf_status mldfi_code_build(const mldf_context *context, enum isa isa, const char *source, size_t bytes, bool own,
                             const atomic_bool *cancel, struct os_library **out, bool *cached, mldf_error *err) {
    struct build b;
    *out = NULL;
    *cached = false;
    mldf_status status = build_begin(&b, context, isa, source, bytes, own, err);
    if (status == MLDF_OK) {
        *cached = from_cache(&b, out) == MLDF_OK;
        if (!*cached)
            status = from_compiler(&b, context, source, bytes, cancel, out, err);
    }
    build_end(&b);
    return status;
}

/* ---- A plan's functions ---------------------------------------------------------------------------------------------------------------- */

mldf_status mldfi_code_new(const struct plan_options *options, enum isa isa, struct code **out, mldf_error *err) {
    struct code *code = mldfi_alloc_zero(1, sizeof *code, err);
    *out = code;
    if (!code)
        return MLDF_E_MEMORY;
    code->context = options->context;
    code->codegen = options->codegen;
    code->isa = isa;
    atomic_init(&code->state, CODE_OFF);
    atomic_init(&code->cancel, false);
    return mldfi_buffer_append_text(&code->source, mldfi_code_prelude(), err);
}

void mldfi_code_wait(struct code *code) {
    if (code && code->threaded && code->process == getpid()) {
        (void)pthread_join(code->thread, NULL);
        code->threaded = false;
    }
}

void mldfi_code_free(struct code *code) {
    if (!code)
        return;
    atomic_store(&code->cancel, true);
    mldfi_code_wait(code);
    mldfi_library_close(code->library);
    mldf_buffer_free(&code->source);
    free(code);
}

mldf_status mldfi_code_add(struct code *code, const struct op *ops, size_t op_count, size_t *count, size_t *index,
                           mldf_error *err) {
    *count = 0;
    *index = code->function_count;
    if (code->function_count == CODE_MAX_FUNCTIONS || code->source.size > CODE_MAX_SOURCE)
        return MLDF_OK;
    size_t before = code->source.size;
    mldf_status status = mldfi_code_write(ops, op_count, (unsigned)*index, count, &code->source, err);
    bool worth = *count > 1 ||
                 (*count == 1 && strcmp(ops[0].type->name, "expr") == 0); /* one of the others has its own kernel */
    if (status == MLDF_OK && worth)
        code->function_count++;
    else
        code->source.size = before, *count = 0;
    return status;
}

/* dlsym's pointers are to objects; C has no cast from there to functions, but memory has. */
static bool find_functions(struct code *code) {
    for (size_t i = 0; i < code->function_count; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "mldf_code_%zu", i);
        void *symbol = mldfi_library_symbol(code->library, name);
        if (!symbol)
            return false;
        memcpy(&code->functions[i], &symbol, sizeof symbol);
    }
    return true;
}

static void settle(struct code *code, mldf_status status, bool cached, const mldf_error *err) {
    if (status == MLDF_OK && find_functions(code)) {
        atomic_store_explicit(&code->state, cached ? CODE_CACHED : CODE_COMPILED, memory_order_release);
        return;
    }
    (void)snprintf(code->reason, sizeof code->reason, "%s", status < 0 ? err->message : "a function is missing in it");
    atomic_store_explicit(&code->state, CODE_FAILED, memory_order_release);
    if (status != MLDF_E_CANCELLED)
        mldfi_warn(code->context, "generated code is not used, the built-in kernels do the work: %s", code->reason);
}

static void compile_all(struct code *code) {
    mldf_error err = {.message = ""};
    bool cached;
    mldf_status status = mldfi_code_build(code->context, code->isa, (const char *)code->source.data, code->source.size,
                                          false, &code->cancel, &code->library, &cached, &err);
    settle(code, status, cached, &err);
}

static void *run_thread(void *argument) {
    compile_all(argument);
    return NULL;
}

/* The cache alone: no compiler is started. */
static bool look_in_cache(struct code *code) {
    struct build b;
    bool found = build_begin(&b, code->context, code->isa, (const char *)code->source.data, code->source.size, false,
                             NULL) == MLDF_OK &&
                 from_cache(&b, &code->library) == MLDF_OK;
    build_end(&b);
    if (found)
        settle(code, MLDF_OK, true, NULL);
    return found;
}

void mldfi_code_start(struct code *code) {
    if (code->function_count == 0 || code->codegen == MLDF_CODEGEN_OFF || !code->context || !code->context->compiler)
        return;
    atomic_store(&code->state, CODE_COMPILING);
    if (code->codegen == MLDF_CODEGEN_WAIT) {
        compile_all(code);
        return;
    }
    if (look_in_cache(code))
        return;
    code->process = getpid();
    mldf_error own = {.message = ""};
    mldf_status status = mldfi_thread_start(&code->thread, run_thread, code, &own);
    code->threaded = status == MLDF_OK;
    if (status < 0)
        settle(code, status, false, &own);
}

code_function mldfi_code_get(const struct code *code, size_t index) {
    int state = atomic_load_explicit(&code->state, memory_order_acquire);
    return state == CODE_COMPILED || state == CODE_CACHED ? code->functions[index] : NULL;
}

code_state mldfi_code_state(const struct code *code) {
    return (code_state)atomic_load_explicit(&code->state, memory_order_acquire);
}

const mldf_buffer *mldfi_code_source(const struct code *code) {
    return &code->source;
}

mldf_status mldfi_code_explain(const struct code *code, mldf_buffer *out, mldf_error *err) {
    static const char *const words[] = {[CODE_COMPILING] = "being compiled; the built-in kernels serve meanwhile",
                                        [CODE_COMPILED] = "compiled",
                                        [CODE_CACHED] = "from the cache"};
    code_state state = mldfi_code_state(code);
    if (code->function_count == 0)
        return MLDF_OK;
    if (state == CODE_FAILED)
        return mldfi_buffer_printf(out, err, "generated C: built-in kernels instead: %s\n", code->reason);
    if (state == CODE_OFF)
        return mldfi_buffer_printf(out, err, "generated C: built-in kernels instead: %s\n",
                                   code->codegen == MLDF_CODEGEN_OFF ? "it is turned off" : "there is no compiler");
    return mldfi_buffer_printf(out, err, "generated C: %zu function%s, %s\n", code->function_count,
                               code->function_count == 1 ? "" : "s", words[state]);
}
