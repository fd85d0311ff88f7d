/* Encrypted files whose payloads are sealed in chunks: every part of a value is what was written, from a mapping and from a file that is read, in
 * the range and in the whole; chunks that were exchanged, repeated, left out, cut or edited are found where they are touched, and nowhere else; files of the
 * form before are read and appended to as they are. */

#include "dataset.h"
#include "util/bytes.h"

static const uint8_t key[32] = "a key of thirty-two bytes, this.";
enum { CHUNK = 65536, SEALED = CHUNK + 16, SAMPLES = 4 };
static const uint64_t lengths[SAMPLES] = {3 * CHUNK + 777, 3 * CHUNK + 777, CHUNK, 9};

static const char *path_of(const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", check_tmpdir(), name);
    return path;
}

static uint8_t number(uint64_t sample, uint64_t i) {
    return (uint8_t)(i * 131 + i / 251 + sample * 77);
}

static void fill(uint8_t *out, uint64_t sample) {
    for (uint64_t i = 0; i < lengths[sample]; i++)
        out[i] = number(sample, i);
}

static mldf_writer_options writer_options(void) {
    mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
    options.secret.key = key;
    options.secret.key_bytes = 32;
    options.overwrite = true;
    return options;
}

static void append(mldf_writer *w, uint64_t sample) {
    static uint8_t room[4 * CHUNK];
    mldf_error err;
    fill(room, sample);
    mldf_value v[2] = {{.kind = MLDF_KIND_INT, .as.i = (int64_t)sample},
                       {.kind = MLDF_KIND_ARRAY,
                        .dtype = MLDF_U8,
                        .data = room,
                        .bytes = lengths[sample],
                        .ndim = 1,
                        .dims = {lengths[sample]}}};
    CHECK_OK(mldf_writer_append(w, v, 2, NULL, 0, &err), &err);
}

static void write_file(const char *path, uint64_t samples) {
    mldf_error err;
    mldf_schema *schema;
    mldf_writer *w;
    mldf_writer_options options = writer_options();
    REQUIRE_STATUS(MLDF_OK, mldf_schema_new(NULL, &schema, &err), &err);
    CHECK_OK(mldf_schema_add(schema, "label", MLDF_INT, NULL, 0, &err), &err);
    CHECK_OK(mldf_schema_add(schema, "audio", MLDF_AUDIO_WAVEFORM, "{\"rate\":8000}", 0, &err), &err);
    REQUIRE_STATUS(MLDF_OK, mldf_writer_open(path, schema, &options, &w, &err), &err);
    for (uint64_t i = 0; i < samples; i++)
        append(w, i);
    REQUIRE_STATUS(MLDF_OK, mldf_writer_finish(w, NULL, &err), &err);
    mldf_schema_free(schema);
}

static mldf_reader_options reader_options(mldf_backend backend) {
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    options.secret.key = key;
    options.secret.key_bytes = 32;
    options.backend = backend;
    return options;
}

/* ---- Parts ----------------------------------------------------------------------------------------------------------------- */

static void check_part(const mldf_reader *r, bool verified, uint64_t sample, uint64_t offset, uint64_t bytes) {
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_value v;
    mldf_error err;
    CHECK_OK(mldf_reader_get_range(r, sample, 1, offset, bytes, &scratch, &v, &err), &err);
    CHECK_EQ_U64(bytes, v.bytes);
    CHECK_EQ_U64(bytes || !verified ? lengths[sample] : MLDF_NONE, v.as.u); /* what is verified is read whole */
    size_t wrong = 0;
    for (uint64_t i = 0; i < v.bytes; i++)
        wrong += ((const uint8_t *)v.data)[i] != number(sample, offset + i);
    CHECK_EQ_U64(0, wrong);
    mldf_buffer_free(&scratch);
}

static void every_part_is_what_was_written(void) {
    write_file(path_of("chunks.mldf"), SAMPLES);
    for (int k = 0; k < 4; k++) {
        mldf_reader_options options = reader_options(k % 2 ? MLDF_BACKEND_READ : MLDF_BACKEND_MAP);
        mldf_reader *r;
        mldf_error err;
        mldf_buffer scratch = MLDF_BUFFER_INIT;
        mldf_value v;
        options.verify = k / 2; /* then all of it is read and checked */
        REQUIRE_STATUS(MLDF_OK, mldf_reader_open(path_of("chunks.mldf"), &options, &r, &err), &err);
        for (uint64_t s = 0; s < SAMPLES; s++) {
            uint64_t n = lengths[s], state = 88172645463325252u + s;
            const uint64_t places[] = {0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, n - 1, n};
            for (size_t i = 0; i < 8; i++)
                for (size_t j = 0; j < 8; j++)
                    if (places[i] <= places[j] && places[j] <= n)
                        check_part(r, options.verify, s, places[i], places[j] - places[i]);
            for (int i = 0; i < 40; i++) {
                state ^= state << 13, state ^= state >> 7, state ^= state << 17;
                uint64_t from = state % n;
                check_part(r, options.verify, s, from, state / n % (n - from) + 1);
            }
            CHECK_STATUS(MLDF_E_RANGE, mldf_reader_get_range(r, s, 1, n, 1, &scratch, &v, &err), &err);
            CHECK_STATUS(MLDF_E_RANGE, mldf_reader_get_range(r, s, 1, UINT64_MAX, 2, &scratch, &v, &err), &err);
            CHECK_OK(mldf_reader_get(r, s, 1, &scratch, &v, &err), &err);
            CHECK_EQ_U64(n, v.bytes);
        }
        mldf_buffer_free(&scratch);
        mldf_reader_close(r);
    }
}

/* ---- Forgeries --------------------------------------------------------------------------------------------------------------- */

static uint8_t *chunk_of(uint8_t *file, uint64_t sample, uint64_t chunk) {
    const uint8_t *row = file + mldfi_load_u64(file + 9 + 32) + 40 * sample; /* label 8, record 32 */
    return file + mldfi_load_u64(row + 8) + 24 + chunk * SEALED;
}

static void exchange(uint8_t *a, uint8_t *b, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        uint8_t t = a[i];
        a[i] = b[i];
        b[i] = t;
    }
}

static void each_forgery_is_found_where_it_is(void) {
    enum { SWAP, REPEAT, SHIFT, OF_ANOTHER, WITH_ITS_NONCE, EDIT, EDIT_TAG, EDIT_LAST, EDIT_NONCE, KINDS };
    /* Chunks of sample 0 that are no longer what was written, as bits. */
    static const unsigned bad[KINDS] = {3, 2, 6, 2, 15, 2, 4, 8, 15};
    write_file(path_of("chunks.mldf"), 2);
    for (int kind = 0; kind < KINDS; kind++) {
        size_t bytes = 0;
        mldf_error err;
        uint8_t *file = dataset_load(path_of("chunks.mldf"), &bytes);
        REQUIRE(file != NULL);
        uint8_t *c0 = chunk_of(file, 0, 0), *c1 = chunk_of(file, 0, 1), *other = chunk_of(file, 1, 0);
        switch (kind) {
        case SWAP:
            exchange(c0, c1, SEALED);
            break;
        case REPEAT:
            memcpy(c1, c0, SEALED);
            break;
        case SHIFT: /* chunk 1 is left out, and those behind it move up */
            memmove(c1, c1 + SEALED, SEALED + 777 + 16);
            break;
        case OF_ANOTHER:
            memcpy(c1, other + SEALED, SEALED);
            break;
        case WITH_ITS_NONCE:
            memcpy(c0 - 24, other - 24, 24 + 3 * SEALED + 777 + 16);
            break;
        case EDIT:
            c1[100] ^= 1;
            break;
        case EDIT_TAG:
            c1[2 * SEALED - 1] ^= 128;
            break;
        case EDIT_LAST:
            c0[3 * SEALED + 776] ^= 1;
            break;
        default:
            c0[-1] ^= 1;
        }
        mldf_reader_options options = reader_options(MLDF_BACKEND_MAP);
        mldf_reader *r;
        mldf_buffer scratch = MLDF_BUFFER_INIT;
        mldf_value v;
        REQUIRE_STATUS(MLDF_OK, mldf_reader_open_memory(file, bytes, &options, &r, &err), &err);
        unsigned found = 0;
        for (uint64_t c = 0; c < 4; c++) {
            mldf_status st = mldf_reader_get_range(r, 0, 1, c * CHUNK + 3, 700, &scratch, &v, &err);
            CHECK(st == MLDF_OK || st == MLDF_E_TAMPERED);
            found |= st == MLDF_E_TAMPERED ? 1U << c : 0;
            if (st < 0) {
                CHECK_EQ_U64((uint64_t)(chunk_of(file, 0, c) - file), err.offset);
                CHECK_EQ_U64(0, err.sample);
                CHECK_EQ_STR("audio", err.field);
            }
        }
        CHECK_EQ_U64(bad[kind], found);
        CHECK_STATUS(MLDF_E_TAMPERED, mldf_reader_get(r, 0, 1, &scratch, &v, &err), &err);
        CHECK_STATUS(MLDF_E_TAMPERED, mldf_reader_get_range(r, 0, 1, 5, 3 * CHUNK + 700, &scratch, &v, &err), &err);
        CHECK_OK(mldf_reader_get(r, 1, 1, &scratch, &v, &err), &err);
        mldf_buffer_free(&scratch);
        mldf_reader_close(r);
        free(file);
    }
}

/* ---- Files of before ----------------------------------------------------------------------------------------------------------- */

/* A vector has fields of both forms: what is appended has the form of its field. */
static void a_file_of_the_form_before_is_appended_to_as_it_is(void) {
    size_t bytes = 0;
    mldf_error err;
    mldf_writer *w;
    mldf_reader *r;
    mldf_writer_options options = writer_options();
    static uint8_t user_key[32];
    static uint8_t room[4 * CHUNK];
    const char *hex = "6d5fc64f02338b63779cfaf7c88ec777bc63efa42e07839ccbb0de9a93bf7bdb";
    uint8_t *file = dataset_load(check_source("docs/spec/vectors/valid/encrypted_chunks.mldf"), &bytes);
    REQUIRE(file != NULL);
    FILE *out = fopen(path_of("old.mldf"), "wb");
    REQUIRE(out && fwrite(file, 1, bytes, out) == bytes && fclose(out) == 0);
    free(file);
    for (size_t i = 0; i < 32; i++) {
        unsigned byte;
        REQUIRE(sscanf(hex + 2 * i, "%2x", &byte) == 1);
        user_key[i] = (uint8_t)byte;
    }
    options.secret.key = user_key;
    options.overwrite = false;
    fill(room, 0);
    REQUIRE_STATUS(MLDF_OK, mldf_writer_open_append(path_of("old.mldf"), &options, &w, &err), &err);
    mldf_value sound = {
        .kind = MLDF_KIND_ARRAY, .dtype = MLDF_U8, .data = room, .bytes = lengths[0], .ndim = 1, .dims = {lengths[0]}};
    mldf_reader_options reading = reader_options(MLDF_BACKEND_MAP);
    reading.secret.key = user_key;
    REQUIRE_STATUS(MLDF_OK, mldf_reader_open(path_of("old.mldf"), &reading, &r, &err), &err);
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_value v[3] = {sound, sound, {.kind = MLDF_KIND_NULL}};
    CHECK_OK(mldf_reader_get_stored(r, 0, 2, &scratch, &v[2], &err), &err);
    CHECK_OK(mldf_writer_append(w, v, 3, NULL, 0, &err), &err);
    REQUIRE_STATUS(MLDF_OK, mldf_writer_finish(w, NULL, &err), &err);
    mldf_reader_close(r);
    REQUIRE_STATUS(MLDF_OK, mldf_reader_open(path_of("old.mldf"), &reading, &r, &err), &err);
    const uint64_t stored[2] = {lengths[0] + 24 + 4 * 16, lengths[0] + 40};
    for (size_t f = 0; f < 2; f++) {
        mldf_value part;
        CHECK_OK(mldf_reader_get_range(r, 5, f, 70000, 1000, &scratch, &part, &err), &err);
        CHECK(part.bytes == 1000 && memcmp(part.data, room + 70000, 1000) == 0);
        CHECK_EQ_U64(stored[f], mldfi_load_u64((const uint8_t *)part.record + 8));
        CHECK_OK(mldf_reader_get(r, 5, f, &scratch, &part, &err), &err);
        CHECK(part.bytes == lengths[0] && memcmp(part.data, room, lengths[0]) == 0);
    }
    mldf_buffer_free(&scratch);
    mldf_reader_close(r);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    if (!strstr(mldf_build_features(), "sodium")) {
        printf("skipped: this build has no libsodium\n");
        return 77;
    }
    RUN(every_part_is_what_was_written);
    RUN(each_forgery_is_found_where_it_is);
    RUN(a_file_of_the_form_before_is_appended_to_as_it_is);
    return check_end();
}
