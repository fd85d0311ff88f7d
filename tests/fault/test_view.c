/* Views without memory: the n-th allocation fails, for every n, while a view is made, asked and used by a loader. */
#include "failing_alloc.h"
#include "loader_files.h"

static uint64_t length_of(uint64_t row) {
    return row % 7 == 3 ? 0 : 3 + row * 5 % 40;
}

static void make_row(const void *user, uint64_t sample, mldf_value *values) {
    static uint16_t data[64];
    (void)user;
    values[0] = (mldf_value){.kind = MLDF_KIND_ARRAY,
                             .dtype = MLDF_U16,
                             .data = data,
                             .bytes = 2 * length_of(sample),
                             .ndim = 1,
                             .dims = {length_of(sample)}};
}

static mldf_status use(const mldf_reader *reader, const char *text, mldf_error *err) {
    const mldf_reader *readers[] = {reader};
    mldf_loader_options o = MLDF_LOADER_OPTIONS_INIT;
    mldf_buffer scratch = MLDF_BUFFER_INIT, state = MLDF_BUFFER_INIT;
    mldf_view *view = NULL;
    mldf_loader *loader = NULL;
    mldf_batch *batch = NULL;
    mldf_value value;
    mldf_status status = mldf_view_new(readers, 1, text, &view, err);
    for (uint64_t i = 0; status >= 0 && i < mldf_view_count(view); i += 5)
        status = mldf_view_get(view, i, i << 58, 0, &scratch, &value, err);
    o.view = view;
    o.pipeline = "x: cast(i64)";
    o.threads = 0;
    o.codegen = MLDF_CODEGEN_OFF;
    if (status >= 0)
        status = mldf_loader_new(readers, 1, &o, &loader, err);
    if (status >= 0 && (status = mldf_loader_next(loader, -1, &batch, err)) == MLDF_OK)
        mldf_batch_release(batch);
    if (status >= 0)
        status = mldf_loader_state(loader, &state, err);
    if (status >= 0)
        status = mldf_loader_restore(loader, (const char *)state.data, state.size, err);
    mldf_loader_free(loader);
    mldf_view_free(view);
    mldf_buffer_free(&scratch);
    mldf_buffer_free(&state);
    return status;
}

static void every_allocation_fails_once(void) {
    static const char *const texts[] = {"windows(x, 4, stride=3)", "windows(x, 9, across, random)",
                                        "expand(x, every=5, length=7)", "windows(\"x\", length=2)"};
    const struct files_field fields[] = {{"x", MLDF_NDARRAY, "{\"dtype\":\"<u2\",\"shape\":[null]}", 0}, {0}};
    mldf_reader *reader = NULL;
    mldf_error err;
    const char *path = check_tmp("views.mldf");
    files_make(path, fields, 40, make_row, NULL);
    for (int backend = 0; backend < 2; backend++) {
        mldf_reader_options how = MLDF_READER_OPTIONS_INIT;
        how.backend = backend ? MLDF_BACKEND_READ : MLDF_BACKEND_MAP;
        REQUIRE_OK(mldf_reader_open(path, &how, &reader, &err), &err);
        for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
            long n = 0;
            mldf_status status;
            do {
                countdown = ++n;
                status = use(reader, texts[t], &err);
                bool reached = countdown == 0;
                countdown = 0;
                if (!reached)
                    break;
                CHECK(status == MLDF_E_MEMORY || status >= 0);
            } while (n < 5000);
            CHECK_STATUS(MLDF_OK, status, &err);
            CHECK(n > 10);
        }
        mldf_reader_close(reader);
    }
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(every_allocation_fails_once);
    return check_end();
}
