/* Operations of one's own: what may be registered, what their functions are given, what their types may be, and C source. */
#include "arrays.h"
#include "field/field.h"
#include "mldf/loader.h"
#include "os/compiler.h"
#include "pipeline/stage.h"

/* ---- Functions ------------------------------------------------------------------------------------------------------------------- */

struct seen {
    mldf_operation_call calls[64];
    double arguments[64][4];
    mldf_tensor in[64], out[64];
    int count, infers;
};

static mldf_status add_run(void *user, const mldf_operation_call *call, const mldf_tensor *in, mldf_tensor *out,
                           mldf_error *err) {
    struct seen *seen = user;
    uint64_t n = 1;
    (void)err;
    if (seen && seen->count < 64) {
        for (size_t i = 0; i < call->argument_count && i < 4; i++)
            seen->arguments[seen->count][i] = call->arguments[i];
        seen->in[seen->count] = *in;
        seen->out[seen->count] = *out;
        seen->calls[seen->count++] = *call;
    }
    for (uint32_t i = 0; i < in->ndim; i++)
        n *= in->dims[i];
    for (uint64_t i = 0; i < n; i++)
        ((float *)out->data)[i] =
            ((const float *)in->data)[i] + (float)(call->argument_count ? call->arguments[0] : 1.0);
    return MLDF_OK;
}

/* Sums over the last dimension, as f64. */
static mldf_status sum_infer(void *user, const double *arguments, size_t argument_count, const mldf_tensor *in,
                             mldf_tensor *out, mldf_error *err) {
    struct seen *seen = user;
    (void)arguments;
    if (seen)
        seen->infers++;
    if (in->dtype != MLDF_F32 || in->ndim == 0 || argument_count > 1) {
        if (argument_count > 2)
            return MLDF_E_RANGE; /* without a word */
        err->status = MLDF_E_TYPE;
        snprintf(err->message, sizeof err->message, "sums f32 alone");
        return MLDF_E_TYPE;
    }
    out->dtype = MLDF_F64;
    out->ndim = in->ndim - 1;
    return MLDF_OK;
}

static mldf_status sum_run(void *user, const mldf_operation_call *call, const mldf_tensor *in, mldf_tensor *out,
                           mldf_error *err) {
    uint64_t rows = 1, inner = in->dims[in->ndim - 1];
    (void)user, (void)err, (void)call;
    for (uint32_t i = 0; i + 1 < in->ndim; i++)
        rows *= in->dims[i];
    for (uint64_t r = 0; r < rows; r++) {
        double sum = 0;
        for (uint64_t k = 0; k < inner; k++)
            sum += (double)((const float *)in->data)[r * inner + k];
        ((double *)out->data)[r] = sum;
    }
    return MLDF_OK;
}

static mldf_status fail_run(void *user, const mldf_operation_call *call, const mldf_tensor *in, mldf_tensor *out,
                            mldf_error *err) {
    (void)user, (void)in, (void)out;
    if (call->argument_count)
        snprintf(err->message, sizeof err->message, "no sample is good enough");
    return MLDF_E_RANGE;
}

static mldf_status add_operation(mldf_context *context, const char *name, void *user, const mldf_operation *like,
                                 mldf_error *err) {
    mldf_operation o = *like;
    o.struct_bytes = sizeof o;
    o.name = name;
    o.user = user;
    return mldf_context_register_operation(context, &o, err);
}

static const mldf_operation adds = {.run = add_run}, sums = {.run = sum_run, .infer = sum_infer},
                            fails = {.run = fail_run};

static mldf_context *make_context(struct seen *seen) {
    mldf_context *context;
    mldf_error err;
    if (seen)
        memset(seen, 0, sizeof *seen);
    if (mldf_context_new(&context, &err) < 0)
        return NULL;
    CHECK_STATUS(MLDF_OK, add_operation(context, "add", seen, &adds, &err), &err);
    CHECK_STATUS(MLDF_OK, add_operation(context, "sum_last", seen, &sums, &err), &err);
    CHECK_STATUS(MLDF_OK, add_operation(context, "fail", seen, &fails, &err), &err);
    return context;
}

static mldf_status run(struct arrays *all, const mldf_context *context, const char *text, uint64_t seed,
                       mldf_buffer *out, mldf_error *err) {
    struct plan *plan;
    struct plan_options options = {.context = context, .seed = seed};
    mldf_status status = arrays_plan(all, text, &options, &plan, err);
    if (status == MLDF_OK)
        status = arrays_run_plan(all, plan, out, err);
    mldfi_plan_free(plan);
    return status;
}

/* ---- Registering ----------------------------------------------------------------------------------------------------------------------- */

static void names_and_structs_are_checked(void) {
    mldf_context *context = make_context(NULL);
    mldf_error err;
    char longest[70];
    static const char *const bad[] = {"", "Add", "2add", "a-b", "a b", "a.b", "\xc3\xa4", "a\n"};
    REQUIRE(context);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_STATUS(MLDF_E_ARGUMENT, add_operation(context, bad[i], NULL, &adds, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, add_operation(context, NULL, NULL, &adds, &err), &err);
    memset(longest, 'a', sizeof longest);
    longest[64] = 0;
    CHECK_STATUS(MLDF_E_ARGUMENT, add_operation(context, longest, NULL, &adds, &err), &err);
    longest[63] = 0;
    CHECK_STATUS(MLDF_OK, add_operation(context, longest, NULL, &adds, &err), &err);
    CHECK_STATUS(MLDF_OK, add_operation(context, "_2", NULL, &adds, &err), &err);
    CHECK_STATUS(MLDF_E_EXISTS, add_operation(context, "add", NULL, &adds, &err), &err);
    CHECK_STATUS(MLDF_E_EXISTS, add_operation(context, "hflip", NULL, &adds, &err), &err);
    CHECK_CONTAINS("built-in", TEXT(err));
    CHECK_STATUS(MLDF_E_EXISTS, add_operation(context, "drop", NULL, &adds, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, add_operation(context, "none", NULL, &(mldf_operation){.infer = sum_infer}, &err),
                 &err);
    CHECK_STATUS(MLDF_E_ARGUMENT,
                 add_operation(context, "both", NULL, &(mldf_operation){.run = add_run, .source = "int x;"}, &err),
                 &err);
    mldf_operation small = {.struct_bytes = 8, .name = "small", .run = add_run};
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_context_register_operation(context, &small, &err), &err);
    /* Of a program that was compiled before `source` was appended: what lies behind its struct is not looked at. */
    mldf_operation shorter = {.struct_bytes = offsetof(mldf_operation, source),
                              .name = "shorter",
                              .run = add_run,
                              .source = "not a part of it"};
    CHECK_OK(mldf_context_register_operation(context, &shorter, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_context_register_operation(NULL, &small, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_context_register_operation(context, NULL, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_context_set_compiler(NULL, NULL, NULL, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_context_set_compiler(context, "", NULL, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_context_set_compiler(context, NULL, "", &err), &err);
    mldf_context_free(context);
}

static void only_the_context_knows_them(void) {
    mldf_pipeline *pipeline;
    mldf_error err;
    mldf_buffer text = MLDF_BUFFER_INIT;
    mldf_context *context = make_context(NULL);
    REQUIRE(context);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_pipeline_parse(NULL, "f32: add", 8, &pipeline, &err), &err);
    CHECK_STATUS(MLDF_OK, mldf_pipeline_parse(context, "f32: add | add(2, -0.5)", 23, &pipeline, &err), &err);
    CHECK_OK(mldf_pipeline_write(pipeline, &text, &err), &err);
    CHECK_OK(mldf_buffer_append(&text, "", 1, NULL), NULL);
    CHECK_EQ_STR("f32: add | add(2.0, -0.5)", (const char *)text.data);
    mldf_pipeline_free(pipeline);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_pipeline_parse(context, "f32: add(\"text\")", 16, &pipeline, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_pipeline_parse(context, "f32: add(a=2)", 13, &pipeline, &err), &err);
    mldf_buffer_free(&text);
    mldf_context_free(context);
}

/* ---- Running --------------------------------------------------------------------------------------------------------------------------- */

static void functions_get_numbers_values_and_random_numbers(void) {
    static struct seen seen, again;
    struct arrays all;
    mldf_buffer out = MLDF_BUFFER_INIT;
    mldf_error err;
    mldf_context *context = make_context(&seen);
    REQUIRE(context && arrays_begin(&all, 9));
    CHECK_STATUS(MLDF_OK, run(&all, context, "a = f32: add(0.25, 7) | add", 5, &out, &err), &err);
    CHECK_EQ_INT(6, seen.count);
    CHECK_EQ_U64(2, seen.calls[0].argument_count);
    CHECK_EQ_F64(0.25, seen.arguments[0][0]);
    CHECK_EQ_F64(7, seen.arguments[0][1]);
    CHECK_EQ_U64(0, seen.calls[1].argument_count);
    CHECK_EQ_U64(2, seen.in[0].ndim);
    CHECK_EQ_U64(100, seen.in[0].dims[0]);
    CHECK_EQ_U64(3, seen.out[0].dims[1]);
    CHECK_EQ_INT(MLDF_F32, seen.in[0].dtype);
    for (int i = 0; i < 6; i++) {
        CHECK_EQ_U64(1, seen.calls[i].epoch);
        CHECK_EQ_U64((uint64_t)i / 2, seen.calls[i].position);
        CHECK_EQ_U64((uint64_t)i / 2, seen.calls[i].sample); /* of a feed that does not say */
        for (int k = 0; k < i; k++)                          /* every sample and step has its own */
            CHECK(memcmp(seen.calls[i].random, seen.calls[k].random, sizeof seen.calls[i].random) != 0);
    }
    const float *x = (const float *)(const void *)all.data[0][10], *y = (const float *)(const void *)out.data;
    for (int i = 0; i < 300; i++) {
        float want = x[i] + 0.25f;
        want = want + 1.0f;
        CHECK(memcmp(&want, &y[i], 4) == 0 || (want != want && y[i] != y[i]));
    }
    again = seen;
    seen.count = 0;
    CHECK_STATUS(MLDF_OK, run(&all, context, "a = f32: add(0.25, 7) | add", 5, &out, &err), &err);
    for (int i = 0; i < 6; i++)
        CHECK_MEM_EQ(again.calls[i].random, seen.calls[i].random, sizeof again.calls[i].random);
    seen.count = 0;
    CHECK_STATUS(MLDF_OK, run(&all, context, "a = f32: add(0.25, 7) | add", 6, &out, &err), &err);
    CHECK(memcmp(again.calls[0].random, seen.calls[0].random, sizeof again.calls[0].random) != 0);
    mldf_buffer_free(&out);
    arrays_end(&all);
    mldf_context_free(context);
}

static void types_may_change(void) {
    struct arrays all;
    mldf_buffer out = MLDF_BUFFER_INIT;
    mldf_error err;
    mldf_context *context = make_context(NULL);
    REQUIRE(context && arrays_begin(&all, 9));
    CHECK_STATUS(MLDF_OK, run(&all, context, "a = u16: cast(f32) | sum_last", 0, &out, &err), &err);
    /* the first 11 of each sample are a; then come the fields of fixed shape that no statement names */
    const uint16_t *x = (const uint16_t *)(const void *)all.data[0][3];
    for (int r = 0; r < 11; r++) {
        double got;
        memcpy(&got, out.data + 8 * r, 8);
        CHECK_EQ_F64((double)x[3 * r] + x[3 * r + 1] + x[3 * r + 2], got);
    }
    struct plan *plan;
    struct plan_options options = {.context = context};
    CHECK_STATUS(MLDF_OK, arrays_plan(&all, "a = image: cast(f32) | sum_last | cast(f32) | add", &options, &plan, &err),
                 &err);
    const struct edge *e = &mldfi_plan_output(plan, 0)->edge;
    CHECK_EQ_INT(VALUE_ARRAY, e->kind);
    CHECK_EQ_U64(2, e->ndim);
    CHECK_EQ_INT(ARRAY_WIDTH, e->dims[1]);
    mldfi_plan_free(plan);
    mldf_buffer_free(&out);
    arrays_end(&all);
    mldf_context_free(context);
}

static void errors_name_the_step_and_always_have_a_reason(void) {
    static const struct {
        const char *text, *message;
        mldf_status want;
    } cases[] = {
        {"a = u16: sum_last", "sums f32 alone", MLDF_E_TYPE},
        {"a = u16: sum_last", "a, step 1, sum_last", MLDF_E_TYPE},
        {"a = f32: sum_last(1, 2, 3)", "infer of operation sum_last gives no reason", MLDF_E_RANGE},
        {"a = f32: fail(1)", "fail: no sample is good enough", MLDF_E_RANGE},
        {"a = f32: fail", "run of operation fail gives no reason", MLDF_E_RANGE},
    };
    struct arrays all;
    mldf_buffer out = MLDF_BUFFER_INIT;
    mldf_error err;
    mldf_context *context = make_context(NULL);
    REQUIRE(context && arrays_begin(&all, 9));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_STATUS(cases[i].want, run(&all, context, cases[i].text, 0, &out, &err), &err);
        CHECK_CONTAINS(cases[i].message, TEXT(err));
    }
    mldf_buffer_free(&out);
    arrays_end(&all);
    mldf_context_free(context);
}

/* infer of a user who means ill. */
static int trick;
static mldf_status trick_infer(void *user, const double *arguments, size_t argument_count, const mldf_tensor *in,
                               mldf_tensor *out, mldf_error *err) {
    (void)user, (void)arguments, (void)argument_count, (void)err;
    switch (trick) {
    case 0:
        out->ndim = 100;
        break;
    case 1:
        out->dtype = (mldf_dtype)99;
        break;
    case 2:
        out->dims[0] = UINT64_MAX / 2;
        break;
    case 3:
        out->ndim = MLDF_MAX_DIMS;
        for (uint32_t i = 0; i < MLDF_MAX_DIMS; i++)
            out->dims[i] = 1u << 20;
        break;
    default: /* another answer for a sample than for all */
        out->dims[0] = in->data || trick++ > 4 ? 8 : 4;
        break;
    }
    return MLDF_OK;
}

static void impossible_types_are_refused(void) {
    struct arrays all;
    mldf_buffer out = MLDF_BUFFER_INIT;
    mldf_error err;
    mldf_context *context = make_context(NULL);
    const mldf_operation tricks = {.run = add_run, .infer = trick_infer};
    static const mldf_status want[] = {MLDF_E_TYPE, MLDF_E_TYPE, MLDF_E_LIMIT, MLDF_E_LIMIT, MLDF_E_TYPE};
    REQUIRE(context && arrays_begin(&all, 9));
    CHECK_STATUS(MLDF_OK, add_operation(context, "trick", NULL, &tricks, &err), &err);
    for (int i = 0; i < 5; i++) {
        trick = i;
        CHECK_STATUS(want[i], run(&all, context, "a = f32: trick", 0, &out, &err), &err);
    }
    mldf_buffer_free(&out);
    arrays_end(&all);
    mldf_context_free(context);
}

/* ---- Dims that vary ------------------------------------------------------------------------------------------------------------- */

/* Every element twice. */
static mldf_status repeat_infer(void *user, const double *arguments, size_t argument_count, const mldf_tensor *in,
                                mldf_tensor *out, mldf_error *err) {
    (void)user, (void)arguments, (void)argument_count, (void)err;
    CHECK(in->data == NULL);
    if (in->dims[0] != UINT64_MAX)
        out->dims[0] = 2 * in->dims[0];
    return MLDF_OK;
}

static mldf_status repeat_run(void *user, const mldf_operation_call *call, const mldf_tensor *in, mldf_tensor *out,
                              mldf_error *err) {
    (void)user, (void)call, (void)err;
    CHECK_EQ_U64(2 * in->dims[0], out->dims[0]);
    for (uint64_t i = 0; i < out->dims[0]; i++)
        ((float *)out->data)[i] = ((const float *)in->data)[i / 2];
    return MLDF_OK;
}

static mldf_status some_floats(void *user, uint64_t position, size_t field, mldf_buffer *scratch, mldf_value *out,
                               mldf_error *err) {
    static const float x[] = {1, 2, 3, 4, 5};
    (void)user, (void)field, (void)scratch, (void)err;
    *out = (mldf_value){.kind = MLDF_KIND_ARRAY, .dtype = MLDF_F32, .ndim = 1, .data = x, .bytes = 4 * (position + 1)};
    out->dims[0] = position + 1;
    return MLDF_OK;
}

static void dims_that_vary_are_asked_for_each_sample(void) {
    static const char json[] =
        "{\"fields\":[{\"name\":\"v\",\"type\":\"ndarray\",\"dtype\":\"<f4\",\"shape\":[null]}]}";
    const mldf_operation repeats = {.run = repeat_run, .infer = repeat_infer};
    mldf_context *context = make_context(NULL);
    mldf_schema *schema;
    mldf_pipeline *pipeline;
    struct plan *plan;
    struct plan_worker *worker;
    struct value_bounds bounds = {.known = true, .ndim = 1, .least = {1}, .most = {5}};
    struct plan_feed feed = {.user = NULL, .get = some_floats};
    _Alignas(64) float out[16];
    mldf_error err;
    CHECK_STATUS(MLDF_OK, add_operation(context, "repeat", NULL, &repeats, &err), &err);
    CHECK_STATUS(MLDF_OK, mldf_schema_parse(NULL, json, strlen(json), &schema, &err), &err);
    CHECK_STATUS(MLDF_OK,
                 mldf_pipeline_parse(context, "v: repeat | expr(\"x + 0.5\") | pad(value=-1)", 43, &pipeline, &err),
                 &err);
    struct plan_options options = {.context = context};
    REQUIRE_OK(mldfi_plan_new(pipeline, schema, &bounds, &options, &plan, &err), &err);
    REQUIRE_OK(mldfi_worker_new(plan, &worker, &err), &err);
    for (uint64_t p = 0; p < 5; p++) {
        struct plan_length length = {{0}};
        struct plan_target target = {out, {{12}}};
        CHECK_STATUS(MLDF_OK, mldfi_plan_prepare(plan, worker, &feed, 0, p, &length, NULL, &err), &err);
        CHECK_EQ_U64(2 * (p + 1), length.n[0]);
        CHECK_STATUS(MLDF_OK, mldfi_plan_run(plan, worker, &feed, 0, p, &target, &err), &err);
        for (uint64_t i = 0; i < 12; i++)
            CHECK_EQ_F64(i < length.n[0] ? (double)(i / 2) + 1.5 : -1.0, out[i]);
    }
    mldfi_worker_free(worker);
    mldfi_plan_free(plan);
    mldf_pipeline_free(pipeline);
    mldf_schema_free(schema);
    mldf_context_free(context);
}

/* ---- C source --------------------------------------------------------------------------------------------------------------------------- */

static const char mix_source[] =
    "int mldf_run(const void *in, void *out, const unsigned long long *dims, const double *arguments,\n"
    "             const unsigned long long *random) {\n"
    "    const float *x = in; float *y = out;\n"
    "    for (unsigned long long i = 0; i < dims[0] * dims[1]; i++) y[i] = x[i] * (float)arguments[0] + (float)(random[0] % 10);\n"
    "    return arguments[0] == 13 ? 7 : 0;\n"
    "}\n";

static void c_source_is_compiled_with_the_pipeline(void) {
    struct arrays all;
    mldf_buffer out = MLDF_BUFFER_INIT, second = MLDF_BUFFER_INIT;
    struct os_compiler compiler;
    mldf_error err;
    mldf_context *context = make_context(NULL);
    const mldf_operation mix = {.source = mix_source}, broken = {.source = "int mldf_run(void) { return y; }"},
                         other = {.source = "int mldf_walk(void) { return 0; }"};
    REQUIRE(context && arrays_begin(&all, 9));
    CHECK_STATUS(MLDF_OK, add_operation(context, "mix", NULL, &mix, &err), &err);
    CHECK_STATUS(MLDF_OK, add_operation(context, "broken", NULL, &broken, &err), &err);
    CHECK_STATUS(MLDF_OK, add_operation(context, "other", NULL, &other, &err), &err);
    CHECK_STATUS(MLDF_E_UNSUPPORTED, run(&all, context, "a = f32: mix(2)", 0, &out, &err), &err);
    CHECK_CONTAINS("no C compiler", TEXT(err));
    CHECK_CONTAINS("a, step 1, mix(2)", TEXT(err));
    CHECK_OK(mldf_context_set_compiler(context, NULL, "/no/such/thing", &err), &err);
    CHECK_STATUS(MLDF_E_UNSUPPORTED, run(&all, context, "a = f32: mix(2)", 0, &out, &err), &err);
    CHECK_STATUS(MLDF_OK, run(&all, context, "a = f32: add(2)", 0, &out, &err), &err); /* nothing else needs one */
    if (mldfi_compiler_find("cc", &compiler, NULL) < 0) {
        fprintf(stderr, "no compiler here\n");
        return;
    }
    CHECK_OK(mldf_context_set_compiler(context, check_tmp("own"), "cc", &err), &err);
    for (int i = 0; i < 2; i++) /* compiled, then cached */
        CHECK_STATUS(MLDF_OK, run(&all, context, "a = f32: mix(2)", 4, i ? &second : &out, &err), &err);
    CHECK_EQ_U64(out.size, second.size);
    CHECK_MEM_EQ(out.data, second.data, out.size);
    const float *x = (const float *)(const void *)all.data[0][10], *y = (const float *)(const void *)out.data;
    float shift = 0;
    for (int i = 0; i < 300; i += 2) { /* the even ones are of a sensible size */
        float d = y[i] - x[i] * 2;
        shift = i == 0 ? d : shift;
        CHECK(d > -0.01f && d < 9.01f && d - shift < 0.01f && shift - d < 0.01f);
    }
    CHECK_STATUS(MLDF_E_RANGE, run(&all, context, "a = f32: mix(13)", 0, &out, &err), &err);
    CHECK_CONTAINS("mix: mldf_run returned 7", TEXT(err));
    CHECK_STATUS(MLDF_E_UNSUPPORTED, run(&all, context, "a = f32: broken", 0, &out, &err), &err);
    CHECK_CONTAINS("error: ", TEXT(err));
    CHECK_STATUS(MLDF_E_ARGUMENT, run(&all, context, "a = f32: other", 0, &out, &err), &err);
    CHECK_CONTAINS("does not define mldf_run", TEXT(err));
    mldf_buffer_free(&out);
    mldf_buffer_free(&second);
    arrays_end(&all);
    mldf_context_free(context);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(names_and_structs_are_checked);
    RUN(only_the_context_knows_them);
    RUN(functions_get_numbers_values_and_random_numbers);
    RUN(types_may_change);
    RUN(errors_name_the_step_and_always_have_a_reason);
    RUN(impossible_types_are_refused);
    RUN(dims_that_vary_are_asked_for_each_sample);
    RUN(c_source_is_compiled_with_the_pipeline);
    return check_end();
}
