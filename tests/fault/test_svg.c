/* Every allocation fails once while the histograms of stats become an SVG file: an error, or the whole document. */
#include <stdlib.h>

#include "../../cli/svg.c"
#include "check.h"
#include "fault/failing_alloc.h"
#include "mldf/mldf.h"

/* ---- What svg.c takes from the rest of the command ------------------------------------------------------------------------- */

static char shown[1 << 17];
static size_t shown_bytes;

void out_bytes(const void *data, size_t bytes) {
    shown_bytes = bytes;
    if (bytes <= sizeof shown)
        memcpy(shown, data, bytes);
}

int report_error(const struct invocation *v, const char *path, const mldf_error *err) {
    (void)v;
    (void)path;
    CHECK_EQ_INT(MLDF_E_MEMORY, err->status);
    return EXIT_ENVIRONMENT;
}

const mldf_distribution *main_distribution(const mldf_field_summary *f, const char **what) {
    *what = "";
    return f->values;
}

void format_count(char out[32], uint64_t count) {
    snprintf(out, 32, "%llu", (unsigned long long)count);
}

/* ---- The test ----------------------------------------------------------------------------------------------------------------- */

static void make_file(mldf_reader **reader) {
    enum { FIELDS = 40, SAMPLES = 100 };
    mldf_value values[FIELDS];
    mldf_schema *schema;
    mldf_writer *writer;
    mldf_error err;
    char name[16];
    REQUIRE_OK(mldf_schema_new(NULL, &schema, &err), &err);
    for (int i = 0; i < FIELDS; i++) {
        snprintf(name, sizeof name, "field%d", i);
        REQUIRE_OK(mldf_schema_add(schema, name, MLDF_INT, NULL, 0, &err), &err);
    }
    REQUIRE_OK(mldf_writer_open(check_tmp("many.mldf"), schema, NULL, &writer, &err), &err);
    for (int s = 0; s < SAMPLES; s++) {
        for (int i = 0; i < FIELDS; i++)
            values[i] = (mldf_value){.kind = MLDF_KIND_INT, .as.i = s * (i + 1)};
        REQUIRE_OK(mldf_writer_append(writer, values, FIELDS, NULL, 0, &err), &err);
    }
    REQUIRE_OK(mldf_writer_finish(writer, NULL, &err), &err);
    mldf_schema_free(schema);
    REQUIRE_OK(mldf_reader_open(check_tmp("many.mldf"), NULL, reader, &err), &err);
}

static void a_document_is_whole_or_an_error(void) {
    mldf_reader *reader = NULL;
    mldf_summary *summary;
    mldf_error err;
    static char want[sizeof shown];
    make_file(&reader);
    REQUIRE(reader);
    REQUIRE_OK(mldf_summary_new(reader, NULL, &summary, &err), &err);
    CHECK_EQ_INT(EXIT_FINE, write_svg(NULL, "-", "many.mldf", reader, summary, NULL));
    size_t bytes = shown_bytes;
    CHECK(bytes > 20000 && bytes <= sizeof want);
    memcpy(want, shown, bytes);
    long n = 1;
    for (int failed = 0; n < 1000; n++) {
        shown_bytes = 0;
        countdown = n;
        int code = write_svg(NULL, "-", "many.mldf", reader, summary, NULL);
        bool reached = countdown == 0;
        countdown = 0;
        failed += code != EXIT_FINE;
        CHECK_EQ_U64(code == EXIT_FINE ? bytes : 0, shown_bytes);
        if (code == EXIT_FINE)
            CHECK_MEM_EQ(want, shown, bytes);
        if (!reached) {
            CHECK(failed > 0);
            break;
        }
    }
    CHECK(n > 2 && n < 1000);
    mldf_summary_free(summary);
    mldf_reader_close(reader);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(a_document_is_whole_or_an_error);
    return check_end();
}
