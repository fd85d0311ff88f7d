/* Types from values, and narrow floats. */
#include <math.h>

#include "check.h"
#include "tool/convert.h"
#include "tool/half.h"
#include "tool/infer.h"

static void text_is_read_as_the_narrowest_kind(void) {
    static const struct {
        const char *text;
        text_kind kind, loose;
    } cases[] = {
        {"", TEXT_EMPTY, TEXT_EMPTY},
        {"0", TEXT_INT, TEXT_INT},
        {"-0", TEXT_INT, TEXT_INT},
        {"7", TEXT_INT, TEXT_INT},
        {" 7\t", TEXT_INT, TEXT_INT},
        {"007", TEXT_WORDS, TEXT_INT},
        {"+7", TEXT_WORDS, TEXT_INT},
        {"9223372036854775807", TEXT_INT, TEXT_INT},
        {"-9223372036854775808", TEXT_INT, TEXT_INT},
        {"9223372036854775808", TEXT_UINT, TEXT_UINT},
        {"18446744073709551615", TEXT_UINT, TEXT_UINT},
        {"18446744073709551616", TEXT_BIG, TEXT_BIG},
        {"-9223372036854775809", TEXT_BIG, TEXT_BIG},
        {"1.5", TEXT_FLOAT, TEXT_FLOAT},
        {".5", TEXT_FLOAT, TEXT_FLOAT},
        {"5.", TEXT_FLOAT, TEXT_FLOAT},
        {"1e5", TEXT_FLOAT, TEXT_FLOAT},
        {"-1.5E-3", TEXT_FLOAT, TEXT_FLOAT},
        {"00.5", TEXT_WORDS, TEXT_FLOAT},
        {"1e999", TEXT_WORDS, TEXT_WORDS},
        {"nan", TEXT_FLOAT, TEXT_FLOAT},
        {"NaN", TEXT_FLOAT, TEXT_FLOAT},
        {"-inf", TEXT_FLOAT, TEXT_FLOAT},
        {"Infinity", TEXT_FLOAT, TEXT_FLOAT},
        {"true", TEXT_BOOL, TEXT_BOOL},
        {"FALSE", TEXT_BOOL, TEXT_BOOL},
        {"tRue", TEXT_WORDS, TEXT_WORDS},
        {"1,5", TEXT_WORDS, TEXT_WORDS},
        {"0x10", TEXT_WORDS, TEXT_WORDS},
        {"1e", TEXT_WORDS, TEXT_WORDS},
        {".", TEXT_WORDS, TEXT_WORDS},
        {"-", TEXT_WORDS, TEXT_WORDS},
        {" ", TEXT_WORDS, TEXT_WORDS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct text_number number;
        CHECK_EQ_INT(cases[i].kind, mldfi_read_text(cases[i].text, strlen(cases[i].text), false, &number));
        CHECK_EQ_INT(cases[i].loose, mldfi_read_text(cases[i].text, strlen(cases[i].text), true, &number));
    }
}

/* Cells separated by '|'; what the column becomes. */
static void decide(const char *cells, bool json, char out[128]) {
    struct guess guess = {0};
    struct inferred inferred;
    struct json scratch = {0}, tree = {0};
    for (const char *p = cells;; p++) {
        const char *end = strchr(p, '|');
        size_t bytes = end ? (size_t)(end - p) : strlen(p);
        struct cell cell = {json ? CELL_JSON : CELL_TEXT, false, p, bytes, &tree, 0, 1, 1};
        if (json && bytes == 0)
            cell.kind = CELL_ABSENT;
        if (cell.kind == CELL_JSON)
            CHECK_OK(mldfi_json_parse(&tree, p, bytes, NULL), NULL);
        mldfi_guess_cell(&guess, &cell, &scratch);
        if (!end)
            break;
        p = end;
    }
    mldfi_guess_decide(&guess, json, &inferred);
    snprintf(out, 128, "%u%s%s", inferred.type_id, inferred.flags ? "?" : "", inferred.arguments);
    mldfi_json_free(&scratch);
    mldfi_json_free(&tree);
}

static void columns_get_the_type_that_holds_every_value(void) {
    static const struct {
        bool json;
        const char *cells, *want;
    } cases[] = {
        {false, "1|2|-3", "1"},
        {false, "1||3", "1?"},
        {false, "1|18446744073709551615", "1{\"dtype\":\"<u8\"}"},
        {false, "-1|18446744073709551615", "40"},
        {false, "1|18446744073709551616", "40"},
        {false, "1|2.5", "2"},
        {false, "9007199254740993|2.5", "40"},
        {false, "9007199254740992|2.5", "2"},
        {false, "1|nan", "2"},
        {false, "01|2", "40"},
        {false, "true|False", "1{\"dtype\":\"|b1\"}"},
        {false, "true|1", "40"},
        {false, "|", "40?"},
        {false, "a||b", "40"},
        {false, "[1,2]|[3,4]", "4{\"dtype\":\"<i8\",\"shape\":[2]}"},
        {false, "[1,2]|[3,4.5]|", "4?{\"dtype\":\"<f8\",\"shape\":[2]}"},
        {false, "[1,2]|[3]", "5"},
        {false, "{\"a\":1}|[3]", "5"},
        {false, "[1,2|[3]", "40"},
        {true, "1|2", "1"},
        {true, "1||2", "1?"},
        {true, "1|null", "1?"},
        {true, "1|2.5", "2"},
        {true, "9007199254740993|2.5", "5"},
        {true, "1.5|\"NaN\"|\"-Infinity\"", "2"},
        {true, "\"NaN\"|\"Infinity\"", "40"},
        {true, "123456789012345678901|1", "40"},
        {true, "\"a\"|\"b\"", "40"},
        {true, "\"a\"|1", "5"},
        {true, "true|false", "1{\"dtype\":\"|b1\"}"},
        {true, "true|1", "5"},
        {true, "null|null", "5?"},
        {true, "[1,2]|[3,4]", "4{\"dtype\":\"<i8\",\"shape\":[2]}"},
        {true, "[]|[]", "5"},
        {true, "[1,\"a\"]|[1,2]", "5"},
        {true, "[[1,2],[3,4]]", "5"},
        {true, "[18446744073709551615]", "5"},
        {true, "1e999", "5"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char got[128], what[256], want[256];
        decide(cases[i].cells, cases[i].json, got);
        snprintf(want, sizeof want, "%s -> %s", cases[i].cells, cases[i].want);
        snprintf(what, sizeof what, "%s -> %s", cases[i].cells, got);
        CHECK_EQ_STR(want, what);
    }
}

static double widen(uint16_t bits, int fraction_bits, int bias) {
    int exponent = (bits & 0x7fff) >> fraction_bits, fraction = bits & ((1 << fraction_bits) - 1);
    double value = exponent == 0 ? ldexp(fraction, 1 - bias - fraction_bits)
                                 : ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
    return bits & 0x8000 ? -value : value;
}

/* Every finite value comes back, and between two neighbours the nearer one is taken, the even one in the middle. */
static void narrow_floats_round_to_nearest_even(void) {
    for (unsigned bits = 0; bits < 0x7c00; bits++) {
        double here = widen((uint16_t)bits, 10, 15), next = widen((uint16_t)(bits + 1), 10, 15);
        if (bits + 1 == 0x7c00)
            next = 65536;
        double middle = here + (next - here) / 2;
        CHECK_EQ_INT((int64_t)bits, mldfi_f64_to_f16(here));
        CHECK_EQ_INT((int64_t)bits | 0x8000, mldfi_f64_to_f16(-here));
        CHECK_EQ_INT((int64_t)(bits + (bits & 1)), mldfi_f64_to_f16(middle));
        CHECK_EQ_INT((int64_t)bits, mldfi_f64_to_f16(nextafter(middle, 0)));
        CHECK_EQ_INT((int64_t)bits + 1, mldfi_f64_to_f16(nextafter(middle, 1e9)));
    }
    for (unsigned bits = 0; bits < 0x7f7f; bits++) {
        double here = widen((uint16_t)bits, 7, 127), next = widen((uint16_t)(bits + 1), 7, 127);
        double middle = here + (next - here) / 2;
        CHECK_EQ_INT((int64_t)bits, mldfi_f64_to_bf16(here));
        CHECK_EQ_INT((int64_t)(bits + (bits & 1)), mldfi_f64_to_bf16(middle));
        CHECK_EQ_INT((int64_t)bits + 1, mldfi_f64_to_bf16(nextafter(middle, 1e300)));
    }
    CHECK_EQ_INT(0x7c00, mldfi_f64_to_f16((double)INFINITY));
    CHECK_EQ_INT(0xfc00, mldfi_f64_to_f16(-1e300));
    CHECK_EQ_INT(0x7e00, mldfi_f64_to_f16((double)NAN) & 0x7fff);
    CHECK_EQ_INT(0x7fc0, mldfi_f64_to_bf16((double)NAN) & 0x7fff);
    CHECK_EQ_INT(0, mldfi_f64_to_f16(1e-300));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(text_is_read_as_the_narrowest_kind);
    RUN(columns_get_the_type_that_holds_every_value);
    RUN(narrow_floats_round_to_nearest_even);
    return check_end();
}
