/* UTF-8: every code point, every way to be wrong, and where the fault begins. */
#include "check.h"
#include "util/utf8.h"

static size_t encode(uint32_t code, uint8_t out[4]) {
    if (code < 0x80) {
        out[0] = (uint8_t)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (uint8_t)(0xC0 | code >> 6);
        out[1] = (uint8_t)(0x80 | (code & 63));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (uint8_t)(0xE0 | code >> 12);
        out[1] = (uint8_t)(0x80 | (code >> 6 & 63));
        out[2] = (uint8_t)(0x80 | (code & 63));
        return 3;
    }
    out[0] = (uint8_t)(0xF0 | code >> 18);
    out[1] = (uint8_t)(0x80 | (code >> 12 & 63));
    out[2] = (uint8_t)(0x80 | (code >> 6 & 63));
    out[3] = (uint8_t)(0x80 | (code & 63));
    return 4;
}

static void utf8_accepts_every_code_point_but_surrogates(void) {
    for (uint32_t code = 0; code <= 0x10FFFF; code++) {
        uint8_t text[4];
        size_t bytes = encode(code, text);
        bool surrogate = code >= 0xD800 && code <= 0xDFFF;
        CHECK_EQ_U64(surrogate ? 0 : bytes, mldfi_utf8_valid_prefix(text, bytes));
        for (size_t cut = 1; cut < bytes; cut++)
            CHECK_EQ_U64(0, mldfi_utf8_valid_prefix(text, cut));
    }
}

/* All pairs and triples of bytes against the table of RFC 3629. */
static bool table_allows(const uint8_t *p, size_t bytes) {
    static const struct {
        uint8_t first_low, first_high, second_low, second_high;
        size_t bytes;
    } rows[] = {{0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3}, {0xE1, 0xEC, 0x80, 0xBF, 3},
                {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3}, {0xF0, 0xF0, 0x90, 0xBF, 4},
                {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (bytes != rows[i].bytes || p[0] < rows[i].first_low || p[0] > rows[i].first_high ||
            p[1] < rows[i].second_low || p[1] > rows[i].second_high)
            continue;
        bool good = true;
        for (size_t k = 2; k < bytes; k++)
            good = good && p[k] >= 0x80 && p[k] <= 0xBF;
        return good;
    }
    return false;
}

static void utf8_follows_the_table_for_all_short_sequences(void) {
    for (unsigned a = 0x80; a < 256; a++) {
        for (unsigned b = 0; b < 256; b++) {
            uint8_t p[4] = {(uint8_t)a, (uint8_t)b, 0, 0};
            CHECK_EQ_INT(table_allows(p, 2), mldfi_utf8_character(p, 2) == 2);
            for (unsigned c = 0x7F; c <= 0xC0; c++) {
                p[2] = (uint8_t)c;
                CHECK_EQ_INT(table_allows(p, 3), mldfi_utf8_character(p, 3) == 3);
                for (unsigned d = 0x7F; d <= 0xC0; d += 0x41 / 5) {
                    p[3] = (uint8_t)d;
                    CHECK_EQ_INT(table_allows(p, 4), mldfi_utf8_character(p, 4) == 4);
                }
            }
        }
    }
}

static void utf8_reports_the_first_byte_of_the_fault(void) {
    static const char *const bad[] = {"\x80",
                                      "\xBF",
                                      "\xC0\xAF",
                                      "\xC1\xBF",
                                      "\xE0\x80\xAF",
                                      "\xED\xA0\x80",
                                      "\xF0\x80\x80\xAF",
                                      "\xF4\x90\x80\x80",
                                      "\xF5\x80\x80\x80",
                                      "\xFE",
                                      "\xFF",
                                      "\xE2\x82",
                                      "\xC3("};
    char text[128];
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        for (size_t before = 0; before < 40; before++) {
            memset(text, 'a', sizeof text);
            memcpy(text + before, bad[i], strlen(bad[i]));
            CHECK_EQ_U64(before, mldfi_utf8_valid_prefix(text, sizeof text));
            CHECK_EQ_U64(before, mldfi_utf8_valid_prefix(text, before));
        }
    }
}

static void utf8_of_nothing_is_valid(void) {
    CHECK_EQ_U64(0, mldfi_utf8_valid_prefix(NULL, 0));
    CHECK_EQ_U64(3, mldfi_utf8_valid_prefix("a\0b", 3));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(utf8_accepts_every_code_point_but_surrogates);
    RUN(utf8_follows_the_table_for_all_short_sequences);
    RUN(utf8_reports_the_first_byte_of_the_fault);
    RUN(utf8_of_nothing_is_valid);
    return check_end();
}
