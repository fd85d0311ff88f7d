/* Parts of a file that is written to disk and read back by the loader, with both back ends: two recordings of different rates in one payload
 * (clip_type.h). A group draws once for both. With the read back end every read of the file is counted: of a payload, each byte of the union of what
 * the chains need is read once, and no other. */
#include <stdatomic.h>
#include <sys/types.h>

#include "clip_type.h"
#include "loader_files.h"

enum {
    SAMPLES = 6,
    FAST = 20000,
    SLOW = FAST / 4,
    NUMBERS = FAST + SLOW,
    WINDOW = 40,
    FIXED_FROM = 9000,
    FIXED = 3000
};

/* Where payloads are in the file, and how often each of their bytes was read. */
static struct {
    uint64_t ptr[SAMPLES];
    uint8_t bytes[SAMPLES][2 * NUMBERS];
    unsigned reads[SAMPLES];
} seen;

ssize_t __real_pread(int fd, void *dst, size_t bytes, off_t offset);
ssize_t __wrap_pread(int fd, void *dst, size_t bytes, off_t offset);
ssize_t __wrap_pread(int fd, void *dst, size_t bytes, off_t offset) {
    ssize_t got = __real_pread(fd, dst, bytes, offset);
    for (size_t s = 0; s < SAMPLES && got > 0; s++) {
        uint64_t from = (uint64_t)offset, end = from + (uint64_t)got, ptr = seen.ptr[s];
        bool some = false;
        for (uint64_t at = from > ptr ? from : ptr; ptr && at < end && at < ptr + 2 * NUMBERS; at++) {
            seen.bytes[s][at - ptr]++;
            some = true;
        }
        seen.reads[s] += some;
    }
    return got;
}

/* Fast number i is i, slow number i is -i - 1, in every sample. */
static void write_file(const char *path, mldf_context *context) {
    static uint8_t payload[2 * NUMBERS];
    mldf_writer_options how = MLDF_WRITER_OPTIONS_INIT;
    mldf_schema *schema;
    mldf_writer *writer;
    mldf_error err;
    for (int i = 0; i < NUMBERS; i++)
        mldfi_store_u16(payload + 2 * i, (uint16_t)(i < FAST ? i : FAST - i - 1));
    how.overwrite = true;
    REQUIRE_OK(mldf_schema_new(context, &schema, &err), &err);
    REQUIRE_OK(mldf_schema_add(schema, "clip", CLIP_TYPE, NULL, 0, &err), &err);
    REQUIRE_OK(mldf_writer_open(path, schema, &how, &writer, &err), &err);
    for (int i = 0; i < SAMPLES; i++) {
        mldf_value value = {.kind = MLDF_KIND_BYTES, .data = payload, .bytes = sizeof payload, .as.u = FAST};
        REQUIRE_OK(mldf_writer_append(writer, &value, 1, NULL, 0, &err), &err);
    }
    REQUIRE_OK(mldf_writer_finish(writer, NULL, &err), &err);
    mldf_schema_free(schema);
}

static void open_file(const char *path, mldf_context *context, mldf_backend backend, mldf_reader **out) {
    mldf_reader_options how = MLDF_READER_OPTIONS_INIT;
    mldf_error err;
    *out = NULL;
    how.backend = backend;
    how.context = context;
    REQUIRE_OK(mldf_reader_open(path, &how, out, &err), &err);
}

static void find_payloads(const mldf_reader *reader) {
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_value value;
    mldf_error err;
    for (uint64_t s = 0; s < SAMPLES; s++) {
        REQUIRE_OK(mldf_reader_get_stored(reader, s, 0, &scratch, &value, &err), &err);
        seen.ptr[s] = mldfi_load_u64(value.record);
    }
    mldf_buffer_free(&scratch);
}

static long number(float x) {
    return (long)(x * 32768.0F);
}

/* A batch of one: what it has, and what was read for it. */
static void look(const mldf_batch *batch, bool counted, long starts[SAMPLES], uint64_t *united) {
    static uint8_t want[2 * NUMBERS];
    mldf_array a, b, c, index;
    REQUIRE(mldf_batch_array(batch, 0, &a) == MLDF_OK && mldf_batch_array(batch, 1, &b) == MLDF_OK);
    REQUIRE(mldf_batch_array(batch, 2, &c) == MLDF_OK && mldf_batch_array(batch, 3, &index) == MLDF_OK);
    const float *fast = a.data, *slow = b.data, *fixed = c.data;
    uint64_t s = *(const uint64_t *)index.data;
    long from = number(fast[0]), slow_from = (from + 3) / 4;
    REQUIRE(s < SAMPLES && from >= 0 && from <= FAST - WINDOW);
    for (long i = 0; i < WINDOW; i++)
        CHECK_EQ_INT(from + i, number(fast[i]));
    for (long i = 0; i < WINDOW / 4; i++) /* the same time: one draw */
        CHECK_EQ_INT(-(slow_from + i) - 1, number(slow[i]));
    for (long i = 0; i < FIXED; i++)
        CHECK_EQ_INT(FIXED_FROM + i, number(fixed[i]));
    starts[s] = from;
    memset(want, 0, sizeof want);
    memset(want + 2 * from, 1, 2 * WINDOW);
    memset(want + 2 * FIXED_FROM, 1, 2 * FIXED);
    memset(want + 2 * (FAST + slow_from), 1, 2 * WINDOW / 4);
    for (size_t i = 0; i < sizeof want; i++)
        *united += want[i];
    if (!counted)
        return;
    bool apart = from + WINDOW < FIXED_FROM || from > FIXED_FROM + FIXED;
    CHECK_MEM_EQ(want, seen.bytes[s], sizeof want);
    CHECK_EQ_U64(apart ? 3 : 2, seen.reads[s]);
}

static void run_epochs(const mldf_reader *reader, bool counted, unsigned epochs, long (*starts)[SAMPLES]) {
    static const char text[] = "a = clip.fast; b = clip.slow; a, b: window(seconds=0.4, at=random, short=pad);"
                               "c = clip.fast: window(samples=3000, start=9000, short=pad)";
    mldf_loader_options options = files_options(text, 1, 0);
    mldf_loader_stats stats = MLDF_LOADER_STATS_INIT;
    mldf_loader *loader;
    mldf_error err;
    uint64_t united = 0;
    REQUIRE_OK(mldf_loader_new(&reader, 1, &options, &loader, &err), &err);
    memset(&seen.bytes, 0, sizeof seen.bytes);
    for (unsigned e = 0; e < epochs; e++) {
        mldf_batch *batch;
        mldf_status status;
        while ((status = mldf_loader_next(loader, -1, &batch, &err)) == MLDF_OK) {
            look(batch, counted, starts[e], &united);
            mldf_batch_release(batch);
            memset(&seen.bytes, 0, sizeof seen.bytes);
            memset(&seen.reads, 0, sizeof seen.reads);
        }
        CHECK_STATUS(MLDF_END, status, &err);
    }
    REQUIRE_OK(mldf_loader_get_stats(loader, &stats, &err), &err);
    CHECK_EQ_U64((uint64_t)epochs * SAMPLES, stats.samples);
    if (counted)
        CHECK_EQ_U64(united, stats.bytes_read);
    mldf_loader_free(loader);
}

static void a_file_gives_both_parts_with_one_draw_and_one_fetch(void) {
    enum { EPOCHS = 20 };
    static long read[EPOCHS][SAMPLES], mapped[EPOCHS][SAMPLES];
    mldf_context *context;
    mldf_reader *map, *plain;
    const char *path = check_tmp("clips.mldf");
    clip_context(&context);
    write_file(path, context);
    open_file(path, context, MLDF_BACKEND_MAP, &map);
    open_file(path, context, MLDF_BACKEND_READ, &plain);
    REQUIRE(map && plain);
    find_payloads(map);
    run_epochs(map, false, EPOCHS, mapped);
    run_epochs(plain, true, EPOCHS, read);
    CHECK_MEM_EQ(mapped, read, sizeof read);
    unsigned near = 0;
    for (size_t i = 0; i < EPOCHS; i++)
        for (size_t s = 0; s < SAMPLES; s++)
            near += read[i][s] + WINDOW >= FIXED_FROM && read[i][s] <= FIXED_FROM + FIXED;
    CHECK(near > 5 && near < EPOCHS * SAMPLES - 5); /* both cases of the union were there */
    mldf_reader_close(map);
    mldf_reader_close(plain);
    mldf_context_free(context);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(a_file_gives_both_parts_with_one_draw_and_one_fetch);
    return check_end();
}
