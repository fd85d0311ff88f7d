/* Numbers as text. The table comes from Python: '%.Ng' with the first N of 15, 16, 17 that float() reads back, and the
 * bits of the value. */
#include <locale.h>
#include <math.h>

#include "check.h"
#include "util/number.h"

static const struct {
    const char *text;
    uint64_t bits;
} table[] = {
    {"0.0", 0x0000000000000000},
    {"-0.0", 0x8000000000000000},
    {"1.0", 0x3ff0000000000000},
    {"-1.0", 0xbff0000000000000},
    {"0.5", 0x3fe0000000000000},
    {"0.1", 0x3fb999999999999a},
    {"0.2", 0x3fc999999999999a},
    {"0.3", 0x3fd3333333333333},
    {"0.3333333333333333", 0x3fd5555555555555},
    {"0.6666666666666666", 0x3fe5555555555555},
    {"1e+15", 0x430c6bf526340000},
    {"999999999999999.0", 0x430c6bf52633fff8},
    {"1e+16", 0x4341c37937e08000},
    {"1.2345678901234568e+17", 0x437b69b4ba630f35},
    {"1e+20", 0x4415af1d78b58c40},
    {"1e+21", 0x444b1ae4d6e2ef50},
    {"1e+22", 0x4480f0cf064dd592},
    {"1e+23", 0x44b52d02c7e14af6},
    {"1e-05", 0x3ee4f8b588e368f1},
    {"0.0001", 0x3f1a36e2eb1c432d},
    {"1e-07", 0x3e7ad7f29abcaf48},
    {"4.94065645841247e-324", 0x0000000000000001},
    {"2.2250738585072014e-308", 0x0010000000000000},
    {"2.225073858507201e-308", 0x000fffffffffffff},
    {"1.7976931348623157e+308", 0x7fefffffffffffff},
    {"9007199254740992.0", 0x4340000000000000},
    {"9007199254740994.0", 0x4340000000000001},
    {"4503599627370496.0", 0x4330000000000000},
    {"3.141592653589793", 0x400921fb54442d18},
    {"2.718281828459045", 0x4005bf0a8b145769},
    {"1e+100", 0x54b249ad2594c37d},
    {"6.02214076e+23", 0x44dfe185ca57c517},
    {"6.62607015e-34", 0x390b860bde023111},
    {"0.30000000000000004", 0x3fd3333333333334},
    {"100.0", 0x4059000000000000},
    {"123.456", 0x405edd2f1a9fbe77},
    {"100000.0", 0x40f86a0000000000},
    {"1234567.0", 0x4132d68700000000},
    {"123456789012345.0", 0x42dc12218377de40},
    {"100000000000000.0", 0x42d6bcc41e900000},
    {"-2.5e-10", 0xbdf12e0be826d695},
    {"8.41e+21", 0x447c7e83209e90b2},
    {"4.35", 0x4011666666666666},
    {"2.675", 0x4005666666666666},
    {"7.205759403792794e+16", 0x4370000000000000},
    {"10928588.983213553", 0x4164d8399f767c45},
    {"1.4186613525849614e+134", 0x5bc8fbbcbde5c099},
    {"-7.571968556055867e-74", 0xb0c11fdecb91ce37},
    {"-1.4074705188261364e+113", 0xd76d4330f1446bea},
    {"-3.3339745473042614e-121", 0xa6eb8c9ebd69fe29},
    {"-1.2342180766211395e-271", 0x87b0b125ec1d7da0},
    {"-5.126864004244935e+111", 0xd7210dff076ce2ef},
    {"-2.1520217579844227e+32", 0xc6a5387777330bdb},
    {"0.1399601630397701", 0x3fc1ea36f17fd374},
    {"1.01853664031722e-244", 0x0d464138a6233255},
    {"2.9704598186234577e-115", 0x2827688de6a16a3b},
    {"3.0534183338726823e+150", 0x5f2dd97f1cfb10f6},
    {"-2.3027782228163463e+146", 0xde5271007814e8a2},
    {"3.56409621163656e+161", 0x617959ce3f1f65a8},
    {"6.352929017207453e-183", 0x1a1afe878b33e968},
    {"0.3146575865605324", 0x3fd4235992edcf45},
    {"-1.2761724801771812e-23", 0xbb2edb20035b7399},
    {"2.0868668176225336e+195", 0x687c966c377b9aa2},
    {"3.66898827745704e-84", 0x2e9c82b1478c281d},
    {"-1.389122273370197e+145", 0xde11cc9dea959c21},
    {"1.7548715433165102e+172", 0x63b229f1c4069545},
    {"-1039514241563211.8", 0xc30d8b7628dbd25e},
    {"5.7804021771411506e-220", 0x126a1e48cc11d357},
    {"-2.8497478716107576e-163", 0x9e30691c238642ea},
    {"3.490691392124745e+240", 0x71e0c07e9e115e4b},
    {"1.3282314387596086e-145", 0x21da8978206f5c66},
    {"-2.9317061175715426e+274", 0xf8eb18b900745130},
    {"4.1124768973349897e-302", 0x015c33b2df1461aa},
    {"-2.5983853818656714e+29", 0xc60a3cab359eeefb},
    {"-2.5839922981649337e+259", 0xf5cae3bf3729c619},
    {"3.7615508677292285e-104", 0x2a759159fb7ff337},
    {"2.1435728770450893e-103", 0x2a9eba0cdf561d80},
    {"6.3583676891104784e+78", 0x504b74ba4a0fe75d},
    {"2.0062829023357212e-63", 0x32ea6928f6236bf2},
    {"-6.792475937705741e+155", 0xe049548e8a0a8c96},
    {"-1.1878910286585398e-153", 0xa02fdaa1ad864c44},
    {"1.1477511623364303e-84", 0x2e81d66d346c6e2b},
    {"-6.384685499984821e+269", 0xf7f35634f0e3cd97},
    {"6.725524671613862e-66", 0x3266aa3bb0cde917},
    {"-3.3367034274052276e+265", 0xf7108e96f770c226},
    {"3.877694405952627e+164", 0x621aef57e4cc4132},
    {"4.653705104647486e-282", 0x0585a01c4c7d6df0},
    {"4.570939674669643e+203", 0x6a3753915c76f18a},
    {"-2.4421404212946136e+229", 0xef901b932a7c1880},
    {"2.26797932753915e+17", 0x43892dfc254cb864},
    {"1.7861671810658467e+101", 0x54f46a6910acff00},
    {"-2.602349164887994e+83", 0xd14125844d25deb3},
    {"-1.8724773489262678e-202", 0x960d5a8f9a656aaf},
    {"-2.535696537529436e-190", 0x9892139600ddb74d},
    {"-1.3710624349377491e-52", 0xb52a43abad8d194a},
    {"3.013890678074884e-227", 0x10e6d8e6568068b9},
    {"1.6848352620292958e+130", 0x5af84e6b4f596727},
    {"2.8283307810991783e+69", 0x4e5a3a26d18a669a},
    {"-1.8226019816232835e-66", 0xb24891917b121dc5},
    {"7.721876539108463e-81", 0x2f4d4c8650d7d13f},
    {"5.2524808150207456e+274", 0x78f845f57b3120df},
    {"1.7032929977986795e-91", 0x2d1634b4b4653252},
    {"88637315.64805965", 0x419521fe0e979cf3},
    {"-2.3695306911835436e+233", 0xf06313fff9a01fe8},
    {"-8.801629211661505e+245", 0xf3001cee05da8467},
    {"0.7497950222912733", 0x3fe7fe52216e3a3e},
    {"0.8448808893881297", 0x3feb0943a59dff44},
    {"0.01806753537853012", 0x3f92804bc647cae0},
    {"0.7877383039804342", 0x3fe93526f5ace10c},
    {"0.36618447584186054", 0x3fd76f910302cbde},
    {"0.5785188290568746", 0x3fe28339eb5d6c78},
    {"0.009078386819528439", 0x3f8297b073ec28c0},
    {"0.04672711869894153", 0x3fa7ec9ded4be940},
    {"0.18091948795104784", 0x3fc7285ea9faba80},
    {"0.9551798995911663", 0x3fee90d56fd14cc9},
    {"0.19652167051300817", 0x3fc9279f41e78218},
    {"0.7557364124513177", 0x3fe82efe20fbfe2c},
    {"0.9296553195975211", 0x3fedbfbc83472937},
    {"0.9420438294276994", 0x3fee253919d94c5c},
    {"0.34438181305301196", 0x3fd60a5a04199782},
    {"0.35479320505791223", 0x3fd6b4ee8f2445b6},
    {"0.52470182069312", 0x3fe0ca5b7900ea58},
    {"0.7756030146989953", 0x3fe8d1bd69d9f549},
    {"0.10805286906483291", 0x3fbba95a52df5768},
    {"0.7483980564846631", 0x3fe7f2e07b1fbb18},
    {"594453.3551826656", 0x4122242ab5da809a},
    {"719388.6383751603", 0x4125f43946d91be8},
    {"-926736.840114345", 0xc12c4821ae2377a9},
    {"891600.3700843675", 0x412b35a0bd7bb2be},
    {"-817640.2716564628", 0xc128f3d08b168e4f},
    {"-318518.9289915556", 0xc11370dbb7498ff6},
    {"221655.07618524856", 0x410b0eb89c0702f8},
    {"836174.3710666243", 0x4129849cbdfc71d0},
    {"-320080.9467483108", 0xc1138943c97863a2},
    {"848395.2388555813", 0x4129e4167a4b475c},
};

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double value_of(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void table_holds(void) {
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char text[32];
        double value = -1;
        size_t bytes = mldfi_format_double(text, value_of(table[i].bits));
        CHECK_EQ_STR(table[i].text, text);
        CHECK_EQ_U64(strlen(table[i].text), bytes);
        CHECK(mldfi_parse_double(table[i].text, strlen(table[i].text), &value));
        CHECK_EQ_U64(table[i].bits, bits_of(value));
    }
}

static void doubles_are_written_and_read_as_python_does(void) {
    table_holds();
}

static void doubles_do_not_depend_on_the_locale(void) {
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "ps_AF.UTF-8", "de_DE", "nl_NL.UTF-8"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!setlocale(LC_ALL, names[i]))
            continue;
        table_holds();
        setlocale(LC_ALL, "C");
    }
}

static void random_doubles_survive_the_round_trip(void) {
    uint64_t state = check_seed();
    for (int i = 0; i < 200000; i++) {
        uint64_t bits = check_rand(&state);
        double value = value_of(bits), back = 0;
        char text[32];
        if (i % 2)
            value = (double)(int64_t)(bits >> (bits & 31)) / 1024.0;
        if (!isfinite(value))
            continue;
        size_t bytes = mldfi_format_double(text, value);
        CHECK(bytes > 0 && bytes < 32);
        CHECK(mldfi_parse_double(text, bytes, &back));
        CHECK_EQ_U64(bits_of(value), bits_of(back));
    }
}

static void parsing_rounds_as_the_c_library_does(void) {
    uint64_t state = check_seed();
    for (int i = 0; i < 100000; i++) {
        char text[200];
        int used = 0, digits = 1 + (int)check_rand_below(&state, 40), point = (int)check_rand_below(&state, 40);
        double got = 0;
        if (check_rand(&state) & 1)
            text[used++] = '-';
        text[used++] = (char)('1' + check_rand_below(&state, 9));
        for (int d = 1; d < digits; d++) {
            if (d == point)
                text[used++] = '.';
            text[used++] = (char)('0' + check_rand_below(&state, 10));
        }
        used += snprintf(text + used, sizeof text - (size_t)used, "e%d", (int)check_rand_below(&state, 600) - 330);
        double want = strtod(text, NULL);
        bool good = mldfi_parse_double(text, (size_t)used, &got);
        CHECK_EQ_INT(isfinite(want) != 0, good);
        if (good)
            CHECK_EQ_U64(bits_of(want), bits_of(got));
    }
}

static void parsing_decides_ties_by_the_last_of_many_digits(void) {
    /* 2^53 + 1 lies half way: even wins, unless a far digit says otherwise. */
    char text[3000];
    double value = 0;
    strcpy(text, "9007199254740993.");
    size_t used = strlen(text);
    memset(text + used, '0', 2000);
    CHECK(mldfi_parse_double(text, used + 2000, &value));
    CHECK_EQ_F64(9007199254740992.0, value);
    text[used + 1999] = '1';
    CHECK(mldfi_parse_double(text, used + 2000, &value));
    CHECK_EQ_F64(9007199254740994.0, value);
    /* A thousand zeros on either side of the point cancel against the exponent. */
    strcpy(text, "0.");
    memset(text + 2, '0', 1000);
    strcpy(text + 1002, "125e1001");
    CHECK(mldfi_parse_double(text, strlen(text), &value));
    CHECK_EQ_F64(1.25, value);
    text[0] = '3';
    memset(text + 1, '0', 1000);
    strcpy(text + 1001, "e-1000");
    CHECK(mldfi_parse_double(text, strlen(text), &value));
    CHECK_EQ_F64(3.0, value);
}

static void parsing_refuses_what_no_double_holds(void) {
    double value;
    CHECK(!mldfi_parse_double("1e999", 5, &value));
    CHECK(!mldfi_parse_double("-1e309", 6, &value));
    CHECK(!mldfi_parse_double("1.7976931348623159e308", 22, &value));
    CHECK(!mldfi_parse_double("1e99999999999999999999999", 25, &value));
    CHECK(mldfi_parse_double("1e-999", 6, &value));
    CHECK_EQ_F64(0.0, value);
    CHECK(mldfi_parse_double("0e999", 5, &value));
    CHECK_EQ_F64(0.0, value);
    CHECK(mldfi_parse_double("1e-99999999999999999999999", 26, &value));
    CHECK_EQ_F64(0.0, value);
    CHECK(mldfi_parse_double("-0", 2, &value));
    CHECK_EQ_U64(UINT64_C(1) << 63, bits_of(value));
}

static void number_grammar_is_that_of_json(void) {
    static const char *const good[] = {"0",         "-0",  "1",    "10",  "0.5",
                                       "-1.25e+10", "1E5", "1e-5", "0e0", "123456789012345678901234567890"};
    static const struct {
        const char *text;
        size_t bad; /* first byte that does not belong */
    } wrong[] = {{"", 0},   {"-", 1},    {"+1", 0},  {".5", 0},  {"1.", 2},   {"1e", 2}, {"1e+", 3},
                 {"-a", 1}, {"1.e5", 2}, {"nan", 0}, {"inf", 0}, {"-inf", 1}, {" 1", 0}};
    static const char *const longer[] = {"01", "1 ", "0x10", "1,5", "1e5.5", "--1", "00", "1_000"};
    double value;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        CHECK(mldfi_parse_double(good[i], strlen(good[i]), &value));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const char *bad = NULL, *text = wrong[i].text;
        bool integer;
        CHECK(!mldfi_parse_double(text, strlen(text), &value));
        CHECK(mldfi_number_end(text, text + strlen(text), &integer, &bad) == NULL);
        CHECK_EQ_U64(wrong[i].bad, (uint64_t)(bad - text));
    }
    for (size_t i = 0; i < sizeof longer / sizeof longer[0]; i++)
        CHECK(!mldfi_parse_double(longer[i], strlen(longer[i]), &value));
}

static void non_finite_values_have_no_text(void) {
    char text[32];
    CHECK_EQ_U64(0, mldfi_format_double(text, INFINITY));
    CHECK_EQ_U64(0, mldfi_format_double(text, -INFINITY));
    CHECK_EQ_U64(0, mldfi_format_double(text, NAN));
}

static void integers_are_read_to_their_last_bit(void) {
    int64_t i = 5;
    uint64_t u = 5;
    CHECK(mldfi_parse_i64("9223372036854775807", 19, &i));
    CHECK_EQ_INT(INT64_MAX, i);
    CHECK(mldfi_parse_i64("-9223372036854775808", 20, &i));
    CHECK_EQ_INT(INT64_MIN, i);
    CHECK(!mldfi_parse_i64("9223372036854775808", 19, &i));
    CHECK(!mldfi_parse_i64("-9223372036854775809", 20, &i));
    CHECK(mldfi_parse_u64("18446744073709551615", 20, &u));
    CHECK_EQ_U64(UINT64_MAX, u);
    CHECK(!mldfi_parse_u64("18446744073709551616", 20, &u));
    CHECK(!mldfi_parse_u64("99999999999999999999999", 23, &u));
    CHECK(!mldfi_parse_u64("-1", 2, &u));
    CHECK(mldfi_parse_u64("-0", 2, &u));
    CHECK_EQ_U64(0, u);
    CHECK(mldfi_parse_i64("-0", 2, &i));
    CHECK_EQ_INT(0, i);
    CHECK(mldfi_parse_i64("007", 3, &i));
    CHECK_EQ_INT(7, i);
    static const char *const bad[] = {"", "-", "+1", " 1", "1 ", "1.0", "1e3", "0x1", "--1", "1-"};
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        CHECK(!mldfi_parse_i64(bad[k], strlen(bad[k]), &i));
        CHECK(!mldfi_parse_u64(bad[k], strlen(bad[k]), &u));
    }
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(doubles_are_written_and_read_as_python_does);
    RUN(doubles_do_not_depend_on_the_locale);
    RUN(random_doubles_survive_the_round_trip);
    RUN(parsing_rounds_as_the_c_library_does);
    RUN(parsing_decides_ties_by_the_last_of_many_digits);
    RUN(parsing_refuses_what_no_double_holds);
    RUN(number_grammar_is_that_of_json);
    RUN(non_finite_values_have_no_text);
    RUN(integers_are_read_to_their_last_bit);
    return check_end();
}
