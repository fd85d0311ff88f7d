/* Operations on arrays, labels and lengths: types that they give, also where dimensions vary, and what they refuse. Values are compared with
 * NumPy in tests/python/test_ops_values.py. */
#include "ops.h"
#include "pipeline/op_collate.h"

static struct edge array_edge(mldf_dtype dtype, const int64_t *dims, const uint64_t *most) {
    struct edge e = {.kind = VALUE_ARRAY, .dtype = dtype};
    for (; dims[e.ndim] != -2; e.ndim++) {
        e.dims[e.ndim] = dims[e.ndim];
        e.most[e.ndim] = most ? most[e.ndim] : dims[e.ndim] < 0 ? MLDF_NONE : (uint64_t)dims[e.ndim];
    }
    return e;
}

/* "i64 3x?x4 array" or the refusal's message. */
static const char *type_of(const char *text, const struct edge *in) {
    static char out[600];
    struct op op;
    mldf_error err;
    mldf_buffer words = MLDF_BUFFER_INIT;
    if (mldfi_op_from_text(text, in, &op, &err) < 0) {
        snprintf(out, sizeof out, "%s", err.message);
        return out;
    }
    if (mldfi_edge_write(&op.out, &words, &err) < 0)
        snprintf(out, sizeof out, "%s", err.message);
    else
        snprintf(out, sizeof out, "%.*s", (int)words.size, (const char *)words.data);
    mldf_buffer_free(&words);
    mldfi_op_free(&op);
    return out;
}

static void types_of_varying_arrays(void) {
    struct edge list = array_edge(MLDF_I64, (int64_t[]){DIM_VARIES, 4, -2}, (uint64_t[]){100, 4});
    struct edge open = array_edge(MLDF_F32, (int64_t[]){DIM_VARIES, -2}, NULL);
    struct edge number = array_edge(MLDF_I32, (int64_t[]){-2}, NULL);
    CHECK_EQ_STR("i64 <=7x4 array", type_of("truncate(7)", &list));
    CHECK_EQ_STR("i64 <=100x4 array", type_of("truncate(700)", &list));
    CHECK_EQ_STR("f32 <=9 array", type_of("truncate(9)", &open));
    CHECK_EQ_STR("i64 <=400 array", type_of("flatten", &list));
    CHECK_EQ_STR("f32 ? array", type_of("flatten", &open));
    CHECK_EQ_STR("i64 2x<=400 array", type_of("reshape([2, -1])", &list));
    CHECK_EQ_STR("i64 3x4 array", type_of("gather([0, 5, 9])", &list));
    CHECK_EQ_STR("f32 <=100x4x10 array", type_of("one_hot(10)", &list));
    CHECK_EQ_STR("f32 10 array", type_of("one_hot(10)", &number));
    CHECK_EQ_STR("f32 10 array", type_of("label_smoothing(0.1, 10)", &number));
    CHECK_EQ_STR("i64 <=100x4 array", type_of("pad", &list));
    CHECK_EQ_STR("i64 <=100x4 array", type_of("ragged", &list));
    CHECK_EQ_STR("f16 <=100x4 array", type_of("cast(f16)", &list));
    CHECK_CONTAINS("wants", type_of("pad", &number));
    CHECK_CONTAINS("at least one dimension", type_of("truncate(3)", &number));
    CHECK_CONTAINS("must be given", type_of("truncate", &list));
    CHECK_CONTAINS("wants", type_of("one_hot(3)", &open));
    struct edge two = array_edge(MLDF_F32, (int64_t[]){DIM_VARIES, DIM_VARIES, -2}, NULL);
    CHECK_CONTAINS("fixed, except the first", type_of("ragged", &two));
}

static void types_of_images(void) {
    struct edge p = {.kind = VALUE_IMAGE, .role = ROLE_IMAGE, .dtype = MLDF_U8, .axes = "hwc", .ndim = 3};
    memcpy(p.dims, (int64_t[]){DIM_VARIES, DIM_VARIES, 4}, 3 * sizeof p.dims[0]);
    memcpy(p.most, (uint64_t[]){300, 400, 4}, 3 * sizeof p.most[0]);
    CHECK_EQ_STR("u8 4x<=300x<=400 planar image", type_of("chw", &p));
    CHECK_EQ_STR("bf16 4x<=300x<=400 planar image", type_of("chw(bf16)", &p));
    CHECK_EQ_STR("u8 <=300x<=400x2 image", type_of("grayscale", &p));
    CHECK_EQ_STR("u8 <=300x<=400x4 image", type_of("grayscale(3)", &p));
    CHECK_EQ_STR("f32 <=300x<=400x4 image", type_of("to_float", &p));
    CHECK_EQ_STR("u8 <=480000 array", type_of("flatten", &p));
    CHECK_CONTAINS("3 channels, the input has 4", type_of("normalize(imagenet)", &p));
    CHECK_CONTAINS("fixed shape", type_of("mixup(1)", &p));
    p.dims[2] = DIM_VARIES;
    CHECK_EQ_STR("f32 <=300x<=400x<=4 image", type_of("normalize(half)", &p));
    CHECK_CONTAINS("channels vary", type_of("normalize(imagenet)", &p));
    p.kind = VALUE_ENCODED;
    p.family = FAMILY_IMAGE;
    CHECK_CONTAINS("stored image", type_of("normalize(half)", &p));
    CHECK_CONTAINS("stored image", type_of("cast(f32)", &p));
    CHECK_CONTAINS("stored image", type_of("flatten", &p));
}

static void pad_says_what_the_batch_does(void) {
    struct edge list = array_edge(MLDF_I16, (int64_t[]){DIM_VARIES, -2}, (uint64_t[]){100});
    struct op op;
    mldf_error err;
    REQUIRE_OK(mldfi_op_from_text("pad(64, value=-100, mask=true)", &list, &op, &err), &err);
    const struct collate_state *state = op.state;
    CHECK_EQ_INT(COLLATE_PAD, state->kind);
    CHECK_EQ_U64(64, state->length.n[0]);
    CHECK_EQ_F64(-100, state->fill);
    CHECK(state->mask);
    mldfi_op_free(&op);
    REQUIRE_OK(mldfi_op_from_text("ragged", &list, &op, &err), &err);
    state = op.state;
    CHECK_EQ_INT(COLLATE_RAGGED, state->kind);
    mldfi_op_free(&op);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldfi_op_from_text("pad(value=40000)", &list, &op, &err), &err);
    list.dtype = MLDF_F32;
    REQUIRE_OK(mldfi_op_from_text("pad(value=0.5)", &list, &op, &err), &err);
    state = op.state;
    CHECK_EQ_U64(0, state->length.n[0]);
    CHECK(!state->mask);
    mldfi_op_free(&op);
}

/* What infer cannot know is checked when the sample comes. */
static void samples_that_do_not_fit_are_refused(void) {
    struct value in, out;
    mldf_error err;
    REQUIRE(value_make(&in, VALUE_ARRAY, MLDF_U8, false, (int64_t[]){10, -1}, 0));
    in.edge.dims[0] = DIM_VARIES;
    CHECK_STATUS(MLDF_E_RANGE, run_text("gather([3, 10])", &in, 0, &out, &err), &err);
    CHECK_STATUS(MLDF_E_RANGE, run_text("reshape([3, -1])", &in, 0, &out, &err), &err);
    REQUIRE_OK(run_text("reshape([5, -1])", &in, 0, &out, &err), &err);
    CHECK_EQ_U64(5, out.tensor.dims[0]);
    CHECK_EQ_U64(2, out.tensor.dims[1]);
    value_free(&out);
    value_free(&in);
    REQUIRE(value_make(&in, VALUE_ARRAY, MLDF_I64, false, (int64_t[]){-1}, 0));
    *(int64_t *)in.tensor.data = INT64_MIN;
    CHECK_STATUS(MLDF_E_RANGE, run_text("one_hot(5)", &in, 0, &out, &err), &err);
    value_free(&out);
    *(int64_t *)in.tensor.data = 4;
    CHECK_OK(run_text("one_hot(5)", &in, 0, &out, &err), &err);
    CHECK_EQ_F64(1, ((float *)out.tensor.data)[4]);
    value_free(&out);
    value_free(&in);
}

static void inputs_must_go_together(void) {
    struct edge in[3];
    struct op op;
    mldf_error err;
    for (int i = 0; i < 3; i++)
        in[i] = array_edge(MLDF_F32, (int64_t[]){2, 5, -2}, NULL);
    REQUIRE_OK(mldfi_op_from_text("concat(1)", &in[0], &op, &err), &err);
    in[1].dims[1] = 7;
    CHECK_OK(op.type->infer_many(&op, in, 3, &op.out, &err), &err);
    CHECK_EQ_INT(2, op.out.dims[0]);
    CHECK_EQ_INT(17, op.out.dims[1]);
    in[1].dims[0] = 3;
    CHECK_STATUS(MLDF_E_TYPE, op.type->infer_many(&op, in, 3, &op.out, &err), &err);
    in[1] = in[0];
    in[2].dtype = MLDF_F16;
    CHECK_STATUS(MLDF_E_TYPE, op.type->infer_many(&op, in, 3, &op.out, &err), &err);
    CHECK_CONTAINS("one element type", TEXT(err));
    in[2] = in[0];
    in[2].dims[1] = DIM_VARIES;
    CHECK_STATUS(MLDF_E_TYPE, op.type->infer_many(&op, in, 3, &op.out, &err), &err);
    mldfi_op_free(&op);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(types_of_varying_arrays);
    RUN(types_of_images);
    RUN(pad_says_what_the_batch_does);
    RUN(samples_that_do_not_fit_are_refused);
    RUN(inputs_must_go_together);
    return check_end();
}
