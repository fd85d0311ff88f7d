/* expr("..."): what expressions mean, which texts are refused and where, and that strips, layouts and types change nothing. */
#include "expression_oracle.h"
#include "ops.h"
#include "pipeline/expression_parse.h"
#include "random_expression.h"

static const double numbers[2] = {0.7, -3.25};

static float value_of(const char *text, float x, float c) {
    struct expression e;
    mldf_error err;
    static _Alignas(64) float room[(EXPRESSION_SLOTS + 1) * EXPRESSION_STRIP];
    mldf_status status = mldfi_expression_parse(text, strlen(text), numbers, 2, &e, &err);
    if (status < 0) {
        check_fail(__FILE__, __LINE__, "%s: %s", text, err.message);
        return 0;
    }
    CHECK(mldfi_expression_room(&e) <= sizeof room);
    mldfi_expression_begin(&e, room);
    mldfi_expression_slot(&e, room, EXPRESSION_X)[0] = x;
    mldfi_expression_slot(&e, room, EXPRESSION_CHANNEL)[0] = c;
    return mldfi_expression_strip(&e, room, 1)[0];
}

static void expressions_mean_what_they_say(void) {
    static const struct {
        const char *text;
        float x, want;
    } cases[] = {
        {"x", 3, 3},
        {"x + 1", 3, 4},
        {"1 - x - 1", 3, -3},
        {"2 * x + 1", 3, 7},
        {"1 + x * 2", 3, 7},
        {"(1 + x) * 2", 3, 8},
        {"x / 2 / 2", 8, 2},
        {"-x", 3, -3},
        {"--x", 3, 3},
        {"-x * -2", 3, 6},
        {"!x", 0, 1},
        {"!x", 5, 0},
        {"x < 2", 1, 1},
        {"x < 2", 2, 0},
        {"x <= 2", 2, 1},
        {"x > 2", 2, 0},
        {"x >= 2", 2, 1},
        {"x == 2", 2, 1},
        {"x != 2", 2, 0},
        {"x > 1 && x < 3", 2, 1},
        {"x < 1 || x > 3", 2, 0},
        {"x < 1 || x > 1 && x < 3", 2, 1},
        {"x > 0 ? 10 : 20", 1, 10},
        {"x > 0 ? 10 : 20", -1, 20},
        {"x > 0 ? 1 : x < -5 ? 2 : 3", -6, 2},
        {"if(x, 1, 2)", 0, 2},
        {"min(x, 2)", 3, 2},
        {"max(x, 2)", 3, 3},
        {"clamp(x, 0, 1)", -2, 0},
        {"clamp(x, 0, 1)", 2, 1},
        {"clamp(x, x * 2, x * 3)", 2, 4},
        {"abs(x)", -2.5f, 2.5f},
        {"sqrt(x)", 9, 3},
        {"floor(x)", -0.5f, -1},
        {"ceil(x)", 0.25f, 1},
        {"round(x)", 2.5f, 2},
        {"round(x)", 3.5f, 4},
        {"exp(x)", 0, 1},
        {"log(x)", 1, 0},
        {"log2(x)", 8, 3},
        {"log10(x)", 1000, 3},
        {"sin(x)", 0, 0},
        {"cos(x)", 0, 1},
        {"tan(x)", 0, 0},
        {"tanh(x)", 0, 0},
        {"pow(x, 3)", 2, 8},
        {"atan2(x, 1)", 0, 0},
        {"p0", 0, 0.7f},
        {"x * p1", 2, -6.5f},
        {"c * 10 + x", 2, 72},
        {"1e3 + 0.5", 0, 1000.5f},
        {" \n x\t+\r 1 ", 1, 2},
        {"0.1 + 0.2", 0, 0.1f + 0.2f},
        {"16777216 + 1 + x", 1, 16777216}, /* every step is rounded to f32 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float got = value_of(cases[i].text, cases[i].x, 7);
        if (!(got >= cases[i].want && got <= cases[i].want))
            check_fail(__FILE__, __LINE__, "%s of %g: expected %.9g, got %.9g", cases[i].text, cases[i].x,
                       cases[i].want, got);
    }
}

static void nan_is_one_nan_and_neither_min_nor_clamp_keeps_it(void) {
    uint32_t bits;
    static const char *const nans[] = {
        "x", "-x", "x + x", "sqrt(-1 + 0 * x)", "log(-abs(x))", "sqrt(0 - 1)", "x - 1e39 + 1e39 * 10"};
    for (size_t i = 0; i < sizeof nans / sizeof *nans; i++) {
        float v = value_of(nans[i], -NAN, 0);
        memcpy(&bits, &v, 4);
        CHECK_EQ_U64(0x7fc00000, bits);
    }
    CHECK_EQ_F64(1, value_of("min(x, 1)", NAN, 0));
    CHECK_EQ_F64(2, value_of("clamp(x, 2, 3)", NAN, 0));
    CHECK_EQ_F64(0, value_of("x == x", NAN, 0));
    CHECK_EQ_F64(1, value_of("x ? 1 : 2", NAN, 0));
    float zero = value_of("ceil(x)", -0.25f, 0);
    CHECK(zero >= 0 && zero <= 0 && signbit(zero));
}

static void wrong_expressions_are_refused_at_their_column(void) {
    static const struct {
        const char *text;
        mldf_status want;
        uint64_t at;
        const char *message;
    } cases[] = {
        {"", MLDF_E_SYNTAX, 0, "found the end"},
        {"x +", MLDF_E_SYNTAX, 3, "expected a value, found the end"},
        {"x y", MLDF_E_SYNTAX, 2, "expected an operator or the end, found 'y'"},
        {"(x", MLDF_E_SYNTAX, 2, "expected ')'"},
        {"x)", MLDF_E_SYNTAX, 1, "found ')'"},
        {"min(x)", MLDF_E_SYNTAX, 5, "expected ','"},
        {"abs(x, 1)", MLDF_E_SYNTAX, 5, "expected ')'"},
        {"min(x, 1, 2)", MLDF_E_SYNTAX, 8, "expected ')'"},
        {"abs x", MLDF_E_SYNTAX, 4, "expected '('"},
        {"1 + y", MLDF_E_SYNTAX, 4, "y is unknown"},
        {"p2", MLDF_E_SYNTAX, 0, "p has 2 numbers"},
        {"p99999999999999999999", MLDF_E_SYNTAX, 0, "unknown"},
        {"x ? 1", MLDF_E_SYNTAX, 5, "expected ':'"},
        {"1 < x < 3", MLDF_E_SYNTAX, 6, "do not chain"},
        {"1e999", MLDF_E_SYNTAX, 0, "beyond"},
        {"1.", MLDF_E_SYNTAX, 2, "not a number"},
        {"x @ 1", MLDF_E_SYNTAX, 2, "found '@'"},
        {"x \x01", MLDF_E_SYNTAX, 2, "byte 0x01"},
        {"x % 2", MLDF_E_SYNTAX, 2, "found '%'"},
        {"system(x)", MLDF_E_SYNTAX, 0, "system is unknown"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct expression e;
        mldf_error err;
        CHECK_STATUS(cases[i].want, mldfi_expression_parse(cases[i].text, strlen(cases[i].text), numbers, 2, &e, &err),
                     &err);
        CHECK_EQ_U64(cases[i].at, err.offset);
        CHECK_CONTAINS(cases[i].message, TEXT(err));
    }
}

static void limits_hold(void) {
    struct expression e;
    mldf_error err;
    char text[EXPRESSION_MAX_TEXT + 2];
    memset(text, '(', sizeof text);
    CHECK_STATUS(MLDF_E_LIMIT, mldfi_expression_parse(text, 4000, NULL, 0, &e, &err), &err);
    CHECK_STATUS(MLDF_E_LIMIT, mldfi_expression_parse(text, sizeof text, NULL, 0, &e, &err), &err);
    memset(text, '-', sizeof text);
    CHECK_STATUS(MLDF_E_LIMIT, mldfi_expression_parse(text, 4000, NULL, 0, &e, &err), &err);
    size_t at = 0;
    for (int i = 0; i < EXPRESSION_MAX_STEPS + 1; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "x+");
    text[at++] = 'x';
    CHECK_STATUS(MLDF_E_LIMIT, mldfi_expression_parse(text, at, NULL, 0, &e, &err), &err);
    CHECK_STATUS(MLDF_OK, mldfi_expression_parse(text, at - 2, NULL, 0, &e, &err), &err);
    CHECK_EQ_U64(EXPRESSION_MAX_STEPS, e.step_count);
    at = 0;
    for (int i = 0; i < EXPRESSION_MAX_CONSTANTS + 1; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "x+%d+", i + 2);
    text[at++] = 'x';
    CHECK_STATUS(MLDF_E_LIMIT, mldfi_expression_parse(text, at, NULL, 0, &e, &err), &err);
    at = 0;
    for (int i = 0; i < EXPRESSION_MAX_RESULTS; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "x*x+(");
    CHECK_STATUS(MLDF_E_LIMIT, mldfi_expression_parse(text, at, NULL, 0, &e, &err), &err);
}

static void constants_are_folded(void) {
    struct expression e;
    CHECK_OK(mldfi_expression_parse("x * (1 + 2 * sqrt(4)) + (3 > 2 ? 1 : 0)", 39, NULL, 0, &e, NULL), NULL);
    CHECK_EQ_U64(2, e.step_count);
    CHECK_EQ_U64(2, e.constant_count);
    CHECK_EQ_F64(5, e.constants[0]);
    CHECK_OK(mldfi_expression_parse("1 + 2", 5, NULL, 0, &e, NULL), NULL);
    CHECK_EQ_U64(0, e.step_count);
}

static float random_float(uint64_t *state) {
    static const float special[] = {0.0f,   -0.0f,    1,         -1,  0.5f,   2.5f,       1e38f,
                                    -1e38f, INFINITY, -INFINITY, NAN, 1e-45f, 8388608.5f, 255};
    uint64_t r = check_rand(state) >> 32;
    uint32_t bits = (uint32_t)(check_rand(state) >> 32);
    float v;
    if (r % 4 == 0)
        return special[r / 4 % (sizeof special / sizeof *special)];
    memcpy(&v, &bits, 4);
    return r % 4 == 1 ? v : (float)(int32_t)bits / 65536.0f / (float)(1 + r % 977);
}

static void programs_agree_with_a_plain_evaluator(void) {
    uint64_t state = check_seed();
    for (int n = 0; n < 8000; n++) {
        char text[2048];
        random_expression(&state, 1 + (unsigned)(check_rand(&state) >> 33) % 4, text, sizeof text);
        struct expression e;
        if (strlen(text) > 500 || mldfi_expression_parse(text, strlen(text), numbers, 2, &e, NULL) < 0)
            continue; /* cut off by its room */
        for (int k = 0; k < 8; k++) {
            float x = random_float(&state), c = (float)(k % 3);
            float got = value_of(text, x, c), want = oracle_value(text, strlen(text), x, c, numbers);
            if (memcmp(&got, &want, 4) != 0)
                check_fail(__FILE__, __LINE__, "%s of x=%.9g c=%g: expected %.9g, got %.9g", text, (double)x, (double)c,
                           (double)want, (double)got);
        }
    }
}

/* Sizes around a strip, all types, both layouts, in place. */
static void strips_types_and_layouts_change_nothing(void) {
    static const mldf_dtype types[] = {MLDF_BOOL, MLDF_U8,  MLDF_I8,  MLDF_U16,  MLDF_I16, MLDF_U32, MLDF_I32,
                                       MLDF_U64,  MLDF_I64, MLDF_F16, MLDF_BF16, MLDF_F32, MLDF_F64};
    static const int64_t sizes[] = {0, 1, 3, 85, 86, 255, 256, 257, 600};
    const char *text = "expr(\"x * 0.25 + c * 1000 - (x > p0 ? p1 : 2)\", [0.7, -3.25])";
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int layout = 0; layout < 3; layout++) {
                int64_t n = sizes[s];
                bool pixels = layout < 2 && (types[t] == MLDF_U8 || types[t] == MLDF_U16 || types[t] == MLDF_F32);
                struct value in, out;
                struct value wide = {0};
                bool planar = layout == 1;
                if (layout < 2 && !pixels)
                    continue;
                const int64_t image[] = {planar ? 3 : 1, planar ? 1 : n, planar ? n : 3, -1}, array[] = {n, 3, -1};
                REQUIRE(value_make(&in, pixels ? VALUE_IMAGE : VALUE_ARRAY, types[t], planar && pixels,
                                   pixels ? image : array, 5 + s));
                mldf_error err;
                CHECK_STATUS(MLDF_OK, run_text(text, &in, 0, &out, &err), &err);
                CHECK_STATUS(MLDF_OK, run_text("cast(f32)", &in, 0, &wide, &err), &err);
                CHECK_EQ_INT(MLDF_F32, out.tensor.dtype);
                for (int64_t i = 0; i < 3 * n; i++) {
                    float c = !pixels ? 0 : (float)(planar ? i / n : i % 3), x = ((float *)wide.tensor.data)[i];
                    float want = oracle_value("x * 0.25 + c * 1000 - (x > p0 ? p1 : 2)", 39, x, c, numbers);
                    float got = ((float *)out.tensor.data)[i];
                    if (memcmp(&want, &got, 4) != 0)
                        check_fail(__FILE__, __LINE__, "type %d, size %d, element %d: expected %g, got %g",
                                   (int)types[t], (int)n, (int)i, (double)want, (double)got);
                }
                value_free(&in);
                value_free(&out);
                value_free(&wide);
            }
}

static void works_in_place(void) {
    struct value in;
    struct step_run s;
    mldf_error err;
    REQUIRE(value_make(&in, VALUE_ARRAY, MLDF_F64, false, (int64_t[]){1000, -1}, 3));
    double *x = in.tensor.data;
    for (int i = 0; i < 1000; i++)
        x[i] = i;
    CHECK_STATUS(MLDF_OK, step_begin(&s, "expr(\"x + 1\")", &in, 0, &err), &err);
    struct tensor out = in.tensor;
    out.dtype = MLDF_F32;
    CHECK_STATUS(MLDF_OK, s.op.type->run(&s.op, s.draw, &in.tensor, &out, &s.work, &err), &err);
    for (int i = 0; i < 1000; i++)
        CHECK_EQ_F64(i + 1, ((float *)out.data)[i]);
    step_end(&s);
    value_free(&in);
}

static void pipelines_name_the_column(void) {
    static const struct {
        const char *text, *message;
        mldf_status want;
    } cases[] = {
        {"a: expr(\"x + \")", "line 1, column 9: expr: column 5 of the expression: expected a value, found the end",
         MLDF_E_SYNTAX},
        {"a: expr(\"p1\", [1])", "p has 1 number", MLDF_E_SYNTAX},
        {"a: expr(\"x\", 1, 2)", "at most 2 arguments", MLDF_E_ARGUMENT},
        {"a: expr", "text must be given", MLDF_E_ARGUMENT},
        {"a: expr(3)", "wants \"text\"", MLDF_E_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mldf_pipeline *pipeline;
        mldf_error err;
        CHECK_STATUS(cases[i].want, mldf_pipeline_parse(NULL, cases[i].text, strlen(cases[i].text), &pipeline, &err),
                     &err);
        CHECK_CONTAINS(cases[i].message, TEXT(err));
    }
    struct value in, out;
    mldf_error err;
    REQUIRE(value_make(&in, VALUE_ARRAY, MLDF_C64, false, (int64_t[]){3, -1}, 3));
    CHECK_STATUS(MLDF_E_TYPE, run_text("expr(\"x\")", &in, 0, &out, &err), &err);
    value_free(&in);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(expressions_mean_what_they_say);
    RUN(nan_is_one_nan_and_neither_min_nor_clamp_keeps_it);
    RUN(wrong_expressions_are_refused_at_their_column);
    RUN(limits_hold);
    RUN(constants_are_folded);
    RUN(programs_agree_with_a_plain_evaluator);
    RUN(strips_types_and_layouts_change_nothing);
    RUN(works_in_place);
    RUN(pipelines_name_the_column);
    return check_end();
}
