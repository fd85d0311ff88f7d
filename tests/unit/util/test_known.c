/* What is said of files that are none of ours; and tables whose columns happen to be called like one. */
#include "check.h"
#include "util/known.h"

static void files_are_named_by_their_first_bytes(void) {
    static const struct {
        const char *data;
        size_t bytes;
        const char *what;
    } cases[] = {
        {"PAR1\x15\x04", 6, "a Parquet file"},
        {"PAR1\0\0", 6, "a Parquet file"},
        {"ARROW1\0\0", 8, "an Arrow file"},
        {"BZh91AY&SY\xf3", 11, "compressed with bzip2"},
        {"RIFF\x24\0\0\0WEBPVP8X", 16, "a WebP image"},
        {"GIF89a\x02\0", 8, "a GIF image"},
        {"\xff\xfe\x61\0", 4, "text in UTF-16, where UTF-8 is read"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *what = mldfi_known_kind(cases[i].data, cases[i].bytes);
        CHECK_EQ_STR(cases[i].what, what ? what : "(nothing)");
        for (size_t cut = 0; cut < 2; cut++) /* too short to say */
            CHECK(mldfi_known_kind(cases[i].data, cut) == NULL);
    }
}

static void tables_are_tables_whatever_their_columns_are_called(void) {
    static const char *const tables[] = {
        "PAR1,PAR2\n1,2\n", "PAR1\n1\n",         "PAR1\tb\n",      "PAR1", "ARROW1\r\n5\r\n", "BZh,b\n1,2\n",
        "GIF8,GIF9\n1,2\n", "image,WEBP\n1,2\n", "{\"PAR1\":1}\n", "",     "RIFF\n1\n"};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        CHECK_EQ_STR("(nothing)", mldfi_known_kind(tables[i], strlen(tables[i]))
                                      ? mldfi_known_kind(tables[i], strlen(tables[i]))
                                      : "(nothing)");
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(files_are_named_by_their_first_bytes);
    RUN(tables_are_tables_whatever_their_columns_are_called);
    return check_end();
}
