/* Views in C: the table of rows, items against slices, texts, and a loader with a view. tests/python/test_pkg_views.py has the rest. */
#include "field/audio_type.h"
#include "loader_files.h"
#include "reader/reader.h"
#include "util/bytes.h"
#include "util/random.h"

/* ---- Files of arrays whose elements are numbered through --------------------------------------------------------------------- */

enum { MOST = 4096 };

struct lengths {
    uint64_t n[300];
    size_t rows;
    uint64_t null_row; /* MLDF_NONE: none */
};

static uint16_t element(uint64_t row, uint64_t at) {
    return (uint16_t)(row * 131 + at);
}

static void make_row(const void *user, uint64_t sample, mldf_value *values) {
    static uint16_t data[MOST];
    const struct lengths *l = user;
    for (uint64_t i = 0; i < l->n[sample]; i++)
        data[i] = element(sample, i);
    values[0] = (mldf_value){.kind = MLDF_KIND_ARRAY,
                             .dtype = MLDF_U16,
                             .data = data,
                             .bytes = 2 * l->n[sample],
                             .ndim = 1,
                             .dims = {l->n[sample]}};
    if (sample == l->null_row)
        values[0] = (mldf_value){.kind = MLDF_KIND_NULL};
    values[1] = (mldf_value){.kind = MLDF_KIND_INT, .as.i = (int64_t)sample};
}

static mldf_reader *open_rows(const struct lengths *l, const char *name) {
    const struct files_field fields[] = {
        {"x", MLDF_NDARRAY, "{\"dtype\":\"<u2\",\"shape\":[null]}", MLDF_FIELD_NULLABLE},
        {"label", MLDF_INT, NULL, 0},
        {0}};
    mldf_reader *reader = NULL;
    mldf_error err;
    char path[512];
    snprintf(path, sizeof path, "%s/%s", check_tmpdir(), name);
    files_make(path, fields, l->rows, make_row, l);
    CHECK_OK(mldf_reader_open(path, NULL, &reader, &err), &err);
    return reader;
}

static void draw_lengths(struct lengths *l, struct rng *rng, size_t rows, uint64_t most) {
    *l = (struct lengths){.rows = rows, .null_row = MLDF_NONE};
    for (size_t i = 0; i < rows; i++)
        l->n[i] = mldfi_rng_chance(rng, 0.2) ? 0 : mldfi_rng_below(rng, most + 1);
}

/* ---- Items are slices ----------------------------------------------------------------------------------------------------------- */

static void check_item(const mldf_view *view, uint64_t item, uint64_t row, uint64_t from, uint64_t have,
                       uint64_t steps) {
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_piece piece;
    mldf_value value;
    mldf_error err;
    size_t count;
    uint64_t first, items;
    CHECK_OK(mldf_view_locate(view, item, 0, &piece, 1, &count, &err), &err);
    CHECK_EQ_U64(1, count);
    CHECK_EQ_U64(row, piece.row);
    CHECK_EQ_U64(from, piece.from);
    CHECK_EQ_U64(have, piece.length);
    CHECK_OK(mldf_view_items(view, row, &first, &items, &err), &err);
    CHECK(first <= item && item < first + items);
    CHECK_OK(mldf_view_get(view, item, 0, 0, &scratch, &value, &err), &err);
    CHECK_EQ_U64(steps, value.dims[0]);
    CHECK_EQ_U64(2 * steps, value.bytes);
    for (uint64_t i = 0; i < steps && value.bytes == 2 * steps; i++) {
        uint16_t got;
        memcpy(&got, (const uint8_t *)value.data + 2 * i, 2);
        CHECK_EQ_U64(i < have ? element(row, from + i) : 0, got);
    }
    CHECK_OK(mldf_view_get(view, item, 0, 1, &scratch, &value, &err), &err);
    CHECK_EQ_U64(row, value.as.u);
    mldf_buffer_free(&scratch);
}

static void windows_of_random_rows_are_slices(void) {
    struct rng rng;
    mldfi_rng_begin(&rng, check_seed(), 0, 0, 1);
    for (int round = 0; round < 30; round++) {
        struct lengths l;
        draw_lengths(&l, &rng, (size_t)mldfi_rng_below(&rng, 300), round % 3 ? 30 : 3000);
        uint64_t length = 1 + mldfi_rng_below(&rng, 40), stride = 1 + mldfi_rng_below(&rng, 50), item = 0;
        mldf_reader *reader = open_rows(&l, "windows.mldf");
        const mldf_reader *readers[] = {reader};
        mldf_view *view = NULL;
        mldf_error err;
        size_t count;
        char text[128];
        snprintf(text, sizeof text, "windows(x, %" PRIu64 ", stride=%" PRIu64 ")", length, stride);
        CHECK_OK(mldf_view_new(readers, 1, text, &view, &err), &err);
        for (uint64_t row = 0; row < l.rows && view; row++)
            for (uint64_t from = 0; from + length <= l.n[row]; from += stride)
                check_item(view, item++, row, from, length, length);
        CHECK_EQ_U64(item, view ? mldf_view_count(view) : 0);
        CHECK_STATUS(MLDF_E_NO_SAMPLE, mldf_view_locate(view, item, 0, NULL, 0, &count, &err), &err);
        mldf_view_free(view);
        mldf_reader_close(reader);
    }
}

static void expanded_rows_are_slices_with_zeros_at_the_end(void) {
    struct rng rng;
    mldfi_rng_begin(&rng, check_seed(), 0, 0, 2);
    for (int round = 0; round < 30; round++) {
        struct lengths l;
        draw_lengths(&l, &rng, 100, 200);
        uint64_t every = 1 + mldfi_rng_below(&rng, 60), length = 1 + mldfi_rng_below(&rng, 60), item = 0;
        mldf_reader *reader = open_rows(&l, "expand.mldf");
        const mldf_reader *readers[] = {reader};
        mldf_view *view = NULL;
        mldf_error err;
        char text[128];
        const char *last = round % 2 ? "pad" : "keep";
        snprintf(text, sizeof text, "expand(x, every=%" PRIu64 ", length=%" PRIu64 ", last=%s)", every, length, last);
        CHECK_OK(mldf_view_new(readers, 1, text, &view, &err), &err);
        for (uint64_t row = 0; row < l.rows && view; row++)
            for (uint64_t from = 0; from < l.n[row]; from += every) {
                uint64_t left = l.n[row] - from, have = left < length ? left : length;
                check_item(view, item++, row, from, have, round % 2 ? length : have);
            }
        CHECK_EQ_U64(item, view ? mldf_view_count(view) : 0);
        mldf_view_free(view);
        mldf_reader_close(reader);
    }
}

/* One long row among many that are empty or short: the rows that share an entry of the table are many. */
static void lengths_that_differ_wildly(void) {
    struct lengths l = {.rows = 300, .null_row = 7};
    for (size_t i = 0; i < l.rows; i++)
        l.n[i] = i == 150 ? MOST : i % 2;
    mldf_reader *reader = open_rows(&l, "wild.mldf");
    const mldf_reader *readers[] = {reader};
    mldf_view *view = NULL;
    mldf_error err;
    uint64_t rows, without, unmeasured;
    mldf_piece piece;
    size_t count;
    REQUIRE_OK(mldf_view_new(readers, 1, "windows(x, 1)", &view, &err), &err);
    CHECK_EQ_U64(MOST + 150, mldf_view_count(view)); /* row 7, which is null, is one item */
    mldf_view_rows(view, &rows, &without, &unmeasured);
    CHECK_EQ_U64(300, rows);
    CHECK_EQ_U64(149, without);
    CHECK_EQ_U64(1, unmeasured);
    uint64_t item = 0;
    for (uint64_t row = 0; row < l.rows; row++)
        for (uint64_t k = 0; k < (row == 7 ? 1 : l.n[row]); k++, item++) {
            CHECK_OK(mldf_view_locate(view, item, 0, &piece, 1, &count, &err), &err);
            CHECK_EQ_U64(row, piece.row);
            CHECK_EQ_U64(row == 7 ? 0 : k, piece.from);
        }
    mldf_view_free(view);
    mldf_reader_close(reader);
}

/* ---- Texts ------------------------------------------------------------------------------------------------------------------------ */

static void texts_become_canonical(void) {
    static const char *const texts[][2] = {
        {"rows", "rows"},
        {" rows ( ) ", "rows"},
        {"windows(x,4)", "windows(x, length=4, stride=4, random=false, across=false, unit=steps)"},
        {"windows ( \"x\" , length = 4, random)",
         "windows(x, length=4, stride=4, random=true, across=false, unit=steps)"},
        {"expand(x, length=4)", "expand(x, every=4, length=4, last=pad, unit=steps)"},
        {"expand(x, 3, 9, keep=1)", NULL},
        {"expand(x, every=3, 9)", NULL},
    };
    struct lengths l = {.n = {9, 9}, .rows = 2, .null_row = MLDF_NONE};
    mldf_reader *reader = open_rows(&l, "texts.mldf");
    const mldf_reader *readers[] = {reader};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        mldf_view *view = NULL, *again = NULL;
        mldf_error err;
        uint8_t one[16], other[16];
        mldf_status status = mldf_view_new(readers, 1, texts[i][0], &view, &err);
        CHECK_EQ_U64(texts[i][1] != NULL, status >= 0);
        if (status < 0 || !texts[i][1])
            continue;
        CHECK_EQ_STR(texts[i][1], mldf_view_text(view));
        CHECK_OK(mldf_view_new(readers, 1, mldf_view_text(view), &again, &err), &err);
        mldf_view_digest(view, one);
        mldf_view_digest(again, other);
        CHECK(memcmp(one, other, 16) == 0);
        mldf_view_free(view);
        mldf_view_free(again);
    }
    mldf_reader_close(reader);
}

/* Texts of any bytes: a view or an error, nothing else. */
static void odd_texts_are_refused_or_taken(void) {
    static const char alphabet[] = "rowsindexpadt(),=\" 0123456789.-+e_\n\t\x01\xc3";
    struct lengths l = {.n = {9}, .rows = 1, .null_row = MLDF_NONE};
    mldf_reader *reader = open_rows(&l, "odd.mldf");
    const mldf_reader *readers[] = {reader};
    struct rng rng;
    mldfi_rng_begin(&rng, check_seed(), 0, 0, 3);
    for (int i = 0; i < 20000; i++) {
        char text[64] = "";
        static const char *const begins[] = {
            "", "windows(", "windows(x, ", "expand(x, every=", "rows", "windows(x, 4, "};
        size_t at = (size_t)snprintf(text, sizeof text, "%s", begins[mldfi_rng_below(&rng, 6)]);
        for (size_t n = (size_t)mldfi_rng_below(&rng, 24); n-- > 0;)
            text[at++] = alphabet[mldfi_rng_below(&rng, sizeof alphabet - 1)];
        text[at] = mldfi_rng_chance(&rng, 0.5) ? ')' : 0;
        mldf_view *view = NULL;
        mldf_error err;
        mldf_status status = mldf_view_new(readers, 1, text, &view, &err);
        CHECK((status >= 0) == (view != NULL));
        CHECK(status >= 0 || err.message[0]);
        mldf_view_free(view);
    }
    mldf_reader_close(reader);
}

/* ---- Records that lie ------------------------------------------------------------------------------------------------------------ */

/* Of a compressed payload only the record tells how long it is. Whatever it claims, a view is made at once, and what cannot be is one bad item, not as
 * many as were claimed. */
static void claims_of_records_cost_no_time(void) {
    static const uint64_t claims[] = {UINT64_MAX - 1, UINT64_C(1) << 63, UINT64_C(1) << 62, (UINT64_C(1) << 62) - 1,
                                      UINT64_C(1) << 40};
    static const char *const texts[] = {
        "expand(packed, every=1, unit=steps)",  "expand(packed, every=1099511627776, unit=steps)",
        "expand(packed, every=0.0000000014)",   "expand(packed, every=0.001, length=1000000, last=drop)",
        "windows(packed, 1, unit=steps)",       "windows(packed, 1000000)",
        "windows(packed, 1, stride=2, random)", "expand(packed, every=1000000)",
    };
    size_t size = 0, field = 0;
    uint8_t *file = check_read_file(check_source("docs/spec/vectors/valid/recordings.mldf"), &size);
    mldf_reader *reader = NULL;
    mldf_error err;
    char path[512];
    snprintf(path, sizeof path, "%s/claims.mldf", check_tmpdir());
    REQUIRE_OK(mldf_reader_open(check_source("docs/spec/vectors/valid/recordings.mldf"), NULL, &reader, &err), &err);
    REQUIRE_OK(mldf_schema_find(mldf_reader_schema(reader), "packed", &field, &err), &err);
    const uint8_t *rows;
    uint64_t end;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    REQUIRE_OK(mldfi_reader_rows(reader, 0, &scratch, &rows, &end, &err), &err);
    size_t at = 0; /* of the rows in the file */
    while (at + reader->row_bytes < size && memcmp(file + at, rows, reader->row_bytes) != 0)
        at++;
    at += mldf_schema_field(mldf_reader_schema(reader), field)->row_offset + AUDIO_SAMPLES;
    mldf_reader_close(reader);
    mldf_buffer_free(&scratch);
    for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++) {
        mldfi_store_u64(file + at, claims[i]);
        REQUIRE(check_write_file(path, file, size));
        REQUIRE_OK(mldf_reader_open(path, NULL, &reader, &err), &err);
        const mldf_reader *readers[] = {reader};
        for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
            mldf_view *view = NULL;
            mldf_status status = mldf_view_new(readers, 1, texts[k], &view, &err);
            CHECK_STATUS(MLDF_OK, status, &err);
            uint64_t items = view ? mldf_view_count(view) : 0, rows_count = 0, empty = 0, odd = 0;
            if (view)
                mldf_view_rows(view, &rows_count, &empty, &odd);
            CHECK_EQ_U64(1, odd);
            CHECK(items < 1 << 22); /* as many as the other rows have, and one */
            for (uint64_t item = 0; item < items; item += items / 3 + 1) {
                mldf_piece piece = {0};
                size_t count = 0;
                CHECK_OK(mldf_view_locate(view, item, 0, &piece, 1, &count, &err), &err);
            }
            mldf_view_free(view);
        }
        mldf_reader_close(reader);
    }
    free(file);
}

/* ---- A loader ------------------------------------------------------------------------------------------------------------------------ */

static void a_loader_takes_a_view_of_its_readers_only(void) {
    struct lengths l = {.n = {10, 3, 9}, .rows = 3, .null_row = MLDF_NONE};
    mldf_reader *a = open_rows(&l, "a.mldf"), *b = open_rows(&l, "b.mldf");
    const mldf_reader *first[] = {a}, *both[] = {a, b};
    mldf_loader_options o = MLDF_LOADER_OPTIONS_INIT;
    mldf_loader *loader = NULL;
    mldf_view *view = NULL;
    mldf_batch *batch;
    mldf_error err;
    REQUIRE_OK(mldf_view_new(first, 1, "windows(x, 4, stride=2)", &view, &err), &err);
    o.view = view;
    o.pipeline = "x: cast(i64)";
    o.want_index = o.want_row = true;
    o.threads = 0;
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_loader_new(both, 2, &o, &loader, &err), &err);
    REQUIRE_OK(mldf_loader_new(first, 1, &o, &loader, &err), &err);
    REQUIRE_OK(mldf_loader_next(loader, -1, &batch, &err), &err);
    CHECK_EQ_U64(4 + 3, mldf_batch_sample_count(batch));
    static const uint64_t rows[] = {0, 0, 0, 0, 2, 2, 2}, froms[] = {0, 2, 4, 6, 0, 2, 4};
    for (size_t i = 0; i < mldf_batch_array_count(batch); i++) {
        mldf_array array;
        CHECK_OK(mldf_batch_array(batch, i, &array), NULL);
        for (size_t k = 0; k < 7; k++) {
            if (strcmp(array.name, "x") == 0)
                CHECK_EQ_U64(element(rows[k], froms[k] + 3), ((const uint64_t *)array.data)[4 * k + 3]);
            if (strcmp(array.name, "index") == 0)
                CHECK_EQ_U64(k, ((const uint64_t *)array.data)[k]);
            if (strcmp(array.name, "row") == 0)
                CHECK_EQ_U64(rows[k], ((const uint64_t *)array.data)[k]);
        }
    }
    mldf_batch_release(batch);
    mldf_loader_free(loader);
    mldf_view_free(view);
    mldf_reader_close(a);
    mldf_reader_close(b);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(windows_of_random_rows_are_slices);
    RUN(expanded_rows_are_slices_with_zeros_at_the_end);
    RUN(lengths_that_differ_wildly);
    RUN(texts_become_canonical);
    RUN(odd_texts_are_refused_or_taken);
    RUN(claims_of_records_cost_no_time);
    RUN(a_loader_takes_a_view_of_its_readers_only);
    return check_end();
}
