/* docs/operations.md says what the library has: every operation and parameter, as mldf_operation_at tells them.
 * `make operations` (this program with --write FILE) makes the page anew. */
#include <ctype.h>

#include "check.h"
#include "mldf/pipeline.h"

static mldf_buffer page;

static void put(const char *format, ...) CHECK_PRINTF(1, 2);
static void put(const char *format, ...) {
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (mldf_buffer_append(&page, text, strlen(text), NULL) < 0)
        exit(3);
}

/* A cell of a table: | would end it. */
static void put_cell(const char *text) {
    for (; *text; text++)
        put("%s%c", *text == '|' ? "\\" : "", *text);
}

static void put_parameter(const mldf_parameter_info *p) {
    put("| `%s` | %s | ", p->name, p->type);
    if (!p->fallback)
        put("must be given | ");
    else if (p->fallback[0])
        put("`%s` | ", p->fallback);
    else
        put("none | ");
    put_cell(p->help);
    for (size_t i = 0; p->choices && p->choices[i]; i++)
        put("%s`%s`", i ? ", " : ": ", p->choices[i]);
    put(" |\n");
}

static void put_operation(size_t index, const mldf_operation_info *info) {
    put("\n## %s\n\n", info->name);
    put("%c%s.%s%s%s\n", toupper((unsigned char)info->help[0]), info->help + 1, info->random ? " *Random.*" : "",
        info->pairs ? " *Takes samples in pairs.*" : "", info->groups ? " *Moves groups.*" : "");
    if (info->parameter_count)
        put("\n| parameter | kind | default | |\n|---|---|---|---|\n");
    for (size_t i = 0; i < info->parameter_count; i++) {
        mldf_parameter_info p;
        CHECK_OK(mldf_operation_parameter(index, i, &p), NULL);
        put_parameter(&p);
    }
}

static void make_page(void) {
    mldf_operation_info info;
    page.size = 0;
    put("# Operations\n\nWhat the steps of a [pipeline](pipeline.md) can be, by name. `make operations` makes this page from the "
        "library; a test\ncompares the two. *Random*: depends on (seed, epoch, position, stream) and nothing else. *Moves "
        "groups*: in a statement of\nseveral outputs one draw serves all of them.\n");
    for (size_t i = 0; mldf_operation_at(i, &info) == MLDF_OK; i++)
        put_operation(i, &info);
}

static void the_page_lists_every_operation_and_parameter(void) {
    size_t bytes;
    make_page();
    uint8_t *text = check_read_file(check_source("docs/operations.md"), &bytes);
    REQUIRE(text);
    if (bytes != page.size || memcmp(text, page.data, bytes) != 0)
        check_fail(__FILE__, __LINE__, "docs/operations.md is not what the library has: run `make operations`");
    free(text);
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--write") == 0) {
        make_page();
        return check_write_file(argv[2], page.data, page.size) ? 0 : 1;
    }
    check_begin(argc, argv);
    RUN(the_page_lists_every_operation_and_parameter);
    mldf_buffer_free(&page);
    return check_end();
}
