/* The CSV scanner: what comes out of odd files, and where errors are said to be. */
#include "check.h"
#include "tool/csv.h"

/* Rows as text: cells in <>, rows ended by a newline; "!" and the message for a bad row. */
static void scan(const char *text, size_t bytes, char separator, char *out, size_t out_bytes) {
    struct input input;
    struct csv csv;
    mldf_error err;
    size_t n = 0;
    out[0] = 0;
    REQUIRE_OK(mldfi_input_memory(&input, "t", text, bytes, &err), &err);
    mldfi_csv_begin(&csv, &input, separator);
    for (int row = 0; row < 100; row++) {
        mldf_status status = mldfi_csv_next(&csv, &err);
        if (status == MLDF_END)
            break;
        if (status < 0) {
            n += (size_t)snprintf(out + n, out_bytes - n, "!%s\n", TEXT(err));
            continue;
        }
        for (size_t i = 0; i < csv.cell_count; i++)
            n += (size_t)snprintf(out + n, out_bytes - n, "<%.*s>", (int)csv.cells[i].bytes, csv.cells[i].text);
        n += (size_t)snprintf(out + n, out_bytes - n, "\n");
    }
    mldfi_csv_free(&csv);
    mldfi_input_close(&input);
}

static void csv_rows_come_out_as_written(void) {
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", ""},
        {"a", "<a>\n"},
        {"a,b\n1,2\n", "<a><b>\n<1><2>\n"},
        {"a,b\r\n1,2\r\n", "<a><b>\n<1><2>\n"},
        {"a,b\r\n1,2\r", "<a><b>\n<1><2>\n"},
        {"\xef\xbb\xbf"
         "a\n",
         "<a>\n"},
        {"\xef\xbb", "!t:1:1: bytes that are not UTF-8\n"},
        {"\"a,\"\"b\"\"\",\"c\nd\"\n", "<a,\"b\"><c\nd>\n"},
        {"\"\"\n\n\r\nx\n", "<>\n<x>\n"},
        {"5\" disk,a\"b\n", "<5\" disk><a\"b>\n"},
        {",\n", "<><>\n"},
        {" a , b \n", "< a >< b >\n"},
        {"\"\"\"\"", "<\">\n"},
        {"\"a\"\"\"\"b\",\"\"\"\"\n", "<a\"\"b><\">\n"},
    };
    char out[1024];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        scan(cases[i].text, strlen(cases[i].text), ',', out, sizeof out);
        CHECK_EQ_STR(cases[i].want, out);
    }
    scan("a\tb\n1,2\t3", 9, '\t', out, sizeof out);
    CHECK_EQ_STR("<a><b>\n<1,2><3>\n", out);
}

static void csv_errors_name_line_and_column_and_the_next_row_follows(void) {
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"a\n\"x\ny\"z,1\n2\n", "<a>\n!t:3:3: text after a closing quote\n<2>\n"},
        {"\"q\n\n", "!t:1:1: a quote that is not closed before the end of the file\n"},
        {"a\nb,x\xff\nc\n", "<a>\n!t:2:4: bytes that are not UTF-8\n<c>\n"},
        {"\"1\n2\n\xc0\",3\n4\n", "!t:3:1: bytes that are not UTF-8\n<4>\n"},
        {"a\rb\nc\n", "!t:1:2: a carriage return that is neither part of a line end nor inside quotes\n<c>\n"},
    };
    char out[1024];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        scan(cases[i].text, strlen(cases[i].text), ',', out, sizeof out);
        CHECK_EQ_STR(cases[i].want, out);
    }
    scan("a\nb\0c\nd\n", 8, ',', out, sizeof out);
    CHECK_EQ_STR("<a>\n!t:2:2: a NUL byte\n<d>\n", out);
}

/* A file larger than the window, with a cell larger than the window, read in pieces. */
static void csv_rows_larger_than_the_window_are_whole(void) {
    const char *path = check_tmp("large.csv");
    size_t large = 3 * (size_t)INPUT_CHUNK, n = 0;
    char *text = malloc(2 * large + 100);
    struct input input;
    struct csv csv;
    mldf_error err;
    REQUIRE(text != NULL);
    for (int i = 0; i < 20000; i++)
        n += (size_t)sprintf(text + n, "%d,\"x\"\"%d\"\n", i, i);
    size_t begin = n;
    n += (size_t)sprintf(text + n, "big,\"");
    memset(text + n, 'y', large);
    n += large;
    n += (size_t)sprintf(text + n, "\"\nlast,1");
    CHECK(check_write_file(path, text, n));
    REQUIRE_OK(mldfi_input_open(&input, path, false, NULL, &err), &err);
    mldfi_csv_begin(&csv, &input, ',');
    for (int i = 0; i < 20000; i++) {
        char want[32];
        REQUIRE_OK(mldfi_csv_next(&csv, &err), &err);
        snprintf(want, sizeof want, "x\"%d", i);
        CHECK_BYTES_EQ(want, strlen(want), csv.cells[1].text, csv.cells[1].bytes);
    }
    REQUIRE_OK(mldfi_csv_next(&csv, &err), &err);
    CHECK_EQ_U64(large, csv.cells[1].bytes);
    CHECK_EQ_U64(20001, csv.row_line);
    CHECK_MEM_EQ(text + begin + 5, csv.cells[1].text, large);
    REQUIRE_OK(mldfi_csv_next(&csv, &err), &err);
    CHECK_BYTES_EQ("last", 4, csv.cells[0].text, csv.cells[0].bytes);
    CHECK_STATUS(MLDF_END, mldfi_csv_next(&csv, &err), &err);
    mldfi_csv_free(&csv);
    mldfi_input_close(&input);
    free(text);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(csv_rows_come_out_as_written);
    RUN(csv_errors_name_line_and_column_and_the_next_row_follows);
    RUN(csv_rows_larger_than_the_window_are_whole);
    return check_end();
}
