/* Files that are small and would become large: refused with MLDF_E_LIMIT, before the memory is asked for. The bombs are honest: every size in
 * them is true. */
#include <errno.h>

#include "check.h"
#include "fault/failing_alloc.h"
#include "interop/tar.h"
#include "mldf/mldf.h"
#include "util/bytes.h"

enum { BLOCK = 128 << 10, MIB = 1 << 20, SMALL = 4 << 20 /* of memory: what refusing may take */ };

/* ---- A zstd frame of zeros ------------------------------------------------------------------------------------------------ */

/* `blocks` blocks of 128 KiB, 4 bytes each. window: 0: the frame is one segment; else 2^window bytes to look back on. */
static size_t make_frame(uint8_t *out, uint32_t blocks, unsigned window) {
    size_t at = 4;
    mldfi_store_u32(out, 0xfd2fb528);
    out[at++] = (uint8_t)(0xc0 | (window ? 0 : 0x20)); /* content size of 8 bytes */
    if (window)
        out[at++] = (uint8_t)((window - 10) << 3);
    mldfi_store_u64(out + at, (uint64_t)blocks * BLOCK);
    at += 8;
    for (uint32_t i = 0; i < blocks; i++, at += 4) /* last, type RLE, size */
        mldfi_store_u32(out + at, (uint32_t)(i + 1 == blocks) | 1u << 1 | (uint32_t)BLOCK << 3);
    return at;
}

/* A file with one compressed value, whose payload is that frame: a value that does not shrink is written, and its bytes exchanged. */
static uint8_t *make_file(uint32_t blocks, unsigned window, size_t *bytes) {
    size_t frame_bytes = 4 + 1 + (window ? 1 : 0) + 8 + 4 * (size_t)blocks;
    uint8_t *frame = malloc(frame_bytes), *noise = malloc(frame_bytes), *file = NULL;
    mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
    const char *path = check_tmp("bomb.mldf");
    mldf_schema *schema = NULL;
    mldf_writer *writer = NULL;
    mldf_error err;
    uint64_t dice = 1;
    options.no_checksums = options.overwrite = true;
    options.threads = 0;
    CHECK_EQ_U64(frame_bytes, make_frame(frame, blocks, window));
    for (size_t i = 0; i < frame_bytes; i++)
        noise[i] = (uint8_t)check_rand_below(&dice, 256);
    mldf_value value = {.kind = MLDF_KIND_BYTES, .data = noise, .bytes = frame_bytes};
    CHECK_OK(mldf_schema_new(NULL, &schema, &err), &err);
    CHECK_OK(mldf_schema_add(schema, "data", MLDF_BYTES, NULL, MLDF_FIELD_COMPRESSED, &err), &err);
    CHECK_OK(mldf_writer_open(path, schema, &options, &writer, &err), &err);
    CHECK_OK(mldf_writer_append(writer, &value, 1, NULL, 0, &err), &err);
    CHECK_OK(mldf_writer_finish(writer, NULL, &err), &err);
    mldf_schema_free(schema);
    file = check_read_file(path, bytes);
    uint8_t *payload = file ? memmem(file, *bytes, noise, frame_bytes) : NULL;
    CHECK(payload != NULL);
    if (payload) {
        memcpy(payload, frame, frame_bytes);
        mldfi_store_u64(payload - 8, (uint64_t)blocks * BLOCK | UINT64_C(1) << 56);
    }
    free(frame);
    free(noise);
    return file;
}

/* ---- Payloads --------------------------------------------------------------------------------------------------------------- */

/* Opens and reads; *most: the largest allocation on the way. */
static mldf_status read_value(const uint8_t *file, size_t bytes, uint64_t own, uint64_t of_context, mldf_error *err,
                              size_t *most) {
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_context *context = NULL;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_reader *reader = NULL;
    mldf_value value;
    CHECK_OK(mldf_context_new(&context, err), err);
    mldf_context_set_max_decoded(context, of_context);
    options.context = context;
    options.max_decoded_bytes = own;
    atomic_store(&largest, 0);
    CHECK_OK(mldf_reader_open_memory(file, bytes, &options, &reader, err), err);
    CHECK_EQ_U64(own ? own : of_context, mldf_reader_max_decoded(reader));
    mldf_status status = mldf_reader_get(reader, 0, 0, &scratch, &value, err);
    *most = atomic_load(&largest);
    mldf_buffer_free(&scratch);
    mldf_reader_close(reader);
    mldf_context_free(context);
    return status;
}

static void a_small_payload_takes_little_memory_unless_it_is_allowed_to(void) {
    enum { BLOCKS = 3 << 13 }; /* 3 GiB from 96 KiB */
    size_t bytes, most;
    mldf_error err;
    uint8_t *file = make_file(BLOCKS, 0, &bytes);
    REQUIRE(file);
    CHECK_STATUS(MLDF_E_LIMIT, read_value(file, bytes, 0, 0, &err, &most), &err);
    CHECK(most < SMALL);
    CHECK_CONTAINS("max_decoded_bytes", TEXT(err));
    CHECK_CONTAINS("1073741824", TEXT(err));
    CHECK_CONTAINS("field data", TEXT(err));
    CHECK_EQ_U64(0, err.sample);
    free(file);
}

static void a_limit_is_the_last_size_that_is_allowed(void) {
    size_t bytes, most;
    mldf_error err;
    uint8_t *file = make_file(16, 0, &bytes); /* 2 MiB */
    REQUIRE(file);
    CHECK_OK(read_value(file, bytes, 0, 0, &err, &most), &err);
    CHECK_OK(read_value(file, bytes, 2 * MIB, 0, &err, &most), &err);
    CHECK_STATUS(MLDF_E_LIMIT, read_value(file, bytes, 2 * MIB - 1, 0, &err, &most), &err);
    CHECK(most < MIB);
    CHECK_STATUS(MLDF_E_LIMIT, read_value(file, bytes, 0, 2 * MIB - 1, &err, &most), &err);
    CHECK_OK(read_value(file, bytes, 2 * MIB, 1, &err, &most), &err); /* its own counts */
    free(file);
}

/* 2^31 bytes to look back on, for a value of 2 MiB. */
static void a_window_takes_no_memory(void) {
    size_t bytes, most;
    mldf_error err;
    uint8_t *file = make_file(16, 31, &bytes);
    REQUIRE(file);
    CHECK_OK(read_value(file, bytes, 0, 0, &err, &most), &err);
    CHECK(most < SMALL);
    free(file);
}

/* Skipped like other bad samples, and noted as what it is. */
static void a_loader_skips_what_is_beyond_the_limit(void) {
    mldf_reader_options reading = MLDF_READER_OPTIONS_INIT;
    mldf_loader_options loading = MLDF_LOADER_OPTIONS_INIT;
    mldf_loader *loader = NULL;
    mldf_reader *reader = NULL;
    mldf_bad_sample bad = MLDF_BAD_SAMPLE_INIT;
    mldf_batch *batch;
    mldf_error err;
    size_t bytes;
    uint8_t *file = make_file(16, 0, &bytes);
    REQUIRE(file);
    reading.max_decoded_bytes = MIB;
    loading.pipeline = "data: ragged";
    loading.threads = 0;
    loading.bad = MLDF_BAD_SKIP;
    REQUIRE_OK(mldf_reader_open_memory(file, bytes, &reading, &reader, &err), &err);
    REQUIRE_OK(mldf_loader_new((const mldf_reader *const *)&reader, 1, &loading, &loader, &err), &err);
    mldf_status status;
    while ((status = mldf_loader_next(loader, -1, &batch, &err)) == MLDF_OK)
        mldf_batch_release(batch);
    CHECK_STATUS(MLDF_END, status, &err);
    CHECK_EQ_U64(1, mldf_loader_bad_count(loader));
    if (mldf_loader_bad_sample(loader, 0, &bad, &err) == MLDF_OK)
        CHECK_STATUS(MLDF_E_LIMIT, bad.error.status, &bad.error);
    mldf_loader_free(loader);
    mldf_reader_close(reader);
    free(file);
}

/* A sample that is whole is not lost for a limit. */
static void repair_does_not_drop_what_is_beyond_the_limit(void) {
    mldf_repair_options options = MLDF_REPAIR_OPTIONS_INIT;
    mldf_repair_result result = MLDF_REPAIR_RESULT_INIT;
    mldf_context *context;
    mldf_error err;
    char path[512], out[512];
    size_t bytes;
    uint8_t *file = make_file(16, 0, &bytes);
    REQUIRE(file);
    snprintf(path, sizeof path, "%s", check_tmp("whole.mldf"));
    snprintf(out, sizeof out, "%s", check_tmp("repaired.mldf"));
    CHECK(check_write_file(path, file, bytes));
    CHECK_OK(mldf_context_new(&context, &err), &err);
    mldf_context_set_max_decoded(context, MIB);
    options.context = context;
    CHECK_STATUS(MLDF_E_LIMIT, mldf_repair(path, out, &options, &result, &err), &err);
    CHECK(access(out, F_OK) != 0);
    mldf_context_set_max_decoded(context, 2 * MIB);
    CHECK_OK(mldf_repair(path, out, &options, &result, &err), &err);
    CHECK_EQ_U64(1, result.samples_saved);
    mldf_context_free(context);
    free(file);
}

/* ---- Archives --------------------------------------------------------------------------------------------------------------- */

struct memory {
    const uint8_t *data;
    size_t left;
};
static mldf_status pull(void *user, void *dst, size_t room, size_t *got, mldf_error *err) {
    struct memory *m = user;
    (void)err;
    *got = room < m->left ? room : m->left;
    memcpy(dst, m->data, *got);
    m->data += *got;
    m->left -= *got;
    return MLDF_OK;
}

static mldf_status read_archive(const uint8_t *data, size_t bytes, size_t *most, mldf_error *err) {
    struct memory memory = {data, bytes};
    struct tar_input *input = NULL;
    uint8_t piece[4096];
    size_t got = 1;
    atomic_store(&largest, 0);
    mldf_status status = mldfi_tar_input_pull(&input, pull, &memory, err);
    while (status >= 0 && got > 0)
        status = mldfi_tar_input_read(input, piece, sizeof piece, &got, err);
    *most = atomic_load(&largest);
    mldfi_tar_input_free(input);
    return status;
}

static void an_archive_that_looks_back_far_is_beyond_a_limit(void) {
    static uint8_t frame[4 * MIB];
    mldf_error err;
    size_t most, bytes = make_frame(frame, 16, 27);
    CHECK_OK(read_archive(frame, bytes, &most, &err), &err);
    bytes = make_frame(frame, 4096, 28); /* 512 MiB */
    CHECK_STATUS(MLDF_E_LIMIT, read_archive(frame, bytes, &most, &err), &err);
    CHECK(most < SMALL);
    CHECK_CONTAINS("128 MiB", TEXT(err));
}

/* A small archive that becomes large does not fill the disk. */
static void an_archive_is_not_unpacked_beyond_its_limit(void) {
    static uint8_t frame[MIB];
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_context *context;
    mldf_reader *reader;
    mldf_error err;
    const char *path = check_tmp("bomb.tar.zst");
    CHECK(check_write_file(path, frame, make_frame(frame, 3 << 13, 20)));
    REQUIRE_OK(mldf_context_new(&context, &err), &err);
    mldf_context_set_max_unpacked(context, UINT64_C(1) << 30);
    options.context = context;
    CHECK_STATUS(MLDF_E_LIMIT, mldf_reader_open(path, &options, &reader, &err), &err);
    CHECK_CONTAINS("unpacks to more than 1073741824 bytes", TEXT(err));
    mldf_context_free(context);
}

/* A member of a compressed archive is held in memory while it is packed. */
static void a_member_beyond_the_limit_is_not_packed(void) {
    static const uint8_t zeros[3 * MIB];
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_pack_options options = MLDF_PACK_OPTIONS_INIT;
    struct tar_writer *writer;
    mldf_context *context;
    mldf_error err;
    char path[512], out[512];
    const char *source = path;
    snprintf(path, sizeof path, "%s", check_tmp("members.tar.gz"));
    snprintf(out, sizeof out, "%s", check_tmp("members.mldf"));
    REQUIRE_OK(mldfi_tar_writer_open(&writer, path, true, &err), &err);
    CHECK_OK(mldfi_tar_writer_compress(writer, TAR_GZIP, &err), &err);
    CHECK_OK(mldfi_tar_writer_part(writer, "k", "bin", zeros, sizeof zeros, &err), &err);
    CHECK_OK(mldfi_tar_writer_finish(writer, &err), &err);
    mldfi_tar_writer_free(writer);
    CHECK_OK(mldf_context_new(&context, &err), &err);
    options.writer = &writing;
    writing.context = context;
    writing.threads = 0;
    writing.overwrite = true;
    CHECK_OK(mldf_pack(&source, 1, out, &options, NULL, &err), &err);
    mldf_context_set_max_decoded(context, 2 * MIB);
    CHECK_STATUS(MLDF_E_LIMIT, mldf_pack(&source, 1, out, &options, NULL, &err), &err);
    CHECK_CONTAINS("k.bin", TEXT(err));
    mldf_context_free(context);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(a_small_payload_takes_little_memory_unless_it_is_allowed_to);
    RUN(a_limit_is_the_last_size_that_is_allowed);
    RUN(a_window_takes_no_memory);
    RUN(a_loader_skips_what_is_beyond_the_limit);
    RUN(repair_does_not_drop_what_is_beyond_the_limit);
    RUN(an_archive_that_looks_back_far_is_beyond_a_limit);
    RUN(an_archive_is_not_unpacked_beyond_its_limit);
    RUN(a_member_beyond_the_limit_is_not_packed);
    return check_end();
}
