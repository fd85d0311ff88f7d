/* The language of pipelines: what is read, how it is written again, and the exact words and places of what is refused. */
#include "check.h"
#include "mldf/pipeline.h"

static mldf_status parse(const char *text, size_t bytes, mldf_pipeline **out, mldf_error *err) {
    memset(err, 0, sizeof *err);
    return mldf_pipeline_parse(NULL, text, bytes, out, err);
}

/* What one of the writers gives, terminated; static. */
static const char *written_by(mldf_status (*write)(const mldf_pipeline *, mldf_buffer *, mldf_error *),
                              const mldf_pipeline *pipeline) {
    static char text[200000];
    mldf_buffer out = MLDF_BUFFER_INIT;
    mldf_error err;
    text[0] = 0;
    CHECK_OK(write(pipeline, &out, &err), &err);
    if (out.size < sizeof text && out.size) {
        memcpy(text, out.data, out.size);
        text[out.size] = 0;
    }
    mldf_buffer_free(&out);
    return text;
}

static const char *written(const mldf_pipeline *pipeline) {
    return written_by(mldf_pipeline_write, pipeline);
}

static void statements_are_given_as_json(void) {
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", "[]"},
        {"label",
         "[{\"outputs\":[{\"name\":\"label\",\"inputs\":[\"label\"],\"list\":false,\"role\":null}],\"steps\":[]}]"},
        {"a = b as points, `c \\`\" d` = [e, f.0]: hflip(1) | drop",
         "[{\"outputs\":[{\"name\":\"a\",\"inputs\":[\"b\"],\"list\":false,\"role\":\"points\"},"
         "{\"name\":\"c `\\\" d\",\"inputs\":[\"e\",\"f.0\"],\"list\":true,\"role\":null}],"
         "\"steps\":[{\"name\":\"hflip\",\"arguments\":{\"p\":1.0},\"text\":\"hflip(p=1.0)\"},"
         "{\"name\":\"drop\",\"arguments\":{},\"text\":\"drop\"}]}]"},
        {"x: resize([3, 4])\ny: fill(nan) | cast(f16)",
         "[{\"outputs\":[{\"name\":\"x\",\"inputs\":[\"x\"],\"list\":false,\"role\":null}],"
         "\"steps\":[{\"name\":\"resize\",\"arguments\":{\"size\":[3,4],\"filter\":\"bilinear\",\"antialias\":true,\"max_size\":0},"
         "\"text\":\"resize(size=[3, 4], filter=bilinear, antialias=true, max_size=0)\"}]},"
         "{\"outputs\":[{\"name\":\"y\",\"inputs\":[\"y\"],\"list\":false,\"role\":null}],"
         "\"steps\":[{\"name\":\"fill\",\"arguments\":{\"value\":\"nan\",\"valid\":false},\"text\":\"fill(value=nan, valid=false)\"},"
         "{\"name\":\"cast\",\"arguments\":{\"dtype\":\"f16\"},\"text\":\"cast(dtype=f16)\"}]}]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mldf_pipeline *pipeline;
        mldf_error err;
        REQUIRE_OK(parse(cases[i].text, strlen(cases[i].text), &pipeline, &err), &err);
        CHECK_EQ_STR(cases[i].want, written_by(mldf_pipeline_json, pipeline));
        mldf_pipeline_free(pipeline);
    }
}

static void good_texts_have_one_canonical_form(void) {
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"image: resize(256) | center_crop(224)",
         "image: resize(size=256, filter=bilinear, antialias=true, max_size=0) | center_crop(size=224, fill=0.0, mask_fill=0.0)"},
        {"image: random_resized_crop(224) | hflip | normalize(imagenet) | chw(f32)",
         "image: random_resized_crop(size=224, scale=[0.08, 1.0], ratio=[0.75, 1.3333333333333333], filter=bilinear, antialias=true) | hflip(p=0.5) | normalize(mean=imagenet, std=preset, unit=1) | chw(dtype=f32)"},
        {"small = image: resize(64); image, seg as mask, box as boxes: hflip",
         "small = image: resize(size=64, filter=bilinear, antialias=true, max_size=0)\nimage, seg as mask, box as boxes: hflip(p=0.5)"},
        {"image:\n  resize(256) # comment\n  | hflip |\n vflip\nlabel\n\n;;y: drop",
         "image: resize(size=256, filter=bilinear, antialias=true, max_size=0) | hflip(p=0.5) | vflip(p=0.5)\nlabel\ny: drop"},
        {"xy = [x, y]: drop", "xy = [x, y]: drop"},
        {"`a b` = `c\\`d`: resize([\n 3,\n 4,\n])",
         "`a b` = `c\\`d`: resize(size=[3, 4], filter=bilinear, antialias=true, max_size=0)"},
        {"pose.x: cast(f32)", "pose.x: cast(dtype=f32)"},
        {"image: normalize(mean=[0.5, 0.5, 0.5], std=0.5, unit=255)",
         "image: normalize(mean=[0.5, 0.5, 0.5], std=0.5, unit=255)"},
        {"image", "image"},
        {"image: hflip ; ; label: drop", "image: hflip(p=0.5)\nlabel: drop"},
        {"", ""},
        {"  # nothing\n;;\n", ""},
        {"image: cast(dtype=bf16,)", "image: cast(dtype=bf16)"},
        {"\xc3\xa4 = b\xc3\xb6: hflip(p=1e-1)", "\xc3\xa4 = b\xc3\xb6: hflip(p=0.1)"},
        {"image: normalize(\"imagenet\")", "image: normalize(mean=imagenet, std=preset, unit=1)"},
        {"as as mask: hflip", "as as mask: hflip(p=0.5)"},
        {"x = [`a-b`, c.d.0]\r\n", "x = [`a-b`, c.d.0]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mldf_pipeline *pipeline, *again;
        mldf_error err;
        REQUIRE_OK(parse(cases[i].text, strlen(cases[i].text), &pipeline, &err), &err);
        CHECK_EQ_STR(cases[i].want, written(pipeline));
        REQUIRE_OK(parse(cases[i].want, strlen(cases[i].want), &again, &err), &err);
        CHECK_EQ_STR(cases[i].want, written(again));
        mldf_pipeline_free(pipeline);
        mldf_pipeline_free(again);
    }
}

#define FORM "; a statement is FIELD: STEP | STEP, as in image: resize([224, 224]) | hflip"

static const struct {
    const char *text;
    mldf_status status;
    size_t offset;
    const char *message;
} wrong[] = {
    {":", MLDF_E_SYNTAX, 0, "line 1, column 1: expected the name of an output, found ':'"},
    {"image:", MLDF_E_SYNTAX, 6, "line 1, column 7: expected an operation, found the end"},
    {"image: ", MLDF_E_SYNTAX, 7, "line 1, column 8: expected an operation, found the end"},
    {"image resize(3)", MLDF_E_SYNTAX, 6, "line 1, column 7: expected ':' and steps, found 'resize'" FORM},
    {"image | hflip", MLDF_E_SYNTAX, 6, "line 1, column 7: expected ':' and steps, found '|'" FORM},
    {"image: resize(256) hflip", MLDF_E_SYNTAX, 19,
     "line 1, column 20: expected '|' or the end of the statement, found 'hflip'"},
    {"image: resize(256", MLDF_E_SYNTAX, 17, "line 1, column 18: expected ',' or ')', found the end"},
    {"image: resize(256,", MLDF_E_SYNTAX, 18, "line 1, column 19: expected a value, found the end"},
    {"image: resize(256]", MLDF_E_SYNTAX, 17, "line 1, column 18: expected ',' or ')', found ']'"},
    {"image: resize([1,2)", MLDF_E_SYNTAX, 18, "line 1, column 19: expected ',' or ']', found ')'"},
    {"image: resize([1 2])", MLDF_E_SYNTAX, 17, "line 1, column 18: expected ',' or ']', found '2'"},
    {"image: resize([[1]])", MLDF_E_SYNTAX, 15, "line 1, column 16: a list holds numbers and words, not lists"},
    {"image: resize(size=1, 2)", MLDF_E_SYNTAX, 22, "line 1, column 23: a value without a name after one with a name"},
    {"image: resize(1=2)", MLDF_E_SYNTAX, 15, "line 1, column 16: only a parameter's name comes before '='"},
    {"image: resize(=2)", MLDF_E_SYNTAX, 14, "line 1, column 15: expected a value, found '='"},
    {"image: resize(size=)", MLDF_E_SYNTAX, 19, "line 1, column 20: expected a value, found ')'"},
    {"image: resiz(256)", MLDF_E_ARGUMENT, 7, "line 1, column 8: there is no operation resiz; did you mean resize?"},
    {"image: zzzzzz", MLDF_E_ARGUMENT, 7, "line 1, column 8: there is no operation zzzzzz"},
    {"image: resize(sise=256)", MLDF_E_ARGUMENT, 14,
     "line 1, column 15: resize has no parameter sise; did you mean size?"},
    {"image: resize(zzz=256)", MLDF_E_ARGUMENT, 14,
     "line 1, column 15: resize has no parameter zzz; it has size, filter, antialias, max_size"},
    {"image: resize", MLDF_E_ARGUMENT, 7,
     "line 1, column 8: resize: size must be given: n: the shorter side becomes n; [h, w]: exactly that"},
    {"image: resize(256, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)", MLDF_E_ARGUMENT, 19,
     "line 1, column 20: resize: height and width are one argument: resize([256, 1])"},
    {"image: center_crop(10, 12)", MLDF_E_ARGUMENT, 23,
     "line 1, column 24: center_crop: height and width are one argument: center_crop([10, 12]); or name it: fill=12"},
    {"image: random_crop(32, 32)", MLDF_E_ARGUMENT, 23,
     "line 1, column 24: random_crop: height and width are one argument: random_crop([32, 32]); or name it: "
     "padding=32"},
    {"image: random_resized_crop(24, 32)", MLDF_E_ARGUMENT, 31,
     "line 1, column 32: random_resized_crop: height and width are one argument: random_resized_crop([24, 32])"},
    {"image: resize(256, size=3)", MLDF_E_ARGUMENT, 19, "line 1, column 20: resize: size: given twice"},
    {"image: hflip(p=2)", MLDF_E_ARGUMENT, 15, "line 1, column 16: hflip: p: 2 is not between 0 and 1"},
    {"image: hflip(p=-0.1)", MLDF_E_ARGUMENT, 15, "line 1, column 16: hflip: p: -0.1 is not between 0 and 1"},
    {"image: hflip(p=a)", MLDF_E_ARGUMENT, 15, "line 1, column 16: hflip: p: wants a number"},
    {"image: hflip(p=\"a\")", MLDF_E_ARGUMENT, 15, "line 1, column 16: hflip: p: wants a number"},
    {"image: hflip(p=[1])", MLDF_E_ARGUMENT, 15, "line 1, column 16: hflip: p: wants a number"},
    {"image: hflip(p=1e400)", MLDF_E_SYNTAX, 15, "line 1, column 16: a number beyond 1.8e308"},
    {"image: hflip(p=1e)", MLDF_E_SYNTAX, 17, "line 1, column 18: this number lacks a digit"},
    {"image: hflip(p=.5)", MLDF_E_SYNTAX, 15, "line 1, column 16: a number begins with a digit: 0.5"},
    {"image: hflip(p=01)", MLDF_E_SYNTAX, 15, "line 1, column 16: a number has no leading zeros"},
    {"image: hflip(p=1.)", MLDF_E_SYNTAX, 17, "line 1, column 18: this number lacks a digit"},
    {"image: hflip(p=5x)", MLDF_E_SYNTAX, 15,
     "line 1, column 16: a number runs into a word; a name that begins with a digit needs `quotes`"},
    {"image: hflip(p=-)", MLDF_E_SYNTAX, 16, "line 1, column 17: this number lacks a digit"},
    {"image: resize(1.5)", MLDF_E_ARGUMENT, 14, "line 1, column 15: resize: size: wants a whole number"},
    {"image: resize(0)", MLDF_E_ARGUMENT, 14, "line 1, column 15: resize: size: 0 is not between 1 and 65535"},
    {"image: resize([1, 2, 3])", MLDF_E_ARGUMENT, 14, "line 1, column 15: resize: size: wants 1 to 2 numbers, not 3"},
    {"image: resize([])", MLDF_E_ARGUMENT, 14, "line 1, column 15: resize: size: wants 1 to 2 numbers, not 0"},
    {"image: resize(abc)", MLDF_E_ARGUMENT, 14, "line 1, column 15: resize: size: wants a number or a [list]"},
    {"image: resize(8, filter=bilinaer)", MLDF_E_ARGUMENT, 24,
     "line 1, column 25: resize: filter: wants nearest, bilinear, bicubic, area, box or lanczos, not bilinaer; did you mean bilinear?"},
    {"image: resize(8, filter=3)", MLDF_E_ARGUMENT, 24,
     "line 1, column 25: resize: filter: wants nearest, bilinear, bicubic, area, box or lanczos, not 3"},
    {"image: resize(8, filter=[1])", MLDF_E_ARGUMENT, 24,
     "line 1, column 25: resize: filter: wants nearest, bilinear, bicubic, area, box or lanczos"},
    {"image: resize(8, antialias=1)", MLDF_E_ARGUMENT, 27, "line 1, column 28: resize: antialias: wants true or false"},
    {"image: resize(8, antialias=True)", MLDF_E_ARGUMENT, 27,
     "line 1, column 28: resize: antialias: wants true or false"},
    {"image: decode(channels=2.0)", MLDF_E_ARGUMENT, 23, "line 1, column 24: decode: channels: wants a whole number"},
    {"image: decode(channels=99999999999999999999)", MLDF_E_ARGUMENT, 23,
     "line 1, column 24: decode: channels: 99999999999999999999 is not between 0 and 4"},
    {"image: normalize(imagnet)", MLDF_E_ARGUMENT, 17,
     "line 1, column 18: normalize: mean: wants numbers, imagenet, cifar10 or half, not imagnet; did you mean imagenet?"},
    {"image: normalize(q)", MLDF_E_ARGUMENT, 17,
     "line 1, column 18: normalize: mean: wants numbers, imagenet, cifar10 or half, not q"},
    {"image: normalize([1, \"a\", 2])", MLDF_E_ARGUMENT, 21, "line 1, column 22: normalize: mean: wants a number"},
    {"image: cast(float32)", MLDF_E_ARGUMENT, 12, "line 1, column 13: cast: dtype: float32 is f32 here"},
    {"image: cast", MLDF_E_ARGUMENT, 7,
     "line 1, column 8: cast: dtype must be given: the new type: bool, u8, i64, f16, bf16, f32 ...; float to integer rounds to the nearest even and stops at the type's ends, integer to integer wraps"},
    {"image: cast([1])", MLDF_E_ARGUMENT, 12,
     "line 1, column 13: cast: dtype: wants an element type: bool, u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16, f32, f64"},
    {"image: chw(f99)", MLDF_E_ARGUMENT, 11,
     "line 1, column 12: chw: dtype: wants an element type: bool, u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16, f32, f64"},
    {"image: drop(1)", MLDF_E_ARGUMENT, 12, "line 1, column 13: drop takes no arguments"},
    {"image: \"hflip\"", MLDF_E_SYNTAX, 7, "line 1, column 8: expected an operation, found \"hflip\""},
    {"image: hflip | ", MLDF_E_SYNTAX, 15, "line 1, column 16: expected an operation, found the end"},
    {"image: hflip || vflip", MLDF_E_SYNTAX, 14, "line 1, column 15: expected an operation, found '|'"},
    {"image as maks: hflip", MLDF_E_SYNTAX, 9,
     "line 1, column 10: expected image, mask, boxes, points or flow, found 'maks'"},
    {"image as: hflip", MLDF_E_SYNTAX, 8, "line 1, column 9: expected image, mask, boxes, points or flow, found ':'"},
    {"image as mask as mask: hflip", MLDF_E_SYNTAX, 14, "line 1, column 15: expected ':' and steps, found 'as'" FORM},
    {"index: drop", MLDF_E_ARGUMENT, 0,
     "line 1, column 1: index is the name of an output of the loader's own; write my_index = ..."},
    {"a, b, a: hflip", MLDF_E_ARGUMENT, 6, "line 1, column 7: a is named twice in one statement"},
    {"x = : hflip", MLDF_E_SYNTAX, 4, "line 1, column 5: expected a field, found ':'"},
    {"x = []: hflip", MLDF_E_SYNTAX, 4, "line 1, column 5: a list of inputs is not empty"},
    {"x = [a b]: hflip", MLDF_E_SYNTAX, 7, "line 1, column 8: expected ',' or ']', found 'b'"},
    {"x = [a,", MLDF_E_SYNTAX, 7, "line 1, column 8: expected a field, found the end"},
    {"= x: hflip", MLDF_E_SYNTAX, 0, "line 1, column 1: expected the name of an output, found '='"},
    {"``: hflip", MLDF_E_SYNTAX, 0, "line 1, column 1: a name is not empty"},
    {"`ab", MLDF_E_SYNTAX, 0, "line 1, column 1: this name is never closed"},
    {"image: resize(\"ab", MLDF_E_SYNTAX, 14, "line 1, column 15: this text is never closed"},
    {"image: resize(\"a\\q\")", MLDF_E_SYNTAX, 16, "line 1, column 17: unknown escape; \\\\ is a backslash"},
    {"image: resize('a')", MLDF_E_SYNTAX, 14, "line 1, column 15: text is written in \"double quotes\" here"},
    {"image: hflip & vflip", MLDF_E_SYNTAX, 13, "line 1, column 14: '&' has no meaning here"},
    {"image: hflip)", MLDF_E_SYNTAX, 12, "line 1, column 13: expected '|' or the end of the statement, found ')'"},
    {"image: hflip @", MLDF_E_SYNTAX, 13, "line 1, column 14: '@' has no meaning here"},
    {"image: cast(uint8)", MLDF_E_ARGUMENT, 12, "line 1, column 13: cast: dtype: uint8 is u8 here"},
    {"label: drop\n# \xc3\xa4\n\xc3\xa4\xc3\xa4: hflp", MLDF_E_ARGUMENT, 23,
     "line 3, column 5: there is no operation hflp; did you mean hflip?"},
    {"image: hflip\nlabel: cast(\n  f32,\n  u8)", MLDF_E_ARGUMENT, 35,
     "line 4, column 3: cast takes at most 1 argument"},
    {"image: hflip\nlabel cast", MLDF_E_SYNTAX, 19, "line 2, column 7: expected ':' and steps, found 'cast'" FORM},
    {"`a\nb`: hflip", MLDF_E_SYNTAX, 0, "line 1, column 1: this name is never closed"},
    {"`a\tb`: hflip", MLDF_E_SYNTAX, 0, "line 1, column 1: a name holds no control characters"},
    {"image: hflip \xff", MLDF_E_SYNTAX, 13, "line 1, column 14: this is not UTF-8"},
    {"image: hflip \x01", MLDF_E_SYNTAX, 13, "line 1, column 14: the byte 0x01 has no meaning here"},
};

static void wrong_texts_are_refused_in_exact_words(void) {
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        mldf_pipeline *pipeline = NULL;
        mldf_error err;
        CHECK_STATUS(wrong[i].status, parse(wrong[i].text, strlen(wrong[i].text), &pipeline, &err), &err);
        CHECK_EQ_STR(wrong[i].message, TEXT(err));
        CHECK_EQ_U64(wrong[i].offset, err.offset);
        CHECK_EQ_INT(wrong[i].status, err.status);
        CHECK(!pipeline);
        CHECK_STATUS(wrong[i].status, mldf_pipeline_parse(NULL, wrong[i].text, strlen(wrong[i].text), &pipeline, NULL),
                     NULL);
    }
}

/* Every prefix ends in a pipeline or in an error whose place lies in the text. */
static void every_prefix_is_read_or_refused_at_its_place(void) {
    static const char text[] = "image, `se g` as mask = [a, b]: random_crop(size=[2, 3], padding=4) | hflip(0.25) # c\n"
                               "x = y as boxes: normalize(\"half\")\n  | chw(f16); label";
    for (size_t bytes = 0; bytes < sizeof text; bytes++) {
        mldf_pipeline *pipeline;
        mldf_error err;
        char *copy = malloc(bytes + 1); /* the sanitizer sees a read past it */
        REQUIRE(copy);
        memcpy(copy, text, bytes);
        mldf_status status = parse(copy, bytes, &pipeline, &err);
        if (status < 0) {
            CHECK(status == MLDF_E_SYNTAX || status == MLDF_E_ARGUMENT);
            CHECK(err.offset <= bytes);
            CHECK_CONTAINS("line ", TEXT(err));
        } else {
            mldf_pipeline_free(pipeline);
        }
        free(copy);
    }
}

static char *repeated(const char *front, const char *text, size_t count, const char *end) {
    size_t bytes = strlen(text), at = strlen(front);
    char *out = malloc(at + bytes * count + strlen(end) + 1);
    if (!out)
        exit(3);
    memcpy(out, front, at);
    for (size_t i = 0; i < count; i++)
        memcpy(out + at + i * bytes, text, bytes);
    strcpy(out + at + bytes * count, end);
    return out;
}

static void check_limit(char *text, mldf_status want, const char *message) {
    mldf_pipeline *pipeline = NULL;
    mldf_error err;
    CHECK_STATUS(want, parse(text, strlen(text), &pipeline, &err), &err);
    if (want < 0)
        CHECK_EQ_STR(message, TEXT(err));
    mldf_pipeline_free(pipeline);
    free(text);
}

static void more_than_the_limits_is_refused(void) {
    check_limit(repeated("", " ", 65536, ""), MLDF_OK, "");
    check_limit(repeated("", " ", 65537, ""), MLDF_E_LIMIT, "a pipeline of 65537 bytes; at most 65536 are allowed");
    check_limit(repeated("", "a;", 1024, ""), MLDF_OK, "");
    check_limit(repeated("", "a;", 1025, ""), MLDF_E_LIMIT, "line 1, column 2049: more than 1024 statements");
    check_limit(repeated("", "a:hflip|hflip|hflip|hflip;", 1024, ""), MLDF_OK, "");
    check_limit(repeated("", "a:hflip|hflip|hflip|hflip|hflip;", 900, ""), MLDF_E_LIMIT,
                "line 1, column 26217: more than 4096 steps");
    check_limit(repeated("a:resize([1", ",1", 4095, "])"), MLDF_E_ARGUMENT,
                "line 1, column 10: resize: size: wants 1 to 2 numbers, not 4096");
    check_limit(repeated("a:resize([1", ",1", 4096, "])"), MLDF_E_LIMIT,
                "line 1, column 10: a list of more than 4096 values");
    check_limit(repeated("a = [b", ",b", 63, "]"), MLDF_OK, "");
    check_limit(repeated("a = [b", ",b", 64, "]"), MLDF_E_LIMIT, "line 1, column 5: more than 64 inputs");
    check_limit(repeated("", "a", 255, ""), MLDF_OK, "");
    check_limit(repeated("", "a", 256, ""), MLDF_E_SYNTAX, "line 1, column 1: a name has at most 255 bytes");
    check_limit(repeated("a: ", "h", 300, ""), MLDF_E_ARGUMENT,
                "line 1, column 4: there is no operation "
                "hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh");
}

static void missing_arguments_of_the_calls_are_named(void) {
    mldf_pipeline *pipeline;
    mldf_buffer out = MLDF_BUFFER_INIT;
    mldf_error err;
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_pipeline_parse(NULL, NULL, 1, &pipeline, &err), &err);
    CHECK_EQ_STR("mldf_pipeline_parse: text is NULL", err.message);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_pipeline_parse(NULL, "a", 1, NULL, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_pipeline_write(NULL, &out, &err), &err);
    REQUIRE_OK(mldf_pipeline_parse(NULL, NULL, 0, &pipeline, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_pipeline_write(pipeline, NULL, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_pipeline_json(pipeline, NULL, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_pipeline_json(NULL, &out, &err), &err);
    CHECK_EQ_STR("mldf_pipeline_json: pipeline is NULL", err.message);
    mldf_pipeline_free(pipeline);
    mldf_pipeline_free(NULL);
}

static void operations_are_listed_by_name(void) {
    mldf_operation_info info, last = {.name = ""};
    mldf_parameter_info parameter;
    size_t count = 0, flips = 0;
    for (; mldf_operation_at(count, &info) == MLDF_OK; count++) {
        CHECK(strcmp(last.name, info.name) < 0);
        CHECK(info.help && info.help[0]);
        for (size_t i = 0; i < info.parameter_count; i++) {
            CHECK_OK(mldf_operation_parameter(count, i, &parameter), NULL);
            CHECK(parameter.name && parameter.type && parameter.help && parameter.help[0]);
        }
        CHECK_STATUS(MLDF_END, mldf_operation_parameter(count, info.parameter_count, &parameter), NULL);
        if (strcmp(info.name, "hflip") == 0) {
            flips++;
            CHECK(info.random && info.groups && !info.pairs);
            CHECK_EQ_U64(1, info.parameter_count);
            CHECK_OK(mldf_operation_parameter(count, 0, &parameter), NULL);
            CHECK_EQ_STR("p", parameter.name);
            CHECK_EQ_STR("float", parameter.type);
            CHECK_EQ_STR("0.5", parameter.fallback);
        }
        last = info;
    }
    CHECK_EQ_U64(1, flips);
    CHECK_STATUS(MLDF_END, mldf_operation_at(count, &info), NULL);
    CHECK_STATUS(MLDF_END, mldf_operation_parameter(count, 0, &parameter), NULL);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_operation_at(0, NULL), NULL);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_operation_parameter(0, 0, NULL), NULL);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(statements_are_given_as_json);
    RUN(good_texts_have_one_canonical_form);
    RUN(wrong_texts_are_refused_in_exact_words);
    RUN(every_prefix_is_read_or_refused_at_its_place);
    RUN(more_than_the_limits_is_refused);
    RUN(missing_arguments_of_the_calls_are_named);
    RUN(operations_are_listed_by_name);
    return check_end();
}
