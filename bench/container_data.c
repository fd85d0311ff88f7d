/* Data to write, and the files that hold it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"

/* ---- Files --------------------------------------------------------------------------------------------------------------- */

void data_path(const struct settings *settings, const char *name, char *out) {
    if (snprintf(out, BENCH_PATH, "%s/%s", settings->folder, name) >= BENCH_PATH)
        bench_die("the folder's name is too long");
    data_remove(out);
}

void data_remove(const char *path) {
    if (unlink(path) != 0 && errno != ENOENT)
        bench_die("%s cannot be removed: %s", path, strerror(errno));
}

uint64_t data_file_bytes(const char *path) {
    struct stat info;
    if (stat(path, &info) != 0)
        bench_die("%s cannot be examined: %s", path, strerror(errno));
    return (uint64_t)info.st_size;
}

void data_settle(const struct settings *settings) {
#if defined(__linux__)
    int fd = open(settings->folder, O_RDONLY | O_DIRECTORY);
    if (fd < 0 || syncfs(fd) != 0)
        bench_die("%s cannot be synced: %s", settings->folder, strerror(errno));
    close(fd);
#else
    (void)settings;
    sync();
#endif
}

/* ---- Bytes --------------------------------------------------------------------------------------------------------------- */

void *data_alloc(size_t bytes) {
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory)
        bench_die("no memory for %zu bytes", bytes);
    return memory;
}

void data_fill_random(void *bytes, size_t count, uint64_t seed) {
    struct bench_random random = {seed * 2 + 1};
    uint8_t *to = bytes;
    for (; count >= 8; count -= 8, to += 8) {
        uint64_t word = bench_random(&random);
        memcpy(to, &word, 8);
    }
    uint64_t last = bench_random(&random);
    memcpy(to, &last, count);
}

enum { WORDS = 20000, WORD_MAX = 12 };

struct vocabulary {
    char text[WORDS][WORD_MAX + 1];
    uint8_t bytes[WORDS];
    double until[WORDS]; /* running sum of 1 / rank */
};

/* Syllables of a consonant and a vowel; frequent words are short. */
static struct vocabulary *make_vocabulary(struct bench_random *random) {
    static const char consonants[] = "ttnnsshrrdlcmfpgwybvk", vowels[] = "eeeaaoiu";
    struct vocabulary *words = data_alloc(sizeof *words);
    double sum = 0;
    for (size_t w = 0; w < WORDS; w++) {
        size_t letters = 2 + bench_below(random, w < 100 ? 3 : w < 2000 ? 6 : WORD_MAX - 2);
        for (size_t i = 0; i < letters; i++)
            words->text[w][i] = i % 2 ? vowels[bench_below(random, sizeof vowels - 1)]
                                      : consonants[bench_below(random, sizeof consonants - 1)];
        words->bytes[w] = (uint8_t)letters;
        words->until[w] = sum += 1 / ((double)w + 3);
    }
    return words;
}

static size_t draw_word(const struct vocabulary *words, struct bench_random *random) {
    double at = (double)(bench_random(random) >> 11) * 0x1p-53 * words->until[WORDS - 1];
    size_t low = 0, high = WORDS - 1;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (words->until[middle] < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void data_fill_text(char *bytes, size_t count, uint64_t seed) {
    struct bench_random random = {seed * 2 + 1};
    struct vocabulary *words = make_vocabulary(&random);
    size_t at = 0;
    while (at + WORD_MAX + 2 < count) {
        size_t word = draw_word(words, &random);
        memcpy(bytes + at, words->text[word], words->bytes[word]);
        at += words->bytes[word];
        uint64_t mark = bench_below(&random, 40);
        if (mark < 3)
            bytes[at++] = mark == 0 ? '.' : ',';
        bytes[at++] = mark == 0 ? '\n' : ' ';
    }
    memset(bytes + at, ' ', count - at);
    free(words);
}

/* ---- Writing ------------------------------------------------------------------------------------------------------------- */

static mldf_schema *new_schema(void) {
    mldf_schema *schema;
    mldf_error err;
    bench_check(mldf_schema_new(NULL, &schema, &err), &err, "a new schema");
    return schema;
}

mldf_schema *data_bytes_schema(int level) {
    mldf_schema *schema = new_schema();
    mldf_error err;
    bench_check(mldf_schema_add(schema, "payload", MLDF_BYTES, NULL, 0, &err), &err, "field payload");
    if (level)
        bench_check(mldf_schema_compress(schema, 0, level, &err), &err, "compression");
    return schema;
}

mldf_schema *data_row_schema(void) {
    mldf_schema *schema = new_schema();
    mldf_error err;
    bench_check(mldf_schema_add(schema, "label", MLDF_INT, NULL, 0, &err), &err, "field label");
    bench_check(mldf_schema_add(schema, "score", MLDF_FLOAT, NULL, 0, &err), &err, "field score");
    return schema;
}

mldf_writer *data_open_writer(const char *path, const mldf_schema *schema, int threads) {
    mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
    mldf_writer *writer;
    mldf_error err;
    options.threads = threads;
    bench_check(mldf_writer_open(path, schema, &options, &writer, &err), &err, "opening a writer");
    return writer;
}

uint64_t data_finish(mldf_writer *writer) {
    mldf_write_result result = MLDF_WRITE_RESULT_INIT;
    mldf_error err;
    bench_check(mldf_writer_finish(writer, &result, &err), &err, "finishing a file");
    return result.file_bytes;
}

void data_append_bytes(mldf_writer *writer, const void *data, size_t bytes) {
    mldf_value value = {.kind = MLDF_KIND_BYTES, .data = data, .bytes = bytes};
    mldf_error err;
    bench_check(mldf_writer_append(writer, &value, 1, NULL, 0, &err), &err, "appending a sample");
}

uint64_t data_write_rows(const char *path, uint64_t count, int threads) {
    mldf_schema *schema = data_row_schema();
    mldf_writer *writer = data_open_writer(path, schema, threads);
    mldf_value values[2] = {{.kind = MLDF_KIND_INT}, {.kind = MLDF_KIND_FLOAT}};
    mldf_error err;
    for (uint64_t i = 0; i < count; i++) {
        values[0].as.i = (int64_t)(i * 7);
        values[1].as.f = (double)i / 2;
        bench_check(mldf_writer_append(writer, values, 2, NULL, 0, &err), &err, "appending a row");
    }
    uint64_t bytes = data_finish(writer);
    mldf_schema_free(schema);
    return bytes;
}

uint64_t data_write_payloads(const char *path, const void *source, size_t source_bytes, size_t each, uint64_t count,
                             int threads, int level) {
    mldf_schema *schema = data_bytes_schema(level);
    mldf_writer *writer = data_open_writer(path, schema, threads);
    size_t at = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (source_bytes - at < each)
            at = 0;
        data_append_bytes(writer, (const uint8_t *)source + at, each);
        at += each;
    }
    uint64_t bytes = data_finish(writer);
    mldf_schema_free(schema);
    return bytes;
}
