/* Parts of values: equal to slices of the whole on every back end, checked, compressed and encrypted or not; and how many bytes they cost. */
#include <stdatomic.h>
#include <sys/types.h>

#include "dataset.h"

static atomic_ullong bytes_read;

ssize_t __real_pread(int fd, void *dst, size_t bytes, off_t offset);
ssize_t __wrap_pread(int fd, void *dst, size_t bytes, off_t offset);
ssize_t __wrap_pread(int fd, void *dst, size_t bytes, off_t offset) {
    ssize_t got = __real_pread(fd, dst, bytes, offset);
    if (got > 0)
        atomic_fetch_add(&bytes_read, (unsigned long long)got);
    return got;
}

static const uint8_t key[32] = "0123456789abcdef0123456789abcde";

static void check_part(const mldf_reader *r, const mldf_value *whole, uint64_t sample, size_t field, uint64_t offset,
                       uint64_t bytes) {
    static mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_value part;
    mldf_error err;
    mldf_status status = mldf_reader_get_range(r, sample, field, offset, bytes, &scratch, &part, &err);
    if (whole->kind == MLDF_KIND_NULL) {
        CHECK_STATUS(MLDF_OK, status, &err);
        CHECK_EQ_INT(MLDF_KIND_NULL, part.kind);
    } else if (offset > whole->bytes || bytes > whole->bytes - offset) {
        CHECK_STATUS(MLDF_E_RANGE, status, &err);
        CHECK_EQ_U64(sample, err.sample);
        CHECK_CONTAINS("pass the end of a value of", TEXT(err));
    } else if (status == MLDF_OK) {
        const uint8_t *data = whole->data;
        CHECK_EQ_INT(MLDF_KIND_STORED, part.kind);
        CHECK_BYTES_EQ(whole->record, whole->record_bytes, part.record, part.record_bytes);
        CHECK_EQ_U64(bytes, part.bytes);
        if (bytes)
            CHECK_BYTES_EQ(data + offset, (size_t)bytes, part.data, (size_t)part.bytes);
        CHECK(part.as.u == whole->bytes || (bytes == 0 && part.as.u == MLDF_NONE));
    } else {
        CHECK_STATUS(MLDF_OK, status, &err);
    }
    if (sample == 0 && field == 0)
        mldf_buffer_free(&scratch);
}

static void check_all(const struct dataset *d, const mldf_reader *r, uint64_t *state) {
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_error err;
    for (uint64_t s = d->samples; s-- > 0;)
        for (size_t f = d->fields; f-- > 0;) {
            mldf_value whole;
            REQUIRE_OK(mldf_reader_get_stored(r, s, f, &scratch, &whole, &err), &err);
            uint64_t from = whole.bytes ? check_rand(state) % whole.bytes : 0;
            for (int k = 0; k < 3; k++)
                check_part(r, &whole, s, f, from, whole.bytes ? check_rand(state) % (whole.bytes - from + 1) : 0);
            if (whole.bytes)
                check_part(r, &whole, s, f, from, whole.bytes - from + 1);
            check_part(r, &whole, s, f, 0, whole.bytes);
            check_part(r, &whole, s, f, 0, 0);
        }
    mldf_buffer_free(&scratch);
}

static void parts_are_slices_of_the_whole(void) {
    uint64_t state = check_seed();
    const char *path = check_tmp("parts.mldf");
    for (int round = 0; round < 8; round++) {
        struct dataset d;
        mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
        mldf_error err;
        writing.overwrite = true;
        if (round % 4 == 3) {
            writing.secret.key = key;
            writing.secret.key_bytes = sizeof key;
        }
        dataset_make(&d, &state, (struct dataset_shape){6, 40, 3000, round % 2, false});
        mldf_status status = dataset_write(&d, path, &writing, &err);
        if (status == MLDF_E_UNSUPPORTED) { /* no libsodium */
            dataset_free(&d);
            continue;
        }
        REQUIRE_OK(status, &err);
        for (int way = 0; way < 4; way++) {
            mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
            mldf_reader *r;
            options.backend = way & 1 ? MLDF_BACKEND_READ : MLDF_BACKEND_MAP;
            options.verify = way & 2;
            options.secret = writing.secret;
            REQUIRE_OK(mldf_reader_open(path, &options, &r, &err), &err);
            if (d.samples && d.fields)
                check_all(&d, r, &state);
            mldf_reader_close(r);
        }
        dataset_free(&d);
    }
}

enum { LARGE = 4 << 20 };

static void a_part_costs_its_own_bytes(void) {
    static uint8_t data[LARGE];
    const char *path = check_tmp("large.mldf");
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_schema *schema;
    mldf_writer *w;
    mldf_reader *r;
    mldf_value v = {.kind = MLDF_KIND_BYTES, .data = data, .bytes = LARGE};
    mldf_error err;
    for (size_t i = 0; i < LARGE; i++)
        data[i] = (uint8_t)(i * 2654435761u >> 13);
    REQUIRE_OK(mldf_schema_new(NULL, &schema, &err), &err);
    REQUIRE_OK(mldf_schema_add(schema, "x", MLDF_BYTES, NULL, 0, &err), &err);
    REQUIRE_OK(mldf_writer_open(path, schema, NULL, &w, &err), &err);
    REQUIRE_OK(mldf_writer_append(w, &v, 1, NULL, 0, &err), &err);
    REQUIRE_OK(mldf_writer_finish(w, NULL, &err), &err);
    mldf_schema_free(schema);
    options.backend = MLDF_BACKEND_READ;
    REQUIRE_OK(mldf_reader_open(path, &options, &r, &err), &err);
    atomic_store(&bytes_read, 0);
    REQUIRE_OK(mldf_reader_get_range(r, 0, 0, 3000000, 1000, &scratch, &v, &err), &err);
    CHECK_BYTES_EQ(data + 3000000, 1000, v.data, (size_t)v.bytes);
    CHECK_EQ_U64(LARGE, v.as.u);
    CHECK(atomic_load(&bytes_read) < 2000);
    atomic_store(&bytes_read, 0);
    REQUIRE_OK(mldf_reader_get_range(r, 0, 0, 0, 0, &scratch, &v, &err), &err);
    CHECK(v.record && v.record_bytes == 16 && !v.data);
    CHECK(atomic_load(&bytes_read) <= 64);
    mldf_reader_close(r);
    options.verify = true; /* the checksum is of all bytes */
    REQUIRE_OK(mldf_reader_open(path, &options, &r, &err), &err);
    atomic_store(&bytes_read, 0);
    REQUIRE_OK(mldf_reader_get_range(r, 0, 0, 3000000, 1000, &scratch, &v, &err), &err);
    CHECK_BYTES_EQ(data + 3000000, 1000, v.data, (size_t)v.bytes);
    CHECK(atomic_load(&bytes_read) >= LARGE);
    mldf_reader_close(r);
    mldf_buffer_free(&scratch);
}

static void what_is_not_there_is_refused(void) {
    const char *path = check_tmp("large.mldf");
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_reader *r;
    mldf_value v;
    mldf_error err;
    REQUIRE_OK(mldf_reader_open(path, NULL, &r, &err), &err);
    CHECK_STATUS(MLDF_E_RANGE, mldf_reader_get_range(r, 0, 0, UINT64_MAX, 2, &scratch, &v, &err), &err);
    CHECK_STATUS(MLDF_E_RANGE, mldf_reader_get_range(r, 0, 0, LARGE, 1, &scratch, &v, &err), &err);
    CHECK_STATUS(MLDF_E_NO_SAMPLE, mldf_reader_get_range(r, 1, 0, 0, 1, &scratch, &v, &err), &err);
    CHECK_STATUS(MLDF_E_NO_FIELD, mldf_reader_get_range(r, 0, 1, 0, 1, &scratch, &v, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_reader_get_range(NULL, 0, 0, 0, 1, &scratch, &v, &err), &err);
    mldf_reader_close(r);
    options.backend = MLDF_BACKEND_READ;
    REQUIRE_OK(mldf_reader_open(path, &options, &r, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_reader_get_range(r, 0, 0, 0, 1, NULL, &v, &err), &err);
    mldf_reader_close(r);
    mldf_buffer_free(&scratch);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(parts_are_slices_of_the_whole);
    RUN(a_part_costs_its_own_bytes);
    RUN(what_is_not_there_is_refused);
    return check_end();
}
