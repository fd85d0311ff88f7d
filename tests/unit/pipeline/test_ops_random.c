/* Every operation with arguments and values by chance: it refuses in words, or it runs and stays inside its memory, gives the same bytes again, and
 * the dims that its type promised. For the sanitizers above all. MLDF_TEST_SEED repeats a run. */
#include "kernel/resize.h"
#include "ops.h"

enum { ROUNDS = 400 };

static uint64_t rng;
static uint64_t below(uint64_t n) {
    return check_rand_below(&rng, n);
}

static void append(char *text, size_t room, const char *format, ...) {
    size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, room - used, format, args);
    va_end(args);
}

/* A number of the parameter's range, small ones more often: large ones are asked of memory. */
static void append_number(char *text, size_t room, const struct op_param *p, bool whole) {
    bool bounded = p->least < 0 || p->least > 0 || p->most < 0 || p->most > 0;
    double low = bounded ? p->least : -3, high = bounded ? p->most : 300, value;
    if (low < -3)
        low = -3;
    if (high > low + 40 && below(8))
        high = low + 40;
    if (high > 5000)
        high = 5000;
    value = low + (double)below(1001) / 1000.0 * (high - low);
    if (whole)
        append(text, room, "%lld", (long long)value);
    else
        append(text, room, "%.6f", value);
}

static void append_value(char *text, size_t room, const struct op_param *p) {
    static const char *const dtypes[] = {"bool", "u8",  "i8",  "u16",  "i16", "i32", "u32",
                                         "i64",  "u64", "f16", "bf16", "f32", "f64"};
    uint32_t words = 0, count;
    while (p->choices && p->choices[words])
        words++;
    switch (p->kind) {
    case PARAM_BOOL:
        append(text, room, "%s", below(2) ? "true" : "false");
        break;
    case PARAM_CHOICE:
        append(text, room, "%s", p->choices[below(words)]);
        break;
    case PARAM_DTYPE:
        append(text, room, "%s", dtypes[below(13)]);
        break;
    case PARAM_TEXT:
        append(text, room, "\"x\"");
        break;
    case PARAM_INTS:
    case PARAM_FLOATS:
        if (words && below(2)) {
            append(text, room, "%s", p->choices[below(words)]);
            break;
        }
        count = p->min_count + (uint32_t)below(4);
        if (p->max_count && count > p->max_count)
            count = p->max_count;
        append(text, room, "[");
        for (uint32_t i = 0; i < count; i++) {
            append(text, room, "%s", i ? ", " : "");
            append_number(text, room, p, p->kind == PARAM_INTS);
        }
        append(text, room, "]");
        break;
    default:
        append_number(text, room, p, p->kind == PARAM_INT);
        break;
    }
}

static void write_step(const struct op_type *type, char *text, size_t room) {
    bool first = true;
    snprintf(text, room, "%s(", type->name);
    for (const struct op_param *p = type->params; p && p->name; p++) {
        if (p->fallback && below(2))
            continue;
        append(text, room, "%s%s=", first ? "" : ", ", p->name);
        append_value(text, room, p);
        first = false;
    }
    append(text, room, ")");
}

/* A recording of one channel or more, or a spectrogram. */
static bool random_sound(struct value *v) {
    static const char *const axes[] = {"t", "ct", "ft", "tf", "cft", "ctf"};
    static const int64_t lengths[] = {0, 1, 2, 5, 33, 200, 201, 700, 2000};
    const char *letters = axes[below(2) ? 0 : below(6)];
    int64_t dims[5], ndim = (int64_t)strlen(letters);
    for (int64_t i = 0; i < ndim; i++)
        dims[i] = letters[i] == 'c'   ? 1 + (int64_t)below(3)
                  : letters[i] == 'f' ? 1 + (int64_t)below(40)
                                      : lengths[below(ndim < 3 ? 9 : 6)];
    dims[ndim] = -1;
    if (!value_make(v, VALUE_ARRAY, MLDF_F32, false, dims, check_rand(&rng)))
        return false;
    mldfi_set_axes(v->edge.axes, letters);
    mldfi_set_axes(v->tensor.axes, letters);
    if (below(2))
        v->edge.rate = (struct ratio){below(3) ? 16000 : 1 + below(9000), 1};
    for (uint32_t i = 0; i < v->edge.ndim; i++)
        if (below(2) && letters[i] == 't')
            v->edge.dims[i] = DIM_VARIES;
    return true;
}

/* Any kind of value, sometimes of a type that varies. */
static bool random_value(struct value *v) {
    static const mldf_dtype dtypes[] = {MLDF_U8,  MLDF_U16, MLDF_F32,  MLDF_F16, MLDF_BF16,
                                        MLDF_I64, MLDF_I32, MLDF_BOOL, MLDF_F64};
    static const int64_t sides[] = {0, 1, 2, 3, 8, 9, 17, 40};
    if (below(3) == 0)
        return random_sound(v);
    bool image = below(3) > 0, planar = image && below(4) == 0;
    mldf_dtype dtype = dtypes[below(image ? 5 : 9)];
    int64_t dims[5], ndim = image ? 3 : (int64_t)below(4);
    for (int64_t i = 0; i < ndim; i++)
        dims[i] = sides[image ? 1 + below(7) : below(8)];
    if (image)
        dims[planar ? 0 : 2] = 1 + (int64_t)below(4);
    dims[ndim] = -1;
    if (!value_make(v, image ? VALUE_IMAGE : VALUE_ARRAY, dtype, planar, dims, check_rand(&rng)))
        return false;
    if (dtype == MLDF_BOOL)
        for (size_t i = 0; i < mldfi_tensor_bytes(&v->tensor); i++)
            ((uint8_t *)v->tensor.data)[i] &= 1;
    if (image && below(5) == 0)
        v->edge.role = ROLE_MASK;
    for (uint32_t i = 0; i < v->edge.ndim; i++)
        if (below(4) == 0 && i != (image ? (planar ? 0u : 2u) : 9u))
            v->edge.dims[i] = DIM_VARIES;
    return true;
}

static void check_dims(const char *text, const struct op *op, const struct value *out) {
    for (uint32_t i = 0; i < out->tensor.ndim; i++) {
        bool fits = op->out.dims[i] == DIM_VARIES
                        ? op->out.most[i] == MLDF_NONE || out->tensor.dims[i] <= op->out.most[i]
                        : (uint64_t)op->out.dims[i] == out->tensor.dims[i];
        if (!fits)
            check_fail(__FILE__, __LINE__, "%s: dim %u is %llu, the type says %lld, at most %llu", text, i,
                       (unsigned long long)out->tensor.dims[i], (long long)op->out.dims[i],
                       (unsigned long long)op->out.most[i]);
    }
}

/* True: it ran. */
static bool one_round(const struct op_type *type) {
    char text[1024];
    struct value in, out = {0}, again = {0};
    struct step_run s = {0};
    mldf_error err = {0};
    bool ran = false;
    uint64_t seed = check_rand(&rng);
    write_step(type, text, sizeof text);
    if (!random_value(&in))
        return false;
    mldf_status status = step_begin(&s, text, &in, seed, &err);
    if (status == MLDF_OK && mldfi_resize_work_new(&s.work.resize, &err) < 0)
        status = MLDF_E_MEMORY;
    if (status == MLDF_OK && type->run) {
        status = step_run(&s, &in, &out, &err);
        if (status == MLDF_OK) {
            ran = true;
            check_dims(text, &s.op, &out);
            CHECK_OK(step_run(&s, &in, &again, &err), &err);
            check_same(&out, &again, text);
        }
    }
    if (status < 0)
        CHECK(strlen(err.message) > 5);
    value_free(&in);
    value_free(&out);
    value_free(&again);
    mldfi_resize_work_free(s.work.resize);
    step_end(&s);
    return ran;
}

static void every_operation_runs_or_refuses(void) {
    rng = check_seed();
    for (size_t i = 0; mldfi_op_at(i); i++) {
        const struct op_type *type = mldfi_op_at(i);
        unsigned ran = 0;
        if (!type->run || (type->flags & OP_INPUTS))
            continue;
        for (int k = 0; k < ROUNDS; k++)
            ran += one_round(type);
        /* Few shapes fit by chance, and no value here is a stored image. */
        if (ran == 0 && strcmp(type->name, "decode") != 0 && strcmp(type->name, "reshape") != 0 &&
            strcmp(type->name, "channels") != 0)
            check_fail(__FILE__, __LINE__, "%s never ran", type->name);
    }
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(every_operation_runs_or_refuses);
    return check_end();
}
