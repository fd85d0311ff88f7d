/* Arguments become values: every kind of parameter, ranges, counts, defaults; and the defaults of all operations there are. */
#include "check.h"
#include "pipeline/lex.h"

static const char *const words[] = {"red", "green", "blue", NULL};
static const char *const units[] = {"1", "255", NULL};
static const struct op_param every[] = {{"i", PARAM_INT, "3", -5, 10, NULL, 0, 0, "an int"},
                                        {"f", PARAM_FLOAT, "0.5", 0, 0, NULL, 0, 0, "a float"},
                                        {"b", PARAM_BOOL, "true", 0, 0, NULL, 0, 0, "a bool"},
                                        {"c", PARAM_CHOICE, "green", 0, 0, words, 0, 0, "a choice"},
                                        {"u", PARAM_CHOICE, "1", 0, 0, units, 0, 0, "a choice of numbers"},
                                        {"t", PARAM_TEXT, "", 0, 0, NULL, 0, 0, "a text"},
                                        {"n", PARAM_INTS, "[1, 2]", 0, 100, NULL, 1, 3, "ints"},
                                        {"x", PARAM_FLOATS, "red", -1, 1, words, 2, 2, "floats"},
                                        {"e", PARAM_FLOATS, "", 0, 0, NULL, 0, 0, "floats, or none"},
                                        {"d", PARAM_DTYPE, "same", 0, 0, NULL, 0, 0, "a type"},
                                        {NULL, PARAM_INT, NULL, 0, 0, NULL, 0, 0, NULL}};
static const struct op_type all_kinds = {.name = "kinds", .help = "for the test", .params = every};
enum { I, F, B, C, U, T, N, X, E, D };

/* "drop(...)" is read as a step, then bound as if it were one of `type`. */
static mldf_status bind(const struct op_type *type, const char *text, struct op *op, mldf_error *err) {
    struct mldf_pipeline pipeline = {0};
    struct lexer lexer = mldfi_pipeline_lexer(text, strlen(text), &pipeline.arena);
    struct step step;
    memset(err, 0, sizeof *err);
    mldf_status status = mldfi_lex_next(&lexer, err);
    if (status == MLDF_OK)
        status = mldfi_parse_step(&lexer, NULL, &step, err);
    if (status == MLDF_OK) {
        step.type = type;
        pipeline.text = (char *)(uintptr_t)text;
        pipeline.text_bytes = lexer.bytes;
        status = mldfi_bind_parameters(&pipeline, &step, op, err);
    }
    mldfi_arena_free(&pipeline.arena);
    return status;
}

static const char *as_text(const struct op *op) {
    static char text[1000];
    mldf_buffer out = MLDF_BUFFER_INIT;
    CHECK_OK(mldfi_op_write(op, &out, NULL), NULL);
    snprintf(text, sizeof text, "%.*s", (int)out.size, (const char *)out.data);
    mldf_buffer_free(&out);
    return text;
}

static void defaults_are_bound(void) {
    struct op op;
    mldf_error err;
    REQUIRE_OK(bind(&all_kinds, "drop", &op, &err), &err);
    CHECK_EQ_INT(3, op.args[I].i);
    CHECK_EQ_F64(3, op.args[I].f);
    CHECK_EQ_F64(0.5, op.args[F].f);
    CHECK_EQ_INT(1, op.args[B].i);
    CHECK_EQ_INT(1, op.args[C].i);
    CHECK_EQ_INT(0, op.args[U].i);
    CHECK_EQ_STR("", op.args[T].text);
    CHECK_EQ_U64(2, op.args[N].count);
    CHECK_EQ_INT(-1, op.args[N].i);
    CHECK_EQ_F64(2, op.args[N].list[1]);
    CHECK_EQ_INT(0, op.args[X].i);
    CHECK_EQ_U64(0, op.args[X].count);
    CHECK_EQ_U64(0, op.args[E].count);
    CHECK_EQ_INT(-1, op.args[E].i);
    CHECK_EQ_INT(MLDF_DTYPE_NONE, op.args[D].i);
    for (int i = I; i <= D; i++)
        CHECK(!op.args[i].given);
    CHECK_EQ_STR("kinds(i=3, f=0.5, b=true, c=green, u=1, n=[1, 2], x=red, d=same)", as_text(&op));
    mldfi_free_parameters(&op);
}

static void given_values_are_bound_by_place_and_by_name(void) {
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"drop(-5, -1e3, false, blue, 255, \"a \\\"b\\\"\\n\", 7, [0.25, -1], [], f32)",
         "kinds(i=-5, f=-1000.0, b=false, c=blue, u=255, t=\"a \\\"b\\\"\\n\", n=7, x=[0.25, -1.0], e=[], d=f32)"},
        {"drop(10, d=bf16, n=[0, 100, 50], t=word, x=blue, e=1.5)",
         "kinds(i=10, f=0.5, b=true, c=green, u=1, t=\"word\", n=[0, 100, 50], x=blue, e=1.5, d=bf16)"},
        {"drop(c=\"red\", d=same, x=\"green\", f=-0.0)",
         "kinds(i=3, f=-0.0, b=true, c=red, u=1, n=[1, 2], x=green, d=same)"},
        {"drop(f=3, e=[1, 2, 3, 4, 5])",
         "kinds(i=3, f=3.0, b=true, c=green, u=1, n=[1, 2], x=red, e=[1.0, 2.0, 3.0, 4.0, 5.0], d=same)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct op op;
        mldf_error err;
        REQUIRE_OK(bind(&all_kinds, cases[i].text, &op, &err), &err);
        CHECK_EQ_STR(cases[i].want, as_text(&op));
        mldfi_free_parameters(&op);
    }
}

static void an_argument_knows_that_it_was_given_and_where(void) {
    struct op op;
    mldf_error err;
    REQUIRE_OK(bind(&all_kinds, "drop(3, t=\"a\\tb\", d=same)", &op, &err), &err);
    CHECK(op.args[I].given && op.args[T].given && op.args[D].given);
    CHECK(!op.args[F].given);
    CHECK_EQ_U64(5, op.args[I].offset);
    CHECK_EQ_U64(10, op.args[T].offset);
    CHECK_EQ_U64(3, op.args[T].text_bytes);
    CHECK_EQ_STR("a\tb", op.args[T].text);
    CHECK(op.type == &all_kinds);
    mldfi_free_parameters(&op);
    CHECK(!op.args[T].text && !op.args[N].list);
}

static void wrong_values_are_refused(void) {
    static const struct {
        const char *text;
        size_t offset;
        const char *message;
    } cases[] = {
        {"drop(11)", 5, "line 1, column 6: kinds: i: 11 is not between -5 and 10"},
        {"drop(1.0)", 5, "line 1, column 6: kinds: i: wants a whole number"},
        {"drop(red)", 5, "line 1, column 6: kinds: i: wants a whole number"},
        {"drop(f=red)", 7, "line 1, column 8: kinds: f: wants a number"},
        {"drop(b=yes)", 7, "line 1, column 8: kinds: b: wants true or false"},
        {"drop(b=[true])", 7, "line 1, column 8: kinds: b: wants true or false"},
        {"drop(c=gren)", 7, "line 1, column 8: kinds: c: wants red, green or blue, not gren; did you mean green?"},
        {"drop(c=0)", 7, "line 1, column 8: kinds: c: wants red, green or blue, not 0"},
        {"drop(u=2)", 7, "line 1, column 8: kinds: u: wants 1 or 255, not 2"},
        {"drop(t=3)", 7, "line 1, column 8: kinds: t: wants \"text\""},
        {"drop(t=[a])", 7, "line 1, column 8: kinds: t: wants \"text\""},
        {"drop(n=[])", 7, "line 1, column 8: kinds: n: wants 1 to 3 numbers, not 0"},
        {"drop(n=[1, 2, 3, 4])", 7, "line 1, column 8: kinds: n: wants 1 to 3 numbers, not 4"},
        {"drop(n=[1, 2, 101])", 14, "line 1, column 15: kinds: n: 101 is not between 0 and 100"},
        {"drop(n=[1, 2.5])", 11, "line 1, column 12: kinds: n: wants a whole number"},
        {"drop(n=[1, two])", 11, "line 1, column 12: kinds: n: wants a whole number"},
        {"drop(n=red)", 7, "line 1, column 8: kinds: n: wants a number or a [list]"},
        {"drop(x=0.5)", 7, "line 1, column 8: kinds: x: wants 2 numbers, not 1"},
        {"drop(x=[red, red])", 8, "line 1, column 9: kinds: x: wants a number"},
        {"drop(x=rd)", 7, "line 1, column 8: kinds: x: wants numbers, red, green or blue, not rd; did you mean red?"},
        {"drop(e=red)", 7, "line 1, column 8: kinds: e: wants a number or a [list]"},
        {"drop(d=float16)", 7, "line 1, column 8: kinds: d: float16 is f16 here"},
        {"drop(d=bfloat16)", 7, "line 1, column 8: kinds: d: bfloat16 is bf16 here"},
        {"drop(d=3)", 7,
         "line 1, column 8: kinds: d: wants an element type: bool, u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16, "
         "f32, f64"},
        {"drop(1, i=2)", 8, "line 1, column 9: kinds: i: given twice"},
        {"drop(g=2)", 5, "line 1, column 6: kinds has no parameter g; it has i, f, b, c, u, t, n, x, e, d"},
        {"drop(1,2,true,red,1,a,1,red,1,u8,7)", 33, "line 1, column 34: kinds takes at most 10 arguments"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct op op;
        mldf_error err;
        CHECK_STATUS(MLDF_E_ARGUMENT, bind(&all_kinds, cases[i].text, &op, &err), &err);
        CHECK_EQ_STR(cases[i].message, TEXT(err));
        CHECK_EQ_U64(cases[i].offset, err.offset);
    }
}

/* A default must satisfy its own parameter: the canonical text writes it out. */
static void defaults_of_all_operations_are_good(void) {
    size_t count = 0;
    for (const struct op_type *type; (type = mldfi_op_at(count)) != NULL; count++) {
        CHECK(mldfi_op_find(type->name, strlen(type->name)) == type);
        CHECK(type->draw_bytes <= OP_DRAW_BYTES);
        CHECK(!!type->draw == !!(type->flags & OP_DRAWS));
        for (const struct op_param *p = type->params; p && p->name; p++) {
            struct op_param one[2] = {*p, every[sizeof every / sizeof *every - 1]};
            struct op_type alone = {.name = type->name, .params = one};
            struct op op;
            mldf_error err;
            CHECK(p - type->params < OP_MAX_PARAMS);
            if (!p->fallback)
                continue;
            CHECK_OK(bind(&alone, "drop", &op, &err), &err);
            mldfi_free_parameters(&op);
        }
    }
    CHECK(count > 20);
    CHECK(!mldfi_op_find("hfli", 4));
    CHECK(!mldfi_op_find("", 0));
}

static void an_operation_from_text_is_bound_and_inferred(void) {
    struct edge in = {.kind = VALUE_ARRAY, .dtype = MLDF_I64, .ndim = 1, .dims = {7}, .most = {7}};
    struct op op;
    mldf_error err;
    REQUIRE_OK(mldfi_op_from_text("cast(f32)", &in, &op, &err), &err);
    CHECK_EQ_STR("cast", op.type->name);
    CHECK_EQ_INT(MLDF_I64, op.in.dtype);
    CHECK_EQ_INT(MLDF_F32, op.out.dtype);
    CHECK_EQ_INT(7, op.out.dims[0]);
    CHECK(op.leads);
    mldfi_op_free(&op);
    CHECK_STATUS(MLDF_E_SYNTAX, mldfi_op_from_text("cast(f32) | hwc", &in, &op, &err), &err);
    CHECK_EQ_STR("line 1, column 11: expected one operation, found '|'", TEXT(err));
    CHECK_STATUS(MLDF_E_TYPE, mldfi_op_from_text("hflip", &in, &op, &err), &err);
    CHECK_CONTAINS("hflip: wants", TEXT(err));
    CHECK_CONTAINS("gets i64 7 array", TEXT(err));
    mldfi_op_free(NULL);
}

static void types_are_told_in_words(void) {
    static const struct {
        struct edge edge;
        const char *want;
    } cases[] = {
        {{.kind = VALUE_ARRAY, .dtype = MLDF_F64}, "f64 number"},
        {{.kind = VALUE_IMAGE, .role = ROLE_IMAGE, .dtype = MLDF_U8, .axes = "hwc", .ndim = 3, .dims = {375, 500, 3}},
         "u8 375x500x3 image"},
        {{.kind = VALUE_IMAGE, .role = ROLE_MASK, .dtype = MLDF_U8, .axes = "chw", .ndim = 3, .dims = {1, 4, 5}},
         "u8 1x4x5 planar mask"},
        {{.kind = VALUE_ENCODED,
          .role = ROLE_IMAGE,
          .family = FAMILY_IMAGE,
          .dtype = MLDF_U16,
          .ndim = 3,
          .dims = {-1, -1, 3},
          .most = {9, MLDF_NONE, 3}},
         "u16 <=9x?x3 stored image"},
        {{.kind = VALUE_ENCODED, .family = FAMILY_AUDIO, .dtype = MLDF_F32, .ndim = 2, .dims = {-1, 2}, .most = {9, 2}},
         "f32 <=9x2 stored recording"},
        {{.kind = VALUE_BYTES, .dtype = MLDF_U8, .ndim = 1, .dims = {-1}, .most = {MLDF_NONE}}, "u8 ? bytes"},
        {{.kind = VALUE_ARRAY, .role = ROLE_BOXES, .dtype = MLDF_F32, .ndim = 2, .dims = {-1, 4}, .most = {50, 4}},
         "f32 <=50x4 boxes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mldf_buffer out = MLDF_BUFFER_INIT;
        REQUIRE_OK(mldfi_edge_write(&cases[i].edge, &out, NULL), NULL);
        CHECK_BYTES_EQ(cases[i].want, strlen(cases[i].want), out.data, out.size);
        mldf_buffer_free(&out);
    }
    for (int i = MLDF_BOOL; i <= MLDF_C128; i++) {
        const char *word = mldfi_dtype_short((mldf_dtype)i);
        CHECK_EQ_INT(i, mldfi_dtype_word(word, strlen(word)));
    }
    CHECK_EQ_INT(MLDF_DTYPE_NONE, mldfi_dtype_word("none", 4));
    CHECK_EQ_INT(MLDF_DTYPE_NONE, mldfi_dtype_word("f3", 2));
    CHECK_EQ_STR("none", mldfi_dtype_short((mldf_dtype)99));
}

static void counts_of_elements_do_not_wrap(void) {
    struct tensor t = {.dtype = MLDF_F32, .ndim = 3, .dims = {3, 4, 5}};
    CHECK_EQ_U64(60, mldfi_tensor_count(&t));
    CHECK_EQ_U64(240, mldfi_tensor_bytes(&t));
    t.ndim = 0;
    CHECK_EQ_U64(1, mldfi_tensor_count(&t));
    t = (struct tensor){.dtype = MLDF_U8, .ndim = 3, .dims = {UINT64_C(1) << 33, UINT64_C(1) << 33, 1}};
    CHECK_EQ_U64(UINT64_MAX, mldfi_tensor_count(&t));
    t.dims[2] = 0;
    CHECK_EQ_U64(0, mldfi_tensor_count(&t));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(defaults_are_bound);
    RUN(given_values_are_bound_by_place_and_by_name);
    RUN(an_argument_knows_that_it_was_given_and_where);
    RUN(wrong_values_are_refused);
    RUN(defaults_of_all_operations_are_good);
    RUN(an_operation_from_text_is_bound_and_inferred);
    RUN(types_are_told_in_words);
    RUN(counts_of_elements_do_not_wrap);
    return check_end();
}
