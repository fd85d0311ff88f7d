/* Every allocation fails once while operations are registered, expressions are planned and run, and compiled code is looked for in the cache:
 * MLDF_E_MEMORY, or success with the bytes of a plan that had all the memory it wanted; no leak. */
#include "fault/failing_alloc.h"
#include "field/field.h"
#include "mldf/loader.h"
#include "os/compiler.h"
#include "pipeline/stage.h"
#include "unit/pipeline/arrays.h"

static struct arrays all;
static mldf_context *context;
static int codegen;
static mldf_buffer want;

static mldf_status twice(void *user, const mldf_operation_call *call, const mldf_tensor *in, mldf_tensor *out,
                         mldf_error *err) {
    (void)user, (void)call, (void)err;
    for (uint64_t i = 0; i < in->dims[0]; i++)
        ((float *)out->data)[i] = 2 * ((const float *)in->data)[i];
    return MLDF_OK;
}

static mldf_status do_register(mldf_error *err) {
    mldf_context *own;
    mldf_operation o = MLDF_OPERATION_INIT;
    char name[16];
    mldf_status status = mldf_context_new(&own, err);
    if (status < 0)
        return status;
    status = mldf_context_set_compiler(own, "/nowhere", "cc", err);
    for (int i = 0; i < 10 && status == MLDF_OK; i++) {
        snprintf(name, sizeof name, "own_%d", i);
        o.name = name;
        o.run = i % 2 ? twice : NULL;
        o.source = i % 2 ? NULL : "int mldf_run(void) { return 0; }";
        status = mldf_context_register_operation(own, &o, err);
    }
    mldf_context_free(own);
    return status;
}

static const char text[] =
    "a = f32: expr(\"clamp(x * 3 + 0.5, 0, p0)\", 7) | cast(f16)\nb = u16: scale(0.5) | cast(u8)\n"
    "d = one: twice | expr(\"x + 1\")";

static mldf_status do_plan(mldf_error *err) {
    struct plan *plan;
    mldf_buffer out = MLDF_BUFFER_INIT, words = MLDF_BUFFER_INIT;
    struct plan_options options = {.context = context, .codegen = codegen};
    mldf_status status = arrays_plan(&all, text, &options, &plan, err);
    if (status == MLDF_OK)
        status = mldfi_plan_explain(plan, &words, err);
    if (status == MLDF_OK)
        status = arrays_run_plan(&all, plan, &out, err);
    if (status == MLDF_OK && atomic_load(&countdown) == 0 && want.size) {
        CHECK_EQ_U64(want.size, out.size);
        CHECK_MEM_EQ(want.data, out.data, want.size);
    }
    mldfi_plan_free(plan);
    mldf_buffer_free(&words);
    if (status == MLDF_OK && want.size == 0)
        want = out;
    else
        mldf_buffer_free(&out);
    return status;
}

static void every_allocation_fails_once(mldf_status (*work)(mldf_error *err)) {
    mldf_error err;
    long n = 1;
    CHECK_STATUS(MLDF_OK, work(&err), &err);
    for (; n < 10000; n++) {
        atomic_store(&countdown, n);
        mldf_status status = work(&err);
        bool reached = atomic_load(&countdown) == 0;
        atomic_store(&countdown, 0);
        if (status != MLDF_OK && status != MLDF_E_MEMORY)
            check_fail(__FILE__, __LINE__, "allocation %ld: %s: %s", n, mldf_status_name(status), err.message);
        if (!reached)
            break;
    }
    CHECK(n > 1 && n < 10000);
}

static void registering_survives_no_memory(void) {
    every_allocation_fails_once(do_register);
}

static void plans_without_code_survive_no_memory(void) {
    codegen = MLDF_CODEGEN_OFF;
    every_allocation_fails_once(do_plan);
}

static void plans_with_cached_code_survive_no_memory(void) {
    struct os_compiler compiler;
    mldf_error err;
    if (mldfi_compiler_find("cc", &compiler, NULL) < 0)
        return;
    codegen = MLDF_CODEGEN_WAIT;
    CHECK_OK(mldf_context_set_compiler(context, check_tmp("cache"), "cc", &err), &err);
    every_allocation_fails_once(do_plan);
}

int main(int argc, char **argv) {
    mldf_error err;
    mldf_operation o = MLDF_OPERATION_INIT;
    check_begin(argc, argv);
    o.name = "twice";
    o.run = twice;
    if (!arrays_begin(&all, 3) || mldf_context_new(&context, &err) < 0 ||
        mldf_context_register_operation(context, &o, &err) < 0)
        return 2;
    RUN(registering_survives_no_memory);
    RUN(plans_without_code_survive_no_memory);
    RUN(plans_with_cached_code_survive_no_memory);
    mldf_buffer_free(&want);
    mldf_context_free(context);
    arrays_end(&all);
    return check_end();
}
