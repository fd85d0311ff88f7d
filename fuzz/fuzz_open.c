/* The input is a file. It is opened as it is, and again with its checksums made right, so that mutations reach what lies behind
 * them; then everything is read, in every way there is, and verified. Nothing may crash, hang or read outside the bytes. */
#define MLDF_NODISCARD /* what comes out is not looked at, only whether it comes out */
#include <stdlib.h>
#include <string.h>

#include "fixup.h"
#include "mldf/mldf.h"
#include "tool/verify.h"

enum { SAMPLES_MAX = 300, MANY = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A sum that depends on every byte of a value, so that a sanitizer sees each of them read. */
static volatile uint8_t sink;
static void touch(const void *data, uint64_t bytes) {
    const uint8_t *p = data;
    uint8_t sum = 0;
    for (uint64_t i = 0; i < bytes; i++)
        sum ^= p[i];
    sink = sum;
}

static void read_field(const mldf_reader *r, uint64_t samples, size_t f, mldf_buffer *scratch) {
    const mldf_field *info = mldf_schema_field(mldf_reader_schema(r), f);
    uint64_t order[MANY];
    mldf_value values[MANY];
    mldf_field_stats stats = MLDF_FIELD_STATS_INIT;
    mldf_error err;
    size_t count = samples < MANY ? (size_t)samples : (size_t)MANY;
    touch(info->name, strlen(info->name));
    touch(info->arguments, strlen(info->arguments));
    (void)mldf_reader_stats(r, f, &stats, &err);
    for (uint64_t i = 0; i < samples; i++) {
        mldf_value value;
        if (mldf_reader_get(r, i, f, scratch, &value, &err) == MLDF_OK) {
            touch(value.data, value.bytes);
            touch(value.record, value.kind == MLDF_KIND_NULL ? 0 : value.record_bytes);
        }
        if (mldf_reader_get_stored(r, i, f, scratch, &value, &err) == MLDF_OK && value.kind == MLDF_KIND_STORED &&
            (info->flags & 12)) {
            const void *stored;
            uint64_t ptr, bytes;
            touch(value.data, value.bytes);
            memcpy(&ptr, value.record, sizeof ptr);
            if (mldf_reader_read_ptr(r, ptr, scratch, &stored, &bytes, &err) == MLDF_OK)
                touch(stored, bytes);
        }
    }
    for (size_t i = 0; i < count; i++)
        order[i] = samples - 1 - i;
    if (mldf_reader_get_many(r, order, count, f, scratch, values, &err) == MLDF_OK)
        for (size_t i = 0; i < count; i++)
            touch(values[i].data, values[i].bytes);
    uint8_t *items = malloc(MANY * 4096);
    size_t item = info->type_id == MLDF_NDARRAY ? 4 : info->record_bytes;
    if (items && item <= 4096)
        (void)mldf_reader_gather(r, order, count, f, items, item, &err);
    free(items);
}

static void read_rest(const mldf_reader *r, uint64_t samples, mldf_buffer *scratch) {
    mldf_error err;
    mldf_file_info info = MLDF_FILE_INFO_INIT;
    const void *data;
    uint64_t bytes;
    if (mldf_reader_info(r, &info, &err) < 0)
        abort();
    if (mldf_reader_rows(r, &data, &bytes, &err) == MLDF_OK)
        touch(data, bytes);
    for (size_t i = 0; i < mldf_reader_section_count(r); i++) {
        mldf_section section;
        if (mldf_reader_section(r, i, &section, &err) == MLDF_OK &&
            mldf_reader_section_bytes(r, i, scratch, &data, &bytes, &err) == MLDF_OK)
            touch(data, bytes);
    }
    if (mldf_reader_card(r, scratch, &err) == MLDF_OK)
        touch(scratch->data, scratch->size);
    for (uint64_t i = 0; i < samples; i++) {
        const char *key;
        size_t key_bytes;
        uint64_t found;
        if (mldf_reader_key(r, i, scratch, &key, &key_bytes, &err) == MLDF_OK &&
            mldf_reader_find_key(r, key, key_bytes, &found, &err) == MLDF_OK && found >= mldf_reader_sample_count(r))
            abort();
    }
    uint64_t found;
    (void)mldf_reader_find_key(r, "no such key", 11, &found, &err);
}

static void verify_all(const mldf_reader *r) {
    mldf_verify_result result = MLDF_VERIFY_RESULT_INIT;
    struct verify verify = {.options = MLDF_VERIFY_OPTIONS_INIT, .result = &result};
    mldf_error err;
    verify.options.threads = 0;
    verify.options.deep = true;
    (void)mldfi_verify_reader(&verify, r, &err);
    if (result.good_samples > result.num_samples)
        abort();
}

static void use_file(const uint8_t *data, size_t size, bool verify) {
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_reader *r;
    mldf_error err;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    options.verify = verify;
    options.without_key = true;
    if (mldf_reader_open_memory(data, size, &options, &r, &err) < 0) {
        if (err.message[0] == 0 || err.status >= 0)
            abort();
        return;
    }
    uint64_t samples = mldf_reader_sample_count(r) < SAMPLES_MAX ? mldf_reader_sample_count(r) : SAMPLES_MAX;
    size_t fields = mldf_schema_field_count(mldf_reader_schema(r));
    for (size_t f = 0; f < fields && f < 40; f++)
        read_field(r, samples, f, &scratch);
    read_rest(r, samples, &scratch);
    if (mldf_reader_sample_count(r) <= 20000)
        verify_all(r);
    mldf_reader_close(r);
    mldf_buffer_free(&scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    use_file(data, size, false);
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    fixup_checksums(copy, size);
    use_file(copy, size, true);
    free(copy);
    return 0;
}
