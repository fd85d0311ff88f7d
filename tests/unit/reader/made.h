/* Files for the tests of reader, verify and repair: made with the public writer, with values that follow from the sample number. */
#ifndef MLDF_TESTS_MADE_H
#define MLDF_TESTS_MADE_H

#include "check.h"
#include "mldf/mldf.h"

enum { MADE_LABEL, MADE_BLOB, MADE_FIXED, MADE_TEXT, MADE_PACKED, MADE_FIELDS };

struct made {
    uint64_t samples;
    bool keys, no_checksums, append;
    mldf_secret secret;
    const char *card;
};

CHECK_UNUSED static mldf_schema *made_schema(void) {
    mldf_schema *s;
    mldf_error err;
    if (mldf_schema_new(NULL, &s, &err) < 0 || mldf_schema_add(s, "label", MLDF_INT, NULL, 0, &err) < 0 ||
        mldf_schema_add(s, "blob", MLDF_BYTES, NULL, MLDF_FIELD_NULLABLE, &err) < 0 ||
        mldf_schema_add(s, "fixed", MLDF_NDARRAY, "{\"dtype\":\"<u2\",\"shape\":[4]}", MLDF_FIELD_NULLABLE, &err) < 0 ||
        mldf_schema_add(s, "text", MLDF_TEXT, NULL, 0, &err) < 0 ||
        mldf_schema_add(s, "packed", MLDF_BYTES, NULL, MLDF_FIELD_COMPRESSED, &err) < 0) {
        fprintf(stderr, "made_schema: %s\n", err.message);
        exit(3);
    }
    return s;
}

/* The bytes of blob and packed; text shows the number. */
CHECK_UNUSED static size_t made_blob(uint64_t i, uint8_t out[512]) {
    size_t bytes = i % 5 == 4 ? 0 : (size_t)(i * 37 % 300);
    for (size_t k = 0; k < bytes; k++)
        out[k] = (uint8_t)(i + k * 7);
    return bytes;
}

CHECK_UNUSED static bool made_null(uint64_t i) {
    return i % 7 == 3;
}

CHECK_UNUSED static mldf_status made_append(mldf_writer *w, uint64_t i, bool keys, mldf_error *err) {
    uint8_t blob[512], packed[512];
    uint16_t fixed[4] = {(uint16_t)i, 1, 2, 3};
    char text[64], key[64];
    mldf_value v[MADE_FIELDS];
    memset(v, 0, sizeof v);
    v[MADE_LABEL].kind = MLDF_KIND_INT;
    v[MADE_LABEL].as.i = (int64_t)i * 3 - 5;
    if (!made_null(i)) {
        v[MADE_BLOB].kind = MLDF_KIND_BYTES;
        v[MADE_BLOB].data = blob;
        v[MADE_BLOB].bytes = made_blob(i, blob);
        v[MADE_FIXED].kind = MLDF_KIND_BYTES;
        v[MADE_FIXED].data = fixed;
        v[MADE_FIXED].bytes = sizeof fixed;
    }
    v[MADE_TEXT].kind = MLDF_KIND_TEXT;
    v[MADE_TEXT].data = text;
    v[MADE_TEXT].bytes = (uint64_t)snprintf(text, sizeof text, "sample %" PRIu64, i);
    memset(packed, (int)(i & 255), sizeof packed);
    v[MADE_PACKED].kind = MLDF_KIND_BYTES;
    v[MADE_PACKED].data = packed;
    v[MADE_PACKED].bytes = 100 + i % 400;
    int key_bytes = snprintf(key, sizeof key, "key-%" PRIu64, i);
    return mldf_writer_append(w, v, MADE_FIELDS, keys ? key : NULL, keys ? (size_t)key_bytes : 0, err);
}

CHECK_UNUSED static void made_file(const char *path, const struct made *made) {
    mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
    mldf_schema *schema = made_schema();
    mldf_writer *w = NULL;
    mldf_error err;
    options.threads = 0;
    options.overwrite = true;
    options.no_checksums = made->no_checksums;
    options.secret = made->secret;
    options.card = made->card;
    options.card_bytes = made->card ? strlen(made->card) : 0;
    mldf_status status = made->append ? mldf_writer_open_append(path, &options, &w, &err)
                                      : mldf_writer_open(path, schema, &options, &w, &err);
    uint64_t first = 0;
    if (status >= 0 && made->append) {
        mldf_reader *r;
        if (mldf_reader_open(path, NULL, &r, &err) == MLDF_OK)
            first = mldf_reader_sample_count(r);
        mldf_reader_close(r);
    }
    for (uint64_t i = first; i < first + made->samples && status >= 0; i++)
        status = made_append(w, i, made->keys, &err);
    if (status >= 0)
        status = mldf_writer_finish(w, NULL, &err);
    else if (w)
        mldf_writer_abort(w);
    mldf_schema_free(schema);
    if (status < 0) {
        fprintf(stderr, "made_file: %s\n", err.message);
        exit(3);
    }
}

/* Is sample `at` of the file what made_append made of number i? */
CHECK_UNUSED static bool made_is(const mldf_reader *r, uint64_t at, uint64_t i, mldf_error *err) {
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    uint8_t blob[512], packed[512];
    uint16_t fixed[4] = {(uint16_t)i, 1, 2, 3};
    char text[64];
    mldf_value v[MADE_FIELDS];
    size_t blob_bytes = made_blob(i, blob), text_bytes = (size_t)snprintf(text, sizeof text, "sample %" PRIu64, i);
    bool good = true;
    memset(packed, (int)(i & 255), sizeof packed);
    const void *want[MADE_FIELDS] = {NULL, blob, fixed, text, packed};
    size_t bytes[MADE_FIELDS] = {0, blob_bytes, sizeof fixed, text_bytes, 100 + i % 400};
    for (size_t f = 0; f < MADE_FIELDS && good; f++) {
        if (mldf_reader_get(r, at, f, &scratch, &v[f], err) < 0) {
            mldf_buffer_free(&scratch);
            return false;
        }
        if (made_null(i) && (f == MADE_BLOB || f == MADE_FIXED))
            good = v[f].kind == MLDF_KIND_NULL;
        else if (f == MADE_LABEL)
            good = v[f].kind == MLDF_KIND_INT && v[f].as.i == (int64_t)i * 3 - 5;
        else
            good = v[f].bytes == bytes[f] && (bytes[f] == 0 || memcmp(v[f].data, want[f], bytes[f]) == 0);
    }
    mldf_buffer_free(&scratch);
    if (!good && err)
        snprintf(err->message, sizeof err->message, "another value than was written");
    return good;
}

#endif
