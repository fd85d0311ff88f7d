/* JSON: what is accepted, what is refused and at which byte, the tree, and the canonical form. */
#define MLDF_NODISCARD /* texts are built with buffers that do not fail */
#include "check.h"
#include "util/json.h"

struct text {
    const char *data;
    size_t bytes;
};
#define T(literal) \
    { literal, sizeof(literal) - 1 }

static const struct text accepted[] = {
    T("null"),
    T("true"),
    T("false"),
    T("0"),
    T("-0"),
    T("-1"),
    T("0.1"),
    T("1e5"),
    T("1E+5"),
    T("123.456e-78"),
    T("\"\""),
    T("\"abc\""),
    T("[]"),
    T("{}"),
    T(" [ ] "),
    T("\t{\n}\r"),
    T("[1,2,3]"),
    T("[[],[[]],{}]"),
    T("{\"\":0}"),
    T("{\"a\":1,\"b\":[true,{\"c\":null}]}"),
    T("{\"a\" : 1 , \"b\" : 2}"),
    T("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""),
    T("\"\\u0000\\u0041\\uABCD\\uabcd\""),
    T("\"\\ud83d\\ude00\""),
    T("\"\\uD800\\uDC00\\uDBFF\\uDFFF\""),
    T("\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\""),
    T("\"\x7f\""),
    T("[\"\xEF\xBF\xBF\"]"),
    T("123456789012345678901234567890"),
    T("1e999"),
    T("[1 ]"),
    T("[ 1]"),
    T("\"a string that is longer than sixteen bytes, with no escapes in it\""),
    T("{\"a\":1,\"a\":2}"),
};

/* Text, and the byte that the error must name. */
static const struct {
    struct text text;
    uint64_t at;
} refused[] = {
    {T(""), 0},
    {T(" "), 1},
    {T("\xEF\xBB\xBF{}"), 0},
    {T("["), 1},
    {T("{"), 1},
    {T("]"), 0},
    {T("}"), 0},
    {T(","), 0},
    {T("[1,]"), 3},
    {T("[,1]"), 1},
    {T("[1,,2]"), 3},
    {T("[1 2]"), 3},
    {T("[1}"), 2},
    {T("{\"a\":1]"), 6},
    {T("[1"), 2},
    {T("{\"a\":1,}"), 7},
    {T("{,}"), 1},
    {T("{\"a\"}"), 4},
    {T("{\"a\":}"), 5},
    {T("{\"a\",1}"), 4},
    {T("{a:1}"), 1},
    {T("{1:1}"), 1},
    {T("{'a':1}"), 1},
    {T("{\"a\":1"), 6},
    {T("{\"a\" 1}"), 5},
    {T("{\"a\"::1}"), 5},
    {T("{null:1}"), 1},
    {T("1 2"), 2},
    {T("{}{}"), 2},
    {T("[]x"), 2},
    {T("null,"), 4},
    {T("\"a\"\"b\""), 3},
    {T("nul"), 3},
    {T("nulL"), 3},
    {T("True"), 0},
    {T("tru e"), 3},
    {T("truee"), 4},
    {T("undefined"), 0},
    {T("NULL"), 0},
    {T("NaN"), 0},
    {T("Infinity"), 0},
    {T("-Infinity"), 1},
    {T("-"), 1},
    {T("+1"), 0},
    {T("01"), 1},
    {T("-01"), 2},
    {T("1."), 2},
    {T(".5"), 0},
    {T("1.e1"), 2},
    {T("1e"), 2},
    {T("1e+"), 3},
    {T("0x1F"), 1},
    {T("1e1.5"), 3},
    {T("--1"), 1},
    {T("[-]"), 2},
    {T("1a"), 1},
    {T("[1e]"), 3},
    {T("1_000"), 1},
    {T("\xEF\xBC\x91"), 0},
    {T("\""), 1},
    {T("\"abc"), 4},
    {T("\"a\\"), 3},
    {T("\"\\\""), 3},
    {T("\"\\x41\""), 2},
    {T("\"\\a\""), 2},
    {T("\"\\'\""), 2},
    {T("\"\\\0\""), 2},
    {T("\"\\u\""), 3},
    {T("\"\\u12\""), 5},
    {T("\"\\u123"), 6},
    {T("\"\\u12G4\""), 5},
    {T("\"\\U0041\""), 2},
    {T("\"\\u 041\""), 3},
    {T("\"\\u00e\""), 6},
    {T("\"a\nb\""), 2},
    {T("\"\t\""), 1},
    {T("\"a\0b\""), 2},
    {T("\"0123456789\x1f\""), 11},
    {T("\"\\ud800\""), 1},
    {T("\"\\udc00\""), 1},
    {T("\"\\ud800\\u0041\""), 1},
    {T("\"\\ud800x\""), 1},
    {T("\"\\ud800\\n\""), 1},
    {T("\"ab\\udc00\\ud800\""), 3},
    {T("\"\\ud800\\ud800\""), 1},
    {T("\"\\ud83d\\ude0\""), 12},
    {T("\"\\ud83d\\"), 1},
    {T("\"\x80\""), 1},
    {T("\"ab\xC0\xAF\""), 3},
    {T("\"\xED\xA0\x80\""), 1},
    {T("\"\xF4\x90\x80\x80\""), 1},
    {T("\"\xE2\x82\""), 1},
    {T("\"0123456789abcdef\xFF\""), 17},
    {T("{\"\xFF\":1}"), 2},
    {T("\"\\n\xC3(\""), 3},
    {T("\"\xC3"), 1},
    {T("\xC3\xA9"), 0},
    {T("[1]\0"), 3},
    {T("\0"), 0},
    {T("[\v1]"), 1},
    {T("[1\f]"), 2},
    {T("\xC2\xA0[]"), 0},
    {T("// c\n1"), 0},
    {T("/* c */1"), 0},
    {T("[1/*c*/]"), 2},
    {T("'a'"), 0},
    {T("[\"a\",\n4\n,1,"), 11},
    {T("{\"a\":1 \"b\":2}"), 7},
};

static void validate_accepts_every_form_of_the_grammar(void) {
    for (size_t i = 0; i < sizeof accepted / sizeof accepted[0]; i++) {
        mldf_error err;
        /* A copy of the exact size: the sanitizer sees a byte too many. */
        char *copy = malloc(accepted[i].bytes + 1);
        REQUIRE(copy != NULL);
        char *text = copy + 1;
        memcpy(text, accepted[i].data, accepted[i].bytes);
        CHECK_STATUS(MLDF_OK, mldfi_json_validate(text, accepted[i].bytes, &err), &err);
        free(copy);
    }
}

static void validate_and_parse_name_the_byte_that_is_wrong(void) {
    struct json json = {0};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        mldf_error err;
        size_t bytes = refused[i].text.bytes;
        char *copy = malloc(bytes + 1);
        REQUIRE(copy != NULL);
        char *text = copy + 1;
        memcpy(text, refused[i].text.data, bytes);
        err.offset = 0;
        CHECK_STATUS(MLDF_E_SYNTAX, mldfi_json_validate(text, bytes, &err), &err);
        if (err.offset != refused[i].at)
            check_fail(__FILE__, __LINE__, "%s: expected byte %d, got %d", refused[i].text.data, (int)refused[i].at,
                       (int)err.offset);
        err.offset = 0;
        CHECK_STATUS(MLDF_E_SYNTAX, mldfi_json_parse(&json, text, bytes, &err), &err);
        CHECK_EQ_U64(refused[i].at, err.offset);
        CHECK_EQ_U64(0, json.count);
        free(copy);
    }
    mldfi_json_free(&json);
}

static void nesting_stops_at_128(void) {
    char text[300];
    mldf_error err;
    memset(text, '[', 128);
    memset(text + 128, ']', 128);
    CHECK_STATUS(MLDF_OK, mldfi_json_validate(text, 256, &err), &err);
    memset(text, '[', 129);
    memset(text + 129, ']', 129);
    CHECK_STATUS(MLDF_E_SYNTAX, mldfi_json_validate(text, 258, &err), &err);
    CHECK_EQ_U64(128, err.offset);
    mldf_buffer out = MLDF_BUFFER_INIT;
    mldf_buffer deep = MLDF_BUFFER_INIT;
    for (int i = 0; i < 128; i++)
        REQUIRE_OK(mldf_buffer_append(&deep, "{\"a\":", 5, &err), &err);
    REQUIRE_OK(mldf_buffer_append(&deep, "1", 1, &err), &err);
    for (int i = 0; i < 128; i++)
        REQUIRE_OK(mldf_buffer_append(&deep, "}", 1, &err), &err);
    CHECK_OK(mldfi_json_canonicalize((const char *)deep.data, deep.size, &out, &err), &err);
    CHECK_BYTES_EQ(deep.data, deep.size, out.data, out.size);
    mldf_buffer_free(&deep);
    mldf_buffer_free(&out);
}

static void tree_keeps_document_order_and_places(void) {
    static const char text[] = " {\"a\" : [1, \"x\\ty\", {}], \"\\u00e9\":true,\"n\":null , \"f\":-1.50}";
    struct json json = {0};
    mldf_error err;
    int64_t i;
    uint64_t u;
    double d;
    REQUIRE_OK(mldfi_json_parse(&json, text, sizeof text - 1, &err), &err);
    CHECK_EQ_U64(8, json.count);
    CHECK_EQ_INT(MLDFI_JSON_OBJECT, json.nodes[0].kind);
    CHECK_EQ_U64(4, json.nodes[0].count);
    CHECK_EQ_U64(8, json.nodes[0].next);
    CHECK_EQ_U64(1, json.nodes[0].offset);
    CHECK_BYTES_EQ(text + 1, sizeof text - 2, json.nodes[0].text, json.nodes[0].text_bytes);
    uint32_t a = mldfi_json_find(&json, 0, "a");
    CHECK_EQ_U64(1, a);
    CHECK_EQ_U64(3, json.nodes[a].count);
    CHECK_EQ_U64(5, json.nodes[a].next);
    CHECK_EQ_U64(8, json.nodes[a].offset);
    CHECK_BYTES_EQ("[1, \"x\\ty\", {}]", 15, json.nodes[a].text, json.nodes[a].text_bytes);
    CHECK(mldfi_json_i64(&json, 2, &i) && i == 1);
    CHECK(mldfi_json_u64(&json, 2, &u) && u == 1);
    CHECK(json.nodes[2].key == NULL);
    CHECK(mldfi_json_is_text(&json, 3, "x\ty"));
    CHECK(!mldfi_json_is_text(&json, 3, "x\ty2"));
    CHECK(!mldfi_json_is_text(&json, 2, "1"));
    CHECK_EQ_INT(MLDFI_JSON_OBJECT, json.nodes[4].kind);
    CHECK_EQ_U64(0, json.nodes[4].count);
    CHECK_EQ_U64(5, mldfi_json_find(&json, 0, "\xC3\xA9"));
    CHECK_EQ_INT(MLDFI_JSON_TRUE, json.nodes[5].kind);
    CHECK_EQ_U64(6, mldfi_json_find(&json, 0, "n"));
    uint32_t f = mldfi_json_find(&json, 0, "f");
    CHECK_BYTES_EQ("-1.50", 5, json.nodes[f].text, json.nodes[f].text_bytes);
    CHECK(mldfi_json_double(&json, f, &d) && d <= -1.5 && d >= -1.5);
    CHECK(!mldfi_json_i64(&json, f, &i));
    CHECK_EQ_U64(UINT32_MAX, mldfi_json_find(&json, 0, "missing"));
    CHECK_EQ_U64(UINT32_MAX, mldfi_json_find(&json, a, "a"));
    uint32_t children = 0;
    for (uint32_t at = mldfi_json_first(&json, 0); at < json.nodes[0].next; at = json.nodes[at].next)
        children++;
    CHECK_EQ_U64(4, children);
    mldfi_json_free(&json);
    mldfi_json_free(&json);
}

static void tree_is_reused_for_the_next_text(void) {
    struct json json = {0};
    mldf_error err;
    uint64_t state = check_seed();
    for (int round = 0; round < 200; round++) {
        char text[4000];
        size_t used = 0, count = check_rand_below(&state, 100);
        text[used++] = '[';
        for (size_t i = 0; i < count; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s\"a\\u00e9\\n%zu\"", i ? "," : "", i);
        text[used++] = ']';
        REQUIRE_OK(mldfi_json_parse(&json, text, used, &err), &err);
        REQUIRE_EQ_U64(count + 1, json.count);
        for (uint32_t i = 0; i < count; i++) {
            char want[32];
            snprintf(want, sizeof want, "a\xC3\xA9\n%u", i);
            CHECK(mldfi_json_is_text(&json, i + 1, want));
        }
    }
    mldfi_json_free(&json);
}

static void tree_refuses_a_key_that_is_there_twice(void) {
    static const struct {
        const char *text;
        uint64_t at;
    } cases[] = {{"{\"a\":1,\"a\":2}", 7},
                 {"{\"a\":1, \"b\":2 , \"\\u0061\" : 3}", 16},
                 {"{\"x\\\"y\":1,\"z\":{},\"x\\\"y\":2}", 17},
                 {"{\"\":1,\"\":2}", 6},
                 {"[{\"k\":[{\"b\":1,\"b\":1}]}]", 14},
                 {"{\"a\\\\\":1,\"a\\\\\":2}", 9}};
    struct json json = {0};
    mldf_error err;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        err.offset = 0;
        CHECK_STATUS(MLDF_E_SYNTAX, mldfi_json_parse(&json, cases[i].text, strlen(cases[i].text), &err), &err);
        CHECK_EQ_U64(cases[i].at, err.offset);
        CHECK_CONTAINS("twice", TEXT(err));
        CHECK_STATUS(MLDF_E_SYNTAX, mldfi_json_validate_strict(cases[i].text, strlen(cases[i].text), &err), &err);
        CHECK_EQ_U64(cases[i].at, err.offset);
        CHECK_CONTAINS("twice", TEXT(err));
        CHECK_OK(mldfi_json_validate(cases[i].text, strlen(cases[i].text), &err), &err);
    }
    CHECK_OK(mldfi_json_parse(&json, "{\"a\":{\"a\":1},\"b\":{\"a\":2}}", 25, &err), &err);
    mldfi_json_free(&json);
}

static void tree_finds_a_double_key_among_many(void) {
    enum { MEMBERS = 50000 };
    mldf_buffer text = MLDF_BUFFER_INIT;
    struct json json = {0};
    mldf_error err;
    char member[64];
    size_t twice = 0;
    REQUIRE_OK(mldf_buffer_append(&text, "{", 1, &err), &err);
    for (int i = 0; i < MEMBERS; i++) {
        int n = snprintf(member, sizeof member, "%s\"key%d\":%d", i ? "," : "", (i * 7919) % MEMBERS, i);
        REQUIRE_OK(mldf_buffer_append(&text, member, (size_t)n, &err), &err);
    }
    REQUIRE_OK(mldf_buffer_append(&text, "}", 1, &err), &err);
    CHECK_OK(mldfi_json_parse(&json, (const char *)text.data, text.size, &err), &err);
    CHECK_EQ_U64(MEMBERS, json.nodes[0].count);
    twice = text.size; /* where the next key's quote will stand */
    text.data[text.size - 1] = ',';
    REQUIRE_OK(mldf_buffer_append(&text, "\"key5\":0,\"key6\":1}", 18, &err), &err);
    CHECK_STATUS(MLDF_E_SYNTAX, mldfi_json_parse(&json, (const char *)text.data, text.size, &err), &err);
    CHECK_EQ_U64(twice, err.offset);
    CHECK_STATUS(MLDF_E_SYNTAX, mldfi_json_validate_strict((const char *)text.data, text.size, &err), &err);
    CHECK_EQ_U64(twice, err.offset);
    mldfi_json_free(&json);
    mldf_buffer_free(&text);
}

static void canonical_form_is_as_decided(void) {
    static const struct {
        const char *text, *canonical;
    } cases[] = {
        {" null ", "null"},
        {"[ 1 , 2 ]", "[1,2]"},
        {"{\"b\":1,\"a\":{\"d\":[],\"c\":{}}}", "{\"a\":{\"c\":{},\"d\":[]},\"b\":1}"},
        {"{\"aa\":1,\"a\":2,\"B\":3,\"\":4,\"\xC3\xA9\":5,\"z\":6}",
         "{\"\":4,\"B\":3,\"a\":2,\"aa\":1,\"z\":6,\"\xC3\xA9\":5}"},
        {"\"\\u0041\\/\\u00e9\\ud83d\\ude00\"", "\"A/\xC3\xA9\xF0\x9F\x98\x80\""},
        {"\"\\u0022\\u005c\\u0008\\u000c\\u000a\\u000d\\u0009\"", "\"\\\"\\\\\\b\\f\\n\\r\\t\""},
        {"\"\\u0000\\u001F\\u000b\\u007f\"", "\"\\u0000\\u001f\\u000b\x7f\""},
        {"-0", "0"},
        {"-0.0", "-0.0"},
        {"0e5", "0.0"},
        {"9223372036854775807", "9223372036854775807"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"18446744073709551615", "18446744073709551615"},
        {"123456789012345678901234567890", "123456789012345678901234567890"},
        {"1.0", "1.0"},
        {"1.50", "1.5"},
        {"100e-2", "1.0"},
        {"1e2", "100.0"},
        {"1E20", "1e+20"},
        {"1e15", "1e+15"},
        {"0.1", "0.1"},
        {"0.10000000000000000555", "0.1"},
        {"0.30000000000000004", "0.30000000000000004"},
        {"0.00001", "1e-05"},
        {"1e-999", "0.0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        mldf_buffer out = MLDF_BUFFER_INIT;
        mldf_error err;
        CHECK_OK(mldfi_json_canonicalize(cases[i].text, strlen(cases[i].text), &out, &err), &err);
        CHECK_OK(mldf_buffer_append(&out, "", 1, &err), &err);
        CHECK_EQ_STR(cases[i].canonical, (const char *)out.data);
        mldf_buffer_free(&out);
    }
}

static void canonical_refuses_numbers_beyond_a_double(void) {
    mldf_buffer out = MLDF_BUFFER_INIT;
    mldf_error err;
    CHECK_STATUS(MLDF_E_RANGE, mldfi_json_canonicalize("[1, 1e999]", 10, &out, &err), &err);
    CHECK_EQ_U64(4, err.offset);
    CHECK_STATUS(MLDF_E_RANGE, mldfi_json_canonicalize("-1.0e400", 8, &out, &err), &err);
    mldf_buffer_free(&out);
}

static void canonical_appends_a_subtree(void) {
    static const char text[] = "{\"x\":[1, 2],\"y\":{\"b\":0,\"a\":0}}";
    struct json json = {0};
    mldf_buffer out = MLDF_BUFFER_INIT;
    mldf_error err;
    REQUIRE_OK(mldfi_json_parse(&json, text, sizeof text - 1, &err), &err);
    REQUIRE_OK(mldf_buffer_append(&out, ">", 1, &err), &err);
    CHECK_OK(mldfi_json_canonical(&json, mldfi_json_find(&json, 0, "y"), &out, &err), &err);
    CHECK_BYTES_EQ(">{\"a\":0,\"b\":0}", 14, out.data, out.size);
    mldf_buffer_free(&out);
    mldfi_json_free(&json);
}

/* ---- Random documents --------------------------------------------------------------------------------------------- */

static void random_string(uint64_t *state, mldf_buffer *out) {
    static const char *const pieces[] = {"a",
                                         "Z",
                                         " ",
                                         "\\n",
                                         "\\\"",
                                         "\\\\",
                                         "\\/",
                                         "\\u0041",
                                         "\\u0000",
                                         "\\ud83d\\ude00",
                                         "\xC3\xA9",
                                         "\xE2\x82\xAC",
                                         "\xF0\x9F\x98\x80",
                                         "plain text of some length",
                                         "\x7f"};
    size_t count = check_rand_below(state, 6);
    (void)mldf_buffer_append(out, "\"", 1, NULL);
    for (size_t i = 0; i < count; i++) {
        const char *piece = pieces[check_rand_below(state, sizeof pieces / sizeof pieces[0])];
        (void)mldf_buffer_append(out, piece, strlen(piece), NULL);
    }
    (void)mldf_buffer_append(out, "\"", 1, NULL);
}

static void random_space(uint64_t *state, mldf_buffer *out) {
    if (check_rand_below(state, 4) == 0)
        (void)mldf_buffer_append(out, &" \n\t\r"[check_rand_below(state, 4)], 1, NULL);
}

static void random_value(uint64_t *state, mldf_buffer *out, int depth) {
    char text[64];
    random_space(state, out);
    switch (check_rand_below(state, depth > 5 ? 5 : 7)) {
    case 0:
        (void)mldf_buffer_append(out, "null", 4, NULL);
        break;
    case 1:
        (void)mldf_buffer_append(out, "true", 4, NULL);
        break;
    case 2:
        (void)mldf_buffer_append(out, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)check_rand(state)),
                                 NULL);
        break;
    case 3: {
        double value = (double)(int64_t)check_rand(state) / 4096.0;
        int digits = (int)check_rand_below(state, 20);
        (void)mldf_buffer_append(out, text, (size_t)snprintf(text, sizeof text, "%.*e", digits, value), NULL);
        break;
    }
    case 4:
        random_string(state, out);
        break;
    case 5:
        (void)mldf_buffer_append(out, "[", 1, NULL);
        for (size_t i = 0, n = check_rand_below(state, 5); i < n; i++) {
            if (i)
                (void)mldf_buffer_append(out, ",", 1, NULL);
            random_value(state, out, depth + 1);
        }
        (void)mldf_buffer_append(out, "]", 1, NULL);
        break;
    default:
        (void)mldf_buffer_append(out, "{", 1, NULL);
        for (size_t i = 0, n = check_rand_below(state, 30); i < n; i++) {
            /* A number at the end keeps the keys apart. */
            if (i)
                (void)mldf_buffer_append(out, ",", 1, NULL);
            random_space(state, out);
            random_string(state, out);
            out->size--;
            (void)mldf_buffer_append(out, text, (size_t)snprintf(text, sizeof text, "%zu\"", i), NULL);
            random_space(state, out);
            (void)mldf_buffer_append(out, ":", 1, NULL);
            random_value(state, out, depth + 1 + (n > 8) * 3);
        }
        (void)mldf_buffer_append(out, "}", 1, NULL);
    }
    random_space(state, out);
}

static void canonical_of_canonical_is_itself(void) {
    uint64_t state = check_seed();
    mldf_buffer text = MLDF_BUFFER_INIT, once = MLDF_BUFFER_INIT, twice = MLDF_BUFFER_INIT;
    mldf_error err;
    for (int round = 0; round < 3000; round++) {
        text.size = once.size = twice.size = 0;
        random_value(&state, &text, 0);
        mldf_status status = mldfi_json_canonicalize((const char *)text.data, text.size, &once, &err);
        if (status == MLDF_E_SYNTAX && strstr(TEXT(err), "twice"))
            continue; /* "a" + "1" and "a1" + "" may meet */
        REQUIRE_STATUS(MLDF_OK, status, &err);
        CHECK_OK(mldfi_json_validate((const char *)once.data, once.size, &err), &err);
        REQUIRE_OK(mldfi_json_canonicalize((const char *)once.data, once.size, &twice, &err), &err);
        CHECK_BYTES_EQ(once.data, once.size, twice.data, twice.size);
    }
    mldf_buffer_free(&text);
    mldf_buffer_free(&once);
    mldf_buffer_free(&twice);
}

/* Objects in objects whose keys often meet, written in different ways. */
static void random_twins(uint64_t *state, mldf_buffer *out, int depth, bool many) {
    static const char *const keys[] = {"a",
                                       "\\u0061",
                                       "b",
                                       "",
                                       "\\u0000",
                                       "\\\\",
                                       "\\u005c",
                                       "\\\"",
                                       "\\u0022",
                                       "\xC3\xA9",
                                       "\\u00e9",
                                       "\\u00E9",
                                       "ab",
                                       "\\u0061\\u0062",
                                       "a\\u0000b",
                                       "x\\/y",
                                       "x/y",
                                       "\\ud83d\\ude00",
                                       "long long long key",
                                       "\xF0\x9F\x98\x80"};
    enum { KEYS = sizeof keys / sizeof keys[0] };
    char text[64];
    bool list = check_rand_below(state, 4) == 0;
    size_t members = check_rand_below(state, many ? 40 : 4);
    if (depth > 5 || check_rand_below(state, 6) == 0) {
        (void)mldf_buffer_append(out, "\"\\u0061:\"", 9, NULL);
        return;
    }
    (void)mldf_buffer_append(out, list ? "[" : "{", 1, NULL);
    for (size_t i = 0; i < members; i++) {
        const char *key = keys[check_rand_below(state, KEYS)];
        /* Of many, most are told apart by a number. */
        int n = many && check_rand_below(state, 40) ? snprintf(text, sizeof text, "%s\"%s%zu\" :", i ? "," : "", key, i)
                                                    : snprintf(text, sizeof text, "%s\"%s\":", i ? " ," : "", key);
        (void)mldf_buffer_append(out, list ? "," : text, list ? i > 0 : (size_t)n, NULL);
        random_twins(state, out, depth + 1, !many && check_rand_below(state, 10) == 0);
    }
    (void)mldf_buffer_append(out, list ? "]" : "}", 1, NULL);
}

/* Without a tree the verdict, its byte and its words are those of the tree, also on texts that are damaged. */
static void strict_validation_agrees_with_the_tree(void) {
    uint64_t state = check_seed();
    mldf_buffer text = MLDF_BUFFER_INIT;
    struct json json = {0};
    size_t fine = 0, twice = 0, broken = 0;
    for (int round = 0; round < 6000; round++) {
        text.size = 0;
        if (check_rand_below(&state, 8))
            random_twins(&state, &text, 0, check_rand_below(&state, 4) == 0);
        else
            random_value(&state, &text, 0);
        if (check_rand_below(&state, 4) == 0 && text.size)
            text.data[check_rand_below(&state, text.size)] ^= (uint8_t)(1 << check_rand_below(&state, 8));
        mldf_error want, got;
        const char *bytes = (const char *)text.data;
        mldf_status p = mldfi_json_parse(&json, bytes, text.size, &want),
                    v = mldfi_json_validate_strict(bytes, text.size, &got);
        REQUIRE_STATUS(p, v, &got);
        if (p < 0) {
            CHECK_EQ_U64(want.offset, got.offset);
            CHECK_EQ_STR(want.message, got.message);
            twice += strstr(TEXT(want), "twice") != NULL;
            broken += strstr(TEXT(want), "twice") == NULL;
        }
        fine += p == MLDF_OK;
    }
    CHECK(fine > 300 && twice > 300 && broken > 300);
    mldfi_json_free(&json);
    mldf_buffer_free(&text);
}

static void every_prefix_and_every_changed_byte_is_handled(void) {
    uint64_t state = check_seed();
    mldf_buffer text = MLDF_BUFFER_INIT;
    struct json json = {0};
    for (int round = 0; round < 100; round++) {
        text.size = 0;
        random_value(&state, &text, 0);
        size_t step = text.size / 200 + 1;
        for (size_t cut = 0; cut < text.size; cut += step) {
            char *copy = malloc(cut + 1);
            REQUIRE(copy != NULL);
            memcpy(copy + 1, text.data, cut);
            mldf_error err;
            mldf_status v = mldfi_json_validate(copy + 1, cut, &err), p = mldfi_json_parse(&json, copy + 1, cut, NULL);
            CHECK(v == p || v == MLDF_OK);
            CHECK(v == MLDF_OK || err.offset <= cut);
            if (cut > 0) {
                copy[1 + check_rand_below(&state, cut)] ^= (char)(1 << check_rand_below(&state, 8));
                v = mldfi_json_validate(copy + 1, cut, &err);
                p = mldfi_json_parse(&json, copy + 1, cut, NULL);
                CHECK(v == p || v == MLDF_OK);
            }
            free(copy);
        }
    }
    mldfi_json_free(&json);
    mldf_buffer_free(&text);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(validate_accepts_every_form_of_the_grammar);
    RUN(validate_and_parse_name_the_byte_that_is_wrong);
    RUN(nesting_stops_at_128);
    RUN(tree_keeps_document_order_and_places);
    RUN(tree_is_reused_for_the_next_text);
    RUN(tree_refuses_a_key_that_is_there_twice);
    RUN(tree_finds_a_double_key_among_many);
    RUN(canonical_form_is_as_decided);
    RUN(canonical_refuses_numbers_beyond_a_double);
    RUN(canonical_appends_a_subtree);
    RUN(canonical_of_canonical_is_itself);
    RUN(strict_validation_agrees_with_the_tree);
    RUN(every_prefix_and_every_changed_byte_is_handled);
    return check_end();
}
