/* The state of a run: there and back, refused with a reason, and hostile texts. */
#include "unit/order/orders.h"

static mldf_order_state state_of(const mldf_order *order, uint64_t epoch, uint64_t consumed) {
    mldf_order_state s = {epoch, consumed, mldf_order_count(order), MLDF_ORDER_ALGORITHM, {0}};
    mldf_order_digest(order, s.digest);
    return s;
}

static void a_state_comes_back(void) {
    mldf_order *order = range_of(50000, MLDF_ORDER_RANDOM, 7, 0, 0);
    mldf_buffer text = MLDF_BUFFER_INIT;
    mldf_error err;
    static const uint64_t epochs[] = {0, 3, UINT64_MAX};
    for (int i = 0; i < 3; i++) {
        mldf_order_state s = state_of(order, epochs[i], 1234), back;
        memset(&back, 0xff, sizeof back);
        text.size = 0;
        REQUIRE_OK(mldf_order_state_write(&s, &text, &err), &err);
        CHECK(text.size < 1024);
        REQUIRE_OK(mldf_order_state_parse((const char *)text.data, text.size, &back, &err), &err);
        CHECK_EQ_U64(s.epoch, back.epoch);
        CHECK_EQ_U64(1234, back.consumed);
        CHECK_EQ_U64(50000, back.count);
        CHECK_EQ_U64(1, back.algorithm);
        CHECK_MEM_EQ(s.digest, back.digest, 16);
        CHECK_OK(mldf_order_state_check(order, &back, &err), &err);
    }
    mldf_order_state fixed = {9, 2, 5, 1, {0xab, 0, 1}};
    text.size = 0;
    REQUIRE_OK(mldf_order_state_write(&fixed, &text, &err), &err);
    REQUIRE_OK(mldf_buffer_append(&text, "", 1, &err), &err);
    CHECK_EQ_STR(
        "{\"algorithm\":1,\"consumed\":2,\"count\":5,\"digest\":\"ab000100000000000000000000000000\",\"epoch\":9}",
        (const char *)text.data);
    mldf_buffer_free(&text);
    mldf_order_free(order);
}

static void a_state_of_another_order_is_refused_with_a_reason(void) {
    mldf_order *order = range_of(100, MLDF_ORDER_RANDOM, 1, 0, 0), *other = range_of(100, MLDF_ORDER_RANDOM, 2, 0, 0);
    mldf_error err;
    mldf_order_state s = state_of(other, 0, 5);
    CHECK_STATUS(MLDF_E_STATE, mldf_order_state_check(order, &s, &err), &err);
    CHECK_CONTAINS("another order of 100 positions", TEXT(err));
    s = state_of(order, 0, 5);
    CHECK_OK(mldf_order_state_check(order, &s, &err), &err);
    s.count = 99;
    CHECK_STATUS(MLDF_E_STATE, mldf_order_state_check(order, &s, &err), &err);
    CHECK_CONTAINS("99 positions", TEXT(err));
    s = state_of(order, 0, 5);
    s.algorithm = 2;
    CHECK_STATUS(MLDF_E_STATE, mldf_order_state_check(order, &s, &err), &err);
    CHECK_CONTAINS("algorithm 2", TEXT(err));
    s = state_of(order, 0, 101);
    CHECK_STATUS(MLDF_E_STATE, mldf_order_state_check(order, &s, &err), &err);
    CHECK_CONTAINS("101 of 100", TEXT(err));
    mldf_order_free(order);
    mldf_order_free(other);
}

#define DIGEST "\"digest\":\"00112233445566778899AABBccddeeff\""

static void foreign_members_are_left_alone(void) {
    static const char text[] =
        " {\"x\":[1,{\"epoch\":2}],\"epoch\":7,\"algorithm\":1,\"consumed\":0,\"count\":0," DIGEST ",\"codec\":null}\n";
    mldf_order_state s;
    mldf_error err;
    CHECK_OK(mldf_order_state_parse(text, sizeof text - 1, &s, &err), &err);
    CHECK_EQ_U64(7, s.epoch);
    CHECK_EQ_U64(0xaa, s.digest[10]);
}

static void hostile_texts_are_refused_with_their_place(void) {
    static const struct {
        const char *text, *why;
        uint64_t offset;
    } table[] = {
        {"", "", MLDF_NONE},
        {"[]", "JSON object", 0},
        {"7", "JSON object", 0},
        {"{}", "no \"algorithm\"", 0},
        {"{\"algorithm\":1,\"consumed\":1,\"count\":2," DIGEST "}", "no \"epoch\"", 0},
        {"{\"algorithm\":1,\"consumed\":1,\"count\":2,\"epoch\":1}", "no \"digest\"", 0},
        {"{\"algorithm\":-1,\"consumed\":1,\"count\":2,\"epoch\":1," DIGEST "}", "\"algorithm\"", 13},
        {"{\"algorithm\":4294967296,\"consumed\":1,\"count\":2,\"epoch\":1," DIGEST "}", "4294967295", 13},
        {"{\"algorithm\":1,\"consumed\":3,\"count\":2,\"epoch\":1," DIGEST "}", "0 to 2", 26},
        {"{\"algorithm\":1,\"consumed\":1.5,\"count\":2,\"epoch\":1," DIGEST "}", "whole number", 26},
        {"{\"algorithm\":1,\"consumed\":\"1\",\"count\":2,\"epoch\":1," DIGEST "}", "whole number", 26},
        {"{\"algorithm\":1,\"consumed\":1,\"count\":9223372036854775809,\"epoch\":1," DIGEST "}", "\"count\"", 36},
        {"{\"algorithm\":1,\"consumed\":1,\"count\":2,\"epoch\":18446744073709551616," DIGEST "}", "\"epoch\"", 46},
        {"{\"algorithm\":1,\"consumed\":1,\"count\":2,\"epoch\":1,\"digest\":\"00\"}", "32 hexadecimal", 57},
        {"{\"algorithm\":1,\"consumed\":1,\"count\":2,\"epoch\":1,\"digest\":5}", "32 hexadecimal", 57},
        {"{\"algorithm\":1,\"consumed\":1,\"count\":2,\"epoch\":1,\"digest\":\"g0112233445566778899aabbccddeeff\"}",
         "32 hexadecimal", 57},
        {"{\"algorithm\":1,\"algorithm\":1}", "", MLDF_NONE},
        {"{\"algorithm\":1,\"consumed\":1,\"count\":2,\"epoch\":1," DIGEST "} x", "", MLDF_NONE},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        mldf_order_state s;
        mldf_error err = {0};
        memset(&s, 0xff, sizeof s);
        CHECK_STATUS(MLDF_E_SYNTAX, mldf_order_state_parse(table[i].text, strlen(table[i].text), &s, &err), &err);
        CHECK_CONTAINS(table[i].why, TEXT(err));
        if (table[i].offset != MLDF_NONE)
            CHECK_EQ_U64(table[i].offset, err.offset);
        CHECK_EQ_U64(0, s.count | s.consumed | s.epoch | s.algorithm);
    }
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_order_state_parse(NULL, 1, NULL, NULL), NULL);
}

/* Every byte of a good text changed to every other: parsed or refused, never worse; what is parsed is within its bounds. */
static void every_changed_byte_is_survived(void) {
    static const char good[] =
        "{\"algorithm\":1,\"consumed\":12,\"count\":52,\"digest\":\"00112233445566778899aabbccddeeff\",\"epoch\":3}";
    for (size_t i = 0; i < sizeof good - 1; i++)
        for (int c = 0; c < 256; c++) {
            char text[sizeof good];
            mldf_order_state s;
            memcpy(text, good, sizeof good);
            text[i] = (char)c;
            mldf_status st = mldf_order_state_parse(text, sizeof good - 1, &s, NULL);
            CHECK(st == MLDF_OK || st == MLDF_E_SYNTAX);
            CHECK(s.consumed <= s.count);
            st = mldf_order_state_parse(good, i, &s, NULL); /* cut */
            CHECK_STATUS(MLDF_E_SYNTAX, st, NULL);
        }
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(a_state_comes_back);
    RUN(a_state_of_another_order_is_refused_with_a_reason);
    RUN(foreign_members_are_left_alone);
    RUN(hostile_texts_are_refused_with_their_place);
    RUN(every_changed_byte_is_survived);
    return check_end();
}
